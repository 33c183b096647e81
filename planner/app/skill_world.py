"""A simulator with a skill executor for each agent, using ground truth as belief.

Also compares a memory that receives only skill results with the true state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

from planner.app.backend_port import BackendPort
from planner.memory.memory import Memory
from planner.memory.updater import Facts, Operation
from planner.memory.wording import describe
from planner.planning.full_view import full_belief
from planner.skills.executor import SkillExecutor
from planner.skills.part import SkillPart
from planner.skills.team import Team
from planner.world.entity import Entity, OperationKind
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.openness import is_open
from planner.world.skill import SkillCall, SkillResult
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options
from sim_bridge.rescue.backend import RescueBackend
from sim_bridge.rescue.scenes import scene_names

DT_S = 1 / 30
MAX_CALL_S = 900.0


class SkillWorld:
    """An episode's world in which skills can be called."""

    def __init__(self, house: House, episode: Episode) -> None:
        """Loads the episode; nothing is rendered."""
        self.backend = _world_of(house)
        self.layout = house.layout
        self._house, self._episode = house, episode
        self.reset()

    def __enter__(self) -> Self:
        """Returns the world."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Closes the simulator."""
        self.backend.close()

    def reset(self) -> None:
        """Restarts the episode."""
        self.backend.reset(self._house, self._episode, self._episode.seed)
        self.reports: list[tuple[SkillCall, SkillResult]] = []
        team = Team()
        self.executors = {
            agent: SkillExecutor(
                self.layout,
                BackendPort(self.backend, agent),
                lambda: full_belief(self.state),
                team=team,
                report=lambda call, result: self.reports.append((call, result)),
            )
            for agent in self.backend.agents
        }

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents' names."""
        return tuple(self.executors)

    @property
    def state(self) -> WorldState:
        """The true state of the world."""
        state = self.backend.world_state()
        if state is None:
            raise ValueError("the embedded simulator has no state before its first episode")
        return state

    def primitives(self, agent: str) -> frozenset[str]:
        """The primitives of an agent's body."""
        return self.executors[agent].capabilities.primitives

    def agent_for(self, part: SkillPart) -> str | None:
        """The first agent with the abilities that the skill needs."""
        able = (agent for agent in self.agents if part.abilities <= self.primitives(agent))
        return next(able, None)

    def run(self, call: SkillCall | str, agent: str) -> SkillResult:
        """Carries out one call to its end.

        Raises:
            PlannerError: if it does not end in time.
        """
        executor = self.executors[agent]
        result = executor.start(call)
        until_s = self.backend.now_s() + MAX_CALL_S
        while result is None:
            if self.backend.now_s() > until_s:
                raise PlannerError(f"{call} has not ended after {MAX_CALL_S:g} s")
            self.backend.step(DT_S)
            result = executor.step()
        return result


def _world_of(house: House) -> EmbeddedBackend | RescueBackend:
    if house.name in scene_names():
        return RescueBackend()
    return EmbeddedBackend(default_options().model_copy(update={"renderer": "none"}))


def forgotten_effects(
    layout: House,
    before: WorldState,
    after: WorldState,
    agent: str,
    reports: Sequence[tuple[SkillCall, SkillResult]],
) -> str:
    """How a memory of the state before, given only the results, differs from the state after.

    Compares only what has changed in the world or in the memory; "" if all agrees.
    """
    memory = Memory(layout, None)
    memory.edit([_add_operation(entity) for entity in _objects(before)], "check", before.stamp_s)
    known = {entity.name: facts_of(entity) for entity in memory.entities}
    for call, result in reports:
        memory.note_result(agent, call, result, after.stamp_s)
    for entity in memory.entities:
        truth = after.entities.get(entity.name)
        if truth is None:
            if entity.name in before.entities:
                return f"{entity.name} is gone, and the memory still has it"
            continue
        now, was = facts_of(truth), facts_of(before.entities[entity.name])
        believed, knew = facts_of(entity), known[entity.name]
        for key in sorted(now.keys() | believed.keys()):
            # A state that is not mentioned does not hold.
            value, held = now.get(key, False), believed.get(key, False)
            changed = value != was.get(key, False) or held != knew.get(key, False)
            if changed and held != value:
                return f"{entity.name}: {key} is {value}, the memory has {held}"
    return ""


def _objects(state: WorldState) -> Iterator[EntityState]:
    return (e for e in state.entities.values() if e.kind is EntityKind.OBJECT)


def _add_operation(entity: EntityState) -> Operation:
    return Operation(
        OperationKind.ADD,
        description=describe(entity.class_name, entity.states or {}),
        position_m=entity.box.center_m,
        name=entity.name,
        facts=Facts(
            entity.class_name,
            entity.size_m,
            entity.parent,
            entity.relation,
            entity.room,
            entity.states or {},
        ),
    )


def facts_of(entity: Entity | EntityState) -> dict[str, object]:
    """What effects change: place, openness, states."""
    states = {str(state): value for state, value in (entity.states or {}).items()}
    return {
        "parent": entity.parent,
        "relation": entity.relation,
        "open": is_open(entity.openness),
        **states,
    }
