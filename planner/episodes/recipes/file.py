"""The source of our own episodes, config/episodes/recipes/*.yaml, as records.

A recipe names things and places by its own labels; `goal` and `build` turn these into the names of
a house.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from planner.evaluation.task import KnownPredicate, Predicate, asked_open, asked_state
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir
from planner.world.states import GivenStates

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
