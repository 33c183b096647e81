"""The state-based prompt of PARTNR's fine-tuned planner (PARTNR-7.7).

One text without dialogue or thoughts; a model is trained on what follows the special token.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

TOKEN = "<|reserved_special_token_0|>"  # noqa: S105 - a word of the model's vocabulary
NEXT_ACTION = "Next Agent Action:"
ENVIRONMENT, ACTIONS = "Current Environment:", "Previous actions:"


@dataclass(frozen=True, slots=True)
class PastAction:
    """An action that ended: the agent's own with its result, or another agent's."""

    call: str
    result: str
    is_own: bool


def prompt(instruction: str, world: str, past: Iterable[PastAction]) -> str:
    """The prompt up to the special token, after which the model gives the next call."""
    lines = [f"Task: {instruction}", "", ENVIRONMENT, world, "", ACTIONS]
    for action in past:
        if action.is_own:
            lines += [f"Agent_Action: {action.call}", f"Action Result: {action.result}"]
        else:
            lines.append(f"Other_Agent_Action: {action.call}")
    return "\n".join([*lines, f"{NEXT_ACTION}{TOKEN}"])


def world_of(text: str) -> str:
    """The environment that a prompt describes."""
    return text.partition(f"\n{ENVIRONMENT}\n")[2].partition(f"\n\n{ACTIONS}\n")[0]
