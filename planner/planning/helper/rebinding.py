"""A remembered program, changed to what is asked for now, without a model (HELPER-D30).

Two kinds of requests are understood: a routine by its name with changes ("the Ann salad without
lettuce, with three slices of tomato, plus a fork"), and a description that differs from a record's
in things, counts and places ("put three books on the desk" by "put two pillows on the sofa").
A request that names something unknown, or does not fit, is refused with the reason. Only nouns and
the words around them are read, so what is said in other ways has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from planner.language.english import words
from planner.language.lexicon import default_lexicon
from planner.planning.helper.dialogue_words import FUNCTION_WORDS, stem_of
from planner.planning.helper.program_change import MisfitError, ProgramChange
from planner.planning.helper.program_items import ProgramItems
from planner.planning.helper.program_memory import EXAMPLES, ProgramMemory
from planner.planning.helper.program_record import ProgramRecord, RecordKind
from planner.planning.helper.request_words import Reader, said_by_the_person
from planner.planning.programs.parsing import parse_program
from planner.planning.programs.program import Program, ProgramError, program_text

# What many other words of a request hide, a name finds among so many.
_NAMED_AMONG = 20
_ROUTINES = words(
    """
    salad sandwich breakfast lunch dinner supper meal snack coffee tea toast
    rearrangement cleaning tidying watering routine task
    """
)
# Verbs of requests that come right before one of these.
_VERBS = words("prepare start serve cook make want need love like fancy order finish repeat clean")
_NAME = re.compile(r"(?<=[A-Za-z,] )[A-Z][a-z]+")
_BEFORE_ROUTINE = re.compile(
    rf"(?:\b(?:the|my|our)|^|[.,;:!?]) *([a-z]+) (?:{'|'.join(sorted(_ROUTINES))})\b"
)


@dataclass(frozen=True, slots=True)
class Rebound:
    """A program that fits a request.

    Attributes:
        program: parsed anew.
        changes: what differs from the record's, in words.
        record: from which it was made.
    """

    program: Program
    changes: tuple[str, ...]
    record: ProgramRecord


@dataclass(frozen=True, slots=True)
class Unbound:
    """Why a record cannot be made to fit a request."""

    reason: str


def nearest_rebound(memory: ProgramMemory, request: str, k: int = EXAMPLES) -> Rebound | Unbound:
    """The nearest plan of a memory that can be made to fit a request.

    A routine that the request names is the only one that is tried.

    Args:
        memory: of programs.
        request: a dialogue or an instruction.
        k: how many plans are tried, the nearest first.

    Returns:
        The reason of the nearest one if none fits.

    Raises:
        FileError: if the memory's file cannot be read.
    """
    near = memory.nearest(request, RecordKind.PLAN, max(k, _NAMED_AMONG) if k else 0)
    return first_rebound([record for _, record in near], request, k)


def first_rebound(found: Sequence[ProgramRecord], request: str, k: int) -> Rebound | Unbound:
    """As `nearest_rebound`, of plans that were found, the nearest first; `k` of them are tried."""
    named = [record for record in found if names_routine(record, request)]
    results = [rebind(record, request) for record in named[:1] or found[:k]]
    fitting = [result for result in results if isinstance(result, Rebound)]
    if fitting:
        return fitting[0]
    return results[0] if results else Unbound("the program memory has no plan")


def rebind(record: ProgramRecord, request: str) -> Rebound | Unbound:
    """A plan's program with its things, counts and places as a request wants them."""
    asked, key = Reader(request), Reader(record.key)
    unknown = [word for word in asked.unknown if stem_of(word) not in key.words]
    if unknown:
        return Unbound(f"no program knows a {unknown[0]!r}")
    missing = sorted(name for name in names_in(request) if stem_of(name) not in key.words)
    if missing:
        return Unbound(f"what was taught is not about {missing[0]!r}")
    try:
        change = ProgramChange(ProgramItems(record.parsed()))
        if names_routine(record, request):
            change.change(asked.mentions)
        else:
            change.fit(asked, request)
        text = program_text(Program(change.items.statements()))
        return Rebound(parse_program(text), tuple(change.changes), record)
    except (MisfitError, ProgramError) as error:
        return Unbound(str(error))


def names_routine(record: ProgramRecord, request: str) -> bool:
    """Whether a request and what a record was taught with share a name."""
    names = {stem_of(name) for name in names_in(record.key) | names_in(request)}
    return bool(names & _stems(record.key) & _stems(request))


def _stems(text: str) -> frozenset[str]:
    said = said_by_the_person(text).lower()
    return frozenset(stem_of(word) for word in re.findall(r"[a-z]+", said))


def names_in(text: str) -> frozenset[str]:
    """Names of routines and people, in lower case: no words of English or of the catalogue."""
    said = said_by_the_person(text)
    found = {word.lower() for word in _NAME.findall(said)}
    found |= set(_BEFORE_ROUTINE.findall(said.lower()))
    return frozenset(found - FUNCTION_WORDS - _ROUTINES - _VERBS - default_lexicon().words)
