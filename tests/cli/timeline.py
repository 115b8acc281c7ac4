#!/usr/bin/env python3
"""replay --timeline: a picture of an epoch, that holds every device, kind of work and replay."""

import os
import shutil
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
from support import GRAPH, Run, check, main, same  # noqa: E402

TRAIN = [GRAPH, '--devices', '3', '--layers', '2', '--hidden', '8', '--epochs', '3', '--quiet']
COLORS = {'central': 'rgb(127, 179, 213)', 'computing': 'rgb( 27, 108, 168)', 'transfer': 'rgb(209,  73,  91)',
          'waiting': 'rgb(221, 221, 221)', 'sum': 'rgb( 46, 147,  60)', 'assign': 'rgb(125,  78, 158)'}


def record(folder, name, *more):
    path = f'{folder}/{name}.qht'
    Run('train', *TRAIN, '--trace', path, *more)
    return path


def texts(svg):
    return [''.join(t.itertext()).strip() for t in xml.etree.ElementTree.parse(svg).iter() if t.tag.endswith('}text')]


def bars(svg, what):
    """Filled shapes of a color; one of them is in the key."""
    with open(svg, encoding='utf-8') as f:
        return sum(COLORS[what] in line and 'fill' in line for line in f)


def everything_is_in_it(folder):
    svg = folder + '/t.svg'
    plain = record(folder, 'vanilla', '--net', 'switch-1g')
    quick = record(folder, 'adaqp', '--net', 'switch-1g', '--method', 'adaqp', '--assign-every', '1')
    Run('replay', plain, quick, '--net', 'switch-100g', '--timeline', svg)
    seen = texts(svg)
    same([seen.count(f'device {d}') for d in range(4)], [4, 4, 4, 0], 'devices of four replays')
    captions = [t for t in seen if 'epoch 2: ' in t]
    same((len(captions), sum('replayed on switch-100g' in t for t in captions)), (4, 2), f'{captions}')
    for what in COLORS:
        check(bars(svg, what) > 3, f'bars of {what}: {bars(svg, what)}')
    Run('replay', plain, '--timeline', svg, '--epoch', '0')
    check(any('epoch 0: ' in t for t in texts(svg)), texts(svg))
    same((bars(svg, 'assign'), bars(svg, 'central')), (0, 0), 'vanilla assigns and overlaps nothing')
    # two layers have three exchanges, each of which is waited for by each device
    same(bars(svg, 'waiting'), 3 * 3 + 1, 'waits of vanilla')


def late_blocks_and_one_device(folder):
    svg = folder + '/t.svg'
    Run('replay', record(folder, 'late', '--method', 'pipegcn'), '--timeline', svg)
    check(bars(svg, 'central') > 3 and bars(svg, 'transfer') > 3, 'blocks of pipegcn travel beside computing')
    Run('replay', record(folder, 'one', '--devices', '1'), '--timeline', svg)
    same((texts(svg).count('device 0'), bars(svg, 'transfer')), (1, 0), 'one device')
    many = Run('replay', record(folder, 'many', '--devices', '11'), '--timeline', svg)
    same([t for t in texts(svg) if t.startswith('device ')], [f'device {d}' for d in range(8)], 'the first')
    check('first 8 devices' in many.err, many.err)


def refusals(folder):
    path = record(folder, 'short')
    nets = [word for _ in range(6) for word in ('--net', 'switch-1g')]
    svg = folder + '/old.svg'
    with open(svg, 'w', encoding='utf-8') as f:
        f.write('old')
    Run('replay', path, '--timeline', svg, '--epoch', '3', rc=2, says='--epoch: 3; .*epochs 0 to 2')
    Run('replay', path, *nets, '--timeline', svg, rc=2, says='--timeline: 7 replays.* up to 6')
    Run('replay', path, '--timeline', folder + '/none/t.svg', rc=4, says='t.svg')
    Run('replay', path, '--timeline', svg, rc=4, says='gnuplot could not be started', env={'PATH': folder})
    same(open(svg, encoding='utf-8').read(), 'old', 'the picture before')
    same(sorted(os.listdir(folder)), ['old.svg', 'short.qht'], 'files')


if __name__ == '__main__':
    if not shutil.which('gnuplot'):
        print('gnuplot is not installed')
        sys.exit(77)
    sys.exit(main([everything_is_in_it, late_blocks_and_one_device, refusals]))
