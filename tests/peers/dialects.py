#!/usr/bin/env python3
"""Dialects of metrics: measures the same labels and scores by other programs and by `rankwood eval --like`.

Makes sets (random, tied, adversarial, weighted, refused), passes every program the same scores, and compares each
figure with Rankwood's. Prints a table of one set's NDCG@10 by all programs and one of the largest differences. Exits
with 1 if a difference is too large, or if only one of the two refuses a set.

  python3 tests/peers/dialects.py [--program build/src/cli/rankwood]
  python3 tests/peers/dialects.py --golden tests/golden/dialects     # writes the offline tests' data

The peers run in the virtual environment of quality.py (made if it is missing), with
dialect-requirements.txt on top. gdeval.pl (in ir_measures) needs perl. RankLib and QuickRank are in no
package: rules.py measures those two by their rules, apart from Rankwood's code.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

import rules
from common import HERE, ROOT, add_records_argument, given, make_venv, run, write_record

# gdeval.pl prints five decimals of each query, YDF goes through float in places.
TOLERANCE = {"gdeval": 6e-6, "ydf": 1e-8}
# What leaves the order of equal scores to an unstable sort keeps the input's in short queries only.
UNSTABLE = {("ydf", "mrr"), ("ydf", "map"), ("ranx", ""), ("quickrank", "")}
SHORT = 15


def ids(rng, n, kind):
    """Document ids whose order as text is not that of the input."""
    if kind == "numbers":
        return [str(i + 1) for i in range(n)]
    out = set()
    while len(out) < n:
        out.add("".join(rng.choice("abcXYZ019-") for _ in range(rng.randrange(1, 7))))
    out = sorted(out)
    rng.shuffle(out)
    return out


def make_set(seed, n_queries, longest, labels, score, empty=0.2, single=0.1, order=None, kind="text"):
    """Queries as (labels, scores, ids). score(rng, label): a document's score."""
    rng = random.Random(seed)
    queries = []
    for _ in range(n_queries):
        n = 1 if rng.random() < single else rng.randrange(2, longest + 1)
        here = [0.0] * n if rng.random() < empty else [float(rng.choice(labels)) for _ in range(n)]
        if order:
            here.sort(reverse=order == "falling")
        queries.append([here, [score(rng, l) for l in here], ids(rng, n, kind)])
    return queries


GRADES = (0, 0, 0, 1, 1, 2, 3, 4)


def noisy(rng, label):
    return label + rng.gauss(0, 2)


def coarse(rng, label):
    return round(label + rng.gauss(0, 2)) / 2


def near(rng, label):
    """Scores that differ in double and are equal, or change places, in float."""
    return 1 + rng.choice((-1, 0, 1)) * 2e-9 + (rng.random() < 0.3)


def sets(small=False):
    """Small ones are for the tests without the programs."""
    n = 12 if small else 150
    wide = 9 if small else 40
    return {
        "random": {"queries": make_set(1, n, wide, GRADES, noisy)},
        "tied": {"queries": make_set(2, n, 9, GRADES, coarse, kind="numbers")},
        "tied-wide": {"queries": make_set(3, n, wide, GRADES, coarse)},
        "binary": {"queries": make_set(4, n, 9, (0, 0, 1), coarse)},
        "near": {"queries": make_set(5, n, 9, GRADES, near)},
        "constant-falling": {"queries": make_set(6, n, 9, GRADES, lambda r, l: 0.0, order="falling")},
        "constant-rising": {"queries": make_set(7, n, 9, GRADES, lambda r, l: 0.0, order="rising")},
        "all-empty": {"queries": make_set(8, 5, 9, (0,), coarse)},
        "all-relevant": {"queries": make_set(9, n, 9, (1, 1, 4), coarse, empty=0)},
        "singles": {"queries": make_set(10, n, 2, (0, 1, 2), coarse, single=0.9)},
        "huge-scores": {"queries": make_set(11, n, 9, GRADES, lambda r, l: noisy(r, l) * 1e30)},
        "weighted": {"queries": make_set(12, n, wide, GRADES, noisy),
                     "weights": [random.Random(q).choice((0.5, 1, 2, 7)) for q in range(n)],
                     "only": ["lightgbm", "xgboost", "xgboost-", "catboost"]},
        "weighted-binary": {"queries": make_set(13, n, wide, (0, 0, 1), noisy),
                            "weights": [random.Random(q).choice((0.5, 1, 2, 7)) for q in range(n)],
                            "only": ["lightgbm", "xgboost", "xgboost-", "catboost"]},
        "real-labels": {"queries": make_set(14, n, 9, (0, 0.25, 0.5, 0.75, 1, 2.5), coarse),
                        "only": ["lightgbm", "xgboost", "xgboost-", "catboost"]},
        "gain-linear": {"queries": make_set(15, n, wide, GRADES, noisy), "gain": "linear",
                        "only": ["lightgbm", "xgboost", "xgboost-", "catboost"]},
        "gain-exp": {"queries": make_set(16, n, wide, GRADES, coarse), "gain": "exp",
                     "only": ["lightgbm", "xgboost", "xgboost-", "catboost"]},
        "label-5": {"queries": [[[5.0, 0.0], [1.0, 2.0], ["a", "b"]]] * 2},
        "label-30": {"queries": [[[30.0, 0.0, 1.0], [1.0, 2.0, 3.0], ["a", "b", "c"]]] * 2},
        "label-31": {"queries": [[[31.0, 0.0, 1.0], [1.0, 2.0, 3.0], ["a", "b", "c"]]] * 2},
        "label-32": {"queries": [[[32.0, 0.0, 1.0], [1.0, 2.0, 3.0], ["a", "b", "c"]]] * 2,
                     "only": ["lightgbm", "xgboost", "xgboost-", "gdeval", "trec", "ranx"]},
    }


