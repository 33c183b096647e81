"""What is a violation after a run of a whole stack."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from planner.bad_day import stack_checks
from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.permission import Cause, Motion, Request, Revocation
from planner.bad_day.stack_checks import StackEvidence, judge_stack
from planner.bad_day.trial import Check, repeat_command
from planner.recorder.bag_file import GAP
from planner.recorder.bag_writer import BagWriter, Topic
from planner.recorder.topic_counts import Gap
from planner.replay.judging import BagCheck, Judged


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """What a good run leaves."""
    (tmp_path / "memory").mkdir()
    with sqlite3.connect(tmp_path / "memory" / "x.sqlite") as database:
        database.execute("create table things (name text)")
    BagWriter(tmp_path / "bag").close()
    return tmp_path


def seen(record: Path, *events: Event, **fields: Any) -> StackEvidence:
    base: dict[str, Any] = {
        "schedule": Schedule("demo", 7, tuple(events), 20.0),
        "status": 130,
        "interrupted": True,
        "log": "",
        "record": record,
        "revocations": [],
        "moving": {},
        "robot": None,
        "robot_revocations": [],
        "round_trip_s": 0.0,
        "pace": 2.5,
        "requests": [],
        "began_s": 100.0,
        "cleared_s": 120.0,
        "ended_s": 140.0,
        "seconds": 40.0,
    }
    return StackEvidence(**{**base, **fields})


def violated(evidence: StackEvidence) -> list[Check]:
    return [violation.check for violation in judge_stack(evidence).violations]


def steps(begins_s: float, ends_s: float) -> list[Motion]:
    count = round((ends_s - begins_s) / 0.1)
    return [
        Motion(begins_s + index * 0.1, begins_s + (index + 1) * 0.1, 0.05, True)
        for index in range(count)
    ]


def test_a_good_run_has_none_and_says_what_was_checked(record: Path) -> None:
    outcome = judge_stack(seen(record))
    assert outcome.violations == ()
    assert outcome.checked == {*Check} - {Check.VERDICT, Check.EFFECT, Check.TASK}
    fast = judge_stack(seen(record, pace=None))
    assert Check.MOTION not in fast.checked


def test_a_process_that_dies_without_being_killed(record: Path) -> None:
    log = "[planner       ] memory died, status 1; restart 1 of 5 in 0.5 s\n"
    assert violated(seen(record, log=log)) == [Check.ALIVE]
    assert violated(seen(record, Event(3.0, Fault.KILL, name="bridge"), log=log)) == [Check.ALIVE]
    assert violated(seen(record, Event(3.0, Fault.KILL, name="memory"), log=log)) == []


def test_a_task_that_has_to_survive_its_outage(record: Path) -> None:
    stall = Schedule("spot", 7, (Event(3.0, Fault.STALL, 3.0),), 6.5, survives=Fault.STALL)
    outcome = judge_stack(seen(record, schedule=stall, goal_holds=True))
    assert outcome.violations == ()
    assert Check.TASK in outcome.checked
    assert repeat_command(outcome) == "make bad-day TASK=spot SEED=7 RUNS=1 ARGS='--outage stall'"
    assert violated(seen(record, schedule=stall)) == [Check.TASK]
    told = "[task_planner]: agent_0 failed Pick[cup_0]: NOT_ALLOWED: Unexpected failure! - Why.\n"
    assert violated(seen(record, schedule=stall, goal_holds=True, log=told)) == [Check.TASK]
    told = told.replace("NOT_ALLOWED", "GRASP_FAILED")
    assert violated(seen(record, schedule=stall, goal_holds=True, log=told)) == []


def test_a_bag_that_is_not_there_or_does_not_read(record: Path) -> None:
    (bag,) = (record / "bag").glob("*.mcap")
    bag.write_bytes(b"no bag at all")
    assert violated(seen(record)) == [Check.BAG]
    assert violated(seen(record / "memory")) == [Check.BAG]


def test_a_memory_that_is_broken(record: Path) -> None:
    store = record / "memory" / "x.sqlite"
    store.write_bytes(b"no database" * 100)
    assert violated(seen(record)) == [Check.MEMORY]


def test_agents_that_move_on_in_a_silence(record: Path) -> None:
    silent = [Revocation(10.0, 30.0, Cause.CLIENT_SILENT, False)]
    # 0.85 s of the day are 2.1 s of the simulator's, and 0.3 s its state is late.
    assert violated(seen(record, revocations=silent, moving={"agent_0": steps(8.0, 12.3)})) == []
    late = {"agent_0": steps(8.0, 13.0)}
    assert violated(seen(record, revocations=silent, moving=late)) == [Check.MOTION]
    second = Event(1.0, Fault.SECOND_CLIENT)
    assert violated(seen(record, second, revocations=silent, moving=late)) == []


def test_a_robot_that_a_second_client_moves_is_not_blamed(record: Path) -> None:
    silent = [Revocation(105.0, 115.0, Cause.CLIENT_SILENT, False)]
    moves = seen(record, revocations=silent, robot=steps(108.0, 110.0), moving=None)
    assert violated(moves) == [Check.MOTION]
    other = Request("second_client", 1, "goal", "navigate", 107.5, 110.0, "0 arrived", True)
    requests = seen(
        record, revocations=silent, robot=steps(108.0, 110.0), moving=None, requests=[other]
    )
    assert violated(requests) == []


def test_ends_and_outcomes(record: Path) -> None:
    assert violated(seen(record, status=None)) == [Check.ENDS]
    assert violated(seen(record, status=1, interrupted=False)) == [Check.OUTCOMES]
    broken = "[memory ] Traceback (most recent call last):\n[memory ] ValueError: no\n"
    found = judge_stack(seen(record, log=broken)).violations
    assert [violation.text for violation in found] == ["[memory ] ValueError: no"]
    given_up = "[planner ] memory died, status 1; giving up after 5 restarts\n"
    assert violated(seen(record, log=given_up)) == [Check.ENDS, Check.ALIVE]
    lost = Request("operator", 1, "service", "stop", 105.0)
    assert violated(seen(record, requests=[lost])) == [Check.OUTCOMES]


@pytest.mark.parametrize(
    ("said", "cause", "disk", "good"),
    [
        (5, "", False, True),
        (5, "No space left", True, True),
        (5, "No space left", False, False),
        (4, "No space left", True, False),
        (0, "", True, False),
    ],
)
def test_a_bag_says_what_it_lacks(
    tmp_path: Path, said: int, cause: str, disk: bool, good: bool
) -> None:
    bag = BagWriter(tmp_path / "bag")
    words = bag.add_topic(Topic("/words", "std_msgs/msg/String", "string data", ""))
    for sequence in (0, 1, 7, 8):
        bag.write(words, 100 + sequence, 100 + sequence, bytes(9), sequence)
    if said:
        bag.add_record(GAP, Gap("/words", 101, 107, said, cause).as_record())
    bag.close()
    events = [Event(1.0, Fault.FULL_DISK, seconds=4.0)] if disk else []
    found = [v for v in judge_stack(seen(tmp_path, *events)).violations if v.check is Check.SAID]
    assert bool(found) != good


@pytest.mark.parametrize(
    ("frozen", "final", "good"),
    [
        ("recorder", False, True),
        ("recorder", True, False),
        ("memory", False, False),
    ],
)
def test_a_bag_that_says_what_a_frozen_recorder_missed_may_differ(
    record: Path, monkeypatch: pytest.MonkeyPatch, frozen: str, final: bool, good: bool
) -> None:
    judged = create_autospec(Judged, instance=True, final=final)
    monkeypatch.setattr(stack_checks, "check_bag", lambda _: BagCheck(False, "DIFFERENT", judged))
    freeze = Event(1.0, Fault.FREEZE, seconds=4.0, name=frozen)
    log = "[narrator ] verdict: failure  percent_complete: 0.00\n"
    found = violated(seen(record, freeze, log=log, interrupted=False, status=1))
    assert found == ([] if good else [Check.VERDICT])


def test_a_verdict_that_the_bag_does_not_have(record: Path) -> None:
    log = "[narrator ] verdict: success  percent_complete: 1.00\n"
    assert violated(seen(record, log=log, interrupted=False, status=0)) == [Check.VERDICT]
    killed = Event(1.0, Fault.KILL, name="recorder")
    spoilt = judge_stack(seen(record, killed, log=log, interrupted=False, status=0))
    assert spoilt.violations == ()
    assert Check.VERDICT not in spoilt.checked
