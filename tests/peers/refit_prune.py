#!/usr/bin/env python3
"""NDCG@10 of refitted and of pruned models on held-out folds of MQ2008 or OHSUMED, compared with LightGBM's refits.

Refit: 100 trees of one fold, whose leaves get new values from two others. Prune: a model of three folds, by a fourth,
with which its training stopped, too. The fifth fold measures; the figures are means over the five turns.

    python3 tests/peers/refit_prune.py SET...      folders with S1.txt.gz to S5.txt.gz

It needs numpy, the rankwood package (pip install .) and lightgbm.
"""
import gzip
import logging
import os
import sys
import tempfile

import lightgbm
import numpy as np

import rankwood

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import given  # noqa: E402

DECAYS, LOSSES, COLUMNS = (0.9, 0.5, 0.0), (0.0, 0.002, 0.005), 64
PEER = {"objective": "lambdarank", "num_leaves": 8, "learning_rate": 0.1, "verbose": -1, "deterministic": True}


def read(path):
    rows, labels, queries = [], [], []
    with gzip.open(path, "rt") as file:
        for line in file:
            words = line.split("#")[0].split()
            row = np.zeros(COLUMNS, np.float32)
            for word in words[2:]:
                feature, value = word.split(":")
                row[int(feature)] = float(value)
            rows.append(row)
            labels.append(float(words[0]))
            queries.append(words[1][4:])
    return np.array(rows), np.array(labels), np.array(queries)


def together(*folds):
    return tuple(np.concatenate(parts) for parts in zip(*folds))


def dataset(fold):
    return rankwood.Dataset(fold[0], fold[1], qid=fold[2])


def groups(fold):
    first = np.flatnonzero(np.concatenate([[True], fold[2][1:] != fold[2][:-1]]))
    return np.diff(np.append(first, len(fold[2])))


def measure(fold, model):
    return rankwood.evaluate(dataset(fold), model.predict(fold[0]), metric="ndcg@10")["ndcg@10"]


def refits(old, new, test, found):
    ours = rankwood.train({"rounds": 100}, dataset(old))
    theirs = lightgbm.train(PEER, lightgbm.Dataset(old[0], old[1], group=groups(old)), 100)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        theirs.save_model(path)
        imported = rankwood.Model.import_from(path, "lightgbm", feature_base=0)
    found("not refitted", measure(test, ours))
    found("LightGBM, not refitted", measure(test, theirs))
    for decay in DECAYS:
        found(f"refit, decay {decay}", measure(test, ours.refit(dataset(new), decay=decay)))
        refitted = theirs.refit(new[0], new[1], decay_rate=decay, group=groups(new))
        found(f"LightGBM's refit, decay {decay}", measure(test, refitted))
        found(f"refit of LightGBM's model, decay {decay}", measure(test, imported.refit(dataset(new), decay=decay)))


def prunings(train, valid, test, found):
    whole = rankwood.train({}, dataset(train), valid=dataset(valid))
    found("whole", measure(test, whole))
    found("whole: trees", whole.n_trees)
    for loss in LOSSES:
        for order in ("any", "last"):
            small = whole.prune(dataset(valid), loss=loss, order=order).model
            found(f"pruned, {order}, loss {loss}", measure(test, small))
            found(f"pruned, {order}, loss {loss}: trees", small.n_trees)


def main():
    logging.getLogger("rankwood").setLevel("ERROR")
    for folder in [given.folder(path) for path in sys.argv[1:]]:
        folds = [read(os.path.join(folder, f"S{i}.txt.gz")) for i in range(1, 6)]
        figures = {}
        for turn in range(5):
            a, b, c, d, test = (folds[(turn + i) % 5] for i in range(5))
            refits(a, together(b, c), test, lambda name, value: figures.setdefault(name, []).append(value))
            prunings(together(a, b, c), d, test, lambda name, value: figures.setdefault(name, []).append(value))
        print(os.path.basename(os.path.normpath(folder)))
        for name, values in figures.items():
            print(f"  {name:44s} {np.mean(values):9.4f}")


if __name__ == "__main__":
    main()
