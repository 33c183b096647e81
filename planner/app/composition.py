"""What runs in every simulator have in common: an episode with its memory, task and evaluator."""

from __future__ import annotations

from collections.abc import Callable

from planner.app.judged_words import WordsEvaluator
from planner.app.run import EpisodeRun
from planner.app.run_options import RunOptions
from planner.app.time_steps import Judge, Observer, Steps
from planner.evaluation.episode_goal import evaluation_of
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.trace_builder import TracedEvaluator
from planner.memory.memory import Memory
from planner.memory.updater import MemoryUpdater
from planner.planning.full_view import full_belief
from planner.planning.planner import Planner, Task, terms_of
from planner.planning.session_world import OnGoal, ignore_goal
from planner.world.belief import Belief
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.state import WorldState
from sim_bridge.backend import Backend


def compose(
    backend: Backend,
    house: House,
    episode: Episode,
    make_planner: Callable[[Task], Planner],
    updater: MemoryUpdater,
    make_observer: Callable[[Memory], Observer],
    make_steps: Callable[[Memory, Judge, Observer | None], Steps],
    options: RunOptions,
) -> EpisodeRun:
    """Loads an episode and returns it ready to run.

    Args:
        backend: may have run other episodes before.
        house: the episode's.
        episode: with an evaluation, criteria, or else an instruction in words, which is judged by
            what the planner has understood.
        make_planner: makes the planner for the task.
        updater: of the memory, where the options name none.
        make_observer: the agents' cameras, which feed this memory; unused with `all_known`.
        make_steps: advances time.
        options: of the run.

    Raises:
        PlannerError: if the episode has no goal, or does not fit the house.
    """
    has_words_only = episode.evaluation is None and episode.criteria is None
    evaluation = evaluation_of(episode) if not (has_words_only and episode.instruction) else None
    used_seed = episode.seed if options.seed is None else options.seed
    backend.reset(house, episode, used_seed)
    initial = backend.world_state()
    if initial is None:
        raise PlannerError(f"{episode.episode_id}: the backend provides no world state")
    kinds = {placement.uid: placement.kind for placement in episode.agents}
    updater = options.updater or updater
    memory = Memory(house, updater, agents=kinds, episode=episode.episode_id)
    task = Task(
        instruction=episode.instruction,
        agents=tuple(options.acting) or backend.agents,
        goal=episode.evaluation,
        seed=used_seed,
        terms=terms_of(episode),
    )
    robot = episode.agents[0].uid
    trace, mode = options.trace, options.mode
    evaluator: Judge
    on_goal: OnGoal = ignore_goal
    if evaluation is None:
        evaluator = words = WordsEvaluator(house, initial, robot, trace)
        on_goal = words.take_goal
    else:
        criteria = episode.criteria
        evaluator = (
            Evaluator(evaluation, house, initial, mode, criteria=criteria, robot=robot)
            if trace is None
            else TracedEvaluator(
                evaluation, house, initial, mode, builder=trace, criteria=criteria, robot=robot
            )
        )
    return EpisodeRun(
        backend=backend,
        house=house,
        task=task,
        planner=make_planner(task),
        memory=memory,
        evaluator=evaluator,
        steps=make_steps(memory, evaluator, None if options.all_known else make_observer(memory)),
        on_event=options.on_event,
        on_goal=on_goal,
        all_known=_Truth(backend).belief if options.all_known else None,
    )


class _Truth:
    """A belief equal to ground truth, rebuilt only when the state has changed."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: tuple[WorldState, Belief] | None = None

    def belief(self) -> Belief:
        """Every entity as it is now."""
        state = self._backend.world_state()
        if state is None:
            raise PlannerError("the backend provides no world state")
        if self._known is None or self._known[0] is not state:
            self._known = (state, full_belief(state))
        return self._known[1]
