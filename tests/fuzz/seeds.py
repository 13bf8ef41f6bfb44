"""Seeds of the fuzz targets, made of real files by the program itself; they never are part of the tree."""

import gzip
import os
import subprocess

QUERIES = 4  # of a seed
MOST_BYTES = 4000
SETS = ("mq2008/S1", "mq2008/S4", "ohsumed/S1", "ohsumed/S3", "mslr-sample/test", "mslr-sample/vali")
FORMATS = ("ranklib", "quickrank", "lightgbm", "xgboost", "xgboost-ubj", "xgboost-dump", "eslr-raw", "vespa")
FORMATS += ("onnx", "onnx5", "solr", "catboost", "pmml")
TINY = ("--rounds=3", "--leaves=4", "--min-docs=2", "--early-stop=0", "--quiet", "--threads=1")


def some_queries(path, skip):
    """The lines of a few short queries of a file of LETOR text, after `skip` queries."""
    lines, query, n = [], None, 0
    with gzip.open(path, "rt", encoding="ascii") as file:
        for line in file:
            qid = line.split(maxsplit=2)[1]
            if qid != query:
                query, n = qid, n + 1
            if n > skip + QUERIES or sum(map(len, lines)) + len(line) > MOST_BYTES:
                break
            if n > skip:
                lines.append(line)
    return lines


def fields_of(line):
    """Label, query, features."""
    words = line.split("#")[0].split()
    return words[0], words[1].split(":")[1], [word.split(":")[1] for word in words[2:]]


def csv_of(lines, between):
    rows = [fields_of(line) for line in lines]
    header = ["label", "qid", *(f"f{i}" for i in range(len(rows[0][2])))]
    text = [header] + [[label, qid, *values] for label, qid, values in rows]
    # the target's first byte says how columns are given
    return "\0" + "".join(between.join(row) + "\n" for row in text)


def trec_of(lines):
    """Judgments and a run of the same documents, as the target takes them."""
    rows = [fields_of(line) for line in lines]
    judgments = "".join(f"{qid} 0 D{i} {label}\n" for i, (label, qid, _) in enumerate(rows))
    run = "".join(f"{qid} Q0 D{i} 1 {values[-1]} real\n" for i, (_, qid, values) in enumerate(rows) if i % 7)
    return judgments + "\1" + run


def clicks_of(lines):
    """A log of sessions whose order varies, with clicks by label; the target's first byte chooses the model."""
    queries = {}
    for i, line in enumerate(lines):
        label, qid, _ = fields_of(line)
        queries.setdefault(qid, []).append((int(label), f"D{i}"))
    for model in range(4):
        text = chr(model)
        for qid, documents in queries.items():
            for s in range(4):
                shown = documents[s:] + documents[:s]
                text += "".join(f"{qid}-{s},{qid},{name},{k},{int((k + s) % 5 < 2 * label)}\n"
                                for k, (label, name) in enumerate(shown[:6], 1))
        yield text


def side_files_of(lines):
    """Of five documents, as many as the target's."""
    rows = [fields_of(line) for line in lines[:5]]
    if len(rows) < 5:
        return
    yield "".join(label + "\n" for label, _, _ in rows)
    yield "".join(values[0] + "\n" for _, _, values in rows)
    yield "".join(" ".join(values[:3]) + "\n" for _, _, values in rows)
    yield "".join(f"{i} f{value}\n" for i, value in enumerate(rows[0][2]))


def make(program, data, folder):
    """Writes them to FOLDER/TARGET/. Returns how many there are; 0 without data."""
    n = 0

    def write(target, name, content):
        nonlocal n
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        with open(os.path.join(folder, target, name), "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        n += 1

    def keep(target, name, path):
        with open(path, "rb") as file:
            write(target, name, file.read())

    def run(*arguments):
        return subprocess.run([program, *arguments], capture_output=True, check=False).returncode == 0

    for number, name in enumerate(SETS):
        path = os.path.join(data, name + ".txt.gz")
        if not os.path.exists(path):
            continue
        for skip in (0, 9):
            lines = some_queries(path, skip)
            stem = f"{name.replace('/', '_')}_{skip}"
            write("letor", stem, "".join(lines))
            write("csv", stem, csv_of(lines, ","))
            write("csv", stem + "_tab", csv_of(lines, "\t"))
            write("qrels", stem, trec_of(lines))
            for i, text in enumerate(clicks_of(lines)):
                write("clicks", f"{stem}_{i}", text)
            for i, text in enumerate(side_files_of(lines)):
                write("side", f"{stem}_{i}", text)
            text = os.path.join(folder, "text.txt")
            model, cache, other = (os.path.join(folder, f"made.{kind}") for kind in ("model", "rwb", "other"))
            with open(text, "w", encoding="ascii") as file:
                file.writelines(lines)
            if run("bin", text, "-o", cache, "--bins", "16"):
                keep("cache", stem, cache)
            checkpoint = model + ".checkpoint"
            if not run("train", text, *TINY, "-o", model, "--checkpoint", checkpoint, "--checkpoint-every", "1"):
                continue
            keep("model", stem, model)
            if os.path.exists(checkpoint):
                keep("checkpoint", stem, checkpoint)
            for form in FORMATS:
                if number % 2 == 0 and run("export", model, "--to", form, "--lossy", "-o", other):
                    keep("import", f"{stem}_{form}", other)
    for name in ("text.txt", "made.model", "made.model.checkpoint", "made.rwb", "made.other"):
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    return n
