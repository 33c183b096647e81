"""What the backend `ros` knows of its robot: where it is, what it sees, whether its map fits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import ndimage

from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.observation import CameraFrame, CameraNews, Observation, RobotPicture
from sim_bridge.external.readings import FrameNames, Moment, RobotReadings, moment_at, posed_picture
from sim_bridge.ros.options import CAMERA, RosOptions
from sim_bridge.ros.port import FloorMap, RobotPort, RobotState

# A camera that is silent for so long has stopped.
SILENT_S = 0.7
# The localiser corrects the map's frame at least so often.
LOCALISED_S = 1.0
# The share of the layout's walls that the robot's map must show, this near.
MAP_SHARE, MAP_REACH_M = 0.65, 0.15
_OCCUPIED = 50
# The arm is looked for in each such pixel of depth, in each direction.
COARSE_PX = 4
ARM_HOLD_S = 0.3
# What is held reaches about so far beyond the gripper.
HELD_M = 0.12


@dataclass(frozen=True, slots=True)
class Shot:
    """A picture: when it was taken, on our clock, and the base in the robot's map then.

    `frame.pose` is the optical frame in the base.
    """

    stamp_s: float
    base: Pose
    frame: CameraFrame


class Senses:
    """The robot as it was last heard; `look` takes what has come since."""

    def __init__(self, port: RobotPort, options: RosOptions) -> None:
        """Hears through `port`."""
        self._port, self.options = port, options
        frames = options.frames
        self._names = FrameNames(frames.map, frames.base, options.arm.tip, Pose((0.0, 0.0, 0.0)))
        self._unreadable = ""
        # The links of the arm, in their order; pictures show it, and it is nothing to remember.
        self.arm_links: tuple[str, ...] = ()
        # What it holds moves with it.
        self.holds = False
        self.begun_s = -math.inf
        self.heard, self.state = RobotReadings(), RobotState()
        self._moment: Moment | None = None

    def look(self) -> None:
        """Takes what has come."""
        self.heard, self.state = self._port.readings(), self._port.state()
        frames = self.options.frames
        localised = self.heard.frames.connects(frames.map, frames.odom)
        self._moment = moment_at(self.heard, self._names, None) if localised else None

    # Where it is

    @property
    def moment(self) -> Moment:
        """Where it was at its newest odometry, in its own map.

        Raises:
            PlannerError: if /tf does not tell.
        """
        if self._moment is None:
            frames = self.options.frames
            raise PlannerError(
                f"{self.options.name}: /tf does not connect {frames.map!r} to {frames.odom!r}; is "
                "the robot localised?"
            )
        return self._moment

    @property
    def base(self) -> Pose:
        """Its base in the house's map.

        Raises:
            PlannerError: if /tf does not tell.
        """
        return self.options.frames.in_house.compose(self.moment.base)

    @property
    def lost(self) -> str:
        """Why it is not known where the robot is; empty if it is."""
        frames, name = self.options.frames, self.options.name
        if self._moment is None:
            return f"{name}: /tf does not connect {frames.map!r} to {frames.odom!r}"
        newest_s = self.heard.frames.newest_s(frames.odom)
        age_s = 0.0 if newest_s is None else self.heard.stamp_s - newest_s
        if age_s > LOCALISED_S:
            return f"{name}: the frame {frames.map!r} on /tf is {age_s:.1f} s old; is it localised?"
        return ""

    # What it sees

    def shot(self, after_s: float = -math.inf) -> Shot | None:
        """The newest picture taken after `after_s` (our clock) whose frames are known.

        Raises:
            PlannerError: if it cannot be read.
        """
        shift_s = self.heard.shift_s
        found = posed_picture(self.heard, self._names, CAMERA, after_s - shift_s)
        if found is None:
            return None
        picture, moment = found
        return Shot(picture.stamp_s + shift_s, moment.base, self._frame(picture, moment))

    def observe(self, agent: str, *, cameras: Sequence[str], holding: bool) -> Observation:
        """The newest readings, and the newest picture.

        Raises:
            PlannerError: for an unknown camera, or where picture or frames are missing.
        """
        frames = {}
        for camera in cameras:
            self.check_camera(agent, camera)
            fault = self.picture_fault()
            shot = None if fault else self.shot()
            if shot is None:
                raise PlannerError(fault or self._why_unposed())
            frames[camera] = self._placed(shot.base, shot.frame)
        return self._observation(agent, self.moment, frames, holding=holding)

    def picture_after(self, agent: str, stamp_s: float, *, holding: bool) -> Observation | None:
        """See `sim_bridge.backend.PictureSource`."""
        found = posed_picture(self.heard, self._names, CAMERA, stamp_s - self.heard.shift_s)
        if found is None:
            return None
        picture, moment = found
        try:
            frames = {CAMERA: self._placed(moment.base, self._frame(picture, moment))}
        except PlannerError as error:
            self._unreadable = str(error)
            return None
        self._unreadable = ""
        return self._observation(agent, moment, frames, holding=holding)

    @staticmethod
    def check_camera(agent: str, camera: str) -> None:
        """Raises PlannerError for a camera that the robot does not have."""
        if camera != CAMERA:
            raise PlannerError(f"{agent} has no camera {camera!r}")

    def picture_fault(self) -> str:
        """Why there are no usable pictures; empty if there are."""
        name, camera = self.options.name, self.options.camera
        news = self.heard.cameras.get(CAMERA, CameraNews())
        since_s = self._port.now_s() - SILENT_S
        if max(self.begun_s, news.good_s) < since_s:
            if news.heard_s >= since_s and news.problem:
                return f"{name}: {news.problem}"
            if math.isinf(news.heard_s):
                why = f" ({news.problem})" if news.problem else ""
                return f"{name}: no pictures yet on {camera.image} and {camera.depth}{why}"
            return (
                f"{name}: the camera stopped: no new pictures on {camera.image} and "
                f"{camera.depth} for more than {SILENT_S:g} s"
            )
        return f"{name}: {self._unreadable}" if self._unreadable else ""

    def _frame(self, picture: RobotPicture, moment: Moment) -> CameraFrame:
        """A picture posed in the base, without the robot's own arm."""
        pixels, optical = picture.pixels(), moment.optical[CAMERA]
        frame = CameraFrame(pixels.rgb, pixels.depth_m, None, pixels.intrinsics, optical)
        links = (
            self.heard.frames.pose_in(picture.frame, link, picture.stamp_s, ARM_HOLD_S)
            for link in self.arm_links
        )
        known = [link for link in links if link is not None]
        joints_m = [link.position_m for link in known]
        if self.holds and known:
            grip = known[-1].compose(self.options.arm.grip_in_tip)
            joints_m.append(grip.apply((HELD_M, 0.0, 0.0)))
        return without_arm(frame, joints_m, self.options.arm.thick_m)

    def _why_unposed(self) -> str:
        news = self.heard.cameras.get(CAMERA, CameraNews())
        if not news.pictures:
            camera = self.options.camera
            return f"{self.options.name}: no pictures yet on {camera.image} and {camera.depth}"
        frame = news.pictures[-1].frame
        return f"{self.options.name}: /tf does not tell where {frame!r} was when it took a picture"

    def _placed(self, base: Pose, frame: CameraFrame) -> CameraFrame:
        """A picture posed in the house's map."""
        in_house = self.options.frames.in_house.compose(base)
        return CameraFrame(
            frame.rgb, frame.depth_m, None, frame.intrinsics, in_house.compose(frame.pose)
        )

    def _observation(
        self, agent: str, moment: Moment, frames: dict[str, CameraFrame], *, holding: bool
    ) -> Observation:
        gripper, heard = self.options.gripper, self.heard
        opening = gripper.opening_m(heard.joints.get(gripper.joint, gripper.joint_closed))
        return Observation(
            stamp_s=moment.stamp_s + heard.shift_s,
            agent=agent,
            base=self.options.frames.in_house.compose(moment.base),
            odometry=moment.odometry,
            linear_m_s=heard.linear_m_s,
            angular_rad_s=heard.angular_rad_s,
            hand=moment.hand or Pose(self.options.body.hand_m),
            joints=dict(heard.joints),
            gripper_opening=opening / gripper.width_m,
            holding=holding,
            cameras=frames,
            optical=moment.optical,
        )


