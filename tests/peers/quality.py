#!/usr/bin/env python3
"""Ranking quality of Rankwood and its peers on real data, under one evaluator.

NDCG@10 with gain 2^l - 1, discount 1 / log2(1 + rank), a query without a relevant document counting
0 and ties in input order, computed here and compared with `rankwood eval` (to 1e-9) on every model.
Five folds: train on three parts, stop on the fourth, measure on the fifth; parts rotate. The mean
over folds weighs folds equally. Printed with it: the standard error over seeds (of the five-fold
means), and over queries (how much the choice of queries moves the figure; of seed-mean NDCG).

  --part test    measures on the test part: for figures to publish
  --part valid   for choosing defaults: never reads the test part. The validation part's queries
                 are dealt into two halves, 40 times; training stops by one half and is measured on
                 the other, both ways (one training serves all 40: the library hands out its scores
                 after every round, here through ctypes)

Standard library only; the peers run in a virtual environment that --peers makes.
Real data: environment variable RANKWOOD_DATA, default ../shared/data beside the repository.
"""
import argparse
import concurrent.futures
import ctypes
import gzip
import json
import math
import os
import statistics
import sys
import tempfile
import time

from common import PEERS, ROOT, TOP, Library, add_program_arguments, make_venv, run, standard_error

SETS = ("mq2008", "ohsumed")
BARS = {"mq2008": 0.495, "ohsumed": 0.400}  # what Rankwood's defaults must reach on test parts


# ---------------------------------------------------------------- the evaluator


def ndcg(labels, scores, top=TOP):
    """NDCG@top of one query; 0 if nothing in it is relevant."""
    order = sorted(range(len(labels)), key=lambda i: (-scores[i], i))
    ideal = sorted(labels, reverse=True)

    def dcg(ranked):
        return sum((2.0**l - 1) / math.log2(2 + r) for r, l in enumerate(ranked[:top]))

    best = dcg(ideal)
    return dcg([labels[i] for i in order]) / best if best > 0 else 0.0


def ndcg_by_query(queries, scores):
    """queries: [(labels, ...)], scores: of all documents in a row; a list, one NDCG a query."""
    values, at = [], 0
    for labels in queries:
        values.append(ndcg(labels, scores[at : at + len(labels)]))
        at += len(labels)
    if at != len(scores):
        raise SystemExit(f"quality.py: {len(scores)} scores for {at} documents")
    return values


# ---------------------------------------------------------------- data


def read_lines(path):
    """[(query id, label, line)] in file order."""
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        words = ((line.split(None, 2), line) for line in file)
        return [(w[1], float(w[0]), line) for w, line in words]


def labels_by_query(paths):
    queries, last = [], None
    for path in paths:
        for qid, label, _ in read_lines(path):
            if qid != last:
                queries.append([])
                last = qid
            queries[-1].append(label)
    return queries


def fold_files(data, name, fold):
    """Files of (train, valid, test); fold from 0."""
    part = [os.path.join(data, name, f"S{1 + (fold + i) % 5}.txt.gz") for i in range(5)]
    return part[:3], part[3:4], part[4:5]


# ---------------------------------------------------------------- trainers: scores of one task


def rankwood_scores(args, params, task, seed, folder):
    """(scores, rounds, the program's own NDCG)."""
    train, stop, measure = task
    with tempfile.TemporaryDirectory(dir=folder) as own:
        model = os.path.join(own, "model")
        options = [f"--{p.split('=', 1)[0]}={p.split('=', 1)[1]}" for p in params.split()]
        run([args.rankwood, "train", *train, "--valid", ",".join(stop), "--metric", f"ndcg@{TOP}",
             "--empty", "0", "--seed", str(seed), "--threads", "1", "--quiet", *options,
             "-o", model])
        scores = run([args.rankwood, "predict", model, *measure])
        own_eval = run([args.rankwood, "eval", *measure, "--model", model, "--metric",
                        f"ndcg@{TOP}", "--empty", "0", "--json"])
        info = json.loads(run([args.rankwood, "info", model, "--json"]))
        return ([float(s) for s in scores.split()], info["trees"],
                json.loads(own_eval)["metrics"][0]["mean"])


def peer_scores(args, name, task, seed, folder):
    train, stop, measure = task
    job = {"peer": name, "train": train, "stop": stop, "measure": measure, "seed": seed}
    python = os.path.join(args.venv, "bin", "python")
    answer = run([python, os.path.abspath(__file__), "--peer-job", json.dumps(job)], cwd=folder)
    answer = json.loads(answer.splitlines()[-1])
    return answer["scores"], answer["rounds"], None


