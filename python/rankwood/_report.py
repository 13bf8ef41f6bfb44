"""A model on one page: the web page of `rankwood report`, and the few lines of a notebook."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from typing import Any

from rankwood._core import chars, check, context, ffi, lib, path_chars, whole
from rankwood._dataset import Dataset
from rankwood._evaluate import need_labels
from rankwood._handles import check_apart
from rankwood._model import Model
from rankwood._params import Params

_MOST_FEATURES = 10


def report(
    model: Model,
    path: str | os.PathLike[str] | None,
    data: Dataset,
    metric: str | Sequence[str],
    title: str | None,
    n_trees: int,
    n_repeats: int,
    like: str | None,
    how: dict[str, Any],
) -> str | None:
    """See Model.report."""
    need_labels(data, "data")
    if path is not None:
        check_apart(path, data)
    n_trees, n_repeats = whole(n_trees, "n_trees", 0, 100), whole(n_repeats, "n_repeats", 0, 1000)
    if path is None:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="rankwood-") as folder:
            file = os.path.join(folder, "report.html")
            report(model, file, data, metric, title, n_trees, n_repeats, like, how)
            with open(file, encoding="utf-8", errors="replace") as written:
                return written.read()
    params = Params({"metric": metric, **how})
    check(lib.rw_params_check_eval(context(), params.c))
    options = ffi.new("struct rw_report_options *")
    texts = {"title": title, "like": like, "data_name": _name(data)}
    held = {name: ffi.new("char[]", chars(value)) for name, value in texts.items() if value is not None}
    for name, value in held.items():
        setattr(options, name, value)
    options.n_trees, options.n_repeats = n_trees, n_repeats
    out = ffi.new("struct rw_out_file *")
    c = model._values_of(data)
    settings = lib.rw_params_eval(params.c)
    check(lib.rw_out_file_open(context(), out, path_chars(path)))
    try:
        check(lib.rw_report(context(), settings, model._c, c, options, out.file))
        check(lib.rw_out_file_commit(context(), out))
    finally:
        lib.rw_out_file_abandon(out)
    return None


def _name(data: Dataset) -> str | None:
    """What the page calls the data: the files it is of."""
    return None if data._paths is None else ", ".join(os.fsdecode(path) for path in data._paths)


def _table(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in heads)
    body = ""
    for row in rows:
        body += "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html(model: Model) -> str:
    """What the model is, for a notebook: no script, no style, all text escaped."""
    params = model.params
    facts = [f"{model.n_trees} trees"]
    if "objective" in params:
        facts.append(f"objective {params['objective']}")
    if model.best_round:
        facts.append(f"best round {model.best_round}")
    if not model.finished:
        facts.append("interrupted: the best until then")
    out = [f"<p><b>rankwood.Model</b>: {escape(', '.join(facts))}</p>"]
    metrics = [
        (name, metric, f"{values[at]:.5f}")
        for name, by_metric in model.evals_result.items()
        for metric, values in by_metric.items()
        if (at := (model.best_round or len(values)) - 1) in range(len(values))
    ]
    if metrics:
        out.append(_table(metrics, ("set", "metric", "value")))
    gains = model.importance()
    total = sum(gains.values())
    splits = model.importance("splits")
    shown = list(gains.items())[:_MOST_FEATURES]
    if shown and total > 0:
        rows = [(name, f"{100 * gain / total:.1f} %", int(splits[name])) for name, gain in shown]
        out.append(_table(rows, ("feature", "gain", "splits")))
        if len(gains) > len(shown):
            out.append(f"<p>and {len(gains) - len(shown)} more features</p>")
    return f"<div>{''.join(out)}</div>"
