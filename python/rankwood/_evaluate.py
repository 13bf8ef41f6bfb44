"""Measuring rankings, and comparing them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _columns
from rankwood._core import DataError, chars, check, context, ffi, lib, made, path_chars, text
from rankwood._dataset import Dataset, need_labels
from rankwood._model import Model
from rankwood._params import Params

Floats = npt.NDArray[np.float64]


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
    check(lib.rw_params_check_eval(context(), params.c))
    settings = lib.rw_params_eval(params.c)
    out = ffi.new("struct rw_eval **")
    c, given = data._documents(), ffi.cast("double *", values.ctypes.data)
    if like is None:
        status = lib.rw_evaluate(context(), settings, c, given, out)
    else:
        status = lib.rw_evaluate_like(context(), settings, c, given, chars(like), out)
    return evaluation_of(made(status, out, lib.rw_eval_free))


def evaluation_of(measured: Any) -> Evaluation:
    """What a struct rw_eval holds, copied."""
    metrics = []
    for i in range(measured.n_metrics):
        one = measured.metrics[i]
        per_query = np.frombuffer(ffi.buffer(one.per_query, 8 * measured.n_queries), np.float64).copy()
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
    names = [ffi.new("char[]", path_chars(path)) for path in paths]
    params = Params({"metric": metric, **how})
    check(lib.rw_params_check_eval(context(), params.c))
    settings = lib.rw_params_eval(params.c)
    read = ffi.new("struct rw_qrels **")
    status = lib.rw_qrels_read(context(), path_chars(qrels), names, len(names), read)
    c = made(status, read, lib.rw_qrels_free)
    evaluations = []
    for i in range(len(names)):
        out = ffi.new("struct rw_eval **")
        if like is None:
            status = lib.rw_evaluate(context(), settings, c.dataset, c.runs[i].scores, out)
        else:
            status = lib.rw_evaluate_like(context(), settings, c.dataset, c.runs[i].scores, chars(like), out)
        evaluations.append(evaluation_of(made(status, out, lib.rw_eval_free)))
    return evaluations


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
    out = ffi.new("struct rw_comparison **")
    status = lib.rw_compare_like(
        context(),
        lib.rw_params_eval(params.c),
        data._documents(),
        ffi.cast("double *", scores_a.ctypes.data),
        ffi.cast("double *", scores_b.ctypes.data),
        ffi.NULL,
        ffi.NULL if like is None else chars(like),
        out,
    )
    return comparison_of(made(status, out, lib.rw_comparison_free))


def comparison_of(c: Any) -> Comparison:
    """What a struct rw_comparison holds of all queries, copied."""
    one = c.all
    return Comparison(
        text(c.metric),
        one.mean_a,
        one.mean_b,
        one.difference,
        one.low,
        one.high,
        one.p,
        one.n_wins,
        one.n_ties,
        one.n_losses,
        text(c.conventions),
        one.n_queries,
        bool(c.lower_is_better),
        c.n_samples,
    )
