"""What the harness calls a violation, and what it does not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from planner.bad_day.bridge_checks import Evidence, Recovery, judge_run
from planner.bad_day.faults import Schedule
from planner.bad_day.permission import (
    GAVE_UP,
    Cause,
    ClockSetBack,
    Motion,
    Request,
    Revocation,
    Sample,
    ended,
    joined,
    permissions,
    read_records,
    truncated,
    unpermitted_motions,
)
from planner.bad_day.trial import Check, line, repeat_command, table


def goal(sent_s: float, ended_s: float | None = None, client: str = "client") -> Request:
    return Request(
        client, round(sent_s * 10), "goal", "navigate", sent_s, ended_s, "0 arrived", True
    )


def call(name: str, sent_s: float, ended_s: float | None, *, success: bool = True) -> Request:
    return Request("operator", round(sent_s * 10), "service", name, sent_s, ended_s, "", success)


def walking(begins_s: float, ends_s: float, *, base: bool = True) -> list[Motion]:
    count = round((ends_s - begins_s) / 0.05)
    return [
        Motion(begins_s + index * 0.05, begins_s + (index + 1) * 0.05, 0.02 * base, base)
        for index in range(count)
    ]


def seen(**fields: Any) -> Evidence:
    base: dict[str, Any] = {
        "schedule": Schedule("bridge", 7, (), 5.0),
        "steps": [],
        "samples": [],
        "requests": [],
        "revocations": [],
        "began_s": 100.0,
        "ended_s": 120.0,
        "round_trip_s": 0.0,
        "bridge_died_s": [],
        "killed_clients": frozenset(),
        "statuses": {"bridge 1": 0},
        "logs": {"bridge 1": ""},
        "truth_delay_s": 0.0,
        "seconds": 20.0,
    }
    return Evidence(**{**base, **fields})


def violated(evidence: Evidence) -> list[Check]:
    return [violation.check for violation in judge_run(evidence).violations]


@pytest.mark.parametrize(
    ("requests", "revocations", "until_s", "cause"),
    [
        ([goal(101, 103)], [], 103, Cause.GOAL_ENDED),
        ([goal(101)], [Revocation(102, 105, Cause.CLIENT_SILENT, False, "client")], 102, None),
        ([goal(101)], [Revocation(102, 105, Cause.BRIDGE_SILENT, False)], 102, None),
        ([goal(101)], [Revocation(102, 105, Cause.LINK_SILENT, False)], 102, None),
        ([goal(101)], [Revocation(102, math.inf, Cause.LEASE_TAKEN, True)], 102, None),
        ([goal(101), call("stop", 102, 102.1)], [], 102, Cause.OPERATOR),
        ([goal(101), call("release", 102, 102.1)], [], 102, Cause.OPERATOR),
    ],
)
def test_motion_may_continue_for_the_limit_and_no_longer(
    requests: list[Request], revocations: list[Revocation], until_s: float, cause: Cause | None
) -> None:
    short = seen(requests=requests, revocations=revocations, steps=walking(101.1, until_s + 0.8))
    assert Check.MOTION not in violated(short)
    long = seen(requests=requests, revocations=revocations, steps=walking(101.1, until_s + 1.2))
    assert Check.MOTION in violated(long)
    if cause is not None:
        assert f"after: {cause}" in judge_run(long).violations[0].text


def test_motion_that_nobody_asked_for_is_a_violation_at_once() -> None:
    found = judge_run(seen(steps=walking(105.0, 105.2))).violations
    assert [violation.check for violation in found] == [Check.MOTION]
    assert "without any permission" in found[0].text


def test_a_refused_stop_ends_nothing_and_a_silence_of_another_client_neither() -> None:
    requests = [goal(101, 110), call("stop", 102, 102.1, success=False)]
    other = [Revocation(103, 109, Cause.CLIENT_SILENT, False, "second_client")]
    assert violated(seen(requests=requests, revocations=other, steps=walking(101.1, 110.0))) == []


def test_after_a_silence_a_goal_may_continue_but_not_after_a_stop_in_it() -> None:
    frozen = [Revocation(102, 104, Cause.BRIDGE_SILENT, False)]
    again_s = walking(101.1, 102.5) + walking(104.1, 106.0)
    assert violated(seen(requests=[goal(101, 106)], revocations=frozen, steps=again_s)) == []
    stopped = [goal(101, 106), call("stop", 103, 104.2)]
    assert Check.MOTION in violated(seen(requests=stopped, revocations=frozen, steps=again_s))


def test_what_a_stalled_link_held_comes_within_the_limit_after_its_goal_or_is_a_violation() -> None:
    requests = [goal(102.5, 103)]
    for stalled_s, good in ((103.2, True), (105.0, False)):
        stall = [Revocation(102, stalled_s, Cause.LINK_SILENT, False)]
        late = walking(stalled_s, stalled_s + 0.4)
        assert (
            Check.MOTION not in violated(seen(requests=requests, revocations=stall, steps=late))
        ) == good


@pytest.mark.parametrize(("until_s", "good"), [(104.4, True), (104.9, False)])
def test_what_a_stalled_link_held_of_a_bridge_that_froze_has_its_limit_from_then(
    until_s: float, good: bool
) -> None:
    revocations = [
        Revocation(103.0, 103.72, Cause.LINK_SILENT, False),
        Revocation(103.7, math.inf, Cause.BRIDGE_SILENT, True),
    ]
    steps = walking(101.1, 103.4) + walking(103.75, until_s)
    found = violated(seen(requests=[goal(101)], revocations=revocations, steps=steps))
    assert (Check.MOTION not in found) == good


def test_a_silence_that_was_to_last_longer_ends_with_the_schedule() -> None:
    frozen = Revocation(102, 105, Cause.CLIENT_SILENT, False, "client")
    killed = Revocation(102, math.inf, Cause.CLIENT_SILENT, True, "client")
    before = Revocation(101, 103, Cause.BRIDGE_SILENT, False)
    cut = truncated([frozen, killed, before], 104.0)
    assert [each.ends_s for each in cut] == [104.0, math.inf, 103]
    walk = walking(104.1, 106.0)
    goals = [goal(104.05, 106.0)]
    assert violated(seen(requests=goals, revocations=cut[:1], steps=walk)) == []
    assert Check.MOTION in violated(seen(requests=goals, revocations=[frozen], steps=walk[:3]))


def test_an_arm_that_nobody_reaches_may_finish_what_it_was_sent() -> None:
    frozen = [Revocation(102, 110, Cause.BRIDGE_SILENT, False)]
    arm = walking(101.1, 104.5, base=False)
    assert violated(seen(requests=[goal(101)], revocations=frozen, steps=arm))[:1] != [Check.MOTION]
    stalled = [Revocation(102, 110, Cause.LINK_SILENT, False)]
    assert violated(seen(requests=[goal(101, 102.5)], revocations=stalled, steps=arm)) == []
    stop = [goal(101, 102), call("stop", 102, 102.1)]
    assert Check.MOTION in violated(seen(requests=stop, steps=arm))
    assert Check.MOTION in violated(
        seen(requests=[goal(101)], revocations=frozen, steps=walking(101.1, 106.0, base=False))
    )


@pytest.mark.parametrize(("bridge_s", "good"), [(102.3, True), (103.0, False)])
def test_a_bridge_that_freezes_before_a_silent_clients_limit_cannot_stop_the_arm(
    bridge_s: float, good: bool
) -> None:
    silent = [
        Revocation(102, 110, Cause.CLIENT_SILENT, False, "client"),
        Revocation(bridge_s, 110, Cause.BRIDGE_SILENT, False),
    ]
    arm, walk = walking(101.1, 103.5, base=False), walking(101.1, 103.5)
    goals = [goal(101, 110)]
    assert (violated(seen(requests=goals, revocations=silent, steps=arm)) == []) == good
    assert Check.MOTION in violated(seen(requests=goals, revocations=silent, steps=walk))


@pytest.mark.parametrize(
    ("cause", "silent_s", "until_s", "good"),
    [
        (Cause.LINK_SILENT, 102.1, 105.5, True),
        (Cause.BRIDGE_SILENT, 102.1, 105.5, True),
        # Longer than the step adds; time to stop it; cut off before; a bridge that lives.
        (Cause.LINK_SILENT, 102.1, 107.0, False),
        (Cause.LINK_SILENT, 102.5, 105.5, False),
        (Cause.LINK_SILENT, 101.9, 105.5, False),
        (Cause.CLIENT_SILENT, 102.1, 105.5, False),
    ],
)
def test_only_what_was_cut_off_before_a_step_back_was_known_may_live_longer(
    cause: Cause, silent_s: float, until_s: float, good: bool
) -> None:
    client = "client" if cause is Cause.CLIENT_SILENT else ""
    evidence = seen(
        requests=[goal(101)],
        revocations=[Revocation(silent_s, 115.0, cause, False, client)],
        set_back=[ClockSetBack(102.0, 3.0)],
        steps=walking(101.1, until_s),
    )
    assert (Check.MOTION not in violated(evidence)) == good


def test_it_may_not_walk_faster_than_allowed() -> None:
    fast = Sample(102.0, 0.0, 0.0, 0.0, (0.0, 0.0, 0.0), True, "standing", 0.8)
    assert violated(seen(samples=[fast])) == [Check.MOTION]


def test_every_request_has_an_outcome_but_those_to_whom_nobody_was_left() -> None:
    lost = call("claim", 105, None)
    assert violated(seen(requests=[lost])) == [Check.OUTCOMES]
    assert violated(seen(requests=[goal(105)])) == [Check.OUTCOMES]
    assert violated(seen(requests=[goal(105)], killed_clients=frozenset({"client"}))) == []
    again_s = "[INFO] [106.5] [bridge]: train_0, no episode, seed 0: agent_0; time is paced"
    died = seen(requests=[lost], bridge_died_s=[104.0], logs={"bridge 2": again_s})
    assert violated(died) == []
    late = call("claim", 109.6, None)
    there = seen(requests=[late], bridge_died_s=[104.0], logs={"bridge 2": again_s})
    assert violated(there) == [Check.OUTCOMES]


def test_processes_end_well() -> None:
    assert violated(seen(statuses={"bridge 1": None})) == [Check.ENDS]
    assert violated(seen(statuses={"bridge 1": 1})) == [Check.ENDS]
    assert violated(seen(statuses={"bridge 1": -9, "second_bridge 2": 78})) == []
    broken = {"client 3": "...\nTraceback (most recent call last):\n  x\nValueError: no\n"}
    found = judge_run(seen(logs=broken)).violations
    assert [violation.text for violation in found] == ["client 3: ValueError: no"]


def test_figures_are_the_longest_of_their_kind() -> None:
    steps = walking(101.1, 103.5)
    granted = permissions([goal(101, 103)], [])
    beyond, longest = unpermitted_motions(steps, granted, 0.7)
    assert beyond == []
    assert longest == {"walks after: goal ended": pytest.approx(0.5)}
    assert [round(motion.ends_s, 2) for motion in joined(steps)] == [103.5]


def test_records_survive_a_client_that_was_killed_while_it_wrote() -> None:
    sent = goal(101)
    log = f"noise\n{sent.log_line()}\n{ended(sent, 103.0, '0 arrived', success=True).log_line()}\n"
    broken = log + goal(105).log_line()[:-9]
    assert [one.ended_s for one in read_records(broken)] == [103.0]


def test_the_table_names_each_violation_with_the_command_that_repeats_it() -> None:
    bad = judge_run(seen(steps=walking(105.0, 105.2)))
    text = "\n".join([line(bad, 1, 1), *table([bad])])
    assert repeat_command(bad) == "make bad-day TASK=bridge SEED=7 RUNS=1"
    assert repeat_command(bad) in text
    assert "1 VIOLATIONS" in text
    assert "interleavings with a violation: 1 of 1" in text
    assert "1/1" in text


def test_a_silent_bridge_has_the_time_that_its_watchdog_waits_and_a_stop_has_not() -> None:
    for until_s, good in ((103.5, True), (103.7, False)):
        silent = [Revocation(102, math.inf, Cause.BRIDGE_SILENT, True)]
        steps = walking(101.1, until_s)
        run = seen(requests=[goal(101)], revocations=silent, steps=steps, silent_bridge_s=0.7)
        assert (Check.MOTION not in violated(run)) == good
    requests = [goal(101, 103), call("stop", 102, 102.1)]
    stopped = seen(requests=requests, steps=walking(101.1, 103.0), silent_bridge_s=0.7)
    assert Check.MOTION in violated(stopped)


def test_after_the_faults_a_drive_has_to_succeed() -> None:
    late = Recovery(110.0)
    again = seen(requests=[goal(101, 103), goal(111, 115)], recovery=late)
    assert violated(again) == []
    found = judge_run(seen(requests=[goal(101, 112)], recovery=late)).violations
    assert [each.text for each in found] == [
        "after the faults none of 0 drives succeeded: none was sent"
    ]
    failed = Request("client", 5, "goal", "navigate", 111, 112, "9 lost", success=False)
    found = judge_run(seen(requests=[failed], recovery=late)).violations
    assert [each.text for each in found] == ["after the faults none of 1 drives succeeded: 9 lost"]
    refused = seen(requests=[goal(111, 115)], recovery=Recovery(110.0, "stand: no answer"))
    assert "cannot be made ready: stand: no answer" in judge_run(refused).violations[0].text


def test_a_goal_that_its_client_gave_up_was_lost_with_a_bridge_or_is_a_violation() -> None:
    lost = Request("client", 1, "goal", "navigate", 101, 116, GAVE_UP, success=False)
    late = Recovery(110.0)
    requests = [lost, goal(111, 115)]
    assert violated(seen(requests=requests, recovery=late)) == [Check.OUTCOMES]
    assert violated(seen(requests=requests)) == []
    killed = seen(requests=requests, recovery=late, bridge_died_s=[103.0])
    assert violated(killed) == []


def robot(at_s: float, **fields: Any) -> Sample:
    base = {"powered": True, "posture": "standing", "owner": "planner-bridge-0a1b2chost:1"}
    arm = (0.0, 0.0, 0.0)
    return Sample(at_s, 0.0, 0.0, 0.0, arm, linear_m_s=0.0, **{**base, **fields})


@pytest.mark.parametrize(
    ("name", "without"),
    [
        ("claim", {"owner": ""}),
        ("claim", {"owner": "planner-bridge-elsewhere"}),
        ("release", {}),
        ("power_on", {"powered": False}),
        ("power_off", {}),
        ("stand", {"posture": "sitting"}),
        ("sit", {}),
        ("estop/hard", {}),
    ],
)
def test_a_success_without_its_effect_is_a_violation(name: str, without: dict[str, Any]) -> None:
    never = [robot(101.0 + 0.1 * index, **without) for index in range(10)]
    found = judge_run(seen(requests=[call(name, 101.2, 101.6)], samples=never))
    assert [each.check for each in found.violations] == [Check.EFFECT]
    assert found.violations[0].text.startswith(f"{name} was answered with success; the robot was ")
    refused = seen(requests=[call(name, 101.2, 101.6, success=False)], samples=never)
    assert violated(refused) == []


def test_an_effect_that_another_fault_undid_before_the_answer_counts() -> None:
    samples = [robot(101.3), robot(101.5, owner="tablet", powered=False)]
    requests = [call(name, 101.2, 101.6) for name in ("claim", "power_on", "stand")]
    found = judge_run(seen(requests=requests, samples=samples))
    assert found.violations == ()
    assert Check.EFFECT in found.checked
    assert Check.EFFECT not in judge_run(seen(requests=requests)).checked


def test_a_process_that_ends_by_itself_is_a_violation() -> None:
    found = judge_run(seen(ended_alone={"client 17": 1})).violations
    assert [(each.check, each.text) for each in found] == [
        (Check.ALIVE, "client 17 ended by itself, with status 1")
    ]
