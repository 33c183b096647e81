"""What a call of a model is for."""

from __future__ import annotations

from enum import StrEnum


class Role(StrEnum):
    """Which part calls the model. Older traces and dialogues have no role, which means PLANNER.

    PLANNER decides what agents do next. MEMORY edits the memory or searches it. ACTOR turns a plan
    into calls, CORRECTOR fixes a call that failed, VERIFIER judges whether a sub-task is complete.
    MESSENGER writes what one agent may tell the others. LOCATOR says near what a thing may be.
    GENERATOR writes episodes. CLASSIFIER says of which class a task is, DECOMPOSER what its parts
    are, RANKER in which order to search rooms, PROPOSER which furniture is worth a visit.
    CAPTIONER describes a picture.
    """

    PLANNER = "planner"
    MEMORY = "memory"
    ACTOR = "actor"
    CORRECTOR = "corrector"
    VERIFIER = "verifier"
    MESSENGER = "messenger"
    LOCATOR = "locator"
    GENERATOR = "generator"
    CLASSIFIER = "classifier"
    DECOMPOSER = "decomposer"
    RANKER = "ranker"
    PROPOSER = "proposer"
    CAPTIONER = "captioner"
