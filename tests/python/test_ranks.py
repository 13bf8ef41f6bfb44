# room: comm
"""Several workers: an identical model, whatever their shards; and failures that all of them learn of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import Group, InThreads, run

PARAMS: dict[str, Any] = {"rounds": 6, "leaves": 7, "min_docs": 2, "l2": 5, "threads": 1}
MORE = {
    "plain": {},
    "newton": {"split": "newton"},
    "sampled": {"sample_queries": 0.6, "sample_features": 0.7, "seed": 5},
    "pointwise": {"objective": "regression"},
    "listwise": {"objective": "xendcg"},
}


def share(made: Made, rank: int, n_ranks: int, empty: int | None = None) -> Any:
    """Whole queries of `made`, in order; worker `empty` has an empty shard."""
    queries = np.unique(made.qid)
    takers = [r for r in range(n_ranks) if r != empty]
    mine = np.array_split(queries, len(takers))[takers.index(rank)] if rank != empty else queries[:0]
    return np.isin(made.qid, mine)


def part(made: Made, rank: int, n_ranks: int, empty: int | None = None, **more: Any) -> rankwood.Dataset:
    rows = share(made, rank, n_ranks, empty)
    return rankwood.Dataset(made.X[rows], made.y[rows], qid=made.qid[rows], **more)


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize(("n_ranks", "empty"), [(2, None), (3, 1), (3, 0)])
def test_one_model(more: str, n_ranks: int, empty: int | None, made: Made, other: Made) -> None:
    params = {**PARAMS, **MORE[more], "metric": ["ndcg@5", "map"], "early_stop": 3, "rounds": 20}
    alone = rankwood.train(params, made.dataset(), valid=other.dataset())

    def body(here: rankwood.Ranks) -> rankwood.Model:
        valid = part(other, here.rank, n_ranks, empty)
        return rankwood.train(params, part(made, here.rank, n_ranks, empty), valid=valid)

    models = run(n_ranks, body)
    assert [type(one) for one in models] == [rankwood.Model] * n_ranks, models
    assert all(one.to_bytes() == alone.to_bytes() for one in models)
    assert all(one.evals_result == alone.evals_result for one in models)


def test_sparse_weights_batches(made: Made) -> None:
    """Other kinds of data, and queries that have sizes, not ids."""
    sparse = pytest.importorskip("scipy.sparse")
    weight = np.where(made.qid % 2 == 0, 1.0, 0.25)
    alone = rankwood.train(PARAMS, made.dataset(weight=weight)).to_bytes()

    def batches(here: rankwood.Ranks) -> rankwood.Model:
        rows = share(made, here.rank, 3, 1)
        columns = {name: made.X[rows, i] for i, name in enumerate("abcdef")}
        columns |= {"label": made.y[rows], "query": made.qid[rows], "weight": weight[rows]}
        data = rankwood.Dataset.from_batches(lambda: [columns], label="label", qid="query", weight="weight")
        return rankwood.train(PARAMS, data)

    def sizes(here: rankwood.Ranks, kind: Any) -> rankwood.Model:
        rows = share(made, here.rank, 3, 1)
        group = np.unique(made.qid[rows], return_counts=True)[1]
        data = rankwood.Dataset(kind(made.X[rows]), made.y[rows], group=group, weight=weight[rows])
        return rankwood.train(PARAMS, data)

    assert [one.to_bytes() for one in run(3, lambda here: sizes(here, np.asfortranarray))] == [alone] * 3
    holes = rankwood.train(PARAMS, rankwood.Dataset(sparse.csr_array(made.X), made.y, qid=made.qid, weight=weight))
    assert [one.to_bytes() for one in run(3, lambda here: sizes(here, sparse.csr_array))] == [holes.to_bytes()] * 3
    columns = {name: made.X[:, i] for i, name in enumerate("abcdef")}
    columns |= {"label": made.y, "query": made.qid, "weight": weight}
    whole = rankwood.Dataset.from_batches(lambda: [columns], label="label", qid="query", weight="weight")
    named = rankwood.train(PARAMS, whole).to_bytes()
    assert [one.to_bytes() for one in run(3, batches)] == [named] * 3


def test_narrow_shards(made: Made, other: Made) -> None:
    """A shard of a sparse matrix that lacks the last columns is one of the widest; other widths have to agree."""
    sparse = pytest.importorskip("scipy.sparse")
    X = made.X.copy()
    X[share(made, 1, 2), 4:] = 0  # as load_svmlight_file leaves them out

    def body(here: rankwood.Ranks) -> rankwood.Model:
        rows = share(made, here.rank, 2)
        width = 6 if here.rank == 0 else 4
        data = rankwood.Dataset(sparse.csr_array(X[rows][:, :width]), made.y[rows], qid=made.qid[rows])
        return rankwood.train(PARAMS, data)

    alone = rankwood.train(PARAMS, rankwood.Dataset(sparse.csr_array(X), made.y, qid=made.qid))
    assert [one.to_bytes() for one in run(2, body)] == [alone.to_bytes()] * 2

    def narrow_valid(here: rankwood.Ranks) -> rankwood.Model:
        rows = share(other, here.rank, 2)
        valid = rankwood.Dataset(sparse.csr_array(other.X[rows][:, :4]), other.y[rows], qid=other.qid[rows])
        return rankwood.train(PARAMS, part(made, here.rank, 2), valid=valid)

    for error in run(2, narrow_valid):
        assert "has 4 features; the training set expects 6" in str(error)


def test_own_objective_init_and_resume(made: Made, other: Made, tmp_path: Path) -> None:
    def objective(scores: Any, data: rankwood.Dataset) -> Any:
        return scores - data.label, np.ones_like(scores)

    first = rankwood.train(PARAMS, made.dataset())
    jobs: list[Any] = [
        lambda data, n: rankwood.train({**PARAMS, "objective": objective}, data),
        lambda data, n: rankwood.train(PARAMS, data, init=first),
        lambda data, n: rankwood.train(
            {**PARAMS, "rounds": 9}, data, checkpoint=tmp_path / f"{n}.checkpoint", resume="auto"
        ),
    ]
    rankwood.train(PARAMS, made.dataset(), checkpoint=tmp_path / "3.checkpoint")  # resumed by three workers
    for job in jobs:
        alone = job(made.dataset(), 1).to_bytes()
        models = run(3, lambda here, job=job: job(part(made, here.rank, 3, 1), 3))
        assert [one.to_bytes() for one in models] == [alone] * 3


def test_files(made: Made, program: Path, tmp_path: Path) -> None:
    """Each worker reads its share, and the program trains the same model on the whole."""
    import subprocess

    lines = [
        f"{y} qid:{q} " + " ".join(f"{i + 1}:{v:.9g}" for i, v in enumerate(x) if v != 0)
        for x, y, q in zip(made.X, made.y, made.qid, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n".join(lines) + "\n")
    options = [f"--{name.replace('_', '-')}={value}" for name, value in PARAMS.items()]
    model = tmp_path / "model.txt"
    subprocess.run([program, "train", tmp_path / "train.txt", *options, "--quiet", "-o", model], check=True)

    def body(here: rankwood.Ranks) -> tuple[int, bytes]:
        data = rankwood.Dataset(tmp_path / "train.txt")
        return data.n_docs, rankwood.train(PARAMS, data).to_bytes()

    told = run(3, body)
    assert sum(n for n, _ in told) == len(made.y) and all(0 < n < len(made.y) for n, _ in told)
    assert all(one == model.read_bytes() for _, one in told)


# ---- failures ----


def failing(made: Made, **of_rank_1: Any) -> list[Any]:
    """What ranks say if the arguments of one of them are others."""

    def body(here: rankwood.Ranks) -> None:
        given = {"params": PARAMS, "data": lambda: part(made, here.rank, 3), **(of_rank_1 if here.rank == 1 else {})}
        more = {name: value for name, value in given.items() if name not in ("params", "data")}
        rankwood.train(given["params"], given["data"](), **more)

    return run(3, body)


def test_arguments_that_differ(made: Made, other: Made) -> None:
    def renamed() -> rankwood.Dataset:
        return part(made, 1, 3, feature_names=list("abcdef"))

    cases: dict[str, dict[str, Any]] = {
        "params of this worker and of worker 0 differ": {"params": {**PARAMS, "leaves": 8}},
        "valid of this worker and of worker 0 differ": {"valid": other.dataset()},
        "init of this worker and of worker 0 differ": {"init": rankwood.train(PARAMS, made.dataset())},
        "the features of 'train' of this worker and of worker 0 differ": {"data": renamed},
        "query '7' of 'train' is on this worker and on worker 0": {"data": lambda: part(made, 0, 3)},
        "ZeroDivisionError: division by zero": {"data": lambda: 1 / 0},
    }
    for words, given in cases.items():
        told = failing(made, **given)
        assert isinstance(told[0], rankwood.WorkerError) and str(told[0]).startswith("worker 1: "), told
        assert words in str(told[0]) and str(told[2]) == str(told[0])
        assert words.partition(": ")[2] in str(told[1]) and not isinstance(told[1], rankwood.WorkerError)


def test_documents_of_a_shard(made: Made) -> None:
    """Errors number documents within the shard only where they mention the shard."""
    first = int(np.flatnonzero(share(made, 1, 3))[0])

    def wrong(what: str, value: float) -> rankwood.Dataset:
        rows = share(made, 1, 3)
        X, y = made.X[rows].copy(), made.y[rows].copy()
        if what == "label":
            y[3] = value
        else:
            X[3, 2] = value
        return rankwood.Dataset(X, y, qid=made.qid[rows])

    def objective(bad: float) -> Any:
        def gradients(scores: Any, data: rankwood.Dataset) -> Any:
            gradient = np.zeros(len(scores))
            gradient[3] = bad if data.n_docs == share(made, 1, 3).sum() else 0
            return gradient, np.ones(len(scores))

        return gradients

    cases: dict[str, dict[str, Any]] = {
        "label of document 3 (from 0) of worker 1's shard is -1": {"data": lambda: wrong("label", -1)},
        "document 4 of worker 1's shard: label 40 is above 31": {"data": lambda: wrong("label", 40)},
        "value of document 3 (from 0) of worker 1's shard, feature 2 is inf": {"data": lambda: wrong("X", np.inf)},
    }
    for words, given in cases.items():
        told = failing(made, **given)
        assert all(words in str(one) for one in told), told

    model = rankwood.train(PARAMS, made.dataset())
    for bad, where in ((1e31, f"{first + 3} (from 0)"), (np.nan, "3 (from 0) of worker 1's shard")):
        own = {"objective": objective(bad)}
        for told in (
            run(3, lambda here, own=own: rankwood.train({**PARAMS, **own}, part(made, here.rank, 3))),
            run(3, lambda here, own=own: model.refit(part(made, here.rank, 3), params=own)),
        ):
            assert any(f"gradient of document {where} is" in str(one) for one in told), told


def test_arguments_that_are_wrong_everywhere(made: Made) -> None:
    for params in ({"leavess": 7}, {"early_stop": 3}, {"leaves": -1}):
        for one in run(3, lambda here, params=params: rankwood.train(params, part(made, here.rank, 3))):
            assert (isinstance(one, rankwood.ParameterError) and "leaves" in str(one)) or "early_stop" in str(one)


def test_functions_that_raise(made: Made) -> None:
    """A function raises on one worker: that worker raises the same exception, the others a WorkerError."""

    def body(here: rankwood.Ranks, of_objective: bool) -> None:
        def callback(done: rankwood.Round) -> None:
            if here.rank == 1 and done.round == 3:
                raise ZeroDivisionError("of a callback")

        def objective(scores: Any, data: rankwood.Dataset) -> Any:
            if here.rank == 1:
                raise LookupError("of an objective")
            return scores - data.label, np.ones_like(scores)

        params = {**PARAMS, "objective": objective} if of_objective else PARAMS
        rankwood.train(params, part(made, here.rank, 3), callbacks=[callback])

    for of_objective, words in ((False, "ZeroDivisionError: of a callback"), (True, "LookupError: of an objective")):
        told = run(3, lambda here, which=of_objective: body(here, which))
        assert f"{type(told[1]).__name__}: {told[1]}" == words
        assert [f"{type(one).__name__}: {one}" for one in told[::2]] == [f"WorkerError: worker 1: {words}"] * 2


@pytest.mark.parametrize("method", ["all_reduce", "all_gather", "swap"])
def test_carrier_that_raises(method: str, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """At its n-th call: the exception is raised as it was."""
    ours = getattr(InThreads, method)
    for n in (1, 7, 30):
        calls = [0]

        def call(self: InThreads, *given: Any, n: int = n, calls: list[int] = calls) -> None:
            calls[0] += self.rank == 1
            if self.rank == 1 and calls[0] == n:
                raise BlockingIOError("a cable")
            ours(self, *given)

        monkeypatch.setattr(InThreads, method, call)
        told = run(3, lambda here: rankwood.train(PARAMS, part(made, here.rank, 3)))
        assert calls[0] >= n and isinstance(told[1], BlockingIOError) and str(told[1]) == "a cable", told
        assert [str(one) for one in told[::2]] == ["worker 1: BlockingIOError: a cable"] * 2


def test_one_leaves(made: Made) -> None:
    """While the others train, or before they do."""

    def body(here: rankwood.Ranks) -> None:
        if here.rank == 2:
            raise KeyboardInterrupt
        rankwood.train(PARAMS, part(made, here.rank, 3))

    told = run(3, body)
    assert [str(one) for one in told[:2]] == ["worker 2: KeyboardInterrupt"] * 2
    assert isinstance(told[2], KeyboardInterrupt)


def test_one_stops(made: Made, other: Made) -> None:
    """A true result of one worker's callback stops all of them after the same round."""
    models = run(
        3,
        lambda here: rankwood.train(
            PARAMS, part(made, here.rank, 3), callbacks=[lambda done: here.rank == 2 and done.round == 4]
        ),
    )
    alone = rankwood.train(PARAMS, made.dataset(), callbacks=[lambda done: done.round == 4])
    assert [one.to_bytes() for one in models] == [alone.to_bytes()] * 3 and alone.n_trees == 4


