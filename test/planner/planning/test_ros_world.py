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
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.planning.ros_inputs import RosInputs
from planner.planning.ros_world import RosWorld
from planner.planning.session import Session
from planner.world.belief import Belief
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.primitive import Capabilities
from planner.world.skill import SkillCall, SkillResult
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
