"""A backend in this process as the body that skills drive."""

from __future__ import annotations

from planner.world.geometry import Pose
from planner.world.primitive import Capabilities, Primitive, PrimitiveStatus
from sim_bridge.backend import Backend, Handle


class BackendPort:
    """One agent of a backend; see `planner.skills.port.PrimitivePort`.

    Whoever owns the backend makes time pass with its `step`.
    """

    def __init__(self, backend: Backend, agent: str) -> None:
        """Takes a backend whose loaded episode has the agent."""
        self._backend = backend
        self._agent = agent
        self._capabilities = backend.capabilities(agent)

    @property
    def agent(self) -> str:
        """The agent's name."""
        return self._agent

    def capabilities(self) -> Capabilities:
        """What the body can do."""
        return self._capabilities

    def base(self) -> Pose | None:
        """`base_link` in `map` as the backend localises it."""
        return self._backend.observe(self._agent, ()).base

    def start(self, primitive: Primitive) -> int:
        """Begins a primitive; a refusal is the polled result."""
        return self._backend.start(self._agent, primitive)

    def poll(self, handle: int) -> PrimitiveStatus:
        """How a primitive stands."""
        return self._backend.poll(Handle(handle))

    def cancel(self, handle: int) -> None:
        """Ends a primitive and stops the agent."""
        self._backend.cancel(Handle(handle))

    def now_s(self) -> float:
        """Seconds on the backend's clock."""
        return self._backend.now_s()
