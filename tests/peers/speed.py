#!/usr/bin/env python3
"""Speed of Rankwood and the peers on a CPU, measured in turn in one run on the same data.

Three parts, each with its bars:
  train    milliseconds per tree (mean of the trees after the first, without binning) of 50 trees of 255 and
           of 31 leaves, 255 bins, rate 0.1, 20 documents per leaf, otherwise each trainer's defaults. Data are
           made by `rankwood synth` and, with --like, by another generator (as in gpu.py). With one thread and
           with all; NDCG@10 on held-out queries by `rankwood eval`, empty queries 0
  load     LETOR text to data that are ready for training: MB of text per second, and additional memory; a new
           process each time, the file in the system's cache
  predict  dense documents in memory, one core, 500 trees that Rankwood trained and LightGBM read from
           `rankwood export`: nanoseconds per document, and microseconds for one document at a time

Every figure is the median of --reps turns, with the least and the most. Each turn measures all trainers, one after
the other. `ratio` is the time divided by that of Rankwood's first row. The bars follow each table; `met` is
'-' for smaller sizes.

Rankwood's rows of training use all features in every tree, as the peers do. The row of its defaults sets only leaves,
bins, rate and documents per leaf. A peer counts for the bar of training if its trees have as many leaves as Rankwood's
or its NDCG is as good. Rankwood's NDCG may be at most 0.002 below that of the fastest peer with as many leaves.

Missing figures are shown as 'not measured: ' and the reason; no figure comes from elsewhere. The peers run by --python,
or in the environment of quality.py, made if it is missing.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

from common import HERE, ROOT, TOP, add_program_arguments, add_records_argument, attempt, make_venv
from common import run, standard_error
from speed_show import Show, median, peak_text, ratio_text, spread

BINS = 255
# (must, aim). Of training by leaves: few threads, and more than four; and without AVX-512
TRAIN_BARS = {255: ((4.2, 5.0), (3.6, 5.0)), 31: ((3.6, 4.5), (2.8, 4.0))}
NARROW_BAR, NDCG_BAR = (1.7, 2.5), (-0.002, 0.0)
LOAD_BAR, PREDICT_BAR, ONE_BAR = (6.0, 10.0), (4.0, 10.0), (5.0, None)
NAMES = {"lightgbm": "LightGBM", "xgboost": "XGBoost", "catboost": "CatBoost",
         "scikit-learn": "scikit-learn"}
# The peers see all features in every tree; Rankwood's defaults may not.
OURS = {"Rankwood": {"sample-features": "1"},
        "Rankwood, newton, l2 0": {"sample-features": "1", "split": "newton", "l2": "0"},
        "Rankwood, defaults": {}}
LIKE_SEED = 7
FULL = {"reps": 5, "queries": 3000, "test_queries": 1000, "trees": 50, "load_queries": 1000,
        "documents": 100000, "predict_trees": 500}
QUICK = {"reps": 2, "queries": 60, "test_queries": 40, "trees": 6, "load_queries": 30,
         "documents": 3000, "predict_trees": 20}
PARTS = ("train", "load", "predict")


def say(text):
    print(f"speed.py: {text}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- the peers' processes


class Worker:
    """A process of speed_jobs.py; each job is answered before the next."""

    def __init__(self, args, folder):
        self.errors = open(os.path.join(folder, "worker.errors"), "w+")
        self.process = subprocess.Popen(
            [args.python, os.path.join(HERE, "speed_jobs.py")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=folder,
            # numpy's linear algebra, which is unused, would start threads that disturb the times
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})

    def ask(self, **job):
        """(answer, None) or (None, reason)."""
        try:
            self.process.stdin.write(json.dumps(job) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except OSError:
            answer = ""
        if not answer:
            self.errors.seek(0)
            said = [line.strip() for line in self.errors.read().splitlines() if line.strip()]
            return None, said[-1] if said else f"ended with {self.process.wait()}"
        answer = json.loads(answer)
        return (None, answer["reason"]) if "reason" in answer else (answer, None)

    def close(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass
        self.process.wait()
        self.errors.close()


def ask_once(args, folder, **job):
    worker = Worker(args, folder)
    try:
        return worker.ask(**job)
    finally:
        worker.close()


# ---------------------------------------------------------------- train


class OurTraining:
    """The program, from a cache, a process a training; the time of a tree is what its log says."""

    def __init__(self, args, folder, files, params):
        self.args, self.folder, self.files, self.params = args, folder, files, params

    def train(self, setting):
        model, log = (os.path.join(self.folder, name) for name in ("own.model", "own.jsonl"))
        given = {"leaves": setting["leaves"], "bins": BINS, "rate": "0.1", "min-docs": 20,
                 "rounds": setting["trees"], "threads": setting["threads"], "device": "cpu",
                 **self.params}
        _, reason = attempt([self.args.rankwood, "train", self.files[0], "--quiet", "--log", log,
                             "-o", model, *(f"--{name}={value}" for name, value in given.items())])
        if not reason and setting["scores"]:
            _, reason = attempt([self.args.rankwood, "predict", model, self.files[1], "--quiet",
                                 "--device", "cpu", "-o", setting["scores"]])
        if reason:
            return None, reason
        with open(log) as file:
            records = [json.loads(line) for line in file]
        ms = [r["ms"] for r in records if r["record"] == "timing" and "round" in r][1:]
        leaves = [r["leaves"] for r in records if r["record"] == "metrics"]
        return {"ms": statistics.fmean(ms), "leaves": statistics.fmean(leaves)}, None

    def close(self):
        pass


class PeerTraining:
    def __init__(self, args, folder, files, peer):
        self.worker = Worker(args, folder)
        _, self.reason = self.worker.ask(do="open", peer=peer, train=files[0], test=files[1],
                                         library=args.library, bins=BINS, threads=args.cores)

    def train(self, setting):
        return (None, self.reason) if self.reason else self.worker.ask(do="train", **setting)

    def close(self):
        self.worker.close()


def ways_of(leaves):
    """{row: (trainer, more settings)}; CatBoost grows at most 64 leaves."""
    ways = {name: (name, {}) for name in OURS}
    ways.update({NAMES[p]: (p, {}) for p in ("lightgbm", "xgboost")})
    most = min(leaves, 64)
    ways[f"CatBoost, {most} leaves"] = ("catboost", {"leaves": most})
    depth = (most + 1).bit_length() - 1
    ways[f"CatBoost, depth {depth}"] = ("catboost", {"leaves": 2**depth, "symmetric": True})
    return ways


def ndcg_of(args, test, scores, folder):
    """(NDCG, [of each query])."""
    path = os.path.join(folder, "per-query")
    out = run([args.rankwood, "eval", test, "--scores", scores, "--metric", f"ndcg@{TOP}",
               "--empty", "0", "--per-query", path, "--json", "--quiet"])
    with open(path) as file:
        values = [float(line.split("\t")[1]) for line in file.read().splitlines()[1:]]
    return json.loads(out)["metrics"][0]["mean"], values


def made_files(args, generator, folder):
    """(train, test), or None and a reason."""
    files = [os.path.join(folder, f"{part}.rwb") for part in ("train", "test")]
    sizes = [args.queries, args.test_queries]
    say(f"making {sizes[0]} + {sizes[1]} queries: {generator}")
    if generator != "synth":
        job = {"job": "like", "path": args.like, "seed": LIKE_SEED, "sizes": sizes, "files": files,
               "library": args.library}
        _, reason = attempt([args.python, os.path.join(HERE, "quality_jobs.py"), json.dumps(job)])
        return files, reason
    for seed, (queries, path) in enumerate(zip(sizes, files), 1):
        _, reason = attempt([args.rankwood, "synth", "--shape", "mslr30k", "--queries",
                             str(queries), "--seed", str(seed), "-o", path])
        if reason:
            return files, reason
    return files, None


def measure_setting(args, trainers, files, setting, folder):
    """{row: {"ms": [...], "leaves", "ndcg", "by_query"} or {"reason"}}."""
    found = {}
    for turn in range(args.reps):
        for name, (trainer, more) in ways_of(setting["leaves"]).items():
            row = found.setdefault(name, {"ms": []})
            if "reason" in row:
                continue
            scores = "" if turn else os.path.join(folder, "scores")
            answer, reason = trainers[trainer].train({**setting, **more, "scores": scores})
            if reason:
                found[name] = {"reason": reason}
                continue
            row["ms"].append(answer["ms"])
            row["leaves"] = answer["leaves"]
            if scores:
                row["ndcg"], row["by_query"] = ndcg_of(args, files[1], scores, folder)
    return found


def train_bar(leaves, threads):
    if os.environ.get("RANKWOOD_ISA", "avx512") != "avx512":
        return NARROW_BAR
    return TRAIN_BARS[255 if leaves > 31 else 31][threads > 4]


def train_bars(show, what, found, leaves, threads):
    peers = {n: r for n, r in found.items() if n not in OURS and "reason" not in r}
    alike = [n for n in peers if ways_of(leaves)[n][1].get("leaves", leaves) == leaves]

    def fastest(names):
        return min(names, key=lambda n: median(peers[n]["ms"]))

    for name in OURS:
        ours = found[name]
        if "reason" in ours or not alike:
            show.no_bar(f"{what}: {name}", ours.get("reason", "no peer with as many leaves"))
            continue
        best = fastest(alike + [n for n, r in peers.items() if r["ndcg"] >= ours["ndcg"]])
        show.bar(f"{what}: ms a tree, {best} / {name}", train_bar(leaves, threads),
                 median(peers[best]["ms"]) / median(ours["ms"]))
        best = fastest(alike)
        differences = [a - b for a, b in zip(ours["by_query"], peers[best]["by_query"])]
        show.bar(f"{what}: NDCG@{TOP}, {name} - {best}", NDCG_BAR, statistics.fmean(differences),
                 standard_error(differences))


def train_set(args, show, generator, folder):
    files, reason = made_files(args, generator, folder)
    head = f"{generator}, {args.queries} queries"
    if reason:
        show.nothing("train", head, reason)
        return
    trainers = {n: OurTraining(args, folder, files, p) for n, p in OURS.items()}
    for peer in ("lightgbm", "xgboost", "catboost"):
        say(f"binning for {NAMES[peer]}")
        trainers[peer] = PeerTraining(args, folder, files, peer)
    for leaves in args.leaves:
        for threads in args.threads:
            what = f"{head}, {leaves} leaves, {threads} threads"
            say(what)
            setting = {"leaves": leaves, "bins": BINS, "trees": args.trees, "threads": threads}
            found = measure_setting(args, trainers, files, setting, folder)
            show.begin("train", what, f"{'':24}{'ms a tree':>10} {'least':>9} {'most':>9} "
                       f"{'ratio':>6} {'leaves':>7} {'ndcg@10':>8}")
            base = found["Rankwood"].get("ms")
            for name, row in found.items():
                figures = row if "reason" in row else {
                    "ms": median(row["ms"]), "all_ms": row["ms"], "mean_leaves": row["leaves"],
                    "ndcg": row["ndcg"], "ratio": median(row["ms"]) / median(base) if base else None}
                show.row(name, figures, lambda f: f"{spread(f['all_ms'], 10)} {ratio_text(f)} "
                         f"{f['mean_leaves']:7.1f} {f['ndcg']:8.4f}", threads=threads)
            train_bars(show, what, found, leaves, threads)
    for trainer in trainers.values():
        trainer.close()


def part_train(args, show, folder):
    if not args.only_like:
        train_set(args, show, "synth", folder)
    if args.like:
        train_set(args, show, os.path.basename(args.like), folder)
    else:
        show.nothing("train", "another generator", "no --like PATH")


# ---------------------------------------------------------------- load

# Row: (peer, job, file, threads: one or all, binned)
LOADERS = {
    "Rankwood": ("rankwood", {"ready": True}, "qid", "all", "yes"),
    "Rankwood, 1 thread": ("rankwood", {"ready": True}, "qid", "one", "yes"),
    "Rankwood, reads": ("rankwood", {"ready": False}, "qid", "all", "no"),
    "XGBoost, libsvm": ("xgboost", {"ready": False}, "qid", "all", "no"),
    "XGBoost, libsvm, bins": ("xgboost", {"ready": True}, "qid", "all", "yes"),
    "LightGBM, no qid": ("lightgbm", {}, "plain", "all", "yes"),
    "CatBoost, libsvm": ("catboost", {"ready": False}, "qid", "all", "no"),
    "CatBoost, libsvm, bins": ("catboost", {"ready": True}, "qid", "all", "yes"),
    "scikit-learn, svmlight": ("scikit-learn", {}, "qid", "one", "no"),
}


def load_files(args, folder):
    """{"qid": path, "plain": path without query ids}, or a reason."""
    files = {kind: os.path.join(folder, f"{kind}.txt") for kind in ("qid", "plain")}
    say(f"writing {args.load_queries} queries of LETOR text")
    _, reason = attempt([args.rankwood, "synth", "--shape", "mslr30k", "--queries",
                         str(args.load_queries), "--seed", "1", "-o", files["qid"]])
    if reason:
        return files, reason
    with open(files["qid"], "rb") as text, open(files["plain"], "wb") as plain:
        plain.writelines(re.sub(rb" qid:\S+", b"", line, count=1) for line in text)
    return files, None


def measure_loading(args, files, folder):
    found = {name: {"ms": [], "peak": []} for name in LOADERS}
    for _ in range(args.reps):
        for name, (peer, more, kind, threads, _) in LOADERS.items():
            row = found[name]
            if "reason" in row:
                continue
            answer, reason = ask_once(args, folder, do="load", peer=peer, path=files[kind],
                                      threads=args.cores if threads == "all" else 1,
                                      library=args.library, bins=BINS, **more)
            documents = found["Rankwood"].setdefault("documents", answer and answer["documents"])
            if not reason and documents and answer["documents"] != documents:
                reason = f"read {answer['documents']} of {documents} documents"
            if reason:
                found[name] = {"reason": reason}
                continue
            row["ms"].append(answer["ms"])
            row["peak"].append(answer["peak"])
    return found


def load_bars(args, show, what, found):
    peers = {n: r for n, r in found.items() if LOADERS[n][0] != "rankwood" and "reason" not in r}
    if "reason" in found["Rankwood"] or not peers:
        show.no_bar(what, found["Rankwood"].get("reason", "no peer was measured"))
    else:
        best = min(peers, key=lambda n: median(peers[n]["ms"]))
        show.bar(f"{what}: time, {best} / Rankwood", LOAD_BAR,
                 median(peers[best]["ms"]) / median(found["Rankwood"]["ms"]))
    if args.quick:
        return
    say("rankwood bench load")
    out, reason = attempt([args.rankwood, "bench", "load", "--json", "--quiet"])
    if reason:
        show.no_bar("rankwood bench load", reason)
        return
    for row in json.loads(out)["rows"]:
        if row["table"] == "bars":
            show.bar("bench load: " + row["what"], (row["must"], row["aim"]), row["figure"],
                     met=row["met"])


def part_load(args, show, folder):
    files, reason = load_files(args, folder)
    if reason:
        show.nothing("load", "LETOR text", reason)
        return
    size = os.path.getsize(files["qid"])
    what = f"LETOR text, {size / 1e6:.0f} MB, {args.cores} threads"
    say(what)
    found = measure_loading(args, files, folder)
    show.begin("load", what, f"{'':24}{'MB/s':>7} {'ms':>9} {'least':>9} {'most':>9} {'ratio':>6} "
               f"{'peak MB':>8} binned threads")
    base = found["Rankwood"].get("ms")
    for name, row in found.items():
        figures = row
        if "reason" not in row:
            peaks = [p for p in row["peak"] if p is not None]
            figures = {"ms": median(row["ms"]), "all_ms": row["ms"],
                       "mb_s": size / median(row["ms"]) / 1e3, "text_bytes": size,
                       "peak_bytes": max(peaks, default=None), "binned": LOADERS[name][4],
                       "ratio": median(row["ms"]) / median(base) if base else None}
        show.row(name, figures, lambda f: f"{f['mb_s']:7.1f} {spread(f['all_ms'], 9)} "
                 f"{ratio_text(f)} {peak_text(f)} {f['binned']:>6} {f['threads']:7d}",
                 threads=args.cores if LOADERS[name][3] == "all" else 1)
    load_bars(args, show, what, found)
    for path in files.values():
        os.remove(path)


# ---------------------------------------------------------------- predict


def instructions_of(args):
    """What Rankwood's own bench says that it uses here for many documents."""
    out, reason = attempt([args.rankwood, "bench", "predict", "--quick", "--json", "--quiet"])
    if reason:
        return "unknown"
    names = {row["instructions"] for row in json.loads(out)["rows"]
             if row.get("method") == "rw_scorer_rows"}
    return ", ".join(sorted(names)) or "unknown"


