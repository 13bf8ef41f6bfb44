# room: evaluate
"""Folds of a cross-validation: groups, own folds, functions of the caller, splits by time."""

from __future__ import annotations

import gc
import logging
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, StratifiedGroupKFold, TimeSeriesSplit

import rankwood as rw
from conftest import OF_ARRAYS, make_arrays

X, Y, QID = make_arrays()
SHORT = {**OF_ARRAYS, "rounds": 6, "early_stop": 0}
STOPS = {**OF_ARRAYS, "rounds": 12, "early_stop": 3, "metric": "ndcg@5"}
GROUPS = np.arange(40) * 7 % 13  # of queries


def dataset(**more: Any) -> rw.Dataset:
    return rw.Dataset(X, Y, qid=QID, **more)


def parts_of(found: rw.CrossValidation, fold: int) -> tuple[Any, Any, Any]:
    """Returns the documents that a fold trains on, stops training with and tests."""
    step = (found.fold_of[QID] - fold) % len(found.folds)
    return np.flatnonzero(step > 1), np.flatnonzero(step == 1), np.flatnonzero(step == 0)


def same(a: rw.CrossValidation, b: rw.CrossValidation) -> bool:
    models = all(x.predict(X).tolist() == y.predict(X).tolist() for x, y in zip(a.models, b.models, strict=True))
    return models and np.array_equal(a.scores, b.scores, equal_nan=True) and a.pooled["ndcg@5"] == b.pooled["ndcg@5"]


# ---- groups ----


@pytest.mark.parametrize(
    "groups",
    [
        GROUPS,
        GROUPS[QID],
        [f"text {one}" for one in GROUPS],
        (GROUPS[QID] / 2),
        np.array([f"text {one}" for one in GROUPS[QID]], object),
    ],
)
def test_a_group_is_in_one_fold(groups: Any) -> None:
    found = rw.cv(SHORT, dataset(), 4, groups=groups)
    assert len({(a, b) for a, b in zip(GROUPS, found.fold_of, strict=True)}) == 13
    assert sorted(np.bincount(found.fold_of)) == [9, 9, 10, 12]
    again = rw.cv({**SHORT, "threads": 1}, dataset(), 4, groups=GROUPS)
    assert np.array_equal(found.scores, again.scores)
    assert np.array_equal(found.fold_of, again.fold_of)
    assert not np.array_equal(found.fold_of, rw.cv(SHORT, dataset(), 4).fold_of)


def test_groups_of_documents_that_are_scattered() -> None:
    order = np.argsort(np.tile(np.arange(15), 40), kind="stable")
    mixed = rw.Dataset(X[order], Y[order], qid=QID[order], sort=True)
    found = rw.cv(SHORT, mixed, 4, groups=GROUPS[QID[order]])
    plain = rw.cv(SHORT, dataset(), 4, groups=GROUPS)
    assert np.array_equal(found.fold_of, plain.fold_of)
    assert np.array_equal(found.scores, plain.scores[order])


