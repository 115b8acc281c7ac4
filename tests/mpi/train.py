"""qhalo-mpi train against qhalo train: the same run, on ranks in place of threads.

usage: train.py QHALO QHALO_MPI COUNT_LIBRARY [MPIRUN]
"""

import json
import os
import re
import subprocess
import sys

from job import Job, TOP, check, main, mpirun_or_skip

QHALO, QHALO_MPI, COUNT = (os.path.abspath(w) for w in sys.argv[1:4])
MPIRUN = mpirun_or_skip(sys.argv[4] if len(sys.argv) > 4 else '')
GRAPH = 'synth:sbm,nodes=150,degree=6,features=8,classes=3'
SMALL = ['--layers', '3', '--hidden', '8', '--epochs', '5', '--quiet', '--json']
# Of the host and of this run of it.
HOST = ['wall_seconds', 'peak_rss_bytes', 'measured']


def simulate(*words):
    done = subprocess.run([QHALO, 'train'] + [str(w) for w in words], capture_output=True, text=True,
                          timeout=60, check=False)
    check(done.returncode == 0, f'{words}: {done.stderr}')
    return json.loads(done.stdout)


def train(n, *words, **more):
    return Job(MPIRUN, n, [QHALO_MPI, 'train', *words], **more)


def same(mpi, sim, but=()):
    for key in sim:
        if key not in HOST and key not in but:
            check(mpi[key] == sim[key], f'{key}: {mpi[key]}, simulated {sim[key]}')
    check(mpi['measured']['epochs'] == sim['epochs'] - 1, mpi['measured'])
    check(sim['measured'] is None, 'qhalo train measured something')


def methods():
    text = subprocess.run([QHALO, 'train', '--help'], capture_output=True, text=True,
                          check=True).stdout
    text = text[text.index('\nMethods:\n'):]
    names = re.findall(r'^  (\S+) ', text, re.M)
    check(len(names) > 15 and 'vanilla' in names, names)
    return [{'bns:P': 'bns:0.3', 'fixed:R': 'fixed:4'}.get(n, n) for n in names]


def counted(folder):
    """What PMPI saw: bytes by communicator, of all ranks; and the largest tag."""
    sums, tag = {}, 0
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding='utf-8') as f:
            for line in f:
                what, n, _ = line.split('\t')
                if what == 'tag':
                    tag = max(tag, int(n))
                else:
                    sums[what] = sums.get(what, 0) + int(n)
            os.unlink(f.name)
    return sums, tag


def every_method_gives_the_same(folder):
    """Digest, times and bytes; with sends that do not end before they are received, of blocks that
    are cut; and PMPI counts the bytes of the summary."""
    env = {'LD_PRELOAD': COUNT, 'QHALO_COUNT': folder, 'QHALO_MPI_CUT': '1000',
           'QHALO_MPI_SYNCHRONOUS': '1'}
    for i, method in enumerate(methods()):
        words = [GRAPH, *SMALL, '--method', method, '--assign-every', 2,
                 '--exchange', ['posted', 'rounds'][i % 2]]
        sim = simulate(*words, '--devices', 3)
        job = train(3, *words, env=env)
        try:
            same(json.loads(job.out), sim)
            bytes_of, tag = counted(folder)
            check(bytes_of.get('qhalo exchange', 0) + bytes_of.get('qhalo tables', 0) ==
                  sim['bytes_sent'], f'PMPI counts {bytes_of}, not {sim["bytes_sent"]}')
            check(tag <= 32767 and (method != 'vanilla' or tag > 0), f'largest tag {tag}')
        except Exception as e:
            raise type(e)(f'{method}: {e}') from e


def options_of_all_kinds(_):
    for n, words in [
            (1, []),
            (2, ['--model', 'sage', '--norm', 'none', '--input-dropout', '0.2']),
            (5, ['--model', 'gin', '--partitioner', 'random', '--cache-features', '--stale', '2']),
            (4, ['--order', 'transform-first', '--method', 'int8', '--boundary-sample', '0.5'])]:
        same(json.loads(train(n, GRAPH, *SMALL, *words).out),
             simulate(GRAPH, *SMALL, *words, '--devices', n))


def write_parts(folder, n, graph=GRAPH, more=()):
    path = os.path.join(folder, f'{n}.qhp')
    subprocess.run([QHALO, 'partition', graph, '--parts', str(n), '--with-parts', '--quiet', '-o',
                    path, *more], check=True, capture_output=True)
    return path


