"""quality.py --tuned: every trainer's parameters are chosen on stop parts by the search that its users have, in equal
time or with equal trials.

Rankwood: `rankwood tune` with its default space. Peers: Optuna's sampler (TPE) and median pruner over the spaces below,
with the defaults as the first trial. Every trial of a peer stops early on the stop part, and reports its NDCG@10 there
every ten rounds, by which it is pruned. It counts by its best round. The parameters of the best trial rank the measure
part, separately for each task.

`search` runs in the peers' environment (quality_jobs.py) and needs Optuna; the rest needs the standard library only.
"""
import os

from common import TOP, run

EVERY = 10 # rounds between reports
# name: (least, most, logarithmic); whole numbers give whole numbers. Then parameters of all trials except the first.
SPACES = {
    "lightgbm": ({"num_leaves": (4, 255, True), "learning_rate": (0.02, 0.3, True), "min_data_in_leaf": (1, 200, True),
                  "lambda_l2": (0.001, 100.0, True), "feature_fraction": (0.2, 1.0, False),
                  "bagging_fraction": (0.5, 1.0, False), "lambdarank_truncation_level": (5, 100, True)},
                 {"bagging_freq": 1}),
    "xgboost": ({"max_leaves": (4, 255, True), "eta": (0.02, 0.3, True), "min_child_weight": (0.001, 100.0, True),
                 "lambda": (0.001, 100.0, True), "colsample_bytree": (0.2, 1.0, False), "subsample": (0.5, 1.0, False)},
                {"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0}),
    "catboost": ({"depth": (2, 8, False), "learning_rate": (0.02, 0.3, True), "random_strength": (0.01, 10.0, True),
                  "l2_leaf_reg": (1.0, 100.0, True), "rsm": (0.2, 1.0, False), "subsample": (0.5, 1.0, False)},
                 {"bootstrap_type": "Bernoulli"}),
}


def limit_of(text):
    """(trials, seconds) of '50' or '60s'; one of them is 0."""
    return (0, int(text[:-1])) if text.endswith("s") else (int(text), 0)


def rankwood_params(args, task, own):
    """'NAME=VALUE ...' that `rankwood tune` chooses."""
    trials, seconds = limit_of(args.tuned)
    path = os.path.join(own, "params")
    run([args.rankwood, "tune", *task[0], "--valid", ",".join(task[1]), "--metric", f"ndcg@{TOP}", "--empty", "0",
         "--threads", str(args.threads), "--seed", str(args.seeds[0]), "--quiet", "--params-out", path,
         *(["--trials", str(trials)] if trials else ["--time", f"{seconds}s"]),
         *(["--rounds", str(args.rounds)] if args.rounds else [])])
    with open(path) as file:
        named = dict(line.split("#")[0].strip().split(" = ", 1) for line in file if " = " in line and line[0] != "#")
    for name in ("metric", "empty", "seed"): # quality.py passes its own
        named.pop(name, None)
    return " ".join(f"{name}={value}" for name, value in named.items())


def search(job, train):
    """A peer's {"params", "value", "trials"}. train(params, report) trains with parameters, and calls report(round,
    NDCG) after each round; report returns True if the training is to end."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space, fixed = SPACES[job["peer"]]
    trials, seconds = limit_of(job["limit"])
    sampler = optuna.samplers.TPESampler(seed=job["seed"])
    study = optuna.create_study(direction="maximize", sampler=sampler, pruner=optuna.pruners.MedianPruner())
    best = {"params": {}, "value": -1.0, "trials": 0}

    def objective(trial):
        params, reached = {}, [-1.0]
        if trial.number > 0:
            params = {name: (trial.suggest_int if isinstance(least, int) else trial.suggest_float)(
                name, least, most, log=log) for name, (least, most, log) in space.items()} | fixed

        def report(at, value):
            reached[0] = max(reached[0], value)
            if at % EVERY == 0:
                trial.report(reached[0], at)
            return trial.number > 0 and at % EVERY == 0 and trial.should_prune()

        train(params, report)
        best["trials"] += 1
        if reached[0] > best["value"]:
            best.update(params=params, value=reached[0])
        return reached[0]

    study.optimize(objective, n_trials=trials or None, timeout=seconds or None)
    return best
