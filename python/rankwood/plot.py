"""Pictures of models and rankings. matplotlib is imported when one is drawn.

Each function takes ``ax``, the axes to draw on (None makes a figure of its own, whose labels have room),
and returns the axes.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood._columns import Floats
from rankwood._core import DataError, ParameterError, lib, need, whole
from rankwood._dataset import Dataset
from rankwood._evaluate import evaluate
from rankwood._explain import Explanation, feature_values
from rankwood._model import Model


def _axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """size: of a figure of its own, in inches."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _plain(name: Any) -> str:
    """A name shown as it is: a dollar sign begins no formula."""
    return str(name).replace("$", r"\$")


def _first(values: Mapping[str, Any], name: str | None, what: str) -> str:
    """The one that is asked for, or the first."""
    if name is None:
        return next(iter(values))
    if name not in values:
        raise ParameterError(f"{what} is {name!r}; expected one of {list(values)}")
    return name


def learning_curves(
    model: Model | Mapping[str, Mapping[str, Sequence[float]]], metric: str | None = None, *, ax: Any = None
) -> Any:
    """A metric of each set after each round, and the round that was kept.

    model: one that was just trained, or its ``evals_result``. metric: the first one if not given.
    DataError: nothing was measured.
    """
    evals = model if isinstance(model, Mapping) else need(model, Model, "model").evals_result
    if not any(evals.values()):
        raise DataError(
            "the model has no learning curves: train it with a validation set or train_metric=True"
        )
    metrics = {name: None for values in evals.values() for name in values}
    metric = _first(metrics, metric, "metric")
    ax = _axes(ax)
    for name, values in evals.items():
        if metric in values:
            ax.plot(np.arange(1, len(values[metric]) + 1), values[metric], label=_plain(name))
    if isinstance(model, Model) and model.best_round:
        ax.axvline(model.best_round, color="gray", linestyle=":", label=f"best round {model.best_round}")
    ax.set_xlabel("round")
    ax.set_ylabel(metric)
    ax.legend()
    return ax


def position_bias(model: Model, *, ax: Any = None) -> Any:
    """What training with ``debias`` found of positions: the propensity of each, and, of "ipw", its t-.

    model: one that was just trained so. DataError: it was not.
    """
    found = need(model, Model, "model").position_bias
    if found is None:
        raise DataError("the model has no bias of positions: train it with debias, on data with positions")
    ax = _axes(ax)
    ax.plot(found.position, found.propensity, marker=".", label="propensity")
    if found.unclicked is not None:
        ax.plot(found.position, found.unclicked, marker=".", label="unclicked (t-)")
    ax.set_xlabel("position")
    ax.set_ylabel("as a multiple of the first position's")
    ax.legend()
    return ax


