"""Queries with many entries, and a store under many frames of operations.

Repeat with: python benchmarks/bench_memory_store.py [--entries N] [--frames N]

The required figures are for 100,000 entries and 1,000,000 frames; the default is fewer frames.
Times are CPU times (user and system), independent of other work on the machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from machine import print_table

from planner.memory.memory import Memory
from planner.memory.query import ask
from planner.memory.settings import open_memory, store_path
from planner.memory.updater import Operation
from planner.world.belief import Entity, OperationKind
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.observation import Observation

CLASSES = ("cup", "book", "plate", "vase", "toy", "lamp", "kettle", "shoe")
COLOURS = ("red", "blue", "green", "white", "black")
THINGS = 200
QUESTIONS = (
    "where is the red cup?",
    "kettle_{}",
    "white shoe on the table",
    "what changed since 120 s?",
)
Row = tuple[str, str, str]


def crowded(house: House, entries: int) -> Memory:
    """A memory with this many entries."""
    memory = Memory(house, None)
    content = memory.content()
    rooms = [room.name for room in house.rooms]
    things = tuple(
        Entity(
            entity_id=content.next_id + n,
            name=f"{CLASSES[n % len(CLASSES)]}_{content.next_id + n}",
            class_name=CLASSES[n % len(CLASSES)],
            is_furniture=False,
            description=f"{COLOURS[n % len(COLOURS)]} {CLASSES[n % len(CLASSES)]}",
            position_m=(1.0, 1.0, 0.5),
            room=rooms[n % len(rooms)],
            parent=f"floor_{rooms[n % len(rooms)]}",
        )
        for n in range(entries - len(content.entities))
    )
    entities = (*content.entities, *things)
    memory.load(replace(content, entities=entities, next_id=content.next_id + len(things)))
    return memory


def questions(house: House, entries: int) -> list[Row]:
    memory = crowded(house, entries)
    begin = time.process_time()
    assert len(memory.index) == entries
    rows = [(f"index of {entries} entries made", f"{time.process_time() - begin:.2f} s", "")]
    for pattern in QUESTIONS:
        question = pattern.format(100 + entries // 2)
        taken = []
        for _ in range(200):
            begin = time.process_time()
            ask(memory, question, limit=10)
            taken.append((time.process_time() - begin) * 1000)
        taken.sort()
        text = f"{statistics.median(taken):.3f} ms, p99 {taken[197]:.3f} ms"
        rows.append((f"{question} (10 answers)", text, "< 1 ms at 100000"))
    return rows


def frames(house: House, count: int) -> list[Row]:
    """Objects that move in every frame, and sometimes disappear and come back."""
    with tempfile.TemporaryDirectory(prefix="planner-bench-") as folder:
        return frames_in(house, count, Path(folder))


def frames_in(house: House, count: int, folder: Path) -> list[Row]:
    def begin_memory() -> Memory:
        return open_memory(house, None, folder=folder, episode="bench", agents={}, clock_s=1e12)

    memory = begin_memory()
    begun = memory.edit([_cup(n, THINGS) for n in range(THINGS)], "bench", 0.0)
    numbers, entities = list(begun.ids), len(memory.entities)
    sizes: list[int] = []
    begin = time.process_time()
    for frame in range(count):
        slot = frame % THINGS
        edits = [_cup(slot, frame, numbers[slot])]
        if frame % 50 == 49:
            edits = [Operation(OperationKind.REMOVE, numbers[slot]), _cup(slot, frame)]
        change = memory.learn(Observation.at_rest(frame + 1.0), edits, "bench")
        assert change is not None
        numbers[slot] = change.edits[-1].entity.entity_id
        if frame % max(1, count // 10) == 0:
            sizes.append(store_path(folder, "bench").stat().st_size)
    taken_s = time.process_time() - begin
    known = memory.snapshot().entities
    assert memory.refused == 0
    assert not memory.fault
    memory.close()
    sizes.append(store_path(folder, "bench").stat().st_size)
    begin = time.process_time()
    again = begin_memory()
    restored_s = time.process_time() - begin
    assert again.snapshot().entities == known
    again.close()
    half, end = sizes[len(sizes) // 2], sizes[-1]
    return [
        (f"{count} frames of operations", f"{taken_s / count * 1000:.2f} ms each", ""),
        ("entities at the end", f"{len(known)}, at the start {entities}", "no growth"),
        ("store half way and at the end", f"{half / 1e6:.2f} and {end / 1e6:.2f} MB", "no growth"),
        ("restart restores", f"{restored_s:.2f} s", "< 1 s"),
    ]


def _cup(slot: int, frame: int, number: int | None = None) -> Operation:
    kind = OperationKind.ADD if number is None else OperationKind.UPDATE
    where = (1.0 + 0.3 * (frame // THINGS % 2), 1.0, 0.01 * slot)
    return Operation(kind, number, description=CLASSES[slot % len(CLASSES)], position_m=where)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--house", default="train_0")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--frames", type=int, default=20_000)
    args = parser.parse_args()
    house = load_house(args.house)
    rows = questions(house, args.entries) + frames(house, args.frames)
    print_table("questions and store", rows)


if __name__ == "__main__":
    main()
