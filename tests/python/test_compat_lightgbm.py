"""rankwood.compat.lightgbm: the ideas of LightGBM's own tests of ranking, and comparisons with LightGBM.

37 of LightGBM's tests concern ranking. They are 26 of its test_sklearn.py: test_lambdarank, test_xendcg,
test_eval_at_aliases, ..._same_kwargs_and_defaults, test_subclassing_get_params_works, test_subclassing_works,
test_parameter_aliases_... (2), test_max_depth_warning_... (4), test_getting_feature_names_... (2),
test_sklearn_tags_..., ...label_is_column_array, test_validate_features, test_predict_rejects_... (2),
test_ranker_eval_set_raises and test_ranking_minimally_works_... (6 kinds of features); 5 of test_engine.py:
test_ranking_prediction_early_stopping, test_ranking_with_position_information_... (2), test_cv and
test_bagging_by_query_in_lambdarank; 6 of test_basic.py: test_subset_group, test_set_field_none_... (4) and
test_dataset_construction_overwrites_....

The ideas of 34 pass here. Three do not: test_ranking_prediction_early_stopping expects scores that change with a
margin, and scores here are always exact; test_sklearn_tags_... calls a private method for old versions of scikit-learn;
test_dataset_construction_... expects an error from get_field before construct, which returns the field here.
Exceptions are of the same class with Rankwood's words, and warnings about aliases have Rankwood's words.
"""

from __future__ import annotations

import copy
import doctest
import importlib
import inspect
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood as rw
import rankwood.compat.lightgbm as lgb
from rankwood.compat import _lightgbm_callbacks, _lightgbm_train, _shared
from rankwood.compat.lightgbm import LGBMRanker

pa = pytest.importorskip("pyarrow")
scipy_sparse = pytest.importorskip("scipy.sparse")
model_selection = pytest.importorskip("sklearn.model_selection")

X, y, qid = rw.synth("letor", 150, seed=1)
Xv, yv, qid_v = rw.synth("letor", 80, seed=2)
group, group_v = np.bincount(qid), np.bincount(qid_v)
QUIET: dict[str, Any] = {"objective": "lambdarank", "verbose": -1, "num_threads": 1}
FAST = {"n_estimators": 5, "num_leaves": 7, "n_jobs": 1}


