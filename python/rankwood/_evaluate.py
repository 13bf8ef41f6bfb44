"""Metrics of rankings, comparisons, and one ranking under the conventions of several programs."""

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
        Name of the metric, such as ``"ndcg@10"``.
    mean : float
        Weighted mean over the queries that count.
    n_counted : int
        Number of queries that count.
    ties_moved : float
        Change of the mean if documents with equal scores were in the opposite order.
    per_query : array of float64
        Value of each query, shape (n_queries,); NaN for a query that does not count.

    Examples
    --------
    >>> measured = rankwood.evaluate(data, model, "ndcg@5").metrics["ndcg@5"]
    >>> measured.n_counted, measured.per_query.shape
    (39, (60,))
    """

    metric: str
    mean: float
    n_counted: int
    ties_moved: float
    per_query: Floats


class Evaluation(Mapping[str, float]):
    """Result of :func:`evaluate`: a read-only mapping from metric names to means.

    Parameters
    ----------
    metrics : list of Measured
        The metrics.
    conventions : str
        Conventions of the metrics, as text.

    Attributes
    ----------
    metrics : dict[str, Measured]
        Each metric by name, with its value for each query.
    conventions : str
        Conventions of the metrics, as text.

    Examples
    --------
    >>> evaluation = rankwood.evaluate(data, model, ["ndcg@10", "map"])
    >>> list(evaluation), 0 < evaluation["ndcg@10"] <= 1
    (['ndcg@10', 'map'], True)
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
    scores = getattr(scores, "model_", scores)  # of a Ranker
    if isinstance(scores, Model):
        scores = scores.predict(data)
    array = _columns.numbers_of(_columns.array_of(scores, "score"), "score")
    if array.shape != (data.n_docs,):
        raise DataError(f"scores have shape {array.shape}; expected ({data.n_docs},)")
    return np.ascontiguousarray(data._in_own_order(array))


def evaluate(
    data: Dataset, scores: Any, metric: str | Sequence[str] = "ndcg@10", *, like: str | None = None, **how: Any
) -> Evaluation:
    """Measure a ranking.

    Parameters
    ----------
    data : Dataset
        Documents with labels and queries.
    scores : array of shape (n_docs,), Model or Ranker
        Scores of the documents, or a model that scores them.
    metric : str or list of str, default "ndcg@10"
        One or more of ``ndcg``, ``dcg``, ``map``, ``mrr``, ``err`` (alone or with ``@k``), ``p@k``, ``recall@k``,
        ``rbp:P``, ``rmse`` and ``logloss``.
    like : str or None, default None
        Program whose conventions apply: ``"lightgbm"``, ``"xgboost"``, ``"xgboost-"`` (its metrics with a ``-``),
        ``"catboost"``, ``"ranklib"``, ``"quickrank"``, ``"ydf"``, ``"trec"``, ``"gdeval"`` or ``"ranx"``. ``"trec"``
        and ``"gdeval"`` put the larger document id first among equal scores. Data without document ids uses QID-1,
        QID-2, and so on in the order of the documents.
    **how
        Conventions if ``like`` is None. ``empty``: value of a query without relevant documents, ``"0"``, ``"1"`` or
        ``"skip"`` (default, the query does not count). ``ties``: order of equal scores, ``"file"`` (default, the order
        of the data) or ``"mean"`` (the mean over all orders). ``label_gain``: ``"exp"`` (default, 2^label - 1),
        ``"linear"`` or a file of gains. ``relevant``: smallest label that counts as relevant in ``map``, ``mrr``,
        ``p``, ``recall``, ``rbp`` and ``logloss`` (default 1).

    Returns
    -------
    Evaluation
        Mean of each metric by name, and the values of each query.

    Raises
    ------
    ParameterError
        A metric or program is unknown, or the program lacks the metric or a convention.
    DataError
        The number of scores differs from the number of documents, the data has no labels, or the program refuses it.

    Examples
    --------
    >>> evaluation = rankwood.evaluate(valid, model, ["ndcg@10", "map"])
    >>> evaluation["map"] < 1
    True
    >>> list(rankwood.evaluate(valid, model, like="lightgbm"))
    ['ndcg@10']
    """
    values = _scores(data, scores)
    params = Params({"metric": metric, **how})
    return _measure(params.measuring(), data._documents(), _columns.pointer(values), like)


