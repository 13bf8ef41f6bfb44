"""Makes every allocation, system call and CUDA call of the program fail once, and checks that nothing is lost.

    python3 tests/faults/faults.py --program BUILD/src/cli/rankwood --library BUILD/tests/faults/librankwood-faults.so

Each command of commands.py runs once without a fault. Then it runs with a fault at the first call of a kind, at the
second, and so on until the fault no longer occurs. Each time it must
  - exit with 0 and the output of the first run, or with a documented exit status and one line of error;
  - not crash, nor take more than a minute;
  - leave each output file as it was before or as it is after, no temporary file, and its input unchanged;
  - free all resources of a GPU.
Further runs kill the process (SIGKILL) instead of a call that changes files, or after it. Each file must then be as it
was before or as it is after, except temporary files. The same command in the same folder must then behave as without a
fault and remove those.

--most N     largest number of faults of each kind per command (0: all): some at the beginning, others drawn evenly
--only TEXT  commands whose names contain TEXT
--every N    only every N-th of these
--kind LIST  kinds separated by commas: memory, thread, write, ...
--cuda       commands and kinds of a GPU: BUILD has the emulated one (tests/emulator)
--fault "memory 17 ENOMEM"   only this fault, in the commands of --only, with their output
--jobs N     processes at a time

Prints a line per command: calls of each kind, faults, and how often the command succeeded despite a fault. Exits with 1
if any run is wrong."""

from __future__ import annotations

import argparse
import hashlib
import mmap
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import given  # noqa: E402
from commands import Command, commands, cuda_commands, make_data  # noqa: E402

# What happens, by kind of call; "+": to that call and all after it.
FAULTS = {
    "memory": ("ENOMEM", "ENOMEM+"),
    "thread": ("EAGAIN", "EAGAIN+"),
    "write": ("ENOSPC", "ENOSPC+", "EIO", "EINTR", "short", "killed", "killed-after"),
    "read": ("EIO", "EIO+", "EINTR", "short"),
    "open": ("EMFILE", "EMFILE+", "EACCES", "EINTR", "killed"),
    "close": ("EIO", "killed"),
    "sync": ("EIO", "ENOSPC", "EINTR", "killed"),
    "rename": ("EIO", "EACCES", "EROFS", "killed", "killed-after"),
    "map": ("ENOMEM", "ENOMEM+"),
    "truncate": ("ENOSPC", "EIO", "EINTR", "killed"),
    "stat": ("EIO", "EACCES"),
    "seek": ("EIO",),
    "lock": ("EIO", "killed"),
}
KILLED = ("killed", "killed-after")  # "killed-after" a write: of half of its bytes
# Of calls of CUDA, which tests/emulator names: the error, by CUDA's name without cudaError.
CUDA_FAULTS = {
    "cuda-find": ("InsufficientDriver", "Unknown"),
    "cuda-ask": ("InvalidValue", "IllegalAddress"),
    "cuda-memory": ("MemoryAllocation", "MemoryAllocation+", "IllegalAddress"),
    "cuda-copy": ("InvalidValue", "IllegalAddress"),
    "cuda-launch": ("LaunchOutOfResources", "IllegalAddress"),
    "cuda-wait": ("Unknown", "EccUncorrectable"),
    "cuda-order": ("MemoryAllocation", "IllegalAddress"),
    "cuda-free": ("InvalidValue", "IllegalAddress"),
}
# The text that the line of error contains.
CUDA_TEXTS = {
    "InsufficientDriver": b"driver version is insufficient",
    "Unknown": b"unknown error",
    "InvalidValue": b"invalid argument",
    "MemoryAllocation": b"out of memory|out of device memory",
    "IllegalAddress": b"illegal memory access",
    "LaunchOutOfResources": b"too many resources",
    "EccUncorrectable": b"uncorrectable ECC error",
}
# Exit status 3, "trying again may help", is for missing resources of the machine (exit codes: rankwood help).
OF_THE_MACHINE = ("ENOMEM", "EIO", "ENOSPC", "EMFILE", "EAGAIN")
OF_THE_MACHINE += ("MemoryAllocation", "IllegalAddress", "EccUncorrectable")
TEMPORARY = re.compile(r"(.*)\.tmp-\d+(-\d+)?")  # in the folder of the file that it replaces
TIMES = re.compile(rb"\b\d+(\.\d+)?(e[-+]?\d+)? ?(s|ms|us|MB|GB|KiB)\b")
FAR = 10**9  # no command calls so often
LIMIT_S = 60
REPORT = 40  # bytes: struct faults_report


