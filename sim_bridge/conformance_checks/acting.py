"""Acting: time, ends of primitives, and refusals with their codes."""

from __future__ import annotations

import math
from collections.abc import Callable

from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, all_primitives
from planner.world.vocabulary import Relation
from sim_bridge.conformance_checks.trial import (
    ConformanceError,
    Trial,
    UnsuitableError,
    expect,
    middle_m,
    moved_m,
    raises_planner_error,
)
from sim_bridge.pacing import TICK_S

# A real robot needs a short distance to stop.
STOPPING_M = 0.15
MAX_SPEED_M_S = 3.0


def time_moves_only_in_step(trial: Trial) -> None:
    """Only `step` advances time, by exactly its argument."""
    backend = trial.backend
    if not backend.simulated:
        raise UnsuitableError("real time passes by itself")
    target = middle_m(trial.far_thing())
    now_s = backend.now_s()

    def still(what: str) -> None:
        expect(backend.now_s() == now_s, f"{what} made time pass")

    handle = trial.start(PrimitiveName.NAVIGATE, target)
    still("start")
    for _ in range(5):
        backend.poll(handle)
    still("poll")
    backend.observe(trial.agent, ())
    still("observe")
    backend.world_state()
    still("world_state")
    for dt_s in (TICK_S, 0.01, 0.25):
        backend.step(dt_s)
        passed_s = backend.now_s() - now_s
        expect(abs(passed_s - dt_s) < 1e-9, f"step({dt_s}) made {passed_s} s pass")
        now_s = backend.now_s()
    backend.cancel(handle)
    still("cancel")
    backend.stop(trial.agent)
    still("stop")
    for bad_s in (0.0, -1.0, math.nan, math.inf):
        raises_planner_error(lambda dt_s=bad_s: backend.step(dt_s), f"step({bad_s})")  # type: ignore[misc]
        still(f"step({bad_s})")


def stamps_and_revisions_grow(trial: Trial) -> None:
    """States are stamped with the current time; a change raises the revision."""
    before = trial.truth()
    handle = trial.start(PrimitiveName.NAVIGATE, middle_m(trial.far_thing()))
    for _ in range(90):
        trial.tick()
        now = trial.truth()
        now_s = trial.backend.now_s()
        expect(now.stamp_s == now_s, f"a state is stamped {now.stamp_s} at {now_s}")
        expect(now.stamp_s > before.stamp_s, "stamps do not grow")
        expect(now.step > before.step, "the count of steps does not grow")
        changed = now.entities != before.entities
        grew = now.revision > before.revision
        expect(grew or now.revision == before.revision, "a revision went back")
        expect(grew or not changed, "the world changed and its revision did not")
        before = now
    expect(before.revision > 1 or trial.backend.poll(handle).done, "nothing ever changed")


def walking_takes_its_time(trial: Trial) -> None:
    """An agent gets to within reach of its target, through intermediate positions."""
    thing = trial.far_thing()
    target = middle_m(thing)
    start = trial.base()
    handle = trial.start(PrimitiveName.NAVIGATE, target)
    last, began_s = start, trial.backend.now_s()
    while not trial.backend.poll(handle).done:
        trial.tick()
        now = trial.base()
        jump_m = moved_m(last, now)
        # Twice the distance per tick, for localisation noise.
        expect(jump_m < 0.3 + MAX_SPEED_M_S * TICK_S, f"the base jumps by {jump_m:.2f} m in a tick")
        last = now
    result = trial.finish(handle)
    expect(result.succeeded, f"walking up to {thing.name} failed: {result.text}")
    gap_m = thing.box.distance_m((*last.position_m[:2], target[2]))
    reach_m = trial.can().reach_m
    expect(gap_m <= reach_m + 0.1, f"it stopped {gap_m:.2f} m from {thing.name}, out of reach")
    took_s = trial.backend.now_s() - began_s
    way_m = moved_m(start, last)
    expect(took_s * MAX_SPEED_M_S > way_m, f"it walked {way_m:.1f} m in {took_s:.1f} s")


def cancel_stops(trial: Trial) -> None:
    """Cancelling ends a primitive as CANCELED and leaves the agent where it is."""
    _ends(trial, trial.backend.cancel, PrimitiveCode.CANCELED)


def stop_stops(trial: Trial) -> None:
    """`stop` ends a primitive as STOPPED and leaves the agent where it is."""
    _ends(trial, lambda _handle: trial.backend.stop(trial.agent), PrimitiveCode.STOPPED)
    trial.backend.stop(trial.agent)


def one_thing_at_a_time(trial: Trial) -> None:
    """A second primitive ends as BUSY and does not affect the first."""
    target = middle_m(trial.far_thing())
    first = trial.start(PrimitiveName.NAVIGATE, target)
    trial.step(0.3)
    second = trial.start(PrimitiveName.LOOK, target)
    result = trial.backend.poll(second).result
    code = None if result is None else result.code
    expect(code is PrimitiveCode.BUSY, f"a second primitive gives {code}, not BUSY, at once")
    trial.backend.cancel(second)
    expect(trial.finish(first).succeeded, "being asked for more spoilt the first primitive")


