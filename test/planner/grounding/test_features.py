"""What each part of the form means in propositions and constraints."""

import pytest
from grounded import constraints, propositions, settled
from small_house import person, scene_with, thing

from planner.grounding.records import Why
from planner.world.vocabulary import Relation

PLATES = tuple(thing(f"plate_{k}", "table_0", x_m=k / 10) for k in range(3))
CUPS = (
    thing("cup_0", "table_0", color="red", states={"clean": False}),
    thing("cup_1", "couch_0", color="blue"),
    thing("cup_2", "floor_kitchen_0", color="blue", size_m=0.3),
)
CLUTTER = (
    *PLATES,
    *CUPS,
    thing("glass_0", "sink_0", relation=Relation.WITHIN),
    thing("fork_0", "counter_0"),
    thing("knife_0", "counter_0"),
    thing("vase_0", "table_1"),
    thing("bowl_0", "cabinet_0", relation=Relation.WITHIN),
    thing("tomato_0", "counter_1"),
    thing("lamp_0", "table_1", states={"powered_on": True}),
)
SCENE = scene_with(*CLUTTER, person("living_room_0"))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("{move: {the: cup, color: red}, to: {in: {the: sink}}}",
         [("is_inside", "cup_0", "sink_0")]),
        ("{move: {the: cup, is: dirty}, to: {in: {the: sink}}}",
         [("is_inside", "cup_0", "sink_0")]),
        ("{move: {the: cup, on_top: {the: floor}}, to: {in: {the: bedroom}}}",
         [("is_in_room", "cup_2", "bedroom_0")]),
        ("{move: {the: cup, pick: biggest}, to: {at: {the: sink}}}",
         [("is_inside", "cup_2", "sink_0")]),
        ("{move: {the: cup, pick: nearest}, to: {at: {the: table, in: {the: kitchen}}}}",
         [("is_on_top", "cup_1", "table_0")]),
        ("{move: {all: cup, except: {the: cup, color: red}}, to: {on_top: {the: bed}}}",
         [("is_on_top", "cup_1", "bed_0"), ("is_on_top", "cup_2", "bed_0")]),
        ("{move: {a: plate, n: 2}, to: {on_top: {the: couch}}}",
         [("is_on_top", "plate_0 plate_1 plate_2", "couch_0", 2)]),
        ("{move: {the: plate, n: 3}, to: {on_top: {the: couch}}}",
         [("is_on_top", f"plate_{k}", "couch_0") for k in range(3)]),
        ("{move: {some: plate}, to: {next_to: {the: vase}}}",
         [("is_next_to", "plate_0 plate_1 plate_2", "vase_0", 2)]),
        ("{move: {all: thing, on_top: {the: couch}}, to: {in: {the: bedroom}}}",
         [("is_in_room", "cup_1", "bedroom_0")]),
        ("{move: {the: glass}, to: {on_top: {the: floor}}}", [("is_on_floor", "glass_0")]),
        ("{move: {the: glass}, to: {on_top: {the: floor, in: {the: kitchen}}}}",
         [("is_on_top", "glass_0", "floor_kitchen_0")]),
        ("{move: {the: glass}, to: me}", [("is_in_room", "glass_0", "living_room_0")]),
        ("{move: {the: glass}, to: {at: {place_of: {the: vase}}}}",
         [("is_on_top", "glass_0", "table_1")]),
        ("{move: {the: fork}, to: {at: {place_of: {the: cup}}}}",
         [("is_on_top", "fork_0", "table_0 couch_0 floor_kitchen_0")]),
        ("{move: {the: glass}, to: {on_top: {the: dining table}}}",
         [("is_on_top", "glass_0", "table_0")]),
        ("{move: {the: vase}, to: {on_top: {a: table, elsewhere: true}}}",
         [("is_on_top", "vase_0", "table_0")]),
        ("{move: {one_of: [{the: book}, {the: vase}]}, to: {on_top: {the: bed}}}",
         [("is_on_top", "vase_0", "bed_0")]),
        ("{move: [{the: fork}, {the: knife}], to: {on_top: {the: bed}}, arrangement: together}",
         [("is_on_top", "fork_0", "bed_0"), ("is_on_top", "knife_0", "bed_0"),
          ("is_next_to", "fork_0", "knife_0")]),
        ("{make: {all: light}, be: powered off}",
         [("is_powered_off", "lamp_0"), ("is_powered_off", "floor_lamp_0"),
          ("is_powered_off", "floor_lamp_1")]),
        ("{make: {all: thing, on_top: {the: floor}}, be: clean}", [("is_clean", "cup_2")]),
        ("{make: {the: tomato}, be: sliced}",
         [("is_sliced", f"tomato_slice_{k}") for k in range(4)]),
        ("{prepare: set_table, people: 1, at: {the: table, in: {the: kitchen}}}",
         [("is_on_top", "plate_0 plate_1 plate_2", "table_0"),
          ("is_on_top", "fork_0 knife_0", "table_0"),
          ("is_on_top", "glass_0 cup_0 cup_1 cup_2", "table_0")]),
        ("{prepare: make_coffee}", [("is_filled_with_coffee", "cup_0 cup_1 cup_2")]),
    ],
)  # fmt: skip
def test_propositions(text, rows):
    found = settled(f"[{text}]", SCENE)
    assert propositions(found) == rows
    assert not any(part.fails for part in found.unbound)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("[{move: {the: fork}, to: {on_top: {the: bed}}}, then, {make: {the: vase}, be: filled}]",
         [("Temporal", [[0], [1]])]),
        ("[{move: [{the: fork}, {the: knife}], to: {on_top: {a: table}}}]",
         [("SameArg", [0, 1], [1, 1])]),
        ("[{move: {a: cup, as: it}, to: {in: {the: sink}}}, then, {make: it, be: clean}]",
         [("Temporal", [[0], [1]]), ("SameArg", [0, 1], [0, 0])]),
        ("[{move: [{the: fork}, {the: knife}], to: {on_top: {a: table, each: true}}}]",
         [("DifferentArg", [0, 1], [1, 1])]),
        ("[{move: {a: cup}, to: {on_top: {all: table}}}]", [("DifferentArg", [0, 1], [0, 0])]),
        (("[{move: {the: fork}, to: {on_top: {the: bed}}}, then,"
         " {move: {the: fork}, to: {on_top: {the: couch}}}]"),
         [("Temporal", [[0], [1]]), ("TerminalSatisfaction", [1])]),
        ("[{move: {the: fork}, to: {on_top: {the: bed}}}, then, {move: {the: fork}, to: back}]",
         [("Temporal", [[0], [1]]), ("TerminalSatisfaction", [1])]),
        (("[{move: {the: fork}, to: {on_top: {the: bed}}}, any_time, {leave: {the: vase}},"
         " {never: {the: knife}, to: {on_top: {the: bed}}}]"),
         [("Always", [1, 2, 3]), ("Never", [4])]),
    ],
)  # fmt: skip
def test_constraints(text, rows):
    assert constraints(settled(text, SCENE)) == rows


