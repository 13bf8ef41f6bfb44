"""Thirteen things that a new user does in the first hour, with README, docs/how-to/python.md and docstrings alone."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood

pd = pytest.importorskip("pandas")

PEERS = Path(__file__).parents[2] / "peers"
FEATURES = ["price", "rating", "clicks", "days"]
COLUMNS = {"label": "label", "qid": "query", "ignore": ["title"]}
PARAMS = {"rounds": 40, "min_docs": 5, "l2": 20, "threads": 2}


def shop(n_queries: int, seed: int) -> Any:
    """A row is a product that was found: the words that were searched, a title, FEATURES, a label 0 to 3.

    Each third product has no rating. The rows of a query stand together.
    """
    rng = np.random.default_rng(seed)
    n = n_queries * 12
    rating, clicks = rng.uniform(1, 5, n).round(1), rng.poisson(3, n)
    price = rng.lognormal(3, 0.7, n).round(2)
    liked = rating + 0.5 * clicks - np.log(price) + rng.normal(0, 0.4, n)
    return pd.DataFrame(
        {
            "query": [f"red shoes, size {i // 12}" for i in range(n)],
            "title": "a product",
            "price": price,
            "rating": np.where(rng.random(n) < 1 / 3, np.nan, rating),
            "clicks": clicks,
            "days": rng.integers(0, 365, n),
            "label": np.digitize(liked, [0.5, 1.5, 2.5]),
        }
    )


@pytest.fixture(scope="module")
def table() -> Any:
    return shop(150, seed=1)


@pytest.fixture(scope="module")
def unseen() -> Any:
    return shop(80, seed=2)


@pytest.fixture(scope="module")
def trained(table: Any) -> rankwood.Model:
    return rankwood.train(PARAMS, rankwood.Dataset(table, **COLUMNS))


def ndcg(table: Any, scores: Any) -> float:
    """NDCG@10 by its definition, of queries in which something is relevant."""
    values = []
    for _, query in table.assign(score=np.asarray(scores)).groupby("query", sort=False):
        discount = 1 / np.log2(np.arange(2, 12))
        by_score = query.sort_values("score", ascending=False, kind="stable")["label"].to_numpy()[:10]
        ideal = query["label"].sort_values(ascending=False).to_numpy()[:10]
        if ideal[0] > 0:
            values.append((2.0**by_score - 1) @ discount[: len(by_score)] / ((2.0**ideal - 1) @ discount[: len(ideal)]))
    return float(np.mean(values))


# ---- 1: a data frame with NaN and string qids ----


def test_pandas_frame_with_nan_and_string_qids(table: Any, unseen: Any) -> None:
    train_set = rankwood.Dataset(table, "label", qid="query", ignore=["title"])
    assert train_set.feature_names == FEATURES and train_set.n_queries == 150
    model = rankwood.train(PARAMS, train_set)
    unseen = unseen.assign(score=model.predict(unseen))

    test_set = rankwood.Dataset(unseen, "label", qid="query", ignore=["title", "score"])
    measured = rankwood.evaluate(test_set, model, "ndcg@10")["ndcg@10"]
    assert measured == pytest.approx(ndcg(unseen, unseen["score"]), rel=1e-12)
    assert measured > ndcg(unseen, unseen["clicks"]) + 0.03  # a shop without a model may sort by clicks

    # NaN is a separate value: it differs from 0 and from any replacement
    unrated = unseen["rating"].isna()
    filled = model.predict(unseen.fillna({"rating": 5.0}))
    assert np.array_equal(filled[~unrated], unseen["score"][~unrated])
    assert (filled[unrated] != unseen["score"][unrated]).mean() > 0.9
    # rows in any order, if asked for, and columns in any order
    shuffled = table.sample(frac=1, random_state=1)
    with pytest.raises(rankwood.DataError, match=r"appears again after another query\n.*sort=True"):
        rankwood.train(PARAMS, rankwood.Dataset(shuffled, **COLUMNS))
    again = rankwood.train(PARAMS, rankwood.Dataset(shuffled, **COLUMNS, sort=True))
    assert rankwood.evaluate(test_set, again)["ndcg@10"] == pytest.approx(measured, abs=0.03)
    assert np.array_equal(model.predict(unseen[["days", "title", *FEATURES[:3]]]), unseen["score"])


# ---- 2: Parquet that is larger than memory ----

LIMITED = """
import resource, sys
import pandas, pyarrow.dataset, pyarrow.parquet
import rankwood

