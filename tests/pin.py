"""Compares Rankwood's results with tests/pin.txt, one row each, so that no change alters them by accident. Covers
models, scores, exports, JSON keys, exit codes, and the line at which each bad input fails.

    python3 tests/pin.py PROGRAM [--emulated PROGRAM] [--python INTERPRETER] [--quick] [--only REGEX] [--write]

Trainings that must give the same model share one row: by cpu, sim, two workers and the emulated GPU; from files, gzip,
pipes, caches, arrays and batches; in one run and resumed. --emulated names a program of tests/emulated.sh. --python
names an interpreter that imports rankwood; PYTHONPATH may name a folder. --quick leaves out workers, a few slow rows,
and the configurations that tests/cover.py does not choose. --only runs the jobs whose names match. --write stores new
and changed results and, if all jobs ran, removes rows that no job has any more. Prints the differences and a count;
exit 1 if anything differs.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent
PINNED = TESTS / "pin.txt"
IMPORTS = ["ranklib", "quickrank", "lightgbm", "xgboost", "xgboost-ubj", "onnx", "solr", "catboost"]
EXPORTS = [*IMPORTS, "xgboost-dump", "opensearch", "elasticsearch", "elasticsearch-ml", "eslr-raw", "vespa", "c",
           "java", "go", "python", "onnx5", "pmml"]
MODULES = os.pathsep.join(os.path.abspath(one) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one)
QUIET = {"LC_ALL": "C", "PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}

Row = tuple[str, str, str]  # name, way, value
Job = tuple[str, Callable[[], Iterator[Row]]]
args = argparse.Namespace()


# --- running the program


def sha(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


def sum_of(path: str) -> str:
    return sha(Path(path).read_bytes()) if Path(path).exists() else "missing"


class Ran:
    """A command of the program that has ended."""

    def __init__(self, command: str, stdin: bytes | None = None, program: str = "", **env: str):
        done = subprocess.run(
            [program or args.program, *shlex.split(command)],
            input=stdin if stdin is not None else b"",
            capture_output=True,
            env=QUIET | env,
        )
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr.decode(errors="replace")

    def where(self) -> str:
        """Exit code, and the line and column that the error names."""
        at = re.search(r"error: [^\n]*?:(\d+)(?::(\d+))?: |error: [^\n]*?\bline (\d+)", self.err)
        return " ".join([str(self.code), *([":".join(one for one in at.groups() if one)] if at else [])])


def failed(ran: Ran) -> str:
    return f"exit {ran.code}: {ran.err.strip().splitlines()[0] if ran.err.strip() else ''}"


def metrics(log: str) -> str:
    lines = Path(log).read_text().splitlines() if Path(log).exists() else []
    return sha("\n".join(line for line in lines if '"record":"metrics"' in line))


def trained(name: str, command: str, stdin: bytes | None = None, program: str = "", **env: str) -> str:
    """Hashes of the model and of the metrics of its rounds; the model is left in NAME.model."""
    Path(f"{name}.model").unlink(missing_ok=True)
    ran = Ran(f"train {command} --quiet -o {name}.model --log {name}.log", stdin, program, **env)
    return f"{sum_of(f'{name}.model')} {metrics(f'{name}.log')}" if ran.code == 0 else failed(ran)


def keys(value: Any, at: str = "") -> set[str]:
    """Paths of all keys; those of a list's members are one."""
    if isinstance(value, dict):
        return {one for key, inner in value.items() for one in {f"{at}{key}", *keys(inner, f"{at}{key}.")}}
    if isinstance(value, list):
        return {one for inner in value for one in keys(inner, f"{at.removesuffix('.')}[].")}
    return set()


def keys_of(text: bytes) -> str:
    """Leaves out doctor's lines about a GPU."""
    return " ".join(sorted(one.replace(" ", "_") for one in keys(json.loads(text)) if not one.startswith("gpu[]")))


def figures(text: bytes) -> str:
    """Of the numbers of JSON, in their order, without times."""
    numbers = re.sub(r'"(ms|seconds)":\s*[^,}\n]*', "", text.decode())
    return sha(" ".join(re.findall(r":\s*(-?\d[-+.\de]*)", numbers)))


# --- data; the rest is made by configurations.sh


def table_of(letor: str, out: str, separator: str) -> None:
    """The documents of a LETOR file as a table: words, and an empty field where a feature is absent."""
    with open(letor) as lines, open(out, "w") as to:
        to.write(separator.join(["y", "query", "colour", *(f"f{i}" for i in range(1, 47)), "w"]) + "\n")
        for n, line in enumerate(lines):
            label, qid, *pairs = line.split("#")[0].split()
            values = dict(pair.split(":") for pair in pairs)
            fields = [label, f"q{qid[4:]}", ["red", '"dark, ""blue"""', "", "green"][n * 7919 % 1000 % 4]]
            to.write(separator.join([*fields, *(values.get(str(i), "") for i in range(1, 47)), str(1 + n % 3)]) + "\n")


def make_large() -> None:
    """More documents than boundaries are sampled from, 2^18, and text of several chunks."""
    with open("large.txt", "w") as to:
        for i in range(300_000):
            x, z = i * 7919 % 100_003, i * i % 9973
            absent = "" if i % 5 == 0 else f" 3:{(x ^ z) % 4099}"
            to.write(f"{(x + 11 * z) // 42000} qid:{i // 60} 1:{x / 7:.6g} 2:{z}{absent} 4:{i % 60}\n")


