"""Tables: arrays, data frames, sparse matrices, tensors, Arrow tables, Parquet files and batches.

To add a kind, add a row to _KINDS and its function.
"""

from __future__ import annotations

import ctypes
import glob
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwood import _workers
from rankwood._columns import (
    TYPES,
    Column,
    Queries,
    Table,
    array_of,
    as_category,
    check_names,
    check_shape,
    column_name,
    column_of_codes,
    column_of_values,
    labels_of,
    number_column,
    numbers_of,
    of_tensor,
    positions_of,
    text_of,
    vector,
    view,
)
from rankwood._core import DataError, FileError, check, context, ffi, lib, made, shard, text

Columns = Set[str | int]  # their names and numbers


def is_paths(data: Any) -> bool:
    """Tells whether data is a path or a list of paths."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return (
        isinstance(data, (list, tuple))
        and len(data) > 0
        and all(isinstance(one, (str, os.PathLike)) for one in data)
    )


def _of_numpy(data: np.ndarray[Any, Any]) -> Table:
    if data.ndim == 1:
        raise DataError(
            f"data has shape {data.shape}; expected 2 dimensions, (documents, features). "
            "Reshape your data: array.reshape(-1, 1) makes it one feature"
        )
    if data.ndim != 2:
        raise DataError(f"data has shape {data.shape}; expected 2 dimensions, (documents, features)")
    check_shape(*data.shape)
    if data.dtype.kind == "O":
        data = numbers_of(data, "data").reshape(data.shape)
    if data.dtype.kind == "c":
        raise DataError("Complex data not supported: expected real numbers")
    first = number_column(data[:, :1], "0").values.dtype if data.shape[1] else data.dtype
    if data.dtype != first and data.dtype != np.bool_:
        data = data.astype(first)
    columns = [number_column(data[:, i], str(i)) for i in range(data.shape[1])]
    return Table(data.shape[0], columns, None, [data])


def _of_pandas(data: Any, apart: Columns, categorical: Columns) -> Table:
    names = [column_name(name) for name in data.columns]
    check_names(names)
    columns = []
    for i, (name, (_, series)) in enumerate(zip(names, data.items(), strict=True)):
        if i in apart or name in apart:
            columns.append(Column(series.to_numpy()))
        elif type(series.dtype).__name__ == "CategoricalDtype":
            codes, words = series.cat.codes.to_numpy(), series.cat.categories.tolist()
            columns.append(column_of_codes(codes, words, repr(name)))
        elif name in categorical or i in categorical:
            columns.append(column_of_values(series.to_numpy(object), repr(name)))
        else:
            columns.append(_pandas_column(series, name))
    all_text = all(isinstance(name, (str, tuple)) for name in data.columns)
    return Table(len(data), columns, names if all_text else None, [data])


def _pandas_column(series: Any, name: str) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return number_column(series.to_numpy(), repr(name))
    if getattr(dtype, "kind", "O") in "iu":  # nullable integers stay integers, because float64 may merge values
        values = series.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
        return Column(values, valid=np.packbits(series.notna().to_numpy(), bitorder="little"))
    if getattr(dtype, "kind", "O") in "fb":
        return Column(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if getattr(dtype, "kind", "") == "O" or str(dtype) in ("string", "str"):
        return _object_column(series, name)
    raise DataError(f"column {name!r} has type {dtype}; expected numbers")


def _object_column(series: Any, name: str) -> Column:
    values = series.to_numpy(dtype=object)
    try:
        numbers = np.where(series.isna(), np.nan, values).astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        wrong = next((v for v in values if isinstance(v, str)), values[0] if len(values) else None)
        raise DataError(
            f"column {name!r} has type {series.dtype} and holds {wrong!r}; expected numbers"
        ) from None
    return Column(numbers)


def _of_sparse(data: Any) -> Table:
    if data.dtype.kind == "c":
        raise DataError("Complex data not supported: expected real numbers")
    if len(data.shape) != 2:
        raise DataError(f"data has shape {data.shape}; expected 2 dimensions, (documents, features)")
    check_shape(*data.shape)
    if hasattr(data, "check_format"):
        try:  # scipy's conversion writes at unchecked indices
            data.check_format(full_check=True)
        except ValueError as error:
            raise DataError(f"the sparse matrix is damaged: {error}") from None
    columns_first = data.tocsc()
    if not columns_first.has_canonical_format:
        columns_first = columns_first.copy() if columns_first is data else columns_first
        columns_first.sum_duplicates()  # and sorts
    columns = []
    begin = columns_first.indptr
    index = columns_first.indices.astype(np.int32, copy=False)
    for i in range(data.shape[1]):
        part = slice(begin[i], begin[i + 1])
        column = number_column(columns_first.data[part], str(i))
        columns.append(Column(column.values, index=index[part]))
    return Table(data.shape[0], columns, None, [columns_first, index])


def is_arrow(data: Any, *methods: str) -> bool:
    """Tells whether data is an Arrow table or batch with one of these methods."""
    return any(hasattr(data, name) for name in methods) and not hasattr(data, "iloc")


# Kinds of tables: a test, and the function that returns the columns. The first row whose test succeeds applies.
_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Columns, Columns], Table]], ...] = (
    (lambda data: isinstance(data, np.ndarray), lambda data, *_: _of_numpy(array_of(data, "data"))),
    (lambda data: is_arrow(data, "__arrow_c_stream__"), lambda data, *_: _of_stream(data)),
    (lambda data: is_arrow(data, "__arrow_c_array__"), lambda data, *_: _of_batch(data)),
    (lambda data: hasattr(data, "iloc") and hasattr(data, "columns"), _of_pandas),
    (lambda data: hasattr(data, "tocsc"), lambda data, *_: _of_sparse(data)),
    (lambda data: hasattr(data, "__dlpack__"), lambda data, *_: _of_numpy(of_tensor(data))),
    (
        lambda data: isinstance(data, (list, tuple)) or hasattr(data, "__array__"),
        lambda data, *_: _of_numpy(array_of(data, "data")),
    ),
)


def of_any(data: Any, apart: Columns = frozenset(), categorical: Columns = frozenset()) -> Table:
    """Returns the columns of an array, data frame, sparse matrix, tensor or Arrow table.

    `apart`: names and numbers of columns that are not features, such as labels, query ids and ignored ones. In a data
    frame they may have any type and are not converted. categorical: names and numbers of columns with categories.
    """
    for fits, table_of in _KINDS:
        if fits(data):
            return table_of(data, apart, categorical)
    lazy = "\nhint: collect() returns a data frame" if hasattr(data, "collect") else ""
    raise DataError(
        f"data is a {type(data).__name__}; expected an array, a data frame, a sparse matrix, a table "
        f"with __arrow_c_stream__, or a file's path{lazy}"
    )


def c_arrays(table: Table) -> Any:
    """Returns a struct rw_array [n_chunks][n_columns], valid as long as the table lives."""
    n = len(table.columns)
    n_chunks = len(table.columns[0].chunk_offset) - 1 if n and table.columns[0].chunk_offset is not None else 1
    out = ffi.new("struct rw_array[]", max(n * n_chunks, 1))
    for i, column in enumerate(table.columns):
        column.write_arrays(out + i, n)
    return out


# ---- Arrow ----

_DTYPES = {kind: np.dtype(name) for name, kind in TYPES.items()}

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _bits(data: Any, first: int, n: int) -> np.ndarray[Any, Any]:
    """Returns bits [first, first + n) as bytes of 0 or 1."""
    begin = first // 8
    packed = ffi.buffer(ffi.cast("char *", data) + begin, (first + n + 7) // 8 - begin)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    return bits[first - 8 * begin : first - 8 * begin + n]


class ArrowColumn(Column):
    """A column of record batches; its values are read on demand."""

    def __init__(self, c: Any, number: int, chunk_offset: np.ndarray[Any, Any]) -> None:
        self._c, self._number, self._begin = c, number, chunk_offset
        self._arrays: Any = None
        self.chunk_offset = chunk_offset
        self.index = self.valid = self.words = None
        self.offset = 0

    @property
    def n_chunks(self) -> int:
        """Number of record batches with documents."""
        return len(self._begin) - 1

    def write_arrays(self, to: Any, stride: int) -> None:
        """Writes the struct rw_array of chunk k to to[k * stride]. DataError: the column is not numeric."""
        check(lib.rw_arrow_column(context(), self._c, self._number, to, stride))

    def _chunk(self, k: int, first: int, n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
        """Returns values of documents of chunk k, and a mask of nulls if there may be any."""
        if self._arrays is None:
            arrays = ffi.new("struct rw_array[]", max(self.n_chunks, 1))
            self.write_arrays(arrays, 1)
            self._arrays = arrays
        array = self._arrays[k]
        if array.type == lib.RW_VALUE_BITS:
            values = _bits(array.data, array.bit + first, n)
        elif array.stride == 0:  # a column of nulls
            return np.full(n, np.nan, np.float32), np.ones(n, np.bool_)
        else:
            begin = ffi.cast("char *", array.data) + first * array.stride
            values = np.frombuffer(ffi.buffer(begin, n * array.stride), _DTYPES[array.type])
        if not array.valid:
            return values, None
        return values, _bits(array.valid, array.valid_bit + first, n) == 0

    def in_arrays(self) -> Column:
        sizes = np.diff(self._begin).tolist()
        values, nulls = [], []
        for k, n in enumerate(sizes):
            one, null = self._chunk(k, 0, n)
            values.append(one)
            nulls.append(np.zeros(n, np.bool_) if null is None else null)
        if not sizes:
            return Column(np.empty(0, np.float32))
        null = np.concatenate(nulls).astype(np.bool_)
        return Column(np.concatenate(values), valid=np.packbits(~null, bitorder="little") if null.any() else None)

    def of(self, rows: npt.NDArray[np.int64]) -> Column:
        return self.in_arrays().of(rows)

    def part(self, rows: slice) -> np.ndarray[Any, Any]:
        out = np.empty(rows.stop - rows.start, np.float32)
        k = int(np.searchsorted(self._begin, rows.start, side="right")) - 1
        at = rows.start
        while at < rows.stop:
            begin, end = int(self._begin[k]), int(self._begin[k + 1])
            n = min(end, rows.stop) - at
            values, null = self._chunk(k, at - begin, n)
            to = out[at - rows.start : at - rows.start + n]
            to[:] = values
            if null is not None:
                to[null] = np.nan
            at += n
            k += 1
        return out

    def vector(self, what: str) -> Any:
        if what == "qid":
            return self
        parts = []
        for k, begin in enumerate(self._begin[:-1]):
            values, null = self._chunk(k, 0, int(self._begin[k + 1] - begin))
            if null is not None and null.any():
                row = int(begin) + int(null.argmax())
                raise DataError(f"{what} of document {row} (from 0){shard()} is null; expected a number")
            parts.append(values)
        return np.concatenate(parts) if parts else np.empty(0, np.float32)

    def runs(self) -> tuple[np.ndarray[Any, Any], list[bytes]]:
        """Returns the first document of each run of equal query ids, then n_docs; and the ids of the runs."""
        ids = ffi.new("struct rw_arrow_ids *")
        check(lib.rw_arrow_ids_read(context(), self._c, self._number, ids))
        offset = view(ids.offset, ids.n + 1, np.uint32).copy()
        last = ids.text_offset[ids.n - 1]
        n_bytes = last + len(ffi.string(ids.text + last))
        return offset, bytes(ffi.buffer(ids.text, n_bytes)).split(b"\0")


def _of_stream(data: Any) -> Table:
    """Returns the columns of an object with __arrow_c_stream__, without a copy. It consumes a one-time stream."""
    capsule = data.__arrow_c_stream__()
    try:
        pointer = _pointer_of(capsule, b"arrow_array_stream")
    except ValueError:
        raise DataError(f"__arrow_c_stream__ of a {type(data).__name__} returns no Arrow stream") from None
    stream = ffi.cast("struct ArrowArrayStream *", pointer)
    return _of_batches(stream, ffi.NULL, ffi.NULL)


def _of_batch(data: Any) -> Table:
    """Returns the columns of one batch with __arrow_c_array__."""
    schema, array = data.__arrow_c_array__()
    c_schema = ffi.cast("struct ArrowSchema *", _pointer_of(schema, b"arrow_schema"))
    c_array = ffi.cast("struct ArrowArray *", _pointer_of(array, b"arrow_array"))
    return _of_batches(ffi.NULL, c_schema, c_array)


def _of_batches(stream: Any, schema: Any, array: Any) -> Table:
    out = ffi.new("struct rw_arrow **")
    c = made(lib.rw_arrow_read(context(), stream, schema, array, out), out, lib.rw_arrow_free)
    chunk_offset = view(c.chunk_offset, c.n_chunks + 1, np.uint32).copy()
    names = [text(c.name[i]) for i in range(c.n_columns)]
    check_names(names)
    columns: list[Column] = [ArrowColumn(c, i, chunk_offset) for i in range(len(names))]
    return Table(int(chunk_offset[-1]), columns, names, [c])


def has_categories(data: Any, apart: Columns) -> bool:
    """Tells whether a feature is dictionary-encoded (Arrow) or categorical (polars).

    `apart`: names and numbers of columns that are not features.
    """
    return bool(categories_in(getattr(data, "schema", None), apart))


def categories_in(schema: Any, apart: Columns) -> list[str]:
    """Returns the names of columns with categories."""
    if isinstance(schema, Mapping):  # polars
        kinds = dict(schema)
    else:  # pyarrow
        kinds = dict(zip(getattr(schema, "names", ()), getattr(schema, "types", ()), strict=False))
    return [
        name
        for i, (name, kind) in enumerate(kinds.items())
        if name not in apart and i not in apart and str(kind).startswith(("Categorical", "Enum", "dictionary"))
    ]


def names_in(data: Any, names: list[Any]) -> list[Any]:
    """Returns a model's features as the columns of a table name them."""
    columns = list(getattr(data, "columns", getattr(data, "column_names", ())))
    if is_paths(data) or not columns or not names or not isinstance(names[0], str):
        return names
    columns = [column_name(name) for name in columns]
    at = positions_of(columns)
    return [columns[at[name]] for name in names if name in at]


