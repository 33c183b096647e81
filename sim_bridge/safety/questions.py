"""Approval questions: at most one per agent, each with an id and an ending."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from uuid import uuid4

from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Backend, Handle
from sim_bridge.safety.approvals import in_map

# Ended questions that are remembered, to explain late answers.
MAX_ENDED_QUESTIONS = 1000
_MAX_ID_SHOWN = 64
UNKNOWN_CLASS = "unknown to perception"


class Ending(StrEnum):
    """How a question ended, as shown to a late answer."""

    APPROVED = "was approved already"
    REFUSED = "was refused already"
    CANCELED = "was canceled"
    EXPIRED = "has expired"
    STOPPED = "ended when the agent was stopped"
    CLAIMED = "ended when the agent was claimed again"
    NEW_EPISODE = "ended when another episode was loaded"


@dataclass(frozen=True, slots=True)
class Question:
    """A primitive that waits for approval.

    Attributes:
        question_id: to be named in the answer.
        agent: that would act.
        handle: of the primitive in the gate.
        primitive: the request.
        why: approval is needed.
        issued_s: on the world's clock.
        expires_s: deadline for the answer, on the world's clock.
        target_m: its target in the map.
        view: picture of the hand camera; None if there is none.
        pixel: column and row of the target in `view`; None if outside.
    """

    question_id: str
    agent: str
    handle: Handle
    primitive: Primitive
    why: str
    issued_s: float
    expires_s: float
    target_m: Vec3
    view: CameraFrame | None = None
    pixel: tuple[int, int] | None = None

    @property
    def what(self) -> str:
        """The primitive and the class of its target, as far as known."""
        name, thing_class = self.primitive.name, self.primitive.thing_class
        if name is not PrimitiveName.PICK:
            return str(name)
        return f"{name} {thing_class or f'({UNKNOWN_CLASS})'}"


class Questions:
    """The open question of each agent, and how recent ones ended.

    Ids are unique across restarts: an answer to an earlier bridge matches no question.
    """

    def __init__(self, backend: Backend) -> None:
        """Takes pictures from `backend`."""
        self._backend = backend
        self._prefix = f"{uuid4().hex}-"
        self._count = 0
        self._waiting: dict[str, Question] = {}
        # Agent and ending, by id.
        self._ended: OrderedDict[str, tuple[str, str]] = OrderedDict()

    def ask(
        self, agent: str, handle: Handle, primitive: Primitive, why: str, timeout_s: float
    ) -> Question:
        """Asks the operator about a primitive.

        Raises:
            ValueError: if the agent has an open question.
        """
        if agent in self._waiting:
            raise ValueError(f"{agent} waits for an answer already")
        self._count += 1
        try:
            view = self._backend.observe(agent, ("hand",)).cameras.get("hand")
        except PlannerError:
            # The operator then decides without a picture.
            view = None
        target_m = in_map(self._backend, agent, primitive.target_m, primitive.frame)
        if primitive.name == PrimitiveName.DRIVE:
            # Without a target: it begins where the robot is.
            target_m = self._backend.observe(agent, ()).base.position_m
        issued_s = self._backend.now_s()
        question = Question(
            question_id=f"{self._prefix}{self._count}",
            agent=agent,
            handle=handle,
            primitive=primitive,
            why=why,
            issued_s=issued_s,
            expires_s=issued_s + timeout_s,
            target_m=target_m,
            view=view,
            pixel=None if view is None else pixel_of(view, target_m),
        )
        self._waiting[agent] = question
        return question

    def waiting(self, agent: str) -> Question | None:
        """The agent's open question, if any."""
        return self._waiting.get(agent)

    def end(self, agent: str, how: str) -> Question | None:
        """Ends and returns the agent's open question, if any."""
        question = self._waiting.pop(agent, None)
        if question is not None:
            self._ended[question.question_id] = (agent, str(how))
            if len(self._ended) > MAX_ENDED_QUESTIONS:
                self._ended.popitem(last=False)
        return question

    def end_all(self, how: str) -> None:
        """Ends what is asked of all operators."""
        for agent in tuple(self._waiting):
            self.end(agent, how)

    def why_gone(self, agent: str, question_id: str) -> str:
        """Why an answer to a question that is not asked of this agent is refused."""
        if not question_id:
            return "an answer names its question: question_id is empty"
        shown = question_id[:_MAX_ID_SHOWN]
        return f"question {shown} {self._ending(agent, question_id)}; nothing was approved"

    def _ending(self, agent: str, question_id: str) -> str:
        owner, how = self._ended.get(question_id, ("", ""))
        for other, waiting in self._waiting.items():
            if waiting.question_id == question_id:
                owner = other
        if owner not in ("", agent):
            return f"is of {owner}"
        if how:
            return how
        number = question_id.removeprefix(self._prefix)
        known = number != question_id and number in map(str, range(1, self._count + 1))
        return "ended long ago" if known else "was never asked"


def pixel_of(view: CameraFrame, point_m: Vec3) -> tuple[int, int] | None:
    """Where a point of the map is in a picture, as column and row; None outside of it."""
    x, y, z = view.pose.inverse().apply(point_m)
    if z <= 0.05:
        return None
    camera = view.intrinsics
    u, v = round(camera.fx_px * x / z + camera.cx_px), round(camera.fy_px * y / z + camera.cy_px)
    return (u, v) if 0 <= u < camera.width_px and 0 <= v < camera.height_px else None


def point_at(view: CameraFrame, pixel: tuple[int, int]) -> Vec3 | None:
    """What a pixel of a picture shows, in the map; None where nothing was measured."""
    camera, (u, v) = view.intrinsics, pixel
    if not (0 <= u < camera.width_px and 0 <= v < camera.height_px):
        return None
    depth_m = float(view.depth_m[v, u])
    if depth_m <= 0:
        return None
    x, y = (u - camera.cx_px) / camera.fx_px * depth_m, (v - camera.cy_px) / camera.fy_px * depth_m
    return view.pose.apply((x, y, depth_m))
