"""Documents with features, labels and queries."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _tables
from rankwood._core import DataError, chars, check, context, ffi, lib, made, text
from rankwood._params import Params

_MOST_DOCS = 2**31 - 1
Floats = npt.NDArray[np.float64]


def _vector(values: Any, what: str, n: int | None) -> npt.NDArray[Any]:
    """One value a document."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{what} has shape {array.shape}; expected one value a document")
    if n is not None and len(array) != n:
        raise DataError(f"{what} has {len(array)} values for {n} documents")
    return array


def _numbers(array: npt.NDArray[Any], what: str) -> Floats:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} has type {array.dtype}; expected numbers") from None


def _labels(values: Any, n: int) -> npt.NDArray[np.float32]:
    array = _vector(values, "label", n)
    if array.dtype.kind not in "fiub":
        array = _numbers(array, "label")
    out = array.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(out) & (out >= 0)))
    if len(bad):
        raise DataError(f"label of document {bad[0]} (from 0) is {array[bad[0]]}; expected 0 or more")
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
            out.append(value.encode("utf-8", "surrogateescape"))
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
            self._by_id(_vector(qid, "qid", n_docs), sort)
        elif group is not None:
            self._by_size(_vector(group, "group", None), n_docs)
        else:
            raise DataError(
                "which documents belong to one query? expected qid (a value for each document) or "
                "group (the size of each query)"
            )

    def _by_id(self, qid: npt.NDArray[Any], sort: bool) -> None:
        if qid.dtype.kind == "O":
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
        if sizes.dtype.kind not in "iu":
            raise DataError(f"group has type {sizes.dtype}; expected the size of each query, integers")
        if len(sizes) and sizes.min() < 1:
            raise DataError(f"group has a query of {sizes.min()} documents; expected 1 or more")
        if int(sizes.sum()) != n_docs:
            raise DataError(f"group adds up to {int(sizes.sum())} documents; there are {n_docs}")
        self.offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.uint32)


