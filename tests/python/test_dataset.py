# room: dataset
"""Every kind of input gives the model that the same values as a float32 array give."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rankwood
from conftest import Made
from rankwood import Dataset, train


def trained(data: Dataset, small: dict[str, Any]) -> bytes:
    return train(small, data).to_bytes()


def strided(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), 77, X.dtype)
    wide[::2, 1::3] = X
    return wide[::2, 1::3]


def backwards(X: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return X[::-1, ::-1].copy()[::-1, ::-1]


class Tensor:
    """An array that can be read by DLPack and in no other way."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "form", [np.ascontiguousarray, np.asfortranarray, strided, backwards, Tensor, pd.DataFrame, np.ndarray.tolist]
)
def test_forms_of_floats(made: Made, small: dict[str, Any], form: Callable[..., Any], dtype: Any) -> None:
    data = Dataset(form(made.X.astype(dtype)), made.y, qid=made.qid)
    if form is pd.DataFrame:  # its names are not text, so they are ignored
        assert data.feature_names is None
    assert trained(data, small) == trained(made.dataset(), small)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4", ">f8"])
@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, strided])
def test_number_types(made: Made, small: dict[str, Any], form: Callable[..., Any], dtype: str) -> None:
    whole = np.abs(np.round(made.X * 10))
    expected = trained(Dataset(whole, made.y, qid=made.qid), small)
    assert trained(Dataset(form(whole.astype(dtype)), made.y, qid=made.qid), small) == expected
    if dtype[-2] in "if":
        signed = np.round(made.X * 10)
        expected = trained(Dataset(signed, made.y, qid=made.qid), small)
        assert trained(Dataset(form(signed.astype(dtype)), made.y, qid=made.qid), small) == expected


class OnGpu:
    """A tensor that is not in the host's memory, with its library's way to get it there."""

    def __init__(self, array: np.ndarray[Any, Any], way: str) -> None:
        self.shape = array.shape
        if way:
            setattr(self, way, lambda: array)

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("not on this device")

    def __dlpack_device__(self) -> Any:
        return (2, 0)


@pytest.mark.parametrize("way", ["cpu", "get"])
def test_tensors_of_a_gpu(made: Made, small: dict[str, Any], model: rankwood.Model, way: str) -> None:
    data = Dataset(OnGpu(made.X, way), OnGpu(made.y, way), qid=OnGpu(made.qid, way))
    assert trained(data, small) == model.to_bytes()
    assert np.array_equal(model.predict(OnGpu(made.X, way)), model.predict(made.X))


def test_tensors_that_cannot_be_read(made: Made) -> None:
    with pytest.raises(TypeError, match="a OnGpu is in the memory of an unsupported device") as raised:
        Dataset(OnGpu(made.X, ""), made.y, qid=made.qid)
    assert isinstance(raised.value, rankwood.DataError)

    class Graph(Tensor):
        def __dlpack__(self, **_: Any) -> Any:
            raise BufferError("can't export tensors that require gradient")

    for given in ((Graph(made.X), made.y), (made.X, Graph(made.y))):
        with pytest.raises(rankwood.DataError, match="a Graph cannot be read by DLPack: can't export"):
            Dataset(*given, qid=made.qid)


def test_labels_and_ids_of_tensors(made: Made, small: dict[str, Any], model: rankwood.Model) -> None:
    assert trained(Dataset(Tensor(made.X), Tensor(made.y), qid=Tensor(made.qid)), small) == model.to_bytes()


def test_bools(made: Made, small: dict[str, Any]) -> None:
    bits = made.X > 0
    expected = trained(Dataset(bits.astype(np.float32), made.y, qid=made.qid), small)
    assert trained(Dataset(bits, made.y, qid=made.qid), small) == expected


def test_float64_rounds_to_nearest_float32(made: Made, small: dict[str, Any]) -> None:
    X = made.X.astype(np.float64) + 1e-9
    expected = trained(Dataset(X.astype(np.float32), made.y, qid=made.qid), small)
    assert trained(Dataset(X, made.y, qid=made.qid), small) == expected


@pytest.fixture
def holes(made: Made) -> np.ndarray[Any, Any]:
    X = made.X.astype(np.float64)
    X[::3, 1] = np.nan
    X[::2, 5] = np.nan
    return X


def frame_of(X: np.ndarray[Any, Any]) -> pd.DataFrame:
    """Every type of column that pandas has for numbers."""
    plain = pd.DataFrame(X, columns=list("abcdef"))
    return plain.assign(
        b=plain["b"].astype("Float64"),
        c=plain["c"] > 0,
        d=(plain["d"] > 0).astype("boolean").where(plain["d"] < 1),
        e=plain["e"].astype(object).where(plain["e"] > 0, None),
        f=plain["f"].astype("Int64"),
    )


