"""What a change in the judge or the safety rules would break: a sample of such changes is tried."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import mutants
import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("module", mutants.TESTS)
def test_each_module_and_each_of_its_tests_is_there(module: str) -> None:
    assert (ROOT / module).is_file()
    for name in mutants.TESTS[module]:
        assert (ROOT / mutants.test_file(module, name)).is_file()


def test_a_mutant_is_killed_by_a_failure_or_by_no_end_and_by_nothing_else() -> None:
    failed, passed, no_test, interrupted, cpu_time = 1, 0, 33, 2, -24
    counts = Counter(map(mutants.status, (failed, failed, passed, no_test, interrupted, cpu_time)))
    assert counts == {"killed": 2, "lives": 3, "hangs": 1}
    assert mutants.share(counts) == 0.5
    assert mutants.row("guard", counts).split() == ["guard", "6", "2", "3", "1", "50.0%"]
    assert mutants.share(Counter()) == 0.0


def test_an_unknown_module_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        mutants.main(["gaurd"])
    assert "no such module: gaurd; there are statistics," in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_of_a_sample_of_changes_nine_in_ten_are_noticed() -> None:
    # Of one that judges and one for safety, as each takes long to begin; `make nightly` tries all.
    words = ["constraints", "verdicts", "--sample", "10", "--survivors"]
    command = [sys.executable, "scripts/mutants.py", *words]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
