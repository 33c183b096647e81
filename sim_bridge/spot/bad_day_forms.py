"""The forms of bad-day runs on an emulated Spot in real time."""

from __future__ import annotations

from importlib.util import find_spec

from planner.bad_day.faults import Fault
from planner.bad_day.forms import BRIDGE_FAULTS, STACK_FAULTS
from planner.bad_day.schedule import FormPart, HarnessMaker, StackTask
from planner.world.share import config_dir

TASK = str(config_dir() / "spot_scenarios" / "spot_1_cup_to_sink.json")


def has_sdk() -> bool:
    """Whether the extra `spot` is installed."""
    return find_spec("bosdyn") is not None and find_spec("bosdyn.client") is not None


def _load() -> HarnessMaker:
    # The bridge's backend, for the processes that are forked from this one.
    import sim_bridge.spot.backend  # noqa: F401
    from sim_bridge.spot.bad_day import SpotHarness

    return SpotHarness


_NEEDS = "the Spot SDK: make spot (read its licence)"
_ROBOT_FAULTS = (
    (Fault.ROUND_TRIP, 4), (Fault.LOSS, 3), (Fault.STALL, 4), (Fault.CUT, 2),
    (Fault.DROP_REQUEST, 2), (Fault.DROP_ANSWER, 2), (Fault.REORDER, 2), (Fault.TAKE_LEASE, 2),
    (Fault.CLOCK_STEP, 2), (Fault.ESTOP, 1),
)  # fmt: skip
_LINK_FAULTS = ((Fault.ROUND_TRIP, 3), (Fault.LOSS, 2), (Fault.STALL, 3), (Fault.CLOCK_STEP, 1))

BRIDGE = FormPart(
    summary="bridge node, real time",
    faults=(*_ROBOT_FAULTS, *BRIDGE_FAULTS),
    load=_load,
    in_parallel=True,
    place_in_mix=0,
    is_installed=has_sdk,
    needs=_NEEDS,
    left_out="no runs on the emulated Spot: its SDK is not installed (make spot)",
)
# As in demo-spot.
STACK = FormPart(
    summary="whole stack, real time",
    faults=(*STACK_FAULTS, *_LINK_FAULTS),
    load=_load,
    task=StackTask(TASK, 0, 25.0),
    survives_outages=True,
    place_in_mix=1,
    is_installed=has_sdk,
    needs=_NEEDS,
)
