"""The lint rules, and the problems of an evaluation by itself and in its house."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.evaluation.constraints import matching
from planner.evaluation.task import (
    DependencyMode,
    Evaluation,
    GateRelation,
    Predicate,
    Proposition,
    Tie,
    TieKind,
    asked_open,
    find_cycle,
)
from planner.world.house import House
from planner.world.state import EntityState
from planner.world.states import default_states

# The lint rules, each with an id and a sentence.


class Severity(StrEnum):
    """An error makes an episode unusable; a warning should be reviewed."""

    ERROR = "error"
    WARNING = "warning"


class Rule(StrEnum):
    """The ids; they are part of the machine-readable output and never change."""

    UNREADABLE = "unreadable"
    VERSION = "version"
    SCHEMA = "schema"
    NEEDS_SCENE = "needs-scene"
    HOUSE = "house"
    PLACEMENT = "placement"
    UNKNOWN_ENTITY = "unknown-entity"
    WRONG_KIND = "wrong-kind"
    MISSING_AFFORDANCE = "missing-affordance"
    NO_INSTRUCTION = "no-instruction"
    NO_EVALUATION = "no-evaluation"
    EVALUATION = "evaluation"
    CRITERIA = "criteria"
    CHECKLIST = "checklist"
    INDEX = "index"
    CYCLE = "cycle"
    NUMBER = "number"
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"
    ALREADY_SATISFIED = "already-satisfied"
    STATE_AT_START = "state-at-start"
    TRUE_AT_START = "true-at-start"
    UNGATED = "ungated"
    LOST_HEAD = "lost-head"
    UNSOLVABLE = "unsolvable"
    TASK_TYPES = "task-types"
    REFERENCE_PLAN = "reference-plan"
    UNSOLVED = "unsolved"


WARNINGS = frozenset({
    Rule.NEEDS_SCENE, Rule.NO_INSTRUCTION, Rule.NO_EVALUATION, Rule.TRUE_AT_START, Rule.UNGATED,
    Rule.LOST_HEAD, Rule.REFERENCE_PLAN,
})  # fmt: skip

SENTENCES: dict[Rule, str] = {
    Rule.UNREADABLE: "The file cannot be read, or is not JSON.",
    Rule.VERSION: "The file has a version that this planner does not read.",
    Rule.SCHEMA: "A field is missing, unknown or malformed.",
    Rule.NEEDS_SCENE: "The house is another dataset's scene, which is not here.",
    Rule.HOUSE: "The house cannot be found, or is itself invalid.",
    Rule.PLACEMENT: "An object, an agent or a changed piece does not fit into the house.",
    Rule.UNKNOWN_ENTITY: "Something is named that neither house, episode nor catalogue has.",
    Rule.WRONG_KIND: "An argument of a proposition is an entity of the wrong kind.",
    Rule.MISSING_AFFORDANCE: "A state is required of something that cannot have it.",
    Rule.NO_INSTRUCTION: "The instruction is empty.",
    Rule.NO_EVALUATION: "There is no evaluation; only criteria are judged.",
    Rule.EVALUATION: "The evaluation is malformed.",
    Rule.CRITERIA: "The criteria leave no choice of entities, or too many.",
    Rule.CHECKLIST: "The checklist does not fit the entities, or leaves out what the goal needs.",
    Rule.INDEX: "A proposition or an argument is named that does not exist.",
    Rule.CYCLE: "Propositions wait for each other in a cycle.",
    Rule.NUMBER: "More entities are asked for than are listed.",
    Rule.DUPLICATE: "Two propositions ask the same at the same time, and count twice.",
    Rule.CONTRADICTION: "Propositions or constraints can never hold together.",
    Rule.ALREADY_SATISFIED: "The task is solved before anybody does anything.",
    Rule.STATE_AT_START: "A thing has a state that is asked for before anybody does anything.",
    Rule.TRUE_AT_START: "A proposition about places, or a history's work, holds at the start.",
    Rule.UNGATED: "A later goal of a thing is true at the start and not gated by the earlier one.",
    Rule.LOST_HEAD: "A goal that must last depends on one that need not.",
    Rule.UNSOLVABLE: "No agent of the episode has the ability, or no place the room.",
    Rule.TASK_TYPES: "The task types are not those that follow from the evaluation.",
    Rule.REFERENCE_PLAN: "The data set's own plan does not meet the criteria.",
    Rule.UNSOLVED: "The planner expert was run on it and did not succeed (only with --solve).",
}


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One problem: the rule, the field in the file, and what is wrong."""

    rule: Rule
    field: str
    reason: str

    @property
    def severity(self) -> Severity:
        """Whether the episode is unusable because of it."""
        return Severity.WARNING if self.rule in WARNINGS else Severity.ERROR

    def __str__(self) -> str:
        where = f"{self.field}: " if self.field else ""
        return f"{self.severity} {self.rule}: {where}{self.reason}"


