"""Whether an instruction, read in its house, asks for what its episode judges."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import JsonValue

from planner.episodes.start_state import start_entities
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Evaluation, Predicate, Proposition
from planner.grounding.binder import Binder
from planner.grounding.records import Why
from planner.grounding.scene import Scene, scene_of_state
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.reading import Ask
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.state import WorldState

_Meaning = tuple[str, tuple[frozenset[str], ...], int]


def misreading(episode: Episode, house: House) -> str:
    """Why a reader of the instruction would not do what the evaluation wants; "" if they would."""
    found = _grounded(episode, house)
    if isinstance(found, str):
        return found
    asked = read_evaluation(found, Path(episode.episode_id))
    judged = read_evaluation(episode.evaluation, Path(episode.episode_id))
    return "" if meaning(asked) == meaning(judged) else "understood otherwise"


def understood(episode: Episode, house: House) -> dict[str, JsonValue] | None:
    """What the instruction asks for at an episode's start; None if it is not wholly clear."""
    found = _grounded(episode, house)
    return None if isinstance(found, str) else found


def _grounded(episode: Episode, house: House) -> dict[str, JsonValue] | str:
    """The evaluation that the instruction means, or why there is none."""
    reading = interpret(episode.instruction)
    if not isinstance(reading, Goal):
        return "asked about" if isinstance(reading, Ask) else "not understood"
    found = Binder(reading).update(start_scene(episode, house))
    if found.questions:
        return "ambiguous in the house"
    # What the speaker does is nobody's duty.
    unbound = [item for item in found.unbound if item.why is not Why.SPEAKER]
    if found.evaluation is None or found.missing or unbound or found.criteria is not None:
        return "meaningless in the house"
    return dict(found.evaluation)


def start_scene(episode: Episode, house: House) -> Scene:
    """An episode's true start, as descriptions are bound to it."""
    entities = start_entities(episode, house, default_catalogue())
    return scene_of_state(WorldState(0.0, 0, 0, house.name, episode.episode_id, entities), house)


def meaning(evaluation: Evaluation) -> tuple[object, ...]:
    """What an evaluation asks for, whatever the order of its propositions.

    Gates and terminal propositions follow from the rest (PARTNR-D34) and are left out.
    """
    said = [_meaning(item) for item in evaluation.propositions]
    ties = {(tie.kind, _counted((said[i], k) for i, k in tie.members)) for tie in evaluation.ties}
    same = {said[i] for i, item in enumerate(evaluation.propositions) if item.is_same}
    edges = {(said[i], said[j]) for i, j in evaluation.edges}
    return _counted(said), ties, same, edges


def _meaning(item: Proposition) -> _Meaning:
    lists = tuple(frozenset(names) for names in item.lists)
    if item.predicate is Predicate.IS_NEXT_TO and item.number == 1:
        lists = tuple(sorted(lists, key=sorted))
    return item.predicate, lists, item.number


def _counted(items: Iterable[object]) -> frozenset[tuple[object, int]]:
    found = list(items)
    return frozenset((item, found.count(item)) for item in found)
