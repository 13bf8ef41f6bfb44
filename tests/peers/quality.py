#!/usr/bin/env python3
"""Ranking quality of Rankwood and its peers on the same data, under one evaluator.

NDCG@10 has gain 2^l - 1 and discount 1 / log2(1 + rank). A query without a relevant document counts 0, and ties are in
input order. `rankwood eval` measures every trainer, and a few lines of this script must agree to 1e-9. Sets:
quality_sets.py; the mean over a set's tasks (folds) weighs them equally. Settings (of the peers: quality_jobs.py):

  defaults  the trainer's own, stopped by the stop part
  equal     31 leaves, rate 0.1, 20 documents per leaf, 255 bins, l2 0, splits by second-order
            sums, 50 rounds of patience
  fixed     made sets only: 50 trees of 255 leaves, rate 0.1, 20 documents per leaf, 255 bins, no
            stopping; Rankwood's other parameters have their defaults
  tuned     --tuned N or --tuned Ts: chosen on stop parts by N trials, or in T seconds (quality_tuned.py)
  (--constraints LIST: rows of constraints and samples, the same for all trainers: quality_constraints.py)
  (--params, --variants: Rankwood only)

Printed: the standard error over seeds (of means over tasks), that over queries (how much the choice
of queries moves the figure), and the difference to the best row of the set with the p value of a
paired randomisation test of it over queries (two-sided, signs of the differences of seed-mean NDCG,
10,000 draws). `fixed` rows have a best of their own, and so have those of a constraint, which are also
compared with the same trainer's row without it.

  --part test    measures on the measure part: for figures to publish
  --part valid   for choosing Rankwood's defaults: never reads the measure part. The stop part's
                 queries are dealt into two halves, 40 times; training stops by one half and is
                 measured on the other, both ways

Standard library only; the peers run in a virtual environment that --peers makes.
Real data: environment variable RANKWOOD_DATA, default ../shared/data next to the repository.
"""
import argparse
import concurrent.futures
import contextlib
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

from common import HERE, PEERS, ROOT, TOP, add_program_arguments, make_venv, run
from common import add_records_argument, standard_error
from quality_constraints import DRAWN, TRAINERS, Constraints
from quality_sets import FIVE_FOLD, MADE, PUBLIC, REAL, Sets, ndcg_by_query
from quality_tables import head, tell, tell_not_measured
from quality_tuned import rankwood_params
from quality_valid import CurveLibrary, stop_by_halves

BARS = {"mq2008": 0.503, "ohsumed": 0.423}  # what Rankwood's defaults must reach on test parts
OURS = {"defaults": "",
        "equal": "leaves=31 rate=0.1 l2=0 split=newton sample-features=1 early-stop=50 early-stop-rule=best",
        "fixed": "leaves=255 rate=0.1 rounds=50 early-stop=0"}
SEEDLESS = ("lightgbm", "xgboost")  # draw no random numbers under these settings and objectives
DRAWS = 10000
BITS = bytes.maketrans(b"01", b"\0\1")


# ---------------------------------------------------------------- trainers: scores of one task


def rankwood_scores(args, params, task, seed, most, own):
    """(file of scores, rounds)"""
    train, stop, measure = task
    model, scores = os.path.join(own, "model"), os.path.join(own, "scores")
    settings = dict(p.split("=", 1) for p in params.split())
    settings.setdefault("rounds", str(most))
    if args.average > 1:
        settings.setdefault("bags", str(args.average))
    options = [f"--{name}={value}" for name, value in settings.items()]
    run([args.rankwood, "train", *train, "--valid", ",".join(stop), "--metric", f"ndcg@{TOP}",
         "--empty", "0", "--seed", str(seed), "--threads", str(args.threads), "--quiet",
         *options, "-o", model])
    run([args.rankwood, "predict", model, *measure, "-o", scores])
    return scores, json.loads(run([args.rankwood, "info", model, "--json"]))["trees"]


