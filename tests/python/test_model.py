# room: model
"""A model: files, pickles, other programs, scores."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rankwood
from conftest import Made
from rankwood import Dataset, Model, train

VERSIONS = Path(__file__).parents[1] / "golden" / "versions"


@pytest.fixture(scope="module")
def named(made: Made, small: dict[str, Any]) -> Model:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    return train(small, rankwood.Dataset(table, made.y, qid=made.qid))


def test_the_same_bytes(made: Made, model: Model, tmp_path: Any) -> None:
    data = model.to_bytes()
    model.save(tmp_path / "model.txt")
    assert (tmp_path / "model.txt").read_bytes() == data
    for other in (Model.load(tmp_path / "model.txt"), Model.load(str(tmp_path / "model.txt")), Model.from_bytes(data)):
        assert other.to_bytes() == data
        assert np.array_equal(other.predict(made.X), model.predict(made.X))


def test_pickle(made: Made, named: Model) -> None:
    for other in (pickle.loads(pickle.dumps(named)), copy.deepcopy(named), copy.copy(named)):
        assert other.to_bytes() == named.to_bytes()
        assert other.feature_names == list("abcdef")
        assert other.used_params == named.used_params and other.used_params
        assert other.evals_result == named.evals_result
        assert np.array_equal(other.predict(made.X), named.predict(made.X))
    assert named.to_bytes() in pickle.dumps(named), "a pickle holds the model's own text"


@pytest.mark.parametrize("format", ["lightgbm", "xgboost", "catboost", "ranklib", "onnx"])
def test_export_and_import(made: Made, model: Model, tmp_path: Any, format: str) -> None:
    path = tmp_path / "model"
    base = 0 if format == "ranklib" else -1  # where ids begin at 1
    model.export(path, format, feature_base=base)
    back = Model.import_from(path, format, feature_base=base)
    assert back.n_trees == model.n_trees
    a, b = model.predict(made.X), back.predict(made.X)
    assert np.abs(a - b).max() < 1e-5
    assert np.array_equal(np.argsort(a, kind="stable"), np.argsort(b, kind="stable"))


def test_symmetric_in_catboost(made: Made, tmp_path: Any) -> None:
    """Trees of one test per level, in CatBoost's own form. Missing values of some features go to both sides."""
    X = np.where(made.X < -0.5, np.float32(np.nan), made.X)
    params = {"rounds": 20, "grow": "symmetric", "min_docs": 1, "depth": 4}
    model = rankwood.train(params, rankwood.Dataset(X, made.y, qid=made.qid))
    path = tmp_path / "model.json"
    model.export(path, "catboost", feature_base=0)
    text = json.loads(path.read_text())
    assert len(text["oblivious_trees"]) == 20 and "trees" not in text
    columns = [entry["flat_feature_index"] for entry in text["features_info"]["float_features"]]
    assert len(columns) > len(set(columns)), "a feature that is listed for either side"
    back = Model.import_from(path, "catboost", feature_base=0)
    assert (back.predict(X) == model.predict(X)).all()
    catboost = pytest.importorskip("catboost")
    theirs = catboost.CatBoost()
    theirs.load_model(str(path), format="json")
    assert np.abs(theirs.predict(X) - model.predict(X)).max() < 1e-15
    leaves = np.array([[tree["leaf_values"][i] for tree, i in zip(text["oblivious_trees"], row, strict=True)]
                       for row in theirs.calc_leaf_indexes(X).tolist()])
    assert (np.add.accumulate(leaves, axis=1)[:, -1] == model.predict(X)).all()


def test_export_to_a_feature_set(named: Model, tmp_path: Any) -> None:
    path = tmp_path / "set.json"
    names = ["x", *reversed("abcdef")]
    path.write_text(json.dumps({"featureset": {"name": "s", "features": [{"name": name} for name in names]}}))
    named.export(tmp_path / "body", "opensearch", featureset=path, name="m")
    body = json.loads((tmp_path / "body").read_text())["model"]
    assert body["name"] == "m" and body["model"]["type"] == "model/xgboost+json"
    named.export(tmp_path / "dump", "xgboost-dump")
    assert json.loads(body["model"]["definition"]) == json.loads((tmp_path / "dump").read_text())
    with pytest.raises(rankwood.ParameterError, match="'elasticsearch' needs a feature set\nhint: pass "):
        named.export(tmp_path / "x", "elasticsearch")
    with pytest.raises(rankwood.ParameterError, match="hint: pass it by name"):
        named.export(tmp_path / "x", "elasticsearch", featureset=path)
    path.write_text(json.dumps({"features": [{"name": "a"}]}))
    with pytest.raises(rankwood.UnsupportedError, match="is not in the feature set"):
        named.export(tmp_path / "x", "elasticsearch", featureset=path, name="m")
    path.write_text("{")
    with pytest.raises(rankwood.FormatError, match="not JSON"):
        named.export(tmp_path / "x", "elasticsearch", featureset=path, name="m")


