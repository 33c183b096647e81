"""The seam between the bridge node and a world: a simulator or a robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NewType, Protocol, runtime_checkable

from planner.world.episode import Episode
from planner.world.house import House
from planner.world.observation import Observation, Sighting
from planner.world.primitive import Capabilities, Primitive, PrimitiveStatus
from planner.world.state import WorldState

Handle = NewType("Handle", int)


class Backend(Protocol):
    """One world with its agents.

    Calls come from one thread. A simulator's time advances only in `step`; a real robot's `step`
    only lets pending work be done. Nothing blocks longer than `step`'s argument.
    `sim_bridge.conformance` checks these rules.
    """

    @property
    def simulated(self) -> bool:
        """Whether time is simulated: `/clock` and ground truth are published only then."""

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the loaded episode, `agent_0` first; empty before `reset`."""

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads an episode; the same arguments give the same world, bit for bit.

        Running primitives end as `CANCELED`; time starts again at 0. On an error the previous world
        stays as it was.

        Raises:
            PlannerError: if house and episode do not match.
        """

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent can do in this world.

        Raises:
            PlannerError: for an unknown agent.
        """

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """What the agent senses now; changes nothing.

        Raises:
            PlannerError: for an unknown agent or camera, or without a renderer.
        """

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive; never raises, a refusal is the polled result.

        An agent runs one primitive at a time: a second one ends as `BUSY` and does not affect the
        first.
        """

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """The status of a primitive; results are kept until `reset`.

        Raises:
            PlannerError: for a handle that this world never returned.
        """

    def cancel(self, handle: Handle) -> None:
        """Ends a primitive as `CANCELED` and stops its agent; has no effect on ended ones."""

    def stop(self, agent: str) -> None:
        """Stops the agent at once; its primitive ends as `STOPPED`."""

    def step(self, dt_s: float) -> None:
        """Lets `dt_s` seconds pass (finite, above 0)."""

    def world_state(self) -> WorldState | None:
        """Ground truth, or None if it is unknown."""

    def now_s(self) -> float:
        """Seconds on this world's clock."""

    def close(self) -> None:
        """Stops every agent and frees resources; safe to call twice."""


@runtime_checkable
class SightingSource(Protocol):
    """A backend without pictures, which says itself what its agents see."""

    def sightings_now(self, agent: str) -> Sequence[Sighting]:
        """The entities that an agent sees now, itself not among them; changes nothing.

        Raises:
            PlannerError: for an unknown agent.
        """


@runtime_checkable
class SensorSource(Protocol):
    """A simulator whose sensors may err."""

    @property
    def sensors_json(self) -> str:
        """How they err, in the form of config/sensors/, as JSON."""


@runtime_checkable
class PictureSource(Protocol):
    """A robot whose pictures come at times of their own, some while after they were taken.

    `Backend.observe` is of the newest odometry; a picture in it has its pose at the time at which
    it was taken.
    """

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        """The newest picture taken after `stamp_s`, in an observation of that moment.

        Args:
            agent: its namespace.
            camera: one of its cameras.
            stamp_s: of the picture taken last, on the backend's clock.

        Returns:
            What the agent sensed at the picture's time, which is the observation's `stamp_s`; None
            while there is no later picture, or none that can be used.

        Raises:
            PlannerError: for an unknown agent or camera.
        """

    def picture_fault(self, agent: str) -> str:
        """Which camera sends no usable pictures any more, and why; empty if all do."""


class SightedBackend(Backend, SightingSource, Protocol):
    """A world without pictures."""
