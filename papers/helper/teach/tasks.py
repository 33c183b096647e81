"""Our tasks of TEACh's twelve types and personal routines, and the commands that build them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.episodes.generator import GeneratorTools, task_generator
from planner.episodes.recipes.build import build
from planner.episodes.recipes.file import Label, Place, Recipe, Things
from planner.episodes.start_state import FindMiddle, starting_from
from planner.evaluation.task import Predicate
from planner.world.catalogue import default_catalogue
from planner.world.episode import (
    AgentPlacement,
    Dialogue,
    Episode,
    Setting,
    Speaker,
    TeachTask,
    Turn,
)
from planner.world.files import FileModel, read_model
from planner.world.geometry import record
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


# Personal routines: taught in full, then asked for with changes (HELPER-D84).
#
# Each request is an episode, judged by execution, and a list of what is wanted, for judging a plan.
# The source is config/episodes/teach/routines.yaml.

WantedState = Literal["clean", "toasted", "cooked", "coffee", "water"]
_PREDICATES: Mapping[str, str] = {
    "clean": "is_clean",
    "toasted": "is_toasted",
    "cooked": "is_cooked",
    "coffee": "is_filled_with_coffee",
    "water": "is_filled_with_water",
}
Number = Annotated[int, Field(ge=0, le=10)]


@record
class Wanted:
    """Some things of a result, by the class names of programs; `place` "" = anywhere."""

    class_name: str
    number: int
    states: tuple[str, ...] = ()
    place: str = ""


class Item(FileModel):
    """A part of a result.

    Attributes:
        what: the label of things or slices.
        class_name: of these in programs.
        states: in which they are wanted.
        at: the label of where; "" = anywhere.
        place: the class of that in programs.
    """

    what: Label
    class_name: Annotated[str, Field(alias="class")]
    states: tuple[WantedState, ...] = ()
    at: Label | Literal[""] = ""
    place: str = ""

    @model_validator(mode="after")
    def _asks_for_something(self) -> Item:
        if bool(self.at) != bool(self.place):
            raise ValueError("at and place belong together")
        if not self.states and not self.at:
            raise ValueError("neither states nor a place are wanted")
        return self


class Change(FileModel):
    """What is said besides the routine's name, and the numbers that differ from then on."""

    say: Annotated[str, Field(min_length=1)]
    numbers: dict[Label, Number]


class Routine(FileModel):
    """One routine; `things`, `slices` and `places` as of a recipe."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    house: str
    seed: int = 0
    taught: Annotated[tuple[dict[Speaker, str], ...], Field(min_length=1)]
    asked: Annotated[str, Field(min_length=1)]
    things: dict[Label, Things]
    slices: dict[Label, Label] = Field(default_factory=dict)
    places: dict[Label, Place] = Field(default_factory=dict)
    items: dict[Label, Item]
    base: dict[Label, Number]
    changes: Annotated[tuple[Change, ...], Field(max_length=3)]

    @model_validator(mode="after")
    def _labels_are_known(self) -> Routine:
        for numbers in (self.base, *(change.numbers for change in self.changes)):
            if unknown := set(numbers) - set(self.items):
                raise ValueError(f"{min(unknown)!r} is not among items")
        return self

    @property
    def spoken_name(self) -> str:
        """As people say it: "Larry sandwich"."""
        return self.name.replace("_", " ").capitalize()

    def numbers(self, changes: int) -> Mapping[str, int]:
        """How many of each item are wanted after so many changes."""
        found = dict(self.base)
        for change in self.changes[:changes]:
            found |= change.numbers
        return {label: number for label, number in found.items() if number}

    def wanted(self, changes: int) -> tuple[Wanted, ...]:
        """What a plan has to bring about after so many changes."""
        return tuple(
            Wanted(item.class_name, number, item.states, item.place)
            for label, number in self.numbers(changes).items()
            for item in (self.items[label],)
        )

    @property
    def lesson(self) -> Dialogue:
        """The dialogue that teaches it."""
        return Dialogue(turns=_turns(self.taught))

    def request(self, changes: int) -> Dialogue:
        """The dialogue that asks for it by name."""
        text = self.asked
        if changes:
            text = f"{text} {' '.join(self.changes[changes - 1].say.split())}"
        return Dialogue(turns=(Turn(speaker=Speaker.COMMANDER, text=text),))

    def episodes(self) -> Iterator[Episode]:
        """The lesson, and the requests with no change to all of them.

        Raises:
            RecipeError: if one of them cannot be built.
        """
        yield self._episode("taught", self.lesson, 0)
        for changes in range(len(self.changes) + 1):
            yield self._episode(f"changes_{changes}", self.request(changes), changes)

    def _episode(self, suffix: str, dialogue: Dialogue, changes: int) -> Episode:
        recipe = Recipe.model_validate(
            {
                "name": f"{self.name}_{suffix}",
                "house": self.house,
                "seed": self.seed,
                "instruction": dialogue.text,
                "things": self.things,
                "slices": self.slices,
                "places": self.places,
                "goal": list(self._goal(changes)),
            }
        )
        return build(recipe).episode.model_copy(update={"agents": DRIVER, "dialogue": dialogue})

    def _goal(self, changes: int) -> Iterator[dict[str, object]]:
        for label, number in self.numbers(changes).items():
            item = self.items[label]
            if item.states and item.at:
                # Each of them is in its states and at its place.
                for which in range(number):
                    yield from self._lines(item, 1, f"{label}_{which}", label)
            else:
                yield from self._lines(item, number)

    def _lines(
        self, item: Item, number: int, same_thing: str = "", apart: str = ""
    ) -> Iterator[dict[str, object]]:
        ties = {"same_thing": same_thing} if same_thing else {}
        for order, state in enumerate(item.states):
            # A state's only argument is the thing: these are different things.
            others = {"other_place": apart} if apart and not order else {}
            yield {
                "predicate": _PREDICATES[state],
                "things": [item.what],
                "number": number,
                **ties,
                **others,
            }
        if item.at:
            yield {
                "predicate": Predicate.IS_ON_TOP,
                "things": [item.what],
                "number": number,
                "at": [item.at],
                **ties,
            }


class Routines(FileModel):
    """The file."""

    version: Literal[1]
    routines: Annotated[tuple[Routine, ...], Field(min_length=1)]


def _turns(said: tuple[dict[Speaker, str], ...]) -> tuple[Turn, ...]:
    return tuple(
        Turn(speaker=speaker, text=" ".join(text.split()))
        for turn in said
        for speaker, text in turn.items()
    )


def routine_file() -> Path:
    """The shipped routines."""
    return config_dir() / "episodes" / "teach" / "routines.yaml"


def read_routines(path: Path) -> tuple[Routine, ...]:
    """Reads a file of routines.

    Raises:
        FileError: with file, field and reason.
    """
    return read_model(path, Routines).routines


# `planner episodes generate teach` and `routines`: our dialogues in their houses.


def _dialogues(file: Path | None, tools: GeneratorTools) -> tuple[Iterator[Episode], tuple[()]]:
    return read_tasks(file or task_file()).episodes(tools.find_middle), ()


def _routines(file: Path | None, _tools: GeneratorTools) -> tuple[Iterator[Episode], tuple[()]]:
    routines = read_routines(file or routine_file())
    return (episode for routine in routines for episode in routine.episodes()), ()


DIALOGUES = task_generator("our tasks of TEACh's twelve types, with dialogues", _dialogues)
ROUTINES = task_generator("ten personal routines, each taught and asked for", _routines)
