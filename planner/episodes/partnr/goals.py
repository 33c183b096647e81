"""Derives structured goals of imported instructions from their wording and initial state.

`planner.language` reads the words, `planner.grounding` binds them to the things of the scene. The
result has the format of PARTNR's evaluation records (PARTNR-D7). If the words do not have exactly
one meaning there, there is a reason instead of a goal: a missing goal can be written later, a
wrong one would be believed.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import JsonValue

from planner.episodes.lint.goal import task_types
from planner.episodes.partnr.goal_checks import checked
from planner.episodes.partnr.goal_conventions import as_partnr_means
from planner.episodes.partnr.goal_propositions import UnclearError
from planner.episodes.partnr.goal_wording import other_wording, plain
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import asked_open, asked_word
from planner.grounding.binder import Binder
from planner.grounding.scene import Scene
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import (
    AlreadyTrue,
    Ask,
    Impossible,
    NotUnderstood,
    Reading,
)
from planner.language.tokens import tokens_of

Evaluation = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Derivation:
    """The evaluation of an instruction, or the reason why there is none."""

    evaluation: Evaluation | None
    reason: str
    task_types: tuple[str, ...] = ()


def derive(instruction: str, scene: Scene) -> Derivation:
    """The goal of an instruction in a scene, if its words determine it, as they are or reworded."""
    found = _derived(plain(instruction, scene), scene)
    if found.evaluation is None:
        again = _derived(plain(instruction, scene, reworded=True), scene)
        found = again if again.evaluation is not None else found
    return found


def _derived(instruction: str, scene: Scene) -> Derivation:
    reading = interpret(instruction)
    if (other := other_wording(instruction, reading)) != instruction:
        again = interpret(other)
        if isinstance(again, Goal):
            instruction, reading = other, again
    if not isinstance(reading, Goal):
        return Derivation(None, _why(reading))
    try:
        words = [token.word for token in tokens_of(instruction)]
        goal = as_partnr_means(reading, scene, words)
        found = Binder(goal, settle=True, tied=True).update(scene)
        for unbound in found.unbound:
            raise UnclearError(unbound.text)
        if found.evaluation is None or found.criteria is not None:
            raise UnclearError("nothing that an evaluation can say")
        asked = read_evaluation(dict(found.evaluation), "the derived goal").propositions
        for word in (asked_word(p.predicate) for p in asked if asked_open(p.predicate) is not None):
            raise UnclearError(f"PARTNR's goals do not say whether things are {word}.")
        evaluation = checked(goal, found, scene, words)
    except UnclearError as refusal:
        return Derivation(None, str(refusal))
    types = task_types(read_evaluation(evaluation, "the derived goal"))
    return Derivation(evaluation, "", types)


def _why(reading: Reading) -> str:
    """Why a text has no goal."""
    match reading:
        case Ask():
            return f"{reading.reason} is not clear: {_quoted(reading.words)}"
        case NotUnderstood():
            return f"not understood: {_quoted(reading.words)}"
        case AlreadyTrue():
            return f"it is so already: {_quoted(reading.words)}"
        case Impossible():
            return f"{reading.reason}: {_quoted(reading.words)}"
        case _:
            return "nothing is to be done"


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{word}"' for word in words)
