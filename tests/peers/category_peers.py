"""Splits by categories for formats.py, exported and imported. Features 11 and 12 are categorical, with known, unknown
and missing categories: whole numbers, or words. The C export reads words by a separate function; LightGBM, XGBoost and
PMML read them from data frames. CatBoost reads words only: a number's decimal, and the empty text for a missing one."""
import random

import catboost_peers
import lightgbm as lgb
import numpy as np
import onnx_peers
import pandas as pd
import pmml_peers
import serving_data as data
import source_peers
import xgboost as xgb

BY_CATEGORY = (11, 12)
TRAIN = ("--rounds", "20", "--leaves", "15", "--min-docs", "5", "--quiet", "-o", "m.txt")
KINDS = (("xgboost", "json"), ("xgboost-ubj", "ubj"))
LIGHTGBM, XGBOOST = f"LightGBM {lgb.__version__}", f"XGBoost {xgb.__version__}"
TO_LIGHTGBM = {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 5, "min_data_per_group": 5,
               "verbose": -1}
TO_XGBOOST = {"objective": "rank:ndcg", "max_depth": 4, "max_cat_to_onehot": 3}


def labels(train):
    queries = [q for q, _, _ in train]
    return np.array([label for _, label, _ in train]), [queries.count(q) for q in sorted(set(queries))]


def columns_of(table, missing=""):
    """Of a matrix or a frame, for CatBoost."""
    columns = table.items() if isinstance(table, pd.DataFrame) else enumerate(np.transpose(table))
    return [[missing if pd.isna(v) else v if isinstance(v, str) else f"{v:g}" for v in column]
            if name in BY_CATEGORY or name in [f"f{f}" for f in BY_CATEGORY] else np.asarray(column, dtype=np.float32)
            for name, column in columns]


# ---- whole numbers

def xgboost_data(x, *more, **fields):
    types = ["c" if f in BY_CATEGORY else "float" for f in range(x.shape[1])]
    return xgb.DMatrix(x, *more, feature_types=types, enable_categorical=True, **fields)


def numbers_out(c, train, docs, matrix):
    """LightGBM has some branches twice, so its leaves have other numbers."""
    data.write_docs("train.txt", train)
    data.write_docs("docs.txt", docs)
    for absent, value in (("zero", 0.0), ("missing", np.nan)):
        c.run("train", "train.txt", "--categorical", "11,12", "--absent", absent, *TRAIN)
        what = f"categories, {absent}"
        x = matrix(docs, value)
        c.run("export", "m.txt", "--to", "lightgbm", "--verify", "docs.txt", "-o", "out.lightgbm")
        booster = lgb.Booster(model_file="out.lightgbm")
        c.add(f"lightgbm, {what}", LIGHTGBM, "m.txt", "docs.txt",
              booster.predict(x[:, :booster.num_feature()], raw_score=True), None, True, 53)
        onnx_peers.outwards(c, "m.txt", "docs.txt", what, x.astype(np.float32))
        c.run("export", "m.txt", "--to", "c", "--feature-base", "0", "--verify", "docs.txt", "-o", "out.c")
        scores = source_peers.Compiled("out.c").scores(x)
        c.add(f"c, {what}", "a C compiler", "m.txt", "docs.txt", scores, None, True, 53)
        catboost_peers.outwards_words(c, "m.txt", "docs.txt", what, columns_of(x))
        if absent == "zero":  # formats in which absent values are missing would get zeros
            continue
        for name, ending in KINDS:
            c.run("export", "m.txt", "--to", name, "--verify", "docs.txt", "-o", "out." + ending)
            booster = xgb.Booster(model_file="out." + ending)
            values = xgboost_data(x[:, :booster.num_features()])
            c.add(f"{name}, {what}", XGBOOST, "m.txt", "docs.txt", booster.predict(values, output_margin=True),
                  booster.predict(values, pred_leaf=True), False)
        pmml_peers.outwards(c, "m.txt", "docs.txt", what, x)


def numbers_in(c, train, docs, matrix):
    y, group = labels(train)
    x = matrix(docs, 0.0)
    data.write_docs("docs.txt", docs)
    booster = lgb.train(TO_LIGHTGBM, lgb.Dataset(matrix(train, np.nan), y, group=group,
                                                 categorical_feature=list(BY_CATEGORY)), 20)
    booster.save_model("in.lightgbm")
    c.run("import", "in.lightgbm", "--from", "lightgbm", "--feature-base", "0", "-o", "in.model")
    c.add("from lightgbm, categories", LIGHTGBM, "in.model", "docs.txt", booster.predict(x, raw_score=True),
          booster.predict(x, pred_leaf=True), True)
    catboost_peers.inwards_words(c, "docs.txt", "categories", columns_of(x), columns_of(matrix(train, np.nan)), y,
                                 [q for q, _, _ in train])
    booster = xgb.train(TO_XGBOOST, xgboost_data(matrix(train, np.nan), y, group=group), 20)
    values = xgboost_data(matrix(docs, np.nan))
    for name, ending in KINDS:
        booster.save_model("in." + ending)
        c.run("import", "in." + ending, "--from", name, "--feature-base", "0", "-o", "in.model")
        c.add(f"from {name}, categories", XGBOOST, "in.model", "docs.txt",
              booster.predict(values, output_margin=True), booster.predict(values, pred_leaf=True), False)


