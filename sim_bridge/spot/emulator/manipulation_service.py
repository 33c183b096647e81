"""Picking what a pixel shows, and saying what the gripper is to think of what it holds."""

from __future__ import annotations

import math
from typing import Any

from bosdyn.api import manipulation_api_pb2, robot_state_pb2

from planner.world.geometry import Vec3
from sim_bridge.spot.convert import pose_in
from sim_bridge.spot.emulator import frames
from sim_bridge.spot.emulator.machine import GRASP_S, Grasp, GraspState, Machine
from sim_bridge.spot.emulator.service import Handler, use_lease


class Picks:
    """The picks that were asked for, by number."""

    def __init__(self) -> None:
        self._picks: dict[int, Grasp] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The service with its methods."""
        return {
            "bosdyn.api.ManipulationApiService": {
                "ManipulationApi": self._pick,
                "ManipulationApiFeedback": self._feedback,
                "OverrideGrasp": _override,
            }
        }

    def _pick(self, machine: Machine, request: Any, response: Any) -> None:
        if not use_lease(machine, request.lease, response.lease_use_result):
            return
        number = response.manipulation_cmd_id = machine.next_number()
        grasp = Grasp(0, None, machine.now_s + GRASP_S)
        if not request.HasField("pick_object_in_image"):
            grasp.state = GraspState.NO_SOLUTION
        else:
            self._aim(machine, request.pick_object_in_image, grasp)
        machine.grasp = self._picks[number] = grasp

    def _aim(self, machine: Machine, pick: Any, grasp: Grasp) -> None:
        world, lens = machine.world, pick.camera_model.intrinsics
        in_odom = pose_in(
            pick.transforms_snapshot_for_camera, frames.ODOM, pick.frame_name_image_sensor
        )
        camera = frames.odom_in_map(machine).compose(in_odom)
        instance, point = world.hit(camera, _ray(pick.pixel_xy, lens))
        if point is None:
            grasp.state = GraspState.NO_HIT
            return
        grasp.instance, grasp.handle = instance, world.handle_at(instance, point)
        thing = any(t.instance_id == instance for t in world.world.things.values())
        if not thing and grasp.handle is None:
            grasp.state = GraspState.NO_SOLUTION

    def _feedback(self, _machine: Machine, request: Any, response: Any) -> None:
        grasp = self._picks.get(request.manipulation_cmd_id)
        state = GraspState.FAILED if grasp is None else grasp.state
        response.manipulation_cmd_id = request.manipulation_cmd_id
        response.current_state = manipulation_api_pb2.ManipulationFeedbackState.Value(state.value)


def _ray(pixel: Any, lens: Any) -> Vec3:
    x = (pixel.x - lens.principal_point.x) / lens.focal_length.x
    y = (pixel.y - lens.principal_point.y) / lens.focal_length.y
    length = math.sqrt(x * x + y * y + 1)
    return (x / length, y / length, 1 / length)


def _override(machine: Machine, request: Any, response: Any) -> None:
    response.SetInParent()
    wanted = request.carry_state_override.override_request
    kinds = robot_state_pb2.ManipulatorState
    if wanted:
        machine.carriable = wanted != kinds.CARRY_STATE_NOT_CARRIABLE