class Workers:
    """Processes in the peers' environment, each of one peer: what importing one takes is paid once."""

    def __init__(self, python):
        self.command, self.idle = [python, os.path.join(HERE, "quality_jobs.py"), "-"], {}

    def ask(self, job):
        idle = self.idle.setdefault(job["peer"], [])
        worker = idle.pop() if idle else subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                                          stdout=subprocess.PIPE, text=True)
        worker.stdin.write(json.dumps(job) + "\n")
        worker.stdin.flush()
        answer = worker.stdout.readline()
        if not answer:
            raise SystemExit(f"{job['peer']}: no answer, exit {worker.wait()}")
        idle.append(worker)
        return json.loads(answer)


def peer_scores(args, row, params, task, seed, most, own):
    """As rankwood_scores. With --average, the scores are the mean of trainings with as many seeds."""
    n = 1 if row["trainer"] in SEEDLESS else args.average
    paths = [os.path.join(own, f"scores{i}") for i in range(n)]
    rounds = [args.workers.ask({
        "job": "train", "peer": row["trainer"], "settings": row["settings"],
        "objective": row["objective"], "params": dict(p.split("=", 1) for p in params.split()),
        "task": task, "seed": (seed - 1) * n + 1 + i, "most": most, "threads": args.threads,
        "library": args.library, "scores": path})["rounds"] for i, path in enumerate(paths)]
    if n == 1:
        return paths[0], rounds[0]
    scores = os.path.join(own, "scores")
    with contextlib.ExitStack() as stack, open(scores, "w") as out:
        files = [stack.enter_context(open(path)) for path in paths]
        out.writelines(f"{statistics.fmean(map(float, line))!r}\n" for line in zip(*files))
    return scores, statistics.fmean(rounds)


# ---------------------------------------------------------------- the measurement


def measure_one(args, sets, row, params, task, seed, folder):
    """(rounds, NDCG of each query of the part measured)."""
    most = args.rounds or (300 if row["set"] in MADE else 2000)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        if row["trainer"] == "rankwood":
            path, rounds = rankwood_scores(args, params, task, seed, most, own)
        else:
            path, rounds = peer_scores(args, row, params, task, seed, most, own)
        report = json.loads(run([args.rankwood, "eval", *task[2], "--scores", path, "--metric",
                                 f"ndcg@{TOP}", "--empty", "0", "--quiet", "--json"]))
        with open(path) as file:
            scores = [float(line) for line in file]
    values = ndcg_by_query(sets.labels_by_query(task[2]), scores)
    mean, theirs = sum(values) / len(values), report["metrics"][0]["mean"]
    if abs(theirs - mean) > 1e-9:
        raise SystemExit(f"quality.py: {task[2]}: NDCG {mean!r} here, {theirs!r} by rankwood eval")
    return rounds, values


def tune(args, sets, row, folder):
    """Sets row["chosen"], the parameters of each task. One search at a time, so that equal times are."""
    row["chosen"] = []
    for task in sets.tasks(row["set"]):
        if row["trainer"] == "rankwood":
            with tempfile.TemporaryDirectory(dir=folder) as own:
                row["chosen"].append(rankwood_params(args, task, own))
            continue
        found = args.workers.ask({
            "job": "tune", "peer": row["trainer"], "objective": "", "limit": args.tuned, "task": task,
            "seed": args.seeds[0], "most": args.rounds or 2000, "threads": args.threads, "library": args.library})
        say(f"{row['set']} {row['trainer']}: {found['trials']} trials that were not pruned, {found['value']:.4f}")
        row["chosen"].append(" ".join(f"{name}={value}" for name, value in found["params"].items()))


def measure(args, sets, row, folder):
    """Fills in a row of the table: a set under one trainer and its parameters."""
    started = time.time()
    tasks = sets.tasks(row["set"])
    if row["settings"] == "tuned":
        tune(args, sets, row, folder)
    if row["constraint"]:
        row["chosen"] = [args.constraint_params(row["constraint"], row["trainer"], task) for task in tasks]
    chosen = row.get("chosen") or [row["params"]] * len(tasks)
    seeds = args.made_seeds if row["set"] in MADE else args.seeds
    drawn = row["constraint"] in DRAWN if row["constraint"] else row["objective"] or any(chosen)
    seeds = seeds if drawn or row["trainer"] not in SEEDLESS else seeds[:1]
    jobs = [(seed, at) for seed in seeds for at in range(len(tasks))]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done = list(pool.map(lambda job: measure_one(args, sets, row, chosen[job[1]], tasks[job[1]],
                                                     job[0], folder), jobs))
    by_seed, by_query = {seed: [] for seed in seeds}, {}
    for (seed, at), (_, values) in zip(jobs, done):
        by_seed[seed].append(statistics.fmean(values))
        for i, value in enumerate(values):
            by_query.setdefault((at, i), []).append(value)
    row["by_query"] = [statistics.fmean(by_query[key]) for key in sorted(by_query)]
    finish(row, {seed: statistics.fmean(by_seed[seed]) for seed in seeds},
           [rounds for rounds, _ in done], started)
    row["se_queries"] = standard_error(row["by_query"])


