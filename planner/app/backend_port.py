"""Adapts a backend in this process to the port through which skills drive an agent."""

from __future__ import annotations

from collections.abc import Sequence

from planner.world.geometry import Pose
from planner.world.observation import Observation
from planner.world.primitive import Capabilities, Primitive, PrimitiveStatus
from sim_bridge.backend import Backend, Handle


class BackendPort:
    """One agent of a backend; see `planner.skills.port.PrimitivePort`.

    The owner of the backend advances time with its `step`.
    """

    def __init__(self, backend: Backend, agent: str) -> None:
        """`backend` has an episode loaded in which the agent exists."""
        self._backend = backend
        self._agent = agent
        self._capabilities = backend.capabilities(agent)

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._agent

    def capabilities(self) -> Capabilities:
        """The capabilities of the agent's body."""
        return self._capabilities

    def base(self) -> Pose | None:
        """`base_link` in `map` as localised by the backend."""
        return self._backend.observe(self._agent, ()).base

    def observe(self, cameras: Sequence[str] = ("hand",)) -> Observation | None:
        """What the backend lets the agent sense now."""
        return self._backend.observe(self._agent, cameras)

    def holding(self) -> bool | None:
        """Whether the body feels something in its hand."""
        return self._backend.observe(self._agent, ()).holding

    def start(self, primitive: Primitive) -> int:
        """Starts a primitive; a refusal appears as its polled result."""
        return self._backend.start(self._agent, primitive)

    def poll(self, handle: int) -> PrimitiveStatus:
        """The status of a primitive."""
        return self._backend.poll(Handle(handle))

    def cancel(self, handle: int) -> None:
        """Cancels a primitive and stops the agent."""
        self._backend.cancel(Handle(handle))

    def now_s(self) -> float:
        """Seconds of the backend's clock."""
        return self._backend.now_s()
