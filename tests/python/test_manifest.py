"""Manifests: made by Python and by the program, and verified by both."""

from __future__ import annotations

import json
import logging
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run
from rankwood import Dataset, train, verify

PARAMS: dict[str, Any] = {"rounds": 6, "leaves": 6, "min_docs": 2}


def without_files(manifest: dict[str, Any]) -> dict[str, Any]:
    found = json.loads(json.dumps(manifest))
    for one in found["data"].values():
        one.pop("files", None)
    return found


def test_describes_and_verifies(made: Made, other: Made) -> None:
    valid = other.dataset()
    model = train({**PARAMS, "early_stop": 2}, made.dataset(), valid=valid, manifest=True)
    found = model.manifest
    assert found is not None
    assert found["version"] == rankwood.__version__
    assert found["given"] == {"rounds": "6", "leaves": "6", "min-docs": "2", "early-stop": "2"}
    assert found["parameters"]["rate"] == str(model.used_params["rate"])
    assert found["stops_on"] == "valid1"
    assert found["model"]["checksum"] == model.to_bytes().split()[-1].decode()
    assert found["model"]["trees"] == model.n_trees
    assert json.loads(json.dumps(found)) == found
    assert verify(found, made.dataset(), valid=valid, params={"threads": 1, "device": "sim"}) is None


def test_only_on_request(made: Made, tmp_path: Path) -> None:
    model = train(PARAMS, made.dataset())
    assert model.manifest is None
    with pytest.raises(rankwood.ParameterTypeError, match=r"^manifest is 'm.json'; expected True or False$"):
        train(PARAMS, made.dataset(), manifest="m.json")  # type: ignore[arg-type]


def test_differences(made: Made, other: Made, caplog: pytest.LogCaptureFixture) -> None:
    manifest = train({**PARAMS, "rounds": 30}, made.dataset(), manifest=True).manifest
    assert manifest is not None
    with caplog.at_level(logging.INFO, logger="rankwood"):
        assert str(verify(manifest, other.dataset())).startswith("data train documents: expected ")
        assert "30 trees" not in caplog.text  # it did not train to the end
    y = made.y.copy()
    y[0] = 4 - y[0]
    changed = Dataset(made.X, y, qid=made.qid)
    assert str(verify(manifest, changed)).startswith("data train labels: expected ")
    X = made.X.copy()
    X[3, 0] += 100
    assert str(verify(manifest, Dataset(X, made.y, qid=made.qid))).startswith("data train values: expected ")
    weighted = Dataset(made.X, made.y, qid=made.qid, weight=np.where(made.y > 1, 2, 1))
    assert str(verify(manifest, weighted)).startswith("data train weights: expected ")
    found = verify(manifest, made.dataset(), valid=other.dataset())
    assert found is not None and found.startswith("data valid1: expected nothing")
    assert verify({**manifest, "version": "0.0.1"}, made.dataset()) is None
    wrong = {**manifest, "model": {**manifest["model"], "checksum": "00000000"}}
    assert str(verify(wrong, made.dataset())).startswith('model checksum: expected "00000000", found ')
    assert str(verify({**wrong, "version": "0.0.1"}, made.dataset())).startswith("version: ")
    assert verify(manifest, made.dataset(), params={"seed": 2}) == 'parameters seed: expected "1", found "2"'
    assert verify(manifest, made.dataset()) is None  # nothing of the above is kept


def test_the_same_manifest_from_threads_and_devices(made: Made) -> None:
    found = [
        train({**PARAMS, **more}, made.dataset(), manifest=True).manifest
        for more in ({}, {"threads": 1}, {"device": "sim"}, {"device": "ref", "batch": 3})
    ]
    assert all(one == found[0] for one in found)


def test_the_same_manifest_from_workers(made: Made) -> None:
    ends = [0, int(made.group[:20].sum()), len(made.y)]

    def body(here: rankwood.Ranks) -> Any:
        part = slice(*ends[here.rank : here.rank + 2])
        return train(PARAMS, Dataset(made.X[part], made.y[part], qid=made.qid[part]), manifest=True).manifest

    whole = train(PARAMS, made.dataset(), manifest=True).manifest
    assert run(2, body) == [whole, whole]


@pytest.mark.parametrize("more", [{"bags": 2}, {"early_stop_rule": "folds"}, {"monotone": {0: "+"}, "delta": "map"}])
def test_other_trainings(made: Made, more: dict[str, Any]) -> None:
    model = train({**PARAMS, **more}, made.dataset(), manifest=True)
    assert verify(json.loads(json.dumps(model.manifest)), made.dataset()) is None


