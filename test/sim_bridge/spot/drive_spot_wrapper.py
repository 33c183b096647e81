"""Calls the whole public interface of spot_wrapper's SpotWrapper against an emulator, and says how.

MAP is a recorded map's folder, DOCK a dock's number, OUT an empty folder, X Y Z a thing in odom.
Run by the Python that spot_wrapper's packages are installed in, so it needs nothing of ours:

    PYTHONPATH=SPOT_WRAPPER python drive_spot_wrapper.py \\
        PORT CERTIFICATE USER PASSWORD MAP DOCK OUT X Y Z

Prints one JSON object: each member's name with "ok" or why it was not; last, under "not called",
the public members that nothing here calls.
"""

from __future__ import annotations

import functools
import json
import logging
import operator
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bosdyn.api import (
    arm_command_pb2,
    arm_surface_contact_pb2,
    gripper_camera_param_pb2,
    manipulation_api_pb2,
    payload_pb2,
    robot_state_pb2,
    world_object_pb2,
)
from bosdyn.api.mission import nodes_pb2
from bosdyn.client.payload_registration import PayloadRegistrationClient
from bosdyn.client.robot_command import RobotCommandBuilder
from bosdyn.client.util import read_or_create_payload_credentials
from spot_wrapper.wrapper import SpotWrapper

MEMBERS = (
    "",
    "spot_arm",
    "spot_check",
    "spot_docking",
    "spot_graph_nav",
    "spot_images",
    "spot_mission",
    "spot_world_objects",
)


PROPERTIES = """
is_valid id robot_name frame_prefix logger robot_state metrics lease lease2 spot_images
spot_docking spot_graph_nav spot_arm spot_check spot_mission spot_world_objects
world_objects is_standing is_sitting is_moving is_stopping at_goal time_skew
last_docking_command last_sit_command last_stand_command last_trajectory_command
last_trajectory_command_precise last_velocity_command_time spot_eap_lidar point_clouds
"""

NO_DANCES = ("stop_choreography", "list_all_moves", "list_all_dances", "stop_recording_state")
GIVES_BACK = (
    "disengageEStop",
    "resetEStop",
    "releaseEStop",
    "yieldLease",
    "releaseLease",
    "release",
)


class Report:
    """What each member answered."""

    def __init__(self, spot: Any) -> None:
        self.spot, self.said = spot, {}

    def call(
        self, name: str, *args: Any, good: Callable[[Any], bool] | None = None, **kwargs: Any
    ) -> Any:
        owner, _, member = name.rpartition(".")
        target = operator.attrgetter(owner)(self.spot) if owner else self.spot
        try:
            answer = getattr(target, member)(*args, **kwargs)
        except Exception as error:
            self.said[name] = f"{type(error).__name__}: {error}"
            return None
        if hasattr(answer, "result") and callable(answer.result):
            try:
                answer = answer.result()
            except Exception as error:
                self.said[name] = f"{type(error).__name__}: {error}"
                return None
        fine = (
            good(answer)
            if good
            else not (isinstance(answer, tuple) and answer and answer[0] is False)
        )
        self.said[name] = "ok" if fine else f"answered {answer!r}"[:300]
        return answer

    def read(self, *names: str) -> None:
        for name in names:
            try:
                value = getattr(self.spot, name)
                may_be_none = name.startswith("last_") or name == "spot_eap_lidar"
                self.said[name] = "ok" if value is not None or may_be_none else "is None"
            except Exception as error:
                self.said[name] = f"{type(error).__name__}: {error}"


def public(spot: Any) -> set[str]:
    """Every public method and property of the wrapper and of its parts."""
    found = set()
    for owner in MEMBERS:
        target = getattr(spot, owner) if owner else spot
        for name in dir(type(target)):
            if not name.startswith("_"):
                found.add(f"{owner}.{name}" if owner else name)
    return found


def settle(spot: Any, seconds: float) -> None:
    """Lets its periodic questions go on, as spot_ros2 does."""
    ends_s = time.monotonic() + seconds
    while time.monotonic() < ends_s:
        spot.updateTasks()
        time.sleep(0.1)


