"""Rule 14: what needs the operator's approval."""

from __future__ import annotations

from enum import StrEnum

from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Backend

# Primitives that handle things or furniture, and those that move the arm at all.
HANDLING = frozenset(
    {PrimitiveName.PICK, PrimitiveName.PLACE, PrimitiveName.OPEN, PrimitiveName.CLOSE}
)
ARM = HANDLING | {PrimitiveName.LOOK}


class Answer(StrEnum):
    """The operator's Trigger services.

    None of them names a question, so none of them approves anything.
    """

    REFUSE = "safety/refuse"
    TAKE_LEASE = "take_lease"
    DOCK = "dock"
    UNDOCK = "undock"


class Approvals:
    """Standing approvals for one agent, until its claim ends."""

    def __init__(self, *, every_grasp: bool) -> None:
        self._every_grasp = every_grasp
        self._allowed: set[str] = set()
        self._grasped: set[str] = set()

    def reason(self, primitive: Primitive, *, person_near: bool) -> str:
        """Why a primitive needs approval; empty if it does not."""
        name, cls = primitive.name, primitive.thing_class
        if name not in ARM and name != PrimitiveName.DRIVE:
            return ""
        if person_near:
            return "a person is near"
        if name == PrimitiveName.DRIVE:
            return "" if name in self._allowed else "no drive by velocities was approved yet"
        if name not in HANDLING:
            return ""
        why = self._why_one_by_one(primitive)
        if why:
            return why
        if name in self._allowed or (name is PrimitiveName.PICK and cls in self._grasped):
            return ""
        of_it = f" of a {cls}" if name is PrimitiveName.PICK and cls else ""
        return f"no {name}{of_it} was approved yet"

    def agree(self, primitive: Primitive, *, remember: bool) -> str:
        """Records an approval: later grasps of the same class need none.

        Args:
            primitive: the approved one.
            remember: whether to allow later ones of its kind too.

        Returns:
            Why its kind is not remembered; empty if it is, or was not to be.
        """
        name, cls = primitive.name, primitive.thing_class
        if name is PrimitiveName.PICK and cls:
            self._grasped.add(cls)
        why = self._why_one_by_one(primitive) if remember else ""
        if remember and not why:
            self._allowed.add(name)
        return why

    def forget(self) -> None:
        """Revokes all standing approvals."""
        self._allowed.clear()
        self._grasped.clear()

    def _why_one_by_one(self, primitive: Primitive) -> str:
        name = primitive.name
        if name == PrimitiveName.DRIVE:
            return ""
        if name not in HANDLING:
            return f"a {name} is asked about beside a person only, each time"
        if name in (PrimitiveName.OPEN, PrimitiveName.CLOSE):
            return "doors and drawers are approved one by one"
        if self._every_grasp:
            return f"every {name} is approved by itself"
        if name is PrimitiveName.PICK and not primitive.thing_class:
            return "what is unknown to perception is approved one by one"
        return ""


def in_map(backend: Backend, agent: str, point_m: Vec3, frame: str) -> Vec3:
    """Transforms a point from one of the agent's frames to `map`; others are returned as is."""
    seen = backend.observe(agent, ())
    pose = {
        f"{agent}/base_link": seen.base,
        f"{agent}/odom": seen.base.compose(seen.odometry.inverse()),
    }.get(frame)
    return point_m if pose is None else pose.apply(point_m)
