"""How many frames a second training of a navigation policy gets from the embedded simulator.

    python benchmarks/bench_navigation_training.py --workers 2 --acts 2000

A frame is an act of one body: 0.3 s of driving, a depth picture of 64 x 64, and the map that it is
added to. Times are of the wall clock and of the processors: on a shared machine the second counts.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from machine import describe_machine

from planner.app.navigation_env import NavigationEnv
from planner.training.skill_imitation import training_houses


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--workers", type=int, default=2, help="processes, one environment each")
    parser.add_argument("--acts", type=int, default=2000, help="of each worker")
    options = parser.parse_args()
    houses = training_houses(0)
    print(describe_machine())
    depth_ms, alone_ms = time_of_one(houses[0], options.acts)
    print(
        f"a depth picture: {depth_ms:.2f} ms, an act with it: {alone_ms:.2f} ms of processor time"
    )
    print(f"one process: {1000 / alone_ms:.0f} frames a second of processor time")
    made = [lambda: NavigationEnv(houses[:1]) for _ in range(options.workers)]
    vector = AsyncVectorEnv(made) if options.workers > 1 else SyncVectorEnv(made)
    vector.reset(seed=0)
    rng = np.random.default_rng(0)
    begin_s = time.monotonic()
    for _ in range(options.acts):
        vector.step(rng.integers(5, size=options.workers))
    wall_s = time.monotonic() - begin_s
    vector.close()
    frames = options.acts * options.workers
    # With the start of each worker, which is a second or so.
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    used_s = used.ru_utime + used.ru_stime
    print(f"{options.workers} workers: {frames / wall_s:.0f} frames a second by the wall clock")
    if used_s > 0:
        rate = frames / used_s * options.workers
        print(f"{options.workers} workers: {rate:.0f} frames a second if each had a core to itself")
    return 0


def time_of_one(house: object, acts: int) -> tuple[float, float]:
    """Milliseconds of processor time of a picture, and of an act with one."""
    environment = NavigationEnv((house,))  # type: ignore[arg-type]
    environment.reset(seed=0)
    begin_s = time.process_time()
    for _ in range(acts):
        environment.render()
    depth_s = time.process_time() - begin_s
    rng = np.random.default_rng(0)
    acting_s = 0.0
    for _ in range(acts):
        begin_s = time.process_time()
        _, _, ended, truncated, _ = environment.step(int(rng.integers(5)))
        acting_s += time.process_time() - begin_s
        if ended or truncated:
            environment.reset()
    return depth_s / acts * 1e3, acting_s / acts * 1e3


if __name__ == "__main__":
    raise SystemExit(main())