class Dataset:
    """Documents with features, and, for training and measuring, labels and queries.

    Parameters
    ----------
    data
        Array or sparse matrix (n_docs, n_features), data frame, anything with ``__arrow_c_stream__``
        (polars, pyarrow, duckdb), or path(s) of LETOR text, of CSV or TSV (``.csv``, ``.tsv``, also with
        ``.gz``), or of a cache. Arrays and Arrow tables are read where they stand and must not change while
        the data set is in use.
    label
        Relevance of each document (n_docs,), 0 or more; or the name of a column. Files have their own; of
        CSV and TSV it is "label", if it is not given.
    qid
        The query of each document (n_docs,), integers or strings; or the name of a column (of CSV and TSV
        "qid", if it is not given). A query's documents are adjacent, unless ``sort`` is True.
    group
        In place of ``qid``: the number of documents of each query, in order.
    weight, query_weight
        A weight for each document, or for each query, 0 to 65,536; ``weight`` may be a column's name.
    feature_names
        Names of the features; a data frame has its own. A model's file has them with ``_`` for blanks and
        commas, and before numbers; it is found by either.
    ignore
        Columns, by name or number (from 0), that are not features; of CSV and TSV, too.
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
            raise NotImplementedError("position is not supported yet")
        if categorical_features is not None:
            raise NotImplementedError("categorical_features is not supported yet")
        self._paths: list[bytes] | None = None
        self._binned: dict[tuple[str, ...], Any] = {}
        self._values: Any = None
        self._by_names: dict[tuple[str, ...], Any] = {}
        self._order: npt.NDArray[np.uint32] | None = None
        self._names: list[str] | None = None
        self._columns: dict[str, str | list[str]] = {}
        self._is_table = False
        self._only_scored = False  # neither labels nor queries are read from a table
        self.feature_ids: list[int] | None = None
        self._weights: Floats | None = None
        self._weigh_queries = query_weight is not None
        if weight is not None and query_weight is not None:
            raise DataError("weight and query_weight are both given; expected one of them")
        if _tables.is_paths(data):
            self._open_files(data, label, qid, group, weight, feature_names, ignore, sort)
            weight = None if isinstance(weight, (str, int)) else weight
        else:
            ignore = [ignore] if isinstance(ignore, str) else list(ignore)
            named = (one for one in (label, qid, weight) if isinstance(one, str))
            table = _tables.of_any(data, frozenset([*ignore, *named]))
            self._open_table(table, label, qid, group, weight, feature_names, ignore, missing, sort)
            weight = None if isinstance(weight, str) else weight
        if weight is not None or query_weight is not None:
            self._set_weights(weight, query_weight)

    # ---- where it comes from ----

    def _open_files(
        self,
        data: Any,
        label: Any,
        qid: Any,
        group: Any,
        weight: Any,
        feature_names: Any,
        ignore: Any,
        sort: bool,
    ) -> None:
        for name, value in {"label": label, "qid": qid, "group": group}.items():
            if isinstance(value, (str, int)) and name != "group":
                self._columns[name] = _column(value)
            elif value is not None:
                raise DataError(f"{name} is given, but files have their own")
        if isinstance(weight, (str, int)):
            self._columns["weight"] = _column(weight)
        left_out = [_column(one) for one in ([ignore] if isinstance(ignore, str) else ignore)]
        if left_out:
            self._columns["ignore"] = left_out
        if feature_names is not None or sort:
            raise DataError("feature_names and sort are for data in memory; files are read as they are")
        paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
        self._paths = [os.fsencode(path) for path in paths]

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
        if n > _MOST_DOCS:
            raise DataError(f"{n} documents; at most {_MOST_DOCS} are possible")
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
        self._table = _tables.Table(n, [table.columns[i] for i in kept], None, [table])
        if feature_names is not None:
            if len(feature_names) != len(kept):
                raise DataError(f"{len(feature_names)} feature_names for {len(kept)} features")
            self._names = [str(name) for name in feature_names]
        elif table.names is not None:
            self._names = [table.names[i] for i in kept]
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
        c.missing = missing
        c.label = ffi.cast("float *", self._labels.ctypes.data)
        c.n_queries = len(self._offset) - 1
        c.query_offset = ffi.cast("uint32_t *", self._offset.ctypes.data)
        self._keep: list[Any] = [arrays]
        if ids is not None:
            id_text = b"\0".join(ids) + b"\0"
            lengths = np.fromiter((len(one) + 1 for one in ids), np.uint64, len(ids))
            begin = np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths)))
            held = ffi.from_buffer("char[]", id_text)
            c.query_id_text = held
            c.query_id_offset = ffi.cast("uint64_t *", begin.ctypes.data)
            self._keep += [id_text, held, begin]
        if self._order is not None:
            c.order = ffi.cast("uint32_t *", self._order.ctypes.data)
        return c

    def _set_weights(self, weight: Any, query_weight: Any) -> None:
        if query_weight is not None:
            self._weights = _numbers(_vector(query_weight, "query_weight", None), "query_weight")
            if len(self._weights) != self.n_queries:
                raise DataError(f"query_weight has {len(self._weights)} values for {self.n_queries} queries")
            return
        weights = _numbers(_vector(weight, "weight", self.n_docs), "weight")
        self._weights = weights if self._order is None else weights[self._order]

    # ---- what the library sees ----

    def _weigh(self, c: Any) -> None:
        if self._weights is not None:
            weights = np.ascontiguousarray(self._weights)
            pointer = ffi.cast("double *", weights.ctypes.data)
            set_them = lib.rw_dataset_set_query_weights if self._weigh_queries else lib.rw_dataset_set_weights
            check(set_them(context(), c, pointer, len(weights)))

    @contextlib.contextmanager
    def _reading(self, names: Sequence[str] | None = None, needed: Iterable[int] = ()) -> Iterator[None]:
        """Tables are read by this data set's columns: for the calls within. names: feature i is the column
        names[i], and those of `needed` must be there."""
        keep: list[Any] = []

        def chars_of(one: str) -> Any:
            keep.append(ffi.new("char[]", chars(one)))
            return keep[-1]

        def array_of(some: Sequence[str]) -> Any:
            keep.append(ffi.new("char *[]", [chars_of(one) for one in some]))
            return keep[-1]

        c = ffi.new("struct rw_columns *")
        for role in ("label", "qid", "weight"):
            if role in self._columns:
                setattr(c, role, chars_of(str(self._columns[role])))
        ignore = self._columns.get("ignore", [])
        c.ignore, c.n_ignore = array_of(list(ignore)), len(ignore)
        c.no_label = c.no_qid = int(self._only_scored)
        if names is not None:
            must = set(needed)
            flags = ffi.new("unsigned char[]", bytes(i in must for i in range(len(names))))
            c.feature, c.n_features, c.needed = array_of(names), len(names), flags
        n_tables = lib.rw_ctx_n_tables(context())
        check(lib.rw_ctx_set_columns(context(), c))
        try:
            yield
        finally:
            check(lib.rw_ctx_set_columns(context(), ffi.NULL))
        self._is_table = lib.rw_ctx_n_tables(context()) > n_tables
        if self._columns and not self._is_table:
            raise DataError(f"{next(iter(self._columns))} is given, but files have their own, other than CSV and TSV")

    def _read(self, names: Sequence[str] | None = None, needed: Iterable[int] = ()) -> Any:
        """struct rw_dataset of the files."""
        out = ffi.new("struct rw_dataset **")
        paths = [ffi.new("char[]", path) for path in self._paths or []]
        with self._reading(names, needed):
            status = lib.rw_dataset_read(context(), ffi.new("char *[]", paths), len(paths), out)
            dataset = made(status, out, lib.rw_dataset_free)
        self._weigh(dataset)
        return dataset

    def _with_values(self) -> Any:
        """struct rw_dataset with values: for validation, measuring, explaining."""
        if self._values is None:
            if self._paths is not None:
                self._values = self._read()
                return self._values
            out = ffi.new("struct rw_dataset **")
            status = lib.rw_dataset_from_table(context(), self._c_table, out)
            self._values = made(status, out, lib.rw_dataset_free)
            self._weigh(self._values)
        return self._values

    def _with_values_as(self, names: Sequence[str], needed: Iterable[int]) -> Any:
        """_with_values, with each feature where `names` has it; those of `needed` must be there."""
        needed = list(needed)
        if self._paths is not None:
            return self._files_as(names, needed)
        mine = self._names
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

    def _files_as(self, names: Sequence[str], needed: list[int]) -> Any:
        """The same of files, which are read for it."""
        if self._values is not None:
            mine = self.feature_names
            if mine is None or all(i < len(mine) and mine[i] == names[i] for i in needed):
                return self._values
        key = tuple(names)
        if key not in self._by_names:
            values = self._read(names, needed)
            if not self._is_table:  # only a table has names to be found by
                self._values = values
                return values
            self._by_names[key] = values
        return self._by_names[key]

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
                with self._reading():
                    status = lib.rw_binned_read(
                        context(), mine.c, ffi.new("char *[]", paths), len(paths), out
                    )
                    binned = made(status, out, lib.rw_binned_free)
            else:
                status = lib.rw_binned_from_table(context(), mine.c, self._c_table, out)
                binned = made(status, out, lib.rw_binned_free)
            self._weigh(lib.rw_binned_documents(binned))
            self._binned[key] = binned
        return self._binned[key]

    def _documents(self) -> Any:
        """struct rw_dataset, with values or without."""
        for binned in self._binned.values():
            return lib.rw_binned_documents(binned)
        if self._values is None:
            for values in self._by_names.values():
                return values
        return self._with_values()

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
    def feature_names(self) -> list[str] | None:
        """Names of the features; None if they have none. Those of a CSV or TSV file are its header's."""
        if self._paths is not None and self._names is None:
            if self._binned:
                binned = next(iter(self._binned.values()))
                c, n = lib.rw_binned_documents(binned), int(lib.rw_binned_n_features(binned))
            else:
                c = self._with_values()
                n = int(lib.rw_dataset_n_features(c))
            names = [text(lib.rw_dataset_feature_name(c, i)) for i in range(n)]
            self._names = names if any(names) else None
        return self._names

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

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        if self._paths is not None and not self._binned and self._values is None:
            return f"Dataset({', '.join(repr(os.fsdecode(path)) for path in self._paths)})"
        return f"Dataset({self.n_docs} documents, {self.n_queries} queries, {self.n_features} features)"


def _column(one: str | int) -> str:
    """A column of a table as the library has it: its name, or its number, from 1 there."""
    return one if isinstance(one, str) else str(int(one) + 1)


def _few(names: list[str]) -> str:
    if not names:
        return "no named columns"
    return ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