def main() -> None:
    port, certificate, user, password, the_map, dock, out = sys.argv[1:8]
    thing = [float(word) for word in sys.argv[8:11]]
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    logger = logging.getLogger("spot_wrapper")
    heard, told = ("robot_state", "metrics", "lease", "world_objects"), {}
    spot = SpotWrapper(
        username=user,
        password=password,
        hostname="127.0.0.1",
        port=int(port),
        robot_name="spot",
        logger=logger,
        cert_resource_glob=certificate,
        start_estop=True,
        rates=dict.fromkeys(heard, 2.0),
        callbacks={name: functools.partial(told.__setitem__, name) for name in heard},
    )
    report = Report(spot)
    call = report.call
    logging.getLogger("bosdyn").setLevel(logging.CRITICAL)
    call("claim")
    call("releaseLease")
    call("getLease")
    call("takeLease")
    call("updateTasks")
    settle(spot, 2.5)
    for name in heard:
        report.said[f"callback {name}"] = "ok" if told.get(name) is not None else "never called"
    report.read(*PROPERTIES.split())
    report.said["spot_world_objects.async_task"] = (
        "ok" if spot.spot_world_objects.async_task.proto is not None else "is None"
    )
    call("authenticate", spot._robot, user, password, logger, good=lambda done: done is True)
    _payload(spot, call, Path(out) / "payload", logger)
    call("is_estopped", good=lambda stopped: stopped is False)
    call("has_arm", good=lambda has: has is True)
    call("robotToLocalTime", spot.time_skew)
    call("power_on")
    call("check_is_powered_on", good=lambda on: on is True)
    call("toggle_power", True)
    _checks(spot, call)
    call("stand", True)
    settle(spot, 2.0)
    call("simple_stand")
    settle(spot, 1.5)
    call("set_mobility_params", spot.get_mobility_params())
    call("get_mobility_params", good=lambda params: params is not None)
    call("resetMobilityParams")
    _motion(spot, call)
    _pictures(spot, call)
    _arm(spot, call, thing)
    _objects(spot, call)
    _maps(spot, call, the_map, out)
    _missions(spot, call)
    _dances(call)
    _dock(spot, call, int(dock))
    _end(spot, call)
    call("disconnect")
    said = dict(report.said)
    # What is read to get at something else counts as called.
    called = {name for said_of in said for name in (said_of, said_of.rpartition(".")[0])}
    said["not called"] = sorted(public(spot) - called)
    print("REPORT " + json.dumps(said))


def _payload(spot: Any, call: Any, credentials: Path, logger: logging.Logger) -> None:
    """Logs in as a payload that it registers before."""
    guid, secret = read_or_create_payload_credentials(str(credentials))
    robot = spot._robot
    payload = payload_pb2.Payload(GUID=guid, name="box", description="heavy")
    client = robot.ensure_client(PayloadRegistrationClient.default_service_name)
    client.register_payload(payload, secret)
    call(
        "authenticate_from_payload_credentials",
        robot,
        str(credentials),
        logger,
        good=lambda done: done is True,
    )


def _checks(spot: Any, call: Any) -> None:
    call("spot_check.start_check")
    call("spot_check.get_feedback", good=lambda answer: answer.state > 0)
    call("spot_check.stop_check")
    call("spot_check.revert_calibration")
    settle(spot, 1.5)
    call("spot_check.blocking_check", timeout_sec=30, update_freq=1.0)
    call("spot_check.spot_check_resp.ByteSize", good=lambda size: size > 0)


def _motion(spot: Any, call: Any) -> None:
    call("velocity_cmd", 0.1, 0.0, 0.2, cmd_duration=1.0)
    settle(spot, 0.5)
    call("stop")
    call("trajectory_cmd", 0.3, 0.0, 0.0, 10.0)
    settle(spot, 3.0)
    number = call("robot_command", RobotCommandBuilder.synchro_stand_command())
    call(
        "get_robot_command_feedback", number[2] if number else 0, good=lambda told: told is not None
    )
    for name in ("sit", "sit_blocking", "self_right", "battery_change_pose"):
        call(name)
        settle(spot, 1.5)
    call("stand", True)
    settle(spot, 2.0)


