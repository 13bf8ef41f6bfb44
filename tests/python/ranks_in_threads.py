"""Workers that are threads of the test: a carrier that needs nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

import rankwood


class Group:
    """State shared by the workers: a slot for each, and a barrier."""

    def __init__(self, n_ranks: int) -> None:
        self.barrier = threading.Barrier(n_ranks)
        self.slot: list[Any] = [None] * n_ranks
        self.why = ""
        self.calls = 0  # of worker 0


class InThreads(rankwood.Carrier):
    name = "threads"

    def __init__(self, group: Group, rank: int) -> None:
        self.group, self.rank, self.n_ranks = group, rank, len(group.slot)

    def _show(self, one: Any) -> list[Any]:
        """The values of all workers, until `_done`."""
        self.group.slot[self.rank] = one
        self.group.calls += self.rank == 0
        self._meet()
        return self.group.slot

    def _meet(self) -> None:
        try:
            self.group.barrier.wait(30)
        except threading.BrokenBarrierError:
            raise rankwood.WorkerError(self.group.why or "a worker is late") from None

    def all_reduce(self, buffer: Any, op: str) -> None:
        together = np.stack(self._show(buffer))
        self._meet()
        buffer[:] = {"sum": np.add, "min": np.minimum, "max": np.maximum}[op].reduce(together)

    def all_gather(self, send: Any, recv: Any) -> None:
        recv[:] = np.stack(self._show(send))
        self._meet()

    def swap(self, to: int, send: Any, source: int, recv: Any) -> None:
        shown = self._show((to, send))[source]
        assert shown[0] == self.rank and len(shown[1]) == len(recv)
        recv[:] = shown[1]
        self._meet()

    def abort(self, why: str) -> None:
        self.group.why = self.group.why or (why and f"worker {self.rank}: {why}")
        self.group.barrier.abort()

    def has_failed(self) -> bool:
        return self.group.barrier.broken


def run_with(
    n_ranks: int, enter: Callable[[int], AbstractContextManager[Any]], body: Callable[[Any], Any]
) -> list[Any]:
    """Runs `body` in a thread per worker, within the worker's block `enter(rank)`.

    Returns each worker's result, or the exception that it raised.
    """
    out: list[Any] = [None] * n_ranks

    def one(rank: int) -> None:
        try:
            with enter(rank) as here:
                out[rank] = body(here)
        except BaseException as error:
            out[rank] = error

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(n_ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def run(n_ranks: int, body: Callable[[rankwood.Ranks], Any]) -> list[Any]:
    """As run_with, for workers that exchange data in memory."""
    group = Group(n_ranks)
    return run_with(n_ranks, lambda rank: rankwood.workers(InThreads(group, rank)), body)
