"""Floor plans: a house drawn from above, what is unexplored in shade."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from planner.houses.label_layout import PIECE_SIZES_M, Label, LabelLayout, MapFrame, door_leaf, font
from planner.houses.marks import MOVE_STYLE, MarkPen, Marks, Move, sampled
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Episode
from planner.world.floor_grid import WALL_THICKNESS_M, door_corners
from planner.world.floor_map import OCCUPIED, UNKNOWN, FloorMap
from planner.world.furnishing import thing_parts
from planner.world.geometry import FloatArray, Vec3
from planner.world.house import Door, Furniture, House, ObjectPlacement
from planner.world.object_checks import furniture_corners, object_corners
from planner.world.shapes import outline_from_above
from planner.world.vocabulary import Relation

# What a robot has explored, drawn over the floor plan: the rest of the house is in shade.

# Red, green, blue and how much of it.
_UNEXPLORED = (96, 100, 112, 170)
_OCCUPIED = (150, 40, 20, 120)
_WAY = (30, 90, 200)


def draw_explored(
    plan: Image.Image, frame: MapFrame, floor: FloorMap, path_m: Sequence[Vec3] = ()
) -> Image.Image:
    """A floor plan with what a robot does not know shaded and what it takes for occupied marked.

    Args:
        plan: of the whole house.
        frame: of the plan.
        floor: the robot's map.
        path_m: where it went, drawn as a line.

    Returns:
        A new RGB image of the plan's size.
    """
    shade = np.zeros((plan.height, plan.width, 4), np.uint8)
    values = _values(plan, frame, floor)
    shade[values == UNKNOWN] = _UNEXPLORED
    shade[values == OCCUPIED] = _OCCUPIED
    # The title and the line at the foot are no part of the map.
    shade[: frame.top_px] = 0
    shade[plan.height - frame.top_px :] = 0
    drawn = Image.alpha_composite(plan.convert("RGBA"), Image.fromarray(shade)).convert("RGB")
    points = [frame.to_pixels(x, y) for x, y, _ in path_m]
    if len(points) > 1:
        ImageDraw.Draw(drawn).line(points, fill=_WAY, width=3, joint="curve")
    return drawn


def _values(plan: Image.Image, frame: MapFrame, floor: FloorMap) -> NDArray[np.int8]:
    """(height, width) of the map's value at each pixel."""
    x_m = [frame.to_map(column + 0.5, 0.0)[0] for column in range(plan.width)]
    y_m = [frame.to_map(0.0, row + 0.5)[1] for row in range(plan.height)]
    columns = np.floor((np.array(x_m) - floor.origin_m[0]) / floor.cell_m).astype(int)
    rows = np.floor((np.array(y_m) - floor.origin_m[1]) / floor.cell_m).astype(int)
    padded = np.pad(floor.cells, 1, constant_values=UNKNOWN)
    rows = np.clip(rows, -1, floor.cells.shape[0]) + 1
    columns = np.clip(columns, -1, floor.cells.shape[1]) + 1
    values: NDArray[np.int8] = padded[rows[:, None], columns[None, :]]
    return values


Colour = tuple[int, int, int]
_PAPER: Colour = (250, 250, 247)
_HALO: Colour = (255, 255, 255)
_WALL: Colour = (52, 52, 56)
_INK: Colour = (34, 34, 38)
_ROOM_INK: Colour = (120, 44, 20)
_DOOR: Colour = (120, 120, 124)
_OPENING: Colour = (236, 230, 218)
_ENTRANCE: Colour = (20, 110, 60)
_AGENTS: tuple[Colour, ...] = ((214, 40, 57), (29, 98, 201), (20, 140, 84), (148, 62, 178))
# Drawn larger and scaled down, for antialiasing.
_OVERSAMPLING = 2
_DOT_M = 0.05
# Letters of rooms and carried things are at least this high.
_SMALLEST_PX = 11.0
# Names of furniture are left out where they would be smaller.
_SMALLEST_PIECE_PX = 6.0


@dataclass(frozen=True, slots=True)
class PlanLayers:
    """What a floor plan shows besides rooms, walls and doors."""

    furniture: bool = True
    furniture_names: bool = True
    objects: bool = True
    object_names: bool = False


