"""The connection to the robot: its address, its login, and what to do when a call fails."""

from __future__ import annotations

import concurrent.futures
import importlib.resources
import logging
import os
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, TypeVar

import bosdyn.util
import grpc
from bosdyn.api.docking.docking_pb2 import DockingCommandResponse
from bosdyn.client import create_standard_sdk, frame_helpers
from bosdyn.client import lease as lease_module
from bosdyn.client.auth import InvalidLoginError
from bosdyn.client.directory import DirectoryClient, NonexistentServiceError
from bosdyn.client.exceptions import (
    Error,
    LeaseUseError,
    ProxyConnectionError,
    ResponseError,
    RpcError,
    TimedOutError,
    UnableToConnectToRobotError,
    UnauthenticatedError,
)
from bosdyn.client.graph_nav import CommandExpiredError
from bosdyn.client.lease import ResourceAlreadyClaimedError
from bosdyn.client.power import EstoppedError
from bosdyn.client.robot import UnregisteredServiceError
from bosdyn.client.robot_command import (
    BehaviorFaultError,
    ExpiredError,
    NotPoweredOnError,
    TooDistantError,
)
from bosdyn.client.time_sync import TimeSyncClient

from planner.world.errors import PlannerError
from sim_bridge.safety.options import SafetyOptions

# A robot's address and account, and why it does not answer.

PROBE_S = 2.0


@dataclass(frozen=True, slots=True)
class RobotAddress:
    """How to reach a robot; an empty certificate means the SDK's own."""

    address: str
    port: int
    certificate: str
    user: str
    password: str


def resolve_address(address: str, port: int, certificate: str) -> RobotAddress:
    """A robot's address: the arguments, then the environment variables of spot_ros2.

    Raises:
        PlannerError: if address or account is missing.
    """
    env = os.environ
    address = address or env.get("SPOT_IP", "")
    if not address:
        raise PlannerError("spot: no address; set SPOT_IP, or address in config/spot.yaml")
    user = env.get("BOSDYN_CLIENT_USERNAME", "")
    password = env.get("BOSDYN_CLIENT_PASSWORD", "")
    if not user or not password:
        raise PlannerError(
            "spot: no account; set BOSDYN_CLIENT_USERNAME and BOSDYN_CLIENT_PASSWORD"
        )
    number = env.get("SPOT_PORT") or str(port)
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 65536):
        raise PlannerError(f"spot: SPOT_PORT {number!r} is not a port, 1 to 65535")
    certificate = certificate or env.get("SPOT_CERTIFICATE", "")
    return RobotAddress(address, int(number), certificate, user, password)


def explain_no_answer(where: RobotAddress) -> str:
    """Why a connection failed, in more detail than the SDK reports, and what to do."""
    try:
        with socket.create_connection((where.address, where.port), PROBE_S) as plain:
            context = ssl.create_default_context(cadata=_authority(where.certificate))
            context.check_hostname = False
            with context.wrap_socket(plain):
                return "it answers, but not as a Spot does; wait until it has booted"
    except socket.gaierror:
        return f"the address {where.address!r} is not known; check SPOT_IP"
    except ssl.SSLCertVerificationError:
        return (
            "its certificate is not one of the authority given; set SPOT_CERTIFICATE to that of "
            "this robot or emulator (unset: Boston Dynamics' own)"
        )
    except ConnectionRefusedError:
        return (
            f"nothing answers at port {where.port}; check SPOT_PORT, and wait until the robot has "
            "booted"
        )
    except OSError:
        return (
            "no answer; check that the robot is switched on, that this computer is in its "
            "network, and the address (SPOT_IP)"
        )


def _authority(certificate: str) -> str:
    if certificate:
        with open(certificate, encoding="ascii") as file:  # noqa: PTH123 - an OSError tells all
            return file.read()
    resources = importlib.resources.files("bosdyn.client.resources")
    return (resources / "robot.pem").read_text(encoding="ascii")


# Explains a failed call to the robot in one sentence that says what to do.
#
# The SDK's own text is only logged: it is for developers, and may be many lines long.

