#!/usr/bin/env python3
"""Simulates 30 days of examples/daily/daily.sh, five of them bad, with users who click on the served rankings.

    python3 tests/daily.py PROGRAM [--every N] [--keep FOLDER] [--script FILE]

Queries are made data with true labels. Each day, some of them are searched. The served model, a Python export, ranks
their documents, and the first ten are displayed, with neighbours exchanged in two sessions of three. A user looks at
displayed position k in 1/k of all sessions, and clicks with a probability that grows with the true label.

The bad days: few clicks, an empty log, a new feature, a run that is killed, and two broken features, one of them scaled
and one 0. The line of a bad day must have its reason, and a good day must be deployed or refused by the comparison. The
served file must score exactly like the verified model. NDCG@10 by true labels may fall by at most LOSS in a deployment,
and must be higher on the last day than on the first.

Then a small day is killed with SIGKILL before each of its commands and repeated, and so are its rollback and the
server's commands. A model without quality, a server that stores half a file, and wrong input must be refused."""

from __future__ import annotations

import argparse
import fcntl
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import given

ROOT = Path(__file__).resolve().parent.parent
DAILY = ROOT / "examples" / "daily"
LOSS = 0.015  # of NDCG@10 by true labels, in one deployment
QUERIES, SEARCHED, SESSIONS = 1500, 450, 20
ATTRACTION = {0: 0.05, 1: 0.4, 2: 0.9}
SETTINGS = {"EXPORT": "--to python", "TRAIN": "--rounds 50 --threads 2", "MIN_CLICKS": "1500"}
BAD = {5: ("few", r"refused: \d+ clicks, fewer than 1500"),
       9: ("empty", r"refused: '.*/day-09/clicks.tsv' is empty"),
       13: ("new", r"refused: features: new: fresh"),
       17: ("killed", r"(deployed: .*|refused: compare: .*) \(started again after an interruption\)"),
       23: ("broken", r"refused: drift: (?=.*feature 'f11': KS 0\.\d+ is above 0\.25)(?=.*feature 'f23': KS).*")}
DEPLOYED = r"deployed: ndcg@10 [+-]0\.\d+, the first result changes in \d+\.\d+ % of all queries"
GOOD = DEPLOYED + r"|refused: compare: .*: ndcg@10: the interval of the improvement begins at -0\.\d+, below -0\.01"
FEWEST_DEPLOYED = 3  # of the good days: refusing every day is no way to pass
# Kills the script and its commands before the command with this number.
TRAP = 'trap \'[ $((++commands)) -ne "$KILLED_AT" ] || kill -9 0\' DEBUG\n'


def fail(why: str) -> None:
    print(f"not ok daily: {why}")
    raise SystemExit(1)


def expect(holds: bool, why: str) -> None:
    if not holds:
        fail(why)


class World:
    """Queries with true labels, and the documents' features."""

    def __init__(self, program: str, folder: Path) -> None:
        self.rows: dict[str, list[list[float]]] = {}
        self.labels: dict[str, list[int]] = {}
        for line in self.made(program, folder / "world.txt", QUERIES, 1).splitlines():
            label, qid, *pairs = line.partition("#")[0].split()
            self.rows.setdefault(qid[4:], []).append([float(pair.partition(":")[2]) for pair in pairs])
            self.labels.setdefault(qid[4:], []).append(int(label))
        self.names = [f"f{i + 1}" for i in range(len(next(iter(self.rows.values()))[0]))]
        self.truth = folder / "truth.tsv"
        with self.truth.open("w") as file:
            print("label", "qid", *self.names, sep="\t", file=file)
            for line in self.made(program, folder / "other.txt", 500, 2).splitlines():
                label, qid, *pairs = line.partition("#")[0].split()
                print(label, qid[4:], *(pair.partition(":")[2] for pair in pairs), sep="\t", file=file)

    @staticmethod
    def made(program: str, path: Path, queries: int, seed: int) -> str:
        command = [program, "synth", "--shape", "letor", "--queries", str(queries), "--seed", str(seed), "-o", path]
        subprocess.run(command, check=True)
        return path.read_text()

    def log(self, folder: Path, served: Path | None, seed: int, kind: str = "good", searched: int = SEARCHED) -> None:
        """Writes the clicks and features of a day."""
        chance = random.Random(seed)
        folder.mkdir(parents=True)
        scores = module(served)["scores"] if served else None
        features = ["\t".join(["query", "document", *self.names, *(["fresh"] if kind == "new" else [])])]
        clicks = []
        for query in chance.sample(sorted(self.rows), searched):
            rows = self.rows[query]
            if kind == "broken":
                rows = [[*row[:10], 100 * row[10], *row[11:22], 0.0, *row[23:]] for row in rows]
            found = scores(rows) if scores else [0.0] * len(rows)
            order = sorted(range(len(rows)), key=lambda i: -found[i])[:10]
            for i in order:
                values = rows[i] + ([chance.random()] if kind == "new" else [])
                features.append(f"{query}\td{i}\t" + "\t".join(map(repr, values)))
            attraction = [ATTRACTION[label] for label in self.labels[query]]
            for session in range(2 if kind == "few" else SESSIONS):
                shown = list(order)
                for k in range(session % 3, len(shown) - 1, 2) if session % 3 < 2 else ():
                    shown[k], shown[k + 1] = shown[k + 1], shown[k]
                head = f"{folder.name}-{query}-{session}\t{query}\td"
                clicks += [f"{head}{i}\t{position}\t{'1' if chance.random() * position < attraction[i] else '0'}"
                           for position, i in enumerate(shown, 1)]
        (folder / "features.tsv").write_text("\n".join(features) + "\n")
        (folder / "clicks.tsv").write_text("\n".join(clicks) + "\n")
        if kind == "empty":
            (folder / "clicks.tsv").write_text("")


