#!/usr/bin/env python3
"""second_try.py NAME PYTEST-ARGUMENTS...: run tests, and files with failures once more.

What waits for processes may be late on a machine that others use as well. A file that failed gets
one more try in a process of its own, all of it, as its tests may share nodes. What fails in both
fails.

What only a later try passed, this one or a repetition by pytest (`--reruns`), is printed last, with
in how many of the newest runs that was so, and the log is kept in `PLANNER_TEST_HISTORY` (default:
~/.cache/planner/second_tries). Continuous integration names a file in `PLANNER_SECOND_TRIES`, to
which it is written as well; there a test that needed it in three runs in a row fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

MOST_FILES = 4
# Runs of which is remembered what was repeated, and those in a row after which that is a failure.
REMEMBERED, IN_A_ROW = 10, 3
FAILED = 1


def main(name: str, arguments: Sequence[str]) -> int:
    """The exit status of the tests."""
    cache = Path(".pytest_cache") / name
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(parents=True)
    log = cache / "log.txt"
    status = run(cache, log, arguments)
    later = repeated(log)
    failed = failures(cache)
    files = sorted({test.partition("::")[0] for test in failed})
    if status == FAILED and len(files) > MOST_FILES:
        print(
            f"== {name}: failures in {len(files)} files; a second try is for {MOST_FILES} at most"
        )
    elif status == FAILED and files:
        print(f"== {name}: second try of {' '.join(files)}", flush=True)
        # The same options but for what to run and in how many processes.
        options = [each for each in arguments if not Path(each).exists()]
        status = run(cache, log, [*options, "-n", "0", *files])
        if status == 0:
            print(f"== {name}: passed in the second try only: {' '.join(files)}")
        later |= (repeated(log) | failed) - failures(cache)
    return told(name, later, log) or status


def run(cache: Path, log: Path, arguments: Sequence[str]) -> int:
    """Pytest's exit status; what it prints is added to the log."""
    words = [".venv/bin/pytest", "-o", f"cache_dir={cache}", *arguments]
    with (
        log.open("ab") as kept,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as tests,
    ):
        while tests.stdout is not None and (said := os.read(tests.stdout.fileno(), 65536)):
            kept.write(said)
            sys.stdout.buffer.write(said)
            sys.stdout.buffer.flush()
    return tests.returncode


def failures(cache: Path) -> set[str]:
    """The tests that failed in the newest run."""
    path = cache / "v" / "cache" / "lastfailed"
    return set(json.loads(path.read_text())) if path.is_file() else set()


def repeated(log: Path) -> set[str]:
    """The tests that pytest itself repeated, and that passed then: of its summary (`-rR`)."""
    text = log.read_text("utf-8", "replace")
    lines = {kind: set(re.findall(rf"^{kind} (\S*::.*?)(?: - .*)?$", text, re.MULTILINE))
             for kind in ("RERUN", "FAILED", "ERROR")}  # fmt: skip
    return lines["RERUN"] - lines["FAILED"] - lines["ERROR"]


def told(name: str, later: set[str], log: Path) -> int:
    """Says and remembers what only a later try passed; `FAILED` if once too often in a row."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "planner"
    folder = Path(os.environ.get("PLANNER_TEST_HISTORY") or default / "second_tries")
    folder.mkdir(parents=True, exist_ok=True)
    history = folder / f"{name}.json"
    runs = [*(json.loads(history.read_text()) if history.is_file() else []), sorted(later)]
    runs = runs[-REMEMBERED:]
    history.write_text(json.dumps(runs, indent=1) + "\n")
    if not later:
        return 0
    kept = folder / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.log"
    shutil.copyfile(log, kept)
    for old in sorted(folder.glob(f"{name}-*.log"))[:-REMEMBERED]:
        old.unlink()
    often = {test: sum(test in run for run in runs) for test in sorted(later)}
    lines = [f"== {name}: {len(later)} passed at a later try only; log: {kept}"]
    lines += [f"   in {count} of {len(runs)} runs: {test}" for test, count in often.items()]
    summary = os.environ.get("PLANNER_SECOND_TRIES")
    newest = runs[-IN_A_ROW:]
    always = sorted(set.intersection(*map(set, newest))) if len(newest) == IN_A_ROW else []
    if summary and always:
        lines += [f"== {name}: FAILED: so {IN_A_ROW} runs in a row: {test}" for test in always]
    print("\n".join(lines), flush=True)
    if summary:
        with Path(summary).open("a") as file:
            print("\n".join(lines), file=file)
    return FAILED if summary and always else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
