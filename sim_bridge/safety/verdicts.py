"""Decisions of the rules, also about persons near by: start, ask for approval, or stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from planner.world.geometry import Vec3
from planner.world.primitive import (
    MAX_DRIVE_S,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    all_primitives,
)
from planner.world.state import EntityState
from planner.world.vocabulary import AgentKind, EntityKind
from sim_bridge.backend import Backend
from sim_bridge.safety.approvals import ARM, Step, in_map
from sim_bridge.safety.guard import (
    Concern,
    Guard,
    Severity,
    not_allowed,
    speed_limit,
    zone_ahead,
    zone_at,
)
from sim_bridge.safety.health import SpeedLimit, Supervised
from sim_bridge.safety.options import Rule, SafetyOptions

# Known positions of persons, and whether an agent is near one (rules 9 and 12).

FRAME = "map"


class People:
    """Positions of persons: known in simulators, reported by a tracker with a real robot.

    Once a tracker has reported, silence or an invalid report means that positions are unknown,
    which counts as a person near every agent until the next valid report.
    """

    def __init__(
        self,
        backend: Backend,
        options: SafetyOptions,
        known: Callable[[], Sequence[Vec3]] | None = None,
    ) -> None:
        """Gets positions in `map` from `known`; None = from the ground truth, if any."""
        self._backend, self._rule = backend, options.people
        self._known = known or self._true
        self.forget()

    def forget(self) -> None:
        """Resets for another episode: nothing was reported."""
        self._seen_s = -math.inf
        self._reported: tuple[Vec3, ...] = ()
        self._why = ""

    def report(self, positions_m: Sequence[Vec3], *, frame: str = FRAME, age_s: float = 0.0) -> str:
        """A report of all visible persons; valid for `seen_for_s`.

        Args:
            positions_m: metres, in `frame`; empty = nobody is there.
            frame: must be `map`.
            age_s: how long ago they were seen.

        Returns:
            Why the report is invalid and what to do; empty if it is valid.
        """
        why = self._fault(positions_m, frame, age_s)
        if why:
            return self.unusable(why)
        self._why, self._reported = "", tuple(positions_m)
        self._seen_s = self._backend.now_s()
        return ""

    def unusable(self, why: str) -> str:
        """An invalid report: until the next valid one persons may be anywhere."""
        self._why, self._reported = why, ()
        self._seen_s = self._backend.now_s()
        return why

    def _fault(self, positions_m: Sequence[Vec3], frame: str, age_s: float) -> str:
        if frame != FRAME:
            return f"people are reported in the frame {frame!r}; report them in {FRAME!r}"
        if not all(math.isfinite(value) for point in positions_m for value in point):
            return "a person is reported at a place that is not a number; report finite metres"
        most_s = self._rule.seen_for_s
        if not abs(age_s) <= most_s:
            way = "old" if age_s > 0 else "ahead of time"
            return (
                f"people are reported {abs(age_s):.1f} s {way}, more than {most_s:g} s "
                "(people.seen_for_s); set the tracker's clock or make it faster"
            )
        return ""

    @property
    def unknown(self) -> str:
        """Why positions are unknown although a tracker reported; empty if known."""
        if math.isinf(self._seen_s):
            return ""
        silent_s = self._backend.now_s() - self._seen_s
        if silent_s > self._rule.seen_for_s:
            return f"nobody has reported people for {silent_s:.1f} s; start the tracker again"
        return self._why

    def near(self, agent: str) -> bool:
        """Whether a person is, or may be, near an agent."""
        if not self._rule.where.holds(simulated=self._backend.simulated):
            return False
        if self.unknown:
            return True
        x, y, _ = self._backend.observe(agent, ()).base.position_m
        return any(
            math.hypot(p[0] - x, p[1] - y) <= self._rule.near_m
            for p in (*self._known(), *self._reported)
        )

    def true_positions(self) -> Sequence[Vec3]:
        """True positions of persons in `map`; empty without ground truth."""
        return self._true()

    def _true(self) -> Sequence[Vec3]:
        state = self._backend.world_state()
        if state is None:
            return ()
        entities = state.entities.values()
        return [e.pose.position_m for e in entities if _is_person(e)]


def _is_person(entity: EntityState) -> bool:
    acts = entity.kind is EntityKind.AGENT and entity.class_name == AgentKind.HUMAN
    return acts or entity.person is not None


class Verdicts:
    """Evaluates the rules without changing anything."""

    def __init__(
        self,
        backend: Backend,
        options: SafetyOptions,
        people: People,
        steady_s: Callable[[], float],
    ) -> None:
        """Applies `options` to the state of `backend` and `people`.

        Args:
            backend: the world; one that is not `Supervised` cannot pause, so motions end.
            options: parameters of the rules.
            people: positions of persons.
            steady_s: clock for heartbeats.
        """
        self._backend = backend
        self._options = options
        self._people = people
        self._steady_s = steady_s
        self._robot = backend if isinstance(backend, Supervised) else None
        self._pauses = self._robot is not None

    @property
    def attendance_counts(self) -> bool:
        """Whether rule 8 applies to this backend."""
        return self._options.executive.where.holds(simulated=self._backend.simulated)

    def limit(self, agent: str, guard: Guard) -> SpeedLimit:
        """Speed and lifetime limits of commands sent now (rules 8 and 9)."""
        careful = self._people.near(agent) or self._backend.observe(agent, ()).holding
        limit = speed_limit(self._options, careful=careful)
        if self.attendance_counts:
            limit = replace(limit, until_s=guard.attendance.until_s())
        return limit

    def pauses(self, guard: Guard) -> bool:
        """Whether the current motion has to pause (rule 8)."""
        if not (self._pauses and self.attendance_counts):
            return False
        return guard.attendance.step(self._steady_s()) is not Step.GOES_ON

    def _not_attended(
        self, agent: str, guard: Guard, primitive: Primitive
    ) -> PrimitiveResult | None:
        executive, now_s = self._options.executive, self._steady_s()
        # A motion may start paused, but only if the backend can pause.
        within_s = executive.stop_after_s if self._pauses else executive.pause_after_s
        if primitive.name not in self._backend.capabilities(agent).primitives:
            # The backend refuses unsupported primitives itself.
            return None
        if not self.attendance_counts or guard.attendance.attended_within(now_s, within_s):
            return None
        last = guard.attendance.last_heard(now_s)
        text = f"no executive attends{f' ({last})' if last else ''}; run `planner attend {agent}`"
        return not_allowed(
            agent, Rule.EXECUTIVE_LOST, "NOT_ATTENDED", f"{text}, or a planner that does"
        )

    def refusal(self, agent: str, guard: Guard, primitive: Primitive) -> PrimitiveResult | None:
        """The result that refuses a primitive; None if it may start."""
        if guard.unready:
            text = f"{', and '.join(guard.unready)}"
            return not_allowed(agent, Rule.CONSENT, "NOT_READY", text)
        concern = guard.blocking
        if concern is not None:
            return not_allowed(agent, concern.rule, concern.reason, concern.text)
        if primitive.name not in all_primitives():
            return None
        unattended = self._not_attended(agent, guard, primitive)
        if unattended is not None:
            return unattended
        if primitive.timeout_s > self._options.motion.longest_primitive_s:
            most = self._options.motion.longest_primitive_s
            text = f"timeout_s {primitive.timeout_s:g} is longer than {most:g} s"
            return not_allowed(agent, Rule.COMMANDS_EXPIRE, "TOO_LONG", text)
        if primitive.name == PrimitiveName.DRIVE:
            return self._drive_refusal(agent, guard, primitive)
        return self._zone_refusal(agent, primitive)

    def _drive_refusal(
        self, agent: str, guard: Guard, primitive: Primitive
    ) -> PrimitiveResult | None:
        """The result that refuses velocities; keep-out zones stop what is driven into them."""
        drive, able = primitive.drive, self._backend.capabilities(agent)
        if self._backend.simulated or drive is None or primitive.name not in able.primitives:
            # The backend refuses by itself what its body cannot do.
            return None
        if not 0.0 < drive.duration_s <= MAX_DRIVE_S:
            text = f"drive_s {drive.duration_s:g} is not above 0 and at most {MAX_DRIVE_S:g}"
            return not_allowed(agent, Rule.COMMANDS_EXPIRE, "TOO_LONG", text)
        if drive.moves_arm:
            text = "the arm of a robot is not moved by velocities"
            return not_allowed(agent, Rule.BOUNDED_SKILLS, "ARM_DRIVEN", text)
        limit = self.limit(agent, guard)
        within = (
            abs(drive.forward_m_s) <= limit.linear_m_s
            and abs(drive.turn_rad_s) <= limit.angular_rad_s
        )
        if not within:
            text = (
                f"{drive.forward_m_s:g} m/s and {drive.turn_rad_s:g} rad/s are more than "
                f"{limit.linear_m_s:g} m/s and {limit.angular_rad_s:g} rad/s"
            )
            return not_allowed(agent, Rule.SPEED, "TOO_FAST", text)
        return None

    def _zone_refusal(self, agent: str, primitive: Primitive) -> PrimitiveResult | None:
        zones = self._options.keep_out.zones
        if not zones or primitive.views_rad:
            return None
        target_m = in_map(self._backend, agent, primitive.target_m, primitive.frame)
        zone = zone_at(target_m, zones)
        if zone is None:
            return None
        text = f"the target lies in the keep-out zone {zone.name!r}"
        return not_allowed(agent, Rule.KEEP_OUT, "KEEP_OUT", text)

    def why_ask(self, agent: str, guard: Guard, primitive: Primitive) -> str:
        """Why a primitive needs approval; empty if it does not."""
        approval, simulated = self._options.approval, self._backend.simulated
        if primitive.name == PrimitiveName.DRIVE and not simulated:
            # Never without the operator, whatever is set for the arm.
            return guard.approvals.reason(primitive, person_near=self._people.near(agent))
        if not approval.where.holds(simulated=simulated) or primitive.name not in ARM:
            return ""
        return guard.approvals.reason(primitive, person_near=self._people.near(agent))

    def cannot(self, agent: str, primitive: Primitive) -> PrimitiveResult | None:
        """The result of what a hand cannot do as it is; None if it may, or one of several can.

        The operator is not asked about that.
        """
        holds, able = self._backend.observe(agent, ()).holding, self._backend.capabilities(agent)
        if able.hands == 1 and primitive.name in (PrimitiveName.PICK, PrimitiveName.PLACE):
            if holds and primitive.name == PrimitiveName.PICK:
                return PrimitiveResult(PrimitiveCode.HAND_FULL, "the hand already holds something")
            if not holds and primitive.name == PrimitiveName.PLACE:
                return PrimitiveResult(PrimitiveCode.HAND_EMPTY, "the hand holds nothing")
        return None

    def why_stop(self, agent: str, guard: Guard, *, reaches: bool) -> Concern | None:
        """Why an agent has to stop; None if it may go on.

        Args:
            agent: a busy agent.
            guard: its state.
            reaches: whether its arm moves without approval (rule 12).
        """
        stops = next((c for c in guard.concerns if c.severity is Severity.STOPS), None)
        if stops is not None:
            return stops
        if guard.hindrances:
            text = ", and ".join(guard.hindrances)
            return Concern(Rule.CONSENT, Severity.STOPS, "NOT_READY", text)
        now_s = self._steady_s()
        ending = (Step.ENDS,) if self._pauses else (Step.ENDS, Step.PAUSES)
        if self.attendance_counts and guard.attendance.step(now_s) in ending:
            silent_s = guard.attendance.silent_s(now_s)
            who = guard.attendance.missing(now_s)
            text = f"the executive {who} was not heard for {silent_s:.1f} s"
            return Concern(Rule.EXECUTIVE_LOST, Severity.STOPS, "EXECUTIVE_LOST", text)
        if reaches and self._people.near(agent):
            near_m = self._options.people.near_m
            text = self._people.unknown or f"a person came within {near_m:g} m of the moving arm"
            return Concern(Rule.ARM, Severity.STOPS, "PERSON_NEAR", text)
        if self._options.keep_out.zones:
            seen, radius_m = self._backend.observe(agent, ()), guard.radius_m
            late_s = 0.0 if self._robot is None else self._robot.health(agent).round_trip_s
            zone = None
            if seen.linear_m_s:
                zone = zone_ahead(seen.base, seen.linear_m_s, self._options, radius_m, late_s)
            if zone is not None:
                text = f"the keep-out zone {zone.name!r} is right ahead"
                return Concern(Rule.KEEP_OUT, Severity.STOPS, "KEEP_OUT", text)
        return None
