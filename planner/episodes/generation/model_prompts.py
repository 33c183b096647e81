"""Prompts for chat models that propose tasks and write their evaluations (PARTNR-4.4).

The content is the paper's, the wording our own. Answers are asked for in the paper's forms; they
are not begun for the model, as servers treat a last message of the assistant differently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.episodes.generation.arguments import TaskType
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.states import default_states
from planner.world.vocabulary import Relation

_TASKS = """\
You invent tasks for a robot and the person whom it helps, in one house. Be brief. For each task
give the initial state (which things are where before anybody starts) and the instruction. Rules:
1. The person gives the instruction to the robot and wants its help; they may share the work.
2. Use several kinds of things, and sometimes several of one kind.
3. Some instructions speak of kinds or groups instead of single things.
4. Say what is wanted, not each movement.
5. The robot moves things and opens containers. Only the person cleans, fills, switches on or off.
6. The goal is clear and takes at least two steps. Final and initial places differ.
7. {kind}
8. No two tasks are alike. Use only furniture, rooms and kinds of things from the lists.
Things can only be moved, opened, closed, cleaned, filled, poured, and switched on or off.
"""
_KINDS: Mapping[TaskType, str] = {
    TaskType.REARRANGE: "Some instructions have words of space, some words of time.",
    TaskType.SPATIAL: "Every instruction has one of: next to, beside, near, side.",
    TaskType.TEMPORAL: "Every instruction has one of: after, then, before, finally, first.",
    TaskType.HETEROGENEOUS: "Every instruction has things cleaned, filled, or switched on or off.",
}
_FORM = """\
Answer with JSON_OUTPUT: and a list of {count} tasks, each
{{"instruction": "...", "initial_state": [{{"number": 1, "object_classes": ["..."],
"furniture_names": ["..."], "allowed_regions": ["..."]}}]}}
"furniture_names" may be ["floor"]. A record may also have "object_states", such as
{{"is_dirty": true}}. Think step by step first.
"""
PROPOSITIONS = """\
You write what must be true for an instruction to be carried out, as calls of these functions:
is_on_top(objects, furniture), is_inside(objects, furniture), is_in_room(objects, rooms),
is_on_floor(objects), is_next_to(objects, objects), is_clean(objects), is_dirty(objects),
is_filled(objects), is_empty(objects), is_powered_on(objects), is_powered_off(objects).
Each argument is one text. Objects are named as in the list; "cup_0 or cup_1" where any will do. For
all of several things write one call for each. With number=2 two of those named are enough.
Furniture is a kind, "table", or a kind in a kind of room, "table in living_room". Write one call on
a line between [FN] and [/FN], and [END] after it.
"""
ORDER = """\
You say in which order the numbered propositions of an instruction must become true. Start from any
order, which is one group. Split it only for words of order such as then, after, before, finally.
is_next_to is in the group of the placements that it is about. Every number appears once. Answer
with one line such as: proposition_order = [[0, 1], [2]]
"""
TIES = """\
You say which of the numbered propositions must use the same thing or place, or different ones.
SameArgConstraint([0, 1], [1, 1]): the second arguments of 0 and 1 are the same ("on a table", said
of two things, or "on the same table"). DifferentArgConstraint([0, 1], [1, 1]): they differ ("each
on its own table"). Argument 0 is the first one. Fixed or unrelated places need nothing. Answer with
one line such as: tie_constraints = [SameArgConstraint([0, 1], [1, 1])], or tie_constraints = []
"""


def task_rules(kind: TaskType) -> str:
    """The system's part for proposing tasks of a type."""
    return _TASKS.format(kind=_KINDS[kind])


def task_question(house: House, classes: Sequence[str], example: Episode | None, count: int) -> str:
    """What is asked for: the house, the kinds of things, one example, and the form."""
    lines = ["House:"]
    for room in house.rooms:
        pieces = [piece.name for piece in house.furniture if piece.room == room.name]
        lines.append(f"{room.name}: {', '.join(pieces) or 'nothing'}")
    lines.append(f"Kinds of things: {', '.join(classes)}")
    if example is not None:
        lines.append(f'An instruction of this kind, for another house: "{example.instruction}"')
    return "\n".join([*lines, _FORM.format(count=count)])


def scene_text(episode: Episode, house: House) -> str:
    """An episode's start and instruction, as the question for its propositions has them."""
    rooms = {piece.name: piece.room for piece in house.furniture}
    rooms |= {f"floor_{room.name}": room.name for room in house.rooms}
    held = {item.name: item for item in episode.objects}

    def room_of(parent: str) -> str:
        return rooms.get(parent) or room_of(held[parent].parent)

    lines = [
        f"Objects: {', '.join(_with_states(item.name, item.states) for item in episode.objects)}",
        f"Furniture: {', '.join(sorted({piece.class_name for piece in house.furniture}))}",
        f"Rooms: {', '.join(room.name for room in house.rooms)}",
        "Object-Furniture-Room Relations:",
        *(
            f"{item.name} {'in' if item.relation is Relation.WITHIN else 'on'} {item.parent}"
            f" in {room_of(item.parent)}"
            for item in episode.objects
        ),
        "Furniture-Room Relations:",
        *(f"{piece.name} in {piece.room}" for piece in house.furniture),
        f'Instruction: "{episode.instruction}"',
    ]
    return "\n".join(lines)


def numbered(instruction: str, calls: Sequence[str]) -> str:
    """An instruction and its propositions, as the questions for order and ties have them."""
    lines = [f"{i}: {call}" for i, call in enumerate(calls)]
    return "\n".join([f'Instruction: "{instruction}"', "Propositions:", *lines])


def _with_states(name: str, states: Mapping[str, bool]) -> str:
    said = [default_states().word(state, value=value) for state, value in states.items()]
    return f"{name} ({', '.join(said)})" if said else name
