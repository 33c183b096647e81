"""Errors that users can cause, and the nearest existing name for a misspelled one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
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
        # A name may hold a line break, and an error is one line.
        shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in self.file)
        where = f"{shown}: {field}" if field else shown
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


# Suggests the nearest existing name for a misspelled one.

# Minimum similarity (0 to 1) that counts as a misspelling.
_CUTOFF = 0.6


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Text to append to an error about an unknown name; "" if no known one is similar."""
    names = {name.lower(): name for name in known}
    near = get_close_matches(given.lower(), names, n=1, cutoff=_CUTOFF)
    return f"; did you mean {names[near[0]]!r}?" if near else ""
