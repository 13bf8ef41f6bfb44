"""Columns whose values are categories: words, and numbers that stand for them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Set
from operator import index
from typing import Any

import numpy as np

from rankwood._core import DataError, DataTypeError, chars, check, context, ffi, lib
from rankwood._tables import Column, is_paths, name_in_file, positions_of

MOST_ID = 2**31 - 1


def given_features(given: Any) -> list[str | int]:
    """categorical_features as a list of names and column numbers."""
    if given is None or (isinstance(given, str) and not given):
        return []
    out: list[str | int] = []
    for one in [given] if isinstance(given, str) or not isinstance(given, Iterable) else given:
        try:
            out.append(one if isinstance(one, str) else index(one))
        except TypeError:
            raise DataTypeError(f"categorical_features has {one!r}; expected columns' names or numbers") from None
        if isinstance(one, (bool, np.bool_)):
            raise DataTypeError(f"categorical_features has {one!r}; expected columns' names or numbers")
    return out


def given_names(given: Any, apart: frozenset[str]) -> frozenset[str]:
    """categorical_features as names of columns, but for those that are no features."""
    names = given_features(given)
    for one in names:
        if not isinstance(one, str):
            raise DataTypeError(f"categorical_features has {one!r}; expected names of columns")
    return frozenset(str(one) for one in names) - apart


def as_list(features: Iterable[str | int]) -> str:
    """The parameter's text."""
    return ",".join(name_in_file(one) if isinstance(one, str) else str(one) for one in features)


def has_categories(data: Any, apart: Set[str | int]) -> bool:
    """A feature's column of an Arrow table is dictionary-encoded; or of a frame of polars, categorical. apart:
    names and numbers of columns that are no features."""
    return bool(categories_in(data, apart))


def categories_in(data: Any, apart: Set[str | int]) -> list[str]:
    """Their names."""
    schema = getattr(data, "schema", None)
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
    """Features of a model, as the columns of a table call them."""
    columns = list(getattr(data, "columns", getattr(data, "column_names", ())))
    if is_paths(data) or not columns or not isinstance(names[0], str):
        return names
    at = positions_of([str(name) for name in columns])
    return [str(columns[at[name]]) for name in names if name in at]


def arrow_of(data: Any) -> Any:
    """pyarrow's table of an Arrow table with categories."""
    try:
        import pyarrow
    except ImportError:
        raise DataError("categories of an Arrow table need pyarrow (the extra 'arrow')") from None
    return pyarrow.table(data)


def frame_of(data: Any) -> Any:
    """A pandas data frame of an Arrow table with categories: a copy."""
    return arrow_of(data).to_pandas()


class Numbers:
    """Numbers of words, the same in all batches and passes, whatever codes a batch has for them: by column."""

    def __init__(self, columns: Iterable[str]) -> None:
        self.of: dict[str, dict[str, int]] = {name: {} for name in columns}
        self._lock = threading.Lock()  # several threads may read batches

    def words(self, name: str) -> list[str]:
        """Word i is that of number i; those of the batches so far."""
        with self._lock:
            return list(self.of[name])

    def _number(self, words: Iterable[Any], name: str) -> np.ndarray[Any, Any]:
        """The number of each word; NaN of a missing one."""
        number = self.of[name]
        with self._lock:
            known = [None if word is None or word != word else text_of(word, repr(name)) for word in words]
            numbers = [np.nan if word is None else number.setdefault(word, len(number)) for word in known]
        return np.array([*numbers, np.nan], np.float32)  # code -1 is missing

    def column(self, column: Column, name: str) -> Column:
        """A column with these numbers of its words."""
        if column.words is None:
            column = as_category(column, repr(name))
        codes = np.where(np.isnan(column.values), -1, column.values).astype(np.int64)
        return Column(self._number(column.words or (), name)[codes])

    def arrow(self, table: Any) -> Any:
        """pyarrow's table with numbers in these columns."""
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


def text_of(value: Any, name: str) -> str:
    """A category as a word."""
    if isinstance(value, str):
        if "\0" in value:
            raise DataError(f"column {name}: a category with a character 0")
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
    """Values are codes, below 0 where missing."""
    values = np.where(codes < 0, np.nan, codes).astype(np.float32)
    return Column(values, words=[text_of(word, name) for word in words])


def column_of_values(values: np.ndarray[Any, Any], name: str) -> Column:
    """Any values that have words; None and NaN are missing."""
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
    """A feature that was read as numbers."""
    if column.words is not None:
        return column
    if column.index is not None or column.chunk_offset is not None:
        raise DataError(f"column {name} is sparse or in batches; expected a dense one of categories")
    if column.valid is None:
        return column_of_values(column.values, name)
    return column_of_values(np.asarray(column.part(slice(0, len(column.values)))), name)


def add_to(dataset: Any, words: Mapping[int, list[str]]) -> None:
    """Words by feature, to a struct rw_dataset whose values are codes."""
    for feature, some in words.items():
        texts = [ffi.new("char[]", chars(word)) for word in some]
        c_words = ffi.new("char *[]", texts)
        check(lib.rw_dataset_set_categories(context(), dataset, feature, c_words, len(texts)))
