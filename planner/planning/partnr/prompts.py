"""The wording of PARTNR's planners (PARTNR-5.5, PARTNR-7.2, PARTNR-7.3).

The order of the parts and the syntax are the paper's; the sentences are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.models.replies.turn import is_speakable
from planner.parts.calls import SKILLS
from planner.planning.numbered_dialogue import OTHERS, in_order, is_able
from planner.world.belief import Belief, BeliefNode
from planner.world.primitive import Capabilities
from planner.world.skill import SkillName
from planner.world.states import default_states
from planner.world.vocabulary import Affordance, EntityKind, Relation, holding_hand_words

NO_OBJECTS = "No objects found yet"
OBJECTS = "Objects:"
CAMERA = "Your camera shows:"
CAPTION = (
    "The picture is what the camera of somebody in a house shows now. Describe in a few sentences "
    "which kind of room it is, which furniture and which things are there, on or in what each "
    "thing is, and what is open, dirty, filled or switched on. Say only what can be seen."
)
_UNKNOWN_PLACE = "unknown in an unknown room"
# Limits copies of one object in a prompt, so that they do not crowd out others (PARTNR-11.2).
MAX_OF_CLASS = 12

_COMMON = (
    "Things whose room is unknown can be navigated to like any other. Several entries of one "
    "class may be one and the same thing seen twice. If many actions in a row are the same, "
    "something is wrong: do something else."
)
_SYSTEM = (
    "You plan actions of an agent in a house where things have to be brought to places and "
    "changed. Keep exactly to the formats that are asked for. Mind what was done before and how "
    "it ended. Explore rooms one after another until what you look for is found; a room that was "
    "explored need not be explored again. Another agent works on the same task and may already "
    "have some of the objects or have done parts of the task: then do something else."
)
_SYSTEM_ALONE = (
    "You plan actions of an agent in a house where things have to be brought to places and "
    "changed. Keep exactly to the formats that are asked for. Mind what was done before and how "
    "it ended. Explore rooms one after another until what you look for is found; a room that was "
    "explored need not be explored again."
)
_GIVER = (
    "You are the one who gave the task: in its words, I is yourself and you is the other agent."
)
_RECEIVER = (
    "You are the one who was given the task: in its words, you is yourself and I is the other "
    "agent."
)
_SYSTEM_TEAM = (
    "You plan the actions of all agents of a team in a house where things have to be brought to "
    "places and changed. Keep exactly to the formats that are asked for. Divide the work among "
    "the agents and use as few actions as possible: send each to something else. Mind who can do "
    "what. Rooms and furniture are known, things perhaps not: explore only for what is missing, "
    "and no room twice. While an agent's action is still in progress give it the same action "
    "again, until it is seen to have succeeded. Give Wait[] to an agent that has nothing left to "
    "do while others work. Only when everything is verified to be done, say the task once more "
    "in your thought and answer Done[] instead of the agents' actions."
)
QUESTION = (
    "What is the next action? Answer in this format:\n"
    "Thought: <reasoning>\n"
    "<next action call>\n"
    "Assigned!\n"
    "For example:\n"
    "Thought: I do not know where the thing is, so I look in a room that was not explored yet.\n"
    "Explore[<room name>]\n"
    "Assigned!"
)
ACTIONS = "Possible Actions:"
TEAM_ACTIONS = "Possible actions for each agent:"

_ORDER = (
    SkillName.NAVIGATE,
    SkillName.EXPLORE,
    SkillName.OPEN,
    SkillName.CLOSE,
    SkillName.PICK,
    SkillName.PLACE,
    SkillName.REARRANGE,
    SkillName.WAIT,
    SkillName.DONE,
    SkillName.CLEAN,
    SkillName.FILL,
    SkillName.POUR,
    SkillName.POWER_ON,
    SkillName.POWER_OFF,
    OTHERS,
    SkillName.FIND_OBJECT,
    SkillName.FIND_RECEPTACLE,
    SkillName.FIND_ROOM,
    SkillName.FIND_AGENT_ACTION,
)
_ASKING = (
    "asks the person who gave the task, where nothing else can settle it. "
    "Example (Ask[which of the two vases])"
)


@dataclass(frozen=True, slots=True)
class Seat:
    """The agent of a dialogue: whether it gave the task, and whether others take part."""

    agent: str
    is_giver: bool
    is_alone: bool


def system(seat: Seat, examples: str = "") -> str:
    """The system turn of one agent's dialogue, followed by a retrieved example."""
    words = [_SYSTEM_ALONE if seat.is_alone else _SYSTEM, _COMMON]
    if not seat.is_alone:
        words.append(_GIVER if seat.is_giver else _RECEIVER)
    return "\n".join([" ".join(words), *([examples] if examples else [])])


