"""Fault schedules, each determined by its seed alone, and injecting their events when due."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from planner.bad_day.faults import ENABLING, RECOVERY, Event, Fault, Schedule
from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.errors import PlannerError

if TYPE_CHECKING:
    # Needs ROS.
    from planner.bad_day.harness import RobotHarness

HarnessMaker: TypeAlias = "Callable[[Schedule, Path, Mapping[str, Any], int], RobotHarness]"
"""Makes the robot of a run.

From its schedule, a folder for files, what differs from the safety rules, and the ROS domain.
"""


@dataclass(frozen=True, slots=True)
class StackTask:
    """What a whole stack does.

    Attributes:
        episode: by name or path.
        agents: how many; 0 = the episode's.
        after_s: how long a run goes on after the last fault before it is asked to end.
    """

    episode: str
    agents: int
    after_s: float


def _is_here() -> bool:
    return True


FORM_INTERFACE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPart:
    """The record of a form of runs: what faults are injected into.

    Attributes:
        summary: how they are made, for tables.
        faults: the kinds, each with its weight.
        load: imports what its robot needs, and returns what makes it; also called ahead of all
            runs. None = a whole stack on the simulator that it starts by itself.
        task: of a whole stack; None = the bridge node and a scripted client.
        in_parallel: whether several run at once, for a few seconds each, in which the operator
            calls anything.
        number: least and greatest number of faults.
        longest_freeze_s: of a process; None = half of the run.
        recovers: whether the operator makes the robot ready again after its bridge died, and a
            drive has to succeed in the end.
        survives_outages: whether its task is the one that has to succeed in spite of an outage.
        place_in_mix: in the order of a mix; of those in parallel only the first is taken. None =
            it is run by name only.
        is_installed: whether what it needs is installed.
        needs: what that is and how to get it.
        left_out: what is printed where a mix lacks it for want of that; "" = nothing.
        options: none.
        interface: version of this record that the form was written for.
    """

    summary: str
    faults: Sequence[tuple[Fault, int]]
    load: Callable[[], HarnessMaker] | None = None
    task: StackTask | None = None
    in_parallel: bool = False
    number: tuple[int, int] = (2, 5)
    longest_freeze_s: float | None = None
    recovers: bool = False
    survives_outages: bool = False
    place_in_mix: int | None = None
    is_installed: Callable[[], bool] = _is_here
    needs: str = ""
    left_out: str = ""
    options: tuple[Option, ...] = ()
    interface: int = FORM_INTERFACE

    @property
    def seconds(self) -> float:
        """How long faults last."""
        return BRIDGE_S if self.in_parallel else STACK_S


FORMS: Catalog[FormPart] = Catalog(
    "bad-day form",
    "planner.bad_day.forms",
    "FORMS",
    f"{__name__}:FormPart",
    FORM_INTERFACE,
    group="planner.bad_day_forms",
)


# RPCs whose loss or delay changes what the robot does or who may command it.
_METHODS = ("RobotCommand", "RobotCommand", "GetRobotState", "RetainLease", "CheckIn", "ListLeases")
_OWNERS = ("tablet", "planner-bridge", "planner-bridge-elsewhere", "other")
_CALLS = ("stop", "stop", "sit", "release", "estop/gentle", "estop/hard", "power_off")
BRIDGE_S, STACK_S = 5.0, 20.0
SERVERS = ("nav2", "moveit")
# From the death of a bridge until its successor serves; measured: 4 to 6 s.
ROS_RESTART_S = 8.0
NODES = ("bridge", "memory", "skill_executor", "task_planner", "evaluator", "recorder")
# `planner up` itself, which is frozen and not killed: its nodes end with it.
SUPERVISOR = "supervisor"
# Outages that a task survives: their seconds, and the process that is frozen.
OUTAGES = {Fault.STALL: (3.0, ""), Fault.FREEZE: (2.0, "bridge")}
# An outage begins within this time from the task's first call.
_OUTAGE_WITHIN_S = 12.0


def make_schedule(form: str, seed: int) -> Schedule:
    """The schedule of a seed: two to five faults (`ros`: one to three), the operator's calls.

    Raises:
        PartError: if there is no such form.
    """
    part = FORMS.get(form)
    rng = random.Random(f"{form} {seed}")
    number = rng.randint(*part.number)
    kinds = rng.choices(
        [kind for kind, _ in part.faults], [weight for _, weight in part.faults], k=number
    )
    events = [_event(part, kind, rng) for kind in kinds]
    if part.in_parallel:
        events += _recovery(events, rng)
    elif part.recovers:
        events += _enabling(events)
    return Schedule(form, seed, tuple(sorted(events, key=lambda each: each.at_s)), part.seconds)


def outage_form() -> str:
    """The form whose task has to survive outages.

    Raises:
        PlannerError: if none is there.
    """
    found = [name for name, part in FORMS.usable().items() if part.survives_outages]
    if not found:
        raise PlannerError("--outage: no form of runs is installed whose task survives one")
    return found[0]


def outage_schedule(seed: int, fault: Fault) -> Schedule:
    """One of `OUTAGES` at a random moment of the task of `outage_form`."""
    seconds, name = OUTAGES[fault]
    at_s = round(random.Random(f"outage {fault} {seed}").uniform(0.0, _OUTAGE_WITHIN_S), 2)
    event = Event(at_s, fault, seconds, name=name)
    return Schedule(outage_form(), seed, (event,), at_s + seconds + 0.5, survives=fault)


def _event(form: FormPart, fault: Fault, rng: random.Random) -> Event:
    seconds = form.seconds
    at_s = round(rng.uniform(0.0, seconds * 0.75), 2)

    def span(low: float, high: float) -> float:
        return round(rng.uniform(low, high), 2)

    nodes = ("bridge", "client") if form.task is None else NODES
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
            longest_s = form.longest_freeze_s or seconds / 2
            nodes = nodes if form.task is None else (*nodes, SUPERVISOR)
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
            name = rng.choice(_CALLS) if form.in_parallel else "stop"
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
