#!/usr/bin/env python3
"""Time of training by Dask workers of one machine, compared with as many threads of one process.

The data is synthetic, 10,000 queries with 1.2 million documents and 136 features by default. It is in the memory of the
process, and in that of the Dask workers, before the clock starts. The counted time is that of rankwood.train, which
includes the Dataset, and of rankwood.dask.train; `trees` is the part after the first tree. Both alternate, and the
table has medians. The models must be identical. --bars exits with 1 if the ratio of the times exceeds 1.3 (aim 1.1).

    python3 tests/peers/dask_speed.py [--queries N] [--rounds N] [--workers N] [--reps N] [--bars]

The interpreter needs rankwood[dask]. The machine must be idle otherwise and have a processor per worker.
"""
import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import dask
import dask.array as da
import distributed
import numpy as np

import rankwood
import rankwood.dask

MUST, AIM = 1.3, 1.1


class Clock:
    """A callback that notes when worker 0 has the first tree and the last one."""

    def __init__(self, path):
        self.path = path

    def __call__(self, done):
        if done.round == 1:
            self.path.write_text(repr(time.time()))


def load(folder, name, i):
    return np.load(folder / f"{name}{i}.npy")


def arrays(folder, sizes, n_features):
    """Dask arrays of X, y and qid, with a chunk per worker."""
    load_later = dask.delayed(load)
    for name, width, dtype in (("X", (n_features,), "f4"), ("y", (), "f4"), ("qid", (), "u4")):
        yield da.concatenate([
            da.from_delayed(load_later(folder, name, i), (size, *width), dtype) for i, size in enumerate(sizes)
        ])


def timed(train, note):
    begin = time.time()
    model = train([Clock(note)])
    end = time.time()
    return end - begin, end - float(note.read_text()), model.to_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("queries", 10_000), ("rounds", 100), ("workers", 2), ("reps", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--bars", action="store_true")
    args = parser.parse_args()
    X, y, qid = rankwood.synth("mslr30k", args.queries)
    X = np.ascontiguousarray(X)
    cuts = [int(np.searchsorted(qid, args.queries * i // args.workers)) for i in range(args.workers + 1)]
    params = {"rounds": args.rounds}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, rows in enumerate(map(slice, cuts[:-1], cuts[1:])):
            for what, values in (("X", X), ("y", y), ("qid", qid)):
                np.save(folder / f"{what}{i}.npy", values[rows])
        with distributed.LocalCluster(
            n_workers=args.workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster, distributed.Client(cluster) as client:
            data = client.persist(list(arrays(folder, np.diff(cuts).tolist(), X.shape[1])))
            distributed.wait(data)
            ways = {
                f"{args.workers} threads": lambda calls: rankwood.train(
                    {**params, "threads": args.workers}, rankwood.Dataset(X, y, qid=qid), callbacks=calls
                ),
                f"{args.workers} Dask workers": lambda calls: rankwood.dask.train(
                    params, rankwood.dask.Dataset(*data), client=client, callbacks=calls
                ),
            }
            times = {way: [] for way in ways}
            for _ in range(args.reps):
                for way, train in ways.items():
                    times[way].append(timed(train, folder / "note"))
    models = {model for runs in times.values() for _, _, model in runs}
    print(f"{len(y)} documents, {X.shape[1]} features, {args.rounds} trees; seconds")
    totals = []
    for way, runs in times.items():
        total, trees = (statistics.median(run[i] for run in runs) for i in (0, 1))
        totals.append((total, trees))
        least, most = (pick(run[0] for run in runs) for pick in (min, max))
        print(f"{way:16} total {total:7.2f} ({least:.2f} to {most:.2f})   trees {trees:7.2f}")
    ratio = totals[1][0] / totals[0][0]
    print(f"ratio {ratio:.2f} (trees {totals[1][1] / totals[0][1]:.2f}); must {MUST}, aim {AIM}; models "
          + ("identical" if len(models) == 1 else "DIFFER"))
    return int(len(models) != 1 or (args.bars and ratio > MUST))


if __name__ == "__main__":
    sys.exit(main())
