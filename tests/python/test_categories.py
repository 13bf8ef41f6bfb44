# room: dataset
"""Features whose values are categories: words, whatever codes a frame has for them."""

import numpy as np
import pandas as pd
import pytest

import rankwood

PARAMS = {"rounds": 20, "leaves": 8, "min_docs": 3, "early_stop": 0, "seed": 3}
SHOPS = [f"shop {i:02d}" for i in range(40)]


def frame(seed: int, n_queries: int = 150) -> pd.DataFrame:
    """Labels that follow the shop, whose number says nothing."""
    rng = np.random.default_rng(seed)
    effect = np.random.default_rng(99).uniform(-1.5, 1.5, len(SHOPS))
    n = n_queries * 12
    shop, x = rng.integers(0, len(SHOPS), n), rng.random(n)
    score = effect[shop] + x + rng.normal(0, 0.4, n)
    return pd.DataFrame(
        {
            "label": np.digitize(score, [0.2, 0.9, 1.6]),
            "qid": np.repeat(np.arange(n_queries), 12),
            "shop": pd.Categorical.from_codes(shop, SHOPS),
            "x": x.astype(np.float32),
        }
    )


def recoded(table: pd.DataFrame, words: list[str]) -> pd.DataFrame:
    """The same words by other codes."""
    return table.assign(shop=pd.Categorical(table["shop"].astype(object), categories=words))


@pytest.fixture(scope="module")
def train_set() -> rankwood.Dataset:
    return rankwood.Dataset(frame(1), "label", qid="qid")


@pytest.fixture(scope="module")
def model(train_set: rankwood.Dataset) -> rankwood.Model:
    return rankwood.train(PARAMS, train_set)


def test_better_than_codes(model: rankwood.Model) -> None:
    table, test = frame(1), frame(2)
    codes = [one.assign(shop=one["shop"].cat.codes) for one in (table, test)]
    plain = rankwood.train(PARAMS, rankwood.Dataset(codes[0], "label", qid="qid"))
    by_words = rankwood.evaluate(rankwood.Dataset(test, "label", qid="qid"), model)
    by_codes = rankwood.evaluate(rankwood.Dataset(codes[1], "label", qid="qid"), plain)
    assert by_words["ndcg@10"] > by_codes["ndcg@10"] + 0.05
    assert plain.categories == {}
    assert model.categories == {"shop": SHOPS}


def test_categories_without_effect() -> None:
    """Such categories are split less where the choice of a set costs more, and at last none is."""
    table, rng = frame(1), np.random.default_rng(5)
    table["brand"] = pd.Categorical.from_codes(rng.integers(0, 120, len(table)), [f"brand {i}" for i in range(120)])
    data = rankwood.Dataset(table, "label", qid="qid")
    splits = {}
    for penalty in (0, 2, 1e6):
        nodes = rankwood.train({**PARAMS, "category_penalty": penalty}, data).trees_to_dataframe()
        splits[penalty] = [(nodes["feature"] == name).sum() for name in ("shop", "brand")]
    assert splits[2][1] < splits[0][1] / 2
    assert splits[2][0] > splits[0][0] / 2
    assert splits[1e6] == [0, 0]


@pytest.mark.parametrize("kind", ["permuted", "more", "fewer", "objects"])
def test_scores_by_word(model: rankwood.Model, kind: str) -> None:
    test = frame(2)
    expected = model.predict(test)
    words = list(np.random.default_rng(7).permutation(SHOPS))
    if kind == "more":
        words = ["another", *words, "zzz"]
    if kind == "fewer":
        test = test[test["shop"] != SHOPS[3]]
        expected = model.predict(test)
        words.remove(SHOPS[3])
    other = recoded(test, words) if kind != "objects" else test.assign(shop=test["shop"].astype(object))
    assert (model.predict(other) == expected).all()
    assert (model.predict(other[["x", "shop"]]) == expected).all()
    named = rankwood.Dataset(other[["x", "shop"]], categorical_features=["shop"])
    assert (model.predict(named) == expected).all()


def test_codes_permuted_in_training_too(model: rankwood.Model) -> None:
    words = list(np.random.default_rng(5).permutation(SHOPS))
    again = rankwood.train(PARAMS, rankwood.Dataset(recoded(frame(1), words), "label", qid="qid"))
    assert again.to_bytes() == model.to_bytes()