# Three families of the SDK's errors do not derive from its `Error`.
SDK_ERRORS = (Error, lease_module.Error, frame_helpers.Error, concurrent.futures.TimeoutError)
LEASE_ERRORS = (lease_module.Error, LeaseUseError)
LINK_ERRORS = (TimedOutError, ProxyConnectionError, UnableToConnectToRobotError)
# A goal that took so long that it had expired on arrival.
LATE_ERRORS = (*LINK_ERRORS, ExpiredError, CommandExpiredError)
# Different texts that are remembered as logged.
_MAX_LOGGED = 256
_log = logging.getLogger(__name__)


def advice(error: BaseException) -> str:
    """What is wrong and what to do, in one sentence; the SDK's text goes to the log."""
    _log_once(f"{type(error).__name__}: {error}")
    if isinstance(error, ResourceAlreadyClaimedError):
        owner = error.response.lease_owner.client_name or "somebody else"
        return f"{owner} holds the lease; have it released there, then claim again"
    answer = getattr(error, "response", None)
    if isinstance(answer, DockingCommandResponse) and answer.status in _NOT_DOCKED:
        return _NOT_DOCKED[answer.status]
    told = (text for kind, text in _ADVICE.items() if isinstance(error, kind))
    return next(told, _UNKNOWN)


@lru_cache(maxsize=_MAX_LOGGED)
def _log_once(text: str) -> None:
    """Logs a text that may come with every call."""
    _log.warning("spot: %s", text)


_NO_ANSWER = "no answer; check that it is switched on, and the network"
_NO_SERVICE = "a service is missing; wait until it has booted, or update its software"
_LEASE = "the lease is not ours any more, or never was; claim it again"
_UNKNOWN = (
    "something went wrong with the robot's answer; the log has the details; try again, and if "
    "that does not help restart the bridge"
)
_CLOCKS = (
    "the robot took the command's end for over or too far off: its clock has jumped; wait for the "
    "clocks to be compared again, and try again"
)
_NOT_DOCKED: Mapping[int, str] = {
    DockingCommandResponse.STATUS_ERROR_DOCK_NOT_FOUND: (
        "it sees no such dock; bring it in front of the dock, whose number is in the settings"
    ),
    DockingCommandResponse.STATUS_ERROR_NOT_DOCKED: "it is not on a dock",
    DockingCommandResponse.STATUS_ERROR_GRIPPER_HOLDING_ITEM: (
        "its gripper holds something; have that put down first"
    ),
    DockingCommandResponse.STATUS_ERROR_NOT_AVAILABLE: "this robot has no dock that it can use",
}
_ADVICE: Mapping[type[BaseException], str] = {
    InvalidLoginError: (
        "name or password is wrong; set BOSDYN_CLIENT_USERNAME and BOSDYN_CLIENT_PASSWORD"
    ),
    NonexistentServiceError: _NO_SERVICE,
    UnregisteredServiceError: _NO_SERVICE,
    TimedOutError: "it answers too slowly; check the network",
    ProxyConnectionError: _NO_ANSWER,
    UnableToConnectToRobotError: _NO_ANSWER,
    EstoppedError: (
        "an emergency stop is engaged; release it where it was pressed (tablet, motor lockout)"
    ),
    ExpiredError: _CLOCKS,
    TooDistantError: _CLOCKS,
    NotPoweredOnError: "its motors are off; call power_on, then stand",
    BehaviorFaultError: "a behavior fault is active; see to the robot, then clear it on the tablet",
    LeaseUseError: _LEASE,
    lease_module.Error: _LEASE,
    concurrent.futures.TimeoutError: "it answers too slowly; check the network",
    # What is left of calls that failed on the way, and of those that the robot refused.
    RpcError: "the call did not get through; check the network, and that it has booted",
    ResponseError: (
        "the robot refused the call; look for faults on its tablet, and try again (the log has "
        "its answer)"
    ),
}


def explain(error: BaseException) -> str:
    """A failed call in one line."""
    return str(error) if isinstance(error, PlannerError) else advice(error)


ResultT = TypeVar("ResultT")


