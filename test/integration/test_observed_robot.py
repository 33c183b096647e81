"""`backend:=external` before a body that turns and whose pictures come late, in its own process."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import BEST_EFFORT, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, Image
from tf2_msgs.msg import TFMessage

from planner.ros import conversions
from planner.world.episode import Episode
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds

RATE_RAD_S, LAG_S = 0.5, 0.4
DEEP = QoSProfile(depth=5000)
PICTURES = 12


@pytest.fixture(scope="module")
def world(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("observed")
    alone = small_episode.model_copy(update={"agents": small_episode.agents[:1]})
    settings, safety = folder / "external.yaml", folder / "safety.yaml"
    # On a busy machine pictures come later, and fewer, than the stand-in sends them.
    settings.write_text("version: 1\nwait_s: 60.0\nsilent_after_s: 3.0\npicture_age_s: 4.0\n")
    safety.write_text("version: 1\nlink: {stale_after_s: 60.0}\nexecutive: {where: never}\n")
    return {
        "episode": write_world(folder, small_house, alone),
        "backend_config": settings,
        "safety_config": safety,
    }


@contextmanager
def turning_robot(encoding: str, ahead_s: float) -> Iterator[subprocess.Popen[str]]:
    program = Path(__file__).with_name("turning_robot.py")
    words = [str(each) for each in (RATE_RAD_S, LAG_S, encoding, ahead_s)]
    robot = subprocess.Popen(
        [sys.executable, str(program), *words], stdin=subprocess.PIPE, text=True
    )
    try:
        yield robot
    finally:
        robot.kill()
        robot.wait()


def tell(robot: subprocess.Popen[str], word: str) -> None:
    assert robot.stdin is not None
    robot.stdin.write(f"{word}\n")
    robot.stdin.flush()


def taken_s(message: Image) -> float:
    """When a picture was taken, since the robot began; its first pixels say it."""
    row = conversions.rgb_array(message)[20]
    return sum(1 << bit for bit in range(32) if row[bit, 0] > 127) / 1000


def pose_at(links: list[TFMessage], frame: str, at: Any) -> Pose | None:
    """The pose of a frame in `map` by the links of exactly one stamp."""
    parents: dict[str, tuple[str, Pose]] = {}
    for message in links:
        for link in message.transforms:
            if link.header.stamp == at:
                place, turn = link.transform.translation, link.transform.rotation
                pose = Pose((place.x, place.y, place.z), (turn.x, turn.y, turn.z, turn.w))
                parents[link.child_frame_id] = (link.header.frame_id, pose)
    found = Pose((0.0, 0.0, 0.0))
    while frame != "map":
        if frame not in parents:
            return None
        frame, pose = parents[frame]
        found = pose.compose(found)
    return found


@pytest.mark.parametrize(("encoding", "ahead_s"), [("bgra8", 0.0), ("mono8", 40.0)])
def test_each_picture_comes_once_with_the_pose_of_its_time_and_a_stop_is_named(
    world: dict[str, Path], encoding: str, ahead_s: float
) -> None:
    with turning_robot(encoding, ahead_s) as robot, bridge(backend="external", **world):
        client = Client()
        links = client.listen(TFMessage, "/tf", DEEP)
        pictures = client.listen(Image, "/agent_0/camera/hand/image", DEEP)
        depths = client.listen(Image, "/agent_0/depth_registered/hand/image", DEEP)
        infos = client.listen(CameraInfo, "/agent_0/camera/hand/camera_info", BEST_EFFORT)
        client.wait(lambda: len(pictures) >= PICTURES and depths and infos, "pictures")
        seen = pictures[:PICTURES]
        # The robot also publishes its own frames on /tf, in its own names.
        client.wait(
            lambda: all(pose_at(links, m.header.frame_id, m.header.stamp) for m in seen), "frames"
        )
        for message in seen:
            base = pose_at(links, "agent_0/base_link", message.header.stamp)
            optical = pose_at(links, message.header.frame_id, message.header.stamp)
            assert base is not None
            assert optical is not None
            expected = RATE_RAD_S * taken_s(message)
            assert abs(math.remainder(base.yaw_rad - expected, math.tau)) < 0.05
            # It looks forward: the optical z axis is the body's x axis.
            x, y, _ = optical.rotation()[:, 2]
            assert abs(math.remainder(math.atan2(y, x) - expected, math.tau)) < 0.05
        stamps = [stamp_seconds(message.header.stamp) for message in pictures]
        assert len(set(stamps)) == len(stamps), "each picture once"
        assert stamps == sorted(stamps)
        assert (seen[0].encoding, seen[0].width, seen[0].height) == ("rgb8", 64, 48)
        assert depths[0].header.stamp in [message.header.stamp for message in pictures]
        assert conversions.depth_array(depths[0])[5, 5] == pytest.approx(2.0)
        assert (infos[0].width, infos[0].height, infos[0].k[2]) == (64, 48, 32.0)
        # Between two pictures as much time passed by their stamps as by what they show.
        shown_s = taken_s(seen[-1]) - taken_s(seen[0])
        # What a clock differs by is measured, and anew where messages are fast for the first time.
        exact_s = 0.3 if ahead_s else 0.01
        assert stamps[PICTURES - 1] - stamps[0] == pytest.approx(shown_s, abs=exact_s)

        reports = client.listen(DiagnosticArray, "/diagnostics")

        def said() -> str:
            statuses = [s for r in reports for s in r.status if s.name == "bridge: pictures"]
            return str(statuses[-1].message) if statuses else ""

        tell(robot, "stop")
        client.wait(lambda: "the camera hand stopped" in said(), "that the camera stopped")
        count = len(pictures)
        client.idle(1.0)
        assert len(pictures) == count, "the last picture is not repeated"
        tell(robot, "go")
        client.wait(lambda: said() == "ok" and len(pictures) > count, "that it goes on")
        client.close()
