"""Marker topics of the robots' belief for viewers."""

from __future__ import annotations

from collections import Counter

from nav_msgs.msg import OccupancyGrid
from rclpy.node import Node
from visualization_msgs.msg import MarkerArray

from planner.ros import qos
from planner.ros.floor_maps import map_message
from planner.ros.markers import BeliefMarkers, floor_map, house_markers
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics
from planner.world.belief import Belief
from planner.world.floor_map import FloorMap
from planner.world.house import House


class BeliefPictures:
    """`/map`, `/house/markers` and `/memory/markers`, latched."""

    def __init__(self, node: Node, losses: Counter[str]) -> None:
        """Advertises them."""
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
