# room: io
"""Data in batches, of Parquet files and of functions: the models of the same data in memory, byte for byte."""

import re
import subprocess
import sys

import numpy as np
import pytest

import rankwood

N = 3000
PARAMS = {"device": "cpu", "rounds": 5, "leaves": 15, "threads": 2}
FEATURES = ["few", "real", "zeros", "whole", "flag"]
COLUMNS = {"label": "y", "qid": "q", "ignore": ["note"]}


def made(n=N, ids=lambda number: number * 7 + 3):
    """Columns of several types, labels, notes, and query ids whose documents are adjacent."""
    rng = np.random.default_rng(3)
    query = np.repeat(np.arange(n // 20 + 1), 20)[:n]
    real = rng.normal(size=n).astype(np.float32)
    return {
        "q": ids(query),
        "few": rng.integers(-3, 4, n).astype(np.int8),
        "real": real,
        "note": np.array([f"document {i}" for i in range(n)]),
        "zeros": np.where(rng.random(n) < 0.05, rng.normal(size=n), 0),
        "whole": rng.integers(0, 1000, n),
        "flag": rng.random(n) < 0.3,
        "y": np.clip(real * 3 + rng.random(n), 0, 4).astype(np.int64),
        "w": rng.random(n) + 0.5,
    }


def features_of(columns):
    return np.column_stack([np.asarray(columns[name], np.float64) for name in FEATURES]).astype(np.float32)


def in_memory(columns, **more):
    return rankwood.Dataset(features_of(columns), columns["y"], qid=columns["q"], feature_names=FEATURES, **more)


def cut(columns, size):
    """Dicts of `size` documents; of as many as a list says."""
    n = len(columns["y"])
    ends = [*np.cumsum(size), n] if isinstance(size, list) else [*range(size, n, size), n]
    return [
        {name: one[begin:end] for name, one in columns.items()}
        for begin, end in zip([0, *ends[:-1]], ends, strict=True)
        if end > begin
    ]


def without_weight(columns):
    return {name: one for name, one in columns.items() if name != "w"}


def assert_same(data, expected, columns, **more):
    model, other = rankwood.train({**PARAMS, **more}, data), rankwood.train({**PARAMS, **more}, expected)
    assert other.n_trees == 5
    assert model.to_bytes() == other.to_bytes()
    np.testing.assert_array_equal(model.predict(data), model.predict(features_of(columns)))
    assert data.n_docs == len(columns["y"]) and data.n_features == len(FEATURES)
    np.testing.assert_array_equal(data.label, columns["y"])
    np.testing.assert_array_equal(data.query_offsets, expected.query_offsets)


def kinds(parts):
    """The same batches in all the forms that are taken."""
    pa, pd = pytest.importorskip("pyarrow"), pytest.importorskip("pandas")

    class OneArray:  # as other libraries' batches are
        def __init__(self, part):
            self.batch = pa.RecordBatch.from_pydict(part)

        def __arrow_c_array__(self, requested_schema=None):
            return self.batch.__arrow_c_array__(requested_schema)

    batches = [pa.RecordBatch.from_pydict(part) for part in parts]
    return {
        "dicts": lambda: parts,
        "record batches": lambda: iter(batches),
        "a reader": lambda: pa.RecordBatchReader.from_batches(batches[0].schema, batches),
        "tables": lambda: (pa.Table.from_batches([one]) for one in batches),
        "one table": lambda: pa.Table.from_batches(batches),
        "arrays of C": lambda: [OneArray(part) for part in parts],
        "frames": lambda: (pd.DataFrame(part) for part in parts),
        "one dict": lambda: {name: np.concatenate([part[name] for part in parts]) for name in parts[0]},
    }


@pytest.mark.parametrize("size", [N, 1000, 64, 7, 1, [1, 50, 2, 1500], [0, 999]])
def test_batches(size):
    columns = without_weight(made())
    calls = []

    def make_reader():
        calls.append(1)
        return iter(cut(columns, size))

    data = rankwood.Dataset.from_batches(make_reader, **COLUMNS)
    assert len(calls) == 2  # names; labels and queries
    assert_same(data, in_memory(columns), columns)
    assert len(calls) == 4  # values; to predict


@pytest.mark.parametrize(
    "kind",
    ["dicts", "record batches", "a reader", "tables", "one table", "arrays of C", "frames", "one dict"],
)
def test_kinds(kind):
    columns = without_weight(made())
    make_reader = kinds(cut(columns, 333))[kind]
    assert_same(rankwood.Dataset.from_batches(make_reader, **COLUMNS), in_memory(columns), columns)


def test_polars():
    pl = pytest.importorskip("polars")
    columns = without_weight(made(ids=lambda number: np.array([f"über {one}" for one in number])))
    frame = pl.DataFrame(columns)
    for make_reader in (lambda: frame, lambda: frame.iter_slices(101)):
        assert_same(rankwood.Dataset.from_batches(make_reader, **COLUMNS), in_memory(columns), columns)


def test_a_stream_comes_in_batches():
    """An object with a stream that is no iterator: a duckdb table is not read as a whole."""
    pa = pytest.importorskip("pyarrow")
    columns = without_weight(made())
    batches = [pa.RecordBatch.from_pydict(part) for part in cut(columns, 100)]

    class Relation:
        def __arrow_c_stream__(self, requested_schema=None):
            return pa.RecordBatchReader.from_batches(batches[0].schema, batches).__arrow_c_stream__()

    if not hasattr(pa.RecordBatchReader, "from_stream"):
        pytest.skip("pyarrow has no RecordBatchReader.from_stream")
    data = rankwood.Dataset.from_batches(Relation, **COLUMNS)
    assert_same(data, in_memory(columns), columns)
    seen = [table.n_rows for _, table in data._source.batches(FEATURES)]
    assert seen == [100] * 30


@pytest.mark.parametrize("ids", [
    lambda number: number - 20,
    lambda number: np.array([f"query {one}" for one in number]),
    lambda number: np.array([f"q{one}" for one in number], object),
])
def test_ids(ids):
    columns = without_weight(made(ids=ids))
    make_reader = kinds(cut(columns, 33))["frames" if columns["q"].dtype == object else "record batches"]
    data = rankwood.Dataset.from_batches(make_reader, **COLUMNS)
    assert_same(data, in_memory(columns), columns, sample_queries=0.5)


def test_more_than_are_sampled():
    """Over 262,144 documents boundaries come of a sample, which a query's id and positions in it decide."""
    columns = without_weight(made(300_000))
    data = rankwood.Dataset.from_batches(lambda: cut(columns, 77_777), **COLUMNS)
    assert_same(data, in_memory(columns), columns)


def test_types_of_batches():
    """A column may be of whole numbers in one batch, and of others where one is missing."""
    pd = pytest.importorskip("pandas")
    columns = without_weight(made())
    frame = pd.DataFrame(columns)
    hole = np.arange(N) % 700 == 5
    columns["whole"] = np.where(hole, np.nan, columns["whole"])
    frame["whole"] = frame["whole"].astype(object).where(~hole, None)
    parts = [part.infer_objects() for part in (frame[:5], frame[5:6], frame[6:])]
    parts[0] = parts[0].astype({"whole": np.int32})
    assert_same(rankwood.Dataset.from_batches(lambda: parts, **COLUMNS), in_memory(columns), columns)


@pytest.mark.parametrize("size", [N, 100, 1])
def test_nulls_and_missing(size):
    pa = pytest.importorskip("pyarrow")
    columns = without_weight(made())
    null = np.random.default_rng(5).random(N) < 0.2
    table = pa.table({name: pa.array(one, mask=null if name in FEATURES else None) for name, one in columns.items()})
    values = features_of(columns)
    values[null] = np.nan
    expected = rankwood.Dataset(values, columns["y"], qid=columns["q"], feature_names=FEATURES, missing=2)
    data = rankwood.Dataset.from_batches(lambda: table.to_batches(max_chunksize=size), **COLUMNS, missing=2)
    model, other = rankwood.train(PARAMS, data), rankwood.train(PARAMS, expected)
    assert model.to_bytes() == other.to_bytes()
    np.testing.assert_array_equal(model.predict(data), model.predict(expected))


def test_weights():
    columns = made()
    weighted = in_memory(columns, weight=columns["w"])
    data = rankwood.Dataset.from_batches(lambda: cut(columns, 50), **COLUMNS, weight="w")
    assert_same(data, weighted, columns)
    by_query = np.linspace(0.5, 2, weighted.n_queries)
    weighted = in_memory(columns, query_weight=by_query)
    columns = without_weight(columns)
    data = rankwood.Dataset.from_batches(lambda: cut(columns, 50), **COLUMNS, query_weight=by_query)
    scores = np.random.default_rng(1).random(N)
    expected = rankwood.evaluate(weighted, scores, ["ndcg@10", "map"])
    for _ in range(2):
        for name, one in rankwood.evaluate(data, scores, ["ndcg@10", "map"]).metrics.items():
            assert one.mean == expected.metrics[name].mean
        assert_same(data, weighted, columns)  # then there are codes
    with pytest.raises(rankwood.DataError, match="query_weight has 3 values"):
        rankwood.Dataset.from_batches(lambda: cut(columns, 50), **COLUMNS, query_weight=[1, 2, 3])


# ---- uses that need values ----


def test_measuring_and_scoring():
    columns = without_weight(made())
    expected = in_memory(columns)
    model = rankwood.train(PARAMS, expected)
    data = rankwood.Dataset.from_batches(lambda: cut(columns, 123), **COLUMNS)
    scores = model.predict(expected)
    np.testing.assert_array_equal(model.predict(data), scores)
    np.testing.assert_array_equal(model.predict(data, n_trees=2), model.predict(expected, n_trees=2))
    assert rankwood.evaluate(data, model)["ndcg@10"] == rankwood.evaluate(expected, model)["ndcg@10"]
    assert rankwood.compare(data, model, columns["few"]).p == rankwood.compare(expected, scores, columns["few"]).p
    assert [row.mean for row in rankwood.audit(data, model).rows] == pytest.approx(
        [row.mean for row in rankwood.audit(expected, model).rows], abs=0, nan_ok=True)
    assert data._values is None  # batch by batch
    assert model.explain(data).values.tolist() == model.explain(expected).values.tolist()
    assert data._values is not None
    np.testing.assert_array_equal(model.predict(data), scores)


def test_validation():
    columns, other = without_weight(made()), without_weight(made(1000))
    valid = rankwood.Dataset.from_batches(lambda: cut(other, 300), **COLUMNS)
    data = rankwood.Dataset.from_batches(lambda: cut(columns, 300), **COLUMNS)
    model = rankwood.train(PARAMS, data, valid=valid)
    expected = rankwood.train(PARAMS, in_memory(columns), valid=in_memory(other))
    assert model.to_bytes() == expected.to_bytes()
    assert model.evals_result == expected.evals_result
    more = rankwood.train({**PARAMS, "early_stop": 0}, data, init=model)
    assert more.to_bytes() == rankwood.train({**PARAMS, "early_stop": 0}, in_memory(columns), init=expected).to_bytes()


def test_columns_in_another_order():
    columns = without_weight(made())
    model = rankwood.train(PARAMS, in_memory(columns))
    turned = dict(reversed(columns.items())) | {"more": np.zeros(N)}
    data = rankwood.Dataset.from_batches(lambda: cut(turned, 500), **COLUMNS)
    expected = model.predict(features_of(columns))
    np.testing.assert_array_equal(model.predict(data), expected)
    assert data._values is None
    np.testing.assert_array_equal(model.explain(data).values, model.explain(in_memory(columns)).values)
    del turned["real"]
    with pytest.raises(rankwood.DataError, match="lacks 1 of the model's features: 'real'"):
        model.predict(rankwood.Dataset.from_batches(lambda: cut(turned, 500), **COLUMNS))


def test_other_parameters():
    """Codes are kept for each set of parameters that decides them, whatever the device."""
    columns = without_weight(made())
    calls = []
    data = rankwood.Dataset.from_batches(lambda: calls.append(1) or cut(columns, 500), **COLUMNS)
    for bins in (255, 16, 255):
        assert_same(data, in_memory(columns), columns, bins=bins)
    rankwood.train({**PARAMS, "device": "ref"}, data)
    assert len(calls) == 2 + 2 + 3


# ---- Parquet ----


@pytest.fixture
def files(tmp_path):
    """Three files that end within queries, with nulls nowhere."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    columns = without_weight(made(ids=lambda number: np.array([f"query {one}" for one in number])))
    for i, part in enumerate(cut(columns, [1234, 5])):
        pq.write_table(pa.table(part), tmp_path / f"part-{i}.parquet", row_group_size=500)
    return tmp_path, columns


@pytest.mark.parametrize("rows", [1, 7, 600, 65536])
def test_parquet(files, rows):
    folder, columns = files
    data = rankwood.Dataset.from_parquet(folder / "*.parquet", **COLUMNS, batch_rows=rows)
    assert_same(data, in_memory(columns), columns)
    paths = sorted(folder.iterdir())
    assert_same(rankwood.Dataset.from_parquet(paths, **COLUMNS), in_memory(columns), columns)
    only = rankwood.Dataset.from_parquet(str(paths[0]), **COLUMNS)
    first = {name: one[:1234] for name, one in columns.items()}
    assert_same(only, in_memory(first), first)


def test_parquet_reads_what_it_needs(files, monkeypatch):
    import pyarrow.parquet as pq

    folder, _ = files
    asked = []
    real = pq.ParquetFile.iter_batches

    def iter_batches(self, *args, columns, **more):
        asked.append(columns)
        return real(self, *args, columns=columns, **more)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    data = rankwood.Dataset.from_parquet(folder / "*.parquet", **COLUMNS)
    rankwood.train(PARAMS, data)
    assert asked == 3 * [["q", "y"]] + 3 * [FEATURES]
    model = rankwood.train(PARAMS, rankwood.Dataset.from_parquet(
        folder / "*.parquet", label="y", qid="q", ignore=["note", "few", "zeros"]))
    assert model.feature_names == ["real", "whole", "flag"]


def test_wrong_parquet(files, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder, columns = files
    with pytest.raises(rankwood.FileError, match=r"no file matches '.*none-\*\.parquet'"):
        rankwood.Dataset.from_parquet(folder / "none-*.parquet", **COLUMNS)
    with pytest.raises(rankwood.FileError, match=r"none\.parquet"):
        rankwood.Dataset.from_parquet(folder / "none.parquet", **COLUMNS)
    with pytest.raises(rankwood.DataError, match="no files"):
        rankwood.Dataset.from_parquet([], **COLUMNS)
    with pytest.raises(rankwood.DataError, match="no column 'grade' for label; there are 'q', 'few'"):
        rankwood.Dataset.from_parquet(folder / "*.parquet", label="grade", qid="q")
    with pytest.raises(rankwood.DataError, match="no column 'notes' to ignore"):
        rankwood.Dataset.from_parquet(folder / "*.parquet", label="y", qid="q", ignore=["notes"])
    with pytest.raises(rankwood.DataError, match="qid is a ndarray; expected the name of a column"):
        rankwood.Dataset.from_parquet(folder / "*.parquet", label="y", qid=np.zeros(3))
    with pytest.raises(rankwood.DataError, match="batch_rows is 0"):
        rankwood.Dataset.from_parquet(folder / "*.parquet", **COLUMNS, batch_rows=0)
    with pytest.raises(rankwood.DataError, match="column 'note' has strings; expected numbers"):
        rankwood.train(PARAMS, rankwood.Dataset.from_parquet(folder / "*.parquet", label="y", qid="q"))
    part = cut(columns, 40)[-1]
    del part["real"]
    pq.write_table(pa.table(part), folder / "part-8.parquet")
    with pytest.raises(rankwood.DataError, match=r"part-8\.parquet': no column 'real', but the first one has it"):
        rankwood.Dataset.from_parquet(folder / "*.parquet", **COLUMNS)
    data = rankwood.Dataset.from_parquet(folder / "*.parquet", label="y", qid="q", ignore=["note", "real"])
    assert data.feature_names == ["few", "zeros", "whole", "flag"]
    part["real"] = part["extra"] = part["flag"]
    pq.write_table(pa.table(part), folder / "part-8.parquet")
    with pytest.raises(rankwood.DataError, match=r"part-8\.parquet': column 'extra' is missing in the first one"):
        rankwood.Dataset.from_parquet(folder / "*.parquet", **COLUMNS)
    rankwood.Dataset.from_parquet(folder / "*.parquet", label="y", qid="q", ignore=["note", "extra"])
    (folder / "part-8.parquet").write_bytes(b"PAR1 but no more")
    with pytest.raises(rankwood.DataError, match=r"part-8\.parquet"):
        rankwood.Dataset.from_parquet(folder / "*.parquet", **COLUMNS)


def test_changed_file(files):
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder, columns = files
    data = rankwood.Dataset.from_parquet(folder / "*.parquet", **COLUMNS)
    pq.write_table(pa.table(cut(columns, 50)[-1]), folder / "part-2.parquet")
    with pytest.raises(rankwood.DataError, match="has 1289 documents of 3000; expected the same documents"):
        rankwood.train(PARAMS, data)


# ---- errors ----


def from_dicts(*parts, **more):
    return rankwood.Dataset.from_batches(lambda: iter(parts), **{"label": "y", "qid": "q"} | more)


def part_of(q, y=None, **more):
    x = np.arange(len(q), dtype=np.float32)
    return {"q": np.asarray(q), "y": np.zeros(len(q)) if y is None else np.asarray(y), "x": x} | more


def test_queries_that_come_back():
    message = (
        "query '7' appears again after another query\n"
        "hint: its documents are 0 to 2 and from 5 on (from 0); a query's documents must be consecutive"
    )
    data = from_dicts(part_of([7, 7]), part_of([7, 8]), part_of([8]), part_of([7, 9]))
    assert data.n_queries == 4
    with pytest.raises(rankwood.DataError) as error:
        rankwood.train(PARAMS, data)
    assert str(error.value) == message
    with pytest.raises(rankwood.DataError) as error:
        rankwood.evaluate(data, np.zeros(7))
    assert str(error.value) == message


@pytest.mark.parametrize(("parts", "message"), [
    ([], "there are no named columns"),
    ([part_of([])], "data has no documents"),
    ([part_of([1]), part_of([1, 2], [0, np.nan])],
     r"batch 1 \(from 0; from document 1 on\): label of document 1 \(from 0\) is nan"),
    ([part_of([1]), part_of([1.5])], r"batch 1 .*: qid has floats"),
    ([part_of([1]), {"q": np.zeros(2, int), "y": np.zeros(2)}], "batch 1 .*: no column 'x', but the first one has it"),
    ([part_of([1]), part_of([2], z=np.zeros(1))], "batch 1 .*: column 'z' is missing in the first one"),
    ([part_of([1, 2], y=[0])], r"batch 0 .*: columns of 1 and of 2 values"),
    ([part_of([1], z=np.zeros((1, 2)))], r"batch 0 .*: column 'z' has shape \(1, 2\)"),
    ([np.zeros((3, 4))], "batch 0 .*: a ndarray without column names"),
    ([3], "batch 0 .*: data is a int; expected"),
    ([part_of([1]), part_of([1]) | {"x": np.array(["a"])}], r"batch 1 .*: column 'x' has type <U1; expected numbers"),
])
def test_wrong_batches(parts, message):
    with pytest.raises(rankwood.DataError, match=message):
        from_dicts(*parts)


def test_column_qid():
    """Next to other query ids it is no feature, but an error, unless it is left out."""
    part = part_of([1, 1, 2, 2])
    batches = [{**part, "qid": np.arange(4)}]
    with pytest.raises(rankwood.DataError, match="has a column 'qid', and qid is also given"):
        rankwood.Dataset.from_batches(lambda: batches, label="y", qid="q")
    data = rankwood.Dataset.from_batches(lambda: batches, label="y", qid="q", ignore=["qid"])
    assert "qid" not in data.feature_names


def test_wrong_values():
    infinite = part_of([1, 1]) | {"x": np.array([1, np.inf])}
    data = from_dicts(part_of([1, 1]), infinite)
    with pytest.raises(rankwood.DataError, match=r"value of document 3 \(from 0\), feature 'x' is infinite"):
        rankwood.train(PARAMS, data)
    with pytest.raises(TypeError, match="make_reader is a list; expected a function"):
        rankwood.Dataset.from_batches([part_of([1])], label="y", qid="q")
    with pytest.raises(rankwood.DataError, match="make_reader returned a int; expected batches"):
        rankwood.Dataset.from_batches(lambda: 3, label="y", qid="q")


def test_other_data_in_a_pass():
    columns = without_weight(made())
    given = {"n": N}

    def make_reader():
        return cut({name: one[: given["n"]] for name, one in columns.items()}, 100)

    data = rankwood.Dataset.from_batches(make_reader, **COLUMNS)
    model = rankwood.train(PARAMS, in_memory(columns))
    for n in (N - 100, N - 1):
        given["n"] = n
        for use in (lambda: rankwood.train(PARAMS, data), lambda: model.predict(data), lambda: model.explain(data)):
            with pytest.raises(rankwood.DataError, match="expected the same documents in every pass"):
                use()
    data = rankwood.Dataset.from_batches(make_reader, **COLUMNS)
    given["n"] = N
    for use in (lambda: rankwood.train(PARAMS, data), lambda: model.predict(data), lambda: model.explain(data)):
        with pytest.raises(rankwood.DataError, match="expected the same documents in every pass"):
            use()


class MyError(Exception):
    pass


@pytest.mark.parametrize("kind", [MyError, KeyboardInterrupt])
def test_exception_of_a_reader(kind):
    """A reader's exception is raised unchanged, and the next training succeeds."""
    columns = without_weight(made())
    wrong = [None]

    def make_reader():
        for i, part in enumerate(cut(columns, 500)):
            if i == wrong[0]:
                raise kind("mine")
            yield part

    data = rankwood.Dataset.from_batches(make_reader, **COLUMNS)
    for wrong[0] in (0, 4):
        with pytest.raises(kind, match="mine"):
            rankwood.train(PARAMS, data)
    wrong[0] = None
    assert_same(data, in_memory(columns), columns)


PEAK = """
import resource, sys
import numpy as np
import rankwood

N, WIDTH, BATCH = 1_200_000, 60, 50_000

def make_reader():
    for first in range(0, N, BATCH):
        rng = np.random.default_rng(first)
        part = {f"f{i}": rng.random(BATCH, dtype=np.float32) for i in range(WIDTH)}
        part["q"] = np.arange(first, first + BATCH) // 50
        part["y"] = rng.integers(0, 3, BATCH)
        yield part

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data = rankwood.Dataset.from_batches(make_reader, label="y", qid="q")
data._for_training(rankwood._params.Params({"device": "cpu"}))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, 4 * N * WIDTH)
"""


def test_peak():
    """The values, 288 MB, are never in memory as a whole: only codes, a quarter of that, and a sample's values."""
    out = subprocess.run([sys.executable, "-c", PEAK], capture_output=True, text=True, check=False)
    assert out.returncode == 0, out.stderr
    peak, values = map(int, re.findall(r"\d+", out.stdout))
    assert peak < 1.2 * values / 4 + 262144 * 60 * 4 + 60e6 < 0.75 * values
