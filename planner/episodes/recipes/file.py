"""Recipes of our own episodes, config/episodes/recipes/*.yaml, and their goals as evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, model_validator

from planner.evaluation.task import KnownPredicate, Predicate, asked_open, asked_state
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir
from planner.world.states import GivenStates, default_states

Label = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Labels = Annotated[tuple[Label, ...], Field(min_length=1)]


def is_unary(predicate: str) -> bool:
    """Whether a predicate has only one argument."""
    return (
        predicate is Predicate.IS_ON_FLOOR
        or asked_state(predicate) is not None
        or asked_open(predicate) is not None
    )


class Things(FileModel):
    """Objects of one class and where they lie at the start.

    Exactly one of `on_top` and `inside` names the furniture, a class or one piece by its name,
    or the label of other things; `on_top: floor` is the floor. `room` narrows furniture to a
    class of rooms or one room by its name.
    """

    class_name: str
    count: Annotated[int, Field(ge=1, le=8)] = 1
    on_top: str | None = None
    inside: str | None = None
    room: str | None = None
    states: GivenStates = Field(default_factory=dict)

    @model_validator(mode="after")
    def _one_place(self) -> Things:
        if (self.on_top is None) == (self.inside is None):
            raise ValueError("needs either on_top or inside")
        return self


class Place(FileModel):
    """Every piece of furniture of a class (or one by name); without furniture, the rooms.

    `states` are the initial states of these pieces.
    """

    furniture: str | None = None
    room: str | None = None
    states: GivenStates = Field(default_factory=dict)

    @model_validator(mode="after")
    def _something(self) -> Place:
        if self.furniture is None and self.room is None:
            raise ValueError("needs furniture or room")
        return self


class GoalSpec(FileModel):
    """One line of a goal.

    Without `number` each of the things must satisfy it, as a proposition of its own; with it, that
    many of them. All places of `at` together are a disjunction. Lines with the same word in
    `same_place` use the same place (for a state that is the furniture itself), with the same word
    in `other_place` different places, in `same_thing` the same thing.
    """

    predicate: KnownPredicate
    things: Labels
    at: tuple[Label, ...] = ()
    number: Annotated[int, Field(ge=1)] | None = None
    same_place: Label | None = None
    other_place: Label | None = None
    same_thing: Label | None = None
    lasts: bool = True

    @model_validator(mode="after")
    def _arguments(self) -> GoalSpec:
        if self.predicate is Predicate.IS_CLUSTERED:
            raise ValueError("is_clustered is written as is_next_to, which names the pairs")
        if (is_unary(self.predicate)) == bool(self.at):
            raise ValueError(f"{self.predicate} {'has no' if self.at else 'needs'} `at`")
        return self


class Recipe(FileModel):
    """One episode: the words, what lies where, and what must hold in the end.

    Attributes:
        slices: labels of the slices that things become, by the label of these things.
        seed: determines the arrangement.
        clear: labels of places without clutter, if the instruction is about everything there.
        no_clutter: classes and groups of objects that are no clutter, if it is about all of them.
        goal: lines that may be satisfied in any order.
        steps: groups of lines, each to be satisfied before the next.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    house: str
    instruction: Annotated[str, Field(min_length=10)]
    seed: int = 0
    things: dict[Label, Things] = Field(default_factory=dict)
    places: dict[Label, Place] = Field(default_factory=dict)
    slices: dict[Label, Label] = Field(default_factory=dict)
    clear: tuple[Label, ...] = ()
    no_clutter: tuple[str, ...] = ()
    goal: tuple[GoalSpec, ...] = ()
    steps: tuple[tuple[GoalSpec, ...], ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Recipe:
        labels = [*self.things, *self.places, *self.slices.values()]
        both = set(self.things) & set(self.places)
        if both:
            raise ValueError(f"{min(both)!r} is both a thing and a place")
        if len(set(labels)) < len(labels):
            raise ValueError("slices need labels of their own")
        if not self.goal and not self.steps:
            raise ValueError("needs a goal or steps")
        if len(self.steps) == 1:
            raise ValueError("one step alone has no order: write it as goal")
        for label, item in self.things.items():
            seen = [label]
            while (holder := item.inside or item.on_top) in self.things:
                if holder in seen:
                    raise ValueError(f"{label!r} starts in or on itself")
                seen.append(str(holder))
                item = self.things[str(holder)]
        used = {label for _, spec in self.specs() for label in (*spec.things, *spec.at)}
        unknown = (used | set(self.clear)) - set(labels) | set(self.slices) - set(self.things)
        if unknown:
            raise ValueError(f"{min(unknown)!r} is neither among things nor among places")
        return self

    def specs(self) -> Iterator[tuple[int | None, GoalSpec]]:
        """All goal lines with the number of their step; None for those in any order."""
        for spec in self.goal:
            yield None, spec
        for step, specs in enumerate(self.steps):
            for spec in specs:
                yield step, spec


class _RecipeFile(FileModel):
    version: Annotated[int, Field(ge=1, le=1)]
    episodes: tuple[Recipe, ...]


def recipe_folder() -> Path:
    """The folder of the shipped episodes' recipes."""
    return config_dir() / "episodes" / "recipes"


def read_recipes(folder: Path) -> tuple[Recipe, ...]:
    """All recipes of a folder, in order of file and position.

    Raises:
        FileError: with file, field and reason.
    """
    return tuple(
        recipe
        for path in sorted(folder.glob("*.yaml"))
        for recipe in read_model(path, _RecipeFile).episodes
    )


# Converts a recipe's goal lines to PARTNR's evaluation record (PARTNR-D7).
#
# What the lines leave open follows PARTNR-D34: nearness counts while the things are at their
# destinations, a thing's second move counts after its first, and what a later step undoes need not
# hold at the end.

PLACING = frozenset(
    {Predicate.IS_ON_TOP, Predicate.IS_INSIDE, Predicate.IS_IN_ROOM, Predicate.IS_ON_FLOOR}
)
# The names of the two arguments and of the flag that ties the second one (PARTNR-3.2).
_ARGUMENTS: dict[str, tuple[str, str, str]] = {
    Predicate.IS_ON_TOP: ("objects", "receptacles", "is_same_receptacle"),
    Predicate.IS_INSIDE: ("objects", "receptacles", "is_same_receptacle"),
    Predicate.IS_IN_ROOM: ("objects", "rooms", "is_same_room"),
    Predicate.IS_NEXT_TO: ("entities_a", "entities_b", "is_same_b"),
}


@dataclass(frozen=True, slots=True)
class Target:
    """One proposition before it is written to the record.

    Attributes:
        step: the step that it belongs to, or None if any order is allowed.
        names: the first argument.
        at: the second argument, empty for states and the floor.
        number: how many of the names are needed.
        spec: the line of the recipe that it comes from.
    """

    step: int | None
    names: tuple[str, ...]
    at: tuple[str, ...]
    number: int
    spec: GoalSpec

    @property
    def predicate(self) -> str:
        """The predicate."""
        return self.spec.predicate

    @property
    def entities(self) -> frozenset[str]:
        """All entities in the proposition."""
        return frozenset(self.names) | frozenset(self.at)


def targets(recipe: Recipe, names: Mapping[str, Sequence[str]]) -> tuple[Target, ...]:
    """The propositions of a recipe in order.

    Args:
        recipe: the recipe.
        names: the entities of the house for every label.
    """
    found: list[Target] = []
    for step, spec in recipe.specs():
        first = tuple(dict.fromkeys(name for label in spec.things for name in names[label]))
        second = tuple(dict.fromkeys(name for label in spec.at for name in names[label]))
        if spec.number is not None:
            found.append(Target(step, first, second, spec.number, spec))
            continue
        for one in first:
            others = tuple(name for name in second if name != one)
            target = Target(step, (one,), others, 1, spec)
            # Of two things next to each other, one proposition is enough.
            if not any(_says_same(target, other) for other in found):
                found.append(target)
    return tuple(found)


def _says_same(one: Target, other: Target) -> bool:
    return (
        one.predicate is Predicate.IS_NEXT_TO
        and other.spec is one.spec
        and len(one.at) == len(other.at) == 1
        and one.entities == other.entities
    )


def evaluation_of(found: Sequence[Target], starts: Mapping[str, str]) -> dict[str, JsonValue]:
    """The evaluation record.

    Args:
        found: the propositions.
        starts: for every thing the furniture or floor that it starts on or in.
    """
    return {
        "propositions": [_proposition(target) for target in found],
        "dependencies": dependencies(found, starts),
        "constraints": [*order(found), *_ties(found), terminal(found)],
    }


def dependencies(found: Sequence[Target], starts: Mapping[str, str]) -> list[JsonValue]:
    """What annotations leave out (PARTNR-D34); arguments as of `evaluation_of`."""
    return [*_neighbours(found), *_later_steps(found, starts)]


def task_types(found: Sequence[Target]) -> tuple[str, ...]:
    """PARTNR's types, which follow from the evaluation alone (PARTNR-D5)."""
    types = []
    if any(target.predicate is Predicate.IS_NEXT_TO for target in found):
        types.append("spatial")
    if edges(found):
        types.append("temporal")
    if any(target.predicate in default_states().predicates for target in found):
        types.append("heterogeneous")
    return tuple(types) or ("constraint_free",)


def edges(found: Sequence[Target]) -> list[tuple[int, int]]:
    """Everything in a step before the next (PARTNR-D21)."""
    steps: dict[int, list[int]] = {}
    for index, target in enumerate(found):
        if target.step is not None:
            steps.setdefault(target.step, []).append(index)
    ordered = [steps[step] for step in sorted(steps)]
    return [(i, j) for group, after in pairwise(ordered) for i in group for j in after]


def _proposition(target: Target) -> JsonValue:
    if is_unary(target.predicate):
        return {
            "function_name": str(target.predicate),
            "args": {"objects": list(target.names), "number": target.number},
        }
    first, second, same = _ARGUMENTS[target.predicate]
    args: dict[str, JsonValue] = {
        first: list(target.names),
        "number": target.number,
        second: list(target.at),
    }
    if target.number > 1 and target.spec.same_place:
        args[same] = True
    return {"function_name": str(target.predicate), "args": args}


def _neighbours(found: Sequence[Target]) -> Iterator[JsonValue]:
    """Next to each other at their destinations, not on the way there (PARTNR-D34 a)."""
    for index, target in enumerate(found):
        if target.predicate is Predicate.IS_NEXT_TO:
            heads = _placed_with(target, found)
            if heads:
                yield _dependency(index, heads, "while_satisfied")


def _placed_with(target: Target, found: Sequence[Target]) -> list[int]:
    """The placements, in the same step, of the things that a relation is about."""
    return [
        at
        for at, other in enumerate(found)
        if other.step == target.step
        and other.predicate in PLACING
        and target.entities & set(other.names)
    ]


def _later_steps(found: Sequence[Target], starts: Mapping[str, str]) -> Iterator[JsonValue]:
    """Gates for propositions that may hold before their step: they count after earlier steps.

    PARTNR-D34 b, PARTNR-E6 and PARTNR-E7.
    """
    for index, target in enumerate(found):
        if not target.step or not _may_hold_early(target, found, starts):
            continue
        heads = [
            at
            for at, other in enumerate(found)
            if other.step is not None and other.step < target.step
        ]
        yield _dependency(index, heads, "after_satisfied")


def _may_hold_early(target: Target, found: Sequence[Target], starts: Mapping[str, str]) -> bool:
    """Whether a proposition may hold before its step, at the start or in passing."""
    if target.predicate is Predicate.IS_IN_ROOM or _placed_before(target, found):
        return True
    if asked_open(target.predicate) is not None:
        return True
    if target.predicate is Predicate.IS_NEXT_TO:
        return not _placed_with(target, found)
    if target.predicate is Predicate.IS_ON_FLOOR:
        return any(starts.get(name, "").startswith("floor_") for name in target.names)
    if target.predicate in default_states().predicates:
        return any(_contrary(target, other) for other in found)
    return any(starts.get(name) in target.at for name in target.names)


def _placed_before(target: Target, found: Sequence[Target]) -> bool:
    """Whether an earlier step also places the same thing."""
    return target.predicate in PLACING and any(
        other.predicate in PLACING
        and (other.step or 0) < (target.step or 0)
        and set(other.names) & set(target.names)
        for other in found
    )


def _dependency(index: int, heads: Sequence[int], relation: str) -> JsonValue:
    return {"proposition_indices": [index], "depends_on": list(heads), "relation_type": relation}


def order(found: Sequence[Target]) -> list[JsonValue]:
    """The constraint of the steps; none if there is no order."""
    found_edges: list[JsonValue] = [[i, j] for i, j in edges(found)]
    return [{"type": "TemporalConstraint", "edges": found_edges}] if found_edges else []


def _ties(found: Sequence[Target]) -> Iterator[JsonValue]:
    for kind, field in (
        ("SameArgConstraint", "same_place"),
        ("DifferentArgConstraint", "other_place"),
        ("SameArgConstraint", "same_thing"),
    ):
        groups: dict[str, list[int]] = {}
        for index, target in enumerate(found):
            word = getattr(target.spec, field)
            if word is not None:
                groups.setdefault(word, []).append(index)
        for members in groups.values():
            if len(members) > 1:
                # For shared places, a state's only argument is the place.
                second = [int(field != "same_thing" and bool(found[i].at)) for i in members]
                yield {
                    "type": kind,
                    "proposition_indices": list(members),
                    "arg_indices": list(second),
                }


def terminal(found: Sequence[Target]) -> JsonValue:
    """The constraint of what must hold at the end: what no later step undoes."""
    lasting: list[JsonValue] = [
        index
        for index, target in enumerate(found)
        if target.spec.lasts and not any(_undoes(later, target) for later in found)
    ]
    return {"type": "TerminalSatisfactionConstraint", "proposition_indices": lasting}


def _undoes(later: Target, earlier: Target) -> bool:
    """Whether a later step moves a thing, or its neighbour, away, or changes it back."""
    if earlier.step is None or later.step is None or later.step <= earlier.step:
        return False
    if earlier.predicate in default_states().predicates:
        return _contrary(later, earlier)
    moved = later.predicate in PLACING and later.predicate is not earlier.predicate
    moved |= later.predicate in PLACING and later.at != earlier.at
    return moved and bool(earlier.entities & set(later.names))


def _contrary(one: Target, other: Target) -> bool:
    if (
        one.predicate not in default_states().predicates
        or other.predicate not in default_states().predicates
    ):
        return False
    state, value = default_states().predicates[one.predicate]
    other_state, other_value = default_states().predicates[other.predicate]
    return (
        state is other_state
        and value is not other_value
        and bool(set(one.names) & set(other.names))
    )
