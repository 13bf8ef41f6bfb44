"""Cross-validation and feature selection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _columns, _workers
from rankwood._columns import Floats
from rankwood._core import (
    ParameterError,
    ParameterTypeError,
    UnsupportedError,
    check,
    context,
    ffi,
    lib,
    logger,
    not_negative,
    text,
    whole,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._evaluate import Evaluation, Measured, evaluation_of
from rankwood._explain import Permuted
from rankwood._folds import Part, grouped, groups_of, in_order, note_positions, parts_of
from rankwood._model import Model
from rankwood._params import Params, as_mapping, hinted, need_device
from rankwood._training import Callback, Training, named_params, on_error, working

# ---- cross-validation ----


@dataclass(frozen=True)
class Fold:
    """One fold of a cross-validation: a model trained without its queries, and the model's metrics on them.

    Attributes
    ----------
    model : Model
        Model trained without the fold's queries.
    evaluation : Evaluation
        Metrics of the model on the fold's queries.
    n_train : int
        Number of training queries.
    n_valid : int
        Number of queries used for early stopping; 0 without early stopping.
    n_test : int
        Number of queries in the fold.
    evals_result : dict[str, dict[str, list[float]]]
        Value after each round, by set and metric. The sets are ``"test"``, with early stopping ``"valid"``, and with
        ``train_metric`` ``"train"``.

    Examples
    --------
    >>> fold = rankwood.cv({"rounds": 5}, data, n_folds=3).folds[0]
    >>> fold.n_train + fold.n_valid + fold.n_test
    60
    >>> len(fold.evals_result["test"]["ndcg@10"])
    5
    """

    model: Model
    evaluation: Evaluation
    n_train: int
    n_valid: int
    n_test: int
    evals_result: dict[str, dict[str, list[float]]] = field(default_factory=dict)


@dataclass(frozen=True)
class CrossValidation:
    """Result of :func:`cv`.

    Attributes
    ----------
    folds : list[Fold]
        The folds, in the order of their numbers.
    pooled : Evaluation
        Metrics of ``scores`` over all queries that have some.
    scores : array of float64
        Score of each document by the model that was trained without its query, shape (n_docs,), in the order of the
        data. If several folds test a query, it is the first one's score. If none does, it is NaN.
    fold_of : array of int64
        Index in ``folds`` of the fold that scores each query, shape (n_queries,), in the order of
        ``Dataset.query_offsets``; -1 for a query that no fold tests.

    Examples
    --------
    >>> found = rankwood.cv({"rounds": 5}, data, n_folds=3)
    >>> len(found.folds), found.scores.shape, found.fold_of.shape
    (3, (1028,), (60,))
    """

    folds: list[Fold]
    pooled: Evaluation
    scores: Floats
    fold_of: npt.NDArray[np.int64]

    @property
    def models(self) -> list[Model]:
        """Models of the folds."""
        return [fold.model for fold in self.folds]

    def mean(self, metric: str) -> tuple[float, float]:
        """Return mean and sample standard deviation of a metric over the folds.

        Parameters
        ----------
        metric : str
            Name of a measured metric.

        Returns
        -------
        mean, deviation : float
            Folds without queries that count are left out. With too few folds the value is NaN.

        Raises
        ------
        ParameterError
            The metric was not measured.

        Examples
        --------
        >>> mean, deviation = rankwood.cv({"rounds": 5}, data, n_folds=3).mean("ndcg@10")
        >>> 0 < mean < 1
        True
        """
        if not isinstance(metric, str) or metric not in self.pooled:
            raise ParameterError(f"metric is {metric!r}; expected one of {list(self.pooled)}")
        values = np.array([fold.evaluation[metric] for fold in self.folds])
        values = values[~np.isnan(values)]
        n = len(values)
        return (
            float(values.mean()) if n > 0 else float("nan"),
            float(values.std(ddof=1)) if n > 1 else float("nan"),
        )

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}: {value:.5f}" for name, value in self.pooled.items())
        return f"CrossValidation({len(self.folds)} folds; {rows})"


@hinted
def cv(
    params: Mapping[str, Any] | None,
    dataset: Dataset,
    n_folds: int | None = None,
    *,
    groups: Any = None,
    folds: Any = None,
    shuffle: bool = True,
    callbacks: Iterable[Callback] = (),
    shared_bins: bool = False,
    strict: bool = False,
) -> CrossValidation:
    """Cross-validate: train a model per fold and measure it on that fold.

    Parameters
    ----------
    params : dict or None
        Parameters as in :func:`rankwood.train`, also functions. ``seed`` also draws the folds, which consist of whole
        queries and have nearly equal sizes. With early stopping (``early_stop``, 100 by default), the next fold is left
        out of training and used for stopping. Values for ``"auto"`` are chosen once, for the size of the whole set.
    dataset : Dataset
        Documents with labels and queries.
    n_folds : int or None, default None
        Number of folds, at most the number of queries or groups. At least 3, or 2 with ``early_stop=0``. None: 5.
    groups : array of shape (n_docs,) or (n_queries,), or None, default None
        Group of each document or query, such as the search text of a session. A group is in one fold.
    folds : splitter, list of tuples or None, default None
        Folds of your own. A splitter of scikit-learn divides queries, with ``groups``, and with each query's highest
        label as ``y``. A tuple ``(train, test)`` or ``(train, valid, test)`` has numbers of documents from 0; ``valid``
        stops training. Without it, these are the test queries of the next fold that this fold trains on.
    shuffle : bool, default True
        False: each fold has consecutive queries or groups of the data.
    callbacks : list of callable, default ()
        Functions that are called with a :class:`Round` after each round of each fold. A true result stops the training
        of the fold. Folds with callbacks or other functions are trained one after the other.
    shared_bins : bool, default False
        Find bin boundaries once, from all documents. This saves time and memory, but the values of the documents that
        measure a fold then influence the thresholds of its model. Their labels do not.
    strict : bool, default False
        Raise a :class:`ParameterError` for a parameter without effect; otherwise it is not reported.

    Returns
    -------
    CrossValidation
        Models, metrics of each round, and scores. A metric function is part of each evaluation, without values of
        queries.

    Raises
    ------
    ParameterError
        A parameter or ``n_folds`` is invalid, ``folds`` divides a query or lacks a part, or ``shared_bins`` is combined
        with categorical features.
    DataError
        The data has no labels or is unusable for training. Also if a group is missing or changes within a query, or if
        there are fewer groups than folds.
    OutOfMemoryError
        The device has too little memory.
    UnsupportedError
        The device is missing or not built in.

    Examples
    --------
    >>> found = rankwood.cv({"rounds": 5}, data, n_folds=3)
    >>> list(found.pooled)
    ['ndcg@10']
    >>> search_text = np.arange(60) % 20  # of each query
    >>> found = rankwood.cv({"rounds": 5}, data, 3, groups=search_text)
    >>> len(set(zip(search_text, found.fold_of)))
    20
    """
    given = as_mapping(params)
    need_device(given)
    need_labels(dataset, "dataset")
    given = dataset._with_own(given)
    if folds is not None and (n_folds is not None or not shuffle):
        raise ParameterError(f"{'n_folds' if n_folds is not None else 'shuffle'} has no effect with folds")
    n_folds = 5 if n_folds is None else whole(n_folds, "n_folds", 1, 2**31 - 1)
    state = _Folds(dataset, given, callbacks)
    note_positions(dataset, groups if folds is None else folds)
    ids = groups_of(dataset, groups)
    out = ffi.new("struct rw_cv **")
    with named_params(given, strict or None, dataset.feature_names) as c:
        check(lib.rw_params_check(context(), c.c, lib.RW_PARAMS_TRAIN))
        if not shuffle:
            folds, groups = in_order(dataset, n_folds, ids), None
        parts = None if folds is None else parts_of(dataset, folds, groups, c.get("early-stop") != "0")
        options = state.options
        options.n_folds, options.shares_bins = n_folds if parts is None else len(parts), bool(shared_bins)
        options.groups = ffi.NULL if ids is None or parts is not None else _columns.pointer(ids)
        options.parts = ffi.NULL if parts is None else _columns.pointer(parts)
        values = dataset._with_values()
        with working("cross-validation"):
            status = lib.rw_cross_validate_with(context(), c.c, values, options, out)
            validated = state.result(status, out)
    every = [_fold(validated, i, dataset, state) for i in range(validated.n_folds)]
    scores = dataset._in_caller_order(_columns.view(validated.scores, dataset.n_docs, np.float64).copy())
    fold_of = _columns.view(validated.fold_of, dataset.n_queries, np.int32).astype(np.int64)  # UINT32_MAX becomes -1
    pooled = evaluation_of(validated.pooled)
    if state.first.metric is not None:
        is_whole = bool((fold_of >= 0).all())
        value = state.first.measure(dataset, scores) if is_whole else float("nan")
        pooled = _with_function(pooled, state.first.metric_name, value)
    return CrossValidation(every, pooled, scores, fold_of)


class _Folds:
    """State of the library's callbacks of a cross-validation: a training for each fold."""

    def __init__(self, dataset: Dataset, given: dict[str, Any], callbacks: Iterable[Callback]) -> None:
        self.dataset = dataset
        self.first = Training([dataset], ["train"], callbacks)
        self.hooks, *self._keep = self.first.hooks(given)
        self.hooks.on_start = ffi.NULL
        self.has_functions = self.first.gradients is not None or self.first.metric is not None
        self.trainings: dict[int, Training] = {}
        self._keep.append(ffi.new_handle(self))
        is_serial = self.has_functions or bool(self.first.callbacks)
        self.options = ffi.new(
            "struct rw_cv_options *", {"is_serial": is_serial, "user": self._keep[-1], "on_fold": lib._rw_on_fold}
        )
        self.options.has_metric = self.first.metric is not None

    def begin(self, fold: int, sets: Any, hooks: Any) -> int:
        """Sets the hooks of a fold."""
        self._end_parts()
        kinds = {"train": lib.RW_CV_TRAIN, "valid": lib.RW_CV_VALID, "test": lib.RW_CV_TEST}
        mine = {name: sets[kind] for name, kind in kinds.items() if sets[kind] != ffi.NULL}
        parts = [Part(self.dataset, one) if self.has_functions else self.dataset for one in mine.values()]
        training = Training(parts, list(mine), self.first.callbacks)
        training.fold = fold
        for name in ("gradients", "metric", "metric_name", "metric_of_labels"):
            setattr(training, name, getattr(self.first, name))
        self.trainings[fold] = training
        self._keep.append(ffi.new_handle(training))
        hooks[0] = self.hooks[0]
        hooks.user = self._keep[-1]
        return 0

    def _end_parts(self) -> None:
        for training in self.trainings.values() if self.has_functions else ():
            for part in training.sets:
                part._values = None

    def result(self, status: int, out: Any) -> Any:
        """Returns the struct rw_cv, or raises the exception of the caller's code."""
        self._end_parts()
        self._keep.clear()  # a handle of this object among them
        over = next((one for _, one in sorted(self.trainings.items()) if one.is_over()), self.first)
        return over.result(status, out, lib.rw_free)


