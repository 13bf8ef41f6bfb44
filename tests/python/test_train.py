# room: train
"""Training: sets, stopping, callbacks, objectives and metrics of one's own."""

from __future__ import annotations

import logging
import os
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rankwood
from conftest import Made, make
from rankwood import Round, train


def test_the_training_set_stops_nothing(
    made: Made, other: Made, small: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """The next set does; alone, early stopping is off, with a warning."""
    params = {**small, "rounds": 60, "early_stop": 5}
    expected = rankwood.train(params, made.dataset(), valid=other.dataset())
    with caplog.at_level("INFO", "rankwood"):
        model = rankwood.train(params, made.dataset(), valid={"own": made.dataset(), "other": other.dataset()})
    assert model.best_round == expected.best_round < 60
    assert any("'other' stops training: ndcg@10" in one.message for one in caplog.records)
    assert not [one for one in caplog.records if one.levelname == "WARNING"]
    caplog.clear()
    model = rankwood.train(params, made.dataset(), valid={"own": made.dataset()})
    assert model.n_trees == 60 and model.best_round == 0 and model.used_params["early_stop"] == 0
    (warning,) = (one.message for one in caplog.records if one.levelname == "WARNING")
    assert warning == "validation set 'own' is the training set, so early stopping is off: all rounds are kept"


@pytest.mark.parametrize("of", ["one document a query", "equal labels"])
def test_a_metric_that_cannot_change(of: str, made: Made, other: Made, small: dict[str, Any]) -> None:
    if of == "equal labels":
        valid = rankwood.Dataset(other.X, np.ones(len(other.y)), qid=other.qid)
    else:
        valid = rankwood.Dataset(other.X, other.y, group=np.ones(len(other.y), int))
    with pytest.raises(rankwood.DataError, match="ndcg@10 of validation set 'v' is 1 for every ranking"):
        rankwood.train(small, made.dataset(), valid={"v": valid})
    assert rankwood.train({**small, "early_stop": 0}, made.dataset(), valid=valid).n_trees == 8


def test_sets_by_name(made: Made, other: Made, small: dict[str, Any]) -> None:
    sets = {"first": other.dataset(), "second": make(3).dataset()}
    params = {**small, "metric": ["ndcg@10", "map"], "train_metric": True, "early_stop_rule": "best"}
    model = train(params, made.dataset(), valid=sets)
    assert set(model.evals_result) == {"train", "first", "second"}
    assert set(model.evals_result["second"]) == {"ndcg@10", "map"}
    for name, data in {"train": made.dataset(), **sets}.items():
        values = model.evals_result[name]["ndcg@10"]
        assert len(values) == 8
        best = rankwood.evaluate(data, model)["ndcg@10"]
        assert values[model.best_round - 1] == pytest.approx(best, abs=1e-11)
    firsts = model.evals_result["first"]["ndcg@10"]
    assert model.best_round == 1 + firsts.index(max(firsts)) == model.n_trees


def test_one_set_and_a_list(made: Made, other: Made, small: dict[str, Any]) -> None:
    assert list(train(small, made.dataset(), valid=other.dataset()).evals_result) == ["valid"]
    both = [other.dataset(), make(3).dataset()]
    assert list(train(small, made.dataset(), valid=both).evals_result) == ["valid_0", "valid_1"]


def test_features_of_sets_by_name(made: Made, other: Made, small: dict[str, Any]) -> None:
    def frame(of: Made, columns: str) -> rankwood.Dataset:
        table = pd.DataFrame(of.X, columns=list("abcdef"))[list(columns)]
        return rankwood.Dataset(table, of.y, qid=of.qid)

    asked: list[Any] = []

    def seen(scores: Any, data: rankwood.Dataset) -> float:
        asked.append(data)
        return float(scores[0])

    sets = {"same": frame(other, "abcdef"), "mixed": frame(other, "dbefca")}
    model = train({**small, "metric": [seen, "ndcg@10"]}, frame(made, "abcdef"), valid=sets)
    assert model.evals_result["mixed"] == model.evals_result["same"]
    assert asked[:2] == list(sets.values())
    with pytest.raises(rankwood.DataError, match="lacks 1 of the model's features: 'e'"):
        train(small, frame(made, "abcdef"), valid=frame(other, "abcdf"))
    more = train({**small, "rounds": 2}, frame(made, "fedcba"), init=model)
    assert np.array_equal(more.predict(other.X, n_trees=model.n_trees), model.predict(other.X))
    assert more.to_bytes() == train({**small, "rounds": 2}, frame(made, "abcdef"), init=model).to_bytes()


def test_stop_on(made: Made, other: Made, small: dict[str, Any]) -> None:
    sets = {"a": other.dataset(), "b": make(4, 15).dataset()}
    params = {**small, "rounds": 60, "early_stop": 5, "early_stop_rule": "best"}
    models = {name: train(params, made.dataset(), valid=sets, stop_on=name) for name in sets}
    for name, model in models.items():
        values = model.evals_result[name]["ndcg@10"]
        assert model.best_round == 1 + values.index(max(values))
        assert len(values) == model.best_round + 5 < 60
    assert models["a"].best_round != models["b"].best_round
    assert train(params, made.dataset(), valid=sets).to_bytes() == models["a"].to_bytes()
    with pytest.raises(rankwood.ParameterError, match="stop_on is 'c'; the validation sets are"):
        train(params, made.dataset(), valid=sets, stop_on="c")


def test_callbacks_see_rounds(made: Made, other: Made, small: dict[str, Any]) -> None:
    seen: list[Round] = []
    params = {**small, "early_stop_rule": "best"}
    model = train(params, made.dataset(), valid={"v": other.dataset()}, callbacks=[seen.append])
    assert [one.round for one in seen] == list(range(1, 9))
    assert {one.n_rounds for one in seen} == {8}
    assert [one.metrics["v"]["ndcg@10"] for one in seen] == model.evals_result["v"]["ndcg@10"]
    assert seen[-1].best_round == model.best_round
    assert seen[-1].best_value == max(model.evals_result["v"]["ndcg@10"])
    seen.clear()
    model = train(small, made.dataset(), valid={"v": other.dataset()}, callbacks=[seen.append])
    for one in seen:
        assert one.best_value == model.evals_result["v"]["ndcg@10"][one.best_round - 1]


def test_a_callback_stops(made: Made, small: dict[str, Any]) -> None:
    later: list[int] = []
    callbacks = [lambda one: one.round == 3, lambda one: later.append(one.round)]
    model = train(small, made.dataset(), callbacks=callbacks)
    assert model.n_trees == 3
    assert model.finished
    assert later == [1, 2, 3], "a callback after the one that stops is called, too"


class Odd(Exception):
    """Not an exception of the package."""


@pytest.mark.parametrize("kind", [Odd, SystemExit, GeneratorExit])
@pytest.mark.parametrize("where", ["callback", "objective", "metric"])
def test_an_exception_is_raised_as_it_was(
    made: Made, small: dict[str, Any], where: str, kind: type[BaseException]
) -> None:
    error, n_calls = kind("mine"), 0

    def fail(*_: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        raise error

    data = made.dataset()
    params = {**small, where: fail} if where != "callback" else small
    with pytest.raises(kind) as raised:
        train(params, data, valid=data, callbacks=[fail] if where == "callback" else [])
    assert raised.value is error
    assert n_calls == 1
    train(small, data)  # and all is well


def squares(scores: Any, data: rankwood.Dataset) -> tuple[Any, Any]:
    """Gradient and hessian of (score - label)^2 / 2."""
    return scores - data.label, np.ones(len(scores))


def trees_of(model: rankwood.Model) -> list[bytes]:
    """A model's file without the objective's name and the checksum."""
    lines = model.to_bytes().splitlines()
    assert lines[-1].startswith(b"checksum ")
    return [line for line in lines[:-1] if not line.startswith(b"objective =")]


@pytest.mark.parametrize("sort", [False, True])
def test_objective_of_ones_own(made: Made, small: dict[str, Any], sort: bool) -> None:
    order = np.random.default_rng(8).permutation(len(made.y)) if sort else np.arange(len(made.y))

    def data() -> rankwood.Dataset:
        return rankwood.Dataset(made.X[order], made.y[order], qid=made.qid[order], sort=sort)

    params = {**small, "sample_features": 1, "gain_noise": 0.5}
    own = train({**params, "objective": squares}, data())
    built_in = train({**params, "objective": "regression"}, data())
    assert trees_of(own) == trees_of(built_in)
    assert np.corrcoef(own.predict(made.X), made.y)[0, 1] > 0.5


def test_the_sign_is_the_gradient_of_the_loss(made: Made, small: dict[str, Any]) -> None:
    model = train({**small, "objective": lambda s, d: (-d.label.astype(float), np.ones(len(s)))}, made.dataset())
    assert (model.predict(made.X)[made.y > 0] > 0).all()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda n: (np.zeros(n), np.where(np.arange(n) == 7, -1.0, 1)), "hessian of document 7 .* below 0"),
        (lambda n: (np.where(np.arange(n) == 7, np.nan, 1), np.ones(n)), "gradient of document 7 .* nan"),
        (lambda n: (np.ones(n), np.where(np.arange(n) == 7, np.inf, 1)), "hessian of document 7 .* inf"),
        (lambda n: (np.ones(n - 1), np.ones(n)), r"gradient has shape \(\d+,\); expected \(\d+,\)"),
        (lambda n: (np.ones(n), np.ones((n, 1))), "hessian has shape"),
    ],
)
def test_gradients_that_cannot_be(made: Made, small: dict[str, Any], result: Any, message: str) -> None:
    with pytest.raises(rankwood.DataError, match=message):
        train({**small, "objective": lambda scores, data: result(len(scores))}, made.dataset())