@contextmanager
def _measured_like(settings: Any, like: str | None) -> Iterator[Any]:
    """Yields a struct rw_eval_params with these settings and another program's conventions."""
    how = ffi.new("struct rw_eval_params *", settings[0])
    program = ffi.NULL if like is None else ffi.new("char[]", chars(like))
    how.like = program
    yield how


def _measure(settings: Any, dataset: Any, scores: Any, like: str | None) -> Evaluation:
    """Measures scores, a double[n_docs], of a struct rw_dataset."""
    out = ffi.new("struct rw_eval **")
    with _measured_like(settings, like) as how:
        status = lib.rw_evaluate(context(), how, dataset, scores, out)
    return evaluation_of(made(status, out, lib.rw_free))


def evaluation_of(measured: Any) -> Evaluation:
    """Copies a struct rw_eval."""
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
    r"""Measure TREC run files against a file of relevance judgments.

    Ideal rankings include all judged documents, retrieved or not. A query without documents in a run counts as 0.
    Queries are in the order of the judgments.

    Parameters
    ----------
    qrels : str or path
        Judgments: lines of query, iteration, document and label.
    runs : str, path or list of paths
        Run files: lines of query, Q0, document, rank, score and tag.
    metric : str or list of str, default "ndcg@10"
        Metrics, as in :func:`evaluate`.
    like : str or None, default "trec"
        Program whose conventions apply, as in :func:`evaluate`. None applies ``how``.
    **how
        Conventions if ``like`` is None, as in :func:`evaluate`.

    Returns
    -------
    list of Evaluation
        One evaluation per run.

    Raises
    ------
    DataError
        A file is malformed.
    FileError
        A file cannot be read.
    ParameterError
        A metric or program is unknown.

    Examples
    --------
    >>> with open("qrels.txt", "w") as file:
    ...     _ = file.write("1 0 a 2\n1 0 b 0\n1 0 c 1\n")
    >>> with open("run.txt", "w") as file:
    ...     _ = file.write("1 Q0 a 1 3.0 bm25\n1 Q0 b 2 2.0 bm25\n1 Q0 c 3 1.0 bm25\n")
    >>> rankwood.evaluate_runs("qrels.txt", "run.txt", "map")
    [Evaluation(map: 0.83333)]
    """
    paths = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    names = [path_chars(path) for path in paths]
    params = Params({"metric": metric, **how})
    settings = params.measuring()
    c = _read_runs(qrels, names)
    return [_measure(settings, c.dataset, c.runs[i].scores, like) for i in range(len(names))]


def _read_runs(qrels: Path, names: Sequence[bytes]) -> Any:
    """Reads judgments and runs into a struct rw_qrels."""
    array, _held = c_strings(names)
    out = ffi.new("struct rw_qrels **")
    status = lib.rw_qrels_read(context(), path_chars(qrels), array, len(names), out)
    return made(status, out, lib.rw_free)


# ---- comparing ----


