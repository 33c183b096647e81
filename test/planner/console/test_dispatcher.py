"""Who may do what: one page in control, one for each partner, everybody may stop."""

from __future__ import annotations

from pathlib import Path

import pytest
from console_messages import info, instruction
from dispatcher_stage import PARTNER, PICK, WORDS, Console

from planner.console.protocol import (
    Abort,
    Approve,
    Correct,
    Drive,
    Leave,
    Stop,
    Take,
)
from planner.console.rights import GRACE_S
from planner.console.view import View


def test_the_first_page_is_in_control_and_a_second_one_is_not(console: Console) -> None:
    first, second = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    assert console.dispatch(first, WORDS) == (True, "DONE")
    assert console.dispatch(second, WORDS) == (False, "this page is not in control")
    taken = Take(type="take", order=1, seat="operator")
    assert console.dispatch(second, taken) == (False, "another page is in control already")
    console.dispatch(first, Leave(type="leave", order=1, seat="operator"))
    assert console.dispatch(second, taken) == (True, "taken")
    assert console.dispatch(second, WORDS) == (True, "DONE")


def test_an_instruction_before_the_world_is_known_is_for_all_agents(
    view: View, tmp_path: Path
) -> None:
    early = Console(view, tmp_path / "who.jsonl", ())
    assert early.dispatch(early.page("aaaaaaaa"), WORDS) == (True, "DONE")
    assert early.robots.asked == [("instruct", "Tidy.", (), ())]


def test_a_page_that_may_only_look_can_only_stop(console: Console) -> None:
    viewer = console.page("cccccccc", may_order=False)
    answer = Approve(type="approve", order=1, agent="agent_0", question="q", answer="yes")
    for order in (WORDS, PARTNER, PICK, answer, Correct(type="correct", order=1, change="add")):
        assert console.dispatch(viewer, order) == (False, "this page may only look")
    assert console.dispatch(viewer, Stop(type="stop", order=1)) == (True, "stopped")
    assert console.robots.asked == [("stop", ("agent_0", "agent_1"))]


def test_only_the_partner_moves_its_agent(console: Console) -> None:
    first, second = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    assert console.dispatch(first, PICK) == (False, "this page is not the partner agent_1")
    assert console.dispatch(second, PARTNER) == (True, "taken")
    assert console.dispatch(first, PARTNER) == (False, "another page is agent_1 already")
    assert console.dispatch(second, PICK) == (False, "too far")
    assert console.robots.asked[-1] == ("skill", "agent_1", "Pick[cup_0]")
    # The instruction is for who is left.
    console.dispatch(first, WORDS)
    assert console.robots.asked[-1] == ("instruct", "Tidy.", ("agent_0",), ())


@pytest.mark.parametrize("running", [1, 2])
def test_an_agent_that_follows_an_instruction_is_no_seat(console: Console, running: int) -> None:
    page = console.page("aaaaaaaa")
    console.view.take("/instruct/status", instruction(running, "agent_0", "agent_1"))
    good, text = console.dispatch(page, PARTNER)
    assert not good
    assert text == "agent_1 follows the instruction that is running; end that first"
    console.view.take("/instruct/status", instruction(3, "agent_0", "agent_1"))
    assert console.dispatch(page, PARTNER) == (True, "taken")


def test_there_is_no_partner_of_one_agent_nor_an_unknown_one(console: Console) -> None:
    page = console.page("aaaaaaaa")
    unknown = Take(type="take", order=1, seat="agent_7")
    assert (
        console.dispatch(page, unknown)[1]
        == "there is no agent agent_7; there are: agent_0, agent_1"
    )
    console.view.take("/world/info", info("agent_0"))
    alone = Take(type="take", order=1, seat="agent_0")
    assert "needs a second one" in console.dispatch(page, alone)[1]


def test_a_partner_that_is_lost_stops_and_finds_its_seat_after_a_reload(console: Console) -> None:
    page, other = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    console.dispatch(page, PARTNER)
    console.dispatcher.visitor_left(page)
    assert console.robots.asked[-1] == ("abort", "agent_1")
    assert console.dispatch(other, PARTNER)[0] is False
    again = console.page("aaaaaaaa")
    console.now_s += GRACE_S * 2
    assert console.dispatch(again, PICK)[1] == "too far"
    console.dispatcher.visitor_left(again)
    console.now_s += GRACE_S + 1
    assert console.dispatch(other, PARTNER) == (True, "taken")


def drive(forward: float = 1.0, turn: float = 0.0) -> Drive:
    return Drive(type="drive", order=1, agent="agent_1", forward=forward, turn=turn)


def test_only_the_partner_drives_its_agent(console: Console) -> None:
    first, second = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    assert console.dispatch(first, drive()) == (False, "this page is not the partner agent_1")
    console.dispatch(second, PARTNER)
    assert console.dispatch(second, drive(0.5, -1.0)) == (True, "drives")
    assert console.robots.asked[-1] == ("drive", "agent_1", "robot", 0.5, -1.0)
    console.dispatch(second, Leave(type="leave", order=1, seat="agent_1"))
    assert console.robots.asked[-1] == ("abort", "agent_1")
    assert console.dispatch(second, drive())[0] is False


