"""A second implementation of training, directly from the formulas, without the engines.

    python3 oracle.py DUMP [--seed N] [--filter TEXT] [--engine NAME]

DUMP trains trees on a text file and prints its integers. From the same text this program computes, in double
arithmetic:
  - every document's lambda and hessian (Burges 2010, with the normalisation), to a relative error
    of 1e-5, above a floor for rounding: half a unit of 2^-40 per pair. Where a document's pairs
    cancel, the floor is 2e-6 of the sum of their magnitudes, since pairs are floats;
  - how the lambdas become integers, with separate random numbers (Philox4x32-10): ==;
  - from these integers, the tree: every split of every node by a search over the raw values
    (features have at most 255 of them, so every two neighbours may be separated), and over sets of
    categories: ==;
  - leaves from exact sums of the unrounded integers, within the bounds of features with a
    direction: 1e-6 relative, and nearly all ==;
  - scores, by walking the trees over the raw values: ==.
Standard library only."""

import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import categories  # noqa: E402
import given  # noqa: E402
from draws import check_quantised, check_sample, sample  # noqa: E402
from floats import FLT_MAX, cut_between, to_float  # noqa: E402
from gradients import REAL  # noqa: E402
from lambdas import query_lambdas  # noqa: E402
from monotone import bounds_of, directions, keeps_order  # noqa: E402
from philox import draw, philox  # noqa: E402
from shape import deviation_of, features_of, noise_of, penalties  # noqa: E402

# ---- data ----


def make_data(rng, path, n_queries, longest, outliers, with_categories):
    """LETOR text; labels 0 to 4, of every seventh query 1,000 times that if there are outliers; at
    most 255 distinct values a feature."""
    few = [rng.randrange(-50, 50) / 8 for _ in range(7)]
    many = sorted({round(rng.uniform(-3, 3), 2) for _ in range(230)})
    with open(path, 'w') as out:
        for q in range(n_queries):
            n = rng.choice([1, 2, 3]) if rng.random() < 0.1 else rng.randrange(4, longest + 1)
            same = rng.random() < 0.05
            for _ in range(n):
                label = 1 if same else rng.choice([0, 0, 0, 1, 1, 2, 3, 4])
                parts = [str(label * 1000 if outliers and q % 7 == 3 else label), 'qid:q%d' % q]

                def put(feature, value):
                    if value is not None:
                        parts.append('%d:%s' % (feature, value))
                put(1, rng.choice(many))
                put(2, rng.choice(few))
                put(3, 'NaN' if rng.random() < 0.3 else round(label + rng.uniform(-2, 2), 1))
                put(5, 1 if rng.random() < 0.1 + 0.15 * label else 0)
                put(8, rng.choice([None, None, None, 1.5, -1.5, 2, label]))
                put(9, 4.25)                                          # constant
                put(11, rng.choice(['3.4028234e38', '-3.4028234e38', '1e-42', '-1e-42', 0, label]))
                put(12, None if rng.random() < 0.6 else rng.choice(['NaN', label, -1, 7]))
                put(13, rng.choice(['1', '1.0000001', '1.0000002', '1.0000004']))
                put(40, rng.choice(few) if rng.random() < 0.5 else rng.choice([1, 2, 3]))
                put(41, parts[3].split(':')[1])                       # twins: ties between features
                put(60, 'NaN' if label > 1 and rng.random() < 0.8 else rng.randrange(5))
                if with_categories:
                    categories.put_values(rng, label, put)
                out.write(' '.join(parts) + '\n')


class Data:
    def __init__(self, path, absent_is_missing, by_category, bins):
        self.label, self.query, self.doc, ids = [], [], [], []
        for line in open(path):
            words = line.split()
            self.label.append(float(words[0]))
            if not ids or ids[-1] != words[1]:
                ids.append(words[1])
                self.query.append([])
            self.query[-1].append(len(self.label) - 1)
            self.doc.append({int(f): to_float(float(v)) for f, v in
                             (w.split(':') for w in words[2:])})
        self.features = sorted({f for doc in self.doc for f in doc})
        self.n_codes = {f: 0 for f in by_category}
        self.n = len(self.label)
        # value[f][doc]: None is missing
        self.value = {}
        for f in self.features:
            column = []
            for doc in self.doc:
                v = doc.get(f, None if absent_is_missing else 0.0)
                column.append(None if v is None or v != v else v)
            self.value[f] = column
        for f in by_category:
            self.value[f], self.n_codes[f] = categories.codes(path, f, absent_is_missing, bins)
        # the distinct values, and the boundary after each
        self.cut = {}
        for f in self.features:
            if f in by_category:
                continue
            distinct = sorted({v for v in self.value[f] if v is not None})
            assert len(distinct) <= 255
            cuts, group = [], 0
            for a, b in zip(distinct, distinct[1:]):
                cut = cut_between(a, b)
                if cut is not None:
                    cuts.append((a, cut))
            if distinct:
                cuts.append((distinct[-1], FLT_MAX))
            self.cut[f] = cuts


