"""Checks of data and of the machine, as ``rankwood check`` and ``rankwood doctor`` make them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from rankwood._core import (
    DataError,
    DataTypeError,
    ParameterError,
    c_strings,
    chars,
    context,
    ffi,
    in_python,
    lib,
    made,
    need,
    path_chars,
    string_of,
    text,
)
from rankwood._core import check as _raise
from rankwood._dataset import Dataset
from rankwood._model import Model
from rankwood._params import Params

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_IDENTIFIES = {
    lib.RW_IDENTIFIES_DOCUMENT: "document",
    lib.RW_IDENTIFIES_QUERY: "query",
    lib.RW_IDENTIFIES_LINE: "line",
}


@dataclass(frozen=True)
class Finding:
    """A finding of :func:`check`, such as queries that are split.

    Attributes
    ----------
    kind : str
        Short stable name for programs, such as ``"split-queries"``.
    text : str
        One line for people.
    is_warning : bool
        True for a likely mistake in the data; False for information.

    Examples
    --------
    >>> leaking = rankwood.Dataset(np.column_stack([X, y]), y, qid=qid)  # a feature is the label
    >>> [finding.kind for finding in rankwood.check(leaking).warnings]
    ['order-leaks', 'features-order-labels']
    """

    kind: str
    text: str
    is_warning: bool


@dataclass(frozen=True)
class FeatureCheck:
    """Statistics of one feature that appears in the data at least once.

    Absent values count as 0 in these statistics.

    Attributes
    ----------
    feature : int
        Feature id.
    absent : float
        Fraction of the documents that do not list the feature, from 0 to 1.
    missing : float
        Fraction of the documents with a missing value, from 0 to 1.
    least : float
        Smallest value; NaN if all values are missing.
    most : float
        Largest value; NaN if all values are missing.
    n_distinct : int
        Number of distinct values, without missing ones.
    constant : bool
        True if all documents have the same value, or all lack it.
    duplicate_of : int | None
        First feature with the same values; None if this feature is not a duplicate.
    identifies : str | None
        ``"document"``, ``"query"`` or ``"line"`` if the values look like ids of it; otherwise None.
    orders_labels : bool
        True if sorting by the feature sorts the labels in every query.
    categorical : bool
        True if the values are words; ``least`` and ``most`` are then NaN.

    Examples
    --------
    >>> feature = rankwood.check(data).features[0]
    >>> feature.feature, feature.constant, feature.missing
    (0, False, 0.0)
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


@dataclass(frozen=True)
class Drift:
    """How differently something is distributed in the data and in the reference.

    Missing values are a bin of their own. A drift is large above one of its limits: 0.25 and 0.2, or values that chance
    exceeds in one of 1,000 comparisons of sets with so few queries.

    Attributes
    ----------
    of : str
        ``"labels"``, ``"query lengths"``, ``"scores"`` (of the model) or ``"feature"``.
    feature : int | None
        Id of the feature; None for other rows.
    name : str | None
        Its name, or its id as text; None for other rows.
    only_in : str | None
        ``"data"`` or ``"reference"`` for a feature of one set; its values count as 0 in the other.
    psi : float
        Population stability index, 0 or more: the sum of (p - q) ln(p / q) over bins, where p and q are fractions of
        the documents. The reference defines the bins: at most ten values, or else deciles; its categories, and one bin
        for others. NaN if one set has words and the other numbers.
    ks : float
        Kolmogorov-Smirnov distance: the largest difference between the distribution functions, from 0 to 1. NaN for
        categories, which have no order.
    psi_limit : float
        Limit of ``psi``, 0.25 or more.
    ks_limit : float
        Limit of ``ks``, 0.2 or more.
    large : bool
        True if ``psi`` or ``ks`` is above its limit.
    missing_from : float
        Fraction of missing values in the reference, from 0 to 1.
    missing_to : float
        Fraction of missing values in the data, from 0 to 1.
    category : str | None
        Category whose fraction changed most; None if no fraction changed, or for numbers.
    category_from : float
        Its fraction in the reference; NaN if ``category`` is None.
    category_to : float
        Its fraction in the data; NaN if ``category`` is None.

    Examples
    --------
    >>> found = rankwood.check(valid, against=data, model=model)
    >>> [drift.of for drift in found.drift if drift.of != "feature"]
    ['labels', 'query lengths', 'scores']
    >>> [drift.name for drift in found.drift if drift.large]
    []
    """

    of: str
    feature: int | None
    name: str | None
    only_in: str | None
    psi: float
    ks: float
    psi_limit: float
    ks_limit: float
    large: bool
    missing_from: float
    missing_to: float
    category: str | None
    category_from: float
    category_to: float


