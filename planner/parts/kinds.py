"""The one list of all kinds of parts, each with its catalog.

The record classes belong to the packages that use them and are only named here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from planner.parts.catalog import Catalog
from planner.world.skill import CallError, Role, SkillCall, SkillCode

if TYPE_CHECKING:
    from planner.bench.suite import SuitePart
    from planner.evaluation.metrics.metric import MetricRecord
    from planner.memory.part import UpdaterPart
    from planner.models.part import ModelPart
    from planner.planning.part import PlannerPart
    from planner.skills.part import SkillPart
    from sim_bridge.part import BackendPart


PLANNERS: Catalog[PlannerPart] = Catalog(
    "planner", "planner.planning.planners", "PLANNERS", "planner.planning.part:PlannerPart", 1
)
BACKENDS: Catalog[BackendPart] = Catalog(
    "backend", "sim_bridge.backends", "BACKENDS", "sim_bridge.part:BackendPart", 1
)
UPDATERS: Catalog[UpdaterPart] = Catalog(
    "memory updater", "planner.memory.updaters", "UPDATERS", "planner.memory.part:UpdaterPart", 1
)
METRICS: Catalog[MetricRecord] = Catalog(
    "metric",
    "planner.evaluation.metrics",
    "METRICS",
    "planner.evaluation.metrics.metric:MetricRecord",
    1,
    keep_order=True,
)
SUITES: Catalog[SuitePart] = Catalog(
    "suite", "planner.bench.suites", "SUITES", "planner.bench.suite:SuitePart", 1
)
MODELS: Catalog[ModelPart] = Catalog(
    "model", "planner.models.models", "MODELS", "planner.models.part:ModelPart", 1
)
SKILLS: Catalog[SkillPart] = Catalog(
    "skill",
    "planner.skills.skills",
    "SKILLS",
    "planner.skills.part:SkillPart",
    1,
    declared="planner.skills.llamar_actions:state_skills",
)
ALL = (PLANNERS, UPDATERS, BACKENDS, SKILLS, MODELS, METRICS, SUITES)


# Parses skill calls in PARTNR's syntax, using the records of the installed skills.

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
    words = [part.strip() for part in inside.split(",")] if inside.strip() else []
    if len(words) != len(roles):
        roles_text = ", ".join(role.value for role in roles) or "nothing"
        reason = f"{name} takes {len(roles)} arguments ({roles_text}), not {len(words)}"
        raise CallError(SkillCode.WRONG_ARGUMENTS, reason)
    return SkillCall(name, tuple(None if w in ("None", "none") else w for w in words))


def acted_as(call: SkillCall) -> SkillCall:
    """The call by the skill that its own is like (`SkillPart.like`); itself if it is like none."""
    part = SKILLS.find(call.name)
    return call if part is None or not part.like else SkillCall(part.like, call.arguments)


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
