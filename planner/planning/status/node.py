"""`/instruct/status` and `/planner/trace`."""

from __future__ import annotations

from collections import Counter

from planner_msgs.msg import InstructStatus, PlannerTrace
from rclpy.node import Node

from planner.models.trace import ModelCall
from planner.planning.status.instruction_status import InstructionStatus
from planner.ros import qos
from planner.ros.conversions import header
from planner.ros.model_trace import key_values, trace_message
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics


class StatusPublisher:
    """Publishes the instruction status and planner trace; runs in the executor thread."""

    def __init__(self, node: Node, planner: str, model: str, losses: Counter[str]) -> None:
        """`planner` and `model` are names for the messages; "" = no model."""
        self._planner, self._model = planner, model
        self._current = InstructionStatus()
        # Latched, and deep enough that a recorder that is briefly busy misses nothing.
        self._status_outlet = SafePublisher(
            node, InstructStatus, topics.INSTRUCT_STATUS, qos.TRUTH, losses
        )
        self._trace = SafePublisher(node, PlannerTrace, topics.PLANNER_TRACE, qos.EVENTS, losses)

    @property
    def status(self) -> InstructionStatus:
        """The status published last."""
        return self._current

    def show(self, status: InstructionStatus, now_s: float) -> None:
        """Publishes the instruction's status at a time of the world's clock."""
        self._current = status
        self._status_outlet.publish(
            InstructStatus(
                header=header(now_s, "map"),
                id=status.goal_id,
                instruction=status.instruction,
                agents=list(status.agents),
                dialogue=list(status.dialogue),
                planner=self._planner,
                model=self._model,
                house=status.house,
                episode_id=status.episode_id,
                goal=status.goal,
                state=int(status.state),
                code=status.code,
                text=status.text,
                question=status.question,
                cycle=status.cycle,
                plan=status.plan,
                calls=list(status.calls),
                evidence=key_values(status.evidence),
            )
        )

    def trace(self, call: ModelCall, now_s: float) -> None:
        """Publishes a model call, or a decision of a planner without a model."""
        self._trace.publish(trace_message(call, now_s))
