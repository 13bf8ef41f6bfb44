# room: comm
"""rankwood.spark: on a local cluster where there is pyspark and Java; its logic by made tasks everywhere."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood
from conftest import Made
from rankwood import _cluster, spark

PARAMS: dict[str, Any] = {"rounds": 10, "leaves": 7, "min_docs": 2, "l2": 5, "early_stop": 4}
COLUMNS = {"label": "label", "qid": "query"}


def frame(made: Made, first: int = 0) -> pd.DataFrame:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    return table.assign(label=made.y, query=made.qid + first, part=np.arange(len(made.y)) // 130)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Documents of training and validation, in turn."""
    from conftest import make

    both = [frame(make(1)).assign(is_valid=False), frame(make(2, 20), 1000).assign(is_valid=True)]
    return pd.concat(both).sort_values("part", kind="stable").reset_index(drop=True)


@pytest.fixture(scope="module")
def alone(table: pd.DataFrame) -> bytes:
    is_valid = table["is_valid"]
    train_set, valid = (
        rankwood.Dataset(table[rows], **COLUMNS, ignore=["part", "is_valid"]) for rows in (~is_valid, is_valid)
    )
    return rankwood.train(PARAMS, train_set, valid=valid).to_bytes()


# ---- made tasks ----


class Tasks:
    """State shared by the tasks of a barrier stage."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.barrier = threading.Barrier(n)
        self.messages = [""] * n


class Context:
    """pyspark.BarrierTaskContext of one task."""

    def __init__(self, tasks: Tasks, rank: int) -> None:
        self.tasks, self.rank = tasks, rank

    def partitionId(self) -> int:
        return self.rank

    def getTaskInfos(self) -> list[Any]:
        return [SimpleNamespace(address=f"localhost:{5000 + rank}") for rank in range(self.tasks.n)]

    def cpus(self) -> int:
        return 1

    def allGather(self, message: str) -> list[str]:
        self.tasks.messages[self.rank] = message
        self.tasks.barrier.wait(30)
        return self.tasks.messages


def run(job: Any, parts: list[list[pd.DataFrame]]) -> Any:
    tasks = Tasks(len(parts))
    out: list[Any] = [None] * len(parts)
    def one(rank: int) -> None:
        out[rank] = spark._rank(job, "is_valid", Context(tasks, rank), parts[rank])

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(len(parts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tasks.messages[0].startswith("localhost:") and set(tasks.messages[1:]) <= {""}
    return _cluster.model_of(out)


def job(table: pd.DataFrame, **more: Any) -> Any:
    given: dict[str, Any] = {"params": PARAMS, "ignore": ("part", "is_valid"), **more}
    return _cluster.FrameJob(
        given["params"], tuple(table.columns), "label", "query", None, given.get("start_scores"), given.get("position"),
        tuple(given.get("more_labels") or ()), _cluster.Options(given["ignore"]), 60, {},
    )  # fmt: skip


def test_tasks(table: pd.DataFrame, alone: bytes) -> None:
    """Batches of any size, borders within queries, a task without documents."""
    parts = [[table[:10], table[10:333]], [table[333:500]], [], [table[500:]]]
    assert run(job(table), parts).to_bytes() == alone


def test_tasks_start(table: pd.DataFrame) -> None:
    """Start scores are a column of both sets."""
    table = table.assign(before=np.random.default_rng(4).normal(size=len(table)))
    is_valid = table["is_valid"]
    train_set, valid = (
        rankwood.Dataset(table[rows], **COLUMNS, start_scores="before", ignore=["part", "is_valid"])
        for rows in (~is_valid, is_valid)
    )
    expected = rankwood.train(PARAMS, train_set, valid=valid)
    parts = [[table[:10], table[10:333]], [table[333:500]], [], [table[500:]]]
    model = run(job(table, start_scores="before"), parts)
    assert model.to_bytes() == expected.to_bytes()
    assert model.evals_result == expected.evals_result


def test_tasks_on_clicks_and_several_labels(table: pd.DataFrame) -> None:
    table = table.assign(shown=np.arange(len(table)) % 9, buy=np.arange(len(table)) % 3)
    is_valid = table["is_valid"]
    parts = [[table[:10], table[10:333]], [table[333:500]], [], [table[500:]]]
    for more, given in (
        ({"debias": "additive"}, {"position": "shown", "more_labels": None}),
        ({"label_weights": "1,0.5"}, {"position": None, "more_labels": ("buy",)}),
    ):
        left_out = ["part", "is_valid"] + [name for name in ("shown", "buy") if name not in str(given.values())]
        sets = [
            rankwood.Dataset(
                table[rows], **COLUMNS, position=given["position"], ignore=left_out,
                more_labels=list(given["more_labels"] or ()) or None,
            )
            for rows in (~is_valid, is_valid)
        ]  # fmt: skip
        expected = rankwood.train(PARAMS | more, sets[0], valid=sets[1])
        one = job(table, params=PARAMS | more, ignore=left_out, **given)
        assert run(one, parts).to_bytes() == expected.to_bytes()


def test_pairs_are_refused(table: pd.DataFrame) -> None:
    with pytest.raises(rankwood.UnsupportedError, match="pairs refer to document numbers"):
        spark.train(PARAMS, table, label="label", qid="query", pairs=[[0, 1]])


def test_tasks_that_fail(table: pd.DataFrame) -> None:
    bad = table.assign(label=np.where(table.index == 600, -1, table["label"]))
    with pytest.raises(rankwood.DataError, match=r"label of document .* is -1; expected") as raised:
        run(job(table), [[bad[:300]], [bad[300:]]])
    assert raised.value.__notes__ == ["on worker 1 of 2"]
    with pytest.raises(rankwood.ParameterError, match="leavess"):
        run(job(table, params={"leavess": 7}), [[table[:300]], [table[300:]]])


# ---- Spark ----


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    for package in ("pyspark", "zmq"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    if shutil.which("java") is None:
        pytest.skip("java is not installed")
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]").appName("rankwood")
        .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    )  # fmt: skip
    yield session
    session.stop()


def test_session(session: Any, table: pd.DataFrame, alone: bytes) -> None:
    given = session.createDataFrame(table.reset_index(names="row")).repartitionByRange(2, "row")
    given = given.sortWithinPartitions("row")
    options: dict[str, Any] = {**COLUMNS, "valid": "is_valid", "ignore": ["part", "row"], "timeout": 60}
    assert spark.train(PARAMS, given, **options).to_bytes() == alone
    with pytest.raises(rankwood.ParameterError, match="leavess"):
        spark.train({"leavess": 7}, given, **options)
    with pytest.raises(rankwood.DataError, match="no column 'queries'; there are 'row', 'a'"):
        spark.train(PARAMS, given, **{**options, "qid": "queries"})
