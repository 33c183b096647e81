"""Access to the fields of a bag's messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.replay.definitions import short
from planner.world.errors import FileError


@contextmanager
def fields_of(bag: Path, topic: str) -> Iterator[None]:
    """Turns errors from an unexpected message layout into a `FileError`.

    A bag brings its own type definitions: fields may be missing or of another type.

    Raises:
        FileError: naming the topic.
    """
    try:
        yield
    except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        reason = f"has another type than expected: {short(error)}"
        raise FileError(bag, topic, reason) from None
