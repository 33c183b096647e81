"""Reads a scene of HSSD as a house, with the names that PARTNR's episodes use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import ValidationError

from planner.world.catalogue import Catalogue
from planner.world.errors import FileError, from_validation
from planner.world.geometry import FloatArray
from planner.world.house import Door, Furniture, House
from planner.world.vocabulary import Relation
from sim_bridge.habitat.hssd.dataset import (
    HOUSE_PREFIX,
    HssdDataset,
    Template,
    Templates,
    class_by_name,
    furniture_classes,
    object_classes,
    read_json,
)
from sim_bridge.habitat.hssd.glb import (
    TO_OURS,
    NoGlbError,
    Placed,
    bounds_of,
    box_corners,
    triangles_of,
)
from sim_bridge.habitat.hssd.pieces import (
    Place,
    ReceptacleFilter,
    SceneFile,
    Shell,
    build_piece,
    link_place,
    room_of,
    shells_of,
    usable_receptacles,
)
from sim_bridge.habitat.hssd.rooms import (
    NO_REGIONS,
    PieceName,
    Regions,
    Storey,
    handles_of,
    passages,
    piece_names,
    read_regions,
    whole_stage,
)
from sim_bridge.habitat.hssd.urdf import (
    ArticulatedTemplate,
    ObjectTemplate,
    Receptacle,
    mesh_file,
    read_articulated,
    read_object,
    read_urdf,
    receptacles_of,
)

_STOREY = ".storey_"
_ASSET_LOCAL = "asset_local"
TemplateT = TypeVar("TemplateT", ObjectTemplate, ArticulatedTemplate)


@dataclass(frozen=True, slots=True)
class HssdBody:
    """A body in the scene.

    Attributes:
        template: what it is made of.
        placed: its entry in the scene.
        is_asset_local: whether the entry places its mesh's origin; otherwise its middle.
        piece: our piece of furniture for it; "" for scenery.
        joints: our name for each joint of that piece, by the data set's.
    """

    template: Template
    placed: Placed
    is_asset_local: bool
    piece: str = ""
    joints: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class HssdScene:
    """A scene that was read.

    Attributes:
        house: named `hssd-<scene>`, with `.storey_<n>` if that is not the main one; z is 0 at its
            floor.
        dataset: the configuration that habitat-sim loads.
        scene: the scene's file.
        floor_m: the height of that floor in Habitat's world.
        furniture: our name by handle, including what our house leaves out.
        called: PARTNR's name by handle, in the data set's own case.
        parts: by a receptacle's full name: the piece, its part, and the relation of things there.
        regions: the rooms and the data set's names for them.
        object_classes: PARTNR's class of movable models by name.
        stage: the structure.
        bodies: all other bodies, by handle.
        left_out: a sentence for each thing that our house cannot represent.
    """

    house: House
    dataset: Path
    scene: Path
    floor_m: float
    furniture: Mapping[str, str]
    called: Mapping[str, str]
    parts: Mapping[str, tuple[str, Relation, str]]
    regions: Regions
    object_classes: Mapping[str, str]
    stage: HssdBody
    bodies: Mapping[str, HssdBody]
    left_out: tuple[str, ...]


def read_scene(
    dataset: HssdDataset, scene_id: str, catalogue: Catalogue, storey: int | None = None
) -> HssdScene:
    """Reads one storey of a scene.

    Args:
        dataset: the download.
        scene_id: the scene's name there.
        catalogue: of the classes.
        storey: from 0, the lowest one; None = the one with the most floor.

    Raises:
        FileError: if a file is missing, only a Git LFS pointer, or not as documented.
    """
    path = dataset.scene(scene_id)
    scene = read_json(path, SceneFile)
    regions = _regions(dataset, path, scene, scene_id, catalogue, storey)
    reading = _Reading(dataset, path, scene, regions, catalogue)
    try:
        house = House(
            version=1,
            name=house_name(dataset.prefix, scene_id, regions.storey),
            foreign=True,
            rooms=regions.rooms,
            furniture=tuple(reading.pieces()),
            doors=reading.doors(),
        )
    except ValidationError as error:
        raise from_validation(path, error) from None
    return HssdScene(
        house=house,
        dataset=dataset.path,
        scene=path,
        floor_m=regions.floor_m,
        furniture={handle: name.ours for handle, name in reading.names.items()},
        called={handle: name.theirs for handle, name in reading.names.items()},
        parts=reading.parts,
        regions=regions,
        object_classes=object_classes(dataset),
        stage=reading.stage(),
        bodies=reading.bodies,
        left_out=(*regions.left_out, *reading.left_out),
    )


def _regions(
    dataset: HssdDataset,
    path: Path,
    scene: SceneFile,
    scene_id: str,
    catalogue: Catalogue,
    storey: int | None,
) -> Regions:
    """The annotated regions; in a data set without annotations, the stage as one room."""
    if dataset.is_partnr or scene_id in dataset.regions:
        return read_regions(dataset.region_file(scene_id), catalogue, storey)
    reading = _Reading(dataset, path, scene, NO_REGIONS, catalogue)
    return whole_stage(path, *reading.stage_outline())


def house_name(prefix: str, scene_id: str, storey: Storey) -> str:
    """The name of a scene's house."""
    return f"{prefix}{scene_id}" + ("" if storey.is_main else f"{_STOREY}{storey.number}")


