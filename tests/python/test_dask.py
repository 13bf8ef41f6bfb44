# room: comm
"""rankwood.dask: the model is that of the whole frame in memory, wherever partitions are and queries are split."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood
from conftest import Made

dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from rankwood import dask as ours  # noqa: E402 (after an optional import)

PARAMS: dict[str, Any] = {"rounds": 10, "leaves": 7, "min_docs": 2, "l2": 5, "early_stop": 4}
MORE = {"plain": {}, "newton": {"split": "newton"}, "sampled": {"sample_queries": 0.6, "sample_features": 0.7}}
COLUMNS = {"label": "label", "qid": "query"}


def frame(made: Made) -> pd.DataFrame:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    return table.assign(label=made.y, query=[f"words {one}" for one in made.qid])


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Three workers that are threads, and so are their ranks."""
    with distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        yield client


def test_persisted_partitions_stay(client: Any, made: Made) -> None:
    """Ranges of partitions go to the Dask workers that have them, whatever the order of the workers' names."""
    one, two, three = sorted(client.nthreads())
    data = da.from_array(made.X, chunks=(200, 6)).persist()
    table = dd.from_pandas(frame(made), npartitions=data.numblocks[0], sort=False).persist()
    distributed.wait([data, table])

    class Cluster:  # because Dask itself moves small partitions
        def nthreads(self) -> dict[str, int]:
            return {worker: 1 for worker in (two, one, three)}

        def who_has(self, futures: list[Any]) -> dict[Any, tuple[str, ...]]:
            return {future.key: has[future.key[1]] for future in futures}

    assert data.numblocks == (3, 1)
    for order in ([one, two, three], [three, one, two], [three, two, one]):
        has = [(worker,) for worker in order]
        assert ours._nearest(Cluster(), data, 3) == ours._nearest(Cluster(), table, 3) == order
    has = [(two,), (two, three), (two,)]
    assert ours._nearest(Cluster(), data, 3) == [two, three, one]
    assert ours._nearest(Cluster(), da.ones((8, 2), chunks=(1, 2)), 8) == [one, two, three]


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("n_partitions", [7, 2, 1, 40])
def test_frame(more: str, n_partitions: int, client: Any, made: Made, other: Made) -> None:
    """More partitions than workers, and fewer; their borders are within queries."""
    params = {**PARAMS, **MORE[more]}
    train_frame, valid_frame = frame(made), frame(other)
    alone = rankwood.train(
        params, rankwood.Dataset(train_frame, **COLUMNS), valid=rankwood.Dataset(valid_frame, **COLUMNS)
    )
    model = ours.train(
        params,
        ours.Dataset(dd.from_pandas(train_frame, npartitions=n_partitions, sort=False), **COLUMNS),
        valid=ours.Dataset(dd.from_pandas(valid_frame, npartitions=2, sort=False), **COLUMNS),
        client=client,
    )
    assert model.to_bytes() == alone.to_bytes()
    assert model.evals_result == alone.evals_result and model.feature_names == list("abcdef")


