"""PARTNR's baselines and its eight derived claims, the paper's values beside the runs'."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from planner.bench.runs.paper import Named, PaperTables, Run, check_rows, is_beside
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.table import estimated, number, tasks_of
from planner.bench.suite import SUITES
from planner.command_line import aligned
from planner.evaluation import statistics
from planner.evaluation.metrics.table import metrics
from planner.evaluation.statistics import Estimate
from planner.planning.planner_model import Control
from planner.world.errors import PlannerError

# PARTNR's baselines on its validation split, row by row with our runs (PARTNR-T2, PARTNR-A10).
#
# A run is beside the row of its planner, control, skills and observability, if its tasks are like
# the paper's: ours, or imported from a file.

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


def table_lines(runs: Sequence[Run], named: Named) -> list[str]:
    """The paper's rows with ours below them, with 95 % intervals; other runs come last.

    Args:
        runs: ours; their rows without a verdict are not counted.
        named: by row, the names of the runs that are beside it whatever their settings.

    Raises:
        PlannerError: if a row is named that there is not.
    """
    check_rows(named, row_keys())
    table: list[Sequence[str]] = [_HEAD]
    placed: set[str] = set()
    for line in BASELINES:
        columns = (line.steps, line.success, line.complete, line.cycles)
        setting = (line.method, line.control, line.skills, line.observability)
        table.append((f"paper {line.key}", *setting, *map(_printed, columns), ""))
        for run in runs:
            if is_beside(run, line.key, line.fits, named):
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


TABLES = PaperTables("PARTNR's baselines on its validation split", row_keys, table_lines)


Key = tuple[str, int]
Rows = Mapping[Key, Row]


class Role(StrEnum):
    """The role of a run in a claim; the last three are with people (PARTNR-10)."""

    DECENTRALIZED = "decentralized"
    SINGLE = "single"
    FINETUNED = "finetuned"
    HUMAN_LLM = "human_llm"
    TWO_HUMANS = "two_humans"
    ONE_HUMAN = "one_human"


def role_of(rows: Rows) -> Role | None:
    """The role of a run by its rows; None if it has none."""
    row = next((row for row in rows.values() if row.verdict is not None), None)
    if row is None:
        return None
    if row.planner == "partnr_finetuned" and row.axes.control is Control.DECENTRALIZED:
        return Role.FINETUNED
    if row.planner in _REACT and row.axes.control is Control.SINGLE:
        return Role.SINGLE
    if row.planner in _REACT and row.axes.control is Control.DECENTRALIZED:
        return Role.DECENTRALIZED
    return None


Statistic = Callable[[Sequence[Sequence[Row]]], float | None]


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: the runs it needs, and the paper's value."""

    name: str
    formula: str
    roles: tuple[Role, ...]
    of_runs: Statistic
    paper: float
    paper_words: str


def _mean(rows: Sequence[Row], name: str) -> float | None:
    values = [row.metrics[name] for row in rows if name in row.metrics]
    return sum(values) / len(values) if values else None


def _ratio(first: float | None, second: float | None) -> float | None:
    return first / second if first is not None and second else None


def _steps_ratio(runs: Sequence[Sequence[Row]]) -> float | None:
    return _ratio(_mean(runs[0], "sim_steps"), _mean(runs[1], "sim_steps"))


def _effort_ratio(runs: Sequence[Sequence[Row]]) -> float | None:
    return _ratio(_mean(runs[0], "extraneous_effort"), _mean(runs[1], "extraneous_effort"))


def _seconds_a_call(rows: Sequence[Row]) -> float | None:
    calls = sum(row.cost.calls for row in rows)
    return sum(row.cost.seconds for row in rows) / calls if calls else None


def _latency_ratio(runs: Sequence[Sequence[Row]]) -> float | None:
    return _ratio(_seconds_a_call(runs[0]), _seconds_a_call(runs[1]))


def _later(runs: Sequence[Sequence[Row]]) -> float | None:
    alone, together = (_mean(rows, "exploration_efficiency") for rows in runs)
    return alone - together if alone is not None and together is not None else None


def _drop(kind: str) -> Statistic:
    def of_runs(runs: Sequence[Sequence[Row]]) -> float | None:
        free, other = (
            _mean([row for row in runs[0] if word in row.task_types], "success")
            for word in ("constraint_free", kind)
        )
        return _ratio(free - other, free) if free is not None and other is not None else None

    return of_runs


