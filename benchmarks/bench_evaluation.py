"""The evaluator's figures: the cost of one step at any length of an episode, and whole episodes.

Repeat with: python benchmarks/bench_evaluation.py [--house NAME]
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from dataclasses import replace
from typing import Any

from machine import print_table

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode
from planner.world.episode import Episode
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

LENGTHS = (100, 1_000, 5_000, 20_000)
# Of the published code at the same lengths (research of defect D3).
PUBLISHED_MS = (0.07, 0.38, 4.8, 30.0)
MEASURED = 200


def first_state(house: House) -> WorldState:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    agents = ({"uid": "agent_0", "kind": "robot"},)
    episode = Episode(
        version=1,
        episode_id="bench",
        house=house.name,
        instruction="",
        agents=agents,
        objects=house.objects,
    )
    backend.reset(house, episode, 0)
    state = backend.world_state()
    assert state is not None
    return state


def ten_propositions(state: WorldState) -> dict[str, Any]:
    """A chain of nine gates `after_unsatisfied`, none of which ever opens."""
    things = [e.name for e in state.entities.values() if e.kind is EntityKind.OBJECT]
    tables = [e.name for e in state.entities.values() if e.class_name == "table"]
    return {
        "propositions": [
            {
                "function_name": "is_next_to",
                "args": {"entities_a": [things[i]], "entities_b": tables},
            }
            for i in range(10)
        ],
        "dependencies": [
            {
                "proposition_indices": [i + 1],
                "depends_on": [i],
                "relation_type": "after_unsatisfied",
            }
            for i in range(9)
        ],
    }


def moved(state: WorldState, name: str, x: float, y: float, z: float) -> WorldState:
    entity = replace(state.entities[name], pose=Pose.planar(x, y, 0.0, z))
    return replace(state, step=state.step + 1, entities={**state.entities, name: entity})


def step_us(house: House, start: WorldState, length: int, who: str) -> float:
    """The median cost of an update after `length` steps in which one entity moves at each."""
    evaluator = Evaluator(read_evaluation(ten_propositions(start), "bench"), house, start)
    state, costs = start, []
    x, y, z = start.entities[who].pose.position_m
    for step in range(length + MEASURED):
        state = moved(state, who, x + 0.001 * (step % 100), y, z)
        begin = time.perf_counter()
        evaluator.update(state)
        if step >= length:
            costs.append(time.perf_counter() - begin)
    return statistics.median(costs) * 1e6


def episode_s(house: House, start: WorldState, mode: Mode) -> float:
    """CPU time of an episode of 500 states; at every second one a thing of the goal moves."""
    document = ten_propositions(start)
    thing = document["propositions"][0]["args"]["entities_a"][0]
    states = [start]
    x, y, z = start.entities[thing].pose.position_m
    for step in range(499):
        who = thing if step % 2 else "agent_0"
        states.append(moved(states[-1], who, x + 0.01 * (step % 100), y, z))
    begin = time.process_time()
    evaluator = Evaluator(read_evaluation(document, "bench"), house, start, mode)
    for state in states[1:]:
        evaluator.update(state)
    evaluator.finish()
    return time.process_time() - begin


def growth_kib(house: House, start: WorldState) -> float:
    """What 100,000 steps of one episode leave in memory."""
    evaluator = Evaluator(read_evaluation(ten_propositions(start), "bench"), house, start)
    states = [moved(start, "agent_0", 0.1 * i, 0.0, 0.0) for i in range(10)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for step in range(1, 100_000):
        evaluator.update(replace(states[step % 10], step=step))
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--house", default="bench_8x60x150")
    house = load_house(parser.parse_args().house)
    start = first_state(house)
    thing = ten_propositions(start)["propositions"][0]["args"]["entities_a"][0]
    rows = []
    for length, published in zip(LENGTHS, PUBLISHED_MS, strict=True):
        walking = step_us(house, start, length, "agent_0")
        carried = step_us(house, start, length, thing)
        rows.append(
            (
                f"step after {length} steps",
                f"{walking / 1000:.4f} ms (an agent moves), {carried / 1000:.4f} ms (a thing does)",
                f"below 0.05 ms (published code: {published:g} ms)",
            )
        )
    for mode in Mode:
        seconds = statistics.median(episode_s(house, start, mode) for _ in range(5))
        rows.append(
            (f"1,000 episodes of 500 states, {mode}", f"{seconds * 1000:.1f} s", "below 30 s")
        )
    rows.append(("memory after 100,000 steps", f"{growth_kib(house, start):+.1f} KiB", "flat"))
    print_table(f"evaluator, {house.name}: {len(start.entities)} entities, 10 propositions", rows)


if __name__ == "__main__":
    main()
