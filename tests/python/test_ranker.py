"""scikit-learn's conventions."""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import rankwood
from conftest import Made, make
from rankwood import Dataset, Ranker, scorer

# A document that stands twice is ranked against itself and moves every position below it; one of weight 2
# does neither. So weights are not repetitions, for any objective of rankings.
NOT_REPETITIONS = "a document of weight 2 is one document in a ranking, not two"


def expected_failures(estimator: Any) -> dict[str, str]:
    if estimator.min_docs > 1:  # the checks' few documents give no trees, so all scores are 0
        return {}
    return {
        "check_sample_weight_equivalence_on_dense_data": NOT_REPETITIONS,
        "check_sample_weight_equivalence_on_sparse_data": NOT_REPETITIONS,
    }


# docs/how-to/python.md names the second estimator, and these two checks
@parametrize_with_checks(
    [Ranker(), Ranker(rounds=5, min_docs=1)], expected_failed_checks=expected_failures, xfail_strict=True
)
@pytest.mark.filterwarnings("ignore:.* has no query ids:UserWarning")  # the checks call fit(X, y)
@pytest.mark.filterwarnings("ignore:training made no trees:UserWarning")
def test_check_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


PARAMS: dict[str, Any] = {"rounds": 8, "leaves": 6, "min_docs": 2, "l2": 5}


@pytest.fixture
def routing() -> Any:
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def test_fit_is_train(made: Made, model: rankwood.Model) -> None:
    by_qid = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    by_group = Ranker(**PARAMS).fit(made.X, made.y, group=made.group)
    assert by_qid.model_.to_bytes() == by_group.model_.to_bytes() == model.to_bytes()
    assert np.array_equal(by_qid.predict(made.X), model.predict(made.X))
    weights = 1.0 + made.y
    weighted = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid, sample_weight=weights)
    assert weighted.model_.to_bytes() == (
        rankwood.train(PARAMS, made.dataset(weight=weights)).to_bytes()
    )
    assert weighted.model_.to_bytes() != model.to_bytes()


def test_defaults_are_the_programs() -> None:
    params = rankwood._params.Params()
    given = Ranker().get_params()
    assert np.isnan(given.pop("missing")) and given.pop("strict") is False
    for name, value in given.items():
        assert rankwood._params.as_text(value) == params.get(name), name


def test_every_parameter_is_there() -> None:
    ours = set(Ranker().get_params())
    for info in rankwood._params.infos():
        name = rankwood._core.text(info.name).replace("-", "_")
        # files, what only the program has, and what changes no tree
        assert name in ours or name in NOT_HERE, name


@pytest.mark.parametrize("name", ["names", "ignore", "features", "hist", "gpu_memory"])
def test_a_parameter_that_only_training_has(name: str) -> None:
    with pytest.raises(TypeError) as error:
        Ranker(**{name: 1})
    assert str(error.value) == f"Ranker() has no parameter '{name}'"


NOT_HERE = {"weights", "names", "ignore", "features", "hist", "gpu_memory", "batch", "refit_decay"} | {
    "query_weights", "start_scores", "positions", "pairs_file", "label_column", "qid_column", "weight_column",
    "labels", "label_columns",
}  # fmt: skip


def test_eval_sets(made: Made, other: Made) -> None:
    params = {**PARAMS, "rounds": 60, "early_stop": 5}
    expected = rankwood.train(params, made.dataset(), valid={"valid_0": other.dataset()})
    by_qid = Ranker(**params).fit(
        made.X, made.y, qid=made.qid, eval_set=[(other.X, other.y)], eval_qid=[other.qid]
    )
    by_group = Ranker(**params).fit(
        made.X, made.y, group=made.group, eval_set=[(other.X, other.y)], eval_group=[other.group]
    )
    for ranker in (by_qid, by_group):
        assert ranker.model_.to_bytes() == expected.to_bytes()
        assert ranker.evals_result_ == expected.evals_result
        assert ranker.best_iteration_ == expected.best_round < 60
    with pytest.raises(rankwood.DataError, match="eval_set 0 has neither eval_qid nor eval_group, nor a column 'qid'"):
        Ranker(**params).fit(made.X, made.y, qid=made.qid, eval_set=[(other.X, other.y)])


