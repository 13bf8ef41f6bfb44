#!/usr/bin/env python3
"""What gpu.py runs in the peers' environment: gpu_jobs.py JOB.json, the answer on the last line of
standard output. Needs numpy, and the peer that the job names.

Jobs (`job`):
  probe    can the peer train on the device at all? {"version"}
  trees    trains settings on made data: {"rows": [{"ms", "least_ms", ..., "mean_leaves"}]}
  scores   trains on one file, stops by a second (`stop`, if given), writes scores of another, a line each:
           {"trees", "mean_leaves", "seconds"}
  race     trains XGBoost by one process a GPU, writes scores of another file after every so many
           trees: {"seconds": [of training until then, ...], "load_seconds"}
  like     makes data with another generator, split into two caches
What fails ends the job; its last line on standard error is the reason that gpu.py shows.
"""
import contextlib
import importlib.util
import json
import multiprocessing
import re
import sys
import time

import numpy

from common import TOP, Library

FIRST_TREE = 10


# ---------------------------------------------------------------- peers
# Each: train(data, setting, device, threads, n_trees, stop) -> (predict, seconds per tree, leaves per tree). Equal
# settings where a peer has them: lambdarank, leaves, rate 0.1, bins, 20 documents per leaf. stop: (data to stop by,
# trees to wait for a better NDCG@10), or None. The trees until the best are used.


class Best:
    """The tree after which NDCG was best."""

    def __init__(self, patience):
        self.patience, self.trees, self.value = patience, 0, -1.0

    def is_past(self, trees, value):
        """Whether `value`, after so many trees, is the one to stop at."""
        if value > self.value:
            self.trees, self.value = trees, value
        return trees - self.trees >= self.patience


def lightgbm_train(data, setting, device, threads, n_trees, stop=None):
    import lightgbm

    params = {"objective": "lambdarank", "num_leaves": setting["leaves"], "learning_rate": 0.1,
              "min_data_in_leaf": 20, "max_bin": setting["bins"], "num_threads": threads,
              "device_type": device, "seed": setting["seed"], "deterministic": True,
              "verbosity": -1, "metric": "ndcg" if stop else "none", "eval_at": [TOP]}
    made = lightgbm.Dataset(data[0], data[1], group=data[2], params=params)
    model = lightgbm.Booster(params, made)
    if stop:
        held = lightgbm.Dataset(stop[0][0], stop[0][1], group=stop[0][2], reference=made)
        model.add_valid(held, "stop")
        best = Best(stop[1])
    seconds = []
    for i in range(n_trees):
        start = time.perf_counter()
        model.update()
        seconds.append(time.perf_counter() - start)
        if stop and best.is_past(i + 1, model.eval_valid()[0][2]):
            break
    n_used = best.trees if stop else n_trees
    leaves = [int(n) for n in re.findall(r"^num_leaves=(\d+)$", model.model_to_string(num_iteration=n_used), re.M)]
    return (lambda values: model.predict(values, num_iteration=n_used, num_threads=threads)), seconds, leaves


def xgboost_params(setting, device, threads):
    """setting["grow"]: its grow_policy, default lossguide."""
    grow = setting.get("grow", "lossguide")
    depth = 0 if grow == "lossguide" else int(numpy.ceil(numpy.log2(setting["leaves"])))
    return {"objective": "rank:ndcg", "tree_method": "hist", "device": device,
            "grow_policy": grow, "max_leaves": setting["leaves"], "max_depth": depth,
            "eta": 0.1, "max_bin": setting["bins"], "nthread": threads, "verbosity": 0,
            "seed": setting["seed"]}


def xgboost_matrix(data, setting, threads):
    import xgboost

    qid = numpy.repeat(numpy.arange(len(data[2])), data[2])
    return xgboost.QuantileDMatrix(data[0], data[1], qid=qid, max_bin=setting["bins"],
                                   nthread=threads)


