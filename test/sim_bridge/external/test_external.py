"""The backend `external` before records of what was heard; over real DDS: test/integration."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from planner.parts.catalog import Verdict
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.observation import CameraNews, Intrinsics, Observation, Pixels, RobotPicture
from planner.world.primitive import Primitive, PrimitiveCode, all_primitives
from sim_bridge.conformance import check_backend
from sim_bridge.external.backend import ExternalBackend
from sim_bridge.external.readings import ExternalOptions, RobotReadings, default_external
from sim_bridge.one_robot import Command, FrameHistory, Outcome, PoseHistory
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.health import Supervised

ROBOT = "agent_0"
OPTIONS = ExternalOptions(odom_in_map=(2.0, 1.0, math.pi / 2), wait_s=0.1)
BODY = Pose((1.0, 0.0, 0.5))
CAMERA = "spot/hand_color_image_sensor"
# Parent and pose of each frame.
FRAMES = {
    "spot/body": ("spot/odom", BODY),
    "spot/hand": ("spot/body", Pose((0.6, 0.0, 0.3))),
    CAMERA: ("spot/hand", Pose((0.1, 0.0, 0.0))),
}
LENS = Intrinsics(6, 4, 5.0, 5.0, 3.0, 2.0)


def standing(pose: Pose = BODY, stamp_s: float = 100.0) -> PoseHistory:
    history = PoseHistory()
    history.add(stamp_s, pose)
    return history


HEARD = RobotReadings(
    at_s=0.0,
    stamp_s=100.0,
    odometry_frame="spot/odom",
    bodies=standing(),
    linear_m_s=0.3,
    joints={"spot/arm_f1x": -0.7854},
    frames=FrameHistory(FRAMES),
)


def picture(stamp_s: float = 100.0, frame: str = CAMERA, grey: int = 0) -> RobotPicture:
    rgb, depth_m = np.full((4, 6, 3), grey, np.uint8), np.ones((4, 6), np.float32)
    return RobotPicture(stamp_s, frame, lambda: Pixels(rgb, depth_m, LENS))


def seen_by(*pictures: RobotPicture, at_s: float = 0.0) -> dict[str, CameraNews]:
    return {"hand": CameraNews(pictures, good_s=at_s, heard_s=at_s)}


class Records:
    """An ear that hears what the test says."""

    def __init__(self, readings: RobotReadings) -> None:
        self.said = readings
        self.time_s = 0.0
        self.asked: list[str] = []
        self.answer = Outcome(True, "done")
        self.closed = 0

    def now_s(self) -> float:
        self.time_s += 0.01
        return self.time_s

    def readings(self) -> RobotReadings:
        return self.said

    def trigger(self, name: str, within_s: float) -> Outcome:
        self.asked.append(str(name))
        return self.answer

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_world(default_house(), "", 0, 1)


def observed(
    opened: Opened, readings: RobotReadings = HEARD, options: ExternalOptions = OPTIONS
) -> tuple[ExternalBackend, Records]:
    ear = Records(readings)
    backend = ExternalBackend(ear, options)
    backend.reset(opened.house, opened.episode, 0)
    return backend, ear


def test_the_shipped_settings_are_the_defaults() -> None:
    assert default_external() == ExternalOptions()
    assert isinstance(ExternalBackend(Records(HEARD)), Supervised)


def test_it_tells_what_was_heard_in_the_frames_of_all_backends(opened: Opened) -> None:
    backend, _ = observed(opened, replace(HEARD, cameras=seen_by(picture())))
    seen = backend.observe(ROBOT, ("hand",))
    assert seen.base.position_m == pytest.approx((2.0, 2.0, 0.0))
    assert seen.base.yaw_rad == pytest.approx(math.pi / 2)
    assert seen.odometry.position_m == pytest.approx((1.0, 0.0, 0.0))
    assert seen.hand.position_m == pytest.approx((0.6, 0.0, 0.8))
    assert seen.optical["hand"].position_m == pytest.approx((0.7, 0.0, 0.8))
    assert seen.cameras["hand"].pose.position_m == pytest.approx((2.0, 2.7, 0.8))
    assert seen.gripper_opening == pytest.approx(0.5, abs=0.01)
    assert seen.linear_m_s == 0.3
    assert not backend.simulated
    assert backend.world_state() is None
    assert backend.capabilities(ROBOT).primitives == frozenset()


def test_a_frame_of_the_map_wins_over_the_settings(opened: Opened) -> None:
    frames = FrameHistory({**FRAMES, "spot/odom": ("spot/graph_nav_map", Pose((5.0, 5.0, 0.2)))})
    options = OPTIONS.model_copy(update={"map_frame": "spot/graph_nav_map"})
    backend, _ = observed(opened, replace(HEARD, frames=frames), options)
    assert backend.observe(ROBOT, ()).base.position_m == pytest.approx((6.0, 5.0, 0.0))


def test_no_primitive_moves_it(opened: Opened) -> None:
    backend, ear = observed(opened)
    gate = SafetyGate(backend)
    gate.reset(opened.house, opened.episode, 0)
    for name in all_primitives():
        result = backend.poll(backend.start(ROBOT, Primitive(name, (1.0, 0.0, 0.0)))).result
        assert result is not None
        assert result.code is PrimitiveCode.NOT_ABLE
        assert "use backend:=spot" in result.text
        assert gate.poll(gate.start(ROBOT, Primitive(name, (1.0, 0.0, 0.0)))).done
    gate.step(0.1)
    gate.close()
    assert ear.asked == [], "who was not claimed is not even asked to stop"
    assert ear.closed == 1


def test_the_operators_words_are_passed_on_and_none_goes_without_a_claim(opened: Opened) -> None:
    backend, ear = observed(opened)
    gate = SafetyGate(backend)
    gate.reset(opened.house, opened.episode, 0)
    assert not gate.command(ROBOT, Command.POWER_ON).success
    assert ear.asked == []
    for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
        assert gate.command(ROBOT, command).success
    assert ear.asked == ["claim", "power_on", "stand"]
    ear.answer = Outcome(False, "the robot says no")
    assert gate.command(ROBOT, Command.SIT).message == "the robot says no"
    gate.close()
    assert ear.asked[-4:] == ["arm_stow", "sit", "power_off", "release"]


def test_triggers_can_be_switched_off(opened: Opened) -> None:
    backend, ear = observed(opened, options=OPTIONS.model_copy(update={"triggers": False}))
    told = backend.operate(ROBOT, Command.CLAIM)
    assert not told.success
    assert "only observed" in told.message
    assert ear.asked == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("readings", "words"),
    [
        (
            RobotReadings(),
            "nothing was received on /spot/odometry; is spot_ros2 running under this name",
        ),
        (RobotReadings(wrong="'base' in 'map'; it is not used"), "'base' in 'map'; it is not used"),
    ],
)
def test_a_robot_that_is_not_heard_is_an_error_that_says_what_to_do(
    opened: Opened, readings: RobotReadings, words: str
) -> None:
    ear = Records(readings)
    backend = ExternalBackend(ear, OPTIONS)
    with pytest.raises(PlannerError, match=words):
        backend.reset(opened.house, opened.episode, 0)
    assert backend.agents == ()


def test_missing_pictures_and_frames_are_reported(opened: Opened) -> None:
    backend, ear = observed(opened)
    with pytest.raises(PlannerError, match="no pictures yet; are /spot/camera/hand/image"):
        backend.observe(ROBOT, ("hand",))
    ear.said = replace(HEARD, cameras=seen_by(picture(frame="elsewhere")))
    with pytest.raises(PlannerError, match="does not connect 'spot/body' to 'elsewhere'"):
        backend.observe(ROBOT, ("hand",))
    with pytest.raises(PlannerError, match="no camera 'back'"):
        backend.observe(ROBOT, ("back",))


def test_frames_that_make_a_ring_are_no_way() -> None:
    ring = FrameHistory({"a": ("b", BODY), "b": ("a", BODY)})
    assert ring.pose_in("a", "c") is None
    assert ring.pose_in("a", "b") is not None


def turning(rate_rad_s: float = 0.5, until_s: float = 100.0) -> RobotReadings:
    """A body that has been turning for four seconds, at yaw 0 at 100 s."""
    bodies = PoseHistory()
    for stamp_s in np.arange(96.0, until_s + 1e-9, 0.1):
        bodies.add(float(stamp_s), Pose.planar(0.0, 0.0, rate_rad_s * (stamp_s - 100.0), 0.5))
    frames = FrameHistory({name: FRAMES[name] for name in ("spot/hand", CAMERA)})
    return replace(HEARD, bodies=bodies, frames=frames, stamp_s=until_s)


def test_a_picture_has_the_stamp_and_the_pose_of_the_moment_at_which_it_was_taken(
    opened: Opened,
) -> None:
    backend, ear = observed(opened, replace(turning(), cameras=seen_by(picture(99.45))))
    seen = backend.picture_after(ROBOT, "hand", -math.inf)
    assert seen is not None
    assert seen.stamp_s == pytest.approx(99.45)
    assert seen.base.yaw_rad == pytest.approx(math.pi / 2 - 0.5 * 0.55)
    assert seen.odometry.yaw_rad == pytest.approx(-0.5 * 0.55)
    assert seen.cameras["hand"].pose == seen.base.compose(seen.optical["hand"])
    now = backend.observe(ROBOT, ("hand",))
    assert now.stamp_s == pytest.approx(100.0)
    assert now.base.yaw_rad == pytest.approx(math.pi / 2)
    assert now.cameras["hand"].pose == seen.cameras["hand"].pose
    assert backend.picture_after(ROBOT, "hand", seen.stamp_s) is None, "each picture once"
    ear.said = replace(ear.said, cameras=seen_by(picture(99.45), picture(99.9)))
    newer = backend.picture_after(ROBOT, "hand", seen.stamp_s)
    assert newer is not None
    assert newer.stamp_s == pytest.approx(99.9)


def test_stamps_are_of_our_clock_whatever_the_robots_says(opened: Opened) -> None:
    readings = replace(turning(), shift_s=3600.0, cameras=seen_by(picture(99.45)))
    backend, _ = observed(opened, readings)
    seen = backend.picture_after(ROBOT, "hand", 3600.0 + 99.0)
    assert seen is not None
    assert seen.stamp_s == pytest.approx(3699.45)
    assert backend.picture_after(ROBOT, "hand", seen.stamp_s) is None
    assert backend.observe(ROBOT, ()).stamp_s == pytest.approx(3700.0)


def test_a_picture_waits_for_the_odometry_of_its_time(opened: Opened) -> None:
    pictures = seen_by(picture(99.98), picture(100.05))
    backend, ear = observed(opened, replace(turning(), cameras=pictures))
    seen = backend.picture_after(ROBOT, "hand", -math.inf)
    assert seen is not None
    assert seen.stamp_s == pytest.approx(99.98)
    ear.said = replace(turning(until_s=100.1), cameras=pictures)
    seen = backend.picture_after(ROBOT, "hand", seen.stamp_s)
    assert seen is not None
    assert seen.stamp_s == pytest.approx(100.05)
    assert seen.odometry.yaw_rad == pytest.approx(0.025)


def test_a_map_that_is_corrected_rarely_holds_for_a_while(opened: Opened) -> None:
    frames = FrameHistory({name: FRAMES[name] for name in ("spot/hand", CAMERA)})
    frames.move("map", "spot/odom", 99.0, Pose((5.0, 0.0, 0.0)))
    readings = replace(turning(), frames=frames)
    options = OPTIONS.model_copy(update={"map_frame": "map"})
    backend, ear = observed(opened, replace(readings, cameras=seen_by(picture(99.95))), options)
    assert backend.picture_after(ROBOT, "hand", -math.inf) is None, "it may still come"
    ear.said = replace(readings, cameras=seen_by(picture(99.8)))
    seen = backend.picture_after(ROBOT, "hand", -math.inf)
    assert seen is not None
    assert seen.base.position_m[0] == pytest.approx(5.0)
    frames.move("map", "spot/odom", 98.0, Pose((5.0, 0.0, 0.0)))
    frames = FrameHistory({name: FRAMES[name] for name in ("spot/hand", CAMERA)})
    frames.move("map", "spot/odom", 98.0, Pose((5.0, 0.0, 0.0)))
    ear.said = replace(ear.said, frames=frames)
    assert backend.picture_after(ROBOT, "hand", -math.inf) is None, "a second is too old"


def test_a_camera_that_stops_is_named(opened: Opened) -> None:
    backend, ear = observed(opened, replace(turning(), cameras=seen_by(picture(99.9), at_s=0.5)))
    assert backend.picture_fault(ROBOT) == ""
    ear.time_s = 1.3
    assert "external: the camera hand stopped: no new pictures on" in backend.picture_fault(ROBOT)
    with pytest.raises(PlannerError, match="the camera hand stopped"):
        backend.observe(ROBOT, ("hand",))
    ear.said = replace(ear.said, cameras=seen_by(picture(99.95), at_s=1.3))
    assert backend.picture_fault(ROBOT) == ""


def test_why_pictures_cannot_be_used_is_said_when_none_could_be_for_a_while(
    opened: Opened,
) -> None:
    news = CameraNews((picture(99.9),), good_s=0.5, heard_s=0.9, problem="/c: they come late")
    backend, ear = observed(opened, replace(turning(), cameras={"hand": news}))
    ear.time_s = 0.9
    assert backend.picture_fault(ROBOT) == "", "one picture that is late is no fault"
    ear.time_s = 1.4
    assert backend.picture_fault(ROBOT) == "external: /c: they come late"
    ear.time_s = 2.0
    ear.said = replace(turning(), cameras=seen_by(picture(99.9, frame="elsewhere"), at_s=2.0))
    assert "/tf does not connect 'spot/body' to 'elsewhere'" in backend.picture_fault(ROBOT)
    ear.said = replace(turning(), cameras=seen_by(picture(90.0), at_s=2.0))
    assert "/spot/odometry and /tf do not tell where" in backend.picture_fault(ROBOT)


def test_a_picture_that_cannot_be_read_is_a_fault_and_not_an_end(opened: Opened) -> None:
    def unreadable() -> Pixels:
        raise PlannerError("/c: pictures in 'yuv422' are not read")

    wrong = RobotPicture(99.9, CAMERA, unreadable)
    backend, _ = observed(opened, replace(turning(), cameras=seen_by(wrong)))
    assert backend.picture_after(ROBOT, "hand", -math.inf) is None
    assert backend.picture_fault(ROBOT) == "external: /c: pictures in 'yuv422' are not read"
    with pytest.raises(PlannerError, match="no camera 'back'"):
        backend.picture_after(ROBOT, "back", -math.inf)


class Repeating(ExternalBackend):
    """A defect: the newest picture again and again."""

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        return super().picture_after(agent, camera, min(stamp_s, 90.0))


class Restamped(ExternalBackend):
    """A defect: the newest base for whatever time."""

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        seen = super().picture_after(agent, camera, stamp_s)
        return seen and replace(seen, base=self.observe(agent, ()).base)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ExternalBackend, ""),
        (Repeating, "hand: one picture comes twice"),
        (Restamped, "m off base x optical"),
    ],
)
def test_the_published_check_judges_pictures_with_times_of_their_own(
    opened: Opened, kind: type[ExternalBackend], words: str
) -> None:
    ear = Records(replace(turning(), cameras=seen_by(picture(99.45), at_s=100.0)))
    ear.time_s = 100.0
    report = check_backend(
        lambda: kind(ear, OPTIONS),
        house=opened.house,
        episode=opened.episode,
        only=("cameras_give_frames",),
    )
    (finding,) = report.findings
    assert finding.verdict is (Verdict.FAILED if words else Verdict.PASSED), finding
    assert words in finding.text
