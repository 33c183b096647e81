"""Whether the answer to a result request is a result."""

from __future__ import annotations

from typing import Any

from action_msgs.msg import GoalStatus

_ENDED = {
    GoalStatus.STATUS_SUCCEEDED: "succeeded",
    GoalStatus.STATUS_CANCELED: "canceled",
    GoalStatus.STATUS_ABORTED: "aborted",
}


def why_no_result(answer: Any) -> str:
    """Why an answer is not a result; empty if it is one.

    A default-constructed result has code 0, which means success; a server that does not know the
    goal, or whose goal crashed, sends such a one.

    Args:
        answer: of the action's get_result service; None if there was none.
    """
    if answer is None:
        return "no result came"
    if answer.status not in _ENDED:
        return answer.result.text or "the server knows no such goal (any more)"
    if answer.result.code == 0 and answer.status != GoalStatus.STATUS_SUCCEEDED:
        return f"the goal was {_ENDED[answer.status]} without a result"
    return ""
