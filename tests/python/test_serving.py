# room: model
"""Rows scored as a server does: few at a time, by many threads on one model, which is swapped under them."""

import threading

import numpy as np
import pytest

import rankwood
from rankwood import Dataset, Model

N_FEATURES = 7


def make(seed: int, rounds: int = 12) -> Model:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(600, N_FEATURES)).astype(np.float32)
    values[rng.random(values.shape) < 0.05] = np.nan
    label = np.nan_to_num(values[:, 0] + values[:, 1] > 0.3).astype(np.float32)
    data = Dataset(values, label, group=[20] * 30)
    return rankwood.train({"rounds": rounds, "leaves": 31, "min_docs": 2, "seed": seed}, data)


@pytest.fixture(scope="module")
def model() -> Model:
    return make(1)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(7)
    values = rng.normal(size=(1500, N_FEATURES)).astype(np.float32)
    values[rng.random(values.shape) < 0.05] = np.nan
    return values


def by_dataset(model: Model, rows: np.ndarray, n_trees: int | None = None) -> np.ndarray:
    return model.predict(Dataset(rows, group=[len(rows)]), n_trees=n_trees)


@pytest.mark.parametrize("n", [0, 1, 2, 63, 64, 65, 127, 128, 129, 200, 1023, 1024, 1500])
def test_any_number_of_rows(model: Model, rows: np.ndarray, n: int) -> None:
    want = by_dataset(model, rows)[:n]
    assert np.array_equal(model.predict(rows[:n]), want)
    assert np.array_equal(model.predict(rows[:n].astype(np.float64)), want)
    assert np.array_equal(model.predict(np.asfortranarray(rows[:n])), want)
    assert np.array_equal(model.predict(rows[:n].astype(">f8")), want)
    assert np.array_equal(model.predict(np.repeat(rows[:n], 2, axis=0)[::2]), want)


def test_integers(model: Model) -> None:
    whole = np.arange(5 * N_FEATURES).reshape(5, N_FEATURES) % 4 - 1
    want = model.predict(whole.astype(np.float32))
    for kind in ("i1", "i2", "i4", "i8", "f2"):
        assert np.array_equal(model.predict(whole.astype(kind)), want)


def test_first_trees(model: Model, rows: np.ndarray) -> None:
    for n_trees in [*range(1, model.n_trees + 1), 1, 1]:
        assert np.array_equal(model.predict(rows[:70], n_trees=n_trees), by_dataset(model, rows[:70], n_trees))
    assert np.array_equal(model.predict(rows[:70]), by_dataset(model, rows[:70]))
    assert len(model._scorers) <= 2, "one for each number of trees would be a leak"


def test_too_few_features(model: Model, rows: np.ndarray) -> None:
    for kind in (np.float32, np.float64, np.int32):
        with pytest.raises(rankwood.DataError, match="data has 1 features; the model expects"):
            model.predict(np.zeros((3, 1), kind))


def test_the_librarys_own_refusal_has_its_text(model: Model) -> None:
    with pytest.raises(rankwood.ParameterError, match="70000 features from 0 on; expected ids of at most 65535"):
        model._score(np.zeros((1, 70000), np.float32), 0)  # predict looks before


def test_models_are_swapped_under_threads(rows: np.ndarray) -> None:
    models = [make(2), make(3)]
    want = [by_dataset(one, rows) for one in models]
    assert not np.array_equal(*want)
    current = [Model.from_bytes(models[0].to_bytes())]  # not ready: the first calls make it so, once
    ends, mistakes, answers = threading.Event(), [], []

    def serve(thread: int) -> None:
        rng = np.random.default_rng(thread)
        while not ends.is_set():
            n = int(rng.integers(1, 400))
            at = int(rng.integers(len(rows) - n))
            scores = current[0].predict(rows[at : at + n])
            answers.append(thread)
            if not any(np.array_equal(scores, one[at : at + n]) for one in want):
                mistakes.append((at, n))

    threads = [threading.Thread(target=serve, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for swap in range(40):
        current[0] = Model.from_bytes(models[swap % 2].to_bytes())
        ends.wait(0.01)
    ends.set()
    for thread in threads:
        thread.join()
    assert not mistakes
    assert len(set(answers)) == 8