@dataclass(frozen=True)
class Comparison:
    """Comparison of ranking b with ranking a by one metric.

    Attributes
    ----------
    metric : str
        Name of the metric, such as ``"ndcg@10"``.
    mean_a : float
        Mean of ranking a over the queries that count.
    mean_b : float
        Mean of ranking b over the queries that count.
    difference : float
        ``mean_b - mean_a``.
    low : float
        Lower end of the difference's 95 % bootstrap interval over queries.
    high : float
        Upper end of the interval.
    p : float
        Two-sided p-value of the paired randomisation test.
    n_wins : int
        Number of queries that b ranks better.
    n_ties : int
        Number of queries with equal values.
    n_losses : int
        Number of queries that a ranks better.
    conventions : str
        Conventions of the metric, in one line.
    n_queries : int
        Number of queries that count.
    lower_is_better : bool
        True for ``rmse`` and ``logloss``.
    n_samples : int
        Number of bootstrap samples and of permutations.
    changed_first : float
        Churn: fraction of queries whose first document differs. All three fractions are over all queries, with or
        without a relevant document. Equal scores rank in input order, whatever ``ties`` and ``like`` are. They are NaN
        in the ``estimate`` of :func:`tune`.
    changed_ten : float
        Fraction of queries whose set of first 10 documents differs.
    overlap_ten : float
        Mean over queries of the documents in both sets of first 10, divided by the size of the larger set.

    Examples
    --------
    >>> found = rankwood.compare(valid, X_valid[:, 0], model)
    >>> found.low <= found.difference <= found.high
    True
    >>> 0 <= found.changed_first <= 1
    True
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
    changed_first: float = math.nan
    changed_ten: float = math.nan
    overlap_ten: float = math.nan


def compare(
    data: Dataset, a: Any, b: Any, metric: str = "ndcg@10", *, like: str | None = None, seed: int = 1, **how: Any
) -> Comparison:
    """Compare two rankings of the same documents.

    :func:`compare_all` compares several rankings, and :func:`compare_runs` compares TREC runs.

    Parameters
    ----------
    data : Dataset
        Documents with labels and queries.
    a, b : array of shape (n_docs,), Model or Ranker
        The rankings, as scores or models. Differences are b - a.
    metric : str, default "ndcg@10"
        One metric, as in :func:`evaluate`.
    like : str or None, default None
        Program whose conventions apply, as in :func:`evaluate`.
    seed : int, default 1
        Seed of bootstrap samples and permutations.
    **how
        Conventions ``empty``, ``ties``, ``label_gain`` and ``relevant``, as in :func:`evaluate`.

    Returns
    -------
    Comparison
        Means, difference, 95 % interval, p-value, queries won and lost, and churn.

    Raises
    ------
    DataError
        The number of scores differs from the number of documents, or the data has no labels.
    ParameterError
        The metric is unknown, or ``like`` is given for data with weights.

    Examples
    --------
    >>> smaller = rankwood.train({"rounds": 5, "leaves": 8}, data)
    >>> found = rankwood.compare(valid, smaller, model)
    >>> found.n_wins + found.n_ties + found.n_losses == found.n_queries
    True
    """
    scores_a, scores_b = _scores(data, a), _scores(data, b)
    params = Params({"metric": metric, "seed": seed, **how})
    a_and_b = _columns.pointer(scores_a), _columns.pointer(scores_b)
    return _compare_two(lib.rw_params_eval(params.c), data._documents(), *a_and_b, like)


def _compare_two(settings: Any, dataset: Any, a: Any, b: Any, like: str | None) -> Comparison:
    """Compares two rankings of a struct rw_dataset; a and b are double[n_docs]."""
    out = ffi.new("struct rw_comparison **")
    with _measured_like(settings, like) as how:
        status = lib.rw_compare(context(), how, dataset, a, b, ffi.NULL, out)
    c = made(status, out, lib.rw_free)
    churn = c.changed_first, c.changed_ten, c.overlap_ten
    return comparison_of(c.all, text(c.metric), text(c.conventions), bool(c.lower_is_better), c.n_samples, *churn)


def comparison_of(
    one: Any, metric: str, conventions: str, lower_is_better: bool, n_samples: int, *churn: float
) -> Comparison:
    """Converts a struct rw_compared."""
    return Comparison(
        metric, one.mean_a, one.mean_b, one.difference, one.low, one.high, one.p, one.n_wins, one.n_ties,
        one.n_losses, conventions, one.n_queries, lower_is_better, n_samples, *churn,
    )  # fmt: skip


# ---- several against a baseline ----


@dataclass(frozen=True)
class Compared:
    """Comparison of one system with the baseline, by one metric.

    Attributes
    ----------
    system : str
        Name of the system.
    comparison : Comparison
        Comparison in which the baseline is a and the system is b.
    p_corrected : float
        p-value corrected for the number of tests; the original one with ``correct="none"``.

    Examples
    --------
    >>> rows = rankwood.compare_all(valid, {"feature 0": X_valid[:, 0], "model": model})
    >>> rows[0].system
    'model'
    """

    system: str
    comparison: Comparison
    p_corrected: float

    @property
    def worst(self) -> float:
        """Smallest improvement within the 95 % interval; for a metric where lower is better, improvement is a decrease.
        It is NaN if fewer than 2 queries count.
        """
        return -self.comparison.high if self.comparison.lower_is_better else self.comparison.low


class Comparisons(Sequence[Compared]):
    """Comparisons of several systems with a baseline: a sequence of :class:`Compared`.

    It is ordered by metric, then by system.

    Parameters
    ----------
    baseline : str
        Name of the baseline.
    systems : list of str
        Names of the other systems.
    rows : list of Compared
        The comparisons.
    correct : {"holm", "none"}
        Correction of p-values.

    Attributes
    ----------
    baseline : str
        Name of the system that the others are compared with.
    systems : list[str]
        Names of the other systems.
    correct : str
        ``"holm"`` or ``"none"``.

    Examples
    --------
    >>> found = rankwood.compare_all(valid, {"feature 0": X_valid[:, 0], "model": model}, ["ndcg@10", "map"])
    >>> [row.comparison.metric for row in found]
    ['ndcg@10', 'map']
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
        """Return the comparisons that do not show an improvement of at least ``least``.

        Their 95 % interval begins below ``least``, or is undefined. ``below(-0.002)`` returns the systems for which a
        loss of more than 0.002 cannot be ruled out, as a gate before deployment.

        Parameters
        ----------
        least : float
            Required improvement; a negative number is a tolerated loss.

        Returns
        -------
        list of Compared
            Comparisons that fail the requirement; empty if all pass.

        Raises
        ------
        TypeError
            ``least`` is not a number.

        Examples
        --------
        >>> found = rankwood.compare_all(valid, {"old": model, "new": model})
        >>> len(found.below(-0.002)), len(found.below(0.002))
        (0, 1)
        """
        return [row for row in self._rows if not row.worst >= least]

    def table(self, format: Format = "text") -> str:
        """Return the table that ``rankwood compare --baseline`` prints.

        Parameters
        ----------
        format : {"text", "csv", "latex"}, default "text"
            Format of the table.

        Returns
        -------
        str
            The table, with a line break after each line.

        Raises
        ------
        ParameterError
            The format is unknown.

        Examples
        --------
        >>> found = rankwood.compare_all(valid, {"feature 0": X_valid[:, 0], "model": model}, correct="none")
        >>> print(found.table("csv").splitlines()[0])
        metric,system,queries,mean,difference,low,high,p,p_corrected,better,equal,worse
        """
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
        """Yields rows by the names of CSV's columns. The baseline's row has no more than its mean."""
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
        """Returns columns of cells, each with its title first."""
        keys = [key for key in _COLUMNS if key != "p_corrected" or self.correct == "holm"]
        return [[_COLUMNS[key][0], *(_cell(row.get(key), _COLUMNS[key][1]) for row in rows)] for key in keys]

    def _as_in_a_paper(self) -> list[list[str]]:
        """Returns columns of cells: the systems, then one column per metric."""
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
        for row in self._by_metric()[0]:
            one = row.comparison
            yield (
                f"churn of {row.system}: the first result changes in {100 * one.changed_first:.2f} % of all queries, "
                f"the set of the first 10 in {100 * one.changed_ten:.2f} %; their mean overlap is "
                f"{100 * one.overlap_ten:.2f} %; ties in input order"
            )
        for rows in self._by_metric():
            one = rows[0].comparison
            yield f"{one.metric}: {'lower' if one.lower_is_better else 'higher'} is better; {one.conventions}"
        holm = self.correct == "holm"
        yield (
            f"difference: from the baseline; interval: {first.n_samples} resamples of the queries; "
            f"p: paired randomisation test, two-sided{'' if holm else ', not corrected for the number of tests'}"
        )
        if holm:
            yield f"p Holm: corrected for {len(self)} tests by Holm's step-down method"


