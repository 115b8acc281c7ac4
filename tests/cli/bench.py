#!/usr/bin/env python3
"""bench: every kernel gives a figure, beside its limit."""

import sys

sys.dont_write_bytecode = True
from support import Run, check, main, same  # noqa: E402


def quick_json(_):
    r = Run('bench', '--quick', '--json', '--threads', '1').json()
    same((r['schema'], r['threads']), ('qhalo.bench/1', 1), 'head')
    names = [k['name'] for k in r['kernels']]
    check(len(names) == len(set(names)) and 'spmm-dense' in names and 'quantize-2' in names, names)
    for k in r['kernels']:
        limit = r[k['limit']]
        check(k['seconds'] > 0 and k['rate'] > 0, k)
        check(abs(k['of_limit'] - k['rate'] / limit['rate']) < 1e-9 * k['of_limit'], k)


def one_family(_):
    out = Run('bench', 'quantize', '--quick', '--backend', 'ref').out
    check('quantize-8' in out and 'spmm' not in out and '--quick' in out, out)


def networks(_):
    r = Run('bench', 'net', '--quick', '--json').json()
    same(r['schema'], 'qhalo.bench-net/1', 'head')
    names = [c['name'] for c in r['cases']]
    check('posted-star-64' in names and 'rounds-two-level-64' in names, names)
    for c in r['cases']:
        check(c['seconds'] > 0 and abs(c['rate'] - c['flows'] / c['seconds']) < 1e-6 * c['rate'], c)
    Run('bench', 'net', '--threads', '2', rc=2, says='--threads')


def fitted(folder):
    """A description of this host, which is a good one."""
    path = folder + '/host.yaml'
    same(Run('bench', '--fit', '--quick', '-o', path).out, '', 'stdout')
    out = Run('net', 'show', path).out
    check('one core of a host, fitted' in out and 'assign' in out, out)
    s = Run('train', 'synth:sbm,nodes=100,features=4,classes=2', '--devices', '2', '--epochs', '2',
            '--quiet', '--json', '--accelerator', path).json()
    check(s['breakdown']['compute'] > 0, s)
    check('efficiency:' in Run('bench', '--fit', '--quick').out, 'to stdout')
    Run('bench', 'gemm', '--fit', rc=2, says='--fit: goes alone')
    Run('bench', '-o', path, rc=2, says='--output')


def unknown_kernel(_):
    Run('bench', 'spmv', rc=2, says='spmv')


def replays(folder):
    r = Run('bench', 'replay', '--quick', '--json', '--keep', folder).json()
    same(r['schema'], 'qhalo.bench-replay/1', 'schema')
    for case in r['cases']:
        check(case['rate'] > 0 and case['messages'] > 0, f'{case}')
        path = f'{folder}/{case["name"]}'
        again = Run('replay', path + '.qht', '--net', path + '.yaml', '--accelerator', 'v100',
                    '--json').json()['runs'][0]
        same(again['sim_seconds'], case['sim_seconds'], f'time of {case["name"]}')
    Run('bench', 'replay', '--threads', '2', rc=2, says='runs on one core')
    Run('bench', 'net', '--keep', folder, rc=2, says='--keep')


if __name__ == '__main__':
    sys.exit(main([quick_json, one_family, networks, fitted, unknown_kernel, replays]))
