"""Training with several workers: carriers of bytes between them, and exchanges of small values.

`workers` makes the calling thread a worker until its block ends. The library calls the carrier through the functions
below, and `agreed` makes an error of one worker known to all of them. To add a carrier, write a subclass of Carrier and
a function like rankwood.zmq.workers that creates it.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwood._columns import pointer, view
from rankwood._core import (
    DataError,
    ParameterError,
    ParameterTypeError,
    WorkerError,
    chars,
    check,
    context,
    ffi,
    lib,
    set_raised,
    text,
)

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[Any]  # uint32 or uint64


class Carrier:
    """Base class for the exchange of bytes between workers; pass an instance to :func:`rankwood.workers`.

    A subclass defines the attributes and ``all_reduce``, ``all_gather``, ``swap`` and ``abort``. All workers call the
    same methods in the same order. Arrays are contiguous views of the library's memory and must not be used after the
    call. An exception in a method ends training and is raised unchanged.

    Attributes
    ----------
    name : str
        Name of the carrier in messages.
    rank : int
        Number of this worker, from 0.
    n_ranks : int
        Number of workers.

    Examples
    --------
    >>> class Alone(rankwood.Carrier):
    ...     name, rank, n_ranks = "alone", 0, 1
    ...     def all_reduce(self, buffer, op): pass
    ...     def all_gather(self, send, recv): recv[0] = send
    >>> with rankwood.workers(Alone()) as here:
    ...     print(here.rank, here.n_ranks)
    0 1
    """

    name: str
    rank: int
    n_ranks: int
    ends_process = False  # does `close` end the process after `abort`?

    def all_reduce(self, buffer: Numbers, op: str) -> None:
        """Combine the arrays of all workers in place.

        Parameters
        ----------
        buffer : array of uint32 or uint64, shape (n,)
            This worker's numbers; afterwards, the combined ones.
        op : {"sum", "min", "max"}
            Operation. Sums wrap around.

        Returns
        -------
        None

        Raises
        ------
        WorkerError
            Another worker failed.
        """
        raise NotImplementedError

    def all_gather(self, send: Bytes, recv: Bytes) -> None:
        """Collect the bytes of all workers.

        Parameters
        ----------
        send : array of uint8, shape (n,)
            This worker's bytes.
        recv : array of uint8, shape (n_ranks, n)
            Receives the bytes of all workers.

        Returns
        -------
        None

        Raises
        ------
        WorkerError
            Another worker failed.
        """
        raise NotImplementedError

    def swap(self, to: int, send: Bytes, source: int, recv: Bytes) -> None:
        """Send bytes to one worker while receiving bytes from another one.

        An empty array is not sent; the other worker knows its size and expects nothing.

        Parameters
        ----------
        to : int
            Worker to send to.
        send : array of uint8
            Bytes to send.
        source : int
            Worker to receive from.
        recv : array of uint8
            Receives the bytes.

        Returns
        -------
        None

        Raises
        ------
        WorkerError
            Another worker failed.
        """
        raise NotImplementedError

    def abort(self, why: str) -> None:
        """Announce that this worker failed, so that calls of the other workers raise :class:`WorkerError`.

        Parameters
        ----------
        why : str
            Message for the other workers; empty if this worker failed because another one did.

        Returns
        -------
        None
        """

    def has_failed(self) -> bool:
        """Return whether another worker is known to have failed, without communication.

        Returns
        -------
        bool
            False by default.
        """
        return False

    def close(self) -> None:
        """End the use of the carrier. It must not raise."""

    def _turns(self) -> Iterator[tuple[int, int]]:
        """Yields a worker to send to and a worker to receive from, once for each other worker."""
        for k in range(1, self.n_ranks):
            yield (self.rank + k) % self.n_ranks, (self.rank - k) % self.n_ranks

    def _reduce_scatter(self, send: Numbers, recv: Numbers) -> None:
        recv[:] = send[self.rank]
        other = np.empty_like(recv)
        for to, source in self._turns():
            self.swap(to, send[to].view(np.uint8), source, other.view(np.uint8))
            recv += other

    def _all_to_all(self, send: list[Bytes], recv: list[Bytes]) -> None:
        recv[self.rank][:] = send[self.rank]
        for to, source in self._turns():
            self.swap(to, send[to], source, recv[source])


class Workers(NamedTuple):
    """Result of :func:`rankwood.workers`: this worker's number and the number of workers.

    Attributes
    ----------
    rank : int
        Number of this worker, from 0.
    n_ranks : int
        Number of workers.

    Examples
    --------
    >>> rankwood.Workers(rank=0, n_ranks=4).n_ranks
    4
    """

    rank: int
    n_ranks: int


Ranks = Workers  # the name before 0.3, like `ranks` at the end


_meetings = itertools.count(1)
_here = threading.local()


def meeting() -> int:
    """Returns a number for the `with workers()` block in which the thread is; 0 outside of one."""
    return int(getattr(_here, "meeting", 0))


def note(error: BaseException) -> None:
    """Keeps the message that other workers get if this one ends now."""
    _here.why = describe(error)


# ---- callbacks of the library ----

_TYPES = {lib.RW_COMM_U32: np.dtype(np.uint32), lib.RW_COMM_U64: np.dtype(np.uint64)}
_OPS = {lib.RW_COMM_SUM: "sum", lib.RW_COMM_MIN: "min", lib.RW_COMM_MAX: "max"}


class _Joined:
    """A carrier in use."""

    def __init__(self, carrier: Carrier) -> None:
        self.carrier = carrier
        self.is_over = False

    def fail(self, error: BaseException) -> int:
        set_raised(error)
        self.abort("" if isinstance(error, WorkerError) else describe(error))
        return 1

    def abort(self, why: str) -> None:
        if not self.is_over:
            self.is_over = True
            self.carrier.abort(why)

    def guard(self, call: Callable[[], None]) -> int:
        try:
            call()
        except BaseException as error:  # check raises it again
            return self.fail(error)
        return 0


def describe(error: BaseException) -> str:
    """Returns an exception's message for other workers, with its class unless this package defines it."""
    said = str(error)
    if isinstance(error, (DataError, ParameterError)):
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _on_error(_kind: Any, error: BaseException, traceback: Any) -> None:
    """Handles an exception that a signal handler raised as a callback began, before its `try`."""
    joined: _Joined = ffi.from_handle(traceback.tb_frame.f_locals["user"])
    joined.fail(error)


