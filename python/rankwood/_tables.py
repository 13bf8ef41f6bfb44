"""Arrays and tables as columns that C reads where they stand.

Every kind of table becomes the same thing: names, and for each column an array with a type and a
stride. Nothing is copied unless its type cannot be read in C (nullable pandas columns, objects).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rankwood._core import DataError, DataTypeError, ffi, lib

MOST_DOCS = 2**31 - 1
QID = "qid"  # a frame's column of this name holds the query ids, as in XGBRanker
MOST_FEATURES = lib.RW_MAX_FEATURE + 1

_TYPES = {
    "f2": lib.RW_VALUE_F16,
    "f4": lib.RW_VALUE_F32,
    "f8": lib.RW_VALUE_F64,
    "i1": lib.RW_VALUE_I8,
    "i2": lib.RW_VALUE_I16,
    "i4": lib.RW_VALUE_I32,
    "i8": lib.RW_VALUE_I64,
    "u1": lib.RW_VALUE_U8,
    "u2": lib.RW_VALUE_U16,
    "u4": lib.RW_VALUE_U32,
    "u8": lib.RW_VALUE_U64,
}


@dataclass
class Column:
    """A feature: values of one number type, dense or sparse.

    values: [n_docs], or [n] with `index`: [n] int32 documents, ascending; valid: None, or packed bits
    (lowest first) from bit `offset` on; chunk_offset: None, or, of a table that comes in record batches,
    the first document of each, and n_docs.
    """

    values: np.ndarray[Any, Any]
    index: np.ndarray[Any, Any] | None = None
    valid: np.ndarray[Any, Any] | None = None
    offset: int = 0
    chunk_offset: np.ndarray[Any, Any] | None = None
    words: list[str] | None = None  # values are categories' numbers in this list, NaN where missing

    def part(self, rows: slice) -> np.ndarray[Any, Any]:
        """Numbers of the documents in `rows`, NaN where one is missing."""
        if self.valid is None:
            return self.values[rows]
        first = self.offset + rows.start
        bits = np.unpackbits(self.valid[first // 8 : (self.offset + rows.stop + 7) // 8], bitorder="little")
        return np.where(bits[first % 8 :][: rows.stop - rows.start], self.values[rows], np.nan)

    def vector(self, what: str) -> Any:
        """A value for each document, as `what` (label, qid, weight) wants them."""
        return self.values


@dataclass
class Table:
    """Columns of equal length; names are None where the source has none."""

    n_rows: int
    columns: list[Column]
    names: list[str] | None
    keep: list[Any] = field(default_factory=list)  # what the columns are views of

    def drop_qid(self, features: Sequence[str] | None) -> None:
        """Removes the column of query ids, unless a feature of the model has its name."""
        if self.names is not None and QID in self.names and QID not in (features or ()):
            self.take(QID)

    def take(self, name: str) -> Column:
        """Removes a column by its name."""
        if self.names is None or name not in self.names:
            raise DataError(f"no column {name!r}; {_known(self.names)}")
        i = self.names.index(name)
        self.names.pop(i)
        return self.columns.pop(i)


def name_in_file(name: str) -> str:
    """A feature's name as a model's file can hold it: UTF-8, no blanks or commas, and no number."""
    name = re.sub(r"[\x00-\x20,\ud800-\udfff]", "_", name)
    return f"_{name}" if re.fullmatch("[0-9-]*", name) else name


def names_in_file(names: Sequence[str]) -> list[str]:
    """name_in_file of each; "" stays."""
    return [name and name_in_file(name) for name in names]


def check_features(names: Sequence[str]) -> None:
    """DataError: a model's file would have one name for two of them."""
    seen: dict[str, str] = {}
    for name, held in zip(names, names_in_file(names), strict=True):
        if held and seen.setdefault(held, name) != name:
            raise DataError(
                f"features {seen[held]!r} and {name!r} are both {held!r} in a model\n"
                "hint: blanks and commas become '_' there; give one of them another name"
            )


def positions_of(names: Sequence[str]) -> dict[str, int]:
    """The position of each name, as it is and as a file has it, unless two have one there."""
    held = names_in_file(names)
    many = {name for name, n in Counter(held).items() if n > 1}
    return {name: i for i, name in enumerate(held) if name not in many} | {name: i for i, name in enumerate(names)}


