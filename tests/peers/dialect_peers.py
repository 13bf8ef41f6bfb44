"""Prints other programs' metrics for given labels and scores. Run in the peers' environment: reads sets as JSON from
standard input, [{"queries": [[labels, scores, ids], ...], "weights": null or [one per query], "gain": null, "exp" or
"linear"}], and writes, for each, {program: {metric: value}} under Rankwood's names; a program that refuses a set has
{"refused": why}. Missing programs are left out; {"versions": {...}} comes last."""
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

VERSIONS = {}


def flat(queries, i, kind=float):
    return np.array([v for q in queries for v in q[i]], dtype=kind)


def lightgbm(queries, weights, gain):
    import lightgbm as lgb

    VERSIONS["lightgbm"] = lgb.__version__
    sizes = [len(q[0]) for q in queries]
    x = np.zeros((sum(sizes), 1))
    by_doc = None if weights is None else np.repeat(weights, sizes)
    data = lgb.Dataset(x, flat(queries, 0), group=sizes, init_score=flat(queries, 1), weight=by_doc,
                       params={"verbose": -1, "min_data_in_bin": 1})
    seen = {}
    more = {"label_gain": list(range(31))} if gain == "linear" else {}
    lgb.train({"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": [1, 3, 10],
               "verbose": -1, "learning_rate": 1e-12, **more}, data, 1, valid_sets=[data],
              valid_names=["set"], callbacks=[lgb.record_evaluation(seen)])
    return {name: values[-1] for name, values in seen["set"].items()}


def xgboost(queries, weights, gain, minus=""):
    import xgboost as xgb

    VERSIONS["xgboost"] = xgb.__version__
    sizes = [len(q[0]) for q in queries]
    data = xgb.DMatrix(np.zeros((sum(sizes), 1)), flat(queries, 0), base_margin=flat(queries, 1))
    data.set_group(sizes)
    if weights is not None:
        data.set_weight(weights)
    out = {}
    binary = max(flat(queries, 0)) <= 1
    for at in ("", "@1", "@3", "@10"):
        for ours, theirs in (("ndcg", "ndcg"), ("map", "map"), ("p", "pre")):
            if ours == "p" and (not at or minus) or ours != "ndcg" and not binary:
                continue
            name = theirs + (at or ("@" if minus else "")) + minus
            booster = xgb.train({"objective": "rank:ndcg", "eval_metric": name,
                                 "ndcg_exp_gain": gain != "linear"}, data, 0)
            out[ours + at] = float(booster.eval(data).split(":")[-1])
    return out


def xgboost_minus(queries, weights, gain):
    return xgboost(queries, weights, gain, "-")


def catboost(queries, weights, gain):
    import catboost as cb
    from catboost.utils import eval_metric

    VERSIONS["catboost"] = cb.__version__
    groups = np.repeat(np.arange(len(queries)), [len(q[0]) for q in queries])
    y, s = flat(queries, 0), flat(queries, 1)
    names = {"ndcg": "NDCG:top=-1", "dcg": "DCG:top=-1", "map": "MAP:top=-1", "mrr": "MRR:top=-1"}
    if max(y) <= 1:
        names["err"] = "ERR:top=-1"
    more = {}
    if weights is not None:
        more["group_weight"] = np.repeat(weights, [len(q[0]) for q in queries])
    out = {}
    for ours, theirs in names.items():
        for at in (None, 1, 3, 10):
            name = theirs.replace("-1", str(at)) if at else theirs
            if gain == "exp" and ours in ("ndcg", "dcg"):
                name += ";type=Exp"
            out[ours + (f"@{at}" if at else "")] = eval_metric(y, s, name, group_id=groups, **more)[0]
    return out


def ydf(queries, weights, gain):
    import ydf as y

    VERSIONS["ydf"] = y.__version__
    groups = np.repeat(np.arange(len(queries)), [len(q[0]) for q in queries])
    out = {}
    for at in (1, 3, 10):
        got = y.evaluate_predictions(
            flat(queries, 1, np.float32), flat(queries, 0, np.float32), y.Task.RANKING,
            ranking_groups=groups.astype(np.uint64), ndcg_truncation=at, mrr_truncation=at,
            map_truncation=at)
        out[f"ndcg@{at}"], out[f"mrr@{at}"], out[f"map@{at}"] = got.ndcg, got.mrr, got.map
    return out


