"""What the operator asked for, carried out on a thread of its own while everything else goes on."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

from sim_bridge.control import Outcome
from sim_bridge.spot.advice import SDK_ERRORS, explain
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.permit import WithdrawnError

_STEP_S = 0.05
# What the robot takes some seconds for: it goes on with every word from it.
Steps = Generator[None, None, Outcome]


class BackgroundSteps:
    """Runs some steps to their end, unless a stop or another errand takes their place."""

    def __init__(self, link: SpotLink, steps: Steps, *, urgent: bool) -> None:
        """Begins; `urgent` ones use the line of stops."""
        self._link, self._steps, self._urgent = link, steps, urgent
        self._grant = link.permit.epoch
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        threading.Thread(target=self._run, name="spot-errand", daemon=True).start()

    def follow(self) -> Steps:
        """The same steps as seen from elsewhere; they never wait."""
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
                        self._outcome = self._go_on()
                else:
                    self._outcome = self._go_on()
        except BaseException as error:
            self._error = error

    def _go_on(self) -> Outcome:
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
