# room: evaluate
"""Several rankings against a baseline: the same figures and tables as the program's."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made

METRICS = ["ndcg@5", "map", "rmse"]


@pytest.fixture(scope="module")
def systems(other: Made) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    noise = [rng.normal(size=len(other.y)) for _ in range(3)]
    return {"old_1": other.y + 2 * noise[0], "new": other.y + noise[1], 'a "third", %': noise[2]}


def test_each_is_what_compare_says(other: Made, systems: dict[str, Any]) -> None:
    data = other.dataset()
    found = rankwood.compare_all(data, systems, METRICS, seed=3)
    assert (found.baseline, found.systems) == ("old_1", ["new", 'a "third", %'])
    assert len(found) == 6
    for row, (metric, name) in zip(found, [(m, n) for m in METRICS for n in found.systems], strict=True):
        one = rankwood.compare(data, systems["old_1"], systems[name], metric, seed=3)
        assert (row.system, row.comparison) == (name, one)
    order = np.argsort([row.comparison.p for row in found], kind="stable")  # Holm's step-down, by its definition
    steps = [min(1.0, (6 - k) * found[i].comparison.p) for k, i in enumerate(order)]
    assert [found[i].p_corrected for i in order] == list(np.maximum.accumulate(steps))
    plain = rankwood.compare_all(data, systems, METRICS, seed=3, correct="none")
    assert all(row.p_corrected == row.comparison.p for row in plain)


def test_churn() -> None:
    rng = np.random.default_rng(5)
    group = [1, 2, 9, 10, 11, *rng.integers(1, 40, 60)]
    ends = np.cumsum(group)
    y = np.where(np.arange(ends[-1]) < ends[40], rng.integers(0, 3, ends[-1]), 0)  # the last queries are empty
    data = rankwood.Dataset(np.zeros((len(y), 1)), y, group=group, query_weight=rng.random(len(group)))
    a, b = rng.integers(0, 6, (2, len(y))).astype(float)  # with ties
    b[: ends[3]] = a[: ends[3]]
    first, ten, overlap = [], [], []
    for one, other in zip(np.split(a, ends[:-1]), np.split(b, ends[:-1]), strict=True):
        x, z = (np.argsort(-scores, kind="stable")[:10].tolist() for scores in (one, other))
        first.append(x[0] != z[0])
        ten.append(set(x) != set(z))
        overlap.append(len(set(x) & set(z)) / len(x))
    expected = np.mean(first), np.mean(ten), np.mean(overlap)
    assert 0 < expected[0] < 1 and 0 < expected[1] < 1 and 0 < expected[2] < 1
    for metric, ties in [("ndcg@10", "file"), ("ndcg", "mean"), ("rmse", "file")]:
        found = rankwood.compare(data, a, b, metric, ties=ties)
        assert (found.changed_first, found.changed_ten, found.overlap_ten) == pytest.approx(expected, rel=1e-12)
    same = rankwood.compare(data, a, a)
    assert (same.changed_first, same.changed_ten, same.overlap_ten) == (0, 0, 1)


def test_the_gate(other: Made, systems: dict[str, Any]) -> None:
    found = rankwood.compare_all(other.dataset(), systems, ["ndcg@5", "rmse"])
    for least in (-2.0, -0.05, 0.0, 0.05):
        expected = [row for row in found if (-row.comparison.high if row.comparison.metric == "rmse"
                                             else row.comparison.low) < least]  # fmt: skip
        assert found.below(least) == expected
    assert found.below(1e9) == list(found) and found.below(-1e9) == []
    alone = rankwood.Dataset(other.X[: other.group[0]], np.arange(other.group[0]) % 3, group=[other.group[0]])
    few = {name: one[: other.group[0]] for name, one in systems.items()}
    assert len(rankwood.compare_all(alone, few).below(-1e9)) == 2  # of one query there is no interval


@pytest.fixture
def files(tmp_path: Path, other: Made, systems: dict[str, Any]) -> Path:
    """Judgments, a run of each system, and what TREC calls the documents."""
    at = [i for n in other.group for i in range(n)]
    judged = zip(other.qid, at, other.y, strict=True)
    (tmp_path / "qrels").write_text("".join(f"{q} 0 d{i} {y}\n" for q, i, y in judged))
    for number, scores in enumerate(systems.values()):
        lines = (f"{q} Q0 d{i} 0 {s!r} t\n" for q, i, s in zip(other.qid, at, map(float, scores), strict=True))
        (tmp_path / f"run_{number}").write_text("".join(lines))
    return tmp_path


@pytest.mark.parametrize("correct", ["holm", "none"])
def test_tables_are_the_programs(files: Path, correct: Any, program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    runs = ["run_0", "run_1", "run_2"]
    found = rankwood.compare_runs("qrels", runs, ["ndcg@5", "map"], correct=correct)
    args = ["compare", "--qrels", "qrels", "--metric", "ndcg@5,map", "--correct", correct]
    for name in ("text", "csv", "latex"):
        command = [program, *args, "--format", name, "--baseline", *runs]
        assert found.table(name) == subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert str(found) == found.table()
    rows = list(csv.DictReader(found.table("csv").splitlines()))
    assert [float(row["p_corrected"]) for row in rows if row["p"]] == [row.p_corrected for row in found]


def test_runs(files: Path) -> None:
    runs = {"old": files / "run_0", "new, %": files / "run_1"}
    found = rankwood.compare_runs(files / "qrels", runs, "p@3")
    first, second = rankwood.evaluate_runs(files / "qrels", list(runs.values()), "p@3")
    (row,) = found
    assert row.comparison.mean_a == pytest.approx(first["p@3"])
    assert row.comparison.mean_b == pytest.approx(second["p@3"])
    assert row.comparison.conventions == first.conventions
    assert '"new, %"' in found.table("csv") and "new, \\%" in found.table("latex")
    ours = rankwood.compare_runs(files / "qrels", runs, "ndcg@3", like=None, empty="0")
    assert "gain 2^l - 1" in ours[0].comparison.conventions


def test_errors(other: Made, systems: dict[str, Any], files: Path) -> None:
    data = other.dataset()
    with pytest.raises(rankwood.DataError, match="1 systems; expected 2 or more"):
        rankwood.compare_all(data, {"old": systems["new"]})
    with pytest.raises(rankwood.ParameterError, match="correct is 'bonferroni'; expected 'holm' or 'none'"):
        rankwood.compare_all(data, systems, correct="bonferroni")  # type: ignore[arg-type]
    with pytest.raises(rankwood.ParameterError, match="format is 'html'"):
        rankwood.compare_all(data, systems).table("html")  # type: ignore[arg-type]
    with pytest.raises(rankwood.DataError, match="expected"):
        rankwood.compare_all(data, {"old": systems["new"], "short": [1.0]})
    with pytest.raises(rankwood.ParameterError, match="metric"):
        rankwood.compare_all(data, systems, "auc")
    with pytest.raises(rankwood.DataError, match="1 runs; expected 2 or more"):
        rankwood.compare_runs(files / "qrels", files / "run_0")
    with pytest.raises(rankwood.DataError, match="a run is listed twice"):
        rankwood.compare_runs(files / "qrels", [files / "run_0", files / "run_1", files / "run_0"])
    with pytest.raises(rankwood.FileError):
        rankwood.compare_runs(files / "qrels", [files / "run_0", files / "nothing"])
    with pytest.raises(rankwood.ParameterError, match="trec_eval has no metric 'err@2'"):
        rankwood.compare_runs(files / "qrels", [files / "run_0", files / "run_1"], "err@2")