def check_names(names: Sequence[str]) -> None:
    """DataError: two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"two columns are called {twice!r}; expected a name for each")


def column_names(data: Any) -> list[str]:
    """Names of the columns of a data frame or an Arrow table, which is not read; [] of data without names."""
    schema = getattr(data, "schema", None)
    for names in (getattr(data, "column_names", None), getattr(data, "columns", None), getattr(schema, "names", None)):
        if names is not None and not callable(names):
            return [name for name in names if isinstance(name, str)]
    return []


def query_column(names: Sequence[str] | None, qid: Any, group: Any, others: Iterable[Any]) -> Any:
    """The caller's qid, or "qid" if neither qid nor group is given and there is a column of that name.

    others: columns that the caller uses as something else, by name or number. DataError: there is such a
    column, and qid or group says something else.
    """
    if names is None or QID not in names or (isinstance(qid, str) and qid == QID):
        return qid
    if not {QID, list(names).index(QID)}.isdisjoint(others):
        return qid
    if qid is None and group is None:
        return QID
    given = "qid" if qid is not None else "group"
    raise DataError(
        f"the data has a column {QID!r}, and {given} is given, too; expected one of them\n"
        f"hint: leave out {given}= to take the queries from the column, or drop the column"
    )


def _known(names: Sequence[str] | None) -> str:
    if names is None:
        return "the data has no column names"
    shown = ", ".join(repr(name) for name in names[:8])
    return f"there are {shown}{', ...' if len(names) > 8 else ''}"


def is_paths(data: Any) -> bool:
    """A path, or several."""
    if isinstance(data, (str, os.PathLike)):
        return True
    return (
        isinstance(data, (list, tuple))
        and len(data) > 0
        and all(isinstance(one, (str, os.PathLike)) for one in data)
    )


def array_of(values: Any, what: str, dtype: Any = None) -> np.ndarray[Any, Any]:
    """numpy's array of anything that can be one, of numpy's own class."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(f"{what} is a masked array; expected values for what is masked: array.filled(...)")
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        values = of_tensor(values)
    try:
        if hasattr(values, "to_numpy") and not hasattr(values, "__arrow_c_array__"):
            values = values.to_numpy()  # pandas' own arrays have no types of numpy
        return np.asarray(values, dtype)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DataError(f"{what} cannot be made an array: {error}") from None


