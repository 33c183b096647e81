"""Whether what a server answered when it was asked for a goal's result is that goal's result."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus

_ENDED = {
    GoalStatus.STATUS_SUCCEEDED: "succeeded",
    GoalStatus.STATUS_CANCELED: "canceled",
    GoalStatus.STATUS_ABORTED: "aborted",
}


def why_no_result(answer: Any) -> str:
    """Why an answer is not a result; empty where it is one.

    A result that nobody filled in has the code 0, which means success: a server that does not know
    the goal sends such a one, and one whose goal broke.

    Args:
        answer: of the action's get_result service; None where there was none.
    """
    if answer is None:
        return "no result came"
    if answer.status not in _ENDED:
        return answer.result.text or "the server knows no such goal (any more)"
    if answer.result.code == 0 and answer.status != GoalStatus.STATUS_SUCCEEDED:
        return f"the goal was {_ENDED[answer.status]} without a result"
    return ""
