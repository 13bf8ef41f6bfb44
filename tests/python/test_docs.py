"""The Python of README.md and of docs/*.md runs as it stands, page by page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood
from conftest import make

ROOT = Path(__file__).parents[2]


def blocks_of(page: str) -> list[str]:
    """The blocks of Python of a page."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.S | re.M)
    assert blocks
    return blocks


def run(page: str, blocks: list[str], names: dict[str, Any]) -> dict[str, Any]:
    """Returns the variables after the blocks."""
    for block in blocks:
        exec(compile(block, page, "exec"), names)
    return names


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/python.md"])
def test_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sklearn = pytest.importorskip("sklearn")
    if page != "README.md":
        pytest.importorskip("matplotlib").use("Agg")
    made = make(21, 100)
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    table = table.assign(label=made.y, query=[f"words {one}" for one in made.qid], title="a document")
    table.to_csv(tmp_path / "documents.csv", index=False)
    monkeypatch.chdir(tmp_path)
    blocks = blocks_of(page)
    if importlib.util.find_spec("pyarrow"):
        (tmp_path / "data").mkdir()
        table[:700].to_parquet(tmp_path / "data" / "a.parquet")  # ends within a query
        table[700:].to_parquet(tmp_path / "data" / "b.parquet")
    else:
        blocks = [block for block in blocks if "parquet" not in block and "pyarrow" not in block]
    with sklearn.config_context():  # restores the page's settings
        names = run(page, blocks, {})
    scores = names["table"]["score"] if page == "README.md" else names["scores"]
    assert np.corrcoef(scores, names["table"]["label"])[0, 1] > 0.5
    if page != "README.md":
        assert names["model"].best_round > 0
        assert (tmp_path / "why.png").stat().st_size > 1000
        assert "large" not in names or (names["same"] and names["large"].n_trees > 50)
        assert names["regression"].evals_result["held out"]["mean_error"]


def test_first_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    page = "docs/tutorials/data-frame.md"
    names = run(page, blocks_of(page), {})
    printed = capsys.readouterr().out
    text = re.sub(r"^```python\n.*?^```", "", (ROOT / page).read_text("utf-8"), flags=re.S | re.M)
    outputs = re.findall(r"^```\n(.*?)^```", text, re.S | re.M)
    assert len(outputs) == 6 and all(output in printed for output in outputs)
    assert names["model"].n_trees > 10 and names["result"].difference > 0
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("why.png", "curves.png", "model.txt", "model.json"))


def test_calibration() -> None:
    made, valid = make(22, 60), make(23, 40)
    model = rankwood.train({"rounds": 20, "min_docs": 5}, made.dataset())
    names = run(
        "calibration",
        blocks_of("docs/how-to/calibrate.md"),
        {"model": model, "valid_set": valid.dataset(), "table": valid.X},
    )
    assert names["probabilities"].min() > 0 and names["probabilities"].max() < 1
    assert names["probabilities"].std() > 0.01


def test_comparing() -> None:
    made, test = make(22, 60), make(23, 40)
    model, regression = (
        rankwood.train({"objective": objective, "rounds": 20, "min_docs": 5}, made.dataset())
        for objective in ("lambdarank", "regression")
    )
    names = run(
        "comparing",
        blocks_of("docs/how-to/compare.md"),
        {
            "rankwood": rankwood,
            "model": model,
            "regression": regression,
            "test_set": test.dataset(),
            "train_set": made.dataset(),
        },
    )
    assert names["pair"].low <= names["pair"].difference <= names["pair"].high
    assert len(names["curve"]) <= 30
    assert len(names["found"]) == 2


def test_drift(capsys: pytest.CaptureFixture[str]) -> None:
    train_set, day = make(5, 100), make(6, 100)
    day.X[:, 1] += 2
    names: dict[str, Any] = {"rankwood": rankwood, "train_set": train_set.dataset(), "day": day.dataset()}
    names["model"] = rankwood.train({"rounds": 10}, names["train_set"])
    run("drift", blocks_of("docs/how-to/drift.md"), names)
    drifted = [name for name, psi in eval(capsys.readouterr().out)]
    assert drifted == ["scores", "1"]


def test_explaining(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    import rankwood.plot

    monkeypatch.chdir(tmp_path)
    model = rankwood.train({"rounds": 20, "min_docs": 5}, make(22, 60).dataset())
    names = {"rankwood": rankwood, "model": model, "valid_set": make(23, 40).dataset()}
    run("explaining", blocks_of("docs/how-to/explain.md"), names)
    assert all((tmp_path / name).stat().st_size > 1000 for name in ("why.png", "report.html"))


def test_clicks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    made = make(24, 80)
    position = np.concatenate([np.arange(1, n + 1) for n in made.group])
    clicked = ((made.y > 1) & (np.arange(len(made.y)) % position == 0)).astype(np.float32)
    names = run(
        "clicks",
        blocks_of("docs/how-to/clicks.md"),
        {
            "rankwood": rankwood,
            "X": made.X,
            "clicked": clicked,
            "session": made.qid,
            "shown": position,
            "search_text": [f"text {one % 20}" for one in made.qid],
            "day": made.qid // 5,
        },
    )
    assert (tmp_path / "propensities.txt").stat().st_size > 10
    assert names["model"].n_trees > 0 and names["first"].position_bias is not None


def test_reproducing() -> None:
    names = {"rankwood": rankwood, "train_set": make(25, 40).dataset()}
    names = run("reproducing", blocks_of("docs/how-to/reproduce.md"), names)
    assert names["model"].manifest["model"]["trees"] == 20


def test_bags() -> None:
    names = {"rankwood": rankwood, "train_set": make(25, 40).dataset(), "valid": make(26, 20).dataset()}
    names = run("bags", blocks_of("docs/explanation/bags.md"), names)
    assert names["model"].n_bags == 8 and (names["spread"].rank_low >= 1).all()


def test_resuming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = run(
        "resuming",
        blocks_of("docs/how-to/resume.md"),
        {
            "rankwood": rankwood,
            "params": {"rounds": 10, "min_docs": 5},
            "train_set": make(25, 40).dataset(),
            "valid_set": make(26, 20).dataset(),
        },
    )
    assert names["model"].n_trees > 0 and (tmp_path / "train.ckpt").stat().st_size > 100


def test_serving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = make(27, 40)
    trained = rankwood.train({"rounds": 10, "min_docs": 5}, made.dataset())
    trained.save("model.txt")
    server = SimpleNamespace(model=None)
    run("serving", blocks_of("docs/how-to/serve.md"), {"rankwood": rankwood, "rows": made.X, "server": server})
    assert (server.model.predict(made.X) == trained.predict(made.X)).all()
