"""The seam between skills and whatever carries out primitives: a backend here or the bridge."""

from __future__ import annotations

from typing import Protocol

from planner.world.geometry import Pose
from planner.world.primitive import Capabilities, Primitive, PrimitiveStatus


class PrimitivePort(Protocol):
    """One agent's body. Nothing here blocks; time passes between the calls."""

    @property
    def agent(self) -> str:
        """The agent's name."""

    def capabilities(self) -> Capabilities:
        """What the body can do."""

    def base(self) -> Pose | None:
        """`base_link` in `map` as the body is localised; None while that is unknown."""

    def start(self, primitive: Primitive) -> int:
        """Begins a primitive; a refusal is the polled result."""

    def poll(self, handle: int) -> PrimitiveStatus:
        """How a primitive stands."""

    def cancel(self, handle: int) -> None:
        """Ends a primitive and stops the agent."""

    def now_s(self) -> float:
        """Seconds on the world's clock."""
