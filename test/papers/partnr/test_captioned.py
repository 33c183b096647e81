"""PARTNR's planners that read descriptions of pictures, with scripted models (PARTNR-A10)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from planning_toys import ToyWorld, capabilities, play, prop, task_of

from papers.partnr.prompts import CAPTION, shortened
from planner.models.caller import ModelCall
from planner.models.chat import Fault, Message, ModelError, Picture, Role, Speaker, transcript
from planner.models.model_choice import RoleModels
from planner.models.teacher import ScriptedModel, Skill, Teacher
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Context, Decision, Planner, Task
from planner.planning.planner_model import Axes, Control, MemorySource
from planner.world.agents import AgentKind
from planner.world.errors import PlannerError

Make = Callable[..., ToyWorld]
ROBOT = {"agent_0": AgentKind.ROBOT}
TASK = "Bring the cup to the couch."
PICTURE = Picture.of(np.full((8, 8, 3), 90, np.uint8))
BOTH = ["partnr_captioned", "partnr_views"]


def turn(call: str) -> str:
    return f"Thought: I do this.\n{call}\nAssigned!"


def context(world: ToyWorld, picture: Picture | None = PICTURE) -> Context:
    agents = tuple(world.agents)
    return Context(
        task=Task(TASK, agents),
        belief=world.belief(),
        layout=world.house.layout,
        capabilities={name: capabilities(kind) for name, kind in world.agents.items()},
        running={},
        idle=agents,
        now_s=0.0,
        picture=lambda _: picture,
    )


def made(
    name: str,
    calls: Sequence[str],
    captions: Sequence[str] | Callable[[Sequence[Message]], str],
    heard: list[ModelCall] | None = None,
) -> tuple[Planner, ScriptedModel, ScriptedModel]:
    language, vision = ScriptedModel([turn(call) for call in calls]), ScriptedModel(captions)
    models = RoleModels(language, {Role.CAPTIONER: vision})
    on_call = heard.append if heard is not None else lambda call: None
    task = Task(TASK, tuple(ROBOT))
    return make_planner(PlannerChoice(name), task, models, on_call), language, vision


def decide(planner: Planner, now: Context) -> Decision:
    return asyncio.run(planner.decide(now))


def user_turns(model: ScriptedModel) -> list[str]:
    return [message.text for message in model.asked[-1] if message.speaker is Speaker.USER]


def test_a_caption_of_each_turn_s_picture_stands_below_the_summary(toy_world: Make) -> None:
    heard: list[ModelCall] = []
    captions = ["A kitchen with a mug.", "A grey couch."]
    planner, language, vision = made(BOTH[0], ["Navigate[couch_0]", "Done[]"], captions, heard)
    outcome = play(
        planner, toy_world(agents=ROBOT), Task(TASK, ("agent_0",)), picture=lambda _: PICTURE
    )
    assert outcome.calls == [("agent_0", "Navigate[couch_0]"), ("agent_0", "Done[]")]
    first, second = user_turns(language)
    assert "cup_0: table_0 in kitchen_0" in first
    assert first.index("Objects:") < first.index("Your camera shows: A kitchen with a mug.\n")
    assert "cup_0: table_0 in kitchen_0" in second
    assert second.endswith("\nYour camera shows: A grey couch.")
    assert [message.pictures for message in vision.asked[0]] == [(PICTURE,)]
    assert vision.asked[0][0].text == CAPTION
    assert [call.role for call in heard] == [Role.CAPTIONER, Role.PLANNER] * 2
    evidence = outcome.decisions[-1].evidence
    assert evidence["captions"] == "2"
    assert evidence["memory_source"] == "summary"


def test_without_the_graph_only_captions_tell_of_things(toy_world: Make) -> None:
    planner, language, _ = made(BOTH[1], ["Navigate[cup_0]"], ["A mug on a table."])
    decision = decide(planner, context(toy_world(agents=ROBOT)))
    (told,) = user_turns(language)
    assert "table_0 in kitchen_0" not in told
    assert "Objects:" not in told
    assert "kitchen_0: floor_kitchen_0, " in told
    assert "Your camera shows: A mug on a table.\nCalls name what is to be seen there: " in told
    assert "FindObjectTool" not in transcript(language.asked[0])
    assert str(decision.calls["agent_0"]) == "Navigate[cup_0]"
    assert decision.evidence["memory_source"] == "captions"


def test_without_the_graph_what_no_picture_showed_cannot_be_named(toy_world: Make) -> None:
    """The memory knows of the cup, but no picture came."""
    world = toy_world(agents=ROBOT)
    now = context(world, None)
    planner, language, vision = made(BOTH[1], ["Navigate[cup_0]", "Done[]"], [])
    decision = decide(planner, now)
    assert str(decision.calls["agent_0"]) == "Done[]"
    assert '"cup_0"' not in language.requests[0].grammar
    assert '"couch_0"' in language.requests[0].grammar
    assert "cup_0" in user_turns(language)[1]  # The refusal.
    assert vision.asked == []
    assert decision.evidence["pictures_missing"] == "1"
    assert "Your camera shows: nothing, since no picture came" in user_turns(language)[0]


@pytest.mark.parametrize("name", BOTH)
def test_a_caption_without_words_is_counted_and_shows_nothing(toy_world: Make, name: str) -> None:
    planner, language, _ = made(name, ["Done[]"], [" \n "])
    decision = decide(planner, context(toy_world(agents=ROBOT)))
    assert "Your camera shows: a picture that could not be described" in user_turns(language)[0]
    assert decision.evidence["captions_failed"] == "1"
    assert decision.evidence["captions"] == "0"
    assert ('"cup_0"' in language.requests[0].grammar) is (name == BOTH[0])


def test_a_full_context_drops_views_as_it_drops_summaries() -> None:
    turn_text = "Result: Successful execution!\nYour camera shows: A mug.\nCalls name what: cup_0"
    assert shortened(turn_text) == "Result: Successful execution!"
    both = "Result: Successful execution!\nObjects:\ncup_0: table_0\nYour camera shows: A mug."
    assert shortened(both) == "Result: Successful execution!"


@pytest.mark.parametrize("name", BOTH)
def test_a_captioner_that_does_not_answer_ends_the_task(toy_world: Make, name: str) -> None:
    planner, _, _ = made(name, ["Done[]"], [])
    with pytest.raises(ModelError, match="0 replies"):
        decide(planner, context(toy_world(agents=ROBOT)))


@pytest.mark.parametrize("name", BOTH)
def test_one_dialogue_for_all_agents_is_refused(name: str) -> None:
    choice = PlannerChoice(name, Axes(control=Control.CENTRALIZED))
    with pytest.raises(PlannerError, match=f"{name} has a dialogue for each agent"):
        make_planner(choice, Task(TASK, ("agent_0", "agent_1")), ScriptedModel([]))


def test_a_planner_without_pictures_cannot_read_captions() -> None:
    choice = PlannerChoice("partnr_react", Axes(memory_source=MemorySource.CAPTIONS))
    with pytest.raises(PlannerError, match="partnr_views reads captions"):
        make_planner(choice, Task(TASK, ("agent_0",)), ScriptedModel([]))


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_two_agents_do_a_task_with_the_teacher_in_both_models_places(
    toy_world: Make, name: str, rate: float
) -> None:
    """A stand-in: it describes what the memory has in view, at times with a thing too many."""
    world = toy_world("spoon_0")
    wanted = ["cup_0", "apple_0", "spoon_0"]
    goal = {"propositions": [prop("is_on_top", [one], ["couch_0"]) for one in wanted]}
    task, heard = task_of(world, goal), list[ModelCall]()
    teacher = Teacher(Skill({Fault.INVENTED_ENTITY: rate}))
    planner = make_planner(PlannerChoice(name), task, teacher, heard.append)
    outcome = play(planner, world, task, picture=lambda _: PICTURE)
    assert outcome.done, outcome.failure
    assert [world.things[one][1] for one in wanted] == ["couch_0"] * 3
    captions = [call.reply for call in heard if call.role is Role.CAPTIONER]
    assert any("a cup on a table" in caption for caption in captions)
    assert any("samovar" in caption for caption in captions) is (rate > 0)
