"""Cost of the map that a robot builds: one depth image, and reading the map.

Repeat with: python benchmarks/bench_map.py [--house NAME]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

from machine import print_table

from planner.app.house_tour import AGENT, tour_episode
from planner.memory.maps.frontiers import FrontierSearch
from planner.memory.maps.occupancy import OccupancyMap
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame
from planner.world.primitive import Primitive, PrimitiveName
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

Row = tuple[str, str, str]
ROUNDS = 200
TILTS_RAD = (0.45, 0.9)


def frames(backend: EmbeddedBackend) -> list[CameraFrame]:
    """Depth images of 384x384 all around from where the robot begins."""
    found = []
    for tilt_rad in TILTS_RAD:
        for pan_rad in (-2.5, -1.25, 0.0, 1.25, 2.5):
            look = Primitive(PrimitiveName.LOOK, views_rad=((pan_rad, tilt_rad),))
            handle = backend.start(AGENT, look)
            while not backend.poll(handle).done:
                backend.step(1 / 30)
            found.append(backend.observe(AGENT).cameras["hand"])
    return found


def told(action: Callable[[int], object]) -> str:
    """CPU milliseconds of the process, independent of other work on the machine."""
    taken = []
    for number in range(ROUNDS):
        begin = time.process_time()
        action(number)
        taken.append((time.process_time() - begin) * 1000)
    taken.sort()
    return f"{statistics.median(taken):.2f} ms, p99 {taken[int(0.99 * ROUNDS)]:.2f} ms"


def costs(house_name: str) -> list[Row]:
    house = load_house(house_name)
    backend = EmbeddedBackend(EmbeddedOptions(instances=False))
    try:
        backend.reset(house, tour_episode(house), 0)
        views, base = frames(backend), backend.observe(AGENT, ()).base.position_m
    finally:
        backend.close()
    height, width = views[0].depth_m.shape
    built, search = OccupancyMap(base), FrontierSearch(0.28)
    update = told(lambda number: built.update(views[number % len(views)]))
    read = told(lambda _: built.floor())
    floor = built.floor()
    return [
        (f"update with a depth image of {width}x{height}", update, "under 10 ms"),
        (f"reading the map, {floor.cells.size} cells", read, "no limit"),
        ("search of frontiers", told(lambda _: search.of(floor, base)), "no limit"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--house", default="train_0")
    args = parser.parse_args()
    print_table("map", costs(args.house))


if __name__ == "__main__":
    main()