_PLACING = frozenset(
    {Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM, Predicate.IS_ON_FLOOR}
)
_AFTER = frozenset({GateRelation.AFTER_SATISFIED, GateRelation.AFTER_UNSATISFIED})


def task_types(evaluation: Evaluation) -> tuple[str, ...]:
    """PARTNR's task types, which follow from the evaluation alone (PARTNR-D5)."""
    predicates = {proposition.predicate for proposition in evaluation.propositions}
    found = (
        ("spatial", bool(predicates & {Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED})),
        ("temporal", bool(evaluation.edges)),
        ("heterogeneous", bool(predicates & set(default_states().predicates))),
    )
    return tuple(name for name, holds in found if holds) or ("constraint_free",)


def duplicates(evaluation: Evaluation) -> Iterator[LintFinding]:
    """Propositions that require the same of the same things at the same time."""
    seen: dict[tuple[object, ...], int] = {}
    before = _before(evaluation)
    for j, proposition in enumerate(evaluation.propositions):
        key = _meaning(proposition)
        i = seen.setdefault(key, j)
        if i == j or (i, j) in before or (j, i) in before or _kept_apart(evaluation, i, j):
            continue
        yield LintFinding(Rule.DUPLICATE, f"propositions.{j}", f"asks the same as proposition {i}")


def _meaning(proposition: Proposition) -> tuple[object, ...]:
    lists: Sequence[object] = [frozenset(names) for names in proposition.lists]
    if proposition.predicate is Predicate.IS_CLUSTERED:
        lists = sorted(tuple(sorted(names)) for names in proposition.lists)
    threshold = None
    if proposition.predicate in (Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED):
        threshold = proposition.threshold_m
    return (
        proposition.predicate,
        tuple(lists),
        proposition.number,
        proposition.is_same and proposition.number > 1,
        threshold,
    )


def _kept_apart(evaluation: Evaluation, i: int, j: int) -> bool:
    """Whether constraints make two propositions, or what each is tied to, use different things."""
    ones, others = _tied_to(evaluation, i), _tied_to(evaluation, j)
    return any(
        tie.kind is TieKind.DIFFERENT and ones & {*tie.members} and others & {*tie.members}
        for tie in evaluation.ties
    )


def _tied_to(evaluation: Evaluation, i: int) -> set[tuple[int, int]]:
    """The arguments of a proposition, and those that must be the same as its first one."""
    same = [
        {*tie.members}
        for tie in evaluation.ties
        if tie.kind is TieKind.SAME and (i, 0) in tie.members
    ]
    return {(i, 0), (i, 1)}.union(*same)


def _before(evaluation: Evaluation) -> set[tuple[int, int]]:
    """All pairs whose first must come true before the second."""
    followers: dict[int, set[int]] = {}
    for i, j in _strict_links(evaluation):
        followers.setdefault(i, set()).add(j)
    found: set[tuple[int, int]] = set()
    for start in followers:
        waiting = list(followers[start])
        while waiting:
            node = waiting.pop()
            if (start, node) not in found:
                found.add((start, node))
                waiting += followers.get(node, ())
    return found


