#!/usr/bin/env python3
"""Prints the size and the dependencies of src as a table: today's value, the required value and the goal.

    python3 tests/house.py [--rooms] [--bars]           counts files and lines; --bars: exit 1 if a bar is missed
    python3 tests/house.py --walk PROGRAM                also runs gdb on PROGRAM, a build of this tree with symbols and
                                                         without much inlining (-Doptimization=1)
    python3 tests/house.py --quick                       also times `sh tests/quick.sh FILE` for 12 files
    python3 tests/house.py --run FILE                    also reads the seconds of a tests/run.sh from its file 'times'
    python3 tests/house.py --bench OLD NEW [--packages OLD NEW]
                                                         also compares two programs, and two folders with the Python
                                                         package, in interleaved pairs

How each row is counted is written above the function that counts it.
"""
import argparse
import collections
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CODE = ('.c', '.h', '.cu', '.cuh', '.def')
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
PAIRS = 15


def without_comments(text):
    """The text with its lines, but without comments; strings and characters are left as they are."""
    def replace(m):
        return ' ' + '\n' * m.group().count('\n') if m.group()[0] == '/' else m.group()
    return COMMENT.sub(replace, text)


def read_tree():
    """All files under src, and the code of the files in C and CUDA."""
    listed = subprocess.run(['git', '-C', ROOT, 'ls-files', '--cached', '--others', '--exclude-standard', 'src'],
                            capture_output=True, text=True, check=True).stdout.split('\n')
    files = [f for f in listed if f and os.path.exists(os.path.join(ROOT, f))]
    code = {}
    for name in files:
        if name.endswith(CODE):
            with open(os.path.join(ROOT, name), errors='replace') as f:
                code[name] = without_comments(f.read())
    return files, code


def room_of(name):
    return '/'.join(name.split('/')[1:-1]) or '.'


# Lines that are neither blank nor comment, in files of C and CUDA and tables (.def).
def code_lines(code):
    rooms = collections.Counter()
    for name, text in code.items():
        rooms[room_of(name)] += sum(1 for line in text.split('\n') if line.strip())
    return rooms


# A header and the source of the same name in the same folder are one node, and an edge is an #include "...". A
# circle is a set of two or more nodes in which each reaches each other.
def circles(code):
    def node(name):
        return os.path.splitext(name)[0]
    edges = {node(name): set() for name in code}
    for name, text in code.items():
        for target in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
            for path in (os.path.normpath(os.path.join(os.path.dirname(name), target)), 'src/' + target):
                if path in code:
                    edges[node(name)].add(node(path))
                    break
    number, low, stack, found = {}, {}, [], []

    def visit(x):
        number[x] = low[x] = len(number)
        stack.append(x)
        for y in edges[x]:
            if y not in number:
                visit(y)
            if y in stack:
                low[x] = min(low[x], low[y])
        if low[x] == number[x]:
            at = stack.index(x)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]
    sys.setrecursionlimit(10000)
    for x in sorted(edges):
        if x not in number:
            visit(x)
    return found


# Declarations directly in a struct; `int a, b;` is one, as is a nested struct or union.
def largest_struct(code):
    best = (0, '', '')
    for name, text in code.items():
        if name.startswith('src/gpu/'):
            continue
        for m in re.finditer(r'\bstruct\s+(\w+)\s*\{', text):
            end, depth = m.end(), 1
            while depth and end < len(text):
                depth += {'{': 1, '}': -1}.get(text[end], 0)
                end += 1
            body = re.sub(r'^[ \t]*#(?:[^\n\\]|\\.|\\\n)*', '', text[m.end():end - 1], flags=re.M)
            for nested in (r'\([^()]*\)', r'\([^()]*\)', r'\{[^{}]*\}', r'\{[^{}]*\}'):
                body = re.sub(nested, '', body)
            best = max(best, (sum(1 for part in body.split(';') if part.strip()), m.group(1), name))
    return best


# Files whose code names a probe. Left out are the folders where such a thing acts by its nature, or that use the same
# word for something else, and what names it only because it is a parameter or an option, too.
PROBES = (
    ('a parameter', r'min_hessian', r'src/(gpu|tree/(host|cpu|ref|sim))/'),
    ('a stateful objective', r'debias', r'.*/(params\.def|aliases\.c|refit_params\.c)$'),
    ('a columnar source', r'\b(rw_arrow|arrow_|rw_batch)|batches', r'src/(gpu|tree|model)/'),
    ('a side column', r'start_scores', r'src/cli/|.*/params\.def$'),
)


