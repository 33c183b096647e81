"""What an instruction asks for: a goal over descriptions of things and places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, Self, TypeVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    WrapSerializer,
    model_serializer,
    model_validator,
)

from planner.language.lexicon import (
    PERSON,
    TOPICS_OF,
    Actor,
    Amount,
    Arrangement,
    Bound,
    Garment,
    Kind,
    Occasion,
    Pick,
    Relation,
    Size,
    Spot,
    StateWord,
    Topic,
)
from planner.world.files import FileModel
from planner.world.shapes import Color, Material

# Descriptions of things and places: what noun phrases and prepositions of an instruction mean.

MAX_COUNT = 1000

ItemT = TypeVar("ItemT")


def _as_tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _single(value: object, handler: SerializerFunctionWrapHandler) -> object:
    items = handler(value)
    return items[0] if len(items) == 1 else items


Many = Annotated[tuple[ItemT, ...], BeforeValidator(_as_tuple), WrapSerializer(_single)]
"""Several of something; a file may write a single one without brackets."""


class Form(FileModel):
    """A record whose fields have other names in files."""

    model_config = ConfigDict(populate_by_name=True)


def tag_of(records: Mapping[str, type[Form]], value: object) -> str | None:
    """The field that tells a record apart from others, in a file or already read; None if none."""
    if isinstance(value, Mapping):
        return next((head for head in records if head in value), None)
    return next((head for head, record in records.items() if isinstance(value, record)), None)


_SPOTS = frozenset(Spot)

Label = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]


class Mention(Form):
    """The same things as those that an earlier description, labelled `as`, was bound to."""

    label: Label

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        return {"label": value} if isinstance(value, str) else value

    @model_serializer
    def _write(self) -> str:
        return self.label


def _phrase_tag(value: object) -> str:
    if isinstance(value, Spot) or (isinstance(value, str) and value in _SPOTS):
        return "spot"
    if isinstance(value, str | Mention):
        return "mention"
    if isinstance(value, OneOf) or (isinstance(value, Mapping) and "one_of" in value):
        return "one_of"
    if isinstance(value, PlaceOf) or (isinstance(value, Mapping) and "place_of" in value):
        return "place_of"
    return "description"


class Place(Form):
    """Somewhere relative to an anchor; several places of one thing hold together."""

    relation: Relation
    anchor: Anchor


def _read_places(value: object) -> object:
    if isinstance(value, str):
        return ({"relation": Relation.AT, "anchor": value},)
    if isinstance(value, Mapping):
        return tuple(
            {"relation": relation, "anchor": anchor}
            for relation, anchors in value.items()
            for anchor in (anchors if isinstance(anchors, list) else [anchors])
        )
    return value


def _write_places(places: tuple[Place, ...], handler: SerializerFunctionWrapHandler) -> object:
    if (
        len(places) == 1
        and places[0].relation is Relation.AT
        and isinstance(places[0].anchor, Spot)
    ):
        return places[0].anchor.value
    found: dict[str, list[object]] = {}
    for item in handler(places):
        found.setdefault(item["relation"], []).append(item["anchor"])
    return {relation: items if len(items) > 1 else items[0] for relation, items in found.items()}


Places = Annotated[tuple[Place, ...], BeforeValidator(_read_places), WrapSerializer(_write_places)]
"""In files a mapping of relations to anchors, or only the name of a spot."""


class Description(Form):
    """Things or people by what they are, as they are when the instruction is given.

    In files the kind stands at its determiner: `{the: cup}` should fit exactly one thing,
    `{a: cup}` any one, `{all: cup}` every one, `{some: cup}` at least two, `{few: cup}` at least
    three.

    Attributes:
        count: how many; in files `n`, `at_least` or `at_most`.
        definite: no more things fit than are counted; if more do, which ones must be asked.
        nth: the how manieth of `pick`, if not the first.
        states: what they are now; in files `is`.
        where: all places that hold of them; in files the relations themselves.
        holding: what is on or in them; in files `with`.
        but: what is not meant although it fits; in files `except`.
        other_than: labels of things from which these differ.
        elsewhere: a place other than the one where the moved things are.
        name: of a person, who is then of the kind `person`.
        wears: a person's clothes.
        each: one of its own for each of the things, or of the places, of the request.
        label: a name for later mentions; in files `as`.
    """

    kind: Kind
    count: Annotated[int, Field(ge=1, le=MAX_COUNT, strict=True)] | Amount = 1
    bound: Bound = Bound.EXACTLY
    definite: bool = False
    color: Color | None = None
    material: Material | None = None
    size: Size | None = None
    pick: Pick | None = None
    nth: Annotated[int, Field(ge=2, le=MAX_COUNT, strict=True)] | None = None
    states: Many[StateWord] = Field(default=(), validation_alias="is", serialization_alias="is")
    where: tuple[Place, ...] = ()
    holding: Many[NounPhrase] = Field(
        default=(), validation_alias="with", serialization_alias="with"
    )
    but: Many[NounPhrase] = Field(
        default=(), validation_alias="except", serialization_alias="except"
    )
    other_than: Many[Label] = ()
    elsewhere: bool = False
    each: bool = False
    name: Annotated[str, Field(min_length=1, max_length=40)] | None = None
    wears: Many[Garment] = ()
    label: Label | None = Field(default=None, validation_alias="as", serialization_alias="as")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        return _read_description(value) if isinstance(value, Mapping) else value

    @model_validator(mode="after")
    def _count_fits_its_words(self) -> Self:
        if isinstance(self.count, Amount) and (self.definite or self.bound is not Bound.EXACTLY):
            raise ValueError(f"{self.count} goes with neither a bound nor 'the'")
        if self.definite and self.bound is not Bound.EXACTLY:
            raise ValueError("'the' goes with no bound")
        if self.nth and self.pick is None:
            raise ValueError("nth goes with a pick")
        if self.label in _SPOTS:
            raise ValueError(f"as: {self.label} is a place")
        if (self.name or self.wears) and self.kind != PERSON:
            raise ValueError(f"a {self.kind} has neither a name nor clothes")
        return self

    @model_serializer(mode="wrap")
    def _write(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        rest: dict[str, object] = handler(self)
        for field in ("kind", "count", "bound", "definite", "where"):
            rest.pop(field, None)
        if isinstance(self.count, Amount):
            return {self.count.value: self.kind} | rest | _written_where(self.where)
        words: dict[str, object] = {"the" if self.definite else "a": self.kind}
        if self.bound is not Bound.EXACTLY:
            words[self.bound.value] = self.count
        elif self.count > 1:
            words["n"] = self.count
        return words | rest | _written_where(self.where)


def _written_where(places: tuple[Place, ...]) -> dict[str, object]:
    found: dict[str, object] = {}
    for relation in dict.fromkeys(place.relation for place in places):
        anchors = [_dumped(place.anchor) for place in places if place.relation is relation]
        found[relation.value] = anchors if len(anchors) > 1 else anchors[0]
    return found


def _dumped(anchor: Anchor) -> object:
    if isinstance(anchor, Spot):
        return anchor.value
    dumped: object = anchor.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return dumped


def _read_description(value: Mapping[str, object]) -> dict[str, object]:
    fields = dict(value)
    if "kind" in fields:
        return fields
    determiners = [word for word in ("the", "a", *Amount) if word in fields]
    if len(determiners) != 1:
        raise ValueError("expected one of the, a, all, some, few")
    (determiner,) = determiners
    fields["kind"] = fields.pop(determiner)
    fields["definite"] = determiner == "the"
    if determiner in set(Amount):
        fields["count"] = determiner
    for word, bound in (
        ("n", Bound.EXACTLY),
        ("at_least", Bound.AT_LEAST),
        ("at_most", Bound.AT_MOST),
    ):
        if word in fields:
            if "count" in fields:
                raise ValueError(f"{word}: there is another count")
            fields |= {"count": fields.pop(word), "bound": bound}
    where = {word: fields.pop(word) for word in tuple(fields) if word in set(Relation)}
    fields["where"] = _read_places(where)
    return fields


class OneOf(Form):
    """Alternatives, the preferred one first."""

    one_of: Annotated[tuple[NounPhrase, ...], Field(min_length=2)]


class PlaceOf(Form):
    """Where something was when the instruction was given."""

    place_of: NounPhrase


NounPhrase = Annotated[
    Annotated[Description, Tag("description")]
    | Annotated[Mention, Tag("mention")]
    | Annotated[OneOf, Tag("one_of")],
    Discriminator(_phrase_tag),
]
Anchor = Annotated[
    Annotated[Description, Tag("description")] | Annotated[Mention, Tag("mention")]
    | Annotated[OneOf, Tag("one_of")] | Annotated[PlaceOf, Tag("place_of")]
    | Annotated[Spot, Tag("spot")],
    Discriminator(_phrase_tag),
]  # fmt: skip


def phrases_within(phrase: NounPhrase | Anchor) -> Iterator[NounPhrase | Anchor]:
    """A phrase after those that it contains."""
    if isinstance(phrase, Description):
        for inner in (*(place.anchor for place in phrase.where), *phrase.holding, *phrase.but):
            yield from phrases_within(inner)
    elif isinstance(phrase, OneOf):
        for inner in phrase.one_of:
            yield from phrases_within(inner)
    elif isinstance(phrase, PlaceOf):
        yield from phrases_within(phrase.place_of)
    yield phrase


for _record in (Place, Description, OneOf, PlaceOf):
    _record.model_rebuild()


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


class Grasp(_Request):
    """Things shall be in a robot's hand at the end; in files `grasp`."""

    things: Many[NounPhrase] = Field(
        validation_alias="grasp", serialization_alias="grasp", min_length=1
    )


