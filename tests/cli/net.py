#!/usr/bin/env python3
"""net run: the golden max-min answers, files of all kinds, and files that are wrong."""

import json
import os
import sys

sys.dont_write_bytecode = True
from support import QHALO, Run, check, close, main, read_csv, same, write  # noqa: E402

SHARED = os.environ.get('QHALO_SHARED', '')
LINKS = [{'id': 'a', 'bandwidth_Bps': 1e9, 'latency_s': 1e-6},
         {'id': 'b', 'bandwidth': '16Gbit/s', 'latency': '2us'}]
ROUTES = [{'src': 0, 'dst': 1, 'links': ['a']}, {'src': 0, 'dst': 2, 'links': ['a', 'b']}]
FLOWS = [{'id': 0, 'src': 0, 'dst': 1, 'bytes': 1000000},
         {'id': 'x', 'src': 0, 'dst': 2, 'bytes': 1000000, 'earliest_start': 0.0},
         {'id': 2, 'src': 0, 'dst': 1, 'bytes': 0, 'after': [0, 'x']}]


def scenario(folder, **changes):
    s = {'links': LINKS, 'routes': ROUTES, 'flows': FLOWS, **changes}
    return write(folder, 'scenario.json', json.dumps(s, indent=1))


def golden(folder):
    """Every finish time of the exact solution, to 1e-9 relative or 1 ps."""
    path = SHARED + '/golden/maxmin_golden.json'
    if not os.path.exists(path):
        print('note: no golden file')
        return
    with open(path, encoding='utf-8') as f:
        scenarios = json.load(f)['scenarios']
    check(len(scenarios) >= 10, 'few scenarios')
    for s in scenarios:
        got = Run('net', 'run', write(folder, 's.json', json.dumps(s)), '--json').json()
        same([f['id'] for f in got['flows']], [f['id'] for f in s['flows']], s['name'])
        for f, wanted in zip(got['flows'], s['flows']):
            for mine, theirs in [('finish', 'finish_exact'), ('finish', 'finish_simgrid'),
                                 ('start', 'start')]:
                off = abs(f[mine] - wanted[theirs])
                check(off <= max(1e-9 * wanted[theirs], 1.001e-12),
                      f"{s['name']}: flow {f['id']}: {mine} {f[mine]}, not {wanted[theirs]}")
        check(abs(got['makespan'] - s['makespan_exact']) <= 1e-9 * s['makespan_exact'], s['name'])
        crossing = {l['id']: 0 for l in s['links']}
        routes = {(r['src'], r['dst']): r['links'] for r in s['routes']}
        for f in s['flows']:
            for link in routes[f['src'], f['dst']]:
                crossing[link] += f['bytes']
        same({l['id']: l['bytes'] for l in got['links']}, crossing, 'bytes of links')
        for l in got['links']:
            check(0 <= l['utilisation'] <= 1 + 1e-9, str(l))


def two_flows(folder):
    """Both share link a: 1 MB each at 0.5 GB/s, the second a little later and alone at the end."""
    r = Run('net', 'run', scenario(folder), '--json').json()
    same((r['schema'], [f['id'] for f in r['flows']]), ('qhalo.flows/1', [0, 'x', 2]), 'head')
    finish = [f['finish'] for f in r['flows']]
    close(finish[0], 1e-6 + 2e-6 + (1000000 - 2000) / 0.5e9, 'first')
    close(finish[1], finish[0] + 2000 / 1e9, 'second')
    close(r['flows'][2]['start'], finish[1], 'start of the third')
    close(finish[2], finish[1] + 1e-6, 'third')
    close(r['makespan'], finish[2], 'makespan')
    same([(l['id'], l['bytes']) for l in r['links']], [('a', 2000000), ('b', 1000000)], 'links')
    close(r['links'][0]['utilisation'], 2e6 / 1e9 / finish[2], 'utilisation')
    text = Run('net', 'run', scenario(folder)).out
    check('makespan' in text and 'utilisation' in text and 'flow' in text, text)


