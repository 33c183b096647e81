"""What a dialogue leaves out where its model's context is full (PARTNR-D52)."""

from __future__ import annotations

from collections.abc import Callable

from planner.models.chat import Message, Speaker


def shorten(messages: list[Message], shortened: Callable[[str], str]) -> int:
    """Shortens the older half of the user's turns that can be; never the newest one.

    Args:
        messages: the dialogue, changed in place.
        shortened: a turn without what can be left out; the turn itself where there is nothing.

    Returns:
        How many turns were shortened; 0 = nothing is left that could be.
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
