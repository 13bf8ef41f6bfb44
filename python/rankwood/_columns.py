"""Columns of a data set: features, categories, labels and query ids, with their types and names.

Every kind of data becomes a Table: names, and for each column an array with a type and a stride. Nothing is copied,
except types that C cannot read, such as nullable pandas columns and objects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood._core import DataError, DataTypeError, c_strings, chars, check, context, ffi, lib, shard

Floats = npt.NDArray[np.float64]
MOST_DOCS = 2**31 - 1
QID = "qid"  # a frame's column of this name has the query ids, as in XGBRanker
MOST_FEATURES = lib.RW_MAX_FEATURE + 1

TYPES = {
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


_C_TYPES = {"f4": "float", "f8": "double", "i4": "int32_t", "u1": "uint8_t", "u4": "uint32_t", "u8": "uint64_t"}


def pointer(array: npt.NDArray[Any]) -> Any:
    """Returns a C pointer to an array's numbers, valid as long as the array lives."""
    return ffi.cast(f"{_C_TYPES[array.dtype.str[1:]]} *", array.ctypes.data)


def view(pointer: Any, n: int, kind: Any) -> npt.NDArray[Any]:
    """Returns C memory as an array of n numbers, without a copy."""
    return np.frombuffer(ffi.buffer(ffi.cast("char *", pointer), n * np.dtype(kind).itemsize), kind)


