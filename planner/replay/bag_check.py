"""Compares the live verdict of a run with the verdict of its own bag."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planner.replay.judging import Judged, judge, recordings
from planner.replay.runs import Request
from planner.world.errors import PlannerError


@dataclass(frozen=True, slots=True)
class BagCheck:
    """The result of evaluating a run's bag.

    Attributes:
        agrees: whether the bag's verdict is final and equals the live one, step by step.
        text: the bag's verdict and any differences, for people.
        judged: the verdict; None if there is none.
    """

    agrees: bool
    text: str
    judged: Judged | None = None

    def say_lacks(self) -> None:
        """Prints what is missing in the bag: said before a verdict of it is."""
        for line in self.judged.lacks if self.judged is not None else ():
            print(f"missing in the bag: {line}", flush=True)


def check_bag(folder: Path, request: Request | None = None) -> BagCheck:
    """Evaluates the only bag of a run.

    Args:
        folder: of the run; a recorder that died leaves more than one bag in it.
        request: how to evaluate; default: as `planner evaluate` does.
    """
    try:
        bags = [path for path in recordings(folder) if path.is_dir()]
        if len(bags) != 1:
            names = ", ".join(path.name for path in bags)
            raise PlannerError(
                f"the recorder was restarted, the run is in {len(bags)} bags: {names}"
            )
        (found,) = judge(bags[0], request or Request())
    except PlannerError as error:
        return BagCheck(False, f"none: {error}")
    if not isinstance(found, Judged):
        return BagCheck(False, f"none: {found}")
    word = "success" if found.verdict.success else "failure"
    if found.agrees and found.final:
        return BagCheck(True, word, found)
    why = [] if found.final else [_lack(found)]
    why += [] if found.agrees else [_difference(found)]
    return BagCheck(False, ", ".join((word, *why)), found)


def _lack(judged: Judged) -> str:
    missing = sum(gap.missing for gap in judged.gaps)
    return f"NOT FINAL: {missing} states missing" if missing else "NOT FINAL: its end is missing"


def _difference(judged: Judged) -> str:
    live, now = judged.live, judged.verdict
    if live is None:
        return "and the bag has no live verdict"
    if live.mode != now.mode:
        return f"by the rules {now.mode}, the live one by {live.mode}"
    if (live.success, live.sim_steps) == (now.success, now.sim_steps):
        first = [-1 if p.first_step is None else p.first_step for p in now.propositions]
        pairs = zip(live.propositions, first, strict=False)
        differ = [
            f"part {number} at step {step}, live {recorded[1]}"
            for number, (recorded, step) in enumerate(pairs)
            if recorded[1] != step
        ]
        if differ:
            return f"DIFFERENT from live: {', '.join(differ)}"
    return (
        f"DIFFERENT from live: {now.percent_complete:.2f} complete after {now.sim_steps} steps, "
        f"live {live.percent_complete:.2f} after {live.sim_steps}"
    )
