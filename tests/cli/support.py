"""What the tests of the command line share: running qhalo, reading what it left."""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile

QHALO = os.path.abspath(sys.argv[1])
GRAPH = 'synth:sbm,nodes=120,degree=6,features=8,classes=3'
SMALL = [GRAPH, '--devices', '3', '--layers', '2', '--hidden', '8', '--epochs', '4']


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def same(got, wanted, what):
    check(got == wanted, f'{what}: {got!r}, not {wanted!r}')


def close(got, wanted, what):
    check(abs(got - wanted) <= 1e-9 * max(abs(got), abs(wanted)), f'{what}: {got}, not {wanted}')


class Run:
    """One call. On failure stdout must be empty and stderr end with one line `qhalo: ...`."""

    def __init__(self, *args, rc=0, says=None, cwd=None, env=None, **more):
        words = [QHALO] + [str(a) for a in args]
        done = subprocess.run(words, capture_output=True, text=True, cwd=cwd,
                              env={**os.environ, **(env or {})}, timeout=120, check=False, **more)
        self.out, self.err = done.stdout, done.stderr
        self.line = ' '.join(words)
        check(done.returncode == rc,
              f'exit status {done.returncode}, not {rc}: {self.line}\n{self.err}')
        if rc in (1, 2, 3, 4):
            last = self.err.splitlines()[-1]
            check(last.startswith('qhalo: '), f'the last line is no error line: {self.err!r}')
            check(self.out == '', f'something on stdout beside the error: {self.out!r}')
        if says is not None:
            check(re.search(says, self.err), f'stderr has no {says!r}: {self.line}\n{self.err}')

    def json(self):
        return strict_json(self.out)


def strict_json(text):
    def refuse(word):
        raise Failed(f'JSON holds {word}')
    return json.loads(text, parse_constant=refuse)


def read_csv(path):
    with open(path, encoding='utf-8', newline='') as f:
        rows = list(csv.reader(f))
    return rows[0], [dict(zip(rows[0], row)) for row in rows[1:]]


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def no_leftovers(folder):
    for top, _, names in os.walk(folder):
        for name in names:
            check('.tmp.' not in name, f'{name} is left in {top}')


def main(cases):
    """Runs each case with a fresh folder; prints what failed."""
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder)
                print(f'ok {case.__name__}')
            except Failed as e:
                failed += 1
                print(f'FAILED {case.__name__}: {e}')
    print(f'{len(cases)} cases, {failed} failed')
    return 1 if failed else 0
