"""Tuning: a search for parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rankwood import _workers
from rankwood._core import (
    ParameterError,
    ParameterTypeError,
    UnsupportedError,
    context,
    ffi,
    lib,
    logger,
    string_of,
    text,
    whole,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._evaluate import Comparison, comparison_of
from rankwood._folds import grouped, note_positions
from rankwood._handles import check_apart
from rankwood._model import Model
from rankwood._params import as_mapping, as_text, hinted, need_device, number_or_text
from rankwood._selection import _refuse_functions
from rankwood._training import Path, Training, hook_checkpoints, named_params, on_error


@dataclass(frozen=True)
class Tuned:
    """Result of :func:`tune`.

    Attributes
    ----------
    model : Model
        Model trained with ``params``: on the training set, or without a validation set on all data.
    params : dict
        The caller's parameters with the chosen values, the best number of ``rounds``, and ``early_stop`` 0. Train
        with them: ``rankwood.train(tuned.params, data)``.
    trials : list[dict]
        A dictionary per trial, in the order of their numbers. ``number`` is from 0; trial 0 has the caller's
        parameters. ``params`` has the values of the searched parameters, and ``seed`` that of the trial. ``whole`` is
        True if the trial trained until early stopping; others were dropped before. ``rounds`` is the best number
        of rounds, ``leaves`` the maximum number of leaves of all their trees, and ``mean`` the metric with them.
        ``difference`` is ``mean`` minus that of the best whole trial, ``error`` its standard error, and ``level`` is
        True if the trial is worse by at most this error. ``failure`` is the message of a failed trial, else None.
    chosen : int
        Number of the chosen trial.
    estimate : Comparison
        The tuned parameters (b) compared with the caller's (a), on queries that did not choose them. Each half of the
        queries is measured with the setting that the other half chose.
    metric : str
        Name of the metric, such as ``"ndcg@10"``. Ties count as the mean over all orders.

    Examples
    --------
    >>> tuned = rankwood.tune({"rounds": 20}, data, valid, trials=3)
    >>> len(tuned.trials), tuned.trials[0]["seed"]
    (3, 1)
    """

    model: Model
    params: dict[str, Any]
    trials: list[dict[str, Any]]
    chosen: int
    estimate: Comparison
    metric: str

    def __repr__(self) -> str:
        return (
            f"Tuned(trial {self.chosen} of {len(self.trials)}; {self.metric}: {self.estimate.mean_b:.5f}, "
            f"{self.estimate.difference:+.5f})"
        )


@hinted
def tune(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    valid: Dataset | None = None,
    *,
    n_folds: int | None = None,
    trials: int | None = None,
    time: float | str | None = None,
    space: Mapping[str, Any] | None = None,
    groups: Any = None,
    checkpoint: Path | None = None,
    resume: Path | None = None,
    strict: bool = False,
) -> Tuned:
    """Search for parameters that improve a metric, and train a model with them.

    Trials train for few rounds first, and only the best third trains for longer. The result depends only on the data,
    the parameters, ``space`` and ``trials``, not on the machine. Trial 0 has the given parameters. It is chosen unless
    another trial is better by more than two standard errors of the difference, paired by query.

    Parameters
    ----------
    params : dict or None
        Parameters as in :func:`rankwood.train`, without functions and with one ``metric`` that has a value for each
        query. Parameters that are set are not searched. ``seed`` draws the trials, folds and halves.
    train_set : Dataset
        Documents with labels and queries.
    valid : Dataset or None, default None
        Validation set. It stops training early and measures the trials.
    n_folds : int or None, default None
        Without ``valid``: number of folds by query, 2 to 1000; None: 5.
    trials : int or None, default None
        Number of trials with trial 0, 1 or more.
    time : float, str or None, default None
        In place of ``trials``: search for at least this time, in seconds or as ``"30s"``, ``"10m"`` or ``"2h"``, up to
        the end of a stage. ``trials=len(tuned.trials)`` repeats the search.
    space : dict or None, default None
        Parameters to search: a tuple ``(least, most)`` or ``(least, most, "log")``, or a list of values. None: the
        default space.
    groups : array or None, default None
        Group of each document or query of the set that measures trials (``valid``, or ``train_set`` with folds), as in
        :func:`cv`. Neither folds nor the halves of the estimate divide a group.
    checkpoint : str, path or None, default None
        File for the results of all trials so far, written after each stage of the search. A failed write is a warning.
    resume : str, path or None, default None
        Checkpoint to resume from. ``"auto"`` uses the file of ``checkpoint`` if it exists. The result is identical to
        that of an uninterrupted search. ``trials`` may increase, and ``threads``, ``device``, ``gpu_memory``, ``hist``
        and ``batch`` may change.
    strict : bool, default False
        Raise a :class:`ParameterError` for a parameter without effect, in place of a warning.

    Returns
    -------
    Tuned
        Model, parameters, trials and an estimate.

    Raises
    ------
    ParameterError
        A parameter or argument is invalid, a parameter is a function, or one is both set and searched. Also if
        parameters, space or folds differ from the checkpoint's.
    DataError
        A set has no labels or too few queries, or differs from the checkpoint's, or the given parameters cannot be
        trained.
    FormatError
        The file of ``resume`` is not the checkpoint of a search, is damaged, or is of another version.
    OutOfMemoryError
        The device has too little memory.
    UnsupportedError
        There are several workers, or the device is missing.
    KeyboardInterrupt
        Ctrl-C, within a second.

    Examples
    --------
    >>> space = {"leaves": (4, 16, "log"), "rate": (0.05, 0.3), "objective": ["lambdarank", "xendcg"]}
    >>> tuned = rankwood.tune({"rounds": 20}, data, valid, trials=4, space=space)
    >>> list(tuned.trials[1]["params"])
    ['leaves', 'rate', 'objective']
    >>> again = rankwood.train(tuned.params, data, valid=valid)
    >>> again.to_bytes() == tuned.model.to_bytes()
    True
    """
    if (trials is None) == (time is None):
        raise ParameterError("expected either trials or time")
    options = ffi.new("struct rw_tune_options *")
    options.n_trials = 0 if trials is None else whole(trials, "trials", 1, 1000000)
    options.seconds = 0.0 if time is None else _seconds(time)
    if valid is not None and n_folds is not None:
        raise ParameterError("both valid and n_folds are given; expected one of them")
    options.n_folds = 0 if valid is not None else 5 if n_folds is None else whole(n_folds, "n_folds", 2, 1000)
    if checkpoint is not None:
        check_apart(checkpoint, train_set, *([] if valid is None else [valid]))
    space_text = None if space is None else ffi.new("char[]", _space_text(space).encode())
    options.space = ffi.NULL if space_text is None else space_text
    unnamed = ffi.new("char[]", b"")  # messages then have no line numbers
    options.space_name = unnamed
    options.on_trial = lib._rw_on_tune
    _paths = hook_checkpoints(checkpoint, None, resume, options)
    given = as_mapping(params)
    c, used = _search(given, train_set, valid, options, groups, strict, "tune")
    tuned = _tuned(c, given, train_set)
    tuned.model.used_params = used
    return tuned


def by_folds(given: Mapping[str, Any]) -> bool:
    """Tells whether a cross-validation is to choose the number of rounds (early_stop_rule)."""
    named = {str(name).replace("_", "-"): value for name, value in given.items()}
    return named.get("early-stop-rule") == "folds" and str(named.get("early-stop", 100)) != "0"


def rounds_by_folds(
    given: Mapping[str, Any], train_set: Dataset, groups: Any, strict: bool | None
) -> dict[str, Any]:
    """Returns the parameters with the number of rounds that 5 folds choose, as trial 0 of a tuning does."""
    options = ffi.new("struct rw_tune_options *", {"n_trials": 1, "n_folds": 5, "without_model": 1})
    c, _ = _search(given, train_set, None, options, groups, strict, "early_stop_rule='folds'")
    rounds = number_or_text(text(lib.rw_params_get(c.params, b"rounds")))
    logger.info("5 folds choose %d rounds: estimated %s %.5f (%d queries)", rounds, text(c.metric),
                c.estimate.mean_a, c.estimate.n_queries)  # fmt: skip
    chosen = ("rounds", "early-stop", "early-stop-delta", "early-stop-rule")
    rest = {name: value for name, value in given.items() if name.replace("_", "-") not in chosen}
    return {**rest, "rounds": rounds}


def _search(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    valid: Dataset | None,
    options: Any,
    groups: Any,
    strict: bool | None,
    what: str,
) -> tuple[Any, dict[str, int | float | str]]:
    given = as_mapping(params)
    need_device(given)
    for name, one in {"train_set": train_set, **({} if valid is None else {"valid": valid})}.items():
        need_labels(one, name)
    if _workers.count() > 1:
        raise UnsupportedError(f"{what} needs a single worker; there are {_workers.count()}")
    given = train_set._with_own(given)
    _refuse_functions(given, f"{what} accepts names only")
    training = Training([train_set], ["train"], ())
    handle = ffi.new_handle(training)
    options.user, options.on_start = handle, lib._rw_on_start
    out = ffi.new("struct rw_tuned **")
    with named_params(given, strict, train_set.feature_names) as c:
        values = train_set._with_values()
        names = train_set.feature_names
        measured = ffi.NULL
        if valid is not None:
            measured = (
                valid._with_values() if names is None else valid._with_values_as(names, range(len(names)), len(names))
            )
        if valid is None:
            note_positions(train_set, groups)
        with grouped(options, train_set if valid is None else valid, groups):
            status = lib.rw_tune(context(), c.c, values, measured, options, out)
        if training.is_over() and status == lib.RW_OK:
            lib.rw_free(out[0])
            status = lib.RW_ERR_INTERRUPTED
            out[0] = ffi.NULL
        return training.result(status, out, lib.rw_free), training.used


def _seconds(time: Any) -> float:
    every = ffi.new("struct rw_checkpoints *")
    if isinstance(time, str):
        lib.rw_checkpoints_set_every(context(), every, time.encode())
        time = every.every_seconds or time
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not 0 < time < float("inf"):
        raise ParameterError(f"time is {time!r}; expected seconds above 0, or a text such as '30s', '10m' or '2h'")
    return float(time)


def _space_text(space: Any) -> str:
    """Formats a space for the library, a parameter per line."""
    if not isinstance(space, Mapping):
        raise ParameterTypeError(f"space is a {type(space).__name__}; expected a dictionary")
    lines = []
    for name, values in space.items():
        is_wrong = not isinstance(name, str) or len(name.split()) != 1 or not isinstance(values, (tuple, list))
        if is_wrong or len(values) < 2 or (isinstance(values, tuple) and len(values) > 3):
            raise ParameterError(
                f"space[{name!r}] is {values!r}; expected a tuple (least, most) or (least, most, 'log'), or a list of "
                "two or more values"
            )
        between = " " if isinstance(values, tuple) else "|"
        texts = [as_text(one) for one in values]
        if any(not one or len(one.split()) != 1 or "|" in one or "#" in one for one in texts):
            raise ParameterError(f"space[{name!r}] is {values!r}; expected numbers or words")
        lines.append(f"{name.replace('_', '-')} {between.join(texts)}")
    return "\n".join(lines)


def _python_name(name: Any) -> str:
    return text(name).replace("-", "_")


def _trial(c: Any, trial: Any) -> dict[str, Any]:
    values = {_python_name(c.names[k]): number_or_text(text(trial.values[k])) for k in range(c.n_names)}
    return {
        "number": trial.number,
        "params": values,
        "seed": trial.seed,
        "whole": bool(trial.is_whole),
        "rounds": trial.rounds,
        "leaves": trial.leaves,
        "mean": trial.mean,
        "difference": trial.difference,
        "error": trial.error,
        "level": bool(trial.is_level),
        "failure": string_of(trial.failure),
    }


def _tuned(c: Any, given: dict[str, Any], train_set: Dataset) -> Tuned:
    params = {name.replace("-", "_"): value for name, value in given.items()}
    changed = [text(c.names[k]) for k in range(c.n_names)] if c.chosen > 0 else []
    for name in [*changed, "seed", "rounds", "early-stop"]:
        params[name.replace("-", "_")] = number_or_text(text(lib.rw_params_get(c.params, name.encode())))
    estimate = comparison_of(c.estimate, text(c.metric), text(c.conventions), False, c.n_samples)
    model = Model(ffi.gc(c.model, lib.rw_model_free))
    c.model = ffi.NULL  # `model` owns it now
    if train_set.feature_names is not None:
        model.feature_names = list(train_set.feature_names)
    trials = [_trial(c, c.trials[i]) for i in range(c.n_trials)]
    return Tuned(model, params, trials, c.chosen, estimate, text(c.metric))


@ffi.def_extern(error=1, onerror=on_error)
def _rw_on_tune(user: Any, trial: Any) -> int:
    training: Training = ffi.from_handle(user)
    training.guard(lambda: _told(trial))
    return int(training.is_over())


def _told(trial: Any) -> None:
    if trial.failure != ffi.NULL:
        logger.info("trial %d failed: %s", trial.number, text(trial.failure))
    else:
        logger.info("trial %d: %d rounds, %.5f%s", trial.number, trial.rounds, trial.mean,
                    "" if trial.is_whole else ", so far")  # fmt: skip
