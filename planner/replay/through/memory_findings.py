"""Compares both memories step by step, with each other and with the truth."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planner.command_line import aligned
from planner.memory.scores import TrueThings, TruthScore, score_truth
from planner.replay.through.belief_history import Difference, differences, is_same
from planner.replay.through.memory import WorldBelief
from planner.replay.through.request import Findings, plain, share
from planner.world.belief import Entity

_SHOWN_DIFFERENCES = 8


@dataclass(frozen=True, slots=True)
class Step:
    """A time at which either memory or the truth about objects changed.

    Attributes:
        stamp_s: of the world's clock.
        live: the recorded memory's list; None before the first in the bag.
        begun: differences that did not exist in the previous step.
        ended: differences that no longer exist.
        left: all current differences.
        is_same: whether both lists are equal.
    """

    stamp_s: float
    live: tuple[Entity, ...] | None
    replayed: tuple[Entity, ...]
    begun: tuple[Difference, ...]
    ended: tuple[Difference, ...]
    left: tuple[Difference, ...]
    is_same: bool
    live_score: TruthScore | None
    replayed_score: TruthScore | None


def steps_of(world: WorldBelief) -> Iterator[Step]:
    """The steps of one world in the order of time."""
    live, replayed = world.live.history, world.replayed
    truth_stamps = [stamp_s for stamp_s, _ in world.truth]
    scores = _Scores()
    before: dict[tuple[str, str, str], Difference] = {}
    for stamp_s in sorted({*live.stamps, *replayed.stamps, *truth_stamps}):
        had, has = live.at(stamp_s), replayed.at(stamp_s) or ()
        found = [] if had is None else differences(had, has)
        now = {d.key: d for d in found}
        place = bisect.bisect_right(truth_stamps, stamp_s)
        truth = world.truth[max(place - 1, 0)][1] if world.truth else None
        yield Step(
            stamp_s,
            had,
            has,
            tuple(d for key, d in now.items() if key not in before),
            tuple(d for key, d in before.items() if key not in now),
            tuple(found),
            had is not None and is_same(had, has),
            None if truth is None or had is None else scores.of("live", had, truth),
            None if truth is None else scores.of("replayed", has, truth),
        )
        before = now


class _Scores:
    """Scores, cached by list and truth."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[object, object, TruthScore]] = {}

    def of(self, whose: str, entities: tuple[Entity, ...], truth: TrueThings) -> TruthScore:
        last = self._last.get(whose)
        if last is None or last[0] is not entities or last[1] is not truth:
            last = (entities, truth, score_truth(entities, truth))
            self._last[whose] = last
        return last[2]


def exposure_lines(exposures: Mapping[str, int], pictured: Mapping[str, int]) -> list[str]:
    """What a bag has of what the cameras saw, an agent a line.

    Args:
        exposures: number of each agent's exposures.
        pictured: of how many of them the bag has the pictures.
    """
    return [
        f"{agent}: the bag has the pictures of {pictured[agent]} of {made} exposures, "
        f"{share(pictured[agent] / made)}"
        for agent, made in exposures.items()
        if made and agent in pictured
    ]


def memory_findings(worlds: Sequence[WorldBelief], exposures: Mapping[str, int]) -> Findings:
    """The findings about a memory, to save and print.

    Args:
        worlds: in order.
        exposures: number of each agent's exposures, if the bag has it.
    """
    records: list[Mapping[str, JsonValue]] = []
    lines: list[str] = []
    parts: list[JsonValue] = []
    for number, world in enumerate(worlds):
        steps = list(steps_of(world))
        records += [_record(number, step) for step in steps]
        lines.append(f"world {number}: {world.layout.name}, {world.episode or 'no episode'}")
        lines += [line for step in steps for line in _step_lines(step)]
        part = _part(world, steps, exposures if len(worlds) == 1 else {})
        parts.append(part)
        lines += _summary_lines(world, steps, part)
    return Findings(records, {"worlds": parts}, lines)


def _record(world: int, step: Step) -> Mapping[str, JsonValue]:
    return {
        "world": world,
        "stamp_s": step.stamp_s,
        "begun": [_difference(d) for d in step.begun],
        "ended": [_difference(d) for d in step.ended],
        "different": len(step.left),
        "identical": step.is_same,
        "live": _side(step.live, step.live_score),
        "replayed": _side(step.replayed, step.replayed_score),
    }


def _difference(found: Difference) -> JsonValue:
    return {
        "kind": found.kind.value,
        "live": found.live,
        "replayed": found.replayed,
        "text": found.text,
    }


def _side(entities: tuple[Entity, ...] | None, score: TruthScore | None) -> JsonValue:
    if entities is None:
        return None
    side: dict[str, JsonValue] = {"things": sum(not e.is_furniture for e in entities)}
    return side | (_rates(score) if score is not None else {})


def _rates(score: TruthScore) -> dict[str, JsonValue]:
    return {
        "precision": score.precision,
        "recall": score.recall,
        "hallucinations": score.hallucinations,
        "error_m": score.everything.full.error_m,
    }


