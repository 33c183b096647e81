"""An episode that starts in the middle of another one, from a state of its world (HELPER-D82)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from planner.episodes.start_state import piece_state, start_entities
from planner.world.catalogue import Catalogue
from planner.world.episode import AgentPlacement, Episode, FurnitureChange
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.receptacle import part_of
from planner.world.state import EntityState, WorldState
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation

# Poses are written to a tenth of a millimetre; a start may differ from the state by that.
_DECIMALS = 4
_TOLERANCE_M = 1e-3


@dataclass(frozen=True, slots=True)
class Moment:
    """A state in which no hand holds anything, and the successful calls before it."""

    state: WorldState
    calls: tuple[str, ...]


# Runs an episode and returns its middle.
FindMiddle: TypeAlias = Callable[[Episode, House], Moment]


def starting_from(
    episode: Episode, house: House, state: WorldState, catalogue: Catalogue
) -> Episode:
    """The episode with a state of its own run as its start.

    Args:
        episode: the one that was run.
        house: the episode's.
        state: in which no hand holds anything.
        catalogue: of the classes.

    Raises:
        PlannerError: if something is held, or the start would not equal the state.
    """
    found = _Middle(episode, house, state, catalogue).episode()
    there = start_entities(found, house, catalogue)
    for name, entity in state.entities.items():
        if entity.kind is EntityKind.OBJECT and (
            _gap_m(there[name], entity) > _TOLERANCE_M or there[name].states != entity.states
        ):
            raise PlannerError(f"{episode.episode_id}: {name} cannot start as it was in the middle")
    return found


class _Middle:
    """The conversion of one state."""

    def __init__(
        self, episode: Episode, house: House, state: WorldState, catalogue: Catalogue
    ) -> None:
        self._episode, self._house, self._state = episode, house, state
        self._catalogue = catalogue
        self._given = {item.name: item for item in episode.objects}

    def episode(self) -> Episode:
        entities = self._state.entities.values()
        things = [e for e in entities if e.kind is EntityKind.OBJECT]
        pieces = [e for e in entities if e.kind is EntityKind.FURNITURE]
        changes = {piece.name: change for piece in pieces if (change := self._change(piece))}
        agents = tuple(self._agent(agent) for agent in self._episode.agents)
        start = self._episode.model_copy(
            update={
                "agents": agents,
                "objects": tuple(self._placement(thing) for thing in things),
                "furniture": changes,
                "initial_state": (),
            }
        )
        return self._closed(start)

    def _agent(self, agent: AgentPlacement) -> AgentPlacement:
        entity = self._state.entities[agent.uid]
        x, y, _ = entity.pose.position_m
        start = (round(x, _DECIMALS), round(y, _DECIMALS), round(entity.pose.yaw_rad, _DECIMALS))
        return agent.model_copy(update={"start": start})

    def _change(self, piece: EntityState) -> FurnitureChange | None:
        usual = piece_state(self._house.furniture_by_name[piece.name])
        states = {
            name: value
            for name, value in (piece.states or {}).items()
            if (usual.states or {}).get(name) != value
        }
        is_open = bool(piece.openness)
        if not states and not is_open:
            return None
        return FurnitureChange(open=True if is_open else None, states=states)

    def _placement(self, thing: EntityState) -> ObjectPlacement:
        if thing.parent is None or thing.relation not in (Relation.ON, Relation.WITHIN):
            raise PlannerError(f"{self._episode.episode_id}: {thing.name} is held")
        cls = self._catalogue.objects[thing.class_name]
        usual = default_states().initial(cls.affordances, cls.states, {})
        given = self._given.get(thing.name)
        place = (*thing.pose.position_m, thing.pose.yaw_rad)
        return ObjectPlacement(
            name=thing.name,
            class_name=thing.class_name,
            size_m=thing.size_m,
            pose=_rounded(place),
            parent=thing.parent,
            relation=thing.relation,
            part=self._part(thing),
            states={k: v for k, v in (thing.states or {}).items() if usual.get(k) != v},
            color=given.color if given is not None else None,
            material=given.material if given is not None else None,
        )

    def _part(self, thing: EntityState) -> str:
        """The surface or interior that it is on or in; states do not name it."""
        holder = self._state.entities.get(thing.parent or "")
        if holder is not None and holder.kind is EntityKind.OBJECT and thing.relation is not None:
            return part_of(self._catalogue.objects[holder.class_name], thing.relation) or ""
        piece = self._house.furniture_by_name.get(thing.parent or "")
        if piece is None:
            return "floor"
        at = _in_frame_of(piece, thing.pose.position_m)
        if thing.relation is Relation.ON:
            return min(
                piece.surfaces, key=lambda s: _misfit(at, s.center, s.center[2], s.size)
            ).name
        return min(
            piece.interiors,
            key=lambda h: _misfit(at, h.center, h.center[2] - h.size[2] / 2, h.size),
        ).name

    def _closed(self, start: Episode) -> Episode:
        """With contents of open drawers where they are when these are closed, as files have it."""
        there = start_entities(start, self._house, self._catalogue)

        def closed(item: ObjectPlacement) -> ObjectPlacement:
            at, wanted = there[item.name].pose.position_m, self._state.entities[item.name].pose
            moved = [w - a for w, a in zip(wanted.position_m, at, strict=True)]
            pose = tuple(p + m for p, m in zip(item.pose, (*moved, 0.0), strict=True))
            return item.model_copy(update={"pose": _rounded(pose)})

        return start.model_copy(update={"objects": tuple(map(closed, start.objects))})


def _rounded(pose: tuple[float, ...]) -> tuple[float, float, float, float]:
    x, y, z, yaw = (round(value, _DECIMALS) for value in pose)
    return (x, y, z, yaw)


def _gap_m(one: EntityState, other: EntityState) -> float:
    return math.dist(one.pose.position_m, other.pose.position_m)


def _in_frame_of(piece: Furniture, point_m: Vec3) -> Vec3:
    cos, sin = math.cos(piece.yaw_rad), math.sin(piece.yaw_rad)
    dx, dy = point_m[0] - piece.x_m, point_m[1] - piece.y_m
    return (dx * cos + dy * sin, dy * cos - dx * sin, point_m[2])


def _misfit(at: Vec3, center: Vec3, height_m: float, size: tuple[float, ...]) -> float:
    """How far a point is from standing on a rectangle, in metres; the height first."""
    beside = sum(max(abs(at[i] - center[i]) - size[i] / 2, 0.0) for i in (0, 1))
    return 10 * abs(at[2] - height_m) + beside
