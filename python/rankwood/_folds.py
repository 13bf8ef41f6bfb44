"""Folds of a cross-validation: groups of queries, splits that the caller gives, splits by time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _columns
from rankwood._core import (
    DataError,
    DataTypeError,
    ParameterError,
    ParameterTypeError,
    ffi,
    lib,
    logger,
    need,
    text,
)
from rankwood._dataset import Dataset

Indices = npt.NDArray[np.int64]


def _by_query(dataset: Dataset, values: Any, name: str) -> npt.NDArray[Any]:
    """Returns a value for each query, from values of all documents or all queries."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise DataTypeError(f"{name} is {values!r}; expected an array with a value for each document or query")
    given = np.asarray(values)
    if given.shape == (dataset.n_queries,):
        return given
    if given.shape != (dataset.n_docs,):
        raise DataError(
            f"{name} has shape {given.shape}; expected ({dataset.n_docs},), one value per document, or "
            f"({dataset.n_queries},), one per query"
        )
    mine = dataset._in_own_order(given)
    offsets = dataset.query_offsets
    first = mine[offsets[:-1]]
    compared = mine
    if mine.dtype.kind == "O":  # whose elements may be of any type, also missing
        ids: dict[Any, int] = {}
        compared = np.array([-1 if _is_missing(one) else ids.setdefault(one, len(ids)) for one in mine])
    repeated = np.repeat(compared[offsets[:-1]], dataset.group)
    same = (compared == repeated) | ((compared != compared) & (repeated != repeated))
    if not same.all():
        query = int(np.searchsorted(offsets, np.argmin(same), side="right")) - 1
        raise DataError(f"{name} changes within query {_query_id(dataset, query)}; expected one value per query")
    return first


def _query_id(dataset: Dataset, query: int) -> str:
    return repr(text(lib.rw_dataset_query_id(dataset._documents(), query)))


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA
        return True


def groups_of(dataset: Dataset, groups: Any, name: str = "groups") -> npt.NDArray[np.uint32] | None:
    """Numbers the groups of queries from 0, in their order in the data."""
    if groups is None:
        return None
    ids: dict[Any, int] = {}
    out = np.empty(dataset.n_queries, np.uint32)
    for query, value in enumerate(_by_query(dataset, groups, name).tolist()):
        if _is_missing(value):
            raise DataError(f"{name} of query {_query_id(dataset, query)} is missing")
        out[query] = ids.setdefault(value, len(ids))
    return out


def note_positions(dataset: Dataset, groups: Any) -> None:
    """Logs that folds may divide the sessions of a search text if click data has no groups."""
    if groups is None and "positions" in dataset._sides:
        logger.info("click data: sessions of one search text may be in several folds; groups= keeps them together")


@contextmanager
def grouped(options: Any, dataset: Dataset, groups: Any) -> Iterator[None]:
    """Sets the member `groups` of C's options within the block."""
    held = groups_of(dataset, groups)
    options.groups = ffi.NULL if held is None else _columns.pointer(held)
    try:
        yield
    finally:
        options.groups = ffi.NULL


# ---- splits that the caller gives ----


def parts_of(dataset: Dataset, folds: Any, groups: Any, stops_early: bool) -> npt.NDArray[np.uint8]:
    """Returns the use of each query in each fold, enum rw_cv_part of shape (n_folds, n_queries).

    With early stopping, the test queries of the next fold stop training where a fold names no others.
    """
    if hasattr(folds, "split"):
        labels = dataset._in_own_order(dataset.label)
        highest = np.maximum.reduceat(labels, dataset.query_offsets[:-1].astype(np.int64))
        of_queries = None if groups is None else _by_query(dataset, groups, "groups")
        splits = list(folds.split(np.zeros((dataset.n_queries, 1)), highest, of_queries))
        query_of = np.arange(dataset.n_queries)
    else:
        if groups is not None:
            raise ParameterError("groups has no effect with folds that are index arrays")
        if isinstance(folds, (str, bytes, dict)) or not isinstance(folds, Iterable):
            raise ParameterTypeError(f"folds is a {type(folds).__name__}; expected a splitter or a list of splits")
        splits = list(folds)
        query_of = dataset._in_caller_order(np.repeat(np.arange(dataset.n_queries), dataset.group))
    if not splits:
        raise ParameterError("folds is empty; expected one split or more")
    out = np.zeros((len(splits), dataset.n_queries), np.uint8)
    names_valid = [_take_split(dataset, out[i], query_of, i, split) for i, split in enumerate(splits)]
    if not stops_early and any(names_valid):
        raise ParameterError("folds has parts that stop training, but early_stop is 0")
    test = out == lib.RW_CV_TEST
    for i, has_valid in enumerate(names_valid):
        following = test[(i + 1) % len(out)] & (out[i] == lib.RW_CV_TRAIN)
        if has_valid or not stops_early:
            continue
        if not following.any():
            raise ParameterError(
                f"fold {i} does not train on test queries of the next fold, which would stop its training\n"
                "hint: give (train, valid, test) for each fold, or set early_stop=0"
            )
        out[i][following] = lib.RW_CV_VALID
    return out


