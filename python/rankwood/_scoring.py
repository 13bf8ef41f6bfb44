"""Scoring of documents, the base of Model: it checks that data has the model's columns.

Arrays are scored directly by a cached struct rw_scorer. Data sets, and models with categories, use the library's data
sets. Features are found by name if both sides have names, and by position otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwood import _columns, _tables
from rankwood._columns import Floats
from rankwood._core import (
    DataError,
    OutOfMemoryError,
    ParameterError,
    caller_names,
    chars,
    check,
    context,
    ffi,
    lib,
    made,
    need,
    text,
    whole,
)
from rankwood._dataset import Dataset
from rankwood._params import Params, number_or_text

_ROWS = 65536  # rows that are scored at a time if values need a conversion
_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
_AS_FLOAT = frozenset(np.dtype(kind) for kind in (np.float64, np.float16, *_INTEGERS))  # converted in one step
_ALONE = 1024  # fewer rows are scored by the calling thread, because servers have their own threads


def _finite(
    values: npt.NDArray[np.float32], missing: float, names: Sequence[str] | None, first: int = 0
) -> npt.NDArray[np.float32]:
    """Returns values (n_docs, n_features) with NaN for `missing`, which is compared as float32.

    names: of the features. first: number of the first document. DataError: a value is infinite.
    """
    if missing == missing:
        values = np.where(values == np.float32(missing), np.float32(np.nan), values)
    values = np.ascontiguousarray(values)
    if not values.size:
        return values
    at = ffi.new("uint32_t[2]")
    given = ffi.from_buffer("float[]", values)
    if lib.rw_rows_infinite(context(), given, len(values), values.shape[1], at, at + 1):
        name = names[at[1]] if names is not None and at[1] < len(names) else ""
        raise DataError(
            f"value of document {first + at[0]} (from 0), feature {repr(name) if name else at[1]} is infinite; "
            "expected a number, or NaN for missing"
        )
    return values


class _Use(NamedTuple):
    """A feature in use."""

    feature: int
    name: str
    n_splits: int
    gain: float


class Scorer:
    """The part of :class:`rankwood.Model` that knows its columns and scores."""

    def __init__(self, c: Any) -> None:
        self._c = c
        self._used = self._features_in_use()
        self._n_needed = max((use.feature for use in self._used), default=-1) + 1
        self._info = lib.rw_model_info(c)
        self._knows_columns = self._info.columns != lib.RW_COLUMNS_UNKNOWN
        self._width = self._info.width  # number of columns of a valid array
        self._scorers: dict[int, Any] = {}  # by number of trees
        self._making = threading.Lock()
        self.feature_names: list[str] | None = self._names_in_file()

    def _features_in_use(self) -> list[_Use]:
        n = lib.rw_model_features(self._c, ffi.NULL, 0)
        uses = ffi.new("struct rw_feature_use[]", max(n, 1))
        if n < 0 or lib.rw_model_features(self._c, uses, n) < 0:
            raise OutOfMemoryError("out of memory")
        return [
            _Use(one.feature, text(one.name), one.n_splits, one.gain) for one in (uses[i] for i in range(n))
        ]

    def _uses(self) -> list[_Use]:
        return self._used

    def _names_in_file(self) -> list[str] | None:
        n = max(self._width, self._n_needed)
        names = [text(lib.rw_model_feature_name(self._c, i)) for i in range(n)]
        return names if any(names) else None

    def _name(self, feature: int) -> int | str:
        names = self.feature_names
        return names[feature] if names is not None and feature < len(names) and names[feature] else feature

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return int(lib.rw_model_n_trees(self._c))

    @property
    def n_bags(self) -> int:
        """Number of trees per round of the last training: the parameter ``bags``, or 1."""
        return int(lib.rw_model_n_bags(self._c))

    @property
    def params(self) -> dict[str, int | float | str]:
        """Parameters that shaped the trees, with numbers in place of ``"auto"``."""
        return self._params_of(self._info.n_runs - 1)[1]

    def _params_of(self, run: int) -> tuple[int, dict[str, int | float | str]]:
        """Returns the number of trees of a training, from 0, and its parameters."""
        c = lib.rw_model_run(self._c, run)
        given = [c.params[i] for i in range(c.n_params)]
        params = {text(one.name).replace("-", "_"): number_or_text(text(one.value)) for one in given}
        return int(c.n_trees), params

    def _round_ends(self) -> list[int]:
        """Returns the number of trees up to the end of each round."""
        ends: list[int] = []
        for run in range(self._info.n_runs):
            n, params = self._params_of(run)
            first, bags = ends[-1] if ends else 0, int(params.get("bags", 1))
            ends += range(first + bags, first + n + 1, bags)
        return ends

    @property
    def categories(self) -> dict[int | str, list[str]]:
        """Categories with a separate code, by feature; empty without categorical features. All other words, including
        unseen ones, form one more category.
        """
        out: dict[int | str, list[str]] = {}
        for i in range(self._info.n_categorical):
            c = lib.rw_model_categorical(self._c, i)
            out[self._name(c.feature)] = [text(c.words[k]) for k in range(c.n_words)]
        return out

    def _count(self, n_trees: int | None) -> int:
        if n_trees is None:
            return 0
        return whole(n_trees, "n_trees", 1, self.n_trees)

    def to_bytes(self) -> bytes:
        """Return the bytes of the model's file.

        Returns
        -------
        bytes
            Content of the file that :meth:`Model.save` writes.

        Examples
        --------
        >>> model.save("model.txt")
        >>> with open("model.txt", "rb") as file:
        ...     model.to_bytes() == file.read()
        True
        """
        data, n = ffi.new("char **"), ffi.new("size_t *")
        check(lib.rw_model_write_memory(context(), self._c, data, n))
        try:
            return bytes(ffi.buffer(data[0], n[0]))
        finally:
            lib.rw_free(data[0])

    # ---- scores ----

    def _predict(
        self, data: Any, n: int, device: str, missing: float, feature_base: int | None, n_features: int | None
    ) -> Floats:
        if isinstance(data, Dataset) or _tables.is_paths(data):
            of_columns = {"feature_base": feature_base, "n_features": n_features}
            given = ["missing"] * (missing == missing) + [name for name, one in of_columns.items() if one is not None]
            if given:
                raise ParameterError(f"{given[0]} is only for data that is not a Dataset; pass it to Dataset instead")
            return self._predict_dataset(self._dataset_of(data, missing), n, device)
        if device != "cpu":
            Params().set("device", device)  # checks the name; arrays are scored on the CPU
        if self._info.n_categorical:
            return self._predict_dataset(self._with_categories(data, missing), n, device)
        if type(data) is np.ndarray and data.ndim == 2:
            is_float = data.dtype == np.float32
            if is_float or (data.dtype in _AS_FLOAT and len(data) <= _ROWS):
                _columns.check_shape(*data.shape)
                base = _columns.feature_base_of(feature_base)
                _columns.check_n_features(n_features, data.shape[1])
                self._check_width(data.shape[1], base)
                with np.errstate(over="ignore"):  # a value that is too large becomes infinite, which is an error
                    values = data if is_float else data.astype(np.float32, order="C")
                return self._score(_finite(values, missing, self.feature_names), n, base)
        table = _tables.of_any(data, self._not_used(data))
        table.drop_qid(self.feature_names)
        if any(column.index is not None for column in table.columns):
            made = Dataset(data, missing=missing, feature_base=feature_base, n_features=n_features)
            return self._predict_dataset(made, n, device)
        base = _columns.feature_base_of(feature_base)
        _columns.check_n_features(n_features, len(table.columns))
        columns = self._columns_by_feature(table, base)
        scores = np.empty(table.n_rows, np.float64)
        for first in range(0, table.n_rows, _ROWS):
            rows = slice(first, min(first + _ROWS, table.n_rows))
            values = np.full((rows.stop - first, len(columns)), np.nan, np.float32)
            with np.errstate(over="ignore"):  # a value that is too large becomes infinite, which is an error
                for i, column in enumerate(columns):
                    if column is not None:
                        values[:, i] = column.part(rows)
            scores[rows] = self._score(_finite(values, missing, self.feature_names, first), n, base)
        return scores

    def _dataset_of(self, data: Any, missing: float) -> Dataset:
        """Returns data as a data set; labels and queries of CSV and TSV files are not read."""
        if isinstance(data, Dataset):
            return data
        made = Dataset(data) if _tables.is_paths(data) and not self.categories else self._with_categories(data, missing)
        made._has_labels = False
        return made

    def _with_categories(self, data: Any, missing: float) -> Dataset:
        """Makes a data set in which the model's categorical features are categorical."""
        more: dict[str, Any] = {} if _tables.is_paths(data) else {"ignore": self._not_used(data), "missing": missing}
        return Dataset(data, categorical_features=_tables.names_in(data, list(self.categories)), **more)

    def _not_used(self, data: Any) -> frozenset[str]:
        """Returns the names of a frame's columns that no tree uses; they may have any type."""
        names = list(getattr(data, "columns", ()))
        if not all(isinstance(name, (str, tuple)) for name in names):
            return frozenset()
        names = [_columns.column_name(name) for name in names]
        if self.feature_names is None:
            return frozenset(name for name in names if name == _columns.QID)
        used = {self.feature_names[use.feature] for use in self._uses()}
        held = _columns.names_in_file(names)
        return frozenset(name for name, other in zip(names, held, strict=True) if not used & {name, other})

    def _columns_by_feature(self, table: _columns.Table, base: int | None) -> list[_columns.Column | None]:
        """Returns a column for each feature id; None for a feature that the model does not use."""
        names = self.feature_names
        if names is None or table.names is None or base is not None:
            self._check_width(len(table.columns), base)
            return list(table.columns)
        used = {use.feature for use in self._uses()}
        at = _columns.positions_of(table.names)
        missing = [names[i] for i in sorted(used) if names[i] not in at]
        if missing:
            shown = ", ".join(repr(name) for name in missing[:5])
            raise DataError(f"the data lacks {len(missing)} of the model's features: {shown}")
        columns = [table.columns[at[name]] if i in used else None for i, name in enumerate(names)]
        return columns + [None] * (self._width - len(columns))

    def _check_width(self, n_features: int, feature_base: int | None = None) -> None:
        """Raises DataError if an array with this number of columns does not fit the model."""
        if feature_base is None:
            if n_features != self._width or not self._knows_columns:
                check(lib.rw_model_check_rows(context(), self._c, n_features, 0))
        elif feature_base + n_features < self._n_needed:
            raise DataError(
                f"data has features {feature_base} to {feature_base + n_features - 1} with feature_base="
                f"{feature_base}; the model needs feature {self._n_needed - 1}"
            )

    def _scorer(self, n_trees: int) -> Any:
        """Returns a struct rw_scorer. The one for all trees is cached, and the last one for fewer trees."""
        scorer = self._scorers.get(n_trees)
        if scorer is None:
            with self._making:
                scorer = self._scorers.get(n_trees)
                if scorer is None:
                    out = ffi.new("struct rw_scorer **")
                    status = lib.rw_scorer_new(context(), self._c, n_trees, out)
                    scorer = made(status, out, lib.rw_scorer_free)
                    kept = {0: self._scorers[0]} if 0 in self._scorers else {}
                    self._scorers = {**kept, n_trees: scorer}
        return scorer

    def _score(self, values: npt.NDArray[np.float32], n_trees: int, base: int | None = None) -> Floats:
        if base == 0 and values.shape[1] != self._width:  # drops columns that no tree uses
            narrow = np.zeros((len(values), self._width), np.float32)
            n_kept = min(self._width, values.shape[1])
            narrow[:, :n_kept] = values[:, :n_kept]
            values = narrow
        values = np.ascontiguousarray(values)
        n_docs, n_features = values.shape
        scores = np.empty(n_docs, np.float64)
        if n_docs:
            scorer = self._scorer(n_trees)
            given, to = ffi.from_buffer("float[]", values), ffi.from_buffer("double[]", scores)
            ctx = ffi.NULL if n_docs < _ALONE else context()
            status = lib.rw_scorer_rows(ctx, scorer, given, n_docs, n_features, base or 0, to)
            if status != lib.RW_OK:  # repeated for the error message
                check(lib.rw_scorer_rows(context(), scorer, given, n_docs, n_features, base or 0, to))
        return scores

    def _values_of(self, data: Dataset, exact: bool = False) -> Any:
        """Returns a struct rw_dataset with the model's feature ids. Features are matched by name if both have names.

        exact: also leaves out columns at the ids of features that the trees do not use, unless they have their names.
        """
        need(data, Dataset, "data")
        if self.feature_names is not None and (data._paths is not None or data.feature_names is not None):
            needed = sorted(use.feature for use in self._uses())
            width = self._width if not exact or data.feature_names == self.feature_names else -1
            values = data._with_values_as(self.feature_names, needed, width)
        else:
            self._check_columns(data)
            values = data._with_values()
        check(lib.rw_model_check_data(context(), self._c, values))
        data._warn_lacking(self._c, values)
        return values

    def _check_columns(self, data: Dataset) -> None:
        """Checks the width of a data set in memory."""
        if data._paths is not None:
            return
        try:
            self._check_width(data.n_features, data._feature_base)
        except DataError as error:
            if not data._is_sparse() or not self._knows_columns or data.n_features > self._width:
                raise
            raise DataError(
                f"{error}\nhint: n_features={self._width} adds the missing last columns of a sparse matrix"
            ) from None

    def _opened(self, n_trees: int, device: str) -> Any:
        """Opens a struct rw_scorer for data sets on a device."""
        out = ffi.new("struct rw_scorer **")
        status = lib.rw_scorer_open(context(), self._c, n_trees, chars(device), out)
        return made(status, out, lib.rw_scorer_free)

    def _values_by_batch(self, data: Dataset) -> Iterator[tuple[int, Any]]:
        """Returns the first document of each batch, and its values as _values_of returns them. Files are read first."""
        if data._source is None or data._values is not None:
            return iter([(0, self._values_of(data))])
        if self.feature_names is None:
            self._check_columns(data)
        needed = sorted(use.feature for use in self._uses())
        return data._value_batches(self.feature_names, needed, self._width)

    def _predict_dataset(self, data: Dataset, n_trees: int, device: str) -> Floats:
        batches, scorer = self._values_by_batch(data), None
        scores = np.empty(data.n_docs, np.float64)
        to = _columns.pointer(scores)
        for first, values in batches:
            with caller_names(self.feature_names):
                scorer = scorer or self._opened(n_trees, device)
                check(lib.rw_scorer_run(context(), scorer, values, to + first))
        return data._in_caller_order(scores)
