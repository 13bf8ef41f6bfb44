"""The installed package: its version, its dependencies and its public names."""

from __future__ import annotations

import ast
import ctypes
import functools
import importlib
import importlib.metadata
import os
import pickle
import signal
import subprocess
import sys
import sysconfig
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


PROGRAM = [sys.executable, "-m", "rankwood"]


def test_runs_the_program(tmp_path: Path) -> None:
    """`python -m rankwood` is the program: the same model as from Python, exit codes, and no import of numpy."""
    run = functools.partial(subprocess.run, cwd=tmp_path, capture_output=True, text=True)
    assert run([*PROGRAM, "--version"], check=True).stdout.startswith(f"rankwood {rankwood.__version__}\n")
    run([*PROGRAM, "synth", "--shape", "letor", "--queries", "40", "--seed", "5", "-o", "träin.txt"], check=True)
    run([*PROGRAM, "train", "träin.txt", "--rounds", "3", "--quiet", "-o", "model.txt"], check=True)
    model = rankwood.train({"rounds": 3}, rankwood.Dataset(tmp_path / "träin.txt"))
    assert (tmp_path / "model.txt").read_bytes() == model.to_bytes()
    assert (wrong := run([*PROGRAM, "trian"])).returncode == 2
    assert wrong.stderr.startswith("rankwood: error: unknown command 'trian'")
    modules = run([sys.executable, "-X", "importtime", *PROGRAM[1:], "--version"], check=True).stderr
    assert "rankwood._ffi" in modules and "numpy" not in modules
    if (program := os.environ.get("RANKWOOD_PROGRAM")) is not None:
        assert run([*PROGRAM, "train", "--help"]).stdout == run([program, "train", "--help"]).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_signals_of_the_program() -> None:
    """The program ends by SIGPIPE as other programs do, although Python ignores that signal."""
    with subprocess.Popen([*PROGRAM, "train", "--help"], stdout=subprocess.PIPE) as ran:
        assert ran.stdout is not None
        ran.stdout.close()
    assert ran.returncode == -signal.SIGPIPE


def test_installs_the_command(installed: importlib.metadata.Distribution) -> None:
    """pip makes the command from the wheel's entry point."""
    (found,) = installed.entry_points.select(group="console_scripts")
    assert (found.name, found.value) == ("rankwood", "rankwood.__main__:main")
    folder = Path(sysconfig.get_path("scripts"))
    if (command := folder / "rankwood").exists():  # not in a folder of `pip install --target`
        ran = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
        assert ran.stdout.startswith(f"rankwood {rankwood.__version__}\n")


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
    "_check": "DataCheck Drift FeatureCheck Finding",
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
