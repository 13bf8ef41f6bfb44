"""One ranking under the conventions of every program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rankwood._core import check, context, ffi, lib, made, text
from rankwood._dataset import Dataset
from rankwood._evaluate import _scores
from rankwood._params import Params


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
    check(lib.rw_params_check_eval(context(), params.c))
    out = ffi.new("struct rw_audit **")
    given = ffi.cast("double *", values.ctypes.data)
    settings = lib.rw_params_eval(params.c)
    status = lib.rw_audit_new(context(), settings, dataset._documents(), given, out)
    c = made(status, out, lib.rw_audit_free)
    rows = []
    for i in range(c.n_rows):
        row = c.rows[i]
        refused = text(row.refused) if row.refused != ffi.NULL else None
        rows.append(
            AuditRow(
                text(row.like),
                text(row.program),
                text(row.metric),
                row.mean,
                row.n_counted,
                text(row.conventions),
                refused,
            )
        )
    return Audit(
        rows, c.n_docs, c.n_queries, c.n_empty, c.n_single, c.n_tied, c.n_falling, c.n_rising
    )
