"""Functions that rankwood.compat's layers share."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import rankwood as rw
from rankwood.compat import _shared

X, y, qid = rw.synth("letor", 60, seed=1)
DATA = rw.Dataset(X, y, qid=qid)
SMALL = rw.Dataset(X[:100], y[:100], qid=qid[:100])


def test_after_each_round_it_has_the_values_of_each_set() -> None:
    seen: list[Any] = []

    def measure(scores: Any, dataset: rw.Dataset) -> list[_shared.Value]:
        return [_shared.Value("documents", float(len(scores)), True), _shared.Value("sum", float(scores.sum()), False)]

    def after(number: int, values: Any) -> bool:
        seen.append((number, {name: [value.value for value in found] for name, found in values.items()}))
        return number == 2

    sets = {"training": DATA, "small": SMALL, "again": SMALL}
    model = _shared.boost({"rounds": 9, "leaves": 8}, DATA, sets, measure, after)
    assert [number for number, _ in seen] == [0, 1, 2]
    assert model.n_trees == 3
    last = seen[-1][1]
    assert {name: values[0] for name, values in last.items()} == {"training": len(y), "small": 100, "again": 100}
    assert last["small"] == last["again"]
    assert last["training"][1] == pytest.approx(model.predict(X).sum())
    assert last["small"][1] == pytest.approx(model.predict(X[:100]).sum())


def test_without_sets_and_with_a_model_to_continue() -> None:
    numbers: list[int] = []
    first = _shared.boost({"rounds": 2}, DATA, {}, lambda scores, data: [], lambda n, _: bool(numbers.append(n)))
    second = _shared.boost(
        {"rounds": 3}, DATA, {}, lambda scores, data: [], lambda n, _: bool(numbers.append(n)), init=first
    )
    assert (numbers, first.n_trees, second.n_trees) == ([0, 1, 0, 1, 2], 2, 5)


def test_an_exception_of_a_measure_is_raised() -> None:
    def measure(scores: Any, dataset: rw.Dataset) -> list[_shared.Value]:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        _shared.boost({"rounds": 2}, DATA, {"small": SMALL}, measure, lambda *_: False)


def test_the_mean_hessian_is_that_of_the_pairs() -> None:
    data = rw.Dataset([[0.0], [1.0]] * 20, [0, 1] * 20, group=[2] * 20)
    pair = (1 - 1 / np.log2(3)) / 4  # difference of the discounts, of 2^1 - 1 and of an ideal DCG of 1; p (1 - p)
    assert _shared.mean_hessian({"norm": "off"}, data) == pytest.approx(pair, rel=1e-6)
    assert _shared.mean_hessian({"norm": "off", "sigma": 2}, data) == pytest.approx(4 * pair, rel=1e-6)


def test_formats() -> None:
    model = rw.train({"rounds": 3}, DATA)
    for format in ("lightgbm", "xgboost", "xgboost-ubj"):
        same = _shared.imported(_shared.exported(model, format), format)
        np.testing.assert_allclose(same.predict(X), model.predict(X), atol=1e-6)
    sums = _shared.contributions(model, DATA, X.shape[1])
    assert sums.shape == (len(X), X.shape[1] + 1)
    np.testing.assert_allclose(sums.sum(axis=1), model.predict(X))


def test_a_function_gets_as_many_arguments_as_it_has() -> None:
    assert _shared.call_sklearn(lambda y, s: (y, s), 1, 2, 3, 4) == (2, 1)
    assert _shared.call_sklearn(lambda y, s, weight: (y, s, weight), 1, 2, 3, 4) == (2, 1, 3)
    assert _shared.call_sklearn(lambda y, s, weight, group: (y, s, weight, group), 1, 2, 3, 4) == (2, 1, 3, 4)
    with pytest.raises(rw.ParameterError, match="1 arguments; expected 2 to 4"):
        _shared.call_sklearn(lambda y: y, 1, 2, 3, 4)


def test_a_warning_names_the_callers_line() -> None:
    with pytest.warns(UserWarning, match="differ from LightGBM's:\n  one: 1\n  two: 2") as found:
        _shared.warn_of("LightGBM", ["one: 1", "two: 2"])
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _shared.warn_of("LightGBM", [])
