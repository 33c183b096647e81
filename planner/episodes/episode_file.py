"""Reads and writes episode files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from planner.world.episode import Episode, read_episode
from planner.world.errors import FileError

REPORT_NAME = "import_report.json"


def episode_json(episode: Episode) -> str:
    """The file's text: one line for each list entry, so that diffs are readable."""
    document = episode.model_dump(mode="json", exclude_defaults=True)
    document["version"] = episode.version
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n    ".join(json.dumps(item, separators=(",", ":")) for item in value)
            lines.append(f'  "{key}": [\n    {rows}\n  ]')
        else:
            lines.append(f'  "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_episode(episode: Episode, folder: Path) -> Path:
    """Writes `<episode_id>.json` into a folder, replacing an older one."""
    path = folder / f"{episode.episode_id}.json"
    write_text(path, episode_json(episode))
    return path


def write_text(path: Path, text: str) -> None:
    """Writes a file atomically: a reader sees the old text or the new one.

    Raises:
        FileError: if it cannot be written.
    """
    temporary = path.with_suffix(".tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error}") from None


def episodes_in(places: Iterable[Path]) -> Iterator[tuple[Path, Episode | FileError]]:
    """The episodes of files and folders, in order of path; for an invalid one its error."""
    for place in places:
        paths = sorted(place.glob("*.json")) if place.is_dir() else [place]
        for path in paths:
            if place.is_dir() and path.name == REPORT_NAME:
                continue
            try:
                yield path, read_episode(path)
            except FileError as error:
                yield path, error
