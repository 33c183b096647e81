"""What continuous integration runs, with a `make` that only writes down what it was asked."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("opted", "ran"),
    [({}, []), ({"PLANNER_CI_VLLM": "1"}, ["test-vllm"])],
)
def test_the_real_model_server_is_opted_in(
    tmp_path: Path, opted: dict[str, str], ran: list[str]
) -> None:
    make = tmp_path / "make"
    make.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/ran\n')
    make.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if k != "PLANNER_CI_VLLM"}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    subprocess.run([ROOT / ".ci" / "run"], check=True, env=environment | opted)
    assert (tmp_path / "ran").read_text().splitlines() == [
        "test",
        "test-slow",
        "bad-day RUNS=30 ARGS=--confirm",
        *ran,
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
    # Properties run in both, in the slow tests with all their cases.
    suites = {
        "pytest test/integration": "-m slow",
        "--ignore=test/integration": "-m 'slow or hypothesis' --hypothesis-profile=whole",
    }
    ran = [line for line in told.replace("\\\n", "").splitlines() if "bin/pytest" in line]
    for suite, slow in suites.items():
        for mark in ("-m 'not slow'", slow):
            assert len([line for line in ran if suite in line and mark in line]) == 1
    assert len(ran) == 4
