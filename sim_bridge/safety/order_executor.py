"""What the gate has the robot do: the operator's commands and answers, rest, docking."""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from queue import Empty, SimpleQueue

from planner.world.geometry import Vec3
from planner.world.primitive import OPERATOR_REFUSED, PrimitiveName, PrimitiveResult
from sim_bridge.backend import Backend, Handle
from sim_bridge.one_robot import NOT_STANDING, Command, Outcome
from sim_bridge.safety.approvals import Ending, Question, Questions, in_map, point_at
from sim_bridge.safety.guard import (
    HOLDS_IN_ANY_CASE,
    Concern,
    Entry,
    Guard,
    Order,
    Severity,
    meanwhile,
    not_allowed,
)
from sim_bridge.safety.health import CLEARABLE_CAUSE, Supervised
from sim_bridge.safety.options import Rule
from sim_bridge.safety.verdicts import Verdicts

# Keeps a receipt: agent, command, whether it was done, the reason, the rule.
Note = Callable[[str, str, bool, str, Rule | None], None]
# After these a person expects the agent to be a step nearer to moving.
_ENABLES = frozenset({Command.POWER_ON, Command.STAND})


class OrderExecutor:
    """One command per agent at a time; simulated agents finish at once."""

    def __init__(
        self,
        robot: Supervised | None,
        stop: Callable[[str], None],
        note: Note,
        on_claim: Callable[[str], None],
        concern: Callable[[str, Guard], Concern | None],
    ) -> None:
        """Commands to `robot`.

        Args:
            robot: carries them out; None for simulated agents.
            stop: ends an agent's motion.
            note: keeps a receipt.
            on_claim: called when an agent is claimed or released.
            concern: the rules' first reason why an agent may not move now, None if it may.
        """
        self._robot, self._stop, self._note, self._on_claim = robot, stop, note, on_claim
        self._concern = concern

    def carry_out(self, agent: str, guard: Guard, command: Command) -> Outcome:
        """Carries a command out and waits for its end."""
        order = self._agree(agent, guard, command)
        if order.outcome is None:
            robot = self._robot
            done = order.agreed if robot is None else robot.operate(agent, command)
            self._conclude(agent, guard, order, done)
        return order.outcome or order.agreed

    def take(self, agent: str, guard: Guard, command: Command) -> Order:
        """Starts a command if the rules allow it; a gentle stop is under way only once."""
        running = guard.order
        if command is Command.ESTOP_GENTLE and running is not None and running.command is command:
            return running
        order = self._agree(agent, guard, command)
        if order.outcome is None:
            self.begin(agent, guard, order)
        return order

    def begin(self, agent: str, guard: Guard, order: Order) -> None:
        """Starts a command, which ends at once or in a later `follow`."""
        done: Outcome | None = order.agreed
        if self._robot is not None:
            guard.order = order
            done = self._robot.begin(agent, order.command)
        if done is not None:
            self._conclude(agent, guard, order, done)

    def follow(self, agent: str, guard: Guard) -> None:
        """Checks whether the running command has ended."""
        if guard.order is not None and self._robot is not None:
            done = self._robot.ended(agent)
            if done is not None:
                self._conclude(agent, guard, guard.order, done)

    def give_up(self, agent: str, guard: Guard, why: str) -> None:
        """Gives up the running command."""
        if guard.order is not None:
            self._conclude(agent, guard, guard.order, Outcome(False, why))

    def _agree(self, agent: str, guard: Guard, command: Command) -> Order:
        """Checks a command by the rules; an allowed one replaces the running one."""
        under_way = guard.order
        told = None if under_way is None else meanwhile(under_way.command, command)
        order = Order(command, Rule.CONSENT, told or copy.copy(guard.control).apply(command))
        if told is not None or not order.agreed.success:
            order.outcome = order.agreed
            success, message = order.agreed.success, order.agreed.message
            self._note(agent, command, success, message, Rule.CONSENT)
            return order
        self.give_up(agent, guard, f"{command} took its place")
        if command in HOLDS_IN_ANY_CASE:
            guard.control.apply(command)
        if order.agreed.stops:
            self._stop(agent)
        if command in (Command.CLAIM, Command.RELEASE):
            self._on_claim(agent)
        return order

    def _conclude(self, agent: str, guard: Guard, order: Order, done: Outcome) -> None:
        """Records the end of a command."""
        guard.order, command = None, order.command
        if done.success:
            guard.control.apply(command)
            if command is Command.CLAIM:
                guard.watch.claimed()
                guard.attendance.hand_over()
                self._clear_faults(agent)
            if command in (Command.STAND, Command.POWER_ON):
                guard.rested.clear()
                guard.attendance.hand_over()
                guard.sent_home = False
        message = self._told(agent, guard, order) if done.success else done.message
        order.outcome = Outcome(done.success, message, order.agreed.stops)
        self._note(agent, command, done.success, message, order.rule)

    def _told(self, agent: str, guard: Guard, order: Order) -> str:
        """What was done, and what forbids motion all the same."""
        wrong = self._concern(agent, guard) if order.command in _ENABLES else None
        said = order.agreed.message
        return said if wrong is None else f"{said}, but it may not move: {wrong.text}"

    def _clear_faults(self, agent: str) -> None:
        if self._robot is not None:
            causes = {fault.cause for fault in self._robot.health(agent).faults}
            if CLEARABLE_CAUSE in causes:
                self._robot.clear_faults(agent, CLEARABLE_CAUSE)


