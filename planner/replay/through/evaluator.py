"""Runs the evaluator again over the recorded states, for comparison with the live one."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from planner.evaluation.episode_goal import evaluation_of
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.perceived import PerceivedWorld
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode
from planner.replay.states import STATES
from planner.replay.through.judgements import (
    Judgement,
    made_judgement,
    made_verdict,
    recorded_judgement,
)
from planner.replay.through.recorded import (
    GRAPHS,
    JUDGEMENTS,
    VERDICTS,
    GraphReceived,
    MessageReceived,
    Recorded,
    StateReceived,
)
from planner.replay.through.request import EvaluatorRequest
from planner.replay.through.task import RecordedTask
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.state import WorldState


@dataclass
class JudgedRun:
    """One episode, evaluated live and again.

    Attributes:
        live: the live judgements, in order; the verdict last.
        made: the new judgements whenever something changed, by step.
        verdict: at the end, or where the live evaluator ended.
        error: why evaluation stopped; "" = it did not.
    """

    episode_id: str
    house: str
    mode: Mode
    variant: Variant
    from_ns: int
    live: list[Judgement] = field(default_factory=list)
    made: list[Judgement] = field(default_factory=list)
    verdict: Judgement | None = None
    last_step: int = 0
    states: int = 0
    error: str = ""

    def at(self, step: int) -> Judgement | None:
        """The judgement at a step: of the newest state that is not after it."""
        place = bisect.bisect_right([judgement.step for judgement in self.made], step)
        return self.made[place - 1] if place else None


def replay_evaluator(
    recorded: Recorded, request: EvaluatorRequest, on_event: Callable[[int], None]
) -> list[JudgedRun]:
    """Evaluates the recorded episodes again.

    Args:
        recorded: the bag.
        request: the scoring rules.
        on_event: gets the time of each event, nanoseconds of receipt.

    Raises:
        PlannerError: if there is nothing to evaluate.
    """
    live = _live(recorded)
    judging = _Judging(recorded, request, live)
    for received_ns, state in judging.states():
        on_event(received_ns)
        judging.take(received_ns, state)
    judging.end()
    if not judging.runs:
        reason = f"has no states of the world, nor perceived ones on {GRAPHS}: nothing is judged"
        raise FileError(recorded.bag.folder, STATES, reason)
    return judging.runs


def _live(recorded: Recorded) -> list[tuple[int, Judgement]]:
    return [
        (event.received_ns, recorded_judgement(event.content))
        for event in recorded.events((JUDGEMENTS, VERDICTS))
        if isinstance(event, MessageReceived)
    ]


class _Judging:
    """One evaluator after another."""

    def __init__(
        self, recorded: Recorded, request: EvaluatorRequest, live: list[tuple[int, Judgement]]
    ) -> None:
        self.runs: list[JudgedRun] = []
        self._recorded, self._request, self._live = recorded, request, live
        self._task = RecordedTask(recorded)
        self._last: WorldState | None = None
        self._evaluator: Evaluator | None = None
        self._stop_step: int | None = None

    def states(self) -> Iterator[tuple[int, WorldState]]:
        """The states to evaluate: the true ones, or else those that were perceived."""
        if self._recorded.has(STATES):
            for event in self._recorded.events((STATES,)):
                if isinstance(event, StateReceived):
                    yield event.received_ns, event.state
            return
        if not self._recorded.has(GRAPHS):
            return
        episode, house = self._task.first()
        if episode is None:
            return
        starts = [j.start_s for _, j in self._live if j.start_s is not None]
        world = PerceivedWorld(episode, house.name, starts[-1] if starts else None)
        for event in self._recorded.events((GRAPHS,)):
            state = world.state(event.belief()) if isinstance(event, GraphReceived) else None
            if state is not None:
                yield event.received_ns, state

    def take(self, received_ns: int, state: WorldState) -> None:
        """Takes the next state."""
        last, self._last = self._last, state
        if last is None or state.episode_id != last.episode_id or state.step < last.step:
            self.end()
            self._begin(received_ns, state)
            return
        run = self.runs[-1]
        # Events after the live verdict are not part of the run.
        if run.error or (self._stop_step is not None and state.step > self._stop_step):
            return
        run.states += 1
        run.last_step = state.step
        if self._evaluator is None:
            return
        try:
            progress = self._evaluator.update(state)
        except PlannerError as error:
            run.error = f"step {state.step}: {error}"
            return
        made = made_judgement(progress, state.episode_id, state.stamp_s)
        if made.standings != run.made[-1].standings or made.criteria != run.made[-1].criteria:
            run.made.append(made)

    def end(self) -> None:
        """Ends the last run."""
        evaluator, last = self._evaluator, self.runs[-1] if self.runs else None
        if evaluator is not None and last is not None and not last.error:
            last.verdict = made_verdict(evaluator.finish(), last.made[-1].stamp_s)
        self._evaluator = None

    def _begin(self, received_ns: int, state: WorldState) -> None:
        perceived = not self._recorded.has(STATES)
        live = self._judged_live(received_ns, state.episode_id)
        verdict = next((j for j in live if j.is_final), None)
        rules = [j.mode for j in live if j.mode in [*Mode]]
        mode = self._request.mode or (Mode(rules[-1]) if rules else Mode.STRICT)
        variant = Variant.PERCEIVED if perceived else Variant.BOXES
        run = JudgedRun(state.episode_id, state.house, mode, variant, received_ns, live)
        run.states, run.last_step = 1, state.step
        self._stop_step = verdict.step if verdict is not None else None
        self.runs.append(run)
        try:
            self._evaluator = self._make(state, mode, variant)
        except PlannerError as error:
            run.error = str(error)
            return
        progress = self._evaluator.progress
        run.made.append(made_judgement(progress, state.episode_id, state.stamp_s))

    def _make(self, state: WorldState, mode: Mode, variant: Variant) -> Evaluator:
        task, house = self._task.of(state)
        if task is None:
            raise PlannerError("the world runs no episode, so there is no task to judge")
        layout: House = house
        return Evaluator(
            evaluation_of(task),
            layout,
            state,
            mode,
            variant=variant,
            criteria=task.criteria,
            robot=task.agents[0].uid,
        )

    def _judged_live(self, received_ns: int, episode_id: str) -> list[Judgement]:
        """The live judgements of the run that starts, up to its verdict."""
        found: list[Judgement] = []
        for published_ns, judgement in self._live:
            if published_ns < received_ns or judgement.episode_id != episode_id:
                continue
            if found and judgement.step < found[-1].step:
                # The same episode started again.
                break
            found.append(judgement)
            if judgement.is_final:
                break
        return found
