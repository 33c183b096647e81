"""habitat-sim in a process of its own: `PYTHON worker.py SOCKET_FD MEMORY_FD`.

It may run in another Python than ROS, 3.9 or newer, so it imports nothing of ours. Requests are
JSON messages, one after another, each preceded by its length in four bytes; each gets one reply.
Pictures go through shared memory. Positions and rotations are in Habitat's frame (y up),
quaternions are (x, y, z, w).

Only calls that exist in habitat-sim v0.3.3 and v0.3.4 are used.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import re
import socket
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Message = dict[str, Any]
Triple = tuple[float, float, float]

_LENGTH = struct.Struct(">I")
REQUESTS = (
    *("hello", "open_house", "add", "put"),
    *("view", "rays", "hits", "mesh", "navigable", "path", "step"),
)
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
# Out of every camera's sight: the body with the camera is moved there during rendering.
_AWAY_M = 1000.0
# Largest distance of a floor to the navigation mesh, whose heights are rounded to voxels.
_FLOOR_TOLERANCE_M = 0.3

# Three lamps around the camera's axis, which stand for the ambient light that habitat-sim lacks,
# and a sun: direction, brightness, frame. Its own four lights overexpose upward faces.
_LIGHTS = (
    *(
        ((0.9165 * math.cos(turn), 0.9165 * math.sin(turn), -0.4, 0.0), 0.5, "Camera")
        for turn in (0.5 + math.tau * number / 3 for number in range(3))
    ),
    ((0.35, -0.8, -0.5, 0.0), 0.4, "Global"),
)


OLDEST_VERSION = (0, 3, 3)
NO_BULLET = "has no Bullet"


def too_old(version: str) -> str:
    """Why a version of habitat-sim cannot be used; "" if it can, or is no number."""
    known = re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if known is None or tuple(map(int, known.groups())) >= OLDEST_VERSION:
        return ""
    return f"is version {version}, older than {'.'.join(map(str, OLDEST_VERSION))}"


class WireError(Exception):
    """The connection is closed, or a message is invalid."""


def send(connection: socket.socket, message: Message) -> None:
    """Sends one message.

    Raises:
        WireError: if the connection is closed.
    """
    body = json.dumps(message, separators=(",", ":")).encode()
    try:
        connection.sendall(_LENGTH.pack(len(body)) + body)
    except OSError as error:
        raise WireError(f"the other side is gone: {error}") from error


def receive(connection: socket.socket) -> Message:
    """Waits for one message.

    Raises:
        WireError: if the connection is closed, the socket's timeout passes, or the message is
            invalid.
    """
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > MAX_MESSAGE_BYTES:
        raise WireError(f"a message of {length} bytes is too long")
    try:
        message = json.loads(_exactly(connection, length))
    except ValueError as error:
        raise WireError(f"a message is no JSON: {error}") from error
    if not isinstance(message, dict):
        raise WireError("a message is no JSON object")
    return message


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = []
    while count:
        try:
            part = connection.recv(min(count, 1 << 20))
        except OSError as error:
            # Includes timeouts: "timed out".
            raise WireError(f"the connection {error}") from error
        if not part:
            raise WireError("the other side closed the connection")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def graphics_device(device: int | None) -> int:
    """A valid `gpu_device_id`: -1 renders on the CPU.

    habitat-sim aborts for a device that does not exist.
    """
    if device is not None:
        return device
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    return 0 if not hidden and Path("/dev/nvidia0").exists() else -1


def picture_bytes(width: int, height: int) -> int:
    """Size of a picture in the shared memory: colours, depth, ids."""
    return width * height * (3 + 4 + 4)


class Pictures:
    """A picture in shared memory: (h, w, 3) uint8, (h, w) float32, (h, w) int32."""

    def __init__(self, memory: mmap.mmap, width: int, height: int) -> None:
        """Maps the start of the memory; raises ValueError if it is too small."""
        pixels = width * height
        shape = (height, width)
        self.depth = np.frombuffer(memory, np.float32, pixels, 0).reshape(shape)
        self.ids = np.frombuffer(memory, np.int32, pixels, 4 * pixels).reshape(shape)
        self.rgb = np.frombuffer(memory, np.uint8, 3 * pixels, 8 * pixels).reshape(*shape, 3)


class Simulation:
    """One habitat-sim and its content."""

    def __init__(self, memory: mmap.mmap) -> None:
        """Loads habitat-sim; raises ImportError if it is not installed."""
        import habitat_sim
        import magnum

        self._hsim, self._mn, self._memory = habitat_sim, magnum, memory
        self._sim: Any = None
        self._lenses: dict[str, tuple[int, Pictures]] = {}
        self._entities: dict[str, Any] = {}
        self._joints: dict[str, dict[str, int]] = {}
        self._instances: dict[int, int] = {}
        self._temporary: list[str] = []
        self._meshes: dict[str, Any] = {}

    def hello(self, _request: Message) -> Message:
        """The version of habitat-sim."""
        return {
            "version": self._hsim.__version__,
            "bullet": bool(self._hsim.built_with_bullet),
            "python": sys.version.split()[0],
        }

    # Loading

    def open_house(self, request: Message) -> Message:
        """Loads a scene of a dataset; `ids` are the instance ids of its furniture by name.

        `cameras` are {name: {width, height, hfov_deg, near_m, far_m}}; each becomes an agent of
        Habitat's at the camera's pose.
        """
        hsim = self._hsim
        settings = hsim.SimulatorConfiguration()
        settings.scene_dataset_config_file = request["dataset"]
        settings.scene_id = request["scene"]
        settings.enable_physics = True
        settings.gpu_device_id = graphics_device(request.get("gpu"))
        settings.allow_sliding = True
        settings.load_semantic_mesh = True
        settings.override_scene_light_defaults = True
        settings.scene_light_setup = hsim.gfx.DEFAULT_LIGHTING_KEY
        agents = [self._camera(name, lens) for name, lens in request["cameras"].items()]
        self._forget()
        configuration = hsim.Configuration(settings, agents)
        if self._sim is None:
            self._sim = hsim.Simulator(configuration)
        else:
            self._sim.reconfigure(configuration)
        self._light()
        for number, (name, lens) in enumerate(request["cameras"].items()):
            pictures = Pictures(self._memory, lens["width"], lens["height"])
            self._lenses[name] = (number, pictures)
            # The first picture compiles shaders, which is a part of loading.
            self._sim.get_sensor_observations(number)
        handles = self._handles()
        for name, instance in request["ids"].items():
            if name in handles:
                self._take_up(name, handles[name], instance)
        missing = [name for name in request["ids"] if name not in handles]
        return {"missing": missing, "device": settings.gpu_device_id}

    def _light(self) -> None:
        """Lights the house as the embedded simulator does, as far as possible."""
        gfx, mn = self._hsim.gfx, self._mn
        lights = [
            gfx.LightInfo(
                mn.Vector4(*vector), mn.Color3(bright), getattr(gfx.LightPositionModel, at)
            )
            for vector, bright, at in _LIGHTS
        ]
        self._sim.set_light_setup(lights, gfx.DEFAULT_LIGHTING_KEY)

    def _camera(self, name: str, lens: Message) -> Any:
        hsim, mn = self._hsim, self._mn
        specifications = []
        for kind in ("COLOR", "DEPTH", "SEMANTIC"):
            one = hsim.CameraSensorSpec()
            one.uuid = f"{name}/{kind}"
            one.sensor_type = getattr(hsim.SensorType, kind)
            one.sensor_subtype = hsim.SensorSubType.PINHOLE
            one.resolution = [int(lens["height"]), int(lens["width"])]
            one.hfov = float(lens["hfov_deg"])
            one.near, one.far = float(lens["near_m"]), float(lens["far_m"])
            one.position = mn.Vector3(0.0, 0.0, 0.0)
            one.orientation = mn.Vector3(0.0, 0.0, 0.0)
            specifications.append(one)
        agent = hsim.agent.AgentConfiguration()
        agent.sensor_specifications = specifications
        agent.action_space = {}
        return agent

    def _forget(self) -> None:
        for known in (self._lenses, self._entities, self._joints, self._instances):
            known.clear()
        self._temporary = []

    def _handles(self) -> dict[str, str]:
        """Habitat's names of the scene's furniture by ours: it adds a number."""
        found = (manager.get_object_handles() for manager in self._managers())
        return {handle.rpartition("_:")[0]: handle for handles in found for handle in handles}

    def _take_up(self, name: str, handle: str, instance: int) -> None:
        """Sets the id of a piece of furniture of the scene."""
        rigid, jointed = self._managers()
        if rigid.get_library_has_handle(handle):
            self._know_rigid(name, rigid.get_object_by_handle(handle), instance)
            return
        entity = jointed.get_object_by_handle(handle)
        self._entities[name] = entity
        self._instances[entity.object_id] = instance
        offsets = {}
        for link in [-1, *entity.get_link_ids()]:
            for node in entity.get_link_visual_nodes(link):
                node.semantic_id = instance
            if link >= 0 and entity.get_link_num_joint_pos(link) == 1:
                offsets[entity.get_link_joint_name(link)] = entity.get_link_joint_pos_offset(link)
        for object_id in entity.link_object_ids:
            self._instances[object_id] = instance
        self._joints[name] = offsets

    def _know_rigid(self, name: str, entity: Any, instance: int) -> None:
        entity.semantic_id = instance
        self._entities[name] = entity
        self._instances[entity.object_id] = instance

    def _managers(self) -> tuple[Any, Any]:
        sim = self._sim
        return sim.get_rigid_object_manager(), sim.get_articulated_object_manager()

    def add(self, request: Message) -> Message:
        """Replaces all things and bodies by `things`: {name, template, id} each."""
        self._sim.seed(int(request["seed"]) % (1 << 31))
        rigid, _ = self._managers()
        for name in self._temporary:
            entity = self._entities.pop(name)
            self._instances.pop(entity.object_id, None)
            rigid.remove_object_by_id(entity.object_id)
        self._temporary = []
        for thing in request["things"]:
            entity = self._made(thing["template"])
            entity.motion_type = self._hsim.physics.MotionType.KINEMATIC
            self._know_rigid(thing["name"], entity, thing["id"])
            self._temporary.append(thing["name"])
        return {}

    def _made(self, template: str) -> Any:
        """A new rigid body from a template's file, at the origin."""
        templates = self._sim.get_object_template_manager()
        if not templates.get_library_has_handle(template):
            templates.load_configs(template)
        entity = self._managers()[0].add_object_by_template_handle(template)
        if entity is None:
            raise ValueError(f"there is no object template {template}")
        return entity

    # Changing

    def put(self, request: Message) -> Message:
        """Moves entities; returns their poses according to habitat-sim.

        `poses` are {name: [x, y, z, yaw about +y]}, `joints` {name: {joint: position}}.
        """
        mn = self._mn
        up = mn.Vector3(0.0, 1.0, 0.0)
        for name, (x, y, z, yaw) in request["poses"].items():
            entity = self._entities[name]
            entity.rigid_state = self._hsim.RigidState(
                mn.Quaternion.rotation(mn.Rad(yaw), up), mn.Vector3(x, y, z)
            )
        for name, positions in request["joints"].items():
            entity, offsets = self._entities[name], self._joints[name]
            now = list(entity.joint_positions)
            for joint, position in positions.items():
                now[offsets[joint]] = position
            entity.joint_positions = now
        return {
            "poses": {name: self._pose(name) for name in request["poses"]},
            "joints": {
                name: {joint: self._joint(name, joint) for joint in positions}
                for name, positions in request["joints"].items()
            },
        }

    def _pose(self, name: str) -> list[float]:
        entity = self._entities[name]
        at, turn = entity.translation, entity.rotation
        yaw = 2.0 * math.atan2(turn.vector.y, turn.scalar)
        return [float(at.x), float(at.y), float(at.z), math.remainder(yaw, math.tau)]

    def _joint(self, name: str, joint: str) -> float:
        return float(self._entities[name].joint_positions[self._joints[name][joint]])

    # Rendering

    def view(self, request: Message) -> Message:
        """Renders a camera's view into the shared memory.

        `hidden` names the body that carries the camera, or nothing.
        """
        number, pictures = self._lenses[request["camera"]]
        x, y, z, w = request["rotation"]
        state = self._hsim.AgentState()
        state.position = np.array(request["position"], np.float32)
        state.rotation = np.quaternion(w, x, y, z)  # type: ignore[attr-defined]
        self._sim.get_agent(number).set_state(state, infer_sensor_states=True)
        body = self._entities.get(request["hidden"])
        at = body.translation if body is not None else None
        if body is not None:
            body.translation = at + self._mn.Vector3(0.0, -_AWAY_M, 0.0)
        try:
            seen = self._sim.get_sensor_observations(number)
        finally:
            if body is not None:
                body.translation = at
        name = request["camera"]
        pictures.rgb[:] = seen[f"{name}/COLOR"][..., :3]
        pictures.depth[:] = seen[f"{name}/DEPTH"]
        pictures.ids[:] = seen[f"{name}/SEMANTIC"]
        return {}

    def rays(self, request: Message) -> Message:
        """The first hit of each ray [from, to]: [instance, metres], or None.

        Rays pass through the entities named in `through`; 0 is the house itself.
        """
        mn = self._mn
        skipped = {self._entities[name].object_id for name in request["through"]}
        hits: list[Any] = []
        for start, end in request["rays"]:
            origin = mn.Vector3(*start)
            towards = mn.Vector3(*end) - origin
            length = towards.length()
            if length == 0.0:
                hits.append(None)
                continue
            ray = self._hsim.geo.Ray(origin, towards / length)
            found = self._sim.cast_ray(ray, max_distance=float(request["far_m"])).hits
            hits.append(self._first(found, skipped))
        return {"hits": hits}

    def _first(self, found: Any, skipped: Any) -> Any:
        for hit in found:
            if hit.object_id not in skipped:
                return [self._instances.get(hit.object_id, 0), float(hit.ray_distance)]
        return None

    def hits(self, request: Message) -> Message:
        """For rays [from, unit direction]: the instances hit, nearest first; 0 is the house."""
        mn = self._mn
        found: list[Any] = []
        for start, towards in request["rays"]:
            ray = self._hsim.geo.Ray(mn.Vector3(*start), mn.Vector3(*towards))
            hits = self._sim.cast_ray(ray, max_distance=float(request["far_m"])).hits
            found.append([self._instances.get(hit.object_id, 0) for hit in hits])
        return {"hits": found}

    # Walking

    def mesh(self, request: Message) -> Message:
        """Builds the navigation mesh of the house for a body; stored as `name`.

        `taken` is the template of a body with everything else that agents must not stand on.
        """
        if request["name"] in self._meshes:
            return {}
        hsim = self._hsim
        settings = hsim.NavMeshSettings()
        settings.set_defaults()
        for key, value in request["settings"].items():
            setattr(settings, key, value)
        # Only static bodies: neither things nor agents.
        settings.include_static_objects = True
        rigid, _ = self._managers()
        taken = self._made(request["taken"])
        taken.motion_type = hsim.physics.MotionType.STATIC
        finder = hsim.PathFinder()
        try:
            made = self._sim.recompute_navmesh(finder, settings)
        finally:
            rigid.remove_object_by_id(taken.object_id)
        if not made or not finder.is_loaded:
            return {"error": "habitat-sim could make no navigation mesh of the house"}
        self._meshes[request["name"]] = finder
        return {}

    def navigable(self, request: Message) -> Message:
        """For points [x, z] on the floor: the island of the mesh that each is on, or -1."""
        finder = self._finder(request)
        islands = []
        for x, z in request["points"]:
            point = self._on_floor(finder, x, z)
            islands.append(-1 if point is None else int(finder.get_island(point)))
        return {"islands": islands}

    def _on_floor(self, finder: Any, x: float, z: float) -> Any:
        """The point of the mesh right above or below a point of the floor, or None."""
        point = self._mn.Vector3(x, 0.0, z)
        if not finder.is_navigable(point, _FLOOR_TOLERANCE_M):
            return None
        return point

    def path(self, request: Message) -> Message:
        """The corners [x, z] of the shortest path, and its length; no corners if there is none."""
        finder = self._finder(request)
        way = self._hsim.ShortestPath()
        way.requested_start = self._snapped(finder, request["start"])
        way.requested_end = self._snapped(finder, request["end"])
        if not finder.find_path(way):
            return {"points": [], "length_m": None}
        points = [[float(p[0]), float(p[2])] for p in way.points]
        return {"points": points, "length_m": float(way.geodesic_distance)}

    def step(self, request: Message) -> Message:
        """Where on the mesh a straight step [x, z] to [x, z] ends: it slides along edges.

        `off_m` is the distance of its intended end from the mesh.
        """
        finder = self._finder(request)
        start, (x, z) = self._snapped(finder, request["start"]), request["end"]
        end = finder.try_step(start, self._mn.Vector3(x, start[1], z))
        near = self._snapped(finder, request["end"])
        off_m = math.hypot(near[0] - x, near[2] - z)
        return {"point": [float(end[0]), float(end[2])], "off_m": off_m}

    def _snapped(self, finder: Any, point: Triple) -> Any:
        x, z = point[0], point[1]
        found = finder.snap_point(self._mn.Vector3(x, 0.0, z))
        return found if not math.isnan(found[0]) else self._mn.Vector3(x, 0.0, z)

    def _finder(self, request: Message) -> Any:
        finder = self._meshes[request["name"]]
        # An unloaded one ends the process instead of raising.
        if not finder.is_loaded:
            raise RuntimeError("the navigation mesh is not loaded")
        return finder

    def close(self) -> None:
        """Frees the simulator."""
        if self._sim is not None:
            self._sim.close()
            self._sim = None


