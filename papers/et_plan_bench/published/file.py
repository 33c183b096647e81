"""ET-Plan-Bench's JSON-lines tasks, and the scene that each of them implies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from planner.episodes.importing.foreign import json_lines, read_foreign
from planner.episodes.importing.importer import Fault
from planner.world.episode import ROBOT
from planner.world.errors import FileError
from planner.world.files import parse_model
from planner.world.graph_file import word_of

PUTS = frozenset({"PUT", "PUTIN", "PUTBACK"})
RELATIONS = ("CLOSE", "INSIDE", "ON", "FACING")
ROBOT_WORDS = frozenset({"robot", "character", "char0"})
MAX_TRIPLES = 50
# Suffix of a class that a criterion relates to itself, such as a towel on a towel.
SECOND = " (2)"
MAX_STEPS = 500

Word = Annotated[str, Field(min_length=1, max_length=60)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,80}$")]
_TRIPLE = re.compile(r"\(([^()]*)\)")
_STEPS = re.compile(r"^\s*STEP_1\s*:(?P<first>.*?)STEP_2\s*:(?P<second>.*)$", re.DOTALL)
_LINE = re.compile(r"^\s*<char\d+>\s*\[(?P<verb>\w{1,20})\](?P<rest>.*)$")
_ARGUMENT = re.compile(r"<([^<>]{1,60})>\s*\((\d{1,9})\)")


class _Foreign(BaseModel):
    # Additional fields of the task generators are noted, not refused.
    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    @property
    def unknown_fields(self) -> tuple[str, ...]:
        """The fields of the record that are not read."""
        return tuple(
            f"the field {name[:60]!r} is not known" for name in sorted(self.model_extra or {})
        )


class _Published(_Foreign):
    task: Annotated[str, Field(min_length=1, max_length=2000)]
    task_completion_criterion: Annotated[str, Field(min_length=1, max_length=4000)]
    env_id: Annotated[int, Field(ge=0, le=10_000)]
    ground_truth_plan: Annotated[tuple[Word | str, ...], Field(max_length=MAX_STEPS)] = ()


class _Entity(_Foreign):
    class_: Annotated[Word, Field(alias="class")]
    id: Annotated[int, Field(ge=0)] | None = None


class _Specified(_Foreign):
    id: Identifier
    category: Word
    scene: Annotated[int, Field(ge=0, le=10_000)]
    split: Word = "none"
    task: Annotated[str, Field(min_length=1, max_length=2000)]
    objects: Annotated[dict[Word, _Entity], Field(max_length=MAX_TRIPLES)]
    intermediate: Annotated[tuple[tuple[Word, Word, Word], ...], Field(max_length=MAX_TRIPLES)] = ()
    success: Annotated[
        tuple[tuple[Word, Word, Word], ...], Field(min_length=1, max_length=MAX_TRIPLES)
    ]
    prior: Word = "P"
    arms: Literal[1, 2] | None = None
    init: object = None
    variants: object = None
    environment: object = None
    gt: Annotated[tuple[tuple[Word | int, ...], ...], Field(max_length=MAX_STEPS)] = ()


@dataclass(frozen=True, slots=True)
class EtStep:
    """A step of the data set's own plan: verb, then (class, id) of each argument."""

    verb: str
    arguments: tuple[tuple[str, int], ...]


EtTriple = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class EtTask:
    """A task; triples refer to variables, `classes` and `numbers` give the class and id of each.

    `arms` is how many things may be carried at a time: the record's, or else as many as its plan
    carries. `unknown_fields` of its record are noted and not read.
    """

    file: str
    task_id: str
    environment: int
    category: str
    text: str
    classes: dict[str, str]
    intermediate: tuple[EtTriple, ...]
    success: tuple[EtTriple, ...]
    plan: tuple[EtStep, ...]
    numbers: dict[str, int] = field(default_factory=dict)
    arms: Literal[1, 2] = 1
    unknown_fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EtFile:
    """A file's readable tasks and the fault of each other line."""

    path: Path
    sha256: str
    tasks: tuple[EtTask, ...]
    faults: tuple[Fault, ...]


