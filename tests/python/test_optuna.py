"""The callback for Optuna."""

from __future__ import annotations

from typing import Any

import pytest

import rankwood
from conftest import Made
from rankwood import train

optuna = pytest.importorskip("optuna")
from rankwood.optuna import PruningCallback  # noqa: E402

PARAMS: dict[str, Any] = {"rounds": 6, "leaves": 6, "min_docs": 2, "metric": ["ndcg@10", "map", "rmse"]}


def study(direction: str = "maximize", **pruner: Any) -> Any:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(direction=direction, pruner=optuna.pruners.ThresholdPruner(**pruner))


def run(made: Made, other: Made, study: Any, n_trials: int = 1, **more: Any) -> Any:
    def objective(trial: Any) -> float:
        sets = {"first": other.dataset(), "second": made.dataset()}
        model = train(PARAMS, made.dataset(), valid=sets, callbacks=[PruningCallback(trial, **more)])
        return model.evals_result["first"]["ndcg@10"][-1]

    study.optimize(objective, n_trials=n_trials)
    return study.trials[-1]


@pytest.mark.parametrize(
    ("more", "key"), [({}, ("first", "ndcg@10")), ({"metric": "map", "valid": "second"}, ("second", "map"))]
)
def test_reports_each_round(made: Made, other: Made, more: dict[str, Any], key: tuple[str, str]) -> None:
    trial = run(made, other, study(lower=-1), **more)
    model = train(PARAMS, made.dataset(), valid={"first": other.dataset(), "second": made.dataset()})
    assert trial.state.name == "COMPLETE"
    assert trial.intermediate_values == dict(enumerate(model.evals_result[key[0]][key[1]], start=1))


def test_prunes(made: Made, other: Made) -> None:
    trial = run(made, other, study(lower=2, n_warmup_steps=2))
    assert trial.state.name == "PRUNED" and list(trial.intermediate_values) == [1, 2]


def test_directions(made: Made, other: Made) -> None:
    with pytest.raises(rankwood.ParameterError, match=r"^the study's direction is minimize; ndcg@10 needs 'maximize'$"):
        run(made, other, study("minimize", lower=-1))
    with pytest.raises(rankwood.ParameterError, match=r"^the study's direction is maximize; rmse needs 'minimize'$"):
        run(made, other, study(lower=-1), metric="rmse")
    assert run(made, other, study("minimize", lower=-1), metric="rmse").state.name == "COMPLETE"


def test_unknown_names(made: Made, other: Made) -> None:
    with pytest.raises(
        rankwood.ParameterError, match=r"metric 'ndcg' is not measured; there are \['ndcg@10', 'map', 'rmse'\]"
    ):
        run(made, other, study(lower=-1), metric="ndcg")
    with pytest.raises(
        rankwood.ParameterError, match=r"no validation set 'third' to report; there are \['first', 'second'\]"
    ):
        run(made, other, study(lower=-1), valid="third")

    def alone(trial: Any) -> float:
        train({**PARAMS, "train_metric": True}, made.dataset(), callbacks=[PruningCallback(trial)])
        return 0

    with pytest.raises(rankwood.ParameterError, match="no validation set '' to report"):
        study(lower=-1).optimize(alone, n_trials=1)