def xgboost_train(data, setting, device, threads, n_trees, stop=None):
    import xgboost

    made = xgboost_matrix(data, setting, threads)
    params = {**xgboost_params(setting, device, threads), "eval_metric": f"ndcg@{TOP}"}
    model = xgboost.Booster(params, [made])
    if stop:
        qid = numpy.repeat(numpy.arange(len(stop[0][2])), stop[0][2])
        held = xgboost.DMatrix(stop[0][0], stop[0][1], qid=qid, nthread=threads)
        best = Best(stop[1])
    seconds = []
    for i in range(n_trees):
        start = time.perf_counter()
        model.update(made, i)
        seconds.append(time.perf_counter() - start)
        if stop and best.is_past(i + 1, float(model.eval(held).rsplit(":", 1)[1])):
            break
    used = json.loads(model.save_config())["learner"]["generic_param"]["device"]
    if used.split(":")[0] != device:  # it continues without a GPU, with a warning
        raise SystemExit(f"XGBoost trained on '{used}'")
    n_used = best.trees if stop else n_trees
    leaves = [tree.count("leaf=") for tree in model.get_dump()[:n_used]]

    def predict(values):
        return model.predict(xgboost.DMatrix(values, nthread=threads), iteration_range=(0, n_used))

    return predict, seconds, leaves


