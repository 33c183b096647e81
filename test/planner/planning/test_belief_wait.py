"""A decision waits until the memory has heard of the calls that ended, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from planner.parts.calls import parse_call
from planner.planning.belief_wait import BeliefWait
from planner.planning.planner import AgentResult
from planner.world.belief import Belief
from planner.world.skill import SkillCode, SkillResult

ENDED_S = 2.0
TURN = parse_call("Rotate[Right]")


class Memory:
    """A belief of which only the time matters."""

    def __init__(self) -> None:
        self.belief = Belief(0.0, 0, {})
        self._listeners: list[asyncio.Future[None]] = []

    def publish(self, stamp_s: float) -> None:
        self.belief = Belief(stamp_s, 0, {})
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.set_result(None)

    async def changed(self) -> None:
        listener: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listeners.append(listener)
        await listener


def waited_until_s(
    result: SkillResult,
    lines: list[str] | None = None,
    published_s: Sequence[float] = (1.9, ENDED_S, 2.1),
) -> float:
    """The time of the belief with which planning goes on."""
    memory = Memory()

    async def wait() -> float:
        ended = {"agent_0": AgentResult("agent_0", TURN, result, ENDED_S)}
        log = (lines if lines is not None else []).append
        waiting = asyncio.ensure_future(BeliefWait(memory, log).until_shown(ended))
        for stamp_s in published_s:
            # What waits has its turns before the next message, however slow the machine.
            for _ in range(5):
                await asyncio.sleep(0.0)
            if waiting.done():
                break
            memory.publish(stamp_s)
        await waiting
        return memory.belief.stamp_s

    return asyncio.run(wait())


@pytest.mark.parametrize("code", [SkillCode.SUCCESS, SkillCode.BLOCKED])
def test_a_turn_is_waited_for_though_it_has_no_effect_on_things(code: SkillCode) -> None:
    result = SkillResult(code, "", duration_s=0.5, ended_s=ENDED_S)
    assert waited_until_s(result) == ENDED_S


@pytest.mark.parametrize(
    "result",
    [
        # Refused before it began, and lost with its executor: the memory hears of neither.
        SkillResult(SkillCode.BUSY, "", ended_s=ENDED_S),
        SkillResult(SkillCode.BACKEND_FAULT, ""),
    ],
)
def test_what_the_memory_will_not_hear_of_is_not_waited_for(result: SkillResult) -> None:
    assert waited_until_s(result) == 0.0


def test_a_memory_that_hears_nothing_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("planner.planning.belief_wait.EFFECT_TIMEOUT_S", 0.005)
    lines: list[str] = []
    result = SkillResult(SkillCode.SUCCESS, "", duration_s=0.5, ended_s=ENDED_S)
    assert waited_until_s(result, lines, published_s=(1.9,)) == 1.9
    assert "the memory does not show that agent_0 ended Rotate[Right]" in lines[0]
