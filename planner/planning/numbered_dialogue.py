"""The dialogue in which entities are numbers (EPM-2.5), and which skills a model is offered.

`react` has it with a model, and traces of all planners are written in it, for models to learn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from planner.parts.calls import SKILLS
from planner.world.belief import Belief, BeliefNode
from planner.world.primitive import Capabilities, PrimitiveName
from planner.world.skill import SkillName

# Which skills a model is offered, and in which order.

# Placeholder in a paper's order for all skills that it does not name.
OTHERS = ""
# Skills of every body (config/agents.yaml), offered without checking abilities.
_COMMON = frozenset(
    {
        PrimitiveName.NAVIGATE,
        PrimitiveName.LOOK,
        PrimitiveName.PICK,
        PrimitiveName.PLACE,
        PrimitiveName.OPEN,
        PrimitiveName.CLOSE,
    }
)


def is_able(skill: str, able: Capabilities | None) -> bool:
    """Whether a body has the abilities that a skill needs beyond the common ones."""
    part = SKILLS.find(skill)
    primitives = able.primitives if able is not None else frozenset()
    return part is not None and part.abilities - _COMMON <= primitives


def in_order(skills: Iterable[str], order: Sequence[str]) -> tuple[str, ...]:
    """Sorts skills by a paper's order; those that it does not name go to `OTHERS`."""
    return tuple(
        sorted(skills, key=lambda name: (order.index(name if name in order else OTHERS), name))
    )


SYSTEM = (
    "You plan what a robot does in a house where several agents may work on the same task. You "
    "solve the task by going to furniture and things, by picking things up and by putting them "
    "down.\n"
    "Keep exactly to the format that is asked for. Before you choose, look at what was done "
    "before and how it ended. An agent can only handle what it is next to: navigate there first. "
    "You are the one who was given the task; whoever gave it speaks of itself as I and of you as "
    "you. If you find yourself repeating one action many times, something is wrong: do something "
    "else."
)
HINT = (
    "Use this description of the house. Think about which furniture is near to which, and about "
    "where things of a kind are usually kept."
)
QUESTION = (
    "What is the next action? Answer with nothing but the call and the word that ends your turn, "
    "in this format:\n"
    "<next action call>\n"
    "Assigned!\n"
    "For example:\n"
    "Navigate[<object>]\n"
    "Assigned!"
)
ENTITIES = "These are the entities known so far, with their rooms:"
ACTIONS = "Possible Actions:"
UPDATED = "The following objects were updated:"
UNCHANGED = "No object updates."

# The paper's order; skills that it does not have go before Done.
_ORDER = (
    SkillName.CLOSE,
    SkillName.EXPLORE_FURNITURE,
    SkillName.NAVIGATE,
    SkillName.OPEN,
    SkillName.PICK,
    SkillName.PLACE,
    SkillName.CLEAN,
    SkillName.FILL,
    SkillName.POUR,
    SkillName.POWER_ON,
    SkillName.POWER_OFF,
    OTHERS,
    SkillName.DONE,
)


ASKING = (
    "asks the person who gave the task; only where nothing else can settle it. "
    "Example: Ask[which of the two cups]"
)


def opening(
    instruction: str, belief: Belief, verbs: Sequence[str], *, may_ask: bool = False
) -> str:
    """The first user turn: task, entities, hint, actions, question."""
    lines = [entity_line(node) for node in numbered(belief)]
    return opening_text(instruction, lines, verbs, may_ask=may_ask)


def opening_text(
    instruction: str, entities: Sequence[str], verbs: Sequence[str], *, may_ask: bool = False
) -> str:
    """The same from the entities' lines."""
    lines = [f"Task: {instruction}", "", ENTITIES, *entities]
    lines += ["", HINT, "", ACTIONS]
    lines += [f"- {verb}: {SKILLS.get(verb).numbered_text}" for verb in verbs]
    if may_ask:
        lines.append(f"- Ask: {ASKING}")
    return "\n".join([*lines, "", QUESTION])


def offered(able: Capabilities | None) -> tuple[str, ...]:
    """The skills that an agent's body can do, in the order of the dialogue's actions."""
    skills = SKILLS.usable().items()
    return in_order((n for n, part in skills if part.numbered_text and is_able(n, able)), _ORDER)


def numbered(belief: Belief) -> list[BeliefNode]:
    """The entities with a number, by number."""
    nodes = [node for node in belief.nodes.values() if node.entity_id is not None]
    return sorted(nodes, key=lambda node: node.entity_id or 0)


def entity_line(node: BeliefNode) -> str:
    """`Object.100: washer dryer in bathroom_2`."""
    # One line, so that a description cannot pass for a line of the prompt.
    words = " ".join((node.description or node.class_name.replace("_", " ")).split())
    room = f" in {node.room}" if node.room is not None else ""
    return f"Object.{node.entity_id}: {words}{room}"


def result_turn(result: str, deltas: Sequence[str]) -> str:
    """The next user turn: the action's result and the memory's changes since then."""
    changes = [UPDATED, *deltas] if deltas else [UNCHANGED]
    return "\n".join([f"Result: {result}", *changes])


def whole_list_turn(result: str, belief: Belief) -> str:
    """The next user turn where it has all entities again: what EPM compares its changes with."""
    lines = [entity_line(node) for node in numbered(belief)]
    return "\n".join([f"Result: {result}", ENTITIES, *lines])


def without_list(turn: str) -> str:
    """A turn of `whole_list_turn` without its list; any other one itself."""
    return turn.partition(f"\n{ENTITIES}\n")[0] if turn.startswith("Result: ") else turn


class Wording(StrEnum):
    """How the dialogue is worded: as in the paper, or short."""

    PAPER = "paper"
    SHORT = "short"