def test_a_robot_is_driven_only_by_who_is_also_in_control(console: Console) -> None:
    real = info("agent_0", "agent_1")
    real.simulated = False
    console.view.take("/world/info", real)
    operator, other = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    console.dispatch(other, PARTNER)
    refused = (False, "a robot is driven only by the page that is also in control")
    assert console.dispatch(other, drive()) == refused
    console.dispatch(other, Leave(type="leave", order=1, seat="agent_1"))
    console.dispatch(operator, PARTNER)
    assert console.dispatch(operator, drive()) == (True, "drives")


def test_what_was_stopped_drives_again_only_after_the_keys_were_let_go(console: Console) -> None:
    page, viewer = console.page("aaaaaaaa"), console.page("bbbbbbbb", may_order=False)
    console.dispatch(page, PARTNER)
    console.dispatch(page, drive())
    console.dispatch(viewer, Stop(type="stop", order=1))
    halted = (False, "agent_1 was stopped: let go of the keys first")
    assert console.dispatch(page, drive()) == halted
    assert console.dispatch(page, drive(0.5)) == halted
    assert console.robots.asked[-1] == ("stop", ("agent_0", "agent_1"))
    console.dispatch(page, drive(0.0))
    assert console.dispatch(page, drive()) == (True, "drives")


def test_only_what_changes_in_a_drive_is_recorded(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.dispatch(page, PARTNER)
    for forward in (1.0, 1.0, 1.0, 0.5, 0.5, 0.0, 0.0):
        console.dispatch(page, drive(forward))
    drives = [line["order"] for line in console.lines() if line["what"] == "drive"]
    assert [each["forward"] for each in drives] == [1.0, 0.5, 0.0]  # type: ignore[index]
    statues = info("agent_0", "agent_1")
    statues.bodies = ["statue", "statue"]
    console.view.take("/world/info", statues)
    assert console.dispatch(page, drive()) == (False, "it cannot be driven")
    assert console.lines()[-1]["text"] == "it cannot be driven"


def test_a_second_tab_of_a_session_keeps_its_agent_going(console: Console) -> None:
    one, two = console.page("aaaaaaaa"), console.page("aaaaaaaa")
    console.dispatch(one, PARTNER)
    console.dispatcher.visitor_left(one)
    assert ("abort", "agent_1") not in console.robots.asked
    assert console.dispatch(two, Abort(type="abort", order=1, agent="agent_1")) == (True, "ends")


def test_cameras_are_shown_while_a_page_shows_them(console: Console) -> None:
    page = console.page("aaaaaaaa")
    console.dispatcher.pictures_wanted(page, on=True)
    assert console.robots.asked[-1] == ("pictures", True)
    other = console.page("bbbbbbbb")
    console.dispatcher.pictures_wanted(other, on=True)
    console.dispatcher.visitor_left(page)
    assert console.robots.asked[-1] == ("pictures", True)
    console.dispatcher.visitor_left(other)
    assert console.robots.asked[-1] == ("pictures", False)


def test_who_did_what_is_recorded(console: Console) -> None:
    first, second = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    console.dispatch(first, WORDS)
    console.dispatch(second, WORDS)
    lines = console.lines()
    assert [(line["who"], line["what"]) for line in lines] == [
        ("page aaaaaa", "instruct"),
        ("page aaaaaa", "instruct ended"),
        ("page bbbbbb", "instruct"),
    ]
    assert lines[0]["order"] == {"words": "Tidy.", "dialogue": []}
    assert lines[1]["text"] == "DONE"
    assert lines[2]["refused"] == "this page is not in control"
    shown = console.view.table.section("log")
    assert [row["text"] for row in shown.values()] == ["instruct “Tidy.”: DONE"]  # type: ignore[index, call-overload]


def test_nobody_ends_what_another_page_does_by_leaving_its_seat(console: Console) -> None:
    one, two = console.page("aaaaaaaa"), console.page("bbbbbbbb")
    console.dispatch(one, PARTNER)
    leave = Leave(type="leave", order=1, seat="agent_1")
    assert console.dispatch(two, leave) == (False, "this page is not agent_1")
    assert ("abort", "agent_1") not in console.robots.asked
    assert console.dispatch(one, leave) == (True, "left")


def test_what_a_person_does_is_shown_until_it_has_ended(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, waiting = console.page("aaaaaaaa"), []
    console.dispatch(page, PARTNER)
    monkeypatch.setattr(console.robots, "skill", lambda agent, call, done: waiting.append(done))
    console.dispatcher.dispatch(page, PICK, lambda good, text: None)
    assert console.view.table.get("agents", "agent_1/doing") == "Pick[cup_0]"
    waiting[0](True, "done")
    assert console.view.table.get("agents", "agent_1/doing") is None