class Channel(StrEnum):
    """The purpose of a connection, so that nothing urgent queues behind anything slow."""

    STATE = "state"
    PICTURES = "pictures"
    MOTION = "motion"
    STOP = "stop"
    LEASE = "lease"


class Connection:
    """One SDK robot object. `now_s` is also the SDK's clock."""

    def __init__(
        self, name: str, where: RobotAddress, safety: SafetyOptions, now_s: Callable[[], float]
    ) -> None:
        self._name, self._where, self._safety, self._now_s = name, where, safety, now_s
        self.robot: Any = None
        self.sync: Any = None

    def connect(self, wallet: Any = None) -> None:
        """Logs in; `wallet` holds the leases shared with other connections.

        Raises:
            PlannerError: with what is wrong and what to do, in one sentence.
        """
        self.use_clock()
        where, within_s = self._where, self._safety.timeouts.login_s
        certificate = where.certificate or None
        try:
            # The SDK keeps one connection per address and SDK object.
            sdk = create_standard_sdk(self._name, cert_resource_glob=certificate)
        except (OSError, Error) as error:
            raise PlannerError(
                f"spot: the certificate {certificate!r} cannot be read; set SPOT_CERTIFICATE"
            ) from error
        for client in (DirectoryClient, TimeSyncClient):
            sdk.register_service_client(_prompt(client, within_s))
        self.robot = sdk.create_robot(where.address)
        self.robot.update_secure_channel_port(where.port)
        if wallet is not None:
            self.robot.lease_wallet = wallet
        with self.errors_explained():
            self.robot.authenticate(where.user, where.password, timeout=within_s)
            # The thread would use whichever clock the process has at that moment.
            self.sync = self.robot.time_sync.endpoint
            self.robot.stop_time_sync()

    def errors_explained(self) -> _Explained:
        """Turns the SDK's errors of a connection into one sentence each."""
        return _Explained(self._where)

    def client(self, kind: Any) -> Any:
        """The client of a service on this connection."""
        found = self.robot.ensure_client(kind.default_service_name)
        # Some clients start the thread again.
        self.robot.stop_time_sync()
        return found

    def warm_up(self, clients: Iterable[Any]) -> None:
        """Connects the gRPC channels of these clients before their first call.

        A handshake takes several round trips, which the first stop must not wait for.

        Raises:
            Error: of the SDK, if the robot does not answer within the login timeout.
        """
        for client in clients:
            ready = grpc.channel_ready_future(client.channel)
            try:
                ready.result(self._safety.timeouts.login_s)
            except grpc.FutureTimeoutError:
                raise TimedOutError(None, "the channel did not connect") from None

    def use_clock(self) -> None:
        """Sets the SDK's process-wide clock to this connection's."""
        bosdyn.util.set_clock_source(self._now_s)

    def call(self, call: Callable[[], ResultT]) -> ResultT:
        """A call that renews an expired token once."""
        self.use_clock()
        try:
            return call()
        except UnauthenticatedError:
            within_s = self._safety.timeouts.login_s
            self.robot.authenticate(self._where.user, self._where.password, timeout=within_s)
            return call()

    def close(self) -> None:
        """Ends the connection."""
        if self.sync is not None:
            self.robot.stop_time_sync()


class _Explained:
    def __init__(self, where: RobotAddress) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: Any, error: BaseException | None, _trace: Any) -> None:
        if isinstance(error, SDK_ERRORS):
            silent = isinstance(error, (ProxyConnectionError, UnableToConnectToRobotError))
            why = explain_no_answer(self._where) if silent else advice(error)
            where = f"{self._where.address}:{self._where.port}"
            raise PlannerError(f"spot at {where}: {why}") from error


def _prompt(client: type[Any], within_s: float) -> type[Any]:
    """A client of the SDK with our timeout instead of the SDK's 30 s."""

    class Prompt(client):  # type: ignore[misc]
        def call(self, *arguments: Any, **named: Any) -> Any:
            named.setdefault("timeout", within_s)
            return super().call(*arguments, **named)

    return Prompt
