"""Descriptions bind to things as these become known."""

from dataclasses import replace

import pytest
from grounded import goal, propositions
from small_house import person, scene_with, thing

from planner.grounding.grounder import Binder
from planner.grounding.records import Why
from planner.world.shapes import Color
from planner.world.vocabulary import Relation

CUP_ON_COUCH = "[{move: {the: cup}, to: {on_top: {the: couch}}}]"


def test_what_is_not_known_yet_is_missing_until_it_is_found():
    binder = Binder(goal(CUP_ON_COUCH))
    before = binder.update(scene_with(complete=False))
    assert before.evaluation is None
    assert [(m.words, m.classes, m.count) for m in before.missing] == [("the cup", ("cup",), 1)]
    after = binder.update(scene_with(thing("cup_0", "table_0"), complete=False))
    assert propositions(after) == [("is_on_top", "cup_0", "couch_0")]
    assert not after.missing


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        ("under", "under the table"),
        ("behind", "behind the table"),
        ("in_front_of", "in front of the table"),
        ("left_of", "left of the table"),
        ("right_of", "right of the table"),
    ],
)
def test_what_nothing_measures_is_refused_before_anything_is_asked_or_looked_for(relation, words):
    binder = Binder(goal(f"[{{move: {{the: cup}}, to: {{{relation}: {{the: table}}}}}}]"))
    found = binder.update(scene_with(complete=False))
    assert (found.questions, found.sought) == ((), ())
    assert [(part.why, part.text) for part in found.unbound] == [
        (Why.UNSAYABLE, f"Nothing measures whether something is {words}.")
    ]


@pytest.mark.parametrize(
    "asked",
    [
        "{meet: {the: person, name: Jane}}",
        "{move: {the: cup}, to: {at: {the: person, name: Jane}}}",
        "{find: {a: person, is: waving}}",
        "{tell: time, to: {the: person, in: {the: kitchen}}}",
    ],
)
def test_what_is_asked_of_people_is_refused_by_name(asked):
    found = Binder(goal(f"[{asked}]")).update(scene_with(complete=False))
    assert (found.questions, found.sought) == ((), ())
    assert [(part.why, part.text) for part in found.unbound] == [
        (Why.UNSAYABLE, "Nothing measures what is done with people.")
    ]


def test_the_rest_of_a_place_that_nothing_measures_is_done():
    text = "[{move: {the: cup}, to: {on_top: {the: couch}, left_of: {the: vase}}}]"
    found = Binder(goal(text)).update(scene_with(thing("cup_0", "table_0"), complete=False))
    assert propositions(found) == [("is_on_top", "cup_0", "couch_0")]
    assert [part.text for part in found.unbound] == [
        "Nothing measures whether something is left of the vase."
    ]


def test_things_for_each_place_are_looked_for_until_there_are_enough():
    binder = Binder(goal("[{move: {a: cup}, to: {on_top: {all: counter}}}]"))
    first, second = thing("cup_0", "table_0"), thing("cup_1", "table_1")
    before = binder.update(scene_with(first, complete=False))
    assert [(missing.words, missing.count) for missing in before.missing] == [("a cup", 1)]
    assert before.evaluation is None
    found = binder.update(scene_with(first, second, complete=False))
    assert propositions(found) == [
        ("is_on_top", "cup_0 cup_1", "counter_0"),
        ("is_on_top", "cup_0 cup_1", "counter_1"),
    ]


def test_where_there_are_too_few_for_each_place_that_is_said():
    binder = Binder(goal("[{move: {a: cup}, to: {on_top: {all: counter}}}]"))
    found = binder.update(scene_with(thing("cup_0", "table_0")))
    assert propositions(found) == [("is_on_top", "cup_0", "counter_0")]
    assert [(part.why, part.text) for part in found.unbound] == [
        (Why.TOO_FEW, "There are too few for 2 places: only cup_0.")
    ]


WATER_THE_PLANT = "[{make: {the: plant}, be: watered}]"


def test_what_cannot_be_meant_does_not_end_the_search_for_what_can():
    """A watering can is of the group of plants, and known before the orchid."""
    binder = Binder(goal(WATER_THE_PLANT))
    can, orchid = thing("watering_can_0", "table_0"), thing("orchid_0", "table_1")
    before = binder.update(scene_with(can, complete=False))
    assert [missing.words for missing in before.missing] == ["the plant"]
    assert not before.unbound
    found = binder.update(scene_with(can, orchid, complete=False))
    assert propositions(found) == [("is_watered", "orchid_0")]