def module(path: Path) -> dict:
    names: dict = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names


class Job:
    """The script with its folders."""

    def __init__(self, program: str, folder: Path, script: Path, world: World) -> None:
        self.program, self.folder, self.script, self.world = program, folder, script, world
        self.logs = folder.parent / "logs"
        (folder / "served").mkdir(parents=True, exist_ok=True)

    def copy(self, folder: Path) -> Job:
        shutil.copytree(self.folder, folder, symlinks=True)
        return Job(self.program, folder, self.script, self.world)

    def call(self, command: str, day: str, killed_at: int = 0, inside: str = "", **settings: str) -> tuple[int, str]:
        """Exit code, and the line without the day. `inside`: kills a command of server.sh."""
        environment = {**os.environ, **SETTINGS, "LOGS": str(self.logs), "STORE": str(self.folder / "store"),
                       "SERVED": str(self.folder / "served"), "SERVER": f"sh {DAILY / 'server.sh'}",
                       "RANKWOOD": self.program, **settings}
        shell = ["sh"]
        if killed_at:
            trap, server = self.folder / "trap.sh", self.folder / "server.sh"
            trap.write_text(TRAP)
            if inside:
                server.write_text(f'[ "$1" != {inside} ] || export BASH_ENV={trap} KILLED_AT={killed_at}\n'
                                  f'exec bash -T {DAILY / "server.sh"} "$@"\n')
                environment["SERVER"] = f"sh {server}"
            else:
                environment.update(BASH_ENV=str(trap), KILLED_AT=str(killed_at))
                shell = ["bash", "-T"]
        done = subprocess.run([*shell, str(self.script), command, day], env=environment, capture_output=True, text=True,
                              start_new_session=True, check=False)
        self.errors = done.stderr
        return done.returncode, done.stdout.strip().removeprefix(day + " ")

    def expect(self, code: int, line: str, command: str, day: str, **settings: str) -> None:
        got, said = self.call(command, day, **settings)
        expect(got == code and re.fullmatch(line, said) is not None,
               f"{command} {day}: exit code {got}, '{said}'; expected {code}, '{line}'\n{self.errors}")
        self.check_served()

    @property
    def served(self) -> Path:
        return self.folder / "served" / "current"

    def current(self) -> str:
        return os.readlink(self.served) if self.served.is_symlink() else ""

    def exported(self) -> bytes:
        """The file that was verified, of the model in service."""
        return (self.folder / "store" / "models" / self.current() / "exported").read_bytes()

    def rankwood(self, command: str, *options: str | Path) -> str:
        """Runs a command on the documents with true labels."""
        done = subprocess.run([self.program, command, *options, "--label-column", "label", "--qid-column", "qid"],
                              check=True, capture_output=True, text=True)
        return done.stdout

    def check_served(self) -> None:
        """The served file is the verified one, and scores exactly like the model."""
        name, truth, scored = self.current(), self.world.truth, self.folder / "scores.txt"
        expect(self.served.read_bytes() == self.exported(), f"{name}: another file is served")
        self.rankwood("predict", self.folder / "store" / "models" / name / "model.txt", truth, "-o", scored)
        rows = [[float(x) for x in line.split("\t")[2:]] for line in truth.read_text().splitlines()[1:201]]
        theirs = [float(line) for line in scored.read_text().splitlines()[:200]]
        expect(module(self.served)["scores"](rows) == theirs, f"{name}: the served file scores differently")

    def ndcg(self, name: str) -> float:
        model = self.folder / "store" / "models" / name / "model.txt"
        measured = self.rankwood("eval", self.world.truth, "--model", model, "--metric", "ndcg@10", "--json")
        return float(re.search(r'"mean": ([0-9.e-]+)', measured)[1])


