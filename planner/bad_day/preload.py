"""Loaded once by the server that all processes of the harness are forked from."""
# ruff: noqa: F401

import contextlib

from planner.warm_start import load_common

with contextlib.suppress(ImportError):
    # The extra `spot`; without it only the forms without a Spot run.
    import planner.bad_day.robot_side
    import sim_bridge.spot.backend
import planner.bad_day.bridge_trial
import planner.bad_day.client.node
import planner.bad_day.stack_trial
import sim_bridge.node

load_common()
