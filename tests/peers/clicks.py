#!/usr/bin/env python3
"""Training on simulated clicks: the loss of NDCG from position bias, and its correction.

A weak ranker orders the documents of each training query, and users see the first ones, `--sessions`
times each. A user clicks a document that he examines with probability noise + (1 - noise) (2^label -
1) / (2^most - 1). Who is examined depends on the user:

  position  position k is examined with probability 1 / k^eta, whatever else is clicked
  cascade   from the top; the user continues with probability 0.5 after a click, else with 0.9

Every trainer then has the same queries, one per session, with the same documents and settings; only labels and the
treatment of positions differ. NDCG@10 is that of held-out queries, by their true labels. `loss` is the difference to
the same trainer's model of true labels, with two standard errors. One is over --seeds, each with its users and
trainings on the same queries. The other is over held-out queries (of each query's mean over seeds), and more seeds do
not reduce it to 0.

    python3 tests/peers/clicks.py --rankwood build/src/cli/rankwood --library build/src/librankwood.so

Rankwood's rows: additive; ipw, which estimates propensities during training; ipw with the propensities that a first
training with additive found; and ipw with the true ones. For `cascade` users, the true propensity is the share of
sessions in which a position was examined. ipw is without the norm, which would cancel part of its weights.

The interpreter needs numpy; LightGBM and XGBoost are measured if they can be imported. --bars exits
with 1 if one of Rankwood's rows misses: at most .005 lost where plain clicks lose .02 or more.
"""
import argparse
import gzip
import itertools
import json
import math
import os
import statistics
import sys
import tempfile

import numpy as np

from common import ROOT, TOP, Library, add_program_arguments, run, standard_error

SETS = {"mq2008": 5, "ohsumed": 5, "synth-yahoo": 2}  # folds, or made sets
SETTINGS = {"rounds": 100, "leaves": 15, "rate": 0.1, "min_docs": 20}
GOES_ON = {True: 0.5, False: 0.9}  # the cascade, after a click
MAY_LOSE, MUST_LOSE = 0.005, 0.02
ALWAYS = ("true labels", "clicks") # the others are compared with these


# ---------------------------------------------------------------- data


def read_letor(paths):
    """(values, labels, documents of each query)"""
    rows, labels, sizes, last = [], [], [], None
    for path in paths:
        with gzip.open(path, "rt") as file:
            for line in file:
                label, qid, *pairs = line.partition("#")[0].split()
                if qid != last:
                    sizes.append(0)
                    last = qid
                sizes[-1] += 1
                labels.append(float(label))
                rows.append({int(f): float(v) for f, v in (pair.split(":") for pair in pairs)})
    values = np.zeros((len(rows), max(max(row) for row in rows)), np.float32)
    for i, row in enumerate(rows):
        values[i, np.array(list(row)) - 1] = list(row.values())
    return values, np.array(labels, np.float32), np.array(sizes)


def made(library, shape, queries, seed):
    return library.arrays(library.synth(shape, queries, seed))


def task_of(args, library, name, fold):
    """(train, test) of a set, each (values, labels, sizes)."""
    if name.startswith("synth-"):
        shape = name.partition("-")[2]
        train, test = (made(library, shape, n, seed) for n, seed in
                       ((args.train_queries, 100 + fold), (args.test_queries, 200 + fold)))
        return train, test
    part = [os.path.join(args.data, name, f"S{1 + i}.txt.gz") for i in range(5)] * 2
    return read_letor(part[fold : fold + 3]), read_letor(part[fold + 4 : fold + 5])


def first_queries(data, n):
    values, labels, sizes = data
    docs = int(sizes[:n].sum())
    return values[:docs], labels[:docs], sizes[:n]


def ndcg(data, scores):
    """NDCG@10 of each query with a relevant document."""
    _, labels, sizes = data
    figures, at = [], 0
    discounts = 1 / np.log2(np.arange(TOP) + 2.0)
    for n in sizes:
        gains = 2.0 ** labels[at : at + n] - 1
        order = np.argsort(-scores[at : at + n], kind="stable")[:TOP]
        best = np.sort(gains)[::-1][:TOP]
        if best[0] > 0:
            figures.append((gains[order] @ discounts[: len(order)]) /
                           (best @ discounts[: len(best)]))
        at += n
    return np.array(figures)