def test_unseen_and_missing(model: rankwood.Model) -> None:
    test = frame(2, 10)
    test["shop"] = "never seen"
    one = model.predict(test.assign(shop=pd.Categorical(test["shop"])))
    two = model.predict(test.assign(shop="nor this"))
    assert (one == two).all()
    assert np.isfinite(model.predict(test.assign(shop=None))).all()


def test_files_and_numbers(tmp_path) -> None:
    table = frame(1)
    table.to_csv(tmp_path / "train.csv", index=False)
    of_file = rankwood.Dataset(tmp_path / "train.csv", categorical_features=["shop"])
    assert (
        rankwood.train(PARAMS, of_file).to_bytes()
        == rankwood.train(PARAMS, rankwood.Dataset(table, "label", qid="qid")).to_bytes()
    )
    model = rankwood.train(PARAMS, of_file)
    assert (model.predict(tmp_path / "train.csv") == model.predict(table)).all()
    numbers = np.column_stack([table["shop"].cat.codes.astype(np.int64) + 2_000_000_000, table["x"].astype(np.float64)])
    data = rankwood.Dataset(numbers, table["label"], qid=table["qid"], categorical_features=[0])
    by_number = rankwood.train(PARAMS, data)
    assert by_number.categories[0][0] == "2000000000"
    assert (by_number.predict(numbers) == model.predict(table)).all()


def test_arrow() -> None:
    arrow = pytest.importorskip("pyarrow")
    table = frame(1)
    expected = rankwood.train(PARAMS, rankwood.Dataset(table, "label", qid="qid"))
    data = rankwood.Dataset(arrow.table(table), "label", qid="qid")
    assert rankwood.train(PARAMS, data).to_bytes() == expected.to_bytes()
    assert (expected.predict(arrow.table(table)) == expected.predict(table)).all()


def batch_frames(table: pd.DataFrame) -> list[pd.DataFrame]:
    """Parts of 501 rows, whose codes are for other words in each, and whose dictionaries have not all of them."""
    parts = []
    for first in range(0, len(table), 501):
        part = table.iloc[first : first + 501]
        words = list(np.random.default_rng(first).permutation(sorted(set(part["shop"].dropna().astype(str)))))
        parts.append(recoded(part, words))
    return parts


