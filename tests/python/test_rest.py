# room: evaluate
"""Cross-validation, audits, checks, reports and explanations."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood as rw
from conftest import OF_ARRAYS, make_arrays


def make_dataset(**more: Any) -> rw.Dataset:
    x, y, qid = make_arrays()
    return rw.Dataset(x, y, qid=qid, **more)


# ---- cross-validation ----


def test_cv_scores_are_of_the_models_that_never_saw_the_query(dataset: rw.Dataset) -> None:
    done = rw.cv({**OF_ARRAYS, "early_stop": 0}, dataset, 4)
    x, _, qid = make_arrays()
    assert len(done.folds) == 4 == len(done.models)
    assert sorted(np.bincount(done.fold_of)) == [10, 10, 10, 10]
    for fold, one in enumerate(done.folds):
        mine = done.fold_of[qid] == fold
        assert np.array_equal(done.scores[mine], one.model.predict(x[mine]))
        assert (one.n_train, one.n_valid, one.n_test) == (30, 0, 10)
        assert one.model.n_trees == 15
        assert one.model.feature_names == dataset.feature_names
    assert done.pooled["ndcg@10"] == rw.evaluate(dataset, done.scores)["ndcg@10"]
    values = [one.evaluation["ndcg@10"] for one in done.folds]
    assert done.mean("ndcg@10") == pytest.approx((np.mean(values), np.std(values, ddof=1)), abs=1e-15)
    assert "4 folds" in repr(done)
    with pytest.raises(rw.ParameterError, match="'map'"):
        done.mean("map")


def test_cv_gives_scores_in_the_order_of_the_caller() -> None:
    x, y, qid = make_arrays()
    grouped = rw.cv({**OF_ARRAYS, "early_stop": 0}, rw.Dataset(x, y, qid=qid), 3)
    # one document of each query in turn: the queries come first in the same order
    order = np.argsort(np.tile(np.arange(15), 40), kind="stable")
    mixed = rw.cv({**OF_ARRAYS, "early_stop": 0}, rw.Dataset(x[order], y[order], qid=qid[order], sort=True), 3)
    assert np.array_equal(mixed.fold_of, grouped.fold_of)
    assert np.array_equal(mixed.scores, grouped.scores[order])
    assert not np.array_equal(mixed.scores, grouped.scores)


def test_cv_stops_early_by_the_next_fold() -> None:
    done = rw.cv({**OF_ARRAYS, "rounds": 60, "early_stop": 5, "metric": ["ndcg@5", "map"]}, make_dataset(), 5)
    assert all((one.n_train, one.n_valid, one.n_test) == (24, 8, 8) for one in done.folds)
    assert all(one.model.best_round == one.model.n_trees for one in done.folds)
    assert set(done.pooled) == {"ndcg@5", "map"}


def test_cv_chooses_auto_values() -> None:
    done = rw.cv({"rounds": 3, "early_stop": 0}, make_dataset(), 2)
    assert done.models[0].params["leaves"] == 8
    assert done.models[0].params["rate"] == 0.1


def test_cv_chooses_for_the_whole_set() -> None:
    x, y, qid = make_arrays(40, 300)
    data = rw.Dataset(x, y, qid=qid)
    whole = rw.train({"rounds": 1}, data).params
    assert (whole["leaves"], whole["split"]) == (10, "newton")
    for model in rw.cv({"rounds": 1, "early_stop": 0}, data, 4).models:  # 9,000 documents: 8 leaves, mart
        assert {name: model.params[name] for name in whole if name != "early_stop"} == {
            name: whole[name] for name in whole if name != "early_stop"
        }


def test_cv_models_outlive_the_rest() -> None:
    x, _, qid = make_arrays()
    done = rw.cv({**OF_ARRAYS, "early_stop": 0}, make_dataset(), 3)
    kept, mine = done.models[1], done.fold_of[qid] == 1
    expected = done.scores[mine].copy()
    del done
    gc.collect()
    assert np.array_equal(kept.predict(x[mine]), expected)


@pytest.mark.parametrize(
    ("params", "n_folds", "message"),
    [
        ({}, 2, "expected 3 or more"),
        ({"early_stop": 0}, 1, "folds is 1"),
        ({"early_stop": 0}, 41, "40, the number of queries"),
        ({"leafs": 3}, 5, "leaves"),
    ],
)
def test_cv_refuses(params: dict[str, Any], n_folds: int, message: str) -> None:
    with pytest.raises(rw.ParameterError, match=message):
        rw.cv(params, make_dataset(), n_folds)


def test_cv_wants_a_whole_number_of_folds(dataset: rw.Dataset) -> None:
    with pytest.raises(TypeError):
        rw.cv({}, dataset, 2.5)  # type: ignore[arg-type]


def test_arguments_that_are_not_datasets(tmp_path: Path, dataset: rw.Dataset, measured: rw.Model) -> None:
    x: Any = np.zeros((3, 6))
    for call in (
        lambda: rw.cv({}, x, 3),
        lambda: rw.audit(x, x),
        lambda: measured.report(tmp_path / "page.html", x),
        lambda: measured.explain(x),
        lambda: measured.explain(dataset, x),
        lambda: measured.permutation_importance(x),
        lambda: measured.to_shap(x),
    ):
        with pytest.raises(TypeError, match=r"is a ndarray; expected a rankwood\.Dataset"):
            call()


# ---- audits ----


def test_audit_has_each_program_as_evaluate_has_it(dataset: rw.Dataset, measured: rw.Model) -> None:
    audit = rw.audit(dataset, measured, ["ndcg@5", "map"])
    likes = {row.like for row in audit}
    assert {"rankwood", "lightgbm", "xgboost", "catboost", "trec"} <= likes
    assert (audit.n_docs, audit.n_queries, audit.n_single) == (600, 40, 0)
    n_compared = 0
    for row in audit:
        if row.refused is not None:
            assert np.isnan(row.mean)
            assert row.conventions == ""
            continue
        like = None if row.like == "rankwood" else row.like
        same = rw.evaluate(dataset, measured, row.metric, like=like)
        made_ids = "ties by falling id (QID-1, QID-2, ...)"  # the data has no ids of documents
        assert (made_ids in same.conventions) == (like in ("trec", "gdeval"))
        assert row.mean == same[row.metric]
        assert row.n_counted == same.metrics[row.metric].n_counted
        n_compared += 1
    assert n_compared >= 12
    assert len(audit) == len(audit.rows)


def test_audit_reports_refusals(measured: rw.Model) -> None:
    x, y, qid = make_arrays()
    data = rw.Dataset(x, y / 2, qid=qid)
    refused = {row.like: row.refused for row in rw.audit(data, measured) if row.refused is not None}
    assert "label" in refused["lightgbm"]
    assert "rankwood" not in refused


def test_audit_counts_ties() -> None:
    x, y, qid = make_arrays()
    falling = np.lexsort((-y, qid))
    audit = rw.audit(rw.Dataset(x, y[falling], qid=qid), np.zeros(len(y)))
    n_mixed = sum(len(set(y[qid == one])) > 1 for one in range(40))
    assert audit.n_tied == audit.n_falling == n_mixed
    assert audit.n_rising == 0


def test_audit_refuses(dataset: rw.Dataset) -> None:
    with pytest.raises(rw.DataError, match=r"\(3,\)"):
        rw.audit(dataset, np.zeros(3))
    with pytest.raises(rw.ParameterError, match="ndcgg"):
        rw.audit(dataset, np.zeros(600), "ndcgg")


# ---- checks ----

LINES = "2 qid:1 1:5 2:1 3:7\n0 qid:2 1:5 2:2 3:8\n1 qid:1 1:5 2:3 3:9\n0 qid:3 1:5 2:4 3:1\n"


def test_check_finds_errors_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "data.txt"
    path.write_text(LINES)
    found = rw.check(path)
    kinds = {one.kind for one in found.findings}
    assert "split-queries" in kinds
    assert "features-constant" in kinds
    assert found.counts["split"] == 1
    assert found.counts["documents"] == 4
    assert [one.feature for one in found.features if one.constant] == [1]
    assert found.labels == {0.0: 2, 1.0: 1, 2.0: 1}
    assert found.longest_query_id == "1"
    assert found.drift == []
    assert all(one.is_warning for one in found.warnings)
    assert found.findings[: len(found.warnings)] == found.warnings


def test_check_of_two_sets(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text(LINES)
    second.write_text("0 qid:3 1:5 2:4 3:1\n1 qid:4 1:6 2:4 3:1\n")
    found = rw.check([str(first)], against=second)
    assert found.counts["against_documents"] == 2
    assert found.counts["shared_queries"] == 1
    assert found.counts["shared_documents"] == 1
    drift = {one.name or one.of: one for one in found.drift}
    assert [one.of for one in found.drift[:2]] == ["labels", "query lengths"]
    assert drift["labels"].ks == 0.25
    assert drift["1"].ks == 0.5
    assert (drift["1"].feature, drift["1"].only_in, drift["labels"].feature) == (1, None, None)


def test_check_of_memory_is_that_of_a_file(tmp_path: Path) -> None:
    x, y, qid = make_arrays(5)
    path = tmp_path / "data.txt"
    with path.open("w") as file:
        for row, label, query in zip(x, y, qid, strict=True):
            values = " ".join(f"{i}:{value!r}" for i, value in enumerate(row.tolist()))
            file.write(f"{label:g} qid:{query} {values}\n")
    memory, file_ = rw.check(rw.Dataset(x, y, qid=qid)), rw.check(rw.Dataset(path))
    assert memory.counts == file_.counts == rw.check(path).counts
    assert [one.text for one in memory.findings] == [one.text for one in file_.findings]
    assert [(one.least, one.most) for one in memory.features] == [
        (one.least, one.most) for one in file_.features
    ]
    assert memory.counts["documents"] == 75


def test_check_compares_categories_by_word() -> None:
    pd = pytest.importorskip("pandas")

    def shops(words: list[str], order: list[str]) -> rw.Dataset:
        column = pd.Categorical(words * 20, categories=order)
        frame = pd.DataFrame({"shop": column, "x": np.arange(80.0) % 7})
        return rw.Dataset(frame, np.arange(80) % 3, qid=np.arange(80) // 4)

    first = shops(["a", "b", "c", "d"], ["a", "b", "c", "d"])
    def drift(against: rw.Dataset) -> rw.Drift:
        return next(one for one in rw.check(first, against=against).drift if one.name == "shop")

    same = drift(shops(["d", "c", "b", "a"], ["d", "a", "c", "b"]))
    assert (same.psi, same.category) == (0.0, None)
    assert np.isnan([same.ks, same.category_from]).all()
    other = drift(shops(["d", "d", "b", "a"], ["d", "a", "c", "b"]))
    assert (other.category, other.category_from, other.category_to) == ("c", 0.0, 0.25)
    features = rw.check(first).features
    assert (features[0].categorical, features[1].categorical, features[1].most) == (True, False, 6.0)
    assert np.isnan(features[0].least)


def test_check_refuses(tmp_path: Path) -> None:
    with pytest.raises(rw.FileError, match=r"none\.txt"):
        rw.check(tmp_path / "none.txt")
    with pytest.raises(rw.DataError, match="an empty list of paths"):
        rw.check([])
    with pytest.raises(TypeError):
        rw.check(5)  # type: ignore[arg-type]
    (tmp_path / "bad.txt").write_text("one qid:1 1:1\n")
    with pytest.raises(rw.DataError, match=r"bad\.txt:1"):
        rw.check(tmp_path / "bad.txt")


# ---- reports ----


def test_report_is_a_page(tmp_path: Path, dataset: rw.Dataset, measured: rw.Model) -> None:
    path = tmp_path / "page.html"
    assert measured.report(path, dataset, title="<i>mine</i>", metric=["map", "ndcg@10"]) is None
    page = path.read_text("utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert "&lt;i&gt;mine" in page
    assert "<i>mine" not in page
    assert "&lt;e&gt;" in page
    assert measured.report(None, dataset, title="<i>mine</i>", metric=["map", "ndcg@10"]) == page
    fewer = measured.report(None, dataset, n_trees=0, n_repeats=0)
    assert fewer is not None
    assert len(fewer) < len(page)
    assert os.listdir(tmp_path) == ["page.html"]


def test_report_of_drift(tmp_path: Path, dataset: rw.Dataset, measured: rw.Model) -> None:
    x, y, qid = make_arrays()
    moved = rw.Dataset(np.where(np.arange(6) == 2, x + 3, x), y, qid=qid, feature_names=dataset.feature_names)
    page = measured.report(None, moved, against=dataset, n_repeats=0)
    assert page is not None
    row = r"<tr><th scope=.row.>([a-z ]+)</th>.*?<bdi>(.*?)</bdi></td><td>([\d.]+)</td>.*?>(yes|)</td>"
    rows = re.findall(row, page)
    drift = rw.check(moved, against=dataset, model=measured).drift
    assert rows == [
        (one.of, escape(one.name or ""), f"{one.psi:.6f}", "yes" if one.large else "") for one in drift
    ]
    assert [row[1] for row in rows if row[3]][-1:] == ["c"]
    assert "Drift" not in (measured.report(None, moved, n_repeats=0) or "Drift")
    names = list("abcdef")
    model = rw.train({"rounds": 2, "ignore": "b"}, rw.Dataset(x, y, qid=qid, feature_names=names))
    other = rw.Dataset(x, y, qid=qid, feature_names=["a", "new", *names[2:]])  # at the place of an unused feature
    page = model.report(None, other, against=rw.Dataset(x, y, qid=qid, feature_names=names), n_repeats=0)
    assert page is not None
    assert float(next(psi for _, name, psi, _ in re.findall(row, page) if name == "b")) > 0.1
    with pytest.raises(rw.DataError, match="no labels"):
        measured.report(None, moved, against=rw.Dataset(x, feature_names=dataset.feature_names))


def test_report_refuses(tmp_path: Path, dataset: rw.Dataset, measured: rw.Model) -> None:
    with pytest.raises(rw.FileError, match="nowhere"):
        measured.report(tmp_path / "nowhere" / "page.html", dataset)
    with pytest.raises(rw.ParameterError, match="ndcgg"):
        measured.report(tmp_path / "page.html", dataset, metric="ndcgg")
    with pytest.raises(rw.ParameterError, match="lightgbn"):
        measured.report(tmp_path / "page.html", dataset, like="lightgbn")
    with pytest.raises(rw.ParameterError, match="n_trees is 101"):
        measured.report(None, dataset, n_trees=101)
    with pytest.raises(rw.ParameterError, match="n_repeats is -1"):
        measured.report(None, dataset, n_repeats=-1)
    assert os.listdir(tmp_path) == []


def test_a_model_in_a_notebook(measured: rw.Model) -> None:
    page = measured._repr_html_()
    assert f"{measured.n_trees} trees" in page
    assert f"kept round {measured.best_round}" in page
    best = measured.evals_result["valid"]["map"][measured.best_round - 1]
    assert f"<td>map</td><td>{best:.5f}</td>" in page
    assert "&lt;e&gt;" in page
    assert "<e>" not in page
    again = rw.Model.from_bytes(measured.to_bytes())._repr_html_()
    assert "map" not in again


# ---- explanations ----


def test_explanations_add_up(dataset: rw.Dataset, measured: rw.Model) -> None:
    why = measured.explain(dataset)
    x, _, _ = make_arrays()
    assert why.base_value + why.values.sum(axis=1) == pytest.approx(measured.predict(dataset), abs=1e-12)
    assert [why.names[i] for i in range(len(why.features))] == [
        "abcd<f"[i] if i != 4 else "<e>" for i in why.features
    ]
    assert why.data is not None
    assert np.array_equal(why.data, x[:, why.features])
    first = why.document(0)
    assert sum(value for _, value in first) == pytest.approx(why.values[0].sum(), abs=1e-12)
    assert [abs(value) for _, value in first] == sorted((abs(value) for _, value in first), reverse=True)
    means = why.mean_abs()
    assert list(means.values()) == sorted(means.values(), reverse=True)
    assert next(iter(means)) == "a"


def test_explanations_keep_the_order_of_the_caller(measured: rw.Model) -> None:
    x, y, qid = make_arrays()
    order = np.random.default_rng(3).permutation(len(y))
    mixed = rw.Dataset(x[order], y[order], qid=qid[order], sort=True)
    plain, other = measured.explain(rw.Dataset(x, y, qid=qid)), measured.explain(mixed)
    assert np.array_equal(plain.values[order], other.values)
    assert plain.data is not None
    assert other.data is not None
    assert np.array_equal(plain.data[order], other.data)


def test_permutation_importance(dataset: rw.Dataset, measured: rw.Model) -> None:
    rows = measured.permutation_importance(dataset, metric="map", n_repeats=3)
    assert rows[0].name == "a"
    assert rows[0].loss > 0.05
    assert rows[0].deviation > 0
    assert [one.loss for one in rows] == sorted((one.loss for one in rows), reverse=True)
    assert {one.feature for one in rows} == set(measured.explain(dataset).features)
    assert measured.permutation_importance(dataset, metric="map", n_repeats=3) == rows
    one_tree = measured.permutation_importance(dataset, n_trees=1, n_repeats=1, seed=2)
    assert len(one_tree) < len(rows)
    assert np.isnan(one_tree[0].deviation)
    with pytest.raises(rw.ParameterError, match="n_repeats is 0"):
        measured.permutation_importance(dataset, n_repeats=0)
    with pytest.raises(rw.ParameterError, match="ndcgg"):
        measured.permutation_importance(dataset, metric="ndcgg")


@pytest.mark.parametrize("n_cover", [40, 2])
def test_shap_reads_the_trees(dataset: rw.Dataset, measured: rw.Model, n_cover: int) -> None:
    shap = pytest.importorskip("shap")
    x, y, qid = make_arrays()
    few = qid < n_cover  # of 2 queries, many leaves have no document
    cover = rw.Dataset(x[few], y[few], qid=qid[few])
    why = measured.explain(dataset, cover)
    other = shap.TreeExplainer(measured.to_shap(cover))
    values = other.shap_values(x)
    assert np.abs(values[:, why.features] - why.values).max() < 1e-6
    assert np.delete(values, why.features, axis=1) == pytest.approx(0, abs=1e-12)
    assert float(np.ravel(other.expected_value)[0]) == pytest.approx(why.base_value, abs=1e-6)
    assert np.abs(why.values).max() > 0.1


def test_shap_sends_missing_values_where_we_do() -> None:
    shap = pytest.importorskip("shap")
    x, y, qid = make_arrays()
    x = x.copy()
    x[::3, 0] = np.nan
    data = rw.Dataset(x, y, qid=qid)
    model = rw.train({**OF_ARRAYS, "early_stop": 0}, data)
    assert {node["missing_left"] for node in model.trees() if node["leaf"] is None} == {True, False}
    why = model.explain(data)
    values = shap.TreeExplainer(model.to_shap(data)).shap_values(x)
    assert np.abs(values[:, why.features] - why.values).max() < 1e-6


def test_shap_reads_trees_of_one_leaf(tmp_path: Path) -> None:
    shap, xgboost = pytest.importorskip("shap"), pytest.importorskip("xgboost")
    x, y, qid = make_arrays()
    matrix = xgboost.DMatrix(x, y, qid=qid)
    params = {"objective": "rank:ndcg", "base_score": 0.75, "max_depth": 3}
    xgboost.train(params, matrix, num_boost_round=3).save_model(tmp_path / "model.json")
    model = rw.Model.import_from(tmp_path / "model.json", "xgboost")
    assert sum(node["tree"] == 0 for node in model.trees()) == 1  # the base score
    data = rw.Dataset(x, y, qid=qid)
    why = model.explain(data)  # by XGBoost's own counts
    other = shap.TreeExplainer(model.to_shap())
    assert np.abs(other.shap_values(x)[:, why.features] - why.values).max() < 1e-6
    assert float(np.ravel(other.expected_value)[0]) == pytest.approx(why.base_value, abs=1e-6)


# ---- imports ----


def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    heavy = ["matplotlib", "sklearn", "pandas", "scipy", "pyarrow", "rankwood.plot", "rankwood.migrate"]
    code = f"import rankwood, sys; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_public_names_are_there() -> None:
    assert [name for name in rw.__all__ if not hasattr(rw, name)] == []
    with pytest.raises(AttributeError, match="nothing"):
        rw.nothing  # noqa: B018


def test_runs_are_measured_by_judgments_of_a_file(tmp_path: Path) -> None:
    qrels, run, silent = tmp_path / "qrels", tmp_path / "run", tmp_path / "silent"
    qrels.write_text("1 0 A 2\n1 0 B 1\n2 0 A 1\n")
    run.write_text("1 Q0 X 1 3 t\n1 Q0 A 2 2 t\n2 Q0 A 1 1 t\n")
    silent.write_text("1 Q0 B 1 1 t\n")
    first, second = rw.evaluate_runs(qrels, [run, silent], ["map", "recall@5"])
    np.testing.assert_allclose(first.metrics["map"].per_query, [0.25, 1], atol=1e-11)
    np.testing.assert_allclose(second.metrics["recall@5"].per_query, [0.5, 0], atol=1e-11)
    assert first.conventions.startswith("trec_eval map: ")
    (ours,) = rw.evaluate_runs(str(qrels), str(run), "err@2", like=None)
    assert "gain 2^l - 1" in ours.conventions
    with pytest.raises(rw.DataError, match=r"qrels:1:1: expected 'query Q0 document rank score tag'"):
        rw.evaluate_runs(qrels, [run, qrels])
    with pytest.raises(rw.ParameterError, match="trec_eval has no metric 'err@2'"):
        rw.evaluate_runs(qrels, run, "err@2")


def test_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "1")
    monkeypatch.setenv("RANKWOOD_ISA", "plain")
    found = rw.doctor()
    assert found.keys() == {"program", "cpu", "memory", "cuda", "gpu", "libraries", "check", "auto", "wrong"}
    assert found["program"]["version"] == rw.__version__
    cpu = found["cpu"]
    assert (cpu["threads_auto"], cpu["slurm_cpus_per_task"], cpu["instructions_taken"]) == (1, 1, "plain")
    assert 1 <= cpu["affinity"] <= cpu["processors"]
    assert isinstance(cpu["cgroup_processors"], float | None)
    assert 0 < found["memory"]["available_bytes"] <= found["memory"]["system_bytes"]
    assert found["wrong"] == 0
    on_cpu = [row for row in found["check"] if row["device"] == "cpu"]
    assert [row["instructions"] for row in on_cpu] == cpu["instructions"].split()
    assert {row["result"] for row in on_cpu} == {"ok"}
    assert found["cuda"]["gpus"] == len(found["gpu"])
    assert [row["documents"] for row in found["auto"]] == [10_000, 100_000, 1_000_000, 10_000_000]


def test_threads_of_a_process(tmp_path: Path) -> None:
    """Trainings use the processors to which a process is limited when it starts; the model does not depend on their
    number."""
    script = """if True:
        import os, sys
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        import numpy as np, rankwood
        random = np.random.default_rng(1)
        x = random.normal(size=(600, 6)).astype(np.float32)
        train_set = rankwood.Dataset(x, np.round(np.abs(x[:, 0])).clip(0, 4), qid=np.arange(600) // 15)
        model = rankwood.train({"rounds": 15, "leaves": 6, "min_docs": 5, **eval(sys.argv[2])}, train_set)
        model.save(sys.argv[1])
        print(rankwood.doctor()["cpu"]["threads_auto"])
    """
    for name, params in ("auto", {}), ("two", {"threads": 2}):
        arguments = [sys.executable, "-c", script, str(tmp_path / name), repr(params)]
        done = subprocess.run(arguments, capture_output=True, text=True, check=True)
        assert done.stdout == "1\n"
    assert (tmp_path / "auto").read_bytes() == (tmp_path / "two").read_bytes()
