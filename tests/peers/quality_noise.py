#!/usr/bin/env python3
"""How much the quality of a training varies with its seed and its data.

For each set, the first task of quality_sets.py. A run draws the queries of the training and stop parts with
replacement, trains with these and with the run's number as the seed, and measures NDCG@10 of the measure part (gain
2^l - 1; a query without a relevant document counts 0). All --params see the same draws. Printed: for each of the
--params, mean and standard deviation over the runs of each set, their means over the sets, and the ratio of the mean
standard deviation to that of the first --params.

    python3 tests/peers/quality_noise.py --rankwood PROGRAM [--runs 20] --params '' --params 'bags=4'

Standard library only. Real data: environment variable RANKWOOD_DATA, or --data.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import tempfile

from common import ROOT
from quality_sets import REAL, Sets, open_text


def queries_of(paths):
    """[the lines of a query, without label and query id: [(label, rest)]]"""
    queries, last = [], None
    for path in paths:
        with open_text(path) as file:
            for line in file:
                label, qid, rest = line.split(b" ", 2)
                if qid != last:
                    queries.append([])
                    last = qid
                queries[-1].append((label, rest))
    return queries


def draw(queries, chance, path):
    """Writes as many queries as there are, drawn with replacement, each as a query of its own."""
    with open(path, "wb") as file:
        for number in range(len(queries)):
            for label, rest in queries[chance.randrange(len(queries))]:
                file.write(b"%s qid:%d %s" % (label, number + 1, rest))


def measure(program, files, params, seed, folder):
    model = os.path.join(folder, "model")
    options = [f"--{p.replace('_', '-')}" for p in params.split()]
    train = [program, "train", files[0], "--valid", files[1], "--seed", str(seed), "--quiet", "-o", model, *options]
    subprocess.run(train, check=True)
    evaluate = [program, "eval", "--model", model, "--metric", "ndcg@10", "--empty", "0", "--json", "--quiet", *files[2]]
    out = subprocess.run(evaluate, check=True, capture_output=True, text=True).stdout
    return json.loads(out)["metrics"][0]["mean"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankwood", required=True, help="the program")
    parser.add_argument("--data", default=os.environ.get("RANKWOOD_DATA", os.path.join(ROOT, "../shared/data")))
    parser.add_argument("--sets", default=",".join(REAL))
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--params", action="append", help="'name=value ...'; repeatable; '' for the defaults")
    args = parser.parse_args()
    args.folds, args.like = [], None
    args.params = args.params or [""]
    if args.runs < 2:
        parser.error("--runs must be 2 or more, since one run has no standard deviation")
    with tempfile.TemporaryDirectory() as folder:
        sets = Sets(args, folder)
        files = [os.path.join(folder, "train.txt"), os.path.join(folder, "stop.txt")]
        values = {params: {} for params in args.params}
        for name in args.sets.split(","):
            if lacking := sets.lacking(name):
                raise SystemExit(f"quality_noise.py: {name}: {lacking[0]}")
            train, stop, measured = sets.tasks(name)[0]
            train, stop = queries_of(train), queries_of(stop)
            for run in range(1, args.runs + 1):
                chance = random.Random(run)
                draw(train, chance, files[0])
                draw(stop, chance, files[1])
                for params in args.params:
                    value = measure(args.rankwood, [*files, measured], params, run, folder)
                    values[params].setdefault(name, []).append(value)
    print("NDCG@10: mean, standard deviation over", args.runs, "runs")
    first = None
    for params, of in values.items():
        deviation = statistics.fmean(statistics.stdev(v) for v in of.values())
        first = first or deviation
        row = "  ".join(f"{n} {statistics.fmean(v):.4f} {statistics.stdev(v):.4f}" for n, v in of.items())
        mean = statistics.fmean(statistics.fmean(v) for v in of.values())
        print(f"{params or 'defaults'}: {row}; mean of the sets {mean:.4f} {deviation:.4f}, ratio "
              f"{deviation / first:.3f}")


if __name__ == "__main__":
    main()
