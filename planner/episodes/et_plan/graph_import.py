"""ET-Plan-Bench's task files as episodes in the graph world, unfitted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planner.episodes.et_plan.file import EtTask, read_et_file
from planner.episodes.et_plan.in_graph import DATASET, graph_task
from planner.episodes.et_plan.task_graphs import grabbed_words, graph_of_tasks
from planner.episodes.imported import Imported
from planner.episodes.partnr.importing import Underived
from planner.episodes.partnr.instruction_file import Fault
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.graph_house import house_of_graph
from planner.world.house import House
from planner.world.house_checks import read_house

_NAMES = ("{}.json", "env_{}.json")


def import_into_graphs(paths: Sequence[Path], scenes: Path | None = None) -> Imported:
    """Makes an episode in a scene graph of every task.

    Args:
        paths: task files.
        scenes: folder with the environments' own graphs, `<env_id>.json` or `env_<env_id>.json`;
            None: a graph is made from all tasks of an environment.

    Raises:
        FileError: if a file cannot be read, or two share a name.
    """
    read: dict[str, int] = {}
    hashes: dict[str, str] = {}
    left_out: list[Fault] = []
    environments: dict[int, list[EtTask]] = {}
    for path in paths:
        if path.name in read:
            raise FileError(path, "", "a file of this name was given already")
        file = read_et_file(path)
        read[path.name] = len(file.tasks) + len(file.faults)
        hashes[path.name] = file.sha256
        left_out += file.faults
        for task in file.tasks:
            environments.setdefault(task.environment, []).append(task)
    things = grabbed_words([task for tasks in environments.values() for task in tasks])
    episodes: list[Episode] = []
    goalless: list[Underived] = []
    houses: dict[str, House] = {}
    for number, tasks in environments.items():
        try:
            house, opened = _house(number, tasks, things, scenes)
        except PlannerError as error:
            left_out += [Fault(task.file, task.task_id, str(error)) for task in tasks]
            continue
        houses[house.name] = house
        for task in tasks:
            at_start = opened.get((task.file, task.task_id), ())
            try:
                made = graph_task(task, house, at_start, hashes[task.file])
            except FileError as error:
                left_out.append(Fault(task.file, task.task_id, f"{error.field}: {error.reason}"))
                continue
            episodes.append(made.episode)
            if made.reason:
                goalless.append(Underived(made.episode.episode_id, made.reason))
    return Imported(DATASET, read, tuple(episodes), tuple(left_out), houses, tuple(goalless))


_Opened = Mapping[tuple[str, str], tuple[tuple[str, int], ...]]


def _house(
    number: int, tasks: Sequence[EtTask], things: frozenset[str], scenes: Path | None
) -> tuple[House, _Opened]:
    name = f"{DATASET}-{number}"
    if scenes is None:
        made = graph_of_tasks(tasks, things)
        return house_of_graph(made.graph, name), made.open_at_start
    path = next((path for path in _files(scenes, number) if path.is_file()), None)
    if path is None:
        raise FileError(scenes, "", f"has no graph of environment {number}: {number}.json")
    house = read_house(path)
    if house.graph is None:
        raise FileError(path, "", "is a house, not a scene graph")
    return house.model_copy(update={"name": name}), {}


def _files(folder: Path, number: int) -> Iterator[Path]:
    yield from (folder / name.format(number) for name in _NAMES)
