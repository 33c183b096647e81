"""How a skill ended, from planner_msgs' messages, live or from a bag; nothing here needs ROS."""

from __future__ import annotations

from typing import Any

from planner.parts.calls import parse_call
from planner.world.memory_wire import result_record, stamp_seconds
from planner.world.skill import SkillCall, SkillResult


def report_record(message: Any) -> tuple[str, SkillCall, SkillResult, float]:
    """What a planner_msgs/SkillReport tells: agent, call, result and when it ended, seconds.

    Raises:
        CallError: where the call is none.
        ValueError: for a code that is none.
    """
    result = result_record(message)
    return message.agent, parse_call(message.call), result, stamp_seconds(message.header.stamp)