def arrow_of(data: Any) -> Any:
    """Converts an Arrow table with categories to a table of pyarrow."""
    try:
        import pyarrow
    except ImportError:
        raise DataError("categories of an Arrow table need pyarrow (the extra 'arrow')") from None
    return pyarrow.table(data)


def frame_of(data: Any) -> Any:
    """Copies an Arrow table with categories to a pandas data frame."""
    return arrow_of(data).to_pandas()


class Numbers:
    """Codes of words by column. They are equal in all batches and passes, whatever codes a batch uses."""

    def __init__(self, columns: Iterable[str]) -> None:
        self.of: dict[str, dict[str, int]] = {name: {} for name in columns}
        self._lock = threading.Lock()  # several threads may read batches

    def __getstate__(self) -> dict[str, dict[str, int]]:
        with self._lock:
            return {name: dict(words) for name, words in self.of.items()}

    def __setstate__(self, state: dict[str, dict[str, int]]) -> None:
        self.__init__(())  # type: ignore[misc]
        self.of = state

    def words(self, name: str) -> list[str]:
        """Returns the words of the batches so far; word i has code i."""
        with self._lock:
            return list(self.of[name])

    def _number(self, words: Iterable[Any], name: str) -> np.ndarray[Any, Any]:
        """Returns the code of each word, NaN for a missing one."""
        number = self.of[name]
        with self._lock:
            known = [None if word is None or word != word else text_of(word, repr(name)) for word in words]
            numbers = [np.nan if word is None else number.setdefault(word, len(number)) for word in known]
        return np.array([*numbers, np.nan], np.float32)  # code -1 is missing

    def column(self, column: Column, name: str) -> Column:
        """Returns a column with these codes."""
        if column.words is None:
            column = as_category(column, repr(name))
        codes = np.where(np.isnan(column.values), -1, column.values).astype(np.int64)
        return Column(self._number(column.words or (), name)[codes])

    def arrow(self, table: Any) -> Any:
        """Replaces words by codes in a pyarrow table."""
        import pyarrow

        for i, name in enumerate(table.column_names):
            if name not in self.of:
                continue
            chunks = []
            for chunk in table.column(i).chunks:
                if not pyarrow.types.is_dictionary(chunk.type):
                    chunk = chunk.dictionary_encode()
                codes = chunk.indices.to_numpy(zero_copy_only=False).astype(np.float64)  # NaN where null
                codes = np.where(np.isnan(codes), -1, codes).astype(np.int64)
                chunks.append(self._number(chunk.dictionary.to_pylist(), name)[codes])
            numbers = pyarrow.chunked_array(chunks, pyarrow.float32())
            table = table.set_column(i, name, numbers)
        return table


