"""Fault schedules, each determined by its seed alone, and injecting their events when due."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Form(StrEnum):
    """What a schedule runs against."""

    BRIDGE = "bridge"  # the bridge node and a scripted client on an emulated Spot in real time
    SIM = "sim"  # the same on the embedded simulator, for machines without the Spot SDK
    DEMO = "demo"  # the whole stack with one agent, on the embedded simulator
    TEAM = "team"  # the same with two agents
    SPOT = "spot"  # the whole stack on the emulated Spot, as in demo-spot
    ROS = "ros"  # the bridge node and a scripted client on the emulated robot with Nav2 and MoveIt


# Several of these run in parallel.
BRIDGE_FORMS = frozenset({Form.BRIDGE, Form.SIM})
# Without the nodes above the bridge.
CLIENT_FORMS = BRIDGE_FORMS | {Form.ROS}


class Fault(StrEnum):
    """Kinds of fault; the comments explain what `value`, `seconds` and `name` mean for each."""

    # The link between bridge and robot.
    ROUND_TRIP = "round_trip"  # seconds `value`, for the rest of the run
    LOSS = "loss"  # the share `value` of packets, for the rest of the run
    STALL = "stall"  # for `seconds`
    CUT = "cut"
    DROP_REQUEST = "drop_request"  # the next call of the method `name`
    DROP_ANSWER = "drop_answer"
    REORDER = "reorder"
    # The robot.
    TAKE_LEASE = "take_lease"  # by a client with the name `name`
    CLOCK_STEP = "clock_step"  # the robot's clock jumps by `value` seconds
    ESTOP = "estop"  # pressed on the robot, released after `seconds`
    SERVER_DEAD = "server_dead"  # Nav2 or MoveIt, as `name` says, killed and back after `seconds`
    # The machine.
    CPU_SHARE = "cpu_share"  # of the process `name` down to `value`, for `seconds`
    BUSY = "busy"  # `value` busy processes compete for the CPU, for `seconds`
    FULL_DISK = "full_disk"  # of the recorder, for `seconds`; 0 = for the rest of the run
    # Processes.
    FREEZE = "freeze"  # SIGSTOP of the process `name`, SIGCONT after `seconds`
    KILL = "kill"  # SIGKILL of the process `name`
    SECOND_CLIENT = "second_client"  # another client that sends goals of its own
    SECOND_BRIDGE = "second_bridge"  # another bridge in the same ROS domain
    # The language model's server.
    MODEL_SLOW = "model_slow"  # each answer takes `value` seconds, for `seconds`
    MODEL_DEAD = "model_dead"  # connections are refused, for `seconds`
    # The operator.
    CALL = "call"  # the service `name`


@dataclass(frozen=True, slots=True)
class Event:
    """One fault, `at_s` seconds after everything was ready."""

    at_s: float
    fault: Fault
    seconds: float = 0.0
    value: float = 0.0
    name: str = ""

    def __str__(self) -> str:
        words = [f"{self.at_s:.2f} s {self.fault}"]
        words += [self.name] if self.name else []
        words += [f"{self.value:g}"] if self.value else []
        words += [f"for {self.seconds:g} s"] if self.seconds else []
        return " ".join(words)


@dataclass(frozen=True, slots=True)
class Schedule:
    """The faults of one run, and the seed of everything else that is random in it."""

    form: Form
    seed: int
    events: tuple[Event, ...]
    # How long faults last; then all of them are cleared.
    seconds: float
    # The one outage that the task has to survive, if that is what is tried.
    survives: Fault | None = None


# RPCs whose loss or delay changes what the robot does or who may command it.
_METHODS = ("RobotCommand", "RobotCommand", "GetRobotState", "RetainLease", "CheckIn", "ListLeases")
_OWNERS = ("tablet", "planner-bridge", "planner-bridge-elsewhere", "other")
_CALLS = ("stop", "stop", "sit", "release", "estop/gentle", "estop/hard", "power_off")
# Calls that bring a stopped robot back to its feet.
RECOVERY = ("estop/release", "claim", "power_on", "stand")
# What makes a robot ready that nobody has stopped.
ENABLING = ("claim", "power_on", "stand")
BRIDGE_S, STACK_S = 5.0, 20.0
SERVERS = ("nav2", "moveit")
# A goal of 12 s is answered within the 15 s after which a client gives it up.
ROS_FREEZE_S = 2.5
# From the death of a bridge until its successor serves; measured: 4 to 6 s.
ROS_RESTART_S = 8.0
SIM_KINDS = frozenset(
    {
        Fault.CPU_SHARE,
        Fault.BUSY,
        Fault.FREEZE,
        Fault.KILL,
        Fault.SECOND_CLIENT,
        Fault.SECOND_BRIDGE,
        Fault.CALL,
    }
)
_BRIDGE_FAULTS = (
    (Fault.ROUND_TRIP, 4),
    (Fault.LOSS, 3),
    (Fault.STALL, 4),
    (Fault.CUT, 2),
    (Fault.DROP_REQUEST, 2),
    (Fault.DROP_ANSWER, 2),
    (Fault.REORDER, 2),
    (Fault.TAKE_LEASE, 2),
    (Fault.CLOCK_STEP, 2),
    (Fault.ESTOP, 1),
    (Fault.CPU_SHARE, 3),
    (Fault.BUSY, 1),
    (Fault.FREEZE, 4),
    (Fault.KILL, 2),
    (Fault.SECOND_CLIENT, 1),
    (Fault.SECOND_BRIDGE, 1),
    (Fault.CALL, 5),
)
_STACK_FAULTS = (
    (Fault.CPU_SHARE, 3),
    (Fault.BUSY, 2),
    (Fault.FULL_DISK, 2),
    (Fault.FREEZE, 4),
    (Fault.KILL, 4),
    (Fault.SECOND_CLIENT, 1),
    (Fault.SECOND_BRIDGE, 1),
    (Fault.CALL, 1),
)
_SIM_FAULTS = tuple((kind, weight) for kind, weight in _BRIDGE_FAULTS if kind in SIM_KINDS)
_LINK_FAULTS = ((Fault.ROUND_TRIP, 3), (Fault.LOSS, 2), (Fault.STALL, 3), (Fault.CLOCK_STEP, 1))
_ROS_FAULTS = (
    (Fault.SERVER_DEAD, 4),
    (Fault.FREEZE, 3),
    (Fault.KILL, 3),
    (Fault.CALL, 2),
)
_MODEL_FAULTS = ((Fault.MODEL_SLOW, 3), (Fault.MODEL_DEAD, 3))
NODES = ("bridge", "memory", "skill_executor", "task_planner", "evaluator", "recorder")
# `planner up` itself, which is frozen and not killed: its nodes end with it.
SUPERVISOR = "supervisor"
# Outages that a task survives: their seconds, and the process that is frozen.
OUTAGES = {Fault.STALL: (3.0, ""), Fault.FREEZE: (2.0, "bridge")}
# An outage begins within this time from the task's first call.
_OUTAGE_WITHIN_S = 12.0


def make_schedule(form: Form, seed: int) -> Schedule:
    """The schedule of a seed: two to five faults (`ros`: one to three), the operator's calls."""
    rng = random.Random(f"{form} {seed}")
    weights = {
        Form.BRIDGE: _BRIDGE_FAULTS,
        Form.SIM: _SIM_FAULTS,
        Form.SPOT: (*_STACK_FAULTS, *_LINK_FAULTS),
        Form.DEMO: (*_STACK_FAULTS, *_MODEL_FAULTS),
        Form.TEAM: _STACK_FAULTS,
        Form.ROS: _ROS_FAULTS,
    }[form]
    seconds = BRIDGE_S if form in BRIDGE_FORMS else STACK_S
    number = rng.randint(1, 3) if form is Form.ROS else rng.randint(2, 5)
    kinds = rng.choices([kind for kind, _ in weights], [weight for _, weight in weights], k=number)
    events = [_event(form, kind, rng, seconds) for kind in kinds]
    if form in BRIDGE_FORMS:
        events += _recovery(events, rng)
    elif form is Form.ROS:
        events += _enabling(events)
    return Schedule(form, seed, tuple(sorted(events, key=lambda each: each.at_s)), seconds)


