"""Which agent's calls did which parts of a task."""

from __future__ import annotations

import pytest
from console_messages import info, instruction, judgement, skill_report

from planner.console.shared_work import ChangingCall, changing_call, doers, offloaded
from planner.console.table import Json
from planner.console.view import View

PLACED = ChangingCall("agent_0", "cup_0", 1.0, 3.0)
LATER = ChangingCall("agent_1", "cup_0", 4.0, 6.0)
OTHER = ChangingCall("agent_1", "book_0", 1.0, 9.0)


@pytest.mark.parametrize(
    ("at_s", "expected"),
    [(2.5, {"agent_0": 1}), (3.5, {"agent_0": 1}), (5.0, {"agent_1": 1}), (0.5, {})],
)
def test_a_part_is_of_the_call_about_it_that_was_under_way(
    at_s: float, expected: dict[str, int]
) -> None:
    assert doers({"0 cup_0 on top of table_1": at_s}, [PLACED, LATER, OTHER]) == expected


@pytest.mark.parametrize(
    ("call", "code"),
    [("Place[cup_0, on, table_0, None, None]", 7), ("Navigate[cup_0]", 0), ("nonsense", 0)],
)
def test_what_failed_or_changes_nothing_did_no_part(call: str, code: int) -> None:
    row: dict[str, Json] = {"agent": "agent_0", "call": call, "code": code, "at": 3.0, "took": 2.0}
    assert changing_call(row) is None
    row |= {"call": "Place[cup_0, on, table_0, None, None]", "code": 0}
    assert changing_call(row) == PLACED


def test_offloading_needs_a_person_a_robot_and_a_part() -> None:
    agents = ("agent_0", "agent_1")
    assert offloaded({"agent_0": 1, "agent_1": 3}, ["agent_0"], agents) == 0.25
    assert offloaded({"agent_0": 1}, agents, agents) is None
    assert offloaded({"agent_0": 1}, [], agents) is None
    assert offloaded({}, ["agent_0"], agents) is None


def test_the_page_says_who_did_what(view: View) -> None:
    view.take("/world/info", info("agent_0", "agent_1"))
    view.take("/instruct/status", instruction(1, "agent_0"))
    cup, book = "cup_0__on__top__of__table_0", "book_0__clean"
    view.take("/evaluation", judgement(1.0, 0, **{cup: False, book: False}))
    view.take("/evaluation", judgement(2.5, 0, **{cup: True, book: False}))
    # The report comes when the call has ended, after the part began to count.
    place = "Place[cup_0, on, table_0, None, None]"
    view.take("/skills/results", skill_report(3.0, "agent_1", place))
    view.take("/evaluation", judgement(4.0, 0, **{cup: True, book: True}))
    view.take("/skills/results", skill_report(5.0, "agent_0", "Clean[book_0]"))
    assert view.table.get("judge", "work") == {
        "done": {"agent_1": 1, "agent_0": 1},
        "offloaded": 0.5,
    }
    # What is undone is nobody's.
    view.take("/evaluation", judgement(6.0, 0, **{cup: False, book: True}))
    assert view.table.get("judge", "work") == {"done": {"agent_0": 1}, "offloaded": 1.0}
