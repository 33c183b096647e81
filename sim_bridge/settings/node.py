"""The bridge's parameters for time, sensing and safety."""

from __future__ import annotations

from pathlib import Path

from rclpy.node import Node

from planner.ros import conversions, parameters
from planner.world.files import read_model
from sim_bridge.agent.node import Sensing
from sim_bridge.pacing import MIN_NICE, IdleTime, Pace, TimeMode
from sim_bridge.safety.options import SafetyOptions, default_safety


def declare_pace(node: Node) -> Pace:
    """Declares how simulated time advances.

    Raises:
        PlannerError: for an invalid parameter.
    """
    mode = parameters.text(
        node, "time_mode", "paced", "what advances simulated time", choices=[*TimeMode]
    )
    idle = parameters.text(
        node, "idle_time", "run", "simulated time while no agent is busy", choices=[*IdleTime]
    )
    rate = parameters.number(
        node,
        "rate",
        1.0,
        "simulated seconds per wall second",
        min_value=0.01,
        max_value=100.0,
    )
    return Pace(TimeMode(mode), rate, IdleTime(idle))


def declare_nice(node: Node) -> int:
    """Declares the maximum nice value of a bridge to a real robot.

    Raises:
        PlannerError: for an invalid parameter.
    """
    what = "nice value of the bridge's process with a real robot; 0 = unchanged"
    return parameters.whole(node, "nice", -10, what, min_value=MIN_NICE, max_value=0)


def declare_sensing(node: Node) -> Sensing:
    """Declares which pictures are published, and how often.

    Raises:
        PlannerError: for an invalid parameter.
    """
    text = parameters.text(node, "cameras", "hand,body", "cameras to publish, separated by commas")
    cameras = tuple(name.strip() for name in text.split(",") if name.strip())
    camera_hz = parameters.number(
        node, "camera_hz", 10.0, "exposures per simulated second", min_value=0.1, max_value=30.0
    )
    still_hz = parameters.number(
        node,
        "still_camera_hz",
        2.0,
        "exposures per simulated second while nothing moves in a simulator",
        min_value=0.1,
        max_value=30.0,
    )
    encoding = parameters.text(
        node,
        "depth_encoding",
        "32FC1",
        "32FC1 in metres or 16UC1 in millimetres",
        choices=conversions.DEPTH_ENCODINGS,
    )
    return Sensing(cameras, camera_hz, still_hz, encoding)


def declare_safety(node: Node) -> SafetyOptions:
    """Declares the file with the parameters of the safety rules.

    Raises:
        PlannerError: for an invalid file.
    """
    name = parameters.text(
        node,
        "safety_config",
        "",
        "file with the parameters of the safety rules; empty = the shipped one",
    )
    return read_model(Path(name), SafetyOptions) if name else default_safety()
