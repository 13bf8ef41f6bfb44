"""Prints docs/reference/python.md from the docstrings of the package, which it parses without importing it.

    python docs/make_python.py > docs/reference/python.md
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python/rankwood"
PLACE = "(one entry per parameter, from the library's table)"  # as in rankwood/_params.py

# The page's sections: title, an introduction, and names. A name may have a module of the package before a dot.
SECTIONS: list[tuple[str, str, str]] = [
    ("Data", "", "Dataset check doctor judge synth"),
    ("Training", "", "train verify params Ranker scorer cv split_by_time select tune"),
    ("Models", "", "Model"),
    ("Measuring and comparing", "", "evaluate evaluate_runs compare compare_all compare_runs audit"),
    ("Parameters of other trainers", "See also [the table of names](migrating.md).",
     "from_lightgbm from_xgboost from_catboost"),
    ("Plots", "The functions of `rankwood.plot` need matplotlib (extra `plot`). Each draws on the axes `ax` and "
     "returns them; without `ax` it creates a figure.",
     "plot.learning_curves plot.position_bias plot.importance plot.per_query plot.tree plot.partial_dependence "
     "plot.shap_summary"),
    ("Several workers", "See [how to train on several GPUs](../how-to/several-gpus.md).",
     "workers Workers Carrier zmq.workers torch.workers mpi.workers"),
    ("Dask, Ray and Spark",
     "Modules `rankwood.dask`, `rankwood.ray` and `rankwood.spark` need the extras of the same names.",
     "dask.Dataset dask.train dask.Ranker ray.train spark.train"),
    ("MLflow and Optuna", "Modules `rankwood.mlflow` and `rankwood.optuna` need the extras of the same names.",
     "mlflow.autolog mlflow.log_model mlflow.load_model optuna.PruningCallback"),
    ("Results", "Functions return instances of these classes, and callbacks get a `Round`.",
     "Evaluation Measured Comparison Compared Comparisons Audit AuditRow Explanation Permuted Spread Calibration "
     "Pruned PrunedRow CrossValidation Fold Selected SelectedRow SelectedDifference Tuned PositionBias Round Parameter "
     "DataCheck Drift FeatureCheck Finding Judged"),
    ("Errors", "Rankwood's own errors are `RankwoodError` and the builtin exception that fits them. A missing optional "
     "package is an `ImportError`, and Ctrl-C a `KeyboardInterrupt`.",
     "RankwoodError DataError DataTypeError ParameterError ParameterTypeError FormatError FileError OutOfMemoryError "
     "UnsupportedError WorkerError InternalError NoEffectWarning"),
]  # fmt: skip

HEAD = """# Python API

Every public function and class of the package `rankwood`, with its arguments, results and errors. New to the package? \
Start with the [tutorial](../tutorials/data-frame.md) or the [Python guide](../how-to/python.md).

`help(rankwood.train)` shows the same text in Python, with all training parameters. This page is made from the \
docstrings: `python docs/make_python.py > docs/reference/python.md`.

The examples use these objects, made from synthetic data:
"""


MODULES = ("dask", "mlflow", "mpi", "optuna", "plot", "ray", "spark", "torch", "zmq")  # optional ones


def _definitions() -> dict[str, ast.ClassDef | ast.FunctionDef]:
    """Returns public definitions by name; those of optional modules have the module's name."""
    found: dict[str, ast.ClassDef | ast.FunctionDef] = {}
    for path in sorted(PACKAGE.glob("*.py")):
        prefix = f"{path.stem}." if path.stem in MODULES else ""
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_"):
                found.setdefault(prefix + node.name, node)
    return found


DEFINITIONS = _definitions()
SHOWN = [name for _, _, names in SECTIONS for name in names.split()]


def _title(name: str) -> str:
    return f"class {name}" if isinstance(DEFINITIONS[name], ast.ClassDef) else name


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _link(found: re.Match[str]) -> str:
    name = found[1].removeprefix("rankwood.")
    if name in METHODS:
        return f"[`{name}`](#{_anchor(name)})"
    shown = name if name in SHOWN else name.partition(".")[0]
    return f"[`{name}`](#{_anchor(_title(shown))})" if shown in SHOWN else f"`{name}`"


def _plain(text: str) -> str:
    """Returns reStructuredText as Markdown."""
    text = re.sub(r":(?:class|func|meth|attr):`([^`]*)`", _link, text)
    text = text.replace("``", "`")
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"\b(None|True|False|NaN)\b", r"`\1`", parts[i]).replace("<", "&lt;").replace("_", r"\_")
    return "".join(parts)