how, path, params = sys.argv[1], sys.argv[2], {"rounds": 3, "leaves": 8, "threads": 2}
if how != "unlimited":
    (has,) = (line for line in open("/proc/self/status") if line.startswith("VmData:"))
    limit = int(has.split()[1]) * 1024 + (400 << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    if how == "from_parquet":
        data = rankwood.Dataset.from_parquet(path, label="label", qid="query")
    else:
        data = rankwood.Dataset(pandas.read_parquet(path), label="label", qid="query")
    model = rankwood.train(params, data)
except MemoryError as error:
    sys.exit(f"out of memory: {type(error).__name__}")
model.save(path + "." + how)
"""


def write_parquet(path: Path) -> None:
    """A million rows: 172 MB as numbers, 40 MB in the file."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    n, names = 50_000, [f"f{i}" for i in range(40)]
    types = [("query", pa.int64()), ("label", pa.int8()), *((name, pa.float32()) for name in names)]
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(path, pa.schema(types)) as writer:
        for first in range(0, 20 * n, n):
            values = (rng.integers(0, 256, (len(names), n), np.uint8) / np.float32(256)).astype(np.float32)
            label = np.digitize(values[0] + values[1], [0.8, 1.2, 1.6]).astype(np.int8)
            columns = [np.arange(first, first + n) // 20, label, *values]
            writer.write_table(pa.table(columns, schema=writer.schema))


def test_parquet_larger_than_memory() -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("the limit is Linux's")
    # Memory that an allocator has reserved and a thread's stack would be within the limit, or not, by chance.
    few = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "2", "ARROW_IO_THREADS": "2"}
    with tempfile.TemporaryDirectory(prefix="rankwood-journey-") as folder:
        path = Path(folder) / "documents.parquet"
        write_parquet(path)

        def run(how: str) -> str:
            command = [sys.executable, "-c", LIMITED, how, path]
            done = subprocess.run(
                command, env={**os.environ, **few}, capture_output=True, text=True, timeout=300, check=False
            )
            assert done.returncode == 0 or "out of memory" in done.stderr, done.stderr
            return done.stderr

        assert "out of memory" in run("whole")
        assert "out of memory" not in run("from_parquet")
        assert "out of memory" not in run("unlimited")
        assert Path(f"{path}.from_parquet").read_bytes() == Path(f"{path}.unlimited").read_bytes()
        assert rankwood.Model.load(f"{path}.from_parquet").n_trees == 3


# ---- 3: grid search ----


def test_grid_search(table: Any, unseen: Any) -> None:
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV, GroupKFold

    X, y, qid = table[FEATURES], table["label"], table["query"]
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = rankwood.Ranker(rounds=30, min_docs=5, threads=2).set_fit_request(qid=True)
        grid = {"leaves": [2, 15], "l2": [20, 1000]}
        search = GridSearchCV(ranker, grid, scoring=rankwood.scorer("ndcg@10"), cv=GroupKFold(3))
        search.fit(X, y, qid=qid, groups=qid)
    results = search.cv_results_
    assert len(results["params"]) == 4 and search.best_params_ == {"leaves": 15, "l2": 20}

    # one of the twelve figures, by hand
    train, test = next(GroupKFold(3).split(X, y, groups=qid))
    by_hand = rankwood.Ranker(rounds=30, min_docs=5, threads=2, **search.best_params_)
    by_hand.fit(X.iloc[train], y.iloc[train], qid=qid.iloc[train])
    expected = ndcg(table.iloc[test], by_hand.predict(X.iloc[test]))
    assert results["split0_test_score"][search.best_index_] == pytest.approx(expected, rel=1e-12)
    assert ndcg(unseen, search.predict(unseen[FEATURES])) > 0.8


# ---- 4: a metric of one's own ----


def test_custom_metric(table: Any, unseen: Any) -> None:
    def best_first(scores: Any, data: rankwood.Dataset) -> float:
        """In how many queries no document is better than the first one."""
        queries = zip(data.query_offsets[:-1], data.query_offsets[1:], strict=True)
        hits = [data.label[a + np.argmax(scores[a:b])] == data.label[a:b].max() for a, b in queries]
        return float(np.mean(hits))

    train_set, valid_set = rankwood.Dataset(table, **COLUMNS), rankwood.Dataset(unseen, **COLUMNS)
    rounds: list[rankwood.Round] = []
    params = {**PARAMS, "rounds": 500, "metric": [best_first, "ndcg@10"], "early_stop": 15}
    model = rankwood.train(params, train_set, valid=valid_set, callbacks=[rounds.append])
    values = model.evals_result["valid"]["best_first"]
    assert model.n_trees == model.best_round == 1 + int(np.argmax(values))
    assert len(values) == len(rounds) == model.best_round + 15
    assert rounds[-1].metrics["valid"]["best_first"] == values[-1]
    assert best_first(model.predict(valid_set), valid_set) == max(values) > 0.5
    beside = model.evals_result["valid"]["ndcg@10"][model.best_round - 1]
    assert rankwood.evaluate(valid_set, model)["ndcg@10"] == beside
    with pytest.raises(rankwood.ParameterError, match="no validation set to stop by"):
        rankwood.train(params, train_set)
    with pytest.raises(rankwood.ParameterError, match=r"'best_first'.*\n.*best_first\(model\.predict"):
        rankwood.evaluate(valid_set, model, best_first)


# ---- 5: pickle ----

UNPICKLE = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    model, ranker, values = pickle.load(file)
with open(sys.argv[2], "wb") as file:
    pickle.dump([model.predict(values), ranker.predict(values)], file)
"""


def test_pickle(table: Any, unseen: Any, trained: rankwood.Model, tmp_path: Path) -> None:
    """As a job that scores in another process gets it."""
    pytest.importorskip("sklearn")
    ranker = rankwood.Ranker(rounds=10, threads=2).fit(table[FEATURES], table["label"], qid=table["query"])
    values = unseen[FEATURES]
    files = [tmp_path / "models.pickle", tmp_path / "scores.pickle"]
    files[0].write_bytes(pickle.dumps([trained, ranker, values]))
    subprocess.run([sys.executable, "-c", UNPICKLE, *files], check=True, timeout=300)
    by_model, by_ranker = pickle.loads(files[1].read_bytes())
    assert np.array_equal(by_model, trained.predict(values)) and by_model.std() > 0.1
    assert np.array_equal(by_ranker, ranker.predict(values)) and by_ranker.std() > 0.01
    loaded = pickle.loads(pickle.dumps(trained))
    assert loaded.to_bytes() == trained.to_bytes()
    assert (loaded.params, loaded.feature_names) == (trained.params, FEATURES)


# ---- 6: ONNX ----


def test_onnx_export_is_scored(unseen: Any, trained: rankwood.Model, tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    trained.export(tmp_path / "model.onnx", "onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    values = unseen[trained.feature_names].to_numpy(np.float32)
    assert np.isnan(values).any()
    (scores,) = session.run(["score"], {"features": values})
    assert scores.shape == (len(unseen), 1) and scores.dtype == np.float32
    # It sums floats: each tree may add a rounding error of half the sum's last digit.
    leaves = [abs(node["value"]) for node in trained.trees() if node["value"] is not None]
    assert np.abs(scores[:, 0] - trained.predict(unseen)).max() <= trained.n_trees**2 * 2.0**-24 * max(leaves)


# ---- 7: SHAP ----


def test_shap(table: Any, unseen: Any, trained: rankwood.Model) -> None:
    data = rankwood.Dataset(unseen, **COLUMNS)
    assert trained.explain(data).base_value == pytest.approx(trained.predict(table).mean(), rel=1e-9)
    why = trained.explain(data, data)
    scores = trained.predict(unseen)
    assert why.values.shape == (len(unseen), 4) and why.names == FEATURES
    np.testing.assert_allclose(why.base_value + why.values.sum(axis=1), scores, rtol=0, atol=1e-12)
    assert why.base_value == pytest.approx(scores.mean(), rel=1e-9)
    assert list(why.mean_abs())[-1] == "days"  # which labels do not depend on
    name, moved = why.document(0)[0]
    assert abs(moved) == np.abs(why.values[0]).max() and moved == why.values[0, FEATURES.index(name)]

    shap = pytest.importorskip("shap", reason="the package shap is absent; SHAP values of our own are right")
    explainer = shap.TreeExplainer(trained.to_shap(data))
    theirs = explainer(unseen[FEATURES].to_numpy(np.float32))
    np.testing.assert_allclose(theirs.values, why.values, rtol=0, atol=1e-10)


# ---- 8: a notebook ----

CELLS = [
    "import pandas as pd, rankwood\n"
    'table = pd.read_csv("documents.csv")\n'
    'valid = table["query"].isin(table["query"].unique()[::5])\n'
    'columns = {"label": "label", "qid": "query", "ignore": ["title"]}\n'
    "train_set = rankwood.Dataset(table[~valid], **columns)\n"
    "valid_set = rankwood.Dataset(table[valid], **columns)\n"
    "train_set",
    'model = rankwood.train({"rounds": 60, "early_stop": 10}, train_set, valid={"each fifth": valid_set})\nmodel',
    "rankwood.evaluate(valid_set, model)",
    'table["score"] = model.predict(table)\ntable.groupby("query").first()',
]


def test_notebook(table: Any, tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    table.to_csv(tmp_path / "documents.csv", index=False)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    folder = {"metadata": {"path": str(tmp_path)}}
    slow = {"timeout": 120, "startup_timeout": 300}  # of a machine that does much else
    nbclient.NotebookClient(notebook, kernel_name="python3", resources=folder, **slow).execute()

    shown = [[out["data"] for out in cell.outputs if "data" in out] for cell in notebook.cells]
    assert [len(one) for one in shown] == [1, 1, 1, 1]
    assert shown[0][0]["text/plain"] == "Dataset(1440 documents, 120 queries, 4 features)"
    valid = table["query"].isin(table["query"].unique()[::5])
    valid_set = rankwood.Dataset(table[valid], **COLUMNS)
    params = {"rounds": 60, "early_stop": 10}
    model = rankwood.train(params, rankwood.Dataset(table[~valid], **COLUMNS), valid={"each fifth": valid_set})
    html = shown[1][0]["text/html"]  # the model at a glance, not its address in memory
    for said in (f"{model.n_trees} trees", f"kept round {model.best_round}", "each fifth", "ndcg@10", *FEATURES[:3]):
        assert said in html
    assert shown[2][0]["text/plain"] == repr(rankwood.evaluate(valid_set, model))
    assert "red shoes, size 0" in shown[3][0]["text/html"] and "score" in shown[3][0]["text/html"]


# ---- 9: the report, in a browser ----


def test_report_in_chromium(
    unseen: Any, trained: rankwood.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(PEERS)
    import report_browser

    browser = report_browser.find(str(tmp_path))
    if browser is None:
        pytest.skip("needs a Chromium that starts")
    page, picture = tmp_path / "report.html", tmp_path / "report.png"
    data = rankwood.Dataset(unseen, **COLUMNS)
    trained.report(page, data, title="Shoes & more")
    seen = report_browser.dom(browser, str(page))
    assert "<title>Shoes &amp; more</title>" in seen
    assert f"{rankwood.evaluate(data, trained)['ndcg@10']:.6f}" in seen
    assert all(name in seen for name in FEATURES) and seen.rstrip().endswith("</html>")
    assert "<script" not in seen and "http://" not in seen.replace("http://www.w3.org/", "")
    browser.run("--window-size=900,700", f"--screenshot={picture}", f"file://{page}")
    colours, behind = report_browser.pixels(picture)
    assert behind == report_browser.LIGHT[0]
    assert sum(count for colour, count in colours.items() if colour != behind) > 10_000  # it is drawn on


# ---- 10: polars ----


def test_polars_frame(table: Any, unseen: Any, trained: rankwood.Model) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({name: table[name].to_list() for name in table.columns}).with_columns(
        pl.col("rating").fill_nan(None)  # polars has null for what pandas has NaN for
    )
    assert frame["rating"].null_count() > 100
    model = rankwood.train(PARAMS, rankwood.Dataset(frame, "label", qid="query", ignore=["title"]))
    assert model.to_bytes() == trained.to_bytes()
    new = pl.DataFrame({name: unseen[name].to_list() for name in ["title", *reversed(FEATURES)]})
    ranked = new.with_columns(score=pl.Series(model.predict(new))).sort("score", descending=True)
    assert np.array_equal(np.sort(trained.predict(unseen))[::-1], ranked["score"].to_numpy())
    with pytest.raises(rankwood.DataError, match=r"LazyFrame.*\n.*collect\(\)"):
        rankwood.Dataset(frame.lazy(), **COLUMNS)


# ---- 11: a LightGBM script moves by its import line ----

SCRIPT = """
import lightgbm as lgb

train_set = lgb.Dataset(X, y, group=group)
valid_set = lgb.Dataset(X_valid, y_valid, group=group_valid, reference=train_set)
history = {}
booster = lgb.train(
    {"objective": "lambdarank", "num_leaves": 15, "min_data_in_leaf": 5, "eval_at": [10], "verbosity": -1},
    train_set,
    num_boost_round=200,
    valid_sets=[valid_set],
    callbacks=[lgb.early_stopping(20, verbose=False), lgb.record_evaluation(history)],
)
ranker = lgb.LGBMRanker(n_estimators=30, min_child_samples=5, verbosity=-1).fit(X, y, group=group)
"""


def test_lightgbm_script_with_another_import(table: Any, unseen: Any) -> None:
    def columns(frame: Any) -> tuple[Any, Any, Any]:
        return frame[FEATURES], frame["label"].to_numpy(), frame.groupby("query", sort=False).size().to_numpy()

    names = ("X", "y", "group", "X_valid", "y_valid", "group_valid")
    given = dict(zip(names, (*columns(table), *columns(shop(60, seed=3))), strict=True))

    def run(text: str) -> dict[str, Any]:
        space = dict(given)
        exec(text, space)
        return space

    moved = run(SCRIPT.replace("import lightgbm as", "import rankwood.compat.lightgbm as"))
    curve = moved["history"]["valid_0"]["ndcg@10"]
    best = moved["booster"].best_iteration
    assert best == int(np.argmax(curve)) + 1 and len(curve) == best + 20
    assert moved["booster"].best_score["valid_0"]["ndcg@10"] == curve[best - 1]
    scores = {how: moved[how].predict(unseen[FEATURES]) for how in ("booster", "ranker")}
    assert min(ndcg(unseen, of) for of in scores.values()) > ndcg(unseen, unseen["clicks"]) + 0.03

    lightgbm = pytest.importorskip("lightgbm")
    theirs = run(SCRIPT)
    for how, of in scores.items():
        assert ndcg(unseen, of) > ndcg(unseen, theirs[how].predict(unseen[FEATURES])) - 0.02
    saved = lightgbm.Booster(model_str=moved["booster"].model_to_string())
    assert np.array_equal(saved.predict(unseen[FEATURES]), scores["booster"])


# ---- 12: cross-validation by search text ----


def test_folds_by_search_text() -> None:
    """Four sessions of each search text have the same documents, and clicks instead of judgments."""
    rng = np.random.default_rng(4)
    searches = shop(60, seed=5)
    liked = np.where(rng.random(len(searches)) < 0.3, 0.9, 0.05)  # unrelated to the features
    sessions = []
    for session in range(4):
        one = searches.assign(text=searches["query"], query=searches["query"] + f" #{session}", session=session)
        sessions.append(one.assign(label=(rng.random(len(one)) < liked).astype(int)))
    clicks = pd.concat(sessions).sort_values(["text", "session"], kind="stable")
    # a column that names the search: with it, a model can remember the clicks of other sessions of the same search
    clicks["search"] = clicks["text"].str.extract(r"(\d+)$", expand=False).astype(int) + clicks["price"] / 1000
    data = rankwood.Dataset(clicks, label="label", qid="query", ignore=["title", "text", "session"])
    params = {**PARAMS, "leaves": 63, "l2": 1, "rounds": 60}
    leaking = rankwood.cv(params, data, 4)
    honest = rankwood.cv(params, data, 4, groups=clicks["text"].to_numpy())
    assert honest.pooled["ndcg@10"] < leaking.pooled["ndcg@10"] - 0.02
    texts = clicks.groupby("query", sort=False)["text"].first().to_numpy()
    assert [len(set(honest.fold_of[texts == text])) for text in set(texts)] == [1] * 60


# ---- 13: a training verified from its manifest ----


def test_training_verified_from_its_manifest(table: Any, unseen: Any, tmp_path: Path) -> None:
    data, valid = rankwood.Dataset(table, **COLUMNS), rankwood.Dataset(unseen, **COLUMNS)
    params = {**PARAMS, "early_stop": 10}
    model = rankwood.train(params, data, valid=valid, manifest=True)
    file = tmp_path / "model.json"
    file.write_text(json.dumps(model.manifest))
    assert rankwood.verify(file, data, valid=valid, params={"threads": 1}) is None
    changed = table.copy()
    changed.loc[7, "label"] = 3 - changed.loc[7, "label"]
    difference = rankwood.verify(file, rankwood.Dataset(changed, **COLUMNS), valid=valid)
    assert difference is not None and difference.startswith("data train labels")
    other = rankwood.train({**params, "rate": 0.3}, data, valid=valid, manifest=True)
    assert other.manifest is not None and other.manifest != model.manifest
