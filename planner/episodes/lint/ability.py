"""Whether a goal can be satisfied: by its agents, within their reach, and next to each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.episodes.lint.goal import LintFinding, Rule
from planner.evaluation.predicates import ON_FLOOR_M
from planner.evaluation.task import (
    DependencyMode,
    Evaluation,
    GateRelation,
    PersonPredicate,
    Predicate,
    Proposition,
    asked_open,
    is_about_person,
)
from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue, slice_names, sliced_from
from planner.world.episode import Episode
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.primitive import PrimitiveName
from planner.world.receptacle import base_placement, known_shape
from planner.world.state import EntityState, chain_of
from planner.world.states import (
    Condition,
    StateSkill,
    default_state_skills,
    default_states,
    skills_that_make,
)
from planner.world.vocabulary import EntityKind, floor_name, is_open

# Goals that need furniture that no agent can reach.
#
# Our own houses with such furniture are refused (`planner houses check`). Scenes of other data sets
# are accepted, and only goals that need the furniture are refused.


def out_of_reach(
    evaluation: Evaluation, entities: Mapping[str, EntityState], unreachable: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Field and reason of each proposition that needs unreachable furniture.

    Args:
        evaluation: a valid one.
        entities: all of them, at the start.
        unreachable: by the furniture's name, why no agent can reach it.
    """
    for i, proposition in enumerate(evaluation.propositions):
        if proposition.predicate is Predicate.IS_CLUSTERED:
            continue
        whys = [_why_not(proposition, name, entities, unreachable) for name in proposition.lists[0]]
        reasons = [why for why in whys if why]
        if len(whys) - len(reasons) < proposition.number:
            yield f"propositions.{i}", reasons[0]


def _why_not(
    proposition: Proposition,
    name: str,
    entities: Mapping[str, EntityState],
    unreachable: Mapping[str, str],
) -> str:
    """Why an entity of the first list cannot count; "" if it can, or already does."""
    entity = entities.get(name)
    if entity is None:
        return ""
    around = entity.parent or ""
    for thing in chain_of(entities, name):
        around = thing.parent or ""
    if proposition.predicate in default_states().predicates:
        state, value = default_states().predicates[proposition.predicate]
        if (entity.states or {}).get(state) is value:
            return ""
        return unreachable.get(name) or unreachable.get(around, "")
    opens = asked_open(proposition.predicate)
    if opens is not None:
        return "" if is_open(entity.openness) is opens else unreachable.get(name, "")
    places = proposition.lists[1] if len(proposition.lists) > 1 else ()
    if proposition.predicate is Predicate.IS_NEXT_TO or entity.parent in places:
        return ""
    if places and all(place in unreachable for place in places):
        return unreachable[places[0]]
    return unreachable.get(around, "")


# Whether things that must be next to each other can be, given where else they must be.
#
# Things stand upright on surfaces and in interiors of furniture, as agents place them.

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
        self, propositions: Sequence[Proposition], house: House, entities: Mapping[str, EntityState]
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


_TOLERANCE_M = 0.001


def unsolvable(
    evaluation: Evaluation,
    at_start: Sequence[Mapping[str, frozenset[str]]],
    episode: Episode,
    house: House,
    entities: Mapping[str, EntityState],
) -> Iterator[LintFinding]:
    """Propositions that no agent there can satisfy.

    Args:
        evaluation: a valid one.
        at_start: for each proposition and each entity of its first list, those of the second list
            with which it is true at the start; empty for clusters.
        episode: for its agents.
        house: the episode's.
        entities: `start_entities`.
    """
    abilities = _Abilities(episode, house, entities)
    for i, proposition in enumerate(evaluation.propositions):
        reason = abilities.lacking(proposition, at_start[i])
        if reason:
            yield LintFinding(Rule.UNSOLVABLE, f"propositions.{i}", reason)


