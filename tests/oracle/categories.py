"""Features whose values are categories, for oracle.py: docs/explanation/categories.md, step by step."""

import collections
import math


def features(text):
    """Ids of a list of ids and ranges."""
    found = []
    for item in filter(None, text.split(',')):
        first, _, last = item.partition('-')
        found += range(int(first), int(last or first) + 1)
    return found


def put_values(rng, label, put):
    """A column of few categories, one that is often absent, and one of more than 255."""
    put(61, 'NaN' if rng.random() < 0.1 else rng.choice([0, 7, 10, 2147483647 - label, label, 123456789]))
    put(62, None if rng.random() < 0.4 else rng.choice([0, 3, 20 + label]))
    put(63, rng.randrange(200) if rng.random() < 0.5 else rng.randrange(200, 1000) + label)


def codes(path, feature, absent_is_missing, bins):
    """Each document's code, None where missing, and how many codes there are."""
    words = []
    for line in open(path):
        values = dict(w.split(':') for w in line.split()[2:])
        word = values.get(str(feature), None if absent_is_missing else '0')
        words.append(None if word == 'NaN' else word)
    count = collections.Counter(w for w in words if w is not None)
    kept = sorted(sorted(count, key=lambda w: (-count[w], w.encode()))[:min(bins, 1023)])
    code = {word: k for k, word in enumerate(kept)}
    return [None if w is None else code.get(w, len(kept)) for w in words], len(kept) + 1


def can_split(column, enough):
    """At least two codes, and enough documents for two sides."""
    return len(set(column)) > 1 and len(column) >= 2 * enough


def candidates(by_code, prior, newton):
    """Sets of codes, in the order in which they are tried."""
    def order(code):
        n, hess, lam = by_code[code]
        under = float(hess if newton else n) + prior
        return float(lam) / under if under > 0 else 0.0
    yield ()
    for code in sorted(by_code):
        yield (code,)
    in_order = sorted(by_code, key=lambda code: (order(code), code))
    for n in range(2, len(in_order) - 1):
        yield tuple(in_order[:n])


def cost(bit_cost, n_seen, size):
    """Of a set of `size` of the n_seen categories that a node has."""
    share = 4 * size * (n_seen - size) / (n_seen * n_seen)
    bits = (n_seen - 2) * math.sqrt(share * math.sqrt(share))
    return bit_cost * bits if n_seen > 2 else 0.0


def best(search, docs, feature):
    """(gain, feature, codes that go left, missing_left), or None."""
    column, found = search.data.value[feature], None
    groups = {}
    for d in docs:
        groups.setdefault(column[d], []).append(d)
    missing = search.sums(groups.pop(None, []))
    whole = search.sums(docs)
    by_code = {code: search.sums(group) for code, group in groups.items()}
    for left_codes in candidates(by_code, search.prior, search.newton):
        for missing_left in ((1, 0) if missing[0] else (0,)):
            sides = [by_code[code] for code in left_codes] + [missing] * missing_left
            left = tuple(map(sum, zip((0, 0, 0), *sides)))
            right = tuple(a - b for a, b in zip(whole, left))
            if not left[0] or not right[0] or not search.allowed(left) or not search.allowed(right):
                continue
            gain = (search.side(left) + search.side(right) - search.side(whole)) * search.scale
            gain -= search.penalty.get(feature, 0.0) + cost(search.bit_cost, len(by_code), len(left_codes))
            if gain > search.opt['min-gain'] and (found is None or gain > found[0]):
                found = (gain, left_codes, missing_left, left[0] > right[0])
    if found is None:
        return None
    gain, left_codes, missing_left, larger_left = found
    n_codes = search.data.n_codes[feature]
    unseen = [code for code in range(n_codes) if code not in by_code] if larger_left else []
    all_left = tuple(sorted(list(left_codes) + unseen))
    if not missing[0]:
        missing_left = int(n_codes - 1 in all_left)
    return gain, feature, all_left, missing_left
