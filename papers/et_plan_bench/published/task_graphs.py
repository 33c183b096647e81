"""Scene graphs of environments, derived from their tasks, and the tasks as episodes in them."""

from __future__ import annotations

import argparse
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from papers.et_plan_bench.published.file import (
    PUTS,
    EtTask,
    Ref,
    TaskScene,
    read_et_file,
    task_scene,
)
from papers.et_plan_bench.published.importing import import_et_plan
from papers.et_plan_bench.published.judged import DATASET, graph_task
from planner.episodes.importing.importer import Fault, Imported, ImporterPart, Underived
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Vec3
from planner.world.graph_file import EdgeKind, Graph, GraphBox, GraphEdge, GraphNode, word_of
from planner.world.graph_house import house_of_graph
from planner.world.house import House
from planner.world.house_checks import read_house

# Numbers of entities that no plan names start here.
_FIRST_OWN = 100_000
_PITCH_M, _PIECE_M, _ROOM_HEIGHT_M = 1.2, (0.6, 0.8, 0.6), 2.6
_MIN_COLUMNS = 5
_GAP_M, _BESIDE_M = 1.0, 0.15


@dataclass(frozen=True)
class TaskGraph:
    """An environment's graph.

    Attributes:
        graph: of all its tasks.
        open_at_start: by task, what must be open because its plan reaches into it without opening.
    """

    graph: Graph
    open_at_start: Mapping[tuple[str, str], tuple[tuple[str, int], ...]]


def grabbed_words(tasks: Sequence[EtTask]) -> frozenset[str]:
    """The classes that any plan takes or moves, which are those of things."""
    return frozenset(
        step.arguments[0][0]
        for task in tasks
        for step in task.plan
        if step.arguments and step.verb in {"GRAB", *PUTS}
    )


def is_room_word(word: str) -> bool:
    """Whether VirtualHome has a room of this class."""
    return GraphNode(id=0, class_name=word).is_room


def graph_of_tasks(tasks: Sequence[EtTask], things: frozenset[str]) -> TaskGraph:
    """The graph of the tasks of one environment."""
    return _Builder(tasks, things).built()


@dataclass
class _Votes:
    """Statements of tasks about where one entity is, relation and parent, by criteria and plans."""

    criteria: Counter[tuple[str, int]] = field(default_factory=Counter)
    plans: Counter[tuple[str, int]] = field(default_factory=Counter)


