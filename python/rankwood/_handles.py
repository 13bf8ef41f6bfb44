"""The library's objects for a data set, created on demand and cached.

A data set may have values (struct rw_dataset), bins (struct rw_binned) and values matched by feature names. Training
needs bins, measuring needs labels and queries only, and scoring needs values. A cached object serves all calls with the
same parameters. A lock protects the caches, so several threads may use one data set.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from rankwood import _columns, _tables, _workers
from rankwood._columns import Floats
from rankwood._core import (
    DataError,
    ParameterError,
    c_strings,
    caller_names,
    chars,
    check,
    context,
    ffi,
    lib,
    logger,
    made,
    path_chars,
)
from rankwood._params import Params

Method = TypeVar("Method", bound=Callable[..., Any])


def locked(method: Method) -> Method:
    """Serialises calls of a method, so that several threads may use one data set and share its cached objects."""

    @wraps(method)
    def call(self: Handles, *args: Any) -> Any:
        with self._lock:
            return method(self, *args)

    return cast(Method, call)


class Handles:
    """The library's side of a Dataset; Dataset itself knows the source of the data."""

    _labels: npt.NDArray[np.float32]
    _offset: npt.NDArray[np.uint32]
    _table: _columns.Table  # for data in memory
    _c_table: Any  # struct rw_table, except for files
    _inexact: Any
    _ids: list[bytes] | None  # of the queries; None for files and for queries that are numbered from 0
    _keep: list[Any]  # memory that the table points to

    def _begin(self) -> None:
        self._lock = threading.RLock()  # protects cached objects
        self._meeting = _workers.meeting()  # the group of workers that share the files
        self._paths: list[bytes] | None = None
        self._source: _tables.Source | None = None
        self._binned: dict[tuple[str, ...], Any] = {}
        self._of_meeting: Any = None  # memory of ids for queries without ids, among workers
        self._values: Any = None
        self._bare: Any = None
        self._by_names: dict[tuple[str, ...], Any] = {}
        self._order: npt.NDArray[np.uint32] | None = None
        self._names: list[str] | None = None
        self._columns: dict[str, str | list[str]] = {}  # column names of a CSV or TSV file, by role
        self._is_table = False
        self._words: dict[int, list[str]] = {}  # by feature, for data in memory
        self._sides: dict[str, Floats] = {}  # side columns by the library's names, in its order
        self._pairs: npt.NDArray[Any] | None = None  # of struct rw_given_pair
        self._has_labels = True
        self._warned = False
        self._noted_extra = False
        self._warned_lacking: set[int] = set()  # addresses of models
        self._feature_base: int | None = None  # feature id of column 0, if given

    @property
    def feature_names(self) -> list[str] | None:
        raise NotImplementedError

    @property
    def n_docs(self) -> int:
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        raise NotImplementedError

    def _add_sides(self, c: Any) -> None:
        """Adds weights, start scores, positions, further labels and pairs to a struct rw_dataset."""
        for name in self._sides:
            self._add_side(c, name)
        if self._pairs is not None:
            self._add_pairs(c)

    def _add_side(self, c: Any, name: str) -> None:
        numbers = self._sides[name]
        if name in ("weights", "query-weights") and "query-weights" in self._sides:
            documents = self._sides.get("weights")
            if documents is None and "weight" in self._columns:  # the file has them
                documents = self._read_side(c, "weights")
            if documents is not None:
                n_queries = int(lib.rw_dataset_n_queries(c))
                offsets = _columns.view(lib.rw_dataset_query_offsets(c), n_queries + 1, np.uint32)
                given = self._sides["query-weights"]
                if len(given) == n_queries:  # otherwise the library refuses them
                    name, numbers = "weights", documents * np.repeat(given, np.diff(offsets))
        numbers = np.ascontiguousarray(numbers)
        width = numbers.shape[1] if numbers.ndim == 2 else 1
        held = _columns.pointer(numbers)
        check(lib.rw_dataset_set_side_column(context(), c, chars(name), held, len(numbers), width))

    @staticmethod
    def _read_side(c: Any, name: str) -> Floats | None:
        """Returns a side column of a struct rw_dataset, one row per document; None if it lacks the column."""
        width = lib.rw_dataset_side_column(c, chars(name), ffi.NULL)
        out = np.empty((int(lib.rw_dataset_n_docs(c)), max(width, 1)))
        lib.rw_dataset_side_column(c, chars(name), _columns.pointer(out))
        return None if width == 0 else out if name == "labels" else out[:, 0]

    def _add_pairs(self, c: Any) -> None:
        assert self._pairs is not None
        pairs = ffi.cast("struct rw_given_pair *", self._pairs.ctypes.data)
        check(lib.rw_dataset_set_pairs(context(), c, pairs, len(self._pairs)))

    @contextlib.contextmanager
    def _reading(
        self, names: Sequence[str] | None = None, needed: Iterable[int] = (), model: Any = ffi.NULL
    ) -> Iterator[None]:
        """Within the block, the library reads tables with this data set's columns.

        names: feature i is the column names[i]. needed: features that must be present. model: a struct rw_model that
        names the first features.
        """
        keep: list[Any] = []

        def array_of(some: Sequence[str]) -> Any:
            keep.append(c_strings(chars(one) for one in some))
            return keep[-1][0]

        c = ffi.new("struct rw_columns *")
        for role in ("label", "qid", "weight", "categorical"):
            if role in self._columns:
                setattr(c, role, array_of([str(self._columns[role])])[0])
        for roles, role in (("ignore", "ignore"), ("more_labels", "more_label")):
            some = self._columns.get(role, [])
            setattr(c, role, array_of(list(some)))
            setattr(c, f"n_{roles}", len(some))
        c.no_label = c.no_qid = int(not self._has_labels)
        if names is not None:
            must = set(needed)
            flags = ffi.new("unsigned char[]", bytes(i in must for i in range(len(names))))
            c.feature, c.n_features, c.needed = array_of(names), len(names), flags
        c.model, c.keep_others = model, int(model != ffi.NULL)
        n_tables = lib.rw_ctx_n_tables(context())
        check(lib.rw_ctx_set_columns(context(), c))
        try:
            yield
        finally:
            check(lib.rw_ctx_set_columns(context(), ffi.NULL))
        self._is_table = lib.rw_ctx_n_tables(context()) > n_tables
        of_tables = [role for role in self._columns if role != "categorical"]
        if of_tables and not self._is_table:
            raise DataError(f"{of_tables[0]} is given, but only CSV and TSV files have columns")

    def _read(self, names: Sequence[str] | None = None, needed: Iterable[int] = ()) -> Any:
        """Reads the files into a struct rw_dataset."""
        self._check_meeting()
        out = ffi.new("struct rw_dataset **")
        paths, _held = c_strings(self._paths or [])
        with self._reading(names, needed):
            status = lib.rw_dataset_read(context(), paths, len(paths), out)
            dataset = made(status, out, lib.rw_dataset_free)
        self._add_sides(dataset)
        return dataset

    @locked
    def _with_values(self) -> Any:
        """Returns a struct rw_dataset with values, for validation, measuring and explaining."""
        if self._values is None:
            if self._paths is not None:
                self._values = self._read()
                return self._values
            with caller_names(self._names):
                self._values = self._dataset_of(self._c_table)
                _columns.add_to(self._values, self._own_words())
            self._warn_of_ids()
            self._add_sides(self._values)
        return self._values

    # ---- several workers ----

    def _check_meeting(self) -> None:
        """Raises DataError if files were, or would be, read with another group of workers."""
        if self._paths is not None and self._meeting != _workers.meeting():
            raise DataError(
                "a data set of files can be used only by the workers that created it; create and use it within the "
                "same `with workers()` block, or outside of any"
            )

    def _features_for_workers(self) -> Any:
        """Returns the properties of data in memory that must be equal on all workers."""
        if self._paths is not None:
            return "files"
        sides = sorted(name.removeprefix("query-") for name in self._sides)
        given = (self._ids is not None, self._pairs is not None, sides)
        # a shard of a sparse matrix may be narrower; the library uses the largest width
        return self.feature_names, None if self._is_sparse() else self.n_features, *given

    def _is_sparse(self) -> bool:
        """Tells whether the data is a sparse matrix."""
        in_memory = self._paths is None and self._source is None
        return in_memory and any(column.index is not None for column in self._table.columns)

    def _meet_workers(self, what: str) -> None:
        """Checks that queries of data in memory are whole, and numbers them through all workers."""
        with _workers.agreed():
            self._check_meeting()
        if self._paths is not None:
            return
        if self._ids is not None:
            _workers.check_queries(self._ids, f"{what!r}")
            return
        n_queries = len(self._offset) - 1
        before = sum(_workers.gather_sizes(n_queries)[: _workers.number()])
        self._of_meeting = self._hold_ids(self._c_table, [b"%d" % (before + i) for i in range(n_queries)])

    def _leave_meeting(self) -> None:
        """Outside of `workers`, numbers queries from 0 again and drops binned data of earlier groups of workers."""
        if _workers.meeting() == 0 and self._of_meeting is not None:
            self._c_table.query_id_text, self._c_table.query_id_offset = ffi.NULL, ffi.NULL
            self._of_meeting = None
        here = str(_workers.meeting())
        self._binned = {key: binned for key, binned in self._binned.items() if key[-1] in ("0", here)}

    def _hold_ids(self, c: Any, ids: list[bytes]) -> Any:
        """Sets the query ids of a struct rw_table; they are valid as long as the returned objects live."""
        id_text = b"\0".join(ids) + b"\0"
        lengths = np.fromiter((len(one) + 1 for one in ids), np.uint64, len(ids))
        begin = np.concatenate((np.zeros(1, np.uint64), np.cumsum(lengths)))
        held = ffi.from_buffer("char[]", id_text)
        c.query_id_text = held
        c.query_id_offset = _columns.pointer(begin)
        return id_text, held, begin

    def _warn_of_ids(self, inexact: Any = None, names: Sequence[str] | None = None) -> None:
        """Warns once of columns with whole numbers that float32 cannot hold."""
        if self._paths is not None or self._warned:
            return
        names = names if names is not None else self.feature_names
        found = np.flatnonzero(np.frombuffer(ffi.buffer(inexact or self._inexact), np.uint8))
        shown = [repr(names[i]) if names is not None else str(i) for i in found[:8]]
        if shown:
            self._warned = True
            more = f" and {len(found) - 8} more" if len(found) > 8 else ""
            logger.warning(
                "column%s %s%s: whole numbers beyond 2^24 that float32 cannot hold, so different ones may have become "
                "equal; leave out ids with ignore=[...]",
                "s" if len(found) > 1 else "", ", ".join(shown), more,
            )  # fmt: skip

    @locked
    def _with_values_as(self, names: Sequence[str], needed: Iterable[int], width: int) -> Any:
        """Returns values with the feature ids of `names`.

        needed: features that must be present. width: the number of columns of the model or of the other data set.
        """
        needed = list(needed)
        if self._paths is not None:
            return self._files_as(names, needed, width)
        named = self._named_as(names, needed, width)
        if named is None:
            return self._with_values()
        key = tuple(names)
        if key not in self._by_names:
            ids, at = named
            c = ffi.new("struct rw_table *", self._c_table[0])
            c.n_columns, c.feature, c.by_name = len(ids), _columns.pointer(ids), 1
            c.inexact = inexact = ffi.new("uint8_t[]", max(len(ids), 1))
            if self._source is None:
                columns = [self._table.columns[i] for i in at]
                c.column = _arrays = _tables.c_arrays(_columns.Table(self.n_docs, columns, None))
            with caller_names(names):
                self._by_names[key] = self._dataset_of(c, at)
                _columns.add_to(self._by_names[key], self._own_words(zip(ids.tolist(), at, strict=True)))
            self._warn_of_ids(inexact, [names[i] for i in ids])
            self._add_sides(self._by_names[key])
        return self._by_names[key]

    def _files_as(self, names: Sequence[str], needed: list[int], width: int) -> Any:
        """Does the same for files, which it may read again."""
        if self._values is not None:
            mine = self.feature_names
            if mine is None or (len(mine) == width and _are_at(mine, names, needed)):
                return self._values
        key = tuple(names)
        if key not in self._by_names:
            values = self._read(names, needed)
            if not self._is_table:  # only tables have column names
                self._values = values
                return values
            self._by_names[key] = values
        return self._by_names[key]

    def _named_as(
        self, names: Sequence[str], needed: Iterable[int], width: int
    ) -> tuple[npt.NDArray[np.uint32], list[int]] | None:
        """Returns the ids in `names`, and the columns here, of the features that both have.

        It returns None if the ids are equal already.
        """
        mine, needed = self.feature_names, list(needed)
        if mine is None or (len(mine) == width and _are_at(mine, names, needed)):
            return None
        at = _columns.positions_of(mine)
        lacking = [names[i] for i in needed if names[i] not in at]
        if lacking:
            raise DataError(f"the data lacks {len(lacking)} of the model's features: {_columns.few(lacking)}")
        kept = [i for i, name in enumerate(names) if name in at]
        self._note_extra(mine, [at[names[i]] for i in kept])
        return np.array(kept, np.uint32), [at[names[i]] for i in kept]

    def _note_extra(self, mine: Sequence[str], kept: Iterable[int]) -> None:
        """Logs once which columns a model does not use."""
        extra = [name for i, name in enumerate(mine) if i not in set(kept)]
        if extra and not self._noted_extra:
            self._noted_extra = True
            many = ("s are", "are") if len(extra) > 1 else (" is", "is")
            told = (len(extra), *many, _columns.few(extra))
            logger.info("%d column%s not among the model's features, and %s not used: %s", *told)

    def _warn_lacking(self, model: Any, values: Any) -> None:
        """Warns once per model of important features that are absent in every line of LETOR text."""
        if self._paths is None or lib.rw_dataset_width(values):
            return
        where = int(ffi.cast("uintptr_t", model))
        if where in self._warned_lacking:
            return
        self._warned_lacking.add(where)
        seen = ffi.new("unsigned char[]", lib.RW_MAX_FEATURE + 1)
        lib.rw_dataset_note_features(values, seen)
        lib.rw_model_warn_lacking(context(), model, lib.rw_dataset_n_docs(values), seen)

    def _read_batches(self, c: Any, call: Callable[[], int], at: Sequence[int] | None = None) -> int:
        """Runs call() while the struct rw_table has batches of all features, or of those at the positions `at`."""
        assert self._source is not None and self.feature_names is not None
        names = self.feature_names if at is None else [self.feature_names[i] for i in at]
        return _tables.read(self._source, names, c, call)

    def _dataset_of(self, c: Any, at: Sequence[int] | None = None) -> Any:
        """Makes a struct rw_dataset of a struct rw_table with all features, or those at the positions `at`."""
        out = ffi.new("struct rw_dataset **")
        if self._source is None:
            status = lib.rw_dataset_from_table(context(), c, out)
        else:
            status = self._read_batches(c, lambda: lib.rw_dataset_from_table(context(), c, out), at)
        return made(status, out, lib.rw_dataset_free)

    def _value_batches(
        self, names: Sequence[str] | None, needed: Iterable[int], width: int
    ) -> Iterator[tuple[int, Any]]:
        """Yields the first document of each batch, and a struct rw_dataset without labels.

        Features have the ids that _with_values_as gives them.
        """
        assert self._source is not None and self.feature_names is not None
        named = None if names is None else self._named_as(names, needed, width)
        ids, at = named or (np.arange(self.n_features, dtype=np.uint32), list(range(self.n_features)))
        inexact = np.zeros(len(ids), np.uint8)  # training warned already
        offset = ffi.new("uint32_t[2]")
        c = ffi.new("struct rw_table *")
        c.n_columns = len(ids)
        if named is not None:
            c.feature, c.by_name = _columns.pointer(ids), 1
        c.inexact = _columns.pointer(inexact)
        c.missing, c.n_queries, c.query_offset = self._c_table.missing, 1, offset
        first = 0
        for where, n, arrays in _tables.chunks(self._source, [self.feature_names[i] for i in at]):
            c.n_docs = offset[1] = n
            c.column = arrays
            if first + n > self.n_docs:
                break
            out = ffi.new("struct rw_dataset **")
            with _tables.told(where):
                one = made(lib.rw_dataset_from_table(context(), c, out), out, lib.rw_dataset_free)
                _columns.add_to(one, self._own_words(zip(ids.tolist(), at, strict=True)))
            yield first, one
            first += n
        else:
            if first == self.n_docs:
                return
        raise DataError(
            f"a pass over the batches does not have {self.n_docs} documents; expected the same documents in every pass"
        )

    @locked
    def _for_training(self, params: Params) -> Any:
        """Returns a struct rw_binned for these parameters, cached for all trainings on the data."""
        mine = Params()
        for name in ("bins", "absent", "device"):
            mine.set(name, params.get(name))
        mine.set("categorical", params.get("categorical") or self._categorical())
        mine.set("min-docs", 1)  # codes do not depend on it
        if self._source is not None:  # the CPU makes the codes, which are the same for every device
            mine.set("device", "cpu")
        self._check_meeting()
        self._leave_meeting()
        key = (*(mine.get(name) for name in ("bins", "absent", "device", "categorical")), str(_workers.meeting()))
        if key not in self._binned:
            if params.get("threads") != "auto":
                check(lib.rw_ctx_set_threads(context(), int(params.get("threads"))))
            out = ffi.new("struct rw_binned **")
            if self._paths is not None:
                paths, _held = c_strings(self._paths)
                with self._reading():
                    status = lib.rw_binned_read(context(), mine.c, ffi.NULL, paths, len(paths), out)
                    binned = made(status, out, lib.rw_binned_free)
            else:
                with caller_names(self._names):
                    c = self._c_table
                    if self._source is None:
                        status = lib.rw_binned_from_table(context(), mine.c, c, out)
                    else:
                        status = self._read_batches(
                            c, lambda: lib.rw_binned_from_table(context(), mine.c, c, out)
                        )
                    binned = made(status, out, lib.rw_binned_free)
                    _columns.add_to(lib.rw_binned_documents(binned), self._own_words())
            self._warn_of_ids()
            self._add_sides(lib.rw_binned_documents(binned))
            self._binned[key] = binned
        return self._binned[key]

    def _own_words(self, features: Iterable[tuple[int, int]] | None = None) -> dict[int, list[str]]:
        """Returns words by feature: of all features, or of the given pairs of ids (there, here).

        For batches, it returns the words that were read so far.
        """
        words = self._words
        if self._source is not None:
            numbers, names = self._source.numbers, self.feature_names or []
            words = {i: numbers.words(name) for i, name in enumerate(names) if name in numbers.of}
        return words if features is None else {there: words[here] for there, here in features if here in words}

    def _categorical(self) -> str:
        """Returns the parameter 'categorical' for training on this data."""
        return str(self._columns.get("categorical", "")) or _columns.as_list(self._own_words())

    def _with_own(self, params: dict[str, Any]) -> dict[str, Any]:
        """Adds the data's 'categorical' to a training's parameters if it is not given."""
        if self._categorical():
            params.setdefault("categorical", self._categorical())
        return params

    @locked
    def _documents(self) -> Any:
        """Returns a struct rw_dataset, with or without values."""
        for binned in self._binned.values():
            return lib.rw_binned_documents(binned)
        if self._values is None:
            for values in self._by_names.values():
                return values
        if self._source is None or self._values is not None:
            return self._with_values()
        if self._bare is None:
            out = ffi.new("struct rw_dataset **")
            c = ffi.new("struct rw_table *", self._c_table[0])
            c.n_columns = 0
            self._bare = made(lib.rw_dataset_from_table(context(), c, out), out, lib.rw_dataset_free)
            self._add_sides(self._bare)
        return self._bare

    @locked
    def _is(self, c: Any) -> bool:
        """Tells whether a callback's data set is this one."""
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


def _are_at(mine: Sequence[str], names: Sequence[str], needed: Iterable[int]) -> bool:
    """Tells whether the features of `needed` have the same ids here and in `names`."""
    return all(i < len(mine) and mine[i] == names[i] for i in needed)


def check_apart(path: Any, *datasets: Handles) -> None:
    """Raises ParameterError if ``path``, an output file, is a file that a data set is read from."""
    given = path_chars(path)
    for data in datasets:
        if any(lib.rw_same_file(given, read) for read in data._paths or []):
            raise ParameterError(f"{os.fsdecode(given)!r} is an input, and cannot be the output too")
