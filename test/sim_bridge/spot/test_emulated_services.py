"""The robot's smaller services, and maps, as the SDK's clients use them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from bosdyn.api import (
    data_index_pb2,
    geometry_pb2,
    gripper_camera_param_pb2,
    payload_pb2,
    time_range_pb2,
    world_object_pb2,
)
from bosdyn.api.graph_nav import graph_nav_pb2, map_pb2, map_processing_pb2, nav_pb2
from bosdyn.api.spot import door_pb2, spot_check_pb2
from bosdyn.client.data_buffer import DataBufferClient
from bosdyn.client.data_service import DataServiceClient
from bosdyn.client.directory_registration import (
    DirectoryRegistrationClient,
    ServiceAlreadyExistsError,
)
from bosdyn.client.door import DoorClient
from bosdyn.client.graph_nav import (
    GraphNavClient,
    InvalidEdgeError,
    RobotNotLocalizedToRouteError,
)
from bosdyn.client.gripper_camera_param import GripperCameraParamClient
from bosdyn.client.lease import LeaseClient, LeaseKeepAlive
from bosdyn.client.map_processing import MapProcessingServiceClient
from bosdyn.client.math_helpers import Vec3
from bosdyn.client.payload_registration import (
    InvalidPayloadCredentialsError,
    PayloadRegistrationClient,
)
from bosdyn.client.ray_cast import RayCastClient
from bosdyn.client.recording import GraphNavRecordingServiceClient
from bosdyn.client.robot_state import RobotStateClient
from bosdyn.client.spot_check import SpotCheckClient, SpotCheckNotSittingError, run_spot_check
from bosdyn.client.world_object import WorldObjectClient
from bosdyn.util import now_timestamp
from emulated_robot import connected, emulated, standing
from foreign_programs import waypoints
from recorded_map import record

from planner.world.geometry import Pose
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.recorded_graph import RecordedGraph
from sim_bridge.spot.emulator.server import SpotEmulator


@pytest.fixture
def emulator() -> Iterator[SpotEmulator]:
    with emulated() as made:
        yield made


@pytest.fixture
def robot(emulator: SpotEmulator) -> Iterator[Any]:
    with connected(emulator) as made:
        yield made


def test_gripper_camera_settings_are_kept_and_unset_ones_stay(robot: Any) -> None:
    client = robot.ensure_client(GripperCameraParamClient.default_service_name)
    params = gripper_camera_param_pb2.GripperCameraParams()
    params.brightness.value = 0.25
    client.set_camera_params(gripper_camera_param_pb2.GripperCameraParamRequest(params=params))
    ask = gripper_camera_param_pb2.GripperCameraGetParamRequest()
    told = client.get_camera_params(ask).params
    assert told.brightness.value == pytest.approx(0.25)
    assert told.focus_auto.value
    assert told.camera_mode == params.MODE_640_480


def test_a_spot_check_needs_a_sitting_robot_and_tells_its_parts_and_results(robot: Any) -> None:
    client = robot.ensure_client(SpotCheckClient.default_service_name)
    leases = robot.ensure_client(LeaseClient.default_service_name)
    feedback = spot_check_pb2.SpotCheckFeedbackResponse
    with standing(robot):
        lease = leases.lease_wallet.advance()
        start = spot_check_pb2.SpotCheckCommandRequest.COMMAND_START
        client.spot_check_command(
            spot_check_pb2.SpotCheckCommandRequest(lease=lease.lease_proto, command=start)
        )
        with pytest.raises(SpotCheckNotSittingError):
            client.spot_check_feedback(spot_check_pb2.SpotCheckFeedbackRequest())
        robot.power_off(cut_immediately=False, timeout_sec=10)
    with LeaseKeepAlive(leases, must_acquire=True, return_at_exit=True):
        robot.power_on(timeout_sec=10)
        lease = leases.lease_wallet.advance()
        told = run_spot_check(client, lease, timeout_sec=40, update_frequency=1.0)
    assert told.state == feedback.STATE_FINISHED
    assert set(told.camera_results) == {"frontleft", "frontright", "left", "right", "back"}
    assert len(told.kinematic_cal_results) == 12
    assert told.progress == pytest.approx(1.0)


def test_a_registered_service_that_falls_silent_is_a_fault_until_it_is_gone(robot: Any) -> None:
    client = robot.ensure_client(DirectoryRegistrationClient.default_service_name)
    states = robot.ensure_client(RobotStateClient.default_service_name)
    wanted = ("mine", "bosdyn.api.ImageService", "mine.spot.robot", "127.0.0.1", 5000)
    client.register(*wanted, liveness_timeout_secs=0.5)
    with pytest.raises(ServiceAlreadyExistsError):
        client.register(*wanted, liveness_timeout_secs=0.5)
    assert "mine" in {entry.name for entry in robot.list_services()}
    time.sleep(1.0)
    faults = states.get_robot_state().service_fault_state.faults
    assert [fault.fault_id.service_name for fault in faults] == ["mine"]
    client.unregister("mine")
    assert not states.get_robot_state().service_fault_state.faults


def test_a_payload_logs_in_with_its_own_secret_only(emulator: SpotEmulator, robot: Any) -> None:
    client = robot.ensure_client(PayloadRegistrationClient.default_service_name)
    client.register_payload(payload_pb2.Payload(GUID="box", name="box"), "secret")
    with pytest.raises(InvalidPayloadCredentialsError):
        client.get_payload_auth_token("box", "wrong")
    assert client.get_payload_auth_token("box", "secret")


def test_what_is_written_to_the_log_can_be_read_again(robot: Any) -> None:
    robot.ensure_client(DataBufferClient.default_service_name).add_operator_comment("hello")
    client = robot.ensure_client(DataServiceClient.default_service_name)
    everything = time_range_pb2.TimeRange(end=now_timestamp())
    everything.end.seconds += 60
    spec = data_index_pb2.EventsCommentsSpec(time_range=everything, comments=True)
    told = client.get_events_comments(spec).events_comments
    assert [comment.message for comment in told.operator_comments] == ["hello"]


def test_a_ray_meets_the_ground_where_it_should(robot: Any) -> None:
    client = robot.ensure_client(RayCastClient.default_service_name)
    told = client.raycast(Vec3(0, 0, 0.5), Vec3(1, 0, -1), [1], frame_name="gpe")
    (hit,) = told.hits
    assert hit.distance_meters == pytest.approx(0.5 * 2**0.5)


def test_what_the_robot_sees_nobody_changes_and_what_a_client_adds_is_listed(robot: Any) -> None:
    client = robot.ensure_client(WorldObjectClient.default_service_name)
    requests = world_object_pb2.MutateWorldObjectRequest
    reply = world_object_pb2.MutateWorldObjectResponse

    def mutate(action: int, **fields: Any) -> Any:
        what = world_object_pb2.WorldObject(acquisition_time=now_timestamp(), **fields)
        mutation = requests.Mutation(action=action, object=what)
        return client.mutate_world_objects(requests(mutation=mutation))

    (seen,) = client.list_world_objects().world_objects
    assert mutate(requests.ACTION_DELETE, id=seen.id).status == reply.STATUS_NO_PERMISSION
    added = mutate(requests.ACTION_ADD, name="mine")
    assert added.mutated_object_id != seen.id
    assert {each.name for each in client.list_world_objects().world_objects} >= {"mine"}
    assert mutate(requests.ACTION_DELETE, id=added.mutated_object_id).status == reply.STATUS_OK
    assert len(client.list_world_objects().world_objects) == 1


def test_a_handle_that_the_door_service_is_shown_is_pulled_open(
    emulator: SpotEmulator, robot: Any
) -> None:
    world = emulator.world
    piece = next(p for p in world.world.pieces.values() if p.record.joints)
    joint = piece.record.joints[0]
    point = world.boot.inverse().apply(piece.handle(joint))
    client = robot.ensure_client(DoorClient.default_service_name)
    auto = door_pb2.DoorCommand.AutoGraspCommand(frame_name="odom")
    middle = world.boot.inverse().apply(
        (piece.record.x_m, piece.record.y_m, piece.handle(joint)[2])
    )
    outward = [a - b for a, b in zip(point, middle, strict=True)]
    start = [a + 0.5 * d for a, d in zip(point, outward, strict=True)]
    for field, (x, y, z) in (
        ("search_ray_start_in_frame", start),
        ("search_ray_end_in_frame", point),
    ):
        getattr(auto, field).CopyFrom(geometry_pb2.Vec3(x=x, y=y, z=z))
    command = door_pb2.DoorCommand.Request(auto_grasp_command=auto)
    kinds = door_pb2.DoorCommand.Feedback
    with standing(robot):
        number = client.open_door(door_pb2.OpenDoorCommandRequest(door_command=command))
        ask = door_pb2.OpenDoorFeedbackRequest(door_command_id=number.door_command_id)
        status = kinds.STATUS_IN_PROGRESS
        ends_s = time.monotonic() + 20.0
        while status == kinds.STATUS_IN_PROGRESS and time.monotonic() < ends_s:
            status = client.open_door_feedback(ask).feedback.status
            time.sleep(0.2)
    assert status == kinds.STATUS_COMPLETED
    assert piece.opening[joint.name] == pytest.approx(1.0)


# Maps


def test_a_map_goes_up_with_the_sdks_default_lease_and_a_named_route_is_walked(
    emulator: SpotEmulator, robot: Any, tmp_path: Path
) -> None:
    recorded = record(open_world(default_house(), "", 7, 1).house, tmp_path)
    places = RecordedGraph()
    places.merge(recorded, replace=True)
    here, there = waypoints(emulator, recorded)
    far = max(
        places.places(),
        key=lambda name: emulator.world.base.inverse().apply(places.places()[name].position_m)[0],
    )
    graph = robot.ensure_client(GraphNavClient.default_service_name)
    # Nobody owns the lease, and none is named: as the SDK's own programs do it.
    graph.clear_graph()
    told = graph.upload_graph(graph=recorded)
    for name in told.unknown_waypoint_snapshot_ids:
        graph.upload_waypoint_snapshot(map_pb2.WaypointSnapshot(id=name))
    assert not graph.upload_graph(graph=recorded).unknown_waypoint_snapshot_ids
    guess = nav_pb2.Localization(waypoint_id=far)
    no_marker = graph_nav_pb2.SetLocalizationRequest.FIDUCIAL_INIT_NO_FIDUCIAL
    with pytest.raises(Exception, match="VISUAL_ALIGNMENT_FAILED"):
        graph.set_localization(guess, fiducial_init=no_marker)
    graph.set_localization(nav_pb2.Localization())
    with standing(robot):
        with pytest.raises(InvalidEdgeError):
            graph.navigate_route(graph.build_route([here, far], []), 1.0)
        with pytest.raises(RobotNotLocalizedToRouteError):
            graph.navigate_route(graph.build_route([far], []), 1.0)
        route = graph.build_route(
            [here, there], [map_pb2.Edge.Id(from_waypoint=here, to_waypoint=there)]
        )
        reached = graph_nav_pb2.NavigationFeedbackResponse.STATUS_REACHED_GOAL
        status, ends_s = 0, time.monotonic() + 30.0
        while status != reached and time.monotonic() < ends_s:
            # Anew each time, as the SDK's example does.
            number = graph.navigate_route(route, 1.0)
            time.sleep(0.3)
            status = graph.navigation_feedback(number).status
        assert status == reached
        assert graph.get_localization_state().localization.waypoint_id == there


def test_a_recorded_map_leads_back_and_loops_are_closed(emulator: SpotEmulator, robot: Any) -> None:
    recording = robot.ensure_client(GraphNavRecordingServiceClient.default_service_name)
    graph = robot.ensure_client(GraphNavClient.default_service_name)
    processing = robot.ensure_client(MapProcessingServiceClient.default_service_name)
    leases = robot.ensure_client(LeaseClient.default_service_name)
    with LeaseKeepAlive(leases, must_acquire=True, return_at_exit=True):
        first = recording.start_recording()
        assert recording.get_record_status().is_recording
        base = emulator.world.base
        for step in ((0.3, 0.0), (0.3, 0.2)):
            moved = base.compose(Pose.planar(*step, 0.0))
            x, y, _ = moved.position_m
            emulator.world.world.move_agent(emulator.world.agent, x, y, moved.yaw_rad)
            assert recording.create_waypoint(waypoint_name="corner").created_waypoint.id
        recording.stop_recording()
    assert first is not None
    made = graph.download_graph()
    assert len(made.waypoints) == len(made.anchoring.anchors) == 4
    assert len(made.edges) == 3
    # The last two are where it stood when recording ended.
    last = {waypoint.id for waypoint in made.waypoints[2:]}
    assert graph.get_localization_state().localization.waypoint_id in last
    joined = processing.process_topology(
        params=map_processing_pb2.ProcessTopologyRequest.Params(), modify_map_on_server=True
    )
    assert len(joined.new_subgraph.edges) == 3
    assert len(graph.download_graph().edges) == 6