@dataclass(frozen=True)
class Outcome:
    code: int
    out: bytes
    err: bytes
    files: dict[str, bytes]
    n_calls: int
    n_faults: int
    n_held: int = 0  # of a GPU's, when it ended
    n_blamed: int = 0  # launches that would have been blamed for the error of another call
    after: Outcome | None = None  # of the same line in the same folder once more, without a fault


class Place:
    """A folder for one command at a time, and the report of its faults."""

    def __init__(self, root: Path, number: int) -> None:
        self.work = root / f"work-{number}"
        self.work.mkdir()
        path = root / f"report-{number}"
        path.write_bytes(bytes(REPORT))
        self.path = str(path)
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), REPORT)

    def empty(self) -> None:
        """The folder itself stays: it may be where a disk is mounted."""
        for path in self.work.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def numbers(self) -> tuple[int, int, int, int, int]:
        return struct.unpack("lllll", self.map[:REPORT])


class Bench:
    def __init__(self, options: argparse.Namespace, root: Path) -> None:
        self.options, self.root = options, root
        self.data = root / "data"
        self.data.mkdir()
        make_data(options.program, self.data, options.cuda)
        self.sums = self.sum_of_data()
        self.places: SimpleQueue[Place] = SimpleQueue()
        for i in range(options.jobs):
            self.places.put(Place(root, i))

    def sum_of_data(self) -> dict[str, str]:
        return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in self.data.iterdir()}

    def run(self, command: Command, fault: str = "", has_old: bool = False, again: bool = False) -> Outcome:
        """fault: as RANKWOOD_FAULT. has_old: files of before are in the way. again: in the same folder once more,
        without a fault."""
        place = self.places.get()
        try:
            place.empty()
            (place.work / "tmp").mkdir()
            for name, source in command.before.items():
                shutil.copyfile(self.data / source, place.work / name)
            if has_old:
                for name in command.files:
                    (place.work / name).parent.mkdir(exist_ok=True)
                    (place.work / name).write_bytes(b"old\n")
            outcome = self.run_in(command, fault, place)
            if again and outcome.code != 0:
                return replace(outcome, after=self.run_in(command, "", place))
            return outcome
        finally:
            self.places.put(place)

    def run_in(self, command: Command, fault: str, place: Place) -> Outcome:
        environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "TMPDIR": "tmp", "CUDA_VISIBLE_DEVICES": "-1"}
        place.map[:REPORT] = bytes(REPORT)
        if fault:
            environment |= {"LD_PRELOAD": self.options.library, "RANKWOOD_FAULT": fault}
            environment["RANKWOOD_FAULT_REPORT"] = place.path
        given = open(self.data / command.stdin, "rb") if command.stdin else None  # noqa: SIM115
        feeder = None
        if given:  # a pipe, not a file
            feeder = subprocess.Popen(["cat"], stdin=given, stdout=subprocess.PIPE)
        with subprocess.Popen(
            [self.options.program, *command.line.split()],
            cwd=place.work,
            env=environment,
            stdin=feeder.stdout if feeder else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            if feeder and feeder.stdout:
                feeder.stdout.close()
            try:
                out, err = process.communicate(timeout=LIMIT_S)
                code = process.returncode
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                code = -999
        if feeder and given:
            feeder.wait()
            given.close()
        found = (p for p in place.work.rglob("*") if p.is_file())
        files = {str(p.relative_to(place.work)): p.read_bytes() for p in found}
        n_calls, n_faults, is_ready, n_held, n_blamed = place.numbers()
        if fault and not is_ready:
            raise RuntimeError(f"no faults of the kind of '{fault}' here")
        return Outcome(code, out, err, files, n_calls, n_faults, n_held, n_blamed)


def same(command: Command, name: str, a: bytes, b: bytes) -> bool:
    """Whether these are the same outputs, ignoring times."""
    if name in command.lines:
        if name == "ck":
            return True  # tested by the training that resumes from it

        def lines(text: bytes) -> list[bytes]:
            return [line for line in text.splitlines() if b'"timing"' not in line]

        return lines(a) == lines(b)
    return a == b or TIMES.sub(b"T", a) == TIMES.sub(b"T", b)


def is_temporary(command: Command, name: str) -> bool:
    of = TEMPORARY.fullmatch(name)
    return of is not None and of[1] in command.files + command.lines


def wrong_afterwards(command: Command, whole: Outcome, after: Outcome) -> str:
    """The error of a run after one that was killed; "" if it is right."""
    if after.code != 0:
        return "does not work afterwards: " + after.err[-300:].decode(errors="replace")
    for name in command.files:
        if not same(command, name, after.files.get(name, b""), whole.files[name]):
            return f"writes another '{name}' afterwards"
    if left := [name for name in after.files if name not in whole.files]:
        return f"leaves '{left[0]}' afterwards"
    return ""


def wrong(command: Command, whole: Outcome, got: Outcome, fault: str, has_old: bool) -> str:
    """The error of a run; "" if it is right."""
    kind, _, what = fault.split()
    if got.code == -999:
        return f"hangs for {LIMIT_S} s"
    if got.code < 0 and not (what in KILLED and got.code == -signal.SIGKILL and got.n_faults):
        return f"ends by signal {-got.code}"
    if got.code >= 0 and what in KILLED and got.n_faults:
        return "lives on"
    if got.n_held:
        return f"leaves {got.n_held} things on the GPU"
    if got.n_blamed:
        return "leaves an error behind, which the next launch is blamed for"
    old = dict.fromkeys(command.files, b"old\n") if has_old else {}
    if command.again and got.after and (got.after.code != 0 or got.after.files.get("out") != whole.files["out"]):
        return "does not go on: " + got.after.err[:300].decode(errors="replace")
    for name, content in got.files.items():
        if what in KILLED and is_temporary(command, name):
            continue
        if name.startswith("tmp/"):  # the model, where there was no room for it
            if content != whole.files.get("out", whole.out) or b"instead" not in got.err:
                return f"leaves '{name}'"
        elif name in command.files:
            if not same(command, name, content, whole.files[name]) and content != old.get(name):
                return f"half of '{name}' is written"
        elif name not in command.lines and name not in command.before:
            return f"leaves '{name}'"
    if any(name not in got.files for name in old):
        return "a file of before is gone"
    if what in KILLED and got.after:
        return wrong_afterwards(command, whole, got.after)
    if got.code == 0:
        if not command.varies and not same(command, "", got.out, whole.out):
            return "ends well with another standard output"
        for name, content in whole.files.items():
            if not same(command, name, got.files.get(name, b""), content) and name != "ck":
                return f"ends well with another '{name}'"
        return ""
    if got.n_faults == 0:
        return "fails without a fault: " + got.err.decode(errors="replace")[-300:]
    if what == "short":
        return "fails where less was read or written at a time: " + got.err.decode(errors="replace")[-300:]
    errors = [line for line in got.err.splitlines() if line.startswith(b"rankwood: error: ")]
    if not errors or len(errors) > 1 + ("+" in fault) or len(set(errors)) != len(errors):
        return f"says {len(errors)} errors: " + got.err.decode(errors="replace")[-300:]
    if kind == "memory" and not command.varies and not re.search(rb"memory|Cannot allocate", errors[0]):
        return "does not say that it is memory: " + errors[0].decode(errors="replace")
    if kind in CUDA_FAULTS and not command.varies and not re.search(CUDA_TEXTS[what], errors[0]):
        return f"does not say that it is {what}: " + errors[0].decode(errors="replace")
    if got.code not in (1, 3) or (got.code != 3 and what in OF_THE_MACHINE and kind != "stat" and not command.varies):
        return f"exit status {got.code}: " + errors[0].decode(errors="replace")
    return ""


def chosen(n: int, most: int, seed: str) -> list[int]:
    """Which of n calls are to fail."""
    if most == 0 or n <= most:
        return list(range(1, n + 1))
    first = most // 4
    rest = random.Random(seed).sample(range(first + 1, n + 1), most - first)
    return [*range(1, first + 1), *sorted(rest)]


class Tally:
    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self.survived: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.calls: dict[str, int] = {}


def try_command(bench: Bench, pool: ThreadPoolExecutor, command: Command, kinds: list[str]) -> Tally:
    tally = Tally()
    whole = bench.run(command)
    if whole.code != 0:
        tally.wrong.append(f"does not work: {whole.err.decode(errors='replace')}")
        return tally
    most = bench.options.most
    if command.slow and (most == 0 or most > 40):
        most = 40

    def one(kind: str, what: str, i: int) -> int:
        fault = f"{kind} {i}{'+' if what.endswith('+') else ''} {what.rstrip('+')}"
        has_old = i % 2 == 0 and not command.before
        got = bench.run(command, fault, has_old, command.again or what in KILLED)
        why = wrong(command, whole, got, fault, has_old)
        if why:
            tally.wrong.append(f"'{fault}': {why}")
        if got.n_faults:
            tally.faults["killed" if what in KILLED else kind] += 1
            tally.survived[kind] += got.code == 0
        return got.n_faults

    faults = FAULTS | CUDA_FAULTS
    for kind in kinds:
        counted = bench.run(command, f"{kind} {FAR} {faults[kind][0].rstrip('+')}")
        tally.calls[kind] = n = counted.n_calls
        if counted.n_held:
            tally.wrong.append(f"leaves {counted.n_held} things on the GPU without a fault")
        for what in faults[kind]:
            which = chosen(n, most, command.name + what)
            list(pool.map(lambda i, kind=kind, what=what: one(kind, what, i), which))
            i = n + 1  # a fault that is survived may make more calls
            while len(which) == n and one(kind, what, i) and i < 2 * n + 100:
                i += 1
    return tally


def show_one(bench: Bench, command: Command) -> int:
    whole = bench.run(command)
    got = bench.run(command, bench.options.fault, False, command.again or bench.options.fault.split()[2] in KILLED)
    sys.stdout.write(got.out.decode(errors="replace")[-2000:] + got.err.decode(errors="replace"))
    why = wrong(command, whole, got, bench.options.fault, False)
    print(f"{command.name}: exit status {got.code}, {got.n_faults} faults in {got.n_calls} calls: {why or 'right'}")
    return int(why != "")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True, type=given.program)
    parser.add_argument("--library", required=True, type=given.file)
    parser.add_argument("--most", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--kind", default="")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--fault", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    memory = "/dev/shm"  # quicker than a disk
    n_wrong = 0
    totals, survived = Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        bench = Bench(options, Path(folder))
        few = 0 < options.most < 10
        all_of_them = cuda_commands() if options.cuda else commands()
        kinds = options.kind.split(",") if options.kind else ["memory", *CUDA_FAULTS] if options.cuda else list(FAULTS)
        asked = [c for c in all_of_them if options.only in c.name and not (few and c.slow)][:: options.every]
        if options.fault:
            return max(show_one(bench, c) for c in asked)
        with ThreadPoolExecutor(options.jobs) as pool:
            for command in asked:
                begun = time.monotonic()
                tally = try_command(bench, pool, command, kinds)
                totals.update(tally.faults)
                survived.update(tally.survived)
                n_wrong += len(tally.wrong)
                of = ", ".join(f"{kind} {tally.faults[kind]} of {n}" for kind, n in tally.calls.items() if n)
                print(
                    f"{'not ok' if tally.wrong else 'ok'} faults: {command.name}: {sum(tally.faults.values())} faults,"
                    f" {sum(tally.survived.values())} survived, {len(tally.wrong)} wrong,"
                    f" {time.monotonic() - begun:.1f} s; {of}"
                )
                for line in tally.wrong[:20]:
                    print(f"    {line}")
                if bench.sum_of_data() != bench.sums:
                    print(f"not ok faults: {command.name}: its input is another")
                    n_wrong += 1
                sys.stdout.flush()
    print("kind faults survived: " + ", ".join(f"{k} {n} {survived[k]}" for k, n in totals.items()))
    print(f"{sum(totals.values())} faults in {len(asked)} commands, {n_wrong} wrong")
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
