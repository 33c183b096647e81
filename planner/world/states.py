"""States of things and furniture and the skills that change them (config/catalogue/states.yaml)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel, read_document, read_model
from planner.world.share import config_dir
from planner.world.vocabulary import Affordance

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Word = Annotated[str, Field(pattern=r"^[a-z][a-z ]*$")]


class StateRecord(FileModel):
    """A state of classes with an affordance.

    Attributes:
        words: for true and false; only of a boolean state.
        values: of a state with several values.
        default: initial value of a boolean state; None: false, and mentioned only if true.
        graph_words: VirtualHome's words for true and false.
    """

    name: Name
    affordance: Name
    words: tuple[Word, Word] | None = None
    values: tuple[Name, ...] = ()
    default: bool | None = None
    graph_words: tuple[str, str] | None = None

    @model_validator(mode="after")
    def _is_one_of_two_kinds(self) -> Self:
        if bool(self.values) == (self.words is not None):
            raise ValueError("expected either words (a boolean state) or values")
        if self.values and (self.default is not None or self.graph_words is not None):
            raise ValueError("default and graph_words are for boolean states")
        if len(set(self.values)) < len(self.values):
            raise ValueError("values: one is listed twice")
        return self


class StateFile(FileModel):
    """The content of states.yaml; `planner.world.states` reads the skills."""

    version: Literal[1]
    states: Annotated[tuple[StateRecord, ...], Field(min_length=1)]
    skills: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True)
class StateTable:
    """All states by name, in the file's order.

    Attributes:
        affordance_of: the affordance of entities that have the state.
        defaults: of the states that are always mentioned.
        words: for true and false; "" for not having one of several values.
        predicates: the state and value for a predicate such as `is_dirty`.
        graph_words: the state and value for VirtualHome's word.
        values: for each state with several values, the name of each value.
    """

    affordance_of: Mapping[str, str]
    defaults: Mapping[str, bool]
    words: Mapping[str, tuple[str, str]]
    predicates: Mapping[str, tuple[str, bool]]
    graph_words: Mapping[str, tuple[str, bool]]
    values: Mapping[str, Mapping[str, str]]

    @property
    def affordances(self) -> frozenset[str]:
        """All affordances: of states, and of construction."""
        return frozenset({*Affordance, *self.affordance_of.values()})

    def usual(self, state: str) -> bool:
        """The initial value of a state."""
        return self.defaults.get(state, False)

    def word(self, state: str, *, value: bool) -> str:
        """`clean` or `dirty`; "" if there is no word."""
        return self.words[state][0 if value else 1]

    def by_word(self) -> dict[str, tuple[str, bool]]:
        """The state and value of each word."""
        return {
            word: (state, value)
            for state, both in self.words.items()
            for word, value in zip(both, (True, False), strict=True)
            if word
        }

    def unusual_words(self) -> dict[str, tuple[str, bool]]:
        """The words for values that differ from the initial ones."""
        return {
            self.word(state, value=not usual): (state, not usual)
            for state in self.words
            for usual in [self.usual(state)]
        }

    def predicate(self, state: str, *, value: bool) -> str:
        """The predicate for a state's value."""
        return _predicate(self.word(state, value=value))

    def unfit(self, states: Iterable[str], affordances: Iterable[str]) -> list[str]:
        """Those of the states that something with these affordances cannot have."""
        known = frozenset(affordances)
        return [state for state in states if self.affordance_of[state] not in known]

    def initial(self, affordances: Iterable[str], *given: Mapping[str, bool]) -> dict[str, bool]:
        """The initial states: the defaults, then those given, of which later ones win."""
        known = frozenset(affordances)
        states = {s: value for s, value in self.defaults.items() if self.affordance_of[s] in known}
        for layer in given:
            for state, value in layer.items():
                if self.affordance_of.get(state) in known:
                    states = self.changed(states, state, value=value)
        return states

    def changed(self, states: Mapping[str, bool], state: str, *, value: bool) -> dict[str, bool]:
        """The states after a change: one of several values replaces another."""
        after = dict(states)
        for flags in self.values.values():
            if state in flags.values():
                for flag in flags.values():
                    after.pop(flag, None)
        if value or state in self.defaults:
            after[state] = value
        else:
            after.pop(state, None)
        return after

    def normal(self, given: Mapping[str, object]) -> dict[str, bool]:
        """States as a file has them: `{clean: false, filled_with: coffee}`, false for no value.

        Raises:
            ValueError: for an unknown state or a value that it does not have.
        """
        found: dict[str, bool] = {}
        for name, value in given.items():
            if name in self.values:
                flags = self.values[name]
                if value is False:
                    found |= dict.fromkeys(flags.values(), False)
                    continue
                if not isinstance(value, str) or value not in flags:
                    raise ValueError(f"{name}: expected one of {', '.join(flags)}, got {value!r}")
                found[flags[value]] = True
            elif name not in self.affordance_of:
                known = ", ".join((*self.defaults, *self.words.keys() - self.defaults.keys()))
                raise ValueError(f"unknown state {name!r}; expected one of {known}")
            elif not isinstance(value, bool):
                raise ValueError(f"{name}: expected true or false, got {value!r}")
            else:
                found[name] = value
        return found


