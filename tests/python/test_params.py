"""Values that Python users pass for parameters: functions of the round, whole floats, generators, lists of gains."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from rankwood import Ranker, train


def test_rate_by_round(made: Made, small: dict[str, Any]) -> None:
    asked: list[int] = []

    def rate(i: int) -> float:
        asked.append(i)
        return float(0.4 * 0.5**i)

    data = made.dataset()
    model = train({**small, "rate": rate}, data)
    assert asked == list(range(8))
    assert model.to_bytes() == train({**small, "rate": [0.4 * 0.5**i for i in range(8)]}, data).to_bytes()
    first = train({**small, "rounds": 3, "rate": rate}, data)
    both = train({**small, "rounds": 5, "rate": rate}, data, init=first)
    assert np.array_equal(both.predict(made.X), model.predict(made.X))
    assert not np.array_equal(model.predict(made.X), train({**small, "rate": 0.4}, data).predict(made.X))
    assert Ranker(**small, rate=rate).fit(made.X, made.y, qid=made.qid).model_.to_bytes() == model.to_bytes()
    assert train({**small, "rate": lambda i: 0.2}, data).params["rate"] == 0.2
    assert train({**small, "rate": lambda i: 0.2 if i < 2 else 0.1}, data).params["rate"] == "0.2,0.2,0.1"


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (lambda i: "x", r"rate\(0\) returned 'x'; expected a number"),
        (lambda i: 0.1 - 0.05 * i, r"rate\(2\) returned 0.0; expected a number from 1e-6 to 1"),
        (lambda i: float("nan"), r"rate\(0\) returned nan"),
        ([0.1, 2], "expected A,B,...: rates from 1e-6 to 1, one per round, found '2'"),
        ([], "expected a number"),
    ],
)
def test_invalid_rates(made: Made, small: dict[str, Any], rate: Any, message: str) -> None:
    with pytest.raises(rankwood.ParameterError, match=message):
        train({**small, "rate": rate}, made.dataset())


def test_an_error_in_the_rate_is_unchanged(made: Made, small: dict[str, Any]) -> None:
    with pytest.raises(ZeroDivisionError):
        train({**small, "rate": lambda i: 1 / i}, made.dataset())


def test_whole_floats(made: Made, small: dict[str, Any]) -> None:
    as_floats = {name: float(value) for name, value in small.items()}
    assert train(as_floats, made.dataset()).to_bytes() == train(small, made.dataset()).to_bytes()
    with pytest.raises(rankwood.ParameterError, match=r"expected a whole number, 2 to 65536, or auto, found '6.5'"):
        train({**small, "leaves": 6.5}, made.dataset())


@pytest.mark.parametrize("generator", [np.random.RandomState, np.random.default_rng])
def test_seed_by_generator(made: Made, small: dict[str, Any], generator: Callable[[int], Any]) -> None:
    params = {**small, "sample_docs": 0.5}
    one = train({**params, "seed": generator(1)}, made.dataset())
    assert one.to_bytes() == train({**params, "seed": generator(1)}, made.dataset()).to_bytes()
    assert one.params["seed"] != train({**params, "seed": generator(2)}, made.dataset()).params["seed"]
    ranker = Ranker(**params, seed=generator(1)).fit(made.X, made.y, qid=made.qid)
    assert ranker.model_.to_bytes() == one.to_bytes()


def test_label_gains(made: Made, other: Made, small: dict[str, Any], model: rankwood.Model) -> None:
    for gains in ([0, 1, 3, 7, 15], np.array([0, 1, 3, 7, 15.0])):
        listed = train({**small, "label_gain": gains}, made.dataset())
        assert np.array_equal(listed.predict(made.X), model.predict(made.X))
        data = other.dataset()
        assert rankwood.evaluate(data, model, "ndcg@5", label_gain=gains) == rankwood.evaluate(data, model, "ndcg@5")
    tenth = rankwood.evaluate(other.dataset(), model, "dcg", label_gain=[0, 0.1, 0.3, 0.7, 1.5])
    assert tenth["dcg"] == pytest.approx(rankwood.evaluate(other.dataset(), model, "dcg")["dcg"] / 10)
    for wrong in ([], [0, "1"], [0, -1], [0, np.nan], [0, None]):
        with pytest.raises(rankwood.ParameterError, match=r"label_gain is .*; expected a number, 0 to 2147483648"):
            train({**small, "label_gain": wrong}, made.dataset())
    with pytest.raises(rankwood.DataError, match="has no gain"):
        train({**small, "label_gain": [0, 1]}, made.dataset())


def squared(y_true: Any, y_pred: Any) -> float:
    return float(((y_true - y_pred) ** 2).mean())


def squared_error(y_true: Any, y_pred: Any) -> float:
    return squared(y_true, y_pred)


def test_metrics_of_labels_and_scores(made: Made, other: Made, small: dict[str, Any]) -> None:
    """A metric whose first argument is y_true has the labels first, in the caller's order."""
    order = np.random.default_rng(3).permutation(len(other.X))
    valid = rankwood.Dataset(other.X[order], other.y[order], qid=other.qid[order], sort=True)
    for metric, name in ((squared, "squared"), (functools.partial(squared_error), "squared_error")):
        model = train({**small, "metric": metric, "early_stop": 0}, made.dataset(), valid=valid)
        expected = [squared(other.y, model.predict(other.X, n_trees=n)) for n in range(1, 9)]
        assert model.evals_result["valid"][name] == pytest.approx(expected)
    params = {**small, "rounds": 40, "early_stop": 5}
    rising = train({**params, "metric": squared}, made.dataset(), valid=valid)
    falling = train({**params, "metric": squared_error}, made.dataset(), valid=valid)
    assert rising.best_round == 1 + np.argmax(rising.evals_result["valid"]["squared"])
    assert falling.best_round == 1 + np.argmin(falling.evals_result["valid"]["squared_error"])
    squared_error.lower_is_better = False  # type: ignore[attr-defined]
    try:
        again = train({**params, "metric": squared_error}, made.dataset(), valid=valid)
    finally:
        del squared_error.lower_is_better  # type: ignore[attr-defined]
    assert again.best_round == rising.best_round != falling.best_round


