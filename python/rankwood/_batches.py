"""Data that comes in batches and is never in memory as a whole: Parquet files, and what a function gives."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _categories, _ranks, _tables
from rankwood._core import DataError, FileError, check, ffi, lib
from rankwood._documents import Queries, labels_of, vector

_READ_AHEAD = 1 << 16  # bytes of a column of a Parquet file


@contextmanager
def told(where: str) -> Iterator[None]:
    """Data errors that say where."""
    try:
        yield
    except DataError as error:
        raise type(error)(f"{where}: {error}") from None


class Source:
    """Batches of named columns, the same in every pass."""

    names: list[str]
    """Columns."""
    numbers: _categories.Numbers
    """Of features whose values are categories."""

    def batches(self, names: Sequence[str]) -> Iterator[tuple[str, _tables.Table]]:
        """A pass: what a batch is called, and at least these of its columns, for each."""
        raise NotImplementedError

    def columns(self, names: Sequence[str]) -> Iterator[tuple[str, _tables.Table]]:
        """A pass: what a batch is called, and just these columns, for each that has documents."""
        for where, table in self.batches(names):
            if table.n_rows:
                at = {name: i for i, name in enumerate(table.names or [])}
                yield where, _tables.Table(table.n_rows, [table.columns[at[name]] for name in names], None, table.keep)


class _Parquet(Source):
    def __init__(
        self, paths: list[str], rows: int, apart: frozenset[str], ignore: frozenset[str], categorical: frozenset[str]
    ) -> None:
        self._paths, self._rows = paths, rows
        seen: set[str] = set()
        found = set(categorical)
        for i, path in enumerate(paths):
            with self._open(path) as file:
                names = list(file.schema_arrow.names)
                found.update(_categories.categories_in(_Schema(file.schema_arrow), apart))
            seen |= set(names)
            if i == 0:
                self.names = names
            with told(repr(path)):
                _expect_same(self.names, names, ignore)
        self.names += sorted(seen.difference(self.names))  # ignored ones
        self.numbers = _categories.Numbers(sorted(found))

    @staticmethod
    @contextmanager
    def _open(path: str) -> Iterator[Any]:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError as error:
            raise ImportError("Parquet files need pyarrow: pip install 'rankwood[arrow]'") from error
        try:
            # A file's own buffering holds all of it.
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=_READ_AHEAD) as file:
                yield file
        except OSError as error:
            raise FileError(f"{path!r}: {error}") from None
        except pa.ArrowException as error:
            raise DataError(f"{path!r}: {error}") from None

    def batches(self, names: Sequence[str]) -> Iterator[tuple[str, _tables.Table]]:
        for path in self._paths:
            with self._open(path) as file:
                first = 0
                for batch in file.iter_batches(self._rows, columns=list(names)):
                    where = f"{path!r}, from row {first} on"
                    with told(where):
                        table = _tables.of_any(self._numbered(batch))
                    yield where, table
                    first += batch.num_rows

    def _numbered(self, batch: Any) -> Any:
        return self.numbers.arrow(_categories.arrow_of(batch)) if self.numbers.of else batch


@dataclass
class _Schema:
    """What `_categories.categories_in` looks at."""

    schema: Any


class _Made(Source):
    def __init__(
        self,
        make_reader: Callable[[], Any],
        apart: frozenset[str],
        ignore: frozenset[str],
        categorical: frozenset[str],
    ) -> None:
        self._make, self._apart, self._ignore = make_reader, apart, ignore
        self._found: set[str] | None = set(categorical)  # until the first batch has been seen
        self.numbers = _categories.Numbers(categorical)
        first = next(self._read(), None)
        self._found = None
        self.names = [] if first is None else list(first[1].names or [])

    def _table_of(self, batch: Any) -> _tables.Table:
        """A batch with numbers in place of words; the first one says which columns have some."""
        is_arrow = any(hasattr(batch, name) for name in ("__arrow_c_stream__", "__arrow_c_array__"))
        if is_arrow and not hasattr(batch, "iloc"):
            if self._found is not None:
                self._expect(_categories.categories_in(batch, self._apart))
            if self.numbers.of:
                batch = self.numbers.arrow(_categories.arrow_of(batch))
            return _tables.of_any(batch, self._apart)
        categorical = frozenset(self.numbers.of)
        if isinstance(batch, Mapping):
            table = _of_dict(batch, self._apart, categorical)
        else:
            table = _tables.of_any(batch, self._apart, categorical)
        names = table.names or []
        if self._found is not None:
            self._expect([name for name, one in zip(names, table.columns, strict=False) if one.words is not None])
        for i, name in enumerate(names):
            if name in self.numbers.of:
                table.columns[i] = self.numbers.column(table.columns[i], name)
            elif table.columns[i].words is not None:
                raise DataError(
                    f"column {name!r} has categories, which the first batch has not; expected it in "
                    "categorical_features"
                )
        return table

    def _expect(self, found: Iterable[str]) -> None:
        assert self._found is not None
        self._found.update(found)
        self.numbers = _categories.Numbers(sorted(self._found))

    def _read(self) -> Iterator[tuple[str, _tables.Table]]:
        reader = _streamed(self._make())
        if not isinstance(reader, Iterable):
            raise DataError(f"make_reader gave a {type(reader).__name__}; expected batches: an iterable of tables")
        first = 0
        for i, batch in enumerate(reader):
            where = f"batch {i} (from 0; from document {first} on)"
            with told(where):
                table = self._table_of(batch)
                if table.names is None:
                    raise DataError(f"a {type(batch).__name__} without names of columns; expected a table with them")
            yield where, table
            first += table.n_rows

    def batches(self, names: Sequence[str]) -> Iterator[tuple[str, _tables.Table]]:
        for where, table in self._read():
            with told(where):
                _expect_same(self.names, table.names or [], self._ignore)
            yield where, table


def _streamed(data: Any) -> Any:
    """Batches of what may be one table: a stream's one by one, if pyarrow is there."""
    if isinstance(data, Iterator):
        return data
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "iloc"):
        try:
            from pyarrow import RecordBatchReader

            return RecordBatchReader.from_stream(data)
        except (ImportError, AttributeError):  # pyarrow 14 has no from_stream
            return [data]
    is_table = any(hasattr(data, name) for name in ("__arrow_c_array__", "iloc", "__array__"))
    return [data] if is_table or isinstance(data, Mapping) else data


