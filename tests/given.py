"""Checks the paths on a test's command line. A missing one is reported in a line, and the script exits with 2."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def end(why: object) -> NoReturn:
    print(f"{os.path.basename(sys.argv[0])}: {why}", file=sys.stderr)
    raise SystemExit(2)


def program(path: str) -> str:
    """Its absolute path."""
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        end(f"no program '{path}'")
    return os.path.abspath(path)


def file(path: str) -> str:
    """Its absolute path."""
    if not os.path.isfile(path):
        end(f"no file '{path}'")
    return os.path.abspath(path)


def folder(path: str) -> str:
    """Its absolute path."""
    if not os.path.isdir(path):
        end(f"no folder '{path}'")
    return os.path.abspath(path)