@pytest.fixture(autouse=True)
def no_warnings() -> Any:
    """A warning on correct use is a bug."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def real() -> Any:
    return pytest.importorskip("lightgbm")


def sets(module: Any = lgb, **more: Any) -> tuple[Any, Any]:
    train = module.Dataset(X, y, group=group, **more)
    return train, module.Dataset(Xv, yv, group=group_v, reference=train)


class Extended(LGBMRanker):
    def __init__(self, *, some_other_param: str = "mine", **kwargs: Any) -> None:
        self.some_other_param = some_other_param
        super().__init__(**kwargs)


# ---------------------------------------------------------------- LGBMRanker


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_early_stopping_with_a_falling_rate(objective: str) -> None:
    ranker = LGBMRanker(n_estimators=50, objective=objective, n_jobs=1)
    falling = lgb.reset_parameter(learning_rate=lambda i: max(0.01, 0.1 - 0.01 * i))
    ranker.fit(
        X, y, group=group, eval_set=[(Xv, yv)], eval_group=[group_v], eval_at=[1, 3], eval_metric="ndcg",
        callbacks=[lgb.early_stopping(10, verbose=False), falling],
    )  # fmt: skip
    curves = ranker.evals_result_["valid_0"]
    assert list(curves) == ["ndcg@1", "ndcg@3"]
    best = ranker.best_iteration_
    assert 1 <= best < 50
    assert ranker.best_score_["valid_0"] == {name: values[best - 1] for name, values in curves.items()}
    assert best - 1 in [int(np.argmax(values)) for values in curves.values()]  # of the metric that stopped
    used = [float(rate) for rate in str(ranker.booster_.model.params["rate"]).split(",")]
    np.testing.assert_allclose(used, np.maximum(0.01, 0.1 - 0.01 * np.arange(50)))
    np.testing.assert_array_equal(ranker.predict(Xv), ranker.predict(Xv, num_iteration=best))
    assert (ranker.predict(Xv) != ranker.predict(Xv, num_iteration=-1)).any()
    assert ranker.n_estimators_ == ranker.n_iter_ == best
    assert ranker.objective_ == objective


@pytest.mark.parametrize("alias", ["eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at"])
def test_aliases_of_eval_at(alias: str) -> None:
    ranker = LGBMRanker(**FAST, **{alias: [1, 2, 3, 9]})
    expected: Any = pytest.warns(UserWarning, match=f"{alias} of the estimator is used as eval_at")
    with expected if alias != "eval_at" else warnings.catch_warnings():
        ranker.fit(X, y, group=group, eval_set=[(Xv, yv)], eval_group=[group_v])
    assert list(ranker.evals_result_["valid_0"]) == ["ndcg@1", "ndcg@2", "ndcg@3", "ndcg@9"]


def test_parameters_of_subclasses() -> None:
    assert Extended().get_params() == {**LGBMRanker().get_params(), "some_other_param": "mine"}
    other = Extended(eta=0.07, n_estimators=13, some_other_param="x")
    assert other.get_params() == {
        **LGBMRanker().get_params(), "eta": 0.07, "n_estimators": 13, "some_other_param": "x",
    }  # fmt: skip
    clone = importlib.import_module("sklearn.base").clone(other)
    assert clone.get_params() == other.get_params()
    np.testing.assert_array_equal(
        Extended(**FAST).fit(X, y, group=group).predict(X), LGBMRanker(**FAST).fit(X, y, group=group).predict(X)
    )


@pytest.mark.parametrize("kind", [LGBMRanker, Extended])
def test_a_main_name_has_precedence_over_an_alias(kind: Any) -> None:
    ranker = kind(eta=0.08, num_iterations=3, num_leaves=5)
    with pytest.warns(UserWarning, match=r"eta=0.08 has no effect, because learning_rate is 0.1"):
        ranker.fit(X, y, group=group)
    assert (ranker.get_params()["eta"], ranker.get_params()["learning_rate"]) == (0.08, 0.1)
    assert (ranker.booster_.params["eta"], ranker.booster_.params["learning_rate"]) == (0.08, 0.1)
    assert ranker.booster_.model.params["rate"] == 0.1
    assert ranker.booster_.num_trees() == 3
    by_main = LGBMRanker(min_data_in_leaf=40, bagging_fraction=0.5, bagging_freq=1, **FAST).fit(X, y, group=group)
    used = by_main.booster_.model.params
    assert (used["min_docs"], used["sample_docs"]) == (20, 0.5)


def test_constructors_agree(real: Any) -> None:
    theirs, ours = (inspect.signature(one.__init__).parameters for one in (real.LGBMRanker, LGBMRanker))
    assert {name: one.default for name, one in theirs.items()} == {name: one.default for name, one in ours.items()}
    of_fit = [inspect.signature(one.fit).parameters for one in (real.LGBMRanker, LGBMRanker)]
    assert list(of_fit[0]) == list(of_fit[1])
    assert LGBMRanker(num_leaves=9).get_params() == real.LGBMRanker(num_leaves=9).get_params()


def test_labels_in_a_column() -> None:
    frame = pd.DataFrame(X)
    flat = LGBMRanker(**FAST).fit(frame, y, group=group)
    with pytest.warns(UserWarning, match="column-vector"):
        column = LGBMRanker(**FAST).fit(frame, y.reshape(-1, 1), group=group)
    np.testing.assert_array_equal(flat.predict(frame), column.predict(frame))


def test_names_of_columns() -> None:
    names = ["x1", "x2", "x3", "x4"]
    frame = pd.DataFrame(X[:, [36, 28, 20, 44]], columns=names)
    ranker = LGBMRanker(**FAST).fit(frame, y, group=group)
    assert ranker.feature_name_ == list(ranker.feature_names_in_) == names
    assert ranker.n_features_in_ == ranker.n_features_ == 4
    for table in (frame, pa.Table.from_pandas(frame)):
        renamed = frame.rename(columns={"x2": "z"})
        renamed = renamed if table is frame else pa.Table.from_pandas(renamed)
        with pytest.raises(lgb.LightGBMError, match=r"column 1 .* is 'z'; the model expects 'x2'"):
            ranker.predict(renamed, validate_features=True)
        np.testing.assert_array_equal(ranker.predict(renamed), ranker.predict(table))
    np.testing.assert_array_equal(ranker.predict(frame[names[::-1]]), ranker.predict(frame))
    bare = LGBMRanker(**FAST).fit(frame.to_numpy(), y, group=group)
    assert bare.feature_name_ == ["Column_0", "Column_1", "Column_2", "Column_3"]
    assert not hasattr(bare, "feature_names_in_")
    assert list(ranker.feature_importances_) == list(bare.feature_importances_)


@pytest.mark.parametrize("check", [True, False])
def test_a_wrong_number_of_features(check: bool) -> None:
    ranker = LGBMRanker(**FAST).fit(X[:, :3], y, group=group)
    for width in (2, 4):
        message = f"X has {width} features, but LGBMRanker is expecting 3 features as input"
        with pytest.raises(ValueError, match=message):
            ranker.predict(X[:, :width], predict_disable_shape_check=check)
    assert ranker.predict(X[:, :3], predict_disable_shape_check=check).shape == y.shape


X_TYPES = {
    "lists": lambda data: data.tolist(), "numpy": np.asarray, "pandas": pd.DataFrame, "csc": scipy_sparse.csc_matrix,
    "arrow": lambda data: pa.Table.from_pandas(pd.DataFrame(data)), "csr": scipy_sparse.csr_matrix,
}  # fmt: skip
VECTORS = {
    "list": lambda data: data.tolist(), "floats": lambda data: data.astype(float).tolist(), "numpy": np.asarray,
    "series": pd.Series, "arrow": pa.array, "chunked": lambda data: pa.chunked_array([data]),
}  # fmt: skip


@pytest.mark.parametrize("of_x", X_TYPES)
@pytest.mark.parametrize("of_y", VECTORS)
def test_kinds_of_data(of_x: str, of_y: str) -> None:
    as_x, vector = X_TYPES[of_x], VECTORS[of_y]
    few = X[:, [36, 28, 20, 44]].astype(float)
    weight = vector(np.random.default_rng(1).uniform(0.5, 1.5, len(y)))
    start = vector(np.full(len(y), 0.1))
    ranker = LGBMRanker(n_estimators=10, n_jobs=1)
    for of_group in VECTORS if of_x == "numpy" else ["floats"]:
        sizes = VECTORS[of_group](group)
        ranker.fit(
            as_x(few), vector(y), sample_weight=weight, init_score=start, group=sizes, eval_group=[sizes],
            eval_set=[(as_x(2 * few), vector(y))], eval_sample_weight=[weight], eval_init_score=[start],
        )  # fmt: skip
    expected = LGBMRanker(n_estimators=10, n_jobs=1).fit(
        few, y, sample_weight=np.asarray(weight), init_score=np.asarray(start), group=group
    )
    given = as_x(few)
    scores = ranker.predict(given)
    np.testing.assert_array_equal(scores, expected.predict(few))
    assert scores.dtype == ranker.predict(given, raw_score=True).dtype == np.float64
    leaves = ranker.predict(given, pred_leaf=True)
    assert (leaves.dtype, leaves.shape) == (np.int32, (len(y), 10))
    shap = ranker.predict(given, pred_contrib=True)
    assert scipy_sparse.issparse(shap) == of_x.startswith("cs")
    shap = shap.toarray() if scipy_sparse.issparse(shap) else shap
    assert (shap.dtype, shap.shape) == (np.float64, (len(y), 5))
    np.testing.assert_allclose(shap.sum(axis=1), scores)


def test_arguments_of_validation_sets() -> None:
    ranker = LGBMRanker(**FAST)
    with pytest.raises(ValueError, match=r"^group is missing"):
        ranker.fit(X, y)
    for given in ({"eval_set": [(Xv, yv)]}, {"eval_X": (Xv,), "eval_y": (yv,)}):
        with pytest.raises(ValueError, match="eval_group is missing"):
            ranker.fit(X, y, group=group, **given)
    for given in ({"eval_X": (Xv,)}, {"eval_y": (yv,)}, {"eval_X": Xv, "eval_y": yv, "eval_set": [(Xv, yv)]}):
        with pytest.raises(ValueError, match="either eval_set, or both eval_X and eval_y"):
            ranker.fit(X, y, group=group, eval_group=[group_v], **given)
    with pytest.raises(ValueError, match="1 entries of eval group for 2 validation sets"):
        ranker.fit(X, y, group=group, eval_set=[(Xv, yv), (Xv, yv)], eval_group=[group_v])
    with pytest.raises(ValueError, match="not a list of pairs"):
        ranker.fit(X, y, group=group, eval_set=[Xv], eval_group=[group_v])
    by_pairs = LGBMRanker(**FAST).fit(X, y, group=group, eval_set=[(Xv, yv)], eval_group=[group_v])
    apart = LGBMRanker(**FAST).fit(X, y, group=group, eval_X=Xv, eval_y=yv, eval_group=[group_v])
    assert by_pairs.evals_result_ == apart.evals_result_
    with_own = LGBMRanker(**FAST).fit(
        X, y, group=group, eval_set=[(Xv, yv), (X, y)], eval_group=[group_v, group], eval_names=["held", "own"]
    )
    assert list(with_own.evals_result_) == ["own", "held"]  # the training set is first, as in LightGBM
    with pytest.raises(importlib.import_module("sklearn.exceptions").NotFittedError):
        _ = LGBMRanker().booster_


@pytest.mark.parametrize("depth", [3, 4, 5, 8])
def test_queries_of_one_document(depth: int) -> None:
    """Nothing can be learned from them: the model scores 0, and LightGBM can read it."""
    ranker = LGBMRanker(max_depth=depth, n_estimators=1, reg_lambda=1.0)
    with pytest.warns(UserWarning, match="made no trees") as told:
        ranker.fit(X, y, group=np.ones(len(y)))
    assert len(told) == 1
    assert not ranker.predict(X).any()
    assert ranker.predict(X, pred_leaf=True).shape == (len(y), 0)
    assert lgb.Booster(model_str=ranker.booster_.model_to_string()).num_trees() == 0


def test_functions_of_scikit_learns_interface() -> None:
    sizes: list[int] = []

    def objective(label: Any, score: Any) -> tuple[Any, Any]:
        return score - label, np.ones(len(label))

    def spread(label: Any, score: Any, weight: Any, of_group: Any) -> tuple[str, float, bool]:
        sizes.append(len(of_group))
        return "spread", float(np.ptp(score)), False

    ranker = LGBMRanker(objective=objective, **FAST)
    ranker.fit(X, y, group=group, eval_set=[(Xv, yv)], eval_group=[group_v], eval_metric=[spread, "l2"], eval_at=[3])
    curves = ranker.evals_result_["valid_0"]
    assert list(curves) == ["l2", "ndcg@3", "spread"]
    assert curves["l2"][-1] == pytest.approx(np.mean((yv - ranker.predict(Xv)) ** 2))
    assert curves["spread"][-1] == pytest.approx(np.ptp(ranker.predict(Xv)))
    assert set(sizes) == {80}


def test_pickles_and_copies() -> None:
    ranker = LGBMRanker(**FAST, random_state=np.random.RandomState(3), class_weight="balanced")
    ranker.fit(X, y, group=group, callbacks=[lambda env: None])
    for same in (pickle.loads(pickle.dumps(ranker)), copy.deepcopy(ranker)):
        np.testing.assert_array_equal(same.predict(X), ranker.predict(X))
        assert same.booster_.num_trees() == 5
    ranker.booster_.best_score["x"] = {}
    assert "x" not in copy.deepcopy(pickle.loads(pickle.dumps(LGBMRanker(**FAST).fit(X, y, group=group)))).best_score_


def test_a_model_to_continue() -> None:
    first = LGBMRanker(**FAST).fit(X, y, group=group)
    second = LGBMRanker(**FAST).fit(X, y, group=group, init_model=first)
    assert second.booster_.num_trees() == 10
    np.testing.assert_array_equal(second.predict(X, num_iteration=5), first.predict(X))
    np.testing.assert_allclose(second.predict(X, start_iteration=5) + first.predict(X), second.predict(X))
    rates = [lgb.reset_parameter(learning_rate=[0.3, 0.05])]
    falling = lgb.train(QUIET, sets()[0], 2, init_model=first.booster_, callbacks=rates)
    constant = lgb.train({**QUIET, "eta": 0.3}, sets()[0], 1, init_model=first.booster_)
    np.testing.assert_array_equal(
        falling.predict(X, start_iteration=5, num_iteration=1), constant.predict(X, start_iteration=5)
    )


# ---------------------------------------------------------------- train, cv, Dataset


def test_metrics_are_lightgbms(real: Any) -> None:
    """On the same scores: those of LightGBM's model, of which LightGBM and this module measure the same rounds."""
    flat = y.copy()
    flat[: group[0]] = 0  # a query without a relevant document counts as 1
    weight = np.random.default_rng(1).uniform(0, 2, len(y))
    params = {**QUIET, "metric": ["map", "ndcg", "l2", "auc", "l1", "rmse"], "eval_at": [1, 5]}
    params["label_gain"] = [0, 1, 5, 9, 20]
    for given in ({}, {"weight": weight}, {"init_score": X[:, 3].astype(float)}):
        data = real.Dataset(X, flat, group=group, **given)
        booster = real.train(params, data, 3, valid_sets=[data])
        imported = lgb.Booster(params, model_str=booster.model_to_string())
        ours = imported.eval(lgb.Dataset(X, flat, group=group, **given), "training")
        assert [one.metric_name for one in ours] == list(booster.best_score["training"])
        for one in ours:
            theirs = booster.best_score["training"][one.metric_name]
            assert one.metric_value == pytest.approx(theirs, rel=1e-6), one.metric_name
            assert one.maximize == (one.metric_name[:2] in ("nd", "ma", "au"))


