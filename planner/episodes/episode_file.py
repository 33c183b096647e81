"""Episode files and packs: read, written, listed, and found by the name of a suite."""

from __future__ import annotations

import gzip
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from planner.world.episode import Episode, read_episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, parse_json, parse_model, read_bytes, replacing, writing
from planner.world.house import House, write_house
from planner.world.share import config_dir

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
    with replacing(path) as aside:
        aside.write_text(text, encoding="utf-8")


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


# Packs: many episodes and their houses in one compressed file, `NAME.json.gz`.
#
# A pack is unpacked once into the user's cache; from there it is a folder of episodes like any
# other.

SUFFIX = ".json.gz"
MAX_BYTES = 1 << 30
_VERSION: Literal[1] = 1


class Pack(FileModel):
    """The content of a pack; `houses` are those that are not shipped."""

    version: Literal[1]
    houses: tuple[House, ...] = ()
    episodes: tuple[Episode, ...]


def is_pack(path: Path) -> bool:
    """Whether a path is a pack's by its name."""
    return path.name.endswith(SUFFIX)


def write_pack(path: Path, episodes: Iterable[Episode], houses: Iterable[House] = ()) -> None:
    """Writes a pack atomically; equal content gives equal files.

    Args:
        path: NAME.json.gz.
        episodes: in order.
        houses: those that are not shipped.

    Raises:
        FileError: if it cannot be written.
    """
    pack = Pack(version=_VERSION, houses=tuple(houses), episodes=tuple(episodes))
    document = pack.model_dump(mode="json", exclude_defaults=True) | {"version": _VERSION}
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False)
    with replacing(path) as aside, aside.open("wb") as stream:
        stream.write(gzip.compress(text.encode(), compresslevel=9, mtime=0))
        stream.flush()
        os.fsync(stream.fileno())


def write_set(output: Path, episodes: Sequence[Episode], houses: Sequence[House] = ()) -> None:
    """Writes a pack, or a folder if the path is none of a pack; arguments as of `write_pack`.

    Raises:
        FileError: if something cannot be written.
    """
    if is_pack(output):
        write_pack(output, episodes, houses)
        return
    with writing(output):
        _write(output, episodes, houses)


def unpacked(path: Path) -> Path:
    """The folder of a pack's episodes in the user's cache, made if it is not there.

    Raises:
        FileError: if the file is not a pack, or the cache cannot be written.
    """
    content = read_bytes(path)
    folder = _cache() / sha256(content).hexdigest()[:24]
    if folder.is_dir():
        return folder
    pack = _parsed(path, content)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as name:
            _write(Path(name) / "pack", pack.episodes, pack.houses)
            (Path(name) / "pack").rename(folder)
    except OSError as error:
        # Another process may have been faster.
        if not folder.is_dir():
            raise FileError(folder, "", f"cannot be written: {error.strerror}") from None
    return folder


def opened(place: Path) -> Path:
    """The folder of a pack; any other path as it is.

    Raises:
        FileError: as `unpacked`.
    """
    return unpacked(place) if is_pack(place) and place.is_file() else place


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "planner" / "packs"


def read_pack(path: Path) -> Pack:
    """The content of a pack.

    Raises:
        FileError: if the file is not a pack.
    """
    return _parsed(path, read_bytes(path))


def _parsed(path: Path, content: bytes) -> Pack:
    decoder = zlib.decompressobj(wbits=31)
    try:
        text = decoder.decompress(content, MAX_BYTES).decode("utf-8")
        if decoder.unconsumed_tail:
            raise FileError(path, "", f"has more than {MAX_BYTES} bytes")
        document = parse_json(text, path, max_chars=MAX_BYTES, max_values=MAX_BYTES)
    except (zlib.error, UnicodeDecodeError) as error:
        raise FileError(path, "", f"is not a pack of episodes: {error}") from None
    return parse_model(document, Pack, str(path))


def _write(folder: Path, episodes: Iterable[Episode], houses: Sequence[House]) -> None:
    (folder / "houses" if houses else folder).mkdir(parents=True, exist_ok=True)
    for house in houses:
        write_house(house, folder / "houses" / f"{house.name}.json")
    for episode in episodes:
        write_episode(episode, folder)


# The type of what finds a suite, for commands of episodes, which know no suites.

# The folders and files of a suite by its name.
FindSuite = Callable[[str], Sequence[Path]]


# `planner episodes list`: one line per episode.

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
