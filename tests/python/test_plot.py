"""Pictures of models and rankings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankwood as rw
from conftest import OF_ARRAYS, make_arrays


@pytest.fixture
def axes() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, ax = pyplot.subplots()
    yield ax
    figure.canvas.draw()  # the drawing can be rendered
    pyplot.close("all")


def texts(ax: Any) -> list[str]:
    return [one.get_text() for one in ax.texts]


def test_plot_of_learning_curves(measured: rw.Model, axes: Any) -> None:
    assert rw.plot.learning_curves(measured, "map", ax=axes) is axes
    curve = measured.evals_result["valid"]["map"]
    assert list(axes.lines[0].get_ydata()) == curve
    assert list(axes.lines[0].get_xdata()) == list(range(1, len(curve) + 1))
    assert list(axes.lines[1].get_xdata()) == [measured.best_round] * 2
    assert axes.get_ylabel() == "map"
    with pytest.raises(rw.ParameterError, match="'mrr'"):
        rw.plot.learning_curves(measured, "mrr", ax=axes)
    with pytest.raises(rw.DataError, match="no learning curves"):
        rw.plot.learning_curves(rw.Model.from_bytes(measured.to_bytes()), ax=axes)
    own = rw.plot.learning_curves(measured)
    assert own is not axes
    assert own.get_ylabel() == "ndcg@10"


def test_plot_of_importance(measured: rw.Model, axes: Any) -> None:
    assert rw.plot.importance(measured, "splits", top=3, ax=axes) is axes
    expected = list(measured.importance("splits").items())[:3]
    assert [bar.get_width() for bar in axes.patches] == [value for _, value in expected]
    assert [label.get_text() for label in axes.get_yticklabels()] == [name for name, _ in expected]
    with pytest.raises(rw.ParameterError, match="top is 0"):
        rw.plot.importance(measured, top=0, ax=axes)


def test_long_names_have_room(axes: Any) -> None:
    x, y, qid = make_arrays()
    data = rw.Dataset(x, y, qid=qid, feature_names=[f"a name of more than thirty letters {i}" for i in range(6)])
    model = rw.train(OF_ARRAYS, data)
    for own in (rw.plot.importance(model), rw.plot.shap_summary(model.explain(data))):
        own.figure.canvas.draw()
        assert all(one.get_window_extent().x0 >= 0 for one in own.get_yticklabels())


def test_plot_of_queries(measured: rw.Model, axes: Any) -> None:
    x, y, qid = make_arrays()
    dataset = rw.Dataset(x, np.where(qid < 3, 0, y), qid=qid)  # 3 queries do not count
    assert rw.plot.per_query(dataset, measured, "map", bins=7, ax=axes) is axes
    mine = rw.evaluate(dataset, measured, "map").metrics["map"]
    assert sum(bar.get_height() for bar in axes.patches) == mine.n_counted == 37
    assert len(axes.patches) == 7
    axes.clear()
    rw.plot.per_query(dataset, measured, "map", against=np.zeros(600), ax=axes)
    other = rw.evaluate(dataset, np.zeros(600), "map").metrics["map"]
    points = np.column_stack((other.per_query, mine.per_query))[3:]
    assert np.array_equal(axes.collections[0].get_offsets(), points)
    assert axes.get_xlabel() == f"against: map, mean {other.mean:.4f}"


def test_plot_of_a_tree(dataset: rw.Dataset, measured: rw.Model, axes: Any) -> None:
    assert rw.plot.tree(measured, 1, depth=None, ax=axes) is axes
    nodes = [node for node in measured.trees() if node["tree"] == 1]
    leaves = [node for node in nodes if node["leaf"] is not None]
    assert len(axes.texts) == len(nodes) == 2 * len(leaves) - 1
    values = sorted(f"{one['value']:.4g}" for one in leaves)
    assert sorted(one for one in texts(axes) if "<=" not in one) == values
    assert f"{nodes[0]['feature']}\n<= {nodes[0]['threshold']:.5g}" in texts(axes)
    at = {one.get_text(): one.get_position() for one in axes.texts}
    below = [position[0] for words, position in at.items() if "<=" not in words]
    root = at[f"{nodes[0]['feature']}\n<= {nodes[0]['threshold']:.5g}"]
    assert min(below) < root[0] < max(below)
    assert root[1] > max(position[1] for position in at.values() if position != root)
    axes.clear()
    rw.plot.tree(measured, 1, depth=1, ax=axes)
    assert len(axes.texts) == 3
    assert "..." in texts(axes)
    with pytest.raises(rw.ParameterError, match="index is -1"):
        rw.plot.tree(measured, -1, ax=axes)


@pytest.mark.parametrize("depth", [None, 3])
def test_labels_of_a_large_tree_stand_apart(axes: Any, depth: int | None) -> None:
    x, y, qid = make_arrays(100)
    names = ["a", "b_b", "a_long_name_of_a_feature", "d", "e", "W" * 12]
    data = rw.Dataset(x, y, qid=qid, feature_names=names)
    model = rw.train({"rounds": 1, "leaves": 40, "min_docs": 3, "gain_noise": 0}, data)
    own = rw.plot.tree(model, depth=depth)
    own.figure.canvas.draw()
    boxes = [one.get_bbox_patch().get_window_extent() for one in own.texts]
    assert len(boxes) == (79 if depth is None else 15)
    inside = own.figure.bbox
    for i, box in enumerate(boxes):
        assert inside.x0 <= box.x0 and box.x1 <= inside.x1, own.texts[i]
        assert inside.y0 <= box.y0 and box.y1 <= own.title.get_window_extent().y0, own.texts[i]
        assert not any(box.overlaps(other) for other in boxes[:i]), own.texts[i]


def test_a_split_by_categories_shows_its_set(axes: Any) -> None:
    x, y, qid = make_arrays(60)
    x[:, 0] = y  # whole numbers that decide the label
    data = rw.Dataset(x, y, qid=qid, categorical_features=[0])
    model = rw.train({"rounds": 1, "leaves": 3, "min_docs": 3}, data)
    condition = model.trees()[0]["threshold"]
    assert isinstance(condition, str) and "in {" in condition
    rw.plot.tree(model, ax=axes)
    shown = [one.split("\n")[1] for one in texts(axes) if "\n" in one]
    assert any(condition.startswith(one.removesuffix(" ...")) for one in shown)
    assert "<= 0" not in shown


def test_plot_of_partial_dependence(dataset: rw.Dataset, measured: rw.Model, axes: Any) -> None:
    assert rw.plot.partial_dependence(measured, dataset, "a", points=5, ax=axes) is axes
    x, _, _ = make_arrays()
    grid, means = axes.lines[0].get_data()
    assert (grid[0], grid[-1]) == (x[:, 0].min(), x[:, 0].max())
    assert len(grid) == 5
    for value, mean in zip(grid, means, strict=True):
        same = x.copy()
        same[:, 0] = value
        assert mean == pytest.approx(measured.predict(same).mean(), abs=1e-12)
    assert means[-1] > means[0]  # labels grow with it
    with pytest.raises(rw.ParameterError, match="'z'"):
        rw.plot.partial_dependence(measured, dataset, "z", ax=axes)
    with pytest.raises(rw.ParameterError, match="feature is 77"):
        rw.plot.partial_dependence(measured, dataset, 77, ax=axes)
    with pytest.raises(rw.ParameterError, match="points is 1"):
        rw.plot.partial_dependence(measured, dataset, "a", points=1, ax=axes)


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_values_are_those_that_the_model_sees(axes: Any, absent: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    x, y, qid = make_arrays()
    x = x.copy()
    x[::2, 0] = 0
    data = rw.Dataset(sparse.csr_array(x), y, qid=qid)
    model = rw.train({**OF_ARRAYS, "early_stop": 0, "absent": absent}, data)
    seen = x.copy()
    if absent == "missing":
        seen[seen == 0] = np.nan
    why = model.explain(data)
    assert why.data is not None
    assert np.array_equal(why.data, seen[:, why.features], equal_nan=True)
    rw.plot.partial_dependence(model, data, 1, points=3, ax=axes)
    for value, mean in zip(*axes.lines[0].get_data(), strict=True):
        seen[:, 1] = value
        assert mean == pytest.approx(model.predict(seen).mean(), abs=1e-12)


def test_plot_of_shap_values(dataset: rw.Dataset, measured: rw.Model, axes: Any) -> None:
    why = measured.explain(dataset)
    assert rw.plot.shap_summary(why, top=2, ax=axes) is axes
    names = list(why.mean_abs())[:2]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    first = why.names.index(names[0])
    drawn = axes.collections[0]
    assert np.array_equal(drawn.get_offsets()[:, 0], why.values[:, first])
    assert why.data is not None
    highest, lowest = why.data[:, first].argmax(), why.data[:, first].argmin()
    red, _, blue, _ = drawn.get_facecolors()[highest]
    assert red > blue
    red, _, blue, _ = drawn.get_facecolors()[lowest]
    assert red < blue
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["low value", "high value"]
    axes.clear()
    rw.plot.shap_summary(why, most=50, ax=axes)
    assert len(axes.collections[0].get_offsets()) == 50


def test_missing_values_are_black(axes: Any) -> None:
    x, y, qid = make_arrays()
    x[::3, 0] = np.nan
    data = rw.Dataset(x, y, qid=qid)
    model = rw.train(OF_ARRAYS, data)
    why = model.explain(data)
    rw.plot.shap_summary(why, top=6, ax=axes)
    assert [one.get_text() for one in axes.get_legend().get_texts()] == ["low value", "high value", "missing"]
    row = list(why.mean_abs()).index(model._name(0))
    black = (axes.collections[row].get_facecolors()[:, :3] == 0).all(axis=1)
    assert np.array_equal(black, np.isnan(x[:, 0]))


def test_names_are_shown_as_they_are(axes: Any) -> None:
    x, y, qid = make_arrays()
    data = rw.Dataset(x, y, qid=qid, feature_names=["$a", "b$", "$_{$", "d", "e", "f"])
    model = rw.train({**OF_ARRAYS, "train_metric": True}, data, valid={"$x_{$": data})
    rw.plot.tree(model, ax=axes)
    axes.figure.canvas.draw()  # names are not formulas, which would fail here
    rw.plot.learning_curves(model).figure.canvas.draw()
    rw.plot.importance(model).figure.canvas.draw()
    rw.plot.partial_dependence(model, data, "$_{$").figure.canvas.draw()
    rw.plot.shap_summary(model.explain(data)).figure.canvas.draw()
