"""Every annotated goal is bound, or its parts are named, in shipped houses full of things."""

from functools import cache
from pathlib import Path

import pytest

from planner.episodes.start_state import piece_state
from planner.evaluation.language import read_evaluation
from planner.grounding.grounder import Binder
from planner.grounding.records import Grounding
from planner.grounding.scene import Scene, Thing, scene_of_state
from planner.language.goal_form import Goal, Leave, Never
from planner.language.reading import read_instructions
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Box
from planner.world.house_checks import load_house
from planner.world.receptacle import part_by_word
from planner.world.state import WorldState
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation

KNOWN = Path(__file__).parents[2] / "data" / "everyday" / "known.yaml"
GOALS = [item.goal for item in read_instructions(KNOWN) if item.goal is not None]


@cache
def full_house(name: str) -> Scene:
    """A shipped house with a thing of every class where such things usually are."""
    house = load_house(name)
    found = {piece.name: piece_state(piece) for piece in house.furniture}
    empty = scene_of_state(WorldState(0.0, 0, 0, name, "", found), house)
    things = dict(empty.things)
    for cls in default_catalogue().objects.values():
        usual = {place.furniture: place.relation for place in cls.places}
        piece = next((p for p in house.furniture if p.class_name in usual), house.furniture[0])
        things[f"{cls.name}_0"] = Thing(
            name=f"{cls.name}_0",
            kind=EntityKind.OBJECT,
            class_name=cls.name,
            box=Box.around(piece.box.center_m, cls.size_m),
            room=piece.room,
            parent=piece.name,
            relation=usual.get(piece.class_name, Relation.ON),
            affordances=cls.affordances,
            states=default_states().initial(cls.affordances, cls.states),
            surface=part_by_word(cls.name, Relation.ON) is not None,
            hollow=part_by_word(cls.name, Relation.WITHIN) is not None,
        )
    return Scene(things, complete=True)


def accounted_for(goal: Goal, found: Grounding) -> set[int]:
    """The requests of which something is said, and those that wait for an answer or a search."""
    if found.criteria is not None or found.questions or found.missing:
        return set(range(len(goal.requests)))
    parts = (*found.open_ended, *found.unbound)
    # What does not exist needs no protection.
    protected = {i for i, r in enumerate(goal.requests) if isinstance(r, Leave | Never)}
    return protected | {*found.requests, *(part.request for part in parts)}


@pytest.mark.slow
@pytest.mark.parametrize("house", ["train_0", "heldout_0"])
@pytest.mark.parametrize("settle", [True, False])
def test_no_request_is_dropped(house: str, settle: bool) -> None:
    scene, dropped = full_house(house), []
    for goal in GOALS:
        found = Binder(goal, settle=settle).update(scene)
        if found.evaluation is not None:
            read_evaluation(dict(found.evaluation), "everyday")
        if accounted_for(goal, found) != set(range(len(goal.requests))):
            dropped.append(goal.model_dump(mode="json", by_alias=True, exclude_defaults=True))
    assert dropped == []


@pytest.mark.parametrize("settle", [True, False])
def test_the_order_in_which_things_are_listed_does_not_matter(settle: bool) -> None:
    scene = full_house("heldout_0")
    reversed_scene = Scene(dict(reversed(scene.things.items())), complete=True)
    assert [_bound(goal, scene, settle) for goal in GOALS[::4]] == [
        _bound(goal, reversed_scene, settle) for goal in GOALS[::4]
    ]


def _bound(goal: Goal, scene: Scene, settle: bool) -> Grounding:
    return Binder(goal, settle=settle).update(scene)


def test_what_is_found_one_by_one_ends_as_what_was_known_at_once() -> None:
    scene = full_house("heldout_0")
    objects = [t.name for t in scene.things.values() if t.kind is EntityKind.OBJECT]
    fixed = {n: t for n, t in scene.things.items() if t.kind is not EntityKind.OBJECT}
    for goal in GOALS[::8]:
        binder, known = Binder(goal, settle=True), dict(fixed)
        for start in range(0, len(objects), 60):
            known |= {name: scene.things[name] for name in objects[start : start + 60]}
            found = binder.update(Scene(dict(known), complete=len(known) == len(scene.things)))
        at_once = _bound(goal, scene, True)
        assert {part.text for part in found.unbound} == {part.text for part in at_once.unbound}
