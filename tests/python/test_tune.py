# room: evaluate
"""Tests rankwood.tune: its model and parameters, its arguments, and equality with the program."""

import json
import math
import subprocess

import pytest

import rankwood
from rankwood import Dataset
from rankwood._core import lib

FIT = {"rounds": 30, "early_stop": 6}
SPACE = {"leaves": (3, 8, "log"), "objective": ["lambdarank", "xendcg"], "min_docs": (3, 20)}


@pytest.fixture(scope="module")
def sets():
    return [Dataset(X, y, qid=qid) for X, y, qid in (rankwood.synth("letor", 60, seed=seed) for seed in (1, 2))]


def test_the_model_is_that_of_the_parameters(sets):
    train, valid = sets
    tuned = rankwood.tune(FIT, train, valid, trials=12, space=SPACE)
    assert [one["number"] for one in tuned.trials] == list(range(12))
    assert list(tuned.trials[1]["params"]) == ["leaves", "objective", "min_docs"]
    assert all(3 <= one["params"]["leaves"] <= 8 for one in tuned.trials[1:])
    assert tuned.params["early_stop"] == 0 and tuned.params["rounds"] == tuned.trials[tuned.chosen]["rounds"]
    again = rankwood.train(tuned.params, train, valid=valid)
    assert again.to_bytes() == tuned.model.to_bytes() and again.used_params == tuned.model.used_params
    assert tuned.model.used_params["rounds"] == tuned.params["rounds"]
    assert (tuned.chosen == 0 or tuned.trials[tuned.chosen]["level"]) and tuned.estimate.low <= tuned.estimate.high
    assert "ties" in tuned.estimate.conventions and tuned.metric == "ndcg@10"
    best = max((one for one in tuned.trials if one["whole"]), key=lambda one: one["mean"])
    assert best["difference"] == 0 and all(math.isnan(one["error"]) != one["whole"] for one in tuned.trials)


def test_folds_train_on_all_data(sets):
    tuned = rankwood.tune(FIT, sets[0], n_folds=3, trials=4, space=SPACE)
    assert rankwood.train(tuned.params, sets[0]).to_bytes() == tuned.model.to_bytes()
    assert repr(tuned).startswith(f"Tuned(trial {tuned.chosen} of 4; ndcg@10: ")
    again = rankwood.tune(FIT | {"threads": 1}, sets[0], n_folds=3, trials=4, space=SPACE)
    assert again.model.to_bytes() == tuned.model.to_bytes() and again.estimate == tuned.estimate


def test_a_search_resumes(sets, tmp_path):
    path = tmp_path / "search"
    search = {"trials": 12, "space": SPACE, "checkpoint": path}
    whole = rankwood.tune(FIT, *sets, **search)
    fewer = rankwood.tune(FIT, *sets, **search | {"trials": 10})
    text = path.read_bytes()
    assert len(fewer.trials) == 10 and text.startswith(b"rankwood tuning 1\n")
    again = rankwood.tune(FIT | {"threads": 1}, *sets, **search, resume="auto")
    assert again.model.to_bytes() == whole.model.to_bytes() and again.estimate == whole.estimate
    assert [str(one) for one in again.trials] == [str(one) for one in whole.trials]
    with pytest.raises(rankwood.ParameterError, match="the parameters or the folds have changed"):
        rankwood.tune(FIT | {"l2": 5}, *sets, **search, resume=path)
    with pytest.raises(rankwood.ParameterError, match="the space has changed"):
        rankwood.tune(FIT, *sets, **search | {"space": {"leaves": (3, 4)}}, resume=path)
    with pytest.raises(rankwood.DataError, match="the data has changed"):
        rankwood.tune(FIT, *reversed(sets), **search, resume=path)
    with pytest.raises(rankwood.ParameterError, match="resume='auto' needs checkpoint"):
        rankwood.tune(FIT, *sets, trials=2, resume="auto")
    path.write_bytes(text[:300])
    with pytest.raises(rankwood.FormatError, match="truncated or damaged"):
        rankwood.tune(FIT, *sets, **search, resume="auto")


def test_the_chosen_parameters_replace_those_given(sets):
    tuned = rankwood.tune(FIT | {"seed": 5, "l2": 10}, *sets, trials=10, space={"rate": (0.3, 0.9)})
    assert tuned.trials[0]["seed"] == 5 and tuned.params["l2"] == 10
    assert tuned.params["seed"] == tuned.trials[tuned.chosen]["seed"]
    if tuned.chosen > 0:
        assert 0.3 <= tuned.params["rate"] <= 0.9


