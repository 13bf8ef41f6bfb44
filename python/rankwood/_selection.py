"""Trainings of many models on one set: cross-validation by query, and the fewest features within a loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    made,
    not_negative,
    text,
    whole,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._evaluate import Evaluation, evaluation_of
from rankwood._explain import Permuted
from rankwood._model import Model
from rankwood._params import Params, as_mapping, need_device
from rankwood._training import Training, named_params, on_error, working

# ---- cross-validation ----


@dataclass(frozen=True)
class Fold:
    """One fold: a model that never saw it, and how the model ranks it.

    Attributes
    ----------
    model : Model
        Trained without the fold's queries.
    evaluation : Evaluation
        Of the fold's queries, by the model.
    n_train : int
        Queries that the model was trained on.
    n_valid : int
        Queries that stopped its training; 0 without early stopping.
    n_test : int
        Queries of the fold.
    """

    model: Model
    evaluation: Evaluation
    n_train: int
    n_valid: int
    n_test: int


@dataclass(frozen=True)
class CrossValidation:
    """What :func:`cv` returns.

    Attributes
    ----------
    folds : list[Fold]
        In the order of their numbers.
    pooled : Evaluation
        Of ``scores``, over all queries.
    scores : array of float64
        (n_docs,) in the order of the data: each document's by the model that never saw its query.
    fold_of : array of uint32
        (n_queries,) in the order of ``Dataset.query_offsets``: which of ``folds`` holds the query.
    """

    folds: list[Fold]
    pooled: Evaluation
    scores: Floats
    fold_of: npt.NDArray[np.uint32]

    @property
    def models(self) -> list[Model]:
        """The folds' models."""
        return [fold.model for fold in self.folds]

    def mean(self, metric: str) -> tuple[float, float]:
        """Mean and standard deviation (of a sample) of the folds' values of ``metric``; a fold in which no
        query counts is left out, and what has too few folds is NaN. ParameterError: it was not measured."""
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


def cv(
    params: Mapping[str, Any] | None, dataset: Dataset, n_folds: int = 5, *, strict: bool = False
) -> CrossValidation:
    """Trains a model for each fold, and measures it on that fold.

    Parameters
    ----------
    params
        As :func:`rankwood.train` takes them, but without functions. ``seed`` also draws the folds,
        which are of whole queries and as even as can be. Under early stopping (``early_stop``, 100
        unless given) the next fold is left out of training and stops it, so that what is measured
        decides nothing. What is ``auto`` is chosen once, by the size of the whole set.
    dataset
        Documents with labels and queries.
    n_folds
        3 or more; 2 or more with ``early_stop=0``; no more than there are queries.

    strict
        True: a parameter that has no effect under the others is a ParameterError. It is not reported otherwise.

    Raises
    ------
    ParameterError, DataError, OutOfMemoryError, UnsupportedError
    """
    need_device(as_mapping(params))
    need_labels(dataset, "dataset")
    given = dataset._with_own(as_mapping(params))
    _refuse_functions(given, "cross-validation takes names only")
    n_folds = whole(n_folds, "n_folds", 1, 2**31 - 1)
    out = ffi.new("struct rw_cv **")
    with named_params(given, strict or None, dataset.feature_names) as c:
        check(lib.rw_params_check(context(), c.c, lib.RW_PARAMS_TRAIN))
        values = dataset._with_values()
        with working("cross-validation"):
            status = lib.rw_cross_validate(context(), c.c, values, n_folds, out)
            validated = made(status, out, lib.rw_free)
    folds = [_fold(validated, i, dataset) for i in range(validated.n_folds)]
    scores = _columns.view(validated.scores, dataset.n_docs, np.float64).copy()
    fold_of = _columns.view(validated.fold_of, dataset.n_queries, np.uint32).copy()
    return CrossValidation(folds, evaluation_of(validated.pooled), dataset._in_caller_order(scores), fold_of)


def _refuse_functions(given: Mapping[str, Any], why: str) -> None:
    for name, value in given.items():
        if any(callable(one) for one in (value if isinstance(value, (list, tuple)) else [value])):
            raise ParameterError(f"{name} is a function; {why}")


def _fold(validated: Any, i: int, dataset: Dataset) -> Fold:
    c = validated.folds[i]
    # the struct rw_cv owns its models: it lives as long as the last of them
    model = Model(ffi.gc(c.model, lambda _, owner=validated: None))
    if dataset.feature_names is not None:
        model.feature_names = list(dataset.feature_names)
    return Fold(model, evaluation_of(c.eval), c.n_train, c.n_valid, c.n_test)


# ---- features ----


