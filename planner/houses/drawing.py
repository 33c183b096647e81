"""Floor plans: a house drawn from above."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from PIL import Image, ImageDraw
from shapely.geometry import Point

from planner.houses.labels import Labels, font
from planner.houses.map_frame import MapFrame
from planner.world.appearance import thing_parts
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import Episode
from planner.world.floor_grid import WALL_THICKNESS_M, door_corners
from planner.world.footprints import furniture_corners, object_corners
from planner.world.geometry import FloatArray
from planner.world.house import Door, Furniture, House, ObjectPlacement, Room
from planner.world.shapes import outline_from_above
from planner.world.vocabulary import Relation

Colour = tuple[int, int, int]
_PAPER: Colour = (250, 250, 247)
_WALL: Colour = (52, 52, 56)
_INK: Colour = (34, 34, 38)
_ROOM_INK: Colour = (120, 44, 20)
_DOOR: Colour = (120, 120, 124)
_OPENING: Colour = (236, 230, 218)
_ENTRANCE: Colour = (20, 110, 60)
# Wider openings have no door leaf.
_LEAF_M = 1.05
# Doors do not open into it, since people walk there.
_HALLWAY = "hallway"
_AGENTS: tuple[Colour, ...] = ((214, 40, 57), (29, 98, 201), (20, 140, 84), (148, 62, 178))
# Drawn larger and scaled down, for antialiasing.
_OVERSAMPLING = 2
_DOT_M = 0.05


@dataclass(frozen=True, slots=True)
class PlanLayers:
    """What a floor plan shows besides rooms, walls and doors."""

    furniture: bool = True
    furniture_names: bool = True
    objects: bool = True
    object_names: bool = False


_ALL = PlanLayers()


def draw_floor_plan(
    house: House,
    *,
    episode: Episode | None = None,
    pixels_per_m: float = 80.0,
    layers: PlanLayers = _ALL,
) -> Image.Image:
    """Draws a house from above.

    Args:
        house: the house to draw.
        episode: its objects are drawn instead of the house's, and its agents' starting positions.
        pixels_per_m: scale of the image.
        layers: what to leave out or add.

    Returns:
        An RGB image; `MapFrame.of(house, pixels_per_m)` converts its coordinates.
    """
    frame = MapFrame.of(house, pixels_per_m)
    scaled = _enlarged(frame)
    image = Image.new("RGB", (scaled.width_px, scaled.height_px), _PAPER)
    plan = _Plan(ImageDraw.Draw(image), scaled, default_catalogue())
    plan.structure(house)
    if layers.furniture:
        for piece in house.furniture:
            plan.furniture(piece)
    things = house.objects if episode is None else episode.objects
    if layers.objects:
        plan.objects(things)
    plan.names(house, things, layers)
    for index, agent in enumerate(episode.agents if episode else ()):
        if agent.start is not None:
            plan.agent(agent.uid, agent.start, _AGENTS[index % len(_AGENTS)])
    plan.frame(house, things)
    return image.resize((frame.width_px, frame.height_px), Image.Resampling.LANCZOS)


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
        self._labels = Labels(draw)

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

    def names(self, house: House, things: Sequence[ObjectPlacement], layers: PlanLayers) -> None:
        """Names of rooms, then of furniture, then of objects, where there is space for them."""
        scale = self._frame.pixels_per_m
        for room in house.rooms:
            self._room_name(house, room)
        if layers.furniture and layers.furniture_names:
            for piece in sorted(house.furniture, key=lambda p: -p.size_m[0] * p.size_m[1]):
                self._furniture_name(piece)
        if layers.objects and layers.object_names:
            for thing in things:
                x, y = self._frame.to_pixels(thing.pose[0], thing.pose[1])
                places = [(x, y - 0.1 * scale), (x, y + 0.1 * scale)]
                self._labels.write(thing.name, places, round(0.085 * scale), _INK)

    def _room_name(self, house: House, room: Room) -> None:
        """Writes the name where it hides the least furniture, preferably in the middle."""
        scale = self._frame.pixels_per_m
        x0, y0, x1, y1 = room.shape.bounds
        text = f"{room.name}\n{room.shape.area:.1f} sq m"
        size = round(min(0.24, 0.11 * (x1 - x0)) * scale)
        width, height = self._labels.extent(text, size)
        half_x, half_y = width / scale / 2 + 0.05, height / scale / 2 + 0.05
        bodies = [p.box for p in house.furniture if p.room == room.name]

        def hidden(x: float, y: float) -> float:
            total = 0.0
            for box in bodies:
                dx = min(x + half_x, box.maximum_m[0]) - max(x - half_x, box.minimum_m[0])
                dy = min(y + half_y, box.maximum_m[1]) - max(y - half_y, box.minimum_m[1])
                total += max(0.0, dx) * max(0.0, dy)
            return total

        middle = ((x0 + x1) / 2, (y0 + y1) / 2)
        steps = [0.15 * i for i in range(60)]
        spots = [
            (x, y)
            for x in (x0 + half_x + d for d in steps)
            for y in (y0 + half_y + d for d in steps)
            if x + half_x <= x1 and y + half_y <= y1 and room.shape.contains(Point(x, y))
        ] or [middle]
        best = min(spots, key=lambda spot: hidden(*spot) + 0.02 * math.dist(spot, middle))
        self._labels.write(text, [self._frame.to_pixels(*best)], size, _ROOM_INK, force=True)

    def agent(self, uid: str, start: tuple[float, float, float], colour: Colour) -> None:
        """An agent's starting position and heading."""
        x, y, yaw = start
        self._dot(x, y, 0.22, _mixed(colour, (255, 255, 255), 0.3), colour)
        tip = (x + 0.4 * math.cos(yaw), y + 0.4 * math.sin(yaw))
        self._line([(x, y), tip], colour, 0.05)
        scale = self._frame.pixels_per_m
        column, row = self._frame.to_pixels(x, y)
        below, above = (column, row + 0.32 * scale), (column, row - 0.32 * scale)
        self._labels.write(uid, [below, above], round(0.16 * scale), colour, force=True)

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
            x = 12 * k + metre * f.pixels_per_m
            fill = _INK if metre == 0 else _PAPER
            self._draw.rectangle(
                (x, y, x + f.pixels_per_m, y + 6 * k), fill=fill, outline=_INK, width=k
            )
        for metre in range(3):
            x = 12 * k + metre * f.pixels_per_m
            self._draw.text((x, y - 3 * k), f"{metre} m", fill=_INK, font=font(11 * k), anchor="ms")

    def _furniture_name(self, piece: Furniture) -> None:
        scale = self._frame.pixels_per_m
        x, y = self._frame.to_pixels(piece.x_m, piece.y_m)
        box = piece.box
        wide = box.size_m[0] * scale
        size = round(0.115 * scale)
        text = piece.name
        if self._draw.textlength(text, font=font(size)) > wide:
            text = text.replace("_", "\n", 1) if text.count("_") == 1 else _two_lines(text)
        step = 0.14 * scale
        places = [(x, y)]
        for ring in (1, 2, 3):
            places += [(x, y + ring * step), (x, y - ring * step)]
            places += [(x + ring * step, y), (x - ring * step, y)]
        if not self._labels.write(text, places, size, _INK):
            self._labels.write(text, places, round(0.08 * scale), _INK)

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
        if door.width_m < _LEAF_M:
            self._leaf(house, door)
        if len(door.rooms) == 1:
            scale = self._frame.pixels_per_m
            spot = self._frame.to_pixels(*door.center_m)
            self._labels.write("entrance", [spot], round(0.15 * scale), _ENTRANCE, force=True)

    def _leaf(self, house: House, door: Door) -> None:
        """A leaf that opens into the smaller room, hinged at the nearer corner."""
        rooms = [house.rooms_by_name[name] for name in door.rooms]
        room = min(rooms, key=lambda r: (r.class_name == _HALLWAY, r.shape.area))
        x, y = door.center_m
        along = (math.cos(door.yaw_rad), math.sin(door.yaw_rad))
        across = (-along[1], along[0])
        if not room.shape.contains(Point(x + 0.1 * across[0], y + 0.1 * across[1])):
            across = (along[1], -along[0])
        half = door.width_m / 2
        to_corner = [
            min(
                math.dist((x + side * half * along[0], y + side * half * along[1]), corner)
                for corner in room.polygon_m
            )
            for side in (-1, 1)
        ]
        if to_corner[1] < to_corner[0]:
            along = (-along[0], -along[1])
        hinge = (x - half * along[0], y - half * along[1])
        arc = []
        for step in range(13):
            c, s = math.cos(step * math.pi / 24), math.sin(step * math.pi / 24)
            reach = door.width_m
            arc.append(
                (
                    hinge[0] + reach * (c * along[0] + s * across[0]),
                    hinge[1] + reach * (c * along[1] + s * across[1]),
                )
            )
        self._line(arc, _DOOR, 0.01)
        self._line([hinge, arc[-1]], _DOOR, 0.03)

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


def _two_lines(name: str) -> str:
    words = name.split("_")
    half = (len(words)) // 2
    return "_".join(words[:half]) + "\n" + "_".join(words[half:])


def _pairs(corners: FloatArray) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in corners]


def _rgb(rgb: tuple[float, float, float]) -> Colour:
    r, g, b = (round(255 * v) for v in rgb)
    return (r, g, b)


def _mixed(a: Colour, b: Colour, share: float) -> Colour:
    r, g, blue = (round(x + (y - x) * share) for x, y in zip(a, b, strict=True))
    return (r, g, blue)
