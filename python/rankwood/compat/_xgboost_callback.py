"""Callbacks of XGBoost's interface, the module ``rankwood.compat.xgboost.callback``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

EvalsLog = dict[str, dict[str, list[Any]]]  # values of each round by set and metric; of cv, pairs of mean and deviation

_MAXIMIZED = ("auc", "aucpr", "map", "ndcg", "pre")


class TrainingCallback:
    """Base class of callbacks. Its methods do nothing.

    Examples
    --------
    >>> class Count(xgb.callback.TrainingCallback):
    ...     def after_iteration(self, model, epoch, evals_log):
    ...         return epoch == 4  # stops after five rounds
    >>> xgb.train({"objective": "rank:ndcg"}, dtrain, 50, callbacks=[Count()]).num_boosted_rounds()
    5
    """

    def before_training(self, model: Any) -> Any:
        """Called once with the booster, which it returns."""
        return model

    def after_training(self, model: Any) -> Any:
        """Called once with the trained booster. It returns the booster that ``train`` returns."""
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Called before round ``epoch``, from 0. A true result ends training."""
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        """Called after round ``epoch``, from 0. A true result ends training."""
        return False


class EarlyStopping(TrainingCallback):
    """End training after ``rounds`` rounds without a better value, and record the best one.

    Parameters
    ----------
    rounds : int
        Number of rounds without improvement.
    metric_name : str or None, default None
        Metric to watch; by default the last one.
    data_name : str or None, default None
        Set to watch; by default the last one.
    maximize : bool or None, default None
        Whether higher is better. None: yes for metrics that begin with auc, aucpr, map, ndcg or pre.
    save_best : bool, default False
        Return the model of the best round instead of the last one.
    min_delta : float, default 0.0
        Smallest change that counts as an improvement, 0 or more.

    Examples
    --------
    >>> stop = xgb.callback.EarlyStopping(rounds=5, save_best=True)
    >>> params = {"objective": "rank:ndcg"}
    >>> bst = xgb.train(params, dtrain, 50, evals=[(dvalid, "valid")], callbacks=[stop], verbose_eval=False)
    >>> bst.num_boosted_rounds() == bst.best_iteration + 1
    True
    """

    def __init__(
        self,
        *,
        rounds: int,
        metric_name: str | None = None,
        data_name: str | None = None,
        maximize: bool | None = None,
        save_best: bool | None = False,
        min_delta: float = 0.0,
    ) -> None:
        if min_delta < 0:
            raise ValueError(f"min_delta is {min_delta}; expected 0 or more")
        self.rounds, self.metric_name, self.data, self.maximize = rounds, metric_name, data_name, maximize
        self.save_best, self.min_delta = save_best, min_delta
        self.best: float | None = None
        self.current_rounds = self.starting_round = 0

    def before_training(self, model: Any) -> Any:
        if self.save_best and model.is_cv:
            raise ValueError("save_best=True has no meaning in cv, which returns no model")
        self.starting_round = model.num_boosted_rounds()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        if not evals_log:
            raise ValueError("early stopping needs at least 1 validation dataset in `evals`")
        metrics = _chosen(evals_log, self.data, "dataset")
        metric = self.metric_name or list(metrics)[-1]
        value = _chosen(metrics, metric, "metric")[-1]
        value = value[0] if isinstance(value, tuple) else value
        if self.maximize is None:
            self.maximize = metric.startswith(_MAXIMIZED) and metric != "mape"
        sign = 1 if self.maximize else -1
        if self.best is None or sign * value - self.min_delta > sign * self.best:
            self.best, self.current_rounds = value, 0
            model.set_attr(best_score=str(value), best_iteration=str(epoch + self.starting_round))
        else:
            self.current_rounds += 1
        return self.current_rounds >= self.rounds

    def after_training(self, model: Any) -> Any:
        if not self.save_best:
            return model
        best = model[: model.best_iteration + 1]
        best.set_attr(best_score=model.attr("best_score"), best_iteration=model.attr("best_iteration"))
        return best


