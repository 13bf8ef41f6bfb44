"""Hostile arguments give one clear error of the package, never a crash or a silent guess."""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from failing import failing

import rankwood
from conftest import Made
from rankwood import (
    DataError,
    Dataset,
    DataTypeError,
    FileError,
    Model,
    ParameterError,
    ParameterTypeError,
    Ranker,
    train,
)

Call = Callable[[Made, Model], Any]


def test_every_failure_is_a_rankwood_error(made: Made, model: Model) -> None:
    """The calls that leaks.py repeats; repeated, since a failure must leave no state."""
    for name, call in failing(made, model).items():
        texts = set()
        for _ in range(3):
            with pytest.raises(rankwood.RankwoodError) as raised:
                call()
            texts.add(str(raised.value))
        assert len(texts) == 1, (name, texts)


def masked(values: Any) -> Any:
    return np.ma.masked_array(values, np.arange(values.size).reshape(values.shape) == 3)


def by_label(label: Callable[[np.ndarray[Any, Any]], Any]) -> Call:
    return lambda m, _: Dataset(m.X, label(m.y), qid=m.qid)


def by_qid(qid: Callable[[int], Any]) -> Call:
    return lambda m, _: Dataset(m.X, m.y, qid=qid(len(m.y)))


BAD_DATA: dict[str, tuple[Call, str]] = {
    "masked": (lambda m, _: Dataset(masked(m.X), m.y, qid=m.qid), "data is a masked array"),
    "masked, predicted": (lambda m, model: model.predict(masked(m.X)), "data is a masked array"),
    "ragged": (lambda m, _: Dataset([[1], [1, 2]], m.y, qid=m.qid), "data cannot be converted to an array"),
    "whole number beyond floats": (lambda m, _: Dataset([[10**400]], [1], qid=[1]), "too large"),
    "lists in a column": (
        lambda m, _: Dataset(pd.DataFrame({"a": [[1, 2], [3, 4]]}), [0, 1], qid=[1, 1]),
        r"column 'a' .* holds \[1, 2\]",
    ),
    "too many columns": (
        lambda m, _: Dataset(np.broadcast_to(np.float32(1), (2, 2**31)), [0, 1], qid=[1, 1]),
        "too many features: 2147483648; expected at most 65536",
    ),
    "sparse, too many columns": (
        lambda m, _: Dataset(sp.csr_matrix((2, 10**7)), [0, 1], qid=[1, 1]),
        "too many features: 10000000; expected at most 65536",
    ),
    "sparse, one dimension": (lambda m, _: Dataset(sp.coo_array(m.X[:, 0]), m.y, qid=m.qid), "2 dimensions"),
    "label of strings": (by_label(lambda y: y.astype(str)), "label has type <U.*expected numbers"),
    "label complex": (by_label(lambda y: y + 1j), "label has type complex128"),
    "label of dates": (by_label(lambda y: y.astype("M8[s]")), "label has type datetime64"),
    "label masked": (by_label(masked), "label is a masked array"),
    "label ragged": (by_label(lambda y: [[1], [1, 2]]), "label cannot be converted to an array"),
    "label beyond float32": (by_label(lambda y: y * 0 + 1e39), r"label of document 0 .* finite"),
    "label NA": (by_label(lambda y: [pd.NA] * len(y)), r"label of document 0 \(from 0\) is nan"),
    "qid NaN among strings": (by_qid(lambda n: ["a"] * (n - 1) + [np.nan]), r"qid of document \d+ .* is nan"),
    "qid True among integers": (by_qid(lambda n: [1, True] + [2] * (n - 2)), "qid of document 1 .* is True"),
    "qid with a last character 0": (by_qid(lambda n: ["a\0"] * n), "a character 0"),
    "qid of half a pair": (by_qid(lambda n: ["\ud800"] * n), "not valid text"),
    "qid masked": (by_qid(lambda n: masked(np.arange(n))), "qid is a masked array"),
    "qid of null strings": (
        by_qid(lambda n: np.array([None] + ["a"] * (n - 1), np.dtypes.StringDType(na_object=None))),
        "qid of document 0 .* is None",
    ),
    "group that overflows": (
        lambda m, _: Dataset(m.X, m.y, group=np.array([2**62] * 4 + [len(m.y)])),
        r"group has a query of 4611686018427387904 documents; there are \d+",
    ),
    "group that is empty": (lambda m, _: Dataset(m.X, m.y, group=[]), "group is empty"),
    "weight complex": (lambda m, _: Dataset(m.X, m.y, qid=m.qid, weight=m.y + 1j), "weight has type complex"),
    "weight masked": (lambda m, _: Dataset(m.X, m.y, qid=m.qid, weight=masked(m.y)), "weight is a masked"),
    "one name twice": (
        lambda m, _: Dataset(m.X, m.y, qid=m.qid, feature_names=list("aabcde")),
        "two columns have the name 'a'",
    ),
    "infinite, as float64": (
        lambda m, model: model.predict(m.X.astype(float) * 1e39),
        r"value of document 0 \(from 0\), feature \d is infinite",
    ),
    "infinite, late": (
        lambda m, model: model.predict(np.r_[np.zeros((70000, 6)), np.full((1, 6), np.inf)]),
        r"value of document 70000 \(from 0\), feature 0 is infinite",
    ),
    "2^31 documents predicted": (
        lambda m, model: model.predict(np.broadcast_to(1.0, (2**31, 6))),
        "at most 2147483647",
    ),
    "scores of strings": (lambda m, _: rankwood.evaluate(m.dataset(), m.y.astype(str)), "score has type <U"),
    "scores complex": (lambda m, _: rankwood.evaluate(m.dataset(), m.y + 1j), "score has type complex"),
    "objective of one array": (
        lambda m, _: train({"objective": lambda s, d: s}, m.dataset()),
        "the objective returned a ndarray; expected two arrays",
    ),
    "objective of strings": (
        lambda m, _: train({"objective": lambda s, d: (["x"] * len(s), s)}, m.dataset()),
        "the objective's gradient has type <U",
    ),
    "metric of None": (
        lambda m, _: train({"metric": lambda s, d: None}, m.dataset(), valid=m.dataset()),
        "the metric '<lambda>' returned a NoneType; expected a number",
    ),
    "score of no labels": (
        lambda m, _: Ranker(rounds=1).fit(m.X, m.y, qid=m.qid).score(m.X, None, qid=m.qid),
        "requires y to be passed",
    ),
    "eval_set of one pair": (
        lambda m, _: Ranker().fit(m.X, m.y, qid=m.qid, eval_set=(m.X, m.y), eval_qid=[m.qid]),
        "eval_set is not a list of pairs",
    ),
    "eval_qid too short": (
        lambda m, _: Ranker().fit(m.X, m.y, qid=m.qid, eval_set=[(m.X, m.y)], eval_qid=[]),
        "eval_qid is not a list of 1",
    ),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data(made: Made, model: Model, name: str) -> None:
    call, message = BAD_DATA[name]
    with pytest.raises(DataError, match=message) as raised:
        call(made, model)
    assert isinstance(raised.value, ValueError)


BAD_TYPES: dict[str, Call] = {
    "params": lambda m, _: train([1], m.dataset()),  # type: ignore[arg-type]
    "params of cv": lambda m, _: rankwood.cv("leaves", m.dataset()),  # type: ignore[arg-type]
    "params of another": lambda m, _: rankwood.from_lightgbm([1]),  # type: ignore[arg-type]
    "train_set": lambda m, _: train({}, None),  # type: ignore[arg-type]
    "valid": lambda m, _: train({}, m.dataset(), valid=3),  # type: ignore[arg-type]
    "valid's name": lambda m, _: train({}, m.dataset(), valid={3: m.dataset()}),  # type: ignore[dict-item]
    "init": lambda m, _: train({}, m.dataset(), init=b"text"),  # type: ignore[arg-type]
    "callbacks": lambda m, _: train({}, m.dataset(), callbacks=print),  # type: ignore[arg-type]
    "a callback": lambda m, _: train({}, m.dataset(), callbacks=[3]),  # type: ignore[list-item]
    "path": lambda m, _: Model.load(3),  # type: ignore[arg-type]
    "bytes": lambda m, _: Model.from_bytes("text"),  # type: ignore[arg-type]
    "bytes that are apart": lambda m, model: Model.from_bytes(memoryview(model.to_bytes())[::2]),  # type: ignore[arg-type]
    "format": lambda m, model: model.export("x", None),  # type: ignore[arg-type]
    "feature_base": lambda m, model: model.export("x", "ranklib", feature_base=1.5),  # type: ignore[arg-type]
    "n_trees": lambda m, model: model.predict(m.X, n_trees=1.5),  # type: ignore[arg-type]
    "device": lambda m, model: model.predict(m.dataset(), device=None),  # type: ignore[arg-type]
    "explained": lambda m, model: model.shap_values(m.X),  # type: ignore[arg-type]
    "cover": lambda m, model: model.shap_values(m.dataset(), m.X),  # type: ignore[arg-type]
    "evaluated": lambda m, _: rankwood.evaluate(m.X, m.y),  # type: ignore[arg-type]
    "like": lambda m, _: rankwood.evaluate(m.dataset(), m.y, like=3),  # type: ignore[arg-type]
    "n_folds": lambda m, _: rankwood.cv({}, m.dataset(), n_folds=2.5),  # type: ignore[arg-type]
    "title": lambda m, model: model.report(None, m.dataset(), title=3),  # type: ignore[arg-type]
    "n_repeats": lambda m, model: model.permutation_importance(m.dataset(), n_repeats="5"),  # type: ignore[arg-type]
    "checked": lambda m, _: rankwood.check(m.X),  # type: ignore[arg-type]
    "missing": lambda m, _: m.dataset(missing="NA"),
    "ignore": lambda m, _: m.dataset(ignore=[1.5]),
    "feature_names": lambda m, _: m.dataset(feature_names="abcdef"),
    "parameter of another program": lambda m, _: Ranker(num_leaves=3),
}


@pytest.mark.parametrize("name", BAD_TYPES)
def test_wrong_types(made: Made, model: Model, name: str) -> None:
    with pytest.raises(TypeError) as raised:
        BAD_TYPES[name](made, model)
    assert isinstance(raised.value, (ParameterTypeError, DataTypeError))


def test_texts_that_c_cannot_have(made: Made, model: Model, tmp_path: Any) -> None:
    (tmp_path / "a").write_bytes(model.to_bytes())
    for path in (f"{tmp_path}/a\0b", "\ud800"):
        for call in (Model.load, model.save, Dataset, rankwood.check):
            with pytest.raises(ParameterError, match=r"a character 0|not valid text"):
                call(path)
    with pytest.raises(ParameterError, match="not valid text"):
        train({"rounds": "\ud800"}, made.dataset())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a"]


def test_names_given_twice(made: Made, tmp_path: Any) -> None:
    data, path = made.dataset(feature_names=list("abcdef")), tmp_path / "names"
    path.write_text("0 z\n", encoding="utf-8")
    for call in (train, rankwood.cv):
        with pytest.raises(ParameterError, match="the data has feature names"):
            call({"names": path}, data)
    assert train({"names": path, "rounds": 1}, made.dataset()).importance("splits").keys() & {"z"}


def test_an_array_is_read_as_its_bytes(model: Model) -> None:
    """Once as many bytes as it has items: of 10 rows of nothing, 10 bytes of somebody else's."""
    with pytest.raises(rankwood.FormatError, match="found the end of the file"):
        Model.from_bytes(np.ones((10, 0)))  # type: ignore[arg-type]
    data = np.frombuffer(model.to_bytes(), np.uint8).reshape(1, -1)
    assert Model.from_bytes(data).to_bytes() == model.to_bytes()  # type: ignore[arg-type]


@pytest.mark.parametrize(("part", "value"), [("indices", 10**8), ("indices", -5), ("indptr", 10**8), ("indptr", -3)])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix])
def test_damaged_sparse_matrix(made: Made, model: Model, kind: Any, part: str, value: int) -> None:
    """scipy's own conversion would write where the indices say."""
    data = kind(made.X)
    getattr(data, part)[1] = value
    for call in (lambda: Dataset(data, made.y, qid=made.qid), lambda: model.predict(data)):
        with pytest.raises(DataError, match="the sparse matrix is damaged: ind"):
            call()


