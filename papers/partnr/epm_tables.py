"""The results that EPM's paper prints, row by row with ours (EPM-T7, EPM-T9, EPM-T10).

Settings do not tell what a model was trained on, so a run stands beside a row of the paper only
where it is named for it; the others stand below. But DynaMem's planner is trained on nothing: its
runs stand beside its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from papers.partnr.epm_results import (
    ABLATIONS,
    BY_LENGTH,
    COLUMNS,
    CONTEXTS,
    EXTENDED,
    STALE_COLUMNS,
    STALE_ROW,
    TASK_TYPES,
    VARIANTS_OF_DYNAMEM,
    Ablation,
    Printed,
)
from planner.bench.runs.paper import (
    Lengths,
    Named,
    PaperTables,
    Run,
    behind_lines,
    check_rows,
    settings_words,
)
from planner.bench.runs.rows import Row
from planner.bench.runs.success_curves import success_curves
from planner.bench.runs.table import tasks_of
from planner.command_line import aligned
from planner.evaluation.statistics import by_task, task_means
from planner.training.improvement.journal import Curve

# What each memory stands for; others keep their names.
PERCEPTION: Mapping[str, str] = {
    "privileged": "GT",
    "pictures": "GT",
    "learned": "Learned",
    "vlm": "Learned",
    "voxels-plain": "DynaMem",
    "voxels-room": "DynaMem-Room",
    "voxels-room-time-only": "DynaMem-Room-TimeOnly",
    "object-graph": "ConceptGraph",
    "full": "full knowledge",
}
_OF_ROW: Mapping[str, Callable[[Row], float | None]] = {
    "SR": lambda row: row.metrics.get("success"),
    "PC": lambda row: row.metrics.get("percent_complete"),
    "SIM STEPS": lambda row: row.metrics.get("sim_steps"),
    "CYCLES": lambda row: row.metrics.get("planning_cycles", _decisions(row)),
    "EXTRANEOUS": lambda row: row.metrics.get("extraneous_effort"),
    "SKILL SUCCESS": lambda row: row.metrics.get("skill_success"),
    "NO FAILURE": lambda row: row.metrics.get("no_skill_failure"),
    "SR AFTER FAILURE": lambda row: row.metrics.get("success_after_failure"),
}
_STALE = "*"


def row_keys() -> tuple[str, ...]:
    """The names of all rows."""
    return tuple(dict.fromkeys(row.key for row in (*EXTENDED, *ABLATIONS, *CONTEXTS)))


def table_lines(
    runs: Sequence[Run],
    named: Named,
    curves: Sequence[Curve] = (),
    lengths: Lengths | None = None,
) -> list[str]:
    """The paper's tables with ours beside them, as text.

    Args:
        runs: ours.
        named: by row, the names of the runs that are beside it.
        curves: of runs of `planner train ddaft`.
        lengths: of short, medium and long episodes.

    Raises:
        PlannerError: if a row is named that there is not, or curves do not fit together.
    """
    check_rows(named, row_keys())
    placed = {name for names in named.values() for name in names}
    beside = {key: [r for r in runs if r.name in names] for key, names in named.items()}
    rest: list[Run] = []
    for run in runs:
        if run.name not in placed:
            key = _own_row(run)
            (beside.setdefault(key, []) if key else rest).append(run)
    lengths = lengths or Lengths()
    lines = [
        *_ablations("TABLE 7: making of demonstrations", ABLATIONS, beside, rest),
        *_ablations("WHAT IS TOLD IN EACH TURN", CONTEXTS, beside, ()),
        *_extended(beside, rest),
        *_by_length(beside, rest, lengths),
        *_by_perception(runs),
        *_curves(curves),
    ]
    return [
        *lines,
        *behind_lines(runs, settings_words),
        "mean +/- standard error over N tasks, as the paper's; a decision without model is a cycle",
        f"{_STALE} printed, but not the mean of the three types below it (EPM-T9)",
    ]


def _own_row(run: Run) -> str:
    """The row that settings alone tell: DynaMem's planner with its memory; "" = none."""
    settings = run.settings
    if (settings.planner, settings.memory) != ("open_loop", "voxels-plain"):
        return ""
    return "dynamem_dynamem" if settings.memory_model else "dynamem_gt"


def _ablations(
    title: str,
    printed: Sequence[Ablation],
    beside: Mapping[str, Sequence[Run]],
    rest: Sequence[Run],
) -> list[str]:
    columns = COLUMNS[:5]
    rows: list[tuple[str, ...]] = [("PERCEPTION", "METHOD", "", *columns, "N")]
    for row in printed:
        rows.append((row.perception, row.label, "paper", *map(_printed, row.values), ""))
        rows += [("", "", *_ours(run.name, run.judged, columns)) for run in beside.get(row.key, ())]
    rows += [
        (_perception(run), run.settings.planner, *_ours(run.name, run.judged, columns))
        for run in rest
    ]
    return [title, *aligned(rows), ""]


