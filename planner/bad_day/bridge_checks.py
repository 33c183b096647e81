"""What must hold after a run of the form `bridge`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.bad_day.motion import Motion, Sample
from planner.bad_day.outcome import Check, Outcome, Violation
from planner.bad_day.permission import (
    LIMIT_S,
    SLACK_S,
    SetBack,
    Silence,
    allowed,
    trespasses,
)
from planner.bad_day.records import Asked
from planner.bad_day.schedule import Schedule
from planner.exit_status import EXIT_CONFIGURATION, EXIT_OK

# config/safety.yaml: motion.speed_m_s, and what steps and rounding add.
FASTEST_M_S = 0.55
# Statuses of a bridge: asked to end, killed by us, or refused to be the second one.
_GOOD = frozenset({EXIT_OK, -9, EXIT_CONFIGURATION})
# A bridge that has begun says so, with the time of day.
_READY = re.compile(r"\[INFO\] \[(\d+\.\d+)\] \[bridge\]: .* time is ")
# How long after that a call may still be lost: the graph goes on to list the services of the bridge
# that was killed, so no client can tell whether it knows the new one yet, and a Fast DDS
# participant that was not heard announces itself every 3 s. Measured: up to 1.5 s.
_HEARD_S = 3.0
# How often a bridge asks the robot how it is, and so what time it has.
_ASKS_S = 0.05
CHECKED = frozenset({Check.MOTION, Check.OUTCOMES, Check.ENDS})


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a run; times are the time of day."""

    schedule: Schedule
    steps: Sequence[Motion]
    samples: Sequence[Sample]
    asked: Sequence[Asked]
    silences: Sequence[Silence]
    began_s: float
    # When the bridge was asked to end: what it does then is by itself.
    ended_s: float
    round_trip_s: float
    bridge_died_s: Sequence[float]
    killed_clients: frozenset[str]
    statuses: Mapping[str, int | None]
    logs: Mapping[str, str]
    # By how much the truth is late.
    heard_s: float
    seconds: float
    # When the robot's clock was set back.
    set_back: Sequence[SetBack] = ()


def judge_run(seen: Evidence) -> Outcome:
    """The outcome of a run."""
    # A command is in time by the robot's clock, as it was compared over the link.
    limit_s = LIMIT_S + SLACK_S + seen.round_trip_s / 2 + seen.heard_s
    permitted = allowed(seen.asked, seen.silences)
    steps = [each for each in seen.steps if seen.began_s <= each.begins_s < seen.ended_s]
    # The next question after the step, its answer, and the way of the stop.
    unknown_s = _ASKS_S + 1.5 * seen.round_trip_s + SLACK_S
    beyond, longest = trespasses(steps, permitted, limit_s, seen.set_back, unknown_s)
    violations = [Violation(Check.MOTION, str(each)) for each in beyond]
    violations += _speed(seen)
    violations += _outcomes(seen)
    violations += _ends(seen)
    services = [one for one in seen.asked if one.name == "stop" and one.ended_s is not None]
    figures = {f"{kind}, s": value for kind, value in longest.items()}
    answers = [(one.ended_s or 0.0) - one.sent_s for one in services]
    if answers:
        figures["stop answered, s"] = max(answers)
    return Outcome(
        seen.schedule.form,
        seen.schedule.seed,
        CHECKED,
        tuple(violations),
        requests=len(seen.asked),
        motions=len(seen.steps),
        seconds=seen.seconds,
        figures=figures,
    )


def _speed(seen: Evidence) -> list[Violation]:
    fastest = max((each.linear_m_s for each in seen.samples), default=0.0)
    if fastest <= FASTEST_M_S:
        return []
    return [Violation(Check.MOTION, f"it went {fastest:.2f} m/s, allowed are 0.5")]


def _outcomes(seen: Evidence) -> list[Violation]:
    found = []
    for one in seen.asked:
        if one.ended_s is not None:
            continue
        # Nobody answers for a bridge that was killed; its clients have a timeout of their own, and
        # a client that was killed waits for nothing.
        if any(one.sent_s <= back_s for back_s in _back_s(seen)):
            continue
        if one.client in seen.killed_clients:
            continue
        text = f"{one.client}: {one.name} has no answer after {seen.ended_s - one.sent_s:.0f} s"
        found.append(Violation(Check.OUTCOMES, text))
    return found


def _back_s(seen: Evidence) -> list[float]:
    """Until when calls may have gone to a bridge that was killed: the graph lists it for a while.

    That is until `_HEARD_S` after the next one was ready, or for ever where none was.
    """
    ready = [float(at) for log in seen.logs.values() for at in _READY.findall(log)]
    return [
        min((at_s for at_s in ready if at_s > died_s), default=math.inf) + _HEARD_S
        for died_s in seen.bridge_died_s
    ]


def _ends(seen: Evidence) -> list[Violation]:
    found = []
    for name, status in seen.statuses.items():
        if status is None:
            found.append(Violation(Check.ENDS, f"{name} does not end when it is asked to"))
        elif status not in _GOOD:
            found.append(Violation(Check.ENDS, f"{name} ended with status {status}"))
    for name, log in seen.logs.items():
        if "Traceback" in log:
            last = log[log.rindex("Traceback") :].strip().splitlines()[-1]
            found.append(Violation(Check.ENDS, f"{name}: {last[:160]}"))
    return found