def test_export_to_a_store_of_solr(named: Model, made: Made, small: dict[str, Any], tmp_path: Any) -> None:
    path = tmp_path / "features.json"
    features = [{"name": name, "class": "x", "store": "shop"} for name in ["x", *"fedcba"]]
    path.write_text(json.dumps(features))
    named.export(tmp_path / "body", "solr", featureset=path, name="m-1")
    body = json.loads((tmp_path / "body").read_text())
    assert (body["name"], body["store"]) == ("m-1", "shop")
    assert {one["name"] for one in body["features"]} == named.importance().keys()
    named.export(tmp_path / "plain", "solr")
    plain = json.loads((tmp_path / "plain").read_text())
    assert plain["name"] == "rankwood" and "store" not in plain and plain["params"] == body["params"]
    back = Model.import_from(tmp_path / "body", "solr")
    columns = ["abcdef".index(one["name"]) for one in body["features"]]
    assert np.allclose(back.predict(made.X[:, columns]), named.predict(made.X))
    with pytest.raises(rankwood.ParameterError, match="name of the model is empty"):
        named.export(tmp_path / "x", "solr", name="")
    with pytest.raises(rankwood.FormatError, match="features of Solr"):
        named.export(tmp_path / "x", "opensearch", featureset=path, name="m")
    data = rankwood.Dataset(made.X, made.y, qid=made.qid, feature_names=list("abcdef"))
    assert train(small, data, export_for="solr", featureset=path).to_bytes() == train(small, data).to_bytes()
    path.write_text(json.dumps(features[:-1]))
    with pytest.raises(rankwood.UnsupportedError, match="'a', is not in the feature set"):
        train(small, data, export_for="solr", featureset=path)
    assert not (tmp_path / "x").exists()


def test_feature_base_auto(made: Made, model: Model, tmp_path: Any) -> None:
    model.export(tmp_path / "auto", "ranklib", feature_base="auto")  # the array's columns count from 0
    model.export(tmp_path / "zero", "ranklib", feature_base=0)
    assert (tmp_path / "auto").read_bytes() == (tmp_path / "zero").read_bytes()
    back = Model.import_from(tmp_path / "auto", "ranklib", feature_base="auto")
    assert np.allclose(back.predict(np.hstack([np.zeros((len(made.X), 1)), made.X])), model.predict(made.X))
    with pytest.raises(rankwood.ParameterError):
        model.export(tmp_path / "x", "ranklib", feature_base="automatic")  # type: ignore[arg-type]


def test_export_for(made: Made, small: dict[str, Any], tmp_path: Any) -> None:
    X = made.X.copy()
    X[::3, 2] = np.nan
    data = rankwood.Dataset(X, made.y, qid=made.qid)
    with pytest.raises(rankwood.UnsupportedError, match=r"feature 2: a missing .*\nhint: train without export_for"):
        train(small, data, export_for="ranklib")
    assert train(small, data, export_for="lightgbm").to_bytes() == train(small, data).to_bytes()
    with pytest.raises(rankwood.ParameterError, match="unknown format"):
        train(small, data, export_for="ranklab")
    with pytest.raises(rankwood.ParameterError, match="featureset has no effect"):
        train(small, data, featureset="x")


def test_forms_of_data_score_the_same(made: Made, model: Model) -> None:
    expected = model.predict(made.X)
    assert expected.shape == (len(made.y),) and expected.dtype == np.float64
    assert len(np.unique(expected)) > 20
    for data in (
        made.X.astype(np.float64),
        np.asfortranarray(made.X),
        np.repeat(made.X, 2, axis=0)[::2],
        made.X.tolist(),
        pd.DataFrame(made.X),
        pd.DataFrame(made.X, columns=list("uvwxyz")),  # the model has no names
        scipy.sparse.csr_array(made.X),
        scipy.sparse.csc_matrix(made.X),
        made.dataset(),
    ):
        assert np.array_equal(model.predict(data), expected), type(data)


