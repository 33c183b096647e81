"""The planner that EPM shows DynaMem's memory with (EPM-2.9); `ScriptedModel` stands in for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from planning_toys import Outcome, ToyWorld, play, prop, task_of

from papers.partnr.open_loop import MAX_STEPS, PlanReply, PlanStep
from planner.models.chat import ChatModel, ModelError
from planner.models.gbnf import read_grammar
from planner.models.replies.form import ReplyError
from planner.models.teacher import ScriptedModel, Skill, Teacher
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Task
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.vocabulary import AgentKind

Make = Callable[..., ToyWorld]
PAPERS = """
'Pick[electronic cable in living room]',
'Place[bedroom table]',
'Done[]'
"""


def carried_out(world: ToyWorld, model: ChatModel, task: Task | None = None) -> Outcome:
    task = task or Task("Bring the cup to the couch.", tuple(world.agents))
    return play(make_planner(PlannerChoice("open_loop"), task, model), world, task)


def scripted(world: ToyWorld, *steps: str) -> tuple[Outcome, ScriptedModel]:
    model = ScriptedModel(["\n".join(f"- {step}" for step in (*steps, "Done[]"))])
    return carried_out(world, model), model


@pytest.fixture
def world(toy_world: Make) -> ToyWorld:
    return toy_world(agents={"agent_0": AgentKind.ROBOT})


def test_the_papers_two_forms_are_read() -> None:
    steps = PlanReply().read(PAPERS, ended=True)
    assert [str(step) for step in steps] == [
        "Pick[electronic cable in living room]",
        "Place[bedroom table]",
    ]
    (step,) = PlanReply().read("- Pick[vase, in kitchen]\n- Done[]\n- Pick[cup]", ended=True)
    assert step == PlanStep(SkillName.PICK, "vase, in kitchen")
    assert PlanReply().read("- Done[]", ended=False) == ()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I will tidy up.", "the reply has no action"),
        ("- Open[fridge]\n- Done[]", "there is no action Open; known are Pick, Place and Done"),
        ("- Pick[cup]\n- Place[ ,]", r"action 2: Place\[\] names nothing"),
        ("- Pick[cup]\n" * (MAX_STEPS + 1), "more than 60 actions"),
        ("x" * 30_000, "has 30000 characters"),
    ],
)
def test_a_reply_of_another_form_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ReplyError, match=reason):
        PlanReply().read(text, ended=True)


def test_a_plan_that_was_cut_off_is_refused() -> None:
    with pytest.raises(ReplyError, match="cut off before Done"):
        PlanReply().read("- Pick[cup]\n- Pla", ended=False)


def test_the_grammar_fits_what_is_asked_for() -> None:
    grammar = read_grammar(PlanReply().grammar)
    assert grammar.accepts("- Pick[vase, in kitchen]\n- Place[bed]\n- Done[]")
    assert not grammar.accepts("- Open[fridge]\n- Done[]")
    assert not grammar.accepts("- Pick[vase]")


def test_the_model_is_asked_once_and_its_plan_is_carried_out(world: ToyWorld) -> None:
    outcome, model = scripted(world, "Pick[cup in kitchen]", "Place[couch]")
    assert outcome.done
    assert outcome.of("agent_0") == [
        "Navigate[cup_0]",
        "Pick[cup_0]",
        "Navigate[couch_0]",
        "Place[cup_0, on, couch_0, None, None]",
        "Done[]",
    ]
    assert len(model.asked) == 1
    (prompt,) = model.asked[0]
    assert prompt.text.endswith("Instruction: Bring the cup to the couch.\nActions:\n")
    assert outcome.decisions[-1].evidence == {"plan_steps": "2 of 2"}


def test_failures_change_nothing_of_the_plan_and_are_told(world: ToyWorld) -> None:
    """Open loop: the cup slips, and its place is tried nevertheless."""

    def slips(_agent: str, call: SkillCall) -> SkillResult | None:
        if str(call) == "Pick[cup_0]":
            return SkillResult.failure(SkillCode.TOO_FAR, "It is too far.")
        return None

    outcome, model = scripted(replace(world, fault=slips), "Pick[cup]", "Place[couch]")
    assert [call.partition("[")[0] for call in outcome.of("agent_0")] == [
        "Navigate",
        "Pick",
        "Navigate",
        "Place",
        "Done",
    ]
    assert outcome.done
    assert len(model.asked) == 1
    assert "2 times it went wrong: Pick[cup_0]" in outcome.decisions[-1].thought


def test_what_is_unknown_is_searched_in_each_room_and_left_with_its_place(world: ToyWorld) -> None:
    outcome, _ = scripted(world, "Pick[vase]", "Place[couch]", "Pick[cup]", "Place[couch]")
    rooms = {room.name for room in world.house.rooms}
    calls = outcome.of("agent_0")
    searched = [call for call in calls if call.startswith("Explore")]
    assert set(searched) == {f"Explore[{room}]" for room in rooms}
    assert len(searched) == len(rooms), "what was explored once is in the memory"
    assert calls[len(searched)] == "Navigate[cup_0]"
    assert world.things["cup_0"][1] == "couch_0"
    assert "Pick[vase]: not found in the whole house" in outcome.decisions[-1].thought


def test_any_table_serves_where_the_furniture_is_nowhere(world: ToyWorld) -> None:
    scripted(world, "Pick[book]", "Place[piano, in kitchen]")
    assert world.things["book_0"][1].startswith("table_")


def test_a_room_before_a_name_and_after_it_say_the_same(toy_world: Make) -> None:
    """The tables of the small house are in several rooms."""
    for form in ("{room} table", "table, in {room}", "tables in the {room}", "table, {name}"):
        world = toy_world(agents={"agent_0": AgentKind.ROBOT})
        for piece in (p for p in world.house.furniture if p.class_name == "table"):
            room = world.house.rooms_by_name[piece.room]
            words = form.format(room=room.class_name.replace("_", " "), name=room.name)
            scripted(world, "Pick[cup]", f"Place[{words}]")
            found = world.house.furniture_by_name[world.things["cup_0"][1]]
            assert (found.class_name, found.room) == ("table", piece.room), words


def test_two_of_a_kind_are_two_things(toy_world: Make) -> None:
    world = toy_world(agents={"agent_0": AgentKind.ROBOT})
    world.things["cup_1"] = world.things["cup_0"]
    scripted(world, "Pick[cup]", "Place[couch]", "Pick[cup]", "Place[couch]")
    assert [world.things[name][1] for name in ("cup_0", "cup_1")] == ["couch_0"] * 2


def test_a_wrong_reply_is_told_once_and_then_it_gives_up(world: ToyWorld) -> None:
    outcome = carried_out(world, ScriptedModel(["Hello.", "- Done[]"]))
    assert outcome.done
    model = ScriptedModel(["Hello.", "- Fly[home]"])
    outcome = carried_out(world, model)
    assert outcome.failure.startswith("no plan came in 2 replies: there is no action Fly")
    assert model.asked[1][-1].text == "Wrong: the reply has no action\nActions:\n"


def test_one_agent_carries_it_out_and_the_other_waits(toy_world: Make) -> None:
    outcome, _ = scripted(toy_world(), "Pick[cup]", "Place[couch]")
    assert outcome.of("agent_1") == ["Done[]"]


def test_the_teacher_plans_by_the_goal(world: ToyWorld) -> None:
    wanted = [prop("is_on_top", [name], ["couch_0"]) for name in ("cup_0", "apple_0")]
    wanted.append(prop("is_clean", ["cup_0"]))
    task = task_of(world, {"propositions": wanted})
    assert carried_out(world, Teacher(Skill()), task).done
    assert [world.things[name][1] for name in ("cup_0", "apple_0")] == ["couch_0"] * 2


def test_the_teacher_knows_no_plan_for_other_goals(world: ToyWorld) -> None:
    task = task_of(world, {"propositions": [prop("is_clean", ["cup_0"])]})
    with pytest.raises(ModelError, match="nothing of the goal can be done"):
        carried_out(world, Teacher(Skill()), task)
    with pytest.raises(ModelError, match="follows from a goal"):
        carried_out(world, Teacher(Skill()))
