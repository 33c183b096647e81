"""Where and how a recorder begins its bag: its limits, its folder, a disk that is full at first."""

from __future__ import annotations

import time
from pathlib import Path

from rclpy.executors import ExternalShutdownException
from rclpy.node import Node

from planner.recorder.bag_writer import BagWriter, DiskFullError, Limits
from planner.ros import parameters

# A new file every ten minutes: the index of a file is in memory until it ends.
MAX_BAG_MB, MAX_BAG_S, MAX_TOTAL_MB = 1000, 600, 20_000
# Wall seconds between checks whether a full disk has space again.
SPACE_POLL_S = 0.5
CONTINUES = "recording continues when there is space"


def limits(node: Node) -> Limits:
    """The parameters of a bag's size.

    Raises:
        PlannerError: if one cannot be used.
    """

    def read(name: str, default: int, description: str) -> int:
        return parameters.whole(node, name, default, f"{description}; 0 = no limit", min_value=0)

    file_mb = read("max_bag_mb", MAX_BAG_MB, "MB after which the bag goes on in its next file")
    file_s = read("max_bag_s", MAX_BAG_S, "wall seconds after which it does so, too")
    total_mb = read(
        "max_total_mb", MAX_TOTAL_MB, "MB above which its oldest files but the first are deleted"
    )
    return Limits(file_mb * 1_000_000, float(file_s), total_mb * 1_000_000)


def open_bag(node: Node, folder: Path, bounds: Limits) -> BagWriter:
    """Creates the bag; a restarted recorder waits for disk space, as the robots go on.

    Raises:
        PlannerError: if it cannot be written, or there is no space for the first bag.
        ExternalShutdownException: if asked to stop while waiting.
    """
    logged = False
    while True:
        place = _new_folder(folder)
        try:
            return BagWriter(place, bounds)
        except DiskFullError as error:
            if place == folder:
                raise
            if not logged:
                node.get_logger().error(f"{error}; {CONTINUES}")
                logged = True
        if not node.context.ok():
            raise ExternalShutdownException
        time.sleep(SPACE_POLL_S)


def _new_folder(folder: Path) -> Path:
    """The folder, with a number if it exists: a restarted recorder starts a second bag."""
    candidate, number = folder, 1
    while candidate.exists():
        number += 1
        candidate = folder.with_name(f"{folder.name}_{number}")
    return candidate
