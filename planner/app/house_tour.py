"""A full tour of a house in this process, and the true classes of what is seen on it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner.app.in_process_world import BackendPort
from planner.memory.maps.occupancy import CAMERA, OccupancyMap, OccupancyOptions
from planner.memory.part import Truth
from planner.skills.executor import SkillExecutor
from planner.tour.route import LOOK_TILT_RAD, plan_route
from planner.world.agents import default_bodies
from planner.world.belief import Belief
from planner.world.episode import AgentPlacement, Episode
from planner.world.errors import PlannerError
from planner.world.floor_grid import FloorGrid
from planner.world.floor_map import FREE, FloorMap
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.observation import Observation
from planner.world.primitive import Primitive, PrimitiveName
from planner.world.skill import SkillCall, SkillResult
from planner.world.vocabulary import AgentKind, EntityKind
from sim_bridge.backend import Backend, Handle
from sim_bridge.embedded.backend import EmbeddedBackend

AGENT = "agent_0"
STEP_S = 1 / 30
# EPM captures one image in ten steps (EPM-1.1).
STEPS_A_LOOK = 10
_VIEWS_RAD = ((1.0, LOOK_TILT_RAD), (0.0, LOOK_TILT_RAD), (-1.0, LOOK_TILT_RAD))


def tour_episode(house: House, kind: AgentKind = AgentKind.ROBOT) -> Episode:
    """An episode without a task: the house as it is, with one agent."""
    return Episode(
        version=1,
        episode_id=f"tour_{house.name}",
        house=house.name,
        instruction="",
        agents=(AgentPlacement(uid=AGENT, kind=kind),),
        objects=house.objects,
        people=house.people,
    )


def tour(backend: Backend, house: House, *, pieces: bool = True) -> Iterator[Observation]:
    """Walks through the house and yields the hand camera's observations, every ten steps.

    Args:
        backend: with an episode of the house loaded.
        house: its layout.
        pieces: whether to walk up to each piece of furniture; otherwise only to the rooms.

    Raises:
        PlannerError: if the agent does not start on free floor.
    """
    clock = _Clock(backend)
    yield backend.observe(AGENT)
    for primitive in _primitives(backend, house, pieces):
        yield from clock.do(primitive)


class _Clock:
    """Advances time while a primitive runs, and observes every ten steps."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._steps = 0

    def do(self, primitive: Primitive) -> Iterator[Observation]:
        handle = Handle(self._backend.start(AGENT, primitive))
        while not self._backend.poll(handle).done:
            self._backend.step(STEP_S)
            self._steps += 1
            if self._steps % STEPS_A_LOOK == 0:
                yield self._backend.observe(AGENT)


def _primitives(backend: Backend, house: House, pieces: bool) -> Iterator[Primitive]:
    """The places to go to and look at, room by room."""
    start = backend.observe(AGENT, ()).base.position_m
    grid = FloorGrid.of(house, default_bodies()[AgentKind.ROBOT].radius_m)
    route = plan_route(house, grid, (start[0], start[1]), len(house.rooms))
    if not route:
        raise PlannerError(f"{house.name}: no room can be reached")
    for stop in route:
        for heading in (stop.yaw_rad, stop.yaw_rad + math.pi):
            yield Primitive(PrimitiveName.NAVIGATE, (stop.x_m, stop.y_m, 0.0), heading_rad=heading)
            yield Primitive(PrimitiveName.LOOK, views_rad=_VIEWS_RAD)
        if pieces:
            yield from _pieces(house, stop.room, (stop.x_m, stop.y_m))


def _pieces(house: House, room: str, from_m: tuple[float, float]) -> Iterator[Primitive]:
    """The furniture of a room that can hold things, always the nearest next."""
    left = [p for p in house.furniture if p.room == room and (p.surfaces or p.interiors)]
    here = from_m
    while left:
        piece = min(left, key=lambda p: (math.dist(here, (p.x_m, p.y_m)), p.name))
        left.remove(piece)
        here = (piece.x_m, piece.y_m)
        middle = (piece.x_m, piece.y_m, _height(piece))
        yield Primitive(PrimitiveName.NAVIGATE, middle)
        yield Primitive(PrimitiveName.LOOK, middle)


