"""The features that may split a node, and their costs, for oracle.py."""

from draws import sample
from philox import draw


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
