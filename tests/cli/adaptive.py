#!/usr/bin/env python3
"""AdaQP in training: the widths that --lambda, the groups and the network lead to, what choosing
them costs, and that nothing but widths depends on it."""

import os
import struct
import sys

sys.dont_write_bytecode = True
from support import GRAPH, Run, check, close, main, read_csv, same, write  # noqa: E402

COMMON = ['--layers', '2', '--hidden', '16', '--epochs', '6', '--assign-every', '2']
RUN = [GRAPH, '--devices', '3', *COMMON]
BIG = ['synth:sbm,nodes=1500,degree=12,features=24,classes=5', '--devices', '4', '--hidden', '32',
       '--epochs', '5', '--assign-every', '2', '--group-size', '10']

SLOW = """# slow.yaml
model: alphabeta
latency: 1us
bandwidth: 1Mbit/s
"""
FAST = SLOW.replace('1Mbit/s', '100Gbit/s').replace('1us', '1ms')


def summary(*args):
    return Run('train', *args, '--json').json()


def widths(folder, *args):
    """Messages by (epoch, layer, direction) and width."""
    out = os.path.join(folder, 'run')
    Run('train', *args, '--out', out, '--quiet')
    table = {}
    for row in read_csv(os.path.join(out, 'bits.csv'))[1]:
        key = (int(row['epoch']), int(row['layer']), row['direction'])
        table.setdefault(key, {})[int(row['bits'])] = int(row['messages'])
    return table


def only(table, epochs, wanted):
    for key, bits in table.items():
        if key[0] in epochs:
            same(set(bits), {wanted}, f'widths of {key}')


def overlap_changes_no_bit(_):
    for model in ['gcn', 'sage', 'gin']:
        both = [summary(*RUN, '--model', model, '--method', m) for m in ['adaqp-q', 'adaqp']]
        for key in ['digest', 'final_loss', 'bytes_sent', 'bits_histogram']:
            same(both[1][key], both[0][key], f'{model}: {key}')


def threads_change_nothing(_):
    runs = [summary(*BIG, '--method', 'adaqp', *more)
            for more in [['--threads', '1'], ['--threads', '2', '--pin', 'off']]]
    for key in ['digest', 'sim_seconds', 'bytes_sent', 'assignment']:
        same(runs[1][key], runs[0][key], key)


def first_8_bits_then_what_lambda_says(folder):
    for weight, wanted in [('0', 2), ('1', 8)]:
        table = widths(folder, *RUN, '--method', 'adaqp', '--lambda', weight)
        only(table, range(0, 2), 8)
        only(table, range(2, 6), wanted)
    table = widths(folder, *RUN, '--method', 'adaqp', '--bits', '1,5', '--lambda', '0')
    only(table, range(0, 2), 5)
    only(table, range(2, 6), 1)


def odd_groups(folder):
    """Group sizes 1, a prime, and more than any channel has; every epoch; two devices, one."""
    for more in [['--group-size', '1'], ['--group-size', '7'], ['--group-size', '1000000'],
                 ['--assign-every', '1'], ['--devices', '2'], ['--devices', '1'],
                 ['--bits', '4'], ['--bits', '1,2,3,4,5,6,7,8,16,32'], ['--cache-features'],
                 ['--layers', '1'], ['--devices', '40'], ['--exchange', 'rounds']]:
        s = summary(*RUN, '--method', 'adaqp', *more)
        parts = [v for k, v in s['breakdown'].items() if k != 'comm']
        close(sum(parts), s['sim_seconds_per_epoch'], f'parts of an epoch with {more}')
        if more[-1] != '1' or more[0] != '--devices':
            check(s['assignment'] or more == ['--layers', '1', '--cache-features'],
                  f'nothing was chosen with {more}')
    widths_now = widths(folder, *RUN, '--method', 'adaqp', '--group-size', '1000000',
                        '--devices', '2')
    for key, bits in widths_now.items():
        if key[0] >= 2:
            check(len(bits) <= 2, f'one group a channel has one width: {key} {bits}')


def rewrite(path, descr, shape, values, form):
    header = repr({'descr': descr, 'fortran_order': False, 'shape': shape})
    header += ' ' * (-(len(header) + 11) % 64) + '\n'
    with open(path, 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode())
        f.write(struct.pack(f'<{len(values)}{form}', *values))


