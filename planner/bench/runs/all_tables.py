"""One table of all planners on the same episodes, as text and as Markdown."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from planner.bench.runs.contestants import Contestant
from planner.bench.runs.rows import Row
from planner.bench.runs.table import TASK_TYPES
from planner.command_line import aligned
from planner.evaluation.statistics import wilson
from planner.planning.axes import Privilege

_COLUMNS = (
    "PLANNER",
    "KNOWS",
    "SOLVED",
    "LOW",
    "HIGH",
    "COMPLETE",
    *(kind.upper().replace("_", " ") for kind in TASK_TYPES),
    "DECISIONS",
    "CALLS",
    "SECONDS",
    "N",
    "CANNOT",
)
_MOST_REASONS = 3
_SOLVED = (
    "SOLVED: share of all N episodes with Wilson's interval of 95 %; an episode that a planner "
    "CANNOT do is not solved."
)
_COMPLETE = (
    "COMPLETE: mean share of the goal that holds at the end. The four types: share solved of "
    "their episodes, of which one may have several types."
)
_MEANS = (
    "DECISIONS, CALLS and SECONDS of processor time: mean of an episode that could be run; the "
    "time is that of everything, also of the simulation."
)
NOTES = (_SOLVED, _COMPLETE, _MEANS)


@dataclass(frozen=True, slots=True)
class Result:
    """A contestant's rows, the newest of each episode."""

    contestant: Contestant
    rows: Sequence[Row]

    @property
    def judged(self) -> list[Row]:
        """The rows with a verdict."""
        return [row for row in self.rows if row.verdict is not None]


def text_lines(results: Sequence[Result], left_out: Iterable[str]) -> list[str]:
    """The table, what did not run, and how episodes ended."""
    rows = [_COLUMNS, *map(_cells, _best_first(results))]
    lines = [*aligned(rows), "", *NOTES, "", *_ends(results)]
    return [*lines, *_left_out(left_out)]


def markdown_lines(results: Sequence[Result], left_out: Iterable[str]) -> list[str]:
    """The same for a page."""
    rows = list(map(_cells, _best_first(results)))
    head = [word.lower() for word in _COLUMNS]
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows), ""]
    lines += [f"- {note}" for note in NOTES]
    return [*lines, "", *(f"- {line}" for line in (*_ends(results), *_left_out(left_out)))]


def _best_first(results: Sequence[Result]) -> list[Result]:
    return sorted(results, key=lambda result: (-_solved(result), result.contestant.name))


def _solved(result: Result) -> int:
    return sum(row.verdict.success for row in result.judged if row.verdict is not None)


def _cells(result: Result) -> tuple[str, ...]:
    judged, rows = result.judged, result.rows
    rate = wilson(_solved(result), len(rows))
    verdicts = [row.verdict for row in judged if row.verdict is not None]
    return (
        result.contestant.name,
        _knows(result),
        *map(_share, (rate.value, rate.low, rate.high)),
        _share(_mean([verdict.percent_complete for verdict in verdicts])),
        *(_of_type(judged, kind) for kind in TASK_TYPES),
        _number(_mean([verdict.decisions for verdict in verdicts])),
        _number(_mean([verdict.skill_calls for verdict in verdicts])),
        _number(_mean([row.cpu_s for row in judged])),
        str(len(rows)),
        str(len(rows) - len(judged)),
    )


def _knows(result: Result) -> str:
    """What it reads beyond the instruction and what was seen."""
    settings = result.contestant.settings
    goal = settings.axes(settings.agents).privilege is Privilege.GOAL
    words = ["goal"] * goal + ["everything"] * settings.knows_all
    return " and ".join(words) or "words"


def _of_type(judged: Iterable[Row], kind: str) -> str:
    some = [row.verdict.success for row in judged if row.verdict and kind in row.task_types]
    return f"{_share(_mean(some))} of {len(some)}" if some else "-"


def _ends(results: Sequence[Result]) -> list[str]:
    return [f"{result.contestant.name}: {_end_words(result)}" for result in results]


def _end_words(result: Result) -> str:
    ends = Counter(row.verdict.end.value for row in result.judged if row.verdict is not None)
    parts = ["ended " + ", ".join(f"{name} {n}" for name, n in ends.most_common())] if ends else []
    failed = Counter(
        f"{row.error.fault.value}: {row.error.text}" for row in result.rows if row.error is not None
    )
    parts += [f"cannot, {n} times {why}" for why, n in failed.most_common(_MOST_REASONS)]
    others = sum(n for _, n in failed.most_common()[_MOST_REASONS:])
    reasons = Counter(
        row.verdict.reason
        for row in result.judged
        if row.verdict is not None and not row.verdict.success and row.verdict.reason
    ).most_common(1)
    parts += [f"cannot, {others} times for other reasons"] if others else []
    parts += [f"most often not solved with: {why} ({n})" for why, n in reasons]
    return "; ".join(parts) or "no episode"


def _left_out(left_out: Iterable[str]) -> list[str]:
    return [f"not run: {line}" for line in left_out]


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