# ---- lambdas ----


def exponent_of(values):
    """That brings the largest magnitude into [2^60, 2^61)."""
    largest = max(abs(v) for v in values)
    return 60 - (math.frexp(largest)[1] - 1) if largest else 40


def sum_is_real(opt, data, weights):
    """Are integers of 2^-40 too small for the sum over labels?"""
    longest = 30 if opt['norm'] == 'on' else max(map(len, data.query))
    bound = longest * max(opt['sigma'], opt['sigma'] ** 2) * max(weights)
    return len(data.labels) > 1 and bound * max(1, sum(data.label_weights)) > 2 ** 22


def check_gradients(opt, data, weights, out, fail):
    """Every sampled document's unrounded lambda and weight; returns how many keep to 1e-5 without
    the floor, and the exponents."""
    strict = 0
    real = sum_is_real(opt, data, weights)
    expected = [[0.0] * data.n for _ in range(4)]
    for docs in data.query:
        if not any(out['sampled'][d] for d in docs):
            continue
        for label, by in zip(data.labels, data.label_weights):
            gain = [2 ** label[d] - 1 if opt['gain'] == 'exp' else label[d] for d in docs]
            own = query_lambdas(opt, gain, [out['scores'][d] for d in docs],
                                [weights[d] for d in docs])
            for i, d in enumerate(docs):
                rounds = 2.0 ** -41 * (by * weights[d] if real else len(data.labels) > 1)
                for k in range(4):
                    expected[k][d] += by * own[k][i] + (k > 1) * rounds
    sampled = [d for d in range(data.n) if out['sampled'][d]]
    exponents = [exponent_of([expected[k][d] for d in sampled]) if real else 40 for k in range(2)]
    for d in sampled:
        for k, what in enumerate(('lambda', 'hess')):
            v, floor = expected[k][d], expected[k + 2][d]
            got = out[what][d] * 2.0 ** -exponents[k]
            if abs(got - v) > 1e-5 * abs(v) + floor:
                fail('%s of document %d: %.12g, expected %.12g' % (what, d, got, v))
            strict += abs(got - v) <= 1e-5 * abs(v)
    return strict, exponents


def check_residuals(opt, data, weights, out, fail):
    """Real gradients at a power-of-two scale, of the sampled documents; returns the exponents, and
    whether they would be others if the documents that are not sampled counted, too."""
    exponents, others = [], []
    formula, share = REAL[opt['objective']]
    gradient, hessian = [], []
    for docs in data.query:
        sums = [[0.0] * len(docs) for _ in range(2)]
        for label, by in zip(data.labels, data.label_weights):
            own = formula(opt, [label[d] for d in docs], [out['scores'][d] for d in docs],
                          [weights[d] for d in docs],
                          lambda k, stream: draw(opt['seed'], docs[k], out['tree'], stream))
            sums = [[s + by * v for s, v in zip(sum_, one)] for sum_, one in zip(sums, own)]
        gradient += sums[0]
        hessian += sums[1]
    for what, real in (('lambda', gradient), ('hess', hessian)):
        real = [v * w for v, w in zip(real, weights)]
        exponent = exponent_of([real[d] for d in range(data.n) if out['sampled'][d]])
        exponents.append(exponent)
        others.append(exponent_of(real))
        near = 0.5 + share * 2.0 ** 61
        for d in range(data.n):
            if out['sampled'][d] and abs(out[what][d] - real[d] * 2.0 ** exponent) > near:
                fail('%s of document %d: %d, expected %.1f' %
                     (what, d, out[what][d], real[d] * 2.0 ** exponent))
    return exponents, [a != b for a, b in zip(exponents, others)]


