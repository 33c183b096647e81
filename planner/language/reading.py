"""What becomes of an instruction: a goal, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import Discriminator, Field, Tag, model_validator

from planner.language.description import Form, Many, tag_of
from planner.language.goal_form import Goal
from planner.world.files import FileModel, read_model


class AskReason(StrEnum):
    """What is missing before anything can be done.

    WHICH: several things could be meant; WHAT: the thing is not named; WHERE: the place is not
    named; DONE: it is not said what would be a success.
    """

    WHICH = "which"
    WHAT = "what"
    WHERE = "where"
    DONE = "done"


class ImpossibleReason(StrEnum):
    """Why no house could satisfy the words.

    CONTRADICTION: two parts exclude each other; AMOUNT: a number that is none of things;
    UNFIT: a thing cannot be, or become, that (a couch in a cup, a sliced lamp).
    """

    CONTRADICTION = "contradiction"
    AMOUNT = "amount"
    UNFIT = "unfit"


class NoCommandReason(StrEnum):
    """What the text is instead of a command in English; STOP ends what is being done."""

    CHAT = "chat"
    CODE = "code"
    EMPTY = "empty"
    LANGUAGE = "language"
    NOISE = "noise"
    QUESTION = "question"
    STOP = "stop"


class Ask(Form):
    """A question to the person, about `words` of the text."""

    words: Many[str] = Field(validation_alias="ask", serialization_alias="ask", min_length=1)
    reason: AskReason


class NotUnderstood(Form):
    """Words that are not known, or that no rule covers; nothing moves."""

    words: Many[str] = Field(
        validation_alias="not_understood", serialization_alias="not_understood", min_length=1
    )


class Impossible(Form):
    """Words that cannot be satisfied in any house."""

    words: Many[str] = Field(
        validation_alias="impossible", serialization_alias="impossible", min_length=1
    )
    reason: ImpossibleReason


class AlreadyTrue(Form):
    """Words that ask for what is so already."""

    words: Many[str] = Field(
        validation_alias="already_true", serialization_alias="already_true", min_length=1
    )


class NoCommand(Form):
    """The text asks for nothing that an agent could do."""

    reason: NoCommandReason = Field(validation_alias="no_command", serialization_alias="no_command")


Reading = Goal | Ask | NotUnderstood | Impossible | AlreadyTrue | NoCommand

OUTCOMES: Mapping[str, type[Form]] = {
    "ask": Ask,
    "not_understood": NotUnderstood,
    "impossible": Impossible,
    "already_true": AlreadyTrue,
    "no_command": NoCommand,
}
"""The outcomes by the field of a file that tells them apart."""


Outcome = Annotated[
    Annotated[Ask, Tag("ask")]
    | Annotated[NotUnderstood, Tag("not_understood")]
    | Annotated[Impossible, Tag("impossible")]
    | Annotated[AlreadyTrue, Tag("already_true")]
    | Annotated[NoCommand, Tag("no_command")],
    Discriminator(
        lambda value: tag_of(OUTCOMES, value),
        custom_error_type="outcome",
        custom_error_message=f"expected one of {', '.join(OUTCOMES)}",
    ),
]


class AnnotatedInstruction(FileModel):
    """An instruction with its meaning, for testing what reads instructions.

    Exactly one of `goal` and `outcome`.
    """

    text: Annotated[str, Field(max_length=2000)]
    category: Annotated[str, Field(pattern=r"^[a-z_]+$")]
    goal: Goal | None = None
    outcome: Outcome | None = None

    @property
    def reading(self) -> Reading:
        """The goal or the outcome."""
        if self.goal is not None:
            return self.goal
        return self.outcome or NoCommand(reason=NoCommandReason.EMPTY)

    @model_validator(mode="after")
    def _has_one_reading(self) -> Self:
        if (self.goal is None) == (self.outcome is None):
            raise ValueError("expected either goal or outcome")
        words = getattr(self.outcome, "words", ())
        if absent := [word for word in words if word.lower() not in self.text.lower()]:
            raise ValueError(f"outcome: {absent[0]!r} is not in the text")
        return self


class _InstructionFile(FileModel):
    instructions: tuple[AnnotatedInstruction, ...]


def read_instructions(path: Path) -> tuple[AnnotatedInstruction, ...]:
    """Reads annotated instructions from YAML.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, _InstructionFile).instructions
