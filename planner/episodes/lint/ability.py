"""Whether the agents of an episode are able to satisfy its goal.

Propositions that are true at the start need nobody. For the others some agent must have the
primitive (config/agents.yaml), the object must be movable, and must fit the place on its own. This
does not prove that the task can be done; `--solve` does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from planner.episodes.lint.rules import LintFinding, Rule
from planner.evaluation.task import Evaluation, Predicate, Proposition, asked_open
from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue, slice_names, sliced_from
from planner.world.episode import Episode
from planner.world.geometry import Vec3
from planner.world.house import House, ObjectPlacement
from planner.world.primitive import PrimitiveName
from planner.world.receptacle import base_placement, known_shape
from planner.world.state import EntityState
from planner.world.state_skills import Condition, StateSkill, default_state_skills, skills_that_make
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, floor_name

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
