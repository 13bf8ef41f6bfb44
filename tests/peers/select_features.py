#!/usr/bin/env python3
"""NDCG@10 on held-out queries before and after `rankwood select`, with --peer compared with CatBoost's select_features
of as many features.

A folder has S1.txt.gz to S5.txt.gz, of which three train, the fourth validates and the fifth is tested, in five turns; or
train.txt.gz, vali.txt.gz and test.txt.gz. Differences are of all tested queries, paired, with 95 % bootstrap intervals.

    python3 tests/peers/select_features.py [--loss X] [--peer] FOLDER...

It needs numpy, the rankwood package (pip install .) and, for --peer, catboost.
"""
import argparse
import gzip
import logging
import os
import sys

import numpy as np

import rankwood

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import given  # noqa: E402

SETTINGS = {"random_seed": 1, "loss_function": "YetiRank", "iterations": 200, "od_type": "Iter", "od_wait": 50,
            "thread_count": 2, "eval_metric": "NDCG:top=10;type=Exp", "use_best_model": True, "verbose": False,
            "allow_writing_files": False}


def read(folder, names):
    rows, labels, queries = [], [], []
    for name in names:
        with gzip.open(os.path.join(folder, name + ".txt.gz"), "rt") as file:
            for line in file:
                words = line.split("#")[0].split()
                rows.append({int(f): float(v) for f, v in (word.split(":") for word in words[2:])})
                labels.append(float(words[0]))
                queries.append(words[1][4:])
    return rows, np.array(labels), np.array(queries)


def dense(sets):
    """Values of several sets in arrays of the same width: feature 1 is column 0."""
    width = max(max(row, default=0) for rows, _, _ in sets for row in rows)
    out = []
    for rows, labels, queries in sets:
        values = np.zeros((len(rows), width), np.float32)
        for at, row in zip(values, rows):
            at[[f - 1 for f in row]] = list(row.values())
        out.append((values, labels, queries))
    return out


def turns(folder):
    if os.path.exists(os.path.join(folder, "S1.txt.gz")):
        parts = [[f"S{(turn + i) % 5 + 1}" for i in range(5)] for turn in range(5)]
        return [[part[:3], part[3:4], part[4:]] for part in parts]
    return [[["train"], ["vali"], ["test"]]]


def dataset(part):
    return rankwood.Dataset(part[0], part[1], qid=part[2])


def ours(train, valid, test, loss):
    """Scores of the test set by all features and by those selected, and these."""
    sets = [dataset(part) for part in (train, valid)]
    whole = rankwood.train({}, sets[0], valid=sets[1])
    selected = rankwood.select({}, *sets, loss=loss)
    return whole.predict(test[0]), selected.model.predict(test[0]), selected.features, selected.rows


def pool(part):
    import catboost

    _, group = np.unique(part[2], return_inverse=True)
    return catboost.Pool(part[0], part[1], group_id=group)


def theirs(train, valid, test, n):
    """The same by CatBoost, n features of its choice."""
    import catboost

    whole = catboost.CatBoost(SETTINGS)
    whole.fit(pool(train), eval_set=pool(valid))
    fewer = catboost.CatBoost(SETTINGS)
    found = fewer.select_features(
        pool(train), eval_set=pool(valid), features_for_select=f"0-{train[0].shape[1] - 1}",
        num_features_to_select=n, steps=3, train_final_model=True, logging_level="Silent",
        algorithm=catboost.EFeaturesSelectionAlgorithm.RecursiveByShapValues,
    )  # fmt: skip
    return whole.predict(test[0]), fewer.predict(test[0]), sorted(found["selected_features"])


def show(what, data, before, after):
    found = rankwood.compare(data, before, after, metric="ndcg@10")
    print(f"  {what:46s} {found.mean_a:.4f}  {found.mean_b:.4f}  {found.difference:+.4f} "
          f"({found.low:+.4f} to {found.high:+.4f})", flush=True)


def measure(folder, loss, peer):
    scores, tests, counts, tried = {}, [], [], []
    for number, names in enumerate(turns(folder)):
        train, valid, test = dense([read(folder, part) for part in names])
        tests.append((test[1], [f"{number} {one}" for one in test[2]]))
        before, after, kept, rows = ours(train, valid, test, loss)
        counts.append(len(kept))
        tried.append(len(rows))
        scores.setdefault("Rankwood", []).append((before, after))
        if not peer:
            continue
        cat_before, cat_after, cat_kept = theirs(train, valid, test, len(kept))
        scores.setdefault("CatBoost, as many", []).append((cat_before, cat_after))
        on_theirs = rankwood.train({"features": cat_kept}, dataset(train), valid=dataset(valid))
        scores.setdefault("Rankwood on CatBoost's features", []).append((before, on_theirs.predict(test[0])))
    print(f"{os.path.basename(os.path.normpath(folder))}, loss {loss}: {counts} features kept, {np.mean(counts):.1f} of "
          f"{train[0].shape[1]} in the mean; {np.mean(tried):.1f} trainings")
    labels = np.concatenate([one[0] for one in tests])
    data = rankwood.Dataset(np.zeros((len(labels), 1), np.float32), labels, qid=sum((one[1] for one in tests), []))
    for what, pairs in scores.items():
        show(what, data, *(np.concatenate(part) for part in zip(*pairs)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--loss", type=float, default=0.002)
    parser.add_argument("--peer", action="store_true", help="CatBoost, too: minutes a turn")
    parser.add_argument("folders", nargs="+", type=given.folder)
    args = parser.parse_args()
    logging.getLogger("rankwood").setLevel("ERROR")
    for folder in args.folders:
        measure(folder, args.loss, args.peer)


if __name__ == "__main__":
    main()
