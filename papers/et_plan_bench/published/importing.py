"""ET-Plan-Bench's tasks as episodes: criteria are kept, and translated as far as possible.

The benchmark's graphs are VirtualHome's and not available. What a task needs is derived from its
own plan: rooms, furniture and things, and their positions. A house is generated for each
environment. All criteria are kept (`criteria`); the evaluation has those that PARTNR's language can
express.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from papers.et_plan_bench.published.file import (
    FLOOR,
    STRUCTURE,
    EtStep,
    EtTask,
    EtTriple,
    Ref,
    TaskScene,
    read_et_file,
    split_criteria,
    task_scene,
)
from papers.et_plan_bench.published.judged import (
    CHARACTER,
    DATASET,
    evaluation_of_criteria,
    open_at_start,
    plan_calls,
)
from planner.episodes.importing.foreign import ForeignScene, ForeignThing, place_things
from planner.episodes.importing.importer import Fault, Imported, Underived, UnplaceableError
from planner.episodes.importing.simulator_words import (
    SimulatorWord,
    SimulatorWords,
    WordKind,
    room_hint,
    scene_seed,
)
from planner.episodes.lint.goal import task_types
from planner.episodes.lint.linting import Linter
from planner.evaluation.entity_checks import entity_findings, facts_of_episode
from planner.evaluation.language import read_evaluation
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import EPISODE_VERSION, ROBOT, Criteria, Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_model
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import check_episode
from planner.world.object_checks import Reach
from planner.world.vocabulary import Relation, floor_name

# What ET-Plan-Bench's tasks need of a house, in the classes of our catalogue.

# Ids of entities that only criteria name start here.
_FIRST_OWN = 100_000
_RELATIONS = {"ON": Relation.ON, "INSIDE": Relation.WITHIN}
_ON_FLOORS = frozenset({"rug"})
_USUAL_ROOM = {"bed": "bedroom", "toilet": "bathroom", "shower": "bathroom", "fridge": "kitchen"}


@dataclass
class TaskNeeds:
    """The scene that a task's criteria and plan imply.

    Attributes:
        rooms: ids of rooms to their class.
        pieces: ids of furniture to its class and the id of its room.
        things: ids of objects to their class, their parent's id and relation.
        words: of all of these.
        notes: what is not as the task has it.
    """

    rooms: dict[int, str] = field(default_factory=dict)
    pieces: dict[int, tuple[str, int]] = field(default_factory=dict)
    things: dict[int, tuple[str, int, Relation | None]] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class NeedsReader:
    """Reads tasks; what only their criteria name is the same entity in all of an environment."""

    def __init__(self, words: SimulatorWords) -> None:
        self._words = words
        self._room_ids: dict[tuple[int, str], int] = {}
        self._own_ids: dict[tuple[int, Ref, Ref], int] = {}

    def add_rooms(self, task: EtTask) -> None:
        """Notes the ids of the rooms that a task's plan names."""
        for word, number in (pair for step in task.plan for pair in step.arguments):
            if self.is_room(word):
                self._room_ids.setdefault((task.environment, word), number)

    def needs(self, task: EtTask) -> TaskNeeds:
        """What a task needs.

        Raises:
            UnplaceableError: if the catalogue lacks something, or nothing says where it is.
        """
        scene = task_scene(task, self.is_room, self.is_thing)
        needs = TaskNeeds(notes=list(task.unknown_fields))
        numbers = {ref: self._number(task, scene, ref) for ref in scene.words}
        for ref, word in scene.words.items():
            known, number = self._known(word), numbers[ref]
            needs.words[number] = word
            if known.nearest:
                needs.notes.append(f"{word} is a {known.class_name} here")
            if known.kind is WordKind.ROOM:
                needs.rooms[number] = known.class_name
            elif known.kind is WordKind.FURNITURE:
                needs.pieces[number] = (known.class_name, self._room(scene, ref, numbers, needs))
        for number in scene.grabbed:
            if not self.is_thing(scene.words[number]):
                word = scene.words[number]
                raise UnplaceableError(f"the plan takes a {word[:60]}, which stays in place here")
        for ref, word in scene.words.items():
            if self.is_thing(word):
                parent, relation = self._parent(scene, ref, numbers, needs)
                needs.things[numbers[ref]] = (self._known(word).class_name, parent, relation)
        if not needs.rooms:
            raise UnplaceableError("neither criteria nor plan name a room")
        return needs

    def is_room(self, word: str) -> bool:
        """Whether a word is a room here."""
        known = self._words.find(word)
        return known is not None and known.kind is WordKind.ROOM

    def is_thing(self, word: str) -> bool:
        """Whether a word is an object here."""
        known = self._words.find(word)
        return known is not None and known.kind is WordKind.OBJECT

    def _known(self, word: str) -> SimulatorWord:
        known = self._words.find(word)
        if known is None:
            raise UnplaceableError(f"the catalogue has nothing like {word[:60]!r}")
        return known

    def _number(self, task: EtTask, scene: TaskScene, ref: Ref) -> int:
        """The id of an entity; one named only by criteria gets one per environment and room."""
        if isinstance(ref, int):
            return ref
        word = scene.words[ref]
        known = self._room_ids.get((task.environment, word))
        if known is not None:
            return known
        room = next((r.parent for r in scene.chain(ref) if self.is_room(scene.words[r.parent])), "")
        key = (task.environment, ref, room)
        return self._own_ids.setdefault(key, _FIRST_OWN + len(self._own_ids))

    def _room(
        self, scene: TaskScene, ref: Ref, numbers: Mapping[Ref, int], needs: TaskNeeds
    ) -> int:
        """The room that an entity is in: as stated, or as usual for its class."""
        for rest in scene.chain(ref):
            if self.is_room(scene.words[rest.parent]):
                return numbers[rest.parent]
        word = scene.words[ref]
        if isinstance(ref, str) and ref not in scene.rests:
            raise UnplaceableError(f"neither criteria nor plan show where a {word[:60]} is")
        named = (n for n, other in scene.words.items() if self.is_room(other))
        room_class = room_hint(word) or _USUAL_ROOM.get(self._known(word).class_name)
        same = (n for n in named if room_class in (None, self._known(scene.words[n]).class_name))
        room = next(same, None)
        if room is None and room_class is None:
            raise UnplaceableError(f"the plan does not say which room {word[:60]} is in")
        needs.notes.append(f"which room {word} is in is not said")
        if room is not None:
            return numbers[room]
        needs.rooms[-1] = room_class or ""
        return -1

    def _parent(
        self, scene: TaskScene, ref: Ref, numbers: Mapping[Ref, int], needs: TaskNeeds
    ) -> tuple[int, Relation | None]:
        """What a thing is initially on or in: furniture, another thing, or somewhere in a room."""
        rest = scene.rests.get(ref)
        if scene.words[ref] in _ON_FLOORS and rest is not None:
            return self._room(scene, ref, numbers, needs), Relation.ON
        if rest is None:
            return self._room(scene, ref, numbers, needs), None
        if self.is_room(scene.words[rest.parent]):
            # "Inside" a room is anywhere in it.
            on_floor = Relation.ON if rest.relation == "ON" else None
            return numbers[rest.parent], on_floor
        return numbers[rest.parent], _RELATIONS.get(rest.relation)


