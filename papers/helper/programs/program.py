"""The statements of a program (HELPER-3), the classes that they name, and their steps."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from planner.world.catalogue import Catalogue, default_catalogue, folded, word_key
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model
from planner.world.geometry import record
from planner.world.share import config_dir
from planner.world.skill import SkillCall, SkillCode
from planner.world.vocabulary import Relation


class Method(StrEnum):
    """What is done with an instance of `InteractionObject`."""

    GO_TO = "go_to"
    PICKUP = "pickup"
    PLACE = "place"
    SLICE = "slice"
    TOGGLE_ON = "toggle_on"
    TOGGLE_OFF = "toggle_off"
    OPEN = "open"
    CLOSE = "close"
    CLEAN = "clean"
    PUT_DOWN = "put_down"
    POUR = "pour"
    FILL_UP = "fill_up"
    PICKUP_AND_PLACE = "pickup_and_place"
    EMPTY = "empty"
    COOK = "cook"
    TOAST = "toast"


WITH_ARGUMENT = frozenset({Method.PLACE, Method.POUR, Method.PICKUP_AND_PLACE})
"""The methods whose argument is another instance; the others have none."""


class Corrective(StrEnum):
    """How `AgentCorrective` moves after a failure."""

    MOVE_BACK = "move_back"
    MOVE_CLOSER = "move_closer"
    MOVE_ALTERNATE_VIEWPOINT = "move_alternate_viewpoint"


ATTRIBUTES = ("toasted", "clean", "cooked")
"""The end states that an instance may be wanted in."""


@record
class Instance:
    """`variable = InteractionObject("Class", landmark="Class", attributes=["clean"])`.

    A new physical thing, also where the variable was bound before.

    Attributes:
        class_name: a name of the vocabulary, such as `CounterTop`.
        landmark: the class that it is on, in or near; "" if the program names none.
        attributes: the end states that are wanted, of `ATTRIBUTES`.
        line: of the program's text, from 1; 0 if it has none.
    """

    variable: str
    class_name: str
    landmark: str = ""
    attributes: tuple[str, ...] = ()
    line: int = 0


@record
class Invocation:
    """`variable.method(argument)`; `argument` is a variable, "" if the method has none."""

    variable: str
    method: Method
    argument: str = ""
    line: int = 0


@record
class Correction:
    """`variable.move()`, where the variable is an `AgentCorrective`."""

    variable: str
    move: Corrective
    line: int = 0


@record
class DoNothing:
    """`do_nothing()`: the repair of a failure that needs none."""

    line: int = 0


Statement = Instance | Invocation | Correction | DoNothing


@record
class Program:
    """A program that was read and checked.

    Attributes:
        statements: in their order.
        text: what was read.
        notes: of each line that was read and has no effect, such as a print.
    """

    statements: tuple[Statement, ...]
    text: str = ""
    notes: tuple[str, ...] = ()


class ProgramError(PlannerError):
    """A text that is not a program: `line` from 1, 0 for the whole, and why."""

    def __init__(self, line: int, reason: str) -> None:
        self.line = line
        self.reason = reason
        super().__init__(f"program: line {line}: {reason}" if line else f"program: {reason}")


def program_text(program: Program) -> str:
    """The program as Python text, one statement a line; reading that gives the same statements."""
    lines: list[str] = []
    agents: set[str] = set()
    for statement in program.statements:
        if isinstance(statement, Correction) and statement.variable not in agents:
            agents.add(statement.variable)
            lines.append(f"{statement.variable} = AgentCorrective()")
        if isinstance(statement, Instance):
            agents.discard(statement.variable)
        lines.append(statement_text(statement))
    return "".join(f"{line}\n" for line in lines)


def statement_text(statement: Statement) -> str:
    """One statement as Python text."""
    match statement:
        case Instance(variable, class_name, landmark, attributes):
            words = [f'"{class_name}"']
            words += [f'landmark="{landmark}"'] if landmark else []
            wanted = ", ".join(f'"{word}"' for word in attributes)
            words += [f"attributes=[{wanted}]"] if attributes else []
            return f"{variable} = InteractionObject({', '.join(words)})"
        case Invocation(variable, method, argument):
            return f"{variable}.{method}({argument})"
        case Correction(variable, move):
            return f"{variable}.{move}()"
        case DoNothing():
            return "do_nothing()"


# What the interpreter answers, and what it keeps of what it did.


@record
class SkillStep:
    """A skill of ours that no method of the paper names, such as Cook in a microwave that is on."""

    variable: str
    skill: str


@record
class Aftermath:
    """What a device does to the things on and in it, once it is on or something was put there.

    `runs`: whether it was just switched on, so that a faucet's water runs.
    """

    variable: str
    runs: bool


Work = Statement | SkillStep | Aftermath
"""One entry of the interpreter's queue."""