def test_callbacks(made: Made) -> None:
    ranker = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid, callbacks=[lambda one: one.round == 2])
    assert ranker.model_.n_trees == ranker.best_iteration_ == 2


def test_scattered_queries(made: Made) -> None:
    """fit and score sort; scores come in the caller's order."""
    order = np.random.default_rng(6).permutation(len(made.y))
    ranker = Ranker(**PARAMS).fit(made.X[order], made.y[order], qid=made.qid[order])
    data = rankwood.Dataset(made.X[order], made.y[order], qid=made.qid[order], sort=True)
    assert ranker.model_.to_bytes() == rankwood.train(PARAMS, data).to_bytes()
    assert np.array_equal(ranker.predict(made.X)[order], ranker.predict(made.X[order]))
    score = ranker.score(made.X[order], made.y[order], qid=made.qid[order])
    assert score == rankwood.evaluate(data, ranker.predict(made.X[order]))["ndcg@10"]


def test_score(made: Made, other: Made) -> None:
    ranker = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    measured = rankwood.evaluate(other.dataset(), ranker.model_, ["ndcg@10", "map"])
    assert ranker.score(other.X, other.y, qid=other.qid) == measured["ndcg@10"]
    assert ranker.score(other.X, other.y, qid=other.qid, metric="map") == measured["map"]
    assert scorer("map")(ranker, other.X, other.y, qid=other.qid) == measured["map"]
    assert ranker.score(other.X, other.y, group=other.group) == measured["ndcg@10"]
    assert ranker.score(other.X, other.y, single_query=True) != measured["ndcg@10"]


def many() -> Made:
    """More documents than may be one query in doubt, of queries whose scales differ."""
    return make(9, 60)


def test_queries_forgotten(made: Made) -> None:
    """Many documents without query ids are an error, few are one query, with a warning."""
    X, y, qid = many().X, many().y, many().qid
    ranker = Ranker(**PARAMS)
    with pytest.raises(rankwood.DataError, match=r"fit\(\) has \d+ documents and no query ids\nhint: pass qid"):
        ranker.fit(X, y)
    ranker.fit(X, y, qid=qid)
    with pytest.raises(rankwood.DataError, match=r"score\(\) has \d+ documents and no query ids"):
        ranker.score(X, y)
    with pytest.raises(rankwood.DataError):
        ranker.fit(X[:501], y[:501])
    with pytest.warns(UserWarning, match="no query ids, so all 500 documents are one query") as told:
        ranker.fit(X[:500], y[:500])
    assert len(told) == 1 and told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stated = Ranker(**PARAMS).fit(X, y, single_query=True)
        assert stated.model_.to_bytes() == Ranker(**PARAMS).fit(X, y, group=[len(y)]).model_.to_bytes()
        assert stated.score(X, y, single_query=True) == stated.score(X, y, group=[len(y)])
    for more in ({"qid": qid}, {"group": many().group}):
        with pytest.raises(rankwood.DataError, match=r"single_query=True and .* are both given"):
            ranker.fit(X, y, single_query=True, **more)


def test_group_of_floats(made: Made) -> None:
    """Other rankers take sizes of floats; ours does if they are whole."""
    whole = Ranker(**PARAMS).fit(made.X, made.y, group=made.group.astype(float))
    assert whole.model_.to_bytes() == Ranker(**PARAMS).fit(made.X, made.y, group=made.group).model_.to_bytes()
    for wrong in (made.group + 0.5, np.where(made.group > 9, np.nan, made.group)):
        with pytest.raises(rankwood.DataError, match="expected the size of each query, whole numbers"):
            Ranker(**PARAMS).fit(made.X, made.y, group=wrong)