def test_files_belong_to_their_ranks(made: Made, tmp_path: Path) -> None:
    (tmp_path / "tiny.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:1\n0 qid:2 1:2\n")
    params = {"rounds": 1, "min_docs": 1}
    outside = rankwood.Dataset(tmp_path / "tiny.txt")
    for one in run(2, lambda here: rankwood.train(params, outside)):
        assert "can be used only by the workers that created it" in str(one)
    within = run(2, lambda here: rankwood.Dataset(tmp_path / "tiny.txt"))
    with pytest.raises(rankwood.DataError, match="same `with workers"):
        rankwood.train(params, within[0])
    # data in memory is bound to none
    data = made.dataset()
    before = rankwood.train(PARAMS, data).to_bytes()
    assert run(1, lambda here: rankwood.train(PARAMS, data).to_bytes()) == [before]


def test_data_outlives_its_ranks(made: Made) -> None:
    """Codes of a meeting are not kept for ever, and queries without ids count from 0 again."""
    parts: list[Any] = []
    for rank in range(2):
        rows = share(made, rank, 2)
        group = np.unique(made.qid[rows], return_counts=True)[1]
        parts.append(rankwood.Dataset(made.X[rows], made.y[rows], group=group))
    before = [rankwood.train(PARAMS, one).to_bytes() for one in parts]
    for _ in range(3):
        run(2, lambda here: rankwood.train(PARAMS, parts[here.rank]))
    assert [len(one._binned) for one in parts] == [2, 2]  # of one worker, and of the last meeting
    assert [rankwood.train(PARAMS, one).to_bytes() for one in parts] == before
    assert [len(one._binned) for one in parts] == [1, 1]
    assert not any(one._c_table.query_id_text for one in parts)


