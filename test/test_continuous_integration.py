"""What continuous integration runs, with a `make` that only writes down what it was asked."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

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
        "smollm",
        "test-slow",
        "bad-day RUNS=30 ARGS=--confirm",
        *ran,
    ]


@pytest.mark.parametrize("name", [".github/workflows/ci.yml", ".gitlab-ci.yml"])
def test_a_host_runs_that_script_on_both_systems(name: str) -> None:
    workflow = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    if "jobs" in workflow:
        job = workflow["jobs"]["checks"]
        images = job["strategy"]["matrix"]["image"]
        commands = [step["run"] for step in job["steps"] if "run" in step]
        # YAML 1.1 reads the key "on" as true.
        assert workflow[True].keys() >= {"push", "pull_request"}
    else:
        job = workflow["checks"]
        (matrix,) = job["parallel"]["matrix"]
        images = matrix["IMAGE"]
        commands = [*job["before_script"], *job["script"]]
    assert images == ["debian:12", "ubuntu:24.04"]
    assert commands[-1] == ".ci/run"
    # What else there is only lets that script begin.
    assert all(re.match(r"apt-get|git config", command) for command in commands[:-1])


def test_the_templates_ask_for_what_there_is() -> None:
    templates = ROOT / ".github"
    for path in (templates / "ISSUE_TEMPLATE").glob("*.md"):
        _, front, text = path.read_text(encoding="utf-8").split("---\n", 2)
        assert yaml.safe_load(front).keys() == {"name", "about", "labels"}
        assert text.strip()
    texts = [path.read_text(encoding="utf-8") for path in templates.rglob("*.md")]
    assert len(texts) == 3
    for name in re.findall(r"\b(?:docs/)?\w+\.md\b", "".join(texts)):
        assert (ROOT / name).is_file()
    merge = ROOT / ".gitlab" / "merge_request_templates" / "Default.md"
    assert merge.resolve() == templates / "pull_request_template.md"


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
        "integration test/integration": "-m 'slow and not nightly'",
        "--ignore=test/integration": "-m '(slow or hypothesis) and not nightly' --hypothesis",
    }
    ran = [line for line in told.replace("\\\n", "").splitlines() if "second_try.py" in line]
    for suite, slow in suites.items():
        for mark in ("-m 'not slow'", slow):
            assert len([line for line in ran if suite in line and mark in line]) == 1
    assert len(ran) == 4


TESTS = """
from pathlib import Path

TRIES = Path(__file__).with_suffix(".tries")


def test_flaky() -> None:
    TRIES.write_text(TRIES.read_text() + "." if TRIES.exists() else ".")
    assert TRIES.read_text() != "."


def test_good() -> None:
    pass
"""


def second_try(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the tests of a folder as `make` runs those of the project."""
    if not (folder / ".venv").exists():
        (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / "pytest.ini").write_text("[pytest]\n")
    # This may itself be a run of continuous integration.
    environment = {k: v for k, v in os.environ.items() if k != "PLANNER_SECOND_TRIES"}
    return subprocess.run(
        [sys.executable, ROOT / "scripts" / "second_try.py", "tests", *arguments],
        cwd=folder,
        env=environment | {"PLANNER_TEST_HISTORY": str(folder / "history")} | more,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "status", "told"),
    [
        ("", 0, "passed in the second try only:"),
        ("\n\ndef test_wrong() -> None:\n    assert False, 'wrong'\n", 1, "1 failed, 2 passed"),
    ],
)
def test_a_file_with_a_failure_is_tried_once_more(
    tmp_path: Path, more: str, status: int, told: str
) -> None:
    tests = tmp_path / "test_tries.py"
    tests.write_text(TESTS + more)
    ended = second_try(tmp_path, "test_tries.py", "-n", "1")
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert told in ended.stdout
    # Once in each try.
    assert tests.with_suffix(".tries").read_text() == ".."
    last = ended.stdout.splitlines()[-2:]
    assert last[1].strip() == "in 1 of 1 runs: test_tries.py::test_flaky"
    # Its log has why the first try failed.
    assert "where" in Path(last[0].partition("log: ")[2]).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("summary", [True, False])
def test_what_needs_a_later_try_three_times_in_a_row_fails(tmp_path: Path, summary: bool) -> None:
    tests = tmp_path / "test_tries.py"
    tests.write_text(TESTS)
    more = {"PLANNER_SECOND_TRIES": str(tmp_path / "summary")} if summary else {}
    statuses = []
    for _ in range(3):
        tests.with_suffix(".tries").unlink(missing_ok=True)
        words = ("-n", "0", "-rR", "--rerun-show-tracebacks", "--reruns", "1")
        ended = second_try(tmp_path, "test_tries.py", *words, **more)
        statuses.append(ended.returncode)
    assert "in 3 of 3 runs: test_tries.py::test_flaky" in ended.stdout
    assert statuses == ([0, 0, 1] if summary else [0, 0, 0])
    if summary:
        told = (tmp_path / "summary").read_text()
        assert told.endswith("FAILED: so 3 runs in a row: test_tries.py::test_flaky\n")
    # One good run begins anew.
    assert second_try(tmp_path, "test_tries.py", "-n", "0", **more).returncode == 0


@pytest.mark.slow
def test_many_files_with_failures_are_not_tried_again(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"test_wrong_{number}.py").write_text("def test_wrong(): assert False\n")
    ended = second_try(tmp_path, "-n", "0")
    assert ended.returncode == 1
    assert "failures in 5 files" in ended.stdout
    assert "second try of" not in ended.stdout


def test_repeats_delay_no_test(request: pytest.FixtureRequest) -> None:
    asked = getattr(getattr(request.config, "failures_db", None), "sock", None)
    if asked is None:
        pytest.skip("only where several processes run the tests, and repeat them")
    assert asked.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