def outage_schedule(seed: int, fault: Fault) -> Schedule:
    """One of `OUTAGES` at a random moment of the task on the emulated Spot."""
    seconds, name = OUTAGES[fault]
    at_s = round(random.Random(f"outage {fault} {seed}").uniform(0.0, _OUTAGE_WITHIN_S), 2)
    event = Event(at_s, fault, seconds, name=name)
    return Schedule(Form.SPOT, seed, (event,), at_s + seconds + 0.5, survives=fault)


def _event(form: Form, fault: Fault, rng: random.Random, seconds: float) -> Event:
    at_s = round(rng.uniform(0.0, seconds * 0.75), 2)

    def span(low: float, high: float) -> float:
        return round(rng.uniform(low, high), 2)

    nodes = ("bridge", "client") if form in CLIENT_FORMS else NODES
    match fault:
        case Fault.ROUND_TRIP:
            # Often present from the start, as in a place with a bad network.
            early = rng.random() < 0.5
            return Event(0.0 if early else at_s, fault, value=span(0.02, 0.3))
        case Fault.LOSS:
            return Event(at_s, fault, value=span(0.005, 0.05))
        case Fault.STALL:
            return Event(at_s, fault, seconds=span(0.2, seconds / 2))
        case Fault.DROP_REQUEST | Fault.DROP_ANSWER | Fault.REORDER:
            return Event(at_s, fault, name=rng.choice(_METHODS))
        case Fault.TAKE_LEASE:
            return Event(at_s, fault, name=rng.choice(_OWNERS))
        case Fault.CLOCK_STEP:
            return Event(at_s, fault, value=rng.choice((-1, 1)) * span(0.2, 5.0))
        case Fault.ESTOP:
            return Event(at_s, fault, seconds=span(0.5, 2.0))
        case Fault.CPU_SHARE:
            return Event(at_s, fault, span(1.0, seconds), span(0.2, 0.6), rng.choice(nodes))
        case Fault.BUSY:
            return Event(at_s, fault, span(1.0, seconds), rng.randint(1, 4))
        case Fault.FREEZE:
            longest_s = ROS_FREEZE_S if form is Form.ROS else seconds / 2
            nodes = nodes if form in CLIENT_FORMS else (*nodes, SUPERVISOR)
            return Event(at_s, fault, span(0.2, longest_s), name=rng.choice(nodes))
        case Fault.KILL:
            return Event(at_s, fault, name=rng.choice(nodes))
        case Fault.SERVER_DEAD:
            return Event(at_s, fault, span(1.0, 6.0), name=rng.choice(SERVERS))
        case Fault.MODEL_SLOW:
            return Event(at_s, fault, span(2.0, seconds), span(1.0, 8.0))
        case Fault.MODEL_DEAD | Fault.FULL_DISK:
            return Event(at_s, fault, seconds=span(2.0, seconds / 2))
        case Fault.CALL:
            name = rng.choice(_CALLS) if form in BRIDGE_FORMS else "stop"
            return Event(at_s, fault, name=name)
        case _:
            return Event(at_s, fault)