# ---- batches ----

_READ_AHEAD = 1 << 16  # bytes of a column of a Parquet file


@contextmanager
def told(where: str) -> Iterator[None]:
    """Adds the place to the message of a DataError."""
    try:
        yield
    except DataError as error:
        raise type(error)(f"{where}: {error}") from None


class Roles(NamedTuple):
    """Columns that are not numeric features."""

    apart: frozenset[str]  # labels, query ids, weights and ignored columns, which may have any type
    ignored: frozenset[str]
    categorical: frozenset[str]  # features with categories, in addition to those with a categorical type


class Source:
    """Batches of named columns, the same in every pass."""

    names: list[str]
    """Names of the columns."""
    numbers: Numbers
    """Codes of the features with categories."""

    def batches(self, names: Sequence[str]) -> Iterator[tuple[str, Table]]:
        """Makes a pass: yields the name of each batch, and a table with at least these columns."""
        raise NotImplementedError

    def columns(self, names: Sequence[str]) -> Iterator[tuple[str, Table]]:
        """Makes a pass: yields the name of each batch with documents, and a table with exactly these columns."""
        for where, table in self.batches(names):
            if table.n_rows:
                at = {name: i for i, name in enumerate(table.names or [])}
                yield where, Table(table.n_rows, [table.columns[at[name]] for name in names], None, table.keep)