def test_missing_values_go_where_they_went(made: Made, small: dict[str, Any]) -> None:
    X = np.where(made.X > 0.9, np.nan, made.X)
    data = rankwood.Dataset(X, made.y, qid=made.qid)
    model = train({**small, "absent": "missing"}, data)
    assert not np.array_equal(model.predict(X), model.predict(np.nan_to_num(X, nan=-50)))
    as_nullable = pd.DataFrame(X).astype("Float32")
    for same in (X.astype(np.float32), X.tolist(), as_nullable, data):
        assert np.array_equal(model.predict(same), model.predict(X))


def test_more_documents_than_are_scored_at_a_time(made: Made, model: Model) -> None:
    many = np.tile(made.X.astype(np.float64), (250, 1))
    assert len(many) > 2 * 65536
    assert np.array_equal(model.predict(many), np.tile(model.predict(made.X), 250))


def test_frames_by_name(made: Made, named: Model) -> None:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    expected = named.predict(made.X)
    assert np.array_equal(named.predict(table), expected)
    assert np.array_equal(named.predict(table[list("fbdaec")]), expected)
    more = table.assign(title="text", a2=table["a"])[["title", "f", "a2", *"edcba"]]
    assert np.array_equal(named.predict(more), expected)
    unused = set("abcdef") - set(named.importance())
    assert np.array_equal(named.predict(table.drop(columns=list(unused))), expected)
    with pytest.raises(rankwood.DataError, match=r"lacks 2 of the model's features: 'a', 'b'"):
        named.predict(table.drop(columns=["a", "b"]))


def test_frames_by_name_after_loading(made: Made, named: Model, tmp_path: Any) -> None:
    named.save(tmp_path / "model.txt")
    loaded = Model.load(tmp_path / "model.txt")
    table = pd.DataFrame(made.X, columns=list("abcdef"))[list("fedcba")]
    assert np.array_equal(loaded.predict(table), named.predict(made.X))


def test_names_that_a_file_cannot_hold(made: Made, small: dict[str, Any], tmp_path: Any) -> None:
    names = ["click rate", "click__rate", "price, net", "0", "7-8", "a,b"]
    table = pd.DataFrame(made.X, columns=names)
    model = train(small, rankwood.Dataset(table, made.y, qid=made.qid))
    assert model.feature_names == names
    assert set(model.importance()) <= set(names)
    mixed = table[names[::-1]]
    assert np.array_equal(model.predict(mixed), model.predict(made.X))
    model.save(tmp_path / "model.txt")
    loaded = Model.load(tmp_path / "model.txt")
    assert np.array_equal(loaded.predict(mixed), model.predict(made.X))
    mixed_set = rankwood.Dataset(mixed, made.y, qid=made.qid)
    assert np.array_equal(loaded.predict(mixed_set), model.predict(made.X))


def test_a_dataset_by_name(made: Made, named: Model) -> None:
    table = pd.DataFrame(made.X, columns=list("abcdef"))[list("fedcba")]
    data = rankwood.Dataset(table, made.y, qid=made.qid)
    assert np.array_equal(named.predict(data), named.predict(made.X))
    values, base, _ = named.shap_values(data)
    assert np.allclose(values.sum(axis=1) + base, named.predict(made.X), atol=1e-9)
    with pytest.raises(rankwood.DataError, match="lacks 1 of the model's features: 'a'"):
        named.predict(rankwood.Dataset(table.drop(columns="a"), made.y, qid=made.qid))


def test_a_narrow_array(made: Made, model: Model, named: Model) -> None:
    with pytest.raises(rankwood.DataError, match="data has 2 features; the model expects 6"):
        model.predict(made.X[:, :2])
    with pytest.raises(rankwood.DataError, match="data has 2 features; the model expects 6"):
        named.predict(made.X[:, :2].tolist())


def test_one_document(made: Made, model: Model) -> None:
    expected = model.predict(made.X)
    for i in (0, 5, 11):
        assert model.predict(made.X[i : i + 1]).tolist() == [expected[i]]
        assert model.predict(made.X[i : i + 1].tolist()).tolist() == [expected[i]]
        assert model.predict(pd.DataFrame(made.X[i : i + 1])).tolist() == [expected[i]]
    with pytest.raises(rankwood.DataError, match=r"shape \(6,\); expected 2 dimensions"):
        model.predict(made.X[0])
    assert model.predict(made.X[:0]).shape == (0,)


