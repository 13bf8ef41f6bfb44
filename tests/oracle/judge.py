"""Checks `rankwood judge` on simulated users: against plain EM, written from the papers without the library, and
against the true propensities.

    python3 tests/oracle/judge.py PROGRAM

pbm: the position-based model (Craswell and others, 2008); dbn: the cascade of Chapelle and Zhang (2009), its
E-step by summing over all hidden states of a session, while the library uses a recursion.
"""

import csv
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

SHOWN = 6
PRIOR = 1.0  # the default of --prior


def log_of(user, n_queries, n_sessions, seed, eta=1.0):
    """(rows, {position: share of impressions that were examined}): the displayed order varies by session."""
    chance = random.Random(seed)
    rows, examined = [], [[0, 0] for _ in range(SHOWN)]
    for q in range(n_queries):
        attraction = [chance.choice([0.05, 0.1, 0.3, 0.6]) for _ in range(SHOWN + 2)]
        satisfaction = [chance.choice([0.2, 0.5, 0.8]) for _ in range(SHOWN + 2)]
        for s in range(n_sessions):
            order = sorted(range(SHOWN + 2), key=lambda d: -attraction[d] + chance.gauss(0, 0.3))[:SHOWN]
            reads = True
            for k, d in enumerate(order):
                sees = reads if user == "dbn" else chance.random() < 1 / (k + 1) ** eta
                click = sees and chance.random() < attraction[d]
                examined[k][0] += sees
                examined[k][1] += 1
                if user == "dbn" and sees:
                    stops = click and chance.random() < satisfaction[d]
                    reads = not stops and chance.random() < 0.85
                rows.append((f"q{q}s{s}", f"q{q}", f"d{d}", k + 1, int(click)))
    return rows, {k + 1: a / b for k, (a, b) in enumerate(examined)}


