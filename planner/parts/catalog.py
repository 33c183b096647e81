"""All parts of one kind by name, and what a check of one finds."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, partial
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Generic, Protocol, TypeVar, cast

from planner.parts.option import Option
from planner.world.errors import PlannerError, did_you_mean

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
    """The parts of one kind by name.

    This project's are in the mapping `attribute` of a module, or of the modules of a package, or
    entry points like those of other packages, of the group `planner.<the module's name>`, which are
    loaded only when they are used.
    """

    def __init__(
        self,
        kind: str,
        module: str,
        attribute: str,
        record: str,
        interface: int,
        *,
        keep_order: bool = False,
        group: str = "",
    ) -> None:
        """Describes where the parts of a kind are.

        Args:
            kind: one word for messages, such as `planner`.
            module: the module or package of this project's parts; "" = entry points only.
            attribute: the mapping's name there.
            record: the record's class as `module:name`, imported with the first part.
            interface: the supported version of its interface.
            keep_order: whether the names of `attribute` are listed as declared, not sorted.
            group: of the entry points; "" = named after the module.
        """
        self.kind, self._module, self._attribute = kind, module, attribute
        self._record, self._interface = record, interface
        self._keep_order = keep_order
        self.group = group or f"{OUR_PACKAGE}.{module.rpartition('.')[2]}"
        self._loaded: dict[str, PartT] = {}

    @cached_property
    def _sources(self) -> tuple[Mapping[str, Source], tuple[str, ...]]:
        points = sorted(entry_points(group=self.group), key=_order)
        given = [Source(point.name, _package(point), point.load) for point in points]
        found = {source.name: source for source in self._ours(given)}
        problems = []
        for source in given:
            if source.package == OUR_PACKAGE:
                continue
            before = found.setdefault(source.name, source)
            if before is not source:
                problems.append(
                    f"{self.kind} {source.name} of the package {source.package} is not used: "
                    f"{before.package} has one of that name; rename its entry point"
                )
        return found, tuple(problems)

    def _ours(self, given: Sequence[Source]) -> list[Source]:
        """This project's parts; `given` are the entry points of all packages."""
        found: dict[str, object] = {}
        for module in self._modules():
            found.update(getattr(module, self._attribute, {}))
        ours = [Source(name, OUR_PACKAGE, partial(found.__getitem__, name)) for name in found]
        ours += [source for source in given if source.package == OUR_PACKAGE]
        if not self._keep_order:
            ours.sort(key=lambda source: source.name)
        return ours

    def _modules(self) -> list[ModuleType]:
        """Those with parts of this project, the package's own first."""
        if not self._module:
            return []
        home = importlib.import_module(self._module)
        inner = [name for _, name, _ in pkgutil.iter_modules(getattr(home, "__path__", ()))]
        return [home, *(importlib.import_module(f"{self._module}.{name}") for name in inner)]

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
            if isinstance(made, Mapping):
                made = made[source.name]
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

    def options(self) -> Mapping[str, tuple[Option, ...]]:
        """The options of all usable parts by the part's name."""
        return {name: part.options for name, part in self.usable().items()}

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


# The findings of a part's conformance check.


class Verdict(StrEnum):
    """The result of a check."""

    PASSED = "passed"
    SKIPPED = "skipped"
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's verdict; `text` says what is wrong, or why the check was skipped."""

    check: str
    verdict: Verdict
    text: str = ""


def checked(check: str, problem: Callable[[], str]) -> Finding:
    """The finding of a check that returns what is wrong, or ""."""
    try:
        found = problem()
    # Whatever another package's part raises is a finding, not the end of the check.
    except Exception as error:
        found = f"raised {error!r}"
    return Finding(check, Verdict.FAILED if found else Verdict.PASSED, found)


@dataclass(frozen=True, slots=True)
class Report:
    """All findings of one run."""

    findings: tuple[Finding, ...]

    @property
    def conforms(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> dict[str, str]:
        """What is wrong, by the check's name."""
        return {f.check: f.text for f in self.findings if f.verdict is Verdict.FAILED}

    def table(self) -> str:
        """One line per check."""
        width = max(len(f.check) for f in self.findings)
        return "\n".join(
            f"{f.verdict:<8} {f.check:<{width}}  {f.text}".rstrip() for f in self.findings
        )