def test_list_of_parameters() -> None:
    found = {one.name: one for one in rankwood.params()}
    assert len(found) == len(rankwood.params()) > 50
    assert set(Ranker().get_params()) - set(found) == {"missing", "strict"}
    leaves, norm, empty = found["leaves"], found["norm"], found["empty"]
    assert (leaves.default, leaves.range, leaves.type) == ('"auto"', "2 to 65536", 'int or "auto"')
    assert (norm.default, norm.type, norm.range) == ("True", "bool", "")
    assert empty.type == '{"0", "1", "skip"}'
    assert all(one.meaning.endswith(".") and "--" not in one.meaning for one in found.values())
    assert str(found["min_docs"]).splitlines()[0] == "min_docs : int, default 20"


ARGUMENTS: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "num_boost_round": (lambda m, d: train({}, d, num_boost_round=9), r"train\(\) .* parameter of training: {'rounds'"),
    "valid_sets": (lambda m, d: train({}, d, valid_sets=[d]), r"train\(\) has no argument 'valid_sets'; it is 'valid'"),
    "valid_names": (lambda m, d: train({}, d, valid_names=["a"]), "names of validation sets are keys"),
    "feval": (lambda m, d: train({}, d, feval=len), "a metric function is a parameter"),
    "xgb_model": (lambda m, d: train({}, d, xgb_model=m), "it is 'init'"),
    "chekpoint": (lambda m, d: train({}, d, chekpoint="a"), "the nearest is 'checkpoint'"),
    "nothing near": (lambda m, d: train({}, d, zzz=1), r"train\(\) has no argument 'zzz'$"),
    "nfold": (lambda m, d: rankwood.cv({}, d, nfold=3), "it is 'n_folds'"),
    "pred_leaf": (lambda m, d: m.predict(d, pred_leaf=True), "Model.leaves returns the leaf"),
    "iteration_range": (lambda m, d: m.predict(d, iteration_range=(0, 5)), r"model\[10:50\].predict"),
    "n_jobs": (lambda m, d: m.predict(d, n_jobs=2), "it is 'threads'"),
    "init_score": (lambda m, d: rankwood.Dataset([[1.0]], init_score=[1]), r"Dataset\(\) .* it is 'start_scores'"),
    "eval_metric": (lambda m, d: Ranker().fit([[1.0]], [1], eval_metric="map"), r"Ranker.fit\(\) .*: Ranker\(metric="),
    "early_stopping_rounds": (lambda m, d: Ranker().fit([[1.0]], [1], early_stopping_rounds=5), r"Ranker\(early_stop="),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_hints_for_arguments(made: Made, model: rankwood.Model, name: str) -> None:
    call, message = ARGUMENTS[name]
    with pytest.raises(TypeError) as error:
        call(model, made.dataset())
    assert isinstance(error.value, rankwood.ParameterTypeError)
    assert re.search(message, str(error.value).replace("\n", " "))
