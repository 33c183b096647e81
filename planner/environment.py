"""The environment that ROS processes of this installation need.

Called as `.venv/bin/planner` without any setup file sourced, the command must start nodes that
find this environment's ROS; in a workspace on a distribution's ROS, it must not touch that one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from planner.network import confine

# Lists of folders by which a sourced ROS takes effect.
_SEARCH_PATHS = (
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
)


def ros_environment(
    base: Mapping[str, str], prefix: Path = Path(sys.prefix), *, large_messages: bool = False
) -> dict[str, str]:
    """Return `base` adapted for nodes in the Python environment at `prefix`.

    ROS stays on the loopback unless `base` requests otherwise, see `planner.network`. If `prefix`
    has ROS itself (the PyPI wheels), any other ROS sourced in `base` is removed: two of them in one
    process do not work. `large_messages`: whether the process itself sends pictures.

    Raises:
        PlannerError: as `planner.network.confine`.
    """
    environment = {
        "RCUTILS_LOGGING_USE_STDOUT": "0",
        "PYTHONUNBUFFERED": "1",
        **base,
    }
    confine(environment, large_messages=large_messages)
    if not _carries_ros(prefix):
        return environment
    sourced = [Path(p) for p in base.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    foreign = [p for p in sourced if p != prefix and _carries_ros(p)]
    for name in _SEARCH_PATHS:
        if name in environment:
            environment[name] = _without(environment[name], foreign)
    rest = [p for p in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p]
    if str(prefix) not in rest:
        rest.append(str(prefix))
    environment["AMENT_PREFIX_PATH"] = os.pathsep.join(rest)
    return environment


def _carries_ros(prefix: Path) -> bool:
    return (prefix / "share/ament_index/resource_index/packages/rclpy").is_file()


def _without(paths: str, foreign: list[Path]) -> str:
    kept = [
        path
        for path in paths.split(os.pathsep)
        if not any(Path(path).is_relative_to(prefix) for prefix in foreign)
    ]
    return os.pathsep.join(kept)