def _recovery(events: list[Event], rng: random.Random) -> list[Event]:
    """Calls by which the operator brings a stopped robot back to its feet, now and then."""
    stopped = {Fault.TAKE_LEASE, Fault.ESTOP, Fault.CALL, Fault.STALL, Fault.KILL}
    found = [event for event in events if event.fault in stopped]
    if not found or rng.random() < 0.3:
        return []
    at_s = rng.choice(found).at_s + rng.uniform(0.5, 2.0)
    return [
        Event(round(at_s + 0.3 * number, 2), Fault.CALL, name=name)
        for number, name in enumerate(RECOVERY)
    ]


def _enabling(events: list[Event]) -> list[Event]:
    """What the operator calls after the death of a bridge, whose successor permits nothing yet.

    Not after a late one: once all faults have ended, the operator makes the robot ready anyway.
    """
    last_s = STACK_S - ROS_RESTART_S - len(ENABLING)
    died = [
        event
        for event in events
        if event.fault is Fault.KILL and event.name == "bridge" and event.at_s < last_s
    ]
    return [
        Event(round(event.at_s + ROS_RESTART_S + number, 2), Fault.CALL, name=name)
        for event in died
        for number, name in enumerate(ENABLING)
    ]


# Injects the events of a schedule when they are due, and ends those of limited duration.

_TICK_S = 0.02


class Timeline:
    """Runs one schedule, starting now."""

    def __init__(self, schedule: Schedule) -> None:
        self._seconds = schedule.seconds
        self._due: list[tuple[float, bool, Event]] = [
            (event.at_s, True, event) for event in schedule.events
        ]

    def run(
        self,
        inject: Callable[[Event], None],
        clear: Callable[[Event], None],
        is_over: Callable[[], bool] = lambda: False,
    ) -> None:
        """Returns after the schedule's duration or once `is_over()`, with all faults ended."""
        began_s = time.monotonic()
        while (now_s := time.monotonic() - began_s) < self._seconds and not is_over():
            self._due.sort(key=lambda each: each[0])
            if not self._due or self._due[0][0] > now_s:
                time.sleep(_TICK_S)
                continue
            _, begins, event = self._due.pop(0)
            if not begins:
                clear(event)
                continue
            inject(event)
            if event.seconds:
                self._due.append((now_s + event.seconds, False, event))
        for _, begins, event in self._due:
            if not begins:
                clear(event)
