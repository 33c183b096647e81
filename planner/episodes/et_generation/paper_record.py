"""The paper's record of a task: text, criteria, environment and true plan (ETPLAN-2.1).

Things have the numbers of our names, so `apple_2` is the class `apple` with the id 2; ids are
unique in a class. `planner episodes import et-plan-bench --graph` reads such files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import JsonValue

from planner.episodes.et_generation.house_facts import HouseFacts
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.vocabulary import Relation

_WORDS = {Relation.ON: "ON", Relation.WITHIN: "INSIDE"}


def paper_record(episode: Episode, facts: HouseFacts, scene: int) -> dict[str, JsonValue]:
    """A task's record.

    Args:
        episode: with criteria and a reference plan.
        facts: of its house.
        scene: the number of its house.
    """
    criteria = episode.criteria
    if criteria is None:
        raise ValueError(f"{episode.episode_id} has no criteria")
    objects: dict[str, JsonValue] = {}
    for letter, names in criteria.variables.items():
        word, number = _split(names[0])
        objects[letter] = {"class": word, "id": number}
    start = episode.agents[0].start
    return {
        "id": episode.episode_id,
        "category": criteria.category,
        "variants": list(criteria.variants),
        "scene": scene,
        "split": episode.split,
        "task": episode.instruction,
        "objects": objects,
        "intermediate": [list(triple) for triple in criteria.intermediate],
        "success": [list(triple) for triple in criteria.success],
        "prior": criteria.prior,
        "arms": criteria.arms,
        "init": {"position": [*(start or ())[:2], 0.0], "yaw": (start or (0.0,))[-1]},
        "environment": {"house": episode.house, "relations": _relations(episode, facts)},
        "gt": [
            [verb, *(part for name in names for part in _split(name))]
            for verb, *names in criteria.reference_plan
        ],
    }


def _relations(episode: Episode, facts: HouseFacts) -> list[JsonValue]:
    """How what the task names, and what the plan uses, stands at the start."""
    criteria = episode.criteria
    plan = () if criteria is None else criteria.reference_plan
    names = {name for _, *used in plan for name in used}
    found: list[JsonValue] = []
    for name in sorted(names & facts.entities.keys()):
        entity = facts.entities[name]
        if entity.relation is not None and entity.parent in facts.entities:
            found.append([_WORDS[entity.relation], *_split(name), *_split(entity.parent)])
        found.append(["INSIDE", *_split(name), *_split(entity.room)])
    return found


def _split(name: str) -> tuple[str, int]:
    word, _, number = name.rpartition("_")
    return word, int(number)


def write_records(
    path: Path,
    episodes: Iterable[Episode],
    facts: Mapping[str, HouseFacts],
    scenes: Mapping[str, int],
) -> None:
    """Writes records as JSON lines.

    Raises:
        FileError: if the file cannot be written.
    """
    lines = (
        json.dumps(
            paper_record(episode, facts[episode.house], scenes[episode.house]), ensure_ascii=False
        )
        for episode in episodes
    )
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