def frames(of: Made) -> dict[str, Callable[[], Any]]:
    """Frames with a column "qid", by library."""
    columns = {"a": of.X[:, 0], "qid": of.qid, **{name: of.X[:, i] for i, name in enumerate("bcdef", 1)}}
    words = {**columns, "qid": [f"words {one}" for one in of.qid]}
    out = {"pandas": lambda: pd.DataFrame(columns), "pandas of words": lambda: pd.DataFrame(words)}
    for library, table in (("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            make_table = getattr(importlib.import_module(library), table)
        except ImportError:
            continue
        out[library] = partial(make_table, columns)
        out[f"{library} of words"] = partial(make_table, words)
    return out


@pytest.mark.parametrize("kind", frames(make(1)))
def test_column_qid(kind: str, made: Made, other: Made) -> None:
    """It holds the query ids if none are given, and is never a feature."""
    table, unseen = frames(made)[kind](), frames(other)[kind]()
    plain = Ranker(**PARAMS).fit(pd.DataFrame(made.X, columns=list("abcdef")), made.y, qid=made.qid)
    ranker = Ranker(**PARAMS).fit(table, made.y, eval_set=[(unseen, other.y)])
    assert ranker.feature_names_in_.tolist() == list("abcdef") and ranker.n_features_in_ == 6
    ranker = Ranker(**PARAMS).fit(table, made.y)
    assert ranker.model_.to_bytes() == plain.model_.to_bytes()
    scores = plain.predict(pd.DataFrame(other.X, columns=list("abcdef")))
    assert np.array_equal(ranker.predict(unseen), scores)
    assert np.array_equal(ranker.model_.predict(Dataset(unseen)), scores)
    of_array = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    assert np.array_equal(of_array.predict(unseen), scores), "columns by number, without the query ids"
    score = plain.score(pd.DataFrame(other.X, columns=list("abcdef")), other.y, qid=other.qid)
    assert ranker.score(unseen, other.y) == score == scorer()(ranker, unseen, other.y)
    assert rankwood.evaluate(Dataset(unseen, other.y), ranker.model_)["ndcg@10"] == score
    for more in ({"qid": made.qid}, {"group": made.group}):
        name = next(iter(more))
        for call in (
            lambda more=more: Ranker(**PARAMS).fit(table, made.y, **more),
            lambda more=more: ranker.score(table, made.y, **more),
            lambda more=more: Dataset(table, made.y, **more),
        ):
            with pytest.raises(rankwood.DataError, match=f"has a column 'qid', and {name} is also given"):
                call()
    assert Dataset(table, made.y, qid=made.qid, ignore=["qid"]).feature_names == list("abcdef")
    assert Dataset(table, made.y, qid="qid").feature_names == list("abcdef")
    with pytest.raises(rankwood.DataError, match="single_query=True and a column 'qid' are both given"):
        Ranker(**PARAMS).fit(table, made.y, single_query=True)


def test_column_qid_of_documents_to_score(made: Made) -> None:
    """Scores need no queries, so the column may hold anything."""
    table = pd.DataFrame(made.X, columns=list("abcdef")).assign(shop=pd.Categorical(made.qid % 3))
    mixed = table.assign(qid=np.where(made.y > 1, np.nan, made.qid[::-1]))
    for columns in (list("abcdef"), [*"abcdef", "shop"]):
        ranker = Ranker(**PARAMS).fit(table[columns], made.y, qid=made.qid)
        expected = ranker.predict(table[columns])
        assert np.array_equal(ranker.predict(mixed), expected)
        assert np.array_equal(ranker.model_.predict(Dataset(mixed)), expected)
    with pytest.raises(rankwood.DataError, match="qid has floats"):
        Dataset(mixed, made.y)


def test_feature_qid(made: Made) -> None:
    """A model that has a feature of that name keeps it."""
    names = ["qid", *"bcdef"]
    model = rankwood.train(PARAMS, made.dataset(feature_names=names))
    assert np.array_equal(model.predict(pd.DataFrame(made.X, columns=names)), model.predict(made.X))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search(made: Made, n_jobs: int | None) -> None:
    ranker = Ranker(**PARAMS).set_fit_request(qid=True)
    grid = {"leaves": [2, 6], "rate": [0.01, 0.3]}
    search = GridSearchCV(ranker, grid, scoring=scorer("ndcg@5"), cv=GroupKFold(4), n_jobs=n_jobs)
    search.fit(made.X, made.y, qid=made.qid, groups=made.qid)
    by_hand = []
    for leaves in grid["leaves"]:
        for rate in grid["rate"]:
            values = []
            for fit, test in GroupKFold(4).split(made.X, made.y, made.qid):
                one = Ranker(**{**PARAMS, "leaves": leaves, "rate": rate})
                one.fit(made.X[fit], made.y[fit], qid=made.qid[fit])
                values.append(one.score(made.X[test], made.y[test], qid=made.qid[test], metric="ndcg@5"))
            by_hand.append(np.mean(values))
    assert np.allclose(search.cv_results_["mean_test_score"], by_hand, rtol=0, atol=1e-12)
    assert len(set(by_hand)) == 4
    assert search.best_params_ == dict(zip(("leaves", "rate"), divmod_of(int(np.argmax(by_hand)), grid), strict=True))
    best = Ranker(**{**PARAMS, **search.best_params_}).fit(made.X, made.y, qid=made.qid)
    assert search.best_estimator_.model_.to_bytes() == best.model_.to_bytes()


def divmod_of(i: int, grid: dict[str, list[Any]]) -> tuple[Any, Any]:
    return grid["leaves"][i // 2], grid["rate"][i % 2]


def test_scorer_without_qid(made: Made) -> None:
    """Without metadata routing scikit-learn passes no query ids; the scorer reports it for data of any size."""
    ranker = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    with pytest.raises(rankwood.DataError, match=r"the scorer has no query ids\nhint: sklearn\.set_config"):
        scorer()(ranker, made.X, made.y)
    search = GridSearchCV(Ranker(**PARAMS), {"leaves": [4, 8]}, scoring=scorer(), cv=GroupKFold(3))
    with pytest.raises(rankwood.DataError, match="the scorer has no query ids"):
        search.set_params(error_score="raise").fit(made.X, made.y, qid=made.qid, groups=made.qid)
    table = pd.DataFrame(made.X, columns=list("abcdef")).assign(qid=made.qid)
    search.fit(table, made.y, groups=made.qid)  # a column needs no routing
    by_hand = [
        Ranker(**PARAMS | {"leaves": 8}).fit(table.iloc[fit], made.y[fit]).score(table.iloc[test], made.y[test])
        for fit, test in GroupKFold(3).split(made.X, made.y, made.qid)
    ]
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(by_hand), rel=1e-12)


def test_scorer_of_errors(made: Made) -> None:
    """Larger is better for scikit-learn."""
    ranker = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    assert scorer("rmse")(ranker, made.X, made.y, qid=made.qid) == -ranker.score(
        made.X, made.y, qid=made.qid, metric="rmse"
    )


@pytest.mark.usefixtures("routing")
def test_scorer_of_a_pipeline(made: Made) -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("ranker", Ranker(**PARAMS).set_fit_request(qid=True))])
    search = GridSearchCV(
        pipeline, {"ranker__leaves": [2, 6]}, scoring=scorer(), cv=GroupKFold(3), error_score="raise"
    )
    search.fit(made.X, made.y, qid=made.qid, groups=made.qid)
    by_hand = []
    for fit, test in GroupKFold(3).split(made.X, made.y, made.qid):
        scale = StandardScaler().fit(made.X[fit])
        one = Ranker(**PARAMS).fit(scale.transform(made.X[fit]), made.y[fit], qid=made.qid[fit])
        by_hand.append(one.score(scale.transform(made.X[test]), made.y[test], qid=made.qid[test]))
    assert search.cv_results_["mean_test_score"][1] == pytest.approx(np.mean(by_hand), rel=1e-12)
    nested = cross_val_score(
        search, made.X, made.y, scoring=scorer(), cv=GroupKFold(2), error_score="raise",
        params={"qid": made.qid, "groups": made.qid},
    )  # fmt: skip
    assert nested.shape == (2,) and (nested > 0.5).all()