def test_where_nothing_else_can_be_meant_it_is_said_at_once():
    binder = Binder(goal("[{make: {the: cup}, be: toasted}]"))
    found = binder.update(scene_with(thing("cup_0", "table_0"), complete=False))
    assert [part.why for part in found.unbound] == [Why.UNFIT]
    assert not found.missing


def test_what_is_bound_stays_bound_when_another_one_is_found():
    binder = Binder(goal(CUP_ON_COUCH))
    first = thing("cup_1", "table_0")
    binder.update(scene_with(first, complete=False))
    found = binder.update(scene_with(thing("cup_0", "bed_0"), first, complete=False))
    assert propositions(found) == [("is_on_top", "cup_1", "couch_0")]
    assert not found.questions


def test_two_that_fit_are_asked_about_by_what_tells_them_apart():
    binder = Binder(goal(CUP_ON_COUCH))
    scene = scene_with(thing("cup_0", "table_0"), thing("cup_1", "bed_0"), complete=False)
    (question,) = binder.update(scene).questions
    assert question.text == "Which cup: the one in the kitchen or the one in the bedroom?"
    assert binder.answered(question, "the one in the bedroom")
    assert propositions(binder.update(scene)) == [("is_on_top", "cup_1", "couch_0")]


def test_an_unclear_answer_leaves_the_question():
    binder = Binder(goal(CUP_ON_COUCH))
    scene = scene_with(thing("cup_0", "table_0"), thing("cup_1", "bed_0"), complete=False)
    (question,) = binder.update(scene).questions
    assert not binder.answered(question, "blue whales sing")
    assert binder.update(scene).questions == (question,)


def test_what_nothing_tells_apart_is_not_asked_about():
    binder = Binder(goal("[{move: {the: cup}, to: {on_top: {the: counter}}}]"))
    found = binder.update(scene_with(thing("cup_0", "table_0")))
    assert propositions(found) == [("is_on_top", "cup_0", "counter_0 counter_1")]


def test_the_evaluator_takes_answers_from_what_is_published():
    binder = Binder(goal(CUP_ON_COUCH))
    scene = scene_with(thing("cup_0", "table_0"), thing("cup_1", "bed_0"), complete=False)
    (question,) = binder.update(scene).questions
    binder.answered(question, "the kitchen one")
    assert binder.understood["understood"] == [
        {"move": {"the": "cup"}, "to": {"on_top": {"the": "couch"}}}
    ]
    assert binder.understood["answers"][0]["names"] == ["cup_0"]


def test_a_part_that_nothing_fits_is_named():
    binder = Binder(goal("[{move: {the: cup}, to: {on_top: {the: couch}}}]"), settle=True)
    found = binder.update(scene_with())
    assert found.evaluation is None
    assert [(u.why, u.text) for u in found.unbound] == [(Why.NONE, "There is no cup.")]


ALIKE = scene_with(
    thing("cup_0", "table_0", color=Color.RED),
    thing("cup_1", "couch_0", color=Color.BLUE),
    thing("cup_2", "bed_0", color=Color.BLUE),
    complete=False,
)


@pytest.mark.parametrize(
    ("answer", "rows"),
    [
        ("the red one", ["cup_0"]),
        ("the blue one", ["cup_1 cup_2"]),
        ("the one on the couch", ["cup_1"]),
        ("bedroom", ["cup_2"]),
        ("the second", ["cup_1"]),
        ("all of them", ["cup_0", "cup_1", "cup_2"]),
        ("any", ["cup_0 cup_1 cup_2"]),
    ],
)
def test_answers(answer, rows):
    binder = Binder(goal("[{move: {the: cup}, to: {on_top: {the: bed}}}]"))
    (question,) = binder.update(ALIKE).questions
    assert binder.answered(question, answer)
    assert [row[1] for row in propositions(binder.update(ALIKE))] == rows


@pytest.mark.parametrize(
    "answer", ["kitchen", "in the kitchen", "I'm in the kitchen.", "the second"]
)
def test_where_the_speaker_is_can_be_answered(answer):
    scene = scene_with(thing("glass_0", "table_1"), complete=False)
    binder = Binder(goal("[{move: {the: glass}, to: me}]"))
    (question,) = binder.update(scene).questions
    assert question.text == "Where are you: in the bedroom, in the kitchen or in the living room?"
    assert binder.answered(question, answer)
    assert propositions(binder.update(scene)) == [("is_in_room", "glass_0", "kitchen_0")]


