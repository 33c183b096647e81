"""The states of things and furniture, read from config/catalogue/states.yaml.

Elsewhere a state is a name with a boolean. A state with several values becomes one name per value,
of which at most one is true: `filled_with` with the value `coffee` is `filled_with_coffee`. States
that are not mentioned are false.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from planner.world.errors import FileError
from planner.world.files import FileModel, read_model
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
    """The content of states.yaml; `planner.world.state_skills` reads the skills."""

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
