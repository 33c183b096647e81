"""Modules loaded once by the server that forks all processes of the harness."""
# ruff: noqa: F401

import contextlib

from planner.warm_start import load_common

with contextlib.suppress(ImportError):
    # Needs the extra `spot`.
    import planner.bad_day.spot_harness
    import sim_bridge.spot.backend
import planner.bad_day.bridge_trial
import planner.bad_day.client.node
import planner.bad_day.stack_trial
import sim_bridge.node

load_common()
