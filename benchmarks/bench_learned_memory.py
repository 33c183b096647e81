"""The expert with memory:=learned compared with privileged, on shipped episodes.

Repeat with: python benchmarks/bench_learned_memory.py --first 40 [--results FILE]

Each episode runs in this process with pictures and the shipped model. Results are appended to the
file as JSON lines, and an episode that is in it is not run again, so that a long run can be
resumed. Also measures the time per picture. Without names all shipped episodes with an evaluation
are run, in the order of `planner episodes list`, or only the first of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import cv2
from machine import print_table

from planner.app.embedded_run import run_embedded
from planner.app.house_tour import AGENT, tour_episode
from planner.app.run_options import RunOptions
from planner.memory.learned.detector import Detector
from planner.memory.learned.updater import LearnedUpdater
from planner.memory.scores import interval
from planner.planning.expert.expert import Expert
from planner.world.house_checks import load_episode, load_house
from planner.world.share import config_dir
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options

LOOKS = 60


def looks_ms(threads: int) -> tuple[float, float]:
    """Median and 95th percentile of the time per picture at 384x384, while turning in a house."""
    cv2.setNumThreads(threads)
    house = load_house("heldout_0")
    backend, detector = EmbeddedBackend(), Detector.load()
    backend.reset(house, tour_episode(house), 1)
    frame = backend.observe(AGENT).cameras["hand"]
    detector.look(frame)
    taken = []
    for _ in range(LOOKS):
        begin = time.perf_counter()
        detector.look(frame)
        taken.append((time.perf_counter() - begin) * 1000)
    backend.close()
    return statistics.median(taken), sorted(taken)[int(0.95 * LOOKS)]


def run(name: str, memory: str) -> dict[str, object]:
    episode, house = load_episode(name)
    learned = LearnedUpdater(house, Detector.load()) if memory == "learned" else None
    options = default_options().model_copy(update={"instances": learned is None})
    backend = EmbeddedBackend(options)
    begin = time.process_time()
    try:
        result = run_embedded(
            backend, house, episode, Expert, RunOptions(images=learned is not None, updater=learned)
        )
    finally:
        backend.close()
    return {
        "episode": name,
        "memory": memory,
        "success": result.verdict.success,
        "percent_complete": result.verdict.percent_complete,
        "reason": result.reason,
        "sim_steps": result.sim_steps,
        "cpu_s": round(time.process_time() - begin, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("episodes", nargs="*")
    parser.add_argument("--first", type=int, default=None, help="of the shipped ones, by name")
    parser.add_argument("--results", type=Path, default=Path("learned_memory.jsonl"))
    parser.add_argument("--summary", action="store_true", help="only print what stands in the file")
    args = parser.parse_args()
    shipped = (config_dir() / "episodes").glob("*/*.json")
    listed = sorted(p.stem for p in shipped if p.parent.name in ("train", "heldout"))
    names = args.episodes or listed[: args.first]
    done = {}
    if args.results.is_file():
        for line in args.results.read_text().splitlines():
            row = json.loads(line)
            done[row["episode"], row["memory"]] = row
    for name in () if args.summary else names:
        for memory in ("privileged", "learned"):
            if (name, memory) not in done:
                done[name, memory] = row = run(name, memory)
                print(json.dumps(row), flush=True)
                with args.results.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    rows = []
    for memory in ("privileged", "learned"):
        mine = [row for (_, kind), row in done.items() if kind == memory]
        made = interval([float(row["success"]) for row in mine])
        complete = interval([float(row["percent_complete"]) for row in mine])
        wanted = "0.6" if memory == "learned" else "-"
        rows.append((f"expert, {memory}, {len(mine)} episodes: success", str(made), wanted))
        rows.append((f"expert, {memory}: percent complete", str(complete), "-"))
    for threads in (1, 2):
        median, high = looks_ms(threads)
        text = f"{median:.0f} ms, p95 {high:.0f} ms"
        rows.append((f"a look at 384x384, {threads} threads", text, "200 ms"))
    print_table("learned memory", rows)


if __name__ == "__main__":
    main()
