"""The running primitive: started and ended by one thread, advanced by that or another."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from planner.world.errors import PlannerError
from planner.world.primitive import PrimitiveCode, PrimitiveResult, PrimitiveStatus
from sim_bridge.backend import Handle
from sim_bridge.routine import Routine
from sim_bridge.safety.rules import Rule
from sim_bridge.spot.advice import LEASE_ERRORS, LINK_ERRORS, SDK_ERRORS, explain
from sim_bridge.spot.permit import Permit, WithdrawnError
from sim_bridge.spot.walking import PHASES

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