def _predicate(word: str) -> str:
    return "is_" + word.replace(" ", "_")


def table_of(records: Iterable[StateRecord]) -> StateTable:
    """The table of some states.

    Raises:
        ValueError: if two of them have a name or a word in common.
    """
    affordance_of: dict[str, str] = {}
    defaults: dict[str, bool] = {}
    words: dict[str, tuple[str, str]] = {}
    graph_words: dict[str, tuple[str, bool]] = {}
    values: dict[str, dict[str, str]] = {}
    for record in records:
        if record.words is not None:
            flags = {record.name: record.words}
        else:
            values[record.name] = {v: f"{record.name}_{v}" for v in record.values}
            flags = {name: (name.replace("_", " "), "") for name in values[record.name].values()}
        for name, both in flags.items():
            if name in affordance_of:
                raise ValueError(f"there are two states {name!r}")
            affordance_of[name], words[name] = record.affordance, both
        if record.default is not None:
            defaults[record.name] = record.default
        for word, value in zip(record.graph_words or (), (True, False), strict=False):
            graph_words[word] = (record.name, value)
    all_words = [word for both in words.values() for word in both if word]
    twice = next((word for word in all_words if all_words.count(word) > 1), None)
    if twice is not None:
        raise ValueError(f"two states have the word {twice!r}")
    table = StateTable(affordance_of, defaults, words, {}, graph_words, values)
    predicates = {_predicate(word): meant for word, meant in table.by_word().items()}
    return replace(table, predicates=predicates)


def load_states(path: Path) -> StateTable:
    """The table of a states.yaml.

    Raises:
        FileError: with file, field and reason.
    """
    records = read_model(path, StateFile).states
    try:
        return table_of(records)
    except ValueError as error:
        raise FileError(path, "states", str(error)) from None


@lru_cache(maxsize=1)
def default_states() -> StateTable:
    """The shipped states, read once."""
    return load_states(config_dir() / "catalogue" / "states.yaml")


def _known_affordance(word: str) -> str:
    known = default_states().affordances
    if word not in known:
        raise ValueError(f"unknown affordance {word!r}; expected one of {', '.join(sorted(known))}")
    return word


def _normal(given: object) -> object:
    return default_states().normal(given) if isinstance(given, Mapping) else given


# Field types for files that use the shipped states.
KnownAffordance = Annotated[str, AfterValidator(_known_affordance)]
GivenStates = Annotated[dict[str, bool], BeforeValidator(_normal)]


# The skills that change states, read from config/catalogue/states.yaml.
#
# Each record is a primitive of the bodies that can do it (config/agents.yaml) and a skill.

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def _state_skills_normal(given: object, info: ValidationInfo) -> object:
    table = info.context
    return table.normal(given) if isinstance(given, dict) and table is not None else given


# A state with several values becomes one name per value; undeclared states are refused.
_States = Annotated[dict[str, bool], BeforeValidator(_state_skills_normal)]


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
        named_text: for prompts in which entities have names; "" = not offered.
        numbered_text: for prompts in which they are numbers; "" = not offered.
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
    named_text: str = ""
    numbered_text: str = ""

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
