#!/usr/bin/env python3
"""The time and the result of `rankwood tune` on a GPU, for much data.

Makes data of shape mslr30k with `rankwood synth`: a training set, a set that stops and measures trials, and a held-out
set. Searches tune_space.txt, trains the chosen parameters, and measures them on the held-out set. With --whole, also
trains every trial of the search until early stopping, and measures the best of them, by its validation metric, on the
held-out set. It prints

  search   seconds of the search, without reading files and without training the chosen parameters again
  chosen   the chosen parameters and their NDCG@10 on the held-out set
  whole    the best of all trials trained whole, and by how much it is better there

It needs no package of Python. A short run on the CPU:

  python3 tests/peers/tune_gpu.py --program build/src/cli/rankwood --device cpu --queries 100 --trials 4 --rounds 20 \\
      --whole
"""
import argparse
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SETS = {"train": (1, 1.0), "valid": (2, 0.15), "test": (3, 0.3)} # seed, part of --queries


def run(args, *words):
    """Runs the program and returns its output and messages."""
    done = subprocess.run([args.program, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"rankwood {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout, done.stderr


def held_out(args, file, model):
    out, _ = run(args, "eval", file("test.rwb"), "--model", model, "--json", "--quiet")
    return json.loads(out)["metrics"][0]["mean"]


def search(args, file):
    """Returns the document of the search, its seconds, and those of all of the command."""
    begin = time.perf_counter()
    out, err = run(args, "tune", file("train.rwb"), "--valid", file("valid.rwb"), "--trials", args.trials, "--space",
                   args.space, "--rounds", args.rounds, "--device", args.device, "--params-out", file("chosen"),
                   "--json", "--verbose")
    return json.loads(out), float(re.search(r"stage tune: ([\d.]+) s", err)[1]), time.perf_counter() - begin


def train_whole(args, file, row, names):
    """Trains a trial until early stopping. Returns its metrics on the validation set and the held-out one."""
    model = file(f"model.{row['trial']}")
    words = [word for name in names if row[name] is not None for word in (f"--{name}", row[name])]
    run(args, "train", file("train.rwb"), "--valid", file("valid.rwb"), "--rounds", args.rounds, "--early-stop-rule",
        "best", "--ties", "mean", "--device", args.device, "--seed", row["seed"], "--threads", args.threads, "--quiet",
        "-o", model, *words)
    out, _ = run(args, "eval", file("valid.rwb"), "--model", model, "--ties", "mean", "--json", "--quiet")
    figures = json.loads(out)["metrics"][0]["mean"], held_out(args, file, model)
    os.remove(model)
    return figures


def whole(args, file, found, chosen):
    """Trains trials whole, those that the search rated best first, until the time limit."""
    rows = found["rows"]
    names = [name for name in space_names(args.space) if name in rows[0]]
    end, figures = time.perf_counter() + args.limit, {}

    def one(row):
        if time.perf_counter() < end:
            figures[row["trial"]] = train_whole(args, file, row, names if row["trial"] else ())

    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(args.at_once) as pool:
        done = [row for row in rows if not row["failure"]]
        promising = sorted(done, key=lambda row: (not row["whole"], -row["mean"]))
        for job in [pool.submit(one, row) for row in promising]:
            job.result()
    best = max(figures, key=lambda trial: (figures[trial][0], -trial))
    print(f"whole: {len(figures)} of {len(rows)} trials in {time.perf_counter() - begin:.1f} s")
    print(f"whole: best is trial {best}, held-out NDCG@10 {figures[best][1]:.6f}, "
          f"{figures[best][1] - chosen:+.6f} from the chosen one")
    print(f"whole: highest held-out NDCG@10 of any trial {max(f[1] for f in figures.values()):.6f}", flush=True)


def space_names(path):
    with open(path) as lines:
        return [line.split()[0] for line in lines if line.split() and not line.startswith("#")]


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--program", default="rankwood")
    parse.add_argument("--device", default="cuda")
    parse.add_argument("--queries", type=int, default=31531, help="of the training set: 3.77 million documents")
    parse.add_argument("--trials", type=int, default=100)
    parse.add_argument("--rounds", type=int, default=500)
    parse.add_argument("--space", default=os.path.join(HERE, "tune_space.txt"))
    parse.add_argument("--whole", action="store_true", help="also train all trials whole")
    parse.add_argument("--at-once", type=int, default=3, help="whole trials that run at the same time")
    parse.add_argument("--threads", type=int, default=5, help="threads of a whole trial")
    parse.add_argument("--limit", type=float, default=400, help="seconds after which no whole trial begins")
    parse.add_argument("--folder", help="keep the data and the chosen parameters here, and use data that is there")
    args = parse.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated")) # an exception also ends the program that runs
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or temporary
        os.makedirs(folder, exist_ok=True)

        def file(name):
            return os.path.join(folder, name)

        for name, (seed, part) in SETS.items():
            if not os.path.exists(file(f"{name}.rwb")):
                run(args, "synth", "--shape", "mslr30k", "--queries", max(20, round(args.queries * part)), "--seed",
                    seed, "-o", file(f"{name}.rwb"))
        found, seconds, all_seconds = search(args, file)
        print(f"search: {seconds:.1f} s for {found['trials']} trials, {all_seconds:.1f} s with reading the files",
              flush=True)
        run(args, "train", file("train.rwb"), "--config", file("chosen"), "--device", args.device, "--quiet", "-o",
            file("model"))
        chosen = held_out(args, file, file("model"))
        row = found["rows"][found["chosen"]]
        setting = " ".join(f"--{name} {row[name]}" for name in space_names(args.space) if row.get(name) is not None)
        print(f"chosen: trial {row['trial']}, {row['rounds']} rounds: {setting}")
        print(f"chosen: held-out NDCG@10 {chosen:.6f}", flush=True)
        if args.whole:
            whole(args, file, found, chosen)


main()
