"""Rule 14: what the operator is asked about, and what is allowed without."""

from __future__ import annotations

from enum import StrEnum

from planner.world.geometry import Vec3
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Backend

# What hands do to things and furniture, and what moves the arm at all.
HANDLING = frozenset(
    {PrimitiveName.PICK, PrimitiveName.PLACE, PrimitiveName.OPEN, PrimitiveName.CLOSE}
)
ARM = HANDLING | {PrimitiveName.LOOK}


class Answer(StrEnum):
    """What the operator says, by Trigger services of these names.

    None of them names a question, so none of them approves anything.
    """

    REFUSE = "safety/refuse"
    TAKE_LEASE = "take_lease"
    DOCK = "dock"
    UNDOCK = "undock"


class Approvals:
    """What the operator has allowed for good of one agent: as long as its claim lasts."""

    def __init__(self, *, every_grasp: bool) -> None:
        self._every_grasp = every_grasp
        self._allowed: set[PrimitiveName] = set()
        self._grasped: set[str] = set()

    def reason(self, primitive: Primitive, *, person_near: bool) -> str:
        """Why the operator must be asked first; empty where not."""
        name, cls = primitive.name, primitive.thing_class
        if name not in ARM:
            return ""
        if person_near:
            return "a person is near"
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
        """Notes that a primitive was approved: later grasps of its class are not asked for.

        Args:
            primitive: as it begins.
            remember: whether later ones of its kind are allowed as well.

        Returns:
            why its kind is not remembered; empty where it is, or where that was not asked for.
        """
        name, cls = primitive.name, primitive.thing_class
        if name is PrimitiveName.PICK and cls:
            self._grasped.add(cls)
        why = self._why_one_by_one(primitive) if remember else ""
        if remember and not why:
            self._allowed.add(name)
        return why

    def forget(self) -> None:
        """Forgets all that was allowed for good, as it was by whoever had the claim."""
        self._allowed.clear()
        self._grasped.clear()

    def _why_one_by_one(self, primitive: Primitive) -> str:
        name = primitive.name
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
    """A point of one of the agent's frames in the map; of any other frame as it is."""
    seen = backend.observe(agent, ())
    pose = {
        f"{agent}/base_link": seen.base,
        f"{agent}/odom": seen.base.compose(seen.odometry.inverse()),
    }.get(frame)
    return point_m if pose is None else pose.apply(point_m)
