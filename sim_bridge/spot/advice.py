"""Explains a failed call to the robot in one sentence that says what to do.

The SDK's own text is only logged: it is for developers, and may be many lines long.
"""

from __future__ import annotations

import concurrent.futures
import logging
from collections.abc import Mapping
from functools import lru_cache

from bosdyn.client import frame_helpers
from bosdyn.client import lease as lease_module
from bosdyn.client.auth import InvalidLoginError
from bosdyn.client.directory import NonexistentServiceError
from bosdyn.client.exceptions import (
    Error,
    LeaseUseError,
    ProxyConnectionError,
    ResponseError,
    RpcError,
    TimedOutError,
    UnableToConnectToRobotError,
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

from planner.world.errors import PlannerError

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
