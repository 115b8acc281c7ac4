#!/usr/bin/env python3
"""Holds the tree to its rules: who may include whom, how long things may be, how they are laid out.

usage: tidy.py ROOT

The allowed arrows stand in ROOT/README.md, in a block between the lines `<!-- map -->` and
`<!-- /map -->`: one line a folder, `folder: folder folder ...`, lowest floor first, naming the
folders that it may include from. Exit status: 0 all well, 1 a rule is broken (one line each on
stdout), 77 the README has no map yet and all the other rules hold.
"""

import os
import re
import shutil
import subprocess
import sys

TOP_FOLDERS = ['src', 'netmodel', 'traces', 'cuda', 'sim', 'tools', 'tests']
ENDINGS = ('.c', '.h', '.cu', '.cuh', '.cpp')
FILE_LINES = 500
FUNCTION_LINES = 60
# Layout depends on the version; this is the one that wrote the tree (Debian 12).
CLANG_FORMAT_MAJOR = '14'
# Words that betray a condition on an optional part; they may stand in registry files only.
OPTIONAL = re.compile(r'^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*(?:CUDA|MPI|SIMGRID|GLPK|PROTOBUF|'
                      r'QH_WITH_|QH_HAVE_)(?!\w*_H$)')
REGISTRIES = ['backend.c', 'export.c', 'tradeoff.c', 'version.c']  # beside FOLDER/FOLDER.c


def source_files(root):
    for top in TOP_FOLDERS:
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(ENDINGS):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, '/')


def read_map(root):
    """The map as {folder: [folders]}, rising; None where there is none."""
    path = os.path.join(root, 'README.md')
    if not os.path.exists(path):
        return None
    with open(path, encoding='utf-8') as f:
        block = re.search(r'<!-- map -->(.*?)<!-- /map -->', f.read(), re.S)
    if not block:
        return None
    arrows = {}
    for line in block.group(1).splitlines():
        if line.strip() and not line.startswith('```'):
            folder, _, used = line.partition(':')
            arrows[folder.strip()] = used.split()
    return arrows


def check_map(arrows):
    """A folder stands below all who may use it, so there is no way round."""
    seen = set()
    for folder, used in arrows.items():
        for other in used:
            if other not in seen:
                yield f'README.md: the map lets {folder} use {other}, which does not stand above it'
        seen.add(folder)


def folder_of(path, arrows):
    """The map's folder that holds the path: the longest that fits; None where there is none."""
    fits = [f for f in arrows if path.startswith(f + '/')]
    return max(fits, key=len) if fits else None


def check_arrow(path, number, target, arrows):
    if path.startswith('tests/'):
        return  # tests look at everything
    mine = folder_of(path, arrows)
    if mine is None:
        yield f'{path}: its folder is not in the map of README.md'
        return
    theirs = folder_of(target, arrows)
    if theirs != mine and theirs not in arrows[mine]:
        yield f'{path}:{number}: {mine} may not use {theirs or os.path.dirname(target)} ("{target}")'


def check_includes(root, path, lines, arrows):
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s*"([^"]*)"', line)
        if not match:
            continue
        target = match.group(1)
        if '/' not in target or '..' in target.split('/') or not os.path.exists(
                os.path.join(root, target)):
            yield f'{path}:{number}: "{target}" is no path from the root'
        elif arrows is not None:
            yield from check_arrow(path, number, target, arrows)


def check_lengths(path, lines):
    if len(lines) > FILE_LINES:
        yield f'{path}: has {len(lines)} lines, {FILE_LINES} is the limit'
    start = None
    for number, line in enumerate(lines, 1):
        if line == '{':
            start = number
        elif line == '}' and start is not None:
            if number - start + 1 > FUNCTION_LINES:
                yield (f'{path}:{start}: a function of {number - start + 1} lines, '
                       f'{FUNCTION_LINES} is the limit')
            start = None


def is_registry(path):
    folder, name = os.path.split(path)
    return name in REGISTRIES or name == os.path.basename(folder) + '.c'


def check_conditions(path, lines):
    for number, line in enumerate(lines, 1):
        if OPTIONAL.match(line) and not is_registry(path):
            yield f'{path}:{number}: an optional part is asked for outside a registry: {line.strip()}'


def check_todo(path, lines):
    for number, line in enumerate(lines, 1):
        if re.search(r'\b(TODO|FIXME|XXX)\b(?!.*#\d)', line):
            yield f'{path}:{number}: a TODO that names no issue'


def check_layout(root, paths):
    tool = shutil.which('clang-format')
    if not tool:
        print('note: clang-format is absent, layout is not checked')
        return
    version = subprocess.run([tool, '--version'], capture_output=True, text=True).stdout
    match = re.search(r'version (\d+)', version)
    if not match or match.group(1) != CLANG_FORMAT_MAJOR:
        print(f'note: layout is not checked, clang-format {CLANG_FORMAT_MAJOR} is wanted')
        return
    run = subprocess.run([tool, '--dry-run', '--style=file'] + list(paths), cwd=root,
                         capture_output=True, text=True)
    for path in sorted(set(re.findall(r'^([^:\n]+):\d+:\d+: warning', run.stderr, re.M))):
        yield f'{path}: clang-format -i would change it'
    if run.returncode != 0:
        yield 'clang-format: ' + run.stderr.strip()


def check(root):
    """(broken rules, whether the map was there)"""
    faults = []
    arrows = read_map(root)
    paths = list(source_files(root))
    if arrows is not None:
        faults += check_map(arrows)
    for path in paths:
        with open(os.path.join(root, path), encoding='utf-8') as f:
            lines = f.read().splitlines()
        faults += check_includes(root, path, lines, arrows)
        faults += check_lengths(path, lines)
        faults += check_conditions(path, lines)
        faults += check_todo(path, lines)
    if os.path.exists(os.path.join(root, '.clang-format')) and paths:
        faults += check_layout(root, paths)
    return sorted(set(faults)), arrows is not None


def main():
    faults, has_map = check(sys.argv[1])
    for fault in faults:
        print(fault)
    if faults:
        return 1
    if not has_map:
        print('skipped: README.md has no map between <!-- map --> and <!-- /map -->')
        return 77
    return 0


if __name__ == '__main__':
    sys.exit(main())
