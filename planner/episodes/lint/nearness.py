"""Whether things that must be next to each other can be, given where else they must be.

Things stand upright on surfaces and in interiors of furniture, as agents place them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from planner.episodes.lint.rules import LintFinding, Rule
from planner.evaluation.predicates import ON_FLOOR_M
from planner.evaluation.task import (
    DependencyMode,
    Evaluation,
    GateRelation,
    Predicate,
    Proposition,
)
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind

_ANYWHERE = (-math.inf, math.inf)
_FLOOR_PREFIX = "floor_"


@dataclass(frozen=True, slots=True)
class _Region:
    """The extent of all places where a thing may be, along each axis of the map, metres."""

    x: tuple[float, float] = _ANYWHERE
    y: tuple[float, float] = _ANYWHERE
    z: tuple[float, float] = _ANYWHERE

    def may_be_next_to(self, other: _Region, threshold_m: float) -> bool:
        """Whether boxes in the two regions can overlap in height and be this near (PARTNR-D8)."""
        gap_m = math.hypot(_gap(self.x, other.x), _gap(self.y, other.y))
        return _gap(self.z, other.z) == 0 and gap_m <= threshold_m


def _gap(one: tuple[float, float], other: tuple[float, float]) -> float:
    return max(0.0, one[0] - other[1], other[0] - one[1])


def impossible_neighbours(
    evaluation: Evaluation, house: House, entities: Mapping[str, EntityState]
) -> Iterator[LintFinding]:
    """Nearness propositions ruled out by others that must hold at the same time.

    Args:
        evaluation: a valid one.
        house: the episode's.
        entities: all of them, at the start.
    """
    reported: set[int] = set()
    for group in _simultaneous(evaluation):
        where = _Places([evaluation.propositions[i] for i in group], house, entities)
        for j in group:
            proposition = evaluation.propositions[j]
            reason = where.conflict(proposition)
            if reason and j not in reported:
                reported.add(j)
                yield LintFinding(Rule.CONTRADICTION, f"propositions.{j}", reason)


def _simultaneous(evaluation: Evaluation) -> Iterator[list[int]]:
    """Propositions that must hold together: at the end, or when a gated one comes true."""
    yield sorted(evaluation.terminal)
    for dependency in evaluation.dependencies:
        if dependency.relation is not GateRelation.WHILE_SATISFIED:
            continue
        if dependency.mode is DependencyMode.ALL or len(dependency.depends_on) == 1:
            for gated in dependency.gated:
                yield sorted({gated, *dependency.depends_on})


class _Places:
    """Where each entity may be while all of some propositions hold."""

    def __init__(
        self,
        propositions: Sequence[Proposition],
        house: House,
        entities: Mapping[str, EntityState],
    ) -> None:
        self._house, self._entities = house, entities
        self._placing: dict[str, list[Proposition]] = {}
        for proposition in propositions:
            # If fewer are required than listed, no single one of them must be there.
            if proposition.number == len(proposition.lists[0]):
                for name in proposition.lists[0]:
                    self._placing.setdefault(name, []).append(proposition)

    def conflict(self, proposition: Proposition) -> str:
        """Why a nearness proposition cannot hold; "" if it can, and for other predicates."""
        near_m = proposition.threshold_m
        if proposition.predicate is Predicate.IS_NEXT_TO:
            ones, others = proposition.lists
            able = [a for a in ones if any(self._near(a, b, near_m) for b in others)]
            apart = [name for name in ones if name not in able]
            if len(able) < proposition.number:
                where = f"{' or '.join(apart)} cannot be next to {' or '.join(others)}"
                return f"{where} where the other propositions want them"
        if proposition.predicate is Predicate.IS_CLUSTERED:
            for k, names in enumerate(proposition.lists):
                rest = [n for i, list_ in enumerate(proposition.lists) if i != k for n in list_]
                pairs = itertools.product(names, rest)
                if not any(self._near(a, b, near_m) for a, b in pairs):
                    where = f"{' or '.join(names)} cannot be near any other of the cluster"
                    return f"{where} where the other propositions want them"
        return ""

    def _near(self, a: str, b: str, threshold_m: float) -> bool:
        """Whether no two propositions keep these apart."""
        return a != b and all(
            any(one.may_be_next_to(other, threshold_m) for one in ones for other in others)
            for ones, others in itertools.product(self._regions(a), self._regions(b))
        )

    def _regions(self, name: str) -> list[list[_Region]]:
        """For each proposition about an entity, the regions, one of which it must be in."""
        entity = self._entities.get(name)
        piece = self._house.furniture_by_name.get(name)
        if piece is not None:
            (x0, y0, z0), (x1, y1, z1) = piece.box.minimum_m, piece.box.maximum_m
            return [[_Region((x0, x1), (y0, y1), (z0, z1))]]
        if entity is None or entity.kind is not EntityKind.OBJECT:
            return [[_Region()]]
        found = [self._allowed(p, entity.size_m) for p in self._placing.get(name, ())]
        return found or [[_Region()]]

    def _allowed(self, proposition: Proposition, size_m: Vec3) -> list[_Region]:
        predicate = proposition.predicate
        if predicate is Predicate.IS_ON_FLOOR:
            return [_Region(z=(-ON_FLOOR_M, ON_FLOOR_M + size_m[2]))]
        if predicate not in (Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM):
            return [_Region()]
        return [self._at(predicate, place, size_m) for place in proposition.lists[1]]

    def _at(self, predicate: str, place: str, size_m: Vec3) -> _Region:
        width_m, height_m = math.hypot(size_m[0], size_m[1]), size_m[2]
        piece = self._house.furniture_by_name.get(place)
        if piece is not None:
            return _of_piece(piece, predicate, width_m, height_m)
        room = self._house.rooms_by_name.get(place.removeprefix(_FLOOR_PREFIX))
        if room is None:
            return _Region()
        xs, ys = zip(*room.polygon_m, strict=True)
        z = (-ON_FLOOR_M, ON_FLOOR_M + height_m) if place != room.name else _ANYWHERE
        return _Region(
            (min(xs) - width_m, max(xs) + width_m), (min(ys) - width_m, max(ys) + width_m), z
        )


def _of_piece(piece: Furniture, predicate: str, width_m: float, height_m: float) -> _Region:
    """The space that a thing of this width and height may occupy on or in furniture."""
    # A drawer may be open, together with its contents; and what is inside is also on a board.
    slides = (abs(joint.travel) for joint in piece.joints if joint.kind == "slide")
    slack_m = width_m + max(slides, default=0.0)
    bottoms = [hollow.center[2] - hollow.size[2] / 2 for hollow in piece.interiors]
    if predicate is Predicate.IS_ON_TOP:
        bottoms += [surface.center[2] for surface in piece.surfaces]
    z = (min(bottoms), max(bottoms) + height_m) if bottoms else _ANYWHERE
    (x0, y0, _), (x1, y1, _) = piece.box.minimum_m, piece.box.maximum_m
    return _Region((x0 - slack_m, x1 + slack_m), (y0 - slack_m, y1 + slack_m), z)
