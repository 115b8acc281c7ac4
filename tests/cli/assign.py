#!/usr/bin/env python3
"""assign: what it prints, what it refuses."""

import copy
import json
import sys

sys.dont_write_bytecode = True
from support import Run, check, close, main, same, write  # noqa: E402

ONE = {
    'name': 'small', 'N': 2, 'dim': 256, 'group_size': 100, 'bits': [2, 4, 8], 'lambda': 0.5,
    'channels': [
        {'src': 0, 'dst': 1, 'alpha': 0.9, 'beta': 0.25, 'messages': 250,
         'variance': [235.0, 20213.0, 4.0]},
        {'src': 1, 'dst': 0, 'alpha': 0.7, 'beta': 0.3, 'messages': 0, 'variance': []},
    ],
}


def instance(folder, **changes):
    """A file of the small instance with keys changed (None: taken away)."""
    x = copy.deepcopy(ONE)
    for key, value in changes.items():
        at = x['channels'][0] if key in x['channels'][0] else x
        if value is None:
            del at[key]
        else:
            at[key] = value
    return write(folder, 'x.json', json.dumps(x))


def assign(*args):
    return Run('assign', *args, '--json').json()


def milliseconds(channel, bits, sizes, dim):
    size = sum(int(b, 36) * s for b, s in zip(bits, sizes)) * dim / 8 / 2**20
    return channel['alpha'] * size + channel['beta']


def the_keys(folder):
    path = instance(folder)
    r = assign(path)
    same(set(r), {'schema', 'name', 'solver', 'lambda', 'objective', 'var_sum', 'time_sum', 'Z',
                  'bits', 'lower_bound', 'gap', 'optimal', 'candidates', 'seconds',
                  'normalisation'}, 'keys')
    same((r['schema'], r['name'], r['solver'], r['lambda'], r['optimal']),
         ('qhalo.assign/1', 'small', 'exact', 0.5, True), 'head')
    same([len(b) for b in r['bits']], [3, 0], 'groups')
    first = ONE['channels'][0]
    variance = sum(v / (2**int(b, 36) - 1)**2 for v, b in zip(first['variance'], r['bits'][0]))
    close(r['var_sum'], variance, 'variance')
    close(r['time_sum'], milliseconds(first, r['bits'][0], [100, 100, 50], 256), 'time')
    close(r['Z']['1'], r['time_sum'], 'Z')
    n = r['normalisation']
    close(r['objective'], 0.5 * (variance - n['var_utopia']) / (n['var_nadir'] - n['var_utopia'])
          + 0.5 * (r['time_sum'] - n['time_utopia']) / (n['time_nadir'] - n['time_utopia']),
          'objective')
    check(r['lower_bound'] <= r['objective'] and r['gap'] >= 0 and r['seconds'] >= 0, r)


def solvers(folder):
    path = instance(folder)
    exact = assign(path)
    for name in ['sweep', 'greedy', 'glpk']:
        if name == 'glpk' and 'glpk: yes' not in Run('--version').out:
            Run('assign', path, '--solver', name, rc=2, says='glpk is not built in')
            continue
        r = assign(path, '--solver', name)
        check(r['objective'] >= exact['objective'] - 1e-6, name)
        close(r['lower_bound'], exact['lower_bound'], name)
    same(assign(path, '--solver', 'sweep')['bits'], exact['bits'], 'sweep')


def lambdas(folder):
    path = instance(folder)
    same(assign(path, '--lambda', '0')['bits'][0], '222', 'time alone')
    same(assign(path, '--lambda', '1')['bits'][0], '888', 'variance alone')
    Run('assign', path, '--lambda', '1.5', rc=2, says='^qhalo: --lambda: ')


def wide_digits(folder):
    r = assign(instance(folder, bits=[16, 32]), '--lambda', '1')
    same(r['bits'][0], 'www', 'digits of 32')
    same(assign(instance(folder, bits=[16, 32]), '--lambda', '0')['bits'][0], 'ggg', 'of 16')


def last_group(folder):
    whole = assign(instance(folder, last_group='full'), '--lambda', '0')['time_sum']
    part = assign(instance(folder, last_group='true'), '--lambda', '0')['time_sum']
    close(whole, milliseconds(ONE['channels'][0], '222', [100] * 3, 256), 'full')
    close(part, milliseconds(ONE['channels'][0], '222', [100, 100, 50], 256), 'true')


