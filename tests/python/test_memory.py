# room: base
"""Memory that runs out inside the library: OutOfMemoryError, nothing broken, and the next call works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_every_allocation_fails_once(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if sys.platform != "linux" or not compiler or os.confstr("CS_GNU_LIBC_VERSION") is None:
        pytest.skip("needs a C compiler and glibc")
    library = tmp_path / "faults.so"
    source = HERE.parent / "faults" / "allocations.c"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", str(source), "-o", str(library), "-ldl"], check=True
    )
    environment = os.environ | {"LD_PRELOAD": str(library)}
    job = [sys.executable, str(HERE / "memory_job.py")]
    done = subprocess.run(job, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
