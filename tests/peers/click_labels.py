#!/usr/bin/env python3
"""Labels from `rankwood judge` compared with click-through rates, on simulated users with true labels.

A weak ranker orders the documents of each training query, with some noise in each session, as A/B tests and random
swaps have it. Users of clicks.py see the first ten. The log becomes labels of documents, in these ways:

  true labels   the judgments of the same documents
  rate          clicks / impressions, as a label: 4 x rate / largest rate
  ctr           `rankwood judge --model ctr`: clicks / impressions, in grades
  pbm, dbn      `rankwood judge --model pbm` and `dbn`

Every way has the same documents, those with ten impressions or more, and the same training. NDCG@10 is that of held-out
queries, by their true labels. `gain` is the mean difference to the better of `rate` and `ctr`, by seed: a seed is a
ranker, its users and a training, and the mean over folds. p: t-test over seeds, two-sided.

    python3 tests/peers/click_labels.py --rankwood build/src/cli/rankwood --library build/src/librankwood.so

--bars exits with 1 unless pbm for position users and dbn for cascade users gain .01 with p < .05.
"""
import argparse
import csv
import os
import statistics
import sys
import tempfile

import clicks
import numpy as np
from common import Library, run

FITS = {"position": "pbm", "cascade": "dbn"}
WAYS = ("true labels", "rate", "ctr", "pbm", "dbn")
MUST_GAIN, P = 0.01, 0.05


def log_of(args, user, sizes, scores, labels, seed, path):
    """Writes the log. Its documents are numbered like those of the data."""
    random = np.random.default_rng(seed)
    most = 2.0 ** labels.max() - 1
    attraction = args.noise + (1 - args.noise) * (2.0**labels - 1) / most
    ends = np.cumsum(sizes)
    with open(path, "w") as file:
        for q, (begin, end) in enumerate(zip(ends - sizes, ends)):
            own = scores[begin:end]
            jitter = random.normal(0, args.jitter * (own.std() or 1.0), (args.sessions, end - begin))
            order = begin + np.argsort(-(own + jitter), axis=1, kind="stable")[:, : args.shown]
            clicked, _ = clicks.clicks_of(args, user, attraction[order], random)
            for s in range(args.sessions):
                file.writelines(f"{q}-{s}\t{q}\t{d}\t{k}\t{int(c)}\n"
                                for k, (d, c) in enumerate(zip(order[s], clicked[s]), 1))


def judged(args, folder, model):
    """{document: (grade, clicks / impressions)}"""
    run([args.rankwood, "judge", f"{folder}/log.tsv", "--model", model, "--min-impressions", "10", "--threads",
         str(args.threads), "--quiet", "-o", f"{folder}/labels.tsv"])
    with open(f"{folder}/labels.tsv") as file:
        return {int(row["document"]): (int(row["grade"]), int(row["clicks"]) / int(row["impressions"]))
                for row in csv.DictReader(file, delimiter="\t")}


def part_of(data, known):
    """The labelled documents of the queries that have two or more."""
    values, labels, sizes = data
    ends = np.cumsum(sizes)
    kept = [[d for d in range(begin, end) if d in known] for begin, end in zip(ends - sizes, ends)]
    kept = [one for one in kept if len(one) > 1]
    rows = np.concatenate(kept)
    return rows, values[rows], labels[rows], np.array([len(one) for one in kept])


def measure(args, trainer, name, fold, seed, figures):
    train, test = clicks.task_of(args, trainer.library, name, fold)
    trainer.seed = seed
    random = np.random.default_rng(1000 * fold + seed)
    n_weak = max(2, int(len(train[2]) * args.weak))
    ends = np.cumsum(train[2])
    queries = random.choice(len(train[2]), n_weak, replace=False)
    rows = np.concatenate([np.arange(ends[q] - train[2][q], ends[q]) for q in queries])
    ranking = trainer.scores((train[0][rows], train[2][queries]), train[1][rows], None, (train[0], train[2]),
                             "true labels")
    for user in args.users.split(","):
        log_of(args, user, train[2], ranking, train[1], 100 * seed + fold, os.path.join(trainer.folder, "log.tsv"))
        found = {model: judged(args, trainer.folder, model) for model in ("ctr", "pbm", "dbn")}
        rows, values, labels, sizes = part_of(train, found["ctr"])
        rates = np.array([found["ctr"][d][1] for d in rows])
        given = {model: [found[model][d][0] for d in rows] for model in found}
        given |= {"true labels": labels, "rate": 4 * rates / rates.max()}
        for way in WAYS:
            scores = trainer.scores((values, sizes), np.array(given[way], np.float32), None, (test[0], test[2]),
                                    "true labels")
            figures.setdefault((name, user, way), {})[fold, seed] = clicks.ndcg(test, scores).mean()
    print(f"{name} fold {fold} seed {seed}: {len(rows)} documents", file=sys.stderr)


def p_of(differences):
    """Two-sided p of a t-test of the mean against 0."""
    n = len(differences)
    t = abs(statistics.fmean(differences)) / (statistics.stdev(differences) / n**0.5)
    x = np.linspace(0, 1, 100001)[1:]  # t .. infinity, as t / x
    density = (1 + (t / x) ** 2 / (n - 1)) ** (-n / 2) * t / x**2
    whole = (1 + (1 / x) ** 2 / (n - 1)) ** (-n / 2) / x**2 + (1 + x**2 / (n - 1)) ** (-n / 2)
    return float(density.sum() / whole.sum())


def print_table(figures):
    missed = []
    print(f"{'set':14} {'user':9} {'labels':12} {'NDCG@10':>8} {'gain':>8} {'p':>8}")
    for (name, user, way), values in figures.items():
        seeds = sorted({seed for _, seed in values})
        by_seed = {w: [statistics.fmean(v for key, v in figures[name, user, w].items() if key[1] == s) for s in seeds]
                   for w in WAYS}
        base = max(("rate", "ctr"), key=lambda w: statistics.fmean(by_seed[w]))
        gain = [a - b for a, b in zip(by_seed[way], by_seed[base])]
        p = p_of(gain) if len(seeds) > 1 and way != base else 1.0
        mean = statistics.fmean(gain)
        print(f"{name:14} {user:9} {way:12} {statistics.fmean(by_seed[way]):8.4f} {mean:+8.4f} {p:8.4f}")
        if FITS[user] == way and not (mean >= MUST_GAIN and p < P):
            missed.append(f"{name}, {user} users, {way}: {mean:+.4f}, p = {p:.4f}")
    for one in missed:
        print(f"missed: {one}")
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    clicks.add_arguments(parser)
    parser.add_argument("--sets", default="mq2008")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=5, help="so many times, with other rankers and users [5]")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--jitter", type=float, default=0.5,
                        help="noise of a session's order, in deviations of the query's scores [0.5]")
    args = parser.parse_args()
    library, figures = Library(args.library, args.threads), {}
    with tempfile.TemporaryDirectory() as folder:
        trainer = clicks.Rankwood(args, library, folder)
        for name in args.sets.split(","):
            for seed in range(args.first_seed, args.first_seed + args.seeds):
                for fold in range(args.folds):
                    measure(args, trainer, name, fold, seed, figures)
    missed = print_table(figures)
    return 1 if args.bars and missed else 0


if __name__ == "__main__":
    sys.exit(main())
