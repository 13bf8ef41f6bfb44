"""Many ranks: one model, byte for byte, whatever parts the ranks bring; and failures that all of them learn of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run

PARAMS: dict[str, Any] = {"rounds": 6, "leaves": 7, "min_docs": 2, "l2": 5, "threads": 1}
MORE = {
    "plain": {},
    "newton": {"split": "newton"},
    "sampled": {"sample_queries": 0.6, "sample_features": 0.7, "seed": 5},
    "pointwise": {"objective": "regression"},
}


def share(made: Made, rank: int, n_ranks: int, empty: int | None = None) -> Any:
    """Whole queries of `made`, in order; rank `empty` has none."""
    queries = np.unique(made.qid)
    takers = [r for r in range(n_ranks) if r != empty]
    mine = np.array_split(queries, len(takers))[takers.index(rank)] if rank != empty else queries[:0]
    return np.isin(made.qid, mine)


def part(made: Made, rank: int, n_ranks: int, empty: int | None = None, **more: Any) -> rankwood.Dataset:
    rows = share(made, rank, n_ranks, empty)
    return rankwood.Dataset(made.X[rows], made.y[rows], qid=made.qid[rows], **more)


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize(("n_ranks", "empty"), [(2, None), (3, 1), (3, 0)])
def test_one_model(more: str, n_ranks: int, empty: int | None, made: Made, other: Made) -> None:
    params = {**PARAMS, **MORE[more], "metric": ["ndcg@5", "map"], "early_stop": 3, "rounds": 20}
    alone = rankwood.train(params, made.dataset(), valid=other.dataset())

    def body(here: rankwood.Ranks) -> rankwood.Model:
        valid = part(other, here.rank, n_ranks, empty)
        return rankwood.train(params, part(made, here.rank, n_ranks, empty), valid=valid)

    models = run(n_ranks, body)
    assert [type(one) for one in models] == [rankwood.Model] * n_ranks, models
    assert all(one.to_bytes() == alone.to_bytes() for one in models)
    assert all(one.evals_result == alone.evals_result for one in models)


def test_files(made: Made, program: Path, tmp_path: Path) -> None:
    """Each rank reads its share, and the program trains the same model on the whole."""
    import subprocess

    lines = [
        f"{y} qid:{q} " + " ".join(f"{i + 1}:{v:.9g}" for i, v in enumerate(x) if v != 0)
        for x, y, q in zip(made.X, made.y, made.qid, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in PARAMS.items()]
    model = tmp_path / "model.txt"
    subprocess.run([program, "train", tmp_path / "train.txt", *options, "--quiet", "-o", model], check=True)

    def body(here: rankwood.Ranks) -> tuple[int, bytes]:
        data = rankwood.Dataset(tmp_path / "train.txt")
        return data.n_docs, rankwood.train(PARAMS, data).to_bytes()

    told = run(3, body)
    assert sum(n for n, _ in told) == len(made.y) and all(0 < n < len(made.y) for n, _ in told)
    assert all(one == model.read_bytes() for _, one in told)
