"""Runs the example of docs/tutorials/click-log.md over many seeds. Measures the loss of models of clicks compared with
a model of judged labels: of uncorrected clicks, with additive, and with two trainings (additive, then ipw with the
propensities that additive found).

    python3 tests/peers/clicks_example.py --rankwood build/src/cli/rankwood --seeds 20

Every seed makes its own training and test sets (600 and 200 queries of `synth --shape letor`), users who
click on a relevant document at position k one time in k, and trainings of 40 rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile


def documents(path):
    """(query, label, features) of each line of LETOR text."""
    with open(path) as lines:
        for line in lines:
            label, query, *features = line.split("#")[0].split()
            yield query[4:], int(label), " ".join(features)


def write_sessions(path, folder, n_sessions):
    """The sessions of each query, as the awk lines of docs/tutorials/click-log.md make them: labels or clicks, positions."""
    lines, last, k = {}, None, 0
    for number, (query, label, features) in enumerate(documents(path), 1):
        k = k + 1 if query == last else 1
        last = query
        for s in range(1, n_sessions + 1):
            if k <= 10:
                clicked = int(label > 0 and (number + s) % k == 0)
                lines.setdefault(f"{query}-{s}", []).append((clicked, label, k, features))
    with open(folder + "/clicks", "w") as clicks, open(folder + "/labels", "w") as labels, \
            open(folder + "/shown", "w") as shown:  # fmt: skip
        for session in sorted(lines):
            if any(clicked for clicked, _, _, _ in lines[session]):
                for clicked, label, k, features in lines[session]:
                    clicks.write(f"{clicked} qid:{session} {features}\n")
                    labels.write(f"{label} qid:{session} {features}\n")
                    shown.write(f"{k}\n")


def measure(program, seed, n_sessions):
    def run(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout

    def ndcg(data, *words):
        run("train", data, *words, "--rounds", "40", "--seed", str(seed), "--quiet", "-o", "model")
        answer = run("eval", "test", "--model", "model", "--metric", "ndcg@10", "--json")
        return json.loads(answer)["metrics"][0]["mean"]

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, queries, own in ("train", 600, 2 * seed - 1), ("test", 200, 2 * seed):
            run("synth", "--shape", "letor", "--queries", str(queries), "--seed", str(1000 + own), "-o", name)
        write_sessions("train", folder, n_sessions)
        positions = ("--positions", "shown", "--debias")
        found = {"labels": ndcg("labels"), "clicks": ndcg("clicks"),
                 "additive": ndcg("clicks", *positions, "additive", "--log", "log")}  # fmt: skip
        with open("log") as log, open("propensities", "w") as out:
            for record in map(json.loads, log):
                if record["record"] == "positions":
                    for position, value in zip(record["position"], record["propensity"], strict=True):
                        out.write(f"{position} {value!r}\n")
        with open("known", "w") as out:
            out.writelines(f"{k} {1 / k!r}\n" for k in range(1, 11))
        for way, file in ("twice", "propensities"), ("ipw, true propensities", "known"):
            found[way] = ndcg("clicks", *positions, "ipw", "--norm", "off", "--propensities", file)
        os.chdir("/")
    return found


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--rankwood", required=True)
    arguments.add_argument("--seeds", type=int, default=20)
    arguments.add_argument("--sessions", type=int, default=3, help="of each query, as many as its users")
    given = arguments.parse_args()
    program = os.path.abspath(given.rankwood)
    rows = [measure(program, seed, given.sessions) for seed in range(1, given.seeds + 1)]

    def mean(values):
        error = statistics.stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
        return f"{statistics.mean(values):+.4f} ± {error:.4f}"

    for way in rows[0]:
        figures = [row[way] for row in rows]
        lost = [row["labels"] - row[way] for row in rows]
        print(f"{way:24s} ndcg@10 {statistics.mean(figures):.4f}  lost {mean(lost)}")
    print("twice less additive     ", mean([row["twice"] - row["additive"] for row in rows]))
    print("additive less clicks    ", mean([row["additive"] - row["clicks"] for row in rows]))


if __name__ == "__main__":
    main()
