"""The results that EPM's paper prints, row by row with ours (EPM-T7, EPM-T9, EPM-T10).

Settings do not tell what a model was trained on, so a run stands beside a row of the paper only
where it is named for it; the others stand below. But DynaMem's planner is trained on nothing: its
runs stand beside its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

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

# A number as the paper prints it and its standard error, "" if it is not printed; None = no number.
Printed = tuple[str, str] | None

# Columns of EPM-T9; EPM-T7 has the first five.
COLUMNS = (
    "SR",
    "PC",
    "SIM STEPS",
    "CYCLES",
    "EXTRANEOUS",
    "SKILL SUCCESS",
    "NO FAILURE",
    "SR AFTER FAILURE",
)
# The task types of EPM-T9, and ours of the same meaning; "" = all.
TASK_TYPES: Mapping[str, str] = {
    "All": "",
    "CF": "constraint_free",
    "Sp": "spatial",
    "Te": "temporal",
}


@dataclass(frozen=True, slots=True)
class Ablation:
    """A row of EPM-T7: success, percent complete, steps, cycles, extraneous actions."""

    key: str
    perception: str
    label: str
    values: tuple[Printed, ...]


@dataclass(frozen=True, slots=True)
class Extended:
    """Four rows of EPM-T9, in the order of `TASK_TYPES`."""

    key: str
    method: str
    perception: str
    values: tuple[tuple[Printed, ...], ...]


def _numbers(line: str) -> tuple[Printed, ...]:
    cells = (cell.partition("±") for cell in line.split())
    return tuple(None if value == "-" else (value, error) for value, _, error in cells)


def _read_ablations(text: str) -> Iterator[Ablation]:
    lines = text.strip().splitlines()
    for head, numbers in zip(lines[::2], lines[1::2], strict=True):
        key, perception, label = head.split(" | ")
        yield Ablation(key, perception, label, _numbers(numbers))


def _read_extended(text: str) -> Iterator[Extended]:
    for block in text.strip().split("\n\n"):
        head, *lines = block.splitlines()
        key, method, perception = head.split()
        yield Extended(key, method, perception, tuple(map(_numbers, lines)))


ABLATIONS = tuple(
    _read_ablations("""
hd_gt | GT | HD
0.63±0.02 0.74±0.01 2110±80   21.6±0.6  0.17±0.01
no_trace_optimization_gt | GT | w/o trace optimization
0.61±0.02 0.70±0.01 2760±90   29.1±0.7  0.14±0.01
uniform_explore_gt | GT | uniform explore sampling
0.63±0.02 0.72±0.01 2910±90   28.4±0.7  0.12±0.01
no_explore_gt | GT | w/o explore sampling
0.64±0.02 0.74±0.01 3160±110  26.8±0.7  0.12±0.01
hd_learned | Learned | HD
0.55±0.02 0.69±0.01 3040±110  30.2±0.8  0.17±0.01
no_hallucination_learned | Learned | w/o hallucination sampling
0.51±0.02 0.66±0.01 2480±90   24.9±0.6  0.27±0.01
""")
)
# Of the text, which gives success alone (EPM-2.5).
CONTEXTS = tuple(
    _read_ablations("""
pp_learned | Learned | PP, told what changes
0.46 - - - -
whole_list | Learned | PP, told the whole list
0.32 - - - -
""")
)
EXTENDED = tuple(
    _read_extended("""
dynamem_gt DynaMem GT
0.07±0.01  0.15±0.01  5520±130   -          -          -          -          -
0.08±0.02  0.16±0.02  4790±170   -          -          -          -          -
0.10±0.02  0.18±0.02  4490±150   -          -          -          -          -
0.03±0.01  0.12±0.02  7340±280   -          -          -          -          -

pp_gt PP GT
0.51±0.02  0.67±0.01  1570±40    17.55±0.36 0.19±0.01  0.93±0.00  0.56±0.02  0.41±0.03
0.52±0.03  0.70±0.02  1450±60    16.65±0.54 0.16±0.02  0.94±0.00  0.56±0.03  0.45±0.05
0.59±0.03  0.72±0.02  1350±60    15.70±0.64 0.14±0.02  0.92±0.00  0.61±0.03  0.48±0.05
0.42±0.03  0.57±0.03  1930±85    20.53±0.67 0.27±0.02  0.93±0.00  0.50±0.03  0.32±0.04

pp_ddaft_gt PP+DDAFT GT
0.66±0.02  0.78±0.01  2160±60    22.29±0.55 0.19±0.01  0.96±0.00  0.63±0.02  0.54±0.03
0.69±0.03  0.80±0.02  2130±110   22.51±0.96 0.18±0.02  0.96±0.00  0.61±0.03  0.61±0.05
0.77±0.03  0.85±0.02  1680±90    17.96±0.89 0.13±0.02  0.96±0.00  0.70±0.03  0.56±0.06
0.53±0.03  0.68±0.02  2660±110   26.40±0.92 0.26±0.02  0.97±0.00  0.57±0.03  0.47±0.05