def readme_set():
    """Queries of one document, without a relevant one, and many ties: README's table."""
    rng = random.Random(20)
    queries = []
    for q in range(200):
        n = 1 if q % 10 == 9 else rng.randrange(2, 30)
        labels = [0 if q % 5 == 4 else rng.choice((0, 0, 0, 1, 2, 3)) for _ in range(n)]
        scores = [round((l + rng.gauss(0, 2)) * 2) / 2 for l in labels]
        queries.append([labels, scores, [f"d{i}" for i in range(n)]])
    return queries


def readme_works():
    queries = readme_set()
    only = ["lightgbm", "xgboost", "xgboost-", "catboost"]
    return [{"queries": queries, "only": only},
            {"queries": queries, "only": ["catboost"], "gain": "exp"}]


def print_readme_table(program, folder, answers, versions):
    paths = write_set(folder, "readme", {"queries": readme_set()})
    print("| program | NDCG@10 |\n|---|---|")
    for options in ([], ["--empty 0"], ["--empty 1"], ["--empty 1", "--ties mean"],
                    ["--empty 1", "--label-gain linear"]):
        name = " ".join(f"`{o}`" for o in options) or "as it comes"
        said = run([program, "eval", paths[0], "--scores", paths[1], "--metric", "ndcg@10", "--json",
                    *sum((o.split() for o in options), [])])
        print(f"| Rankwood, {name} | {json.loads(said)['metrics'][0]['mean']:.6f} |")
    for like, title, metric, values in (
            ("lightgbm", "LightGBM", "ndcg@10", answers[0]), ("xgboost", "XGBoost", "ndcg@10", answers[0]),
            ("xgboost-", "XGBoost", "ndcg@10-", answers[0]),
            ("catboost", "CatBoost", "NDCG:top=10", answers[0]),
            ("catboost", "CatBoost", "NDCG:top=10;type=Exp", answers[1])):
        if "ndcg@10" in values.get(like, {}):
            print(f"| {title} {versions[like.rstrip('-')]}, `{metric}` | {values[like]['ndcg@10']:.6f} |")
    print()


def write_set(folder, name, work):
    paths = [os.path.join(folder, name + end) for end in (".txt", ".scores", ".weights")]
    with open(paths[0], "w") as f, open(paths[1], "w") as g:
        for q, (labels, scores, docs) in enumerate(work["queries"]):
            f.writelines(f"{l:g} qid:{q} 1:0 # docid = {d}\n" for l, d in zip(labels, docs))
            g.writelines(f"{s!r}\n" for s in scores)
    if work.get("weights"):
        with open(paths[2], "w") as f:
            f.writelines(f"{w!r}\n" for w in work["weights"])
    return paths


def ours(program, paths, like, metrics, work):
    """{metric: value}, or why not."""
    command = [program, "eval", paths[0], "--scores", paths[1], "--like", like, "--json", "--quiet"]
    if work.get("weights"):
        command += ["--query-weights", paths[2]]
    if work.get("gain"):
        command += ["--label-gain", work["gain"]]
    out = {}
    for i in range(0, len(metrics), 16):
        done = subprocess.run([*command, "--metric", ",".join(metrics[i:i + 16])],
                              capture_output=True, text=True)
        if done.returncode:
            return {"refused": done.stderr.strip().splitlines()[0]}
        out.update((m["metric"], m["mean"]) for m in json.loads(done.stdout)["metrics"])
    return out


