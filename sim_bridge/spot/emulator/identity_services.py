"""Identity and capabilities of the robot: auth, robot-id, directory, time-sync, license."""

from __future__ import annotations

from typing import Any

from bosdyn.api import auth_pb2, directory_pb2, time_sync_pb2

from sim_bridge.spot.convert import NS, set_stamp
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler
from sim_bridge.spot.emulator.tls import AUTHORITY

# All standard names, so that clients find them; unimplemented ones answer UNIMPLEMENTED.
DIRECTORY = {
    "auth": "bosdyn.api.AuthService",
    "robot-id": "bosdyn.api.RobotIdService",
    "directory": "bosdyn.api.DirectoryService",
    "directory-registration": "bosdyn.api.DirectoryRegistrationService",
    "time-sync": "bosdyn.api.TimeSyncService",
    "lease": "bosdyn.api.LeaseService",
    "estop": "bosdyn.api.EstopService",
    "power": "bosdyn.api.PowerService",
    "robot-state": "bosdyn.api.RobotStateService",
    "robot-command": "bosdyn.api.RobotCommandService",
    "image": "bosdyn.api.ImageService",
    "manipulation": "bosdyn.api.ManipulationApiService",
    "graph-nav-service": "bosdyn.api.graph_nav.GraphNavService",
    "world-objects": "bosdyn.api.WorldObjectService",
    "fault": "bosdyn.api.FaultService",
    "keepalive": "bosdyn.api.keepalive.KeepaliveService",
    "license": "bosdyn.api.LicenseService",
    "arm-surface-contact": "bosdyn.api.ArmSurfaceContactService",
    "audio-visual": "bosdyn.api.AudioVisualService",
    "auto-return": "bosdyn.api.auto_return.AutoReturnService",
    "autowalk-service": "bosdyn.api.autowalk.AutowalkService",
    "choreography": "bosdyn.api.spot.ChoreographyService",
    "data": "bosdyn.api.DataService",
    "data-acquisition": "bosdyn.api.DataAcquisitionService",
    "data-acquisition-store": "bosdyn.api.DataAcquisitionStoreService",
    "data-buffer": "bosdyn.api.DataBufferService",
    "docking": "bosdyn.api.docking.DockingService",
    "door": "bosdyn.api.spot.DoorService",
    "gripper-camera-param": "bosdyn.api.GripperCameraParamService",
    "hazard-avoidance-service": "bosdyn.api.HazardAvoidanceService",
    "inverse-kinematics": "bosdyn.api.spot.InverseKinematicsService",
    "ir-enable-disable-service": "bosdyn.api.IREnableDisableService",
    "local-grid-service": "bosdyn.api.LocalGridService",
    "log-status": "bosdyn.api.log_status.LogStatusService",
    "map-processing-service": "bosdyn.api.graph_nav.MapProcessingService",
    "network-compute-bridge": "bosdyn.api.NetworkComputeBridge",
    "payload": "bosdyn.api.PayloadService",
    "payload-registration": "bosdyn.api.PayloadRegistrationService",
    "point-cloud": "bosdyn.api.PointCloudService",
    "ray-cast": "bosdyn.api.RayCastService",
    "recording-service": "bosdyn.api.graph_nav.GraphNavRecordingService",
    "robot-command-streaming": "bosdyn.api.RobotCommandStreamingService",
    "robot-state-streaming": "bosdyn.api.RobotStateStreamingService",
    "robot-mission": "bosdyn.api.mission.MissionService",
    "spot-check": "bosdyn.api.spot.SpotCheckService",
}
NO_TOKEN = frozenset({"AuthService", "RobotIdService", "PayloadRegistrationService"})
CLOCK_ID = "emulator-clock"


class Accounts:
    """Accounts with their passwords, and the issued tokens."""

    def __init__(self, user: str, password: str) -> None:
        self._user, self._password = user, password
        self._given = 0
        self._valid: set[str] = set()
        # Services that this robot lacks.
        self.hidden: set[str] = set()
        # Services registered by clients, by name: the directory's entry, and when each was last
        # updated.
        self.registered: dict[str, Any] = {}
        self.seen_s: dict[str, float] = {}

    def mint(self, request: Any) -> str | None:
        """A token for the right name and password, or for a valid token."""
        known = (request.username, request.password) == (self._user, self._password)
        if not known and request.token not in self._valid:
            return None
        return self.new_token()

    def new_token(self) -> str:
        """A token for a client that was authenticated without a password."""
        self._given += 1
        # Three parts, as in a web token: the SDK parses but does not verify it.
        token = f"emulator.token.{self._given}"
        self._valid.add(token)
        return token

    def holds(self, header: str) -> bool:
        """Whether a call's authorization is valid."""
        return header.removeprefix("Bearer ") in self._valid

    def knows(self, service: str) -> bool:
        """Whether the directory has a service of this name."""
        return service in self.registered or (service in DIRECTORY and service not in self.hidden)

    def drop(self) -> None:
        """Invalidates every token."""
        self._valid.clear()


