"""Findings about LLaMAR's checklist: entities that do not fit, and what it leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.episodes.lint.rules import LintFinding, Rule
from planner.evaluation.entity_checks import EntityFacts
from planner.evaluation.task import Evaluation, Predicate, Proposition
from planner.world.catalogue import sliced_from
from planner.world.checklist import Act, Checklist, Subtask
from planner.world.states import default_states
from planner.world.vocabulary import Affordance, EntityKind

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
