"""The backend `ros` before a robot that does what the test says; over DDS: test/integration."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scripted_port import ScriptedPort, fails, map_of, silent

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame, Intrinsics
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveResult
from planner.world.share import config_dir
from sim_bridge.backend import PictureSource
from sim_bridge.one_robot import Command
from sim_bridge.opening import bare_episode
from sim_bridge.ros.backend import RosBackend
from sim_bridge.ros.driving import Held
from sim_bridge.ros.grasps import Grasp
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import default_ros
from sim_bridge.ros.port import Errand, Interface, RobotState, State
from sim_bridge.ros.senses import without_arm
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.health import SpeedLimit, Supervised
from sim_bridge.safety.options import KeepOut, SafetyOptions, Zone

AGENT = "agent_0"
HOUSE = load_house("train_0")
EPISODE = bare_episode(HOUSE, 1)
URDF = (config_dir() / "robots" / "emulator.urdf").read_text()
OPTIONS = default_ros()
TABLE = next(piece for piece in HOUSE.furniture if piece.class_name == "table")
NAVIGATE = Primitive("navigate", (*TABLE.box.center_m[:2], 0.5))


def started(safety: SafetyOptions | None = None) -> tuple[RosBackend, ScriptedPort]:
    port = ScriptedPort(OPTIONS, URDF)
    room = HOUSE.rooms[0].polygon_m
    middle = [sum(corner[axis] for corner in room) / len(room) for axis in (0, 1)]
    port.base = Pose.planar(*middle)
    port.tell(map=map_of(HOUSE))
    backend = RosBackend(port, OPTIONS, safety)
    backend.reset(HOUSE, EPISODE, 1)
    backend.step(0.03)
    return backend, port


def finish(backend: RosBackend, port: ScriptedPort, primitive: Primitive) -> PrimitiveResult:
    handle = backend.start(AGENT, primitive)
    for _ in range(20_000):
        status = backend.poll(handle)
        if status.result is not None:
            return status.result
        port.time_s += 0.03
        backend.step(0.03)
    raise AssertionError(f"it still runs: {backend.poll(handle)}")


def test_it_is_a_robot_with_pictures_of_its_own_times() -> None:
    backend, _ = started()
    assert isinstance(backend, Supervised)
    assert isinstance(backend, PictureSource)
    assert not backend.simulated
    assert backend.world_state() is None
    SafetyGate(backend).close()


def test_it_asks_for_a_way_before_it_drives_and_stands_within_reach() -> None:
    backend, port = started()
    result = finish(backend, port, NAVIGATE)
    assert result.succeeded, result.text
    kinds = [kind for kind, _ in port.sent]
    assert kinds.index(Interface.PATH) < kinds.index(Interface.NAVIGATE)
    gap = TABLE.box.distance_m((*port.base.position_m[:2], TABLE.box.center_m[2]))
    assert gap < OPTIONS.size.reach_m


def test_where_nav2_finds_no_way_another_place_to_stand_is_tried() -> None:
    backend, port = started()
    asked: list[Pose] = []

    def no_way_at_first(errand: Errand) -> None:
        asked.append(next(w for k, w in reversed(port.sent) if k is Interface.PATH))  # type: ignore[arg-type]
        if len(asked) == 1:
            fails(206)(errand)
        else:
            errand.state = State.SUCCEEDED

    port.answers[Interface.PATH] = no_way_at_first
    assert finish(backend, port, NAVIGATE).succeeded
    assert len(asked) == 2
    assert math.dist(asked[0].position_m, asked[1].position_m) > 0.3


@pytest.mark.parametrize(
    ("interface", "code", "is_code", "says"),
    [
        (Interface.PATH, 208, PrimitiveCode.UNREACHABLE, "there is no way to the place"),
        (Interface.PATH, 202, PrimitiveCode.BACKEND_FAULT, "a transform is missing or too old"),
        (Interface.PATH, 205, PrimitiveCode.BLOCKED, "stands in an obstacle"),
        (Interface.NAVIGATE, 105, PrimitiveCode.BLOCKED, "makes no progress"),
        (Interface.NAVIGATE, 9003, PrimitiveCode.BLOCKED, "took too long"),
        (Interface.NAVIGATE, 9002, PrimitiveCode.BACKEND_FAULT, "a transform is missing"),
        (Interface.NAVIGATE, 4711, PrimitiveCode.BACKEND_FAULT, "failed with the code 4711"),
    ],
)
def test_what_nav2_reports_is_one_code_and_one_sentence(
    interface: Interface, code: int, is_code: PrimitiveCode, says: str
) -> None:
    backend, port = started()
    port.answers[interface] = fails(code, "words\nof Nav2")
    result = finish(backend, port, NAVIGATE)
    assert result.code is is_code
    assert says in result.text
    assert "words of Nav2" in result.text
    assert "\n" not in result.text
    assert port.recalls > 0


def test_a_server_that_does_not_answer_is_dead_and_the_robot_stands() -> None:
    for interface in (Interface.PATH, Interface.NAVIGATE):
        backend, port = started()
        port.answers[interface] = silent
        result = finish(backend, port, NAVIGATE)
        assert result.code is PrimitiveCode.BACKEND_FAULT
        assert result.evidence["reason"] == "NO_SERVER"
        assert "is not there: " in result.text
        assert port.recalls > 0


def test_a_rejected_goal_is_said() -> None:
    backend, port = started()
    port.answers[Interface.NAVIGATE] = lambda errand: setattr(errand, "state", State.REJECTED)
    assert "rejected the goal" in finish(backend, port, NAVIGATE).text


def test_a_success_that_is_none_is_not_believed() -> None:
    backend, port = started()
    stays = port.base

    def says_so(errand: Errand) -> None:
        errand.state = State.SUCCEEDED
        port.running.append(errand)

    port.answers[Interface.NAVIGATE] = says_so
    port.navigate = lambda goal: port._send(Interface.NAVIGATE, goal, lambda: None)  # type: ignore[method-assign]
    result = finish(backend, port, NAVIGATE)
    assert result.code is PrimitiveCode.BLOCKED
    assert "reports success, but the robot is" in result.text
    assert port.base == stays


def test_a_way_through_a_keep_out_zone_is_not_driven() -> None:
    zone = Zone(name="stairs", polygon_m=((-50.0, -50.0), (50.0, -50.0), (50.0, -40.0)))
    backend, port = started(SafetyOptions(keep_out=KeepOut(zones=(zone,))))

    def through_it(errand: Errand) -> None:
        errand.state, errand.way_m = State.SUCCEEDED, ((0.0, 0.0), (30.0, -44.0))

    port.answers[Interface.PATH] = through_it
    result = finish(backend, port, NAVIGATE)
    assert result.code is PrimitiveCode.UNREACHABLE
    assert "keep-out zone stairs" in result.text
    assert Interface.NAVIGATE not in [kind for kind, _ in port.sent]


def test_a_pause_recalls_the_goal_and_resume_sends_it_again() -> None:
    backend, port = started()
    port.answers[Interface.NAVIGATE] = lambda errand: setattr(errand, "state", State.ACTIVE)
    handle = backend.start(AGENT, NAVIGATE)
    while not any(kind is Interface.NAVIGATE for kind, _ in port.sent):
        backend.step(0.03)
    backend.pause(AGENT)
    assert port.recalls == 1
    for _ in range(10):
        backend.step(0.03)
    assert sum(kind is Interface.NAVIGATE for kind, _ in port.sent) == 1
    del port.answers[Interface.NAVIGATE]
    backend.resume(AGENT)
    for _ in range(200):
        port.time_s += 0.03
        backend.step(0.03)
    assert sum(kind is Interface.NAVIGATE for kind, _ in port.sent) == 2
    done = backend.poll(handle).result
    assert done is not None
    assert done.succeeded


def test_stop_recalls_every_goal_even_if_nothing_runs_here() -> None:
    backend, port = started()
    backend.stop(AGENT)
    assert port.recalls == 1
    handle = backend.start(AGENT, NAVIGATE)
    backend.stop(AGENT)
    result = backend.poll(handle).result
    assert result is not None
    assert result.code is PrimitiveCode.STOPPED
    assert port.recalls == 2


def test_a_base_that_is_faster_than_allowed_is_stopped() -> None:
    backend, port = started()
    port.answers[Interface.NAVIGATE] = lambda errand: setattr(errand, "state", State.ACTIVE)
    backend.limit_speed(AGENT, SpeedLimit(0.25, 0.5))
    assert port.limits == [0.25]
    port.speed_m_s = 0.5
    result = finish(backend, port, NAVIGATE)
    assert result.code is PrimitiveCode.BACKEND_FAULT
    assert "it drives 0.50 m/s where 0.25 m/s are allowed" in result.text
    assert [fault.blocks for fault in backend.health(AGENT).faults] == [True]
    # A person who claims it again has seen that.
    assert backend.operate(AGENT, Command.CLAIM).success
    assert backend.health(AGENT).faults == ()


def test_power_and_stand_are_refused_while_a_server_is_missing() -> None:
    backend, port = started()
    port.tell(servers={"/navigate_to_pose": False})
    assert backend.operate(AGENT, Command.CLAIM).success
    refused = backend.operate(AGENT, Command.POWER_ON)
    assert not refused.success
    assert "no action server /navigate_to_pose" in refused.message
    assert not backend.health(AGENT).powered
    # A server that starts again is found again.
    port.tell(servers={"/navigate_to_pose": True})
    assert backend.operate(AGENT, Command.POWER_ON).success
    assert backend.health(AGENT).powered


def test_a_dead_server_is_a_warning_with_its_name() -> None:
    backend, port = started()
    port.tell(servers={"/move_action": False})
    backend.step(0.03)
    faults = backend.health(AGENT).faults
    assert [(fault.name, fault.blocks) for fault in faults] == [
        ("no action server /move_action", False)
    ]


def test_a_localisation_that_is_too_old_lets_nothing_begin() -> None:
    backend, port = started()
    port.localised_s = 1.7
    backend.step(0.03)
    assert any(fault.blocks for fault in backend.health(AGENT).faults)
    result = finish(backend, port, NAVIGATE)
    assert result.code is PrimitiveCode.BACKEND_FAULT
    assert "is 1.7 s old; is it localised?" in result.text
    assert port.sent == []


def test_odometry_that_stops_makes_the_robot_unheard() -> None:
    backend, port = started()
    port.odometry_s = 2.0
    backend.step(0.03)
    assert backend.health(AGENT).age_s == pytest.approx(2.0)


def test_a_map_of_another_house_is_refused() -> None:
    port = ScriptedPort(OPTIONS, URDF)
    for shown in (map_of(HOUSE, walls=False), map_of(load_house("train_5"))):
        port.tell(map=shown)
        with pytest.raises(PlannerError, match=r"/map does not show train_0: \d+% of its walls"):
            RosBackend(port, OPTIONS).reset(HOUSE, EPISODE, 1)


def test_its_map_may_lie_elsewhere_in_the_houses_frame() -> None:
    shown = map_of(HOUSE)
    moved = OPTIONS.frames.model_copy(update={"map_in_house": (1.0, 2.0, 0.0)})
    options = OPTIONS.model_copy(update={"frames": moved})
    port = ScriptedPort(options, URDF)
    port.tell(map=shown)
    with pytest.raises(PlannerError, match="does not show"):
        RosBackend(port, options).reset(HOUSE, EPISODE, 1)
    port.tell(map=replace(shown, origin=Pose.planar(-2.0, -3.0)))
    port.base = Pose.planar(1.0, 1.0, 0.3)
    backend = RosBackend(port, options)
    backend.reset(HOUSE, EPISODE, 1)
    assert backend.observe(AGENT, ()).base.position_m[:2] == pytest.approx((2.0, 3.0))


def test_two_robots_are_refused() -> None:
    with pytest.raises(PlannerError, match="one robot is one agent, not 2"):
        RosBackend(ScriptedPort(OPTIONS, URDF), OPTIONS).reset(HOUSE, bare_episode(HOUSE, 2), 1)


def test_the_hand_is_what_the_fingers_measure() -> None:
    backend, port = started()
    place = Primitive("place", TABLE.box.center_m)
    assert finish(backend, port, place).code is PrimitiveCode.HAND_EMPTY
    assert not backend.observe(AGENT, ()).holding
    assert backend.observe(AGENT, ()).gripper_opening == pytest.approx(1.0)
    port.joints[OPTIONS.gripper.joint] = OPTIONS.gripper.joint_closed
    assert backend.observe(AGENT, ()).gripper_opening == 0.0


def test_what_is_taken_out_of_the_hand_is_not_held_any_more() -> None:
    backend, port = started()
    grasp = Grasp(Pose((0.7, 0.0, 0.8)), 0.05, 0.05, "top")
    backend.hold(Held(grasp))
    backend.step(0.03)
    assert backend.observe(AGENT, ()).holding
    port.joints[OPTIONS.gripper.joint] = OPTIONS.gripper.joint_closed
    backend.step(0.03)
    assert not backend.observe(AGENT, ()).holding


def test_without_a_picture_nothing_is_taken() -> None:
    backend, port = started()
    with pytest.raises(PlannerError, match=r"no pictures yet on /head_camera/rgb/image_raw"):
        backend.observe(AGENT)
    port.base = Pose.planar(*TABLE.box.center_m[:2])
    x, y, _ = TABLE.box.center_m
    result = finish(backend, port, Primitive("pick", (x + 0.3, y, 0.75)))
    assert result.code is PrimitiveCode.BACKEND_FAULT
    assert "no pictures yet on /head_camera/rgb/image_raw" in result.text


def test_what_nobody_hears_is_named_before_anything_moves() -> None:
    backend, _ = started()
    with pytest.raises(PlannerError, match="no camera 'body'"):
        backend.observe(AGENT, ("body",))
    with pytest.raises(PlannerError, match="there is no agent 'agent_3'"):
        backend.observe("agent_3", ())
    assert RobotState(servers={"/a": False, "/b": True}).missing == ["/a"]


def test_the_robots_own_arm_is_nothing_that_it_sees() -> None:
    lens = Intrinsics(64, 48, 60.0, 60.0, 32.0, 24.0)
    depth_m = np.full((48, 64), 2.0, np.float32)
    # An arm half a metre before the camera, across the middle of the picture.
    depth_m[20:28, :40] = 0.5
    frame = CameraFrame(np.zeros((48, 64, 3), np.uint8), depth_m, None, lens, Pose((0.0, 0.0, 0.0)))
    shoulder, wrist = (-0.4, 0.0, 0.5), (0.06, 0.0, 0.5)
    seen = without_arm(frame, [shoulder, wrist], 0.1).depth_m
    assert np.all(seen[20:28, :40] == 0.0)
    assert np.all(seen[:12] == 2.0)
    assert np.all(seen[36:] == 2.0)
    # What lies behind the arm's line, and not on it, stays.
    assert np.all(without_arm(frame, [(0.0, 0.0, 1.0), (0.1, 0.0, 1.0)], 0.1).depth_m == depth_m)
    assert without_arm(frame, [], 0.1) is frame


def test_the_arms_links_are_those_that_its_joints_move() -> None:
    links = Model(URDF, OPTIONS).arm_links
    assert links[0] == "torso_lift_link"
    assert links[-1] == OPTIONS.arm.tip
    assert "head_pan_link" not in links
    assert "wrist_roll_link" in links