def touched(code):
    for what, probe, without in PROBES:
        yield what, sorted(name for name, text in code.items()
                           if re.search(probe, text) and not re.match(without, name))


# Functions that rankwood.h and rankwood_score.h mark with RW_API.
def public_functions(code):
    return {name for header in ('src/rankwood.h', 'src/rankwood_score.h')
            for name in re.findall(r'\bRW_API\b[^;{]*?\b(rw_\w+)\s*\(', code[header])}


# Files of all functions that are active when `train FILE` first parses a line, makes bins, and builds a histogram, on one
# thread. In each row the first function that is reached counts: a new name is added where an old one goes.
WALK = (('parse_letor_lines', 'rw_letor_chunk_parse'), ('rw_cuts_find_on_host', 'rw_pieces_find_bounds', 'rw_chunks_find_bounds'), ('rw_cpu_histograms',))


def function_files(program, code):
    """Address of each function of a program, and its file: ELF's FILE symbols come before their local ones."""
    table = subprocess.run(['readelf', '-sW', program], capture_output=True, text=True, check=True).stdout
    by_base = {os.path.basename(name): name for name in code}
    files, addresses, here = {}, {}, None
    home = {function: name for name, text in code.items() if name.endswith(('.c', '.cu')) and os.path.basename(name) in table
            for function in re.findall(r'^[a-z][\w ]*[ *](rw_\w+|main)\([^;{]*\)\s*\{', text, re.M)}
    for line in table.split('\n'):
        part = line.split()
        if len(part) < 8 or not part[0].endswith(':'):
            continue
        if part[3] == 'FILE':
            here = by_base.get(part[7])
        elif part[3] == 'FUNC' and part[6] != 'UND':
            name = part[7]
            if part[4] == 'LOCAL' and part[5] == 'DEFAULT':
                files[int(part[1], 16)] = here
            else:
                files[int(part[1], 16)] = home.get(name)
            addresses[name] = int(part[1], 16)
    return files, addresses


def walk(program, code):
    program = os.path.abspath(program)
    files, addresses = function_files(program, code)
    starts = sorted(files)
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, 'synth', '--shape', 'letor', '--queries', '60', '--seed', '1', '-o', 'a.txt'],
                       cwd=folder, check=True)
        for names in WALK:
            for name in [name for name in names if name in addresses]:
                out = subprocess.run(
                    ['gdb', '-batch', '-nx', '-ex', 'tbreak ' + name, '-ex', 'run', '-ex', 'info address main', '-ex', 'bt',
                     '--args', program, 'train', 'a.txt', '--rounds', '1', '--threads', '1', '--device', 'cpu', '--quiet',
                     '-o', 'm'], cwd=folder, capture_output=True, text=True).stdout
                main = re.search(r'"main" is .*?(0x[0-9a-f]+)', out)
                frames = re.findall(r'^#\d+\s+(0x[0-9a-f]+)', out, re.M)
                if frames:
                    break
            else:
                sys.exit('house.py: %s does not reach %s; adapt WALK' % (program, ' or '.join(names)))
            base = int(main.group(1), 16) - addresses['main']
            for frame in frames:
                below = [a for a in starts if a <= int(frame, 16) - base]
                if below and files[below[-1]]:
                    seen.add(files[below[-1]])
    return seen


# Twelve files by a fixed seed: one of base, one template, one kernel, and nine others.
def quick_files(code):
    pick = random.Random(43)
    names = sorted(n for n in code if n.endswith(('.c', '.cu', '.h')))
    chosen = [pick.choice([n for n in names if want in n]) for want in ('src/base/', '_tmpl.', '.cu')]
    return chosen + pick.sample([n for n in names if n not in chosen], 9)


def quick_seconds(code):
    took = []
    for name in quick_files(code):
        os.utime(os.path.join(ROOT, name))
        start = time.monotonic()
        done = subprocess.run(['sh', 'tests/quick.sh', name], cwd=ROOT, capture_output=True, text=True)
        took.append(time.monotonic() - start)
        last = (done.stdout.strip().split('\n') or [''])[-1]
        print('    %-45s %6.1f s  exit %d: %s' % (name, took[-1], done.returncode, last), flush=True)
    return took


