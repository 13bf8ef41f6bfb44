"""Prints docs/reference/parameters.md from the library's tables of parameters and of other trainers' names.

python docs/make_parameters.py > docs/reference/parameters.md
"""

from __future__ import annotations

import runpy
from pathlib import Path

from rankwood._core import lib, text
from rankwood._params import infos

HEAD = """# Parameters

This page lists every parameter of training and evaluation. Set them on the command line (`--leaves 31`), in \
`--config` files (`leaves = 31`), in Python (`{"leaves": 31}`, with `_` for `-`) and in C (`rw_params_set`).

- `auto` values depend on the size of the data or on the machine. \
`rankwood train --print-config` prints the chosen values.
- The model file stores most parameters. The others are marked "Not stored in the model".
- A parameter without effect, such as `--truncation 5` with `--pairs all`, gives one warning, or with `--strict` an \
error. Contradictory parameters are always an error.
- *Elsewhere* is the usual name in other trainers. [Parameters of other programs](migrating.md) has all names, and \
where meanings or units differ.

`python docs/make_parameters.py > docs/reference/parameters.md` makes this page.
"""

# The page's sections: title and parameters.
SECTIONS = [
    ("Boosting", "objective rounds rate early-stop early-stop-delta early-stop-rule seed"),
    ("Trees", "leaves depth grow split min-docs min-hessian min-gain split-l2 l2"),
    ("Samples and bags", "bags bag-queries sample-queries sample-docs sample-features sample-features-node gain-noise"),
    ("Losses for ranking", "truncation pairs pairs-file delta sigma norm label-gain label-weights permutations decay"),
    ("Clicks", "debias position-l2 position-norm positions propensities"),
    ("Data", "label-column qid-column weight-column label-columns weights query-weights start-scores labels absent"),
    ("Features", "names features ignore categorical category-smoothing category-penalty monotone interactions "
     "feature-penalty"),
    ("Metrics", "metric train-metric empty ties relevant"),
    ("Bins and numbers", "bins bits rounding"),
    ("Machine", "device threads gpu-memory hist batch"),
    ("Refitting leaves", "refit-decay"),
]  # fmt: skip

TIPS = {
    "objective": "compare `lambdarank`, `yetirank` and `xendcg` on validation data; which is best depends on the data.",
    "rounds": "set it high and let `early-stop` choose the number of trees.",
    "rate": "try 0.02 to 0.2; halve it and double `rounds` for slightly better, slower training.",
    "early-stop": "50 to 200. With few validation queries the metric is noisy: compare settings by `rankwood cv`.",
    "early-stop-rule": "keep `auto`. [Early stopping](../explanation/early-stopping.md) explains the rules.",
    "leaves": "try a quarter to four times the default. Small data needs few leaves.",
    "l2": "try 30 to 1000. Small data needs more.",
    "min-docs": "try 5 to 100. Raise it if training is far better than validation.",
    "bags": "try 4 on small data; the model has 4 times the trees. "
    "See [bags](../explanation/bags.md).",
    "sample-features": "lower values give faster, more varied trees.",
    "gain-noise": "2 to 6 on small data. [Gain noise](../explanation/growth.md#gain-noise) explains it.",
    "sample-queries": "use it rather than `sample-docs`: it keeps each ranking whole.",
    "truncation": "try the k of your metric, and larger.",
    "metric": "the first one, on the first validation set, stops training.",
    "seed": "train with several seeds before you trust a small difference.",
    "bins": "more than 255 bins take longer and rarely change the metric.",
    "device": "the model is the same on every device.",
    "debias": "see [clicks](../how-to/clicks.md).",
    "categorical": "see [categories](../how-to/categories.md).",
    "monotone": "see [constraints](../how-to/constraints.md).",
    "interactions": "see [constraints](../how-to/constraints.md).",
    "absent": "`zero` if the data omits zeros, `missing` if it omits unknown values. An empty field of a table is "
    "always missing: see [missing or absent](data.md#letor-text).",
    "refit-decay": "see [updating a model](../how-to/update.md).",
}