# ---------------------------------------------------------------- peers: run inside the environment
# The equal settings: 31 leaves, rate 0.1, 20 documents a leaf, 255 bins, stopping after 50
# rounds without a better validation NDCG@10. Where a peer has no such setting, its default stays.


def peer_job(job):
    import numpy  # of the environment

    def load(paths):
        labels, ids, rows = [], [], []
        for path in paths:
            for qid, label, line in read_lines(path):
                labels.append(label)
                ids.append(qid)
                rows.append([float(w.split(":")[1]) for w in line.split("#")[0].split()[2:]])
        counts = [0]
        for i, qid in enumerate(ids):
            if i and qid != ids[i - 1]:
                counts.append(0)
            counts[-1] += 1
        return numpy.array(rows, dtype=numpy.float32), numpy.array(labels), counts

    trainer = {"lightgbm": peer_lightgbm, "xgboost": peer_xgboost, "catboost": peer_catboost}
    scores, rounds = trainer[job["peer"]](load(job["train"]), load(job["stop"]),
                                          load(job["measure"]), job["seed"])
    print(json.dumps({"scores": [float(s) for s in scores], "rounds": int(rounds)}))


def peer_lightgbm(train, stop, measure, seed):
    import lightgbm

    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [TOP], "num_leaves": 31,
              "learning_rate": 0.1, "min_data_in_leaf": 20, "max_bin": 255, "num_threads": 1,
              "seed": seed, "deterministic": True, "verbosity": -1}
    data = lightgbm.Dataset(train[0], train[1], group=train[2])
    valid = lightgbm.Dataset(stop[0], stop[1], group=stop[2], reference=data)
    model = lightgbm.train(params, data, 2000, valid_sets=[valid],
                           callbacks=[lightgbm.early_stopping(50, verbose=False)])
    return model.predict(measure[0], num_threads=1), model.best_iteration


def peer_xgboost(train, stop, measure, seed):
    import xgboost

    def matrix(part):
        made = xgboost.DMatrix(part[0], label=part[1])
        made.set_group(part[2])
        return made

    params = {"objective": "rank:ndcg", "eval_metric": f"ndcg@{TOP}-", "tree_method": "hist",
              "grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0, "eta": 0.1,
              "max_bin": 255, "nthread": 1, "seed": seed}
    model = xgboost.train(params, matrix(train), 2000, evals=[(matrix(stop), "valid")],
                          early_stopping_rounds=50, verbose_eval=False)
    best = model.best_iteration + 1
    return model.predict(matrix(measure), iteration_range=(0, best)), best


def peer_catboost(train, stop, measure, seed):
    import catboost

    def pool(part):
        ids = [q for q, n in enumerate(part[2]) for _ in range(n)]
        return catboost.Pool(part[0], part[1], group_id=ids)

    model = catboost.CatBoost({
        "loss_function": "YetiRank", "eval_metric": f"NDCG:top={TOP};type=Exp",
        "iterations": 2000, "learning_rate": 0.1, "depth": 5, "border_count": 255,
        "od_type": "Iter", "od_wait": 50, "random_seed": seed, "thread_count": 1,
        "logging_level": "Silent", "allow_writing_files": False})
    model.fit(pool(train), eval_set=pool(stop), use_best_model=True)
    return model.predict(pool(measure)), model.tree_count_


# ---------------------------------------------------------------- validation parts only


class Hooks(ctypes.Structure):
    """struct rw_train_hooks of rankwood.h."""

    METRIC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                              ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
    ON_ROUND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    _fields_ = [("user", ctypes.c_void_p), ("on_round", ON_ROUND), ("on_stage", ctypes.c_void_p),
                ("should_stop", ctypes.c_void_p), ("gradients", ctypes.c_void_p),
                ("metric", METRIC), ("metric_name", ctypes.c_char_p),
                ("metric_lower_is_better", ctypes.c_int)]