hd_gt HD GT
0.63±0.02  0.74±0.01  2110±80    21.6±0.6   0.17±0.01  0.98±0.00  0.90±0.01  0.31±0.05
0.65±0.03  0.73±0.03  2700±150   24.88±0.97 0.11±0.02  0.99±0.00  0.92±0.02  0.45±0.11
0.70±0.03  0.77±0.02  2130±130   21.03±0.92 0.09±0.02  0.98±0.00  0.89±0.02  0.29±0.09
0.52±0.03  0.64±0.03  2750±130   27.95±0.92 0.20±0.02  0.97±0.00  0.87±0.02  0.25±0.08

hd_ddaft_gt HD+DDAFT GT
0.68±0.02  0.80±0.01  2550±90    22.71±0.53 0.15±0.01  0.97±0.00  0.88±0.01  0.27±0.05
0.72±0.03  0.84±0.02  2560±150   22.32±0.91 0.11±0.02  0.98±0.00  0.90±0.02  0.36±0.10
0.75±0.03  0.83±0.02  2120±150   18.85±0.88 0.12±0.02  0.96±0.00  0.87±0.02  0.18±0.07
0.57±0.03  0.73±0.02  2960±160   26.99±0.89 0.21±0.02  0.97±0.00  0.88±0.02  0.30±0.09

dynamem_dynamem DynaMem DynaMem
0.03±0.01  0.11±0.01  5090±120   -          -          -          -          -
0.02±0.01  0.10±0.01  4520±180   -          -          -          -          -
0.05±0.01  0.14±0.02  3970±139   -          -          -          -          -
0.01±0.01  0.08±0.01  6850±270   -          -          -          -          -

pp_learned PP Learned
0.46±0.02  0.65±0.01  1850±50    19.72±0.40 0.28±0.01  0.89±0.00  0.43±0.02  0.36±0.02
0.51±0.03  0.72±0.02  1760±80    18.50±0.63 0.22±0.02  0.91±0.00  0.47±0.03  0.46±0.04
0.56±0.03  0.72±0.02  1510±62    16.40±0.57 0.21±0.02  0.90±0.00  0.50±0.03  0.45±0.04
0.30±0.03  0.50±0.03  2300±92    24.41±0.77 0.40±0.02  0.87±0.00  0.30±0.03  0.22±0.03

pp_ddaft_learned PP+DDAFT Learned
0.58±0.02  0.74±0.01  2200±60    23.24±0.53 0.27±0.01  0.90±0.00  0.41±0.02  0.46±0.02
0.61±0.03  0.77±0.02  2170±110   23.33±0.92 0.26±0.02  0.90±0.00  0.40±0.03  0.49±0.04
0.71±0.03  0.82±0.02  1660±90    18.38±0.80 0.21±0.02  0.90±0.00  0.46±0.03  0.60±0.04
0.41±0.03  0.62±0.02  2790±110   28.08±0.92 0.34±0.02  0.89±0.00  0.37±0.03  0.30±0.04

hd_learned HD Learned
0.55±0.02  0.69±0.01  3040±110   30.23±0.76 0.17±0.01  0.95±0.00  0.75±0.02  0.32±0.03
0.59±0.03  0.72±0.02  3190±190   30.82±1.35 0.11±0.02  0.98±0.00  0.80±0.03  0.40±0.07
0.66±0.03  0.78±0.02  2560±170   26.09±1.25 0.11±0.02  0.95±0.00  0.75±0.03  0.50±0.06
0.39±0.03  0.56±0.03  3380±190   33.93±1.30 0.29±0.03  0.94±0.00  0.70±0.03  0.11±0.04

hd_ddaft_learned HD+DDAFT Learned
0.58±0.02  0.74±0.01  2250±70    23.62±0.55 0.23±0.01  0.91±0.00  0.44±0.02  0.45±0.02
0.62±0.03  0.77±0.02  2125±110   22.82±0.90 0.20±0.02  0.91±0.00  0.43±0.03  0.49±0.04
0.67±0.03  0.79±0.02  1775±100   19.32±0.87 0.19±0.02  0.92±0.00  0.51±0.03  0.54±0.04
0.43±0.03  0.65±0.02  2870±130   28.95±0.98 0.30±0.02  0.90±0.00  0.38±0.03  0.33±0.04
""")
)
# Success of short, medium and long episodes, by the row of EPM-T9 (EPM-T10).
BY_LENGTH: Mapping[str, tuple[str, str, str]] = {
    "hd_gt": ("0.82", "0.74", "0.26"),
    "hd_ddaft_gt": ("0.84", "0.82", "0.31"),
    "hd_learned": ("0.82", "0.50", "0.19"),
    "hd_ddaft_learned": ("0.82", "0.64", "0.25"),
}
# Of the row that is not the mean of its types: steps, cycles, extraneous actions.
STALE_ROW, STALE_COLUMNS = "hd_gt", (2, 3, 4)
# Success by perception over all types: forms of DynaMem on ground truth (EPM-2.9).
VARIANTS_OF_DYNAMEM: Mapping[str, Printed] = {
    "voxels-room-time-only": ("0.17", "0.01"),
    "voxels-room": ("0.10", "0.01"),
    "voxels-plain": ("0.07", "0.01"),
}

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
    others = (row.key for row in (*ABLATIONS, *CONTEXTS))
    return tuple(dict.fromkeys((*(block.key for block in EXTENDED), *others)))


def table_lines(
    runs: Sequence[Run], named: Named, curves: Sequence[Curve] = (), lengths: Lengths | None = None
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
