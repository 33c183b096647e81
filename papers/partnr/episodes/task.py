"""One of PARTNR's episodes with handles resolved to names and the evaluation translated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from papers.partnr.episodes.episode_file import PartnrEpisode, PartnrNames, names_of, split_name
from planner.episodes.evaluation_text import FieldError, corrected, translated
from planner.episodes.importing.foreign import read_foreign
from planner.episodes.importing.importer import AGENTS, Fault, split_of
from planner.episodes.lint.goal import task_types
from planner.evaluation.language import read_evaluation
from planner.world.catalogue import Catalogue
from planner.world.episode import EPISODE_VERSION, Episode
from planner.world.files import parse_model
from planner.world.states import default_states

DATASET = "partnr-episodes"


class Namer(Protocol):
    """A source of names for an episode's handles."""

    def name(self, names: PartnrNames, episode: PartnrEpisode) -> None:
        """Adds the names that it knows.

        Raises:
            FileError: if the source cannot be read.
        """


@dataclass(frozen=True)
class PartnrTask:
    """An episode with its names resolved and its evaluation translated."""

    file: str
    sha256: str
    stem: str
    episode: PartnrEpisode
    names: PartnrNames
    instruction: str
    evaluation: dict[str, JsonValue]

    @property
    def name(self) -> str:
        """Our episode's id."""
        return f"{self.stem}-{self.episode.task}"

    @property
    def words(self) -> set[str]:
        """Every entity that the evaluation names."""
        return set(_words(self.evaluation))

    def fault(self, reason: str) -> Fault:
        """A fault with the reason why the episode is left out."""
        return Fault(self.file, self.episode.task, reason)


def read_task(
    path: Path,
    sha256: str,
    episode: PartnrEpisode,
    metadata: Path | None,
    corrections: Path | None,
    catalogue: Catalogue,
    scenes: Namer | None = None,
) -> PartnrTask:
    """Interprets an episode of a file; `scenes` may know more handles than the file.

    Raises:
        FieldError: if its evaluation cannot be expressed here, or its annotators skip it.
        FileError: if a file of metadata or corrections is invalid.
    """
    names = names_of(episode, metadata)
    if scenes is not None:
        scenes.name(names, episode)
    parts: dict[str, object] = {
        "instruction": episode.instruction,
        "propositions": episode.evaluation_propositions,
        "dependencies": episode.evaluation_proposition_dependencies,
        "constraints": episode.evaluation_constraints,
    }
    text = corrections / f"episode_{episode.task}.py" if corrections is not None else None
    if text is not None and text.is_file():
        found, skipped = corrected(read_foreign(text).text)
        if skipped:
            raise FieldError("corrections.skip_episode", skipped)
        parts.update(found)
    goals = parts["propositions"]
    evaluation: dict[str, JsonValue] = {}
    if goals not in (None, []):
        evaluation = translated(
            goals,
            parts["dependencies"],
            parts["constraints"],
            lambda word, argument: _resolve(word, argument, names, catalogue),
        )
    return PartnrTask(
        file=path.name,
        sha256=sha256,
        stem=path.name.split(".")[0],
        episode=episode,
        names=names,
        instruction=" ".join(str(parts["instruction"]).split()),
        evaluation=evaluation,
    )


def _resolve(word: str, argument: str, names: PartnrNames, catalogue: Catalogue) -> Sequence[str]:
    """The entities that a handle, a name or a class (`table in living_room`) refers to."""
    if argument == "rooms":
        room = names.rooms.get(word, word)
        if room in names.rooms.values() or room_class(room, catalogue) is not None:
            return (room,)
        raise FieldError("", f"{word!r} is not a known region; see --metadata")
    for known in (names.objects, names.furniture):
        if word in known:
            return (known[word],)
    if word in names.objects.values() or word in names.furniture.values():
        return (word,)
    furniture, _, room = word.partition(" in ")
    found = [
        name
        for name in names.furniture.values()
        if (split := split_name(name)) is not None
        and split[0] == furniture
        and (not room or (names.room_of.get(name) or "").startswith(room))
    ]
    if found:
        return sorted(found)
    raise FieldError("", f"the file does not say what {word[:80]!r} is; see --metadata")


def room_class(region: str, catalogue: Catalogue) -> str | None:
    """Our class of a region by its name, `living_room_0`; None if there is none."""
    split = split_name(region)
    return catalogue.room_name(split[0]) if split is not None else None


