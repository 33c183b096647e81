"""The worlds in which generated tasks are carried out and judged."""

from __future__ import annotations

from collections.abc import Sequence

from planner.episodes.generator import Played, TaskWorld
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.task import Evaluation
from planner.parts.calls import parse_call
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.skill import CallError, SkillName
from sim_bridge.graph.acting import Action, Precondition, Verb, act
from sim_bridge.graph.scene import Start, start_of
from sim_bridge.graph.world import GraphWorld

# Executes reference plans of episodes in the graph world without delay, and judges them.

# As VirtualHome's characters.
_HANDS = 2
_VERBS: dict[str, Verb] = {
    SkillName.NAVIGATE: Verb.WALK,
    SkillName.PICK: Verb.GRAB,
    SkillName.OPEN: Verb.OPEN,
    SkillName.CLOSE: Verb.CLOSE,
}
_PUTS = {"on": Verb.PUT, "within": Verb.PUTIN}
# Opening what is already open has no effect, as with the bridge's primitives.
_ALREADY = frozenset({Precondition.IS_OPEN, Precondition.IS_CLOSED})


def reference_calls(episode: Episode) -> tuple[str, ...]:
    """The calls of an episode's reference plan.

    Raises:
        PlannerError: if it has none.
    """
    criteria = episode.criteria
    if criteria is None or not criteria.reference_calls:
        raise PlannerError(f"{episode.title}: there is no reference plan in calls")
    return tuple(criteria.reference_calls)


def play_reference(episode: Episode, house: House) -> str:
    """Why an episode's reference plan does not meet its criteria; "" if it does.

    Raises:
        PlannerError: if the episode has no such plan, or does not fit the house.
    """
    calls = reference_calls(episode)
    world = GraphWorld(
        start_of(house, episode, default_catalogue()), episode, episode.seed, hands=_HANDS
    )
    robot = episode.agents[0].uid
    judge = Evaluator(
        Evaluation(()), house, world.snapshot(), criteria=episode.criteria, robot=robot
    )
    for number, call in enumerate(calls, start=1):
        missing = act(world, robot, call_action(call))
        if missing is not None and missing not in _ALREADY:
            return f"step {number}, {call}: violated precondition: {missing}"
        world.steps += 1
        judge.update(world.snapshot())
    verdict = judge.finish()
    return "" if verdict.success else verdict.explanation


def call_action(text: str) -> Action:
    """The action of a call such as `Place[apple_0, within, fridge_0, None, None]`.

    Raises:
        PlannerError: if it is not a call, or not an action of the graph world.
    """
    try:
        call = parse_call(text)
    except CallError as error:
        raise PlannerError(str(error)) from None
    names = [name or "" for name in call.arguments]
    if call.name == SkillName.PLACE and names[1] in _PUTS:
        return Action(_PUTS[names[1]], names[0], names[2])
    if call.name not in _VERBS:
        raise PlannerError(f"{text[:80]!r}: the graph world has no such action")
    return Action(_VERBS[call.name], names[0])


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
