"""Looks of the graph world that show nothing new are left out; what is remembered is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from et_toys import Told, Toy

from papers.et_plan_bench.agent import EtAgent
from planner.app.embedded_run import prepare_graph
from planner.app.run_options import RunOptions
from planner.memory.privileged import PrivilegedUpdater
from planner.world.belief import Entity, Source
from planner.world.episode import AgentPlacement, Criteria, Episode
from planner.world.observation import Observation
from planner.world.vocabulary import AgentKind
from sim_bridge.graph.backend import GraphBackend


class Counted(GraphBackend):
    """Counts what is observed."""

    looks = 0

    def observe(self, agent: str, cameras: object = ()) -> Observation:
        self.looks += 1
        return super().observe(agent, ())


def remembered(
    toy: Toy, text: str, apple: str, *, every_look: bool
) -> tuple[int, list[str], list[Entity]]:
    """Looks, calls, and the entities without when, how and from how far they were confirmed."""
    house = toy.house()
    episode = Episode(
        version=1,
        episode_id="toy",
        house=house.name,
        instruction=text,
        agents=(AgentPlacement(uid="agent_0", kind=AgentKind.HUMAN, start=(1.0, 2.0, 0.3)),),
        objects=house.objects,
        criteria=Criteria.model_validate(
            {"variables": {"a": (apple,)}, "success": [("CLOSE", "robot", "a")]}
        ),
    )
    backend = Counted()
    run = prepare_graph(
        backend,
        house,
        episode,
        lambda task: EtAgent(task, Told(rooms=["kitchen_2", "bedroom_3"])),
        RunOptions(updater=PrivilegedUpdater(backend.world_state) if every_look else None),
    )
    result = run.run()
    calls = [f"{e.call} {e.stamp_s:.3f} {e.result and e.result.code}" for e in result.events]
    entities = [
        replace(entity, source=Source.SEEN, stamp_s=0.0, seen_s=0.0, seen_distance_m=0.0)
        for entity in run.memory.content().entities
    ]
    return backend.looks, calls, entities


@pytest.mark.parametrize(
    "text", ["Find an apple.", "Put the plum into the closet.", "Put the pen into the box."]
)
def test_a_look_at_what_is_known_is_not_taken(text: str) -> None:
    toy = Toy("livingroom", "kitchen", "bedroom")
    apple = toy.thing("apple", "ON", toy.piece("bench", "kitchen_2", (2.0, -1.0)))
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 1.0), closed=True)
    toy.thing("plum", "INSIDE", fridge)
    toy.piece("closet", "bedroom_3", (2.0, 0.0), closed=True)
    desk = toy.piece("desk", "bedroom_3", (-2.0, 0.0))
    toy.thing("pen", "ON", desk)
    toy.thing("box", "ON", desk)
    few, calls, entities = remembered(toy, text, apple, every_look=False)
    every, same_calls, same = remembered(toy, text, apple, every_look=True)
    assert calls == same_calls
    assert entities == same
    assert len(entities) >= 5
    assert few < every / 3
