"""Whole shipped episodes with the expert, in process and without images, on one core.

CPU time excludes waiting for other processes, but not their effect on caches and shared cores: a
busy machine still gives lower figures.

Repeat with: python benchmarks/bench_episodes.py [--agents N] [NAME ...]
"""

from __future__ import annotations

import argparse
import gc
import time
from pathlib import Path

from machine import print_table

from planner.app.embedded_run import run_embedded
from planner.app.run_options import RunOptions
from planner.planning.expert.expert import Expert
from planner.world.floor_grid import preload_path_search
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


def shipped() -> list[str]:
    return sorted(path.stem for path in (config_dir() / "episodes").glob("*/*.json"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="episodes or files; default all shipped ones")
    parser.add_argument("--agents", type=int, default=0, help="how many agents act; 0 = all")
    args = parser.parse_args()
    names = args.names or shipped()
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    # Half a second of imports, once per process, is not part of an episode. As in `planner run`,
    # loaded modules are frozen.
    preload_path_search()
    gc.freeze()
    failed: list[str] = []
    spent = simulated = 0.0
    for name in names:
        episode, house = load_episode(name)
        begin = time.process_time()
        result = run_embedded(
            backend, house, episode, Expert, RunOptions(images=False), agents=args.agents
        )
        spent += time.process_time() - begin
        simulated += result.sim_steps / 30
        if not result.verdict.success:
            failed.append(Path(name).stem)
            print(
                f"{Path(name).stem}: {result.verdict.percent_complete:.2f} {result.reason} "
                f"{result.verdict.explanation}"
            )
    rate = 60 * len(names) / spent
    rows = [
        ("episodes", f"{len(names)}", ""),
        ("success", f"{len(names) - len(failed)}", f"{len(names)}"),
        ("episodes a minute of one core", f"{rate:.0f}", "at least 200"),
        ("processor time an episode", f"{1000 * spent / len(names):.0f} ms", "300 ms"),
        ("processor time a step", f"{1e6 * spent / (simulated * 30):.0f} us", ""),
        ("simulated seconds an episode", f"{simulated / len(names):.0f}", ""),
        ("times real time", f"{simulated / spent:.0f}", ""),
    ]
    print_table("expert, in process, no images", rows)


if __name__ == "__main__":
    main()