def thirty_days(job: Job) -> None:
    world, deployed = job.world, 0
    world.log(job.logs / "day-00", None, 0)
    job.expect(0, "deployed", "start", "day-00")
    first = last = job.ndcg("day-00")
    for n in range(1, 30):
        day, before = f"day-{n:02d}", job.current()
        kind, line = BAD.get(n, ("good", GOOD))
        world.log(job.logs / day, job.served, n, kind)
        if kind == "killed":
            served = job.served.read_bytes()
            code, _ = job.call("run", day, killed_at=70)
            expect(code == -signal.SIGKILL, f"{day} was not killed: exit code {code}")
            expect(job.served.read_bytes() == served, f"{day}: killed during the training, and another model is served")
        code, said = job.call("run", day)
        print(f"{day} {said}")
        if n == 1:  # no further good day to train on
            line = "kept: the new model is identical to the one in service"
        expect(re.fullmatch(line, said) is not None, f"{day} ({kind}): '{said}'\n{job.errors}")
        expect(code == (4 if said.startswith("refused") else 0), f"{day}: exit code {code}")
        new = said.startswith("deployed")
        expect(job.current() == (day if new else before), f"{day}: {job.current()} is in service")
        expect((job.folder / "store" / "days" / day).read_text() == f"{day} {said}\n", f"{day}: its line was not kept")
        job.check_served()
        if new:
            previous, last = last, job.ndcg(day)
            expect(last >= previous - LOSS, f"{day}: NDCG@10 by true labels is {last:.4f}, after {previous:.4f}")
            deployed += kind == "good"
            job.expect(0, re.escape(said), "run", day)  # again: nothing to do
    expect(deployed >= FEWEST_DEPLOYED, f"{deployed} good days were deployed, fewer than {FEWEST_DEPLOYED}")
    expect(last > first, f"NDCG@10 by true labels fell from {first:.4f} to {last:.4f}")
    print(f"{deployed} of {29 - len(BAD)} good days deployed; NDCG@10 by true labels {first:.4f} to {last:.4f}")


def killed(job: Job, command: str, day: str, other: str, every: int = 1, inside: str = "") -> int:
    """Kills copies of the job at each command, or some, and repeats them. Returns the number of kills."""
    whole = job.copy(job.folder.parent / "whole")
    code, said = whole.call(command, day)
    expect(code == 0, f"{command} {day}: exit code {code}, '{said}'\n{whole.errors}")

    def at(number: int) -> bool:
        copy = job.copy(job.folder.parent / f"{command}-{number}")
        code, _ = copy.call(command, day, killed_at=number, inside=inside)
        ended = code != -signal.SIGKILL
        where = f"{command} {day}, killed at command {number} {inside}"
        expect(copy.current() in (other, whole.current()), f"{where}: {copy.current()} is in service")
        expect(copy.served.read_bytes() == copy.exported(), f"{where}: the served file is not that of the model")
        code, again = copy.call(command, day)
        expect(code == 0 and again in (said, f"{said} (started again after an interruption)"), f"{where}: '{again}'")
        expect(copy.current() == whole.current(), f"{where}: {copy.current()} is in service")
        expect(copy.served.read_bytes() == whole.served.read_bytes(), f"{where}: another file is served")
        shutil.rmtree(copy.folder)
        return ended

    with ThreadPoolExecutor(2) as pool:
        for kills in range(0, 10000, 4):
            ended = list(pool.map(at, range(1 + kills * every, 1 + (kills + 4) * every, every)))
            if any(ended):
                break
    shutil.rmtree(whole.folder)
    return kills + ended.index(True)


