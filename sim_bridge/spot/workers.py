"""The threads of a robot in real time: nothing urgent waits for anything slow (SPOT-F6.2)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial

from sim_bridge.control import Outcome
from sim_bridge.spot.motion import Motion
from sim_bridge.spot.repeated_call import first_answer
from sim_bridge.spot.supervision import Supervision

STATE_S = 0.05
LEASE_S = 0.5
MAINTENANCE_S = 0.5
MOTION_S = 1 / 30
WATCH_S = 0.05
PICTURES_S = 0.1
# A bridge whose main loop is silent for so long lets no walk go on, and later nothing at all.
LOOP_PAUSE_S = 0.3
LOOP_DEAD_S = 1.0
# A stop that is lost is sent again soon; it does no harm twice.
STOP_TRIES = 4
RESEND_S = 0.2
# An answer that comes so late counts all the same, and any of them will do.
STOP_ANSWER_S = 1.0
_BRIDGE, _CLOCK = "bridge", "clock"
_JOIN_S = 2.0


class Worker:
    """Repeats some work on a thread of its own, and at once where it is woken."""

    def __init__(self, name: str, work: Callable[[], None], period_s: float) -> None:
        """Begins with it."""
        self._work, self._period_s = work, period_s
        self._due, self._over = threading.Event(), False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"spot-{name}", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Has it work now."""
        self._due.set()

    def close(self) -> None:
        """Ends it after the work that is under way."""
        self._over = True
        self._due.set()

    def join(self) -> None:
        """Waits a moment for its end."""
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
    """Hears the robot, keeps the lease, moves, stops and looks: each on a thread of its own."""

    def __init__(
        self,
        watch: Supervision,
        motion: Motion,
        look: Callable[[], None],
        tidy: Callable[[], None],
        on_answer: Callable[[], None],
    ) -> None:
        """Begins.

        Args:
            watch: the robot as it is supervised.
            motion: what it is doing.
            look: takes the pictures that are wanted.
            tidy: what is done now and then.
            on_answer: is called, from a thread, when a stop has its answer.
        """
        self._on_answer = on_answer
        self._watch, self._motion = watch, motion
        self._alive_s = time.monotonic()
        self._lock = threading.Lock()
        self._stops_wanted = self._stops_done = 0
        # The stop that a walk waits for whose end the robot takes for later than it is; 0 for none.
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
        """The main loop is well.

        Raises:
            BaseException: what broke one of the threads.
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
        """Something new is to be done."""
        self._mover.wake()

    # Stops

    def halt(self) -> int:
        """Has the robot stop, without waiting for it; returns the stop's number."""
        with self._lock:
            self._stops_wanted += 1
            number = self._stops_wanted
        self._stop.wake()
        return number

    def under_way(self) -> int:
        """The number of the newest stop that is not answered yet; 0 for none."""
        return self._stops_wanted if self._stops_done < self._stops_wanted else 0

    def halted(self, number: int) -> Outcome | None:
        """What became of a stop; None while it is under way."""
        return self._stopped if self._stops_done >= number else None

    def _stop_and_watch(self) -> None:
        while self._stops_done < self._stops_wanted:
            number = self._stops_wanted
            self._stopped = self._halt()
            self._stops_done = number
            self._on_answer()
        hangs = self._silent_s > LOOP_PAUSE_S and self._motion.busy and not self._motion.held
        # A walk goes on when the loop does; what an arm does ends by itself, soon.
        if hangs and self._motion.hold(_BRIDGE):
            self.halt()

    def _halt(self) -> Outcome:
        again_s = max(RESEND_S, 2.0 * self._watch.round_trip_s)
        why = first_answer(self._halt_once, STOP_TRIES, again_s)
        return Outcome(False, why) if why else Outcome(True, "stopped")

    def _halt_once(self) -> str:
        with self._watch.link.urgently():
            return self._watch.attempt(partial(self._watch.halt, STOP_ANSWER_S))

    # What goes on

    def _poll_state(self) -> None:
        self._watch.poll()
        if self._clock_stop:
            if self.halted(self._clock_stop) is not None:
                self._clock_stop = 0
                self._motion.let_go(_CLOCK)
        elif self._watch.was_set_back():
            self._end_what_lives_too_long()

    def _end_what_lives_too_long(self) -> None:
        """Stops what was sent by an older estimate of the robot's clock; a walk goes on anew."""
        if not self._motion.busy:
            # A walk that has ended here may still be on its way there.
            if not self._watch.busy:
                self.halt()
        elif self._motion.hold(_CLOCK):
            self._clock_stop = self.halt()

    def _keep_lease(self) -> None:
        self._watch.keep_lease(well=self._silent_s < LOOP_DEAD_S)
