"""What is wrong with data, and what this machine has."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from rankwood._core import (
    DataError,
    DataTypeError,
    c_strings,
    context,
    ffi,
    in_python,
    lib,
    made,
    path_chars,
    string_of,
    text,
)
from rankwood._core import check as _raise
from rankwood._dataset import Dataset
from rankwood._params import Params

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_IDENTIFIES = {
    lib.RW_IDENTIFIES_DOCUMENT: "document",
    lib.RW_IDENTIFIES_QUERY: "query",
    lib.RW_IDENTIFIES_LINE: "line",
}


@dataclass(frozen=True)
class Finding:
    """Something to look at before training.

    Attributes
    ----------
    kind : str
        A word for programs: "split-queries".
    text : str
        One line.
    is_warning : bool
        False: good to know.
    """

    kind: str
    text: str
    is_warning: bool


@dataclass(frozen=True)
class FeatureCheck:
    """A feature that appears at least once; absent values count as 0 here.

    Attributes
    ----------
    feature : int
        Its id.
    absent : float
        Share of the documents, 0 to 1.
    missing : float
        Share of the documents, 0 to 1.
    least : float
        Of what is not missing; NaN if all is.
    most : float
        Of what is not missing; NaN if all is.
    n_distinct : int
        Different values, of those that are not missing.
    constant : bool
        All documents have one value, or all lack it.
    duplicate_of : int | None
        The first feature with the same values.
    identifies : str | None
        "document", "query" or "line": whole numbers that look like an id of it.
    orders_labels : bool
        Sorted by it, labels are in order in every query.
    categorical : bool
        Its values are words, so ``least`` and ``most`` are NaN.
    drift : float
        0 to 1: the largest difference between the distributions of the two sets, of categories between their shares
        of the documents; NaN without a second, or if one has words and the other numbers.
    moved : str | None
        The category whose share differs most; None if none does.
    moved_from : float
        Its share of the first set's documents; NaN without one.
    moved_to : float
        Of the second's.
    """

    feature: int
    absent: float
    missing: float
    least: float
    most: float
    n_distinct: int
    constant: bool
    duplicate_of: int | None
    identifies: str | None
    orders_labels: bool
    categorical: bool
    drift: float
    moved: str | None
    moved_from: float
    moved_to: float


@dataclass(frozen=True)
class DataCheck:
    """What :func:`check` returns.

    Attributes
    ----------
    findings : list[Finding]
        Warnings first.
    features : list[FeatureCheck]
        Those that appear at least once, by id.
    labels : dict[float, int]
        Documents by label, of the 64 lowest labels.
    longest_query_id : str
        The id of the query of most documents.
    counts : dict[str, int]
        documents, queries, features, shortest_query, median_query, longest_query (documents), split, empty,
        single, alike, mixed, labels_falling, labels_rising (queries), twins, contradictions (documents),
        different_labels; and, of a second set, against_documents, against_queries, shared_queries,
        shared_documents.
    falling_by_chance : float
        How many queries would have their labels falling, or rising, if their order were random.
    constant_ndcg_file : float
        NDCG@10 of constant scores, ties in the order of the data; NaN if no query counts.
    constant_ndcg_mean : float
        The same, averaged over the orders of ties.
    label_drift : float
        As a feature's drift, of the labels; NaN without a second set.
    """

    findings: list[Finding]
    features: list[FeatureCheck]
    labels: dict[float, int]
    longest_query_id: str
    counts: dict[str, int]
    falling_by_chance: float
    constant_ndcg_file: float
    constant_ndcg_mean: float
    label_drift: float

    @property
    def warnings(self) -> list[Finding]:
        """The findings that are warnings."""
        return [one for one in self.findings if one.is_warning]


class _Files:
    """Paths for the library; a data set in memory becomes a cache in a temporary folder."""

    def __init__(self, data: Dataset | Paths | None) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if isinstance(data, Dataset) and data._paths is None:
            data._need_labels("data")
            self._folder = tempfile.TemporaryDirectory(prefix="rankwood-")
            path = os.fsencode(os.path.join(self._folder.name, "data.rwb"))
            params = Params()
            _raise(lib.rw_dataset_write_cache(context(), data._with_values(), params.c, path))
            paths = [path]
        elif isinstance(data, Dataset):
            paths = list(data._paths or [])
        elif data is None:
            paths = []
        else:
            given = [data] if isinstance(data, (str, bytes, os.PathLike)) else data
            if not isinstance(given, (list, tuple)):
                raise DataTypeError(f"data is a {type(data).__name__}; expected a rankwood.Dataset or paths")
            paths = [path_chars(path) for path in given]
            if not paths:
                raise DataError("an empty list of paths; expected one or more")
        self.c, self._held = c_strings(paths)
        self.n = len(paths)

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()


def check(data: Dataset | Paths, against: Dataset | Paths | None = None) -> DataCheck:
    """Looks data through before it is trained on, as ``rankwood check`` does.

    data: path(s) of LETOR text, of CSV or TSV, or of a cache, or a :class:`Dataset` (one in memory goes through a
    temporary file). against: a second set, such as what is tested on; then also what both sets share,
    and where they differ. Of files, queries whose documents are not adjacent are counted; a Dataset
    has none.

    Raises FileError or DataError for files that cannot be read.
    """
    out = ffi.new("struct rw_check **")
    columns = data._reading() if isinstance(data, Dataset) and data._paths is not None else nullcontext()
    with columns, _Files(data) as files, _Files(against) as others:
        status = lib.rw_check_new(context(), files.c, files.n, others.c, others.n, out)
        c = made(status, out, lib.rw_free)
    return DataCheck(
        findings=[_finding(c.findings[i]) for i in range(c.n_findings)],
        features=[_feature(c.features[i]) for i in range(c.n_features)],
        labels={
            float(c.label[i]): int(c.label_docs[i])
            for i in range(min(c.n_labels, lib.RW_CHECK_LABELS))
        },
        longest_query_id=text(lib.rw_check_longest(c)),
        counts=_counts(c),
        falling_by_chance=c.falling_by_chance,
        constant_ndcg_file=c.constant_file,
        constant_ndcg_mean=c.constant_mean,
        label_drift=c.label_drift,
    )


def _finding(c: Any) -> Finding:
    return Finding(text(c.kind), in_python(text(c.text)), bool(c.is_warning))


def _feature(c: Any) -> FeatureCheck:
    return FeatureCheck(
        feature=c.feature,
        absent=c.absent,
        missing=c.missing,
        least=c.least,
        most=c.most,
        n_distinct=c.n_distinct,
        constant=bool(c.constant),
        duplicate_of=c.duplicate_of if c.duplicate_of >= 0 else None,
        identifies=_IDENTIFIES.get(c.identifies),
        orders_labels=bool(c.orders_labels),
        categorical=bool(c.by_words),
        drift=c.drift,
        moved=string_of(c.moved),
        moved_from=c.moved_from if c.moved else float("nan"),
        moved_to=c.moved_to if c.moved else float("nan"),
    )


def _counts(c: Any) -> dict[str, int]:
    """By the names of ``rankwood check --json``."""
    return {
        "documents": c.n_docs,
        "queries": c.n_queries,
        "features": c.n_features,
        "shortest_query": c.shortest,
        "median_query": c.median,
        "longest_query": c.longest,
        "split": c.n_split,
        "empty": c.n_empty,
        "single": c.n_single,
        "alike": c.n_alike,
        "mixed": c.n_mixed,
        "labels_falling": c.n_falling,
        "labels_rising": c.n_rising,
        "twins": c.n_twins,
        "contradictions": c.n_contradictions,
        "different_labels": c.n_labels,
        "against_documents": c.n_other_docs,
        "against_queries": c.n_other_queries,
        "shared_queries": c.n_shared_queries,
        "shared_documents": c.n_shared_docs,
    }


# ---- the machine ----

_LISTS = ("gpu", "check", "auto")  # tables of any number of rows; the others have one


def doctor() -> dict[str, Any]:
    """What Rankwood finds on this machine, and whether all of it gives the same model; it takes a second or two.

    What ``rankwood doctor --json`` prints: threads and memory, and what limits them (affinity, control groups,
    Slurm), instruction sets, CUDA and its driver, GPUs or why there are none. Two small trees are trained on each
    instruction set and GPU.

    Returns
    -------
    dict
        Dictionaries ``"program"``, ``"cpu"``, ``"memory"``, ``"cuda"``, ``"libraries"``; lists of them ``"gpu"``,
        ``"check"`` (whose ``"result"`` is "ok" where the model's bytes are those of the reference) and ``"auto"``
        (what ``device="auto"`` takes for some sizes of data); and ``"wrong"``, how many checks differ or failed.
        What is not known, or does not apply, is None.

    Examples
    --------
    >>> found = rankwood.doctor()
    >>> found["wrong"]
    0
    >>> [row["result"] for row in found["check"] if row["instructions"] == "plain"]
    ['ok']
    """
    found: dict[str, Any] = {name: [] for name in _LISTS}
    handle, n_wrong = ffi.new_handle(found), ffi.new("int *")
    _raise(lib.rw_doctor(context(), lib._rw_on_doctor, handle, n_wrong))
    found["wrong"] = n_wrong[0]
    return found


def _value(field: Any) -> str | int | float | None:
    if field.kind == lib.RW_BENCH_TEXT:
        return text(field.text)
    if field.kind == lib.RW_BENCH_INTEGER:
        return int(field.number)
    return float(field.number) if field.kind == lib.RW_BENCH_REAL else None


@ffi.def_extern(error=1)
def _rw_on_doctor(user: Any, row: Any) -> int:
    found: dict[str, Any] = ffi.from_handle(user)
    fields = {text(row.field[i].name): _value(row.field[i]) for i in range(row.n_fields)}
    table = text(row.table)
    if table in _LISTS:
        found[table].append(fields)
    else:
        found[table] = fields
    return 0
