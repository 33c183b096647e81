"""Taking messages of bags apart by their fields."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planner.replay.definitions import short
from planner.world.errors import FileError


@contextmanager
def fields_of(bag: Path, topic: str) -> Iterator[None]:
    """Turns what a message raises that is laid out otherwise than expected into one error.

    A bag defines its types itself: a field may be missing, or be of another type.

    Raises:
        FileError: naming the topic.
    """
    try:
        yield
    except (AttributeError, TypeError, ValueError, LookupError, ArithmeticError) as error:
        reason = f"is of another type than this planner reads: {short(error)}"
        raise FileError(bag, topic, reason) from None