def golden_by_simgrid(folder):
    """The plug-in, where it is built, has SimGrid's own answers."""
    plugin = os.path.join(os.path.dirname(QHALO), '..', 'netmodel', 'simgrid.so')
    path = SHARED + '/golden/maxmin_golden.json'
    if not os.path.exists(path) or not os.path.exists(plugin):
        print('note: no golden file or no SimGrid')
        return
    with open(path, encoding='utf-8') as f:
        scenarios = json.load(f)['scenarios']
    for s in scenarios:
        net = write(folder, 'net.yaml', json.dumps({
            'model': 'plugin:' + os.path.abspath(plugin), 'devices': s['devices'],
            'links': s['links'], 'routes': s['routes']}))
        got = Run('net', 'run', write(folder, 's.json', json.dumps(s)), '--net', net,
                  '--json').json()
        for f, wanted in zip(got['flows'], s['flows']):
            off = abs(f['finish'] - wanted['finish_simgrid'])
            check(off <= max(1e-9 * wanted['finish_simgrid'], 4e-12),
                  f"{s['name']}: flow {f['id']}: {f['finish']}, not {wanted['finish_simgrid']}")
    print(f'note: SimGrid agrees on {len(scenarios)} scenarios')


def another_network(folder):
    """--net stands in place of the file's links, which need not be there."""
    bare = write(folder, 'bare.json', json.dumps({'flows': FLOWS}))
    for name in ['switch-10g', 'wan']:
        a = Run('net', 'run', scenario(folder), '--net', name, '--json').json()
        same(a, Run('net', 'run', bare, '--net', name, '--json').json(), name)
    Run('net', 'run', bare, rc=2, says='has no links and routes')
    same(Run('net', 'run', bare, '--net', 'wan', '--json').json()['links'], [], 'links of alphabeta')
    star = write(folder, 'star.yaml', 'model: fairshare\ntopology: star\n'
                                      'link: {latency: 1us, bandwidth: 1GB/s}\n')
    r = Run('net', 'run', bare, '--net', star, '--json').json()
    close(r['makespan'], 2e-6 + 2e-3 + 2e-6, 'star')
    same(r['links'][0], {'id': 'device 0 out', 'bytes': 2000000,
                         'utilisation': r['links'][0]['utilisation']}, 'first link')


def nothing(folder):
    r = Run('net', 'run', scenario(folder, flows=[]), '--json').json()
    same((r['flows'], r['makespan']), ([], 0), 'no flows')


def bad_files(folder):
    """One line with the file and the line, whatever is wrong."""
    def flow(**changes):
        return {'flows': [{**FLOWS[0], **changes}]}
    def link(**changes):
        return {'links': [{**LINKS[0], **changes}, LINKS[1]]}
    rows = [
        (flow(src=1), 'no route from device 1|to itself'),
        (flow(src=2, dst=0), 'no route from device 2 to device 0'),
        (flow(src=7), r'scenario.json:\d+: src: .*7'),
        (flow(bytes=-1), r'scenario.json:\d+: bytes'),
        (flow(bytes='many'), r'scenario.json:\d+: bytes'),
        (flow(after=[9]), r"scenario.json:\d+: after names flow '9'"),
        (flow(after=[0]), 'circle'),
        (flow(after=7), "'after' is to be a list"),
        (flow(byte=1), "scenario.json:.*did you mean 'bytes'"),
        (flow(earliest_start=-1.0), 'earliest_start'),
        ({'flows': [FLOWS[0], FLOWS[0]]}, r"flow '0' is there twice \(first at"),
        ({'flows': 3}, "'flows' is to be a list"),
        ({'flws': []}, "did you mean 'flows'"),
        (link(bandwidth_Bps=0), r'scenario.json:\d+: bandwidth_Bps'),
        (link(latency_s=-1e-6), r'scenario.json:\d+: latency_s'),
        (link(id='b'), r"link 'b' is there twice"),
        (link(bandwidth='1GB/s'), 'say the same'),
        (link(latencys=1), "did you mean 'latency"),
        ({'links': []}, "there is no link 'a'"),
        ({'routes': [{'src': 0, 'dst': 1, 'links': ['c']}]}, r"scenario.json:\d+: there is no link"),
        ({'routes': [{'src': 0, 'dst': 1, 'links': []}]}, 'at least one'),
        ({'routes': [{'src': 0, 'dst': 1, 'links': ['a', 'a']}]}, 'twice'),
        ({'routes': [ROUTES[0], ROUTES[0]]}, 'a second route'),
        ({'routes': [{'src': 0, 'dst': 0, 'links': ['a']}]}, 'to itself'),
        ({'devices': 2}, r'scenario.json:\d+: dst'),
    ]
    for changes, says in rows:
        Run('net', 'run', scenario(folder, **changes), rc=3, says=says)
    Run('net', 'run', write(folder, 'x.json', '{"flows": [}'), rc=3, says='x.json:1')
    Run('net', 'run', folder + '/none.json', rc=3, says='none.json')
    Run('net', 'run', rc=2, says='FILE')
    Run('net', 'run', scenario(folder), '--devices', '3', rc=2, says='--devices')
    Run('net', 'run', scenario(folder), '--net', 'switch-10', rc=2, says='did you mean')


