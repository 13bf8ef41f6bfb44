"""Mutation testing: changes one line of the library at a time and expects a test to fail.

    python3 tests/mutate/mutate.py [--seed 1] [--count 300] [--folders tree,io] [--jobs 2] [--only FILE:LINE]

Works in copies of the tree with separate builds, never in the tree. A mutant (mutants.py) that does not compile, or
that compiles to the same objects, is skipped. For others, the tests of the changed code run (FOLDERS, CHECKS, LAST),
the fastest first, until one fails: the mutant is detected. A timeout is a failure: fifteen times the processor time of
an unchanged run, or twenty times its duration and a minute. "(time)" marks it, since it may be due to a busy machine. A
mutant that no test detects has survived. The list `answered` has survivors that change no observable behaviour, each
with the reason.

--seed N       which mutants, and in which order
--count N      number of mutants that compile to different objects
--skip N       skips the first N, whether they compile or not
--folders LIST folders of src, separated by commas
--only PLACES  FILE or FILE:LINE, separated by commas: every mutant of that line, instead of one
--again FILE   the survivors that an earlier run listed at its end, where their lines are still there
--jobs N       parallel copies of the tree (the processors)
--work FOLDER  folder of the copies (mutate in RANKWOOD_BUILDS, by default build-tests)
--stages LIST  of near, last, pins, sanitized (default all): the tests of file and folder; all other tests; pinned
               models; the unit tests of file and folder, sanitized. Mutants that near does not detect take minutes more
--most N       only tests that take at most N seconds without a mutant
--trust        skips the first run without a mutant, if an earlier run did it
--list         only prints the mutants

Prints a line per mutant, then a table, then the survivors in the format of `answered`. Exits with 1 if one is not in
that list, or if the line of an entry no longer exists."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import given  # noqa: E402
from mutants import Mutant, mutants_of  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
ANSWERED = Path(__file__).with_name("answered")
# Files of unit tests that should see a mutant of a folder; those that are named after its source run before the others.
FOLDERS = {
    "binning": "bins valid_codes cuts boundary_ranks batch_codes letor_codes cache_codes parts_codes table table_chunks csv",
    "comm": "comm shards workers parts_codes boundary_ranks",
    "dataset": "dataset table table_chunks categories letor csv reader arrow labels side_files parts_codes synth_write "
    "booster check_data_set pairs_file workers valid_codes",
    "evaluate": "evaluate audit cv calibrate calibration compare significance permutation prune feature_selection "
    "run_scores judge",
    "io": "letor letor_fast letor_codes csv arrow cache cache_codes cache_labels cache_categories reader reader_scores "
    "input model_text model_threads model_golden model_versions checkpoint_text checkpoint side_files pairs_file "
    "qrels members shards parts_codes other_formats refused out_file feature_set check_data_set categories",
    "metric": "metric ndcg dcg judgments dialect evaluate classic delta eval_sets yetirank",
    "model": "model tree predict device_scorer scorer single_lanes shap show importance calibration score_lines model_text "
    "model_golden categories refit",
    "objective": "objective lambda delta neighbours pointwise losses yetirank debias labels classic trainings",
    "params": "params params_set aliases labels features refit booster trainings cv feature_selection fpenv",
    "train": "booster booster_empty trainings continuation checkpoint checkpoint_text eval_sets features refit "
    "fingerprint valid_codes workers shards categories labels debias monotone rules cv feature_set model_text "
    "feature_selection fpenv",
    "tree": "grower tree engine engine_host hist_serial joint_words quantise category_split monotone node_features "
    "placement plan workers trainings valid_codes cache_codes",
}
# Then the checks that have to do with a folder; then LAST; then models' bytes; then unit tests, sanitized.
ENGINES = "check check_plain check_avx2 check_category check_big thread_check"
CHECKS = {
    "binning": ENGINES,
    "comm": "check_comm comm_mpi thread_check check_big",
    "evaluate": "runs_oracle replay_clicks",
    "io": "check_comm replay_letor replay_csv replay_cache replay_model replay_checkpoint replay_pairs replay_qrels",
    "metric": "check runs_oracle",
    "model": "check_predict thread_check",
    "objective": ENGINES,
    "tree": ENGINES,
}
LAST = "oracle continuing serving runs_oracle library_faults"  # and the commands, room by room
PLAIN = ["-Dcuda=disabled", "-Dwarning_level=0", "-Ddebug=false", "-Doptimization=2"]
SANITIZED = ["-Dcuda=disabled", "-Dwarning_level=0", "-Doptimization=1", "-Db_sanitize=address,undefined"]
SANITIZED += ["-Dc_args=-g1 -fno-sanitize-recover=undefined"]


children: set[subprocess.Popen[str]] = set()


def run(
    command: list[str], env: dict[str, str] | None = None, cwd: str | None = None, timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True
    ) as child:
        children.add(child)
        try:
            said, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            children.discard(child)
    return subprocess.CompletedProcess(command, child.returncode, said.decode(errors="replace"))


def end_children() -> None:
    for child in list(children):
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()


def needed(command: list[str], env: dict[str, str] | None = None) -> str:
    done = run(command, env)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}\nmutate: failed: {' '.join(command)}")
    return done.stdout


@dataclass(frozen=True)
class Outcome:
    what: str  # none: does not compile; same: the same objects; seen; survived
    test: str = ""  # that saw it


@dataclass(frozen=True)
class Test:
    command: list[str]
    env: dict[str, str]
    cwd: str | None
    timeout: float
    files: list[str]  # built before


@cache
def tests_of(build: Path) -> dict[str, Test]:
    """What meson would run in a build: without meson, which takes longer to begin than most tests."""
    info = build / "meson-info"
    targets = {t["id"]: t for t in json.loads((info / "intro-targets.json").read_text())}
    tests = {}
    for t in json.loads((info / "intro-tests.json").read_text()):
        users = [targets[name] for name in t["depends"]]
        made = [os.path.relpath(name, build) for target in users for name in target["filename"]]
        # A sanitizer wants what meson sets.
        by_meson = ["meson", "test", "-C", str(build), "--no-rebuild", "-t", "5", t["name"]]
        command, option = (by_meson, "--test-args=") if build.name == "sanitized" else (t["cmd"], "")
        if "unit" in {suite.rpartition(":")[2] for suite in t["suite"]}:  # a room's program: its files, one at a time
            groups = [group for user in users for group in user["target_sources"]]
            stems = [Path(path).stem for group in groups for path in group.get("sources", [])]
            names = [stem.removeprefix("test_") for stem in stems if stem.startswith("test_")]
            some = {name: [*command, f"{option}--filter={name}/*"] for name in names}
        else:
            some = {t["name"]: command}
        for name, one in some.items():
            tests[name] = Test(one, t["env"], t["workdir"], t["timeout"] or 1e6, made)
    return tests


class Times:
    """What tests take without a mutant, in seconds."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.known: dict[str, float] = json.loads(file.read_text()) if file.is_file() else {}

    def of(self, build: Path, test: str) -> float:
        return self.known.get(f"{build.name} {test}", 0.0)

    def set(self, build: Path, test: str, seconds: float) -> None:
        self.known.setdefault(f"{build.name} {test}", seconds)

    def save(self) -> None:
        self.file.write_text(json.dumps(self.known, indent=1))


