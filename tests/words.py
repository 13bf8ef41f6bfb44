#!/usr/bin/env python3
"""Finds English that readers stop at, in everything that people read.

    python3 tests/words.py [--only PART[,PART]] [--files PATTERN] [--count] [--program PROGRAM]
    python3 tests/words.py --subjects

Parts:
  readme      README.md
  docs        docs/*.md and the pages in its folders, except docs/benchmarks
  repo        CONTRIBUTING.md, CHANGELOG.md and the README of every other folder
  help        the help of every command (needs --program)
  messages    strings of src that have three words or more: messages, hints, help
  notes       notes of the table of other programs' names
  python      docstrings, comments and messages of the Python package
  header      comments of the public headers
  comments    other comments of src
  tests       comments, docstrings and file heads of tests

Each part is checked for the habits below, and prose also for sentences that are too long. tests/words_allowed.txt lists
exceptions, one per line: file, text of the sentence and reason, separated by tabs. A line that allows no finding is an
error. Exits with 1 if it finds something.

  --count     prints the number of findings of each part, and its mean words per sentence, instead of the findings
  --files     reports only findings in files whose names match a regular expression
  --subjects  checks the subjects of commits only; without --only and --files, they are checked too
"""
import argparse
import collections
import functools
import io
import os
import re
import subprocess
import sys
import tokenize

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ALLOWED = 'tests/words_allowed.txt'
MOST_ALLOWED = 40
PARTS = ('readme', 'docs', 'repo', 'help', 'messages', 'notes', 'python', 'header', 'comments', 'tests')
# Words a sentence may have; nothing for parts that are not prose.
LONGEST = {'readme': 25, 'docs': 35, 'repo': 35, 'help': 30, 'python': 35, 'header': 35, 'comments': 40, 'tests': 40}
# Commits after this one have subjects of the form `area: imperative summary`.
SUBJECTS_SINCE = '3c03494f'
LONGEST_SUBJECT = 72
SUBJECT = re.compile(r'[\w./+-]+(?:, [\w./+-]+)*: ([a-z][a-z-]*)\b')
NOT_IMPERATIVE = re.compile(r'(?!pass|process|bypass|express|embed|need|feed|speed|bring|string)\w+(?:ed|ing|[^s]s)$')

