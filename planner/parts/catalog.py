"""All parts of one kind by name: this project's, and those of other installed packages."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar, cast

from planner.parts.option import Option
from planner.world.errors import PlannerError
from planner.world.nearest import did_you_mean

OUR_PACKAGE = "planner"


class PartError(PlannerError):
    """A part that does not exist or cannot be used."""


class Part(Protocol):
    """The attributes of all kinds of records."""

    @property
    def summary(self) -> str:
        """One line for the help."""

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that may be set."""

    @property
    def interface(self) -> int:
        """The version of the kind's interface that it was written for."""


PartT = TypeVar("PartT", bound=Part)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a part comes from; not loaded yet."""

    name: str
    package: str
    load: Callable[[], object]


class Catalog(Generic[PartT]):
    """The parts of one kind.

    A part of this project is a module in `folder` with the attribute `attribute`, and has the
    module's name. Other packages add parts as entry points of the group `planner.<folder's name>`.
    Parts are imported lazily.
    """

    def __init__(
        self,
        kind: str,
        folder: str,
        attribute: str,
        record: str,
        interface: int,
        *,
        several: bool = False,
        name_of: Callable[[str], str] = str,
        declared: str = "",
    ) -> None:
        """Describes where the parts of a kind are.

        Args:
            kind: one word for messages, such as `planner`.
            folder: the package whose modules are this project's parts.
            attribute: the name of the record in each module.
            record: the record's class as `module:name`, imported with the first part.
            interface: the supported version of its interface.
            several: whether the attribute is a tuple of named records; such modules are imported to
                list their names, and modules without the attribute are skipped.
            name_of: makes a part's name from its module's, for this project's parts.
            declared: `module:function` that returns further parts of this project by name, which
                are declared in data.
        """
        self.kind, self._folder, self._attribute = kind, folder, attribute
        self._record, self._interface, self._name_of = record, interface, name_of
        self._several, self._declared = several, declared
        self.group = f"{OUR_PACKAGE}.{folder.rpartition('.')[2]}"
        self._loaded: dict[str, PartT] = {}

    @cached_property
    def _sources(self) -> tuple[Mapping[str, Source], tuple[str, ...]]:
        found = {source.name: source for source in self._ours()}
        problems = []
        for point in sorted(entry_points(group=self.group), key=_order):
            source = Source(point.name, _package(point), point.load)
            before = found.setdefault(point.name, source)
            if before is not source:
                problems.append(
                    f"{self.kind} {point.name} of the package {source.package} is not used: "
                    f"{before.package} has one of that name; rename its entry point"
                )
        return found, tuple(problems)

    def _ours(self) -> list[Source]:
        package = importlib.import_module(self._folder)
        modules = [name for _, name, _ in pkgutil.iter_modules(package.__path__)]
        if self._several:
            return [
                Source(record.name, OUR_PACKAGE, lambda record=record: record)  # type: ignore[misc]
                for name in modules
                for record in getattr(
                    importlib.import_module(f"{self._folder}.{name}"), self._attribute, ()
                )
            ]
        return [
            Source(
                self._name_of(name),
                OUR_PACKAGE,
                lambda name=name: self._of_module(name),  # type: ignore[misc]
            )
            for name in modules
        ] + self._of_data()

    def _of_data(self) -> list[Source]:
        module, _, function = self._declared.partition(":")
        found = getattr(importlib.import_module(module), function)() if module else {}
        return [
            Source(name, OUR_PACKAGE, lambda part=part: part)  # type: ignore[misc]
            for name, part in found.items()
        ]

    def _of_module(self, name: str) -> object:
        return getattr(importlib.import_module(f"{self._folder}.{name}"), self._attribute)

    def names(self) -> tuple[str, ...]:
        """All names, this project's first; the part of a name may still prove to be broken."""
        return tuple(self._sources[0])

    def package_of(self, name: str) -> str:
        """The package that a part comes from.

        Raises:
            PartError: if there is none of that name.
        """
        return self._source(name).package

    def _source(self, name: str) -> Source:
        source = self._sources[0].get(name)
        if source is None:
            names = self.names()
            there, near = ", ".join(names), did_you_mean(name, names)
            raise PartError(f"there is no {self.kind} {name!r}; there are {there}{near}")
        return source

    def get(self, name: str) -> PartT:
        """The record of this name.

        Raises:
            PartError: if there is none, or it cannot be used; names its package and what to do.
        """
        if name not in self._loaded:
            self._loaded[name] = self._load(self._source(name))
        return self._loaded[name]

    def find(self, name: str) -> PartT | None:
        """The record of this name; None if there is none that can be used."""
        if name in self._loaded:
            return self._loaded[name]
        try:
            return self.get(name)
        except PartError:
            return None

    def _load(self, source: Source) -> PartT:
        what = f"{self.kind} {source.name} of the package {source.package} cannot be used"
        try:
            made = source.load()
        # Another package's import may raise anything.
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise PartError(f"{what}: {reason}; fix or uninstall the package") from error
        module, _, name = self._record.partition(":")
        if not isinstance(made, getattr(importlib.import_module(module), name)):
            raise PartError(
                f"{what}: expected a {name}, got {type(made).__name__}; fix its entry point"
            )
        part = cast(PartT, made)
        if part.interface != self._interface:
            raise PartError(
                f"{what}: written for version {part.interface} of the {self.kind} interface, "
                f"this is version {self._interface}; install a release that fits"
            )
        return part

    def usable(self) -> Mapping[str, PartT]:
        """All usable parts by name; `problems` lists the others."""
        found = {}
        for name in self.names():
            part = self.find(name)
            if part is not None:
                found[name] = part
        return found

    def problems(self) -> tuple[str, ...]:
        """One line for each part that cannot be used."""
        lines = list(self._sources[1])
        for name in self.names():
            try:
                self.get(name)
            except PartError as error:
                lines.append(str(error))
        return tuple(lines)


def _order(point: EntryPoint) -> tuple[str, str]:
    return _package(point), point.name


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(".")[0]
