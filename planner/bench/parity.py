"""Compares two simulators by the same camera path and the same scripted episode.

Uses only the `Backend` interface, so any two simulators of a house can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from pydantic import JsonValue

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Verdict
from planner.tour.route import LOOK_TILT_RAD, plan_route
from planner.world.agents import default_bodies
from planner.world.episode import AgentPlacement, Episode
from planner.world.errors import PlannerError
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import Pose, Vec3
from planner.world.house import Furniture, House
from planner.world.observation import CameraFrame
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind, Relation
from sim_bridge.backend import Backend

AGENT = "agent_0"
CAMERAS = ("hand", "body")
STEP_S = 1 / 30
DEPTH_M = 0.02
MIN_DEPTH_SHARE, MIN_LABEL_SHARE, MAX_DETOUR = 0.999, 0.99, 0.05
# Cameras this close count as one place; a pixel covers more.
_SAME_M, _SAME_RAD = 1e-3, 1e-3
_PANS_RAD = (0.9, 0.0, -0.9)
_THINGS, _JOINTS = 3, 3
# Range of distances between two agents that face each other.
_MET_M = (1.2, 2.2)
_TIMEOUT_S = 300.0
_Entry = TypeVar("_Entry")


@dataclass(slots=True)
class Pixels:
    """Agreement of two simulators' images, over all pixels of all frames from equal places.

    Attributes:
        frames: number of compared pairs; `elsewhere` counts pairs from different places.
        worst: the frame with the fewest equal depths or labels, of both simulators.
    """

    frames: int = 0
    elsewhere: int = 0
    pixels: int = 0
    same_depth: int = 0
    same_labels: int = 0
    worst_share: float = 1.0
    worst: tuple[CameraFrame, CameraFrame] | None = None

    def add(self, first: CameraFrame, second: CameraFrame) -> None:
        """Compares two frames."""
        if not _one_place(first.pose, second.pose):
            self.elsewhere += 1
            return
        near = np.abs(first.depth_m - second.depth_m) <= DEPTH_M
        # No depth equals only no depth.
        near &= (first.depth_m > 0) == (second.depth_m > 0)
        labels = np.asarray(first.instances) == np.asarray(second.instances)
        self.frames += 1
        self.pixels += near.size
        self.same_depth += int(near.sum())
        self.same_labels += int(labels.sum())
        share = min(float(near.mean()), float(labels.mean()))
        if share < self.worst_share:
            self.worst_share, self.worst = share, (first, second)

    @property
    def depth_share(self) -> float:
        """The share of pixels whose depths are within 2 cm; 0 if nothing was compared."""
        return self.same_depth / self.pixels if self.pixels else 0.0

    @property
    def label_share(self) -> float:
        """The share of pixels that show the same entity; 0 if nothing was compared."""
        return self.same_labels / self.pixels if self.pixels else 0.0


@dataclass(frozen=True, slots=True)
class ComparedPrimitive:
    """A primitive of the script in both simulators."""

    primitive: Primitive
    results: tuple[PrimitiveResult, PrimitiveResult]

    @property
    def same(self) -> bool:
        """Whether both ended with the same result."""
        return self.results[0].code is self.results[1].code


@dataclass(frozen=True, slots=True)
class Parity:
    """The results for one house; pairs are of the first and the second simulator."""

    house: str
    pixels: Pixels
    primitives: tuple[ComparedPrimitive, ...]
    verdicts: tuple[Verdict, Verdict]
    walked_m: tuple[float, float]

    @property
    def same_verdict(self) -> bool:
        """Whether the evaluator's verdicts agree."""
        first, second = self.verdicts
        return (first.success, first.percent_complete) == (second.success, second.percent_complete)

    @property
    def detour(self) -> float:
        """The relative difference of the path lengths."""
        longest = max(self.walked_m)
        return abs(self.walked_m[0] - self.walked_m[1]) / longest if longest else 0.0

    @property
    def different(self) -> tuple[str, ...]:
        """The quantities that differ too much; empty if the simulators agree."""
        first, second = self.pixels, self.primitives
        found = {
            "depth": first.depth_share > MIN_DEPTH_SHARE,
            "labels": first.label_share > MIN_LABEL_SHARE,
            "codes": bool(second) and all(compared.same for compared in second),
            "verdict": self.same_verdict,
            "ways": self.detour <= MAX_DETOUR,
        }
        return tuple(what for what, holds in found.items() if not holds)


@dataclass(slots=True)
class _Body:
    """The agent in one simulator: its task is judged, its path is measured."""

    backend: Backend
    evaluator: Evaluator
    walked_m: float = 0.0
    at_m: Vec3 = field(default=(0.0, 0.0, 0.0))

    @staticmethod
    def ready(backend: Backend, house: House, episode: Episode, seed: int) -> _Body:
        """Starts an episode."""
        backend.reset(house, episode, seed)
        goal = read_evaluation(episode.evaluation or {}, episode.episode_id)
        body = _Body(backend, Evaluator(goal, house, truth(backend)))
        body.at_m = truth(backend).entities[AGENT].pose.position_m
        return body

    def do(self, primitive: Primitive) -> PrimitiveResult:
        """Carries out a primitive and measures the path."""
        return carried_out(self.backend, primitive, self._note)

    def _note(self, state: WorldState) -> None:
        at_m = state.entities[AGENT].pose.position_m
        self.walked_m += math.dist(at_m, self.at_m)
        self.at_m = at_m
        self.evaluator.update(state)


