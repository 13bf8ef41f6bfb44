# room: tree
"""interactions=, feature_penalty=, sample_docs= and sample_features_node=."""

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
    ],
)
def test_errors(made: Made, params: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message.replace("+", r"\+")):
        bytes_of(made, **params)


def test_ranker(made: Made) -> None:
    sklearn = pytest.importorskip("rankwood.sklearn")
    ranker = sklearn.Ranker(
        **SMALL, interactions=[[0, 1], [2, 3]], feature_penalty={0: 0.5}, sample_docs=0.7, sample_features_node=0.5
    )
    ranker.fit(made.X, made.y, qid=made.qid)
    expected = bytes_of(
        made, interactions="0,1;2,3", feature_penalty="0:0.5", sample_docs=0.7, sample_features_node=0.5
    )
    assert ranker.model_.to_bytes() == expected