def test_fewer_trees(made: Made, model: Model) -> None:
    assert np.array_equal(model.predict(made.X, n_trees=8), model.predict(made.X))
    first = model.predict(made.X, n_trees=3)
    assert not np.array_equal(first, model.predict(made.X))
    assert np.array_equal(first, model.predict(made.dataset(), n_trees=3))
    for wrong in (0, 9, -1):
        with pytest.raises(rankwood.ParameterError, match="expected 1 to 8"):
            model.predict(made.X, n_trees=wrong)


def test_trees(made: Made, named: Model) -> None:
    """Walking the nodes by hand gives the scores."""
    nodes = {(node["tree"], node["node"]): node for node in named.trees()}
    assert len({tree for tree, _ in nodes}) == named.n_trees
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    for i in range(20):
        score = 0.0
        for tree in range(named.n_trees):
            node = nodes[tree, 0]
            while node["leaf"] is None:
                goes_left = table[node["feature"]][i] <= node["threshold"]
                node = nodes[tree, node["left"] if goes_left else node["right"]]
            score += node["value"]
        assert score == pytest.approx(named.predict(made.X)[i], abs=1e-12)


def test_importance(named: Model) -> None:
    gains, splits = named.importance(), named.importance("splits")
    nodes = [node for node in named.trees() if node["leaf"] is None]
    assert set(gains) == set(splits) == {node["feature"] for node in nodes}
    for name in gains:
        assert splits[name] == sum(node["feature"] == name for node in nodes)
        assert gains[name] == pytest.approx(sum(node["gain"] for node in nodes if node["feature"] == name))
    assert list(gains.values()) == sorted(gains.values(), reverse=True)


@pytest.mark.parametrize("sort", [False, True])
def test_shap_values_add_up(made: Made, model: Model, sort: bool) -> None:
    order = np.random.default_rng(4).permutation(len(made.y)) if sort else np.arange(len(made.y))
    data = rankwood.Dataset(made.X[order], made.y[order], qid=made.qid[order], sort=sort)
    values, base, ids = model.shap_values(data)
    assert values.shape == (len(made.y), len(ids))
    assert np.allclose(values.sum(axis=1) + base, model.predict(made.X[order]), atol=1e-9)
    assert set(ids) == set(model.importance())


def test_evaluate_and_compare(made: Made, other: Made, model: Model, small: dict[str, Any]) -> None:
    data = other.dataset()
    measured = rankwood.evaluate(data, model, ["ndcg@10", "map"])
    assert list(measured) == ["ndcg@10", "map"]
    per_query = measured.metrics["ndcg@10"].per_query
    assert per_query.shape == (20,)
    assert np.nanmean(per_query) == pytest.approx(measured["ndcg@10"])
    # by hand
    begin, scores = data.query_offsets, model.predict(other.X)
    for q in range(20):
        label = other.y[begin[q] : begin[q + 1]]
        ranked = label[np.argsort(-scores[begin[q] : begin[q + 1]], kind="stable")]
        discount = 1 / np.log2(np.arange(2, 12))[: len(label)]
        ideal = (2.0 ** np.sort(label)[::-1][:10] - 1) @ discount
        if ideal:
            assert per_query[q] == pytest.approx((2.0 ** ranked[:10] - 1) @ discount / ideal)
        else:
            assert np.isnan(per_query[q])
    bad = train({**small, "rounds": 1, "leaves": 2}, made.dataset())
    result = rankwood.compare(data, bad, model)
    assert result.difference == pytest.approx(result.mean_b - result.mean_a) and result.difference > 0
    assert result.low <= result.difference <= result.high
    assert result.n_wins + result.n_ties + result.n_losses == int(np.isfinite(per_query).sum())