def read_et_file(path: Path) -> EtFile:
    """Reads a JSON-lines file.

    Raises:
        FileError: if it cannot be read; a single bad line is a `Fault`.
    """
    file = read_foreign(path)
    tasks: list[EtTask] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    for number, document in json_lines(file):
        try:
            if isinstance(document, FileError):
                raise document
            task = _task(path, number, document)
            if task.task_id in seen:
                raise FileError(path, f"line {number}.id", f"{task.task_id} is used twice")
        except FileError as error:
            faults.append(Fault(path.name, f"line {number}", f"{error.field}: {error.reason}"))
            continue
        seen.add(task.task_id)
        tasks.append(task)
    return EtFile(path, file.sha256, tuple(tasks), tuple(faults))


def _task(path: Path, number: int, document: object) -> EtTask:
    if isinstance(document, dict) and "success" in document:
        return _specified(path, parse_model(document, _Specified, path))
    return _published(path, number, parse_model(document, _Published, path))


def _published(path: Path, number: int, raw: _Published) -> EtTask:
    field = "task_completion_criterion"
    steps = _STEPS.match(raw.task_completion_criterion)
    plan = tuple(_line(path, i, line) for i, line in enumerate(raw.ground_truth_plan))
    first = tuple(_triples(path, field, steps["first"])) if steps else ()
    last = tuple(_triples(path, field, steps["second"] if steps else raw.task_completion_criterion))
    return EtTask(
        file=path.name,
        task_id=str(number),
        environment=raw.env_id,
        category=path.name.split(".")[0],
        text=" ".join(raw.task.split()),
        classes={
            word: word.removesuffix(SECOND) for triple in (*first, *last) for word in triple[1:]
        },
        intermediate=first,
        success=last,
        plan=plan,
        arms=_arms(plan),
        unknown_fields=raw.unknown_fields,
    )


def _arms(plan: Sequence[EtStep]) -> Literal[1, 2]:
    """How many things a plan carries at a time; the benchmark's characters have two hands."""
    held = most = 0
    for step in plan:
        held += (step.verb == "GRAB") - (step.verb in PUTS)
        most = max(most, held)
    return 1 if most < 2 else 2


def _triples(path: Path, field: str, text: str) -> Iterator[EtTriple]:
    found = _TRIPLE.findall(text)
    if _TRIPLE.sub("", text).strip():
        raise FileError(path, field, "has text outside of its triples")
    if not 0 < len(found) <= MAX_TRIPLES:
        raise FileError(path, field, f"has {len(found)} triples, not 1 to {MAX_TRIPLES}")
    for triple in dict.fromkeys(found):
        words = tuple(word.strip() for word in triple.split(","))
        relation, one, other = _checked(path, field, words)
        yield relation, one, other + SECOND if one == other else other


def _checked(path: Path, field: str, words: Sequence[str]) -> EtTriple:
    if len(words) != 3 or not all(words):
        raise FileError(path, field, f"({', '.join(words)[:60]}) is not a triple")
    relation, one, other = words
    if relation not in RELATIONS:
        raise FileError(path, field, f"{relation[:30]!r} is not one of {', '.join(RELATIONS)}")
    return relation, _robot(one), _robot(other)


def _robot(word: str) -> str:
    return "robot" if word.lower() in ROBOT_WORDS else word


def _line(path: Path, index: int, line: str) -> EtStep:
    match = _LINE.match(line[:300])
    if match is None:
        raise FileError(path, f"ground_truth_plan.{index}", f"{line[:40]!r} is not a script line")
    arguments = tuple(
        (name.strip(), int(number)) for name, number in _ARGUMENT.findall(match["rest"])
    )
    return EtStep(match["verb"].upper(), arguments)


def _specified(path: Path, raw: _Specified) -> EtTask:
    def triples(field: str, items: Sequence[Sequence[str]]) -> tuple[EtTriple, ...]:
        made = tuple(_checked(path, field, item) for item in items)
        for triple in made:
            for word in triple[1:]:
                if word != "robot" and word not in raw.objects:
                    raise FileError(path, field, f"{word!r} is not among the objects")
        return made

    plan = tuple(_gt(path, i, step) for i, step in enumerate(raw.gt))
    return EtTask(
        file=path.name,
        task_id=raw.id,
        environment=raw.scene,
        category=raw.category,
        text=" ".join(raw.task.split()),
        classes={name: entity.class_ for name, entity in raw.objects.items()},
        intermediate=triples("intermediate", raw.intermediate),
        success=triples("success", raw.success),
        plan=plan,
        numbers={n: e.id for n, e in raw.objects.items() if e.id is not None},
        arms=raw.arms or _arms(plan),
        unknown_fields=raw.unknown_fields,
    )