def test_unusual_but_valid_arguments(made: Made, model: Model, small: dict[str, Any]) -> None:
    expected, n = model.predict(made.X), len(made.y)
    with warnings.catch_warnings(action="ignore"):
        assert np.array_equal(model.predict(np.matrix(made.X.astype(float))), expected)
    assert np.array_equal(model.predict(np.ma.masked_array(made.X)), expected)
    assert np.array_equal(model.predict(made.X.astype(">f8")), expected)
    assert model.predict(made.X[:0]).shape == (0,)
    unaligned = np.ndarray(made.X.shape, np.float32, b"x" + made.X.tobytes(), 1)
    assert np.array_equal(model.predict(unaligned), expected)
    assert train(small, Dataset(unaligned, made.y, qid=made.qid)).to_bytes() == model.to_bytes()
    null = pd.DataFrame({"a": [pd.NA, None, 1.5] + [2] * (n - 3)}, dtype=object)
    nan = pd.DataFrame({"a": [np.nan, np.nan, 1.5] + [2] * (n - 3)})
    one, other = (train(small, Dataset(data, made.y, qid=made.qid)) for data in (null, nan))
    assert one.to_bytes() == other.to_bytes()
    assert len(train(small, made.dataset(ignore=5)).feature_names or []) == 0
    huge = [2**70 + int(one) for one in made.qid]
    assert train(small, Dataset(made.X, made.y, qid=huge)).to_bytes() == model.to_bytes()


