"""runs_peer.py PROGRAM: compares eval --qrels with pytrec_eval, query by query, and with ir_measures' means, for the
random judgments and runs of tests/oracle/runs_oracle.py.

    python3 -m venv venv && venv/bin/pip install pytrec_eval-terrier ir_measures
    venv/bin/python tests/peers/runs_peer.py build/src/cli/rankwood

pytrec_eval evaluates the queries of a run. Labels below 0 are passed as 0, because some of them crash it. ir_measures
counts queries that a run lacks as 0, as Rankwood does."""

import csv
import json
import random
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / folder) for folder in (".", "oracle")]

import given  # noqa: E402
import ir_measures  # noqa: E402
import pytrec_eval  # noqa: E402
import runs_oracle as made  # noqa: E402

THEIRS = {
    "ndcg@10": ("ndcg_cut_10", "nDCG@10"), "ndcg": ("ndcg", "nDCG"), "map": ("map", "AP"),
    "map@5": ("map_cut_5", "AP@5"), "mrr": ("recip_rank", "RR"), "p@5": ("P_5", "P@5"),
    "recall@20": ("recall_20", "R@20"),
}


class Found:
    """How many figures, and the largest difference."""

    def __init__(self):
        self.n, self.most = 0, 0.0

    def add(self, ours, theirs):
        self.n += 1
        self.most = max(self.most, abs(ours - theirs))


def compare(program, rng, folder, by_query, means):
    judged, runs = made.make(rng)
    judged = {q: {d: max(label, 0) for d, label in row.items()} for q, row in judged.items()}
    runs = [run for run in runs if set(run) & set(judged)]
    if not runs:
        return
    paths = [folder / f"run{r}" for r in range(len(runs))]
    made.write(rng, folder / "qrels", judged, lambda q, d, label: f"{q} 0\t{d} {label}\n")
    for path, run in zip(paths, runs):
        made.write(rng, path, run, lambda q, d, score: f"{q}\tQ0 {d}  7 {score!r} t\n")
    text = made.output(program, "eval", "--qrels", folder / "qrels", "--metric", ",".join(THEIRS), "--json",
                       "--per-query", folder / "per_query", "--run", *paths)
    evaluator = pytrec_eval.RelevanceEvaluator(
        judged, {"ndcg_cut.10", "ndcg", "map", "map_cut.5", "recip_rank", "P.5", "recall.20"})
    theirs = [evaluator.evaluate({q: {d: float(x) for d, x in row.items()} for q, row in run.items()}) for run in runs]
    for row in csv.DictReader(open(folder / "per_query", encoding="utf-8"), delimiter="\t"):
        values = theirs[paths.index(Path(row["run"]))].get(row["qid"])
        for ours, (name, _) in THEIRS.items():
            by_query.add(float(row[ours]), values[name] if values else 0.0)
    for run, printed in zip(runs, json.loads(text)["runs"]):
        of_all = ir_measures.calc_aggregate(
            [ir_measures.parse_measure(name) for _, name in THEIRS.values()], judged, run)
        of_all = {str(measure): value for measure, value in of_all.items()}
        for one in printed["metrics"]:
            means.add(one["mean"], of_all[THEIRS[one["metric"]][1]])


def main():
    if len(sys.argv) != 2:
        given.end("usage: runs_peer.py PROGRAM")
    program = given.program(sys.argv[1])
    rng, by_query, means = random.Random(5), Found(), Found()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(60):
            compare(program, rng, Path(folder), by_query, means)
    for name, found in (("pytrec_eval", by_query), ("ir_measures, means", means)):
        print(f"{name}: {found.n} figures, {found.most:.1e} apart at most")
    return 0 if by_query.n > 1000 and max(by_query.most, means.most) < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
