"""make_golden.py: makes tests/golden/convert with the real packages: models that LightGBM, XGBoost and CatBoost trained
and onnx wrote, documents at and next to their thresholds, and the packages' scores. Also makes models that Rankwood
must refuse, each with its message (run tests/unit/test_convert --filter 'golden_convert/*' and check the new ones).

    python3 tests/peers/make_golden.py [--venv FOLDER]

Needs lightgbm, xgboost, catboost, onnx, onnxruntime, pandas and numpy in the environment (tests/peers/requirements.txt). RankLib's and QuickRank's models
there are written by hand: they are in no package index."""
import argparse
import json
import os
import re
import sys

import common

OUT = os.path.join(common.ROOT, "tests", "golden", "convert")
N_FEATURES = 6
N_DOCS = 80


def inside():
    import catboost_peers
    import lightgbm as lgb
    import numpy as np
    import onnx_peers
    import pandas as pd
    import xgboost as xgb

    rng = np.random.default_rng(11)

    def training():
        x = rng.normal(size=(900, N_FEATURES)).astype(np.float32)
        x[:, 1] = np.round(x[:, 1] * 2)
        x[:, 2] *= 1e-3
        x[:, 3] *= 1e6
        y = np.clip(np.round(x[:, 0] + 0.5 * x[:, 1] + 500 * x[:, 2]), 0, 4)
        x[rng.random(x.shape) < 0.15] = np.nan
        return x, y, [30] * 30

    def documents(thresholds):
        """Values at the floats around thresholds {column: [double]}, odd ones, missing ones."""
        x = rng.normal(size=(N_DOCS, N_FEATURES)).astype(np.float32)
        for column, at in thresholds.items():
            for i in range(N_DOCS):
                if rng.random() < 0.6:
                    near = np.float32(rng.choice(at))
                    side = rng.choice([-np.inf, near, np.inf])
                    x[i, column] = np.nextafter(near, np.float32(side))
        odd = np.array([0, 1e-45, -1e-45, 1e-35, -1e-35, 3e38, -3e38], np.float32)
        at = rng.random(x.shape)
        x[at < 0.05] = rng.choice(odd, size=(at < 0.05).sum())
        x[at > 0.85] = np.nan
        return x

    def write_text(name, text):
        with open(os.path.join(OUT, name), "w", encoding="utf-8") as out:
            out.write(text)

    def write_case(name, x, scores, nan_is_absent, categorical=()):
        """nan_is_absent: half of the missing values are left out of the text."""
        leave_out = rng.random(x.shape) < (0.5 if nan_is_absent else 0)
        lines = []
        for row, out in zip(x, leave_out):
            values = "".join(f" {i}:{'nan' if np.isnan(v) else int(v) if i in categorical else repr(float(v))}"
                             for i, v in enumerate(row) if not (np.isnan(v) and out[i]))
            lines.append(f"0 qid:1{values}\n")
        write_text(name + ".docs", "".join(lines))
        write_text(name + ".scores", "".join(f"{float(s)!r}\n" for s in scores))

    def categories(x, *columns):
        """Whole numbers from 0 on in some columns; NaN stays."""
        for column in columns:
            x[:, column] = np.abs(np.round(3 * x[:, column])) % 40
        return x

    def lightgbm_case(name, params, rounds=8, refused=False, x=None, names="auto", categorical=(), **more):
        x_made, y, group = training()
        x = x_made if x is None else x
        if params.get("objective") in ("lambdarank", "rank_xendcg"):
            more["group"] = group
        data = lgb.Dataset(x, y, feature_name=names, **more)
        booster = lgb.train({"num_leaves": 7, "min_data_in_leaf": 10, "verbose": -1, "num_threads": 1,
                             "seed": 1, "deterministic": True, **params}, data, rounds)
        text = booster.model_to_string()
        text = re.sub(r"\nparameters:.*end of parameters\n", "\n", text, flags=re.S)
        if refused:
            write_text(os.path.join("refused", name + ".lightgbm"), text)
            return
        write_text(name + ".lightgbm", text)
        thresholds = {}
        for features, cuts in zip(re.findall(r"split_feature=(.*)", text),
                                  re.findall(r"\nthreshold=(.*)", text)):
            for f, cut in zip(features.split(), cuts.split()):
                thresholds.setdefault(int(f), []).append(float(cut))
        docs = categories(documents(thresholds), *categorical)
        write_case(name, docs, booster.predict(docs.astype(np.float64), raw_score=True), False, categorical)

    rank = {"objective": "lambdarank"}
    lightgbm_case("lgb_rank", rank)
    lightgbm_case("lgb_names", rank, names=["age of page", "x", "y", "z", "ü", "w"])
    lightgbm_case("lgb_no_missing", {"objective": "regression", "use_missing": False})
    lightgbm_case("lgb_dart", {**rank, "boosting": "dart", "drop_rate": 0.9}, rounds=12)
    lightgbm_case("lgb_constant", {**rank, "min_data_in_leaf": 600})
    lightgbm_case("zero_as_missing", {**rank, "zero_as_missing": True}, refused=True)
    lightgbm_case("linear", {"objective": "regression", "linear_tree": True}, rounds=2, refused=True,
                  x=rng.normal(size=(900, N_FEATURES)))
    lightgbm_case("classes", {"objective": "multiclass", "num_class": 5}, rounds=1, refused=True)
    lightgbm_case("binary", {"objective": "multiclassova", "num_class": 5}, rounds=1, refused=True)
    lightgbm_case("poisson", {"objective": "poisson"}, rounds=1, refused=True)
    lightgbm_case("sqrt", {"objective": "regression", "reg_sqrt": True}, rounds=1, refused=True)
    lightgbm_case("forest", {"objective": "regression", "boosting": "rf", "bagging_freq": 1,
                             "bagging_fraction": 0.5}, rounds=2, refused=True)
    lightgbm_case("lgb_categories", {**rank, "min_data_per_group": 5, "cat_smooth": 1, "max_cat_to_onehot": 2},
                  categorical_feature=[1, 4], x=categories(training()[0], 1, 4), categorical=(1, 4))

    def xgboost_case(name, params, rounds=8, refused=False, kinds=("xgboost", "xgboost-ubj"), change=None,
                     names=None, types=None, y=None, x=None):
        x_made, y_made, group = training()
        x = x_made if x is None else x
        data = xgb.DMatrix(x, y_made if y is None else y(y_made), feature_names=names,
                           feature_types=types, enable_categorical=types is not None)
        if params["objective"].startswith("rank"):
            data.set_group(group)
        booster = xgb.train({"max_depth": 3, "nthread": 1, "seed": 1, **params}, data, rounds)
        folder = os.path.join(OUT, "refused") if refused else OUT
        for kind in kinds:
            path = os.path.join(folder, f"{name}.{kind}")
            booster.save_model(path + (".ubj" if kind == "xgboost-ubj" else ".json"))
            os.replace(path + (".ubj" if kind == "xgboost-ubj" else ".json"), path)
        if change:
            with open(os.path.join(folder, name + ".xgboost"), encoding="utf-8") as file:
                model = json.load(file)
            change(model["learner"])
            write_text(os.path.relpath(os.path.join(folder, name + ".xgboost"), OUT),
                       json.dumps(model))
            booster = None if refused else xgb.Booster(model_file=bytearray(
                json.dumps(model).encode()))
        if refused:
            return
        thresholds = {}
        for tree in booster.get_dump(dump_format="json"):
            for f, cut in re.findall(r'"split": "([^"]*)", "split_condition": ([^,\[]*),', tree):
                column = names.index(f) if names else int(f[1:])
                thresholds.setdefault(column, []).append(np.float32(cut))
        categorical = [i for i, kind in enumerate(types or ()) if kind == "c"]
        docs = categories(documents(thresholds), *categorical)
        write_case(name, docs, booster.predict(xgb.DMatrix(docs, feature_names=names, feature_types=types,
                                                           enable_categorical=types is not None),
                                               output_margin=True), True, categorical)

    def scalar(learner):
        learner["learner_model_param"]["base_score"] = "2.5E-1"

    ndcg = {"objective": "rank:ndcg"}
    xgboost_case("xgb_rank", ndcg)
    xgboost_case("xgb_names", ndcg, names=["title bm25", "x", "y", "z", "ü", "w"])
    xgboost_case("xgb_base", {"objective": "reg:squarederror"})
    xgboost_case("xgb_scalar", ndcg, kinds=("xgboost",), change=scalar)
    xgboost_case("xgb_loss", {**ndcg, "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 9,
                              "max_depth": 0})
    xgboost_case("xgb_pruned", {**ndcg, "tree_method": "exact", "gamma": 4.0, "max_depth": 4})
    xgboost_case("xgb_forest", {**ndcg, "num_parallel_tree": 3}, rounds=3)
    xgboost_case("xgb_logistic", {"objective": "binary:logistic"}, rounds=1, refused=True,
                 y=lambda v: v > 1)
    xgboost_case("xgb_classes", {"objective": "multi:softprob", "num_class": 5}, rounds=1, refused=True)
    xgboost_case("xgb_dart", {**ndcg, "booster": "dart", "rate_drop": 0.9}, rounds=4, refused=True)
    xgboost_case("xgb_linear", {"objective": "reg:squarederror", "booster": "gblinear"}, rounds=1,
                 refused=True)
    xgboost_case("xgb_categories", {**ndcg, "max_cat_to_onehot": 3, "max_depth": 4},
                 types=["q", "c", "q", "q", "c", "q"], x=categories(training()[0], 1, 4))
    onnx_peers.golden(OUT, N_FEATURES, N_DOCS)
    catboost_peers.golden(OUT, training, documents, write_case)

    def frame(x, words):
        """As a data frame, categories times 10 with the dictionary `words`; other values are missing."""
        columns = {f"f{i}": x[:, i] for i in range(N_FEATURES)}
        for i in (1, 4):
            columns[f"f{i}"] = pd.Categorical([None if np.isnan(v) else int(10 * v) for v in x[:, i]], words)
        return pd.DataFrame(columns)

    x, y, group = training()
    x = categories(x, 1, 4)
    words = [int(10 * v) for v in rng.permutation(20)]
    booster = xgb.train({**ndcg, "max_cat_to_onehot": 3, "max_depth": 4, "nthread": 1, "seed": 1},
                        xgb.DMatrix(frame(x, words), y, group=group, enable_categorical=True), 8)
    for kind, ending in (("xgboost", ".json"), ("xgboost-ubj", ".ubj")):
        booster.save_model(os.path.join(OUT, "xgb_frame" + ending))
        os.replace(os.path.join(OUT, "xgb_frame" + ending), os.path.join(OUT, "xgb_frame." + kind))
    docs = categories(documents({}), 1, 4)
    for i in (1, 4):
        docs[docs[:, i] > 19, i] = np.nan
    scores = booster.predict(xgb.DMatrix(frame(docs, words[::-1]), enable_categorical=True), output_margin=True)
    docs[:, [1, 4]] *= 10
    write_case("xgb_frame", docs, scores, True, (1, 4))


def by_hand():
    """RankLib's and QuickRank's rules, as tests/oracle has them."""
    sys.path.insert(0, os.path.join(common.ROOT, "tests", "oracle"))
    import serving
    import serving_data as data

    cuts = {1: [data.f32(0.5891876)], 2: [data.f32(0.37266085)], 3: [data.f32(-0.1)]}
    docs = data.boundary_docs(cuts, 4, 60, 3, missing=0.0)
    for name, reader in (("ranklib", serving.ranklib), ("quickrank", serving.quickrank)):
        path = os.path.join(OUT, f"{name}_small.")
        with open(path + name, encoding="utf-8") as file:
            trees = reader(file.read())
        data.write_docs(path + "docs", docs)
        with open(path + "scores", "w", encoding="utf-8") as out:
            out.writelines(f"{trees.score(doc)!r}\n" for _, _, doc in docs)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", default=os.path.join(common.ROOT, "build-peers"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.makedirs(os.path.join(OUT, "refused"), exist_ok=True)
    if args.inside:
        return inside()
    by_hand()
    common.make_venv(args.venv)
    print(common.run([os.path.join(args.venv, "bin", "python"), os.path.abspath(__file__), "--inside"]))


if __name__ == "__main__":
    sys.exit(main())
