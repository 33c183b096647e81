"""PARTNR's baselines on its validation split, row by row with our runs (PARTNR-T2, PARTNR-A10).

A run is beside the row of its planner, control, skills and observability, if its tasks are like the
paper's: ours, or imported from a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.bench.runs.llamar_tables import Run
from planner.bench.runs.rows import Row
from planner.bench.runs.table import estimated, tasks_of
from planner.command_line import aligned
from planner.evaluation.metrics.table import metrics
from planner.parts.kinds import SUITES
from planner.world.errors import PlannerError

# Mean and standard error; the text gives a success rate without one.
Printed = tuple[float, float] | tuple[float]
_SUITES = ("partnr_val", "partnr_test")
_REACT = ("partnr_react", "partnr_summary")


@dataclass(frozen=True, slots=True)
class Baseline:
    """A row of the paper: what it prints of each column; None = it prints nothing.

    Attributes:
        key: its name on the command line.
        planners: ours that work by this method.
        memory: ours that stands for the observability; "" = any.
    """

    key: str
    method: str
    planners: tuple[str, ...]
    control: str
    skills: str
    observability: str
    steps: Printed | None
    success: Printed
    complete: Printed | None
    cycles: Printed | None
    memory: str = ""

    def fits(self, run: Run) -> bool:
        """Whether a run of ours is of this method, on tasks like the paper's."""
        settings, judged = run.settings, run.judged
        if not judged or settings.planner not in self.planners:
            return False
        if run.suite not in _SUITES and run.suite in SUITES.names():
            return False
        axes = judged[0].axes
        by_summary = settings.planner != "partnr_react" or axes.memory_source.value == "summary"
        setting = (axes.control.value, axes.skills.value, axes.observability.value)
        return (
            by_summary
            and setting == (self.control, self.skills, self.observability.lower())
            and self.memory in ("", settings.memory)
        )


# fmt: off
BASELINES = (
    Baseline("a", "ReAct-Single", _REACT, "single", "oracle", "partial",
             (2519.02, 57.48), (0.73, 0.01), (0.85, 0.01), (18.68, 0.33)),
    Baseline("b", "Heuristic-Expert", ("heuristic_expert",), "centralized", "oracle", "full",
             (1260.88, 26.97), (0.84, 0.01), (0.94, 0.01), None),
    Baseline("c", "ReAct", _REACT, "centralized", "oracle", "full",
             (1347.43, 33.80), (0.74, 0.01), (0.88, 0.01), (17.49, 0.34)),
    Baseline("d", "ReAct", _REACT, "centralized", "oracle", "partial",
             (2298.13, 61.39), (0.74, 0.01), (0.85, 0.01), (20.73, 0.51)),
    Baseline("e", "ReAct", _REACT, "decentralized", "oracle", "partial",
             (3295.20, 76.27), (0.73, 0.01), (0.86, 0.01), (15.24, 0.31)),
    Baseline("f", "ReAct + RAG", ("partnr_rag",), "decentralized", "oracle", "partial",
             (3467.47, 82.39), (0.71, 0.01), (0.84, 0.01), (14.75, 0.31)),
    Baseline("g", "Finetuned", ("partnr_finetuned",), "decentralized", "oracle", "partial",
             (3228.96, 75.14), (0.70, 0.01), (0.84, 0.01), (12.85, 0.24)),
    Baseline("h", "ReAct", _REACT, "decentralized", "learned", "partial",
             (6494.88, 181.52), (0.57, 0.02), (0.76, 0.01), (22.72, 0.58)),
    Baseline("i", "ReAct", _REACT, "decentralized", "learned", "ConceptGraph",
             (12490.80, 208.90), (0.30, 0.01), (0.56, 0.01), (23.84, 0.45), "object-graph"),
    Baseline("captioned", "ReAct + captions", ("partnr_captioned",), "decentralized", "oracle",
             "partial", None, (0.72,), None, None),
    Baseline("views", "ReAct, only captions", ("partnr_views",), "decentralized", "oracle",
             "partial", None, (0.69,), None, None),
)
_HEAD = ("", "planner", "control", "skills", "observability",
         "SIM STEPS", "SR", "PC", "CYCLES", "N")
# fmt: on
_OTHERS = ("OTHER RUNS", *[""] * 9)
_METRICS = ("sim_steps", "success", "percent_complete", "planning_cycles")


def row_keys() -> tuple[str, ...]:
    """The names of all rows."""
    return tuple(line.key for line in BASELINES)


def table_lines(runs: Sequence[Run], named: Mapping[str, Sequence[str]]) -> list[str]:
    """The paper's rows with ours below them, with 95 % intervals; other runs come last.

    Args:
        runs: ours; their rows without a verdict are not counted.
        named: by row, the names of the runs that are beside it whatever their settings.

    Raises:
        PlannerError: if a row is named that there is not.
    """
    unknown = [key for key in named if key not in row_keys()]
    if unknown:
        raise PlannerError(f"there is no row {unknown[0]!r}; known are {', '.join(row_keys())}")
    table: list[Sequence[str]] = [_HEAD]
    by_name = {name for names in named.values() for name in names}
    placed: set[str] = set()
    for line in BASELINES:
        columns = (line.steps, line.success, line.complete, line.cycles)
        setting = (line.method, line.control, line.skills, line.observability)
        table.append((f"paper {line.key}", *setting, *map(_printed, columns), ""))
        for run in runs:
            fits = run.name in named.get(line.key, ()) if run.name in by_name else line.fits(run)
            if fits:
                table.append(_run_cells(run))
                placed.add(run.name)
    rest = [_run_cells(run) for run in runs if run.name not in placed]
    lines = aligned([*table, *([_OTHERS, *rest] if rest else [])])
    lines.append("paper: mean and standard error; ours: mean and 95 % interval over N tasks")
    return lines


def _run_cells(run: Run) -> Sequence[str]:
    judged = run.judged
    who = " ".join(filter(None, (run.settings.planner, run.models.partition(" (")[0])))
    if not judged:
        return (f"ours {run.name}", who, *[""] * 7, f"0 of {len(run.rows)}")
    axes = judged[0].axes
    setting = (who, axes.control.value, axes.skills.value, axes.observability.value)
    count = tasks_of(judged)
    if len(judged) < len(run.rows):
        count += f" of {len(run.rows)}"
    numbers = (_estimate(judged, name) for name in _METRICS)
    return (f"ours {run.name}", *setting, *numbers, count)


def _printed(value: Printed | None) -> str:
    if value is None:
        return "-"
    return f"{value[0]:.2f} ({value[1]:.2f})" if len(value) == 2 else f"{value[0]:.2f}"


def _estimate(rows: Sequence[Row], name: str) -> str:
    found = estimated(metrics()[name], rows).estimate
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
