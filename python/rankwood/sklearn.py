"""scikit-learn's estimator."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from rankwood import _columns, _tables
from rankwood._columns import Floats
from rankwood._core import DataError, ParameterError, ParameterTypeError, ffi, lib, text
from rankwood._dataset import Dataset
from rankwood._evaluate import evaluate
from rankwood._model import Model
from rankwood._params import as_text
from rankwood._train import Path, train
from rankwood._training import Callback

MOST_IN_DOUBT = 500  # documents that are one query without single_query=True, with a warning
LOWER_IS_BETTER = ("rmse", "logloss")


def _ours(name: str) -> str | None:
    """What another trainer's parameter is called here."""
    row = lib.rw_alias_next(ffi.NULL, ffi.NULL, name.encode())
    if row != ffi.NULL:
        ours = row.ours
        return text(ours) if ours != ffi.NULL else None
    near = lib.rw_params_nearest(name.encode())
    return text(near) if near != ffi.NULL else None


class Ranker(BaseEstimator):
    """Gradient-boosted trees that rank, as a scikit-learn estimator.

    Parameters are those of ``rankwood train --help``, with ``_`` for ``-``; "auto" is a number that
    training chooses. ``missing`` is a value that means missing, beside NaN and null, wherever the
    estimator is given features. ``strict``: a parameter without effect is an error, and not a
    :class:`rankwood.NoEffectWarning`; clones, as searches make them, do not report one. Nothing is checked before
    :meth:`fit`.

    Attributes
    ----------
    model_ : Model
    n_features_in_ : int
    feature_names_in_ : array of str (n_features_in_,), if X had names
    best_iteration_ : int, from 1; the number of trees without ``eval_set``
    evals_result_ : dict, by set ("valid_0", ...), then metric: the value after each round
    feature_importances_ : (n_features_in_,), gains, which add up to 1
    """

    model_: Model
    feature_names_in_: npt.NDArray[np.object_]

    def __new__(cls, *_: Any, **given: Any) -> Ranker:
        # only here: __init__'s signature is what scikit-learn takes the parameters from
        known = cls._get_param_names()
        for name in given:
            if name not in known:
                near = (_ours(name) or "").replace("-", "_")
                hint = f"; it is {near!r}" if near in known else ""
                raise ParameterTypeError(f"{cls.__name__}() has no parameter {name!r}{hint}")
        made: Ranker = super().__new__(cls)
        return made

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
        sample_queries: float = 1,
        sample_docs: float = 1,
        sample_features: float | str = "auto",
        sample_features_node: float = 1,
        absent: str = "zero",
        missing: float = np.nan,
        metric: Any = "ndcg@10",
        early_stop: int = 100,
        early_stop_delta: float = 0,
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
        self.sample_queries = sample_queries
        self.sample_docs = sample_docs
        self.sample_features = sample_features
        self.sample_features_node = sample_features_node
        self.absent = absent
        self.missing = missing
        self.metric = metric
        self.early_stop = early_stop
        self.early_stop_delta = early_stop_delta
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
        # pickled by a version that lacked a parameter: it has the default, as it did there
        super().__setstate__({**type(self)().get_params(), **state})

    def __sklearn_clone__(self) -> Ranker:
        # a search fits clones with one dictionary after another: what has no effect in some of them is no news
        clone: Ranker = super().__sklearn_clone__()
        clone._is_clone = True
        return clone

    def _strict(self) -> bool | None:
        """As :func:`rankwood.train` takes it."""
        return True if self.strict else None if getattr(self, "_is_clone", False) else False

    def _given(self) -> dict[str, Any]:
        """The parameters that are not at their defaults: having no effect is reported of those alone."""
        defaults = type(self)().get_params()
        return {
            name: value
            for name, value in self.get_params().items()
            if name not in ("missing", "categorical", "strict")  # which are not the library's parameters
            and (callable(value) or as_text(value) != as_text(defaults.get(name)))
        }

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
    ) -> Ranker:
        """Trains a model.

        X: (n_docs, n_features); y: labels (n_docs,), or several (n_docs, k) for the parameter ``label_weights``,
        of which metrics see the first; qid: the query of each document, or group: the
        size of each query; without either the column "qid" of a frame X, which is then no feature.
        single_query: True states that all documents are one query. sample_weight, start_scores:
        (n_docs,), as :class:`rankwood.Dataset` takes them. eval_set: pairs (X, y), with eval_qid or
        eval_group or a column "qid", and eval_sample_weight and eval_start_scores, None or one of each pair,
        which may be None; the first one that is not the training set stops training.
        callbacks, checkpoint, checkpoint_every, resume: as :func:`rankwood.train` takes them. position: where
        each document was shown (n_docs,), for the parameter ``debias``.

        Raises DataError for shapes, types, labels or queries that do not fit, and for more than 500 documents
        without queries (fewer are one query, with a warning); ParameterError.
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
        model = train(
            self._given(), data, valid=valid or None, callbacks=callbacks or (),
            checkpoint=checkpoint, checkpoint_every=checkpoint_every, resume=resume, strict=self._strict(),
        )  # fmt: skip
        return self._fitted(model, data.n_features, data.feature_names)

    def _fitted(self, model: Model, n_features: int, names: Sequence[str] | None) -> Ranker:
        self.model_ = model
        self.n_features_in_ = n_features
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.evals_result_ = self.model_.evals_result
        self.best_iteration_ = self.model_.best_round or self.model_.n_trees
        return self

    def predict(self, X: Any) -> Floats:
        """Scores (n_docs,) of the documents of X, the higher the better.

        Raises DataError for features that do not fit, scikit-learn's NotFittedError before :meth:`fit`.
        """
        check_is_fitted(self, "model_")
        n_features = _n_columns(X)
        if n_features is not None and n_features != self.n_features_in_ and not _has_names(X):
            raise DataError(
                f"X has {n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return self.model_.predict(X, missing=np.nan if isinstance(X, Dataset) else self.missing)

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
        """The metric of the scores of X.

        y: labels (n_docs,). qid, group, single_query: the queries, as :meth:`fit` takes them.
        sample_weight: (n_docs,). metric: one, as :func:`rankwood.evaluate` takes it.

        Raises DataError, ParameterError, as :meth:`fit`.
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
        """Sums of gains (n_features_in_,), which add up to 1."""
        if not hasattr(self, "model_"):
            raise NotFittedError("this Ranker is not fitted yet: call fit first")
        out = np.zeros(self.n_features_in_, np.float64)
        for use in self.model_._uses():
            out[use.feature] = use.gain
        total = out.sum()
        return out / total if total > 0 else out


