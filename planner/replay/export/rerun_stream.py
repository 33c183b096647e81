"""The Rerun recording being written, with its entity paths, the house and the cameras."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from shapely import union_all
from shapely.geometry import LineString

from planner.replay.export.source import Camera, Received, Source
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Pose, Quaternion, Vec3
from planner.world.house import Door, House
from planner.world.picture_codec import decode_colour, decode_depth, encode_colour

if TYPE_CHECKING:
    import rerun as rr
    import rerun.blueprint as rrb


# Entity paths in a Rerun recording, shared by export and blueprint.
#
# Names from a bag are escaped, so that each is one part of a path.

APPLICATION = "planner"
WORLD_TIME, RECEIPT_TIME = "sim_time", "log_time"

WORLD = "/world"
WALLS = "/world/house/walls"
GRAPH = "/world_graph"
INSTRUCTION = "/texts/instruction"
PLAN = "/texts/plan"
QUESTION = "/texts/question"
BELIEF_TEXT = "/texts/world_graph"
JUDGE_TEXT = "/texts/judge"
PROMPT, REPLY = "/texts/prompt", "/texts/reply"
LOGS = "/log"
CALL_LOG, PLANNER_LOG = "/log/calls", "/log/planner"
MEMORY_LOG, NODE_LOG = "/log/memory", "/log/rosout"
PROGRESS = "/plots/progress/percent_complete"
TOKENS = "/plots/tokens"
SECONDS = "/plots/seconds"
CALLS = "/calls"


def path(*parts: str) -> str:
    """The entity path of some names, each escaped."""
    import rerun as rr

    # Rerun drops empty parts.
    return "/" + "/".join(rr.escape_entity_path_part(part or "_") for part in parts)


def room(name: str) -> str:
    """A room's outline."""
    return path("world", "house", "rooms", name)


def furniture(name: str) -> str:
    """A piece of furniture of the house file."""
    return path("world", "house", "furniture", name)


def truth(name: str) -> str:
    """An entity of the true world."""
    return path("world", "truth", name)


def belief(name: str) -> str:
    """An object or agent in the memory's belief."""
    return path("world", "belief", name)


def way(agent: str) -> str:
    """The path that an agent took."""
    return path("world", "agents", agent, "way")


def camera(agent: str, name: str) -> str:
    """A camera's intrinsics; its pictures are below."""
    return path("world", "cameras", agent, name)


def rgb(agent: str, name: str) -> str:
    """A camera's colour pictures."""
    return f"{camera(agent, name)}/rgb"


def depth(agent: str, name: str) -> str:
    """A camera's depth pictures."""
    return f"{camera(agent, name)}/depth"


def frame(name: str) -> str:
    """The transform from a frame of /tf to its parent."""
    return path("tf", *(part for part in name.split("/") if part))


def call(agent: str) -> str:
    """The running call of an agent, as a state over time."""
    return path("calls", agent)


MAP = "map"


