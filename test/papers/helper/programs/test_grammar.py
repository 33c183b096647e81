"""The grammar of programs allows what the parser reads, and nothing that it refuses by form."""

from __future__ import annotations

import re

import pytest
from grammar_engines import llguidance, llguidance_accepts, llguidance_speaks

from papers.helper.programs.parsing import parse_program, program_grammar
from papers.helper.programs.program import ProgramError, default_vocabulary, program_text
from planner.models.gbnf import read_grammar

NAMES = default_vocabulary().names
PROGRAM = """\
# a clean mug of coffee
mug = InteractionObject("Mug", landmark="CounterTop", attributes=["clean"])
machine = InteractionObject("CoffeeMachine")
mug.pickup()
mug.place(machine)
machine.toggle_on()
machine.toggle_off()
"""
_MOST_BYTES = 1200
# A name may also be one of Python's own words.
_LEFT = re.compile("is not defined|no statement|cannot be toasted|not Python")
REPAIR = "agent = AgentCorrective()\nagent.move_closer()\ndo_nothing()\n"


def test_what_is_read_is_allowed() -> None:
    text = program_text(parse_program(PROGRAM))
    grammar = program_grammar(NAMES)
    assert read_grammar(grammar).accepts(PROGRAM)
    assert read_grammar(grammar).accepts(text)
    assert llguidance_accepts(llguidance(grammar), text)


def test_only_a_repair_moves_the_agent() -> None:
    parse_program(REPAIR, corrective=True)
    assert read_grammar(program_grammar(NAMES, corrective=True)).accepts(REPAIR)
    assert not read_grammar(program_grammar(NAMES)).accepts(REPAIR)


@pytest.mark.parametrize(
    "line",
    [
        "import os",
        'mug = InteractionObject("Zeppelin")',
        "mug.fly()",
        "mug.__class__()",
        "mug.place()",
        "for x in y: pass",
        'mug = InteractionObject("Mug", attributes=["red"])',
    ],
)
def test_what_no_program_says(line: str) -> None:
    for corrective in (False, True):
        assert not read_grammar(program_grammar(NAMES, corrective=corrective)).accepts(line)


def test_only_classes_of_the_moment() -> None:
    grammar = read_grammar(program_grammar(["Mug"]))
    assert grammar.accepts('mug = InteractionObject("Mug")')
    assert not grammar.accepts('pot = InteractionObject("Pot")')


@pytest.mark.parametrize("seed", range(6))
def test_a_model_by_chance_writes_only_what_may_be_unbound(seed: int) -> None:
    """What the grammar leaves to the parser: which names are bound, and to what."""
    compiled = llguidance(program_grammar(NAMES, corrective=True))
    said = llguidance_speaks(compiled, seed, _MOST_BYTES)
    lines = said.split("\n")[: -1 if len(said) >= _MOST_BYTES else None]
    assert not [reason for line in lines if (reason := refused(line)) and not _LEFT.search(reason)]


def refused(line: str) -> str:
    """Why the parser refuses a line; "" if it does not."""
    try:
        parse_program(line, corrective=True)
    except ProgramError as error:
        return error.reason
    return ""
