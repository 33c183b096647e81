"""When furniture and things that open count as open."""

from __future__ import annotations

# Share of the way that the widest door, drawer or lid is open.
OPEN_FROM = 0.5


def is_open(openness: float | None) -> bool | None:
    """Whether something is open; None if nothing opens or it is unknown.

    Args:
        openness: of the widest joint, 0 closed to 1 open.
    """
    return None if openness is None else openness >= OPEN_FROM
