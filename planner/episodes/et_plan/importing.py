"""ET-Plan-Bench's tasks as episodes: its criteria kept, what PARTNR's language can say judged.

The benchmark's graphs are VirtualHome's and not here. What a task needs is read from its own
plan: which rooms, furniture and things there are, and where. A house is generated for each
environment. Criteria are kept whole (`criteria`); the evaluation says those of them that it can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from pydantic import JsonValue, ValidationError

from planner.episodes.et_plan.calls import plan_calls
from planner.episodes.et_plan.file import EtStep, EtTask, EtTriple, read_et_file
from planner.episodes.foreign.scene import ForeignScene, ForeignThing, place_things
from planner.episodes.imported import Imported
from planner.episodes.lint.goal import task_types
from planner.episodes.partnr.houses import scene_seed
from planner.episodes.partnr.importing import AGENTS, Underived
from planner.episodes.partnr.instruction_file import Fault
from planner.episodes.partnr.placement import UnplaceableError
from planner.episodes.virtualhome.words import VirtualHomeWords, WordKind, room_hint
from planner.evaluation.entity_checks import entity_findings, facts_of_episode
from planner.evaluation.language import read_evaluation
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import EPISODE_VERSION, ROBOT, Criteria, Episode
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import check_episode
from planner.world.reach import Reach
from planner.world.vocabulary import Relation, floor_name

DATASET = "et-plan-bench"
# VirtualHome's CLOSE is less than this from a centre to a box (ETPLAN-3.1).
CLOSE_M = 1.5
_PUTS = frozenset({"PUT", "PUTIN", "PUTBACK"})
_USUAL_ROOM = {"bed": "bedroom", "toilet": "bathroom", "shower": "bathroom", "fridge": "kitchen"}


@dataclass
class _Needs:
    """What a task's plan tells of its scene.

    Attributes:
        rooms: ids of rooms to their class.
        pieces: ids of furniture to its class and the id of its room.
        things: ids of objects to their class, their parent's id and how they are there.
        moved: (class of an object, class of where it is put) in the plan's order.
    """

    rooms: dict[int, str] = field(default_factory=dict)
    pieces: dict[int, tuple[str, int]] = field(default_factory=dict)
    things: dict[int, tuple[str, int, Relation | None]] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    moved: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def import_et_plan(paths: Sequence[Path], seed: int) -> Imported:
    """Makes an episode of every task whose things our catalogue has.

    Raises:
        FileError: where a file cannot be read, or two share a name.
    """
    made = _Importer(seed)
    for path in paths:
        made.read(path)
    return made.imported()


class _Importer:
    """An import as it goes on."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._catalogue: Catalogue = default_catalogue()
        self._words = VirtualHomeWords(self._catalogue)
        self._read: dict[str, int] = {}
        self._sha256: dict[str, str] = {}
        self._left_out: list[Fault] = []
        self._tasks: list[tuple[EtTask, _Needs]] = []
        self._reach: dict[str, Reach] = {}

    def read(self, path: Path) -> None:
        """Reads a file's tasks and what each needs."""
        if path.name in self._read:
            raise FileError(path, "", "a file of this name was given already")
        file = read_et_file(path)
        self._read[path.name] = len(file.tasks) + len(file.faults)
        self._sha256[path.name] = file.sha256
        self._left_out += file.faults
        for task in file.tasks:
            try:
                self._tasks.append((task, self._needs(task)))
            except UnplaceableError as error:
                self._left_out.append(Fault(task.file, task.task_id, str(error)))

    def _needs(self, task: EtTask) -> _Needs:
        needs = _Needs()
        room = piece = None
        opened = False
        for step in task.plan:
            for word, number in step.arguments:
                needs.words.setdefault(number, word)
            if not step.arguments:
                continue
            word, number = step.arguments[0]
            known = self._words.find(word)
            if known is None:
                raise UnplaceableError(f"the catalogue has nothing like {word[:60]!r}")
            if known.nearest:
                needs.notes.append(f"{word} is a {known.class_name} here")
            if known.kind is WordKind.ROOM:
                needs.rooms[number] = known.class_name
                room, piece, opened = number, None, False
            elif known.kind is WordKind.FURNITURE:
                if number not in needs.pieces:
                    room = self._room_of(known.class_name, word, room, needs)
                    needs.pieces[number] = (known.class_name, room)
                opened = step.verb == "OPEN" or (opened and piece == number)
                piece = number
            elif number not in needs.things:
                relation = Relation.WITHIN if opened else None
                parent = piece if piece is not None else room
                if parent is None:
                    raise UnplaceableError(f"the plan does not say which room {word[:60]} is in")
                needs.things[number] = (known.class_name, parent, relation)
            self._note_put(step, needs)
        self._check_words(task)
        if not needs.rooms:
            raise UnplaceableError("the plan names no room")
        return needs

    def _room_of(self, class_name: str, word: str, room: int | None, needs: _Needs) -> int:
        if room is not None:
            return room
        wanted = room_hint(word) or _USUAL_ROOM.get(class_name)
        if wanted is None:
            raise UnplaceableError(f"the plan does not say which room {word[:60]} is in")
        needs.rooms[-1] = wanted
        return -1

    def _note_put(self, step: EtStep, needs: _Needs) -> None:
        if step.verb not in _PUTS or len(step.arguments) != 2:
            return
        (thing, _), (place, number) = step.arguments
        needs.moved.append((thing, place))
        if number not in needs.pieces and number not in needs.things:
            raise UnplaceableError(f"the plan puts {thing[:60]} where it never went: {place[:60]}")

    def _check_words(self, task: EtTask) -> None:
        for word in task.classes.values():
            if word not in (ROBOT, "floor") and self._words.find(word) is None:
                raise UnplaceableError(f"the catalogue has nothing like {word[:60]!r}")

    def imported(self) -> Imported:
        """The houses, the episodes in them, and the account."""
        houses, scenes = self._houses()
        episodes: list[Episode] = []
        goalless: list[Underived] = []
        for task, needs in self._tasks:
            try:
                if (task.file, task.task_id) not in scenes:
                    continue
                scene, house = scenes[task.file, task.task_id]
                episode, reason = _Episode(self, task, needs, scene, house).made()
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

    def _houses(
        self,
    ) -> tuple[dict[str, House], dict[tuple[str, str], tuple[ForeignScene, House]]]:
        """A house an environment; tasks that do not agree with the earlier ones get their own."""
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
                house = scene.house(name, scene_seed(self._seed, name), self._catalogue).house
            except PlannerError as error:
                self._left_out += [Fault(t.file, t.task_id, str(error)) for t in members]
                continue
            houses[name] = house
            found.update(((task.file, task.task_id), (scene, house)) for task in members)
        return houses, found

    def head(self, task: EtTask, house: str, notes: Sequence[str]) -> dict[str, object]:
        """The fields that need no placing."""
        stem = task.file.split(".")[0]
        return {
            "version": EPISODE_VERSION,
            "episode_id": f"{stem}-{task.task_id}",
            "house": house,
            "instruction": task.text,
            "agents": AGENTS[:1],
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
    def catalogue(self) -> Catalogue:
        """The classes."""
        return self._catalogue

    @property
    def words(self) -> VirtualHomeWords:
        """What VirtualHome's words are here."""
        return self._words

    def reach(self, house: House) -> Reach:
        """Where agents get in a house; made once."""
        if house.name not in self._reach:
            self._reach[house.name] = Reach(house)
        return self._reach[house.name]

    def seed_of(self, task: EtTask) -> int:
        """A seed that depends on nothing but the task."""
        return scene_seed(self._seed, task.file, task.task_id)


def _room_name(number: int) -> str:
    return f"room-{number}"


def _piece_name(class_name: str, number: int) -> str:
    return f"{class_name}_{number}"


def _add(needs: _Needs, scene: ForeignScene) -> None:
    for number, class_name in needs.rooms.items():
        scene.add_room(_room_name(number), class_name)
    for number, (class_name, room) in needs.pieces.items():
        scene.add_piece(_piece_name(class_name, number), class_name, scene.rooms[_room_name(room)])


class _Episode:
    """One task in its house."""

    def __init__(
        self, importer: _Importer, task: EtTask, needs: _Needs, scene: ForeignScene, house: House
    ) -> None:
        self._importer = importer
        self._task = task
        self._needs = needs
        self._scene = scene
        self._house = house
        self._notes = list(needs.notes)
        self._placed: dict[str, ObjectPlacement] = {}

    def made(self) -> tuple[Episode, str]:
        """The episode, and why it has no evaluation where it has none."""
        rng = np.random.default_rng(self._importer.seed_of(self._task))
        catalogue = self._importer.catalogue
        self._placed, crowded = place_things(self._house, self._things(), rng, catalogue)
        self._notes += crowded
        variables = {
            word: self._entities(class_word)
            for word, class_word in self._task.classes.items()
            if word != ROBOT
        }
        source, goals = self._split()
        self._narrow((*source, *goals), variables)
        criteria = Criteria(
            variables=variables,
            success=tuple(goals),  # type: ignore[arg-type]
            intermediate=tuple(source),  # type: ignore[arg-type]
            category=self._task.category,
            reference_plan=tuple(_words_of(step) for step in self._task.plan),
            reference_calls=plan_calls(self._task.plan, self._name_of),
        )
        evaluation, reason = self._evaluation(goals, variables)
        document: dict[str, object] = {
            **self._importer.head(self._task, self._house.name, self._notes),
            "seed": self._importer.seed_of(self._task),
            "objects": tuple(self._placed.values()),
            "criteria": criteria,
        }
        bare = self._validated(document)
        for finding in check_episode(
            bare, self._house, catalogue, self._importer.reach(self._house)
        ):
            raise FileError(self._task.file, finding.field, finding.reason)
        if evaluation is None:
            return bare, reason
        read = read_evaluation(evaluation, self._task.file)
        facts = facts_of_episode(bare, self._house, catalogue)
        unfit = next(iter(entity_findings(read, facts)), None)
        if unfit is not None:
            return bare, f"the evaluation language cannot say it: {unfit[1]}"
        goal = {"evaluation": evaluation, "task_types": task_types(read)}
        return self._validated({**document, **goal}), ""

    def _name_of(self, _word: str, number: int) -> str | None:
        """What an entity of the dataset is called here; None where it is not here."""
        if str(number) in self._placed:
            return self._placed[str(number)].name
        if number in self._needs.pieces:
            return _piece_name(self._needs.pieces[number][0], number)
        return self._scene.rooms.get(_room_name(number))

    def _validated(self, document: Mapping[str, object]) -> Episode:
        try:
            return Episode.model_validate(document)
        except ValidationError as error:
            raise from_validation(self._task.file, error) from None

    def _things(self) -> list[ForeignThing]:
        things = []
        for number, (class_name, parent, relation) in self._needs.things.items():
            if parent in self._needs.pieces:
                place = _piece_name(self._needs.pieces[parent][0], parent)
            else:
                place = self._scene.rooms[_room_name(parent)]
            things.append(ForeignThing(str(number), class_name, place, relation))
        return things

    def _entities(self, word: str) -> tuple[str, ...]:
        """All entities of the house that a class word may mean."""
        known = self._importer.words.find(word)
        if word == "floor":
            return tuple(floor_name(room.name) for room in self._house.rooms)
        if known is None:
            return ()
        if known.kind is WordKind.ROOM:
            found = [r.name for r in self._house.rooms if r.class_name == known.class_name]
        elif known.kind is WordKind.OBJECT:
            # By word, not by class: a pie and a cupcake are both a cake here.
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

    def _split(self) -> tuple[list[EtTriple], list[EtTriple]]:
        """Where things are at first, and what is asked (ETPLAN-4.3).

        The published layout has both in one text: what the plan does not bring about for a thing
        that it moves, or all that is said of a thing that is only to be found, is where it is.
        """
        source = list(self._task.intermediate)
        goals: list[EtTriple] = []
        classes = self._task.classes
        targets: dict[str, set[str]] = defaultdict(set)
        for thing, place in self._needs.moved:
            targets[thing].add(place)
        for triple in self._task.success:
            relation, one, other = triple
            word = classes.get(one, one)
            about_place = relation in ("INSIDE", "ON", "FACING") and one != ROBOT
            if self._task.intermediate or not about_place:
                goals.append(triple)
            elif word in targets:
                (goals if classes.get(other, other) in targets[word] else source).append(triple)
            elif self._is_object(word) or not targets:
                source.append(triple)
            else:
                goals.append(triple)
        return source, goals or list(self._task.success)

    def _narrow(self, triples: Sequence[EtTriple], variables: dict[str, tuple[str, ...]]) -> None:
        """Furniture that is said to be in a room is only that of such rooms."""
        for relation, one, other in triples:
            pieces = [self._house.furniture_by_name.get(name) for name in variables.get(one, ())]
            rooms = variables.get(other, ())
            inside = tuple(p.name for p in pieces if p is not None and p.room in rooms)
            if relation == "INSIDE" and inside:
                variables[one] = inside

    def _nests(self, triple: EtTriple) -> bool:
        """Whether one thing goes into or onto another one."""
        relation, one, other = triple
        classes = self._task.classes
        things = (self._is_object(classes.get(word, word)) for word in (one, other))
        return relation in ("INSIDE", "ON") and all(things)

    def _is_object(self, word: str) -> bool:
        known = self._importer.words.find(word)
        return known is not None and known.kind is WordKind.OBJECT

    def _evaluation(
        self, goals: Sequence[EtTriple], variables: Mapping[str, tuple[str, ...]]
    ) -> tuple[dict[str, JsonValue] | None, str]:
        """The criteria that PARTNR's language has, as propositions."""
        propositions: list[JsonValue] = []
        used: dict[str, list[tuple[int, int]]] = defaultdict(list)
        unsaid: list[str] = []
        for triple in goals:
            said = self._proposition(triple, variables)
            if said is None:
                unsaid.append(f"({', '.join(triple)}) is kept in criteria only")
                continue
            for argument, word in enumerate(triple[1:]):
                if len(variables.get(word, ())) > 1:
                    used[word].append((len(propositions), argument))
            propositions.append(said)
        if any(self._nests(triple) for triple in (*self._task.intermediate, *goals)):
            return None, "a thing within a thing, and the order of the two, is not in the language"
        if not propositions:
            return None, "the evaluation language has no word for being near the robot"
        self._notes += unsaid
        ties: list[JsonValue] = [
            {
                "type": "SameArgConstraint",
                "proposition_indices": [i for i, _ in members],
                "arg_indices": [argument for _, argument in members],
            }
            for members in used.values()
            if len(members) > 1
        ]
        document: dict[str, JsonValue] = {"propositions": propositions}
        if ties:
            document["constraints"] = ties
        return document, ""

    def _proposition(
        self, triple: EtTriple, variables: Mapping[str, tuple[str, ...]]
    ) -> JsonValue | None:
        relation, one, other = triple
        if ROBOT in (one, other) or relation == "FACING":
            return None
        first, second = list[JsonValue](variables[one]), list[JsonValue](variables[other])
        classes = self._task.classes
        if relation == "CLOSE":
            args: dict[str, JsonValue] = {"entities_a": first, "entities_b": second}
            return {"function_name": "is_next_to", "args": {**args, "l2_threshold": CLOSE_M}}
        if not self._is_object(classes[one]):
            return None
        known = self._importer.words.find(classes[other])
        if known is not None and known.kind is WordKind.ROOM:
            return {"function_name": "is_in_room", "args": {"objects": first, "rooms": second}}
        name = "is_inside" if relation == "INSIDE" else "is_on_top"
        pieces = [self._house.furniture_by_name.get(n) for n in variables[other]]
        if name == "is_inside" and any(p and not p.interiors and p.surfaces for p in pieces):
            name = "is_on_top"
            self._notes.append(f"inside a {classes[other]} is on it here")
        elif name == "is_on_top" and any(p and p.interiors and not p.surfaces for p in pieces):
            name = "is_inside"
            self._notes.append(f"on a {classes[other]} is inside it here")
        return {"function_name": name, "args": {"objects": first, "receptacles": second}}


def _words_of(step: EtStep) -> tuple[str, ...]:
    return (step.verb, *(f"{word}_{number}" for word, number in step.arguments))