class CurveLibrary(Library):
    def curve(self, options, train, valid, seed, most=1000, go_on=100):
        """(patience, [n_rounds][n_queries] NDCG on `valid`), until `go_on` rounds without a
        better mean; patience is early-stop's value, which does not end the training itself."""
        params = ctypes.c_void_p()
        self.call("rw_params_new", ctypes.byref(params))
        settings = [o.split("=", 1) for o in options.split()] + [["seed", str(seed)]]
        for name, value in settings:
            self.call("rw_params_set", params, name.encode(), value.encode())
        patience = int(self.lib.rw_params_get(params, b"early-stop"))
        go_on = max(go_on, patience)
        for name, value in (("early-stop", "0"), ("rounds", str(most))):
            self.call("rw_params_set", params, name.encode(), value.encode())

        queries = labels_by_query(valid)
        by_round, means = [], []

        def metric(_user, _data, scores, value):
            by_round.append(ndcg_by_query(queries, scores[: sum(map(len, queries))]))
            means.append(statistics.fmean(by_round[-1]))
            value[0] = means[-1]
            return 0

        def on_round(_user, _round):
            return len(means) >= go_on and len(means) - 1 - means.index(max(means)) >= go_on

        hooks = Hooks(on_round=Hooks.ON_ROUND(on_round), metric=Hooks.METRIC(metric),
                      metric_name=b"ndcg")
        parts, model = (self.read(train), self.read(valid)), ctypes.c_void_p()
        self.call("rw_train", params, parts[0], ctypes.byref(parts[1]), 1, ctypes.byref(hooks),
                  ctypes.byref(model))
        self.lib.rw_model_free(model)
        self.lib.rw_params_free(params)
        for part in parts:
            self.lib.rw_dataset_free(part)
        return patience, by_round


def deal(n, times=40):
    """Ways of dealing n queries into halves; the same for every variant, so that they compare."""
    state = 88172645463325252
    for _ in range(times):
        first = set()
        while len(first) < n // 2:
            state ^= state << 13 & (1 << 64) - 1
            state ^= state >> 7
            state ^= state << 17 & (1 << 64) - 1
            first.add((state >> 32) % n)
        yield sorted(first), sorted(set(range(n)) - first)


def stop_by_halves(by_round, patience):
    """(NDCG on the half that did not stop training, rounds): means over halves and deals."""
    value, rounds, n_deals, n = 0.0, 0, 0, len(by_round[0])
    for halves in deal(n):
        curves = [[sum(map(row.__getitem__, half)) for row in by_round] for half in halves]
        for stop, measured in (curves, curves[::-1]):
            best = 0
            for i, reached in enumerate(stop):
                if i - best > patience:
                    break
                if reached > stop[best]:
                    best = i
            value += measured[best] / n
            rounds += best + 1
        n_deals += 1
    return value / n_deals, rounds / (2 * n_deals)


# ---------------------------------------------------------------- the measurement


def measure_one(args, trainer, params, task, seed, folder):
    """(rounds, NDCG of each query of the part measured)."""
    if trainer == "rankwood":
        scores, rounds, own = rankwood_scores(args, params, task, seed, folder)
    else:
        scores, rounds, own = peer_scores(args, trainer, task, seed, folder)
    values = ndcg_by_query(labels_by_query(task[2]), scores)
    mean = sum(values) / len(values)
    if own is not None and abs(own - mean) > 1e-9:
        raise SystemExit(f"quality.py: {task[2]}: NDCG {mean!r} here, {own!r} by rankwood eval")
    return rounds, values


