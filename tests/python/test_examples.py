"""The examples run as they stand, and the notebook is its script, executed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"
TO_RANK = ["pandas", "matplotlib", "onnx", "onnxruntime", "fastapi"]
SCRIPTS = {  # packages that each needs, and its output
    "rank.py": (TO_RANK, r'better, \d+ worse\n(.*\n)+\{"model": "model.txt", "documents": \[\{"id": "good", "score": '),
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

SECONDS = 30  # longest wait for a server, which looks for a new model once per second


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=SECONDS) as answer:
        return json.loads(answer.read())


def post(url: str, body: Any) -> Any:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(url + "/rank", text, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        assert answer.headers["Content-Type"] == "application/json"
        return json.loads(answer.read())


def train_small(seed: int) -> rankwood.Model:
    """Trains a model of the features a, b and c; d is not used."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(300, 4)).astype(np.float32)
    x[::4, 1] = np.nan
    y = (x[:, 0] + np.nan_to_num(x[:, 1]) - x[:, 2] > 0).astype(int)
    data = rankwood.Dataset(x, y, group=[10] * 30, feature_names=["a", "b", "c", "d"])
    how = {"rounds": 20, "leaves": 4, "min_docs": 5, "sample_features": 1, "ignore": "d"}
    return rankwood.train(how, data)


@pytest.fixture
def models(tmp_path: Path) -> dict[str, rankwood.Model]:
    """Two models in a folder, and `current`, a link to the first."""
    made = {name: train_small(seed) for seed, name in enumerate(["one.txt", "two.txt"])}
    for name, model in made.items():
        model.save(tmp_path / name)
    (tmp_path / "current").symlink_to("one.txt")
    return made


@contextmanager
def started(command: list[str], line: str) -> Iterator[str]:
    """Starts a server and yields its address, the first group of the pattern `line` in its messages."""
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = []
            for one in process.stderr:
                said.append(one)
                if found := re.search(line, one):
                    break
            else:
                pytest.fail("".join(said))
            threading.Thread(target=process.stderr.read).start()  # so that the pipe never fills
            yield found[1]
        finally:
            process.terminate()


