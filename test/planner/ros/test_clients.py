"""Which answers to the question for a goal's result are results."""

from __future__ import annotations

from typing import Any

import pytest
from action_msgs.msg import GoalStatus
from planner_msgs.action import ExecutePrimitive, ExecuteSkill, FollowInstruction

from planner.ros.clients import why_no_result

BUSY = 7


@pytest.mark.parametrize("action", [ExecutePrimitive, ExecuteSkill, FollowInstruction])
@pytest.mark.parametrize(
    ("status", "code", "is_result"),
    [
        (GoalStatus.STATUS_SUCCEEDED, 0, True),
        (GoalStatus.STATUS_ABORTED, BUSY, True),
        (GoalStatus.STATUS_CANCELED, 1, True),
        (GoalStatus.STATUS_UNKNOWN, 0, False),
        (GoalStatus.STATUS_EXECUTING, 0, False),
        (GoalStatus.STATUS_ABORTED, 0, False),
        (GoalStatus.STATUS_CANCELED, 0, False),
        (GoalStatus.STATUS_UNKNOWN, BUSY, False),
    ],
)
def test_an_empty_answer_is_no_success(
    action: Any, status: int, code: int, is_result: bool
) -> None:
    answer = action.Impl.GetResultService.Response(status=status)
    answer.result.code = code
    assert (why_no_result(answer) == "") is is_result


def test_no_answer_is_no_result() -> None:
    assert why_no_result(None) == "no result came"
