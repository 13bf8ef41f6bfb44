# room: convert
"""Models as Java, Go and Python: compiled and run, their scores equal Rankwood's bit for bit for any double."""

from __future__ import annotations

import random
import re
import resource
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood

sys.path.insert(0, str(Path(__file__).parents[1] / "oracle"))
import languages

PARAMS = {"rounds": 20, "leaves": 12, "min_docs": 3, "early_stop": 0, "seed": 3}
LARGEST = float(np.finfo(np.float32).max)
ODD = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.0**-149, 2.0**-150, -(2.0**-150), 1e-46, LARGEST, -LARGEST, 1e39, -1e39]
ODD += [1.7976931348623157e308, float("inf"), -float("inf"), float("nan"), 2.0**128 - 2.0**103, 2.0**24 + 1, 2.0**31]


@pytest.fixture(params=languages.LANGUAGES)
def language(request: Any) -> str:
    tool = languages.missing_tool(request.param)
    if tool:
        pytest.skip(f"no {tool}")
    return str(request.param)


class Program:
    def __init__(self, model: rankwood.Model, language: str, folder: Path, **how: Any) -> None:
        self.folder = str(folder)
        model.export(languages.file_of(language, self.folder), language, **how)
        self.command = languages.compiled(language, self.folder)

    def scores(self, rows: Any) -> list[float]:
        return languages.scores(self.command, self.folder, rows)


def around(cut: float) -> list[float]:
    """A float, its neighbours, the points halfway to them, and the doubles next to all of these."""
    with np.errstate(over="ignore"):
        floats = np.nextafter(np.float32(cut), np.array([-np.inf, np.inf], dtype=np.float32))
    points = [cut, *map(float, floats), *((cut + float(v)) / 2 for v in floats)]
    return [float(v) for point in points for v in (point, np.nextafter(point, -np.inf), np.nextafter(point, np.inf))]


def cuts_of(model: rankwood.Model, path: Path) -> list[float]:
    model.save(path)
    return sorted({float(np.float32(cut)) for cut in re.findall(r" <= (\S+) ", path.read_text())})


def of_text(path: Path, trees: list[str], n_features: int = 1) -> rankwood.Model:
    features = "0" if n_features == 1 else f"0-{n_features - 1}"
    body = f"rankwood model 1\nabsent missing\nbest-round 0\n\nparams 0\n\nfeatures {n_features}\n{features}\n\n"
    body += f"names 0\n\nmetrics 0 rounds 0\n\ntrees {len(trees)}\n\n"
    body += "".join(f"tree {i + 1} {tree}\n" for i, tree in enumerate(trees))
    path.write_text(f"{body}checksum {zlib.crc32(body.encode()):08x}\n")
    return rankwood.Model.load(path)


def same(got: list[float], expected: Any) -> None:
    """Compares bits: 0 and -0 differ."""
    assert np.array(got).tobytes() == np.asarray(expected, dtype=np.float64).tobytes()


def test_numbers(language: str, tmp_path: Path, made: Any) -> None:
    x = made.X.astype(np.float64)
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    model = rankwood.train(PARAMS, rankwood.Dataset(x, made.y, qid=made.qid))
    near = [v for cut in cuts_of(model, tmp_path / "m.txt") for v in around(cut)] + ODD * 20
    rows = np.random.default_rng(2).choice(near, size=(3000, 6))
    rows[:200] = np.random.default_rng(3).normal(size=(200, 6))
    program = Program(model, language, tmp_path)
    # Rankwood refuses infinite values. No threshold is the largest float, so that it goes where infinity does.
    same(program.scores(rows), model.predict(np.clip(rows, -LARGEST, LARGEST)))
    with pytest.raises(RuntimeError, match="x has 5 values; expected 6"):
        program.scores(rows[:1, 1:])


def test_thresholds_of_all_sizes(language: str, tmp_path: Path) -> None:
    cuts = [LARGEST, -LARGEST, 0.0, 2.0**-149, -(2.0**-149), 2.0**-126, 1.0, float(np.float32(0.1)), 2.0**24]
    sides = ["left", "right"]
    model = of_text(
        tmp_path / "m.txt",
        [
            f"leaves 2\nnode 0 feature 0 <= {cut:.9g} left leaf 0 right leaf 1 missing {sides[i % 2]} gain 0\n"
            f"leaf 0 {2**i}\nleaf 1 0\n"
            for i, cut in enumerate(cuts)
        ],
    )
    values = [v for cut in cuts for v in around(cut)] + ODD
    with np.errstate(over="ignore"):
        rounded = np.array(values, dtype=np.float64).astype(np.float32)
    left = np.array([(rounded <= np.float32(cut)) | (np.isnan(rounded) & (i % 2 == 0)) for i, cut in enumerate(cuts)])
    program = Program(model, language, tmp_path)
    same(program.scores([[v] for v in values]), (2.0 ** np.arange(len(cuts))) @ left)


def test_without_splits(language: str, tmp_path: Path) -> None:
    leaf = "leaves 1\nleaf 0 0.1\n"
    for i, trees in enumerate(([], [leaf, leaf])):
        folder = tmp_path / str(i)
        folder.mkdir()
        program = Program(of_text(folder / "m.txt", trees), language, folder)
        same(program.scores([[1.0], [float("nan")]]), [len(trees) * float(np.float32(0.1))] * 2)


