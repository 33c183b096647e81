"""ET-Plan-Bench's tasks in scene graphs: nothing is fitted, ids and classes are the task's.

A word of a criterion means the node with its id, or every node of its class, `floor` every floor.
The published format has goals and initial positions in one text: statements about a thing that the
plan moves elsewhere, or only finds, must have held on the way (ETPLAN-4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from planner.episodes.et_plan.calls import plan_calls
from planner.episodes.et_plan.file import EtStep, EtTask, EtTriple
from planner.episodes.et_plan.judged import evaluation_of_criteria
from planner.episodes.et_plan.task_scene import FLOOR, STRUCTURE, split_criteria
from planner.episodes.lint.goal import task_types
from planner.evaluation.language import read_evaluation
from planner.world.episode import (
    ROBOT,
    AgentPlacement,
    Criteria,
    Episode,
    FurnitureChange,
    Source,
)
from planner.world.errors import FileError, from_validation
from planner.world.graph_file import word_of
from planner.world.house import House
from planner.world.vocabulary import AgentKind, floor_name

DATASET = "et-plan-bench"
# As the benchmark's characters: two hands, of which opening needs a free one.
CHARACTER = AgentPlacement(uid="agent_0", kind=AgentKind.HUMAN)


@dataclass(frozen=True, slots=True)
class GraphTask:
    """A task in its graph; `reason` says why it has no evaluation, if it has none."""

    episode: Episode
    reason: str = ""


def graph_episode(task: EtTask, house: House) -> Episode:
    """A task as an episode in the graph for which it was made.

    Raises:
        FileError: if the graph has no node for a word of the task.
    """
    return graph_task(task, house).episode


def graph_task(
    task: EtTask, house: House, open_at_start: Sequence[tuple[str, int]] = (), sha256: str = ""
) -> GraphTask:
    """As `graph_episode`.

    Args:
        task: the task.
        house: made from the graph.
        open_at_start: class and id of furniture that is closed in the graph but open in this task.
        sha256: of the task's file.
    """
    things = {word_of(item.class_name) for item in house.objects}
    notes = list(task.unknown_fields)
    source, goals = (
        list(_without_building(task, triples, notes))
        for triples in split_criteria(task, lambda word: word_of(word) in things)
    )
    words = dict.fromkeys(w for t in (*source, *goals) for w in t[1:] if w != ROBOT)
    variables = {word: _meant(task, word, house) for word in words}
    judged = evaluation_of_criteria(task, goals, variables, house)
    try:
        criteria = Criteria(
            variables=variables,
            success=tuple(goals),  # type: ignore[arg-type]
            intermediate=tuple(source),  # type: ignore[arg-type]
            category=task.category,
            arms=task.arms,
            reference_plan=tuple(
                (s.verb, *(f"{w}_{n}" for w, n in s.arguments)) for s in task.plan
            ),
            reference_calls=plan_calls(task, house, _name),
        )
        stem = f"{task.file.split('.')[0]}-{task.task_id}"
        episode = Episode(
            version=1,
            episode_id="".join(c if c.isalnum() or c in "_.-" else "-" for c in stem),
            house=house.name,
            instruction=task.text,
            agents=(CHARACTER,),
            furniture={_name(*piece): FurnitureChange(open=True) for piece in open_at_start},
            evaluation=judged.evaluation,
            task_types=()
            if judged.evaluation is None
            else task_types(read_evaluation(judged.evaluation, task.file)),  # type: ignore[arg-type]
            criteria=criteria,
            source=Source(
                dataset=DATASET,
                file=task.file,
                scene_id=str(task.environment),
                episode_id=task.task_id,
                sha256=sha256,
                not_taken=tuple(dict.fromkeys((*notes, *judged.notes))),
            ),
        )
    except ValidationError as error:
        raise from_validation(task.file, error) from None
    return GraphTask(episode, judged.reason)


def script_lines(plan: Sequence[EtStep]) -> Iterator[str]:
    """A plan as script lines, such as `[putin] <apple> (211) <fridge> (103)`."""
    for step in plan:
        yield " ".join(
            (f"[{step.verb}]", *(f"<{word}> ({number})" for word, number in step.arguments))
        )


def _name(word: str, number: int) -> str:
    return f"{word_of(word)}_{number}"


def _without_building(
    task: EtTask, triples: Sequence[EtTriple], notes: list[str]
) -> Iterator[EtTriple]:
    """The triples except those about walls and the like, which are noted."""
    for triple in triples:
        if STRUCTURE.isdisjoint(task.classes.get(word, word) for word in triple[1:]):
            yield triple
        else:
            notes.append(f"({', '.join(triple)}): no part of the building is an entity")


def _meant(task: EtTask, word: str, house: House) -> tuple[str, ...]:
    class_name = word_of(task.classes.get(word, word))
    if class_name == FLOOR:
        return tuple(floor_name(room.name) for room in house.rooms)
    named = house.names_by_class.get(class_name, ())
    number = task.numbers.get(word)
    if number is not None:
        named = tuple(name for name in named if name == _name(class_name, number))
    if not named:
        what = class_name if number is None else _name(class_name, number)
        raise FileError(task.file, f"{task.task_id}.{word}", f"the graph has no {what[:60]}")
    return named
