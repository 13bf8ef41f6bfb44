"""Documents with features, labels and queries."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from operator import index
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from rankwood import _tables
from rankwood._core import (
    DataError,
    DataTypeError,
    UnsupportedError,
    check,
    context,
    ffi,
    lib,
    made,
    path_chars,
)
from rankwood._params import Params

Floats = npt.NDArray[np.float64]


def _vector(values: Any, what: str, n: int | None) -> npt.NDArray[Any]:
    """One value a document."""
    array = _tables.array_of(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{what} has shape {array.shape}; expected one value a document")
    if n is not None and len(array) != n:
        raise DataError(f"{what} has {len(array)} values for {n} documents")
    return array


def _labels(values: Any, n: int) -> npt.NDArray[np.float32]:
    array = _vector(values, "label", n)
    if array.dtype.kind not in "fiub":
        array = _tables.numbers_of(array, "label")
    with np.errstate(over="ignore"):
        out = array.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(out) & (out >= 0)))
    if len(bad):
        raise DataError(
            f"label of document {bad[0]} (from 0) is {array[bad[0]]}; expected a finite number, 0 or more"
        )
    return out


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


class _Queries:
    """Where queries begin, and their ids."""

    def __init__(self, n_docs: int, qid: Any, group: Any, sort: bool) -> None:
        self.order: npt.NDArray[np.uint32] | None = None
        self.ids: list[bytes] | None = None
        if qid is not None and group is not None:
            raise DataError("qid and group both say what the queries are; expected one of them")
        if hasattr(qid, "runs"):  # a column of an Arrow table
            offset, ids = qid.runs()
            self._by_runs(offset, ids, sort)
        elif qid is not None:
            if isinstance(qid, (list, tuple)):  # numpy would make text of NaN, and integers of bools
                qid = _tables.array_of(qid, "qid", object)
            self._by_id(_vector(qid, "qid", n_docs), sort)
        elif group is not None:
            self._by_size(_vector(group, "group", None), n_docs)
        else:
            raise DataError(
                "which documents belong to one query? expected qid (a value for each document) or "
                "group (the size of each query)"
            )

    def _by_id(self, qid: npt.NDArray[Any], sort: bool) -> None:
        if qid.dtype.kind in "OT":
            for i, one in enumerate(qid.tolist()):
                if not isinstance(one, (str, bytes, int, np.integer)) or isinstance(one, bool):
                    raise DataError(f"qid of document {i} (from 0) is {one!r}; expected an integer or a string")
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
        if sizes.dtype.kind not in "iu":
            raise DataError(f"group has type {sizes.dtype}; expected the size of each query, integers")
        if sizes.min() < 1:
            raise DataError(f"group has a query of {sizes.min()} documents; expected 1 or more")
        if sizes.max() > n_docs:  # before a sum that may overflow
            raise DataError(f"group has a query of {sizes.max()} documents; there are {n_docs}")
        if int(sizes.sum()) != n_docs:
            raise DataError(f"group adds up to {int(sizes.sum())} documents; there are {n_docs}")
        self.offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.uint32)


Method = TypeVar("Method", bound=Callable[..., Any])


def _locked(method: Method) -> Method:
    """Several threads may use one data set; what is made for one of them serves the others."""

    @wraps(method)
    def call(self: Dataset, *args: Any) -> Any:
        with self._lock:
            return method(self, *args)

    return cast(Method, call)


class Dataset:
    """Documents with features, and, for training and measuring, labels and queries.

    Parameters
    ----------
    data
        Array or sparse matrix (n_docs, n_features), data frame, anything with ``__arrow_c_stream__``
        (polars, pyarrow, duckdb), or path(s) of LETOR text or of a cache. Arrays and Arrow tables are
        read where they stand and must not change while the data set is in use.
    label
        Relevance of each document (n_docs,), 0 or more; or the name of a column. Files have their own.
    qid
        The query of each document (n_docs,), integers or strings; or the name of a column. A query's
        documents are adjacent, unless ``sort`` is True.
    group
        In place of ``qid``: the number of documents of each query, in order.
    weight, query_weight
        A weight for each document, or for each query, 0 to 65,536; ``weight`` may be a column's name.
    feature_names
        Names of the features; a data frame has its own. A model's file has them with ``_`` for blanks and
        commas, and before numbers; it is found by either.
    ignore
        Columns, by name or number, that are not features.
    missing
        A value that means missing, beside NaN and null. A hole of a sparse matrix is 0, unless this is.
    sort
        True: documents need not be adjacent; scores come back in the order of ``data``.

    Raises
    ------
    DataError
        Shapes that do not fit, types that are no numbers, infinite values, labels below 0 or NaN, a
        query that comes back after another.
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        weight: Any = None,
        query_weight: Any = None,
        position: Any = None,
        feature_names: Sequence[str] | None = None,
        categorical_features: Any = None,
        ignore: Iterable[str | int] = (),
        missing: float = np.nan,
        sort: bool = False,
    ) -> None:
        if position is not None:
            raise UnsupportedError("position is not supported yet")
        if categorical_features is not None:
            raise UnsupportedError("categorical_features is not supported yet")
        self._lock = threading.RLock()  # of what is made when it is asked for
        self._paths: list[bytes] | None = None
        self._binned: dict[tuple[str, ...], Any] = {}
        self._values: Any = None
        self._by_names: dict[tuple[str, ...], Any] = {}
        self._order: npt.NDArray[np.uint32] | None = None
        self.feature_names: list[str] | None = None
        self.feature_ids: list[int] | None = None
        self._weights: Floats | None = None
        if weight is not None and query_weight is not None:
            raise DataError("weight and query_weight are both given; expected one of them")
        if _tables.is_paths(data):
            self._open_files(data, label, qid, group, feature_names, ignore, sort)
        else:
            ignore = _ignored(ignore)
            named = (one for one in (label, qid, weight) if isinstance(one, str))
            table = _tables.of_any(data, frozenset([*ignore, *named]))
            self._open_table(table, label, qid, group, weight, feature_names, ignore, missing, sort)
            weight = None if isinstance(weight, str) else weight
        if weight is not None or query_weight is not None:
            self._set_weights(weight, query_weight)

    # ---- where it comes from ----

    def _open_files(
        self, data: Any, label: Any, qid: Any, group: Any, feature_names: Any, ignore: Any, sort: bool
    ) -> None:
        given = {"label": label, "qid": qid, "group": group}
        for name, value in given.items():
            if value is not None:
                raise DataError(f"{name} is given, but files have their own")
        if feature_names is not None or sort or list(ignore):
            raise DataError("feature_names, ignore and sort are for data in memory; files are read as they are")
        paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
        self._paths = [path_chars(path) for path in paths]

    def _open_table(
        self,
        table: _tables.Table,
        label: Any,
        qid: Any,
        group: Any,
        weight: Any,
        feature_names: Sequence[str] | None,
        ignore: Iterable[str | int],
        missing: float,
        sort: bool,
    ) -> None:
        ids = list(range(len(table.columns)))
        by_name = {name: i for i, name in enumerate(table.names or [])}

        def column_of(value: Any, what: str) -> Any:
            if not isinstance(value, str):
                return value
            if value not in by_name:
                raise DataError(f"no column {value!r} for {what}; there are {_few(list(by_name))}")
            left_out.add(by_name[value])
            return table.columns[by_name[value]].vector(what)

        left_out: set[int] = set()
        label, qid = column_of(label, "label"), column_of(qid, "qid")
        weights = column_of(weight, "weight") if isinstance(weight, str) else None
        for one in ignore:
            if isinstance(one, str) and one not in by_name:
                raise DataError(f"no column {one!r} to ignore; there are {_few(list(by_name))}")
            if not isinstance(one, str) and not 0 <= one < len(ids):
                raise DataError(f"no column {one} to ignore; there are {len(ids)}, from 0")
            left_out.add(by_name[one] if isinstance(one, str) else int(one))
        kept = [i for i in ids if i not in left_out]
        n = table.n_rows
        if n == 0:
            raise DataError("Found array with 0 sample(s): data has no documents")
        _tables.check_shape(n, len(kept))
        if not kept:
            raise DataError(
                f"Found array with 0 feature(s) (shape=({n}, {len(kept)})) while a minimum of 1 is required."
            )
        queries = _Queries(n, qid, group, sort)
        self._order = queries.order
        labels = np.zeros(n, np.float32) if label is None else _labels(label, n)
        if queries.order is not None:
            labels = labels[queries.order]
        self._labels = np.ascontiguousarray(labels)
        self._offset = queries.offset
        self._labels.flags.writeable = self._offset.flags.writeable = False  # both are handed out
        self._table = _tables.Table(n, [table.columns[i] for i in kept], None, [table])
        if feature_names is not None:
            self.feature_names = _names(feature_names)
            if len(self.feature_names) != len(kept):
                raise DataError(f"{len(self.feature_names)} feature_names for {len(kept)} features")
        elif table.names is not None:
            self.feature_names = [table.names[i] for i in kept]
        self._c_table = self._make_table(queries.ids, missing)
        if weights is not None:
            self._set_weights(weights, None)

    def _make_table(self, ids: list[bytes] | None, missing: float) -> Any:
        c = ffi.new("struct rw_table *")
        arrays = _tables.c_arrays(self._table)
        c.n_docs = self._table.n_rows
        c.n_columns = len(self._table.columns)
        c.column = arrays
        chunk_offset = self._table.columns[0].chunk_offset
        if chunk_offset is not None:
            c.n_chunks = len(chunk_offset) - 1
            c.chunk_offset = ffi.cast("uint32_t *", chunk_offset.ctypes.data)
        c.missing = _missing(missing)
        c.label = ffi.cast("float *", self._labels.ctypes.data)
        c.n_queries = len(self._offset) - 1
        c.query_offset = ffi.cast("uint32_t *", self._offset.ctypes.data)
        self._keep: list[Any] = [arrays]
        if ids is not None:
            text = b"\0".join(ids) + b"\0"
            lengths = np.fromiter((len(one) + 1 for one in ids), np.uint64, len(ids))
            begin = np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths)))
            held = ffi.from_buffer("char[]", text)
            c.query_id_text = held
            c.query_id_offset = ffi.cast("uint64_t *", begin.ctypes.data)
            self._keep += [text, held, begin]
        if self._order is not None:
            c.order = ffi.cast("uint32_t *", self._order.ctypes.data)
        return c

    def _set_weights(self, weight: Any, query_weight: Any) -> None:
        if query_weight is not None:
            given = _vector(query_weight, "query_weight", None)
            self._weights = _tables.numbers_of(given, "query_weight")
            if len(self._weights) != self.n_queries:
                raise DataError(f"query_weight has {len(self._weights)} values for {self.n_queries} queries")
            return
        weights = _tables.numbers_of(_vector(weight, "weight", self.n_docs), "weight")
        self._weights = weights if self._order is None else weights[self._order]

    # ---- what the library sees ----

    def _weigh(self, c: Any) -> None:
        if self._weights is not None:
            weights = np.ascontiguousarray(self._weights)
            pointer = ffi.cast("double *", weights.ctypes.data)
            check(lib.rw_dataset_set_weights(context(), c, pointer, len(weights)))

    @_locked
    def _with_values(self) -> Any:
        """struct rw_dataset with values: for validation, measuring, explaining."""
        if self._values is None:
            out = ffi.new("struct rw_dataset **")
            if self._paths is not None:
                paths = [ffi.new("char[]", path) for path in self._paths]
                status = lib.rw_dataset_read(context(), ffi.new("char *[]", paths), len(paths), out)
            else:
                status = lib.rw_dataset_from_table(context(), self._c_table, out)
            self._values = made(status, out, lib.rw_dataset_free)
            self._weigh(self._values)
        return self._values

    @_locked
    def _with_values_as(self, names: Sequence[str], needed: Iterable[int]) -> Any:
        """_with_values, with each feature where `names` has it; those of `needed` must be there."""
        mine, needed = self.feature_names, list(needed)
        if mine is None or all(i < len(mine) and mine[i] == names[i] for i in needed):
            return self._with_values()
        key = tuple(names)
        if key not in self._by_names:
            at = _tables.positions_of(mine)
            lacking = [names[i] for i in needed if names[i] not in at]
            if lacking:
                raise DataError(f"the data lacks {len(lacking)} of the model's features: {_few(lacking)}")
            kept = [i for i, name in enumerate(names) if name in at]
            columns = [self._table.columns[at[names[i]]] for i in kept]
            arrays = _tables.c_arrays(_tables.Table(self.n_docs, columns, None))
            ids = np.array(kept, np.uint32)
            c = ffi.new("struct rw_table *", self._c_table[0])
            c.n_columns, c.column = len(columns), arrays
            c.feature = ffi.cast("uint32_t *", ids.ctypes.data)
            out = ffi.new("struct rw_dataset **")
            self._by_names[key] = made(lib.rw_dataset_from_table(context(), c, out), out, lib.rw_dataset_free)
            self._weigh(self._by_names[key])
        return self._by_names[key]

    @_locked
    def _for_training(self, params: Params) -> Any:
        """struct rw_binned for these parameters; kept, and used again by every training on it."""
        mine = Params()
        for name in ("bins", "absent", "device"):
            mine.set(name, params.get(name))
        mine.set("min-docs", 1)  # its codes serve any
        key = tuple(mine.get(name) for name in ("bins", "absent", "device"))
        if key not in self._binned:
            out = ffi.new("struct rw_binned **")
            if self._paths is not None:
                paths = [ffi.new("char[]", path) for path in self._paths]
                status = lib.rw_binned_read(
                    context(), mine.c, ffi.new("char *[]", paths), len(paths), out
                )
            else:
                status = lib.rw_binned_from_table(context(), mine.c, self._c_table, out)
            binned = made(status, out, lib.rw_binned_free)
            self._weigh(lib.rw_binned_documents(binned))
            self._binned[key] = binned
        return self._binned[key]

    @_locked
    def _documents(self) -> Any:
        """struct rw_dataset, with values or without."""
        for binned in self._binned.values():
            return lib.rw_binned_documents(binned)
        return self._with_values()

    @_locked
    def _is(self, c: Any) -> bool:
        """Is this the data set that a callback names?"""
        mine = [lib.rw_binned_documents(binned) for binned in self._binned.values()]
        return any(c == one for one in [*mine, self._values, *self._by_names.values()] if one is not None)

    def _in_caller_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self._order is None:
            return values
        out = np.empty_like(values)
        out[self._order] = values
        return out

    def _in_own_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return values if self._order is None else values[self._order]

    # ---- what it is ----

    @property
    def n_docs(self) -> int:
        """Documents."""
        return self._table.n_rows if self._paths is None else int(lib.rw_dataset_n_docs(self._documents()))

    @property
    def n_queries(self) -> int:
        """Queries."""
        if self._paths is None:
            return len(self._offset) - 1
        return int(lib.rw_dataset_n_queries(self._documents()))

    @property
    @_locked
    def n_features(self) -> int:
        """Features: columns of a table; of files, those that appear at least once."""
        if self._paths is None:
            return len(self._table.columns)
        for binned in self._binned.values():
            return int(lib.rw_binned_n_features(binned))
        return int(lib.rw_dataset_n_features(self._with_values()))

    @property
    def label(self) -> npt.NDArray[np.float32]:
        """Labels (n_docs,), in the order of the data."""
        if self._paths is None:
            return self._in_caller_order(self._labels)
        c = self._documents()
        pointer = lib.rw_dataset_labels(c)
        return np.frombuffer(ffi.buffer(pointer, 4 * self.n_docs), np.float32).copy()

    @property
    def query_offsets(self) -> npt.NDArray[np.uint32]:
        """The first document of each query, and n_docs at the end (n_queries + 1,)."""
        if self._paths is None:
            return self._offset
        pointer = lib.rw_dataset_query_offsets(self._documents())
        return np.frombuffer(ffi.buffer(pointer, 4 * (self.n_queries + 1)), np.uint32).copy()

    def __reduce__(self) -> Any:
        raise DataTypeError("a Dataset cannot be pickled or copied; make another one of the same data")

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        if self._paths is not None and not self._binned and self._values is None:
            return f"Dataset({', '.join(repr(os.fsdecode(path)) for path in self._paths)})"
        return f"Dataset({self.n_docs} documents, {self.n_queries} queries, {self.n_features} features)"


def _ignored(given: Any) -> list[str | int]:
    """Names and numbers of columns."""
    if given is None:
        return []
    alone = isinstance(given, str) or not isinstance(given, Iterable)
    out: list[str | int] = []
    for one in [given] if alone else given:
        try:
            out.append(one if isinstance(one, str) else index(one))
        except TypeError:
            raise DataTypeError(f"ignore has {one!r}; expected columns' names or numbers") from None
        if isinstance(one, bool):
            raise DataTypeError(f"ignore has {one!r}; expected columns' names or numbers")
    return out


def _names(given: Any) -> list[str]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise DataTypeError(f"feature_names is {given!r}; expected a name for each feature")
    out = [str(name) for name in given]
    _tables.check_names(out)
    return out


def _missing(value: Any) -> float:
    try:
        return float("text" if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        raise DataTypeError(f"missing is {value!r}; expected a number") from None


def _few(names: list[str]) -> str:
    if not names:
        return "no named columns"
    return ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
