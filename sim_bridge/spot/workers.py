"""The running primitive and the threads for a real robot, where nothing urgent waits."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from planner.world.errors import PlannerError
from planner.world.primitive import PrimitiveCode, PrimitiveResult, PrimitiveStatus
from sim_bridge.backend import Handle
from sim_bridge.one_robot import Outcome, Routine
from sim_bridge.safety.options import Rule
from sim_bridge.safety.order_executor import first_answer
from sim_bridge.spot.connection import LEASE_ERRORS, LINK_ERRORS, SDK_ERRORS, explain
from sim_bridge.spot.permit import Permit, WithdrawnError
from sim_bridge.spot.routines import PHASES
from sim_bridge.spot.supervision import Supervision

# The running primitive: started and ended by one thread, advanced by that or another.

STARTING = "starting"


@dataclass(slots=True)
class _Running:
    """A running or ended primitive."""

    routine: Routine | None
    ends_s: float
    grant: int
    status: PrimitiveStatus


class Motion:
    """One primitive at a time. Only `advance` talks to the robot; nothing else blocks."""

    def __init__(
        self,
        clock_s: Callable[[], float],
        permit: Permit,
        stop_robot: Callable[[], None],
        expired: Callable[[], bool] = lambda: False,
    ) -> None:
        """Starts without a primitive.

        Args:
            clock_s: clock for timeouts.
            permit: grants commands.
            stop_robot: stops the robot if a primitive is aborted.
            expired: whether the time granted by the last heartbeat is over (rule 8). The gate will
                pause or end the motion; a bridge that was frozen, or that receives a goal late,
                checks this first.
        """
        self._expired = expired
        self._clock_s, self._permit, self._stop_robot = clock_s, permit, stop_robot
        # Guards all but the routine's own steps, which may wait for the robot.
        self._lock = threading.RLock()
        self._handles: list[_Running] = []
        self._current: Handle | None = None
        self._holders: set[str] = set()

    @property
    def busy(self) -> bool:
        """Whether a primitive is running."""
        return self._current is not None

    @property
    def held(self) -> bool:
        """Whether it is paused."""
        return bool(self._holders)

    def begin(self, routine: Routine, within_s: float) -> Handle:
        """Starts a routine; `advance` runs it."""
        with self._lock:
            handle = Handle(len(self._handles))
            status = PrimitiveStatus(STARTING, 0.0, None)
            ends_s = self._clock_s() + within_s
            self._handles.append(_Running(routine, ends_s, self._permit.epoch, status))
            self._current = handle
            return handle

    def refuse(self, refusal: PrimitiveResult) -> Handle:
        """A handle of a refused primitive."""
        with self._lock:
            status = PrimitiveStatus("refused", 0.0, refusal)
            self._handles.append(_Running(None, 0.0, 0, status))
            return Handle(len(self._handles) - 1)

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """The status of a primitive.

        Raises:
            PlannerError: for an unknown handle.
        """
        if not 0 <= handle < len(self._handles):
            raise PlannerError(f"unknown primitive handle: {handle}")
        return self._handles[handle].status

    def end(self, code: PrimitiveCode, text: str, *, rule: int = 0, **evidence: str) -> bool:
        """Ends the running primitive, from any thread; False if there is none.

        Its commands are refused from now on; the caller has to stop the robot.
        """
        with self._lock:
            if self._current is None:
                return False
            self._permit.withdraw()
            result = PrimitiveResult(code, text, evidence, rule=rule)
            self._finish(self._handles[self._current], result)
            return True

    def forget(self) -> None:
        """Forgets all primitives."""
        with self._lock:
            self._handles.clear()
            self._current = None

    def hold(self, holder: str) -> bool:
        """Pauses until every holder has called `let_go`.

        Commands of the primitive are refused meanwhile; the caller has to stop the robot.

        Returns:
            Whether it is paused. Only walks, and primitives that have not started, can pause.
        """
        with self._lock:
            if self._current is not None:
                phase = self._handles[self._current].status.phase
                if phase not in {STARTING, *PHASES}:
                    return False
            if not self._holders:
                self._permit.withdraw()
            self._holders.add(holder)
            return True

    def let_go(self, holder: str) -> None:
        """Ends one holder's pause."""
        with self._lock:
            if holder not in self._holders:
                return
            self._holders.discard(holder)
            if not self._holders and self._current is not None:
                self._handles[self._current].grant = self._permit.epoch

    def advance(self) -> None:
        """Runs one step of the routine; in one thread only, may wait for the robot."""
        with self._lock:
            if self._current is None or self._holders or self._expired():
                return
            running = self._handles[self._current]
            grant, steps = running.grant, running.routine
        if steps is None:
            return
        end: PrimitiveResult | None = None
        breaks_off = False
        try:
            with self._permit.granted(grant):
                phase, progress = next(steps)
        except StopIteration as stop:
            end = stop.value
        except WithdrawnError:
            # A stop has ended it already; anything but a walk is ended by a pause here.
            text, breaks_off = "it was interrupted", True
            end = PrimitiveResult(PrimitiveCode.STOPPED, text, rule=int(Rule.EXECUTIVE_LOST))
        except LEASE_ERRORS as error:
            why = {"reason": "LEASE_LOST"}
            end = PrimitiveResult(PrimitiveCode.NOT_ALLOWED, explain(error), why)
        except (*SDK_ERRORS, PlannerError) as error:
            end = PrimitiveResult(PrimitiveCode.BACKEND_FAULT, explain(error))
            if isinstance(error, LINK_ERRORS):
                end = replace(end, evidence={"reason": "COMMS_LOST"}, rule=int(Rule.LINK_LOST))
            breaks_off = True
        with self._lock:
            if running.status.done:
                # Another thread has ended it meanwhile.
                steps.close()
                return
            if end is None:
                running.status = PrimitiveStatus(phase, min(1.0, progress), None)
                if self._clock_s() < running.ends_s - 1e-9:
                    return
                end, breaks_off = PrimitiveResult(PrimitiveCode.TIMED_OUT, "took too long"), True
            if breaks_off:
                self._permit.withdraw()
            self._finish(running, end)
        if breaks_off:
            self._stop_robot()

    def _finish(self, running: _Running, result: PrimitiveResult) -> None:
        progress = 1.0 if result.succeeded else running.status.progress
        running.status = PrimitiveStatus("done", progress, result)
        self._current = None


