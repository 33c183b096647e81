"""What is said after a task and refers to it: "and the bowls too", "put it back", "come back"."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from planner.conversation.additions import added, repeated
from planner.conversation.changes import Doubt, changed, text_of
from planner.conversation.journal import Journal
from planner.conversation.utterances import Kind, utterance_of
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.world.belief import Belief
from planner.world.vocabulary import EntityKind

_BEFORE = (
    r"^(?:(?:ok|okay|now|please|and|robot|no|sorry|oops|then|actually|could you|can you)[ ,]+)*"
)
_POLITE = re.compile(r"([ ,]+(please|thanks|thank you|now))+$")
_UNDO = re.compile(
    _BEFORE + r"(?:undo(?: (?:it|that|this|everything|all(?: of (?:it|that))?|what you did))?"
    r"|reverse (?:it|that)"
    r"|(?:put|make) (?:it|that|everything) (?:(?:all )?(?:back )?as it was|like before|as before)"
    r"|take (?:it|that) back|revert(?: (?:it|that))?)$"
)
_BACK = re.compile(
    _BEFORE + r"(?:put|bring|take|carry|move) (?P<what>it|that|this|them|those|these|everything"
    r"|all(?: of (?:it|them|that))?|all that) back(?: (?:again|there|please"
    r"|to (?:its|their|the old) places?"
    r"|where (?:it|they) (?:was|were|belongs?|came from)(?: before)?|where you (?:took|got|found)"
    r" (?:it|them)(?: from)?))*$"
)
_RETURN = re.compile(
    _BEFORE
    + r"(?:come back|return|go back|walk back|get back)(?: (?:now|again|here|to me|then|please"
    r"|to where you (?:were|came from|started)(?: before)?|to your place|to the start))*$"
)


@dataclass(frozen=True, slots=True)
class Past:
    """The task before.

    Attributes:
        goal: None if it was known to its planner alone.
        room: in which its first agent was when it began; "" if that was not known.
    """

    goal: Goal | None
    journal: Journal
    room: str = ""


@dataclass(frozen=True, slots=True)
class Meant:
    """A task by what it refers to.

    Attributes:
        goal: what the text means; None = as it is read.
        evaluation: the goal in names, as an episode's; None = by words.
    """

    text: str
    goal: Goal | None = None
    evaluation: Mapping[str, JsonValue] | None = None


NOTHING_BACK = "nothing was done: nothing was moved before that could be put back"


def meant_after(past: Past, said: str, belief: Belief) -> Meant | Doubt | str | None:
    """What a text means after a task; why it cannot be, as a sentence; None if it is by itself."""
    words = _POLITE.sub("", " ".join(said.lower().split()).strip(" .!?"))
    if _UNDO.match(words) or (back := _BACK.match(words)):
        one = not _UNDO.match(words) and back is not None and back["what"] in ("it", "that", "this")
        names = {past.journal.latest} if one else None
        evaluation = past.journal.put_back(names)
        return NOTHING_BACK if evaluation is None else Meant(said, evaluation=evaluation)
    if _RETURN.match(words):
        return Meant(_way_back(past, belief)) if past.room else None
    if past.goal is None:
        return None
    utterance = utterance_of(said)
    found: Goal | Doubt | None = None
    if utterance.kind is Kind.ADD:
        found = added(past.goal, utterance.rest)
    elif not isinstance(interpret(said), Goal):
        found = repeated(past.goal, said)
        if found is None and utterance.kind in (Kind.CHANGE, Kind.OTHER):
            change = changed(past.goal, utterance.rest)
            found = change if isinstance(change, Doubt) or change is None else change.goal
    if found is None or isinstance(found, Doubt):
        return found
    return Meant(text_of(found), found)


def room_of(belief: Belief, agent: str) -> str:
    """The room in which an agent is; "" if that is not known."""
    node = belief.nodes.get(agent)
    return (node.room or "") if node is not None else ""


def _way_back(past: Past, belief: Belief) -> str:
    """To a person, if one is known, or else to where the task began."""
    persons = [n for n in belief.of_kind(EntityKind.AGENT) if n.class_name in ("human", "person")]
    if persons:
        return "Come here."
    return f"Go to the {past.room.rpartition('_')[0].replace('_', ' ')}."