@pytest.mark.parametrize("missing", [0, -999, np.inf, 0.1])
def test_a_value_that_means_missing(made: Made, small: dict[str, Any], missing: float) -> None:
    X = np.where((made.X > 0.5) & (made.X < 5), np.float32(missing), made.X)
    data = made.dataset() if missing == 0.1 else rankwood.Dataset(X, made.y, qid=made.qid, missing=missing)
    model = rankwood.train(small, data)
    holes = np.where(np.float32(missing) == X, np.float32(np.nan), X)
    expected = model.predict(holes)
    frame = pd.DataFrame(X.astype(np.float64)).astype({2: np.float32})
    sparse = [scipy.sparse.csr_matrix(X), scipy.sparse.csc_array(X)]
    forms = [X, np.asfortranarray(X), X.astype(np.float64), frame, *sparse]
    for form in forms:
        assert np.array_equal(model.predict(form, missing=missing), expected), type(form)
    assert np.array_equal(model.predict(rankwood.Dataset(X, missing=missing)), expected)
    for data in (rankwood.Dataset(holes), "a.txt"):
        with pytest.raises(rankwood.ParameterError, match="missing is only for data that is not a Dataset"):
            model.predict(data, missing=missing)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
def test_infinite_values(made: Made, model: Model, value: float) -> None:
    """As Dataset and `rankwood predict` refuse them."""
    n = 70_000
    X = np.resize(made.X, (n, 6)).astype(np.float64)
    forms = [lambda X: X, pd.DataFrame, scipy.sparse.csr_matrix, rankwood.Dataset]
    if np.isinf(value):
        forms.append(lambda X: X.astype(np.float32))
    for rows, row in ((n, 3), (n, n - 2), (50, 48)):  # 50: an array is converted at once
        bad = X[:rows].copy()
        bad[row, 2] = value
        for form in forms:
            message = rf"value of document {row} \(from 0\), feature 2 is infinite"
            with pytest.raises(rankwood.DataError, match=message):
                model.predict(form(bad))
    assert np.isfinite(model.predict(np.where(X > 0, np.nan, X))).all()


def test_data_without_labels(made: Made, other: Made, model: Model, small: dict[str, Any], tmp_path: Any) -> None:
    bare = rankwood.Dataset(made.X)
    grouped = rankwood.Dataset(made.X, qid=made.qid)
    expected = model.predict(made.X)
    for data in (bare, grouped):
        assert np.array_equal(model.predict(data), expected)
        values, base, _ = model.shap_values(data)
        assert np.allclose(values.sum(1) + base, expected)
        assert model.explain(data).values.shape == values.shape
        for call in (
            lambda data: rankwood.train(small, data),
            lambda data: rankwood.train(small, made.dataset(), valid={"v": data}),
            lambda data: rankwood.evaluate(data, expected),
            lambda data: rankwood.evaluate(data, model),
            lambda data: rankwood.compare(data, model, expected),
            lambda data: rankwood.audit(data, expected),
            lambda data: rankwood.cv(small, data),
            lambda data: rankwood.check(data),
            lambda data: model.report(None, data),
            lambda data: model.permutation_importance(data),
            lambda data: data.label,
        ):
            with pytest.raises(rankwood.DataError, match="has no labels, so it can only be scored"):
                call(data)
    assert bare.n_queries == 1 and grouped.n_queries == len(made.group)


def test_all_that_looks_at_a_frame_finds_columns_by_name(made: Made, named: Model) -> None:
    def data(order: str) -> rankwood.Dataset:
        frame = pd.DataFrame(made.X, columns=list("abcdef"))[list(order)]
        return rankwood.Dataset(frame, made.y, qid=made.qid)

    same, mixed = data("abcdef"), data("fbedca")
    assert named.permutation_importance(mixed) == named.permutation_importance(same)
    assert np.array_equal(named.explain(mixed).data, named.explain(same).data, equal_nan=True)
    assert named.report(None, mixed) == named.report(None, same)
    shap = [named.to_shap(one)["trees"] for one in (mixed, same)]
    for a, b in zip(*shap, strict=True):
        assert all(np.array_equal(a[name], b[name]) for name in b)


def test_trees_as_a_data_frame(named: Model) -> None:
    table = named.trees_to_dataframe()
    rows = named.trees()
    assert list(table.columns) == list(rows[0]) and len(table) == len(rows)
    splits = table[table.leaf.isna()]
    gains = splits.groupby("feature").gain.sum().to_dict()
    assert gains == pytest.approx(named.importance())
    assert list(table.value.dropna()) == [row["value"] for row in rows if row["leaf"] is not None]


def test_pickle_of_clusters(model: rankwood.Model) -> None:
    """Pickles as made by Ray, Spark and joblib, which store classes as code if they cannot import them."""
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(model)).to_bytes() == model.to_bytes()


