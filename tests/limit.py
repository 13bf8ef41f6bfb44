"""Runs a test and ends it if it hangs, but not if the machine is slow. Meson's limits are wall-clock times, which pass
while other programs use the processors.

    python3 tests/limit.py BUILD COMMAND...

The build's list of tests has the command's timeout, T seconds. The test is ended
  - after T seconds in which its processes used no processor;
  - after more processor time than all processors have in T seconds;
  - after 20 T seconds of wall-clock time, for processes that wait in a loop.
RANKWOOD_TEST_PATIENCE multiplies T. The exit status is that of the command; 124 if it was ended."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path


def seconds(build: str, command: list[str]) -> float:
    tests = json.loads((Path(build) / "meson-info/intro-tests.json").read_text(encoding="utf-8"))
    known = [test["timeout"] for test in tests if test["cmd"] == command]
    return (known[0] if known else 300) * float(os.environ.get("RANKWOOD_TEST_PATIENCE", "1"))


def processes() -> dict[int, tuple[int, str]]:
    """Of each process of this session but this one: ticks of processors, and how long it has run, in nanoseconds."""
    found = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            field = Path(entry.path, "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            ran = Path(entry.path, "schedstat").read_text(encoding="utf-8").split()[0]
        except OSError:  # it has ended
            continue
        if int(field[3]) == os.getsid(0):
            ticks = sum(map(int, field[11:15]))  # with those of children that have ended
            found[int(entry.name)] = ticks, ran
    return found


def why_ended(child: "subprocess.Popen[bytes]", limit: float) -> str:
    """Waits for the child; why it has to be ended, or ''."""
    started = moved = time.monotonic()
    most, last = limit * (os.cpu_count() or 1), None
    while True:
        try:
            child.wait(min(2, limit / 4))
            return ""
        except subprocess.TimeoutExpired:
            pass
        now = time.monotonic()
        found = processes() if os.path.exists("/proc/self/schedstat") else {0: (0, str(now))}
        if found != last:
            last, moved = found, now
        if now - moved > limit:
            return f"used no processor for {limit:g} s"
        if sum(ticks for ticks, _ in found.values()) / os.sysconf("SC_CLK_TCK") > most:
            return f"used more than {most:g} s of processors"
        if now - started > 20 * limit:
            return f"took more than {20 * limit:g} s"


def main() -> int:
    build, *command = sys.argv[1:]
    child = subprocess.Popen(command)
    why = why_ended(child, seconds(build, command))
    if why:
        print(f"limit: {why}: ended", file=sys.stderr, flush=True)
        for pid in processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        child.kill()
        return 124
    if child.returncode < 0:  # Meson is to see the signal
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -child.returncode != signal.SIGKILL:
            signal.signal(-child.returncode, signal.SIG_DFL)
        os.kill(os.getpid(), -child.returncode)
    return child.returncode


sys.exit(main())