class _Builder:
    def __init__(self, tasks: Sequence[EtTask], things: frozenset[str]) -> None:
        self._tasks, self._things = tasks, things
        self._scenes = [task_scene(task, is_room_word, things.__contains__) for task in tasks]
        self._words: dict[int, str] = {}
        self._votes: dict[int, _Votes] = {}
        self._places: dict[int, tuple[str, int]] = {}
        self._settled: set[int] = set()
        self._opened_by_plans = {n for scene in self._scenes for n in scene.opened}
        self._own = itertools.count(_FIRST_OWN)

    def built(self) -> TaskGraph:
        for scene in self._scenes:
            self._words |= {n: word for n, word in scene.words.items() if isinstance(n, int)}
        # Rooms named by plans first, so that entities named only by criteria get these rooms.
        numbers: list[dict[Ref, int]] = [{} for _ in self._scenes]
        for by_word in (False, True):
            for scene, known in zip(self._scenes, numbers, strict=True):
                for ref in scene.words:
                    if isinstance(ref, str) is by_word:
                        known[ref] = self._number(scene, ref, known) if by_word else int(ref)
                self._vote(scene, known)
        self._vote_by_content()
        if not any(is_room_word(word) for word in self._words.values()):
            self._words[next(self._own)] = "livingroom"
        for number in self._words:
            self._settle(number)
        return TaskGraph(self._graph(numbers), dict(self._opened()))

    def _number(self, scene: TaskScene, ref: Ref, known: Mapping[Ref, int]) -> int:
        """The entity for a criterion's word: one of the class in the right room, or a new one."""
        word = word_of(scene.words[ref])
        room = next((known.get(rest.parent) for rest in scene.chain(ref)
                     if is_room_word(scene.words[rest.parent])), None)  # fmt: skip
        for number, other in self._words.items():
            if word_of(other) == word and (room is None or room in self._voted_rooms(number)):
                return number
        number = next(self._own)
        self._words[number] = scene.words[ref]
        if room is not None:
            self._votes.setdefault(number, _Votes()).plans["INSIDE", room] += 1
        return number

    def _voted_rooms(self, number: int) -> set[int]:
        votes = self._votes.get(number, _Votes())
        return {parent for _, parent in (*votes.criteria, *votes.plans) if self._is_room(parent)}

    def _vote(self, scene: TaskScene, known: Mapping[Ref, int]) -> None:
        for ref, rest in scene.rests.items():
            if ref in known and rest.parent in known and known[ref] != known[rest.parent]:
                votes = self._votes.setdefault(known[ref], _Votes())
                counter = votes.criteria if rest.by_criterion else votes.plans
                counter[rest.relation or "ON", known[rest.parent]] += 1

    def _vote_by_content(self) -> None:
        """What no task says the room of is where plans show the things that lie on or in it."""
        rooms: dict[int, Counter[int]] = {}
        for votes in self._votes.values():
            for _, place in votes.criteria:
                for (_, parent), count in votes.plans.items():
                    if self._is_room(parent):
                        rooms.setdefault(place, Counter())[parent] += count
        for place, found in rooms.items():
            if place not in self._votes and not self._is_room(place):
                ((room, count),) = found.most_common(1)
                self._votes[place] = _Votes(plans=Counter({("INSIDE", room): count}))

    def _settle(self, number: int) -> None:
        """The final position of an entity: the first plausible one that closes no cycle.

        Criteria have priority over plans; something in a room over the room alone.
        """
        if number in self._settled or self._is_room(number):
            return
        self._settled.add(number)
        for place in self._believed(self._votes.get(number, _Votes())):
            if not self._is_below(place[1], number):
                self._places[number] = place
                return

    def _believed(self, votes: _Votes) -> Iterator[tuple[str, int]]:
        said = [place for place, _ in votes.criteria.most_common()]
        shown = [place for place, _ in votes.plans.most_common()]
        rooms = {parent for _, parent in said if self._is_room(parent)}
        for place in (*said, *shown):
            if not self._is_room(place[1]):
                self._settle(place[1])
        yield from (place for place in said if not self._is_room(place[1]))
        for place in shown:
            if not self._is_room(place[1]) and (not rooms or self._room_of(place[1]) in rooms):
                yield place
        yield from (place for place in (*said, *shown) if self._is_room(place[1]))

    def _is_room(self, number: int) -> bool:
        return is_room_word(self._words[number])

    def _is_below(self, number: int, other: int) -> bool:
        while number != other:
            if number not in self._places:
                return False
            number = self._places[number][1]
        return True

    def _room_of(self, number: int) -> int:
        while number in self._places:
            number = self._places[number][1]
        if self._is_room(number):
            return number
        return next(n for n, word in self._words.items() if is_room_word(word))

    # The graph

    def _graph(self, numbers: Sequence[Mapping[Ref, int]]) -> Graph:
        boxes = self._boxes(numbers)
        holds: dict[int, set[str]] = {}
        for relation, parent in self._places.values():
            holds.setdefault(parent, set()).add(relation)
        for scene in self._scenes:
            for (_, place), relation in scene.puts.items():
                holds.setdefault(place, set()).add(relation)
        nodes = [
            GraphNode(
                id=number,
                class_name=word,
                category="Rooms" if is_room_word(word) else "",
                properties=tuple(self._properties(number, holds.get(number, set()))),
                states=self._states(number),
                bounding_box=boxes.get(number),
            )
            for number, word in sorted(self._words.items())
        ]
        return Graph(nodes=tuple(nodes), edges=tuple(self._edges()))

    def _opens(self, number: int) -> bool:
        node = GraphNode(id=number, class_name=self._words[number])
        return number in self._opened_by_plans or node.has("CAN_OPEN")

    def _states(self, number: int) -> tuple[str, ...]:
        """Furniture that no plan opens is open, since plans reach into it."""
        if number in self._opened_by_plans:
            return ("CLOSED",)
        return ("OPEN",) if self._opens(number) else ()

    def _properties(self, number: int, holds: set[str]) -> Iterator[str]:
        if self._is_room(number):
            return
        if self._words[number] in self._things:
            yield "GRABBABLE"
        if self._opens(number):
            yield "CAN_OPEN"
        if "INSIDE" in holds:
            yield "CONTAINERS"
        if "ON" in holds:
            yield "SURFACES"

    def _edges(self) -> Iterator[GraphEdge]:
        for number, word in sorted(self._words.items()):
            if is_room_word(word):
                continue
            room = self._room_of(number)
            inside = EdgeKind.INSIDE.value
            yield GraphEdge(from_id=number, relation_type=inside, to_id=room)
            relation, parent = self._places.get(number, ("INSIDE", room))
            if parent != room:
                yield GraphEdge(from_id=number, relation_type=relation, to_id=parent)

    def _boxes(self, numbers: Sequence[Mapping[Ref, int]]) -> dict[int, GraphBox]:
        """Rooms in a row, furniture in a square within each, with what is faced in the middle."""
        faced: Counter[int] = Counter()
        for scene, known in zip(self._scenes, numbers, strict=True):
            for one, other in scene.facing:
                faced[known[other]] += 2
                faced[known[one]] += 1
        boxes: dict[int, GraphBox] = {}
        east = 0.0
        for room in sorted(n for n, word in self._words.items() if is_room_word(word)):
            pieces = [n for n, word in sorted(self._words.items())
                      if n != room and word not in self._things
                      and self._room_of(n) == room]  # fmt: skip
            columns = max(_MIN_COLUMNS, math.ceil(math.sqrt(len(pieces))))
            side = columns * _PITCH_M
            middle = east + side / 2
            boxes[room] = _box((middle, 0.0), (side, _ROOM_HEIGHT_M, side))
            for piece, at in zip(
                sorted(pieces, key=lambda n: -faced[n]), _square(columns), strict=False
            ):
                boxes[piece] = _box((middle + at[0], at[1]), _PIECE_M)
            east += side + _GAP_M
        # A place that a plan reaches from where it took a thing is next to that, but in one room.
        beside: Counter[int] = Counter()
        for thing, place in (pair for scene in self._scenes for pair in scene.near):
            on_floor = self._is_room(self._places.get(thing, ("", thing))[1])
            together = self._room_of(thing) == self._room_of(place)
            if on_floor and together and thing not in boxes and place in boxes:
                x, _, y = boxes[place].center
                along = _along(beside[place])
                boxes[thing] = _box((x + along, y - _PIECE_M[2] / 2 - _BESIDE_M), (0.1, 0.1, 0.1))
                beside[place] += 1
        return boxes

    def _opened(self) -> Iterator[tuple[tuple[str, str], tuple[tuple[str, int], ...]]]:
        """The furniture that each plan reaches into without opening it."""
        for task, scene in zip(self._tasks, self._scenes, strict=True):
            used = {n for step in task.plan for _, n in step.arguments}
            around = {place for _, place in scene.puts} | {
                parent for number in used for parent in self._around(number)
            }
            unopened = around & (self._opened_by_plans - scene.opened)
            if unopened:
                yield (
                    (task.file, task.task_id),
                    tuple((self._words[n], n) for n in sorted(unopened)),
                )

    def _around(self, number: int) -> Iterator[int]:
        while number in self._places:
            relation, number = self._places[number]
            if relation == "INSIDE":
                yield number


