#!/usr/bin/env python3
"""What speed.py runs in the peers' environment: a process that takes jobs, a line of JSON each, from
standard input, and answers each with a line; it ends with its input. Needs numpy, and the package that
the job names. A job that fails is answered by {"reason": the last line said}.

Jobs (`do`):
  versions  of the packages that can be imported: {name: version}
  open      makes a peer's training data, binned, to be trained on again and again
  train     trains on that: {"ms": of a tree, after the first, "leaves": of a tree}, and writes scores
  load      a file to data: {"ms", "documents", "peak": bytes above the process's memory before}
  predict   dense documents in memory, Rankwood and LightGBM in turn: {"many", "one", "documents", ...}
"""
import ctypes
import importlib
import json
import os
import re
import sys
import time

import numpy

from common import Hooks, Library

PACKAGES = {"lightgbm": "lightgbm", "xgboost": "xgboost", "catboost": "catboost",
            "scikit-learn": "sklearn"}
MIN_DOCS, RATE, MOST_CATBOOST = 20, 0.1, 64


def ms_a_tree(stamps):
    """stamps: seconds, before the first tree and after each. The first tree, which includes the setup of some trainers,
    is left out."""
    return (stamps[-1] - stamps[1]) * 1e3 / (len(stamps) - 2)


# ---------------------------------------------------------------- training
# Each: open_x(data, bins, threads) -> state; train_x(state, setting) -> (stamps, leaves, predict).


def open_lightgbm(data, bins, threads):
    import lightgbm

    made = lightgbm.Dataset(data[0], data[1], group=data[2], params={
        "max_bin": bins, "min_data_in_leaf": MIN_DOCS, "num_threads": threads, "verbosity": -1})
    return made.construct()


def train_lightgbm(made, setting):
    import lightgbm

    threads = setting["threads"]
    model = lightgbm.Booster({
        "objective": "lambdarank", "num_leaves": setting["leaves"], "learning_rate": RATE,
        "min_data_in_leaf": MIN_DOCS, "max_bin": setting["bins"], "num_threads": threads,
        "seed": 1, "verbosity": -1}, made)
    stamps = [time.perf_counter()]
    for _ in range(setting["trees"]):
        model.update()
        stamps.append(time.perf_counter())
    leaves = [int(n) for n in re.findall(r"^num_leaves=(\d+)$", model.model_to_string(), re.M)]
    return stamps, leaves, lambda values: model.predict(values, num_threads=threads)


def open_xgboost(data, bins, threads):
    import xgboost

    qid = numpy.repeat(numpy.arange(len(data[2])), data[2])
    return xgboost.QuantileDMatrix(data[0], data[1], qid=qid, max_bin=bins, nthread=threads)


def train_xgboost(made, setting):
    import xgboost

    model = xgboost.Booster({
        "objective": "rank:ndcg", "tree_method": "hist", "device": "cpu",
        "grow_policy": "lossguide", "max_leaves": setting["leaves"], "max_depth": 0, "eta": RATE,
        "max_bin": setting["bins"], "nthread": setting["threads"], "verbosity": 0, "seed": 1},
        [made])
    stamps = [time.perf_counter()]
    for i in range(setting["trees"]):
        model.update(made, i)
        stamps.append(time.perf_counter())
    leaves = [tree.count("leaf=") for tree in model.get_dump()]
    return stamps, leaves, lambda values: model.predict(xgboost.DMatrix(values))


def open_catboost(data, bins, threads):
    import catboost

    ids = numpy.repeat(numpy.arange(len(data[2])), data[2])
    pool = catboost.Pool(data[0], data[1], group_id=ids, thread_count=threads)
    pool.quantize(border_count=bins, task_type="CPU")
    return pool


def train_catboost(pool, setting):
    """leaves a power of 2 with `symmetric`: so many in trees of whole levels."""
    import catboost

    stamps = []

    class Clock:
        def after_iteration(self, _info):
            stamps.append(time.perf_counter())
            return True

    grow = ({"depth": setting["leaves"].bit_length() - 1} if setting.get("symmetric") else
            {"grow_policy": "Lossguide", "max_leaves": min(setting["leaves"], MOST_CATBOOST),
             "min_data_in_leaf": MIN_DOCS})
    model = catboost.CatBoost({
        "loss_function": "YetiRank", "iterations": setting["trees"], "learning_rate": RATE,
        "thread_count": setting["threads"], "random_seed": 1, "logging_level": "Silent",
        "metric_period": setting["trees"], "allow_writing_files": False, **grow})
    start = time.perf_counter()
    model.fit(pool, callbacks=[Clock()])
    leaves = [int(n) for n in model.get_tree_leaf_counts()]
    return [start, *stamps], leaves, model.predict


