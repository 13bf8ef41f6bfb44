"""Training, and what it calls back."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _columns, _ranks
from rankwood._core import (
    DataError,
    ParameterError,
    ParameterTypeError,
    caller_names,
    chars,
    check,
    context,
    ffi,
    lib,
    logger,
    made,
    need,
    path_chars,
    text,
    warn_no_effect,
)
from rankwood._dataset import Dataset
from rankwood._exchange import Exchange
from rankwood._handles import check_apart
from rankwood._model import Model
from rankwood._params import Params, as_mapping, infos, need_device, need_measured, number_or_text
from rankwood._positions import PositionBias
from rankwood._progress import Progress

Floats = npt.NDArray[np.float64]
Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Round:
    """One round of training, as callbacks see it.

    Attributes
    ----------
    round : int
        From 1.
    n_rounds : int
        The most there may be.
    best_round : int
        The best round until now by the metric that stops training, from 1; 0 without a validation set.
    best_value : float
        That metric's value in it; 0 without a validation set.
    metrics : dict[str, dict[str, float]]
        By set ("train", then those of ``valid``), then by metric.
    ms : float
        What the round took, in milliseconds.
    """

    round: int
    n_rounds: int
    best_round: int
    best_value: float
    metrics: dict[str, dict[str, float]]
    ms: float


Callback = Callable[[Round], Any]


def _functions(callbacks: Any) -> list[Callback]:
    if callbacks is None:
        return []
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise ParameterTypeError(f"callbacks is a {type(callbacks).__name__}; expected a list of functions")
    out = list(callbacks)
    for one in out:
        if not callable(one):
            raise ParameterTypeError(f"callbacks has a {type(one).__name__}; expected functions")
    return out


class _Training:
    """What the library's callbacks of one training share."""

    def __init__(self, sets: list[Dataset], names: list[str], callbacks: Iterable[Callback]) -> None:
        self.sets = sets  # the training set first
        self.names = names
        self.callbacks = _functions(callbacks)
        self.error: BaseException | None = None
        self.interrupted = False
        self.has_started = False  # its rounds
        self.evals: dict[str, dict[str, list[float]]] = {}
        self.used: dict[str, int | float | str] = {}
        self.gradients: Callable[..., Any] | None = None
        self.metric: Callable[..., Any] | None = None
        self.metric_name = ""  # of the function
        self.n_rounds = 0  # that were run
        self.position_bias: PositionBias | None = None
        self.progress = Progress()

    def guard(self, call: Callable[[], int | None]) -> int:
        """Runs Python code of the caller's: an exception ends training, and is raised as it was."""
        if self.error is not None:
            return 1
        try:
            return call() or 0
        except KeyboardInterrupt:  # of the callback's own, or a second one
            self.interrupted = True
            return 1
        except BaseException as error:  # raised again by train
            self.error = error
            _ranks.note(error)
            return 1

    def result(self, status: int, out: Any, free: Callable[[Any], None]) -> Any:
        """What C made; or what the caller's code raised, or Ctrl-C, is raised."""
        if self.error is not None:
            free(out[0])
            raise self.error
        if self.interrupted and status != lib.RW_OK:
            raise KeyboardInterrupt
        return made(status, out, free)

    def is_over(self) -> bool:
        """Interrupted, or ended by an exception: it would have had more rounds."""
        return self.interrupted or self.error is not None

    def on_resume(self, c: Any) -> None:
        for i in range(c.n_metrics):
            metric = self.evals.setdefault(self.names[c.metrics[i].set], {})
            metric[text(c.metrics[i].name)] = [c.values[r * c.n_metrics + i] for r in range(c.round)]
        self.n_rounds = c.round
        logger.info("resume: round %d of %r", c.round, os.fsdecode(ffi.string(c.path)))

    def on_round(self, c: Any) -> int:
        metrics: dict[str, dict[str, float]] = {}
        for i in range(c.n_metrics):
            value = c.metrics[i]
            one = metrics.setdefault(self.names[value.set], {})
            one[text(value.name)] = value.value
        for name, values in metrics.items():
            for metric, value in values.items():
                self.evals.setdefault(name, {}).setdefault(metric, []).append(value)
        self.n_rounds = c.round
        done = Round(c.round, c.n_rounds, c.best_round, c.best_value, metrics, c.ms)
        self.progress.round(done)
        stop = False
        for callback in self.callbacks:
            stop = bool(callback(done)) or stop
        return int(stop)