def _pictures(spot: Any, call: Any) -> None:
    some = lambda answer: answer is not None  # noqa: E731
    for name in ("frontleft", "frontright", "left", "right", "back", "hand"):
        call(f"spot_images.get_{name}_rgb_image", good=some)
    call("spot_images.get_rgb_image", "left_fisheye_image", good=some)
    call("spot_images.get_camera_images", good=some)
    call("spot_images.get_depth_images", good=some)
    call("spot_images.get_depth_registered_images", good=some)
    from spot_wrapper.spot_images import CameraSource

    sources = [CameraSource("frontleft", ["visual", "depth", "depth_registered"])]
    call("spot_images.get_images_by_cameras", sources, good=some)
    call("spot_images.get_images", spot.spot_images._camera_image_requests, good=some)
    request = gripper_camera_param_pb2.GripperCameraGetParamRequest()
    call("spot_images.get_gripper_camera_params", request, good=some)
    params = gripper_camera_param_pb2.GripperCameraParams()
    params.brightness.value = 0.4
    wanted = gripper_camera_param_pb2.GripperCameraParamRequest(params=params)
    call("spot_images.set_gripper_camera_params", wanted, good=some)


def _arm(spot: Any, call: Any, thing: list[float]) -> None:
    call("spot_arm.ensure_arm_power_and_stand")
    call("spot_arm.arm_unstow")
    call("spot_arm.gripper_open")
    call("spot_arm.gripper_angle_open", 45.0)
    call("spot_arm.gripper_close")
    targets = [0.0, -0.9, 1.8, 0.0, -0.9, 0.0]
    call("spot_arm.arm_joint_move", targets)
    call("spot_arm.arm_carry")
    pose = {"x": 0.8, "y": 0.1, "z": 0.2, "qx": 0.0, "qy": 0.0, "qz": 0.0, "qw": 1.0}
    call("spot_arm.hand_pose", **pose, duration=1.0)
    call("spot_arm.create_wrench_from_forces_and_torques", [0, 0, 1], [0, 0, 0])
    parts = ("forces_pt0", "torques_pt0", "forces_pt1", "torques_pt1")
    force = SimpleNamespace(duration=1.0, frame="odom", **{key: [0, 0, -1] for key in parts})
    call("spot_arm.force_trajectory", force)
    velocity = arm_command_pb2.ArmVelocityCommand.Request()
    velocity.cylindrical_velocity.linear_velocity.theta = 0.3
    call("spot_arm.handle_arm_velocity", velocity)
    point = RobotCommandBuilder.create_arm_joint_trajectory_point(*targets)
    trajectory = arm_command_pb2.ArmJointTrajectory(points=[point])
    made = call("spot_arm.make_arm_trajectory_command", trajectory)
    number = call("robot_command", made)[2]
    call("spot_arm.wait_for_arm_command_to_complete", number)
    call(
        "arm_joint_cmd",
        **dict(zip(("sh0", "sh1", "el0", "el1", "wr0", "wr1"), targets, strict=True)),
    )
    call("spot_arm.block_until_gripper_command_completes", spot._robot_command_client, 0, 1.0)
    request = arm_surface_contact_pb2.ArmSurfaceContact.Request(root_frame_name="body")
    request.pose_trajectory_in_task.points.add().pose.position.x = 0.8
    call("arm_surface_contact_command", request)
    holding = manipulation_api_pb2.ApiGraspOverride
    carried = robot_state_pb2.ManipulatorState
    for hold in (holding.OVERRIDE_HOLDING, holding.OVERRIDE_NOT_HOLDING):
        call(
            "spot_arm.override_grasp_or_carry",
            hold,
            carried.CARRY_STATE_CARRIABLE if hold == holding.OVERRIDE_HOLDING else 0,
        )
    x, y, z = thing
    pick = manipulation_api_pb2.PickObject(frame_name="odom")
    pick.object_rt_frame.x, pick.object_rt_frame.y, pick.object_rt_frame.z = x, y, z
    wanted = manipulation_api_pb2.ManipulationApiRequest(pick_object=pick)
    number = call("manipulation_command", wanted)[2]
    call(
        "spot_arm.block_until_manipulation_completes",
        spot._manipulation_api_client,
        number,
        30.0,
        good=lambda held: held is True,
    )
    call("get_manipulation_command_feedback", number, good=lambda told: told.current_state > 0)
    call("spot_arm.get_manipulation_command_feedback", number, good=lambda told: told is not None)
    call("spot_arm.manipulation_command", wanted)
    call("spot_arm.gripper_open")
    call("spot_arm.grasp_3d", "odom", thing)
    call("spot_arm.gripper_open")
    call("spot_arm.arm_stow")


