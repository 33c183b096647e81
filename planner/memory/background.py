"""Lets a slow updater look in a thread of its own: newest pictures only, nobody waits for it.

Pictures that come while it is busy replace each other, one an agent; what it made of a picture
is fetched by whoever owns the memory, who applies it in the memory's own thread.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from planner.memory.updater import Counting, MemoryUpdater, Operation
from planner.world.entity import Entity
from planner.world.observation import Observation

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The edits that an updater made of an observation."""

    observation: Observation
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class _Request:
    observation: Observation
    entities: tuple[Entity, ...]
    last_action: str


class BackgroundUpdater:
    """Runs one updater in one thread."""

    def __init__(self, updater: MemoryUpdater, ready: Callable[[], None]) -> None:
        """Starts the thread.

        Args:
            updater: used by that thread alone from now on.
            ready: called from that thread whenever there is something to take.
        """
        self._updater = updater
        self._ready = ready
        self._wake = threading.Condition()
        self._waiting: dict[str, _Request] = {}
        self._made: list[Proposal] = []
        self._ended = False
        self.dropped = 0
        self.failed = 0
        self.failure = ""
        self._thread = threading.Thread(target=self._run, name="memory updater", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """The updater's."""
        return self._updater.name

    @property
    def counts(self) -> Mapping[str, int]:
        """What was dropped and what failed, and what the updater counts itself."""
        own = self._updater.counts if isinstance(self._updater, Counting) else {}
        return {"pictures dropped": self.dropped, "pictures failed": self.failed, **own}

    def offer(self, observation: Observation, entities: Sequence[Entity], last_action: str) -> None:
        """Asks for the edits of an observation; an older one of the agent still waiting goes."""
        with self._wake:
            if observation.agent in self._waiting:
                self.dropped += 1
            # What waits longest is looked at first, whoever's it is.
            waiting = self._waiting.pop(observation.agent, None)
            request = _Request(observation, tuple(entities), last_action)
            if waiting is None:
                self._waiting[observation.agent] = request
            else:
                self._waiting = {observation.agent: request, **self._waiting}
            self._wake.notify()

    def take(self) -> list[Proposal]:
        """What was made since the last call, in order."""
        with self._wake:
            made, self._made = self._made, []
        return made

    def close(self) -> None:
        """Ends the thread after the look under way; safe to call twice."""
        with self._wake:
            self._ended = True
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._ended:
                    self._wake.wait()
                if self._ended:
                    return
                request = self._waiting.pop(next(iter(self._waiting)))
            try:
                operations = self._updater.update(
                    request.observation, request.entities, request.last_action
                )
            except Exception as error:
                # A model may fail in any way; the memory stays as it is and goes on.
                self.failed += 1
                self.failure = str(error) or type(error).__name__
                _log.exception("memory updater %s failed on a picture", self._updater.name)
                operations = []
            else:
                self.failure = ""
            with self._wake:
                self._made.append(Proposal(request.observation, tuple(operations)))
            self._ready()
