"""Versioned files: which versions are read, and how an older one becomes the newest.

The rule: a change that an older reader would misunderstand, or that makes files of before
invalid, is a new version; with it comes one step that turns a document of the version before
into the new one, so that every version that was ever written is read. A field that is added
with a default is no new version. A file that is newer than the planner is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from planner.world.errors import FileError
from planner.world.files import ModelT, parse_model, read_document

Document: TypeAlias = dict[str, JsonValue]
# By the version that a step starts from; it returns a new document without `version`.
Steps: TypeAlias = Mapping[int, Callable[[Document], Document]]


def read_versioned(
    path: Path, model: type[ModelT], version: int, steps: Steps | None = None
) -> ModelT:
    """Reads a file of this or an older version.

    Raises:
        FileError: naming the file, the field and the reason.
    """
    return parse_model(upgraded(read_document(path), version, path, steps), model, path)


def upgraded(
    document: object, version: int, source: Path | str, steps: Steps | None = None
) -> object:
    """A document in the newest version; what is no document is returned as it is.

    Raises:
        FileError: for a version that is newer, or older than the first step.
    """
    if not isinstance(document, dict):
        return document
    found = document.get("version")
    if found is None:
        return document  # The model says that the field is missing.
    if not isinstance(found, int) or isinstance(found, bool):
        raise FileError(source, "version", f"is no number; this planner reads version {version}")
    known = steps or {}
    while found != version:
        if found not in known:
            reason = f"version {found} is not supported; this planner reads version {version}"
            raise FileError(source, "version", reason)
        document = known[found]({k: v for k, v in document.items() if k != "version"})
        found += 1
        document = {"version": found, **document}
    return document
