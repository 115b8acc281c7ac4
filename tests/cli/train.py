#!/usr/bin/env python3
"""train: the summary, the run folder, repeatability, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from support import (GRAPH, QHALO, SMALL, Run, check, close, main, no_leftovers,  # noqa: E402
                     read_csv, same, strict_json, write)

EPOCHS = ('epoch,loss,train_metric,val_metric,test_metric,sim_s,compute_s,comm_s,exposed_comm_s,'
          'quant_s,bytes,messages,mean_bits,rate,floats')
SUMMARY = {
    'schema': str, 'dataset': dict, 'devices': int, 'partition': dict, 'method': str, 'model': str,
    'epochs': int, 'seed': int, 'metric': str, 'best_epoch': int, 'train_metric': float,
    'val_metric': float, 'test_metric': float, 'final_loss': float, 'sim_seconds': float,
    'sim_seconds_per_epoch': float, 'breakdown': dict, 'bytes_sent': int, 'bytes_per_epoch': float,
    'messages': int, 'floats_sent': int, 'compression': float, 'bits_histogram': dict,
    'assignment': type(None), 'break_even_bytes_per_s': type(None), 'compression_pays': type(None),
    'links': list, 'measured': type(None), 'wall_seconds': float, 'peak_rss_bytes': int, 'digest': str}
PARTS = {
    'dataset': ['name', 'nodes', 'edges', 'features', 'classes', 'multilabel'],
    'partition': ['method', 'edge_cut', 'halo_nodes', 'max_inner', 'min_inner'],
    'breakdown': ['compute', 'comm', 'exposed_comm', 'quantize', 'dequantize', 'allreduce', 'assign',
                  'idle']}


def read_json(path):
    with open(path, encoding='utf-8') as f:
        return strict_json(f.read())


def summary_is_the_contract(_):
    s = Run('train', *SMALL, '--json', '--quiet').json()
    same(list(s), list(SUMMARY), 'names')
    for name, kind in SUMMARY.items():
        check(isinstance(s[name], kind), f'{name} is {s[name]!r}')
    for name, parts in PARTS.items():
        same(list(s[name]), parts, name)
    same(s['schema'], 'qhalo.summary/1', 'schema')
    same((s['dataset']['nodes'], s['dataset']['features'], s['dataset']['classes']), (120, 8, 3),
         'dataset')
    same((s['devices'], s['epochs'], s['model'], s['method']), (3, 4, 'gcn', 'vanilla'), 'settings')
    same(s['compression'], 1.0, 'compression of fp32')
    same(s['bits_histogram'], {'32': s['messages']}, 'bits')
    close(s['bytes_per_epoch'] * 4, s['bytes_sent'], 'bytes')
    close(s['sim_seconds_per_epoch'] * 4, s['sim_seconds'], 'time')
    b = s['breakdown']
    close(sum(v for k, v in b.items() if k != 'comm'), s['sim_seconds_per_epoch'], 'breakdown')
    check(len(s['digest']) == 16 and int(s['digest'], 16) >= 0, s['digest'])


def one_device_sends_nothing(_):
    s = Run('train', GRAPH, '--devices', '1', '--epochs', '2', '--hidden', '8', '--json',
            '--quiet').json()
    same((s['bytes_sent'], s['messages'], s['compression'], s['bits_histogram']), (0, 0, None, {}),
         'traffic')


def folder_agrees_with_itself(folder):
    out = folder + '/a/b'
    s = Run('train', *SMALL, '--method', 'int4', '--out', out, '--json', '--quiet').json()
    same(sorted(os.listdir(out)), ['bits.csv', 'epochs.csv', 'links.csv', 'run.json', 'traffic.csv'], 'files')
    run = read_json(out + '/run.json')
    same(run['summary'], s, 'summary in run.json')
    same(run['configuration']['method'], 'int4', 'configuration')
    same(run['configuration']['hidden'], 8, 'configuration')
    same(run['dataset'], GRAPH, 'dataset')
    names, epochs = read_csv(out + '/epochs.csv')
    same(','.join(names), EPOCHS, 'columns')
    same([row['epoch'] for row in epochs], ['0', '1', '2', '3'], 'epochs')
    same(sum(int(row['bytes']) for row in epochs), s['bytes_sent'], 'bytes in epochs.csv')
    same(sum(int(row['messages']) for row in epochs), s['messages'], 'messages in epochs.csv')
    close(sum(float(row['sim_s']) for row in epochs), s['sim_seconds'], 'time in epochs.csv')
    same({row['mean_bits'] for row in epochs}, {'4'}, 'mean bits')
    same(float(epochs[-1]['loss']), json.loads(epochs[-1]['loss']), 'loss')
    names, traffic = read_csv(out + '/traffic.csv')
    same(','.join(names), 'src,dst,layer,direction,messages,bytes', 'columns')
    same(sum(int(row['bytes']) for row in traffic), s['bytes_sent'], 'bytes in traffic.csv')
    same(sum(int(row['messages']) for row in traffic), s['messages'], 'messages in traffic.csv')
    same({row['direction'] for row in traffic}, {'forward', 'backward'}, 'directions')
    check(all(row['src'] != row['dst'] for row in traffic), 'a device sends to itself')
    names, bits = read_csv(out + '/bits.csv')
    same(','.join(names), 'epoch,layer,direction,bits,messages', 'columns')
    same(sum(int(row['messages']) for row in bits), s['messages'], 'messages in bits.csv')
    same({row['bits'] for row in bits}, {'4'}, 'widths')
    no_leftovers(out)


def what_was_sent_is_said(folder):
    """Options in place of a method's parts show in the heading and in run.json."""
    run = Run('train', *SMALL, '--codec', 'int:3', '--out', folder + '/codec')
    check('method vanilla with codec int:3, seed 1' in run.out.splitlines()[0], run.out)
    check('method vanilla with codec int:3, seed 1: ' in run.err, run.err)
    run = read_json(folder + '/codec/run.json')
    parts = {'codec': 'int:3', 'assign': None, 'bits': None, 'strategy': 'sync'}
    same({k: run['effective'][k] for k in parts}, parts, 'parts')
    same(run['summary']['method'], 'vanilla', 'method')
    Run('train', *SMALL, '--assign', 'random', '--overlap', '--bits', '2,8', '--out',
        folder + '/assign', '--quiet')
    run = read_json(folder + '/assign/run.json')
    parts = {'codec': 'mixed', 'assign': 'random', 'bits': '2,8', 'strategy': 'overlap'}
    same({k: run['effective'][k] for k in parts}, parts, 'parts')


