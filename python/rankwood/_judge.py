"""Labels and propensities from click logs, as ``rankwood judge`` makes them."""

from __future__ import annotations

import csv
import os
import re
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwood._core import (
    DataError,
    DataTypeError,
    ParameterError,
    c_strings,
    c_struct,
    chars,
    check,
    context,
    ffi,
    lib,
    made,
    path_chars,
    text,
)
from rankwood._tables import open_parquet
from rankwood._training import write_propensities

_COLUMNS = ("session", "query", "document", "position", "click")


@dataclass(frozen=True)
class Judged:
    """Result of :func:`judge`.

    Attributes
    ----------
    labels : dict of str to list or array
        Columns with a row per document of a query: ``query``, ``document``, ``grade``, ``rate`` (clicks per examined
        impression), ``low`` and ``high`` (its 95 % interval), ``impressions``, ``clicks`` and ``examined``.
        ``pandas.DataFrame(judged.labels)`` makes a data frame.
    positions : dict of str to array
        Columns with a row per displayed position: ``position``, ``impressions``, ``clicks``, ``propensity`` (relative
        to the first position), and its 95 % interval ``low`` and ``high``.
    thresholds : list of float
        Smallest rates of the grades 1, 2, ...
    left_out : int
        Documents of queries with fewer than ``min_impressions`` impressions.
    continuation : float
        Probability that a user who is not satisfied continues; NaN unless the model is ``"dbn"``.

    Examples
    --------
    >>> place, session = np.tile([1, 2, 3, 4], 300), np.arange(1200) // 4
    >>> log = {"session": session, "query": ["q"] * 1200, "document": (place + session) % 4}
    >>> log |= {"position": place, "click": np.arange(1200) % 7 < 4 / place}
    >>> judged = rankwood.judge(log)
    >>> judged.thresholds == sorted(judged.thresholds)
    True
    """

    labels: dict[str, Any]
    positions: dict[str, Any]
    thresholds: list[float]
    left_out: int
    continuation: float

    def save_propensities(self, path: str | os.PathLike[str]) -> None:
        """Write the propensities to a file for the parameter ``propensities`` of a training.

        Propensities below 1/1024 are written as 1/1024, the limit of the file, with a warning.

        Parameters
        ----------
        path : str or path
            File to write.

        Returns
        -------
        None

        Raises
        ------
        OSError
            The file cannot be written.

        Examples
        --------
        >>> place, session = np.tile([1, 2, 3, 4], 300), np.arange(1200) // 4
        >>> log = {"session": session, "query": ["q"] * 1200, "document": (place + session) % 4}
        >>> log |= {"position": place, "click": np.arange(1200) % 7 < 4 / place}
        >>> rankwood.judge(log).save_propensities("propensities.txt")
        """
        limited = np.clip(self.positions["propensity"], 2.0**-10, 2.0**10)
        if (limited != self.positions["propensity"]).any():
            warnings.warn("propensities beyond 1/1024 to 1024 are written as these limits", stacklevel=2)
        write_propensities(path, self.positions["position"], limited)


def _cells(table: Any, name: str) -> list[Any]:
    column = table[name]
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, method):
            return list(getattr(column, method)())
    return list(column)


def _cell(value: Any) -> Any:
    """Converts a value for the file: true to 1, 3.0 to 3, and a missing value to an empty cell."""
    if value is None or value != value:
        return ""
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _write_table(table: Any, columns: Sequence[str], path: str) -> None:
    names = list(getattr(table, "column_names", None) or (table.columns if hasattr(table, "columns") else table))
    absent = [name for name in columns if name not in names]
    if absent == ["session"] and tuple(columns) == _COLUMNS:
        columns, absent = columns[1:], []
    if absent:
        raise DataError(f"the log has no column {absent[0]!r}")
    cells = [_cells(table, name) for name in columns]
    if len({len(one) for one in cells}) > 1:
        raise DataError("the columns of the log differ in length")
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([_cell(value) for value in row] for row in zip(*cells, strict=True))


def _in_rows(message: str, path: str, name: str) -> str:
    """Replaces the lines of a file that was written for a table by the table's rows, from 1."""
    file = re.escape(path)
    message = re.sub(rf"line (\d+) of '{file}'", lambda line: f"row {int(line[1]) - 1} of {name}", message)
    message = re.sub(rf"{file}:1:\d+", name, message)  # the columns
    message = re.sub(rf"{file}:(\d+):\d+", lambda line: f"{name}, row {int(line[1]) - 1}", message)
    return message.replace(f"'{path}'", name)


def _read_parquet(path: Any, columns: Sequence[str]) -> Any:
    with open_parquet(os.fsdecode(path)) as file:
        return file.read(columns=[name for name in columns if name in file.schema_arrow.names])