def carried_out(
    backend: Backend,
    primitive: Primitive,
    on_state: Callable[[WorldState], None] = lambda _state: None,
) -> PrimitiveResult:
    """Carries out a primitive of the robot; `on_state` is called after each step.

    Raises:
        PlannerError: if it does not end, or the world has no ground truth.
    """
    handle = backend.start(AGENT, primitive)
    for _ in range(round(_TIMEOUT_S / STEP_S)):
        result = backend.poll(handle).result
        if result is not None:
            return result
        backend.step(STEP_S)
        on_state(truth(backend))
    raise PlannerError(f"a {primitive.name} did not end in {_TIMEOUT_S:.0f} s")


def compare_backends(first: Backend, second: Backend, house: House, seed: int) -> Parity:
    """Carries out the same script in both and compares.

    Raises:
        PlannerError: if one of them cannot load the house, or has no ground truth.
    """
    first.reset(house, _alone(house, None), seed)
    # Starting positions are not compared, so both start where the first one does.
    pose = truth(first).entities[AGENT].pose
    carrying, destinations = script(house, truth(first))
    episode = _alone(house, (*pose.position_m[:2], pose.yaw_rad), destinations)
    bodies = [_Body.ready(backend, house, episode, seed) for backend in (first, second)]
    one, other = bodies
    pixels, primitives = Pixels(), []
    for primitive in (*camera_path(house, pose.position_m), *carrying):
        primitives.append(ComparedPrimitive(primitive, (one.do(primitive), other.do(primitive))))
        _look(pixels, first, second)
    for episode in meetings(house, pose.position_m):
        for backend in (first, second):
            backend.reset(house, episode, seed)
        for agent in first.agents:
            _look(pixels, first, second, agent)
    return Parity(
        house.name,
        pixels,
        tuple(primitives),
        (one.evaluator.finish(), other.evaluator.finish()),
        (one.walked_m, other.walked_m),
    )


def _look(pixels: Pixels, first: Backend, second: Backend, agent: str = AGENT) -> None:
    seen = [backend.observe(agent, CAMERAS).cameras for backend in (first, second)]
    for camera in CAMERAS:
        pixels.add(seen[0][camera], seen[1][camera])


def truth(backend: Backend) -> WorldState:
    """The true state of a backend's world.

    Raises:
        PlannerError: if the backend does not know it.
    """
    state = backend.world_state()
    if state is None:
        raise PlannerError("a world without ground truth cannot be compared")
    return state


def camera_path(house: House, start_m: Vec3) -> Iterator[Primitive]:
    """Through every room that can be reached, looking in all directions."""
    grid = FloorGrid.of(house, default_bodies()[AgentKind.ROBOT].radius_m)
    for stop in plan_route(house, grid, (start_m[0], start_m[1]), len(house.rooms)):
        for heading in (stop.yaw_rad, stop.yaw_rad + math.pi):
            yield Primitive(PrimitiveName.NAVIGATE, (stop.x_m, stop.y_m, 0.0), heading_rad=heading)
            for pan in _PANS_RAD:
                yield Primitive(PrimitiveName.LOOK, views_rad=((pan, LOOK_TILT_RAD),))