@pytest.mark.usefixtures("routing")
def test_scorer_of_other_rankers(made: Made) -> None:
    data = made.dataset()
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is not installed")
    other = lightgbm.LGBMRanker(n_estimators=5, verbose=-1).fit(made.X, made.y, group=made.group)
    expected = rankwood.evaluate(data, other.predict(made.X))["ndcg@10"]
    assert scorer()(other, made.X, made.y, qid=made.qid) == expected
    xgboost = pytest.importorskip("xgboost", reason="xgboost is not installed")
    ranker = xgboost.XGBRanker(n_estimators=5).set_fit_request(qid=True)
    values = cross_val_score(
        ranker, made.X, made.y, scoring=scorer(), cv=GroupKFold(3), error_score="raise",
        params={"qid": made.qid, "groups": made.qid},
    )  # fmt: skip
    by_hand = []
    for fit, test in GroupKFold(3).split(made.X, made.y, made.qid):
        scores = xgboost.XGBRanker(n_estimators=5).fit(made.X[fit], made.y[fit], qid=made.qid[fit])
        part = Dataset(made.X[test], made.y[test], qid=made.qid[test])
        by_hand.append(rankwood.evaluate(part, scores.predict(made.X[test]))["ndcg@10"])
    assert np.allclose(values, by_hand, rtol=0, atol=1e-12)


