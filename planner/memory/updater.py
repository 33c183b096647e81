"""The interface of memory updaters, and a thread in which slow ones look."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from planner.memory.camera import is_black
from planner.world.belief import Entity, Guesses, OperationKind
from planner.world.geometry import Vec3, record
from planner.world.observation import Observation
from planner.world.person import Person
from planner.world.shapes import UNKNOWN_LOOK, Look
from planner.world.vocabulary import Hand, Relation


@record
class Facts:
    """What an updater knows beyond EPM's text; None of it = it is parsed from the text.

    Attributes as in `planner.world.belief.Entity`; an unknown look leaves the known one, as None
    leaves what else it may be and what is known of a person.
    """

    class_name: str
    size_m: Vec3 = (0.0, 0.0, 0.0)
    parent: str | None = None
    relation: Relation | None = None
    room: str | None = None
    states: Mapping[str, bool] | None = None
    openness: float | None = None
    hand: Hand | None = None
    look: Look = UNKNOWN_LOOK
    maybe: Guesses | None = None
    person: Person | None = None


@record
class Operation:
    """One edit of the entity list (EPM-2.3).

    Attributes:
        entity_id: of Update and Remove; Add gets the next number. An Update without one is of
            the agent `name`, which is at `position_m`.
        pixel: (u, v) in the observation's image, which the list turns into a point with depth.
        description: EPM's text, of Add and Update; the words picked and placed set the flag.
        position_m: the point in `map` where the updater knows it; then `pixel` is not used.
        name: the entity's name where the updater knows it (privileged); None otherwise.
        distance_m: from the camera, where `position_m` is given and a camera saw it.
        facts: what the updater knows besides the text.
    """

    kind: OperationKind
    entity_id: int | None = None
    pixel: tuple[float, float] | None = None
    description: str = ""
    position_m: Vec3 | None = None
    name: str | None = None
    distance_m: float | None = None
    facts: Facts | None = None


class MemoryUpdater(Protocol):
    """Turns one observation into edits of the entity list."""

    @property
    def name(self) -> str:
        """As in the bring-up's argument `memory`."""

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """The edits for an observation; `last_action` as `Pick[Object.149]` or ''.

        Unchanged things may be returned as Updates: the list distinguishes them
        from changes.
        """


@runtime_checkable
class Counting(Protocol):
    """An updater that counts what it could not use."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Counts by description, for the diagnostics."""


class ClearSight:
    """An updater that reads colours, and gets no picture that shows none.

    What a black picture lacks is not gone, and its depth alone is no thing.
    """

    def __init__(self, updater: MemoryUpdater) -> None:
        self._updater = updater
        self._black = 0

    @property
    def name(self) -> str:
        """The updater's."""
        return self._updater.name

    @property
    def counts(self) -> Mapping[str, int]:
        """What the updater counts itself, and pictures that it did not get."""
        own = self._updater.counts if isinstance(self._updater, Counting) else {}
        return {"black pictures": self._black, **own}

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """See `MemoryUpdater`."""
        clear = {name: f for name, f in observation.cameras.items() if not is_black(f.rgb)}
        if len(clear) < len(observation.cameras):
            self._black += 1
            observation = replace(observation, cameras=clear)
        return self._updater.update(observation, entities, last_action)


# Lets a slow updater look in a thread of its own: newest pictures only, nobody waits for it.
#
# Pictures that come while it is busy replace each other, one an agent; what it made of a picture
# is fetched by whoever owns the memory, who applies it in the memory's own thread. The next picture
# is looked at with what came of it: two made with the same list would both add what both show.

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Proposal:
    """The edits that an updater made of an observation."""

    observation: Observation
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class _Request:
    observation: Observation
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
        # The newest list, and whether all that was made is in it.
        self._entities: tuple[Entity, ...] = ()
        self._is_applied = True
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
            self._entities = tuple(entities)
            request = _Request(observation, last_action)
            if waiting is None:
                self._waiting[observation.agent] = request
            else:
                self._waiting = {observation.agent: request, **self._waiting}
            self._wake.notify()

    def take(self) -> list[Proposal]:
        """What was made since the last call; the next picture waits for `go_on`."""
        with self._wake:
            made, self._made = self._made, []
        return made

    def go_on(self, entities: Sequence[Entity]) -> None:
        """Looks at the next picture, with the list after all that was taken has been applied."""
        with self._wake:
            self._entities = tuple(entities)
            self._is_applied = not self._made
            self._wake.notify()

    def close(self) -> None:
        """Ends the thread after the look under way; safe to call twice."""
        with self._wake:
            self._ended = True
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not (self._waiting and self._is_applied) and not self._ended:
                    self._wake.wait()
                if self._ended:
                    return
                request = self._waiting.pop(next(iter(self._waiting)))
                entities, self._is_applied = self._entities, False
            try:
                operations = self._updater.update(
                    request.observation, entities, request.last_action
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
