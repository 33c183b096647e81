"""The records of the form from what was read; things that are mentioned again get labels."""

from __future__ import annotations

from collections.abc import Iterable

from planner.language.description import (
    Anchor,
    Description,
    Mention,
    NounPhrase,
    OneOf,
    Place,
    PlaceOf,
)
from planner.language.drafts import Act, Do, Either, Noun, Phrase, PlaceWhere, Where
from planner.language.goal_form import (
    Find,
    Go,
    Goal,
    Leave,
    Make,
    Move,
    Never,
    Prepare,
    Request,
)
from planner.language.words import Amount, Occasion, Spot

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
        return self._act(do).model_copy(update=shared)

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
            case Act.GO:
                return Go(to=places)
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
            states=_states(noun), where=where, holding=holding, but=but,
            other_than=tuple(
                self._written[id(n)] for n in noun.other_than if id(n) in self._written
            ),
            elsewhere=noun.elsewhere, each=noun.each and not amount, label=label,
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
