"""The evaluator's judgement of a task at a step, recorded or new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from planner.evaluation.progress import Progress, PropositionProgress, Verdict, criteria_word
from planner.replay.live import criteria_of, start_of
from planner.world.memory_wire import stamp_seconds

# Messages have percent complete in single precision.
_SINGLE = 1e-6


@dataclass(frozen=True, slots=True)
class PropositionState:
    """The state of one proposition; `first_step` -1 = never, `reason` "" = satisfied."""

    text: str
    holds: bool
    satisfied: bool
    first_step: int
    reason: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """The state of the task.

    Attributes:
        episode_id: the episode.
        step: simulation step of the state.
        stamp_s: of the world's clock.
        is_final: whether it is the verdict.
        success: of the verdict; False before.
        mode: scoring rules.
        percent_complete: 0 to 1.
        criteria: "met" or "not met"; "" if the episode has none.
        start_s: start of the task; None = unknown.
    """

    episode_id: str
    step: int
    stamp_s: float
    is_final: bool
    success: bool
    mode: str
    percent_complete: float
    standings: tuple[PropositionState, ...]
    criteria: str = ""
    start_s: float | None = None


def recorded_judgement(message: Any) -> Judgement:
    """From a planner_msgs/Evaluation."""
    status, running = int(message.status), int(message.RUNNING)
    return Judgement(
        str(message.episode_id),
        int(message.sim_step),
        stamp_seconds(message.header.stamp),
        status != running,
        status == int(message.SUCCEEDED),
        str(message.scoring),
        float(message.percent_complete),
        tuple(
            PropositionState(
                str(p.text), bool(p.holds), bool(p.satisfied), int(p.first_step), str(p.reason)
            )
            for p in message.propositions
        ),
        criteria_of(message),
        start_of(message),
    )


def made_judgement(progress: Progress, episode_id: str, stamp_s: float) -> Judgement:
    """From an evaluator's progress."""
    return _made(progress, episode_id, stamp_s, is_final=False)


def made_verdict(verdict: Verdict, stamp_s: float) -> Judgement:
    """From an evaluator's verdict."""
    return _made(verdict, verdict.episode_id, stamp_s, is_final=True)


def _made(
    made: Progress | Verdict, episode_id: str, stamp_s: float, *, is_final: bool
) -> Judgement:
    return Judgement(
        episode_id,
        made.sim_steps,
        stamp_s,
        is_final,
        is_final and made.success,
        str(made.mode),
        made.percent_complete,
        tuple(_proposition_state(p) for p in made.propositions),
        criteria_word(made.criteria),
    )


def _proposition_state(item: PropositionProgress) -> PropositionState:
    first = -1 if item.first_step is None else item.first_step
    return PropositionState(item.text, item.holds, item.satisfied, first, str(item.reason or ""))


def judgement_differences(live: Judgement, now: Judgement) -> list[str]:
    """The differences of a judgement from the live one, a sentence each."""
    return [
        *_overall_differences(live, now),
        *_proposition_differences(live.standings, now.standings),
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
    live: Sequence[PropositionState], now: Sequence[PropositionState]
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
