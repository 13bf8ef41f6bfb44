# room: check
"""Drift of `check`, compared with the statistics computed by NumPy from their definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import rankwood as rw

Values = npt.NDArray[np.float32]


def fractions(values: Values, edges: list[float]) -> npt.NDArray[np.float64]:
    """Fractions of the values in the bins between the edges, which belong to the bin below, and of missing values."""
    known = values[~np.isnan(values)]
    counts = np.bincount(np.searchsorted(np.array(edges, np.float32), known), minlength=len(edges) + 1)
    return np.append(counts, len(values) - len(known)) / len(values)


def edges_of(reference: Values) -> list[float]:
    """Edges of the bins of PSI: all values with a gap before each, or deciles."""
    known = np.sort(reference[~np.isnan(reference)])

    def before(value: np.float32) -> np.float32:
        return np.nextafter(value, np.float32(-np.inf))

    distinct = np.unique(known)
    if len(distinct) <= 10:
        edges = [edge for value in distinct for edge in (before(value), value)]
    else:
        deciles = known[[-(-decile * len(known) // 10) - 1 for decile in range(1, 11)]]
        frequent = [value for value in np.unique(deciles) if (deciles == value).sum() > 1]
        edges = [before(known[0]), *deciles, *(before(value) for value in frequent)]
    return sorted({float(edge) for edge in edges})


def independent(sizes: npt.NDArray[np.int64]) -> float:
    """Number of independent documents, of which those of a query count as one if all queries are equally long."""
    return float(sizes.sum() ** 2 / (sizes**2).sum())


def psi(p: npt.NDArray[np.float64], q: npt.NDArray[np.float64], n: float, m: float) -> float:
    floor = (1 / n + 1 / m) / 4
    p, q = np.maximum(p, floor), np.maximum(q, floor)
    return float(((p - q) * np.log(p / q)).sum())


def ks(a: Values, b: Values) -> float:
    a, b = (np.sort(np.where(np.isnan(values), -np.inf, values)) for values in (a, b))
    at = np.concatenate([a, b])
    return float(np.abs(np.searchsorted(a, at, "right") / len(a) - np.searchsorted(b, at, "right") / len(b)).max())


def columns(seed: int, n: int) -> dict[str, Values]:
    """Features of every kind: dense, discrete, with frequent values, constant, missing, of the query, of one set."""
    rng = np.random.default_rng(seed)
    shift = seed % 3
    made = {
        "normal": rng.normal(shift / 4, 1, n),
        "levels": rng.integers(0, 5 + shift, n),
        "zeros": rng.choice([0, 1], n, p=[0.7, 0.3]) * rng.normal(0, 1, n),
        "signs": rng.choice([-1, 0, 3, 7], n) * rng.choice([0, 0, 1], n) * rng.integers(1, 9, n),
        "constant": np.full(n, 4.0),
        "now and then": np.where(rng.random(n) < 0.1 + shift / 4, np.nan, rng.normal(0, 1, n)),
        "never": np.full(n, np.nan) if shift else rng.random(n),
        "rounded": np.round(rng.exponential(2, n), 1),
    }
    return {name: values.astype(np.float32) for name, values in made.items()}


def write(path: Path, seed: int, n_queries: int) -> tuple[dict[str, Values], Values, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 12 + seed, n_queries)
    qid = np.repeat(np.arange(n_queries), sizes)
    features = columns(seed, len(qid))
    labels = rng.integers(0, 3 + seed % 2, len(qid)).astype(np.float32)
    with path.open("w") as file:
        print("label", "qid", *features, sep=",", file=file)
        for row in zip(labels, qid, *features.values(), strict=True):
            print(*("" if np.isnan(value) else repr(value.item()) for value in row), sep=",", file=file)
    return features, labels, sizes


@pytest.mark.parametrize("seed", range(6))
def test_drift_is_that_of_the_definitions(tmp_path: Path, seed: int) -> None:
    data, reference = tmp_path / "data.csv", tmp_path / "reference.csv"
    a, a_labels, a_sizes = write(data, seed, 40 + 50 * seed)
    b, b_labels, b_sizes = write(reference, seed + 7, 300 - 40 * seed)
    params = {"rounds": 5, "min-docs": 1}
    model = rw.train(params, rw.Dataset(reference)) if seed % 2 else None
    drift = {one.name or one.of: one for one in rw.check(data, against=reference, model=model).drift}
    rows = {name: (a[name], b[name], independent(a_sizes), independent(b_sizes)) for name in a}
    rows["labels"] = (a_labels, b_labels, independent(a_sizes), independent(b_sizes))
    lengths = a_sizes.astype(np.float32), b_sizes.astype(np.float32)
    rows["query lengths"] = (*lengths, float(len(a_sizes)), float(len(b_sizes)))
    if model is not None:
        scores = (model.predict(rw.Dataset(path)).astype(np.float32) for path in (data, reference))
        rows["scores"] = (*scores, independent(a_sizes), independent(b_sizes))
    assert set(drift) == set(rows)
    for name, (x, y, n, m) in rows.items():
        edges = edges_of(y)
        assert drift[name].psi == pytest.approx(psi(fractions(x, edges), fractions(y, edges), n, m), abs=1e-12), name
        assert drift[name].ks == pytest.approx(ks(x, y), abs=1e-12), name
        assert drift[name].missing_to == pytest.approx(np.isnan(x).mean())
        assert drift[name].missing_from == pytest.approx(np.isnan(y).mean())
        assert drift[name].large == (drift[name].psi > drift[name].psi_limit or drift[name].ks > drift[name].ks_limit)


def test_drift_of_categories_is_that_of_the_definition() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)

    def shops(n: int, odds: list[float]) -> tuple[pd.Series[str], rw.Dataset]:
        words = [*"abcd", *(f"rare{i}" for i in range(40)), "new", None]
        p = np.array([*odds, *[0.002] * 40, 0.0 if odds[0] > 0.3 else 0.1])
        column = pd.Series(rng.choice(words, n, p=[*p, 1 - p.sum()]))
        categories = pd.Categorical(column, categories=sorted(set(column.dropna())))
        return column, rw.Dataset(pd.DataFrame({"shop": categories}), np.arange(n) % 3, qid=np.arange(n) // 5)

    (x, data), (y, reference) = shops(1000, [0.3, 0.2, 0.1, 0.2]), shops(2000, [0.4, 0.2, 0.1, 0.2])
    row = next(one for one in rw.check(data, against=reference).drift if one.name == "shop")
    known = set(y.dropna())

    def bins(column: pd.Series[str]) -> npt.NDArray[np.float64]:
        parts = [(column == word).mean() for word in known]
        return np.array([*parts, (column.notna() & ~column.isin(known)).mean(), column.isna().mean()])

    assert row.psi == pytest.approx(psi(bins(x), bins(y), 200, 400), abs=1e-12)
    moved = {word: abs((x == word).mean() - (y == word).mean()) for word in sorted(known | set(x.dropna()))}
    assert row.category == max(moved, key=lambda word: moved[word])
    assert row.category_to == pytest.approx((x == row.category).mean())
    assert np.isnan(row.ks)


def test_limits_hold_for_equal_distributions() -> None:
    """Of 2,000 comparisons of equal distributions, whose queries share a value, few are large."""
    n_large = n_rows = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        sets = []
        for n_queries in (30, 60):
            sizes = rng.integers(1, 30, n_queries)
            of_query = np.repeat(rng.normal(size=(n_queries, 100)), sizes, axis=0)
            of_document = rng.normal(size=(sizes.sum(), 100))
            labels = rng.integers(0, 3, sizes.sum())
            sets.append(rw.Dataset(np.hstack([of_query, of_document]), labels, group=sizes))
        drift = rw.check(sets[0], against=sets[1]).drift
        n_rows += len(drift)
        n_large += sum(one.large for one in drift)
    assert n_rows == 2020
    assert n_large <= 6


def test_data_frames_are_matched_by_name(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    x = pd.DataFrame(columns(1, 200)).drop(columns="never")
    y, qid = np.arange(200) % 3, np.arange(200) // 5
    data = rw.Dataset(x, y, qid=qid)
    turned = rw.Dataset(x[x.columns[::-1]].assign(added=1.0).drop(columns="levels"), y, qid=qid)
    model = rw.train({"rounds": 3, "ignore": "added"}, turned)
    path = tmp_path / "reference.csv"
    x.assign(label=y, qid=qid).to_csv(path, index=False)
    for against in (data, path):
        drift = {one.name: one for one in rw.check(turned, against=against).drift if one.name}
        assert drift["added"].only_in == "data" and drift["levels"].only_in == "reference"
        same = [one for one in drift.values() if one.only_in is None]
        assert len(same) == 6 and all(one.psi == 0 and one.ks == 0 for one in same)
        finding = next(one for one in rw.check(turned, against=against).warnings if one.kind == "features-only-here")
        assert finding.text.endswith("(1): added")
        with_scores = rw.check(turned, against=against, model=model).drift
        assert with_scores[2].of == "scores" and with_scores[2].psi == 0
    of_all = rw.train({"rounds": 3, "min-docs": 1}, data)
    drift = {one.name: one for one in rw.check(data, against=turned, model=of_all).drift}
    assert drift["levels"].only_in == "data"
    with pytest.raises(rw.DataError, match="levels"):
        rw.check(turned, against=data, model=of_all)
    renamed = rw.Dataset(x.rename(columns={"levels": "other"}), y, qid=qid)  # a new column at the place of another
    drift = {one.name: one for one in rw.check(data, against=renamed, model=of_all).drift}
    assert drift["levels"].only_in == "data" and "other" not in drift


def test_check_with_a_model_refuses(tmp_path: Path) -> None:
    x, y, qid = np.arange(40.0).reshape(20, 2) % 7, np.arange(20) % 3, np.arange(20) // 4
    data, wide = rw.Dataset(x, y, qid=qid), rw.Dataset(np.hstack([x, x]), y, qid=qid)
    model = rw.train({"rounds": 2, "min-docs": 1}, data)
    with pytest.raises(rw.ParameterError, match="model has no effect without against"):
        rw.check(data, model=model)
    with pytest.raises(TypeError, match="model"):
        rw.check(data, against=data, model="model.txt")  # type: ignore[arg-type]
    with pytest.raises(rw.DataError, match="4 features; the model expects 2"):
        rw.check(wide, against=data, model=model)
    with pytest.raises(rw.DataError, match="no labels"):
        rw.check(data, against=rw.Dataset(x))
