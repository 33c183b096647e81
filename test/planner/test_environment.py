from __future__ import annotations

from pathlib import Path

import pytest

from planner.cli import main
from planner.environment import full_namespace, ros_environment
from planner.world.errors import PlannerError


def prefix_with_ros(folder: Path) -> Path:
    marker = folder / "share/ament_index/resource_index/packages/rclpy"
    marker.parent.mkdir(parents=True)
    marker.touch()
    return folder


def test_ros_stays_on_the_loopback_unless_asked(tmp_path: Path) -> None:
    made = ros_environment({}, tmp_path)
    assert Path(made["FASTDDS_DEFAULT_PROFILES_FILE"]).name == "fastdds_loopback.xml"
    opened = ros_environment({"PLANNER_NETWORK": "open"}, tmp_path)
    assert "FASTDDS_DEFAULT_PROFILES_FILE" not in opened
    assert opened["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "SUBNET"


def test_a_distributions_own_ros_is_left_alone(tmp_path: Path) -> None:
    distribution = prefix_with_ros(tmp_path / "distribution")
    sourced = {"AMENT_PREFIX_PATH": str(distribution), "PYTHONPATH": f"{distribution}/lib/python"}
    made = ros_environment(sourced, tmp_path / "environment")
    assert {name: made[name] for name in sourced} == sourced


def test_with_a_ros_of_its_own_every_other_one_is_taken_out(tmp_path: Path) -> None:
    own = prefix_with_ros(tmp_path / "own")
    distribution = prefix_with_ros(tmp_path / "distribution")
    overlay = tmp_path / "overlay"
    made = ros_environment(
        {
            "AMENT_PREFIX_PATH": f"{overlay}:{distribution}",
            "PYTHONPATH": f"{overlay}/lib:{distribution}/lib/python",
            "LD_LIBRARY_PATH": f"{distribution}/lib",
            "PATH": f"{distribution}/bin:/usr/bin",
        },
        own,
    )
    assert made["AMENT_PREFIX_PATH"] == f"{overlay}:{own}"
    assert made["PYTHONPATH"] == f"{overlay}/lib"
    assert made["LD_LIBRARY_PATH"] == ""
    assert made["PATH"] == "/usr/bin"


@pytest.mark.parametrize(
    ("text", "full"),
    [("", "/"), ("/", "/"), ("left", "/left"), ("/house/left/", "/house/left"), ("a_1", "/a_1")],
)
def test_a_namespace_becomes_its_full_name(text: str, full: str) -> None:
    assert full_namespace(text) == full


@pytest.mark.parametrize("text", ["1st", "a//b", "a b", "left-arm", "//", "a__b", "{ns}"])
def test_what_ros_would_refuse_is_refused(text: str) -> None:
    with pytest.raises(PlannerError, match="expected a ROS namespace such as left"):
        full_namespace(text)


@pytest.mark.parametrize(
    "words",
    [
        ["instruct", "Sing."],
        ["approve", "agent_0"],
        ["attend", "agent_0"],
        ["memory", "query", "cup"],
    ],
)
def test_commands_refuse_a_wrong_namespace_before_ros(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*words, "--namespace", "left-arm"])
    assert ended.value.code == 2
    assert (
        "argument --namespace: expected a ROS namespace such as left or /house/left, got 'left-arm'"
        in capsys.readouterr().err
    )
