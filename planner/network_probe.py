"""From where nodes started now could be reached, and what protects them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from planner.network import (
    PROFILES,
    RANGE,
    RMW,
    SETTING,
    TOKEN,
    Network,
    requested_network,
    token_of,
    uses_fast_dds,
)
from planner.security.keystore import KeystoreReport, check_keystore
from planner.security.policy import (
    ENABLE,
    KEYSTORE,
    STRATEGY,
    domain_of,
    is_enforced,
    is_secured,
    shipped_policy,
)
from planner.world.errors import PlannerError

# Programs for a child process, in the environment of a node.
SOCKETS = """
import json, rclpy
from planner.network import reachable_sockets
rclpy.init()
node = rclpy.create_node("planner_doctor")
print(json.dumps(reachable_sockets()))
node.destroy_node()
rclpy.shutdown()
"""
# A middleware with security complains about the empty keys, one without it about that.
SECURITY = """
import os, pathlib, sys, tempfile
names = ("identity_ca.cert.pem", "cert.pem", "key.pem", "permissions_ca.cert.pem",
         "governance.p7s", "permissions.p7s")
with tempfile.TemporaryDirectory() as folder:
    enclaves = pathlib.Path(folder, "enclaves")
    enclaves.mkdir()
    for name in names:
        (enclaves / name).touch()
    os.environ.update(ROS_SECURITY_ENABLE="true", ROS_SECURITY_STRATEGY="Enforce",
                      ROS_SECURITY_KEYSTORE=folder, ROS_SECURITY_ENCLAVE_OVERRIDE="/")
    import rclpy
    rclpy.init()
    try:
        rclpy.create_node("planner_doctor")
    except Exception as error:
        if "have the security libraries" in str(error):
            sys.exit("the middleware was built without security")
print("the middleware was built with security")
sys.stdout.flush()
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Exposure:
    """Who can reach the nodes.

    Attributes:
        is_protected: whether no other machine can reach them without a key.
        detail: the network setting in force.
        cure: what to do if they are not protected, else "".
    """

    is_protected: bool
    detail: str
    cure: str = ""


def judge(environment: Mapping[str, str], sockets_json: str) -> Exposure:
    """Assess the settings in force.

    Args:
        environment: of the shell, before this program changed it.
        sockets_json: output of `SOCKETS`: a JSON list of the sockets of one node that can be
            reached from beyond the loopback.

    Raises:
        PlannerError: if PLANNER_NETWORK has an invalid value.
    """
    sockets = json.loads(sockets_json)
    network = requested_network(environment)
    keystore = environment.get(KEYSTORE, "") or "no keystore"
    if not sockets:
        detail = "loopback only: no socket can be reached from other machines"
        if network is Network.LOOPBACK and environment.get(RANGE, "").upper() == "SUBNET":
            detail += f"; {RANGE}=SUBNET has no effect without {SETTING}=open"
        if is_secured(environment):
            how = "enforced" if is_enforced(environment) else "not enforced"
            detail += f"; SROS 2 is on, {how} ({keystore})"
        return Exposure(True, detail)
    why = f"{len(sockets)} sockets of a node can be reached by others, {_reason(environment)}"
    if is_enforced(environment):
        return Exposure(True, f"SROS 2, enforced ({keystore}); {why}")
    if is_secured(environment):
        return Exposure(
            False,
            f"SROS 2 is on but not enforced ({keystore}): a node without keys runs on "
            f"unprotected; {why}",
            f"export {STRATEGY}=Enforce",
        )
    if environment.get(ENABLE):
        why += f"; {ENABLE}={environment[ENABLE]} has no effect, ROS expects the word true"
    try:
        has_token = bool(token_of(environment))
    except PlannerError as error:
        why += f"; programs do not start: {error}"
        has_token = False
    who = "anyone who reaches this machine can move the robot"
    if has_token:
        who = f"who has {TOKEN} can move the robot, anyone can read and forge packets"
    return Exposure(False, f"open without security: {who}; {why}", _cure(environment))


def examine_keys(environment: Mapping[str, str], folder: Path) -> KeystoreReport:
    """Check a keystore as nodes started now would use it.

    Raises:
        PlannerError: as `planner.security.keystore.check_keystore`.
    """
    return check_keystore(folder, shipped_policy(), domain_of(environment), datetime.now(UTC))


def _reason(environment: Mapping[str, str]) -> str:
    if environment.get(PROFILES):
        return f"by {PROFILES}={environment[PROFILES]}"
    if requested_network(environment) is Network.OPEN:
        return f"by {SETTING}=open"
    if not uses_fast_dds(environment):
        return f"as the loopback profile does not cover {environment[RMW]}"
    return "though nothing requests it"


def _cure(environment: Mapping[str, str]) -> str:
    if environment.get(PROFILES):
        return f"unset {PROFILES}, or restrict its transports to 127.0.0.1 (docs/setup.md)"
    if requested_network(environment) is Network.OPEN:
        return f"unset {SETTING}, or use SROS 2 (docs/setup.md)"
    return "configure the middleware itself, or use SROS 2 (docs/setup.md)"
