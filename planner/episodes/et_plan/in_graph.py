"""ET-Plan-Bench's tasks in their own graphs: nothing fitted, ids and classes as the task has them.

A word of a criterion stands for the node of its id, or for every node of its class. The published
layout has what is asked and where things are at first in one text: what is said of a thing that
the plan puts elsewhere, or only finds, has to have held on the way (ETPLAN-4.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from planner.episodes.et_plan.file import EtStep, EtTask, EtTriple
from planner.world.episode import ROBOT, AgentPlacement, Criteria, Episode
from planner.world.errors import FileError, from_validation
from planner.world.graph_file import word_of
from planner.world.house import House
from planner.world.vocabulary import AgentKind

_PUTS = frozenset({"PUT", "PUTIN", "PUTBACK"})
_ROBOT = AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT)


def graph_episode(task: EtTask, house: House) -> Episode:
    """A task as an episode in the graph that it was made for.

    Raises:
        FileError: where the graph has no node that a word of the task means.
    """
    classes = house.names_by_class
    source, goals = _split(task)
    words = dict.fromkeys(w for t in (*source, *goals) for w in t[1:] if w != ROBOT)
    try:
        criteria = Criteria(
            variables={word: _meant(task, word, classes) for word in words},
            success=tuple(goals),  # type: ignore[arg-type]
            intermediate=tuple(source),  # type: ignore[arg-type]
            category=task.category,
            reference_plan=tuple(
                (s.verb, *(f"{w}_{n}" for w, n in s.arguments)) for s in task.plan
            ),
        )
        return Episode(
            version=1,
            episode_id="".join(c if c.isalnum() else "-" for c in f"{task.file}-{task.task_id}"),
            house=house.name,
            instruction=task.text,
            agents=(_ROBOT,),
            criteria=criteria,
        )
    except ValidationError as error:
        raise from_validation(task.file, error) from None


def script_lines(plan: Sequence[EtStep]) -> Iterator[str]:
    """A plan as script lines, such as `[putin] <apple> (211) <fridge> (103)`."""
    for step in plan:
        yield " ".join(
            (f"[{step.verb}]", *(f"<{word}> ({number})" for word, number in step.arguments))
        )


def _meant(task: EtTask, word: str, classes: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    class_name = word_of(task.classes.get(word, word))
    # What lies on a floor lies on the floor of a room.
    named = classes.get("room" if class_name == "floor" else class_name, ())
    number = task.numbers.get(word)
    if number is not None:
        named = tuple(name for name in named if name == f"{class_name}_{number}")
    if not named:
        what = class_name if number is None else f"{class_name}_{number}"
        raise FileError(task.file, f"{task.task_id}.{word}", f"the graph has no {what[:60]}")
    return named


def _split(task: EtTask) -> tuple[list[EtTriple], list[EtTriple]]:
    """What has to have held on the way, and what is asked."""
    if task.intermediate:
        return list(task.intermediate), list(task.success)
    targets: dict[str, set[str]] = {}
    for step in task.plan:
        if step.verb in _PUTS and len(step.arguments) == 2:
            (thing, _), (place, _) = step.arguments
            targets.setdefault(word_of(thing), set()).add(word_of(place))
    source: list[EtTriple] = []
    goals: list[EtTriple] = []
    for triple in task.success:
        relation, one, other = triple
        wanted = targets.get(word_of(task.classes.get(one, one)))
        stays = wanted is not None and word_of(task.classes.get(other, other)) not in wanted
        (source if relation != "CLOSE" and one != ROBOT and stays else goals).append(triple)
    return source, goals or list(task.success)
