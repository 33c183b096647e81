"""What the operator asked of a robot's motors and posture, which takes it some seconds.

Meanwhile everything else goes on: above all a stop is heard.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim_bridge.control import Command, Outcome
from sim_bridge.safety.rules import Rule

ESTOPS = frozenset({Command.ESTOP_GENTLE, Command.ESTOP_HARD})
# Nothing moves after these, whether or not the robot could be told.
HOLDS_IN_ANY_CASE = ESTOPS | {Command.STOP}
# What makes a robot do less takes the place of what is under way.
_CALMS = HOLDS_IN_ANY_CASE | {Command.SIT, Command.POWER_OFF}


@dataclass(slots=True, eq=False)
class Order:
    """A command that was asked for; `outcome` is there once it is over.

    Attributes:
        command: what was asked.
        rule: of its receipt, where it fails.
        agreed: what the rules say of it, before any robot was asked.
        outcome: how it ended.
    """

    command: Command
    rule: Rule
    agreed: Outcome
    outcome: Outcome | None = None


def meanwhile(under_way: Command, command: Command) -> Outcome | None:
    """The answer to a command while another is under way; None where it takes that one's place."""
    if command is Command.ESTOP_HARD:
        return None
    if under_way in ESTOPS:
        holds = command in (Command.STOP, Command.ESTOP_GENTLE)
        return Outcome(holds, f"{under_way} is under way{', which stops it' if holds else ''}")
    if command in _CALMS:
        return None
    text = f"{command} is refused: {under_way} is under way; wait for its end, or stop it"
    return Outcome(False, text)