@contextmanager
def open_parquet(path: str) -> Iterator[Any]:
    """Opens a Parquet file. Its errors are those of the package."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError("Parquet files need pyarrow: pip install 'rankwood[arrow]'") from error
    try:
        # The file's default buffering would hold the whole file.
        with pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ_AHEAD) as file:
            yield file
    except OSError as error:
        raise FileError(f"{path!r}: {error}") from None
    except pa.ArrowException as error:
        raise DataError(f"{path!r}: {error}") from None


class Parquet(Source):
    """Parquet files of a path, a pattern or several of them, in batches of at most `rows` rows."""

    def __init__(self, path: Any, rows: int, roles: Roles) -> None:
        if rows < 1:
            raise DataError(f"batch_rows is {rows}; expected 1 or more")
        self._paths, self._rows = _paths_of(path), rows
        seen: set[str] = set()
        found = set(roles.categorical)
        for i, path in enumerate(self._paths):
            with open_parquet(path) as file:
                names = list(file.schema_arrow.names)
                found.update(categories_in(file.schema_arrow, roles.apart))
            seen |= set(names)
            if i == 0:
                self.names = names
            with told(repr(path)):
                _expect_same(self.names, names, roles.ignored)
        self.names += sorted(seen.difference(self.names))  # ignored columns
        self.numbers = Numbers(sorted(found))

    def batches(self, names: Sequence[str]) -> Iterator[tuple[str, Table]]:
        for path in self._paths:
            with open_parquet(path) as file:
                first = 0
                for batch in file.iter_batches(self._rows, columns=list(names)):
                    where = f"{path!r}, from row {first} on"
                    with told(where):
                        table = of_any(self._numbered(batch))
                    yield where, table
                    first += batch.num_rows

    def _numbered(self, batch: Any) -> Any:
        return self.numbers.arrow(arrow_of(batch)) if self.numbers.of else batch


class Made(Source):
    """Batches of a function, which is called for each pass."""

    def __init__(self, make_reader: Callable[[], Any], roles: Roles) -> None:
        if not callable(make_reader):
            raise TypeError(f"make_reader is a {type(make_reader).__name__}; expected a function that returns batches")
        self._make, self._apart, self._ignore = make_reader, roles.apart, roles.ignored
        self._found: set[str] | None = set(roles.categorical)  # until the first batch was read
        self.numbers = Numbers(roles.categorical)
        first = next(self._read(), None)
        self._found = None
        self.names = [] if first is None else list(first[1].names or [])

    def _table_of(self, batch: Any) -> Table:
        """Converts a batch, with codes for words. The first batch determines the columns with categories."""
        if is_arrow(batch, "__arrow_c_stream__", "__arrow_c_array__"):
            if self._found is not None:
                self._expect(categories_in(getattr(batch, "schema", None), self._apart))
            if self.numbers.of:
                batch = self.numbers.arrow(arrow_of(batch))
            return of_any(batch, self._apart)
        categorical = frozenset(self.numbers.of)
        if isinstance(batch, Mapping):
            table = _of_dict(batch, self._apart, categorical)
        else:
            table = of_any(batch, self._apart, categorical)
        names = table.names or []
        if self._found is not None:
            self._expect([name for name, one in zip(names, table.columns, strict=False) if one.words is not None])
        for i, name in enumerate(names):
            if name in self.numbers.of:
                table.columns[i] = self.numbers.column(table.columns[i], name)
            elif table.columns[i].words is not None:
                raise DataError(
                    f"column {name!r} has categories, but not in the first batch; expected it in "
                    "categorical_features"
                )
        return table

    def _expect(self, found: Iterable[str]) -> None:
        assert self._found is not None
        self._found.update(found)
        self.numbers = Numbers(sorted(self._found))

    def _read(self) -> Iterator[tuple[str, Table]]:
        reader = _streamed(self._make())
        if not isinstance(reader, Iterable):
            raise DataError(f"make_reader returned a {type(reader).__name__}; expected batches: an iterable of tables")
        first = 0
        for i, batch in enumerate(reader):
            where = f"batch {i} (from 0; from document {first} on)"
            with told(where):
                table = self._table_of(batch)
                if table.names is None:
                    raise DataError(f"a {type(batch).__name__} without column names; expected a table with names")
            yield where, table
            first += table.n_rows

    def batches(self, names: Sequence[str]) -> Iterator[tuple[str, Table]]:
        for where, table in self._read():
            with told(where):
                _expect_same(self.names, table.names or [], self._ignore)
            yield where, table


def _streamed(data: Any) -> Any:
    """Returns the batches of an object, which may be one table.

    With pyarrow, a stream is read batch by batch.
    """
    if isinstance(data, Iterator):
        return data
    if is_arrow(data, "__arrow_c_stream__"):
        try:
            from pyarrow import RecordBatchReader

            return RecordBatchReader.from_stream(data)
        except (ImportError, AttributeError):  # pyarrow 14 has no from_stream
            return [data]
    is_table = any(hasattr(data, name) for name in ("__arrow_c_array__", "iloc", "__array__"))
    return [data] if is_table or isinstance(data, Mapping) else data


def _of_dict(data: Mapping[str, Any], apart: frozenset[str], categorical: frozenset[str]) -> Table:
    """Converts arrays by name. Columns of `apart` may have any type; those of `categorical` become categories."""
    columns = []
    for name, values in data.items():
        array = np.asarray(values)
        if array.ndim != 1:
            raise DataError(f"column {name!r} has shape {array.shape}; expected one value per document")
        if name in categorical:
            columns.append(column_of_values(array, repr(name)))
        else:
            columns.append(Column(array) if name in apart else number_column(array, repr(name)))
    sizes = {len(column.values) for column in columns}
    if len(sizes) > 1:
        raise DataError(f"columns of {min(sizes)} and of {max(sizes)} values; expected one per document in each")
    return Table(sizes.pop() if sizes else 0, columns, [str(name) for name in data], [data])


def _expect_same(expected: Sequence[str], names: Sequence[str], ignore: frozenset[str]) -> None:
    for name in expected:
        if name not in ignore and name not in names:
            raise DataError(f"no column {name!r}, but the first one has it")
    for name in names:
        if name not in ignore and name not in expected:
            raise DataError(f"column {name!r} is missing in the first one")


def _paths_of(path: Any) -> list[str]:
    """Returns the files of paths and patterns; files of a pattern are sorted by name."""
    out: list[str] = []
    for one in [path] if isinstance(path, (str, os.PathLike)) else list(path):
        name = os.fsdecode(one)
        if glob.has_magic(name) and not os.path.exists(name):
            found = sorted(glob.glob(name, recursive=True))
            if not found:
                raise FileError(f"no file matches {name!r}")
            out += found
        else:
            out.append(name)
    if not out:
        raise DataError("no files")
    return out


# ---- documents ----


class Documents(NamedTuple):
    """Labels, queries and weights, without the values of features."""

    label: npt.NDArray[np.float32]
    offset: npt.NDArray[np.uint32]
    ids: list[bytes]
    weight: npt.NDArray[np.float64] | None


def read_documents(source: Source, label: str | None, qid: str, weight: str | None) -> Documents:
    """Makes a pass over labels, query ids and weights. A query may continue in the next batch."""
    names = [name for name in (qid, label, weight) if name is not None]
    labels, weights = [np.empty(0, np.float32)], [np.empty(0, np.float64)]
    begins, ids = [np.empty(0, np.uint32)], list[bytes]()
    n_docs = 0
    for where, table in source.columns(names):
        columns = dict(zip(names, table.columns, strict=True))
        n = table.n_rows
        if n_docs + n > lib.RW_MAX_DOCS:
            raise DataError(f"{n_docs + n} documents or more; at most {lib.RW_MAX_DOCS} are possible")
        with told(where):
            queries = Queries(n, columns[qid].vector("qid"), None, False)
            labels.append(
                np.zeros(n, np.float32) if label is None else labels_of(columns[label].vector("label"), n)
            )
            if weight is not None:
                weights.append(numbers_of(vector(columns[weight].vector("weight"), "weight", n), "weight"))
        of_batch = queries.ids or []
        goes_on = int(bool(ids) and ids[-1] == of_batch[0])
        begins.append(queries.offset[goes_on:-1] + np.uint32(n_docs))
        ids += of_batch[goes_on:]
        n_docs += n
    if n_docs == 0 and _workers.count() == 1:
        raise DataError("Found array with 0 sample(s): data has no documents")
    offset = np.concatenate([*begins, np.array([n_docs], np.uint32)])
    return Documents(np.concatenate(labels), offset, ids, None if weight is None else np.concatenate(weights))


# ---- passes for C ----


def chunks(source: Source, names: Sequence[str]) -> Iterator[tuple[str, int, Any]]:
    """Makes a pass: yields the place, number of documents, and struct rw_array [names] of each part of a batch.

    The arrays are valid until the next step.
    """
    for where, table in source.columns(names):
        with told(where):
            arrays = c_arrays(table)
        offset = table.columns[0].chunk_offset
        if offset is None:
            yield where, table.n_rows, arrays
        else:
            for k in range(len(offset) - 1):
                yield where, int(offset[k + 1] - offset[k]), arrays + k * len(names)


class _Passes:
    """State of passes that C requests, and the error that Python raised in one."""

    def __init__(self, source: Source, names: Sequence[str]) -> None:
        self.source, self.names = source, names
        self.chunks: Iterator[tuple[str, int, Any]] = iter(())
        self.error: BaseException | None = None

    def rewind(self) -> None:
        self.chunks = chunks(self.source, self.names)

    def next(self, column: Any, n_docs: Any) -> None:
        chunk = next(self.chunks, None)
        if chunk is not None:
            _, n_docs[0], arrays = chunk
            ffi.memmove(column, arrays, len(self.names) * ffi.sizeof("struct rw_array"))

    def guard(self, call: Callable[[], None]) -> int:
        try:
            call()
            return 0
        except BaseException as error:  # `read` raises it again
            self.error = error
            return 1


def _on_error(_kind: Any, error: BaseException, traceback: Any) -> None:
    """Keeps an exception that a signal handler raised as a callback began."""
    passes: _Passes = ffi.from_handle(traceback.tb_frame.f_locals["user"])
    passes.error = error


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_rewind(user: Any) -> int:
    passes: _Passes = ffi.from_handle(user)
    return passes.guard(passes.rewind)


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_next(user: Any, column: Any, n_docs: Any) -> int:
    passes: _Passes = ffi.from_handle(user)
    return passes.guard(lambda: passes.next(column, n_docs))


def read(source: Source, names: Sequence[str], table: Any, call: Callable[[], int]) -> int:
    """Runs call() while the struct rw_table has the batches of these columns.

    It raises the exception that Python code raised during the call.
    """
    passes = _Passes(source, names)
    handle = ffi.new_handle(passes)
    c = ffi.new("struct rw_batches *")
    c.user, c.rewind, c.next = handle, lib._rw_rewind, lib._rw_next
    table.batches = c
    try:
        status = call()
    finally:
        table.batches = ffi.NULL
    if passes.error is not None:
        raise passes.error
    check(status)
    return status
