"""Rule 14: what waits for the operator, one request an agent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.backend import Backend, Handle

# What hands do to things and furniture, and what moves the arm at all.
HANDLING = frozenset(
    {PrimitiveName.PICK, PrimitiveName.PLACE, PrimitiveName.OPEN, PrimitiveName.CLOSE}
)
ARM = HANDLING | {PrimitiveName.LOOK}


class Answer(StrEnum):
    """What the operator says, by Trigger services of these names."""

    APPROVE = "safety/approve"
    APPROVE_KIND = "safety/approve_kind"
    REFUSE = "safety/refuse"
    TAKE_LEASE = "take_lease"
    DOCK = "dock"
    UNDOCK = "undock"


@dataclass(frozen=True, slots=True)
class Asked:
    """A primitive that waits; `why` is what the operator is told, `until_s` ends the wait.

    `target_m` is its target in the map, `view` what the hand's camera sees and `pixel` where the
    target is in it; None where it sees nothing or the target is not in the picture.
    """

    handle: Handle
    primitive: Primitive
    why: str
    until_s: float
    target_m: Vec3
    view: CameraFrame | None = None
    pixel: tuple[int, int] | None = None

    @property
    def what(self) -> str:
        """What shall be done, and to what, as far as that is known."""
        return f"{self.primitive.name} {self.primitive.thing_class}".rstrip()


class Approvals:
    """What the operator was asked and has allowed for good, of one agent."""

    def __init__(self, *, every_grasp: bool) -> None:
        self._every_grasp = every_grasp
        self._allowed: set[PrimitiveName] = set()
        self._grasped: set[str] = set()
        self.asked: Asked | None = None

    def reason(self, primitive: Primitive, *, person_near: bool) -> str:
        """Why the operator must be asked first; empty where not."""
        name, cls = primitive.name, primitive.thing_class
        if name not in ARM:
            return ""
        if person_near:
            return "a person is near"
        if name not in HANDLING:
            return ""
        if name in (PrimitiveName.OPEN, PrimitiveName.CLOSE):
            return "doors and drawers are approved one by one"
        if self._every_grasp:
            return f"every {name} is approved by itself"
        if name in self._allowed or (name is PrimitiveName.PICK and cls in self._grasped):
            return ""
        of_it = f" of a {cls}" if name is PrimitiveName.PICK and cls else ""
        return f"no {name}{of_it} was approved yet"

    def ask(self, asked: Asked) -> None:
        """Keeps a request; an agent does one thing at a time, so there is only one."""
        self.asked = asked

    def take(self, *, agreed: bool = False, remember: bool = False) -> Asked | None:
        """The request that is answered now, or withdrawn.

        Args:
            agreed: it may be done as asked: later grasps of its class are not asked for.
            remember: its whole kind is allowed from now on.
        """
        asked, self.asked = self.asked, None
        if asked is None:
            return None
        if remember:
            self._allowed.add(asked.primitive.name)
        cls = asked.primitive.thing_class
        if agreed and cls and asked.primitive.name is PrimitiveName.PICK:
            self._grasped.add(cls)
        return asked


def question(
    backend: Backend, agent: str, asked: tuple[Handle, Primitive], why: str, until_s: float
) -> Asked:
    """What the operator is shown of a primitive that waits."""
    handle, primitive = asked
    try:
        view = backend.observe(agent, ("hand",)).cameras.get("hand")
    except PlannerError:
        # The operator sees no picture then, and decides with that.
        view = None
    target_m = in_map(backend, agent, primitive.target_m, primitive.frame)
    pixel = None if view is None else pixel_of(view, target_m)
    return Asked(handle, primitive, why, until_s, target_m, view, pixel)


def in_map(backend: Backend, agent: str, point_m: Vec3, frame: str) -> Vec3:
    """A point of one of the agent's frames in the map; of any other frame as it is."""
    seen = backend.observe(agent, ())
    pose = {
        f"{agent}/base_link": seen.base,
        f"{agent}/odom": seen.base.compose(seen.odometry.inverse()),
    }.get(frame)
    return point_m if pose is None else pose.apply(point_m)


def pixel_of(view: CameraFrame, point_m: Vec3) -> tuple[int, int] | None:
    """Where a point of the map is in a picture, as column and row; None outside of it."""
    x, y, z = view.pose.inverse().apply(point_m)
    if z <= 0.05:
        return None
    lens = view.intrinsics
    u, v = round(lens.fx_px * x / z + lens.cx_px), round(lens.fy_px * y / z + lens.cy_px)
    return (u, v) if 0 <= u < lens.width_px and 0 <= v < lens.height_px else None


def point_at(view: CameraFrame, pixel: tuple[int, int]) -> Vec3 | None:
    """What a pixel of a picture shows, in the map; None where nothing was measured."""
    lens, (u, v) = view.intrinsics, pixel
    if not (0 <= u < lens.width_px and 0 <= v < lens.height_px):
        return None
    depth_m = float(view.depth_m[v, u])
    if depth_m <= 0:
        return None
    x, y = (u - lens.cx_px) / lens.fx_px * depth_m, (v - lens.cy_px) / lens.fy_px * depth_m
    return view.pose.apply((x, y, depth_m))