def _eval_sets(sets: Any, qids: Any, groups: Any) -> list[tuple[Any, Any, Any, Any]]:
    """X, y, qid and group of each; None for what is not given."""
    if sets is None:
        return []
    sets = list(sets) if isinstance(sets, Iterable) else [sets]
    if not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in sets):
        raise DataError("eval_set is no list of pairs; expected [(X, y), ...]")
    given = {"eval_qid": qids, "eval_group": groups}
    for name, value in given.items():
        if value is not None and (not hasattr(value, "__len__") or len(value) != len(sets)):
            raise DataError(f"{name} is no list of {len(sets)}; expected one for each pair of eval_set")
    out = []
    for i, (X, y) in enumerate(sets):
        qid, group = (None if value is None else value[i] for value in given.values())
        if qid is None and group is None and _columns.QID not in _columns.column_names(X):
            raise DataError(f"eval_set {i} has neither eval_qid nor eval_group, nor a column {_columns.QID!r}")
        out.append((X, y, qid, group))
    return out


def _of_sets(name: str, given: Any, n: int) -> list[Any]:
    """One of each pair of eval_set; None for what is not given."""
    if given is None:
        return [None] * n
    if not hasattr(given, "__len__") or len(given) != n:
        raise DataError(f"{name} is no list of {n}; expected one for each pair of eval_set")
    return list(given)