@pytest.fixture(scope="session")
def server_of_cpp(program: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compiles examples/serve_cpp over the library of the program's build."""
    library, root = program.parents[1] / "librankwood-score.a", EXAMPLES.parents[1]
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "cpp-httplib", "nlohmann_json"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    if flags.returncode or not library.exists() or not shutil.which("g++"):
        pytest.skip("needs g++, cpp-httplib, nlohmann-json and librankwood-score.a")
    out = str(tmp_path_factory.mktemp("serve") / "serve")
    sources = [str(root / "examples" / "serve_cpp" / "serve.cpp"), str(library)]
    command = ["g++", "-std=c++17", f"-I{root / 'src'}", *sources, *flags.stdout.split(), "-lm", "-pthread", "-o", out]
    subprocess.run(command, check=True)
    return out


@pytest.fixture(params=["python", "c++"])
def served(
    request: pytest.FixtureRequest, tmp_path: Path, models: dict[str, rankwood.Model], environment: None
) -> Iterator[str]:
    """The address of a server of tmp_path/current."""
    if request.param == "python":
        need(["fastapi", "uvicorn"])
        command = [sys.executable, "-m", "uvicorn", "--factory", "serve:app", "--app-dir", str(EXAMPLES), "--port", "0"]
        command = ["env", f"RANKWOOD_MODEL={tmp_path / 'current'}", *command]
        with started(command, r"running on (http:\S+)") as url:
            yield url
    else:
        command = [request.getfixturevalue("server_of_cpp"), str(tmp_path / "current"), "0"]
        with started(command, r"at (http:\S+)") as url:
            yield url


DOCUMENTS = [
    {"id": "x", "features": {"c": 0.5, "a": 1.5, "b": None}},
    {"id": '\u00e9\n"', "features": {"c": 1, "a": True, "b": 0.25, "unknown": 3}},
    {"id": "x", "features": {"b": -1.25, "c": 2, "a": -2}},
]
VALUES = np.array([[1.5, np.nan, 0.5, 0], [1, 0.25, 1, 0], [-2, -1.25, 2, 0]])


def expected(model: rankwood.Model, name: str) -> Any:
    scores = model.predict(VALUES)
    assert len(set(scores)) == 3
    documents = [{"id": DOCUMENTS[i]["id"], "score": scores[i]} for i in np.argsort(-scores)]
    return {"model": name, "documents": documents}


def test_server(served: str, models: dict[str, rankwood.Model]) -> None:
    answer = post(served, {"documents": DOCUMENTS})
    assert answer == expected(models["one.txt"], "one.txt")  # the same doubles
    shared = [{"id": "y", "features": {"a": 1.5}}, {"id": "z", "features": {"a": 1.5, "c": 0}}]
    scores = models["one.txt"].predict(np.array([[1.5, 1, 3, 0], [1.5, 1, 0, 0]]))
    answer = post(served, {"query": {"b": 1, "c": 3}, "documents": shared})
    assert {one["id"]: one["score"] for one in answer["documents"]} == dict(zip("yz", scores, strict=True))
    ties = post(served, {"documents": [{**DOCUMENTS[0], "id": str(i)} for i in range(200)]})
    assert [one["id"] for one in ties["documents"]] == [str(i) for i in range(200)]
    assert post(served, {"documents": []})["documents"] == []
    found = get(served + "/health")
    assert (found["status"], found["model"], found["features"]) == ("ok", "one.txt", ["a", "b", "c"])
    assert found["error"] is None


def bad_requests() -> Iterator[tuple[Any, str]]:
    """Yields bodies, and the texts that their answers must contain."""
    features = {"a": 1, "b": 2, "c": 3}
    for body in (b"", b"no JSON", b'{"documents": [', b"\xff\xfe", b"[" * 100_000):
        yield body, ""
    yield 17, ""
    yield [], ""
    yield {}, "documents"
    yield {"documents": {}}, "documents"
    yield {"documents": [1]}, "documents"
    yield {"documents": [{"features": features}]}, "id"
    yield {"documents": [{"id": 7, "features": features}]}, "id"
    yield {"documents": [{"id": "x"}]}, "features"
    yield {"documents": [{"id": "x", "features": [1, 2, 3]}]}, "features"
    yield {"documents": [{"id": "x", "features": {"a": 1, "c": 3}}]}, "lacks feature 'b'"
    yield {"documents": [{"id": "x", "features": {**features, "B": 1, "b": "1"}}]}, "b"
    yield {"documents": [{"id": "x", "features": {**features, "b": 1e300}}]}, "'b' is infinite"
    yield {"query": [], "documents": []}, "query"
    yield {"query": {"a": {}}, "documents": []}, "a"
    yield {"documents": [{"id": "x", "features": {}}] * 10_001}, "10000"


def test_server_refuses(served: str, models: dict[str, rankwood.Model]) -> None:
    for body, says in bad_requests():
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(served, body)
        text = caught.value.read().decode()
        assert caught.value.code in (400, 422) and says in text, (str(body)[:80], text)
    try:  # a lone surrogate: refused, or returned as it is
        answer = post(served, {"query": {"a": 1, "b": 2, "c": 3}, "documents": [{"id": "\ud800", "features": {}}]})
        assert answer["documents"][0]["id"] == "\ud800"
    except urllib.error.HTTPError as failure:
        assert failure.code == 422
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(served + "/other")
    with pytest.raises(urllib.error.HTTPError, match=r"40[45]"):
        get(served + "/rank")
    assert post(served, {"documents": DOCUMENTS}) == expected(models["one.txt"], "one.txt")


def wait_for(url: str, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    until = time.monotonic() + SECONDS
    while not found(health := get(url + "/health")):
        assert time.monotonic() < until, health
        time.sleep(0.05)
    return dict(health)


def test_server_swaps(served: str, models: dict[str, rankwood.Model], tmp_path: Path) -> None:
    """A model is replaced by renaming, under requests; a file that is no model is reported, and the old one stays."""
    answers = {name: expected(model, name) for name, model in models.items()}
    wrong: list[Any] = []
    ends = threading.Event()

    def ask() -> None:
        while not ends.is_set() and not wrong:
            try:
                answer = post(served, {"documents": DOCUMENTS})
            except OSError as failure:
                wrong.append(failure)
                return
            if answer != answers.get(answer["model"]):
                wrong.append(answer)

    def deploy(name: str) -> None:
        (tmp_path / "next").symlink_to(name)
        (tmp_path / "next").rename(tmp_path / "current")

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for name in ("two.txt", "one.txt", "two.txt"):
            deploy(name)
            wait_for(served, lambda health: health["model"] == name)  # noqa: B023
        (tmp_path / "bad.txt").write_text("no model")
        for name in ("bad.txt", "missing.txt"):
            deploy(name)
            assert wait_for(served, lambda health: bool(health["error"]))["model"] == "two.txt"
            assert "current" in get(served + "/health")["error"]
        deploy("one.txt")
        assert wait_for(served, lambda health: health["model"] == "one.txt")["error"] is None
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    assert not wrong
