"""What tests/pin.py pins of the package: for each model a line of JSON with its row, the way it was trained, and hashes
of the model and of scores. Reads the files that pin.py made in the folder at hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import rankwood
from rankwood import Dataset

NAMES = [f"f{i}" for i in range(1, 47)]
PARAMS: dict[str, Any] = {"rounds": 6, "leaves": 15, "min_docs": 3, "absent": "missing", "device": "cpu"}
COLUMNS: dict[str, Any] = {"label": "label", "qid": "qid"}


def read(path: str) -> tuple[Any, Any, Any]:
    labels, queries, rows = [], [], []
    with open(path) as lines:
        for line in lines:
            label, qid, *pairs = line.split("#")[0].split()
            row = np.full(len(NAMES), np.nan, np.float32)
            for pair in pairs:
                feature, value = pair.split(":")
                row[int(feature) - 1] = float(value)
            labels.append(float(label))
            queries.append(int(qid[4:]))
            rows.append(row)
    return np.array(rows), np.array(labels), np.array(queries)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def pin(row: str, way: str, data: Dataset, scored: Any, **more: Any) -> None:
    model = rankwood.train({**PARAMS, **more}, data)
    scores = np.ascontiguousarray(model.predict(scored))
    print(json.dumps([f"python {row}", way, f"{sha(model.to_bytes())} {sha(scores.tobytes())}"]), flush=True)


def main() -> None:
    values, label, qid = read("l.txt")
    scored = read("lv.txt")[0]
    sizes = np.unique(qid, return_counts=True)[1]
    pin("arrays", "float32", Dataset(values, label, qid=qid), scored)
    pin("arrays", "float64", Dataset(values.astype(np.float64), label, qid=qid), scored)
    pin("arrays", "by columns", Dataset(np.asfortranarray(values), label, qid=qid), scored)
    pin("arrays", "sizes of queries", Dataset(values, label, group=sizes), scored)
    pin("arrays", "2 threads, sim", Dataset(values, label, qid=qid), scored, device="sim", threads=2)
    pin("weights", "array", Dataset(values, label, qid=qid, weight=1 + np.arange(len(label)) % 3), scored)
    whole = np.nan_to_num(values * 100).astype(np.int64)
    pin("whole numbers", "int64", Dataset(whole, label, qid=qid), scored)
    pin("whole numbers", "float32", Dataset(whole.astype(np.float32), label, qid=qid), scored)
    pin("file", "text", Dataset("train.txt"), Dataset("valid.txt"), absent="zero")
    pin("file", "cache", Dataset("train.rwb"), Dataset("valid.txt"), absent="zero")

    columns = {"label": label, "qid": qid, **{name: values[:, i] for i, name in enumerate(NAMES)}}
    words = np.array(["red", "blue", "green", "grey"])[(label + np.arange(len(label)) % 3).astype(int) % 4]
    frame = pd.DataFrame({name: values[:, i] for i, name in enumerate(NAMES)})
    tables: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "table": (pa.table(columns), frame, {}),
        "words": (pa.table({**columns, "word": words}), frame.assign(word=words), {"categorical_features": ["word"]}),
    }
    for name, (table, features, more) in tables.items():
        ways: dict[str, Callable[[], Dataset]] = {
            "frame": lambda of=features, more=more: Dataset(of, label, qid=qid, **more),
            "one batch": lambda table=table, more=more: Dataset.from_batches(lambda: table, **COLUMNS, **more),
        }
        for n in (1, 37):
            ways[f"batches of {n}"] = lambda table=table, n=n, more=more: Dataset.from_batches(
                lambda: iter(table.to_batches(max_chunksize=n)), **COLUMNS, **more
            )
        for way, make in ways.items():
            pin(name, way, make(), features)


if __name__ == "__main__":
    main()