def import_et_plan(paths: Sequence[Path], seed: int) -> Imported:
    """Makes an episode of every task whose objects our catalogue has.

    Raises:
        FileError: if a file cannot be read, or two share a name.
    """
    made = _Importer(seed)
    for path in paths:
        made.read(path)
    return made.imported()


class _Importer:
    """The state of an import."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.catalogue: Catalogue = default_catalogue()
        self._words = SimulatorWords(self.catalogue)
        self._read: dict[str, int] = {}
        self._sha256: dict[str, str] = {}
        self._left_out: list[Fault] = []
        self._tasks: list[tuple[EtTask, TaskNeeds]] = []
        self.needs = NeedsReader(self._words)
        self._reach: dict[str, Reach] = {}
        self._linter = Linter()

    def read(self, path: Path) -> None:
        """Reads a file's tasks and what each needs."""
        if path.name in self._read:
            raise FileError(path, "", "a file of this name was given already")
        file = read_et_file(path)
        self._read[path.name] = len(file.tasks) + len(file.faults)
        self._sha256[path.name] = file.sha256
        self._left_out += file.faults
        for task in file.tasks:
            self.needs.add_rooms(task)
        for task in file.tasks:
            try:
                self._tasks.append((task, self.needs.needs(task)))
            except UnplaceableError as error:
                self._left_out.append(Fault(task.file, task.task_id, str(error)))

    def imported(self) -> Imported:
        """The houses, the episodes in them, and the report."""
        houses, scenes = self._houses()
        episodes: list[Episode] = []
        goalless: list[Underived] = []
        for task, needs in self._tasks:
            try:
                if (task.file, task.task_id) not in scenes:
                    continue
                scene, house = scenes[task.file, task.task_id]
                episode, reason = _Episode(self, task, needs, scene, house).made()
                for finding in self._linter.errors(episode, house):
                    raise FileError(task.file, finding.field, finding.reason)
            except UnplaceableError as error:
                self._left_out.append(Fault(task.file, task.task_id, str(error)))
                continue
            except FileError as error:
                reason = f"{error.field}: {error.reason}"
                self._left_out.append(Fault(task.file, task.task_id, reason))
                continue
            episodes.append(episode)
            if episode.evaluation is None:
                goalless.append(Underived(episode.episode_id, reason))
        used = {episode.house for episode in episodes}
        return Imported(
            DATASET,
            self._read,
            tuple(episodes),
            tuple(self._left_out),
            {name: house for name, house in houses.items() if name in used},
            tuple(goalless),
        )

    def _houses(self) -> tuple[dict[str, House], dict[tuple[str, str], tuple[ForeignScene, House]]]:
        """One house per environment; tasks that contradict earlier ones get their own."""
        groups: dict[str, tuple[ForeignScene, list[EtTask]]] = {}
        for task, needs in self._tasks:
            name = f"virtualhome-{task.environment}"
            scene, members = groups.setdefault(name, (ForeignScene(), []))
            try:
                _add(needs, ForeignScene())
                trial = ForeignScene(dict(scene.rooms), dict(scene.pieces))
                _add(needs, trial)
            except UnplaceableError as error:
                self._left_out.append(Fault(task.file, task.task_id, str(error)))
                continue
            scene.rooms, scene.pieces = trial.rooms, trial.pieces
            members.append(task)
        houses: dict[str, House] = {}
        found: dict[tuple[str, str], tuple[ForeignScene, House]] = {}
        for name, (scene, members) in groups.items():
            if not members:
                continue
            try:
                house = scene.house(name, scene_seed(self._seed, name), self.catalogue).house
            except PlannerError as error:
                self._left_out += [Fault(t.file, t.task_id, str(error)) for t in members]
                continue
            houses[name] = house
            found.update(((task.file, task.task_id), (scene, house)) for task in members)
        return houses, found

    def head(self, task: EtTask, house: str, notes: Sequence[str]) -> dict[str, object]:
        """The fields that do not depend on placement."""
        stem = task.file.split(".")[0]
        return {
            "version": EPISODE_VERSION,
            "episode_id": f"{stem}-{task.task_id}",
            "house": house,
            "instruction": task.text,
            "agents": (CHARACTER,),
            "source": {
                "dataset": DATASET,
                "file": task.file,
                "scene_id": str(task.environment),
                "episode_id": task.task_id,
                "sha256": self._sha256[task.file],
                "fitted": True,
                "not_taken": tuple(dict.fromkeys(notes)),
            },
        }

    @property
    def words(self) -> SimulatorWords:
        """Our meanings of VirtualHome's words."""
        return self._words

    def reach(self, house: House) -> Reach:
        """Where agents can get to in a house; cached."""
        if house.name not in self._reach:
            self._reach[house.name] = Reach(house)
        return self._reach[house.name]

    def seed_of(self, task: EtTask) -> int:
        """A seed that depends only on the task."""
        return scene_seed(self._seed, task.file, task.task_id)


