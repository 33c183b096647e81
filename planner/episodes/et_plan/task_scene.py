"""The scene implied by a task: what exists, and where it is initially.

A criterion that the plan does not bring about gives a position; otherwise the plan shows it: what
is walked to after a room, a piece or an opened container is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from planner.episodes.et_plan.file import PUTS, EtTask, EtTriple
from planner.world.episode import ROBOT
from planner.world.graph_file import word_of

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
