"""Whatever order asking, canceling, answering and losing the claim come in: rule 14 holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from random_cases import cases
from walker import EPISODE, HOUSE, OPEN, PICK, ROBOT, Walker, options

from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Handle
from sim_bridge.one_robot import Command
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.health import Lease
from sim_bridge.safety.order_executor import Reply

TIMEOUT_S = 3.0
READY_AGAIN = st.sampled_from([True, True, True, False])


class Asking(RuleBasedStateMachine):
    """An operator who answers what was seen some time ago, and a robot that is taken and lost.

    The model knows each question by what the operator saw of it, and nothing of how the gate
    keeps it.
    """

    @initialize()
    def begin(self) -> None:
        self.robot = Walker()
        # Silence of who asked is another rule's matter.
        safety = options(approval={"timeout_s": TIMEOUT_S}, executive={"where": "never"})
        self.gate = SafetyGate(self.robot, safety, people=tuple)
        self.gate.reset(HOUSE, EPISODE, 0)
        self.seen: list[str] = []
        self.handle: Handle | None = None
        # What may begin: approved by its own id, by its number; and what was allowed for good.
        self.approved: set[float] = set()
        self.kinds: set[PrimitiveName] = set()
        self.classes: set[str] = set()
        self.waiting: tuple[str, Primitive, float] | None = None
        self.number = 0.0
        self.judged = 0
        self.make_ready()

    def make_ready(self) -> None:
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            self.command(command)

    def command(self, command: Command) -> None:
        self.gate.command(ROBOT, command)
        if command in (Command.CLAIM, Command.RELEASE):
            self.end_claim()
        if command in (Command.RELEASE, Command.STOP, Command.SIT):
            self.waiting = None
        self.gate.step(0.1)
        self.expire()

    def end_claim(self) -> None:
        self.waiting = None
        self.kinds.clear()
        self.classes.clear()

    def expire(self) -> None:
        if self.waiting is not None and self.robot.time_s >= self.waiting[2]:
            self.waiting = None

    @rule(
        thing_class=st.sampled_from(["cup", "knife", ""]),
        opens=st.sampled_from([False, False, True]),
        then=st.sampled_from(["wait", "approve", "remember", "elsewhere"]),
    )
    def ask(self, thing_class: str, then: str, *, opens: bool) -> None:
        # What began is done by now, so that the next one is asked about.
        self.robot.finish()
        self.number += 1.0
        # Each has a place of its own, by which the robot is known to be told of it.
        kind = OPEN if opens else replace(PICK, thing_class=thing_class)
        primitive = replace(kind, target_m=(self.number, 0.0, 0.5))
        handle = self.gate.start(ROBOT, primitive)
        question = self.gate.asked(ROBOT)
        if question is not None and question.handle == handle:
            self.handle = handle
            self.seen.append(question.question_id)
            self.waiting = (question.question_id, primitive, self.robot.time_s + TIMEOUT_S)
            if then != "wait":
                self.answer(
                    0, approve=True, remember=then == "remember", elsewhere=then == "elsewhere"
                )
        elif self.handle is None:
            self.handle = handle

    @precondition(lambda self: self.handle is not None)
    @rule()
    def cancel(self) -> None:
        assert self.handle is not None
        self.gate.cancel(self.handle)
        self.handle = self.waiting = None

    @rule()
    def stop(self) -> None:
        self.gate.stop(ROBOT)
        self.handle = self.waiting = None

    @rule(
        back=st.sampled_from([0, 0, 0, 0, 1, 2, 3]),
        approve=st.sampled_from([True, True, True, False]),
        remember=st.booleans(),
        elsewhere=st.sampled_from([False, False, False, True]),
    )
    def answer(self, back: int, *, approve: bool, remember: bool, elsewhere: bool) -> None:
        question_id = self.seen[-1 - back] if back < len(self.seen) else f"{back}-1"
        waiting = self.waiting
        # Another place is told apart by its height.
        other = None if waiting is None else waiting[1].target_m[0]
        target_m = (other, 0.0, 0.6) if elsewhere and other is not None else None
        told = self.gate.answers.answer(
            ROBOT, Reply(question_id, approve, remember, target_m=target_m)
        )
        meant = waiting is not None and waiting[0] == question_id
        assert meant or not told.success, told
        if waiting is None or not meant:
            return
        self.waiting = None
        primitive = waiting[1]
        if not (approve and told.success):
            return
        self.approved.add(primitive.target_m[0])
        if primitive.name is PrimitiveName.PICK and primitive.thing_class and target_m is None:
            self.classes.add(primitive.thing_class)
            if remember:
                self.kinds.add(primitive.name)

    @rule()
    def refuse(self) -> None:
        assert self.gate.answers.refuse(ROBOT).success is (self.waiting is not None)
        self.waiting = None

    @rule(steps=st.integers(1, 20))
    def let_pass(self, steps: int) -> None:
        for _ in range(steps):
            self.gate.step(0.1)
        self.expire()

    @rule(seconds=st.floats(0.0, TIMEOUT_S))
    def between_two_steps(self, seconds: float) -> None:
        self.robot.time_s += seconds
        self.expire()

    @rule(
        command=st.sampled_from([Command.CLAIM, Command.RELEASE, Command.STOP, Command.SIT]),
        again=READY_AGAIN,
    )
    def be_told(self, command: Command, *, again: bool) -> None:
        self.command(command)
        if again:
            self.make_ready()

    @rule(again=READY_AGAIN)
    def lose_the_lease(self, *, again: bool) -> None:
        self.robot.condition = replace(self.robot.condition, lease=Lease.OTHERS, owner="tablet")
        self.gate.step(0.1)
        self.end_claim()
        self.robot.condition = replace(self.robot.condition, lease=Lease.FREE, owner="")
        if again:
            self.make_ready()

    @rule()
    def take_the_lease(self) -> None:
        self.robot.condition = replace(self.robot.condition, lease=Lease.OTHERS, owner="tablet")
        for _ in range(2):
            taken = self.gate.take_lease(ROBOT)
        assert taken.success
        self.end_claim()
        self.gate.step(0.1)

    @rule()
    def lose_the_link(self) -> None:
        self.robot.condition = replace(self.robot.condition, age_s=9.0)
        self.gate.step(0.1)
        self.robot.condition = replace(self.robot.condition, age_s=0.0)
        self.waiting = None
        # It must be good for a while.
        self.let_pass(12)

    @rule(again=READY_AGAIN)
    def load_another_episode(self, *, again: bool) -> None:
        self.robot.stop(ROBOT)
        self.gate.reset(HOUSE, EPISODE, 0)
        self.handle = None
        self.end_claim()
        if again:
            self.make_ready()

    @invariant()
    def nothing_begins_that_nobody_approved(self) -> None:
        for begun in self.robot.told[self.judged :]:
            of_kind = (
                begun.name is PrimitiveName.PICK
                and begun.thing_class != ""
                and (begun.name in self.kinds or begun.thing_class in self.classes)
            )
            assert of_kind or begun.target_m[0] in self.approved, begun
        self.judged = len(self.robot.told)

    @invariant()
    def what_is_asked_is_what_the_operator_saw(self) -> None:
        question = self.gate.asked(ROBOT)
        if question is not None:
            assert self.waiting is not None or self.robot.time_s >= question.expires_s
        if self.waiting is not None:
            assert question is not None
            assert question.question_id == self.waiting[0]


@pytest.mark.hypothesis
class TestAsking(Asking.TestCase):  # type: ignore[misc, name-defined]
    settings = settings(max_examples=cases(300), stateful_step_count=40, deadline=None)

    @pytest.mark.slow
    def test_what_starts_had_an_approval_of_its_own_or_of_its_kind(self) -> None:
        self.runTest()
