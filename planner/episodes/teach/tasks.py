"""Our own tasks of TEACh's twelve types with dialogues: config/episodes/teach/tasks.yaml.

A task is a recipe (`planner.episodes.recipes.file`) that is built in each of its houses. Its
instruction is a dialogue (HELPER-D80).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.episodes.recipes.build import build
from planner.episodes.recipes.file import Recipe
from planner.episodes.teach.middle import FindMiddle, starting_from
from planner.world.catalogue import default_catalogue
from planner.world.dialogue import Dialogue, Setting, Speaker, TeachTask, Turn
from planner.world.episode import AgentPlacement, Episode
from planner.world.files import FileModel, read_model
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind

# TEACh's Driver does everything alone. Of our bodies only this one can wash, switch and cook
# (HELPER-D81).
DRIVER = (AgentPlacement(uid="agent_0", kind=AgentKind.HUMAN),)


class DialogueTask(Recipe):
    """A task, its dialogue and its houses.

    Attributes:
        dialogue: each turn as {Speaker: text}.
        houses: in which it starts at the beginning.
        edh: those of them in which it also starts in the middle.
        session: number of turns before the middle.
    """

    task_type: TeachTask
    house: str = ""
    instruction: str = ""
    dialogue: Annotated[tuple[dict[Speaker, str], ...], Field(min_length=1)]
    houses: Annotated[tuple[str, ...], Field(min_length=1)]
    edh: tuple[str, ...] = ()
    session: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _is_consistent(self) -> DialogueTask:
        if any(len(turn) != 1 for turn in self.dialogue):
            raise ValueError("dialogue: each turn has one speaker")
        others = set(self.edh) - set(self.houses)
        if others:
            raise ValueError(f"edh: {min(others)} is not among houses")
        if self.session > len(self.dialogue):
            raise ValueError(f"session: there are only {len(self.dialogue)} turns")
        return self

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The dialogue."""
        return tuple(
            Turn(speaker=speaker, text=" ".join(text.split()))
            for turn in self.dialogue
            for speaker, text in turn.items()
        )

    def recipe(self, house: str) -> Recipe:
        """The recipe for one of the houses."""
        own = {"task_type", "dialogue", "houses", "edh", "session", "house", "name", "instruction"}
        words = Dialogue(task_type=self.task_type, turns=self.turns).text
        return Recipe.model_validate(
            {
                **self.model_dump(exclude=own),
                "name": f"{Setting.TFD}_{self.task_type}_{self.name}_{house}",
                "house": house,
                "instruction": words,
            }
        )

    def episode(self, house: str) -> Episode:
        """The episode from the beginning.

        Raises:
            RecipeError: if it cannot be built.
        """
        dialogue = Dialogue(task_type=self.task_type, turns=self.turns)
        changes = {"agents": DRIVER, "dialogue": dialogue}
        return build(self.recipe(house)).episode.model_copy(update=changes)

    def history(self, episode: Episode, start: Episode, actions: Sequence[str]) -> Episode:
        """The episode in the middle.

        Args:
            episode: from the beginning.
            start: the same with the state in the middle.
            actions: what was done until then, as skill calls.
        """
        dialogue = Dialogue(
            setting=Setting.EDH,
            task_type=self.task_type,
            turns=self.turns,
            session=self.session,
            actions=tuple(actions),
        )
        name = episode.episode_id.removeprefix(f"{Setting.TFD}_")
        return start.model_copy(
            update={
                "episode_id": f"{Setting.EDH}_{name}",
                "dialogue": dialogue,
                "instruction": dialogue.text,
            }
        )


class DialogueTasks(FileModel):
    """The file."""

    version: Literal[1]
    tasks: Annotated[tuple[DialogueTask, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _names_are_unique(self) -> DialogueTasks:
        names = [task.name for task in self.tasks]
        twice = next((n for i, n in enumerate(names) if n in names[:i]), None)
        if twice is not None:
            raise ValueError(f"the name {twice!r} is used twice")
        return self

    def episodes(self, find_middle: FindMiddle) -> Iterator[Episode]:
        """Each task in each of its houses, from the beginning and from the middle.

        Raises:
            RecipeError: if one of them cannot be built.
            PlannerError: if one of them has no middle.
        """
        for task in self.tasks:
            for place in task.houses:
                episode = task.episode(place)
                yield episode
                if place in task.edh:
                    house = load_house(place)
                    moment = find_middle(episode, house)
                    start = starting_from(episode, house, moment.state, default_catalogue())
                    yield task.history(episode, start, moment.calls)


def task_file() -> Path:
    """The shipped tasks."""
    return config_dir() / "episodes" / "teach" / "tasks.yaml"


def read_tasks(path: Path) -> DialogueTasks:
    """Reads a file of tasks.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, DialogueTasks)
