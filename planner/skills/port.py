"""The interface between skills and what executes primitives: a backend here, or the bridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from planner.world.geometry import Pose
from planner.world.observation import Observation
from planner.world.primitive import Capabilities, Primitive, PrimitiveStatus


class PrimitivePort(Protocol):
    """One agent's body. No method blocks; time passes between the calls."""

    @property
    def agent(self) -> str:
        """The agent's name."""

    def capabilities(self) -> Capabilities:
        """The capabilities of the body."""

    def base(self) -> Pose | None:
        """`base_link` in `map` as localised; None while unknown."""

    def observe(self, cameras: Sequence[str] = ("hand",)) -> Observation | None:
        """What the body senses, with a picture of each camera; None while that is unknown.

        Over ROS it is the newest that has come: the first call subscribes, so that it has none.

        Raises:
            PlannerError: for a camera that the body lacks, or where there are no pictures.
        """

    def holding(self) -> bool | None:
        """Whether the body felt something in its hand when its newest primitive had ended.

        None = unknown.
        """

    def start(self, primitive: Primitive) -> int:
        """Starts a primitive; a refusal appears as its polled result."""

    def poll(self, handle: int) -> PrimitiveStatus:
        """The status of a primitive."""

    def cancel(self, handle: int) -> None:
        """Cancels a primitive and stops the agent."""

    def now_s(self) -> float:
        """Seconds on the world's clock."""