# ---------------------------------------------------------------- users


def clicks_of(args, user, attraction, random):
    """attraction: [sessions, documents], by position; two of the same shape: where clicked, where examined."""
    n_sessions, n = attraction.shape
    attracted = random.random((n_sessions, n)) < attraction
    if user == "position":
        examined = random.random((n_sessions, n)) < propensities(args, n)
        return attracted & examined, examined
    clicks, examined = np.zeros((n_sessions, n), bool), np.zeros((n_sessions, n), bool)
    there = np.ones(n_sessions, bool)
    goes = random.random((n_sessions, n))
    for k in range(n):
        examined[:, k] = there
        clicks[:, k] = there & attracted[:, k]
        there &= goes[:, k] < np.where(clicks[:, k], GOES_ON[True], GOES_ON[False])
    return clicks, examined


def propensities(args, n):
    return 1.0 / np.arange(1, n + 1) ** args.eta


def sessions_of(args, user, data, ranking_scores, seed):
    """((values, true labels, clicks, positions, sizes), propensity): the displayed documents, one query per session
    with a click, ordered by position from 1; and for each position the share of all sessions that examined it."""
    values, labels, sizes = data
    random = np.random.default_rng(seed)
    most = 2.0 ** labels.max() - 1
    rows, clicked, positions, shown_sizes = [], [], [], []
    seen, shown = np.zeros(args.shown), np.zeros(args.shown)
    begins = np.concatenate([[0], np.cumsum(sizes)])
    for begin, end in itertools.pairwise(begins):
        order = begin + np.argsort(-ranking_scores[begin:end], kind="stable")[: args.shown]
        attraction = args.noise + (1 - args.noise) * (2.0 ** labels[order] - 1) / most
        clicks, examined = clicks_of(args, user, np.tile(attraction, (args.sessions, 1)), random)
        seen[: len(order)] += examined.sum(axis=0)
        shown[: len(order)] += args.sessions
        clicks = clicks[clicks.any(axis=1)]
        rows.append(np.tile(order, len(clicks)))
        clicked.append(clicks.ravel())
        positions.append(np.tile(np.arange(1, len(order) + 1), len(clicks)))
        shown_sizes += [len(order)] * len(clicks)
    rows = np.concatenate(rows)
    propensity = propensities(args, args.shown) if user == "position" else seen / shown
    return (values[rows], labels[rows], np.concatenate(clicked).astype(np.float32),
            np.concatenate(positions), np.array(shown_sizes)), propensity


# ---------------------------------------------------------------- trainers


class Rankwood:
    name = "Rankwood"
    ipw = ("--debias", "ipw", "--norm", "off")

    def __init__(self, args, library, folder):
        self.args, self.library, self.folder = args, library, folder
        self.seed, self.propensity = 1, None # propensity: the users' own, by position
        self.ways = {"true labels": self.plain, "clicks": self.plain, "clicks, additive": self.additive,
                     "clicks, ipw": self.estimated, "clicks, ipw as additive found": self.found,
                     "clicks, ipw as it is": self.known}

    def path(self, name):
        return os.path.join(self.folder, name)

    def train(self, *options):
        run([self.args.rankwood, "train", self.path("train.rwb"), "--rounds", str(SETTINGS["rounds"]),
             "--leaves", str(SETTINGS["leaves"]), "--rate", str(SETTINGS["rate"]), "--min-docs",
             str(SETTINGS["min_docs"]), "--sample-features", "1", "--split", "mart", "--seed", str(self.seed),
             "--threads", str(self.args.threads), "--log", self.path("log"), "--quiet", *options,
             "-o", self.path("model")])

    def plain(self):
        self.train()

    def additive(self):
        self.train("--debias", "additive", "--positions", self.path("positions"))

    def estimated(self):
        self.train(*self.ipw, "--position-norm", "0", "--positions", self.path("positions"))

    def given(self, propensity):
        """propensity: by position."""
        with open(self.path("propensities"), "w") as file:
            file.writelines(f"{k} {p!r}\n" for k, p in propensity.items())
        self.train(*self.ipw, "--positions", self.path("positions"), "--propensities",
                   self.path("propensities"))

    def found(self):
        """The odds that the biases of a first training say."""
        self.additive()
        with open(self.path("log")) as file:
            said = next(one for one in map(json.loads, file) if one["record"] == "positions")
        self.given({k: math.exp(b - said["bias"][0])
                    for k, b in zip(said["position"], said["bias"])})

    def known(self):
        self.given({k: float(p) for k, p in enumerate(self.propensity, 1)})

    def scores(self, train, labels, positions, test, way):
        """train, test: (values, sizes)"""
        if positions is not None:
            np.savetxt(self.path("positions"), positions, "%d")
        self.library.write(train[0], labels, train[1], self.path("train.rwb"))
        self.library.write(test[0], np.zeros(len(test[0])), test[1], self.path("test.rwb"))
        self.ways[way]()
        run([self.args.rankwood, "predict", self.path("model"), self.path("test.rwb"), "--quiet",
             "-o", self.path("scores")])
        return np.loadtxt(self.path("scores"))


