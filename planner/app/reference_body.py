"""Reference plans of episodes, carried out by skills and bodies over simulated time."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

from planner.app.prepared_run import prepare_run
from planner.app.reference_play import reference_calls
from planner.app.run_options import RunOptions
from planner.parts.calls import parse_call
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SkillCall, SkillName
from sim_bridge.backend import Backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.graph.backend import GraphBackend


class _ReferencePlanner:
    """Makes one call after the other, and ends with the first that fails."""

    name = "reference"

    def __init__(self, calls: tuple[str, ...]) -> None:
        self._calls = [parse_call(call) for call in calls]
        self.failure = ""

    async def decide(self, context: Context) -> Decision:
        """The next call of the first agent, which acts alone."""
        if self.failure:
            return Decision(failure=self.failure)
        call = self._calls.pop(0) if self._calls else SkillCall(SkillName.DONE)
        return Decision(dict.fromkeys(context.idle, call))

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Takes a failure down."""
        for ended in results:
            if not ended.result.succeeded:
                self.failure = f"{ended.call}: {ended.result.text}"


def play_with_body(episode: Episode, house: House) -> str:
    """As `play_reference`, with skills that know the whole world; graphs in the graph world.

    Raises:
        PlannerError: if the episode has no such plan, or does not fit the house.
    """
    calls = reference_calls(episode)
    headless = EmbeddedOptions(renderer="none")
    with closing(GraphBackend() if house.graph is not None else EmbeddedBackend(headless)) as world:
        ended = play_calls(world, episode, house, calls)
    return ended.failure


@dataclass(frozen=True, slots=True)
class Ended:
    """How calls ended.

    Attributes:
        failure: why the criteria are not met, or the call that failed; "" if they are met.
        at_start: whether they were met before any call.
    """

    failure: str
    at_start: bool


def play_calls(world: Backend, episode: Episode, house: House, calls: tuple[str, ...]) -> Ended:
    """Makes calls in any world that can be stepped.

    Raises:
        PlannerError: if the episode does not fit the house.
    """
    planner = _ReferencePlanner(calls)

    def make_planner(_task: Task) -> _ReferencePlanner:
        return planner

    acting = (episode.agents[0].uid,)
    run = prepare_run(
        world, house, episode, make_planner, RunOptions(acting=acting, images=False, all_known=True)
    )
    verdict = run.run().verdict.criteria
    if verdict is not None and verdict.success:
        return Ended("", verdict.first_step == 0)
    return Ended(planner.failure or (verdict.explanation if verdict is not None else ""), False)
