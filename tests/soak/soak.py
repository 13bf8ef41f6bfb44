"""Simulates days of retraining while a server answers requests.

    python3 tests/soak/soak.py --program BUILD/src/cli/rankwood --server BUILD/tests/soak/soak_server FOLDER
    python3 tests/soak/soak.py --show FOLDER       the figures so far, of a current or finished run

Each day, with new made data: trains a model from text and from a cache, which must be identical, and continues
yesterday's (--init). Trains with checkpoints, kills that training at random moments and resumes it; the model must be
identical to an uninterrupted one. Exports to some of the formats, verifies, imports and compares scores, and evaluates.
Then passes the model, by renaming a link, to the server (soak_server.c), whose 8 threads answer 10,000 requests per
second.

--seconds N     the run ends with the day in progress after N seconds (7200), after two days at least
--day N         seconds per day, or more if the machine is slow (25)
--queries N     of a day's training data, or up to a third more (450)
--rate N, --swap MS, --every MS, --fault NAME   of the server (10000, 500, 5000); the test must detect the
                faults `free`, `answer`, `leak` and `descriptor`
--bound N       memory is flat if the server's grows in the second half, by least squares, by at most N KiB per hour
                (512) or by 1 MiB in all; malloc's allocations may grow by a quarter of that
--no-memory     do not check memory: a sanitizer does not reuse freed memory
--seed N        of data and moments (1)

FOLDER gets days.jsonl, a line per day; server.jsonl, a line every 5 seconds; summary.json. The default is a temporary
folder. Exits with 1 if a command failed, an answer was wrong, or memory, descriptors or threads grew."""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import given  # noqa: E402

ROUNDS, MORE_ROUNDS, LONG_ROUNDS = 80, 20, 300
FEWEST_DAYS = 2
FLOOR_KIB = 1024  # normal variation of RSS
# The trainings, in turn: new, continued and killed ones.
TRAINED: tuple[list[str], ...] = (
    [],
    ["--split", "newton", "--min-docs", "30"],
    ["--sample-queries", "0.6", "--sample-features", "0.6"],
    ["--truncation", "10", "--rate", "0.08"],
)
KILLED: tuple[list[str], ...] = (
    ["--early-stop", "0"],
    ["--objective", "yetirank", "--early-stop", "40"],
    ["--objective", "regression", "--bits", "16", "--early-stop", "0"],
    ["--split", "newton", "--sample-docs", "0.7", "--early-stop", "0"],
    ["--sample-queries", "0.5", "--early-stop", "60", "--train-metric", "on"],
)
READ_BACK = ("ranklib", "quickrank", "lightgbm", "xgboost", "xgboost-ubj", "onnx", "onnx5", "solr", "catboost")
WRITTEN = (*READ_BACK, "xgboost-dump", "eslr-raw", "vespa", "c", "java", "go", "python", "pmml", "opensearch",
           "elasticsearch", "elasticsearch-ml")
FORMATS_A_DAY = 4


class Wrong(Exception):
    """An error that ends a day."""