def without_arm(frame: CameraFrame, joints_m: Sequence[Vec3], thick_m: float) -> CameraFrame:
    """A picture without depth where the robot's own arm is.

    Args:
        frame: the picture; its pose is not used.
        joints_m: the arm's joints in the optical frame, in their order.
        thick_m: what is so near to the lines between them is the arm.
    """
    depth, lens = frame.depth_m, frame.intrinsics
    rows, columns = (np.arange(0, extent, COARSE_PX) for extent in depth.shape)
    ahead = depth[np.ix_(rows, columns)].astype(np.float64)
    rays = np.stack(
        np.broadcast_arrays(
            (columns - lens.cx_px) / lens.fx_px, ((rows - lens.cy_px) / lens.fy_px)[:, None], 1.0
        ),
        axis=-1,
    )
    points = rays * ahead[..., None]
    is_arm = np.zeros(ahead.shape, bool)
    for one, other in itertools.pairwise(np.array(joint) for joint in joints_m):
        way = other - one
        share = np.clip((points - one) @ way / max(float(way @ way), 1e-12), 0.0, 1.0)
        gaps = np.linalg.norm(points - (one + share[..., None] * way), axis=-1)
        is_arm |= gaps < thick_m
    is_arm &= ahead > 0
    if not is_arm.any():
        return frame
    # Between two looked at there may be its edge.
    is_arm = ndimage.binary_dilation(is_arm, np.ones((3, 3), bool))
    height, width = depth.shape
    mask = np.repeat(np.repeat(is_arm, COARSE_PX, 0), COARSE_PX, 1)[:height, :width]
    return replace(frame, depth_m=np.where(mask, np.float32(0), depth))


