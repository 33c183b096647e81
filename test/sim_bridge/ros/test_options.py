"""The settings of the backend `ros`: wrong ones are named by file, field and reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.world.errors import FileError
from planner.world.files import read_model
from planner.world.share import config_dir
from sim_bridge.ros.options import RosOptions, default_ros

SHIPPED = config_dir() / "ros.yaml"


def changed(field: str, value: object, folder: Path) -> Path:
    document: Any = yaml.safe_load(SHIPPED.read_text())
    *way, last = field.split(".")
    place = document
    for name in way:
        place = place[int(name)] if name.isdecimal() else place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    file = folder / "robot.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("arm", None, "arm"),
        ("arm.tip", None, "arm.tip"),
        ("arm.closing", "x", "approach and closing must be different"),
        ("arm.carry.wrist_roll_joint", None, "carry lacks wrist_roll_joint"),
        ("arm.ready.tail_joint", 0.0, "ready has also tail_joint"),
        ("arm.controllers", [], "arm.controllers"),
        ("navigation.navigate", "navigate", "navigation.navigate"),
        ("gripper.open", 0.0, "open and closed must be different"),
        ("gripper.others", ["gripper_right_finger_joint"], "others are only for the kind"),
        ("arm.slide", {"joint": "ahead", "range_m": 2.0}, "arm.slide.range_m"),
        ("modes", {"drive": "/drive"}, "modes.move"),
        ("gripper.width_m", -0.1, "gripper.width_m"),
        ("head.joints", ["a", "b", "c"], "head.joints"),
        ("camera.transport", "theora", "camera.transport"),
        ("size.reach_m", 0.0, "size.reach_m"),
        ("frames.map_in_house", [0.0, 0.0], "frames.map_in_house"),
        ("wheels", 4, "wheels"),
        ("version", 2, "version"),
    ],
)
def test_a_wrong_setting_is_named(field: str, value: object, says: str, tmp_path: Path) -> None:
    file = changed(field, value, tmp_path)
    with pytest.raises(FileError) as caught:
        read_model(file, RosOptions)
    assert str(file) in str(caught.value)
    assert says in str(caught.value)


def test_fingers_are_as_far_apart_as_their_joint_says() -> None:
    gripper = default_ros().gripper
    assert gripper.opening_m(gripper.joint_open) == pytest.approx(gripper.width_m)
    assert gripper.opening_m(gripper.joint_closed) == 0.0
    middle = (gripper.joint_open + gripper.joint_closed) / 2
    assert gripper.opening_m(middle) == pytest.approx(gripper.width_m / 2)
    assert gripper.opening_m(10.0) == pytest.approx(gripper.width_m)


@pytest.mark.parametrize("name", ["tiago", "stretch"])
def test_the_settings_of_public_robots_are_sound_and_say_where_they_are_from(name: str) -> None:
    file = config_dir() / "robots" / f"{name}.yaml"
    assert read_model(file, RosOptions).name == name
    text = file.read_text()
    assert "measure" in text
    assert "It has not been tried on" in text
