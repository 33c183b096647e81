"""Words between a world in lockstep and those who act on each of its moments (docs/bridge.md).

A word is an agent and the time of the world before which its speaker needs no turn for it: the
memory no picture of it; skills and planner, unless something ends, nothing at all.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

from builtin_interfaces.msg import Time
from rclpy.node import Node
from std_msgs.msg import Header

from planner.ros import qos
from planner.ros.conversions import seconds, time_message
from planner.ros.message_bounds import bounds_of
from planner.ros.outlet import Outlet
from planner.world import topics

_LATEST = Time(sec=2**31 - 1)
# A planner may think for long, and is waited for as long as it is heard.
_REPEAT_S = 2.0


class Voice(StrEnum):
    """Whose words; values are the topics."""

    MEMORY = topics.LOCKSTEP_MEMORY
    SKILLS = topics.LOCKSTEP_SKILLS
    PLANNER = topics.LOCKSTEP_PLANNER


class LockstepWords:
    """One node's words; they are sent only while a world waits for such."""

    def __init__(self, node: Node, voice: Voice, losses: Counter[str]) -> None:
        self._outlet = Outlet(node, Header, voice.value, qos.EVENTS, losses)
        self._thinking: dict[str, float] = {}

    def say(self, agent: str, until_s: float) -> None:
        """Says a time for an agent; infinity stands for the end of all time."""
        if math.isinf(until_s):
            self._thinking.pop(agent, None)
        else:
            self._thinking[agent] = time.monotonic()
        self._send(agent, until_s)

    def repeat(self) -> None:
        """Says of the agents that are thought about that they still are."""
        now = time.monotonic()
        for agent, said in list(self._thinking.items()):
            if now - said >= _REPEAT_S:
                self.say(agent, 0.0)

    def _send(self, agent: str, until_s: float) -> None:
        if self._outlet.wanted:
            stamp = _LATEST if math.isinf(until_s) else time_message(until_s)
            self._outlet.publish(Header(stamp=stamp, frame_id=agent))


class LockstepEars:
    """What a world hears of one voice; `on_word` gets agent and time, which may be infinite."""

    def __init__(self, node: Node, voice: Voice, on_word: Callable[[str, float], None]) -> None:
        bounds = bounds_of(Header, "/lockstep")

        def hear(word: Header) -> None:
            problem = bounds.problem(word, 0.0)
            if problem:
                node.get_logger().warning(f"/{voice.value} is not heard: {problem}", once=True)
                return
            late = word.stamp.sec == _LATEST.sec
            on_word(word.frame_id, math.inf if late else seconds(word.stamp))

        self._node, self._topic = node, voice.value
        node.create_subscription(Header, voice.value, hear, qos.EVENTS)

    @property
    def speaks(self) -> bool:
        """Whether the speaker is there."""
        return bool(self._node.count_publishers(self._topic) > 0)