def is_stable(like, metric, queries):
    """Does the program say where ties go? Else only short queries can be compared."""
    if (like, metric.split("@")[0]) not in UNSTABLE and (like, "") not in UNSTABLE:
        return True
    return all(len(q[0]) <= SHORT or len(set(q[1])) == len(q[1]) for q in queries)


def compare(program, folder, name, work, theirs, worst):
    failed = []
    paths = write_set(folder, name, work)
    for like, values in theirs.items():
        metrics = [m for m in values if m != "refused" and is_stable(like, m, work["queries"])]
        if not metrics and "refused" not in values:
            continue
        mine = ours(program, paths, like, metrics or ["ndcg@10"], work)
        if "refused" in mine or "refused" in values:
            if ("refused" in mine) != ("refused" in values):
                failed.append(f"{name}: {like}: theirs {values}, ours {mine}")
            else:
                worst[like] = worst.get(like, [0, 0, 0])
                worst[like][2] += 1
            continue
        for metric in metrics:
            a, b = mine[metric], values[metric]
            known = worst.setdefault(like, [0, 0, 0])
            known[1] += 1
            if a is None or b is None:
                if a is not b:
                    failed.append(f"{name}: {like} {metric}: theirs {b}, ours {a}")
                continue
            distance = abs(a - b) / max(1, abs(b))
            known[0] = max(known[0], distance)
            if not distance <= TOLERANCE.get(like, 1e-9):
                failed.append(f"{name}: {like} {metric}: theirs {b:.9f}, ours {a:.9f}")
    return failed


def ask(args, works):
    """Each program's metrics of each set, and the versions."""
    make_venv(args.venv)
    python = os.path.join(args.venv, "bin", "python")
    run([python, "-m", "pip", "install", "-q", "-r", os.path.join(HERE, "dialect-requirements.txt")])
    done = subprocess.run([python, os.path.join(HERE, "dialect_peers.py")], check=True,
                          input=json.dumps(works), stdout=subprocess.PIPE, text=True,
                          stderr=None if args.verbose else subprocess.DEVNULL)
    *answers, last = json.loads(done.stdout)
    for work, values in zip(works, answers):
        if not work.get("only"):
            values.update(rules.measure(work["queries"]))
    return answers, last["versions"]


def write_golden(folder, works, answers):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "expected.tsv"), "w") as f:
        for (name, work), values in zip(works.items(), answers):
            if name.startswith(("label-", "gain-")):
                continue
            write_set(folder, name, work)
            for like, figures in values.items():
                for metric, value in figures.items():
                    if metric != "refused" and is_stable(like, metric, work["queries"]):
                        f.write(f"{name}\t{like}\t{metric}\t"
                                f"{'nan' if value is None else repr(value)}\n")
    print(f"wrote {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=given.program, default=os.path.join(ROOT, "build/src/cli/rankwood"))
    parser.add_argument("--venv", default=os.path.join(ROOT, "build-peers"))
    parser.add_argument("--golden", help="write small sets and what the programs say of them here")
    add_records_argument(parser)
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    works = sets(small=bool(args.golden))
    answers, versions = ask(args, [*works.values(), *readme_works()])
    if args.golden:
        write_golden(args.golden, works, answers)
        return 0
    worst, failed = {}, []
    with tempfile.TemporaryDirectory() as folder:
        print_readme_table(args.program, folder, answers[len(works):], versions)
        for (name, work), values in zip(works.items(), answers):
            failed += compare(args.program, folder, name, work, values, worst)
    print("| program | version | figures compared | refused by both | largest difference |\n"
          "|---|---|---|---|---|")
    for like, (distance, count, refused) in worst.items():
        version = versions.get(like.rstrip("-"), "by its rules")
        print(f"| {like} | {version} | {count} | {refused} | {distance:.1e} |")
        write_record(args.records, {"table": "dialects", "program": like, "version": version,
                                    "figures": count, "refused": refused, "largest_difference": distance})
    for line in failed:
        print(line, file=sys.stderr)
    print(f"{sum(c for _, c, _ in worst.values())} figures, {len(failed)} differ")
    return 1 if failed or math.fsum(c for _, c, _ in worst.values()) == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
