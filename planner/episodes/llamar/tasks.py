"""Our own tasks of LLaMAR's four types, each in several houses: config/episodes/llamar/tasks.yaml.

A task is a recipe (`planner.episodes.recipes.file`) that is built in each of its houses: shipped
ones, and single rooms that are made here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.episodes.llamar.deriving import with_own_checklist
from planner.episodes.recipes.build import build
from planner.episodes.recipes.file import Recipe
from planner.houses.generator import generate_house
from planner.world.episode import AgentPlacement, Episode
from planner.world.files import FileModel, read_model
from planner.world.house import EntityName, House
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind

# As in most of the paper's tables; `planner bench --agents` sets another number.
TEAM_SIZE = 2


class SingleRoom(FileModel):
    """A house of one room, as AI2-THOR's floor plans are; `required` furniture by class."""

    name: EntityName
    room: str
    seed: Annotated[int, Field(ge=0)]
    required: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)

    def made(self) -> House:
        """Generates it.

        Raises:
            PlannerError: if no such room was found.
        """
        required = {f"{self.room}_0": self.required} if self.required else None
        return generate_house(
            self.name, self.seed, rooms={self.room: 1}, required=required, objects=0
        )


class TeamTask(Recipe):
    """A task and its houses.

    Attributes:
        ambiguity: LLaMAR's type; see `planner.world.checklist.Checklist`.
        team: the agents, all alike; people where states have to change, which robots cannot do.
        houses: single rooms and shipped houses.
    """

    ambiguity: Literal[1, 2, 3, 4]
    team: AgentKind = AgentKind.ROBOT
    house: str = ""
    houses: Annotated[tuple[str, ...], Field(min_length=2)]

    def recipes(self) -> Iterator[Recipe]:
        """The recipe for each house; names sort by place first, so that a part has all types."""
        own = {"ambiguity", "team", "houses", "house", "name"}
        common = self.model_dump(exclude=own)
        for place, house in enumerate(self.houses):
            name = f"place_{place}_type_{self.ambiguity}_{self.name}"
            yield Recipe.model_validate({**common, "name": name, "house": house})


class TeamTasks(FileModel):
    """The file."""

    version: Literal[1]
    rooms: tuple[SingleRoom, ...]
    tasks: tuple[TeamTask, ...]

    @model_validator(mode="after")
    def _names_are_unique(self) -> TeamTasks:
        for names in ([room.name for room in self.rooms], [task.name for task in self.tasks]):
            twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
            if twice is not None:
                raise ValueError(f"the name {twice!r} is used twice")
        return self

    @cached_property
    def made(self) -> Mapping[str, House]:
        """The single rooms by name."""
        return {room.name: room.made() for room in self.rooms}

    def episodes(self) -> Iterator[Episode]:
        """Each task in each of its houses.

        Raises:
            RecipeError: if one of them cannot be built.
            PlannerError: if a goal has no checklist.
        """
        for task in self.tasks:
            for recipe in task.recipes():
                house = self.made.get(recipe.house) or load_house(recipe.house)
                team = {"agents": equals(task.team)}
                episode = build(recipe, house).episode.model_copy(update=team)
                yield with_own_checklist(episode, house, task.ambiguity)


def equals(kind: AgentKind) -> tuple[AgentPlacement, ...]:
    """A team of agents that are all alike, at random free positions (LLAMAR-D47)."""
    return tuple(AgentPlacement(uid=f"agent_{i}", kind=kind) for i in range(TEAM_SIZE))


def task_file() -> Path:
    """The shipped tasks."""
    return config_dir() / "episodes" / "llamar" / "tasks.yaml"


def read_tasks(path: Path) -> TeamTasks:
    """Reads a file of tasks.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, TeamTasks)
