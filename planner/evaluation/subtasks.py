"""The checklist of a run, the subtasks that were done, and what a task lacks at first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planner.evaluation.metrics.metric import doer_of, done
from planner.evaluation.predicates import Watch
from planner.evaluation.task import Predicate, Proposition, asked_open, asked_state, is_about_person
from planner.evaluation.trace import CallLine, EpisodeTrace, SubtaskLine
from planner.parts.calls import acted_call
from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.episode import Act, Checklist, Subtask
from planner.world.skill import SkillCall, SkillName
from planner.world.state import EntityState, chain_of
from planner.world.states import skills_that_make
from planner.world.vocabulary import Relation

# What a task lacks in its first state: objects to move, and states to change.
#
# It yields the checklist of a trace, and the length of a plan without detours, which replaces the
# number of a person's actions where that was not recorded (HELPER-5.1).

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
    if is_about_person(predicate):
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


# Which subtasks of an episode's own checklist were done in a run, and by whom (LLAMAR-D41).
#
# A subtask is done by the first successful call that performs its act on one of its entities,
# while one of the things that it names is held. A successful interaction also performs the way
# there. Once done it stays done; whether the result lasts is what the evaluator judges.

_ACT_OF: Mapping[str, Act] = {
    SkillName.NAVIGATE: Act.NAVIGATE,
    SkillName.PICK: Act.PICK_UP,
    SkillName.OPEN: Act.OPEN,
    SkillName.CLOSE: Act.CLOSE,
    SkillName.CLEAN: Act.CLEAN,
    SkillName.POWER_ON: Act.TOGGLE_ON,
    SkillName.POWER_OFF: Act.TOGGLE_OFF,
    # A skill of the catalogue's states, which `SkillName` does not list.
    "Slice": Act.SLICE,
}
_PUTTING = frozenset({SkillName.PLACE, SkillName.REARRANGE})
# Of Place and Rearrange: the thing, the relation, the place.
_THING, _PLACE = 0, 2

RULES_INTERFACE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskRules:
    """What does the subtasks of a kind of tasks, beyond those of a household.

    Attributes:
        summary: one line for the help.
        acts: what a successful call of a skill does to its first argument.
        done: the subtasks that no single call does and that were done, by their index.
        options: reserved.
        interface: the version of this record that it was written for.
    """

    summary: str
    acts: Mapping[str, Act]
    done: Callable[[EpisodeTrace, Sequence[Subtask]], Mapping[int, SubtaskLine]]
    options: tuple[Option, ...] = ()
    interface: int = RULES_INTERFACE


_RECORD, _GROUP = f"{__name__}:SubtaskRules", "planner.subtask_rules"
SUBTASK_RULES: Catalog[SubtaskRules] = Catalog(
    "subtask rule", "", "", _RECORD, RULES_INTERFACE, group=_GROUP
)


def with_subtasks(trace: EpisodeTrace, checklist: Checklist) -> EpisodeTrace:
    """Adds an episode's own checklist and what was done of it."""
    items = checklist.items()
    rules = SUBTASK_RULES.usable().values()
    acts = {**_ACT_OF, **{skill: act for each in rules for skill, act in each.acts.items()}}
    lines: dict[int, SubtaskLine] = {}
    for call in trace.calls:
        for act in _acts(trace, call, acts):
            for index, item in enumerate(items):
                if index not in lines and _performs(act, item):
                    lines[index] = SubtaskLine(call.ended_step, call.agent, index)
    for each in rules:
        lines |= each.done(trace, items)
    reference = replace(
        trace.episode.reference, subtasks=checklist.subtasks, targets=checklist.targets
    )
    return replace(
        trace,
        episode=replace(trace.episode, reference=reference),
        subtasks=tuple(sorted(lines.values(), key=lambda line: (line.step, line.index))),
    )


