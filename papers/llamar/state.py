"""What the four roles read and write (LLAMAR-D1), and the options of LLaMAR and its baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from papers.llamar.actions import Repertoire
from planner.models.chat import Picture
from planner.parts.option import Option, OptionValue
from planner.world.geometry import record

# What the roles' prompts say of the world that the team is in.


@record
class Setting:
    """Sentences of the system messages.

    Attributes:
        place: where the team is.
        seeing: what the robots see.
        advice: notes for who chooses actions, one a line.
        remedies: why actions fail there and what helps, one a line.
    """

    place: str
    seeing: str
    advice: str
    remedies: str


HOME = Setting(
    place="in a home",
    seeing=(
        "The robots see only what is in front of them. More things than are listed may be in the "
        "house, and some have to be found first."
    ),
    advice="""\
- A robot holds one thing at a time.
- To see a thing is not to be close enough to it: navigate to it before anything else is done \
with it.
- Where a thing was not seen yet, look for it in all directions and in other places.
- Close what you opened before you leave it. Open doors may block paths, so open only what has \
to be.""",
    remedies="""\
- The robot is too far from the thing or does not see it: navigate to the thing first.
- The furniture is closed: open it before putting something into it or taking something out.
- No path was found: turn or move, then try again from there.
- Another robot stands in the way: that robot moves away, or this one waits.
- Two robots did the same at once: one of them does something else.
- The action was not needed, because its result was there already: go on with the subtask.""",
)
RESCUE = Setting(
    place="in a search and rescue task on a grid of 30 by 30 cells",
    seeing=(
        "The robots see all fires, reservoirs and deposits from everywhere. A lost person is seen "
        "by all once a robot was near, and has to be found first."
    ),
    advice="""\
- A chemical fire needs sand, any other fire water; the wrong one is used up for nothing.
- A fire spreads from cells of medium and high heat. One unit lowers the heat of the cells around \
the robot by one level, so navigate to a burning region before you use supplies.
- A robot has room for three units. Get them at a reservoir, to which it has to navigate first.
- Explore to find lost persons.
- At least two robots carry a person: all navigate to the person, carry, navigate to the deposit, \
and drop off in the same step. A robot that carries somebody can do nothing else.""",
    remedies="""\