def test_pickles_of_other_versions(made: Made, model: Model) -> None:
    _, arguments, state = model.__reduce__()
    for other in ({}, {**state, "more": 1}, None, [state]):
        with pytest.raises(rankwood.FormatError, match="pickled by another version of rankwood"):
            Model.from_bytes(*arguments).__setstate__(other)
    ranker = rankwood.Ranker(rounds=3, leaves=4).fit(made.X, made.y, qid=made.qid)
    older = rankwood.Ranker.__new__(rankwood.Ranker)
    older.__setstate__({name: value for name, value in ranker.__getstate__().items() if name != "missing"})
    assert repr(older.get_params()) == repr(ranker.get_params())
    assert np.array_equal(older.predict(made.X), ranker.predict(made.X))


@pytest.mark.parametrize("path", sorted(VERSIONS.glob("*.model")), ids=lambda path: f"version {path.stem}")
def test_every_version_scores_as_it_did(path: Path) -> None:
    model = Model.load(path)
    table = path.with_suffix(".csv")
    data = table if table.exists() else VERSIONS / "documents.txt"
    assert np.array_equal(model.predict(data), np.loadtxt(path.with_suffix(".scores")))
    probabilities = path.with_suffix(".probabilities")
    if probabilities.exists():
        assert np.array_equal(model.predict(data, probability=True), np.loadtxt(probabilities))


# ---- which data fits ----


def letor_from(made: Made, first: int) -> str:
    lines = (
        f"{y} qid:{qid} " + " ".join(f"{i + first}:{value!s}" for i, value in enumerate(x)) + "\n"
        for x, y, qid in zip(made.X, made.y, made.qid, strict=True)
    )
    return "".join(lines)


NAMES = ["a", "b", "c", "d", "e", "f"]


def all_ways(model: Model, data: Any, made: Made) -> list[Any]:
    """The outcome of everything that takes data for a model: the first line of an error, or scores."""
    kwargs = data[1] if isinstance(data, tuple) else {}
    data = data[0] if isinstance(data, tuple) else data
    is_path = isinstance(data, Path)

    def made_set() -> Dataset:
        return Dataset(data) if is_path else Dataset(data, made.y, qid=made.qid, **kwargs)

    def valid() -> Any:
        once = {"rounds": 1, "leaves": 2, "min_docs": 1}
        return train(once, made_set(), init=model) and model.predict(made_set())

    calls = [
        lambda: model.predict(data, **kwargs),
        lambda: model.predict(made_set()),
        lambda: model.explain(made_set()) and model.predict(made_set()),
        lambda: rankwood.evaluate(made_set(), model) and model.predict(made_set()),
        lambda: model.permutation_importance(made_set(), n_repeats=1) and model.predict(made_set()),
        lambda: model.calibrate(made_set()).predict(made_set()),
        lambda: model.refit(made_set()) and model.predict(made_set()),
        valid,
    ]
    out: list[Any] = []
    for call in calls:
        try:
            out.append(call())
        except rankwood.DataError as error:
            out.append(str(error))
    return out


BY_ID = "columns, numbered from 0; the model has features by id, up to 6"
WIDTH = "features; the model expects 6"
BEYOND = "has feature 6; the model has columns 0 to 5"
LACKS = "lacks 1 of the model's features: 'a'"
# What data does with a model of an array, of a frame, and of LETOR text: None: it fits; else how it is refused.
FITS: dict[str, tuple[str | None, str | None, str | None]] = {
    "array": (None, None, BY_ID),
    "narrow array": (f"has 5 {WIDTH}", f"has 5 {WIDTH}", f"has 5 {BY_ID}"),
    "wide array": (f"has 7 {WIDTH}", f"has 7 {WIDTH}", None),
    "base 1": (BEYOND, BEYOND, None),
    "sparse": (None, None, BY_ID),
    "narrow sparse": (f"has 5 {WIDTH}", f"has 5 {WIDTH}", f"has 5 {BY_ID}"),
    "frame": (None, None, BY_ID),
    "shuffled frame": (f"has 7 {WIDTH}", None, None),
    "lacking frame": (f"has 5 {WIDTH}", LACKS, f"has 5 {BY_ID}"),
    "text": (BEYOND, BEYOND, None),
    "text from 0": (None, None, None),
}


