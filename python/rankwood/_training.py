"""Callbacks of the library during training and other long work, Ctrl-C, and progress.

Progress is a line per second in a terminal, a bar in a notebook, and log records elsewhere.
"""

from __future__ import annotations

import html
import importlib
import inspect
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwood import _columns, _workers
from rankwood._columns import Floats, view
from rankwood._core import (
    DataError,
    ParameterError,
    ParameterTypeError,
    are_no_trees_allowed,
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
    shard,
    shown,
    take_stopped,
    text,
    warn_no_effect,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._params import Params, infos, number_or_text
from rankwood._scoring import Scorer


@dataclass(frozen=True)
class Round:
    """One round of training, the argument of callbacks.

    Attributes
    ----------
    round : int
        Number of the round, from 1.
    n_rounds : int
        Maximum number of rounds.
    best_round : int
        Best round so far by the metric that stops training, from 1; 0 without a validation set.
    best_value : float
        Value of that metric in the best round; 0 without a validation set.
    metrics : dict[str, dict[str, float]]
        Metric values by set (``"train"``, then those of ``valid``) and metric.
    ms : float
        Duration of the round in milliseconds.
    fold : int | None
        Number of the fold in :func:`cv`, from 0; otherwise None.

    Examples
    --------
    >>> seen = []
    >>> _ = rankwood.train({"rounds": 3}, data, callbacks=[lambda done: seen.append(done.round)])
    >>> seen
    [1, 2, 3]
    """

    round: int
    n_rounds: int
    best_round: int
    best_value: float
    metrics: dict[str, dict[str, float]]
    ms: float
    fold: int | None = None


Callback = Callable[[Round], Any]

# The library's metrics whose lower values are better.
LOWER_IS_BETTER = ("rmse", "logloss")


@dataclass(frozen=True)
class PositionBias:
    """Position bias that training with ``debias`` estimated, after its last round.

    Attributes
    ----------
    round : int
        Number of rounds of training; the model may have fewer.
    given : bool
        True if the propensities were given (``propensities``) instead of estimated.
    position : array of uint32
        Displayed positions that have documents, ascending.
    n_docs : array of uint64
        Number of documents at each position.
    bias : array of float64 | None
        With ``debias="additive"``, the term that was added to the scores of documents at each position; otherwise None.
    propensity : array of float64
        Probability of examination relative to the first position, from 1/1024 to 1024. With ``debias="ipw"`` it is t+
        of Unbiased LambdaMART. With ``"additive"`` it is exp(sigma * (bias - bias of the first position)).
    unclicked : array of float64 | None
        With ``debias="ipw"``, t- of Unbiased LambdaMART, the same for unclicked documents; otherwise None.

    Examples
    --------
    >>> position = np.concatenate([np.arange(n) for n in np.bincount(qid)])
    >>> clicks = rankwood.Dataset(X, y > 1, qid=qid, position=position)
    >>> found = rankwood.train({"rounds": 5, "debias": "ipw"}, clicks).position_bias
    >>> found.position.shape == found.propensity.shape
    True
    """

    round: int
    given: bool
    position: npt.NDArray[np.uint32]
    n_docs: npt.NDArray[np.uint64]
    bias: npt.NDArray[np.float64] | None
    propensity: npt.NDArray[np.float64]
    unclicked: npt.NDArray[np.float64] | None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write positions and propensities to a file for the parameter ``propensities`` of another training.

        Parameters
        ----------
        path : str or path
            File to write.

        Returns
        -------
        None

        Raises
        ------
        OSError
            The file cannot be written.

        Examples
        --------
        >>> position = np.concatenate([np.arange(n) for n in np.bincount(qid)])
        >>> clicks = rankwood.Dataset(X, y > 1, qid=qid, position=position)
        >>> model = rankwood.train({"rounds": 5, "debias": "ipw"}, clicks)
        >>> model.position_bias.save("p.txt")
        >>> again = rankwood.train({"rounds": 5, "debias": "ipw", "propensities": "p.txt"}, clicks)
        """
        write_propensities(path, self.position, self.propensity)


def write_propensities(path: str | os.PathLike[str], positions: Any, propensities: Any) -> None:
    """Write a file for the parameter ``propensities``."""
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{one} {float(value)!r}\n" for one, value in zip(positions, propensities, strict=True))


# ---- progress ----

SECONDS = 1.0  # between two lines, and before the first one; shorter work shows nothing


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _text(done: Round) -> str:
    parts = [f"round {done.round}/{done.n_rounds}"]
    parts += [
        f"{name} {metric} {value:.5f}" for name, values in done.metrics.items() for metric, value in values.items()
    ]
    if done.best_round:
        parts.append(f"best {done.best_value:.5f} in round {done.best_round}")
    return "  ".join(parts)


class _Done(NamedTuple):
    """Finished rounds or steps, their total number, and the text of the last one."""

    number: int
    total: int
    text: str


class Progress:
    """Progress of one training. A level of the logger "rankwood" above INFO silences it."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._done: _Done | None = None
        self._words: Callable[[], str] = str
        self._intro = ""
        self._shown = 0  # the round of the last line; 0 before the first line
        self._bar: Any = None
        self._leads = lib.rw_workers_number(context()) == 0  # one of the workers shows it
        silent = logger.level > logging.INFO
        self._bars = not silent and _in_notebook()
        self._prints = not silent and not self._bars and sys.stderr is not None and sys.stderr.isatty()

    def start(self, used: dict[str, int | float | str], stop_on: str | None, metric: str) -> None:
        """Called before the first round. stop_on: the validation set that stops training, if any."""
        n = int(used["early_stop"])
        if self._leads and stop_on is not None and n > 0:
            self._intro = f"{stop_on!r} stops training: {metric}, after {n} rounds without a better value"
            logger.info("%s", self._intro)

    def round(self, done: Round) -> None:
        """Called after each round."""
        self._after(_Done(done.round, done.n_rounds, ""), lambda: _text(done))

    def step(self, number: int, total: int, what: str) -> None:
        """Called after some steps of other work."""
        self._after(_Done(number, total, ""), lambda: f"{what} {100 * number // max(total, 1)} %")

    def _after(self, done: _Done, words: Callable[[], str]) -> None:
        self._done, self._words = done, words
        now = time.monotonic()
        if self._leads and now - self._last >= SECONDS:
            self._last = now
            self._show(done._replace(text=words()))

    def is_shown(self) -> bool:
        """Tells whether any progress was shown."""
        return self._shown > 0

    def end(self, note: str) -> None:
        """Called after the last round or step. note: a line about the result."""
        if self._done is not None and self._shown and self._shown < self._done.number:
            self._show(self._done._replace(text=self._words()))
        if self._shown and (self._bars or self._prints):
            self._write(note)
        elif self._leads:
            logger.info("%s", note)

    def _show(self, done: _Done) -> None:
        first, self._shown = not self._shown, done.number
        if first and self._intro and (self._bars or self._prints):
            self._write(self._intro)
        if self._bars:
            self._draw(done)
        elif self._prints:
            self._write(done.text)
        else:
            logger.info("%s", done.text)

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a closed terminal does not end training
            print(line, file=sys.stderr)

    def _draw(self, done: _Done) -> None:
        ipython = importlib.import_module("IPython.display")  # _in_notebook found it
        page = ipython.HTML(
            f'<progress value="{done.number}" max="{done.total}" style="vertical-align: middle"></progress> '
            f"<code>{html.escape(done.text)}</code>"
        )
        if self._bar is None:
            self._bar = ipython.display(page, display_id=True)
        else:
            self._bar.update(page)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows the progress of calls within the block if they take longer than a second."""
    progress = Progress()
    start = time.monotonic()
    with shown(lambda done, total: progress.step(done, total, what)):
        yield
    if progress.is_shown():
        progress.end(f"{what}: {time.monotonic() - start:.1f} s")


# ---- checkpoints ----

Path = str | os.PathLike[str]


def hook_checkpoints(checkpoint: Path | None, every: int | str | None, resume: Path | None, hooks: Any) -> Any:
    """Sets up checkpoints, and returns the objects that must outlive the hooks."""
    if every is not None and checkpoint is None:
        raise ParameterError("checkpoint_every has no effect without checkpoint")
    if isinstance(resume, str) and resume == "auto" and checkpoint is None:
        raise ParameterError("resume='auto' needs checkpoint, the file to resume from")
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
        raise ParameterTypeError(
            f"checkpoint_every is a {type(every).__name__}; expected a number of rounds, or a time such as '30s'"
        )
    if every is not None:
        check(lib.rw_checkpoints_set_every(context(), out, chars(str(every))))
    hooks.checkpoints = out
    return [out, *paths]


# ---- callbacks ----


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


def _takes_labels(metric: Callable[..., Any]) -> bool:
    """Tells whether the first argument of a metric is `y_true`, as in scikit-learn."""
    try:
        return next(iter(inspect.signature(metric).parameters), "") == "y_true"
    except (TypeError, ValueError):  # some builtin functions have no signature
        return False


class Training:
    """State that the library's callbacks of one training share."""

    def __init__(self, sets: list[Dataset], names: list[str], callbacks: Iterable[Callback]) -> None:
        self.sets = sets  # the training set first
        self.names = names
        self.callbacks = _functions(callbacks)
        self.error: BaseException | None = None
        self.interrupted = False
        self.has_started = False  # the first round
        self.evals: dict[str, dict[str, list[float]]] = {}
        self.used: dict[str, int | float | str] = {}
        self.gradients: Callable[..., Any] | None = None
        self.metric: Callable[..., Any] | None = None
        self.metric_name = ""  # name of the metric function
        self.metric_of_labels = False  # its arguments are labels and scores
        self.n_rounds = 0  # finished rounds
        self.stop_on: str | None = None  # the validation set that stops training
        self.fold: int | None = None  # of a cross-validation
        self.position_bias: PositionBias | None = None
        self.record: Any = None  # of _manifest, or None
        self.progress = Progress()

    def meet_workers(self, given: Mapping[str, Any], init: Scorer | None) -> None:
        """Checks that all workers have compatible parameters and data before they train together."""
        if _workers.count() == 1:
            return
        sets = dict(zip(self.names, self.sets, strict=True))
        own = {name: value for name, value in given.items() if name not in ("threads", "device")}
        same: dict[str, Any] = {
            "params": sorted((name, getattr(value, "__name__", value)) for name, value in own.items()),
            "valid": list(sets),
            "init": init.to_bytes() if init is not None else None,
            "manifest": self.record is not None,
        }
        _workers.check_same(same)
        _workers.check_same({f"the features of {name!r}": one._features_for_workers() for name, one in sets.items()})
        for name, one in sets.items():
            one._meet_workers(name)

    def hooks(self, given: dict[str, Any]) -> list[Any]:
        """Returns a struct rw_train_hooks and the objects that must outlive it; takes functions out of `given`."""
        handle = ffi.new_handle(self)
        hooks = ffi.new("struct rw_train_hooks *", {"user": handle})
        for member in ("on_start", "on_round", "should_stop"):
            setattr(hooks, member, getattr(lib, f"_rw_{member}"))
        hooks.allow_no_trees = are_no_trees_allowed()
        if callable(given.get("objective")):
            self.gradients = given.pop("objective")
            hooks.gradients = lib._rw_gradients
        return [hooks, handle, self._hook_metric(given, hooks)]

    def _hook_metric(self, given: dict[str, Any], hooks: Any) -> Any:
        metric = given.get("metric")
        functions = [one for one in (metric if isinstance(metric, (list, tuple)) else [metric]) if callable(one)]
        if not functions:
            return None
        if len(functions) > 1:
            raise ParameterError(f"metric has {len(functions)} functions; expected one")
        function = functions[0]
        rest = [one for one in metric if one is not function] if isinstance(metric, (list, tuple)) else []
        given.pop("metric")
        if rest:
            given["metric"] = rest
        name = str(getattr(getattr(function, "func", function), "__name__", "metric"))
        held = ffi.new("char[]", chars(name))
        self.metric, self.metric_name, self.metric_of_labels = function, name, _takes_labels(function)
        hooks.metric = lib._rw_metric
        hooks.metric_name = held
        is_loss = self.metric_of_labels and name.endswith(("_error", "_loss", "_deviance"))  # scikit-learn's names
        hooks.metric_lower_is_better = int(bool(getattr(function, "lower_is_better", is_loss)))
        return held

    def measure(self, data: Dataset, scores: Floats) -> float:
        """Returns the value of the metric function."""
        assert self.metric is not None
        result = self.metric(data.label, scores) if self.metric_of_labels else self.metric(scores, data)
        try:
            return float(result)
        except (TypeError, ValueError, OverflowError):
            name, kind = self.metric_name, type(result).__name__
            raise DataError(f"the metric {name!r} returned a {kind}; expected a number") from None

    def guard(self, call: Callable[[], int | None]) -> int:
        """Runs the caller's code. An exception ends training, and train raises it unchanged."""
        if self.error is not None:
            return 1
        try:
            return call() or 0
        except KeyboardInterrupt:  # raised in the callback, or a second Ctrl-C
            self.interrupted = True
            return 1
        except BaseException as error:  # train raises it again
            self.error = error
            _workers.note(error)
            return 1

    def result(self, status: int, out: Any, free: Callable[[Any], None]) -> Any:
        """Returns the object that C made, or raises the exception of the caller's code or KeyboardInterrupt.

        Ctrl-C within a round ends training with the best model so far, as it does between rounds.
        """
        stopped = take_stopped()
        if isinstance(stopped, KeyboardInterrupt):
            self.interrupted = True
        elif self.error is None:
            self.error = stopped
        if self.error is not None:
            free(out[0])
            raise self.error
        if self.interrupted and status != lib.RW_OK:
            raise KeyboardInterrupt
        return made(status, out, free)

    def is_over(self) -> bool:
        """Tells whether training was interrupted or ended by an exception."""
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
        done = Round(c.round, c.n_rounds, c.best_round, c.best_value, metrics, c.ms, self.fold)
        if self.fold is None:  # a cross-validation shows the progress of all folds
            self.progress.round(done)
        stop = False
        for callback in self.callbacks:
            stop = bool(callback(done)) or stop
        return int(stop)


def _doubles(pointer: Any, n: int, writable: bool = False) -> Floats:
    """Returns a view of C's doubles, without a copy."""
    array = view(pointer, n, np.float64)
    array.flags.writeable = writable
    return array


def on_error(_kind: Any, error: BaseException, traceback: Any) -> None:
    """Keeps an exception that a signal handler raised as a callback began, before its `try`."""
    training: Training = ffi.from_handle(traceback.tb_frame.f_locals["user"])
    if isinstance(error, KeyboardInterrupt):
        training.interrupted = True
    elif training.error is None:
        training.error = error


@contextmanager
def ctrl_c(training: Training) -> Iterator[None]:
    """The first Ctrl-C ends training after the current round; a second one interrupts Python code.

    Before the first round, the first Ctrl-C interrupts immediately.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def first(_signal: int, _frame: Any) -> None:
        if not training.has_started and _workers.count() == 1:
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, signal.default_int_handler)
        training.interrupted = True

    signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@ffi.def_extern(onerror=on_error)
def _rw_on_start(user: Any, used: Any) -> None:
    training: Training = ffi.from_handle(user)
    training.has_started = True
    for info in infos():
        name = text(info.name)
        training.used[name.replace("-", "_")] = number_or_text(text(lib.rw_params_get(used, info.name)))
    training.guard(warn_no_effect)
    if training.record is not None:
        training.guard(lambda: training.record.begin(used))
    metric = training.metric_name or str(training.used["metric"]).split(",")[0]
    stop_set = lib.rw_ctx_stopping_valid_set(context())
    training.stop_on = training.names[stop_set] if stop_set else None
    training.progress.start(training.used, training.stop_on, metric)


@ffi.def_extern(onerror=on_error)
def _rw_on_resume(user: Any, c: Any) -> None:
    training: Training = ffi.from_handle(user)
    training.on_resume(c)


@ffi.def_extern(onerror=on_error)
def _rw_on_round(user: Any, c: Any) -> int:
    training: Training = ffi.from_handle(user)
    stop = training.guard(lambda: training.on_round(c))
    return 0 if training.is_over() else stop  # should_stop reports it, so that the model records it


@ffi.def_extern(onerror=on_error)
def _rw_on_positions(user: Any, c: Any) -> None:
    training: Training = ffi.from_handle(user)

    def of(pointer: Any, kind: Any) -> Any:
        return None if pointer == ffi.NULL else view(pointer, c.n, kind).copy()

    training.position_bias = PositionBias(
        c.round, bool(c.is_given), of(c.position, np.uint32), of(c.n_docs, np.uint64), of(c.bias, np.float64),
        of(c.propensity, np.float64), of(c.unclicked, np.float64),
    )  # fmt: skip


@ffi.def_extern(error=1, onerror=on_error)
def _rw_should_stop(user: Any) -> int:
    training: Training = ffi.from_handle(user)
    return int(training.is_over())


@ffi.def_extern(error=1, onerror=on_error)
def _rw_gradients(user: Any, _train: Any, scores: Any, gradients: Any, hessians: Any) -> int:
    training: Training = ffi.from_handle(user)
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
            raise DataError(f"hessian of document {first_below} (from 0){shard()} is below 0")
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
        raise DataError(f"{what} of document {bad[0]} (from 0){shard()} is {out[bad[0]]}")
    return out


@ffi.def_extern(error=1, onerror=on_error)
def _rw_metric(user: Any, dataset: Any, scores: Any, value: Any) -> int:
    training: Training = ffi.from_handle(user)

    def call() -> int:
        data = next(
            (one for one in training.sets if one._is(dataset)),
            training.sets[0],
        )
        value[0] = training.measure(data, data._in_caller_order(_doubles(scores, data.n_docs)))
        return 0

    return training.guard(call)


# ---- arguments ----


def valid_sets(
    valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None, stop_on: str | None
) -> dict[str, Dataset]:
    """Returns validation sets by name, with the one that stops training first."""
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
            raise ParameterTypeError(f"a validation set has the name {name!r}; expected a string")
        need_labels(one, f"validation set {name!r}")
    if "train" in sets:
        raise ParameterError("a validation set cannot have the name 'train'")
    if stop_on is not None:
        if stop_on not in list(sets):
            raise ParameterError(f"stop_on is {stop_on!r}; the validation sets are {list(sets)}")
        sets = {stop_on: sets[stop_on], **sets}
    return sets


@contextmanager
def named_params(
    given: Mapping[str, Any], strict: bool | None, names: list[str] | None, sets: Sequence[str] | None = None
) -> Iterator[Params]:
    """Yields a training's parameters, with the feature names in a temporary file that the library reads.

    Within the block, messages use these names, and those of validation sets. ParameterError: the parameter 'names' is
    given, but the data has names.
    """
    path = ""
    if names is not None:
        import tempfile  # imported here because it is slow to import

        handle, path = tempfile.mkstemp(suffix=".names")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            held = _columns.names_in_file(names)
            file.writelines(f"{i} {name}\n" for i, name in enumerate(held) if name)
    try:
        with caller_names(names, sets):
            c = Params(given, strict)
            if path and c.get("names"):
                raise ParameterError("parameter 'names' is given, but the data has feature names")
            if path:
                c.set("names", path)
            yield c
    finally:
        if path:
            os.unlink(path)


def need_measured(c: Params, hooks: Any, has_valid: bool) -> None:
    """Raises ParameterError if a metric function is given but no set is measured."""
    if hooks.metric != ffi.NULL and not has_valid and c.get("train-metric") != "on":
        raise ParameterError("metric is a function; it needs a validation set or train_metric=True")
