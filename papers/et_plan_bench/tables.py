"""The results that ET-Plan-Bench's paper prints, row by row with ours (ETPLAN-T2 to ETPLAN-T4).

A row of the paper is a category with a variant. A run of ours may have tasks of several rows: each
episode's name says its category, and the row's own record its variants. Who answered the agent's
questions stands beside each number, since a table of counts is not a language model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.bench.runs.paper import Named, PaperTables, Run, behind_lines, check_rows, is_named
from planner.bench.runs.rows import Row
from planner.bench.runs.table import estimated, tasks_of
from planner.command_line import aligned
from planner.evaluation.metrics.table import metrics
from planner.evaluation.statistics import Estimate

# Success in percent, length, LCS, its ratio in percent, metres; None = the paper's cell is empty.
Printed = tuple[float | None, float, float, float, float]


@dataclass(frozen=True, slots=True)
class PaperRow:
    """A printed row of the main results (ETPLAN-T2).

    Attributes:
        key: its name on the command line.
        label: the paper's.
        category: of the tasks, as evidence and names have it.
        variant: that the tasks must have; "" = all tasks of the category without a layout map or
            two arms, as the occlusions are subsets of these.
        gpt4, tuned: the values with GPT-4, and with the fine-tuned LLAMA-7B.
    """

    key: str
    label: str
    category: str
    variant: str
    gpt4: Printed
    tuned: Printed


_N, _NR, _M, _MR = "navigation", "navigation_relation", "manipulation", "manipulation_relation"
_SIZE, _FAR, _MAP = "occlusion_size", "occlusion_distance", "layout_map"
ROWS = (
    PaperRow(
        "navigation_map", "Navi + Layout Map", _N, _MAP,
        (90.77, 3.76, 1.32, 89.64, 10.79), (91.13, 3.96, 1.34, 90.11, 10.83),
    ),
    PaperRow(
        "navigation", "Navi", _N, "",
        (79.26, 6.77, 1.59, 78.74, 14.10), (80.58, 6.75, 1.62, 80.01, 14.59),
    ),
    PaperRow(
        "navigation_size", "Navi + Occlusion_Size", _N, _SIZE,
        (72.46, 7.99, 1.53, 74.95, 14.08), (76.05, 7.89, 1.59, 78.14, 16.65),
    ),
    PaperRow(
        "navigation_distance", "Navi + Occlusion_Distance", _N, _FAR,
        (73.65, 7.94, 1.60, 77.40, 19.36), (76.65, 7.69, 1.65, 80.24, 17.38),
    ),
    PaperRow(
        "relation", "Navi + Relation", _NR, "",
        (62.61, 9.20, 1.78, 88.75, 12.45), (64.09, 9.20, 1.75, 86.05, 14.08),
    ),
    PaperRow(
        "relation_size", "Navi + Relation + Occlusion_Size", _NR, _SIZE,
        (60.74, 9.68, 1.74, 85.19, 13.26), (61.48, 9.91, 1.70, 83.21, 16.05),
    ),
    PaperRow(
        "relation_distance", "Navi + Relation + Occlusion_Distance", _NR, _FAR,
        (54.81, 10.41, 1.73, 86.67, 15.75), (55.56, 10.31, 1.67, 82.96, 16.22),
    ),
    PaperRow(
        "manipulation_map", "Navi & Mani + Layout Map", _M, _MAP,
        (83.98, 12.36, 4.20, 82.68, 22.22), (83.96, 12.09, 4.17, 81.97, 21.67),
    ),
    PaperRow(
        "manipulation", "Navi & Mani", _M, "",
        (73.76, 17.02, 4.17, 78.56, 28.51), (74.33, 16.47, 4.22, 78.92, 26.99),
    ),
    PaperRow(
        "manipulation_size", "Navi & Mani + Occlusion_Size", _M, _SIZE,
        (None, 20.00, 3.94, 75.00, 29.46), (67.60, 19.21, 4.00, 75.27, 28.79),
    ),
    PaperRow(
        "manipulation_distance", "Navi & Mani + Occlusion_Distance", _M, _FAR,
        (72.09, 18.83, 4.06, 75.50, 37.92), (74.66, 17.20, 4.21, 78.08, 30.45),
    ),
    PaperRow(
        "manipulation_relation", "Navi & Mani + Relation", _MR, "",
        (49.65, 24.08, 4.11, 73.60, 27.70), (50.35, 23.78, 4.12, 72.14, 27.72),
    ),
    PaperRow(
        "manipulation_relation_size", "Navi & Mani + Relation + Occlusion_Size", _MR, _SIZE,
        (43.03, 26.52, 3.81, 69.02, 31.55), (42.75, 26.39, 3.82, 67.05, 28.42),
    ),
    PaperRow(
        "manipulation_relation_distance", "Navi & Mani + Relation + Occlusion_Distance", _MR, _FAR,
        (49.88, 23.96, 4.20, 73.69, 34.85), (50.00, 23.79, 4.25, 72.57, 30.83),
    ),
    PaperRow(
        "two_objects", "Navi & Mani + Multi Objects", "two_objects", "",
        (56.73, 38.25, 7.57, 69.92, 50.39), (55.05, 42.80, 7.85, 69.09, 47.40),
    ),
    PaperRow(
        "two_arms", "Navi & Mani + Multi Objects + Optimal Path with 2 Arms", "two_objects",
        "optimal_path",
        (72.04, 28.12, 5.60, 66.07, 38.25), (74.21, 28.51, 5.61, 64.32, 39.17),
    ),
    PaperRow(
        "temporal", "Navi & Mani + Multi Objects + Temp Dependency", "temporal", "",
        (58.60, 43.43, 6.00, 64.05, 51.38), (60.35, 41.04, 5.96, 62.71, 45.52),
    ),
)  # fmt: skip
COLUMNS = ("criteria_success", "sequence_length", "lcs_length", "lcs_ratio", "moving_distance")
# ETPLAN-T3: success in percent.
MODELS = ("GPT-4", "Llama3-70B", "Mixtral-8x7B", "Llama3-8B")
BY_MODEL: Mapping[str, tuple[float, ...]] = {
    "navigation_map": (90.77, 89.04, 89.04, 83.99),
    "navigation": (79.26, 77.39, 75.84, 69.66),
    "relation": (62.61, 66.06, 62.41, 27.74),
}
# ETPLAN-T4: success in navigation, percent.
BY_SIMULATOR: Mapping[str, tuple[float, float]] = {
    "GPT-4": (79.26, 72.2),
    "LLAMA-SFT": (80.58, 71.9),
}
# ETPLAN-T6 and ETPLAN-T7: with GPT-4; the planner's option, "" = the usual prompt.
PROMPTS: tuple[tuple[str, str, str, Printed], ...] = (
    ("Navi", "navigation", "", (79.26, 6.77, 1.59, 78.74, 14.10)),
    ("Navi + CoT", "navigation", "think_first", (79.73, 6.78, 1.62, 80.21, 14.38)),
    ("Navi, few-shot", "navigation", "few_shot", (77.81, 7.08, 1.57, 77.61, 14.08)),
    ("Navi + Relation", "relation", "", (62.61, 9.20, 1.78, 88.75, 12.45)),
    ("Navi + Relation, few-shot", "relation", "few_shot", (62.59, 9.12, 1.77, 88.63, 11.97)),
)
_MARKS = frozenset({_MAP, "optimal_path"})


def row_keys() -> tuple[str, ...]:
    """The names of all rows."""
    return tuple(row.key for row in ROWS)


def table_lines(runs: Sequence[Run], named: Named) -> list[str]:
    """The paper's tables with ours beside them, as text.

    Args:
        runs: ours.
        named: by row, the names of runs all of whose episodes are put there.

    Raises:
        PlannerError: if a row is named that there is not.
    """
    check_rows(named, row_keys())
    lines = [*_main(runs, named), *_by_model(runs, named), *_by_simulator(runs, named)]
    lines += _by_prompt(runs, named)
    rest = [(run, row) for run in runs for row in run.judged if not _is_anywhere(run, row, named)]
    for run, count in Counter(run.name for run, _ in rest).items():
        lines.append(f"{run}: {count} episodes of no category of ET-Plan-Bench")
    if runs:
        lines += ["", *behind_lines(runs, _behind)]
    lines.append("percent with 95 % intervals; length counts M for failures (ETPLAN-5)")
    return lines


def _main(runs: Sequence[Run], named: Named) -> list[str]:
    head = ("TASK", "", "SR", "LENGTH", "LCS", "DISTANCE", "N")
    table: list[tuple[str, ...]] = [head]
    for row in ROWS:
        table.append((row.label, "paper, GPT-4", *_printed(row.gpt4), ""))
        table.append(("", "paper, LLAMA-7B SFT", *_printed(row.tuned), ""))
        for run in runs:
            own = _of_row(run, row, named)
            if own:
                table.append(("", f"{run.name}, {_short(run)}", *_ours(own), tasks_of(own)))
    return ["TABLE 2: main results", *aligned(table), ""]


def _by_model(runs: Sequence[Run], named: Named) -> list[str]:
    table: list[tuple[str, ...]] = [("TASK", *MODELS, *(run.name for run in runs))]
    for row in ROWS:
        if row.key in BY_MODEL:
            values = (f"{value:.2f}" for value in BY_MODEL[row.key])
            ours = (_success(_of_row(run, row, named)) for run in runs)
            table.append((row.label, *values, *ours))
    return ["TABLE 3: success with other models", *aligned(table), ""]


def _by_simulator(runs: Sequence[Run], named: Named) -> list[str]:
    table: list[tuple[str, ...]] = [("", "VirtualHome", "Habitat")]
    for name, (home, habitat) in BY_SIMULATOR.items():
        table.append((f"{name}, paper", f"{home:.2f}", f"{habitat:.1f}"))
    navigation = next(row for row in ROWS if row.key == "navigation")
    for run in runs:
        own = _of_row(run, navigation, named)
        if own:
            worlds = ", ".join(dict.fromkeys(row.variant.value for row in own))
            table.append((f"{run.name}, judged by {worlds}", _success(own), "-"))
    return ["TABLE 4: navigation by simulator", *aligned(table), ""]


def _by_prompt(runs: Sequence[Run], named: Named) -> list[str]:
    table: list[tuple[str, ...]] = [("PROMPT", "", "SR", "LENGTH", "LCS", "DISTANCE", "N")]
    by_key = {row.key: row for row in ROWS}
    for label, key, option, values in PROMPTS:
        table.append((label, "paper, GPT-4", *_printed(values), ""))
        for run in runs:
            own = _of_row(run, by_key[key], named)
            if own and _prompt_of(run) == option:
                table.append(("", f"{run.name}, {_short(run)}", *_ours(own), tasks_of(own)))
    return ["TABLES 6 AND 7: other prompts", *aligned(table), ""]


def _prompt_of(run: Run) -> str | None:
    """The option that changes a run's prompts, "" for the usual ones; None = several."""
    given = [name for name in ("think_first", "few_shot") if run.option(name, default=False)]
    return None if len(given) > 1 else "".join(given)


