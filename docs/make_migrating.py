"""Prints docs/reference/migrating.md from the tables that rankwood.from_lightgbm and the others read.

    python docs/make_migrating.py > docs/reference/migrating.md
"""

from __future__ import annotations

import re
from pathlib import Path

from rankwood import migrate
from rankwood._core import ffi, text
from rankwood._params import alias_rows, infos, meaning, pythonic, string_of

_HEAD = """# Parameters of other programs

Keep the parameters that you tuned elsewhere: `from_lightgbm` translates those of LightGBM.
```python
{code}
```
It also returns notes on unknown parameters, missing counterparts, other units and different defaults.
`from_xgboost` and `from_catboost` do the same for XGBoost and CatBoost. The
[tutorial](../tutorials/from-lightgbm.md) explains each step. With `rankwood.compat.lightgbm` and
[`rankwood.compat.xgboost`](../tutorials/from-xgboost.md), a script runs after one changed import line.
[from_lightgbm.py](../../examples/python/from_lightgbm.py) is the complete script.

The tables below list the counterparts. `python docs/make_migrating.py > docs/reference/migrating.md` makes this page.

## Functions
| LightGBM, XGBoost, CatBoost | Rankwood |
|---|---|
| `valid_sets`, `evals`, `eval_set` | `train(..., valid={"name": Dataset})` |
| `early_stopping(50)`, `early_stopping_rounds=50` | `{"early_stop": 50}` |
| `record_evaluation`, `evals_result` | `Model.evals_result` |
| a function as objective or metric | `{"objective": f, "metric": g}`, with LightGBM's and XGBoost's signs |
| `YetiRank:decay=0.9;permutations=5` | `{"objective": "yetirank", "decay": 0.9, "permutations": 5}` |
| `YetiRank:mode=MAP`, also DCG, MRR and ERR | `{"objective": "yetirank", "delta": "map"}`, without a decay |
| `LGBMRanker`, `XGBRanker`, `CatBoostRanker` | `Ranker`; `fit` takes `qid`, `group` or a frame with a column `qid` |
| `cv` | `cv` |
| `pred_contrib=True`, `pred_contribs=True`, `ShapValues` | `Model.explain` |
| `feature_importance`, `get_score`, `get_feature_importance` | `Model.importance` |
| `save_model`, `load_model` | `Model.save`, `Model.load` |
| `Booster.refit`, `refresh_leaf` | `Model.refit` |
| a trained model | `Model.import_from(path, "lightgbm")`, also `"xgboost"`, `"catboost"` |

## Parameters"""


def _head() -> str:
    """Returns the head of the page, with the code of from_lightgbm.py for both programs."""
    script = (Path(__file__).parents[1] / "examples/python/from_lightgbm.py").read_text("utf-8")
    lightgbm, rankwood = (re.search(f"^# ---- {of}\n.*?(?=\n\n#)", script, re.M | re.S) for of in _SECTIONS)
    assert lightgbm and rankwood
    return _HEAD.replace("{code}", f"{lightgbm[0]}\n\n{rankwood[0]}")


_SECTIONS = ("LightGBM", "Rankwood")


class _Row:
    """One row of the page: each program's names, and notes."""

    def __init__(self) -> None:
        self.names: dict[str, list[str]] = {program: [] for program in migrate._NAMES}
        self.notes: list[str] = []

    def cells(self) -> list[str]:
        return [", ".join(f"`{name}`" for name in names) for names in self.names.values()]


def _page_rows() -> tuple[dict[str, _Row], dict[str, _Row]]:
    """Returns rows by Rankwood's parameter, and rows by the reason for a missing counterpart."""
    taken: dict[str, _Row] = {}
    without: dict[str, _Row] = {}
    for program, names in migrate._NAMES.items():
        for name in sorted(names):
            found = meaning(name, program)
            assert found is not None, name
            ours, note = found
            row = (without if ours is None else taken).setdefault(ours or note or "", _Row())
            row.names[program].append(name)
            if ours is not None and note is not None and note not in row.notes:
                row.notes.append(note)
    taken["l2"].notes = [migrate._L2]
    return taken, without


def page() -> str:
    """The text of docs/reference/migrating.md."""
    taken, without = _page_rows()
    heads = "| Rankwood | LightGBM | XGBoost | CatBoost | difference |"
    lines = [_head(), heads, "|---|---|---|---|---|"]
    for info in infos():
        ours = text(info.name)
        if ours in taken:
            row = taken[ours]
            cells = [f"`{ours.replace('-', '_')}`", *row.cells(), "; ".join(row.notes)]
            lines.append("| " + " | ".join(cells) + " |")
    heads = "| parameter | value elsewhere | Rankwood | difference |"
    lines += ["", "## Values", heads, "|---|---|---|---|"]
    for alias in alias_rows():
        if alias.parameter != ffi.NULL:
            words = ", ".join(f"`{word}`" for word in text(alias.names).split())
            target = "no counterpart" if alias.ours == ffi.NULL else f"`{text(alias.ours)}`"
            note = pythonic(string_of(alias.note) or "")
            lines.append(f"| `{text(alias.parameter).replace('-', '_')}` | {words} | {target} | {note} |")
    heads = "| reason or replacement | LightGBM | XGBoost | CatBoost |"
    lines += ["", "## Parameters without counterpart", heads, "|---|---|---|---|"]
    for why, row in without.items():
        lines.append("| " + " | ".join([why, *row.cells()]) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