def _strict_links(evaluation: Evaluation) -> set[tuple[int, int]]:
    """(i, j): i must count at an earlier step than j, by edges and gates."""
    links = set(evaluation.edges)
    for dependency in evaluation.dependencies:
        if dependency.relation in _AFTER and _binds(dependency.mode, dependency.depends_on):
            links |= set(itertools.product(dependency.depends_on, dependency.gated))
    return links


def _binds(mode: DependencyMode, heads: Sequence[int]) -> bool:
    return mode is DependencyMode.ALL or len(heads) == 1


def contradictions(
    evaluation: Evaluation, house: House, entities: Mapping[str, EntityState]
) -> Iterator[LintFinding]:
    """Propositions and constraints that cannot be satisfied together.

    Reports only certain cases: two propositions contradict if every way to satisfy both puts one
    thing into two places that exclude each other, or into two states.
    """
    yield from _against_order(evaluation)
    yield from _against_ties(evaluation)
    for k, proposition in enumerate(evaluation.propositions):
        if proposition.predicate is Predicate.IS_CLUSTERED and not _seated(proposition.lists):
            reason = f"there are fewer than {len(proposition.lists)} different things to choose"
            yield LintFinding(Rule.CONTRADICTION, f"propositions.{k}.args.entities", reason)
    together = _together(evaluation)
    for i, j in sorted(together):
        one, other = evaluation.propositions[i], evaluation.propositions[j]
        reason = _conflict(one, other, house, entities)
        if reason:
            yield LintFinding(
                Rule.CONTRADICTION, f"propositions.{j}", f"{reason} by proposition {i}"
            )


def _against_order(evaluation: Evaluation) -> Iterator[LintFinding]:
    """Edges and gates that are each acyclic but form a cycle together."""
    links = _strict_links(evaluation)
    strict = set(links)
    for dependency in evaluation.dependencies:
        if dependency.relation is GateRelation.WHILE_SATISFIED and _binds(
            dependency.mode, dependency.depends_on
        ):
            links |= set(itertools.product(dependency.depends_on, dependency.gated))
    cycle = find_cycle(links)
    if cycle and any(pair in strict for pair in itertools.pairwise(cycle)):
        path = " -> ".join(str(index) for index in cycle)
        yield LintFinding(
            Rule.CONTRADICTION, "constraints", f"order and dependencies together ask for {path}"
        )


def _against_ties(evaluation: Evaluation) -> Iterator[LintFinding]:
    for tie in evaluation.ties:
        lists = [evaluation.propositions[i].lists[argument] for i, argument in tie.members]
        members = ", ".join(str(i) for i, _ in tie.members)
        if tie.kind is TieKind.SAME and not set(lists[0]).intersection(*lists[1:]):
            reason = f"no entity is allowed in all of the propositions {members}"
        elif tie.kind is TieKind.DIFFERENT and not _enough(evaluation, tie):
            reason = f"there are too few different entities for the propositions {members}"
        else:
            continue
        yield LintFinding(Rule.CONTRADICTION, "constraints", reason)


def _enough(evaluation: Evaluation, tie: Tie) -> bool:
    return _seated([evaluation.propositions[i].lists[argument] for i, argument in tie.members])


def _seated(lists: Sequence[Sequence[str]]) -> bool:
    """Whether one element can be chosen from each list, all different."""
    return len(matching({k: frozenset(names) for k, names in enumerate(lists)})) == len(lists)


def _together(evaluation: Evaluation) -> set[tuple[int, int]]:
    """The pairs that must hold at the same time: at the end, or because of a gate."""
    found = set(itertools.combinations(sorted(evaluation.terminal), 2))
    for dependency in evaluation.dependencies:
        if dependency.relation is GateRelation.WHILE_SATISFIED and _binds(
            dependency.mode, dependency.depends_on
        ):
            for head, gated in itertools.product(dependency.depends_on, dependency.gated):
                found.add((min(head, gated), max(head, gated)))
            heads = sorted(set(dependency.depends_on))
            found |= set(itertools.combinations(heads, 2))
    return found


