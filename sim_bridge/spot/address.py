"""A robot's address and account, and why it does not answer."""

from __future__ import annotations

import importlib.resources
import os
import socket
import ssl
from dataclasses import dataclass

from planner.world.errors import PlannerError

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
