"""The wording of PARTNR's planners (PARTNR-5.5, PARTNR-7.2, PARTNR-7.3).

The order of the parts and the syntax are the paper's; the sentences are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.parts.calls import SKILLS
from planner.planning.belief_text import OBJECTS
from planner.planning.numbered_dialogue import OTHERS, in_order, is_able
from planner.world.primitive import Capabilities
from planner.world.skill import SkillName

CAMERA = "Your camera shows:"
CAPTION = (
    "The picture is what the camera of somebody in a house shows now. Describe in a few sentences "
    "which kind of room it is, which furniture and which things are there, on or in what each "
    "thing is, and what is open, dirty, filled or switched on. Say only what can be seen."
)

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
    SkillName.NAVIGATE, SkillName.EXPLORE, SkillName.OPEN, SkillName.CLOSE, SkillName.PICK,
    SkillName.PLACE, SkillName.REARRANGE, SkillName.WAIT, SkillName.DONE, SkillName.CLEAN,
    SkillName.FILL, SkillName.POUR, SkillName.POWER_ON, SkillName.POWER_OFF, OTHERS,
    SkillName.FIND_OBJECT, SkillName.FIND_RECEPTACLE, SkillName.FIND_ROOM,
    SkillName.FIND_AGENT_ACTION,
)  # fmt: skip
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


def opening(instruction: str, world: str, verbs: Iterable[str], *, may_ask: bool = False) -> str:
    """The first user turn: task, world, possible actions, question (PARTNR-7.2)."""
    return "\n".join(
        [f"Task: {instruction}", world, ACTIONS, tool_lines(verbs, may_ask), "", QUESTION]
    )


def offered(able: Capabilities | None, *, with_tools: bool) -> tuple[str, ...]:
    """The skills of an agent's body; the tools only if there is no summary (PARTNR-7.4)."""
    found = [
        name
        for name, part in SKILLS.usable().items()
        if part.named_text and (with_tools or not part.is_query) and is_able(name, able)
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
    texts = [(verb, SKILLS.get(verb).named_text) for verb in verbs]
    lines = [f"- {verb}: {text}" for verb, text in texts if text]
    if may_ask:
        lines.append(f"- Ask: {_ASKING}")
    return "\n".join(sorted(lines))


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