def measure(args, trainer, params, name, folder):
    """One row of the table: a set under one trainer and its parameters."""
    started = time.time()
    jobs = [(seed, fold, fold_files(args.data, name, fold))
            for seed in args.seeds for fold in range(5)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done = list(pool.map(
            lambda job: measure_one(args, trainer, params, job[2], job[0], folder), jobs))
    by_seed, by_query = {seed: [] for seed in args.seeds}, {}
    for (seed, fold, _), (_, values) in zip(jobs, done):
        by_seed[seed].append(sum(values) / len(values))
        for i, value in enumerate(values):
            by_query.setdefault((fold, i), []).append(value)
    means = [statistics.fmean(by_seed[seed]) for seed in args.seeds]
    per_query = [statistics.fmean(v) for v in by_query.values()]
    return {
        "set": name, "part": args.part, "trainer": trainer, "params": params,
        "ndcg@10": statistics.fmean(means), "seeds": dict(zip(args.seeds, means)),
        "se_seeds": standard_error(means), "se_queries": standard_error(per_query),
        "rounds": statistics.fmean(rounds for rounds, _ in done),
        "seconds": round(time.time() - started, 1),
    }


def measure_valid(args, params, name):
    """The same row, from validation parts alone."""
    started = time.time()
    library = CurveLibrary(args.library, 1)
    means, rounds = [], []
    for seed in args.seeds:
        folds = []
        for fold in range(5):
            train, valid, _ = fold_files(args.data, name, fold)
            patience, by_round = library.curve(params, train, valid, seed)
            value, stopped = stop_by_halves(by_round, patience)
            folds.append(value)
            rounds.append(stopped)
        means.append(statistics.fmean(folds))
    return {
        "set": name, "part": args.part, "trainer": "rankwood", "params": params,
        "ndcg@10": statistics.fmean(means), "seeds": dict(zip(args.seeds, means)),
        "se_seeds": standard_error(means), "se_queries": None,
        "rounds": statistics.fmean(rounds), "seconds": round(time.time() - started, 1),
    }


def show(row):
    error = ["  -   " if row[e] is None else f"{row[e]:.4f}" for e in ("se_seeds", "se_queries")]
    print(f"{row['set']:<8} {row['trainer']:<9} {row['ndcg@10']:.4f}  {error[0]}    {error[1]}  "
          f"{row['rounds']:7.1f} {row['seconds']:8.1f}  {row['params'] or '(defaults)'}",
          flush=True)


def parse_seeds(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_arguments(parser)
    parser.add_argument("--data", default=os.environ.get("RANKWOOD_DATA") or
                        os.path.join(ROOT, "..", "shared", "data"), help="folder of the sets")
    parser.add_argument("--sets", default=",".join(SETS), help="sets, with commas [all]")
    parser.add_argument("--seeds", default="1-5", type=parse_seeds, help="N or N-M [1-5]")
    parser.add_argument("--part", default="test", choices=("test", "valid"),
                        help="see above [test]")
    parser.add_argument("--params", action="append", default=[], metavar="'NAME=VALUE ...'",
                        help="Rankwood's parameters; '' is its defaults (repeatable) ['']")
    parser.add_argument("--variants", metavar="FILE",
                        help="such parameters, a line each; # comments")
    parser.add_argument("--peers", nargs="?", const=",".join(PEERS), default="", metavar="LIST",
                        help="measure the peers too, in an environment made for them")
    parser.add_argument("--only-peers", action="store_true", help="leave Rankwood out")
    parser.add_argument("--jobs", default=1, type=int, help="trainings at a time [1]")
    parser.add_argument("--json", action="store_true", help="print JSON, a record a line")
    parser.add_argument("--bars", action="store_true",
                        help="exit 1 if Rankwood's defaults miss " + str(BARS))
    parser.add_argument("--peer-job", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for path in ("rankwood", "library", "data", "venv"):
        setattr(args, path, os.path.abspath(getattr(args, path)))
    args.sets = args.sets.split(",")
    if any(name not in SETS for name in args.sets):
        parser.error(f"--sets takes {','.join(SETS)}")
    return args


def main():
    args = parse_arguments()
    if args.peer_job:
        return peer_job(json.loads(args.peer_job))
    variants = list(args.params)
    if args.variants:
        with open(args.variants) as file:
            variants += [line.split("#")[0].strip() for line in file
                         if line.strip() and not line.startswith("#")]
    trainers = [] if args.only_peers else [("rankwood", v) for v in variants or [""]]
    peers = [p for p in args.peers.split(",") if p]
    if any(p not in PEERS for p in peers):
        raise SystemExit(f"quality.py: --peers takes {','.join(PEERS)}")
    if peers and args.part == "valid":
        raise SystemExit("quality.py: --part valid is for Rankwood's own parameters")
    if not os.path.isdir(os.path.join(args.data, SETS[0])):
        print(f"quality.py: skipped: no data at {args.data} (RANKWOOD_DATA)")
        return 0
    if peers:
        make_venv(args.venv)
    missed = False
    if not args.json:
        print(f"NDCG@{TOP}, empty queries 0, {args.part} part, mean of five folds and "
              f"{len(args.seeds)} seeds\n"
              "set      trainer   ndcg@10 se(seeds) se(queries) rounds  seconds  parameters")
    with tempfile.TemporaryDirectory() as folder:
        for name in args.sets:
            for trainer, params in trainers + [(p, "") for p in peers]:
                if args.part == "valid":
                    row = measure_valid(args, params, name)
                else:
                    row = measure(args, trainer, params, name, folder)
                print(json.dumps(row), flush=True) if args.json else show(row)
                missed |= (args.part == "test" and trainer == "rankwood" and not params
                           and row["ndcg@10"] < BARS[name])
    return 1 if args.bars and missed else 0


if __name__ == "__main__":
    sys.exit(main())
