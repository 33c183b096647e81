"""The safety gate in front of every backend: checks commands and keeps receipts."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.state import WorldState
from sim_bridge.backend import Backend, Handle
from sim_bridge.one_robot import Command, Control, Outcome
from sim_bridge.safety.approvals import (
    ARM,
    LOCAL_EXECUTIVE,
    Approvals,
    Attendance,
    Ending,
    Heartbeat,
    Question,
    Questions,
)
from sim_bridge.safety.guard import Concern, Entry, Guard, Mode, Order, Watch, not_allowed
from sim_bridge.safety.health import Health, Lease, Receipt, Supervised, unsupervised_methods
from sim_bridge.safety.options import Rule, SafetyOptions, default_safety
from sim_bridge.safety.order_executor import (
    Answers,
    Effects,
    HomeAction,
    OrderExecutor,
    begin_way,
    put_to_rest,
    what_rests,
    why_not_home,
)
from sim_bridge.safety.verdicts import People, Verdicts

MAX_RECEIPTS = 1000
# To take the lease by force, a person must have been shown its owner within this time.
FORCE_WITHIN_S = 10.0


class SafetyGate:
    """A `Backend` that enforces the safety rules on another one.

    Simulated agents may do everything from the start; real ones nothing until the operator has
    claimed them, powered them on and let them stand.
    """

    def __init__(
        self,
        backend: Backend,
        options: SafetyOptions | None = None,
        people: Callable[[], Sequence[Vec3]] | None = None,
        steady_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Wraps `backend`.

        Args:
            backend: the world; a `Supervised` one is also monitored and commanded.
            options: parameters of the rules; None = config/safety.yaml.
            people: positions of persons, in `map`; None = the ground truth, if any.
            steady_s: clock for heartbeats; never the world's, which may be paused.

        Raises:
            PlannerError: for a robot backend that cannot be supervised.
        """
        lacking = [] if backend.simulated else unsupervised_methods(backend)
        if lacking:
            raise PlannerError(
                f"{type(backend).__name__} is not a simulator and cannot be supervised: it lacks "
                f"{', '.join(lacking)} (sim_bridge/safety/health.py, Supervised)"
            )
        self.backend = backend
        self.options = options or default_safety()
        self._robot = backend if isinstance(backend, Supervised) else None
        if self._robot is not None:
            self._robot.obey(self.options)
        self.people = People(backend, self.options, people)
        self._steady_s = steady_s
        self._verdicts = Verdicts(backend, self.options, self.people, steady_s)
        self._entries: list[Entry] = []
        self._guards: dict[str, Guard] = {}
        self._receipts: deque[Receipt] = deque(maxlen=MAX_RECEIPTS)
        self.questions = Questions(backend)
        effects = Effects(self._entries.__getitem__, self._launch, self._finish, self._note)
        self.answers = Answers(
            backend, self.questions, self._verdicts, lambda: self._guards, effects
        )
        self._orders = OrderExecutor(
            self._robot, self.stop, self._note, self.answers.begin_claim, self._concern
        )
        self._closed = False
        self._local_sequence = 0

    # Backend

    @property
    def simulated(self) -> bool:
        """Whether the world behind is a simulator."""
        return self.backend.simulated

    @property
    def agents(self) -> tuple[str, ...]:
        """The loaded episode's agents."""
        return self.backend.agents

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; on an error everything stays as it was."""
        for agent, guard in self._guards.items():
            if guard.order is not None:
                raise PlannerError(f"{agent}: {guard.order.command} is under way; load it after")
        self.backend.reset(house, episode, seed)
        self.people.forget()
        self.questions.end_all(Ending.NEW_EPISODE)
        self._entries.clear()
        # Attendance carries over to the next episode.
        attended = {agent: guard.attendance for agent, guard in self._guards.items()}
        for attendance in attended.values():
            attendance.end()
        self._guards = {
            agent: Guard(
                Control(ready=self.simulated),
                Watch(self.options),
                Approvals(every_grasp=self.options.approval.every_grasp),
                attended.get(agent) or Attendance(self.options.executive),
                radius_m=self.backend.capabilities(agent).radius_m,
            )
            for agent in self.agents
        }

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent can do here."""
        return self.backend.capabilities(agent)

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """What the agent senses now; needs no permission."""
        return self.backend.observe(agent, cameras)

    def world_state(self) -> WorldState | None:
        """Ground truth, or None if it is unknown."""
        return self.backend.world_state()

    def now_s(self) -> float:
        """Seconds on the world's clock."""
        return self.backend.now_s()

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive if the rules allow it; a refusal is its polled result."""
        handle = Handle(len(self._entries))
        entry = Entry(agent, primitive, None)
        self._entries.append(entry)
        guard = self._guards.get(agent)
        if self.questions.waiting(agent) is not None:
            busy = PrimitiveResult(PrimitiveCode.BUSY, f"{agent} waits for approval of another")
            self._finish_status(entry, busy)
            self.refused(agent, entry.name, busy.text)
            return handle
        if guard is None or self._is_busy(guard):
            # The backend refuses unknown and busy agents itself.
            entry.inner = self.backend.start(agent, primitive)
            self._note_refusal(entry)
            return handle
        self._clear(agent, guard)
        refusal = self._verdicts.refusal(agent, guard, primitive)
        if refusal is not None:
            self._finish(entry, refusal)
            return handle
        guard.current = handle
        guard.attendance.begin(self._steady_s())
        self._bound(agent, guard)
        why = self._verdicts.why_ask(agent, guard, primitive)
        if not why:
            self._launch(entry)
            return handle
        cannot = self._verdicts.cannot(agent, primitive)
        if cannot is not None:
            self._finish_status(entry, cannot)
            self.refused(agent, entry.name, cannot.text)
            return handle
        self.questions.ask(agent, handle, primitive, why, self.options.approval.timeout_s)
        self._note(agent, primitive.name, False, f"waits for approval: {why}", Rule.APPROVAL)
        return handle

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """How a primitive stands."""
        if not 0 <= handle < len(self._entries):
            raise PlannerError(f"unknown primitive handle: {handle}")
        entry = self._entries[handle]
        if entry.end is not None:
            return entry.end
        if entry.inner is None:
            return PrimitiveStatus("waiting for approval", 0.0, None)
        status = self.backend.poll(entry.inner)
        if status.done or not self._guards[entry.agent].held:
            return status
        return PrimitiveStatus("paused: no heartbeat", status.progress, None)

    def cancel(self, handle: Handle) -> None:
        """Ends a primitive and stops its agent."""
        if self.poll(handle).done:
            return
        entry = self._entries[handle]
        if entry.inner is None:
            self.questions.end(entry.agent, Ending.CANCELED)
            self._finish_status(entry, PrimitiveResult(PrimitiveCode.CANCELED, "canceled"))
        else:
            self.backend.cancel(entry.inner)

    def stop(self, agent: str) -> None:
        """Stops an agent at once; never refused."""
        asked = self.questions.end(agent, Ending.STOPPED)
        if asked is not None:
            result = PrimitiveResult(PrimitiveCode.STOPPED, "the agent was stopped")
            self._finish_status(self._entries[asked.handle], result)
        self.backend.stop(agent)

    def step(self, dt_s: float) -> None:
        """Advances time and checks all rules."""
        self.backend.step(dt_s)
        for agent, guard in self._guards.items():
            self._watch(agent, guard)
        self.follow_orders()

    def follow_orders(self) -> None:
        """Checks which commands have ended; also between steps, if the backend notifies."""
        for agent, guard in self._guards.items():
            self._orders.follow(agent, guard)

    def close(self) -> None:
        """Leaves every agent safe (rule 18) and frees the world; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        for agent, guard in self._guards.items():
            self._orders.give_up(agent, guard, "the world was closed")
            self.stop(agent)
            if self._robot is not None and not self.simulated and guard.control.claimed:
                for step, outcome in put_to_rest(self._robot, agent, self.options.shutdown_s):
                    self._note(agent, step, outcome.success, outcome.message, Rule.SHUTDOWN)
        self.backend.close()

    # Operator

    def command(self, agent: str, command: Command) -> Outcome:
        """Carries out a Trigger service's command and waits for it, or refuses it."""
        self._guards[agent].attendance.operated(self._steady_s())
        return self._orders.carry_out(agent, self._guards[agent], command)

    def order(self, agent: str, command: Command) -> Order:
        """Starts the same without waiting; a robot's outcome comes with a later `step`."""
        self._guards[agent].attendance.operated(self._steady_s())
        return self._orders.take(agent, self._guards[agent], command)

    def take_lease(self, agent: str) -> Outcome:
        """Takes the lease by force, at the second call of a person who was shown the owner."""
        guard, health = self._guards[agent], self.health(agent)
        if self._robot is None or health.lease is not Lease.OTHERS:
            outcome = Outcome(False, "nobody else holds the lease; claim the agent")
        elif guard.shown is None or not self._shown(guard, health.owner):
            guard.shown = (health.owner, self.now_s())
            outcome = Outcome(
                False,
                f"{health.owner or 'somebody'} holds the lease; ask them first. To take it by "
                f"force, call again within {FORCE_WITHIN_S:.0f} s",
            )
        else:
            guard.shown = None
            outcome = self._robot.take_lease(agent)
            if outcome.success:
                self.answers.begin_claim(agent)
                guard.control.claimed = True
                guard.watch.claimed()
        self._note(agent, "take_lease", outcome.success, outcome.message, Rule.LEASE_IS_NEVER_TAKEN)
        return outcome

    def _shown(self, guard: Guard, owner: str) -> bool:
        if guard.shown is None:
            return False
        name, at_s = guard.shown
        return name == owner and self.now_s() - at_s <= FORCE_WITHIN_S

    def asked(self, agent: str) -> Question | None:
        """The open approval question, if any."""
        return self.questions.waiting(agent)

    def attend(self, agent: str, heartbeat: Heartbeat | None = None) -> None:
        """A heartbeat of an executive (rule 8); None = of a program in this process."""
        guard = self._guards.get(agent)
        if guard is not None:
            self._local_sequence += 1
            guard.attendance.receive(
                heartbeat or Heartbeat(LOCAL_EXECUTIVE, self._local_sequence), self._steady_s()
            )

    def miss(self, agent: str, *, everyone: bool) -> None:
        """The middleware reports missing heartbeats; `everyone`: no publisher is left."""
        guard = self._guards.get(agent)
        if guard is not None:
            guard.attendance.miss(self._steady_s(), everyone=everyone)

    def executives(self, agent: str) -> tuple[str, ...]:
        """Executives that attend the agent now."""
        return tuple(sorted(self._guards[agent].attendance.executives(self._steady_s())))

    # State

    def control(self, agent: str) -> Control:
        """Whether the agent is claimed, powered, standing, or emergency-stopped."""
        return self._guards[agent].control

    def health(self, agent: str) -> Health:
        """A robot's reported health; simulated agents are always healthy."""
        return self._robot.health(agent) if self._robot is not None else Health()

    def obstacles(self, agent: str) -> tuple[str, ...]:
        """Why the agent may not move, in the order in which to clear them; empty if it may."""
        return self._guards[agent].obstacles

    def warnings(self, agent: str) -> tuple[str, ...]:
        """Problems that do not keep the agent from moving, though maybe slower."""
        unknown = self.people.unknown
        return (*self._guards[agent].warnings, *([unknown] if unknown else ()))

    def under_way(self, agent: str) -> str:
        """The command that a robot is still carrying out; empty if none."""
        order = self._guards[agent].order
        return "" if order is None else str(order.command)

    def mode(self, agent: str) -> Mode:
        """What the agent is allowed to do, in one word."""
        return self._guards[agent].mode

    def refused(self, agent: str, command: str, reason: str, rule: Rule | None = None) -> None:
        """Keeps a receipt of a command that was not started."""
        self._note(agent, command, False, reason, rule)

    def take_receipts(self) -> list[Receipt]:
        """The receipts since the last call, oldest first."""
        taken = list(self._receipts)
        self._receipts.clear()
        return taken

    # Rules

    def _is_busy(self, guard: Guard) -> bool:
        return guard.current is not None and not self.poll(guard.current).done

    def _watch(self, agent: str, guard: Guard) -> None:
        self._clear(agent, guard)
        self._concern(agent, guard)
        if self._robot is not None:
            self._follow_robot(agent, guard)
        self.answers.expire(agent)
        if self._is_busy(guard):
            end = self._verdicts.why_stop(agent, guard, reaches=self._reaches(guard))
            if end is not None:
                self._halt(agent, guard, end)
            else:
                self._hold(agent, guard, held=self._verdicts.pauses(guard))
        self._clear(agent, guard)
        self._rest(agent, guard)

    def _concern(self, agent: str, guard: Guard) -> Concern | None:
        """Looks at the robot's health; the first reason why it may not move, None if it may."""
        found = guard.watch.look(self.health(agent), self.now_s()) if self._robot else []
        guard.concerns = found
        return guard.blocking

    def _follow_robot(self, agent: str, guard: Guard) -> None:
        """Takes claim, power and posture from the robot's own report."""
        if self._robot is None:
            return
        health, control = self._robot.health(agent), guard.control
        lost = any(c.rule is Rule.LEASE_LOST for c in guard.concerns)
        control.claimed = control.claimed and health.lease is not Lease.FREE and not lost
        if not control.claimed:
            guard.approvals.forget()
        control.powered = control.powered and health.powered
        control.standing = control.standing and health.standing
        self._bound(agent, guard)

    def _bound(self, agent: str, guard: Guard) -> None:
        """Updates the robot's speed limit (rules 8 and 9)."""
        if self._robot is not None:
            self._robot.limit_speed(agent, self._verdicts.limit(agent, guard))

    def _reaches(self, guard: Guard) -> bool:
        """Whether a robot's arm moves without the operator's approval."""
        handle = guard.current
        if self._robot is None or handle is None or handle == guard.approved:
            return False
        entry = self._entries[handle]
        return entry.inner is not None and entry.primitive.name in ARM

    def _halt(self, agent: str, guard: Guard, why: Concern) -> None:
        handle = guard.current
        if handle is None:
            return
        self.questions.end(agent, f"ended: {why.text}")
        self.backend.stop(agent)
        code = PrimitiveCode.NOT_ALLOWED
        self._finish(
            self._entries[handle], not_allowed(agent, why.rule, why.reason, why.text, code)
        )

    def _hold(self, agent: str, guard: Guard, *, held: bool) -> None:
        """Pauses a motion whose executive is silent, or resumes it (rule 8)."""
        launched = guard.current is not None and self._entries[guard.current].inner is not None
        if self._robot is None or held == guard.held or not launched:
            return
        guard.held = held
        if held:
            self._robot.pause(agent)
            who = guard.attendance.missing(self._steady_s())
            text = f"the executive {who} is not heard: it halts"
        else:
            self._robot.resume(agent)
            text = "the executive is heard again: it goes on"
        self._note(agent, "pause" if held else "resume", True, text, Rule.EXECUTIVE_LOST)

    def _clear(self, agent: str, guard: Guard) -> None:
        """Clears the primitive that has ended."""
        if guard.current is None or self._is_busy(guard):
            return
        guard.current = None
        guard.attendance.end()
        if guard.held and self._robot is not None:
            guard.held = False
            self._robot.resume(agent)

    def _rest(self, agent: str, guard: Guard) -> None:
        """Brings an unattended agent, or one with an empty battery, to rest."""
        if self._robot is None or not guard.control.claimed:
            return
        self._arrive(agent, guard)
        executive = self.options.executive
        alone = (
            executive.where.holds(simulated=self.simulated)
            and guard.control.standing
            and guard.attendance.alone_s(self._steady_s()) > executive.sit_after_s
        )
        reasons = {concern.reason for concern in guard.concerns}
        health, idle = self._robot.health(agent), not self._is_busy(guard)
        # Without power it lies on the ground already.
        rests = health.docked or not health.powered
        commands, rule = what_rests(reasons, idle=idle, alone=alone, docked=rests)
        if commands == (Command.SIT,) and rule is Rule.BATTERY and self._sent_home(agent, guard):
            return
        for command in commands:
            if command in guard.rested:
                continue
            if guard.order is not None:
                # One command at a time.
                return
            guard.rested.add(command)
            done = Outcome(True, f"{command} done")
            self._orders.begin(agent, guard, Order(command, rule, done))

    def go_home(self, agent: str, *, leave: bool = False) -> Outcome:
        """Docks or undocks an agent for the operator; receipts record the outcome."""
        guard, action = self._guards[agent], HomeAction.UNDOCK if leave else HomeAction.DOCK
        why = why_not_home(guard, action, busy=self._is_busy(guard))
        if not why and not self._begin_way(agent, guard, action):
            why = "it has no dock (dock in its settings)"
        if why:
            self._note(agent, action, False, why, Rule.CONSENT)
            return Outcome(False, f"{action} is refused: {why}")
        return Outcome(True, f"{action} has begun")

    def _begin_way(self, agent: str, guard: Guard, action: HomeAction) -> bool:
        """Starts docking or undocking; False without a dock."""
        inner = None if self._robot is None else begin_way(self._robot, agent, action)
        if inner is None:
            return False
        self._clear(agent, guard)
        guard.current = guard.home = Handle(len(self._entries))
        place = Primitive(PrimitiveName.NAVIGATE, (0.0, 0.0, 0.0))
        self._entries.append(Entry(agent, place, inner, action=action))
        self._note(agent, action, True, "allowed", None)
        return True

    def _sent_home(self, agent: str, guard: Guard) -> bool:
        """Sends an agent with a low battery to its dock, once; whether it has started."""
        sent, guard.sent_home = guard.sent_home, True
        return not sent and self._begin_way(agent, guard, HomeAction.DOCK)

    def _arrive(self, agent: str, guard: Guard) -> None:
        """Records the end of docking or undocking; on the dock the motors are switched off."""
        handle = guard.home
        if handle is None or self._robot is None:
            return
        # The gate itself commanded it (rule 8).
        guard.attendance.operated(self._steady_s())
        result = self.poll(handle).result
        if result is None:
            return
        guard.home = None
        action = self._entries[handle].name
        if self._entries[handle].end is None:
            self._note(agent, action, result.succeeded, result.text, Rule.BATTERY)
        if not result.succeeded:
            return
        guard.control.standing, guard.sent_home = action == HomeAction.UNDOCK, False
        if action == HomeAction.DOCK and guard.order is None:
            off = Outcome(True, "motors off on the dock")
            self._orders.begin(agent, guard, Order(Command.POWER_OFF, Rule.BATTERY, off))

    # Ends and receipts

    def _launch(self, entry: Entry) -> str:
        """Starts a primitive; why the backend refused it, empty if it did not."""
        guard = self._guards[entry.agent]
        if self._robot is not None and self._verdicts.pauses(guard):
            # Its executive has just fallen silent: it starts paused.
            guard.held = True
            self._robot.pause(entry.agent)
        entry.inner = self.backend.start(entry.agent, entry.primitive)
        why = self._note_refusal(entry)
        if not why:
            self._note(entry.agent, entry.primitive.name, True, "allowed", None)
        return why

    def _note_refusal(self, entry: Entry) -> str:
        """Why the backend refused to start, empty if it did not; keeps a receipt."""
        result = None if entry.inner is None else self.backend.poll(entry.inner).result
        if result is None or result.succeeded:
            return ""
        self.refused(entry.agent, entry.name, result.text)
        return result.text

    def _finish(self, entry: Entry, result: PrimitiveResult) -> None:
        self._finish_status(entry, result)
        rule = Rule(result.rule)
        self._note(entry.agent, entry.name, False, result.text, rule)

    @staticmethod
    def _finish_status(entry: Entry, result: PrimitiveResult) -> None:
        entry.end = PrimitiveStatus("refused" if entry.inner is None else "done", 0.0, result)

    def _note(
        self, agent: str, command: str, allowed: bool, reason: str, rule: Rule | None
    ) -> None:
        kept = None if allowed else rule
        self._receipts.append(Receipt(self.now_s(), agent, str(command), allowed, reason, kept))
