"""parquet.py: measures the memory needed to bin Parquet files that are larger than memory. Writes the files: a third
each of few-valued, continuous and mostly zero float32 columns. A separate process then makes a data set of them and its
codes. Prints the increase of peak resident memory after the imports, in bytes and as a multiple of the result: codes
and labels.

    python3 tests/peers/parquet.py [--documents N] [--features N] [--files N] [--row-group N] [--folder FOLDER] [--threads N]
                                   [--table] [--train ROUNDS] [--most X]

Needs the package, numpy and pyarrow. --table makes the same of one pyarrow table in memory, for comparison. Exit 1 if
the peak is above --most times the codes and labels, and 512 MiB."""
import argparse
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20
PER_QUERY = 120


def column(rng, kind, n):
    import numpy as np

    if kind == 0:
        return rng.integers(0, 40, n).astype(np.float32)
    values = rng.random(n, dtype=np.float32)
    if kind == 2:
        values[rng.random(n, dtype=np.float32) < 0.95] = 0
    return values


def write_file(job):
    """One of the files: documents [first, end); the first one may continue a query."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, first, end, features, row_group = job
    rng = np.random.default_rng(first)
    writer = None
    while first < end:
        n = min(row_group, end - first)
        columns = {"label": rng.integers(0, 5, n).astype(np.int8)}
        columns["qid"] = np.arange(first, first + n, dtype=np.int64) // PER_QUERY
        columns |= {f"f{c}": column(rng, c % 3, n) for c in range(features)}
        batch = pa.table(columns)
        if writer is None:
            writer = pq.ParquetWriter(path, batch.schema)
        writer.write_table(batch)
        first += n
    writer.close()


def write_files(folder, a):
    """Files whose ends split queries, several at a time."""
    ends = [a.documents * (i + 1) // a.files for i in range(a.files)]
    jobs = [
        (os.path.join(folder, f"part-{i:03d}.parquet"), ends[i - 1] if i else 0, ends[i], a.features, a.row_group)
        for i in range(a.files)
    ]
    with multiprocessing.get_context("spawn").Pool(min(a.files, os.cpu_count())) as pool:
        pool.map(write_file, jobs, chunksize=1)


def resident():
    """MiB now, and at most so far."""
    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[1]) * resource.getpagesize()
    return now / MIB, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(folder, a):
    import numpy  # noqa: F401
    import pyarrow.parquet as pq

    import rankwood
    from rankwood._core import check, context, ffi, lib
    from rankwood._params import Params

    pattern = os.path.join(folder, "part-*.parquet")
    before = resident()[0]
    start = time.monotonic()
    if a.table:
        table = pq.read_table(folder)
        data = rankwood.Dataset(table, "label", qid="qid")
    else:
        data = rankwood.Dataset.from_parquet(pattern, label="label", qid="qid")
    opened = time.monotonic()
    params = Params({"device": "cpu"} | ({"threads": a.threads} if a.threads else {}))
    binned = data._for_training(params)
    seconds = time.monotonic() - start
    now, peak = resident()
    plan = ffi.new("struct rw_plan *")
    check(lib.rw_train_plan(context(), params.c, ffi.new("struct rw_training *", {"binned": binned}), plan))
    codes = next(plan.part[i].bytes for i in range(plan.n_parts) if ffi.string(plan.part[i].name) == b"codes")
    kept = (codes + 4 * len(data)) / MIB
    size = sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) / MIB
    print(f"{len(data)} documents x {data.n_features} float32 features, {size:.0f} MiB of Parquet, "
          f"{4 * len(data) * data.n_features / MIB:.0f} MiB of values, {os.cpu_count()} processors")
    print(f"seconds            {seconds:9.1f}, of which labels and queries {opened - start:.1f}")
    print(f"codes and labels   {kept:9.0f} MiB")
    print(f"resident at end    {now - before:9.0f} MiB over {before:.0f} after imports")
    print(f"peak               {peak - before:9.0f} MiB, {(peak - before) / kept:.3f} of codes and labels")
    print(f"peak - 512 MiB     {(peak - before - 512) / kept:9.3f} of codes and labels; at most {a.most}")
    if a.train:
        start = time.monotonic()
        model = rankwood.train({"device": "cpu", "rounds": a.train}, data)
        print(f"{model.n_trees} trees, {time.monotonic() - start:.1f} s, "
              f"peak {resident()[1] - before:.0f} MiB")
    return (peak - before - 512) / kept <= a.most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--files", type=int, default=4, help="[4]")
    parser.add_argument("--row-group", type=int, default=65536, help="documents of a row group [65536]")
    parser.add_argument("--folder", help="where the files are, or are made if it has none [a temporary one]")
    parser.add_argument("--threads", type=int, default=0, help="[all]")
    parser.add_argument("--table", action="store_true", help="of one table in memory")
    parser.add_argument("--train", type=int, default=0, help="rounds to train afterwards [0]")
    parser.add_argument("--most", type=float, default=1.2, help="greatest ratio [1.2]")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    a = parser.parse_args()
    if a.measure:
        sys.exit(0 if measure(a.folder, a) else 1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.folder or temporary
        os.makedirs(folder, exist_ok=True)
        if not any(name.endswith(".parquet") for name in os.listdir(folder)):
            write_files(folder, a)
        again = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--measure", "--folder", folder]
        sys.exit(subprocess.run(again, check=False).returncode)


if __name__ == "__main__":
    main()