def _height(piece: Furniture) -> float:
    """The height to look at: the highest surface."""
    return max((surface.center[2] for surface in piece.surfaces), default=piece.size_m[2] / 2)


# The classes of a simulator's instance ids, for memory updaters that use ground truth.


class TrueClasses:
    """Looks ids up in the world's state, each one once."""

    def __init__(self, truth: Truth) -> None:
        """`truth` returns the current state."""
        self._truth = truth
        self._known: dict[int, str | None] = {}

    def of(self, instance: int) -> str | None:
        """The class of an object; None for furniture and unknown ids."""
        if instance not in self._known and (state := self._truth()) is not None:
            things = [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
            self._known.update({e.instance_id: e.class_name for e in things})
            self._known.setdefault(instance, None)
        return self._known.get(instance)

    def forget(self) -> None:
        """Clears the cache, for another world."""
        self._known.clear()


# Explores an unknown house in this process, and compares the built map with the true floor.


@dataclass(frozen=True, slots=True)
class Survey:
    """What exploring one house has come to.

    Attributes:
        result: of the skill.
        floor: the built map at the end.
        path_m: where the robot was at each picture.
        coverage: share of the reachable true floor that the map shows as free.
        agreement: share of the floor that the map lets the robot stand on where it truly can.
        walked_m: metres.
        seconds: on the world's clock.
        pictures: depth images in the map.
    """

    result: SkillResult
    floor: FloorMap
    path_m: tuple[Vec3, ...]
    coverage: float
    agreement: float
    walked_m: float
    seconds: float
    pictures: int


def survey(
    backend: EmbeddedBackend, house: House, options: OccupancyOptions | None = None
) -> Survey:
    """Puts a robot into a house and lets it explore until it ends by itself.

    The skill is given neither rooms nor furniture, only the map that the robot builds.

    Raises:
        PlannerError: if the backend has no pictures.
    """
    backend.reset(house, tour_episode(house), 0)
    capabilities = backend.capabilities(AGENT)
    built = OccupancyMap(backend.observe(AGENT, ()).base.position_m, options)
    path: list[Vec3] = []
    taken: list[float] = []

    def look() -> None:
        seen = backend.observe(AGENT, (CAMERA,))
        path.append(seen.base.position_m)
        if CAMERA in seen.cameras:
            built.stand(seen.base.position_m, capabilities.radius_m)
            built.update(seen.cameras[CAMERA], seen.stamp_s)
            taken.append(seen.stamp_s)

    look()
    unknown = house.model_copy(update={"objects": (), "furniture": (), "doors": ()})
    executor = SkillExecutor(
        unknown, BackendPort(backend, AGENT), lambda: Belief(0.0, 0, {}), floor=built.floor
    )
    result = executor.start(SkillCall("ExploreHouse", ()))
    steps = 0
    while result is None:
        backend.step(STEP_S)
        steps += 1
        if steps % STEPS_A_LOOK == 0:
            look()
        result = executor.step()
    floor = built.floor()
    coverage, agreement = compared(house, floor, path[0], capabilities.radius_m)
    walked_m = sum(math.dist(a, b) for a, b in pairwise(path))
    return Survey(
        result, floor, tuple(path), coverage, agreement, walked_m, backend.now_s(), len(taken)
    )


def compared(house: House, floor: FloorMap, start_m: Vec3, radius_m: float) -> tuple[float, float]:
    """Coverage and agreement of a built map, as in `Survey`, by the true layout."""
    true = FloorGrid.of(house, radius_m)
    label = true.component(start_m[0], start_m[1])
    reachable = np.flatnonzero(true.components == label)
    points = [true.point(int(cell)) for cell in reachable]
    covered = sum(floor.at((x, y, 0.0)) == FREE for x, y in points)
    walkable = floor.walkable(radius_m)
    here = walkable.nearest_free(start_m[0], start_m[1], within_m=1.0)
    if here is None or not points:
        return 0.0, 0.0
    stood = np.flatnonzero(walkable.components == walkable.components.flat[here])
    right = sum(true.is_free(*walkable.point(int(cell))) for cell in stood)
    return covered / len(points), right / max(1, len(stood))