def test_words(made: Made) -> None:
    with pytest.raises(rankwood.ParameterTypeError, match=r"carrier is a int; expected a rankwood\.Carrier or a name"):
        rankwood.workers(3).__enter__()  # type: ignore[arg-type]
    with pytest.raises(rankwood.ParameterError, match="unknown communicator 'smoke'; expected mpi"):
        rankwood.workers("smoke").__enter__()
    with pytest.raises(rankwood.ParameterError, match="worker 3 of 3"):
        rankwood.workers(InThreads(Group(3), 3)).__enter__()

    def twice(here: rankwood.Ranks) -> None:
        with rankwood.workers(InThreads(Group(1), 0)):
            pass

    assert "this thread is already a worker" in str(run(2, twice)[0])


def test_one_shows_progress(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "rankwood"):
        run(3, lambda here: rankwood.train(PARAMS, part(made, here.rank, 3)))
    assert [record.message for record in caplog.records].count("6 trees") == 1


def test_many_documents_without_ids() -> None:
    """More than the boundaries' sample, which queries' numbers decide: they count through all workers."""
    random = np.random.default_rng(3)
    group = np.full(1500, 200)
    X = random.normal(size=(300_000, 2)).astype(np.float32)
    y = (X[:, 0] > 1).astype(np.int64)
    params = {"rounds": 1, "leaves": 4, "bins": 15}
    alone = rankwood.train(params, rankwood.Dataset(X, y, group=group)).to_bytes()

    def body(here: rankwood.Ranks) -> bytes:
        rows = slice(0, 100_000) if here.rank == 0 else slice(100_000, None)
        return rankwood.train(params, rankwood.Dataset(X[rows], y[rows], group=group[: len(y[rows]) // 200])).to_bytes()

    assert run(2, body) == [alone] * 2


def test_former_names() -> None:
    """A program that was written before the workers had their name."""
    assert rankwood.ranks is rankwood.workers
    assert rankwood.Ranks is rankwood.Workers
    assert rankwood.RankError is rankwood.WorkerError
    assert rankwood.mpi.ranks is rankwood.mpi.workers
    pytest.importorskip("torch")
    assert rankwood.torch.ranks is rankwood.torch.workers