class _Abilities:
    """The agents, and what they can do in this house."""

    def __init__(self, episode: Episode, house: House, entities: Mapping[str, EntityState]) -> None:
        bodies = default_bodies()
        self._can = {p for agent in episode.agents for p in bodies[agent.kind].primitives}
        self._house, self._at_start = house, frozenset(entities)
        self._entities = dict(entities)
        self._objects = {item.name: item for item in episode.objects}
        for item in episode.objects:
            self._add_slices(item)
        self._floors = {floor_name(room.name) for room in house.rooms}

    def _add_slices(self, item: ObjectPlacement) -> None:
        """Adds what a thing can become, as if it already were at its place."""
        cls = default_catalogue().objects.get(item.class_name)
        if cls is None or cls.slices is None or item.name not in self._entities:
            return
        slices = default_catalogue().objects[cls.slices.class_name]
        for name in slice_names(item.name, cls.slices):
            made = {"name": name, "class_name": slices.name, "size_m": slices.size_m}
            self._objects.setdefault(name, item.model_copy(update=made))
            entity = self._entities[item.name]
            can = tuple(slices.affordances)
            self._entities.setdefault(
                name,
                replace(
                    entity,
                    name=name,
                    class_name=slices.name,
                    size_m=slices.size_m,
                    affordances=can,
                    states=default_states().initial(can, slices.states),
                ),
            )

    def lacking(self, proposition: Proposition, at_start: Mapping[str, frozenset[str]]) -> str:
        """Why too few of the first list can satisfy a proposition; "" if enough can."""
        if proposition.predicate is Predicate.IS_CLUSTERED:
            return ""
        reasons = []
        for name in proposition.lists[0]:
            if at_start.get(name):
                continue
            reason = self._why_not(proposition, name)
            if reason:
                reasons.append(reason)
        possible = len(proposition.lists[0]) - len(reasons)
        return reasons[0] if possible < proposition.number else ""

    def _why_not(self, proposition: Proposition, name: str) -> str:
        whole = sliced_from(name)
        if name not in self._at_start and whole is not None and not self._can_be_sliced(whole):
            return f"no agent can slice {whole}"
        if proposition.predicate in default_states().predicates:
            return self._cannot_become(name, *default_states().predicates[proposition.predicate])
        if is_about_person(proposition.predicate):
            gives = proposition.predicate == PersonPredicate.IS_HANDED_OVER
            ability = PrimitiveName.HAND_OVER if gives else PrimitiveName.TALK
            return "" if ability in self._can else f"no agent can {ability.replace('_', ' ')}"
        opens = asked_open(proposition.predicate)
        if opens is not None:
            needed = PrimitiveName.OPEN if opens else PrimitiveName.CLOSE
            return "" if needed in self._can else f"no agent can {needed} {name}"
        if proposition.predicate is Predicate.IS_NEXT_TO:
            if self._is_movable(name) or any(map(self._is_movable, proposition.lists[1])):
                return self._cannot_carry()
            return f"neither {name} nor what it should be next to can be moved"
        if not self._is_movable(name):
            return f"{name} cannot be moved"
        lacking = self._cannot_carry() or self._cannot_fetch(name)
        if lacking or proposition.predicate in (Predicate.IS_ON_FLOOR, Predicate.IS_IN_ROOM):
            return lacking
        whys = [self._no_room(proposition.predicate, name, b) for b in proposition.lists[1]]
        return "" if "" in whys else whys[0]

    def _is_movable(self, name: str) -> bool:
        entity = self._entities.get(name)
        return entity is not None and entity.kind is EntityKind.OBJECT

    def _cannot_carry(self) -> str:
        if {PrimitiveName.PICK, PrimitiveName.PLACE} <= self._can:
            return ""
        return "no agent can pick things up and put them down"

    def _cannot_fetch(self, name: str) -> str:
        item = self._objects.get(name)
        item = base_placement(tuple(self._objects.values()), item) if item is not None else None
        piece = self._house.furniture_by_name.get(item.parent) if item is not None else None
        if item is None or piece is None or PrimitiveName.OPEN in self._can:
            return ""
        shut = any(h.name == item.part and h.joint is not None for h in piece.interiors)
        return f"no agent can open {piece.name}, where {name} is" if shut else ""

    def _cannot_become(self, name: str, state: str, value: bool) -> str:
        if self._can_become(name, state, value, ()):
            return ""
        return f"no agent can make {name} {'' if value else 'not '}{state.replace('_', ' ')}"

    def _can_become(self, name: str, state: str, value: bool, within: tuple[str, ...]) -> bool:
        """Whether a skill can change a state; `within` are the states it would be needed for."""
        return state not in within and any(
            self._can_be_done(skill, name, state, value, (*within, state))
            for skill in skills_that_make(state, value=value)
        )

    def _can_be_sliced(self, whole: str) -> bool:
        return any(
            skill.divides and self._can_be_done(skill, whole, state, value, (state,))
            for skill in default_state_skills().values()
            for state, value in skill.sets.items()
        )

    def _can_be_done(
        self, skill: StateSkill, name: str, state: str, value: bool, within: tuple[str, ...]
    ) -> bool:
        """Whether an agent has the skill, and what it needs exists."""
        if skill.primitive not in self._can:
            return False
        needs, others = skill.needs, [e for n, e in self._entities.items() if n != name]
        if skill.sets.get(state) is not value:
            # What is poured from is empty afterwards (PARTNR-D37).
            given = default_states().affordance_of[next(iter(skill.sets))]
            into = [e for e in others if e.kind is EntityKind.OBJECT and given in e.affordances]
            return bool(into) and self._is_movable(name)
        things = [e for e in others if e.kind is EntityKind.OBJECT]
        hand = (needs.hand,) if needs.hand is not None else ()
        return all(
            any(self._can_serve(e, need, within) for e in group)
            for need, group in (
                *((need, others) for need in (*needs.near, *needs.at)),
                *((need, things) for need in hand),
            )
        )

    def _can_serve(self, entity: EntityState, need: Condition, within: tuple[str, ...]) -> bool:
        """Whether something is what a skill needs, or can become so."""
        if not need.is_kind(entity.class_name, entity.affordances):
            return False
        states, affordance_of = entity.states or {}, default_states().affordance_of
        return all(
            states.get(state, False) is value
            or (
                affordance_of[state] in entity.affordances
                and self._can_become(entity.name, state, value, within)
            )
            for state, value in need.states.items()
        )

    def _no_room(self, predicate: str, name: str, place: str) -> str:
        """Why a thing does not fit on or in a place, even alone; "" if it does."""
        # A graph has no sizes that count.
        if place in self._floors or self._house.graph is not None:
            return ""
        item = self._objects[name]
        piece = self._house.furniture_by_name.get(place)
        if piece is None:
            return self._no_room_at_thing(predicate, item, place)
        if predicate is Predicate.IS_INSIDE:
            if any(_fits(item, h.size[:2], h.size[2]) for h in piece.interiors):
                return ""
            return f"{name} is too large for the inside of {place}"
        if any(_fits(item, s.size, s.clearance) for s in piece.surfaces):
            return ""
        what = "is too large for the top of" if piece.surfaces else "finds no surface on"
        return f"{name} {what} {place}"

    def _no_room_at_thing(self, predicate: str, item: ObjectPlacement, place: str) -> str:
        holder = self._objects.get(place)
        shape = known_shape(holder.class_name, holder.size_m) if holder is not None else None
        if shape is None or not shape.rests_m:
            return f"agents put things on furniture, and {place} is not furniture"
        if predicate is Predicate.IS_INSIDE and shape.hollow is not None:
            if _fits(item, shape.hollow.size[:2], math.inf):
                return ""
            return f"{item.name} is too large for the inside of {place}"
        # What is in a thing's hollow is on it, too (PARTNR-D10).
        part = shape.top or shape.hollow
        if part is not None and _fits(item, part.size[:2], math.inf):
            return ""
        return f"{item.name} is too large for the top of {place}"


def _fits(item: ObjectPlacement, size_m: Sequence[float], height_m: float) -> bool:
    """Whether a thing fits on a rectangle, in either of two orientations."""
    x, y, z = _with_slack(item.size_m)
    depth, width = size_m
    turned = (x <= depth and y <= width) or (y <= depth and x <= width)
    return turned and z <= height_m


def _with_slack(size_m: Vec3) -> Vec3:
    x, y, z = size_m
    return (x - _TOLERANCE_M, y - _TOLERANCE_M, z - _TOLERANCE_M)
