"""The examples run as they stand, and the notebook is its script, executed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
TO_RANK = ["pandas", "matplotlib", "onnx", "onnxruntime"]
SCRIPTS = {  # packages that each needs, and its output
    "rank.py": (TO_RANK, r'better, \d+ worse\n(.*\n)+\[\{"document": 1, "score": [-.\d]+\}, \{"document": 2,'),
    "from_lightgbm.py": (["pandas", "lightgbm"], r"lambda_l2: (.*\n)+LightGBM's \d+ trees, imported: .* [0-9.]+e-"),
    "optuna_search.py": (["pandas", "optuna"], r"30 trials, [1-9]\d* pruned; (.*\n)+.* interval [+-]0\.0"),
    "mlflow_model.py": (["pandas", "mlflow"], r"models:/.*: \d+ documents have the scores"),
    "ray_ranks.py": (["pandas", "ray", "zmq"], r"2 workers: 30 trees; identical to one worker's: True"),
    "onnx_scores.py": (["pandas", "onnx", "onnxruntime"], r"each of 100 trees\n.* at most [0-9.]+e-0[67]"),
}


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written into the tree, or shown on a screen."""
    if "PYTHONPYCACHEPREFIX" not in os.environ:
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database takes longer to make than the rest
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # LightGBM's threads wait for one another where others run, too


def need(packages: list[str]) -> None:
    absent = [name for name in packages if find_spec(name) is None]
    if absent:
        pytest.skip(f"needs {', '.join(absent)}")


def run(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, EXAMPLES / script], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.usefixtures("environment")
def test_script(script: str, tmp_path: Path) -> None:
    packages, expected = SCRIPTS[script]
    need(packages)
    out = run(script, tmp_path)
    assert re.search(expected, out), out


def test_all_scripts_are_tested() -> None:
    others = {"serve.py", "made_data.py", "make_notebook.py"}
    assert {path.name for path in EXAMPLES.glob("*.py")} == SCRIPTS.keys() | others


# ---- the notebook ----


def without_outputs(cells: Any) -> list[tuple[str, str, str]]:
    return [(cell["id"], cell["cell_type"], cell["source"]) for cell in cells]


@pytest.mark.usefixtures("environment")
def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    need([*TO_RANK, "jupytext", "nbclient", "ipykernel"])
    monkeypatch.delenv("MPLBACKEND")
    monkeypatch.syspath_prepend(EXAMPLES)
    import make_notebook
    import nbformat

    committed = nbformat.read(EXAMPLES / "rank.ipynb", as_version=4)
    notebook = make_notebook.cells()
    assert without_outputs(committed.cells) == without_outputs(notebook.cells), "run make_notebook.py"
    make_notebook.execute(notebook)
    for cells in (committed.cells, notebook.cells):
        code = [cell for cell in cells if cell.cell_type == "code"]
        assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
        data = [out.get("data", {}) for cell in code for out in cell.outputs]
        assert sum("image/png" in kinds for kinds in data) == 4
        # the model; a busy machine takes so long that the progress of training is shown, too
        assert sum("<table>" in kinds.get("text/html", "") for kinds in data) == 1


# ---- the server ----


def post(url: str, body: bytes) -> Any:
    with urllib.request.urlopen(url, body, timeout=30) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        return json.loads(answer.read())


@pytest.fixture
def served(tmp_path: Path, environment: None) -> Any:
    """A model of the features a, b and c, and the address where it is served."""
    need(["pandas"])
    random = np.random.default_rng(1)
    x = random.normal(size=(300, 3)).astype(np.float32)
    x[::4, 1] = np.nan
    y = (x[:, 0] + np.nan_to_num(x[:, 1]) - x[:, 2] > 0).astype(int)
    data = rankwood.Dataset(x, y, group=[10] * 30, feature_names=["a", "b", "c"])
    model = rankwood.train({"rounds": 20, "leaves": 4, "min_docs": 5}, data)
    model.save(tmp_path / "model.txt")
    command = [sys.executable, str(EXAMPLES / "serve.py"), str(tmp_path / "model.txt"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stdout is not None
        yield model, process.stdout.readline().split()[-1]
        process.terminate()


def test_server(served: Any) -> None:
    model, url = served
    documents = [{"c": 0.5, "a": 1.5, "b": None}, {"a": 3, "other": "text"}, {"b": -1.25, "c": 2, "a": -2}]
    values = np.array([[1.5, np.nan, 0.5], [3, np.nan, np.nan], [-2, -1.25, 2]], np.float32)
    expected = model.predict(values)
    assert len(set(expected)) == 3
    answer = post(url, json.dumps(documents).encode())
    assert [one["document"] for one in answer] == np.argsort(-expected).tolist()
    assert [one["score"] for one in answer] == np.sort(expected)[::-1].tolist()
    for bad in (b"", b"no JSON", b"17", b'[{"a": "text"}]'):
        with pytest.raises(urllib.error.HTTPError, match="400"):
            post(url, bad)
    assert post(url, b"[]") == []