class Tree:
    """A copy of the tree, with a build for the tests and, once something survives them, one with sanitizers."""

    def __init__(self, work: Path, stages: set[str], most: float, times: Times) -> None:
        self.stages, self.most, self.times = stages, most, times
        self.root, self.tmp = work / "tree", work / "tmp"
        self.build, self.sanitized = work / "build", work / "sanitized"
        self.copy()
        shutil.rmtree(self.tmp, ignore_errors=True)
        self.tmp.mkdir()
        self.env = dict(os.environ, TMPDIR=str(self.tmp), LC_ALL="C", MALLOC_PERTURB_="165")
        if shutil.which("ld.lld"):  # the tests are linked more often than anything is compiled
            self.env["CC_LD"] = "lld"
        self.configure(self.build, PLAIN)
        needed(["ninja", "-C", str(self.build), *self.libraries()], self.env)  # each test is built when it runs
        self.users = self.users_of_sources()
        self.clean = {o: digest(self.build / o) for o in {o for objects in self.users.values() for o in objects}}
        self.tests = set(tests_of(self.build))

    def copy(self) -> None:
        listed = needed(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        wanted = {name for name in listed.split("\0") if (ROOT / name).is_file()}
        for old in [p for p in self.root.rglob("*") if p.is_file() and str(p.relative_to(self.root)) not in wanted]:
            old.unlink()
        for name in wanted:
            old, new = self.root / name, ROOT / name
            if not old.is_file() or old.read_bytes() != new.read_bytes():
                old.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(new, old)

    def configure(self, build: Path, options: list[str]) -> None:
        if not (build / "build.ninja").is_file():
            needed(["meson", "setup", str(build), str(self.root), *options], self.env)
        needed(["ninja", "-C", str(build), "build.ninja"], self.env)  # where meson.build has changed

    def libraries(self) -> list[str]:
        targets = json.loads((self.build / "meson-info/intro-targets.json").read_text())
        made = [t["filename"] for t in targets if Path(t["defined_in"]).resolve().parent == self.root / "src"]
        return [os.path.relpath(name, self.build) for name in chain.from_iterable(made)]

    def users_of_sources(self) -> dict[str, list[str]]:
        """The library's objects that each file of the tree is compiled into."""
        users: dict[str, list[str]] = {}
        target = ""
        for line in needed(["ninja", "-C", str(self.build), "-t", "deps"], self.env).splitlines():
            if line.startswith(" "):
                path = os.path.relpath(self.build / line.strip(), self.root)
                if target.startswith("src/") and not path.startswith(".."):
                    users.setdefault(path, []).append(target)
            else:
                target = line.split(":")[0]
        return users

    def trial(self, mutant: Mutant) -> Outcome:
        source = self.root / mutant.path
        text = source.read_text()
        lines = text.splitlines(keepends=True)
        assert lines[mutant.line - 1].strip() == mutant.before
        lines[mutant.line - 1] = mutant.indent + mutant.after + "\n"
        source.write_text("".join(lines))
        try:
            objects = self.users.get(mutant.path, [])
            if not objects or run(["ninja", "-C", str(self.build), *objects], self.env).returncode != 0:
                return Outcome("none")
            if all(digest(self.build / o) == self.clean[o] for o in objects):
                return Outcome("same")
            failed = self.tested(*stages_of(mutant.path, self.tests))
            return Outcome("seen", failed) if failed else Outcome("survived")
        finally:
            source.write_text(text)
            shutil.rmtree(self.tmp, ignore_errors=True)
            self.tmp.mkdir()

    def tested(self, near: list[list[str]], last: list[str]) -> str:
        """The first test that fails; "": none does."""
        for tests in [*(near if "near" in self.stages else []), *([last] if "last" in self.stages else [])]:
            if failed := self.failing(self.build, tests):
                return failed
        if "pins" in self.stages and self.pins_differ():
            return "pin"
        if "sanitized" not in self.stages:
            return ""
        self.configure(self.sanitized, SANITIZED)
        failed = self.failing(self.sanitized, [*chain.from_iterable(near[:2])])
        return failed and failed + ", sanitized"

    def wrong(self, folders: list[str]) -> str:
        """What fails in the tree as it is. Also measures."""
        stages = [stages_of(f"src/{folder}/", self.tests) for folder in folders]
        near = {test for stage, _ in stages for tests in stage for test in tests}
        failed = self.tested([sorted(near)], stages[0][1])
        self.times.save()
        return failed

    def failing(self, build: Path, names: list[str]) -> str:
        """The first of these tests that fails, the quickest first; "": none does."""
        tests = tests_of(build)
        usual = {name: self.times.of(build, name) or self.times.of(self.build, name) or 1e9 for name in names}
        for name in sorted((n for n in names if self.times.of(build, n) <= self.most), key=lambda name: usual[name]):
            test = tests[name]
            if test.files and (done := run(["ninja", "-C", str(build), *test.files], self.env)).returncode != 0:
                raise RuntimeError(f"ninja: {done.returncode}\n{done.stdout[-3000:]}")
            if failed := self.fails(build, name, test):
                return failed
        return ""

    def fails(self, build: Path, name: str, test: Test) -> str:
        usual = self.times.of(build, name)
        # Time of processors, lest a busy machine sees too much; the rest is for tests that hang.
        cpu = int(15 * usual) + 5 if usual else 100 if build == self.build else 400
        limits = ["prlimit", "--core=0", "--fsize=8000000000", f"--cpu={cpu}"]
        if build == self.build:  # a sanitizer has more than it uses
            limits.append("--data=12000000000")
        at = time.monotonic()
        try:
            wait = 60 + 20 * usual if usual else 5 * test.timeout
            done = run([*limits, *test.command], self.env | test.env, test.cwd or str(build), wait)
        except subprocess.TimeoutExpired:
            return f"{name} (time)"
        if done.returncode in (0, 77) and not re.search("^not ok", done.stdout, re.MULTILINE):
            self.times.set(build, name, time.monotonic() - at)
            return ""
        killed = {-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL}
        is_late = done.returncode in killed or re.search(r" timed out \(|signal .*(XCPU|SIGKILL)", done.stdout)
        return f"{name} (time)" if is_late else name

    def pins_differ(self) -> bool:
        """Of data and models, by tests/pin.py."""
        needed(["ninja", "-C", str(self.build), "src/cli/rankwood"], self.env)
        pin = [sys.executable, str(self.root / "tests/pin.py"), str(self.build / "src/cli/rankwood")]
        return run(["timeout", "300", *pin, "--quick", "--only", "^(data|run)"], self.env).returncode != 0


def stages_of(path: str, tests: set[str]) -> tuple[list[list[str]], list[str]]:
    """The tests that should detect a mutant of a source: those of its folder, in this order, and the others."""
    folder, stem = path.split("/")[1], Path(path).stem
    own = sorted(t for t in tests if t == stem or t.startswith(stem + "_") or stem.startswith(t + "_"))
    units = [t for t in FOLDERS[folder].split() if t not in own]
    checks = [*CHECKS.get(folder, "").split(), f"cli_{folder}"]
    last = [*LAST.split(), *(t for t in sorted(tests) if t.startswith("cli_") and t not in checks)]
    known = [[t for t in stage if t in tests] for stage in (own, units, checks, last)]
    return known[:3], known[3]


def digest(file: Path) -> bytes:
    return hashlib.sha256(file.read_bytes()).digest()


class Answered:
    """Entries of the list: a line with file and function, the line with - before it, the mutant with +, the reason."""

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.stale: list[str] = []
        for entry in re.split(r"\n{2,}", ANSWERED.read_text()):
            lines = [line for line in entry.splitlines() if line and not line.startswith("#")]
            if not lines:
                continue
            if len(lines) < 4 or lines[1][:2] != "- " or lines[2][:2] != "+ ":
                sys.exit(f"mutate: {ANSWERED}: expected file and function, '- line', '+ line', reason in:\n{entry}")
            path, function = lines[0].split()
            self.keys.add("\n".join((path, function, lines[1][2:], lines[2][2:])))
            source = ROOT / path
            if not source.is_file() or lines[1][2:] not in map(str.strip, source.read_text().splitlines()):
                self.stale.append(entry)


class Work:
    """Hands out mutants in their order, until `count` of them compile to something else."""

    def __init__(self, mutants: list[Mutant], skip: int, count: int) -> None:
        self.mutants, self.count = mutants, count
        self.at, self.n_real, self.n_running = skip, 0, 0
        self.changed = threading.Condition()
        self.outcomes: list[tuple[Mutant, Outcome]] = []

    def take(self) -> Mutant | None:
        with self.changed:
            while self.n_real + self.n_running >= self.count and self.n_running > 0:
                self.changed.wait()
            if self.n_real >= self.count or self.at >= len(self.mutants):
                return None
            self.at += 1
            self.n_running += 1
            return self.mutants[self.at - 1]

    def give(self, mutant: Mutant, outcome: Outcome, seconds: float) -> None:
        with self.changed:
            self.n_running -= 1
            self.n_real += outcome.what in ("seen", "survived")
            self.outcomes.append((mutant, outcome))
            self.changed.notify_all()
            if outcome.what in ("seen", "survived"):
                by = f" by {outcome.test}" if outcome.test else ""
                print(f"{outcome.what:8} {mutant.path}:{mutant.line}{by}, {seconds:.0f} s", flush=True)
                if outcome.what == "survived":
                    print(f"    - {mutant.before}\n    + {mutant.after}", flush=True)


def worker(tree: Tree, work: Work) -> None:
    try:
        while mutant := work.take():
            at = time.monotonic()
            work.give(mutant, tree.trial(mutant), time.monotonic() - at)
    except BaseException as error:
        print(f"mutate: {error}", flush=True)
        end_children()
        os._exit(2)


def show(work: Work, answered: Answered) -> bool:
    """The table and the survivors; whether each of them is answered."""
    real = [m for m, o in work.outcomes if o.what in ("seen", "survived")]
    survivors = sorted((m for m, o in work.outcomes if o.what == "survived"), key=lambda m: (m.path, m.line))
    open_ones = [m for m in survivors if m.key() not in answered.keys]
    print(f"\n{'folder':12} mutants   seen survived answered")
    for folder in [*sorted({m.path.split("/")[1] for m in real}), ""]:
        n, lost, left = (sum(m.path.startswith(f"src/{folder}") for m in some) for some in (real, survivors, open_ones))
        print(f"{folder or 'all':12} {n:7} {n - lost:6} {lost:8} {lost - left:8}")
    passed_over = Counter(o.what for _, o in work.outcomes)
    print(f"\npassed over: {passed_over['same']} with the same objects, {passed_over['none']} that do not compile")
    print(f"to go on behind these: --skip {work.at}")
    for m in open_ones:
        print(f"\nsurvived, {m.path}:{m.line}\n{m.path} {m.function}\n- {m.before}\n+ {m.after}")
    for entry in answered.stale:
        print(f"\nanswered, but no longer there:\n{entry}")
    return not open_ones


def survivors_of(log: Path) -> set[str]:
    """Keys of those that show() has listed."""
    listed = re.findall(r"^survived, .*\n(\S+) (\S+)\n- (.*)\n\+ (.*)$", log.read_text(), re.MULTILINE)
    return {"\n".join(one) for one in listed}


def sources(folders: list[str]) -> list[str]:
    listed = needed(["git", "-C", str(ROOT), "ls-files", *(f"src/{folder}" for folder in folders)]).split()
    return [path for path in listed if path.endswith((".c", ".h"))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--folders", default=",".join(FOLDERS))
    parser.add_argument("--only", default="")
    parser.add_argument("--again", type=lambda path: Path(given.file(path)))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--work", default=Path(os.environ.get("RANKWOOD_BUILDS", ROOT / "build-tests")) / "mutate")
    parser.add_argument("--stages", default="near,last,pins,sanitized")
    parser.add_argument("--most", type=float, default=1e6)
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args()
    folders = args.folders.split(",")
    if unknown := [folder for folder in folders if folder not in FOLDERS]:
        parser.error(f"no folder '{unknown[0]}' here: {', '.join(FOLDERS)}")
    places = args.only.split(",") if args.only else []
    survived = survivors_of(args.again) if args.again else set()
    mutants = mutants_of(ROOT, sources(folders), args.seed, places or sorted({key.split("\n")[0] for key in survived}))
    if args.again:
        mutants = [m for m in mutants if m.key() in survived]
    if args.list:
        for m in mutants[args.skip : args.skip + args.count]:
            print(f"{m.path}:{m.line} {m.function}\n    - {m.before}\n    + {m.after}")
        return 0
    answered = Answered()
    work = Work(mutants, args.skip, args.count)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    place = Path(args.work).resolve()
    times = Times(place / "times.json")
    threads = []
    try:
        trees = [Tree(place / str(job), set(args.stages.split(",")), args.most, times) for job in range(args.jobs)]
        if not (args.trust and times.known) and (wrong := trees[0].wrong(folders)):
            sys.exit(f"mutate: fails without a mutant: {wrong}")
        for tree in trees:
            threads.append(threading.Thread(target=worker, args=(tree, work), daemon=True))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        print("\ninterrupted")
    good = show(work, answered) and not answered.stale
    sys.stdout.flush()
    end_children()
    os._exit(0 if good else 1)  # also where a thread has not ended


if __name__ == "__main__":
    sys.exit(main())
