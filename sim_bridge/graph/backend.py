"""The graph world behind the bridge's `Backend` protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from planner.world.agents import is_enclosed, sightings, sightings_of
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.files import FileModel, read_model
from planner.world.geometry import Box, Pose, Vec3
from planner.world.house import House
from planner.world.observation import Sighting
from planner.world.person import refuse_people
from planner.world.primitive import Primitive
from planner.world.share import config_dir
from planner.world.vocabulary import held_things
from sim_bridge.embedded.options import Durations
from sim_bridge.graph.routines import ABLE, Act, routine
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import Agent, GraphWorld, reach_of, stance_after
from sim_bridge.stepped import PicturelessBackend, Routine

# The settings of the backend `graph` (config/graph.yaml).


class GraphOptions(FileModel):
    """All settings of the backend."""

    version: Literal[1] = 1
    durations: Durations = Durations()


@lru_cache(maxsize=1)
def default_graph_options() -> GraphOptions:
    """The shipped settings."""
    return read_model(config_dir() / "graph.yaml", GraphOptions)


# A minute at 30 Hz.
MAX_LEAP_STEPS = 1800


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
        refuse_people(episode.title, episode.people, "the graph world")
        start = start_of(house, episode, default_catalogue())
        self._load(GraphWorld(start, episode, seed))

    # Several steps as one

    def foresee(self, seconds: float) -> None:
        """Does nothing: motions are straight, however long."""

    def steady_steps(self, dt_s: float, working: Collection[str]) -> int:
        """The number of steps that may be taken as one, because agents only continue what they do.

        Agents do not hinder each other here, so it ends with the first part of a motion that ends.

        Args:
            dt_s: of one step.
            working: agents that are running a primitive; if the body of one does nothing, its next
                step decides what comes.
        """
        if any(name not in self._current for name in working):
            return 1
        now_s, steps = self._loaded().time_s, MAX_LEAP_STEPS
        for handle in self._current.values():
            running = self._primitives[handle]
            left_s = min(running.steady_s, running.ends_s - 1e-9 - now_s)
            steps = min(steps, math.ceil(left_s / dt_s - 1e-6))
        return max(1, steps)

    def moves_things(self) -> bool:
        """Always False: what is held has no place of its own, and things open at once."""
        return False

    def moves_agents(self) -> bool:
        """Whether an agent is walking or turning, with what it holds."""
        return any(who.course is not None for who in self._loaded().agents.values())

    def reach(self, dt_s: float, steps: int) -> dict[str, Box]:
        """Boxes that contain the ways of all agents' centres, and of what they hold."""
        world, seconds = self._loaded(), dt_s * steps
        return {
            name: box
            for who in world.agents.values()
            for name, box in reach_of(world, who, seconds)
        }

    @property
    def revision(self) -> int:
        """Increases with every change, also of where agents are."""
        return self._loaded().revision

    @property
    def handled_revision(self) -> int:
        """The same, except for things that only move with their holder."""
        return self._loaded().handled_revision

    # Sensing

    def _is_holding(self, agent: str) -> bool:
        return bool(held_things(self._agent(agent).hands))

    def sightings_now(self, agent: str) -> list[Sighting]:
        """What the agent sees, by its field of view."""
        self._agent(agent)
        return list(sightings(self._loaded().snapshot(), agent))

    def sightings_among(self, agent: str, names: Collection[str]) -> Iterator[Sighting]:
        """What the agent sees of some entities, in their order."""
        return sightings(self._loaded().snapshot(), agent, names)

    @property
    def is_idle(self) -> bool:
        """Whether no agent is doing anything."""
        return not self._current

    def looks_seeing_none(
        self, names: Collection[str], seconds: Sequence[float], shows: Callable[[Sighting], bool]
    ) -> int:
        """How many looks of agents on their courses show none of some entities before one may.

        Args:
            names: of the entities.
            seconds: when all agents look, from now, in order.
            shows: whether a sighting counts.
        """
        world = self._loaded()
        agents = tuple(world.agents.values())
        looks = [[stance_after(world, who, after_s) for who in agents] for after_s in seconds]
        rooms = {at.room for look in looks for at in look}
        entities = world.snapshot().entities
        near = [name for name in names if entities[name].room in rooms]
        near = [name for name in near if not is_enclosed(entities[name], entities)]
        for count, look in enumerate(looks if near else ()):
            for who, at in zip(agents, look, strict=True):
                pose = Pose.planar(at.x_m, at.y_m, at.yaw_rad)
                viewer = replace(entities[who.name], pose=pose, room=at.room)
                if any(map(shows, sightings_of(viewer, entities, near))):
                    return count
        return len(seconds)

    def predicted_position(self, agent: str, seconds: float) -> tuple[Vec3, float, bool]:
        """`localised_position` some seconds from now, if the agent goes on with what it does."""
        at = stance_after(self._loaded(), self._agent(agent), seconds)
        return (at.x_m, at.y_m, 0.0), at.yaw_rad, self._is_holding(agent)

    def localised_position(self, agent: str) -> tuple[Vec3, float, bool]:
        """Position and heading in `map`, and whether the agent holds anything: cheap `observe`."""
        who = self._agent(agent)
        return (who.x_m, who.y_m, 0.0), who.yaw_rad, self._is_holding(agent)

    # Acting

    def _routine(self, agent: str, primitive: Primitive) -> Routine:
        who = self._agent(agent)
        points = self._in_map(who, primitive)
        return routine(Act(self._loaded(), who, primitive, *points, self._durations))

    def _agent(self, name: str) -> Agent:
        return self._loaded().agent(name)