class Recording:
    """Logs at the times of messages; the world's time is a duration if it is simulated."""

    def __init__(self, stream: rr.RecordingStream, *, simulated: bool) -> None:
        """Takes a stream and turns off Rerun's own time lines, which have the export's times."""
        self._stream, self._simulated = stream, simulated
        self._in_map: set[str] = set()
        stream.set_log_time_enabled(False)
        stream.set_log_tick_enabled(False)

    def at(self, message: Received) -> None:
        """Sets the current times to those of a message."""
        self.at_times(message.received_ns, message.world_ns)

    def at_times(self, received_ns: int, world_ns: int) -> None:
        """Sets the current times."""
        self._stream.set_time(RECEIPT_TIME, timestamp=np.datetime64(received_ns, "ns"))
        if self._simulated:
            self._stream.set_time(WORLD_TIME, duration=np.timedelta64(world_ns, "ns"))
        else:
            self._stream.set_time(WORLD_TIME, timestamp=np.datetime64(world_ns, "ns"))

    def log(self, path: str, *what: rr.AsComponents) -> None:
        """Logs at the current times."""
        self._stream.log(path, *what)

    def log_in_map(self, path: str, *what: rr.AsComponents, static: bool = False) -> None:
        """Logs at the current times, in the map frame."""
        import rerun as rr

        if path not in self._in_map:
            self._in_map.add(path)
            self._stream.log(path, rr.CoordinateFrame(MAP), static=True)
        self._stream.log(path, *what, static=static)

    def log_static(self, path: str, *what: rr.AsComponents) -> None:
        """Logs what is valid at all times."""
        self._stream.log(path, *what, static=True)

    def send(
        self, path: str, messages: Sequence[Received], columns: rr.ComponentColumnList
    ) -> None:
        """Logs many rows at once, which is many times faster."""
        import rerun as rr

        world_ns = np.array([message.world_ns for message in messages], np.int64)
        world = (
            rr.TimeColumn(WORLD_TIME, duration=world_ns.astype("timedelta64[ns]"))
            if self._simulated
            else rr.TimeColumn(WORLD_TIME, timestamp=world_ns.astype("datetime64[ns]"))
        )
        received_ns = np.array([message.received_ns for message in messages], np.int64)
        receipt = rr.TimeColumn(RECEIPT_TIME, timestamp=received_ns.astype("datetime64[ns]"))
        self._stream.send_columns(path, [world, receipt], columns)


# The house in Rerun: rooms as outlines, walls and furniture as boxes. It never changes.

_WALL_M, _SHOWN_M, _SHORTEST_M = 0.06, 0.6, 1e-3
# A door cuts the walls of both rooms, which may be this far apart.
_OPENING_M = 0.3
_WALL_RGB, _ROOM_RGB = (170, 170, 178), (225, 225, 235)


@dataclass(frozen=True, slots=True)
class WallPiece:
    """A straight, upright box of wall: centre, half size, rotation about z."""

    center_m: Vec3
    half_size_m: Vec3
    yaw_rad: float


def draw_house(recording: Recording, house: House) -> None:
    """Logs the whole house."""
    import rerun as rr

    for each in house.rooms:
        corners = [(x, y, 0.01) for x, y in (*each.polygon_m, each.polygon_m[0])]
        outline = rr.LineStrips3D([corners], labels=[each.name], colors=[_ROOM_RGB], radii=0.02)
        recording.log_in_map(room(each.name), outline, static=True)
    walls = list(wall_pieces(house))
    if walls:
        boxes = rr.Boxes3D(
            centers=[wall.center_m for wall in walls],
            half_sizes=[wall.half_size_m for wall in walls],
            quaternions=[_turn(wall.yaw_rad) for wall in walls],
            colors=_WALL_RGB,
            fill_mode="solid",
        )
        recording.log_in_map(WALLS, boxes, static=True)
    for piece in house.furniture:
        places = [piece.pose.compose(Pose(part.center)) for part in piece.parts]
        boxes = rr.Boxes3D(
            centers=[place.position_m for place in places],
            half_sizes=[tuple(extent / 2 for extent in part.size) for part in piece.parts],
            quaternions=[place.orientation for place in places],
            colors=[part.rgb for part in piece.drawn_parts],
            fill_mode="solid",
        )
        recording.log_in_map(furniture(piece.name), boxes, static=True)


def wall_pieces(house: House) -> Iterator[WallPiece]:
    """The walls of all rooms without the door openings, low enough to see into the rooms."""
    walls = union_all([room.shape.exterior for room in house.rooms])
    for door in house.doors:
        walls = walls.difference(_line(door).buffer(_OPENING_M, cap_style="flat"))
    for line in getattr(walls, "geoms", [walls]):
        for (x, y), (u, v) in itertools.pairwise(line.coords):
            length_m = math.hypot(u - x, v - y)
            if length_m > _SHORTEST_M:
                middle = ((x + u) / 2, (y + v) / 2, _SHOWN_M / 2)
                half = (length_m / 2, _WALL_M / 2, _SHOWN_M / 2)
                yield WallPiece(middle, half, math.atan2(v - y, u - x))


