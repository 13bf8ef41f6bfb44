"""Tables by Arrow's C stream interface (polars, pyarrow, duckdb): read where they stand."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from rankwood import _ranks
from rankwood._core import DataError, check, context, ffi, lib, made, text
from rankwood._tables import Column, Table, check_names

_DTYPES = {
    lib.RW_VALUE_F16: np.float16,
    lib.RW_VALUE_F32: np.float32,
    lib.RW_VALUE_F64: np.float64,
    lib.RW_VALUE_I8: np.int8,
    lib.RW_VALUE_I16: np.int16,
    lib.RW_VALUE_I32: np.int32,
    lib.RW_VALUE_I64: np.int64,
    lib.RW_VALUE_U8: np.uint8,
    lib.RW_VALUE_U16: np.uint16,
    lib.RW_VALUE_U32: np.uint32,
    lib.RW_VALUE_U64: np.uint64,
}

_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _bits(data: Any, first: int, n: int) -> np.ndarray[Any, Any]:
    """Bits [first, first + n) as bytes of 0 or 1."""
    begin = first // 8
    packed = ffi.buffer(ffi.cast("char *", data) + begin, (first + n + 7) // 8 - begin)
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    return bits[first - 8 * begin : first - 8 * begin + n]


class ArrowColumn(Column):
    """A column of record batches; what it holds is looked at when it is asked for."""

    def __init__(self, c: Any, number: int, chunk_offset: np.ndarray[Any, Any]) -> None:
        self._c, self._number, self._begin = c, number, chunk_offset
        self._arrays: Any = None
        self.chunk_offset = chunk_offset
        self.index = self.valid = self.words = None
        self.offset = 0

    @property
    def n_chunks(self) -> int:
        """Record batches that have documents."""
        return len(self._begin) - 1

    def write_arrays(self, to: Any, stride: int) -> None:
        """struct rw_array of chunk k to to[k * stride]. DataError: the column has no numbers."""
        check(lib.rw_arrow_column(context(), self._c, self._number, to, stride))

    def _chunk(self, k: int, first: int, n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | None]:
        """Values of documents of chunk k, and which are null, if any may be."""
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
                raise DataError(f"{what} of document {row} (from 0){_ranks.shard()} is null; expected a number")
            parts.append(values)
        return np.concatenate(parts) if parts else np.empty(0, np.float32)

    def runs(self) -> tuple[np.ndarray[Any, Any], list[bytes]]:
        """Query ids: the first document of each run with the same, and n_docs; and the ids."""
        ids = ffi.new("struct rw_arrow_ids *")
        check(lib.rw_arrow_ids_read(context(), self._c, self._number, ids))
        try:
            n = ids.n
            offset = np.frombuffer(ffi.buffer(ids.offset, 4 * (n + 1)), np.uint32).copy()
            last = ids.text_offset[n - 1]
            n_bytes = last + len(ffi.string(ids.text + last))
            return offset, bytes(ffi.buffer(ids.text, n_bytes)).split(b"\0")
        finally:
            lib.rw_arrow_ids_release(ids)


def of_stream(data: Any) -> Table:
    """The columns of anything with __arrow_c_stream__, not copied; a stream that can be read only once is
    read."""
    capsule = data.__arrow_c_stream__()
    try:
        pointer = _pointer_of(capsule, b"arrow_array_stream")
    except ValueError:
        raise DataError(f"__arrow_c_stream__ of a {type(data).__name__} returns no Arrow stream") from None
    stream = ffi.cast("struct ArrowArrayStream *", pointer)
    out = ffi.new("struct rw_arrow **")
    return _of_batches(made(lib.rw_arrow_read(context(), stream, out), out, lib.rw_arrow_free))


def of_batch(data: Any) -> Table:
    """The same of one batch, with __arrow_c_array__."""
    schema, array = data.__arrow_c_array__()
    c_schema = ffi.cast("struct ArrowSchema *", _pointer_of(schema, b"arrow_schema"))
    c_array = ffi.cast("struct ArrowArray *", _pointer_of(array, b"arrow_array"))
    out = ffi.new("struct rw_arrow **")
    status = lib.rw_arrow_read_batch(context(), c_schema, c_array, out)
    return _of_batches(made(status, out, lib.rw_arrow_free))


def _of_batches(c: Any) -> Table:
    n_chunks = lib.rw_arrow_n_chunks(c)
    held = ffi.buffer(lib.rw_arrow_chunk_offset(c), 4 * (n_chunks + 1))
    chunk_offset = np.frombuffer(held, np.uint32).copy()
    names = [text(lib.rw_arrow_name(c, i)) for i in range(lib.rw_arrow_n_columns(c))]
    check_names(names)
    columns: list[Column] = [ArrowColumn(c, i, chunk_offset) for i in range(len(names))]
    return Table(int(chunk_offset[-1]), columns, names, [c])


def c_arrays(table: Table) -> Any:
    """struct rw_array [n_chunks][n_columns]; valid as long as the table is."""
    columns = [column for column in table.columns if isinstance(column, ArrowColumn)]
    n = len(columns)
    out = ffi.new("struct rw_array[]", max(n * columns[0].n_chunks, 1))
    for i, column in enumerate(columns):
        column.write_arrays(out + i, n)
    return out
