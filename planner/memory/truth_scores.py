"""What is true of a house's movable things, and how a memory scores against it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planner.memory.scores import DEFAULT_DISTANCE_M, Placed, Variants, variants
from planner.world.entity import Entity
from planner.world.openness import is_open
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, Relation


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
