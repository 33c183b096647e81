"""Keep-out zones as no-go regions of the robot's own planner."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import shapely
from bosdyn.api import geometry_pb2, world_object_pb2
from bosdyn.client.world_object import WorldObjectClient

from planner.world.geometry import Pose
from sim_bridge.safety.options import KeepOut, Timeouts, Zone
from sim_bridge.spot.convert import pose_message, set_stamp
from sim_bridge.spot.link import SpotLink

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