def qrels_and_run(queries):
    qrels, run = {}, {}
    for q, (labels, scores, ids) in enumerate(queries):
        qrels[str(q)] = {d: int(l) for d, l in zip(ids, labels)}
        run[str(q)] = dict(zip(ids, scores))
    return qrels, run


def trec(queries, weights, gain):
    import importlib.metadata

    import pytrec_eval

    VERSIONS["trec"] = importlib.metadata.version("pytrec_eval-terrier")
    qrels, run = qrels_and_run(queries)
    names = {"ndcg": "ndcg", "map": "map", "mrr": "recip_rank"}
    measures = {"ndcg", "map", "recip_rank"}
    for ours, theirs in (("ndcg", "ndcg_cut"), ("map", "map_cut"), ("p", "P"), ("recall", "recall")):
        measures.add(theirs + ".1,3,10")
        for at in (1, 3, 10):
            names[f"{ours}@{at}"] = f"{theirs}_{at}"
    seen = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)
    return {ours: sum(q[theirs] for q in seen.values()) / len(seen) for ours, theirs in names.items()}


def ranx(queries, weights, gain):
    import importlib.metadata

    from ranx import Qrels, Run, evaluate

    VERSIONS["ranx"] = importlib.metadata.version("ranx")
    qrels, run = qrels_and_run(queries)
    names = {"ndcg": "ndcg", "dcg": "dcg", "map": "map", "mrr": "mrr"}
    for at in (1, 3, 10):
        for ours, theirs in (("ndcg", "ndcg"), ("dcg", "dcg"), ("map", "map"), ("mrr", "mrr"),
                             ("p", "precision"), ("recall", "recall")):
            names[f"{ours}@{at}"] = f"{theirs}@{at}"
    got = evaluate(Qrels(qrels), Run(run), list(names.values()))
    return {ours: float(got[theirs]) for ours, theirs in names.items()}


def gdeval(queries, weights, gain):
    import importlib.metadata

    import ir_measures

    VERSIONS["gdeval"] = "1.2a (ir_measures " + importlib.metadata.version("ir_measures") + ")"
    script = os.path.join(os.path.dirname(ir_measures.__file__), "bin", "gdeval.pl")
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        qrels, run = os.path.join(folder, "qrels"), os.path.join(folder, "run")
        with open(qrels, "w") as f, open(run, "w") as g:
            for q, (labels, scores, ids) in enumerate(queries):
                for label, score, doc in zip(labels, scores, ids):
                    f.write(f"{q} 0 {doc} {int(label)}\n")
                    g.write(f"{q} Q0 {doc} 1 {score!r} tag\n")
        for at in (1, 3, 10):
            said = subprocess.run(["perl", script, qrels, run, str(at)], check=True,
                                  capture_output=True, text=True).stdout.splitlines()[1:]
            rows = [line.split(",") for line in said]
            out[f"ndcg@{at}"] = sum(float(r[2]) for r in rows) / len(rows) if rows else math.nan
            out[f"err@{at}"] = sum(float(r[3]) for r in rows) / len(rows) if rows else math.nan
    return out


PROGRAMS = {"lightgbm": lightgbm, "xgboost": xgboost, "xgboost-": xgboost_minus, "catboost": catboost,
            "ydf": ydf, "trec": trec, "gdeval": gdeval, "ranx": ranx}


def main():
    answer, talk = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(talk, 1)  # some of them talk on standard output
    results = []
    for work in json.load(sys.stdin):
        values = {}
        for name, measure in PROGRAMS.items():
            if work.get("only") and name not in work["only"]:
                continue
            try:
                values[name] = {k: None if v != v else v
                                for k, v in measure(
                                    work["queries"], work.get("weights"), work.get("gain")).items()}
            except ImportError:
                continue
            except Exception as why:
                values[name] = {"refused": (str(why).strip().splitlines() or [repr(why)])[0][:200]}
        results.append(values)
    results.append({"versions": VERSIONS})
    os.write(answer, json.dumps(results).encode())


if __name__ == "__main__":
    main()
