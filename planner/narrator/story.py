"""The story of a run in lines that a person can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.world.vocabulary import Relation

_BAR_CELLS = 20
_LONGEST_WHY = 240


# Stamps above are the time of day, which only a real world has; a simulated one begins at 0.
TIME_OF_DAY_S = 1e9


class StoryClock:
    """Seconds of the story: of a simulated world its time, of a real one since its first word."""

    def __init__(self) -> None:
        self._zero_s: float | None = None

    def since(self, stamp_s: float) -> float:
        """The story's time of a stamp; 0 for stamps from before anything was seen."""
        if self._zero_s is None and stamp_s > 0:
            self._zero_s = stamp_s if stamp_s > TIME_OF_DAY_S else 0.0
        return max(0.0, stamp_s - (self._zero_s or 0.0))


def clock(stamp_s: float) -> str:
    """Simulated time as minutes and seconds."""
    return f"{int(stamp_s) // 60:02d}:{int(stamp_s) % 60:02d}"


_WORDS = {Relation.ON: "on", Relation.WITHIN: "in", Relation.HELD: "in the hand of"}


@dataclass(frozen=True, slots=True)
class Sight:
    """A thing that was just found: its name, what it rests on, and the room; "" = unknown."""

    name: str
    relation: Relation | None
    parent: str
    room: str

    def __str__(self) -> str:
        if self.relation is None or not self.parent:
            return self.name
        if self.parent.startswith("floor_"):
            return f"{self.name} on the floor"
        return f"{self.name} {_WORDS[self.relation]} {self.parent}"


def seen_lines(stamp_s: float, found: Sequence[Sight]) -> list[str]:
    """One line for each room in which something was just found."""
    rooms: dict[str, list[str]] = {}
    for sight in found:
        rooms.setdefault(sight.room or "an unknown room", []).append(str(sight))
    return [f"{clock(stamp_s)}  {room}: saw {', '.join(sights)}" for room, sights in rooms.items()]


def why_line(stamp_s: float, plan: str) -> str:
    """Why the planner decided as it did; long thoughts are cut."""
    words = " ".join(plan.split())
    cut = words if len(words) <= _LONGEST_WHY else words[:_LONGEST_WHY].rsplit(" ", 1)[0] + " ..."
    return f"{clock(stamp_s)}  plan:    {cut}"


def reason_of(plan: str, agent: str, call: str) -> str:
    """The reason for a call in a plan of the form "AGENT: REASON: CALL; ..."; "" without one."""
    for part in plan.split("; "):
        if part.startswith(f"{agent}: ") and part.endswith(f": {call}"):
            return part.removeprefix(f"{agent}: ").removesuffix(f": {call}")
    return ""


def decided_line(stamp_s: float, agent: str, call: str, reason: str = "") -> str:
    """What an agent sets out to do, and why."""
    why = f"  to {reason}" if reason else ""
    return f"{clock(stamp_s)}  {agent}  begins  {call}{why}"


def moving_line(stamp_s: float, agent: str) -> str:
    """That the first of the agents has begun to move."""
    return f"{clock(stamp_s)}  {agent}  is moving"


def ended_line(stamp_s: float, agent: str, call: str, code: int, text: str) -> str:
    """How a call ended: failures with their reason."""
    if code == 0:
        return f"{clock(stamp_s)}  {agent}  did     {call}"
    return f"{clock(stamp_s)}  {agent}  FAILED  {call}: {text}"


def progress_line(stamp_s: float, percent_complete: float, satisfied: int, total: int) -> str:
    """The judge's view as a bar."""
    filled = round(percent_complete * _BAR_CELLS)
    bar = "#" * filled + "." * (_BAR_CELLS - filled)
    return f"{clock(stamp_s)}  judge    [{bar}] {satisfied} of {total} parts of the task hold"


def verdict_line(
    success: bool, percent_complete: float, sim_steps: int, places: Mapping[str, str]
) -> str:
    """The last line: the verdict, its figures and where everything lies."""
    word = "success" if success else "failure"
    paths = "".join(f"  {name}: {path}" for name, path in places.items() if path)
    return (
        f"verdict: {word}  percent_complete: {percent_complete:.2f}  sim_steps: {sim_steps}{paths}"
    )
