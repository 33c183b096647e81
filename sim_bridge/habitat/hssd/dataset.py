"""Finds files, handles and classes in the folder of a downloaded HSSD; says what is missing."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, RootModel

from planner.world.catalogue import Catalogue
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_json, parse_model, read_lines, read_text

# Reads JSON files of downloaded data sets, and refuses what Git LFS has not fetched.

_LARGEST_JSON_BYTES = 64 << 20
_LFS = b"version https://git-lfs"


class Lenient(BaseModel):
    """A record in a third-party file; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


ModelT = TypeVar("ModelT", bound=BaseModel)


def read_json(path: Path, model: type[ModelT]) -> ModelT:
    """Reads a JSON file of the dataset.

    Raises:
        FileError: if it is invalid, or only a Git LFS pointer.
    """
    text = read_text(path, _LARGEST_JSON_BYTES)
    refuse_pointer(path, text.encode())
    return parse_model(parse_json(text, path, max_chars=_LARGEST_JSON_BYTES), model, path)


def refuse_pointer(path: Path, content: bytes) -> None:
    """Refuses the pointer that Git LFS leaves in place of a file that was not fetched.

    Raises:
        FileError: for such a pointer.
    """
    if content.startswith(_LFS):
        raise FileError(path, "", "is only Git LFS's note of the file: run `git lfs pull` there")


# Templates of a scene data set by handle, with the rules of habitat-sim.
#
# From habitat-sim's `SceneDatasetAttributesManager` and `AbstractAttributesManager`: a handle is a
# file's path, or the name that an entry of `configs` gives. `default_attributes` lie under all
# files, an entry over the file that it names, or alone in the data set's folder. A scene's name is
# a handle, or else the first one, in order, that has it in it, whatever the case. Handles here are
# paths in the data set's folder, so that the names of folders above it match nothing.

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


PARTNR_CONFIG = "hssd-hab-partnr.scene_dataset_config.json"
_HOW = (
    "get the branch partnr of the data set hssd/hssd-hab, as partnr-planner's INSTALLATION.md "
    "says (docs/habitat.md has the link)"
)
_CONFIG, _AO_CONFIG = ".scene_dataset_config.json", ".ao_config.json"
HOUSE_PREFIX = "hssd-"


_Globs = Annotated[dict[str, list[str]], Field(max_length=20)]


class _Paths(Lenient):
    paths: _Globs = Field(default_factory=dict)
    default_attributes: Attributes = Field(default_factory=dict)
    configs: Annotated[tuple[TemplateEntry, ...], Field(max_length=10_000)] = ()


class _Config(Lenient):
    stages: _Paths = _Paths()
    objects: _Paths = _Paths()
    articulated_objects: _Paths = _Paths()
    scene_instances: _Paths = _Paths()
    semantic_scene_descriptor_instances: _Paths = _Paths()


