# room: tree
"""monotone=: features along which scores only rise or only fall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made

SMALL = {"rounds": 8, "leaves": 15, "min_docs": 2, "rate": 0.5, "threads": 2}


def table_of(made: Made) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(made.X, columns=["a", "b c", "d:e", "3", "f", "g"])


def trees_of(model: rankwood.Model) -> list[bytes]:
    lines = (line.partition(b" #")[0] for line in model.to_bytes().splitlines())  # without names
    return [line for line in lines if line.startswith((b"leaf", b"node"))]


def along(model: rankwood.Model, feature: int) -> np.ndarray[Any, Any]:
    """Scores of 50 documents of each of 20 kinds, which differ in one feature alone."""
    random = np.random.default_rng(7)
    grid = np.repeat(random.normal(size=(20, 1, 6)), 50, axis=1)
    grid[:, :, feature] = np.sort(random.normal(size=(20, 50)) * 2, axis=1)
    return model.predict(grid.reshape(1000, 6)).reshape(20, 50)


@pytest.mark.parametrize("way", ["+", "-"])
def test_scores_keep_to_it(made: Made, way: str) -> None:
    sign = 1 if way == "+" else -1
    free = rankwood.train(SMALL, made.dataset())
    model = rankwood.train({**SMALL, "monotone": {0: way, 2: sign}}, made.dataset())
    for feature in (0, 2):
        assert (sign * np.diff(along(model, feature)) >= 0).all()
    assert any((sign * np.diff(along(free, feature)) < 0).any() for feature in (0, 2))
    assert model.params["monotone"] == f"0:{way},2:{way}"
    assert "monotone" not in free.params


def test_all_ways_to_say_it(made: Made) -> None:
    expected = rankwood.train({**SMALL, "monotone": "1:+,2:-,3:+"}, made.dataset()).to_bytes()
    for said in (
        ["1:+", "2:-", "3:+"], "3:+,2:-,1:+", {1: "+", 2: "-", 3: "+"}, {1: 1, 2: -1, 3: 1.0, 0: 0},
        {np.int64(3): "+", 2: np.float32(-1), 1: np.int8(1)},
    ):  # fmt: skip
        assert rankwood.train({**SMALL, "monotone": said}, made.dataset()).to_bytes() == expected
    named = rankwood.Dataset(table_of(made), made.y, qid=made.qid)
    by_name = rankwood.train({**SMALL, "monotone": {"b c": "+", "d:e": "-", "3": "+"}}, named)
    assert by_name.params["monotone"] == "1:+,2:-,3:+"
    assert trees_of(by_name) == trees_of(rankwood.Model.from_bytes(expected))


def test_elsewhere(made: Made, tmp_path: Path) -> None:
    params = {**SMALL, "monotone": {0: "+"}}
    model = rankwood.train(params, made.dataset())
    half = rankwood.train({**params, "rounds": 4}, made.dataset())
    assert trees_of(rankwood.train({**params, "rounds": 4}, made.dataset(), init=half)) == trees_of(model)
    with pytest.raises(rankwood.ParameterError, match="model to continue from violates 'monotone'"):
        rankwood.train({**params, "monotone": {0: "-"}}, made.dataset(), init=model)
    assert len(rankwood.cv(params, made.dataset(), n_folds=3).models) == 3
    pytest.importorskip("sklearn")
    ranker = rankwood.Ranker(**SMALL, monotone={0: "+"}).fit(made.X, made.y, qid=made.qid)
    assert ranker.model_.to_bytes() == model.to_bytes()
    assert rankwood.Ranker().get_params()["monotone"] == ""


@pytest.mark.parametrize(
    ("said", "error", "match"),
    [
        ({"nobody": "+"}, rankwood.ParameterError, "found 'nobody'"),
        ({99: "+"}, rankwood.ParameterError, "the training set has no feature '99:\\+'"),
        ({1: "up"}, rankwood.ParameterError, r"monotone\[1\] is 'up'; expected '\+', '-', 1, -1 or 0"),
        ({1: 2}, rankwood.ParameterError, r"monotone\[1\] is 2"),
        ({1: None}, rankwood.ParameterError, r"monotone\[1\] is None"),
        ({1: [1]}, rankwood.ParameterError, r"monotone\[1\] is \[1\]"),
        ({1.5: 1}, rankwood.ParameterTypeError, "the feature 1.5; expected a name or an id"),
        ({True: 1}, rankwood.ParameterTypeError, "the feature True"),
        ("1", rankwood.ParameterError, "then ':\\+' or ':-', found '1'"),
        (["1:+", "1:-"], rankwood.ParameterError, "feature 1 a second time"),
    ],
)
def test_refused(made: Made, said: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        rankwood.train({**SMALL, "monotone": said}, made.dataset())


def test_of_other_programs() -> None:
    for given in ([1, 0, -1], (1, 0, -1), "1,0,-1", "(1, 0, -1)", {0: 1, 2: -1}):
        for move in (rankwood.from_lightgbm, rankwood.from_xgboost, rankwood.from_catboost):
            params, _ = move({"monotone_constraints": given})
            assert params["monotone"] == {0: 1, 2: -1}
    assert rankwood.from_xgboost({"monotone_constraints": {"a": 1, "b": 0}})[0]["monotone"] == {"a": 1}
    assert rankwood.from_catboost({"monotone_constraints": "a:1,b:-1"})[0]["monotone"] == {"a": 1, "b": -1}
    assert "monotone" not in rankwood.from_lightgbm({"mc": [0, 0]})[0]
    params, notes = rankwood.from_lightgbm({"mc": "up", "mc_method": "basic"})
    assert "monotone" not in params
    assert any(note.startswith("mc: left out") for note in notes)