@ffi.def_extern(error=1, onerror=on_error)
def _rw_on_fold(user: Any, fold: int, sets: Any, hooks: Any) -> int:
    folds: _Folds = ffi.from_handle(user)
    return folds.first.guard(lambda: folds.begin(fold, sets, hooks))


def _refuse_functions(given: Mapping[str, Any], why: str) -> None:
    for name, value in given.items():
        if any(callable(one) for one in (value if isinstance(value, (list, tuple)) else [value])):
            raise ParameterError(f"{name} is a function; {why}")


def _with_function(evaluation: Evaluation, name: str, value: float) -> Evaluation:
    """Adds the value of a metric function, which has no values of queries."""
    n = len(next(iter(evaluation.metrics.values())).per_query)
    own = Measured(name, value, n, 0.0, np.full(n, np.nan))
    return Evaluation([own, *evaluation.metrics.values()], evaluation.conventions)


def _fold(validated: Any, i: int, dataset: Dataset, state: _Folds) -> Fold:
    c = validated.folds[i]
    # the struct rw_cv owns the models, so it lives as long as any of them
    model = Model(ffi.gc(c.model, lambda _, owner=validated: None))
    if dataset.feature_names is not None:
        model.feature_names = list(dataset.feature_names)
    training = state.trainings[i]
    evaluation = evaluation_of(c.eval)
    if training.metric is not None:
        values = training.evals["test"][training.metric_name]
        evaluation = _with_function(evaluation, training.metric_name, values[(model.best_round or len(values)) - 1])
    return Fold(model, evaluation, c.n_train, c.n_valid, c.n_test, training.evals)


