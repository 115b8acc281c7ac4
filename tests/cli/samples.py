#!/usr/bin/env python3
"""traces/samples: each sample is of the format's current version and replays to the picosecond."""

import os
import re
import struct
import sys

sys.dont_write_bytecode = True
from support import Run, check, main, same  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = os.path.join(TOP, 'traces', 'samples')
WANTED = {'vanilla', 'int4', 'adaqp', 'varco', 'pipegcn', 'fat-tree-64', 'reddit'}


def samples():
    names = sorted(name for name in os.listdir(SAMPLES) if name.endswith('.qht'))
    check(WANTED <= {name[:-4] for name in names}, f'samples: {names}')
    return [os.path.join(SAMPLES, name) for name in names]


def current(_folder):
    """The head says the version that this qhalo writes, and no sample is large."""
    with open(os.path.join(TOP, 'traces', 'format.h'), encoding='utf-8') as f:
        version = int(re.search(r'QH_TRACE_VERSION = (\d+)', f.read()).group(1))
    for path in samples():
        with open(path, 'rb') as f:
            data = f.read()
        same(struct.unpack_from('<8sI', data), (b'\x89QHT\r\n\x1a\n', version), path)
        check(len(data) < 200000, f'{path} has {len(data)} bytes')
        check(TOP.encode() not in data, f'{path} holds a path of the machine it was made on')


def replayed(_folder):
    sizes = []
    for path in samples():
        verified = Run('trace', 'verify', path, '--json').json()
        check(verified['closed'], f'{path} is not closed')
        check(verified['epochs'] >= 1, f'{path} has {verified["epochs"]} epochs')
        same(verified['epochs_of_same_time'], verified['epochs'], f'epochs as in the run: {path}')
        again = Run('replay', path, '--net', 'switch-100g', '--json').json()
        same(again['traces'][0]['times_of_the_run'], True, path)
        sizes.append(Run('trace', 'info', path, '--json').json()['devices'])
    check(max(sizes) >= 64 and sizes.count(8) >= 5, f'devices of the samples: {sizes}')


def described(_folder):
    """The README has the command behind each sample, with no path outside the sources."""
    with open(os.path.join(SAMPLES, 'README.md'), encoding='utf-8') as f:
        commands = [line.split() for line in f if line.strip().startswith('qhalo train ')]
    same(sorted(words[words.index('--trace') + 1] for words in commands),
         [os.path.relpath(path, TOP) for path in samples()], 'commands')
    for words in commands:
        check(words[2].startswith('synth:'), f'{words[2]} is no synth: graph')
        path = os.path.join(TOP, words[words.index('--trace') + 1])
        head = Run('trace', 'info', path, '--json').json()['head']
        same(head['dataset'], words[2], f'dataset of {path}')
        same(head['configuration']['epochs'], int(words[words.index('--epochs') + 1]), path)
        same(head['configuration']['method'] or 'vanilla', words[words.index('--method') + 1], path)


if __name__ == '__main__':
    sys.exit(main([current, replayed, described]))
