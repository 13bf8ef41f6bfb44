"""A scikit-learn estimator and a scorer."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rankwood import _columns, _tables
from rankwood._columns import Floats
from rankwood._core import (
    DataError,
    ParameterError,
    ParameterTypeError,
    ffi,
    lib,
    need,
    no_trees_allowed,
    text,
    warn,
)
from rankwood._dataset import Dataset
from rankwood._evaluate import evaluate
from rankwood._model import Model
from rankwood._params import as_text, hinted, with_parameters
from rankwood._train import Path, train
from rankwood._training import LOWER_IS_BETTER, Callback

MOST_IN_DOUBT = 500  # up to this number, documents without queries are one query, with a warning


def _ours(name: str) -> str | None:
    """Returns our name of another trainer's parameter."""
    row = lib.rw_alias_next(ffi.NULL, ffi.NULL, name.encode())
    if row != ffi.NULL:
        ours = row.ours
        return text(ours) if ours != ffi.NULL else None
    near = lib.rw_params_nearest(name.encode())
    return text(near) if near != ffi.NULL else None


def _signature_of(cls: Any) -> inspect.Signature:
    """Returns the signature of a class's constructor, without `self`; __new__ would hide it."""
    own = inspect.signature(cls.__init__)
    return own.replace(parameters=list(own.parameters.values())[1:])


