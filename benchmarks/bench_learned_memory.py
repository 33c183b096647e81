"""The expert with memory:=learned compared with privileged, on shipped and generated episodes.

Repeat with: python benchmarks/bench_learned_memory.py --first 75 --generated 40 [--results FILE]

Each episode runs in this process with pictures and the shipped model. Results are appended to the
file as JSON lines, and an episode that is in it is not run again, so that a long run can be
resumed. Also measures the time per picture. Without names all shipped episodes with an evaluation
are run, by name and the newer ones last, or only the first of them; so that the first 40 and 75 are
those of earlier results. With `--generated N` also N of the suite `partnr_val`, evenly spaced by
name, whose houses no training saw. With `--shuffle SEED` the order is random, so that a run that is
stopped has a fair sample.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cv2
from machine import print_table

from planner.app.embedded_run import run_embedded
from planner.app.house_tour import AGENT, tour_episode
from planner.app.run_options import RunOptions
from planner.bench.memory_bench import interval
from planner.episodes.episode_file import unpacked
from planner.memory.learned.detector import Detector
from planner.memory.learned.updater import LearnedUpdater
from planner.planning.expert.expert import Expert
from planner.world.house_checks import load_episode, load_house
from planner.world.share import config_dir
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options

LOOKS = 60
SUITE = "partnr_val"
# Shipped after the first results.
NEWER = (
    "boil_potato_0",
    "clean_plates_0",
    "cushions_on_couch_0",
    "egg_bowl_0",
    "forks_in_basket_0",
    "full_breakfast_0",
    "make_coffee_0",
    "make_toast_0",
    "mixed_salad_0",
    "plate_of_toast_0",
    "sandwich_0",
    "tomato_slices_0",
    "water_plant_0",
)


def shipped_names() -> list[str]:
    """The shipped episodes with an evaluation, by name and the newer ones last."""
    shipped = (config_dir() / "episodes").glob("*/*.json")
    listed = sorted(p.stem for p in shipped if p.parent.name in ("train", "heldout"))
    return sorted(listed, key=lambda name: name in NEWER)


def generated_places(count: int) -> dict[str, Path]:
    """The paths of generated episodes by name, evenly spaced over the suite."""
    folder = unpacked(config_dir() / "suites" / f"{SUITE}.json.gz")
    listed = sorted(folder.glob("*.json"))
    chosen = listed[:: max(1, len(listed) // count)][:count] if count else []
    return {place.stem: place for place in chosen}


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


def run(name: str, place: Path | str, memory: str) -> dict[str, object]:
    episode, house = load_episode(place)
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
        "suite": "shipped" if place == name else SUITE,
        "memory": memory,
        "success": result.verdict.success,
        "percent_complete": result.verdict.percent_complete,
        "reason": result.reason,
        "sim_steps": result.sim_steps,
        "cpu_s": round(time.process_time() - begin, 1),
    }


def success_rows(done: Mapping[tuple[str, str], Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Success and percent complete of each memory, in each set and in all."""
    listed = shipped_names()
    sets = {"first 40 shipped": set(listed[:40]), "first 75 shipped": set(listed[:75])}
    sets["generated"] = {name for (name, _), row in done.items() if row.get("suite") == SUITE}
    sets["all"] = {name for name, _ in done}
    rows = []
    for memory in ("privileged", "learned"):
        for label, names in sets.items():
            mine = [row for (name, kind), row in done.items() if kind == memory and name in names]
            if not mine:
                continue
            made = interval([float(row["success"]) for row in mine])
            complete = interval([float(row["percent_complete"]) for row in mine])
            wanted = "0.75" if memory == "learned" else "-"
            text = f"expert, {memory}, {label}, {len(mine)} episodes"
            rows.append((f"{text}: success", str(made), wanted))
            rows.append((f"{text}: percent complete", str(complete), "-"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("episodes", nargs="*")
    parser.add_argument("--first", type=int, default=None, help="of the shipped ones, by name")
    parser.add_argument("--generated", type=int, default=0, help=f"how many of {SUITE}")
    parser.add_argument("--shuffle", type=int, help="seed of a random order")
    parser.add_argument("--learned-only", action="store_true", help="not privileged beside it")
    parser.add_argument("--results", type=Path, default=Path("learned_memory.jsonl"))
    parser.add_argument("--summary", action="store_true", help="only print what stands in the file")
    args = parser.parse_args()
    names = args.episodes or shipped_names()[: args.first]
    places: dict[str, Path | str] = {name: name for name in names}
    places |= generated_places(args.generated)
    order = list(places)
    if args.shuffle is not None:
        random.Random(args.shuffle).shuffle(order)
    done = {}
    if args.results.is_file():
        for line in args.results.read_text().splitlines():
            row = json.loads(line)
            done[row["episode"], row["memory"]] = row
    for name in () if args.summary else order:
        for memory in ("learned",) if args.learned_only else ("privileged", "learned"):
            if (name, memory) not in done:
                done[name, memory] = row = run(name, places[name], memory)
                print(json.dumps(row), flush=True)
                with args.results.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    rows = success_rows(done)
    for threads in (1, 2):
        median, high = looks_ms(threads)
        text = f"{median:.0f} ms, p95 {high:.0f} ms"
        rows.append((f"a look at 384x384, {threads} threads", text, "200 ms"))
    print_table("learned memory", rows)


if __name__ == "__main__":
    main()