# Bringing a robot to rest: at shutdown (18), with an empty battery (15), unattended (8).

_LEAST_S = 0.5


def put_to_rest(robot: Supervised, agent: str, within_s: float) -> Iterator[tuple[str, Outcome]]:
    """Folds the arm, sits, powers off and returns the lease; reports each step's outcome.

    A step that fails or is late does not delay the next; steps that are not done in the end the
    robot does by itself (rules 1 and 3).
    """
    ends_s, share_s = time.monotonic() + within_s, within_s / 4

    def left_s() -> float:
        return max(_LEAST_S, min(share_s, ends_s - time.monotonic()))

    yield "stow", robot.stow(agent, left_s())
    for command in (Command.SIT, Command.POWER_OFF, Command.RELEASE):
        yield command, robot.operate(agent, command, left_s())


def what_rests(
    reasons: Collection[str], *, idle: bool, alone: bool, docked: bool
) -> tuple[tuple[Command, ...], Rule]:
    """What is done about an agent whose battery runs out, or that is unattended."""
    if docked:
        return (), Rule.BATTERY
    if "BATTERY_EMPTY" in reasons:
        return (Command.SIT, Command.POWER_OFF), Rule.BATTERY
    if "BATTERY_DOCK" in reasons and idle:
        return (Command.SIT,), Rule.BATTERY
    return ((Command.SIT,) if alone else ()), Rule.EXECUTIVE_LOST


# Docking and undocking (rule 15): when they are allowed, and how they start.


class HomeAction(StrEnum):
    """The two actions, as named in receipts."""

    DOCK = "dock"
    UNDOCK = "undock"


def why_not_home(guard: Guard, action: HomeAction, *, busy: bool) -> str:
    """Why an agent may not dock or undock now; empty if it may.

    Allowed with a low battery; for undocking it need not be standing.
    """
    rises = action is HomeAction.UNDOCK
    why = [text for text in guard.unready if not (rises and text == NOT_STANDING)]
    why += [concern.text for concern in guard.concerns if concern.severity is Severity.STOPS]
    if not why and busy:
        why = ["it does something else; stop it first"]
    return ", and ".join(why)


def begin_way(robot: Supervised, agent: str, action: HomeAction) -> Handle | None:
    """Starts docking or undocking, as a primitive; None without a dock."""
    return robot.undock(agent) if action is HomeAction.UNDOCK else robot.dock(agent)


# The operator's answers to approval questions, and their effects.

