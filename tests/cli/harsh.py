#!/usr/bin/env python3
"""Closed streams, limits, signals and names that a shell user meets once a year."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from support import (GRAPH, QHALO, SMALL, Failed, Run, check, main, no_leftovers,  # noqa: E402
                     read_csv, same, strict_json)


def call(*args, **more):
    """Arguments may be bytes: names of files need not be text."""
    words = [QHALO.encode()] + [a if isinstance(a, bytes) else str(a).encode() for a in args]
    return subprocess.run(words, stderr=subprocess.PIPE, timeout=120, check=False, **more)


def closed_streams(folder):
    """A closed stream's number must not go to a file of results."""
    for fd in (0, 1, 2):
        out = f'{folder}/{fd}'
        done = call('train', *SMALL, '--out', out, stdout=subprocess.PIPE,
                    preexec_fn=lambda fd=fd: os.close(fd))
        same(done.returncode, 4 if fd == 1 else 0, f'exit status with stream {fd} closed')
        names, rows = read_csv(out + '/epochs.csv')
        same(names[:2], ['epoch', 'loss'], f'columns with stream {fd} closed')
        same([row['epoch'] for row in rows], ['0', '1', '2', '3'], f'epochs with {fd} closed')


def limit_of_file_size(folder):
    """ulimit -f: a failed write like a full disk, not a dead process with leftovers."""
    graph = 'sbm,nodes=3000,degree=4'
    for args in (['train', *SMALL, '--quiet', '--out', folder + '/run'],
                 ['data', 'synth', graph, '-o', folder + '/g.qhd'],
                 ['data', 'synth', graph, '-o', folder + '/g/'],
                 ['partition', 'synth:' + graph, '--parts', '3', '-o', folder + '/g.qhp']):
        Run(*args, rc=4, says=r'^qhalo: .* could not be written: File too large',
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    check('run.json' not in os.listdir(folder + '/run'), 'run.json after a failed write')
    no_leftovers(folder)


def names_that_are_not_text(folder):
    """Bytes that are no UTF-8 in names: JSON holds a replacement and nothing is lost."""
    name = folder.encode() + b'/b\xff\xc3'
    made = call('data', 'synth', GRAPH, '-o', name + b'.qhd', '--quiet')
    same((made.returncode, made.stderr), (0, b''), 'synth')
    for args in (['data', 'info', name + b'.qhd', '--json'],
                 ['partition', name + b'.qhd', '--parts', '3', '-o', name + b'.qhp', '--json'],
                 ['train', name + b'.qhd', *SMALL[1:], '--partition', name + b'.qhp', '--out', name,
                  '--json', '--quiet'],
                 ['compare', name + b'.qhd', *SMALL[1:], '--methods', 'vanilla', '--json',
                  '--quiet']):
        done = call(*args, stdout=subprocess.PIPE)
        same((done.returncode, done.stderr if args[0] != 'partition' else b''), (0, b''), args[0])
        strict_json(done.stdout.decode('utf-8'))
    with open(name + b'/run.json', encoding='utf-8') as f:
        run = strict_json(f.read())
    check(run['dataset'].endswith('/b\ufffd\ufffd.qhd'), run['dataset'])
    check(run['summary']['partition']['method'].endswith('/b\ufffd\ufffd.qhp'), 'partition')


def names_with_everything(folder):
    for name in ('a\nb', "it's", 'say "x"', '100%s', 'ünï', '$(x)`y`', 'a\\b'):
        out = f'{folder}/{name}'
        r = Run('compare', *SMALL, '--methods', 'vanilla', '--out', out, '--json', '--quiet').json()
        same(r['schema'], 'qhalo.compare/1', 'schema')
        pictures = [n for n in os.listdir(out) if n.endswith('.svg')]
        same(len(pictures), 5 if shutil.which('gnuplot') else 0, f'pictures in {name!r}')


def escapes_in_errors(_):
    run = Run('train', 'a\033[2J\tb\n', rc=3)
    check('\033' not in run.err and run.err.count('\n') == 1, f'{run.err!r}')


def long_names(folder):
    """The name may be cut; what is wrong with it may not."""
    for args, rc, reason in ((['data', 'info', 'x/' * 2040], 3, 'is right'),
                             (['train', GRAPH, '--out', folder + '/' + 'y' * 2000], 4, 'too long'),
                             (['train', GRAPH, '--partition', 'x/' * 4000], 3, 'too long')):
        run = Run(*args, '--quiet', rc=rc, says=reason + '$')
        check(len(run.err) < 1100, f'a line of {len(run.err)} bytes')


def a_pipe_is_refused(folder):
    path = folder + '/pipe.qhd'
    os.mkfifo(path)
    Run('data', 'info', path, rc=3, says='not a regular file')
    Run('train', GRAPH, '--config', path, rc=2, says='not a regular file')
    neutral = folder + '/g'
    for name in ('edges.npy', 'feat.npy', 'label.npy', 'split.npy', 'meta.json'):
        Run('data', 'synth', GRAPH, '-o', neutral + '/', '--quiet')
        os.unlink(f'{neutral}/{name}')
        os.mkfifo(f'{neutral}/{name}')
        Run('data', 'info', neutral, rc=3, says=name)
        shutil.rmtree(neutral)


def hang_up(folder):
    """A terminal that goes away closes a run like Ctrl-C; nohup has its way."""
    for ignored in (False, True):
        out = f'{folder}/{ignored}'
        words = [QHALO, 'train', GRAPH, '--devices', '2', '--layers', '2', '--hidden', '8',
                 '--epochs', '1000000', '--quiet', '--out', out]
        way = signal.SIG_IGN if ignored else signal.SIG_DFL
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda way=way: signal.signal(signal.SIGHUP, way)) as p:
            wait_for_epochs(p, out + '/epochs.csv')
            p.send_signal(signal.SIGHUP)
            if ignored:
                time.sleep(0.2)
                same(p.poll(), None, 'exit status after nohup')
                p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=60)
        same(p.returncode, 130, err)
        check('run.json' in os.listdir(out), 'the folder is not closed')
        no_leftovers(out)