@dataclass(frozen=True)
class DataCheck:
    """Result of :func:`check`.

    Attributes
    ----------
    findings : list[Finding]
        Findings, warnings first.
    features : list[FeatureCheck]
        Features that appear at least once, in the order of their ids.
    labels : dict[float, int]
        Number of documents of each label, for the 64 lowest labels.
    longest_query_id : str
        Id of the query with the most documents.
    counts : dict[str, int]
        Counts by name. Sizes: ``documents``, ``queries``, ``features``, ``different_labels``. Documents per query:
        ``shortest_query``, ``median_query``, ``longest_query``. Numbers of queries: ``split``, ``empty``, ``single``,
        ``alike``, ``mixed``, ``labels_falling``, ``labels_rising``. Documents with the same
        values in a query: ``twins``, and ``contradictions`` of their labels. With a reference:
        ``against_documents``, ``against_queries``, ``shared_queries``, ``shared_documents``.
    falling_by_chance : float
        Expected number of queries with falling, or with rising, labels if their order were random.
    constant_ndcg_file : float
        NDCG@10 of constant scores with ties in the order of the data; NaN if no query counts.
    constant_ndcg_mean : float
        The same, averaged over all orders of the ties.
    drift : list[Drift]
        Drift of labels, query lengths, the model's scores, and features by falling ``psi``; empty without a reference.

    Examples
    --------
    >>> found = rankwood.check(data)
    >>> found.counts["queries"], len(found.features)
    (60, 46)
    """

    findings: list[Finding]
    features: list[FeatureCheck]
    labels: dict[float, int]
    longest_query_id: str
    counts: dict[str, int]
    falling_by_chance: float
    constant_ndcg_file: float
    constant_ndcg_mean: float
    drift: list[Drift]

    @property
    def warnings(self) -> list[Finding]:
        """Findings that are warnings."""
        return [one for one in self.findings if one.is_warning]


class _Files:
    """Paths for the library. A data set in memory is written to a cache in a temporary folder.

    names: the features' names by id, of a data set in memory that has names. needed: features that it must have.
    """

    def __init__(self, data: Dataset | Paths | None, names: list[str], needed: Sequence[int] = ()) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if isinstance(data, Dataset) and data._paths is None:
            data._need_labels("data")
            self._folder = tempfile.TemporaryDirectory(prefix="rankwood-")
            path = os.fsencode(os.path.join(self._folder.name, "data.rwb"))
            params = Params()
            mine = data.feature_names or []
            named = names if mine else []
            must = {*needed, *(i for i, name in enumerate(named) if name in mine)}
            # Columns at the ids of other features must be left out: their drift would have the wrong name.
            width = len(named) if mine == named else -1
            values = data._with_values_as(named, sorted(must), width) if named else data._with_values()
            c_names, _held = c_strings(chars(name) for name in named)
            _raise(lib.rw_dataset_set_names(context(), values, c_names, len(named)))
            try:
                _raise(lib.rw_dataset_write_cache(context(), values, params.c, path))
            finally:
                _raise(lib.rw_dataset_set_names(context(), values, ffi.NULL, 0))
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


