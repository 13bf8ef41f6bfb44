# room: evaluate
"""The fewest features within a loss."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from rankwood import DataError, Dataset, ParameterError, ParameterTypeError, UnsupportedError, select, train

PARAMS = {"rounds": 30, "leaves": 6, "min_docs": 5, "early_stop": 8}
MATTER = [2, 5, 9]


def arrays(seed: int, n_queries: int = 40, length: int = 10) -> tuple[Any, Any, Any]:
    """Labels follow from three of twelve features."""
    random = np.random.default_rng(seed)
    values = random.random((n_queries * length, 12), dtype=np.float32)
    labels = np.digitize(values[:, MATTER].sum(axis=1), [1.2, 1.7, 2.1])
    return values, labels, np.repeat(np.arange(n_queries), length)


def dataset(seed: int, **more: Any) -> Dataset:
    values, labels, queries = arrays(seed)
    return Dataset(values, labels, qid=queries, **more)


@pytest.fixture(scope="module")
def sets() -> list[Dataset]:
    return [dataset(seed) for seed in (1, 2, 3)]


def test_finds_relevant_features(sets: list[Dataset]) -> None:
    selected = select(PARAMS, sets[0], sets[1], loss=0.01, test=sets[2])
    assert selected.features == MATTER and selected.names is None and selected.metric == "ndcg@10"
    row, test = selected.rows[selected.chosen], selected.test
    assert row.n_features == 3 and row.within and row.n_trees == selected.model.n_trees
    assert selected.rows[0].n_features == 12 and selected.rows[0].difference == 0
    assert -row.difference <= 0.01 and row.low <= row.difference <= row.high
    assert sorted(one.feature for one in selected.importance) == MATTER
    losses = [one.loss for one in selected.importance]
    assert losses == sorted(losses, reverse=True)
    model = selected.model
    assert train(PARAMS | {"features": MATTER}, sets[0], valid=sets[1]).to_bytes() == model.to_bytes()
    others = [i for i in range(12) if i not in MATTER]
    assert train(PARAMS | {"ignore": others}, sets[0], valid=sets[1]).to_bytes() == model.to_bytes()
    assert test is not None and test.mean == rankwood.evaluate(sets[2], model)["ndcg@10"]
    assert test.whole == rankwood.evaluate(sets[2], train(PARAMS, sets[0], valid=sets[1]))["ndcg@10"]
    assert test.low <= test.difference <= test.high
    assert len(select(PARAMS | {"gain_noise": 0}, sets[0], sets[1], loss=0.001, sure=True).features) > 3
    assert repr(selected).startswith("Selected(3 of 12 features; ndcg@10: ")


def test_same_for_any_threads(sets: list[Dataset]) -> None:
    one, three = (select(PARAMS | {"threads": n}, sets[0], sets[1], loss=0.01) for n in (1, 3))
    assert one.model.to_bytes() == three.model.to_bytes()
    assert (one.rows, one.importance, one.features) == (three.rows, three.importance, three.features)
    assert one.test is None


def test_names(tmp_path: Path, sets: list[Dataset]) -> None:
    pandas = pytest.importorskip("pandas")
    frames = []
    for seed in (1, 2):
        values, labels, queries = arrays(seed)
        frames.append(pandas.DataFrame(values, columns=[f"a {i}" for i in range(12)]).assign(y=labels, q=queries))
    frames[1] = frames[1][frames[1].columns[::-1]]  # by name
    both = [Dataset(frame, "y", qid="q") for frame in frames]
    selected = select(PARAMS, *both, loss=0.01)
    assert selected.names == ["a 2", "a 5", "a 9"] and selected.features == MATTER
    assert selected.importance[0].name in selected.names and selected.model.feature_names == both[0].feature_names
    again = train(PARAMS | {"features": selected.names}, both[0], valid=both[1])
    assert again.to_bytes() == selected.model.to_bytes()
    assert np.array_equal(again.predict(frames[1]), selected.model.predict(both[1]))
    paths = [tmp_path / f"{i}.csv" for i in range(2)]
    for frame, path in zip(frames, paths, strict=True):
        frame.to_csv(path, index=False)
    of_files = select(PARAMS, *(Dataset(path, "y", qid="q") for path in paths), loss=0.01)
    assert of_files.names == selected.names and of_files.rows == selected.rows


def test_for_others(sets: list[Dataset]) -> None:
    """Columns of an array for an estimator."""
    pytest.importorskip("sklearn")
    params = {**PARAMS, "sample_features": 1, "gain_noise": 0}  # random numbers depend on features' ids, which differ
    selected = select(params, sets[0], sets[1], loss=0.01)
    (X, y, qid), (eval_x, eval_y, eval_qid) = arrays(1), arrays(2)
    ranker = rankwood.Ranker(**params).fit(
        X[:, selected.features], y, qid=qid, eval_set=[(eval_x[:, selected.features], eval_y)], eval_qid=[eval_qid]
    )
    assert np.array_equal(ranker.predict(eval_x[:, selected.features]), selected.model.predict(eval_x))


def test_progress(sets: list[Dataset], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "rankwood"):
        selected = select(PARAMS, sets[0], sets[1], loss=0.01)
    told = [one.getMessage() for one in caplog.records if " features: " in one.getMessage()]
    assert len(told) == len(selected.rows) and told[0].startswith("12 features: ")


def test_refused(sets: list[Dataset]) -> None:
    for loss in (-0.1, float("nan")):
        with pytest.raises(ParameterError, match=r"loss is .*; expected a number, 0 or more"):
            select(PARAMS, sets[0], sets[1], loss=loss)
    with pytest.raises(ParameterTypeError):
        select(PARAMS, sets[0], sets[1], loss="much")  # type: ignore[arg-type]
    with pytest.raises(ParameterTypeError, match="sure is 'yes'"):
        select(PARAMS, sets[0], sets[1], sure="yes")  # type: ignore[arg-type]
    for n_repeats in (0, 1001):
        with pytest.raises(ParameterError, match="n_repeats is"):
            select(PARAMS, sets[0], sets[1], n_repeats=n_repeats)
    with pytest.raises(ParameterTypeError):
        select(PARAMS, sets[0], None)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="expected one metric to select features by, found 2"):
        select(PARAMS | {"metric": ["ndcg@10", "map"]}, sets[0], sets[1])
    with pytest.raises(ParameterError, match="objective is a function"):
        select(PARAMS | {"objective": lambda scores, data: None}, sets[0], sets[1])
    with pytest.raises(ParameterError, match="features is empty"):
        select(PARAMS | {"features": []}, sets[0], sets[1])
    with pytest.raises(ParameterError, match="found 'price'"):
        train(PARAMS | {"features": ["price"]}, sets[0], valid=sets[1])
    with pytest.raises(ParameterError, match="unknown parameter 'lev"):
        select({"levaes": 3}, sets[0], sets[1])
    with pytest.raises(DataError, match="the validation set has one query"):
        select(PARAMS, sets[0], Dataset(arrays(2)[0], arrays(2)[1], group=[400]))
    with pytest.raises(DataError, match="valid has no labels"):
        select(PARAMS, sets[0], Dataset(arrays(1)[0]))
    started = dataset(2, start_scores=np.ones(400))
    with pytest.raises(UnsupportedError, match="the validation set has start scores"):
        select(PARAMS, sets[0], started)


def test_interrupted(sets: list[Dataset], monkeypatch: pytest.MonkeyPatch) -> None:
    from rankwood import _selection

    def interrupt(_row: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_selection, "_told", interrupt)
    with pytest.raises(KeyboardInterrupt):
        select(PARAMS, sets[0], sets[1])

    def fail(_row: Any) -> None:
        raise OSError("no pipe")

    monkeypatch.setattr(_selection, "_told", fail)
    with pytest.raises(OSError, match="no pipe"):
        select(PARAMS, sets[0], sets[1])
