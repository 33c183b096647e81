from pathlib import Path

from planner.environment import ros_environment


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
