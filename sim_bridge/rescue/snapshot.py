"""The true state of a rescue scene, in the world's vocabulary (LLAMAR-A20).

Fires, reservoirs and deposits are furniture, regions and persons things. A fire and its regions are
`burning`, and have their `heat`. A person who is carried is held by the first of those who carry,
and one who was brought in is within the deposit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from planner.world.episode import Episode
from planner.world.geometry import Pose, Vec3
from planner.world.house import House
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation, floor_name
from sim_bridge.rescue.fire import Fire, FireKind, Intensity
from sim_bridge.rescue.names import CELL_M, EntityNames, class_of, middle_m, region_class
from sim_bridge.rescue.world import Person, RescueWorld

if TYPE_CHECKING:
    from sim_bridge.rescue.turns import Mover

FLAMMABLE, GIVING = "flammable", "giving"
_REGION_M: Vec3 = (CELL_M, CELL_M, 0.05)
PERSON_M: Vec3 = (0.4, 0.4, 0.4)


class Snapshots:
    """Keeps the newest state, and builds another one when something has changed."""

    def __init__(
        self, world: RescueWorld, names: EntityNames, house: House, episode: Episode
    ) -> None:
        """Nothing has been built yet."""
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
        (x0, y0, x1, y1), room = self._house.bounds_m, self._house.rooms[0]
        yield EntityState(
            name=room.name,
            kind=EntityKind.ROOM,
            class_name=room.class_name,
            instance_id=0,
            pose=Pose(((x0 + x1) / 2, (y0 + y1) / 2, 0.0)),
            size_m=(x1 - x0, y1 - y0, room.height_m),
            parent=None,
            relation=None,
            room=room.name,
        )
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
