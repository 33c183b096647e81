"""The metadata records and attachments of a bag. No ROS here.

| metadata record | when | what |
|---|---|---|
| `planner.start` | first | versions of the software, start of the recording |
| `planner.gap` | when noticed | topic, receipts before and after, number of messages missing |
| `planner.verdict` | with each verdict | the live evaluator's verdict |
| `planner.recording` | last | messages received, written, left out, missed, by topic |

Attachments: `house.json`, `episode.json`, `parameters.yaml`, `robot_description/AGENT.urdf`.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

import yaml

from planner.recorder.topic_counts import TopicCounts

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
    """The record written when a recording begins.

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
    start: Mapping[str, str], ended_ns: int, accounts: Mapping[str, TopicCounts], failure: str
) -> dict[str, str]:
    """The record written when a recording ends."""
    topics = {name: accounts[name].as_record() for name in sorted(accounts)}
    return {
        **start,
        "ended_ns": str(ended_ns),
        "failure": failure,
        "missed": str(sum(counts.missed for counts in accounts.values())),
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
    """Name of the attachment for a robot's description; None for other topics and unsafe names."""
    agent, _, last = topic.strip("/").rpartition("/")
    if last != "robot_description" or (agent and not _PLAIN_NAME.fullmatch(agent)):
        return None
    return f"robot_description/{agent or 'robot'}.urdf"


def _plain(value: object) -> object:
    """Parameter values as YAML can represent them: arrays arrive as array.array."""
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