# ---- trees ----


class Node:
    def __init__(self, docs, path, sides):
        """path, sides: features and sides taken on the way from the root."""
        self.docs, self.path, self.sides, self.split = docs, path, sides, None


class Search:
    """Best splits by the integers, over raw values."""

    def __init__(self, opt, data, out, shifts, exponents):
        self.opt, self.data, self.out = opt, data, out
        self.newton = opt['split'] == 'newton'
        docs = [d for d in range(data.n) if out['sampled'][d]]
        unit = shifts[0] - exponents[0]
        self.hess_unit = 2.0 ** (shifts[1] - exponents[1]) if self.newton else 1.0
        self.scale = 2.0 ** (2 * unit) / self.hess_unit
        self.direction = directions(opt)
        self.penalty = penalties(opt)
        mean = sum(out['hess_q'][d] for d in docs) / len(docs) if self.newton else 1
        self.k, self.prior = opt['split-l2'] * mean, opt['category-smoothing'] * mean
        squares = sum(out['lambda_q'][d] ** 2 for d in docs)
        random_gain = (squares / len(docs) / mean if mean > 0 else 0.0) * self.scale
        self.bit_cost = opt['category-penalty'] * random_gain
        self.deviation = deviation_of(opt, len(docs), random_gain, out['tree'], rate_of(opt, out['tree']))
        columns = [f for f in data.features if self.can_split(f)]
        kept = sample(opt, opt['sample-features'], columns, out['tree'], 3)
        self.features = [f for f, keep in zip(columns, kept) if keep]

    def can_split(self, f):
        """Whether a threshold leaves enough of all documents on both sides; else the engine has no
        column of the feature."""
        column, enough = self.data.value[f], self.opt['min-docs']
        if f in self.data.n_codes:
            return categories.can_split(column, enough)
        values = [v for v in column if v is not None]
        n_missing = len(column) - len(values)
        if min(n_missing, len(values)) >= enough:
            return True
        for _, cut in self.data.cut[f]:
            left = sum(v <= cut for v in values)
            right = len(values) - left
            if left and right and max(min(left + n_missing, right),
                                      min(left, right + n_missing)) >= enough:
                return True
        return False

    def sums(self, docs):
        q, w = self.out['lambda_q'], self.out.get('hess_q')
        return (len(docs), sum(w[d] for d in docs) if self.newton else 0, sum(q[d] for d in docs))

    def side(self, s):
        q = float(s[2])
        return q * q / (float(s[1] if self.newton else s[0]) + self.k)

    def value(self, s):
        return float(s[2]) / (float(s[1] if self.newton else s[0]) + self.k)

    def allowed(self, s):
        if s[0] < self.opt['min-docs']:
            return False
        return not self.newton or (s[1] > 0 and
                                   s[1] * self.hess_unit >= self.opt['min-weight'])

    def best(self, node):
        """(gain, feature, cut, missing_left, left documents), or None. The feature is chosen with noise."""
        docs, whole, found = node.docs, self.sums(node.docs), []
        for f in features_of(self.opt, self.out['tree'], self.features, node.path, node.sides):
            split = categories.best(self, docs, f) if f in self.data.n_codes else self.best_cut(docs, whole, f)
            if split:
                found.append(split)
        if not found:
            return None

        def with_noise(split):
            if not self.opt['gain-noise']:
                return split[0]
            noise = noise_of(self.opt, self.out['tree'], split[1], node.sides, self.deviation)
            return math.sqrt(split[0]) + noise
        best = max(found, key=with_noise)  # the first of equal ones
        column = self.data.value[best[1]]
        goes_left = [d for d in docs if is_left(best[2], best[3], column[d])]
        return best + (goes_left,)

    def best_cut(self, docs, whole, f):
        """(gain, feature, cut, missing_left), or None."""
        best, column, by_value = None, self.data.value[f], {}
        for d in docs:
            by_value.setdefault(column[d], []).append(d)
        missing = by_value.pop(None, [])
        missing_sums = self.sums(missing)
        values = sorted(by_value)
        at, left = 0, (0, 0, 0)
        for highest, cut in self.data.cut[f]:
            while at < len(values) and values[at] <= highest:
                s = self.sums(by_value[values[at]])
                left = tuple(a + b for a, b in zip(left, s))
                at += 1
            for missing_left in (1, 0):
                if not missing and missing_left != (0.0 <= cut):
                    continue
                l = left
                if missing_left:
                    l = tuple(a + b for a, b in zip(l, missing_sums))
                r = tuple(a - b for a, b in zip(whole, l))
                if l[0] == 0 or r[0] == 0 or not self.allowed(l) or not self.allowed(r):
                    continue
                if not keeps_order(self.direction.get(f, 0), *(self.value(s) for s in (l, r))):
                    continue
                gain = (self.side(l) + self.side(r) - self.side(whole)) * self.scale
                gain -= self.penalty.get(f, 0.0)
                if gain > self.opt['min-gain'] and (best is None or gain > best[0]):
                    best = (gain, f, cut, missing_left)
        return best


