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


def unknown_kernel(_):
    Run('bench', 'spmv', rc=2, says='spmv')


if __name__ == '__main__':
    sys.exit(main([quick_json, one_family, unknown_kernel]))
