"""Plots of models and rankings. They need matplotlib (extra ``plot``), which is imported on first use.

Each function draws on the axes ``ax`` and returns them. Without ``ax`` it creates a figure.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwood._columns import Floats
from rankwood._core import DataError, ParameterError, lib, need, whole
from rankwood._dataset import Dataset
from rankwood._evaluate import evaluate
from rankwood._explain import Explanation, condition, feature_values
from rankwood._model import Model

if TYPE_CHECKING:
    from rankwood.sklearn import Ranker


def _axes(ax: Any, size: tuple[float, float] | None = None) -> Any:
    """Returns the given axes, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _model(model: Any) -> Model:
    """Returns the model, also that of a fitted Ranker."""
    return need(getattr(model, "model_", model), Model, "model")


def _plain(name: Any) -> str:
    """Escapes dollar signs, which begin formulas in matplotlib."""
    return str(name).replace("$", r"\$")


def _first(values: Mapping[str, Any], name: str | None, what: str) -> str:
    """Returns the requested name, or the first one."""
    if name is None:
        return next(iter(values))
    if name not in values:
        raise ParameterError(f"{what} is {name!r}; expected one of {list(values)}")
    return name


def learning_curves(
    model: Model | Ranker | Mapping[str, Mapping[str, Sequence[float]]], metric: str | None = None, *, ax: Any = None
) -> Any:
    """Plot a metric of each set after each round, and the kept round.

    Parameters
    ----------
    model : Model, Ranker or dict
        Freshly trained model, or its ``evals_result``.
    metric : str or None, default None
        Metric to plot; the first one by default.
    ax : matplotlib axes or None, default None
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    DataError
        The model has no metric values.
    ParameterError
        The metric was not measured.

    Examples
    --------
    >>> trained = rankwood.train({"rounds": 20, "leaves": 8}, data, valid=valid)
    >>> rankwood.plot.learning_curves(trained).figure.savefig("curves.png")
    """
    if not isinstance(model, Mapping):
        model = _model(model)
    evals = model if isinstance(model, Mapping) else model.evals_result
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
        ax.axvline(model.best_round, color="gray", linestyle=":", label=f"kept round {model.best_round}")
    ax.set_xlabel("round")
    ax.set_ylabel(metric)
    ax.legend()
    return ax


def position_bias(model: Model | Ranker, *, ax: Any = None) -> Any:
    """Plot the position bias that training with ``debias`` estimated.

    It shows the propensity of each position, and t- of ``debias="ipw"``.

    Parameters
    ----------
    model : Model or Ranker
        Model freshly trained with ``debias``.
    ax : matplotlib axes or None, default None
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    DataError
        The model has no position bias.

    Examples
    --------
    >>> position = np.concatenate([np.arange(n) for n in np.bincount(qid)])
    >>> clicks = rankwood.Dataset(X, y > 1, qid=qid, position=position)
    >>> trained = rankwood.train({"rounds": 5, "debias": "ipw"}, clicks)
    >>> rankwood.plot.position_bias(trained).get_xlabel()
    'position'
    """
    found = _model(model).position_bias
    if found is None:
        raise DataError("the model has no position bias: train it with debias, on data with positions")
    ax = _axes(ax)
    ax.plot(found.position, found.propensity, marker=".", label="propensity")
    if found.unclicked is not None:
        ax.plot(found.position, found.unclicked, marker=".", label="unclicked (t-)")
    ax.set_xlabel("position")
    ax.set_ylabel("as a multiple of the first position's")
    ax.legend()
    return ax


def _bars(ax: Any, names: Sequence[Any], values: Sequence[float], label: str) -> Any:
    """Draws horizontal bars, with the first one on top."""
    ax = _axes(ax)
    at = np.arange(len(names))
    ax.barh(at, values)
    ax.set_yticks(at, [_plain(name) for name in names])
    ax.invert_yaxis()
    ax.set_xlabel(label)
    return ax


def _top(n: int) -> int:
    return whole(n, "top", 1, sys.maxsize)


