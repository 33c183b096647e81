"""Explains a failed call to the robot in one sentence that says what to do."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping

from bosdyn.client import frame_helpers
from bosdyn.client import lease as lease_module
from bosdyn.client.auth import InvalidLoginError
from bosdyn.client.directory import NonexistentServiceError
from bosdyn.client.exceptions import (
    Error,
    LeaseUseError,
    ProxyConnectionError,
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


def advice(error: BaseException) -> str:
    """What is wrong and what to do, in one sentence."""
    for kind, text in _ADVICE.items():
        if isinstance(error, kind):
            return text
    if isinstance(error, ResourceAlreadyClaimedError):
        owner = error.response.lease_owner.client_name or "somebody else"
        return f"{owner} holds the lease; have it released there, then claim again"
    return f"{type(error).__name__}: {error}"


_NO_ANSWER = "no answer; check that it is switched on, and the network"
_NO_SERVICE = "a service is missing; wait until it has booted, or update its software"
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
}


def explain(error: BaseException) -> str:
    """A failed call in one line."""
    return str(error) if isinstance(error, PlannerError) else advice(error)
