"""Checks of a bridge run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.bad_day.faults import Schedule
from planner.bad_day.permission import (
    GAVE_UP,
    LIMIT_S,
    SLACK_S,
    Cause,
    ClockSetBack,
    Motion,
    Request,
    Revocation,
    Sample,
    cut_off_s,
    permissions,
    unpermitted_motions,
)
from planner.bad_day.trial import Check, Outcome, Violation
from planner.command_line import EXIT_CONFIGURATION, EXIT_OK

# motion.speed_m_s of config/safety.yaml, plus a margin for time steps and rounding.
MAX_SPEED_M_S = 0.55
# Exit statuses of a bridge: asked to end, killed by us, or refused as a second bridge.
_EXPECTED_STATUSES = frozenset({EXIT_OK, -9, EXIT_CONFIGURATION})
# The log line of a bridge that is ready, with its wall-clock time.
_READY = re.compile(r"\[INFO\] \[(\d+\.\d+)\] \[bridge\]: .* time is ")
# How long after that a call may still be lost: the graph still lists the services of the killed
# bridge, so a client cannot tell whether it has discovered the new one, and a Fast DDS
# participant repeats its announcement every 3 s. Measured: up to 1.5 s.
_DISCOVERY_S = 3.0
# Period at which a bridge polls the robot's state, and so its clock.
_STATE_POLL_S = 0.05
CHECKS = frozenset({Check.MOTION, Check.OUTCOMES, Check.ENDS, Check.ALIVE})
# The lease's owner, if it is a bridge and not one of the schedule's clients with such a name.
_BRIDGE = re.compile(r"planner-bridge-[0-9a-f]{6}")
# How each call of the operator that succeeded shows on the robot.
_EFFECTS: Mapping[str, Callable[[Sample], bool]] = {
    "claim": lambda robot: _BRIDGE.match(robot.owner) is not None,
    "release": lambda robot: _BRIDGE.match(robot.owner) is None,
    "power_on": lambda robot: robot.powered,
    "power_off": lambda robot: not robot.powered,
    "stand": lambda robot: robot.posture == "standing",
    "sit": lambda robot: robot.posture == "sitting",
    "estop/gentle": lambda robot: not robot.powered,
    "estop/hard": lambda robot: not robot.powered,
}


@dataclass(frozen=True, slots=True)
class Recovery:
    """The operator's attempt to make the robot ready once all faults have ended.

    Attributes:
        ready_s: when it was ready; a drive sent later has to succeed.
        trouble: why it was not.
    """

    ready_s: float
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The records of a run; times are wall-clock time."""

    schedule: Schedule
    steps: Sequence[Motion]
    samples: Sequence[Sample]
    requests: Sequence[Request]
    revocations: Sequence[Revocation]
    began_s: float
    # When the bridge was asked to end; what it does afterwards is not judged.
    ended_s: float
    round_trip_s: float
    bridge_died_s: Sequence[float]
    killed_clients: frozenset[str]
    statuses: Mapping[str, int | None]
    logs: Mapping[str, str]
    # Delay of the ground truth.
    truth_delay_s: float
    seconds: float
    # When the robot's clock was set back.
    set_back: Sequence[ClockSetBack] = ()
    # How much longer motion may go on after the bridge fell silent.
    silent_bridge_s: float = 0.0
    recovery: Recovery | None = None
    # Processes that ended before they were asked to, and were not killed.
    ended_alone: Mapping[str, int] = field(default_factory=dict)


def judge_run(seen: Evidence) -> Outcome:
    """The outcome of a run."""
    # Commands expire by the robot's clock, which the bridge knows to within half a round trip.
    limit_s = LIMIT_S + SLACK_S + seen.round_trip_s / 2 + seen.truth_delay_s
    granted = permissions(seen.requests, seen.revocations)
    steps = [each for each in seen.steps if seen.began_s <= each.begins_s < seen.ended_s]
    # The next poll after the clock step, its answer, and the delivery of the stop.
    unknown_s = _STATE_POLL_S + 1.5 * seen.round_trip_s + SLACK_S
    cut_offs = [cut_off_s(each, seen.revocations, limit_s) for each in seen.revocations]
    cut_off = [at_s for at_s in cut_offs if at_s is not None]
    beyond, longest = unpermitted_motions(
        steps,
        granted,
        limit_s,
        seen.set_back,
        unknown_s,
        cut_off,
        {Cause.BRIDGE_SILENT: seen.silent_bridge_s},
    )
    violations = [Violation(Check.MOTION, str(each)) for each in beyond]
    violations += _speed(seen)
    violations += _outcomes(seen)
    violations += _recovered(seen)
    violations += _ends(seen)
    violations += [
        Violation(Check.ALIVE, f"{name} ended by itself, with status {status}")
        for name, status in seen.ended_alone.items()
    ]
    violations += _effects(seen)
    services = [one for one in seen.requests if one.name == "stop" and one.ended_s is not None]
    figures = {f"{kind}, s": value for kind, value in longest.items()}
    answers = [(one.ended_s or 0.0) - one.sent_s for one in services]
    if answers:
        figures["stop answered, s"] = max(answers)
    return Outcome(
        seen.schedule.form,
        seen.schedule.seed,
        CHECKS | {Check.EFFECT} if seen.samples else CHECKS,
        tuple(violations),
        requests=len(seen.requests),
        motions=len(seen.steps),
        seconds=seen.seconds,
        figures=figures,
    )