def is_left(cut, missing_left, value):
    """cut: a threshold, or the codes that go left."""
    if value is None:
        return missing_left
    return value in cut if isinstance(cut, tuple) else value <= cut


def cut_of(out, k):
    return out['cut'][k] if out['set'][k] is None else tuple(out['set'][k])


def grow(opt, search):
    """Nodes in the order of their numbers, and the numbers of those split, in order."""
    nodes = [Node([d for d in range(search.data.n) if search.out['sampled'][d]], (), ())]
    splits = []

    def look(node):
        if len(node.docs) >= 2 * opt['min-docs'] and not 0 < opt['depth'] <= len(node.path):
            node.split = search.best(node)

    def split(i):
        node = nodes[i]
        splits.append(i)
        inside = set(node.split[4])
        node.child = (len(nodes), len(nodes) + 1)
        for side, docs in enumerate((node.split[4], [d for d in node.docs if d not in inside])):
            nodes.append(Node(docs, node.path + (node.split[1],), node.sides + (side,)))
            look(nodes[-1])

    look(nodes[0])
    if opt['grow'] == 'levels':
        level = [0]
        while level:
            first = len(nodes)
            for i in level:
                if nodes[i].split:
                    split(i)
            level = range(first, len(nodes))
    else:
        while len(splits) + 1 < opt['leaves']:
            open_nodes = [i for i, node in enumerate(nodes) if node.split and i not in splits]
            if not open_nodes:
                break
            split(min(open_nodes, key=lambda i: (-nodes[i].split[0], i)))
    return nodes, splits


def rate_of(opt, tree):
    """A rate of A:B:N is A in the first of N rounds, and B after them."""
    a, b, n = map(float, (str(opt['rate']).split(':') + [opt['rate'], 1])[:3])
    return a * (b / a) ** (min(tree, n) / n)


def check_tree(opt, data, out, shifts, exponents, fail):
    """Returns (splits, leaves, leaves that are == as floats)."""
    search = Search(opt, data, out, shifts, exponents)
    nodes, splits = grow(opt, search)
    if len(splits) != len(out['feature']):
        fail('%d splits, expected %d' % (len(out['feature']), len(splits)))
        return 0, 0, 0
    leaves = [i for i in range(len(nodes)) if i not in splits]
    number = {i: k for k, i in enumerate(splits)}
    number.update({i: -1 - k for k, i in enumerate(leaves)})
    for k, i in enumerate(splits):
        gain, feature, cut, missing_left, _ = nodes[i].split
        expected = (feature, cut, missing_left, gain) + tuple(number[c] for c in nodes[i].child)
        got = (out['feature'][k], cut_of(out, k), out['missing_left'][k], out['gain'][k],
               out['left'][k], out['right'][k])
        if got != expected:
            fail('split %d is %r, expected %r' % (k, got, expected))
    # leaves, from exact sums
    rate = rate_of(opt, out['tree'])
    unit_l, unit_w = 2.0 ** -exponents[0], 2.0 ** -exponents[1]
    root = nodes[0].docs
    mean = sum(out['hess'][d] for d in root) * unit_w / len(root)

    def value_of(i):
        docs = nodes[i].docs
        lam = sum(out['lambda'][d] for d in docs) * unit_l
        hess = sum(out['hess'][d] for d in docs) * unit_w
        if not hess > 0 or not splits:
            return 0.0
        return rate * lam / max(hess + opt['l2'] * mean, 2.0 ** -20 * len(docs) * mean)
    same, bounds = 0, bounds_of(opt, nodes, splits, value_of)
    for k, i in enumerate(leaves):
        low, high = bounds[i]
        value = min(max(value_of(i), low), high)
        if abs(out['leaf'][k] - value) > 1e-6 * abs(value) + 1e-44:
            fail('leaf %d is %.9g, expected %.9g' % (k, out['leaf'][k], value))
        same += out['leaf'][k] == to_float(value)
    return len(splits), len(leaves), same


