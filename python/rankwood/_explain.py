"""Explanations of scores: SHAP values, permutation importance, and trees for other explainers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood._columns import Floats, pointer
from rankwood._core import UnsupportedError, check, context, ffi, lib, made, need, text, whole
from rankwood._dataset import Dataset, need_labels
from rankwood._params import Params
from rankwood._scoring import Scorer
from rankwood._training import working

# Count of a leaf that no document reaches: nearly 0, but not 0, because shap divides by it.
_NO_DOCUMENTS = 1e-9


@dataclass(frozen=True)
class Explanation:
    """SHAP values of documents; a document's score is ``base_value`` plus the sum of its values.

    Attributes
    ----------
    values : array of float64
        SHAP values, shape (n_docs, n_used), in the order of the data.
    base_value : float
        Mean score of the documents that the trees were trained on, or of the ``cover`` documents.
    features : list[int]
        Ids of the features that the model uses, ascending.
    names : list[int | str]
        Their names; ids for features without names.
    data : array of float32 | None
        Their values in the model's view, shape (n_docs, n_used); NaN for missing.

    Examples
    --------
    >>> explanation = model.explain(valid)
    >>> np.allclose(explanation.base_value + explanation.values.sum(axis=1), model.predict(valid))
    True
    """

    values: Floats
    base_value: float
    features: list[int]
    names: list[int | str]
    data: npt.NDArray[np.float32] | None = None

    def __repr__(self) -> str:
        n_docs, n_used = self.values.shape
        return f"Explanation({n_docs} documents, {n_used} features, base value {self.base_value:.5g})"

    def document(self, doc: int) -> list[tuple[int | str, float]]:
        """Return the features that moved the score of one document, largest effect first.

        Parameters
        ----------
        doc : int
            Number of the document, from 0.

        Returns
        -------
        list of tuple
            Name or id of each feature, and its SHAP value. Features with value 0 are omitted.

        Raises
        ------
        IndexError
            The number is out of range.

        Examples
        --------
        >>> name, value = model.explain(valid).document(0)[0]
        >>> isinstance(value, float)
        True
        """
        row = self.values[doc]
        order = np.argsort(-np.abs(row), kind="stable")
        return [(self.names[i], float(row[i])) for i in order if row[i] != 0]

    def mean_abs(self) -> dict[int | str, float]:
        """Return each feature's mean absolute SHAP value over the documents, largest first.

        Returns
        -------
        dict
            Mean by name or id.

        Examples
        --------
        >>> means = model.explain(valid).mean_abs()
        >>> list(means.values()) == sorted(means.values(), reverse=True)
        True
        """
        means = np.abs(self.values).mean(axis=0)
        order = np.argsort(-means, kind="stable")
        return {self.names[i]: float(means[i]) for i in order}


def shap_values(model: Scorer, data: Dataset, cover: Dataset | None) -> tuple[Floats, float, list[int]]:
    """See Model.shap_values."""
    out, c = ffi.new("struct rw_explainer **"), model._values_of(data)
    if cover is not None:
        need(cover, Dataset, "cover")
    elif not lib.rw_model_has_covers(model._c, 0):
        cover = data
    of = ffi.NULL if cover is None else c if cover is data else model._values_of(cover)
    explainer = made(lib.rw_explainer_new(context(), model._c, 0, of, out), out, lib.rw_free)
    n = explainer.n_features
    values = np.empty((data.n_docs, n), np.float64)
    to = pointer(values)
    with working("explanations"):
        check(lib.rw_explainer_run(context(), explainer, c, 0, data.n_docs, to, ffi.NULL))
    ids = [int(explainer.features[i]) for i in range(n)]
    return data._in_caller_order(values), float(explainer.base), ids


def explain(model: Scorer, data: Dataset, cover: Dataset | None) -> Explanation:
    """See Model.explain."""
    need(data, Dataset, "data")
    values, base, features = shap_values(model, data, cover)
    names = [model._name(feature) for feature in features]
    return Explanation(values, base, features, names, feature_values(model, data, features))


def feature_values(model: Scorer, data: Dataset, features: Sequence[int]) -> npt.NDArray[np.float32]:
    """Returns the values in the model's view, (n_docs, len(features)) in the order of the data, NaN for missing."""
    absent = float("nan") if model.params.get("absent") == "missing" else 0.0
    out = np.empty((len(features), data.n_docs), np.float32)
    c = model._values_of(data)
    for i, feature in enumerate(features):
        lib.rw_dataset_feature(c, feature, absent, pointer(out[i]))
    return data._in_caller_order(np.ascontiguousarray(out.T))