def _performs(done: Subtask, asked: Subtask) -> bool:
    return (
        done.act is asked.act
        and done.entities[0] in asked.entities
        and (not asked.held or not set(asked.held).isdisjoint(done.held))
    )


def _acts(trace: EpisodeTrace, line: CallLine, acts: Mapping[str, Act]) -> Iterator[Subtask]:
    """What a call did; nothing if it failed."""
    call = acted_call(line.call) if line.succeeded else None
    if call is None or not call.arguments or call.arguments[0] is None:
        return
    if call.name in _PUTTING:
        yield from _put(call)
        return
    act = acts.get(call.name)
    if act is None:
        return
    held = _held(trace, line)
    yield Subtask(Act.NAVIGATE, (call.arguments[0],), held)
    if act is not Act.NAVIGATE:
        yield Subtask(act, (call.arguments[0],), held)


def _put(call: SkillCall) -> Iterator[Subtask]:
    thing, place = call.arguments[_THING], call.arguments[_PLACE]
    if thing is None or place is None:
        return
    if call.name == SkillName.REARRANGE:
        yield Subtask(Act.NAVIGATE, (thing,))
        yield Subtask(Act.PICK_UP, (thing,))
    yield Subtask(Act.NAVIGATE, (place,), (thing,))
    yield Subtask(Act.PUT, (place,), (thing,))


def _held(trace: EpisodeTrace, line: CallLine) -> tuple[str, ...]:
    """What the agent held when a call that puts nothing down ended."""
    hands = {
        hold.hand: hold.entity
        for hold in trace.holds
        if hold.agent == line.agent and hold.step <= line.ended_step
    }
    return tuple(name for name in hands.values() if name)


_TAKING = frozenset({SkillName.PICK, SkillName.REARRANGE})


@dataclass(slots=True)
class _Take:
    """A checklist entry: an object that is needed was picked up."""

    need: Need
    by: SubtaskLine | None = None
    thing: str = ""


def with_checklist(trace: EpisodeTrace, lacking: Sequence[Need]) -> EpisodeTrace:
    """Adds the checklist and what was done of it, unless the trace has one.

    Args:
        trace: of a whole episode.
        lacking: what the task lacked in the first state.
    """
    if trace.episode.reference.subtasks:
        return trace
    takes = [_Take(need) for need in lacking if need.carried for _ in range(need.count)]
    _take(trace, takes)
    at_start = trace.progress[0].satisfied if trace.progress else ()
    open_indices = [i for i in range(len(trace.end.satisfied)) if not (at_start and at_start[i])]
    texts = [f"take {' or '.join(take.need.entities)}" for take in takes]
    texts += [trace.episode.propositions[i].text for i in open_indices]
    lines = [take.by for take in takes if take.by is not None]
    lines += _propositions_done(trace, open_indices, len(takes))
    reference = replace(trace.episode.reference, subtasks=tuple(texts))
    return replace(
        trace,
        episode=replace(trace.episode, reference=reference),
        subtasks=tuple(sorted(lines, key=lambda line: (line.step, line.index))),
    )


def _take(trace: EpisodeTrace, takes: Sequence[_Take]) -> None:
    for line, call in done(trace, _TAKING):
        thing = call.arguments[0]
        for index, take in enumerate(takes):
            if take.by is None and thing in take.need.entities and _is_new(thing, take, takes):
                take.by, take.thing = SubtaskLine(line.ended_step, line.agent, index), thing
                break


def _is_new(thing: str, take: _Take, takes: Sequence[_Take]) -> bool:
    """Whether an object counts: if two cups are needed, taking one of them twice counts once."""
    return all(other.need is not take.need or other.thing != thing for other in takes)


def _propositions_done(
    trace: EpisodeTrace, open_indices: Sequence[int], offset: int
) -> Iterator[SubtaskLine]:
    for number, i in enumerate(open_indices):
        step = trace.end.first_steps[i]
        if step is not None:
            yield SubtaskLine(step, doer_of(trace, i), offset + number)