def _bars(ax: Any, names: Sequence[Any], values: Sequence[float], label: str) -> Any:
    """The first one on top."""
    ax = _axes(ax)
    at = np.arange(len(names))
    ax.barh(at, values)
    ax.set_yticks(at, [_plain(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlabel(label)
    return ax


def _top(n: int) -> int:
    return whole(n, "top", 1, sys.maxsize)


def importance(model: Model, kind: str = "gain", *, top: int = 20, ax: Any = None) -> Any:
    """The features of ``model`` that do most, at most ``top``: by kind "gain", the sum of their splits'
    gains, or "splits", their number. ParameterError: another kind, or a top below 1."""
    rows = list(need(model, Model, "model").importance(kind).items())[: _top(top)]
    label = "sum of gains" if kind == "gain" else "splits"
    return _bars(ax, [name for name, _ in rows], [value for _, value in rows], label)


def per_query(
    data: Dataset,
    scores: Any,
    metric: str = "ndcg@10",
    *,
    against: Any = None,
    bins: int = 20,
    ax: Any = None,
    **how: Any,
) -> Any:
    """A metric by query: how many queries have which value, or one ranking against another.

    data: documents with labels and queries. scores, against: (n_docs,), or a model. Without ``against`` a
    histogram of ``bins`` bins with the mean; with it a point for each query that counts, above the
    diagonal where ``scores`` rank better (of a metric that is better higher). how: as
    :func:`rankwood.evaluate` takes it, and what it raises: DataError, ParameterError.
    """
    if not isinstance(metric, str):
        raise ParameterError(f"metric is {metric!r}; expected one")
    mine = next(iter(evaluate(data, scores, metric, **how).metrics.values()))
    counted = ~np.isnan(mine.per_query)
    ax = _axes(ax)
    if against is None:
        ax.hist(mine.per_query[counted], bins=bins)
        ax.axvline(mine.mean, color="gray", linestyle=":", label=f"mean {mine.mean:.4f}")
        ax.set_xlabel(mine.metric)
        ax.set_ylabel("queries")
    else:
        other = next(iter(evaluate(data, against, metric, **how).metrics.values()))
        x, y = other.per_query[counted], mine.per_query[counted]
        ax.scatter(x, y, s=10, alpha=0.5)
        ends = [min(x.min(initial=0), y.min(initial=0)), max(x.max(initial=1), y.max(initial=1))]
        ax.plot(ends, ends, color="gray", linestyle=":", label="equal")
        ax.set_xlabel(f"against: {mine.metric}, mean {other.mean:.4f}")
        ax.set_ylabel(f"{mine.metric}, mean {mine.mean:.4f}")
    ax.legend()
    return ax


# ------------------------------------------------------------------ trees


class _Drawing:
    """What a tree's picture has, before there are axes. Leaves stand at 0, 1, 2, ... from left to right."""

    def __init__(self) -> None:
        self.lines: list[tuple[tuple[float, int], tuple[float, int], str]] = []
        self.labels: list[tuple[tuple[float, int], str, str]] = []
        self.n_places = 0
        self.n_levels = 0

    def end(self, words: str, level: int) -> tuple[float, int]:
        """A leaf, or what stands for a subtree; where it stands."""
        at = (float(self.n_places), -level)
        self.n_places += 1
        self.n_levels = max(self.n_levels, level + 1)
        self.labels.append((at, words, "whitesmoke"))
        return at

    def split(
        self, words: str, left: tuple[float, int], right: tuple[float, int], missing_left: bool
    ) -> tuple[float, int]:
        """A node above the middle of its children; where it stands."""
        at = ((left[0] + right[0]) / 2, left[1] + 1)
        self.lines += [
            (at, left, "-" if missing_left else "--"),
            (at, right, "--" if missing_left else "-"),
        ]
        self.labels.append((at, words, "white"))
        return at

    def size(self) -> tuple[float, float]:
        """Inches in which no label meets another: on one level, ends are 1 apart or more, nodes 2."""
        widths = {"white": 0.0, "whitesmoke": 0.0}
        for _, words, color in self.labels:
            most = max(len(line) for line in words.split("\n"))
            widths[color] = max(widths[color], 0.08 * most + 0.2)
        node, end = widths["white"], widths["whitesmoke"]
        step = max(end, (node + end) / 2 / 1.5, node / 2)
        return min(max(6.4, step * (self.n_places + 0.5)), 300), max(2.4, 0.7 * self.n_levels + 0.4)


def tree(model: Model, index: int = 0, *, depth: int | None = 4, ax: Any = None) -> Any:
    """One tree of ``model``: splits, where missing values go, and the leaves' values.

    index: from 0. depth: no deeper than so many splits ("..." below); None draws all of it. A figure of
    its own is as large as the tree needs. ParameterError: no such tree.
    """
    index = whole(index, "index", 0, need(model, Model, "model").n_trees - 1)
    depth = None if depth is None else whole(depth, "depth", 0, sys.maxsize)
    c = lib.rw_model_tree(model._c, index)
    drawing = _Drawing()

    def draw(node: int, level: int) -> tuple[float, int]:
        """What is below, then the node; where it stands."""
        if node < 0:
            return drawing.end(f"{c.leaf[~node]:.4g}", level)
        if depth is not None and level >= depth:
            return drawing.end("...", level)
        left, right = draw(c.left[node], level + 1), draw(c.right[node], level + 1)
        name = model._name(c.feature[node])
        shown = name if isinstance(name, str) else f"feature {name}"
        return drawing.split(f"{shown}\n<= {c.cut[node]:.5g}", left, right, bool(c.missing_left[node]))

    draw(0 if c.n_leaves > 1 else ~0, 0)
    ax = _axes(ax, drawing.size())
    for start, end, style in drawing.lines:
        ax.plot([start[0], end[0]], [start[1], end[1]], color="gray", linestyle=style, zorder=1)
    for at, words, color in drawing.labels:
        box = {"boxstyle": "round", "facecolor": color, "edgecolor": "gray"}
        ax.text(at[0], at[1], _plain(words), ha="center", va="center", bbox=box, fontsize=8, zorder=2)
    ax.set_axis_off()
    ax.set_xlim(-0.75, drawing.n_places - 0.25)
    ax.set_ylim(0.5 - drawing.n_levels, 0.5)
    ax.set_title(f"tree {index} (left: value <= threshold; solid: missing values go this way)", fontsize=9)
    return ax


# ------------------------------------------------------------------ partial dependence


def partial_dependence(
    model: Model, data: Dataset, feature: int | str, *, points: int = 30, ax: Any = None
) -> Any:
    """The mean score, by ``model``, of the documents of ``data`` if all of them had one value of a feature.

    feature: an id, or a name, of one that the model asks for. points: at so many quantiles of the values
    that it has in the data, 2 or more. ParameterError: otherwise. The scores of documents that all are
    given the same value rank only by their other features, so the curve says what the value adds, not how
    it ranks.
    """
    need(model, Model, "model")
    need(data, Dataset, "data")
    points = whole(points, "points", 2, 2**20)
    grid, means = _dependence(model, data, _feature(model, feature), points)
    ax = _axes(ax)
    ax.plot(grid, means, marker="." if len(grid) <= 50 else None)
    ax.set_xlabel(_plain(feature if isinstance(feature, str) else f"feature {feature}"))
    ax.set_ylabel("mean score")
    return ax


def _feature(model: Model, feature: int | str) -> int:
    """The id of a feature that the model asks for."""
    used = {use.feature for use in model._uses()}
    found = [one for one in used if feature in (one, model._name(one))]
    if not found:
        names = sorted(str(model._name(one)) for one in used)
        raise ParameterError(f"feature is {feature!r}; expected one that the model asks for: {names}")
    return found[0]


def _dependence(model: Model, data: Dataset, feature: int, points: int) -> tuple[Floats, Floats]:
    used = sorted(use.feature for use in model._uses())
    values = np.full((data.n_docs, max(model._width, used[-1] + 1)), np.nan, np.float32)
    values[:, used] = feature_values(model, data, used)
    own = values[:, feature]
    own = own[~np.isnan(own)]
    if len(own) == 0:
        raise DataError(f"feature {feature} has no values in the data")
    grid = np.unique(np.quantile(own, np.linspace(0, 1, points), method="nearest"))
    means = np.empty(len(grid))
    for i, value in enumerate(grid):
        values[:, feature] = value
        means[i] = model._score(values, 0).mean()
    return grid.astype(np.float64), means


# ------------------------------------------------------------------ SHAP


def shap_summary(
    explanation: Explanation, *, top: int = 20, most: int = 2000, seed: int = 1, ax: Any = None
) -> Any:
    """SHAP values of the features that move scores most: a point for each document, coloured by the
    feature's value among its values (low blue, high red; black: missing).

    explanation: of :meth:`rankwood.Model.explain`. top: no more features than these, 1 or more, else
    ParameterError. most: no more documents than these, drawn by ``seed``.
    """
    from matplotlib import colormaps

    need(explanation, Explanation, "explanation")
    most, seed = whole(most, "most", 1, sys.maxsize), whole(seed, "seed", 0, sys.maxsize)
    random = np.random.default_rng(seed)
    n = len(explanation.values)
    docs = np.arange(n) if n <= most else np.sort(random.choice(n, most, replace=False))
    means = np.abs(explanation.values).mean(axis=0)
    order = np.argsort(-means, kind="stable")[: _top(top)]
    ax = _axes(ax)
    ax.axvline(0, color="gray", linewidth=0.8)
    for row, i in enumerate(order):
        height = row + random.uniform(-0.3, 0.3, len(docs))
        colors: Any = "tab:blue"
        if explanation.data is not None:
            colors = _colors(explanation.data[:, i])[docs]
        ax.scatter(explanation.values[docs, i], height, s=6, c=colors, alpha=0.7)
    ax.set_yticks(np.arange(len(order)), [_plain(explanation.names[i]) for i in order])
    ax.invert_yaxis()
    ax.set_xlabel("SHAP value: what the feature adds to the score")
    if explanation.data is not None:
        keys = {"low value": colormaps["coolwarm"](0.0), "high value": colormaps["coolwarm"](1.0)}
        if np.isnan(explanation.data[np.ix_(docs, order)]).any():
            keys["missing"] = _MISSING
        for words, color in keys.items():
            ax.scatter([], [], s=20, color=[color], label=words)
        ax.legend(loc="lower right")
    return ax


_MISSING = (0.0, 0.0, 0.0, 1.0)  # as no value looks: the middle of the colours is gray


def _colors(values: npt.NDArray[np.float32]) -> Any:
    """(n, 4): by the value's rank from 0 to 1, so that a single large one does not hide the others."""
    from matplotlib import colormaps

    known = ~np.isnan(values)
    out = np.tile(np.array(_MISSING), (len(values), 1))
    distinct, rank = np.unique(values[known], return_inverse=True)
    if len(distinct):
        out[known] = colormaps["coolwarm"](rank / max(len(distinct) - 1, 1))
    return out
