"""The commands that faults.py runs, on tiny made data in ../data. To add one: a line below."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

OBJECTIVES = "lambdarank regression yetirank queryrmse listnet xendcg logistic".split()
FORMATS = (
    "ranklib quickrank lightgbm xgboost xgboost-ubj xgboost-dump opensearch elasticsearch elasticsearch-ml"
    " eslr-raw vespa c java go python onnx onnx5 solr catboost pmml"
).split()
NOT_READ = (  # written only
    "xgboost-dump opensearch elasticsearch elasticsearch-ml eslr-raw vespa c java go python pmml"
).split()
HIST = "collision multi".split()  # of the methods that a GPU has
FIT = "--rounds 3 --leaves 4 --min-docs 2"
ONE = "--threads 1 --quiet"


@dataclass(frozen=True)
class Command:
    """A command line, run in a separate folder. Its output files:

    after a fault, `files` are complete, old or new; `lines` may end anywhere, as logs may. `before` names the files
    that are copied from the data folder before it starts. `again`: after a fault, the same line continues from the
    files that are left."""

    name: str
    line: str
    files: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    before: dict[str, str] = field(default_factory=dict)
    stdin: str = ""
    again: bool = False
    varies: bool = False  # its output depends on the machine: only failures are compared
    slow: bool = False  # at most 40 faults of a kind; skipped if --most is below 10


def levels(train: str, on: str) -> Command:
    return Command(
        "train, levels and samples",
        f"train {train} --grow levels --depth 2 --split newton --sample-queries 0.7 --sample-features 0.5"
        f" --rounds 3 --min-docs 2 --monotone 1:+ --feature-penalty 1:2 {on} -o out",
        ("out",),
    )


def checkpoints(train: str, valid: str, on: str) -> Command:
    return Command(
        "train, checkpoints",
        f"train {train} --valid {valid} {FIT} {on} --checkpoint ck --checkpoint-every 1 --resume auto --log log -o out",
        ("out",),
        ("log", "ck"),
        again=True,
    )


def commands() -> list[Command]:
    d = "../data/"
    train, valid = f"{d}train.txt", f"{d}valid.txt"
    out = ("out",)
    made = [
        Command(f"train {name}", f"train {train} {FIT} --objective {name} {ONE} -o out", out) for name in OBJECTIVES
    ]
    made += [
        Command(
            "train, validated",
            f"train {train} --valid {valid} --rounds 6 --leaves 4 --early-stop 2 --threads 1 --log log -o out",
            out,
            ("log",),
        ),
        Command("train, manifest", f"train {train} --valid {valid} {FIT} {ONE} -o out --manifest made", (*out, "made")),
        Command("verify", f"verify {d}manifest.json --threads 1 --quiet"),
        Command("train, to standard output", f"train {train} {FIT} {ONE} -o -"),
        Command("train, from a pipe", f"train - {FIT} {ONE} -o out", out, stdin="train.txt"),
        Command("train, gzip", f"train {d}train.txt.gz --valid {d}valid.txt.gz {FIT} {ONE} -o out", out),
        Command("train, a cache", f"train {d}train.rwb --valid {d}valid.rwb {FIT} {ONE} -o out", out),
        Command("train, CSV and words", f"train {d}words.csv --categorical shop {FIT} {ONE} -o out", out),
        Command("train, TSV", f"train {d}words.tsv --ignore shop {FIT} {ONE} -o out", out),
        Command(
            "train, side files",
            f"train {train} --query-weights {d}weights --start-scores {d}start --labels {d}labels"
            f" --label-weights 1,0.5 {FIT} {ONE} -o out",
            out,
        ),
        Command(
            "train, positions",
            f"train {d}clicks.txt --positions {d}shown --debias ipw {FIT} {ONE} --log log -o out",
            out,
            ("log",),
        ),
        Command("train, pairs", f"train {train} --pairs given --pairs-file {d}pairs {FIT} {ONE} -o out", out),
        levels(train, ONE),
        Command("train, a configuration", f"train {train} --config {d}config {ONE} -o out", out),
        Command("train, plan", f"train {train} {FIT} {ONE} --plan", varies=True),
        Command("train, ref", f"train {train} {FIT} {ONE} --device ref -o out", out),
        Command("train, two threads", f"train {train} --valid {valid} {FIT} --threads 2 --quiet -o out", out),
        Command("train, two ranks", f"train {train} --valid {valid} {FIT} --ranks 2 --threads 2 --quiet -o out", out),
        checkpoints(train, valid, ONE),
        Command(
            "train, resumed",
            f"train {train} --valid {valid} --rounds 5 --leaves 4 --min-docs 2 {ONE} --checkpoint ck"
            " --checkpoint-every 1 --resume ck --log log -o out",
            out,
            ("log", "ck"),
            {"ck": "ck", "log": "ck.log"},
            again=True,
        ),
        Command("train, init", f"train {train} --init {d}model {FIT} {ONE} -o out", out),
        Command("train, init of words", f"train {d}words.csv --init {d}words.model {FIT} {ONE} -o out", out),
        Command("train, refit", f"train {valid} --refit {d}model {ONE} -o out", out),
        Command("predict", f"predict {d}model {valid} {ONE} -o out", out),
        Command("predict, printed", f"predict {d}model {d}valid.txt.gz --threads 1"),
        Command("predict, a run", f"predict {d}model {valid} {ONE} --trec out", out),
        Command("predict, leaves", f"predict {d}model {valid} {ONE} --leaf-ids -o out", out),
        Command("predict, probability", f"predict {d}mapped {d}valid.rwb {ONE} --probability -o out", out),
        Command("predict, words", f"predict {d}words.model {d}words.csv {ONE} -o out", out),
        Command("predict, a pipe", f"predict {d}model - {ONE} --trec out", out, stdin="valid.txt"),
        Command("predict, two threads", f"predict {d}model {valid} --threads 2 --quiet -o out", out),
        Command(
            "eval",
            f"eval {valid} --model {d}model --metric ndcg@5,map,mrr,err,rbp:0.8 --per-query out --threads 1",
            out,
        ),
        Command("eval, scores", f"eval {valid} --scores {d}scores --json --threads 1"),
        Command("eval, a run", f"eval {valid} --scores {d}run --like trec --metric map --threads 1"),
        Command("eval, audit", f"eval {valid} --scores {d}scores --audit --threads 1"),
        Command("eval, judgments", f"eval --qrels {d}qrels --run {d}run {d}run2 --metric map,ndcg@5 --threads 1"),
        Command(
            "eval, clicks",
            f"eval {d}clicks.txt --model {d}model --positions {d}shown --propensities {d}examined --threads 1",
        ),
        Command("judge", f"judge {d}log.tsv --propensities examined {ONE} -o out", ("out", "examined")),
        Command("judge, a cascade", f"judge {d}log.tsv --model dbn --threads 2 --json -o out", out),
        Command("compare", f"compare {valid} --a {d}weak --b {d}model --groups {d}groups --threads 1"),
        Command("compare, JSON", f"compare {valid} --a {d}scores --b {d}model --json --threads 1"),
        Command(
            "compare, many", f"compare {valid} --baseline {d}weak {d}model {d}scores {d}run --format csv --threads 1"
        ),
        Command(
            "cv",
            f"cv {train} --folds 2 --rounds 2 --leaves 3 --min-docs 2 --early-stop 0 {ONE} -o cv",
            tuple(f"cv/{name}" for name in ("fold-1.txt", "fold-2.txt", "folds.tsv", "results.json", "scores.txt")),
        ),
        Command(
            "cv, two threads",
            f"cv {train} --folds 2 --rounds 2 --leaves 3 --min-docs 2 --early-stop 0 --threads 2 --quiet -o cv",
            tuple(f"cv/{name}" for name in ("fold-1.txt", "fold-2.txt", "folds.tsv", "results.json", "scores.txt")),
        ),
        Command("check", f"check {train} --against {valid} --threads 1"),
        Command("check, JSON and words", f"check {d}words.csv --categorical shop --json --threads 1"),
        Command("explain", f"explain {d}model {valid} --repeats 1 --threads 1"),
        Command("explain, documents", f"explain {d}model {valid} --documents --json --threads 1"),
        Command("report", f"report {d}model --valid {valid} {ONE} -o out", out),
        Command("report, words", f"report {d}words.model --valid {d}words.csv {ONE} -o out", out),
    ]
    for to in FORMATS:
        more = f" --featureset {d}featureset.json --name m" if to in ("opensearch", "elasticsearch", "elasticsearch-ml") else ""
        made.append(Command(f"export {to}", f"export {d}small --to {to}{more} -o out", out))
        if to not in NOT_READ:
            base = " --feature-base 0" if to in ("ranklib", "quickrank", "solr") else ""
            made.append(Command(f"import {to}", f"import {d}m.{to} --from {to}{base} -o out", out))
    made += [
        Command("export, verified", f"export {d}small --to xgboost --verify {valid} -o out", out),
        Command("export, words", f"export {d}words.model --to lightgbm --verify {d}words.csv -o out", out),
        Command("bin", f"bin {train} {ONE} -o out.rwb", ("out.rwb",)),
        Command("bin, words", f"bin {d}words.csv --categorical shop {ONE} -o out.rwb", ("out.rwb",)),
        Command("bin, two threads", f"bin {d}train.txt.gz --threads 2 --quiet -o out.rwb", ("out.rwb",)),
        Command("calibrate", f"calibrate {d}model {valid} {ONE} -o out", out),
        Command("calibrate, logistic", f"calibrate {d}model {valid} --method logistic {ONE} --json -o out", out),
        Command(
            "select",
            f"select {train} --valid {valid} --rounds 3 --leaves 3 --min-docs 2 --features 1-4 --early-stop 0 --loss 1"
            f" {ONE} -o out --model made",
            ("out", "made"),
        ),
        Command(
            "tune",
            f"tune {train} --folds 2 --rounds 2 --leaves 3 --min-docs 2 --early-stop 0 --trials 3"
            f" {ONE} -o out --params-out made",
            ("out", "made"),
        ),
        Command(
            "tune, checkpoints",
            f"tune {train} --folds 2 --rounds 4 --leaves 3 --min-docs 2 --early-stop 2 --trials 4 {ONE}"
            " --checkpoint ck --resume auto -o out",
            ("out",),
            ("ck",),
            again=True,
        ),
        Command("prune", f"prune {d}model {valid} --loss 0.1 {ONE} -o out", out),
        Command("synth", "synth --shape letor --queries 3 --seed 1 -o out", out),
        Command("synth, gzip", "synth --shape letor --queries 3 --seed 1 -o out.gz", ("out.gz",)),
        Command("synth, a cache", "synth --shape letor --queries 3 --seed 1 -o out.rwb", ("out.rwb",)),
        Command("info", f"info {d}model"),
        Command("info, JSON", f"info {d}words.model --json"),
        Command("show", f"show {d}model --tree 1"),
        Command("show, dot", f"show {d}words.model --tree 1 --dot"),
        Command("doctor", "doctor", varies=True, slow=True),
        Command("help", "train --help"),
        Command("completion", "completion bash"),
        Command("completion, words", "--complete train --objective l"),
    ]
    return made


def cuda_commands() -> list[Command]:
    """Those that a GPU does, wholly or partly."""
    d = "../data/"
    train, valid, on = f"{d}train.txt", f"{d}valid.txt", f"--device cuda {ONE}"
    out = ("out",)
    made = [Command(f"train {name}", f"train {train} {FIT} --objective {name} {on} -o out", out) for name in OBJECTIVES]
    made += [
        Command(f"train --hist {name}", f"train {train} {FIT} --split newton --hist {name} {on} -o out", out)
        for name in HIST
    ]
    made += [
        Command(
            "train, validated",
            f"train {train} --valid {valid} --rounds 6 --leaves 4 --early-stop 2 {on} --log log -o out",
            out,
            ("log",),
        ),
        levels(train, on),
        Command("train, a cache", f"train {d}train.rwb --valid {d}valid.rwb {FIT} {on} -o out", out),
        Command("train, words", f"train {d}words.csv --categorical shop {FIT} {on} -o out", out),
        checkpoints(train, valid, on),
        Command("train, init", f"train {train} --init {d}model {FIT} {on} -o out", out),
        Command("train, codes in the host's memory", f"train {d}far.txt --config {d}far {on} -o out", out, slow=True),
        Command("train, auto", f"train {train} {FIT} --device auto {ONE} -o out", out),
        Command("train, plan", f"train {train} {FIT} {on} --plan", varies=True),
        Command("predict", f"predict {d}model {valid} {on} -o out", out),
        Command("predict, words", f"predict {d}words.model {d}words.csv {on} -o out", out),
        Command("predict, a run", f"predict {d}model {valid} {on} --trec out", out),
        Command("eval", f"eval {valid} --model {d}model --metric ndcg@5,map {on} --per-query out", out),
        Command("calibrate", f"calibrate {d}model {valid} {on} -o out", out),
        Command(
            "cv",
            f"cv {train} --folds 2 --rounds 2 --leaves 3 --min-docs 2 --early-stop 0 {on} -o cv",
            tuple(f"cv/{name}" for name in ("fold-1.txt", "fold-2.txt", "folds.tsv", "results.json", "scores.txt")),
        ),
        Command(
            "select",
            f"select {train} --valid {valid} --rounds 3 --leaves 3 --min-docs 2 --features 1-4 --early-stop 0 --loss 1"
            f" {on} -o out --model made",
            ("out", "made"),
        ),
    ]
    return made


def words(separator: str) -> str:
    """Ten queries of six documents, whose labels follow the shop."""
    lines = [separator.join(("label", "qid", "shop", "x", "y"))]
    for i in range(60):
        shop = i * 7 % 12
        lines.append(separator.join((str(shop % 4), str(i // 6), f"shop {shop}", str(i * 31 % 17), str(i * 13 % 5))))
    return "\n".join(lines) + "\n"


def make_far(program: str, data: Path) -> None:
    """Data whose codes are in the host's memory, and a configuration that gives a GPU too little for them."""
    synth = [program, *"synth --shape letor --queries 60 --seed 5 -o far.txt".split()]
    subprocess.run(synth, cwd=data, check=True)

    def plan(n_bytes: int) -> str:
        config = f"rounds = 2\nleaves = 4\nmin-docs = 2\ngpu-memory = {n_bytes}\n"
        (data / "far").write_text(config)
        line = f"train far.txt --config far --device cuda {ONE} --plan"
        return subprocess.run([program, *line.split()], cwd=data, capture_output=True, text=True, check=False).stdout

    needed = re.search(r"^at most +(\d+)", plan(1), re.MULTILINE)
    if not needed or "codes in host memory" not in plan(int(needed[1]) + 1000):
        raise RuntimeError("no codes are in the host's memory")