ANSWER = "safety/answer"
REFUSE = "safety/refuse"


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to one question.

    Attributes:
        question_id: the question that it answers.
        approve: whether the action is allowed; the other fields only count if it is.
        remember_kind: whether to allow later actions of its kind too, within this claim.
        target_m: another target, in `frame`.
        frame: `map`, or a frame of the agent.
        pixel: another target, as column and row of the question's picture.
    """

    question_id: str
    approve: bool
    remember_kind: bool = False
    target_m: Vec3 | None = None
    frame: str = "map"
    pixel: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Effects:
    """Callbacks to the gate: start a primitive (why it was refused) or end it, keep a receipt."""

    entry: Callable[[Handle], Entry]
    launch: Callable[[Entry], str]
    finish: Callable[[Entry, PrimitiveResult], None]
    note: Note


class Answers:
    """Processes the operator's answers. An answer names its question and affects no other one.

    A person answers what was shown some seconds ago; the question may have changed since.
    """

    def __init__(
        self,
        backend: Backend,
        questions: Questions,
        verdicts: Verdicts,
        guards: Callable[[], Mapping[str, Guard]],
        effects: Effects,
    ) -> None:
        """Answers `questions` of the agents of `guards`, in the world of `backend`."""
        self._backend, self._questions, self._verdicts = backend, questions, verdicts
        self._guards, self._effects = guards, effects

    def answer(self, agent: str, reply: Reply) -> Outcome:
        """The operator approves or refuses one question; an invalid answer leaves a receipt."""
        self.expire(agent)
        question = self._questions.waiting(agent)
        if question is None or question.question_id != reply.question_id:
            return self.ignore(agent, self._questions.why_gone(agent, reply.question_id))
        if not reply.approve:
            return self._refused(agent)
        target_m, problem = self._place(agent, question, reply)
        if problem:
            return self.ignore(agent, f"{problem}; the question is still open")
        return self._approved(agent, target_m, remember=reply.remember_kind)

    def refuse(self, agent: str) -> Outcome:
        """The operator refuses whichever question is open, which is always safe."""
        self.expire(agent)
        if self._questions.waiting(agent) is None:
            return self.ignore(agent, "nothing waits for approval", REFUSE)
        return self._refused(agent)

    def ignore(self, agent: str, why: str, command: str = ANSWER) -> Outcome:
        """Ignores an answer, for a reason."""
        self._effects.note(agent, command, False, why, Rule.APPROVAL)
        return Outcome(False, why)

    def expire(self, agent: str) -> None:
        """Ends a question that has expired, as a refusal."""
        question = self._questions.waiting(agent)
        if question is not None and self._backend.now_s() >= question.expires_s:
            text = "the operator did not answer in time"
            self._end(agent, Ending.EXPIRED, Rule.APPROVAL, "NOT_APPROVED", text)

    def begin_claim(self, agent: str) -> None:
        """Revokes approvals and ends questions of an earlier claim."""
        self._guards()[agent].approvals.forget()
        text = "it was claimed again"
        self._end(agent, Ending.CLAIMED, Rule.CONSENT, "CLAIMED_ANEW", text)

    def _refused(self, agent: str) -> Outcome:
        text = "the operator refused it"
        question = self._end(agent, Ending.REFUSED, Rule.APPROVAL, OPERATOR_REFUSED, text)
        name = "" if question is None else question.primitive.name
        return Outcome(True, f"{name} was refused")

    def _end(self, agent: str, how: Ending, rule: Rule, reason: str, text: str) -> Question | None:
        question = self._questions.end(agent, how)
        if question is not None:
            entry = self._effects.entry(question.handle)
            self._effects.finish(entry, not_allowed(agent, rule, reason, text))
        return question

    def _place(self, agent: str, question: Question, reply: Reply) -> tuple[Vec3 | None, str]:
        """The other target in `map`, if given, and what is wrong with it."""
        drives = question.primitive.name == PrimitiveName.DRIVE
        if drives and (reply.target_m is not None or reply.pixel is not None):
            return None, "a drive has no target; approve or refuse it"
        if reply.target_m is not None and reply.pixel is not None:
            return None, "a target and a pixel were given; give one of them"
        if reply.pixel is not None:
            found = None if question.view is None else point_at(question.view, reply.pixel)
            return found, "" if found else f"pixel {reply.pixel} of the picture shows nothing"
        if reply.target_m is None:
            return None, ""
        if not all(math.isfinite(value) for value in reply.target_m):
            return None, "the target is not a point: its numbers must be finite"
        if reply.frame not in ("map", f"{agent}/odom", f"{agent}/base_link"):
            known = f"give a point of 'map', '{agent}/odom' or '{agent}/base_link'"
            return None, f"a target in the frame {reply.frame[:64]!r} is not used; {known}"
        return in_map(self._backend, agent, reply.target_m, reply.frame), ""

    def _approved(self, agent: str, target_m: Vec3 | None, *, remember: bool) -> Outcome:
        guard, question = self._guards()[agent], self._questions.end(agent, Ending.APPROVED)
        if question is None:
            raise ValueError(f"{agent} is asked nothing")
        entry = self._effects.entry(question.handle)
        if target_m is not None:
            # The class of the thing at the new target is unknown.
            entry.primitive = replace(
                entry.primitive, target_m=target_m, frame="map", thing_class=""
            )
        refusal = self._verdicts.refusal(agent, guard, entry.primitive)
        if refusal is not None:
            self._effects.finish(entry, refusal)
            return Outcome(False, refusal.text)
        guard.approved = question.handle
        why_not = guard.approvals.agree(entry.primitive, remember=remember)
        refused = self._effects.launch(entry)
        if refused:
            return Outcome(False, f"{entry.primitive.name} was approved and refused: {refused}")
        told = f"{entry.primitive.name} was approved{' at another place' if target_m else ''}"
        if why_not:
            return Outcome(True, f"{told}; its kind is not remembered: {why_not}")
        return Outcome(True, f"{told}, and later ones too" if remember else told)


# A call that is repeated while its answer is awaited: the first good answer counts.


def first_answer(call: Callable[[], str], tries: int, again_s: float) -> str:
    """Calls up to `tries` times, `again_s` apart or at once after a failure.

    An earlier call is not dropped for a later one: on a slow link its answer may be the first.

    Args:
        call: returns why it failed, or nothing; each runs in a thread of its own and ends by
            itself.
        tries: maximum number of calls.
        again_s: seconds after which the next one starts.

    Returns:
        Nothing as soon as one call succeeded, else why the last one failed.

    Raises:
        BaseException: what a call raised.
    """
    answers: SimpleQueue[str | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(call())
        except BaseException as error:
            answers.put(error)

    why, waiting = "", 0
    for left in reversed(range(tries)):
        threading.Thread(target=run, name="spot-stop-call", daemon=True).start()
        waiting += 1
        until_s = time.monotonic() + again_s
        while waiting:
            try:
                answer = answers.get(timeout=max(0.0, until_s - time.monotonic()) if left else None)
            except Empty:
                break
            if isinstance(answer, BaseException):
                raise answer
            if not answer:
                return ""
            why, waiting = answer, waiting - 1
    return why
