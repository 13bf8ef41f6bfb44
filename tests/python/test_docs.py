"""The Python of README.md and docs/python.md runs as it stands, page by page."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import make

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_page(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sklearn = pytest.importorskip("sklearn")
    if page != "README.md":
        pytest.importorskip("matplotlib").use("Agg")
    made = make(21, 100)
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    table = table.assign(label=made.y, query=[f"words {one}" for one in made.qid], title="a document")
    table.to_csv(tmp_path / "documents.csv", index=False)
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.S | re.M)
    if importlib.util.find_spec("pyarrow"):
        (tmp_path / "data").mkdir()
        table[:700].to_parquet(tmp_path / "data" / "a.parquet")  # ends within a query
        table[700:].to_parquet(tmp_path / "data" / "b.parquet")
    else:
        blocks = [block for block in blocks if "parquet" not in block and "pyarrow" not in block]
    assert blocks
    names: dict[str, Any] = {}
    with sklearn.config_context():  # what a page sets is put back
        for block in blocks:
            exec(compile(block, page, "exec"), names)
    scores = names["table"]["score"] if page == "README.md" else names["scores"]
    assert np.corrcoef(scores, names["table"]["label"])[0, 1] > 0.5
    if page != "README.md":
        assert names["model"].best_round > 0
        assert (tmp_path / "why.png").stat().st_size > 1000
        assert "large" not in names or (names["same"] and names["large"].n_trees > 50)
        assert names["regression"].evals_result["held out"]["mean_error"]
