"""From LightGBM: another import line, the same parameters and data, and a model that LightGBM trained.

    python from_lightgbm.py     # needs lightgbm
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from made_data import FEATURES, searches

import rankwood
import rankwood.compat.lightgbm as lgb


def arrays(table: pd.DataFrame) -> tuple[Any, Any, Any]:
    """Features, labels, and how many documents each query has."""
    return table[FEATURES], table["label"], table.groupby("query", sort=False).size()


X, y, group = arrays(searches(300, seed=1))
X_valid, y_valid, group_valid = arrays(searches(150, seed=2))
X_test, y_test, group_test = arrays(searches(1000, seed=3))
params = {"objective": "lambdarank", "num_leaves": 15, "learning_rate": 0.1, "lambda_l2": 1.0}
params |= {"n_estimators": 300, "early_stopping_round": 20, "eval_at": [10], "verbosity": -1}

# ---- LightGBM
train_set = lightgbm.Dataset(X, y, group=group)
valid_set = lightgbm.Dataset(X_valid, y_valid, group=group_valid, reference=train_set)
booster = lightgbm.train(params, train_set, valid_sets=[valid_set])
scores = booster.predict(X_test)

# ---- the same script with another import line
train_set = lgb.Dataset(X, y, group=group)
valid_set = lgb.Dataset(X_valid, y_valid, group=group_valid, reference=train_set)
moved = lgb.train(params, train_set, valid_sets=[valid_set])
moved_scores = moved.predict(X_test)

# ---- Rankwood
our_params, notes = rankwood.from_lightgbm(params)
print("\n".join(notes))  # changed units, missing counterparts and other differences
train_set = rankwood.Dataset(X, y, group=group)
valid_set = rankwood.Dataset(X_valid, y_valid, group=group_valid)
model = rankwood.train(our_params, train_set, valid=valid_set)
our_scores = model.predict(X_test)

# ---- side by side
test_set = rankwood.Dataset(X_test, y_test, group=group_test)
won = rankwood.compare(test_set, scores, our_scores, "ndcg@10")
moved_ndcg = rankwood.evaluate(test_set, moved_scores)["ndcg@10"]
print(f"ndcg@10: LightGBM {won.mean_a:.4f}, rankwood.compat {moved_ndcg:.4f}, Rankwood {won.mean_b:.4f}")
print(f"difference {won.difference:+.4f}, 95 % interval {won.low:+.4f} to {won.high:+.4f}")

# ---- import the LightGBM model, to score, explain, export or continue it here
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "lightgbm.txt"
    booster.save_model(path)
    imported = rankwood.Model.import_from(path, "lightgbm")
off = np.abs(imported.predict(X_test.to_numpy(np.float32)) - booster.predict(X_test.to_numpy(np.float32)))
print(f"LightGBM's {imported.n_trees} trees, imported: scores differ by at most {off.max():.1e}")
