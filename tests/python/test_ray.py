# room: comm
"""rankwood.ray on a local cluster: the model is that of the whole data in memory, also after an actor was killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import rankwood
from conftest import Made, make

ray = pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("zmq", reason="pyzmq is not installed")
ray_data = pytest.importorskip("ray.data", reason="ray[data] is not installed")

PARAMS: dict[str, Any] = {"rounds": 10, "leaves": 7, "min_docs": 2, "l2": 5, "early_stop": 4}
COLUMNS = {"label": "label", "qid": "query"}


def frame(made: Made) -> pd.DataFrame:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    return table.assign(label=made.y, query=[f"words {one}" for one in made.qid], title="t")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    given = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}
    ray.init(
        num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000,
        runtime_env={"env_vars": given}, _temp_dir=str(tmp_path_factory.mktemp("ray")), configure_logging=False,
    )  # fmt: skip
    ray_data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


def alone() -> rankwood.Model:
    train_set, valid = (rankwood.Dataset(frame(one), **COLUMNS, ignore=["title"]) for one in (make(1), make(2, 20)))
    return rankwood.train(PARAMS, train_set, valid=valid)


def sets() -> tuple[Any, Any]:
    """Several blocks, whose borders are within queries."""
    return tuple(ray_data.from_pandas([table[:130], table[130:]]) for table in map(frame, (make(1), make(2, 20))))


def dies(done: rankwood.Round) -> None:
    if done.round == 3 and rankwood._workers.number() == 1:
        os._exit(9)


@pytest.mark.usefixtures("cluster")
def test_model_and_resume(tmp_path: Path) -> None:
    data, valid = sets()
    given: dict[str, Any] = {**COLUMNS, "valid": valid, "ignore": ["title"], "timeout": 60}
    expected = alone()
    for n_workers in (2, 1):
        model = rankwood.ray.train(PARAMS, data, n_workers=n_workers, **given)
        assert model.to_bytes() == expected.to_bytes() and model.evals_result == expected.evals_result
    given |= {"n_workers": 2, "checkpoint": tmp_path / "checkpoint", "checkpoint_every": 1, "resume": "auto"}
    with pytest.raises(rankwood.WorkerError, match=r"worker 1 of 2: (ended or unreachable|its actor ended)"):
        rankwood.ray.train(PARAMS, data, callbacks=[dies], **given)
    assert (tmp_path / "checkpoint").exists()
    assert rankwood.ray.train(PARAMS, data, **given).to_bytes() == expected.to_bytes()


@pytest.mark.usefixtures("cluster")
def test_words() -> None:
    data, _ = sets()
    given: dict[str, Any] = {**COLUMNS, "ignore": ["title"], "n_workers": 2, "timeout": 20}
    with pytest.raises(rankwood.ParameterError, match="unknown parameter 'leavess'") as raised:
        rankwood.ray.train({"leavess": 7}, data, **given)
    assert raised.value.__notes__ == ["on worker 0 of 2"]
    with pytest.raises(rankwood.DataError, match="no column 'queries'; there are 'a', 'b'"):
        rankwood.ray.train(PARAMS, data, **{**given, "qid": "queries"})
    with pytest.raises(rankwood.ParameterTypeError, match=r"train is a DataFrame; expected a ray\.data\.Dataset"):
        rankwood.ray.train(PARAMS, frame(make(1)), **given)
    with pytest.raises(rankwood.ParameterError, match="n_workers is 0; expected 1"):
        rankwood.ray.train(PARAMS, data, **{**given, "n_workers": 0})
    with pytest.raises(rankwood.ParameterError, match="the columns of valid differ"):
        rankwood.ray.train(PARAMS, data, valid=data.drop_columns(["title"]), **given)
    with pytest.raises(rankwood.WorkerError, match="of 3 actors started within 2 s\nhint: the cluster needs 3 times 1"):
        rankwood.ray.train(PARAMS, data, **{**given, "n_workers": 3, "timeout": 2})
    with pytest.raises(rankwood.UnsupportedError, match="pairs refer to document numbers"):
        rankwood.ray.train(PARAMS, data, pairs=[[0, 1]], **given)
