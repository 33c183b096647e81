"""Who may move an agent: claim, power, posture and emergency stop, as on a Spot.

Pure: the bridge turns service calls into `Command`s and does what an `Outcome` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

NOT_STANDING = "it is not standing"


class Command(StrEnum):
    """The Trigger services of an agent; values are their names."""

    CLAIM = "claim"
    RELEASE = "release"
    POWER_ON = "power_on"
    POWER_OFF = "power_off"
    STAND = "stand"
    SIT = "sit"
    STOP = "stop"
    ESTOP_GENTLE = "estop/gentle"
    ESTOP_HARD = "estop/hard"
    ESTOP_RELEASE = "estop/release"


class Estop(StrEnum):
    """The emergency stop: gentle lets the agent sit down before the motors are cut."""

    NONE = "none"
    GENTLE = "gentle"
    HARD = "hard"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Answer to a command; `stops` says that the agent must stop moving now."""

    success: bool
    message: str
    stops: bool = False


@dataclass(frozen=True, slots=True)
class _Effect:
    """The state after a command; None = unchanged."""

    text: str
    stops: bool = False
    claimed: bool | None = None
    powered: bool | None = None
    standing: bool | None = None
    estop: Estop | None = None


_EFFECTS: Mapping[Command, _Effect] = {
    Command.CLAIM: _Effect("claimed", claimed=True),
    Command.RELEASE: _Effect("stopped, released", stops=True, claimed=False),
    Command.POWER_ON: _Effect("motors on", powered=True),
    Command.POWER_OFF: _Effect("stopped, motors off", stops=True, powered=False, standing=False),
    Command.STAND: _Effect("standing", standing=True),
    Command.SIT: _Effect("stopped, sitting", stops=True, standing=False),
    Command.STOP: _Effect("stopped", stops=True),
    Command.ESTOP_GENTLE: _Effect(
        "stopped, sitting, motors off", True, powered=False, standing=False, estop=Estop.GENTLE
    ),
    Command.ESTOP_HARD: _Effect(
        "motors cut", stops=True, powered=False, standing=False, estop=Estop.HARD
    ),
    Command.ESTOP_RELEASE: _Effect(
        "no emergency stop; power on and stand to move", estop=Estop.NONE
    ),
}

# Anybody may stop an agent, claimed or not.
STOPS = frozenset({Command.STOP, Command.ESTOP_GENTLE, Command.ESTOP_HARD})
_ALWAYS = STOPS | {Command.ESTOP_RELEASE, Command.CLAIM}


class Control:
    """The state of one agent. Simulated agents start claimed, powered and standing."""

    def __init__(self, *, ready: bool) -> None:
        self.claimed = ready
        self.powered = ready
        self.standing = ready
        self.estop = Estop.NONE

    @property
    def obstacles(self) -> tuple[str, ...]:
        """Why it may not move, in the order in which to clear them; empty if it may."""
        found = []
        if self.estop is not Estop.NONE:
            found.append(f"the {self.estop} emergency stop is engaged")
        if not self.claimed:
            found.append("it is not claimed")
        if not self.powered:
            found.append("its motors are off")
        if not self.standing:
            found.append(NOT_STANDING)
        return tuple(found)

    def apply(self, command: Command) -> Outcome:
        """Carries out a command, or refuses it and changes nothing."""
        refusal = self._refusal(command)
        if refusal:
            return Outcome(False, f"{command} is refused: {refusal}")
        effect = _EFFECTS[command]
        for name in ("claimed", "powered", "standing", "estop"):
            value = getattr(effect, name)
            if value is not None:
                setattr(self, name, value)
        return Outcome(True, effect.text, effect.stops)

    def _refusal(self, command: Command) -> str:
        if command not in _ALWAYS and not self.claimed:
            return "claim the agent first"
        if command in (Command.POWER_ON, Command.STAND) and self.estop is not Estop.NONE:
            return f"release the {self.estop} emergency stop first"
        if command is Command.STAND and not self.powered:
            return "power it on first"
        if command is Command.ESTOP_GENTLE and self.estop is Estop.HARD:
            return "the hard emergency stop is engaged already"
        return ""
