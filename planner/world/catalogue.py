"""The classes of furniture, objects and rooms, and what words mean among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model
from planner.world.shapes import Color, Fraction3, Material, Part, Rgb, Size3
from planner.world.share import config_dir
from planner.world.states import GivenStates, KnownAffordance, default_states, load_states
from planner.world.vocabulary import Relation

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
Weight = Annotated[float, Field(gt=0)]
_ROUNDING_M = 1e-6


class SurfaceRecipe(FileModel):
    """A place to put things on: `center` is the middle of its top, in fractions.

    `clearance` is the free height above it as a fraction of the furniture's height; absent if
    nothing of the furniture is above it.
    """

    name: Name
    center: Fraction3
    size: tuple[Annotated[float, Field(gt=0, le=1)], Annotated[float, Field(gt=0, le=1)]]
    clearance: Annotated[float, Field(gt=0)] | None = None


class InteriorRecipe(FileModel):
    """A hollow that things can be within, in fractions.

    `joint` closes it (absent: always open). `moves`: the hollow moves with that joint, as in a
    drawer.
    """

    name: Name
    center: Fraction3
    size: Size3
    joint: Name | None = None
    moves: bool = False


class JointRecipe(FileModel):
    """A drawer (`slide`) or a door or lid (`hinge`), closed at 0.

    `axis` is the direction of travel or the hinge's axis, `origin` a point on the hinge in
    fractions; `travel` when open is a fraction of the furniture's depth for a slide and radians
    for a hinge. `handle` is the grasp point when closed, in fractions.
    """

    name: Name
    kind: Literal["slide", "hinge"]
    axis: Fraction3
    origin: Fraction3 = (0.0, 0.0, 0.0)
    travel: float
    handle: Fraction3


class FurnitureClass(FileModel):
    """A class of furniture: size, usual place, capacity and appearance.

    `material`: if most pieces are made of one.
    """

    name: Name
    aliases: tuple[str, ...] = ()
    size_min_m: Size3
    size_max_m: Size3
    affordances: tuple[KnownAffordance, ...] = ()
    faucet: Fraction3 | None = None
    material: Material | None = None
    parts: tuple[Part, ...] = Field(min_length=1)
    surfaces: tuple[SurfaceRecipe, ...] = ()
    interiors: tuple[InteriorRecipe, ...] = ()
    joints: tuple[JointRecipe, ...] = ()

    @model_validator(mode="after")
    def _joints_exist(self) -> FurnitureClass:
        known = {joint.name for joint in self.joints}
        used = [part.joint for part in self.parts] + [hollow.joint for hollow in self.interiors]
        for joint in used:
            if joint is not None and joint not in known:
                raise ValueError(f"{self.name} names an unknown joint {joint!r}")
        if any(low > high for low, high in zip(self.size_min_m, self.size_max_m, strict=True)):
            raise ValueError(f"{self.name}: size_min_m exceeds size_max_m")
        return self


class LikelyPlace(FileModel):
    """A usual place of an object class; `weight` is relative within the class."""

    furniture: Name
    relation: Literal[Relation.ON, Relation.WITHIN] = Relation.ON
    rooms: tuple[Name, ...] = ()
    weight: Weight = 1.0


Metres2 = tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]]


class ThingHollow(FileModel):
    """The inside of a thing, open at its upper end: metres, for a thing of its class's `size_m`.

    `bottom_m` is the height of its bottom above the thing's underside, `center_m` its middle.
    """

    size_m: Size3
    bottom_m: Annotated[float, Field(ge=0)]
    center_m: tuple[float, float] = (0.0, 0.0)


class ThingTop(FileModel):
    """Where things are put onto a thing: metres, for a thing of its class's `size_m`.

    `height_m` is the height at which they rest above the thing's underside, `center_m` its middle.
    """

    size_m: Metres2
    height_m: Annotated[float, Field(gt=0)]
    center_m: tuple[float, float] = (0.0, 0.0)


class Slices(FileModel):
    """What a thing becomes when it is sliced: `count` things of a class, side by side."""

    class_name: Name
    count: Annotated[int, Field(ge=2, le=12)]


class ObjectClass(FileModel):
    """A class of movable things; every one fits a hand's grasp.

    Without `places` it lies nowhere by chance: it is made of others, or an episode puts it there.

    `color`: the word, if not that of most of what is drawn. `colors`: others that things of this
    class also come in. `material`: if most of it is made of one.
    """

    name: Name
    aliases: tuple[str, ...] = ()
    groups: tuple[Name, ...] = ()
    size_m: Size3
    size_spread: Annotated[float, Field(ge=0, le=0.3)] = 0.08
    affordances: tuple[KnownAffordance, ...] = ()
    states: GivenStates = Field(default_factory=dict)
    color: Color | None = None
    colors: tuple[Color, ...] = ()
    material: Material | None = None
    parts: tuple[Part, ...] = Field(min_length=1)
    places: tuple[LikelyPlace, ...] = ()
    slices: Slices | None = None
    hollow: ThingHollow | None = None
    top: ThingTop | None = None

    @model_validator(mode="after")
    def _receptacles_are_within(self) -> ObjectClass:
        for field, part in (("hollow", self.hollow), ("top", self.top)):
            if part is None:
                continue
            for axis, middle, extent, whole in zip(
                "xy", part.center_m, part.size_m, self.size_m, strict=False
            ):
                if abs(middle) + extent / 2 > whole / 2 + _ROUNDING_M:
                    raise ValueError(f"{self.name}: its {field} is wider along {axis} than itself")
        if self.hollow is not None:
            rim = self.hollow.bottom_m + self.hollow.size_m[2]
            if rim > self.size_m[2] + _ROUNDING_M:
                raise ValueError(f"{self.name}: its hollow reaches to {rim:.3f} m, above itself")
        if self.top is not None and self.top.height_m > self.size_m[2] + _ROUNDING_M:
            raise ValueError(f"{self.name}: its top is at {self.top.height_m} m, above itself")
        return self

    @property
    def holds_things(self) -> bool:
        """Whether other things can be put into it or onto it."""
        return self.hollow is not None or self.top is not None


class RoomClass(FileModel):
    """A class of rooms with its floor's colour."""

    name: Name
    aliases: tuple[str, ...] = ()
    floor_rgb: Rgb