def _of_row(run: Run, row: PaperRow, named: Named) -> list[Row]:
    if is_named(run, named):
        return run.judged if run.name in named.get(row.key, ()) else []
    return [each for each in run.judged if _is_of(each, row)]


def _is_anywhere(run: Run, row: Row, named: Named) -> bool:
    return is_named(run, named) or any(_is_of(row, each) for each in ROWS)


def _is_of(row: Row, printed: PaperRow) -> bool:
    category, variants = row.evidence.get("category", ""), _variants(row)
    if category != printed.category:
        return False
    if printed.variant and printed.variant not in variants:
        return False
    return not (variants & _MARKS) - {printed.variant}


def _variants(row: Row) -> set[str]:
    return set(row.evidence.get("variants", "").split())


def _ours(rows: Sequence[Row]) -> tuple[str, ...]:
    found = {name: _estimate(rows, name) for name in COLUMNS}
    success = found["criteria_success"]
    length, lcs, ratio, metres = (found[name].value for name in COLUMNS[1:])
    shown = (
        "-"
        if success.value is None
        else f"{100 * success.value:.2f} ({100 * (success.low or 0):.1f}-"
        f"{100 * (success.high or 0):.1f})"
    )
    common = "-" if lcs is None or ratio is None else f"{lcs:.2f} ({100 * ratio:.2f})"
    return (shown, _number(length), common, _number(metres))


def _success(rows: Sequence[Row]) -> str:
    value = _estimate(rows, "criteria_success").value if rows else None
    return "-" if value is None else f"{100 * value:.2f}"


def _estimate(rows: Sequence[Row], metric: str) -> Estimate:
    return estimated(metrics()[metric], rows).estimate


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _printed(values: Printed) -> tuple[str, str, str, str]:
    success, length, lcs, ratio, metres = values
    shown = "empty" if success is None else f"{success:.2f}"
    return shown, f"{length:.2f}", f"{lcs:.2f} ({ratio:.2f})", f"{metres:.2f}"


def _short(run: Run) -> str:
    rankers = dict.fromkeys(
        row.evidence["ranker"] for row in run.judged if row.evidence.get("ranker")
    )
    return "/".join(rankers) or run.settings.planner


def _behind(run: Run) -> str:
    sources = Counter(row.evidence.get("ranker_source", "") for row in run.judged)
    named = [source for source, _ in sources.most_common() if source][:3]
    asked = "; ".join(named) or f"model {run.models}"
    return f"planner {run.settings.planner}; {asked}"


TABLES = PaperTables(
    "ET-Plan-Bench's, by category, model, simulator and prompt", row_keys, table_lines
)