# ------------------------------------------------------------------ bags


@dataclass(frozen=True)
class Spread:
    """How much the bags of a model disagree about each document.

    It shows what varies in training, and not the probability that a score or rank is wrong.

    Attributes
    ----------
    std : array of float64, shape (n_docs,)
        Standard deviation of the document's score over the bags, with ``n_bags - 1`` in the denominator, in units of
        the model's scores. Before, each bag's mean score of the query is subtracted, since it does not change ranks.
    rank_low : array of int64, shape (n_docs,)
        Best rank of the document in its query over the bags, from 1. Equal scores are ranked in the order of the data.
    rank_high : array of int64, shape (n_docs,)
        Worst rank of the document over the bags.

    Examples
    --------
    >>> bags = rankwood.train({"bags": 4, "rounds": 20, "sample_queries": 0.7}, data)
    >>> spread = bags.spread(valid)
    >>> uncertain = np.argsort(spread.rank_low - spread.rank_high)[:10]  # widest intervals first
    """

    std: Floats
    rank_low: npt.NDArray[np.int64]
    rank_high: npt.NDArray[np.int64]

    def __repr__(self) -> str:
        mean = self.std.mean() if len(self.std) else 0.0
        return f"Spread({len(self.std)} documents, mean standard deviation {mean:.5g})"


def spread(model: Scorer, data: Dataset) -> Spread:
    """Implements Model.spread."""
    values = model._values_of(data)
    scores = np.empty((model.n_bags, data.n_docs))
    check(lib.rw_predict_bags(context(), model._c, values, pointer(scores)))
    offset = data.query_offsets.astype(np.int64)
    size = np.diff(offset)
    query = np.repeat(np.arange(len(size)), size)
    rank = np.empty(scores.shape, np.int64)
    for own, rank_of in zip(scores, rank, strict=True):
        rank_of[np.lexsort((-own, query))] = np.arange(len(own)) - offset[query] + 1
        own -= (np.bincount(query, own, len(size)) / np.maximum(size, 1))[query]
    each = scores.std(axis=0, ddof=1), rank.min(axis=0), rank.max(axis=0)
    return Spread(*(data._in_caller_order(one) for one in each))


# ------------------------------------------------------------------ permutations


@dataclass(frozen=True)
class Permuted:
    """Loss of a metric when one feature's values are shuffled among all documents.

    Attributes
    ----------
    feature : int
        Feature id.
    name : int | str
        Feature name; the id for a feature without a name.
    loss : float
        Mean loss over the repeats. A positive loss means that the feature helps, for every metric.
    deviation : float
        Standard deviation over the repeats; NaN for one repeat.

    Examples
    --------
    >>> most = model.permutation_importance(valid, n_repeats=2)[0]
    >>> most.loss > 0
    True
    """

    feature: int
    name: int | str
    loss: float
    deviation: float


def permutation_importance(
    model: Scorer, data: Dataset, metric: str, n_repeats: int, n_trees: int | None, how: dict[str, Any]
) -> list[Permuted]:
    """See Model.permutation_importance."""
    need_labels(data, "data")
    n_repeats = whole(n_repeats, "n_repeats", 1, 1000)
    params = Params({"metric": metric, **how})
    settings = params.measuring()
    room = len(model._uses())
    rows, value = ffi.new("struct rw_permuted[]", max(room, 1)), ffi.new("double *")
    trees, c = model._count(n_trees), model._values_of(data)
    with working("permutations"):
        n = lib.rw_permutation_importance(
            context(), settings, model._c, trees, c, n_repeats, value, rows, room
        )
        check(min(n, 0))
    out = [
        Permuted(one.feature, model._name(one.feature), one.loss, one.deviation)
        for one in (rows[i] for i in range(n))
    ]
    return sorted(out, key=lambda one: -one.loss)  # the order stays if losses are NaN because no query counts


# ------------------------------------------------------------------ shap


def leaf_counts(model: Scorer, cover: Dataset) -> list[Floats]:
    """Counts the cover's documents in each leaf of each tree."""
    n = model.n_trees
    leaves = np.empty((cover.n_docs, n), np.int32)
    to = pointer(leaves)
    check(lib.rw_predict_leaves(context(), model._c, model._values_of(cover), 0, to))
    return [
        np.bincount(leaves[:, tree], minlength=lib.rw_model_tree(model._c, tree).n_leaves).astype(np.float64)
        for tree in range(n)
    ]


