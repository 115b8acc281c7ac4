#!/usr/bin/env python3
"""trace export and replay --chrome: each format is read back as its own tools would read it."""

import csv
import json
import os
import re
import sys

sys.dont_write_bytecode = True
from support import SMALL, Run, check, main, no_leftovers, same, strict_json  # noqa: E402


def record(folder, *more):
    path = folder + '/t.qht'
    Run('train', *SMALL, '--devices', '4', '--method', 'random', '--assign-every', '1', '--trace',
        path, '--quiet', *more)
    return path


def export(path, form, to):
    Run('trace', 'export', path, '--format', form, '-o', to)
    return to


def sent(path):
    return Run('trace', 'info', path, '--json').json()


# --- chrome ---

REQUIRED = {'X': {'pid', 'tid', 'ts', 'dur', 'name', 'cat', 'args'},
            's': {'pid', 'tid', 'ts', 'id', 'name', 'cat'},
            'f': {'pid', 'tid', 'ts', 'id', 'name', 'cat', 'bp'},
            'C': {'pid', 'ts', 'name', 'args'},
            'M': {'pid', 'tid', 'name', 'args'}}


def ps(microseconds):
    whole, _, part = microseconds.partition('.')
    same(len(part), 6, f'decimals of {microseconds}')
    return int(whole) * 1000000 + int(part)


def load_timeline(path):
    """Times as whole picoseconds: the text has six decimals of a microsecond."""
    with open(path, encoding='utf-8') as f:
        timeline = json.loads(f.read(), parse_float=str)
    for e in timeline['traceEvents']:
        for key in {'ts', 'dur'} & set(e):
            e[key] = ps(e[key])
        check(e['ph'] in REQUIRED, f'an event of kind {e["ph"]}')
        check(REQUIRED[e['ph']] <= set(e), f'an event without {REQUIRED[e["ph"]] - set(e)}')
    return timeline


def check_lanes(events):
    """On a thread nothing overlaps."""
    last = {}
    for e in sorted((e for e in events if e['ph'] == 'X'), key=lambda e: (e['ts'], e['dur'])):
        lane = (e['pid'], e['tid'])
        check(e['dur'] >= 0 and e['ts'] >= last.get(lane, 0), f'{e} overlaps the one before it')
        last[lane] = e['ts'] + e['dur']


def check_arrows(events):
    starts = {e['id']: e for e in events if e['ph'] == 's'}
    ends = {e['id']: e for e in events if e['ph'] == 'f'}
    same(set(starts), set(ends), 'arrows')
    slices = {(e['pid'], e['tid'], e['ts']) for e in events if e['ph'] == 'X'}
    for i, s in starts.items():
        check((s['pid'], s['tid'], s['ts']) in slices, f'arrow {i} leaves no slice')
        check(ends[i]['ts'] >= s['ts'] and ends[i]['pid'] != s['pid'], f'arrow {i} goes nowhere')
    return len(starts)


def chrome(folder):
    path = record(folder)
    info = sent(path)
    for rounds in (False, True):
        out = folder + '/t.json'
        if rounds:
            Run('replay', path, '--exchange', 'rounds', '--chrome', out, '--json')
        else:
            export(path, 'chrome', out)
        timeline = load_timeline(out)
        events = timeline['traceEvents']
        check_lanes(events)
        same(check_arrows(events), info['blocks'], 'an arrow for each block')
        names = {e['pid']: e['args']['name'] for e in events if e['name'] == 'process_name'}
        same(names, {d: f'device {d}' for d in range(4)}, 'processes')
        sizes = {}
        for e in events:
            if e['name'] == 'bytes sent':
                check(e['args']['bytes'] >= sizes.get(e['pid'], 0), 'a counter that falls')
                sizes[e['pid']] = e['args']['bytes']
        same(sum(sizes.values()), info['bytes'], 'bytes of the counters')
        check(any(e['name'] == 'bits a value' for e in events), 'no counter of bits')
        if not rounds:
            end = Run('replay', path, '--json').json()['runs'][0]['sim_ps']
            same(max(e['ts'] + e['dur'] for e in events if e['ph'] == 'X'), end, 'the end')
    check('random' in timeline['otherData']['title'], 'title')


# --- csv ---

def table(folder):
    path = record(folder)
    with open(export(path, 'csv', folder + '/t.csv'), encoding='utf-8', newline='') as f:
        rows = list(csv.DictReader(f))
    info = sent(path)
    sends = [r for r in rows if r['stream'] == 'send']
    same(sum(int(r['bytes']) for r in sends), info['bytes'], 'bytes')
    same(sum(int(r['messages']) for r in sends), info['messages'], 'messages')
    for r in rows:
        check(int(r['start_ps']) <= int(r['end_ps']), f'{r}')
        check((r['stream'] == 'send') == (r['op'] == 'send') == (r['peer'] != ''), f'{r}')


# --- smpi ---

