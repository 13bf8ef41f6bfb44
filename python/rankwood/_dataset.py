"""Documents with features, labels and queries."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from operator import index
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from rankwood import _batches, _tables
from rankwood._core import (
    DataError,
    DataTypeError,
    UnsupportedError,
    check,
    context,
    ffi,
    lib,
    logger,
    made,
    path_chars,
)
from rankwood._documents import Floats, Queries, labels_of, vector
from rankwood._params import Params

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
        read where they stand and must not change while the data set is in use. Values are floats,
        integers or bools of any width, and become float32; integers that it cannot hold are warned of.
    label
        Relevance of each document (n_docs,), 0 or more; or the name of a column. Files have their own.
        None: the data can be scored and explained only, and needs no queries.
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

    Attributes
    ----------
    feature_names : list[str] | None
        The features' names, in their order; None of an array without ``feature_names``, and of files.

    See Also
    --------
    from_parquet, from_batches : data that need not fit into memory.

    Raises
    ------
    DataError
        Shapes that do not fit, types that are no numbers, labels below 0 or NaN. Infinite values, and a
        query that comes back after another, are found when the data is first trained on or measured.
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
        self._begin()
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

    def _begin(self) -> None:
        self._lock = threading.RLock()  # of what is made when it is asked for
        self._paths: list[bytes] | None = None
        self._source: _batches.Source | None = None
        self._binned: dict[tuple[str, ...], Any] = {}
        self._values: Any = None
        self._bare: Any = None
        self._by_names: dict[tuple[str, ...], Any] = {}
        self._order: npt.NDArray[np.uint32] | None = None
        self.feature_names: list[str] | None = None
        self._weights: Floats | None = None
        self._has_labels = True
        self._warned = False

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        *,
        label: str | None,
        qid: str,
        weight: str | None = None,
        query_weight: Any = None,
        ignore: Iterable[str] = (),
        missing: float = np.nan,
        batch_rows: int = 32768,
    ) -> Dataset:
        """Parquet files that become codes without their values ever being in memory as a whole.

        Labels, queries and weights are read at once; values when training needs them, in one pass, or in two
        of more than 262,144 documents. The model is that of the same data in memory, byte for byte.

        Parameters
        ----------
        path
            A path, a pattern such as ``"data/*.parquet"`` (files in the order of their names), or several. A
            query's documents are adjacent, and may go on in the next file.
        label, qid, weight
            Names of columns, as of :class:`Dataset`. ``label=None``: all labels are 0.
        query_weight
            In place of ``weight``: a weight for each query, in order.
        ignore
            Names of columns that are not features. They are not read.
        missing
            A value that means missing, beside NaN and null.
        batch_rows
            Rows that are decoded at a time, at most.

        Raises
        ------
        DataError
            As :class:`Dataset`; files that have not the same columns, or other rows in a later pass.
        FileError
            A file cannot be read.
        ImportError
            There is no pyarrow (the extra ``arrow``).

        Notes
        -----
        ``predict``, ``evaluate``, ``compare`` and ``audit`` read batch by batch, too. What else needs values
        (validation during training, ``init``, ``explain``, ``cv``, ``check``) reads and keeps all of them, as
        float32: 4 bytes for each.
        """
        ignored = frozenset([ignore] if isinstance(ignore, str) else ignore)
        source = _batches.of_parquet(path, int(batch_rows), ignored)
        return cls._of_source(source, label, qid, weight, query_weight, ignored, missing)

    @classmethod
    def from_batches(
        cls,
        make_reader: Callable[[], Any],
        *,
        label: str | None,
        qid: str,
        weight: str | None = None,
        query_weight: Any = None,
        ignore: Iterable[str] = (),
        missing: float = np.nan,
    ) -> Dataset:
        """Data that comes in batches and becomes codes without its values ever being in memory as a whole.

        ``make_reader()`` is called once for the names of columns, once for labels and queries, and once for
        each pass over the values. It returns an iterable of batches, the same documents in the same order each
        time: Arrow record batches or anything else with ``__arrow_c_stream__`` or ``__arrow_c_array__``, pandas
        data frames, or dicts of arrays. Batches may be of any size, and have the same columns. A query's
        documents are adjacent, and may go on in the next batch. label, qid, weight, query_weight, ignore,
        missing, what reads values, and errors (DataError) are as of :meth:`from_parquet`; what ``make_reader``
        raises is raised as it was.
        """
        ignored = frozenset([ignore] if isinstance(ignore, str) else ignore)
        apart = ignored.union(name for name in (label, qid, weight) if name is not None)
        source = _batches.of_function(make_reader, apart, ignored)
        return cls._of_source(source, label, qid, weight, query_weight, ignored, missing)

    # ---- where it comes from ----

    @classmethod
    def _of_source(
        cls,
        source: _batches.Source,
        label: str | None,
        qid: str,
        weight: str | None,
        query_weight: Any,
        ignore: frozenset[str],
        missing: float,
    ) -> Dataset:
        if weight is not None and query_weight is not None:
            raise DataError("weight and query_weight are both given; expected one of them")
        apart = set(ignore)
        for what, name in {"label": label, "qid": qid, "weight": weight}.items():
            if name is None and what != "qid":
                continue
            if not isinstance(name, str):
                raise DataError(f"{what} is a {type(name).__name__}; expected the name of a column")
            if name not in source.names:
                raise DataError(f"no column {name!r} for {what}; there are {_few(source.names)}")
            apart.add(name)
        for name in ignore:
            if name not in source.names:
                raise DataError(f"no column {name!r} to ignore; there are {_few(source.names)}")
        self = cls.__new__(cls)
        self._begin()
        self._source = source
        self._has_labels = label is not None
        self.feature_names = [name for name in source.names if name not in apart]
        if not self.feature_names:
            raise DataError("no column is left for a feature")
        documents = _batches.read_documents(source, label, qid, weight)
        self._labels, self._offset, self._weights = documents.label, documents.offset, documents.weight
        self._c_table = self._make_table(documents.ids, missing)
        if query_weight is not None:
            self._set_weights(None, query_weight)
        return self

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
        self._has_labels = label is not None
        if label is None and qid is None and group is None:
            group = np.array([n])
        queries = Queries(n, qid, group, sort)
        self._order = queries.order
        labels = np.zeros(n, np.float32) if label is None else labels_of(label, n)
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
        c.n_docs, c.n_columns = self.n_docs, self.n_features
        self._keep: list[Any] = []
        if self._source is None:
            c.column = arrays = _tables.c_arrays(self._table)
            self._keep.append(arrays)
            chunk_offset = self._table.columns[0].chunk_offset
            if chunk_offset is not None:
                c.n_chunks = len(chunk_offset) - 1
                c.chunk_offset = ffi.cast("uint32_t *", chunk_offset.ctypes.data)
        c.missing = _missing(missing)
        c.inexact = self._inexact = ffi.new("uint8_t[]", max(c.n_columns, 1))
        c.label = ffi.cast("float *", self._labels.ctypes.data)
        c.n_queries = len(self._offset) - 1
        c.query_offset = ffi.cast("uint32_t *", self._offset.ctypes.data)
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
            given = vector(query_weight, "query_weight", None)
            self._weights = _tables.numbers_of(given, "query_weight")
            if len(self._weights) != self.n_queries:
                raise DataError(f"query_weight has {len(self._weights)} values for {self.n_queries} queries")
            return
        weights = _tables.numbers_of(vector(weight, "weight", self.n_docs), "weight")
        self._weights = weights if self._order is None else weights[self._order]

    def _need_labels(self, name: str) -> None:
        if not self._has_labels:
            raise DataError(f"{name} has no labels, so it can only be scored: Dataset(data, label, ...)")

    # ---- what the library sees ----

    def _made(self, status: int, out: Any, free: Any) -> Any:
        """See made; an error says what can be done about queries of data in memory."""
        try:
            return made(status, out, free)
        except DataError as error:
            if self._paths is None and self._source is None and "comes back after another query" in str(error):
                raise DataError(f"{error}: sort=True groups them") from None
            raise

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
            elif self._source is not None:
                status = self._read_batches(
                    lambda batches: lib.rw_dataset_from_batches(context(), self._c_table, batches, out)
                )
            else:
                status = lib.rw_dataset_from_table(context(), self._c_table, out)
            self._values = self._made(status, out, lib.rw_dataset_free)
            self._warn_of_ids()
            self._weigh(self._values)
        return self._values

    def _warn_of_ids(self, inexact: Any = None, names: Sequence[str] | None = None) -> None:
        """Once: of columns whose whole numbers are no float32 numbers, as the library has found them."""
        if self._paths is not None or self._warned:
            return
        names = names if names is not None else self.feature_names
        found = np.flatnonzero(np.frombuffer(ffi.buffer(inexact or self._inexact), np.uint8))
        shown = [repr(names[i]) if names is not None else str(i) for i in found[:8]]
        if shown:
            self._warned = True
            more = f" and {len(found) - 8} more" if len(found) > 8 else ""
            logger.warning(
                "column%s %s%s: whole numbers beyond 2^24 that are no float32 numbers, so that different ones "
                "may have become equal; ids are no features: ignore=[...] leaves them out",
                "s" if len(found) > 1 else "", ", ".join(shown), more,
            )  # fmt: skip

    @_locked
    def _with_values_as(self, names: Sequence[str], needed: Iterable[int]) -> Any:
        """_with_values, with each feature where `names` has it; those of `needed` must be there."""
        named = self._named_as(names, needed)
        if named is None:
            return self._with_values()
        key = tuple(names)
        if key not in self._by_names:
            ids, at = named
            c = ffi.new("struct rw_table *", self._c_table[0])
            c.n_columns, c.feature = len(ids), ffi.cast("uint32_t *", ids.ctypes.data)
            c.inexact = inexact = ffi.new("uint8_t[]", max(len(ids), 1))
            out = ffi.new("struct rw_dataset **")
            if self._source is not None:
                status = self._read_batches(
                    lambda batches: lib.rw_dataset_from_batches(context(), c, batches, out), at
                )
            else:
                columns = [self._table.columns[i] for i in at]
                c.column = arrays = _tables.c_arrays(_tables.Table(self.n_docs, columns, None))
                status = lib.rw_dataset_from_table(context(), c, out)
                del arrays
            self._by_names[key] = self._made(status, out, lib.rw_dataset_free)
            self._warn_of_ids(inexact, [names[i] for i in ids])
            self._weigh(self._by_names[key])
        return self._by_names[key]

    def _named_as(
        self, names: Sequence[str], needed: Iterable[int]
    ) -> tuple[npt.NDArray[np.uint32], list[int]] | None:
        """Features that are in `names`: where there, and where here; None: where they are already."""
        mine, needed = self.feature_names, list(needed)
        if mine is None or all(i < len(mine) and mine[i] == names[i] for i in needed):
            return None
        at = _tables.positions_of(mine)
        lacking = [names[i] for i in needed if names[i] not in at]
        if lacking:
            raise DataError(f"the data lacks {len(lacking)} of the model's features: {_few(lacking)}")
        kept = [i for i, name in enumerate(names) if name in at]
        return np.array(kept, np.uint32), [at[names[i]] for i in kept]

    def _read_batches(self, call: Callable[[Any], int], at: Sequence[int] | None = None) -> int:
        """call(struct rw_batches) of all features, or of those `at` these positions."""
        assert self._source is not None and self.feature_names is not None
        names = self.feature_names if at is None else [self.feature_names[i] for i in at]
        return _batches.read(self._source, names, call)

    def _value_batches(self, names: Sequence[str] | None, needed: Iterable[int]) -> Iterator[tuple[int, Any]]:
        """The first document, and a struct rw_dataset without labels, of each batch; features as
        _with_values_as has them."""
        assert self._source is not None and self.feature_names is not None
        named = None if names is None else self._named_as(names, needed)
        ids, at = named or (np.arange(self.n_features, dtype=np.uint32), list(range(self.n_features)))
        inexact = np.zeros(len(ids), np.uint8)  # training has told of it
        offset = ffi.new("uint32_t[2]")
        c = ffi.new("struct rw_table *")
        c.n_columns, c.feature = len(ids), ffi.cast("uint32_t *", ids.ctypes.data)
        c.inexact = ffi.cast("uint8_t *", inexact.ctypes.data)
        c.missing, c.n_queries, c.query_offset = self._c_table.missing, 1, offset
        first = 0
        for where, n, arrays in _batches.chunks(self._source, [self.feature_names[i] for i in at]):
            c.n_docs = offset[1] = n
            c.column = arrays
            if first + n > self.n_docs:
                break
            out = ffi.new("struct rw_dataset **")
            with _batches.told(where):
                one = made(lib.rw_dataset_from_table(context(), c, out), out, lib.rw_dataset_free)
            yield first, one
            first += n
        else:
            if first == self.n_docs:
                return
        raise DataError(
            f"a pass over the batches does not give {self.n_docs} documents; expected the same ones in every pass"
        )

    @_locked
    def _for_training(self, params: Params) -> Any:
        """struct rw_binned for these parameters; kept, and used again by every training on it."""
        mine = Params()
        for name in ("bins", "absent", "device"):
            mine.set(name, params.get(name))
        mine.set("min-docs", 1)  # its codes serve any
        if self._source is not None:  # codes are made on the CPU, the same ones for every device
            mine.set("device", "cpu")
        key = tuple(mine.get(name) for name in ("bins", "absent", "device"))
        if key not in self._binned:
            if params.get("threads") != "auto":
                check(lib.rw_ctx_set_threads(context(), int(params.get("threads"))))
            out = ffi.new("struct rw_binned **")
            if self._paths is not None:
                paths = [ffi.new("char[]", path) for path in self._paths]
                status = lib.rw_binned_read(
                    context(), mine.c, ffi.new("char *[]", paths), len(paths), out
                )
            elif self._source is not None:
                status = self._read_batches(
                    lambda batches: lib.rw_binned_from_batches(
                        context(), mine.c, self._c_table, batches, out
                    )
                )
            else:
                status = lib.rw_binned_from_table(context(), mine.c, self._c_table, out)
            binned = self._made(status, out, lib.rw_binned_free)
            self._warn_of_ids()
            self._weigh(lib.rw_binned_documents(binned))
            self._binned[key] = binned
        return self._binned[key]

    @_locked
    def _documents(self) -> Any:
        """struct rw_dataset, with values or without."""
        for binned in self._binned.values():
            return lib.rw_binned_documents(binned)
        if self._source is None or self._values is not None:
            return self._with_values()
        if self._bare is None:
            out = ffi.new("struct rw_dataset **")
            c = ffi.new("struct rw_table *", self._c_table[0])
            c.n_columns = 0
            self._bare = made(lib.rw_dataset_from_table(context(), c, out), out, lib.rw_dataset_free)
            self._weigh(self._bare)
        return self._bare

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

    def prepare(self, params: Mapping[str, Any] | None = None) -> Dataset:
        """Makes the bins now that training with these ``params`` would make (their ``bins``, ``absent`` and
        ``device``; ``threads`` of them work). Returns itself. ParameterError: they are not as they must be."""
        self._for_training(Params(params))
        return self

    # ---- what it is ----

    @property
    def n_docs(self) -> int:
        """Documents."""
        return len(self._labels) if self._paths is None else int(lib.rw_dataset_n_docs(self._documents()))

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
        if self._source is not None:
            return len(self.feature_names or ())
        if self._paths is None:
            return len(self._table.columns)
        for binned in self._binned.values():
            return int(lib.rw_binned_n_features(binned))
        return int(lib.rw_dataset_n_features(self._with_values()))

    @property
    def label(self) -> npt.NDArray[np.float32]:
        """Labels (n_docs,), in the order of the data. DataError: there are none."""
        self._need_labels("the data set")
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
