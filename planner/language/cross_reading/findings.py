"""What the second reading reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.language.reading import AskReason


class Subject(StrEnum):
    """What text and goal disagree about."""

    CONSISTENCY = "consistency"
    THING = "thing"
    AMOUNT = "amount"
    LOOK = "look"
    STATE = "state"
    PLACE = "place"
    ATTACHMENT = "attachment"
    ORDER = "order"
    ACTOR = "actor"
    CONDITION = "condition"
    EXCEPTION = "exception"
    ALTERNATIVE = "alternative"
    OCCASION = "occasion"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A confident fact of the text that the goal lacks, or something in it that no words say.

    Attributes:
        subject: what it is about.
        words: quotes of the text, to be asked about.
        reason: what the question is.
    """

    subject: Subject
    words: tuple[str, ...]
    reason: AskReason
