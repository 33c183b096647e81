"""The record of a skill: its arguments, preconditions, effects, prompt texts and routine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from planner.parts.option import Option
from planner.skills.attempt import Attempt, Routine
from planner.skills.preconditions import ENTITY_ROLES, Arguments
from planner.world.errors import PlannerError
from planner.world.skill import PLACE_ROLES, Role, SkillEffect

INTERFACE = 1
# The fields of effects that are indices of arguments.
_ARGUMENTS = ("thing", "furniture", "relation", "entity")

# Runs until the call ends; may raise what `Attempt.do` raises, and RefusalError.
SkillRoutine: TypeAlias = Callable[[Attempt, Arguments], Routine]
# Raises RefusalError if it does not hold.
Precondition: TypeAlias = Callable[[Attempt, Arguments], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillPart:
    """The record of a skill; the part's name is the skill's name in calls, such as `PowerOn`.

    Attributes:
        summary: one line for people.
        routine: executes a call after grounding and preconditions.
        roles: of the arguments: none, one text, those of Place, or any number of entities.
        aliases: other names in calls.
        abilities: the primitives that a body must have.
        affordance: that the first entity must have.
        preconditions: beyond abilities, roles and affordance; checked in order before any motion.
        effects: of success on the world.
        partnr_text: for the prompts of PARTNR's planners; "" = not offered.
        epm_text: for EPM's dialogue, where entities are numbers; "" = not offered.
        timeout_s: default, on the world's clock.
        timed_out_text: result text of a call that timed out; "" = the usual one.
        is_query: whether it only reads the belief and is not an action (PARTNR-D56).
        like: the skill that does the same with the same arguments under other preconditions, as
            which metrics and stories count it; "" = none.
        stands_still: whether its agent may not step closer to what it handles (LLAMAR-D21).
        interface: the version of this record that it was written for.
    """

    summary: str
    routine: SkillRoutine
    roles: tuple[Role, ...] = ()
    aliases: tuple[str, ...] = ()
    abilities: frozenset[str] = frozenset()
    affordance: str | None = None
    preconditions: tuple[Precondition, ...] = ()
    effects: tuple[SkillEffect, ...] = ()
    partnr_text: str = ""
    epm_text: str = ""
    timeout_s: float = 120.0
    timed_out_text: str = ""
    is_query: bool = False
    like: str = ""
    stands_still: bool = False
    interface: int = INTERFACE
    options: ClassVar[tuple[Option, ...]] = ()

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            PlannerError: for an impossible combination of roles, or an effect on no argument.
        """
        entities = all(role in ENTITY_ROLES and role is not Role.REFERENCE for role in self.roles)
        if not (entities or self.takes_text or self.roles == PLACE_ROLES):
            raise PlannerError("roles: expected none, one text, those of Place, or entities")
        for effect in self.effects:
            places = [getattr(effect, name, None) for name in _ARGUMENTS]
            if any(place is not None and place >= len(self.roles) for place in places):
                raise PlannerError(
                    f"effects: {effect} refers to an argument that the call does not have"
                )

    @property
    def takes_text(self) -> bool:
        """Whether all text between the brackets, commas included, is one argument."""
        return self.roles == (Role.TEXT,)
