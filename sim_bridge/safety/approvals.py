"""Rule 14: what needs the operator's approval, and the questions for it."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from uuid import uuid4

from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Backend, Handle
from sim_bridge.safety.options import Executive

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


# Which executives attend an agent, by their heartbeats (rule 8).
#
# Pure: heartbeats and times are arguments, on one steady clock, never the world's.

# Maximum relative drift of another machine's steady clock.
DRIFT = 1e-3
# Executives whose sequence numbers are kept.
MAX_EXECUTIVES = 64
# A missed-deadline event names no publisher: it concerns those silent for this long.
SUSPECT_AFTER_S = 0.2
# Name of an executive in the gate's own process, which sends no messages.
LOCAL_EXECUTIVE = "this process"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """One heartbeat, see msgs/msg/Heartbeat.msg; `stamp_s` 0 means that it was sent just now."""

    executive: str
    sequence: int
    stamp_s: float = 0.0
    leaving: bool = False


class Step(StrEnum):
    """What rule 8 requires for the current motion."""

    GOES_ON = "goes on"
    PAUSES = "pauses"
    ENDS = "ends"


@dataclass(slots=True)
class _Executive:
    """State of one executive; `offset_s` is our clock minus its clock.

    `forgiven`: its silence is no longer a reason to sit down.
    """

    sequence: int
    heard_s: float
    offset_s: float
    quiet: bool = False
    left: bool = False
    forgiven: bool = False


class Attendance:
    """The executives of one agent, and which of them a motion under way depends on."""

    def __init__(self, options: Executive) -> None:
        self._options = options
        self._known: dict[str, _Executive] = {}
        self._needed: frozenset[str] = frozenset()
        self._operated_s = -math.inf

    # Heartbeats

    def receive(self, heartbeat: Heartbeat, now_s: float) -> bool:
        """Processes a heartbeat; False if it is repeated or older than the last one."""
        before = self._known.get(heartbeat.executive)
        if before is not None and heartbeat.sequence <= before.sequence:
            return False
        offset_s = 0.0
        if heartbeat.stamp_s:
            offset_s = now_s - heartbeat.stamp_s
            if before is not None:
                gap_s = now_s - before.heard_s
                offset_s = min(offset_s, before.offset_s + DRIFT * gap_s)
        heard_s = min(now_s, heartbeat.stamp_s + offset_s) if heartbeat.stamp_s else now_s
        known = _Executive(heartbeat.sequence, heard_s, offset_s, left=heartbeat.leaving)
        self._known[heartbeat.executive] = known
        if not heartbeat.leaving:
            self._forgive(now_s)
        self._forget_some()
        return True

    def miss(self, now_s: float, *, everyone: bool) -> None:
        """The middleware reports missing heartbeats, which counts as silence at once.

        Args:
            now_s: on the steady clock.
            everyone: whether no publisher is left; else only those not heard recently are silent.
        """
        for known in self._known.values():
            if everyone or now_s - known.heard_s > SUSPECT_AFTER_S:
                known.quiet = True

    def operated(self, now_s: float) -> None:
        """The operator, or the gate itself, commanded the agent."""
        self._operated_s = now_s

    def hand_over(self) -> None:
        """The operator takes over: executives lost before are no reason to sit down."""
        for known in self._known.values():
            known.forgiven = True

    def _forgive(self, now_s: float) -> None:
        """Somebody attends: executives that fell silent long before no longer count as lost."""
        for name, known in self._known.items():
            late = now_s - known.heard_s > self._options.stop_after_s
            if late and name not in self._needed:
                known.forgiven = True

    def _forget_some(self) -> None:
        while len(self._known) > MAX_EXECUTIVES:
            idle = [name for name in self._known if name not in self._needed]
            if not idle:
                return
            del self._known[min(idle, key=lambda name: self._known[name].heard_s)]

    # Motions

    def begin(self, now_s: float) -> None:
        """A motion begins: it depends on every executive that attends now."""
        fresh = self.executives(now_s)
        self._needed = frozenset(fresh or self._within(now_s, self._options.stop_after_s))

    def end(self) -> None:
        """The motion has ended."""
        self._needed = frozenset()

    def step(self, now_s: float) -> Step:
        """Whether the current motion goes on, pauses or ends; one without executives goes on."""
        if self.silent_s(now_s) > self._options.stop_after_s:
            return Step.ENDS
        if not self._needed <= self.executives(now_s):
            return Step.PAUSES
        return Step.GOES_ON

    def silent_s(self, now_s: float) -> float:
        """Longest silence among the executives that the motion depends on, seconds."""
        return max((now_s - self._known[name].heard_s for name in self._needed), default=0.0)

    def until_s(self) -> float:
        """Until when commands of the current motion may live; inf without executives."""
        heard_s = min((self._known[name].heard_s for name in self._needed), default=math.inf)
        return heard_s + self._options.expire_after_s

    def missing(self, now_s: float) -> str:
        """Names of the silent executives that the motion depends on, for people."""
        gone = sorted(self._needed - self.executives(now_s))
        return _listed(gone or sorted(self._needed))

    # At rest

    def executives(self, now_s: float) -> frozenset[str]:
        """Executives that attend now."""
        return self._within(now_s, self._options.pause_after_s)

    def attended_within(self, now_s: float, seconds: float) -> bool:
        """Whether an executive that has not left was heard in the last `seconds`."""
        return bool(self._within(now_s, seconds))

    def alone_s(self, now_s: float) -> float:
        """Seconds since an agent lost its executives without replacement.

        0 while an executive attends, if all have left in order, and if none attended since the
        operator took over.
        """
        lost = [k.heard_s for k in self._known.values() if not (k.left or k.forgiven)]
        if not lost or self.executives(now_s):
            return 0.0
        return max(0.0, now_s - max(*lost, self._operated_s))

    def last_heard(self, now_s: float) -> str:
        """The executive heard last and how long ago, for people; empty if none was."""
        if not self._known:
            return ""
        name, known = max(self._known.items(), key=lambda item: item[1].heard_s)
        parted = "said goodbye" if known.left else "was last heard"
        return f"{name[:64]} {parted} {now_s - known.heard_s:.1f} s ago"

    def _within(self, now_s: float, seconds: float) -> frozenset[str]:
        return frozenset(
            name
            for name, known in self._known.items()
            if not (known.left or (known.quiet and seconds <= self._options.pause_after_s))
            and now_s - known.heard_s <= seconds
        )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name[:64] for name in names)
