# room: evaluate
"""Labels from click logs: every form of a log, bad logs, and agreement with the program."""

import csv
import os
import subprocess

import numpy as np
import pytest

import rankwood


@pytest.fixture(name="log")
def make_log():
    random = np.random.default_rng(1)
    rows = {"session": [], "query": [], "document": [], "position": [], "click": []}
    for s in range(300):
        for k, d in enumerate(random.permutation(4), 1):
            row = (f"s{s}", f"q{s % 3}", f"d,{d}", k, int(random.random() < (0.2 + 0.2 * d) / k))
            for name, value in zip(rows, row, strict=True):
                rows[name].append(value)
    return rows


def same(a, b):
    return a.labels.keys() == b.labels.keys() and all(list(a.labels[k]) == list(b.labels[k]) for k in a.labels)


def test_forms(log, tmp_path):
    found = rankwood.judge(log)
    assert found.positions["propensity"][0] == 1
    assert np.allclose(found.positions["propensity"], 1 / np.arange(1, 5), rtol=0.4)
    assert len(found.labels["query"]) == 12 and set(found.labels["grade"]) <= set(range(5))
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    frame = pandas.DataFrame(log)
    path = str(tmp_path / "log.parquet")
    with pytest.raises(rankwood.FileError):
        rankwood.judge(path)
    parquet.write_table(pyarrow.table(log), path)
    frame.to_csv(tmp_path / "log.csv.gz", index=False)
    others = frame, frame.assign(click=frame.click == 1, position=frame.position.astype(float)), polars.DataFrame(log)
    for other in (*others, pyarrow.table(log), path, tmp_path / "log.csv.gz", frame.drop(columns="session")):
        assert same(found, rankwood.judge(other))
    renamed = frame.rename(columns={"query": "search"})
    assert same(found, rankwood.judge(renamed, columns=["session", "search", "document", "position", "click"]))


def test_as_the_program(log, tmp_path):
    program = os.environ.get("RANKWOOD_PROGRAM")
    if not program:
        pytest.skip("no program")
    with open(tmp_path / "log.csv", "w", newline="") as file:
        csv.writer(file).writerows([log, *zip(*log.values(), strict=True)])
    options = ["judge", "log.csv", "--model", "dbn", "-o", "labels.tsv", "--propensities", "p.txt", "--quiet"]
    subprocess.run([program, *options], cwd=tmp_path, check=True, capture_output=True)
    found = rankwood.judge(log, "dbn")
    with open(tmp_path / "labels.tsv") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert [float(row["rate"]) for row in rows] == list(found.labels["rate"])
    assert 0 < found.continuation <= 1
    found.save_propensities(tmp_path / "q.txt")
    assert np.array_equal(np.loadtxt(tmp_path / "q.txt"), np.loadtxt(tmp_path / "p.txt"))


def test_bad(log):
    for name, value, message in [
        ("position", 0, "^the log, row 2: .*position"),
        ("click", 2, "^the log, row 2: .*0 or 1"),
        ("document", log["document"][0], "^the log, row 2: .*twice; it is already in row 1 of the log$"),
        ("query", "q9", "two queries"),
        ("query", None, "empty"),
    ]:
        wrong = {key: list(column) for key, column in log.items()}
        wrong[name][1] = value
        with pytest.raises(rankwood.DataError, match=message):
            rankwood.judge(wrong)
    same_order = {**log, "document": [f"d{k}" for k in log["position"]]}
    with pytest.raises(rankwood.DataError, match="cannot be separated"):
        rankwood.judge(same_order)
    with pytest.raises(rankwood.DataError, match="click"):
        rankwood.judge({key: log[key] for key in list(log)[:4]})
    with pytest.raises(rankwood.DataError, match=r"^the log has no impressions$"):
        rankwood.judge({key: column[:0] for key, column in log.items()})
    with pytest.raises(rankwood.DataError, match=r"^the log: no column 'session'"):
        rankwood.judge({key: log[key] for key in list(log)[1:]}, "dbn")
    with pytest.raises(rankwood.DataTypeError):
        rankwood.judge(3)
    with pytest.raises(rankwood.DataTypeError, match="log has a dict; expected paths"):
        rankwood.judge([log, log])
    with pytest.raises(rankwood.FileError):
        rankwood.judge("not there.csv")
    for wrong in (
        {"model": "x"}, {"thresholds": [0.5, 0.1]}, {"prior": -1}, {"min_impressions": 0}, {"satisfaction": True},
    ):  # fmt: skip
        with pytest.raises(rankwood.ParameterError):
            rankwood.judge(log, **wrong)
