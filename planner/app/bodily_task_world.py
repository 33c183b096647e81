"""Worlds in which generated tasks are carried out by skills and bodies, over simulated time."""

from __future__ import annotations

from collections.abc import Sequence

from planner.app.reference_body import play_calls
from planner.app.task_worlds import ALREADY, NOT_MET, GraphTaskWorld
from planner.episodes.et_generation.task_world import Played
from planner.parts.kinds import BACKENDS
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from sim_bridge.backend import Backend
from sim_bridge.part import Drawn
from sim_bridge.registry import make_backend

_FAILED = "a body cannot carry the plan out"
_NO_GRAPHS = "this world has no scene graphs; use --world graph"


class BodilyTaskWorld:
    """Tries plans in the graph world first, which is quick.

    So a task has the same plan in every world in which it is possible.

    Args:
        name: of the backend.
        backend: can be stepped.
    """

    def __init__(self, name: str, backend: Backend) -> None:
        self.name = name
        self.lacks: dict[str, str] = {}
        self._backend = backend
        self._quick = GraphTaskWorld()

    def play(self, episode: Episode, house: House, plan: Sequence[str]) -> Played:
        """See `TaskWorld`.

        Raises:
            PlannerError: if the episode does not fit the house, or it is a scene graph.
        """
        if house.graph is not None:
            raise PlannerError(f"{house.name}: {_NO_GRAPHS}")
        run = self._quick.play(episode, house, plan)
        if run.reason:
            return run
        ended = play_calls(self._backend, episode, house, tuple(plan))
        return Played(self._why(ended.failure, at_start=ended.at_start), run.walked_m)

    @staticmethod
    def _why(failure: str, *, at_start: bool) -> str:
        if at_start:
            return ALREADY
        if not failure:
            return ""
        # A call that failed begins with itself; what is missing is a sentence.
        name, bracket, _ = failure.partition("[")
        return f"{_FAILED}: {name}" if bracket and name.isalpha() else NOT_MET

    def close(self) -> None:
        """Ends the backend."""
        self._backend.close()


def bodily_world(name: str) -> BodilyTaskWorld:
    """A simulator in which robots have bodies, without pictures where they are not needed.

    Raises:
        PlannerError: if there is no such world, or it cannot be used here.
    """
    part = BACKENDS.get(name)
    if not part.simulated or not part.has_pictures:
        raise PlannerError(f"there is no world {name!r} to carry tasks out in")
    return BodilyTaskWorld(name, make_backend(name, drawn=Drawn(pictures=False, instances=False)))
