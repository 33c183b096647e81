"""The ranker that asks a language model: four questions, each with its prompt and its grammar."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

from papers.et_plan_bench.parts import Ranker, RankerName, TaskClass
from papers.et_plan_bench.questions import (
    ClassReply,
    ErrandsReply,
    NamesReply,
    right_errands,
    right_names,
    right_word,
)
from papers.et_plan_bench.rankers import class_of
from planner.models.caller import OnCall, ignore_call
from planner.models.chat import ChatModel, Message, Reader, Reference, ReferenceReply, Role, Speaker
from planner.models.replies.form import ReplyForm
from planner.planning.errands import Errand, read_errands
from planner.planning.part import PlannerRequest
from planner.planning.planner_model import AsksInRoles, Axes, Control, DialogueOptions, MemorySource

# The prompts of the four questions, with the paper's variables in its order (ETPLAN-2.4).

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


ValueT = TypeVar("ValueT")

# What cannot be read is asked for again once (ETPLAN-2.4).
MAX_ATTEMPTS = 2
_MAX_SHOWN = 2000


def model_ranker(
    request: PlannerRequest, usual: Ranker, *, thinks: bool, few_shot: bool
) -> ModelRanker:
    """For one task.

    Args:
        request: of the planner.
        usual: what a flawless model would say, for privileged ones.
        thinks: whether the model is asked to think before it ranks.
        few_shot: whether it sees solved examples.

    Raises:
        PlannerError: if there is no model.
    """
    return ModelRanker(
        planner=request.name,
        model=request.model,
        agents=request.task.agents,
        seed=request.task.seed,
        axes=replace(request.axes, control=Control.SINGLE, memory_source=MemorySource.STATE),
        options=request.dialogue,
        on_call=request.on_call,
        usual=usual,
        thinks=thinks,
        few_shot=few_shot,
    )


@dataclass
class ModelRanker(AsksInRoles):
    """See `Ranker`.

    Attributes, besides those of `AsksInRoles`:
        agents: of the task.
        usual: what a flawless model would say, for privileged ones.
        seed: as in `PlannerRequest`.
        thinks: whether the model is asked to think before it ranks.
        few_shot: whether it sees solved examples.
        unread: how many questions got no reply that could be read; they are answered by the rules
            of reading, by the rooms' own order, and by no furniture.
    """

    planner: str
    model: ChatModel
    agents: tuple[str, ...]
    usual: Ranker
    seed: int = 0
    axes: Axes = field(default_factory=Axes)
    options: DialogueOptions = field(default_factory=DialogueOptions)
    on_call: OnCall = ignore_call
    thinks: bool = False
    few_shot: bool = False
    unread: int = 0
    faults: Counter[str] | None = None
    _asked: int = 0
    _task: str = ""
    name = RankerName.MODEL

    @property
    def evidence(self) -> str:
        """The model's name, what could not be read, and the faults of a privileged one."""
        parts = [self.model.name]
        if self.unread:
            parts.append(f"{self.unread} replies could not be read")
        if self.faults is not None:
            named = ", ".join(f"{fault} {count}" for fault, count in sorted(self.faults.items()))
            parts.append(f"privileged, faults: {named or 'none'}")
        return "; ".join(parts)

    async def classify(self, task: str) -> TaskClass:
        """The model's class; that of the rules where it cannot be read."""
        self._task = task

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            classes = [each.value for each in TaskClass]
            return right_word(await self.usual.classify(task), classes, random)

        form, prompt = ClassReply(), classify_prompt(task)
        found = await self._ask(Role.CLASSIFIER, prompt, form, right)
        return class_of(read_errands(task)) if found is None else found

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:
        """The model's parts; those of the rules where they cannot be read."""
        self._task = task

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            return right_errands(await self.usual.decompose(task, task_class), random)

        prompt = decompose_prompt(task, task_class)
        found = await self._ask(Role.DECOMPOSER, prompt, ErrandsReply(), right)
        return read_errands(task) if found is None else found

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:
        """The model's order; the given one where it cannot be read."""

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            return right_names(await self.usual.rank_rooms(targets, rooms), rooms, random)

        form = NamesReply(tuple(rooms), complete=True, thinks=self.thinks)
        prompt = rooms_prompt(targets, rooms, thinks=self.thinks, few_shot=self.few_shot)
        found = await self._ask(Role.RANKER, prompt, form, right)
        return tuple(rooms) if found is None else found

    async def large_objects(
        self, targets: Sequence[str], room: str, visible: Sequence[str]
    ) -> tuple[str, ...]:
        """The model's choice; none where it cannot be read."""
        offered = tuple(dict.fromkeys(visible))

        async def right(random: Random, _reader: Reader) -> ReferenceReply:
            right = await self.usual.large_objects(targets, room, visible)
            return right_names(right, offered, random)

        form = NamesReply(offered, thinks=self.thinks)
        prompt = objects_prompt(targets, room, visible, thinks=self.thinks, few_shot=self.few_shot)
        found = await self._ask(Role.PROPOSER, prompt, form, right)
        return () if found is None else found

    async def _ask(
        self,
        role: Role,
        messages: tuple[Message, ...],
        form: ReplyForm[ValueT],
        right: Callable[[Random, Reader], Awaitable[ReferenceReply]],
    ) -> ValueT | None:
        caller = self.caller(role, self.seed)
        for attempt in range(1, MAX_ATTEMPTS + 1):
            self._asked += 1
            reply = await caller.ask(
                messages,
                form,
                agents=self.agents[:1],
                cycle=self._asked,
                max_tokens=self.options.max_tokens,
                parameters={"attempt": str(attempt)},
                reference=Reference(self._key(), right),
            )
            self.count_fault(reply.completion.notes)
            if reply.value is not None:
                return reply.value
            messages = (*messages, *_again(reply.completion.text, str(reply.error)))
        self.unread += 1
        return None

    def _key(self) -> str:
        digest = hashlib.sha256(self._task.encode()).hexdigest()[:16]
        return f"{self.seed} {digest} {self._asked}"


def _again(said: str, error: str) -> tuple[Message, Message]:
    words = f"That cannot be read: {error}. Write all of it in the form that was asked."
    return Message(Speaker.ASSISTANT, said[:_MAX_SHOWN]), Message(Speaker.USER, words)
