"""Imported once by the server that our nodes are forked from: what any of them loads."""
# ruff: noqa: F401

import planner.evaluation.node
import planner.memory.node
import planner.planning.node
import planner.skills.node
import sim_bridge.embedded.backend
import sim_bridge.node
from planner.warm_start import load_common

load_common()