def draw_once() -> None:
    """Draws one small picture of an empty scene, and prints version and device.

    Where it cannot draw, such as without an EGL device, habitat-sim ends the process.
    """
    import habitat_sim as hsim

    reason = too_old(hsim.__version__) or ("" if hsim.built_with_bullet else NO_BULLET)
    if reason:
        raise SystemExit(f"habitat_sim {reason}")
    settings = hsim.SimulatorConfiguration()
    settings.scene_id = "NONE"
    settings.gpu_device_id = graphics_device(None)
    camera = hsim.CameraSensorSpec()
    camera.uuid, camera.resolution = "trial", [8, 8]
    agent = hsim.agent.AgentConfiguration()
    agent.sensor_specifications, agent.action_space = [camera], {}
    simulator = hsim.Simulator(hsim.Configuration(settings, [agent]))
    simulator.get_sensor_observations(0)
    simulator.close()
    device = "the CPU" if settings.gpu_device_id < 0 else f"GPU {settings.gpu_device_id}"
    print(f"version {hsim.__version__}, draws on {device}", flush=True)


def serve(connection: socket.socket, make: Callable[[], Any]) -> None:
    """Answers requests with the object that `make` returns until the connection is closed."""
    try:
        simulation = make()
    except ImportError as error:
        receive(connection)
        send(connection, {"error": f"{sys.executable} has no habitat_sim: {error}"})
        return
    try:
        while True:
            try:
                request = receive(connection)
            except WireError:
                return
            try:
                send(connection, _answered(simulation, request))
            except WireError:
                return
    finally:
        simulation.close()


def _answered(simulation: Any, request: Message) -> Message:
    try:
        name = request.get("do")
        if name == "alive":
            return {}
        if name not in REQUESTS:
            raise ValueError(f"there is no request {name!r}")
        reply: Message = getattr(simulation, name)(request)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return reply


def main(make: Callable[[mmap.mmap], Any] = Simulation) -> None:
    """Serves on the inherited socket and memory."""
    connection = socket.socket(fileno=int(sys.argv[1]))
    memory = mmap.mmap(int(sys.argv[2]), 0)
    serve(connection, lambda: make(memory))


if __name__ == "__main__":
    # Modules must not be imported from this file's folder.
    del sys.path[0]
    main()
