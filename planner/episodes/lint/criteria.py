"""Finds errors in ET-Plan-Bench's criteria and in LLaMAR's checklists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.episodes.lint.goal import LintFinding, Rule
from planner.evaluation.criteria import choices, phrase, variables_of
from planner.evaluation.entity_checks import EntityFacts
from planner.evaluation.predicates import holds
from planner.evaluation.scene import Scene
from planner.evaluation.task import Evaluation, Predicate, Proposition
from planner.parts.calls import parse_call
from planner.world.catalogue import sliced_from
from planner.world.episode import ROBOT, Act, Checklist, Criteria, Subtask, Triple
from planner.world.skill import CallError, SkillName
from planner.world.state import WorldState
from planner.world.states import default_states
from planner.world.vocabulary import Affordance, EntityKind

_PLACEMENTS = ("ON", "INSIDE")
_Ground = tuple[str, str, str]


def criteria_at_start(criteria: Criteria, scene: Scene, state: WorldState) -> Iterator[LintFinding]:
    """Findings about criteria whose entities are all known.

    Args:
        criteria: an episode's.
        scene: the geometry of `state`.
        state: the start, which may lack the agents.
    """
    yield from _AtStart(criteria, scene, state).findings()


@dataclass(frozen=True, slots=True)
class _Broken:
    """A criterion that does not hold at the start and that nothing done changes."""

    field: str
    ground: _Ground


class _AtStart:
    def __init__(self, criteria: Criteria, scene: Scene, state: WorldState) -> None:
        self._criteria, self._scene, self._state = criteria, scene, state
        self._moved, self._targets = _moves(criteria)
        self._truth: dict[_Ground, bool] = {}

    def findings(self) -> Iterator[LintFinding]:
        names, best = variables_of(self._criteria), None
        for choice in choices(self._criteria):
            bound = dict(zip(names, choice, strict=True))
            broken = list(self._broken(bound))
            if not broken and self._is_done(bound):
                reason = "the things are where they are wanted already at the start"
                yield LintFinding(Rule.ALREADY_SATISFIED, "criteria.success", reason)
                return
            if best is None or len(broken) < len(best):
                best = broken
        if best:
            reason = f"{phrase(best[0].ground, 'is not')} at the start, and nothing changes that"
            yield LintFinding(Rule.CONTRADICTION, best[0].field, reason)

    def _broken(self, bound: Mapping[str, str]) -> Iterator[_Broken]:
        for name in ("intermediate", "success"):
            for i, triple in enumerate(getattr(self._criteria, name)):
                if ROBOT in triple:
                    continue
                ground = _ground(triple, bound)
                if not self._changes(ground) and not self._holds(ground):
                    yield _Broken(f"criteria.{name}.{i}", ground)

    def _changes(self, ground: _Ground) -> bool:
        """Whether carrying the plan out may change a relation; without a plan carrying anything."""
        relation, one, other = ground
        if not self._criteria.reference_calls:
            return self._is_thing(one) or self._is_thing(other)
        if relation == "CLOSE":
            return bool({one, other} & self._moved)
        return one in self._moved and (other in self._targets or other in self._rooms_of_targets())

    def _rooms_of_targets(self) -> set[str]:
        entities = self._state.entities
        rooms = {entities[name].room for name in self._targets if name in entities}
        return {room for room in rooms if room is not None} | {f"floor_{room}" for room in rooms}

    def _is_thing(self, name: str) -> bool:
        entity = self._state.entities.get(name)
        return entity is not None and entity.kind is EntityKind.OBJECT

    def _is_done(self, bound: Mapping[str, str]) -> bool:
        """Whether all that the plan places, wherever it goes, is there."""
        grounds = [
            ground
            for triple in self._criteria.success
            if triple[0] in _PLACEMENTS and ROBOT not in triple
            if (ground := _ground(triple, bound))[1] in self._moved
        ]
        return bool(grounds) and all(self._holds(ground) for ground in grounds)

    def _holds(self, ground: _Ground) -> bool:
        if ground not in self._truth:
            self._truth[ground] = holds(self._scene, self._state, *ground)
        return self._truth[ground]


def _ground(triple: Triple, bound: Mapping[str, str]) -> _Ground:
    relation, one, other = triple
    return relation, bound[one], bound[other]


def _moves(criteria: Criteria) -> tuple[set[str], set[str]]:
    """What the reference plan puts down, and where."""
    moved: set[str] = set()
    targets: set[str] = set()
    for text in criteria.reference_calls:
        try:
            call = parse_call(text)
        except CallError:
            continue
        if call.name == SkillName.PLACE:
            moved.add(call.arguments[0] or "")
            targets.add(call.arguments[2] or "")
    return moved, targets


# Findings about LLaMAR's checklist: entities that do not fit, and what it leaves out.

# The state that an act changes.
_STATE_OF: Mapping[Act, str] = {
    Act.CLEAN: "clean",
    Act.SLICE: "sliced",
    Act.TOGGLE_ON: "powered_on",
    Act.TOGGLE_OFF: "powered_on",
}
_PLACING = frozenset({Predicate.IS_ON_TOP, Predicate.IS_INSIDE})


def checklist_findings(
    checklist: Checklist, evaluation: Evaluation | None, facts: Mapping[str, EntityFacts]
) -> Iterator[LintFinding]:
    """All problems of an episode's checklist.

    Args:
        checklist: the episode's.
        evaluation: None: it has none, or a malformed one.
        facts: of every entity, by name.
    """
    items = checklist.items()
    for i, item in enumerate(items):
        for name in (*item.entities, *item.held):
            reason = _unfit(item, name, facts.get(name))
            if reason:
                rule = Rule.CHECKLIST if name in facts else Rule.UNKNOWN_ENTITY
                yield LintFinding(rule, f"checklist.subtasks.{i}", reason)
    acted = {name for item in items for name in item.entities}
    for i, group in enumerate(checklist.targets):
        for name in group:
            if name not in facts:
                reason = f"there is no entity {name!r}"
                yield LintFinding(Rule.UNKNOWN_ENTITY, f"checklist.targets.{i}", reason)
        if acted.isdisjoint(group):
            reason = f"no subtask is about {' or '.join(group)}"
            yield LintFinding(Rule.CHECKLIST, f"checklist.targets.{i}", reason)
    for i, proposition in enumerate(() if evaluation is None else evaluation.propositions):
        if not any(_serves(item, proposition) for item in items):
            reason = f"no subtask brings propositions.{i} about"
            yield LintFinding(Rule.CHECKLIST, "checklist.subtasks", reason)


def _unfit(item: Subtask, name: str, fact: EntityFacts | None) -> str:
    """Why an entity cannot have its part in a subtask; "" if it can."""
    if fact is None:
        return f"there is no entity {name!r}"
    if name in item.held:
        return "" if fact.kind is EntityKind.OBJECT else f"{name} cannot be held"
    if item.act is Act.PICK_UP and fact.kind is not EntityKind.OBJECT:
        return f"{name} cannot be picked up"
    if item.act is Act.PUT and fact.kind is EntityKind.ROOM:
        return f"{name} is a room, and nothing is put there"
    if item.act in (Act.OPEN, Act.CLOSE) and Affordance.OPENABLE not in fact.affordances:
        return f"{name} cannot be opened"
    state = _STATE_OF.get(item.act)
    if state is not None and default_states().affordance_of[state] not in fact.affordances:
        return f"{name} is not {default_states().affordance_of[state]}"
    return ""


def _serves(item: Subtask, proposition: Proposition) -> bool:
    """Whether a subtask can be what makes a proposition true."""
    names = {part for name in proposition.lists[0] for part in (name, sliced_from(name) or name)}
    if proposition.predicate in _PLACING:
        return (
            item.act is Act.PUT
            and not names.isdisjoint(item.held)
            and not set(proposition.lists[1]).isdisjoint(item.entities)
        )
    moves = proposition.predicate in set(Predicate)
    about = item.held if moves else item.entities
    return not names.isdisjoint(about) and item.act is not Act.NAVIGATE
