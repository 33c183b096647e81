"""Programs as syntax trees: what is read, and what is refused with line and reason."""

from __future__ import annotations

import time
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_cases import cases

from papers.helper.programs.parsing import MAX_CHARACTERS, MAX_STATEMENTS, parse_program
from papers.helper.programs.program import (
    ATTRIBUTES,
    WITH_ARGUMENT,
    Correction,
    Corrective,
    DoNothing,
    Instance,
    Invocation,
    Method,
    Program,
    ProgramError,
    Statement,
    default_vocabulary,
    program_text,
)

POTATO_ON_A_PLATE = """
target_plate = InteractionObject("Plate")
target_plate.go_to()
target_plate.pickup()
target_plate.clean()  # in the sink
target_potato = InteractionObject("Potato")
target_potato.go_to()
target_potato.pickup()
target_potato.cook()
# a cooked one from here on
target_potato = InteractionObject("Potato", attributes=["cooked"])
target_potato.go_to()
target_potato.slice()
target_potato.pickup()
target_potato.place(target_plate)
target_fork = InteractionObject("Fork")
target_table = InteractionObject("DiningTable")
target_fork.pickup_and_place(target_table)
target_plate.go_to()
target_plate.pickup()
target_table.go_to()
target_plate.place(target_table)
"""
MUG = 'mug = InteractionObject("Mug")\n'


def test_check_13_a_program_with_comments_and_a_variable_bound_again() -> None:
    """HELPER-C13: fifteen calls, four classes, one variable bound twice."""
    statements = parse_program(POTATO_ON_A_PLATE).statements
    calls = [one for one in statements if isinstance(one, Invocation)]
    bound = [one for one in statements if isinstance(one, Instance)]
    assert len(calls) == 15
    assert {one.class_name for one in bound} == {"Plate", "Potato", "Fork", "DiningTable"}
    assert [one.line for one in bound if one.variable == "target_potato"] == [6, 11]


def test_nothing_is_executed(tmp_path: object) -> None:
    """HELPER-C13: a call that would show is refused, not made."""
    with pytest.raises(ProgramError) as caught:
        parse_program(f"{MUG}open({str(tmp_path)!r} + '/made', 'w')")
    assert caught.value.line == 2


def test_what_is_only_printed_is_ignored_with_a_note() -> None:
    """As at the end of HELPER's published examples."""
    program = parse_program(f'{MUG}mug.pickup()\nprint("Done making coffee!", mug)\n')
    assert [type(one) for one in program.statements] == [Instance, Invocation]
    assert program.notes == ("line 3 has no effect: print('Done making coffee!', mug)",)
    for text in ("print(mug.pickup())", "print(mug, file=mug)", "print(f'{open(1)}')"):
        with pytest.raises(ProgramError, match="line 2: expected a method of an instance"):
            parse_program(f"{MUG}{text}")
    with pytest.raises(ProgramError, match="there is no statement"):
        parse_program("print('nothing')")


def test_check_14_the_second_argument_is_the_landmark() -> None:
    """HELPER-C14."""
    one = parse_program('toaster = InteractionObject("Toaster", "Toaster")').statements[0]
    assert one == Instance("toaster", "Toaster", "Toaster", (), 1)


def test_check_15_attributes_are_wanted_end_states() -> None:
    """HELPER-C15."""
    text = 'bowl = InteractionObject("Bowl", attributes = ["clean"])'
    assert parse_program(text).statements == (Instance("bowl", "Bowl", "", ("clean",), 1),)
    with pytest.raises(ProgramError, match="not 'red'"):
        parse_program(text.replace("clean", "red"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("mug.fly()", "mug.fly()"),
        ("import os", "import os"),
        ("if mug:\n    mug.pickup()", "if mug:"),
    ],
)
def test_check_16_one_wrong_statement_refuses_the_whole_program(line: str, said: str) -> None:
    """HELPER-C16: the message names the statement."""
    with pytest.raises(ProgramError) as caught:
        parse_program(f"{MUG}mug.pickup()\n{line}\nmug.put_down()")
    assert caught.value.line == 3
    assert said in str(caught.value)