# ---- features ----


@dataclass(frozen=True)
class SelectedDifference:
    """Change of a metric when fewer features are used.

    Attributes
    ----------
    whole : float
        Metric with all features.
    mean : float
        Metric with the selected features.
    difference : float
        ``mean - whole``; NaN if no model could be trained or no query counts.
    low : float
        Lower end of the difference's 95 % bootstrap interval over queries.
    high : float
        Upper end of the interval.

    Examples
    --------
    >>> found = rankwood.select({"rounds": 5}, data, valid, loss=0.05, n_repeats=1, test=valid)
    >>> isinstance(found.test, rankwood.SelectedDifference)
    True
    """

    whole: float
    mean: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class SelectedRow(SelectedDifference):
    """A number of features that :func:`select` tried, measured on half of the validation set.

    Attributes
    ----------
    whole : float
        Metric with all features.
    mean : float
        Metric with these features.
    difference : float
        ``mean - whole``; NaN if no tree could be grown.
    low : float
        Lower end of the difference's 95 % bootstrap interval over queries.
    high : float
        Upper end of the interval.
    n_features : int
        Number of features.
    n_trees : int
        Number of trees of the model trained on them; 0 if no tree could be grown.
    within : bool
        True if the loss is within the tolerance.

    Examples
    --------
    >>> rows = rankwood.select({"rounds": 5}, data, valid, loss=0.05, n_repeats=1).rows
    >>> rows[0].n_features >= rows[-1].n_features
    True
    """

    n_features: int
    n_trees: int
    within: bool


