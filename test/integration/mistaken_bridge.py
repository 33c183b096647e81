"""The bridge node before a simulator whose first grasp closes and is reported as one of nothing.

A stand-in for a robot that takes a thing and says that nothing was there; arguments as of `bridge`.
"""

from __future__ import annotations

import sys
from dataclasses import replace

from planner.world.primitive import PrimitiveCode, PrimitiveStatus
from sim_bridge.backend import Handle
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.node import main

_poll = EmbeddedBackend.poll
_mistaken: list[Handle] = []


def poll(self: EmbeddedBackend, handle: Handle) -> PrimitiveStatus:
    status = _poll(self, handle)
    result = status.result
    if result is None or result.text != "picked" or handle not in (_mistaken or [handle]):
        return status
    _mistaken[:] = [handle]
    nothing = replace(result, code=PrimitiveCode.NOTHING_THERE, text="nothing to take is there")
    return replace(status, result=nothing)


if __name__ == "__main__":
    EmbeddedBackend.poll = poll  # type: ignore[method-assign]
    sys.exit(main())
