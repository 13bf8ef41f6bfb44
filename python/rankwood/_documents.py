"""Labels, queries and weights as the library takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _ranks, _tables
from rankwood._core import DataError, lib

Floats = npt.NDArray[np.float64]


def vector(values: Any, what: str, n: int | None) -> npt.NDArray[Any]:
    """One value a document."""
    array = _tables.array_of(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{what} has shape {array.shape}; expected one value a document")
    if n is not None and len(array) != n:
        raise DataError(f"{what} has {len(array)} values for {n} documents")
    return array


def labels_of(values: Any, n: int) -> npt.NDArray[np.float32]:
    array = vector(values, "label", n)
    if array.dtype.kind not in "fiub":
        array = _tables.numbers_of(array, "label")
    with np.errstate(over="ignore"):
        out = array.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(out) & (out >= 0)))
    if len(bad):
        raise DataError(
            f"label of document {bad[0]} (from 0){_ranks.shard()} is {array[bad[0]]}; "
            "expected a finite number, 0 or more"
        )
    return out


def are_names(labels: Any) -> bool:
    """Names of columns, as many as a document can have labels, in place of labels themselves."""
    if not isinstance(labels, (list, tuple)) or not 0 < len(labels) <= lib.RW_MAX_LABELS:
        return False
    return all(isinstance(one, str) for one in labels)


def one_label(label: Any, more_labels: Any) -> tuple[Any, Any]:
    """Of several labels the first, and the further ones."""
    if isinstance(more_labels, str):
        more_labels = [more_labels]
    if are_names(label):
        further: Any = list(label[1:])
        label = label[0]
    elif isinstance(label, str) or label is None or getattr(label, "ndim", 1) != 2 or label.shape[1] == 1:
        return label, more_labels
    else:
        several = _tables.array_of(label, "label")
        label, further = several[:, 0], several[:, 1:]
    if more_labels is not None:
        raise DataError("label has several columns, and more_labels are given, too; expected one of the two")
    return label, further if len(further) > 0 else None


def _id_texts(values: npt.NDArray[Any]) -> list[bytes]:
    """Query ids as `rankwood bin` would read them."""
    kind = values.dtype.kind
    if kind == "f":
        raise DataError("qid has floats; expected integers or strings (a missing qid makes floats of integers)")
    if kind in "iu":
        return [b"%d" % value for value in values.tolist()]
    if kind not in "OUST":
        raise DataError(f"qid has type {values.dtype}; expected integers or strings")
    out = []
    for value in values.tolist():
        if isinstance(value, bytes):
            out.append(value)
        elif isinstance(value, str):
            try:
                out.append(value.encode("utf-8", "surrogateescape"))
            except UnicodeEncodeError:
                raise DataError(f"the qid {value!r} is no text: it holds half of a surrogate pair") from None
        else:
            out.append(b"%d" % value)
        if b"\0" in out[-1]:
            raise DataError(f"a character 0 in the qid {value!r}")
    return out


def _order_of(qid: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Documents by query: queries as they come first, a query's documents as they stand."""
    if qid.dtype.kind == "O":  # strings and integers have no order among them
        number: dict[Any, int] = {}
        codes = np.fromiter((number.setdefault(one, len(number)) for one in qid.tolist()), np.int64, len(qid))
        return np.argsort(codes, kind="stable").astype(np.uint32)
    _, first, inverse = np.unique(qid, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.argsort(rank[inverse.reshape(-1)], kind="stable").astype(np.uint32)


class Queries:
    """Where queries begin, and their ids."""

    def __init__(self, n_docs: int, qid: Any, group: Any, sort: bool) -> None:
        self.order: npt.NDArray[np.uint32] | None = None
        self.ids: list[bytes] | None = None
        if qid is not None and group is not None:
            raise DataError("qid and group both say what the queries are; expected one of them")
        if n_docs == 0 and (hasattr(qid, "runs") or group is not None):  # one of many ranks
            self.offset = np.zeros(1, np.uint32)
            self.ids = [] if group is None else None
        elif hasattr(qid, "runs"):  # a column of an Arrow table
            offset, ids = qid.runs()
            self._by_runs(offset, ids, sort)
        elif qid is not None:
            if isinstance(qid, (list, tuple)):  # numpy would make text of NaN, and integers of bools
                qid = _tables.array_of(qid, "qid", object)
            self._by_id(vector(qid, "qid", n_docs), sort)
        elif group is not None:
            self._by_size(vector(group, "group", None), n_docs)
        else:
            raise DataError(
                "which documents belong to one query? expected qid (a value for each document) or "
                "group (the size of each query)"
            )

    def check_adjacent(self) -> None:
        """DataError: a query comes back after another; the data is in memory, so it can be sorted."""
        if self.ids is None or len(set(self.ids)) == len(self.ids):
            return
        began: dict[bytes, int] = {}
        for query, one in enumerate(self.ids):
            before = began.setdefault(one, query)
            if before != query:
                raise DataError(
                    f"query '{one.decode('utf-8', 'replace')}' comes back after another query\n"
                    f"hint: its documents are {self.offset[before]} to {self.offset[before + 1] - 1} and from "
                    f"{self.offset[query]} on (from 0); sort=True groups them"
                )

    def _by_id(self, qid: npt.NDArray[Any], sort: bool) -> None:
        if qid.dtype.kind in "OT":
            for i, one in enumerate(qid.tolist()):
                if not isinstance(one, (str, bytes, int, np.integer)) or isinstance(one, bool):
                    where = f"document {i} (from 0){_ranks.shard()}"
                    raise DataError(f"qid of {where} is {one!r}; expected an integer or a string")
        if sort:
            order = _order_of(qid)
            if not np.array_equal(order, np.arange(len(order), dtype=np.uint32)):
                self.order = order
                qid = qid[order]
        starts = np.flatnonzero(qid[1:] != qid[:-1]) + 1 if len(qid) else np.empty(0, np.int64)
        first = np.concatenate(([0], starts)) if len(qid) else starts
        self.offset = np.concatenate((first, [len(qid)])).astype(np.uint32)
        self.ids = _id_texts(qid[first])

    def _by_runs(self, offset: npt.NDArray[np.uint32], ids: list[bytes], sort: bool) -> None:
        self.offset, self.ids = offset, ids
        number: dict[bytes, int] = {}
        if sort:
            of_run = [number.setdefault(one, len(number)) for one in ids]
        if not sort or len(number) == len(ids):
            return
        query = np.repeat(of_run, np.diff(offset))
        self.order = np.argsort(query, kind="stable").astype(np.uint32)
        self.offset = np.concatenate(([0], np.cumsum(np.bincount(query)))).astype(np.uint32)
        self.ids = list(number)

    def _by_size(self, sizes: npt.NDArray[Any], n_docs: int) -> None:
        if len(sizes) == 0:
            raise DataError(f"group is empty; there are {n_docs} documents")
        if sizes.dtype.kind == "f" and np.array_equal(sizes, np.floor(sizes)) and np.abs(sizes).max() <= n_docs:
            sizes = sizes.astype(np.int64)  # as other rankers take them
        if sizes.dtype.kind not in "iu":
            raise DataError(f"group has type {sizes.dtype}; expected the size of each query, whole numbers")
        if sizes.min() < 1:
            raise DataError(f"group has a query of {sizes.min()} documents; expected 1 or more")
        if sizes.max() > n_docs:  # before a sum that may overflow
            raise DataError(f"group has a query of {sizes.max()} documents; there are {n_docs}")
        if int(sizes.sum()) != n_docs:
            raise DataError(f"group adds up to {int(sizes.sum())} documents; there are {n_docs}")
        self.offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.uint32)
