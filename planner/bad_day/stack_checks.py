"""What must hold after a run of a whole stack."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.bad_day.motion import Motion, joined
from planner.bad_day.outcome import Check, Outcome, Violation
from planner.bad_day.permission import ARM_LIMIT_S, LIMIT_S, SLACK_S, UNREACHABLE, Silence
from planner.bad_day.records import Asked
from planner.bad_day.schedule import Event, Fault, Schedule
from planner.exit_status import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK
from planner.replay.bag import read_bag
from planner.replay.bag_check import check_bag
from planner.replay.judging import recordings
from planner.world.errors import PlannerError

# Of simulated time: the watcher's clock is that of the last state that it has heard.
_HEARD_S = 0.3
_VERDICT = "verdict: "


@dataclass(frozen=True, slots=True)
class StackEvidence:
    """What is known of a run; `moving` and its silences are by the simulator's clock."""

    schedule: Schedule
    status: int | None
    interrupted: bool
    log: str
    record: Path
    silences: Sequence[Silence]
    moving: Mapping[str, Sequence[Motion]] | None
    robot: Sequence[Motion] | None
    robot_silences: Sequence[Silence]
    round_trip_s: float
    # Simulated seconds in one; None where time goes as fast as it can.
    pace: float | None
    asked: Sequence[Asked]
    began_s: float
    mended_s: float
    ended_s: float
    seconds: float


def judge_stack(seen: StackEvidence) -> Outcome:
    """The outcome of a run."""
    checked = {Check.ENDS, Check.BAG, Check.MEMORY, Check.OUTCOMES}
    violations = [*_ends(seen), *_outcomes(seen), *_bags(seen), *_memory(seen)]
    moved = 0
    if seen.robot is not None:
        checked.add(Check.MOTION)
        moved = len(seen.robot)
        limit_s = LIMIT_S + SLACK_S + seen.round_trip_s / 2
        silences = [*seen.silences, *seen.robot_silences]
        violations += _motion(_of_nobody_else(seen, limit_s), silences, limit_s)
    elif seen.pace is not None and seen.moving is not None:
        # As fast as it can time is no measure of how long a motion goes on.
        checked.add(Check.MOTION)
        # The goals of a second client are known by the time of day alone.
        silences = [] if _events(seen, Fault.SECOND_CLIENT) else list(seen.silences)
        for steps in seen.moving.values():
            moved += len(steps)
            violations += _motion(steps, silences, (LIMIT_S + SLACK_S) * seen.pace + _HEARD_S)
    if _VERDICT in seen.log and not _spoilt(seen):
        checked.add(Check.VERDICT)
        violations += _verdict(seen)
    return Outcome(
        seen.schedule.form,
        seen.schedule.seed,
        frozenset(checked),
        tuple(violations),
        requests=len(seen.asked) + seen.log.count(" begins "),
        motions=moved,
        seconds=seen.seconds,
    )


def _events(seen: StackEvidence, *kinds: Fault) -> list[Event]:
    return [event for event in seen.schedule.events if event.fault in kinds]


def _spoilt(seen: StackEvidence) -> bool:
    """Whether the recording lacks something by what was done to it: then it says so."""
    killed = any(event.name == "recorder" for event in _events(seen, Fault.KILL))
    return killed or bool(_events(seen, Fault.FULL_DISK))


def _of_nobody_else(seen: StackEvidence, limit_s: float) -> list[Motion]:
    """The robot's motions but those that a second client, which is well, asked for."""
    spans = [
        (one.sent_s, (one.ended_s or seen.ended_s) + limit_s)
        for one in seen.asked
        if one.kind == "goal"
    ]
    return [
        step
        for step in seen.robot or ()
        if not any(begin_s <= step.begins_s <= end_s for begin_s, end_s in spans)
    ]


def _motion(
    steps: Sequence[Motion], silences: Sequence[Silence], limit_s: float
) -> list[Violation]:
    found = []
    for silence in silences:
        late = [
            step
            for step in steps
            if silence.begins_s + _limit_s(step, silence, limit_s) < step.ends_s
            and step.begins_s < silence.ends_s
        ]
        for motion in joined(late)[:1]:
            after_s = motion.ends_s - silence.begins_s
            text = f"motion {after_s:.2f} s after: {silence.cause}, {motion.metres:.2f} m"
            found.append(Violation(Check.MOTION, text))
    return found


def _limit_s(step: Motion, silence: Silence, limit_s: float) -> float:
    finishes = not step.base and silence.cause in UNREACHABLE
    return max(limit_s, ARM_LIMIT_S) if finishes else limit_s


def _ends(seen: StackEvidence) -> list[Violation]:
    found = []
    if seen.status is None:
        found.append(Violation(Check.ENDS, "the stack does not end when it is asked to"))
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


def _outcomes(seen: StackEvidence) -> list[Violation]:
    found = []
    if not seen.interrupted and _VERDICT not in seen.log:
        last = seen.log.strip().splitlines()[-1:]
        found.append(Violation(Check.OUTCOMES, f"it ended without a verdict: {last}"))
    died = bool(_events(seen, Fault.KILL))
    for one in seen.asked:
        if one.ended_s is None and one.kind == "service" and not died:
            text = f"{one.client}: {one.name} has no answer after {seen.ended_s - one.sent_s:.0f} s"
            found.append(Violation(Check.OUTCOMES, text))
    return found


def _bags(seen: StackEvidence) -> list[Violation]:
    try:
        bags = [path for path in recordings(seen.record) if path.is_dir()]
    except PlannerError as error:
        return [Violation(Check.BAG, f"there is none: {error}")]
    found = []
    for bag in bags:
        try:
            any(False for _ in read_bag(bag))
        except PlannerError as error:
            found.append(Violation(Check.BAG, f"{bag.name} does not read: {error}"))
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
    return [] if found.agrees else [Violation(Check.VERDICT, f"bag verdict: {found.text}")]
