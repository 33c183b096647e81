"""Faults before the emulated robot with Nav2 and MoveIt: the bridge keeps what it promises."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.bad_day.outcome import Check
from planner.bad_day.schedule import Event, Fault, Form, Schedule
from planner.bad_day.trial import run_trial
from planner.environment import ros_environment

# Its servers gone one after the other, and its bridge suspended, then killed.
EVERYTHING = Schedule(
    Form.ROS,
    2,
    (
        Event(1.0, Fault.SERVER_DEAD, 3.0, name="nav2"),
        Event(5.5, Fault.FREEZE, 2.5, name="bridge"),
        Event(9.0, Fault.CALL, name="stop"),
        Event(10.0, Fault.SERVER_DEAD, 2.0, name="moveit"),
        Event(14.0, Fault.KILL, name="bridge"),
    ),
    16.0,
)


@pytest.mark.slow
def test_a_bad_day_of_a_robot_with_nav2_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ros_environment(os.environ).items():
        monkeypatch.setenv(name, value)
    outcome = run_trial(EVERYTHING, tmp_path)
    assert outcome.trouble == ""
    assert outcome.checked == {Check.MOTION, Check.OUTCOMES, Check.ENDS}
    assert outcome.violations == (), (tmp_path / "evidence.log").read_text()
    # It drove before and after, and was told to stop.
    assert outcome.motions > 30
    assert "stop answered, s" in outcome.figures
