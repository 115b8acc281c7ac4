#!/usr/bin/env python3
"""Exit statuses, error lines and help."""

import os
import sys

sys.dont_write_bytecode = True
from support import GRAPH, QHALO, SMALL, Run, check, main, write  # noqa: E402

# Arguments, exit status, what stderr says.
WRONG = [
    ([], 2, r'^qhalo: a command is missing'),
    (['trian'], 2, r"^qhalo: trian: there is no such command; did you mean train\?"),
    (['xyz'], 2, r'^qhalo: xyz: there is no such command; qhalo --help'),
    (['train'], 2, r'^qhalo: train: DATASET is missing'),
    (['train', GRAPH, 'more'], 2, r"^qhalo: train: 'more' is one word too many"),
    (['train', GRAPH, '--layrs', '2'], 2, r'^qhalo: --layrs: .*did you mean --layers\?'),
    (['train', GRAPH, '--layers'], 2, r'^qhalo: --layers: its value is missing'),
    (['train', GRAPH, '--layers', 'two'], 2, r"^qhalo: --layers: 'two' is not a whole number"),
    (['train', GRAPH, '--layers', '0'], 2, r'^qhalo: --layers: 0 is out of range'),
    (['train', GRAPH, '--dropout', '1.5'], 2, r'^qhalo: --dropout: 1.5 is out of range'),
    (['train', GRAPH, '--norm', 'batch'], 2, r"^qhalo: --norm: 'batch' .*none\|layer"),
    (['train', GRAPH, '--model', 'gat'], 2, r'^qhalo: --model: '),
    (['train', GRAPH, '--method', 'in8'], 2, r'^qhalo: --method: .*did you mean int8'),
    (['train', GRAPH, '--codec', 'int:9'], 2, r'int'),
    (['train', GRAPH, '--bits', '2,x', '--assign', 'random'], 2, r'--bits'),
    (['train', GRAPH, '--bits', '8,0'], 2, r"^qhalo: --bits: '0' in '8,0' is not a bit-width"),
    (['train', GRAPH, '--recipe', 'kpif'], 2, r'^qhalo: --recipe: .*did you mean kipf'),
    (['train', GRAPH, '--partitioner', 'metsi'], 2, r'metsi'),
    (['train', GRAPH, '--devices', '500'], 2, r'^qhalo: --devices: '),
    (['train', GRAPH, '--net', 'no-such-net'], 2, r'no-such-net'),
    (['train', GRAPH, '--accelerator', 'no-such'], 2, r'no-such'),
    (['train', GRAPH, '--expect', 'test_metric'], 2, r"^qhalo: --expect: 'test_metric' is not"),
    (['train', GRAPH, '--expect', 'acuracy>0'], 2, r"^qhalo: --expect: 'acuracy' is no number"),
    (['train', GRAPH, '--config', '/no/such'], 2, r'^qhalo: --config: /no/such: cannot be read'),
    (['train', 'synth:sbm,nods=100'], 2, r'nods'),
    (['train', 'synth:smb'], 2, r'smb'),
    (['train', '/no/such/graph'], 3, r'^qhalo: /no/such/graph: '),
    (['train', QHALO], 3, r'^qhalo: .*qhalo'),
    (['train', GRAPH, '--partition', '/no/such.qhp'], 3, r'/no/such.qhp'),
    (['train', GRAPH, '--partition', QHALO], 3, r'qhalo'),
    (['train', GRAPH, '--partition', ''], 3, r"^qhalo: '': cannot be read"),
    (['train', GRAPH, '--epochs', '1', '--out', '/proc/no'], 4, r'^qhalo: /proc/no'),
    (['compare', GRAPH], 2, r'^qhalo: --methods: is missing'),
    (['compare', GRAPH, '--methods', ','], 2, r'^qhalo: --methods: names no method'),
    (['compare', GRAPH, '--methods', 'vanilla,in8'], 2, r'^qhalo: --methods: .*int8'),
    (['compare', GRAPH, '--methods', 'vanilla', '--method', 'int8'], 2, r'^qhalo: --method: '),
    (['compare', GRAPH, '--methods', 'vanilla', '--codec', 'int:4'], 2, r'^qhalo: --codec: compare'),
    (['compare', GRAPH, '--methods', 'vanilla', '--assign=random'], 2, r'^qhalo: --assign: compare'),
    (['compare', GRAPH, '--methods', 'vanilla', '--overlap'], 2, r'^qhalo: --overlap: compare'),
    (['compare', GRAPH, '--methods', 'vanilla', '--seeds', '0'], 2, r'^qhalo: --seeds: 0 is out'),
    (['data'], 2, r'^qhalo: data: info\|synth\|convert is missing'),
    (['data', 'inof', GRAPH], 2, r"^qhalo: data: there is no 'inof'"),
    (['data', 'info'], 2, r'^qhalo: data: DATASET is missing'),
    (['data', 'synth', 'sbm'], 2, r'^qhalo: -o: is missing'),
    (['data', 'convert', GRAPH, '-o', 'x.txt'], 2, r"^qhalo: -o: 'x.txt' is neither"),
    (['data', 'convert', GRAPH, '-o', '/proc/x.qhd'], 4, r'^qhalo: /proc/x.qhd: cannot be written'),
    (['partition', GRAPH, '--parts', '121'], 2, r'121'),
    (['partition', GRAPH, '--parts', '2', '-o', '/proc/x.qhp'], 4, r'^qhalo: /proc/x.qhp: '),
    (['train', GRAPH, '--partitioner', 'hash', '--partition', 'x.qhp'], 2, r'^qhalo: --partition: '),
    (['data', 'info', GRAPH, '-o', 'x.qhd'], 2, r'^qhalo: -o: is for data synth'),
    (['net', 'show', 'switch-10g', '--json'], 2, r'^qhalo: --json: is for net list'),
    (['net', 'list', '--yaml'], 2, r'^qhalo: --yaml: is for net show'),
    (['net'], 2, r'^qhalo: net: list, show NAME or run FILE is missing'),
    (['net', 'lst'], 2, r"^qhalo: net: there is no 'lst'"),
    (['net', 'show'], 2, r'^qhalo: net: NAME is missing'),
    (['net', 'show', 'no-such'], 2, r'no-such'),
    (['net', 'show', 'V100'], 2, r'did you mean v100\?'),
    (['train', GRAPH, '--accelerator', 'V100'], 2, r"did you mean 'v100'\?"),
    (['train', GRAPH, '--method', 'int3'], 2, r'^qhalo: --method: .*--codec int:3'),
    (['train', GRAPH, '--codec', 'no'], 2, r'int:B, mixed, mask:R, topk:R, drop'),
    (['net', 'show', 'x.yaml', '--yaml'], 2, r"^qhalo: --yaml: 'x.yaml' is no preset"),
]


