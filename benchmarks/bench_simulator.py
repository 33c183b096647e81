"""Speed of the embedded simulator: frames, steps, path queries, resets.

Repeat with: python benchmarks/bench_simulator.py [--house NAME]
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from machine import print_table

from planner.world.floor_grid import FloorGrid
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.house_ground import PathSearch
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.opening import bare_episode

ROUNDS = 5


def median(measure: Callable[[], float]) -> float:
    """The median of several runs, so that one disturbance does not matter."""
    return statistics.median(measure() for _ in range(ROUNDS))


def frames_per_s(backend: EmbeddedBackend) -> float:
    """RGB, depth and instances of a camera that turns in every frame, by processor time."""
    count = 100
    pans = tuple((math.remainder(i * 0.1, math.tau), 0.4) for i in range(count))
    backend.start("agent_0", Primitive(PrimitiveName.LOOK, views_rad=pans, timeout_s=600))
    backend.observe("agent_0")
    spent = 0.0
    for _ in range(count):
        backend.step(0.3)
        begin = time.process_time()
        backend.observe("agent_0")
        spent += time.process_time() - begin
    backend.stop("agent_0")
    return count / spent


def farthest(backend: EmbeddedBackend, grid: FloorGrid) -> tuple[float, float]:
    """The free cell with the longest path from the agent."""
    x, y, _ = backend.observe("agent_0", ()).base.position_m
    here = grid.nearest_free(x, y)
    distance = grid.field(here or 0).distance_m
    reachable = np.where(np.isfinite(distance), distance, -1.0)
    return grid.point(int(reachable.argmax()))


def steps_per_s(backend: EmbeddedBackend, house: House, grid: FloorGrid) -> float:
    """One agent that walks through the house without a camera."""
    backend.reset(house, bare_episode(house, 1), 0)
    far = farthest(backend, grid)
    handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (*far, 0.0)))
    backend.step(0.001)
    count = 0
    begin = time.perf_counter()
    while not backend.poll(handle).done and count < 20_000:
        backend.step(0.001)
        count += 1
    rate = count / (time.perf_counter() - begin)
    backend.stop("agent_0")
    return rate


def path_query_ms(grid: FloorGrid) -> float:
    """From the farthest cell to a goal whose field is cached."""
    goal = int(grid.free.ravel().argmax())
    field = grid.field(goal)
    distance = [d if math.isfinite(d) else -1.0 for d in field.distance_m]
    start = distance.index(max(distance))
    begin = time.perf_counter()
    for _ in range(1000):
        field.path(start)
    return time.perf_counter() - begin


def way_ms(grid: FloorGrid) -> float:
    """From a cell to the farthest one, as agents plan it: nothing is cached."""
    goal = int(grid.free.ravel().argmax())
    distance_m = grid.field(goal).distance_m
    start = int(np.where(np.isfinite(distance_m), distance_m, -1.0).argmax())
    ways = PathSearch(grid)
    begin = time.perf_counter()
    for _ in range(1000):
        ways.corners(start, goal)
    return time.perf_counter() - begin


def reset_ms(backend: EmbeddedBackend, house: House, *, first_frame: bool) -> float:
    episode = bare_episode(house, 1)
    begin = time.perf_counter()
    backend.reset(house, episode, 1)
    if first_frame:
        backend.observe("agent_0")
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--house", default="bench_8x60x150")
    house = load_house(parser.parse_args().house)
    grid = FloorGrid.of(house, 0.28)
    backend = EmbeddedBackend(EmbeddedOptions())
    backend.reset(house, bare_episode(house, 1), 0)
    title = (
        f"embedded simulator, {house.name}: {len(house.rooms)} rooms, "
        f"{len(house.furniture)} pieces of furniture, {len(house.objects)} things, "
        f"renderer {backend.renderer_name}"
    )
    rows = [
        (
            "RGB + depth + instances, 384x384",
            f"{median(lambda: frames_per_s(backend)):.0f} /s",
            "at least 80",
        ),
        (
            "steps, one agent walking",
            f"{median(lambda: steps_per_s(backend, house, grid)):.0f} /s",
            "at least 20000",
        ),
        ("path query, field cached", f"{median(lambda: path_query_ms(grid)):.4f} ms", "below 0.1"),
        ("way to the farthest cell, nothing cached", f"{median(lambda: way_ms(grid)):.3f} ms", ""),
        (
            "reset",
            f"{median(lambda: reset_ms(backend, house, first_frame=False)):.1f} ms",
            "below 20",
        ),
        (
            "reset and first frame",
            f"{median(lambda: reset_ms(backend, house, first_frame=True)):.1f} ms",
            "",
        ),
    ]
    print_table(title, rows)
    backend.close()


if __name__ == "__main__":
    main()