@dataclass(frozen=True)
class SelectedDifference:
    """What fewer features change in a set's metric.

    Attributes
    ----------
    whole : float
        The metric by all features.
    mean : float
        The metric by fewer.
    difference : float
        From the one by all; NaN if there is no model, or no query counts.
    low : float
        The lower end of the difference's 95 % bootstrap interval over queries.
    high : float
        The upper end.
    """

    whole: float
    mean: float
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class SelectedRow(SelectedDifference):
    """A number of features that was tried, measured on half of the validation set.

    Attributes
    ----------
    whole : float
        The metric by all features.
    mean : float
        The metric by these.
    difference : float
        From the one by all; NaN if no tree could be made of these.
    low : float
        The lower end of the difference's 95 % bootstrap interval over queries.
    high : float
        The upper end.
    n_features : int
        Features.
    n_trees : int
        Trees of the model that was trained on them; 0: none could be made.
    within : bool
        The loss is small enough.
    """

    n_features: int
    n_trees: int
    within: bool


@dataclass(frozen=True)
class Selected:
    """The fewest features within a loss, and what other numbers of features lose.

    Attributes
    ----------
    features : list[int]
        Ids, ascending: columns of an array, from 0. Training takes them: ``{"features": selected.features}``.
    names : list[str] | None
        Their names, if the data has some.
    importance : list[Permuted]
        What the other half of the validation set loses with the values of each shuffled, the largest loss first.
    model : Model
        Trained on these features.
    metric : str
        Its name: "ndcg@10".
    rows : list[SelectedRow]
        All features, then what was tried, in that order.
    chosen : int
        The row of `model`, from 0.
    test : SelectedDifference | None
        The chosen features on the test set, if there was one.
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


def select(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    valid: Dataset,
    *,
    loss: float = 0.002,
    sure: bool = False,
    n_repeats: int = 5,
    test: Dataset | None = None,
    strict: bool = False,
) -> Selected:
    """Finds the fewest features with which a metric loses at most ``loss``.

    A model is trained on all features, which are ranked by what the metric loses with the values of each shuffled. Then
    others are trained on the first half of them, ranked anew, and so on while the loss is small enough, and at last on
    numbers between. The training set is binned once. The figures flatter what they have chosen; ``test`` does not.

    Parameters
    ----------
    params
        As :func:`rankwood.train` takes them, but without functions. ``metric`` is one.
    train_set
        Documents with labels and queries.
    valid
        Stops trainings; half of its queries, drawn by ``seed``, rank features, the others tell what they lose.
    loss
        The most that the metric may lose, 0 or more.
    sure
        True: what may be so much is not the difference, but the far end of its interval.
    n_repeats
        Permutations of each feature, 1 to 1000.
    test
        Measured once, by all features and by those that were chosen.
    strict
        True: a parameter that has no effect under the others is a ParameterError. It is not reported otherwise.

    Raises
    ------
    ParameterError, DataError, OutOfMemoryError
    UnsupportedError
        Start scores, or several workers.
    KeyboardInterrupt
        Ctrl-C, within a second.
    """
    need_device(as_mapping(params))
    sets = {"train_set": train_set, "valid": valid, **({} if test is None else {"test": test})}
    for name, one in sets.items():
        need_labels(one, name)
    if _workers.count() > 1:
        raise UnsupportedError(f"features are selected by one worker, not by {_workers.count()}")
    if not isinstance(sure, (bool, np.bool_)):
        raise ParameterTypeError(f"sure is {sure!r}; expected True or False")
    given = as_mapping(params)
    options = ffi.new("struct rw_select_options *")
    options.most_loss, options.n_repeats = not_negative(loss, "loss"), whole(n_repeats, "n_repeats", 1, 1000)
    options.is_sure = bool(sure)
    _refuse_functions(given, "features are selected by names only")
    training = Training([train_set], ["train"], ())
    handle = ffi.new_handle(training)
    options.user, options.on_row = handle, lib._rw_on_select
    if train_set._paths is not None:
        train_set._for_training(Params(given))  # its names come with it
    names = train_set.feature_names

    def values_of(one: Dataset) -> Any:
        return one._with_values() if names is None else one._with_values_as(names, range(len(names)), len(names))

    out = ffi.new("struct rw_selected **")
    with named_params(given, strict or None, names) as c:
        binned, measured = train_set._for_training(c), values_of(valid)
        options.test = ffi.NULL if test is None else values_of(test)
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
    c.model = ffi.NULL  # it has an owner now
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
        row.compared.difference, "" if row.is_within else ": too much is lost",
    )  # fmt: skip
