"""What a call of a model is for."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Who asks. Traces and dialogues of before have no role: then it is PLANNER.

    PLANNER decides what agents do next. MEMORY edits the memory. ACTOR turns a plan into calls,
    CORRECTOR mends a call that failed, VERIFIER says whether a sub-task holds. GENERATOR writes
    episodes.
    """

    PLANNER = "planner"
    MEMORY = "memory"
    ACTOR = "actor"
    CORRECTOR = "corrector"
    VERIFIER = "verifier"
    GENERATOR = "generator"
