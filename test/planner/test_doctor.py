import json
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from planner import cli, doctor
from planner.doctor import Finding, Status
from sim_bridge.backend import BACKENDS


def test_a_crash_in_a_trial_is_only_an_answer() -> None:
    answer = doctor.trial("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert not answer.worked
    assert answer.line == "crashed with signal 11"


@pytest.mark.slow
def test_a_trial_that_never_answers_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_TRIAL_TIMEOUT_S", 0.5)
    answer = doctor.trial("import time; time.sleep(3600)")
    assert not answer.worked
    assert "no answer" in answer.line


def test_a_trial_says_why_it_failed() -> None:
    answer = doctor.trial("import a_package_that_is_not_there")
    assert not answer.worked
    assert answer.line == "ModuleNotFoundError: No module named 'a_package_that_is_not_there'"


def test_extras_are_those_that_the_package_declares() -> None:
    wanted = doctor.extra_requirements()
    used = {part.extra for part in BACKENDS.usable().values() if part.extra}
    assert {*doctor._EXTRAS, *used} <= set(wanted)
    assert "torch" in wanted["local"]


@pytest.mark.slow
def test_this_environment_has_what_the_core_needs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json"]) == 0
    found = {row["part"]: row for row in json.loads(capsys.readouterr().out)}
    for part in ("Python", "ROS 2 (rclpy)", "planner_msgs", "tf2_msgs"):
        assert found[part]["status"] == "present", found[part]
    drawing = [row for part, row in found.items() if part.startswith("renderer")]
    assert len(drawing) == 3
    assert any(row["status"] == "present" for row in drawing)
    assert set(found) >= {f"extra {name}" for name in doctor._EXTRAS}


# Stands in for habitat-sim: the names that the trial uses, and nothing drawn.
_PRETEND_HABITAT = """
from types import SimpleNamespace as _Any
__version__ = '0.3.4'
built_with_bullet = True
SimulatorConfiguration = CameraSensorSpec = _Any
agent = _Any(AgentConfiguration=_Any)
Configuration = lambda settings, agents: (settings, agents)
class Simulator:
    def __init__(self, configuration): assert configuration[0].scene_id == 'NONE'
    def get_sensor_observations(self, number): return {}
    def close(self): pass
"""
_NO_EGL = """
def Simulator(configuration):
    import os, sys
    print('unable to find an EGL device', file=sys.stderr, flush=True)
    os.abort()
"""


def _other_pythons() -> list[doctor.Finding]:
    return [row for row in doctor._extras() if "(for backend:=" in row.part]


@pytest.mark.needs("sim_bridge/habitat")
def test_habitat_sim_is_looked_for_in_the_environment_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        doctor, "find_spec", lambda name: None if name == "habitat_sim" else find_spec(name)
    )
    monkeypatch.delenv("PLANNER_HABITAT_PYTHON", raising=False)
    (habitat,) = _other_pythons()
    assert (habitat.status, habitat.cure) == (Status.ABSENT, "see docs/habitat.md")
    module = tmp_path / "habitat_sim.py"
    python = tmp_path / "python"
    # Not from bytecode: the text changes within the second that it has for a stamp.
    here = f'cd {tmp_path}; exec {sys.executable} -B "$@"'
    for body, text, status, detail in (
        (here, _PRETEND_HABITAT, Status.PRESENT, "version 0.3.4, draws on "),
        (here, _PRETEND_HABITAT.replace("0.3.4", "0.3.2"), Status.ABSENT, "older than 0.3.3"),
        (here, _PRETEND_HABITAT.replace("= True", "= False"), Status.ABSENT, "has no Bullet"),
        (here, _PRETEND_HABITAT + _NO_EGL, Status.ABSENT, "unable to find an EGL device"),
        (
            f'exec {sys.executable} "$@"',
            _PRETEND_HABITAT,
            Status.ABSENT,
            "No module named 'habitat_sim'",
        ),
    ):
        module.write_text(text)
        python.write_text(f"#!/bin/sh\n{body}\n")
        python.chmod(0o755)
        monkeypatch.setenv("PLANNER_HABITAT_PYTHON", str(python))
        (found,) = _other_pythons()
        assert found.status is status
        assert f"PLANNER_HABITAT_PYTHON={python}" in found.detail
        assert detail in found.detail
    monkeypatch.setenv("PLANNER_HABITAT_PYTHON", str(tmp_path / "nothing"))
    (lost,) = _other_pythons()
    assert (lost.status, "cannot be run" in lost.detail) == (Status.ABSENT, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "status", "detail"),
    [
        ({}, Status.PRESENT, "loopback only"),
        ({"PLANNER_NETWORK": "open"}, Status.WARNING, "open without security"),
    ],
)
def test_it_says_how_far_the_nodes_can_be_reached(
    environment: dict[str, str], status: Status, detail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PLANNER_NETWORK", "FASTDDS_DEFAULT_PROFILES_FILE", "ROS_SECURITY_ENABLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    network, security = doctor._network()
    assert (network.part, network.status) == ("network", status)
    assert network.detail.startswith(detail)
    assert bool(network.cure) == (status is Status.WARNING)
    assert security.detail.startswith("the middleware was built with")


def test_what_to_do_about_a_warning_is_shown() -> None:
    shown = doctor.table([Finding("network", Status.WARNING, "open", "close it")])
    assert "do: close it" in shown
    assert "everything the core needs is present" in shown


@pytest.mark.parametrize(("status", "code"), [(Status.MISSING, 1), (Status.ABSENT, 0)])
def test_only_what_the_core_needs_counts(
    status: Status,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = (Finding("Python", Status.PRESENT, "3"), Finding("part", status, "not here", "get it"))
    monkeypatch.setattr(doctor, "examine", lambda: rows)
    assert cli.main(["doctor"]) == code
    shown = capsys.readouterr().out
    assert "get it: get it" in shown
    assert ("missing: part" in shown) == (code == 1)