def make_data() -> None:
    cover = int(args.quick) or ""
    given = f'program="{args.program}" root="{TESTS.parent}" scale=1 NAMES= COVER={cover}'
    script = f'{given}; . "{TESTS}/configurations.sh"'
    subprocess.run(["sh", "-c", script], check=True, env=QUIET)
    for shape, queries, seed, to in (
        ("letor", 150, 7, "train.txt"),
        ("letor", 60, 8, "valid.txt"),
        ("istella", 12, 9, "wide.txt"),
        ("mslr30k", 20, 10, "mid.txt"),
        ("letor", 2000, 11, "many.rwb"),
    ):
        needed(f"synth --shape {shape} --queries {queries} --seed {seed} -o {to}")
    for name in ("train.txt", "wide.txt"):
        text = Path(name).read_bytes()
        lines, stem = text.splitlines(keepends=True), name.removesuffix(".txt")
        Path(f"{name}.gz").write_bytes(gzip.compress(text, 1))
        Path(f"{stem}-two.gz").write_bytes(
            gzip.compress(b"".join(lines[:50]), 1) + gzip.compress(b"".join(lines[50:]), 1)
        )
        numbers = {qid: n for n, qid in enumerate(dict.fromkeys(line.split()[1] for line in lines))}
        for part, (first, last) in enumerate(((0, 3), (3, 8), (8, 10**9))):
            inside = (line for line in lines if first <= numbers[line.split()[1]] < last)
            Path(f"{stem}-{part}.txt").write_bytes(b"".join(inside))
        needed(f"bin {name} -o {stem}.rwb")
    needed("bin train.txt --bins 1024 --absent missing -o train-1024.rwb")
    table_of("train.txt", "t.csv", ",")
    table_of("train.txt", "t.tsv", "\t")
    Path("t.csv.gz").write_bytes(gzip.compress(Path("t.csv").read_bytes(), 1))
    make_large()
    Path("large.gz").write_bytes(gzip.compress(Path("large.txt").read_bytes(), 1))
    needed("train l.txt --rounds 6 --leaves 15 --min-docs 5 --valid lv.txt --early-stop 0 -o l.model")
    needed(
        "train lc.txt --rounds 5 --leaves 15 --min-docs 3 --categorical 101-106 --absent missing --sample-features 1 "
        "-o lc.model"
    )
    needed("train train.txt --rounds 2 --leaves 7 --absent missing -o train.model")
    needed("calibrate l.model lv.txt -o p.model")
    needed("predict l.model lv.txt -o l.scores")
    needed("predict lc.model lvc.txt -o lc.scores")


def synthesized() -> Iterator[Row]:
    for name in ("train.txt", "valid.txt", "wide.txt", "mid.txt", "l.txt", "lv.txt"):
        yield f"data {name}", "synth", sum_of(name)


def needed(command: str) -> None:
    ran = Ran(command)
    if ran.code:
        sys.exit(f"pin: '{command}': {failed(ran)}")


# --- models by all engines


def devices(name: str, command: str) -> Iterator[Row]:
    """The model of one command by every engine."""
    cpu = trained(f"{name}.cpu", f"{command} --device cpu --threads 1")
    yield f"model {name}", "cpu", cpu
    yield f"model {name}", "sim", trained(f"{name}.sim", f"{command} --device sim --threads 2")
    if not args.quick:
        yield f"model {name}", "2 workers", trained(f"{name}.two", f"{command} --ranks 2 --threads 2")
    if args.emulated:
        env = {"EMULATED_GPUS": "1"}
        yield (
            f"model {name}",
            "emulated",
            trained(f"{name}.gpu", f"{command} --device cuda", None, args.emulated, **env),
        )


def configuration(name: str, data: str, valid: str, options: str) -> Iterator[Row]:
    yield from devices(name, f"{data} --valid {valid} {options}")
    ran = Ran(f"predict {name}.cpu.model {valid}")
    yield f"scores {name}", "predict", sha(ran.out) if ran.code == 0 else failed(ran)
    for way in ("cpu", "sim", "two", "gpu"):
        for kind in ("model", "log"):
            Path(f"{name}.{way}.{kind}").unlink(missing_ok=True)


# Between them they use every part of training that could depend on order.
RUNS = {
    "mart": ("train.txt", "--valid valid.txt --rounds 20 --min-docs 5"),
    "newton": (
        "train.txt",
        "--valid valid.txt --rounds 12 --split newton --grow levels --depth 6 --min-docs 3 --bits 12 "
        "--rounding nearest --sample-queries 0.7 --sample-features 0.6 --absent missing --bins 1024 "
        "--truncation none --norm off",
    ),
    "wide": ("wide.txt", "--rounds 8 --leaves 63 --min-docs 2 --absent missing --label-gain linear"),
    "yeti": (
        "train.txt",
        "--objective yetirank --valid valid.txt --rounds 10 --min-docs 3 --split newton --leaves 15 "
        "--sample-queries 0.8",
    ),
    "residual": (
        "mid.txt",
        "--objective regression --rounds 10 --split newton --bins 16 --l2 1 --seed 5 --metric rmse --train-metric on",
    ),
    "many": ("many.rwb", "--rounds 3 --leaves 63 --min-docs 5 --split mart --sample-features 1"),
    "many-newton": ("many.rwb", "--rounds 2 --leaves 31 --split newton --bits 16 --bins 300 --sample-queries 0.9"),
}