def few_queries(job: Job, every: int) -> None:
    """Kills, rollbacks and refusals on days of few queries."""
    SETTINGS.update(MIN_CLICKS="50", MARGIN="1", TRAIN="--rounds 5", MAX_DRIFT="ks=1")
    for n in range(5):
        job.world.log(job.logs / f"day-{n}", None, n, searched=60)
    job.expect(0, "deployed", "start", "day-0")
    job.expect(0, "kept: the new model is identical to the one in service", "run", "day-1")
    first = job.served.read_bytes()
    kills = killed(job, "run", "day-2", "day-0", every)
    for inside in "upload", "switch":
        kills += killed(job, "run", "day-2", "day-0", inside=inside)
    job.expect(0, DEPLOYED, "run", "day-2")
    kills += killed(job, "rollback", "day-2", "day-2", every)
    print(f"{kills} kills")

    # A model without quality, servers that store half a file, fail or are missing, two runs at the same time
    second = job.copy(job.folder.parent / "second")
    second.expect(4, r"refused: compare: .*, below -0\.01", "run", "day-3", MARGIN=".01", TRAIN="--rounds 1 --leaves 2")
    server = DAILY / "server.sh"
    half = second.folder / "half.sh"
    half.write_text(f'[ "$1" = upload ] && exec head -c 500 "$2" >"$SERVED/$3"\nexec sh {server} "$@"\n')
    second.expect(3, "failed: upload: the server's copy of day-3 differs", "run", "day-3", SERVER=f"sh {half}")
    half.write_text(f'[ "$1" = upload ] && {{ echo "disk full" >&2; exit 1; }}\nexec sh {server} "$@"\n')
    second.expect(3, "failed: upload: disk full .exit code 1.", "run", "day-3", SERVER=f"sh {half}")
    second.expect(3, "failed: the server does not answer", "run", "day-3", SERVED=str(second.folder / "nowhere"))
    with (second.folder / "store" / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second.expect(3, "", "run", "day-3")
    expect("another run is in progress" in second.errors, f"a second run at the same time: {second.errors}")
    second.expect(0, DEPLOYED, "run", "day-3")
    second.expect(4, "refused: the model of a later day is in service: day-3", "run", "day-0")

    job.expect(0, "rolled back to day-0", "rollback", "day-2")
    expect(job.served.read_bytes() == first, "the rollback serves another file than before")
    job.expect(0, "rolled back to day-0", "rollback", "day-2")
    job.expect(4, "refused: it was rolled back; to try again, remove .*", "run", "day-2")
    job.expect(0, DEPLOYED, "run", "day-3")

    # Features of some documents only, features in another order, files that are missing, wrong calls
    features = job.logs / "day-4" / "features.tsv"
    lines = features.read_text().splitlines(keepends=True)
    last = re.compile(r"(\t[^\t]*)(\t[^\t]*)\n")  # the last two columns
    for wrong, line in ((lines[:300], r"refused: \d+ of \d+ displayed documents have no features"),
                        ([last.sub(r"\2\1\n", line) for line in lines], "refused: the features have another order"),
                        ([last.sub(r"\1\n", line) for line in lines], "refused: features: missing: f46"),
                        ([], "refused: '.*features.tsv' is empty")):
        features.write_text("".join(wrong))
        job.expect(4, line, "run", "day-4")
    features.unlink()
    job.expect(3, "failed: no file '.*features.tsv'", "run", "day-4")
    features.write_text("".join(lines))
    job.expect(2, "failed: train: .*", "run", "day-4", TRAIN="--round 1")
    for good in (job.folder / "store" / "good").iterdir():
        good.unlink()
    job.expect(4, "refused: no good day before this one", "run", "day-4")
    job.expect(2, "failed: no model of this job is in service; .*", "run", "day-4", STORE=str(job.folder / "empty"))
    job.expect(2, "", "run", "../day-4")
    job.expect(2, "", "deploy", "day-4")
    lines = {path.name: path.read_text() for path in (job.folder / "store" / "days").iterdir()}
    for wrong in ({"WINDOW": "x"}, {"MIN_CLICKS": "1e3"}):
        job.expect(2, "failed: WINDOW and MIN_CLICKS are whole numbers", "run", "day-3", **wrong)
    for day in ("day-0", "day-4"):
        job.expect(2, "failed: the day has no model, or no model was in service before", "rollback", day)
    for name, line in lines.items():
        expect((job.folder / "store" / "days" / name).read_text() == line, f"a wrong call changed the line of {name}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=given.program)
    parser.add_argument("--keep", type=Path, help="write everything to this folder, which must not exist, and keep it")
    parser.add_argument("--script", type=given.file, default=str(DAILY / "daily.sh"), help="test this copy of daily.sh")
    parser.add_argument("--every", type=int, default=1, help="kill before every N-th command only")
    args = parser.parse_args()
    folder = args.keep or Path(tempfile.mkdtemp())
    try:
        folder.mkdir(parents=True, exist_ok=args.keep is None)
        world = World(args.program, folder)
        job = Job(args.program, folder / "days" / "job", Path(args.script), world)
        thirty_days(job)
        few_queries(Job(args.program, folder / "small" / "job", Path(args.script), world), args.every)
    finally:
        if not args.keep:
            shutil.rmtree(folder)
    print("ok daily")


if __name__ == "__main__":
    main()
