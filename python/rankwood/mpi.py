"""Workers in MPI processes (mpirun, srun), with mpi4py."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from rankwood._core import ParameterTypeError, package
from rankwood._workers import Bytes, Carrier, Numbers, Workers
from rankwood._workers import workers as _join

_PART = 1 << 27  # largest number of elements of a message, because MPI's counts are C's int


class _Mpi(Carrier):
    """Carrier for a communicator of mpi4py. A waiting worker yields its processor and can be interrupted."""

    name = "mpi4py"
    ends_process = True  # others wait inside MPI, which cannot report a failure

    def __init__(self, comm: Any) -> None:
        self._mpi = package("mpi4py.MPI", "mpi")
        self._comm = comm.Dup()  # keeps the caller's messages separate from ours
        self.rank, self.n_ranks = self._comm.Get_rank(), self._comm.Get_size()
        self._has_failed = False

    def all_reduce(self, buffer: Numbers, op: str) -> None:
        mpi_op = {"sum": self._mpi.SUM, "min": self._mpi.MIN, "max": self._mpi.MAX}[op]
        # explicit types: Open MPI 4.1 compares numpy's unsigned long as signed in min and max
        kind = self._mpi.UINT64_T if buffer.itemsize == 8 else self._mpi.UINT32_T
        for part in _parts(buffer):
            self._wait(self._comm.Iallreduce(self._mpi.IN_PLACE, [part, kind], mpi_op))

    def all_gather(self, send: Bytes, recv: Bytes) -> None:
        if recv.size <= _PART:
            self._wait(self._comm.Iallgather(send, recv))
            return
        recv[self.rank] = send
        for to, source in self._turns():
            self.swap(to, send, source, recv[source])

    def swap(self, to: int, send: Bytes, source: int, recv: Bytes) -> None:
        self._wait(
            *(self._comm.Irecv(part, source) for part in _parts(recv)),
            *(self._comm.Isend(part, to) for part in _parts(send)),
        )

    def _wait(self, *requests: Any) -> None:
        begin = time.perf_counter()
        while not self._mpi.Request.Testall(list(requests)):
            waited = time.perf_counter() - begin
            if waited < 200e-6:
                os.sched_yield()
            else:
                time.sleep(min(waited / 8, 1e-3))

    def abort(self, why: str) -> None:
        self._has_failed = True

    def close(self) -> None:
        if self._has_failed:
            self._comm.Abort(1)
        self._comm.Free()


def _parts(array: Any) -> Iterator[Any]:
    return (array[i : i + _PART] for i in range(0, len(array), _PART))


def workers(comm: Any = None) -> AbstractContextManager[Workers]:
    """Make this MPI process one of several workers, within a ``with`` block; see :func:`rankwood.workers`.

    Start the script with ``mpirun -n 4 python train.py``. An exception in one worker is printed, and MPI_Abort then
    ends all processes.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm or None, default None
        Communicator; MPI_COMM_WORLD by default. ``rankwood.workers("mpi")`` needs no mpi4py.

    Returns
    -------
    context manager of Workers
        Yields ``rank`` and ``n_ranks``.

    Raises
    ------
    ImportError
        mpi4py is missing (extra ``mpi``).
    WorkerError
        Another worker failed or cannot be reached.

    Examples
    --------
    >>> with rankwood.mpi.workers() as here:  # doctest: +SKIP
    ...     model = rankwood.train({"rounds": 100}, rankwood.Dataset("train.txt"))
    ...     if here.rank == 0:
    ...         model.save("model.txt")
    """
    mpi = package("mpi4py.MPI", "mpi")
    if comm is not None and not isinstance(comm, mpi.Intracomm):
        raise ParameterTypeError(f"comm is a {type(comm).__name__}; expected a communicator of mpi4py")
    return _join(_Mpi(comm if comm is not None else mpi.COMM_WORLD))


ranks = workers  # the name before 0.3

__all__ = ["ranks", "workers"]