def test_check_17_only_a_repair_does_nothing() -> None:
    """HELPER-C17."""
    assert parse_program("do_nothing()", corrective=True).statements == (DoNothing(1),)
    with pytest.raises(ProgramError, match=r"only a repair may say do_nothing\(\)"):
        parse_program("do_nothing()")


def test_check_18_a_repair_moves_the_agent() -> None:
    """HELPER-C18: exactly one step."""
    text = "agent = AgentCorrective()\nagent.move_back()"
    assert parse_program(text, corrective=True).statements == (
        Correction("agent", Corrective.MOVE_BACK, 2),
    )
    with pytest.raises(ProgramError, match="only a repair"):
        parse_program(text)


def test_check_19_a_word_that_is_no_class() -> None:
    """HELPER-C19: what models write for a class is that class, another word is reported."""
    (table,) = parse_program('t = InteractionObject("Table")').statements
    assert isinstance(table, Instance)
    assert table.class_name == "DiningTable"
    with pytest.raises(ProgramError, match="no class 'Zeppelin'"):
        parse_program('z = InteractionObject("Zeppelin")')


def test_check_27_only_slices_of_bread_are_toasted() -> None:
    """HELPER-C27."""
    with pytest.raises(ProgramError, match="line 2: Potato cannot be toasted"):
        parse_program('p = InteractionObject("Potato")\np.toast()')
    with pytest.raises(ProgramError, match="line 1: Potato cannot be toasted"):
        parse_program('p = InteractionObject("Potato", attributes=["toasted"])')
    parse_program('b = InteractionObject("BreadSliced")\nb.toast()')


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("", 0, "no statement"),
        ("# only a comment", 0, "no statement"),
        ("from os import path", 1, "an import"),
        (f"{MUG}while True:\n    mug.pickup()", 2, "a loop"),
        (f"{MUG}for i in range(3): mug.pickup()", 2, "a loop"),
        (f"{MUG}mug.__class__()", 2, "no __class__"),
        (f"{MUG}mug.__class__.mro()", 2, "expected a method"),
        (f"{MUG}mug.pickup", 2, "no place"),
        (f"{MUG}mug.pickup(mug)", 2, "pickup has no argument"),
        (f"{MUG}mug.place()", 2, "place takes one instance"),
        (f"{MUG}mug.place(mug)", 2, "another instance"),
        (f'{MUG}mug.place("Sink")', 2, "place takes one instance"),
        (f"{MUG}mug.place(sink)", 2, "sink is not defined"),
        (f"{MUG}mug.pickup(fast=True)", 2, "no keywords"),
        ("cup.pickup()", 1, "cup is not defined"),
        ("a = b = InteractionObject('Mug')", 1, "one variable only"),
        ("mug: str = 'Mug'", 1, "no place"),
        ("mug = 'Mug'", 1, "expected InteractionObject"),
        ("mug = Thing('Mug')", 1, "no Thing"),
        ("mug = InteractionObject()", 1, "needs a class"),
        ("mug = InteractionObject(Mug)", 1, "quotation marks"),
        ("mug = InteractionObject('Mug', 'Sink', [], 1)", 1, "at most 3"),
        ("mug = InteractionObject('Mug', colour='red')", 1, "colour"),
        ("mug = InteractionObject('Mug', attributes='clean')", 1, "a list"),
        ("_mug = InteractionObject('Mug')", 1, "not a name"),
        ("InteractionObject = InteractionObject('Mug')", 1, "cannot be bound"),
        ("m\u00fcg = InteractionObject('Mug')", 1, "only ASCII"),
        # A wide letter, which Python itself takes for the plain one.
        ("\uff4dug = InteractionObject('Mug')", 1, "only ASCII"),
        ("mug = InteractionObject('M\\x75g')", 1, "only ASCII"),
        ("mug = InteractionObject('Mug'", 1, "not Python"),
        ("(" * 3000, 1, "not Python"),
        ("a" + ".b" * 9000, 0, "not Python"),
        ("mug\x00", 0, "not Python"),
        ("do_nothing()\n" * (MAX_STATEMENTS + 1), MAX_STATEMENTS + 1, "statements"),
        ("mug.pickup()\n" * 10_000, 0, "characters"),
    ],
)
def test_what_is_no_program(text: str, line: int, said: str) -> None:
    with pytest.raises(ProgramError, match=said) as caught:
        parse_program(text)
    assert caught.value.line == line


