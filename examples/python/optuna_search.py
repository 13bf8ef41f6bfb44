"""A search for parameters with Optuna: every trial trains on the same binned data, and poor trials end early.

    python optuna_search.py     # needs optuna
"""

from __future__ import annotations

import optuna
from made_data import searches

import rankwood
from rankwood.optuna import PruningCallback

columns = {"label": "label", "qid": "query", "ignore": ["title"]}
train_set = rankwood.Dataset(searches(300, seed=1), **columns)  # binned by the first trial, once for all
valid_set = rankwood.Dataset(searches(150, seed=2), **columns)
test_set = rankwood.Dataset(searches(150, seed=3), **columns)


def objective(trial: optuna.Trial) -> float:
    params = {
        "metric": "ndcg@10",
        "rounds": 300,
        "early_stop": 20,
        "leaves": trial.suggest_int("leaves", 4, 63, log=True),
        "rate": trial.suggest_float("rate", 0.02, 0.3, log=True),
        "l2": trial.suggest_float("l2", 1, 1000, log=True),
        "min_docs": trial.suggest_int("min_docs", 5, 100, log=True),
        "sample_features": trial.suggest_float("sample_features", 0.5, 1),
    }
    model = rankwood.train(params, train_set, valid=valid_set, callbacks=[PruningCallback(trial)])
    trial.set_user_attr("rounds", model.best_round)
    return model.evals_result["valid"]["ndcg@10"][model.best_round - 1]


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(
    direction="maximize",
    sampler=optuna.samplers.TPESampler(seed=1),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=10),
)
study.optimize(objective, n_trials=30)

pruned = study.get_trials(states=[optuna.trial.TrialState.PRUNED])
best = study.best_trial
print(f"{len(study.trials)} trials, {len(pruned)} pruned; ndcg@10 of the validation set {best.value:.4f}")
print(", ".join(f"{name} {value:.4g}" for name, value in best.params.items()))
model = rankwood.train({**best.params, "rounds": best.user_attrs["rounds"]}, train_set)
usual = rankwood.train({"metric": "ndcg@10"}, train_set, valid=valid_set)
won = rankwood.compare(test_set, usual, model)
print(
    f"ndcg@10 of the test set: defaults {won.mean_a:.4f}, found {won.mean_b:.4f}, "
    f"difference {won.difference:+.4f} (95 % interval {won.low:+.4f} to {won.high:+.4f})"
)
