"""The operator's answers to approval questions, and their effects."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from planner.world.geometry import Vec3
from planner.world.primitive import PrimitiveName, PrimitiveResult
from planner.world.reported import OPERATOR_REFUSED
from sim_bridge.backend import Backend, Handle
from sim_bridge.control import Outcome
from sim_bridge.safety.approvals import in_map
from sim_bridge.safety.guard import Entry, Guard, not_allowed
from sim_bridge.safety.order_executor import Note
from sim_bridge.safety.questions import Ending, Question, Questions, point_at
from sim_bridge.safety.rules import Rule
from sim_bridge.safety.verdicts import Verdicts

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