STATE_S = 0.05
LEASE_S = 0.5
MAINTENANCE_S = 0.5
MOTION_S = 1 / 30
WATCH_S = 0.05
PICTURES_S = 0.1
# Seconds without the main loop until walks pause, and until the lease is no longer retained.
LOOP_PAUSE_S = 0.3
LOOP_DEAD_S = 1.0
# A lost stop is sent again soon; repeating it is harmless.
STOP_TRIES = 4
RESEND_S = 0.2
# Timeout of each attempt; any answer will do.
STOP_ANSWER_S = 1.0
_BRIDGE, _CLOCK = "bridge", "clock"
_JOIN_S = 2.0


class Worker:
    """Repeats work in a thread of its own, at once when woken."""

    def __init__(self, name: str, work: Callable[[], None], period_s: float) -> None:
        """Starts the thread."""
        self._work, self._period_s = work, period_s
        self._due, self._over = threading.Event(), False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"spot-{name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Runs the work now."""
        self._due.set()

    def close(self) -> None:
        """Ends the thread after the current work."""
        self._over = True
        self._due.set()

    def join(self) -> None:
        """Waits briefly for its end."""
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while not self._over:
            began_s = time.monotonic()
            self._due.clear()
            try:
                self._work()
            except BaseException as error:
                self.error = error
                return
            self._due.wait(max(0.0, began_s + self._period_s - time.monotonic()))