def _doubles(pointer: Any, n: int, writable: bool = False) -> Floats:
    """A view of C's doubles, without a copy."""
    array = np.frombuffer(ffi.buffer(pointer, 8 * n), np.float64)
    array.flags.writeable = writable
    return array


def _on_error(_kind: Any, error: BaseException, traceback: Any) -> None:
    """What a signal's handler raises while C runs, it raises as a callback begins, before the `try`."""
    training: _Training = ffi.from_handle(traceback.tb_frame.f_locals["user"])
    if isinstance(error, KeyboardInterrupt):
        training.interrupted = True
    elif training.error is None:
        training.error = error


@contextmanager
def _ctrl_c(training: _Training) -> Iterator[None]:
    """The first Ctrl-C ends training after its round, or at once before the first one; a second one ends what
    Python runs."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first(_signal: int, _frame: Any) -> None:
        if not training.has_started and _ranks.count() == 1:
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, signal.default_int_handler)
        training.interrupted = True

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@ffi.def_extern(onerror=_on_error)
def _rw_on_start(user: Any, used: Any) -> None:
    training: _Training = ffi.from_handle(user)
    training.has_started = True
    for info in infos():
        name = text(info.name)
        training.used[name.replace("-", "_")] = number_or_text(text(lib.rw_params_get(used, info.name)))
    training.guard(warn_no_effect)
    metric = training.metric_name or str(training.used["metric"]).split(",")[0]
    stop_set = lib.rw_ctx_stop_set(context())
    training.progress.start(training.used, training.names[stop_set] if stop_set else None, metric)


@ffi.def_extern(onerror=_on_error)
def _rw_on_resume(user: Any, c: Any) -> None:
    training: _Training = ffi.from_handle(user)
    training.on_resume(c)


@ffi.def_extern(onerror=_on_error)
def _rw_on_round(user: Any, c: Any) -> int:
    training: _Training = ffi.from_handle(user)
    stop = training.guard(lambda: training.on_round(c))
    return 0 if training.is_over() else stop  # should_stop says it, so that the model does, too


@ffi.def_extern(onerror=_on_error)
def _rw_on_positions(user: Any, c: Any) -> None:
    training: _Training = ffi.from_handle(user)

    def of(pointer: Any, kind: Any) -> Any:
        if pointer == ffi.NULL:
            return None
        return np.frombuffer(ffi.buffer(pointer, np.dtype(kind).itemsize * c.n), kind).copy()

    training.position_bias = PositionBias(
        c.round, bool(c.is_given), of(c.position, np.uint32), of(c.n_docs, np.uint64), of(c.bias, np.float64),
        of(c.propensity, np.float64), of(c.unclicked, np.float64),
    )  # fmt: skip


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_should_stop(user: Any) -> int:
    training: _Training = ffi.from_handle(user)
    return int(training.is_over())


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_gradients(user: Any, _train: Any, scores: Any, gradients: Any, hessians: Any) -> int:
    training: _Training = ffi.from_handle(user)
    data, n = training.sets[0], training.sets[0].n_docs

    def call() -> int:
        assert training.gradients is not None
        given = data._in_caller_order(_doubles(scores, n))
        result = training.gradients(given, data)
        if not isinstance(result, (tuple, list, np.ndarray)) or len(result) != 2:
            raise DataError(
                f"the objective returned a {type(result).__name__}; expected two arrays, gradient and hessian"
            )
        first, second = result
        first, second = _values(first, "gradient", n), _values(second, "hessian", n)
        if (second < 0).any():
            first_below = int(np.argmax(second < 0))
            raise DataError(f"hessian of document {first_below} (from 0){_ranks.shard()} is below 0")
        np.negative(data._in_own_order(first), out=_doubles(gradients, n, writable=True))
        _doubles(hessians, n, writable=True)[:] = data._in_own_order(second)
        return 0

    return training.guard(call)


def _values(array: Any, what: str, n: int) -> Floats:
    what = f"the objective's {what}"
    out = _columns.numbers_of(_columns.array_of(array, what), what)
    if out.shape != (n,):
        raise DataError(f"{what} has shape {out.shape}; expected ({n},)")
    bad = np.flatnonzero(~np.isfinite(out))
    if len(bad):
        raise DataError(f"{what} of document {bad[0]} (from 0){_ranks.shard()} is {out[bad[0]]}")
    return out


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_metric(user: Any, dataset: Any, scores: Any, value: Any) -> int:
    training: _Training = ffi.from_handle(user)

    def call() -> int:
        assert training.metric is not None
        data = next(
            (one for one in training.sets if one._is(dataset)),
            training.sets[0],
        )
        given = data._in_caller_order(_doubles(scores, data.n_docs))
        result = training.metric(given, data)
        try:
            value[0] = float(result)
        except (TypeError, ValueError, OverflowError):
            name, kind = training.metric_name, type(result).__name__
            raise DataError(f"the metric {name!r} returned a {kind}; expected a number") from None
        return 0

    return training.guard(call)


def _sets(
    valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None, stop_on: str | None
) -> dict[str, Dataset]:
    """Validation sets by name, the one that stops training first."""
    if valid is None:
        sets: dict[str, Dataset] = {}
    elif isinstance(valid, Dataset):
        sets = {"valid": valid}
    elif isinstance(valid, Mapping):
        sets = dict(valid)
    elif isinstance(valid, Iterable):
        sets = {f"valid_{i}": one for i, one in enumerate(valid)}
    else:
        need(valid, Dataset, "valid")
    for name, one in sets.items():
        if not isinstance(name, str):
            raise ParameterTypeError(f"a valid set is called {name!r}; expected a string")
        need(one, Dataset, f"valid set {name!r}")._need_labels(f"valid set {name!r}")
    if "train" in sets:
        raise ParameterError("a valid set cannot be called 'train'")
    if stop_on is not None:
        if stop_on not in list(sets):
            raise ParameterError(f"stop_on={stop_on!r} is no valid set; there are {list(sets)}")
        sets = {stop_on: sets[stop_on], **sets}
    return sets


class _Names:
    """Feature names as the file that the library reads."""

    def __init__(self, names: list[str] | None) -> None:
        self.path = ""
        if names is not None:
            import tempfile  # here, for it takes long to import

            handle, self.path = tempfile.mkstemp(suffix=".names")
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                held = _columns.names_in_file(names)
                file.writelines(f"{i} {name}\n" for i, name in enumerate(held) if name)

    def give(self, params: Params) -> None:
        """ParameterError: they have other names already."""
        if self.path and params.get("names"):
            raise ParameterError("parameter 'names' is given, but the data has names of its features")
        if self.path:
            params.set("names", self.path)

    def __enter__(self) -> _Names:
        return self

    def __exit__(self, *_: object) -> None:
        if self.path:
            os.unlink(self.path)


def _feature_names(train_set: Dataset, init: Model | None) -> list[str] | None:
    """The training set's; but features that `init` has by name stay where it has them."""
    mine, theirs = train_set.feature_names, init.feature_names if init is not None else None
    if mine is None or theirs is None or init is None:
        return mine
    used = [use.feature for use in init._uses()]
    if all(i < len(mine) and mine[i] == theirs[i] for i in used):
        return mine
    return theirs + [name for name in mine if name not in theirs]