@dataclass(frozen=True, slots=True)
class PlanNames:
    """Where the names on a plan stand.

    Attributes:
        rooms, furniture, objects: of those.
        moves: of carried things, at their end.
        entrance: of the house; None if it has none.
    """

    rooms: tuple[Label, ...]
    furniture: tuple[Label, ...]
    objects: tuple[Label, ...]
    moves: Mapping[Move, Label]
    entrance: Label | None


_ALL = PlanLayers()
_NONE = Marks()


def draw_floor_plan(
    house: House,
    *,
    episode: Episode | None = None,
    pixels_per_m: float = 80.0,
    layers: PlanLayers = _ALL,
    marks: Marks = _NONE,
) -> Image.Image:
    """Draws a house from above.

    Args:
        house: the house to draw.
        episode: its objects are drawn instead of the house's, and its agents' starting positions.
        pixels_per_m: scale of the image.
        layers: what to leave out or add.
        marks: of a run, under the names.

    Returns:
        An RGB image; `MapFrame.of(house, pixels_per_m)` converts its coordinates.
    """
    sheet = PlanSheet(house, episode=episode, pixels_per_m=pixels_per_m, layers=layers)
    return sheet.draw(marks, sheet.names(marks))


class PlanSheet:
    """A floor plan that can be drawn several times, with other marks each time."""

    def __init__(
        self,
        house: House,
        *,
        episode: Episode | None = None,
        pixels_per_m: float = 80.0,
        layers: PlanLayers = _ALL,
    ) -> None:
        """Draws what all the pictures have in common; arguments of `draw_floor_plan`."""
        self._house, self._episode, self._layers = house, episode, layers
        self._frame = MapFrame.of(house, pixels_per_m)
        self._scaled = _enlarged(self._frame)
        self._things = house.objects if episode is None else episode.objects
        size = (self._scaled.width_px, self._scaled.height_px)
        self._base = Image.new("RGB", size, _PAPER)
        plan = _Plan(ImageDraw.Draw(self._base), self._scaled, default_catalogue())
        plan.structure(house)
        if layers.furniture:
            for piece in house.furniture:
                plan.furniture(piece)
        if layers.objects:
            plan.objects(self._things)

    def names(self, marks: Marks) -> PlanNames:
        """Gives every name a place: of rooms, of carried things, of furniture, then of objects."""
        house, layers = self._house, self._layers
        layout = LabelLayout(smallest_m=_SMALLEST_PX / self._frame.pixels_per_m)
        doors = [door for door in house.doors if len(door.rooms) == 1]
        entrance = layout.fixed("entrance", doors[0].center_m, 0.15) if doors else None
        for agent in self._episode.agents if self._episode else ():
            if agent.start is not None:
                layout.keep_free(agent.start[:2], 0.4)
        ends = {move.end_m: None for move in marks.moves}
        for end in ends:
            layout.keep_free(end, 0.06)
        ways = sampled([*marks.ways_m, *((move.start_m, move.end_m) for move in marks.moves)])
        rooms = [
            layout.room(
                room,
                f"{room.name}\n{room.shape.area:.1f} sq m",
                [piece for piece in house.furniture if piece.room == room.name],
                ways,
            )
            for room in house.rooms
        ]
        moves = {move: layout.thing(move.name, move.end_m) for move in marks.moves}
        readable = PIECE_SIZES_M[-1] * self._frame.pixels_per_m >= _SMALLEST_PIECE_PX
        furniture = [
            layout.piece(piece)
            for piece in sorted(house.furniture, key=lambda p: -p.size_m[0] * p.size_m[1])
            if layers.furniture and layers.furniture_names and readable
        ]
        objects = [
            layout.near(thing.name, thing.pose[:2], 0.085)
            for thing in self._things
            if layers.objects and layers.object_names
        ]
        return PlanNames(
            tuple(rooms),
            tuple(label for label in furniture if label is not None),
            tuple(label for label in objects if label is not None),
            moves,
            entrance,
        )

    def draw(self, marks: Marks, names: PlanNames) -> Image.Image:
        """Draws the plan as an RGB image.

        Args:
            marks: of a run, under the names.
            names: of `self.names`, for these marks or for more of them.
        """
        image = self._base.copy()
        if marks.floor is not None:
            image = draw_explored(image, self._scaled, marks.floor)
        draw = ImageDraw.Draw(image)
        pen = MarkPen(draw, self._scaled)
        pen.under_the_names(marks)
        for move in marks.moves:
            pen.tie(names.moves[move], move.end_m)
        plan = _Plan(draw, self._scaled, default_catalogue())
        for label in (*names.furniture, *names.objects):
            plan.write(label, _INK)
        for label in names.rooms:
            plan.write(label, _ROOM_INK)
        if names.entrance is not None:
            plan.write(names.entrance, _ENTRANCE)
        for move in marks.moves:
            plan.write(names.moves[move], MOVE_STYLE.rgb)
        for number, (x, y) in enumerate(marks.pins_m, start=1):
            plan.write(Label(str(number), (x, y), 0.17), _PAPER, halo=False)
        for index, agent in enumerate(self._episode.agents if self._episode else ()):
            if agent.start is not None:
                plan.agent(agent.uid, agent.start, _AGENTS[index % len(_AGENTS)])
        plan.frame(self._house, self._things)
        return image.resize((self._frame.width_px, self._frame.height_px), Image.Resampling.LANCZOS)


