#!/usr/bin/env python3
"""What quality.py runs in the peers' environment: quality_jobs.py JOB, as JSON; the answer is the last
line of standard output. JOB `-`: a job a line of standard input, an answer a line of output. Needs numpy, and the
peer that the job names.

Jobs (`job`):
  versions  of the peers that can be imported: {peer: version}
  train     trains a peer under settings on a task, writes scores: {"rounds"}
  tune      searches for a peer's parameters on a task: {"params", "value", "trials"} (quality_tuned.py)
  like      makes data with another generator, split into caches: its first queries, the next, ...

Settings of a peer:
  defaults  its own for ranking by NDCG: LightGBM's lambdarank, XGBoost's rank:ndcg, CatBoost's YetiRank
  equal     31 leaves, rate 0.1, 20 documents per leaf, 255 bins
  fixed     the same with 255 leaves, exactly 50 trees
The first two stop after 50 rounds without a better NDCG@10 on the task's stop part and keep the best
round, at most `most` of them. Where a peer has no such setting, its default stays: XGBoost limits no
leaf's documents, CatBoost grows symmetric trees (depth 5 for 31 leaves, 8 for 255). `tuned` is `defaults` with
the job's `params` over them. `objective`: a word of the peer's in place of its own for ranking by NDCG.
"""
import functools
import importlib
import importlib.util
import json
import os
import sys

import numpy

from common import PEERS, TOP, Library
from quality_tuned import search

PATIENCE, FIXED_TREES = 50, 50


def lightgbm_scores(sets, settings, job):
    import lightgbm

    params = {"objective": job["objective"] or "lambdarank", "metric": "ndcg", "eval_at": [TOP], "verbosity": -1,
              "num_threads": job["threads"], "seed": job["seed"], "deterministic": True}
    params.update(job["params"])
    if settings in ("equal", "fixed"):
        params.update(num_leaves=255 if settings == "fixed" else 31, learning_rate=0.1,
                      min_data_in_leaf=20, max_bin=255)
    train, stop, measure = sets
    data = lightgbm.Dataset(train[0], train[1], group=train[2], params=params)
    if settings == "fixed":
        model = lightgbm.train(params, data, FIXED_TREES)
        return model.predict(measure[0], num_threads=job["threads"]), FIXED_TREES
    valid = lightgbm.Dataset(stop[0], stop[1], group=stop[2], reference=data)
    callbacks = [lightgbm.early_stopping(PATIENCE, verbose=False)]
    if "report" in job:
        def report(env):
            if job["report"](env.iteration, env.evaluation_result_list[0][2]):
                raise lightgbm.callback.EarlyStopException(env.iteration, env.evaluation_result_list)
        callbacks.append(report)
    model = lightgbm.train(params, data, job["most"], valid_sets=[valid], callbacks=callbacks)
    return model.predict(measure[0], num_threads=job["threads"]), model.best_iteration


def xgboost_scores(sets, settings, job):
    import xgboost

    def matrix(part):
        made = xgboost.DMatrix(part[0], label=part[1], nthread=job["threads"])
        made.set_group(part[2])
        return made

    params = {"objective": job["objective"] or "rank:ndcg", "eval_metric": f"ndcg@{TOP}-", "nthread": job["threads"],
              "seed": job["seed"], "verbosity": 0}
    params.update((name, str(value) if isinstance(value, list) else value) for name, value in job["params"].items())
    if settings in ("equal", "fixed"):
        params.update(tree_method="hist", grow_policy="lossguide", max_depth=0, eta=0.1,
                      max_leaves=255 if settings == "fixed" else 31, max_bin=255)
    train, stop, measure = (matrix(part) for part in sets)
    if settings == "fixed":
        return xgboost.train(params, train, FIXED_TREES).predict(measure), FIXED_TREES
    callbacks = []
    if "report" in job:
        class Report(xgboost.callback.TrainingCallback):
            def after_iteration(self, _model, epoch, evals_log):
                return job["report"](epoch, evals_log["valid"][f"ndcg@{TOP}-"][-1])
        callbacks.append(Report())
    model = xgboost.train(params, train, job["most"], evals=[(stop, "valid")],
                          early_stopping_rounds=PATIENCE, verbose_eval=False, callbacks=callbacks)
    if "report" in job: # a training that was pruned has no best round
        return None, 0
    best = model.best_iteration + 1
    return model.predict(measure, iteration_range=(0, best)), best