def write(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write("session\tquery\tdocument\tposition\tclick\n")
        file.writelines("\t".join(map(str, row)) + "\n" for row in rows)


def judge(program, folder, rows, *options):
    """(result, [row of the labels], propensities file)"""
    write(f"{folder}/log.tsv", rows)
    result = subprocess.run(
        [program, "judge", f"{folder}/log.tsv", *options, "--json", "-o", f"{folder}/labels.tsv",
         "--propensities", f"{folder}/p.txt"],
        capture_output=True, text=True, check=True)
    with open(f"{folder}/labels.tsv", encoding="utf-8") as file:
        labels = list(csv.DictReader(file, delimiter="\t"))
    with open(f"{folder}/p.txt", encoding="utf-8") as file:
        return json.loads(result.stdout), labels, file.read()


def pbm(rows, passes):
    """({position: theta}, {pair: rate}) by EM: expected clicks, then a ratio."""
    theta = {k: 1.0 for k in range(1, SHOWN + 1)}
    pairs = {}
    for _, q, d, k, c in rows:
        cell = pairs.setdefault((q, d), {}).setdefault(k, [0, 0])
        cell[0] += 1
        cell[1] += c
    for _ in range(passes):
        rate = {p: sum(c for _, c in cells.values()) / sum(n * theta[k] for k, (n, _) in cells.items())
                for p, cells in pairs.items()}
        clicks, expected = dict.fromkeys(theta, 0.0), dict.fromkeys(theta, 0.0)
        for p, cells in pairs.items():
            for k, (n, c) in cells.items():
                clicks[k] += c
                expected[k] += n * rate[p]
        theta = {k: clicks[k] / expected[k] for k in theta}
        theta = {k: t / theta[1] for k, t in theta.items()}
    return theta, rates(rows, {p: sum(n * theta[k] for k, (n, _) in cells.items()) for p, cells in pairs.items()},
                        {k: theta[k] * sum(cells.get(k, (0,))[0] for cells in pairs.values()) for k in theta})


def rates(rows, seen, at):
    """{pair: rate}. seen, at: examined impressions of a pair, and of a position. The prior has the mean over all
    impressions of the rates of their positions."""
    clicks, clicks_at = dict.fromkeys(seen, 0), dict.fromkeys(at, 0)
    for _, q, d, k, c in rows:
        clicks[q, d] += c
        clicks_at[k] += c
    mean = sum(clicks_at[k] / at[k] for _, _, _, k, _ in rows) / len(rows)
    return {p: min(1.0, (clicks[p] + PRIOR * mean) / (seen[p] + PRIOR)) for p in seen}


def states(session, a, s, g):
    """[(probability, rows examined, satisfied, continued, could continue)] of all hidden states of a session that
    yield its clicks. `read` rows are examined; the last of them may end by satisfaction or by leaving."""
    n = len(session)
    last = max((i for i, (_, _, c) in enumerate(session) if c), default=-1)
    for read in range(max(last + 1, 1), n + 1):
        p, onwards = 1.0, 0
        for i in range(read):
            pair, _, c = session[i]
            p *= a[pair] if c else 1 - a[pair]
            if i + 1 < read:
                p *= g * (1 - s[pair] if c else 1.0)
                onwards += 1
        pair, _, c = session[read - 1]
        if c:
            yield p * s[pair], read, pair, onwards, onwards
        if read < n:
            yield p * (1 - s[pair] if c else 1.0) * (1 - g), read, None, onwards, onwards + 1
        else:
            yield p * (1 - s[pair] if c else 1.0), read, None, onwards, onwards


def dbn(rows, passes, own):
    """({position: share examined, relative to the first}, g, {pair: rate}). own: the rate is that of satisfied clicks,
    and each document has its own probability to satisfy, with the prior."""
    sessions = [[((q, d), k, c) for _, q, d, k, c in group]
                for _, group in itertools.groupby(rows, key=lambda row: row[0])]
    n, clicks = {}, {}
    for session in sessions:
        for pair, _, c in session:
            n[pair] = n.get(pair, 0) + 1
            clicks[pair] = clicks.get(pair, 0) + c
    a, s, g = {p: (clicks[p] + 1) / (n[p] + 2) for p in n}, dict.fromkeys(n, 0.5), 0.5
    for _ in range(passes):
        examined, satisfied = dict.fromkeys(n, 0.0), dict.fromkeys(n, 0.0)
        at = dict.fromkeys(range(1, SHOWN + 1), 0.0)
        went, could = 0.0, 0.0
        for session in sessions:
            found = list(states(session, a, s, g))
            total = sum(state[0] for state in found)
            for p, read, pleased, onwards, chances in found:
                for pair, k, _ in session[:read]:
                    examined[pair] += p / total
                    at[k] += p / total
                if pleased:
                    satisfied[pleased] += p / total
                went += onwards * p / total
                could += chances * p / total
        a = {p: clicks[p] / examined[p] for p in n}
        mean_s = sum(satisfied.values()) / sum(clicks.values())
        s = {p: (satisfied[p] + PRIOR * mean_s) / (clicks[p] + PRIOR) if own else mean_s for p in n}
        g = went / could
    rate = rates(rows, examined, at)
    if own:
        rate = {p: rate[p] * s[p] for p in n}
    return {k: v / at[1] for k, v in at.items()}, g, rate


def fail(text):
    sys.exit(f"judge.py: {text}")


def close(what, ours, reference, tolerance):
    if not abs(ours - reference) <= tolerance:
        fail(f"{what}: {ours} differs from {reference} by more than {tolerance}")


def check_pbm(program, folder):
    rows, _ = log_of("pbm", 30, 40, 1)
    result, labels, _ = judge(program, folder, rows, "--min-impressions", "1")
    theta, rate = pbm(rows, 3000)
    for row in result["positions"]:
        close(f"pbm: position {row['position']}", row["propensity"], theta[row["position"]], 1e-8)
    for row in labels:
        close(f"pbm: {row['query']} {row['document']}", float(row["rate"]),
              rate[row["query"], row["document"]], 1e-8)


def check_dbn(program, folder):
    rows, _ = log_of("dbn", 12, 25, 2)
    for own in False, True:
        check_dbn_rates(program, folder, rows, own)


def check_dbn_rates(program, folder, rows, own):
    result, labels, _ = judge(program, folder, rows, "--model", "dbn", "--min-impressions", "1",
                              *(["--satisfaction"] if own else []))
    share, g, rate = dbn(rows, 400, own)
    close("dbn: continuation", result["continuation"], g, 1e-4)
    for row in result["positions"]:
        close(f"dbn: position {row['position']}", row["propensity"], share[row["position"]], 1e-4)
    for row in labels:
        close(f"dbn: {row['query']} {row['document']}", float(row["rate"]),
              rate[row["query"], row["document"]], 1e-3)


def check_recovery(program, folder):
    """Propensities within 10 % of the truth, and 95 % intervals that cover it in at least 85 % of the cases."""
    covered, n = 0, 0
    for seed in range(6):
        for user, sessions in ("pbm", 150), ("dbn", 40):
            rows, true = log_of(user, 100, sessions, 100 + seed)
            result, _, _ = judge(program, folder, rows, "--model", user)
            for row in result["positions"][1:]:
                expected = 1 / row["position"] if user == "pbm" else true[row["position"]] / true[1]
                if abs(row["propensity"] / expected - 1) > 0.1:
                    fail(f"{user}, seed {seed}, position {row['position']}: {row['propensity']:.4f} for {expected:.4f}")
                if user == "pbm":
                    covered += row["low"] <= expected <= row["high"]
                    n += 1
    if covered < 0.85 * n:
        fail(f"{covered} of {n} intervals contain the true propensity")
    return f"{covered} of {n} intervals contain the true propensity"


def check_threads(program, folder):
    rows, _ = log_of("dbn", 60, 20, 5)
    shuffled = rows[:]
    random.Random(1).shuffle(shuffled)
    found = [judge(program, folder, log, "--model", model, "--threads", threads)
             for model in ("pbm", "dbn") for log in (rows, shuffled) for threads in ("1", "3")]
    if any(one != found[0] for one in found[:2]) or any(one != found[4] for one in found[4:6]):
        fail("the number of threads changes the result")


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        check_pbm(program, folder)
        check_dbn(program, folder)
        print(check_recovery(program, folder))
        check_threads(program, folder)


if __name__ == "__main__":
    main()
