"""The layer between Python and the library: errors, contexts, strings and log records.

Each thread has a context of the library, which holds its error text and settings. `check` turns a failed call into an
exception of the classes below. `in_python` rewrites messages of the library, which name options of the program, with
Python's names. Notes and warnings of the library become records of the logger "rankwood". Warnings of parameters
without effect become a NoEffectWarning.
"""

from __future__ import annotations

import functools
import importlib
import logging
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import index
from typing import Any, TypeVar

from rankwood._ffi import ffi as ffi
from rankwood._ffi import lib as lib

T = TypeVar("T")

logger = logging.getLogger("rankwood")


class RankwoodError(Exception):
    """Base class of Rankwood's own errors.

    Each subclass is also the builtin exception that fits it, so ``except ValueError`` catches a
    :class:`ParameterError`.

    Examples
    --------
    >>> try:
    ...     rankwood.train({"leaves": 1}, data)
    ... except rankwood.RankwoodError as error:
    ...     print(type(error).__name__)
    ParameterError
    """


class DataError(RankwoodError, ValueError):
    """The data is invalid: wrong shapes, invalid labels or queries, or malformed text.

    It is also a :class:`ValueError`.

    Examples
    --------
    >>> try:
    ...     rankwood.Dataset(X, y[:-1], qid=qid)
    ... except rankwood.DataError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class DataTypeError(DataError, TypeError):
    """The data has a type that cannot be converted to numbers.

    It is also a :class:`TypeError`.

    Examples
    --------
    >>> try:
    ...     rankwood.Dataset(X, y, qid=qid, missing="none")
    ... except rankwood.DataTypeError as error:
    ...     print(error)
    missing is 'none'; expected a number
    """


class ParameterError(RankwoodError, ValueError):
    """A parameter is unknown, out of range or, with ``strict=True``, without effect.

    It is also a :class:`ValueError`. The message suggests the nearest known name.

    Examples
    --------
    >>> try:
    ...     rankwood.train({"num_leaves": 31}, data)
    ... except rankwood.ParameterError as error:
    ...     print(error)
    unknown parameter 'num_leaves'; the nearest is 'leaves'
    """


class ParameterTypeError(ParameterError, TypeError):
    """A parameter or argument has a type that it cannot have.

    It is also a :class:`TypeError`.

    Examples
    --------
    >>> try:
    ...     rankwood.train([("leaves", 31)], data)
    ... except rankwood.ParameterTypeError as error:
    ...     print(error)
    params is a list; expected a dictionary
    """


class NoEffectWarning(UserWarning):
    """A parameter has no effect with the other parameters.

    Each parameter is reported once per process. With ``strict=True`` a :class:`ParameterError` is raised instead.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = rankwood.train({"rounds": 2, "permutations": 20}, data)
    >>> [one.category.__name__ for one in caught]
    ['NoEffectWarning']
    """


class FormatError(RankwoodError, ValueError):
    """A cache, model or checkpoint is damaged, or was written by an incompatible version.

    It is also a :class:`ValueError`.

    Examples
    --------
    >>> try:
    ...     rankwood.Model.from_bytes(b"not a model")
    ... except rankwood.FormatError as error:
    ...     print(type(error).__name__)
    FormatError
    """


class FileError(RankwoodError, OSError):
    """The operating system refused an operation on a file: missing file, no permission or a full disk.

    It is also an :class:`OSError`.

    Examples
    --------
    >>> try:
    ...     rankwood.Model.load("missing.txt")
    ... except rankwood.FileError as error:
    ...     print(isinstance(error, OSError))
    True
    """


class OutOfMemoryError(RankwoodError, MemoryError):
    """An allocation failed, on the host or on the GPU.

    It is also a :class:`MemoryError`.

    Examples
    --------
    >>> issubclass(rankwood.OutOfMemoryError, MemoryError)
    True
    """


class UnsupportedError(RankwoodError, NotImplementedError):
    """This build, this device or a model format does not support the request.

    It is also a :class:`NotImplementedError`.

    Examples
    --------
    >>> issubclass(rankwood.UnsupportedError, NotImplementedError)
    True
    """


class WorkerError(RankwoodError, ConnectionError):
    """Another worker failed or cannot be reached; the message names it and, if known, the cause.

    It is also a :class:`ConnectionError`. ``RankError`` is its name in versions before 0.3.

    Examples
    --------
    >>> rankwood.RankError is rankwood.WorkerError
    True
    """


RankError = WorkerError  # the name before 0.3


class InternalError(RankwoodError, RuntimeError):
    """The library broke one of its own guarantees; please report it as a bug.

    It is also a :class:`RuntimeError`.

    Examples
    --------
    >>> issubclass(rankwood.InternalError, RuntimeError)
    True
    """


_ERRORS: dict[int, type[RankwoodError]] = {
    lib.RW_ERR_MEMORY: OutOfMemoryError,
    lib.RW_ERR_IO: FileError,
    lib.RW_ERR_PARSE: DataError,
    lib.RW_ERR_FORMAT: FormatError,
    lib.RW_ERR_DATA: DataError,
    lib.RW_ERR_ARGUMENT: ParameterError,
    lib.RW_ERR_UNSUPPORTED: UnsupportedError,
    lib.RW_ERR_INTERNAL: InternalError,
    lib.RW_ERR_MACHINE: FileError,
}

_LEVELS = {
    lib.RW_LOG_DEBUG: logging.DEBUG,
    lib.RW_LOG_NOTE: logging.INFO,
    lib.RW_LOG_WARNING: logging.WARNING,
}


def _on_poll_error(_kind: Any, error: BaseException, _traceback: Any) -> None:
    """Keeps an exception that a signal handler raised during a C call, for `check` to raise."""
    _per_thread.stopped = error


@ffi.def_extern(onerror=_on_poll_error)
def _rw_on_log(_user: Any, level: int, line: Any) -> None:
    if lib.rw_log_parameter(context()) != ffi.NULL:
        _per_thread.no_effect.append(in_python(text(line)))
        return
    logger.log(_LEVELS.get(level, logging.INFO), "%s", in_python(text(line)))


@ffi.def_extern(error=1, onerror=_on_poll_error)
def _rw_on_poll(_user: Any, progress: Any) -> int:
    if _per_thread.stopped is not None:  # raised as a log record was written
        return 1
    show = _per_thread.show
    if show is not None and progress.total:
        show(int(progress.done), int(progress.total))
    return 0


def text(chars: Any) -> str:
    """Converts a C string, which may hold any bytes of a file name."""
    string: bytes = ffi.string(chars)
    return string.decode("utf-8", "surrogateescape")


def string_of(chars: Any) -> str | None:
    """Converts a C string; NULL becomes None."""
    return None if chars == ffi.NULL else text(chars)


def c_strings(strings: Iterable[bytes]) -> tuple[Any, Any]:
    """Returns a char *[] and the objects that must outlive it."""
    held = [ffi.new("char[]", one) for one in strings]
    return ffi.new("char *[]", held), held


def c_struct(kind: str, texts: Mapping[str, bytes | None], **numbers: Any) -> tuple[Any, Any]:
    """Returns a struct with these strings and numbers, and the objects that must outlive it. None becomes NULL."""
    held = {name: ffi.new("char[]", one) for name, one in texts.items() if one is not None}
    return ffi.new(f"struct {kind} *", {**held, **numbers}), held


# Program options that have another form in Python; in all other names, `_` replaces `-`.
_OPTIONS = {"weights": "weight", "names": "feature_names", "lossy": "lossy=True", "feature-base": "feature_base"}
# Options whose names also occur as words in messages.
_WORDS = {"featureset": "featureset", "name": "name", "for": "export_for"}


@functools.cache
def _option() -> tuple[re.Pattern[str], dict[str, str]]:
    """Returns a pattern that finds names of parameters and options with their values, and the range of each name."""
    ranges: dict[str, str] = dict.fromkeys(_OPTIONS, "")
    i = 0
    while (info := lib.rw_param_info(i)) != ffi.NULL:
        ranges[text(info.name)] = text(info.range)
        i += 1
    names = "|".join(sorted(ranges, key=len, reverse=True))
    return re.compile(rf"(?<![\w/.-])(--)?({names})(?![\w-]|\.\w)( [a-z0-9][a-z0-9.+-]*(?<!\.))?"), ranges


# Hints that contain program commands, and the corresponding Python calls.
_HINTS = (
    (re.compile(r"(?<=hint: )rankwood import ('.*') --from (\S+) -o MODEL"), r"Model.import_from(\1, '\2')"),
    (re.compile("MODEL comes before DATA"), "Model.load reads a model, Dataset reads data"),
    (re.compile("it needs no import; pass it as MODEL"), "it needs no import; Model.load reads it"),
)


def _called(found: re.Match[str], names: Sequence[str] | None, first: int) -> str:
    """Replaces a number by a name if there is one. names[0] belongs to number `first`."""
    i = int(found[2]) - first
    name = names[i] if names is not None and 0 <= i < len(names) else ""
    return f"{found[1]} {name!r}" if name else found[0]


def in_python(message: str) -> str:
    """Rewrites a message of the library for Python.

    `--min-docs 3` becomes `min_docs=3`, and `--ties mean` becomes `ties="mean"`. Features and validation sets get
    the caller's names (see caller_names).
    """
    pattern, ranges = _option()

    def named(found: re.Match[str]) -> str:
        is_option, name, value = found[1], found[2], found[3] or ""
        if not is_option:
            return name.replace("-", "_") + value
        ours = _OPTIONS.get(name, name.replace("-", "_"))
        if re.fullmatch(r" \d[\d.]*(e[+-]?\d+)?", value):
            return f"{ours}={value[1:]}"
        if value and value[1:] in ranges[name].split("|"):
            return f'{ours}="{value[1:]}"'
        return ours + value

    for program, here in _HINTS:
        message = program.sub(here, message)
    message = re.sub(r"(?<![\w-])--(featureset|name|for)(?![\w-])", lambda found: _WORDS[found[1]], message)
    message = pattern.sub(named, message)
    message = re.sub(r"\b(feature) (\d+)\b(?!\.\d)", lambda found: _called(found, _per_thread.features, 0), message)
    return re.sub(r"\b(validation set) (\d+)\b", lambda found: _called(found, _per_thread.sets, 1), message)


def chars(string: str) -> bytes:
    """Converts a Python string to a C string."""
    if not isinstance(string, str):
        raise ParameterTypeError(f"{string!r} is a {type(string).__name__}; expected a string")
    return _c_text(string, lambda: string.encode("utf-8", "surrogateescape"))


def path_chars(path: str | bytes | os.PathLike[Any]) -> bytes:
    """Converts a path to a C string."""
    try:
        return _c_text(path, lambda: os.fsencode(path))
    except TypeError:
        raise ParameterTypeError(f"{path!r} is a {type(path).__name__}; expected a path") from None


def _c_text(given: Any, encode: Callable[[], bytes]) -> bytes:
    try:
        out = encode()
    except UnicodeEncodeError:
        raise ParameterError(f"{given!r} is not valid text: it has half of a surrogate pair") from None
    if b"\0" in out:
        raise ParameterError(f"{given!r} contains a character 0")
    return out


def whole(value: Any, name: str, least: int, most: int) -> int:
    """Checks an argument that must be a whole number from `least` to `most`."""
    try:
        number = index(value)
    except TypeError:
        raise ParameterTypeError(f"{name} is {value!r}; expected a whole number, {least} to {most}") from None
    if isinstance(value, bool) or not least <= number <= most:
        raise ParameterError(f"{name} is {value!r}; expected {least} to {most}")
    return number


def not_negative(value: Any, name: str) -> float:
    """Checks an argument that must be a finite number of 0 or more."""
    wrong = f"{name} is {value!r}; expected a number, 0 or more"
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ParameterTypeError(wrong) from None
    if isinstance(value, bool):
        raise ParameterTypeError(wrong)
    if not 0 <= number < float("inf"):
        raise ParameterError(wrong)
    return number


def shard() -> str:
    """Returns the text that follows a document number counted within this worker's shard."""
    number = lib.rw_workers_number(context())
    return f" of worker {number}'s shard" if number > 0 else ""