def run(name: str) -> Iterator[Row]:
    data, options = RUNS[name]
    for way in ("cpu 1", "cpu 2", "cpu 7", "ref 1", "sim 1", "sim 7"):
        if name.startswith("many") and way[:3] in ("ref", "sim"):
            continue
        device, threads = way.split()
        command = f"{data} {options} --device {device} --threads {threads}"
        yield f"run {name}", way, trained(f"run-{name}", command)
    for isa in ("plain", "avx2", "avx512"):
        command = f"{data} {options} --device cpu --threads 2"
        yield f"run {name}", isa, trained(f"run-{name}", command, RANKWOOD_ISA=isa)
    if data == "train.txt":
        yield f"values run {name}", "eval", figures(Ran(f"eval valid.txt --model run-{name}.model --json").out)


# --- forms of input


def forms(name: str) -> Iterator[Row]:
    data, options = RUNS[name]
    stem = data.removesuffix(".txt")
    text, packed = Path(data).read_bytes(), Path(f"{data}.gz").read_bytes()
    ways: dict[str, tuple[str, bytes | None]] = {
        "gzip": (f"{data}.gz", None),
        "two members of gzip": (f"{stem}-two.gz", None),
        "cache": (f"{stem}.rwb", None),
        "three files": (f"{stem}-0.txt {stem}-1.txt {stem}-2.txt", None),
        "pipe": ("-", text),
        "gzip by pipe": ("-", packed),
    }
    if name == "newton":
        ways["cache of its bins"] = ("train-1024.rwb", None)
        ways["cache by pipe"] = ("-", Path("train-1024.rwb").read_bytes())
    for way, (paths, stdin) in ways.items():
        yield f"run {name}", way, trained(f"form-{name}", f"{paths} {options} --threads 2 --device cpu", stdin)
        if stdin is None and not args.quick:
            command = f"{paths} {options} --ranks 2 --device cpu"
            yield f"run {name}", f"{way}, 2 workers", trained(f"form-{name}", command)


COLUMNS = "--label-column y --qid-column query --weight-column w"


def tables() -> Iterator[Row]:
    for name, more, row in (
        ("words", "--categorical colour --absent missing", "table words"),
        ("numbers", "--ignore colour", "table numbers"),
        ("bins", "--ignore colour,5 --bins 1000 --split newton --sample-docs 0.7", "table bins"),
    ):
        options = f"{COLUMNS} {more} --rounds 5 --min-docs 3"
        ways: dict[str, tuple[str, bytes | None]] = {
            "csv": ("t.csv", None),
            "tsv": ("t.tsv", None),
            "gzip": ("t.csv.gz", None),
            "pipe": ("-", Path("t.csv").read_bytes()),
        }
        for way, (paths, stdin) in ways.items():
            command = f"{paths} {options} --device cpu --threads 2"
            yield row, way, trained(f"table-{name}", command, stdin)
        yield row, "sim", trained(f"table-{name}", f"t.csv {options} --device sim")
        if not args.quick:
            yield row, "2 workers", trained(f"table-{name}", f"t.csv {options} --ranks 2")


def cached_tables() -> Iterator[Row]:
    """A cache of a table is read without its columns' options."""
    for name, more in (("words", "--categorical colour --absent missing"), ("numbers", "--ignore colour")):
        needed(f"bin t.csv {COLUMNS} {more} -o cached-{name}.rwb")
        rest = "--absent missing" if name == "words" else ""
        command = f"cached-{name}.rwb {rest} --rounds 5 --min-docs 3"
        yield f"table {name}", "cache", trained(f"cached-{name}", command)
        if not args.quick:
            yield f"table {name}", "cache, 2 workers", trained(f"cached-{name}", f"{command} --ranks 2")


def large() -> Iterator[Row]:
    text = Path("large.txt").read_bytes()
    for row, options in (
        ("large", "--rounds 2 --leaves 31 --absent missing --sample-features 1"),
        ("large-1024", "--rounds 1 --leaves 15 --bins 1024 --split mart --features 1-3"),
    ):
        Ran(f"bin large.txt {'--absent missing' if row == 'large' else '--bins 1024'} -o {row}.rwb")
        ways: dict[str, tuple[str, bytes | None, str]] = {
            "cpu 1": ("large.txt", None, "--threads 1"),
            "cpu 3": ("large.txt", None, "--threads 3"),
            "gzip": ("large.gz", None, ""),
            "pipe": ("-", text, ""),
            "cache": (f"{row}.rwb", None, ""),
        }
        if not args.quick:
            ways["sim"] = ("large.txt", None, "--device sim")
            ways["2 workers"] = ("large.txt", None, "--ranks 2")
            ways["gzip, 2 workers"] = ("large.gz", None, "--ranks 2")
            ways["cache, 2 workers"] = (f"{row}.rwb", None, "--ranks 2")
        for way, (path, stdin, more) in ways.items():
            yield f"model {row}", way, trained(row, f"{path} {options} {more or '--device cpu'}", stdin)
        yield f"scores {row}", "predict", sha(Ran(f"predict {row}.model large.txt").out)
        yield f"scores {row}", "by pipe", sha(Ran(f"predict {row}.model -", text).out)
        yield f"scores {row}", "cache", sha(Ran(f"predict {row}.model {row}.rwb").out)


# --- training in several goes


