"""Data and documents for comparing models across programs: LETOR text, and documents at, just below and just above
every threshold. Standard library only."""
import json
import math
import random
import re
import struct

NAN = float("nan")


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def next_float(x, step):
    """The float `step` (1, -1) above a float."""
    if x == 0:
        return step * 1.401298464324817e-45
    bits = struct.unpack("i", struct.pack("f", x))[0]
    return struct.unpack("f", struct.pack("i", bits + (step if x > 0 else -step)))[0]


def make_docs(n_queries, n_features, seed, absent=0.0, missing=0.0):
    """[(query, label, {feature from 1: value})]; features of few values, of tiny ones, of large ones."""
    rng = random.Random(seed)
    docs = []
    for query in range(n_queries):
        for _ in range(rng.randint(5, 30)):
            doc = {}
            for f in range(1, n_features + 1):
                if rng.random() < absent:
                    continue
                value = rng.gauss(0, 1)
                value = (round(value) if f % 5 == 0 else value * 1e-3 if f % 5 == 1
                         else value * 1e5 if f % 5 == 2 else value)
                doc[f] = NAN if rng.random() < missing else f32(value)
            known = [doc.get(f, 0.0) for f in (3, 4, 5)]
            relevance = sum(0.0 if math.isnan(v) else v for v in known) + rng.gauss(0, 0.5)
            docs.append((query, min(4, max(0, round(relevance + 1))), doc))
    return docs


def with_categories(docs, seed, n, step=97):
    """Features 11 and 12 are whole numbers below n, the latter times `step`, that say more than the others; missing
    and absent ones stay."""
    rng = random.Random(seed)
    out = []
    for query, label, doc in docs:
        doc = dict(doc)
        for f in (11, 12):
            if f in doc and not math.isnan(doc[f]):
                doc[f] = rng.randrange(n) * (1 if f == 11 else step)
        hidden = sum(2.0 * (doc.get(f, 0.0) * 17 % 5 > 2) for f in (11, 12) if not math.isnan(doc.get(f, 0.0)))
        out.append((query, min(4, int(label / 2 + hidden)), doc))
    return out


def write_docs(path, docs):
    with open(path, "w", encoding="ascii") as out:
        for query, label, doc in docs:
            values = "".join(f" {f}:{'nan' if math.isnan(v) else repr(v)}"
                             for f, v in sorted(doc.items()))
            out.write(f"{label} qid:{query + 1}{values}\n")


def cuts_of(model_path):
    """{feature: [thresholds]} of a Rankwood model file."""
    cuts = {}
    with open(model_path, encoding="utf-8") as file:
        for line in file:
            found = re.match(r"node \d+ feature (\d+) <= (\S+) ", line)
            if found:
                cuts.setdefault(int(found[1]), set()).add(f32(float(found[2])))
    return {f: sorted(c) for f, c in cuts.items()}


def leaves_of(model_path):
    """[tree][leaf] values of a Rankwood model file."""
    trees = []
    with open(model_path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("tree "):
                trees.append([])
            elif line.startswith("leaf "):
                trees[-1].append(f32(float(line.split()[2])))
    return trees


def boundary_docs(cuts, n_features, n, seed, absent=0.1, missing=0.1):
    """Documents whose values are mostly thresholds or floats next to them."""
    rng = random.Random(seed)
    odd = [0.0, 1e-45, -1e-45, 1e-35, -1e-35, 3.4028234663852886e38, -3.4028234663852886e38]
    docs = []
    for i in range(n):
        doc = {}
        for f in range(1, n_features + 1):
            draw = rng.random()
            if draw < absent:
                continue
            if draw < absent + missing:
                doc[f] = NAN
            elif draw > 0.95:
                doc[f] = f32(rng.choice(odd))
            elif f in cuts and draw > 0.3:
                cut = rng.choice(cuts[f])
                step = rng.choice((-1, 0, 0, 1))
                doc[f] = next_float(cut, step) if step else cut
            else:
                doc[f] = f32(rng.gauss(0, 1) * rng.choice((1e-3, 1, 1e5)))
            if math.isinf(doc[f]):
                doc[f] = 0.0
        docs.append((10000000 + i // 10, 0, doc))
    return docs


BY_SET = ("opensearch", "elasticsearch", "elasticsearch-ml")  # that are exported with a feature set


def write_set(path, features):
    """As GET _ltr/_featureset/NAME gives it."""
    query = {"match": {"title": "{{words}}"}}
    body = {"name": "the", "features": [{"name": f"the {f}", "params": ["words"], "template": query} for f in features]}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"_id": "featureset-the", "found": True, "_source": {"name": "the", "featureset": body}}, file)