def importance(model: Model | Ranker, kind: str = "gain", *, top: int = 20, ax: Any = None) -> Any:
    """Plot the most important features.

    Parameters
    ----------
    model : Model or Ranker
        The model.
    kind : {"gain", "splits"}, default "gain"
        Sum of the gains of a feature's splits, or their number.
    top : int, default 20
        Maximum number of features, 1 or more.
    ax : matplotlib axes or None, default None
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ParameterError
        The kind is unknown, or ``top`` is below 1.

    Examples
    --------
    >>> rankwood.plot.importance(model, top=10).get_xlabel()
    'sum of gains'
    """
    rows = list(_model(model).importance(kind).items())[: _top(top)]
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
    """Plot a metric by query, as a histogram or against another ranking.

    Parameters
    ----------
    data : Dataset
        Documents with labels and queries.
    scores : array of shape (n_docs,), Model or Ranker
        The ranking.
    metric : str, default "ndcg@10"
        One metric, as in :func:`rankwood.evaluate`.
    against : array of shape (n_docs,), Model, Ranker or None, default None
        Second ranking. The plot then has a point per query that counts. For metrics where higher is better, ``scores``
        rank better above the diagonal.
    bins : int, default 20
        Number of bins of the histogram, which is drawn without ``against``.
    ax : matplotlib axes or None, default None
        Axes to draw on.
    **how
        Conventions, as in :func:`rankwood.evaluate`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    DataError
        The number of scores differs from the number of documents, or the data has no labels.
    ParameterError
        The metric is unknown.

    Examples
    --------
    >>> rankwood.plot.per_query(valid, model, against=X_valid[:, 0]).get_legend() is not None
    True
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
    """Elements of a tree's plot, collected before there are axes. Leaves have x = 0, 1, 2, ... from left to right."""

    def __init__(self) -> None:
        self.lines: list[tuple[tuple[float, int], tuple[float, int], str]] = []
        self.labels: list[tuple[tuple[float, int], str, str]] = []
        self.n_places = 0
        self.n_levels = 0

    def end(self, words: str, level: int) -> tuple[float, int]:
        """Adds a leaf, or a placeholder for a subtree, and returns its coordinates."""
        at = (float(self.n_places), -level)
        self.n_places += 1
        self.n_levels = max(self.n_levels, level + 1)
        self.labels.append((at, words, "whitesmoke"))
        return at

    def split(
        self, words: str, left: tuple[float, int], right: tuple[float, int], missing_left: bool
    ) -> tuple[float, int]:
        """Adds a node above the middle of its children, and returns its coordinates."""
        at = ((left[0] + right[0]) / 2, left[1] + 1)
        self.lines += [
            (at, left, "-" if missing_left else "--"),
            (at, right, "--" if missing_left else "-"),
        ]
        self.labels.append((at, words, "white"))
        return at

    def size(self) -> tuple[float, float]:
        """Returns a size in inches at which labels do not overlap.

        On one level, ends have a distance of at least 1, nodes of 2.
        """
        widths = {"white": 0.0, "whitesmoke": 0.0}
        for _, words, color in self.labels:
            most = max(len(line) for line in words.split("\n"))
            widths[color] = max(widths[color], 0.08 * most + 0.2)
        node, end = widths["white"], widths["whitesmoke"]
        step = max(end, (node + end) / 2 / 1.5, node / 2)
        return min(max(6.4, step * (self.n_places + 0.5)), 300), max(2.4, 0.7 * self.n_levels + 0.4)


def tree(model: Model | Ranker, index: int = 0, *, depth: int | None = 4, ax: Any = None) -> Any:
    """Plot one tree: splits, direction of missing values, and leaf values.

    Parameters
    ----------
    model : Model or Ranker
        The model.
    index : int, default 0
        Number of the tree, from 0.
    depth : int or None, default 4
        Maximum number of levels of splits; deeper subtrees are drawn as ``...``. None draws the whole tree.
    ax : matplotlib axes or None, default None
        Axes to draw on. A new figure is as large as the tree requires.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ParameterError
        The model has no tree with this number.

    Examples
    --------
    >>> rankwood.plot.tree(model, 0, depth=3).figure.savefig("tree.png")
    """
    model = _model(model)
    index = whole(index, "index", 0, model.n_trees - 1)
    depth = None if depth is None else whole(depth, "depth", 0, sys.maxsize)
    c = lib.rw_model_tree(model._c, index)
    drawing = _Drawing()

    def draw(node: int, level: int) -> tuple[float, int]:
        """Draws the subtree, then the node, and returns its coordinates."""
        if node < 0:
            return drawing.end(f"{c.leaf[~node]:.4g}", level)
        if depth is not None and level >= depth:
            return drawing.end("...", level)
        left, right = draw(c.left[node], level + 1), draw(c.right[node], level + 1)
        name = model._name(c.feature[node])
        shown = name if isinstance(name, str) else f"feature {name}"
        by_category = c.by_category and c.by_category[node]
        where = condition(model._c, index, node) if by_category else f"<= {c.cut[node]:.5g}"
        label = f"{shown}\n{textwrap.shorten(where, 40, placeholder=' ...')}"
        return drawing.split(label, left, right, bool(c.missing_left[node]))

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
    ax.set_title(f"tree {index} (left: the condition holds; solid: missing values go this way)", fontsize=9)
    return ax


