"""Every refused command leaves a receipt, and what the gate does by itself leaves one too."""

from __future__ import annotations

from dataclasses import replace

import pytest
from walker import CUP, EPISODE, HOUSE, ROBOT, WALK, let_pass, made, options, result

from planner.world.bounds import OutOfBounds
from planner.world.errors import PlannerError
from planner.world.primitive import (
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
)
from sim_bridge.backend import Handle
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.one_robot import Command, Outcome
from sim_bridge.opening import default_house, open_world
from sim_bridge.runtime import Request, Runtime, out_of_bounds
from sim_bridge.safety.approvals import Answer, Heartbeat
from sim_bridge.safety.gate import FORCE_WITHIN_S, MAX_RECEIPTS, SafetyGate
from sim_bridge.safety.guard import Mode
from sim_bridge.safety.health import Lease, Receipt
from sim_bridge.safety.options import Rule
from sim_bridge.safety.order_executor import Reply


@pytest.fixture
def runtime() -> Runtime:
    opened = open_world(default_house(), "", 7, 1)
    made = Runtime(EmbeddedBackend())
    made.load(opened.house, opened.episode, 7)
    return made


def refusals(runtime: Runtime) -> list[tuple[str, str]]:
    """Command and reason of each refused command since the last call."""
    return [(r.command, r.reason) for r in runtime.gate.take_receipts() if not r.allowed]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (Request("dance", (1.0, 1.0, 0.0), "map"), "unknown primitive 'dance'"),
        (Request("navigate", (1.0, 1.0, 0.0), "moon"), "unknown frame"),
        (Request("navigate", (1e18, 1.0, 0.0), "map"), "1e+18"),
        (Request("place", (1.0, 1.0, 0.0), "map"), "place needs a relation"),
        (Request("navigate", (1.0, 1.0, 0.0), "map", timeout_s=900.0), "longer than 600 s"),
    ],
)
def test_a_malformed_request_leaves_a_receipt(
    runtime: Runtime, request_: Request, says: str
) -> None:
    job = runtime.begin("agent_0", request_)
    assert job.status.result is not None
    assert not job.status.result.succeeded
    ((command, reason),) = refusals(runtime)
    assert command == request_.name
    assert says in reason


def test_a_busy_agent_leaves_a_receipt_of_what_it_does_not_do(runtime: Runtime) -> None:
    x, y, _ = runtime.sense("agent_0", ()).base.position_m
    far = Request("look", (x + 1.0, y, 0.5), "map")
    runtime.begin("agent_0", far)
    assert refusals(runtime) == []
    job = runtime.begin("agent_0", far)
    assert job.status.result is not None
    assert job.status.result.code is PrimitiveCode.BUSY
    assert refusals(runtime) == [("look", job.status.result.text)]


def test_what_is_out_of_bounds_leaves_a_short_receipt(runtime: Runtime) -> None:
    result = out_of_bounds(OutOfBounds("name", "100000 characters, more than 64"))
    assert result.code is PrimitiveCode.UNKNOWN_PRIMITIVE
    runtime.refuse("agent_0", "x" * 100_000, result)
    assert refusals(runtime) == [("x" * 64, result.text)]


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("name", PrimitiveCode.UNKNOWN_PRIMITIVE),
        ("target.header.frame_id", PrimitiveCode.BAD_FRAME),
        ("target.header.stamp", PrimitiveCode.BAD_TARGET),
        ("pan_rad[3]", PrimitiveCode.BAD_TARGET),
    ],
)
def test_what_is_out_of_bounds_has_a_code(field: str, code: PrimitiveCode) -> None:
    result = out_of_bounds(OutOfBounds(field, "too much"))
    assert result == PrimitiveResult(code, f"the goal is out of bounds: {field}: too much")