def _gt(path: Path, index: int, step: Sequence[str | int]) -> EtStep:
    verb, *rest = step if step else ("",)
    pairs = list(zip(rest[::2], rest[1::2], strict=False))
    if (
        not isinstance(verb, str)
        or len(rest) % 2
        or not all(isinstance(name, str) and isinstance(number, int) for name, number in pairs)
    ):
        raise FileError(
            path, f"gt.{index}", "is not a verb with a class and an id for each argument"
        )
    return EtStep(verb.upper(), tuple((str(name), int(number)) for name, number in pairs))


# The scene implied by a task: what exists, and where it is initially.
#
# A criterion that the plan does not bring about gives a position; otherwise the plan shows it: what
# is walked to after a room, a piece or an opened container is there.

FLOOR = "floor"
# Parts of the building, which do not become entities.
STRUCTURE = frozenset({"ceiling", "doorjamb", "wall", "walls", "window"})

# An entity: its number, or its word if only a criterion names it.
Ref = int | str
Kind = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Rest:
    """What an entity is on or inside of; `relation` is "" if unknown."""

    parent: Ref
    relation: str = ""
    by_criterion: bool = False


@dataclass
class TaskScene:
    """What one task implies.

    Attributes:
        words: the class of each entity.
        rests: the initial position of each, as far as known.
        grabbed, opened: what the plan takes and opens.
        facing: pairs of which the first faces the second.
        near: (thing, place) if the plan reaches the second from the position of the first.
        puts: (thing, place) that the plan puts into or onto each other, with the required relation.
    """

    words: dict[Ref, str] = field(default_factory=dict)
    rests: dict[Ref, Rest] = field(default_factory=dict)
    grabbed: set[int] = field(default_factory=set)
    opened: set[int] = field(default_factory=set)
    facing: list[tuple[Ref, Ref]] = field(default_factory=list)
    near: list[tuple[int, int]] = field(default_factory=list)
    puts: dict[tuple[int, int], str] = field(default_factory=dict)

    def chain(self, ref: Ref) -> Iterator[Rest]:
        """What an entity is on or in, what that is on or in, and so on."""
        seen = {ref}
        while (rest := self.rests.get(ref)) is not None and rest.parent not in seen:
            yield rest
            ref = rest.parent
            seen.add(ref)


def asked_relation(task: EtTask, thing: str, place: str) -> str:
    """ON or INSIDE, as a criterion requires for a thing and a place; "" if none does."""
    words = {**task.classes, ROBOT: ROBOT}
    for relation, one, other in (*task.success, *task.intermediate):
        if relation in ("ON", "INSIDE") and (words[one], words[other]) == (thing, place):
            return relation
    return ""


def is_brought_about(task: EtTask, triple: EtTriple) -> bool:
    """Whether the plan puts a thing of the first class at one of the second."""
    words = tuple(task.classes.get(word, word) for word in triple[1:])
    return any(
        step.verb in PUTS and words == tuple(word for word, _ in step.arguments)
        for step in task.plan
    )


def split_criteria(task: EtTask, is_thing: Kind) -> tuple[list[EtTriple], list[EtTriple]]:
    """Separates initial positions from goals (ETPLAN-4.3).

    The published format has both in one text. A statement gives an initial position if the plan
    moves the thing but does not bring the statement about, or only searches for the thing.
    """
    targets: dict[str, set[str]] = {}
    for step in task.plan:
        if step.verb in PUTS and len(step.arguments) == 2:
            (thing, _), (place, _) = step.arguments
            targets.setdefault(thing, set()).add(place)
    source, goals = list(task.intermediate), list[EtTriple]()
    for triple in task.success:
        relation, one, other = triple
        word, place = task.classes.get(one, one), task.classes.get(other, other)
        about_place = relation in ("INSIDE", "ON", "FACING") and one != ROBOT
        if task.intermediate or not about_place:
            goals.append(triple)
        elif word in targets:
            (goals if place in targets[word] else source).append(triple)
        else:
            (source if is_thing(word) or not targets else goals).append(triple)
    return source, goals or list(task.success)


def task_scene(task: EtTask, is_room: Kind, is_thing: Kind) -> TaskScene:
    """Reads a task's plan and its criteria."""
    return _Reader(task, is_room, is_thing).scene()


