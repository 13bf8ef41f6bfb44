"""Booster, train and cv of LightGBM's interface (lightgbm.py)."""

from __future__ import annotations

import copy
import math
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import rankwood
from rankwood._columns import Floats
from rankwood._core import DataError, ParameterError, ParameterTypeError
from rankwood._model import Model
from rankwood.compat import _shared
from rankwood.compat._lightgbm_callbacks import (
    CallbackEnv,
    CVEvalResult,
    EarlyStopException,
    EvalResult,
    ResetParameter,
    early_stopping,
)
from rankwood.compat._lightgbm_data import Dataset, features_of, n_columns

# Parameters that this module reads, or that LGBMRanker and LightGBM call differently: the main name and its aliases.
_ALIASES = {
    "objective": "objective_type app application loss",
    "metric": "metrics metric_types",
    "eval_at": "ndcg_eval_at ndcg_at map_eval_at map_at",
    "num_iterations": "num_iteration n_iter num_tree num_trees num_round num_rounds nrounds num_boost_round "
    "n_estimators max_iter",
    "early_stopping_round": "early_stopping_rounds early_stopping n_iter_no_change",
    "learning_rate": "shrinkage_rate eta",
    "num_leaves": "num_leaf max_leaves max_leaf max_leaf_nodes",
    "num_threads": "num_thread nthread nthreads n_jobs",
    "seed": "random_seed random_state",
    "boosting": "boosting_type boost",
    "device_type": "device",
    "data_sample_strategy": "",
    "tree_learner": "tree tree_type tree_learner_type",
    "min_data_in_leaf": "min_data_per_leaf min_data min_child_samples min_samples_leaf",
    "min_sum_hessian_in_leaf": "min_sum_hessian_per_leaf min_sum_hessian min_hessian min_child_weight",
    "bagging_fraction": "sub_row subsample bagging",
    "bagging_freq": "subsample_freq",
    "feature_fraction": "sub_feature colsample_bytree",
    "lambda_l1": "reg_alpha l1_regularization",
    "lambda_l2": "reg_lambda lambda l2_regularization",
    "min_gain_to_split": "min_split_gain",
    "bin_construct_sample_cnt": "subsample_for_bin",
    "categorical_feature": "cat_feature categorical_column cat_column categorical_features",
    "verbosity": "verbose",
}
MAIN_NAME = {alias: main for main, words in _ALIASES.items() for alias in [main, *words.split()]}

# Parameters that cannot change a ranking model here, or that Python's LightGBM does not use.
_WITHOUT_EFFECT = [
    "boost_from_average", "deterministic", "num_machines", "num_class", "predict_raw_score", "raw_score",
    "pred_early_stop", "pred_early_stop_freq", "pred_early_stop_margin", "predict_disable_shape_check",
    "refit_decay_rate", "output_model", "is_provide_training_metric", "training_metric", "is_training_metric",
    "train_metric",
]  # fmt: skip
_VALUES_OF_DEFAULTS = {
    "bin_construct_sample_cnt": 200000, "data_sample_strategy": "bagging", "tree_learner": "serial",
    "monotone_constraints_method": "basic", "cat_smooth": 10, "cat_l2": 10, "max_cat_threshold": 32,
    "max_cat_to_onehot": 4, "min_data_per_group": 100, "min_data_in_bin": 3,
}  # fmt: skip
# LightGBM's defaults in our words. Growth, bins and truncation have equal defaults.
_DEFAULTS: dict[str, Any] = {
    "rate": 0.1, "leaves": 31, "min_docs": 20, "min_hessian": 1e-3, "split": "newton", "l2": 0, "sample_features": 1,
    "gain_noise": 0, "seed": 0,
}  # fmt: skip
_METRICS = {
    "ndcg": "ndcg lambdarank rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart",
    "map": "map mean_average_precision",
    "l1": "l1 mae mean_absolute_error regression_l1",
    "l2": "l2 mse mean_squared_error regression regression_l2",
    "rmse": "rmse root_mean_squared_error l2_root",
    "auc": "auc",
    "": "none na null custom",
}
_METRIC_OF = {word: metric for metric, words in _METRICS.items() for word in words.split()}