def metrics_only_where_evaluated(folder):
    Run('train', *SMALL, '--eval-every', '3', '--out', folder, '--quiet')
    _, epochs = read_csv(folder + '/epochs.csv')
    seen = [row['test_metric'] != '' for row in epochs]
    check(seen[-1] and not all(seen), f'evaluated: {seen}')
    check(all(row['loss'] for row in epochs), 'each epoch has its loss')


def a_second_run_takes_the_place_of_the_first(folder):
    Run('train', *SMALL, '--out', folder, '--quiet')
    Run('train', GRAPH, '--devices', '2', '--epochs', '2', '--hidden', '8', '--out', folder, '--quiet')
    same(len(read_csv(folder + '/epochs.csv')[1]), 2, 'epochs')
    same(read_json(folder + '/run.json')['summary']['devices'], 2, 'devices')
    no_leftovers(folder)


def only_over_a_run(folder):
    """A folder with something else in it stays as it is."""
    other, left = folder + '/other', folder + '/left'
    os.mkdir(other)
    os.mkdir(left)
    for path in [other + '/notes.txt', left + '/epochs.csv']:
        with open(path, 'w', encoding='utf-8') as f:
            f.write('mine')
    for words in [['train', *SMALL], ['compare', *SMALL, '--methods', 'vanilla']]:
        Run(*words, '--out', other, rc=2, says='^qhalo: --out: .*other holds files')
        same(os.listdir(other), ['notes.txt'], 'files')
    Run('train', *SMALL, '--out', left, '--quiet')  # what a killed run left
    Run('compare', *SMALL, '--methods', 'vanilla', '--out', folder + '/cmp', '--quiet')
    os.remove(folder + '/cmp/compare.csv')
    Run('compare', *SMALL, '--methods', 'vanilla', '--out', folder + '/cmp', '--quiet')


def of_host(run):
    """run.json without what may differ between hosts and moments."""
    del run['host']
    for name in ['wall_seconds', 'peak_rss_bytes']:
        del run['summary'][name]
    return run


def repeats(folder):
    """Threads, pinning and the CPU set change nothing but wall times."""
    ways = [['--threads', '1'], ['--threads', '2', '--pin', 'off'], ['--threads', '2']]
    wanted = None
    for i, way in enumerate(ways):
        out = f'{folder}/{i}'
        Run('train', *SMALL, '--method', 'int2', *way, '--out', out, '--quiet',
            env={'OPENBLAS_NUM_THREADS': '8'} if i else {},
            preexec_fn=(lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})) if i == 2
            else None)
        got = [of_host(read_json(out + '/run.json'))]
        for name in ['epochs.csv', 'traffic.csv', 'bits.csv', 'links.csv']:
            with open(f'{out}/{name}', encoding='utf-8') as f:
                got.append(f.read())
        wanted = wanted or got
        same(got, wanted, f'with {way}')


