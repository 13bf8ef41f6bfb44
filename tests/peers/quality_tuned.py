"""quality.py --tuned N: every trainer's parameters are chosen by as many trials on stop parts. Standard
library only.

Trial 1 is a trainer's defaults. Trial i is point i of the unit cube, the same for all trainers. SPACES maps its six
numbers to parameters: the tree's size, rate, smallest leaf, l2, and the shares of features and of queries or documents
per tree. If a trainer lacks a parameter, the nearest one replaces it: CatBoost's symmetric trees have no smallest leaf,
but noisy split scores. A trial trains with early stopping on the stop part and counts by its NDCG@10 there. The
parameters of the best trial (the first of equal ones) rank the measure part, separately for each task.
"""
import random


def log(least, most):
    return lambda u: f"{least * (most / least) ** u:.4g}"


def whole(least, most):
    return lambda u: str(round(least * (most / least) ** u))


def even(least, most):
    return lambda u: f"{least + (most - least) * u:.3f}"


def always(value):
    return lambda _u: value


SPACES = { # six names that take a number of the cube each, then those that are the same in every trial
    "rankwood": {"leaves": whole(4, 255), "rate": log(0.02, 0.3), "min-docs": whole(1, 200),
                 "l2": log(1, 1000), "sample-features": even(0.2, 1), "sample-queries": even(0.5, 1)},
    "lightgbm": {"num_leaves": whole(4, 255), "learning_rate": log(0.02, 0.3),
                 "min_data_in_leaf": whole(1, 200), "lambda_l2": log(0.001, 100),
                 "feature_fraction": even(0.2, 1), "bagging_fraction": even(0.5, 1),
                 "bagging_freq": always("1")},
    "xgboost": {"max_leaves": whole(4, 255), "eta": log(0.02, 0.3), "min_child_weight": log(0.001, 100),
                "lambda": log(0.001, 100), "colsample_bytree": even(0.2, 1), "subsample": even(0.5, 1),
                "tree_method": always("hist"), "grow_policy": always("lossguide"),
                "max_depth": always("0")},
    "catboost": {"depth": whole(2, 8), "learning_rate": log(0.02, 0.3), "random_strength": log(0.01, 10),
                 "l2_leaf_reg": log(1, 100), "rsm": even(0.2, 1), "subsample": even(0.5, 1),
                 "bootstrap_type": always("Bernoulli")},
}
DIMENSIONS = 6


def trials(trainer, n):
    """n times 'NAME=VALUE ...'; the first is ''."""
    draw, made = random.Random(1), [""]
    while len(made) < n:
        point = [draw.random() for _ in range(DIMENSIONS)]
        point += [0.0] * (len(SPACES[trainer]) - DIMENSIONS)
        made.append(" ".join(f"{name}={of(u)}" for (name, of), u in zip(SPACES[trainer].items(), point)))
    return made


def choose(trainer, n, value_of):
    """(the best trial's parameters, its value); value_of(parameters) is a trial's result."""
    best, reached = "", -1.0
    for params in trials(trainer, n):
        value = value_of(params)
        if value > reached:
            best, reached = params, value
    return best, reached
