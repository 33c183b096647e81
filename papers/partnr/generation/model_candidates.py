"""Candidates of a chat model: prompts, forms of replies, starts of tasks, and judgements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

import numpy as np
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from papers.partnr.generation.generating import RejectedError, understood
from papers.partnr.generation.things import TaskType
from planner.episodes.corrections import Draft, call_text, draft_of
from planner.episodes.evaluation_text import FieldError, corrected, translated
from planner.episodes.lint.goal import task_types
from planner.episodes.recipes.build import MAX_CLUTTER, MIN_CLUTTER, SPLIT_OF_HOUSE, TEAM
from planner.episodes.statistics import without_nouns
from planner.evaluation.language import read_evaluation
from planner.houses.clutter import ObjectRequest, place_objects
from planner.language.lexicon import default_lexicon
from planner.language.reading import tokens_of
from planner.models.caller import BlockingLoop, Caller
from planner.models.chat import ChatModel, Message, Role, Speaker
from planner.models.replies.form import ReplyError, ReplyForm, check_length
from planner.world.catalogue import default_catalogue, default_word_meanings
from planner.world.episode import EPISODE_VERSION, Episode
from planner.world.errors import PlannerError
from planner.world.files import FileModel
from planner.world.house import House, ObjectPlacement
from planner.world.house_checks import load_house
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

# Prompts for chat models that propose tasks and write their evaluations (PARTNR-4.4).
#
# The content is the paper's, the wording our own. Answers are asked for in the paper's forms; they
# are not begun for the model, as servers treat a last message of the assistant differently.

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


# The forms of a model's replies when it writes tasks and evaluations (PARTNR-4.4).

MAX_TASKS = 10
_MARK = "JSON_OUTPUT:"
_CALL = r'[a-z] [a-z_]{2,20} "(" [^()\n]{1,400} ")"'


class Placed(FileModel):
    """A record of an initial state; without `number` it means one (PARTNR-D33)."""

    number: Annotated[int, Field(ge=1, le=8)] = 1
    object_classes: Annotated[tuple[str, ...], Field(min_length=1, max_length=8)]
    furniture_names: Annotated[tuple[str, ...], Field(min_length=1, max_length=20)]
    allowed_regions: Annotated[tuple[str, ...], Field(max_length=20)] = ()
    object_states: Annotated[dict[str, bool], Field(max_length=8)] = Field(default_factory=dict)


class Task(FileModel):
    """A proposed task."""

    instruction: Annotated[str, Field(min_length=10, max_length=1000)]
    initial_state: Annotated[tuple[Placed, ...], Field(min_length=1, max_length=20)]


_TASK_LIST = TypeAdapter(list[Task])


@dataclass(frozen=True)
class TaskList:
    """The form of several tasks: free text, and a JSON list after JSON_OUTPUT: (PARTNR-D32)."""

    grammar: str = ""
    stop: tuple[str, ...] = ()
    max_tokens: int = 3000

    def read(self, text: str, *, ended: bool) -> tuple[Task, ...]:
        """The tasks.

        Raises:
            ReplyError: if there is no such list, or it has other content.
        """
        check_length(text)
        _, mark, rest = text.rpartition(_MARK)
        begin = rest.find("[")
        if not mark or begin < 0:
            raise ReplyError(f"the reply has no list after {_MARK}")
        try:
            found, _ = json.JSONDecoder(strict=False).raw_decode(rest, begin)
            return tuple(_TASK_LIST.validate_python(found)[:MAX_TASKS])
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ReplyError(f"{where}: {first['msg']}") from None
        except (ValueError, RecursionError) as error:
            why = "" if ended else "; it was cut off"
            raise ReplyError(f"the list is not JSON: {error}{why}") from None


@dataclass(frozen=True)
class Calls:
    """The form of propositions: calls between [FN] and [/FN]."""

    grammar: str = f'root ::= "[FN]\\n" line{{1,24}} "[/FN]\\n[END]"\nline ::= {_CALL} "\\n"\n'
    stop: tuple[str, ...] = ("[END]",)
    max_tokens: int = 1200

    def read(self, text: str, *, ended: bool) -> tuple[str, ...]:
        """The calls as text, not yet parsed.

        Raises:
            ReplyError: if there are none.
        """
        check_length(text)
        inside = text.rpartition("[FN]")[2].partition("[/FN]")[0]
        lines = [line.strip() for line in inside.splitlines() if line.strip()]
        if not ended and "[/FN]" not in text:
            lines = lines[:-1]
        if not lines:
            raise ReplyError("the reply has no calls between [FN] and [/FN]")
        return tuple(lines)


@dataclass(frozen=True)
class Assignment:
    """The form of one line `NAME = [...]`.

    Attributes:
        name: of what is assigned.
    """

    name: str
    stop: tuple[str, ...] = ()
    max_tokens: int = 400

    @property
    def grammar(self) -> str:
        """GBNF of the line."""
        return f'root ::= "{self.name} = [" [A-Za-z0-9_(), \\[\\]=]{{0,600}} "]"\n'

    def read(self, text: str, *, ended: bool) -> str:
        """The line as Python text, not yet parsed.

        Raises:
            ReplyError: if there is none.
        """
        check_length(text)
        found = re.findall(rf"{self.name}\s*=\s*(\[.*\])", text)
        if not found:
            why = "" if ended else "; it was cut off"
            raise ReplyError(f"the reply has no {self.name} = [...]{why}")
        return f"{self.name} = {found[-1]}"


# Starts the tasks that a model proposes: places their things, and clutter not named by them.

_FLOOR = "floor"


def started(task: Task, house: House, name: str, seed: int) -> Episode:
    """The episode of a task, without an evaluation.

    Raises:
        RejectedError: if it names what does not exist, or something has no place.
    """
    rng = np.random.default_rng(seed)
    wanted = [item for placed in task.initial_state for item in _requests(placed, house)]
    asked = place_objects(house, wanted, rng)
    objects = [item for item in asked if isinstance(item, ObjectPlacement)]
    if len(objects) < len(asked):
        raise RejectedError("no room for the start")
    objects += _clutter(house, objects, _named(task.instruction), rng)
    return Episode.model_validate(
        {
            "version": EPISODE_VERSION,
            "episode_id": name,
            "house": house.name,
            "split": SPLIT_OF_HOUSE[house.split],
            "instruction": " ".join(task.instruction.split()),
            "seed": seed,
            "agents": TEAM,
            "objects": objects,
        }
    )


def _clutter(
    house: House, asked: Sequence[ObjectPlacement], named: set[str], rng: np.random.Generator
) -> list[ObjectPlacement]:
    """More things in likely places, of no class that the task has or names (PARTNR-D31)."""
    barred = {item.class_name for item in asked} | named
    owned = {piece.class_name for piece in house.furniture}
    likely = [
        item.name
        for item in default_catalogue().objects.values()
        if item.name not in barred
        and any(p.furniture in owned and p.relation is Relation.ON for p in item.places)
    ]
    count = int(rng.integers(MIN_CLUTTER, MAX_CLUTTER + 1))
    # Some do not fit; twice as many are enough.
    drawn = [ObjectRequest((str(cls),)) for cls in rng.choice(likely, 2 * count)]
    placed = place_objects(house, drawn, rng, asked)
    return [item for item in placed if isinstance(item, ObjectPlacement)][:count]


def _requests(placed: Placed, house: House) -> Iterator[ObjectRequest]:
    """One request for each thing of a record."""
    catalogue = default_catalogue()
    classes = [catalogue.object_name(word) for word in placed.object_classes]
    known = [cls for cls in classes if cls is not None]
    places = tuple(_places(placed, house))
    if len(known) < len(classes) or not places:
        raise RejectedError("names what the house lacks")
    pieces = house.furniture_by_name
    on = tuple(name for name in places if name not in pieces or pieces[name].surfaces)
    relation = Relation.ON if on else Relation.WITHIN
    for k in range(placed.number):
        cls = known[k % len(known)]
        states = _states(placed, cls)
        yield ObjectRequest((cls,), relation, on or places, states)


def _places(placed: Placed, house: House) -> Iterator[str]:
    rooms = {room.name for room in house.rooms}
    regions = [room for room in placed.allowed_regions if room in rooms]
    for name in placed.furniture_names:
        if name == _FLOOR:
            yield from (floor_name(room) for room in regions)
        elif name in house.furniture_by_name:
            if not regions or house.furniture_by_name[name].room in regions:
                yield name
        else:
            raise RejectedError("names what the house lacks")


def _states(placed: Placed, cls: str) -> dict[str, bool]:
    """The states of a record in our names; PARTNR writes `is_dirty: true`."""
    found: dict[str, bool] = {}
    table = default_states()
    for word, holds in placed.object_states.items():
        meant = table.predicates.get(word)
        if meant is None:
            raise RejectedError("names what the house lacks")
        state, value = meant
        if table.affordance_of[state] not in default_catalogue().objects[cls].affordances:
            raise RejectedError("names what the house lacks")
        found[state] = value == holds
    return found


def _named(instruction: str) -> set[str]:
    """Every class of things that a word of the instruction may mean."""
    words = [token.word for token in tokens_of(instruction)]
    matches = (default_lexicon().at(words, at) for at in range(len(words)))
    senses = {sense.word for match in matches if match is not None for sense in match.senses}
    meanings = default_word_meanings().phrases
    return {cls for word in senses if word in meanings for cls in meanings[word].objects}


_TASKS_A_REPLY = 5
_Value = TypeVar("_Value")
# The types of episodes by what a task is made for.
_PARTS = {
    "spatial": "spatial",
    "temporal": "temporal",
    "heterogeneous": "heterogeneous",
    "rearrange": "constraint_free",
}


class ModelCandidates:
    """Asks a model for several tasks at a time.

    The evaluation is the grammar's where it understands the instruction, or else the model's, in
    the paper's three calls with the most similar annotated episode as an example.

    Args:
        model: the chat model.
        examples: annotated episodes.
    """

    def __init__(self, model: ChatModel, examples: Sequence[Episode]) -> None:
        self._caller = Caller("generate", model, Role.GENERATOR, deadline_s=300.0, constrained=True)
        self._examples = examples
        self._loop = BlockingLoop()
        self._waiting: dict[tuple[str, TaskType], list[Task]] = {}

    def next(self, house: House, kind: TaskType, name: str, seed: int) -> Episode:
        """See `candidates.Candidates`.

        Raises:
            RejectedError: if the model's reply or its task is of no use.
            ModelError: if the model gives no reply.
        """
        waiting = self._waiting.setdefault((house.name, kind), [])
        if not waiting:
            waiting += self._tasks(house, kind, seed)
        bare = started(waiting.pop(0), house, name, seed)
        read = read_evaluation(understood(bare, house) or self._evaluation(bare, house), name)
        try:
            # Both leave dependencies to be inferred (PARTNR-D34).
            evaluation = draft_of(read).evaluation(_starts(bare))
        except PlannerError:
            raise RejectedError("the goal is not in PARTNR's language") from None
        return bare.model_copy(update={"evaluation": evaluation, "task_types": task_types(read)})

    def close(self) -> None:
        """Ends the thread of the calls."""
        self._loop.close()

    def _tasks(self, house: House, kind: TaskType, seed: int) -> Sequence[Task]:
        alike = [item for item in self._examples if _PARTS[kind] in item.task_types]
        example = alike[seed % len(alike)] if alike else None
        classes = sorted(default_catalogue().objects)
        question = task_question(house, classes, example, _TASKS_A_REPLY)
        found = self._ask((task_rules(kind),), question, TaskList())
        if not found:
            raise RejectedError("reply of the model: no tasks")
        return found

    def _evaluation(self, episode: Episode, house: House) -> dict[str, JsonValue]:
        example = similar(episode.instruction, self._examples)
        shots: tuple[str, ...] = ()
        if example is not None and example.evaluation is not None:
            asked = read_evaluation(example.evaluation, example.episode_id).propositions
            shown = "\n".join(call_text(item) for item in asked)
            there = scene_text(example, load_house(example.house))
            shots = (there, f"[FN]\n{shown}\n[/FN]\n[END]")
        calls = self._ask((PROPOSITIONS, *shots), scene_text(episode, house), Calls())
        question = numbered(episode.instruction, calls)
        order = self._ask((ORDER,), question, Assignment("proposition_order"))
        ties = self._ask((TIES,), question, Assignment("tie_constraints"))
        text = f"propositions = [{', '.join(calls)}]\n{order}\n{ties}\n"
        try:
            parts, _ = corrected(text)
            document = translated(
                parts["propositions"],
                parts["dependencies"],
                parts["constraints"],
                lambda word, argument: _names(word, argument, episode, house),
            )
            draft = draft_of(read_evaluation(document, episode.episode_id))
            # What must hold at the end is inferred too.
            draft = Draft(draft.propositions, draft.groups, draft.ties)
            return draft.evaluation(_starts(episode))
        except (FieldError, PlannerError):
            raise RejectedError("reply of the model: not an evaluation") from None

    def _ask(self, said: Sequence[str], question: str, form: ReplyForm[_Value]) -> _Value:
        """Sends the system's part, pairs of examples and the question."""
        speakers = (Speaker.SYSTEM, *(len(said) // 2) * (Speaker.USER, Speaker.ASSISTANT))
        messages = [Message(*pair) for pair in zip(speakers, said, strict=True)]
        messages.append(Message(Speaker.USER, question))
        reply = self._loop.run(self._caller.ask(tuple(messages), form))
        try:
            return reply.accepted()
        except ReplyError:
            raise RejectedError("reply of the model: another form") from None


def _starts(episode: Episode) -> dict[str, str]:
    return {item.name: item.parent for item in episode.objects}


def _names(word: str, argument: str, episode: Episode, house: House) -> tuple[str, ...]:
    """What a word of a proposition stands for: a name, a kind, or a kind in a kind of room."""
    word = word.strip().replace(" ", "_") if " in " not in word else word
    kind, _, room = word.partition(" in ")
    rooms = {item.name: item.class_name for item in house.rooms}
    within = {name for name, cls in rooms.items() if room in ("", name, cls)}
    if argument == "rooms":
        found = [name for name, cls in rooms.items() if kind in (name, cls)]
    else:
        found = [item.name for item in episode.objects if kind in (item.name, item.class_name)]
        found += [
            piece.name
            for piece in house.furniture
            if kind in (piece.name, piece.class_name) and piece.room in within
        ]
    if not found:
        raise FieldError(argument, f"there is no {word}")
    return tuple(found)


def similar(instruction: str, examples: Sequence[Episode]) -> Episode | None:
    """The annotated episode whose instruction has most words in common, nouns left out."""
    own = set(without_nouns(instruction).split())

    def shared(episode: Episode) -> float:
        words = set(without_nouns(episode.instruction).split())
        return len(own & words) / max(1, len(own | words))

    return max(examples, key=shared, default=None)