def test_columns_of_pandas(made: Made, small: dict[str, Any], holes: np.ndarray[Any, Any]) -> None:
    same = holes.copy()
    same[:, 2] = holes[:, 2] > 0
    same[:, 3] = np.where(holes[:, 3] < 1, holes[:, 3] > 0, np.nan)
    same[:, 4] = np.where(holes[:, 4] > 0, holes[:, 4], np.nan)
    data = Dataset(frame_of(holes), made.y, qid=made.qid)
    assert data.feature_names == list("abcdef")
    assert trained(data, small) == trained(
        Dataset(same, made.y, qid=made.qid, feature_names=list("abcdef")), small
    )


def test_missing_is_not_zero(made: Made, small: dict[str, Any], holes: np.ndarray[Any, Any]) -> None:
    zeros = np.nan_to_num(holes, nan=0)
    assert trained(Dataset(holes, made.y, qid=made.qid, missing=np.nan), {**small, "absent": "missing"}) != (
        trained(Dataset(zeros, made.y, qid=made.qid), {**small, "absent": "missing"})
    )


@pytest.mark.parametrize("kind", [scipy.sparse.csr_array, scipy.sparse.csc_array, scipy.sparse.csc_matrix])
def test_sparse(made: Made, small: dict[str, Any], kind: Callable[..., Any]) -> None:
    X = np.where(np.abs(made.X) > 0.7, made.X, 0)
    sparse = kind(X)
    assert sparse.nnz < 0.8 * X.size
    assert trained(Dataset(sparse, made.y, qid=made.qid), small) == (
        trained(Dataset(X, made.y, qid=made.qid), small)
    )
    with_missing = Dataset(np.where(X == 0, np.nan, X), made.y, qid=made.qid)
    assert trained(Dataset(sparse, made.y, qid=made.qid, missing=0), small) == trained(with_missing, small)


def test_sparse_with_values_twice_and_out_of_order(made: Made, small: dict[str, Any]) -> None:
    rows, columns = np.nonzero(made.X)
    values = made.X[rows, columns].astype(np.float64) / 2
    backward = np.arange(len(rows))[::-1]
    twice = np.concatenate((backward, backward))
    n_by_column = 2 * np.bincount(columns, minlength=6)
    order = twice[np.argsort(columns[twice], kind="stable")]
    sparse = scipy.sparse.csc_array(
        (values[order], rows[order], np.concatenate(([0], np.cumsum(n_by_column)))), shape=made.X.shape
    )
    before = sparse.indices.copy()
    assert trained(Dataset(sparse, made.y, qid=made.qid), small) == trained(made.dataset(), small)
    assert np.array_equal(sparse.indices, before), "the caller's matrix was changed"


@pytest.mark.parametrize("value", [0.0, -999.0])
def test_a_value_that_means_missing(made: Made, small: dict[str, Any], value: float) -> None:
    X = np.where(made.X > 0.5, value, made.X)
    expected = trained(Dataset(np.where(value == X, np.nan, X), made.y, qid=made.qid), small)
    assert trained(Dataset(X, made.y, qid=made.qid, missing=value), small) == expected
    assert trained(Dataset(X, made.y, qid=made.qid), small) != expected


def table_of(made: Made, qid: Any) -> pd.DataFrame:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    table.insert(2, "relevance", pd.array(made.y, dtype="Int64"))
    table.insert(0, "query", qid)
    table["importance"] = 1.0 + made.y
    table["text"] = "not a number"
    return table


@pytest.mark.parametrize(
    "as_column",
    [
        lambda qid: qid,
        lambda qid: [f"q {one}" for one in qid],
        lambda qid: pd.array([f"é{one}" for one in qid], dtype="string"),
        lambda qid: pd.Categorical([f"q{one}" for one in qid]),
        lambda qid: pd.array(qid, dtype="Int64"),
    ],
)
def test_columns_by_name(made: Made, small: dict[str, Any], as_column: Callable[..., Any]) -> None:
    data = Dataset(
        table_of(made, as_column(made.qid)), "relevance", qid="query", weight="importance", ignore=["text"]
    )
    assert data.feature_names == list("abcdef")
    assert data.n_queries == 40
    assert np.array_equal(data.label, made.y)
    apart = made.dataset(weight=1.0 + made.y, feature_names=list("abcdef"))
    assert trained(data, small) == trained(apart, small)
    unweighted = made.dataset(feature_names=list("abcdef"))
    assert trained(data, small) != trained(unweighted, small)


