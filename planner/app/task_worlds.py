"""The worlds in which generated tasks are carried out and judged."""

from __future__ import annotations

from collections.abc import Sequence

from planner.app.reference_play import call_action
from planner.episodes.et_generation.task_world import Played, TaskWorld
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.task import Evaluation
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import House
from sim_bridge.graph.acting import act
from sim_bridge.graph.scene import Start, start_of
from sim_bridge.graph.world import GraphWorld

ALREADY = "the criteria are met at the start"
_IMPOSSIBLE = "the plan cannot be carried out"
NOT_MET = "the plan does not meet the criteria"


class GraphTaskWorld:
    """The graph world, where actions take no time."""

    name = "graph"

    def __init__(self) -> None:
        self.lacks: dict[str, str] = {}
        self._start: tuple[House, Start] | None = None

    def play(self, episode: Episode, house: House, plan: Sequence[str]) -> Played:
        """See `TaskWorld`."""
        world = GraphWorld(self._start_of(episode, house), episode)
        robot = episode.agents[0].uid
        judge = Evaluator(
            Evaluation(()), house, world.snapshot(), criteria=episode.criteria, robot=robot
        )
        if judge.progress.criteria is not None and judge.progress.criteria.success:
            return Played(ALREADY)
        for call in plan:
            missing = act(world, robot, call_action(call))
            if missing is not None:
                return Played(f"{_IMPOSSIBLE}: {missing}")
            world.steps += 1
            judge.update(world.snapshot())
        reason = "" if judge.finish().success else NOT_MET
        return Played(reason, world.walked_m[robot])

    def close(self) -> None:
        """Nothing was started."""

    def _start_of(self, episode: Episode, house: House) -> Start:
        # All tasks of a house begin alike, but for the robot.
        if self._start is None or self._start[0] is not house:
            self._start = (house, start_of(house, episode, default_catalogue()))
        return self._start[1]


def task_world(name: str) -> TaskWorld:
    """A world by the name that the command line uses.

    Raises:
        PlannerError: if it cannot be used here.
    """
    if name == GraphTaskWorld.name:
        return GraphTaskWorld()
    from planner.app.bodily_task_world import bodily_world

    return bodily_world(name)
