"""XGBoost's scikit-learn estimator for rankers."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from rankwood._core import RankwoodError
from rankwood.compat._xgboost_booster import Booster
from rankwood.compat._xgboost_data import DMatrix
from rankwood.compat._xgboost_params import by_position
from rankwood.compat._xgboost_train import train

_OF_ESTIMATOR = {
    "n_estimators", "missing", "callbacks", "early_stopping_rounds", "feature_types",
    "enable_categorical", "importance_type", "eval_metric",
}  # fmt: skip


class XGBRanker(BaseEstimator):  # type: ignore[misc]
    """Ranker with the interface, defaults and meaning of XGBoost's estimator.

    Parameters
    ----------
    objective : str, default "rank:ndcg"
        ``"rank:ndcg"``, ``"rank:pairwise"`` or ``"rank:map"``.
    n_estimators : int or None, default None
        Number of rounds; None is 100.
    early_stopping_rounds : int or None, default None
        Rounds without improvement of the last metric of the last set, after which training ends.
    eval_metric : str, callable, list or None, default None
        Metrics; a function f(y_true, y_score) of one query is averaged over the queries.
    missing : float, default NaN
        Value that means missing.
    callbacks : list or None, default None
        Callbacks.
    importance_type : str or None, default None
        Kind of ``feature_importances_``; None is ``"gain"``.
    enable_categorical, feature_types : optional
        As in :class:`DMatrix`.
    **kwargs
        Parameters of XGBoost, such as ``max_depth`` and ``lambdarank_num_pair_per_sample``. None is XGBoost's default.

    Examples
    --------
    >>> ranker = xgb.XGBRanker(n_estimators=5).fit(X, y, qid=qid)
    >>> ranker.predict(X).shape == y.shape
    True
    """

    _estimator_type = "ranker"

    @by_position
    def __init__(
        self, *, objective: Any = "rank:ndcg", max_depth: Any = None, max_leaves: Any = None, max_bin: Any = None,
        grow_policy: Any = None, learning_rate: Any = None, n_estimators: Any = None, verbosity: Any = None,
        booster: Any = None, tree_method: Any = None, n_jobs: Any = None, gamma: Any = None,
        min_child_weight: Any = None, max_delta_step: Any = None, subsample: Any = None, sampling_method: Any = None,
        colsample_bytree: Any = None, colsample_bylevel: Any = None, colsample_bynode: Any = None,
        reg_alpha: Any = None, reg_lambda: Any = None, scale_pos_weight: Any = None, base_score: Any = None,
        random_state: Any = None, missing: float = np.nan, num_parallel_tree: Any = None,
        monotone_constraints: Any = None, interaction_constraints: Any = None, importance_type: Any = None,
        device: Any = None, validate_parameters: Any = None, enable_categorical: bool = True,
        feature_types: Any = None, feature_weights: Any = None, max_cat_to_onehot: Any = None,
        max_cat_threshold: Any = None, multi_strategy: Any = None, eval_metric: Any = None,
        early_stopping_rounds: Any = None, callbacks: Any = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = {name: value for name, value in locals().items() if name not in ("self", "kwargs", "__class__")}
        if callable(objective) or "rank:" not in str(objective):
            raise ValueError(f"objective is {objective!r}; expected rank:ndcg, rank:pairwise or rank:map")
        self.__dict__.update(given)
        self.kwargs = kwargs

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Returns the names of the arguments of all constructors. scikit-learn's method refuses **kwargs."""
        of = [inspect.signature(kind.__init__).parameters for kind in cls.__mro__ if issubclass(kind, XGBRanker)]
        return sorted({name for one in of for name in one} - {"self", "kwargs"})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters by name."""
        return {**super().get_params(deep), **self.kwargs}

    def set_params(self, **params: Any) -> XGBRanker:
        """Set parameters by name; unknown ones are for XGBoost's engine."""
        for name, value in params.items():
            if name in self._get_param_names():
                setattr(self, name, value)
            else:
                self.kwargs[name] = value
        return self

    def get_xgb_params(self) -> dict[str, Any]:
        """Return the parameters of ``train``."""
        out = {name: value for name, value in self.get_params().items() if name not in _OF_ESTIMATOR}
        if isinstance(out["random_state"], np.random.RandomState):
            out["random_state"] = out["random_state"].randint(2**31 - 1)
        elif isinstance(out["random_state"], np.random.Generator):
            out["random_state"] = int(out["random_state"].integers(2**31 - 1))
        return out

    def get_num_boosting_rounds(self) -> int:
        """Return the number of rounds."""
        return 100 if self.n_estimators is None else int(self.n_estimators)

    def _more_tags(self) -> dict[str, bool]:
        return {"allow_nan": True, "no_validation": True, "sparse": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.no_validation, tags.non_deterministic = "ranker", True, False
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.categorical = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_Booster")

    def _get_type(self) -> str:
        return "ranker"

    def _matrix(self, X: Any, y: Any, qid: Any = None, group: Any = None, **info: Any) -> DMatrix:
        X, qid = _with_qid(X, qid)
        if qid is None and group is None:
            raise ValueError("Either `group` or `qid` is required for ranking, or a column 'qid' in X")
        return self._features(X, label=y, qid=qid, group=group, **info)

    def _features(self, X: Any, **info: Any) -> DMatrix:
        return DMatrix(X, missing=self.missing, feature_types=self.feature_types,
                       enable_categorical=self.enable_categorical, **info)  # fmt: skip

    @by_position
    def fit(
        self, X: Any, y: Any, *, group: Any = None, qid: Any = None, sample_weight: Any = None, base_margin: Any = None,
        eval_set: Any = None, eval_group: Any = None, eval_qid: Any = None, verbose: bool | int | None = False,
        xgb_model: Any = None, sample_weight_eval_set: Any = None, base_margin_eval_set: Any = None,
    ) -> XGBRanker:  # fmt: skip
        """Train on documents ``X`` with labels ``y``.

        Queries are ``group`` (numbers of documents), ``qid`` (query of each document), or a column ``"qid"`` of a data
        frame. ``sample_weight`` has a weight per query. ``eval_set`` is a list of (X, y) to measure after each round,
        with a list entry per set in ``eval_group``, ``eval_qid``, ``sample_weight_eval_set`` and
        ``base_margin_eval_set``. ``verbose`` prints the metrics. ``xgb_model`` is a model to continue from.
        """
        matrix = self._matrix(X, y, qid, group, weight=sample_weight, base_margin=base_margin)
        pairs = list(eval_set or ())
        more = {"group": eval_group, "qid": eval_qid, "weight": sample_weight_eval_set,
                "base_margin": base_margin_eval_set}  # fmt: skip
        for name, given in more.items():
            if given is not None and len(given) != len(pairs):
                raise ValueError(f"the argument for {name} of eval_set has {len(given)} entries; expected {len(pairs)}")
        evals = []
        for i, (X_valid, y_valid) in enumerate(pairs):
            own = {name: None if given is None else given[i] for name, given in more.items()}
            is_train = X_valid is X and y_valid is y and all(
                own[name] is one for name, one in
                {"group": group, "qid": qid, "weight": sample_weight, "base_margin": base_margin}.items()
            )
            evals.append((matrix if is_train else self._matrix(X_valid, y_valid, **own), f"validation_{i}"))
        params, metrics = self.get_xgb_params(), self.eval_metric
        metrics = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics or ())
        functions = [one for one in metrics if callable(one)]
        if len(functions) > 1:
            raise NotImplementedError(f"eval_metric has {len(functions)} functions; expected one")
        params["eval_metric"] = [one for one in metrics if not callable(one)] or None
        result: dict[str, Any] = {}
        self._Booster = train(
            params, matrix, self.get_num_boosting_rounds(), evals=evals, evals_result=result, verbose_eval=verbose,
            early_stopping_rounds=self.early_stopping_rounds, callbacks=self.callbacks,
            xgb_model=xgb_model.get_booster() if isinstance(xgb_model, XGBRanker) else xgb_model,
            custom_metric=_of_queries(functions[0]) if functions else None,
        )  # fmt: skip
        self.evals_result_ = result or None
        return self

    def get_booster(self) -> Booster:
        """Return the trained booster."""
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("need to call fit or load_model beforehand")
        return self._Booster

    def _rounds(self, given: Any) -> tuple[int, int]:
        if given is not None and given[1]:
            return given[0], given[1]
        best = self.get_booster().attr("best_iteration")
        return 0, 0 if best is None else int(best) + 1

    @by_position
    def predict(self, X: Any, *, output_margin: bool = False, validate_features: bool = True, base_margin: Any = None,
                iteration_range: Any = None) -> Any:  # fmt: skip
        """Return scores, float32 of shape (n_docs,), by the rounds up to the best one of early stopping."""
        data = self._features(_with_qid(X, None)[0], base_margin=base_margin)
        return self.get_booster().predict(data, iteration_range=self._rounds(iteration_range))

    def apply(self, X: Any, iteration_range: Any = None) -> Any:
        """Return the leaf of each document in each tree, of shape (n_docs, n_trees)."""
        data = self._features(_with_qid(X, None)[0])
        return self.get_booster().predict(data, pred_leaf=True, iteration_range=self._rounds(iteration_range))

    def score(self, X: Any, y: Any) -> float:
        """Return the last metric on a data frame with a column ``"qid"``."""
        X, qid = _with_qid(X, None)
        if qid is None:
            raise ValueError("score needs a column 'qid' in X")
        data, booster = self._features(X, label=y, qid=qid), self.get_booster()
        feval = _of_queries(self.eval_metric) if callable(self.eval_metric) else None
        return float(booster.eval_set([(data, "eval")], feval=feval).rpartition(":")[2])

    def evals_result(self) -> dict[str, Any]:
        """Return the values of each round, by set and metric."""
        if getattr(self, "evals_result_", None) is None:
            raise RankwoodError("no evaluation result: fit had no eval_set")
        return self.evals_result_  # type: ignore[return-value]

    def save_model(self, fname: Any) -> None:
        """Write the model in XGBoost's format, as ``Booster.save_model``."""
        booster = self.get_booster().copy()
        booster.set_attr(scikit_learn='{"_estimator_type": "ranker"}')
        booster.save_model(fname)

    def load_model(self, fname: Any) -> None:
        """Read a model of XGBoost's format."""
        self._Booster = Booster(model_file=fname)

    @property
    def n_features_in_(self) -> int:
        """Number of features."""
        return self.get_booster().num_features()

    @property
    def feature_names_in_(self) -> Any:
        """Names of the features, if the data had names."""
        if self.get_booster().feature_names is None:
            raise AttributeError("feature_names_in_ is defined only for data with names")
        return np.array(self.get_booster().feature_names, dtype=object)

    @property
    def best_score(self) -> float:
        """Value of the best round by early stopping."""
        return self.get_booster().best_score

    @property
    def best_iteration(self) -> int:
        """Best round by early stopping, from 0."""
        return self.get_booster().best_iteration

    @property
    def feature_importances_(self) -> Any:
        """Importance of each feature, normalised to 1, float32 of shape (n_features,)."""
        booster = self.get_booster()
        found = booster.get_score(importance_type=self.importance_type or "gain")
        names = booster.feature_names or [f"f{i}" for i in range(self.n_features_in_)]
        out = np.array([found.get(name, 0.0) for name in names], np.float32)
        return out / out.sum() if out.sum() else out


def _with_qid(X: Any, qid: Any) -> tuple[Any, Any]:
    """Takes the column 'qid' out of a data frame."""
    if not hasattr(X, "columns") or "qid" not in list(X.columns):
        return X, qid
    if qid is not None:
        raise ValueError("X has a column `qid`, and the argument qid is given; expected one of them")
    return X.drop(columns="qid") if hasattr(X, "iloc") else X.drop("qid"), X["qid"]


def _of_queries(metric: Any) -> Any:
    """Returns the mean over queries of f(y_true, y_score), weighted by their numbers of documents as in XGBoost."""

    def mean(scores: Any, data: DMatrix) -> tuple[str, float]:
        label, offset, sizes = data.get_label(), data.get_uint_info("group_ptr"), data.get_group()
        parts = [slice(a, b) for a, b in itertools.pairwise(offset)]
        each = [metric(label[one], scores[one]) if one.stop - one.start > 1 else 1.0 for one in parts]
        return metric.__name__, float(np.average(each, weights=sizes))

    return mean
