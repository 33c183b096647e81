"""What continuous integration runs, with programs that only write down what they were asked."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """All programs of a machine that is set up; make and apt-get only write to `ran` beside it."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("bash", "dirname", "env", "grep", "id", "sh"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name in ("python3", "ip", "chromium"):
        (folder / name).touch(mode=0o755)
    for name in ("make", "apt-get"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" >> {tmp_path}/ran\n')
        (folder / name).chmod(0o755)
    (folder / "sudo").write_text('#!/bin/sh\nexec "$@"\n')
    (folder / "sudo").chmod(0o755)
    return folder


def run(programs: Path, **more: str) -> list[str]:
    """Runs it with nothing but these programs; returns what it called."""
    environment = {"PATH": str(programs), **more}
    subprocess.run([programs / "bash", ROOT / ".ci" / "run"], check=True, env=environment)
    return (programs.parent / "ran").read_text().splitlines()


TESTS = ["make test", "make test-slow", "make bad-day RUNS=30 ARGS=--confirm"]


def test_all_tests_run_and_the_real_model_server_is_opted_in(programs: Path) -> None:
    assert run(programs) == TESTS
    (programs.parent / "ran").unlink()
    assert run(programs, PLANNER_CI_VLLM="1") == [*TESTS, "make test-vllm"]


def test_what_is_lacking_is_installed_first(programs: Path) -> None:
    (programs / "ip").unlink()
    assert run(programs) == [
        "apt-get update -qq",
        "apt-get install -y -qq --no-install-recommends iproute2",
        *TESTS,
    ]


def test_an_environment_of_the_server_that_is_ready_is_taken_as_it_is(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "vllm.sh"
    version = next(line for line in script.read_text().splitlines() if line.startswith("VERSION="))
    (tmp_path / f"ready-{version.removeprefix('VERSION=')}").touch()
    told = subprocess.run(
        [script],
        check=True,
        env=os.environ | {"PLANNER_VLLM_VENV": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert told.stdout.strip() == f"{tmp_path}/bin/python"


def test_what_one_target_omits_the_other_runs() -> None:
    told = subprocess.run(
        ["make", "--dry-run", "test", "test-slow"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    suites = ("pytest test/integration", "--ignore=test/integration")
    ran = [line for line in told.replace("\\\n", "").splitlines() if "bin/pytest" in line]
    for suite in suites:
        for mark in ("-m 'not slow'", "-m slow"):
            assert len([line for line in ran if suite in line and mark in line]) == 1
    assert len(ran) == 4
