"""How far ROS reaches: over this machine's loopback alone, or over the network.

`ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST` only limits whom a process looks for. Its sockets stay
bound to every address, so a client elsewhere that names this machine in `ROS_STATIC_PEERS` finds
the process, and may call it. By default the profiles of `config/dds` bind them to 127.0.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from enum import StrEnum
from pathlib import Path

from planner.world.errors import PlannerError
from planner.world.share import config_dir

SETTING = "PLANNER_NETWORK"
PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE"
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
RMW = "RMW_IMPLEMENTATION"

_LOOPBACK, _LOOPBACK_LARGE = "fastdds_loopback.xml", "fastdds_bridge_loopback.xml"
_OPEN_LARGE = "fastdds_bridge.xml"
_OURS = (_LOOPBACK, _LOOPBACK_LARGE, _OPEN_LARGE)


class Network(StrEnum):
    """What `PLANNER_NETWORK` asks for."""

    LOOPBACK = "loopback"
    OPEN = "open"


def asked(environment: Mapping[str, str]) -> Network:
    """Return what the environment asks for; the loopback where it says nothing.

    Raises:
        PlannerError: where it asks for something else.
    """
    text = environment.get(SETTING, "").strip().lower() or Network.LOOPBACK
    try:
        return Network(text)
    except ValueError:
        raise PlannerError(f"{SETTING}: {text!r} is neither loopback nor open") from None


def confine(environment: MutableMapping[str, str], *, large_messages: bool = False) -> None:
    """Set in `environment` what keeps ROS on the loopback, unless it asks for the network.

    A Fast DDS profile of the user's own stays, and then decides alone. Other middlewares than
    Fast DDS are not covered: only their discovery is limited to this machine. May be applied
    again to what it made.

    Args:
        environment: of a process before it joins ROS; changed in place.
        large_messages: whether the process sends pictures, which takes more shared memory.

    Raises:
        PlannerError: where the setting is neither of the two, or our profile is not there.
    """
    network = asked(environment)
    made_by_us = _is_ours(environment.get(PROFILES, ""))
    if environment.get(PROFILES) and not made_by_us:
        _default(environment, RANGE, "SUBNET" if network is Network.OPEN else "LOCALHOST")
        return
    environment.pop(PROFILES, None)
    if network is Network.OPEN:
        if made_by_us:
            environment.pop(RANGE, None)
        _default(environment, RANGE, "SUBNET")
        if large_messages:
            environment[PROFILES] = _profile(_OPEN_LARGE)
    elif not uses_fast_dds(environment):
        _default(environment, RANGE, "LOCALHOST")
    else:
        environment[PROFILES] = _profile(_LOOPBACK_LARGE if large_messages else _LOOPBACK)
        # LOCALHOST would add a transport that is bound to every address; OFF adds none.
        if environment.get(RANGE, "").upper() != "OFF":
            environment[RANGE] = "SYSTEM_DEFAULT"


def meets_no_other_machine(environment: Mapping[str, str]) -> bool:
    """Whether a process with an environment that `confine` made looks at this machine alone."""
    if Path(environment.get(PROFILES, "")).name in (_LOOPBACK, _LOOPBACK_LARGE):
        return True
    return environment.get(RANGE, "").upper() in ("LOCALHOST", "OFF")


def uses_fast_dds(environment: Mapping[str, str]) -> bool:
    """Whether the middleware is Fast DDS, as it is where nothing is asked for."""
    middleware = environment.get(RMW, "")
    return not middleware or middleware.startswith("rmw_fastrtps")


def _is_ours(profiles: str) -> bool:
    # By the name: a workspace holds a copy of the source tree's files.
    return Path(profiles).name in _OURS


def _default(environment: MutableMapping[str, str], name: str, value: str) -> None:
    # An empty variable counts as unset, as it does for ROS.
    if not environment.get(name):
        environment[name] = value


def _profile(name: str) -> str:
    path = config_dir() / "dds" / name
    if not path.is_file():
        # Fast DDS would go on without it, open to the network.
        raise PlannerError(f"{path} is not there: install the package's config folder whole")
    return str(path)