class Ranker(BaseEstimator):
    """LambdaMART ranker with the interface of a scikit-learn estimator.

    It works in pipelines, searches and cross-validation; query ids are passed by metadata routing (see :func:`scorer`).
    Parameters are checked in :meth:`fit`. Clones, such as those of searches, do not report parameters without effect.

    Parameters
    ----------
    (one entry per parameter, from the library's table)
    categorical : list of str or int, or str, default ""
        Features with categories, by name or column number (from 0), as ``categorical_features`` of :class:`Dataset`.
    missing : float, default NaN
        Value that means missing, in addition to NaN and null, in :meth:`fit` and :meth:`predict`.
    strict : bool, default False
        Raise a :class:`ParameterError` for a parameter without effect instead of a :class:`NoEffectWarning`.

    Attributes
    ----------
    model_ : Model
        The trained model.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array of str, shape (n_features_in_,)
        Names of the features, if ``X`` had names.
    best_iteration_ : int
        Kept round, from 1; the number of rounds without ``eval_set``.
    best_score_ : float | None
        First metric of the set that stops training, or of the first one, in this round; None without ``eval_set``.
    evals_result_ : dict
        Metric values after each round, by set (``"valid_0"``, ...) and metric.
    feature_importances_ : array of float64, shape (n_features_in_,)
        Sums of gains, normalised to 1.

    Examples
    --------
    >>> ranker = rankwood.Ranker(rounds=20, leaves=8)
    >>> ranker.fit(X, y, qid=qid)
    Ranker(leaves=8, rounds=20)
    >>> ranker.predict(X_valid).shape == y_valid.shape
    True
    >>> ranker.score(X_valid, y_valid, qid=qid_valid) < 1
    True
    """

    model_: Model
    best_score_: float | None
    feature_names_in_: npt.NDArray[np.object_]

    def __new__(cls, *_: Any, **given: Any) -> Ranker:
        # checked here, because scikit-learn reads the parameters from __init__'s signature
        known = cls._get_param_names()
        for name in given:
            if name not in known:
                near = (_ours(name) or "").replace("-", "_")
                hint = f"; it is {near!r}" if near in known else ""
                raise ParameterTypeError(f"{cls.__name__}() has no parameter {name!r}{hint}")
        made: Ranker = super().__new__(cls)
        return made

    def __init_subclass__(cls, **how: Any) -> None:
        super().__init_subclass__(**how)
        cls.__signature__ = _signature_of(cls)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Returns the parameters; those of a subclass with ``**kwargs`` include its base class's."""
        names: set[str] = set()
        for kind in cls.__mro__:
            if "__init__" not in vars(kind):
                continue
            own = list(inspect.signature(vars(kind)["__init__"]).parameters.values())[1:]
            names.update(one.name for one in own if one.kind is not one.VAR_KEYWORD)
            if all(one.kind is not one.VAR_KEYWORD for one in own):
                break
        return sorted(names)

    def __init__(
        self,
        *,
        objective: Any = "lambdarank",
        rounds: int | str = "auto",
        rate: float | str = "auto",
        leaves: int | str = "auto",
        depth: int | str = "auto",
        grow: str = "leaves",
        split: str = "auto",
        l2: float = 300,
        split_l2: float = 0,
        min_docs: int = 20,
        min_hessian: float = 0,
        min_gain: float = 0,
        bins: int = 255,
        bits: int = 8,
        rounding: str = "stochastic",
        truncation: int | str = 30,
        sigma: float = 1,
        norm: bool | str = True,
        debias: str = "off",
        position_l2: float = 0,
        position_norm: float = 1,
        propensities: str = "",
        delta: str = "ndcg",
        pairs: str = "topk",
        permutations: int = 10,
        decay: float = 0.85,
        label_gain: str = "exp",
        label_weights: Sequence[float] | str = "",
        monotone: Mapping[Any, Any] | str = "",
        interactions: Sequence[Iterable[Any]] | str = "",
        feature_penalty: Mapping[Any, float] | str = "",
        categorical: Any = "",
        category_smoothing: float = 10,
        category_penalty: float = 0.7,
        bags: int = 1,
        bag_queries: float = 1,
        sample_queries: float = 1,
        sample_docs: float = 1,
        sample_features: float | str = "auto",
        sample_features_node: float = 1,
        gain_noise: float | str = "auto",
        absent: str = "zero",
        missing: float = np.nan,
        metric: Any = "ndcg@10",
        early_stop: int = 100,
        early_stop_delta: float = 0,
        early_stop_rule: str = "auto",
        train_metric: bool = False,
        empty: str = "skip",
        ties: str = "file",
        relevant: float = 1,
        device: str = "auto",
        threads: int | str = "auto",
        seed: int = 1,
        strict: bool = False,
    ) -> None:
        self.objective = objective
        self.rounds = rounds
        self.rate = rate
        self.leaves = leaves
        self.depth = depth
        self.grow = grow
        self.split = split
        self.l2 = l2
        self.split_l2 = split_l2
        self.min_docs = min_docs
        self.min_hessian = min_hessian
        self.min_gain = min_gain
        self.bins = bins
        self.bits = bits
        self.rounding = rounding
        self.truncation = truncation
        self.sigma = sigma
        self.norm = norm
        self.debias = debias
        self.position_l2 = position_l2
        self.position_norm = position_norm
        self.propensities = propensities
        self.delta = delta
        self.pairs = pairs
        self.permutations = permutations
        self.decay = decay
        self.label_gain = label_gain
        self.label_weights = label_weights
        self.monotone = monotone
        self.interactions = interactions
        self.feature_penalty = feature_penalty
        self.categorical = categorical
        self.category_smoothing = category_smoothing
        self.category_penalty = category_penalty
        self.bags = bags
        self.bag_queries = bag_queries
        self.sample_queries = sample_queries
        self.sample_docs = sample_docs
        self.sample_features = sample_features
        self.sample_features_node = sample_features_node
        self.gain_noise = gain_noise
        self.absent = absent
        self.missing = missing
        self.metric = metric
        self.early_stop = early_stop
        self.early_stop_delta = early_stop_delta
        self.early_stop_rule = early_stop_rule
        self.train_metric = train_metric
        self.empty = empty
        self.ties = ties
        self.relevant = relevant
        self.device = device
        self.threads = threads
        self.seed = seed
        self.strict = strict

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        # a parameter that the pickling version lacked gets its default
        super().__setstate__({**Ranker().get_params(), **state})

    def __sklearn_clone__(self) -> Ranker:
        # a search sets many combinations on clones, and some parameters have no effect in some of them
        clone: Ranker = super().__sklearn_clone__()
        clone._is_clone = True
        return clone

    def _strict(self) -> bool | None:
        """Returns the argument `strict` for :func:`rankwood.train`."""
        return True if self.strict else None if getattr(self, "_is_clone", False) else False

    def _given(self) -> dict[str, Any]:
        """Returns the parameters that differ from their defaults; only these can be reported as having no effect."""
        return {
            name: value
            for name, default in Ranker().get_params().items()  # a subclass may have other parameters and defaults
            if name not in ("missing", "categorical", "strict")  # these are not parameters of the library
            and (callable(value := getattr(self, name)) or as_text(value) != as_text(default))
        }

    @hinted
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        single_query: bool = False,
        sample_weight: Any = None,
        start_scores: Any = None,
        position: Any = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_group: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_start_scores: Sequence[Any] | None = None,
        callbacks: Iterable[Callback] | None = None,
        checkpoint: Path | None = None,
        checkpoint_every: int | str | None = None,
        resume: Path | None = None,
        init: Model | Ranker | None = None,
    ) -> Ranker:
        """Train a model.

        If no tree can be split, as with fewer than ``2 * min_docs`` documents, a warning says why and the model scores
        all documents 0. :func:`rankwood.train` raises an error then.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Arrow table, shape (n_docs, n_features)
            Features.
        y : array, shape (n_docs,) or (n_docs, k)
            Labels, 0 or more. Several labels are for the parameter ``label_weights``; metrics use the first one.
        qid : array, shape (n_docs,), or None, default None
            Query of each document. By default, the column ``"qid"`` of a data frame, which is then not a feature.
        group : array of int or None, default None
            Number of documents of each query, in order; an alternative to ``qid``.
        single_query : bool, default False
            True declares that all documents belong to one query.
        sample_weight : array, shape (n_docs,), or None, default None
            Weight of each document, as in :class:`rankwood.Dataset`.
        start_scores : array, shape (n_docs,), or None, default None
            Scores at which training starts, as in :class:`rankwood.Dataset`.
        position : array of int, shape (n_docs,), or None, default None
            Displayed position of each document, for the parameter ``debias``.
        eval_set : list of (X, y), or None, default None
            Validation sets. The first one that is not the training set stops training.
        eval_qid, eval_group : list of arrays, or None, default None
            Queries of each validation set, unless its ``X`` has a column ``"qid"``.
        eval_sample_weight, eval_start_scores : list of arrays or None, or None, default None
            Weights and start scores of each validation set; an entry may be None.
        callbacks : list of callable, or None, default None
            Functions that are called after each round, as in :func:`rankwood.train`.
        checkpoint, checkpoint_every, resume : optional
            As in :func:`rankwood.train`.
        init : Model, Ranker or None, default None
            Model to continue from, as in :func:`rankwood.train`.

        Returns
        -------
        Ranker
            The fitted estimator.

        Raises
        ------
        DataError
            Shapes, types, labels or queries are invalid, or more than 500 documents have no queries. With fewer
            documents, a warning says that they are treated as one query.
        ParameterError
            A parameter is invalid.

        Examples
        --------
        >>> ranker = rankwood.Ranker(rounds=50, leaves=8, early_stop=5)
        >>> ranker = ranker.fit(X, y, qid=qid, eval_set=[(X_valid, y_valid)], eval_qid=[qid_valid])
        >>> ranker.best_iteration_ <= 50
        True
        """
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        n_docs = _rows(X)
        if n_docs == 1:
            raise DataError("X has n_samples = 1; documents are ranked against others, so expected 2 or more")
        group = _group_of("fit", X, qid, group, single_query)
        if sample_weight is not None and not np.any(_columns.array_of(sample_weight, "sample_weight")):
            raise DataError("all weights in sample_weight are zero")
        data = Dataset(
            X, y, qid=qid, group=group, weight=sample_weight, start_scores=start_scores, position=position,
            categorical_features=self.categorical, missing=self.missing, sort=group is None,
        )  # fmt: skip
        sets = _eval_sets(eval_set, eval_qid, eval_group)
        weights = _of_sets("eval_sample_weight", eval_sample_weight, len(sets))
        starts = _of_sets("eval_start_scores", eval_start_scores, len(sets))
        valid = {
            f"valid_{i}": Dataset(
                eval_x, eval_y, qid=eval_ids, group=sizes, weight=weights[i], start_scores=starts[i],
                categorical_features=self.categorical, missing=self.missing, sort=sizes is None,
            )
            for i, (eval_x, eval_y, eval_ids, sizes) in enumerate(sets)
        }  # fmt: skip
        if isinstance(init, Ranker):
            init = init.model_ if hasattr(init, "model_") else need(init, Model, "init")
        with no_trees_allowed():
            model = train(
                self._given(), data, valid=valid or None, callbacks=callbacks or (), init=init,
                checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume, strict=self._strict(),
            )  # fmt: skip
        return self._fitted(model, data.n_features, data.feature_names)

    @classmethod
    def from_model(cls, model: Model | Path) -> Ranker:
        """Make a fitted estimator of a trained model.

        Parameters
        ----------
        model : Model, str or path
            The model, or its file.

        Returns
        -------
        Ranker
            Estimator with the model and, as far as it records them, the parameters of its training.

        Raises
        ------
        FileError
            The file cannot be read.
        FormatError
            The file is not a model.

        Examples
        --------
        >>> rankwood.Ranker.from_model(model).predict(X_valid[:3]).shape
        (3,)
        """
        model = need(Model.load(model) if isinstance(model, (str, os.PathLike)) else model, Model, "model")
        known = set(cls._get_param_names())
        params: dict[str, Any] = {name: value for name, value in model.params.items() if name in known}
        ranker = cls(**params)
        return ranker._fitted(model, max(model._width, model._n_needed), model.feature_names)

    def save(self, path: Path) -> None:
        """Write the model to a file, as :meth:`Model.save` does.

        Parameters
        ----------
        path : str or path
            File to write; a failed write leaves an existing file unchanged. :meth:`from_model` reads it.

        Returns
        -------
        None

        Raises
        ------
        FileError
            The file cannot be written.
        NotFittedError
            The estimator is not fitted (scikit-learn's exception).

        Examples
        --------
        >>> rankwood.Ranker(rounds=5).fit(X, y, qid=qid).save("model.txt")
        """
        check_is_fitted(self, "model_")
        self.model_.save(path)

    def _fitted(self, model: Model, n_features: int, names: Sequence[str] | None) -> Ranker:
        self.model_ = model
        self.n_features_in_ = n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.evals_result_ = self.model_.evals_result
        self.best_iteration_ = model.best_round or len(model._round_ends())
        self.best_score_ = model._best_score
        return self

    @hinted
    def predict(self, X: Any) -> Floats:
        """Score documents; a higher score is a better rank.

        Parameters
        ----------
        X : array, sparse matrix, data frame, Arrow table or Dataset
            Features of shape (n_docs, n_features).

        Returns
        -------
        array of float64, shape (n_docs,)
            Scores in the order of ``X``.

        Raises
        ------
        DataError
            The features do not match those of :meth:`fit`.
        NotFittedError
            The estimator is not fitted (scikit-learn's exception).

        Examples
        --------
        >>> ranker = rankwood.Ranker(rounds=5).fit(X, y, qid=qid)
        >>> ranker.predict(X[:3]).shape
        (3,)
        """
        check_is_fitted(self, "model_")
        n_features = _n_columns(X)
        if n_features is not None and n_features != self.n_features_in_ and not _has_names(X):
            raise DataError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return self.model_.predict(X, missing=np.nan if isinstance(X, Dataset) else self.missing)

    @hinted
    def score(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        single_query: bool = False,
        sample_weight: Any = None,
        metric: str = "ndcg@10",
    ) -> float:
        """Measure the ranking of documents by the estimator.

        Parameters
        ----------
        X : array, sparse matrix, data frame or Arrow table
            Features of shape (n_docs, n_features).
        y : array, shape (n_docs,)
            Labels.
        qid, group, single_query : optional
            The queries, as in :meth:`fit`.
        sample_weight : array, shape (n_docs,), or None, default None
            Weight of each document.
        metric : str, default "ndcg@10"
            One metric, as in :func:`rankwood.evaluate`.

        Returns
        -------
        float
            Mean of the metric over the queries that count.

        Raises
        ------
        DataError
            Shapes, types, labels or queries are invalid.
        ParameterError
            The metric is unknown.

        Examples
        --------
        >>> ranker = rankwood.Ranker(rounds=5).fit(X, y, qid=qid)
        >>> 0 < ranker.score(X_valid, y_valid, qid=qid_valid, metric="map") < 1
        True
        """
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        check_is_fitted(self, "model_")
        features = self.model_.feature_names
        group = _group_of("score", X, qid, group, single_query, features)
        qid = _qid_of(X, qid, group, features)
        return _measured(self.predict(X), y, qid, group, sample_weight, metric)

    @property
    def feature_importances_(self) -> Floats:
        """Sums of gains, shape (n_features_in_,), normalised to 1."""
        if not hasattr(self, "model_"):
            raise NotFittedError("this Ranker is not fitted yet: call fit first")
        out = np.zeros(self.n_features_in_, np.float64)
        for use in self.model_._uses():
            out[use.feature] = use.gain
        total = out.sum()
        return out / total if total > 0 else out


