"""The results that LLaMAR's paper prints, row by row with ours (LLAMAR-T1, LLAMAR-T2, LLAMAR-T6).

A run of ours is beside the row whose method it is by its planner, options and number of agents.
Runs of other planners, or of tasks that are not like the paper's, come last (LLAMAR-D49).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planner.bench.runs.paper import (
    Named,
    PaperTables,
    Run,
    behind_lines,
    check_rows,
    is_beside,
    settings_words,
)
from planner.bench.runs.table import estimated, tasks_of
from planner.bench.suite import SUITES
from planner.command_line import aligned
from planner.evaluation.metrics.table import metrics
from planner.evaluation.statistics import Estimate

COLUMNS: Mapping[str, str] = {
    "SR": "llamar_success",
    "TR": "transport_rate",
    "COVERAGE": "coverage",
    "BALANCE": "balance",
    "STEPS": "joint_steps",
}
_SUITE = "llamar"
_PAPER_MODEL = "GPT-4V"
_PAPER_AGENTS = 2

Printed = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A printed row.

    Attributes:
        key: its name on the command line.
        label: the paper's, or what its rows must mean.
        values: in the order of `COLUMNS`, each with the bounds of its interval.
        fits: whether a run of ours is of this method.
    """

    key: str
    label: str
    values: tuple[Printed, Printed, Printed, Printed, Printed]
    fits: Callable[[Run], bool]
    model: str = _PAPER_MODEL
    agents: int = _PAPER_AGENTS


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A printed table."""

    title: str
    rows: tuple[PaperRow, ...]


def _named(*words: str) -> Callable[[Run], bool]:
    """Runs of a baseline by the end of its planner's name, with as many agents as the paper's."""
    return lambda run: run.agents == _PAPER_AGENTS and run.settings.planner in words


def _is_whole(run: Run) -> bool:
    return (
        run.settings.planner == "llamar"
        and run.option("corrector", "separate") != "off"
        and run.option("verifier", "model") == "model"
    )


def _whole(agents: int = _PAPER_AGENTS) -> Callable[[Run], bool]:
    return lambda run: _is_whole(run) and run.agents == agents


def _whole_with(*, pictures: bool, exploration: bool | None = None) -> Callable[[Run], bool]:
    def fits(run: Run) -> bool:
        return (
            _whole()(run)
            and run.option("camera_pictures", default=False) is pictures
            and exploration in (None, run.option("exploration", default=True))
        )

    return fits


def _without_corrector(run: Run) -> bool:
    off = run.option("corrector", "separate") == "off"
    model = run.option("verifier", "model") == "model"
    return run.settings.planner == "llamar" and off and model and run.agents == _PAPER_AGENTS


def _oracle_verifies(run: Run) -> bool:
    corrected = run.option("corrector", "separate") != "off"
    oracle = run.option("verifier", "model") == "oracle"
    return run.settings.planner == "llamar" and corrected and oracle and run.agents == _PAPER_AGENTS


_ACT = ((0.33, 0.19, 0.49), (0.67, 0.59, 0.76), (0.91, 0.86, 0.95), (0.59, 0.52, 0.66), (24.92, 22.12, 27.73))  # noqa: E501  # fmt: skip
_TWO = ((0.62, 0.46, 0.76), (0.87, 0.80, 0.93), (0.95, 0.91, 0.98), (0.82, 0.77, 0.87), (23.44, 20.88, 26.00))  # noqa: E501  # fmt: skip

# LLAMAR-T1
MODULES = PaperTable(
    "TABLE 1: modules, 2 agents",
    (
        PaperRow("actor", "Actor", _ACT, _named("llamar_act")),
        PaperRow(
            "no_corrector",
            "Planner + Actor + Verifier",
            ((0.45, 0.29, 0.57), (0.78, 0.67, 0.84), (0.92, 0.84, 0.95), (0.69, 0.61, 0.75), (24.87, 20.48, 27.95)),  # noqa: E501
            _without_corrector,
        ),
        PaperRow(
            "oracle_verifier",
            "Planner + Actor + Corrector, oracle as Verifier",
            ((0.67, 0.51, 0.80), (0.91, 0.83, 0.96), (0.97, 0.94, 0.99), (0.84, 0.79, 0.89), (22.81, 19.95, 25.76)),  # noqa: E501
            _oracle_verifies,
        ),
        PaperRow(
            "llamar",
            "LLaMAR",
            ((0.66, 0.50, 0.76), (0.91, 0.81, 0.96), (0.97, 0.93, 0.99), (0.82, 0.75, 0.87), (21.87, 18.76, 26.43)),  # noqa: E501
            _whole(),
        ),
    ),
)  # fmt: skip

# LLAMAR-T2
METHODS = PaperTable(
    "TABLE 2: methods, 2 agents",
    (
        PaperRow("act", "Act", _ACT, _named("llamar_act")),
        PaperRow(
            "react",
            "ReAct",
            ((0.34, 0.20, 0.49), (0.72, 0.63, 0.80), (0.92, 0.86, 0.97), (0.67, 0.61, 0.73), (24.08, 21.27, 26.89)),  # noqa: E501
            _named("llamar_react"),
        ),
        PaperRow(
            "cot",
            "CoT",
            ((0.14, 0.06, 0.28), (0.59, 0.51, 0.67), (0.87, 0.81, 0.92), (0.62, 0.56, 0.69), (28.4, 26.91, 29.97)),  # noqa: E501
            _named("llamar_cot"),
        ),
        PaperRow(
            "smart_llm",
            "SmartLLM",
            ((0.11, 0.05, 0.23), (0.23, 0.13, 0.31), (0.91, 0.80, 0.96), (0.45, 0.37, 0.52), (29.87, 26.20, 30.00)),  # noqa: E501
            _named("smart_llm", "llamar_smart_llm"),
        ),
        PaperRow(
            "coela",
            "CoELA",
            ((0.25, 0.10, 0.36), (0.46, 0.35, 0.56), (0.76, 0.67, 0.85), (0.73, 0.67, 0.80), (28.93, 27.77, 30.00)),  # noqa: E501
            _named("coela", "llamar_coela"),
        ),
        PaperRow(
            "text",
            "LLaMAR, text only",
            ((0.51, 0.36, 0.66), (0.85, 0.80, 0.91), (0.95, 0.91, 0.98), (0.83, 0.78, 0.86), (25.80, 23.72, 27.88)),  # noqa: E501
            _whole_with(pictures=False),
            model="GPT-4",
        ),
        PaperRow(
            "no_exploration",
            "LLaMAR, pictures",
            _TWO,
            _whole_with(pictures=True, exploration=False),
        ),
        PaperRow(
            "exploration",
            "LLaMAR, pictures and exploration",
            ((0.66, 0.50, 0.78), (0.91, 0.81, 0.96), (0.97, 0.93, 0.99), (0.82, 0.75, 0.87), (21.87, 18.76, 24.23)),  # noqa: E501
            _whole_with(pictures=True, exploration=True),
        ),
    ),
)  # fmt: skip

# LLAMAR-T6
TEAMS = PaperTable(
    "TABLE 6: LLaMAR by number of agents",
    (
        PaperRow("agents_2", "2 agents", _TWO, _whole(2), agents=2),
        PaperRow(
            "agents_3",
            "3 agents",
            ((0.70, 0.55, 0.82), (0.91, 0.85, 0.95), (0.98, 0.95, 0.99), (0.66, 0.61, 0.71), (21.30, 18.60, 23.99)),  # noqa: E501
            _whole(3),
            agents=3,
        ),
        PaperRow(
            "agents_4",
            "4 agents",
            ((0.68, 0.52, 0.79), (0.90, 0.84, 0.94), (0.99, 0.95, 0.99), (0.62, 0.57, 0.68), (22.83, 19.63, 25.69)),  # noqa: E501
            _whole(4),
            agents=4,
        ),
        PaperRow(
            "agents_5",
            "5 agents",
            ((0.62, 0.46, 0.75), (0.90, 0.85, 0.94), (0.99, 0.97, 1.00), (0.54, 0.48, 0.59), (22.91, 20.26, 25.57)),  # noqa: E501
            _whole(5),
            agents=5,
        ),
    ),
)  # fmt: skip

PRINTED = (MODULES, METHODS, TEAMS)
_HEAD = ("ROW", "", "MODEL", "AGENTS", *COLUMNS, "N")


def row_keys() -> tuple[str, ...]:
    """The names of all rows."""
    return tuple(row.key for table in PRINTED for row in table.rows)


def table_lines(runs: Sequence[Run], named: Named) -> list[str]:
    """The paper's tables with ours beside them, as text.

    Args:
        runs: ours.
        named: by row, the names of runs that are put there whatever their settings.

    Raises:
        PlannerError: if a row is named that there is not.
    """
    check_rows(named, row_keys())
    lines: list[str] = []
    placed: set[str] = set()
    for table in PRINTED:
        rows = [_HEAD]
        for row in table.rows:
            beside = [run for run in runs if is_beside(run, row.key, _of(row), named)]
            placed |= {run.name for run in beside}
            rows.append(_paper_words(row))
            rows += [_run_words("", run) for run in beside]
        lines += [table.title, *aligned(rows), ""]
    rest = [run for run in runs if run.name not in placed]
    if rest:
        words = [_run_words(run.settings.planner, run) for run in rest]
        lines += ["OTHER RUNS", *aligned([_HEAD, *words]), ""]
    lines += behind_lines(runs, settings_words)
    lines.append(
        "intervals of 95 % over N tasks: exact binomial for SR, Student's t for the others"
    )
    return lines


def _of(row: PaperRow) -> Callable[[Run], bool]:
    """Runs of a row's method, on tasks like the paper's: ours, or imported from a file."""
    return lambda run: (run.suite == _SUITE or run.suite not in SUITES.names()) and row.fits(run)


def _paper_words(row: PaperRow) -> tuple[str, ...]:
    numbers = (f"{value:.2f} ({low:.2f}, {high:.2f})" for value, low, high in row.values)
    return (row.label, "paper", row.model, str(row.agents), *numbers, "")


def _run_words(label: str, run: Run) -> tuple[str, ...]:
    judged = run.judged
    numbers = (_words(estimated(metrics()[name], judged).estimate) for name in COLUMNS.values())
    count = tasks_of(judged)
    if len(judged) < len(run.rows):
        count += f" of {len(run.rows)}"
    # A model's name may hold all its settings; they stand below the tables.
    model = run.models.partition(" (")[0]
    return (label, run.name, model, str(run.agents), *numbers, count)


def _words(estimate: Estimate) -> str:
    if estimate.value is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} ({estimate.low:.2f}, {estimate.high:.2f})"


TABLES = PaperTables(
    "LLaMAR's, with its ablations and other planners for teams", row_keys, table_lines
)
