"""Generated tasks and reference plans, carried out by skills and bodies over simulated time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from planner.app.embedded_run import prepare_embedded, prepare_run, usual_backend
from planner.app.run_options import RunOptions
from planner.episodes.generator import Played, TaskWorld
from planner.episodes.start_state import Moment
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.task import Evaluation
from planner.parts.calls import parse_call
from planner.planning.expert.expert import Expert
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.session import Event
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.skill import CallError, SkillCall, SkillName
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.backend import BACKENDS, Backend, Drawn, make_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.graph.acting import Action, Precondition, Verb, act
from sim_bridge.graph.scene import Start, start_of
from sim_bridge.graph.world import GraphWorld

# The worlds in which generated tasks are carried out and judged.

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

    return bodily_world(name)


# Reference plans of episodes, carried out by skills and bodies over simulated time.


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
    """As `play_reference`, in the house's usual simulator, with skills that know all of it.

    Raises:
        PlannerError: if the episode has no such plan, or does not fit the house.
    """
    calls = reference_calls(episode)
    drawn = Drawn(pictures=False, instances=False)
    with closing(make_backend(usual_backend(house), drawn=drawn)) as world:
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


# The middle of an episode: a state of its run by the expert, and the calls until then.


def middle_of(episode: Episode, house: House) -> Moment:
    """The state that is nearest to half of the calls, after something was changed.

    Raises:
        PlannerError: if the expert does not solve the episode, or there is no such state.
    """
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    calls: list[str] = []
    moments: list[Moment] = []
    first: list[WorldState] = []

    def note(event: Event) -> None:
        state = backend.world_state()
        if state is None:
            return
        if not first:
            first.append(state)
        if event.result is None or not event.result.succeeded or event.call.name == SkillName.DONE:
            return
        calls.append(str(event.call))
        if _hands_are_empty(state) and _is_changed(state, first[0]):
            moments.append(Moment(state, tuple(calls)))

    try:
        run = prepare_embedded(
            backend, house, episode, Expert, RunOptions(images=False, on_event=note)
        )
        result = run.run()
    finally:
        backend.close()
    if not result.verdict.success:
        raise PlannerError(f"{episode.episode_id}: the expert does not solve it")
    before_end = [moment for moment in moments if len(moment.calls) < len(calls)]
    if not before_end:
        raise PlannerError(f"{episode.episode_id}: it has no middle with empty hands")
    return min(before_end, key=lambda moment: abs(2 * len(moment.calls) - len(calls)))


def _hands_are_empty(state: WorldState) -> bool:
    agents = {e.name for e in state.entities.values() if e.kind is EntityKind.AGENT}
    return not any(thing.parent in agents for thing in _things(state))


def _is_changed(state: WorldState, first: WorldState) -> bool:
    """Whether any thing has another state or place, or is new."""
    before = {thing.name: _standing(thing) for thing in _things(first)}
    return {thing.name: _standing(thing) for thing in _things(state)} != before


def _standing(thing: EntityState) -> tuple[str | None, dict[str, object]]:
    return thing.parent, dict(thing.states or {})


def _things(state: WorldState) -> list[EntityState]:
    return [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