def catboost_train(data, setting, device, threads, n_trees, stop=None):
    """The time of a tree is the slope between a short and a long training; with `stop`, the long one's mean."""
    import catboost

    def pool_of(values, labels, sizes):
        return catboost.Pool(values, labels, group_id=numpy.repeat(numpy.arange(len(sizes)), sizes))

    if setting["bins"] > 255:
        raise SystemExit("CatBoost has at most 255 borders here")
    pool = pool_of(*data)
    stopped = {"eval_set": pool_of(*stop[0]), "early_stopping_rounds": stop[1]} if stop else {}

    def fit(n):
        model = catboost.CatBoost({
            "loss_function": "YetiRank", "eval_metric": f"NDCG:top={TOP}", "iterations": n, "learning_rate": 0.1,
            "grow_policy": "Lossguide", "max_leaves": min(setting["leaves"], 64),
            "min_data_in_leaf": 20, "border_count": setting["bins"], "thread_count": threads,
            "task_type": "GPU" if device == "cuda" else "CPU",
            "random_seed": setting["seed"], "logging_level": "Silent",
            "allow_writing_files": False})
        start = time.perf_counter()
        model.fit(pool, **stopped)
        return model, time.perf_counter() - start

    few = 0 if stop else max(1, n_trees // 10)
    short, (model, long) = fit(few)[1] if few else 0.0, fit(n_trees)
    seconds = [(long - short) / max(1, n_trees - few)] * n_trees
    return model.predict, seconds, list(model.get_tree_leaf_counts())


TRAIN = {"lightgbm": lightgbm_train, "xgboost": xgboost_train, "catboost": catboost_train}


# ---------------------------------------------------------------- jobs


def figures(seconds, leaves):
    n = len(seconds)
    first = min(FIRST_TREE, max(2, n // 10))
    ms = sorted(s * 1e3 for s in seconds[first - 1 :])
    return {"ms": float(numpy.median(ms)), "least_ms": ms[0], "q1_ms": ms[(len(ms) - 1) // 4],
            "q3_ms": ms[len(ms) - 1 - (len(ms) - 1) // 4], "most_ms": ms[-1],
            "mean_leaves": float(numpy.mean(leaves[first - 1 :]))}


def job_probe(job):
    rng = numpy.random.default_rng(1)
    values = rng.random((400, 4), dtype=numpy.float32)
    data = (values, (values[:, 0] * 3).astype(int), numpy.full(20, 20))
    TRAIN[job["peer"]](data, {"leaves": 4, "bins": 15, "seed": 1}, job["device"], 1, 2)
    return {"version": sys.modules[job["peer"]].__version__}


def job_trees(job):
    library = Library(job["library"], job["threads"])
    data = library.arrays(library.synth(job["shape"], job["queries"], job["seed"]))
    rows = []
    for setting in job["settings"]:
        try:
            _, seconds, leaves = TRAIN[job["peer"]](data, setting, job["device"], job["threads"],
                                                    job["trees"])
            rows.append({**setting, **figures(seconds, leaves)})
        except (Exception, SystemExit) as failure:
            rows.append({**setting, "reason": str(failure).strip().splitlines()[-1]})
    return {"documents": int(data[2].sum()), "rows": rows}


def job_scores(job):
    library = Library(job["library"], job["threads"])
    train = library.arrays(library.read([job["train"]]))
    stop = (library.arrays(library.read([job["stop"]])), job["patience"]) if job.get("stop") else None
    start = time.perf_counter()
    predict, _, leaves = TRAIN[job["peer"]](train, job["setting"], job["device"], job["threads"],
                                            job["trees"], stop)
    seconds = time.perf_counter() - start
    del train
    test = library.arrays(library.read([job["test"]]))[0]
    with open(job["scores"], "w") as file:
        file.writelines(f"{float(s)!r}\n" for s in predict(test))
    return {"trees": len(leaves), "mean_leaves": float(numpy.mean(leaves)), "seconds": seconds}


def share(data, rank, n_ranks):
    """Whole queries."""
    values, labels, sizes = data
    offsets = numpy.concatenate([[0], numpy.cumsum(sizes)])
    first, end = (len(sizes) * r // n_ranks for r in (rank, rank + 1))
    docs = slice(offsets[first], offsets[end])
    return values[docs], labels[docs], sizes[first:end]


def race_rank(job, rank, tracker, answers):
    """One of job["ranks"] processes, each with a GPU of its own."""
    try:
        race_here(job, rank, tracker, answers)
    except Exception as failure:
        answers.put({"failed": f"process {rank}: {failure!r}"})
        raise


def race_here(job, rank, tracker, answers):
    import xgboost

    library = Library(job["library"], job["threads"])
    data = share(library.arrays(library.read([job["train"]])), rank, job["ranks"])
    setting, device = job["setting"], job["device"]
    if device == "cuda":
        device = f"cuda:{rank}"
    alone = contextlib.nullcontext()  # the other asserts that there are others
    with xgboost.collective.CommunicatorContext(**tracker) if tracker else alone:
        start = time.perf_counter()
        made = xgboost_matrix(data, setting, job["threads"])
        model = xgboost.Booster(xgboost_params(setting, device, job["threads"]), [made])
        load = time.perf_counter() - start
        del data
        spent, seconds, leaves = 0.0, [], []
        scored = xgboost.DMatrix(library.arrays(library.read([job["test"]]))[0],
                                 nthread=job["threads"])
        for i in range(job["trees"]):
            if tracker:
                xgboost.collective.broadcast(i, 0)  # all begin together
            start = time.perf_counter()
            model.update(made, i)
            spent += time.perf_counter() - start
            if (i + 1) % job["every"] == 0:
                seconds.append(spent)
                scores = model.predict(scored)  # by all, since it may ask the others
                if rank == 0:
                    with open(f"{job['scores']}.{i + 1}", "w") as file:
                        file.writelines(f"{float(s)!r}\n" for s in scores)
        used = json.loads(model.save_config())["learner"]["generic_param"]["device"]
        if rank == 0:
            leaves = [tree.count("leaf=") for tree in model.get_dump()]
            answers.put({"seconds": seconds, "load_seconds": load, "device": used,
                         "mean_leaves": float(numpy.mean(leaves))})


def job_race(job):
    import xgboost.tracker

    n, tracker, arguments = job["ranks"], None, {}
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    if n > 1:
        tracker = xgboost.tracker.RabitTracker(host_ip="127.0.0.1", n_workers=n)
        tracker.start()
        arguments = tracker.worker_args()
        if job.get("nccl"):
            arguments["dmlc_nccl_path"] = job["nccl"]
    ranks = [context.Process(target=race_rank, args=(job, r, arguments, answers))
             for r in range(n)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    if any(process.exitcode for process in ranks) and answers.empty():
        raise SystemExit(f"a process of {n} ended with "
                         f"{[process.exitcode for process in ranks]}")
    answer = answers.get()
    if "failed" in answer:
        raise SystemExit(" ".join(answer["failed"].split()))
    if answer["device"].split(":")[0] != job["device"]:
        raise SystemExit(f"XGBoost trained on '{answer['device']}'")
    return answer


def job_like(job):
    """One set of queries from the generator at job["path"], its first ones to train on: its labels
    are quantiles of the set that it makes, so two sets would not mean the same by a label."""
    spec = importlib.util.spec_from_file_location("like", job["path"])
    like = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(like)
    made = like.make(job["train_queries"] + job["test_queries"], job["seed"])
    values, labels, sizes = made[0], made[1], made[2]
    library = Library(job["library"], job["threads"])
    at, docs = job["train_queries"], int(sizes[: job["train_queries"]].sum())
    library.write(values[:docs], labels[:docs], sizes[:at], job["train"])
    library.write(values[docs:], labels[docs:], sizes[at:], job["test"])
    return {"train_documents": docs, "test_documents": len(labels) - docs}


def main():
    with open(sys.argv[1]) as file:
        job = json.load(file)
    run = {"probe": job_probe, "trees": job_trees, "scores": job_scores, "race": job_race,
           "like": job_like}
    print(json.dumps(run[job["job"]](job)))


if __name__ == "__main__":
    main()