def make_data(program: str, data: Path, has_cuda: bool = False) -> None:
    """Makes the input files of the commands in the folder `data`, without faults."""

    def run(line: str, to: str = "") -> None:
        done = subprocess.run([program, *line.split()], cwd=data, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"rankwood {line}: {done.stderr}")
        if to:
            (data / to).write_text(done.stdout)

    def write(name: str, lines: list[str]) -> None:
        (data / name).write_text("".join(line + "\n" for line in lines))

    for name, queries, seed in (("train", 7, 5), ("valid", 5, 6)):
        run(f"synth --shape letor --queries {queries} --seed {seed} -o whole.txt")
        short = []  # at most eight documents of a query, and ten features
        count: dict[str, int] = {}
        for line in (data / "whole.txt").read_text().splitlines():
            part = line.split("#")[0].split()
            count[part[1]] = count.get(part[1], 0) + 1
            if count[part[1]] <= 8:
                short.append(" ".join(part[:12]))
        write(f"{name}.txt", short)
        subprocess.run(["gzip", "-kn", f"{name}.txt"], cwd=data, check=True)
        run(f"bin {name}.txt --quiet -o {name}.rwb")
    train = [line.split() for line in (data / "train.txt").read_text().splitlines()]
    queries = list(dict.fromkeys(part[1] for part in train))
    write("weights", [str(1 + i % 3) for i in range(len(queries))])
    write("start", [str(i % 5 / 4 - 0.5) for i in range(len(train))])
    write("labels", [str(i * 7 % 3) for i in range(len(train))])
    place: dict[str, int] = {}
    for part in train:
        place[part[1]] = place.get(part[1], 0) + 1
    shown: list[str] = []
    for query in queries:
        shown += [str(i + 1) for i in range(place[query])]
    write("shown", shown)
    write("clicks.txt", [" ".join([str(int(int(p[0]) > 0)), *p[1:]]) for p in train])
    log = [(s, (s + k) % 2, k + 1) for s in range(20) for k in range(2)]
    write("log.tsv", [f"s{s}\tq\td{d}\t{k}\t{int((s * 7 + k) % 5 < (4 - 2 * d) / k)}" for s, d, k in log])
    write("examined", [f"{i} {1 / i}" for i in range(1, 9)])
    write("names", [f"{i} feature {i}" for i in range(1, 11)])
    write("penalty", ["1 2"])
    write("pairs", [f"{query[4:]} 1 2" for query in queries if place[query] > 1])
    write("config", ["rounds = 3", "leaves = 4", "min-docs = 2", "# a comment", "objective = listnet"])
    (data / "words.csv").write_text(words(","))
    (data / "words.tsv").write_text(words("\t"))
    run(f"train train.txt --valid valid.txt {FIT} {ONE} -o model")
    run(f"train train.txt --rounds 1 --leaves 2 --min-docs 2 {ONE} -o weak")
    run(f"train words.csv --categorical shop {FIT} {ONE} -o words.model")
    run(f"train train.txt --valid valid.txt {FIT} {ONE} --manifest manifest.json -o whole")
    run(f"train train.txt --valid valid.txt {FIT} {ONE} --checkpoint ck --checkpoint-every 1 --log ck.log -o first")
    run(f"train train.txt --features 1-6 --rounds 2 --leaves 4 --min-docs 2 --absent zero {ONE} -o small")
    run(f"calibrate model valid.txt {ONE} -o mapped")
    run(f"predict model valid.txt {ONE} --trec run -o scores")
    run(f"predict weak valid.txt {ONE} --trec run2 -o scores2")
    judged = [line.split() for line in (data / "valid.txt").read_text().splitlines()]
    at: dict[str, int] = {}
    qrels = []
    for part in judged:
        query = part[1][4:]
        at[query] = at.get(query, 0) + 1
        qrels.append(f"{query} 0 {query}-{at[query]} {part[0]}")
    write("qrels", qrels)
    if has_cuda:
        make_far(program, data)
    write("groups", [f"{query} {'odd' if i % 2 else 'even'}" for i, query in enumerate(at)])
    names = ",".join(f'{{"name":"f{i}","params":[],"template":{{"match_all":{{}}}}}}' for i in range(1, 11))
    write("featureset.json", [f'{{"_source":{{"featureset":{{"name":"s","features":[{names}]}}}}}}'])
    for to in FORMATS:
        if to not in NOT_READ:
            run(f"export small --to {to} -o m.{to}")