def test_what_is_so_already_counts_only_after_the_step_before():
    text = (
        "[{make: {the: fork}, be: clean}, then, {move: {the: vase}, to: {in: {the: living room}}}]"
    )
    found = settled(text, SCENE)
    assert found.evaluation["dependencies"] == [
        {"proposition_indices": [1], "depends_on": [0], "relation_type": "after_satisfied"}
    ]


def test_fewer_than_asked_for_are_bound_and_the_rest_is_named():
    found = settled("[{move: {the: plate, n: 5}, to: {on_top: {the: bed}}}]", SCENE)
    assert len(propositions(found)) == 3
    assert [(part.why, part.text) for part in found.unbound] == [
        (Why.TOO_FEW, "There are only 3 of the 5 plates.")
    ]


@pytest.mark.parametrize("first", ["{a: plate, as: one}", "{the: plate, as: one}"])
def test_the_others_are_all_but_as_many_as_the_first(first):
    """Whichever plate is taken first, it is not also one of the others."""
    text = (
        f"[{{move: {first}, to: {{on_top: {{the: bed}}}}}}, "
        "{move: {all: plate, other_than: one}, to: {on_top: {the: couch}}}]"
    )
    plates = "plate_0 plate_1 plate_2"
    assert propositions(settled(text, SCENE)) == [
        ("is_on_top", plates, "bed_0"),
        ("is_on_top", plates, "couch_0", 2),
    ]