def wrong_calls(_):
    for args, rc, says in WRONG:
        Run(*args, rc=rc, says=says)


def widths_of_a_file(folder):
    path = folder + '/bits'
    words = ['train', *SMALL, '--assign', 'file:' + path, '--bits', '2,4', '--quiet']
    for line, says in [('120 4', 'no node 120'), ('2 forward 0 4', 'no layer 2'),
                       ('0 8', '8 is not one of --bits')]:
        write(folder, 'bits', f'119 4\n{line}\n')
        Run(*words, rc=3, says=f'^qhalo: {path}:2: .*{says}')
    write(folder, 'bits', '119 4\n1 backward 0 2\n')
    Run(*words)


def bits_that_nobody_uses(folder):
    note = 'note: --bits is for'
    config = write(folder, 'bits.yaml', 'bits: [2, 4]\n')
    for words, told in [(['train', *SMALL, '--bits', '2,4'], True),
                        (['train', *SMALL, '--config', config], True),
                        (['train', *SMALL, '--bits', '2,4', '--method', 'random'], False),
                        (['train', *SMALL], False),
                        (['compare', *SMALL, '--methods', 'int8,int4', '--bits', '2'], True),
                        (['compare', *SMALL, '--methods', 'int8,random', '--bits', '2'], False)]:
        err = Run(*words).err
        check((note in err) == told, f'{words}: {err}')


def names_are_checked_before_the_data(_):
    for args in [['--net', 'no-such'], ['--net', 'v100'], ['--accelerator', 'switch-10g'],
                 ['--accelerator', 'no-such'], ['--codec', 'int:9'], ['--assign', 'no-such'],
                 ['--model', 'gat'], ['--partitioner', 'no-such'], ['--expect', 'acuracy>0']]:
        Run('train', '/no/such/graph', *args, rc=2)
    for args in [['--net', 'no-such'], ['--expect', 'vanilla.acuracy>0'], ['--expect', 'int8.speedup>1'],
                 ['--bits', '2,9', '--methods', 'random']]:
        Run('compare', '/no/such/graph', '--methods', 'vanilla', *args, rc=2)
    Run('train', '/no/such/graph', '--net', 'v100', rc=2, says="'v100' is an accelerator")
    Run('train', '/no/such/graph', rc=3)


def errors_are_one_line(_):
    run = Run('train', GRAPH, '--method', 'a\nb', '--quiet', rc=2)
    check(run.err.count('\n') == 1, f'not one line: {run.err!r}')


def help_names_every_option(_):
    overview = Run('--help').out
    for command in ['train', 'compare', 'data', 'partition', 'net']:
        check(f'\n  {command} ' in overview, f'{command} is not in --help')
        text = Run(command, '--help').out
        check(text.startswith(f'usage: qhalo {command} '), f'{command} --help: {text[:80]!r}')
    train = Run('train', GRAPH, '--help', '--layers', '5').out
    for option in ['devices', 'model', 'layers', 'method', 'codec', 'net', 'accelerator', 'threads',
                   'expect', 'config', 'json', 'out']:
        check(f'  --{option}' in train, f'train --help lacks --{option}')