def continued() -> Iterator[Row]:
    for name, init, data, options in (
        ("letor", "l.model", "l.txt", "--rounds 4 --leaves 15 --min-docs 3"),
        (
            "categories",
            "lc.model",
            "lc.txt",
            "--rounds 3 --leaves 15 --min-docs 3 --categorical 101-106 --absent missing",
        ),
        ("stop", "l.model", "l.txt", "--valid lv.txt --rounds 40 --early-stop 3 --min-docs 1"),
    ):
        yield from devices(f"init-{name}", f"{data} --init {init} {options}")
        if data == "l.txt":
            stdin = Path(data).read_bytes()
            command = f"- --init {init} {options}"
            yield f"model init-{name}", "pipe", trained(f"init-{name}", command, stdin)
    yield from devices("refit", "lv.txt --refit l.model --refit-decay 0.4")


def resumed() -> Iterator[Row]:
    for name, data, options in (
        ("letor", "l.txt", "--valid lv.txt --min-docs 3 --sample-queries 0.8 --early-stop 0"),
        ("yeti", "lc.txt", "--valid lvc.txt --objective yetirank --split newton --categorical 101-106 --min-docs 3"),
        ("debias", "l.txt", "--valid lv.txt --positions l.shown --debias additive --min-docs 3 --early-stop 0"),
    ):
        whole = f"{data} {options} --rounds 8"
        yield from devices(f"resume-{name}", whole)
        first = Ran(f"train {data} {options} --rounds 3 --quiet -o {name}.first --checkpoint {name}.ck")
        for way in ("--device cpu", "--device sim") if first.code == 0 else ():
            model = Ran(f"train {whole} --resume {name}.ck {way} --quiet -o {name}.resumed")
            yield f"resumed {name}", way, sum_of(f"{name}.resumed") if model.code == 0 else failed(model)
        yield f"resumed {name}", "at once", sum_of(f"resume-{name}.cpu.model")


def interrupted() -> Iterator[Row]:
    """Interrupted at whatever moment, then resumed by the same command."""
    whole = "train train.txt --valid valid.txt --rounds 400 --early-stop 0 --leaves 31 --min-docs 3 --threads 1"
    options = (
        f"{whole} --device cpu --quiet -o stopped.model --checkpoint stopped.ck --checkpoint-every 3 --resume auto"
    )
    command = [args.program, *shlex.split(options)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=QUIET)
    while running.poll() is None and not Path("stopped.ck").exists():
        time.sleep(0.002)
    running.send_signal(signal.SIGTERM)
    yield "exit interrupted", "SIGTERM", str(running.wait())
    ran = Ran(options)
    yield "model interrupted", "resumed", sum_of("stopped.model") if ran.code == 0 else failed(ran)
    ran = Ran(f"{whole} --quiet -o never.model")
    yield "model interrupted", "at once", sum_of("never.model") if ran.code == 0 else failed(ran)


# --- other programs' formats


def exports(model: str) -> Iterator[Row]:
    features = [{"name": f"f{i}", "template": {"match_all": {}}} for i in range(1, 150)]
    version = Ran("--version").out.split()[1]
    Path(f"set-{model}.json").write_text(json.dumps({"_source": {"featureset": {"name": "s", "features": features}}}))
    for to in EXPORTS:
        named = f" --featureset set-{model}.json --name m" if "search" in to else ""
        for lossy in ("", " --lossy"):
            out = f"{model}{lossy.strip()}.{to}"
            ran = Ran(f"export {model} --to {to} -o {out} --quiet{named}{lossy}")
            content = Path(out).read_bytes().replace(version, b"VERSION") if ran.code == 0 else b""
            yield f"export {model} {to}{lossy}", "export", sha(content) if ran.code == 0 else str(ran.code)
        if to in IMPORTS and Path(f"{model}.{to}").exists():
            ran = Ran(f"import {model}.{to} --from {to} -o {model}.{to}.back")
            back = sum_of(f"{model}.{to}.back") if ran.code == 0 else str(ran.code)
            yield f"import {model} {to}", "import", back


# --- results of commands

