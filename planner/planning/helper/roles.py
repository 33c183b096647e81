"""The three roles: their prompts, the forms of their replies, and what a reply says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from planner.models.chat import Message
from planner.models.gbnf import quoted
from planner.models.replies.form import ReplyError, ReplyForm, check_length
from planner.models.role import Role
from planner.planning.helper.prompts import (
    ANSWER_CUE,
    EXPLAIN_CUE,
    PLAN_HEADER,
    PROGRAM_CUE,
    Example,
    locator_prompt,
    planner_prompt,
    rectifier_prompt,
)
from planner.planning.programs.grammar import program_grammar
from planner.planning.programs.parsing import parse_program
from planner.planning.programs.program import Program
from planner.world.record import record

ValueT_co = TypeVar("ValueT_co", covariant=True)
# The paper asks the locator for three categories.
PLACES = 3
_FENCE = re.compile(r"```(?:python)?[ ]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_PLAN = re.compile(r"^[ *#]*plan[ ]*\(python script\)[ *]*:", re.MULTILINE | re.IGNORECASE)
_ROOT = re.compile(r"^root(?= ::=)", re.MULTILINE)
_MAX_EXPLANATION = 1500


class HelperRole(Protocol[ValueT_co]):
    """One request of a role."""

    @property
    def role(self) -> Role:
        """Under which its calls are traced, and by which a model may be chosen."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""

    @property
    def form(self) -> ReplyForm[ValueT_co]:
        """The form of the reply."""


@record
class Repair:
    """The rectifier's reply: why the subgoal failed, and what overcomes that."""

    explanation: str
    program: Program


@dataclass(frozen=True)
class ProgramForm:
    """The planner's reply: a program; a `planner.models.replies.form.ReplyForm`."""

    classes: tuple[str, ...]
    max_tokens: int = 2048
    stop: tuple[str, ...] = ("\ndialogue:",)

    @cached_property
    def grammar(self) -> str:
        """GBNF of programs over the classes."""
        return program_grammar(self.classes)

    def read(self, text: str, *, ended: bool) -> Program:
        """The program, also of a reply that repeats the cue or fences the code.

        Raises:
            ReplyError: for a reply that broke off.
            ProgramError: for anything but a program, naming line and reason.
        """
        return parse_program(_code(text, PROGRAM_CUE, ended=ended))


@dataclass(frozen=True)
class RepairForm:
    """The rectifier's reply; a `planner.models.replies.form.ReplyForm`."""

    classes: tuple[str, ...]
    max_tokens: int = 1024
    stop: tuple[str, ...] = ("\nFailed subgoal:",)

    @cached_property
    def grammar(self) -> str:
        """GBNF: one line of explanation, the header, a program."""
        program = _ROOT.sub("repair", program_grammar(self.classes, corrective=True))
        root = f'root ::= explanation "\\n" {quoted(PLAN_HEADER)} "\\n" repair'
        return f"{root}\nexplanation ::= [^\\n]{{1,{_MAX_EXPLANATION}}}\n{program}"

    def read(self, text: str, *, ended: bool) -> Repair:
        """The explanation, and the program after the header of the plan (HELPER-2.5).

        Raises:
            ReplyError: for a reply without the header, or one that broke off.
            ProgramError: for anything but a program, naming line and reason.
        """
        check_length(text)
        header = _PLAN.search(text)
        if header is None:
            raise ReplyError(f"the reply has no line {PLAN_HEADER!r}")
        explanation = text[: header.start()].strip().removeprefix(EXPLAIN_CUE).strip()
        code = _code(text[header.end() :], PROGRAM_CUE, ended=ended)
        return Repair(explanation[:_MAX_EXPLANATION], parse_program(code, corrective=True))


@dataclass(frozen=True)
class PlacesForm:
    """The locator's reply: three categories; a `planner.models.replies.form.ReplyForm`."""

    classes: tuple[str, ...]
    max_tokens: int = 64
    stop: tuple[str, ...] = ("\n",)

    @cached_property
    def grammar(self) -> str:
        """GBNF: three names of the list, separated by commas."""
        names = " | ".join(quoted(name) for name in self.classes)
        return f'root ::= name ", " name ", " name\nname ::= {names}\n'

    def read(self, text: str, *, ended: bool) -> tuple[str, ...]:
        """The names in order, with or without the cue; what is not in the list is left out.

        Raises:
            ReplyError: if no name is in the list.
        """
        check_length(text)
        line = text.strip()
        if line.casefold().startswith(ANSWER_CUE):
            line = line[len(ANSWER_CUE) :]
        usual = {name.casefold(): name for name in self.classes}
        parts = line.split(",")
        whole = parts if ended else parts[:-1]
        said = (part.strip(" .'\"[]").casefold() for part in whole)
        found = tuple(dict.fromkeys(usual[word] for word in said if word in usual))
        if not found:
            raise ReplyError("none of the names is in the list of categories")
        return found[:PLACES]


def _code(text: str, cue: str, *, ended: bool) -> str:
    """The code of a reply: within a fence if there is one, without the repeated cue.

    Raises:
        ReplyError: if the reply broke off, as its last statement may be half a one.
    """
    check_length(text)
    if not ended:
        raise ReplyError("the reply broke off")
    code = text.removeprefix(cue)
    fenced = _FENCE.search(code)
    return (fenced[1] if fenced else code).strip("\n")


@dataclass(frozen=True)
class PlannerRole:
    """Writes the program for a dialogue."""

    dialogue: str
    examples: tuple[Example, ...]
    classes: tuple[str, ...]
    role: Role = field(default=Role.PLANNER, init=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""
        return planner_prompt(self.dialogue, self.examples, self.classes)

    @property
    def form(self) -> ProgramForm:
        """A program."""
        return ProgramForm(self.classes)


@dataclass(frozen=True)
class RectifierRole:
    """Writes what overcomes a failure."""

    subgoal: str
    failure: str
    dialogue: str
    examples: tuple[Example, ...]
    classes: tuple[str, ...]
    role: Role = field(default=Role.CORRECTOR, init=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""
        return rectifier_prompt(
            self.subgoal, self.failure, self.dialogue, self.examples, self.classes
        )

    @property
    def form(self) -> RepairForm:
        """An explanation and a program."""
        return RepairForm(self.classes)


@dataclass(frozen=True)
class LocatorRole:
    """Says near what a thing may be."""

    target: str
    dialogue: str
    classes: tuple[str, ...]
    role: Role = field(default=Role.LOCATOR, init=False)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The prompt."""
        return locator_prompt(self.target, self.dialogue, self.classes)

    @property
    def form(self) -> PlacesForm:
        """Three categories."""
        return PlacesForm(self.classes)


def names_of(examples: Sequence[Example]) -> str:
    """The texts of examples for the trace, one a line."""
    return "\n".join(example.text for example in examples)
