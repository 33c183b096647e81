"""`/instruct/status` and `/planner/trace`."""

from __future__ import annotations

from collections import Counter

from planner_msgs.msg import InstructStatus, PlannerTrace
from rclpy.node import Node

from planner.models.trace import ModelCall
from planner.planning.telling.standing import Standing
from planner.ros import qos
from planner.ros.conversions import header
from planner.ros.model_trace import key_values, trace_message
from planner.ros.safe_publisher import SafePublisher
from planner.world import topics


class Telling:
    """Publishes; call it in the executor's thread."""

    def __init__(self, node: Node, planner: str, model: str, losses: Counter[str]) -> None:
        """Advertises; `planner` and `model` are the names of who decides, "" = no model."""
        self._planner, self._model = planner, model
        self._standing = Standing()
        # Latched, and deep enough that a recorder that is busy for a moment misses none.
        self._status = SafePublisher(
            node, InstructStatus, topics.INSTRUCT_STATUS, qos.TRUTH, losses
        )
        self._trace = SafePublisher(node, PlannerTrace, topics.PLANNER_TRACE, qos.EVENTS, losses)

    @property
    def standing(self) -> Standing:
        """What was told last."""
        return self._standing

    def show(self, standing: Standing, now_s: float) -> None:
        """Tells how the instruction stands at a time of the world's clock."""
        self._standing = standing
        self._status.publish(
            InstructStatus(
                header=header(now_s, "map"),
                id=standing.goal_id,
                instruction=standing.instruction,
                agents=list(standing.agents),
                dialogue=list(standing.dialogue),
                planner=self._planner,
                model=self._model,
                house=standing.house,
                episode_id=standing.episode_id,
                goal=standing.goal,
                state=int(standing.state),
                code=standing.code,
                text=standing.text,
                question=standing.question,
                cycle=standing.cycle,
                plan=standing.plan,
                calls=list(standing.calls),
                evidence=key_values(standing.evidence),
            )
        )

    def trace(self, call: ModelCall, now_s: float) -> None:
        """Tells a call of a model, or a decision of a planner without one."""
        self._trace.publish(trace_message(call, now_s))