def _sections(doc: str) -> list[tuple[str, list[str]]]:
    out: list[tuple[str, list[str]]] = [("", [])]
    lines = doc.splitlines()
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and line and lines[i + 1] == "-" * len(line):
            out.append((line, []))
        elif not re.fullmatch("-{3,}", line):
            out[-1][1].append(line)
    return out


def _prose(lines: list[str]) -> str:
    """Returns paragraphs, each on one line."""
    paragraphs = re.split(r"\n\s*\n", "\n".join(lines).strip())
    return "\n\n".join(_plain(" ".join(one.split())) for one in paragraphs)


def _entries(lines: list[str]) -> str:
    """Returns the entries of a section as a list."""
    out: list[str] = []
    head, text = "", list[str]()

    def flush() -> None:
        if head:
            name, _, kind = head.partition(" : ")
            names = ", ".join(f"`{one}`" for one in name.split(", "))
            kind = f" ({_plain(kind)})" if kind else ""
            out.append(f"- **{names}**{kind}: {_plain(' '.join(text))}")

    for line in lines:
        if line and not line.startswith(" "):
            flush()
            head, text = line, []
        elif line.strip():
            text.append(line.strip())
    flush()
    return "\n".join(out)


def _examples(lines: list[str]) -> str:
    kept = [re.sub(r"\s*# doctest: .*", "", line) for line in lines]
    return "```pycon\n" + "\n".join(kept).strip() + "\n```"


def _body(doc: str, members: list[str]) -> str:
    out = []
    for title, lines in _sections(doc):
        if title == "":
            out.append(_prose(lines))
        elif title == "Examples":
            out.append(_examples(lines))
        elif title == "Training parameters":
            out.append("The page on [parameters](parameters.md) lists all training parameters.")
        elif title in ("Notes", "See Also"):
            text = _prose(lines) if title == "Notes" else ""
            out.append(text)
        elif title == "Returns" and lines[0].strip() == "None":
            continue
        else:
            kept = [line for line in lines if line.strip() != PLACE]
            if len(kept) < len(lines):
                out.append("All [training parameters](parameters.md) are arguments, with `_` for `-`. The others are:")
            out.append(f"{title}:\n\n{_entries(kept)}")
    if members:
        out.append("Properties:\n\n" + "\n".join(members))
    return "\n\n".join(one for one in out if one)


def _signature(name: str, node: ast.FunctionDef) -> str:
    """Returns the call with its defaults, without types."""
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    text = re.sub(r"^(self|cls)(, )?", "", ast.unparse(node.args))
    call = f"{name}({text})"
    if len(call) <= 100:
        return f"```text\n{call}\n```"
    arguments = re.split(r", (?![^(\[]*[)\]])", text)
    return "```text\n" + f"{name}(\n    " + ",\n    ".join(arguments) + ",\n)\n```"


def _decorated(node: ast.FunctionDef, word: str) -> bool:
    return any(word in ast.unparse(one) for one in node.decorator_list)


def _methods(name: str, node: ast.ClassDef) -> list[ast.FunctionDef]:
    own = [one for one in node.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    if name == "Model":  # methods of the base class, which is not public
        scorer = DEFINITIONS["Scorer"]
        own += [one for one in scorer.body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]
    return own


METHODS = {
    f"{name}.{one.name}"
    for name in SHOWN
    if isinstance(node := DEFINITIONS[name], ast.ClassDef)
    for one in _methods(name, node)
    if not _decorated(one, "property")
}


def _one(name: str) -> str:
    node = DEFINITIONS[name]
    out = [f"### {_title(name)}"]
    doc = ast.get_docstring(node) or ""
    if isinstance(node, ast.FunctionDef):
        return "\n\n".join([*out, _signature(f"rankwood.{name}", node), _body(doc, [])])
    methods = _methods(name, node)
    init = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if init is not None and name == "Dataset":
        out.append(_signature(f"rankwood.{name}", init))
    properties = [
        f"- **`{one.name}`**: {_plain(' '.join((ast.get_docstring(one) or '').split()))}"
        for one in methods
        if _decorated(one, "property")
    ]
    out.append(_body(doc, properties))
    for one in methods:
        if not _decorated(one, "property"):
            full = f"{name}.{one.name}"
            out += [f"#### {full}", _signature(full, one), _body(ast.get_docstring(one) or "", [])]
    return "\n\n".join(out)


def page() -> str:
    """Returns the page."""
    package = ast.get_docstring(ast.parse((PACKAGE / "__init__.py").read_text("utf-8"))) or ""
    out = [HEAD + "\n" + _examples(dict(_sections(package))["Examples"])]
    for title, text, names in SECTIONS:
        out += [f"## {title}", *([text] if text else []), *(_one(name) for name in names.split())]
    return "\n\n".join(out) + "\n"


if __name__ == "__main__":
    print(page(), end="")
