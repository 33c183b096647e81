"""Types of messages without ROS: the standard ones, and ours as folders of files define them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rosbags.typesys import Stores, get_types_from_msg, get_typestore

MESSAGES = Path(__file__).resolve().parents[1] / "msgs" / "msg"


def store_of(*folders: Path) -> Any:
    """A later folder's definition of a message counts."""
    types: dict[str, Any] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.msg")):
            types.update(get_types_from_msg(path.read_text(), f"planner_msgs/msg/{path.stem}"))
    store = get_typestore(Stores.ROS2_HUMBLE)
    store.register(types)
    return store


STORE = store_of(MESSAGES)
