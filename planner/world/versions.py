"""Versioned files: which versions can be read, and how older ones are converted.

A change that an older reader would misunderstand, or that makes older files invalid, is a new
version and comes with a step that converts a document of the previous version, so that all older
versions can be read. Adding a field with a default is not a new version. A file of a newer version
is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from planner.world.errors import FileError
from planner.world.files import ModelT, parse_model, read_document

Document: TypeAlias = dict[str, JsonValue]
# By the version from which a step converts; it returns a new document without `version`.
Steps: TypeAlias = Mapping[int, Callable[[Document], Document]]


def read_versioned(
    path: Path, model: type[ModelT], version: int, steps: Steps | None = None
) -> ModelT:
    """Reads a file of this or an older version.

    Raises:
        FileError: with file, field and reason.
    """
    return parse_model(upgraded(read_document(path), version, path, steps), model, path)


def upgraded(
    document: object, version: int, source: Path | str, steps: Steps | None = None
) -> object:
    """Converts a document to the newest version; anything but a document is returned unchanged.

    Raises:
        FileError: for a version that is newer, or older than the first step.
    """
    if not isinstance(document, dict):
        return document
    found = document.get("version")
    if found is None:
        return document  # The model will report the missing field.
    if not isinstance(found, int) or isinstance(found, bool):
        raise FileError(source, "version", f"is not a number; this planner reads version {version}")
    known = steps or {}
    while found != version:
        if found not in known:
            reason = f"version {found} is not supported; this planner reads version {version}"
            raise FileError(source, "version", reason)
        document = known[found]({k: v for k, v in document.items() if k != "version"})
        found += 1
        document = {"version": found, **document}
    return document