@pytest.mark.usefixtures("routing")
def test_cross_val_score(made: Made) -> None:
    ranker = Ranker(**PARAMS).set_fit_request(qid=True)
    values = cross_val_score(
        ranker,
        made.X,
        made.y,
        scoring=scorer(),
        cv=GroupKFold(3),
        params={"qid": made.qid, "groups": made.qid},
        error_score="raise",
    )
    assert values.shape == (3,) and (values > 0.5).all()


@pytest.mark.parametrize("missing", [0, -999])
def test_missing(made: Made, other: Made, missing: float) -> None:
    def holes(of: Made, value: float) -> np.ndarray[Any, Any]:
        return np.where((of.X > 0.5) | (of.X == 0), np.float32(value), of.X)

    def fitted(value: float, **more: Any) -> Ranker:
        sets = {"eval_set": [(holes(other, value), other.y)], "eval_qid": [other.qid]}
        return Ranker(**PARAMS, **more).fit(holes(made, value), made.y, qid=made.qid, **sets)

    marked, plain = fitted(missing, missing=missing), fitted(np.nan)
    assert marked.model_.to_bytes() == plain.model_.to_bytes()
    expected = plain.predict(holes(other, np.nan))
    assert np.array_equal(marked.predict(holes(other, missing)), expected)
    assert np.array_equal(marked.predict(pd.DataFrame(holes(other, missing))), expected)
    assert np.array_equal(marked.predict(Dataset(holes(other, missing), missing=missing)), expected)
    assert not np.array_equal(plain.predict(holes(other, missing)), expected)
    score = plain.score(holes(other, np.nan), other.y, qid=other.qid)
    assert marked.score(holes(other, missing), other.y, qid=other.qid) == score
    assert clone(marked).missing == missing


def test_clone_and_pickle(made: Made) -> None:
    ranker = Ranker(**PARAMS, seed=3)
    assert clone(ranker).get_params() == ranker.get_params()
    fitted = ranker.fit(made.X, made.y, qid=made.qid)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.model_.to_bytes() == fitted.model_.to_bytes()
    assert np.array_equal(again.predict(made.X), fitted.predict(made.X))
    assert repr(again.get_params()) == repr(fitted.get_params())
    assert not hasattr(clone(fitted), "model_")


@pytest.mark.parametrize("names", [False, True])
def test_skops(made: Made, names: bool) -> None:
    """skops has to trust two types of the package only."""
    skops = pytest.importorskip("skops.io", reason="skops is not installed")
    X: Any = pd.DataFrame(made.X, columns=list("abcdef")) if names else made.X
    fitted = Ranker(**PARAMS).fit(X, made.y, qid=made.qid, eval_set=[(X, made.y)], eval_qid=[made.qid])
    kept = skops.dumps(fitted)
    types = skops.get_untrusted_types(data=kept)
    assert sorted(types) == ["rankwood._model.Model", "rankwood.sklearn.Ranker"]
    again = skops.loads(kept, trusted=types)
    assert again.model_.to_bytes() == fitted.model_.to_bytes()
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.evals_result_ == again.model_.evals_result == fitted.evals_result_
    assert repr(again.get_params()) == repr(fitted.get_params())
    assert names == hasattr(again, "feature_names_in_")
    assert skops.loads(skops.dumps(Ranker()), trusted=types).get_params()["rounds"] == "auto"