# ---- words

def word(value, letter="\u00fc"):
    return f"shop {value:g}" if value % 3 else f"b{letter}cher & <{value:g}>"


def frame(docs, matrix, missing=None, **how):
    """Columns f1, f2, ...; words of type category, in an order of their own; `missing` for a missing one."""
    x = matrix(docs, np.nan)[:, 1:]
    columns = {f"f{f}": x[:, f - 1] for f in range(1, x.shape[1] + 1)}
    for f in BY_CATEGORY:
        words = [missing if np.isnan(v) else word(v, **how) for v in x[:, f - 1]]
        known = sorted(set(words) - {None})
        random.Random(len(docs)).shuffle(known)
        columns[f"f{f}"] = pd.Categorical(words, categories=known)
    return pd.DataFrame(columns)


def write_csv(path, train, docs_frame):
    docs_frame = docs_frame.copy()
    docs_frame.insert(0, "qid", [q + 1 for q, _, _ in train])
    docs_frame.insert(0, "label", [label for _, label, _ in train])
    docs_frame.to_csv(path, index=False)


def words_out(c, train, docs, matrix):
    """LightGBM cannot tell words that it does not know from missing ones: these are a word, too."""
    fields = list(frame(docs, matrix).columns)
    for missing in (None, "none"):
        write_csv("train.csv", train, frame(train, matrix, missing))
        write_csv("docs.csv", docs, frame(docs, matrix, missing))
        c.run("train", "train.csv", "--categorical", "f11,f12", *TRAIN)
        given = frame(docs, matrix, missing)
        if missing:
            c.run("export", "m.txt", "--to", "lightgbm", "--feature-base", "0", "--verify", "docs.csv", "-o", "out.lgb")
            booster = lgb.Booster(model_file="out.lgb")
            c.add("lightgbm, words", LIGHTGBM, "m.txt", "docs.csv", booster.predict(given, raw_score=True), None,
                  True, 53)
            continue
        c.run("export", "m.txt", "--to", "c", "--feature-base", "0", "--verify", "docs.csv", "-o", "out.c")
        model = source_peers.Compiled("out.c")
        x = np.array([[np.nan if pd.isna(v) else model.category(f, v) if isinstance(v, str) else v
                       for f, v in enumerate(row)] for row in given.itertuples(index=False)])
        c.add("c, words", "a C compiler", "m.txt", "docs.csv", model.scores(x), None, True, 53)
        pmml_peers.outwards(c, "m.txt", "docs.csv", "words", given.astype(object).to_numpy(), fields)
        catboost_peers.outwards_words(c, "m.txt", "docs.csv", "words", columns_of(given))


def words_in(c, train, docs, matrix):
    """LightGBM treats unknown words as missing, and sends them to the same side as Rankwood does; XGBoost refuses them,
    and words that are not ASCII."""
    y, group = labels(train)
    booster = lgb.train(TO_LIGHTGBM, lgb.Dataset(frame(train, matrix), y, group=group), 20)
    booster.save_model("in.lightgbm")
    given = frame(docs, matrix)
    write_csv("docs.csv", docs, given)
    c.run("import", "in.lightgbm", "--from", "lightgbm", "--feature-base", "0", "-o", "in.model")
    c.add("from lightgbm, words", LIGHTGBM, "in.model", "docs.csv", booster.predict(given, raw_score=True),
          booster.predict(given, pred_leaf=True), True)
    catboost_peers.inwards_words(c, "docs.csv", "words", columns_of(given), columns_of(frame(train, matrix)), y,
                                 [q for q, _, _ in train])
    known = [{doc.get(f) for _, _, doc in train} for f in BY_CATEGORY]
    docs = [row for row in docs if all(row[2].get(f, np.nan) != row[2].get(f, np.nan) or row[2][f] in of
                                       for f, of in zip(BY_CATEGORY, known))]
    given = frame(docs, matrix, letter="u")
    write_csv("docs.csv", docs, given)
    booster = xgb.train(TO_XGBOOST, xgb.DMatrix(frame(train, matrix, letter="u"), y, group=group,
                                                enable_categorical=True), 20)
    values = xgb.DMatrix(given, enable_categorical=True)
    for name, ending in KINDS:
        booster.save_model("in." + ending)
        c.run("import", "in." + ending, "--from", name, "--feature-base", "0", "-o", "in.model")
        c.add(f"from {name}, words", XGBOOST, "in.model", "docs.csv", booster.predict(values, output_margin=True),
              booster.predict(values, pred_leaf=True), False)


def both_ways(c, train, matrix):
    """matrix(docs, absent): [documents][N_FEATURES + 1]."""
    docs = data.make_docs(c.n_docs // 16 + 20, 12, 18, absent=0.2, missing=0.1)[:c.n_docs]
    train, near = data.with_categories(train, 3, 30), data.with_categories(train, 3, 30, 8)
    docs, docs_near = data.with_categories(docs, 4, 40), data.with_categories(docs, 4, 40, 8)
    numbers_out(c, train, docs, matrix)
    # XGBoost lists every number below the largest one, and ours are 255 categories at most.
    numbers_in(c, near, docs_near, matrix)
    words_out(c, train, docs, matrix)
    words_in(c, train, docs, matrix)
