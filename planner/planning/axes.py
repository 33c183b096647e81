"""The axes of the papers' experiments (PARTNR-1.3, EPM-1.2), recorded with each result.

The planner determines `control` and `memory_source`; the other axes describe its surroundings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum

from planner.skills.kind import SkillKind


class Control(StrEnum):
    """Whose actions a planner decides: one agent's, all agents', or one planner for each agent."""

    SINGLE = "single"
    CENTRALIZED = "centralized"
    DECENTRALIZED = "decentralized"


class Observability(StrEnum):
    """What is known of objects: all from the start, what was seen, or what images gave."""

    FULL = "full"
    PARTIAL = "partial"
    CONCEPTGRAPH = "conceptgraph"


class Privilege(StrEnum):
    """Whether perception uses ground truth, or the planner even reads the goal."""

    NONE = "none"
    PERCEPTION = "perception"
    GOAL = "goal"


class MemorySource(StrEnum):
    """How a planner reads the memory.

    DELTAS: the list once, then only changes (EPM-2.5). SUMMARY: all known objects after every
    action. TOOLS: only what it queries by the Find... tools. STATE: rooms and past actions in each
    prompt, no dialogue. CAPTIONS: descriptions of the pictures that its cameras took. BELIEF: the
    records themselves, not as text.
    """

    DELTAS = "deltas"
    SUMMARY = "summary"
    TOOLS = "tools"
    STATE = "state"
    CAPTIONS = "captions"
    BELIEF = "belief"


@dataclass(frozen=True, slots=True)
class Axes:
    """One combination of the axes."""

    control: Control = Control.DECENTRALIZED
    observability: Observability = Observability.PARTIAL
    skills: SkillKind = SkillKind.ORACLE
    privilege: Privilege = Privilege.PERCEPTION
    memory_source: MemorySource = MemorySource.SUMMARY

    def as_parameters(self) -> Mapping[str, str]:
        """The axes as traces and results store them."""
        return {field.name: str(getattr(self, field.name).value) for field in fields(self)}
