"""Reads versioned JSON or YAML files into validated models, with one clear error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from planner.world.errors import FileError, from_validation


class FileModel(BaseModel):
    """A frozen record of a file; unknown fields, NaN and infinities are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with some fields changed; cached properties are recomputed."""
        copied = super().model_copy(update=update, deep=deep)
        if update:
            for name in copied.__dict__.keys() - type(copied).model_fields.keys():
                del copied.__dict__[name]
        return copied


ModelT = TypeVar("ModelT", bound=BaseModel)


def read_model(path: Path, model: type[ModelT]) -> ModelT:
    """Reads `path` as `model`.

    Raises:
        FileError: with file, field and reason.
    """
    return parse_model(read_document(path), model, path)


def parse_model(document: object, model: type[ModelT], source: Path | str) -> ModelT:
    """Validates an already parsed document; `source` names it in the error."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise from_validation(source, error) from None


def read_document(path: Path) -> object:
    """Parses a .json or .yaml file into plain Python values.

    Raises:
        FileError: if it is missing, unreadable, not UTF-8 or not well formed.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    try:
        if path.suffix == ".json":
            return json.loads(text)
        # The C loader is equally safe and eight times faster.
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (ValueError, yaml.YAMLError) as error:
        raise FileError(path, "", f"is not well formed: {error}") from None
    except RecursionError:
        raise FileError(path, "", "is nested too deeply") from None
