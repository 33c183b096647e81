"""A user's ROS parameter file, checked once instead of by each node."""

from __future__ import annotations

from pathlib import Path

import yaml

from planner.world.errors import PlannerError


def checked_params_file(text: str) -> str:
    """Return the file's path, or an empty text if none is given.

    Raises:
        PlannerError: if ROS could not read it.
    """
    if not text:
        return ""
    try:
        document = yaml.safe_load(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PlannerError(f"{text!r} cannot be read: {error}") from None
    except yaml.YAMLError as error:
        raise PlannerError(f"{text!r} is not YAML: {' '.join(str(error).split())}") from None
    nodes = document.values() if isinstance(document, dict) else ()
    if not nodes or not all(isinstance(n, dict) and "ros__parameters" in n for n in nodes):
        raise PlannerError(f"{text!r}: expected nodes, or /**, each with ros__parameters")
    return text
