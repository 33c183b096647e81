"""The eight derived claims of PARTNR, computed from runs (PARTNR-8).

Each is a formula over one or two runs, which must have the same episodes and seeds. Intervals are
bootstraps over tasks, each with all its seeds. Claims about human participants are computed only if
a run is named for that role.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.bench.runs.rows import Row
from planner.bench.runs.table import number
from planner.command_line import aligned
from planner.evaluation import statistics
from planner.evaluation.statistics import Estimate
from planner.planning.axes import Control
from planner.world.errors import PlannerError

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


# Planners that are the paper's ReAct.
_REACT = ("partnr_react", "partnr_summary")


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
