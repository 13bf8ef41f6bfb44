"""The scikit-learn estimator of the LightGBM layer."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.class_weight import compute_sample_weight

from rankwood._columns import Floats
from rankwood._core import DataError
from rankwood.compat import _shared
from rankwood.compat import lightgbm as lgb
from rankwood.compat._lightgbm_data import features_of, n_columns
from rankwood.compat._lightgbm_train import MAIN_NAME
from rankwood.migrate import _NAMES


class LGBMRanker(BaseEstimator):  # type: ignore[misc]
    """Ranker with the parameters, methods and attributes of lightgbm.LGBMRanker.

    Parameters
    ----------
    boosting_type, num_leaves, max_depth, learning_rate, n_estimators, subsample_for_bin, objective, class_weight
        As in LightGBM, with its defaults. ``objective`` is ``"lambdarank"`` (None), ``"rank_xendcg"`` or a function of
        (labels, scores), and optionally weights and group sizes, that returns gradient and hessian.
    min_split_gain, min_child_weight, min_child_samples, subsample, subsample_freq, colsample_bytree, reg_alpha
        As in LightGBM, with its defaults.
    reg_lambda, random_state, n_jobs, importance_type
        As in LightGBM, with its defaults. ``n_jobs=None`` uses all processors.
    **kwargs
        Further parameters of LightGBM by any of their names.

    Attributes
    ----------
    booster_ : Booster
        The model.
    best_iteration_ : int
        Best round by early stopping, from 1; 0 without early stopping.
    best_score_, evals_result_ : dict
        Metric values by set and metric: in the best round, and lists over all rounds.
    feature_name_ : list of str
        Names of the features.

    Examples
    --------
    >>> from rankwood.compat.lightgbm import LGBMRanker
    >>> ranker = LGBMRanker(n_estimators=5).fit(X, y, group=np.bincount(qid))
    >>> ranker.predict(X).shape == y.shape
    True
    """

    def __init__(
        self, *, boosting_type: str = "gbdt", num_leaves: int = 31, max_depth: int = -1, learning_rate: float = 0.1,
        n_estimators: int = 100, subsample_for_bin: int = 200000, objective: Any = None, class_weight: Any = None,
        min_split_gain: float = 0.0, min_child_weight: float = 1e-3, min_child_samples: int = 20,
        subsample: float = 1.0, subsample_freq: int = 0, colsample_bytree: float = 1.0, reg_alpha: float = 0.0,
        reg_lambda: float = 0.0, random_state: Any = None, n_jobs: int | None = None, importance_type: str = "split",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals())
        self._others: dict[str, Any] = {}
        self.set_params(**{name: given[name] for name in _own_names(LGBMRanker)}, **kwargs)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted({name for one in cls.__mro__ if issubclass(one, LGBMRanker) for name in _own_names(one)})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters, also those of ``**kwargs``."""
        return {**super().get_params(deep), **self._others}

    def set_params(self, **params: Any) -> LGBMRanker:
        """Set parameters, also those of ``**kwargs``."""
        names = self._get_param_names()
        for name, value in params.items():
            setattr(self, name, value)
            if name not in names:
                self._others[name] = value
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_booster")

    def _params(self, eval_at: Sequence[int], eval_metric: list[Any]) -> dict[str, Any]:
        """Returns LightGBM's parameters. Names of **kwargs replace arguments of fit."""
        params = {name: value for name, value in self.get_params().items() if value is not None}
        of_subclasses = set(self._get_param_names()) - set(_own_names(LGBMRanker)) - _NAMES["LightGBM"]
        for name in ("n_estimators", "class_weight", "importance_type", *of_subclasses):
            params.pop(name, None)
        seed: Any = params.get("random_state")
        if hasattr(seed, "randint"):
            params["random_state"] = int(seed.randint(2**31 - 1))
        elif hasattr(seed, "integers"):
            params["random_state"] = int(seed.integers(2**31 - 1))
        if params.get("n_jobs", 0) < 0:
            params["n_jobs"] = max(1, (os.cpu_count() or 1) + 1 + params["n_jobs"])
        given = {MAIN_NAME.get(name, name): name for name in self._others}
        for name, one in inspect.signature(LGBMRanker.__init__).parameters.items():
            main = MAIN_NAME.get(name, name)
            if main != name and main in given and params.get(name) == one.default:
                del params[name]  # the main name replaces a default
        for main, default in (("eval_at", eval_at), ("objective", self.objective or "lambdarank")):
            if main in given and given[main] != main:
                _shared.warn(f"{given[main]} of the estimator is used as {main}")
                params.pop(main, None)
            else:
                params.setdefault(main, default)
        objective = next(value for name, value in params.items() if MAIN_NAME.get(name) == "objective")
        if callable(objective):
            params = {name: value for name, value in params.items() if MAIN_NAME.get(name) != "objective"}
            params["objective"] = lambda scores, data: _shared.call_sklearn(objective, scores, *_columns_of(data))
        self.objective_ = objective
        own = [params.pop(name) for name in [*params] if MAIN_NAME.get(name) == "metric"]
        metrics = [metric for one in own or ["ndcg"] for metric in ([one] if isinstance(one, str) else one)]
        params["metric"] = [*(metric for metric in eval_metric if isinstance(metric, str)), *metrics]
        return params

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, init_score: Any = None, group: Any = None,
        eval_set: Any = None, eval_names: Any = None, eval_sample_weight: Any = None, eval_init_score: Any = None,
        eval_group: Any = None, eval_metric: Any = None, eval_at: Sequence[int] = (1, 2, 3, 4, 5),
        feature_name: Any = "auto", categorical_feature: Any = "auto",
        callbacks: Iterable[Callable[[Any], Any]] | None = None,
        init_model: str | Path | lgb.Booster | LGBMRanker | None = None, *, eval_X: Any = None, eval_y: Any = None,
    ) -> LGBMRanker:  # fmt: skip
        """Train the model.

        Parameters
        ----------
        X : array, list of lists, sparse matrix, data frame or Arrow table
            Features of shape (n_docs, n_features).
        y : array, shape (n_docs,)
            Labels, 0 to 30.
        sample_weight, init_score : array, shape (n_docs,), or None, default None
            Weights of the documents, and their scores at the start of training.
        group : array
            Number of documents of each query, in order; required.
        eval_set : list of (X, y) or None, default None
            Validation sets; ``eval_X`` and ``eval_y`` are the same as tuples.
        eval_names : list of str or None, default None
            Their names; by default ``"valid_0"`` and so on.
        eval_sample_weight, eval_init_score, eval_group : list of array or None, default None
            One entry per validation set; ``eval_group`` is required with validation sets.
        eval_metric : str, callable or list of these, or None, default None
            Metrics before those of the parameters. A function of (labels, scores), and optionally weights and group
            sizes, returns (name, value, whether higher is better), or a list of these.
        eval_at : list of int, default (1, 2, 3, 4, 5)
            Ranks at which NDCG and MAP are measured.
        feature_name, categorical_feature
            As in :class:`Dataset`.
        callbacks, init_model
            As in :func:`train`.

        Returns
        -------
        LGBMRanker
            The estimator itself.

        Raises
        ------
        DataError
            ``group`` is missing, or shapes do not match.
        ParameterError
            A parameter is invalid.

        Examples
        --------
        >>> from rankwood.compat.lightgbm import LGBMRanker
        >>> sizes, more = np.bincount(qid), np.bincount(qid_valid)
        >>> ranker = LGBMRanker(n_estimators=5)
        >>> _ = ranker.fit(X, y, group=sizes, eval_set=[(X_valid, y_valid)], eval_group=[more], eval_at=[10])
        >>> list(ranker.evals_result_["valid_0"])
        ['ndcg@10']
        """
        if group is None:
            raise DataError("group is missing; expected the number of documents of each query")
        pairs = _pairs(eval_set, eval_X, eval_y)
        if pairs and eval_group is None:
            raise DataError("eval_group is missing; expected the group sizes of each validation set")
        of_sets = {"weight": eval_sample_weight, "init_score": eval_init_score, "group": eval_group}
        for name, given in of_sets.items():
            if given is not None and len(given) != len(pairs):
                raise DataError(f"{len(given)} entries of eval {name} for {len(pairs)} validation sets")
        metrics = eval_metric if isinstance(eval_metric, (list, tuple)) else [eval_metric] if eval_metric else []
        params = self._params(eval_at, list(metrics))
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, _shared.vector(y))
            sample_weight = of_class if sample_weight is None else _shared.vector(sample_weight) * of_class
        common = {"feature_name": feature_name, "categorical_feature": categorical_feature, "params": params}
        data = lgb.Dataset(X, y, weight=sample_weight, group=group, init_score=init_score, **common)
        valid = [
            data if one_x is X and one_y is y else
            lgb.Dataset(one_x, one_y, data, **{name: given and given[i] for name, given in of_sets.items()}, **common)
            for i, (one_x, one_y) in enumerate(pairs)
        ]  # fmt: skip

        def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
            return lambda scores, one: _shared.call_sklearn(function, scores, *_columns_of(one))

        self.evals_result_: dict[str, dict[str, list[float]]] = {}
        self._booster = lgb.train(
            params, data, self.n_estimators, valid, eval_names, [wrapped(one) for one in metrics if callable(one)],
            init_model.booster_ if isinstance(init_model, LGBMRanker) else init_model,
            callbacks=[*(callbacks or ()), lgb.record_evaluation(self.evals_result_)],
        )  # fmt: skip
        self.n_features_in_ = self.n_features_ = self._booster.num_feature()
        self.best_iteration_, self.best_score_ = self._booster.best_iteration, self._booster.best_score
        self.__dict__.pop("feature_names_in_", None)
        if data.handle.feature_names is not None:
            self.feature_names_in_ = np.array(self._booster.feature_name(), dtype=object)
        return self

    def predict(
        self, X: Any, raw_score: bool = False, start_iteration: int = 0, num_iteration: int | None = None,
        pred_leaf: bool = False, pred_contrib: bool = False, validate_features: bool = False, **kwargs: Any,
    ) -> Floats:  # fmt: skip
        """Score documents, as :meth:`Booster.predict` does.

        Returns
        -------
        array of float64, shape (n_docs,)
            Scores; leaves or SHAP values with ``pred_leaf`` or ``pred_contrib``.

        Raises
        ------
        DataError
            The number of features or a name is wrong.
        NotFittedError
            The estimator is not fitted (scikit-learn's exception).

        Examples
        --------
        >>> from rankwood.compat.lightgbm import LGBMRanker
        >>> LGBMRanker(n_estimators=5).fit(X, y, group=np.bincount(qid)).predict(X, pred_leaf=True).shape[1]
        5
        """
        X = features_of(X)
        if (n := n_columns(X)) != self.booster_.num_feature():
            raise DataError(
                f"X has {n} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        return self._booster.predict(  # type: ignore[no-any-return]
            X, start_iteration, num_iteration, raw_score, pred_leaf, pred_contrib, validate_features=validate_features
        )

    @property
    def booster_(self) -> lgb.Booster:
        """The model. NotFittedError before fit."""
        if not hasattr(self, "_booster"):
            raise NotFittedError("this LGBMRanker is not fitted yet: call fit first")
        return self._booster

    @property
    def feature_importances_(self) -> npt.NDArray[Any]:
        """Splits or gains (``importance_type``) of each feature."""
        return self.booster_.feature_importance(self.importance_type)

    @property
    def feature_name_(self) -> list[str]:
        """Names of the features."""
        return self.booster_.feature_name()

    @property
    def n_estimators_(self) -> int:
        """Number of rounds that predictions use."""
        return self.booster_.current_iteration() if self.best_iteration_ <= 0 else self.best_iteration_

    n_iter_ = n_estimators_