def walk(data, out, d):
    at = 0 if out['feature'] else -1
    while at >= 0:
        v = data.value[out['feature'][at]][d]
        left = is_left(cut_of(out, at), out['missing_left'][at], v)
        at = out['left'][at] if left else out['right'][at]
    return out['leaf'][-1 - at]


# ---- cases ----

DEFAULTS = {'objective': 'lambdarank', 'split': 'mart', 'grow': 'leaves', 'absent': 'zero',
            'rounding': 'stochastic', 'norm': 'on', 'gain': 'exp', 'bins': 255, 'bits': 8,
            'seed': 1, 'relevant': 1.0, 'sigma': 1.0, 'truncation': 30, 'min-docs': 5, 'min-weight': 0.0,
            'min-gain': 0.0, 'split-l2': 0.0, 'sample-queries': 1.0, 'sample-features': 1.0,
            'l2': 0.0, 'rate': 0.1, 'leaves': 12, 'depth': 0, 'trees': 3, 'threads': 2, 'monotone': '',
            'interactions': '', 'feature-penalty': '', 'sample-docs': 1.0, 'sample-features-node': 1.0,
            'gain-noise': 0.0, 'categorical': '', 'category-smoothing': 10.0, 'category-penalty': 0.7}

CASES = [
    ('mart', {}),
    ('newton', {'split': 'newton', 'l2': 1.0}),
    ('mart-levels', {'grow': 'levels', 'depth': 3}),
    ('newton-levels', {'split': 'newton', 'grow': 'levels', 'depth': 4, 'min-docs': 1}),
    ('mart-min-docs-1', {'min-docs': 1, 'leaves': 40, 'absent': 'missing', 'trees': 2}),
    ('newton-min-docs-1', {'split': 'newton', 'min-docs': 1, 'leaves': 40, 'rate': 1.0}),
    ('mart-depth', {'depth': 2, 'leaves': 31, 'bits': 4, 'l2': 100.0}),
    ('newton-min-weight', {'split': 'newton', 'min-weight': 3.0, 'min-docs': 1, 'bits': 16}),
    ('mart-min-gain', {'min-gain': 0.6, 'leaves': 31, 'bits': 12, 'rounding': 'nearest'}),
    ('mart-split-l2', {'split-l2': 30.0, 'min-docs': 2}),
    ('newton-split-l2', {'split': 'newton', 'split-l2': 30.0, 'min-docs': 2, 'absent': 'missing'}),
    ('truncation-1', {'truncation': 1, 'rate': 1.0}),
    ('truncation-3', {'truncation': 3, 'split': 'newton', 'rate': 1.0, 'gain': 'linear'}),
    ('no-norm', {'norm': 'off', 'truncation': 0, 'rate': 1.0, 'l2': 10.0}),
    ('sigma', {'sigma': 2.5, 'rate': 1.0, 'split': 'newton'}),
    ('sigma-no-norm', {'sigma': 0.5, 'norm': 'off', 'rounding': 'nearest'}),
    ('weights', {'weights': 'doc', 'split': 'newton', 'l2': 2.0}),
    ('weights-query', {'weights': 'query', 'truncation': 5}),
    ('sample', {'sample-queries': 0.5, 'seed': 12345678901234567890, 'split': 'newton'}),
    ('sample-one', {'sample-queries': 0.0, 'min-docs': 1, 'trees': 2}),
    ('regression', {'objective': 'regression', 'rate': 0.5}),
    ('regression-newton', {'objective': 'regression', 'split': 'newton', 'weights': 'doc',
                           'l2': 5.0, 'sample-queries': 0.7}),
    ('regression-outliers', {'objective': 'regression', 'outliers': True, 'weights': 'query',
                             'sample-queries': 0.2, 'trees': 6, 'seed': 12}),
    ('custom-outliers', {'objective': 'custom', 'outliers': True, 'split': 'newton', 'l2': 1.0,
                         'sample-queries': 0.2, 'trees': 6, 'seed': 12}),
    ('queryrmse', {'objective': 'queryrmse', 'weights': 'doc', 'rate': 0.5}),
    ('queryrmse-newton', {'objective': 'queryrmse', 'split': 'newton', 'weights': 'query',
                          'sample-queries': 0.7}),
    ('listnet', {'objective': 'listnet', 'rate': 0.5}),
    ('listnet-newton', {'objective': 'listnet', 'split': 'newton', 'weights': 'query', 'l2': 1.0,
                        'gain': 'linear', 'rate': 0.5, 'sample-queries': 0.7}),
    ('xendcg', {'objective': 'xendcg', 'rate': 0.5, 'seed': 12345678901234567890}),
    ('xendcg-newton', {'objective': 'xendcg', 'split': 'newton', 'weights': 'doc', 'l2': 1.0,
                       'rate': 0.5, 'seed': 3}),
    ('logistic', {'objective': 'logistic', 'rate': 0.5, 'weights': 'doc'}),
    ('logistic-newton', {'objective': 'logistic', 'relevant': 2.0, 'split': 'newton',
                         'rate': 0.5, 'weights': 'query'}),
    ('rate-falls', {'rate': '0.5:0.05:4', 'trees': 6, 'min-docs': 2}),
    ('start-scores', {'start': 2.0, 'trees': 4, 'min-docs': 2}),
    ('start-scores-newton', {'start': 0.5, 'split': 'newton', 'weights': 'doc', 'norm': 'off'}),
    ('monotone', {'monotone': '1:+,3:-,5:+,8:+,12:-,40:-,60:+', 'min-docs': 2, 'leaves': 24}),
    ('monotone-newton', {'monotone': '1:-,2:+,3:+,5:-,11:+,41:+,60:-', 'split': 'newton', 'l2': 1.0,
                         'absent': 'missing', 'min-docs': 1, 'split-l2': 2.0, 'leaves': 24}),
    ('monotone-levels', {'monotone': '3:-,11:-,40:+', 'grow': 'levels', 'depth': 4, 'rate': 0.5,
                         'objective': 'regression', 'weights': 'doc', 'bits': 16}),
    ('labels', {'label-weights': '1,0.5,0.25'}),
    ('labels-newton', {'label-weights': '0.3,2', 'split': 'newton', 'weights': 'doc', 'norm': 'off',
                       'truncation': 5, 'l2': 1.0, 'sample-queries': 0.7}),
    ('labels-first-0', {'label-weights': '0,1', 'gain': 'linear', 'min-docs': 2}),
    ('labels-large', {'label-weights': '65536,3000.5,65536', 'min-docs': 2}),
    ('labels-large-newton', {'label-weights': '40,0.25', 'split': 'newton', 'weights': 'doc', 'sigma': 40.0,
                             'sample-queries': 0.7, 'trees': 4}),
    ('labels-listnet', {'label-weights': '1,4', 'objective': 'listnet', 'rate': 0.5}),
    ('labels-xendcg', {'label-weights': '1,0.5', 'objective': 'xendcg', 'split': 'newton',
                       'weights': 'query', 'rate': 0.5}),
    ('labels-regression', {'label-weights': '1,0.1,3', 'objective': 'regression', 'weights': 'doc'}),
    ('categories', {'categorical': '60-63', 'min-docs': 2, 'leaves': 24}),
    ('categories-newton', {'categorical': '60-63', 'min-docs': 1, 'split': 'newton', 'leaves': 24,
                           'absent': 'missing', 'category-smoothing': 2.0, 'split-l2': 3.0}),
    ('categories-free', {'categorical': '60-63', 'min-docs': 2, 'leaves': 24, 'category-penalty': 0.0}),
    ('categories-dear', {'categorical': '60-63', 'min-docs': 2, 'split': 'newton', 'category-penalty': 3.3,
                         'sample-queries': 0.7, 'min-gain': 0.01}),
    ('categories-shape', {'categorical': '60-63', 'interactions': '1-13,61;40-62', 'min-docs': 2,
                          'feature-penalty': '61:0.3,63:0.05', 'sample-docs': 0.8}),
    ('categories-plain', {'categorical': '61,63', 'min-docs': 3, 'category-smoothing': 0.0,
                          'grow': 'levels', 'depth': 4, 'weights': 'doc', 'bits': 12}),
    ('categories-many', {'categorical': '60-63', 'min-docs': 2, 'leaves': 24, 'bins': 1023}),
    ('categories-many-newton', {'categorical': '61-63', 'min-docs': 1, 'split': 'newton', 'leaves': 24, 'bins': 300,
                                'absent': 'missing', 'category-penalty': 0.1}),
    ('sample-features', {'sample-features': 0.4, 'sample-queries': 0.6, 'trees': 4, 'seed': 9}),
    ('sample-one-feature', {'sample-features': 0.0, 'trees': 6, 'leaves': 5}),
    ('interactions', {'interactions': '1,2;3-8;5,11', 'min-docs': 2, 'leaves': 24, 'trees': 5}),
    ('interactions-newton', {'interactions': '1-3,5;5-60', 'split': 'newton', 'min-docs': 1,
                             'leaves': 24, 'monotone': '3:+,8:+'}),
    ('feature-penalty', {'feature-penalty': '3:2,5:1e30,8:0.25,11:0', 'min-docs': 2, 'leaves': 24}),
    ('feature-penalty-newton', {'feature-penalty': '1:0.01,3:0.7,8:0.05', 'split': 'newton',
                                'min-docs': 1, 'leaves': 24, 'min-gain': 0.01}),
    ('sample-node', {'sample-features-node': 0.4, 'trees': 4, 'seed': 9, 'min-docs': 2, 'leaves': 24}),
    ('sample-node-one', {'sample-features-node': 1e-9, 'trees': 6, 'split': 'newton',
                         'sample-features': 0.8, 'interactions': '1-5;8-60'}),
    ('sample-node-levels', {'sample-features-node': 0.5, 'grow': 'levels', 'depth': 4, 'rate': 0.5}),
    ('noise', {'gain-noise': 4.0, 'trees': 5, 'rate': 0.5, 'min-docs': 2, 'leaves': 24}),
    ('noise-newton', {'gain-noise': 1.5, 'split': 'newton', 'monotone': '1:-,3:+,8:+,60:-', 'rate': '0.5:0.2:3',
                      'feature-penalty': '3:0.7,8:0.05', 'interactions': '1-5;3-60', 'min-docs': 2, 'leaves': 24,
                      'sample-queries': 0.8, 'seed': 12345678901234567890, 'trees': 5}),
    ('noise-levels', {'gain-noise': 3.0, 'sample-features-node': 0.5, 'grow': 'levels', 'depth': 4,
                      'objective': 'regression', 'min-gain': 0.01}),
    ('noise-fades', {'gain-noise': 4.0, 'rate': 1.0, 'trees': 10, 'min-docs': 2}),
    ('noise-categories', {'gain-noise': 2.0, 'categorical': '60-63', 'min-docs': 2, 'split': 'newton', 'leaves': 24,
                          'feature-penalty': '61:0.3', 'sample-docs': 0.8}),
    ('sample-docs', {'sample-docs': 0.5, 'trees': 5, 'seed': 12345678901234567890}),
    ('sample-docs-newton', {'sample-docs': 0.3, 'sample-queries': 0.6, 'split': 'newton',
                            'weights': 'doc', 'min-docs': 2}),
    ('sample-docs-one', {'sample-docs': 1e-9, 'min-docs': 1, 'trees': 2}),
    ('sample-docs-regression', {'sample-docs': 0.1, 'objective': 'regression', 'outliers': True,
                                'trees': 6, 'seed': 12}),
    ('sample-docs-listnet', {'sample-docs': 0.7, 'objective': 'listnet', 'rate': 0.5}),
]


