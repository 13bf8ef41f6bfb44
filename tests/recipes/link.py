#!/usr/bin/env python3
"""Links programs of a tree with made members without compiling the rest of it again: what recipes touch is compiled in
the tree's own build folder, and everything else is the release build's.

    python3 link.py BUILD RELEASE TOUCHED PROGRAM...

BUILD: the tree's build folder, configured as RELEASE; TOUCHED: a file with the names of files that are new in the tree
or have new rows; PROGRAM: a target of both. A source is compiled if it is new or includes a touched file itself.
Headers that include a table only declare its members, so that objects of the release go with them.
"""
import json
import os
import re
import shlex
import subprocess
import sys

build, release, touched_file, *programs = sys.argv[1:]
release = os.path.abspath(release)
with open(touched_file) as f:
    touched = set(f.read().split())
os.chdir(build)
with open('compile_commands.json') as f:
    commands = json.load(f)


def is_touched(path):
    if any(path.endswith('/' + name) for name in touched):
        return True
    if not os.path.exists(path):  # made by the build
        return False
    with open(path, errors='replace') as f:
        included = re.findall(r'^\s*#\s*include\s*"([^"]+)"', f.read(), re.M)
    return any(name.endswith('/' + target) for name in touched for target in included)


def last_command(target):
    return shlex.split(subprocess.run(['ninja', '-t', 'commands', target], capture_output=True, text=True,
                                      check=True).stdout.splitlines()[-1])


links = [last_command(program) for program in programs]
wanted = {word for link in links for word in link}
library, others = [], []
for command in commands:
    output = command['output']
    if is_touched(command['file']):
        if output.startswith('src/librankwood.so') or output.startswith('src/librankwood.a'):
            library.append(output)
        elif output in wanted:
            others.append(output)
subprocess.run(['ninja', *library, *others], check=True)
for link in links:
    words = []
    for word in link:
        if word == 'src/librankwood.a':
            words += [*library, os.path.join(release, word)]
        elif word.endswith('.o') and not os.path.isabs(word) and word not in others:
            words.append(os.path.join(release, word))
        else:
            words.append(word)
    os.makedirs(os.path.dirname(words[words.index('-o') + 1]), exist_ok=True)
    subprocess.run(words, check=True)
print('compiled: ' + ' '.join(sorted(os.path.basename(name) for name in library + others)))
