"""Starting jobs under mpirun, as continuous integration does: more ranks than cores, any user."""

import os
import re
import subprocess
import sys
import tempfile
import time

TOP = 10  # seconds after a failure until the job has to be over


class Failed(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failed(message)


def flags(mpirun):
    """docs/cluster.md has the line."""
    version = subprocess.run([mpirun, '--version'], capture_output=True, text=True).stdout
    if 'Open MPI' not in version and 'OpenRTE' not in version:
        return []
    root = ['--allow-run-as-root'] if os.getuid() == 0 else []
    return ['--oversubscribe'] + root


class Job:
    """One job; rc None: any failure will do."""

    def __init__(self, mpirun, n, words, rc=0, says=None, top=60, env=None, more=()):
        line = [mpirun] + flags(mpirun) + list(more) + ['-n', str(n)] + [os.path.abspath(words[0])] + [str(w) for w in words[1:]]
        started = time.monotonic()
        with tempfile.TemporaryFile('w+') as out, tempfile.TemporaryFile('w+') as err:
            p = subprocess.Popen(line, stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                 env={**os.environ, **(env or {})}, start_new_session=True)
            try:
                status = p.wait(timeout=top)
            except subprocess.TimeoutExpired:
                p.terminate()
                p.wait(timeout=20)
                status = None
            self.seconds = time.monotonic() - started
            out.seek(0)
            err.seek(0)
            self.out, self.err = out.read(), err.read()
        self.line = ' '.join(line)
        check(status is not None, f'not over after {top} s: {self.line}\n{self.out}{self.err}')
        check(status == rc if rc is not None else status != 0,
              f'exit status {status}, not {rc}: {self.line}\n{self.out}{self.err}')
        if says is not None:
            n = len(re.findall(says, self.err))
            check(n == 1, f'stderr has {says!r} {n} times, not once: {self.line}\n{self.err}')


def main(cases):
    failed = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(folder)
                print(f'ok {case.__name__}', flush=True)
            except Failed as e:
                failed += 1
                print(f'FAILED {case.__name__}: {e}', flush=True)
    print(f'{len(cases)} cases, {failed} failed')
    return 1 if failed else 0


def mpirun_or_skip(path):
    if not path:
        print('skipped: this build has no MPI (-Dmpi)')
        sys.exit(77)
    return path
