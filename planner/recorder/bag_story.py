"""What a bag says of itself beside its messages: MCAP metadata and attachments. No ROS here.

| metadata record | when | what |
|---|---|---|
| `planner.start` | first | versions of the software, when the recording began |
| `planner.gap` | when seen | topic, between which receipts, how many messages never arrived |
| `planner.verdict` | with each verdict | the live evaluator's |
| `planner.recording` | last | topic by topic what was received, written, left out, missed |

Attachments: `house.json`, `episode.json`, `parameters.yaml`, `robot_description/AGENT.urdf`.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import yaml

from planner.recorder.account import TopicAccount

START, GAP, VERDICT, RECORDING = (
    "planner.start",
    "planner.gap",
    "planner.verdict",
    "planner.recording",
)
HOUSE, EPISODE, PARAMETERS = "house.json", "episode.json", "parameters.yaml"
JSON, YAML, URDF = "application/json", "application/yaml", "application/xml"
_PACKAGES = ("mcap", "mujoco", "numpy", "opencv-python-headless", "pydantic", "ros-rclpy", "scipy")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")


def start_record(started_ns: int, settings: Mapping[str, str]) -> dict[str, str]:
    """What is known when a recording begins.

    Args:
        started_ns: nanoseconds since the epoch.
        settings: of the recorder.
    """
    return {
        **settings,
        "version": _version("planner"),
        "started_ns": str(started_ns),
        "ros_distro": "kilted",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": json.dumps({name: _version(name) for name in _PACKAGES}, sort_keys=True),
    }


def recording_record(
    start: Mapping[str, str], ended_ns: int, accounts: Mapping[str, TopicAccount], failure: str
) -> dict[str, str]:
    """What a whole recording came to."""
    topics = {name: accounts[name].as_record() for name in sorted(accounts)}
    return {
        **start,
        "ended_ns": str(ended_ns),
        "failure": failure,
        "missed": str(sum(account.missed for account in accounts.values())),
        "topics": json.dumps(topics, sort_keys=True),
    }


def parameters_text(found: Mapping[str, Mapping[str, object]]) -> bytes:
    """Parameters by node in the form of a ROS parameter file."""
    document = {
        name: {"ros__parameters": {key: _plain(value) for key, value in values.items()}}
        for name, values in sorted(found.items())
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True).encode()


def description_name(topic: str) -> str | None:
    """The attachment for a robot's description; None for a topic that is none or a hostile name."""
    agent, _, last = topic.strip("/").rpartition("/")
    if last != "robot_description" or (agent and not _PLAIN_NAME.fullmatch(agent)):
        return None
    return f"robot_description/{agent or 'robot'}.urdf"


def _plain(value: object) -> object:
    """Parameters as YAML has them: arrays come as array.array."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return list(value)
    return [_plain(item) for item in value] if hasattr(value, "__iter__") else str(value)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