- The robot is too far away: navigate to the fire's region, reservoir, deposit or person first.
- Nobody has seen the person yet: explore.
- The robot has no sand or water left: navigate to a reservoir and get some.
- The robot has no room: use supplies, or clear the inventory.
- The supply does not fit the fire: get the other one.
- Not all who carry the person dropped off: they all do so in the same step at the deposit.
- The robot carries a person: bring the person to the deposit first.""",
)


# The names in the paper's prompts for two and three agents, then ours.
TEAM_NAMES = ("Alice", "Bob", "Charlie", "David", "Emma", "Fiona")
MAX_AGENTS = len(TEAM_NAMES)
NONE = "None"
# The paper's, in joint steps.
HORIZON = 30
# Joint steps for each action that a task allows: looking for something and turning to it take
# steps of their own here, and count as no action there (LLAMAR-D85).
STEPS_PER_ACTION = 4


class Correction(StrEnum):
    """Who finds out why an action failed (LLAMAR-D9).

    SEPARATE: the Corrector, a call of its own after the step. MERGED: the Actor, in the same reply
    as its next actions. OFF: nobody.
    """

    SEPARATE = "separate"
    MERGED = "merged"
    OFF = "off"


class VerifiedBy(StrEnum):
    """Who says which subtasks are complete (LLAMAR-D83).

    MODEL: the Verifier. ORACLE: the goal itself, without a call. OFF: nobody.
    """

    MODEL = "model"
    ORACLE = "oracle"
    OFF = "off"


@record
class AgentView:
    """One agent's part of a prompt.

    Attributes:
        agent: the memory's name, `agent_0`.
        name: in prompts, `Alice`.
        observation: instance names of what it sees now.
        state: where it is and what it holds, in words.
        previous_action: what it tried in the step before and whether that worked; None = nothing.
        previous_failures: its failed actions since its last success, oldest first.
        picture: of its camera; None where the model takes none.
    """

    agent: str
    name: str
    observation: tuple[str, ...]
    state: str
    previous_action: str | None = None
    previous_failures: tuple[str, ...] = ()
    picture: Picture | None = None


@record
class Situation:
    """The input of a role.

    Attributes:
        task: the instruction.
        views: one for each agent.
        open_subtasks, completed_subtasks: as the roles wrote them.
        memory: the team's text as the Actor wrote it last; "" = none yet.
        subtask: what the team was trying in the step before; "" = none yet.
        failure_reason: the Corrector's, of the step before; "" = none.
        corrective_actions: the Corrector's for the next step, by name; None where none is needed.
        step: of joint steps, from 0.
        setting: what the prompts say of the world.
    """

    task: str
    views: tuple[AgentView, ...]
    open_subtasks: tuple[str, ...] = ()
    completed_subtasks: tuple[str, ...] = ()
    memory: str = ""
    subtask: str = ""
    failure_reason: str = ""
    corrective_actions: Mapping[str, str | None] = field(default_factory=dict)
    step: int = 0
    setting: Setting = HOME


@dataclass(frozen=True, slots=True)
class Attempt:
    """One agent's action of a joint step and how it ended.

    Attributes:
        agent: the memory's name.
        raw: as the model wrote it.
        action: as it was understood, `NavigateTo(Apple_1)`.
        succeeded: the only thing that the method asks the world (LLAMAR-D3).
        text: what was tried, whether it worked, and else why not, as the next prompts have it.
    """

    agent: str
    raw: str
    action: str
    succeeded: bool
    text: str


# The options of LLaMAR and its baselines, which their records declare.

TEAM, ROBOT = "team", "robot"
CAMERA_PICTURES = "camera_pictures"
VERIFIER = "verifier"

TEAM_OPTIONS = (
    Option(
        "horizon",
        0,
        "joint steps of a task, at most; 0 = by the actions that the task allows, else 30",
        min_value=0,
        max_value=1000,
    ),
    Option("exploration", True, "whether agents are offered the paper's exploration"),
    Option(
        "actions",
        Repertoire.HOUSEHOLD.value,
        "what the agents can do: the paper's actions, or those of search and rescue",
        choices=tuple(each.value for each in Repertoire),
    ),
    Option("small_steps", True, "whether agents also move, turn and look step by step"),
    Option("known_by", TEAM, "who must have seen what an agent names", choices=(TEAM, ROBOT)),
    Option(
        "translator",
        "",
        "folder of a sentence encoder that reads free text as actions; empty = words are compared",
        is_path=True,
    ),
    Option(
        "understood_from",
        0.0,
        "similarity from which a text is understood; 0 = the translator's own",
        min_value=0.0,
        max_value=1.0,
    ),
    Option("listed_actions", False, "whether the grammar lists the actions of the moment"),
    Option(CAMERA_PICTURES, False, "whether the model gets a picture of each agent's camera"),
)
_OF_FREE_TEXT = ("translator", "understood_from", "listed_actions")
# For baselines whose models write actions in the paper's spelling, or a number.
EXACT_OPTIONS = tuple(option for option in TEAM_OPTIONS if option.name not in _OF_FREE_TEXT)
# Of agents that never know what others have seen.
COELA_OPTIONS = tuple(option for option in EXACT_OPTIONS if option.name != "known_by")
LLAMAR_OPTIONS = (
    Option(
        "corrector",
        Correction.SEPARATE.value,
        "who finds out why an action failed: a role of its own, the Actor, or nobody",
        choices=tuple(mode.value for mode in Correction),
    ),
    Option(
        VERIFIER,
        VerifiedBy.MODEL.value,
        "who says what is complete: a role of its own, the structured goal, or nobody",
        choices=tuple(each.value for each in VerifiedBy),
    ),
    Option("skip_on_success", False, "whether the Corrector is left out where nothing failed"),
    Option(
        "confirm_empty_with_planner",
        False,
        "whether the Planner is asked again before a task ends because nothing is open",
    ),
    Option(
        "confirm_done_with_subtasks",
        False,
        "whether a task in which a subtask is open goes on where all agents are done",
    ),
    *TEAM_OPTIONS,
)


def wants_pictures(options: Mapping[str, OptionValue]) -> bool:
    """Whether the prompts have pictures."""
    return options.get(CAMERA_PICTURES) is True


def reads_goal(options: Mapping[str, OptionValue]) -> bool:
    """Whether the goal of the episode is read in the Verifier's place."""
    return options.get(VERIFIER) == VerifiedBy.ORACLE
