"""continuing.py PROGRAM [--seed N]: implements `train --init` and `--refit` of models with categories again, from
docs/explanation/categories.md and docs/reference/parameters.md, without the engines: from two tables and the text of
three models.

Checks of a continued model: its categories and their order; the first model's trees, unchanged by category if not by
code; scores of both models, ==; and the values of new leaves. Checks of a refit: categories, trees, and every leaf's
value. Leaves are computed in double arithmetic and agree to a relative error of 1e-5, since lambdas of pairs are
floats. Standard library only."""

import collections
import csv
import subprocess
import sys

import cases
from floats import to_float
from lambdas import query_lambdas

RATE, L2 = 0.5, 3.0
WORDS = {"shop": 400, "town": 7}
FEATURES = ["shop", "x", "town"]  # columns 0, 1, 2 of the features


def write_table(rng, path, n_queries, first, shift):
    """Words of two columns, of which other data has others: `shift` moves them. Some are missing."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        to = csv.writer(out)
        to.writerow(["label", "qid", *FEATURES])
        for q in range(n_queries):
            for _ in range(rng.randrange(2, 14)):
                shop, town = (int(n * rng.random() ** 2) + shift * n // 5 for n in WORDS.values())
                x = rng.randrange(40) / 4
                worth = shop * 17 % 30 / 10 + town * 3 % 5 / 2 + x / 5 + rng.random()
                label = sum(worth > bound for bound in (2.2, 3.4, 4.5))
                words = ("" if rng.random() < share else word for word, share in
                         ((f"s, {shop}", 0.05), (f"\u00e9{town}", 0.1 if shift else 0.0)))
                to.writerow([label, first + q, next(words), x, next(words)])


class Table:
    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as text:
            rows = list(csv.reader(text))[1:]
        self.label = [float(row[0]) for row in rows]
        self.queries = collections.defaultdict(list)
        for d, row in enumerate(rows):
            self.queries[row[1]].append(d)
        self.doc = [[row[2] or None, float(row[3]), row[4] or None] for row in rows]

    def count(self, feature):
        return collections.Counter(doc[feature] for doc in self.doc if doc[feature] is not None)


class Model:
    """A model's file: words by feature; of each tree its nodes and leaves, sets of codes as they stand."""

    def __init__(self, path):
        self.words, self.trees = collections.defaultdict(list), []
        feature = None
        for line in path.read_text(encoding="utf-8").splitlines():
            word = line.split(" ")
            if word[0] == "feature" and word[2] == "words":
                feature = int(word[1])
            elif word[0] == "category":
                self.words[feature].append(line.partition(" ")[2])
            elif word[0] == "tree":
                self.trees.append(([], []))
            elif word[0] == "node":
                self.trees[-1][0].append(word[2:])
            elif word[0] == "leaf" and self.trees:
                self.trees[-1][1].append(to_float(float(word[2])))
        self.code = {f: {w: k for k, w in enumerate(words)} for f, words in self.words.items()}

    def goes_left(self, node, doc):
        feature, how, bound = int(node[1]), node[2], node[3]
        value = doc[feature]
        if value is None:
            return node[node.index("missing") + 1] == "left"
        if how == "<=":
            return value <= to_float(float(bound))
        return self.code[feature].get(value, len(self.words[feature])) in codes(bound)

    def leaf(self, tree, doc):
        nodes, _ = self.trees[tree]
        at = 0
        while nodes:
            node = nodes[at]
            side = "left" if self.goes_left(node, doc) else "right"
            kind, number = node[node.index(side, 4) + 1:][:2]
            at = int(number)
            if kind == "leaf":
                break
        return at

    def scores(self, table, n_trees):
        return [sum(self.trees[t][1][self.leaf(t, doc)] for t in range(n_trees)) for doc in table.doc]

    def by_words(self, tree, words):
        """A tree's nodes with sets of words, of these alone, in place of codes; None: all others."""
        out = []
        for node in self.trees[tree][0]:
            if node[2] == "in":
                feature, left = int(node[1]), codes(node[3])
                known = self.code[feature]
                others = len(known)
                found = {w for w in words[feature] if known.get(w, others) in left}
                out.append([*node[:3], frozenset(found), others in left, *node[4:]])
            else:
                out.append(node)
        return out


def codes(text):
    found = set()
    for item in text.split(",") if text != "none" else []:
        first, _, last = item.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def expected_words(table, feature, kept, most):
    """The model's, and of the data's others those that most documents have, while there is room."""
    count = table.count(feature)
    new = sorted(set(count) - set(kept), key=lambda w: (-count[w], w.encode()))
    return sorted([*kept, *new[:max(0, most - len(kept))]], key=str.encode)


def lambdas(objective, table, scores):
    """Each document's lambda and hessian."""
    lam, hess = [0.0] * len(scores), [0.0] * len(scores)
    opt = {"truncation": 30, "sigma": 1.0, "norm": "on"}
    for docs in table.queries.values():
        if objective == "regression":
            own = [table.label[d] - scores[d] for d in docs], [1.0] * len(docs)
        else:
            gain = [2 ** table.label[d] - 1 for d in docs]
            own = query_lambdas(opt, gain, [scores[d] for d in docs], [1.0] * len(docs))
        for i, d in enumerate(docs):
            lam[d], hess[d] = own[0][i], own[1][i]
    return lam, hess