@pytest.mark.parametrize("first_only", [True, False])
@pytest.mark.parametrize("min_delta", [0.0, 0.002, [0.001, 0.003]])
def test_early_stopping_decides_as_lightgbm(real: Any, first_only: bool, min_delta: Any) -> None:
    """Both see the same curves."""
    rng = np.random.default_rng(7)
    models = {lgb: lgb.Booster(train_set=lgb.Dataset(X)), real: real.Booster({"verbose": -1}, real.Dataset(X[:100]))}
    for _ in range(20):
        curves = np.cumsum(rng.normal(size=(30, 2, 2)), axis=0) / 100
        found = []
        for module in (real, lgb):
            one = module.early_stopping(5, first_metric_only=first_only, verbose=False, min_delta=min_delta)
            env_of = real.callback.CallbackEnv if module is real else lgb.CallbackEnv
            result = real.basic.EvalResult if module is real else _lightgbm_callbacks.EvalResult
            for i in range(30):
                values = [
                    result(name, metric, curves[i, a, b], metric == "up")
                    for a, name in enumerate(["training", "held"]) for b, metric in enumerate(["up", "down"])
                ]  # fmt: skip
                try:
                    one(env_of(models[module], {}, i, 0, 30, values))
                except (real.callback.EarlyStopException, lgb.EarlyStopException) as stop:
                    found.append((i, stop.best_iteration))
                    break
        assert len(found) == 2
        assert found[0] == found[1]