def timeout_ends(trial: Trial) -> None:
    """A primitive that takes longer than its timeout ends as TIMED_OUT."""
    target = middle_m(trial.far_thing())
    began_s = trial.backend.now_s()
    result = trial.do(PrimitiveName.NAVIGATE, target, timeout_s=0.5)
    expect(result.code is PrimitiveCode.TIMED_OUT, f"a timeout gives {result.code.name}")
    took_s = trial.backend.now_s() - began_s
    expect(0.4 < took_s < 1.5, f"a timeout of 0.5 s ended after {took_s:.2f} s")
    _expect_rest(trial, "a timeout")


def wrong_requests_are_refused(trial: Trial) -> None:
    """Invalid agents, frames, targets and unsupported primitives have codes; nothing moves."""
    here, before = trial.base().position_m, trial.backend.world_state()
    nan = math.nan
    walk, look = PrimitiveName.NAVIGATE, PrimitiveName.LOOK

    def refused(code: PrimitiveCode, what: str, primitive: Primitive, agent: str = "") -> None:
        trial.refused(code, what, primitive, agent)

    refused(PrimitiveCode.UNKNOWN_AGENT, "an unknown agent", Primitive(walk, here), "agent_9")
    for frame in ("", "nowhere", "agent_9/base_link", "/map"):
        refused(PrimitiveCode.BAD_FRAME, f"frame {frame!r}", Primitive(walk, here, frame))
    for target in ((nan, 0.0, 0.0), (0.0, math.inf, 0.0)):
        refused(PrimitiveCode.BAD_TARGET, f"target {target}", Primitive(walk, target))
    refused(PrimitiveCode.BAD_TARGET, "a view of NaN", Primitive(look, views_rad=((nan, 0.0),)))
    refused(PrimitiveCode.BAD_TARGET, "no target to look at", Primitive(look))
    bad = Primitive(walk, here, timeout_s=nan)
    refused(PrimitiveCode.BAD_TARGET, "a timeout of NaN", bad)
    can = trial.can().primitives
    for name in all_primitives():
        if name not in can:
            asked = Primitive(name, here, relation=Relation.ON)
            refused(PrimitiveCode.NOT_ABLE, f"{name}, which it cannot", asked)
    if PrimitiveName.PLACE in can:
        near = Primitive(
            PrimitiveName.PLACE, here, relation=Relation.ON, reference_m=(nan, 0.0, 0.0)
        )
        refused(PrimitiveCode.BAD_TARGET, "a reference of NaN", near)
    after = trial.backend.world_state()
    if before is not None and after is not None:
        expect(before.entities == after.entities, "a refused primitive changed the world")


def frames_mean_the_same_place(trial: Trial) -> None:
    """A target in odom or base_link is the same place as in the map."""
    target = middle_m(trial.far_thing())
    ends: list[tuple[str, Vec3]] = []
    for frame in ("map", f"{trial.agent}/base_link", f"{trial.agent}/odom"):
        trial.reload()
        seen = trial.backend.observe(trial.agent, ())
        in_base = seen.base.inverse().apply(target)
        points = {"map": target, f"{trial.agent}/odom": seen.odometry.apply(in_base)}
        result = trial.do(PrimitiveName.NAVIGATE, points.get(frame, in_base), frame=frame)
        expect(result.succeeded, f"walking to a point in {frame} failed: {result.text}")
        ends.append((frame, trial.base().position_m))
    for frame, position in ends[1:]:
        apart_m = math.dist(position, ends[0][1])
        expect(apart_m < 0.5, f"the same point in {frame} leads {apart_m:.2f} m elsewhere")


def _ends(trial: Trial, end: Callable[..., object], code: PrimitiveCode) -> None:
    handle = trial.start(PrimitiveName.NAVIGATE, middle_m(trial.far_thing()))
    start = trial.base()
    while moved_m(start, trial.base()) < 0.2 and not trial.backend.poll(handle).done:
        trial.step(0.1)
    end(handle)
    result = trial.backend.poll(handle).result
    if result is None:
        raise ConformanceError(f"a primitive that was ended still runs; {code.name} is due at once")
    expect(result.code is code, f"it ended as {result.code.name}, not {code.name}")
    _expect_rest(trial, f"{code.name}")
    trial.backend.cancel(handle)
    kept = trial.backend.poll(handle).result
    expect(kept == result, "cancelling what had ended changed its result")
    again = trial.do(PrimitiveName.LOOK, middle_m(trial.lying_open()[0]))
    expect(again.succeeded, f"after {code.name} the agent does nothing any more: {again.text}")


def _expect_rest(trial: Trial, what: str) -> None:
    before = _true_place(trial)
    trial.step(2.0)
    moved = math.dist(before, _true_place(trial))
    expect(moved < STOPPING_M, f"after {what} the agent moved on by {moved:.2f} m")


def _true_place(trial: Trial) -> Vec3:
    state = trial.backend.world_state()
    pose = state.entities[trial.agent].pose if state is not None else trial.base()
    return pose.position_m


CHECKS = (
    time_moves_only_in_step, stamps_and_revisions_grow, walking_takes_its_time, cancel_stops,
    stop_stops, one_thing_at_a_time, timeout_ends, wrong_requests_are_refused,
    frames_mean_the_same_place,
)  # fmt: skip
