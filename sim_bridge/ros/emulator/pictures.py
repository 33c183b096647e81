"""Pictures of the head's camera, and what the arm would touch: both by MuJoCo's shapes."""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np

from planner.world.catalogue import default_catalogue
from planner.world.geometry import FloatArray, Pose
from planner.world.observation import Intrinsics
from sim_bridge.embedded.renderer import Renderer, make_renderer
from sim_bridge.embedded.scene import GROUP_AGENT, Scene, house_spec
from sim_bridge.embedded.views import Images, View
from sim_bridge.ros.emulator.house import RobotHouse
from sim_bridge.ros.emulator.kinematics import CAMERA, Kinematics, RobotModel

WIDTH_PX, HEIGHT_PX, FOV_RAD = 640, 480, 1.2
# What such a depth camera measures.
MIN_DEPTH_M, MAX_DEPTH_M = 0.3, 8.0
_FOCAL_PX = WIDTH_PX / 2 / float(np.tan(FOV_RAD / 2))
INTRINSICS = Intrinsics(
    width_px=WIDTH_PX,
    height_px=HEIGHT_PX,
    fx_px=_FOCAL_PX,
    fy_px=_FOCAL_PX,
    cx_px=(WIDTH_PX - 1) / 2,
    cy_px=(HEIGHT_PX - 1) / 2,
)
# The shapes that the arm must not touch on the robot itself, and which of its own may.
_TRUNK = ("base_link", "torso_lift_link", "head_tilt_link")
_FORE = (
    "elbow_flex_link",
    "forearm_roll_link",
    "wrist_flex_link",
    "wrist_roll_link",
    "gripper_link",
)
_ARM = ("shoulder_lift_link", "upperarm_roll_link", *_FORE)


class StillScene(Scene):
    """The house with the robot's shapes in it, as at the last `take`.

    For one thread; the world is read only in `take`.
    """

    _is_open = True

    def __init__(self, house: RobotHouse, robot: RobotModel) -> None:
        """Compiles a scene; the robot is not placed yet."""
        catalogue = default_catalogue()
        spec = house_spec(house.world.house, catalogue)
        model = robot.model
        for i in range(model.ngeom):
            body = spec.worldbody.add_body(name=f"robot/{i}", mocap=True)
            body.add_geom(
                type=mujoco.mjtGeom(model.geom_type[i]),
                size=list(model.geom_size[i]),
                rgba=list(model.geom_rgba[i]),
                group=GROUP_AGENT,
                contype=0,
                conaffinity=0,
            )
        self.robot, self._kinematics = robot, Kinematics(robot)
        self.robot_geoms: dict[str, list[int]] = {}
        super().__init__(house.world, spec, catalogue)
        self._is_open, self._takes = False, 1
        self._mocaps, self._geoms = [], []
        for i in range(model.ngeom):
            body_id = self.model.body(f"robot/{i}").id
            self._mocaps.append(int(self.model.body_mocapid[body_id]))
            self._geoms.append(int(self.model.body_geomadr[body_id]))
            link = model.body(model.geom_bodyid[i]).name
            self.robot_geoms.setdefault(link, []).append(self._geoms[-1])

    def sync(self) -> None:
        """Nothing, outside `take`: the world moves on while a picture is drawn."""
        if self._is_open:
            super().sync()

    def take(self, base: Pose, q: FloatArray) -> Pose:
        """Takes the present: the world, and the robot there with these joints.

        Returns:
            The optical frame in the map.
        """
        self._kinematics.set(q)
        at, turn = self._kinematics.geoms()
        rotation = base.rotation()
        for i, mocap in enumerate(self._mocaps):
            self.data.mocap_pos[mocap] = base.apply(tuple(at[i]))
            mujoco.mju_mat2Quat(self.data.mocap_quat[mocap], (rotation @ turn[i]).ravel())
        self._is_open = True
        self._synced = -1
        super().sync()
        self._is_open = False
        # Renderers keep the pictures of a revision, and each moment is its own.
        self._takes += 1
        self._synced = -self._takes
        return base.compose(self._kinematics.pose(CAMERA))

    def imagine(self, base: Pose, q: FloatArray) -> None:
        """Moves the robot's shapes alone, until the next `take`."""
        self._kinematics.set(q)
        at, turn = self._kinematics.geoms()
        rotation = base.rotation()
        self.data.geom_xpos[self._geoms] = at @ rotation.T + np.array(base.position_m)
        self.data.geom_xmat[self._geoms] = (rotation @ turn).reshape(-1, 9)


class Camera:
    """Draws pictures, in the thread that first calls it."""

    def __init__(self, scene: StillScene, hidden: int) -> None:
        """`hidden` is the instance of the agent, whose own shapes stand for the robot's."""
        self._scene, self._hidden = scene, hidden
        self._renderer: Renderer | None = None

    def draw(self, optical: Pose) -> Images:
        """The picture from an optical frame in the map; depth is 0 where none is measured."""
        if self._renderer is None:
            self._renderer = make_renderer("auto", WIDTH_PX, HEIGHT_PX)
        view = View(optical, INTRINSICS, 0.05, 20.0, self._hidden, instances=False)
        assert self._renderer is not None  # noqa: S101 - only "none" makes none
        images = self._renderer.render(self._scene, view)
        depth = images.depth_m.copy()
        depth[(depth < MIN_DEPTH_M) | (depth > MAX_DEPTH_M)] = 0.0
        return Images(images.rgb, depth, images.instances)

    def close(self) -> None:
        """Frees the renderer, in its thread."""
        if self._renderer is not None:
            self._renderer.close()


class Touch:
    """Whether the arm would touch house or robot. Fingers and movable things do not count."""

    def __init__(self, scene: StillScene) -> None:
        self._scene = scene
        robot = {geom for geoms in scene.robot_geoms.values() for geom in geoms}
        things = {scene.model.body(name).id for name in scene.world.things}
        agents = {scene.model.body(name).id for name in scene.world.agents}
        bodies = scene.model.geom_bodyid
        self._solid = np.array(
            [g not in robot and bodies[g] not in things | agents for g in range(scene.model.ngeom)]
        )
        self._arm = [geom for link in _ARM for geom in scene.robot_geoms[link]]
        self._fore = {geom for link in _FORE for geom in scene.robot_geoms[link]}
        self._trunk = [geom for link in _TRUNK for geom in scene.robot_geoms[link]]

    def first(self, base: Pose, q: FloatArray, ignored: Collection[str] = ()) -> str | None:
        """What the arm touches with these joints: the name of a body, or None.

        Args:
            base: `base_footprint` in the map.
            q: all joints.
            ignored: furniture that may be touched, such as that whose handle is held.
        """
        scene = self._scene
        model, data = scene.model, scene.data
        scene.imagine(base, q)
        for geom in self._arm:
            away = np.linalg.norm(data.geom_xpos - data.geom_xpos[geom], axis=1)
            near = self._solid & (away < model.geom_rbound + model.geom_rbound[geom])
            mine = self._trunk if geom in self._fore else ()
            for other in (*np.flatnonzero(near), *mine):
                name = self._name(int(other))
                if name.partition("/")[0] in ignored:
                    continue
                if mujoco.mj_geomDistance(model, data, geom, int(other), 0.01, None) <= 0:
                    return name
        return None

    def _name(self, geom: int) -> str:
        name = str(self._scene.model.body(self._scene.model.geom_bodyid[geom]).name)
        return "the robot" if name.startswith("robot/") else name