def _line(door: Door) -> LineString:
    (x, y), half = door.center_m, door.width_m / 2
    dx, dy = half * math.cos(door.yaw_rad), half * math.sin(door.yaw_rad)
    return LineString([(x - dx, y - dy), (x + dx, y + dy)])


def _turn(yaw_rad: float) -> Quaternion:
    return Pose.planar(0.0, 0.0, yaw_rad).orientation


# Cameras in Rerun: intrinsics in their optical frames, colour pictures as JPEG, depth as PNG.

_PNG_EFFORT = 1
_MAX_MM = 65534.0
_MAGIC = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png"}


class Cameras:
    """All cameras of a bag."""

    def __init__(self, recording: Recording, source: Source) -> None:
        self._recording, self._source = recording, source
        self._of: dict[str, Camera] = {}
        for camera in source.cameras:
            self._of.update((topic, camera) for topic in (camera.rgb, camera.depth, camera.info))
        self._of.pop("", None)
        self.topics = tuple(self._of)
        self._lenses: dict[Camera, tuple[object, ...]] = {}
        self._planes: dict[str, str] = {}

    def add(self, message: Received) -> None:
        """Takes a picture or a camera_info.

        Raises:
            FileError: if a picture cannot be read.
        """
        camera = self._of[message.topic]
        try:
            if message.topic == camera.rgb:
                self._add_rgb(camera, message.content)
            elif message.topic == camera.depth:
                self._add_depth(camera, message.content)
            else:
                self._add_lens(camera, message.content)
        except PlannerError as error:
            where = f"{message.topic} at {message.world_s:.3f} s"
            raise FileError(self._source.folder, where, str(error)) from None

    def _add_lens(self, source: Camera, content: Any) -> None:
        import rerun as rr

        matrix = tuple(float(value) for value in content.k)
        frame = str(content.header.frame_id)
        lens = (matrix, int(content.width), int(content.height), frame)
        if self._lenses.get(source) == lens or not matrix[0] > 0 or not frame:
            return
        self._lenses[source] = lens
        pinhole = rr.Pinhole(
            image_from_camera=np.reshape(matrix, (3, 3)),
            resolution=[int(content.width), int(content.height)],
            camera_xyz=rr.ViewCoordinates.RDF,
            parent_frame=frame,
            child_frame=_plane(frame),
            image_plane_distance=0.4,
        )
        self._recording.log(camera(source.agent, source.name), pinhole)

    def _add_rgb(self, camera: Camera, content: Any) -> None:
        import rerun as rr

        blob, media_type = _jpeg(content)
        path = rgb(camera.agent, camera.name)
        self._place(path, content)
        self._recording.log(path, rr.EncodedImage(contents=blob, media_type=media_type))

    def _add_depth(self, camera: Camera, content: Any) -> None:
        import cv2
        import rerun as rr

        millimetres = np.minimum(np.rint(decode_depth(content) * 1000), _MAX_MM).astype(np.uint16)
        _, data = cv2.imencode(".png", millimetres, [cv2.IMWRITE_PNG_COMPRESSION, _PNG_EFFORT])
        path = depth(camera.agent, camera.name)
        self._place(path, content)
        picture = rr.EncodedDepthImage(data.tobytes(), media_type="image/png", meter=1000.0)
        self._recording.log(path, picture)

    def _place(self, path: str, content: Any) -> None:
        """Logs the image plane of the picture's frame."""
        import rerun as rr

        frame = str(content.header.frame_id)
        if frame and self._planes.get(path) != frame:
            self._planes[path] = frame
            self._recording.log(path, rr.CoordinateFrame(_plane(frame)))


def _plane(frame: str) -> str:
    # The name used by Rerun's own reader of bags, which puts intrinsics and pictures into two
    # frames.
    return f"{frame}_image_plane"


