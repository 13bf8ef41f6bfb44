"""The manifest of a training: its parts that only Python knows, and the comparison of two manifests.

The library makes the rest (rw_manifest_new). `train` and `verify` are in _train.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rankwood._core import DataError, FileError, FormatError, ParameterTypeError, check, context, ffi, lib
from rankwood._dataset import Dataset
from rankwood._params import Params, is_of_data

_per_thread = threading.local()


class Differs(Exception):
    """Ends a training whose data differs from that of a manifest; the argument is the difference."""


def _taken(status: int, out: Any) -> str | None:
    check(status)
    if out[0] == ffi.NULL:
        return None
    found = bytes(ffi.string(out[0])).decode()
    lib.rw_free(out[0])
    return found


def difference(expected: str, found: str) -> str | None:
    """Returns the first difference between the data or the models of two manifests, as JSON; None if they are equal."""
    out = ffi.new("char **")
    return _taken(lib.rw_manifest_compare(context(), expected.encode(), found.encode(), out), out)


def read(manifest: Any) -> dict[str, Any]:
    """Returns the manifest that is a dictionary, or that a path names."""
    if isinstance(manifest, Mapping):
        text = json.dumps(manifest)
    elif isinstance(manifest, (str, os.PathLike)):
        try:
            with open(manifest, encoding="utf-8") as file:
                text = file.read()
        except UnicodeDecodeError:
            raise FormatError(f"{os.fspath(manifest)!r} is not a manifest") from None
        except OSError as error:
            raise FileError(f"cannot read {os.fspath(manifest)!r}: {error.strerror}") from None
    else:
        raise ParameterTypeError(f"manifest is a {type(manifest).__name__}; expected a dictionary or a path")
    difference(text, text)  # FormatError if it is not a manifest
    return dict(json.loads(text))


def parameters(manifest: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the parameters that repeat the training. Those of the data are attributes of its data sets."""
    given = {name: value for name, value in manifest.get("given", {}).items() if not is_of_data(name)}
    return {**given, **{name.replace("_", "-"): value for name, value in changed.items()}}


def by_program(manifest: Any) -> str | None:
    """Verifies a manifest by the program, which reads the files that it names."""
    is_path = not isinstance(manifest, Mapping)
    command = [sys.executable, "-m", "rankwood", "verify", os.fspath(manifest) if is_path else "-", "--quiet", "--json"]
    ran = subprocess.run(command, input=None if is_path else json.dumps(manifest).encode(), capture_output=True)
    if ran.stdout:
        found = json.loads(ran.stdout)["difference"]
        return None if found is None else str(found)
    message = ran.stderr.decode(errors="replace").strip().replace("rankwood: error: ", "").replace("rankwood: ", "")
    raise DataError(f"the manifest cannot be verified: {message}")


class Record:
    """Makes the manifest of a training."""

    def __init__(self, given: Mapping[str, Any], init: Any) -> None:
        self._functions: dict[str, str] = {}
        named = dict(given)
        for name in ("objective", "metric"):
            values = given.get(name)
            values = list(values) if isinstance(values, (list, tuple)) else [values]
            for one in filter(callable, values):
                self._functions[name] = str(getattr(one, "__name__", type(one).__name__))
                named[name] = [value for value in values if not callable(value)] or None
        self._given, self._init = Params(named, None), init
        self._expected: str | None = getattr(_per_thread, "expected", None)
        self._begun = ""

    def begin(self, used: Any) -> None:
        """Called before the first round. Differs: the data is not that of the expected manifest."""
        out = ffi.new("char **")
        self._begun = _taken(lib.rw_manifest_new(context(), self._given.c, used, self._init, out), out) or ""
        if self._expected is not None and (found := difference(self._expected, self._begun)) is not None:
            raise Differs(found)

    def end(self, model: Any, sets: Sequence[Dataset]) -> dict[str, Any]:
        """Returns the manifest of the trained model. It names files if all data is in them, as the program reads it."""
        out = ffi.new("char **")
        text = _taken(lib.rw_manifest_finish(context(), self._begun.encode(), model, out), out)
        manifest: dict[str, Any] = json.loads(text or "")
        if self._functions:
            manifest["functions"] = self._functions
        if all(one._paths and not one._sides and one._pairs is None and not one._columns for one in sets):
            for one, data in zip(sets, manifest["data"].values(), strict=True):
                data["files"] = {"data": [os.fsdecode(path) for path in one._paths or ()]}
        return manifest


@contextmanager
def recorded(record: Record | None) -> Iterator[None]:
    """Within the block, a training computes the checksums that its manifest needs."""
    lib.rw_ctx_record_data(context(), record is not None)
    try:
        yield
    finally:
        lib.rw_ctx_record_data(context(), 0)


@contextmanager
def expecting(manifest: str) -> Iterator[None]:
    """Within the block, a training of this thread ends with Differs if its data is not that of the manifest."""
    _per_thread.expected = manifest
    try:
        yield
    finally:
        _per_thread.expected = None
