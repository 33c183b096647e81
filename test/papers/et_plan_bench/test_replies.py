"""Replies to the agent's questions: what is read, repaired and refused (ETPLAN-2.4)."""

from __future__ import annotations

import pytest

from papers.et_plan_bench.parts import TaskClass
from papers.et_plan_bench.questions import (
    ClassReply,
    ErrandsReply,
    NamesReply,
    errands_text,
)
from planner.models.gbnf import read_grammar
from planner.models.replies.form import ReplyError
from planner.planning.errands import Errand, Sought, Where

ROOMS = ("kitchen_0", "living_room_0", "bedroom_0", "bathroom_0")
LARGE = ("stall", "door", "bathtub", "sink")


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("['kitchen_0', 'bathroom_0']", ("kitchen_0", "bathroom_0", "living_room_0", "bedroom_0")),
        ('["attic", "BEDROOM_0"]', ("bedroom_0", "kitchen_0", "living_room_0", "bathroom_0")),
        ("[bathroom_0, bedroom_0]", ("bathroom_0", "bedroom_0", "kitchen_0", "living_room_0")),
        ("['kitchen_0', 'kitchen_0']", ROOMS),
        ("[]", ROOMS),
    ],
)
def test_check_11_rooms_are_completed_in_their_order_and_others_dropped(
    said: str, read: tuple[str, ...]
) -> None:
    """ETPLAN-C11."""
    assert NamesReply(ROOMS, complete=True).read(said, ended=True) == read


@pytest.mark.parametrize("said", ["None", "none", "'None'", '"NONE"', "[]", "[None]", "`None`."])
def test_check_12_no_object_in_any_spelling(said: str) -> None:
    """ETPLAN-C12."""
    assert NamesReply(LARGE).read(said, ended=True) == ()


def test_check_13_only_the_last_list_counts() -> None:
    """ETPLAN-C13."""
    said = "At first ['sink'] seems right, and None would be lazy.\n['stall', 'door', 'bathtub']"
    assert NamesReply(LARGE, thinks=True).read(said, ended=True) == ("stall", "door", "bathtub")


@pytest.mark.parametrize(
    "said",
    [
        "One thing goes somewhere.\npick and place",
        "I first thought of constrained pick and place.\n\nPick and place.\n",
        "'pick and place'",
    ],
)
def test_check_14_a_class_is_the_whole_last_line(said: str) -> None:
    """ETPLAN-C14."""
    assert ClassReply().read(said, ended=True) is TaskClass.PLACE
    constrained = ClassReply().read("constrained pick and place", ended=True)
    assert constrained is TaskClass.PLACE_RELATION


@pytest.mark.parametrize("said", ["", "pick and place, I think", "It is a task."])
def test_a_last_line_that_is_no_class_is_refused(said: str) -> None:
    with pytest.raises(ReplyError, match="the last line is not a class"):
        ClassReply().read(said, ended=True)


def test_prose_without_a_list_is_refused() -> None:
    with pytest.raises(ReplyError, match="no list"):
        NamesReply(LARGE).read("Try the stall.", ended=True)
    with pytest.raises(ReplyError, match="no list"):
        NamesReply(ROOMS, complete=True).read("None", ended=True)


ERRANDS = (
    Errand(Sought("apple", Where.CLOSE, Sought("cup", Where.ON, Sought("desk")))),
    Errand(Sought("plum"), Where.INSIDE, Sought("fridge", Where.INSIDE, Sought("kitchen"))),
    Errand(Sought("book"), None, Sought("kitchen table")),
)


def test_parts_are_read_as_they_are_written() -> None:
    text = errands_text(ERRANDS)
    assert text.splitlines()[1] == "move: plum -> inside fridge, inside kitchen"
    assert ErrandsReply().read(text, ended=True) == ERRANDS


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "expected 1 to 4 lines"),
        ("find: apple\n" * 5, "expected 1 to 4 lines"),
        ("find: apple -> on table", "expected `find: THING`"),
        ("move: apple", "expected `find: THING`"),
        ("move: apple -> under table", "expected `-> inside`"),
        ("find: apple, under table", "expected a relation"),
        ("find: ", "expected the word"),
    ],
)
def test_parts_of_another_form_are_refused(said: str, why: str) -> None:
    with pytest.raises(ReplyError, match=why):
        ErrandsReply().read(said, ended=True)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (ClassReply(), "First.\npick and place"),
        (ClassReply(), "nest and place"),
        (NamesReply(ROOMS, complete=True), repr(list(ROOMS))),
        (NamesReply(ROOMS, complete=True, thinks=True), f"Well.\n{list(ROOMS)!r}"),
        (NamesReply(LARGE), "['stall', 'sink']"),
        (NamesReply(LARGE), "None"),
        (NamesReply(()), "None"),
        (ErrandsReply(), errands_text(ERRANDS)),
    ],
)
def test_grammars_allow_what_is_asked_for(
    form: ClassReply | NamesReply | ErrandsReply, said: str
) -> None:
    assert read_grammar(form.grammar).accepts(said)
    form.read(said, ended=True)
    assert not read_grammar(form.grammar).accepts(f"{said}]")
