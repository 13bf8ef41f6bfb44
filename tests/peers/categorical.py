#!/usr/bin/env python3
"""NDCG@10 of Rankwood, LightGBM, XGBoost and CatBoost on two made sets with categories: in `matters` a document's
relevance depends on its shop (one of 2,000, or of --shops; some are far more common than others) and its brand (one of
60), in `matters-not` the same columns have no effect.

Each trainer runs at its own defaults for ranking and its own way with categories, stops by validation queries after
50 rounds without a better NDCG@10, and is measured on others. `codes` are rows of Rankwood to whom the categories
are numbers, `1023bins` of Rankwood with --bins 1023: so many categories of a feature have a code of their own, in place
of 255. Differences are of all measured queries, paired, with 95 % bootstrap intervals.

    python3 tests/peers/categorical.py [--queries N] [--shops N] [--seed S] [--sets matters,matters-not]

It needs numpy, pandas, the rankwood package (pip install .), lightgbm, xgboost and catboost.
"""
import argparse
import importlib
import itertools
import logging
import time

import numpy as np
import pandas as pd

import rankwood

N_BRANDS, N_NUMBERS, PATIENCE, MOST = 60, 8, 50, 1000
CATEGORIES = ["shop", "brand"]
NUMBERS = [f"x{i}" for i in range(N_NUMBERS)]
FEATURES = CATEGORIES + NUMBERS


def made(matters, seed, sizes, n_shops):
    """A frame of queries for each of `sizes`, which share shops, brands and the limits of labels."""
    rng = np.random.default_rng([seed, matters])
    common = 1.0 / np.arange(1, n_shops + 1) ** 0.8
    worth = [rng.normal(0, 1, n) * matters for n in (n_shops, N_BRANDS)]
    names = [rng.permutation([f"{what}{i:04d}" for i in range(n)]) for what, n in (("s", n_shops), ("b", N_BRANDS))]
    documents = rng.integers(20, 61, sum(sizes))
    n = documents.sum()
    shop = rng.choice(n_shops, n, p=common / common.sum())
    brand = rng.integers(0, N_BRANDS, n)
    x = rng.random((n, N_NUMBERS)).astype(np.float32)
    score = worth[0][shop] + 0.7 * worth[1][brand] + rng.normal(0, 0.7, n)
    score += 1.5 * x[:, 0] + np.sin(6 * x[:, 1]) + 2 * x[:, 2] * x[:, 3] - (x[:, 4] > 0.7)
    query = np.repeat(np.arange(len(documents)), documents)
    table = pd.DataFrame({"label": np.digitize(score, np.quantile(score, [0.5, 0.75, 0.9, 0.97])), "qid": query,
                          "shop": pd.Categorical.from_codes(shop, names[0]),
                          "brand": pd.Categorical.from_codes(brand, names[1])})  # fmt: skip
    table = pd.concat([table, pd.DataFrame(x, columns=NUMBERS)], axis=1)
    ends = np.cumsum([0, *sizes])
    return [table[(query >= a) & (query < b)].reset_index(drop=True) for a, b in itertools.pairwise(ends)]


def group_of(part):
    return part["qid"].value_counts(sort=False).to_numpy()


def as_codes(part):
    return part.assign(**{name: part[name].cat.codes for name in CATEGORIES})


def rankwood_scores(parts, _seed, change=lambda part: part, **more):
    train, valid, test = (change(part) for part in parts)
    sets = [rankwood.Dataset(part, "label", qid="qid") for part in (train, valid)]
    model = rankwood.train({"threads": 1, "early_stop": PATIENCE, "rounds": MOST, **more}, sets[0], valid=sets[1])
    return model.predict(test), model.n_trees


def codes_scores(parts, seed):
    return rankwood_scores(parts, seed, as_codes)


def many_bins_scores(parts, seed):
    return rankwood_scores(parts, seed, bins=1023)


