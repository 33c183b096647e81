"""What may differ from one in-process run of an episode to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from planner.evaluation.progress import Mode
from planner.evaluation.trace_builder import TraceBuilder
from planner.memory.memory import Memory
from planner.memory.updater import MemoryUpdater
from planner.planning.session_world import Event
from planner.world.observation import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run, the same for every world.

    Attributes:
        acting: the agents that act; empty = all of the episode.
        seed: replaces the episode's.
        images: whether the memory uses rendered images; otherwise visibility is computed by rays,
            where the simulator can. A world without pictures has none, and one that knows what is
            visible only by drawing it always has them.
        leaps: whether steps in which nothing is decided are taken as one. Calls, results, their
            times and the verdict are the same without, only slower; in the graph world the judge
            sees agents where a look or a part of a motion ends.
        on_event: called with each event as it happens.
        trace: receives each state and its progress.
        updater: replaces the privileged one of the memory.
        watch: called with each observation, and the memory before its update; not in worlds
            without pictures.
        mode: the evaluator's rules, strict or published.
        all_known: whether planners and skills get ground truth instead of the memory's belief:
            full observability (PARTNR-1.3).
    """

    acting: Sequence[str] = ()
    seed: int | None = None
    images: bool = True
    leaps: bool = True
    on_event: Callable[[Event], None] | None = None
    trace: TraceBuilder | None = None
    updater: MemoryUpdater | None = None
    watch: Callable[[Observation, Memory], None] | None = None
    mode: Mode = Mode.STRICT
    all_known: bool = False


# As they are where nothing is said.
USUAL = RunOptions()
