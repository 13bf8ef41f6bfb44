"""Workers in processes of torchrun, and of programs that use torch.distributed; other launchers use rankwood.zmq.

PyTorch's gloo carries the bytes of the host. GPUs exchange theirs by NCCL, which the library loads itself.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import numpy as np

from rankwood._core import ParameterError, WorkerError, package
from rankwood._workers import Bytes, Carrier, Numbers, Workers
from rankwood._workers import workers as _join

_torch = package("torch", "torch")
_dist = package("torch.distributed", "torch")

LOOK_S = 5.0  # time in which a failed worker looks for the cause, or lets others look
_meetings: Counter[str] = Counter()  # number of meetings of each group, equal on all workers
_stores: dict[str, Any] = {}  # the last store, because workers may meet again at its address


class _Gloo(Carrier):
    """Carrier with separate gloo connections, so that closing them does not affect other groups.

    The reason for which a worker ended is in the store.
    """

    name = "torch"

    def __init__(self, store: Any, rank: int, n_ranks: int, timeout: float) -> None:
        self.rank, self.n_ranks = rank, n_ranks
        self._store = store
        self._asked = 0.0
        self._why = ""  # why this worker failed
        try:
            seconds = timedelta(seconds=timeout)
            self._group = _dist.ProcessGroupGloo(_dist.PrefixStore("gloo", store), rank, n_ranks, seconds)
        except RuntimeError as error:
            raise WorkerError(f"worker {rank}: not all {n_ranks} workers connected: {_first_line(error)}") from error

    # ---- exchanges ----

    def all_reduce(self, buffer: Numbers, op: str) -> None:
        options = _dist.AllreduceOptions()
        options.reduceOp = getattr(_dist.ReduceOp, op.upper())
        # gloo's integers are signed: sums have the same bits, and flipping the sign bit keeps the order
        signed = buffer.view(buffer.dtype.str.replace("u", "i"))
        first_bit = 0 if op == "sum" else np.iinfo(signed.dtype).min
        signed ^= first_bit
        self._carry(lambda group: [group.allreduce([_torch.from_numpy(signed)], options)])
        signed ^= first_bit

    def all_gather(self, send: Bytes, recv: Bytes) -> None:
        into = list(_torch.from_numpy(recv))
        self._carry(lambda group: [group.allgather([into], [_torch.from_numpy(send)])])

    def swap(self, to: int, send: Bytes, source: int, recv: Bytes) -> None:
        def begin(group: Any) -> list[Any]:
            sent = [group.send([_torch.from_numpy(send)], to, 0)] if len(send) else []
            return sent + ([group.recv([_torch.from_numpy(recv)], source, 0)] if len(recv) else [])

        self._carry(begin)

    # ---- failures ----

    def _carry(self, begin: Callable[[Any], list[Any]]) -> None:
        failure = _failure(begin, self._group)
        if failure:
            self.abort("")
            raise WorkerError(self._cause(failure))

    def abort(self, why: str) -> None:
        self._why = why
        with contextlib.suppress(RuntimeError):  # the store's process may have ended
            self._store.set(f"end/{self.rank}", why)
        self._group = None  # this closes the connections, so that calls of other workers fail

    def has_failed(self) -> bool:
        if time.monotonic() - self._asked < 0.25:  # each request of the store uses the network
            return False
        self._asked = time.monotonic()
        try:
            return any(r != self.rank and self._has_ended(r) for r in range(self.n_ranks))
        except RuntimeError:  # the store's process has ended
            return True

    def _has_ended(self, rank: int) -> bool:
        return bool(self._store.check([f"end/{rank}"]))

    def _wait_for_ends(self) -> list[int]:
        """Waits a while for other workers' ends, and returns the workers that reported none."""
        until = time.monotonic() + LOOK_S
        rest = [r for r in range(self.n_ranks) if r != self.rank]
        while rest and time.monotonic() < until:
            rest = [r for r in rest if not self._has_ended(r)]
            time.sleep(0.01)
        return rest

    def _cause(self, failure: str) -> str:
        try:
            silent = self._wait_for_ends()
            for r in range(self.n_ranks):
                why = "" if r in silent or r == self.rank else self._store.get(f"end/{r}").decode()
                if why:
                    return f"worker {r}: {why}"
            if silent:
                many = "worker" if len(silent) == 1 else "workers"
                return f"{many} {', '.join(map(str, silent))} of {self.n_ranks}: ended or unreachable"
        except RuntimeError:  # the store's process has ended
            pass
        return f"another of the {self.n_ranks} workers ended or is unreachable: {failure}"

    def close(self) -> None:
        if self._why:  # this process may own the store, which others read
            with contextlib.suppress(RuntimeError):
                self._wait_for_ends()
        self._group = self._store = None