def check_map(seen: FloorMap | None, house: House, options: RosOptions) -> None:
    """Checks that the robot's map shows the house where the layout has it.

    Raises:
        PlannerError: if most of the layout's furniture stands on floor that is free in the map.
    """
    if seen is None:
        return
    to_map = options.frames.in_house.inverse()
    points: list[Vec3] = [
        to_map.apply((*middle, 0.0))
        for room in house.rooms
        for middle in _along_walls(room.polygon_m)
    ]
    shown = [_is_occupied(seen, point) for point in points]
    known = [value for value in shown if value is not None]
    share = sum(known) / len(known) if known else 0.0
    if len(known) < len(points) / 2 or share < MAP_SHARE:
        where = options.navigation.map
        raise PlannerError(
            f"{options.name}: the map on {where} does not show {house.name}: {share:.0%} of its "
            f"walls are there; is another map loaded, or is frames.map_in_house wrong?"
        )


def _along_walls(polygon: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points along the walls of a room, half a metre apart."""
    points = []
    for (x0, y0), (x1, y1) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        count = max(1, int(math.hypot(x1 - x0, y1 - y0) / 0.5))
        shares = ((number + 0.5) / count for number in range(count))
        points += [(x0 + s * (x1 - x0), y0 + s * (y1 - y0)) for s in shares]
    return points


def _is_occupied(seen: FloorMap, point: Vec3) -> bool | None:
    """Whether something is near a point; None where the map knows nothing."""
    x, y, _ = seen.origin.inverse().apply(point)
    column, row = int(x // seen.cell_m), int(y // seen.cell_m)
    rows, columns = seen.cells.shape
    if not (0 <= row < rows and 0 <= column < columns):
        return None
    near = max(1, round(MAP_REACH_M / seen.cell_m))
    square = seen.cells[
        max(0, row - near) : row + near + 1, max(0, column - near) : column + near + 1
    ]
    if not np.any(square >= 0):
        return None
    return bool(np.any(square >= _OCCUPIED))
