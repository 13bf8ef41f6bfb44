"""Ctrl-C, and handlers of other signals, end calls that take long, in scripts and notebooks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankwood

# The arguments of each call are made first; the signal arrives while C runs.
_SETUP = """
import os, signal, sys, threading, time
import numpy as np
import rankwood
from rankwood import Dataset

X, y, q = rankwood.synth("letor", 400, seed=1)
data = Dataset(X, y, qid=q)
small = {"threads": 2, "leaves": 63, "early_stop": 0}
endless = small | {"rounds": 1000000, "rate": 0.001}

def many_trees(rounds):
    return rankwood.train(small | {"rounds": rounds}, data)

def large(n):
    return np.tile(X, (n, 1)), np.tile(y, n), np.repeat(np.arange(len(y) * n // 20), 20)[: len(y) * n]
"""

_TEXT = """
with open("data.txt", "w") as file:
    for i in range(150000):
        values = " ".join(f"{f}:{i * f % 97}" for f in range(1, 40))
        print(f"{i % 3} qid:{i // 10} {values}", file=file)
"""

_CALLS = {
    "cv": ("", "rankwood.cv(endless, data)"),
    "cv of one thread": ("", "rankwood.cv(endless | {'threads': 1}, data)"),
    "permutation_importance": ("model = many_trees(30)", "model.permutation_importance(data, n_repeats=1000)"),
    "explain": (
        "model = many_trees(60)\nbig = np.tile(X, (300, 1))",
        "model.explain(Dataset(big, np.zeros(len(big)), qid=np.arange(len(big)) // 20), data)",
    ),
    "predict": ("model = many_trees(100)\nbig = np.tile(X, (300, 1))", "while True: model.predict(big)"),
    "evaluate": (
        "model = many_trees(100)\nrows, labels, ids = large(300)\nbig = Dataset(rows, labels, qid=ids)",
        "while True: rankwood.evaluate(big, model)",
    ),
    "select": ("", "rankwood.select(endless, data, data)"),
    "tune": ("", "rankwood.tune(endless, data, n_folds=2, trials=3)"),
    "prune": (
        "model = many_trees(200)\nrows, labels, ids = large(40)\nbig = Dataset(rows, labels, qid=ids)",
        "model.prune(big, loss=.5)",
    ),
    "load": (_TEXT, "while True: Dataset(['data.txt']).n_docs"),
    "bins": (
        "rows, labels, ids = large(400)",
        # a signal during the only round, or after it, keeps the model, so that only this loop can end
        "while rankwood.train({'rounds': 1, 'leaves': 2}, Dataset(rows, labels, qid=ids)).finished and not sent: pass\n"
        "    raise KeyboardInterrupt",
    ),
    "round": (
        "n = 60000\nrows = np.random.default_rng(0).normal(size=(n, 2))\n"
        "one = Dataset(rows, np.arange(n) % 5, qid=np.zeros(n, int))",
        "rankwood.train({'rounds': 3, 'pairs': 'all', 'delta': 'err'}, one)",
    ),
}

_MAIN = """
kind = signal.SIGTERM if sys.argv[1] == "SIGTERM" else signal.SIGINT
if kind == signal.SIGTERM:  # as a server has it
    def end(number, frame):
        raise SystemExit(7)
    signal.signal(signal.SIGTERM, end)
sent = []

def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), kind)

# A function of its own: where a loop is the first statement of a try block, Python 3.11 may raise outside of the block.
def long_call():
    {call}

threading.Timer(0.7, send).start()
try:
    long_call()
except (KeyboardInterrupt, SystemExit) as error:
    print(type(error).__name__, f"{{time.monotonic() - sent[0]:.3f}}")
    sys.stdout.flush()
    # the library works on
    assert rankwood.train({{"rounds": 2, "leaves": 4}}, data).n_trees == 2
    os._exit(0)
print("was not ended")
"""


@pytest.mark.parametrize(
    ("call", "kind"), [(call, "SIGINT") for call in _CALLS] + [(call, "SIGTERM") for call in ("cv", "round")]
)
def test_ends(tmp_path: Path, call: str, kind: str) -> None:
    setup, line = _CALLS[call]
    program = tmp_path / "program.py"
    program.write_text(_SETUP + setup + _MAIN.format(call=line))
    done = subprocess.run(
        [sys.executable, str(program), kind], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False,
        env=os.environ | {"PYTHONPATH": str(Path(rankwood.__file__).parent.parent)},
    )  # fmt: skip
    expected = "KeyboardInterrupt" if kind == "SIGINT" else "SystemExit"
    assert done.returncode == 0 and done.stdout.startswith(expected), done.stdout + done.stderr
    print(call, kind, done.stdout)