def several(folder):
    other = dict(ONE, name='other')
    path = write(folder, 'two.json', json.dumps({'format': 'x', 'instances': [ONE, other]}))
    Run('assign', path, rc=2, says='^qhalo: --instance: .* holds 2 of them; one of small, other')
    Run('assign', path, '--instance', 'third', rc=2, says="has no 'third'; one of small, other")
    same(assign(path, '--instance', 'other')['name'], 'other', 'name')


def readable(folder):
    out = Run('assign', instance(folder)).out
    for words in ['small: 2 devices, 2 channels, 3 groups, lambda 0.5', '(optimal)', 'lower bound',
                  'solved in', 'share']:
        check(words in out, f'{words!r} is missing:\n{out}')


def negative_costs(folder):
    run = Run('assign', instance(folder, alpha=-0.5), '--json')
    check('channels[0].alpha: -0.5 is negative and counts as 0' in run.err, run.err)
    same(run.json()['bits'][0], '888', 'bits that cost nothing')


# Keys changed, what the error says after the file's name.
BROKEN = [
    ({'N': None}, r'instance small: N: is missing'),
    ({'N': 0}, r'N: 0 is out of range'),
    ({'N': 2.5}, r'N: is no whole number'),
    ({'dim': '256'}, r'dim: is no whole number'),
    ({'group_size': 0}, r'group_size: 0 is out of range'),
    ({'bits': [4, 2]}, r'bits: rising'),
    ({'bits': []}, r'bits: holds 0 widths'),
    ({'bits': [9]}, r'bits: rising bit-widths'),
    ({'lambda': -0.1}, r'lambda: -0.1 is out of range'),
    ({'lambda': 'x'}, r'lambda: is no number'),
    ({'lamda': 0.5}, r'lamda: there is no such key; did you mean lambda\?'),
    ({'last_group': 'partial'}, r'last_group: is neither'),
    ({'channels': 3}, r'channels: is no list'),
    ({'channels': [3]}, r'channels\[0\]: is no object'),
    ({'src': 2}, r'channels\[0\]\.src: 2 is out of range; 0 to 1'),
    ({'dst': 0}, r'channels\[0\]\.dst: 0 is src too'),
    ({'src': 1, 'dst': 0}, r'channels\[1\]: goes from 1 to 0, as an earlier'),
    ({'messages': 301}, r'channels\[0\]\.variance: holds 3 groups; 4 '),
    ({'messages': None}, r'channels\[0\]\.messages: is missing'),
    ({'variance': [1, 2, -3]}, r'channels\[0\]\.variance: item 2 '),
    ({'variance': [1, 2, 1e39]}, r'channels\[0\]\.variance: item 2 '),
    ({'variance': [1, 2, None]}, r'channels\[0\]\.variance: item 2 '),
    ({'alpha': [1]}, r'channels\[0\]\.alpha: is no number'),
]


def broken_instances(folder):
    for changes, says in BROKEN:
        Run('assign', instance(folder, **changes), rc=3, says=r'^qhalo: .*x\.json: .*' + says)


def broken_files(folder):
    Run('assign', rc=2, says='^qhalo: assign: INSTANCE.json is missing')
    Run('assign', folder + '/none.json', rc=3, says='none.json: cannot be read')
    Run('assign', folder, rc=3, says='^qhalo: ')
    for text, says in [('', r'x\.json:1: '), ('{"N": 2,', r'x\.json:1: '), ('[1]', 'is no object'),
                       ('{"N": 1,\n"N": 2}', r'x\.json:2: '), ('{"instances": []}', 'is empty'),
                       ('{"instances": [1]}', 'is no object'), ('{"N": NaN}', r'x\.json:1: '),
                       ('{"instances": [], "more": 1}', 'more: there is no such key')]:
        Run('assign', write(folder, 'x.json', text), rc=3, says=says)
    Run('assign', instance(folder), '--solver', 'exakt', rc=2, says='did you mean exact')


if __name__ == '__main__':
    sys.exit(main([the_keys, solvers, lambdas, wide_digits, last_group, several, readable,
                   negative_costs, broken_instances, broken_files]))
