"""Compares our evaluator's predicates with a simulator's own geometry, on the same states."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from planner.bench.geometric_judge import GeometricJudge
from planner.bench.parity import carried_out, script, spread, truth
from planner.evaluation.predicates import is_in_room, is_inside, is_next_to, is_on_floor, on_top_of
from planner.evaluation.scene import Scene
from planner.world.agents import default_bodies
from planner.world.errors import PlannerError
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind, EntityKind, Relation
from sim_bridge.backend import Backend
from sim_bridge.geometry import GeometrySource
from sim_bridge.opening import bare_episode

ON_TOP, ON_TOP_ALL = "is_on_top, first on a ray", "is_on_top, all on a ray"
INSIDE, ON_FLOOR = "is_inside", "is_on_floor"
IN_ROOM, NEXT_TO = "is_in_room", "is_next_to"
ROWS = (ON_TOP, ON_TOP_ALL, INSIDE, ON_FLOOR, IN_ROOM, NEXT_TO)
# What changes relations; the states after others are not compared again.
_CHANGES = frozenset(
    (PrimitiveName.PICK, PrimitiveName.PLACE, PrimitiveName.OPEN, PrimitiveName.CLOSE)
)
_EXAMPLES = 3
# So many things of a house are laid on its floor, and as many into its furniture.
_MOVED = 6
# From so far away a thing is laid on the floor.
_BESIDE_M = 0.7


@dataclass(slots=True)
class Agreement:
    """How often two judges say the same of one predicate, over all arguments in all states.

    Attributes:
        differing: arguments of which they differed in a state, with who held it true.
    """

    both: int = 0
    neither: int = 0
    only_ours: int = 0
    only_geometry: int = 0
    differing: dict[str, str] = field(default_factory=dict)

    def add(self, arguments: str, ours: bool, geometry: bool) -> None:
        """Counts one pair of answers."""
        if ours == geometry:
            self.both += ours
            self.neither += not ours
            return
        self.only_ours += ours
        self.only_geometry += geometry
        self.differing[arguments] = "ours" if ours else "geometry"

    @property
    def share(self) -> float:
        """The share of equal answers where either holds the predicate true; 1 if none does."""
        told = self.both + self.only_ours + self.only_geometry
        return self.both / told if told else 1.0


@dataclass(slots=True)
class JudgesParity:
    """The comparison in one house."""

    house: str
    states: int = 0
    things: int = 0
    rows: dict[str, Agreement] = field(default_factory=lambda: {name: Agreement() for name in ROWS})

    def add(self, source: GeometrySource, scene: Scene) -> None:
        """Compares all things of one state."""
        judge = GeometricJudge(source, scene)
        things = [e.name for e in scene.entities.values() if e.kind is EntityKind.OBJECT]
        furniture = [e.name for e in scene.entities.values() if e.kind is EntityKind.FURNITURE]
        self.states += 1
        self.things = max(self.things, len(things))
        for thing in things:
            others = [name for name in (*furniture, *things) if name != thing]
            ours, (first, every) = on_top_of(scene, thing), judge.below(thing)
            around = judge.around(thing)
            for other in others:
                self._add(ON_TOP, (thing, other), other in ours, other in first)
                self._add(ON_TOP_ALL, (thing, other), other in ours, other in every)
                inside = is_inside(scene, thing, other)
                self._add(INSIDE, (thing, other), inside, other in around)
            self._add(ON_FLOOR, (thing,), is_on_floor(scene, thing), judge.on_floor(thing))
            for room in judge.rooms:
                within = is_in_room(scene, thing, room)
                self._add(IN_ROOM, (thing, room), within, judge.in_room(thing, room))
        for one, other in _pairs(things, furniture):
            near = is_next_to(scene, one, other)
            self._add(NEXT_TO, (one, other), near, judge.next_to(one, other))

    def _add(self, row: str, arguments: Sequence[str], ours: bool, geometry: bool) -> None:
        self.rows[row].add(", ".join(arguments), ours, geometry)


def _pairs(things: Sequence[str], furniture: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from itertools.combinations(things, 2)
    yield from itertools.product(things, furniture)


def compare_judges(backend: Backend, house: House, seed: int) -> JudgesParity:
    """Lets a robot move things and open furniture, and compares in each changed state.

    Raises:
        PlannerError: if the simulator cannot load the house, or its geometry cannot be asked.
    """
    if not isinstance(backend, GeometrySource):
        raise PlannerError("this simulator's geometry cannot be asked")
    backend.reset(house, bare_episode(house, 1), seed)
    parity = JudgesParity(house.name)
    state = truth(backend)
    parity.add(backend, Scene(house, state.entities))
    later = moves(house, partial(truth, backend))
    for primitive in itertools.chain(script(house, state)[0], later):
        changed = carried_out(backend, primitive).succeeded and primitive.name in _CHANGES
        if changed:
            parity.add(backend, Scene(house, truth(backend).entities))
    return parity


def moves(house: House, state: Callable[[], WorldState]) -> Iterator[Primitive]:
    """Lays things on the floor and into furniture, of which a house has few at the beginning.

    `state` is asked for where a thing is when its turn comes.
    """
    places: list[tuple[Vec3, Vec3, Relation]] = []
    floor = FloorGrid.of(house, default_bodies()[AgentKind.ROBOT].radius_m).free_points_m
    for x, y in spread(floor.tolist(), _MOVED):
        away_m = np.hypot(*(floor - (x, y)).T)
        beside = floor[np.argmin(np.abs(away_m - _BESIDE_M))].tolist()
        places.append(((beside[0], beside[1], 0.0), (x, y, 0.0), Relation.ON))
    hollows = [(piece, hollow) for piece in house.furniture for hollow in piece.interiors]
    for piece, hollow in spread(hollows, _MOVED):
        for joint in piece.joints:
            handle = piece.pose.apply(joint.handle)
            yield Primitive(PrimitiveName.NAVIGATE, handle)
            yield Primitive(PrimitiveName.OPEN, handle)
        within_m = piece.pose.apply(hollow.center)
        places.append((within_m, within_m, Relation.WITHIN))
    # A house with few things has the same one in several places, one after the other.
    things = spread([item.name for item in house.objects], len(places))
    for name, (stand_m, place_m, relation) in zip(itertools.cycle(things), places, strict=False):
        thing_m = state().entities[name].box.center_m
        yield Primitive(PrimitiveName.NAVIGATE, thing_m)
        yield Primitive(PrimitiveName.PICK, thing_m)
        yield Primitive(PrimitiveName.NAVIGATE, stand_m)
        yield Primitive(PrimitiveName.PLACE, place_m, relation=relation)


def judges_lines(parity: JudgesParity, backend: str) -> Iterable[str]:
    """The comparison of one house as a table, with some of what differs."""
    yield f"{parity.house} on {backend}: {parity.states} states, {parity.things} things"
    yield f"  {'predicate':28}{'both':>8}{'neither':>9}{'ours':>8}{'geometry':>10}{'agree':>9}"
    for name, row in parity.rows.items():
        counts = f"{row.both:8}{row.neither:9}{row.only_ours:8}{row.only_geometry:10}"
        yield f"  {name:28}{counts}{100 * row.share:8.1f}%"
    for name, row in parity.rows.items():
        for arguments, who in list(row.differing.items())[:_EXAMPLES]:
            yield f"  {name} [{arguments}]: only by {who}"
