"""Changes one thing at a time in the modules that decide verdicts and safety: do their tests fail?

    .venv/bin/python scripts/mutants.py
    .venv/bin/python scripts/mutants.py statistics guard --survivors
    .venv/bin/python scripts/mutants.py --sample 40 --seed 1

mutmut makes and runs the mutants, in a copy of the checkout. Prints a table, and exits 1 if less
than `SHARE` of them are killed, in a module or, of a sample, in all. A mutant counts as killed if a
test fails or does not end, and as survived if no test runs it. Of the three ways in which mutmut
changes a text, the first is used: a test that tells "XX" from nothing tells capitals as well. What
stands outside of functions, and properties, mutmut leaves alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHARE = 0.9
JUDGE, SAFETY = "planner/evaluation", "sim_bridge/safety"
# Each module with the tests that belong to it, without `test_`; a folder is named where it differs.
TESTS: Mapping[str, Sequence[str]] = {
    f"{JUDGE}/statistics.py": ("statistics",),
    f"{JUDGE}/predicates.py": (
        "predicates", "openness", "perceived", "nested_things",
        "things_as_receptacles", "criteria", "constraints", "worked_examples",
        "sim_bridge/graph/judged",
    ),
    f"{JUDGE}/constraints.py": ("tracker", "constraints", "worked_examples", "throughout"),
    f"{JUDGE}/progress.py": ("progress", "as_understood"),
    f"{JUDGE}/evaluator.py": (
        "evaluator", "worked_examples", "as_understood", "criteria", "constraints", "steadiness",
        "perceived", "throughout",
    ),
    f"{JUDGE}/criteria.py": ("criteria", "steadiness"),
    f"{SAFETY}/guard.py": ("guard", "gate", "attendance"),
    f"{SAFETY}/verdicts.py": ("verdicts", "gate", "attendance", "approvals"),
    f"{SAFETY}/gate.py": ("receipts", "gate", "guard", "attendance", "approvals"),
    f"{SAFETY}/approvals.py": ("attendance", "approvals"),
}  # fmt: skip
COPIED = ("planner", "papers", "sim_bridge", "test", "config", "msgs", "README.md")


def main(words: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    names = {Path(module).stem: module for module in TESTS}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(names)}")
    parser.add_argument("--sample", type=int, help="so many mutants, of each module as many")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--only", default="", help="mutants of functions whose names contain this")
    parser.add_argument("--survivors", action="store_true", help="show what survives")
    args = parser.parse_args(words)
    unknown = sorted(set(args.modules) - set(names))
    if unknown:
        parser.error(f"no such module: {', '.join(unknown)}; there are {', '.join(names)}")
    chosen = [names[name] for name in args.modules] or list(TESTS)
    most = args.sample and max(1, args.sample // len(chosen))
    total: Counter[str] = Counter()
    below = False
    print(f"{'module':32} mutants  killed survived timeouts  share", flush=True)
    for module in chosen:
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            statuses = outcomes(Path(folder), module, (most, args.seed, args.only))
            counts = Counter(statuses.values())
            print(row(module, counts), flush=True)
            if args.survivors:
                show(Path(folder), [name for name, status in statuses.items() if status == "lives"])
        total += counts
        below = below or share(counts) < SHARE
    print(row("all", total))
    return int(share(total) < SHARE if args.sample else below)


def row(name: str, counts: Counter[str]) -> str:
    """A line of the table."""
    columns = (f"{counts[status]:8}" for status in ("killed", "lives", "hangs"))
    return f"{name:32}{counts.total():8}{''.join(columns)}{share(counts):8.1%}"


def share(counts: Counter[str]) -> float:
    """Of the mutants, those that are killed; 0 of none."""
    return (counts["killed"] + counts["hangs"]) / max(1, counts.total())


def outcomes(folder: Path, module: str, choice: tuple[int | None, int, str]) -> dict[str, str]:
    """Runs the mutants of a module in an empty folder: what became of each, by name.

    Raises:
        SystemExit: 2, after mutmut's output, if it could not run the tests.
    """
    for name in COPIED:
        if (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (folder / "pyproject.toml").write_text(project + settings(module), "utf-8")
    # Python would remember that a folder of its path is not there.
    (folder / "mutants").mkdir()
    # The copy's modules come before those of the checkout, which is installed.
    environment = os.environ | {"PYTHONPATH": f"{folder}/mutants"}
    made = inside(folder, "run", [module, json.dumps(choice)], environment)
    meta = folder / "mutants" / f"{module}.meta"
    kept = json.loads(meta.read_text(encoding="utf-8")) if meta.exists() else {}
    codes = kept.get("exit_code_by_key", {}).items()
    statuses = {name: status(code) for name, code in codes if code is not None}
    if made.returncode or not statuses:
        # Its wheel has turned for many lines.
        print(*made.stdout.splitlines()[-60:], sep="\n", file=sys.stderr)
        print(f"{module}: its mutants could not be run", file=sys.stderr)
        raise SystemExit(2)
    return statuses


def status(code: int) -> str:
    """The outcome of a mutant from its exit status, by mutmut's table of those."""
    from mutmut.stats import status_by_exit_code

    word = status_by_exit_code[code]
    return {"killed": "killed", "segfault": "killed", "timeout": "hangs"}.get(word, "lives")


