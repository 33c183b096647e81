"""Agents of an embedded world and what they would believe if they had seen everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from planner.app.in_process_world import BackendPort
from planner.skills.attempt import SkillOptions
from planner.skills.executor import SkillExecutor
from planner.skills.results import Team
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SkillCall, SkillResult
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind, floor_name
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions, Noise

DT_S = 1 / 30
MAX_STEPS = 60_000


def belief_of(house: House, state: WorldState) -> Belief:
    """A belief that is the truth."""
    nodes = {}
    number = 0
    for entity in state.entities.values():
        known = entity.kind in (EntityKind.OBJECT, EntityKind.FURNITURE)
        number += known
        nodes[entity.name] = BeliefNode(
            name=entity.name,
            kind=entity.kind,
            class_name=entity.class_name,
            entity_id=number if known else None,
            position_m=entity.box.center_m,
            heading_rad=entity.pose.yaw_rad if entity.kind is EntityKind.AGENT else None,
            size_m=entity.size_m,
            room=entity.room,
            parent=entity.parent,
            relation=entity.relation,
            affordances=entity.affordances,
            states=entity.states or {},
            openness=entity.openness,
            hands=entity.hands,
            source=Source.SEEN,
            stamp_s=state.stamp_s,
            person=entity.person,
        )
    for room in house.rooms:
        middle = room.shape.representative_point()
        name = floor_name(room.name)
        nodes[name] = BeliefNode(
            name,
            EntityKind.FURNITURE,
            "floor",
            None,
            (middle.x, middle.y, 0.0),
            room=room.name,
            parent=room.name,
        )
    return Belief(state.stamp_s, state.revision, nodes)


class World:
    """An embedded world, an executor for each agent, and a belief that tests may falsify."""

    def __init__(
        self,
        house: House,
        episode: Episode,
        options: SkillOptions | None = None,
        embedded: EmbeddedOptions | None = None,
    ) -> None:
        self.house = house
        self.backend = EmbeddedBackend(embedded or EmbeddedOptions(renderer="none"))
        self.backend.reset(house, episode, 0)
        self.changes: dict[str, dict[str, object] | None] = {}
        self.reports: list[tuple[SkillCall, SkillResult]] = []
        self.team = Team()
        self.executors = {
            agent: SkillExecutor(
                house.layout,
                BackendPort(self.backend, agent),
                self.belief,
                options,
                team=self.team,
                report=lambda call, result: self.reports.append((call, result)),
            )
            for agent in self.backend.agents
        }

    @property
    def state(self) -> WorldState:
        state = self.backend.world_state()
        assert state is not None
        return state

    def belief(self) -> Belief:
        belief = belief_of(self.house, self.state)
        nodes = dict(belief.nodes)
        for name, change in self.changes.items():
            if change is None:
                nodes.pop(name, None)
            else:
                nodes[name] = replace(nodes[name], **change)  # type: ignore[arg-type]
        return replace(belief, nodes=nodes)

    def run(self, call: str, agent: str = "agent_0") -> SkillResult:
        """Carries out one call to its end."""
        executor = self.executors[agent]
        result = executor.start(call)
        for _ in range(MAX_STEPS):
            if result is not None:
                return result
            self.backend.step(DT_S)
            result = executor.step()
        raise AssertionError(f"{call} never ended")

    def parent(self, name: str) -> tuple[str | None, str | None]:
        entity = self.state.entities[name]
        return entity.parent, entity.relation

    def holding(self, agent: str = "agent_0") -> str | None:
        return self.state.entities[agent].holding


MakeWorld = Callable[..., World]


@pytest.fixture
def make_world(small_house: House, small_episode: Episode) -> MakeWorld:
    def make(
        options: SkillOptions | None = None,
        episode: Episode | None = None,
        **noise: float,
    ) -> World:
        embedded = EmbeddedOptions(renderer="none", noise=Noise(**noise))
        return World(small_house, episode or small_episode, options, embedded)

    return make


@pytest.fixture
def world(make_world: MakeWorld) -> World:
    return make_world()
