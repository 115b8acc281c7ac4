#!/usr/bin/env python3
"""Runs every command that README.md and docs/*.md show, so that no page goes stale.

A command is a line of a fenced block marked `sh`; a line that ends in a backslash goes on in the
next. The blocks of one page run in order in one empty folder, with the built qhalo first on the PATH.
A line may carry `# exit N` for a status other than 0. tools/demo and tools/test are left to the CI
run, tools/bench_* to whoever measures.

    commands.py QHALO SOURCE_FOLDER [PAGE]
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEFT_OUT = re.compile(r"^(tools/(demo|test|bench_\w+)|git clone|cd )")


def commands(page):
    """(line number, command) of each command in a page."""
    inside, command, first = False, "", 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = line.strip() == "```sh"
        elif inside and line.strip():
            first = first or number
            command += line.rstrip("\\") if line.endswith("\\") else line
            if not line.endswith("\\"):
                yield first, command.strip()
                command, first = "", 0


def run(page, qhalo, source, folder):
    """Number of commands run and of those that failed."""
    environment = dict(os.environ, PATH=f"{qhalo.parent}:{os.environ['PATH']}")
    shared = source.parent / "shared"
    done = failed = 0
    for number, command in commands(page):
        expected = re.search(r"# exit (\d+)", command)
        expected = int(expected.group(1)) if expected else 0
        if LEFT_OUT.match(command):
            continue
        if "../shared" in command:
            if not shared.is_dir():
                continue
            command = command.replace("../shared", shlex.quote(str(shared)))
        start = time.monotonic()
        result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True)
        done += 1
        verdict = "ok" if result.returncode == expected else "FAILED"
        print(f"{verdict} {page.name}:{number} ({time.monotonic() - start:.1f} s): {command}")
        if result.returncode != expected:
            failed += 1
            print(f"exit {result.returncode}, not {expected}\n{result.stdout}{result.stderr}")
    return done, failed


def main():
    qhalo, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    pages = sys.argv[3:] or [source / "README.md", *sorted((source / "docs").glob("*.md"))]
    done = failed = 0
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            counts = run(page, qhalo, source, folder)
        done, failed = done + counts[0], failed + counts[1]
    print(f"{done} commands, {failed} failed")
    sys.exit(failed > 0 or done == 0)


main()
