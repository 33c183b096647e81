"""`planner bench parity`: whether two simulators agree, also on PARTNR's relations."""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

import cv2
import numpy as np

from planner.bench.parity import (
    Pixels,
    carried_out,
    compare_backends,
    make_pair,
    parity_lines,
    script,
    spread,
    truth,
)
from planner.evaluation.predicates import (
    IN_ROOM_SHARE,
    INSIDE_RAY_M,
    ON_FLOOR_M,
    is_in_room,
    is_inside,
    is_next_to,
    is_on_floor,
    on_top_of,
)
from planner.evaluation.scene import RAISED_M, Scene
from planner.world.agents import default_bodies
from planner.world.errors import FileError, PlannerError
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import AgentKind, EntityKind, Relation
from sim_bridge.backend import BACKENDS, Backend, Drawn, make_backend
from sim_bridge.geometry import GeometrySource, Ray
from sim_bridge.opening import bare_episode

# PARTNR's relations as habitat-lab computes them: by rays through a simulator's geometry.
#
# Our evaluator judges boxes (`planner.evaluation.predicates`, PARTNR-D8 to PARTNR-D11). Here are
# the rules of the public code beside the paper's (PARTNR-3.1), so that both can be compared on the
# same states (PARTNR-D63).

# What is farther below than this is not looked for.
_FAR_M = 100.0
# More corners than this have to be between walls of one body, unless the middle is.
_VOTES = 2
_PADDING_M = 0.1
_NEXT_TO_M = 0.5
_DOWN: Vec3 = (0.0, 0.0, -1.0)
_AXES: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class GeometricJudge:
    """One state of a simulator's world, judged by its own geometry.

    Attributes:
        source: the simulator, in this state.
        scene: the same state; only boxes and room volumes are taken from it.
    """

    source: GeometrySource
    scene: Scene

    def below(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        """What rays straight down from the middle and the corners of an entity enter.

        Returns:
            What is first on a ray, and everything on one: the public `above` takes the second. For
            the first they begin 1 cm higher (PARTNR-D9): a ray from a corner that has sunk into
            what the entity lies on does not enter that, and meets what lies in a drawer below it.
        """
        points = self.key_points(name)
        raised = [(x, y, z + RAISED_M) for x, y, z in points]
        first = frozenset(hit[0] for hit in self._down(raised, name) if hit)
        return first, frozenset(itertools.chain.from_iterable(self._down(points, name)))

    def _down(self, points: Iterable[Vec3], name: str) -> list[list[str]]:
        """What a ray straight down from each point enters, other than the entity."""
        hits = self.source.crossed([Ray(point, _DOWN) for point in points], _FAR_M)
        return [[other for other in hit if other != name] for hit in hits]

    def around(self, name: str) -> frozenset[str]:
        """What an entity is within: opposite rays of 1 m, along an axis of the map, both enter it.

        Those of the middle suffice; of the corners it takes three.
        """
        points = self.key_points(name)
        rays = [
            Ray(point, (sign * x, sign * y, sign * z))
            for point in points
            for x, y, z in _AXES
            for sign in (1.0, -1.0)
        ]
        hits = iter(self.source.crossed(rays, INSIDE_RAY_M))
        between = [
            {other for _ in _AXES for other in set(next(hits)) & set(next(hits))} for _ in points
        ]
        votes = Counter(itertools.chain.from_iterable(between[1:]))
        found = between[0] | {other for other, count in votes.items() if count > _VOTES}
        return frozenset(found - {name})

    def on_floor(self, name: str) -> bool:
        """Whether the nearest floor for a robot is as near to the middle as half the height.

        0.04 m more are allowed, and half of the floor's resolution in height.
        """
        entity = self._entity(name)
        x, y, z = self._middle(entity)
        away_m = math.hypot(self.source.off_floor_m(x, y), z)
        spare_m = ON_FLOOR_M + self.source.floor_step_m / 2
        return away_m - entity.size_m[2] / 2 <= spare_m

    def in_room(self, name: str, room: str) -> bool:
        """Whether a quarter of the middle and the corners is in the room's volume."""
        points = self.key_points(name)
        within = sum(self.scene.in_room(point, room) for point in points)
        return within >= IN_ROOM_SHARE * len(points)

    def next_to(self, one: str, other: str) -> bool:
        """Whether two entities overlap in height, with 0.1 m to spare, and are 0.5 m apart.

        Their distance is that of their middles, less the size of each in that direction.
        """
        a, b = self._entity(one), self._entity(other)
        (low_a, high_a), (low_b, high_b) = _heights(a), _heights(b)
        if high_a + _PADDING_M < low_b or high_b + _PADDING_M < low_a:
            return False
        (ax, ay, _), (bx, by, _) = self._middle(a), self._middle(b)
        apart_m = math.hypot(bx - ax, by - ay)
        if apart_m == 0.0:
            return True
        towards = ((bx - ax) / apart_m, (by - ay) / apart_m)
        return apart_m - _reach_m(a, towards) - _reach_m(b, towards) <= _NEXT_TO_M

    def key_points(self, name: str) -> tuple[Vec3, ...]:
        """The middle of an entity's own box, which is turned with it, then its eight corners."""
        entity = self._entity(name)
        x, y, z = entity.size_m
        corners = itertools.product((-x / 2, x / 2), (-y / 2, y / 2), (0.0, z))
        return (self._middle(entity), *(entity.pose.apply(corner) for corner in corners))

    def _middle(self, entity: EntityState) -> Vec3:
        return entity.pose.apply((0.0, 0.0, entity.size_m[2] / 2))

    def _entity(self, name: str) -> EntityState:
        return self.scene.entities[name]

    @cached_property
    def rooms(self) -> tuple[str, ...]:
        """The names of the house's rooms."""
        return tuple(room.name for room in self.scene.house.rooms)


def _heights(entity: EntityState) -> tuple[float, float]:
    low = entity.pose.position_m[2]
    return low, low + entity.size_m[2]


def _reach_m(entity: EntityState, towards: tuple[float, float]) -> float:
    """How far an entity reaches from its middle: an ellipse in its box."""
    yaw = entity.pose.yaw_rad
    x = towards[0] * math.cos(yaw) + towards[1] * math.sin(yaw)
    y = towards[1] * math.cos(yaw) - towards[0] * math.sin(yaw)
    return math.hypot(x * entity.size_m[0] / 2, y * entity.size_m[1] / 2)


# Compares our evaluator's predicates with a simulator's own geometry, on the same states.

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


_MAX_DEPTH_M = 8.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("houses", nargs="+", metavar="HOUSE", help="names or files")
    parts = BACKENDS.usable()
    other = next((name for name, part in parts.items() if part.shows_datasets), None)
    parser.add_argument("--a", default="embedded", choices=sorted(parts), help="a simulator")
    parser.add_argument(
        "--b",
        default=other,
        required=other is None,
        choices=sorted(parts),
        help="another one; default: one that shows data sets (%(default)s)",
    )
    for which in ("a", "b"):
        parser.add_argument(
            f"--{which}-config",
            default="",
            metavar="FILE",
            help=f"settings of --{which}; default: the shipped",
        )
    parser.add_argument(
        "--judges",
        action="store_true",
        help="compare our evaluator's predicates with each simulator's own geometry instead",
    )
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--pictures", type=Path, help="folder for each house's worst pictures")


def run(args: argparse.Namespace) -> int:
    """Compares in each house; 0 only if the simulators agree in all."""
    names, alike = (args.a, args.b), 0
    houses = [load_house(name) for name in args.houses]
    if args.judges:
        asked = dict.fromkeys(((args.a, args.a_config), (args.b, args.b_config)))
        return _compare_judges(houses, tuple(asked), args.seed)
    first, second = make_pair(
        partial(make_backend, args.a, args.a_config), partial(make_backend, args.b, args.b_config)
    )
    try:
        for house in houses:
            parity = compare_backends(first, second, house, args.seed)
            print("\n".join(parity_lines(parity, names)), flush=True)
            alike += not parity.different
            if args.pictures:
                _write(args.pictures / f"{house.name}.png", parity.pixels)
    finally:
        first.close()
        second.close()
    print(f"at par in {alike} of {len(houses)} houses")
    return 0 if alike == len(houses) else 1


def _compare_judges(houses: Sequence[House], asked: Sequence[tuple[str, str]], seed: int) -> int:
    """Prints a table for each simulator and house; always 0, as it is a measurement.

    `asked` are pairs of a simulator and its file of settings.
    """
    with ExitStack() as opened:
        backends = []
        for name, settings in asked:
            backend = make_backend(name, settings, Drawn(pictures=False))
            opened.callback(backend.close)
            if not isinstance(backend, GeometrySource):
                raise PlannerError(f"--judges: the geometry of {name} cannot be asked")
            # One that is missing is told before the first table.
            backend.reset(houses[0], bare_episode(houses[0], 1), seed)
            backends.append(backend)
        for house in houses:
            for (name, _), backend in zip(asked, backends, strict=True):
                compared = compare_judges(backend, house, seed)
                print("\n".join(judges_lines(compared, name)), flush=True)
    return 0


def _write(path: Path, pixels: Pixels) -> None:
    """Writes colour and depth of the worst pair, the first simulator above the second."""
    if pixels.worst is None:
        return
    rows = []
    for frame in pixels.worst:
        depth = np.clip(frame.depth_m / _MAX_DEPTH_M * 255, 0, 255).astype(np.uint8)
        ids = np.asarray(frame.instances)
        labels = np.stack([ids * 37 % 256, ids * 91 % 256, ids * 151 % 256], -1).astype(np.uint8)
        rows.append(np.hstack([frame.rgb[..., ::-1], np.dstack([depth] * 3), labels]))
    path.parent.mkdir(parents=True, exist_ok=True)
    if not cv2.imwrite(str(path), np.vstack(rows)):
        raise FileError(path, "", "cannot be written")
