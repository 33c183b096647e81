"""One run in processes of its own, so that it cannot affect the next one."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from planner.bad_day.base_trial import Assignment
from planner.bad_day.domains import reserve_domain
from planner.bad_day.outcome import Outcome
from planner.bad_day.processes import LEFTOVER_SEGMENTS, Spawner, serve_spawner
from planner.bad_day.schedule import CLIENT_FORMS, Schedule
from planner.bad_day.shared_memory import unlink_unused

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
            unlink_unused(Path(line) for line in left.read_text("utf-8").split())
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

    kind = BridgeTrial if assignment.schedule.form in CLIENT_FORMS else StackTrial
    return kind(assignment).run()