def run_case(dump, engine, name, changes, seed):
    opt = dict(DEFAULTS, **changes)
    rng = random.Random('%s %d' % (name, seed))
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'data.txt')
        outliers, start = opt.pop('outliers', False), opt.pop('start', 0.0)
        make_data(rng, path, 25, 28, outliers, opt['categorical'])
        data = Data(path, opt['absent'] == 'missing', categories.features(opt['categorical']), opt['bins'])
        weights = [1.0] * data.n
        kind = opt.pop('weights', None)
        args = [dump, engine, path] + ['%s=%s' % item for item in opt.items()]
        if kind:
            given = [rng.choice([0.0, 0.5, 1.0, 2.75, 10.0])
                     for _ in range(data.n if kind == 'doc' else len(data.query))]
            weights = given if kind == 'doc' else [given[q] for q, docs in enumerate(data.query)
                                                   for _ in docs]
            weight_path = os.path.join(folder, 'weights.txt')
            with open(weight_path, 'w') as out:
                out.write(''.join('%r\n' % w for w in given))
            args.append(('weights=' if kind == 'doc' else 'query-weights=') + weight_path)
        score = [rng.choice([0.0, rng.uniform(-start, start)]) if start else 0.0 for _ in weights]
        if start:
            args.append('start-scores=' + os.path.join(folder, 'start.txt'))
            with open(os.path.join(folder, 'start.txt'), 'w') as out:
                out.write(''.join('%r\n' % s for s in score))
        data.labels, data.label_weights = [data.label], [1.0]
        if 'label-weights' in opt:
            data.label_weights = [float(w) for w in opt['label-weights'].split(',')]
            empty = {d for q, docs in enumerate(data.query) if q % 5 == 2 for d in docs}
            data.labels += [[0.0 if d in empty else rng.choice([0.0, 0.0, 0.5, 1.0, 3.0])
                             for d in range(data.n)] for _ in data.label_weights[1:]]
            args.append('labels=' + os.path.join(folder, 'labels.txt'))
            with open(os.path.join(folder, 'labels.txt'), 'w') as out:
                out.write(''.join(' '.join(map(repr, more)) + '\n' for more in zip(*data.labels[1:])))
        text = subprocess.run(args, stdout=subprocess.PIPE, check=True).stdout.decode()
    n, n_different = [0] * 5, [0, 0]
    for line in text.splitlines():
        out = json.loads(line)

        def fail(message):
            failures.append('tree %d: %s' % (out['tree'], message))
        if out['scores'] != score:
            fail('scores differ')
        check_sample(opt, data, out, fail)
        if opt['objective'] == 'lambdarank':
            strict, exponents = check_gradients(opt, data, weights, out, fail)
            n[0] += strict
            n[1] += 2 * sum(out['sampled'])
        else:
            exponents, different = check_residuals(opt, data, weights, out, fail)
            n_different = [n + d for n, d in zip(n_different, different)]
        shifts = [check_quantised(opt, out, fail, 'lambda', 0), 0]
        if opt['split'] == 'newton':
            shifts[1] = check_quantised(opt, out, fail, 'hess', 1)
        for k, v in enumerate(check_tree(opt, data, out, shifts, exponents, fail)):
            n[2 + k] += v
        score = [s + walk(data, out, d) for d, s in enumerate(score)]
    if outliers and not all(n_different[:1 + (opt['objective'] == 'custom')]):
        failures.append('the outliers are in every sample')
    if n[4] < 0.95 * n[3]:
        failures.append('only %d of %d leaves are equal as floats' % (n[4], n[3]))
    return n, failures


