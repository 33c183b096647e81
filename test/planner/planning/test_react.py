"""The EPM dialogue (EPM-2.5, EPM-C23 to EPM-C27)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from planning_toys import play
from react_toys import DELTAS, Make, context, decide, ended, one_robot, react

from planner.models.caller import ModelCall
from planner.models.chat import Message, ModelError, Speaker, transcript
from planner.models.teacher import ScriptedModel
from planner.planning.dialogues import MAX_CALLS, NumberedScript, make_react
from planner.planning.numbered_dialogue import (
    ENTITIES,
    entity_line,
    numbered,
)
from planner.planning.planner import Task
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import AgentKind


def test_check_23_the_first_prompt(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, model = react(world, "Navigate[Object.100]\nAssigned!")
    decision = decide(planner, context(world))
    assert str(decision.calls["agent_0"]) == "Navigate[Object.100]"
    system, user = model.asked[0]
    assert (system.speaker, user.speaker) == (Speaker.SYSTEM, Speaker.USER)
    lines = user.text.splitlines()
    assert lines[0] == "Task: Tidy the kitchen."
    for number, piece in enumerate(world.house.furniture):
        words = piece.class_name.replace("_", " ")
        assert f"Object.{100 + number}: {words} in {piece.room}" in lines
    actions = [line.split(":")[0][2:] for line in lines if line.startswith("- ")]
    wanted = ["Close", "ExploreFurniture", "Navigate", "Open", "Pick", "Place", "Done"]
    assert actions == wanted
    assert lines.index("Possible Actions:") < lines.index(
        f"- {actions[0]}: " + lines[lines.index("Possible Actions:") + 1].partition(": ")[2]
    )
    assert lines[-4:] == ["Assigned!", "For example:", "Navigate[<object>]", "Assigned!"]


def test_a_person_has_the_actions_that_change_states_before_done(toy_world: Make) -> None:
    world = toy_world(agents={"agent_0": AgentKind.HUMAN})
    planner, model = react(world, "Done[]\nAssigned!")
    decide(planner, context(world))
    lines = model.asked[0][1].text.splitlines()
    actions = [line.split(":")[0][2:] for line in lines if line.startswith("- ")]
    published = ["Clean", "Fill", "Pour", "PowerOn", "PowerOff"]
    further = ["Boil", "Brew", "Cook", "Dust", "Slice", "Toast", "Water"]
    assert actions[-13:] == [*published, *further, "Done"]


def test_check_25_a_result_with_changes_and_no_list(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, model = react(world, "Navigate[Object.100]", "Done[]")
    decide(planner, context(world))
    planner.observe(ended("Navigate[Object.100]"))
    decide(planner, context(world, deltas=DELTAS))
    assert model.asked[1][-1].text == "\n".join(
        ["Result: Successful execution!", "The following objects were updated:", *DELTAS]
    )


def test_check_25_a_result_without_changes(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, model = react(world, "Navigate[Object.100]", "Done[]")
    decide(planner, context(world))
    planner.observe(ended("Navigate[Object.100]"))
    decide(planner, context(world))
    assert model.asked[1][-1].text == "Result: Successful execution!\nNo object updates."


def test_with_the_whole_list_each_turn_has_all_entities(toy_world: Make) -> None:
    """What EPM compares its changes with; a full context loses lists, not results."""
    world = one_robot(toy_world)
    model = ScriptedModel(["Navigate[Object.100]", "Done[]"])
    task = Task("Tidy the kitchen.", tuple(world.agents))
    planner = make_react(task, model, whole_list=True)
    decide(planner, context(world))
    planner.observe(ended("Navigate[Object.100]"))
    decide(planner, context(world, deltas=DELTAS))
    turn = model.asked[1][-1].text
    head, known, *entities = turn.splitlines()
    assert (head, known) == ("Result: Successful execution!", ENTITIES)
    assert entities == [entity_line(node) for node in numbered(world.belief())]
    assert DELTAS[0] not in turn
    script = NumberedScript(whole_list=True)
    assert script.shortened(turn) == head
    opening = model.asked[0][1].text
    assert script.shortened(opening) == opening
    assert NumberedScript().shortened(turn) == turn


def test_a_failure_is_reported_in_the_literal_text(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, model = react(world, "Pick[Object.150]", "Done[]")
    decide(planner, context(world))
    text = "No object found near the target position 1.25, 0.5, -3.0"
    planner.observe(ended("Pick", SkillResult.failure(SkillCode.NOT_GROUNDED, text)))
    decide(planner, context(world))
    assert model.asked[1][-1].text.startswith(f"Result: Unexpected failure! - {text}\n")


def test_every_prompt_begins_with_the_one_before_byte_for_byte(toy_world: Make) -> None:
    world = one_robot(toy_world)
    replies = ["Navigate[Object.100]", "garbage", "Pick[Object.150]", "Done[]"]
    planner, model = react(world, *replies)
    for number in range(3):
        decide(planner, context(world, deltas=DELTAS[: number % 3]))
        planner.observe(ended("Navigate"))
    texts = [transcript(messages).encode() for messages in model.asked]
    assert len(texts) == 4
    for before, after in pairwise(texts):
        assert after.startswith(before)


def test_a_dialogue_is_told_each_change_once(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, _ = react(world, *["Navigate[Object.100]"] * 3)
    asked: list[int] = []

    def deltas(since: int) -> list[str]:
        asked.append(since)
        return []

    for sequence in (5, 9, 12):
        world.sequence = sequence
        decide(planner, replace(context(world), deltas=deltas))
        planner.observe(ended("Navigate"))
    assert asked == [5, 9]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("Fly[Object.100]", "there is no skill 'Fly'"),
        ("Pick[Object.999]", "there is no Object.999"),
        ("Place[Object.150, under, Object.100, None, None]", "under is neither on nor within"),
        ("let me think", "no call of the form"),
        ("", "no call of the form"),
    ],
)
def test_a_wrong_answer_is_reported_and_costs_a_call(
    toy_world: Make, reply: str, words: str
) -> None:
    world = one_robot(toy_world)
    heard: list[ModelCall] = []
    model = ScriptedModel([reply, "Done[]"])
    planner = make_react(Task("Tidy.", ("agent_0",)), model, on_call=heard.append)
    decision = decide(planner, context(world))
    assert str(decision.calls["agent_0"]) == "Done[]"
    told = model.asked[1][-1].text
    assert told.startswith("Result: Unexpected failure! - ")
    assert words in told
    assert [call.cycle for call in heard] == [1, 2]
    assert heard[0].error
    assert not heard[1].error


def test_check_27_the_51st_call_is_never_sent(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, model = react(world, *["Navigate[Object.100]\nAssigned!"] * 60)
    outcome = play(planner, world, Task("Tidy.", ("agent_0",)))
    assert len(model.asked) == MAX_CALLS == 50
    assert outcome.failure.startswith("planner limit")
    # A rough count, four characters a token: a full episode stays below 3500 tokens.
    grown = sum(len(m.text) for m in model.asked[-1][2:]) / 4 / MAX_CALLS
    assert grown < 32.8


def test_wrong_answers_for_ever_end_at_the_cap_too(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, model = react(world, *["no"] * 60, max_cycles=7)
    assert decide(planner, context(world)).failure.startswith("planner limit")
    assert len(model.asked) == 7


def test_each_agent_has_its_own_dialogue(toy_world: Make) -> None:
    world = toy_world()

    def reply(messages: Sequence[Message]) -> str:
        return "Done[]" if "- Clean:" in messages[1].text else "Navigate[Object.100]"

    planner = make_react(Task("Tidy.", tuple(world.agents)), ScriptedModel(reply))
    decision = decide(planner, context(world))
    assert {a: str(c) for a, c in decision.calls.items()} == {
        "agent_0": "Navigate[Object.100]",
        "agent_1": "Done[]",
    }


def test_a_model_that_fails_says_so(toy_world: Make) -> None:
    world = one_robot(toy_world)
    planner, _ = react(world)
    with pytest.raises(ModelError, match="0 replies"):
        decide(planner, context(world))


def test_a_whole_task_by_script(toy_world: Make) -> None:
    world = one_robot(toy_world)
    names = {node.name: f"Object.{node.entity_id}" for node in world.belief().nodes.values()}
    world.find = {number: name for name, number in names.items()}
    cup, couch = names["cup_0"], names["couch_0"]
    planner, _ = react(
        world,
        f"Navigate[{cup}]",
        f"Pick[{cup}]",
        f"Navigate[{couch}]",
        f"Place[{cup}, on, {couch}, None, None]",
        "Done[]",
    )
    outcome = play(planner, world, Task("Tidy.", ("agent_0",)))
    assert outcome.done
    assert world.things["cup_0"][1] == "couch_0"


# The short wording, for small models.
