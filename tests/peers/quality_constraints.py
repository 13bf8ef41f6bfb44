"""quality.py --constraints LIST: rows of every trainer that has a constraint, a cost of features or a sample, the
same for all of them and chosen by the training part of each task alone. Standard library only.

  monotone      the MONOTONE features with the largest |rank correlation| with the label (Spearman's, over the
                documents of the training part), each in the direction of its correlation
  interactions  two groups: the lower and the upper half of the feature ids
  penalty       each split by a feature of the upper half costs COST of its gain. No peer has this: LightGBM and
                CatBoost multiply such gains by FACTOR
  sample-docs   a tree sees half of the documents; CatBoost's are drawn by its Bernoulli bootstrap
  sample-node   a node (CatBoost: a level) sees half of the features
  schedule      a rate that falls from .2 to .05 in 100 rounds. Peers have callbacks for it, no parameter
"""
import ctypes

from common import Library

MONOTONE, COST, FACTOR = 3, 0.1, 0.5


def ranks(values):
    """Ranks less their mean; equal values share theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found, begin, middle = [0.0] * len(values), 0, (len(values) - 1) / 2
    while begin < len(order):
        end = begin + 1
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for i in order[begin:end]:
            found[i] = (begin + end - 1) / 2 - middle
        begin = end
    return found


def correlation(a, b):
    """Of ranks; 0 if either has one value alone."""
    products = [sum(x * y for x, y in zip(*pair)) for pair in ((a, b), (a, a), (b, b))]
    return products[0] / (products[1] * products[2]) ** 0.5 if products[1] * products[2] else 0.0


def listed(name, values, marks="[]"):
    return f"{name}={marks[0]}{','.join(map(str, values))}{marks[1]}"


class Facts:
    """What constraints are chosen by: `ids` of a training part's features, and `correlations` with its labels."""

    def __init__(self, library, paths):
        data = library.read(paths)
        n = library.lib.rw_dataset_n_docs(data)
        labels, column = ranks(library.lib.rw_dataset_labels(data)[:n]), (ctypes.c_float * n)()
        self.ids, self.correlations = library.feature_ids(data), []
        for feature in self.ids:
            library.lib.rw_dataset_feature(data, feature, ctypes.c_float(0), column)
            self.correlations.append(correlation(ranks(column[:]), labels))
        library.lib.rw_dataset_free(data)
        strongest = sorted(range(len(self.ids)), key=lambda i: -abs(self.correlations[i]))[:MONOTONE]
        self.directions = [0] * len(self.ids)
        for i in strongest:
            self.directions[i] = 1 if self.correlations[i] > 0 else -1
        self.half = len(self.ids) // 2

    def ours_monotone(self):
        return "monotone=" + ",".join(f"{f}:{'+' if d > 0 else '-'}" for f, d in zip(self.ids, self.directions) if d)

    def monotone(self, marks="[]"):
        return listed("monotone_constraints", self.directions, marks)

    def ours_interactions(self):
        return f"interactions={self.ids[0]}-{self.ids[self.half - 1]};{self.ids[self.half]}-{self.ids[-1]}"

    def interactions(self):
        groups = range(self.half), range(self.half, len(self.ids))
        return listed("interaction_constraints", (f"[{','.join(map(str, group))}]" for group in groups))

    def factors(self, name):
        return listed(name, [1] * self.half + [FACTOR] * (len(self.ids) - self.half))


TRAINERS = { # the parameters of each trainer that has it
    "monotone": {"rankwood": Facts.ours_monotone, "lightgbm": Facts.monotone,
                 "xgboost": lambda facts: facts.monotone("()"), "catboost": Facts.monotone},
    "interactions": {"rankwood": Facts.ours_interactions, "lightgbm": Facts.interactions,
                     "xgboost": Facts.interactions},
    "penalty": {"rankwood": lambda facts: f"feature-penalty={facts.ids[facts.half]}-{facts.ids[-1]}:{COST}",
                "lightgbm": lambda facts: facts.factors("feature_contri"),
                "catboost": lambda facts: facts.factors("feature_weights")},
    "sample-docs": {"rankwood": lambda _: "sample-docs=0.5",
                    "lightgbm": lambda _: "bagging_fraction=0.5 bagging_freq=1",
                    "xgboost": lambda _: "subsample=0.5",
                    "catboost": lambda _: "bootstrap_type=Bernoulli subsample=0.5"},
    "sample-node": {"rankwood": lambda _: "sample-features-node=0.5",
                    "lightgbm": lambda _: "feature_fraction_bynode=0.5",
                    "xgboost": lambda _: "colsample_bynode=0.5", "catboost": lambda _: "rsm=0.5"},
    "schedule": {"rankwood": lambda _: "rate=0.2:0.05:100"},
}
DRAWN = ("sample-docs", "sample-node") # trainers draw random numbers for these


class Constraints:
    def __init__(self, path):
        self.library, self.facts = Library(path, 1), {}

    def params(self, constraint, trainer, task):
        """'NAME=VALUE ...' of a trainer for a task."""
        train = tuple(task[0])
        if train not in self.facts:
            self.facts[train] = Facts(self.library, task[0])
        return TRAINERS[constraint][trainer](self.facts[train])