def test_ignore(made: Made, small: dict[str, Any]) -> None:
    expected = trained(Dataset(made.X[:, [0, 2, 3, 5]], made.y, qid=made.qid), small)
    assert trained(made.dataset(ignore=[1, 4]), small) == expected
    named = Dataset(pd.DataFrame(made.X, columns=list("abcdef")), made.y, qid=made.qid, ignore="b")
    assert named.feature_names == list("acdef")
    for wrong in ([6], [-1], ["b"]):
        with pytest.raises(rankwood.DataError, match="no column"):
            made.dataset(ignore=wrong)


def test_qid_and_group_say_the_same(made: Made, small: dict[str, Any]) -> None:
    expected = trained(made.dataset(), small)
    text = np.array([f"q{one}" for one in made.qid])
    for qid in (made.qid.astype(np.uint8), text, text.astype(object), list(text), text.astype(bytes), pd.Series(text)):
        data = Dataset(made.X, made.y, qid=qid)
        assert np.array_equal(np.diff(data.query_offsets), made.group)
        assert trained(data, small) == expected
    assert trained(Dataset(made.X, made.y, group=made.group), small) == expected
    assert trained(Dataset(made.X, made.y, group=list(made.group)), small) == expected
    assert trained(Dataset(made.X, made.y, group=[len(made.y)]), small) != expected


@pytest.mark.parametrize("as_qid", [np.asarray, lambda q: np.array([f"q{i}" for i in q], dtype=object)])
@pytest.mark.parametrize("form", [np.asarray, strided, pd.DataFrame, scipy.sparse.csr_array])
def test_sort(
    made: Made, small: dict[str, Any], form: Callable[..., Any], as_qid: Callable[..., Any]
) -> None:
    rng = np.random.default_rng(5)
    of_query = {one: rng.random() for one in made.qid}
    # queries are in another order, their documents interleaved, each query's in the same order
    mixed = np.argsort([of_query[one] + 10 * rng.random() for one in made.qid], kind="stable")
    first = {one: i for i, one in reversed(list(enumerate(made.qid[mixed])))}
    together = np.array(sorted(mixed, key=lambda i: first[made.qid[i]]))
    weight = 1.0 + made.y
    plain = Dataset(made.X[together], made.y[together], qid=made.qid[together], weight=weight[together])
    data = Dataset(
        form(made.X[mixed]), made.y[mixed], qid=as_qid(made.qid[mixed]), weight=weight[mixed], sort=True
    )
    with pytest.raises(rankwood.DataError, match="appears again after another"):
        train(small, Dataset(form(made.X[mixed]), made.y[mixed], qid=as_qid(made.qid[mixed])))
    model = train(small, plain)
    assert trained(data, small) == model.to_bytes()
    assert np.array_equal(data.label, made.y[mixed])
    assert np.array_equal(model.predict(data), model.predict(made.X[mixed]))
    assert rankwood.evaluate(data, model)["ndcg@10"] == rankwood.evaluate(plain, model)["ndcg@10"]
    assert rankwood.evaluate(data, model.predict(made.X[mixed]))["ndcg@10"] == (
        rankwood.evaluate(plain, model)["ndcg@10"]
    )


def test_weights(made: Made, small: dict[str, Any]) -> None:
    by_query = np.arange(1.0, 41.0)
    expected = trained(made.dataset(query_weight=by_query), small)
    assert trained(made.dataset(weight=np.repeat(by_query, made.group)), small) == expected
    assert trained(made.dataset(), small) != expected
    # a weight for each query is not one for each document, where they are equally many
    alone = Dataset(made.X, made.y, group=np.ones(len(made.y), int), query_weight=np.ones(len(made.y)))
    assert alone.n_queries == alone.n_docs


def test_attributes_of_a_dataset(made: Made) -> None:
    data = made.dataset()
    assert (data.n_docs, data.n_queries, data.n_features) == (len(made.y), 40, 6) == (len(data), 40, 6)
    assert data.label.dtype == np.float32 and np.array_equal(data.label, made.y)
    assert repr(data) == f"Dataset({len(made.y)} documents, 40 queries, 6 features)"


def test_values_are_read_where_they_stand(made: Made, small: dict[str, Any]) -> None:
    X = np.asfortranarray(made.X)
    data = Dataset(X, made.y, qid=made.qid)
    assert all(np.shares_memory(column.values, X) for column in data._table.columns)
    before = X.copy()
    train(small, data)
    assert np.array_equal(X, before)


def test_bins_are_kept(made: Made, small: dict[str, Any]) -> None:
    data = made.dataset()
    train(small, data)
    (first,) = data._binned.values()
    train({**small, "leaves": 3, "rate": 0.3}, data)
    assert list(data._binned.values()) == [first]
    assert trained(data, {**small, "bins": 7}) == trained(made.dataset(), {**small, "bins": 7})
    assert len(data._binned) == 2


