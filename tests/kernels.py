#!/usr/bin/env python3
"""Reports whether the kernels have changed since they were last compiled. Compiling them is the slowest step of
tests/run.sh, which skips CUDA while tests/kernels.txt has the hash of their sources. The hash covers src/gpu with its
build file, the checks and unit tests that include its headers, and every header included by these. It ignores comments.

    python3 tests/kernels.py            exit 0: as recorded; 1: changed
    python3 tests/kernels.py --write    records the hash; `sh tests/run.sh --kernels` does so once all of them compile
                                        and the tests of that build pass
"""
import hashlib
import os
import re
import sys

from house import CODE, ROOT, without_comments

RECORD = os.path.join(ROOT, 'tests', 'kernels.txt')


def roots():
    for folder in ('src/gpu', 'tests/check', 'tests/unit'):
        for at, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                path = os.path.join(at, name)
                with open(path, errors='replace') as f:
                    if folder == 'src/gpu' or name.endswith('.cu') or re.search(r'^#include "(gpu/|cuda)', f.read(), re.M):
                        yield os.path.relpath(path, ROOT)


def closure():
    """The text without comments of every root and of all that they include, by name."""
    found, waiting = {}, [name for name in roots() if name.endswith((*CODE, 'meson.build'))]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        with open(os.path.join(ROOT, name), errors='replace') as f:
            text = f.read() if name.endswith('meson.build') else without_comments(f.read())
        found[name] = '\n'.join(line.rstrip() for line in text.split('\n') if line.strip())
        for target in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
            for path in (os.path.normpath(os.path.join(os.path.dirname(name), target)), 'src/' + target):
                if os.path.isfile(os.path.join(ROOT, path)):
                    waiting.append(path)
                    break
    return found


def main():
    texts = closure()
    digest = hashlib.sha256()
    for name in sorted(texts):
        digest.update(('%s\n%s\n' % (name, texts[name])).encode())
    now = digest.hexdigest()
    if sys.argv[1:] == ['--write']:
        with open(RECORD, 'w') as f:
            f.write('# The kernels that last compiled, and passed their tests without a GPU: tests/kernels.py\n%s\n' % now)
        return
    recorded = ''
    if os.path.exists(RECORD):
        with open(RECORD) as f:
            recorded = f.read().split('\n')[1]
    print('kernels: %d files, %s' % (len(texts), 'as recorded' if now == recorded else 'changed'))
    sys.exit(now != recorded)


if __name__ == '__main__':
    main()
