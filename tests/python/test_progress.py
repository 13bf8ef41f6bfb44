"""What training says of itself: in a terminal, in a notebook, and elsewhere."""

from __future__ import annotations

import logging
import os
import pty
import re
import signal
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import rankwood
from conftest import Made, make
from rankwood import _training, train

PROGRAM = """
import os, signal, sys
sys.path.insert(0, {folder!r})
import rankwood, rankwood._training
from conftest import make
rankwood._training.SECONDS = {seconds}
def press(one):
    if one.round == 5 and {press}:
        os.kill(os.getpid(), signal.SIGINT)
params = {{"rounds": 7, "leaves": 6, "min_docs": 2, "l2": 5, "early_stop": 4, "early_stop_rule": "best"}}
sets = {{"first": make(2, 20).dataset(), "second": make(3).dataset()}}
model = rankwood.train(params, make(1).dataset(), valid=sets, stop_on="second", callbacks=[press])
print(model.n_trees, model.finished)
"""
LINE = re.compile(
    r"round (\d)/7  second ndcg@10 (0\.\d{5})  first ndcg@10 0\.\d{5}  best (0\.\d{5}) in round (\d)"
)
INTRO = "'second' stops training: ndcg@10, after 4 rounds without a better value"


def in_terminal(seconds: float, press: bool = False) -> tuple[list[str], str]:
    """The text written to a terminal, and standard output."""
    mine, its = pty.openpty()
    program = PROGRAM.format(folder=str(Path(__file__).parent), seconds=seconds, press=press)
    with subprocess.Popen([sys.executable, "-c", program], stderr=its, stdout=subprocess.PIPE, text=True) as child:
        os.close(its)
        said = b""
        try:
            while part := os.read(mine, 4096):
                said += part
        except OSError:  # the end, on Linux
            pass
        assert child.stdout is not None
        out = child.stdout.read()
    os.close(mine)
    assert child.returncode == 0, said
    return said.decode().splitlines(), out


def test_lines_in_a_terminal() -> None:
    lines, out = in_terminal(0)
    found = [LINE.fullmatch(line) for line in lines[1:-1]]
    assert lines[0] == INTRO
    assert all(found), lines
    rounds = [(int(one[1]), one[2], one[3], int(one[4])) for one in found if one is not None]
    assert [one[0] for one in rounds] == list(range(1, len(rounds) + 1))
    for number, value, best, best_round in rounds:
        values = [one[1] for one in rounds[:number]]
        assert best == max(values) and best_round == 1 + values.index(best)
        assert value == values[-1]
    n_trees = rounds[-1][3]
    assert lines[-1] == f"{n_trees} trees (kept round: {n_trees} of {len(rounds)})"
    assert out == f"{n_trees} True\n"


def test_short_trainings_show_no_progress() -> None:
    assert in_terminal(60)[0] == []


def test_ctrl_c_in_a_terminal() -> None:
    lines, out = in_terminal(0, press=True)
    n_trees = int(out.split()[0])
    assert out == f"{n_trees} False\n"
    assert LINE.fullmatch(lines[-3])[1] == "5"  # type: ignore[index]
    assert lines[-1] == f"interrupted: the model is the best so far, with {n_trees} trees"


def test_log_records(
    made: Made, small: dict[str, Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = {"first": make(2, 20).dataset(), "second": make(3).dataset()}
    params = {**small, "rounds": 3}

    def said(**how: Any) -> list[str]:
        caplog.clear()
        train(params, made.dataset(), **how)
        lines = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
        return [line for line in lines if not line.startswith("chosen for")]

    caplog.set_level(logging.INFO, logger="rankwood")
    monkeypatch.setattr(_training, "SECONDS", 0)
    assert said() == ["round 1/3", "round 2/3", "round 3/3", "3 trees"]
    monkeypatch.setattr(_training, "SECONDS", 60)
    first, kept, last = said(valid=sets)
    assert kept.startswith("early stopping keeps round ")
    assert first == "'first' stops training: ndcg@10, after 100 rounds without a better value"
    assert re.fullmatch(r"(\d) trees? \(kept round: \1 of 3\)", last)
    assert said(valid=sets, stop_on="second")[0].startswith("'second' stops training: ndcg@10,")
    params = {**small, "metric": [lambda scores, data: 1.0, "map"]}
    assert said(valid=sets)[0].startswith("'first' stops training: <lambda>,")
    params = {**small, "early_stop": 0}
    assert not [one for one in said(valid=sets) if "stops training" in one]


class Shell:
    kernel = object()


class Notebook:
    """As much of IPython as a bar needs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, shell: Any) -> None:
        self.pages: list[list[str]] = []
        module, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        module.get_ipython = lambda: shell  # type: ignore[attr-defined]
        display.HTML = str  # type: ignore[attr-defined]
        display.display = self.display  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", module)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def display(self, page: str, display_id: bool) -> Any:
        assert display_id is True
        self.pages.append([page])
        return types.SimpleNamespace(update=self.pages[-1].append)


def test_a_bar_in_a_notebook(
    made: Made, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = Notebook(monkeypatch, Shell())
    monkeypatch.setattr(_training, "SECONDS", 0)
    train({**small, "rounds": 3}, made.dataset(), valid={"<b>": make(3).dataset()})
    (bar,) = notebook.pages
    assert [re.search(r'<progress value="(\d)" max="3"', page)[1] for page in bar] == ["1", "2", "3"]  # type: ignore[index]
    assert all("&lt;b&gt; ndcg@10 0." in page and "<b>" not in page for page in bar)
    assert capsys.readouterr().err.splitlines()[0].startswith("'<b>' stops training")
    monkeypatch.setattr(_training, "SECONDS", 60)
    train(small, made.dataset())
    assert len(notebook.pages) == 1 and not capsys.readouterr().err


def test_ipython_without_a_notebook(made: Made, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for shell in (None, object()):
        notebook = Notebook(monkeypatch, shell)
        monkeypatch.setattr(_training, "SECONDS", 0)
        train(small, made.dataset())
        assert notebook.pages == []


def test_silence(
    made: Made, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = Notebook(monkeypatch, Shell())
    monkeypatch.setattr(_training, "SECONDS", 0)
    logger = logging.getLogger("rankwood")
    logger.setLevel(logging.WARNING)
    try:
        train(small, made.dataset())
    finally:
        logger.setLevel(logging.NOTSET)
    assert notebook.pages == [] and not capsys.readouterr().err


class Closed:
    def isatty(self) -> bool:
        return True

    def write(self, _: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def test_a_closed_terminal_ends_nothing(
    made: Made, small: dict[str, Any], monkeypatch: pytest.MonkeyPatch, model: rankwood.Model
) -> None:
    monkeypatch.setattr(_training, "SECONDS", 0)
    monkeypatch.setattr(sys, "stderr", Closed())
    assert train(small, made.dataset()).to_bytes() == model.to_bytes()


def test_handlers_are_as_they_were(made: Made, small: dict[str, Any]) -> None:
    before = signal.getsignal(signal.SIGINT)
    train(small, made.dataset())
    assert signal.getsignal(signal.SIGINT) is before
