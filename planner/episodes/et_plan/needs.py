"""What ET-Plan-Bench's tasks need of a house, in the classes of our catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from planner.episodes.et_plan.file import EtTask
from planner.episodes.et_plan.task_scene import Ref, TaskScene, task_scene
from planner.episodes.partnr.placement import UnplaceableError
from planner.episodes.virtualhome.words import (
    VirtualHomeWord,
    VirtualHomeWords,
    WordKind,
    room_hint,
)
from planner.world.vocabulary import Relation

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

    def __init__(self, words: VirtualHomeWords) -> None:
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

    def _known(self, word: str) -> VirtualHomeWord:
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