def test_train_with_validation_sets_and_callbacks(capsys: Any) -> None:
    train, valid = sets()
    curves: dict[str, Any] = {}
    seen: list[Any] = []

    def watch(env: Any) -> None:
        env.model.seen = env.iteration
        seen.append((env.iteration, env.begin_iteration, env.end_iteration, len(env.evaluation_result_list)))

    booster = lgb.train(
        {**QUIET, "eval_at": [5]}, train, 40, valid_sets=[valid, train], valid_names=["held", "own"],
        callbacks=[lgb.early_stopping(4), lgb.log_evaluation(2), lgb.record_evaluation(curves), watch],
    )  # fmt: skip
    assert list(curves) == ["own", "held"]
    n = len(curves["held"]["ndcg@5"])
    assert booster.num_trees() == booster.current_iteration() == n < 40
    assert booster.best_iteration == 1 + int(np.argmax(curves["held"]["ndcg@5"]))
    assert booster.best_score["own"]["ndcg@5"] == curves["own"]["ndcg@5"][booster.best_iteration - 1]
    assert booster.seen == n - 1
    assert seen == [(i, 0, 40, 2) for i in range(n)]
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[2]\town's ndcg@5: 0.")
    assert f"[{booster.best_iteration}]\t" in lines[-1]
    params = {**QUIET, "eval_at": [5], "early_stopping_round": 4, "num_trees": 40}
    of_params = lgb.train(params, train, valid_sets=valid)
    assert of_params.best_iteration == booster.best_iteration


