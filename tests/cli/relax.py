#!/usr/bin/env python3
"""Exchanges that do not bring everything at once: what their options give, and what is refused."""

import json
import os
import sys

sys.dont_write_bytecode = True
from support import GRAPH, SMALL, Run, check, main, read_csv, same  # noqa: E402

# Option or method, with figures that leave nothing out: the weights of vanilla.
AS_VANILLA = [
    ['--stale', '0'],
    ['--method', 'pipegcn', '--stale', '0'],
    ['--method', 'pipegcn-gf', '--stale', '0'],
    ['--method', 'sancus', '--skip-bound', '0'],
    ['--method', 'sancus', '--skip-age', '1'],
    ['--skip-bound', '0'],
    ['--method', 'bns:1'],
    ['--boundary-sample', '1'],
    ['--method', 'bns:0.1', '--boundary-sample', '1.0'],
]

# Beside train GRAPH: what stderr says.
REFUSED = [
    (['--stale', '-1'], r'^qhalo: --stale: -1 is out of range'),
    (['--stale', 'one'], r"^qhalo: --stale: 'one' is not a whole number"),
    (['--smooth', '1'], r'^qhalo: --smooth: 1 is out of range'),
    (['--method', 'pipegcn', '--codec', 'drop'], r"^qhalo: --stale: codec 'drop' sends nothing"),
    (['--skip-bound', '-0.1'], r'^qhalo: --skip-bound: -0.1 is out of range'),
    (['--skip-age', '0'], r'^qhalo: --skip-age: 0 is out of range'),
    (['--method', 'sancus', '--codec', 'drop'], r"^qhalo: --skip-bound: codec 'drop' sends nothing"),
    (['--method', 'sancus', '--boundary-sample', '0.5'], r'^qhalo: --boundary-sample: .*skipped'),
    (['--method', 'bns'], r'^qhalo: --method: '),
    (['--method', 'bns:0'], r'^qhalo: --method bns: 0 is out of range'),
    (['--method', 'bns:1.01'], r'^qhalo: --method bns: 1.01 is out of range'),
    (['--method', 'bns:x'], r"^qhalo: --method bns: 'x' is not a number"),
    (['--boundary-sample', '-1'], r'^qhalo: --boundary-sample: -1 is out of range'),
    (['--method', 'bns:0.5', '--stale', '1'], r'^qhalo: --boundary-sample: .*late messages'),
    (['--method', 'bns:0.5', '--assign', 'random'], r'^qhalo: --boundary-sample: .*--assign'),
    (['--method', 'bns:0.5', '--cache-features'], r'^qhalo: --boundary-sample: .*--cache-features'),
    (['--method', 'bns:0.5', '--codec', 'drop'], r'^qhalo: --boundary-sample: .*sends nothing'),
    (['--method', 'pipegcn:2'], r'^qhalo: --method: .* takes no argument'),
]


def summary(*args):
    return Run('train', *SMALL, '--json', *args).json()


def nothing_left_out_is_vanilla(_):
    want = summary()
    for args in AS_VANILLA:
        got = summary(*args)
        same(got['digest'], want['digest'], ' '.join(args))
        same(got['final_loss'], want['final_loss'], ' '.join(args))


def threads_change_nothing(_):
    for method in ['pipegcn', 'pipegcn-gf', 'bns:0.3', 'sancus', 'pipeqs']:
        one, two = (summary('--method', method, '--threads', n) for n in ['1', '2'])
        for key in ['digest', 'sim_seconds', 'bytes_sent']:
            same(one[key], two[key], f'{method}: {key}')


def late_messages_are_hidden(folder):
    """On a network where an epoch is transfer half the time, or less."""
    common = [GRAPH, '--devices', '3', '--hidden', '64', '--epochs', '10', '--net', 'switch-100g']
    vanilla = Run('train', *common, '--json').json()
    late = Run('train', *common, '--json', '--method', 'pipegcn', '--out',
               os.path.join(folder, 'run')).json()
    check(vanilla['breakdown']['exposed_comm'] > 0, 'vanilla has transfers to wait for')
    check(late['breakdown']['exposed_comm'] < vanilla['breakdown']['exposed_comm'] / 10,
          f"exposed: {late['breakdown']} beside {vanilla['breakdown']}")
    same(late['bytes_sent'], vanilla['bytes_sent'], 'bytes')
    with open(os.path.join(folder, 'run', 'run.json'), encoding='utf-8') as f:
        same(json.load(f)['effective']['exchange']['stale'], 1, 'stale')