@dataclass(frozen=True)
class Selected:
    """Result of :func:`select`: the smallest feature set within the tolerance, and the loss of other sizes.

    Attributes
    ----------
    features : list[int]
        Ids of the selected features, ascending; for an array, column numbers from 0. Train with
        ``{"features": selected.features}``.
    names : list[str] | None
        Names of the selected features, if the data has names.
    importance : list[Permuted]
        Loss of the metric when the values of each selected feature are shuffled, largest first, measured on the other
        half of the validation set.
    model : Model
        Model trained on the selected features.
    metric : str
        Name of the metric, such as ``"ndcg@10"``.
    rows : list[SelectedRow]
        All features, then the tried numbers of features, in the order of the trials.
    chosen : int
        Index of the row of ``model``, from 0.
    test : SelectedDifference | None
        Result of the selected features on the test set, if one was given.

    Examples
    --------
    >>> selected = rankwood.select({"rounds": 5}, data, valid, loss=0.05, n_repeats=1)
    >>> len(selected.features) == selected.rows[selected.chosen].n_features
    True
    """

    features: list[int]
    names: list[str] | None
    importance: list[Permuted]
    model: Model
    metric: str
    rows: list[SelectedRow]
    chosen: int
    test: SelectedDifference | None

    def __repr__(self) -> str:
        row = self.rows[self.chosen]
        return (
            f"Selected({row.n_features} of {self.rows[0].n_features} features; "
            f"{self.metric}: {row.mean:.5f}, {row.difference:+.5f})"
        )


