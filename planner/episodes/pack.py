"""Packs: many episodes and their houses in one compressed file, `NAME.json.gz`.

A pack is unpacked once into the user's cache; from there it is a folder of episodes like any other.
"""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from planner.episodes.episode_file import write_episode
from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.files import FileModel, parse_json, parse_model, read_bytes
from planner.world.house import House, write_house

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
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as stream:
            stream.write(gzip.compress(text.encode(), compresslevel=9, mtime=0))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None


def write_set(output: Path, episodes: Sequence[Episode], houses: Sequence[House] = ()) -> None:
    """Writes a pack, or a folder if the path is none of a pack; arguments as of `write_pack`.

    Raises:
        FileError: if something cannot be written.
    """
    if is_pack(output):
        write_pack(output, episodes, houses)
        return
    try:
        _write(output, episodes, houses)
    except OSError as error:
        raise FileError(output, "", f"cannot be written: {error.strerror}") from None


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
