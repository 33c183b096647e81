"""A rescue scene in the world's vocabulary: names, true state, house and episodes (LLAMAR-A20)."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from papers.llamar.rescue.scenes import SIZE, Cell, Fire, FireKind, FireRecord, Intensity, Scene
from papers.llamar.rescue.world import Person, RescueWorld, fire_of
from planner.world.agents import Body
from planner.world.episode import AgentPlacement, Checklist, Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.graph_house import house_of_document
from planner.world.house import House
from planner.world.state import EntityState, WorldState, room_state
from planner.world.vocabulary import AgentKind, EntityKind, Relation, floor_name

# Names and places of a rescue scene in the world's vocabulary (LLAMAR-A20).
#
# `CaldorFire` is the entity `caldor_fire_N` of the house, its second region `caldor_fire_region_2`.
# A cell is a square of `CELL_M`; y of the grid points down and y of the map up.

CELL_M = 0.5
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def class_of(name: str) -> str:
    """The class of a scene's thing: `caldor_fire`."""
    return _CAPITAL.sub("_", name).lower()


def region_class(fire: str) -> str:
    """The class of a fire's regions."""
    return f"{class_of(fire)}_region"


def middle_m(cell: Cell, height_m: float = 0.0) -> Vec3:
    """The middle of a cell in `map`."""
    return ((cell[0] + 0.5) * CELL_M, (SIZE - cell[1] - 0.5) * CELL_M, height_m)