class HssdDataset:
    """A scene dataset on disk. Files are found by name, as habitat-sim does."""

    def __init__(self, config: Path, *, is_partnr: bool = True) -> None:
        """Opens a dataset.

        Args:
            config: `*.scene_dataset_config.json`, or the folder that contains it.
            is_partnr: whether it is PARTNR's branch of HSSD, which has rooms, classes and filters;
                else they are read as far as they are there.

        Raises:
            PlannerError: if it does not exist; says what to download.
            FileError: if it cannot be read.
        """
        self.is_partnr = is_partnr
        # Patterns of other folders, which are not read.
        self.outside: set[str] = set()
        self.path = path = _config_in(config, is_partnr) if config.is_dir() else config
        if not path.is_file():
            others = ", ".join(found.name for found in sorted(path.parent.glob(f"*{_CONFIG}")))
            other = f" (another version is: {others})" if others else ""
            raise PlannerError(f"HSSD is not here: there is no {path}{other}; {_HOW}")
        self.folder = path.parent
        self._config = read_json(path, _Config)

    @property
    def prefix(self) -> str:
        """What the names of its houses begin with."""
        if self.is_partnr:
            return HOUSE_PREFIX
        return re.sub(r"[^A-Za-z0-9]+", "_", self.path.name.removesuffix(_CONFIG)).strip("_") + "-"

    @cached_property
    def scenes(self) -> dict[str, Path]:
        """The scenes by id."""
        return self._index(self._config.scene_instances, ".scene_instance.json")

    @cached_property
    def regions(self) -> dict[str, Path]:
        """The semantic files by the scene's id."""
        found = self._config.semantic_scene_descriptor_instances
        return self._index(found, ".semantic_config.json")

    @cached_property
    def stages(self) -> Templates:
        """The stages."""
        return self._templates(self._config.stages, ".stage_config.json")

    @cached_property
    def objects(self) -> Templates:
        """The rigid templates."""
        return self._templates(self._config.objects, ".object_config.json")

    @cached_property
    def articulated(self) -> Templates:
        """The articulated templates."""
        known = self._config.articulated_objects
        # Data sets may list the URDFs instead, with the configurations beside them.
        urdfs = self._files(known, ".urdf", ".urdf")
        beside = (urdf.with_name(urdf.stem + _AO_CONFIG) for urdf in urdfs)
        files = [*self._files(known, _AO_CONFIG), *(path for path in beside if path.is_file())]
        return Templates(self.path, files, (), known.default_attributes, known.configs)

    def scene(self, scene_id: str) -> Path:
        """The file of a scene.

        Raises:
            FileError: if the dataset has no scene with this id.
        """
        found = self.scenes.get(scene_id)
        if found is None:
            known = ", ".join(sorted(self.scenes)[:5]) or "none at all"
            how = f"; {_HOW}" if self.is_partnr else ""
            reason = f"has no scene {scene_id!r}, but {known}{how}"
            raise FileError(self.path, "scene_instances", reason)
        return found

    def region_file(self, scene_id: str) -> Path:
        """The semantic file of a scene.

        Raises:
            FileError: if it is missing.
        """
        found = self.regions.get(scene_id)
        if found is None:
            reason = f"there is no {scene_id}.semantic_config.json, which says its rooms; {_HOW}"
            raise FileError(self.path, "semantic_scene_descriptor_instances", reason)
        return found

    def has_metadata(self, name: str) -> bool:
        """Whether `metadata` may be asked for a file; PARTNR's always must have them."""
        return self.is_partnr or (self.folder / "metadata" / name).is_file()

    def metadata(self, name: str) -> Path:
        """A file of the folder `metadata`.

        Raises:
            FileError: if it is missing.
        """
        path = self.folder / "metadata" / name
        if not path.is_file():
            raise FileError(path, "", f"is missing, and says the classes of furniture; {_HOW}")
        return path

    @cached_property
    def bare_urdfs(self) -> frozenset[str]:
        """The articulated templates without a configuration, and so without receptacles."""
        found = self._files(self._config.articulated_objects, ".urdf", ".urdf")
        return frozenset(file.stem for file in found) - self.articulated.stems

    def _templates(self, paths: _Paths, ending: str) -> Templates:
        files, meshes = self._files(paths, ending), self._files(paths, ".glb", ".glb")
        return Templates(self.path, files, meshes, paths.default_attributes, paths.configs)

    def _index(self, paths: _Paths, ending: str) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for file in self._files(paths, ending):
            found.setdefault(file.name.removesuffix(ending), file)
        return found

    def _files(self, paths: _Paths, ending: str, kind: str = ".json") -> Iterator[Path]:
        for pattern in paths.paths.get(kind, []):
            parts = Path(pattern).parts
            if ".." in parts or Path(pattern).is_absolute():
                if self.is_partnr:
                    raise FileError(self.path, "paths", f"{pattern!r} leads out of the dataset")
                self.outside.add(pattern)
                continue
            if not parts or any("**" in part and part != "**" for part in parts):
                reason = f"expected a pattern of paths in the dataset, got {pattern!r}"
                raise FileError(self.path, "paths", reason)
            for place in sorted(self.folder.glob(pattern)):
                if place.is_file():
                    yield from [place] if place.name.endswith(ending) else []
                else:
                    yield from sorted(place.glob(f"*{ending}"))


def _config_in(folder: Path, is_partnr: bool) -> Path:
    if is_partnr:
        return folder / PARTNR_CONFIG
    found = sorted(folder.glob(f"*{_CONFIG}"))
    if len(found) == 1:
        return found[0]
    names = ", ".join(path.name for path in found) or "none"
    raise PlannerError(f"{folder}: expected one *{_CONFIG}, or its name; there are: {names}")


# The class of each model, from the data set's tables.

FURNITURE_TABLE = "fpmodels-with-decomposed.csv"
OBJECT_TABLE = "object_categories_filtered.csv"
_MAX_ROWS = 200_000


def furniture_classes(dataset: HssdDataset) -> dict[str, str]:
    """PARTNR's class of each static model, by the model's name, as the data set writes it.

    Raises:
        FileError: if the table is missing or has other columns.
    """
    if not dataset.has_metadata(FURNITURE_TABLE):
        return {}
    return _table(dataset.metadata(FURNITURE_TABLE), "main_category")


def class_by_name(model: str, catalogue: Catalogue) -> str | None:
    """The class of furniture that a model's name has in it: `frl_apartment_table_01` is a table."""
    words = [word for word in re.split(r"[^a-z]+", model.lower()) if word]
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length, -1, -1):
            found = catalogue.furniture_name(" ".join(words[start : start + length]))
            if found is not None:
                return found
    return None


def object_classes(dataset: HssdDataset) -> dict[str, str]:
    """PARTNR's class of each movable model in small letters, by the model's name.

    Raises:
        FileError: if the table is missing or has other columns.
    """
    if not dataset.has_metadata(OBJECT_TABLE):
        return {}
    words = _table(dataset.metadata(OBJECT_TABLE), "clean_category")
    return {model: word.lower() for model, word in words.items()}


def _table(path: Path, column: str) -> dict[str, str]:
    lines = read_lines(path)
    head = next(lines, b"")
    refuse_pointer(path, head)
    found: dict[str, str] = {}
    try:
        rows = csv.DictReader(line.decode("utf-8") for line in chain([head], lines))
        missing = {"id", column} - set(rows.fieldnames or ())
        if missing:
            raise FileError(path, "", f"has no column {sorted(missing)[0]!r}")
        for number, row in enumerate(rows):
            if number >= _MAX_ROWS:
                raise FileError(path, "", f"has more than {_MAX_ROWS} rows")
            name, class_name = row["id"], row[column]
            if name and class_name:
                found[name.strip()] = "_".join(class_name.split())
    except (UnicodeDecodeError, csv.Error) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    return found