def test_continued(made: Made) -> None:
    first = train(PARAMS, made.dataset())
    model = train(PARAMS, made.dataset(), init=first, manifest=True)
    assert model.manifest is not None
    assert model.manifest["init"]["checksum"] == first.to_bytes().split()[-1].decode()
    assert verify(model.manifest, made.dataset(), init=first) is None
    assert str(verify(model.manifest, made.dataset())).startswith("init: expected {")


def test_names_and_categories(made: Made) -> None:
    columns = dict(zip(["a", "b c", "d", "é", "f", "g"], made.X.T, strict=True))
    table = pytest.importorskip("pandas").DataFrame({**columns, "y": made.y, "qid": made.qid})
    data = Dataset(table, "y", categorical_features=["g"])
    model = train({**PARAMS, "monotone": {"b c": 1}}, data, manifest=True)
    assert model.manifest is not None and "names" not in model.manifest["given"]
    assert verify(model.manifest, data) is None


def test_functions(made: Made) -> None:
    def squared(scores: Any, data: Dataset) -> Any:
        return scores - data.label, np.ones(len(scores))

    def first(scores: Any, data: Dataset) -> float:
        return float(scores[0])

    params = {**PARAMS, "objective": squared, "metric": [first, "map"]}
    model = train(params, made.dataset(), valid=made.dataset(), manifest=True)
    assert model.manifest is not None
    assert model.manifest["functions"] == {"objective": "squared", "metric": "first"}
    both = {"objective": squared, "metric": [first, "map"]}
    assert verify(model.manifest, made.dataset(), valid=made.dataset(), params=both) is None
    with pytest.raises(rankwood.ParameterError, match=r"^metric was the function 'first'; pass it in params$"):
        verify(model.manifest, made.dataset(), params={"objective": squared})


def test_of_files(made: Made, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program and Python make one manifest of the same files, and each verifies it."""
    monkeypatch.chdir(tmp_path)
    with open("train.txt", "w", encoding="utf-8") as file:
        for i, row in enumerate(made.X):
            file.write(f"{made.y[i]} qid:{made.qid[i]} {' '.join(f'{j + 1}:{x!s}' for j, x in enumerate(row))}\n")
    options = ["--rounds=6", "--leaves=6", "--min-docs=2", "--quiet", "-o", "model.txt", "--manifest", "model.json"]
    subprocess.run([program, "train", "train.txt", *options], check=True)
    model = train(PARAMS, Dataset("train.txt"), manifest=True)
    assert model.manifest == json.loads(Path("model.json").read_text("utf-8"))
    assert without_files(model.manifest)["build"]
    assert verify("model.json") is None
    assert verify(Path("model.json"), Dataset("train.txt")) is None
    assert verify(model.manifest) is None
    text = Path("train.txt").read_text("utf-8")
    Path("train.txt").write_text(str(4 - int(text[0])) + text[1:], "utf-8")
    assert str(verify("model.json")).startswith("data train labels: expected ")
    Path("train.txt").unlink()
    with pytest.raises(rankwood.DataError, match=r"cannot be verified: cannot open 'train.txt': No such file"):
        verify("model.json")


def test_bad_input(made: Made, tmp_path: Path) -> None:
    manifest = train(PARAMS, made.dataset(), manifest=True).manifest
    with pytest.raises(rankwood.DataError, match="does not name the files of the training set"):
        verify(manifest)  # type: ignore[arg-type]
    with pytest.raises(rankwood.ParameterError, match=r"^valid, init and params have no effect without train_set$"):
        verify(manifest, params={"threads": 1})  # type: ignore[arg-type]
    with pytest.raises(rankwood.FormatError, match=r"^not a manifest"):
        verify({}, made.dataset())
    with pytest.raises(rankwood.FormatError, match="another version"):
        verify({"manifest": 2}, made.dataset())
    with pytest.raises(rankwood.ParameterTypeError, match=r"^manifest is a int; expected a dictionary or a path$"):
        verify(3, made.dataset())  # type: ignore[arg-type]
    with pytest.raises(rankwood.FileError, match="No such file"):
        verify(tmp_path / "none.json", made.dataset())
    (tmp_path / "model.bin").write_bytes(b"\xff\x00")
    with pytest.raises(rankwood.FormatError, match="not a manifest"):
        verify(tmp_path / "model.bin", made.dataset())
