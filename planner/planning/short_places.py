"""Where a sentence wants its things: "the cup onto the desk in the bedroom"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from planner.planning.learned.tokens import NOUN, Token, split_tokens

# Before what a thing is put next to, which is itself left where it is.
_BESIDE = frozenset({"at", "by", "beside", "near", "next", "with"})


@dataclass(frozen=True, slots=True)
class Place:
    """Furniture that a noun means, in rooms that another means; either may be missing."""

    furniture: Token | None = None
    room: Token | None = None

    def fits(self, class_name: str, room: str) -> bool:
        """Whether furniture of a class in a room such as `kitchen_0` is meant."""
        is_kind = self.furniture is None or self.furniture.means(class_name)
        return is_kind and (self.room is None or self.room.means_room(room.rpartition("_")[0]))


@dataclass(slots=True)
class Errand:
    """Some things, and the places that are said between them and the next things."""

    things: list[Token] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)

    def add(self, noun: Token, lead: Sequence[str]) -> None:
        """Takes a place; `lead` are the words between it and the noun before."""
        last = self.places[-1] if self.places else None
        if last is not None and not lead and last.furniture is None and noun.furniture:
            # "The kitchen worktop".
            self.places[-1] = replace(last, furniture=noun)
        elif last is not None and lead[:1] in (["in"], ["of"]) and not noun.furniture:
            self.places[-1] = replace(last, room=noun)
        elif "from" not in lead:
            self.places.append(Place(noun) if noun.furniture else Place(room=noun))

    def wanted(self) -> list[Place]:
        """Its places; rooms alone only where no furniture is said."""
        return [place for place in self.places if place.furniture] or self.places


def errands_of(text: str) -> tuple[Errand, ...]:
    """The errands of a sentence, in their order."""
    found, lead = [Errand()], list[str]()
    for token in split_tokens(text):
        if not (token.word == NOUN and token.is_noun):
            lead.append(token.text)
            continue
        if token.objects and not _BESIDE & {*lead[-3:]}:
            if found[-1].places:
                found.append(Errand())
            found[-1].things.append(token)
        elif token.furniture or token.rooms:
            found[-1].add(token, lead)
        lead = []
    return tuple(found)
