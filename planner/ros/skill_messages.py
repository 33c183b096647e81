"""Ends of skill calls as planner_msgs; `planner.world.memory_wire` reads them back."""

from __future__ import annotations

import math
from typing import Any

from diagnostic_msgs.msg import KeyValue
from planner_msgs.action import ExecuteSkill
from planner_msgs.msg import SkillReport

from planner.ros.conversions import header, point_message, time_message
from planner.world.skill import SkillCall, SkillResult


def result_message(result: SkillResult) -> ExecuteSkill.Result:
    """The result of the action `skill`."""
    message = ExecuteSkill.Result(stamp=time_message(result.ended_s or 0.0))
    _fill(message, result)
    return message


def report_message(agent: str, call: SkillCall, result: SkillResult, ended_s: float) -> SkillReport:
    """A call that ended, as /skills/results carries it."""
    message = SkillReport(
        header=header(ended_s, "map"), agent=agent, call=str(call), part_of=result.part_of
    )
    _fill(message, result)
    return message


def _fill(message: Any, result: SkillResult) -> None:
    message.code, message.text = int(result.code), result.text
    message.has_position = result.position_m is not None
    message.position = point_message(result.position_m or (0.0, 0.0, 0.0))
    message.has_holding = result.holding is not None
    message.holding = result.holding or ""
    message.hands = [name or "" for name in result.hands or ()]
    message.duration_s = math.nan if result.duration_s is None else result.duration_s
    message.rule = result.rule
    message.evidence = [KeyValue(key=key, value=value) for key, value in result.evidence.items()]
