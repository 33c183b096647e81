"""The prompts of the four questions, with the paper's variables in its order (ETPLAN-2.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.models.chat import Message, Speaker
from planner.planning.et_agent.errand import TaskClass

_MEANING: Mapping[TaskClass, str] = {
    TaskClass.NAVIGATION: "somebody wants to know where one thing is, to have it, or to have "
    "something done to it; nothing is said about where it is",
    TaskClass.NAVIGATION_RELATION: "the same, and the words say where the thing is or what it is "
    "near",
    TaskClass.PLACE: "one thing goes to a place; neither of them is described further",
    TaskClass.PLACE_RELATION: "one thing goes to a place, and the words say where the thing is, or "
    "where the place is",
    TaskClass.PLACE_TWO: "two things go to the same place",
    TaskClass.NEST_AND_PLACE: "one thing goes into another, which then goes to a place",
}
EXAMPLES: tuple[tuple[str, TaskClass], ...] = (
    ("Where did I leave the keys?", TaskClass.NAVIGATION),
    ("Could you bring me a glass?", TaskClass.NAVIGATION),
    ("Please draw the curtains.", TaskClass.NAVIGATION),
    ("Fetch the towel from the rack.", TaskClass.NAVIGATION_RELATION),
    ("I want the pear that lies in the bowl.", TaskClass.NAVIGATION_RELATION),
    ("Go to the lamp next to the sofa.", TaskClass.NAVIGATION_RELATION),
    ("Put the notebook on a shelf.", TaskClass.PLACE),
    ("The milk belongs into the fridge.", TaskClass.PLACE),
    ("Put the plum that is near the mug into the fridge.", TaskClass.PLACE_RELATION),
    ("Carry a pillow to the bed in the small bedroom.", TaskClass.PLACE_RELATION),
    ("Lay the fork and the spoon on the table.", TaskClass.PLACE_TWO),
    ("Both the soap and the sponge go to the sink.", TaskClass.PLACE_TWO),
    ("Drop the coin into the box, then put the box on the desk.", TaskClass.NEST_AND_PLACE),
)
# The paper's few-shot prompts (ETPLAN-T7) are not printed: these are ours, of things that no
# generated task is about.
_ROOM_EXAMPLES = (
    ("the ironing board", ("kitchen_0", "bathroom_0", "laundry_0"), ("laundry_0", "bathroom_0")),
    ("the umbrella", ("bedroom_0", "hall_0", "kitchen_0"), ("hall_0", "bedroom_0")),
)
_OBJECT_EXAMPLES = (
    ("the slippers", "bedroom_0", ("lamp", "bed", "wardrobe"), "['bed', 'wardrobe']"),
    ("the ladder", "bathroom_0", ("sink", "mirror"), "None"),
)


def classify_prompt(task: str) -> tuple[Message, ...]:
    """Task, definitions, examples, and the cue to think first."""
    meanings = "\n".join(f"- {each.value}: {meaning}" for each, meaning in _MEANING.items())
    examples = "\n".join(f"Task: {text}\nClass: {each.value}" for text, each in EXAMPLES)
    return _asked(
        "You sort the tasks of a household robot into classes.",
        f"Task: {task}\n\nThe classes:\n{meanings}\n\nExamples:\n{examples}\n\n"
        "Think step by step: which things are named, does one of them go somewhere, and is any of "
        "them described by where it is? Then write the name of the class, alone, on the last line.",
    )


def decompose_prompt(task: str, task_class: TaskClass) -> tuple[Message, ...]:
    """Task and class, and how parts are written."""
    return _asked(
        "You split the tasks of a household robot into parts.",
        f"Task: {task}\nClass: {task_class.value}\n\n"
        "Write one line for each part, in the order in which they have to be done:\n"
        "find: THING\n"
        "move: THING -> inside PLACE (or `on PLACE`; `at PLACE` where the task does not say)\n"
        "A thing or place is one word for its kind. Where the task says more, append relations, "
        "each about the word before it: `, inside X`, `, on X`, `, close to X`, `, facing X`.\n"
        "Example: Put the plum that is near the mug into the fridge in the kitchen.\n"
        "move: plum, close to mug -> inside fridge, inside kitchen\n"
        "Write nothing else.",
    )


def rooms_prompt(
    targets: Sequence[str], rooms: Sequence[str], *, thinks: bool = False, few_shot: bool = False
) -> tuple[Message, ...]:
    """What is sought, and the rooms; with `few_shot`, after solved examples."""
    solved = [
        f"A robot looks for: {target}\nRooms: {list(known)!r}\n"
        f"Answer: {[*first, *(room for room in known if room not in first)]!r}"
        for target, known, first in _ROOM_EXAMPLES
    ]
    return _asked(
        "You know where people keep their things.",
        f"{_examples(solved, few_shot)}A robot looks for: {_together(targets)}\n"
        f"Rooms: {list(rooms)!r}\n\n"
        "Put all of these rooms in the order in which to look there, the most likely first. "
        f"{_as_list('all of the rooms, each once', thinks)}",
    )


def objects_prompt(
    targets: Sequence[str],
    room: str,
    visible: Sequence[str],
    *,
    thinks: bool = False,
    few_shot: bool = False,
) -> tuple[Message, ...]:
    """Room, what is in view, and what is sought; with `few_shot`, after solved examples."""
    solved = [
        f"A robot stands in: {place}\nIt sees: {list(seen)!r}\nIt looks for: {target}\n"
        f"Answer: {answer}"
        for target, place, seen, answer in _OBJECT_EXAMPLES
    ]
    return _asked(
        "You know where people keep their things.",
        f"{_examples(solved, few_shot)}A robot stands in: {room}\n"
        f"It sees: {list(dict.fromkeys(visible))!r}\n"
        f"It looks for: {_together(targets)}, which is not in view.\n\n"
        "Which of the large objects in view may hide it, inside, on top or behind? Name those that "
        "are worth walking to, the most likely first, or None if there is none. "
        f"{_as_list('names of the list', thinks)}",
    )


def _examples(solved: Sequence[str], few_shot: bool) -> str:
    return "Examples:\n\n" + "\n\n".join(solved) + "\n\nNow yours.\n" if few_shot else ""


def _as_list(what: str, thinks: bool) -> str:
    end = f"a Python list of {what}"
    return f"Think first; write {end} alone on the last line." if thinks else f"Write only {end}."


def _together(targets: Sequence[str]) -> str:
    first, *others = targets
    return first if not others else f"{first}, together with {' and '.join(others)}"


def _asked(system: str, words: str) -> tuple[Message, ...]:
    return (Message(Speaker.SYSTEM, system), Message(Speaker.USER, words))
