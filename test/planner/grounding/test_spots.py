"""Which furniture of several is rather meant, by what is put there."""

from dataclasses import replace

import pytest
from grounded import goal, propositions
from small_house import scene_with, thing

from planner.grounding.grounder import Binder
from planner.grounding.scene import Scene
from planner.grounding.spots import likely_pieces, too_small_for
from planner.world.vocabulary import EntityKind


def with_another(*names: str) -> Scene:
    """The small house with the same furniture in further rooms, as ROOM/FURNITURE."""
    scene = scene_with()
    things = dict(scene.things)
    for name in names:
        room, piece = name.split("/")
        class_name = room.rpartition("_")[0]
        things[room] = replace(things["kitchen_0"], name=room, class_name=class_name)
        like = next(
            t
            for t in things.values()
            if t.kind is EntityKind.FURNITURE and t.class_name == piece.rpartition("_")[0]
        )
        things[piece] = replace(like, name=piece, room=room, parent=room)
    return replace(scene, things=things)


@pytest.mark.parametrize(
    ("kinds", "meant"),
    [
        (["plate"], "sink_0"),
        # Nobody keeps cups in a sink, but in the kitchen.
        (["mug"], "sink_0"),
        (["mug", "plate"], "sink_0"),
        (["hand towel"], "sink_1"),
    ],
)
def test_the_sink_is_that_of_the_room_where_things_are_kept(kinds: list[str], meant: str) -> None:
    scene = with_another("bathroom_0/sink_1")
    assert {n for n in likely_pieces(scene, kinds) if n.startswith("sink")} == {meant}


@pytest.mark.parametrize(
    "text",
    [
        "[{make: {the: cabinet, as: c}, be: open}, then, {move: {all: plate}, to: {in: c}}]",
        "[{make: {the: cabinet}, be: open}, then, {move: {all: plate}, to: {in: {the: cabinet}}}]",
    ],
)
def test_what_is_put_there_later_tells_which_is_meant_from_the_start(text: str) -> None:
    binder = Binder(goal(text))
    found = binder.update(with_another("bathroom_0/cabinet_1"))
    assert not found.questions
    assert propositions(found)[0] == ("is_open", "cabinet_0")


def test_a_table_is_as_likely_as_another() -> None:
    assert not any(n.startswith("table") for n in likely_pieces(with_another(), ["plate"]))


@pytest.mark.parametrize(("width_m", "asks"), [(0.6, True), (0.2, False)])
def test_furniture_that_a_thing_does_not_fit_into_is_not_asked_about(
    width_m: float, *, asks: bool
) -> None:
    scene = with_another("living_room_0/cabinet_1")
    things = dict(scene.things)
    for name, hollow_m in (("cabinet_0", (0.5, 0.6, 0.6)), ("cabinet_1", (0.5, width_m, 0.6))):
        things[name] = replace(things[name], hollows_m=(hollow_m,))
    things["ball_0"] = thing("ball_0", "table_0")
    binder = Binder(goal("- {move: {the: ball}, to: {in: {the: cabinet}}}"))
    found = binder.update(replace(scene, things=things))
    assert [question.request for question in found.questions] == ([0] if asks else [])
    meant = [] if asks else [("is_inside", "ball_0", "cabinet_0")]
    assert propositions(found) == meant


def test_where_nothing_has_room_nothing_is_left_out() -> None:
    """A thing may be smaller than those of its class usually are."""
    scene = with_another()
    small = replace(scene.things["cabinet_0"], hollows_m=((0.1, 0.1, 0.1),))
    scene = replace(scene, things={**scene.things, "cabinet_0": small})
    assert too_small_for(scene, ["ball"], ["cabinet_0"]) == frozenset()
