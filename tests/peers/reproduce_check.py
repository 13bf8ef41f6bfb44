#!/usr/bin/env python3
"""Tests reproduce.sh with Rankwood only, on tiny made copies of the public sets. It must find the publishers' files,
print the figures of `train` and `eval`, split Istella's training part by queries, and list the sets that it did not
measure. Standard library only.

    python3 tests/peers/reproduce_check.py --build FOLDER
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

from common import HERE, given, run
from quality_constraints import correlation, ranks

ROUNDS = 5
failed = 0


def check(what, good, shown=""):
    global failed
    failed += not good
    print(f"{'ok' if good else 'not ok'} reproduce: {what}{'' if good else f': {shown}'}")


def make(rankwood, path, shape, queries, seed):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    run([rankwood, "synth", "--shape", shape, "--queries", str(queries), "--seed", str(seed), "-o", path])


def make_copies(rankwood, folder):
    """Two folds of five of MSLR-WEB30K, the second packed; all of the others."""
    for fold in (1, 3):
        for seed, part in enumerate(("train", "vali", "test"), 10 * fold):
            make(rankwood, f"{folder}/MSLR-WEB30K/Fold{fold}/{part}.txt{'.gz' if fold == 3 else ''}", "mslr30k", 6, seed)
    for seed, part in enumerate(("train", "valid", "test"), 1):
        make(rankwood, f"{folder}/ltrc_yahoo/set1.{part}.txt", "yahoo", 15, seed)
    for seed, (part, queries) in enumerate((("train", 11), ("test", 4)), 1):
        make(rankwood, f"{folder}/istella-letor/full/{part}.txt", "istella", queries, seed)


def reproduce(build, data, *more):
    done = subprocess.run(["sh", os.path.join(HERE, "reproduce.sh"), "--data", data, "--peers", "", "--seeds", "1-2",
                           "--threads", "1", "--rounds", str(ROUNDS), *more], capture_output=True, text=True,
                          env=dict(os.environ, RANKWOOD_BUILD=build))
    if done.returncode:
        raise SystemExit(f"reproduce.sh: exit {done.returncode}\n{done.stderr}")
    return [[cell.strip() for cell in line.split("|")[1:-1]]
            for line in done.stdout.splitlines() if re.match(r"\| [a-z]+-?[a-z0-9]* \| (Rankwood|all)", line)]


def expected(rankwood, folder, tasks, seeds=(1, 2), params=""):
    """NDCG@10, mean over tasks and seeds, by the program alone."""
    values = []
    for train, stop, measure in tasks:
        for seed in seeds:
            model = os.path.join(folder, "model")
            run([rankwood, "train", train, "--valid", stop, "--metric", "ndcg@10", "--empty", "0", "--seed", str(seed),
                 "--threads", "1", "--quiet", "-o", model, *(f"--{param}" for param in params.split()),
                 *([] if "rounds=" in params else ["--rounds", str(ROUNDS)])])
            said = run([rankwood, "eval", measure, "--model", model, "--metric", "ndcg@10", "--empty", "0"])
            values.append(float(re.search(r"ndcg@10 +([0-9.]+)", said)[1]))
    return statistics.fmean(values)


def by_query(path):
    queries = {}
    with open(path) as file:
        for line in file:
            queries.setdefault(line.split()[1], []).append(line)
    return list(queries.values())


def split_by_hand(folder):
    """The fifth and tenth query of the training part are those to stop by."""
    queries = by_query(f"{folder}/istella-letor/full/train.txt")
    parts = [f"{folder}/{part}.txt" for part in ("kept", "taken")]
    for path, taken in zip(parts, (False, True)):
        with open(path, "w") as file:
            file.writelines(line for q, lines in enumerate(queries, 1) if (q % 5 == 0) == taken for line in lines)
    return *parts, f"{folder}/istella-letor/full/test.txt"


def check_tuned(build, rankwood, folder, task):
    """quality.py --tuned: the parameters that rankwood tune chooses, measured on the other part."""
    train, stop, measure = task
    path, record = os.path.join(folder, "chosen"), os.path.join(folder, "records")
    run([rankwood, "tune", train, "--valid", stop, "--metric", "ndcg@10", "--empty", "0", "--seed", "1", "--quiet",
         "--trials", "4", "--rounds", str(ROUNDS), "--params-out", path])
    with open(path) as file:
        named = [line.strip().replace(" = ", "=") for line in file if " = " in line and not line.startswith("#")]
    chosen = " ".join(word for word in named if word.split("=")[0] not in ("metric", "empty", "seed"))
    reproduce(build, folder, "--sets", "mslr-web30k", "--folds", "3", "--tuned", "4", "--records", record)
    with open(record) as file:
        row = [json.loads(line) for line in file][-1]
    check("--tuned takes the choice of tune", row["settings"] == "tuned" and row["chosen"] == [chosen], (row, chosen))
    wanted = expected(rankwood, folder, [task], (1, 2), chosen)
    check("--tuned measures it on the other part", abs(row["ndcg@10"] - wanted) < 1e-6, (row, wanted))


def check_constraints(build, rankwood, folder, task):
    """quality.py --constraints: the same for the program, by hand from the lines of the training part."""
    labels, columns = [], {}
    with open(task[0]) as file:
        lines = [line.split("#")[0].split() for line in file]
    ids = sorted({int(word.split(":")[0]) for line in lines for word in line[2:]})
    for line in lines:
        labels.append(float(line[0]))
        values = dict(word.split(":") for word in line[2:])
        for f in ids:
            columns.setdefault(f, []).append(float(values.get(str(f), 0)))
    rho = {f: correlation(ranks(columns[f]), ranks(labels)) for f in ids}
    three = sorted(sorted(ids, key=lambda f: -abs(rho[f]))[:3])
    half = len(ids) // 2
    wanted = {"monotone": "monotone=" + ",".join(f"{f}:{'+' if rho[f] > 0 else '-'}" for f in three),
              "interactions": f"interactions={ids[0]}-{ids[half - 1]};{ids[half]}-{ids[-1]}"}
    record = os.path.join(folder, "constraint-records")
    reproduce(build, folder, "--sets", "yahoo-set1", "--constraints", ",".join(wanted), "--records", record)
    with open(record) as file:
        rows = {row["constraint"]: row for row in map(json.loads, file)}
    for name, params in wanted.items():
        check(f"--constraints {name} is chosen by the training part", rows[name]["chosen"] == [params], (rows[name], params))
        value = expected(rankwood, folder, [task], (1, 2), params)
        check(f"--constraints {name} is measured with it", abs(rows[name]["ndcg@10"] - value) < 1e-6, (rows[name], value))
        plain = rows[name]["ndcg@10"] - rows[""]["ndcg@10"]
        check(f"--constraints {name} is compared with the row without", abs(rows[name]["to_plain"] - plain) < 1e-12, rows[name])
    check("equal values share a rank", ranks([2, 1, 2, 5]) == [0, -1.5, 0, 1.5], ranks([2, 1, 2, 5]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)
    rankwood = given.program(os.path.join(build, "src", "cli", "rankwood"))
    with tempfile.TemporaryDirectory() as folder:
        rows = reproduce(build, folder)
        check("says of an empty folder what it wants",
              [row[0] for row in rows] == ["mslr-web30k"] * 5 + ["yahoo-set1", "istella"] and
              all(row[2].startswith("not measured: no file '") for row in rows), rows)

        make_copies(rankwood, folder)
        rows = reproduce(build, folder)
        lacking = [row[2] for row in rows if row[1] == "all"]
        check("names the folds that are not there",
              lacking == [f"not measured: no file '{folder}/MSLR-WEB30K/Fold{k}/train.txt'" for k in (2, 4, 5)], lacking)
        mslr, yahoo = f"{folder}/MSLR-WEB30K/Fold", f"{folder}/ltrc_yahoo/set1."
        tasks = {"mslr-web30k": [[f"{mslr}{k}/{part}.txt{end}" for part in ("train", "vali", "test")]
                                 for k, end in ((1, ""), (3, ".gz"))],
                 "yahoo-set1": [[f"{yahoo}{part}.txt" for part in ("train", "valid", "test")]],
                 "istella": [split_by_hand(folder)]}
        measured = {row[0]: row for row in rows if row[1] != "all"}
        for name, of in tasks.items():
            wanted = expected(rankwood, folder, of)
            row = measured.get(name, [""] * 8)
            check(f"{name} is what train and eval say", row[3] and abs(float(row[3]) - wanted) < 0.5001e-4, (row, wanted))
            least, most = (float(x) for x in row[4].split(" to "))
            check(f"{name} has an interval around it", least < wanted < most, row[4])
        rows = reproduce(build, folder, "--sets", "mslr-web30k", "--folds", "3")
        check("--folds leaves the others out", len(rows) == 1 and
              abs(float(rows[0][3]) - expected(rankwood, folder, tasks["mslr-web30k"][1:])) < 0.5001e-4, rows)
        check_tuned(build, rankwood, folder, tasks["mslr-web30k"][1])
        check_constraints(build, rankwood, folder, tasks["yahoo-set1"][0])
        os.rename(f"{folder}/MSLR-WEB30K", f"{folder}/elsewhere")
        rows = reproduce(build, f"{folder}/elsewhere", "--sets", "mslr-web30k")
        check("the set's own folder will do", [row[1] for row in rows] == ["all"] * 3 + ["Rankwood"], rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
