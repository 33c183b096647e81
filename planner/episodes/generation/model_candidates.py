"""Candidates of a chat model: it proposes tasks, and judges those that the grammar cannot read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import JsonValue

from planner.episodes.corrections import call_text
from planner.episodes.draft import Draft, draft_of
from planner.episodes.generation.arguments import TaskType
from planner.episodes.generation.candidates import RejectedError
from planner.episodes.generation.model_prompts import (
    ORDER,
    PROPOSITIONS,
    TIES,
    numbered,
    scene_text,
    task_question,
    task_rules,
)
from planner.episodes.generation.model_replies import Assignment, Calls, Task, TaskList
from planner.episodes.generation.model_start import started
from planner.episodes.generation.reading_check import understood
from planner.episodes.lint.goal import task_types
from planner.episodes.partnr.evaluation import FieldError, corrected, translated
from planner.episodes.statistics import without_nouns
from planner.evaluation.language import read_evaluation
from planner.models.blocking import BlockingLoop
from planner.models.caller import Caller
from planner.models.chat import ChatModel, Message, Speaker
from planner.models.replies.form import ReplyError, ReplyForm
from planner.models.role import Role
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_house

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
        constrained: whether grammars are sent with requests.
    """

    def __init__(
        self, model: ChatModel, examples: Sequence[Episode], *, constrained: bool = True
    ) -> None:
        self._caller = Caller(
            "generate", model, Role.GENERATOR, deadline_s=300.0, constrained=constrained
        )
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