@hinted
def select(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    valid: Dataset,
    *,
    loss: float = 0.002,
    sure: bool = False,
    n_repeats: int = 5,
    test: Dataset | None = None,
    groups: Any = None,
    strict: bool = False,
) -> Selected:
    """Select the smallest feature set whose metric loses at most ``loss``.

    It trains a model on all features and ranks them by permutation importance. It then trains on the better half of
    them, ranks them again, and repeats this while the loss is within the tolerance. Finally, it tries numbers of
    features in between. The training set is binned once. The measured losses are optimistic, because they chose the
    features; use ``test`` for an unbiased one.

    Parameters
    ----------
    params : dict or None
        Parameters as in :func:`rankwood.train`, without functions and with one ``metric``.
    train_set : Dataset
        Documents with labels and queries.
    valid : Dataset
        Validation set. It stops training. Half of its queries, drawn by ``seed``, rank the features; the other half
        measures the loss.
    loss : float, default 0.002
        Tolerated loss of the metric, 0 or more.
    sure : bool, default False
        Require the whole 95 % interval of the difference, not only the mean, to be within ``loss``.
    n_repeats : int, default 5
        Shuffles of each feature, 1 to 1000.
    test : Dataset or None, default None
        Set to measure once, with all and with the selected features.
    groups : array or None, default None
        Group of each document or query of ``valid``, as in :func:`cv`. The two halves divide no group.
    strict : bool, default False
        Raise a :class:`ParameterError` for a parameter without effect; otherwise it is not reported.

    Returns
    -------
    Selected
        Features, model and losses.

    Raises
    ------
    ParameterError
        A parameter or argument is invalid, or a parameter is a function.
    DataError
        A set has no labels or is unusable.
    OutOfMemoryError
        The device has too little memory.
    UnsupportedError
        The data has start scores, or there are several workers.
    KeyboardInterrupt
        Ctrl-C, within a second.

    Examples
    --------
    >>> selected = rankwood.select({"rounds": 5}, data, valid, loss=0.05, n_repeats=1)
    >>> len(selected.features) < data.n_features
    True
    >>> smaller = rankwood.train({"rounds": 5, "features": selected.features}, data, valid=valid)
    """
    need_device(as_mapping(params))
    sets = {"train_set": train_set, "valid": valid, **({} if test is None else {"test": test})}
    for name, one in sets.items():
        need_labels(one, name)
    if _workers.count() > 1:
        raise UnsupportedError(f"select needs a single worker; there are {_workers.count()}")
    if not isinstance(sure, (bool, np.bool_)):
        raise ParameterTypeError(f"sure is {sure!r}; expected True or False")
    given = as_mapping(params)
    options = ffi.new("struct rw_select_options *")
    options.most_loss, options.n_repeats = not_negative(loss, "loss"), whole(n_repeats, "n_repeats", 1, 1000)
    options.is_sure = bool(sure)
    _refuse_functions(given, "select accepts names only")
    training = Training([train_set], ["train"], ())
    handle = ffi.new_handle(training)
    options.user, options.on_row = handle, lib._rw_on_select
    if train_set._paths is not None:
        train_set._for_training(Params(given))  # this also reads the feature names
    names = train_set.feature_names

    def values_of(one: Dataset) -> Any:
        return one._with_values() if names is None else one._with_values_as(names, range(len(names)), len(names))

    out = ffi.new("struct rw_selected **")
    with named_params(given, strict or None, names) as c:
        binned, measured = train_set._for_training(c), values_of(valid)
        options.test = ffi.NULL if test is None else values_of(test)
        with grouped(options, valid, groups):
            status = lib.rw_select(context(), c.c, binned, measured, options, out)
        selected = training.result(status, out, lib.rw_free)
    return _selected(selected, names)


def _selected(c: Any, names: list[str] | None) -> Selected:
    def difference(one: Any) -> tuple[float, float, float, float, float]:
        return one.mean_a, one.mean_b, one.difference, one.low, one.high

    rows = [
        SelectedRow(*difference(row.compared), row.n_features, row.n_trees, bool(row.is_within))
        for row in (c.rows[i] for i in range(c.n_rows))
    ]
    kept = [c.features[i] for i in range(c.n_features)]
    importance = [
        Permuted(one.feature, one.feature if names is None else names[one.feature], one.loss, one.deviation)
        for one in kept
    ]
    ids = sorted(one.feature for one in kept)
    test = None if c.test == ffi.NULL else SelectedDifference(*difference(c.test))
    model = Model(ffi.gc(c.model, lib.rw_model_free))
    c.model = ffi.NULL  # `model` owns it now
    model.feature_names = None if names is None else list(names)
    kept_names = None if names is None else [names[i] for i in ids]
    return Selected(ids, kept_names, importance, model, text(c.metric), rows, c.chosen, test)


@ffi.def_extern(error=1, onerror=on_error)
def _rw_on_select(user: Any, _number: int, row: Any) -> int:
    training: Training = ffi.from_handle(user)
    training.guard(lambda: _told(row))
    return int(training.is_over())


def _told(row: Any) -> None:
    logger.info(
        "%d features: %d trees, %.5f, %+.5f%s", row.n_features, row.n_trees, row.compared.mean_b,
        row.compared.difference, "" if row.is_within else ": loses too much",
    )  # fmt: skip