def _objects(spot: Any, call: Any) -> None:
    call(
        "spot_world_objects.list_world_objects",
        [],
        0.0,
        good=lambda told: bool(told.world_objects),
    )
    added = world_object_pb2.WorldObject(name="added")
    added.acquisition_time.GetCurrentTime()
    added.apriltag_properties.tag_id = 7
    mutation = world_object_pb2.MutateWorldObjectRequest.Mutation(
        action=world_object_pb2.MutateWorldObjectRequest.ACTION_ADD, object=added
    )
    request = world_object_pb2.MutateWorldObjectRequest(mutation=mutation)
    added_well = lambda told: told.status == told.STATUS_OK  # noqa: E731
    call("mutate_world_objects", request, good=lambda answer: True)
    call("spot_world_objects.mutate_world_objects", request, good=added_well)
    call("clear_behavior_fault", 12345, good=lambda answer: answer[2] is not True)


def _maps(spot: Any, call: Any, the_map: str, out: str) -> None:
    call("spot_graph_nav.clear_graph")
    call("spot_graph_nav.upload_graph", the_map)
    call("spot_graph_nav.navigate_initial_localization", the_map)
    call("spot_graph_nav.list_graph", good=lambda answer: isinstance(answer, list))
    call("spot_graph_nav.set_initial_localization_fiducial")
    call("spot_graph_nav.download_graph", str(Path(out) / "one"))
    call("spot_graph_nav.download_navigation_graph", str(Path(out) / "two") + "/")
    client = spot._graph_nav_client
    here = client.get_localization_state().localization.waypoint_id
    near = {
        end
        for edge in client.download_graph().edges
        for end in (edge.id.from_waypoint, edge.id.to_waypoint)
        if here in (edge.id.from_waypoint, edge.id.to_waypoint)
    }
    goal = sorted(near - {here})[0]
    call("spot_graph_nav.navigate_to_existing_waypoint", goal)
    call("spot_graph_nav.navigate_through_route", [goal, here])
    call("spot_graph_nav.set_initial_localization_waypoint", [here])
    call("spot_graph_nav.navigation_close_loops", True, True)
    call("spot_graph_nav.optmize_anchoring")


def _missions(spot: Any, call: Any) -> None:

    def leases() -> list[Any]:
        # Each use of a lease needs a newer one.
        return [spot._robot.lease_wallet.advance()]

    root = nodes_pb2.Node(name="nap", sleep=nodes_pb2.Sleep(seconds=5.0))
    until_s = time.time() + 30.0
    call("spot_mission.load_mission", root, leases())
    call("spot_mission.load_mission", root, leases(), 1000)
    call("spot_mission.get_mission_info", good=lambda info: info.root.name == "nap")
    call("spot_mission.play_mission", until_s, leases())
    call("spot_mission.get_mission_state", good=lambda state: state.mission_id > 0)
    call("spot_mission.pause_mission")
    call("spot_mission.restart_mission", until_s, leases())
    call("spot_mission.stop_mission")


def _dances(call: Any) -> None:
    """The emulator's robot has no licence for dances, which the wrapper says."""
    refused = lambda answer: answer[0] is False and "licensed" in str(answer[1])  # noqa: E731
    for name in NO_DANCES:
        call(name, good=refused)
    call("get_choreography_status", good=refused)
    call("start_recording_state", 1.0, good=refused)
    call("upload_choreography", None, good=refused)
    call("upload_animation_proto", None, good=refused)
    call("upload_animation", "", "", good=refused)
    for name in ("execute_dance", "execute_choreography_by_name"):
        call(name, "", 0, good=refused)
    call("choreography_log_to_animation_file", "", "", False, good=refused)


def _dock(spot: Any, call: Any, dock: int) -> None:
    call("spot_docking.dock", dock)
    call("spot_docking.get_docking_state", good=lambda state: state.status > 0)
    call("get_docking_state", good=lambda state: state.status > 0)
    call("spot_docking.undock")


def _end(spot: Any, call: Any) -> None:
    call("safe_power_off")
    settle(spot, 2.0)
    call("toggle_power", False)
    call("assertEStop", False)
    for name in GIVES_BACK:
        call(name)


if __name__ == "__main__":
    main()
