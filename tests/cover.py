#!/usr/bin/env python3
"""Prints a covering array of the rows of tests/configurations.sh. A greedy search chooses few rows that together
contain every data set and every option. They also contain every value of options with a fixed set of values, and every
pair of kinds of options that occurs.

    python3 tests/cover.py <configurations     prints the chosen rows, in their order
"""
import itertools
import re
import sys

# Other options are of no kind: numbers that any training may have.
KINDS = {
    'sampling': 'bags bag-queries sample-queries sample-docs sample-features sample-features-node gain-noise',
    'constraints': 'monotone interactions feature-penalty depth min-gain',
    'categories': 'categorical category-smoothing category-penalty',
    'side columns': 'query-weights labels label-weights start-scores valid-start-scores positions valid-query-weights',
    'objective': 'objective delta permutations decay pairs norm truncation sigma label-gain debias position-l2 relevant',
    'width': 'bins bits rounding',
    'regularisation': 'min-hessian split-l2 l2',
    'stopping': 'early-stop early-stop-delta early-stop-rule rate',
    'columns': 'features ignore',
    'earlier model': 'init refit refit-decay',
}
KIND_OF = {'--' + option: kind for kind, options in KINDS.items() for option in options.split()}


def covered(row):
    _, data, _, options = row.split('|')
    found, kinds = {data.strip()}, set()
    options = options.split()
    for option, value in zip(options[::2], options[1::2]):
        by_value = option in ('--bins', '--bits') or re.fullmatch(r'[a-z]+', value)
        found.add((option, value) if by_value else (option,))
        if option in ('--split', '--absent', '--grow'):
            kinds.add((option, value))
        elif option in KIND_OF:
            kinds.add((KIND_OF[option],))
    found.update(itertools.combinations(sorted(kinds), 2))
    return found


def main():
    rows = sys.stdin.read().splitlines()
    covers = [covered(row) for row in rows]
    left, chosen = set().union(*covers), set()
    while left:
        best = max(range(len(rows)), key=lambda i: (len(covers[i] & left), -i))
        chosen.add(best)
        left -= covers[best]
    print('\n'.join(rows[i] for i in sorted(chosen)))


if __name__ == '__main__':
    main()