VALUES = {  # whose figures are the same everywhere
    "eval": "eval lv.txt --model l.model --metric ndcg@10,ndcg,map,mrr,err@5,p@3,recall@10,rbp:0.8,rmse",
    "eval like": "eval lv.txt --model l.model --metric ndcg@10 --like lightgbm",
    "eval audit": "eval lv.txt --model l.model --metric ndcg@10 --audit",
    "eval qrels": "eval --qrels a.qrels --run a.run --metric ndcg@10,map",
    "compare": "compare lv.txt --a l.model --b b.scores",
    "compare many": "compare lv.txt --baseline l.model b.scores c.scores --metric ndcg@10,map",
    "compare qrels": "compare --qrels a.qrels --baseline a.run b.run",
    "compare groups": "compare lv.txt --a l.model --b b.scores --groups a.groups",
    "judge": "judge log.tsv --propensities judged.p -o judged.tsv",
    "judge cascade": "judge log.tsv --model dbn --satisfaction -o cascade.tsv",
    "check": "check l.txt --against lv.txt",
    "check split": "check lc.txt --categorical 101-106",
    "info": "info l.model",
    "info categories": "info lc.model",
    "info calibrated": "info p.model",
    "explain": "explain l.model lv.txt --repeats 1",
    "explain query": "explain l.model lv.txt --query 3 --doc 1 --doc 2",
    "prune": "prune l.model lv.txt --loss 0.01 -o pruned.model",
    "calibrate": "calibrate l.model lv.txt -o calibrated.model",
    "calibrate logistic": "calibrate l.model lv.txt --method logistic -o calibrated.model",
    "select": "select l.txt --valid lv.txt --test l.txt --rounds 3 --min-docs 3 -o chosen --model chosen.model",
    "tune": "tune l.txt --valid lv.txt --trials 11 --rounds 12 --early-stop 3 -o tuned.model",
    "tune folds": "tune l.txt --folds 3 --trials 3 --rounds 6 --early-stop 3 -o tuned.model",
}
TEXTS = {  # files and standard output, whose bytes are pinned
    "predict": ("predict l.model lv.txt -o OUT", "OUT"),
    "predict leaves": ("predict lc.model lvc.txt --leaf-ids", ""),
    "predict probability": ("predict p.model lv.txt --probability", ""),
    "predict trees": ("predict l.model lv.txt --trees 2", ""),
    "predict trec": ("predict l.model lv.txt --trec OUT", "OUT"),
    "predict two": ("predict l.model l.txt lv.txt", ""),
    "predict table": ("predict table.model t.csv --label-column y --qid-column query", ""),
    "eval per query": ("eval lv.txt --model l.model --metric ndcg@10,map --per-query OUT", "OUT"),
    "explain documents": ("explain lc.model lvc.txt --documents", ""),
    "judge": ("judge log.tsv -o OUT --quiet", "OUT"),
    "judge propensities": ("judge log.tsv --propensities OUT --quiet -o all.tsv", "OUT"),
    "judge cascade": ("judge log.tsv --model dbn -o OUT --quiet", "OUT"),
    "judge rates": ("judge log.tsv --model ctr --thresholds 0.1,0.5 -o OUT --quiet", "OUT"),
    "compare csv": ("compare lv.txt --baseline l.model b.scores c.scores --format csv", ""),
    "show": ("show lc.model --tree 1", ""),
    "show dot": ("show l.model --tree 2 --dot", ""),
    "show calibration": ("show p.model --calibration", ""),
    "config": ("train l.txt --valid lv.txt --print-config", ""),
    "synth": ("synth --shape yahoo --queries 5 --seed 9 -o OUT", "OUT"),
    "prune": ("prune l.model lv.txt --loss 0.05 -o OUT --quiet", "OUT"),
    "calibrate": ("calibrate l.model lv.txt -o OUT --quiet", "OUT"),
    "select": ("select l.txt --valid lv.txt --rounds 3 --min-docs 3 -o OUT --quiet", "OUT"),
    "tune": ("tune l.txt --valid lv.txt --trials 11 --rounds 12 --early-stop 3 -o OUT --quiet", "OUT"),
    "tune parameters": ("tune l.txt --folds 3 --trials 3 --rounds 6 --early-stop 3 --params-out OUT --quiet", "OUT"),
}


def results(name: str) -> Iterator[Row]:
    ran = Ran(f"{VALUES[name]} --json")
    if ran.code:
        yield f"json {name}", "keys", failed(ran)
        return
    yield f"json {name}", "keys", keys_of(ran.out)
    yield f"values {name}", "figures", figures(ran.out)


def texts(name: str) -> Iterator[Row]:
    command, out = TEXTS[name]
    path = f"text-{name}".replace(" ", "-")
    ran = Ran(command.replace("OUT", path))
    yield f"text {name}", "bytes", (sum_of(path) if out else sha(ran.out)) if ran.code == 0 else failed(ran)


def make_results() -> None:
    """Scores, runs and judgments of the validation set, for what measures and compares."""
    lines = [line.split() for line in Path("lv.txt").read_text().splitlines()]
    scores = [float(one) for one in Path("l.scores").read_text().split()]
    Path("b.scores").write_text("".join(f"{one + i % 7 * 0.01:.9g}\n" for i, one in enumerate(scores)))
    Path("c.scores").write_text("".join(f"{i % 11}\n" for i in range(len(scores))))
    for name, of in (("a.run", scores), ("b.run", [i % 11 for i in range(len(scores))])):
        with open(name, "w") as to:
            for i, line in enumerate(lines):
                to.write(f"{line[1][4:]} Q0 d{i} {i + 1} {of[i]:.9g} {name}\n")
    Path("a.qrels").write_text("".join(f"{line[1][4:]} 0 d{i} {line[0]}\n" for i, line in enumerate(lines) if i % 9))
    rows = [f"{s}\tq{s % 3}\td{(s // 3 + k) % 6}\t{k}\t{int((s * 7 + k * 3) % 11 < (s // 3 + k) % 6 * 2 / k)}\n"
            for s in range(400) for k in range(1, 5)]
    Path("log.tsv").write_text("".join(rows))
    queries = dict.fromkeys(line[1][4:] for line in lines)
    Path("a.groups").write_text("".join(f"{qid} {'ab'[i % 2]}\n" for i, qid in enumerate(queries)))
    needed(f"train t.csv {COLUMNS} --categorical colour --absent missing --rounds 3 --min-docs 3 -o table.model")


def slow_keys() -> Iterator[Row]:
    for command in ("doctor", "bench train --quick --device cpu", "bench load --quick", "bench predict --quick"):
        ran = Ran(f"{command} --json")
        yield f"json {command.split(' -')[0]}", "keys", keys_of(ran.out) if ran.code == 0 else failed(ran)


def log_keys() -> Iterator[Row]:
    """Of each kind of record; a checkpoint and workers write some of them."""
    found: dict[str, set[str]] = {}
    options = "--valid lv.txt --rounds 4 --min-docs 3 --quiet --early-stop 1 --metric ndcg@10,map"
    for more in (
        "--device cpu --train-metric on",
        "--device sim --checkpoint keys.ck --checkpoint-every 1",
        "--ranks 2",
        "--init l.model",
        "--positions l.shown --debias ipw",
    ):
        Ran(f"train l.txt {options} {more} -o keys.model --log keys.log")
        for line in Path("keys.log").read_text().splitlines():
            record = json.loads(line)
            kind = f"{record['record']} {re.sub('[^a-z]', '-', record.get('stage', ''))}".strip()
            found[kind] = found.get(kind, set()) | keys(record)
    for kind, of in found.items():
        yield f"log {kind}", "keys", " ".join(sorted(of))