def _room_name(number: int) -> str:
    return f"room-{number}"


def _piece_name(class_name: str, number: int) -> str:
    return f"{class_name}_{number}"


def _add(needs: TaskNeeds, scene: ForeignScene) -> None:
    for number, class_name in needs.rooms.items():
        scene.add_room(_room_name(number), class_name)
    for number, (class_name, room) in needs.pieces.items():
        scene.add_piece(_piece_name(class_name, number), class_name, scene.rooms[_room_name(room)])


class _Episode:
    """One task in its house."""

    def __init__(
        self, importer: _Importer, task: EtTask, needs: TaskNeeds, scene: ForeignScene, house: House
    ) -> None:
        self._importer = importer
        self._task = task
        self._needs = needs
        self._scene = scene
        self._house = house
        self._notes = list(needs.notes)
        self._placed: dict[str, ObjectPlacement] = {}

    def made(self) -> tuple[Episode, str]:
        """The episode, and why it has no evaluation, if it has none."""
        rng = np.random.default_rng(self._importer.seed_of(self._task))
        catalogue = self._importer.catalogue
        self._placed, crowded = place_things(self._house, self._things(), rng, catalogue)
        self._notes += crowded
        variables = {
            word: self._entities(class_word)
            for word, class_word in self._task.classes.items()
            if word != ROBOT and class_word not in STRUCTURE
        }
        source, goals = self._criteria()
        self._narrow((*source, *goals), variables)
        judged = evaluation_of_criteria(self._task, goals, variables, self._house)
        self._notes += judged.notes
        calls = plan_calls(self._task, self._house, self._name_of)
        criteria = Criteria(
            variables={
                word: variables[word]
                for triple in (*source, *goals)
                for word in triple[1:]
                if word != ROBOT
            },
            success=tuple(goals),  # type: ignore[arg-type]
            intermediate=tuple(source),  # type: ignore[arg-type]
            category=self._task.category,
            arms=self._task.arms,
            reference_plan=tuple(_words_of(step) for step in self._task.plan),
            reference_calls=calls,
        )
        document: dict[str, object] = {
            **self._importer.head(self._task, self._house.name, self._notes),
            "seed": self._importer.seed_of(self._task),
            "objects": tuple(self._placed.values()),
            "furniture": open_at_start(calls, self._placed.values(), self._house),
            "criteria": criteria,
        }
        bare = parse_model(document, Episode, self._task.file)
        for finding in check_episode(
            bare, self._house, catalogue, self._importer.reach(self._house)
        ):
            raise FileError(self._task.file, finding.field, finding.reason)
        if judged.evaluation is None:
            return bare, judged.reason
        read = read_evaluation(judged.evaluation, self._task.file)
        facts = facts_of_episode(bare, self._house, catalogue)
        unfit = next(iter(entity_findings(read, facts)), None)
        if unfit is not None:
            return bare, f"the evaluation language cannot say it: {unfit[1]}"
        goal = {"evaluation": judged.evaluation, "task_types": task_types(read)}
        return parse_model({**document, **goal}, Episode, self._task.file), ""

    def _name_of(self, _word: str, number: int) -> str | None:
        """Our name for an entity of the data set; None if it does not exist here."""
        if str(number) in self._placed:
            return self._placed[str(number)].name
        if number in self._needs.pieces:
            return _piece_name(self._needs.pieces[number][0], number)
        return self._scene.rooms.get(_room_name(number))

    def _things(self) -> list[ForeignThing]:
        things = []
        for number, (class_name, parent, relation) in self._needs.things.items():
            if parent in self._needs.pieces:
                place = _piece_name(self._needs.pieces[parent][0], parent)
            elif parent in self._needs.things:
                place = str(parent)
            else:
                place = self._scene.rooms[_room_name(parent)]
                place = place if relation is None else floor_name(place)
            things.append(ForeignThing(str(number), class_name, place, relation))
        return things

    def _entities(self, word: str) -> tuple[str, ...]:
        """All entities of the house that a class word may mean."""
        known = self._importer.words.find(word)
        if word == FLOOR:
            return tuple(floor_name(room.name) for room in self._house.rooms)
        if known is None:
            return ()
        if known.kind is WordKind.ROOM:
            found = [r.name for r in self._house.rooms if r.class_name == known.class_name]
        elif known.kind is WordKind.OBJECT:
            # By word, not by class: here both a pie and a cupcake are a cake.
            found = [o.name for n, o in self._placed.items() if self._needs.words[int(n)] == word]
        else:
            rooms = self._house.rooms_by_name
            hint = room_hint(word)
            found = [
                p.name
                for p in self._house.furniture
                if p.class_name == known.class_name and hint in (None, rooms[p.room].class_name)
            ]
        if not found:
            raise UnplaceableError(f"the plan does not show where a {word[:60]} is")
        return tuple(found)

    def _criteria(self) -> tuple[list[EtTriple], list[EtTriple]]:
        """Initial positions and goals, without parts of the building."""
        source, goals = split_criteria(self._task, self._importer.needs.is_thing)
        for triple in (*source, *goals):
            if self._is_building(triple):
                self._notes.append(f"({', '.join(triple)}): no part of the building is an entity")
        return (
            [triple for triple in source if not self._is_building(triple)],
            [triple for triple in goals if not self._is_building(triple)],
        )

    def _is_building(self, triple: EtTriple) -> bool:
        return any(self._task.classes.get(word, word) in STRUCTURE for word in triple[1:])

    def _narrow(self, triples: Sequence[EtTriple], variables: dict[str, tuple[str, ...]]) -> None:
        """Furniture said to be in a room is restricted to such rooms."""
        for relation, one, other in triples:
            pieces = [self._house.furniture_by_name.get(name) for name in variables.get(one, ())]
            rooms = variables.get(other, ())
            inside = tuple(p.name for p in pieces if p is not None and p.room in rooms)
            if relation == "INSIDE" and inside:
                variables[one] = inside


def _words_of(step: EtStep) -> tuple[str, ...]:
    return (step.verb, *(f"{word}_{number}" for word, number in step.arguments))