def _eval_sets(sets: Any, qids: Any, groups: Any) -> list[tuple[Any, Any, Any, Any]]:
    """Returns X, y, qid and group of each set; a missing argument is None."""
    if sets is None:
        return []
    sets = list(sets) if isinstance(sets, Iterable) else [sets]
    if not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in sets):
        raise DataError("eval_set is not a list of pairs; expected [(X, y), ...]")
    given = {"eval_qid": qids, "eval_group": groups}
    for name, value in given.items():
        if value is not None and (not hasattr(value, "__len__") or len(value) != len(sets)):
            raise DataError(f"{name} is not a list of {len(sets)}; expected one entry per pair of eval_set")
    out = []
    for i, (X, y) in enumerate(sets):
        qid, group = (None if value is None else value[i] for value in given.values())
        if qid is None and group is None and _columns.QID not in _columns.column_names(X):
            raise DataError(f"eval_set {i} has neither eval_qid nor eval_group, nor a column {_columns.QID!r}")
        out.append((X, y, qid, group))
    return out


def _of_sets(name: str, given: Any, n: int) -> list[Any]:
    """Returns one value per pair of eval_set; None for missing ones."""
    if given is None:
        return [None] * n
    if not hasattr(given, "__len__") or len(given) != n:
        raise DataError(f"{name} is not a list of {n}; expected one entry per pair of eval_set")
    return list(given)


