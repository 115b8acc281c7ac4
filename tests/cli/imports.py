#!/usr/bin/env python3
"""trace import: programs of other tools, with times that can be worked out by hand, and our own
exports, which come back with the times they had."""

import math
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
from support import SMALL, Run, check, close, main, no_leftovers, same, write  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLES = os.path.join(TOP, 'traces', 'samples')

US = 10**6  # picoseconds
L = 10 * US
PLAIN = 'model: alphabeta\nlatency: 10us\nbandwidth: 1GB/s\n'  # a byte takes 1000 ps
STAR = 'model: fairshare\ntopology: star\nlink: {latency: 5us, bandwidth: 1GB/s}\n'
LOGGP = 'model: loggp\nlatency: 5us\noverhead: 2us\ngap: 1us\nbandwidth: 1GB/s\n'


def hop(size):
    return L + 1000 * size


def smpi(folder, ranks, name='s'):
    """A folder as the export makes it; ranks: for each its lines, without its number."""
    where = os.path.join(folder, name)
    os.makedirs(where, exist_ok=True)
    write(where, 'trace.txt', ''.join(f'{r}.txt\n' for r in range(len(ranks))))
    for r, lines in enumerate(ranks):
        write(where, f'{r}.txt', ''.join(f'{r} {line}\n' for line in ['init', *lines, 'finalize']))
    return where


def goal(folder, ranks, name='g.goal'):
    text = f'num_ranks {len(ranks)}\n\n'
    for r, lines in enumerate(ranks):
        text += f'rank {r} {{\n' + ''.join(line + '\n' for line in lines) + '}\n\n'
    return write(folder, name, text)


def take(folder, path, form, *more):
    out = folder + f'/{form}.qht'
    Run('trace', 'import', path, '--format', form, '-o', out, *more)
    Run('trace', 'verify', out)
    return out


def replay(folder, trace, net=PLAIN, *more):
    yaml = write(folder, 'net.yaml', net)
    return Run('replay', trace, '--net', yaml, '--json', *more).json()['runs'][-1]


def ends(folder, ranks, form='smpi', net=PLAIN, more=()):
    path = (smpi if form == 'smpi' else goal)(folder, ranks)
    return replay(folder, take(folder, path, form, *more), net)['sim_ps']


# --- hand-written programs ---

def ping_pong(folder):
    """Around a ring of n, k times; every send is waited for, as every receive is."""
    n, k, size = 3, 5, 4000
    ring = [[], [], []]
    for r in range(n):
        for _ in range(k):
            there = [f'send {(r + 1) % n} 7 {size}', f'recv {(r - 1) % n} 7 {size}']
            ring[r] += there if r == 0 else reversed(there)
    same(ends(folder, ring), k * n * hop(size), 'around the ring')
    ring = [[], [], []]
    for r in range(n):
        for i in range(k):
            ring[r] += [f's{i}: send {size}b to {(r + 1) % n} tag 7',
                        f'r{i}: recv {size}b from {(r - 1) % n} tag 7']
            if r > 0:
                ring[r] += [f's{i} requires r{i}']
            elif i > 0:
                ring[r] += [f's{i} requires r{i - 1}']
    same(ends(folder, ring, 'goal'), k * n * hop(size), 'around the ring')


def tags(folder):
    """Messages meet by tag, not by order: two each way, asked for in the other order."""
    sizes = {1: 1000, 2: 500000}
    ranks = []
    for r in range(2):
        o = 1 - r
        ranks.append([f'isend {o} {t} {sizes[t]}' for t in (2, 1)] +
                     [f'irecv {o} {t} {sizes[t]}' for t in (1, 2)] +
                     [f'wait {o} {r} 1', 'compute 30000', f'wait {o} {r} 2', 'waitall'])
    same(ends(folder, ranks), hop(500000), 'the large one is last')
    ranks = [[line.replace('30000', '900000') for line in lines] for lines in ranks]
    same(ends(folder, ranks), hop(1000) + 900 * US, 'it computes when the small one is there')
    anything = [['send 1 4 100', 'send 1 9 200'], ['recv 0 -1 0', 'recv 0 9 200']]
    same(ends(folder, anything), hop(100) + hop(200), 'any tag, any size')
    anything[1][0] = 'recv 0 -444 1000'
    same(ends(folder, anything), hop(100) + hop(200), "SimGrid's any tag")


