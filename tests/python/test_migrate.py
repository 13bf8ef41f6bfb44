# room: params
"""Parameters of LightGBM, XGBoost and CatBoost as Rankwood's."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood as rw
from conftest import Made
from rankwood._params import meaning


def test_lightgbm_parameters() -> None:
    params, notes = rw.from_lightgbm(
        {
            "objective": "lambdarank",
            "num_leaves": 31,
            "learning_rate": 0.05,
            "lambda_l2": 1.0,
            "max_depth": -1,
            "metric": "ndcg,map",
            "eval_at": [5, 10],
            "lambdarank_truncation_level": 20,
            "label_gain": "0,1,3,7",
            "early_stopping_round": 50,
            "num_threads": 0,
            "reg_alpha": 0,
            "random_state": None,
        }
    )
    assert params == {
        "objective": "lambdarank",
        "leaves": 31,
        "rate": 0.05,
        "l2": 1.0,
        "depth": 0,
        "metric": ["ndcg@5", "ndcg@10", "map@5", "map@10"],
        "truncation": 20,
        "label_gain": "exp",
        "early_stop": 50,
        "threads": "auto",
    }
    assert rw.from_lightgbm({"label_gain": "0,1,5"})[0] == {"label_gain": [0.0, 1.0, 5.0]}
    assert len(notes) == 2
    assert notes[0].startswith("lambda_l2: ")
    assert "average document" in notes[0]
    assert notes[1].startswith("not given")
    assert "rounds auto (100)" in notes[1]


def test_xgboost_parameters() -> None:
    params, notes = rw.from_xgboost(
        {
            "objective": "rank:ndcg",
            "eta": 0.3,
            "max_depth": 6,
            "lambda": 0,
            "eval_metric": ["ndcg@5-", "auc"],
            "min_child_weight": 1,
            "colsample_bytree": 0.5,
            "colsample_bynode": 0.5,
            "lambdarank_num_pair_per_sample": 8,
            "tree_method": "hist",
            "device": "cuda:1",
            "missing": float("nan"),
            "alpha": 2,
        }
    )
    assert params == {
        "objective": "lambdarank",
        "rate": 0.3,
        "depth": 6,
        "l2": 0,
        "metric": ["ndcg@5"],
        "empty": "0",
        "min_hessian": 1,
        "split": "newton",
        "sample_features": 0.5,
        "sample_features_node": 0.5,
        "truncation": 8,
        "device": "cuda:1",
        "grow": "levels",
    }
    told = {note.split(":")[0]: note for note in notes}
    assert "no counterpart of 'auc'" in told["eval_metric"]
    assert "L1 regularisation is not supported" in told["alpha"]
    assert "lambda" not in told
    assert "grow_policy" in told


@pytest.mark.parametrize(
    ("make", "given", "objective"),
    [
        (rw.from_lightgbm, {"objective": "rank_xendcg"}, "xendcg"),
        (rw.from_lightgbm, {"objective": "binary"}, "logistic"),
        (rw.from_xgboost, {"objective": "binary:logistic"}, "logistic"),
        (rw.from_catboost, {"loss_function": "QueryRMSE"}, "queryrmse"),
        (rw.from_catboost, {"loss_function": "QuerySoftMax:beta=1"}, "listnet"),
        (rw.from_catboost, {"loss_function": "Logloss"}, "logistic"),
    ],
)
def test_objectives(make: Any, given: dict[str, Any], objective: str) -> None:
    assert make(given)[0]["objective"] == objective


def test_pairs_of_xgboost() -> None:
    mean = {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 3}
    params = rw.from_xgboost({"objective": "rank:map", **mean})[0]
    assert params["delta"] == "map" and params["pairs"] == "mean:3" and "truncation" not in params
    params = rw.from_xgboost({"objective": "rank:ndcg", "lambdarank_pair_method": "mean"})[0]
    assert params["pairs"] == "mean:1" and "delta" not in params
    params = rw.from_xgboost({"objective": "rank:pairwise", "lambdarank_num_pair_per_sample": 3})[0]
    assert params["delta"] == "none" and params["truncation"] == 3


def test_catboost_parameters() -> None:
    params, notes = rw.from_catboost(
        {
            "loss_function": "YetiRank:decay=0.9;mode=NDCG",
            "eval_metric": "NDCG:top=10",
            "iterations": 500,
            "grow_policy": "Lossguide",
            "max_leaves": 31,
            "task_type": "GPU",
            "devices": "1",
            "one_hot_max_size": 3,
            "random_seed": 7,
        }
    )
    assert params == {
        "objective": "yetirank",
        "decay": 0.9,
        "metric": ["ndcg@10"],
        "rounds": 500,
        "grow": "leaves",
        "leaves": 31,
        "device": "cuda:1",
        "seed": 7,
    }
    assert any("mode=NDCG" in note for note in notes)
    assert any(note.startswith("one_hot_max_size: no counterpart: 'categorical' features are split") for note in notes)
    assert any("label_gain='linear'" in note for note in notes)
    params, notes = rw.from_catboost({"loss_function": "YetiRank:mode=MAP;decay=0.9;permutations=5"})
    assert params == {"objective": "yetirank", "delta": "map", "permutations": 5, "grow": "symmetric"}
    assert any("decay is left out" in note for note in notes)


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"num_leafs": 31}, "num_leafs: not a parameter of LightGBM; left out; did you mean 'num_leaf'?"),
        ({"rsm": 0.5}, "rsm: not a parameter of LightGBM, but of CatBoost; left out"),
        ({"num_leaves": 1}, "expected a whole number, 2 to 65536"),
        ({"learning_rate": "fast"}, "learning_rate: left out: "),
        ({"boosting": "dart"}, "dart, rf and gblinear are not supported"),
        ({"objective": "multiclass"}, "objective: no counterpart of 'multiclass': labels are grades"),
        ({"bagging_fraction": 0.5}, "without a bagging_freq LightGBM samples nothing"),
        ({"valid": "x.txt"}, "valid: use train(..., valid="),
        ({"eval_at": "five"}, "eval_at: left out: expected whole numbers"),
        ({"num_leaves": len}, "num_leaves: left out"),
        ({"task_type": "train"}, "task_type: training, measuring"),
        ({"zero_as_missing": True}, "Dataset(..., missing=0)"),
    ],
)
def test_parameters_without_counterpart_are_reported(given: dict[str, Any], note: str) -> None:
    params, notes = rw.from_lightgbm(given)
    assert any(note in one for one in notes)
    assert params == {}


def test_bagging_with_a_frequency_is_taken() -> None:
    params, notes = rw.from_lightgbm({"subsample": 0.5, "subsample_freq": 5})
    assert params == {"sample_docs": 0.5}
    by_query = {"bagging_fraction": 0.5, "bagging_freq": 1, "bagging_by_query": True}
    assert rw.from_lightgbm(by_query)[0] == {"sample_queries": 0.5}
    assert rw.from_lightgbm({**by_query, "bagging_freq": 0})[0] == {}
    assert rw.from_xgboost({"subsample": 0.7})[0] == {"sample_docs": 0.7, "grow": "levels"}
    assert rw.from_catboost({"subsample": 0.7, "sampling_unit": "Group"})[0]["sample_queries"] == 0.7
    assert any(note.startswith("bagging_freq: ") for note in notes)


@pytest.mark.parametrize(
    "given",
    [[[0, 1, "a"], (2, 3)], "[[0, 1, 'a'], [2,3]]", "[0,1,a],[2,3]", [{0: 1, 1: 1, "a": 1}, (2, 3)]],
)
def test_interaction_constraints(given: Any) -> None:
    expected = {"interactions": [[0, 1, "a"], [2, 3]]}
    params, notes = rw.from_lightgbm({"interaction_constraints": given})
    assert params == expected and any("features outside of all groups are used alone" in note for note in notes)
    params, notes = rw.from_xgboost({"interaction_constraints": given})
    assert params == {**expected, "grow": "levels"}
    assert not any(note.startswith("interaction_constraints") for note in notes)


@pytest.mark.parametrize("given", ["pairwise", ["a", "b"], 3, [[True]], [[]], [3]])
def test_no_interaction_constraints(given: Any) -> None:
    params, notes = rw.from_lightgbm({"interaction_constraints": given})
    assert params == {} and any(note.startswith("interaction_constraints: left out") for note in notes)


def test_samples_and_costs_of_features() -> None:
    given = {"feature_fraction": 0.8, "feature_fraction_bynode": 0.5, "feature_contri": [1, 0.5]}
    params, notes = rw.from_lightgbm({**given, "feature_penalty": [1, 0.5]})
    assert params == {"sample_features": 0.8, "sample_features_node": 0.5}
    assert sum("gains are not multiplied" in note for note in notes) == 2
    assert rw.from_xgboost({"colsample_bynode": 0.5})[0] == {"sample_features_node": 0.5, "grow": "levels"}
    params, notes = rw.from_catboost({"random_strength": 2})
    assert params == {"gain_noise": 2, "grow": "symmetric"}
    assert any(note.startswith("random_strength: noise is added to the square root of") for note in notes)


def test_each_name_of_the_others_is_known() -> None:
    from rankwood import migrate

    for program, names in migrate._NAMES.items():
        assert len(names) > 80
        assert [(program, name) for name in names if meaning(name, program) is None] == []
    lightgbm = pytest.importorskip("lightgbm")
    lightgbm.basic._ConfigAliases.get("metric")
    theirs = lightgbm.basic._ConfigAliases.aliases
    names = set(theirs).union(*theirs.values())
    assert len(names) > 200
    assert names - migrate._NAMES["LightGBM"] == set()
    for name, aliases in theirs.items():  # the words for one parameter mean one thing
        meanings = {alias: meaning(alias, "LightGBM") for alias in [name, *aliases]}
        assert len({of[0] for of in meanings.values() if of is not None}) == 1, meanings


def test_defaults_of_estimators_train() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(600, 6))
    data = rw.Dataset(x, np.clip(np.round(x[:, 0] + 1), 0, 4), group=[15] * 40)
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    of_lightgbm, _ = rw.from_lightgbm(lightgbm.LGBMRanker(n_estimators=5).get_params())
    of_xgboost, _ = rw.from_xgboost(xgboost.XGBRanker(n_estimators=5, max_depth=3).get_params())
    assert rw.train(of_lightgbm, data).params["leaves"] == 31
    model = rw.train(of_xgboost, data)
    assert model.params["depth"] == 3
    assert model.n_trees == 5


def test_the_page_of_parameters_is_up_to_date() -> None:
    docs = Path(__file__).parents[2] / "docs"
    made = subprocess.run(
        [sys.executable, str(docs / "make_migrating.py")], capture_output=True, text=True, check=True
    )
    page = (docs / "reference" / "migrating.md").read_text("utf-8")
    assert page == made.stdout
    row = next(line for line in page.splitlines() if line.startswith("| `leaves`"))
    assert "`num_leaves`" in row.split("|")[2]
    assert "`max_leaves`" in row.split("|")[3]


def test_names_of_estimators_are_known() -> None:
    from rankwood import migrate

    xgboost, catboost = pytest.importorskip("xgboost"), pytest.importorskip("catboost")
    assert set(xgboost.XGBRanker().get_params()) <= migrate._NAMES["XGBoost"]
    theirs = set(inspect.signature(catboost.CatBoostRanker.__init__).parameters)
    assert theirs - {"self"} <= migrate._NAMES["CatBoost"]


VALUES: list[Any] = [
    *[True, False, 0, 1, -1, 3, 2.5, -0.5, float("nan"), float("inf"), 10**30],
    *["", "x", "auto", "1,2", "a:b=c", "é", "a\0b", "=", ":", "@", "ndcg@", "ndcg@x"],
    *[[], [1, 2], ["a"], {}, {"a": 1}, (None,), b"x", len, object()],
    *[np.int64(3), np.float32(0.5), np.bool_(True), np.arange(3)],
]


@pytest.mark.parametrize("program", ["lightgbm", "xgboost", "catboost"])
def test_no_value_is_an_exception(program: str) -> None:
    from rankwood import migrate

    convert = getattr(rw, f"from_{program}")
    names = next(names for key, names in migrate._NAMES.items() if key.lower() == program)
    failed = []
    for name in sorted(names):
        for value in VALUES:
            try:
                params, notes = convert({name: value})
            except Exception as error:
                failed.append((name, value, repr(error)))
                continue
            assert all(isinstance(note, str) and "\n" not in note for note in notes), (name, value)
            assert isinstance(params, dict)
    assert failed == []


@pytest.mark.parametrize("n_parallel", [1, 3])
@pytest.mark.parametrize("format", ["xgboost", "xgboost-ubj"])
def test_early_stopped_xgboost(made: Made, other: Made, tmp_path: Path, format: str, n_parallel: int) -> None:
    """The trees that XGBRanker's own predict uses are imported."""
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    ranker = xgboost.XGBRanker(
        n_estimators=60, learning_rate=0.5, early_stopping_rounds=5, num_parallel_tree=n_parallel, subsample=0.8
    )
    ranker.fit(made.X, made.y, qid=made.qid, eval_set=[(other.X, other.y)], eval_qid=[other.qid], verbose=False)
    assert ranker.best_iteration + 1 < ranker.get_booster().num_boosted_rounds()
    path = tmp_path / ("model.json" if format == "xgboost" else "model.ubj")
    ranker.save_model(path)
    expected = ranker.predict(other.X)
    found = rw.Model.import_from(path, format).predict(other.X)
    assert np.allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    ranker.get_booster().save_model(path)
    expected = ranker.get_booster().predict(xgboost.DMatrix(other.X))
    found = rw.Model.import_from(path, format).predict(other.X)
    assert np.allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