def _parts(begin: Any, sizes: Any, n: int) -> list[Bytes]:
    offsets = np.concatenate(([0], np.cumsum([sizes[r] for r in range(n)], dtype=np.int64)))
    whole = view(begin, int(offsets[n]), np.uint8) if offsets[n] else np.empty(0, np.uint8)
    return [whole[offsets[r] : offsets[r + 1]] for r in range(n)]


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_all_reduce(user: Any, buffer: Any, n: int, kind: int, op: int, _stream: Any) -> int:
    joined: _Joined = ffi.from_handle(user)
    return joined.guard(lambda: joined.carrier.all_reduce(view(buffer, n, _TYPES[kind]), _OPS[op]))


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_reduce_scatter(user: Any, send: Any, recv: Any, n_each: int, kind: int, _stream: Any) -> int:
    joined: _Joined = ffi.from_handle(user)
    n_ranks = joined.carrier.n_ranks

    def call() -> None:
        given = view(send, n_ranks * n_each, _TYPES[kind]).reshape(n_ranks, n_each)
        joined.carrier._reduce_scatter(given, view(recv, n_each, _TYPES[kind]))

    return joined.guard(call)


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_all_gather(user: Any, send: Any, recv: Any, n: int, _stream: Any) -> int:
    joined: _Joined = ffi.from_handle(user)
    n_ranks = joined.carrier.n_ranks

    def call() -> None:
        whole = view(recv, n_ranks * n, np.uint8).reshape(n_ranks, n)
        joined.carrier.all_gather(view(send, n, np.uint8), whole)

    return joined.guard(call)


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_all_to_all(user: Any, send: Any, n_send: Any, recv: Any, n_recv: Any) -> int:
    joined: _Joined = ffi.from_handle(user)
    n = joined.carrier.n_ranks
    return joined.guard(lambda: joined.carrier._all_to_all(_parts(send, n_send, n), _parts(recv, n_recv, n)))


