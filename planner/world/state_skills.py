"""The skills that change states, read from config/catalogue/states.yaml.

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
from planner.world.states import Name, StateRecord, default_states, load_states

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def _normal(given: object, info: ValidationInfo) -> object:
    table = info.context
    return table.normal(given) if isinstance(given, dict) and table is not None else given


# A state with several values becomes one name per value; undeclared states are refused.
_States = Annotated[dict[str, bool], BeforeValidator(_normal)]


class Condition(FileModel):
    """A condition on a thing or furniture: its class, affordances and states.

    `what` names it in results; an empty list of classes means any.
    """

    what: Annotated[str, Field(min_length=1)]
    classes: tuple[Name, ...] = ()
    affordances: tuple[Name, ...] = ()
    states: _States = Field(default_factory=dict)

    def is_kind(self, class_name: str, affordances: Iterable[str]) -> bool:
        """Whether something has the class and affordances, in any state."""
        fits = not self.classes or class_name in self.classes
        return fits and frozenset(self.affordances) <= frozenset(affordances)

    def has_states(self, states: Mapping[str, bool] | None) -> bool:
        """Whether it has the required states."""
        known = states or {}
        return all(known.get(state, False) is value for state, value in self.states.items())


class Needs(FileModel):
    """What must hold before a skill can be executed.

    Attributes:
        thing: condition on its target.
        hand: condition on the held object.
        near: conditions, each on something within reach.
        at: conditions, each on something that the target is on or in, directly or indirectly.
    """

    thing: Condition | None = None
    hand: Condition | None = None
    near: tuple[Condition, ...] = ()
    at: tuple[Condition, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions."""
        one = tuple(c for c in (self.thing, self.hand) if c is not None)
        return (*one, *self.near, *self.at)


class StateSkill(FileModel):
    """A skill that changes states.

    Attributes:
        name: in calls, such as `PowerOn`.
        summary: one line for people.
        doing: the phase during execution, before the name of the target.
        sets: states of the target afterwards.
        hand_sets: states of the held object afterwards.
        copies: states with several values that are copied from the held object.
        divides: whether a target whose class has slices is replaced by these.
        furniture: whether furniture may be the target as well.
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
        FileError: with file, field and reason, such as an undeclared state.
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
    """The shipped skills by their primitives, read once."""
    return load_state_skills(config_dir() / "catalogue" / "states.yaml")


def state_skill(name: str) -> StateSkill | None:
    """The shipped skill that calls name so, or None if that changes no states."""
    return next((skill for skill in default_state_skills().values() if skill.name == name), None)


def skills_that_make(state: str, *, value: bool) -> list[StateSkill]:
    """The shipped skills that give a state to their target, or to the held object.

    A skill that copies the state comes last, as one that needs the state in the hand.
    """
    skills = default_state_skills().values()
    found = [s for s in skills if s.sets.get(state) is value or s.hand_sets.get(state) is value]
    content = content_of(state) if value else None
    if content is not None:
        name, word = content
        found += [_passing_on(s, state, word) for s in skills if name in s.copies]
    return found


def content_of(state: str) -> tuple[str, str] | None:
    """Of which state with several values a name is one, and the value; None if of none."""
    for name, flags in default_states().values.items():
        for word, flag in flags.items():
            if flag == state:
                return name, word
    return None


def _passing_on(skill: StateSkill, state: str, value: str) -> StateSkill:
    """A skill with the state that it copies from what the hand holds."""
    hand = skill.needs.hand or Condition(what="")
    source = {"what": f"something with {value} in it", "states": {**hand.states, state: True}}
    needs = skill.needs.model_copy(update={"hand": hand.model_copy(update=source)})
    return skill.model_copy(update={"sets": {**skill.sets, state: True}, "needs": needs})


def single_handed(state: str, *, value: bool) -> StateSkill | None:
    """The first skill that gives its target a state and needs nothing in the hand."""
    ways = skills_that_make(state, value=value)
    return next((s for s in ways if s.sets.get(state) is value and s.needs.hand is None), None)
