"""A worker of a cluster (Dask, Spark): it joins its parts of the data, and trains."""

from __future__ import annotations

import pickle
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwood import _columns, _workers
from rankwood._core import DataError
from rankwood._dataset import Dataset
from rankwood._model import Model
from rankwood._train import train


@dataclass(frozen=True)
class Meeting:
    """Address at which one worker meets the others."""

    rank: int
    n_ranks: int
    address: str
    timeout: float

    def workers(self) -> AbstractContextManager[_workers.Workers]:
        from rankwood import torch  # the carrier

        return torch.workers(rank=self.rank, n_ranks=self.n_ranks, address=self.address, timeout=self.timeout)


def free_address(host: str) -> str:
    """Returns HOST:PORT with a port that is currently free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.bind(("", 0))
        port = one.getsockname()[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True)
class Part:
    """Documents as arguments of a Dataset: a data frame and column names, or arrays."""

    data: Any
    label: Any = None
    qid: Any = None
    weight: Any = None
    start_scores: Any = None
    position: Any = None
    more_labels: Any = None

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Joins one or more parts in order."""
        first = parts[0]
        members = {name: [getattr(part, name) for part in parts] for name in vars(first)}
        return cls(
            **{
                name: value if value is None or are_columns(value) else _after(members[name])
                for name, value in vars(first).items()
            }
        )

    def rows(self, begin: int, end: int) -> Part:
        """Returns some of the documents."""

        def of(one: Any) -> Any:
            if one is None or are_columns(one):
                return one
            return one.iloc[begin:end] if hasattr(one, "iloc") else one[begin:end]

        return Part(*(of(one) for one in vars(self).values()))

    def ids(self) -> Any:
        """Returns the query of each document."""
        given = self.data[self.qid] if isinstance(self.qid, str) else self.qid
        return _columns.array_of(given, "qid")


def are_columns(one: Any) -> bool:
    """Tells whether the value is a column name or several."""
    return isinstance(one, (str, list, tuple))


def _after(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts)
    if hasattr(parts[0], "tocsr"):
        import scipy.sparse

        return scipy.sparse.vstack(parts, format="csr")
    return np.concatenate(parts)


def whole_queries(part: Part, ids: Any) -> Part:
    """Moves the documents of split queries to one worker; all workers call it.

    The result includes the rest of the last query from the next workers, and excludes documents of a query that begins
    on a previous worker. ids: the query of each document.
    """
    n = len(ids)
    same = np.asarray(ids[1:] == ids[:-1], bool) if n else np.empty(0, bool)
    head = 1 + int(np.argmin(np.append(same, False))) if n else 0  # documents of the first query
    edges = (n, ids[0], ids[-1], head) if n else (0, None, None, 0)
    told = [pickle.loads(one) for one in _workers.gather_bytes(pickle.dumps(edges))]
    goes_to = [-1] * len(told)  # the worker whose last query each worker's first query continues
    last, holder = None, -1
    for rank, (size, first, end, run) in enumerate(told):
        if size == 0:
            continue
        if holder >= 0 and first == last:
            goes_to[rank] = holder
        if goes_to[rank] < 0 or run < size:  # the next worker can continue only this worker's last query
            last, holder = end, rank
    me = _workers.number()
    gives = goes_to[me] >= 0
    heads = _workers.gather_bytes(pickle.dumps(part.rows(0, head)) if gives else b"")
    kept = part.rows(head, n) if gives else part
    rests = [pickle.loads(heads[rank]) for rank, to in enumerate(goes_to) if to == me]
    return Part.joined([kept, *rests]) if rests else kept


@dataclass(frozen=True)
class Options:
    """Properties of the data that apply to all of its documents."""

    ignore: Sequence[str | int] = ()
    missing: float = float("nan")
    pairs: Any = None  # [n, 2] or [n, 3]: documents are numbered through all workers

    def own_pairs(self, n_docs: int) -> Any:
        """Returns the pairs of this worker's documents, renumbered. All workers call it if there are pairs."""
        sizes = _workers.gather_sizes(n_docs)
        with _workers.agreed():
            return self._pairs_from(sum(sizes[: _workers.number()]), n_docs, sum(sizes))

    def _pairs_from(self, begin: int, n_docs: int, n_all: int) -> Any:
        given = _columns.numbers_of(_columns.array_of(self.pairs, "pairs"), "pairs")
        if given.ndim != 2 or given.shape[1] not in (2, 3):
            raise DataError(f"pairs has the shape {given.shape}; expected (n, 2) or (n, 3)")
        wrong = ~((given[:, :2] >= 0) & (given[:, :2] < n_all))
        if wrong.any():
            raise DataError(f"pairs has {given[:, :2][wrong][0]:g}; expected documents from 0 to {n_all - 1}")
        mine = given[(given[:, 0] >= begin) & (given[:, 0] < begin + n_docs)]
        mine[:, :2] -= begin
        outside = (mine[:, 1] < 0) | (mine[:, 1] >= n_docs)  # queries are whole, so they are of another query
        if outside.any():
            better, worse = (mine[outside][0, :2] + begin).astype(np.int64)
            raise DataError(f"pairs has {better} and {worse}; expected documents of one query")
        return mine


def run(
    meeting: Meeting,
    params: Mapping[str, Any],
    sets: Callable[[], Mapping[str, tuple[Sequence[Part], Options]]],
    more: Mapping[str, Any],
) -> Model | None:
    """Trains as one of the workers, and returns the model on worker 0.

    sets: returns this worker's parts of the data, "train" first, with at least one part per set, which may be empty.
    All workers raise an error of any of them.
    """
    with meeting.workers():
        data: dict[str, Dataset] = {}
        with _workers.agreed():
            given = sets()
        for name, (parts, options) in given.items():
            with _workers.agreed():
                part = Part.joined(parts)
                if part.qid is None:
                    raise DataError(f"{name!r} has no qid; expected the query of each document")
                ids = part.ids()
            whole = whole_queries(part, ids)
            with _workers.agreed():
                data[name] = Dataset(
                    whole.data, whole.label, qid=whole.qid, weight=whole.weight, start_scores=whole.start_scores,
                    position=whole.position, more_labels=whole.more_labels, ignore=options.ignore,
                    missing=options.missing,
                )  # fmt: skip
            if options.pairs is not None:
                pairs = options.own_pairs(data[name].n_docs)
                with _workers.agreed():
                    data[name]._set_pairs(pairs)
        train_set = data.pop("train")
        model = train(params, train_set, valid=data or None, **more)
    return model if meeting.rank == 0 else None
