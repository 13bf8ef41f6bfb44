"""Docstrings: every public name has numpydoc sections that name each argument, and its examples run."""

from __future__ import annotations

import contextlib
import dataclasses
import doctest
import importlib
import inspect
import pkgutil
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rankwood
from rankwood import _params, plot
from rankwood._core import text

LAUNCHERS = {"rankwood.dask": ["Dataset", "Ranker", "train"], "rankwood.mpi": ["workers"],
             "rankwood.ray": ["train"], "rankwood.spark": ["train"], "rankwood.torch": ["workers"],
             "rankwood.zmq": ["workers"], "rankwood.mlflow": ["autolog", "load_model", "log_model"],
             "rankwood.optuna": ["PruningCallback"]}  # fmt: skip
PLOTS = [
    "learning_curves", "position_bias", "importance", "per_query", "tree", "partial_dependence", "shap_summary",
]  # fmt: skip
CARRIER = "Carrier."  # subclasses define its methods, so they have no examples


def public() -> Iterator[tuple[str, Any]]:
    for name in rankwood.__all__:
        yield name, getattr(rankwood, name)
    for name in PLOTS:
        yield f"plot.{name}", getattr(plot, name)
    for module, names in LAUNCHERS.items():
        with contextlib.suppress(ImportError):  # an optional package is missing
            for name in names:
                yield f"{module.removeprefix('rankwood.')}.{name}", getattr(importlib.import_module(module), name)


def members() -> Iterator[tuple[str, Any]]:
    for name, one in public():
        if not inspect.isclass(one):
            continue
        ours = [kind for kind in reversed(one.__mro__) if kind.__module__.startswith("rankwood")]
        for member, value in {key: value for kind in ours for key, value in vars(kind).items()}.items():
            is_ours = isinstance(value, (classmethod, property)) or inspect.isfunction(value)
            if is_ours and not member.startswith("_") and not member.startswith("set_"):  # set_fit_request: sklearn's
                yield f"{name}.{member}", value.__func__ if isinstance(value, classmethod) else value


ALL = dict([*public(), *members()])
CALLED = [name for name, one in ALL.items() if inspect.isfunction(one)]
CLASSES = [name for name, one in ALL.items() if inspect.isclass(one)]


def sections(doc: str | None) -> dict[str, list[str]]:
    """Returns the lines of each numpydoc section; the text before the first one is "Summary"."""
    out: dict[str, list[str]] = {"Summary": []}
    lines = inspect.cleandoc(doc or "").splitlines()
    now = "Summary"
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and line and lines[i + 1] == "-" * len(line):
            now = line
            out[now] = []
        elif not re.fullmatch("-{3,}", line):
            out[now].append(line)
    return out


def described(lines: list[str]) -> list[str]:
    """Returns the names of a section's entries. An entry has a type, and a description below."""
    names = []
    for i, line in enumerate(lines):
        if line and not line.startswith(" "):
            assert i + 1 < len(lines) and lines[i + 1].startswith("    "), f"{line!r} has no description"
            names += [name.strip().lstrip("*") for name in line.partition(" : ")[0].split(",")]
    return names


def test_there_are_many() -> None:
    assert len(ALL) > 70 and "Model.predict" in ALL and "Dataset.label" in ALL and "Model.load" in ALL


@pytest.mark.parametrize("name", ALL)
def test_summary(name: str) -> None:
    """The first paragraph is a sentence."""
    doc = ALL[name].__doc__
    assert doc and not doc.startswith(f"{ALL[name].__class__.__name__}(")
    assert " ".join(sections(doc)["Summary"]).strip().endswith((".", ":"))


@pytest.mark.parametrize("name", CALLED)
def test_sections(name: str) -> None:
    found = sections(ALL[name].__doc__)
    arguments = [one for one in inspect.signature(ALL[name]).parameters if one not in ("self", "cls")]
    assert described(found.get("Parameters", [])) == arguments
    if arguments:
        assert "Returns" in found or "Yields" in found
        assert name == "Carrier.abort" or described(found["Raises"])
    assert name.startswith(CARRIER) or ">>>" in "\n".join(found["Examples"])


