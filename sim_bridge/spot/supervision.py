"""The operator's commands to the robot, and the robot's health."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Protocol

from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from sim_bridge.one_robot import Command, Outcome
from sim_bridge.safety.health import Fault, Health, Lease
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.connection import SDK_ERRORS, explain
from sim_bridge.spot.convert import BodyState, hand_before_body, read_state, stamp_s
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.localisation import RENEW_S, Localisation, NoGoRegions
from sim_bridge.spot.permit import EstopProcess, LeaseEntry, WithdrawnError

# Runs an operator's command in a thread of its own.

_STEP_S = 0.05
# A command of several steps, resumed after each state of the robot.
Steps = Generator[None, None, Outcome]


class BackgroundSteps:
    """Runs steps to their end, unless a stop or another command replaces them."""

    def __init__(self, link: SpotLink, steps: Steps, *, urgent: bool) -> None:
        """Starts; `urgent` steps use the stop channel."""
        self._link, self._steps, self._urgent = link, steps, urgent
        self._grant = link.permit.epoch
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="spot-command", daemon=True).start()

    def follow(self) -> Steps:
        """Steps that wait for the thread without blocking."""
        while self._outcome is None:
            if self._error is not None:
                raise self._error
            yield
        return self._outcome

    def _run(self) -> None:
        try:
            with self._link.permit.granted(self._grant):
                if self._urgent:
                    with self._link.urgently():
                        self._outcome = self._run_steps()
                else:
                    self._outcome = self._run_steps()
        except BaseException as error:
            self._error = error

    def _run_steps(self) -> Outcome:
        try:
            while not self._link.permit.withdrawn:
                next(self._steps)
                time.sleep(_STEP_S)
        except StopIteration as end:
            outcome: Outcome = end.value
            return outcome
        except WithdrawnError:
            pass
        except SDK_ERRORS as error:
            return Outcome(False, explain(error))
        return Outcome(False, "another command took its place")


RETAIN_S = 0.5
# Timeout for motor power, standing, sitting and stowing.
POSTURE_TIMEOUT_S = 15.0
MAX_CLOCK_JUMP_S = 1.0
Check = Callable[[], bool]
# Commands that reduce motion use the stop channel.
CALMING = frozenset(
    {Command.SIT, Command.POWER_OFF, Command.ESTOP_GENTLE, Command.ESTOP_HARD, Command.STOP}
)


class Stopper(Protocol):
    """Stops the robot without blocking the caller."""

    def halt(self) -> int:
        """Requests a stop; returns its number."""

    def under_way(self) -> int:
        """The number of the newest unanswered stop; 0 if none."""

    def halted(self, number: int) -> Outcome | None:
        """The outcome of a stop; None while it is running."""


class Supervision:
    """One robot's health, lease, power and posture. `wait` sleeps for a moment."""

    def __init__(
        self,
        link: SpotLink,
        localisation: Localisation,
        safety: SafetyOptions,
        wait: Callable[[], None],
    ) -> None:
        self.link, self.localisation, self.safety = link, localisation, safety
        self._wait = wait
        self.estop: EstopProcess | None = None
        # For a real robot: stops it in a thread of its own.
        self.stopper: Stopper | None = None
        self._no_go = NoGoRegions(link, safety.keep_out, safety.timeouts)
        self._reported: set[str] = set()
        self._answered = False
        self.forget()

    def forget(self) -> None:
        """Resets for another episode."""
        self._state: BodyState | None = None
        self.good_s = self._retained_s = self._zones_sent_s = -math.inf
        self._compared_s, self._skew_s = self.link.now_s(), self.link.skew_s
        self._entry = LeaseEntry()
        self._clock_jumped = self._clock_set_back = False
        self._steps: Steps | None = None
        self.round_trip_s = 0.0

    @property
    def state(self) -> BodyState:
        """The last known state of the robot.

        Raises:
            PlannerError: before the first state.
        """
        if self._state is None:
            raise PlannerError("spot: the robot has not reported its state yet")
        return self._state

    @property
    def base(self) -> Pose:
        """`base_link` in the map, as localised, on the ground."""
        pose = self.localisation.odom_in_map.compose(self.state.odometry)
        x, y, _ = pose.position_m
        return Pose.planar(x, y, pose.yaw_rad)

    def attempt(self, call: Callable[[], object]) -> str:
        """Makes a call; returns why it failed, or empty."""
        try:
            call()
        except (*SDK_ERRORS, PlannerError) as error:
            return explain(error)
        return ""

    # State

    def refresh(self) -> bool:
        """Reads the state and does what is due; False if the robot does not answer.

        For stepped time; with a real robot threads do the same.
        """
        if self.estop is not None:
            self.estop.alive()
        if not self.poll():
            return False
        if self.good_s - self._retained_s >= RETAIN_S:
            self.keep_lease(well=True)
        self.tidy()
        return True

    def poll(self) -> bool:
        """Reads the robot's state; whether it answered."""
        asked_s = self.link.now_s()
        self._answered = not self.attempt(self.read_state)
        if self._answered:
            self.good_s = asked_s
            took_s = self.link.now_s() - asked_s
            # Rises at once and falls slowly, so that occasional delays count.
            self.round_trip_s = max(took_s, self.round_trip_s + 0.1 * (took_s - self.round_trip_s))
        return self._answered

    def keep_lease(self, *, well: bool) -> None:
        """Reads the lease's owner and, if the bridge is `well`, retains lease and policy."""
        self._retained_s = self.link.now_s()
        self.attempt(self._read_lease)
        if well and self.link.lease is not None and self._is_ours():
            self.attempt(self.link.retain)

    def tidy(self) -> None:
        """Does periodic maintenance that is due."""
        now_s = self.link.now_s()
        if self.stopper is not None:
            self.link.keep_warm()
        if self.localisation.due:
            self.attempt(lambda: self.localisation.update(self.state.odometry))
        if now_s - self._compared_s >= self.safety.link.compare_clocks_s:
            self._compared_s = now_s
            self._compare_clocks()
        if self.safety.keep_out.zones and now_s - self._zones_sent_s >= RENEW_S:
            self._zones_sent_s = now_s
            self.attempt(lambda: self._no_go.renew(self.localisation.odom_in_map))

    def _compare_clocks(self) -> None:
        if not self.attempt(self.link.synchronize_again):
            self._judge_clock()

    def _judge_clock(self) -> None:
        skew_s = self.link.skew_s
        self._clock_jumped = self._clock_jumped or abs(skew_s - self._skew_s) > MAX_CLOCK_JUMP_S
        self._skew_s = skew_s

    def read_state(self) -> None:
        """Reads the state, and with it the robot's clock."""
        asked_s = self.link.now_s()
        told = self.link.state()
        moved_s = self.link.sync.check(stamp_s(told), asked_s, self.link.now_s())
        if moved_s:
            self._judge_clock()
            # The next comparison is due at once.
            self._compared_s = -math.inf
            self._clock_set_back = self._clock_set_back or moved_s < 0
        self._state = read_state(told)

    def was_set_back(self) -> bool:
        """Whether the robot's clock was set back since the last call.

        Commands sent before, by the older estimate, then live longer than intended.
        """
        found, self._clock_set_back = self._clock_set_back, False
        return found

    def _read_lease(self) -> None:
        held = self.link.lease
        entry = self.link.lease_book()
        # Another thread may have claimed or released meanwhile: the answer is of before that.
        if self.link.lease is held:
            self._entry = entry

    def lease(self) -> Lease:
        """Who may command the robot, as last reported."""
        if not self._entry.owner:
            return Lease.FREE
        return Lease.OURS if self._entry.ours else Lease.OTHERS

    def health(self) -> Health:
        """The last known health of the robot."""
        state = self._state
        if state is None:
            return Health(age_s=math.inf, powered=False, standing=False)
        faults = state.faults
        if self._clock_jumped:
            faults = (*faults, Fault("the robot's clock jumped; claim it again", "CLOCK", True))
        if self.localisation.trouble:
            faults = (*faults, Fault(self.localisation.trouble, "LOCALISATION", True))
        return Health(
            age_s=max(0.0, self.link.now_s() - self.good_s),
            epoch=self._entry.epoch,
            lease=self.lease(),
            owner=self._entry.owner,
            battery=state.battery,
            estopped=state.estopped,
            powered=state.powered,
            standing=state.standing,
            docked=state.docked,
            faults=faults,
            round_trip_s=self.round_trip_s,
        )

    # The operator's commands

    def begin(self, command: Command, within_s: float = POSTURE_TIMEOUT_S) -> Outcome | None:
        """Starts a Trigger service's command, replacing the current one.

        Returns:
            Its outcome, or None while it is running: then poll `ended`.
        """
        self._steps = self._on_a_thread(command, within_s)
        return self.ended()

    def _on_a_thread(self, command: Command, within_s: float) -> Steps:
        """The steps of a command; with a real robot they run in a thread and never block."""
        if self.stopper is None:
            return self._carry_out(command, within_s)
        # The previous command may send nothing more.
        self.link.permit.withdraw()
        if command is Command.STOP:
            # The gate has just requested one: a second would cost another round trip.
            number = self.stopper.under_way() or self.stopper.halt()
            return _until_halted(self.stopper, number)
        steps = self._carry_out(command, within_s)
        return BackgroundSteps(self.link, steps, urgent=command in CALMING).follow()

    def ended(self) -> Outcome | None:
        """The outcome of the command; None while it is running. To be polled after each `refresh`.

        Raises:
            PlannerError: if none was started.
        """
        if self._steps is None:
            raise PlannerError("spot: no command is under way")
        try:
            next(self._steps)
        except StopIteration as end:
            self._steps = None
            outcome: Outcome = end.value
            return outcome
        return None

    @property
    def busy(self) -> bool:
        """Whether a command is running."""
        return self._steps is not None

    def operate(self, command: Command, within_s: float = POSTURE_TIMEOUT_S) -> Outcome:
        """The same, and waits for its end."""
        return self._wait_for(self._on_a_thread(command, within_s))

    def _wait_for(self, steps: Steps) -> Outcome:
        self._steps = steps
        outcome = self.ended()
        while outcome is None:
            self._wait()
            if self.stopper is None:
                self.refresh()
            outcome = self.ended()
        return outcome

    def _carry_out(self, command: Command, within_s: float) -> Steps:
        link = self.link
        if self.estop is not None and command in (
            Command.ESTOP_GENTLE,
            Command.ESTOP_HARD,
            Command.ESTOP_RELEASE,
        ):
            return (yield from self._by_endpoint(self.estop, command, within_s))
        if command is Command.SIT:
            return (yield from self._sit(within_s))
        gentle = command is Command.ESTOP_GENTLE
        if gentle or command is Command.POWER_OFF:
            # A standing robot would fall; one without power lies on the ground or the dock.
            state, command = self.state, Command.POWER_OFF
            if state.powered and not state.docked:
                sat = yield from self._sit(within_s)
                if not sat.success and (gentle or self.state.standing):
                    return _no_stop(sat) if gentle else _still_up(sat)
        actions: Mapping[Command, tuple[Callable[[], object], str, Check]] = {
            Command.CLAIM: (self._claim, "claimed", self._is_ours),
            Command.RELEASE: (self._release, "released", lambda: True),
            Command.POWER_ON: (lambda: link.power(on=True), "motors on", self._is_on),
            Command.POWER_OFF: (lambda: link.power(on=False), "motors off", self._is_off),
            Command.STAND: (link.stand, "standing", lambda: self.state.standing),
            Command.STOP: (self.halt, "stopped", lambda: True),
            Command.ESTOP_HARD: (lambda: link.power(on=False), "motors cut", self._is_off),
            Command.ESTOP_RELEASE: (lambda: None, "released", lambda: True),
        }
        outcome = yield from self._done(*actions[command], within_s)
        hard = command is Command.ESTOP_HARD
        return _no_stop(outcome) if hard and not outcome.success else outcome

    def _sit(self, within_s: float) -> Steps:
        """Sits down; `standing` is False before the robot has reached the ground."""
        numbers: list[int] = []

        def down() -> bool:
            told = self.link.feedback(numbers[-1]).synchronized_feedback
            return self.link.sits(told.mobility_command_feedback)

        def sit() -> None:
            numbers.append(self.link.sit())

        return (yield from self._done(sit, "sitting", down, within_s))

    def _by_endpoint(self, estop: EstopProcess, command: Command, within_s: float) -> Steps:
        why = estop.set(command)
        if why:
            return Outcome(False, f"{why}; use the stop on the tablet")
        if command is Command.ESTOP_RELEASE:
            return Outcome(True, "released")
        return (yield from self._done(lambda: None, "motors cut", self._is_off, within_s))

    def _is_ours(self) -> bool:
        return self.lease() is Lease.OURS

    def _is_on(self) -> bool:
        return self.state.powered

    def _is_off(self) -> bool:
        return self.state.off

    def _claim(self) -> None:
        """Acquires the lease and uploads the map, which only the owner may do.

        Raises:
            PlannerError: if the robot rejects the map; the lease is returned then.
        """
        if self.link.lease is None or not self._is_ours():
            self._begin(self.link.claim)
        else:
            # A release may have failed half way: restore the policy (rule 3).
            self.link.retain()
            self.localisation.forget_the_way()
            self.attempt(lambda: self.localisation.update(self.state.odometry))
            self._accept_clock()

    def _release(self) -> None:
        self.link.release()
        self.attempt(self._read_lease)

    def _begin(self, get_lease: Callable[[], None]) -> None:
        get_lease()
        self.attempt(self._read_lease)
        self.localisation.forget_the_way()
        graph = self.localisation.graph
        if graph is not None:
            try:
                graph.prepare()
            except PlannerError:
                self.link.release()
                raise
            self.localisation.update(self.state.odometry)
        self._accept_clock()

    def _accept_clock(self) -> None:
        """Takes the robot's time for granted after a jump, once the clocks were compared."""
        if self._clock_jumped:
            self.link.synchronize_again()
            self._skew_s, self._clock_jumped = self.link.skew_s, False

    def halt(self, answer_s: float | None = None) -> None:
        """Stops every motion, if the robot is ours and powered."""
        if self._state is not None and not self._state.powered:
            return
        if self.link.lease is not None and self._is_ours():
            self.link.halt(answer_s)

    def take_lease(self) -> Outcome:
        """Takes the lease by force, for a person who was shown its owner."""
        take = partial(self._begin, self.link.take)
        steps = self._done(take, "the lease was taken", self._is_ours, POSTURE_TIMEOUT_S)
        return self._wait_for(steps)

    def stow(self, within_s: float) -> Outcome:
        """Folds the arm, unless the gripper holds something."""
        if self._state is None or self._state.holding or not self._state.standing:
            return Outcome(True, "the arm stays as it is")
        numbers: list[int] = []

        def there() -> bool:
            told = self.link.feedback(numbers[-1]).synchronized_feedback.arm_command_feedback
            kind = told.WhichOneof("feedback")
            return kind is not None and getattr(told, kind).status == 1

        if self.link.reached_out:
            before = hand_before_body(self._state)
            reach = partial(self.link.reach, before)
            within_s /= 2
            self._wait_for(
                self._done(lambda: numbers.append(reach()), "before the body", there, within_s)
            )
        return self._wait_for(
            self._done(lambda: numbers.append(self.link.stow()), "stowed", there, within_s)
        )

    def clear_faults(self, cause: str) -> None:
        """Clears the behaviour faults of one cause."""
        for number in self.state.fault_numbers.get(cause, []):
            self.attempt(lambda number=number: self.link.clear_fault(number))  # type: ignore[misc]

    def _done(self, call: Callable[[], object], text: str, there: Check, within_s: float) -> Steps:
        why = self.attempt(call)
        if why:
            return Outcome(False, why)
        self._retained_s = -math.inf
        until_s = self.link.now_s() + within_s
        # A state from before the command does not show its effect.
        if self.stopper is None:
            self.refresh()
        else:
            self.poll()
        while self.link.now_s() < until_s:
            if self._answered and self._holds(there):
                return Outcome(True, text)
            yield
        return Outcome(False, f"the robot did not get there within {within_s:.0f} s")

    def _holds(self, there: Check) -> bool:
        found: list[bool] = []
        self.attempt(lambda: found.append(there()))
        return bool(found) and found[0]

    # The bridge's own faults

    def report(self, name: str, text: str) -> None:
        """Raises a fault of ours on the robot's tablet (rule 16)."""
        if name not in self._reported:
            self._reported.add(name)
            self.attempt(lambda: self.link.raise_fault(name, text))

    def resolve(self, name: str) -> None:
        """Clears the fault."""
        if name in self._reported:
            self._reported.discard(name)
            self.attempt(lambda: self.link.withdraw_fault(name))


def _until_halted(stopper: Stopper, number: int) -> Steps:
    outcome = stopper.halted(number)
    while outcome is None:
        yield
        outcome = stopper.halted(number)
    return outcome


def _still_up(outcome: Outcome) -> Outcome:
    return Outcome(False, f"it does not sit down ({outcome.message}); estop/hard cuts all the same")


def _no_stop(outcome: Outcome) -> Outcome:
    text = f"the robot was not told ({outcome.message}); use the stop on the tablet"
    return Outcome(False, text)
