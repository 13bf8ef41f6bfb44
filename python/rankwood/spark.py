"""Training where a Spark cluster has the data: a worker in each task of a barrier stage; the bytes go by
torch.distributed.

Spark places the data, starts the workers, and tells them of each other; nothing of training goes through it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwood._cluster import Meeting, Options, Part, free_address, run
from rankwood._core import DataError, UnsupportedError, WorkerError, package
from rankwood._model import Model
from rankwood._params import as_mapping
from rankwood._workers import describe


@dataclass(frozen=True)
class _Job:
    """What every task is given."""

    params: dict[str, Any]
    columns: tuple[str, ...]  # of the frame
    label: str
    qid: str
    weight: str | None
    start_scores: str | None
    position: str | None
    more_labels: tuple[str, ...] | None
    valid: str | None
    options: Options
    timeout: float
    more: dict[str, Any]

    def parts(self, batches: Iterable[Any]) -> dict[str, list[Part]]:
        """The documents of a task, by set. A task without any has the columns, too."""
        import pandas as pd

        given = list(batches)
        empty = pd.DataFrame({name: np.empty(0, np.int64) for name in self.columns})
        whole = pd.concat(given, ignore_index=True) if given else empty

        def part(rows: Any) -> list[Part]:
            some = whole[rows] if rows is not None else whole
            further = list(self.more_labels) if self.more_labels else None
            return [Part(some, self.label, self.qid, self.weight, self.start_scores, self.position, further)]

        if self.valid is None:
            return {"train": part(None)}
        is_valid = whole[self.valid].to_numpy(bool)
        return {"train": part(~is_valid), "valid": part(is_valid)}


def _rank(job: _Job, context: Any, batches: Iterable[Any]) -> tuple[int, Model | None, BaseException | None]:
    """A worker, in its task. What it fails of is its result: Spark would try a stage that fails again, as it does
    where a task has died."""
    rank, tasks = context.partitionId(), context.getTaskInfos()
    host = tasks[rank].address.rpartition(":")[0] or tasks[rank].address
    address = context.allGather(free_address(host) if rank == 0 else "")[0]
    params = {"threads": max(1, context.cpus()), **job.params}
    try:
        meeting = Meeting(rank, len(tasks), address, job.timeout)

        def sets() -> dict[str, tuple[list[Part], Options]]:
            return {name: (parts, job.options) for name, parts in job.parts(batches).items()}

        return rank, run(meeting, params, sets, job.more), None
    except Exception as error:
        return rank, None, error


def _pickled(rank: int, model: Model | None, error: BaseException | None) -> bytes:
    try:
        return pickle.dumps((rank, model, error))
    except Exception:
        return pickle.dumps((rank, None, WorkerError(f"worker {rank}: {describe(error) if error else 'no result'}")))


def _model_of(told: Sequence[tuple[int, Model | None, BaseException | None]]) -> Model:
    """Rank 0's; or the failure that says most is raised, with a note that names the worker."""
    failures = sorted((isinstance(error, WorkerError), rank, error) for rank, _, error in told if error is not None)
    if failures:
        _, rank, error = failures[0]
        error.add_note(f"on worker {rank} of {len(told)}")
        raise error
    return next(model for _, model, _ in told if model is not None)


def train(
    params: Mapping[str, Any] | None,
    frame: Any,
    *,
    label: str,
    qid: str,
    weight: str | None = None,
    start_scores: str | None = None,
    position: str | None = None,
    more_labels: Sequence[str] = (),
    valid: str | None = None,
    ignore: Sequence[str] = (),
    missing: float = float("nan"),
    timeout: float = 600,
    **more: Any,
) -> Model:
    """Trains a model on a Spark data frame, in a barrier stage: each partition is a worker.

    The model is that of the partitions, one after the other, in memory, byte for byte. A query may go on in the
    next partitions, but not come back after another one. ``frame.repartitionByRange(8, "query")
    .sortWithinPartitions("query", "document")`` makes eight of whole queries, in an order that is the same every
    time. All of them run at once, so there are as many slots for tasks.

    Parameters
    ----------
    params
        As :func:`rankwood.train` takes them; ``threads`` are ``spark.task.cpus``, if they are not given.
    frame
        A pyspark.sql.DataFrame; what is not named below is a feature.
    label, qid, weight, start_scores, position
        Names of columns; label and qid are there, the others need not be. position is for ``debias``.
    more_labels
        Names of columns: further labels, for ``label_weights``.
    valid
        The name of a column of booleans: documents where it is true are the validation set.
    ignore
        Columns that are not features.
    missing
        A value that means missing, beside NaN and null.
    timeout
        Seconds that a worker waits for the others, in each exchange.
    more
        What else :func:`rankwood.train` takes, in every task; paths are the executors'.

    Returns
    -------
    Model
        That of :func:`rankwood.train` on the whole data in memory, byte for byte.

    Raises
    ------
    DataError, ParameterError
        As :func:`rankwood.train`, on the worker that the exception's notes name; no such column.
    WorkerError
        A worker cannot be reached. A task that dies is Spark's error, once it has started the stage again as often
        as it may.
    UnsupportedError
        ``pairs``: they name documents by their numbers, which a frame's rows do not have.
    ImportError
        There is no pyspark (the extra ``spark``).
    """
    if "pairs" in more:
        raise UnsupportedError(
            "pairs name documents by their numbers, which a frame's rows do not have; rankwood.dask takes them"
        )
    package("pyspark", "spark")
    columns = tuple(frame.columns)
    further = (more_labels,) if isinstance(more_labels, str) else tuple(more_labels)
    for name in (label, qid, weight, start_scores, position, valid, *further, *ignore):
        if name is not None and name not in columns:
            raise DataError(f"no column {name!r}; there are {', '.join(map(repr, columns[:8]))}")
    left_out = (*ignore, *([valid] if valid is not None else []))
    options = Options(left_out, missing)
    job = _Job(
        as_mapping(params), columns, label, qid, weight, start_scores, position, further or None, valid, options,
        timeout, more,
    )  # fmt: skip

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import pandas as pd
        from pyspark import BarrierTaskContext

        result = _pickled(*_rank(job, BarrierTaskContext.get(), batches))
        yield pd.DataFrame({"result": [result]})

    rows = frame.mapInPandas(task, "result binary", barrier=True).collect()
    return _model_of([pickle.loads(row.result) for row in rows])


__all__ = ["train"]
