"""LambdaRank's lambdas of a query, straight from Burges 2010, with the normalisation."""

import math


def query_lambdas(opt, gain, score, weight):
    """Lambdas, weights and the floors of their comparison, of one query."""
    n = len(gain)
    zero = [0.0] * n
    top = opt['truncation'] or n
    discount = [1 / math.log2(2 + r) for r in range(n)]
    ideal = sum(g * d for g, d in zip(sorted(gain, reverse=True)[:top], discount))
    if ideal == 0:
        return zero, zero, zero, zero
    order = sorted(range(n), key=lambda i: (-score[i], i))
    spread = score[order[0]] != score[order[-1]]
    sigma, norm = opt['sigma'], opt['norm'] == 'on'
    lam, w, size_lam, size_w = zero[:], zero[:], zero[:], zero[:]
    n_pairs, total = [0] * n, 0.0
    for r in range(min(top, n)):
        for t in range(r + 1, n):
            i, j = order[r], order[t]
            if gain[i] == gain[j]:
                continue
            if gain[i] < gain[j]:
                i, j = j, i
            delta = (gain[i] - gain[j]) * (discount[r] - discount[t]) / ideal
            x = score[i] - score[j]
            if norm and spread:
                delta /= 0.01 + abs(x)
            rho = 1 / (1 + math.exp(sigma * x))
            contribution = sigma * rho * delta
            curvature = sigma * sigma * rho * (1 - rho) * delta
            lam[i] += contribution
            lam[j] -= contribution
            total += contribution
            for k in (i, j):
                w[k] += curvature
                size_lam[k] += contribution
                size_w[k] += curvature
                n_pairs[k] += 1
    s = 2 * total
    factor = math.log2(1 + s) / s if norm and s > 0 else 1.0
    unit = 2.0 ** -41
    for k in range(n):
        by = factor * weight[k]
        floor = (n_pairs[k] * by + 1) * unit
        size_lam[k] = floor + 2e-6 * by * size_lam[k]
        size_w[k] = floor
        lam[k] *= by
        w[k] *= by
    return lam, w, size_lam, size_w