def _conflict(
    one: Proposition, other: Proposition, house: House, entities: Mapping[str, EntityState]
) -> str:
    """Why two propositions exclude each other; "" if they may not."""
    shared = _forced(one, other)
    if not shared:
        return ""
    if (
        one.predicate in default_states().predicates
        and other.predicate in default_states().predicates
    ):
        state, value = default_states().predicates[one.predicate]
        if default_states().predicates[other.predicate] == (state, not value):
            return f"{' or '.join(shared)} would have to be the opposite of what is asked"
        return ""
    opens = asked_open(one.predicate), asked_open(other.predicate)
    if None not in opens and opens[0] is not opens[1]:
        return f"{' or '.join(shared)} would have to be open and closed"
    if one.predicate in _PLACING and other.predicate in _PLACING:
        spots = _places(one), _places(other)
        size_m = max((math.hypot(*_size(entities, name)) for name in shared), default=0.0)
        if all(_apart(a, b, house, size_m) for a, b in itertools.product(spots[0], spots[1])):
            return f"{' or '.join(shared)} would have to be in another place than is asked"
    return ""


def _size(entities: Mapping[str, EntityState], name: str) -> tuple[float, float, float]:
    entity = entities.get(name)
    return entity.size_m if entity is not None else (0.0, 0.0, 0.0)


def _forced(one: Proposition, other: Proposition) -> list[str]:
    """Things in both lists, if the propositions cannot be satisfied by different things."""
    a, b = set(one.lists[0]), set(other.lists[0])
    if one.number + other.number <= len(a | b):
        return []
    return sorted(a & b)


_Spot = tuple[str, str]


def _places(proposition: Proposition) -> list[_Spot]:
    names = proposition.lists[1] if len(proposition.lists) > 1 else ("",)
    return [(proposition.predicate, name) for name in names]


def _apart(one: _Spot, other: _Spot, house: House, size_m: float) -> bool:
    """Whether nothing of this size can be at both places at once."""
    if one[0] == other[0] == Predicate.IS_IN_ROOM:
        # A thing on a threshold is in both rooms (PARTNR-T6: a quarter of it is enough).
        return False
    if Predicate.IS_ON_FLOOR in (one[0], other[0]):
        rest = other if one[0] is Predicate.IS_ON_FLOOR else one
        return rest[0] is Predicate.IS_INSIDE and rest[1] in house.furniture_by_name
    rooms = _room(one, house), _room(other, house)
    if None in rooms:
        return False
    if Predicate.IS_IN_ROOM in (one[0], other[0]):
        return rooms[0] != rooms[1] and not _near(one, other, house, size_m)
    if one[1] == other[1]:
        return False
    a, b = house.furniture_by_name.get(one[1]), house.furniture_by_name.get(other[1])
    if a is None or b is None:
        return rooms[0] != rooms[1] and (a is None) == (b is None)
    return Predicate.IS_INSIDE in (one[0], other[0]) or a.box.horizontal_gap_m(b.box) > size_m


def _near(one: _Spot, other: _Spot, house: House, size_m: float) -> bool:
    """Whether furniture is so close to a room that a thing on it may reach into the room."""
    room = one if one[0] is Predicate.IS_IN_ROOM else other
    place = other if room is one else one
    piece = house.furniture_by_name.get(place[1])
    if piece is None or place[0] is Predicate.IS_INSIDE:
        return False
    low, high = piece.box.minimum_m, piece.box.maximum_m
    xs = [x for x, _ in house.rooms_by_name[room[1]].polygon_m]
    ys = [y for _, y in house.rooms_by_name[room[1]].polygon_m]
    dx = max(0.0, min(xs) - high[0], low[0] - max(xs))
    dy = max(0.0, min(ys) - high[1], low[1] - max(ys))
    return math.hypot(dx, dy) <= size_m


def _room(spot: _Spot, house: House) -> str | None:
    predicate, name = spot
    if predicate is Predicate.IS_IN_ROOM:
        return name if name in house.rooms_by_name else None
    piece = house.furniture_by_name.get(name)
    if piece is not None:
        return piece.room
    room = name.removeprefix("floor_")
    return room if room != name and room in house.rooms_by_name else None
