"""`planner episodes list`: one line per episode."""

from __future__ import annotations

import sys
from pathlib import Path

from planner.episodes.episode_file import episodes_in
from planner.episodes.pack import opened
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.share import config_dir

_WORDS_SHOWN = 72
_COLUMNS = ("NAME", "HOUSE", "TYPES", "GOALS", "INSTRUCTION")


def list_episodes(places: list[Path]) -> int:
    """Prints a table of episodes by name.

    Args:
        places: files and folders; empty = the shipped episodes.

    Returns:
        0; 1 if a file is invalid, which is reported on standard error.

    Raises:
        PlannerError: for a place that does not exist.
    """
    broken = 0
    for place in places:
        if not place.exists():
            raise PlannerError(f"{place}: there is no such file or folder")
    shipped = config_dir() / "episodes"
    folders = [opened(place) for place in places] or [
        p for p in (shipped, *sorted(shipped.glob("*"))) if p.is_dir()
    ]
    rows: list[tuple[str, ...]] = []
    for path, episode in episodes_in(folders):
        if isinstance(episode, FileError):
            broken += 1
            print(f"error: {episode}", file=sys.stderr)
        else:
            rows.append(_row(path.stem, episode))
    rows.sort()
    if rows:
        print("\n".join(_table([_COLUMNS, *rows])))
    return 1 if broken else 0


def _row(name: str, episode: Episode) -> tuple[str, ...]:
    """The columns; NAME is what `make demo TASK=NAME` takes."""
    propositions = (episode.evaluation or {}).get("propositions")
    count = str(len(propositions)) if isinstance(propositions, list) else "-"
    words = " ".join(episode.instruction.split())
    if len(words) > _WORDS_SHOWN:
        words = words[: _WORDS_SHOWN - 3] + "..."
    return (name, episode.house, ",".join(episode.task_types) or "-", count, words)


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    ]
