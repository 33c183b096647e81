"""Where the robot is and may go: GraphNav maps, markers, and no-go regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import shapely
from bosdyn.api import geometry_pb2, world_object_pb2
from bosdyn.api.graph_nav import graph_nav_pb2, map_pb2, nav_pb2
from bosdyn.client.graph_nav import GraphNavClient
from bosdyn.client.world_object import WorldObjectClient
from google.protobuf.message import DecodeError
from shapely.geometry import LineString

from planner.world.errors import FileError, PlannerError
from planner.world.files import read_bytes
from planner.world.geometry import Pose, Vec3
from sim_bridge.safety.options import KeepOut, SafetyOptions, Timeouts, Zone
from sim_bridge.spot.connection import SDK_ERRORS, Channel, explain
from sim_bridge.spot.convert import pose_in, pose_message, pose_of, set_stamp
from sim_bridge.spot.layout import MOST_OFF_M, Fiducial, Pair, align, contradiction, name_markers
from sim_bridge.spot.link import SpotLink

# A recorded GraphNav map: its files, its frame, and the nearest waypoint.

# Uncertainty of an anchored marker together with that of the tape measure.
_ANCHORED_M, _ANCHORED_RAD = 0.05, 0.05


@dataclass(frozen=True, slots=True)
class GraphMap:
    """A map in a folder as the tablet and the SDK write it: `graph`, and folders of snapshots.

    `waypoints` are poses in the map; `seed_in_map` is the anchoring's frame there.
    """

    folder: Path
    graph: Any
    seed_in_map: Pose
    waypoints: dict[str, Pose]

    def nearest(self, point_m: Vec3) -> tuple[str, float]:
        """The waypoint nearest to a point of the map, on the ground, and its distance."""
        gaps = {w: math.dist(p.position_m[:2], point_m[:2]) for w, p in self.waypoints.items()}
        best = min(gaps, key=lambda name: (gaps[name], name))
        return best, gaps[best]

    @property
    def markers(self) -> dict[str, Pose]:
        """The frames of its markers in the map, by their names."""
        return {
            each.id: self.seed_in_map.compose(pose_of(each.seed_tform_object))
            for each in self.graph.anchoring.objects
        }

    @property
    def edges_m(self) -> list[tuple[tuple[float, float], tuple[float, float]]]:
        """The ends of each edge on the ground of the map."""
        place = {name: pose.position_m[:2] for name, pose in self.waypoints.items()}
        return [
            (place[edge.id.from_waypoint], place[edge.id.to_waypoint]) for edge in self.graph.edges
        ]

    def snapshots(self) -> Iterator[tuple[str, Any]]:
        """Each snapshot with its kind, waypoint or edge.

        Raises:
            FileError: if one is missing or damaged.
        """
        for waypoint in self.graph.waypoints:
            if waypoint.snapshot_id:
                path = self.folder / "waypoint_snapshots" / waypoint.snapshot_id
                yield "waypoint", _parse(path, map_pb2.WaypointSnapshot)
        for edge in self.graph.edges:
            if edge.snapshot_id:
                path = self.folder / "edge_snapshots" / edge.snapshot_id
                yield "edge", _parse(path, map_pb2.EdgeSnapshot)


def read_graph(
    folder: Path, fiducials: Sequence[Fiducial], zones: Sequence[Zone], margin_m: float
) -> GraphMap:
    """Reads a map and aligns it with the layout by all their common markers.

    Raises:
        FileError: if it cannot be read, has no anchoring, shares no marker with the layout or
            contradicts it, goes over stairs (rule 10) or past a keep-out zone (rule 11).
    """
    path = folder / "graph"
    graph = _parse(path, map_pb2.Graph)
    if not graph.waypoints:
        raise FileError(path, "waypoints", "the map has none")
    seed = _seed_in_map(path, graph, fiducials)
    places = {
        anchor.id: seed.compose(pose_of(anchor.seed_tform_waypoint))
        for anchor in graph.anchoring.anchors
    }
    for index, waypoint in enumerate(graph.waypoints):
        if waypoint.id not in places:
            raise FileError(
                path,
                f"waypoints.{index}",
                f"{waypoint.id} has no anchor; run the anchoring optimization on the tablet",
            )
    _check_edges(path, graph, places, zones, margin_m)
    return GraphMap(folder, graph, seed, places)


def _seed_in_map(path: Path, graph: Any, fiducials: Sequence[Fiducial]) -> Pose:
    known = {str(fiducial.tag): fiducial for fiducial in fiducials}
    pairs = [
        Pair(
            known[each.id].tag,
            pose_of(each.seed_tform_object),
            known[each.id].in_map,
            _ANCHORED_M,
            _ANCHORED_RAD,
        )
        for each in graph.anchoring.objects
        if each.id in known
    ]
    text = contradiction(pairs)
    if text:
        raise FileError(path, "anchoring.objects", text)
    seed = align(pairs)
    if seed is not None:
        return seed
    if pairs:
        text = f"{name_markers(pairs)} of the map lies flat, so that its direction is unknown"
        raise FileError(path, "anchoring.objects", text)
    wanted = ", ".join(sorted(known)) or "none"
    seen = ", ".join(sorted(a.id for a in graph.anchoring.objects)) or "none"
    raise FileError(
        path,
        "anchoring.objects",
        f"the map's markers ({seen}) are none of the layout's ({wanted}); record the map where it "
        "sees one of them, and run the anchoring optimization",
    )


def _check_edges(
    path: Path, graph: Any, places: dict[str, Pose], zones: Sequence[Zone], margin_m: float
) -> None:
    stairs = map_pb2.AnnotationState.Value("ANNOTATION_STATE_SET")
    for index, edge in enumerate(graph.edges):
        name = f"edges.{index}"
        ends = (edge.id.from_waypoint, edge.id.to_waypoint)
        if not all(end in places for end in ends):
            raise FileError(path, name, f"{ends[0]} to {ends[1]}: no such waypoint")
        if edge.annotations.stairs.state == stairs:
            raise FileError(path, name, "it goes over stairs, which are prohibited (rule 10)")
        line = LineString([places[end].position_m[:2] for end in ends])
        for zone in zones:
            if line.distance(zone.shape) < margin_m:
                raise FileError(
                    path,
                    name,
                    f"it passes the keep-out zone {zone.name!r} (rule 11); delete the edge from "
                    "the map, or record one that keeps away",
                )


def _parse(path: Path, kind: Any) -> Any:
    try:
        return kind.FromString(read_bytes(path))
    except DecodeError:
        raise FileError(path, "", f"is no {kind.DESCRIPTOR.name} of GraphNav") from None


# GraphNav through the SDK: uploads the map, localises by a marker, and navigates.


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


LOCALISE_S = 2.0
# The robot lists a marker for 15 s after it was last detected.
MAX_AGE_S = 20.0
# Uncertainty of a detection: close up and new, more per metre from the robot, more per second of
# age, in which odometry drifts; and of the direction that the page faces.
_NEAR_M, _PER_M, _PER_S, _FACING_RAD = 0.03, 0.02, 0.01, 0.05
# Drift of odometry that a jump between markers is allowed per metre walked.
MOST_DRIFT = 0.1
_STATUS = world_object_pb2.AprilTagProperties
# Before there was a status, poses came without one.
_GOOD = (_STATUS.STATUS_OK, _STATUS.STATUS_UNKNOWN)


class Localisation:
    """Localises the robot periodically; odometry is used in between."""

    def __init__(
        self, link: SpotLink, fiducials: Sequence[Fiducial], clock_s: Callable[[], float]
    ) -> None:
        self._link, self._clock_s = link, clock_s
        self._known = {fiducial.tag: fiducial for fiducial in fiducials}
        self.graph: GraphLink | None = None
        self.odom_in_map = Pose((0.0, 0.0, 0.0))
        # Why the last update was refused, or empty.
        self.trouble = ""
        self._done_s = self._tried_s = -math.inf
        self._odometry: Pose | None = None
        # The markers by which it was last localised, where they put it, and the way since.
        self._last: tuple[list[Pair], Pose] | None = None
        self._walked_m = 0.0

    @property
    def due(self) -> bool:
        """Whether it is time for an update."""
        return self._clock_s() - self._tried_s >= LOCALISE_S

    def forget_the_way(self) -> None:
        """The robot may have been carried elsewhere: its next markers are taken as they are."""
        self._last = None

    def update(self, odometry: Pose) -> None:
        """Updates the odometry frame's pose.

        Args:
            odometry: `base_link`, on the ground, in the odometry frame. Its height is that of the
                map's floor, as odometry drifts in height too.

        Raises:
            PlannerError: if it was never found, with what to do; or if the markers of the layout
                contradict each other, and by how much. The pose stays as it was then.
        """
        self._tried_s = self._clock_s()
        if self._odometry is not None:
            self._walked_m += math.dist(self._odometry.position_m, odometry.position_m)
        self._odometry = odometry
        found = None if self.graph is None else self.graph.odom_in_map()
        if found is None:
            found = self._by_markers()
        if found is not None:
            x, y, _ = found.position_m
            self.odom_in_map = Pose.planar(x, y, found.yaw_rad, -odometry.position_m[2])
            self._done_s, self.trouble = self._tried_s, ""
        elif math.isinf(self._done_s):
            tags = ", ".join(map(str, sorted(self._known))) or "none is configured"
            raise PlannerError(
                f"spot: it sees none of the markers of the layout ({tags}); put it where it sees "
                "one, or add the markers that hang there to the layout (fiducials)"
            )

    def _by_markers(self) -> Pose | None:
        """By all markers that are seen; None if they determine no pose.

        Raises:
            PlannerError: if they contradict each other, or those seen before.
        """
        pairs = self._seen()
        found = align(pairs)
        if found is None:
            return None
        self.trouble = contradiction(pairs) or self._jump(pairs, found)
        if self.trouble:
            raise PlannerError(f"spot: {self.trouble}")
        self._last, self._walked_m = (pairs, found), 0.0
        return found

    def _jump(self, pairs: list[Pair], found: Pose) -> str:
        """How markers contradict others that were seen before them; empty if they do not."""
        if self._last is None or self._odometry is None:
            return ""
        before, where = self._last
        if {pair.tag for pair in pairs} & {pair.tag for pair in before}:
            return ""
        here = self._odometry.position_m
        gap_m = math.dist(found.apply(here)[:2], where.apply(here)[:2])
        allowed_m = MOST_OFF_M + MOST_DRIFT * self._walked_m
        if gap_m <= allowed_m:
            return ""
        return (
            f"the layout's {name_markers(pairs)} and, {self._walked_m:.1f} m before, "
            f"{name_markers(before)} contradict each other by {gap_m:.2f} m; at most "
            f"{allowed_m:.2f} m is allowed; measure them again (fiducials), or if the robot was "
            "carried, claim it again"
        )

    def _seen(self) -> list[Pair]:
        """The layout's markers as the robot detects them, without unreliable and old ones."""
        pairs = []
        for marker, age_s in self._link.markers():
            known = self._known.get(marker.apriltag_properties.tag_id)
            frame, facing = _frame_of(marker)
            if known is None or not frame or age_s > MAX_AGE_S:
                continue
            seen = pose_in(marker.transforms_snapshot, "odom", frame)
            far_m = math.hypot(*pose_in(marker.transforms_snapshot, "body", frame).position_m)
            sigma_m = _NEAR_M + _PER_M * far_m + _PER_S * max(0.0, age_s)
            pairs.append(
                Pair(known.tag, seen, known.in_map, sigma_m, _FACING_RAD if facing else math.inf)
            )
        return pairs