def _enlarged(frame: MapFrame) -> MapFrame:
    k = _OVERSAMPLING
    return MapFrame(
        frame.left_m,
        frame.top_m,
        frame.pixels_per_m * k,
        frame.width_px * k,
        frame.height_px * k,
        frame.top_px * k,
    )


class _Plan:
    """An image in progress."""

    def __init__(self, draw: ImageDraw.ImageDraw, frame: MapFrame, catalogue: Catalogue) -> None:
        self._draw = draw
        self._frame = frame
        self._catalogue = catalogue

    def structure(self, house: House) -> None:
        """Floors, walls and doors."""
        for room in house.rooms:
            cls = self._catalogue.rooms.get(room.class_name)
            floor = _rgb(cls.floor_rgb) if cls else _PAPER
            self._polygon(room.polygon_m, _mixed(floor, (255, 255, 255), 0.25))
        for room in house.rooms:
            ring = [*room.polygon_m, room.polygon_m[0]]
            for (x0, y0), (x1, y1) in pairwise(ring):
                self._wall(x0, y0, x1, y1)
        for door in house.doors:
            self._door(house, door)

    def furniture(self, piece: Furniture) -> None:
        """One piece from above: its parts from low to high, its outline and its front."""
        outline = _pairs(furniture_corners([piece])[0])
        for part in sorted(piece.drawn_parts, key=lambda p: p.center[2] + p.size[2] / 2):
            colour = _rgb(part.rgb)
            edge = _mixed(colour, (0, 0, 0), 0.3)
            self._polygon(outline_from_above(part, piece.pose), colour, edge)
        self._line([*outline, outline[0]], _mixed(_INK, (255, 255, 255), 0.35), 0.012)
        self._front(piece)

    def objects(self, things: Sequence[ObjectPlacement]) -> None:
        """Objects in their colours, never smaller than a dot; those in furniture as outlines.

        From low to high, so that what is in or on a thing is drawn over it.
        """
        names = {thing.name for thing in things}
        things = sorted(things, key=lambda thing: thing.pose[2])
        for thing, corners in zip(things, object_corners(things), strict=True):
            cls = self._catalogue.objects.get(thing.class_name)
            colour = _rgb(thing_parts(cls, thing.size_m, thing.color)[0].rgb) if cls else _INK
            if thing.relation is Relation.WITHIN and thing.parent not in names:
                self._dot(thing.pose[0], thing.pose[1], _DOT_M * 0.8, None, colour)
            elif min(thing.size_m[:2]) < _DOT_M:
                self._dot(thing.pose[0], thing.pose[1], _DOT_M * 0.8, colour, _INK)
            else:
                self._polygon(_pairs(corners), colour, _INK)

    def write(self, label: Label, colour: Colour, *, halo: bool = True) -> None:
        """A label, by default with a pale edge that sets it off from what is under it."""
        face = font(max(1, round(label.size_m * self._frame.pixels_per_m)))
        stroke = max(1, round(getattr(face, "size", 10) / 8)) if halo else 0
        self._draw.multiline_text(
            self._frame.to_pixels(*label.at_m),
            label.text,
            fill=colour,
            font=face,
            anchor="mm",
            align="center",
            spacing=1,
            stroke_width=stroke,
            stroke_fill=_HALO,
        )

    def agent(self, uid: str, start: tuple[float, float, float], colour: Colour) -> None:
        """An agent's starting position and heading."""
        x, y, yaw = start
        self._dot(x, y, 0.22, _mixed(colour, (255, 255, 255), 0.3), colour)
        tip = (x + 0.4 * math.cos(yaw), y + 0.4 * math.sin(yaw))
        self._line([(x, y), tip], colour, 0.05)
        self.write(Label(uid, (x, y - 0.32), 0.16), colour)

    def frame(self, house: House, things: Sequence[ObjectPlacement]) -> None:
        """Title and scale bar."""
        area = sum(room.shape.area for room in house.rooms)
        seed = "" if house.seed is None else f"  ·  seed {house.seed}"
        title = (
            f"{house.name}{seed}  ·  {area:.0f} sq m  ·  {len(house.rooms)} rooms  ·  "
            f"{len(house.furniture)} pieces of furniture  ·  {len(things)} things"
        )
        k, f = _OVERSAMPLING, self._frame
        size = 18 * k
        while self._draw.textlength(title, font=font(size)) > f.width_px - 24 * k:
            size -= k
        middle = f.top_px / 2
        self._draw.text((12 * k, middle), title, fill=_INK, font=font(size), anchor="lm")
        y = f.height_px - 18 * k
        for metre in range(2):
            x = 26 * k + metre * f.pixels_per_m
            fill = _INK if metre == 0 else _PAPER
            self._draw.rectangle(
                (x, y, x + f.pixels_per_m, y + 6 * k), fill=fill, outline=_INK, width=k
            )
        for metre in range(3):
            x = 26 * k + metre * f.pixels_per_m
            self._draw.text((x, y - 3 * k), f"{metre} m", fill=_INK, font=font(11 * k), anchor="ms")

    def _front(self, piece: Furniture) -> None:
        """A small triangle that points out of the front edge."""
        half_x = piece.size_m[0] / 2
        base = min(0.07, piece.size_m[1] / 5)
        local = ((half_x - 0.02, -base), (half_x + 0.07, 0.0), (half_x - 0.02, base))
        points = [piece.pose.apply((x, y, 0.0))[:2] for x, y in local]
        self._polygon(points, _INK)

    def _wall(self, x0: float, y0: float, x1: float, y1: float) -> None:
        length = math.hypot(x1 - x0, y1 - y0)
        half = WALL_THICKNESS_M / 2
        # Lengthened by half its thickness, so that corners are closed.
        dx, dy = (x1 - x0) / length * half, (y1 - y0) / length * half
        corners = (
            (x0 - dx - dy, y0 - dy + dx),
            (x1 + dx - dy, y1 + dy + dx),
            (x1 + dx + dy, y1 + dy - dx),
            (x0 - dx + dy, y0 - dy - dx),
        )
        self._polygon(corners, _WALL)

    def _door(self, house: House, door: Door) -> None:
        """The opening; a narrow one with the usual quarter circle of a door."""
        self._polygon(door_corners(door, WALL_THICKNESS_M * 1.05), _OPENING)
        leaf = door_leaf(house, door)
        if leaf:
            self._line(leaf[1:], _DOOR, 0.01)
            self._line([leaf[0], leaf[-1]], _DOOR, 0.03)

    def _polygon(
        self, points_m: Sequence[tuple[float, float]], fill: Colour, outline: Colour | None = None
    ) -> None:
        pixels = [self._frame.to_pixels(x, y) for x, y in points_m]
        self._draw.polygon(pixels, fill=fill, outline=outline)

    def _line(
        self, points_m: Sequence[tuple[float, float]], colour: Colour, width_m: float
    ) -> None:
        pixels = [self._frame.to_pixels(x, y) for x, y in points_m]
        width = max(1, round(width_m * self._frame.pixels_per_m))
        self._draw.line(pixels, fill=colour, width=width, joint="curve")

    def _dot(
        self, x_m: float, y_m: float, radius_m: float, fill: Colour | None, outline: Colour
    ) -> None:
        x, y = self._frame.to_pixels(x_m, y_m)
        r = radius_m * self._frame.pixels_per_m
        width = max(1, round(0.015 * self._frame.pixels_per_m))
        self._draw.ellipse((x - r, y - r, x + r, y + r), fill=fill, outline=outline, width=width)


def _pairs(corners: FloatArray) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in corners]


def _rgb(rgb: tuple[float, float, float]) -> Colour:
    r, g, b = (round(255 * v) for v in rgb)
    return (r, g, b)


def _mixed(a: Colour, b: Colour, share: float) -> Colour:
    r, g, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return (r, g, blue)
