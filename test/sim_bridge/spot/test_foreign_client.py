"""Another client against the emulator, so that it is not tuned to our own bridge (SPOT-F2.7)."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")
import bosdyn.util
from bosdyn.api.graph_nav import graph_nav_pb2, map_pb2, nav_pb2
from bosdyn.client import create_standard_sdk
from bosdyn.client.frame_helpers import get_odom_tform_body
from bosdyn.client.graph_nav import (
    GraphNavClient,
    RobotNotLocalizedToRouteError,
    UnknownWaypointError,
)
from bosdyn.client.lease import LeaseClient, LeaseKeepAlive
from bosdyn.client.robot_command import RobotCommandClient, blocking_stand
from bosdyn.client.robot_state import RobotStateClient
from emulated_robot import emulated
from recorded_map import record

from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.machine import Motors, Posture, WallClock
from sim_bridge.spot.emulator.server import SpotEmulator


def test_spot_wrapper_claims_powers_stands_and_sits() -> None:
    wrapper = pytest.importorskip(
        "spot_wrapper.wrapper",
        reason="spot_wrapper is on no package index; install it from its source",
    )
    bosdyn.util.set_clock_source(time.time)
    opened = open_world(default_house(), "", 7, 1)
    with SpotEmulator(WallClock()) as emulator:
        emulator.load(opened.house, opened.episode, opened.seed)
        spot = wrapper.SpotWrapper(
            username=emulator.user,
            password=emulator.password,
            hostname=emulator.address,
            port=emulator.port,
            robot_name="spot",
            logger=logging.getLogger("spot_wrapper"),
            cert_resource_glob=str(emulator.authority),
            use_take_lease=False,
            start_estop=False,
        )
        for step in (spot.claim, spot.power_on, spot.stand):
            done, message = step()
            assert done, message
        time.sleep(1.5)
        emulator.advance()
        assert emulator.machine.motors is Motors.ON
        assert emulator.machine.posture is Posture.STANDING
        done, message = spot.sit()
        assert done, message
        spot.disconnect()


@pytest.fixture
def emulator() -> Iterator[SpotEmulator]:
    with emulated() as made:
        yield made


def walks(graph: Any, goal: Any, *, to_anchor: bool) -> str:
    """Re-issued as the SDK's own example does; the last status."""
    status, number = "", None
    reached = graph_nav_pb2.NavigationFeedbackResponse.STATUS_REACHED_GOAL
    ends_s = time.monotonic() + 60.0
    while time.monotonic() < ends_s:
        send = graph.navigate_to_anchor if to_anchor else graph.navigate_to
        number = send(goal, 1.0, command_id=number)
        time.sleep(0.5)
        told = graph.navigation_feedback(number).status
        status = graph_nav_pb2.NavigationFeedbackResponse.Status.Name(told)
        if told == reached:
            break
    return status


def test_a_program_with_the_sdk_alone_uploads_a_map_finds_itself_and_walks_along_it(
    emulator: SpotEmulator, tmp_path: Path
) -> None:
    """SPOT-F2.1: GraphNav as examples and spot_wrapper use it, whole and in streams."""
    opened = open_world(default_house(), "", 7, 1)
    record(opened.house, tmp_path)
    sdk = create_standard_sdk("stranger", cert_resource_glob=str(emulator.authority))
    robot = sdk.create_robot(emulator.address)
    robot.update_secure_channel_port(emulator.port)
    robot.authenticate(emulator.user, emulator.password)
    robot.time_sync.wait_for_sync(5)
    graph = robot.ensure_client(GraphNavClient.default_service_name)
    commands = robot.ensure_client(RobotCommandClient.default_service_name)
    states = robot.ensure_client(RobotStateClient.default_service_name)
    leases = robot.ensure_client(LeaseClient.default_service_name)
    with LeaseKeepAlive(leases, must_acquire=True, return_at_exit=True):
        robot.power_on(timeout_sec=10)
        blocking_stand(commands, update_frequency=20)

        def lease() -> Any:
            return leases.lease_wallet.advance().lease_proto

        graph.clear_graph(lease=lease())
        recorded = map_pb2.Graph()
        recorded.ParseFromString((tmp_path / "graph").read_bytes())
        told = graph.upload_graph(lease=lease(), graph=recorded)
        assert set(told.unknown_waypoint_snapshot_ids) == {
            w.snapshot_id for w in recorded.waypoints
        }
        for name in told.unknown_waypoint_snapshot_ids:
            snapshot = map_pb2.WaypointSnapshot()
            snapshot.ParseFromString((tmp_path / "waypoint_snapshots" / name).read_bytes())
            graph.upload_waypoint_snapshot(snapshot, lease=lease())
        again = graph.upload_graph(lease=lease(), graph=recorded)
        assert list(again.unknown_waypoint_snapshot_ids) == []
        assert graph.download_graph() == recorded
        some = recorded.waypoints[0]
        assert graph.download_waypoint_snapshot(some.snapshot_id).id == some.snapshot_id

        with pytest.raises(RobotNotLocalizedToRouteError):
            graph.navigate_to(some.id, 1.0)
        odom = get_odom_tform_body(states.get_robot_state().kinematic_state.transforms_snapshot)
        graph.set_localization(
            initial_guess_localization=nav_pb2.Localization(), ko_tform_body=odom.to_proto()
        )
        here = graph.get_localization_state().localization
        assert here.waypoint_id
        with pytest.raises(UnknownWaypointError):
            graph.navigate_to("nowhere", 1.0)
        near = {e.id.to_waypoint for e in recorded.edges if e.id.from_waypoint == here.waypoint_id}
        near |= {e.id.from_waypoint for e in recorded.edges if e.id.to_waypoint == here.waypoint_id}
        goal = sorted(near)[0]
        assert walks(graph, goal, to_anchor=False) == "STATUS_REACHED_GOAL"
        assert graph.get_localization_state().localization.waypoint_id == goal
        (anchor,) = [a for a in recorded.anchoring.anchors if a.id == here.waypoint_id]
        assert walks(graph, anchor.seed_tform_waypoint, to_anchor=True) == "STATUS_REACHED_GOAL"
        back = graph.get_localization_state().localization
        assert back.waypoint_id == here.waypoint_id
        assert abs(back.waypoint_tform_body.position.x) < 0.05
    robot.stop_time_sync()
