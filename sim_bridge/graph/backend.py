"""The graph world behind the bridge's `Backend` protocol."""

from __future__ import annotations

from collections.abc import Sequence

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.field_of_view import sightings
from planner.world.geometry import Pose
from planner.world.hands import held_things
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from planner.world.primitive import (
    Capabilities,
    Primitive,
)
from sim_bridge.frames import in_map
from sim_bridge.graph.options import GraphOptions, default_graph_options
from sim_bridge.graph.routines import ABLE, Act, routine
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import Agent, GraphWorld
from sim_bridge.stepped import Routine, SteppedBackend


class GraphBackend(SteppedBackend[GraphWorld]):
    """Nodes and edges; see `sim_bridge.backend.Backend`. It has no pictures."""

    def __init__(self, options: GraphOptions | None = None) -> None:
        """Uses the shipped settings by default."""
        self._durations = (options or default_graph_options()).durations
        super().__init__(self._durations.default_timeout)

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; a failed load changes nothing."""
        start = start_of(house, episode, default_catalogue())
        self._load(GraphWorld(start, episode, seed))

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

    # Acting

    def _routine(self, agent: str, primitive: Primitive) -> Routine:
        who = self._agent(agent)
        # Odometry is exact here.
        on_base = primitive.frame.endswith("/base_link")
        frame = Pose.planar(who.x_m, who.y_m, who.yaw_rad) if on_base else None
        points = in_map(primitive, frame)
        return routine(Act(self._loaded(), who, primitive, *points, self._durations))

    def _agent(self, name: str) -> Agent:
        return self._loaded().agent(name)