def _group_of(
    method: str, X: Any, qid: Any, group: Any, single_query: bool, features: Sequence[str] | None = None
) -> Any:
    """Returns group, or the size of the single query. features: names of a fitted model's features."""
    has_column = _columns.QID in _columns.column_names(X) and _columns.QID not in (features or ())
    if qid is not None or group is not None or has_column:
        if not single_query:
            return group
        given = "qid" if qid is not None else "group" if group is not None else f"a column {_columns.QID!r}"
        raise DataError(f"single_query=True and {given} are both given; expected one of them")
    n_docs = _rows(X)
    if single_query:
        return [n_docs]
    how = (
        "pass qid (the query of each document) or group (the number of documents of each query), or add a column "
        "'qid' to X; single_query=True declares that all documents are one query"
    )
    if n_docs > MOST_IN_DOUBT:
        raise DataError(
            f"{method}() has {n_docs} documents and no query ids\nhint: {how}\n"
            "hint: searches and cross-validation of scikit-learn pass qid after "
            f"sklearn.set_config(enable_metadata_routing=True), to estimators with .set_{method}_request(qid=True)"
        )
    warn(f"{method}() has no query ids, so all {n_docs} documents are one query\nhint: {how}")
    return [n_docs]


def _qid_of(X: Any, qid: Any, group: Any, features: Sequence[str] | None = None) -> Any:
    """Returns qid, or the values of the column of query ids."""
    names = _columns.column_names(X)
    if _columns.QID in (features or ()) or _columns.query_column(names, qid, group, ()) is qid:
        return qid
    return _tables.of_any(X, {_columns.QID}).take(_columns.QID).vector("qid")