def _group_of(
    method: str, X: Any, qid: Any, group: Any, single_query: bool, features: Sequence[str] | None = None
) -> Any:
    """group, or the size of the single query. features: of a fitted model."""
    has_column = _columns.QID in _columns.column_names(X) and _columns.QID not in (features or ())
    if qid is not None or group is not None or has_column:
        if not single_query:
            return group
        given = "qid" if qid is not None else "group" if group is not None else f"a column {_columns.QID!r}"
        raise DataError(f"single_query=True and {given} are given; expected one of them")
    n_docs = _rows(X)
    if single_query:
        return [n_docs]
    how = (
        "pass qid (the query of each document) or group (the size of each query), or give X a column 'qid'; "
        "single_query=True states that all documents are one query"
    )
    if n_docs > MOST_IN_DOUBT:
        raise DataError(
            f"{method}() has {n_docs} documents and no query ids\nhint: {how}\n"
            "hint: searches and cross-validation of scikit-learn pass qid on after "
            f"sklearn.set_config(enable_metadata_routing=True), to estimators with .set_{method}_request(qid=True)"
        )
    warnings.warn(f"{method}() has no query ids, so all {n_docs} documents are one query\nhint: {how}", stacklevel=3)
    return [n_docs]


def _qid_of(X: Any, qid: Any, group: Any, features: Sequence[str] | None = None) -> Any:
    """qid, or the values of the column of query ids."""
    names = _columns.column_names(X)
    if _columns.QID in (features or ()) or _columns.query_column(names, qid, group, ()) is qid:
        return qid
    return _tables.of_any(X, {_columns.QID}).take(_columns.QID).vector("qid")


def _measured(scores: Any, y: Any, qid: Any, group: Any, sample_weight: Any, metric: str) -> float:
    """A metric of scores; features are not needed for it."""
    nothing = np.zeros((len(scores), 1), np.float32)
    data = Dataset(nothing, y, qid=qid, group=group, weight=sample_weight, sort=group is None)
    values = list(evaluate(data, scores, metric).values())
    if len(values) != 1:
        raise ParameterError(f"metric is {metric!r}; expected one")
    return values[0]


def _rows(X: Any) -> int:
    """Documents of any kind of table."""
    if hasattr(X, "shape"):
        return int(X.shape[0]) if len(X.shape) else 0
    return _tables.of_any(X).n_rows


def _n_columns(X: Any) -> int | None:
    """Features of an array; None: it has not two dimensions."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


def _has_names(X: Any) -> bool:
    return hasattr(X, "columns")


def scorer(metric: str = "ndcg@10") -> Callable[..., float]:
    """A scorer for cross_val_score and GridSearchCV, with qid by metadata routing::

        sklearn.set_config(enable_metadata_routing=True)
        ranker = rankwood.Ranker().set_fit_request(qid=True)
        search = GridSearchCV(ranker, {"leaves": [7, 31]}, scoring=rankwood.scorer(), cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid)  # qid for ranker and scorer, groups for the folds

    It calls the estimator's ``predict`` and measures the scores by query, so that it serves pipelines, searches in
    searches and the rankers of other libraries, too. A column "qid" of a frame X is the qid if none comes.

    metric: as :func:`rankwood.evaluate` takes it; rmse and logloss are negated, for scikit-learn prefers larger
    scores. When it scores it raises ParameterError for a metric that there is not, and DataError without a qid.
    """
    return _Scorer(metric)


Ranker.__signature__ = inspect.signature(Ranker.__init__).replace(
    parameters=list(inspect.signature(Ranker.__init__).parameters.values())[1:]
)


class _Scorer(BaseEstimator):
    """Scores an estimator by a metric of rankings, and asks for the qid of each document."""

    __metadata_request__score = {"qid": True}  # noqa: RUF012 (scikit-learn's own convention)

    def __init__(self, metric: str = "ndcg@10") -> None:
        self.metric = metric

    def score(self, X: Any, y: Any, *, qid: Any = None) -> None:
        """Not called: scikit-learn takes what may be asked for from it."""

    def __call__(self, estimator: Any, X: Any, y: Any, *, qid: Any = None) -> float:
        if qid is None:
            qid = _qid_of(X, None, None)
        if qid is None:
            raise DataError(
                "the scorer has no query ids\nhint: sklearn.set_config(enable_metadata_routing=True) passes those of "
                "search.fit(X, y, qid=qid) or cross_val_score(..., params={'qid': qid}) on to it; or give X a "
                "column 'qid'"
            )
        value = _measured(estimator.predict(X), y, qid, None, None, self.metric)
        return -value if self.metric.partition("@")[0].lower() in LOWER_IS_BETTER else value


__all__ = ["Model", "Ranker", "scorer"]
