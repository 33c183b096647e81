"""Cost of the evaluator: one step at any length of an episode, and recorded episodes.

Repeat with: python benchmarks/bench_evaluation.py [--house NAME] [--episodes N]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from machine import print_table
from rclpy.serialization import serialize_message

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode
from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.judging import judge
from planner.replay.runs import Request
from planner.replay.states import StateLogWriter
from planner.ros.qos import definition
from planner.ros.sightings import StateMessages
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.process_resources import keep_freed_memory
from planner.world.state import UpdateEncoder, WorldState
from planner.world.vocabulary import EntityKind, Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.opening import bare_episode

LENGTHS = (100, 1_000, 5_000, 20_000)
# Of the published code at the same lengths (DEFECT-D3).
PUBLISHED_MS = (0.07, 0.38, 4.8, 30.0)
MEASURED = 200
STATES = 500


def first_state(house: House) -> WorldState:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    backend.reset(house, bare_episode(house, 1), 0)
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
    step = state.step + 1
    return replace(state, stamp_s=step / 30, step=step, entities={**state.entities, name: entity})


def step_us(house: House, start: WorldState, length: int, who: str, mode: Mode) -> float:
    """The median processor time of an update after `length` steps, an entity moving at each."""
    evaluator = Evaluator(read_evaluation(ten_propositions(start), "bench"), house, start, mode)
    state, costs = start, []
    x, y, z = start.entities[who].pose.position_m
    for step in range(length + MEASURED):
        state = moved(state, who, x + 0.001 * (step % 100), y, z)
        begin = time.process_time()
        evaluator.update(state)
        if step >= length:
            costs.append(time.process_time() - begin)
    return statistics.median(costs) * 1e6


def recorded(start: WorldState, folder: Path) -> dict[str, Path]:
    """An episode of 500 states as a log and as bags.

    One bag is as the bridge sends it, the other has the whole world in each message.

    Half of the states move an object of the goal; five times it is picked up and put down, which
    shifts everything after it in a message.
    """
    thing = ten_propositions(start)["propositions"][0]["args"]["entities_a"][0]
    states = [start]
    x, y, z = start.entities[thing].pose.position_m
    for step in range(STATES - 1):
        who = thing if step % 2 else "agent_0"
        state = moved(states[-1], who, x + 0.01 * (step % 100), y, z)
        if step % 50 == 25:
            state = handed_over(state, thing, taken=step % 100 == 25)
        states.append(state)
    log = folder / "states.jsonl"
    with log.open("wb") as stream:
        writer = StateLogWriter(stream)
        for state in states:
            writer.write(state)
    updates, messages = UpdateEncoder(), StateMessages()
    sent = [serialize_message(messages.message(updates.encode(state))) for state in states]
    whole = [messages.message(updates.encode(state, keyframe=True)) for state in states]
    return {
        "log of states": log,
        "bag": write_bag(folder / "bag", sent),
        "bag of keyframes alone, as before": write_bag(
            folder / "whole", [serialize_message(message) for message in whole]
        ),
    }


def handed_over(state: WorldState, thing: str, *, taken: bool) -> WorldState:
    table = next(e.name for e in state.entities.values() if e.class_name == "table")
    agent = replace(state.entities["agent_0"], hands=(thing if taken else None,))
    held = replace(
        state.entities[thing],
        parent="agent_0" if taken else table,
        relation=Relation.HELD if taken else Relation.ON,
    )
    return replace(state, entities={**state.entities, thing: held, "agent_0": agent})


def write_bag(folder: Path, messages: Sequence[bytes]) -> Path:
    writer = BagWriter(folder)
    kind = "planner_msgs/msg/WorldState"
    topic = writer.add_topic(Topic("/world/state", kind, definition(kind), ""))
    for number, data in enumerate(messages):
        writer.write(topic, number, number, data)
    writer.close()
    return folder


def judged_ms(recording: Path, episode: Path, mode: Mode) -> float:
    """CPU time of evaluating a recording from its file."""
    begin = time.process_time()
    (found,) = judge(recording, Request(mode, str(episode)))
    if isinstance(found, PlannerError):
        raise found
    return (time.process_time() - begin) * 1e3


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def offline_rows(house: House, start: WorldState, count: int) -> list[tuple[str, str, str]]:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        episode = write_episode(house, ten_propositions(start), folder)
        recordings = recorded(start, folder)
        log, bag = recordings["log of states"], recordings["bag"]
        judged_ms(log, episode, Mode.STRICT)
        for what, recording in recordings.items():
            for mode in Mode:
                cost = statistics.median(judged_ms(recording, episode, mode) for _ in range(20))
                rows.append(
                    (
                        f"1,000 episodes of {STATES} states, {what}, {mode}",
                        f"{cost:.1f} s",
                        "below 30 s",
                    )
                )
        begin, before = time.process_time(), resident_mib()
        half = before
        for number in range(count):
            judged_ms(log if number % 2 else bag, episode, Mode.STRICT)
            if number == count // 10:
                half = resident_mib()
        took = time.process_time() - begin
        rows.append(
            (f"{count} episodes in one process", f"{took:.1f} s of CPU", "below 30 s for 1,000")
        )
        grown = resident_mib() - half
        rows.append(
            (
                f"memory from episode {count // 10} to {count}",
                f"{grown:+.1f} MiB of {half:.0f}",
                "flat",
            )
        )
    return rows


def write_episode(house: House, goal: dict[str, Any], folder: Path) -> Path:
    (folder / "houses").mkdir()
    document = house.model_dump(mode="json")
    (folder / "houses" / f"{house.name}.json").write_text(json.dumps(document), encoding="utf-8")
    episode = bare_episode(house, 1).model_copy(update={"evaluation": goal})
    path = folder / "bench.json"
    path.write_text(json.dumps(episode.model_dump(mode="json")), encoding="utf-8")
    return path


def growth_kib(house: House, start: WorldState) -> float:
    """Memory growth over 100,000 steps of one episode."""
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
    parser.add_argument("--episodes", type=int, default=1000, help="in the test of memory")
    arguments = parser.parse_args()
    # As `planner evaluate` does.
    keep_freed_memory()
    house = load_house(arguments.house)
    start = first_state(house)
    thing = ten_propositions(start)["propositions"][0]["args"]["entities_a"][0]
    rows = []
    for length, published in zip(LENGTHS, PUBLISHED_MS, strict=True):
        for mode in Mode:
            walking = step_us(house, start, length, "agent_0", mode)
            carried = step_us(house, start, length, thing, mode)
            rows.append(
                (
                    f"step after {length} steps, {mode}",
                    f"{walking / 1000:.4f} ms (an agent moves), {carried / 1000:.4f} ms (a thing)",
                    f"below 0.05 ms (published code: {published:g} ms)",
                )
            )
    rows += offline_rows(house, start, arguments.episodes)
    rows.append(("memory after 100,000 steps", f"{growth_kib(house, start):+.1f} KiB", "flat"))
    print_table(f"evaluator, {house.name}: {len(start.entities)} entities, 10 propositions", rows)


if __name__ == "__main__":
    main()
