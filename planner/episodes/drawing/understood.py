"""Draws what an instruction in words is understood to mean in a house."""

from __future__ import annotations

from collections.abc import Mapping

from planner.episodes.drawing.picture import Task, draw_task
from planner.episodes.drawing.shapes import Picture
from planner.episodes.start_state import start_entities
from planner.evaluation.language import read_evaluation
from planner.grounding.binder import Binder
from planner.grounding.choosing import Choice
from planner.grounding.scene import scene_of_state
from planner.language.goal_form import Goal
from planner.world.catalogue import default_catalogue
from planner.world.episode import AgentPlacement, Episode
from planner.world.house import House
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind


def draw_understood(
    text: str, goal: Goal, house: House, choices: Mapping[str, Choice] | None = None
) -> Picture:
    """Draws a goal over descriptions, bound to a house as its file has it.

    Where several things fit, all of them are drawn as alternatives.

    Args:
        text: the instruction.
        goal: what was understood of it.
        house: where it is carried out.
        choices: what was answered about it.
    """
    robot = AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT)
    start = Episode(
        version=1,
        episode_id="start",
        house=house.name,
        instruction=text,
        agents=(robot,),
        objects=house.objects,
    )
    entities = start_entities(start, house, default_catalogue())
    scene = scene_of_state(WorldState(0.0, 0, 0, house.name, "", entities), house)
    found = Binder(goal, choices, settle=True).update(scene)
    asked = Binder(goal, choices).update(scene).questions
    evaluation = None
    if found.evaluation is not None:
        evaluation = read_evaluation(dict(found.evaluation), "the goal as understood")
    remarks = [f"{number}. {words}" for number, words in enumerate(found.request_words, 1)]
    remarks += [f"Not possible: {part.text}" for part in found.unbound if part.fails]
    remarks += [part.text for part in found.unbound if not part.fails]
    remarks += [f"To be asked: {question.text}" for question in asked]
    return draw_task(Task("As understood", house.name, text, evaluation, entities, tuple(remarks)))