CLAIMS = (
    Claim(
        "coordination burden",
        "steps(decentralized) / steps(single)",
        (Role.DECENTRALIZED, Role.SINGLE),
        _steps_ratio,
        3295.20 / 2519.02,
        "3295.20 / 2519.02",
    ),
    Claim(
        "speed-up of finetuned",
        "seconds a call(ReAct) / seconds a call(finetuned)",
        (Role.DECENTRALIZED, Role.FINETUNED),
        _latency_ratio,
        4.55 / 0.53,
        "4.55 / 0.53",
    ),
    Claim(
        "person and model vs two people",
        "steps(human_llm) / steps(two_humans)",
        (Role.HUMAN_LLM, Role.TWO_HUMANS),
        _steps_ratio,
        3443.33 / 2369.55,
        "3443.33 / 2369.55",
    ),
    Claim(
        "person and model vs one person",
        "steps(human_llm) / steps(one_human)",
        (Role.HUMAN_LLM, Role.ONE_HUMAN),
        _steps_ratio,
        3443.33 / 3046.99,
        "3443.33 / 3046.99",
    ),
    Claim(
        "temporal drop",
        "(SR(constraint_free) - SR(temporal)) / SR(constraint_free)",
        (Role.DECENTRALIZED,),
        _drop("temporal"),
        (0.82 - 0.60) / 0.82,
        "(0.82 - 0.60) / 0.82",
    ),
    Claim(
        "heterogeneous drop",
        "(SR(constraint_free) - SR(heterogeneous)) / SR(constraint_free)",
        (Role.DECENTRALIZED,),
        _drop("heterogeneous"),
        (0.82 - 0.66) / 0.82,
        "(0.82 - 0.66) / 0.82",
    ),
    Claim(
        "extraneous effort",
        "extraneous(decentralized) / extraneous(single)",
        (Role.DECENTRALIZED, Role.SINGLE),
        _effort_ratio,
        0.21 / 0.047,
        "0.21 / 0.047",
    ),
    Claim(
        "exploration",
        "steps to first pick(single) - (decentralized)",
        (Role.SINGLE, Role.DECENTRALIZED),
        _later,
        1121.65 - 994.88,
        "1121.65 - 994.88",
    ),
)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """A claim with its value over the judged episodes, or the reason why it has none."""

    claim: Claim
    estimate: Estimate | None
    missing: str = ""


def assigned(runs: Mapping[str, Rows], named: Mapping[Role, str]) -> dict[Role, str]:
    """The run for each role: as named, or else by its rows.

    Raises:
        PlannerError: if several runs would have the same role.
    """
    roles = dict(named)
    for run, rows in runs.items():
        role = role_of(rows)
        if role is None or role in named or run in named.values():
            continue
        if role in roles:
            raise PlannerError(
                f"{roles[role]} and {run} are both runs of {role.value}: name one with "
                f"--as {role.value}=RUN"
            )
        roles[role] = run
    return roles


def fill(runs: Mapping[str, Rows], roles: Mapping[Role, str]) -> tuple[ClaimResult, ...]:
    """All claims, including those without runs."""
    return tuple(_filled(claim, runs, roles) for claim in CLAIMS)


def _filled(claim: Claim, runs: Mapping[str, Rows], roles: Mapping[Role, str]) -> ClaimResult:
    absent = [role.value for role in claim.roles if role not in roles]
    if absent:
        return ClaimResult(claim, None, f"no run of {' and '.join(absent)}")
    taken = [runs[roles[role]] for role in claim.roles]
    common = sorted(
        set.intersection(*({key for key, row in rows.items() if row.verdict} for rows in taken))
    )
    if not common:
        return ClaimResult(claim, None, "its runs have no judged episode in common")

    tasks: dict[str, list[Key]] = {}
    for key in common:
        tasks.setdefault(key[0], []).append(key)
    groups = list(tasks.values())

    def statistic(chosen: Sequence[int]) -> float | None:
        return claim.of_runs([[rows[key] for i in chosen for key in groups[i]] for rows in taken])

    estimate = statistics.bootstrap(len(groups), statistic)
    if estimate.value is None:
        return ClaimResult(claim, None, "undefined: no episode has the values it needs")
    return ClaimResult(claim, estimate)


def claim_lines(filled: Sequence[ClaimResult], roles: Mapping[Role, str]) -> list[str]:
    """The claims as text."""
    head = ("CLAIM", "FORMULA", "PAPER", "", "HERE", "LOW", "HIGH", "N")
    rows = [head]
    for found in filled:
        claim, estimate = found.claim, found.estimate
        here = ("-", "-", "-", found.missing)
        if estimate is not None:
            low, high = number(estimate.low), number(estimate.high)
            here = (number(estimate.value), low, high, str(estimate.n))
        rows.append((claim.name, claim.formula, number(claim.paper), claim.paper_words, *here))
    used = [f"{role.value}: {run}" for role, run in roles.items()]
    return [*aligned(rows), *used]


# `planner bench claims RUN...`: PARTNR's eight claims, the paper's values beside the runs'.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="runs' directories")
    parser.add_argument(
        "--as",
        action="append",
        default=[],
        dest="roles",
        metavar="ROLE=RUN",
        help=f"names a run's role instead of its settings: {', '.join(Role)}",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the claims."""
    named = dict(_role(words) for words in args.roles)
    folders = dict.fromkeys([*map(str, args.runs), *named.values()])
    runs = {folder: newest_rows(Path(folder) / ROWS_NAME) for folder in folders}
    roles = assigned(runs, named)
    print("\n".join(claim_lines(fill(runs, roles), roles)))
    return 0


def _role(words: str) -> tuple[Role, str]:
    name, sign, folder = words.partition("=")
    if not sign or name not in list(Role) or not folder:
        raise PlannerError(
            f"--as {words}: expected ROLE=RUN with one of the roles {', '.join(Role)}"
        )
    return Role(name), folder
