"""What is looked for, in words."""

from __future__ import annotations

from planner.planning.expert.sought import NOTHING_SOUGHT, Sought, sought_words


def test_a_description_is_said_once_whatever_its_classes() -> None:
    toys = Sought("all toys on the couch")
    sought = {"ball_?0": toys, "doll_?0": toys, "cup_?1": Sought("the red cup")}
    assert sought_words(sought, sought) == "all toys on the couch and the red cup"


def test_names_of_a_goal_are_said_as_they_are() -> None:
    assert sought_words(["cup_0"], NOTHING_SOUGHT) == "cup_0"


def test_of_many_things_a_few_are_said() -> None:
    names = ["cup_0", "cup_1", "cup_2", "cup_3", "cup_4"]
    assert sought_words(names, NOTHING_SOUGHT) == "cup_0 and cup_1 and cup_2 and other things"