def test_an_answer_that_names_too_few_is_followed_by_another_question():
    colors = ("green", "white", "blue")
    bowls = [thing(f"bowl_{k}", "table_0", color=color) for k, color in enumerate(colors)]
    scene = scene_with(*bowls)
    binder = Binder(goal("[{move: {the: bowl, n: 2}, to: {on_top: {the: couch}}}]"))
    (question,) = binder.update(scene).questions
    assert question.text == "Which 2 bowls: the green one, the white one or the blue one?"
    assert binder.answered(question, "the green one")
    (question,) = binder.update(scene).questions
    assert question.text == "Which other bowl: the white one or the blue one?"
    assert binder.answered(question, "the blue one")
    assert propositions(binder.update(scene)) == [
        ("is_on_top", "bowl_0", "couch_0"),
        ("is_on_top", "bowl_2", "couch_0"),
    ]


def _moved(found):
    return [name for _, name, _ in propositions(found)]


def test_what_the_memory_takes_back_is_bound_anew_but_not_what_was_in_a_hand():
    binder = Binder(goal("[{move: {the: cup, n: 2}, to: {on_top: {the: couch}}}]"))
    cups = [thing(f"cup_{number}", "table_0", x_m=0.3 * number) for number in range(3)]
    both = binder.update(scene_with(*cups[:2], complete=False))
    assert _moved(both) == ["cup_0", "cup_1"]
    renamed = binder.update(scene_with(cups[0], cups[2], complete=False))
    assert _moved(renamed) == ["cup_0", "cup_2"]
    held = replace(cups[0], parent="agent_1", relation=Relation.HELD)
    binder.update(scene_with(person("kitchen_0"), held, cups[2], complete=False))
    without = binder.update(scene_with(cups[1], cups[2], complete=False))
    assert _moved(without) == ["cup_0", "cup_2"]


def test_the_dirty_cup_is_one_that_may_be_where_the_memory_sees_no_dirt():
    unseen = replace(thing("cup_0", "table_0"), states={})
    clean = thing("cup_1", "table_0", x_m=0.3)
    told = "[{move: {the: cup, is: dirty}, to: {on_top: {the: couch}}}]"
    found = Binder(goal(told)).update(scene_with(unseen, clean, complete=False))
    assert propositions(found) == [("is_on_top", "cup_0", "couch_0")]
    every = "[{move: {all: cup, is: dirty}, to: {on_top: {the: couch}}}]"
    assert propositions(Binder(goal(every)).update(scene_with(unseen, complete=False))) == []
    known = replace(clean, states={**clean.states, "clean": False})
    found = Binder(goal(told)).update(scene_with(unseen, known, complete=False))
    assert propositions(found) == [("is_on_top", "cup_1", "couch_0")]


CUPS = (thing("cup_0", "table_0"), thing("cup_1", "bed_0"))
FIND_AND_MOVE = "[{find: {a: book}}, {move: {the: cup}, to: {on_top: {the: couch}}}]"


def test_another_goal_of_the_same_task_keeps_what_was_settled():
    binder = Binder(goal(CUP_ON_COUCH))
    scene = scene_with(*CUPS, complete=False)
    (question,) = binder.update(scene).questions
    assert binder.answered(question, "the one in the bedroom")
    assert binder.update(scene).evaluation
    found = binder.continued(goal(FIND_AND_MOVE)).update(scene)
    assert not found.questions
    assert "cup_1" in [names for _, names, _ in propositions(found)]


def test_another_than_so_far_is_never_the_same_one():
    wanted, first = goal(CUP_ON_COUCH), scene_with(CUPS[0], complete=False)
    binder = Binder(wanted)
    assert propositions(binder.update(first)) == [("is_on_top", "cup_0", "couch_0")]
    other = binder.continued(wanted, "the cup")
    assert [sought.words for sought in other.update(first).missing] == ["the cup"]
    both = scene_with(*CUPS, complete=False)
    assert propositions(other.update(both)) == [("is_on_top", "cup_1", "couch_0")]
    # The judge, who binds the words to the true world, is told so.
    assert [answer["names"] for answer in other.understood["answers"]] == [["cup_1"]]
    # And once more: neither of both.
    assert other.continued(wanted, "the cup").update(both).missing
