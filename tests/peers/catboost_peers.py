"""CatBoost for formats.py and make_golden.py: what Rankwood exports is loaded and scored by the package, and models
that it trained come in: oblivious trees and others, either treatment of NaN, more borders than a byte counts. Needs catboost."""
import json
import os

import catboost
import numpy as np

BY = f"CatBoost {catboost.__version__}"
QUIET = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 1}
MODELS = {
    "YetiRank": {"loss_function": "YetiRank", "depth": 5},
    "RMSE, NaN high": {"loss_function": "RMSE", "depth": 4, "nan_mode": "Max"},
    "1000 borders": {"loss_function": "QueryRMSE", "depth": 6, "border_count": 1000},
    "lossguide": {"loss_function": "RMSE", "grow_policy": "Lossguide", "max_leaves": 15, "nan_mode": "Max"},
    "depthwise": {"loss_function": "QueryRMSE", "grow_policy": "Depthwise", "depth": 5},
}


def loaded(path):
    model = catboost.CatBoost()
    model.load_model(path, format="json")
    return model


def outwards(c, model, docs_path, what, x):
    c.run("export", model, "--to", "catboost", "--verify", docs_path, "-o", "out.catboost")
    booster = loaded("out.catboost")
    c.add(f"catboost, {what}", BY, model, docs_path, booster.predict(x), booster.calc_leaf_indexes(x), False, 53)


def with_words(columns, **more):
    """A pool of columns: numbers and words; a missing word is the empty text."""
    words = [i for i, column in enumerate(columns) if isinstance(column[0], str)]
    return catboost.Pool([list(row) for row in zip(*columns)], cat_features=words, **more)


def outwards_words(c, model, docs_path, what, columns):
    c.run("export", model, "--to", "catboost", "--feature-base", "0", "--verify", docs_path, "-o", "out.catboost")
    booster, pool = loaded("out.catboost"), with_words(columns)
    c.add(f"catboost, {what}", BY, model, docs_path, booster.predict(pool), booster.calc_leaf_indexes(pool), False, 53)


def train_words(what, columns, y, group, rounds):
    """All categories are compared with one by one: no statistics of the labels."""
    model = catboost.CatBoost({**QUIET, **MODELS[what], "one_hot_max_size": 255, "iterations": rounds})
    pool = with_words(columns, label=y, group_id=group)
    model.fit(pool)
    return model, pool


def inwards_words(c, docs_path, what, columns, trained_on, y, group):
    pool = with_words(columns)
    for which, trees in (("YetiRank", "oblivious"), ("lossguide", "lossguide")):
        model, seen = train_words(which, trained_on, y, group, 20)
        model.save_model("in.catboost", format="json", pool=seen)
        c.run("import", "in.catboost", "--from", "catboost", "--feature-base", "0", "-o", "in.model")
        c.add(f"from catboost, {what}, {trees}", BY, "in.model", docs_path, model.predict(pool),
              model.calc_leaf_indexes(pool), False)


def train(what, x, y, group, rounds):
    model = catboost.CatBoost({**QUIET, **MODELS[what], "iterations": rounds})
    model.fit(catboost.Pool(x, y, group_id=group))
    return model


def borders_of(path):
    """{column: [border]}"""
    with open(path, encoding="utf-8") as file:
        features = json.load(file)["features_info"]["float_features"]
    return {f["flat_feature_index"]: [np.float32(b) for b in f["borders"]] for f in features if f["borders"]}


def inwards(c, documents, matrix_of, x, y, group):
    """documents(cuts) writes in.docs; matrix_of(docs) has 0 for values absent from a document."""
    for what in MODELS:
        model = train(what, x, y, group, 20)
        model.save_model("in.catboost", format="json")
        values = matrix_of(documents(borders_of("in.catboost"))).astype(np.float32)
        c.run("import", "in.catboost", "--from", "catboost", "-o", "in.model")
        c.add(f"from catboost, {what}", BY, "in.model", "in.docs", model.predict(values),
              model.calc_leaf_indexes(values), False)


def golden(folder, training, documents, write_case):
    """What make_golden.py makes of a model: NAME.catboost, its documents and scores; and those to refuse."""
    x, y, sizes = training()
    group = np.repeat(np.arange(len(sizes)), sizes)
    most = np.finfo(np.float32).min, np.finfo(np.float32).max

    def save(model, name, pool=None):
        path = os.path.join(folder, name + ".catboost")
        model.save_model(path, format="json", pool=pool)
        with open(path, encoding="utf-8") as file:
            text = json.load(file)
        # Removes times, ids and the number of threads.
        text["model_info"] = {"params": {"loss_function": text["model_info"]["params"]["loss_function"]}}
        with open(path, "w", encoding="utf-8") as out:
            json.dump(text, out, separators=(",", ":"), sort_keys=True)
        return path

    for name, what in (("cat_yetirank", "YetiRank"), ("cat_nan_high", "RMSE, NaN high"),
                       ("cat_lossguide", "lossguide"), ("cat_depthwise", "depthwise")):
        model = train(what, x, y, group, 6)
        # A border may be the smallest float, which separates missing values from all others.
        docs = np.clip(documents(borders_of(save(model, name))), *most)
        write_case(name, docs, model.predict(docs), False)

    def columns_of(values):
        """Feature 1 is a category, and its numbers' decimals are the words."""
        return [["" if np.isnan(v) else f"{v:g}" for v in column] if i == 1 else column
                for i, column in enumerate(np.transpose(values))]

    def rounded(values):
        values = np.array(values)
        values[:, 1] = np.abs(values[:, 1]).round().clip(0, 20)
        return values

    for name, what in (("cat_one_hot", "RMSE, NaN high"), ("cat_one_hot_lossguide", "lossguide")):
        model, pool = train_words(what, columns_of(rounded(x)), y, group, 6)
        docs = rounded(np.clip(documents(borders_of(save(model, name, pool))), *most))
        docs[::7, 1] += 21  # not seen in training
        write_case(name, docs, model.predict(with_words(columns_of(docs))), False, (1,))

    def refused(name, params, **pool):
        values = pool.pop("x", x)
        model = catboost.CatBoost({**QUIET, "iterations": 2, "depth": 3, **params})
        model.fit(catboost.Pool(values, pool.pop("y", y), **pool))
        save(model, os.path.join("refused", name))

    refused("cat_logloss", {"loss_function": "Logloss"}, y=y > 1)
    refused("cat_classes", {"loss_function": "MultiClass"})
    refused("cat_outputs", {"loss_function": "MultiRMSE"}, y=np.stack([y, -y], 1))
    kinds = np.abs(np.nan_to_num(x)).round().clip(0, 20).astype(int)
    refused("cat_categories", {"loss_function": "RMSE", "one_hot_max_size": 30}, x=kinds, cat_features=[1])
    refused("cat_ctr", {"loss_function": "RMSE", "one_hot_max_size": 2}, x=kinds, cat_features=[1])
