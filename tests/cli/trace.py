#!/usr/bin/env python3
"""train --trace, trace and replay: what is recorded is what ran, and what was cut short says so."""

import os
import resource
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from support import (GRAPH, QHALO, SMALL, Run, check, close, main, no_leftovers, same,  # noqa: E402
                     strict_json)


def record(folder, name, *more):
    path = f'{folder}/{name}.qht'
    run = Run('train', *SMALL, '--trace', path, '--json', '--quiet', *more)
    return path, run.json()


def recorded_is_what_ran(folder):
    for i, more in enumerate(([], ['--method', 'random', '--assign-every', '2', '--trace-payload'],
                              ['--method', 'int4', '--overlap', '--net', 'adaqp-2x2', '--devices',
                               '4', '--exchange', 'rounds'], ['--devices', '1'])):
        path, summary = record(folder, str(i), *more)
        plain = [m for m in more if m != '--trace-payload']
        without = Run('train', *SMALL, '--json', '--quiet', *plain).json()
        same(summary['digest'], without['digest'], 'digest with and without --trace')
        same(summary['sim_seconds'], without['sim_seconds'], 'time with and without --trace')
        again = Run('replay', path, '--json').json()
        same(again['traces'][0]['times_of_the_run'], True, f'the times of {more}')
        run = again['runs'][0]
        same(run['sim_seconds'], summary['sim_seconds'], 'simulated seconds')
        same(run['breakdown'], summary['breakdown'], 'breakdown')
        same(run['bytes'], summary['bytes_sent'], 'bytes')
        close(sum(run['critical_path'].values()), summary['sim_seconds_per_epoch'], 'critical path')
        same(run['messages'], summary['messages'], 'messages')
        info = Run('trace', 'info', path, '--json').json()
        same(info['bits_histogram'], summary['bits_histogram'], 'bits')
        same((info['closed'], info['epochs'], info['payload']),
             (True, 4, '--trace-payload' in more), 'info')
        close(sum(e['sim_seconds'] for e in info['epoch_table']), summary['sim_seconds'], 'epochs')
        same(info['head']['configuration']['seed'], 1, 'seed in the head')
        same(sum(info['head']['partition']['nodes_of_device']), 120, 'nodes of the parts')
        verified = Run('trace', 'verify', path, '--json').json()
        same(verified['epochs_of_same_time'], 4, 'epochs of the same time')
        check('to the picosecond' in Run('trace', 'verify', path).out, 'verify in words')
        check('devices' in Run('trace', 'info', path).out, 'info in words')
    no_leftovers(folder)


def same_run_same_file(folder):
    a, _ = record(folder, 'a', '--method', 'random', '--threads', '1')
    b, _ = record(folder, 'b', '--method', 'random', '--threads', '2')
    with open(a, 'rb') as x, open(b, 'rb') as y:
        same(x.read() == y.read(), True, 'the bytes of two recordings')


def what_if(folder):
    path, summary = record(folder, 'a', '--net', 'switch-1g')
    other = Run('train', *SMALL, '--net', 'wan', '--accelerator', 't4', '--exchange', 'rounds',
                '--json', '--quiet').json()
    runs = Run('replay', path, '--net', 'wan', '--net', 'switch-1g', '--accelerator', 't4',
               '--exchange', 'rounds', '--json').json()['runs']
    same([r['net'] for r in runs], ['switch-1g', 'wan', 'switch-1g'], 'networks')
    same(runs[1]['sim_seconds'], other['sim_seconds'], 'a replay and a run over there')
    close(runs[1]['speedup_over_recorded'], summary['sim_seconds'] / other['sim_seconds'],
          'speed-up')
    base = runs[0]['breakdown']
    slow = Run('replay', path, '--scale-compute', '3', '--json').json()['runs'][1]['breakdown']
    close(slow['compute'], 3 * base['compute'], 'computing times 3')
    close(slow['quantize'], 3 * base['quantize'], 'coding times 3')
    one = Run('replay', path, '--devices-slow', '1:4,2-2:1', '--json').json()['runs'][1]
    check(one['breakdown_max']['compute'] > 3.5 * base['compute'], 'the slow device')
    close(one['breakdown_max']['compute'] / 4,
          Run('replay', path, '--json').json()['runs'][0]['breakdown_max']['compute'], 'x 4')
    big = Run('replay', path, '--scale-bytes', '2', '--json').json()['runs'][1]
    same(big['bytes'], 2 * summary['bytes_sent'], 'twice the bytes')
    identity = Run('replay', path, '--scale-bytes', '1', '--devices-slow', '0-2:1', '--json').json()
    same(identity['runs'][1]['sim_ps'], runs[0]['sim_ps'], 'factors of 1')
    out = Run('replay', path, '--net', 'wan', '--scale-bytes', '2').out
    check('changed: bytes of blocks x 2' in out, out)