def _jpeg(content: Any) -> tuple[bytes, str]:
    """A colour picture as recorded if that is a JPEG or PNG, else as a JPEG."""
    if hasattr(content, "format"):
        data = bytes(content.data)
        for magic, media_type in _MAGIC.items():
            if data.startswith(magic):
                return data, media_type
    return encode_colour(decode_colour(content)), "image/jpeg"


# What Rerun's viewer shows of an exported bag: the blueprint that is part of every `.rrd`.
#
# `python -m planner.replay.export.rerun_stream FOLDER` writes `planner.rbl`, the file for two
# agents that is shipped in `config/viewers/`.

FILE_NAME = "planner.rbl"
SHIPPED_CAMERAS = (("agent_0", "hand"), ("agent_1", "hand"))


def blueprint(cameras: Sequence[tuple[str, str]], house: House | None = None) -> rrb.Blueprint:
    """The views of a recording: world, cameras and texts above; calls, numbers and logs below.

    Args:
        cameras: agent and name of each camera that is shown.
        house: the view looks down on it; None = the viewer's default.
    """
    import rerun.blueprint as rrb

    eye = None if house is None else _top_view(house)
    world = rrb.Spatial3DView(origin=WORLD, name="World", eye_controls=eye)
    seen = [
        rrb.Spatial2DView(origin=camera(agent, name), name=f"{agent} {name}")
        for agent, name in cameras
    ]
    texts = rrb.Tabs(
        rrb.TextDocumentView(origin=INSTRUCTION, name="Instruction"),
        rrb.TextDocumentView(origin=PLAN, name="Plan"),
        rrb.TextDocumentView(origin=BELIEF_TEXT, name="World graph"),
        rrb.TextDocumentView(origin=JUDGE_TEXT, name="Judge"),
        rrb.TextDocumentView(origin=PROMPT, name="Prompt"),
        rrb.TextDocumentView(origin=REPLY, name="Reply"),
        rrb.GraphView(origin=GRAPH, name="Graph"),
        active_tab="Instruction",
        name="Texts",
    )
    lanes = rrb.StateTimelineView(origin=CALLS, name="Calls")
    numbers = rrb.Tabs(
        rrb.TimeSeriesView(
            origin=PROGRESS, name="Percent complete", axis_y=rrb.ScalarAxis(range=(0.0, 1.0))
        ),
        rrb.TimeSeriesView(origin=TOKENS, name="Tokens"),
        rrb.TimeSeriesView(origin=SECONDS, name="Latency"),
        name="Numbers",
    )
    logs = rrb.TextLogView(origin=LOGS, name="Logs")
    right = [rrb.Vertical(*seen, name="Cameras"), texts] if seen else [texts]
    return rrb.Blueprint(
        rrb.Vertical(
            rrb.Horizontal(world, *right, column_shares=[5, 2, 3] if seen else [7, 3]),
            rrb.Horizontal(lanes, numbers, logs),
            row_shares=[3, 1],
        ),
        rrb.TimePanel(timeline=WORLD_TIME, state="collapsed"),
        rrb.SelectionPanel(state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        auto_views=False,
    )


def _top_view(house: House) -> rrb.EyeControls3D:
    import rerun.blueprint as rrb

    left, near, right, far = union_all([room.shape for room in house.rooms]).bounds
    middle = ((left + right) / 2, (near + far) / 2, 0.0)
    away_m = max(right - left, far - near)
    position = (middle[0], middle[1] - 0.6 * away_m, 1.1 * away_m)
    return rrb.EyeControls3D(position=position, look_target=middle, eye_up=(0.0, 0.0, 1.0))


def write_shipped(folder: Path) -> None:
    """Writes the shipped file."""
    blueprint(SHIPPED_CAMERAS).save(APPLICATION, folder / FILE_NAME)


if __name__ == "__main__":
    write_shipped(Path(sys.argv[1]))
