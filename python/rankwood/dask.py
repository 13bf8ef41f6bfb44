"""Training on a Dask cluster, with a Rankwood worker on each Dask worker.

Dask holds the data and starts the workers. They exchange training data by pyzmq.
"""

from __future__ import annotations

import pickle
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from rankwood import _columns
from rankwood import sklearn as _sklearn
from rankwood._address import free_address
from rankwood._cluster import Meeting, Options, Part, are_columns, run
from rankwood._core import DataError, ParameterError, WorkerError, need, package
from rankwood._model import Model
from rankwood._params import as_mapping

_dask = package("dask", "dask")
_distributed = package("distributed", "dask")

LOOK_S = 2.0  # interval of checks for workers, and the wait for other failures after the first


@dataclass(frozen=True)
class Dataset:
    """Documents in a Dask data frame or array, like :class:`rankwood.Dataset` in memory.

    Partitions are used in their order, and the model is identical to that of the whole frame in memory. A query may
    continue in the next partitions.

    Attributes
    ----------
    data : dask.dataframe.DataFrame or dask.array.Array
        Features. All columns of a frame are features unless another attribute names them.
    label : str, Dask array or series, or list of str
        Labels, with the partitions of ``data``, or a column name. Several labels, (n_docs, k) or a list of columns, are
        for the parameter ``label_weights``.
    qid : str, Dask array or series, or None
        Query of each document; by default, the column ``"qid"`` of a frame.
    weight : str, Dask array or series, or None
        Weight of each document.
    ignore : tuple of str
        Columns that are not features.
    missing : float
        Value that means missing, in addition to NaN and null.
    start_scores : str, Dask array or series, or None
        Score of each document at which training starts.
    position : str, Dask array or series, or None
        Displayed position of each document, for the parameter ``debias``.
    more_labels : list of str, Dask array, or None
        Further labels of each document, for the parameter ``label_weights``.
    pairs : array or None
        Pairs in memory, shape (n, 2) or (n, 3), for ``{"pairs": "given"}``, as in :class:`rankwood.Dataset`. Documents
        are numbered from 0 in the order of ``data``.

    Examples
    --------
    >>> import dask.dataframe  # doctest: +SKIP
    >>> frame = dask.dataframe.read_parquet("data/*.parquet")  # doctest: +SKIP
    >>> train_set = rankwood.dask.Dataset(frame, label="label", qid="query")  # doctest: +SKIP
    """

    data: Any
    label: Any
    qid: Any = None
    weight: Any = None
    ignore: Sequence[str] = ()
    missing: float = float("nan")
    start_scores: Any = None
    position: Any = None
    more_labels: Any = None
    pairs: Any = None

    def _qid(self) -> Any:
        """Returns the given query ids, or the frame's column of query ids."""
        named = (self.label, self.weight, self.start_scores, self.position)
        further = self.more_labels if are_columns(self.more_labels) else ()
        others = [*self.ignore, *further, *(one for one in named if isinstance(one, str))]
        return _columns.query_column(_columns.column_names(self.data), self.qid, None, others)

    def _parts(self) -> list[Any]:
        """Returns a delayed Part for each partition."""
        data = self.data
        if not hasattr(data, "to_delayed"):
            raise DataError(f"data is a {type(data).__name__}; expected a Dask data frame or array")
        if hasattr(data, "rechunk") and getattr(data, "ndim", 0) == 2:
            data = data.rechunk({1: -1})
        blocks = _blocks(data)
        columns = {}
        for name in ("label", "qid", "weight", "start_scores", "position", "more_labels"):
            value = self._qid() if name == "qid" else getattr(self, name)
            if value is None or are_columns(value):
                columns[name] = [value] * len(blocks)
                continue
            if not hasattr(value, "to_delayed"):
                raise DataError(f"{name} is a {type(value).__name__}; expected a column name, Dask array or series")
            if hasattr(value, "rechunk") and hasattr(data, "rechunk"):
                value = value.rechunk((data.chunks[0], *[-1] * (value.ndim - 1)))
            columns[name] = _blocks(value)
            if len(columns[name]) != len(blocks):
                raise DataError(f"{name} has {len(columns[name])} partitions; data has {len(blocks)}")
        part = _dask.delayed(Part, pure=False)
        return [part(block, *rest) for block, *rest in zip(blocks, *columns.values(), strict=True)]


def _blocks(one: Any) -> list[Any]:
    return list(np.ravel(np.array(one.to_delayed(), dtype=object)))


