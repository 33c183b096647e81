"""What a word or phrase means in the catalogue.

A phrase means classes by name or alias ("mug"), by the head noun of a name ("kettle" also means
electric_kettle), by a group ("dishes"), or by config/catalogue/words.yaml: collective words,
purposes, affordances and states ("edible", "faucet", "dirty").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.world.catalogue import Catalogue, Name, default_catalogue, word_key
from planner.world.errors import FileError
from planner.world.files import FileModel, read_model
from planner.world.share import config_dir
from planner.world.states import GivenStates, KnownAffordance, default_states

# Plural endings and their singular.
_PLURALS = (("ies", "y"), ("ves", "f"), ("ves", "fe"), ("es", ""), ("s", ""))


@dataclass(frozen=True, slots=True)
class Meaning:
    """Classes, and affordances or states of an entity."""

    objects: frozenset[str] = frozenset()
    furniture: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()
    affordances: frozenset[str] = frozenset()
    states: frozenset[tuple[str, bool]] = frozenset()

    def __or__(self, other: Meaning) -> Meaning:
        return Meaning(
            self.objects | other.objects,
            self.furniture | other.furniture,
            self.rooms | other.rooms,
            self.affordances | other.affordances,
            self.states | other.states,
        )


class _Entry(FileModel):
    words: tuple[Annotated[str, Field(pattern=r"^[a-z][a-z -]*$")], ...] = Field(min_length=1)
    objects: tuple[Name, ...] = ()
    groups: tuple[Name, ...] = ()
    furniture: tuple[Name, ...] = ()
    affordances: tuple[KnownAffordance, ...] = ()
    states: GivenStates = Field(default_factory=dict)


class _WordFile(FileModel):
    version: Literal[1]
    meanings: tuple[_Entry, ...]


# Head nouns that instructions use as verbs: "and switch off the lamps" names no light switch.
_VERBS = frozenset({"switch"})


class WordMeanings:
    """The meanings of all phrases known to the catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Adds the names, aliases, head nouns and groups of a catalogue."""
        self._meanings: dict[str, Meaning] = {}
        self.groups: dict[str, frozenset[str]] = {}
        for item in catalogue.objects.values():
            for group in item.groups:
                self.groups[group] = self.groups.get(group, frozenset()) | {item.name}
        for group, members in self.groups.items():
            self._add_all({group, _one_of_group(group)}, Meaning(objects=members))
        collective = set(self._meanings)
        for thing in catalogue.objects.values():
            # toy_food is not food.
            words = {thing.name, *thing.aliases} | (_heads(thing.name) - collective)
            self._add_all(words, Meaning(objects=frozenset({thing.name})))
        for piece in catalogue.furniture.values():
            words = {piece.name, *piece.aliases} | _heads(piece.name)
            self._add_all(words, Meaning(furniture=frozenset({piece.name})))
        for word, meant in default_states().by_word().items():
            self.add(word, Meaning(states=frozenset({meant})))
        for room in catalogue.rooms.values():
            self._add_all({room.name, *room.aliases}, Meaning(rooms=frozenset({room.name})))

    def _add_all(self, phrases: Iterable[str], meaning: Meaning) -> None:
        for phrase in phrases:
            self.add(phrase, meaning)

    def add(self, phrase: str, meaning: Meaning) -> None:
        """Adds a meaning to a phrase."""
        key = word_key(phrase)
        self._meanings[key] = self._meanings.get(key, Meaning()) | meaning

    @property
    def phrases(self) -> Mapping[str, Meaning]:
        """The meaning of each phrase as it is."""
        return self._meanings

    def knows(self, phrase: str) -> bool:
        """Whether a phrase has a meaning as it is, not only as a plural."""
        return word_key(phrase) in self._meanings

    def find(self, phrase: str) -> Meaning | None:
        """The meaning of a phrase, in the singular or plural; None if unknown."""
        if found := self._meanings.get(phrase):
            return found
        key = word_key(phrase)
        for form in _singulars(key):
            if form in self._meanings:
                return self._meanings[form]
        return None


def _one_of_group(group: str) -> str:
    for ending, instead in (("ies", "y"), ("shes", "sh"), ("s", "")):
        if group.endswith(ending):
            return group.removesuffix(ending) + instead
    return group


def _heads(name: str) -> set[str]:
    """The nouns that a compound is a kind of: `fire truck` and `truck` for toy_fire_truck."""
    words = word_key(name).split(" of ")[0].split()
    return {" ".join(words[cut:]) for cut in range(1, len(words))} - _VERBS


def _singulars(key: str) -> Iterable[str]:
    yield key
    for ending, instead in _PLURALS:
        if key.endswith(ending) and len(key) > len(ending) + 2:
            yield key.removesuffix(ending) + instead


def load_word_meanings(path: Path, catalogue: Catalogue) -> WordMeanings:
    """The meanings of a catalogue's own words and of those in a words.yaml.

    Raises:
        FileError: with the invalid file and field.
    """
    found = WordMeanings(catalogue)
    for i, entry in enumerate(read_model(path, _WordFile).meanings):
        for field, names, known in (
            ("objects", entry.objects, catalogue.objects),
            ("groups", entry.groups, found.groups),
            ("furniture", entry.furniture, catalogue.furniture),
        ):
            for name in names:
                if name not in known:
                    raise FileError(path, f"meanings.{i}.{field}", f"the catalogue has no {name!r}")
        meaning = Meaning(
            objects=frozenset(entry.objects).union(*(found.groups[g] for g in entry.groups)),
            furniture=frozenset(entry.furniture),
            affordances=frozenset(entry.affordances),
            states=frozenset(entry.states.items()),
        )
        for word in entry.words:
            found.add(word, meaning)
    return found


@lru_cache(maxsize=1)
def default_word_meanings() -> WordMeanings:
    """The meanings for the shipped catalogue, read once."""
    return load_word_meanings(config_dir() / "catalogue" / "words.yaml", default_catalogue())
