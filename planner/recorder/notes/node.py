"""Metadata and attachments derived from messages: the world, verdicts, robot descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from planner_msgs.msg import Evaluation, WorldInfo
from rclpy.node import Node
from std_msgs.msg import String

from planner.evaluation.task_start import verdict_steps
from planner.recorder import bag_records
from planner.recorder.topic_counts import Gap, TopicCounts
from planner.recorder.verdict_check import VerdictCheck
from planner.ros.checked_subscription import reader
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
        attachment = bag_records.description_name(topic) if type_name == _DESCRIPTION_TYPE else None
        if attachment is None:
            return None

        def attach(message: String, _received_ns: int) -> None:
            self._attach(attachment, bag_records.URDF, message.data.encode())

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
            self._add_record(bag_records.GAP, Gap(_VERDICT, 0, at_ns, 1).as_record())

    def _attach_world(self, info: WorldInfo, _received_ns: int) -> None:
        self._attach(bag_records.HOUSE, bag_records.JSON, info.house_json.encode())
        self._attach(bag_records.EPISODE, bag_records.JSON, info.episode_json.encode())

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
        self._add_record(bag_records.VERDICT, record)

    def _record_repeated_verdict(self, progress: Evaluation, received_ns: int) -> None:
        if progress.status != Evaluation.RUNNING:
            self._verdicts.repeat(_identity(progress), received_ns)


def _identity(verdict: Evaluation) -> tuple[str, str, int, int]:
    return verdict.episode_id, verdict.scoring, verdict.sim_step, verdict.status
