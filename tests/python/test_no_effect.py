# room: params
"""Parameters without effect: one warning, the model of a training without them, an error by `strict`."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from rankwood import NoEffectWarning
from rankwood._core import ffi, lib, text

WORDS: dict[str, list[Any]] = {
    "delta": ["ndcg", "dcg", "map", "mrr", "err", "p@3", "p@12", "none"],
    "pairs": ["topk", "all", "mean:2"],
    "label-gain": ["exp", "linear"],
    "ignore": ["3"],
    "features": ["0-4"],
    "monotone": ["1:+"],
    "interactions": ["0-2;3-5"],
    "feature-penalty": ["1:0.5"],
    "categorical": ["5"],
    "metric": ["ndcg@10", "map", "rmse", "p@3,ndcg", "logloss"],
    "hist": ["lanes"],
    "gpu-memory": ["1G"],
    "device": ["cpu", "ref", "auto"],
}
# Small enough that trees have splits.
NUMBERS: dict[str, tuple[float, float]] = {
    "rounds": (1, 4), "leaves": (2, 9), "depth": (0, 5), "rate": (0.1, 1), "l2": (0, 20), "split-l2": (0, 20),
    "min-docs": (1, 9), "min-hessian": (0, 3), "min-gain": (0, 1e-9), "bins": (9, 255), "bits": (6, 16),
    "truncation": (2, 15), "sigma": (0.5, 2), "position-l2": (0, 5), "position-norm": (0, 5), "permutations": (1, 4),
    "decay": (0.5, 1), "refit-decay": (0, 1), "category-smoothing": (0, 20), "category-penalty": (0, 1),
    "sample-queries": (0.5, 1), "sample-features": (0.5, 1), "sample-docs": (0.5, 1), "sample-features-node": (0.5, 1),
    "gain-noise": (0, 8), "bags": (1, 3), "bag-queries": (0.5, 1),
    "early-stop": (0, 9), "early-stop-delta": (0, 0.01), "relevant": (1, 3), "seed": (1, 99), "threads": (1, 3),
    "batch": (1, 4),
}  # fmt: skip
# What data and files are needed for.
LEFT_OUT = {"debias", "label-weights", "names", "label-column", "label-columns", "qid-column", "weight-column"}


def rows() -> list[Any]:
    """Parameters that can be drawn; add a new one to the tables above."""
    out, i = [], 0
    params = ffi.new("struct rw_params **")
    assert lib.rw_params_new(ffi.NULL, params) == 0
    while (info := lib.rw_param_info(i)) != ffi.NULL:
        name = text(info.name)
        is_file = text(info.argument) == "FILE" or name in LEFT_OUT
        if not is_file:
            known = info.type == lib.RW_PARAM_CHOICE or name in WORDS or name in NUMBERS
            assert known, f"{name}: add values that it may have"
            out.append(info)
        i += 1
    lib.rw_params_free(params[0])
    return out


def draw(rng: np.random.Generator, info: Any) -> Any:
    name = text(info.name)
    if name in WORDS:
        return rng.choice(WORDS[name])
    if info.type == lib.RW_PARAM_CHOICE:
        return rng.choice(text(info.range).split("|"))
    low, high = NUMBERS[name]
    if info.type == lib.RW_PARAM_REAL:
        return round(float(rng.uniform(low, high)), 12)
    return int(rng.integers(low, high + 1))


def draws(given: dict[str, Any]) -> bool:
    """Whether a training draws random numbers, without which bags would be equal."""
    objective = given.get("objective", "lambdarank")
    samples = ("sample-queries", "sample-docs", "sample-features", "sample-features-node", "bag-queries")
    return (
        given.get("rounding") != "nearest"
        or any(given.get(name, 1) < 1 for name in samples)
        or given.get("gain-noise", 0) > 0
        or objective in ("yetirank", "xendcg")
        or (objective == "lambdarank" and given.get("pairs") == "mean:2")
    )


def contradicts(given: dict[str, Any], has_valid: bool) -> bool:
    """Contradictions that remain errors."""
    top = given.get("truncation", 30)
    delta = given.get("delta", "ndcg")
    rule = given.get("early-stop-rule") if given.get("early-stop") != 0 else "auto"
    folds, paired = rule == "folds", rule == "paired" and has_valid
    return (
        (given.get("grow") in ("levels", "symmetric") and given.get("depth") == 0)
        or (given.get("objective") == "yetirank" and delta.startswith("p@") and int(delta[2:]) > top)
        or (not has_valid and not folds and given.get("early-stop", 0) not in (0, 100))
        or (folds and has_valid)
        or ((folds or paired) and given.get("metric") in ("rmse", "logloss"))
        or (given.get("bags", 1) > 1 and (given.get("train-metric") == "on" or not draws(given)))
    )


def fit(made: Made, given: dict[str, Any], valid: Made | None) -> tuple[rankwood.Model, dict[str, str]]:
    """The model, and the warning of each parameter."""
    lib.rw_no_effect_reset()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = rankwood.train(given, made.dataset(), valid=None if valid is None else valid.dataset())
    found = [str(one.message) for one in caught if issubclass(one.category, NoEffectWarning)]
    return model, {one.split("'")[1].replace("_", "-"): one for one in found}


def test_random_combinations(made: Made, other: Made) -> None:
    rng = np.random.default_rng(17)
    table = rows()
    n_warned, n_contradictions, refused = 0, 0, []
    changed: set[str] = set()
    claimed: set[str] = set()
    for trial in range(300):
        valid = other if trial % 2 else None
        chosen = rng.choice(len(table), int(rng.integers(3, 14)), replace=False)
        given = {text(table[i].name): draw(rng, table[i]) for i in chosen}
        given.setdefault("rounds", 2)
        given.setdefault("min-docs", 3)
        given.setdefault("l2", 5)
        given.setdefault("sample-features", 1)
        given.setdefault("gain-noise", 0)
        if contradicts(given, valid is not None):
            n_contradictions += 1
            with pytest.raises(rankwood.ParameterError):
                rankwood.train(given, made.dataset(), valid=None if valid is None else valid.dataset())
            continue
        try:
            model, warned = fit(made, given, valid)
        except rankwood.RankwoodError as error:
            refused.append((given, str(error)))
            continue
        assert set(warned) <= set(given), (given, warned)
        n_warned += bool(warned)
        claimed |= set(warned)
        # without them, the same file and no warning
        rest = {name: value for name, value in given.items() if name not in warned}
        again, still = fit(made, rest, valid)
        assert again.to_bytes() == model.to_bytes(), (given, warned)
        assert not still, (given, still)
        # with one of them only
        if warned:
            name = str(rng.choice(sorted(warned)))
            alone, said = fit(made, {**rest, name: given[name]}, valid)
            assert alone.to_bytes() == model.to_bytes() and set(said) == {name}, (given, name, said)
        # one that was not warned of may change the trees
        name = str(rng.choice(sorted(set(rest) - {"rounds"})))
        fewer = {k: v for k, v in rest.items() if k != name}
        if contradicts(fewer, valid is not None):
            continue
        less, _ = fit(made, fewer, valid)
        if not np.array_equal(less.predict(made.X), model.predict(made.X)):
            changed.add(name)
    assert not refused, refused[:3]
    assert n_warned > 60 and n_contradictions > 5
    assert {"truncation", "leaves", "min-hessian", "delta", "pairs", "decay", "hist", "metric", "relevant"} <= claimed
    assert {"rate", "objective", "leaves", "l2", "grow", "sigma", "truncation"} <= changed


def test_once_per_process() -> None:
    code = """
