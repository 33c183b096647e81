"""A task's goal in PARTNR's language, for planners that are given goals instead of words."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planner.episodes.et_generation.house_facts import HouseFacts
from planner.episodes.et_generation.idea import Idea
from planner.episodes.et_plan.judged import evaluation_of_triples


def goal_of(
    idea: Idea, facts: HouseFacts, variables: Mapping[str, tuple[str, ...]]
) -> dict[str, JsonValue] | None:
    """The evaluation; None if the task is only to find something, which that language cannot say.

    What holds from the start, as that A is near B or C in D, becomes a choice of entities.
    """
    chosen = dict(variables)
    source = idea.source
    if source is not None:
        chosen["A"] = tuple(
            name
            for name in variables["A"]
            if any(
                name != other and facts.holds(source.relation, name, other)
                for other in variables["B"]
            )
        )
    if idea.room:
        chosen["C"] = tuple(
            name for name in variables["C"] if facts.room_of(name) in variables["D"]
        )
    before = [triple for triple in idea.intermediate() if idea.nest and triple[1:] == ("A", "B")]
    goals = [triple for triple in idea.success() if triple[2] == "C" and triple[1] != "robot"]
    return evaluation_of_triples(before, goals, chosen, facts.house).evaluation
