"""What ROS processes get: environment variables, a namespace and a user's parameter file."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from planner.network import confine
from planner.world.errors import FileError, PlannerError
from planner.world.files import MAX_YAML_BYTES, parse_yaml, read_text

# Lists of folders by which a sourced ROS takes effect.
_SEARCH_PATHS = ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH")


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
    environment = {"RCUTILS_LOGGING_USE_STDOUT": "0", "PYTHONUNBUFFERED": "1", **base}
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


# The ROS namespace of a stack, as users write it: `--namespace left`, `namespace:=/house/left`.

_WORD = r"[A-Za-z_][A-Za-z0-9_]*"
_NAMESPACE = re.compile(rf"/?{_WORD}(/{_WORD})*/?")


def add_argument(parser: argparse.ArgumentParser) -> None:
    """Declare `--namespace` for a command that talks to a running stack."""
    parser.add_argument(
        "--namespace",
        default="/",
        metavar="NAME",
        type=_checked,
        help="ROS namespace of the stack, as given to planner up; default none",
    )


def full_namespace(text: str) -> str:
    """Return the full name of a namespace: `/left` for `left`, `/` if the text is empty.

    Raises:
        PlannerError: if the name is invalid.
    """
    if text in ("", "/"):
        return "/"
    if not _NAMESPACE.fullmatch(text) or "__" in text:
        raise PlannerError(f"expected a ROS namespace such as left or /house/left, got {text!r}")
    return f"/{text.strip('/')}"


def _checked(text: str) -> str:
    try:
        return full_namespace(text)
    except PlannerError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# A user's ROS parameter file, checked once instead of by each node.


def checked_params_file(text: str) -> str:
    """Return the file's path, or an empty text if none is given.

    Raises:
        PlannerError: if ROS could not read it.
    """
    if not text:
        return ""
    path = Path(text)
    try:
        document = parse_yaml(read_text(path, MAX_YAML_BYTES), path)
    except FileError as error:
        where = f"{error.field}: " if error.field else ""
        raise PlannerError(f"{text!r} {where}{' '.join(error.reason.split())}") from None
    nodes = document.values() if isinstance(document, dict) else ()
    if not nodes or not all(isinstance(n, dict) and "ros__parameters" in n for n in nodes):
        raise PlannerError(f"{text!r}: expected nodes, or /**, each with ros__parameters")
    return text
