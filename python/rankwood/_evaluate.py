"""Measuring rankings, comparing them, and one ranking under the conventions of every program."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from rankwood import _columns
from rankwood._columns import Floats
from rankwood._core import (
    DataError,
    ParameterError,
    c_strings,
    chars,
    check,
    context,
    ffi,
    lib,
    made,
    need,
    path_chars,
    string_of,
    text,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._model import Model
from rankwood._params import Params

Correct = Literal["holm", "none"]
Format = Literal["text", "csv", "latex"]
Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Measured:
    """One metric over all queries.

    Attributes
    ----------
    metric : str
        Its name: "ndcg@10".
    mean : float
        Over the queries that count, weighted.
    n_counted : int
        Queries that count.
    ties_moved : float
        What the mean would change by if tied documents stood in the opposite order.
    per_query : array of float64
        (n_queries,), NaN where a query does not count.
    """

    metric: str
    mean: float
    n_counted: int
    ties_moved: float
    per_query: Floats


class Evaluation(Mapping[str, float]):
    """Metrics by name: ``evaluation["ndcg@10"]`` is the mean over the queries that count.

    Attributes
    ----------
    metrics : dict[str, Measured]
        Each metric by name, with its value for each query.
    conventions : str
        What the metrics count, as text.
    """

    def __init__(self, metrics: Sequence[Measured], conventions: str) -> None:
        self.metrics = {one.metric: one for one in metrics}
        self.conventions = conventions

    def __getitem__(self, name: str) -> float:
        return self.metrics[name].mean

    def __iter__(self) -> Any:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}: {one.mean:.5f}" for name, one in self.metrics.items())
        return f"Evaluation({rows})"


def _scores(data: Dataset, scores: Any) -> Floats:
    need_labels(data, "data")
    if isinstance(scores, Model):
        scores = scores.predict(data)
    array = _columns.numbers_of(_columns.array_of(scores, "score"), "score")
    if array.shape != (data.n_docs,):
        raise DataError(f"scores have shape {array.shape}; expected ({data.n_docs},)")
    return np.ascontiguousarray(data._in_own_order(array))


def evaluate(
    data: Dataset, scores: Any, metric: str | Sequence[str] = "ndcg@10", *, like: str | None = None, **how: Any
) -> Evaluation:
    """Measures a ranking.

    data: documents with labels and queries. scores: (n_docs,), or a :class:`Model`. metric: one or
    several of ndcg dcg map mrr err (alone or @k), p@k, recall@k, rbp:P, rmse, logloss. like: by the
    conventions of another program: "lightgbm", "xgboost", "xgboost-" (its metrics with ``-``), "catboost",
    "ranklib", "quickrank", "ydf", "trec", "gdeval" or "ranx". By "trec" and "gdeval" the larger document id, as
    text, is first among equal scores; data without ids of documents have QID-1, QID-2, ... in their order.
    how: ``empty="skip"``, what a query counts in which nothing is relevant (or "0", or "1"); ``ties="file"``,
    tied documents in the order of the data (or "mean", over all orders); ``label_gain="exp"``, 2^label - 1 (or
    "linear", or a file of gains);
    ``relevant=1``, the least label that map, mrr, p, recall and rbp take for relevant.

    Raises ParameterError for a metric that there is not, DataError for scores of another length.
    """
    values = _scores(data, scores)
    params = Params({"metric": metric, **how})
    return _measure(params.measuring(), data._documents(), _columns.pointer(values), like)


@contextmanager
def _measured_like(settings: Any, like: str | None) -> Iterator[Any]:
    """struct rw_eval_params: these settings, by the conventions of another program."""
    how = ffi.new("struct rw_eval_params *", settings[0])
    program = ffi.NULL if like is None else ffi.new("char[]", chars(like))
    how.like = program
    yield how


def _measure(settings: Any, dataset: Any, scores: Any, like: str | None) -> Evaluation:
    """dataset: struct rw_dataset; scores: double[n_docs]."""
    out = ffi.new("struct rw_eval **")
    with _measured_like(settings, like) as how:
        status = lib.rw_evaluate(context(), how, dataset, scores, out)
    return evaluation_of(made(status, out, lib.rw_free))


def evaluation_of(measured: Any) -> Evaluation:
    """What a struct rw_eval holds, copied."""
    metrics = []
    for i in range(measured.n_metrics):
        one = measured.metrics[i]
        per_query = _columns.view(one.per_query, measured.n_queries, np.float64).copy()
        metrics.append(Measured(text(one.name), one.mean, one.n_counted, one.ties_moved, per_query))
    return Evaluation(metrics, text(measured.conventions))


def evaluate_runs(
    qrels: str | os.PathLike[str],
    runs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    metric: str | Sequence[str] = "ndcg@10",
    *,
    like: str | None = "trec",
    **how: Any,
) -> list[Evaluation]:
    """Measures TREC runs by the judgments of a file; one evaluation a run.

    qrels: lines of query, iteration, document, label. runs: a file, or several, of lines of query, Q0,
    document, rank, score, tag. Ideals are of all judged documents, retrieved or not; a query of which a run
    has nothing counts, with 0. Queries are in the order of the judgments. metric, like, how: as
    :func:`evaluate` takes them; like=None measures by ``how``.

    Raises DataError for files that are none of these, FileError for those that cannot be read,
    ParameterError for a metric that there is not.
    """
    paths = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    names = [path_chars(path) for path in paths]
    params = Params({"metric": metric, **how})
    settings = params.measuring()
    c = _read_runs(qrels, names)
    return [_measure(settings, c.dataset, c.runs[i].scores, like) for i in range(len(names))]


def _read_runs(qrels: Path, names: Sequence[bytes]) -> Any:
    """struct rw_qrels."""
    array, _held = c_strings(names)
    out = ffi.new("struct rw_qrels **")
    status = lib.rw_qrels_read(context(), path_chars(qrels), array, len(names), out)
    return made(status, out, lib.rw_free)


# ---- comparing ----


@dataclass(frozen=True)
class Comparison:
    """Ranking b against ranking a, by one metric.

    Attributes
    ----------
    metric : str
        Its name: "ndcg@10".
    mean_a : float
        Over the queries that count.
    mean_b : float
        Over the queries that count.
    difference : float
        b - a.
    low : float
        One end of the 95 % bootstrap interval of the difference, over queries.
    high : float
        The other end of the interval.
    p : float
        Two-sided, of the paired randomisation test.
    n_wins : int
        Queries that b ranks better.
    n_ties : int
        Queries with the same value.
    n_losses : int
        Queries that a ranks better.
    conventions : str
        What the metric counts, as one line.
    n_queries : int
        Queries that count.
    lower_is_better : bool
        Of rmse and logloss.
    n_samples : int
        Resamples of the interval, and permutations.
    """

    metric: str
    mean_a: float
    mean_b: float
    difference: float
    low: float
    high: float
    p: float
    n_wins: int
    n_ties: int
    n_losses: int
    conventions: str
    n_queries: int
    lower_is_better: bool
    n_samples: int


def compare(
    data: Dataset, a: Any, b: Any, metric: str = "ndcg@10", *, like: str | None = None, seed: int = 1, **how: Any
) -> Comparison:
    """Compares two rankings of the same documents. Several: :func:`compare_all`; TREC runs: :func:`compare_runs`.

    data: documents with labels and queries. a, b: scores (n_docs,), or models. metric: one, as
    :func:`evaluate` takes it, as ``like``. seed: of the resamples and permutations. how: ``empty``,
    ``ties``, ``label_gain``, ``relevant``.

    Raises DataError for scores of another length or data without labels, ParameterError for a metric that
    there is not.
    """
    scores_a, scores_b = _scores(data, a), _scores(data, b)
    params = Params({"metric": metric, "seed": seed, **how})
    a_and_b = _columns.pointer(scores_a), _columns.pointer(scores_b)
    return _compare_two(lib.rw_params_eval(params.c), data._documents(), *a_and_b, like)


def _compare_two(settings: Any, dataset: Any, a: Any, b: Any, like: str | None) -> Comparison:
    """a, b: double[n_docs]."""
    out = ffi.new("struct rw_comparison **")
    with _measured_like(settings, like) as how:
        status = lib.rw_compare(context(), how, dataset, a, b, ffi.NULL, out)
    c = made(status, out, lib.rw_free)
    one = c.all
    return Comparison(
        text(c.metric), one.mean_a, one.mean_b, one.difference, one.low, one.high, one.p, one.n_wins, one.n_ties,
        one.n_losses, text(c.conventions), one.n_queries, bool(c.lower_is_better), c.n_samples,
    )  # fmt: skip


# ---- several against a baseline ----


@dataclass(frozen=True)
class Compared:
    """One system against the baseline, by one metric.

    Attributes
    ----------
    system : str
        Its name.
    comparison : Comparison
        The baseline is a, the system b.
    p_corrected : float
        Its p, corrected for how many tests there are; with ``correct="none"`` as it was.
    """

    system: str
    comparison: Comparison
    p_corrected: float

    @property
    def worst(self) -> float:
        """Where the 95 % interval of the improvement begins: of the difference, or of its opposite where lower
        is better. NaN: under 2 queries count."""
        return -self.comparison.high if self.comparison.lower_is_better else self.comparison.low


class Comparisons(Sequence[Compared]):
    """Several systems against a baseline: metric by metric, and of each all systems in their order.

    Attributes
    ----------
    baseline : str
        The system that the others are compared with.
    systems : list[str]
        The others.
    correct : str
        "holm" or "none".
    """

    def __init__(self, baseline: str, systems: list[str], rows: list[Compared], correct: str) -> None:
        self.baseline = baseline
        self.systems = systems
        self.correct = correct
        self._rows = rows

    def __getitem__(self, at: Any) -> Any:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Comparisons({len(self.systems)} with {self.baseline!r}, {len(self)} tests)"

    def __str__(self) -> str:
        return self.table()

    def below(self, least: float) -> list[Compared]:
        """Those of which an improvement of at least ``least`` is not shown: its 95 % interval begins below, or there
        is none. ``below(-0.002)``: those of which a loss of more than 0.002 is not ruled out, a gate for deployment.
        TypeError: least is no number."""
        return [row for row in self._rows if not row.worst >= least]

    def table(self, format: Format = "text") -> str:
        """The table that ``rankwood compare --baseline`` prints with ``--format``. ParameterError: no such format."""
        if format not in get_args(Format):
            raise ParameterError(f"format is {format!r}; expected 'text', 'csv' or 'latex'")
        rows = list(self._table_rows())
        if format == "csv":
            lines = [",".join(_COLUMNS), *(_csv_row(row.get(key) for key in _COLUMNS) for row in rows)]
            return "".join(f"{line}\n" for line in lines)
        is_latex = format == "latex"
        before = "% " if is_latex else ""
        table = _latex(self._as_in_a_paper()) if is_latex else _text(self._as_text(rows))
        notes = [before + note for note in self._notes(is_latex)]
        lines = [f"{before}baseline  {self.baseline}", "", *table, "", *notes]
        return "".join(f"{line}\n" for line in lines)

    def _by_metric(self) -> list[list[Compared]]:
        n = len(self.systems)
        return [self._rows[at : at + n] for at in range(0, len(self._rows), n)]

    def _table_rows(self) -> Iterator[dict[str, Any]]:
        """By the names of CSV's columns; the baseline has no more than its mean."""
        for rows in self._by_metric():
            first = rows[0].comparison
            head = {"metric": first.metric, "queries": first.n_queries}
            yield {**head, "system": self.baseline, "mean": first.mean_a}
            for row in rows:
                one = row.comparison
                yield {
                    **head, "system": row.system, "queries": one.n_queries, "mean": one.mean_b,
                    "difference": one.difference, "low": one.low, "high": one.high, "p": one.p,
                    "p_corrected": row.p_corrected, "better": one.n_wins, "equal": one.n_ties, "worse": one.n_losses,
                }  # fmt: skip

    def _as_text(self, rows: list[dict[str, Any]]) -> list[list[str]]:
        """Columns of cells, the title first."""
        keys = [key for key in _COLUMNS if key != "p_corrected" or self.correct == "holm"]
        return [[_COLUMNS[key][0], *(_cell(row.get(key), _COLUMNS[key][1]) for row in rows)] for key in keys]

    def _as_in_a_paper(self) -> list[list[str]]:
        """Columns of cells: the systems, and a metric each."""
        columns = [["system", self.baseline, *self.systems]]
        for rows in self._by_metric():
            first = rows[0].comparison
            marked = [_marked(row.comparison.mean_b, row.p_corrected) for row in rows]
            columns.append([first.metric, _marked(first.mean_a, 1), *marked])
        return columns

    def _notes(self, is_latex: bool) -> Iterator[str]:
        first = self._rows[0].comparison
        if is_latex:
            yield f"* p < .05, ** p < .01 against the first row, over {first.n_queries} queries"
        for rows in self._by_metric():
            one = rows[0].comparison
            yield f"{one.metric}: {'lower' if one.lower_is_better else 'higher'} is better; {one.conventions}"
        holm = self.correct == "holm"
        yield (
            f"difference: from the baseline; interval: {first.n_samples} resamples of the queries; "
            f"p: paired randomisation test, two-sided{'' if holm else ', not corrected for the number of tests'}"
        )
        if holm:
            yield f"p Holm: corrected by Holm's step-down, tests: {len(self)}"