import warnings, numpy as np, rankwood
warnings.simplefilter("always")
X, y, q = rankwood.synth("letor", 20, seed=1)
data = rankwood.Dataset(X, y, qid=q)
for truncation in 5, 6:
    rankwood.train({"rounds": 1, "pairs": "all", "truncation": truncation}, data)
rankwood.train({"rounds": 1, "objective": "regression", "sigma": 2, "truncation": 7}, data)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    lines = [line for line in said.splitlines() if "NoEffectWarning" in line]
    assert len(lines) == 2, said
    assert lines[0].endswith(":7: NoEffectWarning: 'truncation' has no effect with pairs all")
    assert lines[1].endswith(":8: NoEffectWarning: 'sigma' has no effect with objective regression")


IDLE = {"rounds": 2, "pairs": "all", "truncation": 5}


def test_strict(made: Made) -> None:
    data = made.dataset()
    expected = "'truncation' has no effect with pairs all"
    with pytest.raises(rankwood.ParameterError, match=expected):
        rankwood.train(IDLE, data, strict=True)
    with pytest.raises(rankwood.ParameterError, match=expected):
        rankwood.cv(IDLE | {"early_stop": 0}, data, 3, strict=True)
    with pytest.raises(rankwood.ParameterError, match=expected):
        rankwood.select(IDLE, data, data, strict=True)
    with pytest.raises(rankwood.ParameterError, match=expected):
        rankwood.Ranker(**IDLE, strict=True).fit(made.X, made.y, qid=made.qid)
    with pytest.raises(rankwood.ParameterTypeError, match="strict"):
        rankwood.train(IDLE, data, strict=1)  # type: ignore[arg-type]
    with pytest.warns(NoEffectWarning, match="'leaves' has no effect in a refit"):
        refitted = rankwood.train({"rounds": 2}, data).refit(data, params={"leaves": 5})
    with pytest.raises(rankwood.ParameterError, match="'leaves' has no effect in a refit"):
        refitted.refit(data, params={"leaves": 5}, strict=True)
    with pytest.raises(rankwood.ParameterError, match="metric is a function"):
        rankwood.train({"metric": lambda scores, data: 1.0}, data)


