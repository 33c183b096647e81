"""Pairs of language and program, as the program memory keeps them (HELPER-D20)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from planner.planning.programs.parsing import parse_program
from planner.planning.programs.program import Program
from planner.world.errors import PlannerError
from planner.world.instruct import one_line

MAX_KEY_CHARACTERS = 20_000
MAX_PROGRAM_CHARACTERS = 40_000
MAX_NOTE_CHARACTERS = 1000


class RecordKind(StrEnum):
    """What a record is an example of."""

    PLAN = "plan"
    CORRECTION = "correction"


class CorrectionKey(StrEnum):
    """Which words of a correction are embedded (HELPER-D22)."""

    BOTH = "both"
    DIALOGUE = "dialogue"
    FAILURE = "failure"


class UnconfirmedError(PlannerError):
    """A record that nobody has confirmed."""


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """A dialogue or instruction and the program that fulfils it.

    Attributes:
        id: unique within a memory and never used twice; 0 = not in a memory yet.
        key: the dialogue or instruction, on one line.
        program: the program's text.
        person: who taught it; "" = nobody in particular.
        confirmed: whether a person, or the judge of a run, said that it did what was asked.
        when_s: when it was learned, seconds since 1970; 0 = unknown.
        source: where it comes from, such as "shipped" or a run and its episode.
        failure: the sentence of the failure that a correction repairs; "" for a plan.
    """

    id: int
    kind: RecordKind
    key: str
    program: str
    person: str = ""
    confirmed: bool = False
    when_s: float = 0.0
    source: str = ""
    failure: str = ""

    def parsed(self) -> Program:
        """The program.

        Raises:
            ProgramError: if the text is not a program of this kind.
        """
        return parse_program(self.program, corrective=self.kind is RecordKind.CORRECTION)


def embedded_text(
    kind: RecordKind, key: str, failure: str, form: CorrectionKey = CorrectionKey.BOTH
) -> str:
    """The words that are compared: of a plan its key, of a correction what `form` says.

    A program is never among them, so that a record's distance depends on its language alone.
    """
    if kind is RecordKind.PLAN or form is CorrectionKey.DIALOGUE:
        return key
    if form is CorrectionKey.FAILURE or not failure:
        return failure or key
    return f"{key}\n{failure}"


def checked(record: ProgramRecord) -> ProgramRecord:
    """The record with its language on one line.

    Raises:
        UnconfirmedError: if nobody has confirmed it.
        PlannerError: naming the field that is empty, too long or out of place.
        ProgramError: if its program is none.
    """
    if not record.confirmed:
        raise UnconfirmedError(
            f"the program memory keeps what was confirmed only, and {record.key[:60]!r} was not"
        )
    key, failure = one_line(record.key), one_line(record.failure)
    if not key:
        raise PlannerError("key: a record needs the words that it is found by")
    if failure and record.kind is RecordKind.PLAN:
        raise PlannerError("failure: only a correction has one")
    if not failure and record.kind is RecordKind.CORRECTION:
        raise PlannerError("failure: a correction needs the sentence of the failure")
    notes = {"failure": failure, "person": record.person, "source": record.source}
    limits = {"key": (key, MAX_KEY_CHARACTERS), "program": (record.program, MAX_PROGRAM_CHARACTERS)}
    limits |= {name: (text, MAX_NOTE_CHARACTERS) for name, text in notes.items()}
    for name, (text, limit) in limits.items():
        if len(text) > limit:
            raise PlannerError(f"{name}: has {len(text)} characters, at most {limit}")
    if not math.isfinite(record.when_s):
        raise PlannerError(f"when_s: {record.when_s} is not a time")
    record.parsed()
    return ProgramRecord(
        record.id,
        record.kind,
        key,
        record.program,
        one_line(record.person),
        confirmed=True,
        when_s=record.when_s,
        source=one_line(record.source),
        failure=failure,
    )