def cross_validation() -> Iterator[Row]:
    ran = Ran("cv l.txt --folds 3 --rounds 4 --min-docs 3 --quiet -o folds")
    yield "exit cv", "cv", str(ran.code)
    for path in sorted(Path("folds").rglob("*")):
        if path.is_file():
            name = path.relative_to("folds")
            yield f"cv {name}", "cv", keys_of(path.read_bytes()) if path.suffix == ".json" else sha(path.read_bytes())


# --- bad inputs


def bad_files() -> Iterator[Row]:
    """What golden/bad has: exit codes, lines and columns, by several ways of reading."""
    for path in sorted((TESTS / "golden/bad").iterdir()):
        if path.name.endswith((".error", ".md")):
            continue
        Path("bad").mkdir(exist_ok=True)
        (Path("bad") / path.name).write_bytes(path.read_bytes())
        data = f"bad/{path.name}"
        ways = {
            "train": f"train {data} -o bad.model --quiet --rounds 1",
            "eval": f"eval {data} --scores l.scores",
            "predict": f"predict l.model {data} -o bad.scores",
            "bin": f"bin {data} -o bad.rwb --quiet",
            "workers": f"train {data} -o bad.model --quiet --rounds 1 --ranks 2",
        }
        found = {way: Ran(command).where() for way, command in ways.items()}
        same = len(set(found.values())) == 1
        value = found["train"] if same else ", ".join(f"{way} {one}" for way, one in found.items())
        yield f"bad {path.name}", "all ways", value


EDGES = {
    "value": b"x:3",
    "number": b"2:1e",
    "order": b"1:7",
    "label": b"",
    "query": b"",
    "byte": b"2:\x001",
}


def letor_with(kind: str, at: int, shift: int, n: int) -> bytes:
    """`n` lines of 64 bytes each, so that one begins at every chunk, after `shift` bytes; line `at` is bad."""
    lines = [f"{i % 5} qid:{i // 40} 1:{i % 97} 2:{i * 7919 % 1009}".encode() for i in range(n)]
    if kind in ("label", "query"):
        lines[at] = b"? qid:1 1:1" if kind == "label" else b"1 1:1 2:1"
    elif kind:
        lines[at] += b" " + EDGES[kind]
    padded = [line + b" #" + b"." * (61 - len(line)) + b"\n" for line in lines]
    return (b"#" * (shift - 1) + b"\n" if shift else b"") + b"".join(padded)


def csv_with(kind: str, at: int, shift: int, n: int) -> bytes:
    lines = [f"{i % 5},{i // 40},{i % 97},{i * 7919 % 1009}".encode() for i in range(n)]
    if kind:
        lines[at] = {"value": b"1,1,x,2", "fields": b"1,1,2", "label": b"?,1,2,3", "quote": b'1,1,"2,3'}[kind]
    header = b"label,qid,a,b"
    padded = [line + b"," + b"7" * (62 - len(line)) + b"\n" for line in lines]
    return header + b"," + b"c" * (62 - len(header) + shift) + b"\n" + b"".join(padded)


def edges(form: str) -> Iterator[Row]:
    """A malformed line just before the edge of a chunk, at it, just after it, and across it."""
    make, kinds = (letor_with, [*EDGES]) if form == "letor" else (csv_with, ["value", "fields", "label", "quote"])
    n, own = 40_000, f"edge-{form}"  # both forms run at a time, in one folder
    name = f"{own}.txt" if form == "letor" else f"{own}.csv"
    places = {"before": (-1, 0), "at": (0, 0), "after": (1, 0), "across": (0, 32)}
    for edge in (1 << 19, 1 << 20, 1 << 21):
        for number, (place, (offset, shift)) in enumerate(places.items()):
            for kind in kinds if edge == 1 << 20 else [kinds[number % len(kinds)]]:
                at = edge // 64 + offset - (1 if shift or form == "csv" else 0)
                text = make(kind, at, shift, n)
                Path(name).write_bytes(text)
                row = f"edge {form} {edge} {place} {kind}"
                train = f"train {name} --rounds 1 --quiet -o {own}.model"
                yield row, "train", Ran(train).where()
                yield row, "eval", Ran(f"eval {name} --scores l.scores").where()
                yield row, "7 threads", Ran(f"bin {name} --quiet -o {own}.rwb --threads 7").where()
                if not args.quick:
                    yield f"{row} workers", "2 workers", Ran(f"{train} --ranks 2").where()
                if form == "letor":
                    yield row, "pipe", Ran(f"train - --rounds 1 --quiet -o {own}.model", text).where()
                    yield row, "gzip by pipe", Ran(f"bin - --quiet -o {own}.rwb", gzip.compress(text, 1)).where()
    for name_of, text in (("good", make("", 0, 0, n)), ("no last newline", make("", 0, 0, n)[:-1])):
        Path(name).write_bytes(text)
        command = f"{name} --rounds 2 --leaves 7 --min-docs 5"
        yield f"edge {form} {name_of}", "train", trained(own, command)
        if not args.quick:
            yield f"edge {form} {name_of}", "2 workers", trained(own, f"{command} --ranks 2")
        if form == "letor":
            yield f"edge {form} {name_of}", "pipe", trained(own, command.replace(name, "-", 1), text)


