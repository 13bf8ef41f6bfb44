#!/usr/bin/env python3
"""Turns the log of `meson test` (meson-logs/testlog.json) into one line per test: 'ok NAME', 'not ok NAME: how' or
'skip NAME: why'. TAP tests give a line per subtest.

    python3 count.py BUILD PREFIX
"""
import json
import re
import sys

import given


def last_line(record):
    text = (record.get('stdout') or '') + (record.get('stderr') or '')
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else 'it does not say why'


def subtests(record):
    """(ok, name, skip reason or None) of each TAP line; none if the test does not speak TAP."""
    out = record.get('stdout') or ''
    if not re.search(r'^(TAP version|1\.\.\d)', out, re.M):
        return
    for line in out.splitlines():
        found = re.match(r'(not )?ok\b\s*\d*\s*-?\s*(.*)', line)
        if found:
            rest = re.sub(r'\s*\(\d+\.\d+s\)', '', found.group(2)).strip()
            name, _, note = rest.partition('#')
            skip = re.match(r'\s*SKIP\S*\s*(.*)', note, re.I)
            yield not found.group(1), name.strip(), (skip.group(1) or 'no reason') if skip else None


def main():
    if len(sys.argv) != 3:
        given.end('usage: count.py BUILD PREFIX')
    build, prefix = sys.argv[1:]
    n = 0
    with open(given.file(build + '/meson-logs/testlog.json'), encoding='utf-8', errors='replace') as log:
        for text in log:
            record = json.loads(text)
            name = prefix + ' ' + record['name'].split(' / ')[-1]
            result = record['result']
            n += 1
            failures = 0
            children = list(subtests(record))
            for ok, child, skip in children:
                if skip is not None:
                    print(f'skip {name}: {child}: {skip}')
                elif ok:
                    print(f'ok {name}: {child}')
                else:
                    print(f'not ok {name}: {child}')
                    failures += 1
            if result in ('OK', 'EXPECTEDFAIL'):
                if not children:
                    print('ok ' + name)
            elif result == 'SKIP':
                if not children:
                    print(f'skip {name}: {last_line(record)}')
            elif not failures:
                # A crash, a timeout or a bad exit status that no subtest reports.
                print(f'not ok {name}: {result}: {last_line(record)}')
    if n == 0:
        print(f'not ok {prefix}: no test ran')


main()
