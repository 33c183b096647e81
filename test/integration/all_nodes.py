"""Imported once by the server that our nodes are forked from: what any of them loads."""
# ruff: noqa: F401

import planner.evaluation.node
import planner.memory.node
import planner.memory.privileged
import planner.planning.expert.expert
import planner.planning.node
import planner.skills.node
import planner.skills.skills
import sim_bridge.embedded.backend
import sim_bridge.graph.backend
import sim_bridge.node
from planner.language.remarks import vocabulary
from planner.warm_start import load_common

# Half a second of each task planner's first instruction.
vocabulary()
load_common()