def scene_of(house: str, prefix: str = HOUSE_PREFIX) -> tuple[str, int | None]:
    """The scene and storey of a house's name; the storey is None for the main one.

    Args:
        house: the name.
        prefix: of the data set's houses.

    Raises:
        FileError: if it is not a name that `house_name` makes.
    """
    scene_id, storey, number = house.removeprefix(prefix).partition(_STOREY)
    if not house.startswith(prefix) or (storey and not number.isdecimal()):
        reason = f"is not of this data set, whose houses are {prefix}SCENE: --scenes is for those"
        raise FileError(house, "name", reason)
    return scene_id, int(number) if storey else None


@dataclass(frozen=True, slots=True)
class _Body:
    """An instance with receptacles, before it has a name."""

    handle: str
    model: str
    shells: tuple[Shell, ...]
    places: tuple[Place, ...]
    front: FloatArray


@dataclass
class _Reading:
    dataset: HssdDataset
    path: Path
    scene: SceneFile
    regions: Regions
    catalogue: Catalogue
    names: dict[str, PieceName] = field(default_factory=dict)
    parts: dict[str, tuple[str, Relation, str]] = field(default_factory=dict)
    bodies: dict[str, HssdBody] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    plain: int = 0
    elsewhere: int = 0

    def pieces(self) -> Iterator[Furniture]:
        """The furniture, in the order in which PARTNR numbers it: rigid first, by handle."""
        classes = furniture_classes(self.dataset)
        usable = self._filter()
        rigid = [*self._rigid(usable)]
        opening = [*self._articulated(usable)]
        bodies = [*sorted(rigid, key=_handle_of), *sorted(opening, key=_handle_of)]
        words = [(body.handle, self._class_of(body.model, classes)) for body in bodies]
        for pattern in sorted(self.dataset.outside):
            self.left_out.append(f"{pattern} leads out of the data set and is not read")
        self.names = piece_names([(handle, word) for handle, word in words if word is not None])
        for body, (handle, word) in zip(bodies, words, strict=True):
            if word is None:
                self.left_out.append(f"{handle} is of no class by the data set's table")
                continue
            try:
                piece = self._piece(body, self.names[handle].ours, word)
            except ValidationError as error:
                reason = from_validation(self.path, error).reason
                self.left_out.append(f"{self.names[handle].theirs}: {reason}")
                continue
            if piece is not None:
                yield piece
        if self.elsewhere:
            self.left_out.append(f"{self.elsewhere} pieces of furniture stand on other storeys")
        if self.plain:
            self.left_out.append(f"{self.plain} bodies without receptacles are not in our house")

    def _class_of(self, model: str, classes: Mapping[str, str]) -> str | None:
        """The class of the data set's table; without a table by the words of the model's name."""
        if classes or self.dataset.is_partnr:
            return classes.get(model)
        return class_by_name(model, self.catalogue)

    def stage_outline(self) -> tuple[FloatArray, FloatArray | None]:
        """Corners of the box around the stage in our axes, and its triangles if they can be read.

        Heights are Habitat's.
        """
        stage = self.stage()
        mesh = mesh_file(stage.template, read_object(stage.template))
        matrix, place = self._stage_pose(stage)
        bounds = bounds_of(mesh)
        triangles = triangles_of(mesh)
        corners = box_corners(bounds.low, bounds.high) @ matrix.T + place
        return corners, None if triangles is None else triangles @ matrix.T + place

    @staticmethod
    def _stage_pose(stage: HssdBody) -> tuple[FloatArray, FloatArray]:
        instance, template = stage.placed, read_object(stage.template)
        sizes = template.sizes(instance.factors())
        matrix = TO_OURS @ instance.turn() @ sizes @ template.turn_of_mesh()
        return matrix, TO_OURS @ np.array(instance.translation)

    def stage(self) -> HssdBody:
        """The structure."""
        instance = self.scene.stage_instance
        template = self.dataset.stages.find(instance.template_name)
        if template is None:
            where = "stage_instance.template_name"
            raise FileError(self.path, where, f"there is no stage {instance.name!r}")
        return HssdBody(template, instance, self._is_asset_local(instance))

    def doors(self) -> tuple[Door, ...]:
        """The passages between the rooms."""
        stage = self.stage()
        try:
            triangles = triangles_of(mesh_file(stage.template, read_object(stage.template)))
        except NoGlbError as error:
            self.left_out.append(f"the stage's mesh: {error}: passages are not known")
            return ()
        if triangles is None:
            self.left_out.append("the stage's mesh is compressed: passages are not known")
            return ()
        matrix, place = self._stage_pose(stage)
        place = place - (0.0, 0.0, self.regions.floor_m)
        return passages(self.regions.rooms, triangles @ matrix.T + place)

    def _filter(self) -> ReceptacleFilter:
        name = self.scene.user_defined.scene_filter_file
        if name is None:
            self.left_out.append("the scene names no filter file: all receptacles are taken")
            return ReceptacleFilter()
        path = self.dataset.folder / name
        if Path(name).is_absolute() or not path.is_file():
            reason = f"{name} is missing, and says which receptacles can be used"
            raise FileError(self.path, "user_defined.scene_filter_file", reason)
        return read_json(path, ReceptacleFilter)

    def _rigid(self, usable: ReceptacleFilter) -> Iterator[_Body]:
        rigid = self._with_receptacles(
            "object_instances",
            self.scene.object_instances,
            self.dataset.objects,
            read_object,
            usable,
        )
        for handle, instance, named, template, kept in rigid:
            try:
                bounds = bounds_of(mesh_file(named, template))
            except NoGlbError as error:
                self.left_out.append(f"{handle}: {error}")
                continue
            turn = TO_OURS @ instance.turn()
            sizes = template.sizes(instance.factors())
            corners = box_corners(bounds.low, bounds.high) @ (sizes @ template.turn_of_mesh()).T
            place = TO_OURS @ np.array(instance.translation)
            if not self._is_asset_local(instance):
                middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
                place = place - turn @ (middle if template.COM is None else template.COM)
            place = place - (0.0, 0.0, self.regions.floor_m)
            yield _Body(
                handle=handle,
                model=instance.name,
                shells=(Shell(corners @ turn.T + place, None),),
                places=tuple(
                    Place(item.name, item.corners @ (turn @ sizes).T + place, Relation.ON, None)
                    for item in kept
                ),
                front=turn @ (0.0, 0.0, -1.0),
            )

    def _articulated(self, usable: ReceptacleFilter) -> Iterator[_Body]:
        articulated = self._with_receptacles(
            "articulated_object_instances",
            self.scene.articulated_object_instances,
            self.dataset.articulated,
            read_articulated,
            usable,
        )
        for handle, instance, named, template, kept in articulated:
            try:
                links = read_urdf(named.folder / template.urdf_filepath)
            except NoGlbError as error:
                self.left_out.append(f"{handle}: {error}")
                continue
            turn = TO_OURS @ instance.turn()
            size = template.uniform_scale * instance.uniform_scale
            place = TO_OURS @ np.array(instance.translation) - (0.0, 0.0, self.regions.floor_m)
            shells = tuple(shells_of(links, turn * size, place))
            if not shells:
                raise FileError(named.path, "urdf_filepath", "its links have no meshes")
            yield _Body(
                handle=handle,
                model=instance.name,
                shells=shells,
                places=tuple(
                    link_place(item, links, turn * size, place, handle, usable, named.path)
                    for item in kept
                ),
                front=turn @ (0.0, 0.0, -1.0),
            )

    def _with_receptacles(
        self,
        what: str,
        instances: Sequence[Placed],
        known: Templates,
        read: Callable[[Template], TemplateT],
        usable: ReceptacleFilter,
    ) -> Iterator[tuple[str, Placed, Template, TemplateT, list[Receptacle]]]:
        """Instances with usable receptacles, and their templates; counts the others."""
        for handle, instance in handles_of(instances):
            named = known.find(instance.template_name)
            if named is None and instance.name in self.dataset.bare_urdfs:
                self.plain += 1
                continue
            if named is None:
                reason = f"there is no object {instance.name!r}"
                raise FileError(self.path, f"{what}.{handle}", reason)
            self.bodies[handle] = HssdBody(named, instance, self._is_asset_local(instance))
            template = read(named)
            found, unread = receptacles_of(named.path, template.user_defined)
            self.left_out += [f"{handle}: a receptacle: {reason}" for reason in unread]
            kept = usable_receptacles(handle, found, usable)
            if kept:
                yield handle, instance, named, template, kept
            elif not unread:
                self.plain += 1

    def _is_asset_local(self, instance: Placed) -> bool:
        origin = instance.translation_origin or self.scene.translation_origin or ""
        return origin.lower() == _ASSET_LOCAL

    def _piece(self, body: _Body, name: str, word: str) -> Furniture | None:
        class_name = self.catalogue.furniture_name(word)
        if class_name is None:
            self.left_out.append(f"{name} has no class of ours")
            return None
        everything = np.concatenate([shell.corners for shell in body.shells])
        if not self.regions.storey.holds(float(everything[:, 2].min())):
            self.elsewhere += 1
            return None
        room = room_of(everything, self.regions.rooms)
        if room is None:
            self.left_out.append(f"{name} stands in no room")
            return None
        cls = self.catalogue.furniture[class_name]
        built = build_piece(name, room, cls, body.shells, body.places, body.front)
        for receptacle, (relation, part) in built.parts.items():
            self.parts[f"{body.handle}|{receptacle}"] = (name, relation, part)
        known = self.bodies[body.handle]
        self.bodies[body.handle] = replace(known, piece=name, joints=built.joints)
        return built.piece


def _handle_of(body: _Body) -> str:
    return body.handle