def own_counts(model: Scorer) -> list[Floats]:
    """Returns the numbers of training documents in each leaf of each tree."""
    if not lib.rw_model_has_covers(model._c, 0):
        raise UnsupportedError("the model has no document counts: pass documents to count, to_shap(cover=data)")
    counts = []
    for tree in range(model.n_trees):
        c = lib.rw_model_tree(model._c, tree)
        counts.append(np.array([c.docs[leaf] for leaf in range(c.n_leaves)] if c.n_leaves > 1 else [1.0]))
    return counts


def to_shap(model: Scorer, cover: Dataset | None) -> dict[str, Any]:
    """See Model.to_shap."""
    counts = own_counts(model) if cover is None else leaf_counts(model, need(cover, Dataset, "cover"))
    return {
        "trees": [_shap_tree(model, tree, counts[tree]) for tree in range(model.n_trees)],
        "input_dtype": np.float32,  # thresholds are compared with float32 values, as here
        "internal_dtype": np.float64,
        "base_offset": 0.0,
        "objective": None,
        "tree_output": "raw_value",
    }


def _shap_tree(model: Scorer, tree: int, counts: Floats) -> dict[str, Any]:
    """Converts a tree to arrays: its nodes, then its leaves."""
    c = lib.rw_model_tree(model._c, tree)
    n_leaves = len(counts)
    n_nodes = n_leaves - 1
    size = n_nodes + n_leaves
    left, right, default = (np.full(size, -1, np.int32) for _ in range(3))
    features = np.zeros(size, np.int32)
    thresholds, weights = np.zeros(size, np.float64), np.zeros(size, np.float64)
    values = np.zeros((size, 1), np.float64)

    def at(child: int) -> int:
        return child if child >= 0 else n_nodes + ~child

    for i in range(n_nodes):
        if c.by_category and c.by_category[i]:
            raise UnsupportedError("shap's trees have no splits by categories; explain() and shap_values() do")
        left[i], right[i] = at(c.left[i]), at(c.right[i])
        default[i] = left[i] if c.missing_left[i] else right[i]
        features[i], thresholds[i] = c.feature[i], c.cut[i]
    for i in range(n_leaves):
        values[n_nodes + i, 0] = c.leaf[i]
        weights[n_nodes + i] = max(float(counts[i]), _NO_DOCUMENTS)
    _sum_up(left, right, weights, n_nodes)
    return {
        "children_left": left,
        "children_right": right,
        "children_default": default,
        "features": features,
        "thresholds": thresholds,
        "values": values,
        "node_sample_weight": weights,
    }


def _sum_up(left: Any, right: Any, weights: Any, n_nodes: int) -> None:
    """Sums the documents of each node's children. Parents may have any order."""
    order = [0] if n_nodes else []
    for node in order:  # grows during iteration: parents before children
        order += [child for child in (left[node], right[node]) if child < n_nodes]
    for node in reversed(order):
        weights[node] = weights[left[node]] + weights[right[node]]


# ------------------------------------------------------------------ trees


def nodes_of(model: Scorer) -> list[dict[str, Any]]:
    """Returns splits, then leaves, tree by tree."""
    out: list[dict[str, Any]] = []
    for tree in range(model.n_trees):
        c = lib.rw_model_tree(model._c, tree)
        for i in range(c.n_leaves - 1):
            by_category = c.by_category and c.by_category[i]
            out.append(
                {
                    "tree": tree,
                    "node": i,
                    "leaf": None,
                    "feature": model._name(c.feature[i]),
                    "threshold": condition(model._c, tree, i) if by_category else c.cut[i],
                    "missing_left": bool(c.missing_left[i]),
                    "left": c.left[i],
                    "right": c.right[i],
                    "gain": c.gain[i],
                    "value": None,
                }
            )
        for i in range(c.n_leaves):
            leaf = {"tree": tree, "node": ~i, "leaf": i, "value": c.leaf[i]}
            out.append({**dict.fromkeys(out[0] if out else leaf), **leaf})
    return out


def condition(model: Any, tree: int, node: int) -> str:
    """Returns a split's condition as text, such as "in {a, b}"."""
    size = lib.rw_model_condition(model, tree, node, ffi.NULL, 0) + 1
    buffer = ffi.new("char[]", size)
    lib.rw_model_condition(model, tree, node, buffer, size)
    return text(buffer)