def test_files(made: Made, small: dict[str, Any], tmp_path: Any) -> None:
    path = tmp_path / "letor.txt"
    path.write_text(letor(made))
    data = Dataset(path)
    assert (data.n_docs, data.n_queries, data.n_features) == (len(made.y), 40, 6)
    assert np.array_equal(data.label, made.y)
    assert trained(data, small) == trained(made.dataset(feature_base=0), small)
    assert trained(Dataset(str(path)), small) == trained(Dataset([path]), small)


def letor(made: Made) -> str:
    return "".join(
        f"{y} qid:{qid} " + " ".join(f"{i}:{value!s}" for i, value in enumerate(x)) + "\n"
        for x, y, qid in zip(made.X, made.y, made.qid, strict=True)
    )


HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
HALVES = HALVES[~np.isinf(HALVES)]


def arrow_of(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pyarrow").table(columns)


def in_arrow(x: np.ndarray[Any, Any]) -> Any:
    return arrow_of({f"c{i}": x[:, i] for i in range(x.shape[1])})


@pytest.mark.parametrize("form", [np.asarray, lambda x: strided(np.repeat(x, 2, 1)), in_arrow, pd.DataFrame])
def test_each_half_is_read(form: Callable[..., Any]) -> None:
    x = HALVES.reshape(-1, 1)
    data = Dataset(form(x))
    c, seen = data._with_values(), np.empty(len(x), np.float32)
    lib, ffi = rankwood._core.lib, rankwood._core.ffi
    lib.rw_dataset_feature(c, 0, np.nan, ffi.cast("float *", seen.ctypes.data))
    expected = HALVES.astype(np.float32)
    assert np.array_equal(seen, expected, equal_nan=True)
    with pytest.raises(rankwood.DataError, match=r"document 1 .* is infinite"):
        Dataset(np.array([[1], [np.inf]], np.float16))._with_values()


def test_halves_score_the_same(made: Made, model: rankwood.Model) -> None:
    half = made.X.astype(np.float16)
    expected = model.predict(half.astype(np.float32))
    for form in (half, pd.DataFrame(half), Dataset(half), in_arrow(half)):
        assert np.array_equal(model.predict(form), expected)


@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        *[(form, dtype) for form in ("numpy", "pandas", "arrow", "csr") for dtype in ("i4", "i8", "u4", "u8", "f8")],
        ("pandas", "Int64"),
    ],
)
def test_ids_that_float32_merges_are_warned_of(
    made: Made, small: dict[str, Any], caplog: pytest.LogCaptureFixture, form: str, dtype: str
) -> None:
    """By name, once for each data set; floats are rounded without a word."""
    first = {"i4": 2**30, "u4": 2**31}.get(dtype, 2**40)
    ids = np.arange(len(made.y)) + first
    ids = pd.array(ids, dtype=dtype) if dtype == "Int64" else ids.astype(dtype)
    table = pd.DataFrame({"a": np.arange(len(made.y)) % 7, "doc_id": ids, "big": 2**24 - ids % 7})
    table = table.astype({"a": ids.dtype, "big": ids.dtype})
    given: Any = table
    if form == "numpy":
        given = table.to_numpy()
    elif form == "csr":
        given = scipy.sparse.csr_matrix(table.to_numpy())
    elif form == "arrow":
        given = arrow_of(dict(table))
    data = Dataset(given, made.y, qid=made.qid)
    for _ in range(2):
        train(small, data, valid=data)
    warnings = [record.getMessage() for record in caplog.records if "beyond 2^24" in record.message]
    name = "'doc_id'" if form in ("pandas", "arrow") else "1"
    assert [one.split(":")[0] for one in warnings] == ([] if dtype == "f8" else [f"column {name}"])
    caplog.clear()
    train(small, Dataset(given, made.y, qid=made.qid, ignore=[1]))
    assert not [record for record in caplog.records if "beyond 2^24" in record.message]


@pytest.mark.parametrize("form", ["pandas", "numpy"])
def test_decimals(made: Made, small: dict[str, Any], form: str) -> None:
    """Objects that have a float are numbers; those of Arrow are not, and the message says what to do."""
    table = pd.DataFrame(made.X.astype(np.float64)).map(lambda one: Decimal(str(round(one, 3))))
    given = table if form == "pandas" else table.to_numpy()
    assert trained(Dataset(given, made.y, qid=made.qid), small) == trained(made.dataset(), small)


def test_prepared_for_training(made: Made, small: dict[str, Any], model: rankwood.Model) -> None:
    data = made.dataset()
    assert data.prepare({**small, "threads": 1}) is data
    binned = dict(data._binned)
    assert len(binned) == 1
    assert rankwood.train(small, data).to_bytes() == model.to_bytes()
    assert data._binned == binned  # nothing is made twice
    with pytest.raises(rankwood.ParameterError, match="bins"):
        data.prepare({"bins": 1})