def all_to_all(folder):
    """n - 1 messages each way at once: apart on alpha-beta, through one port on a star."""
    n, size = 5, 3000
    tagged = [[f'irecv {o} {10 * o + r} {size}' for o in range(n) if o != r] +
              [f'isend {o} {10 * r + o} {size}' for o in range(n) if o != r] +
              [f'wait {o} {r} {10 * o + r}' for o in range(n) if o != r] for r in range(n)]
    spelt = [[f'alltoall {size} {size}'] for _ in range(n)]
    graph = [[f'recv {size}b from {o} tag {10 * o + r}' for o in range(n) if o != r] +
             [f'send {size}b to {o} tag {10 * r + o} cpu 0 nic 0' for o in range(n) if o != r]
             for r in range(n)]
    for ranks, form in ((tagged, 'smpi'), (spelt, 'smpi'), (graph, 'goal')):
        same(ends(folder, ranks, form), hop(size), 'apart')
        same(ends(folder, ranks, form, STAR), L + (n - 1) * 1000 * size, 'through one port')


def collectives(folder):
    for n in (1, 2, 5, 8):
        log = math.ceil(math.log2(n))
        up = 2 if n == 5 else log  # the fifth rank has no child and sends to the root at once
        many = 1 if n > 1 else 0
        counts = [100 * (r + 1) for r in range(n)]
        listed = ' '.join(map(str, counts))
        # what stands in each rank, and the time by hand
        for action, time in (
                ('barrier', log * hop(1)),
                ('bcast 4000', log * hop(4000)),
                (f'bcast 4000 {n - 1} 1', log * hop(16000)),
                ('reduce 4000 5000', up * hop(4000) + 5 * US),
                ('allreduce 40000 5000 6', 2 * (n - 1) * hop(40000 // n) + 5 * US),
                ('alltoall 700 700 0 0', many * hop(5600)),
                ('gather 300 300', many * hop(300)),
                ('allgather 300 300', (n - 1) * hop(300)),
                (f'allgatherv 300 {listed}', (n - 1) * hop(100 * n)),
                (f'gatherv 300 {listed} {n // 2}', many * hop(300)),
                (f'scatter 300 300 {n - 1} 6 6', many * hop(300)),
                (f'scatterv {listed} 300 0', many * hop(100 * n)),
                (f'reducescatter {listed} 7000', many * hop(100 * n) + 7 * US),
                (f'alltoallv 9 {listed} 9 {listed}', many * hop(100 * n))):
            same(ends(folder, [[action]] * n), time, f'{action} of {n}')
    same(ends(folder, [['gather 300 300']] * 5, net=STAR), L + 4 * 300000, 'gather on a star')
    doubles = [['bcast 10'], ['bcast 10']]
    where = smpi(folder, doubles)
    write(where, '0.txt', '0 init 1\n0 bcast 10\n0 finalize\n')
    write(where, '1.txt', '1 init 1\n1 bcast 10\n1 finalize\n')
    same(replay(folder, take(folder, where, 'smpi'))['sim_ps'], hop(80), 'init 1: in doubles')


def sends(folder):
    """A send is waited for until it has left, unless it is eager."""
    ranks = [['send 1 0 5000', 'compute 20000'], ['compute 90000', 'recv 0 0 5000']]
    same(ends(folder, ranks), 90 * US, 'the receiver is late')
    ranks = [['send 1 0 5000', 'compute 100000'], ['recv 0 0 5000']]
    same(ends(folder, ranks), hop(5000) + 100 * US, 'computes when it has left')
    for eager, time in (('5001B', 100 * US), ('5000B', hop(5000) + 100 * US)):
        same(ends(folder, ranks, more=['--eager', eager]), time, f'--eager {eager}')
    graph = [['a: send 5000b to 1', 'b: calc 100000', 'b requires a'], ['recv 5000b from 0']]
    for eager, time in (('5001B', 100 * US), ('5000B', hop(5000) + 100 * US)):
        same(ends(folder, graph, 'goal', more=['--eager', eager]), time, f'--eager {eager}')
    alone = [['send 0 3 100', 'recv 0 3 100', 'compute 1000']]
    same(ends(folder, alone), US, 'a message to oneself takes no time')
    zero = [['send 1 0 0'], ['recv 0 0 0']]
    same(ends(folder, zero), L, 'an empty message takes its latency')
    overhead = [['isend 1 0 1000', 'waitall'], ['irecv 0 0 1000', 'waitall']]
    same(ends(folder, overhead, net=LOGGP), ends(folder, [['send 1 0 1000'], ['recv 0 0 1000']],
                                                 net=LOGGP), 'send and isend with overheads')


def speeds(folder):
    ranks = [['compute 3e9', 'sleep 0.25', 'compute 0.001']]
    same(ends(folder, ranks), 3250 * 10**9 + 1, 'a flop is a nanosecond')
    same(ends(folder, ranks, more=['--speed', '6GFLOP/s']), 750 * 10**9, '6 GFLOP/s')
    week = [['compute 6e14']]
    same(ends(folder, week), 6 * 10**17, 'a week, to the picosecond')
    trace = take(folder, smpi(folder, [['compute 1000']] * 2), 'smpi')
    same(replay(folder, trace, PLAIN, '--scale-compute', '3')['sim_ps'], 3 * US, 'three times')
    yaml = write(folder, 'net.yaml', PLAIN)
    Run('replay', trace, '--net', yaml, '--accelerator', 't4', rc=2, says='--scale-compute')
    Run('replay', trace, rc=2, says='--net: .* name one')


def graphs(folder):
    """What of a goal graph waits for what."""
    start = [['c: calc 500000', 's: send 2000b to 1', 's irequires c', 't: send 3000b to 1 tag 1',
              't irequires s', 'u: send 50b to 1 tag 2', 'u requires c'],
             ['recv 3000b from 0 tag 1', 'recv 2000b from 0', 'x: recv 50b from 0 tag 2 cpu 0 nic 0']]
    same(ends(folder, start, 'goal'), 500 * US + hop(50), 'u goes when c is done')
    start[0] = start[0][:5]
    start[1] = start[1][:2]
    trace = take(folder, goal(folder, [start[0], start[1] + ['d: calc 1000', 'e: calc 1']]), 'goal')
    same(replay(folder, trace)['sim_ps'], 500 * US, 's and t go when c begins')
    late = [['send 2000b to 1'],
            ['b: calc 70000', 'b requires r', 'r: recv 2000b from 0', 'a: calc 30000',
             'c: calc 20', 'c irequires a']]
    same(ends(folder, late, 'goal'), 30 * US + 20000 + 70 * US, 'a goes before it waits')
    n = 16
    barrier = []  # as LogGOPSim's own example has it
    for r in range(n):
        lines = []
        for i in range(4):
            lines += [f'l{2 * i + 1}: send 1b to {(r + 2**i) % n} tag 0']
            lines += [f'l{2 * i + 1} requires l{2 * i}'] if i else []
            lines += [f'l{2 * i + 2}: recv 1b from {(r - 2**i) % n} tag 0']
        barrier.append(lines)
    same(ends(folder, barrier, 'goal'), 4 * hop(1), 'dissemination')
    odd = ('/* two\nlines */ num_ranks  2\nrank 1 {\r\n a : recv 8 b from 0 // said so\n}\n// x\n'
           'rank 0 { /* no label */ send 8b to 1 tag 0 cpu 3 nic 2\ncalc 5 }\n')
    run = Run('trace', 'import', write(folder, 'o.goal', odd), '--format', 'goal', '-o',
              folder + '/o.qht', says='o.goal:7: more than one cpu')
    same(run.err.count('\n'), 1, 'one warning')
    same(replay(folder, folder + '/o.qht')['sim_ps'], hop(8), 'odd, but right')


def one_file(folder):
    """All ranks in one file, by itself or named in a list of one."""
    text = '# by hand\n\n0 init\n1 init\n1 recv 0 3 100\n0 send 1 3 100\n0 compute 5\n1 barrier\n0 barrier\n'
    whole = write(folder, 'all.txt', text)
    listed = write(folder, 'list', 'all.txt\n')
    for path in (whole, listed):
        same(replay(folder, take(folder, path, 'smpi'))['sim_ps'], hop(100) + 5000 + hop(1), path)


# --- our own, there and back ---

def recorded(folder):
    """What was recorded, and what is left of it: devices, epochs."""
    yield from (os.path.join(SAMPLES, name + '.qht')
                for name in ('vanilla', 'int4', 'adaqp', 'varco', 'pipegcn'))
    for i, more in enumerate((['--method', 'random', '--overlap'], ['--devices', '1'],
                              ['--net', 'nvlink-box', '--devices-slow', '1:3'])):
        path = f'{folder}/{i}.qht'
        Run('train', *SMALL, *more, '--trace', path, '--quiet')
        yield path


def there_and_back(folder):
    """smpi: every time comes back, to the picosecond. goal: calc counts nanoseconds and what is cut
    off goes to the next one, so that what a message waits for is less than that late or early."""
    nets = {'plain': PLAIN, 'star': STAR, 'loggp': LOGGP, 'wan': None}
    for path in recorded(folder):
        Run('trace', 'export', path, '--format', 'smpi', '-o', folder + '/x')
        Run('trace', 'export', path, '--format', 'goal', '-o', folder + '/x.goal')
        back = take(folder, folder + '/x', 'smpi')
        graph = take(folder, folder + '/x.goal', 'goal')
        was = Run('trace', 'info', path, '--json').json()
        layers = was['head']['configuration']['layers']
        waits = was['epochs'] * (2 * layers + 2 * was['devices'] + 2)
        now = Run('trace', 'info', back, '--json').json()
        same((now['devices'], now['epochs']), (was['devices'], was['epochs']), path)
        for name, net in nets.items():
            yaml = write(folder, name + '.yaml', net) if net else name
            runs = [Run('replay', t, '--net', yaml, '--json', '--quiet').json()['runs'][-1]
                    for t in (path, back, graph)]
            same(runs[1]['sim_ps'], runs[0]['sim_ps'], f'{path} on {name}')
            check(abs(runs[2]['sim_ps'] - runs[0]['sim_ps']) <= 1000 * waits,
                  f'{path} on {name}: {runs[2]["sim_ps"]}, not {runs[0]["sim_ps"]}')
            parts = runs[0]['breakdown']
            if parts['assign'] == 0:  # else some of that is messages
                close(runs[1]['breakdown']['compute'],
                      parts['compute'] + parts['quantize'] + parts['dequantize'], 'computing')


def others_read_it(folder):
    """What was imported works like a recording."""
    out = take(folder, smpi(folder, [['alltoall 10 10', 'allreduce 80 0']] * 4), 'smpi')
    info = Run('trace', 'info', out, '--json').json()
    same((info['devices'], info['epochs'], info['blocks'], info['bytes'], info['closed']),
         (4, 1, 12, 120, True), 'info')
    same(info['head']['imported'], {'format': 'smpi', 'input': 's', 'speed': '1GFLOP/s',
                                    'eager': '0B'}, 'where it came from')
    check('imported from s (smpi)' in Run('trace', 'info', out).out, 'info in words')
    check('imported from s' in Run('replay', out, '--net', 'switch-10g').out, 'replay in words')
    for form in ('goal', 'smpi'):
        Run('trace', 'export', out, '--format', form, '-o', folder + '/' + form)
    if 'protobuf: yes' in Run('--version').out:
        Run('trace', 'export', out, '--format', 'chakra', '-o', folder + '/chakra')
    for form in ('chrome', 'csv'):
        Run('trace', 'export', out, '--format', form, '-o', folder + '/e', rc=2, says='--net')
        Run('trace', 'export', out, '--format', form, '-o', folder + '/e', '--net', 'switch-10g')
    with open(folder + '/e', encoding='utf-8') as f:
        check(',request,' in f.read(), 'csv says request')
    time = replay(folder, out)['sim_ps']
    same(replay(folder, out, PLAIN, '--exchange', 'rounds')['sim_ps'], time, 'rounds are not for it')
    tree = replay(folder, out, PLAIN, '--allreduce', 'tree')['sim_ps']
    same(tree - hop(10), 4 * hop(80), 'an all-reduce stays one, which a tree can do')
    Run('trace', 'export', out, '--format', 'smpi', '-o', folder + '/again')
    again = take(folder, folder + '/again', 'smpi')
    same(replay(folder, again)['sim_ps'], time, 'out and in again')


# --- beside SimGrid, where it is ---

PLATFORM = '''<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="all" routing="Full">
<cluster id="star" prefix="d" suffix="" radical="0-{last}" speed="1Gf" lat="5us" bw="1GBps"
 sharing_policy="SPLITDUPLEX" router_id="r"/></zone></platform>
'''
# No factors, as in tools/bench_replay; a send is done when it has left.
CONFIG = ['network/model:CM02', 'network/optim:Full', 'network/bandwidth-factor:1',
          'network/latency-factor:1', 'network/weight-S:0', 'network/crosstraffic:0',
          'smpi/bw-factor:0:1', 'smpi/lat-factor:0:1', 'smpi/os:0:0:0', 'smpi/or:0:0:0',
          'smpi/ois:0:0:0', 'smpi/init:0', 'smpi/async-small-thresh:0',
          'smpi/send-is-detached-thresh:0', 'surf/precision:1e-12']


def smpirun(folder, n):
    write(folder, 'platform.xml', PLATFORM.format(last=n - 1))
    write(folder, 'hosts', ''.join(f'd{r}\n' for r in range(n)))
    done = subprocess.run(['smpirun', '-replay', 'trace.txt', '-np', str(n), '-platform',
                           'platform.xml', '-hostfile', 'hosts',
                           *(f'--cfg={c}' for c in CONFIG), '--log=smpi_replay.thres:info'],
                          cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r'Simulation time ([\d.e+-]+)', done.stdout + done.stderr)
    check(found, f'smpirun: {done.stdout[-500:]}{done.stderr[-500:]}')
    return float(found.group(1))


def beside_simgrid(folder):
    """The same program there and here, on one switch. Of collectives, those whose algorithms are the
    same."""
    if not shutil.which('smpirun'):
        print('no smpirun here: not compared with SimGrid')
        return
    n = 5
    for i, lines in enumerate((
            ['bcast 40000'], ['bcast 4000 3 6'], ['gather 3000 3000'], ['scatter 3000 3000 1'],
            ['alltoall 3000 3000'], ['compute 1e6', 'alltoall 500 500', 'sleep 1e-4'])):
        where = smpi(folder, [lines] * n, f's{i}')
        close_to(replay(folder, take(folder, where, 'smpi'), STAR), smpirun(where, n), lines)
    ring = [[f'irecv {(r - 1) % n} 3 {9000 * (r or n)}', f'compute {1000 * r}',
             f'isend {(r + 1) % n} 3 {9000 * (r + 1)}', f'wait {r} {(r + 1) % n} 3',
             'compute 5000', f'wait {(r - 1) % n} {r} 3'] for r in range(n)]
    where = smpi(folder, ring, 'ring')
    close_to(replay(folder, take(folder, where, 'smpi'), STAR), smpirun(where, n), 'ring')
    Run('trace', 'export', os.path.join(SAMPLES, 'varco.qht'), '--format', 'smpi', '-o',
        folder + '/x')
    here = replay(folder, take(folder, folder + '/x', 'smpi'), STAR)
    close_to(here, smpirun(folder + '/x', 8), 'an export', 0.01)


def close_to(run, seconds, what, off=2e-4):
    check(abs(run['sim_seconds'] / seconds - 1) <= off,
          f'{what}: {run["sim_seconds"]} here, {seconds} in SimGrid')


# --- what is refused ---

def refusals(folder):
    def bad(form, ranks, says, **more):
        path = (smpi if form == 'smpi' else goal)(folder, ranks)
        run = Run('trace', 'import', path, '--format', form, '-o', folder + '/bad.qht', rc=3,
                  says=says, **more)
        same(run.err.count('\n'), 1, f'lines of {run.err!r}')
        check(not os.path.exists(folder + '/bad.qht'), 'a file is left')

    # in the second line of rank 0, behind init
    for line, says in (
            ('send 1 0', 'send takes 3 to 4 arguments, and here are 2'),
            ('send 7 0 10', 'there is no rank 7; ranks are 0 to 1'),
            ('send x 0 10', "the rank is 'x'"), ('send 1 -1 10', "the tag is '-1'"),
            ('send 1 0.5 10', "the tag is '0.5'"), ('send 1 0 -3', "the size is '-3'"),
            ('send 1 0 nan', "the size is 'nan'"), ('send 1 0 1e40', "the size is '1e40'"),
            ('send 1 0 1 99', "the data type is '99'"), ('recv -555 0 1', 'MPI_ANY_SOURCE'),
            ('compute', 'compute takes 1 to 1'), ('compute -5', "the number of flops is '-5'"),
            ('compute 1e18', 'outlasts virtual time'), ('wait 0 1 3', 'has no isend or irecv'),
            ('jump 1', "there is no action 'jump'"), ('bcast 1 2', "the root is '2'"),
            ('alltoallv 1 2 3', 'alltoallv takes 6 to 8 arguments'),
            ('send 1 3 10', 'rank 0 sends to rank 1 with tag 3 what that never receives'),
            ('recv 1 3 10', 'rank 0 receives from rank 1 with tag 3 what that never sends')):
        bad('smpi', [[line], []], rf'^qhalo: {folder}/s/0.txt:2: .*{re.escape(says)}')
    bad('smpi', [['send 1 0 10'], ['recv 0 0 9']], '1.txt:2: a receive of 9 bytes for a message of '
        '10 .sent at .*0.txt:2')
    bad('smpi', [['barrier'], ['bcast 1']], '1.txt:2: collective 1 of rank 1 is bcast .*barrier')
    bad('smpi', [['bcast 1 0'], ['bcast 1 1']], '1.txt:2: .*root 1.* root 0 ')
    bad('smpi', [['barrier'], []], 'rank 1 takes part in 0 collectives, and rank 0 .* in 1')
    bad('smpi', [['allreduce 8 0'], ['allreduce 9 0']], 'an all-reduce of')
    bad('smpi', [['recv 1 0 1', 'send 1 0 1'], ['recv 0 0 1', 'send 0 0 1']],
        '0.txt:2: deadlock: rank 0 waits for rank 1 .*0.txt:2.; rank 1 waits for rank 0 .*1.txt:2')
    bad('smpi', [['allreduce 8 0', 'send 1 0 1'], ['recv 0 0 1', 'allreduce 8 0']],
        'deadlock: rank . waits for rank .* waits for rank')
    # in the first line of rank 0, which is the fourth of the file
    for line, says in (
            ('a b', "'b' where a colon, requires or irequires has to stand"),
            ('a: jump', "'jump' where calc, send or recv"), ('calc -5', "'-5' where a number of"),
            ('calc 9999999999999999', 'a number of nanoseconds'), ('calc', 'a number of nanoseconds'),
            ('send 5 to 1', "'to' where b"), ('send 5b from 1', "'from' where to"),
            ('send 5b to 2', "'2' where a rank"), ('send 5b to 1 tag -1', "'-1' where a tag"),
            ('recv 5b from -1', 'recv from -1'), ('send 5b to 1 cpu 300', "'300' where"),
            ('send 5b to 1 nic 0 tag 1', "'tag' where"), ('calc 5 nic 1', "'nic' where"),
            ('a requires b', "there is no label 'a'"), ('9: calc 5', "'9' where"),
            ('send 5b to 1', 'rank 0 sends to rank 1 with tag 0 what that never receives')):
        bad('goal', [[line], ['calc 1']], rf'^qhalo: {folder}/g.goal:4: .*{re.escape(says)}')
    bad('goal', [['a: calc 1', 'a: calc 2'], []], "g.goal:5: there is a label 'a' already, at line 4")
    bad('goal', [['a: calc 1', 'b: calc 2', 'a requires b', 'b requires a'], []],
        'g.goal:4: this operation never begins')
    bad('goal', [['a: recv 1b from 1', 'b: send 1b to 1', 'b requires a']] * 1 +
        [['a: recv 1b from 0', 'b: send 1b to 0', 'b requires a']], 'deadlock: rank 0 waits for')
    for text, says in (('', '1: num_ranks is missing'), ('num_ranks 0\n', 'a number of ranks'),
                       ('num_ranks 70000\n', 'a number of ranks'),
                       ('num_ranks 2\nrank 0 {\n}\n', 'rank 1 of 2 is missing'),
                       ('num_ranks 1\nrank 0 {\n', ':2: the rank that begins here has no }'),
                       ('num_ranks 1\nrank 0 {\n}\nrank 0 {\n}\n', ':4: rank 0 was there before'),
                       ('num_ranks 1\nrank 1 {\n}\n', ":2: '1' where the number of a rank")):
        Run('trace', 'import', write(folder, 'e.goal', text), '--format', 'goal', '-o',
            folder + '/bad.qht', rc=3, says=says)
    for text, says in (('', 'names no file'), ('# a list\nnosuch.txt\nother.txt\n', ":2: there is no file 'nosuch.txt'"),
                       ('0 init\n5\n', ':2: the action is missing'),
                       ('0 init\nx compute 5\n', ":2: 'x' is no rank"),
                       ('0 finalize\n0 compute 5\n', ':2: rank 0 goes on behind finalize')):
        Run('trace', 'import', write(folder, 'list', text), '--format', 'smpi', '-o',
            folder + '/bad.qht', rc=3, says=says)
    where = smpi(folder, [['compute 1'], ['compute 1']])
    write(where, '1.txt', '0 compute 1\n')
    Run('trace', 'import', where, '--format', 'smpi', '-o', folder + '/bad.qht', rc=3,
        says='1.txt:1: a line of rank 0 in the file of rank 1')


def usage(folder):
    path = smpi(folder, [['compute 1']])
    for words, says in ((['--format', 'smpi'], '-o: '), (['-o', 'x'], '--format: '),
                        (['--format', 'smpj', '-o', 'x'], 'did you mean smpi'),
                        (['--format', 'csv', '-o', 'x'], 'smpi or goal'),
                        (['--format', 'smpi', '-o', path + '/0.txt'], 'is no trace'),
                        (['--format', 'smpi', '-o', 'x', '--speed', '5'], '--speed'),
                        (['--format', 'smpi', '-o', 'x', '--speed', '0FLOP/s'], '--speed'),
                        (['--format', 'smpi', '-o', 'x', '--eager', '5'], '--eager')):
        Run('trace', 'import', path, *words, rc=2, says=says)
    Run('trace', 'import', folder + '/nosuch', '--format', 'smpi', '-o', 'x', rc=3, says='nosuch')
    Run('trace', 'import', path, '--format', 'smpi', '-o', '/dev/full', rc=4, says='/dev/full')
    no_leftovers(folder)


def marks(folder):
    """Ends of epochs, where comments say so."""
    ranks = [['compute 1000\n# epoch 4 ends', f'{s} 5 100\n# epoch 5 ends'] for s in
             ('isend 1', 'irecv 0')]
    ranks[1][1] = 'irecv 0 5 100\n1 wait 0 1 5\n# epoch 5 ends'
    trace = take(folder, smpi(folder, ranks), 'smpi')
    info = Run('trace', 'info', trace, '--json').json()
    same([(e['epoch'], e['bytes']) for e in info['epoch_table']], [(4, 0), (5, 100)], 'epochs')
    same(replay(folder, trace)['sim_ps'], US + hop(100), 'time')
    for wrong, says in (('# epoch 5 ends', 'epoch 5 ends where epoch 4'),
                        ('', 'rank 1 marks the ends of 0 epochs, and rank 0 of 1')):
        bad = smpi(folder, [['compute 1\n# epoch 4 ends'], [f'compute 1\n{wrong}']])
        Run('trace', 'import', bad, '--format', 'smpi', '-o', folder + '/x.qht', rc=3, says=says)
    graph = goal(folder, [['a: calc 1000', '// epoch 0 ends', '// epoch 1 ends', 'b: calc 5',
                           'a requires b']])
    Run('trace', 'import', graph, '--format', 'goal', '-o', folder + '/x.qht', rc=3,
        says='g.goal:4: this operation never begins')


if __name__ == '__main__':
    sys.exit(main([ping_pong, tags, all_to_all, collectives, sends, speeds, graphs, one_file,
                   there_and_back, others_read_it, beside_simgrid, refusals, usage, marks]))