def test_comments_may_have_any_letters() -> None:
    assert parse_program(f"{MUG}# caf\u00e9\nmug.pickup()").statements[1].line == 3


def test_a_variable_that_is_an_agent_is_no_thing() -> None:
    text = f"{MUG}mug = AgentCorrective()\nmug.pickup()"
    with pytest.raises(ProgramError, match="AgentCorrective has only"):
        parse_program(text, corrective=True)


def test_200_statements_are_read_in_under_5_ms() -> None:
    text = "".join(f"{MUG}mug.pickup()  # again\n" for _ in range(100))
    took_s: list[float] = []
    for _ in range(8):
        began_s = time.process_time()
        parse_program(text)
        took_s.append(time.process_time() - began_s)
    assert min(took_s) < 0.005


def test_a_limit_of_characters() -> None:
    text = f"{MUG}# {'x' * MAX_CHARACTERS}"
    with pytest.raises(ProgramError, match=f"at most {MAX_CHARACTERS}"):
        parse_program(text)


NAMES = st.sampled_from(["mug", "sink", "target_potato", "x1"])
CLASSES = st.sampled_from(default_vocabulary().names)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Any program whose variables are bound."""
    bound = [draw(NAMES)]
    statements: list[Statement] = [Instance(bound[0], draw(CLASSES))]
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(get_args(Statement)))
        if kind is Instance:
            bread = draw(st.booleans())
            name = "BreadSliced" if bread else draw(CLASSES)
            landmark = draw(st.one_of(st.just(""), CLASSES))
            words = ATTRIBUTES if bread else ATTRIBUTES[1:]
            wanted = tuple(draw(st.lists(st.sampled_from(words), unique=True)))
            bound.append(draw(NAMES))
            statements.append(Instance(bound[-1], name, landmark, wanted))
        elif kind is Invocation:
            method = draw(st.sampled_from([one for one in Method if one is not Method.TOAST]))
            variable, other = draw(st.sampled_from(bound)), draw(st.sampled_from(bound))
            if method not in WITH_ARGUMENT:
                statements.append(Invocation(variable, method))
            elif other != variable:
                statements.append(Invocation(variable, method, other))
        elif kind is Correction:
            statements.append(Correction("agent", draw(st.sampled_from(Corrective))))
        else:
            statements.append(DoNothing())
    return Program(tuple(statements))


@settings(max_examples=40, deadline=None)
@given(programs())
def test_a_program_is_read_as_it_was_written(program: Program) -> None:
    text = program_text(program)
    read = parse_program(text, corrective=True)
    assert program_text(read) == text
    assert len(read.statements) == len(program.statements)


PIECES = st.sampled_from(
    [*MUG, "mug", ".", "(", ")", "[", "]", "=", "\n", "    ", "#", "'", '"', "lambda", "import",
     "pickup", "place", "agent", "AgentCorrective()", "do_nothing()", "InteractionObject", "Sink",
     "\\", "\u00e9", "\x00", "\t", ";", "0", "f'{x}'", "async", "yield", ":=", "*", "@", MUG]
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=25).map("".join)), st.booleans())
def test_any_text_is_a_program_or_an_error_of_ours(text: str, corrective: bool) -> None:
    _read_or_refused(text, corrective=corrective)


@pytest.mark.slow
@settings(max_examples=cases(1500), deadline=None)
@given(st.one_of(st.text(), st.lists(PIECES, max_size=60).map("".join)), st.booleans())
def test_many_texts_are_programs_or_errors_of_ours(text: str, corrective: bool) -> None:
    _read_or_refused(text, corrective=corrective)


def _read_or_refused(text: str, *, corrective: bool) -> None:
    try:
        read = parse_program(text, corrective=corrective)
    except ProgramError as error:
        said = error.reason
    else:
        said = program_text(read)
    assert said