class Go(_Request):
    """An agent shall be at a place; in files `go`."""

    to: Places = Field(validation_alias="go", serialization_alias="go", min_length=1)


class Meet(_Request):
    """People shall be greeted; in files `meet`."""

    things: Many[NounPhrase] = Field(
        validation_alias="meet", serialization_alias="meet", min_length=1
    )


class Tell(_Request):
    """Somebody shall be told something; in files `tell`, `of` and `to`."""

    topic: Topic = Field(validation_alias="tell", serialization_alias="tell")
    things: Many[NounPhrase] = Field(default=(), validation_alias="of", serialization_alias="of")
    to: Anchor = Spot.ME

    @model_validator(mode="after")
    def _is_of_something(self) -> Self:
        if bool(self.things) is not (self.topic in TOPICS_OF):
            expected = "expected of" if self.topic in TOPICS_OF else "expected nothing in of"
            raise ValueError(f"tell {self.topic}: {expected}")
        return self


class Follow(_Request):
    """People shall be followed until they stop it, or to a place; in files `follow` and `to`."""

    things: Many[NounPhrase] = Field(
        validation_alias="follow", serialization_alias="follow", min_length=1
    )
    to: Places = ()


class Guide(_Request):
    """People shall come behind a robot to a place; in files `guide` and `to`."""

    things: Many[NounPhrase] = Field(
        validation_alias="guide", serialization_alias="guide", min_length=1
    )
    to: Places = Field(min_length=1)


