"""GraphNav through the SDK: uploads the map, localises by a marker, and navigates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bosdyn.api import geometry_pb2
from bosdyn.api.graph_nav import graph_nav_pb2, nav_pb2
from bosdyn.client.graph_nav import GraphNavClient

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.advice import SDK_ERRORS, explain
from sim_bridge.spot.connection import Channel
from sim_bridge.spot.convert import pose_in, pose_message, pose_of
from sim_bridge.spot.graph_map import GraphMap
from sim_bridge.spot.link import SpotLink


class GraphLink:
    """One map on one robot. Every walk ends by itself unless it is extended (rule 1)."""

    def __init__(self, link: SpotLink, graph: GraphMap, safety: SafetyOptions) -> None:
        self._link, self.map, self._safety = link, graph, safety
        self._client = link.client(GraphNavClient, Channel.MOTION)
        self._finder = link.client(GraphNavClient, Channel.STATE)

    def prepare(self) -> None:
        """Uploads the map if the robot has another one or none, and localises the robot in it.

        Needs the lease; moves nothing.

        Raises:
            PlannerError: if the robot rejects the map or cannot localise.
        """
        timeout = self._safety.timeouts.upload_s
        try:
            there = self._call(lambda: self._client.download_graph(timeout=timeout))
            if {w.id for w in there.waypoints} != set(self.map.waypoints):
                self._upload(timeout)
            self._localize()
        except SDK_ERRORS as error:
            raise PlannerError(f"spot: the map {self.map.folder}: {explain(error)}") from error

    def _call(self, call: Callable[[], Any]) -> Any:
        return self._link.call(call, Channel.MOTION)

    def _upload(self, timeout: float) -> None:
        client, lease = self._client, self._link.body_lease
        self._call(lambda: client.clear_graph(lease=lease(), timeout=timeout))
        response = self._call(
            lambda: client.upload_graph(lease=lease(), graph=self.map.graph, timeout=timeout)
        )
        unknown_ids = {*response.unknown_waypoint_snapshot_ids, *response.unknown_edge_snapshot_ids}
        for kind, snapshot in self.map.snapshots():
            if snapshot.id not in unknown_ids:
                continue
            send = (
                client.upload_waypoint_snapshot
                if kind == "waypoint"
                else client.upload_edge_snapshot
            )
            self._call(partial(send, snapshot, lease=lease(), timeout=timeout))

    def _localize(self) -> None:
        body = pose_in(self._link.state().kinematic_state.transforms_snapshot, "odom", "body")
        nearest = graph_nav_pb2.SetLocalizationRequest.FIDUCIAL_INIT_NEAREST
        timeout = self._safety.timeouts.upload_s
        try:
            self._call(
                lambda: self._client.set_localization(
                    initial_guess_localization=nav_pb2.Localization(),
                    ko_tform_body=pose_message(body),
                    fiducial_init=nearest,
                    timeout=timeout,
                )
            )
        except SDK_ERRORS as error:
            raise PlannerError(
                f"spot: it does not find itself in the map {self.map.folder} ({explain(error)}); "
                "put it where it sees a marker of the map, and claim it again"
            ) from error

    def odom_in_map(self) -> Pose | None:
        """The odometry frame in our map according to GraphNav; None while it is lost."""
        timeout = self._safety.timeouts.state_s
        response = self._link.call(lambda: self._finder.get_localization_state(timeout=timeout))
        if not response.localization.waypoint_id:
            return None
        body = self.map.seed_in_map.compose(pose_of(response.localization.seed_tform_body))
        in_odom = pose_in(response.robot_kinematics.transforms_snapshot, "odom", "body")
        return body.compose(in_odom.inverse())

    def walk(self, waypoint: str, number: int | None) -> int:
        """Walks to a waypoint, or extends the walk with this number; returns its number."""
        limit, timeout = self._link.limit, self._safety.timeouts.command_s
        speed = geometry_pb2.Vec2(x=limit.linear_m_s, y=limit.linear_m_s)
        back = geometry_pb2.Vec2(x=-limit.linear_m_s, y=-limit.linear_m_s)
        turn = limit.angular_rad_s
        params = GraphNavClient.generate_travel_params(
            max_distance=0.3,
            max_yaw=3.2,
            velocity_limit=geometry_pb2.SE2VelocityLimit(
                max_vel=geometry_pb2.SE2Velocity(linear=speed, angular=turn),
                min_vel=geometry_pb2.SE2Velocity(linear=back, angular=-turn),
            ),
        )
        return int(
            self._link.send(
                lambda lease: self._client.navigate_to(
                    waypoint,
                    self._link.walk_ttl_s,
                    travel_params=params,
                    leases=[lease],
                    timesync_endpoint=self._link.sync,
                    command_id=number,
                    timeout=timeout,
                )
            )
        )

    def status(self, number: int) -> str:
        """The status of a walk, by the SDK's name."""
        timeout = self._safety.timeouts.command_s
        response: Any = self._call(
            lambda: self._client.navigation_feedback(number, timeout=timeout)
        )
        return str(graph_nav_pb2.NavigationFeedbackResponse.Status.Name(response.status))