@pytest.mark.parametrize("name", CLASSES)
def test_class_sections(name: str) -> None:
    one = ALL[name]
    found = sections(one.__doc__)
    assert ">>>" in "\n".join(found["Examples"])
    if issubclass(one, (Exception, Warning)):
        return
    listed = described(found.get("Parameters", [])) + described(found.get("Attributes", []))
    if dataclasses.is_dataclass(one):
        assert [field.name for field in dataclasses.fields(one)] == listed
    elif name == "dask.Ranker":
        assert "rankwood.Ranker" in one.__doc__
    elif not issubclass(one, tuple) and name != "Carrier":
        assert set(inspect.signature(one).parameters) <= set(listed)
    else:
        assert listed


@pytest.mark.parametrize("kind", [rankwood.Dataset, rankwood.Model])
def test_attributes(kind: type, model: rankwood.Model, made: Any) -> None:
    """The public attributes of an object are in the docstring of its class."""
    one = model if kind is rankwood.Model else made.dataset()
    for name in vars(one):
        assert name.startswith("_") or f"\n    {name} : " in (kind.__doc__ or "")


def test_training_parameters() -> None:
    """help() of train and Ranker shows every parameter of the library, with type, default, meaning and range."""
    doc = sections(rankwood.train.__doc__)
    ours = [text(info.name) for info in _params.infos() if not _params.is_of_data(text(info.name))]
    assert described(doc["Training parameters"]) == [name.replace("-", "_") for name in ours]
    joined = " ".join("\n".join(doc["Training parameters"]).split())
    assert 'leaves : int or "auto", default "auto"' in joined and "Range: 2 to 65536." in joined
    assert "--" not in joined
    ranker = pytest.importorskip("rankwood.sklearn").Ranker
    assert _params.PLACE not in ranker.__doc__ and _params.PLACE not in (rankwood.train.__doc__ or "")
    listed = described(sections(ranker.__doc__)["Parameters"])
    assert sorted(listed) == sorted(inspect.signature(ranker).parameters)


def names_of_script(name: str) -> dict[str, Any]:
    """Returns the names in the script of a page of docs/reference. The page must be identical to the script's
    output."""
    docs = Path(__file__).parents[2] / "docs"
    script = docs / f"make_{name.replace('-', '_')}.py"
    names = runpy.run_path(str(script))
    in_tree = (docs / f"reference/{name}.md").read_text("utf-8")
    assert names["page"]() == in_tree, f"run python docs/{script.name} > docs/reference/{name}.md"
    return names


def test_parameters_page() -> None:
    """docs/reference/parameters.md is made from the table of parameters of today."""
    names_of_script("parameters")


def test_c_reference_page() -> None:
    """docs/reference/c-api.md is made from the headers of today, and shows each function."""
    made = names_of_script("c-api")["page"]()
    headers = "".join(path.read_text("utf-8") for path in (Path(__file__).parents[2] / "src").glob("rankwood*.h"))
    functions = re.findall(r"^RW_API [^(]*?(rw_\w+)\(", headers, re.M)
    assert len(functions) > 100 and all(re.search(rf"^###.*`{name}`", made, re.M) for name in functions)


def test_reference_page() -> None:
    """docs/reference/python.md is made from the docstrings of today, and shows each public name."""
    old = {"RankError", "Ranks", "ranks", "migrate", "plot"}  # earlier names, and modules
    shown = set(names_of_script("python")["SHOWN"])
    assert set(rankwood.__all__) - old <= shown and {f"plot.{name}" for name in PLOTS} <= shown


# ---- examples ----

MODULES = ["rankwood", *(f"rankwood.{one.name}" for one in pkgutil.iter_modules(rankwood.__path__))]
MODULES.remove("rankwood._ffi")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """The objects that the package's docstring makes for the examples."""
    out: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(rankwood.__doc__ or ""):
        exec(example.source, out)
    return out


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str, names: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if module == "rankwood.plot":
        pytest.importorskip("matplotlib").use("Agg")
    try:
        imported = importlib.import_module(module)
    except ImportError as error:
        pytest.skip(str(error))
    runner, failures = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), list[str]()
    for test in doctest.DocTestFinder(exclude_empty=True).find(imported, module, globs=dict(names)):
        runner.run(test, out=failures.append)
    assert not failures, "".join(failures)
