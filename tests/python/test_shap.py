# room: model
"""SHAP values by the model's own counts, and those that other programs compute from exports and of their own models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made

OLD = Path(__file__).parents[1] / "golden" / "versions"


def values_of(model: rankwood.Model, made: Made, **how: Any) -> np.ndarray[Any, Any]:
    """(n_docs, features + 1) as the other programs have them: the base value last."""
    values, base, features = model.shap_values(rankwood.Dataset(made.X), **how)
    full = np.zeros((len(made.X), made.X.shape[1] + 1))
    full[:, features] = values
    full[:, -1] = base
    return full


@pytest.fixture(scope="module", params=["all", "sampled", "missing", "refitted", "other data", "symmetric"])
def model(request: pytest.FixtureRequest, made: Made, other: Made, small: dict[str, Any]) -> rankwood.Model:
    params = small | {"early_stop": 0, "leaves": 12, "min_docs": 1}
    if request.param == "sampled":
        params |= {"sample_docs": 0.5}
    if request.param == "symmetric":
        params |= {"grow": "symmetric", "leaves": "auto", "depth": 3}
    X = made.X
    if request.param == "missing":
        X = np.where(X < -0.5, np.float32(np.nan), X)
    model = rankwood.train(params, rankwood.Dataset(X, made.y, qid=made.qid))
    if request.param == "refitted":
        return model.refit(other.dataset())
    if request.param == "other data":
        return rankwood.train(params, other.dataset(), init=model)
    return model


def test_a_document_alone(model: rankwood.Model, made: Made) -> None:
    whole = values_of(model, made)
    assert np.abs(whole.sum(axis=1) - model.predict(made.X)).max() < 1e-12
    one = Made(made.X[3:4], made.y[3:4], made.qid[3:4], np.array([1]))
    assert np.array_equal(values_of(model, one)[0], whole[3])
    assert np.array_equal(model.explain(rankwood.Dataset(one.X)).values[0], model.explain(made.dataset()).values[3])


def test_counts_are_those_of_the_training_documents(made: Made, small: dict[str, Any]) -> None:
    data = made.dataset()
    model = rankwood.train(small | {"early_stop": 0}, data)
    assert np.array_equal(values_of(model, made), values_of(model, made, cover=data))
    few = rankwood.Dataset(made.X[:20])
    assert not np.allclose(values_of(model, made), values_of(model, made, cover=few))
    kept = rankwood.Model.from_bytes(model.to_bytes())
    assert np.array_equal(values_of(kept, made), values_of(model, made))
    for mine, theirs in zip(model.to_shap()["trees"], model.to_shap(data)["trees"], strict=True):
        assert np.array_equal(mine["node_sample_weight"], theirs["node_sample_weight"])


def test_hessians_are_those_of_the_objective(made: Made, small: dict[str, Any]) -> None:
    def squares(scores: Any, data: rankwood.Dataset) -> tuple[Any, Any]:
        return scores - data.label, np.full(len(scores), 2.5)

    model = rankwood.train(small | {"objective": squares, "metric": "ndcg@10", "early_stop": 0}, made.dataset())
    leaves = [line.split() for line in model.to_bytes().splitlines() if line.startswith(b"leaf")]
    assert len(leaves) > 5
    for leaf in leaves:
        assert leaf[3:6:2] == [b"docs", b"hessian"] and float(leaf[6]) == 2.5 * float(leaf[4])


def test_shap_reads_exported_trees(model: rankwood.Model, made: Made) -> None:
    shap = pytest.importorskip("shap")
    explainer = shap.TreeExplainer(model.to_shap())
    full = values_of(model, made)
    assert np.abs(explainer.shap_values(made.X) - full[:, :-1]).max() < 1e-6
    assert float(np.ravel(explainer.expected_value)[0]) == pytest.approx(full[0, -1], abs=1e-6)


def has_empty_leaves(model: rankwood.Model) -> bool:
    """Exports count such a leaf as one document, so that no program divides by 0."""
    return b" docs 0 " in model.to_bytes()


def test_lightgbm(model: rankwood.Model, made: Made, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model.export(tmp_path / "model.txt", "lightgbm", feature_base=0)
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    theirs = booster.predict(made.X, pred_contrib=True)
    assert np.isfinite(theirs).all()
    assert np.abs(theirs.sum(axis=1) - model.predict(made.X)).max() < 1e-9
    back = rankwood.Model.import_from(tmp_path / "model.txt", "lightgbm", feature_base=0)
    assert np.abs(theirs - values_of(back, made)).max() < 1e-6
    if not has_empty_leaves(model):
        assert np.abs(theirs - values_of(model, made)).max() < 1e-6
    shap = pytest.importorskip("shap")
    assert np.abs(shap.TreeExplainer(booster).shap_values(made.X) - theirs[:, :-1]).max() < 1e-6


def test_lightgbm_ends_as_its_own_files_do(model: rankwood.Model, tmp_path: Path) -> None:
    model.export(tmp_path / "model.txt", "lightgbm", feature_base=0)
    assert (tmp_path / "model.txt").read_text().splitlines()[-1] == "pandas_categorical:null"


@pytest.mark.parametrize("kind", ["xgboost", "xgboost-ubj"])
def test_xgboost(model: rankwood.Model, made: Made, tmp_path: Path, kind: str) -> None:
    xgboost = pytest.importorskip("xgboost")
    path = tmp_path / ("model.json" if kind == "xgboost" else "model.ubj")
    model.export(path, kind, feature_base=0)
    theirs = xgboost.Booster(model_file=path).predict(xgboost.DMatrix(made.X), pred_contribs=True)
    assert np.isfinite(theirs).all()
    back = rankwood.Model.import_from(path, kind, feature_base=0)
    most = np.abs(theirs).max()
    assert np.abs(theirs - values_of(back, made)).max() < 1e-5 * most
    if not has_empty_leaves(model):
        assert np.abs(theirs - values_of(model, made)).max() < 1e-5 * most


def test_catboost(model: rankwood.Model, made: Made, tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    model.export(tmp_path / "model.json", "catboost", feature_base=0)
    theirs_model = catboost.CatBoost()
    theirs_model.load_model(str(tmp_path / "model.json"), format="json")
    theirs = theirs_model.get_feature_importance(catboost.Pool(made.X), type="ShapValues")
    back = rankwood.Model.import_from(tmp_path / "model.json", "catboost", feature_base=0)
    assert np.abs(theirs - values_of(back, made)).max() < 1e-6
    if not has_empty_leaves(model):
        assert np.abs(theirs - values_of(model, made)).max() < 1e-6


def test_categories(tmp_path: Path) -> None:
    """LightGBM has branches twice where missing values go apart from categories that a split does not list."""
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    rng = np.random.default_rng(1)
    shop, price = rng.integers(0, 12, 1000), rng.random(1000)
    y = np.clip((shop * 7 % 5 > 2) + (price > 0.5) + rng.random(1000).round(), 0, 4)
    X = np.column_stack([np.where(rng.random(1000) < 0.1, np.nan, shop), price]).astype(np.float32)
    params = {"rounds": 6, "leaves": 8, "categorical": "0", "min_docs": 5, "early_stop": 0, "absent": "missing"}
    model = rankwood.train(params, rankwood.Dataset(X, y, qid=np.arange(1000) // 10))
    ours = values_of(model, Made(X, y, y, y))
    most = np.abs(ours).max()
    model.export(tmp_path / "model.txt", "lightgbm", feature_base=0)
    theirs = lightgbm.Booster(model_file=tmp_path / "model.txt").predict(X, pred_contrib=True)
    assert np.abs(theirs - ours).max() < 1e-4 * most
    model.export(tmp_path / "model.json", "xgboost", feature_base=0)
    matrix = xgboost.DMatrix(X, feature_types=["c", "q"], enable_categorical=True)
    theirs = xgboost.Booster(model_file=tmp_path / "model.json").predict(matrix, pred_contribs=True)
    assert np.abs(theirs - ours).max() < 1e-5 * most


# ---- models that they trained


def test_from_lightgbm(made: Made, tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    params = {"objective": "lambdarank", "verbose": -1, "num_leaves": 12, "min_data_in_leaf": 3}
    params |= {"bagging_fraction": 0.7, "bagging_freq": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(made.X, made.y, group=made.group), 8)
    booster.save_model(tmp_path / "model.txt")
    model = rankwood.Model.import_from(tmp_path / "model.txt", "lightgbm", feature_base=0)
    assert np.abs(booster.predict(made.X, pred_contrib=True) - values_of(model, made)).max() < 1e-6


def test_from_xgboost(made: Made, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    matrix = xgboost.DMatrix(made.X, made.y, qid=made.qid)
    booster = xgboost.train({"objective": "rank:ndcg", "max_depth": 4, "base_score": 0.5}, matrix, 8)
    booster.save_model(tmp_path / "model.json")
    model = rankwood.Model.import_from(tmp_path / "model.json", "xgboost", feature_base=0)
    theirs = booster.predict(matrix, pred_contribs=True)
    assert np.abs(theirs - values_of(model, made)).max() < 1e-5 * np.abs(theirs).max()


@pytest.mark.parametrize("policy", ["SymmetricTree", "Lossguide"])
def test_from_catboost(made: Made, tmp_path: Path, policy: str) -> None:
    catboost = pytest.importorskip("catboost")
    pool = catboost.Pool(made.X, made.y, group_id=made.qid)
    params = {"loss_function": "QueryRMSE", "iterations": 8, "verbose": False, "allow_writing_files": False}
    theirs_model = catboost.CatBoost(params | {"grow_policy": policy, "depth": 3}).fit(pool)
    theirs_model.save_model(str(tmp_path / "model.json"), format="json")
    model = rankwood.Model.import_from(tmp_path / "model.json", "catboost", feature_base=0)
    theirs = theirs_model.get_feature_importance(pool, type="ShapValues")
    assert np.abs(theirs - values_of(model, made)).max() < 1e-6


# ---- models without counts


def test_a_model_of_an_older_version(tmp_path: Path) -> None:
    model = rankwood.Model.load(OLD / "2.model")
    rng = np.random.default_rng(3)
    data = rankwood.Dataset(rng.random((200, 13)), rng.integers(0, 3, 200), qid=np.arange(200) // 10)
    values, base, _ = model.shap_values(data)
    assert np.abs(values.sum(axis=1) + base - model.predict(data)).max() < 1e-12
    assert base == pytest.approx(model.predict(data).mean())
    with pytest.raises(rankwood.UnsupportedError, match="the model has no document counts: pass documents to count"):
        model.to_shap()
    assert len(model.to_shap(data)["trees"]) == model.n_trees
    newer = rankwood.train({"rounds": 2, "min_docs": 1, "early_stop": 0}, data, init=model)
    with pytest.raises(rankwood.UnsupportedError):
        newer.to_shap()
    assert len(model.refit(data).to_shap()["trees"]) == model.n_trees
    model.export(tmp_path / "model.txt", "lightgbm", lossy=True)
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.Booster(model_file=tmp_path / "model.txt")
    assert np.isfinite(booster.predict(np.zeros((2, booster.num_feature())), pred_contrib=True)).all()