def test_columns_in_another_order_everywhere(made: Made, small: dict[str, Any]) -> None:
    """What predict does by name, the rest does, too."""
    frame = pd.DataFrame(made.X, columns=list("abcdef"))
    data, mixed = (Dataset(one, made.y, qid=made.qid) for one in (frame, frame[list("fedcba")]))
    model = train(small, data)
    assert np.array_equal(model.explain(mixed).data, model.explain(data).data, equal_nan=True)
    assert np.array_equal(model.explain(mixed).values, model.explain(data).values)
    assert model.permutation_importance(mixed, n_repeats=2) == model.permutation_importance(data, n_repeats=2)
    assert model.report(None, mixed, title="t") == model.report(None, data, title="t")
    for one, other in zip(model.to_shap(mixed)["trees"], model.to_shap(data)["trees"], strict=True):
        assert np.array_equal(one["node_sample_weight"], other["node_sample_weight"])
    fewer = Dataset(frame.drop(columns="a"), made.y, qid=made.qid)
    for call in (model.explain, model.permutation_importance, model.to_shap, lambda one: model.report(None, one)):
        with pytest.raises(DataError, match="lacks 1 of the model's features: 'a'"):
            call(fewer)


def test_arrays_of_a_dataset_are_read_only(made: Made) -> None:
    data = made.dataset()
    for array in (data.label, data.query_offsets):
        with pytest.raises(ValueError, match="read-only"):
            array[1] = 10**6
    train({"rounds": 1}, data)