def several_traces(folder):
    a, _ = record(folder, 'a', '--net', 'switch-1g')
    b, _ = record(folder, 'b', '--net', 'switch-10g', '--method', 'int2')
    for threads in (1, 2, 5):
        all_ = Run('replay', a, b, '--net', 'wan', '--threads', threads, '--json').json()
        same([(r['trace'], r['net']) for r in all_['runs']],
             [(0, 'switch-1g'), (0, 'wan'), (1, 'switch-10g'), (1, 'wan')], 'lines')
        ratio = all_['runs'][1]['sim_seconds'] / all_['runs'][3]['sim_seconds']
        close(all_['runs'][3]['speedup_over_first'], ratio, 'over the first trace')
    diff = Run('trace', 'diff', a, b, '--json').json()
    same(sorted(diff['settings']), ['method', 'net'], 'settings that differ')
    same(diff['first_difference']['device'], 0, 'first difference')
    same(Run('trace', 'diff', a, a, '--json').json()['first_difference'], None, 'with itself')
    check('the records are the same' in Run('trace', 'diff', a, a).out, 'with itself')
    check('first difference: device 0' in Run('trace', 'diff', a, b).out, 'in words')


def killed(folder):
    """SIGKILL in epoch 7 of 10: six are whole."""
    path = folder + '/k.qht'
    words = [QHALO, 'train', 'synth:sbm,nodes=6000,features=32,classes=4', '--devices', '2',
             '--hidden', '96', '--epochs', '10', '--quiet', '--trace', path]
    for _ in range(10):
        with subprocess.Popen(words, stdout=subprocess.DEVNULL) as p:
            epochs = 0
            while p.poll() is None and epochs < 6:
                time.sleep(0.002)
                done = subprocess.run([QHALO, 'trace', 'info', path + '.part', '--json'],
                                      capture_output=True, text=True, check=False)
                epochs = strict_json(done.stdout)['epochs'] if done.returncode == 0 else 0
            p.send_signal(signal.SIGSTOP)
            time.sleep(0.01)
            info = Run('trace', 'info', path + '.part', '--json').json() if p.poll() is None else {}
            p.kill()
        if info.get('epochs') == 6:
            break
    same(os.path.exists(path), False, 'a file under the final name')
    info = Run('trace', 'info', path + '.part', '--json', says='was not closed').json()
    same((info['epochs'], info['closed']), (6, False), 'whole epochs')
    Run('trace', 'verify', path + '.part', rc=3, says='6 whole epochs')
    Run('trace', 'verify', path + '.part', '--partial', says='was not closed')
    again = Run('replay', path + '.part', '--json').json()
    same(again['traces'][0]['epochs'], 6, 'epochs of the replay')
    os.rename(path + '.part', path)
    Run('replay', path, rc=3, says='--partial does$')
    same(Run('replay', path, '--partial', '--json').json()['traces'][0]['epochs'], 6, 'with --partial')
    with open(path, 'r+b') as f:
        f.truncate(os.path.getsize(path) - 5)
    Run('replay', path, rc=3, says='whole epochs can be read')


def interrupted(folder):
    """Ctrl-C closes the trace."""
    path = folder + '/i.qht'
    words = [QHALO, 'train', GRAPH, '--devices', '2', '--layers', '2', '--hidden', '8', '--epochs',
             '1000000', '--quiet', '--trace', path]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as p:
        deadline = time.time() + 60
        while time.time() < deadline and p.poll() is None and not (
                os.path.exists(path + '.part') and os.path.getsize(path + '.part') > 6000):
            time.sleep(0.01)
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
    same(p.returncode, 130, 'exit status')
    same(os.listdir(folder), ['i.qht'], 'files')
    info = Run('trace', 'info', path, '--json').json()
    check(info['closed'] and info['epochs'] > 3, 'a closed trace')
    same(Run('replay', path, '--json').json()['traces'][0]['times_of_the_run'], True, 'its times')


