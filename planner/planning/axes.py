"""The cells of the papers' experiments: what a run was given, recorded with its result.

PARTNR-1.3 and EPM-1.2. A planner decides control and how it reads the memory; the
rest is a fact of what runs around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum


class Control(StrEnum):
    """Whose actions one planner decides: its own agent's, all agents', or one for each agent."""

    SINGLE = "single"
    CENTRALIZED = "centralized"
    DECENTRALIZED = "decentralized"


class Observability(StrEnum):
    """What is known of things: all from the start, what was seen, or what pictures gave."""

    FULL = "full"
    PARTIAL = "partial"
    CONCEPTGRAPH = "conceptgraph"


class Skills(StrEnum):
    """Skills that use the simulator's knowledge, or policies."""

    ORACLE = "oracle"
    LEARNED = "learned"


class Privilege(StrEnum):
    """Whether perception is told the truth about what it sees, or the planner even the goal."""

    NONE = "none"
    PERCEPTION = "perception"
    GOAL = "goal"


class MemorySource(StrEnum):
    """How a planner reads the memory.

    DELTAS: the list once, then what changed (EPM-2.5). SUMMARY: all known things after
    every action. TOOLS: only what it asks the Find... tools. STATE: rooms and past actions in
    each prompt, no dialogue. BELIEF: the records, without words.
    """

    DELTAS = "deltas"
    SUMMARY = "summary"
    TOOLS = "tools"
    STATE = "state"
    BELIEF = "belief"


@dataclass(frozen=True, slots=True)
class Axes:
    """One cell."""

    control: Control = Control.DECENTRALIZED
    observability: Observability = Observability.PARTIAL
    skills: Skills = Skills.ORACLE
    privilege: Privilege = Privilege.PERCEPTION
    memory_source: MemorySource = MemorySource.SUMMARY

    def as_parameters(self) -> Mapping[str, str]:
        """The cell as a trace and a result keep it."""
        return {field.name: str(getattr(self, field.name).value) for field in fields(self)}
