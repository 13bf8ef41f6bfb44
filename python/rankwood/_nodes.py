"""The nodes of a model's trees as dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rankwood._core import ffi, lib, text


def nodes_of(model: Any, name_of: Callable[[int], int | str]) -> list[dict[str, Any]]:
    """Of a struct rw_model: splits, then leaves, tree by tree."""
    out: list[dict[str, Any]] = []
    for tree in range(lib.rw_model_n_trees(model)):
        n = lib.rw_model_n_leaves(model, tree)
        for i in range(n - 1):
            node = lib.rw_model_node(model, tree, i)
            out.append(
                {
                    "tree": tree,
                    "node": i,
                    "leaf": None,
                    "feature": name_of(node.feature),
                    "threshold": _condition(model, tree, i) if node.by_category else node.cut,
                    "missing_left": bool(node.missing_left),
                    "left": node.left,
                    "right": node.right,
                    "gain": node.gain,
                    "value": None,
                }
            )
        for i in range(n):
            leaf = {"tree": tree, "node": ~i, "leaf": i, "value": lib.rw_model_leaf(model, tree, i)}
            out.append({**dict.fromkeys(out[0] if out else leaf), **leaf})
    return out


def _condition(model: Any, tree: int, node: int) -> str:
    size = lib.rw_model_condition(model, tree, node, ffi.NULL, 0) + 1
    buffer = ffi.new("char[]", size)
    lib.rw_model_condition(model, tree, node, buffer, size)
    return text(buffer)