def test_slices_stand_for_what_was_sliced():
    text = "[{make: {the: tomato}, be: sliced}, then, {move: {the: tomato}, to: {in: {the: bowl}}}]"
    slices = " ".join(f"tomato_slice_{k}" for k in range(4))
    assert propositions(settled(text, SCENE))[-1] == ("is_inside", slices, "bowl_0", 4)


def test_where_the_robot_shall_be_is_a_criterion():
    found = settled("[{go: {in: {the: bedroom}}}]", SCENE)
    assert found.evaluation is None
    assert found.criteria["success"] == [["CLOSE", "robot", "place_0"]]


def test_what_shall_be_in_the_hand_is_a_criterion_too():
    found = settled("[{grasp: {the: fork}}, then, {go: {in: {the: bedroom}}}]", SCENE)
    assert found.evaluation is None
    assert found.criteria["variables"]["grasped_0"] == ["fork_0"]
    wanted = [["CLOSE", "robot", "place_0"], ["HELD", "grasped_0", "robot"]]
    assert found.criteria["success"] == wanted


def test_furniture_is_not_picked_up():
    found = settled("[{grasp: {the: couch}}]", SCENE)
    assert found.criteria is None
    assert [part.why for part in found.unbound] == [Why.UNFIT]


@pytest.mark.parametrize(
    ("text", "why", "words"),
    [
        ("{move: {the: book}, to: {on_top: {the: bed}}}", Why.NONE, "no book"),
        ("{move: {the: couch}, to: {in: {the: bedroom}}}", Why.UNFIT, "cannot be carried"),
        ("{make: {the: vase}, be: toasted}", Why.UNFIT, "cannot be toasted"),
        ("{move: {the: fork}, to: {on_top: {the: cup, color: red}}}", Why.UNFIT, "cup_0"),
        ("{move: {the: fork}, to: {behind: {the: couch}}}", Why.UNSAYABLE, "behind"),
        ("{move: {all: plate}, to: {on_top: {the: bed}}, arrangement: stacked}",
         Why.UNSAYABLE, "stacked"),
        ("{prepare: make_tea}", Why.UNSAYABLE, "make tea"),
        ("{make: {all: plate, is: dirty}, be: clean}", Why.DONE, "no dirty plate"),
        ("{make: {the: fork}, be: clean, only_if: {the: book}}", Why.CONDITION, "book"),
        ("{make: {the: fork}, be: clean, unless: {a: vase}}", Why.CONDITION, "vase"),
        ("{make: {the: fork}, be: clean, who: speaker}", Why.SPEAKER, "You"),
        ("{find: {the: fork}}", Why.FIND, "at counter_0 in kitchen_0"),
    ],
)  # fmt: skip
def test_what_has_no_proposition_is_named(text, why, words):
    found = settled(f"[{text}]", SCENE)
    assert not propositions(found)
    assert [part.why for part in found.unbound] == [why]
    assert words in found.unbound[0].text


def test_to_me_is_asked_about_where_nobody_is_seen():
    text = "[{move: {the: glass}, to: me}]"
    assert settled(text, scene_with(*CLUTTER)).unbound[0].why is Why.UNSAYABLE


def test_open_and_closed() -> None:
    text = "[{make: {the: cabinet}, be: open}, then, {make: {the: cabinet}, be: closed}]"
    found = settled(text, scene_with())
    assert propositions(found) == [("is_open", "cabinet_0"), ("is_closed", "cabinet_0")]
    assert ("TerminalSatisfaction", [1]) in constraints(found)
    dependency = found.evaluation["dependencies"][0]
    assert (dependency["proposition_indices"], dependency["depends_on"]) == ([1], [0])


def test_what_has_no_door_cannot_be_opened() -> None:
    found = settled("[{make: {the: couch}, be: open}]", scene_with()).unbound[0]
    assert (found.why, found.text) == (Why.UNFIT, "couch_0 cannot be open.")