def smpi(folder):
    path = record(folder, '--exchange', 'rounds')
    out = export(path, 'smpi', folder + '/smpi')
    with open(out + '/trace.txt', encoding='utf-8') as f:
        names = f.read().split()
    same(names, [f'{d}.txt' for d in range(4)], 'list of files')
    posted, waited, received = [], [], []
    for d, name in enumerate(names):
        with open(f'{out}/{name}', encoding='utf-8') as f:
            text = f.read().splitlines()
        lines = [line.split() for line in text if line[0] != '#']
        same([line for line in text if line[0] == '#'],
             [f'# epoch {e} ends' for e in range(4)], 'marks')
        same({line[0] for line in lines}, {str(d)}, 'ranks')
        same((lines[0][1:], lines[-1][1:]), (['init'], ['finalize']), 'first and last')
        for _, word, *args in lines[1:-1]:
            if word == 'compute':
                check(re.fullmatch(r'\d+\.\d{3}', args[0]), args[0])
            elif word == 'isend':
                posted.append((d, int(args[0]), int(args[1]), int(args[2])))
            elif word == 'irecv':
                received.append((int(args[0]), d, int(args[1]), int(args[2])))
            else:
                same(word, 'wait', 'action')
                waited.append((d, *map(int, args)))
    same(sorted(posted), sorted(received), 'what is sent is received')
    for src, dst, tag, _ in received:
        same(waited.count((dst, src, dst, tag)), 1, 'waits for a receive')
    info = sent(path)
    rings = 4 * 2 * 3 * info['epochs']
    same(len(posted), info['blocks'] + rings, 'sends')


# --- goal ---

GOAL = re.compile(r'(?:num_ranks \d+|rank \d+ \{|\}|'
                  r'l\d+: (?:calc \d+|send \d+b to \d+ tag \d+|recv \d+b from \d+ tag \d+)|'
                  r'l\d+ requires l\d+|// epoch \d+ ends|)$')


def goal(folder):
    """The grammar of LogGOPSim's txt2bin, labels before their use, and that it can run."""
    path = record(folder)
    with open(export(path, 'goal', folder + '/t.goal'), encoding='utf-8') as f:
        lines = f.read().splitlines()
    same(lines[0], 'num_ranks 4', 'first line')
    sends, receives, known, rank = [], [], set(), None
    for line in lines:
        check(GOAL.match(line), f'{line!r} is not in the grammar')
        words = line.split()
        if line.startswith('rank'):
            rank, known = int(words[1]), set()
        elif line.endswith('}'):
            check(known, 'an empty rank')
        elif ': ' in line:
            known.add(words[0][:-1])
            if words[1] in ('send', 'recv'):
                peer, tag = int(words[4]), int(words[6])
                (sends if words[1] == 'send' else receives).append(
                    (rank, peer, tag, words[2]) if words[1] == 'send' else
                    (peer, rank, tag, words[2]))
        elif 'requires' in line:
            check(words[0] in known and words[2] in known and words[0] != words[2], line)
    same(sorted(sends), sorted(receives), 'what is sent is received')


# --- chakra ---

def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """(number, value) of a protobuf message."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            same(key & 7, 2, 'wire type')
            n, at = varint(data, at)
            value, at = data[at:at + n], at + n
        yield key >> 3, value


def deps(values):
    """Packed or not."""
    for v in values:
        if isinstance(v, int):
            yield v
            continue
        at = 0
        while at < len(v):
            one, at = varint(v, at)
            yield one


def chakra(folder):
    """Field numbers and types as published in MLCommons' et_def.proto."""
    path = record(folder)
    if 'protobuf: no' in Run('--version').out:
        Run('trace', 'export', path, '--format', 'chakra', '-o', folder, rc=2, says='protobuf-c')
        return
    export(path, 'chakra', folder + '/et')
    info = sent(path)
    kinds, total = {}, 0
    for d in range(4):
        with open(f'{folder}/et/trace.{d}.et', 'rb') as f:
            data = f.read()
        at, messages = 0, []
        while at < len(data):
            n, at = varint(data, at)
            messages.append(data[at:at + n])
            at += n
        same(dict(fields(messages[0]))[1], b'0.0.4', 'version')
        for i, m in enumerate(messages[1:]):
            node = list(fields(m))
            value = dict(node)
            same(value.get(1, 0), i, 'id')
            kinds[value[3]] = kinds.get(value[3], 0) + 1
            check(all(dep < i for dep in deps(v for k, v in node if k == 5)), 'a cycle')
            attributes = {}
            for k, v in node:
                if k == 10:
                    a = list(fields(v))
                    attributes[a[0][1].decode()] = a[1] if len(a) > 1 else None
            if value[3] == 5:
                same(attributes['comm_dst'][0], 7, 'comm_dst is an int32')
                same(attributes['comm_size'][0], 9, 'comm_size is an int64')
                total += attributes['comm_size'][1]
    same((kinds[5], kinds[6], total), (info['blocks'], info['blocks'], info['bytes']), 'blocks')
    same(kinds[7], 4 * info['epochs'], 'all-reduces')


def refusals(folder):
    path = record(folder)
    for more in (['--format', 'csv'], ['-o', folder + '/x'], ['--format', 'cvs', '-o', folder + '/x']):
        Run('trace', 'export', path, *more, rc=2)
    Run('trace', 'export', path, '--format', 'nosuch', '-o', folder + '/x', rc=2,
        says='chrome, csv, smpi, goal')
    Run('trace', 'export', path, '--format', 'csv', '-o', folder + '/no/x', rc=4)
    Run('trace', 'export', path, '--format', 'smpi', '-o', path, rc=4)
    Run('replay', path, '--chrome', folder + '/no/x', rc=4)
    same(strict_json(Run('trace', 'info', path, '--json').out)['closed'], True, 'the trace')
    same(sorted(os.listdir(folder)), ['t.qht'], 'files')
    no_leftovers(folder)


if __name__ == '__main__':
    sys.exit(main([chrome, table, smpi, goal, chakra, refusals]))