def test_joblib(made: Made, tmp_path: Any) -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    fitted = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    joblib.dump(fitted, tmp_path / "ranker")
    assert np.array_equal(joblib.load(tmp_path / "ranker").predict(made.X), fitted.predict(made.X))


def test_names(made: Made) -> None:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    ranker = Ranker(**PARAMS).fit(table, made.y, qid=made.qid)
    assert ranker.feature_names_in_.tolist() == list("abcdef")
    assert ranker.n_features_in_ == 6
    assert np.array_equal(ranker.predict(table[list("fedcba")]), ranker.predict(table))
    ranker.fit(made.X, made.y, qid=made.qid)
    assert not hasattr(ranker, "feature_names_in_")


def test_importances(made: Made) -> None:
    ranker = Ranker(**PARAMS)
    with pytest.raises(NotFittedError):
        _ = ranker.feature_importances_
    ranker.fit(made.X, made.y, qid=made.qid)
    values = ranker.feature_importances_
    assert values.shape == (6,) and values.sum() == pytest.approx(1)
    gains = ranker.model_.importance()
    assert np.argmax(values) == next(iter(gains)) == 0
    assert values[0] == pytest.approx(gains[0] / sum(gains.values()))


def test_parameters_of_others_are_named() -> None:
    for theirs, ours in {"num_leaves": "leaves", "n_estimators": "rounds", "learning_rate": "rate"}.items():
        with pytest.raises(TypeError, match=f"no parameter '{theirs}'; it is '{ours}'"):
            Ranker(**{theirs: 31})
    with pytest.raises(TypeError):
        Ranker("lambdarank")  # type: ignore[misc]
    assert Ranker(leaves="nonsense").get_params()["leaves"] == "nonsense", "nothing is checked before fit"


def test_width(made: Made) -> None:
    ranker = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    for width in (5, 7):
        with pytest.raises(rankwood.DataError, match=f"X has {width} features, but Ranker is expecting 6"):
            ranker.predict(np.zeros((3, width), np.float32))


# ---- models of a Ranker ----


def test_no_possible_split(made: Made, tmp_path: Path) -> None:
    few = slice(0, 12)
    reason = "training made no trees: min_docs=20 is more than half of the 12 documents"
    with pytest.warns(UserWarning, match=reason) as found:
        ranker = Ranker().fit(made.X[few], made.y[few], qid=made.qid[few])
    assert len(found) == 1 and found[0].filename == __file__
    assert "the model scores all documents 0" in str(found[0].message)
    assert ranker.model_.n_trees == ranker.best_iteration_ == 0 and ranker.best_score_ is None
    assert not ranker.predict(made.X).any() and not ranker.feature_importances_.any()
    ranker.save(tmp_path / "empty.txt")
    assert not Ranker.from_model(tmp_path / "empty.txt").predict(made.X).any()
    with pytest.raises(rankwood.DataError, match="training made no trees"):
        rankwood.train({}, rankwood.Dataset(made.X[few], made.y[few], qid=made.qid[few]))


def test_init(made: Made, other: Made) -> None:
    first = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid)
    sets = {"eval_set": [(other.X, other.y)], "eval_qid": [other.qid]}
    expected = rankwood.train(PARAMS, made.dataset(), init=first.model_, valid={"valid_0": other.dataset()})
    for init in (first, first.model_):
        both = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid, init=init, **sets)
        assert both.model_.to_bytes() == expected.to_bytes()
    curve = both.evals_result_["valid_0"]["ndcg@10"]
    assert both.best_iteration_ > 8 and both.best_score_ == curve[both.best_iteration_ - 9]
    assert both.best_score_ == pytest.approx(both.score(other.X, other.y, qid=other.qid))
    for wrong in (3, Ranker()):
        with pytest.raises(rankwood.ParameterTypeError, match="init is a"):
            Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid, init=wrong)


