"""What an instruction asks for: a goal over descriptions of things, not over known things.

The parser writes this form, the binder finds the things that fit the descriptions, and the planner
gets both. In files it is compact YAML; docs/language.md explains it with examples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from planner.language.description import (
    MAX_COUNT,
    Anchor,
    Description,
    Form,
    Many,
    Mention,
    NounPhrase,
    Places,
    phrases_within,
    tag_of,
)
from planner.language.words import Actor, Arrangement, Occasion, StateWord

THEN, ANY_TIME = "then", "any_time"


class _Request(Form):
    """What all requests may have.

    Attributes:
        who: None if anybody may do it.
        only_if, unless: the request holds only where something does, or does not, fit these.
    """

    who: Actor | None = None
    only_if: Many[NounPhrase] = ()
    unless: Many[NounPhrase] = ()


class Move(_Request):
    """Things shall be at all of the places, or in an arrangement; in files `move` and `to`."""

    things: Many[NounPhrase] = Field(
        validation_alias="move", serialization_alias="move", min_length=1
    )
    to: Places = ()
    arrangement: Arrangement | None = None

    @model_validator(mode="after")
    def _goes_somewhere(self) -> Self:
        if not self.to and self.arrangement is None:
            raise ValueError("expected to or arrangement")
        return self


class Make(_Request):
    """Things shall have states; in files `make` and `be`."""

    things: Many[NounPhrase] = Field(
        validation_alias="make", serialization_alias="make", min_length=1
    )
    states: Many[StateWord] = Field(validation_alias="be", serialization_alias="be", min_length=1)


class Leave(_Request):
    """Things stay as and where they are; in files `leave`."""

    things: Many[NounPhrase] = Field(
        validation_alias="leave", serialization_alias="leave", min_length=1
    )


class Never(_Request):
    """Things must not come to a place, or into a state; in files `never`, `to` and `be`."""

    things: Many[NounPhrase] = Field(
        validation_alias="never", serialization_alias="never", min_length=1
    )
    to: Places = ()
    states: Many[StateWord] = Field(default=(), validation_alias="be", serialization_alias="be")

    @model_validator(mode="after")
    def _forbids_something(self) -> Self:
        if not self.to and not self.states:
            raise ValueError("expected to or be")
        return self


class Prepare(_Request):
    """An occasion; in files `prepare` and `at`. `people` is None if nobody says how many."""

    occasion: Occasion = Field(validation_alias="prepare", serialization_alias="prepare")
    people: Annotated[int, Field(ge=1, le=MAX_COUNT, strict=True)] | None = None
    at: Anchor | None = None


class Find(_Request):
    """Where things are shall be found out, without moving them; in files `find`."""

    things: Many[NounPhrase] = Field(
        validation_alias="find", serialization_alias="find", min_length=1
    )


class Go(_Request):
    """An agent shall be at a place; in files `go`."""

    to: Places = Field(validation_alias="go", serialization_alias="go", min_length=1)


REQUESTS: Mapping[str, type[_Request]] = {
    "move": Move,
    "make": Make,
    "leave": Leave,
    "never": Never,
    "prepare": Prepare,
    "find": Find,
    "go": Go,
}
"""The requests by the field of a file that tells them apart."""


Request = Annotated[
    Annotated[Move, Tag("move")]
    | Annotated[Make, Tag("make")]
    | Annotated[Leave, Tag("leave")]
    | Annotated[Never, Tag("never")]
    | Annotated[Prepare, Tag("prepare")]
    | Annotated[Find, Tag("find")]
    | Annotated[Go, Tag("go")],
    Discriminator(
        lambda value: tag_of(REQUESTS, value),
        custom_error_type="request",
        custom_error_message=f"expected one of {', '.join(REQUESTS)}",
    ),
]


class Goal(Form):
    """What shall be so at the end, and in which order it becomes so.

    In files a list of requests, with `then` between steps, and `any_time` before what has no order.

    Attributes:
        steps: all of one before any of the next; those of one step in any order.
        any_time: requests outside of the order; also `leave` and `never`, which hold throughout.
    """

    form: Literal["goal"] = "goal"
    steps: tuple[tuple[Request, ...], ...] = ()
    any_time: tuple[Request, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        return _read_steps(value) if isinstance(value, list | tuple) else value

    @model_validator(mode="after")
    def _mentions_have_antecedents(self) -> Self:
        if not self.requests or not all(self.steps):
            raise ValueError("expected at least one request in each step")
        known: set[str] = set()
        for phrase in self.phrases():
            if isinstance(phrase, Mention):
                if phrase.label not in known:
                    raise ValueError(f"nothing before is labelled {phrase.label!r}")
            elif isinstance(phrase, Description):
                if unknown := set(phrase.other_than) - known:
                    raise ValueError(f"nothing before is labelled {min(unknown)!r}")
                if phrase.label in known:
                    raise ValueError(f"two things are labelled {phrase.label!r}")
                known |= {phrase.label} if phrase.label else set()
        return self

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> list[object]:
        dumped = handler(self)
        written: list[object] = []
        for step in dumped.get("steps", ()):
            written += [THEN, *step] if written else step
        return written + ([ANY_TIME, *dumped["any_time"]] if self.any_time else [])

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests, as they are read."""
        return (*(item for step in self.steps for item in step), *self.any_time)

    def phrases(self) -> Iterator[NounPhrase | Anchor]:
        """Every noun phrase and anchor, the inner ones before what they describe."""
        for request in self.requests:
            for phrase in _phrases_of(request):
                yield from phrases_within(phrase)


def _read_steps(items: list[object] | tuple[object, ...]) -> dict[str, object]:
    steps: list[list[object]] = [[]]
    any_time: list[object] = []
    target = steps[0]
    for item in items:
        if item == ANY_TIME:
            target = any_time
        elif item == THEN:
            steps.append([])
            target = steps[-1]
        else:
            target.append(item)
    return {"steps": steps if items and items[0] != ANY_TIME else [], "any_time": any_time}


def _phrases_of(request: Request) -> Iterator[NounPhrase | Anchor]:
    yield from request.only_if
    yield from request.unless
    if isinstance(request, Move | Make | Leave | Never | Find):
        yield from request.things
    if isinstance(request, Move | Never | Go):
        yield from (place.anchor for place in request.to)
    if isinstance(request, Prepare) and request.at is not None:
        yield request.at
