"""Several rankings against one of them, the baseline."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from rankwood._core import DataError, ParameterError, chars, check, context, ffi, lib, made, need, path_chars
from rankwood._dataset import Dataset
from rankwood._evaluate import Comparison, _scores, comparison_of
from rankwood._params import Params

Correct = Literal["holm", "none"]
Format = Literal["text", "csv", "latex"]
Path = str | os.PathLike[str]


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
        print_it = {"text": self._text, "csv": self._csv, "latex": self._latex}[format]
        return "".join(f"{line}\n" for line in print_it())

    def _by_metric(self) -> list[list[Compared]]:
        n = len(self.systems)
        return [self._rows[at : at + n] for at in range(0, len(self._rows), n)]

    # ---- text ----

    def _text(self) -> Iterator[str]:
        width = max(8, *(len(name.encode()) for name in [self.baseline, *self.systems]))
        yield f"baseline  {self.baseline}"
        for rows in self._by_metric():
            yield from self._metric_text(rows, width)
        yield ""
        by_holm = f"; p Holm: by Holm's step-down, tests: {len(self)}"
        tests = by_holm if self.correct == "holm" else ", not corrected for the number of tests"
        yield (
            f"difference: from the baseline; interval: {self._rows[0].comparison.n_samples} resamples of the queries; "
            f"p: paired randomisation test, two-sided{tests}"
        )

    def _metric_text(self, rows: list[Compared], width: int) -> Iterator[str]:
        first = rows[0].comparison
        holm = self.correct == "holm"
        yield ""
        yield f"{first.metric}: {first.n_queries} queries, {'lower' if first.lower_is_better else 'higher'} is better"
        names = "  ".join(f"{name:>10}" for name in ("mean", "difference", "2.5 %", "97.5 %"))
        p_names = f"{'p':>7}{'   p Holm' if holm else ''}"
        yield f"{'':{width}}  {names}  {p_names}  {'better':>6} {'equal':>6} {'worse':>6}"
        yield f"{_padded(self.baseline, width)}  {_figure(first.mean_a):>10}"
        for row in rows:
            one = row.comparison
            p = f"{one.p:7.4f}" + (f"  {row.p_corrected:7.4f}" if holm else "")
            figures = "  ".join(f"{_signed(value):>10}" for value in (one.difference, one.low, one.high))
            counts = f"{one.n_wins:6} {one.n_ties:6} {one.n_losses:6}"
            yield f"{_padded(row.system, width)}  {_figure(one.mean_b):>10}  {figures}  {p}  {counts}"
        yield first.conventions

    # ---- CSV and LaTeX ----

    def _csv(self) -> Iterator[str]:
        yield "metric,system,queries,mean,difference,low,high,p,p_corrected,better,equal,worse"
        for rows in self._by_metric():
            first = rows[0].comparison
            yield f"{_quoted(first.metric)},{_quoted(self.baseline)},{first.n_queries},{_exact(first.mean_a)},,,,,,,,"
            for row in rows:
                one = row.comparison
                values = (one.mean_b, one.difference, one.low, one.high, one.p, row.p_corrected)
                counts = f"{one.n_wins},{one.n_ties},{one.n_losses}"
                head = f"{_quoted(one.metric)},{_quoted(row.system)},{one.n_queries}"
                yield f"{head},{','.join(map(_exact, values))},{counts}"

    def _latex(self) -> Iterator[str]:
        metrics = self._by_metric()
        yield "\\begin{tabular}{l" + "r" * len(metrics) + "}"
        yield "\\hline"
        yield "".join(f" & {_tex(rows[0].comparison.metric)}" for rows in metrics) + " \\\\"
        yield "\\hline"
        yield _tex(self.baseline) + "".join(f" & {_cell(rows[0].comparison.mean_a, 1)}" for rows in metrics) + " \\\\"
        for at, name in enumerate(self.systems):
            cells = (f" & {_cell(rows[at].comparison.mean_b, rows[at].p_corrected)}" for rows in metrics)
            yield _tex(name) + "".join(cells) + " \\\\"
        yield "\\hline"
        yield "\\end{tabular}"
        by_holm = f"Holm's step-down, tests: {len(self)}"
        how = by_holm if self.correct == "holm" else "not corrected for the number of tests"
        yield (
            "% * p < .05, ** p < .01 against the first row: paired randomisation test over "
            f"{self._rows[0].comparison.n_queries} queries, two-sided, {how}"
        )


# ---- figures, as the program prints them ----


def _padded(name: str, width: int) -> str:
    return name + " " * (width - len(name.encode()))


def _figure(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.6f}" if abs(value) < 1e9 else f"{value:.9g}"


def _signed(value: float) -> str:
    return ("+" if value >= 0 else "") + _figure(value)


def _exact(value: float) -> str:
    """Nothing where there is no number."""
    if math.isnan(value):
        return ""
    return next(text for digits in (15, 16, 17) if float(text := f"{value:.{digits}g}") == value)


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search('[",\r\n]', text) else text


def _tex(text: str) -> str:
    special = {"\\": "\\textbackslash{}", "~": "\\~{}", "^": "\\^{}"}
    return re.sub(r"[&%$#_{}\\~^]", lambda found: special.get(found[0], "\\" + found[0]), text)


def _cell(mean: float, p: float) -> str:
    return "-" if math.isnan(mean) else f"{mean:.4f}{'$^{**}$' if p < 0.01 else '$^{*}$' if p < 0.05 else ''}"


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
    check(lib.rw_params_check_eval(context(), params.c))
    found = []
    for one in params.get("metric").split(","):
        params.set("metric", one)  # by each alone: its figures do not depend on which others there are
        settings = lib.rw_params_eval(params.c)
        program = ffi.NULL if like is None else chars(like)
        for name in systems:
            out = ffi.new("struct rw_comparison **")
            status = lib.rw_compare_like(
                context(), settings, dataset, scores[baseline], scores[name], ffi.NULL, program, out
            )
            found.append((name, comparison_of(made(status, out, lib.rw_comparison_free))))
    p = np.array([comparison.p for _, comparison in found])
    if correct == "holm":
        check(lib.rw_holm(context(), ffi.cast("double *", p.ctypes.data), len(p)))
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
    held = {name: ffi.cast("double *", one.ctypes.data) for name, one in values.items()}
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
    paths = [ffi.new("char[]", path_chars(path)) for path in files.values()]
    read = ffi.new("struct rw_qrels **")
    c = made(lib.rw_qrels_read(context(), path_chars(qrels), paths, len(paths), read), read, lib.rw_qrels_free)
    scores = {str(name): c.runs[i].scores for i, name in enumerate(files)}
    return _compare(c.dataset, scores, metric, like, correct, seed, how)
