"""A worker of a cluster (Dask, Ray, Spark): it joins its parts of the data, and trains."""

from __future__ import annotations

import io
import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwood import _columns, _workers
from rankwood._core import DataError, WorkerError
from rankwood._dataset import Dataset
from rankwood._model import Model
from rankwood._train import train


@dataclass(frozen=True)
class Meeting:
    """Address at which one worker meets the others, and the secret that they share."""

    rank: int
    n_ranks: int
    address: str
    timeout: float
    host: str  # where this worker listens
    token: str = field(repr=False)

    def workers(self) -> AbstractContextManager[_workers.Workers]:
        from rankwood import zmq  # the carrier

        return zmq.workers(
            self.rank, self.n_ranks, self.address, token=self.token, host=self.host, timeout=self.timeout
        )


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
    first, end = map(repr, ids[[0, -1]].tolist()) if n else ("", "")
    told = [json.loads(one) for one in _workers.gather_bytes(json.dumps([n, first, end, head]).encode())]
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
    with _workers.agreed():
        own = _packed(part.rows(0, head)) if gives else b""
    heads = _workers.gather_bytes(own)
    kept = part.rows(head, n) if gives else part
    rests = [_unpacked(heads[rank], part) for rank, to in enumerate(goes_to) if to == me]
    return Part.joined([kept, *rests]) if rests else kept


def _packed(part: Part) -> bytes:
    """Returns the values of a part as numpy's and Arrow's formats, which hold no code, unlike a pickle."""
    arrays: dict[str, Any] = {}
    for name, value in vars(part).items():
        if value is None or are_columns(value):
            continue
        if hasattr(value, "iloc"):
            import pyarrow as pa

            frame = value.to_frame("values") if value.ndim == 1 else value
            try:
                table = pa.Table.from_pandas(frame, preserve_index=False)
            except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
                raise _cannot_move(error) from error
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, table.schema) as writer:
                writer.write_table(table)
            arrays[name] = np.frombuffer(sink.getvalue(), np.uint8)
        elif hasattr(value, "tocsr"):
            rows = value.tocsr()
            for member in ("data", "indices", "indptr"):
                arrays[f"{name} {member}"] = getattr(rows, member)
        else:
            values = np.asarray(value)
            if values.dtype == object and all(isinstance(one, str) for one in values.flat):
                values = values.astype(str)
            if values.dtype == object:
                raise _cannot_move("objects that are not strings")
            arrays[name] = values
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _cannot_move(why: Any) -> DataError:
    return DataError(f"a query continues in a partition of another worker, and its documents cannot be sent: {why}")


def _unpacked(packed: bytes, like: Part) -> Part:
    """Returns the part that `_packed` packed. like: a part with the same columns."""
    arrays = np.load(io.BytesIO(packed), allow_pickle=False)
    members = {}
    for name, value in vars(like).items():
        if value is None or are_columns(value):
            members[name] = value
        elif hasattr(value, "iloc"):
            import pyarrow as pa

            frame = pa.ipc.open_stream(pa.py_buffer(arrays[name])).read_all().to_pandas()
            members[name] = frame["values"] if value.ndim == 1 else frame
        elif hasattr(value, "tocsr"):
            given = tuple(arrays[f"{name} {member}"] for member in ("data", "indices", "indptr"))
            members[name] = type(value)(given, shape=(len(given[2]) - 1, value.shape[1]))
        else:
            members[name] = arrays[name]
    return Part(**members)


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


@dataclass(frozen=True)
class FrameJob:
    """Arguments of every worker of a cluster whose data frames have named columns (Spark, Ray)."""

    params: dict[str, Any]
    columns: tuple[str, ...]  # of the frame
    label: str
    qid: str
    weight: str | None
    start_scores: str | None
    position: str | None
    more_labels: tuple[str, ...]
    options: Options
    timeout: float
    more: dict[str, Any]  # arguments of rankwood.train
    token: str = field(default_factory=secrets.token_hex, repr=False)

    def check_columns(self) -> None:
        """Raises DataError if the frame lacks a column."""
        named = (self.label, self.qid, self.weight, self.start_scores, self.position)
        for name in (*named, *self.more_labels, *self.options.ignore):
            if name is not None and name not in self.columns:
                raise DataError(f"no column {name!r}; there are {', '.join(map(repr, self.columns[:8]))}")

    def frame(self, batches: Iterable[Any]) -> Any:
        """Joins pandas data frames; without any, the result has the columns."""
        import pandas as pd

        given = [one for one in batches if len(one) > 0]
        return pd.concat(given, ignore_index=True) if given else pd.DataFrame(columns=list(self.columns), dtype=int)

    def run(
        self, meeting: Meeting, threads: int, frames: Callable[[], Mapping[str, Any]]
    ) -> tuple[int, Model | None, BaseException | None]:
        """Trains as one of the workers, and returns its number, its model (that of worker 0 alone) and its error.

        Errors are results, because Spark would retry a stage that raises, as it does after a task's death. frames:
        returns the documents of each set, "train" first.
        """

        def sets() -> dict[str, tuple[list[Part], Options]]:
            further = list(self.more_labels) or None
            columns = (self.label, self.qid, self.weight, self.start_scores, self.position, further)
            return {name: ([Part(frame, *columns)], self.options) for name, frame in frames().items()}

        try:
            return meeting.rank, run(meeting, {"threads": threads, **self.params}, sets, self.more), None
        except Exception as error:
            return meeting.rank, None, error


def as_names(columns: str | Sequence[str]) -> tuple[str, ...]:
    """Returns one column name or several as a tuple."""
    return (columns,) if isinstance(columns, str) else tuple(columns)


def model_of(told: Sequence[tuple[int, Model | None, BaseException | None]]) -> Model:
    """Returns worker 0's model, or raises the most informative error with a note on the worker."""
    failures = sorted((isinstance(error, WorkerError), rank, error) for rank, _, error in told if error is not None)
    if failures:
        _, rank, error = failures[0]
        error.add_note(f"on worker {rank} of {len(told)}")
        raise error
    return next(model for _, model, _ in told if model is not None)
