"""The work of child processes in test_fork.py. A spawned child imports this module, and not scikit-learn, which is
slow."""

from __future__ import annotations

from typing import Any

import rankwood
from conftest import Made, make

PARAMS: dict[str, Any] = {"rounds": 8, "leaves": 6, "min_docs": 2, "l2": 5, "threads": 2}


def many() -> Made:
    """Enough that loops are shared among threads."""
    return make(11, 600)


def job(_: int) -> tuple[bytes, bytes, float]:
    made = many()
    model = rankwood.train(PARAMS, made.dataset())
    return model.to_bytes(), model.predict(made.X).tobytes(), rankwood.evaluate(made.dataset(), model)["ndcg@10"]