@ffi.def_extern(onerror=_on_error)
def _rw_abort(user: Any) -> None:
    joined: _Joined = ffi.from_handle(user)
    said = text(lib.rw_last_error(context())).partition(": ")[2]  # after "worker 2"
    joined.abort(_here.why or said)


@ffi.def_extern(error=1)
def _rw_has_failed(user: Any) -> int:
    joined: _Joined = ffi.from_handle(user)
    return int(joined.is_over or joined.carrier.has_failed())


# ---- joining ----


@contextmanager
def workers(carrier: Carrier | str) -> Iterator[Workers]:
    """Make the calling thread one of several workers, within a ``with`` block.

    All workers make the same calls in the block. A :class:`Dataset` of files reads this worker's shard of them. Data in
    memory is this worker's shard, and its documents follow those of the previous worker. :func:`train` trains one model
    on all shards and returns it on every worker. Only worker 0 shows progress.

    Parameters
    ----------
    carrier : Carrier or str
        A :class:`Carrier`, or ``"mpi"`` for Rankwood's own MPI module in processes that mpirun or srun started.
        :func:`rankwood.zmq.workers`, :func:`rankwood.torch.workers` and :func:`rankwood.mpi.workers` use pyzmq,
        torch.distributed and mpi4py instead.

    Yields
    ------
    Workers
        ``rank`` and ``n_ranks``.

    Raises
    ------
    WorkerError
        Another worker failed or cannot be reached.
    ParameterError
        The thread is already a worker.
    UnsupportedError
        The ``"mpi"`` module is not installed.

    Examples
    --------
    >>> with rankwood.workers("mpi") as here:  # doctest: +SKIP
    ...     model = rankwood.train({"rounds": 20}, rankwood.Dataset("train.txt"))
    ...     if here.rank == 0:
    ...         model.save("model.txt")
    """
    if not isinstance(carrier, (Carrier, str)):
        raise ParameterTypeError(f"carrier is a {type(carrier).__name__}; expected a rankwood.Carrier or a name")
    c = context()
    if meeting():
        raise ParameterError("this thread is already a worker; leave the `with workers()` block before the next one")
    out = ffi.new("struct rw_comm **")
    joined = None
    if isinstance(carrier, str):
        check(lib.rw_comm_open(c, chars(carrier), out))
    else:
        joined = _Joined(carrier)
        handle = ffi.new_handle(joined)
        name = ffi.new("char[]", chars(carrier.name))
        functions = ffi.new("struct rw_comm_functions *")
        functions.name = name
        for member in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all", "abort", "has_failed"):
            setattr(functions, member, getattr(lib, f"_rw_{member}"))
        check(lib.rw_comm_new(c, functions, handle, carrier.rank, carrier.n_ranks, out))
    comm = out[0]
    check(lib.rw_ctx_set_comm(c, comm))
    _here.meeting, _here.all_know, _here.why = next(_meetings), False, ""
    if lib.rw_workers_number(c) > 0:
        lib.rw_ctx_set_log(c, ffi.NULL, ffi.NULL)
    error: BaseException | None = None
    try:
        yield Workers(lib.rw_workers_number(c), lib.rw_workers_count(c))
    except BaseException as raised:
        error = raised
        raise
    finally:
        _leave(c, comm, joined, error)


def _leave(c: Any, comm: Any, joined: _Joined | None, error: BaseException | None) -> None:
    if error is not None:
        note(error)
        lib.rw_workers_end(c)  # has no effect if all workers know the error
        is_over = lib.rw_workers_should_print(c)
        if joined is not None:
            is_over = joined.is_over and joined.carrier.ends_process
        if is_over and not _here.all_know:  # the process ends before Python could print the error
            traceback.print_exception(error)
            sys.stderr.flush()
    set_raised(None)
    _here.meeting = 0
    lib.rw_ctx_set_comm(c, ffi.NULL)
    lib.rw_ctx_set_log(c, lib._rw_on_log, ffi.NULL)
    lib.rw_comm_free(comm)
    if joined is not None:
        joined.carrier.close()


