"""frame.py: measures the wall time from a data frame or a Parquet file to an exported model whose scores were verified.
Compares Rankwood with LightGBM and XGBoost, each in a separate process, in turn on the same data.

    python3 tests/peers/frame.py [--queries N] [--rounds N] [--leaves N] [--threads N] [--reps N] [--folder FOLDER]
                                 [--peers LIST] [--bars]

Makes documents of the mslr30k shape and writes them as Parquet. The input, in turn:
  frame    a pandas data frame in memory, float32 columns, label and query among them
  parquet  the file; a peer reads it by pyarrow

The steps: a data set, a model of --rounds trees (255 bins, rate 0.1, 20 documents per leaf, every feature in every
tree, otherwise defaults), its file, and the model read from that file. Both must give equal scores for all documents.
Rankwood writes and reads a LightGBM file. The time excludes making the frame, imports and starting Python.

Needs the package, numpy, pandas, pyarrow and the peers. The figures are medians of --reps turns (3); --bars: exit 1 if
LightGBM takes less than 2.5 times as long."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import given  # noqa: E402

BAR = 2.5
LABEL, QUERY = "label", "query"


def make(path, queries):
    import numpy as np
    import pandas as pd

    import rankwood

    values, labels, query = rankwood.synth("mslr30k", queries)
    frame = pd.DataFrame({f"f{i}": values[:, i] for i in range(values.shape[1])}, copy=True)
    frame[LABEL], frame[QUERY] = labels.astype(np.float32), query
    frame.to_parquet(path, index=False)
    return frame.shape


def table_of(source):
    if not isinstance(source, str):
        return source
    import pandas as pd

    return pd.read_parquet(source)


def rankwood_steps(source, path, args, clock):
    import numpy as np

    import rankwood

    names = {"label": LABEL, "qid": QUERY}
    make_data = rankwood.Dataset.from_parquet if isinstance(source, str) else rankwood.Dataset
    data = make_data(source, **names)
    clock("data")
    model = rankwood.train({"rounds": args.rounds, "leaves": args.leaves, "rate": 0.1, "min_docs": 20, "bins": 255,
                            "sample_features": 1, "threads": args.threads, "device": "cpu"}, data)
    clock("train")
    model.export(path, "lightgbm")
    there = rankwood.Model.import_from(path, "lightgbm")
    documents = table_of(source).drop(columns=[LABEL, QUERY])
    same = np.array_equal(model.predict(documents), there.predict(documents))
    clock("verified export")
    return same, model.n_trees


def groups(query):
    import numpy as np

    return np.diff(np.flatnonzero(np.concatenate(([True], query[1:] != query[:-1], [True]))))


def lightgbm_steps(source, path, args, clock):
    import lightgbm
    import numpy as np

    table = table_of(source)
    documents = table.drop(columns=[LABEL, QUERY])
    params = {"objective": "lambdarank", "num_leaves": args.leaves, "learning_rate": 0.1, "min_data_in_leaf": 20,
              "max_bin": 255, "num_threads": args.threads, "verbosity": -1}
    data = lightgbm.Dataset(documents, table[LABEL], group=groups(table[QUERY].to_numpy()), params=params)
    data.construct()
    clock("data")
    model = lightgbm.train(params, data, args.rounds)
    clock("train")
    model.save_model(path)
    there = lightgbm.Booster(model_file=path)
    same = np.array_equal(model.predict(documents, num_threads=args.threads),
                          there.predict(documents, num_threads=args.threads))
    clock("verified export")
    return same, model.num_trees()


def xgboost_steps(source, path, args, clock):
    import numpy as np
    import xgboost

    table = table_of(source)
    documents = table.drop(columns=[LABEL, QUERY])
    data = xgboost.QuantileDMatrix(documents, table[LABEL], qid=table[QUERY], max_bin=255, nthread=args.threads)
    clock("data")
    model = xgboost.train({"objective": "rank:ndcg", "tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0,
                           "max_leaves": args.leaves, "eta": 0.1, "min_child_weight": 1, "max_bin": 255,
                           "nthread": args.threads}, data, args.rounds)
    clock("train")
    model.save_model(path)
    there = xgboost.Booster({"nthread": args.threads}, model_file=path)
    same = np.array_equal(model.inplace_predict(documents), there.inplace_predict(documents))
    clock("verified export")
    return same, model.num_boosted_rounds()


STEPS = {"rankwood": (rankwood_steps, "model.txt"), "lightgbm": (lightgbm_steps, "model.txt"),
         "xgboost": (xgboost_steps, "model.json")}


def measure(args):
    """In a process of its own: seconds of each step, to standard output."""
    steps, file = STEPS[args.measure]
    __import__(args.measure)
    import pandas as pd
    import pyarrow.parquet  # noqa: F401  what reading needs is imported before the clock starts

    source = args.data if args.source == "parquet" else pd.read_parquet(args.data)
    seconds, began = {}, [time.perf_counter()]

    def clock(step):
        now = time.perf_counter()
        seconds[step] = now - began[0]
        began[0] = now

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        same, trees = steps(source, os.path.join(folder, file), args, clock)
    print(json.dumps({"seconds": seconds, "same": bool(same), "trees": trees}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=255)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--reps", type=int, default=3)
    parser.add_argument("--folder", type=given.folder, help="where files are made")
    parser.add_argument("--peers", default="lightgbm,xgboost")
    parser.add_argument("--bars", action="store_true")
    parser.add_argument("--measure", choices=STEPS, help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    parser.add_argument("--data", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure(args)
    who = ["rankwood", *filter(None, args.peers.split(","))]
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        data = os.path.join(folder, "data.parquet")
        documents, columns = make(data, args.queries)
        print(f"{documents} documents, {columns - 2} features, {args.rounds} trees of {args.leaves} leaves, "
              f"{args.threads} threads; medians of {args.reps} turns, seconds")
        print(f"{'source':<9}{'trainer':<11}{'data':>8}{'train':>8}{'verified export':>17}{'in all':>9}{'ratio':>8}")
        missed = False
        for source in ("frame", "parquet"):
            told = {name: [] for name in who}
            for _ in range(args.reps):
                for name in who:
                    done = subprocess.run(
                        [sys.executable, os.path.abspath(__file__), "--measure", name, "--source", source,
                         "--data", data, "--folder", folder, "--rounds", str(args.rounds),
                         "--leaves", str(args.leaves), "--threads", str(args.threads)],
                        check=True, stdout=subprocess.PIPE, text=True)
                    told[name].append(json.loads(done.stdout))
            whole = {}
            for name in who:
                rows = [one["seconds"] for one in told[name]]
                if not all(one["same"] for one in told[name]):
                    raise SystemExit(f"frame.py: {name}: scores of the file's model differ")
                whole[name] = statistics.median(sum(row.values()) for row in rows)
                steps = [statistics.median(row[step] for row in rows) for step in ("data", "train", "verified export")]
                print(f"{source:<9}{name:<11}{steps[0]:>8.2f}{steps[1]:>8.2f}{steps[2]:>17.2f}{whole[name]:>9.2f}"
                      f"{whole[name] / whole['rankwood']:>8.2f}", flush=True)
            missed |= "lightgbm" in whole and whole["lightgbm"] < BAR * whole["rankwood"]
    return int(args.bars and missed)


if __name__ == "__main__":
    sys.exit(main())
