"""Made data, the same in every run."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from rankwood._core import lib

# A shell ignores SIGINT in background commands, as tests/run.sh starts them. Python then installs no handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass
class Made:
    """Ranked documents as arrays: 40 queries of 5 to 24 documents, 6 features, labels 0 to 4."""

    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    qid: np.ndarray[Any, Any]
    group: np.ndarray[Any, Any]

    def dataset(self, **more: Any) -> rankwood.Dataset:
        return rankwood.Dataset(self.X, self.y, qid=self.qid, **more)


def make(seed: int, n_queries: int = 40) -> Made:
    rng = np.random.default_rng(seed)
    group = rng.integers(5, 25, n_queries)
    n = int(group.sum())
    X = np.round(rng.normal(size=(n, 6)), 3).astype(np.float32)
    X[:, 5] = rng.integers(0, 9, n)
    noise = rng.normal(scale=0.5, size=n)
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + 0.1 * X[:, 5] + noise, [0, 0.7, 1.4, 2]).astype(np.int64)
    return Made(X, y, np.repeat(np.arange(n_queries) + 7, group), group)


def make_arrays(n_queries: int = 40, size: int = 15, seed: int = 1) -> tuple[Any, Any, Any]:
    """X, y and qid of queries of one size, with noise, where three features matter, and two of them together."""
    random = np.random.default_rng(seed)
    n = n_queries * size
    x = random.normal(size=(n, 6)).astype(np.float32)
    noise = random.normal(size=n) * 0.3
    y = np.clip(np.round(x[:, 0] + x[:, 1] * x[:, 2] + noise + 1), 0, 4)
    return x, y, np.repeat(np.arange(n_queries), size)


OF_ARRAYS = {"rounds": 15, "leaves": 6, "min_docs": 5, "threads": 2}


@pytest.fixture(scope="session")
def dataset() -> rankwood.Dataset:
    x, y, qid = make_arrays()
    return rankwood.Dataset(x, y, qid=qid, feature_names=["a", "b", "c", "d", "<e>", "f"])


@pytest.fixture(scope="session")
def measured(dataset: rankwood.Dataset) -> rankwood.Model:
    """A model of `dataset` with learning curves."""
    x, y, qid = make_arrays(10, seed=2)
    valid = rankwood.Dataset(x, y, qid=qid, feature_names=dataset.feature_names)
    return rankwood.train({**OF_ARRAYS, "metric": ["ndcg@10", "map"]}, dataset, valid=valid)


@pytest.fixture(autouse=True)
def warn_again() -> None:
    """Each test gets the warnings that are given once per process."""
    lib.rw_no_effect_reset()


@pytest.fixture(scope="session")
def made() -> Made:
    return make(1)


@pytest.fixture(scope="session")
def other() -> Made:
    return make(2, 20)


@pytest.fixture(scope="session")
def small() -> dict[str, Any]:
    """Parameters for few documents."""
    return {"rounds": 8, "leaves": 6, "min_docs": 2, "l2": 5}


@pytest.fixture(scope="session")
def model(made: Made, small: dict[str, Any]) -> rankwood.Model:
    return rankwood.train(small, made.dataset())


@pytest.fixture(scope="session")
def program() -> Path:
    """The command line of the same build."""
    path = os.environ.get("RANKWOOD_PROGRAM", "")
    if not path or not shutil.which(path):
        pytest.skip("RANKWOOD_PROGRAM names no program")
    return Path(path).resolve()


@pytest.fixture(scope="session")
def real_data() -> Path:
    path = Path(os.environ.get("RANKWOOD_DATA", "")) / "mq2008"
    if not path.is_dir():
        pytest.skip("RANKWOOD_DATA has no mq2008")
    return path
