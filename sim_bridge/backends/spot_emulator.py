"""Backend `spot_emulator`: an emulated Spot in this process, whose time is stepped."""

from functools import partial

from sim_bridge.part import BackendPart
from sim_bridge.spot.opening import open_spot

BACKEND = BackendPart(
    summary="an emulated Spot: its protocol and SDK, in simulated time",
    make=partial(open_spot, in_emulator=True),
    simulated=True,
)