# ---- tables, as the program prints them ----

# CSV's columns: what text calls them, and how it has numbers: "" as figures, "+" with a sign, or Python's format.
_COLUMNS = {
    "metric": ("metric", ""), "system": ("system", ""), "queries": ("queries", ""), "mean": ("mean", ""),
    "difference": ("difference", "+"), "low": ("2.5 %", "+"), "high": ("97.5 %", "+"), "p": ("p", ".4f"),
    "p_corrected": ("p Holm", ".4f"), "better": ("better", ""), "equal": ("equal", ""), "worse": ("worse", ""),
}  # fmt: skip


def _cell(value: Any, how: str) -> str:
    if not isinstance(value, float):
        return "" if value is None else str(value)
    if math.isnan(value):
        return "-"
    if how not in ("", "+"):
        return f"{value:{how}}"
    return ("+" if how and value >= 0 else "") + (f"{value:.6f}" if abs(value) < 1e9 else f"{value:.9g}")


def _text(columns: list[list[str]]) -> Iterator[str]:
    """Metrics and systems are left-aligned, numbers right-aligned."""
    widths = [max(len(cell.encode()) for cell in column) for column in columns]
    for row in zip(*columns, strict=True):
        gaps = [" " * (width - len(cell.encode())) for cell, width in zip(row, widths, strict=True)]
        cells = [cell + gap if at < 2 else gap + cell for at, (cell, gap) in enumerate(zip(row, gaps, strict=True))]
        yield "  ".join(cells).rstrip(" ")