def two_rings(folder):
    """A graph of two rings of 60 nodes, as a folder, and a file with a part for each."""
    graph = os.path.join(folder, 'graph', '')
    Run('data', 'convert', GRAPH, '-o', graph)
    ends = [60 * (i // 60) + (i + step) % 60 if k else i
            for i in range(120) for step in (1, 59) for k in (0, 1)]
    rewrite(os.path.join(graph, 'edges.npy'), '<i4', (240, 2), ends, 'i')
    return graph, write(folder, 'part', '0\n' * 60 + '1\n' * 60)


def no_cut_nothing_to_choose(folder):
    graph, part = two_rings(folder)
    s = summary(graph, *COMMON, '--devices', '2', '--partitioner', f'file:{part}', '--method',
                'adaqp')
    same(s['messages'], 0, 'messages')
    same(s['bytes_sent'], 16, 'bytes: the sizes of the channels, once')


def equal_values_need_no_bits(folder):
    """The variance of constant rows is 0, however few the bits: the narrowest, even at lambda 1."""
    graph, _ = two_rings(folder)
    rewrite(os.path.join(graph, 'feat.npy'), '<f4', (120, 8), [1.5] * 960, 'f')
    table = widths(folder, graph, *COMMON, '--devices', '2', '--partitioner', 'random', '--method',
                   'adaqp', '--lambda', '1')
    for epoch in range(2, 6):
        same(set(table[(epoch, 0, 'forward')]), {2}, f'input features in epoch {epoch}')
        same(set(table[(epoch, 1, 'forward')]), {8}, f'embeddings in epoch {epoch}')


NODES = """model: loggp
devices: 4
nodes:
  devices_per_node: 2
  intra: {latency: 1us, bandwidth: 100Gbit/s}
  inter: {latency: 1us, bandwidth: 10Gbit/s}
gap: 0us
overhead: 0us
"""


def another_network_other_widths(folder):
    """Where some channels are slower than others. With all alike the weights of the objective are
    relative, and the widths are the same on a fast network and on a slow one."""
    nodes = write(folder, 'nodes.yaml', NODES)
    runs = {net: summary(*BIG, '--method', 'adaqp', '--net', net)
            for net in ['switch-1g', 'switch-100g', nodes]}
    same(runs['switch-1g']['digest'], runs['switch-100g']['digest'], 'on even networks')
    check(runs[nodes]['bits_histogram'] != runs['switch-1g']['bits_histogram'],
          'widths do not mind that links between nodes are slower')


def every_byte_is_counted(folder):
    out = os.path.join(folder, 'run')
    s = summary(*BIG, '--method', 'adaqp', '--out', out)
    traffic = read_csv(os.path.join(out, 'traffic.csv'))[1]
    epochs = read_csv(os.path.join(out, 'epochs.csv'))[1]
    same(sum(int(r['bytes']) for r in traffic), s['bytes_sent'], 'bytes of traffic.csv')
    same(sum(int(r['bytes']) for r in epochs), s['bytes_sent'], 'bytes of epochs.csv')
    chosen = [r for r in traffic if r['direction'] == 'assignment']
    check(chosen and all(int(r['messages']) == 0 for r in chosen), f'assignment: {chosen}')
    check({r['dst'] for r in chosen if r['layer'] == '1'} == {'1', '2', '3'},
          'rank 0 hands widths out')


def costs_are_the_networks(_):
    """10 GB/s inside a server and 50 Gbit/s between them, and a copy to and from the host."""
    a = summary(*BIG, '--method', 'adaqp', '--net', 'adaqp-2x2', '--accelerator', 'v100')['assignment']
    copies = 2 / 12e9
    for got, rate in zip(a['theta_s_per_byte'], [10e9, 6.25e9]):
        check(abs(got / (1 / rate + copies) - 1) < 1e-3, f'theta: {got}, network {rate}')
    check(1e-6 < a['gamma_s'][0] < a['gamma_s'][1] < 1e-3, a['gamma_s'])
    run = Run('train', *BIG, '--method', 'adaqp', '--net', 'switch-1g')
    check('a block     at 125 MB/s + ' in run.out, run.out)
    check('a block' not in Run('train', *BIG, '--method', 'int4', '--net', 'switch-1g').out, 'int4')


def better_than_dealt_at_random(_):
    s = summary(*BIG, '--method', 'adaqp')
    a = s['assignment']
    same(a['assignments'], 2, 'assignments')
    check(0 < a['variance'] < a['shuffled_variance'], f'variance: {a}')
    check(0 <= a['gap'] < 0.1, f'gap: {a}')
    check(s['breakdown']['assign'] > 0, 'choosing takes no time')
    q = summary(*BIG, '--method', 'random')
    same(q['assignment'], None, 'random has no such choice')
    same(q['breakdown']['assign'], 0, 'time of drawing widths')


def break_even(folder):
    slow, fast = write(folder, 'slow.yaml', SLOW), write(folder, 'fast.yaml', FAST)
    cpu = ['--accelerator', 'cpu-core']
    pays = [summary(*BIG, '--method', 'adaqp', '--net', net, *cpu) for net in [slow, fast]]
    same(pays[0]['compression_pays'], True, 'on 1 Mbit/s')
    same(pays[1]['compression_pays'], pays[1]['break_even_bytes_per_s'] is None or
         pays[1]['break_even_bytes_per_s'] > 12.5e9, 'on 100 Gbit/s')
    same(summary(*BIG)['break_even_bytes_per_s'], None, 'of vanilla')
    same(summary(*BIG)['compression_pays'], None, 'of vanilla')


def refusals(_):
    for more, says in [(['--lambda', '1.5'], r'^qhalo: --lambda: 1.5 is out of range'),
                       (['--lambda', 'nan'], r'^qhalo: --lambda: '),
                       (['--group-size', '0'], r'^qhalo: --group-size: 0 is out of range'),
                       (['--assign', 'adaptive:3'], r'^qhalo: --assign: .*takes no argument')]:
        Run('train', GRAPH, '--method', 'adaqp', *more, rc=2, says=says)


if __name__ == '__main__':
    sys.exit(main([overlap_changes_no_bit, threads_change_nothing,
                   first_8_bits_then_what_lambda_says, odd_groups, no_cut_nothing_to_choose,
                   equal_values_need_no_bits, another_network_other_widths, every_byte_is_counted,
                   costs_are_the_networks, better_than_dealt_at_random, break_even, refusals]))