CHANGES = np.where(np.arange(600) == 37, 5, GROUPS[QID])
GAP = [None if i == 4 else "a" for i in range(40)]


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        (CHANGES, rw.DataError, "groups changes within query '2'; expected one value per query"),
        (np.where(np.arange(600) == 37, np.nan, GROUPS[QID]), rw.DataError, "changes within query '2'"),
        (np.where(np.arange(600) == 37, None, GROUPS[QID].astype(object)), rw.DataError, "changes within query '2'"),
        (GAP, rw.DataError, "groups of query '4' is missing"),
        (np.where(np.arange(40) == 4, np.nan, 1.0), rw.DataError, "groups of query '4' is missing"),
        (np.zeros(40), rw.DataError, "the queries form 1 group; expected 5 or more"),
        (GROUPS % 4, rw.DataError, "the queries form 4 groups; expected 5 or more"),
        (GROUPS[:-1], rw.DataError, r"groups has shape \(39,\); expected \(600,\), one value per document"),
        ("text", TypeError, "groups is 'text'; expected an array"),
        (3, TypeError, "groups is 3; expected an array"),
    ],
)
def test_groups_are_refused(groups: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rw.cv(SHORT, dataset(), 5, groups=groups)
    with pytest.raises(error):
        rw.train({**STOPS, "early_stop_rule": "folds"}, dataset(), groups=groups)


def test_rounds_by_folds_use_groups() -> None:
    given = {**OF_ARRAYS, "early_stop": 5, "rounds": 40, "early_stop_rule": "folds"}
    n_trees = {rw.train(given, dataset(), groups=one).n_trees for one in (None, GROUPS, GROUPS % 6, GROUPS % 7)}
    assert len(n_trees) > 1
    with pytest.raises(rw.ParameterError, match="groups has no effect without early_stop_rule"):
        rw.train(SHORT, dataset(), groups=GROUPS)


def test_searches_use_groups() -> None:
    x, y, qid = make_arrays(seed=2)
    valid = rw.Dataset(x, y, qid=qid)
    rows = [rw.select(SHORT, dataset(), valid, loss=0.05, n_repeats=1, groups=one).rows for one in (None, GROUPS)]
    assert rows[0][0] != rows[1][0]
    tuned = [rw.tune(STOPS, dataset(), n_folds=3, trials=1, groups=one).trials for one in (None, GROUPS)]
    assert tuned[0][0]["mean"] != tuned[1][0]["mean"]
    for one in (rw.tune, rw.select):
        more: dict[str, Any] = {"trials": 1} if one is rw.tune else {}
        with pytest.raises(rw.DataError, match="the queries form 1 group; expected 2 or more"):
            one(STOPS, dataset(), valid, groups=np.zeros(40), **more)


def test_click_data_without_groups_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rankwood")
    clicks = rw.Dataset(X, Y > 1, qid=QID, position=np.tile(np.arange(15), 40))
    rw.cv({**SHORT, "debias": "ipw"}, clicks, 3)
    assert "sessions of one search text may be in several folds" in caplog.text
    caplog.clear()
    rw.cv({**SHORT, "debias": "ipw"}, clicks, 3, groups=GROUPS)
    assert "sessions" not in caplog.text


# ---- own folds ----


@pytest.mark.parametrize("params", [SHORT, STOPS])
def test_own_folds_are_those_that_are_drawn(params: dict[str, Any]) -> None:
    params = {**params, "metric": "ndcg@5"}
    drawn = rw.cv(params, dataset(), 4)
    pairs = [(np.flatnonzero(drawn.fold_of[QID] != i), np.flatnonzero(drawn.fold_of[QID] == i)) for i in range(4)]
    assert same(rw.cv(params, dataset(), folds=pairs), drawn)
    masks = [(drawn.fold_of[QID] != i, drawn.fold_of[QID] == i) for i in range(4)]
    assert same(rw.cv(params, dataset(), folds=iter(masks)), drawn)
    if params["early_stop"]:
        assert same(rw.cv(params, dataset(), folds=[parts_of(drawn, i) for i in range(4)]), drawn)
    one = rw.cv(params, dataset(), folds=pairs, shared_bins=True)
    assert same(one, rw.cv(params, dataset(), 4, shared_bins=True))


def test_a_fold_is_a_training() -> None:
    found = rw.cv(STOPS, dataset(), 4)
    train, valid, test = (rw.Dataset(X[rows], Y[rows], qid=QID[rows]) for rows in parts_of(found, 2))
    used = {name: found.models[2].params[name] for name in ("sample_features", "gain_noise", "rate", "early_stop_rule")}
    model = rw.train({**STOPS, **used}, train, valid={"valid": valid, "test": test}, strict=None)
    assert model.evals_result == found.folds[2].evals_result
    assert model.predict(X).tolist() == found.models[2].predict(X).tolist()


def test_splitters_divide_queries() -> None:
    found = rw.cv(SHORT, dataset(), folds=KFold(4))
    assert found.fold_of.tolist() == np.repeat(np.arange(4), 10).tolist()
    found = rw.cv(SHORT, dataset(), folds=GroupKFold(4), groups=[f"g{one}" for one in GROUPS])
    assert len(set(zip(GROUPS, found.fold_of, strict=True))) == 13
    rw.cv(SHORT, dataset(), folds=StratifiedGroupKFold(3), groups=GROUPS)
    found = rw.cv(SHORT, dataset(), folds=RepeatedKFold(n_splits=4, n_repeats=2, random_state=1))
    assert len(found.folds) == 8
    assert set(found.fold_of) == {0, 1, 2, 3}
    found = rw.cv(SHORT, dataset(), folds=TimeSeriesSplit(3))
    untested = found.fold_of == -1
    assert untested.tolist() == [True] * 10 + [False] * 30
    assert np.array_equal(np.isnan(found.scores), untested[QID])
    assert found.pooled.metrics["ndcg@10"].per_query.shape == (30,)
    assert [one.n_train for one in found.folds] == [10, 20, 30]
    assert rw.evaluate(dataset(), np.nan_to_num(found.scores)).metrics["ndcg@10"].per_query[
        10:
    ].mean() == pytest.approx(found.pooled["ndcg@10"], abs=1e-12)


def test_folds_in_order() -> None:
    found = rw.cv(SHORT, dataset(), 4, shuffle=False)
    assert found.fold_of.tolist() == np.repeat(np.arange(4), 10).tolist()
    found = rw.cv(SHORT, dataset(), 4, shuffle=False, groups=np.arange(40) // 7)
    assert found.fold_of.tolist() == [0] * 14 + [1] * 14 + [2] * 7 + [3] * 5
    with pytest.raises(rw.DataError, match="form 3 groups"):
        rw.cv(SHORT, dataset(), 4, shuffle=False, groups=np.arange(40) % 3)


HALF, REST = np.arange(300), np.arange(300, 600)


@pytest.mark.parametrize(
    ("params", "more", "message"),
    [
        (SHORT, {"folds": []}, "folds is empty"),
        (SHORT, {"folds": 5}, "folds is a int; expected a splitter"),
        (SHORT, {"folds": [(HALF,)]}, r"fold 0 is not a tuple \(train, test\)"),
        (SHORT, {"folds": [(HALF, REST), (HALF, np.arange(299, 600))]}, "fold 1 has document 299 in two parts"),
        (SHORT, {"folds": [(HALF, REST + 1)]}, "fold 0 has document 600; expected 0 to 599"),
        (SHORT, {"folds": [(HALF, -REST)]}, "fold 0 has document -300"),
        (SHORT, {"folds": [(HALF, REST / 2)]}, "fold 0 has float64 of shape"),
        (SHORT, {"folds": [(HALF, REST[1:])]}, "fold 0 divides query '20'"),
        (SHORT, {"folds": [(HALF, [])]}, "fold 1 has no queries to measure its model"),
        (SHORT, {"folds": [([], HALF)]}, "fold 1 has no queries to train on"),
        (SHORT, {"folds": [(HALF, REST[:150], REST[150:])]}, "but early_stop is 0"),
        (STOPS, {"folds": TimeSeriesSplit(3)}, "fold 0 does not train on test queries of the next fold"),
        (STOPS, {"folds": [(HALF, [], REST)]}, "fold 1 has no queries to stop training early"),
        (SHORT, {"folds": [(HALF, REST)], "groups": GROUPS}, "groups has no effect with folds that are index arrays"),
        (SHORT, {"folds": [(HALF, REST)], "n_folds": 4}, "n_folds has no effect with folds"),
        (SHORT, {"folds": [(HALF, REST)], "shuffle": False}, "shuffle has no effect with folds"),
    ],
)
def test_own_folds_are_refused(params: dict[str, Any], more: dict[str, Any], message: str) -> None:
    with pytest.raises(rw.ParameterError, match=message):
        rw.cv(params, dataset(), **more)


# ---- functions of the caller, and rounds ----


def test_curves() -> None:
    found = rw.cv({**STOPS, "metric": ["ndcg@5", "map"], "train_metric": True}, dataset(), 4)
    for fold in found.folds:
        assert set(fold.evals_result) == {"train", "valid", "test"}
        values = fold.evals_result["test"]["map"]
        assert values[fold.model.best_round - 1] == fold.evaluation["map"]
        assert len(values) >= fold.model.best_round
    found = rw.cv(SHORT, dataset(), 3)
    assert all(list(fold.evals_result) == ["test"] for fold in found.folds)
    assert all(len(fold.evals_result["test"]["ndcg@10"]) == 6 for fold in found.folds)


def test_callbacks_stop_a_fold() -> None:
    seen = []

    def stop(done: rw.Round) -> bool:
        seen.append((done.fold, done.round, done.metrics["test"]["ndcg@10"]))
        return done.fold == 1 and done.round == 2

    found = rw.cv(SHORT, dataset(), 3, callbacks=[stop])
    assert [one[:2] for one in seen] == [(i, k + 1) for i, n in enumerate([6, 2, 6]) for k in range(n)]
    assert [one.model.n_trees for one in found.folds] == [6, 2, 6]
    assert [one[2] for one in seen[:6]] == found.folds[0].evals_result["test"]["ndcg@10"]


def squared(scores: Any, data: rw.Dataset) -> tuple[Any, Any]:
    assert len(data.label) == len(scores) == data.n_docs == data.query_offsets[-1] == len(data.qid)
    assert data.n_features == 6
    return scores - data.label, np.ones(len(scores))


def error(scores: Any, data: rw.Dataset) -> float:
    return float(np.mean((scores - data.label) ** 2))


error.lower_is_better = True  # type: ignore[attr-defined]


def test_functions() -> None:
    found = rw.cv({**STOPS, "rounds": 30, "objective": squared, "metric": [error, "ndcg@5"]}, dataset(), 4)
    for i, fold in enumerate(found.folds):
        rows = parts_of(found, i)[2]
        value = np.mean((found.scores[rows] - Y[rows]) ** 2)
        assert fold.evaluation["error"] == pytest.approx(value, rel=1e-12)
        assert fold.evals_result["valid"]["error"][fold.model.best_round - 1] == min(
            fold.evals_result["valid"]["error"]
        )
    assert found.pooled["error"] == pytest.approx(np.mean((found.scores - Y) ** 2), rel=1e-12)
    assert found.mean("error")[0] == np.mean([fold.evaluation["error"] for fold in found.folds])
    train, valid, _ = (rw.Dataset(X[rows], Y[rows], qid=QID[rows]) for rows in parts_of(found, 1))
    used = {name: found.models[1].params[name] for name in ("sample_features", "gain_noise", "rate", "early_stop_rule")}
    given = {**STOPS, **used, "rounds": 30, "objective": squared, "metric": error}
    model = rw.train(given, train, valid=valid, strict=None)
    assert model.predict(X).tolist() == found.models[1].predict(X).tolist()


def test_functions_get_side_columns() -> None:
    weight = np.arange(600) % 5 + 1.0

    def metric(scores: Any, data: rw.Dataset) -> float:
        assert data.weight is not None and data.weight.shape == scores.shape
        return rw.evaluate(data, scores)["ndcg@10"]

    found = rw.cv({**SHORT, "metric": metric}, dataset(weight=weight), 3)
    assert all(one.evaluation["metric"] == one.evaluation["ndcg@10"] for one in found.folds)
    assert found.pooled["metric"] == found.pooled["ndcg@10"]


def test_the_data_of_a_fold_ends_with_it() -> None:
    kept = []

    def metric(_scores: Any, data: rw.Dataset) -> float:
        kept.append(data)
        return 1.0

    rw.cv({**SHORT, "metric": metric}, dataset(), 3)
    assert len(kept[0].label) == kept[0].n_docs
    with pytest.raises(rw.DataError, match="the fold of this data set has ended"):
        rw.evaluate(kept[0], np.zeros(kept[0].n_docs))


def test_data_of_files(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    with open(path, "w", encoding="utf-8") as file:
        file.write("label,qid,a,b,c,d,e,f\n")
        for y, qid, row in zip(Y, QID, X, strict=True):
            file.write(f"{y},{qid},{','.join(repr(float(one)) for one in row)}\n")
    given = {**SHORT, "objective": squared, "metric": error}
    found = rw.cv(given, rw.Dataset(path), 3, groups=GROUPS)
    plain = rw.cv(given, dataset(feature_names=list("abcdef")), 3, groups=GROUPS)
    assert np.array_equal(found.scores, plain.scores)
    assert found.pooled["error"] == plain.pooled["error"]
    assert found.models[0].feature_names == list("abcdef")


def test_nothing_is_kept() -> None:
    data = dataset()
    seen = weakref.ref(data)
    gc.disable()
    try:
        found = rw.cv({**SHORT, "metric": error}, data, 3)
        del data
        assert seen() is None
    finally:
        gc.enable()
    assert found.scores.shape == (600,)


class OwnError(Exception):
    pass


@pytest.mark.parametrize("raised", [OwnError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["objective", "metric", "callback"])
def test_errors_of_functions_arrive(raised: type[BaseException], where: str) -> None:
    calls = []

    def fail(*_args: Any) -> Any:
        calls.append(1)
        raise raised("own")

    params = SHORT if where == "callback" else {**SHORT, where: fail}
    with pytest.raises(raised):
        rw.cv(params, dataset(), 3, callbacks=[fail] if where == "callback" else [])
    assert len(calls) == 1


# ---- times ----


@pytest.mark.parametrize(
    "times",
    [
        np.arange(40) // 3,
        [f"2024-01-{1 + i // 3:02d}" for i in range(40)],
        (np.datetime64("2024-01-01T10:00") + np.arange(40) // 3)[QID],
        (np.arange(40) // 3 * 0.5).tolist(),
    ],
)
def test_split_by_time(times: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "rankwood")
    earlier, later = rw.split_by_time(dataset(), times)
    assert set(QID[earlier]) == set(range(30))
    assert set(QID[later]) == set(range(30, 40))
    assert len(earlier) + len(later) == 600
    assert "30 earlier queries, 10 later ones" in caplog.text
    found = rw.cv(SHORT, dataset(), folds=[(earlier, later)])
    assert found.folds[0].n_test == 10


def test_split_by_time_with_ties() -> None:
    earlier, later = rw.split_by_time(dataset(), np.minimum(np.arange(40), 5))
    assert (len(earlier), len(later)) == (75, 525)
    earlier, later = rw.split_by_time(dataset(), np.maximum(np.arange(40), 38))
    assert (len(earlier), len(later)) == (585, 15)
    earlier, later = rw.split_by_time(dataset(), np.arange(40), share=0.5)
    assert (len(earlier), len(later)) == (300, 300)


@pytest.mark.parametrize(
    ("times", "more", "message"),
    [
        (np.zeros(40), {}, "all 40 queries have one time"),
        (CHANGES, {}, "times changes within query '2'"),
        (["2024-01-01"] * 39 + ["5 May"], {}, "expected numbers or dates"),
        (["2024-01-01"] * 39 + [None], {}, "times of query '39' is missing"),
        ([1.0] * 39 + [np.nan], {}, "times of query '39' is missing"),
        (np.arange(40), {"share": 1.0}, "share is 1.0; expected a number between 0 and 1"),
    ],
)
def test_split_by_time_refuses(times: Any, more: dict[str, Any], message: str) -> None:
    with pytest.raises((rw.DataError, rw.ParameterError), match=message):
        rw.split_by_time(dataset(), times, **more)
