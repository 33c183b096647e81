"""Finds files in the folder of a downloaded HSSD, and reports what is missing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import Field

from planner.houses.hssd.files import Lenient, read_json
from planner.houses.hssd.handles import Attributes, TemplateEntry, Templates
from planner.world.errors import FileError, PlannerError

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