def table(seed: int) -> pd.DataFrame:
    random_of = np.random.default_rng(seed)
    shop, x = random_of.integers(0, 30, 1800), np.round(random_of.random(1800), 3)
    label = np.digitize(np.sin(shop * 7.0) + x + random_of.normal(0, 0.3, 1800), [0.0, 0.8, 1.4])
    return pd.DataFrame({"label": label, "qid": np.repeat(np.arange(150), 12), "shop": shop * 3, "x": x})


def test_categories_that_are_numbers(language: str, tmp_path: Path) -> None:
    data = table(1)
    values = data[["shop", "x"]].to_numpy()
    values[::9, 0] = np.nan
    model = rankwood.train(PARAMS, rankwood.Dataset(values, data["label"], qid=data["qid"], categorical_features=[0]))
    shops = [v for shop in (0, 3, 6, 87) for v in around(float(shop))] + [1.0, 4.5, 1e6, 2147483647.0, -1.0, *ODD]
    rows = np.array([[shop, x] for shop in [*shops, *range(95)] for x in (0.1, 0.5, 0.9)])
    # The package refuses values that are not categories. The model takes such a float for an unseen category.
    with np.errstate(over="ignore"):
        known = rows.astype(np.float32).astype(np.float64)
    is_category = (known[:, 0] == np.floor(known[:, 0])) & (known[:, 0] >= 0) & (known[:, 0] < 1000)
    known[:, 0] = np.where(is_category | np.isnan(known[:, 0]), known[:, 0], 999.0)
    same(Program(model, language, tmp_path).scores(rows), model.predict(known))


def test_words(language: str, tmp_path: Path) -> None:
    words = [f"shop {i}" for i in range(27)] + ['b\u00fccher & "<?>\\', "\u6f22\U0001f600", "tab\t"]
    data = table(2)
    data["shop"] = pd.Categorical([words[i // 3] for i in data["shop"]])
    model = rankwood.train(PARAMS, rankwood.Dataset(data, "label", qid="qid"))
    rows = [[shop, x] for shop in [*words, "unseen", float("nan")] for x in (0.1, 0.5, 0.9)]
    asked = pd.DataFrame(rows, columns=["shop", "x"])
    asked["shop"] = pd.Categorical(asked["shop"].where(asked["shop"].notna(), None))
    program = Program(model, language, tmp_path)
    same(program.scores(rows), model.predict(asked))
    with pytest.raises(RuntimeError, match="1"):
        program.scores([["shop 1", "not a category"]])


def random_trees(n_trees: int, n_leaves: int, n_features: int) -> list[str]:
    draw = random.Random(1)
    trees = []
    for _ in range(n_trees):
        children = [["", ""] for _ in range(n_leaves - 1)]
        free = [(0, 0), (0, 1)]
        for i in range(1, n_leaves - 1):
            node, side = free.pop(draw.randrange(len(free)))
            children[node][side] = f"node {i}"
            free += [(i, 0), (i, 1)]
        for i, (node, side) in enumerate(free):
            children[node][side] = f"leaf {i}"
        lines = [f"leaves {n_leaves}\n"]
        for i, (left, right) in enumerate(children):
            cut, missing = np.float32(draw.gauss(0, 1)), draw.choice(["left", "right"])
            lines.append(
                f"node {i} feature {draw.randrange(n_features)} <= {cut:.9g} left {left} right {right} "
                f"missing {missing} gain 0\n"
            )
        lines += [f"leaf {i} {np.float32(draw.gauss(0, 1)):.9g}\n" for i in range(n_leaves)]
        trees.append("".join(lines))
    return trees


def test_500_trees_of_255_leaves(language: str, tmp_path: Path) -> None:
    model = of_text(tmp_path / "m.txt", random_trees(500, 255, 40), 40)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = Program(model, language, tmp_path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 60
    rows = np.random.default_rng(5).normal(size=(200, 40))
    same(program.scores(rows), model.predict(rows))


def test_style(tmp_path: Path, made: Any) -> None:
    model = rankwood.train(PARAMS, made.dataset())
    path = languages.file_of("go", str(tmp_path))
    model.export(path, "go")
    if languages.missing_tool("go"):
        pytest.skip("no go")
    assert subprocess.run(["gofmt", "-l", path], capture_output=True, check=True).stdout == b""


def test_python_takes_arrays(tmp_path: Path) -> None:
    """Values of type float32 are compared in double. A value that is not a number is an error."""
    model = of_text(
        tmp_path / "m.txt",
        ["leaves 2\nnode 0 feature 0 <= 1 left leaf 0 right leaf 1 missing left gain 0\nleaf 0 1\nleaf 1 2\n"],
    )
    model.export(tmp_path / "model.py", "python")
    scope: dict[str, Any] = {}
    exec((tmp_path / "model.py").read_text(), scope)
    above = np.nextafter(np.float32(1), np.float32(2))
    assert scope["scores"](np.array([[1], [above]], dtype=np.float32)) == [1.0, 2.0]
    assert scope["score"]([1]) == 1.0
    with pytest.raises(TypeError):
        scope["score"]([None])
