"""RankLib's and QuickRank's metrics by their rules, written apart from Rankwood's code: these two are in
no package index. Ties keep the input's order; a query without a relevant document counts 0.
Standard library only."""
import math

RANKLIB_ERR_MOST = 16


def ranked(labels, scores):
    return [l for _, _, l in sorted((-s, i, l) for i, (s, l) in enumerate(zip(scores, labels)))]


def dcg(labels, at):
    return sum((2 ** l - 1) / math.log2(i + 2) for i, l in enumerate(labels[:at or None]))


def ndcg(labels, at):
    ideal = dcg(sorted(labels, reverse=True), at)
    return dcg(labels, at) / ideal if ideal > 0 else 0.0


def average_precision(labels, at):
    """Over the relevant documents that are found: without a cut-off, all of them."""
    hits, total = 0, 0.0
    for i, label in enumerate(labels[:at or None]):
        if label > 0:
            hits += 1
            total += hits / (i + 1)
    return total / hits if hits else 0.0


def reciprocal_rank(labels, at):
    return next((1 / (i + 1) for i, l in enumerate(labels[:at or None]) if l > 0), 0.0)


def precision(labels, at):
    top = labels[:at]
    return sum(l > 0 for l in top) / len(top)


def err(labels, at):
    total, arrives = 0.0, 1.0
    for i, label in enumerate(labels[:at or None]):
        stops = (2 ** label - 1) / RANKLIB_ERR_MOST
        total += arrives * stops / (i + 1)
        arrives *= 1 - stops
    return total


def measure(queries):
    lists = [ranked(labels, scores) for labels, scores, _ in queries]
    most = max(l for labels in lists for l in labels)

    def mean(metric, at):
        return sum(metric(labels, at) for labels in lists) / len(lists)

    ranklib, quickrank = {"map": mean(average_precision, 0)}, {}
    for at in (1, 3, 10):
        ranklib[f"mrr@{at}"], ranklib[f"p@{at}"] = mean(reciprocal_rank, at), mean(precision, at)
        if most <= 4:
            ranklib[f"err@{at}"] = mean(err, at)
        quickrank[f"map@{at}"] = mean(average_precision, at)
        if most <= 31:
            for metric, value in ((f"ndcg@{at}", mean(ndcg, at)), (f"dcg@{at}", mean(dcg, at))):
                ranklib[metric] = quickrank[metric] = value
    return {"ranklib": ranklib, "quickrank": quickrank}