def _measured(scores: Any, y: Any, qid: Any, group: Any, sample_weight: Any, metric: str) -> float:
    """Returns a metric of scores; it needs no features."""
    nothing = np.zeros((len(scores), 1), np.float32)
    data = Dataset(nothing, y, qid=qid, group=group, weight=sample_weight, sort=group is None)
    values = list(evaluate(data, scores, metric).values())
    if len(values) != 1:
        raise ParameterError(f"metric is {metric!r}; expected one")
    return values[0]


def _rows(X: Any) -> int:
    """Returns the number of documents of any kind of table."""
    if hasattr(X, "shape"):
        return int(X.shape[0]) if len(X.shape) else 0
    return _tables.of_any(X).n_rows


def _n_columns(X: Any) -> int | None:
    """Returns the number of features of an array; None if it does not have two dimensions."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def _has_names(X: Any) -> bool:
    return hasattr(X, "columns")


def scorer(metric: str = "ndcg@10") -> Callable[..., float]:
    """Make a scorer for ``cross_val_score`` and ``GridSearchCV`` that measures rankings by query.

    Query ids are passed by scikit-learn's metadata routing. The scorer calls ``predict`` of the estimator, so it also
    works with pipelines, nested searches and rankers of other libraries. Without a qid it uses the column ``"qid"`` of
    a data frame ``X``. It raises DataError if there are no query ids, and ParameterError for an unknown metric.

    Parameters
    ----------
    metric : str, default "ndcg@10"
        One metric, as in :func:`rankwood.evaluate`. ``rmse`` and ``logloss`` are negated, because scikit-learn
        maximises scores.

    Returns
    -------
    callable
        The scorer.

    Raises
    ------
    ParameterError
        The metric is unknown; raised by the scorer, not by this function.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     ranker = rankwood.Ranker(rounds=5).set_fit_request(qid=True)
    ...     search = GridSearchCV(ranker, {"leaves": [4, 8]}, scoring=rankwood.scorer(), cv=GroupKFold(3))
    ...     _ = search.fit(X, y, qid=qid, groups=qid)  # qid for ranker and scorer, groups for the folds
    >>> search.best_params_["leaves"] in (4, 8)
    True
    """
    return _Scorer(metric)


Ranker.__signature__ = _signature_of(Ranker)
Ranker.__doc__ = with_parameters(
    Ranker.__doc__, set(Ranker.__signature__.parameters) - {"categorical", "missing", "strict"}
)


class _Scorer(BaseEstimator):
    """Scores an estimator by a ranking metric, and requests the qid of each document."""

    __metadata_request__score = {"qid": True}  # noqa: RUF012 (scikit-learn's own convention)

    def __init__(self, metric: str = "ndcg@10") -> None:
        self.metric = metric

    def score(self, X: Any, y: Any, *, qid: Any = None) -> None:
        """Declares the metadata that scikit-learn may pass. It is never called."""

    def __call__(self, estimator: Any, X: Any, y: Any, *, qid: Any = None) -> float:
        if qid is None:
            qid = _qid_of(X, None, None)
        if qid is None:
            raise DataError(
                "the scorer has no query ids\nhint: sklearn.set_config(enable_metadata_routing=True) passes those of "
                "search.fit(X, y, qid=qid) or cross_val_score(..., params={'qid': qid}) to it; or add a "
                "column 'qid' to X"
            )
        value = _measured(estimator.predict(X), y, qid, None, None, self.metric)
        return -value if self.metric.partition("@")[0].lower() in LOWER_IS_BETTER else value


__all__ = ["Model", "Ranker", "scorer"]