def _step_lines(step: Step) -> Iterator[str]:
    marks = [("+", d) for d in step.begun] + [("-", d) for d in step.ended]
    for mark, found in marks[:_SHOWN_DIFFERENCES]:
        name = found.live or found.replayed
        if found.live and found.replayed and found.live != found.replayed:
            name = f"{found.live} = {found.replayed}"
        text = f"{found.kind.value} {name}: {found.text}"
        if mark == "-":
            text = f"{name} is as in the live memory again (was {found.kind.value})"
        yield plain(f"{step.stamp_s:9.2f} s  {mark} {text}")
    if len(marks) > _SHOWN_DIFFERENCES:
        yield f"{step.stamp_s:9.2f} s    and {len(marks) - _SHOWN_DIFFERENCES} more"


def _part(
    world: WorldBelief, steps: Sequence[Step], exposures: Mapping[str, int]
) -> dict[str, JsonValue]:
    compared = [step for step in steps if step.live is not None]
    last = steps[-1] if steps else None
    part: dict[str, JsonValue] = {
        "house": world.layout.name,
        "episode": world.episode,
        "from_s": steps[0].stamp_s if steps else None,
        "to_s": last.stamp_s if last else None,
        "steps": len(compared),
        "steps_that_differ": sum(bool(step.left) for step in compared),
        "identical": bool(compared) and all(step.is_same for step in compared),
        "live_authors": [*sorted(world.live.history.authors)],
        "live_gaps": world.live.mended,
        "pictures": {
            agent: {
                "exposures": exposures.get(agent),
                "recorded": world.recorded_looks[agent],
                "looked_at": world.looks[agent],
            }
            for agent in sorted(world.recorded_looks)
        },
        "losses": dict(sorted(world.losses.items())),
        "operations_refused": world.refused,
        "at_the_end": {},
        "over_time": {},
    }
    if last is not None:
        part["at_the_end"] = {
            "live": _side(last.live, last.live_score),
            "replayed": _side(last.replayed, last.replayed_score),
        }
        part["over_time"] = {
            "live": _means([(s.stamp_s, s.live_score) for s in compared]),
            "replayed": _means([(s.stamp_s, s.replayed_score) for s in compared]),
        }
    return part


def _means(scores: Sequence[tuple[float, TruthScore | None]]) -> JsonValue:
    """Rates, each weighted by the time until the next step; the last step has none."""
    means: dict[str, JsonValue] = {}
    for name in ("precision", "recall", "hallucinations"):
        total = weight = 0.0
        for (stamp_s, score), (next_s, _) in itertools.pairwise(scores):
            value = None if score is None else getattr(score, name)
            if value is not None:
                total += float(value) * (next_s - stamp_s)
                weight += next_s - stamp_s
        means[name] = total / weight if weight else None
    return means


def _summary_lines(
    world: WorldBelief, steps: Sequence[Step], part: Mapping[str, JsonValue]
) -> list[str]:
    lines = [
        f"steps: {part['steps']}, of which {part['steps_that_differ']} differ"
        + ("; both memories are identical throughout" if part["identical"] else "")
    ]
    if not any(step.live is not None for step in steps):
        lines = ["the bag has no memory to compare with"]
    if steps:
        lines += _score_table(steps)
    pictures = part["pictures"]
    if isinstance(pictures, dict):
        lines += [line for agent, counts in pictures.items() if (line := _pictures(agent, counts))]
    lines += [f"lost: {count} {plain(reason)}" for reason, count in sorted(world.losses.items())]
    return lines


def _score_table(steps: Sequence[Step]) -> list[str]:
    last = steps[-1]
    if last.replayed_score is None:
        return ["the bag has no true states: nothing is scored"]
    rows = [("", "precision", "recall", "hallucinations", "over time: precision", "recall")]
    for name in ("live", "replayed"):
        score = getattr(last, f"{name}_score")
        if score is None:
            continue
        means = _means([(s.stamp_s, getattr(s, f"{name}_score")) for s in steps])
        over = means if isinstance(means, dict) else {}
        rows.append(
            (
                name,
                share(score.precision),
                share(score.recall),
                str(score.hallucinations),
                share(over.get("precision")),  # type: ignore[arg-type]
                share(over.get("recall")),  # type: ignore[arg-type]
            )
        )
    return aligned(rows)


def _pictures(agent: str, counts: JsonValue) -> str:
    if not isinstance(counts, dict):
        return ""
    line = f"{agent}: looked at {counts['looked_at']} of {counts['recorded']} recorded exposures"
    exposures = counts["exposures"]
    if not isinstance(exposures, int):
        return line
    if isinstance(counts["recorded"], int) and counts["recorded"] < exposures:
        return (
            f"{line}; the camera made {exposures}, so the live memory may have looked at pictures "
            "that the bag does not have"
        )
    return f"{line}; the camera made {exposures}"