def measure_valid(args, sets, row):
    """The same from stop parts alone."""
    started = time.time()
    library = CurveLibrary(args.library, args.threads)
    means, rounds = {}, []
    for seed in args.made_seeds if row["set"] in MADE else args.seeds:
        folds = []
        for train, stop, _ in sets.tasks(row["set"]):
            patience, by_round = library.curve(row["params"], train, stop,
                                               sets.labels_by_query(stop), seed,
                                               most=args.rounds or 1000)
            value, stopped = stop_by_halves(by_round, patience)
            folds.append(value)
            rounds.append(stopped)
        means[seed] = statistics.fmean(folds)
    finish(row, means, rounds, started)


def finish(row, means, rounds, started):
    row.update({"ndcg@10": statistics.fmean(means.values()), "seeds": means,
                "se_seeds": standard_error(list(means.values())),
                "rounds": statistics.fmean(rounds), "seconds": round(time.time() - started, 1)})


def p_value(ours, best):
    """Two-sided: how often differences of random signs have a mean as far from 0."""
    differences = [a - b for a, b in zip(ours, best) if a != b]
    reached, draw, far, n = abs(sum(differences)) - 1e-12, random.Random(1), 0, len(differences)
    backwards, whole = differences[::-1], sum(differences) # a number's last bit is the first difference's sign
    for _ in range(DRAWS):
        signs = format(draw.getrandbits(n), f"0{n}b").encode().translate(BITS) if n else b""
        far += abs(2 * sum(itertools.compress(backwards, signs)) - whole) >= reached
    return (far + 1) / (DRAWS + 1)


def kind_of(row):
    return row["settings"] == "fixed", row["constraint"]


def compare_with(row, name, other):
    """Sets to_NAME, se_to_NAME and p_NAME of a row."""
    row[f"to_{name}"] = row["ndcg@10"] - other["ndcg@10"]
    row[f"p_{name}"] = p_value(row["by_query"], other["by_query"])
    row[f"se_to_{name}"] = standard_error([a - b for a, b in zip(row["by_query"], other["by_query"])])


def compare(rows):
    """Every row with the best of its kind: `fixed` or stopped, or of its constraint; that of a constraint also with
    its trainer's without it."""
    best, plain = {}, {}
    for row in rows:
        kind = kind_of(row)
        if kind not in best or row["ndcg@10"] > best[kind]["ndcg@10"]:
            best[kind] = row
        if not row["constraint"] and not row["objective"]:
            plain.setdefault((row["trainer"], row["settings"]), row)
    for row in rows:
        if row is best[kind_of(row)]:
            row["to_best"], row["p"] = 0.0, None
        else:
            compare_with(row, "best", best[kind_of(row)])
            row["p"] = row.pop("p_best")
        if row["constraint"] and (row["trainer"], row["settings"]) in plain:
            compare_with(row, "plain", plain[row["trainer"], row["settings"]])


