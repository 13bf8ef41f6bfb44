"""One of several processes that train together, for tests: rank_job.py HOW FOLDER [ADDRESS RANK N_RANKS].

HOW: torchrun, address, mpi4py, own (Rankwood's module for MPI), killed. What becomes of each job goes to
FOLDER/RANK.json.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import rankwood
from conftest import Made, make

TOKEN = "a secret of tests"
PARAMS: dict[str, Any] = {"rounds": 12, "leaves": 7, "min_docs": 2, "l2": 5, "threads": 1, "early_stop": 4}
JOBS: dict[str, dict[str, Any]] = {
    "plain": {},
    "newton": {"split": "newton"},
    "sampled": {"sample_queries": 0.6, "sample_features": 0.7},
}


def part(made: Made, rank: int, n_ranks: int) -> rankwood.Dataset:
    """Whole queries in order; of three workers, the second has an empty shard."""
    takers = [r for r in range(n_ranks) if r != 1 or n_ranks < 3]
    queries = np.unique(made.qid)
    mine = np.array_split(queries, len(takers))[takers.index(rank)] if rank in takers else queries[:0]
    rows = np.isin(made.qid, mine)
    return rankwood.Dataset(made.X[rows], made.y[rows], qid=made.qid[rows])


def digest(model: rankwood.Model) -> str:
    return hashlib.sha256(model.to_bytes()).hexdigest()


def alone() -> dict[str, str]:
    """Identifies the jobs' models."""
    made, other = make(1), make(2, 20)
    return {
        name: digest(rankwood.train({**PARAMS, **more}, made.dataset(), valid=other.dataset()))
        for name, more in JOBS.items()
    }


carriers: list[Any] = []


def ranks(how: str, rest: list[str]) -> Any:
    def noted(carrier: Any) -> Any:
        carriers.append(carrier)
        return rankwood.workers(carrier)

    if how != "own":
        module = {"mpi4py": "mpi", "torchrun": "torch"}.get(how, "zmq")
        getattr(rankwood, module)._join = noted
    if how == "own":
        return rankwood.workers("mpi")
    if how == "mpi4py":
        return rankwood.mpi.workers()
    if how == "torchrun":
        return rankwood.torch.workers(timeout=60)
    address, rank, n_ranks = rest
    return rankwood.zmq.workers(int(rank), int(n_ranks), address, token=TOKEN, timeout=60)


def train(name: str, here: rankwood.Ranks) -> str:
    made, other = make(1), make(2, 20)
    valid = part(other, *here)
    return digest(rankwood.train({**PARAMS, **JOBS[name]}, part(made, *here), valid=valid))


def carries(here: rankwood.Ranks) -> str:
    """Each operation of a carrier, on numbers of all sizes and with signs, against numpy."""
    carrier, (rank, n_ranks) = carriers[-1], here
    sizes_of_arrays = [1, 7, 1000, 150_000]
    if carrier.name == "mpi4py":
        rankwood.mpi._PART = 24  # messages in parts
        sizes_of_arrays.pop()  # would be a million parts
    for n in sizes_of_arrays:
        for dtype in (np.uint32, np.uint64):
            most = np.iinfo(dtype).max
            random = np.random.default_rng(n)
            sent = random.integers(0, most, (n_ranks, n_ranks, n), dtype, endpoint=True)
            sent[:, :, 0] = [[0, most, most // 2][r % 3] for r in range(n_ranks)]
            for op, together in (("sum", np.add), ("min", np.minimum), ("max", np.maximum)):
                buffer = sent[rank].copy().ravel()
                carrier.all_reduce(buffer, op)
                assert np.array_equal(buffer, together.reduce(sent, dtype=dtype).ravel()), (op, dtype)
            part = np.empty(n, dtype)
            carrier._reduce_scatter(sent[rank], part)
            assert np.array_equal(part, np.add.reduce(sent, dtype=dtype)[rank]), dtype
            as_bytes = sent.view(np.uint8).reshape(n_ranks, -1)
            recv = np.empty_like(as_bytes)
            carrier.all_gather(as_bytes[rank].copy(), recv)
            assert np.array_equal(recv, as_bytes)
        sizes = np.random.default_rng(n).integers(0, 3, (n_ranks, n_ranks)) * n  # some are 0
        sends = [np.full(sizes[rank, to], 10 * rank + to, np.uint8) for to in range(n_ranks)]
        recvs = [np.empty(sizes[source, rank], np.uint8) for source in range(n_ranks)]
        carrier._all_to_all(sends, recvs)
        assert all((one == 10 * source + rank).all() for source, one in enumerate(recvs))
    return "all"


def in_groups(told: dict[str, str]) -> None:
    """In a program that has process groups: of all of them, and in some of their processes."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    own = [dist.new_group([rank]) for rank in range(dist.get_world_size())][dist.get_rank()]
    with rankwood.torch.workers(timeout=60) as here:
        told["all groups"] = train("plain", here)
    with rankwood.torch.workers(own, timeout=60) as here:
        told["own group"] = train("plain", here)
    with rankwood.torch.workers(dist.group.WORLD, timeout=60) as here:
        told["all again"] = train("plain", here)
    dist.destroy_process_group()


def fail_together(here: rankwood.Ranks) -> None:
    """What ranks have found out together: the same queries are everywhere."""
    rankwood.train(PARAMS, make(1).dataset())


def fail_alone(here: rankwood.Ranks) -> None:
    """One worker leaves while the others are at work."""

    def callback(done: rankwood.Round) -> None:
        if here.rank == here.n_ranks - 1 and done.round == 2:
            raise SystemExit("enough")

    if here.rank == 0:
        time.sleep(0.2)
    elif here.rank == here.n_ranks - 1:
        raise OSError("no such disk")
    rankwood.train(PARAMS, part(make(1), *here), callbacks=[callback])


def killed(here: rankwood.Ranks) -> None:
    def callback(done: rankwood.Round) -> None:
        if here.rank == here.n_ranks - 1 and done.round == 3:
            os.kill(os.getpid(), 9)

    rankwood.train(PARAMS, part(make(1), *here), valid=part(make(2, 20), *here), callbacks=[callback])


def main() -> None:
    how, folder, *rest = sys.argv[1:]
    told: dict[str, str] = {}
    rank = -1
    if how == "killed":
        jobs: list[Any] = [killed]
    else:
        jobs = [*JOBS, *([carries] if how != "own" else []), fail_together]
        jobs += [fail_alone] if how in ("address", "torchrun") else []  # MPI would end the process
    for job in jobs:
        name = job if isinstance(job, str) else job.__name__
        begin = time.monotonic()
        with contextlib.suppress(rankwood.RankwoodError, OSError):
            try:
                with ranks(how, rest) as here:
                    rank = here.rank
                    told[name] = train(job, here) if isinstance(job, str) else str(job(here))
            except (rankwood.RankwoodError, OSError) as error:
                told[name] = f"{type(error).__name__}: {error}"
                raise
        told[f"{name} s"] = str(time.monotonic() - begin)
    if how == "torchrun":
        in_groups(told)
    (Path(folder) / f"{rank}.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
