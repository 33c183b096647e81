"""The story of a run in lines that a person can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_BAR_CELLS = 20


def clock(stamp_s: float) -> str:
    """Simulated time as minutes and seconds."""
    return f"{int(stamp_s) // 60:02d}:{int(stamp_s) % 60:02d}"


def seen_lines(stamp_s: float, added: Sequence[tuple[str, str]]) -> list[str]:
    """One line for the (description, room) of everything that was just found."""
    if not added:
        return []
    rooms: dict[str, list[str]] = {}
    for description, room in added:
        rooms.setdefault(room or "an unknown room", []).append(description)
    return [
        f"{clock(stamp_s)}  saw      {', '.join(found)} in {room}" for room, found in rooms.items()
    ]


def decided_line(stamp_s: float, agent: str, call: str) -> str:
    """What an agent sets out to do."""
    return f"{clock(stamp_s)}  {agent}  begins  {call}"


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
