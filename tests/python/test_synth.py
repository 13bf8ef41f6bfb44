# room: synth
"""Made data."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import rankwood


def test_as_the_program_makes_it(program: Path, tmp_path: Path) -> None:
    text = tmp_path / "made.txt"
    options = ["--shape", "letor", "--queries", "7", "--seed", "3"]
    subprocess.run([program, "synth", *options, "-o", text], check=True, capture_output=True)
    X, y, qid = rankwood.synth("letor", 7, seed=3)
    lines = text.read_text().splitlines()
    assert len(lines) == len(X) == len(y) == len(qid)
    for line, values, label, query in zip(lines, X, y, qid, strict=True):
        fields = line.split("#")[0].split()
        named = {int(i): float(v) for i, v in (field.split(":") for field in fields[2:])}
        assert float(fields[0]) == label
        assert (query == 0) == (fields[1] == lines[0].split()[1])
        assert [np.float32(named.get(i + 1, 0.0)) for i in range(X.shape[1])] == values.tolist()


def test_refused() -> None:
    with pytest.raises(rankwood.ParameterError, match="shape"):
        rankwood.synth("mnist")
    with pytest.raises(rankwood.ParameterError, match="n_queries is 0"):
        rankwood.synth("letor", 0)
    with pytest.raises(rankwood.ParameterError, match="seed"):
        rankwood.synth("letor", 5, seed=-1)
