"""The graph world behind the bridge's `Backend` protocol."""

from __future__ import annotations

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.field_of_view import sightings
from planner.world.hands import held_things
from planner.world.house import House
from planner.world.observation import Sighting
from planner.world.primitive import Primitive
from sim_bridge.graph.options import GraphOptions, default_graph_options
from sim_bridge.graph.routines import ABLE, Act, routine
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import Agent, GraphWorld
from sim_bridge.pictureless import PicturelessBackend
from sim_bridge.stepped import Routine


class GraphBackend(PicturelessBackend[GraphWorld]):
    """Nodes and edges; see `sim_bridge.backend.Backend`. It has no pictures."""

    world_words = "a graph"
    able = ABLE

    def __init__(self, options: GraphOptions | None = None) -> None:
        """Uses the shipped settings by default."""
        self._durations = (options or default_graph_options()).durations
        super().__init__(self._durations.default_timeout)

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; a failed load changes nothing."""
        start = start_of(house, episode, default_catalogue())
        self._load(GraphWorld(start, episode, seed))

    # Sensing

    def _is_holding(self, agent: str) -> bool:
        return bool(held_things(self._agent(agent).hands))

    def sightings_now(self, agent: str) -> list[Sighting]:
        """What the agent sees, by its field of view."""
        self._agent(agent)
        return sightings(self._loaded().snapshot(), agent)

    # Acting

    def _routine(self, agent: str, primitive: Primitive) -> Routine:
        who = self._agent(agent)
        points = self._in_map(who, primitive)
        return routine(Act(self._loaded(), who, primitive, *points, self._durations))

    def _agent(self, name: str) -> Agent:
        return self._loaded().agent(name)