def train(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    *,
    valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None = None,
    stop_on: str | None = None,
    init: Model | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | str | None = None,
    resume: Path | None = None,
    callbacks: Iterable[Callback] = (),
    export_for: str | None = None,
    featureset: Path | None = None,
    strict: bool | None = False,
) -> Model:
    """Trains a model.

    Parameters
    ----------
    params
        By the names of ``rankwood train --help``, ``_`` or ``-``: ``{"leaves": 31, "rate": 0.05}``.
        ``objective`` and ``metric`` may be functions: ``objective(scores, dataset)`` returns gradient
        and hessian of the loss, (n_docs,) each, the hessian 0 or more (the sign of LightGBM and
        XGBoost); ``metric(scores, dataset)`` returns a number, and is better higher unless the function
        has a true attribute ``lower_is_better``. It stands first, and so stops training;
        ``[function, "map"]`` measures others, too.
    train_set
        Documents with labels and queries.
    valid
        Sets that are measured each round. The training set may be one of them, but never stops training.
    stop_on
        The set, by name, whose first metric stops training after ``early_stop`` rounds without a better
        value; the first one if not given, or the next one if that is the training set. Which one it is is logged.
    init
        A model to go on from: up to ``rounds`` more trees behind its own.
    checkpoint
        A file from which training can be resumed: written at intervals, beside training, and when training ends,
        by itself, by Ctrl-C or by an exception. It stays there.
    checkpoint_every
        The interval: a number of rounds, or a time, ``"30s"``, ``"10m"``, ``"2h"``; by default a minute, or more
        where writing takes more than 1 % of the time.
    resume
        A checkpoint to resume from, or ``"auto"``: that of ``checkpoint``, if it is there. The model is that of a
        training that never stopped, byte for byte. Data and parameters must be the same (``rounds`` may be more;
        ``threads``, ``device``, ``hist`` and ``batch`` may be others), and functions given as objective or metric
        must depend on their arguments alone.
    callbacks
        Each is called with a :class:`Round`; a true result stops training. One that resumes has the rounds that
        are new.
    export_for
        A format of :meth:`Model.export`: UnsupportedError before the first round where it may not be able to say the
        model (with ``feature_base="auto"``) without ``lossy``.
    featureset
        The feature set of ``export_for`` "opensearch" and "elasticsearch", as :meth:`Model.export` has it.

    strict
        True: a parameter that has no effect under the others given is a ParameterError, and not one
        :class:`rankwood.NoEffectWarning` per parameter and process. None: neither, for a dictionary that several
        trainings share. A parameter at its default is never reported, and one without effect is at its default in the
        model.

    Returns
    -------
    Model
        Up to its best round. After Ctrl-C the best until then, with ``finished`` False, and a warning.

    Raises
    ------
    ParameterError
        A parameter or metric that there is not or that is out of range; parameters that contradict one another or
        differ from the checkpoint's.
    DataError
        Data without labels, too large, or from which no tree can be made; a validation set whose metric cannot
        stop training, because it is the same for every ranking; other data than the checkpoint's.
    FormatError
        The file of `resume` is no checkpoint, damaged, or another version's; that of `featureset` is no feature set.
    OutOfMemoryError, UnsupportedError
        The device has too little memory, is not there, or is not built in; the format of `export_for` may not be
        able to say the model.

    Notes
    -----
    What takes longer than a second writes a line a second to a terminal, a bar in a notebook, and records
    of level INFO to the logger "rankwood" elsewhere; ``logging.getLogger("rankwood").setLevel("WARNING")``
    makes it silent.
    """
    with _ranks.agreed():
        need_device(as_mapping(params))
        need(train_set, Dataset, "train_set")._need_labels("train_set")
        if init is not None:
            need(init, Model, "init")
        given = train_set._with_own(as_mapping(params))
        sets = _sets(valid, stop_on)
        training = _Training([train_set, *sets.values()], ["train", *sets], callbacks)
        if checkpoint is not None:
            check_apart(checkpoint, *training.sets)
    _meet_ranks(given, dict(zip(training.names, training.sets, strict=True)), init)
    hooks = ffi.new("struct rw_train_hooks *")
    handle = ffi.new_handle(training)
    hooks.user = handle
    hooks.on_start, hooks.on_round = lib._rw_on_start, lib._rw_on_round
    hooks.should_stop = lib._rw_should_stop
    hooks.on_positions = lib._rw_on_positions
    if callable(given.get("objective")):
        training.gradients = given.pop("objective")
        hooks.gradients = lib._rw_gradients
    with _ranks.agreed():
        keep = [_hook_metric(given, training, hooks), _hook_checkpoints(checkpoint, checkpoint_every, resume, hooks)]
        Params(given, strict)
    if init is None and train_set._paths is not None:
        train_set._for_training(Params(given))  # its names come with it
    names = _feature_names(train_set, init)
    with _Names(names) as file, caller_names(names, training.names[1:]):
        c = Params(given, strict)
        file.give(c)
        _check_exportable(export_for, featureset, c, train_set, init)
        out = ffi.new("struct rw_model **")
        with _ctrl_c(training):
            status = _run(c, train_set, list(sets.values()), hooks, init, names, out)
    del keep
    with _ranks.agreed(), caller_names(names, training.names[1:]):
        model = Model(training.result(status, out, lib.rw_model_free))
    model.evals_result = training.evals
    model.used_params = training.used
    model.position_bias = training.position_bias
    if names is not None:  # the file has those in use
        model.feature_names = list(names)
    trees = f"{model.n_trees} {'tree' if model.n_trees == 1 else 'trees'}"
    best = f": the best of {training.n_rounds} rounds" if model.best_round else ""
    training.progress.end(f"{trees}{best}")
    if training.interrupted:
        logger.warning("interrupted: the model is the best so far, of %d trees", model.n_trees)
    return model