def resolve(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns parameters by their main names. A main name has precedence over its aliases, as in LightGBM."""
    given = {name: value for name, value in (params or {}).items() if value is not None}
    out: dict[str, Any] = {}
    for name in sorted(given, key=lambda name: MAIN_NAME.get(name, name) != name):
        main = MAIN_NAME.get(name, name)
        if main in out and not _are_equal(out[main], given[name]):
            _shared.warn(f"{name}={given[name]!r} has no effect, because {main} is {out[main]!r}")
        out.setdefault(main, given[name])
    return out


def _are_equal(a: Any, b: Any) -> bool:
    return a is b or (type(a) in (int, float, str, bool) and a == b)


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [word for word in value.split(",") if word.strip()]
    return list(value) if isinstance(value, Iterable) else [value]


class _Settings:
    """One training's parameters in LightGBM's and in our words."""

    def __init__(self, params: Mapping[str, Any] | None, rounds: int = 100) -> None:
        self.params = dict(params or {})  # as they were given
        self.given = given = resolve(params)
        rest = dict(given)
        self.rounds = int(rest.pop("num_iterations", rounds))
        if self.rounds <= 0:
            raise ParameterError(f"num_boost_round is {self.rounds}; expected 1 or more")
        self.stop_after = rest.pop("early_stopping_round", 0)
        self.min_delta = rest.pop("early_stopping_min_delta", 0.0)
        self.first_metric_only = bool(rest.pop("first_metric_only", False))
        self.is_verbose = int(rest.pop("verbosity", 1)) > 0
        self.objective = rest.pop("objective", None)
        self.l2 = float(rest.pop("lambda_l2", 0))
        self.position_l2 = float(rest.pop("lambdarank_position_bias_regularization", 0))
        self.metrics = self._metrics(rest.pop("metric", None), rest.pop("eval_at", (1, 2, 3, 4, 5)))
        for name in ("categorical_feature", "zero_as_missing"):  # Dataset reads them
            rest.pop(name, None)
        if int(rest.get("num_threads", 1)) <= 0:
            del rest["num_threads"]
        self.ours, self.notes = self._converted(rest)

    def _metrics(self, given: Any, eval_at: Any) -> list[str]:
        """Returns names such as ndcg@5 and l2, in the order of LightGBM's results."""
        words = [str(word).strip().lower() for word in _listed(given if given is not None else "")]
        if not words:
            words = ["none" if callable(self.objective) else "ndcg"]
        at = [int(k) for k in _listed(eval_at)]
        if not at or min(at) < 1:
            raise ParameterError(f"eval_at is {eval_at!r}; expected ranks of 1 or more")
        out: dict[str, None] = {}
        for word in words:
            if word not in _METRIC_OF:
                raise ParameterError(f"unknown metric {word!r}; expected ndcg, map, auc, l1, l2, rmse or None")
            metric = _METRIC_OF[word]
            out.update(dict.fromkeys([f"{metric}@{k}" for k in at] if metric in ("ndcg", "map") else [metric]))
        out.pop("", None)
        return list(out)

    def _converted(self, rest: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        rest = {
            name: value for name, value in rest.items()
            if name not in _WITHOUT_EFFECT and not _are_equal(_VALUES_OF_DEFAULTS.get(name), value)
        }  # fmt: skip
        if not callable(self.objective):
            if self.objective is None:
                raise ParameterError("objective is missing; expected 'lambdarank' or 'rank_xendcg'")
            rest["objective"] = self.objective
        ours, notes = rankwood.from_lightgbm(rest)
        if callable(self.objective):
            ours["objective"] = self.objective
        elif ours.get("objective") not in ("lambdarank", "xendcg"):
            raise ParameterError(f"objective is {self.objective!r}; expected 'lambdarank', 'rank_xendcg' or a function")
        for note in notes:
            if re.match(r"\w+: left out: .*(expected|is not a list)", note):
                raise ParameterError(note.replace(" left out:", ""))
        told = r"(?!\w*seed:)\w+: (no counterpart|left out: (?!without)|not a param|features outside|each tree draws)"
        return {**_DEFAULTS, **ours, "rounds": self.rounds}, [note for note in notes if re.match(told, note)]

    def for_data(self, train_set: Dataset, init: Model | None, tells: bool = True) -> dict[str, Any]:
        """Returns our parameters for a training set, after one warning for everything that differs if `tells`."""
        ours, notes, data = dict(self.ours), list(self.notes), train_set.handle  # reads a file's side columns
        if callable(self.objective):
            ours["objective"] = lambda scores, _: self.objective(scores, train_set)
        if train_set.position is not None:
            ours.update(debias="additive", position_l2=self.position_l2)
        mean = _shared.mean_hessian(ours, data, init)
        if mean < math.inf:
            # LightGBM estimates the documents of a leaf: its sum of hessians, over the mean hessian of the split node.
            least = ours["min_docs"]
            ours.update(min_docs=max(1, least // 2), min_hessian=max(ours["min_hessian"], least * mean))
        if self.l2 > 0 and mean < math.inf:
            ours.update(l2=self.l2 / mean, split_l2=self.l2 / mean)
            notes.append(
                f"lambda_l2: LightGBM adds {self.l2:g} to each sum of hessians; here l2 and split_l2 add "
                f"{self.l2 / mean:.4g} times the tree's mean hessian, which is {mean:.4g} in the first tree"
            )
        if tells:
            _shared.warn_of("LightGBM", notes)
        return ours

    def measure(self, scores: Floats, data: Dataset, feval: Any = None) -> list[_shared.Value]:
        """Returns the metrics as LightGBM defines them, then those of functions."""
        ranking = [name for name in self.metrics if "@" in name]
        how = {"label_gain": self.ours["label_gain"]} if "label_gain" in self.ours else {}
        found = rankwood.evaluate(data.handle, scores, ranking, like="lightgbm", **how) if ranking else {}
        out = []
        for name in self.metrics:
            value = found[name] if name in ranking else _pointwise(name, scores, data)
            out.append(_shared.Value(name, value, name.partition("@")[0] in ("ndcg", "map", "auc")))
        for function in feval if isinstance(feval, (list, tuple)) else [] if feval is None else [feval]:
            result = function(scores, data)
            for one in result if isinstance(result, list) else [result]:
                if not isinstance(one, tuple) or len(one) != 3:
                    raise DataError("a function of feval must return (name, value, is_higher_better), or a list of it")
                out.append(_shared.Value(str(one[0]), float(one[1]), bool(one[2])))
        return out


def _pointwise(name: str, scores: Floats, data: Dataset) -> float:
    label, weight = _shared.vector(data.label).astype(np.float64), _shared.vector(data.weight)
    if name == "auc":
        w = np.ones(len(label)) if weight is None else weight
        tie = np.unique(scores, return_inverse=True)[1]
        below = np.bincount(tie, w * (label <= 0))
        over_ties = np.cumsum(below) - below / 2  # half of the equal scores
        up = w * (label > 0)
        total = up.sum() * below.sum()
        return float((up * over_ties[tie]).sum() / total) if total > 0 else 1.0
    error = np.abs(label - scores) if name == "l1" else (label - scores) ** 2
    mean = float(np.average(error, weights=weight))
    return mean**0.5 if name == "rmse" else mean


class Booster:
    """A model with LightGBM's methods. :attr:`model` is the rankwood.Model.

    Parameters
    ----------
    params : dict or None, default None
        Parameters of training, for :meth:`update` and :meth:`eval`.
    train_set : Dataset or None, default None
        Training set of :meth:`update`.
    model_file : str, path or None, default None
        File in LightGBM's text format or in Rankwood's.
    model_str : str or None, default None
        Content of such a file.

    Attributes
    ----------
    best_iteration : int
        Best round by early stopping, from 1; otherwise 0 after training, and -1 for a model from a file.
    best_score : dict
        Metric values by set and metric, in the best round or the last one.

    Examples
    --------
    >>> import rankwood.compat.lightgbm as lgb
    >>> booster = lgb.train({"objective": "lambdarank"}, lgb.Dataset(X, y, group=np.bincount(qid)), 5)
    >>> lgb.Booster(model_str=booster.model_to_string()).num_trees()
    5
    """

    def __init__(
        self,
        params: Mapping[str, Any] | None = None,
        train_set: Dataset | None = None,
        model_file: str | Path | None = None,
        model_str: str | None = None,
    ) -> None:
        self.params = dict(params or {})
        self.best_iteration = -1
        self.best_score: dict[str, dict[str, float]] = {}
        self._train_data_name = "training"
        self._train_set = train_set
        self._valid: dict[str, Dataset] = {}
        self._model: Model | None = None
        self._names: list[str] = []
        self._ours: dict[str, Any] | None = None  # our parameters of `update`
        if model_file is not None:
            model_str = Path(model_file).read_text(encoding="utf-8")
        if model_str is not None:
            self.model_from_string(model_str)
        elif train_set is None:
            raise ParameterTypeError("a Booster needs train_set, model_file or model_str")

    @property
    def model(self) -> Model:
        """The rankwood.Model with all rounds."""
        if self._model is None:
            raise DataError("the Booster has no trees yet")
        return self._model

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_train_set": None, "_valid": {}, "_ours": None}

    def __deepcopy__(self, _memo: Any) -> Booster:
        other = copy.copy(self)
        other.params, other.best_score = dict(self.params), dict(self.best_score)
        return other

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"Booster has no {name!r} in rankwood.compat; Booster.model is the rankwood.Model")

    # ---- training ----

    def _set_model(self, model: Model, train_set: Dataset) -> None:
        self._model, self._names = model, train_set.get_feature_name()

    def add_valid(self, data: Dataset, name: str) -> Booster:
        """Add a validation set for :meth:`eval_valid`."""
        self._valid[name] = data
        return self

    def update(self, train_set: Dataset | None = None, fobj: Callable[..., Any] | None = None) -> bool:
        """Train one more round. Each round scores the training set with the whole model; `train` is faster."""
        data = train_set or self._train_set
        if data is None:
            raise DataError("the Booster has no training set")
        settings = _Settings({**resolve(self.params), "num_iterations": 1, **({"objective": fobj} if fobj else {})})
        if self._ours is None or train_set is not None or fobj is not None:
            self._ours = settings.for_data(data, self._model)  # the first tree's hessians apply to all rounds
        model = _shared.boost(self._ours, data.handle, {}, lambda *_: [], lambda *_: False, init=self._model)
        self._set_model(model, data)
        return False

    def eval(self, data: Dataset, name: str, feval: Any = None) -> list[EvalResult]:
        """Measure the model on a data set: (name, metric, value, whether higher is better) of each metric."""
        scores = self.model.predict(data.handle)
        start = _shared.vector(data.init_score)
        values = _Settings(self.params).measure(scores if start is None else scores + start, data, feval)
        return [EvalResult(name, *one) for one in values]

    def eval_train(self, feval: Any = None) -> list[EvalResult]:
        """Measure the model on its training set."""
        if self._train_set is None:
            raise DataError("the Booster has no training set; train(..., keep_training_booster=True) keeps it")
        return self.eval(self._train_set, self._train_data_name, feval)

    def eval_valid(self, feval: Any = None) -> list[EvalResult]:
        """Measure the model on its validation sets."""
        return [one for name, data in self._valid.items() for one in self.eval(data, name, feval)]

    def free_dataset(self) -> Booster:
        """Forget the data sets."""
        self._train_set, self._valid = None, {}
        return self

    # ---- prediction ----

    def _rounds(self, num_iteration: int | None, start_iteration: int = 0) -> Model:
        """Returns the model of some rounds."""
        if num_iteration is None:
            num_iteration = self.best_iteration
        n, start = self.model.n_trees, max(start_iteration, 0)
        stop = start + num_iteration if num_iteration > 0 else n
        return self.model if start == 0 and stop >= n else self.model[start:stop]

    def predict(
        self,
        data: Any,
        start_iteration: int = 0,
        num_iteration: int | None = None,
        raw_score: bool = False,
        pred_leaf: bool = False,
        pred_contrib: bool = False,
        data_has_header: bool = False,
        validate_features: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Score documents.

        Parameters
        ----------
        data : array, sparse matrix, data frame, Arrow table, str or path
            Features of shape (n_docs, n_features), by position; columns of a frame that has all names of the model are
            found by name.
        start_iteration : int, default 0
            First round to use.
        num_iteration : int or None, default None
            Number of rounds to use; None: up to the best one; 0 or less: all.
        raw_score : bool, default False
            Without effect: scores of ranking models are always raw.
        pred_leaf : bool, default False
            Return the leaf of each document in each tree, int32 of shape (n_docs, n_trees).
        pred_contrib : bool, default False
            Return SHAP values of shape (n_docs, n_features + 1); the last column is the base value. Sparse data gives a
            sparse matrix.
        data_has_header : bool, default False
            Not supported: files have no header.
        validate_features : bool, default False
            Raise an error if a frame's columns are not those of training, in this order.
        **kwargs
            LightGBM's parameters of prediction; they cannot change a result here.

        Returns
        -------
        array of float64, shape (n_docs,)
            Scores, or what ``pred_leaf`` and ``pred_contrib`` describe.

        Raises
        ------
        DataError
            The number of features or a name is wrong.

        Examples
        --------
        >>> import rankwood.compat.lightgbm as lgb
        >>> booster = lgb.train({"objective": "lambdarank"}, lgb.Dataset(X, y, group=np.bincount(qid)), 5)
        >>> booster.predict(X, num_iteration=2).shape == y.shape
        True
        """
        model = self._rounds(num_iteration, start_iteration)
        data = self._columns(features_of(data), validate_features)
        if pred_leaf:
            return model.leaves(data)
        if not pred_contrib:
            return model.predict(data)
        out = _shared.contributions(model, rankwood.Dataset(data), len(self._names))
        return type(data)(out) if hasattr(data, "tocsr") else out

    def _columns(self, data: Any, validate: bool) -> Any:
        if (n := n_columns(data)) != len(self._names):
            raise DataError(f"data has {n} features; the model has {len(self._names)}")
        names = [str(name) for name in getattr(data, "column_names", getattr(data, "columns", []))]
        if not names or names == self._names:
            return data
        if validate:
            i = next(i for i, name in enumerate(names) if name != self._names[i])
            raise DataError(f"column {i} (from 0) is {names[i]!r}; the model expects {self._names[i]!r}")
        if self.model.feature_names is None or set(names) == set(self._names):
            return data
        if hasattr(data, "set_axis"):
            return data.set_axis(self._names, axis=1)
        renamed = self._names if hasattr(data, "column_names") else dict(zip(names, self._names, strict=True))
        return data.rename_columns(renamed) if hasattr(data, "rename_columns") else data.rename(renamed)

    # ---- files ----

    def model_to_string(
        self, num_iteration: int | None = None, start_iteration: int = 0, importance_type: str = "split"
    ) -> str:
        """Return the model in LightGBM's text format; the rounds are those of :meth:`predict`."""
        return _shared.exported(self._rounds(num_iteration, start_iteration), "lightgbm").decode()

    def save_model(
        self,
        filename: str | Path,
        num_iteration: int | None = None,
        start_iteration: int = 0,
        importance_type: str = "split",
    ) -> Booster:
        """Write the model in LightGBM's text format, which LightGBM can read."""
        self._rounds(num_iteration, start_iteration).export(filename, "lightgbm", feature_base=0)
        return self

    def model_from_string(self, model_str: str) -> Booster:
        """Replace the model by one in LightGBM's text format or in Rankwood's."""
        data = model_str.encode()
        is_theirs = model_str.startswith("tree")
        self._model = _shared.imported(data, "lightgbm") if is_theirs else Model.from_bytes(data)
        names = re.search(r"^feature_names=(.*)$", model_str if is_theirs else self.model_to_string(0), re.MULTILINE)
        self._names = names[1].split() if names else []
        return self

    # ---- properties ----

    def num_trees(self) -> int:
        """Return the number of trees."""
        return self._model.n_trees if self._model else 0

    current_iteration = num_trees

    def num_model_per_iteration(self) -> int:
        """Return 1, the number of trees per round."""
        return 1

    def num_feature(self) -> int:
        """Return the number of features."""
        return len(self._names)

    def feature_name(self) -> list[str]:
        """Return the names of the features."""
        return list(self._names)

    def feature_importance(self, importance_type: str = "split", iteration: int | None = None) -> npt.NDArray[Any]:
        """Return the number of splits (int32) or the total gain (float64, `importance_type="gain"`) of each feature."""
        if importance_type not in ("split", "gain"):
            raise ParameterError(f"importance_type is {importance_type!r}; expected 'split' or 'gain'")
        out = np.zeros(len(self._names), np.int32 if importance_type == "split" else np.float64)
        for use in self._rounds(iteration)._uses():
            out[use.feature] = use.n_splits if importance_type == "split" else use.gain
        return out


class _Run:
    """One training: a Booster, its sets by name and the callbacks."""

    def __init__(
        self, settings: _Settings, train_set: Dataset, sets: dict[str, Dataset], feval: Any, init: Any
    ) -> None:
        self.settings, self.train_set, self.sets, self.feval = settings, train_set, sets, feval
        self.booster = Booster(settings.params, train_set)
        self.init: Model | None = None
        if init is not None:
            self.init = (init if isinstance(init, Booster) else Booster(model_file=init)).model
        self.begin = self.init.n_trees if self.init else 0

    def train(self, ours: dict[str, Any], after: Callable[[int, list[EvalResult]], bool]) -> None:
        """Trains the booster; `after` is called with the round, from 0 with the model to continue, and the values."""
        of_handle = {id(one.handle): one for one in self.sets.values()}

        def measure(scores: Floats, handle: Any) -> list[_shared.Value]:
            return self.settings.measure(scores, of_handle[id(handle)], self.feval)

        def done(number: int, values: Mapping[str, Sequence[_shared.Value]]) -> bool:
            results = [EvalResult(name, *one) for name, found in values.items() for one in found]
            return after(self.begin + number, results)

        handles = {name: one.handle for name, one in self.sets.items()}
        model = _shared.boost(ours, self.train_set.handle, handles, measure, done, init=self.init)
        self.booster._set_model(model, self.train_set)
        self.booster.best_iteration = max(self.booster.best_iteration, 0)


class _Calls:
    """The callbacks of `train` or `cv`, in their order."""

    def __init__(self, given: Iterable[Any] | None, settings: _Settings, booster: Any, begin: int) -> None:
        callbacks = list(given or ())
        self.settings, self.booster, self.begin = settings, booster, begin
        resets = [one for one in callbacks if isinstance(one, ResetParameter)]
        for reset in resets:
            rates = reset.rates(settings.rounds)
            settings.ours["rate"] = [*rates[:1] * begin, *rates]  # those of the model to continue are not used
        if settings.stop_after:
            stop = settings.stop_after, settings.first_metric_only, settings.is_verbose, settings.min_delta
            callbacks.append(early_stopping(*stop))
        order = [getattr(one, "order", i - len(callbacks)) for i, one in enumerate(callbacks)]
        ordered = [callbacks[i] for i in np.argsort(order, kind="stable") if callbacks[i] not in resets]
        self.before = [one for one in ordered if getattr(one, "before_iteration", False)]
        self.after = [one for one in ordered if one not in self.before]
        self.call(self.before, begin, None)
        self.results: Any = []

    def call(self, callbacks: list[Any], number: int, results: Any) -> None:
        end = self.begin + self.settings.rounds
        env = CallbackEnv(self.booster, self.settings.params, number, self.begin, end, results)
        for callback in callbacks:
            callback(env)

    def done(self, number: int, results: Any) -> bool:
        """Called after each round; True ends training."""
        self.results = results
        try:
            self.call(self.after, number, results)
        except EarlyStopException as stop:
            self.booster.best_iteration, self.results = stop.best_iteration + 1, stop.best_score
            return True
        if number + 1 < self.begin + self.settings.rounds:
            self.call(self.before, number + 1, None)
        return False


def train(
    params: Mapping[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    valid_sets: Dataset | Sequence[Dataset] | None = None,
    valid_names: str | Sequence[str] | None = None,
    feval: Any = None,
    init_model: str | Path | Booster | None = None,
    keep_training_booster: bool = False,
    callbacks: Iterable[Callable[[Any], Any]] | None = None,
) -> Booster:
    """Train a model, like lightgbm.train.

    Parameters
    ----------
    params : dict
        LightGBM's parameters by any of their names. ``objective`` is ``"lambdarank"``, ``"rank_xendcg"`` or a function
        of (scores, Dataset) that returns gradient and hessian.
    train_set : Dataset
        Documents with labels and groups.
    num_boost_round : int, default 100
        Number of rounds; ``num_iterations`` in ``params`` has precedence.
    valid_sets : list of Dataset or None, default None
        Sets to measure after each round; ``train_set`` may be one of them.
    valid_names : list of str or None, default None
        Their names; by default ``"valid_0"`` and so on, and ``"training"``.
    feval : callable, list of callable or None, default None
        Functions of (scores, Dataset) that return (name, value, whether higher is better), or a list of these.
    init_model : str, path, Booster or None, default None
        Model to continue from.
    keep_training_booster : bool, default False
        Keep the data sets for ``eval_train``, ``eval_valid`` and ``update``.
    callbacks : list of callable or None, default None
        ``early_stopping``, ``log_evaluation``, ``record_evaluation``, ``reset_parameter``, or functions of a
        CallbackEnv.

    Returns
    -------
    Booster
        The model with all rounds that were trained; predictions end at its ``best_iteration``.

    Raises
    ------
    ParameterError
        A parameter is invalid, or the objective is not for ranking.
    DataError
        The data is invalid, or has no groups.

    Warns
    -----
    UserWarning
        Names the parameters that have another strength or no counterpart.

    Examples
    --------
    >>> import rankwood.compat.lightgbm as lgb
    >>> booster = lgb.train({"objective": "lambdarank"}, lgb.Dataset(X, y, group=np.bincount(qid)), 5)
    >>> booster.num_trees()
    5
    """
    settings = _Settings(params, num_boost_round)
    given = [valid_sets] if isinstance(valid_sets, Dataset) else list(valid_sets or ())
    for one in [train_set, *given]:
        if not isinstance(one, Dataset):
            raise ParameterTypeError(f"found a {type(one).__name__}; expected a Dataset of rankwood.compat.lightgbm")
        one.params = {**settings.given, **one.params}
    names = [valid_names] if isinstance(valid_names, str) else list(valid_names or ())
    names += [f"valid_{i}" for i in range(len(names), len(given))]
    named = list(zip(names, given, strict=False))
    if valid_names is None:
        named = [("training" if one is train_set else name, one) for name, one in named]
    named.sort(key=lambda pair: pair[1] is not train_set)
    sets = dict(named)
    if len(sets) < len(named):
        raise ParameterError(f"valid_names has a name twice: {names}")
    run = _Run(settings, train_set, sets, feval, init_model)
    run.booster._train_data_name = next((name for name, one in named if one is train_set), "training")
    run.booster._valid = {name: one for name, one in sets.items() if one is not train_set}
    calls = _Calls(callbacks, settings, run.booster, run.begin)
    run.train(settings.for_data(train_set, run.init), calls.done)
    for one in calls.results:
        run.booster.best_score.setdefault(one[0], {})[one[1]] = one[2]
    return run.booster if keep_training_booster else run.booster.free_dataset()


class CVBooster:
    """Boosters of the folds of :func:`cv`. Other attributes are functions that return one result per booster."""

    def __init__(self) -> None:
        self.boosters: list[Booster] = []
        self.best_iteration = -1

    def __getattr__(self, name: str) -> Callable[..., list[Any]]:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: [getattr(one, name)(*args, **kwargs) for one in self.boosters]


def cv(
    params: Mapping[str, Any],
    train_set: Dataset,
    num_boost_round: int = 100,
    folds: Any = None,
    nfold: int = 5,
    stratified: bool = True,
    shuffle: bool = True,
    metrics: Any = None,
    feval: Any = None,
    init_model: str | Path | Booster | None = None,
    fpreproc: Callable[..., Any] | None = None,
    seed: int = 0,
    callbacks: Iterable[Callable[[Any], Any]] | None = None,
    eval_train_metric: bool = False,
    return_cvbooster: bool = False,
) -> dict[str, Any]:
    """Cross-validate by queries, like lightgbm.cv. All folds train side by side, and stop by the mean over folds.

    Parameters
    ----------
    params, train_set, num_boost_round, feval, init_model, callbacks
        As in :func:`train`.
    folds : splitter, iterable of (train, valid) indices or None, default None
        None: ``nfold`` folds of whole queries, as scikit-learn's GroupKFold makes them.
    nfold : int, default 5
        Number of folds.
    stratified, shuffle, seed
        Without effect, as for LightGBM's ranking: GroupKFold makes the folds.
    metrics : str, list of str or None, default None
        Metrics instead of those of ``params``.
    fpreproc : callable or None, default None
        Function of (train_set, valid_set, params) that returns them, called for each fold.
    eval_train_metric : bool, default False
        Measure the training sets too.
    return_cvbooster : bool, default False
        Add the models as ``"cvbooster"``.

    Returns
    -------
    dict
        ``"valid ndcg@5-mean"`` and ``"valid ndcg@5-stdv"`` and so on: a list with a value per round.

    Raises
    ------
    ParameterError, DataError
        As in :func:`train`.

    Examples
    --------
    >>> import rankwood.compat.lightgbm as lgb
    >>> params = {"objective": "lambdarank", "eval_at": 3}
    >>> list(lgb.cv(params, lgb.Dataset(X, y, group=np.bincount(qid)), 5, nfold=3))
    ['valid ndcg@3-mean', 'valid ndcg@3-stdv']
    """
    if metrics is not None:
        params = {**{name: value for name, value in resolve(params).items() if name != "metric"}, "metric": metrics}
    settings = _Settings(params, num_boost_round)
    train_set.params = {**settings.given, **train_set.params}
    runs: list[_Run] = []
    for fitted, held in _folds(train_set, folds, nfold):
        parts, own = [train_set.subset(fitted), train_set.subset(held)], settings
        if fpreproc is not None:
            *parts, given = fpreproc(*parts, dict(settings.params))
            own = _Settings(given, num_boost_round)
        sets = {"train": parts[0]} if eval_train_metric else {}
        runs.append(_Run(own, parts[0], {**sets, "valid": parts[1]}, feval, init_model))
    boosters = CVBooster()
    boosters.boosters = [run.booster for run in runs]
    calls = _Calls(callbacks, settings, boosters, runs[0].begin)
    history: dict[str, list[float]] = {}

    def done(number: int, of_folds: list[list[EvalResult]]) -> bool:
        results = []
        for folds in zip(*of_folds, strict=True):
            values = [one.metric_value for one in folds]
            mean, stdv = float(np.mean(values)), float(np.std(values))
            results.append(CVEvalResult(folds[0].dataset_name, folds[0].metric_name, mean, folds[0].maximize, stdv))
            name = f"{folds[0].dataset_name} {folds[0].metric_name}"
            history.setdefault(f"{name}-mean", []).append(mean)
            history.setdefault(f"{name}-stdv", []).append(stdv)
        return calls.done(number, results)

    _side_by_side(runs, done)
    if boosters.best_iteration > 0:
        history = {name: values[: boosters.best_iteration] for name, values in history.items()}
        for run in runs:
            run.booster.best_iteration = boosters.best_iteration
    return {**history, **({"cvbooster": boosters} if return_cvbooster else {})}


def _folds(data: Dataset, folds: Any, n: int) -> list[tuple[Any, Any]]:
    """Returns pairs of documents to train on and documents to measure."""
    sizes = _shared.vector(data.construct().group).astype(np.int64)
    if folds is None or hasattr(folds, "split"):
        if folds is None:
            from sklearn.model_selection import GroupKFold

            folds = GroupKFold(n)
        query = np.repeat(np.arange(len(sizes)), sizes)
        folds = folds.split(np.empty((len(query), 1)), _shared.vector(data.label), query)
    return [(np.asarray(fitted), np.asarray(held)) for fitted, held in folds]


def _side_by_side(runs: list[_Run], done: Callable[[int, list[list[EvalResult]]], bool]) -> None:
    """Trains the runs in threads that meet after each round, where one of them calls `done`."""
    of_folds: list[Any] = [None] * len(runs)
    state: dict[str, Any] = {"number": runs[0].begin, "stop": False}
    errors: list[BaseException] = []

    def met() -> None:
        state["stop"] = done(state["number"], of_folds)
        state["number"] += 1

    barrier = threading.Barrier(len(runs), action=met)

    def work(i: int, ours: dict[str, Any]) -> None:
        def after(_number: int, results: list[EvalResult]) -> bool:
            of_folds[i] = results
            barrier.wait()
            return bool(state["stop"])

        try:
            runs[i].train(ours, after)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = []
    for i, run in enumerate(runs):
        ours = run.settings.for_data(run.train_set, run.init, tells=i == 0)
        n = ours.get("threads", os.cpu_count())
        ours["threads"] = max(1, (n if isinstance(n, int) else os.cpu_count() or 1) // len(runs))
        threads.append(threading.Thread(target=work, args=(i, ours)))
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        barrier.abort()
        raise
    for error in errors:
        if not isinstance(error, threading.BrokenBarrierError):
            raise error
    if errors:
        raise errors[0]
