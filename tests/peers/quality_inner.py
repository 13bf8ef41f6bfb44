#!/usr/bin/env python3
"""Compares parameters on splits inside the training parts of the real sets, for choosing Rankwood's defaults.

For every task of quality_sets.py, each query of the training part goes to one of three parts by a checksum of its id:
60 % train, 20 % stop, 20 % measure. With early-stop-rule=folds, the stop part trains, too. The stop and measure parts
of the task are not read. Each of the --splits deals the queries again. Printed for each of the --params: the
difference of NDCG@10 (queries without a relevant document left out) from the first --params, averaged over the tasks
of a set, the splits and the seeds, then over the sets; its standard error over seeds and splits; and the sets' own
differences. Then, for each set, which of the --params is best in the mean of the other sets.

    python3 tests/peers/quality_inner.py --rankwood PROGRAM --seeds 4-9 --params '' --params 'sample-features=1'

Standard library only. Real data: environment variable RANKWOOD_DATA, or --data.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import statistics
import subprocess
import tempfile

from common import ROOT
from quality_sets import MORE, REAL, Sets, open_text

PARTS = ("train", "stop", "measure")


def split(name, paths, folder):
    """Writes the three parts of a task's training part. Returns their paths."""
    out = [os.path.join(folder, f"{name.replace('/', '-')}.{part}.txt") for part in PARTS]
    files = [open(path, "wb") for path in out]
    for path in paths:
        with open_text(path) as file:
            for line in file:
                share = int(hashlib.md5(name.encode() + line.split(None, 2)[1]).hexdigest(), 16) % 100
                files[0 if share < 60 else 1 if share < 80 else 2].write(line)
    for file in files:
        file.close()
    return out


def measure(program, files, params, seed, model):
    options = [f"--{p.replace('_', '-')}" for p in params.split()]
    stop = [] if "early-stop-rule=folds" in params else ["--valid"]
    train = [program, "train", files[0], *stop, files[1], "--seed", str(seed), "--threads", "1", "--device", "cpu"]
    subprocess.run([*train, "--quiet", "-o", model, *options], check=True)
    evaluate = [program, "eval", "--model", model, files[2], "--metric", "ndcg@10", "--json", "--quiet"]
    out = subprocess.run(evaluate, check=True, capture_output=True, text=True).stdout
    os.remove(model)
    return json.loads(out)["metrics"][0]["mean"]


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankwood", required=True, help="the program")
    parser.add_argument("--data", default=os.environ.get("RANKWOOD_DATA", os.path.join(ROOT, "../shared/data")))
    parser.add_argument("--sets", default=",".join(REAL))
    parser.add_argument("--seeds", default="1-3", help="FIRST-LAST, two seeds or more")
    parser.add_argument("--splits", default="0-0", help="FIRST-LAST [0-0]")
    parser.add_argument("--params", action="append", help="'name=value ...'; repeatable; the first is compared with")
    args = parser.parse_args()
    args.folds, args.like = [], None
    seeds, names = seeds_of(args.seeds), args.sets.split(",")
    draws = [(n, s) for n in seeds_of(args.splits) for s in seeds]
    if len(draws) < 2 or not args.params:
        parser.error("there must be two seeds or splits or more, and --params")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sets = Sets(args, folder)
        value = {}
        for name in names:
            if lacking := sets.lacking(name):
                raise SystemExit(f"quality_inner.py: {name}: {lacking[0]}")
            for k, task in enumerate(sets.tasks(name), 0 if name in MORE else 1):
                files = {n: split(f"{name}.{k}" + f"/{n}" * (n > 0), task[0], folder) for n in seeds_of(args.splits)}
                jobs = [(p, d) for p in range(len(args.params)) for d in draws]
                runs = [pool.submit(measure, args.rankwood, files[n], args.params[p], s,
                                    os.path.join(folder, f"{p}.{n}.{s}.model")) for p, (n, s) in jobs]
                for (p, d), run in zip(jobs, runs, strict=True):
                    value.setdefault((p, name, d), []).append(run.result())
    mean = {key: statistics.fmean(values) for key, values in value.items()}
    first = statistics.fmean(mean[0, name, d] for name in names for d in draws)
    print(f"NDCG@10 of {args.params[0] or 'defaults'}: {first:.4f}")
    of_set = [{n: statistics.fmean(mean[p, n, d] - mean[0, n, d] for d in draws) for n in names}
              for p in range(len(args.params))]
    for p, params in enumerate(args.params[1:], 1):
        of_draw = [statistics.fmean(mean[p, n, d] - mean[0, n, d] for n in names) for d in draws]
        error = statistics.stdev(of_draw) / len(of_draw) ** 0.5
        print(f"{params or 'defaults'}: {statistics.fmean(of_draw):+.4f} ({error:.4f})  "
              + "  ".join(f"{n} {d:+.4f}" for n, d in of_set[p].items()))
    for left in names if len(names) > 1 else []:
        others = [statistics.fmean(d for n, d in of.items() if n != left) for of in of_set]
        best = others.index(max(others))
        print(f"without {left}: {args.params[best] or 'defaults'} {others[best]:+.4f}")


if __name__ == "__main__":
    main()
