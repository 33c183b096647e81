"""`planner bad-day`: runs under random fault schedules, with checks after each."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from planner.bad_day.faults import Fault, Schedule
from planner.bad_day.schedule import FORMS, OUTAGES, make_schedule, outage_form, outage_schedule
from planner.bad_day.trial import Outcome, line, repeat_command, table
from planner.command_line import EXIT_FAILED, EXIT_OK, terminated_as_interrupted
from planner.environment import ros_environment
from planner.world.errors import PlannerError

DEFAULT_RUNS = 30
# They take a minute each.
DEFAULT_STACKS = 30
_EVERY = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--runs", type=int, default=DEFAULT_RUNS, help="how many interleavings")
    parser.add_argument("--seed", type=int, default=1, help="of the first")
    parser.add_argument(
        "--task",
        default="mix",
        choices=["mix", *FORMS.names()],
        help="what the faults are injected into; mix = bridge runs with whole stacks among them",
    )
    parser.add_argument(
        "--stacks",
        type=int,
        default=DEFAULT_STACKS,
        help="maximum number of whole stacks in a mix; every tenth run is one",
    )
    parser.add_argument(
        "--jobs", type=int, default=3, help="how many bridge runs to execute in parallel"
    )
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="repeat runs with violations once, alone; only those that fail again count",
    )
    parser.add_argument("--keep", type=Path, help="folder that keeps logs and bags of every run")
    parser.add_argument("-o", "--output", type=Path, help="file for the outcomes, JSON lines")
    parser.add_argument(
        "--outage",
        choices=[str(fault) for fault in OUTAGES],
        help="instead of a schedule one stall of the link (3 s) or freeze of the bridge (2 s) in a "
        "task on an emulated robot, which has to succeed all the same",
    )
    parser.add_argument("--list", action="store_true", help="print the schedules and run nothing")
    parser.add_argument(
        "--hostile",
        type=int,
        default=0,
        metavar="N",
        help="instead of faults, send N hostile inputs to a whole stack, drawn from --seed",
    )


def run(args: argparse.Namespace) -> int:
    """Run all and print the table; 0 if every run took place and none had a violation."""
    with terminated_as_interrupted():
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    if args.hostile:
        return _attack(args.hostile, args.seed, args.keep)
    outage = None if args.outage is None else Fault(args.outage)
    if outage is not None:
        survivor = outage_form()
        if args.task not in ("mix", survivor):
            raise PlannerError(f"--outage is of --task {survivor}, not of {args.task}")
        args.task = survivor
    schedules = [_schedule(form, seed, outage) for form, seed in chosen(args)]
    if args.list:
        for schedule in schedules:
            print(f"{schedule.form} {schedule.seed}: " + "; ".join(map(str, schedule.events)))
        return EXIT_OK
    _check_installed(args.task)
    # Must happen before ROS is loaded.
    os.environ.update(ros_environment(os.environ))
    done: list[Outcome] = []
    for outcome in _run_all(schedules, args.jobs, args.keep):
        done.append(outcome)
        print(line(outcome, len(done), len(schedules)), flush=True)
        for violation in outcome.violations:
            print(
                f"    {violation.check}: {violation.text}\n    again: {repeat_command(outcome)}",
                flush=True,
            )
        if args.output is not None:
            _keep(args.output, outcome)
    print("\n".join(table(done)), flush=True)
    bad = [each for each in done if each.violations or each.trouble]
    if args.confirm:
        bad = _confirmed(bad, args.keep, outage)
    return EXIT_FAILED if bad else EXIT_OK


def _check_installed(task: str) -> None:
    """Says which runs a mix lacks for want of software.

    Raises:
        PlannerError: if all runs need it.
    """
    for name, part in FORMS.usable().items():
        if part.is_installed():
            continue
        if task == name:
            raise PlannerError(f"{task} needs {part.needs}")
        if task == "mix" and part.left_out:
            print(part.left_out, flush=True)


def _attack(inputs: int, seed: int, keep: Path | None) -> int:
    """Sends hostile inputs and prints what came of them; 0 if nothing was violated."""
    os.environ.update(ros_environment(os.environ))
    # Needs ROS.
    from planner.bad_day.hostile_trial import attack

    found = attack(inputs, seed, None if keep is None else keep / f"hostile_{seed}")
    kinds = Counter(name.partition(" ")[0] for name in found.counts.elements())
    sent = ", ".join(f"{count} of kind {kind}" for kind, count in kinds.most_common())
    print(f"{found.inputs} inputs in {found.seconds:.0f} s to {len(found.counts)} ends: {sent}")
    print(f"nodes: {', '.join(found.nodes)}; errors in their logs: {len(found.failures)}")
    for violation in found.violations:
        print(f"    {violation}\n    again: planner bad-day --hostile {inputs} --seed {seed}")
    print(f"violations: {len(found.violations)}", flush=True)
    return EXIT_FAILED if found.violations else EXIT_OK


def _schedule(form: str, seed: int, outage: Fault | None) -> Schedule:
    return make_schedule(form, seed) if outage is None else outage_schedule(seed, outage)


def _confirmed(bad: list[Outcome], keep: Path | None, outage: Fault | None) -> list[Outcome]:
    """Runs that fail again when repeated alone: on a busy machine the load may be the cause."""
    found = []
    for each in bad:
        again_keep = None if keep is None else keep / "again"
        for outcome in _run_all([_schedule(each.form, each.seed, outage)], 1, again_keep):
            fails = bool(outcome.violations or outcome.trouble)
            what = "failed again" if fails else "no violation"
            print(f"{each.form} {each.seed}, repeated: {what}", flush=True)
            if fails:
                found.append(outcome)
    return found


def chosen(args: argparse.Namespace) -> list[tuple[str, int]]:
    """Forms and seeds of a series; in a mix every tenth is a whole stack, of each kind in turn."""
    seeds = range(args.seed, args.seed + args.runs)
    if args.task != "mix":
        return [(args.task, seed) for seed in seeds]
    places = {
        name: (part.place_in_mix, part.in_parallel)
        for name, part in FORMS.usable().items()
        if part.place_in_mix is not None and part.is_installed()
    }
    ordered = sorted(places, key=places.__getitem__)
    small = next(name for name in ordered if FORMS.get(name).in_parallel)
    kinds = [name for name in ordered if not FORMS.get(name).in_parallel]
    stacks = {
        seeds[index]: kinds[number % len(kinds)]
        for number, index in enumerate(range(_EVERY - 1, args.runs, _EVERY))
        if number < args.stacks
    }
    return [(stacks.get(seed, small), seed) for seed in seeds]


def _run_all(schedules: list[Schedule], jobs: int, keep: Path | None) -> Iterator[Outcome]:
    """Runs whole stacks one at a time, in parallel with bridge runs."""
    from planner.bad_day.trial import run_trial

    def go(schedule: Schedule) -> Outcome:
        return run_trial(schedule, keep and keep / f"{schedule.form}_{schedule.seed}")

    with ThreadPoolExecutor(max(1, jobs)) as small, ThreadPoolExecutor(1) as whole:
        waiting = [
            (small if FORMS.get(schedule.form).in_parallel else whole).submit(go, schedule)
            for schedule in schedules
        ]
        try:
            for done in as_completed(waiting):
                yield done.result()
        except BaseException:
            for each in waiting:
                each.cancel()
            raise


def _keep(path: Path, outcome: Outcome) -> None:
    record = {**asdict(outcome), "checked": sorted(outcome.checked)}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