def test_an_answer_to_no_question_leaves_a_receipt(runtime: Runtime) -> None:
    assert not runtime.answer("agent_0", Answer.REFUSE).success
    assert not runtime.gate.answers.answer("agent_0", Reply("0-1", approve=True)).success
    assert refusals(runtime) == [
        ("safety/refuse", "nothing waits for approval"),
        ("safety/answer", "question 0-1 was never asked; nothing was approved"),
    ]


def test_what_a_world_refuses_at_once_is_not_said_to_be_allowed(runtime: Runtime) -> None:
    far = Primitive(PrimitiveName.NAVIGATE, (1e18, 0.0, 0.0))
    handle = runtime.gate.start("agent_0", far)
    assert runtime.gate.poll(handle).done
    assert [r.allowed for r in runtime.gate.take_receipts()] == [False]


# Before a robot made of records: who, what, whether, why and by which rule


def receipts(gate: SafetyGate) -> list[tuple[str, bool, str, Rule | None]]:
    """Since the last call; each of the one agent and of now."""
    taken = gate.take_receipts()
    assert {receipt.agent for receipt in taken} <= {ROBOT}
    return [(r.command, r.allowed, r.reason, r.rule) for r in taken]


def test_what_is_allowed_and_what_waits_leaves_a_receipt_at_its_time() -> None:
    gate, robot = made(options())
    gate.take_receipts()
    robot.time_s = 7.5
    gate.attend(ROBOT)
    gate.start(ROBOT, WALK)
    assert gate.take_receipts() == [Receipt(7.5, ROBOT, "navigate", True, "allowed", None)]
    gate.stop(ROBOT)
    gate.step(0.1)
    gate.start(ROBOT, CUP)
    why = "waits for approval: no pick of a cup was approved yet"
    assert receipts(gate) == [("pick", False, why, Rule.APPROVAL)]
    assert receipts(gate) == []
    robot.held = True
    gate.stop(ROBOT)
    told = gate.start(ROBOT, CUP)
    assert result(gate, told).code is PrimitiveCode.HAND_FULL
    assert receipts(gate) == [("pick", False, "the hand already holds something", None)]


def test_of_many_receipts_the_newest_are_kept() -> None:
    gate, _ = made(ready=False)
    for number in range(MAX_RECEIPTS + 3):
        gate.refused(ROBOT, "walk", str(number))
    kept = receipts(gate)
    assert len(kept) == MAX_RECEIPTS
    assert (kept[0], kept[-1]) == (
        ("walk", False, "3", None),
        ("walk", False, str(MAX_RECEIPTS + 2), None),
    )


def test_while_one_waits_for_approval_another_is_refused_and_both_say_so() -> None:
    gate, robot = made(options())
    waits = gate.start(ROBOT, CUP)
    assert gate.poll(waits) == PrimitiveStatus("waiting for approval", 0.0, None)
    gate.take_receipts()
    busy = gate.start(ROBOT, WALK)
    text = f"{ROBOT} waits for approval of another"
    expected = PrimitiveResult(PrimitiveCode.BUSY, text)
    assert gate.poll(busy) == PrimitiveStatus("refused", 0.0, expected)
    assert receipts(gate) == [("navigate", False, text, None)]
    gate.cancel(waits)
    canceled = PrimitiveResult(PrimitiveCode.CANCELED, "canceled")
    assert gate.poll(waits) == PrimitiveStatus("refused", 0.0, canceled)
    assert gate.asked(ROBOT) is None
    gate.cancel(waits)
    assert gate.poll(waits).result == canceled
    again = gate.start(ROBOT, CUP)
    gate.stop(ROBOT)
    assert result(gate, again) == PrimitiveResult(PrimitiveCode.STOPPED, "the agent was stopped")
    walk = gate.start(ROBOT, WALK)
    gate.cancel(walk)
    assert result(gate, walk).code is PrimitiveCode.CANCELED
    assert robot.speed_m_s == 0.0


