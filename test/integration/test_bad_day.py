"""The harness itself: it runs, and what a safety rule keeps from happening is found without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.trial import Check, Outcome, run_trial
from planner.environment import ros_environment

# Long enough to fall into a walk, whatever the client does first.
HANGS = Schedule(
    "bridge",
    3,
    tuple(Event(at_s, Fault.FREEZE, 3.0, 0.0, "client") for at_s in (2.0, 7.0)),
    12.0,
)
EVERYTHING = Schedule(
    "bridge",
    5,
    (
        Event(0.0, Fault.ROUND_TRIP, value=0.1),
        Event(0.5, Fault.SECOND_BRIDGE),
        Event(1.0, Fault.STALL, seconds=1.5),
        Event(3.0, Fault.CALL, name="stop"),
        Event(3.5, Fault.KILL, name="client"),
        Event(4.0, Fault.KILL, name="bridge"),
    ),
    6.0,
)


@pytest.fixture(autouse=True)
def ros(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ros_environment(os.environ).items():
        monkeypatch.setenv(name, value)


def checked(outcome: Outcome) -> Outcome:
    assert outcome.trouble == ""
    assert outcome.checked == {
        Check.MOTION,
        Check.OUTCOMES,
        Check.ENDS,
        Check.ALIVE,
        Check.EFFECT,
    }
    assert outcome.requests >= 4
    return outcome


def test_a_bad_day_of_the_bridge_holds(tmp_path: Path) -> None:
    outcome = checked(run_trial(EVERYTHING, tmp_path))
    assert outcome.violations == (), (tmp_path / "evidence.log").read_text()
    assert "stop answered, s" in outcome.figures


def test_a_client_that_hangs_is_found_where_rule_8_does_not_hold(tmp_path: Path) -> None:
    never = {"executive": {"where": "never"}}
    outcome = checked(run_trial(HANGS, tmp_path / "without", never))
    assert [each.check for each in outcome.violations][:1] == [Check.MOTION], outcome
    assert "client silent" in outcome.violations[0].text
    outcome = checked(run_trial(HANGS, tmp_path / "with"))
    assert outcome.violations == (), (tmp_path / "with" / "evidence.log").read_text()
