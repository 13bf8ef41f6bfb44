"""XGBoost's functions train and cv, over Rankwood's training."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rankwood._core import UnsupportedError, no_trees_allowed
from rankwood._dataset import Dataset
from rankwood.compat import _shared
from rankwood.compat import _xgboost_callback as callback
from rankwood.compat._xgboost_booster import Booster, as_dict, custom_values
from rankwood.compat._xgboost_data import DMatrix
from rankwood.compat._xgboost_params import Plan, by_position, measured

After = Callable[[int, dict[str, list[tuple[str, float]]]], bool]


def _boost(booster: Booster, dtrain: DMatrix, evals: Sequence[tuple[DMatrix, str]], n_rounds: int, obj: Any,
           metric: Any, callbacks: Sequence[Any], after: After, tell: Callable[[list[str]], Any]) -> None:  # fmt: skip
    """Adds rounds to a booster until `after`, which gets each round's number and values, returns True.

    tell: called before the first round with remarks on parameters.
    """
    plan = Plan(booster._params, obj)
    base = plan.base_score if booster._model is None else booster._base_score
    train_set = dtrain._dataset(plan.debias)
    if plan.objective == "rank:ndcg" and plan.gain == "exp" and train_set.label.max() > 31:
        raise ValueError("labels over 31 have no exponential gain\nhint: Set `ndcg_exp_gain` to False")
    if plan.objective == "rank:map" and not np.isin(train_set.label, (0, 1)).all():
        raise ValueError("rank:map needs labels of 0 and 1")
    matrix = {id(one._dataset()): one for one, _ in evals} | {id(train_set): dtrain}
    bases = {at: 0.0 if "base_margin" in one._info else base for at, one in matrix.items()}
    sets = {name: train_set if one is dtrain else one._dataset() for one, name in evals}
    if obj is not None:
        plan.params["objective"] = lambda scores, _: tuple(
            np.ravel(one) for one in obj((scores + bases[id(train_set)]).astype(np.float32), dtrain)
        )
    with no_trees_allowed():
        params = plan.with_sums(train_set, dtrain._info.get("weight"), booster._model) | {"rounds": n_rounds}
    before, last, stop = booster._n_rounds, -1, False
    rates = [plan.rate]
    schedule = next((one for one in callbacks if isinstance(one, callback.LearningRateScheduler)), None)
    if schedule is not None:
        with contextlib.suppress(IndexError):  # the callback raises it again in that round
            for epoch in range(n_rounds):
                rates.append(float(schedule.learning_rates(epoch)))
        params["rate"] = [rate / plan.h for rate in [plan.rate] * before + rates[:n_rounds]]
    tell(plan.notes)
    values: dict[str, list[tuple[str, float]]] = {}
    booster._planned_rates = [0.0] * before + rates

    def measure(scores: Any, data: Dataset) -> list[_shared.Value]:
        found = measured(plan, data, scores) + custom_values(metric, scores + bases[id(data)], matrix[id(data)])
        return [_shared.Value(name, value, True) for name, value in found]

    def each(_: int, found: Mapping[str, Sequence[_shared.Value]]) -> bool:
        nonlocal last, stop, values
        values = {name: [(one.metric, one.value) for one in all_of] for name, all_of in found.items()} or values
        last += 1
        booster._n_rounds = before + last + 1
        stop = after(last, values)
        return stop

    with no_trees_allowed():
        model = _shared.boost(params, train_set, sets, measure, each, init=booster._model)
    if not model.finished:
        raise KeyboardInterrupt
    if last < 0:  # no split was possible at all
        for one, name in evals:
            margin = one._info.get("base_margin", 0.0)
            found = measure(model.predict(sets[name]) + margin, sets[name])
            values[name] = [(of.metric, of.value) for of in found]
    while not stop and last + 1 < n_rounds:  # no split was left, so values stay as they are
        each(0, {})
    booster._model, booster._base_score, booster._planned_rates = model, base, None
    booster.feature_names, booster.feature_types = dtrain.feature_names, dtrain.feature_types


@by_position
def train(
    params: Any,
    dtrain: DMatrix,
    num_boost_round: int = 10,
    *,
    evals: Sequence[tuple[DMatrix, str]] | None = None,
    obj: Callable[..., Any] | None = None,
    maximize: bool | None = None,
    early_stopping_rounds: int | None = None,
    evals_result: dict[str, Any] | None = None,
    verbose_eval: bool | int | None = True,
    xgb_model: Any = None,
    callbacks: Sequence[Any] | None = None,
    custom_metric: Callable[..., Any] | None = None,
) -> Booster:
    """Train a ranker with XGBoost's parameters and defaults.

    Parameters
    ----------
    params : dict or list of pairs
        XGBoost's parameters. ``objective`` is ``"rank:ndcg"``, ``"rank:pairwise"`` or ``"rank:map"``.
    dtrain : DMatrix
        Documents with labels and queries.
    num_boost_round : int, default 10
        Number of rounds.
    evals : list of (DMatrix, str) or None, default None
        Sets to measure after each round, with their names.
    obj : callable or None, default None
        Objective: f(scores, dtrain) returns gradient and hessian, of shape (n_docs,).
    maximize : bool or None, default None
        Whether a higher value of the metric that stops training is better.
    early_stopping_rounds : int or None, default None
        Rounds without improvement of the last metric of the last set, after which training ends. The model keeps them.
    evals_result : dict or None, default None
        Receives the values of each round, by set and metric.
    verbose_eval : bool, int or None, default True
        Print metrics each round, or each ``verbose_eval`` rounds.
    xgb_model : Booster, str, path, bytes or None, default None
        Model to continue from.
    callbacks : list of TrainingCallback or None, default None
        Callbacks, as in :mod:`rankwood.compat.xgboost.callback`.
    custom_metric : callable or None, default None
        Metric: f(scores, dmatrix) returns (name, value), or a list of them.

    Returns
    -------
    Booster
        The model.

    Raises
    ------
    ParameterError
        A ValueError: a parameter is invalid, or the objective does not rank.
    DataError
        A ValueError: labels, queries or features are invalid.

    Examples
    --------
    >>> result = {}
    >>> bst = xgb.train({"objective": "rank:ndcg"}, dtrain, 5, evals=[(dvalid, "valid")], evals_result=result,
    ...                 verbose_eval=False)
    >>> len(result["valid"]["ndcg@32"])
    5
    """
    sets = list(evals or ())
    for one in (dtrain, *(data for data, _ in sets)):
        if not isinstance(one, DMatrix):
            raise TypeError(f"expected a DMatrix, found a {type(one).__name__}")
    for _, name in sets:
        if "-" in name:
            raise ValueError(f"a set has the name {name!r}; names should not contain `-`")
    all_of = callback.with_usual(callbacks, verbose_eval, early_stopping_rounds, maximize)
    booster = Booster(params, model_file=xgb_model)
    for one in all_of:
        booster = one.before_training(booster)
    log: callback.EvalsLog = {}

    def after(number: int, found: dict[str, list[tuple[str, float]]]) -> bool:
        for name, values in found.items():
            for metric, value in values:
                log.setdefault(name, {}).setdefault(metric, []).append(value)
        return _ended(all_of, booster, number, num_boost_round, log)

    if num_boost_round > 0 and not any(one.before_iteration(booster, 0, log) for one in all_of):
        _boost(booster, dtrain, sets, num_boost_round, obj, custom_metric, all_of, after, _warn)
    for one in all_of:
        booster = one.after_training(booster)
    if evals_result is not None:
        evals_result.update(log)
    return booster


def _warn(notes: list[str]) -> None:
    _shared.warn_of("XGBoost", notes)


def _ended(callbacks: Sequence[Any], booster: Booster, number: int, n_rounds: int, log: callback.EvalsLog) -> bool:
    """Calls the callbacks after a round and before the next one. Returns True if training ends."""
    if any(one.after_iteration(booster, number, log) for one in callbacks):
        return True
    return number + 1 < n_rounds and any(one.before_iteration(booster, number + 1, log) for one in callbacks)


@by_position
def cv(
    params: Any,
    dtrain: DMatrix,
    num_boost_round: int = 10,
    *,
    nfold: int = 3,
    stratified: bool = False,
    folds: Any = None,
    metrics: Any = (),
    obj: Callable[..., Any] | None = None,
    maximize: bool | None = None,
    early_stopping_rounds: int | None = None,
    fpreproc: Callable[..., Any] | None = None,
    as_pandas: bool = True,
    verbose_eval: bool | int | None = None,
    show_stdv: bool = True,
    seed: int = 0,
    callbacks: Sequence[Any] | None = None,
    shuffle: bool = True,
    custom_metric: Callable[..., Any] | None = None,
) -> Any:
    """Cross-validate over folds of whole queries.

    Parameters
    ----------
    params, dtrain, num_boost_round, obj, maximize, callbacks, custom_metric : optional
        As in :func:`train`.
    nfold : int, default 3
        Number of folds.
    stratified, folds : optional
        Unsupported, because they split queries.
    metrics : str or list of str, default ()
        Metrics; by default those of ``params``.
    early_stopping_rounds : int or None, default None
        Rounds without improvement of the mean over the folds. The result then ends with the best round.
    fpreproc : callable or None, default None
        Function of (dtrain, dtest, params) that returns them changed, for each fold.
    as_pandas : bool, default True
        Return a data frame.
    verbose_eval : bool, int or None, default None
        Print the means each round, or each ``verbose_eval`` rounds.
    show_stdv : bool, default True
        Print deviations too.
    seed : int, default 0
        Seed of the folds.
    shuffle : bool, default True
        Shuffle the queries first.

    Returns
    -------
    pandas.DataFrame or dict
        Mean and standard deviation of each metric after each round: ``train-ndcg-mean``, ``train-ndcg-std``, ...

    Raises
    ------
    ParameterError, DataError
        As in :func:`train`. ValueError: fewer queries than folds.

    Examples
    --------
    >>> table = xgb.cv({"objective": "rank:ndcg", "eval_metric": "ndcg@5"}, dtrain, 5, nfold=3)
    >>> list(table)
    ['train-ndcg@5-mean', 'train-ndcg@5-std', 'test-ndcg@5-mean', 'test-ndcg@5-std']
    """
    if stratified or folds is not None:
        raise UnsupportedError("stratified and folds split queries; nfold makes folds of whole queries")
    given = as_dict(params)
    if metrics:
        given["eval_metric"] = metrics
    sizes, rng = dtrain.get_group().astype(np.int64), np.random.RandomState(seed)
    n = len(sizes)
    if not 2 <= nfold <= n:
        raise ValueError(f"nfold is {nfold}; expected 2 to the number of queries, {n}")
    starts, order = np.cumsum(sizes) - sizes, rng.permutation(n) if shuffle else np.arange(n)
    parts = np.array_split(order, nfold)

    def of(queries: Any) -> DMatrix:
        return dtrain._part(np.concatenate([np.arange(starts[q], starts[q] + sizes[q]) for q in queries]), queries)

    threads = int(given.get("nthread") or given.get("n_jobs") or -1)
    given["nthread"] = max(1, (threads if threads > 0 else len(os.sched_getaffinity(0))) // nfold)
    packs = []
    for k, part in enumerate(parts):
        pack = of(np.concatenate([one for i, one in enumerate(parts) if i != k])), of(part), dict(given)
        packs.append(pack if fpreproc is None else fpreproc(*pack))
    lead = Booster(given)
    lead.is_cv = True
    all_of = callback.with_usual(callbacks, verbose_eval, early_stopping_rounds, maximize, show_stdv)
    for one in all_of:
        one.before_training(lead)
    log: callback.EvalsLog = {}
    means: dict[str, list[float]] = {}

    def after(number: int, found: list[dict[str, list[tuple[str, float]]]]) -> bool:
        lead._n_rounds = number + 1
        for name, values in found[0].items():
            for i, (metric, _) in enumerate(values):
                each = [one[name][i][1] for one in found]
                mean, std = float(np.mean(each)), float(np.std(each))
                log.setdefault(name, {}).setdefault(metric, []).append((mean, std))
                means.setdefault(f"{name}-{metric}-mean", []).append(mean)
                means.setdefault(f"{name}-{metric}-std", []).append(std)
        stop = _ended(all_of, lead, number, num_boost_round, log)
        if stop and "best_iteration" in lead.attributes():
            for curve in means.values():
                del curve[lead.best_iteration + 1 :]
        return stop

    if num_boost_round > 0 and not any(one.before_iteration(lead, 0, log) for one in all_of):
        _train_together(lead, packs, num_boost_round, obj, custom_metric, all_of, after)
    for one in all_of:
        one.after_training(lead)
    if not as_pandas:
        return means
    import pandas

    return pandas.DataFrame(means)


def _train_together(lead: Booster, packs: Sequence[tuple[DMatrix, DMatrix, dict[str, Any]]], n_rounds: int, obj: Any,
                    metric: Any, callbacks: Sequence[Any], after: Callable[..., bool]) -> None:  # fmt: skip
    """Trains folds round by round, in a thread each. `after` gets the values of all folds after each round."""
    found: list[Any] = [None] * len(packs)
    notes: list[str] = []
    number, stop, errors = -1, False, []

    def step() -> None:
        nonlocal number, stop
        number += 1
        stop = stop or after(number, found)

    barrier = threading.Barrier(len(packs), action=step)

    def fold(k: int, dtrain: DMatrix, dtest: DMatrix, params: dict[str, Any]) -> None:
        def mine(_: int, values: dict[str, list[tuple[str, float]]]) -> bool:
            found[k] = values
            barrier.wait()
            return stop

        try:
            sets = [(dtrain, "train"), (dtest, "test")]
            tell = notes.extend if k == 0 else len
            _boost(Booster(params), dtrain, sets, n_rounds, obj, metric, callbacks, mine, tell)
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    workers = [threading.Thread(target=fold, args=(k, *pack), daemon=True) for k, pack in enumerate(packs)]
    for one in workers:
        one.start()
    try:
        for one in workers:
            one.join()
    except KeyboardInterrupt:
        barrier.abort()  # ends all folds after their current round
        for one in workers:
            one.join()
        raise
    _warn(notes)
    for error in sorted(errors, key=lambda one: isinstance(one, threading.BrokenBarrierError)):
        raise error  # the cause comes before the errors of folds that waited for it