class Training:
    """A peer's training data, and held-out values to score."""

    def __init__(self, job):
        self.peer = job["peer"]
        library = Library(job["library"], job["threads"])
        self.test = library.arrays(library.read([job["test"]]))[0]
        data = library.arrays(library.read([job["train"]]))
        self.made = globals()["open_" + self.peer](data, job["bins"], job["threads"])

    def train(self, setting):
        stamps, leaves, predict = globals()["train_" + self.peer](self.made, setting)
        if setting.get("scores"):
            with open(setting["scores"], "w") as file:
                file.writelines(f"{float(s)!r}\n" for s in predict(self.test))
        return {"ms": ms_a_tree(stamps), "leaves": float(numpy.mean(leaves))}


# ---------------------------------------------------------------- loading
# Each: load_x(job) -> (seconds, documents, peak bytes).


def memory(name):
    """Bytes of a line of the system's: VmRSS, VmHWM. None: not known."""
    try:
        with open("/proc/self/status") as file:
            found = re.search(rf"^{name}:\s*(\d+) kB", file.read(), re.M)
    except OSError:
        return None
    return found and int(found[1]) * 1024


def forget_peak():
    """Resets the peak to the current memory."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return None
    return memory("VmRSS")


def load_rankwood(job):
    """With `ready`, until the first tree can be grown, which is the end of a stage."""
    library = Library(job["library"], job["threads"])
    params, model, end = ctypes.c_void_p(), ctypes.c_void_p(), []
    library.call("rw_params_new", ctypes.byref(params))
    for name, value in (("device", "cpu"), ("rounds", "1"), ("leaves", "2"),
                        ("bins", str(job["bins"])), ("threads", str(job["threads"]))):
        library.call("rw_params_set", params, name.encode(), value.encode())

    def on_stage(_user, stage, _ms, _bytes):
        if stage == b"cuts and codes":
            end.append((time.perf_counter(), memory("VmHWM")))

    hooks = Hooks(on_stage=Hooks.STAGE(on_stage))
    start = time.perf_counter()
    data = library.read([job["path"]])
    if job["ready"]:
        library.call("rw_train", params, data, None, 0, ctypes.byref(hooks), ctypes.byref(model))
    else:
        end.append((time.perf_counter(), memory("VmHWM")))
    return end[0][0] - start, library.lib.rw_dataset_n_docs(data), end[0][1]


def load_lightgbm(job):
    import lightgbm

    start = time.perf_counter()
    made = lightgbm.Dataset(job["path"], params={"max_bin": job["bins"], "verbosity": -1,
                                                 "num_threads": job["threads"]}).construct()
    return time.perf_counter() - start, made.num_data(), memory("VmHWM")


def load_xgboost(job):
    """With `ready`, a tree of one split: it bins first."""
    import xgboost

    start = time.perf_counter()
    made = xgboost.DMatrix(job["path"] + "?format=libsvm", nthread=job["threads"])
    if job["ready"]:
        xgboost.Booster({"objective": "reg:squarederror", "tree_method": "hist", "max_depth": 1,
                         "max_bin": job["bins"], "nthread": job["threads"], "verbosity": 0},
                        [made]).update(made, 0)
    return time.perf_counter() - start, made.num_row(), memory("VmHWM")


def load_catboost(job):
    import catboost

    start = time.perf_counter()
    pool = catboost.Pool("libsvm://" + job["path"], thread_count=job["threads"])
    if job["ready"]:
        pool.quantize(border_count=job["bins"], task_type="CPU")
    return time.perf_counter() - start, pool.num_row(), memory("VmHWM")


def load_sklearn(job):
    from sklearn.datasets import load_svmlight_file

    start = time.perf_counter()
    values, _, _ = load_svmlight_file(job["path"], query_id=True, dtype=numpy.float32)
    return time.perf_counter() - start, values.shape[0], memory("VmHWM")


def do_load(job):
    module = PACKAGES.get(job["peer"])
    if module:  # its import is no part of loading
        importlib.import_module(module)
        if module == "sklearn":
            importlib.import_module("sklearn.datasets")
    held = forget_peak()
    seconds, documents, peak = globals()["load_" + (module or "rankwood")](job)
    return {"ms": seconds * 1e3, "documents": int(documents),
            "peak": None if held is None or peak is None else max(0, peak - held)}


# ---------------------------------------------------------------- prediction


class Ours:
    """A Rankwood model made ready to score. Rows are [n_docs][n_ids], by feature id."""

    def __init__(self, library, model):
        self.lib = library.lib
        self.ctx, self.model, self.scorer = library.ctx, ctypes.c_void_p(), ctypes.c_void_p()
        self.lib.rw_scorer_one.restype = ctypes.c_double
        self.lib.rw_scorer_one.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
        library.call("rw_model_read", os.fsencode(model), ctypes.byref(self.model))
        library.call("rw_scorer_new", self.model, 0, ctypes.byref(self.scorer))

    def many(self, values, scores):
        if self.lib.rw_scorer_rows(self.ctx, self.scorer, ctypes.c_void_p(values.ctypes.data), *values.shape,
                                   0, ctypes.c_void_p(scores.ctypes.data)) < 0:
            raise SystemExit("Rankwood: rw_scorer_rows fails")

    def one(self, rows, n_ids, scores):
        call, scorer = self.lib.rw_scorer_one, self.scorer
        start = time.perf_counter()
        found = [call(scorer, row, n_ids, 0) for row in rows]
        seconds = time.perf_counter() - start
        scores[: len(rows)] = found
        return seconds


class LightGBM:
    """Its C interface, one thread, raw scores."""

    FLOAT32, RAW_SCORE = 0, 1

    def __init__(self, model, n_ids):
        import lightgbm

        self.lib = ctypes.CDLL(lightgbm.basic._LIB._name)
        self.lib.LGBM_GetLastError.restype = ctypes.c_char_p
        self.model, self.fast, trees = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        self.call("LGBM_BoosterCreateFromModelfile", os.fsencode(model), ctypes.byref(trees),
                  ctypes.byref(self.model))
        self.call("LGBM_BoosterPredictForMatSingleRowFastInit", self.model, self.RAW_SCORE, 0, -1,
                  self.FLOAT32, n_ids, b"num_threads=1 verbosity=-1", ctypes.byref(self.fast))

    def call(self, function, *arguments):
        if getattr(self.lib, function)(*arguments):
            raise SystemExit("LightGBM: " + self.lib.LGBM_GetLastError().decode())

    def many(self, values, scores):
        n = ctypes.c_int64()
        self.call("LGBM_BoosterPredictForMat", self.model, ctypes.c_void_p(values.ctypes.data),
                  self.FLOAT32, values.shape[0], values.shape[1], 1, self.RAW_SCORE, 0, -1,
                  b"num_threads=1 verbosity=-1", ctypes.byref(n),
                  ctypes.c_void_p(scores.ctypes.data))

    def one(self, rows, _n_ids, scores):
        call, n = self.lib.LGBM_BoosterPredictForMatSingleRowFast, ctypes.c_int64()
        call.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        length = ctypes.addressof(n)
        out = [scores.ctypes.data + 8 * i for i in range(len(rows))]
        fast = self.fast
        start = time.perf_counter()
        for row, score in zip(rows, out):
            call(fast, row, length, score)
        return time.perf_counter() - start


def seconds_of(call, *arguments):
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def do_predict(job):
    """Both score the same rows, by turns, after a turn that is not counted."""
    library = Library(job["library"], 1)
    ids = list(range(job["n_ids"]))
    values = library.arrays(library.read([job["data"]]), ids)[0]
    if job["documents"]:
        values = numpy.ascontiguousarray(values[: job["documents"]])
    n_docs, n_ids = values.shape
    ways = {"rankwood": Ours(library, job["model"])}
    answer = {"documents": n_docs, "many": {}, "one": {}, "call_us": []}
    try:
        ways["lightgbm"] = LightGBM(job["lightgbm"], n_ids)
    except (ImportError, AttributeError, OSError, SystemExit) as failure:
        answer["reason_lightgbm"] = str(failure)
    rows = [values.ctypes.data + 4 * n_ids * i for i in range(min(n_docs, job["one"]))]
    blank = library.lib.rw_dataset_has_feature  # a look into an array: a call, and little more
    data = library.synth("letor", 1, 1)
    scores = {name: numpy.full(n_docs, numpy.nan) for name in ways}
    single = {name: numpy.full(len(rows), numpy.nan) for name in ways}
    for turn in range(-1, job["reps"]):
        for name, way in ways.items():
            many = seconds_of(way.many, values, scores[name]) / n_docs * 1e9
            one = way.one(rows, n_ids, single[name]) / len(rows) * 1e6
            if turn >= 0:
                answer["many"].setdefault(name, []).append(many)
                answer["one"].setdefault(name, []).append(one)
        start = time.perf_counter()
        for _ in rows:
            blank(data, 1)
        answer["call_us"].append((time.perf_counter() - start) / len(rows) * 1e6)
    ours = scores["rankwood"]
    answer["equal"] = bool((single["rankwood"] == ours[: len(rows)]).all())
    for name in set(ways) - {"rankwood"}:
        answer["difference"] = float(max(numpy.abs(ours - scores[name]).max(),
                                         numpy.abs(ours[: len(rows)] - single[name]).max()))
    return answer


# ---------------------------------------------------------------- jobs


def do_versions(_job):
    found = {}
    for name, module in PACKAGES.items():
        try:
            found[name] = importlib.import_module(module).__version__
        except Exception as failure:  # a library that it needs may be missing
            found[name] = None
            found[name + " reason"] = (str(failure).strip() or repr(failure)).splitlines()[-1]
    return found


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    training = None
    for line in sys.stdin:
        job = json.loads(line)
        try:
            if job["do"] == "open":
                training, answer = Training(job), {}
            elif job["do"] == "train":
                answer = training.train(job)
            else:
                answer = {"versions": do_versions, "load": do_load, "predict": do_predict}[
                    job["do"]](job)
        except (Exception, SystemExit) as failure:
            answer = {"reason": (str(failure).strip() or repr(failure)).splitlines()[-1]}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
