# room: io
"""CSV and TSV give models identical to those of a data frame of the same file and of the program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from test_program import run

import rankwood
from conftest import Made
from rankwood import DataError, Dataset, train

COLUMNS: dict[str, Any] = {"label": "relevance", "qid": "query", "ignore": ["title", 0]}


def frame(of: Made) -> pd.DataFrame:
    table = pd.DataFrame(of.X.astype(float), columns=["bm25", "a b", "c,d", "7", "e", "f"])
    table = table.mask(table > 1.5)
    table.insert(0, "title", [f'red, "{i}"\nshoes' for i in range(len(table))])
    table.insert(3, "query", [f"q {one}" for one in of.qid])
    table["relevance"] = of.y
    table["weight"] = np.arange(len(table)) % 3 + 0.5
    return table


@pytest.fixture
def table(made: Made, tmp_path: Path) -> Path:
    frame(made).to_csv(tmp_path / "train.csv", index=True)
    return tmp_path / "train.csv"


@pytest.fixture
def valid(other: Made, tmp_path: Path) -> Path:
    frame(other).iloc[:, ::-1].to_csv(tmp_path / "valid.tsv.gz", sep="\t", index=False)
    return tmp_path / "valid.tsv.gz"


def test_as_the_frame_and_the_program(
    table: Path, valid: Path, small: dict[str, Any], program: Path, tmp_path: Path
) -> None:
    named = {**COLUMNS, "weight": "weight"}
    ours = Dataset(table, **named)
    theirs = Dataset(pd.read_csv(table), **named)
    assert ours.feature_names == theirs.feature_names == ["bm25", "a b", "c,d", "7", "e", "f"]
    assert np.array_equal(ours.label, theirs.label)
    assert np.array_equal(ours.query_offsets, theirs.query_offsets)
    measured = Dataset(valid, label="relevance", qid="query", weight="weight", ignore="title")
    from_file = train(small, ours, valid=measured)
    read = pd.read_csv(valid, sep="\t")
    from_frame = train(small, theirs, valid=Dataset(read, "relevance", qid="query", weight="weight", ignore=["title"]))
    assert from_file.to_bytes() == from_frame.to_bytes()
    assert from_file.feature_names == from_frame.feature_names
    assert from_file.evals_result == from_frame.evals_result
    options = [f"--{name.replace('_', '-')}={value}" for name, value in small.items()]
    run(
        program, "train", table, "--valid", valid, "--label-column=relevance", "--qid-column=query", *options,
        "--weight-column=weight", "--ignore=1,title", "-o", tmp_path / "m",
    )  # fmt: skip
    assert (tmp_path / "m").read_bytes() == from_file.to_bytes()


def test_scored_by_name(table: Path, valid: Path, other: Made, small: dict[str, Any], tmp_path: Path) -> None:
    left_out = {**COLUMNS, "ignore": ["title", "weight", 0]}
    model = train(small, Dataset(table, **left_out))
    expected = model.predict(frame(other))
    assert np.array_equal(model.predict(valid), expected)  # in another order, with text
    assert np.array_equal(model.predict(Dataset(valid, "relevance", qid="query")), expected)
    bare = tmp_path / "bare.csv"
    frame(other).drop(columns=["relevance", "query"]).to_csv(bare, index=False)
    assert np.array_equal(model.predict(bare), expected)
    loaded = rankwood.Model.from_bytes(model.to_bytes())
    assert np.array_equal(loaded.predict(bare), expected)
    frame(other).drop(columns=["relevance", "query", "bm25"]).to_csv(bare, index=False)
    with pytest.raises(DataError, match="lacks 1 feature, such as 'bm25'"):
        model.predict(bare)


def test_columns_without_a_feature_are_noted(
    table: Path, valid: Path, other: Made, small: dict[str, Any], caplog: Any
) -> None:
    """Once for each data set, unless the columns are declared."""
    model = train(small, Dataset(table, **{**COLUMNS, "ignore": ["title", "weight", 0]}))
    sides: dict[str, Any] = {"label": "relevance", "qid": "query"}
    named: dict[str, Any] = {"weight": "weight"}
    for data, known in ((frame(other).drop(columns="title"), named), (valid, {**named, "ignore": ["title"]})):
        for more, expected in (({}, 1), (known, 0)):
            caplog.clear()
            with caplog.at_level("INFO", logger="rankwood"):
                one = Dataset(data, **sides, **more)
                model.predict(one)
                model.predict(one)
            said = [line for line in caplog.messages if "not among the" in line]
            assert len(said) == expected and all("weight" in line for line in said), said


def test_a_set_in_another_order(table: Path, valid: Path, other: Made, small: dict[str, Any]) -> None:
    in_file, in_memory = Dataset(table, **COLUMNS), Dataset(pd.read_csv(table), **COLUMNS)
    sets = [Dataset(valid, "relevance", qid="query"), Dataset(frame(other), "relevance", qid="query", ignore=["title"])]
    models = [train(small, one, valid=two) for one in (in_file, in_memory) for two in sets]
    assert len({model.to_bytes() for model in models}) == 1
    more = [train(small, one, valid=two, init=models[0]) for one in (in_file, in_memory) for two in sets]
    assert len({model.to_bytes() for model in more}) == 1


def test_measured(table: Path, small: dict[str, Any]) -> None:
    data, same = Dataset(table, **COLUMNS), Dataset(pd.read_csv(table), **COLUMNS)
    model = train(small, data)
    means = [rankwood.evaluate(one, model).metrics["ndcg@10"].mean for one in (data, same)]
    assert means[0] == means[1]
    folds = [rankwood.cv(small, one, 3).folds[1].model.to_bytes() for one in (data, same)]
    assert folds[0] == folds[1]
    found, expected = rankwood.check(data), rankwood.check(same)
    assert found.findings == expected.findings and found.findings


def test_errors(table: Path, made: Made, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"train.csv:2:4: expected a number in column 'title', found 'red"):
        len(Dataset(table, "relevance", qid="query", ignore=[0]))
    with pytest.raises(DataError, match="no column 'rel' for labels; the columns are '', 'title', 'bm25'"):
        len(Dataset(table, "rel", qid="query"))
    with pytest.raises(DataError, match="label is given, but the files contain it"):
        Dataset(table, made.y)
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:1 1:3\n")
    with pytest.raises(DataError, match="label is given, but only CSV and TSV files have columns"):
        len(Dataset(tmp_path / "a.txt", "relevance"))


def test_weights_of_queries(made: Made, program: Path, tmp_path: Path, small: dict[str, Any]) -> None:
    weights = np.arange(len(made.group)) % 4 / 2
    (tmp_path / "w").write_text("".join(f"{one}\n" for one in weights))
    of_docs = np.repeat(weights, made.group)
    model = train(small, made.dataset(query_weight=weights))
    assert model.to_bytes() == train(small, made.dataset(weight=of_docs)).to_bytes()
    assert model.to_bytes() != train(small, made.dataset()).to_bytes()
    with pytest.raises(DataError, match=f"weight has {len(weights)} values for {len(made.y)} documents"):
        made.dataset(weight=weights)


@pytest.mark.parametrize("whose", ["weight", "query_weight"])
def test_weights_of_files_are_measured(table: Path, made: Made, whose: str) -> None:
    n = len(made.y) if whose == "weight" else len(made.group)
    weights: dict[str, Any] = {whose: np.arange(n) % 4 / 2}
    scores = made.X[:, 0]
    plain = rankwood.evaluate(made.dataset(), scores)["ndcg@10"]
    expected = rankwood.evaluate(made.dataset(**weights), scores)["ndcg@10"]
    assert expected != plain
    assert rankwood.evaluate(Dataset(table, **COLUMNS, **weights), scores)["ndcg@10"] == expected


def test_latin1(made: Made, small: dict[str, Any], tmp_path: Path) -> None:
    """Names of a file in Latin-1 are text everywhere: as in a data frame of the file, in models and in lists."""
    names = ["gr\xf6\xdfe", "caf\xe9", "preis \u20ac", "d", "e", "f"]
    table = pd.DataFrame(made.X, columns=names).assign(label=made.y, qid=made.qid)
    table.to_csv(tmp_path / "latin1.csv", index=False, encoding="cp1252")
    table.to_csv(tmp_path / "utf8.csv", index=False)
    params = {**small, "monotone": {names[0]: 1}}
    data = Dataset(tmp_path / "latin1.csv")
    assert data.feature_names == names
    model = train(params, data)
    assert model.to_bytes() == train(params, Dataset(tmp_path / "utf8.csv")).to_bytes()
    expected = model.predict(pd.read_csv(tmp_path / "latin1.csv", encoding="cp1252"))
    for other in (tmp_path / "latin1.csv", tmp_path / "utf8.csv", data, table):
        assert np.array_equal(model.predict(other), expected)
    assert set(model.importance()) <= set(names) and rankwood.evaluate(data, model)["ndcg@10"] > 0
    model.save(tmp_path / "model.txt")
    assert np.array_equal(rankwood.Model.load(tmp_path / "model.txt").predict(data), expected)
    assert Dataset(tmp_path / "latin1.csv", ignore=[names[1]]).feature_names == [names[0], *names[2:]]
    assert model.report(None, data, n_repeats=0)
