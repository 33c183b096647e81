"""What a camera would see, determined by rays instead of a picture.

For runs without images: a few points of each box in the frustum are tested, and its share of the
image is estimated from the projected box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.world.geometry import Box
from planner.world.observation import Sighting
from sim_bridge.embedded.box_view import (
    NOTHING_HIDDEN,
    BoxRows,
    BoxView,
    Hit,
    Limits,
    Query,
    lens_of,
)
from sim_bridge.embedded.entities import Agent, Stance, Thing
from sim_bridge.embedded.scene import Scene
from sim_bridge.embedded.screens import Screens, contains
from sim_bridge.embedded.world import KinematicWorld


class Visibility:
    """The boxes of everything in a world, kept up to date, and views of them.

    A row is a thing, a piece of furniture or an agent.
    """

    def __init__(self, world: KinematicWorld, scene: Scene, screens: Screens | None = None) -> None:
        """Takes every box of the world of a scene, and if known what walls hide."""
        self._world, self._screens = world, screens
        pieces, agents = list(world.pieces.values()), list(world.agents.values())
        self._lenses = {a.name: lens_of(a.body.cameras["hand"]) for a in agents}
        self._names = [*world.things, *world.pieces, *world.agents]
        self._rows = {name: row for row, name in enumerate(self._names)}
        self._all = np.arange(len(self._names), dtype=np.intp)
        sizes = [thing.size_m for thing in world.things.values()]
        sizes += [piece.record.size_m for piece in pieces]
        # A body is slimmer than the disc that it needs.
        sizes += [(r, r, a.body.height_m) for a in agents for r in (1.2 * a.body.radius_m,)]
        self._halves = np.array(sizes, float).reshape(-1, 3) / 2
        self._nowhere = 0 if screens is None else len(screens.regions)
        self._boxes = self._no_boxes(len(agents))
        self._view = BoxView(self._boxes, scene)
        self._places: dict[str, tuple[float, float, float, float]] = {}
        # Each agent's last query.
        self._queries: dict[str, tuple[Sequence[str], Query]] = {}
        self._missed: dict[str, tuple[tuple[object, ...], Sequence[str], bool]] = {}
        self._scenery = -1
        for piece in pieces:
            record = piece.record
            half_m = record.size_m[2] / 2
            self._put(record.name, (record.x_m, record.y_m, half_m, record.yaw_rad))
            if screens is not None:
                self._boxes.regions[self._rows[record.name]] = screens.index[record.name]

    def _no_boxes(self, agents: int) -> BoxRows:
        count = len(self._names)
        instances = [self._world.entity(name).instance_id for name in self._names]
        return BoxRows(
            halves_m=self._halves,
            # A centre may be outside the picture by half of its box's diagonal.
            slacks_m=0.5 * np.linalg.norm(self._halves, axis=1),
            may_show=np.ones(count, np.bool_),
            regions=np.full(count, self._nowhere, np.intp),
            instances=np.array(instances, np.int32),
            agents_from=count - agents,
        )

    def sightings(
        self, agent: Agent, max_distance_m: float, min_fraction: float = 0.0
    ) -> list[Sighting]:
        """The things, furniture and agents in an agent's hand camera, nearest first.

        Args:
            agent: the observer.
            max_distance_m: horizontal distance beyond which only other agents are reported.
            min_fraction: minimum share of the view; only what certainly has less is left out.
        """
        self._follow()
        query = Query.of(self._all, self._rows[agent.name])
        self._glance(agent, agent.stance, query, Limits(max_distance_m, min_fraction))
        return self._sightings(self._view.met(agent.name))

    def sightings_among(
        self, agent: Agent, names: Sequence[str], max_distance_m: float, min_fraction: float
    ) -> list[Sighting]:
        """The part of `sightings` about some entities and what those are on or in."""
        self._follow_scenery()
        self._follow_hands()
        query, limits = self._query(agent, names), Limits(max_distance_m, min_fraction)
        if not self._glance(agent, agent.stance, query, limits):
            return []
        view, things = self._view, self._world.things
        in_view = view.in_view
        found = view.met(agent.name)
        if not found:
            return []
        parents = {things[n].parent for n in map(self._names.__getitem__, in_view) if n in things}
        under = [r for r in map(self._rows.get, parents) if r is not None and r not in in_view]
        if under:
            beneath = Query.of(np.array(under, np.intp), query.own)
            self._glance(agent, agent.stance, beneath, limits)
            found += view.met(agent.name)
        return self._sightings(found)

    def surely_sees_none(
        self, agent: Agent, stance: Stance, names: Sequence[str], limits: Limits
    ) -> bool:
        """Whether an agent at a future stance certainly sees none of some entities.

        That is, as long as only agents and what they hold move until then: rays pass through those,
        so their positions do not matter. `names` must not include them.
        """
        agents = self._world.agents.values()
        held = tuple(self._rows[t.name] for a in agents for t in self._world.carried_by(a))
        key = (stance, self._world.scenery_revision, held, limits)
        known = self._missed.get(agent.name)
        # The result is unchanged while the agent stands still.
        if known is None or known[0] != key or known[1] is not names:
            missed = self._search_stance(agent, stance, names, held, limits)
            known = self._missed[agent.name] = (key, names, missed)
        return known[2]

    def _search_stance(
        self,
        agent: Agent,
        stance: Stance,
        names: Sequence[str],
        held: tuple[int, ...],
        limits: Limits,
    ) -> bool:
        self._follow_scenery()
        if not self._glance(agent, stance, self._query(agent, names), limits):
            return True
        found = self._view.met(agent.name, np.array(held, np.intp))
        return all(met.fraction < limits.min_fraction for met in found)

    def _glance(self, agent: Agent, stance: Stance, query: Query, limits: Limits) -> int:
        """Looks through an agent's hand camera at a stance; returns the number of candidates."""
        # The hand swings around the body's vertical axis, as the body itself turns.
        heading = stance.yaw_rad + stance.pan_rad
        c, s = math.cos(heading), math.sin(heading)
        x, y, z = agent.body.cameras["hand"].position_m
        x, y = stance.x_m + x * c - y * s, stance.y_m + x * s + y * c
        hidden = NOTHING_HIDDEN if self._screens is None else self._screens.flags_from(x, y)
        lens = self._lenses[agent.name]
        return self._view.glance(lens, (x, y, z), heading, stance.tilt_rad, query, hidden, limits)

    def _query(self, agent: Agent, names: Sequence[str]) -> Query:
        """The rows of some names, cached as names are often the same."""
        known = self._queries.get(agent.name)
        if known is None or known[0] is not names:
            rows = np.array([self._rows[name] for name in names], np.intp)
            known = self._queries[agent.name] = (names, Query.of(rows, self._rows[agent.name]))
        return known[1]

    def _sightings(self, found: list[Hit]) -> list[Sighting]:
        """Rows hit by rays as sightings, nearest first."""
        sightings = [
            Sighting(
                self._names[row], fraction, distance_m, pixel, self._places[self._names[row]][:3]
            )
            for row, fraction, distance_m, pixel in found
        ]
        return sorted(sightings, key=lambda s: (s.distance_m, s.name))

    # Updates

    def _follow(self) -> None:
        """Updates the boxes of everything that moved."""
        self._follow_scenery()
        for agent in self._world.agents.values():
            height_m = agent.body.height_m
            self._put(agent.name, (agent.x_m, agent.y_m, height_m / 2, agent.yaw_rad))
        self._follow_hands()

    def _follow_scenery(self) -> None:
        world = self._world
        if self._scenery == world.scenery_revision:
            return
        self._scenery = world.scenery_revision
        for thing in world.things.values():
            if self._put(thing.name, (*thing.center_m, thing.yaw_rad)):
                self._boxes.regions[self._rows[thing.name]] = self._region(thing)
            self._boxes.may_show[self._rows[thing.name]] = not world.is_enclosed(thing)

    def _follow_hands(self) -> None:
        # Carried things are not part of the scenery.
        for agent in self._world.agents.values():
            for thing in self._world.carried_by(agent):
                self._put(thing.name, (*thing.center_m, thing.yaw_rad))
                row = self._rows[thing.name]
                self._boxes.regions[row] = self._nowhere

    def _region(self, thing: Thing) -> int:
        """The region that a thing is entirely in: its furniture's, else its room's, else none."""
        if self._screens is None:
            return self._nowhere
        box = Box.around(thing.center_m, thing.size_m, thing.yaw_rad)
        for name in (self._world.base_of(thing).parent, thing.room or ""):
            number = self._screens.index.get(name)
            if number is not None and contains(self._screens.regions[number], box):
                return number
        return self._nowhere

    def _put(self, name: str, place: tuple[float, float, float, float]) -> bool:
        """Moves a box's centre to x, y, z of the map with a yaw; returns whether it moved."""
        if self._places.get(name) == place:
            return False
        self._places[name] = place
        self._view.place(self._rows[name], place)
        return True