@pytest.mark.parametrize("what", FITS)
def test_which_data_fits(what: str, made: Made, tmp_path: Path) -> None:
    frame = pd.DataFrame(made.X, columns=NAMES)
    text, text0 = tmp_path / "data.txt", tmp_path / "data0.txt"
    text.write_text(letor_from(made, 1))
    text0.write_text(letor_from(made, 0))
    data = {
        "array": made.X,
        "narrow array": made.X[:, 1:],
        "wide array": np.c_[np.zeros(len(made.X), made.X.dtype), made.X],
        "base 1": (made.X, {"feature_base": 1}),
        "sparse": scipy.sparse.csr_matrix(made.X),
        "narrow sparse": scipy.sparse.csr_matrix(made.X[:, 1:]),
        "frame": frame,
        "shuffled frame": frame.assign(extra=7.0)[["extra", *NAMES[::-1]]],
        "lacking frame": frame[NAMES[1:]],
        "text": text,
        "text from 0": text0,
    }[what]
    params = {"rounds": 3, "leaves": 6, "min_docs": 2, "l2": 5}
    sets = [(made.dataset(), made.X), (Dataset(frame, made.y, qid=made.qid), frame), (Dataset(text), text)]
    for (train_set, own), refused in zip(sets, FITS[what], strict=True):
        model = train(params, train_set)
        assert min(use.feature for use in model._uses()) == (own is text)  # so that a frame can lack it
        for one in (model, Model.from_bytes(model.to_bytes())):
            for got in all_ways(one, data, made):
                if refused is not None:
                    assert isinstance(got, str) and refused in got, (got, refused)
                else:
                    assert isinstance(got, np.ndarray), got
                    same = np.array_equal(got, model.predict(own))
                    assert same or (what in ("text from 0", "shuffled frame") and own is text)


