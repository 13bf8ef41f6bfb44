"""The package as it is installed: its version, what it needs, and what it shows other modules."""

from __future__ import annotations

import ctypes
import importlib
import importlib.metadata
import sys

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
    for name in ("rw_ctx_new", "rw_dataset_free", "rw_alias_at"):
        assert not hasattr(shared, name)