class _Reader:
    def __init__(self, task: EtTask, is_room: Kind, is_thing: Kind) -> None:
        self._task, self._is_room, self._is_thing = task, is_room, is_thing
        self._scene = TaskScene()
        # Opening furniture to put something in does not mean that the thing came from there.
        self._targets = {
            step.arguments[1][1]
            for step in task.plan
            if step.verb in PUTS and len(step.arguments) == 2
        }

    def scene(self) -> TaskScene:
        self._read_plan()
        for triple in (*self._task.intermediate, *self._task.success):
            if ROBOT not in triple:
                self._read_triple(triple)
        for name, word in self._task.classes.items():
            if name != ROBOT and word not in (FLOOR, *STRUCTURE):
                self._ref(name)
        return self._scene

    def _read_plan(self) -> None:
        scene, room, way, last = self._scene, None, list[int](), None
        for step in self._task.plan:
            for word, number in step.arguments:
                scene.words.setdefault(number, word)
            if not step.arguments:
                continue
            word, number = step.arguments[0]
            if step.verb == "WALK" and self._is_room(word):
                room, way = number, []
                continue
            if number not in scene.grabbed:
                self._note_rest(number, room, way)
            way = [*way, number] if step.verb in ("WALK", "OPEN") else []
            if step.verb == "WALK":
                last = number
            if step.verb == "OPEN":
                scene.opened.add(number)
            elif step.verb == "GRAB":
                scene.grabbed.add(number)
            elif step.verb in PUTS and len(step.arguments) == 2:
                place, into = step.arguments[1]
                relation = asked_relation(self._task, word, place)
                scene.puts[number, into] = relation or ("INSIDE" if step.verb == "PUTIN" else "ON")
                self._note_rest(into, room, way)
                if last not in (None, into):
                    scene.near.append((last, into))

    def _note_rest(self, number: int, room: int | None, way: list[int]) -> None:
        """A thing is at the end of the way to it, everything else in the room."""
        scene = self._scene
        if number in scene.rests:
            return
        pieces = [n for n in way if n not in (number, *self._targets)]
        pieces = [n for n in pieces if not self._is_thing(scene.words[n])]
        if self._is_thing(scene.words[number]) and pieces:
            relation = "INSIDE" if pieces[-1] in scene.opened else ""
            scene.rests[number] = Rest(pieces[-1], relation)
        elif room is not None:
            scene.rests[number] = Rest(room)

    def _ref(self, name: str) -> Ref:
        """The entity for a word of a criterion: by number, or the first of its class."""
        word = self._task.classes[name]
        number = self._task.numbers.get(name)
        same = (n for n, known in self._scene.words.items() if word_of(known) == word_of(word))
        # A second entity of a class has a name of its own.
        first = next(same, name) if name == word else name
        ref = number if number is not None else first
        self._scene.words.setdefault(ref, word)
        return ref

    def _read_triple(self, triple: EtTriple) -> None:
        relation, one, other = triple
        place = self._task.classes[other]
        if self._task.classes[one] in (FLOOR, *STRUCTURE) or place in STRUCTURE:
            return
        scene, ref = self._scene, self._ref(one)
        rest = scene.rests.get(ref)
        if place == FLOOR:
            rooms = [r.parent for r in scene.chain(ref) if self._is_room(scene.words[r.parent])]
            if rooms:
                scene.rests[ref] = Rest(rooms[-1], "ON", by_criterion=True)
            return
        target = self._ref(other)
        if ref == target or any(r.parent == ref for r in scene.chain(target)):
            return
        if relation in ("CLOSE", "FACING"):
            if relation == "FACING":
                scene.facing.append((ref, target))
            if rest is not None and not self._is_room(place):
                scene.rests.setdefault(target, Rest(rest.parent, rest.relation))
        elif not self._brings_about(ref, target):
            self._place(ref, Rest(target, relation, by_criterion=True))

    def _place(self, ref: Ref, found: Rest) -> None:
        scene, old = self._scene, self._scene.rests.get(ref)
        in_room = self._is_room(scene.words[found.parent])
        if in_room and old is not None and not self._is_room(scene.words[old.parent]):
            # It is on something there, so that is in the room.
            if not any(rest.by_criterion for rest in scene.chain(old.parent)):
                scene.rests[old.parent] = found
            return
        scene.rests[ref] = found
        if old is not None and not in_room:
            scene.rests.setdefault(found.parent, Rest(old.parent))

    def _brings_about(self, ref: Ref, target: Ref) -> bool:
        """Whether the plan puts a thing of this class at one of that class."""
        words = self._scene.words
        return any(
            (words[thing], words[place]) == (words[ref], words[target])
            for thing, place in self._scene.puts
        )
