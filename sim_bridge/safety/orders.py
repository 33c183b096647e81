"""The operator's commands for motors and posture, which take a robot some seconds.

They do not block: a stop is processed meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim_bridge.control import Command, Outcome
from sim_bridge.safety.rules import Rule

ESTOPS = frozenset({Command.ESTOP_GENTLE, Command.ESTOP_HARD})
# After these the gate allows no motion, even if the robot did not get them.
HOLDS_IN_ANY_CASE = ESTOPS | {Command.STOP}
# Commands that reduce motion replace the running one.
_CALMS = HOLDS_IN_ANY_CASE | {Command.SIT, Command.POWER_OFF}


@dataclass(slots=True, eq=False)
class Order:
    """A command; `outcome` is set once it has ended.

    Attributes:
        command: the request.
        rule: of its receipt if it fails.
        agreed: what the rules say, before the robot gets it.
        outcome: of the whole command.
    """

    command: Command
    rule: Rule
    agreed: Outcome
    outcome: Outcome | None = None


def meanwhile(under_way: Command, command: Command) -> Outcome | None:
    """The answer to a command while another is running; None if it replaces that one."""
    if command is Command.ESTOP_HARD:
        return None
    if under_way in ESTOPS:
        holds = command in (Command.STOP, Command.ESTOP_GENTLE)
        return Outcome(holds, f"{under_way} is under way{', which stops it' if holds else ''}")
    if command in _CALMS:
        return None
    text = f"{command} is refused: {under_way} is under way; wait for its end, or stop it"
    return Outcome(False, text)