def each_rank_its_part(folder):
    for n, words, norm in [(3, ['--method', 'int4'], 'none'),
                           (2, ['--model', 'gin', '--method', 'bns:0.5'], 'row'),
                           (4, ['--method', 'pipegcn', '--input-dropout', '0.1'], 'standard')]:
        path = write_parts(folder, n, more=['--feature-norm', norm])
        mpi = json.loads(train(n, path, *SMALL, *words).out)
        same(mpi, simulate(GRAPH, *SMALL, *words, '--devices', n, '--partition', path,
                           '--feature-norm', norm))


def the_run_folder_is_the_same(folder):
    """All files; run.json but for the host, epochs.csv but for the measured times."""
    sim, mpi = os.path.join(folder, 'sim'), os.path.join(folder, 'mpi')
    words = [GRAPH, *SMALL, '--method', 'random', '--assign-every', '2']
    trace = ['--trace-payload', '--trace']
    simulate(*words, '--devices', 3, '--out', sim, *trace, sim + '.qht')
    train(3, *words, '--out', mpi, *trace, mpi + '.qht')
    check(sorted(os.listdir(sim)) == sorted(os.listdir(mpi)), os.listdir(mpi))
    for name in os.listdir(sim):
        with open(os.path.join(sim, name), encoding='utf-8') as a, \
                open(os.path.join(mpi, name), encoding='utf-8') as b:
            a, b = a.read(), b.read()
        if name == 'epochs.csv':
            check(all(float(line.split(',')[-1]) > 0 for line in b.splitlines()[1:]), b)
            check(b.splitlines()[0].endswith(',measured_s'), b)
            b = ''.join(line.rpartition(',')[0] + '\n' for line in b.splitlines())
        if name == 'run.json':
            a, b = json.loads(a), json.loads(b)
            check(a['configuration'] == b['configuration'], b['configuration'])
            same(b['summary'], a['summary'])
        else:
            check(a == b, f'{name}: {b}')
    done = subprocess.run([QHALO, 'trace', 'diff', sim + '.qht', mpi + '.qht'],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, done.stdout + done.stderr)


def expectations(_):
    train(2, GRAPH, *SMALL, '--expect', 'bytes_sent<1', rc=5, says='qhalo: .*bytes_sent', top=TOP)


def failures_end_the_job(folder):
    path = write_parts(folder, 3)
    with open(path, 'rb') as f:
        whole = f.read()
    cut = os.path.join(folder, 'cut.qhp')
    with open(cut, 'wb') as f:
        f.write(whole[:-100])
    odd = os.path.join(folder, 'odd.qhp')
    with open(odd, 'wb') as f:  # a byte of rank 1's part
        at = 5 * len(whole) // 10
        f.write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
    missing = os.path.join(folder, 'missing.qhp')
    for n, words, rc, says in [
            (2, [path, *SMALL], 2, r'qhalo: .*3 parts for 2 ranks; 3 ranks go with it'),
            (2, [missing, *SMALL], 3, r'qhalo: .*missing\.qhp'),
            (3, [cut, *SMALL], 3, r'qhalo: .*cut\.qhp'),
            (3, [odd, *SMALL], 3, r'qhalo: .*odd\.qhp: its parts are damaged'),
            (2, [GRAPH, *SMALL, '--devices', 3], 2, r'qhalo: --devices: 3 devices on 2 ranks'),
            (2, [GRAPH, *SMALL, '--clock', 'real'], 2, r'qhalo: --clock: between ranks'),
            (2, [GRAPH, *SMALL, '--time-scale', 2], 2, r'qhalo: --time-scale: between ranks'),
            (2, [GRAPH, *SMALL, '--method', 'int9'], 2, r'qhalo: --method'),
            (3, [path, *SMALL, '--partitioner', 'random'], 2, r'qhalo: --partition: '),
            (3, [path, *SMALL, '--feature-norm', 'row'], 2, r'qhalo: --feature-norm: '),
            (2, [GRAPH, *SMALL, '--out', '/proc/nowhere'], 4, r'qhalo: /proc/nowhere')]:
        train(n, *words, rc=rc, says=says, top=TOP)


def help_is_printed_once(_):
    job = Job(MPIRUN, 3, [QHALO_MPI, '--help'])
    check(job.out.count('usage: mpirun -n N qhalo-mpi COMMAND') == 1, job.out)
    job = Job(MPIRUN, 2, [QHALO_MPI, 'train', '--help'])
    check(job.out.count('usage: mpirun -n N qhalo-mpi train DATASET') == 1, job.out)


if __name__ == '__main__':
    sys.exit(main([every_method_gives_the_same, options_of_all_kinds, each_rank_its_part,
                   the_run_folder_is_the_same, expectations, failures_end_the_job,
                   help_is_printed_once]))
