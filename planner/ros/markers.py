"""What the robots believe, drawn for rviz, Foxglove and Lichtblick: boxes, labels, paths, a map."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
from geometry_msgs.msg import Point, Vector3
from nav_msgs.msg import OccupancyGrid
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from planner.ros import qos
from planner.ros.conversions import header, map_message, point_message, pose_message
from planner.ros.guard import SafePublisher
from planner.world import topics
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.floor_grid import FloorGrid
from planner.world.floor_map import FREE, OCCUPIED, FloorMap
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.vocabulary import EntityKind, held_words

MAP = "map"
MAP_CELL_M = 0.05
# Distance between two points of an agent's path, and how many points are kept.
WAY_STEP_M, WAY_POINTS = 0.1, 2000
# Drawn for objects of unknown size.
_UNKNOWN_SIZE_M = 0.08
_TEXT_M, _LINE_M = 0.14, 0.04
_COLOURS = {
    Source.SEEN: (0.20, 0.65, 0.25, 0.9),
    Source.TOLD: (0.25, 0.45, 0.85, 0.9),
    Source.INFERRED: (0.90, 0.60, 0.15, 0.9),
}
_FURNITURE, _ROOM, _WORD = (0.72, 0.60, 0.45, 0.45), (0.35, 0.35, 0.40, 1.0), (0.1, 0.1, 0.1, 1.0)
_AGENTS = ((0.85, 0.20, 0.25, 1.0), (0.55, 0.25, 0.75, 1.0), (0.10, 0.60, 0.65, 1.0))


def floor_map(stamp_s: float, layout: House) -> OccupancyGrid:
    """The layout's floor: free, or occupied by a wall or a piece of furniture."""
    grid = FloorGrid.of(layout, MAP_CELL_M / 2, MAP_CELL_M)
    cells = np.where(grid.free, FREE, OCCUPIED).astype(np.int8)
    return map_message(FloorMap(cells, grid.origin_m, MAP_CELL_M, stamp_s), stamp_s)


def house_markers(stamp_s: float, layout: House) -> MarkerArray:
    """Rooms with their names, and furniture as boxes with names."""
    markers = [Marker(action=Marker.DELETEALL)]
    for room in layout.rooms:
        corners = (*room.polygon_m, room.polygon_m[0])
        outline = _marker("rooms", len(markers), Marker.LINE_STRIP, _ROOM)
        outline.points = [Point(x=float(x), y=float(y), z=0.02) for x, y in corners]
        outline.scale.x = _LINE_M
        middle = room.shape.representative_point()
        name = _text("room names", len(markers), room.name, (middle.x, middle.y, 0.05))
        name.scale.z = 2 * _TEXT_M
        markers += [outline, name]
    for piece in layout.furniture:
        height_m = piece.size_m[2]
        box = _marker("furniture", len(markers), Marker.CUBE, _FURNITURE)
        x, y, z = piece.pose.position_m
        box.pose = pose_message(Pose((x, y, z + height_m / 2), piece.pose.orientation))
        box.scale = _size(piece.size_m)
        over_m = (x, y, z + height_m + _TEXT_M)
        markers += [box, _text("furniture names", len(markers), piece.name, over_m)]
    return _array(stamp_s, markers)