def wait_for_epochs(process, path):
    deadline = time.time() + 60
    while time.time() < deadline and process.poll() is None:
        if os.path.exists(path) and os.path.getsize(path) > 1000:
            return
        time.sleep(0.01)
    raise Failed('no epochs are written')


def killed_over_an_older_run(folder):
    """After SIGKILL the folder holds nothing of the run before it."""
    Run('train', *SMALL, '--out', folder, '--quiet')
    words = [QHALO, 'train', GRAPH, '--devices', '2', '--layers', '2', '--hidden', '8', '--epochs',
             '1000000', '--quiet', '--out', folder]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL) as p:
        wait_for_epochs(p, folder + '/epochs.csv')
        p.kill()
    left = sorted(n for n in os.listdir(folder) if '.tmp.' not in n)
    same(left, ['epochs.csv'], 'files of a killed run')


def labels_below_none(folder):
    """-2 is no label and no mark for none: one error line, and no warning before it."""
    path = folder + '/g'
    Run('data', 'synth', GRAPH, '-o', path + '/', '--quiet')
    with open(path + '/label.npy', 'r+b') as f:
        header = f.read(128)
        check(header[:6] == b'\x93NUMPY', 'no .npy file')
        f.seek(10 + int.from_bytes(header[8:10], 'little'))
        f.write((-2).to_bytes(4, 'little', signed=True))
    run = Run('data', 'info', path, rc=3, says='row 0 has label -2')
    same(run.err.count('\n'), 1, 'lines')


def parts_of_an_epoch_add_up(folder):
    """Exactly: a device that is done waits for the last one, to the end of the run as well."""
    for i, more in enumerate((['--devices', '5'], ['--devices', '7', '--overlap'],
                              ['--devices', '5', '--method', 'int2', '--exchange', 'rounds'])):
        out = f'{folder}/{i}'
        s = Run('train', *SMALL, *more, '--out', out, '--json', '--quiet').json()
        parts = sum(v for k, v in s['breakdown'].items() if k != 'comm')
        whole = s['sim_seconds_per_epoch']
        check(abs(parts - whole) <= 1e-12 * whole, f'{more}: {parts!r} of {whole!r}')
        with open(out + '/run.json', encoding='utf-8') as f:
            most = json.load(f)['breakdown_max']
        check(all(most[k] >= s['breakdown'][k] * (1 - 1e-12) for k in most), f'{most}')


if __name__ == '__main__':
    sys.exit(main([closed_streams, limit_of_file_size, names_that_are_not_text,
                   names_with_everything, escapes_in_errors, long_names, a_pipe_is_refused, hang_up,
                   killed_over_an_older_run, labels_below_none, parts_of_an_epoch_add_up]))