def _square(columns: int) -> list[tuple[float, float]]:
    """The cells of a square around the origin, nearest first."""
    cells = [
        ((i - (columns - 1) / 2) * _PITCH_M, (k - (columns - 1) / 2) * _PITCH_M)
        for i in range(columns)
        for k in range(columns)
    ]
    return sorted(cells, key=lambda cell: (round(math.hypot(*cell), 6), cell))


def _along(number: int) -> float:
    """How far to a side the `number`-th thing, from 0, lies beside a place: no two in one spot."""
    return _BESIDE_M * ((number + 1) // 2) * (1 if number % 2 else -1)


def _box(at: tuple[float, float], size: Vec3) -> GraphBox:
    """A box on the ground, in Unity's axes."""
    return GraphBox(center=(at[0], size[1] / 2, at[1]), size=size)


# ET-Plan-Bench's task files as episodes in the graph world, unfitted.

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


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--graph",
        action="store_true",
        help="into the graph world, unfitted, in graphs made of what the tasks say",
    )
    parser.add_argument(
        "--scenes",
        type=Path,
        metavar="DIR",
        help="as --graph, in the environments' own graphs: ENV_ID.json",
    )


def _read(args: argparse.Namespace) -> Imported:
    if args.graph or args.scenes is not None:
        return import_into_graphs(args.files, args.scenes)
    return import_et_plan(args.files, args.seed)


IMPORTER = ImporterPart(
    summary="ET-Plan-Bench's tasks in JSON lines", read=_read, add_arguments=_add_arguments
)
