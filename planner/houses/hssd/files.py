"""Reads JSON files of downloaded data sets, and refuses what Git LFS has not fetched."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from planner.world.errors import FileError
from planner.world.files import parse_json, parse_model, read_text

_LARGEST_JSON_BYTES = 64 << 20
_LFS = b"version https://git-lfs"


class Lenient(BaseModel):
    """A record in a third-party file; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


ModelT = TypeVar("ModelT", bound=BaseModel)


def read_json(path: Path, model: type[ModelT]) -> ModelT:
    """Reads a JSON file of the dataset.

    Raises:
        FileError: if it is invalid, or only a Git LFS pointer.
    """
    text = read_text(path, _LARGEST_JSON_BYTES)
    refuse_pointer(path, text.encode())
    return parse_model(parse_json(text, path, max_chars=_LARGEST_JSON_BYTES), model, path)


def refuse_pointer(path: Path, content: bytes) -> None:
    """Refuses the pointer that Git LFS leaves in place of a file that was not fetched.

    Raises:
        FileError: for such a pointer.
    """
    if content.startswith(_LFS):
        raise FileError(path, "", "is only Git LFS's note of the file: run `git lfs pull` there")