def handlers(accounts: Accounts) -> dict[str, dict[str, Handler]]:
    """The services of this file by full name, each with its methods."""

    def authenticate(_machine: Machine, request: Any, response: Any) -> None:
        token = accounts.mint(request)
        if token is None:
            response.status = auth_pb2.GetAuthTokenResponse.STATUS_INVALID_LOGIN
            return
        response.status, response.token = auth_pb2.GetAuthTokenResponse.STATUS_OK, token

    def list_entries(_machine: Machine, _request: Any, response: Any) -> None:
        for name in DIRECTORY:
            if name not in accounts.hidden:
                _entry(response.service_entries.add(), name)
        response.service_entries.extend(accounts.registered.values())

    def get_entry(_machine: Machine, request: Any, response: Any) -> None:
        reply, name = directory_pb2.GetServiceEntryResponse, request.service_name
        if not accounts.knows(name):
            response.status = reply.STATUS_NONEXISTENT_SERVICE
            return
        response.status = reply.STATUS_OK
        if name in accounts.registered:
            response.service_entry.CopyFrom(accounts.registered[name])
            return
        _entry(response.service_entry, name)

    return {
        "bosdyn.api.AuthService": {"GetAuthToken": authenticate},
        "bosdyn.api.RobotIdService": {"GetRobotId": _robot_id},
        "bosdyn.api.DirectoryService": {
            "ListServiceEntries": list_entries,
            "GetServiceEntry": get_entry,
        },
        "bosdyn.api.TimeSyncService": {"TimeSyncUpdate": _time_sync},
        "bosdyn.api.LicenseService": {"GetFeatureEnabled": _features},
    }


def _robot_id(_machine: Machine, _request: Any, response: Any) -> None:
    who = response.robot_id
    who.serial_number, who.species = "emulated-0001", "spot"
    who.version, who.nickname, who.computer_serial_number = "V3", "emulated", "emulated-0001"
    version = who.software_release.version
    version.major_version, version.minor_version, version.patch_level = 5, 0, 0
    who.software_release.name = "emulator"


def _entry(entry: Any, name: str) -> None:
    entry.name, entry.type, entry.authority = name, DIRECTORY[name], AUTHORITY
    entry.user_token_required = name not in ("auth", "robot-id")


def _ns(stamp: Any) -> int:
    return int(stamp.seconds) * NS + int(stamp.nanos)


def _time_sync(machine: Machine, request: Any, response: Any) -> None:
    """Skew from the last round trip's four times; the first call can only be told to continue."""
    response.clock_identifier = request.clock_identifier or CLOCK_ID
    states = time_sync_pb2.TimeSyncState
    trip = request.previous_round_trip
    if not request.HasField("previous_round_trip") or not trip.HasField("client_rx"):
        response.state.status = states.STATUS_MORE_SAMPLES_NEEDED
        return
    ahead = (_ns(trip.server_rx) - _ns(trip.client_tx)) + (
        _ns(trip.server_tx) - _ns(trip.client_rx)
    )
    round_trip = (_ns(trip.client_rx) - _ns(trip.client_tx)) - (
        _ns(trip.server_tx) - _ns(trip.server_rx)
    )
    response.state.status = states.STATUS_OK
    for estimate in (response.previous_estimate, response.state.best_estimate):
        set_stamp(estimate.clock_skew, ahead / 2 / NS)
        set_stamp(estimate.round_trip_time, max(0, round_trip) / NS)
    set_stamp(response.state.measurement_time, machine.now_s + machine.skew_s)


def _features(_machine: Machine, request: Any, response: Any) -> None:
    for code in request.feature_codes:
        # Choreography is not emulated, and a robot without the license refuses it.
        response.feature_enabled[code] = code != "choreography"