def test_file(module: str, name: str) -> Path:
    """A test of `TESTS`, in the checkout."""
    folder, _, last = name.rpartition("/")
    return Path("test", folder or Path(module).parent, f"test_{last}.py")


def settings(module: str) -> str:
    """What mutmut reads of the copy's pyproject.toml."""
    tests = [str(test_file(module, name)) for name in TESTS[module]]
    # What goes through all shipped houses takes long and tells no more.
    options = ["-m", "not slow", "-k", "not shipped", "--hypothesis-seed=0"]
    options += ["-p", "no:cacheprovider", "-p", "no:xdist"]
    return f"""
[tool.mutmut]
source_paths = {json.dumps([module])}
also_copy = {json.dumps(COPIED)}
pytest_add_cli_args = {json.dumps(options)}
pytest_add_cli_args_test_selection = {json.dumps(tests)}
use_git_change_detection = false
# Seconds beyond what the tests take without a mutant, before these are multiplied by 15.
timeout_constant = 4.0
"""


def show(folder: Path, survivors: Sequence[str]) -> None:
    """Prints what was changed in each of them."""
    print(inside(folder, "show", survivors, os.environ).stdout if survivors else "", flush=True)


def inside(
    folder: Path, what: str, words: Iterable[str], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """Runs a function of `INSIDE` in a process of its own: mutmut forks its tests from there."""
    command = [sys.executable, __file__, "--inside", what, *words]
    return subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
        stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip


def run(module: str, choice: str) -> None:
    """Makes and runs mutants of a module in this folder."""
    from mutmut.__main__ import _run
    from mutmut.mutation import mutators
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    text = mutators.operator_string
    mutators.mutation_operators[:] = [
        (node, (lambda string: islice(text(string), 1)) if change is text else change)
        for node, change in mutators.mutation_operators
    ]
    most, seed, part = json.loads(choice)
    source = Path(module).read_text(encoding="utf-8")
    made = mutate_file_contents(module, source).mutant_names
    names = [get_mutant_name(Path(module), name) for name in made if part in name]
    if most:
        names = random.Random(seed).sample(names, min(most, len(names)))
    _run(names, None)


def diffs(*names: str) -> None:
    """Prints how mutants of this folder differ from the source."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant

    for name in names:
        lines = get_diff_for_mutant(name).splitlines()
        print(name, *(line for line in lines[2:] if line[:1] in "+-"), sep="\n", flush=True)


INSIDE = {"run": run, "show": diffs}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        INSIDE[sys.argv[2]](*sys.argv[3:])
    else:
        raise SystemExit(main())
