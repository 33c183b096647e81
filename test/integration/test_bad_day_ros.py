"""Faults before the emulated robot with Nav2 and MoveIt: the bridge keeps what it promises."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.trial import Check, run_trial
from planner.environment import ros_environment

# Its servers gone one after the other, and its bridge suspended, then killed.
EVERYTHING = Schedule(
    "ros",
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
# Whatever the client does first: it drives during one of these.
HANGS = Schedule(
    "ros",
    3,
    tuple(Event(at_s, Fault.FREEZE, 2.5, name="client") for at_s in (2.0, 7.0)),
    12.0,
)


@pytest.fixture(autouse=True)
def ros(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ros_environment(os.environ).items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_a_bad_day_of_a_robot_with_nav2_holds(tmp_path: Path) -> None:
    outcome = run_trial(EVERYTHING, tmp_path)
    assert outcome.trouble == ""
    assert outcome.checked == {Check.MOTION, Check.OUTCOMES, Check.ENDS, Check.ALIVE}
    assert outcome.violations == (), (tmp_path / "evidence.log").read_text()
    # It drove before and after, and was told to stop.
    assert outcome.motions > 30
    assert "stop answered, s" in outcome.figures


@pytest.mark.slow
def test_a_client_that_hangs_is_found_where_rule_8_does_not_hold(tmp_path: Path) -> None:
    outcome = run_trial(HANGS, tmp_path, {"executive": {"where": "never"}})
    assert outcome.trouble == ""
    assert [each.check for each in outcome.violations][:1] == [Check.MOTION], outcome
    assert "client silent" in outcome.violations[0].text