def test_a_handle_that_was_never_given_is_refused_by_its_number() -> None:
    gate, _ = made()
    walk = gate.start(ROBOT, WALK)
    for wrong in (-1, walk + 1):
        with pytest.raises(PlannerError, match=f"^unknown primitive handle: {wrong}$"):
            gate.poll(Handle(wrong))


def test_who_holds_the_lease_is_shown_before_it_is_taken_by_force() -> None:
    gate, robot = made(ready=False)
    assert not gate.take_lease(ROBOT).success
    nobody = "nobody else holds the lease; claim the agent"
    rule = Rule.LEASE_IS_NEVER_TAKEN
    assert receipts(gate) == [("take_lease", False, nobody, rule)]
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="tablet-7")
    asks = "holds the lease; ask them first. To take it by force, call again within 10 s"
    assert gate.take_lease(ROBOT) == Outcome(False, f"tablet-7 {asks}")
    robot.condition = replace(robot.condition, owner="")
    assert gate.take_lease(ROBOT) == Outcome(False, f"somebody {asks}"), "it is another one"
    robot.time_s = FORCE_WITHIN_S
    gate.take_receipts()
    assert gate.take_lease(ROBOT) == Outcome(True, "taken")
    assert receipts(gate) == [("take_lease", True, "taken", None)]
    assert gate.control(ROBOT).claimed
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="x")
    assert gate.take_lease(ROBOT) == Outcome(False, f"x {asks}")
    robot.time_s = 2 * FORCE_WITHIN_S + 0.1
    assert not gate.take_lease(ROBOT).success, "shown too long ago"
    robot.time_s += 1.0
    assert gate.take_lease(ROBOT).success
    assert robot.taken == 2


def test_a_lost_lease_that_is_taken_back_is_lost_no_more() -> None:
    gate, robot = made()
    gate.start(ROBOT, CUP)
    robot.condition = replace(robot.condition, lease=Lease.OTHERS, owner="tablet-7")
    gate.step(0.1)
    assert not gate.control(ROBOT).claimed
    gate.take_lease(ROBOT)
    assert gate.take_lease(ROBOT).success
    gate.step(0.1)
    assert gate.mode(ROBOT) is Mode.READY


def test_docking_and_undocking_leave_receipts_from_begin_to_end() -> None:
    gate, robot = made()
    gate.take_receipts()
    no_dock = "it has no dock (dock in its settings)"
    assert gate.go_home(ROBOT) == Outcome(False, f"dock is refused: {no_dock}")
    assert gate.go_home(ROBOT, leave=True) == Outcome(False, f"undock is refused: {no_dock}")
    assert receipts(gate) == [
        ("dock", False, no_dock, Rule.CONSENT),
        ("undock", False, no_dock, Rule.CONSENT),
    ]
    robot.has_dock = True
    assert gate.go_home(ROBOT) == Outcome(True, "dock has begun")
    busy = "it does something else; stop it first"
    assert gate.go_home(ROBOT) == Outcome(False, f"dock is refused: {busy}")
    robot.arrive()
    let_pass(gate, 0.2)
    assert receipts(gate) == [
        ("dock", True, "allowed", None),
        ("dock", False, busy, Rule.CONSENT),
        ("dock", True, "SUCCESS", None),
        ("power_off", True, "motors off on the dock", None),
    ]
    assert gate.mode(ROBOT) is Mode.CLAIMED
    gate.command(ROBOT, Command.POWER_ON)
    gate.take_receipts()
    assert gate.go_home(ROBOT, leave=True) == Outcome(True, "undock has begun")
    robot.arrive(PrimitiveCode.BLOCKED)
    let_pass(gate, 0.1)
    assert receipts(gate) == [
        ("undock", True, "allowed", None),
        ("undock", False, "BLOCKED", Rule.BATTERY),
    ]
    assert not gate.control(ROBOT).standing
    assert gate.go_home(ROBOT, leave=True).success
    robot.arrive()
    let_pass(gate, 0.1)
    assert gate.mode(ROBOT) is Mode.READY