def predict_files(args, leaves, folder):
    """(model, as LightGBM's), or a reason."""
    data, model = os.path.join(folder, "predict-train.rwb"), os.path.join(folder, f"{leaves}.model")
    exported, queries = model + ".lightgbm", max(20, 300 * args.documents // FULL["documents"])
    say(f"training {args.predict_trees} trees of {leaves} leaves")
    for command in (["synth", "--shape", "mslr30k", "--queries", str(queries), "--seed", "2",
                     "-o", data],
                    ["train", data, "--quiet", "--device", "cpu", "--rounds",
                     str(args.predict_trees), "--leaves", str(leaves), "-o", model],
                    ["export", model, "--to", "lightgbm", "-o", exported]):
        _, reason = attempt([args.rankwood, *command])
        if reason:
            return model, exported, reason
    return model, exported, None


def predict_rows(show, answer, instructions, what, is_latency):
    table = "one" if is_latency else "many"
    unit = "us, one at a time" if is_latency else "ns a document"
    show.begin("predict", f"{what}, {unit}", f"{'':24}{'median':>10} {'least':>9} {'most':>9} "
               f"{'ratio':>6}  instructions")
    base = median(answer[table]["rankwood"])
    for name, values in answer[table].items():
        figures = {"value": median(values), "all": values, "unit": "us" if is_latency else "ns",
                   "ratio": median(values) / base,
                   "instructions": instructions if name == "rankwood" else "its build's"}
        show.row(NAMES.get(name, "Rankwood"), figures, lambda f: f"{spread(f['all'], 10)} "
                 f"{ratio_text(f)}  {f['instructions']}", threads=1)
    if "reason_lightgbm" in answer:
        show.row("LightGBM", {"reason": answer["reason_lightgbm"]}, None)


def predict_model(args, show, leaves, data, instructions, folder):
    model, exported, reason = predict_files(args, leaves, folder)
    what = f"{args.predict_trees} trees of {leaves} leaves"
    answer = None
    if not reason:
        answer, reason = ask_once(args, folder, do="predict", model=model, lightgbm=exported,
                                  data=data, n_ids=137, documents=args.documents, one=2000,
                                  reps=args.reps, library=args.library)
    if reason:
        show.nothing("predict", what, reason)
        return
    what += f", {answer['documents']} documents, 1 thread"
    predict_rows(show, answer, instructions, what, False)
    theirs = answer["many"].get("lightgbm")
    if theirs:
        show.bar(f"{what}: time, LightGBM / Rankwood", PREDICT_BAR,
                 median(theirs) / median(answer["many"]["rankwood"]))
    else:
        show.no_bar(what, answer["reason_lightgbm"])
    predict_rows(show, answer, instructions, what, True)
    call = median(answer["call_us"])
    show.text(f"  a call from Python takes {call:.2f} us of each; scores: Rankwood's are "
              f"{'' if answer['equal'] else 'NOT '}the plain walk's, LightGBM's differ by at most "
              f"{answer.get('difference', float('nan')):g}")
    show.write({"table": "predict", "what": what, "call_us": call, "equal": answer["equal"],
                "difference": answer.get("difference")})
    show.missed += not answer["equal"]
    if leaves == 31:
        show.bar(f"{what}: us of one document, without the call", ONE_BAR,
                 median(answer["one"]["rankwood"]) - call, at_most=True)


def part_predict(args, show, folder):
    data = os.path.join(folder, "predict.rwb")
    queries = -(-args.documents * 900 // 100000)  # a few more than wanted; the rest is left out
    _, reason = attempt([args.rankwood, "synth", "--shape", "mslr30k", "--queries", str(queries),
                         "--seed", "1", "-o", data])
    if reason:
        show.nothing("predict", "dense documents", reason)
        return
    instructions = instructions_of(args)
    for leaves in (31, 255):
        predict_model(args, show, leaves, data, instructions, folder)


# ---------------------------------------------------------------- output


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.M)
    except OSError:
        found = None
    return found[1] if found else "unknown processor"


def heading(args, show, versions):
    commit, _ = attempt(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"])
    commit = commit.strip() if commit else "unknown"
    version = run([args.rankwood, "--version"]).splitlines()[0]
    load = os.getloadavg()[0]
    show.text(f"commit {commit}, {version}; {processor()}, {args.cores} cores; medians of "
              f"{args.reps} turns; load before it {load:.1f}")
    if load > 0.5:
        say(f"other work runs here (load {load:.1f}): what spins while it waits for all its threads is "
            "slowed beyond its share")
    show.text("  " + ", ".join(f"{n} " + (versions.get(k) or "not measured: "
                                         + versions.get(k + " reason", versions.get("reason", "")))
                               for k, n in NAMES.items()))
    show.write({"table": "run", "commit": commit, "rankwood": version, "processor": processor(),
                "cores": args.cores, "load": load, "reps": args.reps, "versions": versions,
                "full_size": not args.own_size})


# ---------------------------------------------------------------- arguments


def add_arguments(parser):
    add_program_arguments(parser)
    parser.add_argument("--python", help="the peers' interpreter, in place of the environment")
    parser.add_argument("--parts", default=",".join(PARTS), help="with commas [all]")
    parser.add_argument("--like", metavar="PATH", help="another generator, as of gpu.py")
    parser.add_argument("--only-like", action="store_true", help="train on no data but --like's")
    parser.add_argument("--threads", default="", metavar="LIST",
                        help="of training, with commas [1 and all]")
    parser.add_argument("--leaves", default="255,31", metavar="LIST", help="of training [255,31]")
    parser.add_argument("--quick", action="store_true", help="small sizes: to see that it works")
    for name, value in FULL.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, metavar="N",
                            help=f"[{value}; {QUICK[name]} with --quick]")
    add_records_argument(parser)
    parser.add_argument("--bars", action="store_true",
                        help="exit 1 if a bar is missed, or could not be measured")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    args = parser.parse_args()
    args.own_size = args.quick or any(getattr(args, name) not in (None, value)
                                      for name, value in FULL.items())
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    for path in ("rankwood", "library", "venv", "like", "records"):
        if getattr(args, path):
            setattr(args, path, os.path.abspath(getattr(args, path)))
    if args.python and os.sep in args.python:
        args.python = os.path.abspath(args.python)
    args.parts = [p for p in args.parts.split(",") if p]
    if any(p not in PARTS for p in args.parts):
        parser.error(f"--parts takes {','.join(PARTS)}")
    if args.only_like and not args.like:
        parser.error("--only-like takes --like")
    if args.trees < 3 or args.reps < 1:
        parser.error("--trees from 3, --reps from 1")
    args.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = [int(n) for n in args.threads.split(",") if n] or [1, args.cores]
    args.threads = sorted(set(threads))
    args.leaves = [int(n) for n in args.leaves.split(",") if n]
    return args


def main():
    args = parse_arguments()
    show = Show(args)
    if not args.python:
        make_venv(args.venv)
        args.python = os.path.join(args.venv, "bin", "python")
    with tempfile.TemporaryDirectory() as folder:
        versions, reason = ask_once(args, folder, do="versions")
        heading(args, show, versions or {"reason": reason})
        for part in args.parts:
            {"train": part_train, "load": part_load, "predict": part_predict}[part](
                args, show, folder)
    return 1 if args.bars and show.missed else 0


if __name__ == "__main__":
    sys.exit(main())