def holed(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(shop=table["shop"].where(np.arange(len(table)) % 13 > 0))


@pytest.mark.parametrize("kind", ["pandas", "dicts", "arrow", "tables", "strings", "parquet", "parquet of strings"])
def test_batches(kind: str, tmp_path) -> None:
    table, test = holed(frame(1)), holed(frame(2))
    expected = rankwood.train(PARAMS, rankwood.Dataset(table, "label", qid="qid"))
    given = {"label": "label", "qid": "qid"}

    def made(table: pd.DataFrame, name: str) -> rankwood.Dataset:
        parts = batch_frames(table)
        plain = [part.assign(shop=part["shop"].astype(object)) for part in parts]
        if kind == "pandas":
            return rankwood.Dataset.from_batches(lambda: parts, **given)
        if kind == "dicts":
            dicts = [{name: part[name].to_numpy() for name in part} for part in plain]
            return rankwood.Dataset.from_batches(lambda: dicts, categorical_features="shop", **given)
        arrow = pytest.importorskip("pyarrow")
        if kind == "tables":
            return rankwood.Dataset.from_batches(lambda: [arrow.table(part) for part in parts], **given)
        if kind in ("arrow", "strings"):
            some = [arrow.RecordBatch.from_pandas(part) for part in (parts if kind == "arrow" else plain)]
            more = {} if kind == "arrow" else {"categorical_features": ["shop"]}
            return rankwood.Dataset.from_batches(lambda: some, **given, **more)
        parquet = pytest.importorskip("pyarrow.parquet")
        for i, part in enumerate(parts if kind == "parquet" else plain):
            parquet.write_table(arrow.table(part), tmp_path / f"{name}{i}.parquet")
        more = {} if kind == "parquet" else {"categorical_features": ["shop"]}
        paths = [tmp_path / f"{name}{i}.parquet" for i in range(len(parts))]
        return rankwood.Dataset.from_parquet(paths, batch_rows=200, **given, **more)

    data, held_out = made(table, "train"), made(test, "test")
    model = rankwood.train(PARAMS, data)
    assert model.to_bytes() == expected.to_bytes()
    assert (model.predict(held_out) == expected.predict(test)).all()
    assert (expected.predict(made(test[["label", "qid", "x", "shop"]], "turned")) == expected.predict(test)).all()
    assert rankwood.evaluate(held_out, model) == rankwood.evaluate(
        rankwood.Dataset(test, "label", qid="qid"), expected
    )
    in_two = rankwood.train({**PARAMS, "rounds": 5}, data, init=expected, valid=held_out)
    assert in_two.n_trees == 25


def test_batches_wrong() -> None:
    table = frame(1, 10)
    with pytest.raises(rankwood.DataError, match="no column 'shops' of categories"):
        rankwood.Dataset.from_batches(lambda: [table], label="label", qid="qid", categorical_features=["shops"])
    with pytest.raises(TypeError, match="has 3; expected names"):
        rankwood.Dataset.from_batches(lambda: [table], label="label", qid="qid", categorical_features=[3])
    parts = [table.assign(shop=table["shop"].cat.codes), table]
    data = rankwood.Dataset.from_batches(lambda: parts[:1], label="label", qid="qid")
    with pytest.raises(rankwood.DataError, match="'shop' has categories, but not in the first batch"):
        rankwood.Dataset.from_batches(lambda: parts, label="label", qid="qid")
    assert data._categorical() == ""


def test_init_and_refit(model: rankwood.Model) -> None:
    table, test = frame(3), frame(2)
    words = ["new a", *SHOPS[:20], "new b"]
    shop = table["shop"].astype(object).where(table["shop"].cat.codes < 20, "new a")
    table = table.assign(shop=pd.Categorical(shop.where(table["x"] < 0.9, "new b"), categories=words))
    data = rankwood.Dataset(table, "label", qid="qid")
    longer = rankwood.train({**PARAMS, "rounds": 6}, data, init=model)
    assert longer.n_trees == 26
    assert longer.categories == {"shop": sorted([*SHOPS, "new a", "new b"])}
    for one in (test, table):
        assert (longer.predict(one, n_trees=20) == model.predict(one)).all()
    assert rankwood.evaluate(data, longer)["ndcg@10"] > rankwood.evaluate(data, model)["ndcg@10"]
    full = rankwood.train({**PARAMS, "rounds": 6, "bins": 41}, data, init=model)
    assert len(full.categories["shop"]) == 41
    refitted = model.refit(data, decay=0.0)
    assert refitted.categories == model.categories
    assert [one["threshold"] for one in refitted.trees()] == [one["threshold"] for one in model.trees()]
    assert (refitted.predict(table) != model.predict(table)).any()
    kept = model.refit(data, decay=1.0)
    assert (kept.predict(test) == model.predict(test)).all()
    numbers = rankwood.Dataset(table.assign(shop=table["shop"].cat.codes.astype(np.float32)), "label", qid="qid")
    by_number = rankwood.train(PARAMS, numbers)
    with pytest.raises(rankwood.ParameterError, match="compares feature 'shop' with a threshold"):
        rankwood.train(PARAMS, data, init=by_number)
    for call in (by_number.predict, by_number.refit):
        with pytest.raises(rankwood.DataError, match="expected numbers in feature 'shop'"):
            call(data)


def test_functions_get_their_sets(train_set: rankwood.Dataset) -> None:
    seen = []

    def metric(scores: np.ndarray, dataset: rankwood.Dataset) -> float:
        seen.append((len(scores), dataset))
        return float(scores.max())

    valid = rankwood.Dataset(frame(2, 20), "label", qid="qid")
    rankwood.train({**PARAMS, "rounds": 2, "metric": metric}, train_set, valid=valid)
    assert seen
    assert all(n == valid.n_docs and dataset is valid for n, dataset in seen)


def test_ranker(model: rankwood.Model) -> None:
    table, test = frame(1), frame(2)
    ranker = rankwood.Ranker(rounds=20, leaves=8, min_docs=3, early_stop=0, seed=3)
    ranker.fit(table[["shop", "x"]], table["label"], qid=table["qid"])
    assert (ranker.predict(test[["shop", "x"]]) == model.predict(test)).all()
    numbers = [np.column_stack([one["shop"].cat.codes, one["x"]]) for one in (table, test)]
    ranker = rankwood.Ranker(rounds=20, leaves=8, min_docs=3, early_stop=0, seed=3, categorical=[0])
    ranker.fit(numbers[0], table["label"], qid=table["qid"])
    assert ranker.model_.categories[0] == sorted(str(i) for i in range(len(SHOPS)))
    assert np.isfinite(ranker.predict(numbers[1])).all()


def test_messages(model: rankwood.Model, train_set: rankwood.Dataset, tmp_path) -> None:
    splits = [one for one in model.trees() if one["leaf"] is None and one["feature"] == "shop"]
    assert any("in {shop" in one["threshold"] for one in splits)
    again = rankwood.Model.from_bytes(model.to_bytes())
    assert again.to_bytes() == model.to_bytes()
    assert again.categories == model.categories
    values, base, features = model.shap_values(train_set)
    assert len(features) == 2
    assert np.allclose(values.sum(axis=1) + base, model.predict(train_set))
    cv = rankwood.cv(PARAMS, train_set, 3)
    assert len(cv.folds) == 3
    with pytest.raises(rankwood.UnsupportedError, match="'ranklib' cannot represent"):
        model.export(tmp_path / "model.xml", "ranklib", feature_base=0)


def test_words_out_and_in_again(model: rankwood.Model, tmp_path) -> None:
    """Among the words are such as training never saw."""
    test = frame(2)
    test = recoded(test.assign(shop=test["shop"].astype(object).replace("shop 07", "unseen")), ["unseen", *SHOPS[::-1]])
    for format in ("lightgbm", "pmml", "c"):
        model.export(tmp_path / format, format, feature_base=0)
    back = rankwood.Model.import_from(tmp_path / "lightgbm", "lightgbm", feature_base=0)
    assert set(back.categories["shop"]) <= set(model.categories["shop"])
    assert (back.predict(test) == model.predict(test)).all()
    with pytest.raises(rankwood.UnsupportedError, match="feature 'shop': category 'shop 00'; in 'onnx' categories"):
        model.export(tmp_path / "no", "onnx", feature_base=0)
    assert not (tmp_path / "no").exists()
    table = frame(1)
    table.loc[::9, "shop"] = np.nan
    apart = rankwood.train(PARAMS, rankwood.Dataset(table, "label", qid="qid"))
    with pytest.raises(rankwood.UnsupportedError, match="'lightgbm' treats both as missing"):
        apart.export(tmp_path / "no", "lightgbm", feature_base=0)
    apart.export(tmp_path / "lossy", "lightgbm", feature_base=0, lossy=True)


def test_words_in_lightgbm(model: rankwood.Model, tmp_path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    model.export(tmp_path / "model.txt", "lightgbm", feature_base=0)
    test = recoded(frame(2), SHOPS[::-1])
    scores = lightgbm.Booster(model_file=tmp_path / "model.txt").predict(test[["shop", "x"]], raw_score=True)
    assert np.allclose(scores, model.predict(test), rtol=0, atol=1e-12)


@pytest.mark.parametrize("grow", ["leaves", "symmetric"])
def test_words_in_catboost(grow: str, tmp_path) -> None:
    """Missing ones are empty texts there; among the words are such as training never saw. A file of symmetric trees
    has CatBoost's own form."""
    table, test = frame(1), frame(2)
    table.loc[::9, "shop"] = test.loc[::7, "shop"] = np.nan
    params = PARAMS if grow == "leaves" else PARAMS | {"grow": grow, "leaves": "auto", "depth": 4}
    model = rankwood.train(params, rankwood.Dataset(table, "label", qid="qid"))
    model.export(tmp_path / "model.json", "catboost", feature_base=0)
    test = recoded(test.assign(shop=test["shop"].astype(object).replace("shop 07", "unseen")), ["unseen", *SHOPS])
    assert ('"oblivious_trees"' in (tmp_path / "model.json").read_text()) == (grow == "symmetric")
    back = rankwood.Model.import_from(tmp_path / "model.json", "catboost", feature_base=0)
    assert set(back.categories["shop"]) <= set(model.categories["shop"])
    assert (back.predict(test) == model.predict(test)).all()
    catboost = pytest.importorskip("catboost")
    theirs = catboost.CatBoost()
    theirs.load_model(str(tmp_path / "model.json"), format="json")
    given = test[["shop", "x"]].assign(shop=test["shop"].astype(object).fillna(""))
    scores = theirs.predict(catboost.Pool(given, cat_features=["shop"]))
    assert np.allclose(scores, model.predict(test), rtol=0, atol=1e-12)


@pytest.mark.parametrize("format", ["lightgbm", "xgboost", "xgboost-ubj", "onnx", "onnx5", "catboost"])
def test_numbers_out_and_in_again(format: str, tmp_path) -> None:
    table = frame(1)
    x = np.column_stack([table["shop"].cat.codes, table["x"]]).astype(np.float32)
    x[::9, 0] = np.nan
    train_set = rankwood.Dataset(x, table["label"], qid=table["qid"], categorical_features=[0])
    model = rankwood.train(PARAMS, train_set)
    model.export(tmp_path / "model", format, feature_base=0)
    back = rankwood.Model.import_from(tmp_path / "model", format, feature_base=0)
    assert set(back.categories[0]) <= set(model.categories[0])
    x[1::7, 0] = 1000 + np.arange(len(x[1::7]))
    assert (back.predict(x) == model.predict(x)).all()


def many(n_shops: int, seed: int = 1) -> pd.DataFrame:
    """Labels that follow one of many shops."""
    rng = np.random.default_rng(seed)
    effect = np.random.default_rng(98).uniform(-1.5, 1.5, n_shops)
    shop, x = rng.integers(0, n_shops, 6000), rng.random(6000)
    score = effect[shop] + x + rng.normal(0, 0.3, 6000)
    names = [f"shop {i:04d}" for i in range(n_shops)]
    columns = {"label": np.digitize(score, [0.2, 0.9, 1.6]), "qid": np.repeat(np.arange(300), 20), "x": x}
    return pd.DataFrame({**columns, "shop": pd.Categorical.from_codes(shop, names)})


def test_more_than_255(tmp_path, caplog: pytest.LogCaptureFixture) -> None:
    table, test = many(700), many(700, 2)
    data = rankwood.Dataset(table, "label", qid="qid")
    with caplog.at_level("INFO", logger="rankwood"):
        few = rankwood.train(PARAMS, data)
    shared = [record.message for record in caplog.records if "share one" in record.message]
    assert len(shared) == 1
    assert "feature 'shop' has 700 categories: 255 of them" in shared[0]
    assert "bins" in shared[0]
    caplog.clear()
    model = rankwood.train({**PARAMS, "bins": 1023}, data)
    assert not [record for record in caplog.records if "share one" in record.message]
    assert [len(one.categories["shop"]) for one in (few, model)] == [255, 700]
    assert model.to_bytes().startswith(b"rankwood model 6")
    measured = [rankwood.evaluate(rankwood.Dataset(test, "label", qid="qid"), one)["ndcg@10"] for one in (few, model)]
    assert measured[1] > measured[0] + 0.02
    words = list(np.random.default_rng(3).permutation(table["shop"].cat.categories))
    assert (model.predict(recoded(test, words)) == model.predict(test)).all()
    model.save(tmp_path / "model")
    assert rankwood.Model.load(tmp_path / "model").to_bytes() == model.to_bytes()
    wider = rankwood.Dataset(many(900), "label", qid="qid")
    assert len(rankwood.train({**PARAMS, "bins": 1023, "rounds": 3}, wider, init=model).categories["shop"]) == 900
    rows = rankwood.Dataset(test.head(60), "label", qid="qid")
    values, base, _ = model.shap_values(rows, cover=data)
    assert np.allclose(values.sum(axis=1) + base, model.predict(rows), rtol=0, atol=1e-9)


def test_wrong() -> None:
    table = frame(1, 10)
    with pytest.raises(rankwood.DataError, match="no column 'shops' of categories"):
        rankwood.Dataset(table, "label", qid="qid", categorical_features=["shops"])
    with pytest.raises(rankwood.DataError, match=r"has 0\.5; expected categories"):
        rankwood.Dataset(table.assign(x=0.5), "label", qid="qid", categorical_features=["x"])
    with pytest.raises(rankwood.DataError, match=r"has -1; expected categories"):
        rankwood.Dataset(table.assign(x=-1), "label", qid="qid", categorical_features=["x"])
    with pytest.raises(TypeError, match=r"categorical_features has 1\.5"):
        rankwood.Dataset(table, "label", qid="qid", categorical_features=[1.5])
    numbers = rankwood.Dataset(table.drop(columns="shop"), "label", qid="qid")
    for params in ({"category_smoothing": 3}, {"category_penalty": 1}):
        (name,) = params
        with pytest.raises(rankwood.ParameterError, match=f"'{name}' has no effect without categorical"):
            rankwood.train(params, numbers, strict=True)
