"""What changes the states of things, read from config/catalogue/states.yaml.

Each record is a primitive of the bodies that can do it (config/agents.yaml) and a skill.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo

from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel, read_document
from planner.world.share import config_dir
from planner.world.states import Name, StateRecord, load_states

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def _normal(given: object, info: ValidationInfo) -> object:
    table = info.context
    return table.normal(given) if isinstance(given, dict) and table is not None else given


# Several values become one name each, and an undeclared state is refused.
_States = Annotated[dict[str, bool], BeforeValidator(_normal)]


class Condition(FileModel):
    """What a thing or a piece of furniture must be: of a class, with affordances, in states.

    `what` names it in results; no classes mean any.
    """

    what: Annotated[str, Field(min_length=1)]
    classes: tuple[Name, ...] = ()
    affordances: tuple[Name, ...] = ()
    states: _States = Field(default_factory=dict)

    def is_kind(self, class_name: str, affordances: Iterable[str]) -> bool:
        """Whether something is of the kind that is meant, in whatever state."""
        fits = not self.classes or class_name in self.classes
        return fits and frozenset(self.affordances) <= frozenset(affordances)

    def has_states(self, states: Mapping[str, bool] | None) -> bool:
        """Whether it is in the states that are meant."""
        known = states or {}
        return all(known.get(state, False) is value for state, value in self.states.items())


class Needs(FileModel):
    """What must hold before a skill can be done.

    Attributes:
        thing: of what it is done to.
        hand: of what the hand holds.
        near: of something within reach, one for each entry.
        at: of something that the thing is on or in, however deep, one for each entry.
    """

    thing: Condition | None = None
    hand: Condition | None = None
    near: tuple[Condition, ...] = ()
    at: tuple[Condition, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All of them."""
        one = tuple(c for c in (self.thing, self.hand) if c is not None)
        return (*one, *self.near, *self.at)


class StateSkill(FileModel):
    """A skill that changes states.

    Attributes:
        name: in calls, such as `PowerOn`.
        summary: one line for people.
        doing: the phase while it goes on, before the name of what it is done to.
        sets: states of what it is done to, afterwards.
        hand_sets: states of what the hand holds, afterwards.
        copies: states with several values that pass from what the hand holds.
        divides: whether a thing whose class has slices becomes these.
        furniture: whether it can be done to furniture as well.
        partnr_text: for PARTNR's prompts; "" = not offered.
        epm_text: for EPM's dialogue; "" = not offered.
    """

    name: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]*$")]
    summary: str
    doing: str
    sets: Annotated[_States, Field(min_length=1)]
    hand_sets: _States = Field(default_factory=dict)
    copies: tuple[Name, ...] = ()
    needs: Needs = Needs()
    duration_s: Annotated[float, Field(gt=0, le=600)]
    divides: bool = False
    furniture: bool = False
    partnr_text: str = ""
    epm_text: str = ""

    @cached_property
    def primitive(self) -> str:
        """The name of its primitive, such as `power_on`."""
        return _CAPITAL.sub("_", self.name).lower()


class _SkillFile(FileModel):
    version: int
    states: tuple[StateRecord, ...]
    skills: tuple[StateSkill, ...] = ()


def load_state_skills(path: Path) -> dict[str, StateSkill]:
    """The skills of a states.yaml by their primitives, in the file's order.

    Raises:
        FileError: naming the file, the field and the reason, such as a state that is not declared.
    """
    table = load_states(path)
    try:
        skills = _SkillFile.model_validate(read_document(path), context=table).skills
    except ValidationError as error:
        raise from_validation(path, error) from None
    found: dict[str, StateSkill] = {}
    for i, skill in enumerate(skills):
        if found.setdefault(skill.primitive, skill) is not skill:
            raise FileError(path, f"skills.{i}.name", f"there are two skills {skill.name}")
        for state in skill.copies:
            if state not in table.values:
                raise FileError(path, f"skills.{i}.copies", f"{state} has no several values")
        for condition in skill.needs.conditions:
            for word in condition.affordances:
                if word not in table.affordances:
                    raise FileError(path, f"skills.{i}.needs", f"unknown affordance {word!r}")
    return found


@lru_cache(maxsize=1)
def default_state_skills() -> dict[str, StateSkill]:
    """The shipped ones by their primitives, read once."""
    return load_state_skills(config_dir() / "catalogue" / "states.yaml")


def skills_that_make(state: str, *, value: bool) -> list[StateSkill]:
    """The shipped skills that give what they are done to, or what the hand holds, a state."""
    return [
        skill
        for skill in default_state_skills().values()
        if skill.sets.get(state) is value or skill.hand_sets.get(state) is value
    ]


def single_handed(state: str, *, value: bool) -> StateSkill | None:
    """The first skill that gives what it is done to a state and needs nothing in the hand."""
    ways = skills_that_make(state, value=value)
    return next((s for s in ways if s.sets.get(state) is value and s.needs.hand is None), None)
