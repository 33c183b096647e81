"""Messages between agents whose planners share nothing else (LLAMAR-D95)."""

from __future__ import annotations

from planner.world.instruct import one_line
from planner.world.record import record

MAX_CHARACTERS = 500


@record
class TeamMessage:
    """What one agent says to all others.

    Attributes:
        sender: the memory's name, `agent_0`.
        text: one line of at most `MAX_CHARACTERS`.
    """

    sender: str
    text: str

    @staticmethod
    def of(sender: str, text: str) -> TeamMessage:
        """Any text as a message; what is too long is cut."""
        return TeamMessage(sender, one_line(text)[:MAX_CHARACTERS])
