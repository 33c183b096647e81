"""What a dialogue leaves out when its model's context is full (PARTNR-D52)."""

from __future__ import annotations

from collections.abc import Callable

from planner.models.chat import Message, Speaker


def shorten(messages: list[Message], shortened: Callable[[str], str]) -> int:
    """Shortens the older half of the user turns that can be shortened; never the newest one.

    Args:
        messages: the dialogue, changed in place.
        shortened: a turn without its optional parts; the turn itself if it has none.

    Returns:
        The number of shortened turns; 0 = nothing is left to shorten.
    """
    places = [
        (place, short)
        for place, message in enumerate(messages[:-1])
        if message.speaker is Speaker.USER and (short := shortened(message.text)) != message.text
    ]
    oldest = places[: (len(places) + 1) // 2]
    for place, short in oldest:
        messages[place] = Message(Speaker.USER, short)
    return len(oldest)