def a_sample_sends_its_share(_):
    every, half = (summary('--method', m) for m in ['vanilla', 'bns:0.5'])
    share = half['bytes_sent'] / every['bytes_sent']
    check(0.4 < share < 0.6, f'half of the boundary sends {share} of the bytes')
    same(half['messages'] / every['messages'], share, 'share of the messages')
    check(half['breakdown']['compute'] > 0, 'it computes')


# Ways of exchanging, and ways of coding: each pair runs, or is refused in one line.
EXCHANGES = [
    ['--stale', '1'],
    ['--stale', '3', '--overlap'],
    ['--method', 'pipegcn-gf', '--cache-features'],
    ['--skip-bound', '0.5', '--skip-age', '2'],
    ['--skip-bound', '0.5', '--stale', '2'],
    ['--boundary-sample', '0.5', '--overlap'],
]
CODINGS = [['--codec', 'int:4'], ['--codec', 'bf16'], ['--assign', 'random', '--assign-every', '2'],
           ['--assign', 'adaptive', '--assign-every', '2'], ['--input-dropout', '0.5'],
           ['--order', 'transform-first', '--codec', 'int:2'], ['--codec', 'drop'],
           ['--codec', 'mask:4'], ['--rate-schedule', 'linear:8:1:5', '--codec', 'int:4'],
           ['--codec', 'topk:4', '--error-feedback']]


def is_refused(exchange, coding):
    if '--input-dropout' in coding and '--cache-features' in exchange:
        return True
    if '--boundary-sample' in exchange and ('--assign' in coding or '--error-feedback' in coding):
        return True
    return coding[-1] == 'drop'


def ways_go_together_or_are_refused(_):
    for exchange in EXCHANGES:
        for coding in CODINGS:
            args = [*SMALL, *exchange, *coding, '--json']
            if is_refused(exchange, coding):
                Run('train', *args, rc=2, says=r'^qhalo: --')
                continue
            one, two = (Run('train', *args, '--threads', n).json() for n in '12')
            for key in ['digest', 'sim_seconds', 'bytes_sent']:
                same(one[key], two[key], f'{exchange} {coding}: {key}')


def pipeqs_is_both(_):
    both = summary('--method', 'pipeqs', '--assign-every', '2')
    same(summary('--method', 'adaqp-q', '--assign-every', '2', '--stale', '1')['digest'],
         both['digest'], 'digest')
    check(summary('--method', 'pipeqs', '--assign-every', '2', '--stale', '0')['digest'] !=
          both['digest'], 'late messages change nothing')


def skipped_blocks_are_not_sent(folder):
    """Input features never change: they are sent in epochs 0 and 3, the rest in all of them."""
    args = [GRAPH, '--devices', '3', '--layers', '2', '--hidden', '8', '--epochs', '6',
            '--skip-age', '3', '--skip-bound', '1e-9']
    every = Run('train', *args[:-4], '--json').json()
    skip = Run('train', *args, '--json', '--out', folder).json()
    same(skip['digest'], every['digest'], 'digest')
    _, rows = read_csv(os.path.join(folder, 'epochs.csv'))
    messages = [int(row['messages']) for row in rows]
    features = every['messages'] // 6 // 3  # forward in two layers, backward in one
    same(messages, [3 * features, 2 * features, 2 * features] * 2, 'messages of the epochs')


def a_trace_has_the_times_of_the_run(folder):
    """Late, skipped and lost messages are in the records as they were."""
    for method in ['pipegcn', 'sancus', 'bns:0.5', 'pipeqs']:
        trace = os.path.join(folder, 'run.qht')
        Run('train', *SMALL, '--method', method, '--assign-every', '2', '--trace', trace, '--quiet')
        told = Run('trace', 'verify', trace).out
        check('times are those of the run to the picosecond' in told, f'{method}: {told}')


def refusals(_):
    for args, says in REFUSED:  # before the graph is loaded, which may take long
        Run('train', '/no/such/graph', *args, rc=2, says=says)
    Run('compare', GRAPH, '--methods', 'vanilla', '--stale', '1', rc=2,
        says=r'^qhalo: --stale: compare')


if __name__ == '__main__':
    sys.exit(main([nothing_left_out_is_vanilla, threads_change_nothing, late_messages_are_hidden,
                   ways_go_together_or_are_refused, pipeqs_is_both, a_sample_sends_its_share, skipped_blocks_are_not_sent,
                   a_trace_has_the_times_of_the_run, refusals]))
