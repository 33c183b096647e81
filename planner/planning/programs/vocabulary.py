"""The classes that programs name, and what each is in the catalogue (HELPER-4.3)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from planner.world.catalogue import Catalogue, default_catalogue, word_key
from planner.world.errors import FileError, from_validation
from planner.world.files import FileModel, read_document
from planner.world.share import config_dir
from planner.world.vocabulary import Relation

_MAX_SUGGESTIONS = 3
# No class of the catalogue and not in the closed list, but programs name it as a place.
FLOOR = "Floor"
_WORD = Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]*$", max_length=40)]


class ProgramClass(FileModel):
    """One name of the list.

    Attributes:
        objects: classes of the catalogue, the likeliest first.
        furniture: likewise.
        puts: how things are put there; None = onto it where it has a surface.
    """

    name: _WORD
    objects: tuple[str, ...] = ()
    furniture: tuple[str, ...] = ()
    puts: Literal[Relation.ON, Relation.WITHIN] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """What it is in the catalogue; none if we have nothing like it."""
        return (*self.objects, *self.furniture)


class VocabularyFile(FileModel):
    """The file: `words` are what models write instead of a name."""

    version: Literal[1]
    classes: Annotated[tuple[ProgramClass, ...], Field(min_length=1)]
    words: dict[_WORD, _WORD] = Field(default_factory=dict)


class ProgramVocabulary:
    """Names of classes, as programs write them.

    Attributes:
        names: the closed list, in its order (`PROMPT` of planners).
        by_name: all names, also those of the catalogue's further classes, and `FLOOR`.
    """

    def __init__(self, file: VocabularyFile, catalogue: Catalogue) -> None:
        """Adds a name for each class of the catalogue that the file has none for."""
        self.names = tuple(item.name for item in file.classes)
        self.by_name = {item.name: item for item in file.classes}
        self._words = {_folded(word): name for word, name in file.words.items()}
        self._catalogue = catalogue
        named = {word for item in file.classes for word in item.classes}
        for kind, classes in (("objects", catalogue.objects), ("furniture", catalogue.furniture)):
            for word in classes:
                if word not in named:
                    own = ProgramClass.model_validate({"name": _camel(word), kind: (word,)})
                    self.by_name.setdefault(own.name, own)
        self.by_name.setdefault(FLOOR, ProgramClass(name=FLOOR))

    @cached_property
    def _by_fold(self) -> dict[str, str]:
        return {_folded(name): name for name in self.by_name} | self._words

    @cached_property
    def _by_class(self) -> dict[str, str]:
        found: dict[str, str] = {}
        ranked = sorted(
            (rank, order, word, item.name)
            for order, item in enumerate(self.by_name.values())
            for rank, word in enumerate(item.classes)
        )
        for _, _, word, name in ranked:
            found.setdefault(word, name)
        # Of two names that mean a class first, the one that is most like it.
        for item in self.by_name.values():
            if item.classes and _folded(item.name) == _folded(item.classes[0]):
                found[item.classes[0]] = item.name
        return found

    def nearest(self, word: str) -> str | None:
        """The name that a word of a program stands for; None if there is none.

        Accepts a name in any case, what models write instead, and the catalogue's words.
        """
        if word in self.by_name:
            return word
        found = self._by_fold.get(_folded(word))
        if found is not None:
            return found
        return self._by_class.get(self.catalogue_class(word))

    def suggestions(self, word: str) -> tuple[str, ...]:
        """The names that are spelt most like a word."""
        folded = {name.lower(): name for name in self.by_name}
        near = difflib.get_close_matches(word.lower()[:40], folded, _MAX_SUGGESTIONS)
        return tuple(folded[one] for one in near)

    def catalogue_class(self, word: str) -> str:
        """A class of the catalogue for one of another data set, such as `kitchentable`."""
        if word in self._catalogue.objects or word in self._catalogue.furniture:
            return word
        return self._class_by_fold.get(_folded(word), word)

    @cached_property
    def _class_by_fold(self) -> dict[str, str]:
        """The catalogue's names and aliases without spaces; things rather than furniture."""
        kinds = (self._catalogue.furniture, self._catalogue.objects)
        return {
            _folded(word): item.name
            for kind in kinds
            for item in kind.values()
            for word in (item.name, *item.aliases)
        }

    def name_of(self, class_name: str) -> str | None:
        """The name of a class of the catalogue."""
        return self._by_class.get(class_name)

    def classes_of(self, name: str) -> tuple[str, ...]:
        """The catalogue's classes of a name, the likeliest first."""
        item = self.by_name.get(name)
        return item.classes if item is not None else ()

    def is_stand_in(self, class_name: str, name: str) -> bool:
        """Whether a class is one for want of a better, such as a `cup` for the name Cup.

        Another name means it rather, and the name has a class of its own.
        """
        classes = self.classes_of(name)
        first = classes[0] if classes else class_name
        return class_name != first and self.name_of(class_name) != name

    def affordances_of(self, name: str) -> frozenset[str]:
        """What may be done with some class of a name, by the catalogue."""
        objects, furniture = self._catalogue.objects, self._catalogue.furniture
        item = self.by_name[name]
        found: set[str] = set()
        for word in item.objects:
            found |= set(objects[word].affordances)
        for word in item.furniture:
            found |= set(furniture[word].affordances)
        return frozenset(found)


def load_vocabulary(path: Path, catalogue: Catalogue) -> ProgramVocabulary:
    """Reads a vocabulary.yaml.

    Raises:
        FileError: with file, field and reason, such as a class that the catalogue does not have.
    """
    try:
        file = VocabularyFile.model_validate(read_document(path))
    except ValidationError as error:
        raise from_validation(path, error) from None
    names = [item.name for item in file.classes]
    for i, item in enumerate(file.classes):
        if item.name in names[:i]:
            raise FileError(path, f"classes.{i}.name", f"{item.name} is there twice")
        _check(path, f"classes.{i}.objects", item.objects, catalogue.objects)
        _check(path, f"classes.{i}.furniture", item.furniture, catalogue.furniture)
    for word, name in file.words.items():
        _check(path, f"words.{word}", (name,), names)
    return ProgramVocabulary(file, catalogue)


def _check(path: Path, field: str, words: Iterable[str], known: Iterable[str]) -> None:
    unknown = [word for word in words if word not in set(known)]
    if unknown:
        raise FileError(path, field, f"there is no class {unknown[0]!r}")


@lru_cache(maxsize=1)
def default_vocabulary() -> ProgramVocabulary:
    """The shipped vocabulary, read once."""
    path = config_dir() / "programs" / "vocabulary.yaml"
    return load_vocabulary(path, default_catalogue())


def _camel(word: str) -> str:
    return "".join(part.capitalize() for part in word_key(word).split())


def _folded(word: str) -> str:
    return word_key(word).replace(" ", "")