def side_files() -> Iterator[Row]:
    """Side columns, configurations, names, tables of gains, models and other files with a bad line."""
    good = {
        "weights": ["1.5"] * count("l.txt"),
        "query-weights": ["1"] * 60,
        "start-scores": ["0.5"] * count("l.txt"),
        "labels": ["1 0"] * count("l.txt"),
        "positions": ["1"] * count("l.txt"),
    }
    more = {"labels": "--label-weights 1,1,1", "positions": "--debias ipw"}
    for option, lines in good.items():
        for bad, changed in (
            ("value", [*lines[:20], "x", *lines[21:]]),
            ("negative", [*lines[:20], "-1", *lines[21:]]),
            ("few", lines[:-1]),
            ("many", [*lines, lines[0]]),
            ("two", [*lines[:7], lines[7] + " 1", *lines[8:]]),
            ("empty", [*lines[:7], "", *lines[8:]]),
            ("none", []),
        ):
            Path("side").write_text("".join(one + "\n" for one in changed))
            command = f"train l.txt --{option} side {more.get(option, '')} --rounds 1 --quiet -o side.model"
            yield f"side {option} {bad}", "train", Ran(command).where()
            if not args.quick:
                yield f"side {option} {bad} workers", "2 workers", Ran(f"{command} --ranks 2").where()
    whole = Path("l.model").read_text().splitlines(keepends=True)
    for n, line in enumerate(whole):
        if n % 17 == 3:
            for bad, rest in (
                ("lost", [*whole[:n], *whole[n + 1 :]]),
                ("changed", [*whole[:n], "x" + line, *whole[n + 1 :]]),
            ):
                Path("side.model").write_text("".join(rest))
                yield f"side model {n} {bad}", "info", Ran("info side.model").where()
    for name, option, text in (
        ("config", "--config", "rounds = 3\nleaves = x\n"),
        ("config name", "--config", "rounds = 3\n\n# note\nnothing = 1\n"),
        ("config twice", "--config", "rounds = 3\nrounds = 4\n"),
        ("names", "--names", "a\nb\na\n"),
        ("gains", "--label-gain", "0\n1\nx\n"),
        ("init", "--init", "rankwood model 6\n"),
        ("resume", "--resume", "rankwood checkpoint 1\nx\n"),
    ):
        Path("side").write_text(text)
        yield f"side {name}", "train", Ran(f"train l.txt {option} side --rounds 1 --quiet -o side.model").where()
    for name, qrels, of in (
        ("qrels", "1 0 d0 x\n", "1 Q0 d0 1 1 t\n"),
        ("run", "1 0 d0 1\n", "1 Q0 d0 1 1 t\n1 Q0 d1\n"),
    ):
        Path("side.qrels").write_text(qrels)
        Path("side.run").write_text(of)
        yield f"side {name}", "eval", Ran("eval --qrels side.qrels --run side.run").where()
    Path("side.scores").write_text("1\n2\nx\n")
    yield "side scores", "eval", Ran("eval lv.txt --scores side.scores").where()


def bad_caches() -> Iterator[Row]:
    """A cache with a byte changed or a tail lost is refused, however it is read."""
    whole = Path("c.rwb").read_bytes() if Ran("bin lc.txt --categorical 101-106 -o c.rwb --quiet").code == 0 else b""
    codes: dict[str, set[int]] = {"eval": set(), "train": set()}
    for i in range(24):
        at = len(whole) * i // 24 + i
        for bad in (whole[:at], whole[:at] + bytes([whole[at] ^ 64]) + whole[at + 1 :]):
            Path("d.rwb").write_bytes(bad)
            codes["eval"].add(Ran("eval d.rwb --scores l.scores").code)
            codes["train"].add(Ran("train d.rwb --rounds 1 --quiet -o d.model").code)
    yield "exit bad caches", "eval", " ".join(map(str, sorted(codes["eval"])))
    yield "exit bad caches", "train", " ".join(map(str, sorted(codes["train"])))


def count(path: str) -> int:
    return len(Path(path).read_text().splitlines())


CALLS = {  # exit codes of good calls and bad ones
    "nothing": "",
    "no command": "nosuch",
    "help": "--help",
    "version": "--version",
    "train help": "train --help",
    "no data": "train -o m",
    "no output": "train l.txt",
    "no option": "train l.txt --nosuch 1 -o m",
    "bad number": "train l.txt --rounds x -o m",
    "out of range": "train l.txt --leaves 1 -o m",
    "missing file": "train nosuch.txt -o m",
    "missing model": "predict nosuch.model lv.txt",
    "missing valid": "train l.txt --valid nosuch.txt -o m",
    "missing folder": "train l.txt --rounds 1 -o nosuch/m",
    "full disk": "predict l.model lv.txt -o /dev/full",
    "bad metric": "train l.txt --metric nosuch -o m",
    "bad device": "train l.txt --device nosuch -o m",
    "no such gpu": "train l.txt --device cuda:77 -o m",
    "bad objective": "train l.txt --objective nosuch -o m",
    "bad categorical": "train l.txt --categorical nosuch -o m",
    "strict": "train l.txt --strict --objective regression --sigma 2 --rounds 1 -o m",
    "no effect": "train l.txt --objective regression --sigma 2 --rounds 1 --quiet -o m",
    "without relevant": "train zero.txt --rounds 1 --quiet -o m",
    "plan": "train l.txt --plan",
    "for": "train l.txt --for ranklib --absent missing -o m",
    "fail below": "compare lv.txt --a l.model --b c.scores --fail-below 0",
    "not below": "compare lv.txt --a c.scores --b l.model --fail-below -1",
    "lengths": "eval l.txt --scores l.scores",
    "export": "export lc.model --to ranklib -o m",
    "export verified": "export l.model --to lightgbm -o m --verify lv.txt",
    "export unknown": "export l.model --to nosuch -o m",
    "import": "import l.txt --from lightgbm -o m",
    "import unknown": "import l.model --from nosuch -o m",
    "show": "show l.model --tree 100",
    "no calibration": "show l.model --calibration",
    "no probability": "predict l.model lv.txt --probability",
    "explain": "explain l.model lv.txt --query nosuch --doc 1",
    "folds": "cv l.txt --folds 1 -o folds-bad",
    "synth": "synth --shape nosuch --queries 1 -o m",
    "bin twice": "bin train.rwb --bins 30 -o m.rwb",
    "other bins": "train train-1024.rwb --bins 30 --rounds 1 --quiet -o m",
    "too many workers": "train l.txt --ranks 1000 --rounds 1 -o m",
    "pipe and workers": "train - --ranks 2 --rounds 1 -o m",
    "resume other data": "train lv.txt --resume exit.ck --rounds 3 --quiet -o m",
    "init features": "train l.txt --init train.model --absent zero --rounds 1 --quiet -o m",
    "model as data": "eval l.model --scores l.scores",
}