def _chosen(of: dict[str, Any], name: str | None, what: str) -> Any:
    if name is not None and name not in of:
        raise ValueError(f"No {what} named {name!r}; there are {', '.join(of)}")
    return of[name] if name is not None else list(of.values())[-1]


class LearningRateScheduler(TrainingCallback):
    """Change the learning rate: round ``epoch + 1`` has the rate of ``epoch``, and round 0 that of ``eta``.

    Parameters
    ----------
    learning_rates : callable or sequence of float
        Function of the round, from 0, or a value per round. It is called for all rounds before training.

    Examples
    --------
    >>> rates = xgb.callback.LearningRateScheduler(lambda epoch: 0.3 * 0.9**epoch)
    >>> bst = xgb.train({"objective": "rank:ndcg"}, dtrain, 5, callbacks=[rates])
    """

    def __init__(self, learning_rates: Callable[[int], float] | Sequence[float]) -> None:
        if not callable(learning_rates) and not isinstance(learning_rates, Sequence):
            raise TypeError(f"learning_rates is a {type(learning_rates).__name__}; expected a function or a sequence")
        self.learning_rates = learning_rates if callable(learning_rates) else learning_rates.__getitem__

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        model.set_param("learning_rate", self.learning_rates(epoch))
        return False


class EvaluationMonitor(TrainingCallback):
    """Print the metrics of each set.

    Parameters
    ----------
    rank : int, default 0
        Ignored: there is one worker.
    period : int, default 1
        Number of rounds from one line to the next.
    show_stdv : bool, default False
        Print standard deviations of cv too.
    logger : callable or None, default None
        Function that gets each line, with its end of line; by default it is printed.

    Examples
    --------
    >>> lines = []
    >>> monitor = xgb.callback.EvaluationMonitor(period=10, logger=lines.append)
    >>> params = {"objective": "rank:ndcg"}
    >>> bst = xgb.train(params, dtrain, 11, evals=[(dvalid, "valid")], callbacks=[monitor], verbose_eval=False)
    >>> len(lines)
    2
    """

    def __init__(
        self, rank: int = 0, period: int = 1, show_stdv: bool = False, logger: Callable[[str], Any] | None = None
    ) -> None:
        if period <= 0:
            raise ValueError(f"period is {period}; expected 1 or more")
        self.period, self.show_stdv, self._latest = period, show_stdv, ""
        self._logger = logger or (lambda line: print(line, end="", flush=True))

    def after_iteration(self, model: Any, epoch: int, evals_log: EvalsLog) -> bool:
        line = f"[{epoch}]"
        for data, metrics in evals_log.items():
            for metric, values in metrics.items():
                value, std = values[-1] if isinstance(values[-1], tuple) else (values[-1], None)
                line += f"\t{data}-{metric}:{value:.5f}" + (f"+{std:.5f}" if self.show_stdv and std is not None else "")
        if evals_log:
            self._latest = line + "\n"
            if epoch % self.period == 0:
                self._logger(self._latest)
                self._latest = ""
        return False

    def after_training(self, model: Any) -> Any:
        if self._latest:
            self._logger(self._latest)
        return model


def with_usual(
    callbacks: Iterable[Any] | None, period: bool | int | None, rounds: int | None, maximize: bool | None,
    show_stdv: bool = False,
) -> list[Any]:  # fmt: skip
    """Returns the callbacks, with those for the arguments ``verbose_eval`` and ``early_stopping_rounds``."""
    out = list(dict.fromkeys(callbacks or ()))
    for one in out:
        if not isinstance(one, TrainingCallback):
            raise TypeError(f"callbacks has a {type(one).__name__}; expected instances of TrainingCallback")
    if period:
        out.append(EvaluationMonitor(period=int(period), show_stdv=show_stdv))
    return [*out, EarlyStopping(rounds=rounds, maximize=maximize)] if rounds else out