class LightGBM:
    name = "LightGBM"
    ways = {"true labels": 0, "clicks": 0, "clicks, additive": 1}

    def __init__(self, args):
        import lightgbm

        self.args, self.module = args, lightgbm

    def scores(self, train, labels, positions, test, way):
        params = {"objective": "lambdarank", "num_leaves": SETTINGS["leaves"], "verbose": -1,
                  "learning_rate": SETTINGS["rate"], "min_data_in_leaf": SETTINGS["min_docs"],
                  "num_threads": self.args.threads, "deterministic": True, "seed": 1}
        data = self.module.Dataset(train[0], labels, group=train[1],
                                   position=positions if self.ways[way] else None)
        return self.module.train(params, data, SETTINGS["rounds"]).predict(test[0])


class XGBoost:
    name = "XGBoost"
    ways = {"true labels": False, "clicks": False, "clicks, ipw": True}

    def __init__(self, args):
        import xgboost

        self.args, self.module = args, xgboost

    def scores(self, train, labels, positions, test, way):
        del positions  # they are the order of the documents
        params = {"objective": "rank:ndcg", "max_leaves": SETTINGS["leaves"], "max_depth": 0,
                  "grow_policy": "lossguide", "eta": SETTINGS["rate"], "tree_method": "hist",
                  "lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": self.args.shown,
                  "lambdarank_unbiased": self.ways[way], "nthread": self.args.threads,
                  "min_child_weight": 0.1}
        data = self.module.DMatrix(train[0], labels)
        data.set_group(train[1])
        booster = self.module.train(params, data, SETTINGS["rounds"])
        return booster.predict(self.module.DMatrix(test[0]))


def trainers_of(args, library, folder):
    found = [Rankwood(args, library, folder)]
    for peer in () if args.only else (LightGBM, XGBoost):
        try:
            found.append(peer(args))
        except ImportError as failure:
            print(f"{peer.name}: not measured: {failure}")
    return found


# ---------------------------------------------------------------- the measurement


def measure(args, trainers, library, name, fold, seed, figures):
    """figures: {(set, user, trainer, way): {(fold, seed): NDCG of each query}}"""
    train, test = task_of(args, library, name, fold)
    weak = first_queries(train, max(1, int(len(train[2]) * args.weak)))
    ours = trainers[0]
    ours.seed = seed
    ranking = ours.scores((weak[0], weak[2]), weak[1], None, (train[0], train[2]), "true labels")
    for user in args.users.split(","):
        (values, labels, clicks, positions, sizes), ours.propensity = sessions_of(
            args, user, train, ranking, fold + 1 + 100 * (seed - 1))
        for trainer in trainers:
            for way in [way for way in trainer.ways if way in args.ways or not args.ways or way in ALWAYS]:
                given = labels if way == "true labels" else clicks
                scores = trainer.scores((values, sizes), given, positions, (test[0], test[2]), way)
                figures.setdefault((name, user, trainer.name, way), {})[fold, seed] = ndcg(test, scores)
        print(f"{name} {user} fold {fold} seed {seed}: {len(sizes)} sessions, {len(values)} documents",
              file=sys.stderr)


