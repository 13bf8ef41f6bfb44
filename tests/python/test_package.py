"""The installed package: its version, its dependencies and its public names."""

from __future__ import annotations

import ast
import ctypes
import importlib
import importlib.metadata
import pickle
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import rankwood


@pytest.fixture
def installed() -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution("rankwood")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("rankwood was not installed by pip")


def test_has_one_version(installed: importlib.metadata.Distribution) -> None:
    assert installed.version == rankwood.__version__


def test_needs_numpy_and_cffi_alone(installed: importlib.metadata.Distribution) -> None:
    needed = [line for line in installed.requires or [] if "extra ==" not in line]
    assert sorted(line.split(">")[0].strip() for line in needed) == ["cffi", "numpy"]


@pytest.mark.skipif(sys.platform != "linux", reason="of the linker for Linux")
def test_shows_no_symbol_but_its_own() -> None:
    """Another module's zlib, jansson, expat or rankwood is never mixed up with the one inside."""
    shared = ctypes.CDLL(importlib.import_module("rankwood._ffi").__file__)
    assert hasattr(shared, "PyInit__ffi")
    for name in ("rw_ctx_new", "rw_dataset_free", "rw_alias_next"):
        assert not hasattr(shared, name)


def test_a_start_imports_little() -> None:
    """Names are imported when they are used."""
    program = "import rankwood, sys; print([one for one in sys.modules if one in ('numpy', 'rankwood._dataset')])"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "[]\n"


def test_modules_import_one_way() -> None:
    """Also within functions, and for type annotations only. The package imports all of them when a name is used."""
    files = {path.stem: path for path in Path(rankwood.__file__).parent.glob("*.py") if path.stem != "__init__"}
    imports: dict[str, set[str]] = {name: set() for name in files}
    for name, path in files.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                whole = [node.module] + [f"{node.module}.{one.name}" for one in node.names]
                imports[name] |= {one.removeprefix("rankwood.") for one in whole} & set(files)
    assert len(list(TopologicalSorter(imports).static_order())) == len(files) > 15  # or a CycleError


# Where public classes were in 0.2.0 or before it was released.
MODULES = {
    "_audit": "Audit AuditRow",
    "_calibrate": "Calibration",
    "_check": "DataCheck FeatureCheck Finding",
    "_comparisons": "Compared Comparisons",
    "_core": "DataError DataTypeError FileError FormatError NoEffectWarning ParameterError RankError RankwoodError",
    "_cv": "CrossValidation Fold",
    "_evaluate": "Comparison Evaluation Measured",
    "_explain": "Explanation Permuted",
    "_model": "Model",
    "_positions": "PositionBias",
    "_ranks": "Carrier Ranks",
    "_refit": "Pruned PrunedRow",
    "_select": "Selected SelectedDifference SelectedRow",
    "_train": "Round",
}


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in MODULES.items() for name in names.split()]
)
def test_pickles_of_earlier_versions(module: str, name: str) -> None:
    """A pickle names a class by its module (protocol 0 as text)."""
    assert pickle.loads(f"crankwood.{module}\n{name}\n.".encode()) is getattr(rankwood, name)
