"""Runs episodes in the graph world: the usual skills, memory and evaluator, without images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from planner.app.embedded_run import Truth
from planner.app.run import EpisodeRun
from planner.app.time_steps import Steps
from planner.evaluation.episode_goal import evaluation_of
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.progress import Mode
from planner.evaluation.trace_builder import TraceBuilder, TracedEvaluator
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import GT_VISIBILITY
from planner.memory.updater import MemoryUpdater
from planner.planning.planner import Planner, Task
from planner.planning.session_world import Event
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from sim_bridge.graph.backend import GraphBackend


def prepare_graph(
    backend: GraphBackend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    *,
    acting: Sequence[str] = (),
    seed: int | None = None,
    on_event: Callable[[Event], None] | None = None,
    trace: TraceBuilder | None = None,
    updater: MemoryUpdater | None = None,
    mode: Mode = Mode.STRICT,
    all_known: bool = False,
) -> EpisodeRun:
    """Loads an episode, ready to run; the memory learns what is in the field of view.

    Arguments are as of `prepare_embedded`.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    evaluation = evaluation_of(episode)
    used_seed = episode.seed if seed is None else seed
    backend.reset(house, episode, used_seed)
    initial = backend.world_state()
    if initial is None:
        raise PlannerError(f"{episode.episode_id}: the backend provides no world state")
    kinds = {placement.uid: placement.kind for placement in episode.agents}
    memory = Memory(
        house,
        updater or PrivilegedUpdater(backend.world_state, GT_VISIBILITY),
        agents=kinds,
        episode=episode.episode_id,
    )
    task = Task(
        instruction=episode.instruction,
        agents=tuple(acting) or backend.agents,
        goal=episode.evaluation,
        seed=used_seed,
    )
    criteria, robot = episode.criteria, episode.agents[0].uid
    evaluator = (
        Evaluator(evaluation, house, initial, mode, criteria=criteria, robot=robot)
        if trace is None
        else TracedEvaluator(
            evaluation, house, initial, mode, builder=trace, criteria=criteria, robot=robot
        )
    )
    observer = None if all_known else _Observer(backend, memory)
    return EpisodeRun(
        backend=backend,
        house=house,
        task=task,
        planner=make_planner(task),
        memory=memory,
        evaluator=evaluator,
        steps=Steps(backend, memory, evaluator, observer),
        on_event=on_event,
        all_known=Truth(backend).belief if all_known else None,
    )


@dataclass(frozen=True, slots=True)
class _Observer:
    """See `planner.app.time_steps.Observer`."""

    backend: GraphBackend
    memory: Memory

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""
        seen = replace(self.backend.observe(agent), sightings=self.backend.sightings_now(agent))
        self.memory.observe(seen)

    def redundant_frames(self, seconds: object) -> int:  # noqa: ARG002 - no foresight
        """Always 0: no frame is known to be redundant."""
        return 0

    def pass_over(self, seconds: float) -> None:
        """Does nothing: no frame is skipped."""