def test_arrays_of_an_objective_are_read_only(made: Made, small: dict[str, Any]) -> None:
    def writes(scores: Any, data: rankwood.Dataset) -> Any:
        scores[0] = 1
        return squares(scores, data)

    with pytest.raises(ValueError, match="read-only"):
        train({**small, "objective": writes}, made.dataset())


def test_metric_of_ones_own(made: Made, other: Made, small: dict[str, Any]) -> None:
    sets = {"a": other.dataset(), "b": make(3).dataset()}
    asked: list[rankwood.Dataset] = []

    def rmse(scores: Any, data: rankwood.Dataset) -> float:
        asked.append(data)
        return float(np.sqrt(np.mean((scores - data.label) ** 2)))

    rmse.lower_is_better = True  # type: ignore[attr-defined]
    params = {**small, "objective": "regression", "metric": [rmse, "ndcg@10"]}
    model = train(params, made.dataset(), valid=sets)
    assert asked[:2] == [sets["a"], sets["b"]]
    values = model.evals_result["a"]["rmse"]
    assert values == sorted(values, reverse=True) and model.best_round == 8
    assert values[-1] == pytest.approx(rmse(model.predict(other.X), sets["a"]))
    assert model.evals_result["b"]["rmse"][-1] == pytest.approx(rmse(model.predict(sets["b"]), sets["b"]))
    assert set(model.evals_result["a"]) == {"rmse", "ndcg@10"}

    higher = train({**params, "metric": [lambda s, d: rmse(s, d)]}, made.dataset(), valid=sets)
    assert higher.best_round == 1
    with pytest.raises(rankwood.ParameterError, match="2 functions"):
        train({**small, "metric": [rmse, rmse]}, made.dataset(), valid=sets)