def test_a_low_battery_sends_it_home_once_and_lets_it_sit_if_that_fails() -> None:
    gate, robot = made()
    robot.has_dock = True
    gate.take_receipts()
    robot.condition = replace(robot.condition, battery=0.12)
    let_pass(gate, 0.3)
    assert robot.home == ["dock"]
    assert receipts(gate) == [("dock", True, "allowed", None)]
    robot.arrive(PrimitiveCode.UNREACHABLE)
    let_pass(gate, 0.5)
    assert robot.home == ["dock"]
    assert receipts(gate) == [
        ("dock", False, "UNREACHABLE", Rule.BATTERY),
        ("sit", True, "sit done", None),
    ]


def test_a_pause_and_its_end_say_who_is_not_heard() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    gate.take_receipts()
    let_pass(gate, 0.5, attended=False)
    assert robot.paused
    assert gate.mode(ROBOT) is Mode.PAUSED
    assert gate.poll(walk) == PrimitiveStatus("paused: no heartbeat", 0.0, None)
    let_pass(gate, 0.1)
    assert not robot.paused
    assert gate.poll(walk).phase == "at it"
    assert receipts(gate) == [
        ("pause", True, "the executive this process is not heard: it halts", None),
        ("resume", True, "the executive is heard again: it goes on", None),
    ]


def test_a_motion_that_a_rule_ends_is_done_and_one_that_it_forbids_is_refused() -> None:
    gate, robot = made()
    walk = gate.start(ROBOT, WALK)
    robot.condition = replace(robot.condition, estopped=True)
    gate.step(0.1)
    assert gate.poll(walk).phase == "done"
    assert gate.poll(gate.start(ROBOT, WALK)).phase == "refused"


def test_a_new_episode_waits_for_a_command_under_way_and_then_asks_nothing_old() -> None:
    gate, robot = made(options())
    robot.slow = {Command.SIT}
    gate.order(ROBOT, Command.SIT)
    assert gate.under_way(ROBOT) == "sit"
    with pytest.raises(PlannerError, match=r"^agent_0: sit is under way; load it after$"):
        gate.reset(HOUSE, EPISODE, 0)
    robot.gets_there = True
    gate.step(0.1)
    assert gate.under_way(ROBOT) == ""
    gate.command(ROBOT, Command.STAND)
    gate.attend(ROBOT)
    gate.start(ROBOT, CUP)
    gate.reset(HOUSE, EPISODE, 0)
    assert gate.asked(ROBOT) is None
    assert gate.mode(ROBOT) is Mode.OBSERVING, "an operator claims anew"
    assert gate.executives(ROBOT) == ("this process",), "who attends goes on to do so"


def test_of_agents_that_are_not_there_heartbeats_tell_nothing() -> None:
    gate, _ = made()
    gate.attend("agent_9", Heartbeat("tasks", 1))
    gate.miss("agent_9", everyone=True)
    gate.attend(ROBOT, Heartbeat("tasks", 1))
    gate.attend(ROBOT, Heartbeat("a", 1))
    assert gate.executives(ROBOT) == ("a", "tasks", "this process")
    gate.miss(ROBOT, everyone=True)
    assert gate.executives(ROBOT) == ()
    gate.attend(ROBOT)
    assert gate.executives(ROBOT) == ("this process",), "each call is a beat of its own"


def test_what_the_robot_reports_takes_claim_power_and_posture_away_and_gives_none() -> None:
    for change, mode in (
        ({"standing": False}, Mode.POWERED),
        ({"powered": False}, Mode.CLAIMED),
        ({"lease": Lease.FREE}, Mode.OBSERVING),
    ):
        gate, robot = made()
        before = robot.condition
        robot.condition = replace(before, **change)
        gate.step(0.1)
        assert gate.mode(ROBOT) is mode
        robot.condition = before
        gate.step(0.1)
        assert gate.mode(ROBOT) is mode, "a person has to say so again"
