"""Results of one moment reach a planner together, however late one of them is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence

import pytest
from planning_toys import prop

from planner.app.embedded_run import prepare_embedded
from planner.app.run_options import RunOptions
from planner.parts.calls import parse_call
from planner.planning import ros_world
from planner.planning.planner import (
    MAX_CHARACTERS,
    AgentResult,
    Context,
    Decision,
    Planner,
    Task,
    TeamMessage,
)
from planner.planning.planner_inputs import RosInputs
from planner.planning.ros_world import BeliefWait, RosMessages, RosWorld
from planner.planning.session import Session
from planner.world.belief import Belief
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillCode, SkillResult
from sim_bridge.embedded.backend import EmbeddedBackend

AGENTS = ("agent_0", "agent_1")
LATE_S = 0.05
Scripts = Mapping[str, Sequence[str]]
Batch = list[tuple[str, str]]


class Scripted(Planner):
    """Gives each idle agent its next call, and keeps the batches of results."""

    name = "scripted"

    def __init__(self, scripts: Scripts) -> None:
        self._calls = {agent: iter([*calls, "Done[]"]) for agent, calls in scripts.items()}
        self.results: list[AgentResult] = []
        self.batches: list[Batch] = []

    async def decide(self, context: Context) -> Decision:
        return Decision({agent: parse_call(next(self._calls[agent])) for agent in context.idle})

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        ended = [one for one in results if str(one.call) != "Done[]"]
        self.results += ended
        if ended:
            self.batches.append([(one.agent, str(one.call)) for one in ended])


class Replayed(RosInputs):
    """A lockstep world in which calls end when they did in another run.

    Its time advances once each running call has a result or is later; results of the last agent
    arrive late. Its memory has heard of everything.
    """

    belief = Belief(math.inf, 0, {})

    def __init__(self, results: Sequence[AgentResult], house: House) -> None:
        super().__init__(lambda: True)
        self._results = {agent: [r for r in results if r.agent == agent] for agent in AGENTS}
        self._pending: dict[str, tuple[AgentResult, Callable[[SkillResult], None]]] = {}
        self._house = house
        self.world = RosWorld(self, self._start, lambda _: None, lambda _: None, lambda _: None)

    def capabilities(self) -> Mapping[str, Capabilities]:
        return {}

    def _start(self, agent: str, _: SkillCall, on_end: Callable[[SkillResult], None]) -> None:
        result = self._results[agent].pop(0)
        self._pending[agent] = (result, on_end)
        if all(one in self._pending or not left for one, left in self._results.items()):
            self._advance()

    def _advance(self) -> None:
        loop = asyncio.get_running_loop()
        now_s = min(result.ended_s for result, _ in self._pending.values())
        for agent, (result, on_end) in list(self._pending.items()):
            late_s = LATE_S if agent == AGENTS[-1] else 0.0
            if result.ended_s > now_s:
                loop.call_later(late_s, self.settle, agent, now_s)
            else:
                del self._pending[agent]
                loop.call_later(late_s, on_end, result.result)
                if not self._results[agent] and self._pending:
                    # It starts no other call that time could wait for.
                    loop.call_later(2 * LATE_S, self._advance)


def in_process(scripts: Scripts, house: House, episode: Episode) -> Scripted:
    planner = Scripted(scripts)
    asked = {"propositions": [prop("is_on_top", ["cup_0"], ["couch_0"])]}
    episode = episode.model_copy(update={"evaluation": asked})
    backend = EmbeddedBackend()
    try:
        run = prepare_embedded(backend, house, episode, lambda _: planner, RunOptions(images=False))
        run.run()
    finally:
        backend.close()
    return planner


@pytest.mark.parametrize(
    ("scripts", "sizes"),
    [
        ({agent: ["Wait[]"] * 3 for agent in AGENTS}, [2, 2, 2]),
        ({"agent_0": ["Wait[]"] * 2, "agent_1": ["Navigate[couch_0]", "Wait[]"]}, [1, 1, 1, 1]),
        # Refused at once, with the other one and without.
        ({agent: ["Pick[cup_9]", "Wait[]"] for agent in AGENTS}, [2, 2]),
        ({"agent_0": ["Pick[cup_9]", "Wait[]"], "agent_1": ["Wait[]"]}, [1, 1, 1]),
    ],
)
def test_both_adapters_deliver_results_of_one_moment_together(
    scripts: Scripts, sizes: list[int], small_house: House, small_episode: Episode
) -> None:
    expected = in_process(scripts, small_house, small_episode)
    assert [len(batch) for batch in expected.batches] == sizes
    planner = Scripted(scripts)
    replayed = Replayed(expected.results, small_house)
    task = Task("wait", AGENTS)
    asyncio.run(asyncio.wait_for(Session(task, planner, replayed.world).run(), 20))
    assert planner.batches == expected.batches


def busy_then(
    monkeypatch: pytest.MonkeyPatch, house: House, refusals: int, halt_after: int = 99
) -> tuple[int, AgentResult]:
    """How often a call was sent whose agent is busy so many times, and its result."""
    monkeypatch.setattr(ros_world, "BUSY_PAUSE_S", 0.01)
    busy, success = SkillResult(SkillCode.BUSY, "Busy."), SkillResult(SkillCode.SUCCESS, "")
    planner, sent = Scripted({"agent_0": ["Wait[]"]}), 0
    replayed = Replayed([], house)

    def start(_: str, __: SkillCall, on_end: Callable[[SkillResult], None]) -> None:
        nonlocal sent
        sent += 1
        on_end(busy if sent <= refusals else success)
        if sent == halt_after:
            asyncio.get_running_loop().call_soon(asyncio.create_task, world.stop())

    world = RosWorld(replayed, start, lambda _: None, lambda _: None, lambda _: None)
    asyncio.run(asyncio.wait_for(Session(Task("wait", AGENTS[:1]), planner, world).run(), 20))
    (result,) = (one for one in planner.results if str(one.call) == "Wait[]")
    return sent, result


def test_a_call_is_repeated_while_its_agent_does_what_another_asked(
    monkeypatch: pytest.MonkeyPatch, small_house: House
) -> None:
    sent, result = busy_then(monkeypatch, small_house, refusals=20)
    assert (sent, result.result.code) == (21, SkillCode.SUCCESS)
    monkeypatch.setattr(ros_world, "BUSY_TIMEOUT_S", 0.0)
    sent, result = busy_then(monkeypatch, small_house, refusals=20)
    assert (sent, result.result.code) == (1, SkillCode.BUSY)


def test_a_call_that_waits_for_a_busy_agent_ends_when_all_stop(
    monkeypatch: pytest.MonkeyPatch, small_house: House
) -> None:
    sent, result = busy_then(monkeypatch, small_house, refusals=20, halt_after=3)
    assert (sent, result.result.code) == (3, SkillCode.CANCELED)


ENDED_S = 2.0
TURN = parse_call("Wait[]")


class Memory:
    """A belief of which only the time matters."""

    def __init__(self) -> None:
        self.belief = Belief(0.0, 0, {})
        self.lacks_changes = False
        self._listeners: list[asyncio.Future[None]] = []

    def make_up(self) -> None:
        self.lacks_changes = False

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


def test_lines_of_changes_that_come_after_their_graph_are_waited_for() -> None:
    memory = Memory()
    memory.lacks_changes = True

    async def wait() -> None:
        waiting = asyncio.ensure_future(BeliefWait(memory, print).until_shown({}))
        await asyncio.sleep(0.0)
        memory.publish(1.0)
        await asyncio.sleep(0.0)
        assert not waiting.done()
        memory.lacks_changes = False
        memory.publish(1.0)
        await waiting

    asyncio.run(wait())


def test_a_memory_that_hears_nothing_is_not_waited_for_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("planner.planning.ros_world.EFFECT_TIMEOUT_S", 0.005)
    lines: list[str] = []
    result = SkillResult(SkillCode.SUCCESS, "", duration_s=0.5, ended_s=ENDED_S)
    assert waited_until_s(result, lines, published_s=(1.9,)) == 1.9
    assert "the memory does not show that agent_0 ended Wait[]" in lines[0]


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
    monkeypatch.setattr(ros_world, "ECHO_TIMEOUT_S", 0.01)
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
