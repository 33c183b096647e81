"""Reads games of the published TEACh data set: a task, its scene's first state, and a dialogue.

A game is JSON with `tasks`, of which each has `task_name`, `task_params` and `episodes`; an episode
has the floor plan (`world`), `initial_state` with objects, and `interactions`, of which those with
the action 100 are utterances: agent 0 is the Commander, agent 1 the Driver.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.episodes.importing.foreign import parse_foreign, read_foreign
from planner.episodes.importing.importer import Fault
from planner.world.episode import Speaker, Turn
from planner.world.errors import from_validation
from planner.world.files import parse_model
from planner.world.topics import one_line

_TEXT_ACTION = 100
_SPEAKERS = (Speaker.COMMANDER, Speaker.DRIVER)
_MAX_OBJECTS, _MAX_INTERACTIONS = 2000, 20_000

Word = Annotated[str, Field(min_length=1, max_length=200)]


class _Lax(BaseModel):
    """A part of a game; fields that are not read are counted by the caller or ignored."""

    model_config = ConfigDict(frozen=True, extra="allow")


class _Object(_Lax):
    object_type: Annotated[Word, Field(alias="objectType")]
    is_dirty: Annotated[bool, Field(alias="isDirty")] = False


class _State(_Lax):
    objects: Annotated[tuple[_Object, ...], Field(max_length=_MAX_OBJECTS)]


class _Interaction(_Lax):
    agent_id: Annotated[int, Field(ge=0, le=1)]
    action_id: int
    success: int = 1
    utterance: str = ""


class _Episode(_Lax):
    episode_id: Word
    world: Word
    initial_state: _State
    interactions: Annotated[tuple[_Interaction, ...], Field(max_length=_MAX_INTERACTIONS)]


class _Task(_Lax):
    task_name: Word
    task_params: tuple[str | int, ...] = ()
    episodes: Annotated[tuple[_Episode, ...], Field(min_length=1)]


class _Game(_Lax):
    tasks: Annotated[tuple[object, ...], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Game:
    """One episode of a game.

    Attributes:
        file: the name of its file.
        parameters: of the task.
        counts: how many objects of each type are in the scene.
        turns: the dialogue.
        not_taken: what the file says that an episode has no place for.
    """

    file: str
    name: str
    task_name: str
    parameters: tuple[str, ...]
    floor_plan: str
    counts: Mapping[str, int]
    turns: tuple[Turn, ...]
    not_taken: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GameFile:
    """A file: `count` is the number of its episodes, with the faulty ones."""

    sha256: str
    games: tuple[Game, ...]
    faults: tuple[Fault, ...]

    @property
    def count(self) -> int:
        """Games and faults."""
        return len(self.games) + len(self.faults)


def read_game(path: Path) -> GameFile:
    """Reads a game.

    Raises:
        FileError: if it is not a game at all; a bad task is a `Fault`.
    """
    file = read_foreign(path)
    document = parse_model(parse_foreign(file.text, path), _Game, path)
    games: list[Game] = []
    faults: list[Fault] = []
    for number, entry in enumerate(document.tasks):
        try:
            task = _Task.model_validate(entry)
        except ValidationError as error:
            plain = from_validation(path, error)
            faults.append(Fault(path.name, f"tasks.{number}", f"{plain.field}: {plain.reason}"))
            continue
        for episode in task.episodes:
            turns = _turns(episode)
            if turns:
                games.append(_game(path, task, episode, turns))
            else:
                faults.append(Fault(path.name, episode.episode_id, "nobody says anything"))
    return GameFile(file.sha256, tuple(games), tuple(faults))


def _turns(episode: _Episode) -> tuple[Turn, ...]:
    said = (i for i in episode.interactions if i.action_id == _TEXT_ACTION)
    return tuple(
        Turn(speaker=_SPEAKERS[i.agent_id], text=one_line(i.utterance)[:1000])
        for i in said
        if one_line(i.utterance)
    )[:200]


def _game(path: Path, task: _Task, episode: _Episode, turns: tuple[Turn, ...]) -> Game:
    acts = sum(
        i.agent_id == 1 and i.action_id != _TEXT_ACTION and bool(i.success)
        for i in episode.interactions
    )
    return Game(
        file=path.name,
        name=episode.episode_id,
        task_name=task.task_name,
        parameters=tuple(map(str, task.task_params)),
        floor_plan=episode.world,
        counts=Counter(item.object_type for item in episode.initial_state.objects),
        turns=turns,
        not_taken=("poses of the initial state", f"{acts} actions of the Driver"),
    )