def loss_of(best, values):
    """(loss, its standard error over seeds, that over queries) of two figures; folds weigh equally."""
    folds, seeds = (sorted({key[i] for key in values}) for i in range(2))
    lost = {key: best[key] - values[key] for key in values}
    by_seed = [statistics.fmean(float(lost[fold, seed].mean()) for fold in folds) for seed in seeds]
    by_query = [np.mean([lost[fold, seed] for seed in seeds], axis=0) for fold in folds]
    variances = [one.var(ddof=1) / len(one) for one in by_query]
    return statistics.fmean(by_seed), standard_error(by_seed), math.sqrt(sum(variances)) / len(folds)


def print_table(figures):
    missed = []
    print(f"{'set':14} {'user':9} {'trainer':9} {'trained on':29} {'NDCG@10':>8} {'loss':>8} {'se(seeds)':>9} "
          f"{'se(queries)':>11}")
    for (name, user, trainer, way), values in figures.items():
        best = figures[name, user, trainer, "true labels"]
        loss, se_seeds, se_queries = loss_of(best, values)
        plain = loss_of(best, figures[name, user, trainer, "clicks"])[0]
        mean = statistics.fmean(float(one.mean()) for one in values.values())
        print(f"{name:14} {user:9} {trainer:9} {way:29} {mean:8.4f} {loss:+8.4f} "
              f"{'-' if se_seeds is None else format(se_seeds, '.4f'):>9} {se_queries:11.4f}")
        if trainer == "Rankwood" and way not in ("true labels", "clicks") and \
                plain >= MUST_LOSE and loss > MAY_LOSE:
            missed.append(f"{name}, {user} users, {way}: {loss:.4f} lost, by plain clicks {plain:.4f}")
    for one in missed:
        print(f"missed: {one}")
    return missed


def add_arguments(parser):
    """Options of simulated users, and of the programs."""
    add_program_arguments(parser)
    parser.add_argument("--data", default=os.environ.get(
        "RANKWOOD_DATA", os.path.join(os.path.dirname(ROOT), "shared", "data")))
    parser.add_argument("--users", default="position,cascade")
    parser.add_argument("--sessions", type=int, default=40, help="of a query [40]")
    parser.add_argument("--shown", type=int, default=10, help="documents of a session [10]")
    parser.add_argument("--eta", type=float, default=1.0, help="steepness of position bias [1]")
    parser.add_argument("--noise", type=float, default=0.1, help="clicks on the irrelevant [0.1]")
    parser.add_argument("--weak", type=float, default=0.02,
                        help="share of the queries that the ranker was trained on [0.02]")
    parser.add_argument("--train-queries", type=int, default=400, help="of made sets [400]")
    parser.add_argument("--test-queries", type=int, default=1000, help="of made sets [1000]")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--bars", action="store_true", help="exit with 1 if a bar is missed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--sets", default="mq2008,ohsumed,synth-yahoo")
    parser.add_argument("--folds", type=int, help="only so many of each set")
    parser.add_argument("--seeds", type=int, default=1, help="so many times, with other users and trainings [1]")
    parser.add_argument("--ways", default="", type=lambda text: [f"clicks, {way}" for way in text.split(",") if way],
                        metavar="LIST", help="besides true labels and clicks, of additive,ipw,ipw as additive found,"
                        "ipw as it is [all]")
    parser.add_argument("--only", action="store_true", help="Rankwood alone")
    args = parser.parse_args()
    library, figures = Library(args.library, args.threads), {}
    with tempfile.TemporaryDirectory() as folder:
        trainers = trainers_of(args, library, folder)
        for name in args.sets.split(","):
            for fold in range(args.folds or SETS[name]):
                for seed in range(1, args.seeds + 1):
                    measure(args, trainers, library, name, fold, seed, figures)
    missed = print_table(figures)
    return 1 if args.bars and missed else 0


if __name__ == "__main__":
    sys.exit(main())