def train(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    *,
    valid: Dataset | Mapping[str, Dataset] | None = None,
    client: Any = None,
    timeout: float = 600,
    **more: Any,
) -> Model:
    """Train a model on a Dask cluster, with a Rankwood worker on each Dask worker that has a partition.

    Parameters
    ----------
    params : dict or None
        Parameters as in :func:`rankwood.train`. ``threads`` is by default the number of threads of a Dask worker.
    train_set : rankwood.dask.Dataset
        Training data. A worker holds its partitions and their values as float32.
    valid : rankwood.dask.Dataset, dict or None, default None
        Validation sets, measured after each round; the first one stops training.
    client : distributed.Client or None, default None
        Client of the cluster; the current one by default.
    timeout : float, default 600
        Seconds that a worker waits for the others in each exchange.
    **more
        Further arguments of :func:`rankwood.train`, such as ``init`` and ``callbacks``, used on every worker. Paths are
        those of the workers.

    Returns
    -------
    Model
        Model identical to that of :func:`rankwood.train` with the whole data in memory.

    Raises
    ------
    WorkerError
        A worker, named in the message, ended or cannot be reached.
    DataError, ParameterError
        As in :func:`rankwood.train`; the exception's notes name the worker.

    Examples
    --------
    >>> from dask.distributed import Client  # doctest: +SKIP
    >>> with Client(n_workers=4):  # doctest: +SKIP
    ...     model = rankwood.dask.train({"rounds": 100}, train_set)
    """
    client = client if client is not None else _distributed.get_client()
    named = {"valid": valid} if isinstance(valid, Dataset) else dict(valid or {})
    if "train" in named:
        raise ParameterError("a validation set cannot have the name 'train'")
    sets = {"train": train_set, **named}
    parts = {name: need(one, Dataset, name)._parts() for name, one in sets.items()}
    options = {name: Options(tuple(one.ignore), one.missing, one.pairs) for name, one in sets.items()}
    workers = _nearest(client, train_set.data, len(parts["train"]))
    with _distributed.MultiLock(workers, client=client):  # two trainings at once would wait for each other's workers
        held = {name: _place(client, some, workers) for name, some in parts.items()}
        hosts = [_host(worker) for worker in workers]
        address = client.submit(free_address, hosts[0], workers=workers[:1], pure=False).result()
        token = secrets.token_hex()
        tasks = [
            client.submit(
                _run_here, Meeting(rank, len(workers), address, timeout, hosts[rank], token), as_mapping(params),
                {name: held[name][rank] for name in sets}, options, more,
                workers=[worker], allow_other_workers=False, pure=False, retries=0,
            )
            for rank, worker in enumerate(workers)
        ]  # fmt: skip
        try:
            _wait(client, [[task] for task in tasks], workers)
            return tasks[0].result()  # type: ignore[no-any-return]
        finally:
            client.cancel([task for task in tasks if not task.done()])


def _nearest(client: Any, data: Any, n_parts: int) -> list[str]:
    """Returns a Dask worker for each range of partitions: the one that has most of them, if they are persisted."""
    free = sorted(client.nthreads())
    if not free:
        raise WorkerError("the cluster has no workers")
    futures = {future.key: future for future in _distributed.futures_of(data)}
    are_parts = len(futures) == n_parts and all(isinstance(key, tuple) for key in futures)
    held = client.who_has(list(futures.values())) if are_parts else {}
    holders = [held[key] for key in sorted(held, key=lambda key: key[1:])]  # keys end with numbers of partitions
    workers = []
    for some in np.array_split(np.arange(n_parts), min(n_parts, len(free))):
        has = Counter(worker for i in some for worker in (holders[i] if holders else ()))
        workers.append(max(free, key=lambda worker: has[worker]))
        free.remove(workers[-1])
    return workers


def _host(worker: str) -> str:
    """Returns the host of a Dask worker's address; that of a thread of the client, inproc://, is this machine."""
    parts = urlsplit(worker)
    return parts.hostname if parts.scheme != "inproc" and parts.hostname else "127.0.0.1"


def _place(client: Any, parts: list[Any], workers: list[str]) -> list[list[Any]]:
    """Places consecutive partitions on the workers. A worker without any gets an empty copy of the first one."""
    out = []
    for worker, mine in zip(workers, np.array_split(np.arange(len(parts)), len(workers)), strict=True):
        some = [parts[i] for i in mine] or [_dask.delayed(Part.rows, pure=False)(parts[0], 0, 0)]
        out.append(client.compute(some, workers=[worker], allow_other_workers=False))
    _wait(client, out, workers)
    return out


def _run_here(
    meeting: Meeting,
    params: dict[str, Any],
    parts: dict[str, list[Part]],
    options: dict[str, Options],
    more: dict[str, Any],
) -> Model | None:
    """Runs a Rankwood worker on its Dask worker."""
    params.setdefault("threads", _distributed.get_worker().state.nthreads)
    return run(meeting, params, lambda: {name: (some, options[name]) for name, some in parts.items()}, more)