class Commands:
    """Runs the program in a folder and adds up its time and memory. The largest KiB of a command are the kernel's
    figure, which is never below this process's memory."""

    def __init__(self, program: str, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.cpu = 0.0
        self.most_kib: dict[str, int] = {}
        self.n = 0

    def start(self, *arguments: object) -> subprocess.Popen[bytes]:
        words = [self.program, *map(str, arguments)]
        self.n += 1
        with open(self.folder / "stderr.txt", "wb") as said:
            return subprocess.Popen(words, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said)

    def end(self, process: subprocess.Popen[bytes], name: str) -> int:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu += usage.ru_utime + usage.ru_stime
        self.most_kib[name] = max(self.most_kib.get(name, 0), usage.ru_maxrss)
        return process.returncode

    def __call__(self, *arguments: object) -> None:
        code = self.end(self.start(*arguments), str(arguments[0]))
        if code != 0:
            said = (self.folder / "stderr.txt").read_text(errors="replace").strip()
            raise Wrong(f"{' '.join(map(str, arguments))}: exits with {code}: {said[-400:]}")

    def same(self, one: str, other: str, what: str) -> None:
        if not filecmp.cmp(self.folder / one, self.folder / other, shallow=False):
            raise Wrong(f"{what}: '{one}' and '{other}' are not the same bytes")


def killed_training(run: Commands, chance: random.Random, parameters: list[str]) -> tuple[int, int]:
    """Kills a training up to three times and lets it end; how often it was killed, and went on."""
    common = ["train", "train.txt", "--valid", "valid.txt", "--rounds", LONG_ROUNDS, "--leaves", 16, "--threads", 1]
    common += [*parameters, "--quiet"]
    begun = time.monotonic()
    run(*common, "--checkpoint", "whole.ck", "--checkpoint-every", 1, "-o", "whole.txt")
    takes = time.monotonic() - begun
    n_killed = n_resumed = 0
    while True:
        n_resumed += (run.folder / "killed.ck").exists()
        process = run.start(
            *common, "--checkpoint", "killed.ck", "--checkpoint-every", 1, "--resume", "auto", "-o", "killed.txt"
        )
        if n_killed < 3:
            until = time.monotonic() + chance.uniform(0, 1.2) * takes
            peek = os.WEXITED | os.WNOHANG | os.WNOWAIT
            while time.monotonic() < until and not os.waitid(os.P_PID, process.pid, peek):
                time.sleep(0.002)
            os.kill(process.pid, 9)
        code = run.end(process, "train --resume")
        if code == 0:
            break
        if code != -9 or n_killed == 3:
            said = (run.folder / "stderr.txt").read_text(errors="replace").strip()
            raise Wrong(f"a resumed training exits with {code}: {said[-400:]}")
        n_killed += 1
    run.same("whole.txt", "killed.txt", f"killed {n_killed} times, {' '.join(parameters)}")
    return n_killed, n_resumed


def exchange(run: Commands, day: int) -> list[str]:
    formats = [WRITTEN[(day * FORMATS_A_DAY + i) % len(WRITTEN)] for i in range(FORMATS_A_DAY)]
    for name in formats:
        by_set = ["--featureset", "../featureset.json", "--name", f"day-{day}"] if "search" in name else []
        # Solr adds 1e-6 to a threshold, a sum that some floats are not; such a model would be refused
        lossy = ["--lossy"] if name == "solr" else []
        run("export", "new.txt", "--to", name, *by_set, *lossy, "--verify", "valid.txt", "--quiet", "-o", "exported")
        if name in READ_BACK:
            base = ["--feature-base", 1] if name == "solr" else []  # its features are named f1, f2, ...
            run("import", "exported", "--from", name, *base, "-o", "imported.txt")
            run("predict", "imported.txt", "../pool.txt", "--threads", 1, "--quiet", "-o", "imported.scores")
            run.same("imported.scores", "scores.txt", f"imported from {name}")
    return formats


def ndcg(run: Commands) -> float:
    """Of today's model; the same, to the last digit, from its scores."""
    run("eval", "valid.txt", "--model", "new.txt", "--json", "--quiet")
    by_model = (run.folder / "stderr.txt").read_text()
    run("predict", "new.txt", "valid.txt", "--quiet", "-o", "valid.scores")
    run("eval", "valid.txt", "--scores", "valid.scores", "--json", "--quiet")
    if (run.folder / "stderr.txt").read_text() != by_model:
        raise Wrong("eval says another thing of a model than of its scores")
    mean = json.loads(by_model)["metrics"][0]["mean"]
    assert isinstance(mean, float)
    return mean


def one_day(run: Commands, day: int, queries: int, chance: random.Random) -> dict[str, Any]:
    """Everything but handing it over: leaves day-N/model.txt and day-N/scores.txt."""
    queries += day * 37 % (queries // 3)
    seed = chance.randrange(1 << 30)
    run("synth", "--shape", "letor", "--queries", queries, "--seed", seed, "-o", "train.txt")
    run("synth", "--shape", "letor", "--queries", queries // 3, "--seed", seed + 1, "-o", "valid.txt")
    common = ["--valid", "valid.txt", "--leaves", 16, "--early-stop", 0, "--quiet", *TRAINED[day % len(TRAINED)]]
    run("train", "train.txt", *common, "--rounds", ROUNDS, "--threads", 1, "-o", "anew.txt")
    run("bin", "train.txt", "-o", "train.rwb")
    run("train", "train.rwb", *common, "--rounds", ROUNDS, "--threads", 2, "-o", "cached.txt")
    run.same("anew.txt", "cached.txt", "from text and from a cache")
    yesterday = Path("..") / f"day-{day - 1}" / "anew.txt"
    init = yesterday if (run.folder / yesterday).exists() else "anew.txt"
    run("train", "train.txt", *common, "--init", init, "--rounds", MORE_ROUNDS, "--threads", 1, "-o", "new.txt")
    n_killed, n_resumed = killed_training(run, chance, KILLED[day % len(KILLED)])
    run("predict", "new.txt", "../pool.txt", "--threads", 1, "--quiet", "-o", "scores.txt")
    formats = exchange(run, day)
    before = run.folder / f"../day-{day - 1}/scores.txt"
    if before.exists():
        old, new = before.read_text().split(), (run.folder / "scores.txt").read_text().split()
        if sum(a != b for a, b in zip(old, new, strict=True)) < len(new) * 9 / 10:
            raise Wrong("today's scores are yesterday's: what is served could be either")
    record = {
        "queries": queries,
        "model_bytes": (run.folder / "new.txt").stat().st_size,
        "kills": n_killed,
        "resumed": n_resumed,
        "formats": formats,
        "ndcg@10": ndcg(run),
    }
    left = [path.name for path in run.folder.rglob("*.tmp-*")]
    if left:
        raise Wrong(f"left behind: {left}")
    for name in ("train.txt", "train.rwb", "whole.txt", "whole.ck", "killed.txt", "killed.ck", "exported"):
        (run.folder / name).unlink()
    os.replace(run.folder / "new.txt", run.folder / "model.txt")
    return record


def hand_over(folder: Path, day: int) -> None:
    (folder / "next").symlink_to(f"day-{day}")
    os.replace(folder / "next", folder / "current")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines; a last one may be half written."""
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def last_line(path: Path) -> dict[str, Any]:
    """A day's file has a million lines."""
    if not path.exists():
        return {}
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 8192))
        lines = file.read().split(b"\n")[:-1]
    return dict(json.loads(lines[-1])) if lines else {}


def slope(lines: list[dict[str, Any]], name: str) -> float:
    """KiB an hour, by least squares."""
    hours = [line["seconds"] / 3600 for line in lines]
    values = [line[name] for line in lines]
    mean_hours, mean = sum(hours) / len(hours), sum(values) / len(values)
    spread = sum((h - mean_hours) ** 2 for h in hours)
    return sum((h - mean_hours) * (v - mean) for h, v in zip(hours, values, strict=True)) / spread if spread else 0.0


def summary(folder: Path, bound: float, judge_memory: bool) -> dict[str, Any]:
    """Figures of the run so far, and all that is wrong with it."""
    days, lines = read_lines(folder / "days.jsonl"), read_lines(folder / "server.jsonl")
    wrong = [f"day {day['day']}: {day['error']}" for day in days if day["error"]]
    if len(lines) < 3:
        return {"failures": [*wrong, "the server said less than three lines"]}
    end = lines[-1]
    # The last line may be of a server whose threads have ended.
    half = [line for line in lines[:-1] if line["seconds"] >= lines[-2]["seconds"] / 2]
    hours = (half[-1]["seconds"] - half[0]["seconds"]) / 3600
    found: dict[str, Any] = {"seconds": end["seconds"], "days": len(days), "commands": sum(d["commands"] for d in days)}
    found.update({name: sum(day.get(name, 0) for day in days) for name in ("kills", "resumed")})
    cpu = sum(day["cpu"] for day in days) + max((day["server_cpu"] for day in days), default=0)
    found.update(cores_busy=round(cpu / end["seconds"], 3), **end)
    found["bound_kib_an_hour"] = bound
    found["rss_kib_first_of_half"] = half[0]["rss_kib"]
    for name in ("rss_kib", "heap_kib"):
        rises = slope(half, name)
        found[f"{name}_an_hour"] = round(rises, 1)
        found[f"{name}_most"] = max(line[name] for line in lines)
        part = 1 if name == "rss_kib" else 4
        if judge_memory and rises * hours > max(bound * hours, FLOOR_KIB) / part:
            wrong.append(f"{name} grows by {rises:.0f} KiB an hour, {rises * hours:.0f} KiB in {hours:.3f} h")
    for name in ("descriptors", "threads"):
        found[name] = [half[0][name], half[-1][name]]
        if half[-1][name] > half[0][name]:
            wrong.append(f"{name} of the server grow: {half[0][name]}, then {half[-1][name]}")
    if end["wrong"] or end["errors"]:
        wrong.append(f"answers that are wrong: {end['wrong']}; errors of the server: {end['errors']}")
    if end["requests"] == 0 or end["swaps"] == 0:
        wrong.append("nothing was asked, or nothing swapped")
    found["failures"] = wrong
    return found


def cpu_of(process: subprocess.Popen[bytes]) -> float:
    """Seconds that it has worked."""
    words = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


class Soak:
    def __init__(self, how: argparse.Namespace) -> None:
        self.how, self.folder = how, how.folder
        self.chance = random.Random(how.seed)
        self.server: subprocess.Popen[bytes] | None = None
        self.kept: list[Path] = []

    def start_server(self) -> None:
        how = self.how
        words = [how.server, self.folder / "pool.txt", self.folder, "--rate", how.rate]
        words += ["--swap", how.swap, "--every", how.every]
        words += ["--fault", how.fault] if how.fault else []
        with open(self.folder / "server.jsonl", "wb") as out, open(self.folder / "server.stderr", "wb") as said:
            self.server = subprocess.Popen([str(w) for w in words], stdin=subprocess.DEVNULL, stdout=out, stderr=said)

    def wait_for(self, day: int) -> dict[str, Any]:
        """Waits until the server reports that it serves that day; returns the report."""
        assert self.server
        until = time.monotonic() + 600
        while self.server.poll() is None and time.monotonic() < until:
            line = last_line(self.folder / "server.jsonl")
            if line.get("serves") == f"day-{day}":
                return line
            time.sleep(0.1)
        raise Wrong(f"the server does not take it, exit status {self.server.poll()}")

    def day(self, day: int) -> dict[str, Any]:
        place = self.folder / f"day-{day}"
        place.mkdir()
        run = Commands(self.how.program, place)
        begun = time.monotonic()
        record: dict[str, Any] = {"day": day, "at": time.strftime("%FT%TZ", time.gmtime()), "error": ""}
        try:
            record.update(one_day(run, day, self.how.queries, self.chance))
            hand_over(self.folder, day)
            if not self.server:
                self.start_server()
            record["server"] = self.wait_for(day)
            self.kept.append(place)
            while len(self.kept) > 2:  # the served model and the previous one
                shutil.rmtree(self.kept.pop(0))
        except (Wrong, OSError) as why:
            record["error"] = str(why) or repr(why)
            print(f"day {day}: {record['error']}", file=sys.stderr)
        record.update(commands=run.n, cpu=round(run.cpu, 2), most_kib=run.most_kib)
        record["seconds"] = round(time.monotonic() - begun, 2)
        record["server_cpu"] = round(cpu_of(self.server), 2) if self.server and self.serves() else 0
        record["bytes"] = sum(p.stat().st_size for p in self.folder.glob("day-*/*") if p.is_file())
        return record

    def go(self) -> int:
        self.folder.mkdir(parents=True)
        self.folder = self.folder.resolve()
        first = Commands(self.how.program, self.folder)
        first("synth", "--shape", "letor", "--queries", 64, "--seed", 9, "-o", "pool.txt")
        names = {"featureset": {"name": "soak", "features": [{"name": f"f{i}", "template": {"match_all": {}}} for i in range(1, 47)]}}
        (self.folder / "featureset.json").write_text(json.dumps(names))
        begun = time.monotonic()
        day = 0
        try:
            while (day < FEWEST_DAYS or time.monotonic() - begun < self.how.seconds) and self.serves():
                day += 1
                next_day = time.monotonic() + self.how.day
                with open(self.folder / "days.jsonl", "a") as out:
                    out.write(json.dumps(self.day(day)) + "\n")
                time.sleep(max(0.0, min(next_day, begun + self.how.seconds) - time.monotonic()))
        finally:
            code = self.end_server()
        found = summary(self.folder, self.how.bound, not self.how.no_memory)
        if code != 0:
            found["failures"].append(f"the server ends with {code}")
        (self.folder / "summary.json").write_text(json.dumps(found, indent=1) + "\n")
        return show(found)

    def serves(self) -> bool:
        return not self.server or self.server.poll() is None

    def end_server(self) -> int:
        if not self.server:
            return 1
        if self.server.poll() is None:
            self.server.terminate()
        return self.server.wait()


def show(found: dict[str, Any]) -> int:
    for name, value in found.items():
        if name not in ("failures", "serves"):
            print(f"{name:24} {value}")
    for what in found["failures"]:
        print(f"not ok soak: {what}")
    if not found["failures"]:
        print(
            f"ok soak: {found['days']} days, {found['requests']:,} answers, each of the model that was served, "
            f"{found['swaps']:,} swaps; nothing failed, nothing grew"
        )
    return 1 if found["failures"] else 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("--program", type=given.program)
    options.add_argument("--server", type=given.program)
    options.add_argument("--show", action="store_true")
    options.add_argument("--no-memory", action="store_true")
    options.add_argument("--fault")
    numbers = {"seconds": 7200, "day": 25, "queries": 450, "rate": 10000, "swap": 500, "every": 5000}
    for name, default in {**numbers, "bound": 512, "seed": 1}.items():
        options.add_argument("--" + name, type=int, default=default)
    how = options.parse_args()
    if how.show and how.folder:
        given.folder(how.folder)
        return show(summary(how.folder, how.bound, not how.no_memory))
    if not how.program or not how.server:
        options.error("--program and --server are needed")
    if how.folder:
        if how.folder.exists():
            options.error(f"'{how.folder}' is there already")
        return Soak(how).go()
    with tempfile.TemporaryDirectory() as folder:
        how.folder = Path(folder) / "soak"
        return Soak(how).go()


if __name__ == "__main__":
    sys.exit(main())
