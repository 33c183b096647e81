"""Orders in a few words, for the page's log."""

from __future__ import annotations

from planner.console import protocol
from planner.console.protocol import Order


def named(order: Order) -> str:
    """What the page's log calls it."""
    match order:
        case protocol.Skill():
            return f"{order.agent} {order.call}"
        case protocol.Drive():
            return f"{order.agent} driven by keys"
        case protocol.Instruct() | protocol.Answer():
            return f"{order.type} “{order.words}”"
        case protocol.Take() | protocol.Leave():
            return f"{order.type} {order.seat}"
        case protocol.Correct():
            return f"memory: {order.change} {order.entity or ''} {order.words}".strip()
        case protocol.Approve():
            return f"{order.agent}: {order.answer}"
        case protocol.Join():
            return "lobby"
        case protocol.Practice():
            return f"practice {order.lesson}"
        case protocol.Consent():
            return "use for training"
        case _:
            return order.type