def test_array_for_a_model_of_letor_text(made: Made, tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text(letor_from(made, 1))
    model = train({"rounds": 3, "leaves": 6, "min_docs": 2}, Dataset(path))
    with pytest.raises(rankwood.DataError, match=r"feature_base=1 for .* features 1 to 6, feature_base=0"):
        model.predict(made.X)
    assert np.array_equal(model.predict(made.X, feature_base=1), model.predict(path))
    assert np.array_equal(model.predict(np.c_[made.X[:, 0], made.X]), model.predict(path))
    wide = np.c_[np.zeros(len(made.X)), made.X, np.ones(len(made.X))]
    assert np.array_equal(model.predict(wide, feature_base=0), model.predict(path))
    with pytest.raises(rankwood.DataError, match="the model needs feature"):
        model.predict(made.X[:, :2], feature_base=1)
    with pytest.raises(rankwood.DataError, match="feature_base is 2; expected 0 or 1"):
        model.predict(made.X, feature_base=2)
    with pytest.raises(rankwood.ParameterError, match="feature_base is only for data that is not a Dataset"):
        model.predict(path, feature_base=1)


def test_sparse_matrices_of_another_width(made: Made) -> None:
    model = train({"rounds": 3, "leaves": 6, "min_docs": 2}, made.dataset())
    narrow, zero = made.X[:, :5], made.X.copy()
    zero[:, 5] = 0
    with pytest.raises(rankwood.DataError, match="n_features=6"):
        model.predict(scipy.sparse.csr_matrix(narrow))
    got = model.predict(scipy.sparse.csr_matrix(narrow), n_features=6)
    assert np.array_equal(got, model.predict(zero))
    data = Dataset(scipy.sparse.csr_matrix(narrow), made.y, qid=made.qid, n_features=6)
    assert data.n_features == 6 and np.array_equal(model.predict(data), got)
    for wrong in (4, 7.5, "6"):
        with pytest.raises(rankwood.DataError, match="n_features is "):
            Dataset(scipy.sparse.csr_matrix(narrow), n_features=wrong)
    with pytest.raises(rankwood.DataError, match="only a sparse matrix may lack columns"):
        Dataset(narrow, n_features=6)


def test_features_that_become_one(made: Made) -> None:
    names = ["a b", "a_b", "c", "d", "e", "f"]
    frame = pd.DataFrame(made.X, columns=names)
    with pytest.raises(rankwood.DataError, match="features 'a b' and 'a_b' are both named 'a_b' in a model file"):
        Dataset(frame, made.y, qid=made.qid)
    with pytest.raises(rankwood.DataError, match="are both named 'a_b'"):
        made.dataset(feature_names=names)
    # columns that are not features may have any name
    data = Dataset(frame, made.y, qid=made.qid, ignore=["a b"])
    model = train({"rounds": 3, "leaves": 6, "min_docs": 2}, data)
    assert np.array_equal(model.predict(frame), model.predict(data))


# ---- rounds, leaves and threads ----


def test_leaves_are_those_of_the_scores(made: Made, model: Model, tmp_path: Path) -> None:
    value = {(node["tree"], node["leaf"]): node["value"] for node in model.trees() if node["leaf"] is not None}
    leaves = model.leaves(made.X)
    assert leaves.dtype == np.int32 and leaves.shape == (len(made.X), model.n_trees)
    scores = np.zeros(len(made.X))
    for tree in range(model.n_trees):
        scores += [value[tree, leaf] for leaf in leaves[:, tree].tolist()]
    assert np.array_equal(scores, model.predict(made.X))
    assert np.array_equal(model.leaves(made.X, n_trees=3), leaves[:, :3])
    assert model.leaves(made.X[:0]).shape == (0, model.n_trees)
    order = np.random.default_rng(1).permutation(len(made.X))
    scattered = rankwood.Dataset(made.X[order], made.y[order], qid=made.qid[order], sort=True)
    assert np.array_equal(model.leaves(scattered), leaves[order])
    for n_trees in (0, model.n_trees + 1):
        with pytest.raises(rankwood.ParameterError, match="n_trees is"):
            model.leaves(made.X, n_trees=n_trees)
    with pytest.raises(rankwood.ParameterError, match="missing is only for data that is not a Dataset"):
        model.leaves(scattered, missing=0)
    with pytest.raises(rankwood.DataError):
        model.leaves(made.X[:, :3])


def test_leaves_batch_by_batch(made: Made, small: dict[str, Any]) -> None:
    names = list("abcdef")
    columns = {name: made.X[:, i] for i, name in enumerate(names)} | {"label": made.y, "qid": made.qid}
    whole = rankwood.Dataset(made.X, made.y, qid=made.qid, feature_names=names)
    model = rankwood.train(small, whole)
    parts = [slice(0, 100), slice(100, len(made.X))]
    batches = rankwood.Dataset.from_batches(
        lambda: [{name: values[part] for name, values in columns.items()} for part in parts], label="label", qid="qid"
    )
    assert np.array_equal(model.leaves(batches), model.leaves(made.X))


def test_rounds(made: Made, model: Model) -> None:
    first, last = model[:3], model[3:]
    assert (first.n_trees, last.n_trees) == (3, model.n_trees - 3)
    assert np.array_equal(first.predict(made.X), model.predict(made.X, n_trees=3))
    assert np.allclose(first.predict(made.X) + last.predict(made.X), model.predict(made.X), rtol=0, atol=1e-12)
    assert Model.from_bytes(first.to_bytes()).to_bytes() == first.to_bytes()
    assert [one.n_trees for one in model] == [1] * model.n_trees
    assert model[-1].to_bytes() == last[-1].to_bytes()
    assert model[::2].n_trees == 4 and model[:99].n_trees == model.n_trees
    for wrong in (slice(3, 3), slice(None, None, -1), slice(99, None)):
        with pytest.raises(rankwood.ParameterError, match="expected one or more of 8, ascending"):
            model[wrong]
    for odd in (slice(0.5, None), "a", 1.0):
        with pytest.raises(rankwood.ParameterTypeError):
            model[odd]
    with pytest.raises(IndexError, match="no round 8; the model has 8 rounds"):
        model[8]


def test_rounds_of_bags(made: Made, small: dict[str, Any]) -> None:
    """A round has as many trees as its training had bags."""
    plain = rankwood.train({**small, "rounds": 4}, made.dataset())
    both = rankwood.train({**small, "rounds": 3, "bags": 2}, made.dataset(), init=plain)
    assert both[:4].predict(made.X).tolist() == plain.predict(made.X).tolist()
    assert [one.n_trees for one in both] == [1] * 4 + [2] * 3


def test_threads_of_predict(made: Made, model: Model) -> None:
    before = rankwood._core.lib.rw_ctx_threads(rankwood._core.context())
    many = np.tile(made.X, (20, 1))
    for threads in (1, 2):
        assert np.array_equal(model.predict(many, threads=threads), model.predict(many))
        assert np.array_equal(model.leaves(many, threads=threads), model.leaves(many))
    for wrong in (0, -1, 4097, 1.5, "auto"):
        with pytest.raises(rankwood.ParameterError, match="threads is"):
            model.predict(many, threads=wrong)
    assert rankwood._core.lib.rw_ctx_threads(rankwood._core.context()) == before