def run_once(argv, environment):
    """Seconds of the processors, instructions (0: perf cannot count them), kilobytes at the peak, and output."""
    with tempfile.NamedTemporaryFile('r') as counts, tempfile.TemporaryFile('w+') as out:
        perf = ['perf', 'stat', '-x,', '-e', 'instructions:u', '-o', counts.name, '--'] if HAS_PERF else []
        child = subprocess.Popen(perf + argv, stdout=out, stderr=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = status
        if status:
            sys.exit('house.py: %s exits with %d' % (' '.join(argv), os.waitstatus_to_exitcode(status)))
        found = re.search(r'^(\d+),', counts.read(), re.M)
        out.seek(0)
        return usage.ru_utime + usage.ru_stime, int(found.group(1)) if found else 0, usage.ru_maxrss, out.read()


def perf_counts():
    try:
        text = subprocess.run(['perf', 'stat', '-x,', '-e', 'instructions:u', 'true'], capture_output=True, text=True).stderr
    except OSError:
        return False
    return bool(re.search(r'^\d+,', text, re.M))


HAS_PERF = perf_counts()


def count_by_valgrind(argv, environment):
    """Instructions of a run with one thread, counted by valgrind: for machines where perf counts none."""
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, 'counts')
        subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=' + counts] + argv, env=environment,
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(counts) as f:
            return int(re.search(r'^(?:totals|summary): (\d+)', f.read(), re.M).group(1))


CONSTRUCT = '''
import numpy, rankwood
X, y, q = rankwood.synth("letor", 3000, seed=1)
X = numpy.ascontiguousarray(X, dtype=numpy.float32)
for i in range(5):
    rankwood.Dataset(X, y, qid=q)
    rankwood.Dataset(numpy.asfortranarray(X), y, qid=q)
'''
ONE_QUERY = '''
import sys, time, numpy, rankwood
X, y, q = rankwood.synth("mslr30k", 20, seed=1)
X = numpy.ascontiguousarray(X, dtype=numpy.float32)
model, took = rankwood.Model.load(sys.argv[1]), []
for i in range(20000):
    rows = X[i % 1000:i % 1000 + 20]
    begin = time.perf_counter()
    model.predict(rows, feature_base=1)
    took.append(time.perf_counter() - begin)
print(sorted(took)[len(took) * 99 // 100])
'''


# The ratio new / old of pairs that are run in turn: its median, and the fourth and the twelfth of 15 sorted ratios, which
# enclose the true median with 96 % chance. Seconds are those of the processors, except for one query's.
def compare(old, new, packages):
    programs = {'old': os.path.abspath(old), 'new': os.path.abspath(new)}
    with tempfile.TemporaryDirectory() as folder:
        data, model = os.path.join(folder, 'a.txt'), os.path.join(folder, 'm')
        subprocess.run([programs['old'], 'synth', '--shape', 'mslr30k', '--queries', '400', '--seed', '1', '-o', data],
                       check=True)
        subprocess.run([programs['old'], 'train', data, '--rounds', '100', '--quiet', '-o', model], check=True)
        quiet = ['--device', 'cpu', '--quiet', '-o', os.path.join(folder, 'out')]
        rows = [('train', ['PROGRAM', 'train', data, '--rounds', '60'] + quiet),
                ('load', ['PROGRAM', 'train', data, '--rounds', '1', '--leaves', '2'] + quiet),
                ('predict', ['PROGRAM', 'predict', model, data, '--quiet', '-o', os.path.join(folder, 'out')])]
        if packages:
            rows += [("Python's constructors", [sys.executable, '-c', CONSTRUCT]),
                     ('p99 of one query', [sys.executable, '-c', ONE_QUERY, model])]
        for name, argv in rows:
            ratios = {'seconds': [], 'instructions': [], 'peak memory': []}
            for pair in range(PAIRS):
                got = {}
                for which in (('old', 'new'), ('new', 'old'))[pair % 2]:
                    environment = dict(os.environ)
                    if packages:
                        environment['PYTHONPATH'] = os.path.abspath(packages[which == 'new'])
                    spent, instructions, peak, out = run_once(
                        [programs[which] if a == 'PROGRAM' else a for a in argv], environment)
                    got[which] = (float(out) if name.startswith('p99') else spent, instructions, peak)
                for i, key in enumerate(ratios):
                    if got['old'][i]:
                        ratios[key].append(got['new'][i] / got['old'][i])
            if not HAS_PERF and argv[0] == 'PROGRAM' and shutil.which('valgrind'):
                old_count, new_count = (count_by_valgrind([programs[which]] + argv[1:] + ['--threads', '1'], None)
                                        for which in ('old', 'new'))
                ratios['instructions'] = [new_count / old_count] * PAIRS
            for key, values in ratios.items():
                if values:
                    values.sort()
                    yield '%s: %s' % (name, key), statistics.median(values), values[3], values[PAIRS - 4], \
                        1.04 if key == 'seconds' else 1.02


