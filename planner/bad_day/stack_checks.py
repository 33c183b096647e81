"""Checks of a run of a whole stack."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bad_day.faults import Event, Fault, Schedule
from planner.bad_day.permission import (
    ARM_LIMIT_S,
    LIMIT_S,
    SLACK_S,
    UNREACHABLE,
    Motion,
    Request,
    Revocation,
    cut_off_s,
    joined,
)
from planner.bad_day.trial import Check, Outcome, Violation
from planner.command_line import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from planner.replay.bag import Bag, read_bag
from planner.replay.judging import check_bag, recordings
from planner.replay.storage import SequenceGaps
from planner.world.errors import PlannerError

# Simulated seconds: the watcher's clock is the stamp of the last state it received.
_STATE_DELAY_S = 0.3
_VERDICT = "verdict: "
# Lines of the supervisor about a process that died, and of a call that failed of the link.
_DIED = re.compile(r"^\[planner *\] (\w+) died, ([^;]+);", re.MULTILINE)
_SEEN = re.compile(r"\w+ failed \w+\[.*: (?:NOT_ALLOWED|BACKEND_FAULT): .*")


@dataclass(frozen=True, slots=True)
class StackEvidence:
    """The records of a run; `moving` and `revocations` are in simulated time."""

    schedule: Schedule
    status: int | None
    interrupted: bool
    log: str
    record: Path
    revocations: Sequence[Revocation]
    moving: Mapping[str, Sequence[Motion]] | None
    robot: Sequence[Motion] | None
    robot_revocations: Sequence[Revocation]
    round_trip_s: float
    # Simulated seconds per second; None for as fast as possible.
    pace: float | None
    requests: Sequence[Request]
    began_s: float
    cleared_s: float
    ended_s: float
    seconds: float
    # Whether the task's goal holds in the emulated world.
    goal_holds: bool = False


def judge_stack(seen: StackEvidence) -> Outcome:
    """The outcome of a run."""
    checked = {Check.ENDS, Check.ALIVE, Check.BAG, Check.SAID, Check.MEMORY, Check.OUTCOMES}
    violations = [*_ends(seen), *_alive(seen), *_outcomes(seen), *_bags(seen), *_memory(seen)]
    if seen.schedule.survives is not None:
        checked.add(Check.TASK)
        violations += _task(seen)
    moved = 0
    if seen.robot is not None:
        checked.add(Check.MOTION)
        moved = len(seen.robot)
        limit_s = LIMIT_S + SLACK_S + seen.round_trip_s / 2
        revocations = [*seen.revocations, *seen.robot_revocations]
        violations += _motion(_motions_without_second_client(seen, limit_s), revocations, limit_s)
    elif seen.pace is not None and seen.moving is not None:
        # As fast as possible, simulated time does not measure how long a motion lasts.
        checked.add(Check.MOTION)
        # Goals of a second client are only known in wall-clock time.
        revocations = [] if _events(seen, Fault.SECOND_CLIENT) else list(seen.revocations)
        for steps in seen.moving.values():
            moved += len(steps)
            violations += _motion(
                steps, revocations, (LIMIT_S + SLACK_S) * seen.pace + _STATE_DELAY_S
            )
    if _VERDICT in seen.log and not _is_incomplete(seen):
        checked.add(Check.VERDICT)
        violations += _verdict(seen)
    return Outcome(
        seen.schedule.form,
        seen.schedule.seed,
        frozenset(checked),
        tuple(violations),
        requests=len(seen.requests) + seen.log.count(" begins "),
        motions=moved,
        seconds=seen.seconds,
        survives=str(seen.schedule.survives or ""),
    )


def _events(seen: StackEvidence, *kinds: Fault) -> list[Event]:
    return [event for event in seen.schedule.events if event.fault in kinds]


def _is_incomplete(seen: StackEvidence) -> bool:
    """Whether the recording is in two bags, of which neither has the whole run."""
    return any(event.name == "recorder" for event in _events(seen, Fault.KILL))


def _motions_without_second_client(seen: StackEvidence, limit_s: float) -> list[Motion]:
    """The robot's motions except those for a second client, which has no faults."""
    spans = [
        (one.sent_s, (one.ended_s or seen.ended_s) + limit_s)
        for one in seen.requests
        if one.kind == "goal"
    ]
    return [
        step
        for step in seen.robot or ()
        if not any(begin_s <= step.begins_s <= end_s for begin_s, end_s in spans)
    ]


def _motion(
    steps: Sequence[Motion], revocations: Sequence[Revocation], limit_s: float
) -> list[Violation]:
    found = []
    for revocation in revocations:
        late = [
            step
            for step in steps
            if revocation.begins_s + _limit_s(step, revocation, revocations, limit_s) < step.ends_s
            and step.begins_s < revocation.ends_s
        ]
        for motion in joined(late)[:1]:
            after_s = motion.ends_s - revocation.begins_s
            text = f"motion {after_s:.2f} s after: {revocation.cause}, {motion.metres:.2f} m"
            found.append(Violation(Check.MOTION, text))
    return found


