"""Runs every command that writes a file on a disk that is full after the first page, after the second, and so on until
everything fits; and on a read-only disk.

    python3 tests/faults/disks.py --program BUILD/src/cli/rankwood

The disks are file systems in memory, mounted in a private namespace. Without the permission to mount, the test is
skipped. The requirements are those of faults.py. Prints a line per command."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import given  # noqa: E402
from commands import Command, commands  # noqa: E402
from faults import Bench, Outcome, Place, wrong  # noqa: E402

PAGE = 4096
ALONE = "RANKWOOD_DISKS_ALONE"


def mount(place: Place, options: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(place.work)], check=True, capture_output=True)


def unmount(place: Place) -> None:
    subprocess.run(["umount", str(place.work)], check=True, capture_output=True)


def prepare(bench: Bench, command: Command, place: Place, has_old: bool) -> bool:
    """False: not even the previous files fit."""
    try:
        (place.work / "tmp").mkdir()
        for name, source in command.before.items():
            shutil.copyfile(bench.data / source, place.work / name)
        for name in command.files if has_old else ():
            (place.work / name).parent.mkdir(exist_ok=True)
            (place.work / name).write_bytes(b"old\n")
    except OSError:
        return False
    return True


def full(bench: Bench, command: Command, place: Place, whole: Outcome) -> tuple[int, int, list[str]]:
    """(number of disks, number of those with enough space, errors)."""
    n, found = 0, []
    for pages in range(1, 10_000):
        has_old = pages % 2 == 0 and not command.before
        mount(place, f"size={pages * PAGE}")
        try:
            if not prepare(bench, command, place, has_old):
                continue
            got = bench.run_in(command, "", place)
        finally:
            unmount(place)
        n += 1
        # No fault was counted, but there is one. The trees for which there was space are kept (docs/how-to/resume.md).
        files = {name: content for name, content in got.files.items() if name != "out.interrupted"}
        got = Outcome(got.code, got.out, got.err, files, 1, 1)
        why = wrong(command, whole, got, f"disk {pages}+ ENOSPC", has_old)
        if not why and got.code and b"No space left" not in got.err:
            why = "does not say that the disk is full: " + got.err.decode(errors="replace")
        if why:
            found.append(f"{pages} pages: {why}")
        if got.code == 0 and set(got.files) == set(whole.files):
            return n, 1, found
        if n > 200:
            break
    return n, 0, [*found, "never fits"]


def read_only(bench: Bench, command: Command, place: Place, whole: Outcome) -> list[str]:
    mount(place, "size=16m")
    try:
        prepare(bench, command, place, not command.before)
        mount(place, "remount,ro")
        got = bench.run_in(command, "", place)
    finally:
        unmount(place)
    got = Outcome(got.code, got.out, got.err, got.files, 1, 1)
    why = wrong(command, whole, got, "disk 1 EROFS", not command.before)
    if not why and (got.code == 0 or b"Read-only" not in got.err):
        why = f"read-only, exit status {got.code}: " + got.err.decode(errors="replace")
    return [why] if why else []


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=given.program)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    options.jobs, options.library, options.cuda = 1, "", False
    if ALONE not in os.environ:
        if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode != 0:
            print("skip disks: file systems cannot be mounted here")
            return 0
        os.environ[ALONE] = "1"
        os.execvp("unshare", ["unshare", "-m", sys.executable, *sys.argv])
    n_wrong = n_full = n_commands = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(options, Path(folder))
        for command in commands():
            if options.only not in command.name or not (command.files or command.lines):
                continue
            whole = bench.run(command)
            place = bench.places.get()
            place.empty()
            n, _, found = full(bench, command, place, whole)
            found += read_only(bench, command, place, whole)
            bench.places.put(place)
            n_full, n_commands, n_wrong = n_full + n - 1, n_commands + 1, n_wrong + len(found)
            print(f"{'not ok' if found else 'ok'} disks: {command.name}: {n - 1} full, 1 read-only")
            for line in found[:20]:
                print(f"    {line}")
            sys.stdout.flush()
    print(f"{n_full} full disks and {n_commands} read-only ones in {n_commands} commands, {n_wrong} wrong")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
