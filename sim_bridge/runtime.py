"""The bridge without ROS: one backend behind the safety gate, and its running jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from planner.world.bounds import MAX_COORDINATE_M, Number, OutOfBounds
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.field_bounds import (
    ANGLE,
    ANGLE_OR_NONE,
    DISTANCE,
    DISTANCE_OR_NONE,
    DURATION,
    POSITION,
)
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from planner.world.primitive import (
    MAX_DRIVE_S,
    Capabilities,
    Drive,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
    all_primitives,
    primitive_named,
)
from planner.world.state import WorldState
from planner.world.vocabulary import Hand, Relation
from sim_bridge.backend import Backend, Handle, PictureSource, SensorSource, SightingSource
from sim_bridge.one_robot import Command, Outcome
from sim_bridge.pacing import TICK_S
from sim_bridge.safety.approvals import Answer
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Order
from sim_bridge.safety.health import Notifying, Supervised
from sim_bridge.safety.options import Rule, SafetyOptions

# Checks requests to an agent, and why a backend refuses: the same texts for every backend.

_PLACE_RELATIONS = {"": None, "on": Relation.ON, "within": Relation.WITHIN}


@dataclass(frozen=True, slots=True)
class Request:
    """An ExecutePrimitive goal as plain values; units and frames as in that file."""

    name: str
    target_m: Vec3
    frame: str
    relation: str = ""
    reference_m: Vec3 | None = None
    reference_frame: str = ""
    heading_rad: float = math.nan
    standoff_m: float = math.nan
    pan_rad: tuple[float, ...] = ()
    tilt_rad: tuple[float, ...] = ()
    timeout_s: float = 0.0
    tolerance_m: float = 0.0
    thing_class: str = ""
    hand: str = ""
    drive: Drive | None = None


def read_request(
    agent: str, agents: Collection[str], request: Request
) -> Primitive | PrimitiveResult:
    """The primitive of a request to `agent`, or the result that refuses it."""
    try:
        name = primitive_named(request.name)
    except ValueError:
        known = ", ".join(all_primitives())
        text = f"unknown primitive {request.name!r}; expected one of {known}"
        return PrimitiveResult(PrimitiveCode.UNKNOWN_PRIMITIVE, text)
    looks_around = name is PrimitiveName.LOOK and (request.pan_rad or request.tilt_rad)
    drives, talks = name == PrimitiveName.DRIVE, name == PrimitiveName.TALK
    has_no_target = looks_around or drives
    refusal = (
        (None if has_no_target else _check_frame(agent, agents, request.frame))
        or (None if has_no_target else _check_point("target", request.target_m))
        or _check_place(name, request)
        or _check_views(request)
        or _check_numbers(request)
        or _check_hand(request)
    )
    if refusal is not None:
        return refusal
    return Primitive(
        name=name,
        target_m=request.target_m,
        frame=request.frame or "map",
        relation=_PLACE_RELATIONS[request.relation],
        reference_m=request.reference_m,
        heading_rad=request.heading_rad,
        standoff_m=request.standoff_m,
        views_rad=tuple(zip(request.pan_rad, request.tilt_rad, strict=True)),
        timeout_s=request.timeout_s,
        tolerance_m=request.tolerance_m,
        thing_class="" if talks else request.thing_class,
        words=request.thing_class if talks else "",
        hand=Hand(request.hand) if request.hand else None,
        drive=request.drive if drives else None,
    )


def out_of_bounds(problem: OutOfBounds) -> PrimitiveResult:
    """The result that refuses a goal with a field out of bounds."""
    code = PrimitiveCode.BAD_TARGET
    if problem.field == "name":
        code = PrimitiveCode.UNKNOWN_PRIMITIVE
    elif problem.field.endswith("frame_id"):
        code = PrimitiveCode.BAD_FRAME
    return PrimitiveResult(code, f"the goal is out of bounds: {problem}")


def _check_frame(agent: str, agents: Collection[str], frame: str) -> PrimitiveResult | None:
    if frame in ("map", f"{agent}/odom", f"{agent}/base_link"):
        return None
    known = f"use map, {agent}/odom or {agent}/base_link"
    owner, slash, _ = frame.partition("/")
    if not frame:
        return PrimitiveResult(PrimitiveCode.BAD_FRAME, f"the target has no frame; {known}")
    if slash and owner.startswith("agent_") and owner not in agents:
        text = f"there is no agent {owner!r} (frame {frame!r}); there are: {', '.join(agents)}"
        return PrimitiveResult(PrimitiveCode.UNKNOWN_AGENT, text)
    return PrimitiveResult(PrimitiveCode.BAD_FRAME, f"unknown frame {frame!r}; {known}")


def _check_point(what: str, point_m: Vec3) -> PrimitiveResult | None:
    if all(math.isfinite(value) for value in point_m):
        return None
    text = f"the {what} {point_m} is not finite"
    return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)


def _check_place(name: str, request: Request) -> PrimitiveResult | None:
    if request.relation not in _PLACE_RELATIONS:
        text = f"unknown relation {request.relation!r}; use on (also for the floor) or within"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if name is PrimitiveName.PLACE and not request.relation:
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, "place needs a relation: on or within")
    if request.reference_m is None:
        return None
    if request.reference_frame != request.frame:
        text = (
            f"the reference is in {request.reference_frame!r} and the target in "
            f"{request.frame!r}; give both in one frame"
        )
        return PrimitiveResult(PrimitiveCode.BAD_FRAME, text)
    return _check_point("reference", request.reference_m)


def _check_views(request: Request) -> PrimitiveResult | None:
    pans, tilts = len(request.pan_rad), len(request.tilt_rad)
    if pans != tilts:
        text = f"pan_rad has {pans} and tilt_rad {tilts} entries; a view is one of each"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if not all(map(math.isfinite, (*request.pan_rad, *request.tilt_rad))):
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, "a view's pan or tilt is not finite")
    return None


def _check_numbers(request: Request) -> PrimitiveResult | None:
    if math.isinf(request.heading_rad):
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, "heading_rad is infinite; NaN means free")
    if math.isinf(request.standoff_m) or request.standoff_m < 0:
        text = f"standoff_m: expected a distance or NaN (within reach), got {request.standoff_m}"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if not (math.isfinite(request.timeout_s) and request.timeout_s >= 0):
        text = f"timeout_s: expected 0 or more, got {request.timeout_s}"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    if not (math.isfinite(request.tolerance_m) and request.tolerance_m >= 0):
        text = f"tolerance_m: expected 0 or more, got {request.tolerance_m}"
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)
    return None


def _check_hand(request: Request) -> PrimitiveResult | None:
    if request.hand in ("", *Hand):
        return None
    text = f"unknown hand {request.hand!r}; use right or left, or leave it empty"
    return PrimitiveResult(PrimitiveCode.BAD_TARGET, text)


# Why a backend refuses to start a primitive: the same codes and texts for every backend.


def refusal_of(
    agent: str, can: Capabilities, primitive: Primitive, *, busy: bool
) -> PrimitiveResult | None:
    """The result that refuses a primitive of a known agent; None if it may start.

    Args:
        agent: whose primitive it is.
        can: what its body can do.
        primitive: the request.
        busy: whether the agent is running another primitive.
    """
    if primitive.name not in all_primitives():
        text = f"there is no primitive {primitive.name!r}"
        return PrimitiveResult(PrimitiveCode.UNKNOWN_PRIMITIVE, text)
    if primitive.name not in can.primitives:
        return PrimitiveResult(PrimitiveCode.NOT_ABLE, f"a {can.kind} cannot {primitive.name}")
    if primitive.hand is not None and primitive.hand.slot >= can.hands:
        text = f"a {can.kind} has no {primitive.hand} hand"
        return PrimitiveResult(PrimitiveCode.NOT_ABLE, text)
    if primitive.frame not in ("map", f"{agent}/odom", f"{agent}/base_link"):
        text = f"frame {primitive.frame!r} is none of map, {agent}/odom, {agent}/base_link"
        return PrimitiveResult(PrimitiveCode.BAD_FRAME, text)
    problem = _bad_numbers(primitive) or _bad_drive(can, primitive)
    if problem:
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, problem)
    if busy:
        return PrimitiveResult(PrimitiveCode.BUSY, f"{agent} is doing something else")
    return None


def _bad_numbers(primitive: Primitive) -> str:
    """What is wrong with the numbers of a primitive; empty if nothing is."""
    looks_around = primitive.name is PrimitiveName.LOOK and primitive.views_rad
    has_no_target = looks_around or primitive.name == PrimitiveName.DRIVE
    points = {
        "target": None if has_no_target else primitive.target_m,
        "reference": primitive.reference_m,
    }
    for what, point_m in points.items():
        if point_m is not None and POSITION.first_invalid(point_m) is not None:
            return f"the {what} {point_m} is not a finite point within {MAX_COORDINATE_M:g} m"
    numbers: list[tuple[str, float, Number]] = [
        *(("a view", angle, ANGLE) for view in primitive.views_rad for angle in view),
        ("the heading", primitive.heading_rad, ANGLE_OR_NONE),
        ("the standoff", primitive.standoff_m, DISTANCE_OR_NONE),
        ("the timeout", primitive.timeout_s, DURATION),
        ("the tolerance", primitive.tolerance_m, DISTANCE),
    ]
    for what, value, bound in numbers:
        reason = bound.reason(value)
        if reason:
            return f"{what}: {reason}"
    return ""


def _bad_drive(can: Capabilities, primitive: Primitive) -> str:
    """What is wrong with the velocities of a `drive`; empty if nothing is."""
    if primitive.name != PrimitiveName.DRIVE:
        return ""
    drive, limits = primitive.drive, can.drive
    if drive is None or limits is None:
        return "a drive needs velocities"
    if not 0.0 < drive.duration_s <= MAX_DRIVE_S:
        return f"drive_s: expected above 0 and at most {MAX_DRIVE_S:g}, got {drive.duration_s:g}"
    speeds = (
        ("forward_m_s", drive.forward_m_s, limits.forward_m_s),
        ("turn_rad_s", drive.turn_rad_s, limits.turn_rad_s),
        ("pan_rad_s", drive.pan_rad_s, limits.hand_rad_s),
        ("tilt_rad_s", drive.tilt_rad_s, limits.hand_rad_s),
    )
    for what, speed, most in speeds:
        # Not a number is not within the limits either.
        if not abs(speed) <= most:
            return f"{what}: a {can.kind} may be driven with at most {most:g}, got {speed:g}"
    return ""


# Seconds before a robot is asked for pictures again after a failure.
CAMERA_RETRY_S = 1.0
# Characters of an unknown primitive's name in a receipt.
MAX_NAME_SHOWN = 64


@runtime_checkable
class Losable(Protocol):
    """A backend whose world may be lost, and found again by `reset`."""

    @property
    def fault(self) -> str:
        """Why the world is lost; empty while it is there."""


@dataclass(slots=True)
class Job:
    """A request to an agent and its status; `handle` is None if no backend got it."""

    agent: str
    name: str
    handle: Handle | None
    status: PrimitiveStatus


class Runtime:
    """The state of the bridge, independent of ROS."""

    def __init__(self, backend: Backend, safety: SafetyOptions | None = None) -> None:
        """Puts the safety gate in front of the backend."""
        self.gate = SafetyGate(backend, safety)
        self._robot = isinstance(backend, Supervised)
        self._losable = backend if isinstance(backend, Losable) else None
        self._notifying = backend if isinstance(backend, Notifying) else None
        self._sightings = backend if isinstance(backend, SightingSource) else None
        self._pictures = backend if isinstance(backend, PictureSource) else None
        # How a simulator's sensors err; "" where nobody knows.
        self.sensors_json = backend.sensors_json if isinstance(backend, SensorSource) else ""
        self.backend: Backend = self.gate
        self.house = ""
        self.episode_id = ""
        self.picture_fault = ""
        self._retry_pictures_s = math.inf
        self._running: list[Job] = []

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the loaded episode."""
        return self.backend.agents

    @property
    def fault(self) -> str:
        """Why the world is lost until another episode is loaded; empty while it is there."""
        return self._losable.fault if self._losable is not None else ""

    @property
    def busy(self) -> bool:
        """Whether any agent is carrying out a primitive."""
        return bool(self._running)

    @property
    def busy_agents(self) -> frozenset[str]:
        """The agents that are carrying out a primitive."""
        return frozenset(job.agent for job in self._running)

    def load(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; on an error the old world and its jobs go on.

        Raises:
            PlannerError: if house and episode do not fit each other.
        """
        self.backend.reset(house, episode, seed)
        self.picture_fault = ""
        self.house, self.episode_id = house.name, episode.episode_id
        for job in self._running:
            _end(job, PrimitiveCode.CANCELED, "another episode was loaded")
        self._running.clear()

    def begin(self, agent: str, request: Request) -> Job:
        """Starts what a request asks for; a refusal is the job's result."""
        primitive = read_request(agent, self.agents, request)
        if isinstance(primitive, PrimitiveResult):
            return self.refuse(agent, request.name, primitive)
        handle = self.backend.start(agent, primitive)
        job = Job(agent, request.name, handle, self.backend.poll(handle))
        if not job.status.done:
            self._running.append(job)
        return job

    def refuse(self, agent: str, name: str, result: PrimitiveResult) -> Job:
        """The job of a request that is refused; keeps a receipt.

        Args:
            agent: that was asked.
            name: of the primitive, as requested; any text.
            result: why not.
        """
        self.gate.refused(agent, name[:MAX_NAME_SHOWN] or "primitive", result.text)
        return Job(agent, name, None, PrimitiveStatus("refused", 0.0, result))

    def refresh(self) -> None:
        """Updates the status of every running job."""
        for job in self._running:
            if job.handle is not None:
                job.status = self.backend.poll(job.handle)
        self._running = [job for job in self._running if not job.status.done]

    def cancel(self, job: Job) -> None:
        """Ends a job as CANCELED and stops its agent."""
        if job.handle is not None and not job.status.done:
            self.backend.cancel(job.handle)
            self.refresh()

    def abandon(self, job: Job, reason: str) -> None:
        """Cancels a job that nobody waits for any more."""
        self.cancel(job)
        if job.status.result is not None and job.status.result.code is PrimitiveCode.CANCELED:
            _end(job, PrimitiveCode.CANCELED, f"stopped: {reason}")

    def command(self, agent: str, command: Command) -> Outcome:
        """Carries out a Trigger service of an agent."""
        outcome = self.gate.command(agent, command)
        self.refresh()
        return outcome

    def order(self, agent: str, command: Command) -> Order:
        """Starts a Trigger service's command without waiting for a real robot to finish it.

        A simulated agent has finished at once.
        """
        if self.backend.simulated:
            outcome = self.command(agent, command)
            return Order(command, Rule.CONSENT, outcome, outcome)
        order = self.gate.order(agent, command)
        self.refresh()
        return order

    def notify(self, on_answer: Callable[[], None]) -> None:
        """Has `on_answer` called, from any thread, when `follow_orders` finds something."""
        if self._notifying is not None:
            self._notifying.notify(on_answer)

    def follow_orders(self) -> None:
        """Processes answers that arrived since the last step without waiting for the next one."""
        if self._notifying is not None:
            self.gate.follow_orders()

    def answer(self, agent: str, answer: Answer) -> Outcome:
        """Handles an operator's answer that names no question: a refusal, the lease, the dock."""
        if answer is Answer.TAKE_LEASE:
            return self.gate.take_lease(agent)
        if answer in (Answer.DOCK, Answer.UNDOCK):
            return self.gate.go_home(agent, leave=answer is Answer.UNDOCK)
        return self.gate.answers.refuse(agent)

    def step(self, dt_s: float = TICK_S) -> None:
        """Advances time and updates the jobs."""
        self.backend.step(dt_s)
        self.refresh()

    def sense(self, agent: str, cameras: Sequence[str]) -> Observation:
        """What an agent senses now, without pictures while they fail.

        A failure is kept in `picture_fault`. A simulator that cannot render is not asked again
        before the next episode; a robot's cameras are, after `CAMERA_RETRY_S`.
        """
        if cameras and (not self.picture_fault or self.now_s() >= self._retry_pictures_s):
            try:
                seen = self.backend.observe(agent, cameras)
            except PlannerError as error:
                self.picture_fault = str(error)
                self._retry_pictures_s = self.now_s() + CAMERA_RETRY_S if self._robot else math.inf
            else:
                self.picture_fault = ""
                return seen
        return self.backend.observe(agent, ())

    @property
    def has_own_pictures(self) -> bool:
        """Whether pictures come at times of their own: `picture_after` has them, not `sense`."""
        return self._pictures is not None

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        """See `sim_bridge.backend.PictureSource`; None where pictures are taken on request."""
        if self._pictures is None:
            return None
        return self._pictures.picture_after(agent, camera, stamp_s)

    def watch_pictures(self) -> str:
        """Notices cameras that stopped; returns why pictures are missing, empty if none are."""
        if self._pictures is not None:
            faults = (self._pictures.picture_fault(agent) for agent in self.agents)
            self.picture_fault = "; ".join(filter(None, faults))
        return self.picture_fault

    @property
    def has_sightings(self) -> bool:
        """Whether the world says what agents see, instead of sending pictures."""
        return self._sightings is not None

    def sightings(self, agent: str) -> Sequence[Sighting]:
        """What an agent sees now; nothing where only pictures could tell."""
        return () if self._sightings is None else self._sightings.sightings_now(agent)

    def world_state(self) -> WorldState | None:
        """Ground truth, or None if it is unknown."""
        return self.backend.world_state()

    def now_s(self) -> float:
        """Seconds on the world's clock."""
        return self.backend.now_s()

    def close(self) -> None:
        """Stops every agent and frees the backend."""
        self.backend.close()


def _end(job: Job, code: PrimitiveCode, text: str) -> None:
    job.status = PrimitiveStatus("ended", job.status.progress, PrimitiveResult(code, text))
