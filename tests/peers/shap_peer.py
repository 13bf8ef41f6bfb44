"""shap_peer.py: SHAP values against the shap package (path-dependent TreeExplainer). Models that Rankwood trains on made
data, documents counted by their leaves, or by the model file where training sampled them; every value must agree to 1e-9 of the largest |value| of the model (the package
keeps values in double, but takes features out of paths by division: deep trees cost it digits).

    python3 tests/peers/shap_peer.py [--rankwood PROGRAM] [--python INTERPRETER] [--golden tests/golden/shap]

The interpreter needs shap (0.51 was used) and numpy. --golden writes what tests/unit/test_shap.c reads. Exit 1 if a
value differs."""
import argparse
import os
import re
import subprocess
import sys
import tempfile

import common

CASES = (  # name, shape, queries, parameters of train; the first one is the golden one
    ("small", "letor", 4, ["--rounds", "4", "--leaves", "6", "--min-docs", "5"]),
    ("letor", "letor", 60, ["--rounds", "30", "--leaves", "16", "--min-docs", "2"]),
    ("missing", "mslr30k", 15, ["--rounds", "20", "--leaves", "31", "--absent", "missing", "--min-docs", "2"]),
    ("sampled", "letor", 60, ["--rounds", "30", "--leaves", "16", "--min-docs", "2", "--sample-docs", "0.5"]),
    ("deep", "yahoo", 15, ["--rounds", "5", "--leaves", "64", "--min-docs", "1"]),
)


def trees_of(path):
    """Each tree: ([(feature, cut, left, right, missing_left)], [leaf], [documents]); children as in the file."""
    trees = []
    for line in open(path):
        words = line.split()
        if words[:1] == ["tree"]:
            trees.append(([], [], []))
        elif words[:1] == ["node"]:
            found = re.match(r"node \d+ feature (\d+) <= (\S+) left (\w+) (\d+) right (\w+) (\d+) missing (\w+)", line)
            f, cut, kind_l, l, kind_r, r, missing = found.groups()
            trees[-1][0].append((int(f), float(cut), int(l) if kind_l == "node" else ~int(l),
                                 int(r) if kind_r == "node" else ~int(r), missing == "left"))
        elif words[:1] == ["leaf"]:
            trees[-1][1].append(float(words[2]))
            trees[-1][2].append(float(words[4]))
    return trees


def matrix(path, width, absent):
    import numpy as np

    rows = []
    for line in open(path):
        row = np.full(width, absent)
        for word in line.split("#")[0].split()[2:]:
            f, value = word.split(":")
            if int(f) < width:
                row[int(f)] = np.float32(value)
        rows.append(row)
    return np.array(rows)


def package_tree(nodes, leaves, docs, x):
    """The package's dictionary of a tree: nodes, then leaves; counts from the documents x, or (None) the leaves' own."""
    import numpy as np

    n = len(nodes)
    place = lambda child: child if child >= 0 else n + ~child
    count = np.zeros(n + len(leaves))
    if x is None:
        count[n:] = docs
        for at in reversed(range(n)):  # children have larger numbers
            count[at] = count[place(nodes[at][2])] + count[place(nodes[at][3])]
    for row in () if x is None else x:
        at = 0 if n else ~0
        while at >= 0:
            count[at] += 1
            f, cut, left, right, missing_left = nodes[at]
            at = left if (missing_left if np.isnan(row[f]) else np.float32(row[f]) <= np.float32(cut)) else right
        count[place(at)] += 1
    left = np.array([place(node[2]) for node in nodes] + [-1] * len(leaves))
    right = np.array([place(node[3]) for node in nodes] + [-1] * len(leaves))
    default = np.array([place(node[2] if node[4] else node[3]) for node in nodes] + [-1] * len(leaves))
    return {"children_left": left, "children_right": right, "children_default": default,
            "features": np.array([node[0] for node in nodes] + [-2] * len(leaves)),
            "thresholds": np.array([float(np.float32(node[1])) for node in nodes] + [0.0] * len(leaves)),
            "values": np.array([[0.0]] * n + [[float(np.float32(v))] for v in leaves]),
            "node_sample_weight": count}


def inside(arguments):
    import numpy as np
    import shap

    bad = 0
    for i, (name, shape, queries, parameters) in enumerate(CASES):
        with tempfile.TemporaryDirectory() as folder:
            data, model = os.path.join(folder, "data.txt"), os.path.join(folder, "model.txt")
            common.run([arguments.rankwood, "synth", "--shape", shape, "--queries", str(queries), "--seed", "3", "-o", data])
            common.run([arguments.rankwood, "train", data, *parameters, "--quiet", "-o", model])
            lines = common.run([arguments.rankwood, "explain", model, data, "--documents"]).splitlines()
            base = float(re.search(r"base (\S+);", lines[0]).group(1))
            ids = [int(word) for word in lines[1].split("\t")[3:]]
            ours = np.array([[float(word) for word in line.split("\t")[3:]] for line in lines[2:]])
            absent = np.nan if "missing" in parameters else 0.0
            x = matrix(data, max(ids) + 1, absent)
            seen = None if "--sample-docs" in parameters else x
            trees = [package_tree(*tree, seen) for tree in trees_of(model)]
            explainer = shap.TreeExplainer({"trees": trees}, feature_perturbation="tree_path_dependent")
            theirs = np.asarray(explainer.shap_values(x, check_additivity=False)).reshape(len(x), -1)
            unused = np.delete(theirs, ids, axis=1)
            most = np.abs(ours).max()
            off = np.abs(ours - theirs[:, ids]).max()
            base_off = abs(base - float(np.ravel(explainer.expected_value)[0]))
            good = off <= 1e-9 * most and base_off <= 1e-9 * most and not unused.any()
            bad += not good
            print(f"{name:8} {len(x):6} documents {len(ids):4} features: values {off:.2g} apart at most, base "
                  f"{base_off:.2g}; largest |value| {most:.3g}{'' if good else '  DIFFERS'}")
            if arguments.golden and i == 0:
                os.makedirs(arguments.golden, exist_ok=True)
                for source, target in ((data, "small.docs"), (model, "small.model")):
                    open(os.path.join(arguments.golden, target), "w").write(open(source).read())
                with open(os.path.join(arguments.golden, "small.shap"), "w") as out:
                    print(repr(float(np.ravel(explainer.expected_value)[0])), file=out)
                    for row in theirs[:, ids]:
                        print(*map(repr, map(float, row)), file=out)
    return bad > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankwood", type=common.given.program, default=os.path.join(common.ROOT, "build", "src", "cli", "rankwood"))
    parser.add_argument("--python", type=common.given.program, help="an interpreter that has shap [this one]")
    parser.add_argument("--golden", help="folder to write golden values to")
    arguments = parser.parse_args()
    if arguments.python:
        here = os.path.abspath(__file__)
        again = [arguments.python, here, "--rankwood", arguments.rankwood]
        return subprocess.call(again + (["--golden", arguments.golden] if arguments.golden else []))
    return inside(arguments)


if __name__ == "__main__":
    sys.exit(main())
