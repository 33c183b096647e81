"""PARTNR's baselines on its validation split (PARTNR-T2), with a run beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.bench.runs.rows import Row
from planner.bench.runs.table import estimated
from planner.command_line import aligned
from planner.evaluation.metrics.table import metrics

Printed = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A row of the paper: mean and standard error of each column; None = no model's cycles."""

    key: str
    method: str
    control: str
    skills: str
    observability: str
    steps: Printed
    success: Printed
    complete: Printed
    cycles: Printed | None


# fmt: off
BASELINES = (
    Baseline("a", "ReAct-Single", "single", "oracle", "partial",
             (2519.02, 57.48), (0.73, 0.01), (0.85, 0.01), (18.68, 0.33)),
    Baseline("b", "Heuristic-Expert", "centralized", "oracle", "full",
             (1260.88, 26.97), (0.84, 0.01), (0.94, 0.01), None),
    Baseline("c", "ReAct", "centralized", "oracle", "full",
             (1347.43, 33.80), (0.74, 0.01), (0.88, 0.01), (17.49, 0.34)),
    Baseline("d", "ReAct", "centralized", "oracle", "partial",
             (2298.13, 61.39), (0.74, 0.01), (0.85, 0.01), (20.73, 0.51)),
    Baseline("e", "ReAct", "decentralized", "oracle", "partial",
             (3295.20, 76.27), (0.73, 0.01), (0.86, 0.01), (15.24, 0.31)),
    Baseline("f", "ReAct + RAG", "decentralized", "oracle", "partial",
             (3467.47, 82.39), (0.71, 0.01), (0.84, 0.01), (14.75, 0.31)),
    Baseline("g", "Finetuned", "decentralized", "oracle", "partial",
             (3228.96, 75.14), (0.70, 0.01), (0.84, 0.01), (12.85, 0.24)),
    Baseline("h", "ReAct", "decentralized", "learned", "partial",
             (6494.88, 181.52), (0.57, 0.02), (0.76, 0.01), (22.72, 0.58)),
    Baseline("i", "ReAct", "decentralized", "learned", "ConceptGraph",
             (12490.80, 208.90), (0.30, 0.01), (0.56, 0.01), (23.84, 0.45)),
)
# fmt: on
_HEAD = ("", "planner", "control", "skills", "observability", "SIM STEPS", "SR", "PC", "CYCLES")
_METRICS = ("sim_steps", "success", "percent_complete", "planning_cycles")


def table_lines(rows: Sequence[Row], world: str) -> list[str]:
    """The paper's rows, and the run's as the last one, with 95 % intervals.

    Args:
        rows: of the run; those without a verdict are counted below.
        world: what was run where, in words.
    """
    table: list[Sequence[str]] = [_HEAD]
    for line in BASELINES:
        cells = [_printed(value) for value in (line.steps, line.success, line.complete)]
        cycles = "-" if line.cycles is None else _printed(line.cycles)
        setting = (line.method, line.control, line.skills, line.observability)
        table.append((f"paper {line.key}", *setting, *cells, cycles))
    judged = [row for row in rows if row.verdict is not None]
    if judged:
        axes = judged[0].axes
        who = " ".join(filter(None, (judged[0].planner, judged[0].model)))
        setting = (who, axes.control.value, axes.skills.value, axes.observability.value)
        table.append(("ours", *setting, *(_estimate(judged, name) for name in _METRICS)))
    lines = aligned(table)
    lines.append("paper: mean and standard error; ours: mean and 95 % interval over tasks")
    lines.append(f"{len(judged)} of {len(rows)} episodes have a verdict; {world}")
    return lines


def _printed(value: Printed) -> str:
    return f"{value[0]:.2f} ({value[1]:.2f})"


def _estimate(rows: Sequence[Row], name: str) -> str:
    found = estimated(metrics()[name], rows).estimate
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
