# room: base
"""Threads and processes: trainings work in every process and give identical models."""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from fork_job import PARAMS, job, many
from rankwood import Dataset, Model, Ranker, train

SECONDS = 300  # of a deadlock, not of a machine with other work
_DATA: Dataset | None = None
_MODEL: Model | None = None


def job_with_what_the_parent_made(_: int) -> tuple[bytes, bytes, float]:
    assert _DATA is not None and _MODEL is not None
    model = train(PARAMS, _DATA)
    scores = _MODEL.predict(_DATA)
    return model.to_bytes(), scores.tobytes(), rankwood.evaluate(_DATA, _MODEL)["ndcg@10"]


@pytest.fixture(scope="module")
def expected() -> tuple[bytes, bytes, float]:
    return job(0)


def test_threads(expected: Any) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(job, range(8))) == {expected}


def test_one_model_and_one_dataset_in_many_threads(expected: Any) -> None:
    made = many()
    data = made.dataset()
    model = train(PARAMS, data)
    start = threading.Barrier(4)

    def score(_: int) -> set[bytes]:
        start.wait()
        return {model.predict(made.X).tobytes() for _ in range(20)} | {model.predict(data).tobytes()}

    with ThreadPoolExecutor(4) as pool:
        assert set.union(*pool.map(score, range(4))) == {expected[1]}
        fresh = made.dataset()
        assert {one.to_bytes() for one in pool.map(lambda _: train(PARAMS, fresh), range(4))} == {expected[0]}


def test_a_callback_trains(made: Made) -> None:
    inner: list[bytes] = []

    def callback(_: rankwood.Round) -> None:
        inner.append(train(PARAMS, made.dataset()).to_bytes())

    outer = train(PARAMS, made.dataset(), callbacks=[callback])
    assert set(inner) == {outer.to_bytes()} and len(inner) == 8


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(expected: Any, method: str) -> None:
    """`expected` was made before: threads had run in this process when it forks."""
    context = multiprocessing.get_context(method)
    n_workers = 2 if method == "fork" else 1  # the others import everything again
    with ProcessPoolExecutor(n_workers, mp_context=context) as pool:
        assert set(pool.map(job, range(3), timeout=SECONDS)) == {expected}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork_with_objects_of_the_parent(expected: Any) -> None:
    global _DATA, _MODEL
    _DATA = many().dataset()
    _MODEL = train(PARAMS, _DATA)
    _MODEL.predict(_DATA)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert set(pool.map(job_with_what_the_parent_made, range(3), timeout=SECONDS)) == {expected}
    assert job_with_what_the_parent_made(0) == expected, "the parent's own threads go on"


def test_fork_of_a_thread_that_is_not_the_first(expected: Any) -> None:
    def forks() -> Any:
        job(0)
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            return pool.submit(job, 0).result(timeout=SECONDS)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(forks).result() == expected


@pytest.mark.parametrize("backend", ["loky", "multiprocessing", "threading"])
def test_joblib(backend: str) -> None:
    joblib = pytest.importorskip("joblib")
    sklearn_utils = pytest.importorskip("sklearn.utils.parallel")
    made = many()
    here = [fit(made, seed) for seed in range(3)]
    with joblib.parallel_config(backend=backend, n_jobs=2):
        there = sklearn_utils.Parallel()(sklearn_utils.delayed(fit)(made, seed) for seed in range(3))
    assert there == here


def test_with_threads_of_scikit_learn(expected: Any) -> None:
    """Theirs, of OpenMP, have run in this process, before ours and after, when it forks."""
    boosting = pytest.importorskip("sklearn.ensemble").HistGradientBoostingRegressor
    made = many()
    scores = boosting(max_iter=5).fit(made.X, made.y).predict(made.X)
    assert job(0) == expected
    assert np.array_equal(boosting(max_iter=5).fit(made.X, made.y).predict(made.X), scores)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        assert set(pool.map(job, range(3), timeout=SECONDS)) == {expected}


def fit(made: Made, seed: int) -> tuple[bytes, int]:
    ranker = Ranker(**PARAMS, seed=seed).fit(made.X, made.y, qid=made.qid)
    return ranker.model_.to_bytes(), int(np.argmax(ranker.predict(made.X)))


def test_a_child_that_only_exits() -> None:
    job(0)
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
