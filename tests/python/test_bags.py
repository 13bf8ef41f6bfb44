# room: train
"""Bags: each is an independent training, the model is their mean, and a round is one tree of each bag."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run
from rankwood import DataError, Model, ParameterError, Ranker, Round, train

N = 3
BAG_STREAM, SAMPLE_QUERY = 15, 2  # RW_STREAM_BAG, RW_STREAM_SAMPLE_QUERY


def _philox() -> Any:
    path = Path(__file__).parent.parent / "oracle" / "philox.py"
    spec = importlib.util.spec_from_file_location("philox", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seed_of(seed: int, bag: int) -> int:
    """The seed of a bag: two words of Philox, and for the first bag the user's."""
    if bag == 0:
        return seed
    words = _philox().philox([bag, 0, 0, BAG_STREAM], seed & 0xFFFFFFFF, seed >> 32)
    return int(words[0]) << 32 | int(words[1])


def trees_of(model: Model) -> list[tuple[list[str], list[str], list[np.float32]]]:
    """Each tree's nodes, and its leaves' texts without the value, and their values."""
    out: list[tuple[list[str], list[str], list[np.float32]]] = []
    for line in model.to_bytes().decode().splitlines():
        words = line.split()
        if line.startswith("tree "):
            out.append(([], [], []))
        elif line.startswith("node "):
            out[-1][0].append(line)
        elif line.startswith("leaf "):
            out[-1][1].append(" ".join(words[:2] + words[3:]))
            out[-1][2].append(np.float32(words[2]))
    assert len(out) == model.n_trees
    return out


def is_bag(trees: Any, alone: Any) -> bool:
    """Whether the trees of a bag in a model are those of a training alone, with divided leaves."""
    return len(trees) == len(alone) and all(
        nodes == own_nodes and leaves == own_leaves and values == [np.float32(float(v) / N) for v in own_values]
        for (nodes, leaves, values), (own_nodes, own_leaves, own_values) in zip(trees, alone, strict=True)
    )


@pytest.fixture
def params(small: dict[str, Any]) -> dict[str, Any]:
    return small | {"bags": N, "rounds": 12, "sample_queries": 0.7, "early_stop": 0, "seed": (1 << 40) + 5}


def alone(params: dict[str, Any], bag: int, made: Made, **more: Any) -> Model:
    """The training that a bag is."""
    return train(params | {"bags": 1, "seed": seed_of(params["seed"], bag)}, made.dataset(), **more)


MORE: dict[str, dict[str, Any]] = {
    "lambdarank": {},
    "yetirank": {"objective": "yetirank"},
    "newton": {"split": "newton", "sample_features": 0.6},
    "documents": {"sample_queries": 1, "sample_docs": 0.6},
    "rounding": {"sample_queries": 1, "gain_noise": 0},
    "noise": {"sample_queries": 1, "rounding": "nearest", "sample_features": 1},
}