def _wait(client: Any, tasks: list[list[Any]], workers: list[str]) -> None:
    """Waits until all tasks are done or one failed. It raises the most informative error, with a note on the worker."""
    each = [(rank, task) for rank, some in enumerate(tasks) for task in some]
    until, looked = float("inf"), time.monotonic()
    while time.monotonic() < until and not all(task.done() for _, task in each):
        time.sleep(0.02)
        if any(task.status == "error" for _, task in each):
            until = min(until, time.monotonic() + LOOK_S)
        if time.monotonic() - looked > LOOK_S:
            looked, alive = time.monotonic(), client.nthreads()
            for rank, task in each:
                if workers[rank] not in alive and not task.done():
                    raise WorkerError(f"worker {rank}: the Dask worker {workers[rank]} has ended")
    failures = [(rank, task.exception()) for rank, task in each if task.status == "error"]
    for rank, error in sorted(failures, key=lambda one: isinstance(one[1], WorkerError)):
        error.add_note(f"on worker {rank} of {len(workers)}, the Dask worker {workers[rank]}")
        raise error


class Ranker(_sklearn.Ranker):
    """:class:`rankwood.Ranker` for Dask data frames and arrays, with the same parameters and attributes.

    Examples
    --------
    >>> ranker = rankwood.dask.Ranker(rounds=100)  # doctest: +SKIP
    >>> ranker.fit(frame[features], frame["label"], qid=frame["query"])  # doctest: +SKIP
    """

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        start_scores: Any = None,
        position: Any = None,
        eval_set: Iterable[tuple[Any, Any]] | None = None,
        eval_qid: Iterable[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_start_scores: Sequence[Any] | None = None,
        client: Any = None,
        **more: Any,
    ) -> Ranker:
        """Train a model on the workers of a Dask cluster.

        Parameters
        ----------
        X : Dask data frame or array, shape (n_docs, n_features)
            Features.
        y : Dask array or series
            Labels, shape (n_docs,), or several labels (n_docs, k); with the partitions of ``X``, like the next
            arguments.
        qid : Dask array or series, or None, default None
            Query of each document; by default, the column ``"qid"`` of a frame.
        sample_weight, start_scores, position : Dask array or series, or None, default None
            Values of each document, as in :meth:`rankwood.Ranker.fit`.
        eval_set : list of (X, y), or None, default None
            Validation sets; the first one stops training.
        eval_qid, eval_sample_weight, eval_start_scores : list, or None, default None
            One entry per validation set.
        client : distributed.Client or None, default None
            Client of the cluster; the current one by default.
        **more
            Further arguments of :func:`rankwood.dask.train`.

        Returns
        -------
        Ranker
            The fitted estimator.

        Raises
        ------
        DataError, ParameterError, WorkerError
            As in :func:`rankwood.dask.train`.

        Examples
        --------
        >>> ranker.fit(frame[features], frame["label"], qid=frame["query"])  # doctest: +SKIP
        """
        sets = _sklearn._eval_sets(eval_set, eval_qid, None)
        weights = _sklearn._of_sets("eval_sample_weight", eval_sample_weight, len(sets))
        starts = _sklearn._of_sets("eval_start_scores", eval_start_scores, len(sets))
        valid = {
            f"valid_{i}": Dataset(eval_x, eval_y, ids, weights[i], missing=self.missing, start_scores=starts[i])
            for i, (eval_x, eval_y, ids, _) in enumerate(sets)
        }
        data = Dataset(
            X, y, qid, sample_weight, missing=self.missing, start_scores=start_scores, position=position
        )
        model = train(self._given(), data, valid=valid, client=client, **{"strict": self._strict(), **more})
        names = [str(name) for name in X.columns if name != _columns.QID] if hasattr(X, "columns") else None
        self._fitted(model, len(names) if names is not None else int(X.shape[1]), names)
        return self

    def predict(self, X: Any) -> Any:
        """Score documents; the result is lazy if ``X`` is.

        Parameters
        ----------
        X : Dask data frame or array, or data in memory
            Features of shape (n_docs, n_features).

        Returns
        -------
        Dask series or array, or array of float64
            Scores of shape (n_docs,).

        Raises
        ------
        DataError
            The features do not match those of :meth:`fit`; for lazy data, raised when the scores are computed.

        Examples
        --------
        >>> ranker.predict(frame[features]).compute()  # doctest: +SKIP
        """
        if not hasattr(X, "to_delayed"):
            return super().predict(X)
        score = partial(_scores, pickle.dumps(self))  # bytes, because Dask names tasks by a hash of their arguments
        if hasattr(X, "columns"):
            return X.map_partitions(score, meta=(None, np.float64))
        return X.rechunk({1: -1}).map_blocks(score, dtype=np.float64, drop_axis=1, meta=np.empty(0))


def _scores(pickled: bytes, part: Any) -> Any:
    """Returns the scores of one partition."""
    ranker: Ranker = pickle.loads(pickled)
    scores = ranker.predict(part) if len(part) else np.empty(0)
    return type(part.iloc[:, 0])(scores, index=part.index) if hasattr(part, "iloc") else scores


__all__ = ["Dataset", "Ranker", "train"]