class WorkerThreads:
    """Threads for state, lease, motion, stop, maintenance and pictures."""

    def __init__(
        self,
        watch: Supervision,
        motion: Motion,
        look: Callable[[], None],
        tidy: Callable[[], None],
        on_answer: Callable[[], None],
    ) -> None:
        """Starts the threads.

        Args:
            watch: the supervision of the robot.
            motion: the running primitive.
            look: takes requested pictures.
            tidy: periodic maintenance.
            on_answer: called from a thread when a stop was answered.
        """
        self._on_answer = on_answer
        self._watch, self._motion = watch, motion
        self._alive_s = time.monotonic()
        self._lock = threading.Lock()
        self._stops_wanted = self._stops_done = 0
        # The stop that a paused walk waits for after the robot's clock was set back; 0 if none.
        self._clock_stop = 0
        self._stopped = Outcome(True, "stopped")
        self._stop = Worker("stop", self._stop_and_watch, WATCH_S)
        self._mover = Worker("motion", motion.advance, MOTION_S)
        self._workers = [
            self._stop,
            self._mover,
            Worker("state", self._poll_state, STATE_S),
            Worker("lease", self._keep_lease, LEASE_S),
            Worker("chores", tidy, MAINTENANCE_S),
            Worker("pictures", look, PICTURES_S),
        ]

    def close(self) -> None:
        """Ends all threads."""
        for worker in self._workers:
            worker.close()
        for worker in self._workers:
            worker.join()

    # The main loop

    def report_alive(self) -> None:
        """Reports that the main loop is alive.

        Raises:
            BaseException: the error that ended a thread.
        """
        self._alive_s = time.monotonic()
        self._motion.let_go(_BRIDGE)
        for worker in self._workers:
            if worker.error is not None:
                raise worker.error

    @property
    def _silent_s(self) -> float:
        return time.monotonic() - self._alive_s

    def move(self) -> None:
        """Wakes the motion thread."""
        self._mover.wake()

    # Stops

    def halt(self) -> int:
        """Requests a stop without waiting; returns its number."""
        with self._lock:
            self._stops_wanted += 1
            number = self._stops_wanted
        self._stop.wake()
        return number

    def under_way(self) -> int:
        """The number of the newest unanswered stop; 0 if none."""
        return self._stops_wanted if self._stops_done < self._stops_wanted else 0

    def halted(self, number: int) -> Outcome | None:
        """The outcome of a stop; None while it is running."""
        return self._stopped if self._stops_done >= number else None

    def _stop_and_watch(self) -> None:
        while self._stops_done < self._stops_wanted:
            number = self._stops_wanted
            self._stopped = self._halt()
            self._stops_done = number
            self._on_answer()
        hangs = self._silent_s > LOOP_PAUSE_S and self._motion.busy and not self._motion.held
        # A walk resumes with the loop; arm commands expire soon.
        if hangs and self._motion.hold(_BRIDGE):
            self.halt()

    def _halt(self) -> Outcome:
        again_s = max(RESEND_S, 2.0 * self._watch.round_trip_s)
        why = first_answer(self._halt_once, STOP_TRIES, again_s)
        return Outcome(False, why) if why else Outcome(True, "stopped")

    def _halt_once(self) -> str:
        with self._watch.link.urgently():
            return self._watch.attempt(partial(self._watch.halt, STOP_ANSWER_S))

    # Periodic work

    def _poll_state(self) -> None:
        self._watch.poll()
        if self._clock_stop:
            if self.halted(self._clock_stop) is not None:
                self._clock_stop = 0
                self._motion.let_go(_CLOCK)
        elif self._watch.was_set_back():
            self._stop_outdated_commands()

    def _stop_outdated_commands(self) -> None:
        """Stops commands sent by an outdated clock estimate; a walk then resumes."""
        if not self._motion.busy:
            # A walk that has ended here may still be running there.
            if not self._watch.busy:
                self.halt()
        elif self._motion.hold(_CLOCK):
            self._clock_stop = self.halt()

    def _keep_lease(self) -> None:
        self._watch.keep_lease(well=self._silent_s < LOOP_DEAD_S)