def _words(evaluation: Mapping[str, JsonValue]) -> Iterator[str]:
    goals = evaluation.get("propositions", [])
    for goal in goals if isinstance(goals, list) else []:
        args = goal["args"] if isinstance(goal, dict) else {}
        for value in args.values() if isinstance(args, dict) else ():
            for item in value if isinstance(value, list) else ():
                yield from (str(word) for word in (item if isinstance(item, list) else [item]))


def _renamed(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    """An evaluation's propositions with the names in their lists replaced."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return value


def evaluation_in(task: PartnrTask, names: Mapping[str, str]) -> dict[str, JsonValue] | None:
    """The evaluation with the names in its lists replaced; None if there is none."""
    if not task.evaluation:
        return None
    goals = task.evaluation["propositions"]
    renamed: list[JsonValue] = []
    for goal in goals if isinstance(goals, list) else []:
        if isinstance(goal, dict) and isinstance(goal["args"], dict):
            args = {key: _renamed(value, names) for key, value in goal["args"].items()}
            renamed.append({**goal, "args": args})
    return {**task.evaluation, "propositions": renamed}


@dataclass(frozen=True, slots=True)
class TaskObject:
    """One of an episode's objects, as the file describes it."""

    handle: str
    name: str
    class_name: str
    receptacle: str
    states: dict[str, bool]


def task_objects(task: PartnrTask, catalogue: Catalogue) -> tuple[list[TaskObject], list[str]]:
    """The objects of known classes, and a sentence for each other one.

    Raises:
        FieldError: if the evaluation is about one without a class.
    """
    found: list[TaskObject] = []
    notes: list[str] = []
    unnamed = 0
    for handle, receptacle in task.episode.name_to_receptacle.items():
        name = task.names.objects.get(handle)
        split = split_name(name) if name is not None else None
        class_name = catalogue.object_name(split[0]) if split is not None else None
        if name is None:
            unnamed += 1
            continue
        if class_name is None:
            reason = f"{name} has no class of the catalogue"
            if name in task.words:
                raise FieldError("name_to_receptacle", reason)
            notes.append(reason)
            continue
        states, unfit = _states(handle, class_name, task.episode, catalogue)
        notes += [f"{name} cannot be {state} here" for state in unfit]
        found.append(TaskObject(handle, name, class_name, receptacle.split("|")[0], states))
    if unnamed:
        notes.append(f"{unnamed} objects of clutter, whose classes the file does not say")
    return found, notes


def _states(
    handle: str, class_name: str, episode: PartnrEpisode, catalogue: Catalogue
) -> tuple[dict[str, bool], list[str]]:
    known = catalogue.objects[class_name].affordances
    states: dict[str, bool] = {}
    unfit: list[str] = []
    for word, values in sorted(episode.object_states.items()):
        if handle not in values or word not in default_states().predicates:
            continue
        state, affirmed = default_states().predicates[word]
        if default_states().affordance_of[state] in known:
            states[state] = values[handle] == affirmed
        elif values[handle] == affirmed:
            unfit.append(state)
    return states, unfit


def task_notes(task: PartnrTask) -> list[str]:
    """A note for everything that no mode of import represents."""
    notes = [f"the field {name[:60]!r} is not known" for name in task.episode.unknown_fields]
    strange = sorted(set(task.episode.object_states) - set(default_states().predicates))
    return notes + [f"the state {name[:60]!r} is not known" for name in strange]


def finished(task: PartnrTask, document: dict[str, object], evaluation: object) -> Episode:
    """The episode, with the task types that follow from its evaluation.

    Raises:
        FileError: if the evaluation is invalid.
    """
    if evaluation is not None:
        read = read_evaluation(evaluation, task.file)  # type: ignore[arg-type]
        document = {**document, "evaluation": evaluation, "task_types": task_types(read)}
    return parse_model(document, Episode, task.file)


def episode_head(
    task: PartnrTask,
    house: str,
    notes: Sequence[str],
    *,
    fitted: bool,
    needs_scene: bool | None = None,
) -> dict[str, object]:
    """The fields of our episode that depend on neither scene nor house.

    `needs_scene` is False if the house is the scene itself.
    """
    return {
        "version": EPISODE_VERSION,
        "episode_id": task.name,
        "house": house,
        "split": split_of(task.stem.replace("-", "_")),
        "instruction": task.instruction,
        "agents": AGENTS,
        "source": {
            "dataset": DATASET,
            "file": task.file,
            "scene_id": task.episode.scene_id,
            "episode_id": str(task.episode.episode_id),
            "sha256": task.sha256,
            "fitted": fitted,
            "needs_scene": not fitted if needs_scene is None else needs_scene,
            "not_taken": tuple(notes),
        },
    }