def _own_names(kind: type) -> list[str]:
    """Returns the names of the keyword arguments of a class's own __init__."""
    parameters = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return [one.name for one in parameters if one.name != "self" and one.kind != one.VAR_KEYWORD]


def _columns_of(data: lgb.Dataset) -> tuple[Any, Any, Any]:
    return _shared.vector(data.label), _shared.vector(data.weight), _shared.vector(data.group)


def _pairs(eval_set: Any, eval_x: Any, eval_y: Any) -> list[tuple[Any, Any]]:
    """Returns features and labels of each validation set."""
    if eval_x is None and eval_y is None:
        pairs = [] if eval_set is None else [eval_set] if isinstance(eval_set, tuple) else list(eval_set)
        if not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in pairs):
            raise DataError("eval_set is not a list of pairs; expected [(X, y), ...]")
        return [(x, y) for x, y in pairs]
    if eval_set is not None or eval_x is None or eval_y is None:
        raise DataError("expected either eval_set, or both eval_X and eval_y")
    given = [one if isinstance(one, tuple) else (one,) for one in (eval_x, eval_y)]
    if len(given[0]) != len(given[1]):
        raise DataError(f"eval_X has {len(given[0])} sets, and eval_y has {len(given[1])}")
    return list(zip(*given, strict=True))
