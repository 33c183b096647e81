"""Floor plans with doors: generates many at random and keeps the most house-like one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.houses.room_program import Rect, RoomRule, Wall, Zone, outer_walls, shared_wall
from planner.world.errors import PlannerError

# Which rooms are joined by doors, and where in the shared wall each door is.

_CORNER_GAP_M = 0.2
_MIN_WIDTH_M = 0.9
_UNWANTED = 30.0
_HUB_FIRST = {Zone.PASSAGE: 0, Zone.PUBLIC: 1, Zone.PRIVATE: 2, Zone.SERVICE: 3}
# People avoid walking through a bedroom or a bathroom to reach another room.
_THROUGH_COST = {Zone.PASSAGE: 0.0, Zone.PUBLIC: 0.6, Zone.PRIVATE: 6.0, Zone.SERVICE: 12.0}


@dataclass(frozen=True, slots=True)
class DoorPlan:
    """An opening: one room and the outside, or two rooms; metres and radians of the map."""

    rooms: tuple[str, ...]
    center_m: tuple[float, float]
    yaw_rad: float
    width_m: float


@dataclass(frozen=True, slots=True)
class DoorTree:
    """The doors that connect every room, and how unlikely they are in a real house."""

    cost: float
    edges: list[tuple[str, str]]


def _usable_walls(rects: Mapping[str, Rect]) -> dict[tuple[str, str], Wall]:
    names = list(rects)
    walls = {}
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            wall = shared_wall(rects[a], rects[b])
            if wall is not None and wall.length >= _MIN_WIDTH_M + 2 * _CORNER_GAP_M - 1e-9:
                walls[a, b] = wall
    return walls


def connect(rects: Mapping[str, Rect], rules: Mapping[str, RoomRule]) -> DoorTree | None:
    """Grows a tree of doors from the hallway or living room, the most natural door first.

    Returns:
        None if some room shares no wall long enough for a door.
    """
    neighbours: dict[str, list[str]] = {name: [] for name in rects}
    for a, b in _usable_walls(rects):
        neighbours[a].append(b)
        neighbours[b].append(a)
    root = min(rects, key=lambda name: (_HUB_FIRST[rules[name].zone], -rects[name].area_m2))
    reached = [root]
    edges: list[tuple[str, str]] = []
    total = 0.0
    while len(reached) < len(rects):
        best = (math.inf, "", "")
        for parent in reached:
            for child in neighbours[parent]:
                if child not in reached:
                    best = min(best, (_door_cost(rules[parent], rules[child]), parent, child))
        if math.isinf(best[0]):
            return None
        total += best[0]
        edges.append((best[1], best[2]))
        reached.append(best[2])
    return DoorTree(total, edges)


def _door_cost(parent: RoomRule, child: RoomRule) -> float:
    """How unnatural it is to enter the child's room from the parent's."""
    if parent.room in child.entered_from:
        return child.entered_from[parent.room]
    return 1.0 + _THROUGH_COST[parent.zone] + (0.0 if child.entered_from == {} else 1.0)


def place_doors(
    rects: Mapping[str, Rect],
    rules: Mapping[str, RoomRule],
    edges: Sequence[tuple[str, str]],
    rng: np.random.Generator,
) -> tuple[DoorPlan, ...]:
    """Doors for the tree, and for further pairs of rooms that are often connected."""
    walls = _usable_walls(rects)
    joined = [pair if pair in walls else (pair[1], pair[0]) for pair in edges]
    for pair in walls:
        both_public = all(rules[name].zone is Zone.PUBLIC for name in pair)
        if pair not in joined and both_public and rng.random() < 0.6:
            joined.append(pair)
    doors = []
    for pair in joined:
        public = all(rules[name].zone in (Zone.PUBLIC, Zone.PASSAGE) for name in pair)
        doors.append(_door(pair, walls[pair], public, rng))
    return tuple(doors)


def _door(rooms: tuple[str, ...], wall: Wall, wide: bool, rng: np.random.Generator) -> DoorPlan:
    max_width = wall.length - 2 * _CORNER_GAP_M
    wished = float(rng.uniform(1.1, 1.4)) if wide else float(rng.uniform(0.9, 1.0))
    width = round(max(_MIN_WIDTH_M, min(max_width, wished)) - 1e-9, 2)
    low = wall.low + _CORNER_GAP_M + width / 2
    high = wall.high - _CORNER_GAP_M - width / 2
    spots = (low, high, (low + high) / 2)
    along = spots[int(rng.choice(3, p=(0.25, 0.25, 0.5) if wide else (0.42, 0.42, 0.16)))]
    along = round(min(max(along, low), high), 3)
    center = (along, wall.at) if wall.axis == "x" else (wall.at, along)
    return DoorPlan(rooms, center, 0.0 if wall.axis == "x" else math.pi / 2, width)


def entrance(
    rects: Mapping[str, Rect], rules: Mapping[str, RoomRule], doors: Sequence[DoorPlan]
) -> DoorPlan:
    """The front door, in the middle of an outer wall of the entrance room.

    Raises:
        PlannerError: if no room has an outer wall long enough.
    """
    order = sorted(rects, key=lambda name: (rules[name].entrance, -rects[name].area_m2))
    for name in order:
        others = [rect for other, rect in rects.items() if other != name]
        for wall in outer_walls(rects[name], others):
            if wall.length >= 1.0 + 2 * _CORNER_GAP_M:
                along = _clear_of_doors(wall, doors, name)
                center = (along, wall.at) if wall.axis == "x" else (wall.at, along)
                yaw = 0.0 if wall.axis == "x" else math.pi / 2
                return DoorPlan((name,), center, yaw, 1.0)
    raise PlannerError("no room has an outer wall for the entrance")


def _clear_of_doors(wall: Wall, doors: Sequence[DoorPlan], room: str) -> float:
    """The position nearest to an inner door, so that paths between doors are short."""
    low, high = wall.low + _CORNER_GAP_M + 0.5, wall.high - _CORNER_GAP_M - 0.5
    inner = [door.center_m for door in doors if room in door.rooms]
    spots = [round(spot, 3) for spot in (low, (low + high) / 2, high)]

    def nearest(along: float) -> float:
        point = (along, wall.at) if wall.axis == "x" else (wall.at, along)
        return min((math.dist(point, center) for center in inner), default=0.0)

    return min(spots, key=nearest)


_CANDIDATES = 36
_GRID_M = 0.1
_MAX_HUB_ROOMS = 7
_HALLWAY_WIDTH_M = (1.4, 1.8)
_BLOCK_SHARE = 0.38
_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class RoomSpec:
    """One room to lay out: at least `area_m2`, except hallways, which follow the plan."""

    name: str
    rule: RoomRule
    area_m2: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Room rectangles by name in the order of the specs, and the doors."""

    rooms: Mapping[str, Rect]
    doors: tuple[DoorPlan, ...]