# ------------------------------------------------------------------ partial dependence


def partial_dependence(
    model: Model | Ranker, data: Dataset, feature: int | str, *, points: int = 30, ax: Any = None
) -> Any:
    """Plot the mean score of the documents as a function of one feature's value.

    For each point, all documents get the same value of the feature. The curve shows its effect on scores, not on ranks.

    Parameters
    ----------
    model : Model or Ranker
        The model.
    data : Dataset
        Documents; labels are not needed.
    feature : int or str
        Id or name of a feature that the model uses.
    points : int, default 30
        Number of quantiles of the feature's values at which the score is computed, 2 or more.
    ax : matplotlib axes or None, default None
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ParameterError
        The model does not use the feature, or ``points`` is below 2.
    DataError
        The feature has no values in the data.

    Examples
    --------
    >>> feature = next(iter(model.importance()))
    >>> rankwood.plot.partial_dependence(model, valid, feature).get_ylabel()
    'mean score'
    """
    model = _model(model)
    need(data, Dataset, "data")
    points = whole(points, "points", 2, 2**20)
    grid, means = _dependence(model, data, _feature(model, feature), points)
    ax = _axes(ax)
    ax.plot(grid, means, marker="." if len(grid) <= 50 else None)
    ax.set_xlabel(_plain(feature if isinstance(feature, str) else f"feature {feature}"))
    ax.set_ylabel("mean score")
    return ax


def _feature(model: Model, feature: int | str) -> int:
    """Returns the id of a feature that the model uses."""
    used = {use.feature for use in model._uses()}
    found = [one for one in used if feature in (one, model._name(one))]
    if not found:
        names = sorted(str(model._name(one)) for one in used)
        raise ParameterError(f"feature is {feature!r}; expected a feature that the model uses: {names}")
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
    """Plot the SHAP values of the features with the largest effects.

    Each point is a document, coloured by the feature's value: blue is low, red is high, black is missing.

    Parameters
    ----------
    explanation : Explanation
        Result of :meth:`rankwood.Model.explain`.
    top : int, default 20
        Maximum number of features, 1 or more.
    most : int, default 2000
        Maximum number of documents; more are sampled.
    seed : int, default 1
        Seed of the sample.
    ax : matplotlib axes or None, default None
        Axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    ParameterError
        ``top`` or ``most`` is below 1.

    Examples
    --------
    >>> ax = rankwood.plot.shap_summary(model.explain(valid), top=5)
    >>> len(ax.get_yticks())
    5
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
    ax.set_xlabel("SHAP value: contribution to the score")
    if explanation.data is not None:
        keys = {"low value": colormaps["coolwarm"](0.0), "high value": colormaps["coolwarm"](1.0)}
        if np.isnan(explanation.data[np.ix_(docs, order)]).any():
            keys["missing"] = _MISSING
        for words, color in keys.items():
            ax.scatter([], [], s=20, color=[color], label=words)
        ax.legend(loc="lower right")
    return ax


_MISSING = (0.0, 0.0, 0.0, 1.0)  # black, because the middle of the colour map is gray


def _colors(values: npt.NDArray[np.float32]) -> Any:
    """Returns colours (n, 4) by the value's rank from 0 to 1, so that a single large value does not hide the others."""
    from matplotlib import colormaps

    known = ~np.isnan(values)
    out = np.tile(np.array(_MISSING), (len(values), 1))
    distinct, rank = np.unique(values[known], return_inverse=True)
    if len(distinct):
        out[known] = colormaps["coolwarm"](rank / max(len(distinct) - 1, 1))
    return out
