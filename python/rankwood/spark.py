"""Training on a Spark cluster, with a worker in each task of a barrier stage.

Spark holds the data and starts the workers. They exchange training data by torch.distributed.
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
    """Arguments of every task."""

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
        """Returns the documents of a task, by set. A task without documents also has the columns."""
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
    """Runs a worker in its task, and returns its number, model and error.

    Errors are results, because Spark would retry a stage that raises, as it does after a task's death.
    """
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
    """Returns worker 0's model, or raises the most informative error with a note on the worker."""
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
    """Train a model on a Spark data frame, with one worker per partition.

    Training is a barrier stage, so the cluster needs a task slot for each partition. The model is identical to that of
    the partitions, one after the other, in memory. A query may continue in the next partitions, but its documents must
    be adjacent. ``frame.repartitionByRange(8, "query").sortWithinPartitions("query", "document")`` makes eight
    partitions of whole queries in a reproducible order.

    Parameters
    ----------
    params : dict or None
        Parameters as in :func:`rankwood.train`. ``threads`` is by default ``spark.task.cpus``.
    frame : pyspark.sql.DataFrame
        Documents. All columns are features unless an argument names them.
    label, qid : str
        Columns of labels and query ids.
    weight, start_scores, position : str or None, default None
        Columns of weights, start scores and displayed positions (for ``debias``).
    more_labels : list of str, default ()
        Columns of further labels, for ``label_weights``.
    valid : str or None, default None
        Boolean column; its true rows are the validation set.
    ignore : list of str, default ()
        Columns that are not features.
    missing : float, default NaN
        Value that means missing, in addition to NaN and null.
    timeout : float, default 600
        Seconds that a worker waits for the others in each exchange.
    **more
        Further arguments of :func:`rankwood.train`, used in every task. Paths are those of the executors.

    Returns
    -------
    Model
        Model identical to that of :func:`rankwood.train` with the whole data in memory.

    Raises
    ------
    DataError, ParameterError
        As in :func:`rankwood.train`, with a note that names the worker; also if a column is missing.
    WorkerError
        A worker cannot be reached. If a task dies, Spark raises its own error after its last retry.
    UnsupportedError
        ``pairs`` is given, which numbers documents; rows of a frame have no numbers.
    ImportError
        pyspark is missing (extra ``spark``).

    Examples
    --------
    >>> model = rankwood.spark.train(  # doctest: +SKIP
    ...     {"rounds": 100}, frame, label="label", qid="query", valid="is_valid"
    ... )
    """
    if "pairs" in more:
        raise UnsupportedError(
            "pairs refer to document numbers, which the rows of a frame lack; rankwood.dask supports pairs"
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
