"""Table `bedtimes`: what a leaflet claims of lamps, and runs beside it."""

from collections.abc import Sequence

from planner.bench.runs.paper import Named, PaperTables, Run, check_rows, is_beside
from planner.bench.runs.table import estimated
from planner.command_line import aligned
from planner.evaluation.metrics.table import metrics

ROW = "lamps"


def _row_keys() -> tuple[str, ...]:
    return (ROW,)


def _fits(run: Run) -> bool:
    return run.settings.planner == "lights_out"


def _table_lines(runs: Sequence[Run], named: Named) -> list[str]:
    check_rows(named, _row_keys())
    rows = [("ROW", "", "SOLVED"), (ROW, "leaflet", "1.00")]
    for run in runs:
        if is_beside(run, ROW, _fits, named):
            solved = estimated(metrics()["success"], run.judged).estimate.value
            rows.append(("", run.name, "-" if solved is None else f"{solved:.2f}"))
    return aligned(rows)


TABLES = PaperTables("a leaflet's", _row_keys, _table_lines)