def meetings(house: House, start_m: Vec3) -> Iterator[Episode]:
    """In every room that can be reached: a robot and a person facing each other."""
    grid = FloorGrid.of(house, default_bodies()[AgentKind.ROBOT].radius_m)
    for stop in plan_route(house, grid, (start_m[0], start_m[1]), len(house.rooms)):
        near = [grid.point(int(cell)) for cell in grid.free_within(stop.x_m, stop.y_m, _MET_M[1])]
        apart = [(math.dist(point, (stop.x_m, stop.y_m)), point) for point in near]
        in_room = [found for found in apart if house.room_at(*found[1]) == stop.room]
        fit = [point for gap_m, point in in_room if gap_m >= _MET_M[0]]
        if not fit:
            continue
        x, y = fit[len(fit) // 2]
        yaw = math.atan2(y - stop.y_m, x - stop.x_m)
        episode = _alone(house, (stop.x_m, stop.y_m, yaw))
        partner = AgentPlacement(uid="agent_1", kind=AgentKind.HUMAN, start=(x, y, yaw + math.pi))
        yield episode.model_copy(update={"agents": (*episode.agents, partner)})


def script(house: House, state: WorldState) -> tuple[list[Primitive], Mapping[str, str]]:
    """Objects to move to other furniture, furniture to open, and calls that must be refused.

    Returns:
        The primitives, and the final furniture of each moved object.
    """
    pieces = house.furniture_by_name
    lying = [o for o in house.objects if o.relation is Relation.ON and o.parent in pieces]
    tops = [p for p in house.furniture if p.surfaces]
    primitives = [
        Primitive(PrimitiveName.PLACE, (0.0, 0.0, 1.0), f"{AGENT}/base_link", Relation.ON),
        Primitive(PrimitiveName.PICK, (0.6, 0.0, 1.2), f"{AGENT}/base_link"),
    ]
    destinations = {}
    for number, item in enumerate(spread(lying, _THINGS)):
        others = [piece for piece in tops if piece.name != item.parent]
        if not others:
            continue
        top = others[(7 * number + 3) % len(others)]
        primitives += _carried(state.entities[item.name].box.center_m, _on_top(top))
        destinations[item.name] = top.name
    for piece in spread([p for p in house.furniture if p.joints], _JOINTS):
        handle = piece.pose.apply(piece.joints[0].handle)
        primitives += [
            Primitive(PrimitiveName.NAVIGATE, handle),
            Primitive(PrimitiveName.OPEN, handle),
            Primitive(PrimitiveName.LOOK, handle),
            Primitive(PrimitiveName.CLOSE, handle),
        ]
    for piece in spread([p for p in tops if not p.joints], 1):
        primitives += [
            Primitive(PrimitiveName.NAVIGATE, _on_top(piece)),
            Primitive(PrimitiveName.OPEN, _on_top(piece)),
        ]
    return primitives, destinations


def spread(items: Sequence[_Entry], count: int) -> list[_Entry]:
    """`count` of the items, spread evenly over them."""
    stride = max(1, len(items) // max(1, count))
    return list(items[::stride][:count])


def _carried(thing_m: Vec3, top_m: Vec3) -> list[Primitive]:
    return [
        Primitive(PrimitiveName.NAVIGATE, thing_m),
        Primitive(PrimitiveName.PICK, thing_m),
        Primitive(PrimitiveName.NAVIGATE, top_m),
        Primitive(PrimitiveName.PLACE, top_m, relation=Relation.ON),
    ]


def _on_top(piece: Furniture) -> Vec3:
    return piece.pose.apply(max((s.center for s in piece.surfaces), key=lambda c: c[2]))


def _alone(
    house: House,
    start: tuple[float, float, float] | None,
    destinations: Mapping[str, str] | None = None,
) -> Episode:
    propositions: list[JsonValue] = [
        {
            "function_name": "is_on_top",
            "args": {"objects": [thing], "number": 1, "receptacles": [top]},
        }
        for thing, top in (destinations or {}).items()
    ]
    evaluation: dict[str, JsonValue] = {
        "propositions": propositions,
        "dependencies": [],
        "constraints": [],
    }
    return Episode(
        version=1,
        episode_id=f"parity-{house.name}",
        house=house.name,
        instruction="",
        agents=(AgentPlacement(uid=AGENT, kind=AgentKind.ROBOT, start=start),),
        objects=house.objects,
        evaluation=evaluation if propositions else None,
    )


def _one_place(first: Pose, second: Pose) -> bool:
    apart = math.dist(first.position_m, second.position_m)
    turned = float(np.abs(first.rotation() - second.rotation()).max())
    return apart <= _SAME_M and turned <= _SAME_RAD


def parity_lines(parity: Parity, names: tuple[str, str]) -> list[str]:
    """The comparison of one house as text."""
    pixels, (one, other) = parity.pixels, parity.walked_m
    unlike = [compared for compared in parity.primitives if not compared.same]
    verdicts = " / ".join(
        f"{'success' if v.success else 'no success'}, {100 * v.percent_complete:.0f} %"
        for v in parity.verdicts
    )
    done = sum(compared.results[0].code is PrimitiveCode.SUCCESS for compared in parity.primitives)
    count = len(parity.primitives)
    frames = f"{pixels.frames} of one place, {pixels.elsewhere} not; the worst agrees on "
    frames += f"{100 * pixels.worst_share:.2f} %"
    ways = f"{one:.2f} / {other:.2f} m, {100 * parity.detour:.1f} % apart"
    lines = [
        f"{parity.house}: {names[0]} / {names[1]}",
        f"  depth within 2 cm   {100 * pixels.depth_share:.3f} % of pixels  (more than 99.9 %)",
        f"  labels equal        {100 * pixels.label_share:.3f} % of pixels  (more than 99 %)",
        f"  frames              {frames}",
        f"  outcome codes       {count - len(unlike)} of {count} equal, {done} of them successes",
        f"  verdicts            {verdicts}",
        f"  ways                {ways}  (at most 5 %)",
    ]
    for compared in unlike:
        codes = " / ".join(f"{r.code.name} ({r.text})" for r in compared.results)
        target = ", ".join(f"{v:.2f}" for v in compared.primitive.target_m)
        lines.append(f"  unlike: {compared.primitive.name} at {target}: {codes}")
    found = parity.different
    lines.append(f"  {'at par' if not found else 'NOT at par: ' + ', '.join(found)}")
    return lines


def make_pair(
    make_first: Callable[[], Backend], make_second: Callable[[], Backend]
) -> tuple[Backend, Backend]:
    """Both backends; the first is closed if the second cannot be made."""
    first = make_first()
    try:
        return first, make_second()
    except PlannerError:
        first.close()
        raise
