"""Navigation in a recorded map: localisation, routes over waypoints, poses in the map's frame.

Emulated are the graph, its anchoring and the routes, but not how well a real robot recognises a
place. The map's own frame is found by the marker in the anchoring, or from the client's guess if
that is as close to the truth as the client allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from bosdyn.api import lease_pb2
from bosdyn.api.graph_nav import graph_nav_pb2
from shapely.geometry import LineString, Point

from planner.world.geometry import Pose, wrap_angle_rad
from sim_bridge.spot.convert import pose_message, pose_of, seconds_of, set_stamp
from sim_bridge.spot.emulator import service
from sim_bridge.spot.emulator.graph_map_service import GraphMap
from sim_bridge.spot.emulator.house_world import MAX_TURN_RAD_S, MAX_WALK_SPEED_M_S, Walk
from sim_bridge.spot.emulator.machine import Machine, Motors, Posture
from sim_bridge.spot.emulator.recorded_graph import RecordedGraph, nearest
from sim_bridge.spot.emulator.service import Handler, use_lease

_MAX_AHEAD_S = 3600.0
# Maximum distance from a route.
_ON_ROUTE_M = 1.0
# Tolerance of the initial guess if the client does not give one.
_GUESS_OFF_M, _GUESS_OFF_RAD = 1.0, 0.5
_SET = graph_nav_pb2.SetLocalizationRequest


class GraphNav:
    """Localisation in the map, and walks by number."""

    def __init__(self, graph: RecordedGraph) -> None:
        self._map = graph
        self._walks: dict[int, Walk] = {}
        self._latest = 0

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.graph_nav.GraphNavService": {
                **GraphMap(self._map).methods(),
                "SetLocalization": self._localize,
                "GetLocalizationState": self._state,
                "NavigateTo": self._navigate,
                "NavigateRoute": self._navigate_route,
                "NavigateToAnchor": self._navigate_to_anchor,
                "NavigationFeedback": self._feedback,
            }
        }

    # Localisation

    def _localize(self, machine: Machine, request: Any, response: Any) -> None:
        reply = graph_nav_pb2.SetLocalizationResponse
        guess = request.initial_guess
        if not self._map.graph.waypoints:
            response.status = reply.STATUS_NO_MAP_LOADED
        elif request.fiducial_init == _SET.FIDUCIAL_INIT_NO_FIDUCIAL:
            if guess.waypoint_id not in self._map.anchored():
                response.status = reply.STATUS_UNKNOWN_WAYPOINT
            elif not self._guessed_well(machine, request):
                response.status = reply.STATUS_VISUAL_ALIGNMENT_FAILED
            else:
                self._found(machine, response)
        elif self._map.seed_by_marker() is None:
            response.status = reply.STATUS_NO_MATCHING_FIDUCIAL
        else:
            self._map.seed_found = None
            self._found(machine, response)

    def _found(self, machine: Machine, response: Any) -> None:
        self._map.localized = True
        response.status = graph_nav_pb2.SetLocalizationResponse.STATUS_OK
        self._fill_localization(machine, response.localization)

    def _guessed_well(self, machine: Machine, request: Any) -> bool:
        """Whether the guess is close to the truth; True for a map whose place is unknown.

        A real robot compares pictures; here the truth is known if the marker is in the map.
        """
        guess = request.initial_guess
        guessed = self._map.anchored()[guess.waypoint_id].compose(
            pose_of(guess.waypoint_tform_body)
        )
        base = machine.world.base
        seed = self._map.seed()
        if seed is None:
            self._map.seed_found = base.compose(guessed.on_ground().inverse())
            return True
        off = seed.compose(guessed).on_ground().inverse().compose(base)
        allowed_m = request.max_distance or _GUESS_OFF_M
        near = math.hypot(*off.position_m[:2]) <= allowed_m
        return near and abs(wrap_angle_rad(off.yaw_rad)) <= (request.max_yaw or _GUESS_OFF_RAD)

    def _state(self, machine: Machine, _request: Any, response: Any) -> None:
        kinematics = response.robot_kinematics
        service.fill(kinematics.transforms_snapshot, machine)
        set_stamp(kinematics.acquisition_timestamp, machine.now_s + machine.skew_s)
        if self._map.localized:
            self._fill_localization(machine, response.localization)

    def _fill_localization(self, machine: Machine, shown: Any) -> None:
        seed, places = self._map.seed(), self._map.places()
        if seed is None or not places:
            return
        body = machine.world.base.compose(service.body_in_base(machine))
        near = min(places, key=lambda name: math.dist(places[name].position_m, body.position_m))
        shown.waypoint_id = near
        shown.waypoint_tform_body.CopyFrom(pose_message(places[near].inverse().compose(body)))
        shown.seed_tform_body.CopyFrom(pose_message(seed.inverse().compose(body)))
        set_stamp(shown.timestamp, machine.now_s + machine.skew_s)

    # Walking: each kind of request gives the poses to walk over, or why there are none

    def _navigate(self, machine: Machine, request: Any, response: Any) -> None:
        places, goal = self._map.places(), request.destination_waypoint_id

        def way() -> tuple[list[Pose], int]:
            if goal not in places:
                return [], response.STATUS_UNKNOWN_WAYPOINT
            return self._along(machine, places, goal, _offset(places[goal], request), response)

        self._go(machine, request, response, way)

    def _navigate_route(self, machine: Machine, request: Any, response: Any) -> None:
        """Over the client's waypoints, from the robot's position on the route."""
        places, route = self._map.places(), list(request.route.waypoint_id)

        def way() -> tuple[list[Pose], int]:
            if not route or not set(route) <= set(places):
                return [], response.STATUS_UNKNOWN_ROUTE_ELEMENTS
            pairs = list(pairwise(route))
            named = [{each.from_waypoint, each.to_waypoint} for each in request.route.edge_id]
            if not all(self._map.joined(*pair) for pair in pairs) or (
                named and named != [set(pair) for pair in pairs]
            ):
                return [], response.STATUS_INVALID_EDGE
            legs = pairs or [(route[0], route[0])]
            here = machine.world.base
            gaps_m = [_gap_m(here, places[one], places[other]) for one, other in legs]
            leg = min(range(len(legs)), key=gaps_m.__getitem__)
            if gaps_m[leg] > _ON_ROUTE_M:
                return [], response.STATUS_NOT_LOCALIZED_TO_ROUTE
            # From the middle of a leg it continues to the leg's end, as clients repeat their route.
            steps = [places[name] for name in route[leg + 1 : -1]]
            return [*steps, _offset(places[route[-1]], request)], response.STATUS_OK

        self._go(machine, request, response, way)

    def _navigate_to_anchor(self, machine: Machine, request: Any, response: Any) -> None:
        """A pose in the map's own frame: along the route to the waypoint nearest to it."""
        places, seed = self._map.places(), self._map.seed()

        def way() -> tuple[list[Pose], int]:
            if not places or seed is None:
                return [], response.STATUS_NO_ANCHORING
            pose = seed.compose(pose_of(request.seed_tform_goal))
            return self._along(machine, places, nearest(places, pose), pose, response)

        self._go(machine, request, response, way)

    def _along(
        self, machine: Machine, places: dict[str, Pose], goal: str, last: Pose, response: Any
    ) -> tuple[list[Pose], int]:
        route = self._map.route(nearest(places, machine.world.base), goal, places)
        if not route:
            return [], response.STATUS_NO_PATH
        return [*(places[name] for name in route[:-1]), last], response.STATUS_OK

    def _go(
        self,
        machine: Machine,
        request: Any,
        response: Any,
        way: Callable[[], tuple[list[Pose], int]],
    ) -> None:
        """Starts or extends a walk over the poses that `way` returns, or responds why not."""
        results = response.lease_use_results
        # Each lease gets a result, valid ones too; without a lease walking is not allowed.
        leases = list(request.leases) or [lease_pb2.Lease()]
        used = [use_lease(machine, lease, results.add()) for lease in leases]
        if not all(used):
            return
        ends_s = seconds_of(request.end_time) - machine.skew_s
        if ends_s <= machine.now_s:
            response.status = response.STATUS_EXPIRED
        elif ends_s > machine.now_s + _MAX_AHEAD_S:
            response.status = response.STATUS_TOO_DISTANT
        elif machine.motors is not Motors.ON or machine.behavior_faults:
            response.status = response.STATUS_ROBOT_IMPAIRED
        elif not self._map.localized:
            response.status = response.STATUS_NOT_LOCALIZED_TO_MAP
        elif request.command_id and request.command_id == self._latest:
            self._again(machine, request.command_id, ends_s)
            response.command_id, response.status = request.command_id, response.STATUS_OK
        else:
            steps, response.status = way()
            if steps:
                self._begin(machine, request, response, ends_s, steps)

    def _again(self, machine: Machine, number: int, ends_s: float) -> None:
        walk = self._walks[number]
        walk.ends_s = ends_s
        if machine.walk is None and not walk.arrived:
            walk.ended, machine.walk = False, walk

    def _begin(
        self, machine: Machine, request: Any, response: Any, ends_s: float, steps: list[Pose]
    ) -> None:
        limit = request.travel_params.velocity_limit.max_vel
        if machine.walk is not None:
            machine.walk.ended = True
        if machine.posture is Posture.SITTING:
            machine.pose(stand=True)
        goals = [pose.on_ground() for pose in steps]
        walk = Walk(
            ends_s=ends_s,
            goal=goals[0],
            further=tuple(goals[1:]),
            speed_m_s=min(limit.linear.x or MAX_WALK_SPEED_M_S, MAX_WALK_SPEED_M_S),
            turn_rad_s=min(limit.angular or MAX_TURN_RAD_S, MAX_TURN_RAD_S),
        )
        number = response.command_id = self._latest = machine.next_number()
        machine.walk = self._walks[number] = walk

    def _feedback(self, machine: Machine, request: Any, response: Any) -> None:
        reply = graph_nav_pb2.NavigationFeedbackResponse
        number = request.command_id or self._latest
        walk = self._walks.get(number)
        response.command_id = number
        if walk is None:
            response.status = reply.STATUS_NO_ROUTE
        elif walk.arrived:
            response.status = reply.STATUS_REACHED_GOAL
        elif walk is machine.walk:
            response.status = reply.STATUS_FOLLOWING_ROUTE
        elif number != self._latest:
            response.status = reply.STATUS_COMMAND_OVERRIDDEN
        else:
            response.status = reply.STATUS_COMMAND_TIMED_OUT


def _offset(goal: Pose, request: Any) -> Pose:
    wanted = request.destination_waypoint_tform_body_goal
    return goal.compose(Pose.planar(wanted.position.x, wanted.position.y, wanted.angle))


def _gap_m(here: Pose, one: Pose, other: Pose) -> float:
    """Distance of a pose from the line between two others."""
    line = LineString([one.position_m[:2], other.position_m[:2]])
    return float(line.distance(Point(here.position_m[:2])))
