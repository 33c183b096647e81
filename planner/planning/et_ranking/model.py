"""Where something probably is, by the learned ranking: rooms for targets, furniture in a room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.planning.et_ranking.network import (
    WIDTH,
    Array,
    Hold,
    Weights,
    embed_names,
    log_softmax,
    meet,
    one_hot,
    tower,
)
from planner.planning.et_ranking.words import Noun, holding_of
from planner.world.blas_threads import single_blas_thread

# How likely something lying in the open was overlooked from the room's middle.
OVERLOOKED = 0.1
_LEAST = 1e-4


@dataclass(frozen=True, slots=True)
class LikelyPlace:
    """A piece of furniture by its index, with the probability that what is sought is there."""

    index: int
    probability: float


class RankingModel:
    """The network with its weights; every method is a pure function of its arguments."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    @property
    def weights(self) -> Weights:
        """By the names of `network.shapes`."""
        return self._weights

    @single_blas_thread
    def room_probabilities(
        self,
        targets: Sequence[str],
        rooms: Sequence[str],
        furniture: Sequence[Sequence[str]] = (),
    ) -> Array:
        """(rooms,) probability that a room holds all targets; sums to 1.

        Args:
            targets: names or words of what is sought; at least one.
            rooms: names or words of rooms, such as `bedroom_1`.
            furniture: classes of furniture known in each room; empty = none known.
        """
        if not rooms:
            return np.zeros(0, np.float32)
        known = furniture or [()] * len(rooms)
        inputs = {
            "noun": embed_names(self._weights, rooms, Noun.ROOM),
            "furniture": self._means(known),
        }
        each = tower(self._weights, "room", inputs)
        logs = log_softmax(meet(self._weights, "room", self._targets(targets), each))
        made: Array = np.exp(log_softmax(logs.sum(axis=0)))
        return made

    @single_blas_thread
    def likely_places(
        self,
        targets: Sequence[str],
        room: str,
        furniture: Sequence[str],
        *,
        overlooked: float = OVERLOOKED,
    ) -> tuple[tuple[LikelyPlace, ...], float]:
        """Pieces of a room, likeliest first, for targets that were not seen from its middle.

        Args:
            targets: names or words of what is sought; at least one.
            room: name or words of the room.
            furniture: names or words of its pieces.
            overlooked: probability that a thing in the open is not seen from the middle.

        Returns:
            The pieces, and the probability that the targets are not in this room.
        """
        spots = [(at, hold) for at, name in enumerate(furniture) for hold in _holds(name)]
        if not spots:
            return (), 1.0
        nouns = embed_names(self._weights, furniture, Noun.FURNITURE)
        here = embed_names(self._weights, [room], Noun.ROOM)
        inputs = {
            "noun": nouns[[at for at, _ in spots]],
            "room": np.repeat(here, len(spots), axis=0),
            "hold": one_hot([hold for _, hold in spots]),
        }
        sought = self._targets(targets)
        there = meet(self._weights, "place", sought, tower(self._weights, "place", inputs))
        nowhere = tower(
            self._weights, "absent", {"room": here, "furniture": self._means([list(furniture)])}
        )
        missing = meet(self._weights, "absent", sought, nowhere) + self._weights["absent.level"]
        unseen = [1.0 if hold is Hold.CLOSED else overlooked for _, hold in spots]
        logits = np.concatenate([there + np.log(np.array(unseen, np.float32)), missing], axis=1)
        # (targets, spots + 1) given that it was not seen.
        each = np.exp(log_softmax(logits))
        pieces = np.zeros((len(targets), len(furniture)), np.float64)
        for column, (at, _) in enumerate(spots):
            pieces[:, at] += each[:, column]
        together = np.exp(np.log(np.maximum(pieces, _LEAST)).mean(axis=0))
        # Stable, so that equal pieces keep the given order.
        order = np.argsort(-together, kind="stable")
        absent = 1.0 - float(np.prod(1.0 - each[:, -1]))
        return tuple(LikelyPlace(int(at), float(together[at])) for at in order), absent

    def _targets(self, targets: Sequence[str]) -> Array:
        nouns = embed_names(self._weights, targets, Noun.TARGET)
        return tower(self._weights, "target", {"noun": nouns})

    def _means(self, groups: Sequence[Sequence[str]]) -> Array:
        made = np.zeros((len(groups), WIDTH), np.float32)
        for row, group in zip(made, groups, strict=True):
            if group:
                row += embed_names(self._weights, list(group), Noun.FURNITURE).mean(axis=0)
        return made


@lru_cache(maxsize=1024)
def _holds(name: str) -> tuple[Hold, ...]:
    """How a piece holds things; in every way if the catalogue does not know it."""
    known = holding_of(name)
    if known is None:
        return (Hold.ON, Hold.CLOSED)
    names = {"on": Hold.ON, "open": Hold.OPEN, "closed": Hold.CLOSED}
    return tuple(names[word] for word in known)
