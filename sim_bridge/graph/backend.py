"""The graph world behind the bridge's `Backend` protocol."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.field_of_view import sightings
from planner.world.geometry import Pose, Vec3
from planner.world.hands import held_things
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.state import WorldState
from sim_bridge.backend import Handle
from sim_bridge.graph.options import GraphOptions, default_graph_options
from sim_bridge.graph.routines import ABLE, Act, Routine, routine
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import Agent, GraphWorld
from sim_bridge.refusals import refusal_of


@dataclass(slots=True)
class _Running:
    """A running primitive, or its end."""

    agent: str
    routine: Routine | None
    ends_s: float
    status: PrimitiveStatus


class GraphBackend:
    """Nodes and edges; see `sim_bridge.backend.Backend`. It has no pictures."""

    simulated = True

    def __init__(self, options: GraphOptions | None = None) -> None:
        """Uses the shipped settings by default."""
        self._options = options or default_graph_options()
        self._world: GraphWorld | None = None
        self._primitives: list[_Running] = []
        self._current: dict[str, Handle] = {}

    # Episodes and time

    @property
    def agents(self) -> tuple[str, ...]:
        """The loaded episode's agents."""
        return tuple(self._world.agents) if self._world is not None else ()

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; a failed load changes nothing."""
        start = start_of(house, episode, default_catalogue())
        world = GraphWorld(start, episode, seed)
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
        world = self._loaded()
        world.time_s += dt_s
        world.steps += 1
        for name in world.agents:
            handle = self._current.get(name)
            if handle is not None:
                running = self._primitives[handle]
                self._advance(running, dt_s)
                if not running.status.done and world.time_s >= running.ends_s - 1e-9:
                    self._end(handle, PrimitiveCode.TIMED_OUT, "took too long")

    def close(self) -> None:
        """Stops every agent."""
        self._end_all(PrimitiveCode.STOPPED, "the world was closed")

    # Sensing

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent's body can do in a graph world; it has no cameras."""
        body = self._agent(agent).body
        return body.capabilities(
            ground_truth=True, primitives=ABLE.intersection(body.primitives), cameras=()
        )

    def observe(self, agent: str, cameras: Sequence[str] = ()) -> Observation:
        """The agent's pose and the state of its hand.

        Raises:
            PlannerError: for an unknown agent, or any camera: there are no pictures.
        """
        who = self._agent(agent)
        if cameras:
            raise PlannerError(f"{agent} has no camera {cameras[0]!r}: a graph has no pictures")
        base = Pose.planar(who.x_m, who.y_m, who.yaw_rad)
        holding = bool(held_things(who.hands))
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

    def sightings_now(self, agent: str) -> list[Sighting]:
        """What the agent sees, by its field of view."""
        self._agent(agent)
        return sightings(self._loaded().snapshot(), agent)

    def world_state(self) -> WorldState | None:
        """Ground truth, or None before the first episode."""
        return self._world.snapshot() if self._world is not None else None

    # Acting

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive; a refusal is its polled result."""
        handle = Handle(len(self._primitives))
        refusal = self._refusal(agent, primitive)
        if refusal is not None:
            ended = PrimitiveStatus("refused", 0.0, refusal)
            self._primitives.append(_Running(agent, None, 0.0, ended))
            return handle
        world = self._loaded()
        who = world.agents[agent]
        target_m, reference_m, heading_rad = _in_map(who, primitive)
        durations = self._options.durations
        act = Act(world, who, primitive, target_m, reference_m, heading_rad, durations)
        ends_s = world.time_s + (primitive.timeout_s or durations.default_timeout)
        running = _Running(agent, routine(act), ends_s, PrimitiveStatus("starting", 0.0, None))
        self._primitives.append(running)
        self._current[agent] = handle
        self._advance(running, None)
        return handle

    def _refusal(self, agent: str, primitive: Primitive) -> PrimitiveResult | None:
        if self._world is None:
            return PrimitiveResult(PrimitiveCode.NO_WORLD, "no episode is loaded")
        who = self._world.agents.get(agent)
        if who is None:
            return PrimitiveResult(PrimitiveCode.UNKNOWN_AGENT, f"there is no agent {agent!r}")
        return refusal_of(agent, self.capabilities(agent), primitive, busy=agent in self._current)

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """The status of a primitive."""
        if not 0 <= handle < len(self._primitives):
            raise PlannerError(f"this world gave out no primitive {handle}")
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

    # Details

    def _advance(self, running: _Running, dt_s: float | None) -> None:
        if running.routine is None:
            return
        try:
            # A generator takes None first, then the seconds of one step at a time.
            stage = next(running.routine) if dt_s is None else running.routine.send(dt_s)
            running.status = PrimitiveStatus(stage[0], min(1.0, stage[1]), None)
        except StopIteration as stop:
            self._current.pop(running.agent, None)
            result: PrimitiveResult = stop.value
            progress = 1.0 if result.succeeded else running.status.progress
            running.status = PrimitiveStatus("done", progress, result)
            running.routine = None

    def _end(self, handle: Handle, code: PrimitiveCode, text: str) -> None:
        running = self._primitives[handle]
        if running.routine is not None:
            running.routine.close()
        running.routine = None
        self._current.pop(running.agent, None)
        progress = running.status.progress
        running.status = PrimitiveStatus("ended", progress, PrimitiveResult(code, text))

    def _end_all(self, code: PrimitiveCode, text: str) -> None:
        for handle in list(self._current.values()):
            self._end(handle, code, text)

    def _loaded(self) -> GraphWorld:
        if self._world is None:
            raise PlannerError("no episode is loaded")
        return self._world

    def _agent(self, name: str) -> Agent:
        return self._loaded().agent(name)


def _in_map(who: Agent, primitive: Primitive) -> tuple[Vec3, Vec3 | None, float]:
    """Target, reference and heading of a primitive in the map frame; odometry is exact here."""
    target, reference, heading = primitive.target_m, primitive.reference_m, primitive.heading_rad
    if not primitive.frame.endswith("/base_link"):
        return target, reference, heading
    base = Pose.planar(who.x_m, who.y_m, who.yaw_rad)
    return (
        base.apply(target),
        None if reference is None else base.apply(reference),
        heading + who.yaw_rad,
    )
