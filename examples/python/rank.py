# %% [markdown]
# # From a data frame to a served model
# This page is the script `rank.py`, executed. It needs pandas, matplotlib, onnx, onnxruntime
# and fastapi in addition to Rankwood.

# %%
import json
import pickle
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from made_data import searches
from onnx_scores import scores as onnx_scores
from serve import Query, Served

import rankwood

plt.rcParams["figure.dpi"] = 60

# %% [markdown]
# ## The table
# A row is a product that a search found; `label` says from 0 to 4 how well it answers the search. The table is made,
# yours comes from `pd.read_parquet` or a query. Ratings that are NaN are missing, and stay so.

# %%
table = searches(1000)
print(table.head(3).to_string())
unrated = table["rating"].isna().mean()
print(f"{len(table)} documents in {table['query'].nunique()} queries, {unrated:.0%} without a rating")

# %% [markdown]
# ## Three sets of whole queries
# One to train on, one to stop by, one that nothing is chosen by. What is neither label nor query nor ignored is a
# feature.

# %%
queries = table["query"].unique()
part = np.random.default_rng(1).choice(["train", "valid", "test"], len(queries), p=[0.6, 0.2, 0.2])
part = table["query"].map(dict(zip(queries, part, strict=True)))
columns = {"label": "label", "qid": "query", "ignore": ["title"]}
train_set = rankwood.Dataset(table[part == "train"], **columns)
valid_set = rankwood.Dataset(table[part == "valid"], **columns)
test_set = rankwood.Dataset(table[part == "test"], **columns)
print(train_set.n_docs, valid_set.n_docs, test_set.n_docs, train_set.feature_names)

# %% [markdown]
# ## Training
# Up to 2000 rounds, but no more once NDCG@10 of the validation set has not risen for 30. Early stopping chooses
# the round that is kept.

# %%
params = {"metric": ["ndcg@10", "map"], "early_stop": 30, "train_metric": True}
model = rankwood.train(params, train_set, valid=valid_set)
model

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
rankwood.plot.learning_curves(model, ax=left)
rankwood.plot.importance(model, ax=right)
plt.show()

# %% [markdown]
# ## How good is it?
# On the queries that it has not seen: beside the text match alone, which is how the shop ranks today, and beside a
# model without clicks. The intervals are of the difference, over queries.

# %%
measured = rankwood.evaluate(test_set, model, ["ndcg@10", "map", "mrr"])
print(measured)
print(measured.conventions)

# %%
without = {**columns, "ignore": ["title", "clicks"]}
no_clicks = rankwood.train(
    params,
    rankwood.Dataset(table[part == "train"], **without),
    valid=rankwood.Dataset(table[part == "valid"], **without),
)
today = table.loc[part == "test", "text_match"]
for name, other in {"the text match": today, "a model without clicks": no_clicks}.items():
    won = rankwood.compare(test_set, other, model, "ndcg@10")
    print(
        f"against {name}: {won.mean_a:.4f} -> {won.mean_b:.4f}, {won.difference:+.4f} "
        f"(95 % interval {won.low:+.4f} to {won.high:+.4f}); {won.n_wins} queries better, {won.n_losses} worse"
    )

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
rankwood.plot.per_query(test_set, model, ax=left)
rankwood.plot.per_query(test_set, model, against=today, ax=right)
plt.show()

# %% [markdown]
# ## Why does it rank so?
# SHAP values say what each feature adds to a document's score; the partial dependence, what a rating is worth.

# %%
why = model.explain(test_set)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
rankwood.plot.shap_summary(why, ax=left)
rankwood.plot.partial_dependence(model, test_set, "rating", ax=right)
plt.show()

# %% [markdown]
# One query: its first three documents, and what moved each of them most.

# %%
shown = table[part == "test"].assign(score=model.predict(test_set)).reset_index(drop=True)
query = shown["query"].iloc[0]
best = shown[shown["query"] == query].sort_values("score", ascending=False, kind="stable").head(3)
print(f"{query}: all documents score {why.base_value:+.2f} on average")
for i, document in best.iterrows():
    reasons = ", ".join(f"{name} ({document[name]}) {value:+.2f}" for name, value in why.document(i)[:3])
    print(f"score {document['score']:+.2f}, label {document['label']}: {reasons}")

# %% [markdown]
# The model is its trees, and the first one looks so:

# %%
rankwood.plot.tree(model, 0, depth=2)
plt.show()

# %% [markdown]
# ## Keeping it
# As a file that the command line reads, too, as a pickle, and as ONNX. The first two score the same to the last bit;
# onnxruntime sums floats instead of doubles (`onnx_scores.py` shows that each tree says the same).

# %%
values = table.loc[part == "test", model.feature_names].to_numpy(np.float32)
expected = model.predict(values)
with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "model.txt")
    loaded = rankwood.Model.load(Path(folder) / "model.txt")
    model.export(Path(folder) / "model.onnx", "onnx")
    by_onnx = onnx_scores(Path(folder) / "model.onnx", values)
assert np.array_equal(loaded.predict(values), expected)
assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(values), expected)
print(f"onnxruntime's scores differ by at most {np.abs(by_onnx - expected).max():.1e}")

# %% [markdown]
# ## Serving it
# `serve.py` serves a model over HTTP with FastAPI: `RANKWOOD_MODEL=model.txt uvicorn --factory serve:app`. This is its
# answer to a request, without HTTP. `null` is a missing value.

# %%
offer = {"text_match": 8.5, "price": 20, "typical_price": 22, "age_days": 30, "clicks": 2}
request = {
    "query": offer,  # features that all documents share
    "documents": [
        {"id": "no rating", "features": {"in_stock": 1, "rating": None}},
        {"id": "good", "features": {"in_stock": 1, "rating": 4.8}},
        {"id": "sold out", "features": {"in_stock": 0, "rating": 4.8}},
    ],
}
with tempfile.TemporaryDirectory() as folder:
    model.save(Path(folder) / "model.txt")
    served = Served(str(Path(folder) / "model.txt"))
print(json.dumps(served.rank(Query.model_validate(request))))