def plan_layout(specs: Sequence[RoomSpec], rng: np.random.Generator) -> Plan:
    """The best of several random plans.

    Raises:
        PlannerError: if no plan had usable and connected rooms.
    """
    rules = {spec.name: spec.rule for spec in specs}
    best: tuple[float, dict[str, Rect], list[tuple[str, str]]] | None = None
    for _ in range(_CANDIDATES):
        rects = _draw(specs, rng)
        cost = _shape_cost(specs, rects)
        if best is not None and cost >= best[0]:
            continue
        tree = connect(rects, rules)
        if tree is None:
            continue
        cost += tree.cost
        if best is None or cost < best[0]:
            best = (cost, rects, tree.edges)
    if best is None or math.isinf(best[0]):
        names = ", ".join(spec.name for spec in specs)
        raise PlannerError(f"no floor plan was found for the rooms {names}")
    rects = _settle({spec.name: best[1][spec.name] for spec in specs}, rng)
    doors = place_doors(rects, rules, best[2], rng)
    return Plan(rects, (*doors, entrance(rects, rules, doors)))


def _draw(specs: Sequence[RoomSpec], rng: np.random.Generator) -> dict[str, Rect]:
    passages = [spec for spec in specs if spec.rule.zone is Zone.PASSAGE]
    others = [spec for spec in specs if spec.rule.zone is not Zone.PASSAGE]
    hub = not others or (not passages and len(others) <= _MAX_HUB_ROOMS)
    drawn = _hub_plan(specs, rng) if hub else _corridor_plan(passages, others, rng)
    return {name: _snapped(rect) for name, rect in drawn.items()}


def _snapped(rect: Rect) -> Rect:
    # Neighbours have exactly equal edges, so rounding cannot separate them.
    x0, y0, x1, y1 = (round(v / _GRID_M) * _GRID_M for v in (rect.x0, rect.y0, rect.x1, rect.y1))
    return Rect(round(x0, 3), round(y0, 3), round(x1, 3), round(y1, 3))


def _area(specs: Sequence[RoomSpec]) -> float:
    return sum(spec.area_m2 for spec in specs)


def _shuffled(specs: Sequence[RoomSpec], rng: np.random.Generator) -> list[RoomSpec]:
    return [specs[i] for i in rng.permutation(len(specs))]


