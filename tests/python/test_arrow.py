# room: io
"""Tables by Arrow's C stream interface: the same codes, models and scores as of numpy."""

import ctypes
import gc

import numpy as np
import pytest

import rankwood

pa = pytest.importorskip("pyarrow")

N = 3000
PARAMS = {"device": "cpu", "rounds": 5, "leaves": 15, "threads": 2}


def made():
    """Columns of several types, labels, and query ids whose documents are adjacent."""
    rng = np.random.default_rng(3)
    columns = {
        "f32": rng.random(N, dtype=np.float32),
        "f64": rng.normal(size=N),
        "i8": rng.integers(-100, 100, N).astype(np.int8),
        "i64": rng.integers(-5, 1000, N),
        "u16": rng.integers(0, 9, N).astype(np.uint16),
        "flag": rng.random(N) < 0.3,
    }
    label = np.clip(columns["f32"] * 3 + columns["flag"], 0, 4).astype(np.int64)
    qid = np.repeat(np.arange(N // 20) * 7 + 3, 20)
    return columns, label, qid


def values_of(columns, null=None):
    """The same as one array; null: (N,) documents that have no value of any column."""
    out = np.column_stack([np.asarray(one, np.float64) for one in columns.values()]).astype(np.float32)
    if null is not None:
        out[null] = np.nan
    return out


def model_of(data, label, qid, **options):
    return rankwood.train(PARAMS, rankwood.Dataset(data, label, qid=qid, **options))


def in_chunks(table, size):
    return pa.Table.from_batches(table.combine_chunks().to_batches(max_chunksize=size))


def same_as_numpy(table, *, null=None, kept=None):
    columns, label, qid = made()
    names = kept or list(columns)
    values = values_of({name: columns[name] for name in names}, null)
    expected = model_of(values, label, qid, feature_names=names)
    ignore = [] if kept is None else [name for name in columns if name not in kept]
    model = model_of(table, "y", "q", ignore=ignore)
    assert expected.n_trees == 5
    assert model.to_bytes() == expected.to_bytes()
    assert model.feature_names == names
    np.testing.assert_array_equal(model.predict(table), expected.predict(values))


def arrow_table(null=None):
    columns, label, qid = made()
    arrays = {name: pa.array(one, mask=null) for name, one in columns.items()}
    return pa.table({"q": pa.array(qid), **arrays, "y": pa.array(label)})


@pytest.mark.parametrize("size", [N, 1000, 64, 7])
def test_chunks(size):
    table = in_chunks(arrow_table(), size)
    assert table.column(0).num_chunks == -(-N // size)
    same_as_numpy(table)


@pytest.mark.parametrize("size", [N, 333])
def test_nulls(size):
    null = np.random.default_rng(5).random(N) < 0.2
    same_as_numpy(in_chunks(arrow_table(null), size), null=null)


def test_offsets():
    """Slices: elements and bits that begin anywhere; chunks that are empty."""
    null = np.random.default_rng(5).random(N) < 0.2
    table = arrow_table(null)
    before = pa.concat_tables([table.slice(17, 5), table])
    parts = [before.slice(5, 1003), before.slice(1008, 0), before.slice(1008, 1), before.slice(1009)]
    same_as_numpy(pa.concat_tables(parts), null=null)
    one = pa.concat_tables([table.slice(0, 13), table]).combine_chunks().to_batches()[0].slice(13)
    same_as_numpy(one, null=null)  # a batch, whose columns have an offset
    assert one.column(1).offset == 13


def test_struct_offset():
    """Polars and others slice the struct of the columns itself."""
    table = arrow_table().combine_chunks()
    whole = pa.concat_tables([table.slice(0, 13), table]).combine_chunks().to_struct_array().chunk(0)

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.chunked_array([whole.slice(13, 700), whole.slice(713)]).__arrow_c_stream__()

    columns, label, qid = made()
    expected = model_of(values_of(columns), label, qid, feature_names=list(columns))
    assert model_of(Stream(), "y", "q").to_bytes() == expected.to_bytes()


def test_polars():
    pl = pytest.importorskip("polars")
    columns, label, qid = made()
    frame = pl.DataFrame({"q": qid, **columns, "y": label})
    same_as_numpy(frame)
    same_as_numpy(pl.concat([frame[:1234], frame[1234:]], rechunk=False))
    same_as_numpy(frame.with_columns(q=pl.col("q").cast(pl.String)))  # string_view
    same_as_numpy(frame.with_columns(q=pl.col("q").cast(pl.String).cast(pl.Categorical)))
    expected = model_of(values_of(columns), label, qid, feature_names=list(columns))
    features = frame.drop("q", "y")
    assert model_of(features, frame["y"], frame["q"]).to_bytes() == expected.to_bytes()
    assert model_of(features, "u16", None, group=[N]).feature_names == ["f32", "f64", "i8", "i64", "flag"]


def test_pandas():
    pd = pytest.importorskip("pandas")
    columns, label, qid = made()
    frame = pd.DataFrame({"q": qid, **columns, "y": label})
    same_as_numpy(pa.Table.from_pandas(frame))
    same_as_numpy(frame)


def test_stream_read_once():
    table = in_chunks(arrow_table(), 100)
    columns, label, qid = made()
    expected = model_of(values_of(columns), label, qid, feature_names=list(columns))
    assert model_of(table.to_reader(), "y", "q").to_bytes() == expected.to_bytes()


def test_ignored_columns_hold_anything():
    table = arrow_table()
    table = table.append_column("when", pa.array([1] * N, pa.timestamp("us")))
    table = table.append_column("title", pa.array(["a"] * N))
    columns, label, qid = made()
    expected = model_of(values_of(columns), label, qid, feature_names=list(columns))
    model = model_of(table, "y", "q", ignore=["when", "title"])
    assert model.to_bytes() == expected.to_bytes()
    np.testing.assert_array_equal(model.predict(table), expected.predict(values_of(columns)))


def test_only_nulls():
    table = in_chunks(arrow_table(), 500)
    i = table.column_names.index("u16")
    table = table.set_column(i, "u16", pa.nulls(N))
    columns, label, qid = made()
    values = values_of(columns)
    values[:, 4] = np.nan
    expected = model_of(values, label, qid, feature_names=list(columns))
    model = model_of(table, "y", "q")
    assert model.to_bytes() == expected.to_bytes()
    np.testing.assert_array_equal(model.predict(table), expected.predict(values))


def test_weight():
    columns, label, qid = made()
    weight = np.repeat(np.linspace(0.5, 2, N // 20), 20)
    table = in_chunks(arrow_table().append_column("w", pa.array(weight)), 700)
    expected = model_of(values_of(columns), label, qid, feature_names=list(columns), weight=weight)
    unweighted = model_of(values_of(columns), label, qid, feature_names=list(columns))
    model = model_of(table, "y", "q", weight="w")
    assert model.to_bytes() == expected.to_bytes() != unweighted.to_bytes()


# ---- query ids ----

IDS = ["", "a", "a longer one than twelve bytes", "twelve bytes", "thirteen byte", "größer", "7"]
TYPES = [
    pa.string(), pa.large_string(), pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()), pa.dictionary(pa.uint32(), pa.large_string()),
]  # fmt: skip


def ids_of(dataset):
    c = dataset._with_values()
    lib, text = rankwood._core.lib, rankwood._core.text
    return [text(lib.rw_dataset_query_id(c, i)) for i in range(dataset.n_queries)]


def id_table(ids, size):
    return in_chunks(pa.table({"q": ids, "x": np.arange(len(ids), dtype=np.float32)}), size)


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("size", [1, 4, 100])
def test_string_ids(type, size):
    texts = [one for i, one in enumerate(IDS) for _ in range(1 + i % 3)]
    ids = pa.array([*"zzz", *texts], pa.string()).cast(type) if type != pa.string_view() else None
    ids = pa.array([*"zzz", *texts], type) if ids is None else ids
    dataset = rankwood.Dataset(id_table(ids.slice(3), size), qid="q")
    assert ids_of(dataset) == IDS
    assert np.diff(dataset.query_offsets).tolist() == [1 + i % 3 for i in range(len(IDS))]


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integer_ids(name):
    info = np.iinfo(name)
    ids = np.array([info.min, info.min, 3, info.max], name)
    dataset = rankwood.Dataset(id_table(pa.array(ids), 3), qid="q")
    assert ids_of(dataset) == [str(info.min), "3", str(info.max)]


def test_sort():
    rng = np.random.default_rng(1)
    columns, label, qid = made()
    order = rng.permutation(N)
    table = in_chunks(arrow_table().take(pa.array(order)), 90)
    i = table.column_names.index("q")
    for ids in (table.column("q"), table.column("q").cast(pa.string())):
        table = table.set_column(i, "q", ids)
        data = rankwood.Dataset(table, "y", qid="q", sort=True)
        expected = rankwood.Dataset(
            values_of(columns)[order], label[order], qid=qid[order], sort=True, feature_names=list(columns)
        )
        assert ids_of(data) == ids_of(expected)
        model, other = rankwood.train(PARAMS, data), rankwood.train(PARAMS, expected)
        assert model.to_bytes() == other.to_bytes()
        np.testing.assert_array_equal(model.predict(data), other.predict(values_of(columns)[order]))
    with pytest.raises(rankwood.DataError, match="appears again after another query"):
        rankwood.train(PARAMS, rankwood.Dataset(table, "y", qid="q"))


# ---- errors ----


def refused(message, table, label=None, qid="q", **options):
    with pytest.raises(rankwood.DataError) as caught:
        dataset = rankwood.Dataset(table, label, qid=qid, **options)
        dataset._with_values()
    assert str(caught.value) == message


def test_types_refused():
    q, x = pa.array([1, 1, 2]), pa.array([1.0, 2.0, 3.0])
    cases = {
        "timestamps": pa.array([1, 2, 3], pa.timestamp("ns", "UTC")),
        "dates": pa.array([1, 2, 3], pa.date32()),
        "times": pa.array([1, 2, 3], pa.time64("us")),
        "durations": pa.array([1, 2, 3], pa.duration("s")),
        "strings": pa.array(["a", "b", "c"]),
        "bytes": pa.array([b"a", b"b", b"c"]),
        "decimals": pa.array([1, 2, 3], pa.decimal128(9, 2)),
        "lists": pa.array([[1], [2], []]),
        "structs": pa.array([{"a": 1}] * 3),
        "run-end-encoded values": pa.RunEndEncodedArray.from_arrays([3], [1.0]),
    }
    for kind, column in cases.items():
        table = pa.table({"q": q, "x": x, "odd": column})
        hint = "\nhint: cast the column to integers or floats" if kind == "decimals" else ""
        refused(f"column 'odd' has {kind}; expected numbers{hint}", table)
        assert len(rankwood.Dataset(table, qid="q", ignore=["odd"])) == 3
        if kind != "strings":
            refused(f"column 'odd' has {kind}; expected integers or strings", table, qid="odd")
        refused(f"column 'odd' has {kind}; expected numbers{hint}", table, "odd")
    refused("column 'x' has floats; expected integers or strings", pa.table({"x": x, "f": x}), qid="x")


def test_nulls_refused():
    x = pa.array([1.0, 2.0, 3.0, 4.0])
    table = pa.table({"q": pa.array([1, 1, None, 2]), "x": x, "y": pa.array([1, 2, 3, None])})
    for size in (4, 2, 1):
        refused(
            "qid of document 2 (from 0), column 'q', is null; expected an integer or a string",
            in_chunks(table, size),
        )
        refused(
            "label of document 3 (from 0) is null; expected a number",
            in_chunks(table, size), "y", None, group=[4],
        )  # fmt: skip
    for type in TYPES:
        ids = pa.array(["a", None, "b", "b"], pa.string()).cast(type) if "view" not in str(type) else x
        if ids is not x:
            refused(
                "qid of document 1 (from 0), column 'q', is null; expected an integer or a string",
                pa.table({"q": ids, "x": x}),
            )
    listed = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 0], pa.int8()), pa.array(["a", None]))
    refused(
        "qid of document 1 (from 0), column 'q', is null; expected an integer or a string",
        pa.table({"q": listed, "x": x}),
    )


def test_misuse():
    x = pa.array([1.0, np.inf])
    table = pa.table({"q": pa.array(["a", "a\0b"]), "x": x})
    refused("qid of document 1 (from 0) contains a zero byte", table)
    refused("no column 'r' for qid; there are 'q', 'x'", table, qid="r")
    refused(
        "value of document 1 (from 0), feature 'x' is infinite, or too large for float32; expected a number, "
        "or NaN for missing",
        in_chunks(pa.table({"q": pa.array([1, 1]), "x": x}), 1),
    )
    twice = pa.Table.from_arrays([x, x], names=["x", "x"])
    refused("two columns have the name 'x'; expected unique names", twice, qid=None, group=[2])
    refused("Found array with 0 sample(s): data has no documents", table.slice(0, 0), qid=None, group=[])
    refused("Found array with 0 sample(s): data has no documents", table.slice(0, 0))

    class Column:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.chunked_array([x]).__arrow_c_stream__()

    refused("an Arrow stream of floats; expected a table's record batches", Column(), qid=None, group=[2])
    x = pa.array([{"a": 1}, {"a": 2}, None, {"a": 4}])[1:]
    refused("row 1 (from 0) of an Arrow batch is null", Column(), qid=None, group=[3])


def test_failing_stream():
    def batches():
        yield pa.record_batch({"q": [1], "x": [1.0]})
        raise OSError("the third disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"q": pa.int64(), "x": pa.float64()}), batches())
    with pytest.raises(rankwood.DataError, match=r"the table's stream failed: .*the third disk is gone"):
        rankwood.Dataset(reader, qid="q")
    closed = arrow_table().__arrow_c_stream__()

    class Again:
        def __arrow_c_stream__(self, requested_schema=None):
            return closed

    rankwood.Dataset(Again(), qid="q")
    with pytest.raises(rankwood.DataError, match="the Arrow stream was already read"):
        rankwood.Dataset(Again(), qid="q")


def test_memory_is_given_back():
    """Batches live as long as what reads them, and no longer, after failures, too."""
    gc.collect()
    before = pa.total_allocated_bytes()

    def table():
        return pa.table({"q": pa.array([1, 1, 2], pa.int64()).cast(pa.string()), "x": pa.array(range(3))})

    dataset = rankwood.Dataset(table(), qid="q")
    gc.collect()
    assert pa.total_allocated_bytes() > before
    assert dataset._with_values() is not None
    del dataset
    for _ in range(100):
        with pytest.raises(rankwood.DataError):
            rankwood.Dataset(table(), "q", qid="x")
        rankwood.Dataset(table(), qid="q")
    gc.collect()
    assert pa.total_allocated_bytes() == before


def test_capsule_of_something_else():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    class Other:
        def __arrow_c_stream__(self, requested_schema=None):
            return new(1, b"something else", None)

    with pytest.raises(ValueError):
        rankwood.Dataset(Other(), group=[1])


def test_columns_by_name():
    """Prediction finds columns by name, in any order; the contents of unused columns do not matter."""
    columns, label, qid = made()
    model = model_of(values_of(columns), label, qid, feature_names=list(columns))
    scores = model.predict(values_of(columns))
    table = arrow_table().select(["y", *reversed(list(columns))]).append_column("t", pa.array(["s"] * N))
    np.testing.assert_array_equal(model.predict(in_chunks(table, 999)), scores)
    with pytest.raises(rankwood.DataError, match="lacks 1 of the model's features: 'f32'"):
        model.predict(table.drop_columns(["f32"]))