def opening(
    instruction: str,
    world: str,
    verbs: Iterable[str],
    *,
    may_ask: bool = False,
) -> str:
    """The first user turn: task, world, possible actions, question (PARTNR-7.2)."""
    return "\n".join(
        [f"Task: {instruction}", world, ACTIONS, tool_lines(verbs, may_ask), "", QUESTION]
    )


def offered(able: Capabilities | None, *, with_tools: bool) -> tuple[str, ...]:
    """The skills of an agent's body; the tools only if there is no summary (PARTNR-7.4)."""
    found = [
        name
        for name, part in SKILLS.usable().items()
        if part.partnr_text and (with_tools or not part.is_query) and is_able(name, able)
    ]
    return in_order(found, _ORDER)


def team_system(kinds: Sequence[tuple[str, str]]) -> str:
    """The system turn for one planner of all agents; `kinds` are their names and bodies."""
    members = " ".join(
        f"Agent {number} is {name}, a {kind}." for number, (name, kind) in enumerate(kinds)
    )
    return f"{_SYSTEM_TEAM} {members} {_COMMON}"


def team_opening(instruction: str, world: str, verbs: Sequence[Iterable[str]]) -> str:
    """The first user turn for all agents (PARTNR-7.3)."""
    lines = [f"Task: {instruction}", world, TEAM_ACTIONS]
    for number, own in enumerate(verbs):
        lines += [f"Agent {number}:", tool_lines(own, may_ask=False)]
    lines += [
        "",
        "What are the next actions? Answer in this format:",
        "Thought: <reasoning>",
        *(f"Agent_{number}_Action: <call for agent {number}>" for number in range(len(verbs))),
        "Assigned!",
    ]
    return "\n".join(lines)


def tool_lines(verbs: Iterable[str], may_ask: bool) -> str:
    """One line per tool, in alphabetical order."""
    texts = [(verb, SKILLS.get(verb).partnr_text) for verb in verbs]
    lines = [f"- {verb}: {text}" for verb, text in texts if text]
    if may_ask:
        lines.append(f"- Ask: {_ASKING}")
    return "\n".join(sorted(lines))


def world_description(belief: Belief, *, objects: bool = True, states: bool = False) -> str:
    """Rooms with their furniture, faucets, and the known objects (PARTNR-5.5)."""
    lines = ["Furniture:"]
    furniture = belief.of_kind(EntityKind.FURNITURE)
    by_room: dict[str, list[BeliefNode]] = {}
    for node in furniture:
        by_room.setdefault(node.room or "unknown", []).append(node)
    for room in sorted(by_room):
        names = [node.name for node in sorted(by_room[room], key=_floor_first)]
        lines.append(f"{room}: {', '.join(names)}")
    wet = [
        n.name for n in sorted(furniture, key=_floor_first) if Affordance.FAUCET in n.affordances
    ]
    if wet:
        lines.append(f"The following furnitures have a faucet: {', '.join(wet)}")
    if objects:
        lines.append(summary(belief, "", states=states))
    return "\n".join(lines)


