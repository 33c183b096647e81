"""Errors that users can cause, each reported in one line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


class PlannerError(Exception):
    """A problem with an input, a setting or a missing part; its text is for the user."""


class FileError(PlannerError):
    """A file that cannot be used; names the file, the field and the reason."""

    def __init__(self, file: Path | str, field: str, reason: str) -> None:
        self.file = str(file)
        self.field = field
        self.reason = reason
        where = f"{self.file}: {field}" if field else self.file
        super().__init__(f"{where}: {reason}")


def from_validation(file: Path | str, error: ValidationError) -> FileError:
    """Turns pydantic's report into one error about its first finding, counting the rest."""
    findings = error.errors()
    first = findings[0]
    field = ".".join(str(part) for part in first["loc"])
    reason = first["msg"].removeprefix("Value error, ")
    if len(findings) > 1:
        reason += f" (and {len(findings) - 1} more)"
    return FileError(file, field, reason)
