# room: dataset
"""Getters of a Dataset, subsets, pickles, both kinds of weights, and names of several levels."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rankwood
from conftest import Made
from rankwood import Dataset, train

GETTERS = [
    "label", "qid", "group", "weight", "start_scores", "position", "more_labels", "query_offsets", "feature_names"
]  # fmt: skip


class Sides:
    """Values for each document and query of `made`."""

    def __init__(self, made: Made) -> None:
        rng = np.random.default_rng(5)
        n = len(made.X)
        self.weight, self.query_weight = rng.random(n) + 0.1, rng.random(len(made.group)) + 0.1
        self.start_scores, self.more_labels = rng.normal(size=n), rng.integers(0, 3, (n, 2))
        self.position = np.concatenate([np.arange(size) for size in made.group])
        self.product = self.weight * np.repeat(self.query_weight, made.group)


def frame(made: Made) -> pd.DataFrame:
    """Numbers with missing values, integers and categories."""
    out = pd.DataFrame(made.X, columns=list("abcdef")).astype({"a": "Float32", "f": "int64"})
    out.loc[3, "a"] = pd.NA
    out["c"] = pd.Categorical(np.where(out["c"] > 0.3, "x", "y"))
    return out


def arrow(made: Made) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    columns = {name: [values[:100], values[100:]] for name, values in frame(made).drop(columns="c").items()}
    return pyarrow.table(
        {name: pyarrow.chunked_array([pyarrow.array(one) for one in two]) for name, two in columns.items()}
    )


def scattered(made: Made) -> Dataset:
    order = np.random.default_rng(6).permutation(len(made.X))
    return Dataset(made.X[order], made.y[order], qid=made.qid[order], weight=Sides(made).weight[order], sort=True)


def with_pairs(made: Made) -> Dataset:
    rows = [i for i in range(len(made.qid) - 1) if made.qid[i] == made.qid[i + 1]]
    return made.dataset(pairs=[(i, i + 1, 1.0 + i % 3) for i in rows])


def with_sides(made: Made) -> Dataset:
    sides = {name: value for name, value in vars(Sides(made)).items() if name != "product"}
    return made.dataset(**sides)


KINDS: dict[str, Callable[[Made], Dataset]] = {
    "array": with_sides,
    "frame": lambda m: Dataset(frame(m), m.y, qid=m.qid),
    "arrow": lambda m: Dataset(arrow(m), m.y, qid=m.qid),
    "sparse": lambda m: Dataset(
        scipy.sparse.csr_matrix(np.where(m.X > 0.3, m.X, 0)), m.y, qid=[f"q{i}" for i in m.qid]
    ),
    "scattered": scattered,
    "sizes": lambda m: Dataset(m.X, m.y, group=m.group, missing=0, feature_base=1),
    "pairs": with_pairs,
}


def assert_same(one: Dataset, other: Dataset) -> None:
    for name in GETTERS:
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None) and (mine is None or np.array_equal(mine, theirs)), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "again",
    [
        lambda data: pickle.loads(pickle.dumps(data)),
        copy.copy,
        copy.deepcopy,
        lambda data: data.subset(np.ones(data.n_docs, bool)),
        lambda data: pickle.loads(pickle.dumps(data)).subset(np.arange(data.n_docs)),
    ],
    ids=["pickle", "copy", "deepcopy", "subset", "pickled subset"],
)
def test_the_same_again(made: Made, small: dict[str, Any], kind: str, again: Callable[[Dataset], Dataset]) -> None:
    data = KINDS[kind](made)
    params = {**small, "pairs": "given"} if kind == "pairs" else small
    assert_same(data, again(data))
    assert train(params, again(data)).to_bytes() == train(params, data).to_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_subset(made: Made, small: dict[str, Any], kind: str) -> None:
    """A subset equals a data set of its rows."""
    data = KINDS[kind](made)
    keep = np.isin(data.qid, np.unique(data.qid)[5:30])
    keep[::7] = False
    part = data.subset(keep)
    assert_same(part, data.subset(np.flatnonzero(keep)))
    assert part.n_docs == keep.sum() and part.n_queries == len(np.unique(data.qid[keep]))
    for name in ("label", "weight", "start_scores", "position", "more_labels", *([] if kind == "sizes" else ["qid"])):
        whole = getattr(data, name)
        assert whole is None or np.array_equal(getattr(part, name), whole[keep]), name
    params = {**small, "pairs": "given"} if kind == "pairs" else small
    model = train(params, data)
    assert np.array_equal(model.predict(part), model.predict(data)[keep])
    if kind == "array":
        sides = {name: value[keep] for name, value in vars(Sides(made)).items() if len(value) == len(keep)}
        weight = sides.pop("product")
        rows = Dataset(made.X[keep], made.y[keep], qid=made.qid[keep], **{**sides, "weight": weight})
        assert train(small, part).to_bytes() == train(small, rows).to_bytes()
    if kind == "pairs":
        number = np.cumsum(keep) - 1
        left = [i for i in range(len(keep) - 1) if keep[i] and keep[i + 1] and made.qid[i] == made.qid[i + 1]]
        given = [(number[i], number[i + 1], 1.0 + i % 3) for i in left]
        rows = Dataset(made.X[keep], made.y[keep], qid=made.qid[keep], pairs=given)
        assert train(params, part).to_bytes() == train(params, rows).to_bytes()


def test_invalid_subsets(made: Made, tmp_path: Path) -> None:
    data = made.dataset()
    for documents in ([2, 1], [1, 1], [-1], [len(made.X)]):
        with pytest.raises(rankwood.DataError, match="not ascending, or not from 0 to"):
            data.subset(documents)
    with pytest.raises(rankwood.DataError, match="no documents remain"):
        data.subset(np.zeros(len(made.X), bool))
    with pytest.raises(rankwood.DataError, match="documents has 3 values"):
        data.subset(np.ones(3, bool))
    for odd in ([1.5], "ab", 3):
        with pytest.raises(rankwood.DataError):
            data.subset(odd)
    (tmp_path / "data.txt").write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    with pytest.raises(rankwood.UnsupportedError, match="a subset needs data in memory"):
        Dataset(tmp_path / "data.txt").subset([0])


def test_getters(made: Made) -> None:
    sides, data = Sides(made), with_sides(made)
    assert np.array_equal(data.qid, made.qid) and data.qid.dtype == np.int64
    assert np.array_equal(data.group, made.group)
    assert data.weight is not None and np.allclose(data.weight, sides.product)
    for name in ("start_scores", "position", "more_labels"):
        assert np.array_equal(getattr(data, name), getattr(sides, name))
    ids = [f"0{i}" for i in made.qid]
    assert Dataset(made.X, made.y, qid=ids).qid.tolist() == ids  # not whole numbers: 07 is not 7
    plain = Dataset(made.X)
    assert plain.weight is plain.start_scores is plain.position is plain.more_labels is None
    assert not plain.qid.any() and plain.group.tolist() == [len(made.X)]


def test_both_kinds_of_weights(made: Made, small: dict[str, Any], tmp_path: Path) -> None:
    sides = Sides(made)
    both = {"weight": sides.weight, "query_weight": sides.query_weight}
    table = pd.DataFrame(made.X, columns=list("abcdef")).assign(label=made.y, qid=made.qid)
    expected = train(small, Dataset(table, "label", qid="qid", weight=sides.product))
    with_weights = table.assign(w=sides.weight)
    with_weights.to_csv(tmp_path / "data.csv", index=False)
    with_weights.to_parquet(tmp_path / "data.parquet")
    sets = {
        "memory": Dataset(table, "label", qid="qid", **both),
        "column": Dataset(with_weights, "label", qid="qid", weight="w", query_weight=sides.query_weight),
        "file": Dataset(tmp_path / "data.csv", weight="w", query_weight=sides.query_weight),
        "file and array": Dataset(tmp_path / "data.csv", ignore=["w"], **both),
        "parquet": Dataset.from_parquet(
            tmp_path / "data.parquet", label="label", qid="qid", weight="w", query_weight=sides.query_weight
        ),
    }
    for name, data in sets.items():
        assert train(small, data).to_bytes() == expected.to_bytes(), name
        assert np.array_equal(data.weight, sides.product), name
        assert train(small, pickle.loads(pickle.dumps(data))).to_bytes() == expected.to_bytes(), name
    with pytest.raises(rankwood.DataError, match=r"4 weights; expected one per query|query_weight has 4 values"):
        train(small, Dataset(tmp_path / "data.csv", weight="w", query_weight=sides.query_weight[:4]))
    with pytest.raises(rankwood.DataError, match="expected a weight from 0 to 65536"):
        train(small, made.dataset(weight=sides.weight * 60000, query_weight=sides.query_weight * 60000))


def test_pickles_of_files_have_paths(made: Made, tmp_path: Path) -> None:
    table = pd.DataFrame(made.X, columns=list("abcdef")).assign(label=made.y, qid=made.qid)
    table.to_csv(tmp_path / "data.csv", index=False)
    data = Dataset(tmp_path / "data.csv", ignore=["f"])
    assert data.n_docs == len(made.X)
    stored = pickle.dumps(data)
    assert len(stored) < 1000
    again = pickle.loads(stored)
    assert repr(again) == f"Dataset({str(tmp_path / 'data.csv')!r})" and again.feature_names == list("abcde")
    with pytest.raises((AttributeError, pickle.PicklingError)):  # of the function
        pickle.dumps(Dataset.from_batches(lambda: [table], label="label", qid="qid"))


def test_names_of_several_levels(made: Made, small: dict[str, Any]) -> None:
    names = [("price", "mean"), ("price", "max"), ("clicks", "mean"), ("clicks", ""), ("d", 1), ("e", "x")]
    table = pd.DataFrame(made.X, columns=pd.MultiIndex.from_tuples(names))
    data = Dataset(table, made.y, qid=made.qid)
    assert data.feature_names == ["price_mean", "price_max", "clicks_mean", "clicks", "d_1", "e_x"]
    model = train({**small, "monotone": {"price_mean": "+"}}, data)
    assert np.array_equal(model.predict(table[table.columns[::-1]]), model.predict(data))
    assert np.array_equal(model.leaves(table[table.columns[::-1]]), model.leaves(data))
    table["qid", ""] = made.qid  # as reset_index names it
    ranker = rankwood.Ranker(**small).fit(table, made.y)
    assert ranker.n_features_in_ == 6 and "qid" not in ranker.feature_names_in_
    twice = pd.DataFrame(made.X[:, :2], columns=pd.MultiIndex.from_tuples([("a_b", "c"), ("a", "b_c")]))
    with pytest.raises(rankwood.DataError, match="two columns have the name 'a_b_c'"):
        Dataset(twice, made.y, qid=made.qid)