def pinned_where_it_was_told(folder):
    cpus = sorted(os.sched_getaffinity(0))
    n = min(2, len(cpus))
    words = ['train', GRAPH, '--devices', n, '--layers', '2', '--hidden', '8', '--epochs', '2']
    wanted = [cpus[-1], cpus[0]][:n]
    text = ','.join(map(str, wanted))
    run = Run(*words, '--verbose', '--pin', text, '--out', folder)
    for device, cpu in enumerate(wanted):
        check(f'placement: device {device} on CPU {cpu}\n' in run.err, run.err)
    same(read_json(folder + '/run.json')['host']['pin'], text, 'pin in run.json')
    run = Run(*words, '--pin', 'off', '--verbose')
    check('placement: unbound, on CPUs' in run.err, run.err)
    check('placement' not in Run(*words).err, 'placement without --verbose')
    config = write(folder + '/..', os.path.basename(folder) + '.yaml', f'pin: [{", ".join(map(str, wanted))}]\n')
    check(f'device 0 on CPU {wanted[0]}' in Run(*words, '--verbose', '--config', config).err, 'config')
    os.remove(config)
    foreign = next(cpu for cpu in range(1024) if cpu not in cpus)
    for pin, says in [
            ('yes', "--pin: 'yes' has to be on, off, or CPUs such as"),
            (f'{cpus[0]},{cpus[0]}', f'--pin: CPU {cpus[0]} stands there twice'),
            (f'{foreign}', f'--pin: CPU {foreign} is none of the {len(cpus)} that')]:
        Run(*words, '--pin', pin, rc=2, says=says)
    Run('train', GRAPH, '--devices', '2', '--pin', cpus[0], rc=2,
        says=f'--pin: {cpus[0]} has 1 CPUs for 2 devices; each takes one')


def stderr_of_a_pipe(_):
    quiet = Run('train', *SMALL, '--quiet')
    same(quiet.err, '', 'stderr with --quiet')
    check('accuracy' in quiet.out and 'time of an epoch' in quiet.out, quiet.out)
    check(', as in fp32' in quiet.out, quiet.out)
    loud = Run('train', *SMALL)
    check('\r' not in loud.err and '\033' not in loud.err, 'a progress bar went into a pipe')
    for word in ['partition metis: 3 parts', 'halos of', 'in the first epoch']:
        check(word in loud.err, f'no {word!r} before the run: {loud.err}')
    same(loud.out.splitlines()[0], quiet.out.splitlines()[0], 'stdout')


def interrupted(folder):
    """Ctrl-C after a few epochs: 130, and a folder that is closed and says so."""
    words = [QHALO, 'train', GRAPH, '--devices', '2', '--layers', '2', '--hidden', '8', '--epochs',
             '1000000', '--json', '--out', folder]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        deadline = time.time() + 60
        while time.time() < deadline and p.poll() is None:
            path = folder + '/epochs.csv'
            if os.path.exists(path) and len(read_csv_text(path)) > 5:
                break
            time.sleep(0.01)
        check('run.json' not in os.listdir(folder), 'run.json is there before the end')
        p.send_signal(signal.SIGINT)
        out, err = p.communicate(timeout=60)
    same(p.returncode, 130, 'exit status')
    check(err.splitlines()[-1].startswith('qhalo: interrupted after epoch '), err)
    run = read_json(folder + '/run.json')
    same(run['interrupted'], True, 'interrupted')
    same(run['summary'], strict_json(out), 'summary')
    same(len(read_csv(folder + '/epochs.csv')[1]), run['summary']['epochs'], 'epochs')
    same(sum(int(r['bytes']) for r in read_csv(folder + '/traffic.csv')[1]),
         run['summary']['bytes_sent'], 'bytes')
    no_leftovers(folder)


def read_csv_text(path):
    with open(path, encoding='utf-8') as f:
        return f.read().splitlines()


if __name__ == '__main__':
    sys.exit(main([summary_is_the_contract, one_device_sends_nothing, folder_agrees_with_itself,
                   what_was_sent_is_said,
                   metrics_only_where_evaluated, a_second_run_takes_the_place_of_the_first,
                   only_over_a_run, repeats, pinned_where_it_was_told,
                   stderr_of_a_pipe, interrupted]))
