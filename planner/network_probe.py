"""How far the nodes that would be started now can be reached, and what protects them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from planner.network import PROFILES, RANGE, RMW, SETTING, Network, asked, uses_fast_dds
from planner.security.enclave import (
    ENABLE,
    KEYSTORE,
    STRATEGY,
    domain_of,
    enforced,
    secured,
)
from planner.security.examination import Examined, examine_keystore
from planner.security.policy import shipped_policy

# Programs for a process of its own, in the environment of a node.
SOCKETS = """
import json, rclpy
from planner.reachable import reachable_sockets
rclpy.init()
node = rclpy.create_node("planner_doctor")
print(json.dumps(reachable_sockets()))
node.destroy_node()
rclpy.shutdown()
"""
# A middleware with security complains of the empty keys, one without of itself.
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
class Reach:
    """Who can reach the nodes.

    Attributes:
        guarded: whether nobody can from elsewhere who has no key.
        detail: which way of reaching them is in force.
        cure: what to do where they are not guarded, else "".
    """

    guarded: bool
    detail: str
    cure: str = ""


def judge(environment: Mapping[str, str], sockets_json: str) -> Reach:
    """Say what is in force.

    Args:
        environment: of the shell, as it was before anything of ours changed it.
        sockets_json: what `SOCKETS` printed: a JSON list of the sockets of one node that can be
            reached from beyond the loopback.

    Raises:
        PlannerError: where PLANNER_NETWORK is neither of its two words.
    """
    sockets = json.loads(sockets_json)
    network = asked(environment)
    keystore = environment.get(KEYSTORE, "") or "no keystore"
    if not sockets:
        detail = "loopback only: no socket can be reached from elsewhere"
        if network is Network.LOOPBACK and environment.get(RANGE, "").upper() == "SUBNET":
            detail += f"; {RANGE}=SUBNET has no effect without {SETTING}=open"
        if secured(environment):
            how = "enforced" if enforced(environment) else "not enforced"
            detail += f"; SROS 2 is on, {how} ({keystore})"
        return Reach(True, detail)
    why = f"{len(sockets)} sockets of a node can be reached from elsewhere, {_why(environment)}"
    if enforced(environment):
        return Reach(True, f"SROS 2, enforced ({keystore}); {why}")
    if secured(environment):
        return Reach(
            False,
            f"SROS 2 is on but not enforced ({keystore}): a node without keys runs on "
            f"unprotected; {why}",
            f"export {STRATEGY}=Enforce",
        )
    if environment.get(ENABLE):
        why += f"; {ENABLE}={environment[ENABLE]} turns nothing on, ROS wants the word true"
    return Reach(
        False,
        f"open without security: whoever reaches this machine can move the robot; {why}",
        _close(environment),
    )


def examine_keys(environment: Mapping[str, str], folder: Path) -> Examined:
    """Look at a keystore as nodes that are started now would use it.

    Raises:
        PlannerError: as `planner.security.examination.examine_keystore`.
    """
    return examine_keystore(folder, shipped_policy(), domain_of(environment), datetime.now(UTC))


def _why(environment: Mapping[str, str]) -> str:
    if environment.get(PROFILES):
        return f"by {PROFILES}={environment[PROFILES]}"
    if asked(environment) is Network.OPEN:
        return f"by {SETTING}=open"
    if not uses_fast_dds(environment):
        return f"as the loopback profile does not cover {environment[RMW]}"
    return "though nothing asks for it"


def _close(environment: Mapping[str, str]) -> str:
    if environment.get(PROFILES):
        return f"unset {PROFILES}, or restrict its transports to 127.0.0.1 (docs/setup.md)"
    if asked(environment) is Network.OPEN:
        return f"unset {SETTING}, or use SROS 2 (docs/setup.md)"
    return "configure the middleware itself, or use SROS 2 (docs/setup.md)"
