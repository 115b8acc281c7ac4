#!/usr/bin/env python3
"""Runs every command that README.md, docs/*.md and the page of the sample traces show, so that no
page goes stale.

A command is a line of a fenced block marked `sh`; a line that ends in a backslash goes on in the
next. A block marked `yaml` whose first line is `# NAME.yaml` is written to that file, and so is one
marked `json NAME.json`, for JSON has no comments. The blocks of one page are taken in order in one
empty folder, with the built qhalo first on the PATH and a copy of the sample traces where they
are in the sources. A line may carry `# exit N` for a status other than 0. tools/demo and tools/test
are left to the CI run, tools/bench_* to whoever measures.

    commands.py QHALO SOURCE_FOLDER [PAGE]
"""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEFT_OUT = re.compile(r"^(tools/(demo|test|bench_\w+)|git clone|cd )")


FILE_NAME = re.compile(r"# (\w[\w.-]*\.yaml)$")
JSON_NAME = re.compile(r"json (\w[\w.-]*\.json)$")


def blocks(page):
    """(line number of its first line, language, lines) of each fenced block of a page."""
    language, body, first = None, [], 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if not line.startswith("```"):
            body.append(line)
        elif language is None:
            language, body, first = line[3:].strip(), [], number + 1
        else:
            yield first, language, body
            language = None
    if language is not None:
        sys.exit(f"{page}:{first - 1}: this block has no end")


def commands(first, body):
    """(line number, command) of each command in the lines of a block."""
    command, start = "", 0
    for number, line in enumerate(body, first):
        if not line.strip():
            continue
        start = start or number
        command += line.rstrip("\\")
        if not line.endswith("\\"):
            yield start, command.strip()
            command, start = "", 0


def write_file(language, body, folder):
    """Leaves the file that a block shows, if its first line or its mark names one."""
    name = FILE_NAME.match(body[0]) if language == "yaml" and body else JSON_NAME.match(language)
    if name:
        Path(folder, name.group(1)).write_text("\n".join(body) + "\n")


def run_command(where, command, source, folder, environment):
    """Whether it ended as the page says; None where it is not run here."""
    shared = source.parent / "shared"
    expected = re.search(r"# exit (\d+)", command)
    expected = int(expected.group(1)) if expected else 0
    if LEFT_OUT.match(command) or ("../shared" in command and not shared.is_dir()):
        return None
    command = command.replace("../shared", shlex.quote(str(shared)))
    start = time.monotonic()
    result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment,
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    good = result.returncode == expected
    print(f"{'ok' if good else 'FAILED'} {where} ({time.monotonic() - start:.1f} s): {command}")
    if not good:
        print(f"exit {result.returncode}, not {expected}\n{result.stdout}{result.stderr}")
    return good


def lay_out_samples(source, folder):
    samples = Path(folder, "traces", "samples")
    shutil.copytree(source / "traces" / "samples", samples)


def run(page, qhalo, source, folder):
    """Number of commands run and of those that failed."""
    lay_out_samples(source, folder)
    environment = dict(os.environ, PATH=f"{qhalo.parent}:{os.environ['PATH']}")
    verdicts = []
    for first, language, body in blocks(page):
        if language.split(" ")[0] in ("yaml", "json"):
            write_file(language, body, folder)
        elif language == "sh":
            for number, command in commands(first, body):
                verdicts.append(run_command(f"{page.name}:{number}", command, source, folder,
                                            environment))
    return len(verdicts) - verdicts.count(None), verdicts.count(False)


def main():
    qhalo, source = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    pages = sys.argv[3:] or [source / "README.md", *sorted((source / "docs").glob("*.md")),
                            source / "traces" / "samples" / "README.md"]
    done = failed = 0
    for page in map(Path, pages):
        with tempfile.TemporaryDirectory() as folder:
            counts = run(page, qhalo, source, folder)
        done, failed = done + counts[0], failed + counts[1]
    print(f"{done} commands, {failed} failed")
    sys.exit(failed > 0 or done == 0)


main()
