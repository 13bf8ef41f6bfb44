# room: tree
"""interactions=, feature_penalty=, sample_docs=, sample_features_node= and gain_noise=."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made

SMALL = {"rounds": 6, "leaves": 15, "min_docs": 2, "rate": 0.5, "threads": 2}


def bytes_of(made: Made, **params: Any) -> bytes:
    return rankwood.train({**SMALL, **params}, made.dataset()).to_bytes()


def test_groups(made: Made) -> None:
    expected = bytes_of(made, interactions="0-1;2-4")
    model = rankwood.Model.from_bytes(expected)
    assert model.params["interactions"] == "0-1;2-4"
    assert expected != bytes_of(made)
    for said in ([[0, 1], [2, 3, 4]], [(0, np.int64(1)), {2: 1, 3: 1, 4: 1}], "0,1;2-4"):
        assert bytes_of(made, interactions=said) == expected


def test_groups_by_name(made: Made) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(made.X, columns=["a", "b c", "d:e", "3", "f", "g"])
    named = rankwood.Dataset(table, made.y, qid=made.qid)
    said = {"interactions": [["a", "b c"], ["d:e", "3"]], "feature_penalty": {"b c": 2, "d:e": 0.5}}
    params = rankwood.train({**SMALL, **said}, named).params
    assert params["interactions"] == "0-1;2-3"
    assert params["feature_penalty"] == "1:2,2:0.5"


def test_penalties(made: Made) -> None:
    expected = bytes_of(made, feature_penalty="0:1000,3:0.25")
    assert bytes_of(made, feature_penalty={0: 1e3, np.int32(3): np.float32(0.25)}) == expected
    assert bytes_of(made, feature_penalty={3: 0.25, 0: 1000}) == expected
    assert expected != bytes_of(made)
    model = rankwood.train({**SMALL, "feature_penalty": {0: 1e30}}, made.dataset())
    assert 0 not in model.importance("splits") or not model.importance("splits")[0]


def test_samples(made: Made) -> None:
    plain = bytes_of(made)
    for name in ("sample_docs", "sample_features_node"):
        model = rankwood.train({**SMALL, name: 0.5}, made.dataset())
        assert model.params[name] == 0.5
        assert model.to_bytes() != plain
        assert name.replace("_", "-").encode() not in plain


def test_noise(made: Made) -> None:
    plain = bytes_of(made, gain_noise=0)
    chosen = rankwood.train(SMALL, made.dataset())
    assert chosen.params["gain_noise"] == 4 and b"\ngain-noise = auto 4\n" in chosen.to_bytes()
    seen = {plain, chosen.to_bytes()}
    for noise in (1e-9, 0.5, 2, 4, 100):
        model = rankwood.train({**SMALL, "gain_noise": noise}, made.dataset())
        assert model.params["gain_noise"] == noise
        assert model.to_bytes() == bytes_of(made, gain_noise=noise, threads=1, batch=16)
        seen.add(model.to_bytes())
    assert len(seen) == 7
    assert bytes_of(made, gain_noise=4, seed=2) not in seen
    assert rankwood.train({**SMALL, "objective": "regression"}, made.dataset()).params["gain_noise"] == 0


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"interactions": ["a", "b"]}, rankwood.ParameterTypeError, "the group 'a'"),
        ({"interactions": [[1.5]]}, rankwood.ParameterTypeError, "the feature 1.5"),
        ({"interactions": [[]]}, rankwood.ParameterError, "expected a feature or more"),
        ({"interactions": [[0, 0]]}, rankwood.ParameterError, "feature 0 a second time"),
        ({"interactions": [[99]]}, rankwood.ParameterError, "the training set has no feature"),
        ({"feature_penalty": {0: "1"}}, rankwood.ParameterTypeError, "expected a number"),
        ({"feature_penalty": {0: -1}}, rankwood.ParameterError, "from 0 to 1e+30"),
        ({"feature_penalty": {0: float("nan")}}, rankwood.ParameterError, "from 0 to 1e+30"),
        ({"feature_penalty": {True: 1}}, rankwood.ParameterTypeError, "the feature True"),
        ({"sample_docs": 0}, rankwood.ParameterError, "1e-6 to 1"),
        ({"sample_features_node": 2}, rankwood.ParameterError, "1e-9 to 1"),
        ({"gain_noise": -1}, rankwood.ParameterError, "0 to 100"),
        ({"gain_noise": 101}, rankwood.ParameterError, "0 to 100"),
        ({"gain_noise": "some"}, rankwood.ParameterError, "0 to 100"),
    ],
)
def test_errors(made: Made, params: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("+", r"\+")):
        bytes_of(made, **params)


def test_ranker(made: Made) -> None:
    sklearn = pytest.importorskip("rankwood.sklearn")
    shape = {"interactions": [[0, 1], [2, 3]], "feature_penalty": {0: 0.5}, "sample_docs": 0.7}
    shape |= {"sample_features_node": 0.5, "gain_noise": 2.5}
    ranker = sklearn.Ranker(**SMALL, **shape)
    ranker.fit(made.X, made.y, qid=made.qid)
    expected = bytes_of(made, **shape | {"interactions": "0,1;2,3", "feature_penalty": "0:0.5"})
    assert ranker.model_.to_bytes() == expected
    auto = sklearn.Ranker(**SMALL).fit(made.X, made.y, qid=made.qid).model_
    assert auto.to_bytes() == bytes_of(made) and auto.params["gain_noise"] == 4