def need(value: Any, kind: type[T], name: str) -> T:
    """Checks that an argument is an instance of a class of this package."""
    if not isinstance(value, kind):
        raise ParameterTypeError(f"{name} is a {type(value).__name__}; expected a rankwood.{kind.__name__}")
    return value


class _PerThread(threading.local):
    def __init__(self) -> None:
        out = ffi.new("struct rw_ctx **")
        if lib.rw_ctx_new(out) != lib.RW_OK:
            raise OutOfMemoryError("out of memory")
        self.ctx = ffi.gc(out[0], lib.rw_ctx_free)
        lib.rw_ctx_set_log(self.ctx, lib._rw_on_log, ffi.NULL)
        self.raised: BaseException | None = None  # by the carrier between workers
        self.features: Sequence[str] | None = None  # names in messages; "" for a feature without a name
        self.sets: Sequence[str] | None = None
        self.no_effect: list[str] = []  # pending warnings of the library
        self.allow_no_trees = False
        self.stopped: BaseException | None = None  # by a signal handler during a C call
        self.show: Callable[[int, int], None] | None = None
        self.poll()

    def poll(self) -> None:
        """Makes long calls run signal handlers; Python runs them in the main thread only."""
        if threading.current_thread() is threading.main_thread():
            lib.rw_ctx_set_poll(self.ctx, lib._rw_on_poll, ffi.NULL)


