"""A laboratory for the judge: three rooms, furniture of plain boxes, things that jump."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from planner.evaluation.constraints import ALL_JUDGES
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode, Progress, Verdict
from planner.world.geometry import Pose
from planner.world.house import Furniture, House, Interior, Joint, Room, Surface
from planner.world.shapes import Part
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import Affordance, EntityKind

# Those whose rules are here.
MODES = [Mode(name) for name in ALL_JUDGES.names()]
ROOMS = ("kitchen_0", "living_room_0", "closet_0")
ROOM_M = 10.0
TABLES = tuple(f"table_{i}" for i in range(4))
BOXES = ("toy_box_0", "cabinet_0")
CUP = (0.1, 0.1, 0.1)
WALL_M = 0.02


def table(name: str, room: str, x: float, y: float, yaw: float = 0.0) -> Furniture:
    """A top of 1 m x 1 m at 0.7 m."""
    return Furniture(
        name=name,
        class_name="table",
        room=room,
        x_m=x,
        y_m=y,
        yaw_rad=yaw,
        size_m=(1.0, 1.0, 0.7),
        affordances=("cleanable",),
        parts=(Part(center=(0, 0, 0.675), size=(1, 1, 0.05), rgb=(1, 1, 1)),),
        surfaces=(Surface(name="top", center=(0, 0, 0.7), size=(1, 1)),),
    )


def box(name: str, room: str, x: float, y: float, side: float = 0.6) -> Furniture:
    """A closed box with one hollow."""
    half, inner = side / 2, side - 2 * WALL_M
    walls = [((sign * (half - WALL_M / 2), 0, half), (WALL_M, side, side)) for sign in (-1, 1)]
    walls += [((0, sign * (half - WALL_M / 2), half), (side, WALL_M, side)) for sign in (-1, 1)]
    walls += [((0, 0, z), (side, side, WALL_M)) for z in (WALL_M / 2, side - WALL_M / 2)]
    return Furniture(
        name=name,
        class_name=name.rsplit("_", 1)[0],
        room=room,
        x_m=x,
        y_m=y,
        yaw_rad=0.0,
        size_m=(side, side, side),
        parts=tuple(Part(center=c, size=s, rgb=(1, 1, 1)) for c, s in walls),
        interiors=(Interior(name="inside", center=(0, 0, half), size=(inner, inner, inner)),),
    )


def drawers(name: str, room: str, x: float, y: float) -> Furniture:
    """A chest whose one drawer slides out by 0.4 m along +x."""
    return Furniture(
        name=name,
        class_name="chest_of_drawers",
        room=room,
        x_m=x,
        y_m=y,
        yaw_rad=0.0,
        size_m=(0.5, 0.5, 0.5),
        affordances=(Affordance.OPENABLE,),
        parts=(
            Part(center=(0, 0, 0.49), size=(0.5, 0.5, 0.02), rgb=(1, 1, 1)),
            Part(center=(0, 0, 0.01), size=(0.48, 0.48, 0.02), rgb=(1, 1, 1), joint="drawer"),
        ),
        interiors=(
            Interior(
                name="drawer",
                center=(0, 0, 0.25),
                size=(0.46, 0.46, 0.4),
                joint="drawer",
                moves=True,
            ),
        ),
        joints=(
            Joint(name="drawer", kind="slide", axis=(1, 0, 0), travel=0.4, handle=(0.25, 0, 0.3)),
        ),
    )


def lab_house(extra: Iterable[Furniture] = ()) -> House:
    rooms = tuple(
        Room(
            name=name,
            class_name=name.rsplit("_", 1)[0],
            polygon_m=(
                (i * ROOM_M, 0),
                ((i + 1) * ROOM_M, 0),
                ((i + 1) * ROOM_M, ROOM_M),
                (i * ROOM_M, ROOM_M),
            ),
        )
        for i, name in enumerate(ROOMS)
    )
    furniture = (
        table("table_0", "kitchen_0", 2, 2),
        table("table_1", "kitchen_0", 5, 2),
        # 0.2 m apart, so that things on both can be next to each other.
        table("table_2", "living_room_0", 12, 2),
        table("table_3", "living_room_0", 13.2, 2),
        box("toy_box_0", "living_room_0", 15, 5),
        box("cabinet_0", "kitchen_0", 8, 8),
    )
    return House(version=1, name="lab", rooms=rooms, furniture=(*furniture, *extra))


class Lab:
    """A world to be arranged by hand. Every call of `state` is the next simulation step."""

    def __init__(
        self,
        objects: Iterable[str],
        affordances: tuple[Affordance, ...] = (),
        extra: Iterable[Furniture] = (),
    ) -> None:
        self.house = lab_house(extra)
        self.entities: dict[str, EntityState] = {}
        self.step = -1
        ids = iter(range(1, 1000))
        for room in self.house.rooms:
            self.entities[room.name] = _entity(room.name, EntityKind.ROOM, 0, room=room.name)
        for piece in self.house.furniture:
            self.entities[piece.name] = replace(
                _entity(piece.name, EntityKind.FURNITURE, next(ids), room=piece.room),
                pose=piece.pose,
                size_m=piece.size_m,
                affordances=piece.affordances,
                states={"clean": False} if piece.affordances else None,
                openness=0.0 if piece.joints else None,
            )
        for i, name in enumerate(objects):
            entity = _entity(name, EntityKind.OBJECT, next(ids))
            self.entities[name] = replace(entity, affordances=affordances, states={})
            self.away(name, i)
        agent = _entity("agent_0", EntityKind.AGENT, next(ids), room="kitchen_0")
        self.entities["agent_0"] = replace(agent, size_m=(0.5, 0.5, 1.0))

    def at(self, name: str, x: float, y: float, z: float = 0.0, yaw: float = 0.0) -> Lab:
        """Puts the middle of a thing's underside somewhere."""
        self.entities[name] = replace(self.entities[name], pose=Pose.planar(x, y, yaw, z))
        return self

    def away(self, name: str, number: int = 0) -> Lab:
        """Somewhere in the closet in mid-air, next to nothing and on nothing."""
        return self.at(name, 21 + 0.9 * (number % 10), 9 - (number // 10), 1.0)

    def on(self, name: str, piece: str, dx: float = 0.0, dy: float = 0.0) -> Lab:
        """On a table's top."""
        record = self.house.furniture_by_name[piece]
        return self.at(name, record.x_m + dx, record.y_m + dy, record.size_m[2])

    def inside(self, name: str, piece: str) -> Lab:
        """In the middle of a box."""
        record = self.house.furniture_by_name[piece]
        return self.at(name, record.x_m, record.y_m, record.size_m[2] / 2)

    def size(self, name: str, size_m: tuple[float, float, float]) -> Lab:
        self.entities[name] = replace(self.entities[name], size_m=size_m)
        return self

    def set(self, name: str, state: str, value: bool = True) -> Lab:
        old = self.entities[name]
        self.entities[name] = replace(old, states={**(old.states or {}), state: value})
        return self

    def open(self, name: str, openness: float) -> Lab:
        self.entities[name] = replace(self.entities[name], openness=openness)
        return self

    def state(self, steps: int = 1) -> WorldState:
        """The world some simulation steps after the last state."""
        self.step += steps
        return WorldState(
            self.step * 0.1, self.step, self.step, "lab", "episode", dict(self.entities)
        )


def _entity(name: str, kind: EntityKind, number: int, room: str | None = None) -> EntityState:
    return EntityState(
        name=name,
        kind=kind,
        class_name=name.rsplit("_", 1)[0],
        instance_id=number,
        pose=Pose.planar(1, 1),
        size_m=CUP,
        parent=None,
        relation=None,
        room=room,
    )


class Rollout:
    """A task in a lab, judged state by state."""

    def __init__(self, lab: Lab, document: dict[str, Any], mode: Mode = Mode.STRICT) -> None:
        self.lab = lab
        evaluation = read_evaluation(document, "test")
        self.evaluator = Evaluator(evaluation, lab.house, lab.state(), mode)

    def then(self, *_moves: object, steps: int = 1) -> Progress:
        """The next state, after the moves that the arguments have made."""
        return self.evaluator.update(self.lab.state(steps))

    def end(self) -> Verdict:
        """The verdict if this was the last state."""
        return self.evaluator.result()


@pytest.fixture
def make_lab() -> type[Lab]:
    return Lab


@pytest.fixture
def rollout() -> type[Rollout]:
    return Rollout


@pytest.fixture
def pieces() -> dict[str, Callable[..., Furniture]]:
    return {"table": table, "box": box, "drawers": drawers}