def lightgbm_scores(parts, seed):
    import lightgbm

    params = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbosity": -1, "num_threads": 1,
              "seed": seed, "deterministic": True}
    train, valid, test = parts
    data = lightgbm.Dataset(train[FEATURES], train["label"], group=group_of(train))
    stop = lightgbm.Dataset(valid[FEATURES], valid["label"], group=group_of(valid), reference=data)
    model = lightgbm.train(params, data, MOST, valid_sets=[stop],
                           callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)])
    return model.predict(test[FEATURES], num_threads=1), model.best_iteration


def xgboost_scores(parts, seed):
    import xgboost

    def matrix(part):
        return xgboost.DMatrix(part[FEATURES], part["label"], group=group_of(part), enable_categorical=True, nthread=1)

    params = {"objective": "rank:ndcg", "eval_metric": "ndcg@10-", "nthread": 1, "seed": seed, "verbosity": 0}
    train, valid, test = (matrix(part) for part in parts)
    model = xgboost.train(params, train, MOST, evals=[(valid, "valid")], early_stopping_rounds=PATIENCE,
                          verbose_eval=False)
    return model.predict(test, iteration_range=(0, model.best_iteration + 1)), model.best_iteration + 1


def catboost_scores(parts, seed):
    import catboost

    def pool(part):
        return catboost.Pool(part[FEATURES], part["label"], group_id=part["qid"], cat_features=CATEGORIES)

    train, valid, test = (pool(part) for part in parts)
    model = catboost.CatBoost({"loss_function": "YetiRank", "eval_metric": "NDCG:top=10;type=Exp", "random_seed": seed,
                               "thread_count": 1, "logging_level": "Silent", "allow_writing_files": False,
                               "od_type": "Iter", "od_wait": PATIENCE, "iterations": MOST})  # fmt: skip
    model.fit(train, eval_set=valid, use_best_model=True)
    return model.predict(test), model.tree_count_


TRAINERS = {"rankwood": rankwood_scores, "1023bins": many_bins_scores, "codes": codes_scores,
            "lightgbm": lightgbm_scores, "xgboost": xgboost_scores, "catboost": catboost_scores}  # fmt: skip
OURS = ("rankwood", "1023bins", "codes")


def measure(name, args):
    parts = made(name == "matters", args.seed, [args.queries, args.queries // 2, args.measured], args.shops)
    data = rankwood.Dataset(parts[2], "label", qid="qid")
    print(f"{name}: {len(parts[0])} documents to train on, {len(parts[1])} to stop by, {len(parts[2])} of "
          f"{args.measured} queries to measure on")  # fmt: skip
    scores = {}
    for trainer in args.trainers:
        start = time.perf_counter()
        scores[trainer], trees = TRAINERS[trainer](parts, args.seed)
        seconds = time.perf_counter() - start
        found = rankwood.compare(data, scores["rankwood"], scores[trainer], metric="ndcg@10")
        paired = "" if trainer == "rankwood" else (
            f"  {found.difference:+.4f} ({found.low:+.4f} to {found.high:+.4f})  p {found.p:.4f}")
        print(f"  {trainer:9s} {version(trainer):8s} {found.mean_b:.4f}{paired}  {trees} trees  {seconds:.1f} s",
              flush=True)  # fmt: skip


def version(trainer):
    return str(importlib.import_module("rankwood" if trainer in OURS else trainer).__version__)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--queries", type=int, default=800, help="to train on; half as many to stop by [800]")
    parser.add_argument("--measured", type=int, default=1000, help="queries to measure on [1000]")
    parser.add_argument("--shops", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sets", default="matters,matters-not")
    parser.add_argument("--trainers", default=",".join(TRAINERS), help="rankwood is among them in any case")
    args = parser.parse_args()
    args.trainers = ["rankwood", *(one for one in args.trainers.split(",") if one != "rankwood")]
    logging.getLogger("rankwood").setLevel("ERROR")
    for name in args.sets.split(","):
        measure(name, args)


if __name__ == "__main__":
    main()
