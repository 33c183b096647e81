"""Calls of models as planner_msgs/PlannerTrace."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping

from diagnostic_msgs.msg import KeyValue
from planner_msgs.msg import PlannerTrace
from rclpy.node import Node

from planner.models.trace import ModelCall
from planner.ros import qos
from planner.ros.conversions import header
from planner.ros.safe_publisher import SafePublisher


class ModelTrace:
    """Publishes a node's model calls, from any thread."""

    def __init__(self, node: Node, topic: str, losses: Counter[str]) -> None:
        """Advertises."""
        self._node = node
        self._publisher = SafePublisher(node, PlannerTrace, topic, qos.EVENTS, losses)
        self._pending: deque[ModelCall] = deque()
        self._wake = node.create_guard_condition(self._publish_pending)

    def publish(self, call: ModelCall) -> None:
        """Queues an answered call, to be published in the executor's thread."""
        if call.answered:
            self._pending.append(call)
            self._wake.trigger()

    def _publish_pending(self) -> None:
        while self._pending:
            now_s = self._node.get_clock().now().nanoseconds * 1e-9
            self._publisher.publish(trace_message(self._pending.popleft(), now_s))


def trace_message(call: ModelCall, now_s: float) -> PlannerTrace:
    """A call with the time of its answer."""
    return PlannerTrace(
        header=header(now_s, "map"),
        planner=call.planner,
        model=call.model,
        agents=list(call.agents),
        cycle=call.cycle,
        prompt=call.prompt,
        grammar=call.grammar,
        reply=call.reply,
        calls=list(call.calls),
        error=call.error,
        prompt_tokens=call.usage.prompt_tokens,
        cached_tokens=call.usage.cached_tokens,
        reply_tokens=call.usage.reply_tokens,
        first_token_s=call.timings.first_token_s,
        latency_s=call.timings.total_s,
        parameters=key_values(call.parameters),
        role=call.role.value,
    )


def key_values(pairs: Mapping[str, str]) -> list[KeyValue]:
    """Pairs as messages."""
    return [KeyValue(key=key, value=value) for key, value in pairs.items()]
