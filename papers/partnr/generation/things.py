"""What a proposed task draws at random: its things, where they start, and destinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from papers.partnr.generation.clauses import Clause, Clauses, Phrase
from planner.episodes.recipes.file import Place, Things
from planner.episodes.spots import (
    HouseSpots,
    Spot,
    count_word,
    covered,
    is_countable,
    names_of,
    with_article,
)
from planner.language.lexicon import plural_of
from planner.world.catalogue import LikelyPlace, ObjectClass, default_catalogue
from planner.world.house import House
from planner.world.vocabulary import Relation

_WITHIN_SHARE = 0.5
_SAID_SHARE = 0.35


class TaskType(StrEnum):
    """What a proposed task is made for; it may have properties of others as well (PARTNR-D5)."""

    REARRANGE = "rearrange"
    SPATIAL = "spatial"
    TEMPORAL = "temporal"
    HETEROGENEOUS = "heterogeneous"


@dataclass(frozen=True, slots=True)
class Amount:
    """How many things there are, and how many of them are meant; None: all."""

    existing: int
    meant: int | None


# How often which amount is asked for.
_AMOUNTS = (
    (Amount(1, None), 0.66),
    (Amount(2, None), 0.13),
    (Amount(3, None), 0.05),
    (Amount(2, 1), 0.1),
    (Amount(3, 1), 0.05),
    (Amount(3, 2), 0.01),
)
ONE = Amount(1, None)
PAIR = Amount(2, None)


class TaskThings:
    """Draws the things of one task; no class twice, and no name that means two of them."""

    def __init__(self, spots: HouseSpots, rng: np.random.Generator) -> None:
        self._spots = spots
        self._rng = rng
        self._used: set[str] = set()
        self.things: dict[str, Things] = {}
        self._classes = default_catalogue().objects

    def classes(self, affordance: str = "") -> list[ObjectClass]:
        """Those that are likely in this house and not yet used."""
        return [
            cls
            for cls in self._classes.values()
            if cls.name not in self._used
            and (not affordance or affordance in cls.affordances)
            and any(place.furniture in self._spots.classes for place in cls.places)
            and self._names(cls.name)
        ]

    def likely(self, cls: ObjectClass) -> list[LikelyPlace]:
        """Its likely places in this house."""
        return [place for place in cls.places if place.furniture in self._spots.classes]

    def phrase(
        self,
        cls: ObjectClass,
        avoid: Sequence[Spot],
        *,
        amount: Amount | None = None,
        states: Mapping[str, bool] | None = None,
        adjective: str = "",
        taking: bool = False,
        silent: bool = False,
    ) -> Phrase | None:
        """Adds things of a class to the task.

        Args:
            cls: their class.
            avoid: places where they must not start.
            amount: None: drawn.
            states: at the start.
            adjective: said before the name, such as "dirty".
            taking: whether a verb of taking may say where they start.
            silent: whether the words must not say where they start.

        Returns:
            None if they can start nowhere.
        """
        names = self._names(cls.name)
        start = self._start(cls, avoid)
        if not names or start is None:
            return None
        holder, relation, room, said = start
        said = "" if silent else said
        amount = amount or self._amount()
        if amount != ONE:
            names = [name for name in names if is_countable(name)]
        if not names:
            return None
        label = f"{cls.name.replace('-', '_')}s"
        self.things[label] = Things(
            class_name=cls.name,
            count=amount.existing,
            on_top=holder if relation is Relation.ON else None,
            inside=holder if relation is Relation.WITHIN else None,
            room=room,
            states=dict(states or {}),
        )
        self._used.add(cls.name)
        name = str(self._rng.choice(names))
        words = self._words(f"{adjective} {name}".strip(), amount)
        source = ""
        if said and taking and self._rng.random() < 0.5:
            source = said.partition(" ")[2]
        elif said:
            words = f"{words} {said}"
        several = (amount.meant or amount.existing) > 1
        again = "them" if several else "it"
        return Phrase((label,), words, again, several, amount.meant, source, amount.meant is None)

    def _amount(self) -> Amount:
        shares = np.array([share for _, share in _AMOUNTS])
        return _AMOUNTS[int(self._rng.choice(len(_AMOUNTS), p=shares / shares.sum()))][0]

    def _names(self, cls: str) -> list[str]:
        others = self._used | self._spots.classes
        taken = self._used | {cls}
        # Nor may a name that is used already mean this class.
        clash = any(
            cls in covered(name) for used in self._used for name in names_of(used, taken - {cls})
        )
        return [] if clash else list(names_of(cls, others))

    def _words(self, name: str, amount: Amount) -> str:
        many, n = plural_of(name), amount.existing
        if amount.meant is None:
            if n == 1:
                return f"the {name}"
            forms = [f"the {count_word(n)} {many}", f"all the {many}", f"the {many}"]
            forms.append(f"both {many}" if n == 2 else f"all {count_word(n)} {many}")
        elif amount.meant == 1:
            forms = [with_article(name), with_article(name), f"one of the {many}", f"one {name}"]
        else:
            said = count_word(amount.meant)
            forms = [f"{said} {many}", f"{said} of the {many}"]
        return forms[int(self._rng.integers(len(forms)))]

    def _start(
        self, cls: ObjectClass, avoid: Sequence[Spot]
    ) -> tuple[str, Relation, str | None, str] | None:
        """Furniture, relation, room, and the words for it ("" if they are not said)."""
        barred = {spot.place.furniture for spot in avoid if spot.place.furniture}
        rooms = {spot.place.room for spot in avoid if spot.place.furniture is None}
        options = [(p.furniture, p.relation) for p in self.likely(cls)]
        options += [(name, Relation.ON) for name in self._spots.usual]
        weights = [
            0.0 if name in barred else 1.0 if relation is Relation.ON else _WITHIN_SHARE
            for name, relation in options
        ]
        if not sum(weights):
            return None
        at = int(self._rng.choice(len(options), p=np.array(weights) / sum(weights)))
        holder, relation = options[at]
        known = [room for room in self._spots.rooms_with(holder) if room not in rooms]
        if rooms and not known:
            return None
        say = self._rng.random() < _SAID_SHARE
        room = str(self._rng.choice(known)) if known and (rooms or say) else None
        if not say:
            return holder, relation, room, ""
        piece = self._spots.furniture(holder, relation, one=True)
        if piece is not None and piece.place.room not in rooms and (not rooms or piece.place.room):
            said = f"{'on' if relation is Relation.ON else 'in'} {piece.words}"
            return holder, relation, piece.place.room, said
        if room is None:
            return holder, relation, None, ""
        return (
            holder,
            relation,
            room,
            f"{self._pick(('from', 'in'))} {self._spots.room_words(room)}",
        )

    def _pick(self, words: Sequence[str]) -> str:
        return words[int(self._rng.integers(len(words)))]


# What all proposals draw: classes, things, destinations and their labels in the recipe.

TRIES = 12


class NoProposalError(Exception):
    """The house has too little for what was drawn."""


class TaskDraw:
    """The parts of one task while it is drawn.

    Attributes:
        places: the recipe's.
    """

    def __init__(self, house: House, rng: np.random.Generator) -> None:
        self.rng = rng
        self.spots = HouseSpots(house, rng)
        self.things = TaskThings(self.spots, rng)
        self.clauses = Clauses(rng)
        self.places: dict[str, Place] = {}

    def any_class(self) -> ObjectClass:
        """A class that the task does not have yet."""
        pool = self.things.classes()
        if not pool:
            raise NoProposalError
        return pool[int(self.rng.integers(len(pool)))]

    def phrases(
        self, classes: Sequence[ObjectClass], avoid: Sequence[Spot], amount: Amount | None = None
    ) -> list[Phrase]:
        """Things of these classes that start elsewhere than at `avoid`."""
        alone = len(classes) == 1
        # In a list, "from the kitchen" could be said of all before it.
        found = [
            self.things.phrase(cls, avoid, amount=amount, taking=alone, silent=not alone)
            for cls in classes
        ]
        if None in found:
            raise NoProposalError
        return [phrase for phrase in found if phrase is not None]

    def destination(self, cls: ObjectClass, relation: Relation | None = None) -> Spot:
        """A likely place of a class, any other furniture, or a room."""
        for _ in range(TRIES):
            draw = self.rng.random()
            if relation is None and draw < 0.15:
                spot = self.spots.room()
            elif draw < 0.75:
                likely = [p for p in self.things.likely(cls) if relation in (None, p.relation)]
                if not likely:
                    continue
                place = likely[int(self.rng.integers(len(likely)))]
                spot = self.spots.furniture(place.furniture, Relation(place.relation))
            else:
                spot = self.spots.furniture(self.pick(self.spots.usual), Relation.ON)
            if spot is not None:
                return spot
        raise NoProposalError

    def single(self) -> Spot:
        """A single piece of furniture on which people put anything."""
        for _ in range(TRIES):
            spot = self.spots.furniture(self.pick(self.spots.usual), Relation.ON, one=True)
            if spot is not None:
                return spot
        raise NoProposalError

    def label(self, spot: Spot) -> str:
        """The recipe's label of a spot."""
        for label, place in self.places.items():
            if place == spot.place:
                return label
        label = f"place_{len(self.places)}"
        self.places[label] = spot.place
        return label

    def maybe(self, share: float, maker: Callable[[], Clause]) -> list[Clause]:
        """One more clause, in a share of the cases."""
        return [maker()] if self.chance(share) else []

    def pick_maker(self, makers: Sequence[Callable[[], Clause]]) -> Callable[[], Clause]:
        """One of several kinds of clauses."""
        return makers[int(self.rng.integers(len(makers)))]

    def chance(self, share: float) -> bool:
        """True in a share of the cases."""
        return bool(self.rng.random() < share)

    def pick(self, words: Sequence[str]) -> str:
        """One of several words."""
        return words[int(self.rng.integers(len(words)))]