def test_metric_sees_the_callers_order(made: Made, small: dict[str, Any]) -> None:
    order = np.random.default_rng(8).permutation(len(made.y))
    mixed = rankwood.Dataset(made.X[order], made.y[order], qid=made.qid[order], sort=True)

    def gap(scores: Any, data: rankwood.Dataset) -> float:
        assert np.array_equal(data.label, made.y[order])
        return float(np.mean((scores - made.y[order]) ** 2))

    model = train({**small, "objective": "regression", "metric": gap}, made.dataset(), valid=mixed)
    last = np.mean((model.predict(made.X[order], n_trees=1) - made.y[order]) ** 2)
    assert model.evals_result["valid"]["gap"][0] == pytest.approx(last)


def test_init(made: Made, small: dict[str, Any]) -> None:
    whole = train(small, made.dataset())
    half = train({**small, "rounds": 4}, made.dataset())
    more = train({**small, "rounds": 4}, made.dataset(), init=half)
    assert more.n_trees == 8
    assert np.array_equal(more.predict(made.X, n_trees=4), half.predict(made.X))
    value = {m: rankwood.evaluate(made.dataset(), m)["ndcg@10"] for m in (half, more, whole)}
    assert value[more] > value[half]
    assert value[more] == pytest.approx(value[whole], abs=0.02)


