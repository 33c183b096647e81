"""What a bag begins with: its folder and limits, and metadata and attachments from messages."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from planner_msgs.msg import Evaluation, WorldInfo
from rclpy.executors import ExternalShutdownException
from rclpy.node import Node
from std_msgs.msg import String

from planner.evaluation.perceived import verdict_steps
from planner.recorder import bag_file
from planner.recorder.bag_writer import LIMITS, BagWriter, DiskFullError, Limits
from planner.recorder.topic_counts import Gap, TopicCounts, VerdictCheck
from planner.ros.parameters import declare
from planner.ros.subscriptions import reader
from planner.world import topics

_VERDICT, _WORLD_INFO = f"/{topics.EVALUATION_RESULT}", f"/{topics.WORLD_INFO}"
_PROGRESS = f"/{topics.EVALUATION}"
_DESCRIPTION_TYPE = "std_msgs/msg/String"

Handler = Callable[[bytes, int], None]


class BagNotes:
    """Adds metadata records and attachments to a bag as their messages arrive."""

    def __init__(
        self,
        node: Node,
        add_record: Callable[[str, Mapping[str, str]], None],
        attach: Callable[[str, str, bytes], None],
    ) -> None:
        """Starts empty.

        Args:
            node: whose log says which messages are not read.
            add_record: takes a record's name and values.
            attach: takes an attachment's name, media type and content; the last one with a name
                counts.
        """
        self._node, self._add_record, self._attach = node, add_record, attach
        self._verdicts = VerdictCheck()

    def handler_of(self, topic: str, type_name: str) -> Handler | None:
        """Handler of a topic's messages, taking CDR data and time of receipt; None = nothing."""
        if topic == _WORLD_INFO:
            return self._reading(topic, WorldInfo, self._attach_world)
        if topic == _VERDICT:
            return self._reading(topic, Evaluation, self._record_verdict)
        if topic == _PROGRESS:
            return self._reading(topic, Evaluation, self._record_repeated_verdict)
        attachment = bag_file.description_name(topic) if type_name == _DESCRIPTION_TYPE else None
        if attachment is None:
            return None

        def attach(message: String, _received_ns: int) -> None:
            self._attach(attachment, bag_file.URDF, message.data.encode())

        return self._reading(topic, String, attach, "/robot_description")

    def _reading(
        self, topic: str, kind: Any, take: Callable[[Any, int], None], bounds: str = ""
    ) -> Handler:
        """A handler that gets messages in bounds alone."""
        read = reader(self._node, kind, topic, bounds)

        def handle(data: bytes, received_ns: int) -> None:
            message = read(data)
            if message is not None:
                take(message, received_ns)

        return handle

    def count_missing_verdicts(self, accounts: dict[str, TopicCounts]) -> None:
        """Counts verdicts that never arrived as missed on their topic, and records it."""
        for at_ns in self._verdicts.missing():
            accounts.setdefault(_VERDICT, TopicCounts(_VERDICT)).missed += 1
            self._add_record(bag_file.GAP, Gap(_VERDICT, 0, at_ns, 1).as_record())

    def _attach_world(self, info: WorldInfo, _received_ns: int) -> None:
        self._attach(bag_file.HOUSE, bag_file.JSON, info.house_json.encode())
        self._attach(bag_file.EPISODE, bag_file.JSON, info.episode_json.encode())

    def _record_verdict(self, verdict: Evaluation, _received_ns: int) -> None:
        if verdict.status == Evaluation.RUNNING:
            return
        self._verdicts.record(_identity(verdict))
        record = {
            "episode": verdict.episode_id,
            "success": str(verdict.status == Evaluation.SUCCEEDED).lower(),
            "percent_complete": f"{verdict.percent_complete:.6f}",
            "sim_steps": str(verdict_steps(verdict)),
            "scoring": verdict.scoring,
            "explanation": verdict.explanation,
        }
        self._add_record(bag_file.VERDICT, record)

    def _record_repeated_verdict(self, progress: Evaluation, received_ns: int) -> None:
        if progress.status != Evaluation.RUNNING:
            self._verdicts.repeat(_identity(progress), received_ns)


def _identity(verdict: Evaluation) -> tuple[str, str, int, int]:
    return verdict.episode_id, verdict.scoring, verdict.sim_step, verdict.status


# Where and how a recorder begins its bag: its limits, its folder, a disk that is full at first.

# Wall seconds between checks whether a full disk has space again.
SPACE_POLL_S = 0.5
CONTINUES = "recording continues when there is space"


def limits(node: Node) -> Limits:
    """The parameters of a bag's size.

    Raises:
        PlannerError: if one cannot be used.
    """
    file_mb, file_s, total_mb = (declare(node, option) for option in LIMITS)
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
