"""Derives structured goals of imported instructions from their wording and initial state.

The result has the format of PARTNR's evaluation records (PARTNR-D7). If the rules do not give the
words exactly one meaning, there is a reason instead of a goal: a missing goal can be written later,
a wrong one would be believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import JsonValue

from planner.episodes.goals.grammar import NotUnderstoodError, parse
from planner.episodes.goals.lookup import UnclearError
from planner.episodes.goals.meaning import Goal, goals_of
from planner.episodes.goals.scene import Scene
from planner.episodes.wording import Lexicon

MAX_TOKENS = 400

# The names of each function's two arguments and of the flag that ties the second one.
_ARGUMENTS = {
    "is_on_top": ("objects", "receptacles", "is_same_receptacle"),
    "is_inside": ("objects", "receptacles", "is_same_receptacle"),
    "is_in_room": ("objects", "rooms", "is_same_room"),
    "is_next_to": ("entities_a", "entities_b", "is_same_b"),
    "is_on_floor": ("objects", None, None),
}
_PLACING = frozenset(_ARGUMENTS) - {"is_next_to"}

Evaluation = dict[str, JsonValue]
TaskType = str


@dataclass(frozen=True, slots=True)
class Derivation:
    """The evaluation of an instruction, or the reason why there is none."""

    evaluation: Evaluation | None
    reason: str
    task_types: tuple[TaskType, ...] = ()


def derive(instruction: str, scene: Scene, lexicon: Lexicon) -> Derivation:
    """The goal of an instruction in a scene, if its words determine it."""
    items = lexicon.items(instruction)
    if len(items) > MAX_TOKENS:
        return Derivation(None, "the instruction is too long for a rule")
    try:
        goals = goals_of(parse(items), scene)
    except (NotUnderstoodError, UnclearError) as refusal:
        return Derivation(None, str(refusal))
    ordered = sorted(goals, key=lambda goal: goal.step)
    dependencies = [*_neighbours_gated(ordered), *_later_steps_gated(ordered, scene)]
    constraints = _constraints(ordered)
    evaluation: Evaluation = {
        "propositions": [_proposition(goal) for goal in ordered],
        "dependencies": dependencies,
        "constraints": constraints,
    }
    return Derivation(evaluation, "", _task_types(ordered, constraints))


def _proposition(goal: Goal) -> JsonValue:
    first, second, same = _ARGUMENTS[goal.function]
    number = goal.selection.number or 1
    args: dict[str, JsonValue] = {first: list(goal.selection.names), "number": number}
    if second is not None:
        args[second] = list(goal.candidates)
    if same is not None and number > 1 and goal.tied:
        args[same] = True
    return {"function_name": goal.function, "args": args}


def _constraints(goals: Sequence[Goal]) -> list[JsonValue]:
    found: list[JsonValue] = []
    edges = _edges(goals)
    if edges:
        found.append({"type": "TemporalConstraint", "edges": [list(edge) for edge in edges]})
    ties: dict[tuple[int, str], list[int]] = {}
    for index, goal in enumerate(goals):
        if goal.tied:
            ties.setdefault((goal.group, goal.function), []).append(index)
    found += [_same_place(members) for members in ties.values() if len(members) > 1]
    terminal: list[JsonValue] = [
        index for index, goal in enumerate(goals) if not _overtaken(goal, goals)
    ]
    found.append({"type": "TerminalSatisfactionConstraint", "proposition_indices": terminal})
    return found


def _same_place(members: Sequence[int]) -> JsonValue:
    return {
        "type": "SameArgConstraint",
        "proposition_indices": list(members),
        "arg_indices": [1] * len(members),
    }


def _overtaken(goal: Goal, goals: Sequence[Goal]) -> bool:
    """Whether a later step sends one of the goal's things, or its neighbour, elsewhere."""
    names = set(goal.selection.names)
    if goal.function == "is_next_to":
        names |= set(goal.candidates)
    return any(
        later.step > goal.step and later.function in _PLACING and names & set(later.selection.names)
        for later in goals
    )


def _edges(goals: Sequence[Goal]) -> list[tuple[int, int]]:
    """Everything in a step before the next (PARTNR-D21); what stays as it is has no step."""
    steps: dict[int, list[int]] = {}
    for index, goal in enumerate(goals):
        if not goal.keep:
            steps.setdefault(goal.step, []).append(index)
    ordered = [steps[step] for step in sorted(steps)]
    return [(i, j) for group, after in pairwise(ordered) for i in group for j in after]


def _neighbours_gated(goals: Sequence[Goal]) -> list[JsonValue]:
    """Next to each other at their destinations, not on the way there (PARTNR-E1)."""
    found: list[JsonValue] = []
    for index, goal in enumerate(goals):
        if goal.function != "is_next_to":
            continue
        names = set(goal.selection.names) | set(goal.candidates)
        heads: list[JsonValue] = [
            at
            for at, other in enumerate(goals)
            if other.step == goal.step
            and other.function in _PLACING
            and names & set(other.selection.names)
        ]
        if heads:
            found.append(
                {
                    "proposition_indices": [index],
                    "depends_on": heads,
                    "relation_type": "while_satisfied",
                }
            )
    return found


def _later_steps_gated(goals: Sequence[Goal], scene: Scene) -> list[JsonValue]:
    """A later goal that may hold early counts only once the earlier ones did (PARTNR-E7).

    It may hold at the start, and agents pass through rooms on the way to others.
    """
    found: list[JsonValue] = []
    first = min(goal.step for goal in goals)
    for index, goal in enumerate(goals):
        if goal.keep or goal.step == first or not _may_hold_early(goal, scene):
            continue
        earlier: list[JsonValue] = [
            at for at, other in enumerate(goals) if other.step < goal.step and not other.keep
        ]
        found.append(
            {
                "proposition_indices": [index],
                "depends_on": earlier,
                "relation_type": "after_satisfied",
            }
        )
    return found


def _may_hold_early(goal: Goal, scene: Scene) -> bool:
    """Whether the goal may be satisfied before its step, at the start or in passing."""
    if goal.function in {"is_next_to", "is_in_room"}:
        return True
    if goal.function == "is_on_floor":
        return any(thing.parent not in scene.pieces for thing in goal.selection.things)
    return any(thing.parent in goal.candidates for thing in goal.selection.things)


def _task_types(goals: Sequence[Goal], constraints: Sequence[JsonValue]) -> tuple[TaskType, ...]:
    """PARTNR's types, from the evaluation alone (PARTNR-D5)."""
    types: list[TaskType] = []
    if any(goal.function == "is_next_to" for goal in goals):
        types.append("spatial")
    if any(isinstance(c, dict) and c["type"] == "TemporalConstraint" for c in constraints):
        types.append("temporal")
    return tuple(types) or ("constraint_free",)