class BeliefMarkers:
    """Draws the objects and agents of successive beliefs, and the paths of the agents."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._made: dict[str, tuple[BeliefNode, list[Marker]]] = {}
        self._ways: dict[str, list[Point]] = {}

    def message(self, belief: Belief) -> MarkerArray:
        """The whole picture; markers of unchanged objects are reused."""
        made: dict[str, tuple[BeliefNode, list[Marker]]] = {}
        markers = [Marker(action=Marker.DELETEALL)]
        for name, node in belief.nodes.items():
            if node.kind not in (EntityKind.OBJECT, EntityKind.AGENT):
                continue
            old = self._made.get(name)
            if old is None or old[0] is not node:
                old = (node, list(self._draw(node)))
            made[name] = old
            markers += old[1]
        self._made = made
        return _array(belief.stamp_s, markers)

    def forget(self) -> None:
        """Starts over for another world."""
        for kept in (self._numbers, self._made, self._ways):
            kept.clear()

    def _draw(self, node: BeliefNode) -> Iterator[Marker]:
        number = self._numbers.setdefault(node.name, len(self._numbers))
        x, y, z = node.position_m
        if node.kind is EntityKind.AGENT:
            yield from self._draw_agent(node, number)
            return
        size_m = node.size_m if any(node.size_m) else (_UNKNOWN_SIZE_M,) * 3
        box = _marker("things", number, Marker.CUBE, _COLOURS[node.source])
        box.pose.position = point_message(node.position_m)
        box.scale = _size(size_m)
        yield box
        label = node.name if node.entity_id is None else f"{node.name} ({node.entity_id})"
        yield _text("thing names", number, label, (x, y, z + size_m[2] / 2 + _TEXT_M / 2))

    def _draw_agent(self, node: BeliefNode, number: int) -> Iterator[Marker]:
        x, y, _ = node.position_m
        colour = _AGENTS[number % len(_AGENTS)]
        way = self._ways.setdefault(node.name, [])
        if not way or math.hypot(way[-1].x - x, way[-1].y - y) >= WAY_STEP_M:
            way.append(Point(x=float(x), y=float(y), z=0.03))
            del way[:-WAY_POINTS]
        body = _marker("agents", number, Marker.CYLINDER, colour)
        body.pose.position = point_message((x, y, 0.5))
        body.scale = _size((0.5, 0.5, 1.0))
        yield body
        held = held_words(node.hands)
        words = f"{node.name}, holds {held}" if held else node.name
        yield _text("agent names", number, words, (x, y, 1.0 + 2 * _TEXT_M))
        if len(way) > 1:
            line = _marker("ways", number, Marker.LINE_STRIP, colour)
            line.points = list(way)
            line.scale.x = _LINE_M
            yield line


def _array(stamp_s: float, markers: Iterable[Marker]) -> MarkerArray:
    head = header(stamp_s, MAP)
    found = list(markers)
    for marker in found:
        marker.header = head
    return MarkerArray(markers=found)


def _marker(namespace: str, number: int, kind: int, colour: tuple[float, ...]) -> Marker:
    red, green, blue, alpha = colour
    marker = Marker(ns=namespace, id=number, type=kind, action=Marker.ADD)
    marker.color = ColorRGBA(r=red, g=green, b=blue, a=alpha)
    marker.pose.orientation.w = 1.0
    return marker


def _text(namespace: str, number: int, words: str, at_m: Vec3) -> Marker:
    marker = _marker(namespace, number, Marker.TEXT_VIEW_FACING, _WORD)
    marker.text = words
    marker.pose.position = point_message(at_m)
    marker.scale.z = _TEXT_M
    return marker


def _size(size_m: tuple[float, ...]) -> Vector3:
    x, y, z = (max(float(value), 0.01) for value in size_m)
    return Vector3(x=x, y=y, z=z)


# Marker topics of the robots' belief for viewers.


class BeliefPictures:
    """`/map`, `/house/markers` and `/memory/markers`, latched."""

    def __init__(self, node: Node, losses: Counter[str]) -> None:
        self._map = SafePublisher(node, OccupancyGrid, topics.MAP, qos.LATCHED, losses)
        self._house = SafePublisher(node, MarkerArray, topics.HOUSE_MARKERS, qos.LATCHED, losses)
        self._belief = SafePublisher(node, MarkerArray, topics.MEMORY_MARKERS, qos.LATCHED, losses)
        self._markers = BeliefMarkers()
        self._shown: tuple[float, int] | None = None

    def begin(self, layout: House, stamp_s: float, *, builds_map: bool = False) -> None:
        """Draws a house; its floor only if the robots do not build a map of their own."""
        self._markers.forget()
        self._shown = None
        if not builds_map:
            self._map.publish(floor_map(stamp_s, layout))
        self._house.publish(house_markers(stamp_s, layout))

    def show_floor(self, floor: FloorMap | None) -> None:
        """Publishes what the robots know of the floor; None is nothing yet."""
        if floor is not None:
            self._map.publish(map_message(floor))

    def show(self, belief: Belief) -> None:
        """Draws a belief if it changed and there are subscribers."""
        state = (belief.stamp_s, belief.sequence)
        if state == self._shown or not self._belief.has_subscribers:
            return
        self._shown = state
        self._belief.publish(self._markers.message(belief))