_per_thread = _PerThread()


def context() -> Any:
    """Returns the calling thread's context, the `ctx` argument of the library's functions."""
    return _per_thread.ctx


@contextmanager
def caller_names(features: Sequence[str] | None, sets: Sequence[str] | None = None) -> Iterator[None]:
    """Within the block, messages of the library use these names of features and validation sets."""
    before = _per_thread.features, _per_thread.sets
    _per_thread.features, _per_thread.sets = features, sets or before[1]
    try:
        yield
    finally:
        _per_thread.features, _per_thread.sets = before


def set_raised(error: BaseException | None) -> None:
    """Keeps the Python exception that the thread's next failing call will raise."""
    _per_thread.raised = error


def warn(message: str, kind: type[Warning] = UserWarning) -> None:
    """Issues a warning at the caller's line outside this package."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "rankwood":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


def warn_no_effect() -> None:
    """Issues the pending warnings of parameters without effect."""
    waiting, _per_thread.no_effect = _per_thread.no_effect, []
    for message in waiting:
        warn(message, NoEffectWarning)


@contextmanager
def no_trees_allowed() -> Iterator[None]:
    """Within the block, training without a possible split gives a model without trees, and a warning."""
    _per_thread.allow_no_trees = True
    try:
        yield
    finally:
        _per_thread.allow_no_trees = False


def are_no_trees_allowed() -> bool:
    """Tells whether the caller is within no_trees_allowed."""
    return _per_thread.allow_no_trees


def take_stopped() -> BaseException | None:
    """Returns and clears the exception that a signal handler raised during the last call, if any."""
    stopped = _per_thread.stopped
    if stopped is not None:
        _per_thread.stopped, _per_thread.raised = None, None
        _per_thread.poll()
    return stopped


def check(status: int) -> None:
    """Raises the exception for a failed call.

    The text is that of the calling thread's context. An exception of a signal handler has precedence.
    """
    if (stopped := take_stopped()) is not None:
        raise stopped
    if _per_thread.no_effect:
        warn_no_effect()
    if status != lib.RW_OK:
        error, _per_thread.raised = _per_thread.raised, None
        if error is not None:
            raise error
        raise _ERRORS.get(status, InternalError)(in_python(text(lib.rw_last_error(context()))))


@contextmanager
def using_threads(threads: int | None) -> Iterator[None]:
    """Within the block, calls of this thread use this number of threads; None leaves it as it is."""
    if threads is None:
        yield
        return
    before = lib.rw_ctx_threads(context())
    check(lib.rw_ctx_set_threads(context(), whole(threads, "threads", 1, lib.RW_MAX_THREADS)))
    try:
        yield
    finally:
        lib.rw_ctx_set_threads(context(), before)


def package(name: str, extra: str) -> Any:
    """Imports an optional package. The ImportError names the extra to install."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        text = f"rankwood.{extra} needs {name.split('.')[0]}: pip install 'rankwood[{extra}]'"
        raise ImportError(text, name=name) from error


def made(status: int, out: Any, free: Any) -> Any:
    """Returns the object that a successful call created, and frees it when it is garbage."""
    owned = ffi.gc(out[0], free) if status == lib.RW_OK else None
    check(status)
    return owned


@contextmanager
def shown(show: Callable[[int, int], None]) -> Iterator[None]:
    """Within the block, calls in the main thread report their progress to `show(done, total)`."""
    _per_thread.show = show
    try:
        yield
    finally:
        _per_thread.show = None
