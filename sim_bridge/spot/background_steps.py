"""Runs an operator's command in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

from sim_bridge.control import Outcome
from sim_bridge.spot.advice import SDK_ERRORS, explain
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.permit import WithdrawnError

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
