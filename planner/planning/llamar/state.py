"""What the four roles read and write (LLAMAR-D1): the observations, subtasks, memory and results.

Agents have people's names in prompts, in the order of the task's agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.models.picture import Picture
from planner.planning.llamar.setting import HOME, Setting
from planner.world.record import record

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
