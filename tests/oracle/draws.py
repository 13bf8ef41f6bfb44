"""Random draws for oracle.py: samples, and the rounding of lambdas to integers."""

from philox import draw


def sample(opt, share, numbers, tree, stream, words=1, key=0):
    """Which items are kept: those below the threshold, or the lowest one. numbers: the items, drawn with as many words
    of a draw at a time."""
    threshold = int(share * 2 ** 32 + 0.5)
    drawn = [draw(opt['seed'], number // words + (key << 32), tree, stream, number % words)
             for number in numbers]
    kept = [r < threshold for r in drawn]
    if kept and not any(kept):
        kept[drawn.index(min(drawn))] = True
    return kept


def check_quantised(opt, out, fail, what, stream):
    """Returns the shift."""
    values, sampled = out[what], out['sampled']
    most = 2 ** (opt['bits'] - 1) - 2
    largest = max(abs(v) for v, s in zip(values, sampled) if s)
    shift = 0
    while largest >> shift > most:
        shift += 1
    for d, v in enumerate(values):
        if not sampled[d]:
            continue
        if shift == 0:
            r = 0
        elif opt['rounding'] == 'nearest':
            r = 1 << (shift - 1)
        else:
            r = draw(opt['seed'], d, out['tree'], stream)
            r = r << (shift - 32) if shift > 32 else r % (1 << shift)
        if (v + r) >> shift != out[what + '_q'][d]:
            fail('quantised %s of document %d: %d, expected %d' %
                 (what, d, out[what + '_q'][d], (v + r) >> shift))
    return shift


def check_sample(opt, data, out, fail):
    kept = sample(opt, opt['sample-queries'], range(len(data.query)), out['tree'], 2)
    docs = [d for q, of_query in enumerate(data.query) if kept[q] for d in of_query]
    some = sample(opt, opt['sample-docs'], docs, out['tree'], 12, 4)
    expected = {d for d, keep in zip(docs, some) if keep}
    for d in range(data.n):
        if bool(out['sampled'][d]) != (d in expected):
            fail('sample: document %d' % d)
