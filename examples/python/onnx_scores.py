"""A model as ONNX: onnxruntime sends every document to the same leaf of every tree.

    python onnx_scores.py       # needs onnx and onnxruntime
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from made_data import searches

import rankwood


def scores(path: Path, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """What a server does: one score a document, (n_docs,). values: (n_docs, n_features), NaN where missing."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session.run(["score"], {"features": values})[0][:, 0]


def leaf_values(path: Path, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The value of the leaf that each document reaches in each tree, (n_docs, n_trees): for a check only.

    Each tree is given an output of its own, where the file has one output that sums all trees.
    """
    model = onnx.load(path)
    attributes = {one.name: one for one in model.graph.node[0].attribute}
    trees = attributes["target_treeids"].ints
    attributes["n_targets"].i = n_trees = len(set(trees))
    del attributes["target_ids"].ints[:]
    attributes["target_ids"].ints.extend(trees)
    model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = n_trees
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {"features": values})[0]


def main() -> None:
    columns = {"label": "label", "qid": "query", "ignore": ["title"]}
    train_set = rankwood.Dataset(searches(200, seed=1), **columns)
    model = rankwood.train({"rounds": 100}, train_set)
    values = searches(100, seed=2)[train_set.feature_names].to_numpy(np.float32)
    expected = model.predict(values)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        model.export(path, "onnx")
        leaves = leaf_values(path, values)
        theirs = scores(path, values)

    # Tree by tree: sums of doubles, as Rankwood's.
    sums = np.cumsum(leaves, axis=1, dtype=np.float64)
    for n_trees in range(1, model.n_trees + 1):
        assert np.array_equal(sums[:, n_trees - 1], model.predict(values, n_trees=n_trees))
    print(f"{len(values)} documents get the same value from each of {model.n_trees} trees")

    # onnxruntime sums floats: each sum may be off by half of a float's last digit.
    most = model.n_trees * 2.0**-24 * np.abs(leaves.astype(np.float64)).sum(axis=1)
    off = np.abs(theirs - expected)
    assert (off <= most).all()
    print(f"their scores, sums of floats, differ from ours by at most {off.max():.1e}")


if __name__ == "__main__":
    main()
