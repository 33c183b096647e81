"""What grounding finds: an evaluation in known names, and what is still open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import JsonValue

from planner.language.reading import AskReason


@dataclass(frozen=True, slots=True)
class Missing:
    """A description that too few known things fit, so more has to be looked for.

    Attributes:
        key: of the description in its goal.
        request: its index in `Goal.requests`.
        words: the description in English.
        classes: of what would fit; empty = any.
        where: rooms and furniture where it must be; empty = anywhere.
        count: how many more.
        condition: whether the request holds only if it exists.
    """

    key: str
    request: int
    words: str
    classes: tuple[str, ...]
    where: tuple[str, ...]
    count: int
    condition: bool = False


@dataclass(frozen=True, slots=True)
class OpenEnded:
    """All of what fits is meant, so the goal is complete only when `where` was looked at.

    Attributes as in `Missing`.
    """

    key: str
    request: int
    words: str
    classes: tuple[str, ...]
    where: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One of several things that are meant alike.

    Attributes:
        words: "the one in the kitchen".
        names: of the things that these words fit.
        places: the room or furniture that tells them apart; empty if something else does.
    """

    words: str
    names: tuple[str, ...]
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What the person must decide before the request can be carried out.

    Attributes:
        key: of the description in its goal.
        request: its index in `Goal.requests`.
        words: the description in English, such as "the table".
        alternatives: empty if anything may be answered.
    """

    key: str
    request: int
    words: str
    reason: AskReason
    alternatives: tuple[Alternative, ...] = ()

    @property
    def text(self) -> str:
        """The question in English."""
        said = [alternative.words for alternative in self.alternatives]
        listed = f"{', '.join(said[:-1])} or {said[-1]}" if len(said) > 1 else "".join(said)
        if self.reason is AskReason.WHERE:
            return f"Where {self.words}: {listed}?" if listed else f"Where {self.words}?"
        if self.reason is AskReason.WHICH:
            return f"Which {self.words.removeprefix('the ')}: {listed}?"
        return f"{self.words}?"


class Why(StrEnum):
    """Why a request, or a part of it, has no proposition.

    NONE: nothing fits; TOO_FEW: less than asked for; UNFIT: it cannot be, or become, that;
    UNSAYABLE: nothing measures it; DONE: there was nothing to do; CONDITION: the condition does
    not hold; SPEAKER: the speaker does it; FIND: only to be found.
    """

    NONE = "none"
    TOO_FEW = "too_few"
    UNFIT = "unfit"
    UNSAYABLE = "unsayable"
    DONE = "done"
    CONDITION = "condition"
    SPEAKER = "speaker"
    FIND = "find"


@dataclass(frozen=True, slots=True)
class Unbound:
    """A request, or a part of it, without a proposition.

    Attributes:
        text: the reason as a sentence.
        names: for FIND, the things that were found.
    """

    request: int
    words: str
    why: Why
    text: str
    names: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether the instruction cannot have been carried out as understood."""
        return self.why in (Why.NONE, Why.TOO_FEW, Why.UNFIT, Why.UNSAYABLE)


@dataclass(frozen=True, slots=True)
class Grounding:
    """A goal in the names of what is known.

    Attributes:
        evaluation: as in an episode (docs/evaluation.md); None while nothing can be bound.
        criteria: where agents shall be, as in an episode; None if nowhere.
        requests: for each proposition the index of its request in `Goal.requests`.
        request_words: each request in English.
        bound: names of things by the keys of their descriptions.
    """

    evaluation: Mapping[str, JsonValue] | None
    criteria: Mapping[str, JsonValue] | None = None
    requests: tuple[int, ...] = ()
    request_words: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()
    open_ended: tuple[OpenEnded, ...] = ()
    questions: tuple[Question, ...] = ()
    unbound: tuple[Unbound, ...] = ()
    bound: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def sought(self) -> tuple[Missing | OpenEnded, ...]:
        """Everything that has to be looked for."""
        return (*self.missing, *self.open_ended)