def cell_at(x_m: float, y_m: float) -> Cell | None:
    """The cell of a point in `map`; None outside the grid."""
    x, y = int(x_m // CELL_M), SIZE - 1 - int(y_m // CELL_M)
    return (x, y) if 0 <= x < SIZE and 0 <= y < SIZE else None


class EntityNames:
    """The entities of a house that are the things of a scene."""

    def __init__(self, world: RescueWorld, house: House) -> None:
        """Finds each thing's entity.

        Raises:
            PlannerError: if the house has none of a thing's class, or several.
        """
        self._entities: dict[str, str] = {}
        for name in (*world.fires, *world.reservoirs, *world.deposits, *world.persons):
            found = house.names_by_class.get(class_of(name), ())
            if len(found) != 1:
                count = f"has {len(found)}" if found else "has none"
                what = f"{world.scene.name} has {name}"
                raise PlannerError(f"{house.name}: {what}, and the house {count} of that class")
            self._entities[name] = found[0]
        for fire in world.fires.values():
            for index in range(len(fire.regions)):
                entity = f"{region_class(fire.name)}_{index + 1}"
                self._entities[fire.region_name(index)] = entity
        self._entities |= {agent: agent for agent in world.agents}
        self._names = {entity: name for name, entity in self._entities.items()}

    def entity(self, name: str) -> str:
        """The entity of a thing, region or agent of the scene."""
        return self._entities[name]

    def name(self, entity: str) -> str | None:
        """The scene's name of an entity; None for a room."""
        return self._names.get(entity)


FLAMMABLE, GIVING = "flammable", "giving"
_REGION_M: Vec3 = (CELL_M, CELL_M, 0.05)
PERSON_M: Vec3 = (0.4, 0.4, 0.4)


@dataclass(slots=True)
class Mover:
    """An agent's body in `map`, between two cells while a step lasts."""

    name: str
    body: Body
    x_m: float
    y_m: float
    yaw_rad: float = 0.0


class Snapshots:
    """Keeps the newest state, and builds another one when something has changed."""

    def __init__(
        self, world: RescueWorld, names: EntityNames, house: House, episode: Episode
    ) -> None:
        self._world, self._names, self._house, self._episode = world, names, house, episode
        self._room = house.rooms[0].name
        # Regions last: how many there are depends on the seed.
        scene = (*world.persons, *world.agents, *world.regions)
        numbered = (*house.furniture_by_name, *(names.entity(name) for name in scene))
        self._ids = {name: index + 1 for index, name in enumerate(numbered)}
        self._fixed: dict[str, EntityState] = {}
        self._entities: dict[str, EntityState] = {}
        # Counted here and not when read, so that it does not depend on who reads when.
        self._revision = 1
        self._is_stepped = self._is_moved = True

    def stepped(self) -> None:
        """A joint step was made."""
        self._is_stepped = True
        self.moved()

    def moved(self) -> None:
        """A body moved."""
        self._is_moved = True
        self._revision += 1

    def at(self, time_s: float, steps: int, movers: Mapping[str, Mover]) -> WorldState:
        """The state now."""
        if self._is_stepped:
            self._fixed = {entity.name: entity for entity in self._standing()}
        if self._is_moved:
            agents = {name: self._agent(mover) for name, mover in movers.items()}
            persons = {e.name: e for e in self._persons(agents)}
            self._entities = {**self._fixed, **persons, **agents}
        self._is_stepped = self._is_moved = False
        return WorldState(
            stamp_s=time_s,
            step=steps,
            revision=self._revision,
            house=self._house.name,
            episode_id=self._episode.episode_id,
            entities=self._entities,
        )

    def _standing(self) -> Iterator[EntityState]:
        """The room, what stands in it, and the regions."""
        yield room_state(self._house.rooms[0])
        for piece in self._house.furniture:
            affordances, states = self._nature(self._names.name(piece.name) or "")
            yield EntityState(
                name=piece.name,
                kind=EntityKind.FURNITURE,
                class_name=piece.class_name,
                instance_id=self._ids[piece.name],
                pose=Pose((piece.x_m, piece.y_m, 0.0)),
                size_m=piece.size_m,
                parent=self._room,
                relation=None,
                room=self._room,
                affordances=affordances,
                states=states,
            )
        for name, (fire, cell) in self._world.regions.items():
            entity = self._names.entity(name)
            yield EntityState(
                name=entity,
                kind=EntityKind.OBJECT,
                class_name=region_class(fire.name),
                instance_id=self._ids[entity],
                pose=Pose(middle_m(cell, _REGION_M[2])),
                size_m=_REGION_M,
                parent=self._names.entity(fire.name),
                relation=Relation.ON,
                room=self._room,
                affordances=(FLAMMABLE,),
                states=states_of(fire, fire.around(cell)),
            )

    def _nature(self, name: str) -> tuple[tuple[str, ...], dict[str, bool] | None]:
        """Affordances and states of a fire, a reservoir or a deposit."""
        fire, reservoir = self._world.fires.get(name), self._world.reservoirs.get(name)
        if fire is not None:
            return (FLAMMABLE,), states_of(fire, fire.average)
        if reservoir is not None:
            return (GIVING,), {f"gives_{reservoir.supply.lower()}": True}
        return (), None

    def _persons(self, agents: Mapping[str, EntityState]) -> Iterator[EntityState]:
        for person in self._world.persons.values():
            parent, relation, position_m = self._place(person, agents)
            entity = self._names.entity(person.name)
            yield EntityState(
                name=entity,
                kind=EntityKind.OBJECT,
                class_name=class_of(person.name),
                instance_id=self._ids[entity],
                pose=Pose(position_m),
                size_m=PERSON_M,
                parent=parent,
                relation=relation,
                room=self._room,
            )

    def _place(
        self, person: Person, agents: Mapping[str, EntityState]
    ) -> tuple[str, Relation, Vec3]:
        if person.deposit:
            return self._names.entity(person.deposit), Relation.WITHIN, middle_m(person.cell)
        if person.is_carried:
            x, y, z = agents[person.holders[0]].pose.position_m
            return person.holders[0], Relation.HELD, (x, y, z + PERSON_M[2])
        return floor_name(self._room), Relation.ON, middle_m(person.cell)

    def _agent(self, mover: Mover) -> EntityState:
        carried = self._world.agents[mover.name].carried
        person = self._world.persons.get(carried)
        holds = person is not None and person.is_carried and person.holders[0] == mover.name
        body = mover.body
        return EntityState(
            name=mover.name,
            kind=EntityKind.AGENT,
            class_name=body.kind.value,
            instance_id=self._ids[mover.name],
            pose=Pose.planar(mover.x_m, mover.y_m, mover.yaw_rad),
            size_m=(2 * body.radius_m, 2 * body.radius_m, body.height_m),
            parent=None,
            relation=None,
            room=self._room,
            hands=(self._names.entity(carried) if holds else None,) + (None,) * (body.hands - 1),
        )


def states_of(fire: Fire, intensity: Intensity) -> dict[str, bool]:
    """The states of a fire or region that burns with an intensity, or does not."""
    states = {"burning": intensity is not Intensity.NONE}
    if fire.kind is FireKind.CHEMICAL:
        states["chemical"] = True
    if intensity is not Intensity.NONE:
        states[f"heat_{intensity.name.lower()}"] = True
    return states


# The house and the episodes of a scene, as the shipped files have them (LLAMAR-A20).

_FIRE_HEIGHT_M = 0.05
_STORE_M: Vec3 = (0.5, 0.5, 1.0)
_ROOM_HEIGHT_M = 3.0
# LLaMAR's sizes of teams there.
TEAMS = (2, 3, 4, 5)
# Random phases of a fire that are tried for the number of its regions.
_PHASES = 100


def house_document(scene: Scene) -> dict[str, JsonValue]:
    """The scene graph of a scene: an area, and in it fires, reservoirs, deposits and persons."""
    nodes: list[JsonValue] = []
    edges: list[JsonValue] = []
    side_m = SIZE * CELL_M
    area = _node(0, "area", (side_m / 2, side_m / 2, 0.0), (side_m, side_m, _ROOM_HEIGHT_M))
    nodes.append({**area, "category": "Rooms"})
    for number, (name, at_m, size_m, properties) in enumerate(_things(scene), start=1):
        node = _node(number, class_of(name), at_m, size_m)
        nodes.append({**node, "properties": list(properties)})
        edges.append({"from_id": number, "to_id": 0, "relation_type": "INSIDE"})
    return {"nodes": nodes, "edges": edges}


def house_of(scene: Scene) -> House:
    """The house of a scene, with its name."""
    house = house_of_document(house_document(scene), Path(f"{scene.name}.json"))
    return house.model_copy(update={"name": scene.name})


def episode_of(scene: Scene, agents: int) -> Episode:
    """The task of a scene for a team of rescuers, who start in the scene's first places."""
    house = house_of(scene)

    def entity(name: str) -> str:
        return _entity(house, name)

    goals: list[JsonValue] = [
        {"function_name": "is_extinguished", "args": {"objects": [entity(fire.name)]}}
        for fire in scene.fires
    ]
    deposits: list[JsonValue] = [entity(deposit.name) for deposit in scene.deposits]
    goals += [
        {
            "function_name": "is_inside",
            "args": {"objects": [entity(person.name)], "receptacles": deposits},
        }
        for person in scene.persons
    ]
    indices: list[JsonValue] = list(range(len(goals)))
    return Episode(
        version=1,
        episode_id=f"{scene.name}-agents-{agents}",
        house=scene.name,
        instruction=scene.instruction,
        agents=tuple(
            AgentPlacement(uid=f"agent_{index}", kind=AgentKind.RESCUER) for index in range(agents)
        ),
        checklist=_checklist(scene, house),
        evaluation={
            "propositions": goals,
            "dependencies": [],
            "constraints": [
                {"type": "TerminalSatisfactionConstraint", "proposition_indices": indices}
            ],
        },
    )


def _entity(house: House, name: str) -> str:
    return house.names_by_class[class_of(name)][0]


def _checklist(scene: Scene, house: House) -> Checklist:
    """LLaMAR's checklist (LLAMAR-A6, LLAMAR-A23); a fire may be meant by any of its regions."""
    kinds = {fire.kind.supply for fire in scene.fires}
    fires = [(_entity(house, fire.name), *_regions(fire)) for fire in scene.fires]
    persons = [_entity(house, person.name) for person in scene.persons]
    deposits = [_entity(house, deposit.name) for deposit in scene.deposits]
    sources = [_entity(house, each.name) for each in scene.reservoirs if each.supply in kinds]
    items: list[str] = []
    for names in fires:
        meant = "|".join(names)
        items += [f"NavigateTo({meant})", f"UseSupply({meant})", f"EndFire({names[0]})"]
    for person in persons:
        items += [f"{act}({person})" for act in ("NavigateTo", "Spot", "Carry", "DropOff")]
    items += [f"NavigateTo({deposit})" for deposit in deposits]
    items += [f"{act}({source})" for source in sources for act in ("NavigateTo", "GetSupply")]
    single = [(name,) for name in (*persons, *deposits, *sources)]
    return Checklist(ambiguity=1, subtasks=tuple(items), targets=(*fires, *single))


def _regions(record: FireRecord) -> list[str]:
    """The entities of the regions that a fire has with any of the phases that were tried."""
    most = max(len(fire_of(record, random.Random(seed)).regions) for seed in range(_PHASES))
    return [f"{region_class(record.name)}_{index + 1}" for index in range(most)]


def _things(scene: Scene) -> Iterator[tuple[str, Vec3, Vec3, tuple[str, ...]]]:
    """Name, middle of the underside, size and properties of each thing."""
    for fire in scene.fires:
        size_m = (fire.width * CELL_M, fire.height * CELL_M, _FIRE_HEIGHT_M)
        yield fire.name, _middle_of(fire), size_m, ("SURFACES",)
    for reservoir in scene.reservoirs:
        yield reservoir.name, middle_m(reservoir.cell), _STORE_M, ()
    for deposit in scene.deposits:
        yield deposit.name, middle_m(deposit.cell), _STORE_M, ("CONTAINERS",)
    for person in scene.persons:
        yield person.name, middle_m(person.cell), PERSON_M, ("GRABBABLE",)


def _middle_of(fire: FireRecord) -> Vec3:
    x, y, _ = middle_m(fire.corner)
    half = CELL_M / 2
    return (x + (fire.width - 1) * half, y - (fire.height - 1) * half, 0.0)


def _node(number: int, class_name: str, at_m: Vec3, size_m: Vec3) -> dict[str, JsonValue]:
    """A node with its box in Unity's coordinates, where y is up."""
    (x, y, z), (depth, width, height) = at_m, size_m
    center: list[JsonValue] = [x, z + height / 2, y]
    size: list[JsonValue] = [depth, height, width]
    return {
        "id": number,
        "class_name": class_name,
        "bounding_box": {"center": center, "size": size},
    }
