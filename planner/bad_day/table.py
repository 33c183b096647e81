"""The summary table: runs by form, checks made, checks failed."""

from __future__ import annotations

from collections.abc import Sequence

from planner.bad_day.outcome import Check, Outcome
from planner.bad_day.schedule import Form

# How each form is run, for the table.
KINDS = {
    Form.BRIDGE: "bridge node, real time",
    Form.SIM: "bridge node, simulator",
    Form.DEMO: "whole stack",
    Form.TEAM: "whole stack, 2 agents",
    Form.SPOT: "whole stack, real time",
    Form.ROS: "bridge node, Nav2, MoveIt",
}


def line(outcome: Outcome, number: int, of: int) -> str:
    """One run."""
    word = "ok"
    if outcome.trouble:
        word = f"NOT RUN: {outcome.trouble}"
    elif outcome.violations:
        word = f"{len(outcome.violations)} VIOLATIONS"
    if outcome.left_out:
        word += f"  (without {outcome.left_out})"
    return (
        f"{number:>5}/{of} {outcome.form:<7} seed {outcome.seed:<5} {outcome.requests:>3} requests "
        f"{outcome.seconds:>5.1f} s  {word}"
    )


def repeat_command(outcome: Outcome) -> str:
    """The command that repeats a run."""
    outage = f" ARGS='--outage {outcome.survives}'" if outcome.survives else ""
    return f"make bad-day TASK={outcome.form} SEED={outcome.seed} RUNS=1{outage}"


def table(done: Sequence[Outcome]) -> list[str]:
    """All runs by form, the failures of each check, and the longest times."""
    lines = ["", f"{'form':<8} {'how':<24} {'runs':>5} {'not run':>8} " + _header()]
    for form in Form:
        outcomes = [each for each in done if each.form == form]
        if outcomes:
            lines.append(_row(form, KINDS[form], outcomes))
    lines.append(_row("all", "", done))
    names = sorted({name for each in done for name in each.figures})
    if names:
        lines += ["", f"{'longest':<40} {'all':>8}  {'95 %':>8}"]
    for name in names:
        values = sorted(each.figures[name] for each in done if name in each.figures)
        part = values[min(len(values) - 1, round(0.95 * (len(values) - 1)))]
        lines.append(f"{name:<40} {values[-1]:>8.2f}  {part:>8.2f}")
    bad = [each for each in done if each.violations]
    lines += ["", f"interleavings with a violation: {len(bad)} of {len(done)}"]
    lines += [f"  {repeat_command(each)}    # {each.violations[0].text}" for each in bad]
    return lines


def _header() -> str:
    return " ".join(f"{check:>10}" for check in Check) + "   (violated/checked)"


def _row(name: str, how: str, outcomes: Sequence[Outcome]) -> str:
    cells = []
    for check in Check:
        checked = sum(check in each.checked for each in outcomes)
        failed = sum(any(v.check is check for v in each.violations) for each in outcomes)
        cells.append(f"{f'{failed}/{checked}' if checked else '-':>10}")
    troubled = sum(bool(each.trouble) for each in outcomes)
    return f"{name:<8} {how:<24} {len(outcomes):>5} {troubled:>8} " + " ".join(cells)
