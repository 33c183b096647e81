"""What a task lacks in its first state: objects to move, and states to change.

It yields the checklist of a trace, and the length of a plan without detours, which replaces the
number of a person's actions where that was not recorded (HELPER-5.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.evaluation.propositions import Watch
from planner.evaluation.task import Predicate, Proposition, asked_open, asked_state
from planner.world.state import EntityState, chain_of
from planner.world.state_skills import skills_that_make
from planner.world.vocabulary import Relation

# Walk, pick, walk, place.
_CARRY_CALLS = 4
_CHANGE_CALLS = 2
# Predicates that a placement required elsewhere may satisfy as a side effect.
_LOOSE = frozenset(
    {Predicate.IS_IN_ROOM, Predicate.IS_ON_FLOOR, Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED}
)
_SPATIAL = frozenset({Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED})


@dataclass(frozen=True, slots=True)
class Need:
    """`count` of some entities must be moved somewhere or change their state.

    Attributes:
        entities: candidates that do not satisfy the proposition yet.
        into: furniture with an inside that is a destination; empty for other destinations.
        calls: skill calls for each, not counting opening.
    """

    entities: tuple[str, ...]
    count: int
    carried: bool
    into: tuple[str, ...] = ()
    calls: int = _CARRY_CALLS


def needs(watches: Sequence[Watch]) -> tuple[Need, ...]:
    """What the propositions lack in the state that their watches saw last."""
    missing = {
        watch.proposition: count
        for watch in _without_copies(watches)
        if (count := _missing(watch)) > 0
    }
    rows = {watch.proposition: watch.rows for watch in watches}
    found = [_need(p, rows[p], count) for p, count in missing.items() if p.predicate not in _LOOSE]
    for proposition, count in missing.items():
        if proposition.predicate in _LOOSE:
            need = _need(proposition, rows[proposition], count)
            carried = sum(
                other.count
                for other in found
                if other.carried and not set(need.entities).isdisjoint(other.entities)
            )
            if carried < count:
                found.append(replace(need, count=count - carried))
    return tuple(found)


def plan_length(lacking: Sequence[Need], entities: Mapping[str, EntityState]) -> int:
    """The number of skill calls in a plan without detours: walk, open, pick, walk, place, ..."""
    opened: set[str] = set()
    calls = 0
    for need in lacking:
        calls += need.calls * need.count
        shut = {name: _shut_around(name, entities) for name in need.entities}
        easiest = sorted(need.entities, key=lambda name: shut[name] is not None)[: need.count]
        opened.update(piece for name in easiest if (piece := shut[name]) is not None)
        if need.into and all(_is_shut(name, entities) for name in need.into):
            opened.add(need.into[0])
    return calls + len(opened)


def _without_copies(watches: Iterable[Watch]) -> Iterable[Watch]:
    """Drops the copies that mode partnr_v0 makes of propositions with `number` (DEFECT-D2)."""
    found: dict[Proposition, Watch] = {}
    for watch in watches:
        key = replace(watch.proposition, number=1)
        if key not in found or found[key].proposition.number < watch.proposition.number:
            found[key] = watch
    return found.values()


def _missing(watch: Watch) -> int:
    proposition = watch.proposition
    if proposition.predicate is Predicate.IS_CLUSTERED:
        return 0 if watch.holds else len(proposition.lists) - 1
    there = len(watch.serving)
    if proposition.is_same:
        there = max(sum(b in row for row in watch.rows.values()) for b in proposition.lists[1])
    return proposition.number - there


def _need(proposition: Proposition, rows: Mapping[str, frozenset[str]], count: int) -> Need:
    predicate, lists = proposition.predicate, proposition.lists
    if predicate in _SPATIAL:
        names = tuple(dict.fromkeys(name for one in lists for name in one))
        return Need(names, count, carried=True)
        # Things placed at a different second argument may have to be moved as well.
    names = tuple(name for name in lists[0] if proposition.is_same or not rows[name])
    asked = asked_state(predicate)
    if asked is not None:
        state, value = asked
        # It is taken to what has to be near.
        fetched = any(skill.needs.near for skill in skills_that_make(state, value=value))
        calls = _CARRY_CALLS if fetched else _CHANGE_CALLS
        return Need(names, count, carried=False, calls=calls)
    if asked_open(predicate) is not None:
        return Need(names, count, carried=False, calls=_CHANGE_CALLS)
    into = lists[1] if predicate is Predicate.IS_INSIDE else ()
    return Need(names, count, carried=True, into=into)


def _shut_around(name: str, entities: Mapping[str, EntityState]) -> str | None:
    """The closed furniture that an entity is in, if any."""
    for thing in chain_of(entities, name):
        if thing.relation is Relation.WITHIN and _is_shut(thing.parent or "", entities):
            return thing.parent
    return None


def _is_shut(name: str, entities: Mapping[str, EntityState]) -> bool:
    entity = entities.get(name)
    return entity is not None and entity.openness == 0.0