@record
class Missing:
    """Something that the next statement needs and nobody has seen.

    Attributes:
        class_name: of the vocabulary.
        landmark: the class that the program says it is near; "" if it says none.
        classes: what it is in the catalogue.
        statement: the program's, that needs it.
    """

    class_name: str
    landmark: str
    classes: tuple[str, ...]
    statement: Statement


@record
class Failed:
    """A statement that failed; it waits for a repair, or to be skipped.

    Attributes:
        statement: the program's.
        step: what failed for it: the statement itself, or one that was put before it.
        call: the skill call that failed; None if there was none.
        code: of the result.
        text: of the result, for models.
        entities: what the step was about, by the memory's names.
    """

    statement: Statement
    step: Work
    call: SkillCall | None
    code: SkillCode
    text: str
    entities: tuple[str, ...] = ()


@record
class Finished:
    """All statements were carried out or skipped."""


Step = SkillCall | Missing | Failed | Finished


class Outcome(StrEnum):
    """What became of one step."""

    DONE = "done"
    ALREADY_TRUE = "already true"
    FAILED = "failed"
    SKIPPED = "skipped"


@record
class Executed:
    """One step that was carried out, or did not need to be.

    Attributes:
        statement: the program's, or that of a repair.
        step: the statement itself, or what was put before it.
        call: None if nothing was called.
        text: of the result; "" if there is none.
        entity: what the step was about, by the memory's name.
    """

    statement: Statement
    step: Work
    outcome: Outcome
    call: SkillCall | None = None
    text: str = ""
    entity: str = ""


def work_text(work: Work) -> str:
    """A step as text, for people and models."""
    match work:
        case SkillStep(variable, skill):
            return f"{skill}({variable})"
        case Aftermath(variable):
            return f"what {variable} does"
        case Instance() | Invocation() | Correction() | DoNothing():
            return statement_text(work)


def variables_of(work: Work) -> tuple[str, ...]:
    """The variables that a step uses: what it is called on, then its argument."""
    match work:
        case Invocation(variable, _, argument) if argument:
            return (variable, argument)
        case Invocation(variable) | SkillStep(variable) | Aftermath(variable):
            return (variable,)
        case _:
            return ()


# The classes that programs name, and what each is in the catalogue (HELPER-4.3).

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
        self._words = {folded(word): name for word, name in file.words.items()}
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
        return {folded(name): name for name in self.by_name} | self._words

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
            if item.classes and folded(item.name) == folded(item.classes[0]):
                found[item.classes[0]] = item.name
        return found

    def nearest(self, word: str) -> str | None:
        """The name that a word of a program stands for; None if there is none.

        Accepts a name in any case, what models write instead, and the catalogue's words.
        """
        if word in self.by_name:
            return word
        found = self._by_fold.get(folded(word))
        if found is not None:
            return found
        return self._by_class.get(self._catalogue.class_spelled(word))

    def suggestions(self, word: str) -> tuple[str, ...]:
        """The names that are spelt most like a word."""
        folded = {name.lower(): name for name in self.by_name}
        near = difflib.get_close_matches(word.lower()[:40], folded, _MAX_SUGGESTIONS)
        return tuple(folded[one] for one in near)

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
    file = read_model(path, VocabularyFile)
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
