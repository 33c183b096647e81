"""What simulators in kinematic mode share behind the `Backend` protocol.

State, rules and time are `KinematicWorld`'s. A subclass adds rendering and ray casting.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence

from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Box, Pose
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.primitive import Capabilities, Primitive
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.entities import Agent, Localised
from sim_bridge.embedded.options import Noise, WorldOptions
from sim_bridge.embedded.people_acting import advance_persons
from sim_bridge.embedded.prediction import (
    carried_bounds,
    moving_furniture_bounds,
    predicted_stance,
    undisturbed_s,
)
from sim_bridge.embedded.primitive_routines import RoutineContext, routine
from sim_bridge.embedded.sensing import Images, Rays, View, observation
from sim_bridge.embedded.walking import Courtesy, make_way
from sim_bridge.embedded.world import MAX_STEP_S, KinematicWorld
from sim_bridge.geometry import Ray, in_map
from sim_bridge.stepped import Routine, SteppedBackend

MAX_LEAP_STEPS = 180


class KinematicBackend(SteppedBackend[KinematicWorld]):
    """One episode's world, its agents and their primitives; see `sim_bridge.backend.Backend`."""

    # Whether pictures have instance ids.
    draws_instances = True

    def __init__(self, options: WorldOptions) -> None:
        super().__init__(options.durations.default_timeout)
        noise = options.noise_with_sensors()
        self._options = options.model_copy(update={"noise": noise})
        # Checked at every step: comparing models is slow.
        self._is_noisy = noise != Noise() or not options.sensors.is_perfect
        self._catalogue = default_catalogue()
        # With the time for which each continues unchanged.
        self._courtesies: dict[str, tuple[Courtesy, float]] = {}
        self._no_need_to_move: dict[str, list[tuple[object, ...]]] = {}
        # Agents whose primitive or making way ended in the last step.
        self._became_idle: set[str] = set()

    # Implemented by subclasses

    @abstractmethod
    def _new_world(self, house: House, episode: Episode, seed: int) -> KinematicWorld:
        """The episode's initial state.

        Raises:
            PlannerError: if house and episode do not match.
        """

    @abstractmethod
    def _on_loaded(self, house: House) -> None:
        """Called when `_new_world`'s world has become the loaded one."""

    @abstractmethod
    def _rays(self) -> Rays:
        """Ray casting in the current world."""

    @abstractmethod
    def _crossed(self, rays: Sequence[Ray], far_m: float) -> list[list[int]]:
        """The instances that each ray enters; see `GeometrySource.crossed`."""

    @abstractmethod
    def _drawer(self, cameras: Sequence[str]) -> Callable[[View], Images]:
        """The renderer of the current world.

        Raises:
            PlannerError: naming the cameras, if there is no renderer.
        """

    # Episodes

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; a failed load changes nothing."""
        world = self._new_world(house, episode, seed)
        self._load(world)
        self._courtesies.clear()
        self._no_need_to_move.clear()
        self._became_idle.clear()
        self._on_loaded(house)

    # Geometry

    @property
    def floor_step_m(self) -> float:
        """See `sim_bridge.geometry.GeometrySource`."""
        return 0.0

    def crossed(self, rays: Sequence[Ray], far_m: float) -> list[tuple[str, ...]]:
        """See `sim_bridge.geometry.GeometrySource`."""
        world = self._loaded()
        names = {world.entity(name).instance_id: name for name in (*world.pieces, *world.things)}
        found = self._crossed(rays, far_m)
        return [tuple(names[instance] for instance in hit if instance in names) for hit in found]

    def off_floor_m(self, x_m: float, y_m: float) -> float:
        """See `sim_bridge.geometry.GeometrySource`."""
        radius_m = default_bodies()[AgentKind.ROBOT].radius_m
        return self._loaded().ground.off_m(radius_m, (x_m, y_m))

    # Sensing

    @property
    def sensors_json(self) -> str:
        """How the sensors err; see `sim_bridge.backend.SensorSource`."""
        return self._options.sensors.model_dump_json()

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent's body can do."""
        return self._agent(agent).body.capabilities(ground_truth=True, drives=True)

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """What the agent senses now."""
        body = self._agent(agent)
        draw = self._drawer(cameras) if cameras else None
        told = self.draws_instances
        return observation(self._loaded(), body, cameras, draw, instances=told)

    @property
    def is_noisy(self) -> bool:
        """Whether sensing and acting are random."""
        return self._is_noisy

    def localised_position(self, agent: str) -> Localised:
        """Where an agent is by its own localisation, and whether it holds something.

        As in `observe`, in a fraction of the time.
        """
        body = self._agent(agent)
        if self._is_noisy:
            sensed = self.observe(agent, ())
            return Localised(sensed.base.position_m, sensed.base.yaw_rad, sensed.holding)
        holds = body.holding is not None
        return Localised((body.x_m, body.y_m, 0.0), body.yaw_rad, holds)

    def predicted_position(self, agent: str, seconds: float) -> Localised:
        """The same in the future, before the last of the steps that may be taken as one.

        Raises:
            PlannerError: if the world is noisy.
        """
        if self._is_noisy:
            raise PlannerError("where an agent will be localised is random in this world")
        body = self._agent(agent)
        stance = predicted_stance(body, seconds)
        holds = body.holding is not None
        return Localised((stance.x_m, stance.y_m, 0.0), stance.yaw_rad, holds)

    # Acting

    def _routine(self, agent: str, primitive: Primitive) -> Routine:
        world, body = self._loaded(), self._agent(agent)
        self._courtesies.pop(agent, None)
        body.remaining_path = []
        body.busy = True
        target_m, reference_m, heading_rad = in_map(primitive, _frame(body, primitive))
        context = RoutineContext(
            world=world,
            rays=self._rays,
            agent=body,
            primitive=primitive,
            target_m=target_m,
            reference_m=reference_m,
            heading_rad=heading_rad,
            stream=(world.seed, 2, len(self._primitives)),
        )
        return routine(context)

    def stop(self, agent: str) -> None:
        """Stops an agent at once."""
        super().stop(agent)
        self._courtesies.pop(agent, None)
        self._halt(agent)

    def steady_steps(self, dt_s: float, working: Collection[str]) -> int:
        """The number of steps that may be taken as one, because agents only continue what they do.

        Nobody comes near another, no primitive ends before the last of the steps, and no furniture
        moves.

        Args:
            dt_s: of one step.
            working: agents that are running a primitive; if the body of one does nothing, its next
                step decides what comes.
        """
        idle = self._became_idle.difference(self._current)
        if idle or any(name not in self._current for name in working):
            # Agents that moved before these assumed that they would continue.
            return 1
        world, steps = self._loaded(), MAX_LEAP_STEPS
        if world.walks:
            # Persons decide at every step where they go.
            return 1
        for _, steady_s in self._courtesies.values():
            steps = min(steps, math.ceil(steady_s / dt_s - 1e-6))
        for handle in self._current.values():
            running = self._primitives[handle]
            left_s = min(running.steady_s, running.ends_s - 1e-9 - world.time_s)
            steps = min(steps, math.ceil(left_s / dt_s - 1e-6))
        if steps > 1 and len(world.agents) > 1:
            steps = math.ceil(undisturbed_s(world.agents.values(), steps * dt_s) / dt_s - 1e-6)
        return max(1, steps)

    def foresee(self, seconds: float) -> None:
        """Limits the length of steps of this episode: nothing beyond is predicted."""
        self._loaded().foresight_s = min(seconds, MAX_STEP_S)

    def moves_things(self) -> bool:
        """Whether a thing is being carried, or something opens or closes."""
        world = self._loaded()
        held = any(agent.held for agent in world.agents.values())
        return held or bool(world.opening or world.walks)

    def moves_agents(self) -> bool:
        """Always False: where agents are is judged when things change, and at the end."""
        return False

    def reach(self, dt_s: float, steps: int) -> dict[str, Box]:
        """Boxes in which everything that moves stays for steps that may be taken as one.

        That is things in hands and in drawers; furniture that is opened or closed stays in the box
        around everything that it contains and reaches.
        """
        world = self._loaded()
        boxes: dict[str, Box] = {}
        for agent in world.agents.values():
            if not agent.is_still:
                boxes.update(carried_bounds(world, agent, dt_s * steps))
        for name, joint in world.opening:
            boxes.update(moving_furniture_bounds(world, world.pieces[name], joint))
        return boxes

    @property
    def revision(self) -> int:
        """Increases with every change of things and furniture."""
        return self._loaded().moved_revision

    @property
    def handled_revision(self) -> int:
        """The same without things that only move with their holder."""
        return self._loaded().handled_revision

    def leap(self, dt_s: float, steps: int) -> None:
        """Takes as many steps as `steady_steps` allows, or fewer, at once."""
        world = self._loaded()
        world.is_leaping = steps > 1
        super().leap(dt_s, steps)
        world.is_leaping = False

    # Details

    def _pass(self, last_s: float, dt_s: float) -> None:
        self._became_idle.clear()
        super()._pass(last_s, dt_s)
        advance_persons(self._loaded(), dt_s)

    def _on_ended(self, agent: str, *, early: bool) -> None:
        self._became_idle.add(agent)
        self._agent(agent).busy = False
        if early:
            self._halt(agent)

    def _idle(self, agent: str, dt_s: float) -> None:
        agents = self._loaded().agents
        if len(agents) > 1:
            self._make_way(agents[agent], dt_s)

    def _make_way(self, agent: Agent, dt_s: float) -> None:
        courtesy = self._courtesies.get(agent.name)
        try:
            if courtesy is None:
                world = self._loaded()
                if not any(o.remaining_path for o in world.agents.values()):
                    return
                stands = [(o.x_m, o.y_m, *o.remaining_path) for o in world.agents.values()]
                if self._no_need_to_move.get(agent.name) == stands:
                    # Nobody moved, because there was no need or no room to step aside.
                    return
                made = make_way(world, agent)
                self._no_need_to_move[agent.name] = stands
                next(made)
                del self._no_need_to_move[agent.name]
                courtesy = (made, 0.0)
            self._courtesies[agent.name] = (courtesy[0], courtesy[0].send(dt_s))
        except StopIteration:
            if self._courtesies.pop(agent.name, None) is not None:
                self._became_idle.add(agent.name)

    def _halt(self, agent: str) -> None:
        body = self._loaded().agents[agent]
        body.linear_m_s = body.angular_rad_s = 0.0
        body.remaining_path = []

    def _agent(self, name: str) -> Agent:
        agent = self._loaded().agents.get(name)
        if agent is None:
            known = ", ".join(self.agents)
            raise PlannerError(f"there is no agent {name!r}; there are {known}")
        return agent


def _frame(agent: Agent, primitive: Primitive) -> Pose | None:
    """The pose in the map of a primitive's frame; None for the map itself."""
    if primitive.frame == "map":
        return None
    frame = Pose.planar(agent.x_m, agent.y_m, agent.yaw_rad)
    if primitive.frame.endswith("/odom"):
        dx, dy, dyaw = agent.odometry_drift
        odometry = Pose.planar(agent.x_m + dx, agent.y_m + dy, agent.yaw_rad + dyaw)
        frame = frame.compose(odometry.inverse())
    return frame