REQUESTS: Mapping[str, type[_Request]] = {
    request.__name__.lower(): request
    for request in (
        Move, Make, Leave, Never, Prepare, Find, Grasp, Go, Meet, Tell, Follow, Guide,
    )
}  # fmt: skip
"""The requests by the field of a file that tells them apart."""


Request = Annotated[
    Annotated[Move, Tag("move")] | Annotated[Make, Tag("make")] | Annotated[Leave, Tag("leave")]
    | Annotated[Never, Tag("never")] | Annotated[Prepare, Tag("prepare")]
    | Annotated[Find, Tag("find")] | Annotated[Grasp, Tag("grasp")] | Annotated[Go, Tag("go")]
    | Annotated[Meet, Tag("meet")] | Annotated[Tell, Tag("tell")]
    | Annotated[Follow, Tag("follow")] | Annotated[Guide, Tag("guide")],
    Discriminator(
        lambda value: tag_of(REQUESTS, value),
        custom_error_type="request",
        custom_error_message=f"expected one of {', '.join(REQUESTS)}",
    ),
]  # fmt: skip


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
            for phrase in phrases_of(request):
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


def phrases_of(request: Request) -> Iterator[NounPhrase | Anchor]:
    """The phrases of a request, without those within them."""
    yield from request.only_if
    yield from request.unless
    if not isinstance(request, Go | Prepare):
        yield from request.things
    if isinstance(request, Move | Never | Go | Follow | Guide):
        yield from (place.anchor for place in request.to)
    if isinstance(request, Tell):
        yield request.to
    if isinstance(request, Prepare) and request.at is not None:
        yield request.at
