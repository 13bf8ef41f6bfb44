"""runs_oracle.py PROGRAM [--seed N]: computes trec_eval's metrics of random judgments and runs, and
Holm's p, from their definitions. Compares them with `eval --qrels`, query by query, and `compare`.

The program rounds a query's value to multiples of 2^-40, so that figures agree to 1e-12; the
corrected p of `compare` are made of the printed ones, by the definition of Holm 1979 rather than by
steps: ==. Standard library only."""

import csv
import io
import math
import struct
import subprocess
import sys
from pathlib import Path

import cases

METRICS = ["ndcg", "ndcg@1", "ndcg@5", "ndcg@1000", "map", "map@3", "mrr", "p@1", "p@10", "recall@1", "recall@10"]


def as_float(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def random_id(rng):
    return rng.choice(["d", "D", "GX-", "\u00e9", "0"]) + str(rng.randrange(300))


def make(rng):
    """{query: {document: label}}, [{query: {document: score}}]: with unjudged documents, queries that a run lacks and
    queries that only runs have, ties, and scores that are equal as floats."""
    judged, runs = {}, [{} for _ in range(3)]
    for i in range(rng.choice([3, 30])):
        query = f"q{i}" if rng.random() < 0.5 else str(100 - i)
        pool = sorted({random_id(rng) for _ in range(rng.choice([1, 3, 10, 150]))})
        labels = rng.choice([[0, 1], [0], [-2, 0, 1, 2, 3, 4], [0, 0, 0, 0, 0, 7]])
        documents = {d: rng.choice(labels) for d in pool if rng.random() < 0.7}
        if documents and rng.random() < 0.9:
            judged[query] = documents
        for run in runs:
            found = [d for d in pool if rng.random() < rng.choice([0.2, 0.9])]
            kind = rng.choice(["few", "many", "near", "same"])
            score = {"few": lambda: rng.randrange(4), "many": lambda: rng.gauss(0, 5), "same": lambda: 1.5,
                     "near": lambda: 0.1 + rng.randrange(3) * 1e-10}[kind]
            if found and rng.random() < 0.9:
                run[query] = {d: score() for d in found}
    return judged, runs


def write(rng, path, table, line):
    lines = [line(query, document, value) for query, row in table.items() for document, value in row.items()]
    rng.shuffle(lines)
    path.write_text("".join(lines), encoding="utf-8")


def ranked(scores):
    """By falling score as a float, then by falling bytes of the id."""
    return sorted(scores, key=lambda d: (as_float(scores[d]), d.encode()), reverse=True)


def dcg(gains):
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))


def measure(metric, judged, scores):
    name, _, cut = metric.partition("@")
    relevant = sum(label > 0 for label in judged.values())
    gains = [max(judged.get(d, 0), 0) for d in ranked(scores)]
    k = int(cut) if cut else max(len(gains), len(judged), 1)
    hits = [gain > 0 for gain in gains[:k]]
    if not relevant:
        return 0.0
    if name == "ndcg":
        return dcg(gains[:k]) / dcg(sorted((max(label, 0) for label in judged.values()), reverse=True)[:k])
    if name == "map":
        return sum(sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit) / relevant
    if name == "mrr":
        return 1 / (hits.index(True) + 1) if any(hits) else 0.0
    return sum(hits) / (k if name == "p" else relevant)


def holm(p):
    """The corrected p of a test: the least level at which the procedure rejects it."""
    def rejected(level):
        out = set()
        for step, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
            if p[i] * (len(p) - step) > level:
                break
            out.add(i)
        return out
    levels = sorted({min(1.0, p[i] * m) for i in range(len(p)) for m in range(1, len(p) + 1)})
    return [next((level for level in levels if i in rejected(level)), 1.0) for i in range(len(p))]


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def check_case(program, rng, folder):
    """How many figures were compared."""
    judged, runs = make(rng)
    runs = [run for run in runs if set(run) & set(judged)]
    if not judged or len(runs) < 2:
        return 0
    write(rng, folder / "qrels", judged, lambda q, d, label: f"{q} 0\t{d} {label}\n")
    paths = [folder / f"run{r}" for r in range(len(runs))]
    for path, run in zip(paths, runs):
        write(rng, path, run, lambda q, d, score: f"{q}\tQ0 {d}  7 {score!r} t\n")
    output(program, "eval", "--qrels", folder / "qrels", "--metric", ",".join(METRICS),
           "--per-query", folder / "per_query", "--run", *paths)
    n = 0
    with open(folder / "per_query", encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text, delimiter="\t"):
            run = runs[paths.index(Path(row["run"]))]
            for metric in METRICS:
                ours, expected = float(row[metric]), measure(metric, judged[row["qid"]], run.get(row["qid"], {}))
                if abs(ours - expected) > 1e-12:
                    raise SystemExit(f"{row['run']}, query {row['qid']}: {metric} is {ours}, expected {expected}\n"
                                     f"{judged[row['qid']]}\n{run.get(row['qid'])}")
                n += 1
    if n != len(METRICS) * len(runs) * len(judged):
        raise SystemExit(f"{n} figures of {len(runs)} runs and {len(judged)} queries")
    return n + check_holm(program, folder, paths)


def check_holm(program, folder, paths):
    text = output(program, "compare", "--qrels", folder / "qrels", "--metric", "ndcg@5,map,p@10", "--format", "csv",
                  "--baseline", *paths)
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["p"]]
    expected = holm([float(row["p"]) for row in rows])
    found = [float(row["p_corrected"]) for row in rows]
    if len(rows) != 3 * (len(paths) - 1) or found != expected:
        raise SystemExit(f"Holm's p: {found}, expected {expected}\n{text}")
    return len(rows)


if __name__ == "__main__":
    sys.exit(cases.run([check_case] * 40, 1000))