GRAPH = 'synth:sbm,nodes=200,degree=6,features=16,classes=3'
TRAIN = [GRAPH, '--devices', '4', '--layers', '2', '--hidden', '16', '--epochs', '4', '--quiet',
         '--json']


def ways_to_reduce(folder):
    """The weights do not depend on the way; the time does, and a replay has the run's."""
    seen = {}
    for way in ['ring', 'tree', 'hierarchical']:
        path = f'{folder}/{way}.qht'
        s = Run('train', *TRAIN, '--net', 'adaqp-2x2', '--allreduce', way, '--trace', path).json()
        seen[way] = (s['digest'], s['breakdown']['allreduce'])
        r = Run('replay', path, '--json', '--quiet').json()
        check(r['traces'][0]['times_of_the_run'] is True and r['traces'][0]['allreduce'] == way, r)
    same(len({d for d, _ in seen.values()}), 1, 'digests')
    same(len({t for _, t in seen.values()}), 3, 'times')
    r = Run('replay', folder + '/ring.qht', '--allreduce', 'tree', '--json', '--quiet').json()
    close(r['runs'][1]['breakdown']['allreduce'], seen['tree'][1], 'a replay by tree')
    Run('train', *TRAIN, '--allreduce', 'hierarchical', rc=2, says="'switch-10g' has none")
    Run('train', GRAPH, '--devices', '3', '--net', 'pcie-box', '--allreduce', 'rings', rc=2,
        says='did you mean|ring')


def a_slow_device(folder):
    """It computes longer, the others wait longer, and a replay has the run's times."""
    even = Run('train', *TRAIN, '--out', folder + '/even').json()
    slow = Run('train', *TRAIN, '--devices-slow', '2:3', '--trace', folder + '/s.qht').json()
    same(slow['digest'], even['digest'], 'digest')
    all_slow = Run('train', *TRAIN, '--devices-slow', '0-3:3').json()['breakdown']['compute']
    check(abs(all_slow / even['breakdown']['compute'] - 3) < 1e-6, 'all are three times as slow')
    check(1.2 < slow['breakdown']['compute'] / even['breakdown']['compute'] < 1.8, 'one of four is')
    check(slow['breakdown']['idle'] > even['breakdown']['idle'] + slow['breakdown']['compute'] / 10,
          slow['breakdown'])
    r = Run('replay', folder + '/s.qht', '--json', '--quiet').json()
    check(r['traces'][0]['times_of_the_run'] is True, r)
    Run('train', *TRAIN, '--devices-slow', '4:2', rc=2, says='--devices-slow')
    Run('train', *TRAIN, '--devices-slow', 'x', rc=2, says='--devices-slow')


def one_training_on_many_networks(folder):
    """Weights do not depend on the network, unless a solver chose widths for it; times do."""
    posted = write(folder, 'star.yaml', 'model: fairshare\ntopology: star\n'
                                        'link: {latency: 1us, bandwidth: 1GB/s}\n')
    for method in ['vanilla', 'int4', 'random', 'pipegcn', 'varco']:
        runs = [Run('train', *TRAIN, '--method', method, '--net', net).json()
                for net in ['switch-1g', 'nvlink-box', 'wan', 'fat-tree-64', posted]]
        same(len({r['digest'] for r in runs}), 1, f'digests of {method}')
        same(len({r['sim_seconds'] for r in runs}), len(runs), f'times of {method}')


