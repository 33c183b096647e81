"""Identity and certificates of the robot, and services that clients register."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

from bosdyn.api import (
    auth_pb2,
    directory_pb2,
    directory_registration_pb2,
    payload_pb2,
    payload_registration_pb2,
    service_fault_pb2,
    time_sync_pb2,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sim_bridge.spot.convert import NS, set_stamp
from sim_bridge.spot.emulator.machine import Machine
from sim_bridge.spot.emulator.service import Handler

# A certificate authority of our own and one certificate for all names that the SDK uses.

# The SDK's bootstrap names; every entry of the directory says api.spot.robot.
AUTHORITY = "api.spot.robot"
NAMES = ("auth.spot.robot", AUTHORITY, "id.spot.robot", "payload-registration.spot.robot")
_VALID = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Identity:
    """PEM: the authority that clients must trust, the server's certificate and its key."""

    authority_pem: bytes
    certificate_pem: bytes
    key_pem: bytes


def make_identity() -> Identity:
    """A new authority with one certificate; neither is stored."""
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root_name, name = _name("planner spot emulator authority"), _name("planner spot emulator")
    root = (
        _builder(root_name, root_name, root_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(root_key, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([x509.DNSName(each) for each in NAMES])
    leaf = (
        _builder(name, root_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(names, critical=False)
        .sign(root_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Identity(
        authority_pem=root.public_bytes(pem),
        certificate_pem=leaf.public_bytes(pem),
        key_pem=key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + _VALID)
    )


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


# Services and payloads that clients register with the robot.

_PAYLOADS = payload_registration_pb2


class Registry:
    """Registered services and payloads; a payload is authorised as soon as it is registered.

    On a robot a person authorises it on the web page.
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts
        self._payloads: dict[str, Any] = {}
        self._secrets: dict[str, str] = {}

    def handlers(self) -> dict[str, dict[str, Handler]]:
        """The services with their methods."""
        return {
            "bosdyn.api.DirectoryRegistrationService": {
                "RegisterService": self._register,
                "UpdateService": self._update,
                "UnregisterService": self._unregister,
            },
            "bosdyn.api.PayloadService": {"ListPayloads": self._list},
            "bosdyn.api.PayloadRegistrationService": {
                "RegisterPayload": self._add_payload,
                "UpdatePayloadVersion": self._set_version,
                "UpdatePayloadAttached": self._attach,
                "GetPayloadAuthToken": self._token,
            },
        }

    # Services

    def _register(self, machine: Machine, request: Any, response: Any) -> None:
        reply, name = directory_registration_pb2.RegisterServiceResponse, request.service_entry.name
        if self._accounts.knows(name):
            response.status = reply.STATUS_ALREADY_EXISTS
        else:
            self._keep(machine, request)
            response.status = reply.STATUS_OK

    def _update(self, machine: Machine, request: Any, response: Any) -> None:
        reply = directory_registration_pb2.UpdateServiceResponse
        known = request.service_entry.name in self._accounts.registered
        if known:
            self._keep(machine, request)
        response.status = reply.STATUS_OK if known else reply.STATUS_NONEXISTENT_SERVICE

    def _keep(self, machine: Machine, request: Any) -> None:
        entry = directory_pb2.ServiceEntry()
        entry.CopyFrom(request.service_entry)
        self._accounts.registered[entry.name] = entry
        self._accounts.seen_s[entry.name] = machine.now_s

    def _unregister(self, machine: Machine, request: Any, response: Any) -> None:
        reply = directory_registration_pb2.UnregisterServiceResponse
        entry = self._accounts.registered.pop(request.service_name, None)
        self._accounts.seen_s.pop(request.service_name, None)
        machine.service_faults.pop(liveness_fault(request.service_name), None)
        response.status = reply.STATUS_NONEXISTENT_SERVICE if entry is None else reply.STATUS_OK

    def watch(self, machine: Machine) -> None:
        """Raises a fault for each registered service that fell silent, until it is back.

        The SDK's directory keepalive sends an update in every liveness period.
        """
        for name, entry in self._accounts.registered.items():
            fault_name, limit_s = liveness_fault(name), entry.liveness_timeout_secs
            silent = limit_s > 0 and machine.last_s - self._accounts.seen_s[name] > limit_s
            if silent and fault_name not in machine.service_faults:
                fault = service_fault_pb2.ServiceFault(
                    error_message=f"{name} has not been heard of for {limit_s:.0f} s",
                    severity=service_fault_pb2.ServiceFault.SEVERITY_CRITICAL,
                )
                fault.fault_id.fault_name, fault.fault_id.service_name = fault_name, name
                machine.service_faults[fault_name] = fault
            elif not silent:
                machine.service_faults.pop(fault_name, None)

    # Payloads

    def _list(self, _machine: Machine, _request: Any, response: Any) -> None:
        response.payloads.extend(self._payloads.values())

    def _add_payload(self, _machine: Machine, request: Any, response: Any) -> None:
        reply, guid = _PAYLOADS.RegisterPayloadResponse, request.payload.GUID
        if guid in self._payloads:
            response.status = reply.STATUS_ALREADY_EXISTS
            return
        payload = payload_pb2.Payload()
        payload.CopyFrom(request.payload)
        payload.is_authorized = payload.is_enabled = True
        self._payloads[guid], self._secrets[guid] = payload, request.payload_secret
        response.status = reply.STATUS_OK

    def _set_version(self, _machine: Machine, request: Any, response: Any) -> None:
        payload = self._of(request, response)
        if payload is not None:
            payload.version.CopyFrom(request.updated_version)
            response.status = response.STATUS_OK

    def _attach(self, _machine: Machine, request: Any, response: Any) -> None:
        payload = self._of(request, response)
        if payload is not None:
            wanted = _PAYLOADS.UpdatePayloadAttachedRequest.REQUEST_ATTACH
            payload.is_enabled = request.request == wanted
            response.status = response.STATUS_OK

    def _token(self, _machine: Machine, request: Any, response: Any) -> None:
        guid, secret = _credentials(request)
        if guid not in self._secrets or self._secrets[guid] != secret:
            response.status = response.STATUS_INVALID_CREDENTIALS
        else:
            response.status, response.token = response.STATUS_OK, self._accounts.new_token()

    def _of(self, request: Any, response: Any) -> Any:
        guid, secret = _credentials(request)
        if guid not in self._payloads:
            response.status = response.STATUS_DOES_NOT_EXIST
        elif self._secrets[guid] != secret:
            response.status = response.STATUS_INVALID_CREDENTIALS
        else:
            return self._payloads[guid]
        return None


def liveness_fault(service: str) -> str:
    """The name of the fault for a registered service that fell silent."""
    return f"{service} liveness"


def _credentials(request: Any) -> tuple[str, str]:
    """The new field of a payload's credentials, or the old ones."""
    given = request.payload_credentials
    if given.guid or not hasattr(request, "payload_guid"):
        return given.guid, given.secret
    return request.payload_guid, request.payload_secret