def catboost_scores(sets, settings, job):
    import catboost

    def pool(part):
        return catboost.Pool(part[0], part[1],
                             group_id=numpy.repeat(numpy.arange(len(part[2])), part[2]))

    params = {"loss_function": job["objective"] or "YetiRank", "eval_metric": f"NDCG:top={TOP};type=Exp",
              "random_seed": job["seed"], "thread_count": job["threads"],
              "logging_level": "Silent", "allow_writing_files": False, **job["params"]}
    train, stop, measure = sets
    if settings == "fixed":
        params.update(iterations=FIXED_TREES, learning_rate=0.1, depth=8, border_count=255)
        model = catboost.CatBoost(params)
        model.fit(pool(train))
        return model.predict(measure[0]), FIXED_TREES
    params.update(od_type="Iter", od_wait=PATIENCE)
    if settings == "equal":
        params.update(learning_rate=0.1, depth=5, border_count=255)
    if settings == "equal" or job["most"] < 1000: # its own most are 1,000
        params.update(iterations=job["most"])
    callbacks = []
    if "report" in job:
        class Report:
            def after_iteration(self, info):
                return not job["report"](info.iteration - 1, info.metrics["validation"][params["eval_metric"]][-1])
        callbacks.append(Report())
    model = catboost.CatBoost(params)
    model.fit(pool(train), eval_set=pool(stop), use_best_model=True, callbacks=callbacks)
    return model.predict(measure[0]), model.tree_count_


SCORES = {"lightgbm": lightgbm_scores, "xgboost": xgboost_scores, "catboost": catboost_scores}


def job_versions(_job):
    found = {}
    for peer in PEERS:
        try:
            found[peer] = importlib.import_module(peer).__version__
        except ImportError as failure:
            print(f"quality_jobs.py: {failure}", file=sys.stderr)
    return found


def number(text):
    """As CatBoost wants its parameters."""
    try:
        return json.loads(text)
    except ValueError:
        return text


@functools.lru_cache(maxsize=1)
def arrays_of(task, path, threads):
    """The sets of a task, kept for the next training on it."""
    library, sets, ids = Library(path, threads), [], None
    for paths in json.loads(task):
        data = library.read(paths)
        ids = ids or library.feature_ids(data) # the training set's
        sets.append(library.arrays(data, ids))
    return sets


def job_train(job):
    job["params"] = {name: number(value) for name, value in job["params"].items()}
    sets = arrays_of(json.dumps(job["task"]), job["library"], job["threads"])
    scores, rounds = SCORES[job["peer"]](sets, job["settings"], job)
    with open(job["scores"], "w") as file:
        file.writelines(f"{float(s)!r}\n" for s in scores)
    return {"rounds": int(rounds)}


def job_tune(job):
    sets = arrays_of(json.dumps(job["task"]), job["library"], job["threads"])
    return search(job, lambda params, report: SCORES[job["peer"]](sets, "tuned",
                                                                  {**job, "params": params, "report": report}))


def job_like(job):
    """One set from the generator at job["path"]: its labels are quantiles of the set that it makes, so
    two sets would not mean the same by a label."""
    spec = importlib.util.spec_from_file_location("like", job["path"])
    like = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(like)
    values, labels, sizes = like.make(sum(job["sizes"]), job["seed"])[:3]
    library = Library(job["library"], 0)
    query, doc = 0, 0
    for n, path in zip(job["sizes"], job["files"]):
        docs = int(sizes[query : query + n].sum())
        library.write(values[doc : doc + docs], labels[doc : doc + docs], sizes[query : query + n],
                      path)
        query, doc = query + n, doc + docs
    return {}


def main():
    run = {"versions": job_versions, "train": job_train, "tune": job_tune, "like": job_like}
    if sys.argv[1] != "-":
        job = json.loads(sys.argv[1])
        print(json.dumps(run[job["job"]](job)))
        return
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1) # a peer's output is not part of the answer
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(run[job["job"]](job)), file=answers, flush=True)


if __name__ == "__main__":
    main()