def say(text):
    print(f"quality.py: {text}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- arguments


def parse_seeds(text):
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_arguments(parser)
    parser.add_argument("--data", default=os.environ.get("RANKWOOD_DATA") or
                        os.path.join(ROOT, "..", "shared", "data"), help="folder of the real sets")
    parser.add_argument("--sets", default=",".join(FIVE_FOLD), metavar="LIST",
                        help=f"sets, with commas, all: {','.join(REAL)},{','.join(MADE)}, or "
                        f"public: {','.join(PUBLIC)} [%(default)s]")
    parser.add_argument("--folds", default="", type=lambda text: parse_seeds(text) if text else [],
                        metavar="LIST", help="only these folds, N or N-M [all]")
    parser.add_argument("--like", metavar="PATH", help="a second generator, for the set 'like': a "
                        "Python file with make(n_queries, seed) -> (values, labels, documents of "
                        "each query, ...)")
    parser.add_argument("--seeds", default="1-5", type=parse_seeds, help="N or N-M [1-5]")
    parser.add_argument("--made-seeds", default="1-2", type=parse_seeds,
                        help="of trainings on made sets [1-2]")
    parser.add_argument("--scale", default=1.0, type=float, help="of made sets' queries [1]")
    parser.add_argument("--measure-scale", default=None, type=float,
                        help="of those that are measured on [as --scale]")
    parser.add_argument("--rounds", default=0, type=int,
                        help="most rounds [2000; 300 on made sets]")
    parser.add_argument("--settings", default="", metavar="LIST",
                        help="defaults,equal,fixed [all with --peers, else defaults]")
    parser.add_argument("--part", default="test", choices=("test", "valid"), help="see above [test]")
    parser.add_argument("--params", action="append", default=[], metavar="'NAME=VALUE ...'",
                        help="Rankwood's parameters, in place of its settings; '' is its defaults "
                        "(repeatable)")
    parser.add_argument("--variants", metavar="FILE",
                        help="such parameters, a line each; # comments")
    parser.add_argument("--average", default=1, type=int, metavar="N", help="average the scores of N trainings: "
                        "Rankwood by bags=N, a peer that draws random numbers by N seeds [1]")
    parser.add_argument("--tuned", default="", metavar="N|Ts",
                        help="a row of each trainer, tuned by N trials or in T seconds, the defaults first")
    parser.add_argument("--peers", nargs="?", const=",".join(PEERS), default="", metavar="LIST",
                        help="measure the peers too, in an environment made for them")
    parser.add_argument("--peer-objectives", default="", metavar="LIST",
                        help="PEER=OBJECTIVE, with commas: rows of these besides those of --peers")
    parser.add_argument("--constraints", default="", metavar="LIST", help="rows of each trainer with these: "
                        + ",".join(TRAINERS))
    parser.add_argument("--python", help="an interpreter that has the peers, in place of that")
    parser.add_argument("--only-peers", action="store_true", help="leave Rankwood out")
    parser.add_argument("--jobs", default=1, type=int, help="trainings at a time [1]")
    parser.add_argument("--threads", default=1, type=int, help="of a training [1]")
    parser.add_argument("--json", action="store_true", help="print JSON, a record a line")
    parser.add_argument("--markdown", action="store_true", help="print a table in Markdown")
    add_records_argument(parser)
    parser.add_argument("--bars", action="store_true",
                        help="exit 1 if Rankwood's defaults miss " + str(BARS))
    args = parser.parse_args()
    for path in ("rankwood", "library", "data", "venv"):
        setattr(args, path, os.path.abspath(getattr(args, path)))
    words, known = {"all": REAL + tuple(MADE), "public": tuple(PUBLIC)}, (*REAL, *MADE, *PUBLIC)
    args.sets = list(words.get(args.sets) or args.sets.split(","))
    if any(name not in known for name in args.sets):
        parser.error(f"--sets takes all, public, {', '.join(known)}")
    args.peers = [p for p in args.peers.split(",") if p]
    args.peer_objectives = [p.split("=", 1) for p in args.peer_objectives.split(",") if p]
    if any(len(p) != 2 or p[0] not in PEERS for p in args.peer_objectives):
        parser.error(f"--peer-objectives takes PEER=OBJECTIVE, of {','.join(PEERS)}")
    if any(p not in PEERS for p in args.peers):
        parser.error(f"--peers takes {','.join(PEERS)}")
    args.constraints = [c for c in args.constraints.split(",") if c]
    if any(c not in TRAINERS for c in args.constraints):
        parser.error(f"--constraints takes {','.join(TRAINERS)}")
    if (args.tuned or args.constraints) and args.part == "valid":
        parser.error("--tuned and --constraints measure on measure parts")
    args.constraint_params = Constraints(args.library).params if args.constraints else None
    if args.tuned and not re.fullmatch("[1-9][0-9]*s?", args.tuned):
        parser.error("--tuned takes a number of trials, such as 50, or seconds, such as 60s")
    if args.average < 1 or (args.average > 1 and args.part == "valid"):
        parser.error("--average takes 1 or more, and measures on measure parts")
    if (args.peers or args.peer_objectives) and args.part == "valid":
        parser.error("--part valid is for Rankwood's own parameters")
    args.settings = args.settings or ("defaults,equal,fixed" if args.peers else "defaults")
    args.settings = args.settings.split(",")
    if any(s not in OURS for s in args.settings):
        parser.error(f"--settings takes {','.join(OURS)}")
    return args


def rows_of(args, name, variants, versions):
    """The rows of a set, to be measured."""
    settings = [s for s in args.settings if s != "fixed" or name in MADE]
    rows = []
    if variants:
        rows += [("rankwood", "defaults" if not v else "own", v, "") for v in variants]
    elif not args.only_peers:
        rows += [("rankwood", s, OURS[s], "") for s in settings]
    rows += [(peer, s, "", "") for peer in args.peers if peer in versions for s in settings]
    rows += [(peer, s, "", word) for peer, word in args.peer_objectives if peer in versions
             for s in settings]
    if args.tuned:
        trainers = [] if args.only_peers else ["rankwood"]
        rows += [(trainer, "tuned", "", "") for trainer in trainers + [p for p in args.peers if p in versions]]
    rows = [(*row, "") for row in rows]
    for constraint in args.constraints:
        rows += [(trainer, s, "", "", constraint) for trainer in ["rankwood"] * (not args.only_peers) + args.peers
                 if trainer in TRAINERS[constraint] and trainer in ("rankwood", *versions)
                 for s in (["defaults"] if trainer == "rankwood" else settings)]
    return [{"set": name, "part": args.part, "trainer": trainer, "settings": s, "params": params,
             "objective": objective, "constraint": constraint} for trainer, s, params, objective, constraint in rows]


def read_variants(args):
    variants = list(args.params)
    if args.variants:
        with open(args.variants) as file:
            variants += [line.split("#")[0].strip() for line in file
                         if line.strip() and not line.startswith("#")]
    return variants


def prepare_peers(args):
    """{peer: version} of the peers there are."""
    args.python = args.python or os.path.join(args.venv, "bin", "python")
    args.workers = Workers(args.python)
    named = set(args.peers) | {peer for peer, _ in args.peer_objectives}
    if not named and not ("like" in args.sets and args.like):
        return {}
    if args.python.startswith(args.venv):
        make_venv(args.venv)
    job = {"job": "versions"}
    answer = run([args.python, os.path.join(HERE, "quality_jobs.py"), json.dumps(job)])
    versions = json.loads(answer.splitlines()[-1])
    for peer in sorted(named):
        say(f"{peer} {versions[peer]}" if peer in versions else f"{peer}: cannot be imported")
    return {peer: versions[peer] for peer in sorted(named) if peer in versions}


def main():
    args = parse_arguments()
    variants, missed, measured = read_variants(args), False, False
    versions = prepare_peers(args)
    if not args.json:
        print(f"NDCG@{TOP}, empty queries 0, {args.part} parts; "
              + "".join(f"{p} {versions[p]}, " for p in versions)
              + run([args.rankwood, "--version"]).splitlines()[0] + "\n"
              + ("\n" if args.markdown else "") + head(args), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sets = Sets(args, folder)
        for name in args.sets:
            for reason in sets.lacking(name):
                tell_not_measured(args, name, "", reason)
            if not sets.tasks(name):
                continue
            for peer in set(args.peers) - set(versions):
                tell_not_measured(args, name, peer, "cannot be imported")
            rows, measured = rows_of(args, name, variants, versions), True
            for row in rows:
                if args.part == "valid":
                    measure_valid(args, sets, row)
                    tell(args, row)
                else:
                    row["version"] = versions.get(row["trainer"])
                    measure(args, sets, row, folder)
                    say(f"{name} {row['trainer']} {row['settings']} {row['ndcg@10']:.4f}")
            if args.part == "test":
                compare(rows)
                for row in rows:
                    tell(args, row)
                missed |= any(row["trainer"] == "rankwood" and row["settings"] == "defaults"
                              and row["ndcg@10"] < BARS.get(name, 0) for row in rows)
    if not measured:
        print("quality.py: skipped: nothing to measure on")
    return 1 if args.bars and missed else 0


if __name__ == "__main__":
    sys.exit(main())
