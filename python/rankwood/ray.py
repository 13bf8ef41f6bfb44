"""Training on a Ray cluster, with a worker in each of several actors.

Ray holds the data and starts the workers. They exchange training data by pyzmq.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwood._address import free_address
from rankwood._cluster import FrameJob, Meeting, Options, as_names, model_of
from rankwood._core import ParameterError, ParameterTypeError, UnsupportedError, WorkerError, lib, package, whole
from rankwood._model import Model
from rankwood._params import as_mapping


class _Worker:
    """Runs a worker in its actor."""

    def host(self) -> str:
        return str(package("ray.util", "ray").get_node_ip_address())

    def address(self) -> str:
        return free_address(self.host())

    def train(self, job: FrameJob, rank: int, n_ranks: int, address: str, threads: int, shards: Any) -> Any:
        def frames() -> dict[str, Any]:
            return {
                name: job.frame(shard.iter_batches(batch_size=None, batch_format="pandas"))
                for name, shard in shards.items()
            }

        return job.run(Meeting(rank, n_ranks, address, job.timeout, self.host(), job.token), threads, frames)


def _shards(data: Any, n: int) -> list[Any]:
    """Divides a data set into n ranges of its rows."""
    options = data.context.execution_options
    before, options.preserve_order = options.preserve_order, True  # or the order, and the model, differ in each run
    try:
        rows = data.materialize()
    finally:
        options.preserve_order = before
    n_rows = rows.count()
    return list(rows.split_at_indices([n_rows * i // n for i in range(1, n)])) if n > 1 else [rows]


def train(
    params: Mapping[str, Any] | None,
    data: Any,
    *,
    label: str,
    qid: str,
    n_workers: int,
    threads: int = 1,
    valid: Any = None,
    weight: str | None = None,
    start_scores: str | None = None,
    position: str | None = None,
    more_labels: Sequence[str] = (),
    ignore: Sequence[str] = (),
    missing: float = float("nan"),
    options: Mapping[str, Any] | None = None,
    timeout: float = 600,
    **more: Any,
) -> Model:
    """Train a model on a Ray data set, with workers in actors.

    Each worker has a range of the rows, and the model is identical to that of all rows, in their order, in memory. A
    query may continue on the next worker, but its documents must be adjacent: sort a data set of which this is not
    known, as in ``data.sort(["query", "document"])``. The actors end with the call.

    Parameters
    ----------
    params : dict or None
        Parameters as in :func:`rankwood.train`. ``threads`` is by default that of this function.
    data : ray.data.Dataset
        Documents. All columns are features unless an argument names them.
    label, qid : str
        Columns of labels and query ids.
    n_workers : int
        Number of actors, 1 or more.
    threads : int, default 1
        Threads of each worker, and processors that Ray reserves for it.
    valid : ray.data.Dataset or None, default None
        Validation set with the same columns, measured after each round; it stops training.
    weight, start_scores, position : str or None, default None
        Columns of weights, start scores and displayed positions (for ``debias``).
    more_labels : list of str, default ()
        Columns of further labels, for ``label_weights``.
    ignore : list of str, default ()
        Columns that are not features.
    missing : float, default NaN
        Value that means missing, in addition to NaN and null.
    options : dict or None, default None
        Further options of each actor, such as ``{"num_gpus": 1}`` or ``{"scheduling_strategy": "SPREAD"}``.
    timeout : float, default 600
        Seconds that training waits for the actors to start, and a worker for the others in each exchange.
    **more
        Further arguments of :func:`rankwood.train`, such as ``callbacks``, used in every actor. Paths are those of the
        actors.

    Returns
    -------
    Model
        Model identical to that of :func:`rankwood.train` with the whole data in memory.

    Raises
    ------
    DataError, ParameterError
        As in :func:`rankwood.train`, with a note that names the worker; also if a column is missing.
    WorkerError
        An actor ended, cannot be reached, or did not start in time.
    UnsupportedError
        ``pairs`` is given, which numbers documents; rows of a data set have no numbers.
    ImportError
        ray is missing (extra ``ray``).

    Examples
    --------
    >>> data = ray.data.read_parquet("train/")  # doctest: +SKIP
    >>> model = rankwood.ray.train(  # doctest: +SKIP
    ...     {"rounds": 100}, data, label="label", qid="query", n_workers=4, threads=8
    ... )
    """
    if "pairs" in more:
        raise UnsupportedError(
            "pairs refer to document numbers, which the rows of a data set lack; rankwood.dask supports pairs"
        )
    ray = package("ray", "ray")
    ray_data, exceptions = package("ray.data", "ray"), package("ray.exceptions", "ray")
    n_workers = whole(n_workers, "n_workers", 1, lib.RW_MAX_WORKERS)
    threads = whole(threads, "threads", 1, 2**31 - 1)
    sets = {"train": data} if valid is None else {"train": data, "valid": valid}
    for name, one in sets.items():
        if not isinstance(one, ray_data.Dataset):
            raise ParameterTypeError(f"{name} is a {type(one).__name__}; expected a ray.data.Dataset")
    columns = tuple(data.columns() or ())
    if valid is not None and set(valid.columns() or ()) != set(columns):
        raise ParameterError("the columns of valid differ from those of the training set")
    job = FrameJob(
        as_mapping(params), columns, label, qid, weight, start_scores, position, as_names(more_labels),
        Options(tuple(ignore), missing), timeout, more,
    )  # fmt: skip
    job.check_columns()
    shards = {name: _shards(one, n_workers) for name, one in sets.items()}
    actor = ray.remote(_Worker).options(num_cpus=threads, **(options or {}))
    workers = [actor.remote() for _ in range(n_workers)]
    try:
        started, missing_ones = ray.wait(
            [one.host.remote() for one in workers], num_returns=n_workers, timeout=timeout
        )
        if missing_ones:
            raise WorkerError(
                f"{len(started)} of {n_workers} actors started within {timeout:g} s\n"
                f"hint: the cluster needs {n_workers} times {threads} free processors"
            )
        address = ray.get(workers[0].address.remote())
        tasks = []
        for rank, one in enumerate(workers):
            mine = {name: some[rank] for name, some in shards.items()}
            tasks.append(one.train.remote(job, rank, n_workers, address, threads, mine))
        told: list[Any] = []
        for rank, task in enumerate(tasks):
            try:
                told.append(ray.get(task))
            except exceptions.RayActorError as error:
                told.append((rank, None, WorkerError(f"worker {rank} of {n_workers}: its actor ended: {error}")))
        return model_of(told)
    finally:
        for one in workers:
            ray.kill(one)


__all__ = ["train"]