def test_arrays_and_weights(client: Any, made: Made) -> None:
    weight = np.where(made.qid % 3 == 0, 2.0, 0.5)
    start = np.random.default_rng(4).normal(size=len(made.y))
    alone = rankwood.train(PARAMS | {"early_stop": 0}, made.dataset(weight=weight, start_scores=start))
    chunks = (100, made.X.shape[1] // 2)  # in both directions
    one = [da.from_array(values, chunks=chunks[0]) for values in (made.y, made.qid, weight)]
    starts = da.from_array(start, chunks=chunks[0])
    data = ours.Dataset(da.from_array(made.X, chunks=chunks), *one, start_scores=starts)
    model = ours.train(PARAMS | {"early_stop": 0}, data, client=client)
    assert model.to_bytes() == alone.to_bytes()


@pytest.mark.parametrize("n_partitions", [7, 1])
def test_clicks_and_several_labels(n_partitions: int, client: Any, made: Made) -> None:
    table = frame(made).assign(shown=np.arange(len(made.y)) % 9, buy=np.arange(len(made.y)) % 3)
    params = PARAMS | {"early_stop": 0}
    parts = dd.from_pandas(table, npartitions=n_partitions, sort=False)
    for more, given, ignored in (
        ({"debias": "additive"}, {"position": "shown"}, ("buy",)),
        ({"label_weights": "1,0.5"}, {"more_labels": ["buy"]}, ("shown",)),
        ({"label_weights": "1,0.5"}, {"label": ["label", "buy"]}, ("shown",)),
    ):
        columns = {**COLUMNS, **given}
        alone = rankwood.train(params | more, rankwood.Dataset(table, **columns, ignore=ignored))
        model = ours.train(params | more, ours.Dataset(parts, **columns, ignore=ignored), client=client)
        assert model.to_bytes() == alone.to_bytes()
        if "debias" in more:
            assert model.position_bias is not None and alone.position_bias is not None
            assert model.position_bias.bias.tolist() == alone.position_bias.bias.tolist()


def test_ranker_with_clicks_and_several_labels(client: Any, made: Made) -> None:
    shown, both = np.arange(len(made.y)) % 9, np.column_stack([made.y, made.y % 2])
    X, y, qid, position = (da.from_array(one, chunks=150) for one in (made.X, made.y, made.qid, shown))
    given = {"rounds": 10, "leaves": 7, "min_docs": 2, "l2": 5}
    ranker = ours.Ranker(**given, debias="ipw").fit(X, y, qid=qid, position=position, client=client)
    alone = rankwood.Ranker(**given, debias="ipw").fit(made.X, made.y, qid=made.qid, position=shown)
    assert ranker.model_.to_bytes() == alone.model_.to_bytes()
    several = da.from_array(both, chunks=(90, 1))
    ranker = ours.Ranker(**given, label_weights=[1, 2]).fit(X, several, qid=qid, client=client)
    alone = rankwood.Ranker(**given, label_weights=[1, 2]).fit(made.X, both, qid=made.qid)
    assert ranker.model_.to_bytes() == alone.model_.to_bytes()


def test_pairs(client: Any, made: Made) -> None:
    """By their numbers in the whole data, of whichever rank the query is in the end."""
    begin = np.concatenate([[0], np.cumsum(made.group)])
    pairs = [[int(b) + i, int(b) + i + 2, 1 + i] for b in begin[:-1:2] for i in range(2)]
    params = PARAMS | {"early_stop": 0, "pairs": "given", "delta": "none"}
    alone = rankwood.train(params, made.dataset(pairs=pairs))
    X, y, qid = (da.from_array(one, chunks=150) for one in (made.X, made.y, made.qid))
    for some in (pairs, pairs[:1]):  # of one worker alone
        alone = rankwood.train(params, made.dataset(pairs=some))
        model = ours.train(params, ours.Dataset(X, y, qid, pairs=some), client=client)
        assert model.to_bytes() == alone.to_bytes()
    n = len(made.y)
    for bad, words in (
        ([[0, n]], f"pairs has {n}; expected documents from 0 to {n - 1}"),
        ([[-1, 0]], "pairs has -1; expected documents from 0"),
        ([[0, n - 1]], f"pairs has 0 and {n - 1}; expected documents of one query"),
        ([0, 1], r"pairs has the shape \(2,\); expected"),
        ([[0, int(begin[1])]], "expected two documents of one query"),
    ):
        with pytest.raises(rankwood.DataError, match=words):
            ours.train(params, ours.Dataset(X, y, qid, pairs=bad), client=client)


def test_query_across_all_ranks(client: Any, made: Made) -> None:
    """One that is all that the second rank has."""
    qid = np.where((made.qid >= 15) & (made.qid < 40), 15, made.qid)
    alone = rankwood.train(PARAMS | {"early_stop": 0}, rankwood.Dataset(made.X, made.y, qid=qid))
    n = len(qid)
    begin, end = int(np.argmax(qid == 15)), int(n - np.argmax(qid[::-1] == 15))
    chunks = (begin + 3, end - 3 - begin - 3, n - end + 3)
    data = ours.Dataset(*(da.from_array(one, chunks=(chunks, *one.shape[1:])) for one in (made.X, made.y, qid)))
    assert ours.train(PARAMS | {"early_stop": 0}, data, client=client).to_bytes() == alone.to_bytes()


def test_query_that_comes_back(client: Any, made: Made) -> None:
    qid = made.qid.copy()
    qid[-5:] = qid[0]
    data = ours.Dataset(*(da.from_array(one, chunks=150) for one in (made.X, made.y, qid)))
    with pytest.raises(rankwood.DataError, match="query '7' of 'train' is on this worker and on worker 0") as raised:
        ours.train(PARAMS | {"early_stop": 0}, data, client=client)
    assert raised.value.__notes__[0].startswith("on worker 2 of 3, the Dask worker inproc://")


def test_ranker(client: Any, made: Made, other: Made) -> None:
    given = {"rounds": 10, "leaves": 7, "min_docs": 2, "l2": 5, "early_stop": 4}
    table, valid = frame(made), frame(other)
    features = list("abcdef")
    alone = rankwood.Ranker(**given).fit(
        table[features], table["label"], qid=table["query"],
        eval_set=[(valid[features], valid["label"])], eval_qid=[valid["query"]],
    )  # fmt: skip
    parts, valid_parts = (dd.from_pandas(one, npartitions=5, sort=False) for one in (table, valid))
    ranker = ours.Ranker(**given).fit(
        parts[features], parts["label"], qid=parts["query"],
        eval_set=[(valid_parts[features], valid_parts["label"])], eval_qid=[valid_parts["query"]], client=client,
    )  # fmt: skip
    assert ranker.model_.to_bytes() == alone.model_.to_bytes()
    assert list(ranker.feature_names_in_) == features and ranker.n_features_in_ == 6
    assert ranker.best_iteration_ == alone.best_iteration_ and ranker.evals_result_ == alone.evals_result_
    expected = alone.predict(table[features])
    assert np.array_equal(ranker.predict(parts[features]).compute(), expected)
    assert np.array_equal(ranker.predict(table[features]), expected)
    X, y, qid = (da.from_array(one, chunks=150) for one in (made.X, made.y, made.qid))
    values = ours.Ranker(**given | {"early_stop": 0}, missing=-9).fit(X, y, qid=qid, client=client)
    blocks = values.predict(da.from_array(made.X, chunks=(90, 4)))
    assert np.array_equal(blocks.compute(), values.model_.predict(made.X))


def test_column_qid(client: Any, made: Made, other: Made) -> None:
    """It holds the query ids if none are given, and is no feature."""
    given = {"rounds": 10, "leaves": 7, "min_docs": 2, "l2": 5, "early_stop": 4}
    table, valid = (pd.DataFrame(one.X, columns=list("abcdef")).assign(qid=one.qid) for one in (made, other))
    alone = rankwood.Ranker(**given).fit(table, made.y, eval_set=[(valid, other.y)])
    y, valid_y = (dd.from_pandas(pd.Series(one.y), npartitions=3, sort=False) for one in (made, other))
    parts, valid_parts = (dd.from_pandas(one, npartitions=3, sort=False) for one in (table, valid))
    ranker = ours.Ranker(**given).fit(parts, y, eval_set=[(valid_parts, valid_y)], client=client)
    assert ranker.model_.to_bytes() == alone.model_.to_bytes()
    assert list(ranker.feature_names_in_) == list("abcdef") and ranker.n_features_in_ == 6
    assert np.array_equal(ranker.predict(parts).compute(), alone.predict(table))
    with pytest.raises(rankwood.DataError, match="has a column 'qid', and qid is also given"):
        ours.Ranker(**given).fit(parts, y, qid=parts["qid"], client=client)


def test_words(client: Any, made: Made) -> None:
    X, y, qid = (da.from_array(one, chunks=200) for one in (made.X, made.y, made.qid))
    cases: list[tuple[Any, type[Exception], str]] = [
        (made.X, rankwood.ParameterTypeError, "train is a ndarray; expected a rankwood.Dataset"),
        (ours.Dataset(made.X, y, qid), rankwood.DataError, "data is a ndarray; expected a Dask data frame or array"),
        (ours.Dataset(X, made.y, qid), rankwood.DataError, "label is a ndarray; expected a column name"),
        (ours.Dataset(X, y, None), rankwood.DataError, "'train' has no qid"),
        (ours.Dataset(X, -y, qid), rankwood.DataError, "label of document .* expected a finite number, 0 or more"),
        (ours.Dataset(X, y, "query"), IndexError, "."),
    ]
    for data, kind, words in cases:
        with pytest.raises(kind, match=words):
            ours.train({**PARAMS, "early_stop": 0}, data, client=client)
    with pytest.raises(rankwood.ParameterError, match="unknown parameter 'leavess'"):
        ours.train({"leavess": 3}, ours.Dataset(X, y, qid), client=client)


# ---- processes ----


@dask.delayed
def broken() -> pd.DataFrame:
    raise FileNotFoundError("part-7.parquet")


def test_partition_that_cannot_be_read(client: Any, made: Made) -> None:
    whole = frame(made)
    parts = [dask.delayed(whole[:200]), broken(), dask.delayed(whole[200:])]
    data = ours.Dataset(dd.from_delayed(parts, meta=whole[:0], verify_meta=False), **COLUMNS)
    with pytest.raises(FileNotFoundError, match=r"part-7\.parquet"):
        ours.train({**PARAMS, "early_stop": 0}, data, client=client)


def dies(done: rankwood.Round) -> None:
    if done.round == 3 and rankwood._workers.number() == 1:
        os._exit(9)


def test_processes(made: Made, other: Made, tmp_path: Path) -> None:
    """Workers that are processes, and bytes that go by pyzmq; one dies, and training is resumed."""
    alone = rankwood.train(PARAMS, rankwood.Dataset(frame(made), **COLUMNS),
                           valid=rankwood.Dataset(frame(other), **COLUMNS))  # fmt: skip
    data, valid = (
        ours.Dataset(dd.from_pandas(frame(one), npartitions=5, sort=False), **COLUMNS) for one in (made, other)
    )
    resumable: dict[str, Any] = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 1, "resume": "auto"}
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        for _ in range(2):
            assert ours.train(PARAMS, data, valid=valid, client=client, timeout=60).to_bytes() == alone.to_bytes()
        gone = r"worker 1( of 2: ended or unreachable|: the Dask worker .* has ended)"
        with pytest.raises(rankwood.WorkerError, match=gone):
            ours.train(PARAMS, data, valid=valid, client=client, timeout=60, callbacks=[dies], **resumable)
        client.wait_for_workers(2)
        assert (tmp_path / "checkpoint").exists()
        model = ours.train(PARAMS, data, valid=valid, client=client, timeout=60, **resumable)
        assert model.to_bytes() == alone.to_bytes()
