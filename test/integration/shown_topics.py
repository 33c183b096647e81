"""What the shipped viewer configurations show: each topic, its type, and fields of its messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from planner.world.share import config_dir

RVIZ, FOXGLOVE = "planner.rviz", "foxglove_layout.json"
IMAGE, COMPRESSED = "sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage"
_RVIZ_TYPES = {
    "Image": IMAGE,
    "Map": "nav_msgs/msg/OccupancyGrid",
    "MarkerArray": "visualization_msgs/msg/MarkerArray",
    "Odometry": "nav_msgs/msg/Odometry",
    "PointStamped": "geometry_msgs/msg/PointStamped",
    "PoseArray": "geometry_msgs/msg/PoseArray",
    "RobotModel": "std_msgs/msg/String",
}
# What the 3D panel draws; of others it draws nothing.
_DRAWN = {
    "geometry_msgs/msg/PointStamped",
    "geometry_msgs/msg/PoseArray",
    "nav_msgs/msg/OccupancyGrid",
    "nav_msgs/msg/Odometry",
    "sensor_msgs/msg/JointState",
    "visualization_msgs/msg/MarkerArray",
}


@dataclass(frozen=True)
class Shown:
    """A topic that a viewer shows: which types it can be of (none: any), and what is read of it.

    `latched` is whether the viewer asks for what was said before; None where it does not say.
    """

    where: str
    topic: str
    types: frozenset[str] = frozenset()
    field: str = ""
    latched: bool | None = None


def in_rviz() -> list[Shown]:
    document = yaml.safe_load((config_dir() / "viewers" / RVIZ).read_text())
    found = []
    for display in document["Visualization Manager"]["Displays"]:
        kind = display["Class"].removeprefix("rviz_default_plugins/")
        if kind == "TF":  # listens to /tf and /tf_static, whatever the file says
            found += [Shown(kind, "/tf"), Shown(kind, "/tf_static")]
            continue
        topic = display["Description Topic" if kind == "RobotModel" else "Topic"]
        latched = topic["Durability Policy"] == "Transient Local"
        types = frozenset({_RVIZ_TYPES[kind]})
        found.append(Shown(display["Name"], topic["Value"], types, latched=latched))
    return found


def in_foxglove() -> list[Shown]:
    return [shown for name, panel in panels().items() for shown in _of_panel(name, panel)]


def panels() -> dict[str, Any]:
    return dict(layout()["configById"])


def layout() -> dict[str, Any]:
    text = (config_dir() / "viewers" / FOXGLOVE).read_text()
    return dict(json.loads(text))


def placed_panels() -> list[str]:
    """The panels that the layout and its tabs have places for."""
    found = list(_leaves(layout()["layout"]))
    for name in found:  # grows: a tab may hold another one
        for tab in panels()[name].get("tabs", []):
            found += _leaves(tab["layout"])
    return found


def _leaves(node: Any) -> Iterator[str]:
    if isinstance(node, str):
        yield node
        return
    assert 0 < node.get("splitPercentage", 50) < 100
    assert node["direction"] in ("row", "column")
    yield from _leaves(node["first"])
    yield from _leaves(node["second"])


def _of_panel(name: str, panel: dict[str, Any]) -> Iterator[Shown]:
    match name.partition("!")[0]:
        case "3D":
            for topic in panel["topics"]:
                yield Shown(name, topic, frozenset(_DRAWN))
            for layer in panel["layers"].values():
                assert layer["sourceType"] == "topic"
                yield Shown(name, layer["topic"], frozenset({"std_msgs/msg/String"}))
        case "Image":
            mode = panel["imageMode"]
            yield Shown(name, mode["imageTopic"], frozenset({IMAGE, COMPRESSED}))
            info = frozenset({"sensor_msgs/msg/CameraInfo"})
            yield Shown(name, mode["calibrationTopic"], info)
        case "Plot" | "StateTransitions":
            for path in panel["paths"]:
                topic, _, field = path["value"].partition(".")
                yield Shown(name, topic, field=field)
        case "RawMessages":
            yield Shown(name, panel["topicPath"])
        case "RosOut":
            yield Shown(name, panel["topicToRender"], frozenset({"rcl_interfaces/msg/Log"}))
        case "DiagnosticSummary":
            types = frozenset({"diagnostic_msgs/msg/DiagnosticArray"})
            yield Shown(name, panel["topicToRender"], types)
        case "Tab":
            return
        case kind:
            raise AssertionError(f"{name}: what a panel {kind} shows is not known here")