def _floor_first(node: BeliefNode) -> tuple[bool, int, str]:
    number = node.name.rpartition("_")[2]
    return node.class_name != "floor", int(number) if number.isdecimal() else -1, node.name


def summary(belief: Belief, agent: str, *, states: bool = False) -> str:
    """All known objects and their locations; `agent` is the reader.

    With `states`, also the furniture that is not in its initial state, such as an oven that is on.
    """
    # Skip names that no call can contain; their text might pass for something else.
    known = [node for node in belief.of_kind(EntityKind.OBJECT) if is_speakable(node.name)]
    nodes = sorted(known, key=_by_class)
    lines, counts = [OBJECTS] if nodes else [OBJECTS, NO_OBJECTS], dict[str, int]()
    for node in nodes:
        count = counts[node.class_name] = counts.get(node.class_name, 0) + 1
        if count <= MAX_OF_CLASS:
            lines.append(f"{node.name}: {_where(node, belief, agent)}{_states(node, states)}")
    lines += [
        f"{' '.join(name.split())}: {count - MAX_OF_CLASS} more"
        for name, count in counts.items()
        if count > MAX_OF_CLASS
    ]
    return "\n".join(lines + _changed_furniture(belief) if states else lines)


def _changed_furniture(belief: Belief) -> list[str]:
    """Furniture with a state that differs from the initial one: objects have theirs always."""
    usual = default_states().usual
    return [
        f"{node.name}: {node.room or 'unknown'}{words}"
        for node in sorted(belief.of_kind(EntityKind.FURNITURE), key=_by_class)
        if any(value is not usual(state) for state, value in node.states.items())
        and (words := _states(node, shown=True))
    ]


def _by_class(node: BeliefNode) -> tuple[str, int, str]:
    number = node.name.rpartition("_")[2]
    return node.class_name, int(number) if number.isdecimal() else -1, node.name


def _in_hand(node: BeliefNode, belief: Belief) -> str:
    """In which hand a held thing is, where its holder has more than one."""
    holder = belief.nodes.get(node.parent or "")
    words = holding_hand_words(holder.hands, node.name) if holder is not None else ""
    return f" in {words}" if words else ""


def _where(node: BeliefNode, belief: Belief, agent: str) -> str:
    if node.relation is Relation.HELD:
        if not agent:
            return f"held by {node.parent}{_in_hand(node, belief)}"
        whose = "the agent" if node.parent == agent else "the other agent"
        return f"held by {whose}{_in_hand(node, belief)}"
    if node.parent is None:
        return _UNKNOWN_PLACE if node.room is None else f"unknown in {node.room}"
    place = belief.nodes.get(node.parent)
    room = node.room or (place.room if place is not None else None) or "unknown"
    return f"{node.parent} in {room}"


def _states(node: BeliefNode, shown: bool) -> str:
    if not shown:
        return ""
    table = default_states()
    words = [
        word
        for state, value in node.states.items()
        if table.affordance_of.get(state) in node.affordances
        and (word := table.word(state, value=value))
    ]
    return f" ({', '.join(words)})" if words else ""


def result_turn(result: str, world: str) -> str:
    """An action's result, then the world as known now."""
    return "\n".join([f"Result: {result}", *([world] if world else [])])


def camera_lines(words: str, names: Sequence[str] | None = None) -> str:
    """What a picture shows; `names` are what its things are called, None = as in the summary."""
    lines = [f"{CAMERA} {words}"]
    if names:
        lines.append(f"Calls name what is to be seen there: {', '.join(names)}")
    return "\n".join(lines)


def shortened(turn: str) -> str:
    """A result without its summary and its view (PARTNR-D52)."""
    if not turn.startswith("Result"):
        return turn
    return turn.partition(f"\n{OBJECTS}\n")[0].partition(f"\n{CAMERA} ")[0]
