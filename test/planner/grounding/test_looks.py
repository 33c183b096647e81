"""Colours and materials of descriptions are those of the house."""

import pytest
from small_house import scene_with, thing

from planner.episodes.start_state import start_entities
from planner.grounding.grounder import Binder
from planner.grounding.scene import scene_of_belief, scene_of_state
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.planning.planner_inputs import full_belief
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.shapes import Color
from planner.world.state import WorldState


@pytest.fixture
def two_cups(small_house: House, small_episode: Episode) -> WorldState:
    """The small house with a blue cup beside the red one."""
    cup = small_episode.objects[0]
    blue = cup.model_copy(update={"name": "cup_7", "color": Color.BLUE})
    episode = small_episode.model_copy(update={"objects": (*small_episode.objects, blue)})
    entities = start_entities(episode, small_house, default_catalogue())
    return WorldState(0.0, 0, 0, small_house.name, episode.episode_id, entities)


@pytest.mark.parametrize("believed", [False, True])
@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("the red cup", "cup_0"),
        ("the blue ceramic cup", "cup_7"),
        ("the blue mug", "cup_7"),
    ],
)
def test_a_colour_tells_which_cup_is_meant(
    two_cups: WorldState, small_house: House, words: str, name: str, *, believed: bool
) -> None:
    goal = interpret(f"Put {words} on the couch.")
    assert isinstance(goal, Goal)
    if believed:
        scene = scene_of_belief(full_belief(two_cups), small_house)
    else:
        scene = scene_of_state(two_cups, small_house)
    found = Binder(goal).update(scene)
    assert not found.questions
    assert [names for names in found.bound.values() if "couch_0" not in names] == [(name,)]


def test_a_gray_knife_is_meant_where_no_silver_one_is_known() -> None:
    scene = scene_with(
        thing("knife_0", "table_0", color="gray"), thing("knife_1", "table_1", color="red")
    )
    goal = interpret("Put the silver knife in the sink.")
    assert isinstance(goal, Goal)
    assert ("knife_0",) in Binder(goal).update(scene).bound.values()
