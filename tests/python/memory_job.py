"""For test_memory.py, which preloads tests/faults: every allocation that the library makes for a call fails once.

Each time the call raises OutOfMemoryError or succeeds without the memory, and the same call then gives the same result
as before. Only allocations of the package's module fail, not Python's. Prints the number of failures."""

from __future__ import annotations

import ctypes
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rankwood
from conftest import make

faults = ctypes.CDLL(None)
faults.faults_injected.restype = ctypes.c_long


def calls(folder: Path) -> dict[str, Callable[[], Any]]:
    made, other = make(1, 8), make(2, 6)
    small = {"rounds": 3, "leaves": 4, "min_docs": 2, "threads": 1}
    data, valid = made.dataset(), other.dataset()
    model = rankwood.train(small, data)
    path = str(folder / "model.txt")

    def saved() -> bytes:
        model.save(path)
        return rankwood.Model.load(path).to_bytes()

    def exported() -> bytes:
        model.export(path, "xgboost")
        return Path(path).read_bytes()

    return {
        "dataset": lambda: made.dataset().n_docs,
        "train": lambda: rankwood.train(small, made.dataset()).to_bytes(),
        "validated": lambda: rankwood.train({"early_stop": 2, **small}, data, valid=valid).to_bytes(),
        "predict": lambda: model.predict(other.X).tobytes(),
        "predict a data set": lambda: model.predict(valid).tobytes(),
        "evaluate": lambda: dict(rankwood.evaluate(valid, model, "ndcg@5,map")),
        "explain": lambda: np.asarray(model.explain(valid).values).tobytes(),
        "cv": lambda: rankwood.cv({"early_stop": 0, **small}, data, n_folds=2).scores.tobytes(),
        "save": saved,
        "export": exported,
    }


def main() -> int:
    if not faults.faults_only_from(b"/rankwood/_ffi"):
        print("the package's module is not there")
        return 2
    memory = ctypes.byref(ctypes.c_char.in_dll(faults, "faults_memory"))
    n_faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, call in calls(Path(folder)).items():
            whole, n = call(), 0
            while True:
                n += 1
                faults.faults_arm(memory, ctypes.c_long(n), 0)
                try:
                    got, raised = call(), None
                except rankwood.RankwoodError as error:
                    got, raised = None, error
                injected = faults.faults_injected(memory)
                faults.faults_arm(memory, ctypes.c_long(0), 0)
                if raised is None and got != whole:
                    print(f"{name}: allocation {n}: another result")
                    return 1
                if raised is not None and not (isinstance(raised, MemoryError) and "memory" in str(raised)):
                    print(f"{name}: allocation {n}: {raised!r}")
                    return 1
                if call() != whole:
                    print(f"{name}: another result after allocation {n}")
                    return 1
                if not injected:
                    break
                n_faults += 1
    print(f"{n_faults} allocations failed")
    return 0 if n_faults > 200 else 1


if __name__ == "__main__":
    sys.exit(main())