def leaf_values(objective, table, scores, leaves, n_leaves):
    """New values of a tree's leaves; None where no document reaches one."""
    lam, hess = lambdas(objective, table, scores)
    mean = sum(hess) / len(hess)
    sums = [[0.0, 0.0, 0] for _ in range(n_leaves)]
    for d, at in enumerate(leaves):
        sums[at] = [sums[at][0] + lam[d], sums[at][1] + hess[d], sums[at][2] + 1]
    return [RATE * s[0] / (s[1] + L2 * mean) if s[2] else None for s in sums]


def need(holds, what):
    if not holds:
        raise SystemExit(what)


class Case:
    def __init__(self, program, rng, folder, objective, bins):
        """bins: the largest number of categories of the first training and of the continued one."""
        self.program, self.folder, self.objective, self.bins, self.n = program, folder, objective, bins, 0
        write_table(rng, folder / "old.csv", 60 if bins[0] <= 255 else 250, 1, 0)
        write_table(rng, folder / "new.csv", rng.choice([3, 50]), 1000, 1)
        self.old, self.new = Table(folder / "old.csv"), Table(folder / "new.csv")

    def run(self, *given):
        done = subprocess.run([self.program, *map(str, given)], capture_output=True, encoding="utf-8", check=False)
        need(done.returncode == 0, f"{given}: {done.stderr}")

    def train(self, table, out, *more):
        self.run("train", self.folder / table, "-o", self.folder / out, "--quiet", *more)
        return Model(self.folder / out)

    def grow(self, table, out, rounds, *more):
        return self.train(table, out, "--objective", self.objective, "--rounds", rounds, "--rate", RATE, "--l2", L2,
                          "--leaves", 12, "--min-docs", 2, *more)

    def check_scores(self, model, name, n_trees):
        for table, path in ((self.old, "old.csv"), (self.new, "new.csv")):
            out = self.folder / "scores"
            self.run("predict", self.folder / name, self.folder / path, "--trees", n_trees, "--quiet", "-o", out)
            found = [float(line) for line in out.read_text().split()]
            need(found == model.scores(table, n_trees), f"{name}, {path}: other scores of {n_trees} trees")
            self.n += len(found)

    def check_leaves(self, model, tree, values, what):
        for at, (found, expected) in enumerate(zip(model.trees[tree][1], values, strict=True)):
            need(abs(found - expected) <= 1e-5 * abs(expected) + 1e-9,
                 f"{what}, {self.objective}, tree {tree + 1}, leaf {at}: {found!r}, expected {expected!r}")
            self.n += 1

    def check_init(self, first, n_first):
        model = self.grow("new.csv", "second", 4, "--init", self.folder / "first",
                          "--bins", self.bins[1])
        for f, words in first.words.items():
            need(model.words[f] == expected_words(self.new, f, words, self.bins[1]), f"feature {f}: {model.words[f]}")
        words = {f: {*found, *self.new.count(f)} for f, found in model.words.items()}
        for tree in range(n_first):
            need(model.by_words(tree, words) == first.by_words(tree, words), f"tree {tree + 1} is another")
            need(model.trees[tree][1] == first.trees[tree][1], f"tree {tree + 1} has other leaves")
        self.check_scores(first, "first", n_first)
        self.check_scores(model, "second", n_first)
        self.check_scores(model, "second", len(model.trees))
        for table in (self.old, self.new):
            need(model.scores(table, n_first) == first.scores(table, n_first), "other scores by the same trees")
        for tree in range(n_first, len(model.trees)):
            leaves = [model.leaf(tree, doc) for doc in self.new.doc]
            values = leaf_values(self.objective, self.new, model.scores(self.new, tree), leaves,
                                 len(model.trees[tree][1]))
            self.check_leaves(model, tree, values, "init")

    def check_refit(self, first, decay):
        model = self.train("new.csv", "refitted", "--refit", self.folder / "first", "--refit-decay", decay)
        need(model.words == first.words, "a refit has other words")
        need([t[0] for t in model.trees] == [t[0] for t in first.trees], "a refit has other trees")
        for tree, (_, before) in enumerate(first.trees):
            leaves = [first.leaf(tree, doc) for doc in self.new.doc]
            new = leaf_values(self.objective, self.new, model.scores(self.new, tree), leaves, len(before))
            values = [old if value is None else decay * old + (1 - decay) * value for old, value in zip(before, new)]
            self.check_leaves(model, tree, values, f"refit by {decay}")
            for old, value, found in zip(before, new, model.trees[tree][1]):
                need(value is not None or found == old, "a leaf without documents moved")

    def check(self):
        n_first = 3
        first = self.grow("old.csv", "first", n_first, "--categorical", "shop,town", "--bins", self.bins[0])
        need(first.words[0] == expected_words(self.old, 0, [], self.bins[0]), "other words of the first")
        need(self.bins[0] <= 255 or len(first.words[0]) > 255, f"only {len(first.words[0])} words")
        sets = sum(node[2] == "in" for nodes, _ in first.trees for node in nodes)
        need(sets > 5 and len(first.trees) == n_first, f"{sets} sets in {len(first.trees)} trees")
        need(len(expected_words(self.old, 0, [], 400)) > self.bins[1] or self.bins[0] > 90, "no word is left out")
        self.check_init(first, n_first)
        for decay in (0, 0.25):
            self.check_refit(first, decay)
        return self.n


def check(objective, *bins):
    return lambda program, rng, folder: Case(program, rng, folder, objective, bins).check()


CASES = [check("regression", 255, 255), check("lambdarank", 60, 90), check("regression", 60, 60),
         check("lambdarank", 255, 255), check("regression", 300, 1023)]

if __name__ == "__main__":
    sys.exit(cases.run(CASES, 5000))
