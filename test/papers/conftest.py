"""The houses of planners and skills, traces by hand and the judge's laboratory of the core."""

from judge_lab import make_lab, pieces, rollout
from made_traces import make_call, make_trace
from planning_toys import toy_world
from shared_bags import asked, decided_bag, through
from skill_world import make_world, world

__all__ = [
    "asked",
    "decided_bag",
    "make_call",
    "make_lab",
    "make_trace",
    "make_world",
    "pieces",
    "rollout",
    "through",
    "toy_world",
    "world",
]