# ---- tables, as the program prints them ----

# Columns of CSV: the title in text, and the format of numbers in text. "" means plain, "+" with a sign.
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
    """Aligns metrics and systems to the left, and numbers to the right."""
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
    """Returns the shortest text with the same value; an empty text for NaN."""
    if math.isnan(value):
        return ""
    return next(text for digits in (15, 16, 17) if float(text := f"{value:.{digits}g}") == value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text


# ---- making comparisons ----


def _compare(
    dataset: Any,
    scores: Mapping[str, Any],
    metric: Any,
    like: str | None,
    correct: str,
    seed: int,
    how: Mapping[str, Any],
) -> Comparisons:
    """Compares struct rw_dataset scores by name; the baseline is the first."""
    if correct not in get_args(Correct):
        raise ParameterError(f"correct is {correct!r}; expected 'holm' or 'none'")
    baseline, *systems = scores
    params = Params({"metric": metric, "seed": seed, **how})
    params.measuring()  # checks all metrics
    found = []
    for one in params.get("metric").split(","):
        params.set("metric", one)  # one metric at a time, so that results do not depend on the other metrics
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
        raise DataError(f"{len(names)} {what}; expected 2 or more, the first of them as baseline")


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
    """Compare several rankings of the same documents with a baseline, like ``rankwood compare DATA --baseline A B C``.

    Parameters
    ----------
    data : Dataset
        Documents with labels and queries.
    systems : dict
        Scores of shape (n_docs,), or a :class:`Model`, by name. The first is the baseline; expected are 2 or more.
    metric : str or list of str, default "ndcg@10"
        Metrics, as in :func:`evaluate`.
    like : str or None, default None
        Program whose conventions apply, as in :func:`evaluate`.
    correct : {"holm", "none"}, default "holm"
        Correct the p-values of all systems and metrics with Holm's step-down method, or not.
    seed : int, default 1
        Seed of bootstrap samples and permutations.
    **how
        Conventions ``empty``, ``ties``, ``label_gain`` and ``relevant``, as in :func:`evaluate`.

    Returns
    -------
    Comparisons
        One row per metric and system.

    Raises
    ------
    DataError
        The number of scores differs from the number of documents, the data has no labels, or there are fewer than 2
        systems.
    ParameterError
        A metric or correction is unknown, or ``like`` is given for data with weights.

    Examples
    --------
    >>> found = rankwood.compare_all(valid, {"feature 0": X_valid[:, 0], "model": model})
    >>> found
    Comparisons(1 with 'feature 0', 1 tests)
    >>> found[0].comparison.difference > 0
    True
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
    r"""Compare TREC runs with a baseline run, like ``rankwood compare --qrels FILE --baseline A B C``.

    Parameters
    ----------
    qrels : str or path
        Judgments, as in :func:`evaluate_runs`.
    runs : list of paths, or dict
        Run files, or run files by name. The first is the baseline; expected are 2 or more.
    metric : str or list of str, default "ndcg@10"
        Metrics, as in :func:`evaluate`.
    like : str or None, default "trec"
        Program whose conventions apply. None applies ``how``.
    correct : {"holm", "none"}, default "holm"
        Correction of p-values, as in :func:`compare_all`.
    seed : int, default 1
        Seed of bootstrap samples and permutations.
    **how
        Conventions if ``like`` is None, as in :func:`evaluate`.

    Returns
    -------
    Comparisons
        One row per metric and run.

    Raises
    ------
    DataError
        A file is malformed, a run is listed twice, or there are fewer than 2 runs.
    FileError
        A file cannot be read.
    ParameterError
        A metric or correction is unknown.

    Examples
    --------
    >>> with open("qrels.txt", "w") as file:
    ...     _ = file.write("1 0 a 2\n1 0 b 0\n2 0 a 1\n2 0 b 0\n")
    >>> for name, scores in {"old.txt": (1, 2), "new.txt": (2, 1)}.items():
    ...     with open(name, "w") as file:
    ...         for query in (1, 2):
    ...             _ = file.write(f"{query} Q0 a 1 {scores[0]} run\n{query} Q0 b 2 {scores[1]} run\n")
    >>> rankwood.compare_runs("qrels.txt", ["old.txt", "new.txt"], "mrr")[0].comparison.difference
    0.5
    """
    if isinstance(runs, (str, os.PathLike)):
        runs = [runs]
    files = dict(runs) if isinstance(runs, Mapping) else {os.fspath(path): path for path in runs}
    _several(list(files), "runs")
    if len(files) < len(runs):
        raise DataError("a run is listed twice; expected different files, or a dictionary of files by name")
    c = _read_runs(qrels, [path_chars(path) for path in files.values()])
    scores = {str(name): c.runs[i].scores for i, name in enumerate(files)}
    return _compare(c.dataset, scores, metric, like, correct, seed, how)


# ---- conventions of other programs ----


@dataclass(frozen=True)
class AuditRow:
    """One metric as one program computes it.

    Attributes
    ----------
    like : str
        The program as an argument ``like`` of :func:`rankwood.evaluate`; ``"rankwood"`` for the given conventions.
    program : str
        Name of the program.
    metric : str
        The program's name of the metric.
    mean : float
        Mean of the metric; NaN if no query counts or the program refuses the data.
    n_counted : int
        Number of queries that count.
    conventions : str
        Conventions of the program; empty if it refuses the data.
    refused : str | None
        Why the program refuses the data; None if it does not.

    Examples
    --------
    >>> row = rankwood.audit(data, model).rows[0]
    >>> row.like, row.refused is None
    ('rankwood', True)
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
    """Result of :func:`audit`; iteration and ``len`` use its rows.

    Attributes
    ----------
    rows : list[AuditRow]
        One row per program and metric.
    n_docs : int
        Number of documents.
    n_queries : int
        Number of queries.
    n_empty : int
        Queries without a label over 0.
    n_single : int
        Queries with one document.
    n_tied : int
        Queries with equal scores for documents of different labels.
    n_falling : int
        Queries with labels that only fall in the order of the data. Programs that keep ties in this order give
        constant scores the best possible value there.
    n_rising : int
        Queries with labels that only rise in the order of the data.

    Examples
    --------
    >>> audit = rankwood.audit(data, model)
    >>> audit.n_queries, len(audit) == len(audit.rows)
    (60, True)
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
    """Measure one ranking with the conventions of LightGBM, XGBoost, CatBoost, RankLib, trec_eval and others.

    Parameters
    ----------
    dataset : Dataset
        Documents with labels and queries.
    scores : array of shape (n_docs,), Model or Ranker
        Scores of the documents, or a model that scores them.
    metric : str or list of str, default "ndcg@10"
        Metrics, as in :func:`rankwood.evaluate`.
    **how
        Conventions ``empty``, ``ties``, ``label_gain`` and ``relevant`` of the row ``"rankwood"``.

    Returns
    -------
    Audit
        One row per program and metric. The row of a program that refuses the data contains the reason.

    Raises
    ------
    ParameterError
        A metric is unknown.
    DataError
        The number of scores differs from the number of documents, or the data has no labels.

    Examples
    --------
    >>> rows = {row.like: row for row in rankwood.audit(valid, model)}
    >>> rows["lightgbm"].program
    'LightGBM'
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
