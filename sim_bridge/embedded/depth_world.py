"""One body in one house that senses depth alone, in C: for training policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from planner.world.agents import CameraMount
from planner.world.catalogue import default_catalogue
from planner.world.episode import AgentPlacement, Episode
from planner.world.floor_grid import FloorGrid
from planner.world.geometry import FloatArray, Pose
from planner.world.house import House
from planner.world.observation import DepthImage
from planner.world.primitive import Drive, DriveLimits
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.house_ground import HouseGround, ffi, flags, floats, lib, numbers
from sim_bridge.embedded.options import default_options
from sim_bridge.embedded.primitive_routines import drive_on
from sim_bridge.embedded.scene import GROUP_CEILING, Scene, house_spec
from sim_bridge.embedded.sensing import View, camera_on_base, intrinsics_of
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.pacing import TICK_S

if TYPE_CHECKING:
    from sim_bridge.embedded._compiled import Eye, Pointer, Shapes


# Depth pictures alone, in C: many times as fast as a renderer, for policies and their training.


class DepthView:
    """Draws the depth of one scene; the same shapes and pixels as the renderers'."""

    def __init__(self, scene: Scene) -> None:
        """Takes the shapes of `scene`, whose poses it follows."""
        self._scene = scene
        model, data = scene.model, scene.data
        count = int(model.ngeom)
        self._hidden = np.zeros(count, np.bool_)
        self._ceiling = scene.groups == GROUP_CEILING
        self._kinds = np.ascontiguousarray(model.geom_type, np.int32)
        self._sizes_m: FloatArray = np.ascontiguousarray(model.geom_size, np.float64)
        # Views of MuJoCo's own arrays: they change with the scene.
        self._at_m, self._axes = data.geom_xpos, data.geom_xmat
        self._shapes = cast("Shapes", ffi.new("Shapes *"))
        # C structures do not keep the arrays alive that they point to.
        self._kept: list[Pointer] = [
            kinds := numbers(self._kinds),
            sizes := floats(self._sizes_m),
            at := floats(self._at_m),
            axes := floats(self._axes),
            hidden := flags(self._hidden),
        ]
        self._shapes.count = count
        self._shapes.kinds, self._shapes.sizes_m = kinds, sizes
        self._shapes.at_m, self._shapes.axes, self._shapes.hidden = at, axes, hidden
        self._eye = cast("Eye", ffi.new("Eye *"))

    def draw(self, view: View, *, agents: bool = True) -> DepthImage:
        """(h, w) metres along the optical axis of a view of the current scene; 0 = nothing.

        Without `agents` theirs and what they hold may be out of date, which is faster.
        """
        if agents:
            self._scene.sync()
        else:
            self._scene.sync_scenery()
        np.equal(self._scene.instance_of_geom, view.hidden, out=self._hidden)
        if not view.ceiling:
            self._hidden |= self._ceiling
        intrinsics = view.intrinsics
        lens = self._eye.lens
        lens.fx_px, lens.fy_px = intrinsics.fx_px, intrinsics.fy_px
        lens.cx_px, lens.cy_px = intrinsics.cx_px, intrinsics.cy_px
        lens.width_px, lens.height_px = float(intrinsics.width_px), float(intrinsics.height_px)
        lens.near_m, lens.far_m = view.near_m, view.far_m
        self._eye.at_m = view.pose.position_m
        # Rows: right, down and ahead in the map.
        self._eye.axes = view.pose.rotation().T.tolist()
        depth_m = np.empty((intrinsics.height_px, intrinsics.width_px), np.float32)
        lib.draw_depth(self._shapes, self._eye, ffi.from_buffer("float[]", depth_m))
        return depth_m


class DepthWorld:
    """A body that is driven through a house and draws what its camera measures."""

    def __init__(
        self, house: House, kind: AgentKind, camera: str, picture_px: int, seed: int = 0
    ) -> None:
        """Places a body of `kind` somewhere on the floor.

        Raises:
            PlannerError: if the house has no free floor.
            KeyError: for a camera that the body lacks.
        """
        catalogue = default_catalogue()
        self.ground = HouseGround(house)
        agents = (AgentPlacement(uid="agent_0", kind=kind),)
        episode = Episode(
            version=1,
            episode_id=house.name,
            house=house.name,
            instruction="",
            agents=agents,
            objects=(),
        )
        self._world = KinematicWorld(self.ground, episode, seed, catalogue, default_options())
        self._agent = self._world.agents["agent_0"]
        self._depth = DepthView(Scene(self._world, house_spec(house, catalogue), catalogue))
        mount = self._agent.body.cameras[camera]  # type: ignore[index]
        self._camera = camera
        size = {"width_px": picture_px, "height_px": picture_px}
        self._mount: CameraMount = mount.model_copy(update=size)
        self.intrinsics = intrinsics_of(self._mount)

    @property
    def grid(self) -> FloorGrid:
        """Where the body's centre may be."""
        return self.ground.grid(self._agent.body.radius_m)

    @property
    def limits(self) -> DriveLimits:
        """How fast the body may be driven."""
        limits = self._agent.body.capabilities(drives=True).drive
        if limits is None:
            raise ValueError("internal error: a body that drives has limits")
        return limits

    @property
    def reach_m(self) -> float:
        """How far from its middle the body reaches, horizontally."""
        return self._agent.body.reach_m

    @property
    def reach_height_m(self) -> tuple[float, float]:
        """The lowest and the highest point that the hand reaches."""
        return self._agent.body.reach_height_m

    @property
    def base(self) -> Pose:
        """Where the body is in `map`."""
        return Pose.planar(self._agent.x_m, self._agent.y_m, self._agent.yaw_rad)

    @property
    def optical(self) -> Pose:
        """The camera's optical frame in `map`."""
        return self.base.compose(camera_on_base(self._agent, self._camera, self._mount))

    def place(self, x_m: float, y_m: float, yaw_rad: float) -> None:
        """Puts the body elsewhere."""
        self._world.move_agent(self._agent, x_m, y_m, yaw_rad)

    def point_hand(self, pan_rad: float, tilt_rad: float) -> None:
        """Points the hand and its camera to the left and downwards."""
        self._agent.pan_rad, self._agent.tilt_rad = pan_rad, tilt_rad

    def drive(self, drive: Drive) -> bool:
        """Drives for the duration of `drive`, in ticks; False if anything was in the way."""
        free = True
        for _ in range(max(1, round(drive.duration_s / TICK_S))):
            free &= drive_on(self._world, self._agent, drive, TICK_S)
        return free

    def depth(self) -> DepthImage:
        """(picture_px, picture_px) metres along the optical axis; 0 = nothing."""
        return self._depth.draw(
            View(
                pose=self.optical,
                intrinsics=self.intrinsics,
                near_m=self._mount.near_m,
                far_m=self._mount.far_m,
                hidden=self._agent.instance_id,
            ),
            agents=False,
        )


def free_point(grid: FloorGrid, rng: np.random.Generator) -> tuple[float, float, int]:
    """A random point of the largest connected floor, and its cell."""
    labels = grid.components.ravel()
    largest = int(np.argmax(np.bincount(labels)[1:])) + 1
    cell = int(rng.choice(np.flatnonzero(labels == largest)))
    x, y = grid.point(cell)
    return x, y, cell