def _of_dict(data: Mapping[str, Any], apart: frozenset[str], categorical: frozenset[str]) -> _tables.Table:
    """Arrays by name; those of `apart` may be of any type, those of `categorical` become categories."""
    columns = []
    for name, values in data.items():
        array = np.asarray(values)
        if array.ndim != 1:
            raise DataError(f"column {name!r} has shape {array.shape}; expected one value a document")
        if name in categorical:
            columns.append(_categories.column_of_values(array, repr(name)))
        else:
            columns.append(_tables.Column(array) if name in apart else _tables.number_column(array, repr(name)))
    sizes = {len(column.values) for column in columns}
    if len(sizes) > 1:
        raise DataError(f"columns of {min(sizes)} and of {max(sizes)} values; expected one a document in each")
    return _tables.Table(sizes.pop() if sizes else 0, columns, [str(name) for name in data], [data])


def _expect_same(expected: Sequence[str], names: Sequence[str], ignore: frozenset[str]) -> None:
    for name in expected:
        if name not in ignore and name not in names:
            raise DataError(f"no column {name!r}, which the first one has")
    for name in names:
        if name not in ignore and name not in expected:
            raise DataError(f"a column {name!r}, which the first one lacks")


def _paths_of(path: Any) -> list[str]:
    """Files of paths and patterns; those of a pattern by name."""
    out: list[str] = []
    for one in [path] if isinstance(path, (str, os.PathLike)) else list(path):
        name = os.fsdecode(one)
        if glob.has_magic(name) and not os.path.exists(name):
            found = sorted(glob.glob(name, recursive=True))
            if not found:
                raise FileError(f"no file is called {name!r}")
            out += found
        else:
            out.append(name)
    if not out:
        raise DataError("no files")
    return out


def of_parquet(
    path: Any, rows: int, apart: frozenset[str], ignore: frozenset[str], categorical: frozenset[str]
) -> Source:
    """rows: of a batch, at most; the rest as of of_function."""
    if rows < 1:
        raise DataError(f"batch_rows is {rows}; expected 1 or more")
    return _Parquet(_paths_of(path), rows, apart, ignore, categorical)


def of_function(
    make_reader: Callable[[], Any], apart: frozenset[str], ignore: frozenset[str], categorical: frozenset[str]
) -> Source:
    """apart: columns that are not features, whose values may be of any type; categorical: features that are
    categories, beside those that are so by their type."""
    if not callable(make_reader):
        raise TypeError(f"make_reader is a {type(make_reader).__name__}; expected a function that gives batches")
    return _Made(make_reader, apart, ignore, categorical)


# ---- what is held ----


@dataclass
class Documents:
    """All but the values."""

    label: npt.NDArray[np.float32]
    offset: npt.NDArray[np.uint32]
    ids: list[bytes]
    weight: npt.NDArray[np.float64] | None


def read_documents(source: Source, label: str | None, qid: str, weight: str | None) -> Documents:
    """A pass over labels, query ids and weights; a query goes on in the next batch."""
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
                weights.append(_tables.numbers_of(vector(columns[weight].vector("weight"), "weight", n), "weight"))
        of_batch = queries.ids or []
        goes_on = int(bool(ids) and ids[-1] == of_batch[0])
        begins.append(queries.offset[goes_on:-1] + np.uint32(n_docs))
        ids += of_batch[goes_on:]
        n_docs += n
    if n_docs == 0 and _ranks.count() == 1:
        raise DataError("Found array with 0 sample(s): data has no documents")
    offset = np.concatenate([*begins, np.array([n_docs], np.uint32)])
    return Documents(np.concatenate(labels), offset, ids, None if weight is None else np.concatenate(weights))


# ---- what C reads ----


def chunks(source: Source, names: Sequence[str]) -> Iterator[tuple[str, int, Any]]:
    """A pass: where it is, documents, and struct rw_array [names], of each part of a batch; valid until the next."""
    for where, table in source.columns(names):
        with told(where):
            arrays = _tables.c_arrays(table)
        offset = table.columns[0].chunk_offset
        if offset is None:
            yield where, table.n_rows, arrays
        else:
            for k in range(len(offset) - 1):
                yield where, int(offset[k + 1] - offset[k]), arrays + k * len(names)


class _Passes:
    """What C asks for, and what went wrong in Python."""

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
        except BaseException as error:  # raised again by `read`
            self.error = error
            return 1


def _on_error(_kind: Any, error: BaseException, traceback: Any) -> None:
    """What a signal's handler raises as a callback begins."""
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


def read(source: Source, names: Sequence[str], call: Callable[[Any], int]) -> int:
    """call(struct rw_batches of these columns). Raises what Python code raised meanwhile."""
    passes = _Passes(source, names)
    handle = ffi.new_handle(passes)
    c = ffi.new("struct rw_batches *")
    c.user, c.rewind, c.next = handle, lib._rw_rewind, lib._rw_next
    status = call(c)
    if passes.error is not None:
        raise passes.error
    check(status)
    return status
