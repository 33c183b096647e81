"""A seeded generator of plausible houses, and the shipped houses that it made."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from planner.houses.clutter import scatter
from planner.houses.groups import GroupMaker, Member
from planner.houses.layout import DoorPlan, Plan, RoomSpec, plan_layout
from planner.houses.room_floor import (
    DoorMouth,
    Furnishing,
    RoomFloor,
    door_mouth,
    draw_furnishing,
    furnish,
)
from planner.houses.room_program import HousePrograms, Zone, default_programs
from planner.world.agents import default_bodies
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import PlannerError
from planner.world.files import FileModel, read_model
from planner.world.furnishing import build_furniture
from planner.world.geometry import wrap_angle_rad
from planner.world.house import Door, Furniture, House, Room
from planner.world.share import config_dir

_ATTEMPTS = 12
_GROWTH = 1.18
# Enlarging all rooms slightly makes a plan easier to find.
_RELAX = 1.06
_DOOR_CLEARANCE_M = 0.75
# Safety margin: the floor grid rasterises shapes in quarter cells.
_RADIUS_MARGIN_M = 0.03
_MIN_ROOMS, _MAX_ROOMS = 4, 12
_OBJECTS_PER_PIECE = (1.1, 2.2)
_HALLWAY = "hallway_0"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_LARGEST_ROOM_M2 = 400.0

Split = Literal["train", "heldout", "none"]


def generate_house(
    name: str,
    seed: int,
    *,
    rooms: Mapping[str, int] | int | None = None,
    required: Mapping[str, Mapping[str, int]] | None = None,
    objects: int | None = None,
    split: Split = "none",
    wide: Collection[str] = (),
) -> House:
    """Generates a house; equal arguments give exactly the same house.

    Args:
        name: the house's name.
        seed: determines everything that is not given.
        rooms: number of rooms of each class; a hallway is added if the plan needs one. A number:
            a plausible program with this many rooms. None: with 4 to 12 rooms.
        required: for rooms by name (`bedroom_1`), the minimum number of each class of furniture.
            Rooms grow as needed.
        objects: maximum number of objects; None: depends on the furniture.
        split: the set of houses that it belongs to.
        wide: classes of furniture that are as wide and deep as they come.

    Raises:
        PlannerError: for unknown classes, or if no house was found.
    """
    if not _NAME.fullmatch(name):
        raise PlannerError(f"{name!r} is not a name for a house: letters, digits and _ . - only")
    if seed < 0:
        raise PlannerError(f"the seed {seed} is negative")
    catalogue, programs = default_catalogue(), default_programs()
    rng = np.random.default_rng(seed)
    required = required or {}
    program = rooms if isinstance(rooms, Mapping) else draw_rooms(rng, programs, rooms)
    names = _room_names(program, programs)
    _check_required(required, names, catalogue)
    maker = GroupMaker(catalogue, programs, rng, wide)
    specs = {
        room: draw_furnishing(programs.rooms[cls], required.get(room, {}), maker, rng)
        for room, cls in names.items()
    }
    try:
        plan, members = _plan_and_furnish(names, specs, maker, programs, rng)
    except PlannerError:
        if _HALLWAY in names or len(names) < _MIN_ROOMS:
            raise
        # Rooms too unequal for a hub plan do fit along a hallway.
        names[_HALLWAY] = "hallway"
        specs[_HALLWAY] = draw_furnishing(programs.rooms["hallway"], {}, maker, rng)
        plan, members = _plan_and_furnish(names, specs, maker, programs, rng)
    bare = House(
        version=1,
        name=name,
        split=split,
        seed=seed,
        rooms=tuple(
            Room(name=room, class_name=cls, polygon_m=plan.rooms[room].corners())
            for room, cls in names.items()
        ),
        doors=tuple(_door(index, door) for index, door in enumerate(plan.doors)),
        furniture=_furniture(members, catalogue),
    )
    wanted = round(len(bare.furniture) * float(rng.uniform(*_OBJECTS_PER_PIECE)))
    wanted = min(150, max(40, wanted)) if objects is None else objects
    return bare.model_copy(update={"objects": scatter(bare, wanted, rng)})


def draw_rooms(
    rng: np.random.Generator, programs: HousePrograms, count: int | None = None
) -> dict[str, int]:
    """A plausible program: the number of rooms of each class, `count` in all (None: 4 to 12).

    Raises:
        PlannerError: if `count` is out of bounds.
    """
    if count is not None and not _MIN_ROOMS <= count <= _MAX_ROOMS:
        raise PlannerError(f"a house has {_MIN_ROOMS} to {_MAX_ROOMS} rooms, not {count}")
    total = count or int(rng.integers(_MIN_ROOMS, _MAX_ROOMS + 1))
    program = Counter(("living_room", "kitchen", "bedroom", "bathroom"))
    if total >= 6:
        program["hallway"] += 1
    if total >= 7:
        program["bedroom"] += 1
    while program.total() < total:
        open_rules = [r for r in programs.rooms.values() if program[r.room] < r.most]
        weights = np.array([rule.weight for rule in open_rules])
        program[open_rules[int(rng.choice(len(open_rules), p=weights / weights.sum()))].room] += 1
    return {room: program[room] for room in programs.rooms if program[room]}


def _room_names(program: Mapping[str, int], programs: HousePrograms) -> dict[str, str]:
    """Room names and their classes in the order of the rules, with a hallway if needed."""
    for cls, number in program.items():
        if cls not in programs.rooms:
            known = ", ".join(sorted(programs.rooms))
            raise PlannerError(f"unknown class of room {cls!r}; known are {known}")
        if number < 0:
            raise PlannerError(f"{cls}: {number} is not a number of rooms")
    program = {cls: program.get(cls, 0) for cls in programs.rooms}
    total = sum(program.values())
    if not total:
        raise PlannerError("a house needs at least one room")
    public = sum(n for cls, n in program.items() if programs.rooms[cls].zone is Zone.PUBLIC)
    if not program["hallway"] and (total > 6 or (total > 3 and not public)):
        program["hallway"] = 1
    return {f"{cls}_{i}": cls for cls, number in program.items() for i in range(number)}


def _check_required(
    required: Mapping[str, Mapping[str, int]], names: Mapping[str, str], catalogue: Catalogue
) -> None:
    for room, classes in required.items():
        if room not in names:
            raise PlannerError(f"furniture is required in {room!r}, which the house does not have")
        for cls in classes:
            if cls not in catalogue.furniture:
                raise PlannerError(f"unknown class of furniture {cls!r} is required in {room!r}")


def _plan_and_furnish(
    names: Mapping[str, str],
    specs: Mapping[str, Furnishing],
    maker: GroupMaker,
    programs: HousePrograms,
    rng: np.random.Generator,
) -> tuple[Plan, dict[str, tuple[Member, ...]]]:
    """Lays rooms out and furnishes them; restarts with a larger room if one is too small."""
    radius = max(body.radius_m for body in default_bodies().values()) + _RADIUS_MARGIN_M
    areas = {}
    for room, cls in names.items():
        low, high = programs.rooms[cls].area_m2
        areas[room] = max(float(rng.uniform(low, high)), specs[room].area_m2)
        if areas[room] > _LARGEST_ROOM_M2:
            raise PlannerError(
                f"no place was found for the furniture of {room}: it needs {areas[room]:.0f} m2"
            )
    cramped: set[str] = set()
    for _ in range(_ATTEMPTS):
        try:
            plan = plan_layout(
                [RoomSpec(room, programs.rooms[cls], areas[room]) for room, cls in names.items()],
                rng,
            )
        except PlannerError:
            areas = {room: area * _RELAX for room, area in areas.items()}
            continue
        members: dict[str, tuple[Member, ...]] = {}
        cramped = set()
        for room, spec in specs.items():
            floor = RoomFloor(plan.rooms[room], _mouths(room, plan), radius)
            pieces = furnish(floor, spec, maker, rng)
            if pieces is None:
                cramped.add(room)
                areas[room] *= _GROWTH
            else:
                members[room] = pieces
        if not cramped:
            return plan, members
    what = f"the furniture of {', '.join(sorted(cramped))}" if cramped else "the rooms"
    raise PlannerError(f"no place was found for {what} in {_ATTEMPTS} attempts")


def _mouths(room: str, plan: Plan) -> list[DoorMouth]:
    return [
        door_mouth(
            plan.rooms[room], door.center_m, door.yaw_rad == 0.0, door.width_m, _DOOR_CLEARANCE_M
        )
        for door in plan.doors
        if room in door.rooms
    ]


def _door(index: int, plan: DoorPlan) -> Door:
    return Door(
        name=f"door_{index}",
        rooms=plan.rooms,
        center_m=plan.center_m,
        yaw_rad=round(plan.yaw_rad, 6),
        width_m=plan.width_m,
    )


def _furniture(
    members: Mapping[str, Sequence[Member]], catalogue: Catalogue
) -> tuple[Furniture, ...]:
    """Builds the pieces, each class numbered over the house in the order of its rooms."""
    counts: Counter[str] = Counter()
    pieces = []
    for room, placed in members.items():
        for member in placed:
            name = f"{member.class_name}_{counts[member.class_name]}"
            counts[member.class_name] += 1
            yaw = round(wrap_angle_rad(member.turn * math.pi / 2), 6)
            cls = catalogue.furniture[member.class_name]
            pieces.append(
                build_furniture(cls, name, room, member.x_m, member.y_m, yaw, member.size_m)
            )
    return tuple(pieces)


# The shipped houses and how each was generated (config/houses/recipes.yaml).


class Recipe(FileModel):
    """The arguments with which a shipped house was generated."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    split: Literal["train", "heldout", "none"]
    seed: Annotated[int, Field(ge=0)]
    rooms: Annotated[int, Field(ge=4, le=12)]
    objects: Annotated[int, Field(ge=0)] | None = None

    @property
    def path(self) -> Path:
        """The file of the shipped house."""
        folder = "bench" if self.split == "none" else self.split
        return config_dir() / "houses" / folder / f"{self.name}.json"

    def make(self) -> House:
        """Generates the house again."""
        return generate_house(
            self.name, self.seed, rooms=self.rooms, objects=self.objects, split=self.split
        )


class _RecipeFile(FileModel):
    version: Literal[1]
    houses: tuple[Recipe, ...]

    @model_validator(mode="after")
    def _kept_apart(self) -> _RecipeFile:
        seen: set[int] = set()
        for recipe in self.houses:
            if recipe.seed in seen:
                raise ValueError(f"{recipe.name}: the seed {recipe.seed} is used twice")
            seen.add(recipe.seed)
        return self


def recipes() -> tuple[Recipe, ...]:
    """The shipped houses' recipes; no two have the same seed."""
    return read_model(config_dir() / "houses" / "recipes.yaml", _RecipeFile).houses


def shipped_houses() -> list[Path]:
    """The files of all shipped houses in order of folder and name."""
    return sorted((config_dir() / "houses").glob("*/*.json"))
