"""How well a memory matches the truth of a house: precision, recall and what goes with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from planner.world.belief import Entity
from planner.world.geometry import Vec3
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, Relation, is_open

DEFAULT_DISTANCE_M = 0.5


@dataclass(frozen=True, slots=True)
class Placed:
    """A movable thing at a place, as it is or as it is remembered."""

    name: str
    class_name: str
    position_m: Vec3


@dataclass(frozen=True, slots=True)
class Match:
    """A remembered thing, the true one it stands for, and how far apart they are."""

    remembered: str
    true: str
    distance_m: float


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of one comparison; rates are None where there is nothing to divide by.

    Attributes:
        matches: pairs that fit.
        remembered: how many things the memory has.
        true: how many there are.
    """

    matches: tuple[Match, ...]
    remembered: int
    true: int

    @property
    def precision(self) -> float | None:
        """Share of what is remembered that fits something true."""
        return len(self.matches) / self.remembered if self.remembered else None

    @property
    def recall(self) -> float | None:
        """Share of what is true that is remembered."""
        return len(self.matches) / self.true if self.true else None

    @property
    def hallucinations(self) -> int:
        """Remembered things that fit nothing."""
        return self.remembered - len(self.matches)

    @property
    def error_m(self) -> float | None:
        """Mean distance of the pairs."""
        return float(np.mean([m.distance_m for m in self.matches])) if self.matches else None


@dataclass(frozen=True, slots=True)
class Variants:
    """The paper's three ways to score, and hallucinations with classes ignored.

    Attributes:
        full: class and place must fit.
        any_class: class names are ignored.
        any_place: the distance is not limited.
    """

    full: Score
    any_class: Score
    any_place: Score

    @property
    def hallucinations(self) -> int:
        """Remembered things near no true one, whatever their class (EPM-5)."""
        return self.any_class.hallucinations


def variants(
    remembered: Sequence[Placed], true: Sequence[Placed], distance_m: float = DEFAULT_DISTANCE_M
) -> Variants:
    """Scores a memory in all three ways."""
    return Variants(
        full=score(remembered, true, distance_m),
        any_class=score(remembered, true, distance_m, classes=False),
        any_place=score(remembered, true, math.inf),
    )


def score(
    remembered: Sequence[Placed],
    true: Sequence[Placed],
    distance_m: float = DEFAULT_DISTANCE_M,
    *,
    classes: bool = True,
) -> Score:
    """Pairs as many things as possible, and among those ways the one of least distance.

    Args:
        remembered: the memory's things.
        true: the world's.
        distance_m: farthest distance of a pair, this included; may be infinite.
        classes: whether a pair must have the same class.
    """
    if not remembered or not true:
        return Score((), len(remembered), len(true))
    ours = np.array([p.position_m for p in remembered], float)
    theirs = np.array([p.position_m for p in true], float)
    away = np.linalg.norm(ours[:, None] - theirs[None], axis=2)
    fits = away <= distance_m
    if classes:
        names = np.array([p.class_name for p in remembered])
        fits &= names[:, None] == np.array([p.class_name for p in true])[None]
    # A pair that does not fit costs more than all that fit together: most pairs come first.
    forbidden = float(away[fits].max(initial=1.0)) * (min(away.shape) + 1)
    rows, columns = linear_sum_assignment(np.where(fits, away, forbidden))
    matches = tuple(
        Match(remembered[i].name, true[j].name, float(away[i, j]))
        for i, j in zip(rows.tolist(), columns.tolist(), strict=True)
        if fits[i, j]
    )
    return Score(matches, len(remembered), len(true))


# What is true of a house's movable things, and how a memory scores against it.


@dataclass(frozen=True, slots=True)
class TrueThings:
    """The movable things of a world in one state.

    Attributes:
        everything: all of them.
        open: those that are not in closed furniture.
        parents: by name, what each is on, in or held by.
    """

    everything: tuple[Placed, ...]
    open: tuple[Placed, ...]
    parents: Mapping[str, str | None]


def true_things(state: WorldState) -> TrueThings:
    """The movable things of a state but for those in hands, which lie nowhere."""
    everything, unshut, parents = [], [], {}
    for entity in state.entities.values():
        if entity.kind is not EntityKind.OBJECT or entity.relation is Relation.HELD:
            continue
        placed = Placed(entity.name, entity.class_name, entity.box.center_m)
        everything.append(placed)
        parents[entity.name] = entity.parent
        parent = state.entities.get(entity.parent or "")
        shut = (
            entity.relation is Relation.WITHIN
            and parent is not None
            and is_open(parent.openness) is False
        )
        if not shut:
            unshut.append(placed)
    return TrueThings(tuple(everything), tuple(unshut), parents)


def placed_things(entities: Iterable[Entity]) -> list[Placed]:
    """What a memory has of movable things that lie somewhere."""
    return [
        Placed(e.name, e.class_name, e.position_m)
        for e in entities
        if not e.is_furniture and not e.picked
    ]


@dataclass(frozen=True, slots=True)
class TruthScore:
    """How a memory stands against the truth; rates are None where there is nothing to divide by.

    Attributes:
        everything: against all things.
        open: against those that are not in closed furniture, of which recall is asked.
    """

    everything: Variants
    open: Variants

    @property
    def precision(self) -> float | None:
        """Share of remembered things of which there is one of the class near the place."""
        return self.everything.full.precision

    @property
    def recall(self) -> float | None:
        """Share of the things that lie open which are remembered."""
        return self.open.full.recall

    @property
    def hallucinations(self) -> int:
        """Remembered things near no true one."""
        return self.everything.hallucinations


def score_truth(
    entities: Iterable[Entity], truth: TrueThings, distance_m: float = DEFAULT_DISTANCE_M
) -> TruthScore:
    """Scores a memory.

    Args:
        entities: what is remembered.
        truth: at the same time.
        distance_m: farthest distance of a match.
    """
    ours = placed_things(entities)
    return TruthScore(
        variants(ours, truth.everything, distance_m), variants(ours, truth.open, distance_m)
    )
