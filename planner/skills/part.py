"""The record of a skill: what it says of itself, its preconditions and its routine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, cast

from planner.parts import calls
from planner.parts.calls import SkillRecord
from planner.parts.catalog import Catalog
from planner.skills.attempt import Attempt, Routine
from planner.skills.preconditions import Arguments

# Runs until the call ends; may raise what `Attempt.do` raises, and RefusalError.
SkillRoutine: TypeAlias = Callable[[Attempt, Arguments], Routine]
# Raises RefusalError if it does not hold.
Precondition: TypeAlias = Callable[[Attempt, Arguments], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPart(SkillRecord):
    """The record of a skill; the part's name is the skill's name in calls, such as `PowerOn`.

    Attributes:
        routine: executes a call after grounding and preconditions.
        preconditions: beyond abilities, roles and affordance; checked in order before any motion.
    """

    routine: SkillRoutine
    preconditions: tuple[Precondition, ...] = ()


# The same catalog, which admits nothing but these records, for what executes calls.
SKILLS = cast("Catalog[SkillPart]", calls.SKILLS)
