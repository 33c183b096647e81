"""What simulators whose time is stepped share: primitives, the clock and ground truth."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, Protocol, TypeAlias, TypeVar

from planner.world.agents import Body
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.observation import Observation
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.state import WorldState
from sim_bridge.backend import Handle
from sim_bridge.geometry import in_map
from sim_bridge.runtime import refusal_of

# Phase, progress, and for how many seconds from now one long step equals short ones.
Stage: TypeAlias = tuple[str, float, float]
# Yields after each step and receives the next step's seconds.
Routine: TypeAlias = Generator[Stage, float, PrimitiveResult]

_EPSILON_S = 1e-9


class SteppedWorld(Protocol):
    """One episode's state; its owner advances `time_s` and `steps`."""

    time_s: float
    steps: int

    @property
    def agents(self) -> Mapping[str, object]:
        """The episode's agents by name, in their order."""

    def snapshot(self) -> WorldState:
        """Ground truth."""


World = TypeVar("World", bound=SteppedWorld)


@dataclass(slots=True)
class Running:
    """A running primitive, or its end."""

    agent: str
    primitive: Primitive
    routine: Routine | None
    ends_s: float
    status: PrimitiveStatus
    steady_s: float = 0.0


class SteppedBackend(ABC, Generic[World]):
    """One episode's world and its agents' primitives; see `sim_bridge.backend.Backend`."""

    simulated = True

    def __init__(self, default_timeout_s: float) -> None:
        """Starts without an episode.

        Args:
            default_timeout_s: limit of a primitive that names none.
        """
        self._default_timeout_s = default_timeout_s
        self._world: World | None = None
        self._primitives: list[Running] = []
        self._current: dict[str, Handle] = {}

    # Implemented by subclasses

    @abstractmethod
    def capabilities(self, agent: str) -> Capabilities:
        """What the agent's body can do."""

    @abstractmethod
    def _agent(self, name: str) -> object:
        """An agent of the loaded episode.

        Raises:
            PlannerError: if there is none.
        """

    @abstractmethod
    def _routine(self, agent: str, primitive: Primitive) -> Routine:
        """Carries out a primitive that may start."""

    def _on_ended(self, agent: str, *, early: bool) -> None:
        """Called when a primitive has ended; `early` if not by itself."""

    def _idle(self, agent: str, dt_s: float) -> None:
        """Called at each step of an agent that runs no primitive."""

    # Episodes and time

    @property
    def agents(self) -> tuple[str, ...]:
        """The loaded episode's agents."""
        return tuple(self._world.agents) if self._world is not None else ()

    def _load(self, world: World) -> None:
        self._end_all(PrimitiveCode.CANCELED, "the episode was replaced")
        self._world = world
        self._primitives.clear()

    def now_s(self) -> float:
        """Simulated seconds since the episode's start."""
        return self._world.time_s if self._world is not None else 0.0

    def step(self, dt_s: float) -> None:
        """Advances simulated time for all agents, in their order."""
        if not (math.isfinite(dt_s) and dt_s > 0):
            raise PlannerError(f"expected a step of a finite time above 0, got {dt_s}")
        self._pass(dt_s, dt_s)

    def leap(self, dt_s: float, steps: int) -> None:
        """Takes as many steps as `steady_steps` allows, or fewer, at once."""
        world = self._loaded()
        for _ in range(steps - 1):
            # Summed like single steps, to the last bit.
            world.time_s += dt_s
        world.steps += steps - 1
        self._pass(dt_s, dt_s * steps)

    def _pass(self, last_s: float, dt_s: float) -> None:
        """Advances all agents by `dt_s`; the clock lacks the last `last_s` of it."""
        world = self._loaded()
        world.time_s += last_s
        world.steps += 1
        for name in world.agents:
            handle = self._current.get(name)
            if handle is None:
                self._idle(name, dt_s)
                continue
            running = self._primitives[handle]
            self._advance(running, dt_s)
            if not running.status.done and world.time_s >= running.ends_s - _EPSILON_S:
                self._end(handle, PrimitiveCode.TIMED_OUT, "took too long")

    def close(self) -> None:
        """Stops every agent."""
        self._end_all(PrimitiveCode.STOPPED, "the world was closed")

    def world_state(self) -> WorldState | None:
        """Ground truth, or None before the first episode."""
        return self._world.snapshot() if self._world is not None else None

    # Primitives

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive; a refusal is its polled result."""
        handle = Handle(len(self._primitives))
        refusal = self._refusal(agent, primitive)
        if refusal is not None:
            ended = PrimitiveStatus("refused", 0.0, refusal)
            self._primitives.append(Running(agent, primitive, None, 0.0, ended))
            return handle
        ends_s = self.now_s() + (primitive.timeout_s or self._default_timeout_s)
        status = PrimitiveStatus("starting", 0.0, None)
        running = Running(agent, primitive, self._routine(agent, primitive), ends_s, status)
        self._primitives.append(running)
        self._current[agent] = handle
        self._advance(running, None)
        return handle

    def _refusal(self, agent: str, primitive: Primitive) -> PrimitiveResult | None:
        """Why a primitive cannot start at all, or None."""
        if self._world is None:
            return PrimitiveResult(PrimitiveCode.NO_WORLD, "no episode is loaded")
        if agent not in self._world.agents:
            return PrimitiveResult(PrimitiveCode.UNKNOWN_AGENT, f"there is no agent {agent!r}")
        return refusal_of(agent, self.capabilities(agent), primitive, busy=agent in self._current)

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """The status of a primitive."""
        if not 0 <= handle < len(self._primitives):
            raise PlannerError(f"unknown primitive handle: {handle}")
        return self._primitives[handle].status

    def cancel(self, handle: Handle) -> None:
        """Ends a primitive and stops its agent."""
        if not self.poll(handle).done:
            self._end(handle, PrimitiveCode.CANCELED, "canceled")

    def stop(self, agent: str) -> None:
        """Stops an agent at once."""
        self._agent(agent)
        if agent in self._current:
            self._end(self._current[agent], PrimitiveCode.STOPPED, "the agent was stopped")

    def _advance(self, running: Running, dt_s: float | None) -> None:
        if running.routine is None:
            return
        try:
            # A generator takes None first, then the seconds of one step at a time.
            stage = next(running.routine) if dt_s is None else running.routine.send(dt_s)
            phase, progress, running.steady_s = stage
            running.status = PrimitiveStatus(phase, min(1.0, progress), None)
        except StopIteration as stop:
            result: PrimitiveResult = stop.value
            self._finish(running, result, early=False)

    def _end(self, handle: Handle, code: PrimitiveCode, text: str) -> None:
        running = self._primitives[handle]
        if running.routine is not None:
            running.routine.close()
        self._finish(running, PrimitiveResult(code, text), early=True)

    def _finish(self, running: Running, result: PrimitiveResult, *, early: bool) -> None:
        running.routine = None
        progress = 1.0 if result.succeeded else running.status.progress
        running.status = PrimitiveStatus("done", progress, result)
        self._current.pop(running.agent, None)
        self._on_ended(running.agent, early=early)

    def _end_all(self, code: PrimitiveCode, text: str) -> None:
        for handle in list(self._current.values()):
            self._end(handle, code, text)

    def _loaded(self) -> World:
        if self._world is None:
            raise PlannerError("no episode is loaded")
        return self._world


# What stepped simulators without pictures share: what an agent can do, and what it senses.


class PlanarAgent(Protocol):
    """An agent's body on the floor of `map`."""

    @property
    def body(self) -> Body:
        """What its kind of body is like."""

    @property
    def x_m(self) -> float:
        """Metres in `map`."""

    @property
    def y_m(self) -> float:
        """Metres in `map`."""

    @property
    def yaw_rad(self) -> float:
        """Heading in `map`."""