def test_the_program_finds_the_same(program, tmp_path):
    paths = []
    for name, seed in (("train", 1), ("valid", 2)):
        paths.append(str(tmp_path / name))
        subprocess.run([program, "synth", "--shape", "letor", "--queries", "60", "--seed", str(seed), "-o", paths[-1]],
                       check=True)  # fmt: skip
    train, valid = (Dataset([path]) for path in paths)
    tuned = rankwood.tune(FIT, train, valid, trials=11)
    out = subprocess.run(
        [program, "tune", paths[0], "--valid", paths[1], "--rounds", "30", "--early-stop", "6", "--trials", "11",
         "--quiet", "--json"],
        check=True, capture_output=True,
    )  # fmt: skip
    rows = json.loads(out.stdout)["rows"]
    assert [(row["seed"], row["rounds"], row["mean"]) for row in rows] == [
        (one["seed"], one["rounds"], one["mean"]) for one in tuned.trials
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either trials or time"),
        ({"trials": 3, "time": 1}, "either trials or time"),
        ({"trials": 0}, "trials is 0"),
        ({"time": 0}, "time is 0"),
        ({"time": "50"}, "time is '50'"),
        ({"trials": 2, "n_folds": 1}, "n_folds is 1"),
        ({"trials": 2, "n_folds": 61}, "tuning needs at least 61 queries for 61 folds; found 60"),
        ({"trials": 2, "space": {"leafs": (1, 2)}}, "unknown parameter 'leafs'; the nearest is 'leaves'"),
        ({"trials": 2, "space": {"leaves": (4, 4)}}, "the range of 'leaves' is empty: 4 to 4"),
        ({"trials": 2, "space": {"leaves": 4}}, "expected a tuple"),
        ({"trials": 2, "space": {"leaves": (4, 9, "log", 2)}}, "expected a tuple"),
        ({"trials": 2, "space": {"objective": (1, 2)}}, "^'objective' is not a number: expected several values"),
        ({"trials": 2, "space": {"leaves": (4, 9), "grow": ["levels"]}}, "list of two or more values"),
        ({"trials": 2, "space": {"objective": ["a|b", "c"]}}, "expected numbers or words"),
        ({"trials": 2, "space": {}}, "no parameter to search"),
        ({"trials": 2, "space": {"rounds": (1, 5)}}, "'rounds' cannot be searched"),
    ],
)
def test_wrong_arguments(sets, arguments, message):
    with pytest.raises((rankwood.ParameterError, rankwood.DataError), match=message):
        rankwood.tune(FIT, sets[0], **arguments)


def test_parameters_without_effect_warn(sets):
    with pytest.warns(rankwood.NoEffectWarning, match="'decay' has no effect with objective lambdarank"):
        assert len(rankwood.tune(FIT | {"decay": 0.5}, *sets, trials=2).trials[0]["params"]) == 9
    lib.rw_no_effect_reset()
    with pytest.warns(rankwood.NoEffectWarning, match="'decay' has no effect in this search"):
        rankwood.tune(FIT, *sets, trials=2, space={"decay": (0.5, 0.9)})
    with pytest.raises(rankwood.ParameterError, match="'decay' has no effect in this search"):
        rankwood.tune(FIT, *sets, trials=2, space={"decay": (0.5, 0.9)}, strict=True)


def test_the_parameters_are_only_those_of_the_caller():
    X, y, qid = rankwood.synth("letor", 60, seed=1)
    X[:, 2] = X[:, 2] // 0.25
    data = Dataset(X, y, qid=qid, categorical_features=[2])
    tuned = rankwood.tune(FIT, data, n_folds=3, trials=2, space=SPACE)
    assert set(tuned.params) <= {*FIT, *SPACE, "seed"}
    assert rankwood.train(tuned.params, data).to_bytes() == tuned.model.to_bytes()


def test_wrong_sets(sets):
    with pytest.raises(rankwood.DataError, match="the validation set is the training set"):
        rankwood.tune(FIT, sets[0], sets[0], trials=2)
    with pytest.raises(rankwood.ParameterError, match="both valid and n_folds"):
        rankwood.tune(FIT, *sets, n_folds=3, trials=2)
    with pytest.raises(rankwood.ParameterTypeError, match="space is a list"):
        rankwood.tune(FIT, *sets, trials=2, space=[])
    with pytest.raises(rankwood.ParameterError, match="metric is a function"):
        rankwood.tune({"metric": lambda scores, data: 1.0}, *sets, trials=2)
    with pytest.raises(rankwood.ParameterError, match="both set to 5 and searched"):
        rankwood.tune({"leaves": 5}, *sets, trials=2, space=SPACE)
    unlabelled = Dataset(rankwood.synth("letor", 5, seed=1)[0], qid=rankwood.synth("letor", 5, seed=1)[2])
    with pytest.raises(rankwood.DataError, match="label"):
        rankwood.tune(FIT, unlabelled, trials=2)