def test_ctrl_c_in_a_callback(made: Made, small: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    def press(one: Round) -> None:
        if one.round == 4:
            os.kill(os.getpid(), signal.SIGINT)

    model = train({**small, "rounds": 500}, made.dataset(), callbacks=[press])
    assert model.n_trees == 4
    assert not model.finished
    assert model.to_bytes().count(b"finished no") == 1
    assert any("interrupted: the model is the best so far, with 4 trees" in r.message for r in caplog.records)
    assert np.array_equal(model.predict(made.X), train({**small, "rounds": 4}, made.dataset()).predict(made.X))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize("raises", [True, False])
def test_ctrl_c_in_the_last_round(
    made: Made, small: dict[str, Any], caplog: pytest.LogCaptureFixture, raises: bool
) -> None:
    def press(one: Round) -> None:
        if one.round == one.n_rounds and raises:
            raise KeyboardInterrupt
        if one.round == one.n_rounds:
            os.kill(os.getpid(), signal.SIGINT)

    model = train(small, made.dataset(), callbacks=[press])
    assert model.finished
    assert model.to_bytes() == train(small, made.dataset()).to_bytes()
    told = [r.message for r in caplog.records if "interrupted" in r.message]
    assert told == [f"interrupted in the last round: the model is complete, with {model.n_trees} trees"]


def test_ctrl_c_keeps_the_best_round(made: Made, other: Made, small: dict[str, Any]) -> None:
    def press(one: Round) -> None:
        if one.round == one.best_round + 6:
            raise KeyboardInterrupt

    params = {**small, "rounds": 500, "rate": 0.5, "early_stop_rule": "best"}
    model = train(params, made.dataset(), valid=other.dataset(), callbacks=[press])
    values = model.evals_result["valid"]["ndcg@10"]
    assert not model.finished
    assert model.n_trees == model.best_round == 1 + values.index(max(values)) == len(values) - 6


LONG = {"rounds": 20_000, "min_docs": 1, "l2": 1e-3, "rate": 1e-5, "leaves": 64}


def alarm_soon(done: Round) -> None:
    """A signal comes after the first round, however long a loaded machine takes to get there."""
    if done.round == 1:
        signal.setitimer(signal.ITIMER_REAL, 0.1)


def test_ctrl_c_while_c_runs(made: Made) -> None:
    """A signal that comes between callbacks: its time is not known, its effect is."""
    noise = np.random.default_rng(3).integers(0, 5, len(made.y))
    data = rankwood.Dataset(made.X, noise, qid=made.qid)
    old = signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        model = train(LONG, data, callbacks=[alarm_soon])
    finally:
        signal.signal(signal.SIGALRM, old)
    assert not model.finished
    assert 1 <= model.n_trees < 20_000


def test_keyboard_interrupt_of_another_handler(made: Made) -> None:
    """As test_ctrl_c_while_c_runs, where the caller has a handler that raises."""

    def raises(*_: Any) -> None:
        raise KeyboardInterrupt

    noise = np.random.default_rng(3).integers(0, 5, len(made.y))
    data = rankwood.Dataset(made.X, noise, qid=made.qid)
    old = signal.signal(signal.SIGALRM, raises)
    try:
        model = train(LONG, data, callbacks=[alarm_soon])
    finally:
        signal.signal(signal.SIGALRM, old)
    assert not model.finished
    assert 1 <= model.n_trees < 20_000


def test_a_second_ctrl_c_ends_an_objective_that_hangs(made: Made, small: dict[str, Any]) -> None:
    def hangs(scores: Any, data: rankwood.Dataset) -> Any:
        while True:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train({**small, "objective": hangs}, made.dataset())


def test_exception_of_a_signal_handler(made: Made, small: dict[str, Any]) -> None:
    """Raised while C runs, so outside of any code of the caller's."""
    error = Odd("in time")

    def late(*_: Any) -> None:
        raise error

    old = signal.signal(signal.SIGALRM, late)
    noise = np.random.default_rng(3).integers(0, 5, len(made.y))
    try:
        with pytest.raises(Odd) as raised:
            train(LONG, rankwood.Dataset(made.X, noise, qid=made.qid), callbacks=[alarm_soon])
    finally:
        signal.signal(signal.SIGALRM, old)
    assert raised.value is error


def test_params_are_resolved(made: Made) -> None:
    model = train({"rounds": 3, "min_docs": 1}, made.dataset())
    assert model.params["rounds"] == 3
    for name in ("rate", "leaves", "sample_features"):
        assert isinstance(model.params[name], int | float), name
    assert model.used_params["min_docs"] == 1
    pinned = {name: value for name, value in model.params.items() if name in ("rate", "leaves", "split")}
    again = train({"rounds": 3, "min_docs": 1, **pinned}, made.dataset())
    assert np.array_equal(again.predict(made.X), model.predict(made.X))


def test_names_of_parameters(made: Made, small: dict[str, Any]) -> None:
    expected = train({**small, "sample_queries": 0.5}, made.dataset()).to_bytes()
    dashes = {name.replace("_", "-"): value for name, value in small.items()}
    assert train({**dashes, "sample-queries": np.float32(0.5)}, made.dataset()).to_bytes() == expected
    assert train({**small, "sample_queries": 0.5, "norm": None}, made.dataset()).to_bytes() == expected
    off = train({**small, "norm": np.bool_(False)}, made.dataset()).to_bytes()
    assert off == train({**small, "norm": "off"}, made.dataset()).to_bytes()


def test_threads_change_nothing(made: Made, small: dict[str, Any]) -> None:
    models = {train({**small, "threads": n}, made.dataset()).to_bytes() for n in (1, 2, 5)}
    assert len(models) == 1


def test_notes_are_log_records(made: Made, small: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="rankwood"):
        train(small, made.dataset())
    assert all(record.name == "rankwood" for record in caplog.records)


def test_real_data_reaches_the_known_quality(real_data: Any) -> None:
    train_set = rankwood.Dataset([real_data / f"S{i}.txt.gz" for i in (1, 2, 3)])
    valid, test = (rankwood.Dataset(real_data / f"S{i}.txt.gz") for i in (4, 5))
    model = train({"rounds": 300, "early_stop": 50}, train_set, valid=valid)
    assert rankwood.evaluate(test, model)["ndcg@10"] > 0.6


@pytest.mark.parametrize(
    "given",
    [{"early_stop": 5}, {"metric": "map"}, {"metric": lambda scores, data: 1.0}, {"empty": "0"}, {"ties": "mean"}],
)
def test_metrics_without_a_validation_set(made: Made, small: dict[str, Any], given: dict[str, Any]) -> None:
    (name,) = given
    if name == "early_stop" or callable(given[name]):
        with pytest.raises(rankwood.ParameterError, match="validation set"):
            rankwood.train({**small, **given}, made.dataset())
    else:
        with pytest.warns(rankwood.NoEffectWarning, match=f"'{name}' has no effect without a validation set"):
            rankwood.train({**small, **given}, made.dataset())
    rankwood.train({**small, **given}, made.dataset(), valid=made.dataset())
    if name != "early_stop":
        model = rankwood.train({**small, **given, "train_metric": True}, made.dataset())
        assert len(model.evals_result["train"]) == 1 + callable(given[name])
    # what changes nothing is no error
    rankwood.train({**small, "early_stop": 0, "metric": "ndcg@10"}, made.dataset())


def test_deltas_and_pairs(made: Made, small: dict[str, Any]) -> None:
    plain = train(small, made.dataset()).to_bytes()
    assert train(small | {"delta": "ndcg", "pairs": "topk"}, made.dataset()).to_bytes() == plain
    model = train(small | {"delta": "map", "pairs": "mean:2", "relevant": 2}, made.dataset())
    assert b"\ndelta = map\npairs = mean:2\n" in model.to_bytes() and b"\npairs" not in plain
    ranker = rankwood.Ranker(**small | {"delta": "map", "pairs": "mean:2", "relevant": 2})
    assert ranker.fit(made.X, made.y, qid=made.qid).model_.to_bytes() == model.to_bytes()
    with pytest.raises(rankwood.ParameterError, match="expected ndcg, dcg, map, mrr, err, p@K or none"):
        train(small | {"delta": "auc"}, made.dataset())
    with pytest.warns(rankwood.NoEffectWarning, match="'delta' has no effect with objective listnet"):
        train(small | {"delta": "map", "objective": "listnet"}, made.dataset())


def test_given_pairs(made: Made, small: dict[str, Any]) -> None:
    def pairs_of(qid: Any, y: Any) -> list[tuple[int, int]]:
        of = [np.flatnonzero(qid == one) for one in dict.fromkeys(qid)]
        return [(i, j) for query in of for i in query for j in query if y[i] > y[j]]

    params = small | {"delta": "none", "rounding": "nearest"}
    pairs = np.array(pairs_of(np.asarray(made.qid), made.y))
    data = rankwood.Dataset(made.X, made.y, qid=made.qid, pairs=pairs)
    model = train(params | {"pairs": "given"}, data)
    same = train(params | {"pairs": "all"}, made.dataset())
    assert model.predict(made.X) == pytest.approx(same.predict(made.X), abs=1e-9)
    assert b"\npairs = given\n" in model.to_bytes()
    mixed = np.random.default_rng(1).permutation(len(made.y))  # rows in any order, and pairs by their numbers
    X, y, qid = made.X[mixed], made.y[mixed], np.asarray(made.qid)[mixed]
    of_mixed = rankwood.Dataset(X, y, qid=qid, sort=True, pairs=pairs_of(qid, y))
    in_order = rankwood.Dataset(X, y, qid=qid, sort=True)
    by_pairs, by_labels = (
        train(params | {"pairs": which}, of) for which, of in (("given", of_mixed), ("all", in_order))
    )
    assert by_pairs.predict(X) == pytest.approx(by_labels.predict(X), abs=1e-9)
    weighed = rankwood.Dataset(made.X, made.y, qid=made.qid, pairs=np.column_stack([pairs, np.arange(len(pairs)) % 3]))
    assert train(params | {"pairs": "given"}, weighed).to_bytes() != model.to_bytes()
    for wrong, error in (
        ([0, 1], "shape"),
        ([(0, 10**6)], "expected documents from 0"),
        ([(0, 0.5)], "expected documents from 0"),
        ([(0, 1, -1)], "weight -1"),
        ([(0, 0)], "two documents of one query"),
    ):
        with pytest.raises(rankwood.DataError, match=error):
            train(params | {"pairs": "given"}, rankwood.Dataset(made.X, made.y, qid=made.qid, pairs=wrong))
    with pytest.raises(rankwood.ParameterError, match="the training set has no"):
        train(params | {"pairs": "given"}, made.dataset())
    with pytest.raises(rankwood.ParameterError, match=r"Dataset\(\.\.\., pairs=\)"):
        train(params | {"pairs_file": "p"}, made.dataset())


def values_of_queries(y: Any, qid: Any, scores: Any) -> Any:
    """NDCG@10 of the queries with a relevant document, the mean over all orders of equal scores."""
    values = []
    for query in np.unique(qid):
        of = qid == query
        gain, score = 2.0 ** y[of] - 1, scores[of]
        discount = 1 / np.log2(np.arange(len(gain)) + 2) * (np.arange(len(gain)) < 10)
        if not gain.any():
            continue
        order = np.argsort(-score, kind="stable")
        mean = np.array([gain[score == one].mean() for one in score[order]])
        values.append((mean * discount).sum() / (np.sort(gain)[::-1] * discount).sum())
    return np.array(values, dtype=np.float32).astype(float)


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_the_rule_paired_keeps_the_middle_of_the_level_rounds(seed: int, small: dict[str, Any]) -> None:
    made, other = make(seed), make(seed + 10, 9)
    params = {**small, "rounds": 50, "early_stop": 12, "rate": 0.3, "seed": seed}
    model = rankwood.train({**params, "early_stop_rule": "paired"}, made.dataset(), valid=other.dataset())
    whole = rankwood.train({**params, "early_stop": 0}, made.dataset(), valid=other.dataset())
    values, best = [], 0
    for n_trees in range(1, 51):
        values.append(values_of_queries(other.y, other.qid, whole.predict(other.dataset(), n_trees=n_trees)))
        if values[-1].mean() > values[best].mean():
            best = n_trees - 1
        if n_trees - 1 - best >= 12:
            break
    worse = [values[best] - value for value in values]
    level = [r + 1 for r, d in enumerate(worse) if d.mean() <= 2 * d.std(ddof=1) / len(d) ** 0.5]
    assert best + 1 in level and len(level) > 1
    assert model.best_round == model.n_trees == level[len(level) // 2]
    same = whole.predict(other.dataset(), n_trees=model.n_trees)
    assert (model.predict(other.dataset()) == same).all()


@pytest.mark.parametrize(("metric", "sign"), [("ndcg@10", 1), ("rmse", -1)])
def test_the_rule_smooth_keeps_the_best_mean_of_41_rounds(metric: str, sign: int, small: dict[str, Any]) -> None:
    made, other = make(1), make(11, 9)
    params = {**small, "rounds": 120, "early_stop": 40, "rate": 0.3, "metric": metric, "early_stop_rule": "smooth"}
    params["objective"] = "regression" if metric == "rmse" else "lambdarank"
    model = rankwood.train(params, made.dataset(), valid={"valid": other.dataset()})
    values = model.evals_result["valid"][metric]
    means = [sign * np.mean(values[max(r - 20, 0) : r + 21]) for r in range(len(values))]
    assert model.best_round == model.n_trees == int(np.argmax(means)) + 1
    assert model.best_round != int(np.argmax(sign * np.array(values))) + 1


def test_the_rule_smooth_skips_rounds_without_a_value(small: dict[str, Any]) -> None:
    made, other = make(1), make(11, 9)
    values = [float("nan") if r in (3, 40) else 1 - (r - 30) ** 2 / 1e4 + (r == 5) for r in range(60)]
    told = iter([0.1, *values])
    params = {**small, "rounds": 60, "early_stop": 60, "early_stop_rule": "smooth", "metric": lambda *_: next(told)}
    model = rankwood.train(params, made.dataset(), valid=other.dataset())
    seen = [0.1, *values][:60]
    means = [np.nanmean(seen[max(r - 20, 0) : r + 21]) for r in range(60)]
    assert model.best_round == int(np.argmax(means)) + 1


def test_the_rule_folds_trains_for_the_rounds_of_a_tuning(small: dict[str, Any]) -> None:
    data = make(1).dataset()
    params = {**small, "rounds": 60, "early_stop": 20, "rate": 0.3, "metric": "ndcg@5"}
    tuned = rankwood.tune({**params, "early_stop_rule": "best"}, data, n_folds=5, trials=1)
    seen: list[int] = []
    folds = {**params, "early-stop-rule": "folds"}
    model = rankwood.train(folds, data, callbacks=[lambda done: seen.append(done.n_rounds)])
    assert model.to_bytes() == tuned.model.to_bytes()
    assert seen == [tuned.params["rounds"]] * model.n_trees
    assert rankwood.train({**folds, "early_stop": 0, "rounds": 3}, data, strict=None).n_trees == 3
    for wrong in ({"valid": make(2).dataset()}, {"init": model}):
        with pytest.raises(rankwood.ParameterError, match="has no use with"):
            rankwood.train(folds, data, **wrong)  # type: ignore[arg-type]
    with pytest.raises(rankwood.ParameterError, match="early_stop_rule='folds' accepts names only"):
        rankwood.train({**folds, "metric": lambda *_: 0.0}, data)
    with pytest.raises(rankwood.ParameterError, match="sigma"):
        rankwood.train({**folds, "objective": "regression", "sigma": 2}, data, strict=True)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_folds_can_share_bins(kind: str) -> None:
    made = make(1)
    X = made.X * (np.random.default_rng(1).random(made.X.shape) < (1 if kind == "dense" else 0.12))
    data = rankwood.Dataset(scipy.sparse.csr_matrix(X) if kind == "sparse" else X, made.y, qid=made.qid)
    params = {"rounds": 5, "bins": 4, "early_stop": 0, "leaves": 9, "min_docs": 2}
    for shared in (True, False):
        found: dict[int, set[float]] = {}
        for model in rankwood.cv(params, data, 3, shared_bins=shared).models:
            for node in model.trees():
                if not node["leaf"]:
                    found.setdefault(node["feature"], set()).add(node["threshold"])
        assert (max(map(len, found.values())) <= 3) == shared


def test_auto_rule_counts_the_set_that_stops(other: Made) -> None:
    """Monitoring a training set of more than 1,000 queries does not change the rule."""
    X = np.random.default_rng(1).normal(size=(2202, 3))
    big = rankwood.Dataset(X, (X[:, 0] > 0).astype(int), qid=np.repeat(np.arange(1101), 2))
    small = rankwood.Dataset(other.X[:, :3], other.y, qid=other.qid)
    params = {"rounds": 3, "metric": "ndcg@10"}
    alone = train(params, big, valid={"v": small})
    assert train(params, big, valid={"all": big, "v": small}).used_params["early_stop_rule"] == "paired"
    assert alone.used_params["early_stop_rule"] == "paired"
    assert train(params, small, valid={"v": big}).used_params["early_stop_rule"] == "best"
