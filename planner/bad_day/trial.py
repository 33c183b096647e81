"""One run in processes of its own, its outcome, and the summary table of all runs."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.bad_day.faults import Schedule
from planner.bad_day.permission import Revocation
from planner.bad_day.processes import (
    LEFTOVER_SEGMENTS,
    CpuLoad,
    Spawner,
    reserve_domain,
    serve_spawner,
)
from planner.bad_day.schedule import FORMS
from planner.network import free_shared_memory
from planner.world.errors import PlannerError

if TYPE_CHECKING:
    # Needs ROS.
    from planner.bad_day.harness import RobotHarness

# The outcome of one run.


class Check(StrEnum):
    """Checks of a run."""

    MOTION = "motion"  # no motion outside of its permission and time limit
    OUTCOMES = "outcomes"  # an outcome for every request
    BAG = "bag"  # the bag reads
    SAID = "said"  # a bag says what it lacks, and lacks nothing for want of a full disk
    MEMORY = "memory"  # the memory's store opens and is whole
    VERDICT = "verdict"  # the bag gives the live verdict
    ENDS = "ends"  # every process ends on request and leaves the robot at rest
    ALIVE = "alive"  # no process ends before it is asked to, unless the harness kills it
    EFFECT = "effect"  # no call is answered with success whose effect did not come
    TASK = "task"  # the task succeeds, with no call that failed because of the outage


@dataclass(frozen=True, slots=True)
class Violation:
    """One failed check."""

    check: Check
    text: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run: which checks were made, and which failed.

    `trouble` says why nothing could be checked when the harness itself failed: neither a violation
    nor a clean run. `figures` has the maximum of each measurement by its name.
    """

    form: str
    seed: int
    checked: frozenset[Check]
    violations: tuple[Violation, ...] = ()
    trouble: str = ""
    # Faults of the schedule that cannot be injected on this machine, and why.
    left_out: str = ""
    requests: int = 0
    motions: int = 0
    seconds: float = 0.0
    # The outage that its task had to survive.
    survives: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)


# The base of bridge trials and stack trials.


@dataclass(frozen=True, slots=True)
class Assignment:
    """One schedule and where it runs.

    Attributes:
        schedule: the faults.
        spawner: starts the processes.
        folder: for logs and bags.
        domain: the ROS domain, reserved for this trial.
        safety: overrides of the harness's safety rules, in the form of config/safety.yaml.
    """

    schedule: Schedule
    spawner: Spawner
    folder: Path
    domain: int
    safety: Mapping[str, Any]


class BaseTrial:
    """A run of one schedule."""

    def __init__(self, assignment: Assignment) -> None:
        """Prepares the run without starting it."""
        self.schedule, self._spawner = assignment.schedule, assignment.spawner
        self._folder, self._domain, self._safety = (
            assignment.folder,
            assignment.domain,
            assignment.safety,
        )
        self._form = FORMS.get(self.schedule.form)
        self._busy = CpuLoad()
        self._revocations: list[Revocation] = []

    def _robot(self) -> RobotHarness:
        """The robot under test.

        Raises:
            PlannerError: if the form has none.
        """
        if self._form.load is None:
            raise PlannerError(f"{self.schedule.form} has no robot of its own")
        return self._form.load()(self.schedule, self._folder, self._safety, self._domain)


# The summary table: runs by form, checks made, checks failed.


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
    for form, part in FORMS.usable().items():
        outcomes = [each for each in done if each.form == form]
        if outcomes:
            lines.append(_row(form, part.summary, outcomes))
    lines.append(_row("all", "", done))
    names = sorted({name for each in done for name in each.figures})
    if names:
        lines += ["", f"{'longest':<40} {'all':>8}  {'95 %':>8}"]
    for name in names:
        values = sorted(each.figures[name] for each in done if name in each.figures)
        tail_s = values[min(len(values) - 1, round(0.95 * (len(values) - 1)))]
        lines.append(f"{name:<40} {values[-1]:>8.2f}  {tail_s:>8.2f}")
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


# After this time the harness itself is considered stuck.
TRIAL_TIMEOUT_S = 300.0
_SEGMENTS = "segments.txt"
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["planner.bad_day.preload"])


def run_trial(
    schedule: Schedule, keep: Path | None = None, safety: Mapping[str, Any] | None = None
) -> Outcome:
    """Runs one schedule; a failure of the harness is an outcome with `trouble`.

    Args:
        schedule: the faults.
        keep: folder for logs and bags of this run; None keeps nothing.
        safety: overrides of the safety rules, to test that the harness finds what a weaker rule
            no longer prevents.
    """
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_spawn, args=(schedule, keep, safety or {}, there))
    process.start()
    there.close()
    try:
        if here.poll(TRIAL_TIMEOUT_S):
            found = here.recv()
            assert isinstance(found, Outcome)  # noqa: S101 - of our own process
            return found
        return _trouble(schedule, f"no outcome after {TRIAL_TIMEOUT_S:.0f} s")
    except EOFError:
        return _trouble(schedule, "the run's own process died")
    finally:
        process.join(10.0)
        if process.exitcode is None:
            process.kill()
            process.join()


def _trouble(schedule: Schedule, text: str) -> Outcome:
    return Outcome(schedule.form, schedule.seed, frozenset(), trouble=text)


def _spawn(
    schedule: Schedule, keep: Path | None, safety: Mapping[str, Any], answer: Connection
) -> None:
    """Runs in the single-threaded process: starts the trial and serves its spawner."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    folder = Path(tempfile.mkdtemp(prefix="bad-day-")) if keep is None else keep
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with reserve_domain() as domain:
            os.environ["ROS_DOMAIN_ID"] = str(domain)
            words = (schedule, there, here, folder, domain, safety, answer)
            child = context.Process(target=_try, args=words)
            child.start()
            there.close()
            serve_spawner(here, child)
            child.join()
    finally:
        left = folder / _SEGMENTS
        if left.exists():
            free_shared_memory(Path(line) for line in left.read_text("utf-8").split())
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _try(
    schedule: Schedule,
    connection: Connection,
    others: Connection,
    folder: Path,
    domain: int,
    safety: Mapping[str, Any],
    answer: Connection,
) -> None:
    others.close()
    try:
        outcome = _run(Assignment(schedule, Spawner(connection), folder, domain, safety))
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        outcome = _trouble(schedule, text)
    (folder / _SEGMENTS).write_text("".join(f"{path}\n" for path in LEFTOVER_SEGMENTS), "utf-8")
    answer.send(outcome)
    # Do not wait for threads of gRPC and ROS.
    answer.close()
    os._exit(0)


def _run(assignment: Assignment) -> Outcome:
    from planner.bad_day.bridge_trial import BridgeTrial
    from planner.bad_day.stack_trial import StackTrial

    task = FORMS.get(assignment.schedule.form).task
    kind = BridgeTrial if task is None else StackTrial
    return kind(assignment).run()
