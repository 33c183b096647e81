"""What stepped simulators without pictures share: what an agent can do, and what it senses."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol

from planner.world.agents import Body
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.observation import Observation
from planner.world.primitive import Capabilities, Primitive
from sim_bridge.frames import in_map
from sim_bridge.stepped import SteppedBackend, World


class PlanarAgent(Protocol):
    """An agent's body on the floor of `map`."""

    @property
    def body(self) -> Body:
        """What its kind of body is like."""

    @property
    def x_m(self) -> float:
        """Metres in `map`."""

    @property
    def y_m(self) -> float:
        """Metres in `map`."""

    @property
    def yaw_rad(self) -> float:
        """Heading in `map`."""


class PicturelessBackend(SteppedBackend[World]):
    """A simulator that says what agents see instead of rendering it; odometry is exact.

    Attributes:
        world_words: what has no pictures, such as "a graph".
        able: the primitives of this world.
    """

    world_words: ClassVar[str]
    able: ClassVar[frozenset[str]]

    @abstractmethod
    def _agent(self, name: str) -> PlanarAgent:
        """See `SteppedBackend`."""

    @abstractmethod
    def _is_holding(self, agent: str) -> bool:
        """Whether an agent holds anything."""

    def capabilities(self, agent: str) -> Capabilities:
        """What the agent's body can do in this world; it has no cameras."""
        body = self._agent(agent).body
        return body.capabilities(
            ground_truth=True, primitives=self.able.intersection(body.primitives), cameras=()
        )

    def observe(self, agent: str, cameras: Sequence[str] = ()) -> Observation:
        """The agent's pose, and whether it holds something.

        Raises:
            PlannerError: for an unknown agent, or any camera: there are no pictures.
        """
        who = self._agent(agent)
        if cameras:
            words = f"{self.world_words} has no pictures"
            raise PlannerError(f"{agent} has no camera {cameras[0]!r}: {words}")
        base = _base(who)
        holding = self._is_holding(agent)
        return Observation(
            stamp_s=self.now_s(),
            agent=agent,
            base=base,
            odometry=base,
            linear_m_s=0.0,
            angular_rad_s=0.0,
            hand=Pose(who.body.hand_m),
            joints={},
            gripper_opening=0.0 if holding else 1.0,
            holding=holding,
            cameras={},
        )

    @staticmethod
    def _in_map(who: PlanarAgent, primitive: Primitive) -> tuple[Vec3, Vec3 | None, float]:
        """Target, reference and heading of an agent's primitive in `map`."""
        on_base = primitive.frame.endswith("/base_link")
        return in_map(primitive, _base(who) if on_base else None)


def _base(who: PlanarAgent) -> Pose:
    return Pose.planar(who.x_m, who.y_m, who.yaw_rad)
