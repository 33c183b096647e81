"""One interleaving in processes of its own, so that nothing of it reaches the next one."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

from planner.bench.bad_day.domains import own_domain
from planner.bench.bad_day.outcome import Outcome
from planner.bench.bad_day.processes import Spawner, serve_spawner
from planner.bench.bad_day.schedule import Form, Schedule

# After so long the harness itself is stuck.
LONGEST_S = 300.0
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["planner.bench.bad_day.preload"])


def run_trial(schedule: Schedule, keep: Path | None = None) -> Outcome:
    """Runs one schedule; what cannot be run is an outcome with a trouble.

    Args:
        schedule: what goes wrong.
        keep: folder for logs and bags of this run; None keeps nothing.
    """
    here, there = _CONTEXT.Pipe()
    process = _CONTEXT.Process(target=_spawn, args=(schedule, keep, there))
    process.start()
    there.close()
    try:
        if here.poll(LONGEST_S):
            found = here.recv()
            assert isinstance(found, Outcome)  # noqa: S101 - of our own process
            return found
        return _trouble(schedule, f"no outcome after {LONGEST_S:.0f} s")
    except EOFError:
        return _trouble(schedule, "the run's own process died")
    finally:
        process.join(10.0)
        if process.exitcode is None:
            process.kill()
            process.join()


def _trouble(schedule: Schedule, text: str) -> Outcome:
    return Outcome(schedule.form, schedule.seed, frozenset(), trouble=text)


def _spawn(schedule: Schedule, keep: Path | None, answer: Connection) -> None:
    """Of the process without threads: starts the trial and serves it."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    folder = Path(tempfile.mkdtemp(prefix="bad-day-")) if keep is None else keep
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with own_domain() as domain:
            os.environ["ROS_DOMAIN_ID"] = str(domain)
            words = (schedule, there, here, folder, domain, answer)
            child = context.Process(target=_try, args=words)
            child.start()
            there.close()
            serve_spawner(here, child)
            child.join()
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)


def _try(
    schedule: Schedule,
    connection: Connection,
    others: Connection,
    folder: Path,
    domain: int,
    answer: Connection,
) -> None:
    others.close()
    try:
        outcome = _runner(schedule.form)(schedule, Spawner(connection), folder, domain)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        text = f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
        outcome = _trouble(schedule, text)
    answer.send(outcome)
    # Threads of gRPC and of ROS are not waited for.
    answer.close()
    os._exit(0)


def _runner(form: Form) -> Callable[[Schedule, Spawner, Path, int], Outcome]:
    from planner.bench.bad_day.bridge_trial import BridgeTrial
    from planner.bench.bad_day.stack_trial import StackTrial

    kind = BridgeTrial if form is Form.BRIDGE else StackTrial
    return lambda *words: kind(*words).run()
