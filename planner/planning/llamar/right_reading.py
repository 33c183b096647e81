"""What a prompt says, read without a flaw: for privileged models that know no more (LLAMAR-D82).

A reader knows the things that its prompt names, with what the memory knows of each, the house's
layout, and which subtasks are said to be done. What the prompt does not name it does not know,
whoever saw it before. What was tried and searched is in the trace of the baselines and in the
Actor's memory, so that readers of both know it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from planner.planning.llamar.names import InstanceNames
from planner.planning.llamar.role import PromptingRole
from planner.planning.llamar.state import Situation
from planner.world.belief import Belief, BeliefNode
from planner.world.record import record
from planner.world.vocabulary import EntityKind

_NAME = re.compile(r"\b[A-Z][A-Za-z0-9]*_[0-9]+\b")
_AGAIN = " again"


@record
class Reading:
    """Of one prompt.

    Attributes:
        names: the instances that it names.
        said_done: the subtasks that it lists as completed and not as open.
    """

    names: frozenset[str]
    said_done: frozenset[str] = frozenset()


def reading_of(role: PromptingRole, situation: Situation, instances: InstanceNames) -> Reading:
    """What the role's prompt of a situation says."""
    text = role.messages(situation)[-1].text
    names = names_in(text).intersection(instances.names)
    still_open = {stem(subtask) for subtask in situation.open_subtasks}
    said_done = frozenset(stem(subtask) for subtask in situation.completed_subtasks) - still_open
    return Reading(names, said_done)


def names_in(text: str) -> frozenset[str]:
    """What looks like an instance name, whether or not there is one."""
    return frozenset(_NAME.findall(text))


def known_to(reading: Reading, belief: Belief, instances: InstanceNames) -> Belief:
    """The part of a belief that a reader knows.

    Furniture is of the layout, so it stays; whether it is open and its states only if it is named.
    """
    named = {instances.entity_of(name) for name in reading.names}
    return replace(belief, nodes=dict(_kept(belief.nodes.values(), named)))


def _kept(nodes: Iterable[BeliefNode], named: set[str | None]) -> Iterable[tuple[str, BeliefNode]]:
    for node in nodes:
        if node.name in named or node.kind not in (EntityKind.OBJECT, EntityKind.FURNITURE):
            yield node.name, node
        elif node.kind is EntityKind.FURNITURE:
            yield node.name, replace(node, openness=None, states={})


def stem(subtask: str) -> str:
    """A subtask's first text; one that was done and is undone is open again under another."""
    while subtask.endswith(_AGAIN):
        subtask = subtask.removesuffix(_AGAIN)
    return subtask


def renewed(subtask: str, taken: set[str]) -> str:
    """A text for a subtask that is none of those taken, which are in lower case."""
    while subtask.casefold() in taken:
        subtask += _AGAIN
    return subtask
