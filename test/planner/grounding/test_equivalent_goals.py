"""Goals that `planner.language.equivalence` takes for the same ask for the same of a house."""

import pytest
from grounded import constraints, goal, propositions, settled
from small_house import scene_with, thing

from planner.grounding.scene import Thing
from planner.language.equivalence import same_meaning
from planner.world.geometry import Box
from planner.world.vocabulary import EntityKind


def trash_can(name: str, room: str, at_m: tuple[float, float]) -> Thing:
    box = Box.around((*at_m, 0.3), (0.3, 0.3, 0.6))
    return Thing(name, EntityKind.FURNITURE, "trash_can", box, room=room, parent=room, hollow=True)


CANS = (
    trash_can("trash_can_0", "kitchen_0", (1.0, 1.0)),
    trash_can("trash_can_1", "bedroom_0", (1.0, 7.0)),
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "[{who: robot, move: {the: cup}, to: {on_top: {the: couch}}}]",
            "[{move: {the: cup}, to: {on_top: {the: couch}}}]",
        ),
        (
            "[{move: {the: cup}, to: {in: {the: bin}}}]",
            "[{move: {the: cup}, to: {in: {a: trash can}}}]",
        ),
    ],
)
def test_equivalent_goals_have_the_same_propositions(one, other):
    scene = scene_with(thing("cup_0", "table_0"), *CANS)
    first, second = settled(one, scene), settled(other, scene)
    assert same_meaning(goal(one), goal(other))
    assert propositions(first) == propositions(second) != []
    assert constraints(first) == constraints(second)


def test_what_the_speaker_does_is_not_the_same():
    one = "[{who: speaker, move: {the: cup}, to: {on_top: {the: couch}}}]"
    assert not same_meaning(goal(one), goal(one.replace("who: speaker, ", "")))
