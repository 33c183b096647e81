"""What all proposals draw: classes, things, destinations and their labels in the recipe."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from planner.episodes.generation.clauses import Clause, Clauses, Phrase
from planner.episodes.generation.spots import HouseSpots, Spot
from planner.episodes.generation.things import Amount, TaskThings
from planner.episodes.recipes.file import Place
from planner.world.catalogue import ObjectClass
from planner.world.house import House
from planner.world.vocabulary import Relation

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