def test_functions_of_train() -> None:
    train, valid = sets(weight=np.ones(len(y)))

    def objective(scores: Any, data: Any) -> tuple[Any, Any]:
        assert data is train
        return scores - data.get_label(), np.ones(len(scores))

    def several(scores: Any, data: Any) -> list[tuple[str, float, bool]]:
        return [("n", float(len(data.get_label())), True), ("mean", float(scores.mean()), False)]

    functions = [several, lambda s, d: ("a", 1, True)]
    booster = lgb.train({**QUIET, "objective": objective}, train, 3, valid_sets=[train, valid], feval=functions)
    assert booster.best_score["training"]["n"] == len(y)
    assert booster.best_score["valid_1"]["n"] == len(yv)
    assert list(booster.best_score["valid_1"]) == ["n", "mean", "a"]  # a function as objective has no metric by default
    with pytest.raises(rw.DataError, match="must return"):
        lgb.train(QUIET, train, 3, valid_sets=[valid], feval=lambda s, d: 1.0)


def test_cv_of_queries(real: Any) -> None:
    params = {**QUIET, "eval_at": 3}
    by_l2 = lgb.cv(params, sets()[0], 4, nfold=3, metrics="l2")
    assert list(by_l2) == ["valid l2-mean", "valid l2-stdv"]
    plain = lgb.cv(params, sets()[0], 4, nfold=3)
    assert list(plain) == ["valid ndcg@3-mean", "valid ndcg@3-stdv"]
    assert len(plain["valid ndcg@3-mean"]) == 4
    splitter = model_selection.GroupKFold(3)
    assert lgb.cv(params, sets()[0], 4, folds=splitter) == plain
    pairs = list(splitter.split(X, y, qid))
    with_models = lgb.cv(params, sets()[0], 4, folds=pairs, return_cvbooster=True, eval_train_metric=True)
    assert with_models["valid ndcg@3-mean"] == plain["valid ndcg@3-mean"]
    assert len(with_models["train ndcg@3-mean"]) == 4
    models = with_models["cvbooster"]
    assert models.num_trees() == [4, 4, 4]
    fitted, held = pairs[1]
    alone = lgb.Dataset(X[fitted], y[fitted], group=np.unique(qid[fitted], return_counts=True)[1])
    expected = lgb.train(params, alone, 4)
    np.testing.assert_array_equal(models.boosters[1].predict(X[held]), expected.predict(X[held]))
    values = []
    for booster, (_, held) in zip(models.boosters, pairs, strict=True):
        part = lgb.Dataset(X[held], y[held], group=np.unique(qid[held], return_counts=True)[1])
        values.append(booster.eval(part, "valid")[0].metric_value)
    assert plain["valid ndcg@3-mean"][-1] == pytest.approx(np.mean(values))
    assert plain["valid ndcg@3-stdv"][-1] == pytest.approx(np.std(values))
    theirs = real.cv(params, sets(real)[0], 4, nfold=3)
    assert list(theirs) == list(plain)
    assert plain["valid ndcg@3-mean"][-1] == pytest.approx(theirs["valid ndcg@3-mean"][-1], abs=0.05)


def test_cv_stops_by_the_mean_of_the_folds() -> None:
    curves: dict[str, Any] = {}
    stop = [lgb.early_stopping(3, verbose=False), lgb.record_evaluation(curves)]
    found = lgb.cv({**QUIET, "eval_at": 3}, sets()[0], 60, nfold=3, callbacks=stop, return_cvbooster=True)
    means = curves["valid"]["ndcg@3-mean"]
    best = 1 + int(np.argmax(means))
    assert len(means) == best + 3 < 60
    assert found["valid ndcg@3-mean"] == means[:best]
    assert found["cvbooster"].best_iteration == found["cvbooster"].boosters[0].best_iteration == best

    def broken(scores: Any, data: Any) -> Any:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        lgb.cv(QUIET, sets()[0], 3, nfold=3, feval=broken)


def test_bagging_by_query() -> None:
    params = {**QUIET, "metric": "ndcg", "ndcg_eval_at": [5]}
    train, valid = sets()
    found = {}
    for name, more in {
        "all": {}, "queries": {"bagging_by_query": True, "bagging_fraction": 0.1, "bagging_freq": 1},
        "documents": {"bagging_by_query": False, "bagging_fraction": 0.1, "bagging_freq": 1},
    }.items():  # fmt: skip
        booster = lgb.train({**params, **more}, train, 50, valid_sets=[valid])
        found[name] = booster.best_score["valid_0"]["ndcg@5"]
        used = booster.model.params
        assert used.get("sample_queries", 1) == (0.1 if name == "queries" else 1)
        assert used.get("sample_docs", 1) == (0.1 if name == "documents" else 1)
    assert min(found.values()) >= found["all"] - 0.1


