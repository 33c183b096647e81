"""The roles' prompts over the whole list of classes, and their replies."""

from __future__ import annotations

import pytest

from papers.helper.programs.program import (
    Correction,
    Corrective,
    Program,
    ProgramError,
    default_vocabulary,
)
from papers.helper.roles import LocatorRole, PlacesForm, PlannerRole, RectifierRole
from planner.models.gbnf import read_grammar
from planner.models.replies.form import ReplyError

NAMES = default_vocabulary().names
PLANNER = PlannerRole("Make a coffee.", (), NAMES)
RECTIFIER = RectifierRole("mug.pickup()", "It is too close.", "Make a coffee.", (), NAMES)
LOCATOR = LocatorRole("Mug", "Make a coffee.", NAMES)
MOVE_BACK = (
    "Explain: The robot is too close.\nPlan (Python script):\n"
    "agent = AgentCorrective()\nagent.move_back()\n"
)


def test_check_10_planner_and_rectifier_are_told_all_120_names() -> None:
    """HELPER-C10."""
    assert len(NAMES) == 120
    for role in (PLANNER, RECTIFIER):
        text = "\n".join(message.text for message in role.messages)
        listed = text.partition("of this list: ")[2].partition(".")[0].split(", ")
        assert tuple(listed) == NAMES


@pytest.mark.parametrize(
    "reply",
    [
        'mug = InteractionObject("Mug")\nmug.go_to()',
        'Python script:\nmug = InteractionObject("Mug")\nmug.go_to()\n',
        'Here it is:\n```python\nmug = InteractionObject("Mug")\nmug.go_to()\n```\nThat is all.',
    ],
)
def test_a_program_is_read_with_its_cue_or_in_a_fence(reply: str) -> None:
    program = PLANNER.form.read(reply, ended=True)
    assert len(program.statements) == 2


def test_a_program_that_broke_off_is_not_read() -> None:
    with pytest.raises(ReplyError, match="broke off"):
        PLANNER.form.read('mug = InteractionObject("Mug")\nmug.go_', ended=False)


def test_what_is_no_program_is_refused_with_its_line() -> None:
    with pytest.raises(ProgramError, match="line 2"):
        PLANNER.form.read('mug = InteractionObject("Mug")\nimport os', ended=True)


def test_a_repair_is_what_follows_the_header_of_the_plan() -> None:
    repair = RECTIFIER.form.read(MOVE_BACK, ended=True)
    assert repair.explanation == "The robot is too close."
    assert _moves(repair.program) == [Corrective.MOVE_BACK]


def test_a_reply_without_a_plan_is_no_repair() -> None:
    with pytest.raises(ReplyError, match="has no line"):
        RECTIFIER.form.read("Explain: I do not know.", ended=True)


def test_the_grammars_allow_these_replies_and_no_others() -> None:
    body = MOVE_BACK.removeprefix("Explain: ")
    assert matches(RECTIFIER.form.grammar, body)
    assert not matches(RECTIFIER.form.grammar, body.replace("move_back", "fly"))
    assert matches(PLANNER.form.grammar, 'mug = InteractionObject("Mug")\nmug.go_to()\n')
    assert not matches(PLANNER.form.grammar, "do_nothing()\n")
    assert matches(LOCATOR.form.grammar, "Sink, CounterTop, Cabinet")
    assert not matches(LOCATOR.form.grammar, "Sink, Samovar, Cabinet")


@pytest.mark.parametrize(
    "answer",
    [
        "answer: Sink, CounterTop, Cabinet",
        "Sink, CounterTop, Cabinet",
        "sink,countertop, Samovar, Cabinet.",
    ],
)
def test_check_36_an_answer_is_the_same_with_and_without_its_cue(answer: str) -> None:
    """HELPER-C36."""
    assert PlacesForm(NAMES).read(answer, ended=True) == ("Sink", "CounterTop", "Cabinet")


@pytest.mark.parametrize("answer", ["", "answer:", "In the samovar.", "x" * 30_000])
def test_an_answer_without_a_name_of_the_list_is_refused(answer: str) -> None:
    with pytest.raises(ReplyError):
        PlacesForm(NAMES).read(answer, ended=True)


def matches(grammar: str, text: str) -> bool:
    return read_grammar(grammar).accepts(text)


def _moves(program: Program) -> list[Corrective]:
    return [one.move for one in program.statements if isinstance(one, Correction)]