def raising(error: BaseException) -> Callable[..., Any]:
    def function(*_: Any) -> Any:
        raise error

    return function


@pytest.mark.parametrize("error", [ValueError("mine"), SystemExit(3), GeneratorExit(), StopIteration(), MemoryError()])
def test_exception_of_a_function(made: Made, error: BaseException) -> None:
    data = made.dataset()
    calls: tuple[dict[str, Any], ...] = (
        {"params": {"objective": raising(error)}},
        {"params": {"metric": raising(error)}, "valid": data},
        {"params": {}, "callbacks": [raising(error)]},
    )
    for call in calls:
        with pytest.raises(type(error)) as raised:
            train(train_set=data, **call)
        assert raised.value is error
    train({"rounds": 1}, data)


def test_failing_inside_of_a_callback(made: Made, model: Model, small: dict[str, Any]) -> None:
    """Both trainings have one context, and so one place for a text."""

    def inside(_: rankwood.Round) -> None:
        with pytest.raises(ParameterError, match="leavs"):
            train({"leavs": 1}, made.dataset())
        assert train(small, made.dataset()).to_bytes() == model.to_bytes()

    assert train(small, made.dataset(), callbacks=[inside]).to_bytes() == model.to_bytes()


def test_threads_train_predict_and_fail(made: Made, model: Model, small: dict[str, Any]) -> None:
    """Errors are not mixed up, and one data set and one model serve all."""
    data, frame = made.dataset(), pd.DataFrame(made.X, columns=list("abcdef"))
    expected, bytes_ = model.predict(made.X), model.to_bytes()
    wrong: list[BaseException] = []
    start = threading.Barrier(8)

    def fail(k: int, i: int) -> None:
        with pytest.raises(ParameterError, match=f"leavs_{k}_{i}'"):
            train({f"leavs_{k}_{i}": 1}, data)
        with pytest.raises(FileError, match=f"/no/{k}/{i}'"):
            Model.load(f"/no/{k}/{i}")
        with pytest.raises(DataError, match=f"query 't{k}' appears again"):
            train(small, Dataset(made.X, made.y, qid=[f"t{k}", *["x"] * (len(made.y) - 2), f"t{k}"]))

    def work(k: int) -> None:
        chance = random.Random(k)
        calls: list[Callable[[int], Any]] = [
            lambda i: fail(k, i),
            lambda i: np.testing.assert_array_equal(train(small, data).predict(made.X), expected),
            lambda i: np.testing.assert_array_equal(model.predict(data), expected),
            lambda i: np.testing.assert_array_equal(Model.from_bytes(bytes_).predict(made.X), expected),
            lambda i: train({"rounds": 1, "bins": 15 + i}, data, valid=data, callbacks=[lambda _: data.n_features]),
        ]
        try:
            start.wait()
            for i in range(12):
                chance.choice(calls)(i)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    assert np.array_equal(model.predict(frame), expected)


def test_made_in_a_thread_that_has_ended(made: Made, model: Model, small: dict[str, Any]) -> None:
    """A thread's context is freed when the thread ends; objects made with it remain valid."""
    out: list[Any] = []

    def make() -> None:
        data = made.dataset()
        out.extend((data, train(small, data), data._with_values()))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    data, trained, _ = out
    assert trained.to_bytes() == train(small, data).to_bytes() == model.to_bytes()
    assert np.array_equal(trained.predict(data), model.predict(made.X))


def test_one_thread_makes_a_shared_object(made: Made) -> None:
    """Two threads at once must not free each other's object."""
    for _ in range(20):
        data, start, seen = made.dataset(), threading.Barrier(6), set()

        def ask(data: Dataset = data, start: threading.Barrier = start, seen: set[int] = seen) -> None:
            start.wait()
            seen.add(int(rankwood._core.ffi.cast("intptr_t", data._with_values())))

        threads = [threading.Thread(target=ask) for _ in range(6)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert len(seen) == 1
