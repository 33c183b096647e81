"""The results that HELPER's paper prints, row by row with ours (HELPER-T1 to HELPER-T4).

A run of ours is beside the row whose variant it is by its planner, its options, its memory and who
answers. Our training houses stand for rooms that were seen, the held-out ones for unseen rooms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import ProgramError
from papers.helper.routine_plans import score_plan
from papers.helper.teach.tasks import Routine, read_routines, routine_file
from planner.bench.runs.paper import (
    Named,
    PaperTables,
    Run,
    behind_lines,
    check_rows,
    is_beside,
    settings_words,
)
from planner.bench.runs.rows import Row
from planner.bench.runs.settings import AnsweredBy, MemoryKind, RunSettings
from planner.bench.runs.table import estimated, tasks_of
from planner.command_line import aligned
from planner.evaluation.metrics.table import metrics
from planner.memory.part import DEPTH_MODEL, TRUE_SEGMENTATION
from planner.parts.option import OptionValue
from planner.world.episode import Setting

# The numbers that HELPER's paper prints (HELPER-T1 to HELPER-T4), in percent.

# Plain, and weighted by the length of the reference.
Pair = tuple[float, float]

SYSTEM_COLUMNS = (
    "no in-domain LLM", "memory-augmented LLM", "personalization", "accepts feedback",
    "VLM correction", "LLM search", "pre-condition check",
)  # fmt: skip
# HELPER-T1
SYSTEMS: Mapping[str, str] = {
    "E.T.": ".......",
    "JARVIS": ".......",
    "FILM": ".......",
    "DANLI": "......x",
    "LLM-Planner": "xx.....",
    "Code as Policies": "x......",
    "HELPER": "xxxxxxx",
}

GROUPS = ("tfd unseen", "tfd seen", "edh unseen", "edh seen")
# HELPER-T2: SR and GC of each group, in this order.
METHODS: Mapping[str, tuple[Pair, ...]] = {
    "E.T.": ((0.48, 0.12), (0.35, 0.59), (1.02, 0.17), (1.42, 4.82), (7.8, 0.9), (9.1, 1.7), (10.2, 1.7), (15.7, 4.1)),  # noqa: E501
    "JARVIS": ((1.80, 0.30), (3.10, 1.60), (1.70, 0.20), (5.40, 4.50), (15.80, 2.60), (16.60, 8.20), (15.10, 3.30), (22.60, 8.70)),  # noqa: E501
    "FILM": ((2.9, 1.0), (6.1, 2.5), (5.5, 2.6), (5.8, 11.6), (10.2, 1.0), (18.3, 2.7), (14.3, 2.1), (26.4, 5.6)),  # noqa: E501
    "DANLI": ((7.98, 3.20), (6.79, 6.57), (4.97, 1.86), (10.50, 10.27), (16.98, 7.24), (23.44, 19.95), (17.76, 9.28), (24.93, 22.20)),  # noqa: E501
    "HELPER": ((13.73, 1.61), (14.17, 4.56), (12.15, 1.79), (18.62, 9.28), (17.40, 2.91), (25.86, 7.90), (18.59, 4.00), (32.09, 9.81)),  # noqa: E501
}  # fmt: skip
# HELPER-T2, TfD unseen: SR and GC.
VARIANTS: Mapping[str, tuple[Pair, Pair]] = {
    "HELPER": ((13.73, 1.61), (14.17, 4.56)),
    "w/o Mem Aug": ((11.27, 1.39), (11.09, 4.00)),
    "w/o Pre Check": ((11.6, 1.36), (11.32, 4.15)),
    "w/o Correction": ((12.9, 1.53), (12.45, 4.91)),
    "w/o LOCATOR": ((12.09, 1.29), (10.89, 3.83)),
    "w/ GPT-3.5": ((9.48, 1.21), (10.05, 3.68)),
    "w/ GT depth": ((15.85, 2.85), (14.49, 6.89)),
    "w/ GT depth, seg": ((22.55, 6.39), (30.00, 14.56)),
    "w/ GT percept": ((30.23, 9.12), (50.46, 20.24)),
    "w/ Feedback 1": ((16.34, 1.67), (14.70, 4.69)),
    "w/ Feedback 2": ((17.48, 1.97), (14.93, 4.74)),
    "w/ GT percept, Feedback 2": ((37.75, 10.96), (56.77, 19.80)),
}
# HELPER-T3: of ten plans by the number of changes.
CHANGES: Mapping[int, float] = {0: 100.0, 1: 100.0, 2: 80.0, 3: 90.0}
SPLITS = ("val unseen", "val seen", "test unseen", "test seen")
# HELPER-T4: EDH on the alternative split, SR and GC of each part.
OTHER_SPLIT: Mapping[str, tuple[Pair, ...]] = {
    "E.T.": ((8.35, 0.86), (6.34, 3.69), (8.28, 1.13), (8.72, 3.82), (7.38, 0.97), (6.06, 3.17), (8.82, 0.29), (9.46, 3.03)),  # noqa: E501
    "DANLI": ((17.25, 7.16), (23.88, 19.38), (16.89, 9.12), (25.10, 22.56), (16.71, 7.33), (23.00, 20.55), (18.63, 9.41), (24.77, 21.90)),  # noqa: E501
    "HELPER": ((17.25, 3.22), (25.24, 8.12), (19.21, 4.72), (33.54, 10.95), (17.55, 2.59), (26.49, 7.67), (17.97, 3.44), (30.81, 8.93)),  # noqa: E501
}  # fmt: skip


PLANNER, RETRIEVAL = "helper", "helper_retrieval"
_UNSEEN_HOUSES = "heldout"
_METRICS = (("success", "weighted_success"), ("goal_condition_success", "weighted_goal_conditions"))
# Of the planner: what an option is where the run does not say.
_DEFAULTS: Mapping[str, OptionValue] = {
    "memory_examples": "retrieved",
    "preconditions": True,
    "rectifier": True,
    "locator": True,
    "percept": "perceived",
    "feedback_rounds": 0,
}


@dataclass(frozen=True, slots=True)
class Variant:
    """A row of the ablations.

    Attributes:
        key: its name on the command line.
        label: the paper's.
        switches: the options that differ from the planner's defaults.
        sees: whether a run's memory sees as in this row; None = any.
    """

    key: str
    label: str
    switches: Mapping[str, OptionValue] = field(default_factory=dict)
    sees: Callable[[RunSettings], bool] | None = None
    is_by_name_only: bool = False

    def fits(self, run: Run) -> bool:
        """Whether a run of ours is of this variant."""
        if run.settings.planner != PLANNER or self.is_by_name_only:
            return False
        wanted = {**_DEFAULTS, **self.switches}
        if any(run.option(name, _DEFAULTS[name]) != value for name, value in wanted.items()):
            return False
        asks = bool(wanted["feedback_rounds"])
        if asks and run.settings.answered_by is not AnsweredBy.SIMULATED:
            return False
        return self.sees is None or self.sees(run.settings)


def _has_true_depth(settings: RunSettings) -> bool:
    return not settings.memory_options.get(DEPTH_MODEL)


def _has_true_masks(settings: RunSettings) -> bool:
    by_ids = settings.memory in (MemoryKind.RAYS.value, MemoryKind.PICTURES.value)
    return by_ids or settings.memory_options.get(TRUE_SEGMENTATION) is True


def _sees_true_depth(settings: RunSettings) -> bool:
    looks = settings.memory not in {kind.value for kind in MemoryKind}
    return looks and _has_true_depth(settings) and not _has_true_masks(settings)


def _sees_true_masks(settings: RunSettings) -> bool:
    return _has_true_masks(settings) and not _has_true_depth(settings)


def _sees_both(settings: RunSettings) -> bool:
    return _has_true_masks(settings) and _has_true_depth(settings)


ROWS = (
    Variant("helper", "HELPER"),
    Variant("no_memory", "w/o Mem Aug", {"memory_examples": "fixed"}),
    Variant("no_preconditions", "w/o Pre Check", {"preconditions": False}),
    Variant("no_rectifier", "w/o Correction", {"rectifier": False}),
    Variant("no_locator", "w/o LOCATOR", {"locator": False}),
    Variant("smaller_model", "w/ GPT-3.5", is_by_name_only=True),
    Variant("gt_depth", "w/ GT depth", sees=_sees_true_depth),
    # The paper has no row of this one alone.
    Variant("gt_segmentation", "w/ GT seg", sees=_sees_true_masks),
    Variant("gt_masks", "w/ GT depth, seg", sees=_sees_both),
    Variant("gt_percept", "w/ GT percept", {"percept": "true"}),
    Variant("feedback_1", "w/ Feedback 1", {"feedback_rounds": 1}),
    Variant("feedback_2", "w/ Feedback 2", {"feedback_rounds": 2}),
    Variant(
        "gt_percept_feedback_2",
        "w/ GT percept, Feedback 2",
        {"percept": "true", "feedback_rounds": 2},
    ),
)


def row_keys() -> tuple[str, ...]:
    """The names of all rows."""
    return tuple(row.key for row in ROWS)


def table_lines(runs: Sequence[Run], named: Named) -> list[str]:
    """The paper's tables with ours beside them, as text.

    Args:
        runs: ours.
        named: by row, the names of runs that are put there whatever their settings.

    Raises:
        PlannerError: if a row is named that there is not.
    """
    check_rows(named, row_keys())
    dialogues = [run for run in runs if any(_group(row) for row in run.judged)]
    routines = [run for run in runs if any(_changes(row) is not None for row in run.judged)]
    lines = [
        *_systems(),
        *_methods(dialogues, named),
        *_variants(dialogues, named),
        *_personal(routines),
        *_other_split(),
    ]
    rest = [run for run in runs if run not in dialogues and run not in routines]
    if rest:
        lines += ["OTHER RUNS, without episodes of teach or routines", *(run.name for run in rest)]
        lines += [""]
    lines += behind_lines(runs, _behind)
    lines.append("percent; in brackets weighted by the length of the reference (HELPER-5)")
    return lines


def relative_drop(full: float, ablated: float) -> float:
    """1 - ablated / full, of success rates (HELPER-C42).

    Raises:
        ZeroDivisionError: if nothing succeeded with everything.
    """
    return 1 - ablated / full


def _systems() -> list[str]:
    rows: list[tuple[str, ...]] = [("", *SYSTEM_COLUMNS)]
    rows += [(name, *("yes" if c == "x" else "no" for c in has)) for name, has in SYSTEMS.items()]
    rows.append((f"ours, {PLANNER}", *("yes" for _ in SYSTEM_COLUMNS)))
    return ["TABLE 1: systems", *aligned(rows), ""]


def _methods(runs: Sequence[Run], named: Named) -> list[str]:
    head = ("METHOD", "", *(f"{group} {what}" for group in GROUPS for what in ("SR", "GC")), "N")
    rows: list[tuple[str, ...]] = [head]
    for name, values in METHODS.items():
        rows.append((name, "paper", *map(_printed, values), ""))
    for run in runs:
        of_row = any(is_beside(run, row.key, row.fits, named) for row in ROWS[:1])
        label = "" if of_row else run.settings.planner
        numbers = (words for group in GROUPS for words in _ours(_of_group(run, group)))
        rows.append((label, run.name, *numbers, tasks_of(run.judged)))
    return ["TABLE 2: from dialogue (tfd) and from dialogue history (edh)", *aligned(rows), ""]


def _variants(runs: Sequence[Run], named: Named) -> list[str]:
    rows: list[tuple[str, ...]] = [("VARIANT", "", "SR", "GC", "DROP", "N")]
    paper_full = VARIANTS[ROWS[0].label][0][0]
    full = next((run for run in runs if is_beside(run, ROWS[0].key, ROWS[0].fits, named)), None)
    for row in ROWS:
        paper = ("-", "-", "-")
        if row.label in VARIANTS:
            success, goals = VARIANTS[row.label]
            drop = _percent(relative_drop(paper_full, success[0]))
            paper = (_printed(success), _printed(goals), drop)
        rows.append((row.label, "paper", *paper, ""))
        rows += [
            _variant_words(run, full) for run in runs if is_beside(run, row.key, row.fits, named)
        ]
    return ["TABLE 2, variants: from dialogue, unseen", *aligned(rows), ""]


def _variant_words(run: Run, full: Run | None) -> tuple[str, ...]:
    own = _of_group(run, GROUPS[0])
    all_of_it = _value(_of_group(full, GROUPS[0]), "success") if full is not None else None
    here = _value(own, "success")
    drop = _percent(relative_drop(all_of_it, here)) if all_of_it and here is not None else "-"
    return ("", run.name, *_ours(own), drop, tasks_of(own))


def _personal(runs: Sequence[Run]) -> list[str]:
    rows: list[tuple[str, ...]] = [("CHANGES", "", *map(str, CHANGES), "N")]
    rows.append(("HELPER, plans", "paper", *(f"{value:.0f}" for value in CHANGES.values()), ""))
    for run in runs:
        parts = [[row for row in run.judged if _changes(row) == n] for n in CHANGES]
        numbers = (_number(_value(part, "success")) for part in parts)
        total = str(sum(len(part) for part in parts))
        rows.append((f"{run.settings.planner}, carried out", run.name, *numbers, total))
        rows += _plans(run, parts)
    return ["TABLE 3: personal routines by the number of changes", *aligned(rows), ""]


def _plans(run: Run, parts: Sequence[Sequence[Row]]) -> list[tuple[str, ...]]:
    """The share of right plans, where rows have the one program that was written (HELPER-D85)."""
    right = [[found for row in part if (found := plan_is_right(row)) is not None] for part in parts]
    if not any(right):
        return []
    shares = (_number(sum(part) / len(part) if part else None) for part in right)
    total = str(sum(map(len, right)))
    return [(f"{run.settings.planner}, plans", run.name, *shares, total)]


def plan_is_right(row: Row) -> bool | None:
    """Whether the program of a request is what was asked for; None if there is not exactly one."""
    changes, name = _changes(row), row.episode_id.partition("_changes_")[0]
    routine = _routines().get(name)
    if changes is None or routine is None or row.evidence.get("programs") != "1":
        return None
    try:
        program = parse_program(row.evidence.get("program", ""))
    except ProgramError:
        return False
    return score_plan(program, routine.wanted(changes)).is_right


@cache
def _routines() -> Mapping[str, Routine]:
    return {routine.name: routine for routine in read_routines(routine_file())}


def _other_split() -> list[str]:
    head = ("METHOD", "", *(f"{part} {what}" for part in SPLITS for what in ("SR", "GC")))
    rows: list[tuple[str, ...]] = [head]
    rows += [(name, "paper", *map(_printed, values)) for name, values in OTHER_SPLIT.items()]
    return ["TABLE 4: edh on an alternative split, which ours lack", *aligned(rows), ""]


def _group(row: Row) -> str | None:
    """The group of an episode of the suite `teach`; None for any other."""
    setting = row.episode_id.partition("_")[0]
    if setting not in set(Setting):
        return None
    return f"{setting} {'unseen' if row.house.startswith(_UNSEEN_HOUSES) else 'seen'}"


def _of_group(run: Run, group: str) -> list[Row]:
    return [row for row in run.judged if _group(row) == group]


def _changes(row: Row) -> int | None:
    """The number of changes of a request of the suite `routines`; None for any other episode."""
    _, sign, number = row.episode_id.rpartition("_changes_")
    return int(number) if sign and number.isdigit() else None


def _value(rows: Sequence[Row], metric: str) -> float | None:
    return estimated(metrics()[metric], rows).estimate.value if rows else None


def _ours(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(f"{_number(_value(rows, a))} ({_number(_value(rows, b))})" for a, b in _METRICS)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _printed(pair: Pair) -> str:
    return f"{pair[0]:.2f} ({pair[1]:.2f})"


def _behind(run: Run) -> str:
    who = run.settings.answered_by
    also = [] if who is AnsweredBy.NOBODY else [f"answered by {who}"]
    return settings_words(run, also, memory_options=True)


TABLES = PaperTables("HELPER's, from dialogues and of routines", row_keys, table_lines)
