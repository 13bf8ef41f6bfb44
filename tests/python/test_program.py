"""The package and the command line make the same model of the same values, except the kind of its columns."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from rankwood import Dataset, Ranker, train


def letor(of: Made, path: Path, present: Any = None) -> Path:
    """LETOR text, features from 0; NaN is written, values that are not `present` are omitted."""
    with path.open("w", encoding="utf-8") as file:
        for i, row in enumerate(of.X):
            values = (f"{j}:{x!s}" for j, x in enumerate(row) if present is None or present[i, j])
            file.write(f"{of.y[i]} qid:{of.qid[i]} {' '.join(values)}\n")
    return path


def run(program: Path, *arguments: Any) -> str:
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def options(params: dict[str, Any]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in params.items()]


def checked(model: bytes, columns: str) -> list[str]:
    """A model's lines without the kind of its columns, which has to be `columns`, and the checksum."""
    lines = model.decode().splitlines()
    assert lines.pop(2) == f"columns {columns}" and lines.pop().startswith("checksum ")
    return lines


PARAMS = [
    {"rounds": 20},
    {"rounds": 20, "min_docs": 1, "leaves": 6, "sample_queries": 0.7, "sample_features": 0.7, "seed": 5},
    {"rounds": 10, "objective": "regression", "bins": 16, "absent": "missing"},
    {"rounds": 10, "grow": "levels", "depth": 3, "min_docs": 2, "threads": 2},
]


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("with_valid", [False, True])
def test_train(
    made: Made, other: Made, program: Path, tmp_path: Path, params: dict[str, Any], with_valid: bool
) -> None:
    data, out = letor(made, tmp_path / "train.txt"), tmp_path / "program.txt"
    more = ["--valid", letor(other, tmp_path / "valid.txt"), "--early-stop=5"] if with_valid else []
    run(program, "train", data, *more, *options(params), "-o", out)
    valid = other.dataset() if with_valid else None
    model = train({**params, "early_stop": 5} if with_valid else params, made.dataset(), valid=valid)
    model.save(tmp_path / "package.txt")
    ours = (tmp_path / "package.txt").read_bytes()
    assert checked(ours, "numbered 6") == checked(out.read_bytes(), "letor")
    assert model.n_trees > 0
    ranker = Ranker(**params, **({"early_stop": 5} if with_valid else {}))
    sets = {"eval_set": [(other.X, other.y)], "eval_qid": [other.qid]} if with_valid else {}
    ranker.fit(made.X, made.y, qid=made.qid, **sets)
    assert ranker.model_.to_bytes() == ours


@pytest.mark.parametrize("absent", ["zero", "missing"])
def test_missing_values(made: Made, program: Path, tmp_path: Path, absent: str) -> None:
    holes = Made(np.where(made.X > 0.8, np.nan, made.X), made.y, made.qid, made.group)
    params = {"rounds": 10, "min_docs": 1, "absent": absent}
    run(program, "train", letor(holes, tmp_path / "a.txt"), *options(params), "-o", tmp_path / "m")
    ours, theirs = train(params, holes.dataset()).to_bytes(), (tmp_path / "m").read_bytes()
    assert checked(ours, "numbered 6") == checked(theirs, "letor")


def test_missing_is_0(made: Made, program: Path, tmp_path: Path) -> None:
    X = np.where((made.X > 0.5) & (made.X < 5), 0, made.X)
    zeros = Made(X, made.y, made.qid, made.group)
    params = {"rounds": 10, "min_docs": 1, "absent": "missing"}
    text = letor(zeros, tmp_path / "a.txt", present=X != 0)
    run(program, "train", text, *options(params), "-o", tmp_path / "m")
    ours, theirs = train(params, zeros.dataset(missing=0)).to_bytes(), (tmp_path / "m").read_bytes()
    assert checked(ours, "numbered 6") == checked(theirs, "letor")


def test_weights(made: Made, program: Path, tmp_path: Path) -> None:
    weights = np.round(np.random.default_rng(5).uniform(0, 3, len(made.y)), 2)
    (tmp_path / "w").write_text("".join(f"{one}\n" for one in weights))
    text = letor(made, tmp_path / "a.txt")
    run(program, "train", text, f"--weights={tmp_path / 'w'}", "--rounds=10", "-o", tmp_path / "m")
    lines = [line for line in (tmp_path / "m").read_text().splitlines() if not line.startswith("weights =")]
    ours = train({"rounds": 10}, made.dataset(weight=weights)).to_bytes().decode().splitlines()
    trees = slice(lines.index("earlier 0"), -1)
    assert ours[ours.index("earlier 0") : -1] == lines[trees]


def test_names(made: Made, program: Path, tmp_path: Path) -> None:
    names = [f"feature_{letter}" for letter in "abcdef"]
    (tmp_path / "names").write_text("".join(f"{i} {name}\n" for i, name in enumerate(names)))
    text = letor(made, tmp_path / "a.txt")
    run(program, "train", text, f"--names={tmp_path / 'names'}", "--rounds=10", "-o", tmp_path / "m")
    ours = train({"rounds": 10}, made.dataset(feature_names=names)).to_bytes()
    assert checked(ours, "named 6") == checked((tmp_path / "m").read_bytes(), "letor")


def test_real_data(program: Path, real_data: Path, tmp_path: Path) -> None:
    files = [real_data / f"S{i}.txt.gz" for i in (1, 2)]
    run(program, "train", *files, "--rounds=20", "-o", tmp_path / "m")
    assert train({"rounds": 20}, Dataset(files)).to_bytes() == (tmp_path / "m").read_bytes()


def test_predict_and_eval(made: Made, other: Made, model: rankwood.Model, program: Path, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    text = letor(other, tmp_path / "a.txt")
    run(program, "predict", tmp_path / "m", text, "-o", tmp_path / "scores")
    scores = np.loadtxt(tmp_path / "scores")
    assert np.array_equal(scores, model.predict(other.X))
    out = run(program, "eval", text, "--model", tmp_path / "m", "--metric=ndcg@10", "--metric=map")
    measured = rankwood.evaluate(other.dataset(), model, ["ndcg@10", "map"])
    for name, value in measured.items():
        assert f"{value:.6f}" in next(line for line in out.splitlines() if line.startswith(name))
