#!/usr/bin/env python3
"""compare, data, partition and net."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from support import GRAPH, QHALO, SMALL, Run, check, main, no_leftovers, read_csv, same  # noqa: E402


def compare_table(_):
    run = Run('compare', *SMALL, '--methods', 'vanilla,int4,nocomm', '--seeds', '2', '--quiet')
    lines = run.out.splitlines()
    check('test accuracy' in run.out and 'speed-up' in run.out, run.out)
    for method in ['vanilla', 'int4', 'nocomm']:
        row = [line for line in lines if line.startswith(method + ' ')]
        check(len(row) == 1 and ' ± ' in row[0], f'{method}: {row}')
    check(max(map(len, lines)) <= 110, run.out)
    same(run.err, '', 'stderr')


def compare_shows_floats(_):
    run = Run('compare', *SMALL, '--methods', 'vanilla,fixed:4,int4', '--quiet')
    check('floats' in run.out.splitlines()[2] and 'floats: numbers' in run.out, run.out)
    runs = Run('compare', *SMALL, '--methods', 'vanilla,fixed:4,int4', '--quiet', '--json').json()
    vanilla, fixed, int4 = [m['floats_per_epoch'] for m in runs['methods']]
    same(vanilla, int4, 'floats of int4')
    same(fixed, vanilla / 4, 'floats of fixed:4')
    Run('compare', *SMALL, '--methods', 'vanilla,int4', '--quiet', '--rate-schedule', 'const:2', rc=2,
        says='--rate-schedule')


def compare_tells_of_each_run(_):
    lines = Run('compare', *SMALL, '--methods', 'vanilla,int8', '--seeds', '2').err.splitlines()
    same([line.split(': ')[0] for line in lines if 'in the first epoch' in line],
         [f'method {m}, seed {s}' for s in (1, 2) for m in ('vanilla', 'int8')], 'lines')


def compare_json(_):
    r = Run('compare', *SMALL, '--methods', 'vanilla,int4,nocomm', '--seeds', '3', '--seed', '7',
            '--json', '--quiet', '--expect', 'int4.compression>1', '--expect',
            'vanilla.test_metric.mean>=0').json()
    same((r['schema'], r['first_seed'], r['seeds']), ('qhalo.compare/1', 7, 3), 'head')
    same([m['method'] for m in r['methods']], ['vanilla', 'int4', 'nocomm'], 'methods')
    first, int4, nocomm = r['methods']
    for m in r['methods']:
        values = m['test_metric']['values']
        same(len(values), 3, 'seeds')
        check(abs(m['test_metric']['mean'] - sum(values) / 3) < 1e-12, f'mean of {values}')
        parts = sum(m[k] for k in ['compute', 'codec', 'exposed_comm', 'allreduce', 'idle'])
        whole = m['sim_seconds_per_epoch']
        check(0.99 * whole < parts <= whole * (1 + 1e-9), f'parts: {parts} of {whole}')
    same((first['speedup'], nocomm['bytes_per_epoch']), (1.0, 0.0), 'first and last')
    check(int4['bytes_per_epoch'] < first['bytes_per_epoch'], 'int4 sends less')
    # The seeds of a comparison are those of single runs.
    one = Run('train', *SMALL, '--seed', '9', '--method', 'int4', '--json', '--quiet').json()
    same(int4['test_metric']['values'][2], one['test_metric'], 'third seed')


def compare_expectations(_):
    base = ['compare', *SMALL, '--methods', 'vanilla,int4', '--quiet', '--json']
    Run(*base, '--expect', 'int4.speedup>1e6', rc=5, says='int4.speedup is ')


def compare_folder(folder):
    out = folder + '/cmp'
    Run('compare', *SMALL, '--methods', 'vanilla,int8', '--seeds', '2', '--out', out, '--quiet')
    names = sorted(n for n in os.listdir(out) if not n.endswith('.svg'))
    same(names, ['compare.csv', 'int8-seed1', 'int8-seed2', 'vanilla-seed1', 'vanilla-seed2'],
         'files')
    for name in names[1:]:
        same(sorted(os.listdir(f'{out}/{name}')),
             ['bits.csv', 'epochs.csv', 'links.csv', 'run.json', 'traffic.csv'], name)
    _, rows = read_csv(out + '/compare.csv')
    same([row['method'] for row in rows], ['vanilla', 'int8'], 'compare.csv')
    pictures = sorted(n for n in os.listdir(out) if n.endswith('.svg'))
    if shutil.which('gnuplot'):
        same(pictures, ['bytes.svg', 'floats.svg', 'loss.svg', 'metric.svg', 'time.svg'], 'pictures')
        for name in pictures:
            with open(f'{out}/{name}', encoding='utf-8') as f:
                text = f.read()
            check(text.rstrip().endswith('</svg>') and 'vanilla' in text, f'{name} is no picture')
            check(', 3 devices, switch-10g' in text, f'the title of {name}')
    no_leftovers(out)


def compare_without_gnuplot(folder):
    run = Run('compare', *SMALL, '--methods', 'vanilla', '--out', folder, env={'PATH': folder})
    check('gnuplot is not installed' in run.err, run.err)
    check(not any(n.endswith('.svg') for n in os.listdir(folder)), 'a picture all the same')


def data_round_trip(folder):
    """synth -> .qhd -> folder -> info: the same figures, and the same training."""
    qhd, neutral = folder + '/g.qhd', folder + '/neutral/'
    Run('data', 'synth', GRAPH, '-o', qhd, '--quiet')
    Run('data', 'convert', qhd, '-o', neutral, '--quiet')
    infos = [Run('data', 'info', d, '--json').json() for d in (GRAPH, qhd, neutral)]
    for info in infos:
        for changes in ['name', 'source', 'bytes', 'train_bytes_estimate']:
            info.pop(changes)
    same(infos[1], infos[0], '.qhd')
    same(infos[2], infos[0], 'folder')
    same(sum(infos[0]['split'].values()), infos[0]['nodes'], 'split')
    check('memory ' in Run('data', 'info', qhd).out, 'no estimate of memory')
    digests = {Run('train', d, *SMALL[1:], '--json', '--quiet').json()['digest']
               for d in (GRAPH, qhd, neutral)}
    same(len(digests), 1, 'digests')
    no_leftovers(folder)


def synth_without_prefix(folder):
    Run('data', 'synth', GRAPH.removeprefix('synth:'), '--output=' + folder + '/g.qhd', '--quiet')
    check(os.path.getsize(folder + '/g.qhd') > 1000, 'no file')


def over_itself(folder):
    """A data set is not written over itself, by whatever name."""
    qhd, neutral = folder + '/g.qhd', folder + '/neutral'
    Run('data', 'synth', GRAPH, '-o', qhd, '--quiet')
    Run('data', 'convert', qhd, '-o', neutral + '/', '--quiet')
    os.symlink(qhd, folder + '/h.qhd')
    for name, path in [(qhd, qhd), (qhd, folder + '/h.qhd'), (neutral, neutral + '/'),
                       (neutral + '/', folder + '/./neutral')]:
        Run('data', 'convert', name, '-o', path, rc=2, says='^qhalo: -o: .* is the data set itself')
    Run('data', 'convert', qhd, '-o', folder + '/other.qhd', '--quiet')


def interrupted_writing(folder):
    """Ctrl-C while a file is written: 130 and nothing left of it."""
    words = [QHALO, 'data', 'synth', 'synth:arxiv,scale=0.3', '-o', folder + '/g.qhd']
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as p:
        while p.poll() is None and not os.listdir(folder):
            time.sleep(0.0005)
        p.send_signal(signal.SIGINT)
    if p.returncode == 0:
        print('note: the file was written before the signal came')
        return
    same(p.returncode, 130, 'exit status')
    same(os.listdir(folder), [], 'files')


def partition_report(folder):
    p = Run('partition', GRAPH, '--parts', '3', '--json', '-o', folder + '/p.qhp').json()
    same((p['schema'], p['parts'], p['method']), ('qhalo.partition/1', 3, 'metis'), 'head')
    check(0 < p['cut_share'] <= 1 and p['balance'] >= 1, str(p))
    check(p['min_inner'] <= 40 <= p['max_inner'], str(p))
    s = Run('train', *SMALL, '--partition', folder + '/p.qhp', '--json', '--quiet').json()
    same((s['partition']['edge_cut'], s['partition']['halo_nodes']),
         (p['edge_cut'], p['halo_nodes']), 'the partition in a run')
    Run('train', GRAPH, '--devices', '2', '--partition', folder + '/p.qhp', rc=2, says='3 parts')
    other = 'synth:sbm,nodes=121,degree=6,features=8,classes=3'
    Run('train', other, '--devices', '3', '--partition', folder + '/p.qhp', rc=3, says='p.qhp')
    text = Run('partition', GRAPH, '--parts', '3', '--partitioner', 'random').out
    for word in ['cut ', 'halo ', 'boundary ', 'marginal ', 'balance ']:
        check(word in text, f'no {word!r}: {text}')


def nets(folder):
    listed = Run('net', 'list', '--json').json()
    text = Run('net', 'list').out
    for family in ['networks', 'accelerators']:
        check(len(listed[family]) > 1, family)
        for preset in listed[family]:
            name = preset['name']
            check(name in text, f'{name} is not listed')
            check(name in Run('net', 'show', name).out, f'show {name}')
            path = f'{folder}/{name}.yaml'
            with open(path, 'w', encoding='utf-8') as f:
                f.write(Run('net', 'show', name, '--yaml').out)
            Run('net', 'show', path)  # a preset's file can be used as it is
    check('Gbit/s' in Run('net', 'show', 'switch-10g', '--devices', '5').out, 'rate in bits')
    check('peak             15.7 TFLOP/s' in Run('net', 'show', 'v100').out, 'peak')


def address_space(_):
    """OpenBLAS asks for ever where memory is limited: that must be an error, not a hang."""
    small = 400 << 20

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (small, small))

    if b'__asan_init' in open(QHALO, 'rb').read():
        return  # a sanitizer's shadow alone is larger
    Run('train', *SMALL, '--threads', '2', '--quiet', rc=4, says='address space', preexec_fn=limit)


if __name__ == '__main__':
    sys.exit(main([compare_table, compare_shows_floats, compare_tells_of_each_run, compare_json,
                   compare_expectations, compare_folder, compare_without_gnuplot, data_round_trip, synth_without_prefix,
                   over_itself, interrupted_writing, partition_report, nets, address_space]))
