"""Messages between agents over ROS: heard once they came back, in the order of the agents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from planner.planning import ros_messages
from planner.planning.messages import MAX_CHARACTERS, TeamMessage
from planner.planning.ros_messages import RosMessages

AGENTS = ("agent_0", "agent_1")
ALICE, BOB = TeamMessage("agent_0", "here"), TeamMessage("agent_1", "there")


class Wire:
    """Brings back what was sent, in an order of its own, one at each change."""

    def __init__(self, order: Sequence[int] = (), lost: Sequence[TeamMessage] = ()) -> None:
        self.sent: list[TeamMessage] = []
        self.log: list[str] = []
        self._order, self._lost = list(order), lost
        self.talk = RosMessages(AGENTS, self.sent.append, self.changed, self.log.append)

    async def changed(self) -> None:
        await asyncio.sleep(0)
        if self._order:
            message = self.sent[self._order.pop(0)]
            if message not in self._lost:
                self.talk.hear(message)
        else:
            await asyncio.sleep(60.0)


def test_messages_are_heard_after_they_came_back_by_agent() -> None:
    wire = Wire(order=(1, 0))
    for message in (ALICE, BOB):
        wire.talk.say(message)
    assert (wire.sent, wire.talk.heard) == ([ALICE, BOB], ())
    asyncio.run(wire.talk.settle())
    assert wire.talk.heard == (ALICE, BOB)
    asyncio.run(wire.talk.settle())
    assert wire.talk.heard == (ALICE, BOB)


def test_what_others_say_for_an_agent_is_heard_too() -> None:
    wire = Wire()
    wire.talk.hear(TeamMessage("agent_9", "hello"))
    wire.talk.hear(BOB)
    asyncio.run(wire.talk.settle())
    assert [message.sender for message in wire.talk.heard] == ["agent_1", "agent_9"]
    assert wire.sent == []


def test_a_lost_message_is_given_up_and_said_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ros_messages, "ECHO_TIMEOUT_S", 0.01)
    wire = Wire(order=(0, 1), lost=(ALICE,))
    for message in (ALICE, BOB):
        wire.talk.say(message)
    asyncio.run(wire.talk.settle())
    assert wire.talk.heard == (BOB,)
    assert wire.log == ["a message of agent_0 was lost: 'here'"]


def test_any_text_becomes_one_bounded_line() -> None:
    message = TeamMessage.of("agent_0", "a\nb\x00\t" + "c" * 9000)
    assert message.text.startswith("a b")
    assert "\n" not in message.text
    assert len(message.text) == MAX_CHARACTERS
