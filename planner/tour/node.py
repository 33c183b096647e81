"""Node `tour`: walks one agent from room to room, looks around, and saves a picture strip."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import rclpy
from geometry_msgs.msg import PointStamped
from nav_msgs.msg import Odometry
from planner_msgs.action import ExecutePrimitive
from planner_msgs.msg import WorldInfo
from rclpy.action.client import ActionClient
from rclpy.node import Node
from sensor_msgs.msg import Image

from planner.ros import parameters, qos
from planner.ros.clients import WaitingNotice, run_goal, wall_clock
from planner.ros.conversions import rgb_array
from planner.ros.guard import essential
from planner.ros.heartbeat import HeartbeatPublisher
from planner.ros.lifecycle import run_node
from planner.ros.subscriptions import listen
from planner.tour.route import LOOK_PAN_RAD, LOOK_TILT_RAD, Moment, Stop, draw_strip, plan_route
from planner.world import topics
from planner.world.agents import default_bodies
from planner.world.errors import PlannerError
from planner.world.files import writing
from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.observation import RgbImage
from planner.world.primitive import PrimitiveCode
from planner.world.vocabulary import AgentKind

AGENT = "agent_0"
MIN_STEP_M = 0.1


class TourNode(Node):
    """Sends the bridge one primitive after another; ends the process after the tour."""

    def __init__(self) -> None:
        """Reads the parameters.

        Raises:
            PlannerError: if the house or the folder cannot be used.
        """
        super().__init__("tour")
        house = parameters.text(self, "house", "", "name or file; empty = the bridge's")
        folder = parameters.text(self, "record", "", "folder for tour.png")
        self._max_rooms = parameters.whole(self, "rooms", 6, "rooms to visit", min_value=1)
        self._wait_s = parameters.number(
            self, "wait", 60.0, "seconds to wait for the bridge", min_value=1.0
        )
        self._house = load_house(house) if house else None
        self._folder = Path(folder)
        self._path: list[tuple[float, float]] = []
        self._picture: RgbImage | None = None
        self._heartbeat = HeartbeatPublisher(self)
        self._heartbeat.advertise(AGENT)
        self._client: ActionClient[Any, Any, Any] = ActionClient(
            self, ExecutePrimitive, topics.of_agent(AGENT, topics.PRIMITIVE)
        )
        listen(
            self,
            Odometry,
            topics.of_agent(AGENT, topics.ODOMETRY),
            self._on_odometry,
            qos.STATE_INPUT,
        )
        listen(
            self,
            Image,
            topics.of_agent(AGENT, topics.colour_image("hand")),
            self._on_picture,
            qos.IMAGE_INPUT,
        )
        if not house:
            listen(self, WorldInfo, topics.WORLD_INFO, self._on_world, qos.LATCHED)
        self._waited_s = 0.0
        self._timer = self.create_timer(0.1, essential(self._begin), clock=wall_clock())
        self._notice = WaitingNotice(self, self._missing)

    def _on_world(self, info: WorldInfo) -> None:
        """Takes the house from the bridge's info."""
        if self._house is None and info.layout:
            self._house = load_house(info.layout)

    def _missing(self) -> list[str]:
        if self._client.server_is_ready():
            return []
        action = self.resolve_service_name(topics.of_agent(AGENT, topics.PRIMITIVE))
        return [f"the action {action} of a bridge"]

    def _on_odometry(self, message: Odometry) -> None:
        position = message.pose.pose.position
        here = (position.x, position.y)
        if not self._path or math.dist(here, self._path[-1]) > MIN_STEP_M:
            self._path.append(here)

    def _on_picture(self, message: Image) -> None:
        self._picture = rgb_array(message)

    def _begin(self) -> None:
        seen = self._path and self._picture is not None
        house = self._house
        if house is None or not seen or not self._client.server_is_ready():
            self._waited_s += 0.1
            if self._waited_s > self._wait_s:
                raise PlannerError(
                    f"no bridge answered for {AGENT} within {self._wait_s:.0f} s; "
                    "is one running in this ROS domain?"
                )
            return
        self._timer.cancel()
        self._heartbeat.attend([AGENT])
        if self.executor is not None:
            self.executor.create_task(essential(partial(self._tour, house)))

    async def _tour(self, house: House) -> None:
        grid = FloorGrid.of(house, default_bodies()[AgentKind.ROBOT].radius_m)
        route = plan_route(house, grid, self._path[-1], self._max_rooms)
        self._log(f"touring {len(route)} rooms of {house.name}")
        moments = [await self._visit(stop) for stop in route]
        self._heartbeat.attend(())
        self._save(house, moments)
        rclpy.try_shutdown()

    async def _visit(self, stop: Stop) -> Moment:
        self._log(f"walking to {stop.room}")
        walk = ExecutePrimitive.Goal(
            name="navigate",
            target=self._point(stop.x_m, stop.y_m),
            heading_rad=stop.yaw_rad,
            standoff_m=math.nan,
        )
        await self._run_primitive(walk)
        look = ExecutePrimitive.Goal(
            name="look",
            target=self._point(stop.x_m, stop.y_m),
            pan_rad=list(LOOK_PAN_RAD),
            tilt_rad=[LOOK_TILT_RAD] * len(LOOK_PAN_RAD),
            heading_rad=math.nan,
            standoff_m=math.nan,
        )
        await self._run_primitive(look)
        picture = self._picture
        if picture is None:
            raise PlannerError(f"no picture came from {AGENT}'s hand camera")
        x, y = self._path[-1]
        return Moment(stop.room, picture, x, y)

    def _point(self, x_m: float, y_m: float) -> PointStamped:
        point = PointStamped()
        point.header.frame_id = "map"
        point.point.x, point.point.y = x_m, y_m
        return point

    async def _run_primitive(self, goal: ExecutePrimitive.Goal) -> None:
        result = await run_goal(self._client, goal)
        if result.code != PrimitiveCode.SUCCESS:
            raise PlannerError(f"{goal.name} failed: {result.text}")

    def _save(self, house: House, moments: list[Moment]) -> None:
        path = self._folder / "tour.png"
        with writing(path):
            self._folder.mkdir(parents=True, exist_ok=True)
            draw_strip(house, self._path, moments).save(path)
        self._log(f"rooms: {len(moments)}  picture: {path}")

    def _log(self, text: str) -> None:
        print(text, flush=True)


def main() -> int:
    """Runs the node until the tour is over."""
    return run_node(TourNode)