def several_networks(folder):
    words = ['compare', GRAPH, '--methods', 'vanilla,int2', *TRAIN[1:-1], '--net', 'switch-1g,wan']
    r = Run(*words, '--json', '--out', folder + '/out').json()
    same((r['schema'], [n['net'] for n in r['networks']]),
         ('qhalo.compare-networks/1', ['switch-1g', 'wan']), 'networks')
    for n in r['networks']:
        one = Run(*words[:-1], n['net'], '--json').json()
        one['net'] = n['net']
        same(n, one, 'one network and one of two')
        check(os.path.exists(f"{folder}/out/{n['net']}/compare.csv"), 'compare.csv')
    text = Run(*words).out
    check('--- wan' in text and 'speed-up over vanilla, by network' in text, text)
    Run(*words[:-1], 'switch-1g,', '--json')
    Run(*words[:-1], ',', rc=2, says='names no network')
    Run(*words[:-1], 'switch-1g,wam', rc=2, says="'wam'.*did you mean 'wan'")
    Run('train', *TRAIN, '--net', 'switch-1g,wan', rc=2, says='no preset')


def a_link_that_is_out(folder):
    """Transfers into one device stand still: it and those after it wait, and nobody computes more."""
    plain = 'model: fairshare\ntopology: star\nlink: {latency: 10us, bandwidth: 1GB/s}\n'
    good = write(folder, 'good.yaml', plain)
    bad = write(folder, 'bad.yaml', plain + 'outages: [{link: device 2 in, from: 10us, to: 5ms}]\n')
    slow = write(folder, 'slow.yaml', plain + 'slow: [{device: 2, factor: 20}]\n')
    a, b, c = (Run('train', *TRAIN, '--net', n).json() for n in [good, bad, slow])
    same({a['digest'], b['digest'], c['digest']}, {a['digest']}, 'digests')
    for other in [b, c]:
        close(other['breakdown']['compute'], a['breakdown']['compute'], 'compute')
        check(other['breakdown']['exposed_comm'] > a['breakdown']['exposed_comm'], 'transfer')
    check(0.004 < b['sim_seconds'] - a['sim_seconds'] < 0.005, 'the outage takes what it lasts')
    more = [b['breakdown'][k] - a['breakdown'][k] for k in ['exposed_comm', 'idle', 'allreduce']]
    close(4 * sum(more), b['sim_seconds'] - a['sim_seconds'], 'all of it is transfer and waiting')


def busy_links(folder):
    """Bytes of links: what goes out comes in; and a note where several send to one for free."""
    run = Run('train', *TRAIN[:-2], '--out', folder + '/run', '--net', 'switch-10g')
    s = json.load(open(folder + '/run/run.json', encoding='utf-8'))['summary']
    _, rows = read_csv(folder + '/run/links.csv')
    same(len(rows), 8, 'links')
    out, into = (sum(int(r['bytes']) for r in rows if r['link'].endswith(end))
                 for end in (' out', ' in'))
    same(out, into, 'bytes out and in')
    check(out > s['bytes_sent'], 'gradients are in it')
    busy = [float(r['utilisation']) for r in rows]
    check(busy == sorted(busy, reverse=True) and 0 < busy[-1] <= busy[0] <= 1, busy)
    same([l['id'] for l in s['links']], [r['link'] for r in rows[:3]], 'hottest')
    close(busy[0], int(rows[0]['bytes']) / float(rows[0]['bytes_per_s']) / s['sim_seconds'], 'use')
    check('busiest     ' + rows[0]['link'] in run.out, run.out)
    check('shares nothing' not in run.err, run.err)
    wan = Run('train', *TRAIN[:-2], '--net', 'wan')
    check('warning: network wan shares nothing, and up to 3 devices send to one' in wan.err, wan.err)
    same(Run('train', *TRAIN, '--net', 'wan').json()['links'], [], 'links of wan')
    for words in [['--exchange', 'rounds'], ['--devices', '2']]:
        run = Run('train', *TRAIN[:-2], '--net', 'wan', *words)
        check('shares nothing' not in run.err, run.err)


if __name__ == '__main__':
    sys.exit(main([golden, golden_by_simgrid, two_flows, another_network, nothing, bad_files, ways_to_reduce,
                   a_slow_device, one_training_on_many_networks, several_networks,
                   a_link_that_is_out, busy_links]))