def check(data: Dataset | Paths, against: Dataset | Paths | None = None, *, model: Model | None = None) -> DataCheck:
    """Look for mistakes in a data set before training, like ``rankwood check``.

    Parameters
    ----------
    data : Dataset, str, path or list of paths
        The data: LETOR text, CSV, TSV or a cache. A :class:`Dataset` in memory is written to a temporary file.
        Queries with non-adjacent documents are counted in files only, because a :class:`Dataset` refuses them.
    against : Dataset, str, path or list of paths, default None
        Reference, such as the training set. The check then also reports shared queries and documents, and drift.
    model : Model or None, default None
        With ``against``: also report the drift of this model's scores. Columns of data frames that the model lacks are
        then not compared.

    Returns
    -------
    DataCheck
        Findings, statistics of the features, and counts.

    Raises
    ------
    FileError
        A file cannot be read.
    DataError
        The data is malformed, has no labels, or does not fit the model.
    ParameterError
        ``model`` is given without ``against``.

    Examples
    --------
    >>> found = rankwood.check(data, against=valid)
    >>> found.counts["shared_documents"]
    0
    """
    if model is not None:
        need(model, Model, "model")
        if against is None:
            raise ParameterError("model has no effect without against")
    out = ffi.new("struct rw_check **")
    c_model = ffi.NULL if model is None else model._c
    needed = [] if model is None else [use.feature for use in model._uses()]
    names = list(model.feature_names or ()) if model is not None else []
    for one in (data, against):
        if model is None and isinstance(one, Dataset) and one._paths is None:
            names += [name for name in one.feature_names or () if name not in names]
    with _Files(data, names, needed) as files, _Files(against, names) as others:
        columns: AbstractContextManager[None] = nullcontext()
        if isinstance(data, Dataset) and data._paths is not None:
            columns = data._reading(model=c_model)
        elif model is not None and not isinstance(data, Dataset):
            columns = Dataset(data)._reading(model=c_model)
        with columns:
            status = lib.rw_check_new(context(), files.c, files.n, others.c, others.n, c_model, out)
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
        drift=[_drift(c.drift[i]) for i in range(c.n_drift)],
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
        categorical=bool(c.has_vocabulary),
    )


def _drift(c: Any) -> Drift:
    return Drift(
        of=text(c.of),
        feature=c.feature if c.name else None,
        name=string_of(c.name),
        only_in=(None, "data", "reference")[c.only_in],
        psi=c.psi,
        ks=c.ks,
        psi_limit=c.psi_limit,
        ks_limit=c.ks_limit,
        large=bool(c.is_large),
        missing_from=c.missing_reference,
        missing_to=c.missing,
        category=string_of(c.moved),
        category_from=c.moved_from,
        category_to=c.moved_to,
    )


def _counts(c: Any) -> dict[str, int]:
    """Returns the counts by the names of ``rankwood check --json``."""
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

_LISTS = ("gpu", "check", "auto")  # tables with any number of rows; other tables have one row


def doctor() -> dict[str, Any]:
    """Check this machine, and verify that it gives the same model everywhere.

    It trains two small models with each instruction set and on each GPU. It takes a second or two and returns the
    results of ``rankwood doctor --json``.

    Returns
    -------
    dict
        ``"program"``, ``"cpu"``, ``"memory"``, ``"cuda"`` and ``"libraries"`` are dictionaries. They list threads,
        memory, their limits (affinity, control groups, Slurm), instruction sets and the CUDA driver. ``"gpu"``,
        ``"check"`` and ``"auto"`` are lists of dictionaries. A ``"check"`` has the ``"result"`` ``"ok"`` if its model
        is identical to the reference. ``"auto"`` shows the device that ``device="auto"`` chooses for some data sizes.
        ``"wrong"`` is the number of failed checks. Unknown values are None.

    Raises
    ------
    OutOfMemoryError
        Memory is exhausted.

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