# What readers stopped at, by the number of the habit in the writing guide, and what to write.
HABITS = [(name, re.compile(pattern, re.I), cure) for name, pattern, cure in (
    ('what-clause as a noun', r"\bwhat (?:is|was|are|were|has|have|it|they|a|an|the|can|cannot|may|must|does|do|did|goes|comes|"
     r"stands|takes?|needs?|makes?|nothing|no|all|one|this|that|each|every|other)\b(?![^.?!]{0,200}\?)", 'name the thing'),
    ('"none" as a predicate', r"\b(?:is|are|was|were|be|that has|which has|that have|has|have) none\b|\bnone of (?:its|their|our|which|whose)\b|"
     r"\b(?:with|by|of|for|has) none\b", 'say what is missing'),
    ('"nobody"', r"\bnobody(?:'s)?\b|\bno one's\b", 'name who does not'),
    ('data that stand, lie or go', r"\b(?:stands?|stood|lies|lay) (?:in|on|at|there|for|under|above|below|before|after|next|alone|between|by|where|as|"
     r"with|behind)\b", 'is, is stored, is written'),
    ('"told", "asked", "said" of data', r"\b(?:is|are|be|was|were|been|being) (?:told|asked|said|handed|met|taken for)\b|\bgoes without\b|\bsays? so\b|"
     r"\bgoes on\b|\bgo on\b|\bgoing on\b", 'reports, is requested, continues'),
    ('"behind", "beside", "apart", "anew"', r"\b(?:behind|beside|besides|apart(?! from)|anew)\b", 'after, next to, in addition to, separate, again'),
    ('"another than"', r"\b(?:another|others?|other \w+) than\b|\bthe other \w+ are others\b", 'differs from, has changed'),
    ('claimed proof', r"\b(?:is|are|was|were|be) proved\b|\bproves?\b|\bproven\b", 'is tested by'),
    ('unit with "a"', r"\b(?:bytes?|ms|milliseconds|microseconds|us|MB|GB|words|trees|documents|bits|cells|codes) an? "
     r"(?:document|tree|query|row|worker|thread|second|round|node|feature|value|cell|leaf|code|chunk|GPU|call|column|line|day|hour|split)\b", 'per'),
    ('"an own", "of its own"', r"\ban own\b|\b(?:its|their|our|your|my) own\b(?= (?:ones?\b|one\b))|\bof (?:its|their) own kind\b", 'a separate'),
    ('words only this project had', r"\b(?:lexicon|prospects?|spare codes|far codes|handed gradients|own part of|feature rules?|side members)\b",
     'vocabulary, speculative split, cache, host-resident, user gradients, shard, constraint'),
    ('"of which", "whose ... which" before the verb', r"\bof (?:which|whom) (?:the|a|an|each|every|all|some|only|one|two|no|there|it|they)\b", 'two sentences'),
    ('"but for"', r"\bbut for\b", 'except, apart from'),
    ('"as it were", "so to speak"', r"\bas it were\b|\bso to speak\b|\bthat is to say\b", 'leave it out'),
    ('"is to be"', r"\b(?:is|are|was|were) to be\b", 'must be, will be'),
    ('"the like", "and the rest"', r"\band the like\b|\bor the like\b|\band the rest\b", 'and so on, or the list'),
)]
MARKDOWN = ('readme', 'docs', 'repo')
WORD = re.compile(r"[A-Za-z][A-Za-z'-]*|\d[\d.,]*")
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def git(*arguments):
    """The lines that git prints, or nothing where there is no git or no repository."""
    try:
        done = subprocess.run(['git', '-C', ROOT, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return []
    return done.stdout.split('\n')[:-1] if done.returncode == 0 else []


@functools.cache
def all_files():
    """The files of the tree: from git, or else all of them except those of build folders and hidden folders."""
    names = git('ls-files', '--cached', '--others', '--exclude-standard') if os.path.exists(os.path.join(ROOT, '.git')) else []
    if not names:
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [name for name in folders if not name.startswith(('.', 'build'))]
            names += [os.path.relpath(os.path.join(folder, name), ROOT) for name in files]
    return [name for name in names if os.path.exists(os.path.join(ROOT, name))]


def listed(folder, *endings):
    return [name for name in all_files() if name.startswith(folder) and name.endswith(endings)]


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8', errors='replace') as file:
        return file.read()


# Each reader below gives (line, text, is it prose) of the pieces of a file. Text that is not prose, such as a row of a
# table, is searched for habits only.

def of_markdown(text):
    block, begin, in_code = [], 0, False

    def flush():
        if block:
            yield begin, ' '.join(block), True
            block.clear()
    for number, line in enumerate(text.split('\n'), 1):
        if line.lstrip().startswith('```'):
            yield from flush()
            in_code = not in_code
            continue
        if in_code:
            continue
        bare = re.sub(r'^\s*(?:[-*>]|\d+\.)\s+', '', line).strip()
        starts = bare != line.strip() or line.startswith('#')
        if not bare or line.startswith('#') or line.startswith('|') or line.startswith('<') or starts:
            yield from flush()
        if line.startswith('|'):
            yield number, plain(line), False
        elif line.startswith('#'):
            yield number, plain(line.lstrip('# ')), False
        elif bare and not line.startswith('<'):
            begin = begin if block else number
            block.append(plain(bare))
    yield from flush()


def plain(text):
    """Markdown's text without code, links' targets and marks."""
    text = re.sub(r'`[^`]*`', 'CODE', text)
    text = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', text)
    return re.sub(r'\*\*|__|\\', '', text)


def of_c(text, strings):
    """The comments of C, or the strings that people read."""
    previous_end, begin, parts = 0, 0, []
    for found in C_TOKEN.finditer(text):
        token = found.group()
        if strings and token[0] == '"':
            joined = parts and not text[previous_end:found.start()].strip()
            if not joined and parts:
                yield begin, ''.join(parts), False
                parts = []
            if not parts:
                begin = text.count('\n', 0, found.start()) + 1
            parts.append(re.sub(r'class="\w*"', '', token[1:-1].replace('\\n', ' ').replace('\\"', '"')))
            previous_end = found.end()
        elif not strings and token.startswith('/*'):
            if parts:
                yield begin, ' '.join(parts), True
                parts = []
            for line, lines in of_docstring(re.sub(r'^[ \t]*\*/? ?', '', token[2:-2], flags=re.M)):
                yield text.count('\n', 0, found.start()) + 1 + line, ' '.join(lines), True
            previous_end = found.end()
        elif not strings and token[0] == '/':
            line = text.count('\n', 0, found.start()) + 1
            listing = re.match(r'//(?: {3}|.*\S {2,}\S)', token)  # a line of a usage or a table
            # a comment of several // lines is one
            if not parts or listing or text[previous_end:found.start()].strip():
                if parts:
                    yield begin, ' '.join(parts), True
                begin, parts = line, []
            parts.append(token[2:].strip())
            previous_end = found.end()
    if parts:
        yield begin, ''.join(parts) if strings else ' '.join(parts), not strings


def of_notes(text):
    """The fourth column of a table."""
    for number, line in enumerate(text.split('\n'), 1):
        if not line.startswith('#') and line.count('\t') > 2:
            yield number, line.split('\t')[3], False


def of_python(text):
    at = None
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    comment, begin, previous = [], 0, tokenize.NEWLINE
    for token in tokens:
        starts = previous in (tokenize.NEWLINE, tokenize.INDENT)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            previous = token.type
        if token.type == tokenize.COMMENT and re.match(r'# *(?:type: ignore|noqa|fmt:)', token.string):
            continue
        if token.type == tokenize.COMMENT:
            if comment and token.start[0] != at + 1:
                yield begin, ' '.join(comment), True
                comment = []
            begin = begin if comment else token.start[0]
            at = token.start[0]
            comment.append(token.string.lstrip('# ').strip())
        elif token.type == tokenize.STRING:
            value = re.sub(r'^[rbfuRBFU]*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', '', token.string)
            if starts and token.string.lstrip('rbfuRBFU').startswith(('"""', "'''")):
                for first, lines in of_docstring(value):
                    yield token.start[0] + first, re.sub(r'`+[^`]*`+', 'CODE', ' '.join(lines)), True
            else:
                yield token.start[0], re.sub(r'\{[^}]*\}', 'X', value), False
    if comment:
        yield begin, ' '.join(comment), True


def of_tests(name, text):
    """The comments of a test in C, Python, shell or Meson's language."""
    read_as = of_python if name.endswith('.py') else of_shell if name.endswith(('.sh', 'meson.build')) else lambda text: of_c(text, False)
    return (piece for piece in read_as(text) if piece[2])


def of_shell(text):
    """A piece for each paragraph of comments; a line indented within a comment, such as a usage line, ends a paragraph."""
    piece, begin = [], 0
    for number, line in enumerate([*text.split('\n'), ''], 1):
        found = re.match(r'^((?:[^#\'"]|"[^"]*"|\'[^\']*\')*(?:^|\s))# ?(?!!)(.*)$', line)
        comment = found and found.group(2)
        is_listing = found and re.match(r'  |.*\S {2,}\S', comment)
        inside = piece and found and not found.group(1).strip() and comment.strip() and not is_listing
        if not inside and piece:
            yield begin, ' '.join(piece), True
            piece = []
        if comment and comment.strip():
            begin = begin if piece else number
            piece.append(comment.strip())


def of_docstring(value):
    """(line from 0, lines) of each paragraph, without examples; a description of numpydoc is a paragraph."""
    lines, piece, begin = value.split('\n'), [], 0

    def indent(i):
        return len(lines[i]) - len(lines[i].lstrip()) if i < len(lines) and lines[i].strip() else 0
    in_example = False
    for i, line in enumerate(lines):
        in_example = bool(line.strip()) and (in_example or line.lstrip().startswith('>>>'))
        is_entry = i > 0 and indent(i + 1) > indent(i) and (' : ' in line or not re.search(r'[^,] ', line.strip()))
        is_listing = re.search(r'\S {2,}\S', line.strip()) or re.match(r'\s*(?:- |python3? |sh )', line)
        is_title = i + 1 < len(lines) and re.fullmatch(r'\s*-{3,}', lines[i + 1])
        if is_listing and piece:
            yield begin, piece
            piece = []
        if in_example or is_entry or is_title or not line.strip() or re.fullmatch(r'\s*[-=]{3,}', line):
            if piece:
                yield begin, piece
            piece = []
        else:
            begin = begin if piece else i
            piece.append(line.strip())
    if piece:
        yield begin, piece


def of_help(text):
    """A piece for each option or paragraph. An option begins at two to six spaces, its text at 29."""
    piece, begin = [], 0
    for number, line in enumerate(text.split('\n'), 1):
        if not line.strip() or re.match(r' {0,3}\S| {6}--', line):
            if piece:
                yield begin, ' '.join(piece), True
            piece, begin = [], number
        if line.strip():
            piece.append(line.strip())
    if piece:
        yield begin, ' '.join(piece), True


def help_pages(program):
    commands = re.findall(r'^  ([a-z]+) ', subprocess.run([program, 'help'], capture_output=True, text=True).stdout, re.M)
    yield 'rankwood help', subprocess.run([program, 'help'], capture_output=True, text=True).stdout
    for command in commands:
        yield f'rankwood {command} --help', subprocess.run([program, command, '--help'], capture_output=True, text=True).stdout


def pieces(part, program):
    """(file, line, text, prose) of a part."""
    if part == 'help':
        for name, text in help_pages(program):
            for line, piece, prose in of_help(text):
                yield name, line, re.sub(r'\[[^\]]*default: [^\]]*\]', '', piece), prose  # without range and default
        return
    code = ('.c', '.h', '.def', '.cu', '.cuh')
    names, reader = {
        'readme': (['README.md'], of_markdown),
        'docs': ([name for name in listed('docs/', '.md') if not name.startswith('docs/benchmarks/')], of_markdown),
        'repo': ([name for name in listed('', '.md') if name != 'README.md' and not name.startswith('docs/')], of_markdown),
        'messages': (listed('src/', *code), lambda text: of_c(text, True)),
        'python': (listed('python/', '.py'), of_python),
        'header': (['src/rankwood.h', 'src/rankwood_score.h'], lambda text: of_c(text, False)),
        'notes': (listed('src/', '.tsv'), of_notes),
        'comments': (listed('src/', *code), lambda text: of_c(text, False)),
        'tests': (listed('tests/', '.py', '.sh', '.cpp', 'meson.build', *code), None),
    }[part]
    for name in sorted(set(names)):
        if part == 'comments' and name in ('src/rankwood.h', 'src/rankwood_score.h'):
            continue
        for line, text, prose in (reader(read(name)) if reader else of_tests(name, read(name))):
            if part == 'messages' and len(WORD.findall(text)) < 3:
                continue
            yield name, line, text, prose


def sentences(text):
    for sentence in re.split(r'(?<=[.!?])["\')]*\s+(?=[A-Z"\'(`0-9$-])|;\s+(?=[a-z])|:\s*$', text):
        words = WORD.findall(sentence)
        if words:
            yield sentence, len(words)


def findings(part, program, lengths):
    for name, line, text, prose in pieces(part, program):
        for habit, pattern, cure in HABITS:
            for found in pattern.finditer(text):
                if not prose and found.start() == 0 and part in MARKDOWN:  # a heading may begin with What
                    continue
                if part in ('python', 'tests') and 'None' in found.group():  # Python's value
                    continue
                around = text[max(0, found.start() - 40):found.end() + 40]
                yield name, line, f'{habit} ({cure}): "...{around}..."', text
        if prose and part in LONGEST:
            for sentence, n in sentences(text) if not re.match(r'[A-Z][\w-]*: (?:[^.]*, ){4}', text) else ():  # a list
                lengths.append(n)
                if n > LONGEST[part]:
                    yield name, line, f'{n} words, at most {LONGEST[part]}: "{sentence[:70]}..."', text


def subjects():
    """(commit, problem) of each subject that is not `area: imperative summary`."""
    if not git('cat-file', '-t', SUBJECTS_SINCE):
        return  # a release's tarball, or a clone without its history
    for line in git('log', '--no-merges', '--format=%h %s', f'{SUBJECTS_SINCE}..HEAD'):
        commit, _, subject = line.partition(' ')
        found = SUBJECT.match(subject)
        if len(subject) > LONGEST_SUBJECT:
            yield commit, f'{len(subject)} characters, at most {LONGEST_SUBJECT}: "{subject}"'
        elif not found:
            yield commit, f'expected "area: imperative summary": "{subject}"'
        elif NOT_IMPERATIVE.match(found.group(1)):
            yield commit, f'expected an imperative, not "{found.group(1)}": "{subject}"'


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    arguments.add_argument('--only', metavar='PART', help='of ' + ', '.join(PARTS))
    arguments.add_argument('--files', metavar='PATTERN', help='findings in files whose names match this regular expression alone')
    arguments.add_argument('--count', action='store_true')
    arguments.add_argument('--program', metavar='PROGRAM')
    arguments.add_argument('--subjects', action='store_true', help='check the subjects of commits only')
    chosen = arguments.parse_args()
    everything = not chosen.only and not chosen.files and not chosen.subjects
    parts = chosen.only.split(',') if chosen.only else [part for part in PARTS if part != 'help' or chosen.program]
    parts = [] if chosen.subjects else parts
    if set(parts) - set(PARTS) or ('help' in parts and not chosen.program):
        arguments.error('parts are ' + ', '.join(PARTS) + '; help needs --program')
    allowed, unused = [], set()
    if os.path.exists(os.path.join(ROOT, ALLOWED)):
        for row in read(ALLOWED).split('\n'):
            if row and not row.startswith('#'):
                allowed.append(tuple(row.split('\t')))
                unused.add(allowed[-1])
    status = 0
    if len(allowed) > MOST_ALLOWED or any(len(row) != 3 or not row[2] for row in allowed):
        print(f'{ALLOWED}: at most {MOST_ALLOWED} lines of file, text and reason')
        status = 1
    for part in parts:
        lengths, n = [], collections.Counter()
        for name, line, what, text in findings(part, chosen.program, lengths):
            if chosen.files and not re.search(chosen.files, name):
                continue
            row = next((row for row in allowed if row[0] == name and row[1] in text), None)
            if row:
                unused.discard(row)
                continue
            n[name] += 1
            if not chosen.count:
                print(f'{name}:{line}: {what}')
        mean = f', {sum(lengths) / len(lengths):.1f} words a sentence' if lengths else ''
        if chosen.count:
            print(f'{part}: {sum(n.values())} findings{mean}')
        status = status or int(bool(n))
    for commit, wrong in subjects() if everything or chosen.subjects else ():
        print(f'commit {commit}: {wrong}')
        status = 1
    if everything and chosen.program:
        for row in unused:
            print(f'{ALLOWED}: nothing needs "{row[0]}: {row[1]}"')
            status = 1
    return status


if __name__ == '__main__':
    sys.exit(main())
