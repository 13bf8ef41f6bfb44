"""Features along which scores only rise or only fall, for oracle.py."""

import math


def directions(opt):
    """1 or -1 by feature."""
    pairs = (item.split(':') for item in opt['monotone'].split(',') if item)
    return {int(feature): int(sign + '1') for feature, sign in pairs}


def keeps_order(way, left, right):
    """A feature with a direction splits only where the sides' own values have it."""
    return way == 0 or (left <= right if way > 0 else left >= right)


def bounds_of(opt, nodes, splits, value):
    """The lowest and the highest value of each node's leaves: halfway between the children's values
    where a feature with a direction splits."""
    bounds, way = {0: (-math.inf, math.inf)}, directions(opt)
    for i in splits:
        low, high = bounds[i]
        sides = [bounds[i], bounds[i]]
        sign = way.get(nodes[i].split[1], 0)
        if sign:
            l, r = (min(max(value(c), low), high) for c in nodes[i].child)
            middle = l / 2 + r / 2
            sides = [(low, middle), (middle, high)][::sign]
        bounds.update(zip(nodes[i].child, sides))
    return bounds
