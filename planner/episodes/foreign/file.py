"""Reads other projects' files with limits and strict parsing; nothing is executed.

JSON only, optionally compressed with gzip. A file that is too large when decompressed, NaN or
infinity, and too deeply nested text each give a `FileError`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planner.world import files
from planner.world.errors import FileError

# PARTNR's 100,000 training episodes need less per scene file; a decompression bomb needs more.
MAX_BYTES = 1 << 30
MAX_LINE_CHARACTERS = 1 << 20
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class ForeignFile:
    """A file's text and the hash of its bytes."""

    path: Path
    text: str
    sha256: str


def read_foreign(path: Path, max_bytes: int = MAX_BYTES) -> ForeignFile:
    """Reads a text file, decompressing `.gz`.

    Raises:
        FileError: if it is missing, corrupt, too large or not UTF-8.
    """
    try:
        packed = files.read_bytes(path, max_bytes)
        raw = _unpacked(path, packed, max_bytes) if path.suffix == ".gz" else packed
        text = raw.decode("utf-8")
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return ForeignFile(path, text, hashlib.sha256(packed).hexdigest())


def _unpacked(path: Path, packed: bytes, max_bytes: int) -> bytes:
    found = bytearray()
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
        while chunk := stream.read(_CHUNK):
            found += chunk
            if len(found) > max_bytes:
                raise FileError(path, "", f"unpacks to more than {max_bytes} bytes")
    return bytes(found)


def parse_foreign(text: str, source: Path | str, field: str = "") -> object:
    """Parses JSON; NaN and infinities, which JSON does not allow, are errors.

    Raises:
        FileError: with file, field and reason.
    """
    return files.parse_json(
        text,
        source,
        field,
        max_chars=MAX_BYTES,
        max_values=MAX_BYTES,
        is_finite=True,
    )


def json_lines(file: ForeignFile) -> Iterator[tuple[int, object | FileError]]:
    """The documents of a JSON-lines file with their line numbers from 1; skips empty lines."""
    for number, line in enumerate(file.text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"line {number}"
        if len(line) > MAX_LINE_CHARACTERS:
            reason = f"is longer than {MAX_LINE_CHARACTERS} characters"
            yield number, FileError(file.path, where, reason)
            continue
        try:
            yield number, parse_foreign(line, file.path, where)
        except FileError as error:
            yield number, error