@dataclass
class Column:
    """A feature: values of one number type, dense or sparse.

    `values` has shape [n_docs]; with `index`, it has [n] values of the documents in `index`, int32 and ascending.
    `valid` is None, or packed bits (lowest first) that begin at bit `offset`. `chunk_offset` is None or, for a table of
    record batches, the first document of each batch, then n_docs.
    """

    values: np.ndarray[Any, Any]
    index: np.ndarray[Any, Any] | None = None
    valid: np.ndarray[Any, Any] | None = None
    offset: int = 0
    chunk_offset: np.ndarray[Any, Any] | None = None
    words: list[str] | None = None  # values are indices into this list, NaN for missing

    def part(self, rows: slice) -> np.ndarray[Any, Any]:
        """Returns the values of the documents in `rows`, NaN for missing ones."""
        if self.valid is None:
            return self.values[rows]
        first = self.offset + rows.start
        bits = np.unpackbits(self.valid[first // 8 : (self.offset + rows.stop + 7) // 8], bitorder="little")
        return np.where(bits[first % 8 :][: rows.stop - rows.start], self.values[rows], np.nan)

    def vector(self, what: str) -> Any:
        """Returns one value per document for the role `what` (label, qid, weight)."""
        return self.values

    def in_arrays(self) -> Column:
        """Returns the column as arrays of its own memory, in one chunk."""
        return self

    def of(self, rows: npt.NDArray[np.int64]) -> Column:
        """Returns the column of some documents, in ascending order."""
        if self.index is not None:
            at = np.minimum(np.searchsorted(rows, self.index), len(rows) - 1)
            found = rows[at] == self.index
            return Column(self.values[found], index=at[found].astype(np.int32))
        valid = self.valid
        if valid is not None:
            at = self.offset + rows
            valid = np.packbits(valid[at // 8] >> (at % 8).astype(np.uint8) & 1, bitorder="little")
        return Column(self.values[rows], valid=valid, words=self.words)

    def write_arrays(self, to: Any, _stride: int) -> None:
        """Fills a struct rw_array, which is valid as long as the column lives."""
        values = self.values
        to.data = ffi.cast("void *", values.ctypes.data)
        to.type = TYPES[values.dtype.str[1:]]
        to.stride = values.strides[0] if values.ndim else 0
        if self.index is not None:
            to.index = pointer(self.index)
            to.n = len(values)
        if self.valid is not None:
            to.valid = pointer(self.valid)
            to.valid_bit = self.offset


@dataclass
class Table:
    """Columns of equal length, with names if the source has names."""

    n_rows: int
    columns: list[Column]
    names: list[str] | None
    keep: list[Any] = field(default_factory=list)  # owners of the memory that the columns view

    def drop_qid(self, features: Sequence[str] | None) -> None:
        """Removes the column of query ids, unless the model has a feature of that name."""
        if self.names is not None and QID in self.names and QID not in (features or ()):
            self.take(QID)

    def take(self, name: str) -> Column:
        """Removes and returns a column by its name."""
        if self.names is None or name not in self.names:
            known = "the data has no column names" if self.names is None else f"there are {few(self.names)}"
            raise DataError(f"no column {name!r}; {known}")
        i = self.names.index(name)
        self.names.pop(i)
        return self.columns.pop(i)


def name_in_file(name: str) -> str:
    """Returns a feature's name as a model file stores it: UTF-8 without blanks and commas, and not a number."""
    name = re.sub(r"[\x00-\x20,\ud800-\udfff]", "_", name)
    return f"_{name}" if re.fullmatch("[0-9-]*", name) else name


def names_in_file(names: Sequence[str]) -> list[str]:
    """Applies name_in_file to each name; "" stays."""
    return [name and name_in_file(name) for name in names]


def check_features(names: Sequence[str]) -> None:
    """Raises DataError if two names become equal in a model file."""
    seen: dict[str, str] = {}
    for name, held in zip(names, names_in_file(names), strict=True):
        if held and seen.setdefault(held, name) != name:
            raise DataError(
                f"features {seen[held]!r} and {name!r} are both named {held!r} in a model file\n"
                "hint: blanks and commas become '_' there; rename one of them"
            )


def positions_of(names: Sequence[str]) -> dict[str, int]:
    """Returns the position of each name, in its original form and, if unique, in its form in a model file."""
    held = names_in_file(names)
    many = {name for name, n in Counter(held).items() if n > 1}
    return {name: i for i, name in enumerate(held) if name not in many} | {name: i for i, name in enumerate(names)}


def check_names(names: Sequence[str]) -> None:
    """Raises DataError if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise DataError(f"two columns have the name {twice!r}; expected unique names")


def column_name(name: Any) -> str:
    """Returns a column's name as text. Levels of a MultiIndex are joined by `_`, without empty ones."""
    return "_".join(str(level) for level in name if level != "") if isinstance(name, tuple) else str(name)


def column_names(data: Any) -> list[str]:
    """Returns the column names of a data frame or Arrow table, without reading it; [] for data without names."""
    schema = getattr(data, "schema", None)
    for names in (getattr(data, "column_names", None), getattr(data, "columns", None), getattr(schema, "names", None)):
        if names is not None and not callable(names):
            return [column_name(name) for name in names if isinstance(name, (str, tuple))]
    return []


def query_column(names: Sequence[str] | None, qid: Any, group: Any, others: Iterable[Any]) -> Any:
    """Returns the caller's qid, or "qid" if there is such a column and neither qid nor group is given.

    others: columns that have another role, by name or number. DataError: such a column exists, and qid or group is
    given.
    """
    if names is None or QID not in names or (isinstance(qid, str) and qid == QID):
        return qid
    if not {QID, list(names).index(QID)}.isdisjoint(others):
        return qid
    if qid is None and group is None:
        return QID
    given = "qid" if qid is not None else "group"
    raise DataError(
        f"the data has a column {QID!r}, and {given} is also given; expected one of them\n"
        f"hint: leave out {given}= to take the queries from the column, or drop the column"
    )


def few(names: Sequence[str]) -> str:
    if not names:
        return "no named columns"
    return ", ".join(repr(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")


def array_of(values: Any, what: str, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Converts anything that numpy can convert, to numpy's own array class."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(f"{what} is a masked array; replace masked values with array.filled(...)")
    if hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray):
        values = of_tensor(values)
    try:
        if hasattr(values, "to_numpy") and not hasattr(values, "__arrow_c_array__"):
            values = values.to_numpy()  # pandas' extension arrays do not have numpy types
        return np.asarray(values, dtype)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise DataError(f"{what} cannot be converted to an array: {error}") from None


def numbers_of(array: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Converts numbers of any type to float64."""
    if array.dtype.kind not in "fiubO":
        raise DataError(f"{what} has type {array.dtype}; expected numbers")
    try:
        return array.astype(np.float64)
    except TypeError as error:
        if array.dtype.kind == "O" and any(_is_na(value) for value in array.flat):
            return numbers_of(np.array([np.nan if _is_na(v) else v for v in array.flat], object), what)
        raise DataTypeError(f"{what} has type object and has a value that is not a number: {error}") from None
    except (ValueError, OverflowError) as error:
        raise DataError(f"{what} has type object and has a value that is not a number: {error}") from None


def _is_na(value: Any) -> bool:
    """Tells whether a value is pandas' NA, which is not a Python number."""
    return type(value).__name__ == "NAType"


def check_shape(n_docs: int, n_features: int) -> None:
    """Raises DataError if the library cannot hold so many documents or features, before memory is allocated."""
    if n_docs > MOST_DOCS:
        raise DataError(f"too many documents: {n_docs}; expected at most {MOST_DOCS}")
    if n_features > MOST_FEATURES:
        raise DataError(f"too many features: {n_features}; expected at most {MOST_FEATURES}")


def feature_base_of(given: Any) -> int | None:
    """Checks the argument feature_base: the feature id of column 0, or None."""
    if given is None:
        return None
    if isinstance(given, bool) or given not in (0, 1):
        raise DataError(f"feature_base is {given!r}; expected 0 or 1, the feature id of column 0")
    return int(given)


def check_n_features(given: Any, n_features: int) -> None:
    """Raises DataError if n_features is given and differs from the number of columns."""
    if given is not None and given != n_features:
        raise DataError(
            f"n_features is {given!r}, but data has {n_features} columns; only a sparse matrix may lack columns"
        )


def widen(table: Table, n_features: Any) -> None:
    """Adds empty columns to a sparse matrix, up to n_features."""
    n = len(table.columns)
    is_sparse = n > 0 and table.columns[0].index is not None
    if n_features is None or not is_sparse or not isinstance(n_features, (int, np.integer)) or n_features < n:
        return check_n_features(n_features, n)
    check_shape(table.n_rows, int(n_features))
    first = table.columns[0]
    assert first.index is not None
    table.columns += [Column(first.values[:0], index=first.index[:0]) for _ in range(int(n_features) - n)]


def number_column(values: np.ndarray[Any, Any], name: str) -> Column:
    """Makes a column of numpy numbers or bools."""
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    if values.dtype.kind not in "fiu" or values.dtype.str[1:] not in TYPES:
        raise DataError(f"column {name} has type {values.dtype}; expected numbers")
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    return Column(values)


_HOST = (1, 3, 11)  # DLPack's kDLCPU, kDLCUDAHost, kDLROCMHost


def of_tensor(data: Any) -> np.ndarray[Any, Any]:
    """Converts a tensor by DLPack: in place in host memory, by a copy from a GPU. DataTypeError: neither works."""
    try:
        if data.__dlpack_device__()[0] in _HOST:
            return np.from_dlpack(data)
        copy = next((getattr(data, name) for name in ("cpu", "get") if hasattr(data, name)), None)  # torch, cupy
        if copy is not None:
            return np.asarray(copy())
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise DataTypeError(f"a {type(data).__name__} cannot be read by DLPack: {error}") from None
    raise DataTypeError(f"a {type(data).__name__} is in the memory of an unsupported device; expected host memory")


# ---- categories ----

MOST_ID = 2**31 - 1


def given_columns(given: Any, what: str) -> list[str | int]:
    """Converts an argument to a list of column names and numbers."""
    if given is None:
        return []
    out: list[str | int] = []
    for one in [given] if isinstance(given, str) or not isinstance(given, Iterable) else given:
        try:
            out.append(one if isinstance(one, str) else index(one))
        except TypeError:
            raise DataTypeError(f"{what} has {one!r}; expected columns' names or numbers") from None
        if isinstance(one, (bool, np.bool_)):
            raise DataTypeError(f"{what} has {one!r}; expected columns' names or numbers")
    return out


def given_features(given: Any) -> list[str | int]:
    """Converts categorical_features to a list of names and column numbers; "" means an empty list."""
    return given_columns(None if isinstance(given, str) and not given else given, "categorical_features")


def given_names(given: Any, apart: frozenset[str]) -> frozenset[str]:
    """Converts categorical_features to column names, without columns that are not features."""
    names = given_features(given)
    for one in names:
        if not isinstance(one, str):
            raise DataTypeError(f"categorical_features has {one!r}; expected names of columns")
    return frozenset(str(one) for one in names) - apart


def as_list(features: Iterable[str | int]) -> str:
    """Formats features as the text of a parameter."""
    return ",".join(name_in_file(one) if isinstance(one, str) else str(one) for one in features)


def text_of(value: Any, name: str) -> str:
    """Returns a category as a word."""
    if isinstance(value, str):
        if "\0" in value:
            raise DataError(f"column {name} has a category that contains a character 0")
        return value
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    number = float(value) if isinstance(value, (int, float, np.number)) else np.nan
    if not (number == np.floor(number) and 0 <= number <= MOST_ID):
        raise DataError(
            f"column {name} has {value!r}; expected categories: texts, or whole numbers from 0 to {MOST_ID}"
        )
    return str(int(value))


def column_of_codes(codes: np.ndarray[Any, Any], words: Iterable[Any], name: str) -> Column:
    """Makes a column of category codes; a negative code is missing."""
    values = np.where(codes < 0, np.nan, codes).astype(np.float32)
    return Column(values, words=[text_of(word, name) for word in words])


def column_of_values(values: np.ndarray[Any, Any], name: str) -> Column:
    """Makes a column of categories from any values that have words; None and NaN are missing."""
    if values.dtype.kind in "iub":
        words, codes = np.unique(values, return_inverse=True)
        return column_of_codes(codes.reshape(-1), words.tolist(), name)
    number: dict[str, int] = {}
    out = np.empty(len(values), np.int64)
    for i, value in enumerate(values.tolist()):
        is_missing = value is None or value != value or type(value).__name__ in ("NAType", "NaTType")
        out[i] = -1 if is_missing else number.setdefault(text_of(value, name), len(number))
    return column_of_codes(out, number, name)


def as_category(column: Column, name: str) -> Column:
    """Converts a column of numbers to categories."""
    if column.words is not None:
        return column
    if column.index is not None or column.chunk_offset is not None:
        raise DataError(f"column {name} is sparse or in batches; categories need a dense column")
    if column.valid is None:
        return column_of_values(column.values, name)
    return column_of_values(np.asarray(column.part(slice(0, len(column.values)))), name)


def add_to(dataset: Any, words: Mapping[int, list[str]]) -> None:
    """Sets the words of features whose values are codes in a struct rw_dataset."""
    for feature, some in words.items():
        words_of, _held = c_strings(chars(word) for word in some)
        check(lib.rw_dataset_set_categories(context(), dataset, feature, words_of, len(some)))


# ---- labels and queries ----


def vector(values: Any, what: str, n: int | None) -> npt.NDArray[Any]:
    """Converts an argument that has one value per document."""
    array = array_of(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise DataError(f"{what} has shape {array.shape}; expected one value per document")
    if n is not None and len(array) != n:
        raise DataError(f"{what} has {len(array)} values for {n} documents")
    return array


def labels_of(values: Any, n: int) -> npt.NDArray[np.float32]:
    array = vector(values, "label", n)
    if array.dtype.kind not in "fiub":
        array = numbers_of(array, "label")
    with np.errstate(over="ignore"):
        out = array.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(out) & (out >= 0)))
    if len(bad):
        raise DataError(
            f"label of document {bad[0]} (from 0){shard()} is {array[bad[0]]}; "
            "expected a finite number, 0 or more"
        )
    return out


def are_names(labels: Any) -> bool:
    """Tells whether labels are column names; there may be as many as a document can have labels."""
    if not isinstance(labels, (list, tuple)) or not 0 < len(labels) <= lib.RW_MAX_LABELS:
        return False
    return all(isinstance(one, str) for one in labels)


def one_label(label: Any, more_labels: Any) -> tuple[Any, Any]:
    """Returns the first of several labels, and the further ones."""
    if isinstance(more_labels, str):
        more_labels = [more_labels]
    if are_names(label):
        further: Any = list(label[1:])
        label = label[0]
    elif isinstance(label, str) or label is None or getattr(label, "ndim", 1) != 2 or label.shape[1] == 1:
        return label, more_labels
    else:
        several = array_of(label, "label")
        label, further = several[:, 0], several[:, 1:]
    if more_labels is not None:
        raise DataError("label has several columns, and more_labels is also given; expected one of them")
    return label, further if len(further) > 0 else None


def _id_texts(values: npt.NDArray[Any]) -> list[bytes]:
    """Returns query ids as `rankwood bin` reads them."""
    kind = values.dtype.kind
    if kind == "f":
        raise DataError("qid has floats; expected integers or strings (a missing qid turns integers into floats)")
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
                raise DataError(f"the qid {value!r} is not valid text: it has half of a surrogate pair") from None
        else:
            out.append(b"%d" % value)
        if b"\0" in out[-1]:
            raise DataError(f"the qid {value!r} contains a character 0")
    return out


def _order_of(qid: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Returns documents grouped by query: queries by first occurrence, documents in their original order."""
    if qid.dtype.kind == "O":  # strings and integers cannot be compared
        number: dict[Any, int] = {}
        codes = np.fromiter((number.setdefault(one, len(number)) for one in qid.tolist()), np.int64, len(qid))
        return np.argsort(codes, kind="stable").astype(np.uint32)
    _, first, inverse = np.unique(qid, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.argsort(rank[inverse.reshape(-1)], kind="stable").astype(np.uint32)


class Queries:
    """First documents and ids of the queries."""

    def __init__(self, n_docs: int, qid: Any, group: Any, sort: bool) -> None:
        self.order: npt.NDArray[np.uint32] | None = None
        self.ids: list[bytes] | None = None
        if qid is not None and group is not None:
            raise DataError("qid and group are both given; expected one of them")
        if n_docs == 0 and (hasattr(qid, "runs") or group is not None):  # a worker without documents
            self.offset = np.zeros(1, np.uint32)
            self.ids = [] if group is None else None
        elif hasattr(qid, "runs"):  # a column of an Arrow table
            offset, ids = qid.runs()
            self._by_runs(offset, ids, sort)
        elif qid is not None:
            if isinstance(qid, (list, tuple)):  # numpy would convert NaN to text, and bools to integers
                qid = array_of(qid, "qid", object)
            self._by_id(vector(qid, "qid", n_docs), sort)
        elif group is not None:
            self._by_size(vector(group, "group", None), n_docs)
        else:
            raise DataError(
                "the queries are missing; expected qid (the query of each document) or "
                "group (the number of documents of each query)"
            )

    def check_adjacent(self) -> None:
        """Raises DataError if documents of a query are not adjacent. The hint suggests sort=True."""
        if self.ids is None or len(set(self.ids)) == len(self.ids):
            return
        began: dict[bytes, int] = {}
        for query, one in enumerate(self.ids):
            before = began.setdefault(one, query)
            if before != query:
                raise DataError(
                    f"query '{one.decode('utf-8', 'replace')}' appears again after another query\n"
                    f"hint: its documents are {self.offset[before]} to {self.offset[before + 1] - 1} and from "
                    f"{self.offset[query]} on (from 0); sort=True groups them"
                )

    def _by_id(self, qid: npt.NDArray[Any], sort: bool) -> None:
        if qid.dtype.kind in "OT":
            for i, one in enumerate(qid.tolist()):
                if not isinstance(one, (str, bytes, int, np.integer)) or isinstance(one, bool):
                    where = f"document {i} (from 0){shard()}"
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
            sizes = sizes.astype(np.int64)  # other rankers accept them
        if sizes.dtype.kind not in "iu":
            raise DataError(f"group has type {sizes.dtype}; expected the size of each query, whole numbers")
        if sizes.min() < 1:
            raise DataError(f"group has a query of {sizes.min()} documents; expected 1 or more")
        if sizes.max() > n_docs:  # before a sum that may overflow
            raise DataError(f"group has a query of {sizes.max()} documents; there are {n_docs}")
        if int(sizes.sum()) != n_docs:
            raise DataError(f"group adds up to {int(sizes.sum())} documents; there are {n_docs}")
        self.offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.uint32)
