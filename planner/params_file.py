"""A user's ROS parameter file, checked once instead of by each node."""

from __future__ import annotations

from pathlib import Path

from planner.world.errors import FileError, PlannerError
from planner.world.files import MAX_YAML_BYTES, parse_yaml, read_text


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