def _take_split(dataset: Dataset, parts: npt.NDArray[np.uint8], query_of: Indices, fold: int, split: Any) -> bool:
    """Sets the parts of one fold; returns whether it names the queries that stop training."""
    if not isinstance(split, (tuple, list)) or len(split) not in (2, 3):
        raise ParameterTypeError(f"fold {fold} is not a tuple (train, test) or (train, valid, test)")
    kinds = [lib.RW_CV_TRAIN, lib.RW_CV_VALID, lib.RW_CV_TEST] if len(split) == 3 else [lib.RW_CV_TRAIN, lib.RW_CV_TEST]
    of_row = np.zeros(len(query_of), np.uint8)
    for kind, rows in zip(kinds, split, strict=True):
        rows = np.asarray(rows)
        if rows.dtype == bool and rows.shape == query_of.shape:
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ParameterTypeError(f"fold {fold} has {rows.dtype} of shape {rows.shape}; expected document numbers")
        rows = rows.astype(np.int64)
        wrong = rows[(rows < 0) | (rows >= len(query_of))]
        if wrong.size:
            raise ParameterError(f"fold {fold} has document {wrong[0]}; expected 0 to {len(query_of) - 1}")
        if np.any(of_row[rows] != 0):
            row = int(rows[np.argmax(of_row[rows] != 0)])
            raise ParameterError(f"fold {fold} has document {row} in two parts")
        of_row[rows] = kind
    parts[query_of] = of_row
    divided = parts[query_of] != of_row
    if divided.any():
        query = int(query_of[np.argmax(divided)])
        raise ParameterError(
            f"fold {fold} divides query {_query_id(dataset, query)}; expected all of its documents in one part\n"
            "hint: a splitter, such as GroupKFold(5), divides between queries"
        )
    return len(split) == 3


def in_order(dataset: Dataset, n_folds: int, groups: npt.NDArray[np.uint32] | None) -> list[tuple[Any, Any]]:
    """Returns splits of documents, in which each fold has consecutive groups of the data."""
    group = np.arange(dataset.n_queries) if groups is None else groups.astype(np.int64)
    n_groups = int(group.max()) + 1
    if n_folds > n_groups:
        raise DataError(f"the queries form {n_groups} groups; expected {n_folds} or more, one for each fold")
    fold = np.repeat(np.arange(n_folds), [len(one) for one in np.array_split(np.arange(n_groups), n_folds)])[group]
    of_doc = dataset._in_caller_order(np.repeat(fold, dataset.group))
    return [(np.flatnonzero(of_doc != i), np.flatnonzero(of_doc == i)) for i in range(n_folds)]


# ---- splits by time ----


def split_by_time(dataset: Dataset, times: Any, *, share: float = 0.2) -> tuple[Indices, Indices]:
    """Split documents into those of earlier and of later queries, to train and to validate as in production.

    Queries of one time stay together, so the later part may be larger or smaller than ``share``. The time of the split
    and the numbers of queries are logged.

    Parameters
    ----------
    dataset : Dataset
        Documents with queries.
    times : array of shape (n_docs,) or (n_queries,)
        Time of each document or query: numbers, dates, or texts such as ``"2024-01-31T12:00:00"``. Documents of a query
        have one time.
    share : float, default 0.2
        Share of the queries in the later part, between 0 and 1.

    Returns
    -------
    earlier, later : array of int64
        Numbers of the documents from 0, ascending.

    Raises
    ------
    ParameterError
        ``share`` is not between 0 and 1.
    DataError
        A time is missing, is not a time or changes within a query, or all times are equal.

    Examples
    --------
    >>> days = np.array(["2024-01-01", "2024-01-02"])[(np.arange(60) > 44).astype(int)]
    >>> earlier, later = rankwood.split_by_time(data, days)
    >>> len(earlier) + len(later) == data.n_docs
    True
    >>> model = rankwood.train({"rounds": 5}, data.subset(earlier), valid=data.subset(later))
    """
    need(dataset, Dataset, "dataset")
    if not isinstance(share, (int, float)) or not 0 < share < 1:
        raise ParameterError(f"share is {share!r}; expected a number between 0 and 1")
    moments = _moments(dataset, _by_query(dataset, times, "times"))
    ordered = np.sort(moments)
    n = len(ordered)
    first = ordered[n - max(1, min(n - 1, round(share * n)))] if n > 1 else ordered[0]
    if first == ordered[0]:  # the earliest time has most queries, and they all train
        first = ordered[int(np.searchsorted(ordered, first, side="right")) % n]
    later = moments >= first
    if later.all():
        raise DataError(f"all {n} queries have one time; expected different ones")
    logger.info("split at %s: %d earlier queries, %d later ones", first, n - later.sum(), later.sum())
    of_doc = dataset._in_caller_order(np.repeat(later, dataset.group))
    return np.flatnonzero(~of_doc), np.flatnonzero(of_doc)


def _moments(dataset: Dataset, times: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns times as numbers or datetime64."""
    if times.dtype.kind in "iuf":
        found = times
    else:
        try:
            found = times.astype("datetime64[us]")
        except (TypeError, ValueError) as error:
            raise DataError(f"times has {times[0]!r}, ...; expected numbers or dates: {error}") from None
    missing = np.isnan(found) if found.dtype.kind == "f" else np.isnat(found) if found.dtype.kind == "M" else None
    if missing is not None and missing.any():
        raise DataError(f"times of query {_query_id(dataset, int(np.argmax(missing)))} is missing")
    return found


# ---- the data of a fold, for functions of the caller ----


class Part(Dataset):
    """Documents of one part of a fold. Its values exist until the fold ends."""

    def __init__(self, whole: Dataset, c: Any) -> None:
        self._begin()
        n, n_queries = lib.rw_dataset_n_docs(c), lib.rw_dataset_n_queries(c)
        self._labels = _columns.view(lib.rw_dataset_labels(c), n, np.float32).copy()
        self._offset = _columns.view(lib.rw_dataset_query_offsets(c), n_queries + 1, np.uint32).copy()
        self._ids = [ffi.string(lib.rw_dataset_query_id(c, i)) for i in range(n_queries)]
        self._names = whole.feature_names
        self._width = whole.n_features
        self._values = c

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self._width

    def _with_values(self) -> Any:
        if self._values is None:
            raise DataError("the fold of this data set has ended; use it only within the function that gets it")
        return self._values