# Values of parameters whose argument in --help is only a letter or a word.
VALUES = {
    "label-column": "name or number of a column",
    "label-columns": "names or numbers of columns, separated by commas",
    "qid-column": "name or number of a column",
    "weight-column": "name or number of a column",
    "label-weights": "numbers, separated by commas",
    "pairs-file": "a file",
    "positions": "a file",
    "propensities": "a file",
    "weights": "a file",
    "query-weights": "a file",
    "start-scores": "a file",
    "labels": "a file",
    "names": "a file",
    "label-gain": "`exp`, `linear` or a file",
    "features": "a list of features",
    "ignore": "a list of features or columns",
    "categorical": "a list of features",
    "monotone": "a list of features and directions",
    "interactions": "groups of features",
    "feature-penalty": "a list of features and costs",
    "delta": "`ndcg`, `dcg`, `map`, `mrr`, `err`, `p@K`, `none`",
    "metric": "names of [metrics](metrics.md), separated by commas",
    "gpu-memory": "a number of bytes with an optional K, M, G or T, or `auto`",
    "hist": "`auto`, or the name of a [method](../explanation/histograms.md#on-a-gpu)",
}

# The usual names in other trainers, where they have several: the first of these that a trainer knows.
USUAL = (
    "objective loss_function num_iterations num_boost_round iterations learning_rate num_leaves max_leaves max_depth "
    "depth lambda_l2 lambda l2_leaf_reg min_data_in_leaf min_sum_hessian_in_leaf min_child_weight min_gain_to_split "
    "gamma max_bin border_count bagging_fraction subsample feature_fraction colsample_bytree rsm "
    "feature_fraction_bynode colsample_bynode early_stopping_round early_stopping_rounds od_wait metric eval_metric "
    "seed random_seed num_threads nthread thread_count device_type device task_type categorical_feature cat_features "
    "monotone_constraints is_provide_training_metric num_grad_quant_bins lambdarank_normalization"
)
# Meanings of a parameter that is not set.
UNSET = {"features": "all features", "label-column": "`label`", "qid-column": "`qid`"}

TYPES = {lib.RW_PARAM_INT: "whole number", lib.RW_PARAM_REAL: "number", lib.RW_PARAM_SEED: "whole number"}


def _elsewhere(names: dict[str, list[str]]) -> str:
    """Returns each program's usual name; programs with the same name are together."""
    programs: dict[str, list[str]] = {}
    for program, known in names.items():
        if known:
            name = next((name for name in USUAL.split() if name in known), known[0])
            programs.setdefault(name, []).append(program)
    return "; ".join(f"`{name}` in {', '.join(those)}" for name, those in programs.items())


def page() -> str:
    """Returns the page."""
    taken, _ = runpy.run_path(str(Path(__file__).with_name("make_migrating.py")))["_page_rows"]()
    rows = {text(info.name): info for info in infos()}
    out = [HEAD.strip()]
    for title, names in SECTIONS:
        out.append(f"## {title}")
        for name in names.split():
            info = rows.pop(name)
            kind = TYPES.get(info.type)
            argument = text(info.argument)
            values = f"{kind}, {text(info.range)}" if kind else ", ".join(f"`{word}`" for word in argument.split("|"))
            if kind and "|" in argument:  # "N|auto": the words beside the number
                values += "".join(f", or `{word}`" for word in argument.split("|")[1:])
            values = VALUES.get(name, values)
            default = f"`{text(info.default_value)}`" if text(info.default_value) else UNSET.get(name, "not set")
            meaning = text(info.help)
            lines = [
                f"### `{name}`",
                f"{meaning[0].upper()}{meaning[1:]}.",
                f"- Values: {values}. Default: {default}.",
            ]
            if name in taken and (elsewhere := _elsewhere(taken[name].names)):
                lines.append(f"- Elsewhere: {elsewhere}.")
            if name in TIPS:
                lines.append(f"- Tip: {TIPS[name]}")
            if not info.model:
                lines.append("- Not stored in the model.")
            out.append("\n".join([*lines[:1], "", lines[1], "", *lines[2:]]))
    assert not rows, f"no section has {' '.join(rows)}"
    return "\n\n".join(out) + "\n"


if __name__ == "__main__":
    print(page(), end="")
