"""What has been read so far of a goal, and the records of the form from it."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from planner.language.goal_form import (
    Anchor,
    Description,
    Find,
    Follow,
    Go,
    Goal,
    Grasp,
    Guide,
    Leave,
    Make,
    Meet,
    Mention,
    Move,
    Never,
    NounPhrase,
    OneOf,
    Place,
    PlaceOf,
    Prepare,
    Request,
    Tell,
)
from planner.language.lexicon import (
    Actor,
    Amount,
    Arrangement,
    Bound,
    Occasion,
    Pick,
    Relation,
    Size,
    Spot,
    Topic,
)
from planner.world.shapes import Color, Material

_SURFACE_PLURAL = frozenset({
    "jeans", "scissors", "headphones", "sunglasses", "tissues", "playing cards", "keys", "gloves",
    "pants", "trousers",
    "earphones", "glasses", "eyeglasses", "reading glasses", "key", "glove", "mittens", "pliers",
    "slippers", "cards", "shelf",
})  # fmt: skip


@dataclass(eq=False, slots=True)
class Noun:
    """A description. Two mentions of the same things are one object.

    `kind` is empty for "one" and "ones", and for pronouns, until it is known what they stand for;
    `instead_of` is what is not meant and would not be without saying so; `clause` is where a
    relative clause says in which state it is; `in_turn` is set if it comes after what a list has
    before it; `heated` says whether it is to be hot or cold first; `part_of` is what so many are
    taken of ("wash the cups and put two on the table").
    """

    kind: str
    start: int
    end: int
    plural: bool = False
    count: int | Amount = 1
    bound: Bound = Bound.EXACTLY
    definite: bool = False
    color: Color | None = None
    material: Material | None = None
    size: Size | None = None
    pick: Pick | None = None
    nth: int | None = None
    states: list[str] = field(default_factory=list)
    where: list[Where] = field(default_factory=list)
    holding: list[Phrase] = field(default_factory=list)
    but: list[Phrase] = field(default_factory=list)
    instead_of: list[Phrase] = field(default_factory=list)
    other: bool = False
    other_than: list[Noun] = field(default_factory=list)
    part_of: Noun | None = None
    elsewhere: bool = False
    each: bool = False
    bare: bool = False
    vague: bool = False
    clause: tuple[int, int] | None = None
    in_turn: bool = False
    heated: bool | None = None
    name: str = ""
    wears: list[str] = field(default_factory=list)

    @property
    def signature(self) -> tuple[object, ...]:
        """What a definite description says, for comparison."""
        return (
            self.kind, self.count, self.color, self.material, self.size, self.pick, self.nth,
            tuple(self.states),
            tuple(
                (w.relation, w.anchor.signature if isinstance(w.anchor, Noun) else str(w.anchor))
                for w in self.where
            ),
            len(self.other_than), len(self.holding), self.elsewhere, self.name, tuple(self.wears),
        )  # fmt: skip

    @property
    def described(self) -> bool:
        """Whether more than the kind is known."""
        return bool(
            self.color or self.material or self.size or self.pick or self.states or self.where
            or self.holding or self.but or self.other_than or self.elsewhere
            or self.name or self.wears
        )  # fmt: skip


@dataclass(eq=False, slots=True)
class Pronoun:
    """A word for something said before; `number` 1 is singular, 2 plural, 0 either."""

    word: str
    number: int
    start: int
    end: int


@dataclass(eq=False, slots=True)
class Either:
    """Alternatives, the preferred one first."""

    options: list[Noun]
    start: int
    end: int


Phrase = Noun | Pronoun | Either


@dataclass(eq=False, slots=True)
class PlaceWhere:
    """Where something was when the instruction was given."""

    noun: Phrase


class Way(StrEnum):
    """What a preposition says of motion: nothing, towards a place, or from it."""

    STATIC = "static"
    TO = "to"
    FROM = "from"


@dataclass(eq=False, slots=True)
class Where:
    """A place; an anchor of None is the place or thing that was last spoken of."""

    relation: Relation
    anchor: Phrase | PlaceWhere | Spot | None
    way: Way
    start: int
    end: int
    comma: bool = False


class Act(StrEnum):
    """The requests of the form, and what only introduces things."""

    MOVE = "move"
    MAKE = "make"
    LEAVE = "leave"
    NEVER = "never"
    PREPARE = "prepare"
    FIND = "find"
    GRASP = "grasp"
    GO = "go"
    MEET = "meet"
    TELL = "tell"
    FOLLOW = "follow"
    GUIDE = "guide"
    MENTION = "mention"


WITH_PEOPLE = frozenset({Act.MEET, Act.TELL, Act.FOLLOW, Act.GUIDE})


@dataclass(eq=False, slots=True)
class Do:
    """A request; `verb` is how it was said, for gaps ("and the plates in the sink").

    Attributes:
        taken: the place is still to come ("take the cup and put it on the table").
        cleared: things go away from a place, wherever to.
        guess: it may only say where things are ("there should be a pot on the stove").
        told: its places and states say how the things are.
        stated: it says how things shall be ("the cup goes on the shelf"), not what to do.
        presumed: it may say where things are instead ("the pills should be in the cabinet").
        complaint: it says that things are where they should not be.
        tools: what it is done with.
        later: which of the things come after those before them ("the cup, then the plate").
        topic: what is told, to the anchor of `to`.
        tempers: the place only makes things hot or cold.
        heats: what is switched on with the things in it.
        spells_out: the request whose vague things ("some toys") these are.
    """

    act: Act
    things: list[Phrase]
    start: int
    end: int
    to: list[Where] = field(default_factory=list)
    states: list[str] = field(default_factory=list)
    arrangement: Arrangement | None = None
    who: Actor | None = None
    only_if: list[Phrase] = field(default_factory=list)
    unless: list[Phrase] = field(default_factory=list)
    occasion: Occasion | None = None
    people: int | None = None
    taken: bool = False
    cleared: bool = False
    guess: bool = False
    told: bool = False
    stated: bool = False
    presumed: bool = False
    complaint: bool = False
    tools: list[Phrase] = field(default_factory=list)
    later: list[int] = field(default_factory=list)
    topic: Topic | None = None
    spells_out: Do | None = None
    tempers: bool = False
    heats: Noun | None = None


def says_again(do: Do, earlier: Do) -> bool:
    """Whether two requests that may be about other things of a kind are one by their words."""
    said = [
        (
            on.act, on.states, on.occasion, on.people, on.arrangement, on.who is Actor.SPEAKER,
            [thing.signature for thing in on.things if isinstance(thing, Noun)],
            [(w.relation, w.anchor.signature if isinstance(w.anchor, Noun) else str(w.anchor))
             for w in on.to],
        )
        for on in (do, earlier)
    ]  # fmt: skip
    loose = do.act is Act.PREPARE or (do.act in (Act.MOVE, Act.MAKE) and any(
        isinstance(t, Noun) and not (t.definite or t.other or t.count is Amount.ALL)
        for t in do.things
    ))  # fmt: skip
    apart = {*map(id, do.things)}.isdisjoint(map(id, earlier.things))
    return loose and apart and said[0] == said[1]


def several(noun: Noun) -> bool:
    """Whether "they" can stand for it."""
    return noun.plural or noun.count != 1 or noun.kind in _SURFACE_PLURAL or only_plural(noun)


def only_plural(noun: Noun) -> bool:
    """Whether one thing has a name in the plural, such as "jeans", which "it" is not."""
    word = noun.kind.split()[-1] if noun.kind else ""
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "as", "os", "ens"))


def single(noun: Noun) -> bool:
    """Whether "it" can stand for it."""
    return not noun.plural and (noun.count == 1 or isinstance(noun.count, Amount))


def nouns_within(phrase: object) -> list[Noun]:
    """The nouns of a phrase: itself, and those that describe it or are left out of it.

    Each is there once, also where two describe each other.
    """
    found: list[Noun] = []
    waiting = [phrase]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, Either):
            waiting += inner.options
        elif isinstance(inner, PlaceWhere):
            waiting.append(inner.noun)
        elif isinstance(inner, Noun) and not any(inner is noun for noun in found):
            found.append(inner)
            waiting += [where.anchor for where in inner.where]
            waiting += [*inner.holding, *inner.but, *inner.instead_of, *inner.other_than]
            waiting += [inner.part_of] if inner.part_of else []
    return found


def fresh(phrase: Phrase) -> Phrase:
    """A copy of what was read, down to the last noun, which rules may change."""
    if isinstance(phrase, Noun):
        return fresh_noun(phrase)
    if isinstance(phrase, Pronoun):
        return Pronoun(phrase.word, phrase.number, phrase.start, phrase.end)
    return Either([fresh_noun(option) for option in phrase.options], phrase.start, phrase.end)


def fresh_noun(noun: Noun) -> Noun:
    """A copy of a noun, as `fresh` makes it."""
    found = copy.copy(noun)
    found.states, found.wears = noun.states[:], noun.wears[:]
    found.where = [_fresh_where(where) for where in noun.where]
    found.holding = [fresh(inner) for inner in noun.holding]
    found.but, found.instead_of = [*map(fresh, noun.but)], [*map(fresh, noun.instead_of)]
    found.other_than = [*map(fresh_noun, noun.other_than)]
    found.part_of = fresh_noun(noun.part_of) if noun.part_of else None
    return found


def _fresh_where(where: Where) -> Where:
    anchor = where.anchor
    if isinstance(anchor, PlaceWhere):
        anchor = PlaceWhere(fresh(anchor.noun))
    elif anchor is not None and not isinstance(anchor, Spot):
        anchor = fresh(anchor)
    return Where(where.relation, anchor, where.way, where.start, where.end, where.comma)


# The records of the form from what was read; things that are mentioned again get labels.

_SPOTS = frozenset(Spot)


class Emission:
    """Writes drafts as a goal."""

    def __init__(self) -> None:
        self._written: dict[int, str] = {}
        self._needed: set[int] = set()
        self._seen: set[int] = set()
        self._labels: set[str] = set()

    def goal(self, steps: list[list[Do]], throughout: list[Do]) -> Goal:
        """The goal with these requests."""
        for do in (*(do for step in steps for do in step), *throughout):
            self._count(do)
        return Goal(
            steps=tuple(tuple(map(self._request, step)) for step in steps),
            any_time=tuple(map(self._request, throughout)),
        )

    def _count(self, do: Do) -> None:
        for phrase in (*do.only_if, *do.unless, *do.things, *(w.anchor for w in do.to)):
            self._count_phrase(phrase)

    def _count_phrase(self, phrase: object) -> None:
        if isinstance(phrase, Either):
            for option in phrase.options:
                self._count_phrase(option)
        elif isinstance(phrase, PlaceWhere):
            self._count_phrase(phrase.noun)
        elif isinstance(phrase, Noun):
            if id(phrase) in self._seen and not _known(phrase):
                self._needed.add(id(phrase))
            if id(phrase) in self._seen:
                return
            self._seen.add(id(phrase))
            self._needed |= {id(other) for other in phrase.other_than}
            for inner in (*(w.anchor for w in phrase.where), *phrase.holding, *phrase.but):
                self._count_phrase(inner)

    def _request(self, do: Do) -> Request:
        # Before the rest, as labels are given in this order.
        only_if, unless = self._phrases(do.only_if), self._phrases(do.unless)
        shared = {"who": do.who, "only_if": only_if, "unless": unless}
        request = self._act(do)
        return request.model_copy(update=shared) if any(shared.values()) else request

    def _act(self, do: Do) -> Request:
        """The request without what all requests may have."""
        things = self._phrases(do.things) if do.act is not Act.PREPARE else ()
        places, states = self.places(do.to), tuple(do.states)
        match do.act:
            case Act.MOVE:
                return Move(things=things, to=places, arrangement=do.arrangement)
            case Act.MAKE:
                return Make(things=things, states=states)
            case Act.LEAVE:
                return Leave(things=things)
            case Act.NEVER:
                return Never(things=things, to=places, states=states)
            case Act.FIND:
                return Find(things=things)
            case Act.GRASP:
                return Grasp(things=things)
            case Act.GO:
                return Go(to=places)
            case Act.MEET:
                return Meet(things=things)
            case Act.TELL:
                to = places[0].anchor if places else Spot.ME
                return Tell(topic=do.topic or Topic.ANSWER, things=things, to=to)
            case Act.FOLLOW:
                return Follow(things=things, to=places)
            case Act.GUIDE:
                return Guide(things=things, to=places)
            case _:
                at = self.phrase(do.things[0]) if do.things else None
                occasion = do.occasion or Occasion.TIDY
                return Prepare(occasion=occasion, people=do.people, at=at)

    def _phrases(self, phrases: Iterable[Phrase]) -> tuple[NounPhrase, ...]:
        return tuple(self.phrase(phrase) for phrase in phrases)

    def phrase(self, phrase: Phrase) -> NounPhrase:
        """One noun phrase, as a mention if it has a label already."""
        if isinstance(phrase, Either):
            return OneOf(one_of=tuple(self._noun(option) for option in phrase.options))
        if not isinstance(phrase, Noun):
            raise TypeError(f"expected a resolved phrase, got {phrase.word!r}")
        return self._noun(phrase)

    def _noun(self, noun: Noun) -> NounPhrase:
        if id(noun) in self._written:
            return Mention(label=self._written[id(noun)])
        where, holding, but = (
            self.places(noun.where),
            self._phrases(noun.holding),
            self._phrases(noun.but),
        )
        label = self._label(noun) if id(noun) in self._needed else None
        if label:
            self._written[id(noun)] = label
        amount = isinstance(noun.count, Amount)
        return Description(
            kind=noun.kind, count=noun.count, bound=noun.bound,
            definite=noun.definite and not amount,
            color=noun.color, material=noun.material, size=noun.size, pick=noun.pick,
            nth=noun.nth,
            states=_states(noun), where=where, holding=holding, but=but,
            other_than=tuple(
                self._written[id(n)] for n in noun.other_than if id(n) in self._written
            ),
            elsewhere=noun.elsewhere, each=noun.each and not amount, label=label,
            name=noun.name or None, wears=tuple(noun.wears),
        )  # fmt: skip

    def _label(self, noun: Noun) -> str:
        base = noun.kind.split()[-1].replace("-", "_")
        base = base if base.isidentifier() and base not in _SPOTS else "thing"
        label, number = base, 1
        while label in self._labels:
            number += 1
            label = f"{base}_{number}"
        self._labels.add(label)
        return label

    def places(self, wheres: Iterable[Where]) -> tuple[Place, ...]:
        """Places without those whose anchor is still to be found."""
        return tuple(
            Place(relation=where.relation, anchor=self._anchor(where.anchor))
            for where in wheres
            if where.anchor is not None
        )

    def _anchor(self, anchor: Phrase | PlaceWhere | Spot) -> Anchor:
        if isinstance(anchor, Spot):
            return anchor
        if isinstance(anchor, PlaceWhere):
            return PlaceOf(place_of=self.phrase(anchor.noun))
        return self.phrase(anchor)


def _states(noun: Noun) -> tuple[str, ...]:
    """The states of a description; "full of water" says "full" as well."""
    liquid = any(state.startswith("filled with ") for state in noun.states)
    return tuple(dict.fromkeys(s for s in noun.states if not (liquid and s == "filled")))


def _known(noun: Noun) -> bool:
    """Whether describing it again means the same things again."""
    return noun.definite or noun.count is Amount.ALL
