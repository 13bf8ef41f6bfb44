"""The build backend for pip: meson-python, with hooks that write the metadata without a build.

meson-python does not have these hooks. Without them, pip compiles everything, including CUDA kernels, in its step
"Preparing metadata", which then takes minutes without a message.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import packaging.version
import pyproject_metadata
from mesonpy import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ROOT = Path(__file__).parents[1]


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Writes the METADATA of the future wheel, and returns the name of its folder."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found = re.search(r"version: '([^']+)', license", (ROOT / "meson.build").read_text(encoding="utf-8"))
    if not found:
        raise RuntimeError("meson.build: expected a line with \"version: '...', license\"")
    metadata = pyproject_metadata.StandardMetadata.from_pyproject(table, ROOT)
    metadata.version = packaging.version.Version(found[1])
    folder = Path(metadata_directory) / f"rankwood-{metadata.version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_bytes(bytes(metadata.as_rfc822()))
    return folder.name


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
