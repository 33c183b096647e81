"""Backend `spot`: a Boston Dynamics Spot with an arm."""

from functools import partial

from sim_bridge.part import BackendPart
from sim_bridge.spot.opening import open_spot

BACKEND = BackendPart(
    summary="a Spot with an arm",
    make=partial(open_spot, in_emulator=False),
    simulated=False,
    physical_stop="the tablet's stop button or the motor lockout",
)
