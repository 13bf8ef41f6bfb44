# room: io
"""Random files as others read them: LETOR text against scikit-learn's load_svmlight_file, CSV and TSV against
pandas. Every label, query and value is the same. DIFFERENTIAL_LINES: how many lines in all (20,000)."""

from __future__ import annotations

import csv
import os
import random
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from sklearn.datasets import load_svmlight_file

import rankwood
from rankwood._core import ffi, lib, text

LINES = int(os.environ.get("DIFFERENTIAL_LINES", "20000"))
IN_A_FILE = 2500
FILES = range(max(1, LINES // 2 // IN_A_FILE))
LARGEST = np.finfo(np.float32).max
FEATURES = 40
ODD = ("0", "-0", "+1", ".5", "5.", "-.25", "1e-46", "-1e-50", "1e39", "-1e300", "3.4028235e38", "3.4028236e38")
ODD += ("0.1", "16777217", "1.17549435e-38", "1e-45", "7E2", "00012.50", "1e+5", "nan", "NaN")
Floats = npt.NDArray[np.float32]


def a_number(rng: random.Random) -> str:
    """Decimals of every kind that all readers take."""
    kind = rng.randrange(12)
    if kind < 4:
        return f"{rng.random():.{rng.randrange(1, 10)}f}"
    if kind < 6:
        return str(rng.randrange(-9, 1000))
    if kind < 8:
        return f"{rng.gauss(0, 1) * 10 ** rng.randrange(-44, 38):.{rng.randrange(17)}e}"
    return rng.choice(ODD)


def nearest(values: Any) -> Floats:
    """Doubles as the library takes them: the nearest float, the largest one beyond that, no -0."""
    with np.errstate(over="ignore"):
        floats: Floats = np.asarray(values, dtype=np.float64).astype(np.float32)
    return np.clip(floats, -LARGEST, LARGEST) + np.float32(0)


class Read:
    """The library's data set of a file."""

    def __init__(self, path: Path, n_features: int, **how: Any) -> None:
        data = rankwood.Dataset(path, **how)
        handle = data._with_values()
        self.label, self.offsets = data.label, data.query_offsets
        self.ids = [text(lib.rw_dataset_query_id(handle, q)) for q in range(data.n_queries)]
        self.values = np.empty((data.n_docs, n_features), np.float32)
        column = np.empty(data.n_docs, np.float32)
        for f in range(n_features):
            lib.rw_dataset_feature(handle, f, 0.0, ffi.cast("float *", column.ctypes.data))
            self.values[:, f] = column


def assert_same(ours: Floats, theirs: Floats, doubles: Any, decimals: Any) -> None:
    """Equal to the bit; where the other's way by doubles rounds twice, ours must be the nearest to the decimal."""
    differ = np.argwhere(~((ours == theirs) | (np.isnan(ours) & np.isnan(theirs))))
    for at in map(tuple, differ):
        exact = Fraction(decimals(*at))
        other = abs(Fraction(float(theirs[at])) - exact)
        assert abs(Fraction(float(ours[at])) - exact) <= other, (at, decimals(*at), ours[at], theirs[at], doubles[at])


# ---- LETOR


def letor_line(rng: random.Random, qid: int, features: dict[int, str]) -> str:
    blank = rng.choice([" ", " ", " ", "  ", "\t", " \t "])
    label = rng.choice(["0", "1", "2", "3", "4", "0.5", "2e0", "+1"])
    words = [label, f"qid:{qid}", *(f"{f}:{value}" for f, value in features.items())]
    comment = rng.choice(["", "", "", " #", " # docid = D1", "\t# qid:3 1:2", " #docid:B #"])
    return blank.join(words) + rng.choice(["", "", " ", "\t"]) + comment + rng.choice(["\n", "\n", "\n", "\r\n"])


def make_letor(seed: int, path: Path) -> list[dict[int, str]]:
    """Writes a file; returns the text of every document's values."""
    rng = random.Random(seed)
    rows: list[dict[int, str]] = []
    lines: list[str] = []
    qid = rng.randrange(10**6)
    for _ in range(IN_A_FILE):
        if rng.random() < 0.1:
            qid += rng.randrange(1, 1000)
        chosen = sorted(rng.sample(range(FEATURES), rng.randrange(0, 14)))
        rows.append({f: a_number(rng) for f in chosen})
        lines.append(letor_line(rng, qid, rows[-1]))
        if rng.random() < 0.02:
            lines.append(rng.choice(["\n", "# a comment\n", "  \n"]))
    content = "".join(lines)
    path.write_bytes((content.rstrip("\r\n") if seed % 2 else content).encode())
    return rows


@pytest.mark.parametrize("seed", FILES)
def test_letor_as_scikit_learn(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "made.txt"
    rows = make_letor(seed, path)
    x, y, qid = load_svmlight_file(str(path), n_features=FEATURES, zero_based=True, query_id=True)
    doubles = x.toarray()
    ours = Read(path, FEATURES)
    np.testing.assert_array_equal(ours.label, nearest(y))
    begins = np.flatnonzero(np.concatenate([[True], qid[1:] != qid[:-1]]))
    np.testing.assert_array_equal(ours.offsets, [*begins, len(qid)])
    assert ours.ids == [str(one) for one in qid[begins]]
    assert_same(ours.values, nearest(doubles), doubles, lambda row, f: rows[row].get(f, "0"))


def changed(rng: random.Random, line: str) -> str:
    """The line with a character or two changed."""
    for _ in range(rng.randrange(1, 3)):
        at = rng.randrange(len(line))
        line = line[:at] + rng.choice("0123456789+-.eE:# \tqidnaf") + line[at + rng.randrange(2) :]
    return line


def test_broken_letor_is_refused_or_read_the_same(tmp_path: Path) -> None:
    """Lines with something changed: refused, or read as scikit-learn reads them, if it does."""
    rng = random.Random(7)
    path = tmp_path / "made.txt"
    n_both = 0
    for _ in range(min(LINES // 20, 20_000)):
        features = {f: a_number(rng) for f in sorted(rng.sample(range(FEATURES), 4))}
        line = changed(rng, letor_line(rng, rng.randrange(99), features).strip("\r\n"))
        if re.search(r"qid:\S*#", line):
            continue  # here '#' is a character of the id; there a comment begins
        path.write_text(line + "\n")
        try:
            ours = Read(path, FEATURES)
        except rankwood.RankwoodError:
            continue
        try:
            x, y, _ = load_svmlight_file(str(path), n_features=FEATURES, zero_based=True, query_id=True)
        except ValueError:
            continue  # it wants whole query ids, and features below n_features
        n_both += 1
        np.testing.assert_array_equal(ours.label, nearest(y), path.read_text())
        np.testing.assert_array_equal(ours.values, nearest(x.toarray()), path.read_text())
    assert n_both > 0


# ---- CSV


def make_table(seed: int, path: Path, between: str) -> list[list[str]]:
    """Writes a table: label, qid and a text first, then numbers. Returns the text of these."""
    rng = random.Random(seed)
    missing = ["", "NA", "nan", "NaN"]
    rows, query = [], 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(
            file,
            delimiter=between,
            lineterminator=rng.choice(["\n", "\r\n"]),
            quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        )
        writer.writerow(["label", "qid", "title", *(f"f{i}" for i in range(12))])
        for _ in range(IN_A_FILE):
            query += rng.random() < 0.1
            values = [rng.choice(missing) if rng.random() < 0.1 else a_number(rng) for _ in range(12)]
            rows.append(values)
            title = "".join(rng.choice("ab \"',\t\n;é") for _ in range(rng.randrange(6)))
            writer.writerow([rng.randrange(5), f"q {query}", title, *values])
    return rows


@pytest.mark.parametrize("seed", FILES)
def test_table_as_pandas(seed: int, tmp_path: Path) -> None:
    between = ",\t"[seed % 2]
    path = tmp_path / ("made.csv" if between == "," else "made.tsv")
    rows = make_table(seed, path, between)
    theirs = pd.read_csv(
        path,
        sep=between,
        keep_default_na=False,
        na_values={f"f{i}": ["", "NA", "nan", "NaN"] for i in range(12)},
        dtype={"qid": str, "title": str},
        float_precision="round_trip",
    )
    ours = Read(path, 12, ignore=["title"])
    np.testing.assert_array_equal(ours.label, theirs["label"].to_numpy(np.float32))
    qid = theirs["qid"].to_numpy()
    begins = np.flatnonzero(np.concatenate([[True], qid[1:] != qid[:-1]]))
    np.testing.assert_array_equal(ours.offsets, [*begins, len(qid)])
    assert ours.ids == list(qid[begins])
    doubles = theirs.iloc[:, 3:].to_numpy(np.float64)
    assert_same(ours.values, nearest(doubles), doubles, lambda row, f: rows[row][f])