def write_files(folder: Path, data: Any, label: Any, sizes: Any) -> str:
    """Writes LibSVM text with its file of group sizes, as LightGBM reads them."""
    path = folder / "data.train"
    rows = [" ".join(f"{i}:{value!r}" for i, value in enumerate(row)) for row in data.tolist()]
    lines = [f"{int(one)} {row}" for one, row in zip(label, rows, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    Path(f"{path}.query").write_text("".join(f"{n}\n" for n in sizes))
    return str(path)


def test_positions(tmp_path: Path) -> None:
    """Positions from an array, a series, set_position and a file give the same model; lower ones have a lower bias."""
    rng = np.random.default_rng(5)
    position = np.concatenate([rng.permutation(n) for n in group])
    clicks = (rng.uniform(size=len(y)) < (0.2 + 0.2 * y) / (1 + position)).astype(float)
    params = {**QUIET, "eval_at": [3], "min_data_in_leaf": 30}
    valid = sets()[1]

    def score(data: Any) -> float:
        return float(lgb.train(params, data, 30, valid_sets=[valid]).best_score["valid_0"]["ndcg@3"])

    plain = score(lgb.Dataset(X, clicks, group=group))
    debiased = score(lgb.Dataset(X, clicks, group=group, position=position))
    assert debiased != plain
    shown = lgb.Dataset(X, clicks, group=group, position=position)
    found = lgb.train({**params, "lambdarank_position_bias_regularization": 0.1}, shown, 30).model
    assert (found.params["debias"], found.params["position_l2"]) == ("additive", 0.1)
    bias = found.position_bias.bias
    assert bias[0] > bias[3] > bias[6]
    assert score(lgb.Dataset(X, clicks, group=group, position=pd.Series(position))) == debiased
    by_setter = lgb.Dataset(X, clicks, group=group).construct().set_position(position)
    assert score(by_setter) == debiased
    np.testing.assert_array_equal(by_setter.get_position(), position)
    path = write_files(tmp_path, X, clicks, group)
    assert score(lgb.Dataset(path)) == plain
    Path(f"{path}.position").write_text("".join(f"at{p}\n" for p in position))
    assert score(lgb.Dataset(path)) == debiased
    with open(f"{path}.position", "a", encoding="utf-8") as file:
        file.write("at7\n")
    with pytest.raises(lgb.LightGBMError, match=str(len(y) + 1)):
        score(lgb.Dataset(path))


def test_fields_of_a_dataset() -> None:
    data = lgb.Dataset(X, y, group=group)
    part = data.subset(list(range(10)))
    assert list(part.get_group()) == [group[0], 10 - group[0]] if group[0] < 10 else [10]
    assert (part.num_data(), part.num_feature()) == (10, X.shape[1])
    np.testing.assert_array_equal(part.get_label(), y[:10])
    sides = {"label": [1, 2], "group": [1, 1], "weight": [0.5, 1.5], "init_score": [0.3, 0.7]}
    as_given = lgb.Dataset([[1.0, 2.0], [3.0, 4.0]], **sides)
    assert (as_given.group, as_given.get_group()) == ([1, 1], [1, 1])
    assert (as_given.get_label(), as_given.get_weight(), as_given.get_init_score()) == ([1, 2], [0.5, 1.5], [0.3, 0.7])
    ten = lgb.Dataset(X[:10], y[:10], group=[10]).construct()
    for name, value, expected in (
        ("group", [5, 5], np.array([0, 5, 10], np.int32)),
        ("position", [9, 2, 9, 1, 3, 1, 3, 1, 3, 3], np.array([0, 1, 0, 2, 3, 2, 3, 2, 3, 3], np.int32)),
        ("weight", np.arange(10), np.arange(10, dtype=np.float32)),
        ("init_score", np.arange(10), np.arange(10, dtype=np.float64)),
    ):
        assert ten.set_field(name, value) is ten
        np.testing.assert_array_equal(ten.get_field(name), expected, strict=True)
        assert ten.set_field(name, None).get_field(name) is None
    with pytest.raises(rw.DataError, match="unknown field 'labels'"):
        ten.set_field("labels", None)
    for kind in X_TYPES.values():
        chosen = lgb.Dataset(kind(X), np.arange(len(y)) % 30, group=group).subset([33, 1, 200]).construct()
        assert (list(chosen.get_label()), list(chosen.get_group())) == ([1, 3, 20], [1, 1, 1])


@pytest.mark.parametrize("objective", ["lambdarank", "rank_xendcg"])
def test_prediction_never_stops_early(objective: str) -> None:
    booster = lgb.train({**QUIET, "objective": objective}, sets()[0], 20)
    early = booster.predict(Xv, pred_early_stop=True, pred_early_stop_freq=5, pred_early_stop_margin=1.5)
    np.testing.assert_array_equal(early, booster.predict(Xv))


# ---------------------------------------------------------------- Booster


def test_lightgbm_reads_the_models(real: Any, tmp_path: Path) -> None:
    train, valid = sets()
    booster = lgb.train(QUIET, train, 12, valid_sets=[valid], callbacks=[lgb.early_stopping(4, verbose=False)])
    booster.save_model(tmp_path / "m.txt", num_iteration=-1)
    theirs = real.Booster(model_file=tmp_path / "m.txt")
    np.testing.assert_allclose(theirs.predict(Xv), booster.predict(Xv, num_iteration=-1), atol=1e-12)
    kept = real.Booster(model_str=booster.model_to_string())
    assert kept.num_trees() == booster.best_iteration
    np.testing.assert_allclose(kept.predict(Xv), booster.predict(Xv), atol=1e-12)
    ranker = LGBMRanker(**FAST).fit(pd.DataFrame(X).add_prefix("f"), y, group=group)
    assert real.Booster(model_str=ranker.booster_.model_to_string()).feature_name() == ranker.feature_name_


def test_models_of_lightgbm_are_read(real: Any, tmp_path: Path) -> None:
    theirs = real.train({**QUIET, "num_leaves": 15}, sets(real)[0], 10)
    theirs.save_model(tmp_path / "m.txt")
    ours = lgb.Booster(model_file=str(tmp_path / "m.txt"))
    for how in ({}, {"num_iteration": 4}, {"start_iteration": 3, "num_iteration": 2}):
        np.testing.assert_allclose(ours.predict(Xv, **how), theirs.predict(Xv, **how), atol=1e-6)
        leaves = ours.predict(Xv, pred_leaf=True, **how), theirs.predict(Xv, pred_leaf=True, **how)
        np.testing.assert_array_equal(*leaves)
        shap = ours.predict(Xv, pred_contrib=True, **how), theirs.predict(Xv, pred_contrib=True, **how)
        np.testing.assert_allclose(*shap, atol=1e-6)
    np.testing.assert_array_equal(ours.feature_importance(), theirs.feature_importance())
    gains = ours.feature_importance("gain", iteration=5), theirs.feature_importance("gain", iteration=5)
    np.testing.assert_allclose(*gains, rtol=1e-5)
    assert ours.feature_name() == theirs.feature_name()
    assert (ours.num_feature(), ours.num_trees(), ours.num_model_per_iteration()) == (X.shape[1], 10, 1)
    more = lgb.train(QUIET, sets()[0], 2, init_model=tmp_path / "m.txt")
    assert more.num_trees() == 12
    own = tmp_path / "own.txt"
    more.model.save(own)
    np.testing.assert_array_equal(lgb.Booster(model_file=own).predict(Xv), more.predict(Xv))


def test_rounds_by_hand() -> None:
    train, valid = sets()
    booster = lgb.Booster({**QUIET, "eval_at": [5]}, train).add_valid(valid, "held")
    with pytest.raises(rw.DataError, match="no trees yet"):
        booster.predict(X)
    for _ in range(3):
        booster.update()
    whole = lgb.train({**QUIET, "eval_at": [5]}, train, 3, valid_sets=[valid], keep_training_booster=True)
    np.testing.assert_allclose(booster.predict(Xv), whole.predict(Xv), atol=0.1)
    found = [one[:2] for one in booster.eval_valid() + whole.eval_train()]
    assert found == [("held", "ndcg@5"), ("training", "ndcg@5")]
    assert whole.eval_valid()[0].metric_value == pytest.approx(whole.best_score["valid_0"]["ndcg@5"])
    with pytest.raises(AttributeError, match=r"no 'dump_model'.*Booster\.model"):
        _ = booster.dump_model
    with pytest.raises(rw.DataError, match="keep_training_booster"):
        lgb.train(QUIET, train, 1).eval_train()


# ---------------------------------------------------------------- meaning of parameters


def test_the_defaults_are_lightgbms() -> None:
    used = lgb.train({"objective": "lambdarank"}, sets()[0]).model.params
    expected = {
        "rounds": 100, "leaves": 31, "rate": 0.1, "l2": 0, "split": "newton", "sample_features": 1, "gain_noise": 0,
        "objective": "lambdarank", "truncation": 30, "bins": 255,
    }  # fmt: skip
    assert {name: used[name] for name in expected} == expected


def test_the_size_of_a_leaf_counts_hessians_as_in_lightgbm() -> None:
    """LightGBM's number of documents of a leaf is its sum of hessians over the mean hessian."""
    train = sets()[0]
    mean = _shared.mean_hessian({}, train.handle)
    for given, docs, hessian in (
        ({}, 10, 20 * mean), ({"min_child_samples": 60}, 30, 60 * mean), ({"min_data": 1}, 1, mean),
        ({"min_data": 2, "min_sum_hessian": 3.0}, 1, 3.0),
    ):  # fmt: skip
        used = lgb.train({**QUIET, **given}, train, 1).model.params
        assert used["min_docs"] == docs
        assert used["min_hessian"] == pytest.approx(hessian)

    def squares(scores: Any, data: Any) -> tuple[Any, Any]:
        return scores - data.get_label(), np.ones(len(scores))

    leaves = lgb.train({**QUIET, "objective": squares}, train, 1).predict(X, pred_leaf=True)
    assert np.unique(leaves, return_counts=True)[1].min() >= 20  # hessians of 1 count documents


def test_aliases_agree_with_lightgbm(real: Any) -> None:
    for name, words in _lightgbm_train._ALIASES.items():
        assert {name, *words.split()} == {name, *real.basic._ConfigAliases.get(name)} - {"callbacks"}, name


def test_lambda_l2_is_converted_to_the_same_strength(real: Any) -> None:
    """The first split's gain and the leaves of a tree agree with LightGBM's."""
    params = {**QUIET, "lambda_l2": 5.0, "num_leaves": 2}
    with pytest.warns(UserWarning, match="differ from LightGBM's:\n  lambda_l2: LightGBM adds 5 to each sum") as told:
        ours = lgb.train(params, sets()[0], 1)
    assert len(told) == 1
    theirs = real.train(params, sets(real)[0], 1)
    assert ours.feature_importance("gain").max() == pytest.approx(theirs.feature_importance("gain").max(), rel=0.02)
    assert np.ptp(ours.predict(X)) == pytest.approx(np.ptp(theirs.predict(X)), rel=0.02)
    without = lgb.train({**params, "lambda_l2": 0}, sets()[0], 1)
    assert np.ptp(without.predict(X)) > 1.02 * np.ptp(ours.predict(X))


def test_what_has_no_counterpart_is_named_once() -> None:
    params = {**QUIET, "lambda_l1": 1.0, "boosting": "dart", "path_smooth": 2, "num_leafs": 5, "bagging_freq": 3}
    params.update(bagging_fraction=0.5, verbosity=-1, force_row_wise=True, deterministic=True, feature_pre_filter=False)
    with pytest.warns(UserWarning, match="differ from LightGBM's") as told:
        lgb.train(params, sets()[0], 2)
    assert len(told) == 1
    lines = str(told[0].message).split("\n  ")[1:]
    assert sorted(line.partition(":")[0] for line in lines) == [
        "bagging_freq", "boosting", "lambda_l1", "num_leafs", "path_smooth",
    ]  # fmt: skip
    assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"objective": None}, "objective is missing"),
        ({"objective": "binary"}, "expected 'lambdarank', 'rank_xendcg'"),
        ({"objective": "poisson"}, "expected 'lambdarank', 'rank_xendcg'"),
        ({"num_leaves": "many"}, "num_leaves: .* expected a whole number"),
        ({"learning_rate": 5}, "learning_rate: .* 1e-6 to 1"),
        ({"metric": "auc_mu"}, "unknown metric 'auc_mu'"),
        ({"eval_at": [0]}, r"eval_at is \[0\]"),
        ({"num_iterations": 0}, "num_boost_round is 0"),
        ({"label_gain": [0, -1]}, "label_gain"),
        ({"early_stopping_round": "5"}, "expected an int"),
        ({"early_stopping_round": 5}, "needs a validation set"),
    ],
)
def test_invalid_parameters(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        lgb.train({**QUIET, **params}, sets()[0], 2)


def test_invalid_arguments() -> None:
    train, valid = sets()
    for calls, message in (
        (lambda: lgb.train(QUIET, X, 2), "expected a Dataset"),
        (lambda: lgb.train(QUIET, train, 2, valid_sets=[rw.Dataset(X)]), "expected a Dataset"),
        (lambda: lgb.train(QUIET, train, 2, valid_sets=[valid, valid], valid_names=["a", "a"]), "a name twice"),
        (lambda: lgb.train(QUIET, lgb.Dataset(X, y), 2), "has no group"),
        (lambda: lgb.train(QUIET, train, 2, callbacks=[lgb.reset_parameter(learning_rate=[0.1])]), "1 learning rates"),
        (lambda: lgb.reset_parameter(num_leaves=[1]), "only learning_rate"),
        (lambda: lgb.early_stopping(2, min_delta=-1.0), "expected 0 or more"),
        (lambda: lgb.record_evaluation([]), "expected a dictionary"),  # type: ignore[arg-type]
        (lambda: lgb.Booster(), "needs train_set"),
        (lambda: lgb.Booster(model_str="tree\nbroken"), "model"),
        (lambda: lgb.train(QUIET, train, 2).feature_importance("cover"), "expected 'split' or 'gain'"),
    ):
        with pytest.raises(ValueError if "Dataset" not in message else (ValueError, TypeError), match=message):
            calls()


def test_import_is_fast_and_needs_no_scikit_learn() -> None:
    program = "import rankwood.compat.lightgbm, sys; print({'numpy', 'sklearn', 'pandas', 'scipy'} & {*sys.modules})"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "set()\n"


# ---------------------------------------------------------------- real data


def test_ranks_as_well_as_lightgbm_on_real_data(real: Any) -> None:
    """NDCG@10 of LGBMRanker's defaults on MQ2008; tests/peers/compat.py measures more sets."""
    folder = Path(os.environ.get("RANKWOOD_DATA", "")) / "mq2008"
    if not folder.is_dir():
        pytest.skip("RANKWOOD_DATA has no mq2008")
    load = importlib.import_module("sklearn.datasets").load_svmlight_files
    parts = load([str(folder / f"S{i}.txt.gz") for i in range(1, 6)], query_id=True)
    parts = [parts[3 * i : 3 * i + 3] for i in range(5)]
    mean = {}
    for module in (real, lgb):
        values = []
        for fold in range(5):
            chosen = [parts[(fold + i) % 5] for i in (0, 1, 2)]
            data = scipy_sparse.vstack([one[0] for one in chosen]).toarray()
            ranker = module.LGBMRanker(n_jobs=1, verbose=-1)
            sizes = np.concatenate([np.unique(one[2], return_counts=True)[1] for one in chosen])
            ranker.fit(data, np.concatenate([one[1] for one in chosen]), group=sizes)
            test = parts[(fold + 4) % 5]
            held = rw.Dataset(test[0].toarray(), test[1], qid=test[2])
            values.append(rw.evaluate(held, ranker.predict(test[0].toarray()), "ndcg@10")["ndcg@10"])
        mean[module] = np.mean(values)
    assert mean[lgb] > mean[real] - 0.01


def test_examples_of_docstrings() -> None:
    parts = [lgb, *(importlib.import_module(one.__module__) for one in (LGBMRanker, lgb.Dataset, lgb.Booster))]
    names = {"X": X, "y": y, "qid": qid, "X_valid": Xv, "y_valid": yv, "qid_valid": qid_v, "np": np, "rankwood": rw}
    found = [doctest.testmod(part, extraglobs=names) for part in parts]
    assert sum(one.attempted for one in found) > 20
    assert not any(one.failed for one in found)