def _hub_plan(specs: Sequence[RoomSpec], rng: np.random.Generator) -> dict[str, Rect]:
    """The largest public room (or else the largest) with columns of rooms left and right."""
    ranked = sorted(specs, key=lambda spec: (spec.rule.zone is not Zone.PUBLIC, -spec.area_m2))
    hub, rest = ranked[0], _shuffled(ranked[1:], rng)
    left = int(rng.integers(0, len(rest) // 2 + 1))
    height = math.sqrt(_area(specs) * float(rng.uniform(0.4, 1.5)))
    sides = [_stack(side, height) for side in (rest[:left], rest[left:]) if side]
    height = max(height, *(tall for _, tall, _ in sides)) if sides else height
    width = max(hub.area_m2 / height, hub.rule.min_side_m + 0.1)
    rects: dict[str, Rect] = {}
    x = 0.0
    for column, tall, wide in sides:
        rects |= {
            name: Rect(x, r.y0 * height / tall, x + wide, r.y1 * height / tall)
            for name, r in column.items()
        }
        x += wide
        if hub.name not in rects:
            rects[hub.name] = Rect(x, 0.0, x + width, height)
            x += width
    return rects or {hub.name: Rect(x, 0.0, x + width, height)}


def _stack(specs: Sequence[RoomSpec], height: float) -> tuple[dict[str, Rect], float, float]:
    """Rooms stacked in a column of about this height, with its height and width."""
    width = _area(specs) / height
    width = max([width, *(spec.rule.min_side_m + 0.1 for spec in specs)])
    rects: dict[str, Rect] = {}
    y = 0.0
    for spec in specs:
        shortest = max(spec.rule.min_side_m, width / spec.rule.max_aspect) + 0.1
        top = y + max(shortest, spec.area_m2 / width)
        rects[spec.name] = Rect(0.0, y, width, top)
        y = top
    return rects, y, width


def _column(specs: Sequence[RoomSpec], frame: Rect) -> dict[str, Rect]:
    """Rooms stacked from bottom to top of a frame, heights in proportion to areas."""
    rects: dict[str, Rect] = {}
    total, y = _area(specs), frame.y0
    for index, spec in enumerate(specs):
        last = index == len(specs) - 1
        top = frame.y1 if last else y + frame.depth * spec.area_m2 / total
        rects[spec.name] = Rect(frame.x0, y, frame.x1, top)
        y = top
    return rects


def _corridor_plan(
    passages: Sequence[RoomSpec], others: Sequence[RoomSpec], rng: np.random.Generator
) -> dict[str, Rect]:
    """Two rows of rooms along the hallway; the larger public rooms in a block at its end.

    The hallway lies between y = 0 and y = its width, from x = 0 to the right.
    """
    largest = max((w.area_m2 for w in others if w.rule.zone is Zone.PUBLIC), default=0.0)
    public = [
        spec
        for spec in others
        if spec.rule.zone is Zone.PUBLIC and spec.area_m2 > _BLOCK_SHARE * largest
    ]
    private = _shuffled([spec for spec in others if spec not in public], rng)
    while len(private) < 2 and len(public) > 1:
        private.append(public.pop(int(np.argmin([spec.area_m2 for spec in public]))))
    aisle = float(rng.uniform(*_HALLWAY_WIDTH_M))
    length = math.sqrt(_area(private)) * float(rng.uniform(0.85, 1.6))
    share = int(rng.integers(len(private) // 2, (len(private) + 1) // 2 + 1))
    below, below_end, below_depth = _row(private[:share], length, rng)
    above, above_end, above_depth = _row(private[share:], length, rng)
    rects = {name: Rect(r.x0, -r.y1, r.x1, -r.y0) for name, r in below.items()}
    rects |= {name: Rect(r.x0, r.y0 + aisle, r.x1, r.y1 + aisle) for name, r in above.items()}
    width = max(below_end, above_end) / max(1, len(passages))
    for index, spec in enumerate(passages):
        rects[spec.name] = Rect(index * width, 0.0, (index + 1) * width, aisle)
    if public:
        rects |= _public_block(public, -below_depth, aisle + above_depth, aisle, rng)
    return rects


def _public_block(
    public: Sequence[RoomSpec], low: float, high: float, aisle: float, rng: np.random.Generator
) -> dict[str, Rect]:
    """The public rooms left of the hallway, as deep as the house or as suits their area."""
    area, depth = _area(public), high - low
    best: tuple[float, dict[str, Rect]] = (math.inf, {})
    for _ in range(_BLOCKS):
        tall = depth if rng.random() < 0.5 else math.sqrt(area * float(rng.uniform(0.6, 1.8)))
        tall = max(tall, aisle + 0.1)
        bottom = low if rng.random() < 0.5 else high - tall
        bottom = min(max(bottom, aisle - tall), 0.0)
        rects = _sliced(public, Rect(-area / tall, bottom, 0.0, bottom + tall), rng)
        cost = _shape_cost(public, rects) + 0.15 * abs(tall - depth)
        if cost < best[0] or not best[1]:
            best = (cost, rects)
    return best[1]


def _row(
    specs: Sequence[RoomSpec], length: float, rng: np.random.Generator
) -> tuple[dict[str, Rect], float, float]:
    """Rooms from left to right on y = 0, with the row's length and depth.

    Two service rooms may share a column, one behind the other. The row is stretched if that brings
    it close to the given length.
    """
    if not specs:
        return {}, 0.0, 0.0
    depth = min(6.0, max(2.6, _area(specs) / length))
    columns: list[list[RoomSpec]] = []
    for spec in specs:
        last = columns[-1] if columns else []
        pair = len(last) == 1 and Zone.SERVICE is spec.rule.zone is last[0].rule.zone
        if pair and depth > last[0].rule.min_side_m + spec.rule.min_side_m and rng.random() < 0.7:
            last.append(spec)
        else:
            columns.append([spec])
    widths = [_column_width(column, depth) for column in columns]
    stretch = length / sum(widths)
    if 1.0 <= stretch <= 1.35:
        widths = [width * stretch for width in widths]
    rects: dict[str, Rect] = {}
    x = 0.0
    for column, width in zip(columns, widths, strict=True):
        rects |= _column(column, Rect(x, 0.0, x + width, depth))
        x += width
    return rects, x, depth


def _column_width(column: Sequence[RoomSpec], depth: float) -> float:
    width = max(_area(column) / depth, max(spec.rule.min_side_m for spec in column))
    return max(width, depth / column[0].rule.max_aspect + 0.1) if len(column) == 1 else width


def _sliced(specs: Sequence[RoomSpec], frame: Rect, rng: np.random.Generator) -> dict[str, Rect]:
    """A random slicing of a frame, with areas proportional to the specs."""
    if len(specs) == 1:
        return {specs[0].name: frame}
    order = _shuffled(specs, rng)
    cut = int(rng.integers(1, len(order)))
    first, second = order[:cut], order[cut:]
    share = _area(first) / _area(order)
    along_x = frame.width > frame.depth if rng.random() < 0.75 else frame.width <= frame.depth
    if along_x:
        x = frame.x0 + frame.width * share
        halves = (Rect(frame.x0, frame.y0, x, frame.y1), Rect(x, frame.y0, frame.x1, frame.y1))
    else:
        y = frame.y0 + frame.depth * share
        halves = (Rect(frame.x0, frame.y0, frame.x1, y), Rect(frame.x0, y, frame.x1, frame.y1))
    return _sliced(first, halves[0], rng) | _sliced(second, halves[1], rng)


def _shape_cost(specs: Sequence[RoomSpec], rects: Mapping[str, Rect]) -> float:
    """How unusual the shapes are: narrow, long, oversized or too small rooms."""
    cost = 0.0
    for spec in specs:
        rect = rects[spec.name]
        if rect.short_side < (1.3 if spec.rule.zone is Zone.PASSAGE else spec.rule.min_side_m):
            return math.inf
        if spec.rule.zone is Zone.PASSAGE:
            cost += 0.05 * rect.area_m2
            continue
        if rect.aspect > spec.rule.max_aspect or rect.area_m2 < 0.93 * spec.area_m2:
            return math.inf
        cost += 1.5 * max(0.0, rect.aspect - 1.3) ** 2
        oversize = 4.0 if spec.rule.zone is Zone.SERVICE else 1.5
        cost += oversize * max(0.0, rect.area_m2 / spec.area_m2 - 1.15)
    x0, x1 = min(r.x0 for r in rects.values()), max(r.x1 for r in rects.values())
    y0, y1 = min(r.y0 for r in rects.values()), max(r.y1 for r in rects.values())
    whole = Rect(x0, y0, x1, y1)
    return cost + 0.5 * max(0.0, whole.aspect - 1.4)


def _settle(rects: Mapping[str, Rect], rng: np.random.Generator) -> dict[str, Rect]:
    """Randomly mirrors and rotates the plan and moves its lower left corner to (0, 0)."""
    turned = dict(rects)
    if rng.random() < 0.5:
        turned = {name: Rect(-r.x1, r.y0, -r.x0, r.y1) for name, r in turned.items()}
    if rng.random() < 0.5:
        turned = {name: Rect(r.x0, -r.y1, r.x1, -r.y0) for name, r in turned.items()}
    if rng.random() < 0.3:
        turned = {name: Rect(r.y0, r.x0, r.y1, r.x1) for name, r in turned.items()}
    x0, y0 = min(r.x0 for r in turned.values()), min(r.y0 for r in turned.values())
    return {
        name: _snapped(Rect(r.x0 - x0, r.y0 - y0, r.x1 - x0, r.y1 - y0))
        for name, r in turned.items()
    }
