"""docs/skills.md against the code: no code, skill, evidence or option is left out."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from planner.parts.calls import SKILLS
from planner.skills.attempt import SkillOptions
from planner.world.skill import SkillCode, SkillName

PAGE = (Path(__file__).parents[3] / "docs" / "skills.md").read_text(encoding="utf-8")


def test_every_code_is_documented() -> None:
    assert [c.name for c in SkillCode if c is not SkillCode.SUCCESS and c.name not in PAGE] == []


def test_every_skill_and_alias_is_carried_out_and_documented() -> None:
    assert set(SKILLS.names()) >= set(SkillName)
    words = [*SKILLS.names(), *(a for part in SKILLS.usable().values() for a in part.aliases)]
    assert [word for word in words if f"`{word}" not in PAGE] == []


def test_every_option_is_documented() -> None:
    names = [field.name for field in dataclasses.fields(SkillOptions)]
    parameters = [name.removesuffix("_m").removesuffix("_s") for name in names]
    parameters.remove("timeouts")
    assert [name for name in parameters if f"`{name}`" not in PAGE] == []