def main():
    args = sys.argv[1:]
    option = {'--seed': '1', '--filter': '', '--engine': ''}
    while len(args) > 2 and args[-2] in option:
        option[args[-2]] = args[-1]
        args = args[:-2]
    if len(args) != 1:
        given.end('usage: oracle.py DUMP [--seed N] [--filter TEXT] [--engine NAME]')
    dump = given.program(args[0])
    assert philox([0] * 4, 0, 0) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
    print('seed', option['--seed'])
    passed = failed = 0
    for k, (name, changes) in enumerate(CASES):
        if option['--filter'] not in name:
            continue
        for engine in [option['--engine']] if option['--engine'] else (['cpu', 'ref'] if k < 4
                                                                      else ['cpu']):
            n, failures = run_case(dump, engine, name, changes, int(option['--seed']))
            passed, failed = passed + (not failures), failed + bool(failures)
            print('%s %s/%s: %d splits, %d of %d leaves equal as floats, %d of %d lambdas and '
                  'weights within 1e-5 without a floor' %
                  ('not ok' if failures else 'ok', name, engine, n[2], n[4], n[3], n[0], n[1]))
            for text in failures[:5]:
                print('  ' + text)
    print('%d passed, %d failed, 0 skipped' % (passed, failed))
    sys.exit(failed > 0)


if __name__ == '__main__':
    main()
