"""Callbacks of the LightGBM layer, called after each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rankwood._core import ParameterError, ParameterTypeError


class EvalResult(NamedTuple):
    """Value of a metric on one data set; with `cv`, a mean and a standard deviation follow each other."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool


class CVEvalResult(NamedTuple):
    """Mean and standard deviation of a metric over folds."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool
    metric_std_dev: float


Results = Sequence[EvalResult | CVEvalResult]


class CallbackEnv(NamedTuple):
    """Argument of callbacks. Rounds are counted from 0."""

    model: Any
    params: dict[str, Any]
    iteration: int
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: Results | None


class EarlyStopException(Exception):
    """Raised by a callback to end training. `best_iteration` is counted from 0."""

    def __init__(self, best_iteration: int, best_score: Results) -> None:
        super().__init__()
        self.best_iteration = best_iteration
        self.best_score = best_score


_log: Callable[[str], Any] = print


def register_logger(logger: Any, info_method_name: str = "info", warning_method_name: str = "warning") -> None:
    """Send the lines of callbacks to a logger instead of standard output; warnings are Python's."""
    global _log
    _log = getattr(logger, info_method_name)


def _line(results: Results, show_stdv: bool = True) -> str:
    stdv = [f" + {one.metric_std_dev:g}" if show_stdv and isinstance(one, CVEvalResult) else "" for one in results]
    return "\t".join(f"{one[0]}'s {one[1]}: {one[2]:g}{more}" for one, more in zip(results, stdv, strict=True))


class _Callback:
    """order: callbacks with a lower number are called first."""

    before_iteration = False

    def __init__(self, order: int, call: Callable[[CallbackEnv], None]) -> None:
        self.order = order
        self._call = call

    def __call__(self, env: CallbackEnv) -> None:
        self._call(env)


def log_evaluation(period: int = 1, show_stdv: bool = True) -> _Callback:
    """Print the metrics every `period` rounds."""

    def call(env: CallbackEnv) -> None:
        if period > 0 and env.evaluation_result_list and (env.iteration + 1) % period == 0:
            _log(f"[{env.iteration + 1}]\t{_line(env.evaluation_result_list, show_stdv)}")

    return _Callback(10, call)


def record_evaluation(eval_result: dict[str, dict[str, list[Any]]]) -> _Callback:
    """Write the metrics of each round to a dictionary: `eval_result[set][metric]` is a list."""
    if not isinstance(eval_result, dict):
        raise ParameterTypeError(f"eval_result is a {type(eval_result).__name__}; expected a dictionary")

    def call(env: CallbackEnv) -> None:
        if env.iteration == env.begin_iteration:
            eval_result.clear()
        for one in env.evaluation_result_list or ():
            values = {one.metric_name: one.metric_value}
            if isinstance(one, CVEvalResult):
                values = {f"{one.metric_name}-mean": one.metric_value, f"{one.metric_name}-stdv": one.metric_std_dev}
            for name, value in values.items():
                eval_result.setdefault(one.dataset_name, {}).setdefault(name, []).append(value)

    return _Callback(20, call)


class ResetParameter:
    """Learning rates by round; made by reset_parameter."""

    order = 10
    before_iteration = True

    def __init__(self, given: dict[str, Any]) -> None:
        others = given.keys() - {"learning_rate", "eta", "shrinkage_rate"}
        if others or len(given) != 1:
            raise ParameterError(f"reset_parameter changes {sorted(given)}; only learning_rate can change in training")
        [self.rate] = given.values()
        if not callable(self.rate) and not isinstance(self.rate, list):
            raise ParameterTypeError("learning_rate of reset_parameter is neither a list nor a function of the round")

    def rates(self, n_rounds: int) -> list[float]:
        """Returns the learning rate of each round."""
        if callable(self.rate):
            return [float(self.rate(i)) for i in range(n_rounds)]
        if len(self.rate) != n_rounds:
            raise ParameterError(f"reset_parameter has {len(self.rate)} learning rates for {n_rounds} rounds")
        return [float(rate) for rate in self.rate]


def reset_parameter(**kwargs: Any) -> ResetParameter:
    """Change the learning rate by round: `learning_rate` is a list, or a function of the round, counted from 0."""
    return ResetParameter(kwargs)


class _EarlyStopping:
    before_iteration = False
    order = 30

    def __init__(self, stopping_rounds: int, first_metric_only: bool, verbose: bool, min_delta: Any) -> None:
        if not isinstance(stopping_rounds, int):
            raise ParameterTypeError(f"early_stopping_round is a {type(stopping_rounds).__name__}; expected an int")
        deltas = min_delta if isinstance(min_delta, list) else [min_delta]
        if any(delta < 0 for delta in deltas):
            raise ParameterError(f"min_delta of early_stopping is {min_delta}; expected 0 or more")
        self.rounds, self.first_only, self.verbose = stopping_rounds, first_metric_only, verbose
        self.deltas = deltas or [0.0]

    def __call__(self, env: CallbackEnv) -> None:
        results = env.evaluation_result_list
        train_name = "train" if not hasattr(env.model, "_train_data_name") else env.model._train_data_name
        if self.rounds <= 0:
            return
        if not results or all(one.dataset_name == train_name for one in results):
            if env.iteration == env.begin_iteration and not results:
                raise ParameterError("early_stopping needs a validation set and a metric")
            return
        if env.iteration == env.begin_iteration:
            metrics = list(dict.fromkeys(one.metric_name for one in results))
            if len(self.deltas) not in (1, len(metrics)):
                raise ParameterError(f"min_delta has {len(self.deltas)} numbers for {len(metrics)} metrics")
            self.delta = dict(zip(metrics, self.deltas * len(metrics), strict=False))
            self.best: list[tuple[float, int, Results]] = []
        for i, one in enumerate(results):
            value, delta = one.metric_value, self.delta[one.metric_name]
            if i == len(self.best):
                self.best.append((value, env.iteration, results))
            elif value - delta > self.best[i][0] if one.maximize else value + delta < self.best[i][0]:
                self.best[i] = (value, env.iteration, results)
            if one.dataset_name == train_name or (self.first_only and one.metric_name != results[0].metric_name):
                continue
            _, best, at_best = self.best[i]
            is_last = env.iteration == env.end_iteration - 1
            if env.iteration - best >= self.rounds or is_last:
                if self.verbose:
                    why = "all rounds are done" if env.iteration - best < self.rounds else "early stopping"
                    _log(f"{why}; the best round is:\n[{best + 1}]\t{_line(at_best)}")
                raise EarlyStopException(best, at_best)


def early_stopping(
    stopping_rounds: int, first_metric_only: bool = False, verbose: bool = True, min_delta: float | list[float] = 0.0
) -> _EarlyStopping:
    """Stop after `stopping_rounds` rounds without an improvement of any metric on any validation set.

    Each value counts for itself, as in LightGBM: training stops when one of them has not improved by more than
    `min_delta`. `first_metric_only` observes the first metric only. The training set never stops training.
    """
    return _EarlyStopping(stopping_rounds, first_metric_only, verbose, min_delta)
