"""The world's geometry for the predicates: boxes, and what is directly below a point.

Frame `map`, z up (y in the paper), metres. Furniture consists of the oriented boxes of its parts,
everything else is one box. A scene is updated in place, so the cost of a step depends on what
changed and not on the size of the house.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from planner.evaluation.layout import (
    EPSILON_M,
    Cell,
    CellRange,
    cell_at,
    cell_range,
    cells_in,
    layout_of,
)
from planner.world.errors import PlannerError
from planner.world.geometry import Box, Vec3
from planner.world.house import House, Interior
from planner.world.receptacle import ThingShape, known_shape
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind

# Downward rays start this much higher, to tolerate contact penetration (PARTNR-D9).
RAISED_M = 0.01
# No household extends further from the map's origin; such numbers come from a broken state.
MAX_DISTANCE_M = 10_000.0


class BrokenStateError(PlannerError):
    """A world state that cannot be judged; names the entity and the reason."""


class MissingEntityError(BrokenStateError):
    """An entity that the goal names is gone from the world's state."""


class Scene:
    """The entities in one state, with their boxes and a spatial index.

    Attributes:
        house: the layout.
        entities: by name.
        has_edges: whether relations come from the world's edges instead of from boxes.
    """

    def __init__(self, house: House, entities: Mapping[str, EntityState]) -> None:
        self.house = house
        self.has_edges = house.graph is not None
        self.entities: dict[str, EntityState] = {}
        self._boxes: dict[str, Box] = {}
        # Of things with a hollow or a top.
        self._shapes: dict[str, ThingShape] = {}
        if self.has_edges:
            # Boxes are computed on demand.
            self.entities.update(entities)
            return
        layout = layout_of(house)
        self._pieces, self._rooms = layout.pieces, layout.rooms
        self._furniture_cells = layout.furniture_cells
        self._bare_cells: dict[Cell, dict[str, None]] = {}
        self._cells_of: dict[str, CellRange] = {}
        self.update(entities.values(), ())

    def update(self, changed: Iterable[EntityState], removed: Iterable[str]) -> None:
        """Adds or replaces changed entities and removes others.

        Raises:
            BrokenStateError: if a pose or size is impossible in a house; entities before it have
                been updated.
        """
        if self.has_edges:
            for entity in changed:
                self.entities[entity.name] = entity
                self._boxes.pop(entity.name, None)
            for name in removed:
                self.entities.pop(name, None)
                self._boxes.pop(name, None)
            return
        for name in removed:
            self._forget(name)
        for entity in changed:
            box = world_box(entity)
            if not _is_in_reach(box):
                raise BrokenStateError(f"{entity.name} has no place in a house: {entity.pose}")
            name = entity.name
            self.entities[name] = entity
            self._boxes[name] = box
            if entity.kind is EntityKind.OBJECT:
                shape = known_shape(entity.class_name, entity.size_m)
                if shape.rests_m:
                    self._shapes[name] = shape
            cells = cell_range(box) if self._is_bare(entity) else None
            if cells != self._cells_of.get(name):
                self._leave_cells(name)
                if cells is not None:
                    self._cells_of[name] = cells
                    for cell in cells_in(cells):
                        self._bare_cells.setdefault(cell, {})[name] = None

    def _forget(self, name: str) -> None:
        if self.entities.pop(name, None) is not None:
            del self._boxes[name]
            self._shapes.pop(name, None)
            self._leave_cells(name)

    def _leave_cells(self, name: str) -> None:
        cells = self._cells_of.pop(name, None)
        if cells is not None:
            for cell in cells_in(cells):
                del self._bare_cells[cell][name]

    def _is_bare(self, entity: EntityState) -> bool:
        """Whether the box is all that is known of an entity's shape.

        True for objects, and for perceived furniture that the house file does not describe.
        """
        if entity.kind is EntityKind.FURNITURE:
            return entity.name not in self._pieces
        return entity.kind is EntityKind.OBJECT

    def box(self, name: str) -> Box | None:
        """The axis-aligned box around an entity (PARTNR-D8); None if it has none."""
        if self.has_edges:
            box, entity = self._boxes.get(name), self.entities.get(name)
            if box is None and entity is not None:
                box = self._boxes[name] = world_box(entity)
            return box
        return self._boxes.get(name)

    def thing_box(self, name: str) -> Box | None:
        """The box of an entity judged by its box alone; None for furniture of the house file."""
        return None if name in self._pieces else self._boxes.get(name)

    def footprint(self, name: str) -> tuple[float, float, float, float] | None:
        """(x_min, y_min, x_max, y_max) of what rays can hit of an entity; None for agents."""
        entity = self.entities.get(name)
        kinds = (EntityKind.OBJECT, EntityKind.FURNITURE)
        if self.has_edges or entity is None or entity.kind not in kinds:
            return None
        if name in self._pieces:
            return self._pieces[name].reach_m
        (x0, y0, _), (x1, y1, _) = self._boxes[name].minimum_m, self._boxes[name].maximum_m
        return (x0, y0, x1, y1)

    def surroundings(self, name: str) -> Box | None:
        """A box that contains, seen from above, everything on or in an entity."""
        piece = self._pieces.get(name)
        return self._boxes.get(name) if piece is None else piece.surroundings

    def on_one_side(self, box: Box, room: str) -> bool:
        """Whether a box is entirely inside or entirely outside a room, by a quick check."""
        volume = self._rooms.get(room)
        return volume is None or volume.on_one_side(box)

    def in_room(self, point_m: Vec3, room: str) -> bool:
        """Whether a point lies in a room's volume."""
        volume = self._rooms.get(room)
        return volume is not None and volume.contains(point_m)

    def first_below(self, name: str) -> frozenset[str]:
        """What downward rays from the eight corners of an entity's box hit first (PARTNR-D9).

        Rays pass through the entity itself and through agents. Floors are not reported: things
        standing on them are judged by height (PARTNR-D11).
        """
        box = self._boxes.get(name)
        if box is None:
            return frozenset()
        (x0, y0, z0), (x1, y1, z1) = box.minimum_m, box.maximum_m
        found: set[str | None] = set()
        for x in (x0, x1):
            for y in (y0, y1):
                # Usually a thing is carried over nothing at all.
                if self._is_anything_at(name, x, y):
                    top, hit = self._hit(name, x, y, z1 + RAISED_M)
                    found.add(hit)
                    # Usually it is below the lower corner, too.
                    if top > z0 + RAISED_M:
                        found.add(self._hit(name, x, y, z0 + RAISED_M)[1])
        return frozenset(hit for hit in found if hit is not None)

    def _is_anything_at(self, name: str, x_m: float, y_m: float) -> bool:
        """Whether a downward ray through a point may hit anything but `name`."""
        cell = cell_at(x_m, y_m)
        if any(piece.may_be_at(x_m, y_m) for piece in self._furniture_cells.get(cell, ())):
            return True
        return any(
            other != name and self._is_over(other, x_m, y_m)
            for other in self._bare_cells.get(cell, ())
        )

    def stands_on_furniture(self, name: str) -> bool:
        """Whether furniture, or a thing with a hollow or a top, is under an entity's middle."""
        box = self._boxes[name]
        x, y, _ = box.center_m
        z = box.minimum_m[2] + RAISED_M
        if self._furniture_hit(name, x, y, z)[1] is not None:
            return True
        return any(
            (self.entities[other].kind is EntityKind.FURNITURE or other in self._shapes)
            and other != name
            and self._top_below(other, z) is not None
            and self._is_over(other, x, y)
            for other in self._bare_cells.get(cell_at(x, y), ())
        )

    def _hit(self, name: str, x_m: float, y_m: float, z_m: float) -> tuple[float, str | None]:
        """The height and name of the first hit of a downward ray from a point."""
        best_z, best = self._furniture_hit(name, x_m, y_m, z_m)
        # Sorted by name: among tops of equal height the same one wins, whatever moved last.
        for other in sorted(self._bare_cells.get(cell_at(x_m, y_m), ())):
            if other == name:
                continue
            top = self._top_below(other, z_m)
            if top is not None and top > best_z and self._is_over(other, x_m, y_m):
                best_z, best = top, other
        return best_z, best

    def _furniture_hit(
        self, name: str, x_m: float, y_m: float, z_m: float
    ) -> tuple[float, str | None]:
        """The highest furniture other than `name` under a point, and its height there."""
        best_z, best = -math.inf, None
        for piece in self._furniture_cells.get(cell_at(x_m, y_m), ()):
            other = piece.record.name
            entity = self.entities.get(other)
            if other == name or entity is None:
                continue
            top = piece.top_below(x_m, y_m, z_m, entity.openness or 0.0)
            if top is not None and top > best_z:
                best_z, best = top, other
        return best_z, best

    def _top_below(self, name: str, z_m: float) -> float | None:
        """The highest top, not above z, of an entity judged by its box; None if all are above.

        A thing with a hollow or a top has two: its upper end, and the place for other things.
        """
        box = self._boxes[name]
        top = box.maximum_m[2]
        if top <= z_m:
            return top
        shape = self._shapes.get(name)
        if shape is None:
            return None
        tops = [box.minimum_m[2] + rest for rest in shape.rests_m]
        return max((rest for rest in tops if rest <= z_m), default=None)

    def lowest_top_m(self, name: str) -> float:
        """The height of the lowest top of an entity judged by its box, above its underside."""
        shape, box = self._shapes.get(name), self.thing_box(name)
        if shape is not None:
            return min(shape.rests_m)
        return box.size_m[2] if box is not None else 0.0

    def is_in_hollow(self, name: str, receptacle: str) -> bool:
        """Whether the middle of an entity's underside is in the hollow of a thing."""
        shape, box = self._shapes.get(receptacle), self._boxes.get(name)
        if shape is None or shape.hollow is None or box is None:
            return False
        x, y, _ = box.center_m
        point = (x, y, box.minimum_m[2] + RAISED_M)
        local = self.entities[receptacle].pose.inverse().apply(point)
        return all(
            abs(at - middle) <= size / 2 + EPSILON_M
            for at, middle, size in zip(local, shape.hollow.center, shape.hollow.size, strict=True)
        )

    def _is_over(self, name: str, x_m: float, y_m: float) -> bool:
        """Whether a point is over an entity's own box, rotated like the entity."""
        box = self._boxes[name]
        (x0, y0, _), (x1, y1, _) = box.minimum_m, box.maximum_m
        if not (
            x0 - EPSILON_M <= x_m <= x1 + EPSILON_M and y0 - EPSILON_M <= y_m <= y1 + EPSILON_M
        ):
            return False
        entity = self.entities[name]
        qx, qy, qz, qw = entity.pose.orientation
        if qx or qy:
            return True  # Tilted: use the box around it.
        cos, sin = 1 - 2 * qz * qz, 2 * qz * qw
        dx, dy = x_m - entity.pose.position_m[0], y_m - entity.pose.position_m[1]
        return (
            abs(dx * cos + dy * sin) <= entity.size_m[0] / 2 + EPSILON_M
            and abs(dy * cos - dx * sin) <= entity.size_m[1] / 2 + EPSILON_M
        )

    def hollows(self, name: str) -> Iterator[tuple[Interior, Vec3]]:
        """The interiors of furniture, each with the largest displacement of its drawer."""
        piece, entity = self._pieces.get(name), self.entities.get(name)
        if piece is None or entity is None:
            return
        openness = entity.openness or 0.0
        for hollow in piece.record.interiors:
            slide = (0.0, 0.0, 0.0)
            if hollow.moves and hollow.joint is not None:
                joint = piece.record.joint(hollow.joint)
                ax, ay, az = joint.axis
                out = joint.travel * openness
                slide = (ax * out, ay * out, az * out)
            yield hollow, slide

    def bare_furniture(self, name: str) -> Box | None:
        """The box of furniture without a description in the house file; None otherwise."""
        entity = self.entities.get(name)
        if entity is None or entity.kind is not EntityKind.FURNITURE or name in self._pieces:
            return None
        return self._boxes[name]

    def in_frame_of(self, name: str, point_m: Vec3) -> Vec3:
        """Converts a point from the map to a furniture's frame."""
        x, y = self._pieces[name].local(point_m[0], point_m[1])
        return (x, y, point_m[2])


def world_box(entity: EntityState) -> Box:
    """The axis-aligned box around an entity in any orientation (PARTNR-D8).

    `EntityState.box` is only for upright entities, which all of the embedded world's are.
    """
    qx, qy, _, _ = entity.pose.orientation
    if not qx and not qy:
        return entity.box
    x, y, z = entity.pose.apply((0.0, 0.0, entity.size_m[2] / 2))
    half = abs(entity.pose.rotation()) @ entity.size_m / 2
    hx, hy, hz = (float(value) for value in half)
    return Box((x - hx, y - hy, z - hz), (x + hx, y + hy, z + hz))


def _is_in_reach(box: Box) -> bool:
    """Whether a box is within the limits of a household; False for NaN."""
    (x0, y0, z0), (x1, y1, z1) = box.minimum_m, box.maximum_m
    low, high = -MAX_DISTANCE_M, MAX_DISTANCE_M
    return (
        low <= x0 <= high
        and low <= y0 <= high
        and low <= z0 <= high
        and low <= x1 <= high
        and low <= y1 <= high
        and low <= z1 <= high
    )
