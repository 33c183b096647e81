"""What skills say of themselves, and the calls of them in PARTNR's syntax."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from planner.parts.catalog import Catalog
from planner.parts.option import Option
from planner.world.errors import PlannerError
from planner.world.skill import (
    ENTITY_ROLES,
    PLACE_ROLES,
    CallError,
    Role,
    SkillCall,
    SkillCode,
    SkillEffect,
)

SKILL_INTERFACE = 2
# The fields of effects that are indices of arguments.
_ARGUMENTS = ("thing", "furniture", "relation", "entity")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRecord:
    """What a skill says of itself; how it is executed is in `planner.skills.part.SkillPart`.

    Attributes:
        summary: one line for people.
        roles: of the arguments: none, those of Place, or any number of entities and then at most
            one text.
        aliases: other names in calls.
        abilities: the primitives that a body must have.
        affordance: that the first entity must have.
        effects: of success on the world.
        named_text: for prompts in which entities have names; "" = not offered.
        numbered_text: for prompts in which they are numbers; "" = not offered.
        timeout_s: default, on the world's clock.
        timed_out_text: result text of a call that timed out; "" = the usual one.
        is_query: whether it only reads the belief and is not an action (PARTNR-D56).
        like: the skill that does the same with the same arguments under other preconditions, as
            which metrics and stories count it; "" = none.
        stands_still: whether its agent may not step closer to what it handles (LLAMAR-D21).
        interface: the version of this record that it was written for.
    """

    summary: str
    roles: tuple[Role, ...] = ()
    aliases: tuple[str, ...] = ()
    abilities: frozenset[str] = frozenset()
    affordance: str | None = None
    effects: tuple[SkillEffect, ...] = ()
    named_text: str = ""
    numbered_text: str = ""
    timeout_s: float = 120.0
    timed_out_text: str = ""
    is_query: bool = False
    like: str = ""
    stands_still: bool = False
    interface: int = SKILL_INTERFACE
    options: ClassVar[tuple[Option, ...]] = ()

    def __post_init__(self) -> None:
        """Checks the declaration.

        Raises:
            PlannerError: for an impossible combination of roles, or an effect on no argument.
        """
        named = self.roles[:-1] if self.roles[-1:] == (Role.TEXT,) else self.roles
        entities = all(role in ENTITY_ROLES and role is not Role.REFERENCE for role in named)
        if not (entities or self.roles == PLACE_ROLES):
            raise PlannerError("roles: expected those of Place, or entities and then one text")
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


SKILLS: Catalog[SkillRecord] = Catalog(
    "skill", "planner.skills.skills", "SKILLS", "planner.skills.part:SkillPart", SKILL_INTERFACE
)

MAX_CALL_CHARACTERS = 2000
_CALL = re.compile(r"\s*([A-Za-z]+)\s*\[(.*)\]\s*", re.DOTALL)


def parse_call(text: str) -> SkillCall:
    """Parses one call; an alias is replaced by the skill's name.

    Raises:
        CallError: for a syntax error, an unknown skill or a wrong number of arguments.
    """
    if len(text) > MAX_CALL_CHARACTERS:
        raise CallError(SkillCode.UNPARSABLE, f"the call has {len(text)} characters")
    match = _CALL.fullmatch(text)
    if match is None:
        raise CallError(SkillCode.UNPARSABLE, f"{text[:80]!r} is not of the form Skill[arguments]")
    word, inside = match.groups()
    name = _name(word)
    roles = roles_of(name)
    if roles == (Role.TEXT,):
        return SkillCall(name, (inside.strip(),))
    # A text goes on to the end, commas included.
    splits = len(roles) - 1 if roles[-1:] == (Role.TEXT,) else -1
    words = [part.strip() for part in inside.split(",", splits)] if inside.strip() else []
    if len(words) != len(roles):
        roles_text = ", ".join(role.value for role in roles) or "nothing"
        reason = f"{name} takes {len(roles)} arguments ({roles_text}), not {len(words)}"
        raise CallError(SkillCode.WRONG_ARGUMENTS, reason)
    return SkillCall(name, tuple(None if w in ("None", "none") else w for w in words))


def acted_as(call: SkillCall) -> SkillCall:
    """The call by the skill that its own is like (`SkillRecord.like`); itself if there is none."""
    part = SKILLS.find(call.name)
    return call if part is None or not part.like else SkillCall(part.like, call.arguments)


def acted_call(text: str) -> SkillCall | None:
    """What a call is like, as `acted_as` says; None if its text is invalid, a planner's mistake."""
    try:
        return acted_as(parse_call(text))
    except CallError:
        return None


def roles_of(name: str) -> tuple[Role, ...]:
    """The roles of a skill's arguments.

    Raises:
        CallError: if there is no such skill.
    """
    part = SKILLS.find(name)
    if part is None:
        raise CallError(SkillCode.UNKNOWN_SKILL, f"there is no skill {name!r}")
    return part.roles


def takes_text(name: str) -> bool:
    """Whether a skill's argument is free text, not an entity."""
    part = SKILLS.find(name)
    return part is not None and part.takes_text


def _name(word: str) -> str:
    """The skill's name for a name or an alias; the word itself if there is none."""
    if word in SKILLS.names():
        return word
    return next((name for name, part in SKILLS.usable().items() if word in part.aliases), word)
