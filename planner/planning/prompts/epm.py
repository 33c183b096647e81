"""The dialogue of EPM's high-level planner (EPM-2.5).

The order of the parts and the syntax are the paper's, which models are trained on; the sentences
are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner.world.belief import Belief, BeliefNode
from planner.world.skill import SkillName

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

# In the paper's order; what only people can do stands before Done.
_DESCRIPTIONS: dict[str, str] = {
    SkillName.CLOSE: "closes furniture that opens. Example: Close[Object.101]",
    SkillName.EXPLORE_FURNITURE: (
        "goes to a piece of furniture and looks for things at it, and in it where it is open. "
        "Example: ExploreFurniture[Object.101]"
    ),
    SkillName.NAVIGATE: "goes next to a thing or furniture. Example: Navigate[Object.101]",
    SkillName.OPEN: "opens furniture, so that one can look and reach inside. "
    "Example: Open[Object.101]",
    SkillName.PICK: "takes a thing into the hand; a hand holds one thing. "
    "Example: Pick[Object.149]",
    SkillName.PLACE: (
        "puts the thing in the hand down, on or within furniture, next_to a thing that is there "
        "already or anywhere. Examples: Place[Object.149, on, Object.101, None, None], "
        "Place[Object.149, on, Object.101, next_to, Object.150]"
    ),
    SkillName.CLEAN: "cleans a thing or furniture. Example: Clean[Object.149]",
    SkillName.FILL: "fills a container; a faucet must be near. Example: Fill[Object.149]",
    SkillName.POUR: "pours from the container in the hand into another. Example: Pour[Object.150]",
    SkillName.POWER_ON: "switches something on. Example: PowerOn[Object.149]",
    SkillName.POWER_OFF: "switches something off. Example: PowerOff[Object.149]",
    SkillName.DONE: "says that the whole task is finished; nothing can be done after it. "
    "Example: Done[]",
}


ASKING = (
    "asks the person who gave the task; only where nothing else can settle it. "
    "Example: Ask[which of the two cups]"
)


def opening(
    instruction: str, belief: Belief, verbs: Sequence[str], *, may_ask: bool = False
) -> str:
    """The first user turn: task, entities, hint, actions, question."""
    lines = [f"Task: {instruction}", "", ENTITIES]
    lines += [entity_line(node) for node in numbered(belief)]
    lines += ["", HINT, "", ACTIONS]
    lines += [f"- {verb}: {_DESCRIPTIONS[verb]}" for verb in in_order(verbs)]
    if may_ask:
        lines.append(f"- Ask: {ASKING}")
    return "\n".join([*lines, "", QUESTION])


def in_order(verbs: Iterable[str]) -> list[str]:
    """The verbs of this dialogue, in the order of its list of actions."""
    allowed = set(verbs)
    return [verb for verb in _DESCRIPTIONS if verb in allowed]


def numbered(belief: Belief) -> list[BeliefNode]:
    """The entities that have a number, by number."""
    nodes = [node for node in belief.nodes.values() if node.entity_id is not None]
    return sorted(nodes, key=lambda node: node.entity_id or 0)


def entity_line(node: BeliefNode) -> str:
    """`Object.100: washer dryer in bathroom_2`."""
    # One line: what a model or a person wrote of a thing cannot pass for a line of the prompt.
    words = " ".join((node.description or node.class_name.replace("_", " ")).split())
    room = f" in {node.room}" if node.room is not None else ""
    return f"Object.{node.entity_id}: {words}{room}"


def result_turn(result: str, deltas: Sequence[str]) -> str:
    """The next user turn: how the action ended and what changed in the memory since."""
    changes = [UPDATED, *deltas] if deltas else [UNCHANGED]
    return "\n".join([f"Result: {result}", *changes])
