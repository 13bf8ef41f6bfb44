"""Real gradients and hessians of a query, straight from the formulas of the losses.

A function a loss: (options, labels, scores, weights, drawn) -> (gradients, hessians), without the
weights that multiply them; drawn(k, stream) is the first random word of the query's document k."""

import math


def of_regression(opt, label, score, weight, drawn):
    return [y - s for y, s in zip(label, score)], [1.0] * len(label)


def of_custom(opt, label, score, weight, drawn):                      # as in dump.c
    return [3.0 * (y - s) for y, s in zip(label, score)], [1.0 + y * y for y in label]


def of_queryrmse(opt, label, score, weight, drawn):
    """Squared error around the query's weighted mean."""
    lacks = [y - s for y, s in zip(label, score)]
    mean = sum(w * x for w, x in zip(weight, lacks)) / sum(weight) if sum(weight) else 0.0
    return [x - mean for x in lacks], [1.0] * len(label)


def of_target(target, score):
    """Cross entropy of the softmax of scores with a target."""
    power = [math.exp(s - max(score)) for s in score]
    p = [x / sum(power) for x in power]
    return [t / sum(target) - q for t, q in zip(target, p)], [q * (1 - q) for q in p]


def gains_of(opt, label):
    return [2 ** y - 1 if opt['gain'] == 'exp' else y for y in label]


def of_listnet(opt, label, score, weight, drawn):
    if len(set(label)) == 1:
        return [0.0] * len(label), [0.0] * len(label)
    return of_target(gains_of(opt, label), score)


def of_xendcg(opt, label, score, weight, drawn):
    """Bruch 2020: 2^label - gamma."""
    if len(set(label)) == 1:
        return [0.0] * len(label), [0.0] * len(label)
    gamma = [(drawn(k, 6) + 0.5) / 2 ** 32 for k in range(len(label))]
    return of_target([g + 1 - u for g, u in zip(gains_of(opt, label), gamma)], score)


def of_logistic(opt, label, score, weight, drawn):
    p = [1 / (1 + math.exp(-s)) for s in score]
    return [(y >= opt['relevant']) - q for y, q in zip(label, p)], [q * (1 - q) for q in p]


# Gradients with exp and sums, whose last bits depend on the implementation: tolerance relative to the largest gradient.
REAL = {'regression': (of_regression, 0.0), 'custom': (of_custom, 0.0),
        'queryrmse': (of_queryrmse, 1e-12), 'listnet': (of_listnet, 1e-12),
        'xendcg': (of_xendcg, 1e-12), 'logistic': (of_logistic, 1e-12)}