def _latex(columns: list[list[str]]) -> Iterator[str]:
    yield "\\begin{tabular}{l" + "r" * (len(columns) - 1) + "}"
    yield "\\hline"
    for number, row in enumerate(zip(*columns, strict=True)):
        yield " & ".join(_tex(cell) for cell in row) + " \\\\"
        if number in (0, len(columns[0]) - 1):
            yield "\\hline"
    yield "\\end{tabular}"


def _tex(cell: str) -> str:
    if marked := re.fullmatch(r"([-+.0-9]+)(\*+)", cell):
        return f"{marked[1]}$^{{{marked[2]}}}$"
    words = {"\\": "textbackslash", "~": "~", "^": "^", "<": "textless", ">": "textgreater", "|": "textbar"}
    return re.sub(
        r"[\\~^<>|&%$#_{}]", lambda at: f"\\{words[at[0]]}{{}}" if at[0] in words else f"\\{at[0]}", cell
    )


def _marked(mean: float, p: float) -> str:
    return "-" if math.isnan(mean) else f"{mean:.4f}{'**' if p < 0.01 else '*' if p < 0.05 else ''}"


def _csv_row(values: Iterable[Any]) -> str:
    return ",".join(_quoted(_exact(one) if isinstance(one, float) else _cell(one, "")) for one in values)


