"""eland_trees.py: compares `export --to elasticsearch-ml` with eland, Elastic's package for models. Two models are
exported to elasticsearch-ml and to XGBoost's format. eland makes its trees from XGBoost's file. Both are scored by
Elasticsearch's rules (tests/oracle/serving.py): values and thresholds are doubles. A document differs if it reaches
another leaf than in Rankwood in any tree. Prints a table.

    python3 tests/peers/eland_trees.py [--rankwood PROGRAM] [--venv FOLDER] [--docs 100000]

eland reads a threshold from nine decimal digits as a double, which is not the float that XGBoost compares with. A value
equal to this float may then go left. In random documents this does not happen. The documents next to thresholds have
many such values, so there eland's thresholds are rounded to floats, and the last column counts without rounding.

Exit 1 if any document differs in the column `differ`."""
import argparse
import os
import subprocess
import sys
import tempfile

import common

sys.path.insert(0, os.path.join(common.ROOT, "tests", "oracle"))
N_FEATURES = 12


def eland_ensemble(path):
    """The ensemble that eland would upload, without its last tree, which is XGBoost's base score."""
    import xgboost
    from eland.ml.transformers import get_model_transformer

    ranker = xgboost.XGBRanker()
    ranker.load_model(path)
    names = [f"f{i}" for i in range(ranker.get_booster().num_features())]
    ensemble = get_model_transformer(ranker, feature_names=names).transform().to_dict()["ensemble"]
    base = ensemble["trained_models"].pop()["tree"]["tree_structure"]
    if len(base) != 1 or base[0]["leaf_value"] != [0]:
        raise SystemExit(f"eland_trees.py: unexpected base score {base}")
    return ensemble


def rounded(ensemble):
    import serving_data as data

    for element in ensemble["trained_models"]:
        for node in element["tree"]["tree_structure"]:
            if "threshold" in node:
                node["threshold"] = data.f32(node["threshold"])
    return ensemble


class Comparison:
    def __init__(self, program, model):
        import serving_data as data

        self.program, self.model, self.values = program, model, data.leaves_of(model)

    def run(self, *command):
        return common.run([self.program, *command])

    def differ(self, trees, docs):
        """How many documents reach another leaf. Leaves are compared as floats, because eland has nine digits."""
        import serving_data as data

        data.write_docs("docs.txt", docs)
        lines = self.run("predict", self.model, "docs.txt", "--leaf-ids").splitlines()
        count = 0
        for (_, _, doc), line in zip(docs, lines, strict=True):
            ours = [of_tree[int(leaf)] for of_tree, leaf in zip(self.values, line.split(), strict=True)]
            count += [data.f32(leaf) for leaf in trees.leaves(doc)] != ours
        return count


def rows(program, absent, n_docs):
    import eland
    import serving
    import serving_data as data

    data.write_docs("train.txt", data.make_docs(100, N_FEATURES, 7, absent=0.2))
    data.write_set("set.json", range(1, N_FEATURES + 1))
    common.run([program, "train", "train.txt", "--rounds", "20", "--leaves", "15", "--min-docs", "5", "--absent",
                absent, "--quiet", "-o", "m.txt"])
    c = Comparison(program, "m.txt")
    c.run("export", "m.txt", "--to", "elasticsearch-ml", "--featureset", "set.json", "--name", "m", "-o", "ours.json")
    c.run("export", "m.txt", "--to", "xgboost", "-o", "xgboost.json")
    with open("ours.json", encoding="utf-8") as file:
        ours = serving.elasticsearch_ml(file.read())
    by_number = lambda doc, name: doc.get(int(name[1:]))  # noqa: E731
    theirs = serving.ml_trees(eland_ensemble("xgboost.json"), by_number)
    floats = serving.ml_trees(rounded(eland_ensemble("xgboost.json")), by_number)
    random_docs = data.make_docs(n_docs // 17, N_FEATURES, 8, absent=0.2, missing=0.1)
    near = data.boundary_docs(data.cuts_of("m.txt"), N_FEATURES, n_docs, 9)
    who = f"eland {eland.__version__}"
    yield absent, "its rules", "next to thresholds", len(near), c.differ(ours, near), ""
    yield absent, who, "random", len(random_docs), c.differ(theirs, random_docs), ""
    yield absent, who, "next to thresholds", len(near), c.differ(floats, near), f"{c.differ(theirs, near):,}"


def inside(args):
    program = os.path.abspath(args.rankwood)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print(f"{'absent':7}  {'scored by':11}  {'documents':18}  {'number':>7}  differ  without rounding")
        for absent in ("zero", "missing"):
            for of_row in rows(program, absent, args.docs):
                failed += of_row[4]
                print("{:7}  {:11}  {:18}  {:7,}  {:6,}  {:>16}".format(*of_row).rstrip(), flush=True)
    return failed != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common.add_program_arguments(parser)
    parser.add_argument("--docs", type=int, default=100000, help="documents a comparison [100000]")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        return inside(args)
    venv = args.venv + "-eland"
    common.make_venv(venv, "eland-requirements.txt")
    return subprocess.run([os.path.join(venv, "bin", "python"), os.path.abspath(__file__), "--inside",
                           *sys.argv[1:]]).returncode


if __name__ == "__main__":
    sys.exit(main())
