"""serving_check.py PROGRAM: exports models to every format that serving.py reads, and compares each
document's leaf in every tree, and its score, with Rankwood's: random documents and some at
thresholds. `export --verify` must report the same. Standard library only."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import given  # noqa: E402
import serving  # noqa: E402
import serving_data as data  # noqa: E402

N_FEATURES = 12


def run(*command, expect=0):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != expect:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def differing(trees, docs, leaf_ids, leaf_values, scores):
    """How many documents have another leaf or a score too far away; the first."""
    count, first = 0, None
    for i, (_, _, doc) in enumerate(docs):
        ours = [values[leaf] for values, leaf in zip(leaf_values, leaf_ids[i])]
        bound = len(ours) * 2.0 ** -24 * sum(map(abs, ours))
        if trees.leaves(doc) != ours or abs(trees.score(doc) - scores[i]) > bound:
            count += 1
            first = first or (i, doc)
    return count, first


def passed(docs, name, why):
    """What LightGBM's and CatBoost's callers pass: all values."""
    if name not in ("lightgbm", "catboost") or why != "absent is missing":
        return docs
    return [(q, label, {f: doc.get(f, data.NAN) for f in range(1, N_FEATURES + 1)})
            for q, label, doc in docs]


def check(program, model, docs, docs_path, formats, why, missing):
    scores = [float(x) for x in run(program, "predict", model, docs_path).split()]
    leaf_ids = [[int(x) for x in line.split()]
                for line in run(program, "predict", model, docs_path, "--leaf-ids").splitlines()]
    leaf_values = data.leaves_of(model)
    failed = 0
    for name in formats:
        out = "exported." + name
        by_set = ("--featureset", "set.json", "--name", "m") if name in data.BY_SET else ()
        said = run(program, "export", model, "--to", name, *by_set, "--verify", docs_path, "-o", out)
        with open(out, encoding="utf-8") as file:
            text = file.read()
        if said.count(f"  0 of {len(docs):,} documents differ") < 1:
            print(f"{why}, {name}: --verify says\n{said}")
            failed += 1
        for reader in serving.READERS[name]:
            if reader.__name__.endswith("_earlier") and (missing or why == "absent is missing"):
                continue  # that version's fault
            count, first = differing(reader(text), passed(docs, name, why), leaf_ids, leaf_values,
                                     scores)
            if count:
                print(f"{why}, {reader.__name__}: {count} of {len(docs)} documents differ, "
                      f"first {first}")
                failed += 1
    return failed


def check_categories(program, train, absent, why):
    """Features by categories: known ones, others, missing ones."""
    train = data.with_categories(train, 3, 30)
    data.write_docs("by_category.txt", train)
    run(program, "train", "by_category.txt", "--rounds", "12", "--leaves", "9", "--min-docs", "5", "--categorical",
        "11,12", "--absent", absent, "--quiet", "-o", "by_category.model")
    with open("by_category.model", encoding="utf-8") as file:
        if file.read().count(" in ") < 20:
            raise SystemExit("by_category.model has few splits by categories")
    docs = data.make_docs(40, N_FEATURES, 18, absent=0.2, missing=0.1)
    docs = data.with_categories(docs, 4, 40)
    if absent == "zero":  # category 0, unknown to formats in which absent values are missing
        docs = [(q, label, {11: 0, 12: 0, **doc}) for q, label, doc in docs]
    data.write_docs("docs.txt", docs)
    for name in ("ranklib", "quickrank", "solr", "xgboost-dump", "eslr-raw"):
        run(program, "export", "by_category.model", "--to", name, "-o", "x", expect=1)
    return check(program, "by_category.model", docs, "docs.txt", ["lightgbm", "xgboost", "pmml"],
                 why, 0.1)


def main():
    if len(sys.argv) != 2:
        given.end("usage: serving_check.py PROGRAM")
    program = given.program(sys.argv[1])
    ltr = list(data.BY_SET)
    by_node = ["lightgbm", "xgboost", "eslr-raw", "xgboost-dump", *ltr, "vespa", "catboost", "pmml"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("names.txt", "w", encoding="utf-8") as file:
            file.writelines(f"{f} the_{f}\n" for f in range(1, N_FEATURES + 1))
        for absent, why in (("zero", "absent is 0"), ("missing", "absent is missing")):
            train = data.make_docs(60, N_FEATURES, 7, absent=0.2)
            data.write_docs("train.txt", train)
            run(program, "train", "train.txt", "--rounds", "12", "--leaves", "9", "--min-docs", "5",
                "--absent", absent, "--quiet", "-o", "m.txt")
            run(program, "train", "train.txt", "--rounds", "12", "--leaves", "9", "--min-docs", "5",
                "--absent", absent, "--names", "names.txt", "--quiet", "-o", "named.txt")
            # Where training never saw a missing value, one goes where 0 does, and all agree. QuickRank
            # alone compares NaN.
            for missing in (0.1, 0.0):
                docs = data.make_docs(20, N_FEATURES, 8, absent=0.2, missing=missing)
                docs += data.boundary_docs(data.cuts_of("m.txt"), N_FEATURES, 600, 9, missing=missing)
                data.write_docs("docs.txt", docs)
                formats = by_node + (["ranklib"] if absent == "zero" else [])
                if missing == 0.0 and absent == "zero":
                    formats.append("quickrank")
                data.write_set("set.json", range(1, N_FEATURES + 1))
                failed += check(program, "m.txt", docs, "docs.txt", formats, why, missing)
                # By name the set may have its features in any order, and more of them.
                data.write_set("set.json", range(N_FEATURES + 5, 0, -1))
                failed += check(program, "named.txt", docs, "docs.txt", ltr, why, missing)
            failed += check_categories(program, train, absent, why)
            # Solr's slack cannot represent a threshold of -1, as features of whole numbers have.
            run(program, "train", "train.txt", "--rounds", "12", "--leaves", "9", "--min-docs", "5", "--ignore", "5,10",
                "--absent", absent, "--quiet", "-o", "no_whole.txt")
            docs = data.boundary_docs(data.cuts_of("no_whole.txt"), N_FEATURES, 600, 9)
            data.write_docs("docs.txt", docs)
            failed += check(program, "no_whole.txt", docs, "docs.txt", ["solr"], why, 0.1)
            if absent == "missing":  # directions that these cannot carry
                for name in ("ranklib", "quickrank"):
                    run(program, "export", "m.txt", "--to", name, "-o", "x", expect=1)
                    run(program, "export", "m.txt", "--to", name, "--lossy", "-o", "x")
    print(f"{failed} comparisons failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