def help_is_narrow(_):
    for command in ['train', 'compare', 'data', 'partition', 'net', 'bench']:
        for line in Run(command, '--help').out.splitlines():
            check(len(line) <= 100, f'{command} --help: {line}')
    check('>=, <=, >, <, == or' in ' '.join(Run('train', '--help').out.split()), 'no operators')


def reader_that_left(_):
    import subprocess
    for words in [['train', *SMALL, '--quiet'], ['train', *SMALL, '--quiet', '--json'], ['net', 'list']]:
        reader, writer = os.pipe()
        os.close(reader)  # before qhalo starts, or it may write in time
        done = subprocess.run([QHALO] + words, stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        check((done.returncode, done.stderr) == (4, b''), f'{words}: {done.returncode} {done.stderr!r}')


def version(_):
    text = Run('--version').out
    for word in ['qhalo ', 'kernels: ', 'cuda: ', 'mpi: ', 'simgrid: ']:
        check(word in text, f'--version lacks {word!r}')


def full_disk_behind_stdout(_):
    with open('/dev/full', 'w', encoding='utf-8') as full:
        import subprocess
        done = subprocess.run([QHALO, 'net', 'list'], stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False)
    check(done.returncode == 4, f'exit status {done.returncode}, not 4')
    check(done.stderr.startswith('qhalo: standard output: '), done.stderr)


def out_of_memory(_):
    """A run that cannot fit ends with 4. Skipped where the program itself does not start in so
    little (sanitizers reserve terabytes)."""
    import resource

    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
    try:
        Run('--version', preexec_fn=limit)
    except Exception:  # pylint: disable=broad-except
        print('note: no run with little memory here')
        return
    Run('train', 'synth:sbm,nodes=20000,degree=4,features=8,classes=3', '--devices', '1',
        '--hidden', '8192', rc=4, says=r'^qhalo: ', preexec_fn=limit)


def config_files(folder):
    base = ['train', GRAPH, '--devices', '2', '--epochs', '2', '--json', '--quiet']
    good = write(folder, 'good.yaml', 'layers: 2\nhidden: 8\nmethod: int4\nepochs: 9\nseed: 5\n')
    got = Run(*base, '--config', good).json()
    check((got['epochs'], got['method'], got['seed']) == (2, 'int4', 5), f'{got}')
    recipe = write(folder, 'recipe.yaml', 'hidden: 8\nrecipe: varco\nepochs: 1\n')
    got = Run('train', GRAPH, '--devices', '2', '--json', '--quiet', '--config', recipe).json()
    check((got['epochs'], got['model']) == (1, 'sage'), 'single keys win over their recipe')
    got = Run(*base, '--recipe', 'varco', '--model', 'gin', '--hidden', '8').json()
    check((got['epochs'], got['model']) == (2, 'gin'), 'single options win over --recipe')
    promise = write(folder, 'promise.yaml', 'expect:\n  - epochs==2\n  - test_metric>=2\n')
    Run(*base, '--hidden', '8', '--config', promise, rc=5, says='test_metric>=2 does not hold')
    for text, says in [('layers: 2\nhiden: 8\n', r':2: .*did you mean .hidden.'),
                       ('layers: 2\nlayers: 3\n', r":2: 'layers' stands here again"),
                       ('hidden: lots\n', r":1: 'lots' is not a whole number"),
                       ('a: [\n', r':\d: is not well-formed')]:
        bad = write(folder, 'bad.yaml', text)
        Run(*base, '--config', bad, rc=2, says='^qhalo: ' + bad + says)
    for key in ['method: int4', 'codec: int:4', 'overlap: true']:
        bad = write(folder, 'bad.yaml', f'layers: 2\n{key}\n')
        Run('compare', GRAPH, '--methods', 'vanilla', '--config', bad, rc=2,
            says=f'^qhalo: {bad}:2: compare')


def expectations(folder):
    hold = ['--expect', 'test_metric>=0', '--expect', 'breakdown.compute>0', '--expect=epochs == 4']
    Run('train', *SMALL, *hold, '--quiet')
    out = folder + '/run'
    run = Run('train', *SMALL, '--expect', 'bytes_per_epoch<1', '--expect', 'final_loss<0', '--out',
              out, '--json', '--quiet', rc=5)
    lines = run.err.splitlines()
    check(len(lines) == 2, f'one line for each: {run.err!r}')
    check('bytes_per_epoch is ' in lines[0] and 'final_loss is ' in lines[1], run.err)
    check(run.json()['epochs'] == 4, 'the summary is printed all the same')
    with open(out + '/run.json', encoding='utf-8') as f:
        check('"summary"' in f.read(), 'the run folder is whole all the same')


if __name__ == '__main__':
    sys.exit(main([wrong_calls, bits_that_nobody_uses, widths_of_a_file,
                   names_are_checked_before_the_data, errors_are_one_line,
                   help_names_every_option, help_is_narrow, reader_that_left, version,
                   full_disk_behind_stdout, out_of_memory, config_files, expectations]))