def _failure(begin: Callable[[Any], list[Any]], group: Any) -> str:
    """Runs a call and returns its failure; "" for success. No reference keeps the connections open."""
    if group is None:
        return "the carrier failed before"
    try:
        for work in begin(group):
            work.wait()
    except RuntimeError as error:
        return _first_line(error)
    return ""


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0]


def _meeting_point(group: Any, timeout: float) -> tuple[Any, int, int]:
    """Returns a store, this worker's number and the number of workers, for the process's group or launcher."""
    if _dist.is_available() and _dist.is_initialized():
        members = _dist.get_process_group_ranks(group if group is not None else _dist.group.WORLD)
        if _dist.get_rank() not in members:
            raise ParameterError("this process is not a member of `group`")
        # PyTorch has no public name for its default store
        store = _dist.distributed_c10d._get_default_store()
        return _numbered(store, f"of {members}"), members.index(_dist.get_rank()), len(members)
    if group is not None:
        raise ParameterError("torch.distributed is not initialised, so `group` is invalid")
    names = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
    where = " ".join(os.environ.get(name, "-") for name in names)
    try:
        if where not in _stores:
            _stores.clear()
            _stores[where] = next(_dist.rendezvous("env://", timeout=timedelta(seconds=timeout)))
        store, rank, n_ranks = _stores[where]
        return _numbered(store, where.rsplit(maxsplit=2)[0]), rank, n_ranks
    except (ValueError, RuntimeError) as error:
        raise WorkerError(
            f"this process has no launcher, or its workers did not connect: {_first_line(error)}\n"
            "hint: torchrun sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; rankwood.zmq needs no torchrun"
        ) from error


def _numbered(store: Any, who: str) -> Any:
    """Returns the part of the store that is for one meeting."""
    _meetings[who] += 1
    return _dist.PrefixStore(f"rankwood {who} {_meetings[who]}", store)


def workers(group: Any = None, *, timeout: float = 600) -> AbstractContextManager[Workers]:
    """Make this process one of several workers, within a ``with`` block; see :func:`rankwood.workers`.

    Start the script with ``torchrun --nproc-per-node 4 train.py``. The workers use separate gloo connections, whatever
    the backend of other process groups is. Processes without torch use :func:`rankwood.zmq.workers`.

    Parameters
    ----------
    group : torch.distributed.ProcessGroup or None, default None
        Process group of the workers. The default is all processes of torch.distributed or, before its initialisation,
        of the launcher (RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT).
    timeout : float, default 600
        Seconds that a worker waits for the others, at the start and in each exchange.

    Returns
    -------
    context manager of Workers
        Yields ``rank`` and ``n_ranks``.

    Raises
    ------
    WorkerError
        Another worker failed or cannot be reached; the message names it and, if known, the cause.
    ParameterError
        The group is invalid, or this thread is already a worker.

    Examples
    --------
    >>> with rankwood.torch.workers() as here:  # doctest: +SKIP
    ...     model = rankwood.train({"rounds": 100}, rankwood.Dataset("train.txt"))
    ...     if here.rank == 0:
    ...         model.save("model.txt")
    """
    store, mine, size = _meeting_point(group, timeout)
    try:
        return _join(_Gloo(store, mine, size, timeout))
    except WorkerError:  # a worker that retries may be a new process, whose counts start at 0
        _stores.clear()
        _meetings.clear()
        raise


ranks = workers  # the name before 0.3

__all__ = ["ranks", "workers"]