def _speed(seen: Evidence) -> list[Violation]:
    fastest = max((each.linear_m_s for each in seen.samples), default=0.0)
    if fastest <= MAX_SPEED_M_S:
        return []
    return [Violation(Check.MOTION, f"speed {fastest:.2f} m/s exceeds the limit of 0.5 m/s")]


def _outcomes(seen: Evidence) -> list[Violation]:
    found = []
    for one in seen.requests:
        if one.ended_s is not None:
            continue
        # A killed bridge answers nothing, and a killed client waits for nothing.
        if one.sent_s <= back_s(seen.bridge_died_s, seen.logs):
            continue
        if one.client in seen.killed_clients:
            continue
        text = f"{one.client}: {one.name} has no answer after {seen.ended_s - one.sent_s:.0f} s"
        found.append(Violation(Check.OUTCOMES, text))
    return found


def _effects(seen: Evidence) -> list[Violation]:
    """Calls answered with success whose effect did not show at any time until then."""
    found = []
    for one in seen.requests:
        shows = _EFFECTS.get(one.name)
        if shows is None or not one.success or one.ended_s is None:
            continue
        meanwhile = [
            sample
            for sample in seen.samples
            if one.sent_s - SLACK_S <= sample.at_s <= one.ended_s + SLACK_S
        ]
        if meanwhile and not any(map(shows, meanwhile)):
            text = f"{one.name} was answered with success; the robot was {_words(meanwhile[-1])}"
            found.append(Violation(Check.EFFECT, text))
    return found


def _words(robot: Sample) -> str:
    power = "on" if robot.powered else "off"
    return f"{robot.posture}, its motors {power}, its lease of {robot.owner or 'nobody'}"


def _recovered(seen: Evidence) -> list[Violation]:
    """That a robot whose faults have ended drives, and that its bridge ended each goal itself."""
    after = seen.recovery
    if after is None:
        return []
    found = []
    for one in seen.requests:
        given_up = one.outcome == GAVE_UP
        if given_up and not one.sent_s <= back_s(seen.bridge_died_s, seen.logs):
            text = f"{one.client}: {one.name} was given up by its client, unanswered"
            found.append(Violation(Check.OUTCOMES, text))
    drives = [one for one in seen.requests if one.name == "navigate" and one.sent_s > after.ready_s]
    if after.trouble:
        text = f"after the faults the robot cannot be made ready: {after.trouble}"
        found.append(Violation(Check.OUTCOMES, text))
    elif not any(one.success for one in drives):
        last = drives[-1].outcome or "no result" if drives else "none was sent"
        text = f"after the faults none of {len(drives)} drives succeeded: {last}"
        found.append(Violation(Check.OUTCOMES, text))
    return found


def back_s(bridge_died_s: Sequence[float], logs: Mapping[str, str]) -> float:
    """Until when calls may have gone to a killed bridge, which the graph lists for a while.

    That is until `_DISCOVERY_S` after the next one was ready: 0 if none was killed, infinite if
    there is no next one yet.
    """
    ready = [float(at) for log in logs.values() for at in _READY.findall(log)]
    return max(
        (
            min((at_s for at_s in ready if at_s > died_s), default=math.inf) + _DISCOVERY_S
            for died_s in bridge_died_s
        ),
        default=0.0,
    )


def _ends(seen: Evidence) -> list[Violation]:
    found = []
    for name, status in seen.statuses.items():
        if status is None:
            found.append(Violation(Check.ENDS, f"{name} did not end on request"))
        elif status not in _EXPECTED_STATUSES:
            found.append(Violation(Check.ENDS, f"{name} ended with status {status}"))
    for name, log in seen.logs.items():
        if "Traceback" in log:
            last = log[log.rindex("Traceback") :].strip().splitlines()[-1]
            found.append(Violation(Check.ENDS, f"{name}: {last[:160]}"))
    return found
