"""A callback for Optuna, which ends the training of a poor trial."""

from __future__ import annotations

from typing import Any

from rankwood._core import ParameterError, package
from rankwood._training import LOWER_IS_BETTER, Round


class PruningCallback:
    """Report a metric to an Optuna trial after each round, and end the training if the trial is pruned.

    ``optuna.TrialPruned`` then comes out of :func:`rankwood.train` unchanged, as Optuna expects.

    Parameters
    ----------
    trial : optuna.Trial
        The trial.
    metric : str or None, default None
        Metric to report, such as ``"ndcg@10"``. None: the first one.
    valid : str or None, default None
        Validation set to measure. None: the one that stops training, or else the first one.

    Raises
    ------
    ParameterError
        During training: the metric or the set is unknown, or the study minimises a metric whose higher values are
        better, or the reverse.
    ImportError
        Optuna is missing (extra ``optuna``).

    Examples
    --------
    >>> from rankwood.optuna import PruningCallback  # doctest: +SKIP
    >>> def objective(trial):
    ...     params = {"leaves": trial.suggest_int("leaves", 4, 63)}
    ...     model = rankwood.train(params, data, valid=valid, callbacks=[PruningCallback(trial)])
    ...     return max(model.evals_result["valid"]["ndcg@10"])
    """

    def __init__(self, trial: Any, metric: str | None = None, valid: str | None = None) -> None:
        self._pruned = package("optuna", "optuna").TrialPruned
        self._trial, self._metric, self._valid = trial, metric, valid

    def __call__(self, done: Round) -> None:
        """Called by the training after each round."""
        sets = {name: values for name, values in done.metrics.items() if name != "train" or self._valid == "train"}
        valid = next(iter(sets), None) if self._valid is None else self._valid
        if valid not in sets:
            raise ParameterError(f"no validation set {valid or ''!r} to report; there are {list(sets)}")
        metric = next(iter(sets[valid])) if self._metric is None else self._metric
        if metric not in sets[valid]:
            raise ParameterError(f"metric {metric!r} is not measured; there are {list(sets[valid])}")
        self._check_direction(metric)
        self._trial.report(sets[valid][metric], done.round)
        if self._trial.should_prune():
            raise self._pruned(f"{metric} of {valid!r} is {sets[valid][metric]:.6g} in round {done.round}")

    def _check_direction(self, metric: str) -> None:
        """Compares the direction of the study with that of a metric of the library; others may have any."""
        study = getattr(self._trial, "study", None)
        name = metric.partition("@")[0].partition(":")[0]
        known = ("ndcg", "dcg", "map", "mrr", "err", "p", "recall", "rbp", *LOWER_IS_BETTER)
        if study is None or name not in known:
            return
        wanted = "minimize" if name in LOWER_IS_BETTER else "maximize"
        if study.direction.name.lower() != wanted:
            raise ParameterError(f"the study's direction is {study.direction.name.lower()}; {metric} needs {wanted!r}")
