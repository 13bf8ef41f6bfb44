"""formats.py: compares exported and imported models with the programs of the formats. Rankwood's models are exported to
every format and loaded by the program's package (LightGBM, XGBoost, CatBoost, ONNX, PMML) or, without a package, scored
by its rules (tests/oracle/serving.py). Models trained by the packages are imported. Each pair scores the same
documents: random ones, and some at, just below and just above the thresholds. A document differs if it reaches another
leaf in any tree, or if its score differs by more than trees x 2^-24 x the sum of its leaves' magnitudes (2^-53 for
CatBoost's doubles). Prints a table.

    python3 tests/peers/formats.py [--rankwood PROGRAM] [--venv FOLDER] [--docs 100000] [--categories] [--source]

--source compares exports as source code instead (source_peers.py). It needs no package except numpy. Exit 1 if any
document differs."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import zlib

import common

sys.path.insert(0, os.path.join(common.ROOT, "tests", "oracle"))
N_FEATURES = 12


class Comparison:
    def __init__(self, program, n_docs):
        self.program, self.n_docs, self.rows = program, n_docs, []

    def run(self, *command):
        return common.run([self.program, *command])

    def ours(self, model, docs_path):
        """scores [n], leaf ids [n][trees]"""
        import numpy as np

        scores = np.array([float(x) for x in self.run("predict", model, docs_path).split()])
        lines = self.run("predict", model, docs_path, "--leaf-ids").splitlines()
        return scores, np.array([[int(x) for x in line.split()] for line in lines], dtype=int)

    def bounds(self, model, leaf_ids, bits):
        import numpy as np
        import serving_data as data

        leaves = data.leaves_of(model)
        total = np.zeros(len(leaf_ids))
        for t, values in enumerate(leaves):
            total += np.abs(np.array(values))[leaf_ids[:, t]]
        return total * len(leaves) * 2.0 ** -bits

    def add(self, what, by, model, docs_path, scores, leaf_ids, same_numbers, bits=24):
        """leaf_ids: theirs, [n][trees]; with same_numbers ours must be equal, else one to one."""
        import numpy as np

        our_scores, our_leaves = self.ours(model, docs_path)
        differs = np.abs(our_scores - scores) > self.bounds(model, our_leaves, bits)
        if leaf_ids is not None:
            their = np.asarray(leaf_ids).reshape(len(scores), -1).astype(int)
            skip = our_leaves.shape[1] - their.shape[1]  # a base score came in as a first tree
            for t in range(their.shape[1]):
                mine = our_leaves[:, t + skip]
                if same_numbers:
                    differs |= mine != their[:, t]
                    continue
                first = {}  # the first pair seen of a leaf, either way, is the rule
                back = {}
                for i, (a, b) in enumerate(zip(mine.tolist(), their[:, t].tolist())):
                    differs[i] |= first.setdefault(a, b) != b or back.setdefault(b, a) != a
        self.rows.append((what, by, len(scores), int(differs.sum())))


def matrix(docs, absent):
    import numpy as np

    x = np.full((len(docs), N_FEATURES + 1), absent)
    for i, (_, _, doc) in enumerate(docs):
        for f, value in doc.items():
            x[i, f] = value
    return x


def model_text(trees):
    body = (f"rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures {N_FEATURES}\n1-{N_FEATURES}\n\n"
            f"names 0\n\nmetrics 0 rounds 0\n\ntrees {len(trees)}\n\n")
    body += "".join(f"tree {i + 1} {tree}\n" for i, tree in enumerate(trees))
    return body + f"checksum {zlib.crc32(body.encode()):08x}\n"


EDGES = {
    "no trees": [],
    "one leaf": ["leaves 1\nleaf 0 0.25\n"],
    "one split": ["leaves 2\nnode 0 feature 3 <= 0 left leaf 0 right leaf 1 missing left gain 1\n"
                  "leaf 0 0.1\nleaf 1 -2\n"],
    "a leaf, a split": ["leaves 1\nleaf 0 -1e-30\n",
                        "leaves 2\nnode 0 feature 12 <= -1e-30 left leaf 1 right leaf 0 missing right "
                        "gain 0\nleaf 0 1e+30\nleaf 1 -1e+30\n"],
}


def out_to_packages(c, model, docs, docs_path, what, absent):
    import lightgbm as lgb
    import numpy as np
    import xgboost as xgb

    c.run("export", model, "--to", "lightgbm", "--verify", docs_path, "-o", "out.lightgbm")
    booster = lgb.Booster(model_file="out.lightgbm")
    x = matrix(docs, absent)[:, :booster.num_feature()]
    leaves = booster.predict(x, pred_leaf=True) if booster.num_trees() else None
    c.add(f"lightgbm, {what}", f"LightGBM {lgb.__version__}", model, docs_path,
          booster.predict(x, raw_score=True), leaves, True)
    for name, ending in (("xgboost", "json"), ("xgboost-ubj", "ubj")):
        c.run("export", model, "--to", name, "--verify", docs_path, "-o", "out." + ending)
        booster = xgb.Booster(model_file="out." + ending)
        data = xgb.DMatrix(matrix(docs, np.nan)[:, :booster.num_features()])
        leaves = booster.predict(data, pred_leaf=True) if booster.num_boosted_rounds() else None
        c.add(f"{name}, {what}", f"XGBoost {xgb.__version__}", model, docs_path,
              booster.predict(data, output_margin=True), leaves, False)


def out_by_rules(c, model, docs, docs_path, what, names):
    import numpy as np
    import serving
    import serving_data as data

    leaf_values = [np.array(v) for v in data.leaves_of(model)]
    data.write_set("set.json", range(1, N_FEATURES + 1))  # of a model without names, by place
    _, our_leaves = c.ours(model, docs_path)
    for name in names:
        by_set = ("--featureset", "set.json", "--name", "m") if name in data.BY_SET else ()
        c.run("export", model, "--to", name, *by_set, "--verify", docs_path, "-o", "out")
        with open("out", encoding="utf-8") as file:
            text = file.read()
        for reader in serving.READERS[name]:
            if reader.__name__.endswith("_earlier"):
                continue
            trees = reader(text)
            wrong, scores = 0, []
            for i, (_, _, doc) in enumerate(docs):
                leaves = trees.leaves(doc)
                scores.append(trees.add(leaves))
                wrong += leaves != [float(v[k]) for v, k in zip(leaf_values, our_leaves[i])]
            by = "its rules" + (" (Vespa)" if reader.__name__.endswith("_vespa") else "")
            c.add(f"{name}, {what}", by, model, docs_path, np.array(scores), None, True)
            row = c.rows.pop()
            c.rows.append((*row[:3], max(row[3], wrong)))


def write_edge(name):
    """Writes a model and documents for it."""
    import serving_data as data

    with open("edge.txt", "w", encoding="ascii") as out:
        out.write(model_text(EDGES[name]))
    docs = data.boundary_docs({3: [0.0], 12: [data.f32(-1e-30)]}, N_FEATURES, 1000, 3)
    # LightGBM treats values within 1e-35 of 0 as 0, which a threshold at 0 can distinguish.
    docs = [(q, label, {f: 0.0 if abs(v) <= 1.1e-35 else v for f, v in doc.items()}) for q, label, doc in docs]
    data.write_docs("docs.txt", docs)
    return docs


def thresholds_lightgbm(text):
    cuts = {}
    for features, values in zip(re.findall(r"split_feature=(.*)", text),
                                re.findall(r"\nthreshold=(.*)", text)):
        for f, cut in zip(features.split(), values.split()):
            cuts.setdefault(int(f), set()).add(float(cut))
    return cuts


def inwards(c, train_docs):
    import catboost_peers
    import lightgbm as lgb
    import numpy as np
    import onnx_peers
    import serving_data as data
    import xgboost as xgb

    y = np.array([label for _, label, _ in train_docs])
    queries = [q for q, _, _ in train_docs]
    group = [queries.count(q) for q in sorted(set(queries))]
    x = matrix(train_docs, np.nan)

    def documents(cuts):
        near = {f: sorted({data.f32(v) for v in values}) for f, values in cuts.items()}
        docs = data.boundary_docs(near, N_FEATURES, c.n_docs, 5)
        data.write_docs("in.docs", docs)
        return docs

    rank = {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 5, "verbose": -1}
    for what, params in (("lambdarank", rank), ("no missing", {**rank, "use_missing": False}),
                         ("dart", {**rank, "boosting": "dart"}),
                         ("rank_xendcg", {**rank, "objective": "rank_xendcg"})):
        booster = lgb.train(params, lgb.Dataset(x, y, group=group), 20)
        booster.save_model("in.lightgbm")
        docs = documents(thresholds_lightgbm(booster.model_to_string()))
        c.run("import", "in.lightgbm", "--from", "lightgbm", "-o", "in.model")
        all_values = matrix(docs, 0.0)
        c.add(f"from lightgbm, {what}", f"LightGBM {lgb.__version__}", "in.model", "in.docs",
              booster.predict(all_values, raw_score=True),
              booster.predict(all_values, pred_leaf=True), True)
    ndcg = {"objective": "rank:ndcg", "max_depth": 4}
    for what, params in (("rank:ndcg", ndcg), ("exact, pruned", {**ndcg, "tree_method": "exact", "gamma": 2}),
                         ("lossguide", {**ndcg, "grow_policy": "lossguide", "max_leaves": 15}),
                         ("squarederror", {**ndcg, "objective": "reg:squarederror"})):
        train = xgb.DMatrix(x, y)
        if params["objective"].startswith("rank"):
            train.set_group(group)
        booster = xgb.train(params, train, 20)
        cuts = {}
        for tree in booster.get_dump(dump_format="json"):
            for f, cut in re.findall(r'"split": "f(\d+)", "split_condition": ([^,]*),', tree):
                cuts.setdefault(int(f), set()).add(float(cut))
        docs = documents(cuts)
        values = xgb.DMatrix(matrix(docs, np.nan))
        for name, ending in (("xgboost", "json"), ("xgboost-ubj", "ubj")):
            booster.save_model("in." + ending)
            c.run("import", "in." + ending, "--from", name, "-o", "in.model")
            c.add(f"from {name}, {what}", f"XGBoost {xgb.__version__}", "in.model", "in.docs",
                  booster.predict(values, output_margin=True),
                  booster.predict(values, pred_leaf=True), False)
    onnx_peers.inwards(c, documents, lambda made: matrix(made, 0.0), N_FEATURES + 1)
    catboost_peers.inwards(c, documents, lambda made: matrix(made, 0.0), x, y, np.array(queries))


def by_thresholds(c, args, train, rankeval):
    import catboost_peers
    import numpy as np
    import onnx_peers
    import pmml_peers
    import quickrank_peers
    import serving_data as data

    data.write_docs("train.txt", train)
    for absent, value in (("zero", 0.0), ("missing", np.nan)):
        c.run("train", "train.txt", "--rounds", "20", "--leaves", "15", "--min-docs", "5",
              "--absent", absent, "--quiet", "-o", "m.txt")
        docs = data.make_docs(max(1, args.docs // 80), N_FEATURES, 8, absent=0.2, missing=0.1)
        docs += data.boundary_docs(data.cuts_of("m.txt"), N_FEATURES, args.docs - len(docs), 9)
        data.write_docs("docs.txt", docs)
        what = f"absent {absent}"
        out_to_packages(c, "m.txt", docs, "docs.txt", what, value)
        onnx_peers.outwards(c, "m.txt", "docs.txt", what, matrix(docs, value).astype(np.float32))
        catboost_peers.outwards(c, "m.txt", "docs.txt", what, matrix(docs, value).astype(np.float32))
        pmml_peers.outwards(c, "m.txt", "docs.txt", what, matrix(docs, value))
        c.run("train", "train.txt", "--rounds", "20", "--grow", "symmetric", "--min-docs", "5",
              "--absent", absent, "--quiet", "-o", "symmetric.txt")
        near = data.boundary_docs(data.cuts_of("symmetric.txt"), N_FEATURES, args.docs, 9)
        data.write_docs("near.txt", near)
        catboost_peers.outwards(c, "symmetric.txt", "near.txt", f"symmetric, {what}",
                                matrix(near, value).astype(np.float32))
        names = ["eslr-raw", "xgboost-dump", *data.BY_SET, "vespa", "pmml"] + ["ranklib"] * (absent == "zero")
        out_by_rules(c, "m.txt", docs, "docs.txt", what, names)
        # Solr's slack cannot represent a threshold of -1, as features of whole numbers have, and only few near -1e-6
        # (feature 6).
        c.run("train", "train.txt", "--rounds", "20", "--leaves", "15", "--min-docs", "5", "--ignore", "5,6,10",
              "--absent", absent, "--quiet", "-o", "no_whole.txt")
        near = data.boundary_docs(data.cuts_of("no_whole.txt"), N_FEATURES, args.docs, 9)
        data.write_docs("near.txt", near)
        out_by_rules(c, "no_whole.txt", near, "near.txt", what, ["solr"])
        if absent == "zero":  # QuickRank compares NaN
            stated = [(q, label, {f: v for f, v in doc.items() if v == v}) for q, label, doc in docs]
            data.write_docs("docs.txt", stated)
            out_by_rules(c, "m.txt", stated, "docs.txt", what, ["quickrank"])
            if rankeval:
                quickrank_peers.both_ways(c, rankeval, "m.txt", "docs.txt", what,
                                          matrix(stated, 0.0)[:, 1:].astype(np.float32))
    for what, trees in EDGES.items():
        docs = write_edge(what)
        out_to_packages(c, "edge.txt", docs, "docs.txt", what, 0.0)
        onnx_peers.outwards(c, "edge.txt", "docs.txt", what, matrix(docs, 0.0).astype(np.float32))
        if trees:  # without any CatBoost scores nothing, and PMML has no sum
            catboost_peers.outwards(c, "edge.txt", "docs.txt", what, matrix(docs, 0.0).astype(np.float32))
            pmml_peers.outwards(c, "edge.txt", "docs.txt", what, matrix(docs, 0.0))
    inwards(c, train)


def source(c, train):
    import serving_data as data
    import source_peers

    sets = data.with_categories(train, 3, 30)
    for what, docs, more in (("", train, ()), ("categories, ", sets, ("--categorical", "11,12"))):
        data.write_docs("train.txt", docs)
        for absent, value in (("zero", 0.0), ("missing", float("nan"))):
            c.run("train", "train.txt", *more, "--rounds", "20", "--leaves", "15", "--min-docs", "5",
                  "--absent", absent, "--quiet", "-o", "m.txt")
            near = data.boundary_docs(data.cuts_of("m.txt"), N_FEATURES, c.n_docs, 9)
            near = data.with_categories(near, 4, 40) if more else near
            data.write_docs("docs.txt", near)
            source_peers.outwards(c, "m.txt", "docs.txt", f"{what}absent {absent}", matrix(near, value))
    for what in EDGES:
        near = write_edge(what)
        source_peers.outwards(c, "edge.txt", "docs.txt", what, matrix(near, 0.0))


def inside(args):
    import serving_data as data

    by_packages = not args.categories and not args.source
    rankeval = reason = None
    if by_packages:
        import quickrank_peers

        rankeval, reason = quickrank_peers.make(args.venv)
    if reason:
        print(f"formats.py: not compared with RankEval: {reason}", file=sys.stderr)
    c = Comparison(os.path.abspath(args.rankwood), args.docs)
    records = args.records and os.path.abspath(args.records)  # from here on in another folder
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        train = data.make_docs(100, N_FEATURES, 7, absent=0.2)
        if by_packages:
            by_thresholds(c, args, train, rankeval)
        if args.source:
            source(c, train)
        else:
            import category_peers

            category_peers.both_ways(c, train, matrix)
    width = max(len(row[0]) for row in c.rows)
    print(f"{'format, model':{width}}  {'scored by':18}  documents  differ")
    for what, by, n, differ in c.rows:
        print(f"{what:{width}}  {by:18}  {n:9,}  {differ:6,}")
        common.write_record(records, {"table": "formats", "what": what, "scored_by": by, "documents": n,
                                      "differ": differ})
    return any(row[3] for row in c.rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_arguments(parser)
    parser.add_argument("--docs", type=int, default=100000, help="documents a comparison [100000]")
    parser.add_argument("--categories", action="store_true", help="splits by categories alone")
    parser.add_argument("--source", action="store_true", help="exports as source code alone")
    common.add_records_argument(parser)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside or args.source:
        return inside(args)
    common.make_venv(args.venv)
    return subprocess.run([os.path.join(args.venv, "bin", "python"), os.path.abspath(__file__),
                           "--inside", *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
