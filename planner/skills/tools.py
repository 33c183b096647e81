"""The perception tools: questions to the belief, answered by rule (PARTNR-6.1).

PARTNR asks a language model to pick from lists of what is known. Here the catalogue's words are
matched (`planner/skills/finding.py`); the answers read as the published ones do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from planner.skills.attempt import Attempt, Routine
from planner.skills.finding import (
    furniture_anywhere,
    matching_furniture,
    matching_objects,
    matching_rooms,
)
from planner.skills.preconditions import Arguments
from planner.skills.team import Action
from planner.world.belief import Belief, BeliefNode
from planner.world.geometry import Vec3
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import Affordance, EntityKind, Relation

MAX_LINES = 60
_MAX_ACTIONS = 10
_MAX_QUERY_CHARS = 200
# Answers a text from what is believed; the point is where the agent stands.
Finder = Callable[[Belief, str, Vec3 | None], str]


def find_objects(belief: Belief, text: str, base_m: Vec3 | None) -> str:
    """The things that a text means: where each is, how far, in which states."""
    if not belief.of_kind(EntityKind.OBJECT):
        return (
            "No objects are found yet, please explore the house by navigating to different rooms."
        )
    found = [_object_line(node, belief, base_m) for node in matching_objects(belief, text)]
    return _listed(found) or (f"Could not find any object in world for the query '{_shown(text)}'.")


def find_receptacles(belief: Belief, text: str, _base_m: Vec3 | None) -> str:
    """The furniture that a text means, with its room and components."""
    found = matching_furniture(belief, text)
    if found:
        return _listed([f"- {_furniture_words(node)}" for node in found])
    answer = f"Could not find any receptacles in world for the query '{_shown(text)}'."
    others = [_furniture_words(node) for node in furniture_anywhere(belief, text)][:MAX_LINES]
    if others:
        answer += f" I was able to find following furniture though:\n- {', '.join(others)}"
    return answer


def find_rooms(belief: Belief, text: str, _base_m: Vec3 | None) -> str:
    """The rooms that a text means, or that hold or are likely to hold what it means."""
    found = [f"- {name}" for name in matching_rooms(belief, text)]
    return _listed(found) or "I could not find any room matching the query."


def answers(finder: Finder) -> Callable[[Attempt, Arguments], Routine]:
    """A routine that answers from the belief; no simulated time passes (PARTNR-D56)."""

    def routine(attempt: Attempt, arguments: Arguments) -> Routine:
        yield from ()
        text = finder(attempt.belief, arguments.text, attempt.base)
        return SkillResult(SkillCode.SUCCESS, text, attempt.evidence)

    return routine


def find_agent_actions(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Answers what the other agents do and did."""
    yield from ()
    text = other_agents(attempt.scene.team.actions(besides=attempt.scene.agent))
    return SkillResult(SkillCode.SUCCESS, text, attempt.evidence)


def other_agents(actions: Iterable[Action]) -> str:
    """What the other agents are doing and did, newest last."""
    lines = []
    for action in actions:
        if action.result is None:
            lines.append(f"{action.agent} is doing {action.call}")
        else:
            how = "done" if action.result.succeeded else f"failed: {action.result.text}"
            lines.append(f"{action.agent} did {action.call}: {how}")
    return "\n".join(lines[-_MAX_ACTIONS:]) or "No other agent has acted yet."


def _listed(lines: Sequence[str]) -> str:
    more = len(lines) - MAX_LINES
    return "\n".join([*lines[:MAX_LINES], *([f"and {more} more"] if more > 0 else [])])


def _shown(text: str) -> str:
    return text.strip()[:_MAX_QUERY_CHARS]


def _object_line(node: BeliefNode, belief: Belief, base_m: Vec3 | None) -> str:
    parent = belief.nodes.get(node.parent or "")
    room = node.room or (parent.room if parent is not None else None) or "an unknown room"
    words = {Relation.ON: "on", Relation.WITHIN: "in", Relation.HELD: "held by"}
    place = f"{words[node.relation or Relation.ON]} {node.parent} " if node.parent else ""
    far = f" {math.dist(node.position_m, base_m):.2f} meters away" if base_m is not None else ""
    states = ", ".join(f"is_{state}: {value}" for state, value in node.states.items())
    known = f". It has the following states, {states}." if states else ""
    return f"- {node.name} {place}in {room}{far}{known}"


def _furniture_words(node: BeliefNode) -> str:
    components = " with components: faucet" if Affordance.FAUCET in node.affordances else ""
    return f"{node.name} in {node.room or 'an unknown room'}{components}"
