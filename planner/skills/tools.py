"""The perception tools: questions to the belief, answered by rule (PARTNR-6.1).

The paper asks a language model to pick names from the graph. Here words are
matched to names, classes with their aliases and groups, rooms, furniture and
states; what is found is told in plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from planner.skills.attempt import Attempt, Routine
from planner.skills.preconditions import Arguments
from planner.skills.team import Action
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import EntityKind, Relation, State

_LONGEST_PHRASE = 4
_MAX_LINES = 60
_MAX_ACTIONS = 10
_STATE_WORDS: dict[str, tuple[State, bool]] = {
    "clean": (State.CLEAN, True),
    "dirty": (State.CLEAN, False),
    "filled": (State.FILLED, True),
    "full": (State.FILLED, True),
    "empty": (State.FILLED, False),
    "powered": (State.POWERED_ON, True),
}
_ALL = frozenset(
    {
        *("all", "any", "anything", "everything", "stuff"),
        *("item", "items", "object", "objects", "thing", "things"),
        *("furniture", "furnitures", "receptacle", "receptacles", "room", "rooms"),
    }
)


@dataclass(frozen=True, slots=True)
class _Question:
    """What a text names: entities by name, classes of each level, states; `rest` is unknown."""

    names: frozenset[str]
    objects: frozenset[str]
    furniture: frozenset[str]
    rooms: frozenset[str]
    states: tuple[tuple[State, bool], ...]
    everything: bool
    rest: tuple[str, ...]


def find_objects(belief: Belief, text: str) -> str:
    """The things that a text means, with where each is."""
    question = _read(belief, text)
    places = _places(belief, question)
    found = []
    for node in belief.of_kind(EntityKind.OBJECT):
        named = node.name in question.names
        of_class = node.class_name in question.objects or _mentions(node, question.rest)
        free = not question.objects and not (question.names & _object_names(belief))
        if not (named or of_class or (free and (places or question.everything))):
            continue
        if places and not named and not ({node.parent, node.room} & places):
            continue
        if any(node.states.get(state, not value) is not value for state, value in question.states):
            continue
        found.append(_where(node, belief))
    return _told(found, "object", text)


def find_receptacles(belief: Belief, text: str) -> str:
    """The furniture that a text means, with its room."""
    question = _read(belief, text)
    rooms = _rooms(belief, question)
    found = []
    for node in belief.of_kind(EntityKind.FURNITURE):
        named = node.name in question.names
        of_class = node.class_name in question.furniture or _mentions(node, question.rest)
        free = not question.furniture and (rooms or question.everything)
        if not (named or of_class or free):
            continue
        if rooms and not named and node.room not in rooms:
            continue
        found.append(f"{node.name} in {node.room or 'an unknown room'}")
    return _told(found, "receptacle", text)


def find_rooms(belief: Belief, text: str) -> str:
    """The rooms that a text means, or that hold what it means."""
    question = _read(belief, text)
    rooms = _rooms(belief, question)
    if not rooms:
        for node in belief.nodes.values():
            wanted = question.furniture | question.objects
            if node.name in question.names or node.class_name in wanted:
                rooms |= {node.room} if node.room else set()
    if question.everything and not rooms:
        rooms = {node.name for node in belief.of_kind(EntityKind.ROOM)}
    return _told(sorted(rooms), "room", text)


def answers(finder: Callable[[Belief, str], str]) -> Callable[[Attempt, Arguments], Routine]:
    """A routine that answers from the belief; no simulated time passes (PARTNR-D56)."""

    def routine(attempt: Attempt, arguments: Arguments) -> Routine:
        yield from ()
        text = finder(attempt.belief, arguments.text)
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


def _told(lines: list[str], what: str, text: str) -> str:
    if not lines:
        return f"No {what} found for: {text.strip()[:200]}"
    more = len(lines) - _MAX_LINES
    return "\n".join([*lines[:_MAX_LINES], *([f"and {more} more"] if more > 0 else [])])


def _where(node: BeliefNode, belief: Belief) -> str:
    if node.relation is Relation.HELD:
        return f"{node.name} is held by {node.parent}"
    if node.parent is None:
        return f"{node.name} is in {node.room or 'an unknown room'}"
    relation = "within" if node.relation is Relation.WITHIN else "on"
    place = belief.nodes.get(node.parent)
    room = node.room or (place.room if place is not None else None) or "an unknown room"
    return f"{node.name} is {relation} {node.parent} in {room}"


def _read(belief: Belief, text: str) -> _Question:
    """Finds the longest phrases that mean something; each word counts once."""
    words = re.findall(r"[^\W_]+(?:[_-][^\W_]+)*", text.lower())[:200]
    catalogue = default_catalogue()
    names: set[str] = set()
    classes: dict[str, set[str]] = {"object": set(), "furniture": set(), "room": set()}
    states: list[tuple[State, bool]] = []
    everything, rest = False, []
    at = 0
    while at < len(words):
        for length in range(min(_LONGEST_PHRASE, len(words) - at), 0, -1):
            phrase = " ".join(words[at : at + length])
            if _understand(phrase, belief, catalogue, names, classes):
                at += length
                break
        else:
            word = words[at]
            if word in _STATE_WORDS:
                states.append(_STATE_WORDS[word])
            elif word in _ALL:
                everything = True
            elif len(word) > 2:
                rest.append(word)
            at += 1
    return _Question(
        frozenset(names),
        frozenset(classes["object"]),
        frozenset(classes["furniture"]),
        frozenset(classes["room"]),
        tuple(states),
        everything,
        tuple(rest),
    )


def _understand(
    phrase: str,
    belief: Belief,
    catalogue: Catalogue,
    names: set[str],
    classes: dict[str, set[str]],
) -> bool:
    node = belief.find(phrase.replace(" ", "_"))
    if node is not None:
        names.add(node.name)
        return True
    if phrase in ("floor", "floors", "ground"):
        classes["furniture"].add("floor")
        return True
    known = False
    for form in _singulars(phrase):
        for kind, name in (
            ("object", catalogue.object_name(form)),
            ("furniture", catalogue.furniture_name(form)),
            ("room", catalogue.room_name(form)),
        ):
            if name is not None:
                classes[kind].add(name)
                known = True
        key = form.replace(" ", "_")
        for cls in catalogue.objects.values():
            if {key, f"{key}s", phrase.replace(" ", "_")} & set(cls.groups):
                classes["object"].add(cls.name)
                known = True
        if known:
            return True
    return False


def _singulars(phrase: str) -> list[str]:
    """A phrase and what it may be the plural of."""
    forms = [phrase]
    for ending, instead in (("ies", "y"), ("ves", "f"), ("es", ""), ("s", "")):
        if phrase.endswith(ending) and len(phrase) > len(ending) + 2:
            forms.append(phrase[: -len(ending)] + instead)
    return forms


def _mentions(node: BeliefNode, rest: tuple[str, ...]) -> bool:
    """Whether words that no catalogue knows occur in an entity's free text."""
    own = set(re.findall(r"[^\W_]+", f"{node.class_name} {node.description}".lower()))
    return any(word in own for word in rest)


def _object_names(belief: Belief) -> frozenset[str]:
    return frozenset(node.name for node in belief.of_kind(EntityKind.OBJECT))


def _rooms(belief: Belief, question: _Question) -> set[str]:
    return {
        node.name
        for node in belief.of_kind(EntityKind.ROOM)
        if node.name in question.names or node.class_name in question.rooms
    }


def _places(belief: Belief, question: _Question) -> set[str | None]:
    """Rooms and furniture that a question about things names."""
    rooms = _rooms(belief, question)
    furniture = {
        node.name
        for node in belief.of_kind(EntityKind.FURNITURE)
        if node.name in question.names or node.class_name in question.furniture
    }
    if furniture and rooms:
        # "on the table in the kitchen": the kitchen's tables.
        nodes = belief.nodes
        return {name for name in furniture if nodes[name].room in rooms}
    return {*rooms, *furniture}
