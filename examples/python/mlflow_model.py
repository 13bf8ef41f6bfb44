"""A ranker in MLflow: a run with its parameters and curves, and the model, which scores data frames.

    python mlflow_model.py      # logs where MLFLOW_TRACKING_URI says; needs mlflow, or mlflow-skinny
"""

import mlflow
import numpy as np
from made_data import searches

import rankwood
import rankwood.mlflow

columns = {"label": "label", "qid": "query", "ignore": ["title"]}
train_set = rankwood.Dataset(searches(200, seed=1), **columns)
valid_set = rankwood.Dataset(searches(100, seed=2), **columns)

rankwood.mlflow.autolog(log_models=False)  # the model is logged below, with a name
with mlflow.start_run():
    model = rankwood.train({"rounds": 50, "metric": ["ndcg@10", "map"]}, train_set, valid=valid_set)
    logged = rankwood.mlflow.log_model(model, "ranker")

assert rankwood.verify(rankwood.mlflow.load_model(logged.model_uri).manifest, train_set, valid=valid_set) is None
table = searches(20, seed=3)
loaded = mlflow.pyfunc.load_model(logged.model_uri)  # as MLflow's own tools load it
assert np.array_equal(loaded.predict(table), model.predict(table))
print(f"{logged.model_uri}: {len(table)} documents have the scores of the model that was trained")
