"""Runs episodes in worlds without images: the usual skills, memory and evaluator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from planner.app.composition import compose
from planner.app.run import EpisodeRun
from planner.app.time_steps import Foresight, Steps
from planner.evaluation.progress import Mode
from planner.evaluation.trace_builder import TraceBuilder
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.sightings import GT_VISIBILITY, Visibility
from planner.memory.updater import MemoryUpdater
from planner.planning.planner import Planner, Task
from planner.planning.session_world import Event
from planner.world.episode import Episode
from planner.world.house import House
from sim_bridge.backend import SightedBackend
from sim_bridge.graph.backend import GraphBackend


def prepare_graph(
    backend: SightedBackend,
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
    visibility: Visibility = GT_VISIBILITY,
    leaps: bool = True,
) -> EpisodeRun:
    """Loads an episode, ready to run; the memory learns what the world says that agents see.

    Arguments are as of `compose`; `visibility` says what of that counts as seen. `leaps` takes
    steps in which agents only continue what they do as one, up to the next look: calls, results
    and their times are the same without, only slower. The judge sees agents where a look or a part
    of a motion ends.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    return compose(
        backend,
        house,
        episode,
        make_planner,
        updater or PrivilegedUpdater(backend.world_state, visibility),
        partial(_Observer, backend),
        partial(Foresight, backend, leaper=backend)
        if leaps and isinstance(backend, GraphBackend)
        else partial(Steps, backend),
        acting=acting,
        seed=seed,
        on_event=on_event,
        trace=trace,
        mode=mode,
        all_known=all_known,
    )


@dataclass(frozen=True, slots=True)
class _Observer:
    """See `planner.app.time_steps.Observer`."""

    backend: SightedBackend
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
