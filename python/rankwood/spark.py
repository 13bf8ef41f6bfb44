"""Training on a Spark cluster, with a worker in each task of a barrier stage.

Spark holds the data and starts the workers. They exchange training data by pyzmq.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rankwood._address import free_address
from rankwood._cluster import FrameJob, Meeting, Options, as_names, model_of
from rankwood._core import UnsupportedError, WorkerError, package
from rankwood._model import Model
from rankwood._params import as_mapping
from rankwood._workers import describe


def _rank(
    job: FrameJob, valid: str | None, context: Any, batches: Iterable[Any]
) -> tuple[int, Model | None, BaseException | None]:
    """Runs a worker in its task, and returns its number, model and error. valid: column that is true for validation."""
    rank, tasks = context.partitionId(), context.getTaskInfos()
    host = tasks[rank].address.rpartition(":")[0] or tasks[rank].address
    address = context.allGather(free_address(host) if rank == 0 else "")[0]

    def sets() -> dict[str, Any]:
        whole = job.frame(batches)
        if valid is None:
            return {"train": whole}
        is_valid = whole[valid].to_numpy(bool)
        return {"train": whole[~is_valid], "valid": whole[is_valid]}

    return job.run(Meeting(rank, len(tasks), address, job.timeout, host, job.token), max(1, context.cpus()), sets)


def _pickled(rank: int, model: Model | None, error: BaseException | None) -> bytes:
    try:
        return pickle.dumps((rank, model, error))
    except Exception:
        return pickle.dumps((rank, None, WorkerError(f"worker {rank}: {describe(error) if error else 'no result'}")))


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
    job = FrameJob(
        as_mapping(params), tuple(frame.columns), label, qid, weight, start_scores, position, as_names(more_labels),
        Options((*ignore, *([valid] if valid is not None else [])), missing), timeout, more,
    )  # fmt: skip
    job.check_columns()

    def task(batches: Iterator[Any]) -> Iterator[Any]:
        import pandas as pd
        from pyspark import BarrierTaskContext

        result = _pickled(*_rank(job, valid, BarrierTaskContext.get(), batches))
        yield pd.DataFrame({"result": [result]})

    rows = frame.mapInPandas(task, "result binary", barrier=True).collect()
    return model_of([pickle.loads(row.result) for row in rows])


__all__ = ["train"]