def _check_exportable(
    export_for: str | None, featureset: Path | None, c: Params, train_set: Dataset, init: Model | None
) -> None:
    if export_for is None and featureset is not None:
        raise ParameterError("featureset has no effect without export_for")
    if export_for is None:
        return
    with _ranks.agreed():
        # a name is what only the export asks for
        how = Exchange(export_for, "auto", False, featureset, None if featureset is None else "model")
        check(lib.rw_exchange_check(context(), how.c, 0))
        binned = train_set._for_training(c)
        mine = ffi.NULL if init is None else init._c
        check(lib.rw_exchange_check_training(context(), how.c, c.c, binned, mine))


def _hook_checkpoints(checkpoint: Path | None, every: int | str | None, resume: Path | None, hooks: Any) -> Any:
    """What must live as long as the hooks."""
    if every is not None and checkpoint is None:
        raise ParameterError("checkpoint_every has no effect without checkpoint")
    if isinstance(resume, str) and resume == "auto" and checkpoint is None:
        raise ParameterError("resume='auto' needs checkpoint, the file that it resumes from")
    if checkpoint is None and resume is None:
        return None
    out = ffi.new("struct rw_checkpoints *")
    out.on_resume = lib._rw_on_resume
    out.or_start = resume == "auto"
    paths = [None if one is None else ffi.new("char[]", path_chars(one)) for one in (checkpoint, resume)]
    out.path = paths[0] or ffi.NULL
    if resume is not None:
        out.resume = out.path if resume == "auto" else paths[1]
    if isinstance(every, bool) or not isinstance(every, (int, str, type(None))):
        raise ParameterTypeError(f"checkpoint_every is a {type(every).__name__}; expected rounds, or a time: '30s'")
    if every is not None:
        check(lib.rw_checkpoints_set_every(context(), out, chars(str(every))))
    hooks.checkpoints = out
    return [out, *paths]


