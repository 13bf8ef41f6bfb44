"""ONNX for formats.py and make_golden.py: what Rankwood exports goes through onnx's checker and onnxruntime, and
ensembles that the onnx package writes, with nodes of every comparison, come in. Needs onnx and onnxruntime."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

DOMAIN = "ai.onnx.ml"
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"]  # as TreeEnsemble numbers them
BY = f"onnxruntime {onnxruntime.__version__}"


def scores_of(path, x):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    n_columns = session.get_inputs()[0].shape[1]
    return session.run(None, {session.get_inputs()[0].name: x[:, :n_columns]})[0].ravel()


def random_trees(rng, n_trees, n_features, cuts, deepest=5):
    """[root], a node (feature, mode, threshold, missing tracks true, true, false), a leaf a float."""

    def node(depth):
        if depth == 0 or rng.random() < 0.15:
            return float(np.float32(rng.normal()))
        feature = int(rng.integers(n_features))
        return (feature, int(rng.integers(len(MODES))), float(np.float32(rng.choice(cuts[feature]))),
                int(rng.integers(2)), node(depth - 1), node(depth - 1))

    return [node(deepest) for _ in range(n_trees)]


def regressor(trees, n_features, base=None):
    """TreeEnsembleRegressor, nodes in an order of their own, ids from 1."""
    a = {key: [] for key in ("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values",
                             "nodes_truenodeids", "nodes_falsenodeids", "nodes_missing_value_tracks_true",
                             "target_treeids", "target_nodeids", "target_ids", "target_weights")}

    def add(tree, node, ids):
        me = ids[0]
        ids[0] += 1
        leaf = not isinstance(node, tuple)
        row = len(a["nodes_treeids"])
        for key, value in zip(("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_modes", "nodes_values",
                               "nodes_missing_value_tracks_true", "nodes_truenodeids", "nodes_falsenodeids"),
                              (tree, me, 0, "LEAF", 0.0, 0, 0, 0) if leaf else
                              (tree, me, node[0], MODES[node[1]], node[2], node[3], 0, 0)):
            a[key].append(value)
        if leaf:
            for key, value in zip(("target_treeids", "target_nodeids", "target_ids", "target_weights"),
                                  (tree, me, 0, node)):
                a[key].append(value)
        else:
            a["nodes_falsenodeids"][row] = add(tree, node[5], ids)
            a["nodes_truenodeids"][row] = add(tree, node[4], ids)
        return me

    for i, tree in enumerate(trees):
        add(2 * i, tree, [1])
    if base is not None:
        a["base_values"] = [base]
    return model_of("TreeEnsembleRegressor", 3, n_features, n_targets=1, **a)


def ensemble(trees, n_features):
    """TreeEnsemble; every tree has a split."""
    nodes, leaves = [], []

    def add(node):
        me = len(nodes)
        nodes.append(None)
        places = []
        for child in node[4:]:
            if isinstance(child, tuple):
                places.append((add(child), 0))
            else:
                # Not the number of any node: onnxruntime would take a root of such children for a leaf.
                leaves.append(child)
                places.append((len(leaves) - 1, 1))
        nodes[me] = (*node[:4], *places)
        return me

    roots = [add(tree) for tree in trees]
    # Leaves are numbered from the count of nodes on, those before are of no tree.
    first = len(nodes)
    ids = [[place + first * leaf for place, leaf in (n[4], n[5])] for n in nodes]
    flat = lambda name, values, kind: helper.make_tensor(name, kind, [len(values)], values)
    return model_of(
        "TreeEnsemble", 5, n_features, n_targets=1, aggregate_function=1, post_transform=0, tree_roots=roots,
        nodes_featureids=[n[0] for n in nodes], nodes_modes=flat("nodes_modes", [n[1] for n in nodes], TensorProto.UINT8),
        nodes_splits=flat("nodes_splits", [n[2] for n in nodes], TensorProto.FLOAT),
        nodes_missing_value_tracks_true=[n[3] for n in nodes],
        nodes_truenodeids=[i[0] for i in ids], nodes_falsenodeids=[i[1] for i in ids],
        nodes_trueleafs=[n[4][1] for n in nodes], nodes_falseleafs=[n[5][1] for n in nodes],
        leaf_targetids=[0] * (first + len(leaves)),
        leaf_weights=flat("leaf_weights", [9.0] * first + leaves, TensorProto.FLOAT))


def model_of(operator, version, n_features, **attributes):
    node = helper.make_node(operator, ["x"], ["y"], domain=DOMAIN, **attributes)
    graph = helper.make_graph([node], "trees",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", n_features])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])])
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid(DOMAIN, version)])
    onnx.checker.check_model(model, full_check=True)
    return model


def made(rng, n_features, cuts, n_trees=12, deepest=5):
    """(format, what, model) of ensembles to come in."""
    trees = random_trees(rng, n_trees, n_features, cuts, deepest)
    with_splits = [tree for tree in trees if isinstance(tree, tuple)]
    return [("onnx", "all modes", regressor(trees, n_features)),
            ("onnx", "base value", regressor(trees[:4], n_features, 0.25)),
            ("onnx5", "all modes", ensemble(with_splits, n_features))]


def outwards(c, model, docs_path, what, x):
    for name in ("onnx", "onnx5"):
        c.run("export", model, "--to", name, "--verify", docs_path, "-o", "out.onnx")
        c.add(f"{name}, {what}", BY, model, docs_path, scores_of("out.onnx", x), None, True)


def inwards(c, documents, matrix_of, n_features):
    """documents(cuts) writes in.docs; matrix_of(docs) has 0 for values absent from a document."""
    rng = np.random.default_rng(3)
    cuts = {f: [np.float32(v) for v in rng.normal(size=9)] + [np.float32(0)] for f in range(n_features)}
    docs = documents(cuts)
    values = matrix_of(docs).astype(np.float32)
    for name, what, model in made(rng, n_features, cuts):
        onnx.save(model, "in.onnx")
        c.run("import", "in.onnx", "--from", name, "-o", "in.model")
        c.add(f"from {name}, {what}", BY, "in.model", "in.docs", scores_of("in.onnx", values), None, True)


def golden(folder, n_features, n_docs):
    """name.format, name.docs and name.scores of small ensembles; the documents are at thresholds and next to them."""
    rng = np.random.default_rng(17)
    cuts = {f: [np.float32(v) for v in rng.normal(size=4)] for f in range(n_features)}
    x = rng.normal(size=(n_docs, n_features)).astype(np.float32)
    for row in x:
        for f in range(n_features):
            cut, draw = rng.choice(cuts[f]), rng.random()
            if draw < 0.7:
                row[f] = cut if draw < 0.4 else np.nextafter(cut, np.float32(np.inf if draw < 0.55 else -np.inf))
            elif draw > 0.85:
                row[f] = np.nan
    lines = ["0 qid:1" + "".join(f" {f}:{'nan' if np.isnan(v) else repr(float(v))}" for f, v in enumerate(row)) + "\n"
             for row in x]
    for name, what, model in made(rng, n_features, cuts, 6, 3):
        path = os.path.join(folder, f"{name}_{what.replace(' ', '_')}")
        onnx.save(model, f"{path}.{name}")
        with open(path + ".docs", "w", encoding="ascii") as out:
            out.writelines(lines)
        with open(path + ".scores", "w", encoding="ascii") as out:
            out.writelines(f"{float(s)!r}\n" for s in scores_of(f"{path}.{name}", x))