class PicturelessBackend(SteppedBackend[World]):
    """A simulator that says what agents see instead of rendering it; odometry is exact.

    Attributes:
        world_words: what has no pictures, such as "a graph".
        able: the primitives of this world.
        sees_far: whether what agents see at all they see from any distance, not as a camera does.
    """

    world_words: ClassVar[str]
    able: ClassVar[frozenset[str]]
    sees_far: ClassVar[bool] = False

    @abstractmethod
    def _agent(self, name: str) -> PlanarAgent:
        """See `SteppedBackend`."""

    @abstractmethod
    def _is_holding(self, agent: str) -> bool:
        """Whether an agent holds anything."""

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent's body can do in this world; it has no cameras."""
        body = self._agent(agent).body
        return body.capabilities(
            ground_truth=True, primitives=self.able.intersection(body.primitives), cameras=()
        )

    def observe(self, agent: str, cameras: Sequence[str] = ()) -> Observation:
        """The agent's pose, and whether it holds something.

        Raises:
            PlannerError: for an unknown agent, or any camera: there are no pictures.
        """
        who = self._agent(agent)
        if cameras:
            words = f"{self.world_words} has no pictures"
            raise PlannerError(f"{agent} has no camera {cameras[0]!r}: {words}")
        base = _base(who)
        holding = self._is_holding(agent)
        return Observation(
            stamp_s=self.now_s(),
            agent=agent,
            base=base,
            odometry=base,
            linear_m_s=0.0,
            angular_rad_s=0.0,
            hand=Pose(who.body.hand_m),
            joints={},
            gripper_opening=0.0 if holding else 1.0,
            holding=holding,
            cameras={},
        )

    @staticmethod
    def _in_map(who: PlanarAgent, primitive: Primitive) -> tuple[Vec3, Vec3 | None, float]:
        """Target, reference and heading of an agent's primitive in `map`."""
        on_base = primitive.frame.endswith("/base_link")
        return in_map(primitive, _base(who) if on_base else None)


def _base(who: PlanarAgent) -> Pose:
    return Pose.planar(who.x_m, who.y_m, who.yaw_rad)
