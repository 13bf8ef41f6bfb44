"""The features that may split a node, their costs and their noise, for oracle.py."""

import math

from draws import sample
from philox import draw, draw4


def items(text, separator=','):
    return [item for item in text.split(separator) if item]


def groups(opt):
    """Sets of features that may be used together."""
    def ids(item):
        first, _, last = item.partition('-')
        return range(int(first), int(last or first) + 1)
    return [{f for item in items(group) for f in ids(item)}
            for group in items(opt['interactions'], ';')]


def penalties(opt):
    pairs = (item.split(':') for item in items(opt['feature-penalty']))
    return {int(feature): float(cost) for feature, cost in pairs}


def may_follow(sets, path, feature):
    """Is there a group with all of them? A feature without a group is used alone."""
    used = set(path) | {feature}
    return not sets or len(used) == 1 or any(used <= group for group in sets)


def key_of(opt, tree, sides):
    """A node's, from the sides taken on the way from the root."""
    key = 0
    for side in sides:
        key = draw(opt['seed'], key + (side << 32), tree, 13)
    return key


def features_of(opt, tree, features, path, sides):
    """Those of the tree's that a node may be split by."""
    allowed = [f for f in features if may_follow(groups(opt), path, f)]
    key = key_of(opt, tree, sides)
    kept = sample(opt, opt['sample-features-node'], allowed, tree, 14, 4, key)
    return [f for f, keep in zip(allowed, kept) if keep]


def deviation_of(opt, n_docs, random_gain, tree, rate):
    """The standard deviation of a tree's noise, which fades by e with each sum of rates of 1."""
    left = n_docs / math.exp(rate * tree)
    return opt['gain-noise'] * math.sqrt(random_gain) * left / (1 + left)


def noise_of(opt, tree, feature, sides, deviation):
    """A feature's at a node: the sum of eight uniform numbers of 0 to 65,535, as a multiple of the sum's standard
    deviation. The least possible sum counts as 1."""
    words = draw4(opt['seed'], feature + (key_of(opt, tree, sides) << 32), tree, 1025)
    halves = [half for word in words for half in divmod(word, 2 ** 16)]
    return deviation * (1 + sum(halves)) / math.sqrt(8 * 2 ** 32 / 12)