def test_silent(made: Made) -> None:
    """Defaults, and dictionaries that several trainings share."""
    data = made.dataset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rankwood.train({"rounds": 2, "pairs": "all", "truncation": 30, "hist": "auto"}, data)
        rankwood.train(IDLE, data, strict=None)
        rankwood.cv(IDLE | {"early_stop": 0}, data, 3)
        rankwood.select(IDLE, data, data)


def test_a_warning_made_an_error(made: Made) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(NoEffectWarning, match="'truncation' has no effect with pairs all"):
            rankwood.train(IDLE, made.dataset())


def test_measuring(made: Made) -> None:
    with pytest.warns(NoEffectWarning, match="'ties' has no effect without a metric that ranks"):
        rankwood.evaluate(made.dataset(), made.y, "rmse", ties="mean")


def test_custom_objective(made: Made) -> None:
    def objective(scores: Any, data: rankwood.Dataset) -> Any:
        return scores - made.y, np.ones_like(scores)

    with pytest.warns(NoEffectWarning, match="'sigma' has no effect with a custom objective"):
        model = rankwood.train({"rounds": 2, "objective": objective, "sigma": 2}, made.dataset())
    assert model.to_bytes() == rankwood.train({"rounds": 2, "objective": objective}, made.dataset()).to_bytes()


def test_clones(made: Made) -> None:
    sklearn = pytest.importorskip("sklearn.base")
    ranker = rankwood.Ranker(**IDLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone = sklearn.clone(ranker).fit(made.X, made.y, qid=made.qid)
        sklearn.clone(rankwood.Ranker(**IDLE)).set_params(truncation=7).fit(made.X, made.y, qid=made.qid)
    with pytest.warns(NoEffectWarning, match="'truncation'"):
        ranker.fit(made.X, made.y, qid=made.qid)
    assert clone.model_.to_bytes() == ranker.model_.to_bytes()


def test_resume_with_and_without(made: Made, tmp_path: Any) -> None:
    file = tmp_path / "ck"
    with pytest.warns(NoEffectWarning):
        rankwood.train(IDLE | {"rounds": 1}, made.dataset(), checkpoint=file)
    model = rankwood.train({"rounds": 3, "pairs": "all"}, made.dataset(), resume=file)
    assert model.to_bytes() == rankwood.train({"rounds": 3, "pairs": "all"}, made.dataset()).to_bytes()
