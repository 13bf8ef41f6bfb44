"""rankwood.compat.xgboost: the ideas of XGBoost's own ranker tests, its files and metrics, and refusals.

XGBoost has 19 tests for rankers alone, in test_ranking.py and test_with_sklearn.py. 6 more test all its estimators, and
only their part about rankers counts here. The docstring of a test below names the test with the same idea. One of the
25 cannot pass: test_doc_link expects a link to the documentation of xgboost.XGBRanker, which is another class.
"""

from __future__ import annotations

import doctest
import inspect
import json
import pickle
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from test_docs import blocks_of, run

import rankwood
import rankwood.compat.xgboost as xgb
from rankwood.compat._xgboost_params import Plan, measured

NDCG = {"objective": "rank:ndcg"}


def documents(n: int, n_features: int, n_queries: int, top: int, seed: int = 7) -> tuple[Any, Any, Any, Any]:
    """X, labels 0 to `top` that grow with the sum of the features, sorted qid, and a weight per query."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, n_features))
    total = x.sum(axis=1) - x.sum(axis=1).min()
    qid = np.sort(rng.integers(0, n_queries, n))
    return x, np.round(total / total.max() * top).astype(int), qid, rng.uniform(0.1, 1, len(np.unique(qid)))


def fitted(x: Any, y: Any, qid: Any, weight: Any = None, **params: Any) -> Any:
    """A ranker with its training set as validation set, trained silently."""
    ranker = xgb.XGBRanker(**{"n_estimators": 10, **params})
    return ranker.fit(
        x, y, qid=qid, sample_weight=weight, eval_set=[(x, y)], eval_qid=[qid], verbose=False,
        sample_weight_eval_set=None if weight is None else [weight],
    )  # fmt: skip


def curve(ranker: Any) -> list[float]:
    """Values of the last metric of the validation set."""
    return list(ranker.evals_result()["validation_0"].values())[-1]


X, y, qid, weight = documents(600, 5, 12, 4)
dtrain = xgb.DMatrix(X, y, qid=qid)
x_valid, y_valid, qid_valid, _ = documents(200, 5, 5, 4, seed=8)
dvalid = xgb.DMatrix(x_valid, y_valid, qid=qid_valid)
SETS = [(dtrain, "train"), (dvalid, "valid")]


# ---- the ideas of XGBoost's tests ----


def test_exponential_gains_are_linear_gains_of_other_labels() -> None:
    """test_ndcg_custom_gain: metrics and model files are equal, except the parameter."""
    x, y, qid, weight = documents(1024, 4, 3, 3)
    by_flag = fitted(x, y, qid, weight, ndcg_exp_gain=True)
    by_label = fitted(x, np.exp2(y) - 1, qid, weight, ndcg_exp_gain=False)
    assert by_flag.evals_result() == by_label.evals_result()
    one, other = (json.loads(ranker.get_booster().save_raw("json")) for ranker in (by_flag, by_label))
    assert one != other
    one["learner"]["objective"]["lambdarank_param"]["ndcg_exp_gain"] = "0"
    assert one == other
    x, y, qid, _ = documents(1024, 4, 3, 33)
    values = fitted(x, y, qid, objective="rank:pairwise", ndcg_exp_gain=False).evals_result()["validation_0"]["ndcg@32"]
    assert values[0] < values[-1]


def test_large_labels_need_linear_gains() -> None:
    """test_ndcg_non_exp."""
    x, y, qid, _ = documents(1024, 4, 3, 44)
    with pytest.raises(ValueError, match="Set `ndcg_exp_gain`"):
        fitted(x, y, qid, ndcg_exp_gain=True)
    fitted(x, y, qid, ndcg_exp_gain=False)


# Four queries of five documents with a feature that a document has or lacks.
ROWS, COLUMNS = [1, 2, 6, 8, 11, 14, 16, 17], [0, 0, 1, 1, 2, 2, 3, 3]
SPARSE = csr_matrix((np.ones(8), (ROWS, COLUMNS)), shape=(20, 4))
BINARY = np.array([float(digit) for digit in "01100" "01010" "01001" "01100"])
AREAS = {"eta": 1, "objective": "rank:pairwise", "eval_metric": ["auc", "aucpr"], "max_depth": 1}


@pytest.mark.parametrize("weights", [None, [1.0, 2.0, 3.0, 4.0]])
def test_areas_rise_and_heavy_queries_come_first(weights: Any) -> None:
    """test_ranking_with_unweighted_data, test_ranking_with_weighted_data."""
    data = xgb.DMatrix(SPARSE, label=BINARY, weight=weights)
    data.set_group(np.array([5, 5, 5, 5], dtype=np.uint))
    found: dict[str, Any] = {}
    booster = xgb.train(AREAS, data, 10, evals=[(data, "train")], evals_result=found, verbose_eval=False)
    for metric in ("auc", "aucpr"):
        assert len(found["train"][metric]) == 10
        assert found["train"][metric] == sorted(found["train"][metric])
    for n in range(1, 11) if weights else ():
        scores = booster.predict(data, iteration_range=(0, n)).reshape(4, 5)
        labels = np.take_along_axis(BINARY.reshape(4, 5), np.argsort(-scores, axis=1), axis=1)
        solved = [bool((np.diff(one) <= 0).all()) for one in labels]
        assert solved == sorted(solved)


def test_weights_are_of_queries() -> None:
    """test_error_msg."""
    with pytest.raises(ValueError, match=r"weight has 600 values .* equal to the number of query groups"):
        xgb.XGBRanker().fit(X, y, qid=qid, sample_weight=y + 1)


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:map", "rank:pairwise"])
@pytest.mark.parametrize("how", [
    {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 3},
    {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 8},
    {"lambdarank_unbiased": True, "lambdarank_bias_norm": 0.5, "lambdarank_num_pair_per_sample": 8},
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:these parameters differ")
def test_parameters_of_lambdarank_learn(objective: str, how: dict[str, Any]) -> None:
    """test_lambdarank_parameters."""
    x, y, qid, weight = documents(2048, 3, 13, 1 if objective == "rank:map" else 4)
    ranker = fitted(x, y, qid, weight, objective=objective, n_estimators=32, **how)
    assert ranker.n_features_in_ == 3
    for values in ranker.evals_result()["validation_0"].values():
        assert values[-1] >= values[0]


class Positions(xgb.callback.TrainingCallback):
    """Reads the position bias at the end of training."""

    def after_training(self, model: Any) -> Any:
        objective = json.loads(model.save_config())["learner"]["objective"]
        self.bias = [np.array(objective[name]) for name in ("ti+", "tj-")]
        return model


def test_position_bias_and_continued_training() -> None:
    """test_unbiased: order in the query is the displayed position."""
    rng = np.random.default_rng(3)
    clicks = (y >= 2) & (rng.random(len(y)) < 1 / (1 + np.concatenate([np.arange(n) for n in dtrain.get_group()])))
    last = Positions()
    how = {"lambdarank_unbiased": True, "lambdarank_num_pair_per_sample": 12}
    ranker = xgb.XGBRanker(n_estimators=8, callbacks=[last], **how)
    for rounds in (8, 16):
        ranker.fit(X, clicks, qid=qid, verbose=False, xgb_model=ranker if rounds > 8 else None)
        assert ranker.get_booster().num_boosted_rounds() == rounds
        for bias in last.bias:
            assert bias[0] == pytest.approx(1)
            assert np.isfinite(bias).all() and (bias >= 0).all() and len(set(bias)) > 2


@pytest.mark.filterwarnings("ignore:these parameters differ")
def test_normalisation() -> None:
    """test_normalization: by the number of pairs with "mean", which 1 pair does not change."""
    def last(**how: Any) -> float:
        return curve(fitted(X, y, qid, objective="rank:pairwise", n_estimators=4, **how))[-1]

    assert last() != last(lambdarank_normalization=False)
    mean = {"lambdarank_pair_method": "mean"}
    assert last(**mean, lambdarank_normalization=True) == last(**mean, lambdarank_normalization=False)
    mean["lambdarank_num_pair_per_sample"] = 4  # type: ignore[assignment]
    assert last(**mean, lambdarank_normalization=True) != last(**mean, lambdarank_normalization=False)


@pytest.mark.parametrize("objective", ["rank:ndcg", "rank:map", "rank:pairwise"])
def test_normalisation_by_scores(objective: str) -> None:
    """test_score_normalization; a warning says that Rankwood has one switch for both kinds."""
    labels = y > 2 if objective == "rank:map" else y
    on = curve(fitted(X, labels, qid, objective=objective, n_estimators=4))
    with pytest.warns(UserWarning, match="by score and by query together"):
        off = curve(fitted(X, labels, qid, objective=objective, n_estimators=4, lambdarank_score_normalization=False))
    assert on[0] != off[0] or on[-1] != off[-1]


def test_training_stops_and_reports_the_best_score() -> None:
    """TestRanking.test_training: the last set decides, and training keeps the rounds after the best one."""
    params = {"objective": "rank:pairwise", "eval_metric": ["ndcg"]}
    how: dict[str, Any] = {"num_boost_round": 500, "early_stopping_rounds": 5, "verbose_eval": False}
    assert xgb.train(params, dtrain, evals=SETS[::-1], **how).best_score > 0.98
    found: dict[str, Any] = {}
    booster = xgb.train(params, dtrain, evals=SETS, evals_result=found, **how)
    values = found["valid"]["ndcg"]
    assert booster.best_score == max(values) == values[booster.best_iteration]
    assert booster.num_boosted_rounds() == len(values) == booster.best_iteration + 6


@pytest.mark.parametrize("shuffle", [True, False])
def test_cv(shuffle: bool) -> None:
    """TestRanking.test_cv, test_cv_no_shuffle: the table ends with the best round."""
    table = xgb.cv({**NDCG, "eval_metric": ["ndcg"]}, dtrain, 100, nfold=4, early_stopping_rounds=3, as_pandas=False,
                   shuffle=shuffle)  # fmt: skip
    assert list(table) == [f"{part}-ndcg-{what}" for part in ("train", "test") for what in ("mean", "std")]
    assert len(table["test-ndcg-mean"]) == np.argmax(table["test-ndcg-mean"]) + 1


def test_groups() -> None:
    """TestRanking.test_get_group."""
    sizes = np.bincount(qid)
    data = xgb.DMatrix(X, y)
    assert len(data.get_uint_info("group_ptr")) == 0
    for set_queries in ({"group": sizes}, {"qid": qid}, {"group": sizes.astype(float)}):
        data.set_info(**set_queries)
        assert data.get_uint_info("group_ptr").tolist() == [0, *np.cumsum(sizes)]
        assert data.get_group().tolist() == sizes.tolist()


def test_the_estimator_is_train() -> None:
    """test_ranking."""
    how = {"objective": "rank:pairwise", "learning_rate": 0.1, "gamma": 0.1, "min_child_weight": 0.1, "max_depth": 6}
    ranker = xgb.sklearn.XGBRanker(n_estimators=4, **how)
    sizes = np.bincount(qid)
    ranker.fit(X, y, group=sizes, eval_set=[(x_valid, y_valid)], eval_group=[np.bincount(qid_valid)], verbose=False)
    booster = xgb.train(how, xgb.DMatrix(X, y, group=sizes), 4, evals=[(dvalid, "validation")], verbose_eval=False)
    assert ranker.predict(x_valid).tolist() == booster.predict(xgb.DMatrix(x_valid)).tolist()
    assert len(curve(ranker)) == 4


def frame(pandas: Any, x: Any = X, **columns: Any) -> Any:
    return pandas.DataFrame(x, columns=[f"c{i}" for i in range(x.shape[1])]).assign(**columns)


def test_categories() -> None:
    """test_ranking_categorical."""
    pandas, selection = pytest.importorskip("pandas"), pytest.importorskip("sklearn.model_selection")
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 5, (400, 4))
    table = pandas.DataFrame({f"c{i}": pandas.Categorical([f"v{code}" for code in codes[:, i]]) for i in range(4)})
    table["qid"] = np.repeat([1, 2, 3, 4], 100)
    labels = np.round(codes.sum(axis=1) / 4).astype(int)
    assert xgb.XGBRanker(enable_categorical=True).fit(table, labels, verbose=False).score(table, labels) > 0.9
    scores = selection.cross_val_score(
        xgb.XGBRanker(enable_categorical=True), table, labels, cv=selection.KFold(4), params={"verbose": False}
    )
    assert min(scores) > 0.7
    with pytest.raises(ValueError, match="enable_categorical"):
        xgb.XGBRanker(enable_categorical=False).fit(table, labels)


def test_functions_of_scikit_learn_are_averaged_over_queries() -> None:
    """test_ranking_metric."""
    metrics = pytest.importorskip("sklearn.metrics")
    x, y, qid, weight = documents(512, 4, 3, 1)
    ranker = fitted(x, y, qid, weight, eval_metric=metrics.roc_auc_score, objective="rank:pairwise", max_depth=2)
    assert ranker.evals_result()["validation_0"]["roc_auc_score"][-1] > 0.6


def test_a_frame_may_contain_the_queries() -> None:
    """test_ranking_qid_df."""
    pandas, selection = pytest.importorskip("pandas"), pytest.importorskip("sklearn.model_selection")
    errors = pytest.importorskip("sklearn.metrics")
    table = frame(pandas, qid=qid)

    def neg_mse(label: Any, scores: Any) -> float:
        return -float(errors.mean_squared_error(label, scores))

    def ranker(**how: Any) -> Any:
        return xgb.XGBRanker(**{"n_estimators": 3, "eval_metric": "ndcg", **how})

    score = ranker().fit(table, y).score(table, y)
    assert score > 0.7
    assert ranker().fit(frame(pandas), y, qid=qid).score(table, y) == pytest.approx(score)
    folds = selection.StratifiedGroupKFold(shuffle=False)
    assert len(selection.cross_val_score(ranker(), table, y, cv=folds, groups=qid)) == 5
    own = ranker(eval_metric=neg_mse, disable_default_eval_metric=True)
    own.fit(table, y, eval_set=[(table, y)], verbose=False)
    assert own.score(table, y) == pytest.approx(curve(own)[-1])
    sparse = pandas.DataFrame.sparse.from_spmatrix(csr_matrix(X), columns=list(table)[:5]).assign(qid=qid)
    assert ranker().fit(sparse, y).score(sparse, y) == pytest.approx(score)
    with pytest.raises(ValueError, match=r"Either `group` or `qid`"):
        ranker().fit(table, y, eval_set=[(X, y)])
    with pytest.raises(ValueError, match="expected one of them"):
        ranker().fit(table, y, qid=qid)
    with pytest.raises(ValueError, match="needs a column 'qid'"):
        own.score(X, y)


def test_the_estimator_in_scikit_learn() -> None:
    """test_tags, test_sklearn_tags, test_estimator_type, test_verbose_default_consistency."""
    base = pytest.importorskip("sklearn.base")
    ranker = xgb.XGBRanker(max_depth=3, lambdarank_num_pair_per_sample=8)
    assert "multioutput" not in ranker._more_tags() and ranker._get_type() == "ranker"
    tags = ranker.__sklearn_tags__()
    assert (tags.non_deterministic, tags.no_validation, tags.input_tags.allow_nan) == (False, True, True)
    assert inspect.signature(xgb.XGBRanker.fit).parameters["verbose"].default is False
    assert ranker.get_params()["lambdarank_num_pair_per_sample"] == 8
    again = base.clone(ranker).set_params(max_depth=4, lambdarank_num_pair_per_sample=9)
    assert (again.max_depth, again.kwargs, ranker.kwargs["lambdarank_num_pair_per_sample"]) == (
        4, {"lambdarank_num_pair_per_sample": 9}, 8)  # fmt: skip
    assert "max_depth=3" in repr(ranker)


def test_arguments_by_position_warn() -> None:
    """test_deprecate_position_arg."""
    with pytest.warns(FutureWarning, match="pass objective by name"):
        ranker = xgb.XGBRanker("rank:pairwise", n_estimators=1)
    with pytest.warns(FutureWarning, match="pass group by name"):
        ranker.fit(X, y, np.bincount(qid))
    with pytest.warns(FutureWarning, match="pass evals by name"):
        xgb.train(NDCG, dtrain, 2, SETS, verbose_eval=False)
    with pytest.raises(TypeError), pytest.warns(FutureWarning):
        xgb.DMatrix(X, y, *[None] * 20)


# ---- meaning: defaults, conversions, metrics ----


def test_defaults_are_xgboosts() -> None:
    used = xgb.train({**NDCG, "reg_lambda": 0}, dtrain, 1)._trees.used_params
    expected = {
        "rate": 0.15, "depth": 6, "grow": "levels", "split": "newton", "min_docs": 1, "min_hessian": 0.5, "l2": 0,
        "min_gain": 0, "bins": 256, "truncation": 32, "sample_features": 1, "gain_noise": 0, "norm": "on", "seed": 0,
        "absent": "missing", "label_gain": "exp", "delta": "ndcg",
    }  # fmt: skip
    assert {name: used[name] for name in expected} == expected
    assert xgb.XGBRanker().fit(X, y, qid=qid).get_booster().num_boosted_rounds() == 100
    assert xgb.train(NDCG, dtrain).num_boosted_rounds() == 10
    lossguide = {"max_depth": 0, "grow_policy": "lossguide", "max_leaves": 7}
    used = xgb.train({**NDCG, **lossguide}, dtrain, 1)._trees.used_params
    assert (used["grow"], used["leaves"], used["depth"]) == ("leaves", 7, 0)


@pytest.mark.parametrize("weights", [None, weight])
@pytest.mark.parametrize("how", [{"objective": "rank:ndcg"}, {"objective": "rank:pairwise", "min_child_weight": 9.0},
                                 {"ndcg_exp_gain": False, "reg_lambda": 7.0}, {"gamma": 0.5}])  # fmt: skip
@pytest.mark.filterwarnings("ignore:these parameters differ")
def test_the_first_tree_is_xgboosts(how: dict[str, Any], weights: Any) -> None:
    """A feature with four values leaves no choice of splits, so that leaves show all conversions."""
    theirs = pytest.importorskip("xgboost")
    x = np.digitize(X[:, :1], [-1, 0, 1.5])
    ours, others = (
        module.XGBRanker(n_estimators=1, n_jobs=1, learning_rate=0.7, **how).fit(x, y, qid=qid, sample_weight=weights)
        for module in (xgb, theirs)
    )
    assert len(set(others.predict(x))) > 1
    np.testing.assert_allclose(ours.predict(x), others.predict(x), rtol=1e-4, atol=1e-5)


def test_lambda_is_converted_with_one_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = xgb.train(NDCG, dtrain, 1)
        xgb.train({**NDCG, "gamma": 0.1, "min_child_weight": 2, "subsample": 0.9, "colsample_bytree": 0.9,
                   "tree_method": "hist", "verbosity": 1, "nthread": 1, "seed": 3}, dtrain, 1)  # fmt: skip
    with pytest.warns(UserWarning, match=r"lambda: XGBoost adds 30 to sums of hessians") as seen:
        strong = xgb.train({**NDCG, "lambda": 30}, dtrain, 1)
    assert len(seen) == 1 and seen[0].filename == __file__
    assert np.abs(strong.predict(dtrain)).max() < np.abs(plain.predict(dtrain)).max()


@pytest.mark.parametrize("with_weights", [False, True])
def test_metrics_are_xgboosts(with_weights: bool) -> None:
    theirs = pytest.importorskip("xgboost")
    rng = np.random.default_rng(5)
    x, _, qid, weight = documents(900, 2, 60, 1)
    label = rng.integers(0, 2, len(x)) * (qid % 4 > 0)  # every fourth query has no relevant document
    scores = np.round(rng.normal(size=len(x)) + 9, 1).astype(np.float32)  # with ties
    names = ["ndcg", "ndcg@5", "ndcg@5-", "ndcg-", "map", "map@3", "map@3-", "pre", "pre@4", "auc", "aucpr"]
    more = {"weight": 1 + weight} if with_weights else {}
    other = theirs.DMatrix(x, label, qid=qid, base_margin=scores, **more)
    params = {**NDCG, "eval_metric": names, "nthread": 1}
    line = theirs.train({**params, "eta": 1e-12}, other, 1).eval(other)
    expected = {part.rpartition(":")[0].partition("-")[2]: float(part.rpartition(":")[2]) for part in line.split()[1:]}
    found = dict(measured(Plan(params), xgb.DMatrix(x, label, qid=qid, **more)._dataset(), scores))
    assert list(found) == names
    for name in names:
        assert found[name] == pytest.approx(expected[name], abs=1e-6), name


@pytest.mark.parametrize("how", [{}, {"lambdarank_num_pair_per_sample": 3}, {"lambdarank_pair_method": "mean"},
                                 {"ndcg_exp_gain": False}, {"objective": "rank:map"}])  # fmt: skip
def test_the_default_metric_is_xgboosts(how: dict[str, Any]) -> None:
    theirs = pytest.importorskip("xgboost")
    label = y > 3 if "objective" in how else y
    other = theirs.DMatrix(X, label, qid=qid, base_margin=X[:, 0])
    line = theirs.train({**NDCG, **how, "eta": 1e-12, "nthread": 1}, other, 1).eval(other)
    ((name, value),) = measured(Plan({**NDCG, **how}), xgb.DMatrix(X, label, qid=qid)._dataset(), X[:, 0])
    assert line.partition("eval-")[2].partition(":")[0] == name
    assert float(line.rpartition(":")[2]) == pytest.approx(value, abs=1e-6)


def test_a_training_without_splits_gives_a_constant() -> None:
    found: dict[str, Any] = {}
    with pytest.warns(UserWarning, match="no trees"):
        booster = xgb.train({**NDCG, "gamma": 1e9, "base_score": 0.5}, dtrain, 5, evals=SETS, evals_result=found,
                            verbose_eval=False)  # fmt: skip
    assert len(set(found["valid"]["ndcg@32"])) == 1 and len(found["valid"]["ndcg@32"]) == 5
    assert set(booster.predict(dvalid)) == {0.5} and booster.num_boosted_rounds() == 5
    with pytest.warns(UserWarning, match="no trees"):
        assert set(fitted(np.zeros((600, 1)), y, qid).predict([[1.0]])) == {0}


def test_custom_objective_and_metric() -> None:
    def squares(scores: Any, data: Any) -> Any:
        return (scores - data.get_label())[:, np.newaxis], np.ones((len(scores), 1))

    def errors(scores: Any, data: Any) -> Any:
        return [("mse", float(np.mean((scores - data.get_label()) ** 2))), ("n", len(scores))]

    found: dict[str, Any] = {}
    booster = xgb.train({"base_score": 0.5, "lambda": 0, "disable_default_eval_metric": True}, dtrain, 20, obj=squares,
                        evals=SETS, custom_metric=errors, evals_result=found, verbose_eval=False)  # fmt: skip
    assert list(found["valid"]) == ["mse", "n"] and found["train"]["n"][-1] == len(y)
    assert found["train"]["mse"][-1] < 0.1
    assert found["valid"]["mse"][-1] == pytest.approx(np.mean((booster.predict(dvalid) - y_valid) ** 2), rel=1e-5)


# ---- boosters ----


@pytest.fixture(scope="module")
def booster() -> Any:
    return xgb.train({**NDCG, "max_depth": 3}, dtrain, 8)


def test_predictions(booster: Any) -> None:
    scores = booster.predict(dvalid)
    assert scores.dtype == np.float32
    assert booster.inplace_predict(x_valid).tolist() == scores.tolist()
    parts = booster[:3].predict(dvalid) + booster.predict(dvalid, iteration_range=(3, 8))
    np.testing.assert_allclose(parts, scores, rtol=1e-5, atol=1e-6)
    assert (booster[3:].num_boosted_rounds(), booster[2].num_boosted_rounds()) == (5, 1)
    values = booster.predict(dvalid, pred_contribs=True)
    assert values.shape == (len(y_valid), 6)
    np.testing.assert_allclose(values.sum(axis=1), scores, rtol=1e-4, atol=1e-5)
    margin = np.arange(len(y_valid), dtype=np.float32)
    moved = booster.predict(xgb.DMatrix(x_valid, base_margin=margin))
    np.testing.assert_allclose(moved, scores + margin, rtol=1e-5)
    for wrong in ((0, 9), (3, 3), (-1, 2)):
        with pytest.raises(ValueError, match="the model has 8 rounds"):
            booster.predict(dvalid, iteration_range=wrong)
    for wrong_slice in (slice(None, None, 2), slice(5, 5)):
        with pytest.raises(ValueError, match="invalid slice"):
            booster[wrong_slice]
    with pytest.raises(NotImplementedError, match="pred_interactions"):
        booster.predict(dvalid, pred_interactions=True)
    with pytest.raises(TypeError, match="expected a DMatrix"):
        booster.predict(x_valid)


def test_absent_values_are_missing() -> None:
    dense = X.copy()
    dense[dense < 0] = np.nan
    sparse = csr_matrix(np.nan_to_num(dense))
    of = [xgb.train(NDCG, xgb.DMatrix(data, y, qid=qid), 4) for data in (dense, sparse)]
    assert of[0].predict(xgb.DMatrix(dense)).tolist() == of[1].predict(xgb.DMatrix(sparse)).tolist()
    zeros = xgb.DMatrix(np.nan_to_num(dense), y, qid=qid, missing=0)
    assert of[0].predict(zeros).tolist() == of[0].predict(xgb.DMatrix(dense)).tolist()


def test_importance(booster: Any) -> None:
    splits, total, mean = (booster.get_score(importance_type=kind) for kind in ("weight", "total_gain", "gain"))
    assert set(splits) <= {f"f{i}" for i in range(5)}
    assert all(mean[name] == pytest.approx(total[name] / splits[name]) for name in splits)
    with pytest.raises(NotImplementedError, match="importance_type='cover'"):
        booster.get_score(importance_type="cover")
    ranker = fitted(X, y, qid)
    assert ranker.feature_importances_.sum() == pytest.approx(1) and len(ranker.feature_importances_) == 5


@pytest.mark.parametrize("format", ["json", "ubj"])
def test_files_are_xgboosts(format: str, tmp_path: Path) -> None:
    theirs = pytest.importorskip("xgboost")
    path = tmp_path / f"model.{format}"
    booster = xgb.train({**NDCG, "base_score": 0.25}, dtrain, 8)
    booster = xgb.train(NDCG, dtrain, 4, xgb_model=booster)
    booster.set_attr(note='a "text"', gone="1")
    booster.set_attr(best_iteration=5, gone=None)
    booster.save_model(path)
    assert booster.save_raw(format) == path.read_bytes()
    other = theirs.Booster(model_file=path)
    attributes = {"note": 'a "text"', "best_iteration": "5"}
    expected = booster.predict(dvalid)
    matrix = theirs.DMatrix(x_valid)
    np.testing.assert_allclose(other.predict(matrix), expected, rtol=1e-5, atol=1e-6)
    assert other.predict(matrix, pred_leaf=True).tolist() == booster.predict(dvalid, pred_leaf=True).tolist()
    for read in (xgb.Booster(model_file=path), xgb.Booster(model_file=bytearray(path.read_bytes()))):
        assert read.attributes() == other.attributes() == attributes
        assert (read.num_boosted_rounds(), read.num_features(), read.best_iteration) == (12, 5, 5)
        np.testing.assert_allclose(read.predict(dvalid), expected, rtol=1e-5, atol=1e-6)
        assert read.eval(dvalid).startswith("[0]\teval-ndcg@32:")
    other = theirs.train({"objective": "rank:pairwise", "nthread": 1}, theirs.DMatrix(X, y, qid=qid), 5)
    other.set_attr(who="xgboost")
    other.save_model(path)
    read = xgb.Booster(model_file=str(path))
    assert (read.num_boosted_rounds(), read.attributes()) == (5, {"who": "xgboost"})
    np.testing.assert_allclose(read.predict(dvalid), other.predict(matrix), rtol=1e-5, atol=1e-6)
    assert read.eval(dvalid)[:22] == other.eval(theirs.DMatrix(x_valid, y_valid, qid=qid_valid))[:22]


@pytest.mark.parametrize("format", ["json", "ubj"])
def test_files_keep_names_and_categories(format: str, tmp_path: Path) -> None:
    pandas, theirs = pytest.importorskip("pandas"), pytest.importorskip("xgboost")
    path = tmp_path / f"model.{format}"
    table = frame(pandas).rename(columns={"c0": "words in title", "c1": "größe", "c2": 'a "quoted", name'})
    table["c4"] = 0.0  # no split uses it
    table["code"] = pandas.Categorical(np.arange(len(y)) % 3)
    ranker = xgb.XGBRanker(n_estimators=5).fit(table, y, qid=qid)
    ranker.save_model(path)
    other = theirs.XGBRanker(enable_categorical=True)
    other.load_model(path)
    assert list(other.feature_names_in_) == list(ranker.feature_names_in_) == list(table)
    np.testing.assert_allclose(other.predict(table), ranker.predict(table), rtol=1e-5, atol=1e-6)
    again = xgb.XGBRanker()
    again.load_model(path)
    assert list(again.feature_names_in_) == list(table)
    np.testing.assert_allclose(again.predict(table), ranker.predict(table), rtol=1e-5, atol=1e-6)
    table["code"] = pandas.Categorical(["u", "v", "w"] * (len(y) // 3))
    with pytest.raises(NotImplementedError, match="categories are whole numbers"):
        xgb.XGBRanker(n_estimators=5).fit(table, (y + (table["code"] == "v")).clip(0, 4), qid=qid).save_model(path)


def test_copies(booster: Any) -> None:
    for copy in (booster.copy(), pickle.loads(pickle.dumps(booster)), xgb.Booster(model_file=booster)):
        copy.set_attr(of="copy")
        assert booster.attr("of") is None
        assert copy.predict(dvalid).tolist() == booster.predict(dvalid).tolist()
    ranker = pickle.loads(pickle.dumps(fitted(X, y, qid, n_estimators=2)))
    assert ranker.predict(X[:2]).shape == (2,)


def test_searches_of_scikit_learn() -> None:
    pandas, selection = pytest.importorskip("pandas"), pytest.importorskip("sklearn.model_selection")
    grid = {"max_depth": [1, 3], "lambdarank_num_pair_per_sample": [1, 8]}
    search = selection.GridSearchCV(xgb.XGBRanker(n_estimators=4), grid, cv=selection.GroupKFold(3))
    search.fit(frame(pandas, qid=qid), y, groups=qid)
    assert search.best_params_["max_depth"] == 3 and search.best_score_ > 0.8
    assert search.best_estimator_.get_booster().num_boosted_rounds() == 4


def test_the_estimator_uses_the_best_round(tmp_path: Path) -> None:
    ranker = fitted(X[:120], y[:120], qid[:120], n_estimators=60, early_stopping_rounds=3, eval_metric="ndcg@3")
    booster, best = ranker.get_booster(), ranker.best_iteration
    assert best + 4 == booster.num_boosted_rounds() and ranker.best_score == max(curve(ranker))
    assert ranker.predict(X).tolist() == booster[: best + 1].predict(xgb.DMatrix(X)).tolist()
    assert ranker.apply(X).shape == (len(X), best + 1)
    for format in ("json", "ubj"):
        path = tmp_path / f"model.{format}"
        ranker.save_model(path)
        again = xgb.XGBRanker()
        again.load_model(path)
        assert again.get_booster().num_boosted_rounds() == booster.num_boosted_rounds()
        np.testing.assert_allclose(again.predict(X), ranker.predict(X), rtol=1e-5, atol=1e-6)
        theirs = pytest.importorskip("xgboost").XGBRanker()
        theirs.load_model(path)
        np.testing.assert_allclose(theirs.predict(X), ranker.predict(X), rtol=1e-5, atol=1e-6)


def test_the_import_is_quick() -> None:
    """Neither numpy nor scikit-learn is imported before it is needed."""
    code = "import sys, rankwood.compat.xgboost as xgb; assert not {'numpy', 'sklearn', 'pandas'} & set(sys.modules); "
    code += "from rankwood.compat.xgboost.callback import EarlyStopping; xgb.train; xgb.XGBRanker; dir(xgb)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- callbacks ----


class Calls(xgb.callback.TrainingCallback):
    """Records calls, and ends training before or after a round."""

    def __init__(self, before: int = -1, after: int = -1) -> None:
        self.ends = before, after
        self.seen: list[str] = []

    def before_training(self, model: Any) -> Any:
        self.seen.append("begin")
        return model

    def after_training(self, model: Any) -> Any:
        self.seen.append("end")
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.seen.append(f"<{epoch}")
        return epoch == self.ends[0]

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        assert model.num_boosted_rounds() == epoch + 1
        assert len(evals_log["valid"]["ndcg@32"]) == epoch + 1
        self.seen.append(f"{epoch}>")
        return epoch == self.ends[1]


@pytest.mark.parametrize(("ends", "seen"), [
    ({}, "begin <0 0> <1 1> <2 2> end"), ({"after": 1}, "begin <0 0> <1 1> end"),
    ({"before": 1}, "begin <0 0> <1 end"), ({"before": 0}, "begin <0 end"),
])  # fmt: skip
def test_callbacks_are_called_in_order(ends: dict[str, int], seen: str) -> None:
    calls = Calls(**ends)
    booster = xgb.train(NDCG, dtrain, 3, evals=SETS, callbacks=[calls], verbose_eval=False)
    assert " ".join(calls.seen) == seen
    assert booster.num_boosted_rounds() == seen.count(">")


def test_an_exception_of_a_callback_is_raised() -> None:
    class Fails(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            raise LookupError("mine")

    n = threading.active_count()
    with pytest.raises(LookupError, match="mine"):
        xgb.train(NDCG, dtrain, 3, callbacks=[Fails()])
    with pytest.raises(LookupError, match="mine"):
        xgb.cv(NDCG, dtrain, 3, callbacks=[Fails()])
    assert threading.active_count() == n


def test_early_stopping_by_callback() -> None:
    stop = xgb.callback.EarlyStopping(rounds=2, data_name="train", metric_name="ndcg@3", save_best=True, min_delta=0.01)
    found: dict[str, Any] = {}
    params = {**NDCG, "eval_metric": ["ndcg@3", "ndcg@9"]}
    booster = xgb.train(params, dtrain, 50, evals=SETS, callbacks=[stop], evals_result=found, verbose_eval=False)
    values = found["train"]["ndcg@3"]
    best = [0]
    for i, value in enumerate(values):
        best += [i] if value - 0.01 > values[best[-1]] else []
    assert booster.best_iteration == best[-1] and len(values) == best[-1] + 3
    assert booster.num_boosted_rounds() == best[-1] + 1
    for wrong in ({"data_name": "no"}, {"metric_name": "no"}):
        with pytest.raises(ValueError, match="named 'no'"):
            xgb.train(NDCG, dtrain, 2, evals=SETS, callbacks=[xgb.callback.EarlyStopping(rounds=1, **wrong)])
    with pytest.raises(ValueError, match="at least 1 validation dataset"):
        xgb.train(NDCG, dtrain, 2, early_stopping_rounds=1)
    with pytest.raises(ValueError, match="save_best"):
        xgb.cv(NDCG, dtrain, 2, callbacks=[stop])
    with pytest.raises(AttributeError, match="best_iteration"):
        _ = xgb.train(NDCG, dtrain, 1).best_iteration


def test_learning_rates() -> None:
    """Round 0 has the rate of eta, and each further round the rate of the round before it."""
    rates = xgb.callback.LearningRateScheduler([0.2, 0.4])
    by_list, by_function = (
        xgb.train({**NDCG, "eta": 0.1}, dtrain, 2, callbacks=[xgb.callback.LearningRateScheduler(one)])
        for one in ([0.2, 0.4], lambda epoch: 0.2 * (epoch + 1))
    )
    plain = xgb.train({**NDCG, "eta": 0.1}, dtrain, 2)
    assert by_list.predict(dvalid).tolist() == by_function.predict(dvalid).tolist()
    assert by_list[0].predict(dvalid).tolist() == plain[0].predict(dvalid).tolist()
    np.testing.assert_allclose(by_list[1].predict(dvalid), 2 * plain[1].predict(dvalid), rtol=1e-5)
    rates = xgb.callback.LearningRateScheduler([0.1, 0.4, 0.4])
    further = xgb.train({**NDCG, "eta": 0.1}, dtrain, 3, xgb_model=plain, callbacks=[rates])
    whole = xgb.train({**NDCG, "eta": 0.1}, dtrain, 3, xgb_model=plain)
    assert further[:4].predict(dvalid).tolist() == whole[:4].predict(dvalid).tolist()
    np.testing.assert_allclose(further[4].predict(dvalid), 4 * whole[4].predict(dvalid), rtol=1e-5)
    with pytest.raises(IndexError):
        xgb.train(NDCG, dtrain, 5, callbacks=[rates])

    class Depth(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            model.set_param("max_depth", 2)
            return False

    with pytest.raises(NotImplementedError, match="max_depth cannot change during training"):
        xgb.train(NDCG, dtrain, 2, callbacks=[Depth()])


def test_printed_lines(capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = {}
    xgb.train(NDCG, dtrain, 4, evals=SETS, verbose_eval=2, evals_result=found)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]", "[3]"]
    expected = [f"{name}-ndcg@32:{values['ndcg@32'][3]:.5f}" for name, values in found.items()]
    assert lines[2].split("\t")[1:] == expected
    xgb.train(NDCG, dtrain, 2, evals=SETS, verbose_eval=False)
    xgb.train(NDCG, dtrain, 2)
    xgb.XGBRanker(n_estimators=1).fit(X, y, qid=qid, eval_set=[(X, y)], eval_qid=[qid])
    assert capsys.readouterr().out == ""
    xgb.cv(NDCG, dtrain, 1, verbose_eval=True)
    assert "+" in capsys.readouterr().out


# ---- cross-validation ----


def test_cv_measures_whole_queries() -> None:
    pandas = pytest.importorskip("pandas")
    data = xgb.DMatrix(X, y, qid=qid, weight=weight)
    table = xgb.cv(NDCG, data, 3, nfold=3, metrics="ndcg@5", shuffle=False)
    assert isinstance(table, pandas.DataFrame) and len(table) == 3
    values = []
    for part in np.array_split(np.arange(12), 3):
        inside = np.isin(qid, part)
        sets = [xgb.DMatrix(X[of], y[of], qid=qid[of], weight=weight[np.unique(qid[of])]) for of in (~inside, inside)]
        found: dict[str, Any] = {}
        xgb.train({**NDCG, "eval_metric": "ndcg@5"}, sets[0], 3, evals=[(sets[1], "test")], evals_result=found,
                  verbose_eval=False)  # fmt: skip
        values.append(found["test"]["ndcg@5"])
    np.testing.assert_allclose(table["test-ndcg@5-mean"], np.mean(values, axis=0))
    np.testing.assert_allclose(table["test-ndcg@5-std"], np.std(values, axis=0))


def test_cv_warns_once() -> None:
    with pytest.warns(UserWarning, match="lambda: XGBoost adds 30") as seen:
        xgb.cv({**NDCG, "lambda": 30}, dtrain, 2)
    assert len(seen) == 1 and seen[0].filename == __file__


def test_ctrl_c_ends_all_folds() -> None:
    class Interrupts(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            signal.raise_signal(signal.SIGINT)
            return False

    before = threading.active_count()  # other tests' libraries may have some
    for train in (xgb.train, xgb.cv):
        with pytest.raises(KeyboardInterrupt):
            train(NDCG, dtrain, 2000, callbacks=[Interrupts()])
    assert threading.active_count() == before


def test_cv_changes_folds_by_a_function() -> None:
    depths: list[int] = []

    def change(train: Any, test: Any, params: dict[str, Any]) -> Any:
        depths.append(train.num_row() + test.num_row())
        return train, test, {**params, "max_depth": 1}

    shallow = xgb.cv(NDCG, dtrain, 2, fpreproc=change, as_pandas=False)
    assert depths == [len(y)] * 3
    assert shallow != xgb.cv(NDCG, dtrain, 2, as_pandas=False)
    assert shallow == xgb.cv({**NDCG, "max_depth": 1}, dtrain, 2, as_pandas=False)


# ---- refusals ----


@pytest.mark.parametrize(("params", "message"), [
    ({}, "objective is 'reg:squarederror'"),
    ({"objective": "multi:softmax"}, "objective is 'multi:softmax'"),
    ({**NDCG, "eta": "fast"}, "eta is 'fast'"),
    ({**NDCG, "learning_rate": 0}, "learning_rate is 0"),
    ({**NDCG, "reg_lambda": -1}, "reg_lambda is -1"),
    ({**NDCG, "grow_policy": "best"}, "grow_policy is 'best'"),
    ({**NDCG, "eval_metric": "rmse"}, "eval_metric 'rmse' is not supported"),
    ({**NDCG, "eval_metric": "ndcg@0"}, "eval_metric 'ndcg@0'"),
    ({**NDCG, "max_depth": -2}, "max_depth is -2"),
    ({**NDCG, "max_depth": 2.5}, "max_depth is 2.5"),
    ({**NDCG, "lambdarank_pair_method": "all"}, "lambdarank_pair_method is 'all'; expected topk or mean"),
    ({**NDCG, "subsample": 2}, "subsample: .*found '2'"),
    ({**NDCG, "monotone_constraints": "(1,x)"}, "monotone_constraints: .* is not a list"),
    ({"objective": "rank:map"}, "labels of 0 and 1"),
    ({**NDCG, "eval_metric": "map"}, "whole labels, 0 to 1"),
])  # fmt: skip
def test_invalid_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        xgb.train(params, dtrain, 2, evals=[(dtrain, "train")])


def test_unknown_and_unsupported_parameters_are_named() -> None:
    with pytest.warns(UserWarning, match=r"(?s)max_dept: .*did you mean 'max_depth'.*alpha: no counterpart") as seen:
        xgb.train({**NDCG, "max_dept": 3, "alpha": 1.0}, dtrain, 1)
    assert len(seen) == 1


def test_invalid_data() -> None:
    with pytest.raises(ValueError, match="no labels"):
        xgb.train(NDCG, xgb.DMatrix(X), 1)
    with pytest.raises(TypeError, match="expected a DMatrix"):
        xgb.train(NDCG, rankwood.Dataset(X, y, qid=qid), 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="should not contain `-`"):
        xgb.train(NDCG, dtrain, 1, evals=[(dvalid, "a-b")])
    with pytest.raises(ValueError, match="base_margin"):
        xgb.DMatrix(X, y, base_margin=y[:3]).num_row()
    with pytest.raises(TypeError, match="unexpected 'labels'"):
        dtrain.set_info(labels=y)
    with pytest.raises(ValueError, match="allow_groups=True"):
        dtrain.slice([0, 1])
    assert dtrain.slice([3, 1], allow_groups=True).get_label().tolist() == y[[3, 1]].tolist()
    with pytest.raises(ValueError, match="expected 2 to the number of queries, 12"):
        xgb.cv(NDCG, dtrain, 1, nfold=13)
    with pytest.raises(NotImplementedError, match="whole queries"):
        xgb.cv(NDCG, dtrain, 1, stratified=True)
    with pytest.raises(ValueError, match="expected rank:ndcg"):
        xgb.XGBRanker(objective="reg:squarederror")
    with pytest.raises(AttributeError, match="XGBClassifier"):
        _ = xgb.XGBClassifier
    with pytest.raises(xgb.XGBoostError, match="no trees"):
        xgb.Booster(NDCG).predict(dvalid, iteration_range=(0, 0))
    with pytest.raises(rankwood.DataError, match="the metric returned 3"):
        xgb.train(NDCG, dtrain, 1, evals=SETS, custom_metric=lambda scores, data: 3)
    booster = xgb.train(NDCG, dtrain, 1)
    for content in (b"{L not a model", b'{"learner": 3}', b'{"learner": {}}', b'{"lear', b""):
        with pytest.raises(rankwood.FormatError):
            booster.load_model(content)
    assert booster.num_boosted_rounds() == 1


@pytest.mark.parametrize("package", ["pandas", "polars", "pyarrow"])
def test_tables(package: str) -> None:
    module = pytest.importorskip(package)
    columns = {name: X[:, i] for i, name in enumerate("abcde")}
    table = module.table(columns) if package == "pyarrow" else module.DataFrame(columns)
    data = xgb.DMatrix(table, y, qid=qid)
    assert data.feature_names == list("abcde")
    scores = xgb.train(NDCG, data, 3).predict(xgb.DMatrix(table))
    assert scores.tolist() == xgb.train(NDCG, dtrain, 3).predict(dtrain).tolist()
    assert xgb.cv(NDCG, data, 2, as_pandas=False) == xgb.cv(NDCG, dtrain, 2, as_pandas=False)
    if package != "pyarrow":
        with_qid = module.DataFrame({**columns, "qid": qid})
        assert xgb.XGBRanker(n_estimators=3).fit(with_qid, y).predict(with_qid).tolist() == scores.tolist()
        with pytest.raises(ValueError, match="column 'qid'"):
            xgb.DMatrix(with_qid)


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    rows = (" ".join(f"{i}:{value!r}" for i, value in enumerate(map(float, row))) for row in X)
    path.write_text("".join(f"{label} qid:{query} {row}\n" for label, query, row in zip(y, qid, rows, strict=True)))
    data = xgb.DMatrix(f"{path}?format=libsvm")
    assert data.get_label().tolist() == y.tolist() and data.get_group().tolist() == dtrain.get_group().tolist()
    assert xgb.train(NDCG, data, 3).predict(data).tolist() == xgb.train(NDCG, dtrain, 3).predict(dtrain).tolist()


def test_docstrings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each public class and function has examples that run."""
    monkeypatch.chdir(tmp_path)
    names = {"xgb": xgb, "np": np, "X": X, "y": y, "qid": qid, "dtrain": dtrain, "dvalid": dvalid}
    parser, failed = doctest.DocTestParser(), []
    kinds = [getattr(xgb, name) for name in xgb.__all__ if name not in ("XGBoostError", "callback")]
    kinds += [value for name, value in vars(xgb.callback).items() if inspect.isclass(value) and name[0] != "_"]
    kinds = [one for one in kinds if one.__module__.startswith("rankwood.compat")]
    assert len(kinds) == 10
    for one in kinds:
        examples = parser.get_doctest(inspect.getdoc(one) or "", names, one.__name__, None, None)
        assert examples.examples, one
        failed += [one] if doctest.DocTestRunner().run(examples).failed else []
    assert not failed


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """docs/tutorials/from-xgboost.md."""
    monkeypatch.chdir(tmp_path)
    page = "docs/tutorials/from-xgboost.md"
    names = {"rankwood": rankwood, "X": X, "y": y, "qid": qid, "X_valid": x_valid, "y_valid": y_valid,
             "qid_valid": qid_valid}  # fmt: skip
    names = run(page, blocks_of(page), names)
    assert names["table"].shape[1] == 4 and names["reasons"].shape == (len(y_valid), 6)
    np.testing.assert_allclose(names["model"].predict(x_valid), names["bst"].predict(dvalid), rtol=1e-5, atol=1e-6)