# ---- exchanges of small values ----


def count() -> int:
    """Returns the number of workers; 1 outside of `workers`."""
    return int(lib.rw_workers_count(context()))


def number() -> int:
    """Returns this worker's number."""
    return int(lib.rw_workers_number(context()))


def gather_numbers(own: npt.NDArray[np.uint64]) -> list[npt.NDArray[np.uint64]]:
    """Returns the numbers of all workers; each may have a different count."""
    sizes = np.zeros(count(), np.uint64)
    sizes[number()] = len(own)
    _sum(sizes)
    end = np.cumsum(sizes).astype(np.int64)
    whole = np.zeros(int(end[-1]), np.uint64)
    whole[int(end[number()]) - len(own) : int(end[number()])] = own
    _sum(whole)
    return np.split(whole, end[:-1])


def _sum(numbers: npt.NDArray[np.uint64]) -> None:
    check(lib.rw_workers_sum(context(), pointer(numbers), len(numbers)))


def gather_bytes(own: bytes) -> list[bytes]:
    """Returns the bytes of all workers. They are exchanged as one sum, so they must be few."""
    padded = np.frombuffer(own + bytes(-len(own) % 8), np.uint64)
    together = gather_numbers(np.concatenate((np.array([len(own)], np.uint64), padded)))
    return [one[1:].tobytes()[: int(one[0])] for one in together]


@contextmanager
def agreed() -> Iterator[None]:
    """All workers synchronise at the end of the block. If one of them raised, all raise."""
    if count() == 1:
        yield
        return
    try:
        yield
    except BaseException as error:
        _tell(error)
        raise
    _tell(None)


def _tell(error: BaseException | None) -> None:
    try:
        told = gather_bytes(describe(error).encode("utf-8", "surrogateescape") if error is not None else b"")
    except BaseException:
        if error is not None:  # the caller's error is the cause, or as important
            return
        raise
    first = next((rank for rank, one in enumerate(told) if one), None)
    if first is None:
        return
    # no more calls follow; this informs the library that all workers know the error
    lib.rw_workers_agree(context(), lib.RW_ERR_INTERRUPTED)
    _here.all_know = True
    if error is None:
        raise WorkerError(f"worker {first}: {told[first].decode('utf-8', 'surrogateescape')}")


def check_same(own: Mapping[str, Any]) -> None:
    """Raises ParameterError if workers have different values. own: values by name, compared by their repr."""
    digests = [hashlib.blake2b(_text(one), digest_size=8).digest() for one in own.values()]
    told = gather_numbers(np.frombuffer(b"".join(digests), np.uint64))
    with agreed():
        if len(told[number()]) != len(told[0]):
            raise ParameterError("this worker and worker 0 have different arguments; expected the same calls")
        for what, mine, first in zip(own, told[number()], told[0], strict=True):
            if mine != first:
                raise ParameterError(f"{what} of this worker and of worker 0 differ; expected the same on all workers")


def _text(one: Any) -> bytes:
    return one if isinstance(one, bytes) else repr(one).encode("utf-8", "backslashreplace")


def check_queries(ids: Sequence[bytes], what: str) -> None:
    """Raises DataError if two workers have documents of the same query."""
    hashes = [hashlib.blake2b(one, digest_size=8).digest() for one in ids]
    own = np.frombuffer(b"".join(hashes), np.uint64)
    values, times = np.unique(np.concatenate(gather_numbers(own)), return_counts=True)
    twice = values[times > 1]
    if len(twice) == 0:
        return
    suspects = [one for one, is_twice in zip(ids, np.isin(own, twice), strict=True) if is_twice]
    told = [one.split(b"\0") for one in gather_bytes(b"\0".join(suspects))]
    with agreed():
        for rank in range(number()):
            for one in suspects:
                if one in told[rank]:
                    raise DataError(
                        f"query '{one.decode('utf-8', 'replace')}' of {what} is on this worker and on worker {rank}; "
                        "expected all documents of a query on one worker"
                    )


def gather_sizes(own: int) -> list[int]:
    """Returns one number of each worker."""
    return [int(one[0]) for one in gather_numbers(np.array([own], np.uint64))]


ranks = workers
