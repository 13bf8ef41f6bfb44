"""Docstrings: every public name has one, which names each argument and says what is raised."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

import rankwood
from rankwood import plot

LAUNCHERS = {"rankwood.dask": ["Dataset", "Ranker", "train"], "rankwood.mpi": ["ranks"], "rankwood.spark": ["train"],
             "rankwood.torch": ["ranks"]}  # fmt: skip
PLOTS = ["learning_curves", "importance", "per_query", "tree", "partial_dependence", "shap_summary"]


def public() -> Iterator[tuple[str, Any]]:
    for name in rankwood.__all__:
        yield name, getattr(rankwood, name)
    for name in PLOTS:
        yield f"plot.{name}", getattr(plot, name)
    for module, names in LAUNCHERS.items():
        with contextlib.suppress(ImportError):  # of what it needs
            for name in names:
                yield f"{module.removeprefix('rankwood.')}.{name}", getattr(importlib.import_module(module), name)


def members() -> Iterator[tuple[str, Any]]:
    for name, one in public():
        if not inspect.isclass(one):
            continue
        ours = [kind for kind in reversed(one.__mro__) if kind.__module__.startswith("rankwood")]
        for member, value in {key: value for kind in ours for key, value in vars(kind).items()}.items():
            is_ours = isinstance(value, (classmethod, property)) or inspect.isfunction(value)
            if is_ours and not member.startswith("_"):
                yield f"{name}.{member}", value.__func__ if isinstance(value, classmethod) else value


ALL = dict([*public(), *members()])


def test_there_are_many() -> None:
    assert len(ALL) > 70 and "Model.predict" in ALL and "Dataset.label" in ALL and "Model.load" in ALL


@pytest.mark.parametrize("name", ALL)
def test_docstring(name: str) -> None:
    one = ALL[name]
    if inspect.ismodule(one) or inspect.isclass(one) or isinstance(one, property):
        assert one.__doc__ and not one.__doc__.startswith(f"{one.__class__.__name__}(")
        return
    words = one.__doc__ or ""
    # "how" is what evaluate takes; where a picture is drawn is said once, in the module
    arguments = [one for one in inspect.signature(one).parameters if one not in ("self", "cls", "how", "ax")]
    assert [argument for argument in arguments if argument not in words.replace("`", " ").replace("(", " ")] == []
    assert not arguments or "Error" in words, "what does it raise?"


@pytest.mark.parametrize("name", [name for name, one in ALL.items() if dataclasses.is_dataclass(one)])
def test_fields(name: str) -> None:
    """help() shows a class's docstring alone: it has a line for each field, and says what it is."""
    lines = inspect.cleandoc(ALL[name].__doc__).splitlines()
    for field in dataclasses.fields(ALL[name]):
        (line,) = (i for i, one in enumerate(lines) if one.startswith(f"{field.name} : "))
        assert lines[line + 1].startswith("    ")


@pytest.mark.parametrize("kind", [rankwood.Dataset, rankwood.Model])
def test_attributes(kind: type, model: rankwood.Model, made: Any) -> None:
    """What an object has besides its methods is in its docstring, too."""
    one = model if kind is rankwood.Model else made.dataset()
    for name in vars(one):
        assert name.startswith("_") or f"\n    {name} : " in (kind.__doc__ or "")


def test_where_pictures_are_drawn() -> None:
    assert "ax" in (plot.__doc__ or "")