class _FurnitureFile(FileModel):
    version: Literal[1]
    classes: tuple[FurnitureClass, ...]


class _ObjectFile(FileModel):
    version: Literal[1]
    classes: tuple[ObjectClass, ...]


class _RoomFile(FileModel):
    version: Literal[1]
    classes: tuple[RoomClass, ...]


class Catalogue:
    """All known classes, found by name or alias."""

    def __init__(
        self,
        furniture: tuple[FurnitureClass, ...],
        objects: tuple[ObjectClass, ...],
        rooms: tuple[RoomClass, ...],
    ) -> None:
        self.furniture = {item.name: item for item in furniture}
        self.objects = {item.name: item for item in objects}
        self.rooms = {item.name: item for item in rooms}
        self._aliases: dict[str, dict[str, str]] = {
            "furniture": _alias_index("furniture", furniture),
            "object": _alias_index("object", objects),
            "room": _alias_index("room", rooms),
        }

    def furniture_name(self, word: str) -> str | None:
        """The class that a name or alias stands for, or None."""
        return self._aliases["furniture"].get(word_key(word))

    def object_name(self, word: str) -> str | None:
        """The class that a name or alias stands for, or None."""
        return self._aliases["object"].get(word_key(word))

    def room_name(self, word: str) -> str | None:
        """The class that a name or alias stands for, or None."""
        return self._aliases["room"].get(word_key(word))

    def class_spelled(self, word: str) -> str:
        """The class of a word of another data set, such as `kitchentable`; itself if unknown."""
        if word in self.objects or word in self.furniture:
            return word
        return self._by_fold.get(folded(word), word)

    @cached_property
    def _by_fold(self) -> dict[str, str]:
        """Names and aliases without spaces; things rather than furniture."""
        return {
            folded(word): item.name
            for kind in (self.furniture, self.objects)
            for item in kind.values()
            for word in (item.name, *item.aliases)
        }


