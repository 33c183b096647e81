"""The perception tools: queries of the belief, answered by rules or by a model (PARTNR-6.1).

PARTNR asks a language model to choose from lists of what is known (`planner/skills/tools.py`).
Without one the catalogue's words are matched (`planner/skills/finding.py`). The answers have the
published format.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from planner.skills.attempt import Attempt, Routine
from planner.skills.finding import (
    furniture_anywhere,
    matching_furniture,
    matching_objects,
    matching_rooms,
)
from planner.skills.preconditions import Arguments
from planner.skills.results import Action, RefusalError
from planner.world.belief import Belief, BeliefNode
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import Affordance, EntityKind, Relation

MAX_LINES = 60
_MAX_ACTIONS = 10
_MAX_QUERY_CHARS = 200


@dataclass(frozen=True, slots=True)
class Finder:
    """One Find tool.

    Attributes:
        kind: of entities.
        known: a line for each known candidate; `base_m` is the agent's position.
        matching: the names that a text means, by the catalogue's words.
        nothing: the answer if no name is meant.
        context: what a model gets about each name in addition to its line.
    """

    kind: EntityKind
    known: Callable[[Belief, Vec3 | None], Mapping[str, str]]
    matching: Callable[[Belief, str], Iterable[str]]
    nothing: Callable[[Belief, str], str]
    context: Callable[[Belief, str], str] = lambda _belief, _name: ""

    def __call__(self, belief: Belief, text: str, base_m: Vec3 | None) -> str:
        """The answer by rules."""
        return self.answer(belief, text, base_m, self.matching(belief, text))

    def answer(self, belief: Belief, text: str, base_m: Vec3 | None, names: Iterable[str]) -> str:
        """The lines of these names, or that there are none."""
        known = self.known(belief, base_m)
        return _listed([known[name] for name in names]) or self.nothing(belief, text)

    def shown(self, belief: Belief, base_m: Vec3 | None) -> Mapping[str, str]:
        """The candidates shown to a model, by name."""
        known = self.known(belief, base_m)
        return {name: f"{line}{self.context(belief, name)}" for name, line in known.items()}


def _objects(belief: Belief, base_m: Vec3 | None) -> Mapping[str, str]:
    nodes = belief.of_kind(EntityKind.OBJECT)
    return {node.name: _object_line(node, belief, base_m) for node in nodes}


def _no_object(belief: Belief, text: str) -> str:
    if not belief.of_kind(EntityKind.OBJECT):
        return (
            "No objects are found yet, please explore the house by navigating to different rooms."
        )
    return f"Could not find any object in world for the query '{_shown(text)}'."


def _no_receptacle(belief: Belief, text: str) -> str:
    answer = f"Could not find any receptacles in world for the query '{_shown(text)}'."
    others = [_furniture_words(node) for node in furniture_anywhere(belief, text)][:MAX_LINES]
    if others:
        answer += f" I was able to find following furniture though:\n- {', '.join(others)}"
    return answer


def _contents(belief: Belief, room: str) -> str:
    names = [node.name for node in belief.nodes.values() if room in (node.room, node.parent)]
    return f" with {', '.join(names)}" if names else ""


# The objects that a text means: where each is, how far, in which states.
find_objects = Finder(
    EntityKind.OBJECT,
    known=_objects,
    matching=lambda belief, text: [node.name for node in matching_objects(belief, text)],
    nothing=_no_object,
)
# The furniture that a text means, with its room and components.
find_receptacles = Finder(
    EntityKind.FURNITURE,
    known=lambda belief, _: {
        node.name: f"- {_furniture_words(node)}" for node in belief.of_kind(EntityKind.FURNITURE)
    },
    matching=lambda belief, text: [node.name for node in matching_furniture(belief, text)],
    nothing=_no_receptacle,
)
# The rooms that a text means, or that contain or probably contain what it means.
find_rooms = Finder(
    EntityKind.ROOM,
    known=lambda belief, _: {
        node.name: f"- {node.name}" for node in belief.of_kind(EntityKind.ROOM)
    },
    matching=matching_rooms,
    nothing=lambda _belief, _text: "I could not find any room matching the query.",
    context=_contents,
)


def answers(finder: Finder) -> Callable[[Attempt, Arguments], Routine]:
    """A routine that answers from the belief; rules take no simulated time (PARTNR-D56).

    If there is a model, it chooses; its failure is the call's failure.
    """

    def routine(attempt: Attempt, arguments: Arguments) -> Routine:
        belief, base_m, text = attempt.belief, attempt.base, arguments.text
        model, shown = attempt.scene.find_model, finder.shown(belief, base_m)
        if model is None or not shown:
            names = finder.matching(belief, text)
        else:
            names = yield from _chosen(attempt, model.choose(finder.kind, _shown(text), shown))
        answer = finder.answer(belief, text, base_m, names)
        return SkillResult(SkillCode.SUCCESS, answer, attempt.evidence)

    return routine


def _chosen(
    attempt: Attempt, reply: Future[tuple[str, ...]]
) -> Generator[tuple[str, float], None, tuple[str, ...]]:
    """Waits for a model's reply."""
    try:
        while not reply.done():
            attempt.end_if_out_of_time()
            yield "asking the model", 0.0
        return reply.result()
    except PlannerError as error:
        sentence = f"The model of the Find tools gave no answer: {error}."
        raise RefusalError(SkillCode.BACKEND_FAULT, sentence) from None
    finally:
        reply.cancel()


def find_agent_actions(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Returns the current and last actions of the other agents."""
    yield from ()
    text = other_agents(attempt.scene.team.actions(besides=attempt.scene.agent))
    return SkillResult(SkillCode.SUCCESS, text, attempt.evidence)


def other_agents(actions: Iterable[Action]) -> str:
    """The current and last actions of the other agents, newest last."""
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