def _meet_ranks(given: dict[str, Any], sets: dict[str, Dataset], init: Model | None) -> None:
    """What many ranks have to have in common before they train together."""
    if _ranks.count() == 1:
        return
    own = {name: value for name, value in given.items() if name not in ("threads", "device")}
    same: dict[str, Any] = {
        "params": sorted((name, getattr(value, "__name__", value)) for name, value in own.items()),
        "valid": list(sets),
        "init": init.to_bytes() if init is not None else None,
    }
    _ranks.check_same(same)
    _ranks.check_same({f"the features of {name!r}": one._features_for_ranks() for name, one in sets.items()})
    for name, one in sets.items():
        one._meet_ranks(name)


def _hook_metric(given: dict[str, Any], training: _Training, hooks: Any) -> Any:
    metric = given.get("metric")
    functions = [one for one in (metric if isinstance(metric, (list, tuple)) else [metric]) if callable(one)]
    if not functions:
        return None
    if len(functions) > 1:
        raise ParameterError(f"{len(functions)} functions are given as metrics; expected one")
    function = functions[0]
    rest = [one for one in metric if one is not function] if isinstance(metric, (list, tuple)) else []
    given.pop("metric")
    if rest:
        given["metric"] = rest
    name = chars(str(getattr(function, "__name__", "metric")))
    held = ffi.new("char[]", name)
    training.metric, training.metric_name = function, text(held)
    hooks.metric = lib._rw_metric
    hooks.metric_name = held
    hooks.metric_lower_is_better = int(bool(getattr(function, "lower_is_better", False)))
    return held


def _run(
    c: Params,
    train_set: Dataset,
    valid: list[Dataset],
    hooks: Any,
    init: Model | None,
    names: list[str] | None,
    out: Any,
) -> int:
    with _ranks.agreed():
        check(lib.rw_params_check(context(), c.c))
        check(lib.rw_params_check_valid(context(), c.c, len(valid)))
        need_measured(c, hooks, bool(valid))
    known = set(train_set.feature_names or ())
    needed = [i for i, name in enumerate(names or ()) if name in known]
    width = len(names or ()) if init is None else init._width

    def values_of(one: Dataset) -> Any:
        with _ranks.agreed():
            return one._with_values() if names is None else one._with_values_as(names, needed, width)

    values = [values_of(one) for one in valid]
    array = ffi.new("struct rw_dataset *[]", values) if values else ffi.NULL
    if init is not None:
        init._values_of(train_set)  # has it what the model's trees ask for?
        mine = values_of(train_set)
        return int(lib.rw_train_from(context(), c.c, init._c, mine, array, len(values), hooks, out))
    with _ranks.agreed():
        binned = train_set._for_training(c)
    return int(lib.rw_train_binned(context(), c.c, binned, array, len(values), hooks, out))