def _exact(value: float) -> str:
    """Nothing where there is no number."""
    if math.isnan(value):
        return ""
    return next(text for digits in (15, 16, 17) if float(text := f"{value:.{digits}g}") == value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text


# ---- making them ----


def _compare(
    dataset: Any,
    scores: Mapping[str, Any],
    metric: Any,
    like: str | None,
    correct: str,
    seed: int,
    how: Mapping[str, Any],
) -> Comparisons:
    """scores: struct rw_dataset's by name, the baseline's first."""
    if correct not in get_args(Correct):
        raise ParameterError(f"correct is {correct!r}; expected 'holm' or 'none'")
    baseline, *systems = scores
    params = Params({"metric": metric, "seed": seed, **how})
    params.measuring()  # of all metrics
    found = []
    for one in params.get("metric").split(","):
        params.set("metric", one)  # by each alone: its figures do not depend on which others there are
        settings = lib.rw_params_eval(params.c)
        for name in systems:
            found.append((name, _compare_two(settings, dataset, scores[baseline], scores[name], like)))
    p = np.array([comparison.p for _, comparison in found])
    if correct == "holm":
        check(lib.rw_holm(context(), _columns.pointer(p), len(p)))
    rows = [Compared(name, one, float(value)) for (name, one), value in zip(found, p, strict=True)]
    return Comparisons(baseline, systems, rows, correct)


def _several(names: Sequence[str], what: str) -> None:
    if len(names) < 2:
        raise DataError(f"{len(names)} {what}; expected 2 or more: the first is the baseline")


def compare_all(
    data: Dataset,
    systems: Mapping[str, Any],
    metric: str | Sequence[str] = "ndcg@10",
    *,
    like: str | None = None,
    correct: Correct = "holm",
    seed: int = 1,
    **how: Any,
) -> Comparisons:
    """Compares rankings of the same documents with the first of them, the baseline: ``rankwood compare DATA
    --baseline A B C``.

    data: documents with labels and queries. systems: scores (n_docs,) or a :class:`Model` by name, the baseline
    first. metric: one, or several. like: by the conventions of another program, as :func:`evaluate` has them.
    correct: the p of all systems and metrics by Holm's step-down ("holm"), or not ("none"). seed: of the resamples
    and permutations. how: ``empty``, ``ties``, ``label_gain``, ``relevant``.

    Raises DataError for scores of another length, data without labels or fewer than 2 systems, ParameterError for a
    metric that there is not.
    """
    need(data, Dataset, "data")
    _several(list(systems), "systems")
    values = {str(name): _scores(data, one) for name, one in systems.items()}
    held = {name: _columns.pointer(one) for name, one in values.items()}
    return _compare(data._documents(), held, metric, like, correct, seed, how)


def compare_runs(
    qrels: Path,
    runs: Sequence[Path] | Mapping[str, Path],
    metric: str | Sequence[str] = "ndcg@10",
    *,
    like: str | None = "trec",
    correct: Correct = "holm",
    seed: int = 1,
    **how: Any,
) -> Comparisons:
    """Compares TREC runs with the first of them, by the judgments of a file: ``rankwood compare --qrels FILE
    --baseline A B C``.

    qrels and the runs' files: as :func:`evaluate_runs` reads them. runs: files, or files by name, the baseline
    first. metric, correct, seed: as :func:`compare_all` has them. like: whose conventions count, trec_eval's if it is
    not given; None measures by ``how``.

    Raises DataError for files that are none of these and for fewer than 2 runs, FileError for those that cannot be
    read, ParameterError for a metric that there is not.
    """
    if isinstance(runs, (str, os.PathLike)):
        runs = [runs]
    files = dict(runs) if isinstance(runs, Mapping) else {os.fspath(path): path for path in runs}
    _several(list(files), "runs")
    if len(files) < len(runs):
        raise DataError("a run is there twice; expected each once, or files by name")
    c = _read_runs(qrels, [path_chars(path) for path in files.values()])
    scores = {str(name): c.runs[i].scores for i, name in enumerate(files)}
    return _compare(c.dataset, scores, metric, like, correct, seed, how)


# ---- as every program measures ----


@dataclass(frozen=True)
class AuditRow:
    """One metric as one program prints it.

    Attributes
    ----------
    like : str
        As :func:`rankwood.evaluate` takes it; "rankwood": by the parameters.
    program : str
        The program's name.
    metric : str
        As the program calls it.
    mean : float
        NaN if no query counts, or if the program refuses.
    n_counted : int
        Queries that count.
    conventions : str
        What the program counts; "" if it refuses.
    refused : str | None
        Why there is no figure; None: there is one.
    """

    like: str
    program: str
    metric: str
    mean: float
    n_counted: int
    conventions: str
    refused: str | None


@dataclass(frozen=True)
class Audit:
    """What :func:`audit` returns; iterates over its rows.

    Attributes
    ----------
    rows : list[AuditRow]
        A program and metric each.
    n_docs : int
        Documents.
    n_queries : int
        Queries.
    n_empty : int
        Queries without a label over 0.
    n_single : int
        Queries of one document.
    n_tied : int
        Queries in which documents of different labels have equal scores.
    n_falling : int
        Queries whose labels only fall in the order of the data: where a program leaves ties in that order,
        constant scores measure best.
    n_rising : int
        Queries whose labels only rise in the order of the data.
    """

    rows: list[AuditRow]
    n_docs: int
    n_queries: int
    n_empty: int
    n_single: int
    n_tied: int
    n_falling: int
    n_rising: int

    def __iter__(self) -> Iterator[AuditRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


def audit(dataset: Dataset, scores: Any, metric: str | Sequence[str] = "ndcg@10", **how: Any) -> Audit:
    """Measures one ranking as LightGBM, XGBoost, CatBoost, RankLib, trec_eval and others do.

    dataset: documents with labels. scores: (n_docs,), or a :class:`Model`. metric: one or several, as
    :func:`rankwood.evaluate` takes them. how: ``empty``, ``ties``, ``label_gain``, ``relevant``, of the row "rankwood".

    Raises ParameterError for a metric that there is not, DataError for scores of another length. What
    only one program refuses stands in its row.
    """
    values = _scores(dataset, scores)
    params = Params({"metric": metric, **how})
    settings = params.measuring()
    out = ffi.new("struct rw_audit **")
    status = lib.rw_audit_new(context(), settings, dataset._documents(), _columns.pointer(values), out)
    c = made(status, out, lib.rw_free)
    rows = [
        AuditRow(
            text(row.like), text(row.program), text(row.metric), row.mean, row.n_counted, text(row.conventions),
            string_of(row.refused),
        )
        for row in (c.rows[i] for i in range(c.n_rows))
    ]  # fmt: skip
    return Audit(
        rows, c.n_docs, c.n_queries, c.n_empty, c.n_single, c.n_tied, c.n_falling, c.n_rising
    )
