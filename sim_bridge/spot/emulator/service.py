"""What all services share: handlers by name, headers, leases, and a log of all requests."""

from __future__ import annotations

import importlib
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any

import grpc
from bosdyn.api import data_chunk_pb2, header_pb2, lease_pb2
from google.protobuf import descriptor_pool, message_factory

from planner.world.geometry import Pose
from sim_bridge.spot.convert import fill_tree, set_stamp
from sim_bridge.spot.emulator.body_geometry import SENSORS, WRIST_TO_HAND_M
from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
from sim_bridge.spot.emulator.house_world import BODY_HEIGHT_M, LYING_HEIGHT_M
from sim_bridge.spot.emulator.machine import Machine, Posture

# Faults of calls: failing, hanging, lost or reordered ones.

CALL_KINDS = frozenset({
    TroubleKind.FAIL, TroubleKind.HANG, TroubleKind.DROP_REQUEST, TroubleKind.DROP_ANSWER,
    TroubleKind.REORDER,
})  # fmt: skip
# A call without a client deadline would wait forever.
_MAX_SILENCE_S = 600.0
_MAX_HOLD_S = 10.0


class Refusal(Exception):  # noqa: N818 - not an error of the emulator
    """A call that ends with a gRPC status."""

    def __init__(self, status: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class CallFault:
    """The fault of one call; `seconds` is how long a held one waits for a later one."""

    kind: TroubleKind
    seconds: float


class CallFaults:
    """Pending call faults; the same seed and calls give the same faults."""

    def __init__(self, seed: int = 0) -> None:
        self._owed: list[tuple[Trouble, int]] = []
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def add(self, trouble: Trouble) -> None:
        """Adds pending faults."""
        with self._lock:
            self._owed.append((trouble, trouble.count))

    def clear(self) -> None:
        """Removes all pending faults."""
        with self._lock:
            self._owed.clear()

    def before(self, method: str) -> CallFault | None:
        """The fault of an incoming call; a hanging call waits in here.

        Raises:
            Refusal: if it fails.
        """
        trouble = self._due(method)
        if trouble is None:
            return None
        if trouble.kind is TroubleKind.HANG:
            time.sleep(trouble.seconds)
            return None
        if trouble.kind is TroubleKind.FAIL:
            raise Refusal(grpc.StatusCode[trouble.code], f"{method} fails as the script says")
        return CallFault(trouble.kind, trouble.seconds or _MAX_HOLD_S)

    def _due(self, method: str) -> Trouble | None:
        with self._lock:
            for index, (trouble, left) in enumerate(self._owed):
                if trouble.method not in ("", method):
                    continue
                if trouble.share < 1 and self._random.random() >= trouble.share:
                    continue
                if left > 1:
                    self._owed[index] = (trouble, left - 1)
                else:
                    self._owed.pop(index)
                return trouble
        return None


class CallOrder:
    """Lets a call wait until a later one of its method was executed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._done: Counter[str] = Counter()

    def carried_out(self, method: str) -> None:
        """A call of the method was executed."""
        with self._changed:
            self._done[method] += 1
            self._changed.notify_all()

    def let_pass(self, method: str, within_s: float) -> None:
        """Returns after the next call of the method was executed, or after `within_s`."""
        with self._changed:
            before = self._done[method]
            self._changed.wait_for(lambda: self._done[method] > before, within_s)


def stay_silent(context: Any) -> Refusal:
    """Waits until the client has given up the call; returns a status that nobody receives."""
    given_up = threading.Event()
    if context.add_callback(given_up.set):
        given_up.wait(_MAX_SILENCE_S)
    return Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, "lost as the script says")


# Importing them registers the services' descriptors.
_DESCRIPTIONS = (
    "arm_surface_contact", "audio_visual", "auth", "auto_return.auto_return", "data",
    "data_buffer", "directory", "directory_registration", "docking.docking", "estop", "fault",
    "graph_nav.graph_nav", "graph_nav.map_processing", "graph_nav.recording",
    "gripper_camera_param", "image", "ir_enable_disable", "keepalive.keepalive", "lease",
    "license", "log_status.log_status", "manipulation_api", "mission.mission", "payload",
    "payload_registration", "power", "ray_cast", "robot_command", "robot_id", "robot_state",
    "spot.door", "spot.inverse_kinematics", "spot.spot_check", "time_sync", "world_object",
)  # fmt: skip
for _name in _DESCRIPTIONS:
    importlib.import_module(f"bosdyn.api.{_name}_service_pb2")

# Fills the response; the header is filled by the caller. For client streams the request is its
# parts joined, for server streams the response is the only part.
Handler = Callable[[Machine, Any, Any], None]


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request as received, at the emulator's time; `within_s` is its client's timeout."""

    at_s: float
    method: str
    client: str
    request: Any
    within_s: float


class Calls:
    """Handles calls one at a time: time first, then token and faults, then the handler."""

    def __init__(
        self,
        machine: Machine,
        *,
        before: Callable[[str], CallFault | None],
        authorized: Callable[[str, str], bool],
    ) -> None:
        """Takes a function called before each method (may raise `Refusal`), and a token check."""
        self.machine = machine
        self.lock = RLock()
        self._order = CallOrder()
        self.requests: list[Recorded] = []
        self.keep_requests = True
        # A frozen link: nothing is answered.
        self.silent = False
        self._before, self._authorized = before, authorized

    def service(self, full_name: str, methods: Mapping[str, Handler]) -> grpc.GenericRpcHandler:
        """A gRPC service of which the named methods are implemented."""
        descriptor = descriptor_pool.Default().FindServiceByName(full_name)
        found = {}
        for method in descriptor.methods:
            if method.name in methods:
                request = _class_of(method.input_type)
                response = _class_of(method.output_type)
                make, answer = _shape(
                    method, self._answer(full_name, method.name, methods[method.name], response)
                )
                found[method.name] = make(
                    answer,
                    request_deserializer=request.FromString,
                    response_serializer=response.SerializeToString,
                )
        unknown = set(methods) - set(found)
        if unknown:
            raise ValueError(f"{full_name} has no methods {sorted(unknown)}")
        return grpc.method_handlers_generic_handler(full_name, found)

    def _answer(
        self, service: str, method: str, handler: Handler, response_class: type[Any]
    ) -> Callable[[Any, Any], Any]:
        def answer(request: Any, context: Any) -> Any:
            try:
                if self.silent:
                    raise Refusal(grpc.StatusCode.UNAVAILABLE, "the link is frozen")
                within_s = context.time_remaining()
                fault = self._before(method)
                token = dict(context.invocation_metadata()).get("authorization", "")
                if not self._authorized(service, token):
                    raise Refusal(grpc.StatusCode.UNAUTHENTICATED, "the token is not valid")
                if fault is not None and fault.kind is TroubleKind.DROP_REQUEST:
                    raise stay_silent(context)
                if fault is not None and fault.kind is TroubleKind.REORDER:
                    self._order.let_pass(method, fault.seconds)
                with self.lock:
                    response = self._handle(method, handler, response_class, request, within_s)
                self._order.carried_out(method)
                if fault is not None and fault.kind is TroubleKind.DROP_ANSWER:
                    raise stay_silent(context)
                return response
            except Refusal as refusal:
                context.abort(refusal.status, str(refusal))

        return answer

    def _handle(
        self,
        method: str,
        handler: Handler,
        response_class: type[Any],
        request: Any,
        within_s: float | None,
    ) -> Any:
        machine = self.machine
        machine.advance()
        if self.keep_requests:
            # Messages of plain chunks have no header.
            client = request.header.client_name if _has_header(request) else ""
            limit_s = math.inf if within_s is None else within_s
            self.requests.append(Recorded(machine.now_s, method, client, request, limit_s))
        response = response_class()
        received_s = machine.now_s + machine.skew_s
        handler(machine, request, response)
        if not _has_header(response):
            return response
        header = response.header
        if _has_header(request):
            header.request_header.CopyFrom(request.header)
        set_stamp(header.request_received_timestamp, received_s)
        set_stamp(header.response_timestamp, machine.now_s + machine.skew_s)
        if not header.error.code:
            header.error.code = header_pb2.CommonError.CODE_OK
        return response


def _class_of(descriptor: Any) -> type[Any]:
    """The class of a message descriptor; protobuf before 4.22 has no public API for it."""
    made = getattr(message_factory, "GetMessageClass", None)
    found: type[Any] = descriptor._concrete_class if made is None else made(descriptor)  # noqa: SLF001
    return found


def _shape(method: Any, answer: Callable[[Any, Any], Any]) -> tuple[Callable[..., Any], Any]:
    """The handler factory of gRPC for a method, and the answer in the form that it expects."""
    if method.client_streaming and method.server_streaming:

        def both(requests: Iterable[Any], context: Any) -> Iterator[Any]:
            yield answer(_join(requests), context)

        return grpc.stream_stream_rpc_method_handler, both
    if method.client_streaming:

        def joined(requests: Iterable[Any], context: Any) -> Any:
            return answer(_join(requests), context)

        return grpc.stream_unary_rpc_method_handler, joined
    if method.server_streaming:

        def parts(request: Any, context: Any) -> Iterator[Any]:
            yield answer(request, context)

        return grpc.unary_stream_rpc_method_handler, parts
    return grpc.unary_unary_rpc_method_handler, answer


def _join(requests: Iterable[Any]) -> Any:
    """The first part with the data of all parts."""
    whole = None
    for part in requests:
        if whole is None:
            whole = part
        elif isinstance(whole, data_chunk_pb2.DataChunk):
            whole.data += part.data
        else:
            whole.chunk.data += part.chunk.data
    return whole


def _has_header(message: Any) -> bool:
    return "header" in message.DESCRIPTOR.fields_by_name


def use_lease(machine: Machine, lease: Any, result: Any) -> bool:
    """Whether a lease may command the body; fills the result either way."""
    book = machine.lease
    word = book.check(lease.epoch, tuple(lease.sequence))
    result.status = lease_pb2.LeaseUseResult.Status.Value(word)
    result.attempted_lease.CopyFrom(lease)
    result.owner.client_name = book.owner
    if book.latest:
        fill_lease(machine, result.latest_known_lease)
    if word == "STATUS_OK":
        book.retain(machine.now_s)
    return word == "STATUS_OK"


def fill_lease(machine: Machine, lease: Any) -> None:
    """Fills in the currently valid lease."""
    lease.resource, lease.epoch = "body", machine.lease.epoch
    lease.sequence.extend(machine.lease.latest)


# The emulated robot's frame tree, in the SDK's names.

ODOM, VISION, BODY, HAND = "odom", "vision", "body", "hand"
FLAT_BODY, GROUND, FEET = "flat_body", "gpe", "feet_center"
WRIST = "link_wr1"
# The wrist's last joint relative to the hand frame.
WRIST_IN_HAND = Pose((-WRIST_TO_HAND_M, 0.0, 0.0))
# Both frames begin at the body where the robot was switched on and drift apart; a program that
# takes one for the other must not get away with it.
VISION_IN_ODOM = Pose.planar(0.3, -0.2, 0.4, 0.05)


def body_in_base(machine: Machine) -> Pose:
    """The SDK's body frame, at the centre of the trunk, in `base_link` on the ground."""
    standing = machine.posture in (Posture.STANDING, Posture.SITTING_DOWN)
    return Pose((0.0, 0.0, BODY_HEIGHT_M if standing else LYING_HEIGHT_M))


def odom_in_map(machine: Machine) -> Pose:
    """Odometry starts at the body's pose where the robot was switched on."""
    return machine.world.boot


def tree(machine: Machine) -> dict[str, tuple[str, Pose]]:
    """Each frame's parent and its pose in that; body is the root."""
    world = machine.world
    body = body_in_base(machine)
    to_body = body.inverse()
    base_in_odom = odom_in_map(machine).inverse().compose(world.base)
    odom_in_body = base_in_odom.compose(body).inverse()
    hand_in_body = to_body.compose(machine.arm_hand or world.hand())
    wrist_in_body = hand_in_body.compose(WRIST_IN_HAND)
    upright = Pose((0.0, 0.0, 0.0))
    found = {
        BODY: ("", upright),
        ODOM: (BODY, odom_in_body),
        VISION: (BODY, odom_in_body.compose(VISION_IN_ODOM)),
        # The body of an emulated robot never tilts.
        FLAT_BODY: (BODY, upright),
        # The floor of every house is level, under the feet; turned as odometry is.
        GROUND: (ODOM, Pose(base_in_odom.position_m)),
        FEET: (BODY, to_body),
        HAND: (BODY, hand_in_body),
        WRIST: (BODY, wrist_in_body),
        f"arm0.{WRIST}": (BODY, wrist_in_body),
    }
    where = {camera: to_body.compose(world.camera(camera)) for camera in set(SENSORS.values())}
    for frame, camera in SENSORS.items():
        found[frame] = (BODY, where[camera])
    return found


def fill(snapshot: Any, machine: Machine) -> None:
    """Writes the current tree."""
    fill_tree(snapshot, tree(machine))


def in_map(machine: Machine, frame: str, pose: Pose) -> Pose:
    """A pose in one of the robot's frames, in the map.

    Raises:
        KeyError: for an unknown frame.
    """
    odom, base = odom_in_map(machine), machine.world.base
    if frame == ODOM:
        return odom.compose(pose)
    if frame == VISION:
        return odom.compose(VISION_IN_ODOM).compose(pose)
    if frame in ("base_link", FEET):
        return base.compose(pose)
    parent, found = tree(machine)[frame]
    of_parent = odom if parent == ODOM else base.compose(body_in_base(machine))
    return of_parent.compose(found).compose(pose)