def has_slices(class_name: str) -> bool:
    """Whether a thing of a class of the shipped catalogue becomes several when it is sliced."""
    cls = default_catalogue().objects.get(class_name)
    return cls is not None and cls.slices is not None


def slice_names(name: str, slices: Slices) -> tuple[str, ...]:
    """The names of what a thing becomes: `tomato_1` with 4 slices `tomato_slice_4` to `_7`."""
    number = name.rpartition("_")[2]
    first = int(number) * slices.count if number.isdecimal() else 0
    return tuple(f"{slices.class_name}_{first + k}" for k in range(slices.count))


def sliced_from(name: str) -> str | None:
    """The thing that a slice comes from: `tomato_slice_5` from `tomato_1`; None if no slice."""
    class_name, _, number = name.rpartition("_")
    for item in default_catalogue().objects.values():
        if item.slices is not None and item.slices.class_name == class_name and number.isdecimal():
            return f"{item.name}_{int(number) // item.slices.count}"
    return None


def word_key(word: str) -> str:
    """The lookup key of a word or phrase: lower case, with single spaces between words."""
    # People write "toy fire truck" and "c clamp", class names toy_fire_truck and c-clamp.
    return " ".join(re.split(r"[\s_-]+", word.strip().lower()))


def folded(word: str) -> str:
    """The lookup key of a word that may be written without spaces, such as `kitchentable`."""
    return word_key(word).replace(" ", "")


def _alias_index(
    kind: str, classes: tuple[FurnitureClass, ...] | tuple[ObjectClass, ...] | tuple[RoomClass, ...]
) -> dict[str, str]:
    index: dict[str, str] = {}
    for item in classes:
        for word in (item.name, *item.aliases):
            if index.setdefault(word_key(word), item.name) != item.name:
                taken = index[word_key(word)]
                raise PlannerError(f"{kind} word {word!r} names both {taken} and {item.name}")
    return index


def load_catalogue(folder: Path) -> Catalogue:
    """Reads furniture.yaml, objects.yaml, rooms.yaml and states.yaml of `folder`.

    Raises:
        PlannerError: with the invalid file and field.
    """
    states = load_states(folder / "states.yaml")
    objects = read_model(folder / "objects.yaml", _ObjectFile).classes
    names = {item.name for item in objects}
    for i, item in enumerate(objects):
        if item.slices is not None and item.slices.class_name not in names:
            reason = f"there is no class {item.slices.class_name!r}"
            raise FileError(folder / "objects.yaml", f"classes.{i}.slices.class_name", reason)
        for state in states.unfit(item.states, item.affordances):
            reason = f"{item.name} has no state {state}: it is not {states.affordance_of[state]}"
            raise FileError(folder / "objects.yaml", f"classes.{i}.states.{state}", reason)
    return Catalogue(
        read_model(folder / "furniture.yaml", _FurnitureFile).classes,
        objects,
        read_model(folder / "rooms.yaml", _RoomFile).classes,
    )


@lru_cache(maxsize=1)
def default_catalogue() -> Catalogue:
    """The shipped catalogue, read once."""
    return load_catalogue(config_dir() / "catalogue")


# What a word or phrase means in the catalogue.
#
# A phrase means classes by name or alias ("mug"), by the head noun of a name ("kettle" also means
# electric_kettle), by a group ("dishes"), or by config/catalogue/words.yaml: collective words,
# purposes, affordances and states ("edible", "faucet", "dirty").

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