def exits() -> Iterator[Row]:
    Path("zero.txt").write_text("".join(f"0 qid:{i // 5} 1:{i}\n" for i in range(50)))
    Ran("train l.txt --rounds 2 --quiet -o exit.model --checkpoint exit.ck")
    for name, call in CALLS.items():
        yield f"exit {name}", "call", Ran(call).where()


# --- Python


def python() -> Iterator[Row]:
    env = QUIET | {"PYTHONPATH": MODULES, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([args.python, TESTS / "python/pin_job.py"], capture_output=True, text=True, env=env)
    for line in done.stdout.splitlines():
        row, way, value = json.loads(line)
        yield row, way, value
    if done.returncode:
        print(f"differs: python: {done.stderr}")
    yield "exit python", "python", str(done.returncode)


# --- all of it


def jobs() -> list[Job]:
    """Those that take longest first."""
    listed: list[Job] = [("large", large), *((f"edge {form}", partial(edges, form)) for form in ("letor", "csv"))]
    if args.python:
        listed.append(("python", python))
    listed += [(f"run {name}", partial(run, name)) for name in RUNS]
    listed += [(f"forms {name}", partial(forms, name)) for name in ("mart", "newton", "wide")]
    for line in Path("configurations").read_text().splitlines():
        name, data, valid, options = (one.strip() for one in line.split("|"))
        listed.append((f"model {name}", partial(configuration, name, data, valid, options)))
    listed += [
        (f"export {model}", partial(exports, model)) for model in ("l.model", "lc.model", "train.model", "c.model")
    ]
    listed += [(f"json {name}", partial(results, name)) for name in VALUES]
    listed += [(f"text {name}", partial(texts, name)) for name in TEXTS]
    listed += [
        ("data", synthesized),
        ("table", tables),
        ("table cached", cached_tables),
        ("init", continued),
        ("resume", resumed),
        ("interrupted", interrupted),
        ("log", log_keys),
        ("cv", cross_validation),
        ("bad", bad_files),
        ("caches", bad_caches),
        ("side", side_files),
        ("exit", exits),
    ]
    if not args.quick:
        listed.append(("json slow", slow_keys))
    return [one for one in listed if re.search(args.only, one[0])]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares all that Rankwood gives with tests/pin.txt.")
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--emulated", type=os.path.abspath)
    parser.add_argument("--python")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", metavar="REGEX")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.parse_args(namespace=args)
    pinned = dict(line.split("\t") for line in PINNED.read_text().splitlines()) if PINNED.exists() else {}
    found: dict[str, list[tuple[str, str]]] = {}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_data()
        make_results()
        with ThreadPoolExecutor(args.jobs) as pool:
            for rows in pool.map(lambda job: list(job[1]()), jobs()):
                for row, way, value in rows:
                    found.setdefault(row, []).append((way, value.replace("\t", " ").replace("\n", " ")))
        os.chdir(here)
    differ = compared = 0
    for row, ways in sorted(found.items()):
        expected = ways[0][1] if args.write else pinned.get(row, "nothing")
        for way, value in ways:
            compared += 1
            if value != expected:
                differ += 1
                print(f"differs: {row}, {way}: {difference(expected, value)}")
        if args.write:
            pinned[row] = expected
    gone = sorted(set(pinned) - set(found)) if args.python and not args.quick and not args.only else []
    for row in gone:
        print(f"gone: {row}")
    if args.write:
        rows = {row: value for row, value in pinned.items() if row not in gone}
        PINNED.write_text("".join(f"{row}\t{value}\n" for row, value in sorted(rows.items())))
        gone = []
    print(f"pin: {compared} comparisons of {len(found)} rows, {differ + len(gone)} differ")
    return 1 if differ or gone or not compared else 0


def difference(expected: str, value: str) -> str:
    """Keys that are more or fewer; else both values."""
    old, new = expected.split(), value.split()
    if len(old) > 4 and len(new) > 4:
        words = [*(f"-{one}" for one in old if one not in new), *(f"+{one}" for one in new if one not in old)]
        return " ".join(words)
    return f"{value}, pinned {expected}"


if __name__ == "__main__":
    sys.exit(main())
