"""A recorded session of the console as demonstrations: whose calls may be used (EPM-2.7).

The record says who did what and who agreed that it is used for training; the bag beside it has the
calls. Only what persons did who agreed is exported, and the manifest says who they were.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from planner.world.errors import FileError
from planner.world.files import read_lines

RECORD, BAG = "console.jsonl", "bag"
# Orders whose words or motions a trace holds.
_ACTS = frozenset({"skill", "drive"})
_WORDS = frozenset({"instruct", "answer", "again"})
_CONSENT = "consent"


class _Line(BaseModel):
    """What is read of a line; the others of its fields do not matter here."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    who: str
    seat: str
    what: str
    refused: str = ""
    order: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Consents:
    """Whose calls of a session may be used.

    Attributes:
        agents: whose persons all agreed, with these persons.
        left_out: agents of whom somebody did not agree, with those persons.
    """

    agents: dict[str, tuple[str, ...]]
    left_out: dict[str, tuple[str, ...]]

    def in_words(self) -> str:
        """For the manifest."""
        return "; ".join(f"{agent}: {', '.join(who)}" for agent, who in self.agents.items())


def consents_of(folder: Path) -> Consents:
    """Who acted in a session, and who of them agreed; the last word of each counts.

    Args:
        folder: of the run, with `console.jsonl` and `bag`.

    Raises:
        FileError: if the record cannot be read, if nobody acted, if nobody of an agent's persons
            agreed, or if the words of somebody who did not agree are part of the task.
    """
    path = folder / RECORD
    lines = _lines(path)
    agreed: dict[str, bool] = {}
    actors: dict[str, dict[str, None]] = {}
    speakers: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        if line.refused:
            continue
        if line.what == _CONSENT:
            agreed[line.who] = _yes(path, number, line)
        elif line.what in _ACTS:
            actors.setdefault(line.seat, {})[line.who] = None
        elif line.what in _WORDS:
            speakers[line.who] = None
    if not actors:
        raise FileError(path, "", "nobody was a partner in this session: nothing to learn from")
    against = {
        agent: tuple(who for who in persons if not agreed.get(who, False))
        for agent, persons in actors.items()
    }
    left_out = {agent: who for agent, who in against.items() if who}
    agents = {agent: tuple(actors[agent]) for agent in sorted(actors) if agent not in left_out}
    if not agents:
        named = "; ".join(f"{agent}: {', '.join(who)}" for agent, who in left_out.items())
        raise FileError(path, _CONSENT, f"nobody who acted agreed to training ({named})")
    if silent := [who for who in speakers if not agreed.get(who, False)]:
        raise FileError(
            path,
            _CONSENT,
            f"{', '.join(silent)} gave the instruction and did not agree to training",
        )
    return Consents(agents, left_out)


def _lines(path: Path) -> list[_Line]:
    lines = [line.rstrip(b"\r\n") for line in read_lines(path)]
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_Line.model_validate_json(line))
        except ValidationError as error:
            if number == len(lines) and not line.endswith(b"}"):
                # The process ended within its last line.
                break
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise FileError(path, f"line {number} {where}".strip(), first["msg"]) from None
    return found


def _yes(path: Path, number: int, line: _Line) -> bool:
    yes = line.order.get("yes")
    if not isinstance(yes, bool):
        raise FileError(path, f"line {number} order.yes", f"expected true or false, got {yes!r}")
    return yes