def _limit_s(
    step: Motion, revocation: Revocation, revocations: Sequence[Revocation], limit_s: float
) -> float:
    if step.base:
        return limit_s
    if revocation.cause in UNREACHABLE:
        return max(limit_s, ARM_LIMIT_S)
    at_s = cut_off_s(revocation, revocations, limit_s)
    return limit_s if at_s is None else at_s - revocation.begins_s + ARM_LIMIT_S


def _ends(seen: StackEvidence) -> list[Violation]:
    found = []
    if seen.status is None:
        found.append(Violation(Check.ENDS, "the stack did not end on request"))
    elif seen.status not in (EXIT_OK, EXIT_FAILED, EXIT_INTERRUPTED):
        found.append(Violation(Check.ENDS, f"the stack ended with status {seen.status}"))
    if "giving up" in seen.log:
        line = next(line for line in seen.log.splitlines() if "giving up" in line)
        found.append(Violation(Check.ENDS, line[:160]))
    if "Traceback" in seen.log:
        lines = seen.log[seen.log.index("Traceback") :].splitlines()
        last = next((line for line in lines if "Error" in line.partition("] ")[2][:60]), lines[0])
        found.append(Violation(Check.ENDS, last[:200]))
    return found


def _alive(seen: StackEvidence) -> list[Violation]:
    """Processes that ended by themselves; what was killed may take another one with it later."""
    killed = {event.name for event in _events(seen, Fault.KILL)}
    return [
        Violation(Check.ALIVE, f"{name} died, {how}")
        for name, how in _DIED.findall(seen.log)
        if name not in killed
    ]


def _task(seen: StackEvidence) -> list[Violation]:
    """That a task which has to survive its outage succeeded, and that its planner saw none."""
    found = [] if seen.goal_holds else ["the task did not succeed"]
    found += [f"its planner saw the outage: {line[:160]}" for line in _SEEN.findall(seen.log)]
    return [Violation(Check.TASK, text) for text in found]


def _outcomes(seen: StackEvidence) -> list[Violation]:
    found = []
    if not seen.interrupted and _VERDICT not in seen.log:
        last = seen.log.strip().splitlines()[-1:]
        found.append(Violation(Check.OUTCOMES, f"it ended without a verdict: {last}"))
    died = bool(_events(seen, Fault.KILL))
    for one in seen.requests:
        if one.ended_s is None and one.kind == "service" and not died:
            text = f"{one.client}: {one.name} has no answer after {seen.ended_s - one.sent_s:.0f} s"
            found.append(Violation(Check.OUTCOMES, text))
    return found


def _bags(seen: StackEvidence) -> list[Violation]:
    try:
        bags = [path for path in recordings(seen.record) if path.is_dir()]
    except PlannerError as error:
        return [Violation(Check.BAG, f"no bag found: {error}")]
    found = []
    for bag in bags:
        try:
            found += _unsaid(seen, Bag(bag))
            any(False for _ in read_bag(bag))
        except PlannerError as error:
            found.append(Violation(Check.BAG, f"{bag.name} cannot be read: {error}"))
    return found


def _unsaid(seen: StackEvidence, bag: Bag) -> list[Violation]:
    """What a bag lacks by the numbers of its messages, without saying so; and losses too many."""
    found = []
    for topic in bag.topics:
        jumps = SequenceGaps(topic)
        gaps = [jumps.take(sequence, at_ns) for at_ns, sequence, _ in bag.numbered(topic)]
        lost = sum(gap.missing for gap in gaps if gap is not None)
        said = sum(gap.missing for gap in bag.recorded_gaps(topic))
        if lost > said:
            text = f"{bag.folder.name} lacks {lost} messages of {topic} and says {said}"
            found.append(Violation(Check.SAID, text))
        unwritten = sum(gap.missing for gap in bag.recorded_gaps(topic) if gap.cause)
        if unwritten and not _events(seen, Fault.FULL_DISK):
            text = f"{bag.folder.name}: {unwritten} messages of {topic} not written to a free disk"
            found.append(Violation(Check.SAID, text))
    return found


def _memory(seen: StackEvidence) -> list[Violation]:
    found = []
    for store in (seen.record / "memory").glob("*.sqlite"):
        try:
            with sqlite3.connect(store) as database:
                said = database.execute("PRAGMA integrity_check").fetchone()
        except sqlite3.Error as error:
            said = (str(error),)
        if said != ("ok",):
            found.append(Violation(Check.MEMORY, f"{store.name}: {said[0]}"))
    return found


def _verdict(seen: StackEvidence) -> list[Violation]:
    found = check_bag(seen.record)
    frozen = any(event.name == "recorder" for event in _events(seen, Fault.FREEZE))
    lossy = frozen or bool(_events(seen, Fault.FULL_DISK))
    if found.agrees or (lossy and found.judged is not None and not found.judged.final):
        # What a frozen recorder did not get, or could not keep until there was space, is lost, and
        # the bag says so.
        return []
    return [Violation(Check.VERDICT, f"bag verdict: {found.text}")]