def main():
    arguments = argparse.ArgumentParser(description='Prints the bars of the tree.')
    arguments.add_argument('--rooms', action='store_true', help='also lines of each room, circles and touched files')
    arguments.add_argument('--bars', action='store_true', help='exit 1 if a value is not what it must be')
    arguments.add_argument('--walk', metavar='PROGRAM')
    arguments.add_argument('--quick', action='store_true')
    arguments.add_argument('--run', metavar='FILE')
    arguments.add_argument('--bench', nargs=2, metavar=('OLD', 'NEW'))
    arguments.add_argument('--packages', nargs=2, metavar=('OLD', 'NEW'))
    chosen = arguments.parse_args()
    files, code = read_tree()
    rows, details = [], []

    def row(bar, values, must, aim=()):
        rows.append((bar, values, must, aim))
    rooms = code_lines(code)
    row('code lines of src', [sum(rooms.values())], [74000], [70000])
    row('files under src', [len(files)], [440], [390])
    found = circles(code)
    row('circles of files in src', [len(found)], [7], [3])
    members, struct, _ = largest_struct(code)
    row('members of the largest struct outside gpu/ (%s)' % struct, [members], [26])
    names = list(touched(code))
    row('files that %s touch' % ', '.join(what for what, _ in names), [len(names) for _, names in names], [3, 2, 2, 2])
    details += ['circle: ' + ' '.join(circle) for circle in found]
    details += ['%s: %s' % (what, ' '.join(names)) for what, names in names]
    if chosen.walk:
        seen = walk(chosen.walk, code)
        row('from `train FILE` to the first histogram: files, rooms', [len(seen), len({room_of(f) for f in seen})],
            [11, 6])
        details.append('walk: ' + ' '.join(sorted(seen)))
    row('public functions', [len(public_functions(code))], [165], [140])
    if chosen.quick:
        took = quick_seconds(code)
        row('seconds of quick.sh over 12 files: median, worst',
            [round(statistics.median(took)), round(max(took))], [60, 120], [45])
    if chosen.run:
        with open(chosen.run) as f:
            last = [line.split() for line in f if line.startswith('all ')]
        if not last:
            sys.exit("house.py: no line 'all SECONDS' in %s; the last run did not end" % chosen.run)
        row('seconds of run.sh', [int(last[-1][1])], [900], [600])
    if chosen.rooms:
        print('\n'.join('%7d %s' % (n, room) for room, n in sorted(rooms.items())))
        print('\n'.join(details))
    print('| bar | today | must | aim |\n|---|---|---|---|')

    def numbers(values):
        return ', '.join('{:,}'.format(v) for v in values)
    for bar, values, must, aim in rows:
        print('| %s | %s | %s | %s |' % (bar, numbers(values), numbers(must), numbers(aim)))
    missed = [bar for bar, values, must, _ in rows if any(v > m for v, m in zip(values, must))]
    if chosen.bench:
        for bar, median, low, high, must in compare(*chosen.bench, chosen.packages):
            print('| %s, new / old | %.3f (%.3f to %.3f) | %.2f | 1 |' % (bar, median, low, high, must), flush=True)
            if high > must:
                missed.append(bar)
    if chosen.bars and missed:
        sys.exit('house.py: missed: ' + '; '.join(missed))


if __name__ == '__main__':
    main()