def judge(
    log: Any,
    model: str = "pbm",
    *,
    columns: Sequence[str] = _COLUMNS,
    min_impressions: int = 10,
    prior: float = 1.0,
    satisfaction: bool = False,
    thresholds: Sequence[float] | None = None,
) -> Judged:
    """Make graded labels and propensities from a click log, like ``rankwood judge``.

    Parameters
    ----------
    log : str, path, list of paths, or table
        CSV, TSV or Parquet files, a pandas or polars data frame, an Arrow table, or a dict of columns. It has a row per
        displayed document, with the columns session, query, document, position (from 1) and click (0 or 1). Without
        the column ``session``, repeated rows are not detected.
    model : {"pbm", "dbn", "ctr"}, default "pbm"
        Model of the users. ``"pbm"``: the position decides whether a document is examined. ``"dbn"``: users read from
        the top and stop when satisfied. ``"ctr"``: clicks per impression, without correction.
    columns : sequence of str, default ("session", "query", "document", "position", "click")
        Names of the columns, in this order, or of the last four if the log has no sessions.
    min_impressions : int, default 10
        Documents of a query with fewer impressions get no label; at least 1.
    prior : float, default 1
        Examined impressions with the mean rate that are added to each document, 0 to 1e6.
    satisfaction : bool, default False
        With ``"dbn"``: count only clicks that end the search, with a probability of its own for each document.
    thresholds : sequence of float, default None
        Smallest rates of the grades 1, 2, ..., rising. None: four, chosen so that the gain of a grade is proportional
        to its rate.

    Returns
    -------
    Judged
        Labels, positions and thresholds.

    Raises
    ------
    FileError
        A file cannot be read.
    DataError
        A row is malformed, a session has a document or a position twice, or the log does not determine the estimates:
        no clicks, only clicks, or documents that are always at the same position.
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> place, session = np.tile([1, 2, 3, 4], 300), np.arange(1200) // 4
    >>> log = {"session": session, "query": ["q"] * 1200, "document": (place + session) % 4}
    >>> log |= {"position": place, "click": np.arange(1200) % 7 < 4 / place}
    >>> judged = rankwood.judge(log, min_impressions=20)
    >>> float(judged.positions["propensity"][0])
    1.0
    """
    columns = [columns] if isinstance(columns, str) else list(columns)
    if not all(isinstance(name, str) and name and "," not in name for name in columns):
        raise ParameterError(f"columns={columns!r}: expected names without commas")
    if not isinstance(min_impressions, (int, np.integer)) or not 1 <= min_impressions < 2**32:
        raise ParameterError(f"min_impressions={min_impressions!r}: expected a whole number of at least 1")
    limits = None if thresholds is None else chars(",".join(repr(float(one)) for one in thresholds))
    texts = {"model": chars(model), "columns": chars(",".join(columns)), "thresholds": limits}
    how, _held = c_struct(
        "rw_judge", texts, min_impressions=int(min_impressions), prior=float(prior), use_satisfaction=bool(satisfaction)
    )
    check(lib.rw_judge_check(context(), how))
    is_table = isinstance(log, Mapping) or hasattr(log, "columns")
    given = [log] if is_table or isinstance(log, (str, bytes, os.PathLike)) else log
    if not isinstance(given, (list, tuple)) or not given:
        raise DataTypeError(f"log is a {type(log).__name__}; expected paths or a table")
    for one in () if is_table else given:
        if not isinstance(one, (str, bytes, os.PathLike)):
            raise DataTypeError(f"log has a {type(one).__name__}; expected paths, or one table with all rows")
    with tempfile.TemporaryDirectory(prefix="rankwood-") as folder:
        paths, written = [], {}
        for i, one in enumerate(given):
            is_parquet = not is_table and os.fsdecode(one).endswith(".parquet")
            if is_table or is_parquet:
                paths.append(os.path.join(folder, f"log{i}.csv"))
                written[paths[-1]] = "the log" if is_table else f"'{os.fsdecode(one)}'"
                _write_table(_read_parquet(one, columns) if is_parquet else one, columns, paths[-1])
            else:
                paths.append(one)
        names, _names = c_strings([path_chars(path) for path in paths])
        out = ffi.new("struct rw_judged **")
        try:
            c = made(lib.rw_judge_new(context(), how, names, len(paths), out), out, lib.rw_free)
        except DataError as failure:
            message = str(failure)
            for path, name in written.items():
                message = _in_rows(message, path, name)
            raise DataError(message) from None
    return _judged(c)


def _judged(c: Any) -> Judged:
    labels = [c.label[i] for i in range(c.n_labels)]
    positions = [c.position[k] for k in range(c.n_positions)]
    return Judged(
        labels={
            "query": [text(one.query) for one in labels],
            "document": [text(one.document) for one in labels],
            "grade": np.array([one.grade for one in labels], np.int32),
            "rate": np.array([one.rate for one in labels]),
            "low": np.array([one.low for one in labels]),
            "high": np.array([one.high for one in labels]),
            "impressions": np.array([one.n_impressions for one in labels], np.uint64),
            "clicks": np.array([one.n_clicks for one in labels], np.uint64),
            "examined": np.array([one.n_examined for one in labels]),
        },
        positions={
            "position": np.array([one.position for one in positions], np.uint32),
            "impressions": np.array([one.n_impressions for one in positions], np.uint64),
            "clicks": np.array([one.n_clicks for one in positions], np.uint64),
            "propensity": np.array([one.propensity for one in positions]),
            "low": np.array([one.low for one in positions]),
            "high": np.array([one.high for one in positions]),
        },
        thresholds=[c.threshold[g] for g in range(c.n_thresholds)],
        left_out=int(c.n_left_out),
        continuation=float(c.continuation),
    )
