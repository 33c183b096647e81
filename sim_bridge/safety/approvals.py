"""Rule 14: what needs the operator's approval, and the questions for it."""

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

# Primitives that handle things or furniture, and those that move the arm at all.
HANDLING = frozenset(
    {PrimitiveName.PICK, PrimitiveName.PLACE, PrimitiveName.OPEN, PrimitiveName.CLOSE}
)
ARM = HANDLING | {PrimitiveName.LOOK}


class Answer(StrEnum):
    """The operator's Trigger services.

    None of them names a question, so none of them approves anything.
    """

    REFUSE = "safety/refuse"
    TAKE_LEASE = "take_lease"
    DOCK = "dock"
    UNDOCK = "undock"


class Approvals:
    """Standing approvals for one agent, until its claim ends."""

    def __init__(self, *, every_grasp: bool) -> None:
        self._every_grasp = every_grasp
        self._allowed: set[str] = set()
        self._grasped: set[str] = set()

    def reason(self, primitive: Primitive, *, person_near: bool) -> str:
        """Why a primitive needs approval; empty if it does not."""
        name, cls = primitive.name, primitive.thing_class
        if name not in ARM and name != PrimitiveName.DRIVE:
            return ""
        if person_near:
            return "a person is near"
        if name == PrimitiveName.DRIVE:
            return "" if name in self._allowed else "no drive by velocities was approved yet"
        if name not in HANDLING:
            return ""
        why = self._why_one_by_one(primitive)
        if why:
            return why
        if name in self._allowed or (name is PrimitiveName.PICK and cls in self._grasped):
            return ""
        of_it = f" of a {cls}" if name is PrimitiveName.PICK and cls else ""
        return f"no {name}{of_it} was approved yet"

    def agree(self, primitive: Primitive, *, remember: bool) -> str:
        """Records an approval: later grasps of the same class need none.

        Args:
            primitive: the approved one.
            remember: whether to allow later ones of its kind too.

        Returns:
            Why its kind is not remembered; empty if it is, or was not to be.
        """
        name, cls = primitive.name, primitive.thing_class
        if name is PrimitiveName.PICK and cls:
            self._grasped.add(cls)
        why = self._why_one_by_one(primitive) if remember else ""
        if remember and not why:
            self._allowed.add(name)
        return why

    def forget(self) -> None:
        """Revokes all standing approvals."""
        self._allowed.clear()
        self._grasped.clear()

    def _why_one_by_one(self, primitive: Primitive) -> str:
        name = primitive.name
        if name == PrimitiveName.DRIVE:
            return ""
        if name not in HANDLING:
            return f"a {name} is asked about beside a person only, each time"
        if name in (PrimitiveName.OPEN, PrimitiveName.CLOSE):
            return "doors and drawers are approved one by one"
        if self._every_grasp:
            return f"every {name} is approved by itself"
        if name is PrimitiveName.PICK and not primitive.thing_class:
            return "what is unknown to perception is approved one by one"
        return ""


def in_map(backend: Backend, agent: str, point_m: Vec3, frame: str) -> Vec3:
    """Transforms a point from one of the agent's frames to `map`; others are returned as is."""
    seen = backend.observe(agent, ())
    pose = {
        f"{agent}/base_link": seen.base,
        f"{agent}/odom": seen.base.compose(seen.odometry.inverse()),
    }.get(frame)
    return point_m if pose is None else pose.apply(point_m)


# Approval questions: at most one per agent, each with an id and an ending.

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
