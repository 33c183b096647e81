"""`planner check robot`: what fits, what does not, and what is not heard; over DDS: integration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import side_arm
import yaml
from scripted_port import ScriptedPort

from planner import cli
from planner.parts.catalog import Verdict
from planner.world.share import config_dir
from sim_bridge.external.readings import RobotReadings
from sim_bridge.one_robot import FrameHistory
from sim_bridge.ros.check import from_above, from_sides, of_running, reach_share
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import default_ros
from sim_bridge.ros.port import RobotState

SHIPPED = config_dir() / "ros.yaml"
DESCRIPTION = config_dir() / "robots" / "emulator.urdf"
OPTIONS = default_ros()
NEAR = [(0.6, 0.0, 0.7), (0.6, 0.0, 0.9)]


def settings(folder: Path, **arm: object) -> Path:
    document: Any = yaml.safe_load(SHIPPED.read_text())
    document["arm"] |= arm
    file = folder / "robot.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def check(file: Path, *words: str) -> int:
    return cli.main(["check", "robot", str(file), "--urdf", str(DESCRIPTION), *words])


def test_settings_that_fit_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert check(SHIPPED, "--no-reach") == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("passed") for line in lines)
    checks = [line.split("  ")[1].strip() for line in lines]
    assert "joint torso_lift_joint" in lines[0]
    assert "0.00 to 0.40" in lines[0]
    text = "\n".join(lines)
    for name in ("joint head_tilt_joint", "arm.tip", "gripper's axes", "arm.carry", "head.camera"):
        assert name in text
    assert len(checks) == 15


@pytest.mark.parametrize(
    ("arm", "says"),
    [
        (
            {"tip": "claw"},
            "emulated_mobile_manipulator: arm.tip: the robot's description has no link 'claw'",
        ),
        (
            {
                "controllers": [{"action": "/arm", "joints": ["elbow"]}],
                "carry": {"elbow": 0.0},
                "ready": {"elbow": 0.0},
            },
            "arm.controllers.0.joints.0: the robot's description has no joint 'elbow' that moves",
        ),
        (
            {"carry": {**OPTIONS.arm.carry, "elbow_flex_joint": 3.0}},
            "arm.carry.elbow_flex_joint: 3 is not within the joint's limits, -2.3 to 2.3",
        ),
        ({"approach": "z"}, "arm.approach: z of 'gripper_grasping_frame' does not point out of"),
        ({"closing": "z"}, "arm.closing: z of 'gripper_grasping_frame' is not the direction in"),
    ],
)
def test_what_does_not_fit_is_named_with_file_field_and_reason(
    arm: dict[str, object], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = settings(tmp_path, **arm)
    assert check(file, "--no-reach") == 1
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILED")]
    assert len(said) == 1
    assert f"{file}: " in said[0]
    assert says in said[0]


def test_files_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "none.urdf"
    assert cli.main(["check", "robot", str(SHIPPED), "--urdf", str(missing)]) == 2
    assert f"{missing}: cannot be read" in capsys.readouterr().err
    assert check(settings(tmp_path, approach="up")) == 2
    assert "robot.yaml: arm.approach" in capsys.readouterr().err


def test_the_share_of_places_within_reach() -> None:
    model = Model(DESCRIPTION.read_text(), OPTIONS)
    far = (3.0, 0.0, 0.7)
    assert reach_share(model, NEAR, from_above) == 1.0
    assert reach_share(model, [NEAR[0], far], from_sides) == 0.5
    assert reach_share(model, [far], from_above) == 0.0


def test_a_side_arm_reaches_what_lies_on_its_side_and_slides() -> None:
    options = side_arm.OPTIONS
    places = [(0.5, 0.0, 0.6), (0.5, 0.2, 0.6)]
    assert reach_share(Model(side_arm.URDF, options), places, from_above) == 1.0
    arm = options.arm.model_copy(update={"slide": None})
    stands = Model(side_arm.URDF, options.model_copy(update={"arm": arm}))
    assert reach_share(stands, places, from_above) == 0.5
    ahead = options.model_copy(update={"arm": arm.model_copy(update={"side_rad": 0.0})})
    assert reach_share(Model(side_arm.URDF, ahead), places, from_above) == 0.0


class Silent(ScriptedPort):
    """A robot of which nothing is heard."""

    def readings(self) -> RobotReadings:
        return RobotReadings(frames=FrameHistory())


def test_what_is_found_and_what_is_missing_of_a_running_robot() -> None:
    port = ScriptedPort(OPTIONS, "")
    port.tell(servers={"/navigate_to_pose": True, "/move_action": False}, description="<robot/>")
    port.joints.pop("elbow_flex_joint")
    found = {f"{each.check}: {each.text}": each.verdict for each in of_running(port, OPTIONS)}
    assert found["odometry: found: /odom"] is Verdict.PASSED
    assert found["frames: found: map to odom"] is Verdict.PASSED
    assert found["description: found: /robot_description"] is Verdict.PASSED
    assert found["action server: found: /navigate_to_pose"] is Verdict.PASSED
    wrong = {text for text, verdict in found.items() if verdict is Verdict.FAILED}
    assert "joint_states: missing: /joint_states does not tell of elbow_flex_joint" in wrong
    assert "action server: missing: no action server /move_action" in wrong
    assert "navigation.map: missing: nothing on /map" in wrong
    assert any("no pictures yet on /head_camera/rgb/image_raw" in text for text in wrong)
    assert len(wrong) == 4
    assert port.sent == []
    assert port.recalls == 0


def test_of_a_silent_robot_everything_is_missing_but_what_it_may_lack() -> None:
    port = Silent(OPTIONS, "")
    port.said = RobotState(servers={"/navigate_to_pose": False})
    found = of_running(port, OPTIONS)
    assert {each.verdict for each in found if each.check != "battery"} == {Verdict.FAILED}
    (battery,) = [each for each in found if each.check == "battery"]
    assert battery.verdict is Verdict.SKIPPED
    assert "nothing on /odom" in found[0].text
