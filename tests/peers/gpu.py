#!/usr/bin/env python3
"""Training on a GPU by Rankwood and the peers, measured in one run on the same data.

Four tables:
  trees    milliseconds per tree (median of trees 10 to 100), leaves per tree and memory: the rows of
           `rankwood bench train`, and XGBoost, LightGBM and CatBoost on the same device
  text     LETOR text to a finished model, the program's start included
  quality  NDCG@10 on held-out queries after 50 trees of 255 leaves, rate 0.1, 255 bins. Data are made by
           `rankwood synth` or, with --like, by another generator: a Python file with make(n_queries,
           seed) -> (values, labels, documents of each query, ...).
           `rankwood eval` measures all scores.
           Peers that cannot use the device train on the CPU of this machine.
           With --patience N all stop
           after N trees without a better NDCG@10 on a separate set (--stop-queries; `synth` only),
           after --quality-trees at most
  race     seconds of training until NDCG@10 of held-out queries is that of the worse of the two
           sides' best: ours, and XGBoost's by each way of growing and on each number of GPUs
           (--gpus). Reading and binning are not in it

Missing figures are shown as 'not measured: ' and the reason; no figure comes from elsewhere.

Peers run by --python, an interpreter with numpy and the peers, or in the environment of quality.py, which is made if it
is missing. A short run without a GPU:

  python3 tests/peers/gpu.py --device cpu --bench=--quick --text-queries 50 --text-trees 10 \\
      --train-queries 200 --test-queries 100 --race-trees 20
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time

from common import HERE, PEERS, ROOT, TOP, add_program_arguments, attempt, make_venv, run
from common import standard_error

NAMES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost"}
# Rows that are named where the program itself measures nothing.
ROWS = ("mslr30k, 255 leaves, 255 bins", "mslr30k, 31 leaves, 255 bins",
        "mslr30k, 255 leaves, 255 bins, newton", "mslr30k, 255 leaves, 1023 bins",
        "yahoo, 255 leaves, 255 bins", "letor, 31 leaves, 255 bins")
MIB = 1048576
TEXT_BAR = (8.0, 4.0)  # seconds: must, aim
RACE_BAR = (15.0, 20.0) # times as fast as XGBoost: must, aim
NDCG_BAR = 0.002       # by which the better of the two may be ahead
PARTS = ("trees", "text", "quality", "race")
JUDGES = ("lightgbm", "xgboost")
AS_PEERS = "split=newton l2=0"


# ---------------------------------------------------------------- peers


class Peers:
    """The peers' interpreter, and each peer's devices."""

    def __init__(self, args, folder):
        self.args, self.folder, self.known, self.reason = args, folder, {}, None
        self.python = args.python or os.path.join(args.venv, "bin", "python")
        if not args.python:
            try:
                make_venv(args.venv)
            except (SystemExit, OSError, subprocess.CalledProcessError) as failure:
                self.reason = f"no environment: {str(failure).strip().splitlines()[-1]}"

    def job(self, **job):
        """(answer, None) or (None, reason)."""
        if self.reason:
            return None, self.reason
        job.update(library=self.args.library, threads=self.args.threads)
        path = os.path.join(self.folder, "job.json")
        with open(path, "w") as file:
            json.dump(job, file)
        out, reason = attempt([self.python, os.path.join(HERE, "gpu_jobs.py"), path],
                              timeout=self.args.timeout)
        return (None, reason) if reason else (json.loads(out.splitlines()[-1]), None)

    def probe(self, name, device):
        """(version, None) or (None, reason)."""
        if name not in self.args.peers:
            return None, "left out (--peers)"
        if (name, device) not in self.known:
            answer, reason = self.job(job="probe", peer=name, device=device)
            self.known[name, device] = (answer and answer["version"], reason)
        return self.known[name, device]


# ---------------------------------------------------------------- trees


def our_threads(args):
    return str(args.threads) if args.threads else "auto"


def ours_by_row(args):
    """{row name: the fields of its rows}, trees trained, or why not."""
    out, reason = attempt([args.rankwood, "bench", "train", "--json", "--quiet", "--device",
                           args.device, "--threads", our_threads(args), *args.bench.split()])
    if reason:
        return {}, 100, reason
    document, rows, rounds = json.loads(out), {}, 100
    for row in document["rows"]:
        if row["table"] in ("trees", "memory"):
            rows.setdefault(row["row"], {"seed": document["data_seed"]}).update(row)
        elif row["table"] == "parameters" and row["name"] == "rounds":
            rounds = int(row["value"])
        elif row["table"] == "bars":
            name, what = row["what"].rsplit(": ", 1)
            rows[name].setdefault("bars", {})[what] = row
    return rows, rounds, None


def setting_of(row_name):
    """(shape, leaves, bins), or None: whole levels."""
    match = re.match(r"(\w+), (\d+) leaves, (\d+) bins", row_name)
    return match and (match[1], int(match[2]), int(match[3]))


def peers_by_row(peers, name, ours, rounds):
    """{row name: figures or {"reason"}}."""
    device = peers.args.device
    version, reason = peers.probe(name, device)
    found, by_data = {}, {}
    for row_name, row in ours.items():
        setting = setting_of(row_name)
        if reason or not setting:
            found[row_name] = {"reason": reason or "whole levels"}
        else:
            by_data.setdefault((setting[0], row["queries"], row["seed"]), []).append(row_name)
    for (shape, queries, seed), row_names in by_data.items():
        wanted = sorted({setting_of(n)[1:] for n in row_names})
        settings = [{"leaves": l, "bins": b, "seed": 1} for l, b in wanted]
        say(f"{NAMES[name]} {version}, {queries} queries of shape {shape}")
        answer, failed = peers.job(job="trees", peer=name, device=device, shape=shape,
                                   queries=queries, seed=seed, trees=rounds, settings=settings)
        for row_name in row_names:
            place = wanted.index(setting_of(row_name)[1:])
            found[row_name] = {"reason": failed} if failed else answer["rows"][place]
    return found


def table_trees(args, peers, show):
    say(f"rankwood bench train --device {args.device} {args.bench}")
    ours, rounds, reason = ours_by_row(args)
    theirs = {name: peers_by_row(peers, name, ours, rounds) for name in PEERS}
    for row_name in ours or ROWS:
        row = ours.get(row_name, {"reason": reason})
        bars = row.get("bars", {})
        show.row("trees", row_name, "Rankwood", row, bars.get("ms per tree"))
        for name in PEERS:
            without = peers.probe(name, args.device)[1] or f"Rankwood was not: {reason}"
            figures = theirs[name].get(row_name) or {"reason": without}
            show.row("trees", row_name, NAMES[name], figures, None)
        for what in ("mean leaves", "MiB of GPU memory"):
            if what in bars:
                show.bar("trees", f"{row_name}: {what}", bars[what])
        if row.get("allowed_bytes"):
            show.line(f"  {row['held_bytes'] / MIB:.0f} MiB held, {row['allowed_bytes'] / MIB:.0f} "
                      f"allowed, {row['planned_bytes'] / MIB:.0f} planned")


# ---------------------------------------------------------------- text


def table_text(args, show, folder):
    what = f"mslr30k, {args.text_queries} queries, {args.text_trees} trees of 255 leaves"
    data, model = os.path.join(folder, "text.txt"), os.path.join(folder, "text.model")
    say(f"LETOR text to model: {what}")
    _, reason = attempt([args.rankwood, "synth", "--shape", "mslr30k", "--queries",
                         str(args.text_queries), "--seed", "1", "-o", data])
    row = {"reason": reason}
    if not reason:
        start = time.perf_counter()
        _, reason = attempt([args.rankwood, "train", data, "--device", args.device, "--threads",
                             our_threads(args), "--quiet", "--rounds", str(args.text_trees),
                             "--leaves", "255", "--bins", "255", "--rate", "0.1", "-o", model])
        seconds = time.perf_counter() - start
        row = {"reason": reason} if reason else {"seconds": seconds,
                                                 "bytes": os.path.getsize(data)}
        os.remove(data)
    own = (args.text_queries, args.text_trees) == (31531, 500) and args.device != "cpu"
    must, aim = TEXT_BAR
    bar = own and "seconds" in row and {"must": must, "aim": aim, "figure": row["seconds"],
                                        "met": "yes" if row["seconds"] <= must else "no"}
    show.row("text", what, "Rankwood", row, bar or None)


# ---------------------------------------------------------------- quality


def measured(args, test, scores, folder):
    """(NDCG, {query: NDCG})."""
    path = os.path.join(folder, "per-query")
    out = run([args.rankwood, "eval", test, "--scores", scores, "--metric", f"ndcg@{TOP}",
               "--empty", "skip", "--per-query", path, "--json"])
    with open(path) as file:
        lines = [line.split("\t") for line in file.read().splitlines()[1:]]
    values = {query: float(value) for query, value in lines if value not in ("", "-", "nan")}
    return json.loads(out)["metrics"][0]["mean"], values


def our_scores(args, params, train, stop, test, folder):
    """Path of scores, and a description of the model; or a reason."""
    model, scores = os.path.join(folder, "quality.model"), os.path.join(folder, "scores")
    given = dict(p.split("=", 1) for p in params.split())
    settings = {"rounds": str(args.quality_trees), "leaves": "255", "bins": "255", "rate": "0.1",
                **given}
    if stop:
        settings = {**settings, "valid": stop, "metric": f"ndcg@{TOP}", "early-stop": args.patience}
    start = time.perf_counter()
    _, reason = attempt([args.rankwood, "train", train, "--device", args.device, "--threads",
                         our_threads(args), "--quiet", "-o", model,
                         *(f"--{name}={value}" for name, value in settings.items())])
    seconds = time.perf_counter() - start
    if not reason:
        _, reason = attempt([args.rankwood, "predict", model, test, "-o", scores])
    if reason:
        return None, {"reason": reason}
    info = json.loads(run([args.rankwood, "info", model, "--json"]))
    n_trees = len(info["leaves"])
    return scores, {"trees": n_trees, "mean_leaves": sum(info["leaves"]) / n_trees, "seconds": seconds}


def peer_scores(args, peers, name, train, stop, test, folder):
    device = args.device
    if peers.probe(name, device)[1]:
        device = "cpu"
    version, reason = peers.probe(name, device)
    if reason:
        return None, {"reason": reason}
    scores = os.path.join(folder, "scores")
    say(f"{NAMES[name]} {version} on {device}")
    answer, reason = peers.job(job="scores", peer=name, device=device, train=train, stop=stop, test=test,
                               scores=scores, trees=args.quality_trees, patience=args.patience,
                               setting={"leaves": 255, "bins": 255, "seed": 1})
    return (None, {"reason": reason}) if reason else (scores, {**answer, "device": device})


def made_files(args, peers, generator, folder):
    """(train, stop or None, test, None) or a reason."""
    train, stop, test = (os.path.join(folder, f"{part}.rwb") for part in ("train", "stop", "test"))
    if not args.patience:
        stop = None
    say(f"making {args.train_queries} + {args.test_queries} queries: {generator}")
    if generator != "synth":
        _, reason = peers.job(job="like", path=args.like, seed=7, train=train, test=test,
                              train_queries=args.train_queries, test_queries=args.test_queries)
        return train, None, test, reason or (stop and "it makes no set to stop by: leave out --patience")
    reason = None
    for path, queries, seed in ((train, args.train_queries, 1), (test, args.test_queries, 2),
                                (stop, args.stop_queries, 3)):
        if path and not reason:
            _, reason = attempt([args.rankwood, "synth", "--shape", "mslr30k", "--queries",
                                 str(queries), "--seed", str(seed), "-o", path])
    return train, stop, test, reason


def compare(what, ours, theirs, show):
    """Compares Rankwood with each available judge."""
    for name in JUDGES if ours else ():
        if theirs.get(name):
            value, of_query = theirs[name]
            both = [of_query[q] - ours[1][q] for q in ours[1] if q in of_query]
            show.bar("quality", f"{what}: by how much {NAMES[name]} is ahead of Rankwood's defaults",
                     {"must": NDCG_BAR, "aim": 0.0, "figure": value - ours[0],
                      "met": "yes" if value - ours[0] <= NDCG_BAR else "no",
                      "standard_error": standard_error(both)})


def table_quality(args, peers, show, folder):
    generators = ["synth"] + ([os.path.basename(args.like)] if args.like else [])
    if not args.like:
        show.row("quality", "another generator", "all", {"reason": "no --like PATH"}, None)
    for generator in generators:
        what = f"{generator}, {args.train_queries} + {args.test_queries} queries"
        train, stop, test, reason = made_files(args, peers, generator, folder)
        if reason:
            show.row("quality", what, "all", {"reason": reason}, None)
            continue
        ours, theirs = None, {}
        for params in [""] + args.params:
            scores, told = our_scores(args, params, train, stop, test, folder)
            value = scores and measured(args, test, scores, folder)
            ours = value if not params else ours
            show.row("quality", what, f"Rankwood {params or 'defaults'}",
                     {**told, "ndcg": value and value[0]}, None)
        for name in PEERS:
            scores, told = peer_scores(args, peers, name, train, stop, test, folder)
            theirs[name] = scores and measured(args, test, scores, folder)
            show.row("quality", what, NAMES[name],
                     {**told, "ndcg": theirs[name] and theirs[name][0]}, None)
        compare(what, ours, theirs, show)
        for path in filter(None, (train, stop, test)):
            os.remove(path)


# ---------------------------------------------------------------- race


def our_race(args, train, test, folder, n_gpus):
    """({trees: (seconds, NDCG)}, leaves a tree) or a reason."""
    model, log, scores = (os.path.join(folder, name) for name in ("race", "race.log", "scores"))
    device = ["--device", args.device] + (["--workers", str(n_gpus)] if n_gpus > 1 else [])
    _, reason = attempt([args.rankwood, "train", train, *device, "--threads", our_threads(args),
                         "--quiet", "--rounds", str(args.race_trees), "--leaves", "255", "--bins",
                         "255", "--rate", "0.1", "--log", log, "-o", model])
    if reason:
        return None, reason
    with open(log) as file:
        records = [json.loads(line) for line in file]
    ms = [record["ms"] for record in records
              if record["record"] == "timing" and "round" in record]
    found = {}
    for trees in range(args.race_every, len(ms) + 1, args.race_every):
        run([args.rankwood, "predict", model, test, "--trees", str(trees), "-o", scores])
        found[trees] = (sum(ms[:trees]) / 1e3, measured(args, test, scores, folder)[0])
    info = json.loads(run([args.rankwood, "info", model, "--json"]))
    return (found, sum(info["leaves"]) / len(info["leaves"])), None


def peer_race(args, peers, train, test, folder, grow, n_gpus):
    scores = os.path.join(folder, "race-scores")
    answer, reason = peers.job(job="race", device=args.device, ranks=n_gpus, train=train, test=test,
                               scores=scores, trees=args.race_trees, every=args.race_every,
                               nccl=args.nccl, setting={"leaves": 255, "bins": 255, "seed": 1,
                                                        "grow": grow})
    if reason:
        return None, reason
    found = {}
    for i, seconds in enumerate(answer["seconds"], 1):
        path = f"{scores}.{i * args.race_every}"
        found[i * args.race_every] = (seconds, measured(args, test, path, folder)[0])
        os.remove(path)
    return (found, answer["mean_leaves"]), None


def reached(found, ndcg):
    """(trees, seconds) of the first whose NDCG is no less, or None."""
    return next(((n, s) for n, (s, value) in sorted(found.items()) if value >= ndcg), None)


def table_race(args, peers, show, folder):
    what = f"synth, {args.train_queries} + {args.test_queries} queries, {args.race_trees} trees"
    train, _, test, reason = made_files(args, peers, "synth", folder)
    runners = [("Rankwood", n, None) for n in args.gpus]
    runners += [(f"XGBoost {grow}", n, grow) for grow in ("depthwise", "lossguide")
                for n in args.gpus]
    found = {}
    for who, n_gpus, grow in runners:
        if reason:
            break
        name = f"{who}, {n_gpus} {'GPU' if args.device == 'cuda' else 'process'}"
        say(f"race: {name}")
        if grow:
            found[name] = peer_race(args, peers, train, test, folder, grow, n_gpus)
        else:
            found[name] = our_race(args, train, test, folder, n_gpus)
    best = {}
    for ours in (True, False):
        reach = [max(v for _, v in r[0][0].values()) for name, r in found.items()
                 if r[0] and r[0][0] and name.startswith("Rankwood") == ours]
        best[ours] = max(reach, default=None)
    if None in best.values():
        show.row("race", what, "all", {"reason": reason or next(
            (r[1] for r in found.values() if r[1]), "no trees")}, None)
        return
    goal, fastest = min(best.values()), {}
    for name, (result, why) in found.items():
        at = result and reached(result[0], goal)
        row = {"reason": why or f"NDCG@{TOP} never is {goal:.4f}"}
        if at:
            row = {"ndcg": goal, "trees": at[0], "seconds": at[1], "mean_leaves": result[1]}
            ours = name.startswith("Rankwood")
            fastest[ours] = min(fastest.get(ours, math.inf), at[1])
        show.row("race", what, name, row, None)
    must, aim = RACE_BAR
    ratio = fastest[False] / fastest[True]
    show.bar("race", f"{what}: XGBoost's time in ours, each at its best",
             {"must": must, "aim": aim, "figure": ratio, "met": "yes" if ratio >= must else "no"})


# ---------------------------------------------------------------- output


def say(text):
    print(f"gpu.py: {text}", file=sys.stderr, flush=True)


def bar_text(bar):
    aim = "" if bar["aim"] is None else f", aim {bar['aim']:.3g}"
    return f"must {bar['must']:.6g}{aim}: {'met' if bar['met'] == 'yes' else 'MISSED'}"


class Show:
    """Rows as lines of text, or of JSON."""

    def __init__(self, as_json):
        self.as_json, self.missed, self.last = as_json, 0, None

    def line(self, text):
        if not self.as_json:
            print(text, flush=True)

    def record(self, *parts, **record):
        for part in parts:
            record = {**part, **record}
        if self.as_json:
            print(json.dumps(record), flush=True)

    def figure(self, table, row):
        if table == "trees":
            return (f"{row['median_ms' if 'median_ms' in row else 'ms']:9.3f} ms  "
                    f"({row['q1_ms']:.3f} to {row['q3_ms']:.3f})  {row['mean_leaves']:.1f} leaves")
        if table == "text":
            return f"{row['seconds']:9.2f} s  for {row['bytes'] / 1e6:.0f} MB"
        if table == "race":
            return (f"{row['seconds']:9.2f} s  of training until {row['ndcg']:.4f}, "
                    f"{row['trees']} trees of {row['mean_leaves']:.1f} leaves")
        where = f", {row['device']}" if "device" in row else ""
        return (f"{row['ndcg']:9.4f}    {row['trees']} trees of {row['mean_leaves']:.1f} leaves, "
                f"{row['seconds']:.1f} s in all{where}")

    def row(self, table, what, who, row, bar):
        self.record(row, table=table, what=what, who=who)
        if (table, what) != self.last:
            self.line(f"\n{table}: {what}")
            self.last = (table, what)
        text = (f"not measured: {row['reason']}" if row.get("reason")
                else self.figure(table, row))
        self.line(f"  {who:<24} {text}{'  ' + bar_text(bar) if bar else ''}")
        self.missed += bool(bar and bar["met"] != "yes")

    def bar(self, table, what, bar):
        self.record(bar, table=table, what=what)
        error = bar.get("standard_error")
        error = "" if error is None else f" (standard error {error:.4f})"
        self.line(f"  {what}: {bar['figure']:.4f}{error}, {bar_text(bar)}")
        self.missed += bar["met"] != "yes"


def heading(args, peers, show):
    commit, _ = attempt(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])
    versions = {name: peers.probe(name, args.device) for name in PEERS}
    show.record(table="run", commit=commit and commit.strip(), device=args.device,
                threads=args.threads or os.cpu_count(),
                peers={n: v or f"not measured: {r}" for n, (v, r) in versions.items()})
    show.line(f"commit {commit.strip() if commit else 'unknown'}, device {args.device}, "
              f"{args.threads or os.cpu_count()} threads; equal settings: rate 0.1, 20 documents a "
              "leaf, each one's defaults besides")
    for name, (version, reason) in versions.items():
        show.line(f"  {NAMES[name]} " + (version if version else f"not measured on "
                                         f"{args.device}: {reason}"))


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_arguments(parser)
    parser.add_argument("--python", help="the peers' interpreter, in place of the environment")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, with commas [all]")
    parser.add_argument("--parts", default=",".join(PARTS), help="tables, with commas [all]")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"),
                        help="for all [cuda]")
    parser.add_argument("--threads", default=0, type=int, help="0: all [0]")
    parser.add_argument("--timeout", default=3600, type=float, help="seconds of a peer's job")
    parser.add_argument("--bench", default="", metavar="OPTIONS",
                        help="more options of 'rankwood bench train': --bench='--queries N'")
    parser.add_argument("--text-queries", default=31531, type=int)
    parser.add_argument("--text-trees", default=500, type=int)
    parser.add_argument("--like", metavar="PATH", help="another generator, see above")
    parser.add_argument("--train-queries", default=31531, type=int)
    parser.add_argument("--test-queries", default=2000, type=int)
    parser.add_argument("--quality-trees", default=50, type=int)
    parser.add_argument("--patience", default=0, type=int, help="trees without a better NDCG; 0: no stopping [0]")
    parser.add_argument("--stop-queries", default=2000, type=int)
    parser.add_argument("--race-trees", default=300, type=int)
    parser.add_argument("--race-every", default=10, type=int, help="trees between two looks [10]")
    parser.add_argument("--gpus", default="1", help="numbers of GPUs of the race (processes, with --device cpu), with "
                        "commas [1]")
    parser.add_argument("--nccl", metavar="PATH", help="libnccl.so.2, for XGBoost on several GPUs")
    parser.add_argument("--params", action="append", metavar="'NAME=VALUE ...'",
                        help="Rankwood's quality with other parameters, too (repeatable) "
                        f"['{AS_PEERS}', as the peers have them]")
    parser.add_argument("--json", action="store_true", help="a JSON record a line")
    parser.add_argument("--bars", action="store_true", help="exit 1 if a bar is missed")
    args = parser.parse_args()
    args.params = args.params or [AS_PEERS]
    args.gpus = [int(n) for n in args.gpus.split(",")]
    for path in ("rankwood", "library", "venv", "like"):
        if getattr(args, path):
            setattr(args, path, os.path.abspath(getattr(args, path)))
    args.peers, args.parts = ([w for w in text.split(",") if w] for text in (args.peers, args.parts))
    for words, known in ((args.peers, PEERS), (args.parts, PARTS)):
        if any(word not in known for word in words):
            parser.error(f"expected words of {','.join(known)}")
    return args


def main():
    args = parse_arguments()
    show = Show(args.json)
    with tempfile.TemporaryDirectory() as folder:
        peers = Peers(args, folder)
        heading(args, peers, show)
        if "trees" in args.parts:
            table_trees(args, peers, show)
        if "text" in args.parts:
            table_text(args, show, folder)
        if "quality" in args.parts:
            table_quality(args, peers, show, folder)
        if "race" in args.parts:
            table_race(args, peers, show, folder)
    return 1 if args.bars and show.missed else 0


if __name__ == "__main__":
    sys.exit(main())