def test_best_score(made: Made, other: Made) -> None:
    params = {**PARAMS, "rounds": 60, "early_stop": 5, "metric": ["map", "ndcg@10"]}
    train_set, valid = (made.X, made.y), (other.X, other.y)
    ranker = Ranker(**params).fit(  # the training set does not stop training
        *train_set, qid=made.qid, eval_set=[train_set, valid], eval_qid=[made.qid, other.qid]
    )
    assert ranker.best_iteration_ < 60
    assert ranker.best_score_ == ranker.evals_result_["valid_1"]["map"][ranker.best_iteration_ - 1]
    assert ranker.best_score_ == pytest.approx(ranker.score(*valid, qid=other.qid, metric="map"))
    assert Ranker(**PARAMS).fit(*train_set, qid=made.qid).best_score_ is None


def test_save_and_from_model(made: Made, tmp_path: Path) -> None:
    frame = pd.DataFrame(made.X, columns=list("abcdef"))
    ranker = Ranker(**PARAMS).fit(frame, made.y, qid=made.qid)
    ranker.save(tmp_path / "model.txt")
    assert (tmp_path / "model.txt").read_bytes() == ranker.model_.to_bytes()
    for given in (tmp_path / "model.txt", str(tmp_path / "model.txt"), ranker.model_):
        same = Ranker.from_model(given)
        assert np.array_equal(same.predict(frame), ranker.predict(frame))
        assert same.get_params()["leaves"] == 6 and same.n_features_in_ == 6
        assert list(same.feature_names_in_) == list("abcdef") and same.best_iteration_ == 8
        assert np.array_equal(same.feature_importances_, ranker.feature_importances_)
        assert np.array_equal(clone(same).fit(frame, made.y, qid=made.qid).predict(frame), ranker.predict(frame))
    with pytest.raises(NotFittedError):
        Ranker().save(tmp_path / "no.txt")
    assert not (tmp_path / "no.txt").exists()
    with pytest.raises(rankwood.FileError):
        Ranker.from_model(tmp_path / "missing.txt")
    with pytest.raises(rankwood.ParameterTypeError, match="model is a int"):
        Ranker.from_model(3)  # type: ignore[arg-type]


def test_evaluate_and_plot_a_ranker(made: Made, other: Made) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    sets = {"eval_set": [(other.X, other.y)], "eval_qid": [other.qid]}
    ranker = Ranker(**PARAMS).fit(made.X, made.y, qid=made.qid, **sets)
    data, plot = other.dataset(), rankwood.plot
    assert rankwood.evaluate(data, ranker) == rankwood.evaluate(data, ranker.model_)
    for draw in (plot.learning_curves, plot.importance, plot.tree):
        assert draw(ranker) is not None
    assert plot.per_query(data, ranker, against=ranker.model_) is not None
    assert plot.partial_dependence(ranker, data, next(iter(ranker.model_.importance()))) is not None
    with pytest.raises(TypeError, match="model is a Ranker"):
        plot.importance(Ranker())


class WithMore(Ranker):
    """A subclass with a parameter and a default of its own; the others are passed on."""

    def __init__(self, extra: int = 1, leaves: int = 6, **kwargs: Any) -> None:
        super().__init__(leaves=leaves, **kwargs)
        self.extra = extra


def test_subclasses(made: Made, model: rankwood.Model) -> None:
    params = {name: value for name, value in PARAMS.items() if name != "leaves"}
    ranker = WithMore(extra=3, **params)
    assert set(ranker.get_params()) == {*Ranker().get_params(), "extra"}
    assert clone(ranker).get_params()["extra"] == 3 and clone(ranker).rounds == 8
    assert list(inspect.signature(WithMore).parameters) == ["extra", "leaves", "kwargs"]
    ranker.fit(made.X, made.y, qid=made.qid)  # also with its own default
    assert ranker.model_.to_bytes() == model.to_bytes()
    assert np.array_equal(pickle.loads(pickle.dumps(ranker)).predict(made.X), model.predict(made.X))
    assert isinstance(WithMore.from_model(model), WithMore)
    with pytest.raises(TypeError, match="WithMore\\(\\) has no parameter 'num_leaves'; it is 'leaves'"):
        WithMore(num_leaves=3)
