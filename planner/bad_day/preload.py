"""Modules loaded once by the server that forks all processes of the harness."""
# ruff: noqa: F401

import contextlib

import planner.bad_day.bridge_trial
import planner.bad_day.client.node
import planner.bad_day.stack_trial
import sim_bridge.node
from planner.bad_day.schedule import FORMS
from planner.warm_start import load_common

load_common()
for form in FORMS.usable().values():
    if form.load is not None:
        # It may need what is not installed.
        with contextlib.suppress(ImportError):
            form.load()