def a_full_disk(folder):
    path = folder + '/f.qht'
    limit = {'preexec_fn': lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12000, 12000))}
    Run('train', *SMALL[:-1], '400', '--method', 'random', '--assign-every', '1', '--quiet',
        '--trace', path, rc=4, says=r'f.qht.part: could not be written', **limit)
    same(os.listdir(folder), ['f.qht.part'], 'files')
    check(Run('trace', 'info', path + '.part', '--json').json()['epochs'] > 0, 'epochs')
    Run('train', *SMALL, '--quiet', '--trace', '/dev/full', rc=4, says='No space left')
    Run('train', *SMALL, '--quiet', '--trace', folder + '/no/such/x.qht', rc=4, says='cannot be')


def damaged(folder):
    """Cut anywhere, with any bit turned: a named error, or the epochs that are whole (what a command
    has no use for, it does not look at; verify looks at all). Never another table."""
    path, _ = record(folder, 'd', '--method', 'random', '--trace-payload')
    with open(path, 'rb') as f:
        data = f.read()
    right = Run('trace', 'info', path, '--json').json()['epoch_table']
    same(len(right), 4, 'epochs')
    reached = set()
    for i in range(60):
        at = len(data) * i // 61 + i % 7
        cut = data[:at]
        turned = data[:at] + bytes([data[at] ^ 1 << i % 8]) + data[at + 1:]
        for wrong in (cut, turned):
            with open(path, 'wb') as f:
                f.write(wrong)
            Run('trace', 'verify', path, rc=3, says=r'd\.qht')
            for more in ([], ['--partial']):
                done = subprocess.run([QHALO, 'trace', 'info', path, '--json', *more],
                                      capture_output=True, text=True, check=False)
                check(done.returncode in (0, 3), f'byte {at}: exit status {done.returncode}')
                table = strict_json(done.stdout)['epoch_table'] if done.returncode == 0 else []
                check(more or not table or (wrong is turned and len(table) == 4),
                      f'byte {at}: {len(table)} epochs, and nothing said')
                for got, wanted in zip(table, right):
                    if got['sim_seconds'] is None:  # the times of an epoch come after it
                        wanted = dict(wanted, sim_seconds=None)
                    same(got, wanted, f'an epoch of the table, damaged at byte {at}')
                reached.add(len(table))
    check(reached >= {1, 2, 3}, f'epochs that were read: {reached}')


def every_setting(folder):
    """verify and diff replay with the run's own all-reduce and slow devices."""
    for i, more in enumerate((['--allreduce', 'tree'], ['--devices-slow', '1:3'])):
        path, _ = record(folder, str(i), '--devices', '4', *more)
        same(Run('trace', 'verify', path, '--json').json()['epochs_of_same_time'], 4, f'{more}')


def refusals(folder):
    path, _ = record(folder, 'a')
    with open(path, 'rb') as f:
        data = f.read()
    with open(folder + '/notes', 'w', encoding='utf-8') as f:
        f.write('my notes, and they stay')
    with open(folder + '/twice.qht', 'wb') as f:
        f.write(data + data)
    Run('train', *SMALL, '--trace', folder + '/notes', rc=2, says='is no trace; give another')
    Run('train', *SMALL, '--trace-payload', rc=2, says='--trace-payload: is for --trace')
    Run('replay', rc=2, says='TRACE is missing')
    Run('replay', folder + '/notes', rc=3, says='is no trace')
    Run('replay', folder + '/twice.qht', rc=3, says='files joined')
    Run('replay', folder + '/none.qht', rc=3, says='cannot be read')
    Run('replay', path, '--net', 'nosuch', rc=2, says='no preset')
    Run('replay', path, '--net', 'adaqp-2x4', rc=2, says='8 devices')
    for slow in ('3:2', '1', '0-5:2', '2-1:2', '1:0', 'x', '1:2:3', '-1:2'):
        Run('replay', path, '--devices-slow', slow, rc=2, says='^qhalo: --devices-slow')
    Run('replay', path, '--scale-bytes', '0', rc=2, says='--scale-bytes')
    for words in (['trace'], ['trace', 'what'], ['trace', 'info'], ['trace', 'diff', path],
                  ['trace', 'verify', path, path]):
        Run(*words, rc=2, says='^qhalo: trace')


if __name__ == '__main__':
    sys.exit(main([recorded_is_what_ran, same_run_same_file, what_if, several_traces, killed,
                   interrupted, a_full_disk, damaged, every_setting, refusals]))
