# room: comm
"""Many workers in processes of their own: by pyzmq, torch.distributed, mpi4py, and Rankwood's module for MPI."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import rank_job
import rankwood
from conftest import make

JOB = Path(__file__).with_name("rank_job.py")
TWICE = "query '7' of 'train' is on this worker and on worker 0; expected all documents of a query on one worker"


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    models = rank_job.alone()
    assert len(set(models.values())) == len(models)
    return models


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    if "PYTHONPYCACHEPREFIX" not in os.environ:
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # Open MPI needs these as root, and with more workers than processors
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
    monkeypatch.setenv("OMPI_MCA_hwloc_base_binding_policy", "none")


def need(package: str) -> None:
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def free_address() -> str:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{one.getsockname()[1]}"


def told(folder: Path, rank: int) -> dict[str, str]:
    out: dict[str, str] = json.loads((folder / f"{rank}.json").read_text())
    return out


def check(folder: Path, n_ranks: int, alone: dict[str, str]) -> None:
    for rank in range(n_ranks):
        one = told(folder, rank)
        assert {name: one[name] for name in alone} == alone
        assert one.get("carries", "all") == "all"
        kind = "WorkerError: worker 1" if rank == 0 else "DataError"
        assert one["fail_together"] == f"{kind}: {TWICE}"


def start(how: str, folder: Path, n_ranks: int) -> list[subprocess.Popen[str]]:
    address = free_address()
    return [
        subprocess.Popen(
            [sys.executable, JOB, how, folder, address, str(rank), str(n_ranks)], stderr=subprocess.PIPE, text=True
        )
        for rank in range(n_ranks)
    ]


@pytest.mark.usefixtures("environment")
def test_torchrun(tmp_path: Path, alone: dict[str, str]) -> None:
    need("torch")
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    port = free_address().rpartition(":")[2]
    done = subprocess.run(
        [*command, f"--master-port={port}", JOB, "torchrun", tmp_path],
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check(tmp_path, 2, alone)
    for rank in (0, 1):
        assert {told(tmp_path, rank)[name] for name in ("all groups", "own group", "all again")} == {alone["plain"]}


@pytest.mark.usefixtures("environment")
def test_page(tmp_path: Path, program: Path) -> None:
    """The first block of docs/how-to/several-gpus.md, in processes that the environment tells of each other."""
    need("zmq")
    page = (JOB.parents[2] / "docs" / "how-to" / "several-gpus.md").read_text(encoding="utf-8")
    (tmp_path / "train.py").write_text(re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)[0])
    made = make(1, 60)
    lines = [f"{y} qid:{q} 1:{x[0]} 2:{x[1]}\n" for x, y, q in zip(made.X, made.y, made.qid, strict=True)]
    for name, begin, end in (("part-0.txt", 0, 300), ("part-1.txt", 300, 600), ("valid.txt", 600, len(lines))):
        begin, end = (int(np.searchsorted(made.qid, made.qid[i])) if i < len(lines) else i for i in (begin, end))
        (tmp_path / name).write_text("".join(lines[begin:end]))
    host, _, port = free_address().rpartition(":")
    several = {"MASTER_ADDR": host, "MASTER_PORT": port, "WORLD_SIZE": "2", "RANKWOOD_TOKEN": rank_job.TOKEN}
    processes = [
        subprocess.Popen([sys.executable, "train.py"], cwd=tmp_path, env={**os.environ, **several, "RANK": rank})
        for rank in ("0", "1")
    ]
    assert [process.wait(200) for process in processes] == [0, 0]
    command = [program, "train", "part-0.txt", "part-1.txt", "--valid", "valid.txt", "--quiet", "-o", "alone.txt"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert (tmp_path / "alone.txt").read_bytes() == (tmp_path / "model.txt").read_bytes()


@pytest.mark.usefixtures("environment")
def test_address(tmp_path: Path, alone: dict[str, str]) -> None:
    """Workers that are given their number, the number of workers and an address."""
    need("zmq")
    for process in start("address", tmp_path, 3):
        _, errors = process.communicate(timeout=200)
        assert process.returncode == 0, errors
    check(tmp_path, 3, alone)
    for rank in (0, 1):
        assert told(tmp_path, rank)["fail_alone"] == "WorkerError: worker 2: OSError: no such disk"
        assert float(told(tmp_path, rank)["fail_alone s"]) < 30
    assert told(tmp_path, 2)["fail_alone"] == "OSError: no such disk"


@pytest.mark.usefixtures("environment")
def test_killed(tmp_path: Path) -> None:
    need("zmq")
    processes = start("killed", tmp_path, 3)
    codes = []
    for process in processes:
        process.communicate(timeout=200)
        codes.append(process.returncode)
    assert codes == [0, 0, -9]
    for rank in (0, 1):
        assert told(tmp_path, rank)["killed"] == "WorkerError: worker 2 of 3: ended or unreachable"
        assert float(told(tmp_path, rank)["killed s"]) < 30


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("how", ["mpi4py", "own"])
def test_mpirun(how: str, tmp_path: Path, alone: dict[str, str]) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("mpirun is not installed")
    if how == "mpi4py":
        need("mpi4py")
    command = ["mpirun", "-n", "3", sys.executable, JOB, how, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    if how == "own" and "'rankwood_comm_mpi.so' was not found" in done.stderr + "".join(
        one.read_text() for one in tmp_path.glob("*.json")
    ):
        pytest.skip("rankwood_comm_mpi.so is not installed; RANKWOOD_COMM_MPI names no other")
    assert done.returncode == 0, done.stderr
    check(tmp_path, 3, alone)


def test_words_without_a_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    need("torch")
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(rankwood.WorkerError, match=r"this process has no launcher.*\nhint: torchrun sets"):
        rankwood.torch.workers()
