"""Templates of a scene data set by handle, with the rules of habitat-sim.

From habitat-sim's `SceneDatasetAttributesManager` and `AbstractAttributesManager`: a handle is a
file's path, or the name that an entry of `configs` gives. `default_attributes` lie under all files,
an entry over the file that it names, or alone in the data set's folder. A scene's name is a handle,
or else the first one, in order, that has it in it, whatever the case. Handles here are paths in the
data set's folder, so that the names of folders above it match nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field, JsonValue, RootModel

from planner.houses.hssd.files import Lenient, read_json

Attributes = Annotated[dict[str, JsonValue], Field(max_length=1000)]
_NOTHING: Mapping[str, JsonValue] = {}


class _Document(RootModel[dict[str, JsonValue]]):
    """A JSON object of any content."""


class TemplateEntry(Lenient):
    """An entry of `configs`: a template made of another one, or of attributes alone."""

    original_file: str = ""
    template_handle: str = ""
    attributes: Attributes = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Template:
    """A template.

    Attributes:
        handle: as scenes name it.
        path: the file to name in errors: its own, or that of the data set.
        is_file: whether `path` has its attributes; else they are `over` alone.
        under: attributes beneath those of the file.
        over: attributes above them.
    """

    handle: str
    path: Path
    is_file: bool = True
    under: Mapping[str, JsonValue] = field(default_factory=lambda: _NOTHING)
    over: Mapping[str, JsonValue] = field(default_factory=lambda: _NOTHING)

    @property
    def folder(self) -> Path:
        """What the paths of its assets are relative to."""
        return self.path.parent

    @property
    def stem(self) -> str:
        """Its name without folders and endings."""
        return self.handle.split("/")[-1].split(".")[0]

    @property
    def is_articulated(self) -> bool:
        """Whether it is one of bodies with joints."""
        return "urdf_filepath" in self.document()

    def document(self) -> dict[str, JsonValue]:
        """All attributes.

        Raises:
            FileError: if the file is invalid, or only a Git LFS pointer.
        """
        own = read_json(self.path, _Document).root if self.is_file else {}
        return {**self.under, **own, **self.over}


class Templates:
    """The templates of one kind."""

    def __init__(
        self,
        config: Path,
        files: Iterable[Path],
        assets: Iterable[Path],
        under: Mapping[str, JsonValue],
        entries: Iterable[TemplateEntry],
    ) -> None:
        """Gathers them.

        Args:
            config: the data set's file.
            files: of templates, in its folder.
            assets: meshes that are templates of their own.
            under: the default attributes.
            entries: the data set's further templates; what names no file is skipped.
        """
        self._by_handle: dict[str, Template] = {}
        self._by_stem: dict[str, Template] = {}
        for path in files:
            self._add(Template(_handle(config, path), path, under=under))
        for path in assets:
            over: dict[str, JsonValue] = {"render_asset": path.name}
            self._add(Template(_handle(config, path), path, False, under, over))
        for entry in entries:
            if not entry.original_file:
                made = Template(entry.template_handle, config, False, under, entry.attributes)
                self._by_handle[made.handle] = made
            elif (known := self.find(entry.original_file)) is not None:
                handle = entry.template_handle or known.handle
                over = {**known.over, **entry.attributes}
                self._by_handle[handle] = Template(handle, known.path, known.is_file, under, over)
        for template in self._by_handle.values():
            self._by_stem.setdefault(template.stem, template)

    def find(self, name: str) -> Template | None:
        """The template that a scene's name is for; None if there is none."""
        if (found := self._by_handle.get(name)) is not None:
            return found
        # Most names are those of files, and some data sets have tens of thousands.
        exact = self._by_stem.get(name.split("/")[-1].split(".")[0])
        if exact is not None:
            return exact
        wanted = name.lower()
        fits = (handle for handle in sorted(self._by_handle) if wanted in handle.lower())
        handle = next(fits, None)
        return None if handle is None else self._by_handle[handle]

    @property
    def stems(self) -> frozenset[str]:
        """The names of all, without folders and endings."""
        return frozenset(self._by_stem)

    def _add(self, template: Template) -> None:
        self._by_handle.setdefault(template.handle, template)


def _handle(config: Path, path: Path) -> str:
    return path.relative_to(config.parent).as_posix()
