"""Runs the evaluator again over recorded states, and says where it differs from the live one."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import evaluation_of
from planner.evaluation.perceived import PerceivedWorld
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode, Progress, PropositionProgress, Verdict, criteria_word
from planner.replay.live import JudgedPart, Judgement, recorded_judgement
from planner.replay.states import STATES
from planner.replay.through.recorded import (
    GRAPHS,
    JUDGEMENTS,
    VERDICTS,
    GraphReceived,
    MessageReceived,
    Recorded,
    RecordedTask,
    StateReceived,
)
from planner.replay.through.request import EvaluatorRequest, Findings, plain
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.state import WorldState

# Messages have percent complete in single precision.
_SINGLE = 1e-6


def made_judgement(
    made: Progress | Verdict, episode_id: str, stamp_s: float, *, is_final: bool = False
) -> Judgement:
    """From what an evaluator says."""
    return Judgement(
        episode_id,
        stamp_s,
        made.sim_steps,
        is_final,
        is_final and made.success,
        str(made.mode),
        made.percent_complete,
        tuple(_part_of(p) for p in made.propositions),
        criteria_word(made.criteria),
        made.sim_steps,
    )


def _part_of(item: PropositionProgress) -> JudgedPart:
    first = -1 if item.first_step is None else item.first_step
    return JudgedPart(item.text, item.holds, item.satisfied, first, str(item.reason or ""))


def judgement_differences(live: Judgement, now: Judgement) -> list[str]:
    """The differences of a judgement from the live one, a sentence each."""
    return [
        *_overall_differences(live, now),
        *_proposition_differences(live.propositions, now.propositions),
    ]


def _overall_differences(live: Judgement, now: Judgement) -> Iterator[str]:
    if live.is_final and live.success != now.success:
        words = {True: "success", False: "failure"}
        yield f"verdict {words[now.success]} and not {words[live.success]}"
    if live.is_final and live.step != now.step:
        yield f"ended at step {now.step} and not {live.step}"
    if abs(live.percent_complete - now.percent_complete) > _SINGLE:
        yield f"complete {now.percent_complete:.3f} and not {live.percent_complete:.3f}"
    if live.criteria != now.criteria:
        yield f"criteria {now.criteria or 'none'} and not {live.criteria or 'none'}"


def _proposition_differences(
    live: Sequence[JudgedPart], now: Sequence[JudgedPart]
) -> Iterator[str]:
    if len(live) != len(now):
        yield f"{len(now)} propositions and not {len(live)}"
        return
    for number, (before, after) in enumerate(zip(live, now, strict=True)):
        parts = [
            f"{what} {_word(new)} and not {_word(old)}"
            for what, old, new in (
                ("satisfied", before.satisfied, after.satisfied),
                ("true now", before.holds, after.holds),
                ("first at step", before.first_step, after.first_step),
                ("reason", before.reason, after.reason),
            )
            if old != new
        ]
        if parts:
            yield f"proposition {number} ({after.text}): {', '.join(parts)}"


def _word(value: bool | int | str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if value >= 0 else "never"
    return value or "none"


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


def _live(recorded: Recorded) -> list[Judgement]:
    return [
        recorded_judgement(event.content, event.received_ns)
        for event in recorded.events((JUDGEMENTS, VERDICTS))
        if isinstance(event, MessageReceived)
    ]


class _Judging:
    """One evaluator after another."""

    def __init__(
        self, recorded: Recorded, request: EvaluatorRequest, live: list[Judgement]
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
        starts = [j.start_s for j in self._live if j.start_s is not None]
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
        if made.propositions != run.made[-1].propositions or made.criteria != run.made[-1].criteria:
            run.made.append(made)

    def end(self) -> None:
        """Ends the last run."""
        evaluator, last = self._evaluator, self.runs[-1] if self.runs else None
        if evaluator is not None and last is not None and not last.error:
            last.verdict = made_judgement(
                evaluator.finish(), last.episode_id, last.made[-1].stamp_s, is_final=True
            )
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
        for judgement in self._live:
            if judgement.received_ns < received_ns or judgement.episode_id != episode_id:
                continue
            if found and judgement.step < found[-1].step:
                # The same episode started again.
                break
            found.append(judgement)
            if judgement.is_final:
                break
        return found


# Where the new evaluator differs from the live one, step by step, and at the end.


@dataclass(frozen=True, slots=True)
class Compared:
    """A live judgement and the new one at its step."""

    live: Judgement
    now: Judgement
    found: tuple[str, ...]


def compared(run: JudgedRun) -> list[Compared]:
    """Each live judgement with the new one; the verdict last."""
    steps = []
    for live in run.live:
        now = run.verdict if live.is_final else run.at(live.step)
        if now is not None:
            steps.append(Compared(live, now, tuple(judgement_differences(live, now))))
    return steps


def evaluator_findings(
    runs: Sequence[JudgedRun],
) -> Findings:
    """The findings about an evaluator, to save and print."""
    records: list[Mapping[str, JsonValue]] = []
    lines: list[str] = []
    parts: list[JsonValue] = []
    for number, run in enumerate(runs):
        steps = compared(run)
        records += [_record(number, step) for step in steps]
        parts.append(_part(run, steps))
        lines.append(
            f"run {number}: {run.house}, {run.episode_id or 'no episode'}, by {run.mode.value}"
        )
        lines += _step_lines(steps)
        lines += _summary_lines(run, steps)
    return Findings(records, {"runs": parts}, lines)


def _record(run: int, step: Compared) -> Mapping[str, JsonValue]:
    return {
        "run": run,
        "step": step.live.step,
        "stamp_s": step.live.stamp_s,
        "is_final": step.live.is_final,
        "different": [*step.found],
        "live": _side(step.live),
        "replayed": _side(step.now),
    }


def _side(judgement: Judgement) -> JsonValue:
    return {
        "mode": judgement.mode,
        "percent_complete": judgement.percent_complete,
        "success": judgement.success if judgement.is_final else None,
        "satisfied": [s.satisfied for s in judgement.propositions],
    }


def _part(run: JudgedRun, steps: Sequence[Compared]) -> JsonValue:
    first = next((step for step in steps if step.found), None)
    final = next((step for step in steps if step.live.is_final), None)
    return {
        "episode": run.episode_id,
        "house": run.house,
        "mode": run.mode.value,
        "variant": run.variant.value,
        "states": run.states,
        "last_step": run.last_step,
        "steps": len(steps),
        "steps_that_differ": sum(bool(step.found) for step in steps),
        "first_different_step": None if first is None else first.live.step,
        "live_verdict": None if final is None else _side(final.live),
        "verdict": None if run.verdict is None else _side(run.verdict),
        "verdicts_agree": None if final is None else not final.found,
        "error": run.error,
    }


def _step_lines(steps: Sequence[Compared]) -> list[str]:
    lines = []
    before: tuple[str, ...] = ()
    for step in steps:
        if step.found != before:
            at = f"{step.live.stamp_s:9.2f} s  step {step.live.step}"
            words = "verdict: " if step.live.is_final else ""
            lines += [plain(f"{at}  {words}{found}") for found in step.found]
            if not step.found:
                lines.append(f"{at}  {words}as the live judge again")
        before = step.found
    return lines


def _summary_lines(run: JudgedRun, steps: Sequence[Compared]) -> list[str]:
    if run.error:
        return [plain(f"not judged: {run.error}")]
    lines = []
    if steps:
        first = next((step for step in steps if step.found), None)
        differ = sum(bool(step.found) for step in steps)
        begins = "" if first is None else f", first at step {first.live.step}"
        lines.append(f"judgements: {len(steps)}, of which {differ} differ{begins}")
    else:
        lines.append("the bag has no judgement to compare with")
    rows = [("now", run.verdict), ("live", next((s.live for s in steps if s.live.is_final), None))]
    for name, judgement in rows:
        if judgement is None:
            lines.append(f"{name}: no verdict")
            continue
        word = "success" if judgement.success else "failure"
        lines.append(
            f"{name}: {word}  percent_complete: {judgement.percent_complete:.2f}  "
            f"step: {judgement.step}"
        )
    return lines
