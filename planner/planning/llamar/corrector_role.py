"""The Corrector: why an action failed, and what helps (LLAMAR-D9).

The paper prints no prompt of this role. It gets what the Actor gets, after the step (LLAMAR-D10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.models.chat import Message
from planner.models.replies.dictionary import DictionaryReply, Entries, TextKey
from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.actor_role import ActionList, team_fields
from planner.planning.llamar.role import FAILURE_REASON
from planner.planning.llamar.state import NONE, Situation

CORRECTIVE_ACTION = "corrective action"


@dataclass(frozen=True, slots=True)
class Remedies:
    """Why something failed, and by name what an agent should do about it; None = nothing."""

    reason: str = ""
    actions: Mapping[str, str | None] | None = None

    def action_of(self, name: str) -> str | None:
        """The corrective action of an agent."""
        return (self.actions or {}).get(name)


@dataclass(frozen=True, slots=True)
class CorrectorRole:
    """Reads the step that was just carried out; replies with remedies for what failed.

    Attributes:
        names: of the agents.
        actions: what agents can do.
    """

    names: tuple[str, ...]
    actions: ActionList
    role = Role.CORRECTOR

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt: the fields of the Actor, in its order."""
        system = _system(situation, self.actions)
        return prompt.messages(system, situation, team_fields(situation))

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - always the same
        """A reason, then one action or null for each agent."""
        remedies = (
            TextKey(prompt.own(name, CORRECTIVE_ACTION), is_optional=True) for name in self.names
        )
        return DictionaryReply((TextKey(FAILURE_REASON, is_optional=True), *remedies))

    def value(self, entries: Entries) -> Remedies:
        """The remedies."""
        return Remedies(
            entries.text(FAILURE_REASON),
            {
                name: entries.text(prompt.own(name, CORRECTIVE_ACTION)) or None
                for name in self.names
            },
        )


def _system(situation: Situation, actions: ActionList) -> str:
    keys = ", ".join(f'"{prompt.own(view.name, CORRECTIVE_ACTION)}"' for view in situation.views)
    return f"""\
You are the corrector of a team of {prompt.team_of(situation)} \
{situation.setting.place}. After a step in which an action failed you find out why, \
and say what the robot should do in the next step.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
{actions.inputs}
{prompt.NAMING}
The robots can do this:
{actions.text}
Common reasons and what helps:
{situation.setting.remedies}
Reply with a dictionary of these keys: "{FAILURE_REASON}", a text, {keys}: one of the actions \
above, or {NONE} for a robot that needs none.
{prompt.ONLY_DICTIONARY}"""