def _extended(beside: Mapping[str, Sequence[Run]], rest: Sequence[Run]) -> list[str]:
    rows: list[tuple[str, ...]] = [("METHOD", "PERCEPTION", "TYPE", "", *COLUMNS, "N")]
    for block in EXTENDED:
        for (short, kind), values in zip(TASK_TYPES.items(), block.values, strict=True):
            words = [_printed(value) for value in values]
            if block.key == STALE_ROW and not kind:
                words = [w + _STALE * (i in STALE_COLUMNS) for i, w in enumerate(words)]
            rows.append((block.method, block.perception, short, "paper", *words, ""))
            rows += [
                ("", "", short, *_ours(run.name, _of_type(run, kind), COLUMNS))
                for run in beside.get(block.key, ())
            ]
    for run in rest:
        label = (run.settings.planner, _perception(run))
        rows += [
            (*label, short, *_ours(run.name, _of_type(run, kind), COLUMNS))
            for short, kind in TASK_TYPES.items()
            if _of_type(run, kind)
        ]
    return ["TABLE 9: planners by perception and task type", *aligned(rows), ""]


def _by_length(
    beside: Mapping[str, Sequence[Run]], rest: Sequence[Run], lengths: Lengths
) -> list[str]:
    low, high = lengths.medium, lengths.last_medium
    head = (f"SHORT, < {low}", f"MEDIUM, {low} TO {high}", f"LONG, > {high}")
    rows: list[tuple[str, ...]] = [("METHOD", "PERCEPTION", "", *head)]
    for block in EXTENDED:
        printed = BY_LENGTH.get(block.key)
        if printed is not None:
            rows.append((block.method, block.perception, "paper", *printed))
        rows += [
            ("", "", run.name, *_length_words(run, lengths)) for run in beside.get(block.key, ())
        ]
    rows += [
        (run.settings.planner, _perception(run), run.name, *_length_words(run, lengths))
        for run in rest
    ]
    return ["TABLE 10: success by length of the episode in skill calls", *aligned(rows), ""]


def _length_words(run: Run, lengths: Lengths) -> list[str]:
    parts: list[list[Row]] = [[], [], []]
    for row in run.judged:
        if row.verdict is not None:
            parts[lengths.place(row.verdict.skill_calls)].append(row)
    return [f"{_value(part, 'SR')} of {tasks_of(part)}" if part else "-" for part in parts]


def _by_perception(runs: Sequence[Run]) -> list[str]:
    """Success with each perception as a column; one line for each planner, suite and model."""
    columns = tuple(dict.fromkeys(PERCEPTION.values()))
    rows: list[tuple[str, ...]] = [("METHOD", "", *columns)]
    forms = {PERCEPTION[memory]: value for memory, value in VARIANTS_OF_DYNAMEM.items()}
    rows.append(("DynaMem, true classes", "paper", *(_printed(forms.get(c)) for c in columns)))
    methods: dict[str, dict[str, Printed]] = {}
    for block in EXTENDED:
        methods.setdefault(block.method, {})[block.perception] = block.values[0][0]
    for method, found in methods.items():
        # DynaMem on ground truth is its form with true classes.
        shown = {c: found.get(c) for c in columns if (method, c) != ("DynaMem", "GT")}
        rows.append((method, "paper", *(_printed(shown.get(c)) for c in columns)))
    groups: dict[tuple[str, str], dict[str, list[str]]] = {}
    for run in runs:
        model = run.models.partition(" (")[0]
        cells = groups.setdefault((f"{run.settings.planner}, {model}", run.suite), {})
        cells.setdefault(_perception(run), []).append(_value(run.judged, "SR"))
    for (method, suite), cells in groups.items():
        rows.append((method, suite, *(", ".join(cells.get(c, ["-"])) for c in columns)))
    return ["SUCCESS BY PERCEPTION", *aligned(rows), ""]


def _curves(curves: Sequence[Curve]) -> list[str]:
    rows: list[tuple[str, ...]] = [("ALGORITHM", "ROLL-OUTS", "SUCCESS", "LOW", "HIGH", "N")]
    for name, points in success_curves(curves).items():
        for point in points:
            found = point.success
            numbers = (_decimal(x) for x in (found.value, found.low, found.high))
            rows.append((name, str(point.samples), *numbers, str(found.n)))
    return [
        "FIGURE 7: success on held-out tasks by roll-outs, intervals of 95 %",
        "paper: no numbers printed; in order of sample efficiency DDAFT, DAST, then the others",
        *(aligned(rows) if len(rows) > 1 else []),
        "",
    ]


def _ours(name: str, rows: Sequence[Row], columns: Sequence[str]) -> tuple[str, ...]:
    return (name, *(_value(rows, column) for column in columns), tasks_of(rows))


def _of_type(run: Run, kind: str) -> list[Row]:
    return [row for row in run.judged if not kind or kind in row.task_types]


def _value(rows: Sequence[Row], column: str) -> str:
    """The mean over the tasks that have this value, and its standard error."""
    found = ((row.episode_id, value) for row in rows if (value := _OF_ROW[column](row)) is not None)
    values = task_means(by_task(found))
    if not values:
        return "-"
    mean = math.fsum(values) / len(values)
    digits = 0 if mean >= 1000 else 2
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return f"{mean:.{digits}f} +/- {error:.{digits}f}"


def _decisions(row: Row) -> float:
    return float(row.verdict.decisions) if row.verdict is not None else math.nan


def _perception(run: Run) -> str:
    return PERCEPTION.get(run.settings.memory, run.settings.memory)


def _printed(value: Printed) -> str:
    if value is None:
        return "-"
    return f"{value[0]} +/- {value[1]}" if value[1] else value[0]


def _decimal(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


TABLES = PaperTables(
    "EPM's, by perception, task type and length", row_keys, table_lines, table_lines
)
