#!/usr/bin/env python3
"""From a table in memory to data that is ready to train: rankwood.Dataset compared with LightGBM's and XGBoost's.

  python3 tests/peers/tables.py [--docs 1000000] [--threads N] [--turns 3] [--what LIST] [--json FILE]

Each measurement runs in a separate process: it makes documents of `rankwood synth`, shape mslr30k (136 features), as
the named table, then times the preparation for training, with 255 bins (XGBoost's 256) on the CPU. `peak` is the
additional memory at its maximum, as a share of a float32 array of the values. All are measured once per turn; the
median is shown.

Needs the packages rankwood and numpy, and the measured ones.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

DOCS_A_QUERY = 119.56  # of the shape mslr30k, on average


def memory(field):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def frame(X, y, qid):
    return {**{f"f{i}": X[:, i] for i in range(X.shape[1])}, "label": y, "query": qid}


def table(kind, X, y, qid):
    """The user's table."""
    if kind == "numpy, rows":
        return np.ascontiguousarray(X)
    if kind == "numpy, columns":
        return X
    if kind == "numpy, float64":
        return np.ascontiguousarray(X, dtype=np.float64)
    if kind == "pandas":
        import pandas as pd

        return pd.DataFrame(frame(X, y, qid))
    if kind == "polars":
        import polars as pl

        return pl.DataFrame(frame(X, y, qid))
    import pyarrow as pa

    return pa.table(frame(X, y, qid))


def ours(data, y, qid, threads):
    import rankwood

    def make():
        if isinstance(data, np.ndarray):
            made = rankwood.Dataset(data, y, qid=qid)
        else:
            made = rankwood.Dataset(data, "label", qid="query")
        return made.prepare({"device": "cpu", "threads": threads})

    return make


def lightgbm(data, y, qid, threads):
    import lightgbm as lgb

    params = {"max_bin": 255, "num_threads": threads, "verbosity": -1}
    return lambda: lgb.Dataset(data, y, group=np.bincount(qid), params=params).construct()


def xgboost(data, y, qid, threads):
    import xgboost as xgb

    return lambda: xgb.QuantileDMatrix(data, y, qid=qid, max_bin=256, nthread=threads)


WHAT = {
    **{kind: (kind, ours) for kind in
       ("numpy, rows", "numpy, columns", "numpy, float64", "pandas", "polars", "pyarrow")},
    "LightGBM": ("numpy, rows", lightgbm),
    "XGBoost": ("numpy, rows", xgboost),
}


def measure(name, docs, threads):
    """In a process of its own: prints a record."""
    import rankwood

    kind, maker = WHAT[name]
    X, y, qid = rankwood.synth("mslr30k", max(1, round(docs / DOCS_A_QUERY)))
    array_bytes = X.nbytes
    data = table(kind, X, y, qid)
    if kind != "numpy, columns":
        del X
    make = maker(data, y, qid, threads)
    before = memory("VmRSS:")
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the peak counts from here
    start = time.perf_counter()
    held = make()
    seconds = time.perf_counter() - start
    peak = memory("VmHWM:") - before
    del held
    print(json.dumps({"seconds": seconds, "peak": peak / array_bytes, "docs": len(y)}))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--what", default=";".join(WHAT), help="names with ; between them")
    parser.add_argument("--json", help="append a record a line to this file")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        measure(args.one, args.docs, args.threads)
        return
    found = {name: [] for name in args.what.split(";")}
    for _ in range(args.turns):
        for name in found:
            done = subprocess.run([sys.executable, __file__, "--one", name, "--docs", str(args.docs),
                                   "--threads", str(args.threads)], capture_output=True, text=True)
            if done.returncode == 0:
                found[name].append(json.loads(done.stdout.splitlines()[-1]))
            else:
                print(f"{name}: not measured: {(done.stderr.splitlines() or ['?'])[-1]}", flush=True)
    docs = next((records[0]["docs"] for records in found.values() if records), 0)
    print(f"{docs} documents, 136 features, {args.threads} threads, medians of {args.turns} turns")
    print(f"{'table':<16}{'seconds':>10}{'least':>8}{'peak':>8}{'times numpy, rows':>20}")
    base = statistics.median(r["seconds"] for r in found["numpy, rows"]) if found.get("numpy, rows") else None
    for name, records in found.items():
        if not records:
            continue
        seconds = statistics.median(r["seconds"] for r in records)
        least = min(r["seconds"] for r in records)
        peak = statistics.median(r["peak"] for r in records)
        ratio = f"{seconds / base:.2f}" if base else ""
        print(f"{name:<16}{seconds:>10.2f}{least:>8.2f}{peak:>8.2f}{ratio:>20}")
        if args.json:
            with open(args.json, "a", encoding="utf-8") as file:
                file.write(json.dumps({"what": name, "seconds": seconds, "least_s": least, "peak": peak,
                                       "docs": docs, "threads": args.threads}) + "\n")


if __name__ == "__main__":
    main()