def _frame_of(marker: Any) -> tuple[str, bool]:
    """The frame of the better pose of a marker, and whether its direction is known; or empty.

    The filtered pose is steadier. One of high error is not used, one of ambiguous orientation only
    for its position.
    """
    tag = marker.apriltag_properties
    poses = [
        (tag.frame_name_fiducial_filtered, tag.fiducial_filtered_pose_status),
        (tag.frame_name_fiducial, tag.fiducial_pose_status),
    ]
    edges = marker.transforms_snapshot.child_to_parent_edge_map
    there = [(frame, status) for frame, status in poses if frame and frame in edges]
    for frame, status in there:
        if status in _GOOD:
            return frame, True
    for frame, status in there:
        if status == _STATUS.STATUS_AMBIGUOUS:
            return frame, False
    return "", False


# Keep-out zones as no-go regions of the robot's own planner.

LIFETIME_S = 15.0
RENEW_S = 5.0
_ACTIONS = world_object_pb2.MutateWorldObjectRequest


class NoGoRegions:
    """The zones of config/safety.yaml on the robot, which drops them with the client's session.

    A region is the smallest rectangle around a zone, without the margin, which the robot's own
    obstacle padding adds. They are an aid only: the gate stops the robot in any case.
    """

    def __init__(self, link: SpotLink, keep_out: KeepOut, timeouts: Timeouts) -> None:
        self._link, self._zones, self._timeout_s = link, keep_out.zones, timeouts.command_s
        self._client = link.client(WorldObjectClient)
        self._numbers: dict[str, int] = {}

    def renew(self, odom_in_map: Pose) -> None:
        """Sends all zones, in the current odometry frame."""
        for zone in self._zones:
            wanted = self._region(zone, odom_in_map)
            number = self._numbers.get(zone.name)
            if number is not None:
                wanted.id = number
            action = _ACTIONS.ACTION_ADD if number is None else _ACTIONS.ACTION_CHANGE
            request = _ACTIONS(mutation=_ACTIONS.Mutation(action=action, object=wanted))
            # The robot has dropped it: it is sent as new the next time.
            self._numbers.pop(zone.name, None)
            send = partial(self._client.mutate_world_objects, request, timeout=self._timeout_s)
            response = self._link.call(send)
            self._numbers[zone.name] = int(response.mutated_object_id)

    @staticmethod
    def _region(zone: Zone, odom_in_map: Pose) -> Any:
        corners = shapely.get_coordinates(zone.shape.minimum_rotated_rectangle)[:4].tolist()
        (x0, y0), (x1, y1), (x2, y2) = corners[:3]
        middle = Pose.planar((x0 + x2) / 2, (y0 + y2) / 2, math.atan2(y1 - y0, x1 - x0))
        size = geometry_pb2.Vec2(x=math.dist((x0, y0), (x1, y1)), y=math.dist((x1, y1), (x2, y2)))
        region = world_object_pb2.NoGoRegionProperties(
            box=geometry_pb2.Box2WithFrame(
                box=geometry_pb2.Box2(size=size),
                frame_name="odom",
                frame_name_tform_box=pose_message(odom_in_map.inverse().compose(middle)),
            )
        )
        shown = world_object_pb2.WorldObject(
            name=f"keep-out {zone.name}", nogo_region_properties=region
        )
        set_stamp(shown.object_lifetime, LIFETIME_S)
        return shown