def numbers_of(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Numbers of any type as float64."""
    if array.dtype.kind not in "fiubO":
        raise DataError(f"{what} has type {array.dtype}; expected numbers")
    try:
        return array.astype(np.float64)
    except TypeError as error:
        if array.dtype.kind == "O" and any(_is_na(value) for value in array.flat):
            return numbers_of(np.array([np.nan if _is_na(v) else v for v in array.flat], object), what)
        raise DataTypeError(f"{what} has type object and holds something that is no number: {error}") from None
    except (ValueError, OverflowError) as error:
        raise DataError(f"{what} has type object and holds something that is no number: {error}") from None


def _is_na(value: Any) -> bool:
    """pandas' NA, which is no number of Python's."""
    return type(value).__name__ == "NAType"


def check_shape(n_docs: int, n_features: int) -> None:
    """DataError: more than the library can have; before anything of that size is made."""
    if n_docs > MOST_DOCS:
        raise DataError(f"{n_docs} documents; at most {MOST_DOCS} are possible")
    if n_features > MOST_FEATURES:
        raise DataError(f"{n_features} features; at most {MOST_FEATURES} are possible")


def feature_base_of(given: Any) -> int | None:
    """The feature that column 0 is; None: not given."""
    if given is None:
        return None
    if isinstance(given, bool) or given not in (0, 1):
        raise DataError(f"feature_base is {given!r}; expected 0 or 1, the feature that column 0 is")
    return int(given)


def check_n_features(given: Any, n_features: int) -> None:
    """DataError: a number of columns was given, and it is another."""
    if given is not None and given != n_features:
        raise DataError(
            f"n_features is {given!r}, and data has {n_features} columns: only a sparse matrix can lack some"
        )


def widen(table: Table, n_features: Any) -> None:
    """Adds columns without values to those of a sparse matrix, up to so many."""
    n = len(table.columns)
    is_sparse = n > 0 and table.columns[0].index is not None
    if n_features is None or not is_sparse or not isinstance(n_features, (int, np.integer)) or n_features < n:
        return check_n_features(n_features, n)
    check_shape(table.n_rows, int(n_features))
    first = table.columns[0]
    assert first.index is not None
    table.columns += [Column(first.values[:0], index=first.index[:0]) for _ in range(int(n_features) - n)]


def number_column(values: np.ndarray[Any, Any], name: str) -> Column:
    """One column of numpy numbers or bools."""
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    if values.dtype.kind not in "fiu" or values.dtype.str[1:] not in _TYPES:
        raise DataError(f"column {name} has type {values.dtype}; expected numbers")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return Column(values)


def _of_numpy(data: np.ndarray[Any, Any]) -> Table:
    if data.ndim == 1:
        raise DataError(
            f"data has shape {data.shape}; expected 2 dimensions, (documents, features). "
            "Reshape your data: array.reshape(-1, 1) makes one feature of it"
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


def _of_pandas(data: Any, apart: Set[str | int], categorical: Set[str | int]) -> Table:
    from rankwood import _categories

    names = [str(name) for name in data.columns]
    check_names(names)
    columns = []
    for i, name in enumerate(names):
        series = data.iloc[:, i]
        if i in apart or name in apart:
            columns.append(Column(series.to_numpy()))
        elif type(series.dtype).__name__ == "CategoricalDtype":
            codes, words = series.cat.codes.to_numpy(), series.cat.categories.tolist()
            columns.append(_categories.column_of_codes(codes, words, repr(name)))
        elif name in categorical or i in categorical:
            columns.append(_categories.column_of_values(series.to_numpy(object), repr(name)))
        else:
            columns.append(_pandas_column(series, name))
    all_text = all(isinstance(name, str) for name in data.columns)
    return Table(len(data), columns, names if all_text else None, [data])


def _pandas_column(series: Any, name: str) -> Column:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "fiub":
        return number_column(series.to_numpy(), repr(name))
    if getattr(dtype, "kind", "O") in "iu":  # nullable, and as they are: float64 may merge them
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
        try:  # scipy's own conversion trusts indices, and writes where they say
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


_HOST = (1, 3, 11)  # DLPack's kDLCPU, kDLCUDAHost, kDLROCMHost


def of_tensor(data: Any) -> np.ndarray[Any, Any]:
    """A tensor by DLPack: where it stands, or, of a GPU's, a copy. DataTypeError: it cannot be had so."""
    try:
        if data.__dlpack_device__()[0] in _HOST:
            return np.from_dlpack(data)
        copy = next((getattr(data, name) for name in ("cpu", "get") if hasattr(data, name)), None)  # torch, cupy
        if copy is not None:
            return np.asarray(copy())
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise DataTypeError(f"a {type(data).__name__} cannot be read by DLPack: {error}") from None
    raise DataTypeError(f"a {type(data).__name__} of another device; expected one in the host's memory")


def of_any(data: Any, apart: Set[str | int] = frozenset(), categorical: Set[str | int] = frozenset()) -> Table:
    """The columns of an array, a data frame, a sparse matrix, or a tensor.

    apart: names and numbers of columns that are not features (labels, query ids, ignored ones): of a
    data frame they may be of any type and stay as they are. categorical: those of categories, likewise.
    """
    if isinstance(data, np.ndarray):
        return _of_numpy(array_of(data, "data"))
    if hasattr(data, "__arrow_c_stream__") and not hasattr(data, "iloc"):
        from rankwood import _arrow

        return _arrow.of_stream(data)
    if hasattr(data, "__arrow_c_array__") and not hasattr(data, "iloc"):
        from rankwood import _arrow

        return _arrow.of_batch(data)
    if hasattr(data, "iloc") and hasattr(data, "columns"):
        return _of_pandas(data, apart, categorical)
    if hasattr(data, "tocsc"):
        return _of_sparse(data)
    if hasattr(data, "__dlpack__"):
        return _of_numpy(of_tensor(data))
    if isinstance(data, (list, tuple)) or hasattr(data, "__array__"):
        return _of_numpy(array_of(data, "data"))
    lazy = "\nhint: collect() makes a data frame of it" if hasattr(data, "collect") else ""
    raise DataError(
        f"data is a {type(data).__name__}; expected an array, a data frame, a sparse matrix, a table "
        f"with __arrow_c_stream__, or a file's path{lazy}"
    )


def c_arrays(table: Table) -> Any:
    """struct rw_array [n_columns]; valid as long as the table is."""
    if table.columns and table.columns[0].chunk_offset is not None:
        from rankwood import _arrow

        return _arrow.c_arrays(table)
    out = ffi.new("struct rw_array[]", max(len(table.columns), 1))
    for i, column in enumerate(table.columns):
        values = column.values
        out[i].data = ffi.cast("void *", values.ctypes.data)
        out[i].type = _TYPES[values.dtype.str[1:]]
        out[i].stride = values.strides[0] if values.ndim else 0
        if column.index is not None:
            out[i].index = ffi.cast("int32_t *", column.index.ctypes.data)
            out[i].n = len(values)
        if column.valid is not None:
            out[i].valid = ffi.cast("uint8_t *", column.valid.ctypes.data)
            out[i].valid_bit = column.offset
    return out
