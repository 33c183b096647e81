"""The state of the page from messages, without a browser and without ROS."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace as Message

import numpy as np
import pytest
from console_messages import (
    believed,
    entity,
    graph,
    info,
    instruction,
    judgement,
    point,
    question,
    skill_report,
    state,
    trace,
)

from planner.console import facts
from planner.console import view as page
from planner.console.facts import Json, Table, thought
from planner.console.view import ChangingCall, View, changing_call, doers, explored, offloaded
from planner.models.ledger import ModelPrices, PriceTable
from planner.world.house import House


def test_changes_of_an_unknown_state_wait_for_a_keyframe(view: View) -> None:
    view.take("world/state", state(5, entity("cup_0", 1.0)))
    assert view.table.section("truth") == {}
    view.take("/world/state", state(6, entity("cup_0", 1.0), entity("cup_1"), keyframe=True))
    view.take("/world/state", state(7, entity("cup_0", 2.0)))
    view.take("/world/state", state(9, entity("cup_0", 9.0)))
    truth = view.table.section("truth")
    assert truth["cup_0"]["x"] == 2.0  # type: ignore[index, call-overload]
    view.take("/world/state", state(10, entity("cup_0", 3.0), keyframe=True))
    assert {*view.table.section("truth")} == {"cup_0"}
    view.take("/world/state", state(11, removed=["cup_0"]))
    assert view.table.section("truth") == {}


def test_a_memory_that_only_grows_older_changes_nothing(view: View) -> None:
    view.take("/world_graph", graph(10.0, believed("cup_0", 4.0)))
    before = view.table.version
    view.take("/world_graph", graph(10.2, believed("cup_0", 4.2)))
    assert view.table.version == before
    view.take("/world_graph", graph(10.2, believed("cup_0", 0.0)))
    node = view.table.get("belief", "cup_0")
    assert isinstance(node, dict)
    assert (node["source"], node["since"], node["parent"]) == ("seen", 10.0, "table_0")
    view.take("/world_graph", graph(11.0))
    assert view.table.section("belief") == {}


def test_the_plan_of_the_house_comes_with_the_world(view: View, small_house: House) -> None:
    text = small_house.model_dump_json(by_alias=True)
    view.take("world/info", info("agent_0", "agent_1", house_json=text))
    plan = view.table.get("world", "plan")
    assert isinstance(plan, dict)
    assert {room["name"] for room in plan["rooms"]} == {room.name for room in small_house.rooms}
    assert view.agents == ("agent_0", "agent_1")
    view.take("world/info", info("agent_0", house_json="{}"))
    assert view.table.get("world", "plan") is None


def test_a_house_of_a_newer_version_is_drawn_without_walls_and_the_page_says_so(
    view: View, small_house: House
) -> None:
    newer = {**json.loads(small_house.model_dump_json(by_alias=True)), "version": 99}
    view.take("world/info", info("agent_0", house_json=json.dumps(newer)))
    assert view.table.get("world", "plan") is None
    said = view.table.get("health", "house")
    assert isinstance(said, dict)
    assert "version 99 is not supported" in said["message"]
    view.take("world/info", info("agent_0", house_json=""))
    assert view.table.get("health", "house") is None


def test_a_page_needs_neither_path_search_nor_vision(small_house: House) -> None:
    """Both would take a quarter of its memory."""
    text = small_house.model_dump_json(by_alias=True)
    script = (
        "import sys, types;"
        "import planner.console.server, planner.console.dispatcher as d;"
        "from planner.console.view import View; from planner.console.facts import Table;"
        "from planner.console.dispatcher import number_of; assert number_of('x') == 0;"
        "view = View(Table()); view._draw_house(sys.stdin.read());"
        "assert view.table.get('world', 'plan');"
        "print([m for m in ('scipy', 'cv2', 'planner.world.house_checks') if m in sys.modules])"
    )
    words = [sys.executable, "-c", script]
    ended = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


def test_a_message_of_another_kind_is_counted_and_changes_nothing_else(view: View) -> None:
    view.take("/world/state", state(1, entity("cup_0", 1.0), keyframe=True))
    view.take("/evaluation", Message(status=0))
    view.take("/instruct/status", None)
    report = view.table.get("health", "console")
    assert isinstance(report, dict)
    assert report["message"].startswith("2 messages could not be read, the last one on instruct/")
    assert {*view.table.section("truth")} == {"cup_0"}


def test_ways_are_drawn_in_pieces(view: View) -> None:
    robot = {"kind": 3, "parent": "", "relation": ""}
    for step in range(100):
        moved = entity("agent_0", step * 0.2, 0.0, **robot)
        view.take("/world/state", state(step, moved, keyframe=True))
    pieces = view.table.section("trails")
    assert [*pieces] == ["agent_0/0", "agent_0/1", "agent_0/2"]
    assert pieces["agent_0/0"][-1] == pieces["agent_0/1"][0]  # type: ignore[index]
    view.take("/world/info", info("agent_0"))
    assert view.table.section("trails") == {}


def test_prompts_and_replies_wait_for_a_click(view: View) -> None:
    view.take("/planner/trace", trace("the prompt", "Thought: the cup is dirty\nWait[]"))
    view.take("/planner/trace", trace("again", "nonsense", "no call in it"))
    rows = view.table.section("traces")
    assert "the prompt" not in str(rows)
    assert rows["1"]["thought"] == "the cup is dirty"  # type: ignore[index, call-overload]
    found = view.trace("1")
    assert found is not None
    assert found["prompt"] == "the prompt"
    used = view.table.get("models", "planner small")
    assert isinstance(used, dict)
    assert (used["calls"], used["refused"], used["prompt_tokens"]) == (2, 1, 200)


def test_a_planner_without_a_model_has_decisions_but_no_tokens(view: View) -> None:
    decided = trace("", "1. Bring the cup.")
    decided.model, decided.prompt_tokens = "", 0
    view.take("/planner/trace", decided)
    assert view.table.section("models") == {}
    assert view.table.section("traces")["1"]["asked"] is False  # type: ignore[index, call-overload]
    # A server that does not say which model it has was asked all the same.
    unnamed = trace("the prompt", "Wait[]")
    unnamed.model = ""
    view.take("/planner/trace", unnamed)
    assert [*view.table.section("models")] == ["planner"]


def test_lists_keep_their_newest_rows(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MAX_TRACES", 3)
    for number in range(5):
        view.take("/planner/trace", trace(f"prompt {number}", ""))
    assert [*view.table.section("traces")] == ["3", "4", "5"]
    assert view.trace("2") is None


def test_calls_have_a_cost_where_the_user_gave_prices() -> None:
    one = ModelPrices(prompt=2.0, cached=0.5, reply=8.0)
    priced = View(Table(), PriceTable(version=1, currency="EUR", models={"small": one}))
    free = View(Table())
    for view in (priced, free):
        for model in ("small", "small", "other"):
            asked = trace("prompt", "Wait[]")
            asked.model = model
            view.take("/planner/trace", asked)
    used = priced.table.section("models")
    # 40 fresh, 60 cached and 10 replied tokens, twice.
    assert used["planner small"]["cost"] == pytest.approx(2 * (80 + 30 + 80) / 1e6)  # type: ignore[index, call-overload]
    assert "cost" not in str(used["planner other"])
    assert priced.table.get("prices", "currency") == "EUR"
    assert "cost" not in str(free.table.section("models"))
    assert free.table.get("prices", "currency") is None


def test_a_question_to_the_operator_goes_with_its_answer(view: View) -> None:
    view.take("/agent_0/safety/question", question("agent_0", 9.25))
    (asked,) = view.table.section("questions").values()
    assert isinstance(asked, dict)
    assert asked["picture"] == "agent_0/asks/9.250000000"
    view.take("/agent_0/safety/question", question("agent_0", 9.5, picture_frame=""))
    (asked,) = view.table.section("questions").values()
    assert isinstance(asked, dict)
    assert asked["picture"] == ""
    assert {*view.table.section("questions")} == {"agent_0"}
    view.take("/agent_0/safety/question", Message(question_id=""))
    assert view.table.section("questions") == {}


def test_a_snapshot_is_what_was_there_whatever_came_later(view: View) -> None:
    empty = view.snapshot()
    view.take("/world/state", state(9, entity("cup_0"), keyframe=True))
    view.take("/planner/trace", trace("a prompt", "a reply"))
    one = view.snapshot()
    for place in (1, 2):
        view.take("/world/state", state(9 + place, entity("cup_0", place)))
        view.take("/instruct/status", instruction(place, "agent_0"))
        view.take("/planner/trace", trace("another prompt", "another reply"))
    view.restore(one)
    assert view.trace("2") is None
    assert view.trace("1") is not None
    assert view.table.section("instruct") == {}
    # The next message continues there.
    view.take("/world/state", state(10, entity("cup_0", 5.0)))
    assert view.table.get("truth", "cup_0") == facts.true_entity(entity("cup_0", 5.0))
    view.restore(empty)
    assert view.table.section("truth") == view.table.section("models") == {}
    view.restore(one)
    assert view.table.get("truth", "cup_0") == facts.true_entity(entity("cup_0"))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Thought: the cup is on the table\nPick[cup_0]", "the cup is on the table"),
        ("I will pick it.\nPick[cup_0]", "I will pick it."),
        ("Pick[cup_0]", ""),
        ('{"calls": []}', ""),
        ("", ""),
    ],
)
def test_the_thought_of_a_reply(reply: str, expected: str) -> None:
    assert thought(reply) == expected


def test_unknown_cells_are_runs_in_rows() -> None:
    cells = np.array([[0, -1, -1, 100], [-1, 0, 0, -1]], dtype=np.int8)
    at = Message(position=point(-1.0, 2.0))
    grid = Message(width=4, height=2, resolution=0.5, origin=at)
    found = explored(Message(info=grid, data=cells.ravel().tolist()))
    assert found["runs"] == [[0, 1, 2], [1, 0, 1], [1, 3, 1]]
    assert (found["x"], found["cell"], found["share"]) == (-1.0, 0.5, 0.5)
    with pytest.raises(ValueError, match="a grid of 4 x 2 has 3 cells"):
        explored(Message(info=grid, data=[0, 0, 0]))


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