@pytest.mark.parametrize("more", MORE)
def test_bag_is_a_training(made: Made, params: dict[str, Any], more: str) -> None:
    params |= MORE[more]
    model = train(params, made.dataset())
    assert (model.n_trees, model.n_bags, model.best_round) == (12 * N, N, 0)
    for bag in range(N):
        assert is_bag(trees_of(model)[bag::N], trees_of(alone(params, bag, made))), bag
    parts = [alone(params, bag, made).predict(made.X) for bag in range(N)]
    np.testing.assert_allclose(model.predict(made.X), np.mean(parts, axis=0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("sample_queries", [1, 0.6])
def test_bag_queries(made: Made, params: dict[str, Any], sample_queries: float) -> None:
    """The documents of a tree are those of the bag's queries, from which --sample-queries draws for each tree."""
    params |= {"bag_queries": 0.5, "sample_queries": sample_queries}
    draw, most = _philox().draw, 1 << 32
    trees = trees_of(train(params, made.dataset()))
    for bag in range(N):
        own = [draw(params["seed"], (bag + 1) << 32 | q, 0, BAG_STREAM) < most // 2 for q in range(len(made.group))]
        for tree, (_, leaves, _) in enumerate(trees[bag::N]):
            docs = sum(
                size
                for q, size in enumerate(made.group)
                if own[q] and draw(seed_of(params["seed"], bag), q, tree, SAMPLE_QUERY) < sample_queries * most
            )
            assert sum(int(leaf.split()[3]) for leaf in leaves) == docs, (bag, tree)


def test_user_gradients(made: Made, params: dict[str, Any]) -> None:
    """The function gets the undivided scores of a bag."""

    def squares(scores: Any, data: Any) -> Any:
        return scores - data.label, np.ones(len(scores))

    params |= {"objective": squares}
    model = train(params, made.dataset())
    for bag in range(N):
        assert is_bag(trees_of(model)[bag::N], trees_of(alone(params, bag, made))), bag


def test_metrics_are_those_of_the_model(made: Made, other: Made, params: dict[str, Any]) -> None:
    params |= {"metric": ["ndcg@10", "map", "rmse"]}  # rmse changes if all scores are multiplied
    valid = other.dataset()
    model = train(params, made.dataset(), valid={"v": valid})
    for metric in params["metric"]:
        values = model.evals_result["v"][metric]
        assert len(values) == 12
        for rounds, value in enumerate(values, 1):
            scores = model.predict(valid, n_trees=N * rounds)
            assert rankwood.evaluate(valid, scores, metric=metric)[metric] == value, rounds


def test_early_stopping_keeps_whole_rounds(made: Made, other: Made, params: dict[str, Any]) -> None:
    params |= {"rounds": 60, "rate": 0.3}
    whole = train(params, made.dataset(), valid=other.dataset())
    rounds: list[Round] = []
    stops = {"early_stop": 4, "early_stop_rule": "best"}
    model = train(params | stops, made.dataset(), valid=other.dataset(), callbacks=[rounds.append])
    values = next(iter(whole.evals_result.values()))["ndcg@10"]
    best = int(np.argmax(values[: rounds[-1].round])) + 1
    assert best < rounds[-1].round == best + 4 < 60
    assert (model.best_round, model.n_trees) == (best, N * best)
    assert trees_of(model) == trees_of(whole)[: N * best]
    assert rounds[-1].metrics["valid"]["ndcg@10"] == values[rounds[-1].round - 1]
    assert rounds[-1].n_rounds == 60


def test_other_rules_keep_whole_rounds(made: Made, other: Made, params: dict[str, Any]) -> None:
    params |= {"rounds": 60, "rate": 0.3}
    whole = train(params, made.dataset(), valid=other.dataset())
    model = train(params | {"early_stop": 10, "early_stop_rule": "paired"}, made.dataset(), valid=other.dataset())
    assert 0 < model.best_round < 60 and model.n_trees == N * model.best_round
    assert trees_of(model) == trees_of(whole)[: model.n_trees]


class Stop(Exception):
    pass


@pytest.mark.parametrize("n", [1, 7])
def test_resume(made: Made, other: Made, params: dict[str, Any], tmp_path: Path, n: int) -> None:
    def stop(done: Round) -> None:
        if done.round == n:
            raise Stop

    more: dict[str, Any] = {"valid": other.dataset(), "checkpoint": tmp_path / "ck", "resume": "auto"}
    expected = train(params, made.dataset(), valid=other.dataset())
    with pytest.raises(Stop):
        train(params, made.dataset(), **more, callbacks=[stop])
    seen: list[int] = []
    model = train(params | {"device": "sim"}, made.dataset(), **more, callbacks=[lambda done: seen.append(done.round)])
    assert seen == list(range(n + 1, 13))
    assert model.to_bytes() == expected.to_bytes()
    assert model.evals_result == expected.evals_result


def test_continued(made: Made, params: dict[str, Any]) -> None:
    """All bags continue from the scores of the whole earlier model."""
    first = train(params | {"rounds": 4}, made.dataset())
    model = train(params | {"rounds": 5}, made.dataset(), init=first)
    assert trees_of(model)[: 4 * N] == trees_of(first)
    for bag in range(N):
        one = alone(params | {"rounds": 5}, bag, made, init=first)
        assert is_bag(trees_of(model)[4 * N + bag :: N], trees_of(one)[4 * N :]), bag


@pytest.mark.parametrize("bag_queries", [1, 0.6])
@pytest.mark.parametrize("how", [{"threads": 1}, {"device": "ref"}, {"device": "sim"}])
def test_one_model(made: Made, params: dict[str, Any], how: dict[str, Any], bag_queries: float) -> None:
    params |= {"bag_queries": bag_queries}
    assert train(params | how, made.dataset()).to_bytes() == train(params, made.dataset()).to_bytes()


def test_workers(made: Made, other: Made, params: dict[str, Any]) -> None:
    params |= {"threads": 1}
    expected = train(params, made.dataset(), valid=other.dataset())

    def body(here: rankwood.Ranks) -> Model:
        def part(of: Made) -> rankwood.Dataset:
            rows = np.isin(of.qid, np.array_split(np.unique(of.qid), 2)[here.rank])
            return rankwood.Dataset(of.X[rows], of.y[rows], qid=of.qid[rows])

        return train(params, part(made), valid=part(other))

    for model in run(2, body):
        assert isinstance(model, Model), model
        assert model.to_bytes() == expected.to_bytes()


def test_one_bag_leaves_no_trace(made: Made, params: dict[str, Any]) -> None:
    model = train(params | {"bags": 1}, made.dataset())
    del params["bags"]
    assert model.to_bytes() == train(params, made.dataset()).to_bytes()
    assert b"bags" not in model.to_bytes() and model.n_bags == 1 and "bags" not in model.params


def test_refit(made: Made, other: Made, params: dict[str, Any]) -> None:
    params |= {"sample_queries": 1}  # leaf values of a refit come from all documents
    model = train(params, made.dataset())
    same = model.refit(made.dataset(), decay=0)
    assert trees_of(same) == trees_of(model)
    newer = model.refit(other.dataset(), decay=0)
    for bag in range(N):
        one = alone(params, bag, made).refit(other.dataset(), decay=0)
        assert is_bag(trees_of(newer)[bag::N], trees_of(one)), bag


def test_continued_by_rounds(made: Made, other: Made, params: dict[str, Any], tmp_path: Path) -> None:
    """An earlier model counts its rounds, for metrics, schedules of the rate and checkpoints."""
    params |= {"sample_queries": 1, "rate": "0.3:0.01:12", "early_stop": 0, "rounds": 3}
    first = train(params, made.dataset(), valid=other.dataset())
    ends: list[Round] = []
    second = train(params, made.dataset(), valid=other.dataset(), init=first, callbacks=[ends.append])
    assert second.n_trees == 6 * N and b"\nmetrics 1 rounds 6\n" in second.to_bytes()
    assert [end.round for end in ends] == [4, 5, 6]
    assert trees_of(second.refit(made.dataset(), decay=0)) == trees_of(second)
    saved = str(tmp_path / "checkpoint")
    train(params | {"rounds": 2}, made.dataset(), valid=other.dataset(), init=first, checkpoint=saved)
    again = train(params, made.dataset(), valid=other.dataset(), init=first, resume=saved)
    assert again.to_bytes() == second.to_bytes()


def test_continued_after_empty_rounds(made: Made, params: dict[str, Any]) -> None:
    params |= {"early_stop": 0, "rate": 0.5, "rounds": 60, "min_gain": 0.5}
    first = train(params, made.dataset())
    assert b"empty-rounds 0" not in first.to_bytes() and first.n_trees % N == 0
    second = train(params | {"rounds": 2, "min_gain": 0}, made.dataset(), init=first)
    assert second.n_trees % N == 0
    assert second.refit(made.dataset(), decay=0).n_trees == second.n_trees


def test_whole_rounds(made: Made, other: Made, params: dict[str, Any]) -> None:
    model = train(params, made.dataset())
    pruned = model.prune(other.dataset(), loss=0.02)
    assert all(row.n_trees % N == 0 for row in pruned.rows)
    assert 0 < pruned.model.n_trees < model.n_trees and pruned.model.n_bags == N
    rounds = [trees_of(model)[at : at + N] for at in range(0, model.n_trees, N)]
    kept = trees_of(pruned.model)
    assert all(kept[at : at + N] in rounds for at in range(0, len(kept), N))
    assert len(model.predict(other.X, n_trees=2 * N)) == len(other.X)
    with pytest.raises(ParameterError, match="4 trees are not whole rounds: this round ends at 6 trees"):
        model.predict(other.X, n_trees=4)


def test_ranker(made: Made, other: Made, params: dict[str, Any]) -> None:
    del params["early_stop"]
    ranker = Ranker(**params).fit(made.X, made.y, qid=made.qid)
    assert ranker.best_iteration_ == 12 and ranker.model_.n_trees == 12 * N
    ranker.set_params(rounds=60, early_stop=4)
    ranker.fit(made.X, made.y, qid=made.qid, eval_set=[(other.X, other.y)], eval_qid=[other.qid])
    assert ranker.best_iteration_ == ranker.model_.best_round == ranker.model_.n_trees / N


@pytest.mark.parametrize("shuffled", [False, True])
def test_spread(made: Made, other: Made, params: dict[str, Any], shuffled: bool) -> None:
    model = train(params, made.dataset())
    order = np.random.default_rng(1).permutation(len(other.X)) if shuffled else np.arange(len(other.X))
    X, qid = other.X[order], other.qid[order]
    spread = model.spread(rankwood.Dataset(X, other.y[order], qid=qid, sort=True))
    scores = np.array([alone(params, bag, made).predict(X) for bag in range(N)])
    centred, ranks = np.empty_like(scores), np.empty(scores.shape, int)
    for query in np.unique(qid):
        docs = np.flatnonzero(qid == query)
        for bag in range(N):
            own = scores[bag, docs]
            centred[bag, docs] = own - own.mean()
            ranks[bag, docs[np.argsort(-own, kind="stable")]] = np.arange(len(docs)) + 1
    expected = np.sqrt((centred**2).sum(axis=0) / (N - 1) - N / (N - 1) * centred.mean(axis=0) ** 2)
    np.testing.assert_allclose(spread.std, expected, rtol=1e-4, atol=1e-6)
    assert (spread.rank_low == ranks.min(axis=0)).all() and (spread.rank_high == ranks.max(axis=0)).all()
    assert spread.std.max() > 0.01 and (spread.rank_low < spread.rank_high).any()
    assert repr(spread).startswith(f"Spread({len(X)} documents, mean standard deviation 0.")


def test_spread_needs_bags(made: Made, params: dict[str, Any]) -> None:
    one = train(params | {"bags": 1}, made.dataset())
    with pytest.raises(ParameterError, match="the model has one bag, which shows no spread\nhint: train with bags=4"):
        one.spread(made.dataset())
    both = train(params, made.dataset(), init=one)
    with pytest.raises(ParameterError, match="training 1 of the model has bags 1 and the last one has 3"):
        both.spread(made.dataset())
    model = train(params, made.dataset())
    with pytest.raises(DataError):
        model.spread(rankwood.Dataset(made.X[:, :2], made.y, qid=made.qid))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bags": 0}, "expected a whole number, 1 to 64, found '0'"),
        ({"bags": 65}, "expected a whole number, 1 to 64, found '65'"),
        ({"bags": "x"}, "expected a whole number, 1 to 64, found 'x'"),
        ({"bags": -1}, "expected a whole number, 1 to 64, found '-1'"),
        ({"bag_queries": 0}, "found '0'"),
        ({"bag_queries": 1.5}, "found '1.5'"),
        ({"bags": 2.5}, "expected a whole number, 1 to 64, found '2.5'"),
        (
            {"rounding": "nearest", "sample_queries": 1, "sample_features": 1, "gain_noise": 0, "seed": 1},
            "all 3 bags would be equal",
        ),
        (
            {
                "rounding": "nearest",
                "sample_queries": 1,
                "sample_features": 1,
                "gain_noise": 0,
                "objective": lambda scores, _: (scores, scores),
            },
            "all 3 bags would be equal",
        ),
        ({"bag_queries": 1e-4}, "bag 1 of 3 has no queries\nhint: a larger bag_queries than 0.0001"),
        ({"train_metric": True}, "train.metric cannot be used with bags"),
        ({"debias": "additive"}, "bags cannot be used with 'debias', which learns while it trains"),
    ],
)
def test_errors(made: Made, params: dict[str, Any], wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        train(params | wrong, made.dataset(position=np.arange(len(made.X)) % 10))
